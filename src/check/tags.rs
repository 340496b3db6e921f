//! Merge tags over all parts of a template: malformed, foreign, undeclared, unused, parity; and the contract that follows from them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::fields::is_replacement_name;
use super::findings::{Findings, MENDED, Places};
use super::parity;
use super::table;
use super::verdict::{Contract, Variable};
use super::wording::Wording;
use crate::desired::tags::{self, Engine, Foreign, Outside, Parsed, Tag};
use crate::diagnostic::{Diagnostic, Edit, Location};
use crate::source::{File, Folder, Spot, Text, closest};

/// Which engine the template asks for.
#[must_use]
pub fn engine(folder: &Folder, findings: &mut Findings<'_>) -> Engine {
    let header = folder.manifest.headers.iter().find(|(name, _)| name.value.eq_ignore_ascii_case(tags::ENGINE_HEADER));
    let Some((_, value)) = header else { return Engine::Simple };
    Engine::of(&value.value).unwrap_or_else(|| {
        let message = format!("there is no template engine `{}`: {}", value.value, Engine::WORDS.join(", "));
        findings.at(&table::BAD_VALUE, folder, &value.place, message);
        Engine::None
    })
}

/// One place where the service substitutes.
pub struct Part<'a> {
    pub name: &'static str,
    pub parsed: Parsed<'a>,
    /// The different names in it.
    pub names: BTreeSet<&'a str>,
    /// Other engines' syntax that does not start with `{{`.
    outside: Vec<Outside>,
}

impl Part<'_> {
    /// Whether it was written for an engine whose tags look like ours.
    fn is_foreign(&self) -> bool {
        !self.parsed.foreign.is_empty() || self.outside.iter().any(|outside| outside.kind == Foreign::Percent)
    }

    /// Where it is: a body, or a value of the manifest.
    fn place<'f>(&self, folder: &'f Folder) -> (Option<&'f Text>, Option<&'f Spot<String>>) {
        match self.name {
            "html" => (folder.html.as_ref(), None),
            "plaintext" => (folder.plaintext.as_ref(), None),
            "amp" => (folder.amp.as_ref(), None),
            "subject" => (None, folder.manifest.subject.as_ref()),
            _ => (None, folder.manifest.sender_name.as_ref()),
        }
    }
}

/// The names that the manifest says recipients, or all of them, have.
fn declared(folder: &Folder) -> BTreeSet<&str> {
    let shared = folder.manifest.global_replacements.iter().map(|(name, _)| name);
    shared.chain(&folder.manifest.variables).map(|name| name.value.as_str()).collect()
}

/// Checks the tags of every part. Those of the html were read before, and `wording` says which of them a reader sees.
pub fn check(
    folder: &Folder,
    engine: Engine,
    mut html: Parsed<'_>,
    wording: &Wording,
    findings: &mut Findings<'_>,
) -> Contract {
    let mut contract = Contract { engine: engine.word().to_owned(), variables: BTreeMap::new() };
    literal_fields(folder, findings);
    let bodies = [("html", &folder.html), ("plaintext", &folder.plaintext), ("amp", &folder.amp)];
    if engine != Engine::Simple {
        for text in bodies.into_iter().filter_map(|(_, text)| text.as_ref()) {
            balance(text, engine, findings);
        }
        return contract;
    }
    let spots = [("subject", &folder.manifest.subject), ("sender_name", &folder.manifest.sender_name)];
    let mut parts = Vec::new();
    for (name, spot) in spots {
        if let Some(spot) = spot {
            let parsed = tags::simple(&spot.value);
            let outside = tags::outside_braces(&spot.value);
            parts.push(Part { name, names: names_in(&parsed), parsed, outside });
        }
    }
    for (name, text) in bodies {
        if let Some(text) = text {
            let outside = tags::outside_braces(&text.sent);
            let mut parsed = if name == "html" { std::mem::take(&mut html) } else { tags::simple(&text.sent) };
            match name {
                "amp" => mustache(text, &mut parsed, findings),
                // Nobody reads the braces there.
                "html" => {
                    let read = |flaw: &tags::Flaw| {
                        flaw.message == tags::TOO_MANY || !among(&wording.comments, flaw.span.start)
                    };
                    parsed.flaws.retain(read);
                }
                _ => {}
            }
            parts.push(Part { name, names: names_in(&parsed), parsed, outside });
        }
    }
    let ported = !declared(folder).is_empty() || !parts.iter().any(Part::is_foreign);
    for part in &parts {
        match part.place(folder) {
            (Some(text), _) => body(text, part, ported, findings),
            (None, Some(spot)) => field(folder, spot, part, ported, findings),
            (None, None) => {}
        }
    }
    let typos = names(folder, &parts, ported, findings);
    if ported {
        parity::check(folder, &parts, &typos, &wording.visible, findings);
    }
    for part in &parts {
        let mut last = None;
        for tag in &part.parsed.tags {
            // Neighbours are often the same.
            if last.replace((tag.name, tag.operator.is_none())) == Some((tag.name, tag.operator.is_none())) {
                continue;
            }
            if !contract.variables.contains_key(tag.name) {
                contract.variables.insert(tag.name.to_owned(), Variable::default());
            }
            let Some(variable) = contract.variables.get_mut(tag.name) else { continue };
            if !variable.used_in.iter().any(|known| known == part.name) {
                variable.used_in.push(part.name.to_owned());
            }
            variable.required |= tag.operator.is_none();
        }
    }
    complete(folder, &mut contract);
    contract
}

