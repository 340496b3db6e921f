//! Allows: `lint.allow` in a manifest for the whole folder, `<!-- letterpress-allow rule: reason -->` for one body.

use memchr::memmem;

use super::findings::{Findings, may_change};
use super::rare::Rare;
use super::table;
use crate::diagnostic::{Diagnostic, Location, Rule, Severity};
use crate::source::{Folder, Text, closest};

/// The word that starts an inline allow, after `<!--`.
pub const WORD: &str = "letterpress-allow";

/// One allow that may silence findings.
#[derive(Debug)]
pub struct Allow {
    rule: &'static Rule,
    /// The one file that it is for; nothing for the whole folder.
    path: Option<String>,
    location: Location,
    used: bool,
}

/// Finds the allows of a folder whose html has these rare words, and reports those that cannot be.
#[must_use]
pub fn collect(folder: &Folder, rare: Rare, findings: &mut Findings<'_>) -> Vec<Allow> {
    let mut allows = Vec::new();
    for allow in &folder.manifest.allow {
        let location = folder.locate(&allow.rule.place);
        allows.extend(known(&allow.rule.value, None, location, findings));
    }
    let html = folder.html.as_ref().filter(|_| rare.allow);
    for text in html.into_iter().chain(&folder.amp) {
        inline(text, &mut allows, findings);
    }
    allows
}

fn inline(text: &Text, allows: &mut Vec<Allow>, findings: &mut Findings<'_>) {
    // More than these in one body are no allows of a person.
    for at in memmem::find_iter(text.sent.as_bytes(), WORD).take(100) {
        let start = text.sent[..at].trim_end();
        if !start.ends_with("<!--") {
            continue;
        }
        let rest = &text.sent[at + WORD.len()..];
        if rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' && !rest.starts_with("-->")) {
            // Another word.
            continue;
        }
        let content = rest[..rest.floor_char_boundary(1_000)].split("-->").next().unwrap_or_default();
        let (name, reason) = content.split_once(':').unwrap_or((content, ""));
        let location = text.at(at..at + WORD.len() + content.trim_end().len());
        let lacks = match name.trim() {
            "" => Some("this allow names no rule"),
            name if name.contains([' ', ',']) => Some("an allow names one rule; write one for each"),
            _ if reason.trim().is_empty() => Some("this allow gives no reason"),
            _ => None,
        };
        if let Some(lacks) = lacks {
            let finding = Diagnostic::new(&table::ALLOW_INVALID, location, lacks);
            findings.push(finding.help("`<!-- letterpress-allow rule: reason -->`"));
            continue;
        }
        allows.extend(known(name.trim(), Some(text.path.clone()), location, findings));
    }
}

/// Whether an allow may silence a rule: not where the template could not be sent, and not the rules about allows.
#[must_use]
pub fn may_allow(rule: &Rule) -> bool {
    may_change(rule, Severity::Off) && rule.group != "lint"
}

fn known(name: &str, path: Option<String>, location: Location, findings: &mut Findings<'_>) -> Option<Allow> {
    let Some(rule) = table::rule(name) else {
        let meant = closest(name, table::all().map(|rule| rule.name));
        let help = meant.map_or_else(
            || "`letterpress explain` lists the rules".to_owned(),
            |word| format!("did you mean `{word}`?"),
        );
        let finding = Diagnostic::new(&table::ALLOW_INVALID, location, format!("there is no rule `{name}`"));
        findings.push(finding.help(help));
        return None;
    };
    if !may_allow(rule) {
        let (why, help) = match rule.group {
            "lint" => ("it is about allows", "remove it"),
            _ => ("the template could not be sent", "remove it, and mend what it is about"),
        };
        let message = format!("`{name}` cannot be allowed: {why}");
        findings.push(Diagnostic::new(&table::ALLOW_INVALID, location, message).help(help));
        return None;
    }
    Some(Allow { rule, path, location, used: false })
}

/// Drops the findings that are allowed, and reports the allows that silence nothing.
#[must_use]
pub fn apply(found: Vec<Diagnostic>, mut allows: Vec<Allow>, findings: &mut Findings<'_>) -> Vec<Diagnostic> {
    let mut kept = Vec::with_capacity(found.len());
    for finding in found {
        let mut silent = false;
        for allow in &mut allows {
            let covers = allow.path.as_ref().is_none_or(|path| *path == finding.location.path);
            if covers && allow.rule == finding.rule {
                allow.used = true;
                silent = true;
            }
        }
        if !silent {
            kept.push(finding);
        }
    }
    // A rule that is off in this run may be what the allow is for in another.
    for allow in allows.into_iter().filter(|allow| !allow.used) {
        if !findings.on(allow.rule) {
            continue;
        }
        let message = format!("this allow of `{}` silences nothing", allow.rule.name);
        findings.push(Diagnostic::new(&table::ALLOW_UNUSED, allow.location, message).help("remove it"));
    }
    kept
}
