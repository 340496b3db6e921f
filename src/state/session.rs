//! A state that this run holds, and its real driver (safety §4).

use std::time::Duration;

use uuid::Uuid;

use super::acquire::{Acquire, Step};
use super::call::{Call, Reply, Token};
use super::clock::Run;
use super::error::{self, Error};
use super::head::{BaseRef, FORMAT, Head, Holder, Log, Meta};
use super::heal::Healed;
use super::ledger::{Ledger, Next};
use super::location::Location;
use super::register::Register;
use super::{Account, Change, Deed, Stamp, State, acquire, base};
use crate::state::head::HeadError;

/// Reads a state without holding it. No key is needed and nothing is written.
///
/// Entries are as the log has them: those of a run that is under way, or that died, are still `reserving` or `updating`.
///
/// # Errors
///
/// [`Error`], with [`Error::kind`] for the exit code.
pub async fn read(location: &Location) -> Result<State, Error> {
    let register = Register::open(location)?;
    let place = location.to_string();
    let mut attempts = 0;
    loop {
        attempts += 1;
        let head = load(&register, &place).await?;
        let bytes = match ask(&register, Call::Get { name: head.meta.base.name.clone() }).await {
            Reply::Got(bytes) => bytes,
            other => return Err(Error::Store { place, why: words(other) }),
        };
        match acquire::replay(&head, bytes.as_deref()) {
            Ok(state) => return Ok(state),
            // A run may have moved on to a new base between the two reads.
            Err(_) if attempts < 3 => {}
            Err(error) => {
                let mut bases = register.bases().await;
                bases.retain(|name| *name != head.meta.base.name);
                return Err(unreadable(place, head.meta.base.name, error, bases));
            }
        }
    }
}

/// Who holds the state now, if anybody, as the head says.
///
/// # Errors
///
/// [`Error`], with [`Error::kind`] for the exit code.
pub async fn holder(location: &Location) -> Result<Option<Holder>, Error> {
    Ok(load(&Register::open(location)?, &location.to_string()).await?.meta.holder)
}

/// Asks, and asks again where the store has not answered: for a while in a network, a few times on a disk.
pub(super) async fn ask(register: &Register, call: Call) -> Reply {
    let mut pause = Duration::from_millis(200);
    let longest = Duration::from_secs(if register.terms().lease { 10 } else { 1 });
    loop {
        match register.answer(call.clone()).await {
            Reply::Unknown(_) if pause < longest => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            reply => return reply,
        }
    }
}

async fn load(register: &Register, place: &str) -> Result<Head, Error> {
    match ask(register, Call::Load).await {
        Reply::Loaded(Some((bytes, _))) => match Head::decode(&bytes) {
            Ok(head) => Ok(head),
            Err(error) => Err(unreadable(place.to_owned(), "head.json".to_owned(), error, register.bases().await)),
        },
        Reply::Loaded(None) => Err(missing(place, register).await),
        other => Err(Error::Store { place: place.to_owned(), why: words(other) }),
    }
}

/// No head: nothing was ever here, or only the head was lost.
async fn missing(place: &str, register: &Register) -> Error {
    let bases = register.bases().await;
    if bases.is_empty() {
        return Error::Missing { place: place.to_owned() };
    }
    let (name, why) = ("head.json".to_owned(), "it is missing, and its snapshots are there".to_owned());
    Error::Damaged { place: place.to_owned(), name, why, bases }
}

pub(super) fn unreadable(place: String, name: String, error: HeadError, bases: Vec<String>) -> Error {
    match error {
        HeadError::Damaged(why) => Error::Damaged { place, name, why, bases },
        HeadError::TooNew(format) => Error::TooNew { place, name, format },
    }
}

pub(super) fn words(reply: Reply) -> String {
    match reply {
        Reply::Unknown(why) | Reply::Refused(why) => why,
        Reply::Conflict => "another version is there".to_owned(),
        other => format!("the store gave an answer to another question: {other:?}"),
    }
}

/// Makes a new, empty state that is bound to an account.
///
/// # Errors
///
/// [`Error::Exists`] when there is one, [`Error::Unfit`] when the place cannot keep one safely.
pub async fn init(location: &Location, account: Account, run: &mut Run) -> Result<State, Error> {
    init_in(&Register::open(location)?, location.to_string(), account, run).await
}

