//! What an answer means: for the template, for the state, and for the run (safety §6).

use std::time::Duration;

use super::{Engine, Halt};
use crate::apply::item::{Item, Stage};
use crate::apply::policy;
use crate::apply::request::{Answer, Ask, Committed, Prepared, Settled};
use crate::apply::{Applied, Event, Failed, Refused, Stop};
use crate::client::SendError;
use crate::desired::{Id, Key};
#[cfg(test)]
use crate::state::mutant::Mutant;
use crate::state::{Change, Entry, Now, Op, Record, Unsettled};

impl Engine {
    pub(super) fn answered(&mut self, number: usize, answer: Result<Answer, SendError>, now: Now) {
        let Some(mut item) = self.open.remove(&number) else { return };
        let Stage::Flying(sent) = std::mem::replace(&mut item.stage, Stage::Idle) else {
            self.open.insert(number, item);
            return;
        };
        self.flying -= 1;
        self.ahead.answered(item.age(now));
        let settled = sent.settle(answer);
        #[cfg(test)]
        let settled = if self.ledger.mutant == Some(Mutant::CreateSentAgain) { settled.forget_loss() } else { settled };
        match settled {
            Settled::Reserved { op, id } => self.reserved(number, item, op, id, now),
            Settled::Filled { id, to } => self.filled(item, id, to, now),
            Settled::NotDone { request, error } => self.not_done(number, item, request, error, now),
            Settled::LostPlaceholder { op, why } => self.lost_placeholder(number, item, op, why, now),
            Settled::LostFill { request, id, to, why } => {
                item.lost = Some(Unsettled { digest: to, at: now.wall });
                if !self.again(&mut item, request, None, &why, now) {
                    self.unknown(item, id, why, now);
                } else {
                    self.open.insert(number, item);
                }
            }
            Settled::Confused { id, to, why } => {
                item.lost = Some(Unsettled { digest: to, at: now.wall });
                self.unknown(item, id, why.clone(), now);
                self.stop(Stop::Confused(why), Halt::Quiet, now);
            }
        }
    }

    fn reserved(&mut self, number: usize, mut item: Item, op: Op, id: Id, now: Now) {
        self.window.succeeded();
        self.unanswered = 0;
        let key = item.job.key.clone();
        self.tell(Event::Reserved { key: key.clone(), id: id.clone(), op });
        if !self.ids.insert(id.clone()) {
            // Nothing may be written to an id that belongs to another template.
            let why = format!("the service gave the id {id} to a new template, and another one has it already");
            self.ledger.stage(Change::Unset { key });
            self.fail(item.job.key, why.clone());
            self.stop(Stop::Confused(why), Halt::Quiet, now);
            return;
        }
        item.reserved = Some(id.clone());
        item.attempts = 0;
        let ask = Ask::Fill { id, to: item.job.to, op };
        let prepared = Prepared::stage(&mut self.ledger, &key, item.job.before.as_ref(), ask);
        item.intends(prepared, now);
        self.open.insert(number, item);
    }

    fn filled(&mut self, item: Item, id: Id, to: crate::desired::Digest, now: Now) {
        self.window.succeeded();
        self.failures = 0;
        let unsettled = item.unsettled();
        #[cfg(test)]
        let unsettled = unsettled.filter(|_| self.ledger.mutant != Some(Mutant::UnsettledForgotten));
        let record = Record { entry: Entry::Live { id: id.clone(), digest: to }, unsettled, applied: Some(now.wall) };
        self.ledger.stage(Change::Set { key: item.job.key.clone(), record });
        self.done(Applied { key: item.job.key, id, action: item.job.action });
    }

    fn not_done(&mut self, number: usize, mut item: Item, request: Committed, error: SendError, now: Now) {
        let (after, again) = match &error {
            SendError::NotSent { .. } => (None, true),
            SendError::Throttled { retry_after } => {
                self.window.throttled(self.flying);
                let after = retry_after.map(|after| after.min(policy::RETRY_AFTER));
                if let Some(after) = after {
                    self.quiet_until = self.quiet_until.max(now.mono + after);
                    let why = "the service asks for fewer requests";
                    self.tell(Event::Waiting { key: None, seconds: after.as_secs(), why });
                }
                (after, true)
            }
            _ => (None, false),
        };
        if again && self.again(&mut item, request, after, &error.to_string(), now) {
            self.open.insert(number, item);
            return;
        }
        self.withdraw(&item);
        let key = item.job.key.clone();
        match error {
            SendError::Refused { http, code, message } => {
                self.tell(Event::Refused { key: key.clone(), http, code: code.clone(), message: message.clone() });
                self.outcome.refused.push(Refused { key, http, code, message });
                self.failed(now);
            }
            error @ SendError::Denied { .. } => {
                self.fail(key, error.to_string());
                self.stop(Stop::Denied(error.to_string()), Halt::Quiet, now);
            }
            error @ SendError::Redirected { .. } => {
                self.fail(key, error.to_string());
                self.stop(Stop::Redirected(error.to_string()), Halt::Quiet, now);
            }
            error if item.lost.is_some() => {
                // An earlier attempt of this run may have arrived.
                self.tell(Event::Unknown { key: key.clone(), why: error.to_string() });
                self.outcome.unknown.push(Failed { key, why: error.to_string() });
                self.failed(now);
            }
            error @ SendError::File { .. } => self.fail(key, error.to_string()),
            error => {
                self.fail(key, error.to_string());
                self.failed(now);
            }
        }
    }

