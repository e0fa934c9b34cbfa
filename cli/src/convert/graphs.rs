//! Scenarios of coordinators that share a graph: while a scenario of one is played, all others succeed.
//!
//! Adds the behavior of the other coordinators to the scenarios of each one, and the order in which they have to run.
//! In a scenario in which the data of a coordinator never arrive, the coordinators that write them fail.

use super::Unit;
use super::carried::members_of;
use super::compare::{Behind, Trial};
use super::prove::Drawing;
use ankus::carry::airflow::{dag_id, python};
use ankus::carry::joined::Joined;
use ankus_lang::plan::Work;
use serde_json::{Value, json};

/// Completes the scenarios of all units that share a graph.
pub(super) fn put_together(units: &[Unit], joined: &[Joined], all: &mut [Drawing]) {
    let firsts = joined.iter().filter_map(|one| one.graph.as_ref());
    for graph in firsts.filter(|place| place.order == 0).map(|place| &place.graph) {
        let members = members_of(graph, joined);
        let known = match known(units, &members, all) {
            Ok(known) => known,
            Err(why) => {
                members.iter().for_each(|at| all[*at] = Err(why.clone()));
                continue;
            }
        };
        let behind = behind(units, joined, &members, &known);
        for at in members {
            for trial in all[at].iter_mut().flatten() {
                trial.scenario["dag"] = json!(graph);
                trial.behind.clone_from(&behind);
                let never = trial.played.seen.status == "TIMEDOUT";
                for other in known.iter().filter(|other| other.name != units[at].name) {
                    let mut read = joined[at].inputs.values();
                    let is_read = read.any(|writer| writer.name == other.name);
                    other.add_to(&mut trial.scenario, never, is_read);
                }
            }
        }
    }
}

/// A coordinator, with the scenario in which it succeeds.
struct Known {
    name: String,
    /// The ids of its actions and decisions.
    tasks: Vec<String>,
    scenario: Value,
}

impl Known {
    /// Adds its behavior to the scenario of another coordinator of its graph.
    fn add_to(&self, scenario: &mut Value, never: bool, is_read: bool) {
        for part in ["conf", "secrets", "variables", "tasks", "files"] {
            // The data that this one reads do not arrive either.
            if part == "files" && never {
                continue;
            }
            let Some(own) = self.scenario[part].as_object() else { continue };
            for (name, value) in own {
                if scenario[part].get(name).is_none() {
                    scenario[part][name] = value.clone();
                }
            }
        }
        if never && is_read {
            for task in &self.tasks {
                scenario["tasks"][task] = json!({"result": "error"});
            }
        }
    }
}

/// Returns the successful scenario of each member of a graph.
fn known(units: &[Unit], members: &[usize], all: &[Drawing]) -> Result<Vec<Known>, String> {
    let one = |at: &usize| {
        let name = units[*at].name.clone();
        let first: Option<&Trial> = all[*at].as_ref().map_err(Clone::clone)?.first();
        let first = first.filter(|trial| trial.played.seen.status == "SUCCEEDED");
        let first =
            first.ok_or_else(|| format!("`{name}`, which shares its graph, does not succeed"))?;
        let nodes = first.plan.nodes.iter();
        let does =
            nodes.filter(|node| matches!(node.work, Work::Action(_) | Work::Decision { .. }));
        let tasks = does.map(|node| format!("{}{}", first.prefix, dag_id(&node.name))).collect();
        Ok(Known { name, tasks, scenario: first.scenario.clone() })
    };
    members.iter().map(one).collect()
}

/// Returns which coordinators must run after which.
fn behind(units: &[Unit], joined: &[Joined], members: &[usize], known: &[Known]) -> Vec<Behind> {
    let mut found = Vec::new();
    for (place, at) in members.iter().enumerate() {
        for writer in joined[*at].inputs.values() {
            let Some(from) = members.iter().position(|at| units[*at].name == writer.name) else {
                continue;
            };
            let group = python::identifier(&writer.name);
            let mark = writer.action.as_ref().map(|task| format!("{group}.{}", dag_id(task)));
            let (tasks, before) = (known[place].tasks.clone(), known[from].tasks.clone());
            found.push(Behind { tasks, before, mark });
        }
    }
    found
}
