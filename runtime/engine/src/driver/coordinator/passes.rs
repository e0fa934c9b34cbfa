//! How often a coordinator makes actions and looks at its own state, where the site says so.
//!
//! As it stands, what is due is done at once. A site that sets the intervals of the server gets its passes: what lies behind is
//! caught up with in several of them, and a coordinator ends in the pass after its last action.

/// Seconds between two passes of materialization (`oozie-default.xml`: 300).
const MATERIALIZE: &str = "oozie.service.CoordMaterializeTriggerService.scheduling.interval";
/// Seconds between two passes over the states of coordinators (`oozie-default.xml`: 60).
pub(super) const STATES: &str = "oozie.service.StatusTransitService.statusTransit.interval";

/// The passes of one kind. Times are in milliseconds of the clock that only goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passes {
    /// The time between two; none where they are made whenever something happened.
    every: Option<u64>,
    /// When the next one may be made; none before the first is asked for.
    next: Option<u64>,
}

impl Passes {
    /// Takes the interval that a site sets: a positive number of seconds; anything else means no passes.
    pub(super) fn set(&mut self, seconds: Option<&str>) {
        let seconds = seconds.and_then(|text| text.trim().parse::<u64>().ok());
        self.every =
            seconds.filter(|seconds| *seconds > 0).map(|seconds| seconds.saturating_mul(1000));
    }

    /// Whether one is made now. The first comes `after` the first question.
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

    /// Whether they come at intervals.
    pub(super) fn are_apart(&self) -> bool {
        self.every.is_some()
    }

    /// In how many milliseconds the next one comes: 0 where it need not be waited for.
    pub(super) fn wait(&self, clock_ms: u64) -> u64 {
        self.every.and(self.next).map_or(0, |next| next.saturating_sub(clock_ms))
    }
}

/// The passes of a coordinator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Both {
    /// Those that make actions.
    pub(super) making: Passes,
    /// Those over its state.
    pub(super) states: Passes,
}

impl Both {
    /// Takes the intervals from the properties of the site.
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
