//! A state that this run holds, and its real driver (safety §4).

use std::time::Duration;

use super::acquire::{Acquire, Step};
use super::call::Call;
use super::clock::Run;
use super::error::{self, Error};
use super::head::{Head, Holder};
use super::heal::Healed;
use super::ledger::{Ledger, Next};
use super::location::Location;
use super::open::{holder, load, missing, newer_snapshot, unreadable};
use super::register::Register;
use super::{Change, Deed, Stamp, State};

/// What a run that waits for a state can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Who holds it, where the head tells.
    pub holder: Option<Holder>,
}

/// A state that this run holds.
#[derive(Debug)]
pub struct Session {
    pub(crate) register: Register,
    pub(crate) ledger: Ledger,
    pub(crate) run: Run,
    pub(crate) place: String,
    pub(crate) healed: Healed,
}

impl Session {
    /// Gets hold of a state: waits up to `timeout` for another run, takes over from one that died, and closes what it left open.
    ///
    /// `tell` is called when a wait begins.
    ///
    /// # Errors
    ///
    /// [`Error`], with [`Error::kind`] for the exit code.
    pub async fn acquire(
        location: &Location,
        run: Run,
        timeout: Duration,
        tell: impl FnMut(&Waiting),
    ) -> Result<Self, Error> {
        Self::take(location, run, timeout, false, tell).await
    }

    /// Takes a state from whoever holds it in a bucket, without waiting; that run is fenced by its next write. In a folder only the kernel's lock
    /// counts, and that cannot be taken from a living process.
    ///
    /// # Errors
    ///
    /// As [`Session::acquire`].
    pub async fn seize(location: &Location, run: Run) -> Result<Self, Error> {
        Self::take(location, run, Duration::ZERO, true, |_| {}).await
    }