pub(super) async fn init_in(
    register: &Register,
    place: String,
    account: Account,
    run: &mut Run,
) -> Result<State, Error> {
    if !register.lock()? {
        return Err(Error::Locked { place });
    }
    match ask(register, Call::Load).await {
        Reply::Loaded(None) => {}
        Reply::Loaded(Some(_)) => return Err(Error::Exists { place }),
        other => return Err(Error::Store { place, why: words(other) }),
    }
    let bases = register.bases().await;
    if !bases.is_empty() {
        return Err(missing(&place, register).await);
    }
    let now = run.clock.now();
    register.prove(&format!("probe-{}", run.entropy.uuid(now))).await?;
    let mut state = base::first(run.entropy.uuid(now), account);
    let stamp = Stamp { at: now.wall, who: run.who.clone(), run: run.id };
    let born = Change::Did(Deed::new(stamp, "state init", false));
    let mut log = Log::default();
    log.push(&born);
    let write_id = run.entropy.uuid(now);
    let (head, name, base) = first_objects(&state, Vec::new(), log, write_id);
    // The head comes first, since it says all that is in the first snapshot: whoever is killed in between leaves a state that can be read. A snapshot
    // without a head would look like a state whose head was lost.
    swap(register, &place, head, write_id, None).await?;
    match ask(register, Call::Put { name, bytes: base.into() }).await {
        Reply::Done => {}
        other => return Err(Error::Store { place, why: words(other) }),
    }
    state.change(&born);
    Ok(state)
}

/// The bytes of a free head with this log over a new base of `state`, the base's name, and its bytes.
#[must_use]
pub fn first_objects(state: &State, old_bases: Vec<BaseRef>, log: Log, write_id: Uuid) -> (Vec<u8>, String, Vec<u8>) {
    let (reference, bytes) = base::encode(state);
    let name = reference.name.clone();
    let meta = Meta {
        format: FORMAT,
        lineage: state.lineage,
        account: state.account.clone(),
        serial: state.serial,
        epoch: state.epoch,
        write_id,
        prev_write_id: Uuid::nil(),
        acquired_on: Uuid::nil(),
        holder: None,
        base: reference,
        old_bases,
    };
    (Head { meta, log }.encode(), name, bytes)
}

/// Writes a base of `state` and a free head over it, where the head still is the version that is expected.
pub(super) async fn begin(
    register: &Register,
    place: &str,
    state: &State,
    old_bases: Vec<BaseRef>,
    expected: Option<Token>,
    run: &mut Run,
) -> Result<(), Error> {
    let write_id = run.entropy.uuid(run.clock.now());
    let (head, name, base) = first_objects(state, old_bases, Log::default(), write_id);
    match ask(register, Call::Put { name, bytes: base.into() }).await {
        Reply::Done => {}
        other => return Err(Error::Store { place: place.to_owned(), why: words(other) }),
    }
    swap(register, place, head, write_id, expected).await
}

/// Writes a head where it still is the version that is expected, and reads back whatever is not a clear yes.
async fn swap(
    register: &Register,
    place: &str,
    head: Vec<u8>,
    write_id: Uuid,
    expected: Option<Token>,
) -> Result<(), Error> {
    let store = |why| Error::Store { place: place.to_owned(), why };
    let bytes: std::sync::Arc<[u8]> = head.into();
    let mut why = String::new();
    for _ in 0..5 {
        let swap = Call::Swap { expected: expected.clone(), bytes: std::sync::Arc::clone(&bytes) };
        match register.answer(swap).await {
            Reply::Swapped(_) => return Ok(()),
            reply => why = words(reply),
        }
        // Not a clear yes: read back whose write is there.
        match ask(register, Call::Load).await {
            Reply::Loaded(found) => match found {
                Some((bytes, token)) if Some(&token) != expected.as_ref() => {
                    let ours = Head::decode(&bytes).is_ok_and(|head| head.meta.write_id == write_id);
                    return if ours { Ok(()) } else { Err(Error::Exists { place: place.to_owned() }) };
                }
                _ => tokio::time::sleep(Duration::from_millis(200)).await,
            },
            other => return Err(store(words(other))),
        }
    }
    Err(store(why))
}

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
        // Whoever has no state must not get a folder made for it.
        load(&register, &place).await?;
        wait_for_lock(&register, &place, &run, timeout, &mut tell).await?;
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
                Step::Held(ledger, healed) => return Ok(Self { register, ledger: *ledger, run, place, healed }),
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
        for change in changes {
            self.ledger.stage(change);
        }
        let stamp = Stamp { at: self.run.clock.now().wall, who: self.run.who.clone(), run: self.run.id };
        self.ledger.stage(Change::Did(Deed::new(stamp, what, false)));
        self.write(false).await
    }

    /// Frees the state.
    ///
    /// # Errors
    ///
    /// As [`Session::commit`].
    pub async fn release(mut self) -> Result<(), Error> {
        self.write(true).await
    }

    async fn write(&mut self, release: bool) -> Result<(), Error> {
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
    use super::*;
    use crate::desired::{Digest, Id, Key};
    use crate::state::{Entry, Kind, Record};

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
