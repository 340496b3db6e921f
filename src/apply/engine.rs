//! The apply engine: events in, effects out, no I/O (safety §5, §6).
//!
//! Its owner carries calls to the store and requests to the service, tells it the time, and wakes it. The real driver is in
//! [`super::driver`], the simulator in `sim`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::item::{Item, Stage};
use super::job::{self, Job, Moved, Work};
use super::policy::{self, Budget};
use super::request::{Answer, Ask, Committed, Prepared, Settled};
use super::{Applied, Event, Failed, Outcome, Refused, Request, Saved, Stop};
use crate::client::{SendError, Window};
use crate::desired::{Id, Key};
use crate::plan::Step;
#[cfg(test)]
use crate::state::mutant::Mutant;
use crate::state::{
    Call, Change, Deed, Entropy, Entry, Healed, Ledger, Next, Now, Op, Record, Reply, Stamp, Unsettled,
};

/// Open keys for each request that may be open, where writing down an intent takes as long as sending it.
const AHEAD: usize = 3;

/// How an apply works.
#[derive(Debug, Clone)]
pub struct Config {
    /// Requests that may be open at once.
    pub concurrency: usize,
    /// Ceiling on requests.
    pub requests_per_second: Option<f64>,
    /// How long other content for a key waits after a lost update: 120 s; nothing where the service ended with the process that had called it.
    pub settle: Duration,
}

impl Config {
    /// The usual way, with this many requests open at once.
    #[must_use]
    pub fn new(concurrency: usize) -> Self {
        Self { concurrency: concurrency.max(1), requests_per_second: None, settle: policy::SETTLE }
    }
}

/// What the outside world tells the engine.
#[derive(Debug)]
pub(super) enum Input {
    /// Time has passed.
    Wake,
    /// The store's answer to the open call.
    Stored(Reply),
    /// The service's answer to a request.
    Answered(usize, Result<Answer, SendError>),
    /// The request's content is no longer what was planned; nothing was sent.
    Withdrawn(usize, String),
    /// Ctrl-C or SIGTERM, once more.
    Interrupt,
}

/// What the engine asks of the outside world.
#[derive(Debug)]
pub(super) enum Effect {
    /// Carry a call to the store.
    Store(Call),
    /// Send a request, if the gate still is open.
    Send(usize, Key, Ask),
    /// Tell whoever listens.
    Tell(Event),
}

/// How far a run that stops goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Halt {
    /// No new keys; open ones are finished.
    Drain,
    /// No new requests; answers are awaited for a while.
    Quiet,
}

/// A run.
pub(super) struct Engine {
    config: Config,
    ledger: Ledger,
    entropy: Entropy,
    stamp: Stamp,
    queue: VecDeque<Job>,
    /// Jobs that wait for an older update to settle.
    resting: Vec<Job>,
    open: BTreeMap<usize, Item>,
    numbers: usize,
    window: Window,
    flying: usize,
    budget: Budget,
    /// The store failed; the ledger goes on then.
    store_pause: Option<Duration>,
    /// No request before this time: the service asked for a pause.
    quiet_until: Duration,
    /// No request before this time: `requests_per_second`.
    next_slot: Duration,
    failures: u32,
    unanswered: u32,
    halt: Option<Halt>,
    deadline: Option<Duration>,
    interrupts: u32,
    releasing: bool,
    over: bool,
    ids: BTreeSet<Id>,
    outcome: Outcome,
    effects: Vec<Effect>,
    worked: bool,
}

