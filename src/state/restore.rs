//! Going back to a snapshot, and looking whether everything is in order.

use std::collections::BTreeMap;

use super::call::{Call, Reply, Token};
use super::clock::Run;
use super::error::Error;
use super::head::{BaseRef, Head, HeadError, OLD_BASES};
use super::location::Location;
use super::open::{ask, begin, newer_snapshot, unreadable, words};
use super::register::Register;
use super::{Change, Deed, Entry, Record, Stamp, State, base, heal};
use crate::desired::{Id, Key};

/// Goes back to a snapshot, also over a damaged head.
///
/// What was sent after the snapshot is not in it, so the content of every template counts as unknown: the next apply sends all of them again under their
/// ids. Templates that were created after the snapshot are not in it at all.
///
/// # Errors
///
/// [`Error::Held`] while a run holds the state, [`Error::Damaged`] when the snapshot itself cannot be read.
pub async fn restore(location: &Location, name: &str, run: &mut Run) -> Result<State, Error> {
    let register = Register::open(location)?;
    let place = location.to_string();
    if !register.lock()? {
        return Err(Error::Locked { place });
    }
    let (head, token) = present(&register, &place).await?;
    if let Some(holder) = head.as_ref().and_then(|head| head.meta.holder.clone())
        && register.terms().lease
    {
        return Err(Error::Held { place, holder, still: None });
    }
    let mut state = snapshot(&register, &place, name).await?;
    let names = register.bases().await;
    let newest = names.iter().filter_map(|name| base::serial_of(name)).max().unwrap_or_default();
    let old = head.as_ref().map(|head| (head.meta.serial, head.meta.epoch)).unwrap_or_default();
    state.serial = state.serial.max(newest).max(old.0) + 1;
    state.epoch = state.epoch.max(old.1) + 1;
    let now = run.clock.now();
    for change in heal::heal(&state, now.wall).0.into_iter().chain(doubt(&state)) {
        state.change(&change);
    }
    let stamp = Stamp { at: now.wall, who: run.who.clone(), run: run.id };
    state.change(&Change::Did(Deed::new(stamp, &format!("state restore {name}"), false)));
    let old_bases = references(&register, &names).await;
    begin(&register, &place, &state, old_bases, token, run).await?;
    Ok(state)
}

/// Whatever was live may have got other content since.
fn doubt(state: &State) -> Vec<Change> {
    let dirty = |(key, record): (&Key, &Record)| match &record.entry {
        Entry::Live { id, .. } => {
            let record = Record { entry: Entry::Dirty { id: id.clone() }, ..record.clone() };
            Some(Change::Set { key: key.clone(), record })
        }
        Entry::Retired { id, .. } => {
            let entry = Entry::Retired { id: id.clone(), digest: None };
            Some(Change::Set { key: key.clone(), record: Record { entry, ..record.clone() } })
        }
        _ => None,
    };
    state.records.iter().filter_map(dirty).collect()
}

/// The head as it is, readable or not, and its version.
async fn present(register: &Register, place: &str) -> Result<(Option<Head>, Option<Token>), Error> {
    match ask(register, Call::Load).await {
        Reply::Loaded(None) => Ok((None, None)),
        Reply::Loaded(Some((bytes, token))) => match Head::decode(&bytes) {
            Ok(head) => Ok((Some(head), Some(token))),
            Err(HeadError::Damaged(_)) => Ok((None, Some(token))),
            Err(error) => Err(unreadable(place.to_owned(), "head.json".to_owned(), error, Vec::new())),
        },
        other => Err(Error::Store { place: place.to_owned(), why: words(other) }),
    }
}

async fn snapshot(register: &Register, place: &str, name: &str) -> Result<State, Error> {
    let error = match (base::digest_of(name), ask(register, Call::Get { name: name.to_owned() })) {
        (None, _) => HeadError::Damaged(NOT_ONE.to_owned()),
        (Some(digest), answer) => match answer.await {
            Reply::Got(Some(bytes)) => match base::decode(&bytes, Some(digest)) {
                Ok(state) => return Ok(state),
                Err(error) => error,
            },
            Reply::Got(None) => HeadError::Damaged(NOT_ONE.to_owned()),
            other => return Err(Error::Store { place: place.to_owned(), why: words(other) }),
        },
    };
    let mut others = register.bases().await;
    others.retain(|other| other != name);
    Err(unreadable(place.to_owned(), name.to_owned(), error, others))
}

