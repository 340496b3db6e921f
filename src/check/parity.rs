//! What the parts of one mail tell their readers: the same names.

use std::collections::BTreeSet;
use std::ops::Range;

use super::findings::Findings;
use super::table;
use super::tags::{Part, Typos, place};
use crate::desired::tags::{self, Tag};
use crate::diagnostic::Diagnostic;
use crate::source::{Folder, closest};

/// What one part tells a reader and another does not. Names that have a value for everybody do not count, nor do those in links. A typo
/// has its finding already, and counts as what was meant.
pub fn check(folder: &Folder, parts: &[Part<'_>], typos: &Typos<'_>, visible: &[usize], findings: &mut Findings<'_>) {
    let shared: BTreeSet<&str> =
        folder.manifest.global_replacements.iter().map(|(name, _)| name.value.as_str()).chain(tags::KNOWN).collect();
    let part = |name: &str| parts.iter().find(|part| part.name == name);
    let Some(html) = part("html") else { return };
    let in_html = every(html, typos);
    let seen = |span: &Range<usize>| visible.binary_search(&span.start).is_ok();
    for other in ["plaintext", "amp"].into_iter().filter_map(part) {
        let in_other = every(other, typos);
        let only_in = |part: &Part<'_>, elsewhere: &BTreeSet<&str>, test: &dyn Fn(&Tag<'_>) -> bool| {
            let missing =
                |name: &&&str| !typos.contains_key(*name) && !shared.contains(*name) && !elsewhere.contains(**name);
            let missing: BTreeSet<&&str> = part.names.iter().filter(missing).collect();
            let mut tags = part.parsed.tags.iter();
            let first = tags.find(|tag| missing.contains(&tag.name) && test(tag));
            first.map(|tag| (tag.name.to_owned(), tag.span.clone()))
        };
        let lacks = only_in(html, &in_other, &|tag| other.name == "plaintext" && seen(&tag.span));
        let extra = only_in(other, &in_html, &|_| true);
        let what = if other.name == "amp" { "AMP part" } else { "plain text" };
        // One name, written in two ways, is one mistake.
        if let (Some((in_html, _)), Some((name, span))) = (&lacks, &extra)
            && closest(name, [in_html.as_str()]).is_some()
        {
            let message = format!("the {what} shows `{{{{{name}}}}}` where the html shows `{{{{{in_html}}}}}`");
            let finding = Diagnostic::new(&table::TAG_PARITY, place(folder, other, span.clone()), message);
            findings.push(finding.help("one of the two is probably a typo"));
            continue;
        }
        if let Some((name, span)) = lacks {
            let message = format!("the html shows `{{{{{name}}}}}`, and the plain text does not");
            findings.push(Diagnostic::new(&table::TAG_PARITY, place(folder, html, span), message));
        }
        if let Some((name, span)) = extra {
            let message = format!("the {what} shows `{{{{{name}}}}}`, and the html does not");
            findings.push(Diagnostic::new(&table::TAG_PARITY, place(folder, other, span), message));
        }
    }
}

/// The names of a part; typos count as what was meant.
fn every<'a>(part: &Part<'a>, typos: &Typos<'a>) -> BTreeSet<&'a str> {
    part.names.iter().map(|name| typos.get(name).copied().unwrap_or(name)).collect()
}
