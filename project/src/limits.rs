//! What the check of one file may take, of which the core has no idea by itself: it has no clock.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ankus::budget::{self, Budget};
use ankus::check::{self, Input, Outcome};

/// What one file may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Seconds after which a check is given up; 0: never.
    pub timeout: u64,
    /// MiB.
    pub memory: u64,
}

/// What holds where nobody says otherwise.
pub const USUAL: Limits = Limits { timeout: 60, memory: budget::MEMORY >> 20 };

/// What holds for all files of this process, once a command line has said so.
static LIMITS: OnceLock<Limits> = OnceLock::new();

/// Has these limits hold for every file from now on.
pub fn hold(limits: Limits) {
    // A process has one command line; a second one, in tests, changes nothing.
    let _ = LIMITS.set(limits);
}

/// Checks one file within the limits.
pub fn check(input: &Input<'_>) -> Outcome {
    let limits = LIMITS.get().copied().unwrap_or(USUAL);
    let begun = Instant::now();
    let time = Duration::from_secs(limits.timeout);
    let over: Arc<dyn Fn() -> bool + Send + Sync> = Arc::new(move || begun.elapsed() >= time);
    let budget = Budget {
        over: (limits.timeout > 0).then_some(over),
        memory: limits.memory.saturating_mul(1 << 20),
    };
    budget::limited(budget, || check::check(input))
}
