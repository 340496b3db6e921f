//! The apply engine: events in, effects out, no I/O (safety §5, §6).
//!
//! Its owner carries calls to the store and requests to the service, tells it the time, and wakes it. The real driver is in
//! [`super::driver`], the simulator in `sim`.

mod answers;
mod saving;
mod stopping;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::ahead::Ahead;
use super::item::Item;
use super::job::{self, Job, Moved, Work};
use super::policy::{self, Budget};
use super::request::{Answer, Ask, Prepared};
use super::{Event, Outcome, Request, Saved};
use crate::client::{SendError, Window};
use crate::desired::{Digest, Id, Key};
use crate::plan::Step;
#[cfg(test)]
use crate::state::mutant::Mutant;
use crate::state::{Call, Change, Entropy, Healed, Ledger, Now, Op, Reply, Stamp};

/// How an apply works.
#[derive(Debug, Clone)]
pub struct Config {
    /// Requests that may be open at once.
    pub concurrency: usize,
    /// Ceiling on requests.
    pub requests_per_second: Option<f64>,
    /// How long other content for a key waits after a lost update: 120 s; nothing where the service ended with the process that had called it.
    pub settle: Duration,
    /// Whether the driver tidies up once every result is certain, while the state still is held.
    pub tidies: bool,
}

impl Config {
    /// The usual way, with this many requests open at once.
    #[must_use]
    pub fn new(concurrency: usize) -> Self {
        Self { concurrency: concurrency.max(1), requests_per_second: None, settle: policy::SETTLE, tidies: false }
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
    /// What [`Effect::Tidy`] asked for is done, well or badly.
    Tidied,
    /// Ctrl-C or SIGTERM, once more.
    Interrupt,
}

/// What the engine asks of the outside world.
#[derive(Debug)]
pub(super) enum Effect {
    /// Carry a call to the store.
    Store(Call),
    /// Read a template, which will be sent soon.
    Read(Key),
    /// Send a request, if the gate still is open.
    Send(usize, Key, Ask),
    /// Tidy up beside the state: every result is certain, and nothing else is left but to free it.
    Tidy,
    /// Tell whoever listens.
    Tell(Event),
}

/// How far a run that stops goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Halt {
    /// No new keys; those of which something was sent are finished.
    Drain,
    /// No new requests; answers are awaited for a while.
    Quiet,
}

/// Whether there still is to be tidied up before the state is freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tidying {
    Wanted,
    Asked,
    Done,
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
    ahead: Ahead,
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
    /// When an interrupted run ends, saved or not.
    limit: Option<Duration>,
    interrupts: u32,
    releasing: bool,
    tidying: Tidying,
    /// The clock by which it was last decided what is due (monotonic).
    looked: Duration,
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
            ahead: Ahead::new(),
            tidying: if config.tidies { Tidying::Wanted } else { Tidying::Done },
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
            limit: None,
            interrupts: 0,
            releasing: false,
            looked: now.mono,
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

    /// The contents that the entries speak of.
    pub(super) fn contents(&self) -> BTreeSet<Digest> {
        self.ledger.state().contents()
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

    /// Takes in all that happened and says what to do. What comes together shares a commit.
    pub(super) fn handle(&mut self, inputs: impl IntoIterator<Item = Input>, now: Now) -> Vec<Effect> {
        self.looked = now.mono;
        for input in inputs {
            self.take_in(input, now);
        }
        self.advance(now);
        std::mem::take(&mut self.effects)
    }

    fn take_in(&mut self, input: Input, now: Now) {
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
            Input::Tidied => self.tidying = Tidying::Done,
            Input::Interrupt => self.interrupt(now),
        }
    }

    /// When to wake the engine if nothing else happens (monotonic).
    ///
    /// Later than the last [`Engine::handle`], maybe not later than the clock is now: what came due meanwhile has not been done.
    pub(super) fn wake_at(&self) -> Option<Duration> {
        let mut times: Vec<Duration> = Vec::new();
        times.extend(self.deadline);
        times.extend(self.limit);
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
        times.into_iter().filter(|at| *at > self.looked).min()
    }

    fn advance(&mut self, now: Now) {
        if self.over {
            return;
        }
        self.commit_intents(now);
        self.rest(now);
        self.open_keys(now);
        match self.halt {
            None => {}
            Some(Halt::Drain) => self.drain(),
            Some(Halt::Quiet) => self.quiet(now),
        }
        self.send(now);
        self.write(now);
        if self.ledger.has_ended() && self.flying == 0 {
            self.end();
        }
    }

    fn commit_intents(&mut self, now: Now) {
        for item in self.open.values_mut() {
            if let Some(took) = item.committed(&self.ledger, now) {
                self.ahead.intended(took);
            }
        }
    }

    /// Jobs whose rest is over join the queue.
    fn rest(&mut self, now: Now) {
        let due = |job: &Job| job.not_before.is_none_or(|until| until <= now.mono);
        for job in self.resting.extract_if(.., |job| due(job)) {
            self.queue.push_back(job);
        }
    }

    fn open_keys(&mut self, now: Now) {
        let most = self.ahead.templates(self.window.size());
        while self.halt.is_none() && !self.ledger.has_ended() && self.open.len() < most {
            let Some(job) = self.queue.pop_front() else { return };
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
            self.effects.push(Effect::Read(job.key.clone()));
            self.open.insert(self.numbers, Item::new(job, prepared, now));
        }
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
            let Some(ask) = item.send(now) else { continue };
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
