//! Desired × State → Plan. Pure: no I/O, cannot fail.
//!
//! The plan is one value that is printed, saved and executed, so that what was reviewed is what is applied.

mod changes;
mod file;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::desired::{Desired, Digest, Id, Key, Row};
use crate::limits;
use crate::state::{Account, Entry, Record, Stamp, State};

pub use changes::{
    Changes, Detail, FieldChange, FileChange, FileFacts, Hunk, Line, Part, PartChange, Segment, Sentence, Sign, changes,
};
pub use file::{PlanFile, PlanFileError, Stale};
pub use step::{Action, Step, Why};

/// What an apply would do to one environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The environment's name.
    pub environment: String,
    /// The state that it was made against.
    pub lineage: Uuid,
    /// The account that the state is bound to.
    pub account: Account,
    /// The state's serial; entries that the plan does not touch may move on.
    pub serial: u64,
    /// What happens, by key.
    pub steps: Vec<Step>,
    /// Why some templates cannot be planned; empty in a plan that can be applied.
    pub conflicts: Vec<Conflict>,
    /// Templates that stay as they are.
    pub unchanged: usize,
    /// Templates that `--only` or `--exclude` left out.
    pub left_out: usize,
    /// Templates that the service would hold afterwards, as far as the state knows: every id and every leak.
    pub used: usize,
    /// The last apply that ended.
    pub last_apply: Option<Stamp>,
}

/// Something that only a change of the files or of the state can mend. Shown as a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "conflict", rename_all = "kebab-case")]
pub enum Conflict {
    /// `ids:` names an id that another key holds.
    IdTaken {
        /// The template whose manifest names the id.
        key: Key,
        /// The id.
        id: Id,
        /// Who holds it.
        holder: Key,
    },
    /// The `ids:` of two templates name the same id.
    IdClaimed {
        /// The second of them.
        key: Key,
        /// The id.
        id: Id,
        /// The first of them.
        other: Key,
    },
    /// `ids:` names another id than the state has for the key.
    IdDiffers {
        /// The template.
        key: Key,
        /// The id in the manifest.
        id: Id,
        /// The id in the state.
        held: Id,
    },
    /// `moved_from:` names a key whose folder is still there.
    SourcePresent {
        /// The template whose manifest says `moved_from`.
        key: Key,
        /// The key that it names.
        from: Key,
    },
    /// Two templates name the same `moved_from`.
    SourceClaimed {
        /// The second of them.
        key: Key,
        /// The key that both name.
        from: Key,
    },
    /// Over the service's limit of templates (`interface §8`).
    TooManyTemplates {
        /// What the service would hold.
        used: usize,
        /// What it allows.
        allowed: usize,
    },
}

/// How to plan.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The environment's name.
    pub environment: &'a str,
    /// Send every template again, changed or not.
    pub reassert: bool,
    /// Which keys to plan (`--only`, `--exclude`).
    pub selects: &'a dyn Fn(&Key) -> bool,
}

/// Plans: what must happen so that the service holds what is desired.
///
/// `present` names every template folder, also those that are not in `desired` because they do not parse: none of them looks removed.
#[must_use]
pub fn plan(desired: &Desired, present: &BTreeSet<Key>, state: &State, options: Options<'_>) -> Plan {
    let mut planner =
        Planner { state, present, options, claimed: BTreeSet::new(), adopted: BTreeMap::new(), conflicts: Vec::new() };
    let mut steps = BTreeMap::new();
    let (mut unchanged, mut left_out) = (0, 0);
    for (key, row) in &desired.templates {
        if !(options.selects)(key) {
            left_out += 1;
        } else if let Some(action) = planner.template(key, row) {
            steps.insert(key.clone(), Step { key: key.clone(), name: Some(row.name.clone()), action });
        } else {
            unchanged += 1;
        }
    }
    for (key, record) in &state.records {
        let gone = !present.contains(key) && !planner.claimed.contains(key);
        if let (true, Some(id)) = (gone, record.entry.id())
            && !matches!(record.entry, Entry::Retired { .. })
        {
            if (options.selects)(key) {
                steps.insert(
                    key.clone(),
                    Step {
                        key: key.clone(),
                        name: None,
                        action: Action::Retire { id: id.clone(), digest: record.entry.digest() },
                    },
                );
            } else {
                left_out += 1;
            }
        }
    }
    let steps: Vec<Step> = steps.into_values().collect();
    let mut conflicts = planner.conflicts;
    let new = steps.iter().filter(|step| step.action.adds_template()).count();
    let used = state.templates_used() + new;
    if new > 0 && used > limits::TEMPLATES {
        conflicts.push(Conflict::TooManyTemplates { used, allowed: limits::TEMPLATES });
    }
    Plan {
        environment: options.environment.to_owned(),
        lineage: state.lineage,
        account: state.account.clone(),
        serial: state.serial,
        steps,
        conflicts,
        unchanged,
        left_out,
        used,
        last_apply: state.last_apply.clone(),
    }
}

