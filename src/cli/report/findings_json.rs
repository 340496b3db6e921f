//! Findings as one JSON value, with the variables of each template (`"format": 1`).

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use crate::check::Contract;
use crate::check::Tree;
use crate::desired::Key;
use crate::diagnostic::{Diagnostic, Severity};
use crate::untrusted::inert_json;

/// The whole value.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(title = "letterpress validate --format json")]
pub struct Report<'a> {
    /// The version of this format.
    format: u32,
    /// The environment that was checked.
    environment: &'a str,
    /// How many there are of each.
    counts: Counts,
    /// Every finding, by path, line, column, rule.
    findings: Vec<Finding<'a>>,
    /// The variables of each template, by key.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    templates: &'a BTreeMap<Key, Contract>,
}

/// How many there are of each.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Counts {
    /// Template folders.
    templates: usize,
    /// Findings of severity `error`.
    errors: usize,
    /// Findings of severity `warn`.
    warnings: usize,
    /// Findings of severity `info`.
    infos: usize,
}

/// One finding: the first place of one rule in one file.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Finding<'a> {
    /// The rule's name.
    rule: &'a str,
    /// `error`, `warn` or `info`.
    severity: &'a str,
    /// Below the project's root, parts joined by `/`.
    path: &'a str,
    /// From 1; 0 where the finding is about the file or folder as a whole.
    line: u32,
    /// From 1, in Unicode scalar values; 0 as above.
    column: u32,
    /// The first byte within the file.
    start: usize,
    /// The byte after the last.
    end: usize,
    /// One plain sentence.
    message: &'a str,
    /// What the file has, where the finding is about a number or a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<&'a str>,
    /// What is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<&'a str>,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    /// How many places in this file.
    count: u32,
    /// Whether `--fix` mends it.
    fixable: bool,
}

impl<'a> Finding<'a> {
    fn of(finding: &'a Diagnostic) -> Self {
        Self {
            rule: finding.rule.name,
            severity: finding.severity.word(),
            path: &finding.location.path,
            line: finding.location.line,
            column: finding.location.column,
            start: finding.location.bytes.start,
            end: finding.location.bytes.end,
            message: &finding.message,
            actual: finding.actual.as_deref(),
            allowed: finding.allowed.as_deref(),
            help: finding.help.as_deref(),
            count: finding.count,
            fixable: !finding.edits.is_empty(),
        }
    }
}

/// Writes the value.
///
/// # Errors
///
/// What the stream fails with.
pub fn write(out: &mut dyn io::Write, environment: &str, checked: &Tree) -> io::Result<()> {
    let count = |severity| checked.findings.iter().filter(|finding| finding.severity == severity).count();
    let report = Report {
        format: 1,
        environment,
        counts: Counts {
            templates: checked.verdicts.len(),
            errors: count(Severity::Error),
            warnings: count(Severity::Warn),
            infos: count(Severity::Info),
        },
        findings: checked.findings.iter().map(Finding::of).collect(),
        templates: &checked.contracts(),
    };
    writeln!(out, "{}", inert_json(&serde_json::to_string_pretty(&report)?))
}