/// Values that the manifest has make a variable optional; declared ones are listed even when unused.
fn complete(folder: &Folder, contract: &mut Contract) {
    for declared in &folder.manifest.variables {
        contract.variables.entry(declared.value.clone()).or_default();
    }
    for (name, value) in &folder.manifest.global_replacements {
        if let Some(variable) = contract.variables.get_mut(&name.value) {
            variable.required = false;
            variable.value = Some(value.value.clone());
        }
    }
    for known in tags::KNOWN {
        contract.variables.remove(known);
    }
}

/// Tags in the subject or the sender's name. Escapes in YAML move bytes, so the place is the whole value.
fn field(folder: &Folder, spot: &Spot<String>, part: &Part<'_>, ported: bool, findings: &mut Findings<'_>) {
    if let Some(flaw) = part.parsed.flaws.first() {
        let message = format!("`{}`: {}", part.name, flaw.message);
        findings.at(&table::TAG_MALFORMED, folder, &spot.place, message);
    }
    if let Some(tag) = part.parsed.tags.iter().find(|tag| ported && tag.has_blanks()) {
        let location = folder.locate(&spot.place);
        let message = format!("`{{{{{}}}}}` is written with blanks", tag.name);
        let mut finding =
            Diagnostic::new(&table::TAG_WHITESPACE, location, message).help("remove the blanks inside the braces");
        let text = folder.text_of(&spot.place);
        if let Some(raw) = text.sent.get(spot.place.bytes.clone()) {
            finding.edits = blanks(&tags::simple(raw), &text.path, |at| text.raw(spot.place.bytes.start + at));
        }
        findings.push(finding);
    }
    let foreign: Vec<_> = part.parsed.foreign.iter().map(|(kind, _)| *kind).collect();
    for kind in foreign.into_iter().chain(part.outside.iter().map(|outside| outside.kind)).collect::<BTreeSet<_>>() {
        let message =
            format!("`{}` is another engine's syntax; the simple engine sends it as it stands", kind.example());
        findings.at(&table::FOREIGN_SYNTAX, folder, &spot.place, message);
    }
}

