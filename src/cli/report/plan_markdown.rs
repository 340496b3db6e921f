//! A plan as a comment on a pull request: a table first, then one fold per template, within a size that the host takes.
//!
//! Foreign text stands only in `<code>` or in a fenced block: there no mention, link, issue reference, HTML or Markdown of it comes to life, on
//! GitHub and on GitLab.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::plan_text::{self, bytes, count, explain, looks_moved, note, sign, sizes, thousands, totals, word};
use crate::limits;
use crate::plan::{Action, Changes, Conflict, Detail, FileChange, Part, Plan, Segment, Sentence, Step};
use crate::untrusted::Untrusted;

use super::plan_detail::Layers;

/// Room that is kept for the sentence about what was left out, in bytes.
const NOTE_BYTES: usize = 450;

/// How much of a template is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// Only its row in the table.
    Row,
    /// Fields, sizes, files.
    Parts,
    /// And the words that change.
    Words,
    /// And the source.
    Source,
}

/// How deep a fold can be.
const DEPTHS: [Depth; 3] = [Depth::Parts, Depth::Words, Depth::Source];

/// What stands above the rows.
const HEADER: &str = "| | template | name | what changes |\n|---|---|---|---|\n";

/// A comment in the making: it takes in the steps in the order of [`plan_text::in_order`], for as long as their rows fit.
#[derive(Debug)]
pub struct Comment<'a> {
    plan: &'a Plan,
    layers: Layers,
    /// How deep a template is shown where there is room.
    wanted: Depth,
    max: usize,
    /// What stands above the table.
    head: String,
    /// What stands below the folds.
    tail: String,
    left_out: Vec<String>,
    table: String,
    /// Bytes that are left for the table and the folds.
    budget: usize,
    listed: usize,
    is_full: bool,
    folds: Vec<Fold>,
}

/// What can be shown of a template at each depth from [`Depth::Parts`] on; nothing where it would never fit, or is no more than the row.
type Fold = [Option<String>; 3];

impl<'a> Comment<'a> {
    /// Begins a comment of at most `max` bytes (its counts alone have at most 500). `now` is for "two hours ago".
    #[must_use]
    pub fn new(plan: &'a Plan, layers: Layers, max: usize, now: Timestamp) -> Self {
        let mut out = head(plan, &last(plan, now));
        if out.len() + NOTE_BYTES > max {
            out = head(plan, "");
        }
        let mut left_out = Vec::new();
        let mut budget = max.saturating_sub(out.len() + NOTE_BYTES);
        let end = fitting([end(plan)], usize::MAX, &mut budget).0;
        let (conflicts, cut) = fitting(plan.conflicts.iter().map(conflict), usize::MAX, &mut budget);
        if cut > 0 {
            left_out.push(count(cut, "error"));
        }
        out += &conflicts;
        let created = fitting([created(plan)], usize::MAX, &mut budget).0;
        // A tree that moved as a whole has thousands of hints, and the table counts for more.
        let (hints, cut) = fitting(hints(plan), budget / 4, &mut budget);
        if cut > 0 {
            left_out.push(count(cut, "hint"));
        }
        if !plan.steps.is_empty() {
            budget = budget.saturating_sub(HEADER.len() + 1);
        }
        let (table, tail) = (String::new(), created + &hints + &end);
        let (listed, is_full, folds) = (0, false, Vec::new());
        let wanted = if layers == Layers::Words { Depth::Words } else { Depth::Source };
        Self { plan, layers, wanted, max, head: out, tail, left_out, table, budget, listed, is_full, folds }
    }

    /// Adds a row and its fold; `false`: it is full, and what changes in the other steps shows nowhere.
    pub fn add(&mut self, step: &'a Step, detail: Option<Detail>) -> bool {
        let row = row(step, detail.as_ref());
        if self.is_full || row.len() > self.budget {
            self.is_full = true;
            self.folds.clear();
            return false;
        }
        self.budget -= row.len();
        self.table += &row;
        self.listed += 1;
        if let Some(changes) = detail.as_ref().and_then(Detail::changes) {
            // Of a body the row says as much as its sizes.
            let is_more = !changes.fields.is_empty() || !changes.files.is_empty();
            self.folds.push(DEPTHS.map(|depth| {
                let is_wanted = depth <= self.wanted && (depth > Depth::Parts || is_more);
                let text = is_wanted.then(|| fold(step, changes, self.layers, depth))?;
                (text.len() <= self.budget).then_some(text)
            }));
        }
        true
    }

