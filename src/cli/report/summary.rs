//! How many findings there are, in one sentence.

use std::collections::BTreeSet;

use crate::diagnostic::{Diagnostic, Severity};

/// `no findings`, or `2 errors and 1 warning in 2 files`.
#[must_use]
pub fn sentence(findings: &[Diagnostic]) -> String {
    let count = |severity, one: &str, many: &str| {
        let count = findings.iter().filter(|finding| finding.severity == severity).count();
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
    };
    let parts: Vec<String> = [
        count(Severity::Error, "error", "errors"),
        count(Severity::Warn, "warning", "warnings"),
        count(Severity::Info, "note", "notes"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let files = findings.iter().map(|finding| &finding.location.path).collect::<BTreeSet<_>>().len();
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    match parts.split_last() {
        None => "no findings".to_owned(),
        Some((only, [])) => format!("{only} in {files}"),
        Some((last, rest)) => format!("{} and {last} in {files}", rest.join(", ")),
    }
}
