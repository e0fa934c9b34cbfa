//! Timers of jobs.

use crate::driver::Shared;
use crate::driver::keep::encode;
use ankus_lang::machine::Event;
use ankus_lang::plan::NodeIndex;
use ankus_procedure::{Context, Failure, Procedure, Step, Wait};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Notifies a job when a point in time has come.
pub(in crate::driver) struct Timer {
    shared: Arc<Shared>,
    saved: Due,
    /// The time at which it is due on the monotonic clock.
    until: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Due {
    root: String,
    node: NodeIndex,
    serial: u32,
    at: i64,
    /// The intended duration.
    span: i64,
}

impl Timer {
    pub(in crate::driver) fn new(
        shared: Arc<Shared>,
        root: &str,
        node: NodeIndex,
        serial: u32,
        at: i64,
    ) -> Timer {
        let span = at.saturating_sub(shared.host.wall_ms()).max(0);
        let saved = Due { root: root.to_owned(), node, serial, at, span };
        Timer { shared, saved, until: None }
    }

    pub(in crate::driver) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Timer, String> {
        let saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Timer { shared: shared.clone(), saved, until: None })
    }
}

impl Procedure for Timer {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let root = &self.saved.root;
        if !self.shared.is_active(root, root, context.id()) {
            // The job it would wake may have ended with everything above it.
            return Ok(match self.shared.is_over(root) {
                true => Step::Done,
                false => Step::Suspend(Wait::new()),
            });
        }
        let left = self.saved.at.saturating_sub(context.host().wall_ms());
        let elapsed = context.host().elapsed_ms();
        let span = u64::try_from(self.saved.span).unwrap_or(0);
        let until = *self.until.get_or_insert(elapsed.saturating_add(span));
        // If the wall clock is set back, the timer still takes no longer than intended.
        let left = left.min(i64::try_from(until.saturating_sub(elapsed)).unwrap_or(i64::MAX));
        if left > 0 {
            // Sleeps in pieces, so that a clock that is set forward delays the timer by at most one piece.
            let piece = u64::try_from(left).unwrap_or(0).min(60_000);
            return Ok(Step::Suspend(Wait::pause(piece)));
        }
        let Due { node, serial, .. } = self.saved;
        context.set_result(encode(&Event::Due { node, serial }));
        Ok(Step::Done)
    }

    fn save(&self) -> Vec<u8> {
        encode(&self.saved)
    }

    fn undoable(&self) -> bool {
        false
    }
}