    /// The comment; it says what it left out.
    #[must_use]
    pub fn finish(self) -> String {
        let Self { plan, wanted, max, head: mut out, tail, mut left_out, .. } = self;
        if self.listed > 0 {
            out += HEADER;
            out += &self.table;
            out.push('\n');
        }
        let folds = folds(self.folds, self.budget);
        for (_, fold) in &folds {
            out += fold;
        }
        let cut = |depth: Depth| folds.iter().filter(|(at, _)| *at == depth).count();
        if self.listed < plan.steps.len() {
            left_out.push(format!("{} of the table, and all details", count(plan.steps.len() - self.listed, "row")));
        }
        let missing = [
            (if wanted == Depth::Source { cut(Depth::Words) } else { 0 }, "the source of"),
            (cut(Depth::Parts), "the words and the source of"),
            (cut(Depth::Row), "the details of"),
        ];
        for (n, what) in missing {
            if n > 0 {
                left_out.push(format!("{what} {}", count(n, "template")));
            }
        }
        if !left_out.is_empty() {
            let within = format!("_Left out to stay within {} bytes: ", thousands(max));
            let whole =
                format!("{within}{}. `letterpress plan --diff all` shows everything._\n\n", left_out.join("; "));
            let room = max.saturating_sub(out.len() + tail.len());
            out += &if whole.len() <= room { whole } else { format!("{within}the templates._\n") };
        }
        out + &tail
    }
}

/// The pieces that fit, each whole, in `most` bytes and in the budget; and how many do not.
fn fitting(pieces: impl IntoIterator<Item = String>, most: usize, budget: &mut usize) -> (String, usize) {
    let (mut out, mut cut) = (String::new(), 0);
    for piece in pieces {
        if piece.len() <= *budget && out.len() + piece.len() <= most {
            *budget -= piece.len();
            out += &piece;
        } else {
            cut += 1;
        }
    }
    (out, cut)
}

/// The folds of the templates, each as deep as there is room: small ones first, so that one huge template does not hide the others.
fn folds(mut all: Vec<Fold>, mut budget: usize) -> Vec<(Depth, String)> {
    let mut folds: Vec<(Depth, String)> = all.iter().map(|_| (Depth::Row, String::new())).collect();
    for (n, depth) in DEPTHS.into_iter().enumerate() {
        let mut deeper: Vec<(usize, String)> =
            all.iter_mut().enumerate().filter_map(|(at, fold)| Some((at, fold[n].take()?))).collect();
        deeper.sort_by_key(|(_, text)| text.len());
        for (at, text) in deeper {
            let more = text.len().saturating_sub(folds[at].1.len());
            if more <= budget {
                budget -= more;
                folds[at] = (depth, text);
            }
        }
    }
    folds
}

fn head(plan: &Plan, last: &str) -> String {
    let environment = code(&plan.environment);
    let mut out = String::new();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    // For whoever updates the comment of an earlier push.
    let marker: String = plan.environment.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    let _ = writeln!(out, "<!-- letterpress plan {marker} -->");
    if plan.is_empty() {
        let _ = writeln!(
            out,
            "### Nothing changes in {environment}\n\n{} as last applied{last}.\n",
            count(plan.unchanged, "template"),
        );
        return out;
    }
    let _ = writeln!(out, "### {} in {environment}\n", capital(&totals(plan)));
    let left = if plan.left_out > 0 {
        format!(", {} left out by `--only` or `--exclude`", thousands(plan.left_out))
    } else {
        String::new()
    };
    let _ = writeln!(out, "{} unchanged{left}{last}.\n", thousands(plan.unchanged));
    out
}

fn conflict(conflict: &Conflict) -> String {
    let (what, help) = explain(conflict);
    format!("> **Error**: {}\n> Help: {}\n\n", code(&what), code(&help))
}

fn last(plan: &Plan, now: Timestamp) -> String {
    plan.last_apply.as_ref().map_or_else(String::new, |stamp| {
        format!("; last applied {} by {}", plan_text::ago(stamp.at, now), code(&stamp.who))
    })
}

fn created(plan: &Plan) -> String {
    if !plan.steps.iter().any(|step| matches!(step.action, Action::Create { .. })) {
        return String::new();
    }
    let (used, all) = (thousands(plan.used), thousands(limits::TEMPLATES));
    format!("What is created cannot be deleted through the service's interface; {used} of {all} used afterwards.\n\n")
}

fn hints(plan: &Plan) -> impl Iterator<Item = String> {
    looks_moved(plan).into_iter().map(|(from, to)| {
        format!(
            "{} has gone and {} has the same content; to keep the id, write {} into its manifest.\n\n",
            code(from),
            code(to),
            code(&format!("moved_from: {from}"))
        )
    })
}

fn end(plan: &Plan) -> String {
    if plan.steps.is_empty() || !plan.conflicts.is_empty() {
        return String::new();
    }
    format!("<sub>To apply exactly this: `letterpress apply --plan-digest {}`</sub>\n", plan.digest())
}

