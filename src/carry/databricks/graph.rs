//! The tasks of a workflow as tasks of a job: the dependencies of each, and when it runs.
//!
//! A failure that leads anywhere but to a kill node is checked by a condition on the state of the task, because a task
//! that did not run since a predecessor failed counts as failed, too.

use super::expression::{Case, Condition};
use super::{Printer, program};
use crate::carry::model::{Does, Runs, Task, TaskId, Tasks};
use crate::carry::reached::{Preceding, Reached};
use crate::carry::shared::shared;
use crate::carry::text::Text;
use crate::carry::yaml::{Yaml, map, text};
use crate::ir::workflow::{NodeId, Workflow};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A dependency: the key of a task, and the outcome that it must have.
pub(super) type Depends = (String, Option<&'static str>);

/// The tasks, and what has been printed of them so far.
struct Graph<'a> {
    tasks: &'a Tasks,
    /// Tasks that may run although a failure kept some of their predecessors from running.
    mixed: BTreeSet<TaskId>,
    keys: Vec<String>,
    /// Condition tasks that replace an edge from one task to another.
    ways: BTreeMap<(TaskId, TaskId), Vec<Depends>>,
    /// The keys of the condition tasks that check for the failure of a task.
    failures: BTreeMap<TaskId, String>,
    /// Actions that could not be converted and became failing tasks: no error transition of theirs may let the run
    /// succeed.
    refused: BTreeMap<TaskId, String>,
    printed: Vec<Yaml>,
}

/// Returns a task.
pub(super) fn task(key: &str, depends: Vec<Depends>, runs: Option<&str>, what: Yaml) -> Yaml {
    let mut whole = map([("task_key", text(key))]);
    let depends = depends.into_iter().map(|(key, outcome)| {
        let one = map([("task_key", text(key))]);
        match outcome {
            Some(outcome) => one.and("outcome", text(outcome)),
            None => one,
        }
    });
    whole = whole.and_some("depends_on", depends.collect());
    if let Some(runs) = runs {
        whole = whole.and("run_if", text(runs));
    }
    if let Yaml::Map(entries) = what {
        for (key, value) in entries {
            whole = whole.and(&key, value);
        }
    }
    whole
}

/// Returns the content of a condition task.
fn condition(condition: &Condition) -> Yaml {
    let own = map([
        ("op", text(condition.op)),
        ("left", text(&condition.left)),
        ("right", text(&condition.right)),
    ]);
    map([("condition_task", own)])
}

/// Returns a task that does nothing and needs no cluster.
pub(super) fn pass(key: &str, depends: Vec<Depends>, runs: Option<&str>) -> Yaml {
    task(key, depends, runs, condition(&Condition::equal("true", "true")))
}

/// Returns the condition that a task is, or is not, in a state.
fn state(of: &str, op: &'static str, state: &str) -> Yaml {
    let left = format!("{{{{tasks.{of}.result_state}}}}");
    condition(&Condition { op, left, right: state.to_owned() })
}

impl Graph<'_> {
    /// Returns the dependencies of a task on the success of others.
    fn depends(&self, at: TaskId) -> Vec<Depends> {
        let task = &self.tasks.list[at];
        let one = |from: &TaskId| {
            let usual = || {
                let passes = matches!(self.tasks.list[*from].does, Does::Pass);
                vec![(self.keys[*from].clone(), passes.then_some("true"))]
            };
            self.ways.get(&(*from, at)).cloned().unwrap_or_else(usual)
        };
        task.after.iter().flat_map(one).collect()
    }

    /// Returns a dependency on a condition that is true if a task failed itself.
    fn failure(&mut self, of: TaskId, key: String) -> Depends {
        let own = self.keys[of].clone();
        let known = self.failures.entry(of).or_insert_with(|| {
            let depends = vec![(own.clone(), None)];
            let what = state(&own, "EQUAL_TO", "failed");
            self.printed.push(task(&key, depends, Some("ALL_DONE"), what));
            key
        });
        (known.clone(), Some("true"))
    }
}

