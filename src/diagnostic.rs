//! Findings: what the checks say about the user's files.
//!
//! A finding is a value, never an `Err`: all of them are collected, sorted and handed to one renderer per format.
//! Rules are rows of a table in [`crate::check`]; this room knows only what a rule and a finding are.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How much a finding weighs. The order is the order of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Not reported.
    Off,
    /// Worth knowing; never changes the exit code.
    Info,
    /// Usually wrong; never changes the exit code.
    Warn,
    /// The service refuses or drops it, or the mail is certainly broken: exit 3, nothing is sent.
    Error,
}

impl Severity {
    /// The word of product.md.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Which set of rules a run uses; each contains the one before it where they do not contradict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// What holds on good templates.
    Default,
    /// `Default` and accessibility.
    A11y,
    /// Everything.
    Strict,
}

/// One row of the table of rules.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its stable name, as in `[lint]` and `lint.allow`.
    pub name: &'static str,
    /// What it is about: `service`, `tags`, `html`, `images`, `text`, `amp`, `a11y`, `strict`, `lint`.
    pub group: &'static str,
    /// Its severity where its profile is on.
    pub severity: Severity,
    /// The smallest profile that turns it on.
    pub profile: Profile,
    /// Whether `validate --fix` can mend it.
    pub fix: bool,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// Why it exists, in a short paragraph.
    pub why: &'static str,
    /// An example that it reports.
    pub wrong: &'static str,
    /// The same, mended.
    pub right: &'static str,
    /// Where the fact comes from, e.g. `interface §2.5`.
    pub source: &'static str,
}

/// A place in a file of the project.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Below the project's root, parts joined by `/`, whatever the platform.
    pub path: String,
    /// From 1; 0 where the finding is about the file or folder as a whole.
    pub line: u32,
    /// From 1, in Unicode scalar values; 0 as above.
    pub column: u32,
    /// Bytes within the file; empty where the finding is about the whole.
    pub bytes: Range<usize>,
    /// The line itself, for the snippet.
    pub excerpt: Option<Excerpt>,
}

/// A piece of one line, cut so that minified HTML stays readable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Excerpt {
    /// At most [`Excerpt::BYTES`] of the line around the span, raw.
    pub text: String,
    /// The span within `text`.
    pub span: Range<usize>,
    /// Whether the line goes on to the left of `text`.
    pub cut_left: bool,
    /// Whether the line goes on to the right of `text`.
    pub cut_right: bool,
}

impl Excerpt {
    /// Longest excerpt in bytes.
    pub const BYTES: usize = 160;
}

impl Location {
    /// A file or folder as a whole.
    #[must_use]
    pub fn whole(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: 0, column: 0, bytes: 0..0, excerpt: None }
    }

    /// A span of bytes within a file's text. A span that is out of range or not on a character boundary is clamped.
    #[must_use]
    pub fn at(path: impl Into<String>, text: &str, span: Range<usize>) -> Self {
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
        let before = &text.as_bytes()[..start];
        let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = text[line_start..start].chars().count() + 1;
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line_end = if text[..line_end].ends_with('\r') && line_end > start { line_end - 1 } else { line_end };
        let shown_end = end.min(line_end).max(start);
        let from = text.ceil_char_boundary(line_start.max(start.saturating_sub(Excerpt::BYTES / 2)));
        let to = text.floor_char_boundary(line_end.min(from + Excerpt::BYTES)).max(start);
        Self {
            path: path.into(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            bytes: start..end,
            excerpt: Some(Excerpt {
                text: text[from..to].to_owned(),
                span: start - from..shown_end.min(to) - from,
                cut_left: from > line_start,
                cut_right: to < line_end,
            }),
        }
    }
}

/// A minimal change of a file that mends a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The file, as in [`Location::path`].
    pub path: String,
    /// The bytes that go.
    pub bytes: Range<usize>,
    /// What comes in their place. With an empty span at 0 of a file that does not exist: the new file.
    pub text: String,
}

/// One finding: a rule, a place, a sentence. One per rule and file, with the first position and a count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that found it.
    pub rule: &'static Rule,
    /// The rule's severity after profile and `[lint]`.
    pub severity: Severity,
    /// The first place.
    pub location: Location,
    /// One plain sentence; foreign text in it is raw, the renderers escape it.
    pub message: String,
    /// What the file has, where the finding is about a number or a value.
    pub actual: Option<String>,
    /// What is allowed.
    pub allowed: Option<String>,
    /// The way out.
    pub help: Option<String>,
    /// How many places in this file.
    pub count: u32,
    /// What mends all of them; empty where nothing can.
    pub edits: Vec<Edit>,
}

impl Diagnostic {
    /// A finding with the rule's own severity and nothing but a sentence.
    #[must_use]
    pub fn new(rule: &'static Rule, location: Location, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            location,
            message: message.into(),
            actual: None,
            allowed: None,
            help: None,
            count: 1,
            edits: Vec::new(),
        }
    }

    /// With the value found and what is allowed.
    #[must_use]
    pub fn limit(mut self, actual: impl ToString, allowed: impl ToString) -> Self {
        self.actual = Some(actual.to_string());
        self.allowed = Some(allowed.to_string());
        self
    }

    /// With the way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With another severity than the rule's own (some rules warn near a limit and fail beyond it).
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// With the number of places.
    #[must_use]
    pub fn count(mut self, count: usize) -> Self {
        self.count = u32::try_from(count).unwrap_or(u32::MAX);
        self
    }

    /// The order in which findings are shown: by place, then by rule.
    #[must_use]
    pub fn order(&self) -> (&str, u32, u32, &'static str, &str) {
        (&self.location.path, self.location.line, self.location.column, self.rule.name, &self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_counts_lines_and_characters() {
        let location = Location::at("a", "één\r\ntwee\n", 8..10);
        assert_eq!((location.line, location.column), (2, 2));
        assert_eq!(location.excerpt.unwrap().text, "twee");
    }

    #[test]
    fn a_span_out_of_range_is_clamped() {
        let location = Location::at("a", "é", 1..99);
        assert_eq!((location.line, location.column), (1, 1));
    }
}
