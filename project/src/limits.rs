//! The limits for checking one file. They are set here because the core has no clock.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ankus::budget::{self, Budget};
use ankus::check::{self, Input, Outcome};

use super::Loaded;

/// The limits for one file.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Seconds after which a check is abandoned; 0 for no limit.
    pub timeout: u64,
    /// Memory in MiB.
    pub memory: u64,
}

/// The default limits.
pub const USUAL: Limits = Limits { timeout: 60, memory: budget::MEMORY >> 20 };

/// Limits that were set explicitly; the others have their defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    /// `--timeout`, or `timeout` of `[limits]`.
    pub timeout: Option<u64>,
    /// `--memory`, or `memory` of `[limits]`.
    pub memory: Option<u64>,
}

/// The limits from the command line, for all files of this process.
static GIVEN: OnceLock<Said> = OnceLock::new();
/// The limits from the user's own settings.
static OWN: OnceLock<Said> = OnceLock::new();

/// Sets the limits for all files from now on.
pub fn hold(given: Said) {
    // A process has one command line; a second call, in tests, has no effect.
    let _ = GIVEN.set(given);
}

/// Sets the limits that apply unless the command line sets others.
pub(crate) fn hold_own(own: Said) {
    let _ = OWN.set(own);
}

fn limits() -> Limits {
    let [given, own] = [&GIVEN, &OWN].map(|said| said.get().copied().unwrap_or_default());
    Limits {
        timeout: given.timeout.or(own.timeout).unwrap_or(USUAL.timeout),
        memory: given.memory.or(own.memory).unwrap_or(USUAL.memory),
    }
}

/// Checks one file within the limits.
pub fn check(loaded: &Loaded) -> Outcome {
    let input = loaded.input();
    match (loaded.too_large, loaded.gave_up) {
        (Some(size), _) => check::too_large(&input, size),
        (None, true) => check::given_up(&input),
        (None, false) => check_text(&input),
    }
}

/// Checks one text, from whatever source, within the limits.
pub fn check_text(input: &Input<'_>) -> Outcome {
    budget::limited(budget(), || check::check(input))
}

/// Performs work within the limits of a file. Also returns whether it was abandoned.
pub(crate) fn within<T>(work: impl FnOnce() -> T) -> (T, bool) {
    budget::limited(budget(), || (work(), budget::was_spent()))
}

/// Whether the answer is no longer needed.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

thread_local! {
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Restores the previous stop function, however the work ends.
struct Back(Option<Stop>);

impl Drop for Back {
    fn drop(&mut self) {
        STOP.with(|stop| stop.replace(self.0.take()));
    }
}

/// Performs work whose checks end early, as if their time had run out, once `stop` returns true. The result is then
/// meaningless: ask `stop` afterwards.
pub fn stoppable<T>(stop: Stop, work: impl FnOnce() -> T) -> T {
    let _back = Back(STOP.with(|holding| holding.replace(Some(stop))));
    work()
}

fn budget() -> Budget {
    let limits = limits();
    let begun = Instant::now();
    let time = Duration::from_secs(limits.timeout);
    let memory = limits.memory.saturating_mul(1 << 20);
    let timed = limits.timeout > 0;
    let over: Option<Stop> = match STOP.with(|stop| stop.borrow().clone()) {
        Some(stop) => Some(Arc::new(move || stop() || timed && begun.elapsed() >= time)),
        None if timed => Some(Arc::new(move || begun.elapsed() >= time)),
        None => None,
    };
    Budget { over, memory }
}