impl Engine {
    /// Sorts the steps of a plan against the held state; nothing is done before the first [`Engine::handle`].
    pub(super) fn new(
        steps: &[Step],
        ledger: Ledger,
        healed: Healed,
        config: Config,
        stamp: Stamp,
        entropy: Entropy,
        now: Now,
    ) -> Result<Self, (Moved, Box<Ledger>)> {
        let settle = config.settle;
        #[cfg(test)]
        let settle = if ledger.mutant == Some(Mutant::NoSettleTime) { Duration::ZERO } else { settle };
        let work = match job::work(steps, ledger.state(), settle, now) {
            Ok(work) => work,
            Err(moved) => return Err((moved, Box::new(ledger))),
        };
        let ids = ledger.state().records.values().filter_map(|record| record.entry.id().cloned()).collect();
        let mut engine = Self {
            window: Window::new(config.concurrency),
            config,
            ledger,
            entropy,
            stamp,
            queue: VecDeque::new(),
            resting: Vec::new(),
            open: BTreeMap::new(),
            numbers: 0,
            flying: 0,
            budget: Budget::default(),
            store_pause: None,
            quiet_until: Duration::ZERO,
            next_slot: Duration::ZERO,
            failures: 0,
            unanswered: 0,
            halt: None,
            deadline: None,
            interrupts: 0,
            releasing: false,
            over: false,
            ids,
            outcome: Outcome { healed, ..Outcome::default() },
            effects: Vec::new(),
            worked: !steps.is_empty(),
        };
        engine.begin(work, steps.len(), now);
        Ok(engine)
    }

    fn begin(&mut self, work: Work, steps: usize, now: Now) {
        let (serial, epoch) = (self.ledger.state().serial, self.ledger.state().epoch);
        self.tell(Event::Started { run: self.stamp.run, serial, epoch, steps });
        if !self.outcome.healed.is_empty() {
            let healed = self.outcome.healed.clone();
            self.tell(Event::Healed { dirty: healed.dirty, leaked: healed.leaked });
        }
        for change in work.changes {
            self.ledger.stage(change);
        }
        for applied in work.settled {
            self.done(applied);
        }
        for job in work.jobs {
            match job.not_before {
                Some(until) => {
                    let seconds = until.saturating_sub(now.mono).as_secs();
                    let why = "an earlier update without an answer may still arrive";
                    self.tell(Event::Waiting { key: Some(job.key.clone()), seconds, why });
                    self.resting.push(job);
                }
                None => self.queue.push_back(job),
            }
        }
    }

    /// Whether the run is over; [`Engine::finish`] then gives the outcome.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The outcome, and what the run had in hand.
    pub(super) fn finish(mut self) -> (Outcome, Ledger) {
        self.outcome.unsaved = if self.outcome.saved == Saved::Yes { Vec::new() } else { self.ledger.unsaved() };
        (self.outcome, self.ledger)
    }

    /// Whether a request may be sent at this moment.
    pub(super) fn gate(&self) -> &std::sync::Arc<crate::state::Gate> {
        self.ledger.gate()
    }

    /// The epoch that this run acquired.
    #[cfg(test)]
    pub(super) fn epoch(&self) -> u64 {
        self.ledger.state().epoch
    }

    /// Takes in what happened and says what to do.
    pub(super) fn handle(&mut self, input: Input, now: Now) -> Vec<Effect> {
        match input {
            Input::Wake => {}
            Input::Stored(reply) => {
                let next = self.ledger.reply(reply, now, &mut self.entropy);
                self.stored(next, now);
            }
            Input::Answered(number, answer) => self.answered(number, answer, now),
            Input::Withdrawn(number, why) => {
                let error = SendError::File { why };
                self.answered(number, Err(error), now);
            }
            Input::Interrupt => self.interrupt(now),
        }
        self.advance(now);
        std::mem::take(&mut self.effects)
    }

    /// When to wake the engine if nothing else happens (monotonic).
    pub(super) fn wake_at(&self, now: Now) -> Option<Duration> {
        let mut times: Vec<Duration> = Vec::new();
        times.extend(self.deadline);
        times.extend(self.ledger.due());
        times.extend(self.store_pause);
        if self.halt.is_none() {
            times.extend(self.resting.iter().filter_map(|job| job.not_before));
        }
        if self.halt != Some(Halt::Quiet) {
            let floor = self.quiet_until.max(self.next_slot);
            times.extend(self.open.values().filter_map(Item::ready_at).map(|at| at.max(floor)));
        }
        // What is due already but waits for something else is woken by that.
        times.into_iter().filter(|at| *at > now.mono).min()
    }

