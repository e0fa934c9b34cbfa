//! A workflow as a graph of tasks, the model that other engines share: the predecessors of each task, and when it runs.
//!
//! [`tasks`] builds it from the control flow that the passes computed. Forks, joins, `start` and `end` become edges
//! where possible. A task that succeeded stands for a node that was left by that transition, and a skipped task for a
//! node that was never entered. That holds by construction: a task that chooses never leads directly to a task that has
//! other predecessors too ([`Does::Pass`] stands between them).

use super::meets::{self, Path};
use crate::ir::workflow::{NodeId, Shape, Way};
use crate::passes::flow::Flow;
use std::collections::{BTreeMap, BTreeSet};

/// The index of a task in [`Tasks::list`].
pub type TaskId = usize;

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// Runs an action.
    Action(NodeId),
    /// Goes to the task of the first case that is true; the tasks are in the order of the decision's transitions.
    Decide(NodeId, Vec<TaskId>),
    /// Goes to the first task if the action succeeded, to the second if it failed.
    Route(NodeId, TaskId, TaskId),
    /// Ends the run as failed.
    Kill(NodeId),
    /// Does nothing; only other tasks depend on it.
    Pass,
}

/// When a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// All predecessors succeeded.
    AfterAll,
    /// All predecessors succeeded or were skipped, and at least one succeeded.
    AfterAny,
    /// A predecessor failed itself, not because of another task.
    OnFailure,
    /// A predecessor succeeded or failed, as the edge to it requires.
    OnEither,
    /// All predecessors are done.
    AfterDone,
}

/// A task with its edges in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name: that of its node, if it has one.
    pub name: String,
    /// What it does.
    pub does: Does,
    /// When it runs.
    pub runs: Runs,
    /// Tasks whose success leads to it.
    pub after: Vec<TaskId>,
    /// Tasks whose failure leads to it.
    pub after_failed: Vec<TaskId>,
}

/// The tasks of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    /// In source order.
    pub list: Vec<Task>,
    /// Forks with a path that can fail and end the run while other paths go on.
    pub failing_forks: Vec<NodeId>,
    /// Joins that wait for each path of their fork, because a choice on one path can end the run.
    pub meeting: Vec<NodeId>,
    /// Why the workflow cannot be converted, if it cannot.
    pub broken: Option<&'static str>,
}

/// The source of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    /// A task that succeeds.
    Success(TaskId),
    /// A task that chooses.
    Choice(TaskId),
    /// A task that fails.
    Failure(TaskId),
}

struct Builder<'w> {
    flow: Flow<'w>,
    ends: Vec<bool>,
    /// Transitions into each reachable node.
    ways: Vec<Vec<(NodeId, Way)>>,
    tasks: Tasks,
    /// The task of each node.
    own: BTreeMap<NodeId, TaskId>,
    /// The task that chooses after an action, by node.
    routes: BTreeMap<NodeId, TaskId>,
    /// Joins that must wait for each of their paths, with these paths.
    meets: BTreeMap<NodeId, Vec<Path>>,
}

/// The task that a choice leads to, by the task that chooses and the target node.
type Targets = BTreeMap<(TaskId, NodeId), TaskId>;

/// Returns the tasks of a workflow.
pub fn tasks(flow: Flow<'_>) -> Tasks {
    let count = flow.workflow.nodes.len();
    let mut ways = vec![Vec::new(); count];
    let mut broken = flow.workflow.start().is_none().then_some("there is no start");
    for (id, _) in flow.workflow.nodes().filter(|(id, _)| flow.reach.is_reachable(*id)) {
        for (exit, target) in flow.exits(id) {
            match target {
                Some(target) => ways[target.index()].push((id, exit.way)),
                None => broken = Some("a transition leads to no node"),
            }
        }
    }
    let mut builder = Builder {
        ends: leading_to_end(flow),
        flow,
        ways,
        tasks: Tasks { broken, ..Tasks::default() },
        own: BTreeMap::new(),
        routes: BTreeMap::new(),
        meets: BTreeMap::new(),
    };
    builder.meets = meets::meets(flow, &builder.ways, &|action| builder.is_routed(action));
    builder.make();
    builder.join_up();
    if builder.tasks.broken.is_none() && has_cycle(&builder.tasks.list) {
        builder.tasks.broken = Some("its nodes lead back to one another");
    }
    builder.tasks.failing_forks = failing_forks(flow, &builder.ends);
    builder.tasks
}

