//! Resource limits for the work on one file.
//!
//! The caller, which has a clock, provides a [`Budget`]; [`limited`] applies it to a piece of work. Every loop that
//! may run long asks [`spent`] and stops where it is when the budget is used up. The entry point ([`crate::check`])
//! then discards the partial result and reports that. The core has no clock of its own, and work without a budget is
//! never interrupted, so a result depends on time only if the caller asked for that.
//!
//! The budget is thread-local and not an argument, because the loops are deep inside every pass and rule, which have
//! no other use for it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

/// Default memory limit for the check of one file, in bytes.
pub const MEMORY: u64 = 2 << 30;

/// Limits for one file.
#[derive(Clone)]
pub struct Budget {
    /// Reports whether the time is up.
    pub over: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Memory limit in bytes.
    pub memory: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { over: None, memory: MEMORY }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timed = self.over.is_some();
        f.debug_struct("Budget").field("timed", &timed).field("memory", &self.memory).finish()
    }
}

/// The limits that apply on a thread.
#[derive(Default)]
struct Holding {
    budget: RefCell<Budget>,
    spent: Cell<bool>,
    asked: Cell<u32>,
}

thread_local! {
    static HOLDING: Holding = Holding::default();
}

/// Restores the previous limits, however the work ends.
struct Back(Budget, bool);

impl Drop for Back {
    fn drop(&mut self) {
        HOLDING.with(|holding| {
            holding.budget.replace(self.0.clone());
            holding.spent.set(self.1);
        });
    }
}

/// Runs `work` within a budget.
pub fn limited<T>(budget: Budget, work: impl FnOnce() -> T) -> T {
    let _back =
        HOLDING.with(|holding| Back(holding.budget.replace(budget), holding.spent.replace(false)));
    work()
}

/// Whether the budget is used up; once it is, it stays so for this piece of work.
pub fn spent() -> bool {
    HOLDING.with(|holding| {
        if !holding.spent.get() {
            holding.spent.set(holding.budget.borrow().over.as_ref().is_some_and(|over| over()));
        }
        holding.spent.get()
    })
}

/// Like [`spent`], for tight loops: only one call in many checks the clock.
pub(crate) fn spent_often() -> bool {
    HOLDING.with(|holding| {
        let asked = holding.asked.get().wrapping_add(1);
        holding.asked.set(asked);
        holding.spent.get() || asked % 256 == 0 && spent()
    })
}

/// Whether any loop was told that the budget is used up, so that the result may be incomplete.
pub fn was_spent() -> bool {
    HOLDING.with(|holding| holding.spent.get())
}

/// Memory limit of the current work, in bytes.
pub fn memory() -> u64 {
    HOLDING.with(|holding| holding.budget.borrow().memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_budget_holds_for_its_work_and_stays_spent() {
        assert!(!spent());
        let rounds = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&rounds);
        let over = move || counted.fetch_add(1, Ordering::Relaxed) == 2;
        let budget = Budget { over: Some(Arc::new(over)), memory: 7 };
        limited(budget, || {
            assert_eq!(
                [spent(), spent(), was_spent(), spent(), spent()],
                [false, false, false, true, true]
            );
            assert!(spent_often());
            assert_eq!(memory(), 7);
            limited(Budget::default(), || assert!(!spent()));
            assert!(was_spent());
        });
        assert!(!was_spent());
        assert_eq!((memory(), rounds.load(Ordering::Relaxed)), (MEMORY, 3));
    }

    #[test]
    fn a_loop_that_asks_often_hears_of_it() {
        let budget = Budget { over: Some(Arc::new(|| true)), ..Budget::default() };
        let rounds = limited(budget, || (0..10_000).take_while(|_| !spent_often()).count());
        assert!(rounds <= 256, "{rounds}");
    }
}
