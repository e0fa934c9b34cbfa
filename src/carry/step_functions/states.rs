//! The control flow as states.
//!
//! A fork becomes a `Parallel` state, and the nodes between it and its join become the branches. A state can only lead
//! to states of the same branch, so that a node which is reachable from several branches is copied into each of them.

use super::Printer;
use crate::analysis::Analysis;
use crate::carry::claims;
use crate::carry::commands::Commands;
use crate::carry::ledger::Outcome;
use crate::carry::shared::shared;
use crate::ir::workflow::{Action, NodeId, Shape, Way, Workflow};
use crate::passes::flow::Flow;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum nesting depth of forks.
const DEEPEST: usize = 40;
/// Maximum number of states of a machine: AWS accepts 10,000 states, or one megabyte.
const MOST: usize = 10_000;

/// A state machine, or a branch of a `Parallel` state.
#[derive(Debug, Default)]
pub(super) struct Machine {
    /// The name of the first state.
    pub start: String,
    /// Its states.
    pub states: Map<String, Value>,
}

/// A part of a workflow whose states are in the same machine or branch.
struct Region<'a> {
    flow: Flow<'a>,
    /// The join at which it ends.
    stop: Option<NodeId>,
    depth: usize,
    names: BTreeMap<NodeId, String>,
    todo: Vec<NodeId>,
    /// The state that ends it, if a choice or a failure leads to its join.
    last: Option<String>,
    /// The state that fails the run if an expression of an action failed.
    failed: Option<String>,
}

impl<'a> Printer<'a> {
    /// Returns the states of a part of a workflow, from a node to a join.
    pub(super) fn region(
        &mut self,
        flow: Flow<'a>,
        entry: NodeId,
        stop: Option<NodeId>,
        depth: usize,
    ) -> Result<Machine, String> {
        if depth > DEEPEST {
            return Err("forks are nested too deeply".to_owned());
        }
        let (names, todo) = (BTreeMap::new(), Vec::new());
        let mut region = Region { flow, stop, depth, names, todo, last: None, failed: None };
        let outer = self.scope.clone();
        if depth > 0 {
            self.branches += 1;
            self.scope = self.branches.to_string();
        }
        let start = self.state_of(&mut region, entry)?;
        let start = match start {
            Some(start) => start,
            None => self.last_of(&mut region),
        };
        let mut found: BTreeMap<NodeId, Value> = BTreeMap::new();
        while let Some(id) = region.todo.pop() {
            let state = self.state(&mut region, id)?;
            found.insert(id, state);
            self.count += 1;
            if self.count > MOST {
                return Err(format!("it has more than {MOST} states"));
            }
        }
        let mut machine = Machine { start, states: Map::new() };
        if depth > 0 && self.tells_errors {
            // A branch cannot assign the variables of an outer scope, so that it gets copies.
            let name = self.name_of("Errors");
            let assign = json!({
                format!("lastErrorNode{}", self.scope): format!("{{% $lastErrorNode{outer} %}}"),
                format!("errors{}", self.scope): format!("{{% $errors{outer} %}}"),
            });
            let state = json!({"Type": "Pass", "Assign": assign, "Next": machine.start});
            machine.states.insert(name.clone(), state);
            machine.start = name;
        }
        for (id, state) in found {
            machine.states.insert(region.names[&id].clone(), state);
        }
        if let Some(last) = region.last {
            machine.states.insert(last, json!({"Type": "Succeed"}));
        }
        if let Some(failed) = region.failed {
            let cause = "an expression of an action could not be evaluated";
            // Error names that begin with `States.` are reserved for the service.
            let state = json!({"Type": "Fail", "Error": "ExpressionFailed", "Cause": cause});
            machine.states.insert(failed, state);
        }
        self.scope = outer;
        Ok(machine)
    }

