//! Findings as GitLab's code quality report.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};

use crate::desired::Digest;
use crate::diagnostic::{Diagnostic, Severity};
use crate::untrusted::{Untrusted, inert_json};

/// Writes the report. `prefix` leads from the repository's root to the project's.
///
/// # Errors
///
/// What the stream fails with.
pub fn write(out: &mut dyn io::Write, prefix: &str, findings: &[Diagnostic]) -> io::Result<()> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let issues: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let path = format!("{prefix}{}", finding.location.path);
            // The same finding keeps its fingerprint when lines move; equal ones in a file are counted.
            let base = format!("{}\0{path}\0{}", finding.rule.name, finding.message);
            let nth = seen.entry(base.clone()).and_modify(|nth| *nth += 1).or_insert(0);
            json!({
                "description": Untrusted(&finding.message).line().to_string(),
                "check_name": finding.rule.name,
                "fingerprint": Digest::of(format!("{base}\0{nth}").as_bytes()).to_string(),
                "severity": match finding.severity {
                    Severity::Error => "major",
                    Severity::Warn => "minor",
                    Severity::Info | Severity::Off => "info",
                },
                "location": { "path": path, "lines": { "begin": finding.location.line.max(1) } },
            })
        })
        .collect();
    writeln!(out, "{}", inert_json(&serde_json::to_string_pretty(&issues)?))
}
