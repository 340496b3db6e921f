//! A process that applies again and again: its clocks, and how far its present run has come.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::chance::Chance;
use crate::apply::engine::{Engine, Input};
use crate::state::{Acquire, Entropy, Now};

/// How far a run has come.
pub(super) enum Phase {
    /// Not running; a `Start` is on its way, or all its runs are over.
    Asleep,
    /// Getting hold of the state.
    Acquiring(Box<Acquire>),
    /// Applying.
    Applying(Box<Engine>),
}

/// A process and its clocks.
pub(super) struct Actor {
    pub(super) phase: Phase,
    /// Grows with every run; messages to an older run reach nobody.
    pub(super) run: u64,
    pub(super) entropy: Entropy,
    /// Runs that are still to come after this one.
    pub(super) runs_left: u64,
    /// Messages until it is killed.
    pub(super) dies_after: Option<u64>,
    /// Stands still until then (true time).
    pub(super) frozen_until: Duration,
    /// Answers that wait for whatever comes next: a driver hands over together what has come together.
    pub(super) heard: Vec<Input>,
    /// When the next wake-up that is on its way arrives (true time).
    pub(super) wakes_at: Option<Duration>,
    /// How fast its clocks run, in thousandths.
    rate: u64,
    /// How wrong its wall clock is.
    offset: SignedDuration,
}

impl Actor {
    pub(super) fn new(chance: &mut Chance, runs: u64) -> Self {
        let seconds = i64::try_from(chance.below(480)).unwrap_or_default() - 240;
        Self {
            phase: Phase::Asleep,
            run: 0,
            entropy: Entropy::from_seed(chance.seed()),
            runs_left: runs,
            dies_after: None,
            frozen_until: Duration::ZERO,
            heard: Vec::new(),
            wakes_at: None,
            rate: 990 + chance.below(21),
            offset: SignedDuration::from_secs(seconds),
        }
    }

    /// Its clocks at a true time.
    pub(super) fn now(&self, time: Duration) -> Now {
        let mono = time.mul_f64(self.rate as f64 / 1_000.0);
        let begin = Timestamp::from_second(1_800_000_000).unwrap();
        let wall = begin + self.offset + SignedDuration::try_from(mono).unwrap();
        Now { mono, wall }
    }

    /// The true time at which its monotonic clock shows `mono`.
    pub(super) fn true_time(&self, mono: Duration) -> Duration {
        mono.mul_f64(1_000.0 / self.rate as f64) + Duration::from_millis(1)
    }
}
