//! What the SLA blocks of a workflow expect, and the outcome.
//!
//! In: the blocks of the plan at submission, then the run at a time. Out: events, each once. A job without such a block
//! has no overhead.

use std::collections::BTreeMap;

use super::submit::Refused;
use super::{JobScope, Run, Status, World};
use crate::coordinator::{Progress, Sla, SlaEvent};
use crate::el::Phase;
use crate::plan::{NOWHERE, NodeIndex, Plan};
use crate::time::{Instant, ProcessingZone};

/// Reads every block with the properties of the job.
pub(super) fn register(
    plan: &Plan,
    run: &Run,
    world: &dyn World,
) -> Result<BTreeMap<NodeIndex, Sla>, Refused> {
    let mut expectations = BTreeMap::new();
    let scope = JobScope { plan, run, node: None, world, phase: Phase::WorkflowSla };
    for block in &plan.expectations {
        let of = match block.node {
            NOWHERE => "the workflow",
            node => plan.node(node).name.as_str(),
        };
        let mut leaves = Vec::with_capacity(block.leaves.len());
        for (name, text) in &block.leaves {
            match text.text(&scope) {
                Ok(text) => leaves.push((name.clone(), text.into_owned())),
                Err(failure) => {
                    let message = format!("the SLA of {of} cannot be evaluated (E1004): {failure}");
                    return Err(Refused::new("E0803", message));
                }
            }
        }
        let sla = Sla::register(&leaves, ProcessingZone::UTC).map_err(|failure| {
            // That of the job is registered by the submission, those of actions by the start that follows.
            let code = if block.node == NOWHERE { "E0803" } else { "E1007" };
            Refused::new(code, format!("the SLA of {of} cannot be kept: {failure}"))
        })?;
        expectations.insert(block.node, sla);
    }
    Ok(expectations)
}

fn progress(run: &Run, node: NodeIndex) -> Progress {
    let seconds = |ms: Option<i64>| ms.map(|ms| Instant(ms.div_euclid(1000)));
    let (started, ended, is_well) = match run.rows.get(&node) {
        _ if node == NOWHERE => {
            let is_well = run.job.status == super::JobStatus::Succeeded;
            (run.job.started, run.job.ended, is_well)
        }
        Some(row) => (row.started, row.ended, row.status == Status::Ok),
        None => (None, None, false),
    };
    Progress { started: seconds(started), ended: seconds(ended), is_well, is_skipped: false }
}

impl Run {
    /// What is decided by now and was not before: the node, [`NOWHERE`] for the job itself, and what came of it.
    pub fn look_at_expectations(&mut self, now_ms: i64) -> Vec<(NodeIndex, SlaEvent)> {
        let now = Instant(now_ms.div_euclid(1000));
        let mut expectations = std::mem::take(&mut self.expectations);
        let mut events = Vec::new();
        for (node, sla) in expectations.iter_mut().filter(|(_, sla)| !sla.is_over()) {
            let came = sla.look(now, progress(self, *node));
            events.extend(came.into_iter().map(|event| (*node, event)));
        }
        self.expectations = expectations;
        events
    }

    /// When something would be missed next, in milliseconds since 1970.
    pub fn next_expectation(&self) -> Option<i64> {
        let open = self.expectations.iter().filter(|(_, sla)| !sla.is_over());
        let next = open.filter_map(|(node, sla)| sla.next_look(progress(self, *node))).min()?;
        // A moment is missed when it is past.
        Some(next.plus_seconds(1).millis())
    }

    /// What is known of the start and the end of a node, or of the job itself.
    pub fn progress_of(&self, node: NodeIndex) -> Progress {
        progress(self, node)
    }
}
