//! SIGINT and SIGTERM as values: a command ends its step, saves where it is, and says so with 130 or 143.

use std::io;
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use super::Exit;

/// Watches for signals from its making on. Clones hear the same ones.
#[derive(Debug, Clone)]
pub struct Interrupt {
    /// How many there were.
    pub count: watch::Receiver<u32>,
    first: Arc<OnceLock<Exit>>,
}

impl Interrupt {
    /// Starts to watch, on the current tokio runtime, and tells of each signal which one it is, from 1. The process no longer dies of them.
    ///
    /// # Errors
    ///
    /// The system does not let signals be watched.
    pub fn watch(mut tell: impl FnMut(u32) + Send + 'static) -> io::Result<Self> {
        let (say, count) = watch::channel(0);
        let first = Arc::new(OnceLock::new());
        let mut signals = Signals::new()?;
        let heard = Arc::clone(&first);
        tokio::spawn(async move {
            while !say.is_closed() {
                let exit = signals.next().await;
                heard.get_or_init(|| exit);
                say.send_modify(|count| *count += 1);
                tell(*say.borrow());
            }
        });
        Ok(Self { count, first })
    }

    /// The exit code of the first signal, if one came.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.first.get().copied()
    }

    /// Returns at the n-th signal, at once when it is past.
    pub async fn times(&self, n: u32) {
        if self.count.clone().wait_for(|count| *count >= n).await.is_err() {
            // Nobody watches any more, so none will come.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
struct Signals(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self(signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.0.recv() => Exit::Interrupted,
            _ = self.1.recv() => Exit::Terminated,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Exit {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Exit::Interrupted
    }
}
