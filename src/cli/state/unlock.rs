//! `state unlock`: take the state from a run that will not come back.

use super::held::{self, Yes};
use crate::cli::{Context, Exit, place, runtime};
use crate::state::{self, Session};
use crate::untrusted::Untrusted;

/// Free a state in a bucket from a run that died, without waiting for its lease to end
///
/// It is never needed: the next run takes over by itself, in a folder at once, in a bucket within 75 seconds. A run that is alive after all is fenced by its
/// next write, and nothing is lost.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    yes: Yes,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let (location, _) = held::location(context)?;
    let holder = runtime::run(async { Ok(state::holder(&location).await.map_err(place::failure)?) })?;
    let Some(holder) = holder else {
        context.terminal.say("nobody holds the state");
        return Ok(Exit::Done);
    };
    let who = Untrusted(&holder.who).line().to_string();
    if !args.yes.ask(context, &format!("Take the state from {who}?"))? {
        context.terminal.say("nothing was done");
        return Ok(Exit::Failed);
    }
    runtime::run(async {
        let mut session = Session::seize(&location, held::this_run()).await.map_err(place::failure)?;
        session.commit(Vec::new(), &format!("state unlock: from {}", holder.who)).await.map_err(place::failure)?;
        session.release().await.map_err(place::failure)?;
        context.terminal.say(format_args!("took the state from {who}; it is free"));
        Ok(Exit::Done)
    })
}