const NOT_ONE: &str = "it is no snapshot of this state";

/// What a head says of snapshots, from the snapshots themselves.
async fn references(register: &Register, names: &[String]) -> Vec<BaseRef> {
    let mut found = Vec::new();
    for name in names.iter().take(OLD_BASES) {
        if let Some(digest) = base::digest_of(name)
            && let Reply::Got(Some(bytes)) = ask(register, Call::Get { name: name.clone() }).await
            && let Ok(state) = base::decode(&bytes, Some(digest))
        {
            found.push(BaseRef { name: name.clone(), digest, entries: state.records.len() });
        }
    }
    found
}

/// One thing that `state verify` looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was looked at.
    pub what: String,
    /// How it is.
    pub verdict: Verdict,
}

/// How something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// In order.
    Good(String),
    /// Worth knowing, no harm.
    Note(String),
    /// Not in order.
    Bad(String),
}

/// Looks at every object of a state, without holding it.
///
/// # Errors
///
/// As [`super::read`]: what cannot be read at all is an error, not a verdict.
pub async fn verify(location: &Location) -> Result<Vec<Check>, Error> {
    let state = super::read(location).await?;
    let register = Register::open(location)?;
    let place = location.to_string();
    // Before the head: a run that is at work must not look like one that was put back.
    let listed = register.bases().await;
    let (Some(head), _) = present(&register, &place).await? else { return Err(Error::Missing { place }) };
    let mut checks = Vec::new();
    let mut check = |what: &str, verdict| checks.push(Check { what: what.to_owned(), verdict });
    let meta = &head.meta;
    check("head", Verdict::Good(format!("format {}, serial {}, epoch {}", meta.format, meta.serial, meta.epoch)));
    check("log", Verdict::Good(format!("{} lines, {} bytes", head.log.lines(), head.log.bytes())));
    check("snapshot", Verdict::Good(format!("{}, {} entries", meta.base.name, meta.base.entries)));
    for old in &meta.old_bases {
        let verdict = match snapshot(&register, &place, &old.name).await {
            Ok(state) => Verdict::Good(format!("{}, {} entries", old.name, state.records.len())),
            Err(error) => Verdict::Bad(format!("{error}; it cannot be restored")),
        };
        check("old snapshot", verdict);
    }
    if let Some(newest) = newer_snapshot(&head, &listed) {
        let why = format!(
            "it is older than {newest}: an earlier copy was put in its place; `letterpress state restore` goes back"
        );
        check("head", Verdict::Bad(why));
    }
    let kept = |name: &String| meta.base.name == *name || meta.old_bases.iter().any(|old| old.name == *name);
    let stray = listed.iter().filter(|name| !kept(name)).count();
    if stray > 0 {
        check(
            "stray snapshots",
            Verdict::Note(format!(
                "{stray} that the head does not name; the next run that gets hold of the state removes them"
            )),
        );
    }
    check("ids", ids(&state));
    let open = state.records.values().filter(|record| is_open(&record.entry)).count();
    if open > 0 {
        let who = meta.holder.as_ref().map_or("a run that died", |holder| holder.who.as_str());
        check("open requests", Verdict::Note(format!("{open} of {who}; the next run closes them")));
    }
    if !state.leaked.is_empty() {
        check("leaks", Verdict::Note(format!("{}: `letterpress state leaks`", state.leaked.len())));
    }
    Ok(checks)
}

fn is_open(entry: &Entry) -> bool {
    matches!(entry, Entry::Reserving { .. } | Entry::Updating { .. })
}

fn ids(state: &State) -> Verdict {
    let mut owners: BTreeMap<&Id, &Key> = BTreeMap::new();
    for (key, record) in &state.records {
        if let Some(id) = record.entry.id()
            && let Some(other) = owners.insert(id, key)
        {
            return Verdict::Bad(format!("`{other}` and `{key}` have the same id {id}"));
        }
    }
    Verdict::Good(format!("{} keys, {} ids, each once", state.records.len(), owners.len()))
}

/// The whole state in the form of a snapshot, for `state pull`.
///
/// # Errors
///
/// As [`super::read`].
pub async fn pull(location: &Location) -> Result<Vec<u8>, Error> {
    let state = super::read(location).await?;
    Ok(base::encode(&state).1)
}
