//! What an apply tells while it runs: one value per line of `apply --format json`, and the progress on a terminal.

use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::desired::{Id, Key};
use crate::state::Op;

/// One thing that happened. Texts of the service and names of people in it are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run holds the state and begins.
    Started {
        /// The run.
        #[schemars(with = "String")]
        run: Uuid,
        /// The state's serial.
        serial: u64,
        /// The state's epoch.
        epoch: u64,
        /// How many steps.
        steps: usize,
    },
    /// What an earlier run left open was closed.
    Healed {
        /// Templates whose last update has no known end; this run sends them again.
        #[schemars(with = "Vec<String>")]
        dirty: Vec<Key>,
        /// Placeholders that may exist without an owner.
        #[schemars(with = "Vec<String>")]
        leaked: Vec<Op>,
    },
    /// A request was let go.
    Sent {
        /// The template.
        #[schemars(with = "String")]
        key: Key,
        /// What is asked.
        request: Request,
    },
    /// A placeholder exists; should everything else be lost, this line has its id.
    Reserved {
        /// The template.
        #[schemars(with = "String")]
        key: Key,
        /// Its id.
        #[schemars(with = "String")]
        id: Id,
        /// The operation.
        #[schemars(with = "String")]
        op: Op,
    },
    /// A step is done.
    Done {
        /// The template.
        #[schemars(with = "String")]
        key: Key,
        /// Its id.
        #[schemars(with = "String")]
        id: Id,
        /// `create`, `update`, `move`, `retire` or `return`.
        action: &'static str,
    },
    /// The service refused a template; running again without a change ends the same.
    Refused {
        /// The template.
        #[schemars(with = "String")]
        key: Key,
        /// HTTP status.
        http: u16,
        /// The service's code.
        code: String,
        /// The service's words.
        message: String,
    },
    /// A template was not applied, and nothing of it happened.
    Failed {
        /// The template.
        #[schemars(with = "String")]
        key: Key,
        /// Why.
        why: String,
    },
    /// A template's last request has no known end; the next apply sends it again.
    Unknown {
        /// The template.
        #[schemars(with = "String")]
        key: Key,
        /// Why.
        why: String,
    },
    /// A request is going to be sent again.
    Again {
        /// The template.
        #[schemars(with = "String")]
        key: Key,
        /// Milliseconds until then.
        after_ms: u64,
        /// Why.
        why: String,
    },
    /// A placeholder's answer was lost: an empty template of this name may exist.
    Leaked {
        /// The template that it was for.
        #[schemars(with = "String")]
        key: Key,
        /// The operation.
        #[schemars(with = "String")]
        op: Op,
    },
    /// A write of the state is certain.
    Committed {
        /// The state's serial.
        serial: u64,
    },
    /// Nothing happens for a while.
    Waiting {
        /// The template that waits; `None`: all of them.
        #[schemars(with = "Option<String>")]
        key: Option<Key>,
        /// Seconds.
        seconds: u64,
        /// Why.
        why: &'static str,
    },
    /// No new work begins.
    Stopping {
        /// Why.
        why: String,
    },
    /// The run is over.
    Ended {
        /// Steps done.
        applied: usize,
        /// Templates that the service refused.
        refused: usize,
        /// Templates of which nothing happened.
        failed: usize,
        /// Templates whose last request has no known end.
        unknown: usize,
        /// Steps that were not begun.
        not_attempted: usize,
        /// Whether the state is saved.
        saved: bool,
    },
}

/// What is asked of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// An empty template, for its id.
    Placeholder,
    /// A template's content.
    Content,
}
