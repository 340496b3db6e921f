//! A held state: changes are staged, go to the register in groups, and are certain once their write has landed (safety §4, §5).
//!
//! Pure: it asks its owner to carry [`Call`]s to the store and back. One owner, one open call.

use std::sync::Arc;
use std::time::Duration;

use super::call::{Call, Reply, Token};
use super::clock::{Entropy, Now};
use super::gate::Gate;
use super::head::{Head, Holder, OLD_BASES};
#[cfg(test)]
use super::mutant::Mutant;
use super::write::{self, Progress, Write};
use super::{Change, State};

/// How a state is held, and how patient its writer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Whether the holder must renew a lease; where not, the kernel's lock carries it.
    pub lease: bool,
    /// Least time between the beginnings of two writes; some stores allow one write per second to an object.
    pub spacing: Duration,
    /// How long a failing store is tried again before a write is given up.
    pub patience: Duration,
}

impl Terms {
    /// After this long without a change, others may take the lease (plus [`Terms::SLACK`]).
    pub const TTL: Duration = Duration::from_secs(60);
    /// What others wait on top of [`Terms::TTL`].
    pub const SLACK: Duration = Duration::from_secs(15);
    /// The holder sends only this long after the start of its last successful write.
    pub const SEND: Duration = Duration::from_secs(40);
    /// A beat is due after this long without another write.
    pub const BEAT: Duration = Duration::from_secs(15);
}

/// The number of the write with which a change becomes certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// How a held state goes on.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing to do.
    Idle,
    /// The store has not answered yet.
    Busy,
    /// Ask the store.
    Call(Call),
    /// Nothing before this time (monotonic).
    Wait(Duration),
    /// A write is certain.
    Landed {
        /// The state's serial with it.
        serial: u64,
    },
    /// The last write is certain, and the state is free.
    Released,
    /// Somebody took the state over: nothing may be sent or written any more.
    Fenced {
        /// Who, where the head tells.
        by: Option<Holder>,
    },
    /// The store failed for too long: nothing may be sent or written any more.
    GaveUp(String),
}

#[derive(Debug)]
struct Flight {
    write: Write,
    changes: Vec<Change>,
    release: bool,
    uncompacted: Option<Head>,
    garbage: Option<String>,
}

/// A state that this run holds.
#[derive(Debug)]
pub struct Ledger {
    state: State,
    head: Head,
    token: Token,
    holder: Holder,
    terms: Terms,
    gate: Arc<Gate>,
    staged: Vec<Change>,
    flight: Option<Flight>,
    begun: u64,
    landed: u64,
    /// When the last write was sent (monotonic), the acquire's among them.
    last_sent: Duration,
    garbage: Vec<String>,
    asked: bool,
    ended: bool,
    #[cfg(test)]
    pub(crate) mutant: Option<Mutant>,
}

impl Ledger {
    /// A ledger over a head that an acquire has just written.
    pub(super) fn new(
        state: State,
        head: Head,
        token: Token,
        holder: Holder,
        terms: Terms,
        sent: (Now, Duration),
    ) -> Self {
        let (began, sent) = sent;
        let gate = Arc::new(Gate::new(terms.lease.then_some(Terms::SEND), began));
        Self {
            state,
            head,
            token,
            holder,
            terms,
            gate,
            staged: Vec::new(),
            flight: None,
            begun: 0,
            landed: 0,
            last_sent: sent,
            garbage: Vec::new(),
            asked: false,
            ended: false,
            #[cfg(test)]
            mutant: None,
        }
    }

    /// The state with everything that was staged, certain or not.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// This run's lease.
    #[must_use]
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// How the state is held.
    #[must_use]
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// Says at any moment whether this run may still send.
    #[must_use]
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Takes in a change; it is certain once [`Ledger::is_certain`] says so of the ticket.
    pub fn stage(&mut self, change: Change) -> Ticket {
        self.state.change(&change);
        self.staged.push(change);
        Ticket(self.begun + 1)
    }

    /// Whether the write of a ticket has landed.
    #[must_use]
    pub fn is_certain(&self, ticket: Ticket) -> bool {
        #[cfg(test)]
        if self.mutant == Some(Mutant::NoIntents)
            || self.mutant == Some(Mutant::SentBeforeIntentLanded) && self.begun >= ticket.0
        {
            return true;
        }
        self.landed >= ticket.0
    }

    /// Changes that are in no certain write: what a run that cannot save must hand to a person.
    #[must_use]
    pub fn unsaved(&self) -> Vec<Change> {
        let flying = self.flight.iter().flat_map(|flight| &flight.changes);
        flying.chain(&self.staged).cloned().collect()
    }

    /// The snapshots that the head names, as it was written last.
    pub fn bases(&self) -> impl Iterator<Item = &str> {
        let meta = &self.head.meta;
        std::iter::once(&meta.base).chain(&meta.old_bases).map(|base| base.name.as_str())
    }

    /// Snapshots that no head names any more, and that are still there.
    pub fn take_garbage(&mut self) -> Vec<String> {
        std::mem::take(&mut self.garbage)
    }