/// What the failure of a task leads to next.
#[derive(Clone, Debug, Default)]
pub(super) struct Failure {
    /// The targets of routes that come after the task.
    pub(super) routed: Vec<TaskId>,
    /// Tasks that come after the failed task.
    pub(super) direct: Vec<TaskId>,
}

fn sources(task: &Task) -> impl Iterator<Item = TaskId> + '_ {
    task.after.iter().chain(&task.after_failed).copied()
}

impl Tasks {
    /// Sorts the tasks such that each comes after its predecessors.
    pub(super) fn in_order(&self) -> Vec<TaskId> {
        let list = &self.list;
        let mut done = vec![false; list.len()];
        let mut order = Vec::new();
        let mut todo: Vec<TaskId> = (0..list.len()).rev().collect();
        while let Some(at) = todo.pop() {
            if done[at] {
                continue;
            }
            let waiting: Vec<TaskId> = sources(&list[at]).filter(|from| !done[*from]).collect();
            if waiting.is_empty() {
                done[at] = true;
                order.push(at);
            } else {
                todo.push(at);
                todo.extend(waiting);
            }
        }
        order
    }

    /// What the failure of each task leads to next.
    pub(super) fn failures(&self) -> Vec<Failure> {
        let mut failures = vec![Failure::default(); self.list.len()];
        for (at, task) in self.list.iter().enumerate() {
            let route = match task.does {
                Does::Route(_, _, error) => Some(error),
                _ => None,
            };
            for from in task.after.iter().filter(|_| route.is_some()) {
                failures[*from].routed.extend(route);
            }
            for from in &task.after_failed {
                failures[*from].direct.push(at);
            }
        }
        failures
    }

    /// Returns the tasks that have both kinds of predecessors: some that run only after a failure, and some that do
    /// not. After a failure the latter do not run, while the former may still do.
    pub fn mixed(&self) -> BTreeSet<TaskId> {
        let mut late: BTreeSet<TaskId> = BTreeSet::new();
        let mut todo: Vec<TaskId> =
            (0..self.list.len()).filter(|at| !self.list[*at].after_failed.is_empty()).collect();
        let mut behind: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
        for (at, task) in self.list.iter().enumerate() {
            for before in task.after.iter().chain(&task.after_failed) {
                behind.entry(*before).or_default().push(at);
            }
        }
        while let Some(at) = todo.pop() {
            if late.insert(at) {
                todo.extend(behind.get(&at).into_iter().flatten());
            }
        }
        let is_mixed = |task: &Task| {
            let mut before = task.after.iter().chain(&task.after_failed);
            let first = before.next().map(|first| late.contains(first));
            first.is_some_and(|first| before.any(|other| late.contains(other) != first))
        };
        (0..self.list.len()).filter(|at| is_mixed(&self.list[*at])).collect()
    }
}

fn has_cycle(list: &[Task]) -> bool {
    let mut behind = vec![Vec::new(); list.len()];
    let mut waiting = vec![0_usize; list.len()];
    for (at, task) in list.iter().enumerate() {
        for before in task.after.iter().chain(&task.after_failed) {
            behind[*before].push(at);
            waiting[at] += 1;
        }
    }
    let mut todo: Vec<TaskId> = (0..list.len()).filter(|at| waiting[*at] == 0).collect();
    let mut done = 0;
    while let Some(at) = todo.pop() {
        done += 1;
        for next in &behind[at] {
            waiting[*next] -= 1;
            if waiting[*next] == 0 {
                todo.push(*next);
            }
        }
    }
    done < list.len()
}

/// Returns for each node whether some run gets from it to the end, failures included.
fn leading_to_end(flow: Flow<'_>) -> Vec<bool> {
    let mut sources: Vec<Vec<NodeId>> = vec![Vec::new(); flow.workflow.nodes.len()];
    for (id, _) in flow.workflow.nodes() {
        for (_, target) in flow.exits(id) {
            if let Some(target) = target {
                sources[target.index()].push(id);
            }
        }
    }
    let ends = flow.workflow.nodes().filter(|(_, node)| node.shape == Shape::End);
    let mut todo: Vec<NodeId> = ends.map(|(id, _)| id).collect();
    let mut leading = vec![false; flow.workflow.nodes.len()];
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut leading[id.index()], true) {
            todo.extend(&sources[id.index()]);
        }
    }
    leading
}

