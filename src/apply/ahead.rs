//! How many templates are open at once: so many more than requests that none of these is idle while intents are written down.
//!
//! Each request of a template waits for its intent first. Where the wait is as long as the request, twice as many templates as requests are needed.

use std::time::Duration;

/// Of so many requests that may be open, one template more is, where an intent is written down at once.
const LITTLE: usize = 4;
/// Templates for each request that may be open, at most: a run that is killed does not know which of their placeholders were asked for.
const MOST: usize = 3;
/// A slow intent counts less with each that comes after it: half after 350.
const FADES: u32 = 512;
/// Of how many requests the mean is, about.
const MEAN: u32 = 8;

/// What intents and requests took of late.
#[derive(Debug)]
pub(super) struct Ahead {
    /// The slowest intent, faded.
    intent: Duration,
    /// The mean request.
    request: Duration,
}

impl Ahead {
    /// Nothing is known yet: as if requests took 50 ms, and intents nothing.
    pub(super) fn new() -> Self {
        Self { intent: Duration::ZERO, request: Duration::from_millis(50) }
    }

    /// An intent is certain, so long after it was staged.
    pub(super) fn intended(&mut self, took: Duration) {
        self.intent = took.max(self.intent - self.intent / FADES);
    }

    /// A request has its answer, or will have none.
    pub(super) fn answered(&mut self, took: Duration) {
        self.request = (self.request * (MEAN - 1) + took) / MEAN;
    }

    /// Templates that may be open where so many requests may.
    pub(super) fn templates(&self, requests: usize) -> usize {
        let (intent, request) = (self.intent.as_nanos(), self.request.as_nanos().max(1));
        let ahead = usize::try_from(intent * requests as u128 / request).unwrap_or(usize::MAX);
        requests.saturating_add(ahead).clamp(requests + requests / LITTLE, requests * MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// After so many of each.
    fn after(count: usize, intent: Duration, request: Duration) -> Ahead {
        let mut ahead = Ahead::new();
        for _ in 0..count {
            ahead.intended(intent);
            ahead.answered(request);
        }
        ahead
    }

    #[test]
    fn as_many_more_as_wait_for_their_intents() {
        assert_eq!(Ahead::new().templates(16), 20);
        assert_eq!(after(100, ms(2), ms(50)).templates(16), 20);
        assert_eq!(after(100, ms(25), ms(50)).templates(16), 24);
        assert_eq!(after(100, ms(75), ms(50)).templates(16), 40);
        assert_eq!(after(100, ms(1_000), ms(50)).templates(16), 48);
        assert_eq!(after(100, ms(1), ms(0)).templates(16), 48);
        assert_eq!([ms(0), ms(9)].map(|intent| after(1_000, intent, ms(9)).templates(1)), [1, 2]);
    }

    #[test]
    fn a_slow_intent_is_forgotten_by_and_by() {
        let mut ahead = after(100, ms(100), ms(50));
        let counts = [350, 1_000].map(|count| {
            (0..count).for_each(|_| ahead.intended(ms(1)));
            ahead.templates(16)
        });
        assert_eq!(counts, [32, 20]);
    }
}
