//! How an apply ended: its exit code, and what a person is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::time::Duration;

use crate::apply::{Outcome, Saved, Stop};
use crate::cli::Exit;
use crate::cli::report::plan_text::{self, count};
use crate::cli::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::desired::Key;
use crate::plan::Step;
use crate::state::Change;
use crate::untrusted::Untrusted;

/// Rows of a list that are shown; the others are counted.
const ROWS: usize = 20;

/// The exit code of an outcome; the most severe wins (product.md). `interrupted` is 130 or 143.
#[must_use]
pub fn exit(outcome: &Outcome, interrupted: Exit) -> Exit {
    match (&outcome.stop, &outcome.saved) {
        (Some(Stop::Denied(_)), _) => return Exit::Key,
        (Some(Stop::Fenced), _) | (_, Saved::Fenced { .. }) => return Exit::Held,
        (Some(Stop::Interrupted), Saved::Yes) => return interrupted,
        (Some(Stop::Unsaved(_) | Stop::Confused(_)), _) | (_, Saved::No { .. } | Saved::NotYet) => return Exit::Failed,
        _ => {}
    }
    if outcome.is_complete() {
        Exit::Done
    } else if !outcome.refused.is_empty() || !outcome.applied.is_empty() {
        Exit::Partial
    } else {
        Exit::Failed
    }
}

/// The end of an apply as a person reads it; `took` is the time since the first request.
#[must_use]
pub fn text(outcome: &Outcome, words: &Words, took: Duration) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, outcome, words, took);
    out
}

fn write(out: &mut String, outcome: &Outcome, words: &Words, took: Duration) -> fmt::Result {
    writeln!(out)?;
    rows(out, "Refused", &outcome.refused, |refused| {
        let (code, http) = (Untrusted(&refused.code).line().to_string(), refused.http);
        (refused.key.as_str(), format!("{} (code {code}, HTTP {http})", Untrusted(&refused.message).line()))
    })?;
    rows(out, "Not applied", &outcome.failed, |failed| (failed.key.as_str(), line(&failed.why)))?;
    rows(out, "Unknown, sent again by the next apply", &outcome.unknown, |failed| {
        (failed.key.as_str(), line(&failed.why))
    })?;
    rows(out, "Not attempted", &outcome.not_attempted, |key| (key.as_str(), String::new()))?;
    if let Some(stop) = &outcome.stop {
        writeln!(out, "{RED}Stopped{RED:#}: {}.", line(&stop.to_string()))?;
    }
    let style = if outcome.is_complete() { GREEN } else { YELLOW };
    writeln!(out, "{style}Applied{style:#}: {} in {}.", done(outcome, words), seconds(took))?;
    let healed = outcome.healed.dirty.len();
    if healed > 0 {
        writeln!(out, "{} re-sent after an interrupted run.", count(healed, "template"))?;
    }
    let leaked = outcome.leaked.len() + outcome.healed.leaked.len();
    if leaked > 0 {
        writeln!(
            out,
            "{} leaked, empty and named after itself: {BOLD}letterpress state leaks{BOLD:#}",
            count(leaked, "placeholder")
        )?;
    }
    if !outcome.is_complete() && outcome.saved == Saved::Yes {
        writeln!(out, "{DIM}The state is saved; running it again goes on where this run ended.{DIM:#}")?;
    }
    unsaved(out, outcome)
}

/// The ids that the state did not take: the most important lines that this program can print.
fn unsaved(out: &mut String, outcome: &Outcome) -> fmt::Result {
    match &outcome.saved {
        Saved::Yes | Saved::NotYet => return Ok(()),
        Saved::Fenced { by } => {
            let who = by.as_ref().map_or_else(|| "another run".to_owned(), |holder| line(&holder.who));
            writeln!(out, "{RED}The state was taken over{RED:#} by {who}; this run stopped sending at once.")?;
        }
        Saved::No { why } => writeln!(out, "{RED}The state could not be saved{RED:#}: {}.", line(why))?,
    }
    let held: BTreeSet<_> = outcome
        .unsaved
        .iter()
        .filter_map(|change| match change {
            Change::Set { key, record } => Some((key, record.entry.id()?)),
            _ => None,
        })
        .collect();
    if held.is_empty() {
        return Ok(());
    }
    writeln!(out, "These ids are not in the state:")?;
    for (key, id) in held {
        writeln!(out, "  {}  {id}", line(key.as_str()))?;
    }
    match &outcome.rescue {
        Some(file) => {
            let file = file.display().to_string();
            writeln!(out, "  {CYAN}help{CYAN:#}: letterpress state import --rescue {}", line(&file))
        }
        None => writeln!(
            out,
            "  {CYAN}help{CYAN:#}: keep this output; `letterpress state import KEY ID` takes them in one by one"
        ),
    }
}

