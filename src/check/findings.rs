//! Collecting findings about one folder: levels, one finding per rule and file, order.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use super::table;
use crate::diagnostic::{Diagnostic, Edit, Profile, Rule, Severity};
use crate::source::{Config, Fault, Folder, Place, Problem, Spot, Text, closest};

/// Which severity each rule has in a run: profile first, then `[lint]`.
#[derive(Debug, Clone)]
pub struct Levels {
    profile: Profile,
    lint: BTreeMap<&'static str, Severity>,
}

impl Levels {
    /// The levels of a profile under a `[lint]` table, and what is wrong with that table.
    #[must_use]
    pub fn new(profile: Profile, config: &Config) -> (Self, Vec<Diagnostic>) {
        let mut lint = BTreeMap::new();
        let mut wrong = Vec::new();
        let at = |name: &Spot<String>| config.text.at(name.place.bytes.clone());
        for (name, severity) in &config.lint {
            match table::rule(&name.value) {
                None => {
                    let meant = closest(&name.value, table::all().map(|rule| rule.name));
                    let help = meant.map_or_else(
                        || "`letterpress explain` lists the rules".to_owned(),
                        |word| format!("did you mean `{word}`?"),
                    );
                    let message = format!("there is no rule `{}`", name.value);
                    wrong.push(Diagnostic::new(&table::UNKNOWN_KEY, at(name), message).help(help));
                }
                Some(rule) if !may_change(rule, *severity) => {
                    let message = format!("`{}` is about what the service refuses, so it stays an error", rule.name);
                    wrong.push(Diagnostic::new(&table::CONFIG_INVALID, at(name), message).help("remove the line"));
                }
                Some(rule) => {
                    lint.insert(rule.name, *severity);
                }
            }
        }
        (Self { profile, lint }, wrong)
    }

    /// The severity of a finding of `rule` that would weigh `own`.
    #[must_use]
    pub fn of(&self, rule: &Rule, own: Severity) -> Severity {
        match self.lint.get(rule.name) {
            Some(Severity::Off) => Severity::Off,
            // A finding that weighs less than its rule (near a limit) does not weigh more than the rule is set to.
            Some(set) if own == rule.severity => *set,
            Some(set) => own.min(*set),
            None if rule.profile <= self.profile => own,
            None => Severity::Off,
        }
    }

    /// What a finding weighs that is worth a note by default. Whoever set its rule decides about it, too.
    #[must_use]
    pub fn note(&self, rule: &Rule) -> Severity {
        if self.lint.contains_key(rule.name) { rule.severity } else { Severity::Info }
    }

    /// Whether findings of a rule could be shown at all.
    #[must_use]
    pub fn on(&self, rule: &Rule) -> bool {
        self.of(rule, rule.severity) != Severity::Off
    }
}

/// Whether `[lint]` and allows may change a rule: not where the service would refuse the template.
pub fn may_change(rule: &Rule, severity: Severity) -> bool {
    rule.group != "service" || rule.severity != Severity::Error || severity == Severity::Error
}

/// Findings of one rule in one manifest before the rest is only counted.
const PER_RULE: usize = 10;

/// Mistakes of one rule in one text that `--fix` mends in one go; the next run mends more. A hostile text has millions.
pub(super) const MENDED: usize = 1_000;

/// The findings of one folder in the making.
#[derive(Debug)]
pub struct Findings<'a> {
    levels: &'a Levels,
    list: Vec<Diagnostic>,
}

impl<'a> Findings<'a> {
    /// Nothing found yet.
    #[must_use]
    pub fn new(levels: &'a Levels) -> Self {
        Self { levels, list: Vec::new() }
    }

    /// Whether a rule is on; a rule that costs time asks first.
    #[must_use]
    pub fn on(&self, rule: &Rule) -> bool {
        self.levels.on(rule)
    }

    /// See [`Levels::note`].
    #[must_use]
    pub fn note(&self, rule: &Rule) -> Severity {
        self.levels.note(rule)
    }

