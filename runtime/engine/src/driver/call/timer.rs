//! Timers of jobs.

use crate::driver::Shared;
use crate::driver::keep::encode;
use ankus_lang::machine::Event;
use ankus_lang::plan::NodeIndex;
use ankus_procedure::{Context, Failure, Procedure, Step, Wait};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Tells a job when a moment has come.
pub(in crate::driver) struct Timer {
    shared: Arc<Shared>,
    saved: Due,
    /// Until then on the clock that nobody sets.
    until: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Due {
    root: String,
    node: NodeIndex,
    serial: u32,
    at: i64,
    /// How long it was to last.
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
            // What it was to wake has perhaps ended with all above it.
            return Ok(match self.shared.is_over(root) {
                true => Step::Done,
                false => Step::Suspend(Wait::new()),
            });
        }
        let left = self.saved.at.saturating_sub(context.host().wall_ms());
        let elapsed = context.host().elapsed_ms();
        let span = u64::try_from(self.saved.span).unwrap_or(0);
        let until = *self.until.get_or_insert(elapsed.saturating_add(span));
        // A clock that is set back makes it last no longer than it was to last.
        let left = left.min(i64::try_from(until.saturating_sub(elapsed)).unwrap_or(i64::MAX));
        if left > 0 {
            // In pieces, so that a clock that is set forward does not make it late by more than one.
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
