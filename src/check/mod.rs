//! The rules: one file per subject. Findings are values; nothing here reads a file.
//!
//! [`folder`] judges one template folder, [`tree`] what can only be seen over all of them.

mod active;
mod address;
mod allow;
mod amp;
mod assets;
mod body;
mod characters;
mod css;
mod fields;
mod findings;
mod images;
mod links;
mod markup;
mod parity;
mod rare;
mod structure;
pub mod table;
mod tags;
mod textpart;
mod verdict;
mod wording;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::desired::tags::{Engine, Parsed};
use crate::desired::{Id, Key, Row, Template};
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::limits;
use crate::source::{Folder, Problem, Walk};

use rare::Rare;

pub use allow::may_allow;
pub use findings::{Levels, finding, sorted};
pub use verdict::{Contract, Packed, Variable, Verdict};

/// What a run of checks is given.
#[derive(Debug, Clone)]
pub struct Rules<'a> {
    /// The severities.
    pub levels: &'a Levels,
    /// The environment's name.
    pub environment: &'a str,
    /// Measures a request that may be larger than so many bytes as serialized; the checks know no wire.
    pub measure: fn(&Template, u64) -> Option<u64>,
}

/// Judges one folder and lets go of it.
#[must_use]
pub fn folder(mut folder: Folder, rules: &Rules<'_>) -> Verdict {
    let mut findings = findings::Findings::new(rules.levels);
    let mut contract = Contract::default();
    let rare = folder.html.as_ref().map(|html| Rare::of(&html.sent)).unwrap_or_default();
    if folder.parsed {
        fields::check(&folder, rules.environment, &mut findings);
        assets::check(&folder, &mut findings);
        characters::check(&folder, &mut findings);
        contract = parts(&folder, rare, &mut findings);
    }
    let adopt = adopt(&folder, rules.environment, &mut findings);
    let moved_from = moved_from(&folder, &mut findings);
    let name = folder.manifest.name.as_ref().map(|name| (name.value.clone(), Packed::of(&folder.locate(&name.place))));
    findings.problems(std::mem::take(&mut folder.problems));
    let allows = allow::collect(&folder, rare, &mut findings);
    let template = folder.take_template();
    if let Some(bytes) = (rules.measure)(&template, limits::REQUEST_BYTES_CAUTIOUS) {
        assets::request(&folder.manifest_path(), &template, bytes, &mut findings);
    }
    let found = findings.take();
    let kept = allow::apply(found, allows, &mut findings);
    let mut verdict = Verdict { findings: findings.finish(kept), name, contract: Packed::of(&contract), row: None };
    if !verdict.has_error() {
        let digest = template.digest();
        verdict.row = Some(Row { name: template.name, digest, adopt, moved_from });
    }
    verdict
}

/// Judges the parts of the mail, each read once; the html has these rare words.
fn parts(folder: &Folder, rare: Rare, findings: &mut findings::Findings<'_>) -> Contract {
    let engine = tags::engine(folder, findings);
    let mut links = links::Links::default();
    let mut wording = wording::Wording::default();
    let mut parsed = Parsed::default();
    if let Some(html) = &folder.html {
        if engine == Engine::Simple {
            parsed = crate::desired::tags::simple(&html.sent);
        }
        let tags = parsed.tags.iter().map(|tag| tag.span.start).collect();
        let mut body = body::Body::new(rare, tags, folder.plaintext.is_none(), findings);
        markup::read(&html.sent, html.controls, &mut body);
        (links, wording) = body.report(html, folder, engine, findings);
    }
    if let Some(amp) = &folder.amp {
        amp::check(amp, findings);
    }
    textpart::check(folder, folder.html.as_ref().map(|_| &links), &wording.plain, engine, findings);
    tags::check(folder, engine, parsed, &wording, findings)
}

/// Whether a text has a tag of some engine in it, so that its value is not known here.
fn is_tagged(text: &str) -> bool {
    ["{{", "{%", "*|", "<%", "${"].iter().any(|open| text.contains(open))
}

/// `ids.<environment>`
fn adopt(folder: &Folder, environment: &str, findings: &mut findings::Findings<'_>) -> Option<Id> {
    let mut adopt = None;
    for (name, id) in &folder.manifest.ids {
        match Id::new(id.value.clone()) {
            Ok(id) if name.value == environment => adopt = Some(id),
            Ok(_) => {}
            Err(error) => {
                findings.at(&table::BAD_VALUE, folder, &id.place, format!("`{}` is {error}", id.value));
            }
        }
    }
    adopt
}

