//! One conditional write, carried to a certain end: base, swap, and reading back whatever was not a clear yes (safety §1.5, §3).

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::State;
use super::base;
use super::call::{Call, Reply, Token};
use super::clock::{Entropy, Now};
use super::head::{HEAD_BYTES, Head, LOG_BYTES, LOG_LINES, Log, OLD_BASES};
#[cfg(test)]
use super::mutant::Mutant;

/// How a write goes on.
#[derive(Debug)]
pub(super) enum Progress {
    /// Ask the store.
    Call(Call),
    /// Nothing before this time (monotonic).
    Pause(Duration),
    /// It is in the store.
    Landed {
        /// The head's version now.
        token: Token,
        /// When the write began: leases count from here.
        began: Now,
        /// When it was sent the last time: the store's own pause between two writes counts from here (monotonic).
        sent: Duration,
        /// Whether it went without its base, since the store would not take that.
        uncompacted: bool,
    },
    /// Somebody else wrote; `None`: the head is gone.
    Lost(Option<Vec<u8>>),
    /// It landed, and somebody else wrote on top of it.
    Overtaken(Vec<u8>),
    /// The store failed for too long. It may have landed.
    GaveUp(String),
}

/// Bytes of a head besides its log, at most: names are bounded, and so is the list of old bases.
const HEADER_ROOM: usize = 8_192;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Base,
    Swap,
    ReadBack,
}

/// A write under way.
#[derive(Debug)]
pub(super) struct Write {
    base: Option<(String, Arc<[u8]>)>,
    expected: Option<Token>,
    head: Arc<[u8]>,
    /// The same write without a new base, for a store that is too full for one.
    fallback: Option<Arc<[u8]>>,
    uncompacted: bool,
    write_id: Uuid,
    stage: Stage,
    resume: Option<Duration>,
    began: Now,
    swapped: Option<Now>,
    sent: Duration,
    patience: Duration,
    failures: u32,
    #[cfg(test)]
    pub(super) mutant: Option<Mutant>,
}

impl Write {
    /// Prepares to write `head` over the version `expected`, after the base that it names.
    pub(super) fn new(expected: Option<Token>, head: &Head, sealed: Sealed, now: Now, patience: Duration) -> Self {
        let base = sealed.base.map(|bytes| (head.meta.base.name.clone(), bytes.into()));
        let stage = if base.is_some() { Stage::Base } else { Stage::Swap };
        Self {
            base,
            expected,
            head: head.encode().into(),
            fallback: sealed.without.map(|head| head.encode().into()),
            uncompacted: false,
            write_id: head.meta.write_id,
            stage,
            resume: None,
            began: now,
            swapped: None,
            sent: now.mono,
            patience,
            failures: 0,
            #[cfg(test)]
            mutant: None,
        }
    }

    /// What to do now.
    pub(super) fn proceed(&mut self, now: Now) -> Progress {
        if let Some(resume) = self.resume.filter(|resume| now.mono < *resume) {
            return Progress::Pause(resume);
        }
        self.resume = None;
        match (&self.stage, &self.base) {
            (Stage::Base, Some((name, bytes))) => {
                Progress::Call(Call::Put { name: name.clone(), bytes: Arc::clone(bytes) })
            }
            (Stage::ReadBack, _) => Progress::Call(Call::Load),
            _ => {
                // Identical bytes may be sent several times; the lease counts from the first, since that one may be the one that lands.
                self.swapped.get_or_insert(now);
                self.sent = now.mono;
                #[cfg(test)]
                if self.mutant == Some(Mutant::HeadWithoutCondition) {
                    return Progress::Call(Call::Overwrite { bytes: Arc::clone(&self.head) });
                }
                Progress::Call(Call::Swap { expected: self.expected.clone(), bytes: Arc::clone(&self.head) })
            }
        }
    }

