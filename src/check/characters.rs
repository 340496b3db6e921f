//! Characters that no mail text should have. Invisible padding of a preheader is normal and sent byte for byte.

use super::findings::Findings;
use super::table;
use crate::diagnostic::Severity;
use crate::source::{Folder, Text};

/// Checks the text parts.
pub fn check(folder: &Folder, findings: &mut Findings<'_>) {
    for text in [&folder.html, &folder.plaintext, &folder.amp].into_iter().flatten() {
        controls(text, findings);
    }
}

fn controls(text: &Text, findings: &mut Findings<'_>) {
    if !findings.on(&table::NOT_UTF8) {
        return;
    }
    let bad = |byte: &u8| (*byte < 0x20 && !matches!(byte, b'\n' | b'\t' | b'\r' | 0x0c)) || *byte == 0x7f;
    let bytes = text.sent.as_bytes();
    let Some(first) = bytes.iter().position(&bad) else { return };
    let count = bytes.iter().filter(|byte| bad(byte)).count();
    let message = format!("a control character, U+{:04X}", bytes[first]);
    let nul = bytes.contains(&0);
    findings.spans(
        &table::NOT_UTF8,
        text,
        std::slice::from_ref(&(first..first + 1)),
        |finding| {
            let finding = finding.count(count).help("remove it; mail clients show it as a box, or end the text there");
            if nul { finding } else { finding.severity(Severity::Warn) }
        },
        message,
    );
}
