//! `apply --format json`: one JSON value a line, flushed at once, the last one always with the exit code.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::apply::{Event, Outcome};
use crate::cli::report::plan_json::PlanJson;
use crate::cli::{Exit, Failure, Terminal};
use crate::untrusted::inert_json;

/// One line of `apply --format json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress apply --format json: one line", rename = "event")]
pub struct Line<'a> {
    /// 1. Fields and events may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// When, by wall clock.
    #[schemars(with = "String")]
    at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    told: Told<'a>,
}

/// What a line can be about. Texts of the service and names of people in it are as they came.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Told<'a> {
    /// While the run works.
    Event(&'a Event),
    /// Before and after it.
    Frame(Frame),
}

/// What happens around a run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Frame {
    /// What is going to be done.
    Plan {
        /// As `plan --format json --no-diff` prints it.
        plan: Box<PlanJson>,
    },
    /// Another run holds the state, and this one waits.
    Lock {
        /// Who holds it, where that is known.
        held_by: Option<String>,
        /// How long this run waits at most, in seconds.
        up_to_seconds: u64,
    },
    /// The last line, however it ends: also when nothing was to be done, and when it failed before it began.
    Exit {
        /// The exit code.
        code: u8,
        /// What happened to the templates; all 0 when nothing was begun.
        #[serde(flatten)]
        counts: Counts,
        /// What kept the run from beginning or from going on; it is on stderr too.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        help: Option<String>,
    },
}

/// How many steps ended in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
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
}

impl Counts {
    /// Counts an outcome.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        Self {
            applied: outcome.applied.len(),
            refused: outcome.refused.len(),
            failed: outcome.failed.len(),
            unknown: outcome.unknown.len(),
            not_attempted: outcome.not_attempted.len(),
        }
    }
}

/// Prints the last line.
pub fn end(terminal: &Terminal, result: &anyhow::Result<Exit>, counts: Counts) {
    let (code, error, help) = match result {
        Ok(exit) => (exit.code(), None, None),
        Err(error) => {
            let help = error.downcast_ref::<Failure>().and_then(|failure| failure.help.clone());
            (Exit::of(error).code(), Some(format!("{error:#}")), help)
        }
    };
    line(terminal, Told::Frame(Frame::Exit { code, counts, error, help }));
}

/// Prints a line of the event stream, flushed at once.
pub fn line(terminal: &Terminal, told: Told<'_>) {
    // Plain values: serialization cannot fail, and a lost line must not stop a run.
    if let Ok(line) = serde_json::to_string(&Line { format: 1, at: Timestamp::now(), told }) {
        terminal.data(format_args!("{}\n", inert_json(&line)));
    }
}
