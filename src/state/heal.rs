//! What an acquire makes of the intents that an earlier run left open (safety §4, `next`).

use jiff::Timestamp;

use super::{Change, Entry, Op, Record, State, Unsettled};
use crate::desired::Key;

/// What was healed; `apply` says it in one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Healed {
    /// Templates whose last update has no known end: the next apply sends them again.
    pub dirty: Vec<Key>,
    /// Placeholders that may exist without an owner.
    pub leaked: Vec<Op>,
}

impl Healed {
    /// Whether nothing had to be healed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dirty.is_empty() && self.leaked.is_empty()
    }
}

/// The changes that close every open intent of `state`, and what they mean.
#[must_use]
pub fn heal(state: &State, now: Timestamp) -> (Vec<Change>, Healed) {
    let (mut changes, mut healed) = (Vec::new(), Healed::default());
    for (key, record) in &state.records {
        match &record.entry {
            Entry::Reserving { op } => {
                changes.push(Change::Unset { key: key.clone() });
                changes.push(Change::Leak { op: *op });
                healed.leaked.push(*op);
            }
            Entry::Updating { id, to, .. } => {
                let unsettled = Some(Unsettled { digest: *to, at: now });
                let record = Record { entry: Entry::Dirty { id: id.clone() }, unsettled, applied: record.applied };
                changes.push(Change::Set { key: key.clone(), record });
                healed.dirty.push(key.clone());
            }
            _ => {}
        }
    }
    (changes, healed)
}