impl Printer<'_> {
    /// Prints the tasks of a job.
    pub(super) fn graph(&mut self, workflow: &Workflow, tasks: &Tasks) -> Vec<Yaml> {
        let keys = tasks.list.iter().map(|task| self.key_of(&task.name)).collect();
        let (ways, failures) = (BTreeMap::new(), BTreeMap::new());
        let (mixed, refused, printed) = (tasks.mixed(), BTreeMap::new(), Vec::new());
        let mut graph = Graph { tasks, mixed, keys, ways, failures, refused, printed };
        let preceding = Rc::new(Preceding::of(tasks, &graph.keys, workflow));
        // Tasks that choose come first: they determine the dependencies of their targets.
        let chooses = |task: &Task| matches!(task.does, Does::Decide(..) | Does::Route(..));
        let mut order: Vec<TaskId> = (0..tasks.list.len()).collect();
        let count = |at: TaskId| preceding.precedes.count(at);
        order.sort_by_cached_key(|at| (count(*at), !chooses(&tasks.list[*at]), *at));
        for at in order {
            self.reached = Reached::by(&preceding, at);
            self.lack = None;
            self.task(&mut graph, at, workflow);
        }
        graph.printed
    }

    /// Returns the dependencies of a task, and its `run_if`.
    fn placed(
        &mut self,
        graph: &mut Graph<'_>,
        at: TaskId,
    ) -> (Vec<Depends>, Option<&'static str>) {
        let task = &graph.tasks.list[at];
        let mut depends = graph.depends(at);
        let is_kill = matches!(task.does, Does::Kill(_));
        let runs = match task.runs {
            Runs::AfterAll if depends.len() > task.after.len() => Some("NONE_FAILED"),
            Runs::AfterAll => None,
            Runs::AfterAny if depends.len() < 2 => None,
            Runs::AfterAny if graph.mixed.contains(&at) => Some("AT_LEAST_ONE_SUCCESS"),
            Runs::AfterAny => Some("NONE_FAILED"),
            Runs::AfterDone => Some("ALL_DONE"),
            Runs::OnFailure if is_kill => {
                let failed = task.after_failed.iter();
                depends = failed.map(|from| (graph.keys[*from].clone(), None)).collect();
                return (depends, Some("AT_LEAST_ONE_FAILED"));
            }
            Runs::OnFailure | Runs::OnEither => {
                for from in task.after_failed.clone() {
                    let key = self.key_of(&format!("{}_failed", graph.keys[from]));
                    depends.push(graph.failure(from, key));
                }
                (depends.len() > 1).then_some("AT_LEAST_ONE_SUCCESS")
            }
        };
        (depends, runs)
    }

    fn task(&mut self, graph: &mut Graph<'_>, at: TaskId, workflow: &Workflow) {
        let own = graph.keys[at].clone();
        let (depends, runs) = self.placed(graph, at);
        let put =
            match &graph.tasks.list[at].does {
                Does::Pass => pass(&own, depends, runs),
                Does::Route(_, ok, error) => return self.route(graph, at, *ok, *error),
                Does::Decide(id, targets) => {
                    return self.decision(graph, (at, *id, targets), workflow, (depends, runs));
                }
                Does::Kill(id) => {
                    let message = workflow.node(*id).message.as_deref();
                    let message = message.map(|message| self.say(message)).unwrap_or_default();
                    task(&own, depends, runs, program("fail", &[message]))
                }
                Does::Action(id) => {
                    let action = workflow.node(*id).action.as_deref();
                    let body = action.and_then(|action| action.body.as_ref());
                    match action.zip(body.map(|body| {
                        shared(workflow, body, (self.given.around, self.given.properties))
                    })) {
                        None => pass(&own, depends, runs),
                        Some((action, body)) => {
                            let what = self.action(action, &body).unwrap_or_else(|why| {
                                let what = Self::refused(&why);
                                graph.refused.insert(at, why);
                                what
                            });
                            task(&own, depends, runs, what)
                        }
                    }
                }
            };
        graph.printed.push(put);
    }

    /// Prints the conditions on the state of an action that lead on from it. If it did not run since another task
    /// failed, neither is true.
    fn route(&mut self, graph: &mut Graph<'_>, at: TaskId, ok: TaskId, error: TaskId) {
        let Some(action) = graph.tasks.list[at].after.first().copied() else { return };
        let (of, own) = (graph.keys[action].clone(), graph.keys[at].clone());
        let depends = vec![(of.clone(), None)];
        if let Some(why) = graph.refused.get(&action) {
            // The action never succeeds, and a leaf has to fail so that the run does. The tasks after it are left out.
            let failing = task(
                &self.key_of(&format!("{of}_refused")),
                depends.clone(),
                Some("AT_LEAST_ONE_FAILED"),
                Self::refused(why),
            );
            graph.printed.push(failing);
            graph.printed.push(pass(&own, depends, None));
            graph.ways.insert((at, ok), vec![(own.clone(), Some("true"))]);
            graph.ways.insert((at, error), vec![(own, Some("true"))]);
            return;
        }
        let done = Some("ALL_DONE");
        if ok == error {
            let what = state(&of, "NOT_EQUAL", "upstream_failed");
            graph.printed.push(task(&own, depends, done, what));
            graph.ways.insert((at, ok), vec![(own, Some("true"))]);
            return;
        }
        graph.printed.push(task(&own, depends, done, state(&of, "EQUAL_TO", "success")));
        graph.ways.insert((at, ok), vec![(own, Some("true"))]);
        let key = self.key_of(&format!("{of}_failed"));
        let way = graph.failure(action, key);
        graph.ways.insert((at, error), vec![way]);
    }

    /// Prints a decision as a chain of conditions, each evaluated if those before it are false.
    fn decision(
        &mut self,
        graph: &mut Graph<'_>,
        (at, id, targets): (TaskId, NodeId, &[TaskId]),
        workflow: &Workflow,
        (depends, runs): (Vec<Depends>, Option<&'static str>),
    ) {
        if let Some(element) = self.now.tree.element(workflow.node(id).element)
            && let Some(switch) = element.child("switch")
        {
            self.now.ledger.exact(switch.name_span());
        }
        let exits = workflow.exits(id);
        let cases: Vec<_> = exits.iter().filter(|exit| exit.target.given).zip(targets).collect();
        let mut found: Vec<(TaskId, Case)> = Vec::new();
        let mut rest = None;
        for (exit, target) in cases {
            let Some(predicate) = &exit.predicate else {
                rest = Some(*target);
                continue;
            };
            let (text, test) =
                self.names(|names, dialect| names.condition(predicate.as_str(), dialect));
            self.judge(predicate.span(), &text);
            found.push((*target, test));
        }
        let own = graph.keys[at].clone();
        if let Some(why) = self.lack.take() {
            graph.printed.push(task(&own, depends, runs, Self::refused(&why)));
            return;
        }
        if found.is_empty() {
            graph.printed.push(pass(&own, depends, runs));
            graph.ways.extend(rest.map(|to| ((at, to), vec![(own, Some("true"))])));
            return;
        }
        let name = own.clone();
        let mut way = (own, depends, runs);
        for (number, (target, case)) in found.iter().enumerate() {
            if number > 0 {
                way.0 = self.key_of(&format!("{name}_{}", number + 1));
            }
            let (holds, fails) = self.case(graph, case, (&name, number + 1), way);
            graph.ways.entry((at, *target)).or_default().extend(holds);
            // Only one of several ways was taken; the others are excluded.
            let runs = (fails.len() > 1).then_some("NONE_FAILED");
            way = (String::new(), fails, runs);
        }
        if let Some(rest) = rest {
            graph.ways.entry((at, rest)).or_default().extend(way.1);
        }
    }

    /// Prints the conditions of a case one after another. Returns the dependencies for when it is true, and for when it
    /// is not.
    fn case(
        &mut self,
        graph: &mut Graph<'_>,
        case: &Case,
        (name, number): (&str, usize),
        (mut key, mut depends, mut runs): (String, Vec<Depends>, Option<&'static str>),
    ) -> (Vec<Depends>, Vec<Depends>) {
        let (on, off, word) = match case.all {
            true => ("true", "false", "and"),
            false => ("false", "true", "or"),
        };
        let mut left = Vec::new();
        for (place, test) in case.tests.iter().enumerate() {
            if place > 0 {
                (depends, runs) = (vec![(key, Some(on))], None);
                key = self.key_of(&format!("{name}_{number}_{word}_{}", place + 1));
            }
            graph.printed.push(task(&key, depends, runs, condition(test)));
            depends = Vec::new();
            left.push((key.clone(), Some(off)));
        }
        let through = vec![(key, Some(on))];
        if case.all { (through, left) } else { (left, through) }
    }

    /// Returns a task that fails because the action could not be converted.
    pub(super) fn refused(why: &str) -> Yaml {
        // Databricks must not find a reference in the message.
        let why = why.replace("${", "{").replace("{{", "{ {");
        program("fail", &[Text::literal(&format!("not converted: {why}"))])
    }
}
