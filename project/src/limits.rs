//! The limits for checking one file. They are set here because the core has no clock.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ankus::budget::{self, Budget};
use ankus::check::{self, Input, Outcome};

use super::Loaded;

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

/// What somebody has said of the limits; the rest is as usual.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    /// `--timeout`, or `timeout` of `[limits]`.
    pub timeout: Option<u64>,
    /// `--memory`, or `memory` of `[limits]`.
    pub memory: Option<u64>,
}

/// What a command line has said for all files of this process.
static GIVEN: OnceLock<Said> = OnceLock::new();
/// What the user's own settings say.
static OWN: OnceLock<Said> = OnceLock::new();

/// Has these limits hold for every file from now on.
pub fn hold(given: Said) {
    // A process has one command line; a second one, in tests, changes nothing.
    let _ = GIVEN.set(given);
}

/// Has these limits hold where the command line says nothing.
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

/// Checks one text, however it was come by, within the limits.
pub fn check_text(input: &Input<'_>) -> Outcome {
    budget::limited(budget(), || check::check(input))
}

/// Does some work within the limits of a file; with whether it was given up.
pub(crate) fn within<T>(work: impl FnOnce() -> T) -> (T, bool) {
    budget::limited(budget(), || (work(), budget::was_spent()))
}

/// Whether somebody has no more use for an answer.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

thread_local! {
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Puts back what could stop the work before, however this work ends.
struct Back(Option<Stop>);

impl Drop for Back {
    fn drop(&mut self) {
        STOP.with(|stop| stop.replace(self.0.take()));
    }
}

/// Does some work of which every check ends early, as one that has used up its time, once `stop` says so. What comes of
/// it then means nothing: ask `stop` afterwards.
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
