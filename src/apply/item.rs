//! One open template: where it is between its first intent and its last answer.

use std::time::Duration;

use super::job::Job;
use super::request::{Ask, Committed, Prepared, Sent};
use crate::desired::Id;
use crate::state::{Ledger, Now, Unsettled};

/// Where a template is.
#[derive(Debug)]
pub(super) enum Stage {
    /// Its intent is on its way into the log.
    Intending(Prepared),
    /// Its request may go, when time and window allow it.
    Ready(Committed),
    /// Its request was let go.
    Flying(Sent),
    /// Between two stages.
    Idle,
}

/// An open template.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) job: Job,
    pub(super) stage: Stage,
    /// When its intent was staged, or its request was let go (monotonic).
    since: Duration,
    /// Attempts of the present request.
    pub(super) attempts: u32,
    /// Placeholders without an answer.
    pub(super) creates: u32,
    /// The id that this run reserved for it.
    pub(super) reserved: Option<Id>,
    /// An update of this run whose answer was lost.
    pub(super) lost: Option<Unsettled>,
    /// No request before this time (monotonic).
    pub(super) not_before: Duration,
}

impl Item {
    pub(super) fn new(job: Job, prepared: Prepared, now: Now) -> Self {
        Self {
            job,
            stage: Stage::Intending(prepared),
            since: now.mono,
            attempts: 0,
            creates: 0,
            reserved: None,
            lost: None,
            not_before: Duration::ZERO,
        }
    }

    /// The template's id, reserved or known before.
    pub(super) fn id(&self) -> Option<&Id> {
        self.reserved.as_ref().or(self.job.id.as_ref())
    }

    /// What may still be on its way to the service: the lost update of this run, else of an earlier one.
    pub(super) fn unsettled(&self) -> Option<Unsettled> {
        self.lost.or_else(|| self.job.before.as_ref().and_then(|record| record.unsettled))
    }

    /// Its next intent was staged.
    pub(super) fn intends(&mut self, prepared: Prepared, now: Now) {
        (self.stage, self.since) = (Stage::Intending(prepared), now.mono);
    }

    /// Moves on if the write with the intent has landed; how long that took.
    pub(super) fn committed(&mut self, ledger: &Ledger, now: Now) -> Option<Duration> {
        let (stage, took) = match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Intending(prepared) => match prepared.committed(ledger) {
                Ok(committed) => (Stage::Ready(committed), Some(self.age(now))),
                Err(prepared) => (Stage::Intending(prepared), None),
            },
            other => (other, None),
        };
        self.stage = stage;
        took
    }

    /// How long its intent or its request has been under way.
    pub(super) fn age(&self, now: Now) -> Duration {
        now.mono.saturating_sub(self.since)
    }

    /// From when on its request may go.
    pub(super) fn ready_at(&self) -> Option<Duration> {
        matches!(self.stage, Stage::Ready(_)).then_some(self.not_before)
    }

    /// Whether an answer is awaited.
    pub(super) fn is_flying(&self) -> bool {
        matches!(self.stage, Stage::Flying(_))
    }

    /// Whether the service cannot know anything of it from this run.
    pub(super) fn has_sent_nothing(&self) -> bool {
        self.attempts == 0 && self.creates == 0 && self.reserved.is_none()
    }

    /// Lets the request go.
    pub(super) fn send(&mut self, now: Now) -> Option<Ask> {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Ready(committed) => {
                let (ask, sent) = committed.send();
                (self.stage, self.since) = (Stage::Flying(sent), now.mono);
                self.attempts += 1;
                Some(ask)
            }
            other => {
                self.stage = other;
                None
            }
        }
    }
}