fn row(step: &Step, detail: Option<&Detail>) -> String {
    let name = step.name.as_deref().map(code).unwrap_or_default();
    let (sign, _) = sign(&step.action);
    let mut what: Vec<String> = Vec::new();
    let note = note(&step.action);
    if !note.is_empty() {
        // A note may name a key.
        what.push(code(&note));
    }
    match detail {
        Some(Detail::Changed(changes)) => what.extend(touched(changes)),
        Some(Detail::Unknown) if note.is_empty() => what.push("the earlier content is not known".to_owned()),
        _ => {}
    }
    format!(
        "| {} {} | {} | {name} | {} |\n",
        escaped(sign),
        word(&step.action),
        code(step.key.as_str()),
        what.join("; ")
    )
}

/// A sign that Markdown takes for nothing else.
fn escaped(sign: char) -> String {
    Untrusted(&sign.to_string()).markdown()
}

/// What of a template changes, in a few words.
fn touched(changes: &Changes) -> Vec<String> {
    const SHOWN: usize = 4;
    let mut what: Vec<String> = changes.fields.iter().map(|change| code(&change.field)).collect();
    for part in &changes.parts {
        let (removed, added) = part.lines();
        what.push(format!("{} (+{added} −{removed})", part.part.word()));
    }
    what.extend(changes.files.iter().map(|change| code(&change.name)));
    if what.len() > SHOWN {
        let rest = what.len() - SHOWN;
        what.truncate(SHOWN);
        what.push(format!("{rest} more"));
    }
    vec![what.join(", ")]
}

fn fold(step: &Step, changes: &Changes, layers: Layers, depth: Depth) -> String {
    let mut out = String::new();
    let key = Untrusted(&Untrusted(step.key.as_str()).line().to_string()).html();
    // Within this line Markdown is not read, so it is escaped as HTML.
    let _ = writeln!(out, "<details><summary>{} <code>{key}</code></summary>\n", word(&step.action));
    if !changes.fields.is_empty() {
        out += "| field | before | now |\n|---|---|---|\n";
        for change in &changes.fields {
            let value = |value: &Option<String>| match value.as_deref() {
                None => "–".to_owned(),
                Some("") => "(empty)".to_owned(),
                Some(text) => code(text),
            };
            let _ = writeln!(out, "| {} | {} | {} |", code(&change.field), value(&change.old), value(&change.new));
        }
        out.push('\n');
    }
    for part in &changes.parts {
        let _ = writeln!(out, "**{}** {}\n", part.part.word(), sizes(part));
        if part.not_compared {
            out += "Too large to compare line by line.\n\n";
        }
        // Of a plain text, the source is the words.
        let twice = part.part == Part::Plaintext && depth >= Depth::Source;
        let words = layers != Layers::Source && depth >= Depth::Words && !twice;
        if words && !part.words.is_empty() {
            let text: String = part.words.iter().map(sides).collect();
            out += &Untrusted(&text).markdown_block("diff");
            out.push('\n');
        } else if words && !part.not_compared {
            out += "No word that a reader sees changes.\n\n";
        }
        if depth >= Depth::Source && !part.source.is_empty() {
            let mut text = String::new();
            for hunk in &part.source {
                let _ = writeln!(text, "{}", hunk.header());
                for line in &hunk.lines {
                    let _ = writeln!(text, "{}{}", line.sign.char(), line.text);
                }
            }
            out += &Untrusted(&text).markdown_block("diff");
            out.push('\n');
        }
    }
    for change in &changes.files {
        let _ = writeln!(out, "- {}", file(change));
    }
    out += "\n</details>\n\n";
    out
}

/// A changed line as it was and as it is; a side without words is left out.
fn sides(sentence: &Sentence) -> String {
    let (mut old, mut new) = (String::new(), String::new());
    for segment in &sentence.0 {
        match segment {
            Segment::Same(text) => {
                old += text;
                new += text;
            }
            Segment::Old(text) => old += text,
            Segment::New(text) => new += text,
        }
    }
    let side = |sign: char, text: &str| if text.is_empty() { String::new() } else { format!("{sign} {text}\n") };
    side('-', &old) + &side('+', &new)
}

fn file(change: &FileChange) -> String {
    let kind = if change.inline { "inline attachment" } else { "attachment" };
    let facts = |facts: &crate::plan::FileFacts| format!("{} `{}`", bytes(facts.bytes), &facts.digest[..12]);
    let what = match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("{} → {}", facts(old), facts(new)),
        (None, Some(new)) => format!("added, {}", facts(new)),
        (Some(old), None) => format!("removed, was {}", facts(old)),
        (None, None) => String::new(),
    };
    format!("{kind} {}: {what}", code(&change.name))
}

/// Foreign text in one line of Markdown, dead.
fn code(text: &str) -> String {
    format!("<code>{}</code>", Untrusted(&Untrusted(text).line().to_string()).markdown())
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

#[cfg(test)]
mod tests;
