//! What a run tells while it works: lines for people, with a bar on a terminal, or one JSON value a line.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr as _;

use super::ending::Words;
use super::group::Group;
use super::stream::{self, Told};
use super::tree::Tree;
use crate::apply::Event;
use crate::cli::Terminal;
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
        live: Option<Live>,
        /// The group of lines that a CI folds.
        group: Option<Group>,
        /// Columns of the longest key.
        width: usize,
        /// What the plan calls the steps.
        words: Words,
        /// Since when.
        began: Instant,
    },
    /// One JSON value a line.
    Json {
        /// The terminal.
        terminal: &'a Terminal,
    },
}

impl<'a> Watch<'a> {
    /// Lines for people, about these steps.
    #[must_use]
    pub fn people(terminal: &'a Terminal, steps: &[Step], group: Option<Group>) -> Self {
        let live = (terminal.is_watched() && steps.len() > 1).then(|| Live::start(steps, terminal.is_shown()));
        if let Some(group) = group {
            terminal.command(&group.begin(steps.len(), Timestamp::now()));
        }
        let width = steps.iter().map(|step| step.key.as_str().width()).max().unwrap_or(0).min(KEY_COLUMNS);
        Self::People { terminal, live, group, width, words: Words::of(steps), began: Instant::now() }
    }

    /// Takes in one event.
    pub fn tell(&mut self, event: &Event) {
        match self {
            Self::Json { terminal } => stream::line(terminal, Told::Event(event)),
            Self::People { terminal, live, width, words, .. } => {
                if let Some(live) = live
                    && live.tell(event)
                {
                    return;
                }
                let Some((line, is_data)) = sentence(event, *width, words) else { return };
                let print = || if is_data { terminal.data(format_args!("{line}\n")) } else { terminal.say(&line) };
                match live {
                    Some(live) => live.bar.suspend(print),
                    None => print(),
                }
            }
        }
    }

    /// Takes the bar away and says how long it took.
    pub fn end(&mut self) -> Duration {
        match self {
            Self::People { terminal, live, group, began, .. } => {
                if let Some(live) = live.take() {
                    live.bar.finish_and_clear();
                }
                if let Some(group) = group.take() {
                    terminal.command(&group.end(Timestamp::now()));
                }
                began.elapsed()
            }
            Self::Json { .. } => Duration::ZERO,
        }
    }
}

/// An event in words, and whether it is data; nothing for what only a machine wants to know.
fn sentence(event: &Event, width: usize, words: &Words) -> Option<(String, bool)> {
    let foreign = |text: &str| Untrusted(text).line().to_string();
    let aligned = |key: &Key| format!("{:<width$}", Untrusted(key.as_str()).line());
    Some(match event {
        Event::Done { key, id, action } => {
            (format!("{GREEN}{:<8}{GREEN:#} {}  {DIM}{id}{DIM:#}", words.past(key, action), aligned(key)), true)
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

/// Steps up to which a terminal shows a line for each that is done; with more only what went wrong stays.
const LINES: usize = 40;

/// What is drawn in place on a terminal: a bar with rate and time left, and the tree of what is under way.
#[derive(Debug)]
pub struct Live {
    bar: ProgressBar,
    tree: Arc<Mutex<Tree>>,
    /// Whether a line for each step that is done would only scroll by.
    terse: bool,
}

impl Live {
    fn start(steps: &[Step], on_terminal: bool) -> Self {
        let tree = Arc::new(Mutex::new(Tree::new(steps)));
        let bar = ProgressBar::new(u64::try_from(steps.len()).unwrap_or(u64::MAX));
        let template = "{bar:30.cyan/dim} {pos}/{len}  {rate}  {eta} left\n{tree}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            let shown = Arc::clone(&tree);
            let draw = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
                let tree = shown.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = out.write_str(&tree.render(Instant::now(), width));
            };
            let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{:.1}/s", state.per_sec());
            };
            bar.set_style(style.progress_chars("━━─").with_key("tree", draw).with_key("rate", rate));
        }
        bar.enable_steady_tick(Duration::from_millis(150));
        Self { bar, tree, terse: on_terminal && steps.len() > LINES }
    }

    /// Takes in one event; `true`: drawing it is all there is to say.
    fn tell(&self, event: &Event) -> bool {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner).tell(event, Instant::now());
        match event {
            Event::Done { .. } => {
                self.bar.inc(1);
                self.terse
            }
            Event::Refused { .. } | Event::Failed { .. } | Event::Unknown { .. } => {
                self.bar.inc(1);
                false
            }
            // The tree has it, and a moment later the line of what is done has the id.
            Event::Reserved { .. } | Event::Again { .. } => true,
            _ => false,
        }
    }
}
