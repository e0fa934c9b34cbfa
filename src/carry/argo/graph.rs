//! The tasks of a workflow as tasks of a DAG: the dependencies of each, and when it runs.
//!
//! Argo does not distinguish a task that was omitted because of a choice from one that was omitted because of a
//! failure. A task with several predecessors therefore checks for the failures themselves.

use super::expression::{Before, outer};
use super::{Printer, actions};
use crate::carry::model::{Does, Failure, Runs, TaskId, Tasks};
use crate::carry::shared::shared;
use crate::carry::yaml::{Yaml, text};
use crate::ir::workflow::{NodeId, Workflow};
use std::collections::{BTreeMap, BTreeSet};

/// The tasks with facts about the whole graph.
struct Graph<'a> {
    tasks: &'a Tasks,
    names: Vec<String>,
    /// The transitive predecessors of each task.
    before: Vec<BTreeSet<TaskId>>,
    /// What the failure of each task leads to.
    failures: Vec<Failure>,
    /// Tasks whose failure can only end the run.
    fragile: BTreeSet<TaskId>,
    /// For each task, whether it runs in every run in which nothing fails.
    certain: Vec<bool>,
    /// Actions that could not be converted and became failing tasks: no error transition of theirs may let the run
    /// succeed.
    refused: BTreeSet<TaskId>,
}

impl<'a> Graph<'a> {
    fn new(tasks: &'a Tasks, names: Vec<String>) -> Graph<'a> {
        let list = &tasks.list;
        let mut certain = vec![false; list.len()];
        for at in tasks.in_order() {
            certain[at] = list[at].after_failed.is_empty()
                && list[at].after.iter().all(|from| {
                    let chooses = matches!(list[*from].does, Does::Decide(..) | Does::Route(..));
                    certain[*from] && !chooses
                });
        }
        let failures = tasks.failures();
        let fails = |at: &TaskId| {
            matches!(list[*at].does, Does::Action(_)) && failures[*at].routed.is_empty()
        };
        let fragile = (0..list.len()).filter(fails).collect();
        let before = tasks.before();
        Graph { tasks, names, before, failures, fragile, certain, refused: BTreeSet::new() }
    }

    /// Whether the failure of one task may lead to another task.
    fn leads(&self, failed: TaskId, to: TaskId) -> bool {
        let reaches = |at: &TaskId| *at == to || self.before[to].contains(at);
        let Failure { routed, direct } = &self.failures[failed];
        routed.iter().any(|at| reaches(at) && !self.refused.contains(&failed))
            || direct.iter().any(reaches)
    }

    /// Returns the condition on the predecessors of a task.
    fn depends(&self, at: TaskId) -> Option<String> {
        let task = &self.tasks.list[at];
        let each = |list: &[TaskId], results: &[&str]| -> Vec<String> {
            let one = |id: &TaskId| {
                let words: Vec<String> =
                    results.iter().map(|result| format!("{}.{result}", self.names[*id])).collect();
                words.join(" || ")
            };
            list.iter().map(one).collect()
        };
        let failed = ["Failed", "Errored"];
        Some(match task.runs {
            Runs::AfterAll | Runs::AfterAny if task.after.is_empty() => return None,
            Runs::AfterAll => each(&task.after, &["Succeeded"]).join(" && "),
            Runs::AfterAny if self.certain[at] => each(&task.after, &["Succeeded"]).join(" && "),
            Runs::AfterAny => {
                let (sure, open): (Vec<TaskId>, Vec<TaskId>) =
                    task.after.iter().partition(|from| self.certain[**from]);
                let passed = each(&open, &["Succeeded", "Skipped", "Omitted"]);
                let mut all = each(&sure, &["Succeeded"]);
                all.extend(passed.into_iter().map(|one| format!("({one})")));
                if sure.is_empty() {
                    all.push(format!("({})", each(&task.after, &["Succeeded"]).join(" || ")));
                }
                for id in self.doomed(at) {
                    let name = &self.names[id];
                    all.push(format!("!{name}.Failed && !{name}.Errored"));
                }
                all.join(" && ")
            }
            Runs::OnFailure => each(&task.after_failed, &failed).join(" || "),
            Runs::OnEither => {
                let mut all = each(&task.after, &["Succeeded"]);
                all.extend(each(&task.after_failed, &failed));
                all.join(" || ")
            }
            Runs::AfterDone if task.after.iter().all(|from| self.refused.contains(from)) => {
                each(&task.after, &["Succeeded"]).join(" && ")
            }
            Runs::AfterDone => each(&task.after, &["Succeeded", "Failed", "Errored"]).join(" || "),
        })
    }

    /// Returns fragile tasks that precede some, but not all predecessors of a task, and whose failure does not lead to
    /// it.
    fn doomed(&self, at: TaskId) -> Vec<TaskId> {
        let after = &self.tasks.list[at].after;
        let is_before = |id: TaskId, from: &TaskId| self.before[*from].contains(&id);
        let counts = |id: &TaskId| {
            self.before[at].contains(id)
                && !after.contains(id)
                && !after.iter().all(|from| is_before(*id, from))
                && !self.leads(*id, at)
        };
        self.fragile.iter().copied().filter(counts).collect()
    }

    /// Returns the actions that precede a task, the nearest first.
    fn actions(&self, at: TaskId, workflow: &Workflow) -> Vec<(TaskId, Before)> {
        let mut all: Vec<(TaskId, Before)> = self.before[at]
            .iter()
            .filter_map(|id| match self.tasks.list[*id].does {
                Does::Action(node) => {
                    let node = workflow.node(node).name.text.to_string();
                    Some((*id, (node, self.names[*id].clone())))
                }
                _ => None,
            })
            .collect();
        all.sort_by_key(|(id, _)| std::cmp::Reverse(self.before[*id].len()));
        all
    }
}

impl Printer<'_> {
    /// Prints the tasks of a DAG; the templates of actions go to the printer.
    pub(super) fn graph(&mut self, workflow: &Workflow, tasks: &Tasks) -> Vec<Yaml> {
        let names = tasks.list.iter().map(|task| self.name_of(&task.name)).collect();
        let mut graph = Graph::new(tasks, names);
        // The conditions of a choice are computed before the tasks that it leads to.
        let mut conditions: Vec<Option<String>> = vec![None; tasks.list.len()];
        let mut printed = Vec::new();
        for (at, task) in tasks.list.iter().enumerate() {
            let known = graph.actions(at, workflow);
            let led = |id: TaskId| graph.leads(id, at);
            self.failed =
                known.iter().filter(|(id, _)| led(*id)).map(|(_, one)| one.clone()).collect();
            self.before = known.into_iter().map(|(_, one)| one).collect();
            self.lack = None;
            let own = self.task(&graph, at, workflow, &mut conditions);
            match task.does {
                Does::Decide(..) if own.template != "pass" => drop(graph.fragile.insert(at)),
                Does::Action(_) if own.template == "kill" => {
                    graph.fragile.insert(at);
                    graph.refused.insert(at);
                }
                _ => {}
            }
            printed.push(own.entry(&graph.names[at]));
        }
        let with = |(at, mut entry): (usize, Yaml)| {
            if let Some(depends) = graph.depends(at) {
                entry = entry.and("depends", text(depends));
            }
            match conditions[at].take() {
                Some(condition) => entry.and("when", text(condition)),
                None => entry,
            }
        };
        printed.into_iter().enumerate().map(with).collect()
    }

