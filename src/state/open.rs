//! Reading a state without holding it, and making a new one (safety §3).

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::call::{Call, Reply, Token};
use super::clock::Run;
use super::error::Error;
use super::head::{BaseRef, FORMAT, Head, HeadError, Holder, Log, Meta};
use super::location::Location;
use super::register::Register;
use super::{Account, Change, Deed, Stamp, State, acquire, base};

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

pub(super) async fn load(register: &Register, place: &str) -> Result<Head, Error> {
    match ask(register, Call::Load).await {
        Reply::Loaded(Some((bytes, _))) => match Head::decode(&bytes) {
            Ok(head) => Ok(head),
            Err(error) => Err(unreadable(place.to_owned(), "head.json".to_owned(), error, register.bases().await)),
        },
        Reply::Loaded(None) => Err(missing(place, register).await),
        other => Err(Error::Store { place: place.to_owned(), why: words(other) }),
    }
}

/// A snapshot that is newer than the head, of those listed newest first: then somebody put an earlier copy of the head in its place. A run that dies after its
/// snapshot and before its head leaves one that is one write ahead.
pub(super) fn newer_snapshot<'a>(head: &Head, listed: &'a [String]) -> Option<&'a String> {
    let newest = listed.iter().find(|name| base::digest_of(name).is_some())?;
    base::serial_of(newest).is_some_and(|serial| serial > head.meta.serial + 1).then_some(newest)
}

/// No head: nothing was ever here, or only the head was lost.
pub(super) async fn missing(place: &str, register: &Register) -> Error {
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
    let bytes: Arc<[u8]> = head.into();
    let mut why = String::new();
    for _ in 0..5 {
        let swap = Call::Swap { expected: expected.clone(), bytes: Arc::clone(&bytes) };
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