impl Plan {
    /// Whether an apply would do nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.conflicts.is_empty()
    }

    /// Whether a step sends what has not changed (`--reassert`).
    #[must_use]
    pub fn is_reasserting(&self) -> bool {
        let reasserts = |step: &Step| matches!(step.action, Action::Update { why: Why::Reasserted, .. });
        self.steps.iter().any(reasserts)
    }

    /// Digest over all that was reviewed: environment, lineage, account and steps; the serial is not in it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        file::digest(self)
    }
}

struct Planner<'a> {
    state: &'a State,
    present: &'a BTreeSet<Key>,
    options: Options<'a>,
    /// Keys whose entry moves to another key.
    claimed: BTreeSet<Key>,
    /// Ids that are adopted, and by whom.
    adopted: BTreeMap<Id, Key>,
    conflicts: Vec<Conflict>,
}

impl Planner<'_> {
    /// What happens to one template folder; `None`: nothing, or a conflict was noted.
    fn template(&mut self, key: &Key, row: &Row) -> Option<Action> {
        // A reservation without an answer has no id: the next acquire turns it into a leak, and the key is new again.
        match self.state.records.get(key).and_then(|record| Some((record, record.entry.id()?))) {
            Some((record, id)) => self.known(key, row, record, id),
            None => self.unknown(key, row),
        }
    }

    fn known(&mut self, key: &Key, row: &Row, record: &Record, id: &Id) -> Option<Action> {
        if let Some(adopt) = row.adopt.as_ref().filter(|adopt| *adopt != id) {
            self.conflicts.push(Conflict::IdDiffers { key: key.clone(), id: adopt.clone(), held: id.clone() });
            return None;
        }
        let update = |from, why| Some(Action::Update { id: id.clone(), from, to: row.digest, why, moved_from: None });
        match &record.entry {
            Entry::Live { digest, .. } if *digest != row.digest => update(Some(*digest), Why::Changed),
            Entry::Live { digest, .. } if self.options.reassert => update(Some(*digest), Why::Reasserted),
            Entry::Live { .. } => None,
            Entry::Retired { digest: Some(digest), .. } if *digest == row.digest && !self.options.reassert => {
                Some(Action::Return { id: id.clone(), digest: *digest })
            }
            Entry::Retired { digest, .. } => update(*digest, Why::Returning),
            Entry::Reserved { .. } => update(None, Why::Reserved),
            Entry::Updating { .. } | Entry::Dirty { .. } | Entry::Reserving { .. } => update(None, Why::Dirty),
        }
    }

    fn unknown(&mut self, key: &Key, row: &Row) -> Option<Action> {
        if let Some(from) = &row.moved_from
            && let Some((record, id)) =
                self.state.records.get(from).and_then(|record| Some((record, record.entry.id()?)))
        {
            return self.moved(key, row, from, record, id);
        }
        if let Some(id) = &row.adopt {
            let holder = self.state.records.iter().find(|(_, record)| record.entry.id() == Some(id));
            if let Some((holder, _)) = holder {
                self.conflicts.push(Conflict::IdTaken { key: key.clone(), id: id.clone(), holder: holder.clone() });
                return None;
            }
            if let Some(other) = self.adopted.insert(id.clone(), key.clone()) {
                self.conflicts.push(Conflict::IdClaimed { key: key.clone(), id: id.clone(), other });
                return None;
            }
            let id = id.clone();
            return Some(Action::Update { id, from: None, to: row.digest, why: Why::Adopted, moved_from: None });
        }
        Some(Action::Create { to: row.digest })
    }

    fn moved(&mut self, key: &Key, row: &Row, from: &Key, record: &Record, id: &Id) -> Option<Action> {
        if self.present.contains(from) {
            self.conflicts.push(Conflict::SourcePresent { key: key.clone(), from: from.clone() });
            return None;
        }
        if !self.claimed.insert(from.clone()) {
            self.conflicts.push(Conflict::SourceClaimed { key: key.clone(), from: from.clone() });
            return None;
        }
        if let Some(adopt) = row.adopt.as_ref().filter(|adopt| *adopt != id) {
            self.conflicts.push(Conflict::IdDiffers { key: key.clone(), id: adopt.clone(), held: id.clone() });
            return None;
        }
        let held = record.entry.digest();
        if held == Some(row.digest) && !self.options.reassert {
            return Some(Action::Move { id: id.clone(), from: from.clone(), digest: row.digest });
        }
        let why = match record.entry {
            Entry::Reserved { .. } => Why::Reserved,
            _ if held.is_none() => Why::Dirty,
            _ if held == Some(row.digest) => Why::Reasserted,
            _ => Why::Changed,
        };
        Some(Action::Update { id: id.clone(), from: held, to: row.digest, why, moved_from: Some(from.clone()) })
    }
}

#[cfg(test)]
mod tests;
