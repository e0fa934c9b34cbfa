//! The scope of a workflow's expressions.

use std::borrow::Cow;

use super::{Run, World};
use crate::coordinator::partition_places;
use crate::el::{self, Called, Failure, FileScope, NodeState, Phase, Scope, Value, WorkflowScope};
use crate::plan::{NodeIndex, Plan};
use crate::time::ProcessingZone;

/// A job as the scope of an expression.
pub struct JobScope<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The run.
    pub run: &'a Run,
    /// The node whose expressions are evaluated, if any.
    pub node: Option<NodeIndex>,
    /// The world.
    pub world: &'a dyn World,
    /// The phase of evaluation.
    pub phase: Phase,
}

impl Scope for JobScope<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        let value = self.run.conf.get(name)?;
        self.phase.admit_kept(name, value).map(Value::String)
    }

    fn workflow(&self) -> Option<&dyn WorkflowScope> {
        Some(self)
    }

    fn files(&self) -> Option<&dyn FileScope> {
        self.world.files()
    }

    fn zone(&self) -> ProcessingZone {
        let set = self.world.server("oozie.processing.timezone");
        set.and_then(ProcessingZone::from_id).unwrap_or_default()
    }

    fn now(&self) -> Option<i64> {
        Some(self.world.now())
    }

    fn hcat_exists(&self, uri: &str) -> Option<Result<bool, Box<Failure>>> {
        let files = self.world.files()?;
        for place in partition_places(uri) {
            match files.partition(&place) {
                Ok(false) => {}
                found => return Some(found),
            }
        }
        Some(Ok(false))
    }

    fn site(&self, name: &str, arguments: &[Value<'_>]) -> Option<Result<Value<'_>, Box<Failure>>> {
        let node = self.node.map(|node| self.plan.node(node).name.as_str());
        el::answer(&self.plan.functions, name, arguments, |words| {
            let job = self.run.job.id.as_str();
            self.world.call(&Called { function: name, words, job, node })
        })
    }
}

impl WorkflowScope for JobScope<'_> {
    fn id(&self) -> Option<Cow<'_, str>> {
        Some(self.run.job.id.as_str().into())
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        Some(self.run.job.name.as_str().into())
    }

    fn app_path(&self) -> Option<Cow<'_, str>> {
        Some(self.run.job.app_path.as_str().into())
    }

    fn user(&self) -> Option<Cow<'_, str>> {
        Some(self.run.job.user.as_str().into())
    }

    fn group(&self) -> Option<Cow<'_, str>> {
        self.run.job.group.as_deref().map(Cow::from)
    }

    fn run(&self) -> i64 {
        i64::from(self.run.job.run)
    }

    fn conf(&self, name: &str) -> Result<Option<Cow<'_, str>>, Box<Failure>> {
        let Some(value) = self.run.conf.get(name) else { return Ok(None) };
        let lookup = |name: &str| self.run.conf.get(name).map(|value| Cow::from(value.as_str()));
        crate::configuration::substitute(value, lookup)
            .map(Some)
            .map_err(|endless| Failure::exception("IllegalStateException", endless.to_string()))
    }

    fn callback(&self, status: &str) -> Option<String> {
        let node = self.plan.node(self.node?);
        self.world.callback(&format!("{}@{}", self.run.job.id, node.name), status)
    }

    fn last_error_node(&self) -> Option<Cow<'_, str>> {
        self.run.job.last_error.map(|node| self.plan.node(node).name.as_str().into())
    }

    fn node(&self, name: &str) -> Option<NodeState<'_>> {
        let row = self.run.rows.get(&self.plan.find(name)?)?;
        fn of(text: Option<&str>) -> Option<Cow<'_, str>> {
            text.map(Cow::Borrowed)
        }
        let mut state =
            NodeState { transition: of(row.transition.as_deref()), ..NodeState::default() };
        if row.left {
            state.data = of(row.output.data.as_deref());
            state.child_ids = of(row.output.child_ids.as_deref());
            state.stats = of(row.output.stats.as_deref());
            state.external_id = of(row.external.id());
            state.tracker_uri = of(row.external.tracker());
            state.external_status = of(row.external.status.as_deref());
            state.error_code = of(row.error.code.as_deref());
            state.error_message = of(row.error.message.as_deref());
        }
        Some(state)
    }
}
