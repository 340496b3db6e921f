//! What must hold when everything has come to rest.

use std::collections::{BTreeMap, BTreeSet};

use super::{Violation, World, violation};
use crate::desired::{Id, Key};
use crate::state::{Entry, Head, Op, replay};

impl World {
    pub(super) fn judge(&self) -> Result<(), Violation> {
        let outcome = self.last_outcome.as_ref().ok_or_else(|| violation("the last apply did not end"))?;
        if !outcome.is_complete() {
            return Err(violation(format!("the last apply did not do everything: {outcome:?}")));
        }
        let head = Head::decode(&self.head).map_err(|error| violation(error.to_string()))?;
        let base = self.objects.get(&head.meta.base.name);
        let state = replay(&head, base.map(Vec::as_slice)).map_err(|error| violation(error.to_string()))?;
        let mut owners: BTreeMap<&Id, &Key> = BTreeMap::new();
        for (key, record) in &state.records {
            if let Some(id) = record.entry.id()
                && let Some(other) = owners.insert(id, key)
            {
                return Err(violation(format!("{key} and {other} have the same id")));
            }
        }
        let leaked: BTreeSet<String> = state.leaked.iter().map(Op::placeholder_name).collect();
        for (id, held) in &self.templates {
            match (owners.get(id), held.content) {
                (None, Some(_)) => return Err(violation(format!("{id} has content and no key"))),
                (None, None) if !leaked.contains(&held.name) => {
                    return Err(violation(format!("{id} is lost: neither known nor leaked")));
                }
                _ => {}
            }
        }
        for (key, row) in &self.last_desired.templates {
            let Some(Entry::Live { id, digest }) = state.records.get(key).map(|record| &record.entry) else {
                return Err(violation(format!("{key} is not live")));
            };
            let held = self.templates.get(id).and_then(|held| held.content);
            if *digest != row.digest || held != Some(row.digest) {
                return Err(violation(format!("{key}: the service holds other content than the state says")));
            }
        }
        Ok(())
    }
}
