//! One step of a plan.

use serde::{Deserialize, Serialize};

use crate::desired::{Digest, Id, Key};

/// One thing that an apply would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The template.
    pub key: Key,
    /// Its name, for people; of a retired one there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What happens.
    #[serde(flatten)]
    pub action: Action,
}

/// What happens to one template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Action {
    /// A new key: reserve an id, then fill it.
    Create {
        /// The content.
        to: Digest,
    },
    /// The content changed, or must be sent again.
    Update {
        /// The template's id.
        id: Id,
        /// The content before, where it is known.
        from: Option<Digest>,
        /// The content.
        to: Digest,
        /// Why it is sent.
        why: Why,
        /// The key that the entry has now, where the folder moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moved_from: Option<Key>,
    },
    /// Only the key changes; nothing is sent.
    Move {
        /// The template's id.
        id: Id,
        /// The key that the entry has now.
        from: Key,
        /// The content, as it is.
        digest: Digest,
    },
    /// The folder is gone: the id is kept, nothing is sent.
    Retire {
        /// The template's id.
        id: Id,
        /// The content that it goes with, where it is known.
        digest: Option<Digest>,
    },
    /// The folder is back with the content it had: nothing is sent.
    Return {
        /// The template's id.
        id: Id,
        /// The content.
        digest: Digest,
    },
}

impl Action {
    /// The word of the JSON form.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Update { .. } => "update",
            Self::Move { .. } => "move",
            Self::Retire { .. } => "retire",
            Self::Return { .. } => "return",
        }
    }

    /// The template's id, where it has one.
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Create { .. } => None,
            Self::Update { id, .. } | Self::Move { id, .. } | Self::Retire { id, .. } | Self::Return { id, .. } => {
                Some(id)
            }
        }
    }

    /// The content that is sent; `None` where nothing is.
    #[must_use]
    pub fn sends(&self) -> Option<Digest> {
        match self {
            Self::Create { to } | Self::Update { to, .. } => Some(*to),
            Self::Move { .. } | Self::Retire { .. } | Self::Return { .. } => None,
        }
    }

    /// Whether the state accounts for one template more afterwards.
    #[must_use]
    pub fn adds_template(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Update { why: Why::Adopted, .. })
    }
}

/// Why content is sent to an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// The files changed.
    Changed,
    /// The folder is back, with other content.
    Returning,
    /// An earlier run was cut off and what it sent is unknown.
    Dirty,
    /// An id was reserved and never filled.
    Reserved,
    /// `ids:` in the manifest adopts a template that exists.
    Adopted,
    /// `--reassert`.
    Reasserted,
}
