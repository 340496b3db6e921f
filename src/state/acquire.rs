//! Getting hold of a state: wait, take over, heal (safety §4). Pure; its owner carries the calls.

use std::time::Duration;

use super::call::{Call, Reply, Token};
use super::clock::{Entropy, Now};
use super::head::{BaseRef, Head, HeadError, Holder};
use super::heal::{self, Healed};
use super::ledger::{Ledger, Terms};
#[cfg(test)]
use super::mutant::Mutant;
use super::write::{self, Progress, Write};
use super::{State, base};

/// How an acquire goes on.
#[derive(Debug)]
pub enum Step {
    /// Ask the store.
    Call(Call),
    /// Nothing before this time (monotonic).
    Wait(Duration),
    /// The state is held, and this is what was healed.
    Held(Box<Ledger>, Healed),
    /// There is no state at all.
    Missing,
    /// The head or its base cannot be read.
    Unreadable {
        /// The object.
        name: String,
        /// Why.
        error: HeadError,
        /// The snapshots that the head names, the newest first.
        bases: Vec<BaseRef>,
    },
    /// Somebody else holds it, and the time to wait is over.
    Busy {
        /// Who.
        holder: Holder,
        /// How long nothing has moved, as far as this run saw.
        still: Duration,
    },
    /// The store failed for too long.
    GaveUp(String),
}

#[derive(Debug)]
enum Stage {
    Load,
    Base(Box<Head>, Token),
    Write(Box<Taking>),
}

#[derive(Debug)]
struct Taking {
    write: Write,
    head: Head,
    state: State,
    holder: Holder,
    healed: Healed,
    uncompacted: Option<Head>,
}

/// An acquire under way.
#[derive(Debug)]
pub struct Acquire {
    holder: Holder,
    terms: Terms,
    timeout: Duration,
    began: Now,
    /// The version that was seen last, and since when it has not moved.
    seen: Option<(Token, Duration)>,
    waits_for: Option<Holder>,
    force: bool,
    resume: Option<Duration>,
    failures: u32,
    stage: Stage,
    #[cfg(test)]
    pub(crate) mutant: Option<Mutant>,
}

/// How often a held state is looked at: soon at first, and at most this seldom.
const POLL: Duration = Duration::from_secs(3);
const FIRST_POLL: Duration = Duration::from_millis(200);

impl Acquire {
    /// Prepares to acquire for `run`, waiting at most `timeout` for another holder.
    #[must_use]
    pub fn new(run: uuid::Uuid, who: &str, terms: Terms, timeout: Duration, now: Now) -> Self {
        let ttl_s = if terms.lease { Terms::TTL.as_secs() } else { 0 };
        let who = super::change::cut(who, 200).to_owned();
        Self {
            holder: Holder { run, who, beat: 0, ttl_s },
            terms,
            timeout,
            began: now,
            seen: None,
            waits_for: None,
            force: false,
            resume: None,
            failures: 0,
            stage: Stage::Load,
            #[cfg(test)]
            mutant: None,
        }
    }

    /// Takes over at once, also from a holder that may be alive: its next write is fenced.
    pub fn force(&mut self, force: bool) {
        self.force = force;
    }

    /// Whom this run waits for.
    #[must_use]
    pub fn waits_for(&self) -> Option<&Holder> {
        self.waits_for.as_ref()
    }

    /// What to do now.
    pub fn poll(&mut self, now: Now) -> Step {
        if let Some(resume) = self.resume.filter(|resume| now.mono < *resume) {
            return Step::Wait(resume);
        }
        self.resume = None;
        match &mut self.stage {
            Stage::Load => Step::Call(Call::Load),
            Stage::Base(head, _) => Step::Call(Call::Get { name: head.meta.base.name.clone() }),
            Stage::Write(taking) => {
                let progress = taking.write.proceed(now);
                self.progress(progress, now)
            }
        }
    }

