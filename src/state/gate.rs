//! Whether a run may still send: asked by the engine, and once more just before the last byte of a request leaves (safety §4, §6).

use std::sync::Mutex;
use std::time::Duration;

use super::clock::Now;

/// The lease as the sender sees it.
#[derive(Debug)]
pub struct Gate {
    /// How long after the start of the last successful write; `None`: for as long as the run holds the kernel's lock.
    lasts: Option<Duration>,
    since: Mutex<(Now, bool)>,
}

impl Gate {
    pub(super) fn new(lasts: Option<Duration>, since: Now) -> Self {
        Self { lasts, since: Mutex::new((since, true)) }
    }

    /// Whether something may be sent now.
    #[must_use]
    pub fn is_open(&self, now: Now) -> bool {
        let (since, open) = self.read();
        open && self.lasts.is_none_or(|lasts| now.since(since) <= lasts)
    }

    /// The start of the last successful write.
    #[must_use]
    pub fn since(&self) -> Now {
        self.read().0
    }

    pub(super) fn renew(&self, since: Now) {
        self.write(|gate| gate.0 = since);
    }

    pub(super) fn close(&self) {
        self.write(|gate| gate.1 = false);
    }

    fn read(&self) -> (Now, bool) {
        *self.since.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write(&self, change: impl FnOnce(&mut (Now, bool))) {
        change(&mut self.since.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}
