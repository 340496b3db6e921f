//! Compares the content of every step that sends one with what the service has: the earlier from beside the state, the new one from the files. What one
//! step changes is made into what is printed of it and let go, so that 10,000 templates need no more memory than a few.

use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use tokio::sync::Semaphore;

use crate::cli::{checked, place};
use crate::desired::{Attachment, Content, Digest};
use crate::plan::{self, Action, Detail, Step};
use crate::source::{Environment, Project};
use crate::state::{Location, Objects};

/// Templates that are compared at once where a bucket has what was there before: it answers slowly and takes many questions.
const OPEN: usize = 16;

/// Templates that are taken up for each that is compared at once: the others wait, finished, for a slow one before them.
const AHEAD: usize = 2;

/// How long comparing may look for the finest difference, in all. What comes later is still right, only coarser.
const PATIENCE: Duration = Duration::from_secs(10);

/// What each template has of that time in any case: far more than an ordinary one needs, so that how busy a machine is does not show.
const LEAST: Duration = Duration::from_millis(20);

/// What is known of the content of a step; nothing where none is sent, or where nobody looks.
#[derive(Debug, Default)]
pub struct Compared {
    /// What changes.
    pub detail: Option<Detail>,
    /// The content that the service has, where it is known.
    pub old: Option<Content>,
    /// The content that is sent.
    pub new: Option<Content>,
    /// Where the pictures of the new content are.
    pub inline: Vec<Attachment>,
}

/// Which steps are looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// None.
    Nowhere,
    /// Those that change what is there: a new template has nothing to be compared with.
    Changed,
    /// Every one that sends content.
    Sent,
}

impl Look {
    /// Whether this step is looked into.
    #[must_use]
    pub fn at(self, step: &Step) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Changed => step.action.sends().is_some() && !matches!(step.action, Action::Create { .. }),
            Self::Sent => step.action.sends().is_some(),
        }
    }
}

/// Compares the contents of the steps on all cores; `make` turns each into what is to be had of it, and `take` gets that in the order of the steps, until it
/// says that it wants no more.
///
/// # Errors
///
/// A folder that cannot be read any more, and what `take` fails with.
pub async fn each<T: Send + 'static>(
    project: &Arc<Project>,
    environment: &Environment,
    steps: &[&Step],
    look: Look,
    make: impl Fn(&Step, Compared) -> T + Send + Sync + 'static,
    mut take: impl FnMut(T) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let location = place::location(project, environment)?;
    // On a disk more threads than cores only cost memory.
    let open = match location {
        Location::Folder(_) => std::thread::available_parallelism().map_or(1, NonZero::get).min(OPEN),
        Location::Bucket { .. } => OPEN,
    };
    let is_needed = steps.iter().any(|step| look.at(step));
    let objects = is_needed.then(|| Objects::open(&location)).transpose().map_err(place::failure)?;
    let (make, environment) = (Arc::new(make), Arc::new(environment.clone()));
    let (seats, deadline) = (Arc::new(Semaphore::new(open)), Instant::now() + PATIENCE);
    let work = steps.iter().map(|step| {
        let objects = objects.as_ref().filter(|_| look.at(step));
        let (make, seats, environment) = (Arc::clone(&make), Arc::clone(&seats), Arc::clone(&environment));
        async move {
            let Some(objects) = objects else { return anyhow::Ok(make(step, Compared::default())) };
            let _seat = seats.acquire_owned().await.context("the threads have ended")?;
            let old = match earlier(&step.action) {
                Some(digest) => objects.get(digest).await,
                None => None,
            };
            let (project, step) = (Arc::clone(project), (*step).clone());
            tokio::task::spawn_blocking(move || {
                let mut template = checked::template(&project, &environment, &step.key)?;
                let inline = std::mem::take(&mut template.inline_attachments);
                let new = Content { inline_attachments: inline.iter().map(Into::into).collect(), ..template.into() };
                let detail = detail(&step.action, old.as_ref(), &new, deadline.max(Instant::now() + LEAST));
                Ok(make(&step, Compared { detail: Some(detail), old, new: Some(new), inline }))
            })
            .await?
        }
    });
    let mut work = futures_util::stream::iter(work).buffered(open * AHEAD);
    while let Some(made) = work.next().await {
        if !take(made?)? {
            break;
        }
    }
    Ok(())
}

/// The content that the service has, where the state knows it.
fn earlier(action: &Action) -> Option<Digest> {
    match action {
        Action::Update { from, .. } => *from,
        _ => None,
    }
}

fn detail(action: &Action, old: Option<&Content>, new: &Content, deadline: Instant) -> Detail {
    match (action, old) {
        (Action::Create { .. }, _) => Detail::New(plan::changes(None, new, deadline)),
        (_, Some(old)) => Detail::Changed(plan::changes(Some(old), new, deadline)),
        (_, None) => Detail::Unknown,
    }
}
