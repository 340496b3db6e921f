//! Steps of a plan against the state as it is now: what only changes the state, and what must be sent.

use std::time::Duration;

use super::policy;
use crate::desired::{Digest, Id, Key};
use crate::plan::{Action, Step, Why};
use crate::state::{Change, Entry, Now, Record, State};

/// A template to send.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// Its key.
    pub(super) key: Key,
    /// `create` or `update`.
    pub(super) action: &'static str,
    /// Its id; `None`: one must be reserved.
    pub(super) id: Option<Id>,
    /// The content.
    pub(super) to: Digest,
    /// The key that its entry has now, where that is another.
    pub(super) moved_from: Option<Key>,
    /// What is known of it.
    pub(super) before: Option<Record>,
    /// Not before this time (monotonic), since other content may still be on its way.
    pub(super) not_before: Option<Duration>,
}

/// What steps mean for a state.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// One commit, nothing is sent.
    pub(super) changes: Vec<Change>,
    /// The steps that these changes carry out.
    pub(super) settled: Vec<super::Applied>,
    /// What must be sent.
    pub(super) jobs: Vec<Job>,
}

/// A step was planned against an entry that has changed since.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` has changed in the state since it was planned")]
pub struct Moved {
    /// The template.
    pub key: Key,
}

/// Sorts steps; `settle` is how long other content waits after a lost update.
pub(super) fn work(steps: &[Step], state: &State, settle: Duration, now: Now) -> Result<Work, Moved> {
    let mut work = Work::default();
    for step in steps {
        let moved = || Moved { key: step.key.clone() };
        let held = |key: &Key, id: &Id| state.records.get(key).filter(|record| record.entry.id() == Some(id)).cloned();
        match &step.action {
            Action::Create { to } => {
                if state.records.get(&step.key).is_some_and(|record| record.entry.id().is_some()) {
                    return Err(moved());
                }
                work.jobs.push(job(step, None, *to, None, None, settle, now));
            }
            Action::Update { id, to, why, moved_from, .. } => {
                let before = held(moved_from.as_ref().unwrap_or(&step.key), id);
                let owned = || state.records.values().any(|record| record.entry.id() == Some(id));
                if before.is_none() && (*why != Why::Adopted || owned()) {
                    return Err(moved());
                }
                work.jobs.push(job(step, Some(id.clone()), *to, moved_from.clone(), before, settle, now));
            }
            Action::Move { id, from, digest } => {
                let record = held(from, id).ok_or_else(moved)?;
                work.changes.push(Change::Unset { key: from.clone() });
                work.set(step, id, Record { entry: Entry::Live { id: id.clone(), digest: *digest }, ..record });
            }
            Action::Retire { id, .. } => {
                let record = held(&step.key, id).ok_or_else(moved)?;
                let entry = Entry::Retired { id: id.clone(), digest: record.entry.digest() };
                work.set(step, id, Record { entry, ..record });
            }
            Action::Return { id, digest } => {
                let record = held(&step.key, id).ok_or_else(moved)?;
                work.set(step, id, Record { entry: Entry::Live { id: id.clone(), digest: *digest }, ..record });
            }
        }
    }
    Ok(work)
}

impl Work {
    fn set(&mut self, step: &Step, id: &Id, record: Record) {
        self.changes.push(Change::Set { key: step.key.clone(), record });
        self.settled.push(super::Applied { key: step.key.clone(), id: id.clone(), action: step.action.word() });
    }
}

fn job(
    step: &Step,
    id: Option<Id>,
    to: Digest,
    moved_from: Option<Key>,
    before: Option<Record>,
    settle: Duration,
    now: Now,
) -> Job {
    let not_before = before.as_ref().and_then(|record| record.unsettled).and_then(|unsettled| {
        // The age is by another machine's wall clock, so a record counts as young unless it is far from it; the wait is by our own clock.
        let age = Duration::try_from(now.wall.duration_since(unsettled.at)).unwrap_or_default();
        (unsettled.digest != to && age < policy::SETTLED).then(|| now.mono + settle)
    });
    Job { key: step.key.clone(), action: step.action.word(), id, to, moved_from, before, not_before }
}
