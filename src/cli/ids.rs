//! `ids`: key → id for application code.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::report::ids::{Format, SameName, render, variables};
use super::{Context, Exit, Failure, checked, place, runtime};
use crate::desired::{Id, Key};
use crate::state::{Entry, State};

/// Print the ids of the templates, in the form that application code reads
///
/// The ids come from the state: no key, no network to the service. Templates that are still empty or whose folder is gone are left out.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The form
    #[arg(long, value_name = "FORM", default_value = "table", env = "LETTERPRESS_IDS_FORMAT")]
    format: Format,
    /// Also the variables of each template as types (typescript, python, go, rust); reads the files too
    #[arg(long, env = "LETTERPRESS_IDS_VARIABLES")]
    variables: bool,
    /// Print nothing; fail when FILE is not what would be printed now
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

/// Runs `ids`.
///
/// # Errors
///
/// An unusable state, or keys that the form cannot tell apart.
pub fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let project = checked::project(context)?;
    let environment = checked::environment(context, &project)?;
    let state = runtime::run(async { Ok(place::read(&project, environment).await?) })?;
    let ids = of(&state);
    let same = |error: SameName| {
        Failure::new(Exit::Failed, error.to_string())
            .help("rename one of them, or use `--format typescript` or `json`, which keep names as they are")
    };
    let mut text = render(args.format, &environment.name, &ids).map_err(same)?;
    if args.variables {
        let contracts = checked::good(context, &project, environment)?.contracts();
        let types = variables(args.format, &ids, &contracts).map_err(same)?;
        text += &types.ok_or_else(|| {
            Failure::new(Exit::Usage, "`--variables` goes with `--format typescript`, `python`, `go` or `rust`")
                .help("`letterpress validate --format json` has the variables of every template")
        })?;
    }
    if let Some(file) = &args.check {
        return check(context, file, &text);
    }
    if ids.is_empty() {
        context
            .terminal
            .say(format_args!("no template of `{}` has an id yet; `letterpress apply` makes them", environment.name));
    }
    context.terminal.data(text);
    Ok(Exit::Done)
}

/// The ids that an application can use: those of templates with content whose folder is there.
#[must_use]
pub fn of(state: &State) -> BTreeMap<Key, Id> {
    let usable = |entry: &Entry| match entry {
        Entry::Live { id, .. } | Entry::Updating { id, .. } | Entry::Dirty { id } => Some(id.clone()),
        Entry::Reserving { .. } | Entry::Reserved { .. } | Entry::Retired { .. } => None,
    };
    state.records.iter().filter_map(|(key, record)| Some((key.clone(), usable(&record.entry)?))).collect()
}

fn check(context: &Context, file: &PathBuf, now: &str) -> anyhow::Result<Exit> {
    let is = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot read {}: {error}", file.display())))?;
    // A checkout may have given it other line ends.
    if is.replace("\r\n", "\n") == now {
        context.terminal.say(format_args!("{} is up to date", file.display()));
        return Ok(Exit::Done);
    }
    let help = format!("write it again: letterpress ids --format … > {}", file.display());
    Err(Failure::new(Exit::Failed, format!("{} is stale", file.display())).help(help).into())
}
