//! The fields of the manifest: name, addresses, values, headers, `global_info`, `global_replacements`.

use std::collections::BTreeMap;

use super::findings::Findings;
use super::table;
use crate::desired::Builder;
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::limits;
use crate::source::{Folder, Spot};

/// Checks the fields.
pub fn check(folder: &Folder, environment: &str, findings: &mut Findings<'_>) {
    name(folder, findings);
    addresses(folder, findings);
    single_lines(folder, findings);
    visual(folder, environment, findings);
    headers(folder, findings);
    info(folder, findings);
    replacements(folder, findings);
}

fn name(folder: &Folder, findings: &mut Findings<'_>) {
    match &folder.manifest.name {
        None => {
            // A name of the wrong type has its finding already.
            if !folder.problems.iter().any(|problem| problem.message.starts_with("`name`")) {
                let message = "the template has no name";
                let location = Location::whole(folder.manifest_path());
                findings.push(Diagnostic::new(&table::NAME_MISSING, location, message).help("add `name: …`"));
            }
        }
        Some(name) if name.value.trim().is_empty() => {
            findings.at(&table::NAME_MISSING, folder, &name.place, "the name is empty");
        }
        Some(name) if name.value.len() > limits::NAME_BYTES => {
            let message =
                format!("the name is {} bytes long, and at most {} are kept", name.value.len(), limits::NAME_BYTES);
            let finding = findings.at(&table::NAME_TOO_LONG, folder, &name.place, message);
            finding.limit(name.value.len(), limits::NAME_BYTES);
        }
        Some(name) => control(folder, "name", name, findings),
    }
}

fn addresses(folder: &Folder, findings: &mut Findings<'_>) {
    let manifest = &folder.manifest;
    if manifest.sender_email.is_none()
        && !folder.problems.iter().any(|problem| problem.message.starts_with("`sender_email`"))
    {
        let location = Location::whole(folder.manifest_path());
        let help = "add `sender_email: …`, here or under `[defaults]` in letterpress.toml";
        findings.push(Diagnostic::new(&table::SENDER_MISSING, location, "no `sender_email`").help(help));
    }
    for (field, address) in [("sender_email", &manifest.sender_email), ("reply_to", &manifest.reply_to)] {
        let Some(address) = address else { continue };
        if let Some(why) = bad_address(&address.value) {
            let message = format!("`{field}` is not an email address: {why}");
            findings.at(&table::BAD_ADDRESS, folder, &address.place, message);
        }
    }
}

/// Why a text is no address; nothing when it is one.
fn bad_address(text: &str) -> Option<String> {
    if text.len() > limits::ADDRESS_BYTES {
        return Some(format!("it has {} bytes, at most {} are allowed", text.len(), limits::ADDRESS_BYTES));
    }
    if text.contains(crate::untrusted::is_control) {
        return Some("it has a control character".to_owned());
    }
    if text.contains("{{") {
        return Some("the service substitutes no tags here".to_owned());
    }
    let options = email_address::Options::default().without_display_text().without_domain_literal().with_required_tld();
    match email_address::EmailAddress::parse_with_options(text, options) {
        Ok(_) => None,
        Err(error) => Some(error.to_string().trim_end_matches('.').to_lowercase()),
    }
}

/// Fields that end up in one line of the mail: a break would start a header of its own.
fn single_lines(folder: &Folder, findings: &mut Findings<'_>) {
    let manifest = &folder.manifest;
    for (field, spot) in [("subject", &manifest.subject), ("sender_name", &manifest.sender_name)] {
        if let Some(spot) = spot {
            control(folder, field, spot, findings);
        }
    }
    for (header, value) in &manifest.headers {
        control(folder, &header.value, value, findings);
    }
}

fn control(folder: &Folder, field: &str, spot: &Spot<String>, findings: &mut Findings<'_>) {
    if let Some(bad) = spot.value.chars().find(|c| matches!(c, '\r' | '\n' | '\0' | '\u{2028}' | '\u{2029}')) {
        let what = if bad == '\0' { "a NUL" } else { "a line break" };
        let message = format!("`{field}` has {what}");
        findings.at(&table::BAD_VALUE, folder, &spot.place, message).help("write it in one line");
    } else if spot.value.chars().any(char::is_control) {
        let message = format!("`{field}` has a control character");
        findings.at(&table::BAD_VALUE, folder, &spot.place, message);
    }
}

fn visual(folder: &Folder, environment: &str, findings: &mut Findings<'_>) {
    let Some(builder) = &folder.manifest.template_builder else { return };
    let has_id = folder.manifest.ids.iter().any(|(name, _)| name.value == environment);
    if builder.value == Builder::Visual && !has_id {
        let message = "a visual template can be created only in the service's web page";
        let help = format!("name the id of the existing one: `ids: {{ {environment}: … }}`");
        findings.at(&table::VISUAL_BUILDER, folder, &builder.place, message).help(help);
    }
}

