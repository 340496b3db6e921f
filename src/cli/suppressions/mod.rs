//! `suppressions`: the list of addresses that get no mail (`interface §2.1` to §2.3, §4.1, §4.3, §4.5).

mod addresses;
mod bulk;
mod change;
mod ledger;
mod list;
mod position;
mod progress;
mod records;
pub mod schemas;
pub mod subscribe;

use clap::Subcommand;

use super::{Context, Exit};

/// Read and change the list of addresses that get no mail
#[derive(Debug, clap::Args)]
pub struct SuppressionsArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::ListArgs),
    Add(change::AddArgs),
    Remove(change::RemoveArgs),
    Import(change::ImportArgs),
    Export(list::ExportArgs),
}

/// Runs `suppressions …`.
///
/// # Errors
///
/// See each command.
pub fn run(context: &Context, args: &SuppressionsArgs) -> anyhow::Result<Exit> {
    match &args.command {
        Command::List(args) => list::list(context, args),
        Command::Add(args) => change::add(context, args),
        Command::Remove(args) => change::remove(context, args),
        Command::Import(args) => change::import(context, args),
        Command::Export(args) => list::export(context, args),
    }
}
