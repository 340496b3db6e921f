//! `state mv`: an id gets another key.

use super::held::{self, Wait};
use crate::cli::{Context, Exit, Failure};
use crate::desired::Key;
use crate::state::Change;

/// Give a template another key: its id stays
///
/// For a folder that moved; `moved_from` in its manifest does the same and can be reviewed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The key that the state has
    from: Key,
    /// The key that it shall have
    to: Key,
    #[command(flatten)]
    wait: Wait,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let (from, to) = (&args.from, &args.to);
    held::change(context, &args.wait, |state| {
        let Some(record) = state.records.get(from).filter(|record| record.entry.id().is_some()) else {
            return Err(Failure::new(Exit::Failed, format!("the state knows no id for `{from}`"))
                .help("`letterpress state list` shows the keys that it knows"));
        };
        if let Some(id) = state.records.get(to).and_then(|record| record.entry.id()) {
            return Err(Failure::new(Exit::Failed, format!("`{to}` already has the id {id}"))
                .help(format!("`letterpress state rm {to}` would forget that id")));
        }
        let changes =
            vec![Change::Unset { key: from.clone() }, Change::Set { key: to.clone(), record: record.clone() }];
        Ok((changes, format!("state mv {from} {to}")))
    })?;
    context.terminal.say(format_args!("`{from}` is now `{to}`"));
    Ok(Exit::Done)
}