/// `2 created, 1 updated`.
fn done(outcome: &Outcome, words: &Words) -> String {
    let mut by_word: BTreeMap<&str, usize> = BTreeMap::new();
    for applied in &outcome.applied {
        *by_word.entry(words.past(&applied.key, applied.action)).or_default() += 1;
    }
    let parts: Vec<String> = by_word.into_iter().map(|(word, n)| format!("{n} {word}")).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

/// The words of the plan for what is not simply called as its action is: `return` for an update of a folder that is back.
#[derive(Debug, Clone, Default)]
pub struct Words(BTreeMap<Key, &'static str>);

impl Words {
    /// The words of these steps.
    #[must_use]
    pub fn of(steps: &[Step]) -> Self {
        let finer = steps.iter().filter(|step| plan_text::word(&step.action) != step.action.word());
        Self(finer.map(|step| (step.key.clone(), plan_text::word(&step.action))).collect())
    }

    /// What was done to a template, as the plan called it: `create` → `created`.
    #[must_use]
    pub fn past<'w>(&'w self, key: &Key, action: &'w str) -> &'w str {
        match self.0.get(key).copied().unwrap_or(action) {
            "create" => "created",
            "adopt" => "adopted",
            "fill" => "filled",
            "update" => "updated",
            "resend" => "resent",
            "return" => "returned",
            "move" => "moved",
            "retire" => "retired",
            other => other,
        }
    }
}

fn rows<T>(out: &mut String, title: &str, items: &[T], row: impl Fn(&T) -> (&str, String)) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "{RED}{title}{RED:#}: {}", items.len())?;
    for item in items.iter().take(ROWS) {
        let (key, why) = row(item);
        let key = line(key);
        if why.is_empty() { writeln!(out, "  {key}")? } else { writeln!(out, "  {key}  {why}")? }
    }
    if items.len() > ROWS {
        writeln!(out, "  … and {} more", items.len() - ROWS)?;
    }
    Ok(())
}

fn line(text: &str) -> String {
    Untrusted(text).line().to_string()
}

fn seconds(took: Duration) -> String {
    if took < Duration::from_secs(60) {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        format!("{} min {} s", took.as_secs() / 60, took.as_secs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::{Applied, Failed, Refused};
    use crate::desired::Id;

    fn applied() -> Applied {
        Applied { key: Key::new("a").unwrap(), id: Id::new("i").unwrap(), action: "create" }
    }

    fn refused() -> Refused {
        Refused { key: Key::new("b").unwrap(), http: 400, code: "1".to_owned(), message: "no".to_owned() }
    }

    fn failed() -> Failed {
        Failed { key: Key::new("c").unwrap(), why: "down".to_owned() }
    }

    #[test]
    fn the_most_severe_wins() {
        let saved = Outcome { saved: Saved::Yes, ..Outcome::default() };
        let code = |outcome: &Outcome| exit(outcome, Exit::Interrupted).code();
        assert_eq!(code(&Outcome { applied: vec![applied()], ..saved.clone() }), 0);
        assert_eq!(code(&Outcome { refused: vec![refused()], ..saved.clone() }), 6);
        assert_eq!(code(&Outcome { unknown: vec![failed()], ..saved.clone() }), 1);
        assert_eq!(code(&Outcome { unknown: vec![failed()], applied: vec![applied()], ..saved.clone() }), 6);
        assert_eq!(code(&Outcome { stop: Some(Stop::Interrupted), ..saved.clone() }), 130);
        assert_eq!(code(&Outcome { stop: Some(Stop::Denied(String::new())), refused: vec![refused()], ..saved }), 7);
        assert_eq!(
            code(&Outcome { saved: Saved::Fenced { by: None }, refused: vec![refused()], ..Outcome::default() }),
            4
        );
        assert_eq!(code(&Outcome { saved: Saved::No { why: String::new() }, ..Outcome::default() }), 1);
    }
}