    fn advance(&mut self, now: Now) {
        if self.over {
            return;
        }
        self.commit_intents();
        self.rest(now);
        self.open_keys();
        self.send(now);
        if self.halt == Some(Halt::Quiet) {
            self.quiet(now);
        }
        self.write(now);
        if self.ledger.has_ended() && self.flying == 0 {
            self.end();
        }
    }

    fn commit_intents(&mut self) {
        for item in self.open.values_mut() {
            item.committed(&self.ledger);
        }
    }

    /// Jobs whose rest is over join the queue.
    fn rest(&mut self, now: Now) {
        let due = |job: &Job| job.not_before.is_none_or(|until| until <= now.mono);
        for job in self.resting.extract_if(.., |job| due(job)) {
            self.queue.push_back(job);
        }
    }

    fn open_keys(&mut self) {
        // A write to a bucket takes as long as a request: keys whose intents are on their way must not leave the window idle.
        let ahead = if self.ledger.terms().lease { AHEAD } else { 1 };
        let most = self.window.size() * ahead;
        while self.halt.is_none() && !self.ledger.has_ended() && self.open.len() < most {
            let Some(job) = self.queue.pop_front() else { return };
            let now = self.stamp_now();
            let op = Op(self.entropy.uuid(now));
            let ask = match &job.id {
                None => Ask::Placeholder { op },
                Some(id) => Ask::Fill { id: id.clone(), to: job.to, op },
            };
            if let Some(from) = &job.moved_from {
                self.ledger.stage(Change::Unset { key: from.clone() });
            }
            if let Some(id) = &job.id {
                self.ids.insert(id.clone());
            }
            let prepared = Prepared::stage(&mut self.ledger, &job.key, job.before.as_ref(), ask);
            self.numbers += 1;
            self.open.insert(self.numbers, Item::new(job, prepared));
        }
    }

    /// Operation ids need only be in rough order of time.
    fn stamp_now(&self) -> Now {
        Now { mono: Duration::ZERO, wall: self.stamp.at }
    }

    fn send(&mut self, now: Now) {
        if self.halt == Some(Halt::Quiet) || self.ledger.has_ended() {
            return;
        }
        let floor = self.quiet_until;
        let ready: Vec<usize> = self
            .open
            .iter()
            .filter(|(_, item)| item.ready_at().is_some_and(|at| at.max(floor) <= now.mono))
            .map(|(number, _)| *number)
            .collect();
        for number in ready {
            if self.flying >= self.window.size() || self.next_slot > now.mono || !self.may_send(now) {
                return;
            }
            if let Some(rate) = self.config.requests_per_second.filter(|rate| *rate > 0.0) {
                self.next_slot = self.next_slot.max(now.mono) + Duration::from_secs_f64(1.0 / rate);
            }
            let Some(item) = self.open.get_mut(&number) else { continue };
            let Some(ask) = item.send() else { continue };
            if item.attempts == 1 {
                self.budget.first();
            }
            let key = item.job.key.clone();
            let request = match ask {
                Ask::Placeholder { .. } => Request::Placeholder,
                Ask::Fill { .. } => Request::Content,
            };
            self.flying += 1;
            self.tell(Event::Sent { key: key.clone(), request });
            self.effects.push(Effect::Send(number, key, ask));
        }
    }

    fn may_send(&self, now: Now) -> bool {
        #[cfg(test)]
        if self.ledger.mutant == Some(Mutant::SendWithoutLease) {
            return true;
        }
        self.ledger.gate().is_open(now)
    }

