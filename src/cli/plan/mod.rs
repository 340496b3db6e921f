//! `letterpress plan`: what an apply would do. No lock, no key, no network to the service.

pub mod compare;
mod print;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;

use super::checked::{self, Checked};
use super::report::plan_detail::Layers;
use super::selection::{Selection, SelectionArgs};
use super::{Context, Exit, place, promotion, runtime};
use crate::plan::{self, Options, Plan, PlanFile};
use crate::source::{Environment, Project};
use crate::state::State;
use compare::Look;
use print::Print;

/// Show what apply would do: no lock, no key, no request
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The form of the plan
    #[arg(long, value_enum, value_name = "FORM", default_value = "text", env = "LETTERPRESS_PLAN_FORMAT")]
    format: Format,
    /// Also write the plan to FILE, for `apply FILE`
    #[arg(long, value_name = "FILE", env = "LETTERPRESS_PLAN_OUT")]
    out: Option<PathBuf>,
    /// End with 2 when changes are pending
    #[arg(long, env = "LETTERPRESS_DETAILED_EXITCODE")]
    detailed_exitcode: bool,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Only what the environment ENV has live, as the files are now: promotion
    #[arg(long, value_name = "ENV", env = "LETTERPRESS_FROM")]
    from: Option<String>,
    /// Which layers of a changed body to show; `words` for text, `all` for the other forms
    #[arg(long, value_enum, value_name = "LAYERS", env = "LETTERPRESS_DIFF")]
    diff: Option<Layers>,
    /// Do not look into the templates: only which of them change
    #[arg(long, conflicts_with = "diff", env = "LETTERPRESS_NO_DIFF")]
    no_diff: bool,
    /// How to show a plan that is longer than the screen; `cat` for not at all
    #[arg(long, value_name = "COMMAND", env = "PAGER")]
    pager: Option<String>,
    /// Longest Markdown in bytes, 500 at least: from diffs to parts to counts, what is left out is said (GitHub takes 65,536)
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 60_000,
        env = "LETTERPRESS_MAX_BYTES",
        value_parser = clap::value_parser!(u32).range(500..)
    )]
    max_bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON value (`letterpress schema plan` describes it)
    Json,
    /// A comment for a pull request
    Markdown,
    /// One page with every changed mail as it was and as it will be, side by side
    Html,
}

/// Runs `plan`.
///
/// # Errors
///
/// Findings, an unusable state, a plan file that cannot be written.
pub fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let selection = args.selection.read()?;
    let project = Arc::new(checked::project(context)?);
    let environment = checked::environment(context, &project)?;
    let selection = promotion::narrow(context, &project, environment, args.from.as_deref(), selection)?;
    // The state is read beside the files, and where these have errors nobody waits for it.
    let (at, of) = (Arc::clone(&project), environment.clone());
    let reading = std::thread::Builder::new().name("state".to_owned()).spawn(move || state(&at, &of))?;
    let checked = checked::require(context, &project, environment)?;
    let state = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    selection.warn(&context.terminal, checked.folders.iter().chain(state.records.keys()));
    let plan = make(environment, &checked, &state, &selection, false);
    // A plan without changes need not wait until all of it is given back.
    rayon::spawn(move || drop((checked, state)));
    let layers = args.diff.unwrap_or(if args.format == Format::Text { Layers::Words } else { Layers::All });
    let look = match args.format {
        _ if args.no_diff => Look::Nowhere,
        Format::Text => Look::Changed,
        Format::Json | Format::Markdown | Format::Html => Look::Sent,
    };
    let (terminal, now) = (&context.terminal, Timestamp::now());
    let print = Print { project: &project, environment, plan: &plan, terminal, look, now };
    match args.format {
        Format::Text => print.text(layers, args.pager.as_deref()),
        Format::Json => print.json(),
        Format::Markdown => print.markdown(layers, usize::try_from(args.max_bytes).unwrap_or(usize::MAX)),
        Format::Html => print.html(),
    }?;
    let exit = match &plan {
        plan if !plan.conflicts.is_empty() => Exit::Findings,
        plan if args.detailed_exitcode && !plan.steps.is_empty() => Exit::Changes,
        _ => Exit::Done,
    };
    if let Some(path) = &args.out
        && plan.conflicts.is_empty()
    {
        save(&context.cwd.join(path), plan)?;
    }
    Ok(exit)
}

/// Plans what the checked files ask for.
#[must_use]
pub fn make(
    environment: &Environment,
    checked: &Checked,
    state: &State,
    selection: &Selection,
    reassert: bool,
) -> Plan {
    let options = Options { environment: &environment.name, reassert, selects: &|key| selection.selects(key) };
    plan::plan(&checked.desired, &checked.folders, state, options)
}

/// The state as it is now, without holding it.
fn state(project: &Project, environment: &Environment) -> anyhow::Result<State> {
    runtime::run(async { Ok(place::read(project, environment).await?) })
}

/// Writes a plan file whole: a reader never sees half of it.
fn save(path: &Path, plan: Plan) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    PlanFile::new(plan).write(&mut file).with_context(cannot)?;
    file.persist(path).with_context(cannot)?;
    Ok(())
}