    /// Takes in the store's answer to the last call.
    pub fn reply(&mut self, reply: Reply, now: Now, entropy: &mut Entropy) -> Step {
        if let Stage::Write(taking) = &mut self.stage {
            let progress = taking.write.reply(reply, now, entropy);
            return self.progress(progress, now);
        }
        match (std::mem::replace(&mut self.stage, Stage::Load), reply) {
            (Stage::Load, Reply::Loaded(None)) => Step::Missing,
            (Stage::Load, Reply::Loaded(Some((bytes, token)))) => match Head::decode(&bytes) {
                Ok(head) => self.loaded(head, token, now),
                Err(error) => Step::Unreadable { name: "head.json".to_owned(), error, bases: Vec::new() },
            },
            (Stage::Base(head, token), Reply::Got(bytes)) => self.based(*head, token, bytes, now, entropy),
            (_, Reply::Refused(why)) => Step::GaveUp(why),
            (stage, Reply::Unknown(why)) => {
                self.stage = stage;
                self.again(why, now, entropy)
            }
            (_, other) => self.again(format!("the store gave an answer to another question: {other:?}"), now, entropy),
        }
    }

    fn loaded(&mut self, head: Head, token: Token, now: Now) -> Step {
        if let (Some(holder), true) = (&head.meta.holder, self.terms.lease && !self.force) {
            let since = match &self.seen {
                Some((seen, since)) if *seen == token => *since,
                _ => now.mono,
            };
            self.seen = Some((token.clone(), since));
            let still = now.mono.saturating_sub(since);
            let free = Duration::from_secs(holder.ttl_s) + Terms::SLACK;
            #[cfg(test)]
            let free = if self.mutant == Some(Mutant::TakeoverAtOnce) { Duration::ZERO } else { free };
            if still < free {
                let waited = now.mono.saturating_sub(self.began.mono);
                if waited >= self.timeout {
                    return Step::Busy { holder: holder.clone(), still };
                }
                self.waits_for = Some(holder.clone());
                let pause = (waited / 4).clamp(FIRST_POLL, POLL);
                self.resume = Some(now.mono + pause.min(free - still).min(self.timeout - waited));
                return self.poll(now);
            }
        }
        self.waits_for = None;
        self.stage = Stage::Base(Box::new(head), token);
        self.poll(now)
    }

    fn based(&mut self, head: Head, token: Token, bytes: Option<Vec<u8>>, now: Now, entropy: &mut Entropy) -> Step {
        let state = match replay(&head, bytes.as_deref()) {
            Ok(state) => state,
            // The holder may have moved on to a new base between the two reads: look once more.
            Err(_) if self.failures == 0 => {
                self.failures += 1;
                return self.poll(now);
            }
            Err(error) => {
                let mut bases = vec![head.meta.base.clone()];
                bases.extend(head.meta.old_bases.iter().cloned());
                return Step::Unreadable { name: head.meta.base.name, error, bases };
            }
        };
        self.take(head, token, state, now, entropy)
    }

    /// Writes the next head: a new epoch, this run as its holder, and every open intent closed.
    fn take(&mut self, mut head: Head, token: Token, mut state: State, now: Now, entropy: &mut Entropy) -> Step {
        let (changes, healed) = heal::heal(&state, now.wall);
        #[cfg(test)]
        let (changes, healed) = self.mutate(&state, changes, healed);
        let mut holder = self.holder.clone();
        holder.beat = head.meta.serial + 1;
        let meta = &mut head.meta;
        meta.serial += 1;
        meta.epoch += 1;
        meta.acquired_on = meta.write_id;
        meta.prev_write_id = std::mem::replace(&mut meta.write_id, entropy.uuid(now));
        meta.holder = Some(holder.clone());
        (state.serial, state.epoch) = (meta.serial, meta.epoch);
        for change in &changes {
            state.change(change);
            head.log.push(change);
        }
        let sealed = write::seal(&mut head, &state, false);
        let uncompacted = sealed.without.clone();
        let write = Write::new(Some(token), &head, sealed, now, self.terms.patience);
        self.stage = Stage::Write(Box::new(Taking { write, head, state, holder, healed, uncompacted }));
        self.poll(now)
    }

