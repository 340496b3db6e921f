//! How an apply ended, template by template.

use std::path::PathBuf;

use crate::desired::{Id, Key};
use crate::state::{Change, Healed, Holder, Op};

/// How an apply ended. Texts of the service in it are untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Steps that are done.
    pub applied: Vec<Applied>,
    /// Templates that the service refused.
    pub refused: Vec<Refused>,
    /// Templates of which nothing happened: not sent, or changed on disk since they were planned.
    pub failed: Vec<Failed>,
    /// Templates whose last request has no known end; the next apply sends them again.
    pub unknown: Vec<Failed>,
    /// Steps that were not begun.
    pub not_attempted: Vec<Key>,
    /// Placeholders of this run whose answer was lost.
    pub leaked: Vec<Op>,
    /// What an earlier run had left open.
    pub healed: Healed,
    /// Why the run stopped before its end, if it did.
    pub stop: Option<Stop>,
    /// Whether the state has it all; an apply that is still running has not.
    pub saved: Saved,
    /// What the state does not have: ids among it must not be lost.
    pub unsaved: Vec<Change>,
    /// Where [`Outcome::unsaved`] was written for `state import --rescue`.
    pub rescue: Option<PathBuf>,
}

/// A step that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The template.
    pub key: Key,
    /// Its id.
    pub id: Id,
    /// `create`, `update`, `move`, `retire` or `return`.
    pub action: &'static str,
}

/// A template that the service refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The template.
    pub key: Key,
    /// HTTP status.
    pub http: u16,
    /// The service's code.
    pub code: String,
    /// The service's words.
    pub message: String,
}

/// A template that was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The template.
    pub key: Key,
    /// Why.
    pub why: String,
}

/// Why a run stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// 401 or 403.
    Denied(String),
    /// 3xx.
    Redirected(String),
    /// So many templates failed one after the other that the cause is not in them.
    Failures(u32),
    /// So many creates in a row had no answer that more would only leave more empty templates behind.
    Unanswered(u32),
    /// The service gave an id that another template has, or answered for another template.
    Confused(String),
    /// Another run took the state over.
    Fenced,
    /// The state cannot be written.
    Unsaved(String),
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::Denied(why) | Self::Redirected(why) | Self::Confused(why) => f.write_str(why),
            Self::Failures(count) => write!(f, "{count} templates failed one after the other"),
            Self::Unanswered(count) => write!(f, "{count} creates in a row had no answer"),
            Self::Fenced => f.write_str("another run took the state over"),
            Self::Unsaved(why) => write!(f, "the state cannot be written: {why}"),
        }
    }
}

/// Whether the state has what the run did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Saved {
    /// All of it, and the state is free.
    Yes,
    /// Another run took the state over.
    Fenced {
        /// Who, where the head tells.
        by: Option<Holder>,
    },
    /// The store failed for too long.
    No {
        /// The store's words.
        why: String,
    },
    /// The run is not over.
    #[default]
    NotYet,
}

impl Outcome {
    /// Whether every step is done and saved.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.saved == Saved::Yes
            && self.stop.is_none()
            && self.refused.is_empty()
            && self.failed.is_empty()
            && self.unknown.is_empty()
            && self.not_attempted.is_empty()
    }
}