fn body(text: &Text, part: &Part<'_>, ported: bool, findings: &mut Findings<'_>) {
    let mut malformed = Places::default();
    part.parsed.flaws.iter().for_each(|flaw| malformed.add(flaw.span.clone()));
    let message = part.parsed.flaws.first().map_or("", |flaw| flaw.message);
    findings
        .places(&table::TAG_MALFORMED, text, &malformed, message)
        .help("the form is `{{name}}`, `{{name|default}}` or `{{name?text}}`");
    let mut spaced = Places::default();
    for tag in part.parsed.tags.iter().filter(|tag| ported && tag.has_blanks()) {
        spaced.add(tag.span.clone());
    }
    findings
        .places(&table::TAG_WHITESPACE, text, &spaced, "blanks inside the braces of a tag")
        .help("write `{{name}}`")
        .edits(|| blanks(&part.parsed, &text.path, |at| text.raw(at)));
    let mut foreign: BTreeMap<Foreign, Places> = BTreeMap::new();
    for (kind, span) in &part.parsed.foreign {
        foreign.entry(*kind).or_default().add(span.clone());
    }
    for Outside { kind, first, count } in &part.outside {
        foreign.insert(*kind, Places { first: Some(first.clone()), count: *count });
    }
    for (kind, places) in foreign {
        let message =
            format!("`{}` is another engine's syntax; the simple engine sends it as it stands", kind.example());
        let help = "the form is `{{name}}`; another engine is chosen with the header `X-SVC-Template-Engine`";
        findings.places(&table::FOREIGN_SYNTAX, text, &places, message).help(help);
    }
}

fn blanks(parsed: &Parsed<'_>, path: &str, raw: impl Fn(usize) -> usize) -> Vec<Edit> {
    let spans = parsed.tags.iter().flat_map(Tag::blanks);
    spans
        .filter(|span| !span.is_empty())
        .take(MENDED)
        .map(|span| Edit { path: path.to_owned(), bytes: raw(span.start)..raw(span.end), text: String::new() })
        .collect()
}

fn balance(text: &Text, engine: Engine, findings: &mut Findings<'_>) {
    let flaws = match engine {
        Engine::Liquid => tags::liquid(&text.sent),
        Engine::Velocity => tags::velocity(&text.sent),
        Engine::Simple | Engine::None => return,
    };
    let mut places = Places::default();
    flaws.iter().for_each(|flaw| places.add(flaw.span.clone()));
    findings.places(&table::TAG_MALFORMED, text, &places, flaws.first().map_or("", |flaw| flaw.message));
}

/// AMP fills its own templates with the same braces, in the reader's mail client: those are not the service's tags.
fn mustache(text: &Text, parsed: &mut Parsed<'_>, findings: &mut Findings<'_>) {
    let mut inside = Vec::new();
    let mut at = 0;
    while let Some(word) = text.sent[at..].find("amp-mustache").map(|found| at + found) {
        // The word also stands in the head, in the script that the templates need.
        let tag = text.sent[at..word].rfind('<').map_or("", |open| &text.sent[at + open..word]);
        let end = match tag.get(..9).map(str::to_ascii_lowercase).as_deref() {
            Some("<template") => "</template>",
            Some("<script t") if !tag.contains("custom-template") => "</script>",
            _ => {
                at = word + 1;
                continue;
            }
        };
        at = text.sent[word..].find(end).map_or(text.sent.len(), |found| word + found);
        inside.push(word..at);
    }
    let within = |span: &Range<usize>| among(&inside, span.start);
    let mut places = Places::default();
    parsed.tags.iter().filter(|tag| within(&tag.span)).for_each(|tag| places.add(tag.span.clone()));
    parsed.tags.retain(|tag| !within(&tag.span));
    parsed.flaws.retain(|flaw| !within(&flaw.span));
    parsed.foreign.retain(|(_, span)| !within(span));
    findings
        .places(
            &table::AMP_MUSTACHE_COLLISION,
            text,
            &places,
            "the service may replace these braces before AMP sees them",
        )
        .help("choose another engine with the header `X-SVC-Template-Engine`");
}

fn literal_fields(folder: &Folder, findings: &mut Findings<'_>) {
    let manifest = &folder.manifest;
    let values = manifest.headers.iter().chain(&manifest.global_info).map(|(_, value)| value).chain(&manifest.name);
    let names = manifest.attachments.iter().chain(&manifest.inline_attachments).filter_map(|asset| asset.name.as_ref());
    if let Some(spot) = values.chain(names).find(|spot| !tags::simple(&spot.value).tags.is_empty()) {
        let message = "the service substitutes no tags here";
        findings.push(
            Diagnostic::new(&table::TAG_IN_LITERAL_FIELD, folder.locate(&spot.place), message)
                .help("tags work in the bodies, `subject` and `sender_name`"),
        );
    }
}

/// Names that are probably another one, misspelt. No other rule speaks of them.
pub type Typos<'a> = BTreeMap<&'a str, &'a str>;

