//! `state rm`: forget a key.

use super::held::{self, Wait, Yes};
use crate::cli::{Context, Exit, Failure};
use crate::desired::Key;
use crate::state::Change;

/// Forget a key and its id
///
/// The template stays at the service, since the service has no delete. If its folder is still there, the next apply makes a second template for it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The key
    key: Key,
    #[command(flatten)]
    yes: Yes,
    #[command(flatten)]
    wait: Wait,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let key = &args.key;
    if !args.yes.ask(context, &format!("Forget the id of `{key}`? The template stays at the service."))? {
        context.terminal.say("nothing was done");
        return Ok(Exit::Failed);
    }
    let mut forgotten = None;
    held::change(context, &args.wait, |state| {
        let Some(record) = state.records.get(key) else {
            return Err(Failure::new(Exit::Failed, format!("the state knows no `{key}`"))
                .help("`letterpress state list` shows the keys that it knows"));
        };
        forgotten = record.entry.id().cloned();
        let id = record.entry.id().map_or_else(String::new, |id| format!(" ({id})"));
        Ok((vec![Change::Unset { key: key.clone() }], format!("state rm {key}{id}")))
    })?;
    let back = forgotten.map(|id| format!("; to take it back: letterpress state import {key} {id}"));
    context.terminal.say(format_args!("forgot `{key}`{}", back.unwrap_or_default()));
    Ok(Exit::Done)
}
