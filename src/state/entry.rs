//! What the state remembers: one entry per key, as values (safety §2).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Deed;
use crate::desired::{Digest, Id, Key};

/// The operation id of one reservation or update: a UUIDv7. A placeholder's name is [`Op::placeholder_name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Op(pub Uuid);

impl Op {
    /// The name of the placeholder that this operation creates: `letterpress-<uuid>`.
    #[must_use]
    pub fn placeholder_name(&self) -> String {
        format!("letterpress-{}", self.0)
    }
}

/// What we know of one key's template at the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Entry {
    /// A placeholder is asked for; no answer yet.
    Reserving {
        /// The operation.
        op: Op,
    },
    /// A placeholder exists and has no content yet.
    Reserved {
        /// Its id.
        id: Id,
    },
    /// An update was let go; no answer yet.
    Updating {
        /// The template's id.
        id: Id,
        /// The content before, where it is known.
        from: Option<Digest>,
        /// The content that was sent.
        to: Digest,
        /// The operation.
        op: Op,
    },
    /// The service holds this content, as far as we know.
    Live {
        /// The template's id.
        id: Id,
        /// The content.
        digest: Digest,
    },
    /// The template exists; its content is unknown, the next apply sends it again.
    Dirty {
        /// The template's id.
        id: Id,
    },
    /// The folder is gone; the id is kept for its return and counts toward the service's limit.
    Retired {
        /// The template's id.
        id: Id,
        /// The content when it was retired, where it is known.
        digest: Option<Digest>,
    },
}

impl Entry {
    /// The template's id, where there is one.
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Reserving { .. } => None,
            Self::Reserved { id }
            | Self::Updating { id, .. }
            | Self::Live { id, .. }
            | Self::Dirty { id }
            | Self::Retired { id, .. } => Some(id),
        }
    }

    /// The content that is certainly at the service.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Live { digest, .. } => Some(*digest),
            Self::Retired { digest, .. } => *digest,
            _ => None,
        }
    }

    /// The word of safety §2, in lower case.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Reserving { .. } => "reserving",
            Self::Reserved { .. } => "reserved",
            Self::Updating { .. } => "updating",
            Self::Live { .. } => "live",
            Self::Dirty { .. } => "dirty",
            Self::Retired { .. } => "retired",
        }
    }
}

/// An update whose answer was lost. Until it is settled, other content for the same key waits (safety §6, settle time).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsettled {
    /// The content that may still arrive.
    pub digest: Digest,
    /// When it was sent, by wall clock.
    pub at: Timestamp,
}

/// One key's row in the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What we know.
    #[serde(flatten)]
    pub entry: Entry,
    /// A lost update, also kept after a later success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsettled: Option<Unsettled>,
    /// When content last reached the service, by wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Timestamp>,
}

/// The account that a state is bound to (safety P12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The base address, without a trailing slash; `sandbox` for the built-in service.
    pub base_url: String,
    /// `user_id` of `/system/info`.
    pub user_id: u64,
    /// `project_id` of `/system/info`, for a project key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
}

/// Who did something, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// By wall clock.
    pub at: Timestamp,
    /// `user@host`, or what CI says of itself. Untrusted.
    pub who: String,
    /// The run.
    pub run: Uuid,
}

/// The whole memory of one environment, as a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Which state this is, from its birth on.
    pub lineage: Uuid,
    /// Whose templates these are.
    pub account: Account,
    /// Grows by one with every commit.
    pub serial: u64,
    /// Grows by one with every acquire; a writer of an older epoch is fenced.
    pub epoch: u64,
    /// One record per key.
    pub records: BTreeMap<Key, Record>,
    /// Placeholders whose answer was lost: they may exist, empty, named after the operation.
    pub leaked: Vec<Op>,
    /// The last apply that ended, if any.
    pub last_apply: Option<Stamp>,
    /// What was done, the newest last; bounded.
    pub history: Vec<Deed>,
}

impl State {
    /// A state that knows no template yet.
    #[must_use]
    pub fn empty(lineage: Uuid, account: Account) -> Self {
        Self {
            lineage,
            account,
            serial: 0,
            epoch: 0,
            records: BTreeMap::new(),
            leaked: Vec::new(),
            last_apply: None,
            history: Vec::new(),
        }
    }

    /// Every content that an entry may still speak of.
    #[must_use]
    pub fn contents(&self) -> BTreeSet<Digest> {
        let mut contents = BTreeSet::new();
        for record in self.records.values() {
            match &record.entry {
                Entry::Updating { from, to, .. } => contents.extend(from.iter().copied().chain([*to])),
                entry => contents.extend(entry.digest()),
            }
        }
        contents
    }

    /// How many of the service's templates this state accounts for: every id, and every leak that may exist.
    #[must_use]
    pub fn templates_used(&self) -> usize {
        self.records.values().filter(|record| record.entry.id().is_some()).count() + self.leaked.len()
    }
}