    /// Whether a change waits for a write.
    #[must_use]
    pub fn has_staged(&self) -> bool {
        !self.staged.is_empty()
    }

    /// Whether no write is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.flight.is_none() && !self.asked
    }

    /// Whether the state is no longer held: released, fenced or given up.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// When the next write may or must begin (monotonic): spacing for staged changes, else the next beat.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        if self.ended || self.flight.is_some() {
            return None;
        }
        if self.has_staged() {
            return Some(self.spaced());
        }
        self.terms.lease.then(|| self.gate.since().mono + Terms::BEAT)
    }

    /// The earliest time for the next write (monotonic), for stores that take only so many.
    #[must_use]
    pub fn spaced(&self) -> Duration {
        self.last_sent + self.terms.spacing
    }

    /// Ends without waiting for the store any longer. A write that is under way may still land; [`Ledger::unsaved`] has what is in it too.
    pub fn abandon(&mut self) -> Next {
        self.end();
        Next::GaveUp("the store did not take it in time".to_owned())
    }

    /// Begins a write with all that is staged; with nothing staged it is a beat. `release` frees the state in the same write.
    ///
    /// Does nothing while another write is under way. [`Ledger::poll`] then says what to ask.
    pub fn begin(&mut self, release: bool, now: Now, entropy: &mut Entropy) {
        if self.flight.is_some() || self.ended {
            return;
        }
        self.begun += 1;
        self.last_sent = now.mono;
        let changes = std::mem::take(&mut self.staged);
        self.holder.beat += 1;
        let meta = &mut self.head.meta;
        meta.serial += 1;
        meta.prev_write_id = std::mem::replace(&mut meta.write_id, entropy.uuid(now));
        meta.holder = (!release).then(|| self.holder.clone());
        self.state.serial = meta.serial;
        for change in &changes {
            self.head.log.push(change);
        }
        let dropped = self.head.meta.old_bases.get(OLD_BASES - 1).map(|base| base.name.clone());
        let sealed = write::seal(&mut self.head, &self.state, release);
        let garbage = dropped.filter(|_| sealed.base.is_some());
        let uncompacted = sealed.without.clone();
        let patience = self.terms.patience;
        #[cfg_attr(not(test), allow(unused_mut))]
        let mut write = Write::new(Some(self.token.clone()), &self.head, sealed, now, patience);
        #[cfg(test)]
        {
            write.mutant = self.mutant;
            if release && self.mutant == Some(Mutant::BlindRelease) {
                write.mutant = Some(Mutant::HeadWithoutCondition);
            }
        }
        self.flight = Some(Flight { write, changes, release, uncompacted, garbage });
    }

    /// What to ask now.
    pub fn poll(&mut self, now: Now) -> Next {
        if self.asked {
            return Next::Busy;
        }
        let progress = match &mut self.flight {
            Some(flight) => flight.write.proceed(now),
            None => match self.garbage.pop() {
                Some(name) => Progress::Call(Call::Delete { name }),
                None => return Next::Idle,
            },
        };
        self.progress(progress)
    }

    /// Takes in the store's answer to the last call.
    pub fn reply(&mut self, reply: Reply, now: Now, entropy: &mut Entropy) -> Next {
        self.asked = false;
        match &mut self.flight {
            Some(flight) => {
                let progress = flight.write.reply(reply, now, entropy);
                self.progress(progress)
            }
            // The answer to a delete: garbage that stays is no harm.
            None => self.poll(now),
        }
    }

    fn progress(&mut self, progress: Progress) -> Next {
        match progress {
            Progress::Call(call) => {
                self.asked = true;
                Next::Call(call)
            }
            Progress::Pause(until) => Next::Wait(until),
            Progress::Landed { token, began, sent, uncompacted } => {
                self.last_sent = sent;
                self.landed(token, began, uncompacted)
            }
            Progress::Overtaken(bytes) if self.flight.as_ref().is_some_and(|flight| flight.release) => {
                drop(bytes);
                self.flight = None;
                self.end();
                Next::Released
            }
            Progress::Overtaken(bytes) => {
                // The write itself is certain; only this run is over.
                self.flight = None;
                self.fenced(Some(&bytes))
            }
            Progress::Lost(bytes) => self.fenced(bytes.as_deref()),
            Progress::GaveUp(why) => {
                self.end();
                Next::GaveUp(why)
            }
        }
    }

    fn landed(&mut self, token: Token, began: Now, uncompacted: bool) -> Next {
        let Some(flight) = self.flight.take() else { return Next::Idle };
        self.token = token;
        self.landed = self.begun;
        if let (true, Some(head)) = (uncompacted, flight.uncompacted) {
            self.head = head;
        } else {
            self.garbage.extend(flight.garbage);
        }
        if flight.release {
            self.end();
            return Next::Released;
        }
        self.gate.renew(began);
        Next::Landed { serial: self.state.serial }
    }

    fn fenced(&mut self, bytes: Option<&[u8]>) -> Next {
        self.end();
        let by = bytes.and_then(|bytes| Head::decode(bytes).ok()).and_then(|head| head.meta.holder);
        Next::Fenced { by }
    }

    fn end(&mut self) {
        self.ended = true;
        self.gate.close();
    }
}
