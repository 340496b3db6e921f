//! `--from ENV`: only what another environment has live goes on to this one.

use std::collections::BTreeSet;

use super::selection::Selection;
use super::{Context, Exit, Failure, checked, place, runtime};
use crate::desired::{Desired, Key};
use crate::source::{Environment, Project};
use crate::state::{Entry, State};
use crate::untrusted::Untrusted;

/// Keys that are named before the others are only counted.
const NAMED: usize = 10;

/// Narrows a selection to the templates that the environment `from` has live exactly as the files have them for it now. Overrides and defaults
/// of each environment stay its own: what is promoted is the files, not the bytes.
///
/// # Errors
///
/// Exit 64 for an unknown environment, exit 3 when the files have errors there, exit 5 when its state is unusable.
pub fn narrow(
    context: &Context,
    project: &Project,
    environment: &Environment,
    from: Option<&str>,
    selection: Selection,
) -> anyhow::Result<Selection> {
    let Some(from) = from else { return Ok(selection) };
    if from == environment.name {
        let message = format!("`--from {from}` names the environment that is planned");
        return Err(Failure::new(Exit::Usage, message).help("choose the one to go to with `-e`").into());
    }
    let source = checked::named(project, Some(from))?;
    let found = checked::require(context, project, source)?;
    let state = runtime::run(async { Ok(place::read(project, source).await?) })?;
    let held = held_back(&found.desired, &found.folders, &state);
    let waiting: Vec<String> = held.iter().filter(|key| selection.selects(key)).map(line).collect();
    if !waiting.is_empty() {
        let rest = waiting.len().saturating_sub(NAMED);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        context.terminal.say(format_args!(
            "held back, since `{}` does not have them live as the files are now: {}{more}",
            Untrusted(from).line(),
            waiting[..waiting.len() - rest].join(", ")
        ));
    }
    Ok(selection.without(held))
}

/// Every key whose files and whose entry in the other environment do not agree.
fn held_back(desired: &Desired, present: &BTreeSet<Key>, state: &State) -> BTreeSet<Key> {
    let live = |key: &Key| match state.records.get(key).map(|record| &record.entry) {
        Some(Entry::Live { digest, .. }) => Some(*digest),
        _ => None,
    };
    let changed = desired.templates.iter().filter(|(key, row)| live(key) != Some(row.digest)).map(|(key, _)| key);
    let retired = |entry: &Entry| matches!(entry, Entry::Retired { .. });
    let not_gone = state.records.iter().filter(|(key, record)| !present.contains(*key) && !retired(&record.entry));
    changed.chain(not_gone.map(|(key, _)| key)).cloned().collect()
}

fn line(key: &Key) -> String {
    Untrusted(key.as_str()).line().to_string()
}