    fn lost_placeholder(&mut self, number: usize, mut item: Item, op: Op, why: String, now: Now) {
        let key = item.job.key.clone();
        self.leak(&key, op);
        self.unanswered += 1;
        item.creates += 1;
        if self.unanswered >= policy::UNANSWERED {
            self.stop(Stop::Unanswered(self.unanswered), Halt::Drain, now);
        }
        let open = self.halt.is_none() && item.creates < policy::CREATES && !self.ledger.has_ended();
        if open && self.budget.again() {
            let after = self.entropy.up_to(policy::pause(item.creates));
            let after_ms = u64::try_from(after.as_millis()).unwrap_or_default();
            self.tell(Event::Again { key: key.clone(), after_ms, why });
            let ask = Ask::Placeholder { op: Op(self.entropy.uuid(now)) };
            item.intends(Prepared::stage(&mut self.ledger, &key, None, ask), now);
            item.not_before = now.mono + after;
            item.attempts = 1;
            self.open.insert(number, item);
        } else {
            self.ledger.stage(Change::Unset { key: key.clone() });
            self.tell(Event::Unknown { key: key.clone(), why: why.clone() });
            self.outcome.unknown.push(Failed { key, why });
            self.failed(now);
        }
    }

    /// Plans another attempt, if attempts, budget and the run allow one.
    fn again(&mut self, item: &mut Item, request: Committed, after: Option<Duration>, why: &str, now: Now) -> bool {
        if item.attempts >= policy::ATTEMPTS || self.halt == Some(Halt::Quiet) || self.ledger.has_ended() {
            return false;
        }
        if !self.budget.again() {
            return false;
        }
        let after = after.unwrap_or_default() + self.entropy.up_to(policy::pause(item.attempts));
        let after_ms = u64::try_from(after.as_millis()).unwrap_or_default();
        self.tell(Event::Again { key: item.job.key.clone(), after_ms, why: why.to_owned() });
        item.not_before = now.mono + after;
        item.stage = Stage::Ready(request);
        true
    }

    /// Puts back what is known of a template of which nothing (more) happens.
    pub(super) fn withdraw(&mut self, item: &Item) {
        let key = item.job.key.clone();
        let before = item.job.before.clone();
        let record = match (&item.reserved, item.job.id.as_ref()) {
            (None, None) => None,
            _ if item.lost.is_some() => item.id().map(|id| Record {
                entry: Entry::Dirty { id: id.clone() },
                unsettled: item.unsettled(),
                applied: before.and_then(|record| record.applied),
            }),
            (Some(id), _) => Some(Record { entry: Entry::Reserved { id: id.clone() }, unsettled: None, applied: None }),
            (None, Some(_)) => before.filter(|_| item.job.moved_from.is_none()),
        };
        if let (Some(from), Some(before), None) = (&item.job.moved_from, &item.job.before, &item.lost) {
            self.ledger.stage(Change::Set { key: from.clone(), record: before.clone() });
        }
        self.ledger.stage(match record {
            Some(record) => Change::Set { key, record },
            None => Change::Unset { key },
        });
    }

    pub(super) fn unknown(&mut self, item: Item, id: Id, why: String, now: Now) {
        let applied = item.job.before.as_ref().and_then(|record| record.applied);
        let record = Record { entry: Entry::Dirty { id }, unsettled: item.unsettled(), applied };
        let key = item.job.key;
        self.ledger.stage(Change::Set { key: key.clone(), record });
        self.tell(Event::Unknown { key: key.clone(), why: why.clone() });
        self.outcome.unknown.push(Failed { key, why });
        self.failed(now);
    }

    pub(super) fn leak(&mut self, key: &Key, op: Op) {
        self.ledger.stage(Change::Leak { op });
        self.outcome.leaked.push(op);
        self.tell(Event::Leaked { key: key.clone(), op });
    }

    pub(super) fn done(&mut self, applied: Applied) {
        self.tell(Event::Done { key: applied.key.clone(), id: applied.id.clone(), action: applied.action });
        self.outcome.applied.push(applied);
    }

    pub(super) fn fail(&mut self, key: Key, why: String) {
        self.tell(Event::Failed { key: key.clone(), why: why.clone() });
        self.outcome.failed.push(Failed { key, why });
    }

    /// One template more that failed; too many in a row stop the run.
    pub(super) fn failed(&mut self, now: Now) {
        self.failures += 1;
        if self.failures >= policy::FAILURES {
            self.stop(Stop::Failures(self.failures), Halt::Drain, now);
        }
    }
}
