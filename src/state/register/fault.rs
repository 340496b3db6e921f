//! A disk that fails at a chosen step, or whose power is cut (safety P5). Only in tests.

mod power;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::Register;
use super::folder::{Folder, Step};
use crate::desired::{Digest, Id, Key};
use crate::state::{Account, Change, Clock, Entropy, Entry, Error, Location, Record, Run, Session, State, init, read};

/// How the chosen step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Once, with this error of the system.
    Once(i32),
    /// That step and all after it: the machine is gone.
    Gone,
    /// No folder can be synced any more.
    NoFolderSync,
    /// Not at all; what is done is written down.
    Never,
}

/// A step that fails.
#[derive(Debug)]
pub(crate) struct Fault {
    kind: Kind,
    at: u32,
    steps: u32,
    done: Vec<power::Done>,
}

impl Fault {
    fn new(kind: Kind, at: u32) -> Self {
        Self { kind, at, steps: 0, done: Vec::new() }
    }

    pub(super) fn step(&mut self, step: Step<'_>) -> io::Result<()> {
        self.steps += 1;
        match self.kind {
            Kind::NoFolderSync if matches!(step, Step::SyncFolder(_)) => {
                return Err(io::Error::from_raw_os_error(EIO));
            }
            Kind::Never => self.done.extend(power::Done::of(step)),
            Kind::Once(code) if self.steps == self.at => return Err(io::Error::from_raw_os_error(code)),
            Kind::Gone if self.steps >= self.at => return Err(io::Error::other("gone")),
            _ => {}
        }
        Ok(())
    }
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn key(name: &str) -> Key {
    Key::new(name).unwrap()
}

fn live(name: &str) -> Change {
    let entry = Entry::Live { id: Id::new(format!("id-{name}")).unwrap(), digest: Digest::of(b"1") };
    Change::Set { key: key(name), record: Record { entry, unsettled: None, applied: None } }
}

fn run() -> Run {
    let (clock, mut entropy) = (Clock::start(), Entropy::of_this_process());
    Run { id: entropy.uuid(clock.now()), who: "me".to_owned(), clock, entropy }
}

/// Two commits and a release with its compaction. What was reported as done is collected.
async fn work(register: Register, done: &mut Vec<&'static str>) -> Result<(), Error> {
    let mut session = Session::take_in(register, "here".to_owned(), run(), Duration::ZERO, false, |_| {}).await?;
    for name in ["a", "b"] {
        session.commit(vec![live(name)], name).await?;
        done.push(name);
    }
    session.release().await
}

/// One run on a disk that fails at its `at`-th step, and one after it; returns how many steps the first run got to.
async fn fail(kind: Kind, at: u32) -> u32 {
    let case = format!("{kind:?} at {at}");
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Folder(folder.path().to_owned());
    let account = Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None };
    let first = init(&location, account, &mut run()).await.unwrap();
    let disk = Arc::new(Mutex::new(Folder::at(folder.path())));
    disk.lock().unwrap().fault = Some(Fault::new(kind, at));
    let mut done = Vec::new();
    let result = work(Register::Folder(Arc::clone(&disk)), &mut done).await;
    let steps = disk.lock().unwrap().fault.as_ref().unwrap().steps;
    // The lock goes with the process.
    drop(disk);
    assert!(result.is_ok() || kind == Kind::Gone, "one failing step is mended: {case}: {result:?}");
    let state = read(&location).await.unwrap_or_else(|error| panic!("{case}: {error}"));
    judge(&first, &state, &done, &case);
    let again = Register::open(&location).unwrap();
    work(again, &mut Vec::new()).await.unwrap_or_else(|error| panic!("{case}: {error}"));
    steps
}

#[tokio::test]
async fn no_failing_step_tears_or_empties_the_state() {
    for kind in [Kind::Once(EIO), Kind::Once(ENOSPC), Kind::Gone] {
        // All at once, since a disk that is gone is tried again for a while.
        let steps = futures_util::future::join_all((1..=40).map(|at| fail(kind, at))).await;
        let last = steps[39];
        assert!((15..40).contains(&last), "{kind:?}: a run has {last} steps, and 40 were tried");
    }
}

/// Everything that was reported as done is there, and nothing else but what may have been under way.
fn judge(first: &State, state: &State, done: &[&str], case: &str) {
    assert_eq!(state.lineage, first.lineage, "{case}");
    for name in done {
        assert!(state.records.contains_key(&key(name)), "{case}: {name} was done and is lost");
    }
    assert!(state.records.len() <= done.len() + 1, "{case}: {:?}", state.records);
}
