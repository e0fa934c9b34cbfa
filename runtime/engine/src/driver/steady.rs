//! Retries failed steps later, so that nothing is left half done.
//!
//! This wraps the steps of jobs, coordinators, bundles and calls. If a step fails or panics, nothing of it remains, and
//! its failure is reported. An unreadable store or a missing folder may come back; damaged rows do not, and procedures
//! that depend on them end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Error;
use ankus_procedure::store;
use ankus_procedure::{Context, Failure, Step, Wait};

/// The pause before the first retry, in milliseconds; it doubles each time.
const PAUSE_MS: u64 = 100;

/// The longest pause of procedures that are not in a hurry.
pub(super) const LONGEST_MS: u64 = 30_000;

/// The code of a failure that would recur at every retry.
const DAMAGED: &str = "damaged";

/// Returns the failure of a procedure that cannot continue because of an error of the store.
pub(super) fn broken(who: &str, error: &Error) -> Failure {
    let code = match error {
        Error::Store(store::Error::Damaged(_)) | Error::Unknown(_) => DAMAGED,
        _ => "store",
    };
    Failure::new(who, code, error.to_string())
}

/// Whether a retry would fail in the same way.
pub(super) fn is_lasting(failure: &Failure) -> bool {
    failure.code == DAMAGED
}

/// Executes a step. If it fails, it has collected no effects and taken no messages.
pub(super) fn attempt(
    context: &mut Context<'_>,
    step: impl FnOnce(&mut Context<'_>) -> Result<Step, Failure>,
) -> Result<Step, Failure> {
    let made = catch_unwind(AssertUnwindSafe(|| step(context)));
    let failure = match made {
        Ok(Ok(step)) => return Ok(step),
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new("bug", Failure::PANIC, text(&*panic)),
    };
    context.start_over();
    Err(failure)
}

/// Suspends a procedure before the next retry, at most for `longest_ms`, according to the number of failures in a row.
pub(super) fn later(context: &mut Context<'_>, failures: &mut u32, longest_ms: u64) -> Step {
    let pause = PAUSE_MS.saturating_mul(1 << (*failures).min(16)).min(longest_ms);
    *failures = failures.saturating_add(1);
    context.skip_persistence();
    Step::Suspend(Wait::pause(pause))
}

/// Returns the message of a panic.
pub(super) fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked".to_owned())
}
