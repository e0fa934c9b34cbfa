//! The expectations of the SLA blocks of a workflow, and their outcome.
//!
//! The blocks of the plan are evaluated at submission; then the run is examined at given times and yields events, each
//! once. A job without SLA blocks has no overhead.

use std::collections::BTreeMap;

use super::submit::Refused;
use super::{JobScope, Run, Status, World};
use crate::coordinator::{Progress, Sla, SlaEvent};
use crate::el::Phase;
use crate::plan::{NOWHERE, NodeIndex, Plan};
use crate::time::{Instant, ProcessingZone};

/// Evaluates every block with the properties of the job.
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
            // The block of the job is registered at submission, those of actions at the start that follows.
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
    /// Returns the expectations that are decided now and were not before: the node, [`NOWHERE`] for the job itself, and
    /// the event.
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

    /// Returns the next time at which an expectation could be missed, in milliseconds since 1970.
    pub fn next_expectation(&self) -> Option<i64> {
        let open = self.expectations.iter().filter(|(_, sla)| !sla.is_over());
        let next = open.filter_map(|(node, sla)| sla.next_look(progress(self, *node))).min()?;
        // A deadline is missed only after its second has passed.
        Some(next.plus_seconds(1).millis())
    }

    /// Returns the known start and end of a node, or of the job itself.
    pub fn progress_of(&self, node: NodeIndex) -> Progress {
        progress(self, node)
    }
}
