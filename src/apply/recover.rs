//! Ids out of the event stream of earlier applies: the last safety net of a state that is lost.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::desired::{Id, Key};
use crate::state::{Change, Entry, Op, Record};

/// What a log tells about one environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The last id that each key was given.
    ids: BTreeMap<Key, Id>,
    /// Placeholders that may exist without an owner.
    leaked: Vec<Op>,
    /// Events of other environments.
    pub elsewhere: usize,
    /// Whether what comes now is of another environment.
    foreign: bool,
}

/// The part of a line that matters here; see [`super::Event`].
#[derive(Deserialize)]
struct Line {
    format: u32,
    event: String,
    key: Option<Key>,
    id: Option<Id>,
    op: Option<Op>,
    plan: Option<PlanHead>,
}

#[derive(Deserialize)]
struct PlanHead {
    environment: String,
}

impl Recovered {
    /// Takes in one line of a log. What stands before the first `{` is a CI's stamp; a line that is no event of ours is skipped.
    pub fn line(&mut self, line: &str, environment: &str) {
        let Some(json) = line.find('{').map(|at| line[at..].trim_end()) else { return };
        let Ok(line) = serde_json::from_str::<Line>(json) else { return };
        if line.format != 1 {
            return;
        }
        if let Some(plan) = &line.plan {
            self.foreign = plan.environment != environment;
            return;
        }
        match (line.event.as_str(), line.key, line.id, line.op) {
            ("reserved" | "done" | "leaked", ..) if self.foreign => self.elsewhere += 1,
            ("reserved" | "done", Some(key), Some(id), op) => {
                // An id that moved has one key only: the last one.
                self.ids.retain(|_, held| *held != id);
                self.ids.insert(key, id);
                self.leaked.retain(|leaked| Some(*leaked) != op);
            }
            ("leaked", _, _, Some(op)) => self.leaked.push(op),
            _ => {}
        }
    }

    /// How many ids were found.
    #[must_use]
    pub fn ids(&self) -> usize {
        self.ids.len()
    }

    /// What was found, as changes of a state; the content of every template counts as unknown.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let set = |(key, id): (&Key, &Id)| Change::Set {
            key: key.clone(),
            record: Record { entry: Entry::Dirty { id: id.clone() }, unsettled: None, applied: None },
        };
        self.ids.iter().map(set).chain(self.leaked.iter().map(|op| Change::Leak { op: *op })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_key_of_an_id_counts_and_other_environments_do_not() {
        let log = r#"
2026-11-01T10:00:00Z {"format":1,"at":"x","event":"plan","plan":{"environment":"staging"}}
{"format":1,"event":"reserved","key":"a","id":"1","op":"00000000-0000-0000-0000-000000000001"}
{"format":1,"event":"done","key":"b","id":"1","action":"move"}
{"format":1,"event":"leaked","key":"c","op":"00000000-0000-0000-0000-000000000002"}
{"format":1,"event":"reserved","key":"bad//key","id":"2"}
not json { at all
{"format":1,"event":"plan","plan":{"environment":"production"}}
{"format":1,"event":"done","key":"d","id":"3","action":"create"}
"#;
        let mut found = Recovered::default();
        log.lines().for_each(|line| found.line(line, "staging"));
        assert_eq!(found.ids, [(Key::new("b").unwrap(), Id::new("1").unwrap())].into());
        assert_eq!((found.leaked.len(), found.elsewhere), (1, 1));
        assert_eq!(found.changes().len(), 2);
    }
}
