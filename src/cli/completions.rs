//! `completions` and `man`: made from the command line's own definition.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::CommandFactory as _;

use super::{Cli, Context, Exit};

/// Print a completion script for a shell
///
/// For example `letterpress completions bash > ~/.local/share/bash-completion/completions/letterpress`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// Print the man page, or write all of them into a folder
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Write one page for each command into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs `completions`.
///
/// # Errors
///
/// When stdout cannot be written.
pub fn completions(context: &Context, args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "letterpress", &mut script);
    context.terminal.stream(|out| out.write_all(&script))?;
    Ok(Exit::Done)
}

/// Runs `man`.
///
/// # Errors
///
/// When the folder or stdout cannot be written.
pub fn man(context: &Context, args: &ManArgs) -> anyhow::Result<Exit> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        context.terminal.stream(|out| out.write_all(&page))?;
        return Ok(Exit::Done);
    };
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("the pages cannot be written to {}", folder.display()))?;
    context.terminal.say(format_args!("wrote the man pages to {}", folder.display()));
    Ok(Exit::Done)
}