    /// Returns a unique name for a state.
    pub(super) fn name_of(&mut self, wanted: &str) -> String {
        let wanted: String = wanted.chars().take(70).collect();
        let mut name = wanted.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{wanted} ({number})");
        }
        name
    }

    fn last_of(&mut self, region: &mut Region<'a>) -> String {
        if let Some(last) = &region.last {
            return last.clone();
        }
        let join = region.stop.map(|join| region.flow.workflow.node(join).name.text.to_string());
        let name = self.name_of(&join.unwrap_or_default());
        region.last = Some(name.clone());
        name
    }

    fn failed_of(&mut self, region: &mut Region<'a>) -> String {
        if let Some(failed) = &region.failed {
            return failed.clone();
        }
        let name = self.name_of("Expression failed");
        region.failed = Some(name.clone());
        name
    }

    /// Returns the state of a node; none if the region ends there.
    fn state_of(&mut self, region: &mut Region<'a>, id: NodeId) -> Result<Option<String>, String> {
        if region.stop == Some(id) {
            return Ok(None);
        }
        if let Some(name) = region.names.get(&id) {
            return Ok(Some(name.clone()));
        }
        let node = region.flow.workflow.node(id);
        let name = &node.name.text;
        match node.shape {
            Shape::Join => {
                return Err(format!("the join `{name}` is reached from elsewhere than its fork"));
            }
            Shape::End if region.stop.is_some() || region.depth > 0 => {
                return Err(format!("`{name}` is reached while the paths of a fork run"));
            }
            _ => {}
        }
        let own = self.name_of(name);
        region.names.insert(id, own.clone());
        region.todo.push(id);
        Ok(Some(own))
    }

    /// Returns the name of the state of a node, or of the state that ends the region.
    fn target(&mut self, region: &mut Region<'a>, id: Option<NodeId>) -> Result<String, String> {
        let id = id.ok_or("a transition leads to no node")?;
        match self.state_of(region, id)? {
            Some(name) => Ok(name),
            None => Ok(self.last_of(region)),
        }
    }

    /// Makes a state lead to a node.
    fn lead(
        &mut self,
        region: &mut Region<'a>,
        state: &mut Value,
        id: Option<NodeId>,
    ) -> Result<(), String> {
        let id = id.ok_or("a transition leads to no node")?;
        match self.state_of(region, id)? {
            Some(name) => state["Next"] = json!(name),
            None => state["End"] = json!(true),
        }
        Ok(())
    }

    fn state(&mut self, region: &mut Region<'a>, id: NodeId) -> Result<Value, String> {
        let flow = region.flow;
        let node = flow.workflow.node(id);
        let next = |way: Way| flow.exit(id, way).and_then(|(_, target)| target);
        match node.shape {
            Shape::End => Ok(json!({"Type": "Succeed"})),
            Shape::Kill => {
                let message = node.message.as_deref().map(|text| self.say(text));
                Ok(json!({
                    "Type": "Fail",
                    "Error": node.name.text.to_string(),
                    "Cause": message.unwrap_or_default().field(),
                }))
            }
            Shape::Action => {
                let mut state = self.task(flow.workflow, id);
                let target = self.target(region, next(Way::Error))?;
                let mut catch = json!({"ErrorEquals": ["States.ALL"]});
                if self.tells_errors {
                    let (name, scope) = (&node.name.text, self.scope.clone());
                    let merged = format!(
                        "{{% $merge([$errors{scope}, {{{}: $states.errorOutput}}]) %}}",
                        super::expression::quoted(name)
                    );
                    catch["Assign"] = json!({
                        format!("lastErrorNode{scope}"): name.to_string(),
                        format!("errors{scope}"): merged,
                    });
                }
                catch["Next"] = json!(target);
                let mut catches = vec![catch];
                if may_fail(&state["Arguments"]) {
                    // A server then fails the job and does not take the error transition.
                    let name = self.failed_of(region);
                    catches.insert(0, json!({"ErrorEquals": [EXPRESSION], "Next": name}));
                    if let Some(Value::Array(retries)) = state.get_mut("Retry") {
                        retries.insert(0, json!({"ErrorEquals": [EXPRESSION], "MaxAttempts": 0}));
                    }
                }
                state["Catch"] = json!(catches);
                self.lead(region, &mut state, next(Way::Ok))?;
                Ok(state)
            }
            Shape::Decision => self.choice(region, id),
            Shape::Fork => self.parallel(region, id),
            Shape::Start | Shape::Join => {
                let mut state = json!({"Type": "Pass"});
                let target = flow.next(id).next();
                self.lead(region, &mut state, target)?;
                Ok(state)
            }
        }
    }

    fn choice(&mut self, region: &mut Region<'a>, id: NodeId) -> Result<Value, String> {
        let flow = region.flow;
        if let Some(element) = self.now.tree.element(flow.workflow.node(id).element)
            && let Some(switch) = element.child("switch")
        {
            self.now.ledger.exact(switch.name_span());
        }
        let exits: Vec<_> = flow.exits(id).collect();
        let (mut choices, mut default) = (Vec::new(), None);
        for (exit, target) in exits {
            let name = self.target(region, target)?;
            match &exit.predicate {
                Some(predicate) => {
                    let condition = self.say(predicate).condition();
                    choices.push(json!({"Condition": condition, "Next": name}));
                }
                None => default = Some(name),
            }
        }
        let mut state = json!({"Type": "Choice", "Choices": choices});
        match default {
            // A `Choice` state needs at least one case.
            Some(default) if choices.is_empty() => {
                return Ok(json!({"Type": "Pass", "Next": default}));
            }
            Some(default) => state["Default"] = json!(default),
            None => {}
        }
        Ok(state)
    }

    fn parallel(&mut self, region: &mut Region<'a>, id: NodeId) -> Result<Value, String> {
        let flow = region.flow;
        let name = &flow.workflow.node(id).name.text;
        let join = join_of(flow, id)?;
        let entries: Vec<Option<NodeId>> = flow.exits(id).map(|(_, target)| target).collect();
        let mut branches = Vec::new();
        for entry in entries {
            let entry = entry.ok_or("a transition leads to no node")?;
            // The paths of a fork without a join end only in failures.
            let stop = join.or(region.stop);
            let branch = self.region(flow, entry, stop, region.depth + 1)?;
            branches.push(json!({"StartAt": branch.start, "States": branch.states}));
        }
        if branches.is_empty() {
            return Err(format!("the fork `{name}` has no paths"));
        }
        let mut state = json!({"Type": "Parallel", "Branches": branches});
        match join {
            Some(join) => {
                let next = flow.next(join).next();
                self.lead(region, &mut state, next)?;
            }
            None => state["End"] = json!(true),
        }
        Ok(state)
    }

    /// Returns the state of an action, with its retries.
    fn task(&mut self, workflow: &Workflow, id: NodeId) -> Value {
        let node = workflow.node(id);
        let name = node.name.text.to_string();
        let body = node.action.as_ref().and_then(|action| action.body.as_ref());
        let body =
            body.map(|body| shared(workflow, body, (self.given.around, self.given.properties)));
        let known = body.as_ref().and_then(|body| self.action(&name, body));
        let mut state = known.unwrap_or_else(|| {
            let kind = body.map(|body| body.kind.to_string()).unwrap_or_default();
            json!({
                "Type": "Task",
                "Resource": "arn:aws:states:::lambda:invoke",
                "Arguments": {
                    "FunctionName": "${TaskFunction}",
                    "Payload": {"action": name, "type": kind},
                },
            })
        });
        if let Some(action) = node.action.as_deref() {
            self.retries(action, &mut state);
        }
        state
    }

    fn retries(&mut self, action: &Action, state: &mut Value) {
        if let Some(cred) = &action.cred {
            self.differs(cred.span(), super::CREDENTIALS, super::ROLE);
        }
        let Some(most) = &action.retry_max else { return };
        let known = claims::retries(&mut self.now.ledger, action, self.given.properties);
        let Some((times, minutes)) = known else {
            let reason = "the number of retries or the interval between them is not known";
            self.now.ledger.claim(most.span(), Outcome::None, reason, "write a Retry");
            return;
        };
        let reason = "a server retries only some errors, but here every failure is retried";
        self.differs(most.span(), reason, "");
        let mut rate = 1;
        if let Some(policy) = &action.retry_policy
            && self.say(policy).known().is_some_and(|known| known.trim() == "exponential")
        {
            rate = 2;
        }
        if times > 0 {
            state["Retry"] = json!([{
                "ErrorEquals": ["States.TaskFailed"],
                "IntervalSeconds": (minutes * 60).max(1),
                "MaxAttempts": times,
                "BackoffRate": rate,
            }]);
        }
    }

    /// Claims nodes and transitions, and the parts of the source outside all nodes.
    pub(super) fn claim_flow(&mut self, analysis: &Analysis) {
        let defaults = (self.given.properties, claims::Defaults::AsWritten);
        let credentials = (super::CREDENTIALS, super::ROLE);
        claims::flow(&mut self.now.ledger, analysis, credentials, defaults, self.given.around);
        let workflow = analysis.flow().workflow;
        let slas = workflow.actions().filter_map(|(_, _, action)| action.sla.as_deref());
        for sla in slas.chain(&workflow.sla) {
            self.sla(sla.span);
        }
    }

    /// Reports an SLA, which has no counterpart.
    pub(super) fn sla(&mut self, span: crate::source::Span) {
        let reason = "Step Functions has no SLAs";
        let remedy = "set a CloudWatch alarm on the metrics of the state machine";
        self.now.ledger.whole(span, Outcome::None, reason, remedy);
    }
}