    fn answered(&mut self, number: usize, answer: Result<Answer, SendError>, now: Now) {
        let Some(mut item) = self.open.remove(&number) else { return };
        let Stage::Flying(sent) = std::mem::replace(&mut item.stage, Stage::Idle) else {
            self.open.insert(number, item);
            return;
        };
        self.flying -= 1;
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
        item.stage = Stage::Intending(prepared);
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
            item.stage = Stage::Intending(Prepared::stage(&mut self.ledger, &key, None, ask));
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
    fn withdraw(&mut self, item: &Item) {
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

    fn unknown(&mut self, item: Item, id: Id, why: String, now: Now) {
        let applied = item.job.before.as_ref().and_then(|record| record.applied);
        let record = Record { entry: Entry::Dirty { id }, unsettled: item.unsettled(), applied };
        let key = item.job.key;
        self.ledger.stage(Change::Set { key: key.clone(), record });
        self.tell(Event::Unknown { key: key.clone(), why: why.clone() });
        self.outcome.unknown.push(Failed { key, why });
        self.failed(now);
    }

    fn leak(&mut self, key: &Key, op: Op) {
        self.ledger.stage(Change::Leak { op });
        self.outcome.leaked.push(op);
        self.tell(Event::Leaked { key: key.clone(), op });
    }

    fn done(&mut self, applied: Applied) {
        self.tell(Event::Done { key: applied.key.clone(), id: applied.id.clone(), action: applied.action });
        self.outcome.applied.push(applied);
    }

    fn fail(&mut self, key: Key, why: String) {
        self.tell(Event::Failed { key: key.clone(), why: why.clone() });
        self.outcome.failed.push(Failed { key, why });
    }

    /// One template more that failed; too many in a row stop the run.
    fn failed(&mut self, now: Now) {
        self.failures += 1;
        if self.failures >= policy::FAILURES {
            self.stop(Stop::Failures(self.failures), Halt::Drain, now);
        }
    }

    fn stop(&mut self, stop: Stop, halt: Halt, now: Now) {
        if self.halt >= Some(halt) {
            return;
        }
        if halt == Halt::Quiet {
            self.deadline.get_or_insert(now.mono + policy::DRAIN);
        }
        self.tell(Event::Stopping { why: stop.to_string() });
        self.outcome.stop.get_or_insert(stop);
        self.halt = Some(halt);
    }

    fn interrupt(&mut self, now: Now) {
        self.interrupts += 1;
        self.stop(Stop::Interrupted, Halt::Quiet, now);
        if self.interrupts > 1 {
            self.deadline = Some(now.mono);
            self.ledger.hurry();
        }
    }

    /// No new requests: what was not sent is put back at once, what was sent is awaited until the deadline.
    fn quiet(&mut self, now: Now) {
        let deadline = *self.deadline.get_or_insert(now.mono + policy::DRAIN);
        let numbers: Vec<usize> = self.open.keys().copied().collect();
        for number in numbers {
            let flies = self.open.get(&number).is_some_and(Item::is_flying);
            if flies && now.mono < deadline {
                continue;
            }
            let Some(item) = self.open.remove(&number) else { continue };
            if flies {
                self.abandon(item, now);
            } else {
                self.withdraw(&item);
                match item.lost {
                    Some(_) => self.outcome.unknown.push(Failed {
                        key: item.job.key,
                        why: "the run stopped before it could be sent again".to_owned(),
                    }),
                    None => self.outcome.not_attempted.push(item.job.key),
                }
            }
        }
    }

    /// A request whose answer is not awaited any more.
    fn abandon(&mut self, mut item: Item, now: Now) {
        let Stage::Flying(sent) = &item.stage else { return };
        self.flying -= 1;
        let why = "the run ended before the answer came".to_owned();
        match sent.ask().clone() {
            Ask::Placeholder { op } => {
                self.leak(&item.job.key, op);
                self.ledger.stage(Change::Unset { key: item.job.key.clone() });
            }
            Ask::Fill { to, .. } => {
                item.lost = Some(Unsettled { digest: to, at: now.wall });
                self.withdraw(&item);
            }
        }
        self.tell(Event::Unknown { key: item.job.key.clone(), why: why.clone() });
        self.outcome.unknown.push(Failed { key: item.job.key, why });
    }

    /// Lets the ledger write: what is staged, a beat, or the last commit that also releases.
    fn write(&mut self, now: Now) {
        self.store_pause = None;
        loop {
            if self.ledger.has_ended() {
                return;
            }
            if self.ledger.is_idle() && !self.releasing {
                let finished =
                    self.open.is_empty() && (self.halt.is_some() || self.queue.is_empty() && self.resting.is_empty());
                let due = self.ledger.due().is_some_and(|due| due <= now.mono);
                if finished && (due || !self.ledger.has_staged() || self.interrupts > 0) {
                    self.sum_up(now);
                    self.releasing = true;
                    self.ledger.begin(true, now, &mut self.entropy);
                } else if due {
                    self.ledger.begin(false, now, &mut self.entropy);
                }
            }
            match self.ledger.poll(now) {
                Next::Call(call) => self.effects.push(Effect::Store(call)),
                Next::Idle | Next::Busy => return,
                Next::Wait(until) => {
                    self.store_pause = Some(until);
                    return;
                }
                next => self.stored(next, now),
            }
        }
    }

    fn stored(&mut self, next: Next, now: Now) {
        match next {
            Next::Call(call) => self.effects.push(Effect::Store(call)),
            Next::Idle | Next::Busy | Next::Wait(_) => {}
            Next::Landed { serial } => self.tell(Event::Committed { serial }),
            Next::Released => {
                self.tell(Event::Committed { serial: self.ledger.state().serial });
                self.outcome.saved = Saved::Yes;
            }
            Next::Fenced { by } => {
                self.outcome.saved = Saved::Fenced { by };
                self.stop(Stop::Fenced, Halt::Quiet, now);
            }
            Next::GaveUp(why) => {
                self.outcome.saved = Saved::No { why: why.clone() };
                self.stop(Stop::Unsaved(why), Halt::Quiet, now);
            }
        }
    }

    /// The line in the history.
    fn sum_up(&mut self, now: Now) {
        if !self.worked {
            return;
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for applied in &self.outcome.applied {
            *counts.entry(applied.action).or_default() += 1;
        }
        let mut parts: Vec<String> = counts.iter().map(|(action, count)| format!("{count} × {action}")).collect();
        let left = self.queue.len() + self.resting.len() + self.outcome.not_attempted.len();
        let rest = [
            (self.outcome.refused.len(), "refused"),
            (self.outcome.failed.len(), "failed"),
            (self.outcome.unknown.len(), "unknown"),
            (left, "not attempted"),
        ];
        parts.extend(rest.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")));
        let stamp = Stamp { at: now.wall, ..self.stamp.clone() };
        self.ledger.stage(Change::Did(Deed::new(stamp, &format!("apply: {}", parts.join(", ")), true)));
    }

    fn end(&mut self) {
        self.over = true;
        for (_, item) in std::mem::take(&mut self.open) {
            self.withdraw(&item);
            self.outcome.not_attempted.push(item.job.key);
        }
        let left = self.queue.drain(..).chain(self.resting.drain(..)).map(|job| job.key);
        self.outcome.not_attempted.extend(left);
        let outcome = &self.outcome;
        self.effects.push(Effect::Tell(Event::Ended {
            applied: outcome.applied.len(),
            refused: outcome.refused.len(),
            failed: outcome.failed.len(),
            unknown: outcome.unknown.len(),
            not_attempted: outcome.not_attempted.len(),
            saved: outcome.saved == Saved::Yes,
        }));
    }

    fn tell(&mut self, event: Event) {
        self.effects.push(Effect::Tell(event));
    }
}