/// Returns the forks with an action on one of their paths whose failure ends the run.
fn failing_forks(flow: Flow<'_>, ends: &[bool]) -> Vec<NodeId> {
    let mut patience = 100_000;
    let fails = |id: &NodeId| {
        flow.exit(*id, Way::Error)
            .and_then(|(_, target)| target)
            .is_some_and(|target| !ends[target.index()])
    };
    flow.reachable(Shape::Fork)
        .map(|(id, _)| id)
        .filter(|id| match flow.branches(*id, &mut patience) {
            Some(branches) => branches.iter().flatten().any(fails),
            None => true,
        })
        .collect()
}

impl Builder<'_> {
    fn push(&mut self, name: String, does: Does) -> TaskId {
        let (after, after_failed) = (Vec::new(), Vec::new());
        self.tasks.list.push(Task { name, does, runs: Runs::AfterAll, after, after_failed });
        self.tasks.list.len() - 1
    }

    /// Whether the failure of an action goes through a task that chooses, because the run may still succeed.
    fn is_routed(&self, action: NodeId) -> bool {
        let error = self.flow.exit(action, Way::Error).and_then(|(_, target)| target);
        error.is_some_and(|target| self.ends[target.index()])
    }

    fn chooses(&self, from: NodeId) -> bool {
        match self.flow.workflow.node(from).shape {
            Shape::Decision => true,
            Shape::Action => self.is_routed(from),
            _ => false,
        }
    }

    /// Whether a node becomes edges only, without a task.
    fn vanishes(&self, id: NodeId) -> bool {
        let ways = &self.ways[id.index()];
        let plain = |(from, _): &(NodeId, Way)| !self.chooses(*from);
        match self.flow.workflow.node(id).shape {
            Shape::Start => true,
            Shape::Fork => ways.len() == 1 && plain(&ways[0]),
            Shape::End => ways.iter().all(plain),
            Shape::Join if self.meets.contains_key(&id) => false,
            Shape::Join => {
                let next = self.flow.next(id).next();
                let shape = next.map(|next| self.flow.workflow.node(next).shape);
                ways.iter().all(plain)
                    && next.is_some_and(|next| self.ways[next.index()].len() == 1)
                    && matches!(shape, Some(Shape::Action | Shape::Decision))
            }
            _ => false,
        }
    }

    fn make(&mut self) {
        let nodes: Vec<(NodeId, Shape, String)> = self
            .flow
            .workflow
            .nodes()
            .filter(|(id, _)| self.flow.reach.is_reachable(*id))
            .map(|(id, node)| (id, node.shape, node.name.text.to_string()))
            .collect();
        for (id, shape, name) in nodes {
            if self.vanishes(id) {
                continue;
            }
            let does = match shape {
                Shape::Action => Does::Action(id),
                Shape::Decision => Does::Decide(id, Vec::new()),
                Shape::Kill => Does::Kill(id),
                _ => Does::Pass,
            };
            let task = self.push(name.clone(), does);
            self.own.insert(id, task);
            if shape == Shape::Action && self.is_routed(id) {
                let route = self.push(format!("{name}_route"), Does::Route(id, 0, 0));
                self.tasks.list[route].runs = Runs::AfterDone;
                self.tasks.list[route].after.push(task);
                self.routes.insert(id, route);
            }
        }
    }

    /// Collects the edges' sources that stand for a transition into a node.
    fn from(&self, from: NodeId, way: Way, out: &mut Vec<From>) {
        let mut todo = vec![(from, way)];
        while let Some((from, way)) = todo.pop() {
            if let Some(route) = self.routes.get(&from) {
                out.push(From::Choice(*route));
                continue;
            }
            let Some(task) = self.own.get(&from) else {
                // The node became edges: continue with its own predecessors.
                todo.extend(self.ways[from.index()].iter().copied());
                continue;
            };
            out.push(match (self.flow.workflow.node(from).shape, way) {
                (Shape::Decision, _) => From::Choice(*task),
                (Shape::Action, Way::Error) => From::Failure(*task),
                _ => From::Success(*task),
            });
        }
        out.sort_unstable();
        out.dedup();
    }

    /// Returns the sources of the edges into a join, grouped by path; none if the join need not wait for each path.
    fn paths(&self, join: NodeId) -> Option<Vec<(NodeId, Vec<From>)>> {
        let paths = self.meets.get(&join)?.iter().map(|(first, ways)| {
            let mut from = Vec::new();
            ways.iter().for_each(|(source, way)| self.from(*source, *way, &mut from));
            (*first, from)
        });
        let paths: Vec<(NodeId, Vec<From>)> = paths.collect();
        let mut sources = paths.iter().flat_map(|(_, from)| from);
        (!sources.any(|source| matches!(source, From::Failure(_)))).then_some(paths)
    }

    /// Makes a join depend on each of its paths.
    fn meet(
        &mut self,
        (id, task): (NodeId, TaskId),
        paths: Vec<(NodeId, Vec<From>)>,
        targets: &mut Targets,
    ) {
        self.tasks.meeting.push(id);
        for (first, from) in paths {
            let mut end = task;
            if from.len() > 1 {
                let first = self.flow.workflow.node(first).name.text.to_string();
                let name = format!("{}_after_{first}", self.tasks.list[task].name);
                end = self.push(name, Does::Pass);
                self.tasks.list[end].runs = Runs::AfterAny;
                self.tasks.list[task].after.push(end);
            }
            for source in from {
                let before = match source {
                    From::Choice(before) => self.chosen(before, (id, task), targets),
                    From::Success(before) | From::Failure(before) => before,
                };
                self.tasks.list[end].after.push(before);
            }
        }
    }

    /// Inserts a task between a task that chooses and one that has other predecessors too.
    fn chosen(
        &mut self,
        before: TaskId,
        (id, task): (NodeId, TaskId),
        targets: &mut Targets,
    ) -> TaskId {
        let names = [before, task].map(|task| self.tasks.list[task].name.as_str());
        let pass = self.push(names.join("_to_"), Does::Pass);
        self.tasks.list[pass].after.push(before);
        targets.insert((before, id), pass);
        pass
    }

    /// Makes a task depend on all sources that lead to its node.
    fn lead(&mut self, (id, task): (NodeId, TaskId), targets: &mut Targets) {
        let mut from = Vec::new();
        for (source, way) in self.ways[id.index()].clone() {
            self.from(source, way, &mut from);
        }
        let many = from.len() > 1;
        for source in from {
            match source {
                From::Success(before) => self.tasks.list[task].after.push(before),
                From::Failure(before) => self.tasks.list[task].after_failed.push(before),
                From::Choice(before) if many => {
                    let pass = self.chosen(before, (id, task), targets);
                    self.tasks.list[task].after.push(pass);
                }
                From::Choice(before) => {
                    self.tasks.list[task].after.push(before);
                    targets.insert((before, id), task);
                }
            }
        }
        let Task { after, after_failed, .. } = &self.tasks.list[task];
        self.tasks.list[task].runs = match (after.len(), after_failed.len()) {
            (0 | 1, 0) => Runs::AfterAll,
            (_, 0) => Runs::AfterAny,
            (0, _) => Runs::OnFailure,
            _ => Runs::OnEither,
        };
    }

    fn join_up(&mut self) {
        let owned: Vec<(NodeId, TaskId)> = self.own.iter().map(|(id, task)| (*id, *task)).collect();
        let mut targets = Targets::new();
        for (id, task) in &owned {
            match self.paths(*id) {
                Some(paths) => self.meet((*id, *task), paths, &mut targets),
                None => self.lead((*id, *task), &mut targets),
            }
        }
        for (id, task) in owned {
            let exits: Vec<(Way, Option<NodeId>)> =
                self.flow.exits(id).map(|(exit, target)| (exit.way, target)).collect();
            if let Does::Decide(_, cases) = &mut self.tasks.list[task].does {
                *cases = exits
                    .iter()
                    .filter_map(|(_, target)| targets.get(&(task, (*target)?)).copied())
                    .collect();
            }
            if let Some(route) = self.routes.get(&id).copied() {
                let of = |way: Way| {
                    let (_, target) = exits.iter().find(|(other, _)| *other == way)?;
                    targets.get(&(route, (*target)?)).copied()
                };
                if let (Some(ok), Some(error)) = (of(Way::Ok), of(Way::Error)) {
                    self.tasks.list[route].does = Does::Route(id, ok, error);
                }
            }
        }
    }
}