fn headers(folder: &Folder, findings: &mut Findings<'_>) {
    let headers = &folder.manifest.headers;
    if headers.len() > limits::HEADERS {
        let message = format!("{} headers, and at most {} are allowed", headers.len(), limits::HEADERS);
        if let Some((name, _)) = headers.get(limits::HEADERS) {
            let finding = findings.at(&table::TOO_MANY_HEADERS, folder, &name.place, message);
            finding.limit(headers.len(), limits::HEADERS);
        }
    }
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (name, _) in headers {
        let lower = name.value.to_ascii_lowercase();
        // A token of RFC 5322: printable ASCII without blanks and colons.
        if name.value.is_empty() || !name.value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':') {
            let message =
                format!("`{}` cannot be a header name: printable ASCII without blanks and colons", name.value);
            findings.at(&table::HEADER_INVALID, folder, &name.place, message);
        } else if !lower.starts_with(&limits::HEADER_PREFIX.to_ascii_lowercase()) {
            let message = format!("the service drops `{}`: only headers that start with `X-` are accepted", name.value);
            let help = format!("`X-{}`, or remove it", name.value);
            findings.at(&table::HEADER_IGNORED, folder, &name.place, message).help(help);
        } else if let Some(first) = seen.get(&lower) {
            let message = format!("`{}` and `{first}` are the same header", name.value);
            findings.at(&table::HEADER_INVALID, folder, &name.place, message);
        }
        seen.entry(lower).or_insert(&name.value);
    }
}

fn info(folder: &Folder, findings: &mut Findings<'_>) {
    let info = &folder.manifest.global_info;
    let rule = &table::INFO_LIMITS;
    if let Some((name, _)) = info.get(limits::INFO_KEYS) {
        let message = format!("`global_info` has {} keys, and at most {} are allowed", info.len(), limits::INFO_KEYS);
        findings.at(rule, folder, &name.place, message).limit(info.len(), limits::INFO_KEYS);
    }
    for (key, value) in info {
        if key.value.trim().is_empty() {
            findings.at(rule, folder, &key.place, "a key of `global_info` is blank");
        }
        symbols(folder, key, "key", limits::INFO_KEY_SYMBOLS, findings);
        symbols(folder, value, "value", limits::INFO_VALUE_SYMBOLS, findings);
    }
    let total: usize = info.iter().map(|(key, value)| key.value.len() + value.value.len()).sum();
    if total > limits::INFO_TOTAL_BYTES
        && let Some((first, _)) = info.first()
    {
        let message = format!(
            "`global_info` is {total} bytes in total; similar services refuse more than {}",
            limits::INFO_TOTAL_BYTES
        );
        let finding = findings.weighing(rule, Severity::Warn, folder, &first.place, message);
        finding.limit(total, limits::INFO_TOTAL_BYTES);
    }
}

fn symbols(folder: &Folder, spot: &Spot<String>, what: &str, limit: usize, findings: &mut Findings<'_>) {
    let symbols = spot.value.chars().count();
    let units = spot.value.encode_utf16().count();
    let (count, unit, severity) = match (symbols > limit, units > limit) {
        (true, _) => (symbols, "symbols", Severity::Error),
        (false, true) => (units, "UTF-16 units", Severity::Warn),
        (false, false) => return,
    };
    let message = format!("this {what} of `global_info` has {count} {unit}, and at most {limit} are allowed");
    findings.weighing(&table::INFO_LIMITS, severity, folder, &spot.place, message).limit(count, limit);
}

fn replacements(folder: &Folder, findings: &mut Findings<'_>) {
    let bad = folder.manifest.global_replacements.iter().filter(|(name, _)| !is_replacement_name(&name.value));
    for (name, _) in bad {
        let message =
            format!("`{}` cannot be a name: Latin letters, digits, `_` or `-`, and a letter first", name.value);
        findings.at(&table::REPLACEMENT_NAME, folder, &name.place, message);
    }
}

/// Whether a text can be the name of a substitution (`interface §2.5`).
#[must_use]
pub fn is_replacement_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_substitutions() {
        for good in ["a", "Z9", "first_name", "a-b"] {
            assert!(is_replacement_name(good), "{good}");
        }
        for bad in ["", "1a", "_a", "-a", "a b", "é", "a.b", "a\u{200b}"] {
            assert!(!is_replacement_name(bad), "{bad}");
        }
    }

    #[test]
    fn addresses_as_people_write_them() {
        for good in ["hello@example.com", "first.last+tag@sub.example.co.uk", "müller@bücher.example"] {
            assert_eq!(bad_address(good), None, "{good}");
        }
        let long = format!("{}@example.com", "a".repeat(320));
        for bad in
            ["", "hello", "a@b", "a b@example.com", "a@example.com\n", "A <a@example.com>", "{{x}}@example.com", &long]
        {
            assert!(bad_address(bad).is_some(), "{bad}");
        }
    }
}
