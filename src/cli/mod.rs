//! The command line: the only room that prints. One file per command, `report/` has one per output format.

mod account;
mod apply;
mod browser;
mod build;
pub mod checked;
mod completions;
pub mod dates;
pub mod diff;
mod doctor;
pub mod environment;
mod exit;
mod explain;
mod fix;
mod ids;
mod init;
pub mod interrupt;
pub mod keep;
pub mod place;
pub mod plan;
mod promotion;
pub mod report;
pub mod runtime;
mod sandbox;
mod schema;
pub mod selection;
pub mod service;
mod state;
mod suppressions;
pub mod terminal;
mod validate;
pub mod who;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use exit::{Exit, Failure};
pub use terminal::Terminal;

/// What a newcomer types, at the end of the help.
const TOUR: &str = "\
Begin:        letterpress init, then letterpress validate, then letterpress apply
Pull request: letterpress validate && letterpress plan --format markdown
On merge:     letterpress apply --yes";

/// Templates-as-code for transactional email: check offline, plan in the pull request, apply on merge.
#[derive(Debug, Parser)]
#[command(name = "letterpress", version, max_term_width = 100, disable_help_subcommand = true, after_help = TOUR)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// The heading of [`Global`] in every help.
const GLOBAL: &str = "Global options";

/// Options that every command takes.
#[derive(Debug, Clone, clap::Args)]
pub struct Global {
    /// The project's folder; else the nearest one upward with letterpress.toml
    #[arg(short = 'C', long, global = true, help_heading = GLOBAL, value_name = "DIR", env = "LETTERPRESS_PROJECT")]
    pub project: Option<PathBuf>,
    /// The environment of letterpress.toml to work on
    #[arg(short, long, global = true, help_heading = GLOBAL, value_name = "NAME", env = "LETTERPRESS_ENVIRONMENT")]
    pub environment: Option<String>,
    /// When to use colour
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "WHEN", default_value = "auto", env = "LETTERPRESS_COLOR")]
    pub color: clap::ColorChoice,
    /// Read every file again, also those that look as they did in the run before
    #[arg(long, global = true, help_heading = GLOBAL, env = "LETTERPRESS_NO_CACHE")]
    pub no_cache: bool,
    /// Only errors and data
    #[arg(short, long, global = true, help_heading = GLOBAL, env = "LETTERPRESS_QUIET")]
    pub quiet: bool,
    /// Say more; twice for every request
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitArgs),
    New(init::NewArgs),
    Validate(validate::ValidateArgs),
    Explain(explain::ExplainArgs),
    Plan(Box<plan::Args>),
    Diff(diff::Args),
    Apply(Box<apply::Args>),
    Build(build::Args),
    Ids(ids::Args),
    State(state::Args),
    Account(account::AccountArgs),
    Doctor(doctor::DoctorArgs),
    Suppressions(suppressions::SuppressionsArgs),
    Subscribe(suppressions::subscribe::SubscribeArgs),
    Sandbox(Box<sandbox::Args>),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(completions::ManArgs),
}

/// What every command is given: the global options, the terminal, and the outside world as inputs.
#[derive(Debug, Clone)]
pub struct Context {
    /// The global options.
    pub global: Global,
    /// Where data and talk go.
    pub terminal: Terminal,
    /// The working directory, absolute.
    pub cwd: PathBuf,
}

/// Reads the command line of this process, runs it, and says with which code to end.
#[must_use]
pub fn main() -> ExitCode {
    run(std::env::args_os()).into()
}

fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Done };
        }
    };
    let cwd = std::env::current_dir().unwrap_or_default();
    let context = Context { terminal: Terminal::new(&cli.global), global: cli.global, cwd };
    match dispatch(&context, cli.command) {
        Ok(exit) => exit,
        Err(error) => context.terminal.failure(&error),
    }
}

fn dispatch(context: &Context, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Init(args) => init::init(context, &args),
        Command::New(args) => init::new(context, &args),
        Command::Apply(args) => apply::run(context, &args),
        Command::Build(args) => build::run(context, &args),
        Command::Ids(args) => ids::run(context, &args),
        Command::State(args) => state::run(context, &args),
        Command::Validate(args) => validate::run(context, &args),
        Command::Explain(args) => explain::run(context, &args),
        Command::Plan(args) => plan::run(context, &args),
        Command::Diff(args) => diff::run(context, &args),
        Command::Schema(args) => schema::run(context, &args),
        Command::Completions(args) => completions::completions(context, &args),
        Command::Man(args) => completions::man(context, &args),
        Command::Doctor(args) => doctor::run(context, &args),
        Command::Account(args) => account::account(context, &args),
        Command::Suppressions(args) => suppressions::run(context, &args),
        Command::Subscribe(args) => suppressions::subscribe::run(context, &args),
        Command::Sandbox(args) => sandbox::run(context, *args),
    }
}