    /// Frees a state in a folder from a run that died after its results were saved, so that its head names nobody and what that run left goes. A bucket cannot
    /// tell a dead run from a slow one at once, so there nothing is done; and nothing where nobody holds the state, or somebody does who is alive.
    ///
    /// # Errors
    ///
    /// As [`Session::acquire`].
    pub async fn free_from_the_dead(location: &Location, run: Run) -> Result<(), Error> {
        if matches!(location, Location::Bucket { .. }) || holder(location).await?.is_none() {
            return Ok(());
        }
        match Self::acquire(location, run, Duration::ZERO, |_| {}).await {
            Ok(session) => session.release().await,
            Err(Error::Held { .. } | Error::Locked { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn take(
        location: &Location,
        run: Run,
        timeout: Duration,
        force: bool,
        tell: impl FnMut(&Waiting),
    ) -> Result<Self, Error> {
        Self::take_in(Register::open(location)?, location.to_string(), run, timeout, force, tell).await
    }

    pub(super) async fn take_in(
        register: Register,
        place: String,
        mut run: Run,
        timeout: Duration,
        force: bool,
        mut tell: impl FnMut(&Waiting),
    ) -> Result<Self, Error> {
        // Whoever has no state must not get a folder made for it by the lock.
        if !register.terms().lease {
            load(&register, &place).await?;
        }
        wait_for_lock(&register, &place, &run, timeout, &mut tell).await?;
        // In this order: a run that is at work may write a snapshot and name it in between, and none can be newer than a head that is read later.
        let listed = register.bases().await;
        not_put_back(&load(&register, &place).await?, &listed, &place)?;
        let mut acquire = Acquire::new(run.id, &run.who, register.terms(), timeout, run.clock.now());
        acquire.force(force);
        let mut told = None;
        let mut step = acquire.poll(run.clock.now());
        loop {
            step = match step {
                Step::Call(call) => {
                    let reply = register.answer(call).await;
                    acquire.reply(reply, run.clock.now(), &mut run.entropy)
                }
                Step::Wait(until) => {
                    if told.as_ref() != acquire.waits_for()
                        && let Some(holder) = acquire.waits_for()
                    {
                        told = Some(holder.clone());
                        tell(&Waiting { holder: told.clone() });
                    }
                    sleep_until(&run, until).await;
                    acquire.poll(run.clock.now())
                }
                Step::Held(ledger, healed) => {
                    let held = Self { register, ledger: *ledger, run, place, healed };
                    held.collect_strays(listed).await;
                    return Ok(held);
                }
                Step::Missing => return Err(missing(&place, &register).await),
                Step::Unreadable { name, error, bases } => {
                    let bases = if bases.is_empty() { register.bases().await } else { error::names(&bases) };
                    return Err(unreadable(place, name, error, bases));
                }
                Step::Busy { holder, still } => return Err(Error::Held { place, holder, still: Some(still) }),
                Step::GaveUp(why) => return Err(Error::Store { place, why }),
            };
        }
    }

    /// Removes those of the snapshots that no head names: a run that died between a snapshot and its head left them.
    ///
    /// Nobody can come to name one of them later. Only the holder writes heads; the name has the digest of the content, and that has an epoch that is over.
    async fn collect_strays(&self, listed: Vec<String>) {
        for name in listed {
            let is_ours = super::base::digest_of(&name).is_some();
            let is_stray = self.ledger.bases().all(|named| named != name);
            if is_ours && is_stray && self.ledger.gate().is_open(self.run.clock.now()) {
                // What stays is seen again by the next run.
                let _ = self.register.answer(Call::Delete { name }).await;
            }
        }
    }

    /// The state, with everything that this run has changed.
    #[must_use]
    pub fn state(&self) -> &State {
        self.ledger.state()
    }

    /// What the acquire healed.
    #[must_use]
    pub fn healed(&self) -> &Healed {
        &self.healed
    }

    /// Where the state is.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Writes changes as one commit, with a line in the history.
    ///
    /// # Errors
    ///
    /// [`Error::Fenced`] when another run took over, [`Error::Store`] when the store failed for too long.
    pub async fn commit(&mut self, changes: Vec<Change>, what: &str) -> Result<(), Error> {
        let stamp = Stamp { at: self.run.clock.now().wall, who: self.run.who.clone(), run: self.run.id };
        let did = Change::Did(Deed::new(stamp, what, false));
        self.save(changes.into_iter().chain([did]).collect()).await
    }

    /// Writes changes as one commit, without a line in the history.
    ///
    /// # Errors
    ///
    /// As [`Session::commit`].
    pub async fn save(&mut self, changes: Vec<Change>) -> Result<(), Error> {
        for change in changes {
            self.ledger.stage(change);
        }
        self.write(false).await
    }

    /// Frees the state.
    ///
    /// # Errors
    ///
    /// As [`Session::commit`].
    pub async fn release(mut self) -> Result<(), Error> {
        self.write(true).await?;
        drop_garbage(&self.register, self.ledger.take_garbage()).await;
        Ok(())
    }

    async fn write(&mut self, release: bool) -> Result<(), Error> {
        sleep_until(&self.run, self.ledger.spaced()).await;
        self.ledger.begin(release, self.run.clock.now(), &mut self.run.entropy);
        let mut next = self.ledger.poll(self.run.clock.now());
        loop {
            next = match next {
                Next::Call(call) => {
                    let reply = self.register.answer(call).await;
                    self.ledger.reply(reply, self.run.clock.now(), &mut self.run.entropy)
                }
                Next::Wait(until) => {
                    sleep_until(&self.run, until).await;
                    self.ledger.poll(self.run.clock.now())
                }
                Next::Landed { .. } => self.ledger.poll(self.run.clock.now()),
                Next::Idle | Next::Busy | Next::Released => return Ok(()),
                Next::Fenced { by } => return Err(Error::Fenced { place: self.place.clone(), by }),
                Next::GaveUp(why) => return Err(Error::Store { place: self.place.clone(), why }),
            };
        }
    }
}

/// Removes snapshots that the last head has let go. No later head can name them again, so this may come after the release; but it is never waited for long.
pub(crate) async fn drop_garbage(register: &Register, names: Vec<String>) {
    for name in names {
        let _ = tokio::time::timeout(Duration::from_secs(3), register.answer(Call::Delete { name })).await;
    }
}

/// To go on from an earlier copy of the head would forget the ids that came after, and make their templates a second time.
fn not_put_back(head: &Head, listed: &[String], place: &str) -> Result<(), Error> {
    if newer_snapshot(head, listed).is_none() {
        return Ok(());
    }
    Err(Error::Damaged {
        place: place.to_owned(),
        name: "head.json".to_owned(),
        why: "it is older than the newest snapshot: an earlier copy was put in its place".to_owned(),
        bases: listed.to_vec(),
    })
}

/// Waits for the kernel's lock, where the store has one.
async fn wait_for_lock(
    register: &Register,
    place: &str,
    run: &Run,
    timeout: Duration,
    tell: &mut impl FnMut(&Waiting),
) -> Result<(), Error> {
    let end = run.clock.now().mono + timeout;
    let mut told = false;
    while !register.lock()? {
        let holder = load(register, place).await.ok().and_then(|head| head.meta.holder);
        if run.clock.now().mono >= end {
            let place = place.to_owned();
            return Err(match holder {
                Some(holder) => Error::Held { place, holder, still: None },
                None => Error::Locked { place },
            });
        }
        if !told {
            tell(&Waiting { holder });
            told = true;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

async fn sleep_until(run: &Run, until: Duration) {
    tokio::time::sleep(until.saturating_sub(run.clock.now().mono)).await;
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::desired::{Digest, Id, Key};
    use crate::state::{Account, Entry, Kind, Record, init, read};

    fn account() -> Account {
        Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None }
    }

    fn live(key: &str, content: &[u8]) -> Change {
        let entry = Entry::Live { id: Id::new(format!("id-{key}")).unwrap(), digest: Digest::of(content) };
        Change::Set { key: Key::new(key).unwrap(), record: Record { entry, unsettled: None, applied: None } }
    }

    fn run() -> Run {
        Run::of_this_process("me@here")
    }

    async fn acquire(location: &Location) -> Result<Session, Error> {
        Session::acquire(location, run(), Duration::ZERO, |_| {}).await
    }

    #[tokio::test]
    async fn what_is_committed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder(folder.path().join("state"));
        assert!(matches!(read(&location).await, Err(Error::Missing { .. })));
        assert!(matches!(acquire(&location).await, Err(Error::Missing { .. })));
        assert!(!folder.path().join("state").exists(), "looking for a state made a folder");
        init(&location, account(), &mut run()).await.unwrap();
        assert!(matches!(init(&location, account(), &mut run()).await, Err(Error::Exists { .. })));

        let mut session = acquire(&location).await.unwrap();
        assert_eq!(acquire(&location).await.unwrap_err().kind(), Kind::Held);
        for number in 0..600 {
            session.ledger.stage(live(&format!("key-{number}"), b"1"));
            if number % 7 == 0 {
                session.commit(vec![live("a", b"1")], "state mv").await.unwrap();
            }
        }
        session.commit(Vec::new(), "the last").await.unwrap();
        let held = read(&location).await.unwrap();
        assert_eq!(&held, session.state());
        assert_eq!(held.records.len(), 601);
        assert_eq!(holder(&location).await.unwrap().unwrap().who, "me@here");
        session.release().await.unwrap();
        assert_eq!(holder(&location).await.unwrap(), None);
        assert_eq!(read(&location).await.unwrap().records, held.records);
        assert_eq!(held.history.last().unwrap().what, "the last");
    }

    #[tokio::test]
    async fn eleven_snapshots_are_kept_and_strays_are_collected_by_the_next_holder() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder(folder.path().to_owned());
        init(&location, account(), &mut run()).await.unwrap();
        let bases = || {
            let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().starts_with("base-")).count()
        };
        for number in 0..15 {
            let mut session = acquire(&location).await.unwrap();
            session.commit(vec![live("a", format!("{number}").as_bytes())], "state mv").await.unwrap();
            session.release().await.unwrap();
            assert_eq!(bases(), (number + 2).min(11), "after {} runs", number + 1);
        }
        // What a run leaves that dies between a snapshot and its head, what looks like one, and what is none.
        let (stray, bytes) = crate::state::base::encode(&State { epoch: 999, ..read(&location).await.unwrap() });
        for (name, bytes) in [(stray.name.as_str(), &bytes[..]), ("base-7-x.json", b"{}"), ("notes.txt", b"mine")] {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let session = acquire(&location).await.unwrap();
        assert_eq!(bases(), 12, "what has no digest for a name is not ours");
        assert!(!folder.path().join(&stray.name).exists());
        assert!(folder.path().join("notes.txt").exists());
        for old in session.ledger.bases() {
            assert!(folder.path().join(old).exists(), "{old} is named by the head");
        }
    }

    #[tokio::test]
    async fn a_head_that_was_put_back_from_a_copy_is_refused_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder(folder.path().to_owned());
        let head = folder.path().join("head.json");
        init(&location, account(), &mut run()).await.unwrap();
        let mut copy = Vec::new();
        for key in ["a", "b"] {
            copy = std::fs::read(&head).unwrap();
            let mut session = acquire(&location).await.unwrap();
            session.commit(vec![live(key, b"1")], "state import").await.unwrap();
            session.release().await.unwrap();
        }
        std::fs::write(&head, copy).unwrap();
        for _ in 0..5 {
            let error = acquire(&location).await.unwrap_err();
            let Error::Damaged { why, bases, .. } = &error else { panic!("{error}") };
            assert!(why.contains("earlier copy"), "{error}");
            assert_eq!(bases.len(), 3);
        }
        let newest = Register::open(&location).unwrap().bases().await.remove(0);
        crate::state::restore(&location, &newest, &mut run()).await.unwrap();
        let session = acquire(&location).await.unwrap();
        assert_eq!(session.state().records.len(), 2, "the ids that the copy did not have are back");
    }

    #[tokio::test]
    async fn a_damaged_head_names_the_bases_and_is_never_no_state() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder(folder.path().to_owned());
        init(&location, account(), &mut run()).await.unwrap();
        let head = folder.path().join("head.json");
        for damage in [None, Some(""), Some("{"), Some("{\"format\":1}")] {
            match damage {
                None => std::fs::remove_file(&head).unwrap(),
                Some(text) => std::fs::write(&head, text).unwrap(),
            }
            for error in [read(&location).await.unwrap_err(), acquire(&location).await.unwrap_err()] {
                let Error::Damaged { bases, .. } = &error else { panic!("{error}") };
                assert_eq!(bases.len(), 1);
                assert!(error.help().unwrap().contains(&bases[0]));
            }
            assert!(init(&location, account(), &mut run()).await.is_err());
        }
        std::fs::write(&head, "{\"format\":9}").unwrap();
        assert!(matches!(read(&location).await, Err(Error::TooNew { format: 9, .. })));
    }

    #[tokio::test]
    async fn a_folder_is_freed_from_a_run_that_is_gone_and_from_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder(folder.path().to_owned());
        init(&location, account(), &mut run()).await.unwrap();
        let mut session = acquire(&location).await.unwrap();
        session.commit(vec![live("a", b"1")], "apply").await.unwrap();
        let (stray, bytes) = crate::state::base::encode(session.state());
        std::fs::write(folder.path().join(&stray.name), bytes).unwrap();

        let before = std::fs::read(folder.path().join("head.json")).unwrap();
        Session::free_from_the_dead(&location, run()).await.unwrap();
        assert_eq!(std::fs::read(folder.path().join("head.json")).unwrap(), before, "its holder is alive");

        drop(session);
        Session::free_from_the_dead(&location, run()).await.unwrap();
        assert_eq!(holder(&location).await.unwrap(), None);
        assert!(!folder.path().join(&stray.name).exists());
        let after = std::fs::read(folder.path().join("head.json")).unwrap();
        Session::free_from_the_dead(&location, run()).await.unwrap();
        assert_eq!(std::fs::read(folder.path().join("head.json")).unwrap(), after, "nobody holds it");
    }

    #[tokio::test]
    async fn the_lock_of_a_run_that_is_gone_is_free_and_its_intents_are_closed() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder(folder.path().to_owned());
        init(&location, account(), &mut run()).await.unwrap();
        let mut session = acquire(&location).await.unwrap();
        let op = crate::state::Op(Uuid::from_u128(7));
        let (new, old) = (Key::new("new").unwrap(), Key::new("old").unwrap());
        let record = |entry| Record { entry, unsettled: None, applied: None };
        let id = Id::new("1").unwrap();
        let updating = Entry::Updating { id: id.clone(), from: None, to: Digest::of(b"2"), op };
        let changes = vec![
            Change::Set { key: new.clone(), record: record(Entry::Reserving { op }) },
            Change::Set { key: old.clone(), record: record(updating) },
        ];
        session.commit(changes, "apply").await.unwrap();
        drop(session);
        let session = acquire(&location).await.unwrap();
        assert_eq!(session.healed(), &Healed { dirty: vec![old.clone()], leaked: vec![op] });
        assert_eq!(session.state().records.get(&new), None);
        assert_eq!(session.state().leaked, [op]);
        let old = &session.state().records[&old];
        assert_eq!(old.entry, Entry::Dirty { id });
        assert_eq!(old.unsettled.unwrap().digest, Digest::of(b"2"));
    }
}
