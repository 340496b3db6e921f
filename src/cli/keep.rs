//! Keeps the contents that an apply sends beside the state, in the background, so that the next plan can show what changes; and removes those that
//! no entry speaks of any more.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::report::plan_text::count;
use super::terminal::Terminal;
use crate::desired::{Digest, Template};
use crate::state::{self, Collected, Digested, Location, Objects};

/// Contents that wait for their turn. With more, the newest is not kept, since nothing may hold up an apply.
const QUEUE: usize = 512;

/// How long the end of an apply waits for the last writes, and again for the removals.
const PATIENCE: Duration = Duration::from_secs(10);

/// The background writer.
#[derive(Debug)]
pub struct Keeper {
    objects: Objects,
    /// `None` ends it.
    queue: mpsc::Sender<Option<Digested>>,
    work: JoinHandle<usize>,
}

/// Hands contents to the writer.
#[derive(Debug)]
pub struct Keep(mpsc::Sender<Option<Digested>>);

/// What could not be done. Nothing of it makes an apply fail: only diffs are lost, or room.
#[derive(Debug, Default)]
pub struct Lost {
    /// Contents that are not kept.
    not_kept: usize,
    /// What could not be removed, and why.
    not_removed: Option<String>,
}

impl Lost {
    /// Says it.
    pub fn warn(&self, terminal: &Terminal) {
        if self.not_kept > 0 {
            terminal.warn(format_args!(
                "the content of {} could not be kept beside the state; the next plan cannot show what changes in them",
                count(self.not_kept, "template")
            ));
        }
        if let Some(why) = &self.not_removed {
            terminal.warn(format_args!(
                "old contents could not be removed from beside the state: {why}; the next apply tries again"
            ));
        }
    }
}

impl Keep {
    /// Keeps a template's content under its digest. Never waits, never fails.
    pub fn keep(&self, template: Template, digest: Digest) {
        let _ = self.0.try_send(Some(Digested { digest, content: template.into() }));
    }
}

impl Keeper {
    /// Starts the writer; call it within the runtime.
    ///
    /// # Errors
    ///
    /// When this build cannot reach the place.
    pub fn start(location: &Location) -> Result<Self, state::Error> {
        let objects = Objects::open(location)?;
        let (queue, waiting) = mpsc::channel(QUEUE);
        let work = tokio::spawn({
            let objects = objects.clone();
            async move { objects.put_all(waiting).await }
        });
        Ok(Self { objects, queue, work })
    }

    /// The hand that gives to the writer.
    #[must_use]
    pub fn hand(&self) -> Keep {
        Keep(self.queue.clone())
    }

    /// Waits for the last writes; what is handed over from now on is not kept.
    pub async fn finish(self, patience: Duration) -> Lost {
        let rest = async {
            let _ = self.queue.send(None).await;
            self.work.await
        };
        let not_kept = tokio::time::timeout(patience.min(PATIENCE), rest).await;
        Lost { not_kept: not_kept.map_or(0, Result::unwrap_or_default), not_removed: None }
    }

    /// The same, and then removes all but the contents in `kept`, while `held` says that the state still is.
    pub async fn tidy(self, kept: BTreeSet<Digest>, held: impl Fn() -> bool) -> Lost {
        let objects = self.objects.clone();
        let mut lost = self.finish(PATIENCE).await;
        lost.not_removed = match tokio::time::timeout(PATIENCE, objects.collect(&kept, held)).await {
            Ok(Collected { why: Some(why), .. }) => Some(why),
            Ok(Collected { left: 1.., .. }) => Some("the state is held by another run".to_owned()),
            Ok(_) => None,
            Err(_) => Some(format!("not all of them within {} s", PATIENCE.as_secs())),
        };
        lost
    }
}
