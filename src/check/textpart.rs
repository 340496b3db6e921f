//! The plain-text part and the subject.

use super::findings::Findings;
use super::table;
use super::{links::Links, rare};
use crate::desired::tags::{self, Engine};
use crate::diagnostic::{Diagnostic, Edit, Location};
use crate::source::Folder;

/// More links than this make a mail a list, and its plain text may summarise.
const FEW_LINKS: usize = 10;
/// Longest subject in characters.
const SUBJECT: usize = 150;

/// Checks the plain text against the html.
pub fn check(folder: &Folder, links: Option<&Links>, derived: &str, engine: Engine, findings: &mut Findings<'_>) {
    subject(folder, findings);
    match (&folder.plaintext, &folder.html) {
        (None, Some(html)) => missing(folder, &html.path, derived, engine, findings),
        (Some(text), _) => {
            if let Some((what, bytes)) = rare::placeholder(&text.sent) {
                let message = format!("`{what}` was meant to be replaced");
                findings.push(Diagnostic::new(&table::PLACEHOLDER_LEFT, text.at(bytes), message));
            }
            let rule = &table::PLAINTEXT_QUALITY;
            if let Some(at) = markup(&text.sent) {
                findings.push(Diagnostic::new(rule, text.at(at..at + 1), "markup in the plain text"));
            } else if let Some(links) = links
                && !links.web.is_empty()
                && links.web.len() <= FEW_LINKS
                && !shows(&text.sent, links)
            {
                let message = "the plain text has none of the html's links";
                let first = links.web.first().cloned().unwrap_or_default();
                let finding = Diagnostic::new(rule, Location::whole(text.path.clone()), message);
                findings.push(finding.help(format!("for example {first}")));
            }
        }
        (None, None) => {}
    }
}

/// Whether a text has one of some links. It may write them as people do: without the scheme, `www.` or the query.
fn shows(text: &str, links: &Links) -> bool {
    let text = text.to_lowercase();
    let bare = |link: &str| {
        let link = link.split(['?', '#']).next().unwrap_or(link).trim_end_matches('/').to_lowercase();
        let link = link.split_once("://").map_or(link.as_str(), |(_, rest)| rest);
        link.strip_prefix("www.").unwrap_or(link).to_owned()
    };
    links.web.iter().any(|link| text.contains(&bare(link))) || links.tagged.iter().any(|link| text.contains(link))
}

/// Where a text has an element of html. `<https://…>` and `a < b` are text.
fn markup(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let starts = |at: usize, piece: &str| {
        bytes.get(at..at + piece.len()).is_some_and(|found| found.eq_ignore_ascii_case(piece.as_bytes()))
    };
    let pieces = ["<p>", "<p ", "<br", "</", "<div", "<table", "<html", "<!doctype", "<a href", "&nbsp;"];
    memchr::memchr2_iter(b'<', b'&', bytes).find(|at| pieces.iter().any(|piece| starts(*at, piece)))
}

fn missing(folder: &Folder, html: &str, derived: &str, engine: Engine, findings: &mut Findings<'_>) {
    // A body that is named and could not be read has its finding already.
    if folder.manifest.body.plaintext.is_some() || folder.listed.has("body.txt") {
        return;
    }
    let message = "there is no plain-text body beside the html";
    let mut finding = Diagnostic::new(&table::PLAINTEXT_MISSING, Location::whole(html), message)
        .help("add body.txt; `letterpress validate --fix` derives one");
    let derived = without_blanks(derived.trim(), engine);
    if !derived.is_empty() {
        let path = format!("{}/body.txt", folder.path);
        finding.edits = vec![Edit { path, bytes: 0..0, text: format!("{derived}\n") }];
    }
    findings.push(finding);
}

/// A text with its tags as `tag-whitespace` wants them: what a fix writes needs no other fix.
fn without_blanks(text: &str, engine: Engine) -> String {
    if engine != Engine::Simple {
        return text.to_owned();
    }
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for blanks in tags::simple(text).tags.iter().flat_map(tags::Tag::blanks) {
        out.push_str(&text[from..blanks.start]);
        from = blanks.end;
    }
    out + &text[from..]
}

fn subject(folder: &Folder, findings: &mut Findings<'_>) {
    let Some(subject) = &folder.manifest.subject else { return };
    let text = subject.value.as_str();
    let characters = text.chars().count();
    let bidi = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let rule = &table::SUBJECT_QUALITY;
    if text.trim().is_empty() {
        findings.at(rule, folder, &subject.place, "the subject is empty");
    } else if characters > SUBJECT {
        let message = format!("the subject has {characters} characters; mail clients cut it far earlier");
        let finding = Diagnostic::new(rule, folder.locate(&subject.place), message);
        findings.push(finding.limit(characters, SUBJECT));
    } else if text.trim() != text {
        findings.at(rule, folder, &subject.place, "the subject has blanks at its start or end");
    } else if text.contains(bidi) {
        findings.at(rule, folder, &subject.place, "the subject has bidirectional controls");
    }
    if let Some((what, _)) = rare::placeholder(text) {
        let message = format!("`{what}` was meant to be replaced");
        findings.at(&table::PLACEHOLDER_LEFT, folder, &subject.place, message);
    }
}
