//! The tasks of a workflow as tasks of a DAG: the dependencies of each, and when it runs.
//!
//! Argo does not distinguish a task that was omitted because of a choice from one that was omitted because of a
//! failure. A task with several predecessors therefore checks for the failures themselves.

use super::{Printer, actions};
use crate::carry::model::{Does, Runs, Task, TaskId, Tasks};
use crate::carry::reached::{Preceding, Reached};
use crate::carry::shared::shared;
use crate::carry::typed::outer;
use crate::carry::yaml::{Yaml, text};
use crate::ir::workflow::{NodeId, Workflow};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The most cases of a decision whose conditions repeat those before them.
const MOST_CASES: usize = 10;

/// Tasks that go on with the later cases of a decision, by the decision.
type Otherwise = BTreeMap<TaskId, Vec<TaskId>>;

/// Divides decisions with many cases: a task that runs if none of the first cases holds leads on to the later ones, whose
/// conditions need not repeat the first.
fn split(tasks: &Tasks) -> (Tasks, Otherwise) {
    let mut tasks = tasks.clone();
    let mut otherwise = Otherwise::new();
    let decisions = tasks.list.iter().enumerate().filter_map(|(at, task)| match &task.does {
        Does::Decide(id, targets) if targets.len() > MOST_CASES + 1 => {
            Some((at, *id, targets.clone()))
        }
        _ => None,
    });
    let decisions: Vec<(TaskId, NodeId, Vec<TaskId>)> = decisions.collect();
    for (at, id, mut targets) in decisions {
        // Where the cases of each part start from.
        let mut sources = vec![at];
        for _ in 1..targets.len().div_ceil(MOST_CASES) {
            let name = format!("{}_otherwise", tasks.list[at].name);
            let before = sources.last().copied().unwrap_or(at);
            sources.push(add(&mut tasks, name, before));
        }
        let mut places: BTreeMap<TaskId, BTreeSet<usize>> = BTreeMap::new();
        for (place, target) in targets.iter().enumerate() {
            places.entry(*target).or_default().insert(place / MOST_CASES);
        }
        for (target, parts) in places {
            let mut from: Vec<TaskId> = Vec::new();
            for part in &parts {
                let source = sources[*part];
                if parts.len() == 1 {
                    from.push(source);
                    continue;
                }
                let name = format!("{}_to_{}", tasks.list[at].name, tasks.list[target].name);
                let pass = add(&mut tasks, name, source);
                for place in part * MOST_CASES..targets.len().min((part + 1) * MOST_CASES) {
                    if targets[place] == target {
                        targets[place] = pass;
                    }
                }
                from.push(pass);
            }
            let task = &mut tasks.list[target];
            task.after.retain(|before| *before != at);
            task.after.extend(from);
            if task.after.len() > 1 && task.runs == Runs::AfterAll {
                task.runs = Runs::AfterAny;
            }
        }
        tasks.list[at].does = Does::Decide(id, targets);
        otherwise.insert(at, sources.split_off(1));
    }
    (tasks, otherwise)
}

/// Adds a task that does nothing after another one.
fn add(tasks: &mut Tasks, name: String, before: TaskId) -> TaskId {
    let (after, after_failed) = (vec![before], Vec::new());
    tasks.list.push(Task { name, does: Does::Pass, runs: Runs::AfterAll, after, after_failed });
    tasks.list.len() - 1
}

/// The tasks with facts about the whole graph.
struct Graph<'a> {
    tasks: &'a Tasks,
    names: Vec<String>,
    /// What precedes each task.
    preceding: Rc<Preceding>,
    /// Tasks whose failure can only end the run.
    fragile: BTreeSet<TaskId>,
    /// For each task, whether it runs in every run in which nothing fails.
    certain: Vec<bool>,
    /// The parts of decisions with many cases.
    otherwise: Otherwise,
}