/// The error name of Step Functions for an expression that fails.
const EXPRESSION: &str = "States.QueryEvaluationError";

/// Whether the arguments of a state contain an expression that can fail: one that calls a function.
fn may_fail(arguments: &Value) -> bool {
    /// Functions that do not fail for any text.
    const SAFE: [&str; 6] = ["join", "exists", "trim", "lowercase", "uppercase", "fromMillis"];
    match arguments {
        Value::String(text) => {
            let calls = text.strip_prefix("{%").unwrap_or_default().split('$').skip(1);
            calls
                .filter_map(|call| call.split_once('('))
                .any(|(name, _)| name.chars().all(char::is_alphanumeric) && !SAFE.contains(&name))
        }
        Value::Array(values) => values.iter().any(may_fail),
        Value::Object(values) => values.values().any(may_fail),
        _ => false,
    }
}

/// Returns the join of a fork; none if each of its paths ends in a failure.
fn join_of(flow: Flow<'_>, fork: NodeId) -> Result<Option<NodeId>, String> {
    let name = &flow.workflow.node(fork).name.text;
    let mut joins = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut todo: Vec<(NodeId, usize)> = flow.next(fork).map(|id| (id, 0)).collect();
    while let Some((id, depth)) = todo.pop() {
        if !seen.insert((id, depth)) {
            continue;
        }
        if seen.len() > 100_000 {
            return Err(format!(
                "it would take too long to find out where the paths of `{name}` meet"
            ));
        }
        let depth = match flow.workflow.node(id).shape {
            Shape::Join if depth == 0 => {
                joins.insert(id);
                continue;
            }
            Shape::Join => depth - 1,
            Shape::Fork => depth + 1,
            _ => depth,
        };
        let exits = flow.exits(id).filter(|(exit, _)| exit.way != Way::Error);
        todo.extend(exits.filter_map(|(_, target)| Some((target?, depth))));
    }
    if joins.len() > 1 {
        return Err(format!("the paths of the fork `{name}` end at several joins"));
    }
    Ok(joins.into_iter().next())
}
