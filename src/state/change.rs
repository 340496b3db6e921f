//! What one commit can do to a state: the lines of the head's log.

use serde::{Deserialize, Serialize};

use super::{Op, Record, Stamp, State};
use crate::desired::Key;

/// How many deeds a state remembers; the oldest go first.
pub const HISTORY: usize = 200;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// The key has this record from now on.
    Set {
        /// The template.
        key: Key,
        /// What we know of it.
        #[serde(flatten)]
        record: Record,
    },
    /// The key is no longer known.
    Unset {
        /// The template.
        key: Key,
    },
    /// A placeholder of this name may exist at the service.
    Leak {
        /// The operation that asked for it.
        op: Op,
    },
    /// The placeholder was found, or proven not to exist.
    Unleak {
        /// The operation that asked for it.
        op: Op,
    },
    /// A command did something.
    Did(Deed),
}

impl Change {
    /// The key of which it says all that is known from now on.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        match self {
            Self::Set { key, .. } | Self::Unset { key } => Some(key),
            Self::Leak { .. } | Self::Unleak { .. } | Self::Did(_) => None,
        }
    }
}

/// One row of `state history`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// Who and when.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// What, in a few words: `apply: 3 applied`. At most [`Deed::BYTES`] bytes.
    pub what: String,
    /// Whether it was an apply.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apply: bool,
}

impl Deed {
    /// Longest description in bytes; the rest is cut off.
    pub const BYTES: usize = 300;

    /// A deed whose description fits into the log.
    #[must_use]
    pub fn new(stamp: Stamp, what: &str, apply: bool) -> Self {
        Self { stamp, what: cut(what, Self::BYTES).to_owned(), apply }
    }
}

/// The longest beginning of a text with at most `bytes` bytes.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

impl State {
    /// Takes in one change.
    pub fn change(&mut self, change: &Change) {
        match change {
            Change::Set { key, record } => {
                self.records.insert(key.clone(), record.clone());
            }
            Change::Unset { key } => {
                self.records.remove(key);
            }
            Change::Leak { op } => {
                if !self.leaked.contains(op) {
                    self.leaked.push(*op);
                }
            }
            Change::Unleak { op } => self.leaked.retain(|leaked| leaked != op),
            Change::Did(deed) => {
                if deed.apply {
                    self.last_apply = Some(deed.stamp.clone());
                }
                self.history.push(deed.clone());
                let excess = self.history.len().saturating_sub(HISTORY);
                self.history.drain(..excess);
            }
        }
    }
}
