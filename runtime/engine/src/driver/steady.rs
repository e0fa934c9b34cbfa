//! Steps that fail now are retried later, so that nothing is left half done.
//!
//! In: a step of a job, a coordinator, a bundle or a call. Out: the same step; if it failed or panicked, nothing of it
//! remains, and its failure is reported. An unreadable store or a missing folder may come back. Damaged rows do not:
//! procedures that depend on them end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Error;
use ankus_procedure::store;
use ankus_procedure::{Context, Failure, Step, Wait};

/// The first pause before a step is made again, in milliseconds; each is twice as long as the one before.
const PAUSE_MS: u64 = 100;

/// The longest pause of whoever is not in a hurry.
pub(super) const LONGEST_MS: u64 = 30_000;

/// The code of a failure that would be the same the next time.
const DAMAGED: &str = "damaged";

/// A failure of whoever cannot go on with what the store says.
pub(super) fn broken(who: &str, error: &Error) -> Failure {
    let code = match error {
        Error::Store(store::Error::Damaged(_)) | Error::Unknown(_) => DAMAGED,
        _ => "store",
    };
    Failure::new(who, code, error.to_string())
}

/// Whether the same step would fail again in the same way.
pub(super) fn is_lasting(failure: &Failure) -> bool {
    failure.code == DAMAGED
}

/// Makes a step. Where it fails, it has collected nothing and taken no message.
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

/// Waits, at most so long, before a step is made again that has failed so many times in a row.
pub(super) fn later(context: &mut Context<'_>, failures: &mut u32, longest_ms: u64) -> Step {
    let pause = PAUSE_MS.saturating_mul(1 << (*failures).min(16)).min(longest_ms);
    *failures = failures.saturating_add(1);
    context.skip_persistence();
    Step::Suspend(Wait::pause(pause))
}

/// What a panic says.
pub(super) fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked".to_owned())
}
