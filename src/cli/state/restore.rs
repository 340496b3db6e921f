//! `state restore`: back to a snapshot.

use super::held::{self, Yes};
use crate::cli::{Context, Exit, place, runtime};
use crate::state;

/// Go back to an earlier snapshot of the state, also when the present one is damaged
///
/// Every template counts as changed afterwards: the next apply sends all of them again, under the ids that the snapshot knows. Templates that were
/// created after the snapshot are not in it and would be created a second time: take their ids from the log of the run that made them.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The snapshot, as `state verify` or an error names it: `base-12-….json`
    name: String,
    #[command(flatten)]
    yes: Yes,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let (location, _) = held::location(context)?;
    let question = format!("Go back to `{}` in {location}?", args.name);
    if !args.yes.ask(context, &question)? {
        context.terminal.say("nothing was done");
        return Ok(Exit::Failed);
    }
    runtime::run(async {
        let state = state::restore(&location, &args.name, &mut held::this_run()).await.map_err(place::failure)?;
        context.terminal.say(format_args!(
            "went back to `{}`: {} keys; the next apply sends all of them again",
            args.name,
            state.records.len()
        ));
        Ok(Exit::Done)
    })
}
