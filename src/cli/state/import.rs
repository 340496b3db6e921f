//! `state import`: take in an id that exists, or what a run could not save.

use std::path::PathBuf;

use super::held::{self, Wait};
use crate::apply::{Rescue, Taken};
use crate::cli::{Context, Exit, Failure};
use crate::desired::{Id, Key};
use crate::state::{Change, Entry, Record};

/// Take in a template that exists at the service, or the rescue file of a run that could not save
///
/// The content of what is taken in counts as unknown: the next apply sends it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The key that the template shall have
    #[arg(required_unless_present = "rescue", conflicts_with = "rescue", requires = "id")]
    key: Option<Key>,
    /// Its id at the service
    id: Option<Id>,
    /// A file that an apply left behind
    #[arg(long, value_name = "FILE")]
    rescue: Option<PathBuf>,
    #[command(flatten)]
    wait: Wait,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    match (&args.rescue, &args.key, &args.id) {
        (Some(file), _, _) => rescue(context, args, file),
        (None, Some(key), Some(id)) => one(context, args, key, id),
        _ => Err(Failure::new(Exit::Usage, "a key and an id, or `--rescue FILE`").into()),
    }
}

fn one(context: &Context, args: &Args, key: &Key, id: &Id) -> anyhow::Result<Exit> {
    held::change(context, &args.wait, |state| {
        if let Some(held) = state.records.get(key).and_then(|record| record.entry.id()) {
            return Err(Failure::new(Exit::Failed, format!("`{key}` already has the id {held}"))
                .help(format!("`letterpress state rm {key}` would forget that id")));
        }
        if let Some((owner, _)) = state.records.iter().find(|(_, record)| record.entry.id() == Some(id)) {
            return Err(Failure::new(Exit::Failed, format!("the id {id} already belongs to `{owner}`"))
                .help(format!("`letterpress state mv {owner} {key}` gives it another key")));
        }
        let record = Record { entry: Entry::Dirty { id: id.clone() }, unsettled: None, applied: None };
        Ok((vec![Change::Set { key: key.clone(), record }], format!("state import {key} {id}")))
    })?;
    context.terminal.say(format_args!("`{key}` has the id {id}; the next apply sends its content"));
    Ok(Exit::Done)
}

fn rescue(context: &Context, args: &Args, file: &PathBuf) -> anyhow::Result<Exit> {
    let unusable = |why: String| Failure::new(Exit::Unusable, format!("{}: {why}", file.display()));
    let text = std::fs::read(file)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot read {}: {error}", file.display())))?;
    let rescue: Rescue = serde_json::from_slice(&text).map_err(|error| unusable(format!("no rescue file: {error}")))?;
    if rescue.format > 1 {
        return Err(unusable("it was written by a later version".to_owned()).into());
    }
    let mut taken = Taken::default();
    held::change(context, &args.wait, |state| {
        if state.lineage != rescue.lineage {
            return Err(unusable("it belongs to another state".to_owned())
                .help("choose the environment that the run worked on with `-e`"));
        }
        taken = rescue.take_in(state);
        Ok((taken.changes.clone(), format!("state import --rescue: {} ids of run {}", taken.ids, rescue.run)))
    })?;
    for (key, id, held) in &taken.conflicts {
        context
            .terminal
            .warn(format_args!("`{key}` has the id {held} by now; {id} stays at the service without an owner"));
    }
    context.terminal.say(format_args!("took in {} of {}", taken.ids, taken.ids + taken.conflicts.len()));
    Ok(Exit::Done)
}