    /// Takes in the store's answer.
    pub(super) fn reply(&mut self, reply: Reply, now: Now, entropy: &mut Entropy) -> Progress {
        match (self.stage, reply) {
            (Stage::Base, Reply::Done) => {
                self.stage = Stage::Swap;
                self.proceed(now)
            }
            (Stage::Swap, Reply::Swapped(token)) => self.landed(token),
            #[cfg(test)]
            (Stage::Swap, Reply::Conflict | Reply::Unknown(_) | Reply::Refused(_))
                if self.mutant == Some(Mutant::NoReadBack) =>
            {
                Progress::Lost(None)
            }
            (Stage::Swap, Reply::Conflict) => {
                self.stage = Stage::ReadBack;
                self.proceed(now)
            }
            (Stage::Swap, Reply::Unknown(why) | Reply::Refused(why)) => {
                self.stage = Stage::ReadBack;
                self.again(why, now, entropy)
            }
            (Stage::ReadBack, Reply::Loaded(found)) => self.settle(found, now, entropy),
            (_, Reply::Unknown(why) | Reply::Refused(why)) => self.again(why, now, entropy),
            (_, other) => self.again(format!("the store gave an answer to another question: {other:?}"), now, entropy),
        }
    }

    fn settle(&mut self, found: Option<(Vec<u8>, Token)>, now: Now, entropy: &mut Entropy) -> Progress {
        let Some((bytes, token)) = found else {
            return match self.expected {
                // Nothing was there before and nothing is there now: the first write did not arrive yet.
                None => {
                    self.stage = Stage::Swap;
                    self.again("the head does not appear".to_owned(), now, entropy)
                }
                Some(_) => Progress::Lost(None),
            };
        };
        if self.expected.as_ref() == Some(&token) {
            self.stage = Stage::Swap;
            return self.proceed(now);
        }
        match Head::decode(&bytes) {
            Ok(head) if head.meta.write_id == self.write_id => self.landed(token),
            Ok(head) if [head.meta.prev_write_id, head.meta.acquired_on].contains(&self.write_id) => {
                Progress::Overtaken(bytes)
            }
            _ => Progress::Lost(Some(bytes)),
        }
    }

    fn landed(&self, token: Token) -> Progress {
        let began = self.swapped.unwrap_or(self.began);
        Progress::Landed { token, began, sent: self.sent, uncompacted: self.uncompacted }
    }

    /// Waits a little and tries again, unless patience is at its end.
    fn again(&mut self, why: String, now: Now, entropy: &mut Entropy) -> Progress {
        if now.mono.saturating_sub(self.began.mono) >= self.patience {
            return Progress::GaveUp(why);
        }
        let most = Duration::from_millis(100 << self.failures.min(6));
        self.failures += 1;
        if self.stage == Stage::Base
            && self.failures >= 3
            && let Some(head) = self.fallback.take()
        {
            (self.head, self.uncompacted, self.stage, self.base) = (head, true, Stage::Swap, None);
        }
        self.resume = Some(now.mono + most / 2 + entropy.up_to(most / 2));
        self.proceed(now)
    }
}

/// What goes before a head, and what goes in its place where that cannot be.
#[derive(Debug, Default)]
pub(super) struct Sealed {
    /// The bytes of a new base.
    pub(super) base: Option<Vec<u8>>,
    /// The head without a new base, where that is short enough.
    pub(super) without: Option<Head>,
}

/// Moves the log into a new base where it has grown too long, or where `compact` asks for it.
///
/// `head` has its new meta and all lines; `state` is what it says.
pub(super) fn seal(head: &mut Head, state: &State, compact: bool) -> Sealed {
    let long = head.log.lines() > LOG_LINES || head.log.bytes() > LOG_BYTES;
    if !(long || compact && head.log.lines() > 0) {
        return Sealed::default();
    }
    let without = (head.log.bytes() + HEADER_ROOM < HEAD_BYTES).then(|| head.clone());
    let (reference, bytes) = base::encode(state);
    let old = std::mem::replace(&mut head.meta.base, reference);
    head.meta.old_bases.insert(0, old);
    head.meta.old_bases.truncate(OLD_BASES);
    head.log = Log::default();
    Sealed { base: Some(bytes), without }
}
