//! What a run tells while it works: lines for people, with a bar on a terminal, or one JSON value a line.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::ending::past;
use crate::apply::Event;
use crate::cli::Terminal;
use crate::cli::report::plan_json::PlanJson;
use crate::cli::terminal::{CYAN, DIM, GREEN, RED, YELLOW};
use crate::desired::Key;
use crate::plan::Step;
use crate::untrusted::Untrusted;

/// Columns that a key gets at most before its row goes out of line.
const KEY_COLUMNS: usize = 44;

/// Where events go.
#[derive(Debug)]
pub enum Watch<'a> {
    /// A line for each answer, flushed at once: the log of a CI job is the last journal.
    People {
        /// The terminal.
        terminal: &'a Terminal,
        /// On a terminal.
        bar: Option<ProgressBar>,
        /// Columns of the longest key.
        width: usize,
        /// Since when.
        began: Instant,
    },
    /// One JSON value a line.
    Json {
        /// The terminal.
        terminal: &'a Terminal,
    },
}

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
    /// The last line.
    Exit {
        /// The exit code.
        code: u8,
    },
}

impl<'a> Watch<'a> {
    /// Lines for people, about these steps.
    #[must_use]
    pub fn people(terminal: &'a Terminal, steps: &[Step]) -> Self {
        let bar = (terminal.is_watched() && steps.len() > 1).then(|| bar(steps.len()));
        let width = steps.iter().map(|step| step.key.as_str().width()).max().unwrap_or(0).min(KEY_COLUMNS);
        Self::People { terminal, bar, width, began: Instant::now() }
    }

    /// Takes in one event.
    pub fn tell(&mut self, event: &Event) {
        match self {
            Self::Json { terminal } => json(terminal, Told::Event(event)),
            Self::People { terminal, bar, width, .. } => {
                // On a terminal the next line, a moment later, has the id too.
                if bar.is_some() && matches!(event, Event::Reserved { .. }) {
                    return;
                }
                if matches!(
                    event,
                    Event::Done { .. } | Event::Refused { .. } | Event::Failed { .. } | Event::Unknown { .. }
                ) && let Some(bar) = bar
                {
                    bar.inc(1);
                }
                let Some((line, is_data)) = sentence(event, *width) else { return };
                let print = || if is_data { terminal.data(format_args!("{line}\n")) } else { terminal.say(&line) };
                match bar {
                    Some(bar) => bar.suspend(print),
                    None => print(),
                }
            }
        }
    }

    /// Takes the bar away and says how long it took.
    pub fn end(&mut self) -> Duration {
        match self {
            Self::People { bar, began, .. } => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
                began.elapsed()
            }
            Self::Json { .. } => Duration::ZERO,
        }
    }
}

/// Prints a line of the event stream, flushed at once.
pub fn json(terminal: &Terminal, told: Told<'_>) {
    // Plain values: serialization cannot fail, and a lost line must not stop a run.
    if let Ok(line) = serde_json::to_string(&Line { format: 1, at: Timestamp::now(), told }) {
        terminal.data(format_args!("{line}\n"));
    }
}

/// An event in words, and whether it is data; nothing for what only a machine wants to know.
fn sentence(event: &Event, width: usize) -> Option<(String, bool)> {
    let foreign = |text: &str| Untrusted(text).line().to_string();
    let aligned = |key: &Key| format!("{:<width$}", Untrusted(key.as_str()).line());
    Some(match event {
        Event::Done { key, id, action } => {
            (format!("{GREEN}{:<8}{GREEN:#} {}  {DIM}{id}{DIM:#}", past(action), aligned(key)), true)
        }
        Event::Reserved { key, id, .. } => (format!("{DIM}reserved {}  {id}{DIM:#}", aligned(key)), true),
        Event::Refused { key, http, code, message } => {
            let (key, code, message) = (aligned(key), foreign(code), foreign(message));
            (format!("{RED}refused{RED:#}  {key}  {message} (code {code}, HTTP {http})"), true)
        }
        Event::Failed { key, why } => (format!("{RED}failed{RED:#}   {}  {}", aligned(key), foreign(why)), true),
        Event::Unknown { key, why } => (format!("{YELLOW}unknown{YELLOW:#}  {}  {}", aligned(key), foreign(why)), true),
        Event::Leaked { key, op } => {
            let name = op.placeholder_name();
            (
                format!("{YELLOW}leaked{YELLOW:#}   {}  an empty template `{name}` may exist", foreign(key.as_str())),
                true,
            )
        }
        Event::Again { key, after_ms, why } => {
            let wait = Duration::from_millis(*after_ms).as_secs_f64();
            (format!("{DIM}again    {} in {wait:.1} s: {}{DIM:#}", foreign(key.as_str()), foreign(why)), false)
        }
        Event::Waiting { key, seconds, why } => {
            let whom = key.as_ref().map_or_else(String::new, |key| format!("{} ", foreign(key.as_str())));
            (format!("{CYAN}waiting{CYAN:#}  {whom}{seconds} s: {why}"), false)
        }
        Event::Stopping { why } => (format!("{YELLOW}stopping{YELLOW:#} {}", foreign(why)), false),
        Event::Started { .. }
        | Event::Healed { .. }
        | Event::Sent { .. }
        | Event::Committed { .. }
        | Event::Ended { .. } => {
            return None;
        }
    })
}

fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(steps).unwrap_or(u64::MAX));
    let template = "{bar:30.cyan/dim} {pos}/{len}  {per_sec:.dim}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
