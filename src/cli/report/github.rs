//! Findings as workflow commands that GitHub shows beside the lines of a pull request.

use std::io;

use crate::diagnostic::{Diagnostic, Severity};
use crate::untrusted::Untrusted;

/// Writes a command for each finding. `prefix` leads from the repository's root to the project's.
///
/// # Errors
///
/// What the stream fails with.
pub fn write(out: &mut dyn io::Write, prefix: &str, findings: &[Diagnostic]) -> io::Result<()> {
    findings.iter().try_for_each(|finding| writeln!(out, "{}", command(prefix, finding)))
}

fn command(prefix: &str, finding: &Diagnostic) -> String {
    let word = match finding.severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Info | Severity::Off => "notice",
    };
    let location = &finding.location;
    let file = Untrusted(&format!("{prefix}{}", location.path)).github_property();
    let place =
        if location.line > 0 { format!(",line={},col={}", location.line, location.column) } else { String::new() };
    let help = finding.help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
    let message = Untrusted(&format!("{}{help}", finding.message)).github_message();
    format!("::{word} file={file}{place},title=letterpress {}::{message}", finding.rule.name)
}