    fn task(
        &mut self,
        graph: &Graph<'_>,
        at: TaskId,
        workflow: &Workflow,
        conditions: &mut [Option<String>],
    ) -> actions::Called {
        let task = &graph.tasks.list[at];
        match &task.does {
            Does::Pass => actions::Called::of("pass"),
            // Success and failure lead to the same task.
            Does::Route(_, ok, error) if ok == error => actions::Called::of("pass"),
            Does::Route(_, ok, error) => {
                // The action is the only predecessor.
                let action = task.after.first().map_or("", |id| graph.names[*id].as_str());
                conditions[*ok] = Some(format!("{{{{tasks.{action}.status}}}} == Succeeded"));
                conditions[*error] = Some(format!("{{{{tasks.{action}.status}}}} != Succeeded"));
                actions::Called::of("pass")
            }
            Does::Decide(id, targets) => {
                self.decision(workflow, *id, targets, conditions);
                match self.lack.take() {
                    Some(why) => actions::Called::killed(&why),
                    None => actions::Called::of("pass"),
                }
            }
            Does::Kill(id) => {
                let message = workflow.node(*id).message.as_deref();
                let message = message.map(|message| self.say(message)).unwrap_or_default();
                actions::Called::killed_with(message.tagged())
            }
            Does::Action(id) => {
                let Some(action) = workflow.node(*id).action.as_deref() else {
                    return actions::Called::of("pass");
                };
                let body =
                    action.body.as_ref().map(|body| shared(workflow, body, self.given.around));
                self.action(&graph.names[at], action, body.as_ref())
            }
        }
    }

    /// Sets the condition of each target of a decision: its case is true, and none before it.
    fn decision(
        &mut self,
        workflow: &Workflow,
        id: NodeId,
        targets: &[TaskId],
        conditions: &mut [Option<String>],
    ) {
        if let Some(element) = self.tree.element(workflow.node(id).element)
            && let Some(switch) = element.child("switch")
        {
            self.ledger.exact(switch.name_span());
        }
        let mut held: Vec<String> = Vec::new();
        let mut found: Vec<(TaskId, String)> = Vec::new();
        let exits = workflow.exits(id);
        for (exit, target) in exits.iter().filter(|exit| exit.target.given).zip(targets) {
            let own = exit.predicate.as_ref().map(|predicate| self.say(predicate).holds());
            let bracket = |code: &str| match outer(code) != code {
                true => code.to_owned(),
                false => format!("({code})"),
            };
            let mut all: Vec<String> =
                held.iter().map(|code| format!("not {}", bracket(code))).collect();
            if own.as_deref() == Some("false") {
                found.push((*target, "false".to_owned()));
                continue;
            }
            if let Some(own) = own {
                let is_first = all.is_empty();
                all.push(if is_first { outer(&own).to_owned() } else { bracket(&own) });
                held.push(own);
            }
            let code = if all.is_empty() { "true".to_owned() } else { all.join(" and ") };
            found.push((*target, code));
        }
        // Several cases may lead to one target.
        let mut leading: BTreeMap<TaskId, Vec<String>> = BTreeMap::new();
        for (target, code) in found {
            leading.entry(target).or_default().push(code);
        }
        for (target, mut codes) in leading {
            if codes.len() > 1 {
                codes.retain(|code| code != "false");
            }
            conditions[target] = Some(match &codes[..] {
                [] => "false".to_owned(),
                [code] if code == "true" || code == "false" => code.clone(),
                [code] => format!("{{{{={code}}}}}"),
                codes => format!("{{{{=({})}}}}", codes.join(") or (")),
            });
        }
    }
}
