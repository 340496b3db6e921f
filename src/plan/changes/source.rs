//! The source layer: a unified diff with context, whose long lines are cut to where they differ.

use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Longest line of a hunk in characters; a minified line is cut to the place where it differs.
const LINE_CHARS: usize = 400;

/// Characters kept before the first difference of a line that is cut.
const LEAD_CHARS: usize = 120;

/// Lines that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hunk {
    /// First line before, from 1.
    pub old_line: usize,
    /// First line now, from 1.
    pub new_line: usize,
    /// The lines, context included.
    pub lines: Vec<Line>,
}

/// One line of a hunk, without its line end; a long one is cut, which `…` shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// Which side it is on.
    pub sign: Sign,
    /// The line.
    pub text: String,
}

/// Which side a line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Sign {
    /// Both.
    #[serde(rename = " ")]
    Same,
    /// Only before.
    #[serde(rename = "-")]
    Old,
    /// Only now.
    #[serde(rename = "+")]
    New,
}

impl Sign {
    /// ` `, `-` or `+`.
    #[must_use]
    pub fn char(self) -> char {
        match self {
            Self::Same => ' ',
            Self::Old => '-',
            Self::New => '+',
        }
    }
}

impl Hunk {
    /// `@@ -1,3 +1,4 @@`
    #[must_use]
    pub fn header(&self) -> String {
        let count = |without: Sign| self.lines.iter().filter(|line| line.sign != without).count();
        format!("@@ -{},{} +{},{} @@", self.old_line, count(Sign::New), self.new_line, count(Sign::Old))
    }
}

/// The hunks between two texts. Past the deadline the result is still right, only coarser.
pub(super) fn hunks(old: &str, new: &str, deadline: Instant) -> Vec<Hunk> {
    let diff = TextDiff::configure().deadline(deadline).diff_lines(old, new);
    let groups = diff.grouped_ops(CONTEXT);
    groups
        .iter()
        .map(|ops| {
            let mut lines: Vec<(Sign, &str)> = Vec::new();
            for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
                let sign = match change.tag() {
                    ChangeTag::Equal => Sign::Same,
                    ChangeTag::Delete => Sign::Old,
                    ChangeTag::Insert => Sign::New,
                };
                lines.push((sign, change.value()));
            }
            let first = |side: fn(&similar::DiffOp) -> usize| ops.first().map_or(0, side) + 1;
            Hunk {
                old_line: first(|op| op.old_range().start),
                new_line: first(|op| op.new_range().start),
                lines: cut(&lines),
            }
        })
        .collect()
}

/// Cuts long lines; the n-th removed line of a run is compared with the n-th added one to find where they differ.
fn cut(lines: &[(Sign, &str)]) -> Vec<Line> {
    let mut out = Vec::with_capacity(lines.len());
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, sign: Sign| lines[from..].iter().take_while(|line| line.0 == sign).count();
        let old = run(at, Sign::Old);
        let new = run(at + old, Sign::New);
        if old + new == 0 {
            out.push(Line { sign: Sign::Same, text: window(lines[at].1, 0) });
            at += 1;
            continue;
        }
        for n in 0..old + new {
            let other =
                if n < old { (n < new).then_some(at + old + n) } else { (n - old < old).then_some(at + n - old) };
            let (sign, text) = lines[at + n];
            let differs = other.map_or(0, |other| common(text, lines[other].1));
            out.push(Line { sign, text: window(text, differs) });
        }
        at += old + new;
    }
    out
}

/// How many characters two lines share at their beginning.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// The line without its end, and at most [`LINE_CHARS`] of it around `differs`.
fn window(text: &str, differs: usize) -> String {
    let line = text.strip_suffix('\n').unwrap_or(text);
    // A changed line end must stay visible, and only then.
    let line = if line.ends_with('\r') && differs < line.chars().count().saturating_sub(1) {
        line.strip_suffix('\r').unwrap_or(line)
    } else {
        line
    };
    if line.len() <= LINE_CHARS || line.chars().nth(LINE_CHARS).is_none() {
        return line.to_owned();
    }
    let start = differs.saturating_sub(LEAD_CHARS);
    let mut kept: String = line.chars().skip(start).take(LINE_CHARS).collect();
    if line.chars().nth(start + LINE_CHARS).is_some() {
        kept.push('…');
    }
    if start > 0 { format!("…{kept}") } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let hunks = hunks(old, new, Instant::now() + std::time::Duration::from_secs(5));
        let mut out = String::new();
        for hunk in hunks {
            out += &format!("{}\n", hunk.header());
            for line in hunk.lines {
                out += &format!("{}{}\n", line.sign.char(), line.text);
            }
        }
        out
    }

    #[test]
    fn a_hunk_has_context_and_a_header() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        assert_eq!(shown(old, &old.replace('5', "five")), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!(shown("", "a\n"), "@@ -1,0 +1,1 @@\n+a\n");
    }

    #[test]
    fn a_minified_line_is_cut_to_where_it_differs() {
        let old = format!("{}old{}", "a".repeat(100_000), "b".repeat(100_000));
        let text = shown(&old, &old.replace("old", "new"));
        assert!(text.len() < 2_000, "{}", text.len());
        assert!(text.contains("aoldb") && text.contains("anewb"), "{text}");
    }

    #[test]
    fn a_changed_line_end_is_seen() {
        assert!(shown("a\r\nb\r\n", "a\nb\r\n").contains("-a\r\n+a\n"));
    }
}
