//! What precedes each task, for expressions about earlier actions.
//!
//! Most expressions are about none, so the actions before a task are only listed when one asks for them: in a chain of
//! thousands of tasks, the lists would be longer than all that is printed.

use super::model::{Does, Failure, TaskId, Tasks};
use crate::ir::workflow::Workflow;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The transitive predecessors of each task, a row of bits per task.
#[derive(Clone, Debug, Default)]
pub(super) struct Precedes {
    /// Words per row.
    width: usize,
    bits: Vec<u64>,
}

impl Precedes {
    /// Computes them.
    pub(super) fn of(tasks: &Tasks) -> Precedes {
        let width = tasks.list.len().div_ceil(64);
        let mut all = Precedes { width, bits: vec![0; width * tasks.list.len()] };
        for at in tasks.in_order() {
            let task = &tasks.list[at];
            for from in task.after.iter().chain(&task.after_failed).copied() {
                for word in 0..width {
                    all.bits[at * width + word] |= all.bits[from * width + word];
                }
                all.bits[at * width + from / 64] |= 1 << (from % 64);
            }
        }
        all
    }

    /// Whether a task precedes another one.
    pub(super) fn holds(&self, id: TaskId, at: TaskId) -> bool {
        self.bits[at * self.width + id / 64] & (1 << (id % 64)) != 0
    }

    /// Returns the number of tasks before a task.
    pub(super) fn count(&self, at: TaskId) -> usize {
        let row = &self.bits[at * self.width..(at + 1) * self.width];
        row.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// An action that precedes a task: the name of its node, and of its task.
pub type Before = (String, String);

/// The facts about the whole graph.
#[derive(Debug, Default)]
pub(super) struct Preceding {
    pub(super) precedes: Precedes,
    /// What the failure of each task leads to.
    pub(super) failures: Vec<Failure>,
    /// Actions that could not be converted: no error transition of theirs may let the run succeed.
    pub(super) refused: RefCell<BTreeSet<TaskId>>,
    /// All actions; those with the most predecessors first.
    actions: Vec<(TaskId, Before)>,
}

impl Preceding {
    /// Computes them for tasks with these names.
    pub(super) fn of(tasks: &Tasks, names: &[String], workflow: &Workflow) -> Preceding {
        let precedes = Precedes::of(tasks);
        let named = tasks.list.iter().zip(names).enumerate();
        let mut actions: Vec<(usize, TaskId, Before)> = named
            .filter_map(|(id, (task, name))| match task.does {
                Does::Action(node) => {
                    let node = workflow.node(node).name.text.to_string();
                    Some((precedes.count(id), id, (node, name.clone())))
                }
                _ => None,
            })
            .collect();
        actions.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
        let actions = actions.into_iter().map(|(_, id, before)| (id, before)).collect();
        let failures = tasks.failures();
        Preceding { precedes, failures, refused: RefCell::default(), actions }
    }

    /// Whether a task is another one, or precedes it.
    pub(super) fn reaches(&self, id: TaskId, at: TaskId) -> bool {
        id == at || self.precedes.holds(id, at)
    }

    /// Whether the failure of one task may lead to another task.
    pub(super) fn leads(&self, failed: TaskId, to: TaskId) -> bool {
        let Failure { routed, direct } = &self.failures[failed];
        let is_refused = || self.refused.borrow().contains(&failed);
        routed.iter().any(|at| self.reaches(*at, to)) && !is_refused()
            || direct.iter().any(|at| self.reaches(*at, to))
    }
}

/// The actions before one task, the nearest first.
#[derive(Debug, Default)]
pub struct Reached {
    /// The graph and the task; none where there is no task.
    of: Option<(Rc<Preceding>, TaskId)>,
    all: OnceCell<Vec<Before>>,
    failed: OnceCell<Vec<Before>>,
}

impl Reached {
    /// Those before a task.
    pub(super) fn by(graph: &Rc<Preceding>, at: TaskId) -> Reached {
        Reached { of: Some((Rc::clone(graph), at)), ..Reached::default() }
    }

    fn list(&self, leads: bool) -> Vec<Before> {
        let Some((graph, at)) = &self.of else { return Vec::new() };
        let before = graph.actions.iter().filter(|(id, _)| graph.precedes.holds(*id, *at));
        let found = before.filter(|(id, _)| !leads || graph.leads(*id, *at));
        found.map(|(_, before)| before.clone()).collect()
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> &[Before] {
        self.all.get_or_init(|| self.list(false))
    }

    /// Returns the task of an action by the name of its node.
    pub(super) fn task(&self, node: &str) -> Option<&str> {
        self.all().iter().find(|(name, _)| name == node).map(|(_, task)| task.as_str())
    }

    /// Returns those whose failure may have led to the task.
    pub(super) fn failed(&self) -> &[Before] {
        self.failed.get_or_init(|| self.list(true))
    }
}