/// So many undeclared names are compared with all declared ones; a template that has more has another problem than a typo.
const TYPOS: usize = 20;

/// Undeclared and unused names; hands out those that are typos. The place to declare a name is the manifest, so each name is reported once:
/// in the first part that has it. Of a manifest that declares nothing, that is worth knowing and no mistake; of a mail that was written for
/// another engine, `foreign-syntax` says all there is to say.
fn names<'a>(folder: &'a Folder, parts: &[Part<'a>], ported: bool, findings: &mut Findings<'_>) -> Typos<'a> {
    let manifest = &folder.manifest;
    let mut typos = Typos::new();
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    let declared = declared(folder);
    let rule = &table::TAG_UNDECLARED;
    let severity = if declared.is_empty() { findings.note(rule) } else { rule.severity };
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for part in parts {
        let block = part.parsed.foreign.iter().any(|(kind, _)| matches!(kind, Foreign::Block | Foreign::Go));
        used.extend(&part.names);
        let unknown = |name: &str| {
            let keyword = block && matches!(name, "else" | "end" | "this");
            ported && !keyword && !tags::KNOWN.contains(&name) && !declared.contains(name) && !reported.contains(name)
        };
        let unknown: BTreeSet<&str> = part.names.iter().copied().filter(|name| unknown(name)).collect();
        let undeclared: Vec<&Tag<'_>> = part.parsed.tags.iter().filter(|tag| unknown.contains(tag.name)).collect();
        let Some(Tag { name, span, .. }) = undeclared.first() else { continue };
        let mut others = 0;
        for Tag { name, .. } in &undeclared {
            if !reported.insert(name) {
                continue;
            }
            others += 1;
            if reported.len() <= TYPOS
                && let Some(meant) = closest(name, declared.iter().copied().chain(tags::KNOWN))
            {
                typos.insert(name, meant);
                used.insert(meant);
            }
        }
        let message = match others - 1 {
            0 => format!("`{{{{{name}}}}}` is not declared"),
            1 => format!("`{{{{{name}}}}}` and 1 other name are not declared"),
            more => format!("`{{{{{name}}}}}` and {more} other names are not declared"),
        };
        let meant = typos.get(name).copied();
        let help = meant.map_or_else(
            || format!("add `variables: [{name}]`, or a value to `global_replacements`"),
            |word| format!("did you mean `{{{{{word}}}}}`?"),
        );
        let severity = if meant.is_some() { rule.severity } else { severity };
        let location = place(folder, part, span.clone());
        let finding = Diagnostic::new(rule, location, message).count(undeclared.len());
        findings.push(finding.severity(severity).help(help));
    }
    // A name that cannot be one has its finding already.
    let own = manifest
        .global_replacements
        .iter()
        .map(|(name, _)| name)
        .filter(|name| name.place.file == File::Manifest && is_replacement_name(&name.value));
    let unused: Vec<_> = own.chain(&manifest.variables).filter(|name| !used.contains(name.value.as_str())).collect();
    if let Some(first) = unused.first() {
        let message = format!("`{}` is declared and never used", first.value);
        let finding = Diagnostic::new(&table::REPLACEMENT_UNUSED, folder.locate(&first.place), message);
        findings.push(finding.count(unused.len()));
    }
    typos
}

/// The different names in a part. Neighbours are often the same.
fn names_in<'t>(parsed: &Parsed<'t>) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    let mut last = "";
    for tag in &parsed.tags {
        if tag.name != last {
            last = tag.name;
            names.insert(last);
        }
    }
    names
}

/// Where a tag stands.
pub fn place(folder: &Folder, part: &Part<'_>, span: Range<usize>) -> Location {
    match part.place(folder) {
        (Some(text), _) => text.at(span),
        (None, Some(spot)) => folder.locate(&spot.place),
        (None, None) => Location::whole(folder.manifest_path()),
    }
}

/// Whether one of some sorted regions has the byte.
fn among(regions: &[Range<usize>], at: usize) -> bool {
    let after = regions.partition_point(|region| region.start <= at);
    after.checked_sub(1).and_then(|last| regions.get(last)).is_some_and(|region| region.contains(&at))
}
