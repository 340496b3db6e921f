//! Reads both contents of every step that sends one: the earlier from beside the state, the new one from the files.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;

use crate::cli::{checked, place};
use crate::desired::{Content, Digest, Key, Template};
use crate::plan::{self, Action, Detail, Plan, Step};
use crate::source::{Environment, Project};
use crate::state::{Location, Objects};

/// Templates that are compared at once where a bucket has what was there before: it answers slowly and takes many questions.
const OPEN: usize = 16;

/// How long comparing may look for the finest difference, in all. What comes later is still right, only coarser.
const PATIENCE: Duration = Duration::from_secs(10);

/// What every step changes.
pub type Details = BTreeMap<Key, Detail>;

/// Compares the contents of every step that sends one; of a new template, which has nothing to be compared with, only `with_new`. Unless `with_source` only the words are held,
/// where they tell what changes. `seen` is given the earlier content, where it is known, and the new template, for a form
/// that shows the mails themselves.
///
/// # Errors
///
/// A folder that cannot be read any more.
pub async fn details(
    project: &Arc<Project>,
    environment: &Environment,
    plan: &Plan,
    with_new: bool,
    with_source: bool,
    mut seen: impl FnMut(&Key, Option<Content>, Template),
) -> anyhow::Result<Details> {
    let is_wanted =
        |step: &&Step| step.action.sends().is_some() && (with_new || !matches!(step.action, Action::Create { .. }));
    if !plan.steps.iter().any(|step| is_wanted(&step)) {
        return Ok(Details::new());
    }
    let location = place::location(project, environment)?;
    let objects = Objects::open(&location).map_err(place::failure)?;
    // On a disk more threads than cores only cost memory.
    let open = match location {
        Location::Folder(_) => std::thread::available_parallelism().map_or(1, NonZero::get).min(OPEN),
        Location::Bucket { .. } => OPEN,
    };
    let deadline = Instant::now() + PATIENCE;
    let sending = plan.steps.iter().filter(is_wanted);
    let work = sending.map(|step| {
        let (project, environment, objects) = (Arc::clone(project), environment.clone(), objects.clone());
        let (key, action) = (step.key.clone(), step.action.clone());
        async move {
            let old = match earlier(&action) {
                Some(digest) => objects.get(digest).await,
                None => None,
            };
            tokio::task::spawn_blocking(move || {
                let new = checked::template(&project, &environment, &key)?;
                let mut detail = detail(&action, old.as_ref(), Content::from(new.clone()), deadline);
                if let (false, Some(changes)) = (with_source, detail.changes_mut()) {
                    changes.forget_source();
                }
                anyhow::Ok((key, detail, old, new))
            })
            .await?
        }
    });
    let mut work = futures_util::stream::iter(work).buffer_unordered(open);
    let mut details = Details::new();
    while let Some(done) = work.next().await {
        let (key, detail, old, new) = done?;
        seen(&key, old, new);
        details.insert(key, detail);
    }
    Ok(details)
}

/// The content that the service has, where the state knows it.
fn earlier(action: &Action) -> Option<Digest> {
    match action {
        Action::Update { from, .. } => *from,
        _ => None,
    }
}

fn detail(action: &Action, old: Option<&Content>, new: Content, deadline: Instant) -> Detail {
    match (action, old) {
        (Action::Create { .. }, _) => Detail::New(plan::changes(None, &new, deadline)),
        (_, Some(old)) => Detail::Changed(plan::changes(Some(old), &new, deadline)),
        (_, None) => Detail::Unknown,
    }
}
