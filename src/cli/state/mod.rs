//! `state`: look at the memory of the ids, and mend it. One file per command.

mod columns;
mod held;
mod history;
mod import;
mod init;
mod leaks;
mod list;
mod mv;
mod pull;
mod recover;
mod restore;
mod rm;
mod show;
mod unlock;
mod verify;

use super::{Context, Exit};

/// Look at the state, the only memory of which id belongs to which folder, and mend it
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Init(init::Args),
    List(list::Args),
    Show(show::Args),
    Mv(mv::Args),
    Rm(rm::Args),
    Import(import::Args),
    Recover(recover::Args),
    Restore(restore::Args),
    History(history::Args),
    Leaks(leaks::Args),
    Unlock(unlock::Args),
    Pull(pull::Args),
    Verify(verify::Args),
}

/// The form of what a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Runs `state`.
///
/// # Errors
///
/// A state that is missing or damaged (5), held by another run (4), or cannot be reached (1).
pub fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Init(args) => init::run(context, args),
        Command::List(args) => list::run(context, args),
        Command::Show(args) => show::run(context, args),
        Command::Mv(args) => mv::run(context, args),
        Command::Rm(args) => rm::run(context, args),
        Command::Import(args) => import::run(context, args),
        Command::Recover(args) => recover::run(context, args),
        Command::Restore(args) => restore::run(context, args),
        Command::History(args) => history::run(context, args),
        Command::Leaks(args) => leaks::run(context, args),
        Command::Unlock(args) => unlock::run(context, args),
        Command::Pull(args) => pull::run(context, args),
        Command::Verify(args) => verify::run(context, args),
    }
}
