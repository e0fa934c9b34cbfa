//! Metrics of the executor's work and state, as data and as Prometheus text.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::State;

/// The counts at one time. Totals are counted since the process started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// Procedures that were submitted, spawned or started as children.
    pub submitted: u64,
    /// Procedures that succeeded.
    pub succeeded: u64,
    /// Procedures that failed and were rolled back.
    pub failed: u64,
    /// Steps made durable.
    pub steps: u64,
    /// Steps undone.
    pub rollbacks: u64,
    /// Steps that panicked.
    pub panics: u64,
    /// Live procedures by state, in the order of [`State::ALL`].
    pub live: [u64; 7],
    /// How long procedures have been in each state, in the order of [`State::ALL`]: both live and ended ones.
    pub state_ms: [u64; 7],
    /// Results that are kept until they are acknowledged or old.
    pub finished: u64,
    /// Procedures being executed now.
    pub running: u64,
    /// Procedures waiting for a worker.
    pub queued: u64,
    /// How long the oldest procedure in the queue has been runnable.
    pub oldest_runnable_ms: u64,
    /// Lock names that are held or waited for.
    pub locks: u64,
    /// The number of workers.
    pub workers: u64,
    /// Commits to the store.
    pub commits: u64,
    /// Records and rows that commits wrote or removed.
    pub writes: u64,
    /// Writes in the largest commit.
    pub largest_commit: u64,
    /// Commits that the store refused; each was retried.
    pub store_failures: u64,
    /// Trees set aside because part of them could not be read.
    pub quarantined: u64,
    /// Total time that finished procedures took, by the wall clock.
    pub duration_ms: u64,
}

impl Metrics {
    /// Returns the metrics in Prometheus text format.
    pub fn prometheus(&self) -> String {
        let mut out = String::new();
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = writeln!(
                out,
                "# HELP ankus_{name} {help}\n# TYPE ankus_{name} {kind}\nankus_{name} {value}"
            );
        };
        one(
            "procedures_submitted_total",
            "counter",
            "Procedures submitted, spawned or made as children.",
            self.submitted,
        );
        one("procedures_succeeded_total", "counter", "Procedures that succeeded.", self.succeeded);
        one(
            "procedures_failed_total",
            "counter",
            "Procedures that failed and were rolled back.",
            self.failed,
        );
        one("steps_total", "counter", "Steps made durable.", self.steps);
        one("rollbacks_total", "counter", "Steps undone.", self.rollbacks);
        one("panics_total", "counter", "Steps that panicked.", self.panics);
        one("results", "gauge", "Results that wait to be acknowledged or to age.", self.finished);
        one("procedures_running", "gauge", "Procedures being executed.", self.running);
        one("queue_depth", "gauge", "Procedures waiting for a worker.", self.queued);
        one(
            "oldest_runnable_milliseconds",
            "gauge",
            "Age of the oldest waiting for a worker.",
            self.oldest_runnable_ms,
        );
        one("locks", "gauge", "Names with a lock held or waited for.", self.locks);
        one("workers", "gauge", "Workers.", self.workers);
        one("commits_total", "counter", "Commits of the store.", self.commits);
        one(
            "commit_writes_total",
            "counter",
            "Records and rows written or removed by commits.",
            self.writes,
        );
        one("commit_writes_max", "gauge", "Writes in the largest commit.", self.largest_commit);
        one(
            "store_failures_total",
            "counter",
            "Commits the store refused, each tried again.",
            self.store_failures,
        );
        one(
            "quarantined",
            "gauge",
            "Procedures set aside because something could not be read.",
            self.quarantined,
        );
        one(
            "procedure_milliseconds_total",
            "counter",
            "Time that finished procedures took.",
            self.duration_ms,
        );

        let _ = writeln!(
            out,
            "# HELP ankus_procedures Live procedures by state.\n# TYPE ankus_procedures gauge"
        );
        for (state, count) in State::ALL.iter().zip(self.live) {
            let _ = writeln!(out, "ankus_procedures{{state=\"{}\"}} {count}", state.name());
        }
        let _ = writeln!(
            out,
            "# HELP ankus_state_milliseconds_total Time that procedures spent in each state.\n\
             # TYPE ankus_state_milliseconds_total counter"
        );
        for (state, ms) in State::ALL.iter().zip(self.state_ms) {
            let _ =
                writeln!(out, "ankus_state_milliseconds_total{{state=\"{}\"}} {ms}", state.name());
        }
        out
    }
}
