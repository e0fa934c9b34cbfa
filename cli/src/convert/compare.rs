//! Compares the two sides of a scenario: what our simulator played, and what the other engine answered.
//!
//! The comparison covers the tasks that ran and how each ended, whether any began before one that it depends on, how
//! the run ended, the message of a kill node, and the folders that are waited for. If a path of a fork fails, a server
//! stops the other paths, and Airflow does not; [`going_on`] returns the nodes that may go on then.

use ankus::carry::airflow::{dag_id, python};
use ankus_engine::scenario::Played;
use ankus_lang::plan::{Node, Plan, Work};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A scenario that both sides play.
pub(super) struct Trial {
    pub(super) title: String,
    /// The prefix of its task ids if they share a graph with other applications.
    pub(super) prefix: String,
    /// Which coordinators must run after others in that graph.
    pub(super) behind: Vec<Behind>,
    /// The scenario for the other engine.
    pub(super) scenario: Value,
    pub(super) plan: Arc<Plan>,
    pub(super) played: Played,
    /// Folders that the run reads, by the name of the input that waits for them.
    pub(super) inputs: BTreeMap<String, Vec<String>>,
    /// Kill nodes whose messages are only approximate.
    pub(super) worded: BTreeSet<String>,
    /// Actions that became failure notices, with the kill nodes that send them.
    pub(super) notices: BTreeMap<String, String>,
}

/// A coordinator that must run after another one in a graph.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    /// The ids of its tasks.
    pub(super) tasks: Vec<String>,
    /// The ids of the tasks of the other coordinator.
    pub(super) before: Vec<String>,
    /// The task among these that writes the done flag, if there is one.
    pub(super) mark: Option<String>,
}

impl Trial {
    /// Returns the actions that fail in our simulator.
    pub(super) fn failed(&self) -> BTreeSet<&str> {
        let nodes = self.played.seen.nodes.iter().filter(|node| node.status == "ERROR");
        nodes.map(|node| &*node.name).collect()
    }

    /// Returns the task id of a node.
    fn id(&self, name: &str) -> String {
        format!("{}{}", self.prefix, dag_id(name))
    }
}

/// What a difference is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// The outcome of a node.
    Node(String),
    /// The message of a kill node.
    Message(String),
    /// The folders of an input.
    Input(String),
    /// The outcome of the run.
    Run,
    /// The scenario could not be played.
    Playing,
}

/// A difference.
#[derive(Clone, Debug)]
pub(super) struct Differs {
    pub(super) about: About,
    /// The difference in words.
    pub(super) what: String,
}

/// Returns the nodes that may run in the other engine although a server stops them: those on the other paths of a fork
/// of which one failed, and the kill node after an action whose expression failed, for which a server takes no error
/// transition. The run fails all the same.
pub(super) fn going_on(trial: &Trial) -> BTreeSet<String> {
    let (plan, seen) = (&trial.plan, &trial.played.seen);
    let mut going_on = BTreeSet::new();
    if seen.status == "SUCCEEDED" {
        return going_on;
    }
    let entered: BTreeSet<&str> = seen.nodes.iter().map(|node| node.name.as_str()).collect();
    for node in plan.nodes.iter().filter(|node| entered.contains(node.name.as_str())) {
        if matches!(node.work, Work::Fork { .. }) {
            let (within, joins) = paths(plan, node);
            if !joins.iter().any(|join| entered.contains(join.as_str())) {
                going_on.extend(within);
            }
        }
    }
    for node in seen.nodes.iter().filter(|node| node.status == "FAILED") {
        let failed = plan.find(&node.name).map(|index| plan.node(index));
        let after = failed.into_iter().flat_map(|failed| next(plan, failed));
        let kills = after.filter(|node| matches!(node.work, Work::Kill { .. }));
        going_on.extend(kills.map(|node| node.name.to_string()));
    }
    going_on
}

