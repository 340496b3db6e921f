//! `diff`: what two environments have live, side by side. No key, no lock, no network to the service.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _};

use super::report::diff_text;
use super::report::plan_detail::{Layers, Layout};
use super::selection::{Selection, SelectionArgs};
use super::{Context, Exit, checked, place, runtime};
use crate::desired::{Digest, Key};
use crate::plan::{self, Changes};
use crate::source::{Environment, Project};
use crate::state::{Entry, Objects, State};
use crate::untrusted::inert_json;

/// Compare what two environments have live
///
/// It compares what was last applied to each, not the files; what someone changed in the service's web page is not seen.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The one environment
    #[arg(value_name = "OLD")]
    old: String,
    /// The other one
    #[arg(value_name = "NEW")]
    new: String,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Which layers of a body to show
    #[arg(long, value_enum, value_name = "LAYERS", default_value = "words", env = "LETTERPRESS_DIFF")]
    diff: Layers,
    /// The form
    #[arg(long, value_enum, value_name = "FORM", default_value = "text", env = "LETTERPRESS_DIFF_FORMAT")]
    format: Format,
    /// End with 2 when they differ
    #[arg(long, env = "LETTERPRESS_DETAILED_EXITCODE")]
    detailed_exitcode: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON value (`letterpress schema diff` describes it)
    Json,
}

/// How one template differs between two environments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Only the first has it.
    OnlyOld,
    /// Only the second has it.
    OnlyNew,
    /// Both have it, with other content; how, where both contents are kept.
    Changed(Option<Changes>),
    /// The content of one of them is not known: an update was cut off.
    Unknown,
}

/// Runs `diff`.
///
/// # Errors
///
/// An unknown environment, an unusable state.
pub fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let selection = args.selection.read()?;
    let project = checked::project(context)?;
    let (old, new) = (checked::named(&project, Some(&args.old))?, checked::named(&project, Some(&args.new))?);
    let (differences, same) = runtime::run(compare(&project, old, new, &selection))?;
    let text = match args.format {
        Format::Text => {
            let layout = Layout { layers: args.diff, width: context.terminal.width() };
            diff_text::render(&old.name, &new.name, &differences, same, layout)
        }
        Format::Json => {
            inert_json(&serde_json::to_string_pretty(&diff_text::json(&old.name, &new.name, &differences, same))?)
                .into_owned()
                + "\n"
        }
    };
    context.terminal.data(text);
    Ok(if args.detailed_exitcode && !differences.is_empty() { Exit::Changes } else { Exit::Done })
}

/// The differences by key, and how many templates are the same.
async fn compare(
    project: &Project,
    old: &Environment,
    new: &Environment,
    selection: &Selection,
) -> anyhow::Result<(BTreeMap<Key, Difference>, usize)> {
    let objects = |environment: &Environment| -> anyhow::Result<Objects> {
        Ok(Objects::open(&place::location(project, environment)?).map_err(place::failure)?)
    };
    let (old_objects, new_objects) = (objects(old)?, objects(new)?);
    let (old, new) = (contents(&place::read(project, old).await?), contents(&place::read(project, new).await?));
    let deadline = Instant::now() + Duration::from_secs(10);
    let (mut differences, mut same, mut both) = (BTreeMap::new(), 0, Vec::new());
    let keys: std::collections::BTreeSet<&Key> = old.keys().chain(new.keys()).collect();
    for key in keys.into_iter().filter(|key| selection.selects(key)) {
        let difference = match (old.get(key), new.get(key)) {
            (Some(Some(old)), Some(Some(new))) if old == new => {
                same += 1;
                continue;
            }
            (Some(Some(old)), Some(Some(new))) => {
                both.push((key.clone(), *old, *new));
                continue;
            }
            (Some(_), None) => Difference::OnlyOld,
            (None, _) => Difference::OnlyNew,
            (Some(_), Some(_)) => Difference::Unknown,
        };
        differences.insert(key.clone(), difference);
    }
    let work = both.into_iter().map(|(key, old, new)| {
        let (old_objects, new_objects) = (&old_objects, &new_objects);
        async move {
            let (old, new) = tokio::join!(old_objects.get(old), new_objects.get(new));
            let look = move || old.zip(new).map(|(old, new)| plan::changes(Some(&old), &new, deadline));
            // All cores compare.
            anyhow::Ok((key, Difference::Changed(tokio::task::spawn_blocking(look).await?)))
        }
    });
    let changed: Vec<_> = futures_util::stream::iter(work).buffer_unordered(16).try_collect().await?;
    differences.extend(changed);
    Ok((differences, same))
}

/// What an environment has at the service, by key: the content, where it is certain. Retired and empty templates are not there.
fn contents(state: &State) -> BTreeMap<Key, Option<Digest>> {
    let content = |entry: &Entry| match entry {
        Entry::Live { digest, .. } => Some(Some(*digest)),
        Entry::Updating { .. } | Entry::Dirty { .. } => Some(None),
        Entry::Reserving { .. } | Entry::Reserved { .. } | Entry::Retired { .. } => None,
    };
    state.records.iter().filter_map(|(key, record)| Some((key.clone(), content(&record.entry)?))).collect()
}
