//! What is sent again, and when (safety §6), for all operations but the template call, whose answers decide about the state.
//!
//! [`pause`] is the table of safety §6 as a function; time and chance come from outside. [`run`] is its loop.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::SendError;
use crate::wire;

/// Operations, by what sending them twice would mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `/system/info`, `/suppression/list`: nothing happens.
    Read,
    /// `/suppression/create`: the same record again.
    SuppressionCreate,
    /// `/suppression/delete`: the second is told that there is nothing (3003).
    SuppressionDelete,
    /// `/email/subscribe`: a second mail to a person. Never.
    Subscribe,
}

/// Attempts for one request, the first one included.
const ATTEMPTS: u32 = 3;
/// Upper end of the first pause; it doubles with each attempt.
const PAUSE: Duration = Duration::from_millis(500);
/// Requests that may be sent again whatever their number (P14).
const BUDGET_FLOOR: u64 = 10;
/// One in so many requests may be sent again beyond the floor (P14).
const BUDGET_SHARE: u64 = 10;

/// How many requests of a run were sent, and how many of those again: at most a tenth and ten.
#[derive(Debug, Default)]
pub struct Budget(Mutex<Spent>);

#[derive(Debug, Default, Clone, Copy)]
struct Spent {
    first: u64,
    again: u64,
}

impl Budget {
    /// Counts a first attempt.
    fn first(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).first += 1;
    }

    /// Takes one repetition out, if one is left.
    fn again(&self) -> bool {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = spent.again < BUDGET_FLOOR + spent.first / BUDGET_SHARE;
        spent.again += u64::from(left);
        left
    }
}

/// How long to wait before attempt `made + 1`, or `None` when this error is the last word.
///
/// `chance` is a number from 0 to 1 that spreads clients apart (full jitter).
#[must_use]
pub fn pause(operation: Operation, made: u32, error: &SendError, chance: f64) -> Option<Duration> {
    let attempts = match (operation, error) {
        (_, SendError::NotSent { .. }) => ATTEMPTS,
        (Operation::Subscribe, _) => 1,
        (Operation::SuppressionDelete, SendError::Unknown { .. }) => 2,
        (_, SendError::Unknown { .. } | SendError::Throttled { .. }) => ATTEMPTS,
        _ => 1,
    };
    if made >= attempts {
        return None;
    }
    let jitter = PAUSE.saturating_mul(1 << made.saturating_sub(1).min(8)).mul_f64(chance.clamp(0.0, 1.0));
    match error {
        SendError::Throttled { retry_after: Some(wait) } => Some(*wait + jitter),
        _ => Some(jitter),
    }
}

/// How a request ended after all its attempts.
#[derive(Debug)]
pub struct Tried<T> {
    /// The last answer.
    pub result: Result<T, SendError>,
    /// An earlier attempt may have been carried out.
    pub uncertain: bool,
    /// How often the service asked for fewer requests.
    pub throttled: u32,
}

impl Tried<()> {
    /// The result, where "there is nothing to delete" after a lost answer counts as done (safety §6).
    ///
    /// # Errors
    ///
    /// The last answer.
    pub fn of_delete(self) -> Result<(), SendError> {
        match self.result {
            Err(SendError::Refused { code, .. }) if self.uncertain && code == wire::code::NOT_SUPPRESSED => Ok(()),
            result => result,
        }
    }
}

/// Sends until the policy, or the budget that all requests of a run share, says that it is enough.
pub async fn run<T, F: Future<Output = Result<T, SendError>>>(
    operation: Operation,
    budget: &Budget,
    chance: impl Fn() -> f64,
    mut attempt: impl FnMut() -> F,
) -> Tried<T> {
    let (mut made, mut uncertain, mut throttled) = (0, false, 0);
    budget.first();
    loop {
        let result = attempt().await;
        made += 1;
        let Err(error) = &result else { return Tried { result, uncertain, throttled } };
        throttled += u32::from(matches!(error, SendError::Throttled { .. }));
        match pause(operation, made, error, chance()) {
            Some(wait) if budget.again() => {
                uncertain |= matches!(error, SendError::Unknown { .. });
                tokio::time::sleep(wait).await;
            }
            _ => return Tried { result, uncertain, throttled },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &str) -> SendError {
        SendError::Refused { http: 400, code: code.to_owned(), message: String::new() }
    }

    #[test]
    fn the_table_of_safety_6() {
        use Operation::{Read, Subscribe, SuppressionCreate, SuppressionDelete};
        let not_sent = SendError::NotSent { why: String::new() };
        let unknown = SendError::Unknown { why: String::new() };
        let throttled = SendError::Throttled { retry_after: None };
        let denied = SendError::Denied { http: 401, message: String::new() };
        let redirected = SendError::Redirected { http: 307, to: String::new() };
        // How many attempts an error allows, for: read, create, delete, subscribe.
        let table = [
            (not_sent, [3, 3, 3, 3]),
            (unknown, [3, 3, 2, 1]),
            (throttled, [3, 3, 3, 1]),
            (refused("906"), [1, 1, 1, 1]),
            (denied, [1, 1, 1, 1]),
            (redirected, [1, 1, 1, 1]),
        ];
        for (error, expected) in table {
            for (operation, attempts) in
                [Read, SuppressionCreate, SuppressionDelete, Subscribe].into_iter().zip(expected)
            {
                let made = (1..10).find(|made| pause(operation, *made, &error, 0.5).is_none());
                assert_eq!(made, Some(attempts), "{operation:?} {error:?}");
            }
        }
    }

    #[test]
    fn pauses_grow_and_are_spread_and_a_wish_of_the_service_is_kept() {
        let unknown = SendError::Unknown { why: String::new() };
        assert_eq!(pause(Operation::Read, 1, &unknown, 1.0), Some(Duration::from_millis(500)));
        assert_eq!(pause(Operation::Read, 2, &unknown, 1.0), Some(Duration::from_secs(1)));
        assert_eq!(pause(Operation::Read, 2, &unknown, 0.0), Some(Duration::ZERO));
        let throttled = SendError::Throttled { retry_after: Some(Duration::from_secs(7)) };
        assert_eq!(pause(Operation::Read, 1, &throttled, 0.0), Some(Duration::from_secs(7)));
    }

    #[tokio::test]
    async fn a_service_that_fails_gets_a_tenth_and_ten_more_at_most() {
        let budget = Budget::default();
        let sent = std::cell::Cell::new(0);
        for _ in 0..1_000 {
            let attempt = || {
                sent.set(sent.get() + 1);
                std::future::ready(Err::<(), _>(SendError::Unknown { why: String::new() }))
            };
            let tried = run(Operation::Read, &budget, || 0.0, attempt).await;
            assert!(tried.result.is_err());
        }
        assert_eq!(sent.get(), 1_000 + 1_000 / 10 + 10);
    }

    #[tokio::test]
    async fn nothing_to_delete_counts_as_done_only_after_a_lost_answer() {
        for (lost, done) in [(true, true), (false, false)] {
            let mut answers = vec![refused("3003")];
            if lost {
                answers.push(SendError::Unknown { why: String::new() });
            }
            let attempt = || std::future::ready(Err(answers.pop().unwrap()));
            let tried = run(Operation::SuppressionDelete, &Budget::default(), || 0.0, attempt).await;
            assert_eq!(tried.of_delete().is_ok(), done);
        }
    }
}