/// Returns the nodes between a fork and its join, and the names of the joins that close it.
fn paths(plan: &Plan, fork: &Node) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut within, mut joins) = (BTreeSet::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    let mut open: Vec<(&Node, usize)> = next(plan, fork).map(|node| (node, 1)).collect();
    while let Some((node, depth)) = open.pop() {
        if !seen.insert((&*node.name, depth)) {
            continue;
        }
        let depth = match node.work {
            Work::Join { .. } if depth == 1 => {
                joins.insert(node.name.to_string());
                continue;
            }
            Work::Join { .. } => depth - 1,
            Work::Fork { .. } => depth + 1,
            _ => depth,
        };
        within.insert(node.name.to_string());
        open.extend(next(plan, node).map(|node| (node, depth)));
    }
    (within, joins)
}

fn next<'a>(plan: &'a Plan, node: &Node) -> impl Iterator<Item = &'a Node> + use<'a> {
    node.work.targets().into_iter().map(|index| plan.node(index))
}

/// Returns the differences, except in nodes that may go on.
pub(super) fn differs(trial: &Trial, answer: &Value, going_on: &BTreeSet<String>) -> Vec<Differs> {
    if let Some(error) = answer["error"].as_str() {
        return vec![Differs { about: About::Playing, what: error.to_owned() }];
    }
    let mut differs = Vec::new();
    let seen = &trial.played.seen;
    let wanted = if seen.status == "SUCCEEDED" { "success" } else { "failed" };
    if answer["state"] != wanted {
        let what = format!("the job is {}, and the run {}", seen.status, answer["state"]);
        differs.push(Differs { about: About::Run, what });
    }
    if seen.status == "TIMEDOUT" {
        // The report says that this run fails; what matters is that no node of its workflow begins.
        let began = trial.plan.nodes.iter().filter(|node| {
            let order = answer["order"].as_array().into_iter().flatten();
            order.filter_map(Value::as_str).any(|task| task == trial.id(&node.name))
        });
        differs
            .extend(began.map(|node| {
                of_node(&node.name, format!("`{}` began without its data", node.name))
            }));
        return differs;
    }
    differs.extend(states(trial, answer, going_on));
    differs.extend(disorder(trial, answer));
    differs.extend(message(trial, answer));
    differs.extend(out_of_turn(trial, answer));
    for (name, uris) in &trial.inputs {
        let sensor = trial.id(&format!("wait_for_{}", python::identifier(name)));
        let found = &answer["found"][&sensor];
        if *found != json!(uris) && !found.is_null() {
            let what = format!("`{name}` is {}, and {found}", uris.join(","));
            differs.push(Differs { about: About::Input(name.clone()), what });
        }
    }
    differs
}

fn of_node(name: &str, what: String) -> Differs {
    Differs { about: About::Node(name.to_owned()), what }
}