/// `moved_from`
fn moved_from(folder: &Folder, findings: &mut findings::Findings<'_>) -> Option<Key> {
    let spot = folder.manifest.moved_from.as_ref()?;
    match Key::new(spot.value.clone()) {
        Ok(key) if key == folder.key => {
            findings.at(&table::BAD_VALUE, folder, &spot.place, "`moved_from` is this template's own key");
            None
        }
        Ok(key) => Some(key),
        Err(error) => {
            let message = format!("`{}` cannot be a key: {error}", spot.value);
            findings.at(&table::BAD_VALUE, folder, &spot.place, message);
            None
        }
    }
}

/// The verdicts of a whole walk, with every finding.
#[derive(Debug, Default)]
pub struct Tree {
    /// One verdict per template folder, by key: sorted, and each key once. Their findings are below.
    pub verdicts: Vec<(Key, Box<Verdict>)>,
    /// Every finding, sorted.
    pub findings: Vec<Diagnostic>,
}

impl Tree {
    /// Every template folder, also those that do not parse, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.verdicts.iter().map(|(key, _)| key)
    }

    /// The variables of each template.
    #[must_use]
    pub fn contracts(&self) -> BTreeMap<Key, Contract> {
        self.verdicts.iter().map(|(key, verdict)| (key.clone(), verdict.contract.open().unwrap_or_default())).collect()
    }

    /// How many findings are errors.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error).count()
    }
}

/// Judges what can only be seen over the whole tree: names, keys, and what the walk itself met.
#[must_use]
pub fn tree(walk: Walk<Box<Verdict>>, levels: &Levels) -> Tree {
    let mut findings: Vec<Diagnostic> = walk.problems.into_iter().map(|problem: Problem| finding(problem)).collect();
    let mut folders = walk.folders;
    folders.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    findings.extend(one_folder(&folders));
    findings.extend(one_name(&folders));
    // The first of two with the same key counts.
    folders.dedup_by(|after, before| after.0 == before.0);
    for finding in &mut findings {
        finding.severity = levels.of(finding.rule, finding.severity);
    }
    findings.retain(|finding| finding.severity != Severity::Off);
    let mut verdicts: Vec<(Key, Box<Verdict>)> = folders.into_iter().map(|(key, _, verdict)| (key, verdict)).collect();
    verdicts.iter_mut().for_each(|(_, verdict)| findings.append(&mut verdict.findings));
    Tree { verdicts, findings: sorted(findings) }
}

/// Names that two templates have.
fn one_name(folders: &[(Key, String, Box<Verdict>)]) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    // Not gone through, so that its order reaches nobody.
    let mut by_name: HashMap<&str, &Packed<Location>> = HashMap::with_capacity(folders.len());
    for (name, location) in folders.iter().filter_map(|(_, _, verdict)| verdict.name.as_ref()) {
        match by_name.entry(name) {
            Entry::Occupied(first) => {
                let (Some(first), Some(location)) = (first.get().open(), location.open()) else { continue };
                let message = format!("`{name}` is also the name of {}", first.path);
                let finding = Diagnostic::new(&table::NAME_DUPLICATE, location, message);
                findings.push(finding.help("give each template a name of its own"));
            }
            Entry::Vacant(free) => {
                free.insert(location);
            }
        }
    }
    findings
}

/// Keys that would be one where case or Unicode form does not count.
fn one_folder(folders: &[(Key, String, Box<Verdict>)]) -> Vec<Diagnostic> {
    // Paths in small ASCII letters, as nearly all are, differ as they stand.
    let plain = |key: &Key| key.as_str().bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if folders.iter().all(|(key, ..)| plain(key)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    // Not gone through, so that its order reaches nobody.
    let mut by_case: HashMap<String, &Key> = HashMap::with_capacity(folders.len());
    for (key, path, _) in folders {
        let folded = key.as_str().to_lowercase();
        if let Some(first) = by_case.get(&folded) {
            let message = format!("`{key}` and `{first}` are one folder where case or Unicode form does not count");
            let location = Location::whole(path.clone());
            findings.push(Diagnostic::new(&table::KEY_INVALID, location, message).help("rename one of them"));
        } else {
            by_case.insert(folded, key);
        }
    }
    findings
}
