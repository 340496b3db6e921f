//! Findings, one line each: `path:line:column: severity[rule] message`.

use std::io;

use crate::diagnostic::Diagnostic;
use crate::untrusted::Untrusted;

/// Writes the findings.
///
/// # Errors
///
/// What the stream fails with.
pub fn write(out: &mut dyn io::Write, findings: &[Diagnostic]) -> io::Result<()> {
    findings.iter().try_for_each(|finding| writeln!(out, "{}", line(finding)))
}

/// One finding as a line.
#[must_use]
pub fn line(finding: &Diagnostic) -> String {
    let location = &finding.location;
    let path = Untrusted(&location.path).line();
    let place =
        if location.line == 0 { path.to_string() } else { format!("{path}:{}:{}", location.line, location.column) };
    let more = if finding.count > 1 { format!(" (and {} more)", finding.count - 1) } else { String::new() };
    let message = Untrusted(&finding.message).line();
    format!("{place}: {}[{}] {message}{more}", finding.severity.word(), finding.rule.name)
}