    /// Adds a finding, unless its rule is off.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        diagnostic.severity = self.levels.of(diagnostic.rule, diagnostic.severity);
        if diagnostic.severity != Severity::Off {
            self.list.push(diagnostic);
        }
    }

    /// Adds a finding at a place of the manifest, and hands it out to be completed.
    pub fn at(
        &mut self,
        rule: &'static Rule,
        folder: &Folder,
        place: &Place,
        message: impl Into<String>,
    ) -> Completing<'_> {
        self.weighing(rule, rule.severity, folder, place, message)
    }

    /// As [`Findings::at`], with another severity than the rule's own. A manifest can have a hundred thousand mistakes: after some of one
    /// kind the rest is only counted.
    pub fn weighing(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        folder: &Folder,
        place: &Place,
        message: impl Into<String>,
    ) -> Completing<'_> {
        let mut same = self.list.iter_mut().filter(|finding| finding.rule == rule);
        if let Some(last) = same.nth(PER_RULE - 1) {
            last.count += 1;
            return Completing(None);
        }
        if self.levels.of(rule, severity) == Severity::Off {
            return Completing(None);
        }
        self.push(Diagnostic::new(rule, folder.locate(place), message).severity(severity));
        Completing(self.list.last_mut())
    }

    /// Adds a finding about a text part when there are any places, and hands it out to be completed. Only then the message is formatted.
    pub fn places(
        &mut self,
        rule: &'static Rule,
        text: &Text,
        places: &Places,
        message: impl Display,
    ) -> Completing<'_> {
        match &places.first {
            Some(first) if self.on(rule) => {
                let finding = Diagnostic::new(rule, text.at(first.clone()), message.to_string()).count(places.count);
                self.push(finding);
                Completing(self.list.last_mut())
            }
            _ => Completing(None),
        }
    }

    /// Adds what reading found.
    pub fn problems(&mut self, problems: Vec<Problem>) {
        for problem in problems {
            self.push(finding(problem));
        }
    }

    /// Takes what was found so far.
    pub fn take(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.list)
    }

    /// All findings with those that were taken, sorted, each once.
    #[must_use]
    pub fn finish(mut self, taken: Vec<Diagnostic>) -> Vec<Diagnostic> {
        self.list.extend(taken);
        sorted(self.list)
    }
}

/// Where a rule found something in one text: the first place and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The first place, in what is sent.
    pub first: Option<Range<usize>>,
    /// How many.
    pub count: usize,
}

impl Places {
    /// One more place.
    pub fn add(&mut self, span: Range<usize>) {
        self.count += 1;
        self.first.get_or_insert(span);
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// A finding that was just added, if its rule is on.
#[derive(Debug)]
pub struct Completing<'f>(Option<&'f mut Diagnostic>);

impl Completing<'_> {
    /// With the way out.
    pub fn help(self, help: impl Into<String>) -> Self {
        self.with(|finding| finding.help = Some(help.into()))
    }

    /// With the value found and what is allowed.
    pub fn limit(self, actual: impl ToString, allowed: impl ToString) -> Self {
        self.with(|finding| {
            finding.actual = Some(actual.to_string());
            finding.allowed = Some(allowed.to_string());
        })
    }

    /// With what mends it.
    pub fn edits(self, edits: impl FnOnce() -> Vec<Edit>) -> Self {
        self.with(|finding| finding.edits = edits())
    }

    fn with(mut self, change: impl FnOnce(&mut Diagnostic)) -> Self {
        if let Some(finding) = &mut self.0 {
            change(finding);
        }
        self
    }
}

/// Sorts findings by place, then by rule, and drops repetitions.
#[must_use]
pub fn sorted(mut list: Vec<Diagnostic>) -> Vec<Diagnostic> {
    list.sort_by(|a, b| a.order().cmp(&b.order()));
    list.dedup();
    list
}

/// What reading found, as a finding of the rule that it belongs to.
#[must_use]
pub fn finding(problem: Problem) -> Diagnostic {
    let rule = match problem.fault {
        Fault::ManifestSyntax => &table::MANIFEST_SYNTAX,
        Fault::ConfigInvalid => &table::CONFIG_INVALID,
        Fault::TemplatesFolder => &table::TEMPLATES_FOLDER,
        Fault::ManifestName => &table::MANIFEST_NAME,
        Fault::ManifestMissing => &table::MANIFEST_MISSING,
        Fault::UnknownKey => &table::UNKNOWN_KEY,
        Fault::DuplicateKey => &table::DUPLICATE_KEY,
        Fault::WrongType => &table::WRONG_TYPE,
        Fault::ResponseOnlyField => &table::RESPONSE_ONLY_FIELD,
        Fault::BadValue => &table::BAD_VALUE,
        Fault::PathOutside => &table::PATH_OUTSIDE,
        Fault::PathSymlink => &table::PATH_SYMLINK,
        Fault::PathUnportable => &table::PATH_UNPORTABLE,
        Fault::PathGit => &table::PATH_GIT,
        Fault::NotAFile => &table::NOT_A_FILE,
        Fault::FileMissing => &table::FILE_MISSING,
        Fault::NotUtf8 => &table::NOT_UTF8,
        Fault::KeyInvalid => &table::KEY_INVALID,
        Fault::AttachmentTooLarge => &table::ATTACHMENT_TOO_LARGE,
        Fault::RequestTooLarge => &table::REQUEST_TOO_LARGE,
    };
    let mut diagnostic = Diagnostic::new(rule, problem.location, problem.message);
    if let Some((actual, allowed)) = problem.limit {
        diagnostic = diagnostic.limit(actual, allowed);
    }
    diagnostic.help = problem.help;
    if let Some(severity) = problem.severity {
        diagnostic.severity = severity;
    }
    diagnostic
}