impl<'a> Graph<'a> {
    fn new(
        tasks: &'a Tasks,
        otherwise: Otherwise,
        names: Vec<String>,
        workflow: &Workflow,
    ) -> Graph<'a> {
        let divided: BTreeSet<TaskId> = otherwise.values().flatten().copied().collect();
        let list = &tasks.list;
        let mut certain = vec![false; list.len()];
        for at in tasks.in_order() {
            certain[at] = list[at].after_failed.is_empty()
                && list[at].after.iter().all(|from| {
                    let chooses = matches!(list[*from].does, Does::Decide(..) | Does::Route(..))
                        || divided.contains(from);
                    certain[*from] && !chooses
                });
        }
        let preceding = Rc::new(Preceding::of(tasks, &names, workflow));
        let fails = |at: &TaskId| {
            matches!(list[*at].does, Does::Action(_)) && preceding.failures[*at].routed.is_empty()
        };
        let fragile = (0..list.len()).filter(fails).collect();
        Graph { tasks, names, preceding, fragile, certain, otherwise }
    }

    /// Whether a task is an action that could not be converted and became a failing task.
    fn is_refused(&self, at: TaskId) -> bool {
        self.preceding.refused.borrow().contains(&at)
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
            Runs::AfterDone if task.after.iter().all(|from| self.is_refused(*from)) => {
                each(&task.after, &["Succeeded"]).join(" && ")
            }
            Runs::AfterDone => each(&task.after, &["Succeeded", "Failed", "Errored"]).join(" || "),
        })
    }

    /// Returns fragile tasks that precede some, but not all predecessors of a task, and whose failure does not lead to
    /// it.
    fn doomed(&self, at: TaskId) -> Vec<TaskId> {
        let after = &self.tasks.list[at].after;
        let precedes = &self.preceding.precedes;
        let counts = |id: &TaskId| {
            precedes.holds(*id, at)
                && !after.contains(id)
                && !after.iter().all(|from| precedes.holds(*id, *from))
                && !self.preceding.leads(*id, at)
        };
        self.fragile.iter().copied().filter(counts).collect()
    }
}

impl Printer<'_> {
    /// Prints the tasks of a DAG; the templates of actions go to the printer.
    pub(super) fn graph(&mut self, workflow: &Workflow, tasks: &Tasks) -> Vec<Yaml> {
        let (tasks, otherwise) = split(tasks);
        let tasks = &tasks;
        let names = tasks.list.iter().map(|task| self.name_of(&task.name)).collect();
        let mut graph = Graph::new(tasks, otherwise, names, workflow);
        // The conditions of a choice are computed before the tasks that it leads to.
        let mut conditions: Vec<Option<String>> = vec![None; tasks.list.len()];
        let mut printed = Vec::new();
        for (at, task) in tasks.list.iter().enumerate() {
            self.reached = Reached::by(&graph.preceding, at);
            self.lack = None;
            let own = self.task(&graph, at, workflow, &mut conditions);
            match task.does {
                Does::Decide(..) if own.template != "pass" => drop(graph.fragile.insert(at)),
                Does::Action(_) if own.template == "kill" => {
                    graph.fragile.insert(at);
                    graph.preceding.refused.borrow_mut().insert(at);
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
                self.decision(workflow, (*id, targets), graph.otherwise.get(&at), conditions);
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
                let body = action
                    .body
                    .as_ref()
                    .map(|body| shared(workflow, body, (self.given.around, self.given.properties)));
                self.action(&graph.names[at], action, body.as_ref())
            }
        }
    }

    /// Sets the condition of each target of a decision: its case is true, and none before it in its part.
    fn decision(
        &mut self,
        workflow: &Workflow,
        (id, targets): (NodeId, &[TaskId]),
        otherwise: Option<&Vec<TaskId>>,
        conditions: &mut [Option<String>],
    ) {
        if let Some(element) = self.now.tree.element(workflow.node(id).element)
            && let Some(switch) = element.child("switch")
        {
            self.now.ledger.exact(switch.name_span());
        }
        let bracket = |code: &str| match outer(code) != code {
            true => code.to_owned(),
            false => format!("({code})"),
        };
        let mut held: Vec<String> = Vec::new();
        let mut found: Vec<(TaskId, String)> = Vec::new();
        let exits = workflow.exits(id);
        let none_of = |held: &[String]| -> Vec<String> {
            held.iter().map(|code| format!("not {}", bracket(code))).collect()
        };
        let given = exits.iter().filter(|exit| exit.target.given);
        for (number, (exit, target)) in given.zip(targets).enumerate() {
            let next = match number % MOST_CASES {
                0 => otherwise.and_then(|all| all.get((number / MOST_CASES).checked_sub(1)?)),
                _ => None,
            };
            if let Some(next) = next {
                let code = none_of(&std::mem::take(&mut held)).join(" and ");
                found.push((*next, if code.is_empty() { "true".to_owned() } else { code }));
            }
            let own = exit.predicate.as_ref().map(|predicate| self.say(predicate).holds());
            let mut all = none_of(&held);
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
