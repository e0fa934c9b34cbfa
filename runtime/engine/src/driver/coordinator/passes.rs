//! How often a coordinator creates actions and checks its own state, if the site configures that.
//!
//! By default, what is due is done at once. If a site sets the intervals of the server, there are passes as on a
//! server: overdue actions are created in several of them, and a coordinator ends in the pass after its last action.

/// Seconds between two passes of materialization (`oozie-default.xml`: 300).
const MATERIALIZE: &str = "oozie.service.CoordMaterializeTriggerService.scheduling.interval";
/// Seconds between two passes over the states of coordinators (`oozie-default.xml`: 60).
pub(super) const STATES: &str = "oozie.service.StatusTransitService.statusTransit.interval";

/// The passes of one kind. Times are in milliseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passes {
    /// The time between two passes; none if there is one whenever something happened.
    every: Option<u64>,
    /// When the next pass may be made; none before the first request.
    next: Option<u64>,
}

impl Passes {
    /// Sets the interval from the site's property: a positive number of seconds; anything else means no passes.
    pub(super) fn set(&mut self, seconds: Option<&str>) {
        let seconds = seconds.and_then(|text| text.trim().parse::<u64>().ok());
        self.every =
            seconds.filter(|seconds| *seconds > 0).map(|seconds| seconds.saturating_mul(1000));
    }

    /// Whether a pass is made now. With `after`, the first one comes one interval after the first call.
    pub(super) fn is_now(&mut self, clock_ms: u64, after: bool) -> bool {
        let Some(every) = self.every else { return true };
        let first = if after { clock_ms.saturating_add(every) } else { clock_ms };
        let next = self.next.get_or_insert(first);
        if *next > clock_ms {
            return false;
        }
        *next = clock_ms.saturating_add(every);
        true
    }

    /// Whether the passes are made at intervals.
    pub(super) fn are_apart(&self) -> bool {
        self.every.is_some()
    }

    /// Returns the milliseconds until the next pass: 0 if there is no need to wait.
    pub(super) fn wait(&self, clock_ms: u64) -> u64 {
        self.every.and(self.next).map_or(0, |next| next.saturating_sub(clock_ms))
    }
}

/// The passes of a coordinator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Both {
    /// Passes that create actions.
    pub(super) making: Passes,
    /// Passes over its state.
    pub(super) states: Passes,
}

impl Both {
    /// Sets the intervals from the properties of the site.
    pub(super) fn set<'s>(&mut self, server: impl Fn(&str) -> Option<&'s str>) {
        self.making.set(server(MATERIALIZE));
        self.states.set(server(STATES));
    }
}

#[cfg(test)]
mod tests {
    use super::Passes;

    #[test]
    fn without_an_interval_every_moment_is_a_pass() {
        let mut passes = Passes::default();
        for nothing in [None, Some("0"), Some("-1"), Some("often")] {
            passes.set(nothing);
            assert!(passes.is_now(5, true) && passes.is_now(5, true) && !passes.are_apart());
            assert_eq!(passes.wait(5), 0);
        }
    }

    #[test]
    fn with_one_they_are_so_far_apart() {
        let mut passes = Passes::default();
        passes.set(Some(" 2 "));
        assert!(passes.is_now(100, false));
        assert!(!passes.is_now(2_099, false));
        assert_eq!(passes.wait(2_000), 100);
        assert!(passes.is_now(2_100, false));
        let mut later = Passes::default();
        later.set(Some("2"));
        assert!(!later.is_now(100, true));
        assert!(later.is_now(2_100, true));
    }
}
