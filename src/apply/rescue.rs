//! The last resort: a file with what the state did not take, for `state import --rescue`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use std::collections::BTreeMap;

use crate::desired::{Id, Key};
use crate::state::{Change, Entry, Op, Record, Run, State};

/// The content of a rescue file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rescue {
    /// 1.
    pub format: u64,
    /// The state that the changes belong to.
    pub lineage: Uuid,
    /// The run that could not save them.
    pub run: Uuid,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// What a state takes in from a rescue file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// For one commit.
    pub changes: Vec<Change>,
    /// How many ids are in it.
    pub ids: usize,
    /// Ids that cannot be taken in, since their key has another one by now: key, id, the id that it has.
    pub conflicts: Vec<(Key, Id, Id)>,
}

impl Rescue {
    /// What a state that may have moved on takes in: the ids, with their content unknown, and the leaks.
    #[must_use]
    pub fn take_in(&self, state: &State) -> Taken {
        let mut last: BTreeMap<&Key, Option<&Id>> = BTreeMap::new();
        let mut ops: BTreeMap<&Key, Vec<Op>> = BTreeMap::new();
        let mut taken = Taken::default();
        let mut leaked = Vec::new();
        for change in &self.changes {
            match change {
                Change::Set { key, record } => {
                    last.insert(key, record.entry.id());
                    if let Entry::Reserving { op } | Entry::Updating { op, .. } = &record.entry {
                        ops.entry(key).or_default().push(*op);
                    }
                }
                Change::Leak { op } => leaked.push(*op),
                Change::Unset { .. } | Change::Unleak { .. } | Change::Did(_) => {}
            }
        }
        for (key, id) in last.iter().filter_map(|(key, id)| Some((*key, (*id)?))) {
            match state.records.get(key).and_then(|record| record.entry.id()) {
                Some(held) if held == id => {}
                Some(held) => {
                    taken.conflicts.push((key.clone(), id.clone(), held.clone()));
                    continue;
                }
                None => {
                    let record = Record { entry: Entry::Dirty { id: id.clone() }, unsettled: None, applied: None };
                    taken.changes.push(Change::Set { key: key.clone(), record });
                    taken.ids += 1;
                }
            }
            // Whoever took over counted this operation as leaked; now its template has an owner.
            let owned = ops.get(key).into_iter().flatten().filter(|op| !leaked.contains(op));
            taken.changes.extend(owned.filter(|op| state.leaked.contains(op)).map(|op| Change::Unleak { op: *op }));
        }
        let new = leaked.into_iter().filter(|op| !state.leaked.contains(op));
        taken.changes.extend(new.map(|op| Change::Leak { op }));
        taken
    }
}

/// Writes the file into `folder`; `None`: nothing to write, or it cannot be written either (the ids are in the outcome and in the log).
pub(super) fn write(folder: &Path, run: &Run, lineage: Uuid, changes: &[Change]) -> Option<PathBuf> {
    if changes.is_empty() {
        return None;
    }
    let rescue = Rescue { format: 1, lineage, run: run.id, changes: changes.to_vec() };
    let text = serde_json::to_vec_pretty(&rescue).ok()?;
    let path = folder.join(format!("rescue-{}.json", run.id));
    save(folder, &path, &text).ok()?;
    Some(path)
}

fn save(folder: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}
