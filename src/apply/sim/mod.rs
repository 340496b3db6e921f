//! The simulator: the engine's other driver (safety §1.10, §8).
//!
//! Two or three actors work on one register and one service. Every message may be lost, delayed or answered wrongly, every actor may crash or stand still
//! or be interrupted at every step, and clocks are wrong and run at different speeds. All of it comes from one seed. At the end the faults cease, one more
//! apply runs, and what the service holds is compared with what the state says.

mod actor;
mod chance;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::state::mutant::Mutant;
use world::World;

/// Something that must never happen.
type Violation = String;

/// One simulation from its seed to its end.
fn simulate(seed: u64, mutant: Option<Mutant>) -> Result<(), Violation> {
    World::new(seed, mutant).run()
}

/// Seeds in the ordinary run; `LETTERPRESS_SEEDS` asks for more.
fn seeds() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "a test's own switch")]
    let asked = std::env::var("LETTERPRESS_SEEDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The first of the seeds that breaks a promise.
fn first_violation(seeds: u64, mutant: Option<Mutant>) -> Option<(u64, Violation)> {
    let next = AtomicU64::new(0);
    let found = std::sync::Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds || !found.lock().unwrap().is_empty() {
                        return;
                    }
                    if let Err(violation) = simulate(seed, mutant) {
                        found.lock().unwrap().insert(seed, violation);
                    }
                }
            });
        }
    });
    found.into_inner().unwrap().pop_first()
}

#[test]
fn no_seed_breaks_a_promise() {
    let violation = first_violation(seeds(), None);
    assert!(violation.is_none(), "{violation:?}");
}

#[test]
fn every_planted_bug_is_found() {
    let missed: Vec<_> =
        Mutant::ALL.into_iter().filter(|mutant| first_violation(2_000, Some(*mutant)).is_none()).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}
