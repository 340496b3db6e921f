//! Findings as SARIF 2.1.0, with the help of every rule that found something.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};

use crate::desired::Digest;
use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::untrusted::{Untrusted, inert_json};

/// Writes the log. `prefix` leads from the repository's root to the project: code scanning looks there for the files.
///
/// # Errors
///
/// What the stream fails with.
pub fn write(out: &mut dyn io::Write, prefix: &str, findings: &[Diagnostic]) -> io::Result<()> {
    let rules: BTreeMap<&str, &Rule> = findings.iter().map(|finding| (finding.rule.name, finding.rule)).collect();
    let index: BTreeMap<&str, usize> = rules.keys().enumerate().map(|(at, name)| (*name, at)).collect();
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "letterpress",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.values().map(|rule| described(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": { ROOT: { "description": { "text": "the root of the repository, or of the project where there is none" } } },
            "results": findings.iter().map(|finding| result(finding, prefix, &index)).collect::<Vec<_>>(),
        }],
    });
    writeln!(out, "{}", inert_json(&serde_json::to_string_pretty(&log)?))
}

/// The name that code scanning knows.
const ROOT: &str = "%SRCROOT%";

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Info => "note",
        Severity::Off => "none",
    }
}

fn described(rule: &Rule) -> Value {
    json!({
        "id": rule.name,
        "shortDescription": { "text": rule.summary },
        "fullDescription": { "text": rule.why },
        "help": {
            "text": format!("{}\n\nWrong:\n{}\n\nRight:\n{}\n\nSource: {}", rule.why, rule.wrong, rule.right, rule.source),
            "markdown": format!(
                "{}\n\nWrong:\n\n{}\nRight:\n\n{}\nSource: {}",
                rule.why,
                Untrusted(rule.wrong).markdown_block(""),
                Untrusted(rule.right).markdown_block(""),
                rule.source
            ),
        },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": { "tags": [rule.group] },
    })
}

/// Message text in which a viewer finds no link: SARIF reads `[text](target)` even in plain text.
fn plain(text: &str) -> String {
    Untrusted(text).line().to_string().replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

fn result(finding: &Diagnostic, prefix: &str, index: &BTreeMap<&str, usize>) -> Value {
    let location = &finding.location;
    let mut physical = json!({ "artifactLocation": artifact(prefix, &location.path) });
    // Code scanning drops what has no line; a finding about a whole file is shown at its start.
    physical["region"] = json!({ "startLine": 1 });
    if location.line > 0 {
        let mut region = json!({ "startLine": location.line, "startColumn": location.column });
        if let Some(excerpt) = &location.excerpt {
            let length = excerpt.text.get(excerpt.span.clone()).map_or(0, |text| text.chars().count());
            region["endColumn"] = json!(location.column as usize + length);
        }
        physical["region"] = region;
    }
    let mut text = plain(&finding.message);
    if let Some(help) = &finding.help {
        text = format!("{text}. Help: {}", plain(help));
    }
    let print = Digest::of(format!("{}\0{}\0{}", finding.rule.name, location.path, finding.message).as_bytes());
    let mut result = json!({
        "ruleId": finding.rule.name,
        "ruleIndex": index.get(finding.rule.name),
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [{ "physicalLocation": physical }],
        "partialFingerprints": { "letterpress/v1": print.to_string() },
        "properties": { "count": finding.count },
    });
    // A new file is no replacement within an artifact, and SARIF has no other word for it.
    let edits: Vec<_> = finding.edits.iter().filter(|edit| edit.path == location.path).collect();
    if !edits.is_empty() && edits.len() == finding.edits.len() {
        let replacements: Vec<Value> = edits
            .iter()
            .map(|edit| {
                json!({
                    "deletedRegion": { "byteOffset": edit.bytes.start, "byteLength": edit.bytes.len() },
                    "insertedContent": { "text": edit.text },
                })
            })
            .collect();
        result["fixes"] = json!([{
            "description": { "text": "letterpress validate --fix" },
            "artifactChanges": [{ "artifactLocation": artifact(prefix, &location.path), "replacements": replacements }],
        }]);
    }
    result
}

fn artifact(prefix: &str, path: &str) -> Value {
    json!({ "uri": uri(&format!("{prefix}{path}")), "uriBaseId": ROOT })
}

/// A path as a relative reference: every byte that could mean something else is percent-encoded.
fn uri(path: &str) -> String {
    path.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
