//! The small part of the outside world that the executor itself needs.
#![expect(clippy::disallowed_methods, reason = "the real clock is the outside world")]

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Time and randomness, real or simulated.
pub trait Host: Send + Sync {
    /// Returns the milliseconds since the epoch. May jump both ways; used for display and for what must outlive the
    /// process.
    fn wall_ms(&self) -> i64;

    /// Returns the milliseconds since some time, never going backward; used for time-outs within the process.
    fn elapsed_ms(&self) -> u64;

    /// Returns a random number.
    fn random(&self) -> u64;
}

/// The clock and the randomness of the machine.
#[derive(Debug, Clone)]
pub struct RealHost {
    start: Instant,
}

impl RealHost {
    /// Creates a host that counts elapsed time from now.
    pub fn new() -> Self {
        RealHost { start: Instant::now() }
    }
}

impl Default for RealHost {
    fn default() -> Self {
        Self::new()
    }
}

impl Host for RealHost {
    fn wall_ms(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        }
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn random(&self) -> u64 {
        // Each `RandomState` has fresh keys.
        RandomState::new().build_hasher().finish()
    }
}