/// Returns the nodes that ended differently, or ran on only one side.
fn states(trial: &Trial, answer: &Value, going_on: &BTreeSet<String>) -> Vec<Differs> {
    let mut differs = Vec::new();
    let state = |name: &str| answer["states"][trial.id(name)].as_str().unwrap_or("none").to_owned();
    let why = |name: &str| match answer["errors"][trial.id(name)].as_str() {
        Some(error) => format!(": {error}"),
        None => String::new(),
    };
    let unread: Vec<&str> =
        answer["unread"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let is_unread = |name: &str| unread.contains(&&*trial.id(name));
    let mut ran = BTreeSet::new();
    for node in &trial.played.seen.nodes {
        let name = &node.name;
        ran.insert(name.as_str());
        let Some(index) = trial.plan.find(name) else { continue };
        if let Some(kill) = trial.notices.get(name) {
            let sent = answer["notified"].as_array().into_iter().flatten();
            if !sent.filter_map(Value::as_str).any(|task| task == trial.id(kill)) {
                let what = format!("`{name}` was entered, and `{kill}` sent no notice");
                differs.push(of_node(name, what));
            }
            continue;
        }
        let expected = match (&trial.plan.node(index).work, node.status.as_str()) {
            (Work::Kill { .. }, _) | (_, "ERROR" | "FAILED") => "failed",
            (Work::Action(_) | Work::Decision { .. }, "OK") => "success",
            _ => continue,
        };
        let found = state(name);
        // If a parallel path failed, it may have been stopped before it began.
        let is_stopped = going_on.contains(name) && !matches!(&*found, "success" | "failed");
        if found != expected && !is_stopped {
            let what = format!("`{name}` is {}, and the task {found}{}", node.status, why(name));
            differs.push(of_node(name, what));
        }
        // A server takes no error transition in this case.
        if node.status == "ERROR" && is_unread(name) {
            let what = format!("`{name}` is ERROR, and an expression of the task failed");
            differs.push(of_node(name, what));
        }
    }
    for node in &trial.plan.nodes {
        let name = &node.name;
        let counts =
            matches!(node.work, Work::Action(_) | Work::Decision { .. } | Work::Kill { .. });
        let found = state(name);
        // A task that failed without having begun was rejected because the run had ended.
        let order = answer["order"].as_array().into_iter().flatten();
        let began = || order.clone().any(|task| *task == trial.id(name));
        let did = found == "success" || (found == "failed" && began());
        if counts && did && !going_on.contains(name) && !ran.contains(name.as_str()) {
            let what = format!("`{name}` was not entered, and the task is {found}{}", why(name));
            differs.push(of_node(name, what));
        }
    }
    differs
}

/// Returns the difference between the messages of the kill node that ended the run, if any.
fn message(trial: &Trial, answer: &Value) -> Option<Differs> {
    let seen = &trial.played.seen;
    let message = seen.message.as_ref().filter(|_| seen.status == "KILLED")?;
    let kills = |name: &str| {
        let work = &trial.plan.node(trial.plan.find(name)?).work;
        matches!(work, Work::Kill { .. }).then(|| name.to_owned())
    };
    let kill = seen.nodes.iter().rev().find_map(|node| kills(&node.name))?;
    if trial.worded.contains(&kill) {
        return None;
    }
    let said = answer["messages"].as_array().into_iter().flatten();
    if said.filter_map(Value::as_str).any(|said| said == message) {
        return None;
    }
    let what = format!("the message is `{message}`, and {}", answer["messages"]);
    Some(Differs { about: About::Message(kill), what })
}

/// Returns the ids of the tasks in the order in which they began.
fn order(answer: &Value) -> Vec<&str> {
    answer["order"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the coordinators of a graph that began before the one that they read from was done.
fn out_of_turn(trial: &Trial, answer: &Value) -> Vec<Differs> {
    let order = order(answer);
    let place = |id: &String| order.iter().position(|task| task == id);
    let state = |id: &String| answer["states"][id].as_str().unwrap_or("none");
    let mut differs = Vec::new();
    for behind in &trial.behind {
        let Some(began) = behind.tasks.iter().filter_map(place).min() else { continue };
        let is_early = match &behind.mark {
            Some(mark) => state(mark) != "success" || place(mark).is_some_and(|at| at > began),
            None => behind.before.iter().any(|id| place(id).is_some_and(|at| at > began)),
        };
        if is_early {
            let what = format!("`{}` began before what it reads was there", order[began]);
            differs.push(Differs { about: About::Playing, what });
        }
    }
    differs
}

/// Returns the tasks that began before a task that they depend on.
fn disorder(trial: &Trial, answer: &Value) -> Vec<Differs> {
    let order = order(answer);
    let place = |name: &str| order.iter().position(|task| *task == trial.id(name));
    let own = trial.played.taken.iter().filter(|(path, ..)| *path == trial.plan.path);
    let mut differs = Vec::new();
    for (_, from, to) in own {
        if let (Some(before), Some(after)) = (place(from), place(to))
            && before > after
        {
            differs.push(of_node(to, format!("`{to}` began before `{from}`")));
        }
    }
    differs
}
