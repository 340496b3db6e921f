//! Ctrl-C and SIGTERM, counted: the first drains, the second saves and ends (safety §5).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::cli::{Exit, Terminal};

/// The interrupts of this run.
#[derive(Debug)]
pub struct Interrupts {
    /// How many there were.
    pub count: watch::Receiver<u32>,
    terminated: Arc<AtomicBool>,
}

impl Interrupts {
    /// Takes over SIGINT and SIGTERM for as long as the runtime lives.
    ///
    /// # Errors
    ///
    /// The system does not hand them over.
    pub fn listen(terminal: &Terminal) -> std::io::Result<Self> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let (sender, count) = watch::channel(0);
        let terminated = Arc::new(AtomicBool::new(false));
        let (flag, terminal) = (Arc::clone(&terminated), terminal.clone());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    Some(()) = interrupt.recv() => {}
                    Some(()) = terminate.recv() => flag.store(true, Ordering::Relaxed),
                    else => return,
                }
                sender.send_modify(|count| *count += 1);
                let so_far = *sender.borrow();
                terminal.say(match so_far {
                    1 => "\nstopping: requests under way are given up to 6 s, then the state is saved. Again to end at once",
                    _ => "\nending: saving the state",
                });
            }
        });
        Ok(Self { count, terminated })
    }

    /// Whether there was one.
    #[must_use]
    pub fn came(&self) -> bool {
        *self.count.borrow() > 0
    }

    /// Returns at the first one, at once when it is past.
    pub async fn first(&self) {
        if self.count.clone().wait_for(|count| *count > 0).await.is_err() {
            // Nobody listens any more, so none will come.
            std::future::pending::<()>().await;
        }
    }

    /// 143 after a SIGTERM, else 130.
    #[must_use]
    pub fn exit(&self) -> Exit {
        if self.terminated.load(Ordering::Relaxed) { Exit::Terminated } else { Exit::Interrupted }
    }
}
