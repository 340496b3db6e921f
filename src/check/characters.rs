//! Characters that no mail text should have. Invisible padding of a preheader is normal and sent byte for byte.

use super::findings::Findings;
use super::table;
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{Folder, Text};

/// Checks the text parts.
pub fn check(folder: &Folder, findings: &mut Findings<'_>) {
    for text in [&folder.html, &folder.plaintext, &folder.amp].into_iter().flatten() {
        controls(text, findings);
    }
}

fn controls(text: &Text, findings: &mut Findings<'_>) {
    if !text.controls {
        return;
    }
    let bad = |byte: &u8| (*byte < 0x20) & !matches!(byte, b'\n' | b'\t' | b'\r' | 0x0c) | (*byte == 0x7f);
    let bytes = text.sent.as_bytes();
    let Some(first) = bytes.iter().position(bad) else { return };
    let count = bytes.iter().filter(|byte| bad(byte)).count();
    let message = format!("a control character, U+{:04X}", bytes[first]);
    let severity = if bytes.contains(&0) { Severity::Error } else { Severity::Warn };
    findings.push(
        Diagnostic::new(&table::NOT_UTF8, text.at(first..first + 1), message)
            .count(count)
            .severity(severity)
            .help("remove it; mail clients show it as a box, or end the text there"),
    );
}