    fn progress(&mut self, progress: Progress, now: Now) -> Step {
        match progress {
            Progress::Call(call) => Step::Call(call),
            Progress::Pause(until) => Step::Wait(until),
            Progress::Landed { token, began, sent, uncompacted } => {
                let Stage::Write(taking) = std::mem::replace(&mut self.stage, Stage::Load) else {
                    return self.poll(now);
                };
                let taking = *taking;
                let head = if uncompacted { taking.uncompacted.unwrap_or(taking.head) } else { taking.head };
                let ledger = Ledger::new(taking.state, head, token, taking.holder, self.terms, (began, sent));
                Step::Held(Box::new(ledger), taking.healed)
            }
            // Somebody else was faster, or slept longer: begin again.
            Progress::Lost(_) | Progress::Overtaken(_) => {
                (self.stage, self.failures) = (Stage::Load, 0);
                self.poll(now)
            }
            Progress::GaveUp(why) => Step::GaveUp(why),
        }
    }

    fn again(&mut self, why: String, now: Now, entropy: &mut Entropy) -> Step {
        if now.mono.saturating_sub(self.began.mono) >= self.terms.patience.max(self.timeout) {
            return Step::GaveUp(why);
        }
        let most = Duration::from_millis(100 << self.failures.min(6));
        self.failures += 1;
        self.resume = Some(now.mono + most / 2 + entropy.up_to(most / 2));
        self.poll(now)
    }

    #[cfg(test)]
    fn mutate(&self, state: &State, changes: Vec<super::Change>, healed: Healed) -> (Vec<super::Change>, Healed) {
        use super::{Change, Entry, Record};
        let set = |key: &crate::desired::Key, entry: Entry| Change::Set {
            key: key.clone(),
            record: Record { entry, unsettled: None, applied: None },
        };
        let changed = |make: &dyn Fn(&crate::desired::Key, &Entry) -> Option<Change>| {
            state.records.iter().filter_map(|(key, record)| make(key, &record.entry)).collect::<Vec<_>>()
        };
        match self.mutant {
            Some(Mutant::TakeoverDropsIntents) => {
                let changes = changed(&|key, entry| match entry {
                    Entry::Reserving { .. } => Some(Change::Unset { key: key.clone() }),
                    Entry::Updating { id, from, .. } => Some(match from {
                        Some(digest) => set(key, Entry::Live { id: id.clone(), digest: *digest }),
                        None => set(key, Entry::Reserved { id: id.clone() }),
                    }),
                    _ => None,
                });
                (changes, Healed::default())
            }
            Some(Mutant::TakeoverRepeatsCreates) => {
                let changes = changes.into_iter().filter(|change| !matches!(change, Change::Leak { .. })).collect();
                (changes, healed)
            }
            Some(Mutant::TakeoverBelievesUpdates) => {
                let changes = changed(&|key, entry| match entry {
                    Entry::Reserving { op } => Some(Change::Leak { op: *op }),
                    Entry::Updating { id, to, .. } => Some(set(key, Entry::Live { id: id.clone(), digest: *to })),
                    _ => None,
                });
                (changes, healed)
            }
            _ => (changes, healed),
        }
    }
}

/// The state that a head and its base say. The very first base may be missing: a `state init` that was killed did not come to write it.
///
/// # Errors
///
/// When the base is missing or damaged, or the log does not read.
pub fn replay(head: &Head, base: Option<&[u8]>) -> Result<State, HeadError> {
    let first = || {
        let state = base::first(head.meta.lineage, head.meta.account.clone());
        (base::encode(&state).0 == head.meta.base).then_some(state)
    };
    let mut state = match base {
        Some(bytes) => base::decode(bytes, Some(head.meta.base.digest))?,
        None => first().ok_or_else(|| HeadError::Damaged("it is missing".to_owned()))?,
    };
    let changes = head.log.changes().map_err(|error| HeadError::Damaged(format!("a line of the log: {error}")))?;
    for change in &changes {
        state.change(change);
    }
    (state.serial, state.epoch) = (head.meta.serial, head.meta.epoch);
    state.account = head.meta.account.clone();
    state.lineage = head.meta.lineage;
    Ok(state)
}
