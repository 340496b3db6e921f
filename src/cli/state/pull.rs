//! `state pull`: the whole state, for a backup or a look.

use super::held;
use crate::cli::{Context, Exit, place, runtime};
use crate::state;

/// Print the whole state as one JSON document, in the form of its snapshots
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(context: &Context, _args: &Args) -> anyhow::Result<Exit> {
    let (location, _) = held::location(context)?;
    let bytes = runtime::run(async { Ok(state::pull(&location).await.map_err(place::failure)?) })?;
    context.terminal.stream(|out| {
        out.write_all(&bytes)?;
        out.write_all(b"\n")
    })?;
    Ok(Exit::Done)
}
