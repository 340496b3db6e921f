//! Keeps the contents that an apply sends beside the state, in the background, so that the next plan can show what changes.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::desired::{Content, Digest, Template};
use crate::plan::{Action, Step};
use crate::state::{self, Location, Objects};

/// Writes that are open at once: enough for a bucket that answers in 50 ms to keep up with the service.
const OPEN: usize = 32;

/// Contents that wait for their turn. With more, the newest is not kept, since nothing may hold up an apply.
const QUEUE: usize = 512;

/// How long the end of an apply waits for the last writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The background writer.
#[derive(Debug)]
pub struct Keeper {
    location: Location,
    objects: Objects,
    queue: mpsc::Sender<Content>,
    work: JoinHandle<Kept>,
}

/// Hands contents to the writer; cheap to clone into worker threads.
#[derive(Debug, Clone)]
pub struct Keep(mpsc::Sender<Content>);

/// What the writer did.
#[derive(Debug, Default)]
struct Kept {
    digests: BTreeSet<Digest>,
    failed: usize,
}

impl Keep {
    /// Keeps a template's content. Never waits, never fails.
    pub fn keep(&self, template: &Template) {
        let _ = self.0.try_send(Content::from(template.clone()));
    }
}

impl Keeper {
    /// Starts the writer; call it within the runtime.
    ///
    /// # Errors
    ///
    /// When this build cannot reach the place.
    pub fn start(location: Location) -> Result<Self, state::Error> {
        let objects = Objects::open(&location)?;
        let (queue, waiting) = mpsc::channel(QUEUE);
        let work = tokio::spawn(write(objects.clone(), waiting));
        Ok(Self { location, objects, queue, work })
    }

    /// The hand that gives to the writer.
    #[must_use]
    pub fn hand(&self) -> Keep {
        Keep(self.queue.clone())
    }

    /// After the apply: waits for the last writes and removes what nothing refers to any more. Says how many contents could not be kept.
    /// Every [`Keep`] must be gone.
    pub async fn finish(self, steps: &[Step]) -> usize {
        drop(self.queue);
        let Ok(Ok(kept)) = tokio::time::timeout(PATIENCE, self.work).await else { return 0 };
        let replaced = steps.iter().filter_map(|step| match &step.action {
            Action::Update { from, .. } => *from,
            _ => None,
        });
        let candidates: BTreeSet<Digest> = replaced.chain(kept.digests.iter().copied()).collect();
        if !candidates.is_empty()
            && let Ok(state) = state::read(&self.location).await
        {
            self.objects.collect(&candidates, &state).await;
        }
        kept.failed
    }
}

async fn write(objects: Objects, waiting: mpsc::Receiver<Content>) -> Kept {
    let queue = futures_util::stream::unfold(waiting, async |mut waiting| Some((waiting.recv().await?, waiting)));
    // A template is read for its placeholder and again for its content: what came once is not written twice.
    let mut seen = BTreeSet::new();
    let once = queue.filter(move |content| futures_util::future::ready(seen.insert(content.digest())));
    let writes = once.map(|content| {
        let objects = objects.clone();
        async move { (content.digest(), objects.put(content).await.is_ok()) }
    });
    writes
        .buffer_unordered(OPEN)
        .fold(Kept::default(), async |mut kept, (digest, written)| {
            kept.digests.insert(digest);
            kept.failed += usize::from(!written);
            kept
        })
        .await
}
