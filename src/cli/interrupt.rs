//! SIGINT and SIGTERM as values: a command ends its step, saves where it is, and says so with 130 or 143.

use std::io;

use tokio::sync::watch;

use super::Exit;

/// Watches for signals from its making on. Clones hear the same ones.
#[derive(Debug, Clone)]
pub struct Interrupt {
    heard: watch::Receiver<Heard>,
}

/// What was heard so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Heard {
    times: u32,
    first: Option<Exit>,
}

impl Interrupt {
    /// Starts to watch, on the current tokio runtime. The process no longer dies of the signals.
    ///
    /// # Errors
    ///
    /// The system does not let signals be watched.
    pub fn watch() -> io::Result<Self> {
        let (say, heard) = watch::channel(Heard::default());
        let mut signals = Signals::new()?;
        tokio::spawn(async move {
            loop {
                let exit = signals.next().await;
                say.send_modify(|heard| {
                    heard.times += 1;
                    heard.first.get_or_insert(exit);
                });
                if say.is_closed() {
                    return;
                }
            }
        });
        Ok(Self { heard })
    }

    /// The exit code of the first signal, if one came.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.heard.borrow().first
    }

    /// Returns at the n-th signal, at once when it is past.
    pub async fn times(&self, n: u32) {
        if self.heard.clone().wait_for(|heard| heard.times >= n).await.is_err() {
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
