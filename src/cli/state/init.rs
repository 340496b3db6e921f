//! `state init`: a new, empty state, bound to the account of the key.

use super::held;
use crate::cli::service::{self, describe};
use crate::cli::{Context, Exit, checked, place, runtime};
use crate::state;

/// Make a new, empty state for the environment, bound to the account of its API key
///
/// Once per environment, before its first apply (the built-in service needs none). It never replaces a state that is there.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(context: &Context, _args: &Args) -> anyhow::Result<Exit> {
    let project = checked::project(context)?;
    let environment = checked::environment(context, &project)?;
    let location = place::location(&project, environment)?;
    runtime::run(async {
        let service = service::connect(context, &project, environment).await?;
        let account = service.account.clone();
        service.close().await;
        let state = state::init(&location, account, &mut held::this_run()).await.map_err(place::failure)?;
        context.terminal.say(format_args!(
            "{location} now keeps the state of `{}`, bound to {}",
            environment.name,
            describe(&state.account)
        ));
        Ok(Exit::Done)
    })
}
