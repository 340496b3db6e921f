//! Templates that are read to be sent: a few on one thread, since waking one for each cost as much as the reading.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Load, Loaded};
use crate::desired::Key;

/// Templates that one thread reads: with more of them, the last would wait too long for the first.
const TOGETHER: usize = 4;

/// Templates that are about to be read.
#[derive(Default)]
pub(super) struct Batch(Vec<(Key, oneshot::Sender<Result<Loaded, String>>)>);

impl Batch {
    /// Has one more template read.
    pub(super) fn add(&mut self, key: Key) -> Source {
        let (done, read) = oneshot::channel();
        self.0.push((key, done));
        Source::Disk(read)
    }

    /// Reads them on threads that may wait.
    pub(super) fn read(self, load: &Load) {
        let mut waiting = self.0.into_iter().peekable();
        while waiting.peek().is_some() {
            let (some, load): (Vec<_>, _) = (waiting.by_ref().take(TOGETHER).collect(), Arc::clone(load));
            tokio::task::spawn_blocking(move || {
                for (key, done) in some {
                    // Nobody waits for it any more where the run has ended.
                    let _ = done.send(load(&key));
                }
            });
        }
    }
}

/// Where the content of a request comes from.
pub(super) enum Source {
    /// Read for the placeholder, a moment ago.
    AtHand(Box<Loaded>),
    /// Being read.
    Disk(oneshot::Receiver<Result<Loaded, String>>),
}

impl Source {
    /// The template, or why there is none.
    pub(super) async fn loaded(self) -> Result<Loaded, String> {
        match self {
            Self::AtHand(loaded) => Ok(*loaded),
            Self::Disk(read) => read.await.unwrap_or_else(|_| Err("the thread that read it has ended".to_owned())),
        }
    }
}
