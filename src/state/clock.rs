//! Time and randomness as inputs: what the protocol may know of both.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use uuid::{Builder, Uuid};

/// One reading of both clocks. Durations are measured with whichever moved further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Monotonic, since the process began to measure.
    pub mono: Duration,
    /// Wall clock; may jump, may be wrong.
    pub wall: Timestamp,
}

impl Now {
    /// How long ago `then` was: the larger of monotonic and wall clock, so that a suspended machine notices.
    #[must_use]
    pub fn since(&self, then: Self) -> Duration {
        let mono = self.mono.saturating_sub(then.mono);
        let wall = Duration::try_from(self.wall.duration_since(then.wall)).unwrap_or_default();
        mono.max(wall)
    }
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begin: Instant,
}

impl Clock {
    /// Begins to measure.
    #[must_use]
    pub fn start() -> Self {
        Self { begin: Instant::now() }
    }

    /// Reads both clocks.
    #[must_use]
    pub fn now(&self) -> Now {
        Now { mono: self.begin.elapsed(), wall: Timestamp::now() }
    }
}

/// A stream of unguessable values from one seed: the same seed gives the same stream.
#[derive(Debug, Clone)]
pub struct Entropy {
    seed: [u8; 32],
    drawn: u64,
}

impl Entropy {
    /// A stream from a seed.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self { seed, drawn: 0 }
    }

    /// A stream that no other process has.
    #[must_use]
    pub fn of_this_process() -> Self {
        let mut seed = [0; 32];
        seed[..16].copy_from_slice(Uuid::new_v4().as_bytes());
        seed[16..].copy_from_slice(Uuid::new_v4().as_bytes());
        Self::from_seed(seed)
    }

    fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        *blake3::keyed_hash(&self.seed, &self.drawn.to_le_bytes()).as_bytes()
    }

    /// A UUIDv7: sorts by time, never repeats.
    pub fn uuid(&mut self, now: Now) -> Uuid {
        let drawn = self.draw();
        let mut random = [0; 10];
        random.copy_from_slice(&drawn[..10]);
        let millis = u64::try_from(now.wall.as_millisecond()).unwrap_or_default();
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    /// A duration from zero up to `most`, evenly spread.
    pub fn up_to(&mut self, most: Duration) -> Duration {
        let drawn = self.draw();
        let mut word = [0; 4];
        word.copy_from_slice(&drawn[..4]);
        most.mul_f64(f64::from(u32::from_le_bytes(word)) / f64::from(u32::MAX))
    }
}

/// Who works on a state, and with which clocks.
#[derive(Debug, Clone)]
pub struct Run {
    /// The run's id, in the lease and in the history.
    pub id: Uuid,
    /// `user@host`, or what CI says of itself. Untrusted.
    pub who: String,
    /// The machine's clocks.
    pub clock: Clock,
    /// For write ids, operation ids and jitter.
    pub entropy: Entropy,
}

impl Run {
    /// A run of this process.
    #[must_use]
    pub fn of_this_process(who: impl Into<String>) -> Self {
        let (clock, mut entropy) = (Clock::start(), Entropy::of_this_process());
        Self { id: entropy.uuid(clock.now()), who: who.into(), clock, entropy }
    }
}
