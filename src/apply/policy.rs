//! When something is sent again, and when a run stops (safety §6). Numbers and one small value.

use std::time::Duration;

/// Attempts for one request, the first one included.
pub(super) const ATTEMPTS: u32 = 3;
/// Placeholders that one template may ask for: a lost answer is leaked and asked for once more.
pub(super) const CREATES: u32 = 2;
/// Creates without an answer, one after the other, after which no new work begins.
pub(super) const UNANSWERED: u32 = 3;
/// Templates that fail one after the other, after which no new work begins.
pub(super) const FAILURES: u32 = 5;
/// How long different content for a key waits after an update whose answer was lost.
pub(super) const SETTLE: Duration = Duration::from_secs(120);
/// From this age on (wall clock) a lost update is over without a wait.
pub(super) const SETTLED: Duration = Duration::from_secs(600);
/// How long an interrupted run waits for answers.
pub(super) const DRAIN: Duration = Duration::from_secs(6);
/// How long after an interrupt the state is tried to be saved; what is not saved by then goes into a rescue file.
pub(super) const SAVE: Duration = Duration::from_millis(6_700);
/// The same after the second one.
pub(super) const SAVE_IN_HASTE: Duration = Duration::from_secs(2);
/// The longest wait that a service may ask for.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(120);

/// Upper end of the pause before attempt `made + 1`; the pause itself is drawn evenly from zero (full jitter).
pub(super) fn pause(made: u32) -> Duration {
    Duration::from_millis(500 << made.saturating_sub(1).min(6))
}

/// How many requests of a run may go again: a tenth, and ten.
#[derive(Debug, Default)]
pub(super) struct Budget {
    first: u64,
    again: u64,
}

impl Budget {
    /// A request went for the first time.
    pub(super) fn first(&mut self) {
        self.first += 1;
    }

    /// Takes one repetition out, if one is left.
    pub(super) fn again(&mut self) -> bool {
        let left = self.again < 10 + self.first / 10;
        self.again += u64::from(left);
        left
    }
}
