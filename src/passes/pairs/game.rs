//! The token game that a run of the engine is.
//!
//! A token has a node and a path; entering a fork puts a token on a child path for each of its paths, and a join takes
//! the tokens of the innermost fork of their path, whichever join it is. [`Graph`] is what the game is played on,
//! [`Play`] plays given moves and reports when one ends in a fault. (`reference` on forks and joins, "The game".)

use std::collections::HashMap;

use crate::ir::workflow::{NodeId, Shape, TransitionId, Way, Workflow};
use crate::passes::names::Names;
use crate::passes::reach::Reach;
use crate::source::look;

/// What a node is to the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An action or a decision, or the start: left by one exit.
    Step,
    /// Left by all exits at once.
    Fork,
    /// Waits.
    Join,
    /// Ends the run, never a fault: a kill, and whatever cannot be judged (a circle, a transition to nowhere).
    Stop,
    /// Ends the run well.
    End,
}

/// A way out of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The node that is entered.
    pub to: u32,
    /// 1 where the action must fail for it.
    pub price: u32,
    /// The transition, in the workflow.
    pub transition: TransitionId,
}

/// The nodes that a run can reach, by their index in the workflow.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    roles: Vec<Role>,
    /// Where the exits of each node begin; one more at the end.
    offsets: Vec<u32>,
    exits: Vec<Exit>,
    /// How many exits lead to a node.
    pub entries: Vec<u32>,
    /// Reachable nodes, each before those it leads to.
    pub order: Vec<u32>,
    /// Position in [`Graph::order`], by node.
    pub(crate) rank: Vec<u32>,
    /// Where a run begins.
    pub start: Option<u32>,
}

impl Graph {
    /// The graph of a workflow. What is unreachable has no exits.
    pub fn of(workflow: &Workflow, names: &Names, reach: &Reach) -> Graph {
        let count = workflow.nodes.len();
        let mut graph = Graph { start: workflow.start().map(|id| id.0), ..Graph::default() };
        graph.offsets.push(0);
        for (id, node) in workflow.nodes() {
            let known = reach.is_reachable(id) && !reach.cyclic[id.index()];
            let role = match node.shape {
                _ if !known => Role::Stop,
                Shape::Start | Shape::Action | Shape::Decision => Role::Step,
                Shape::Fork => Role::Fork,
                Shape::Join => Role::Join,
                Shape::Kill => Role::Stop,
                Shape::End => Role::End,
            };
            let mut role = role;
            let first = graph.exits.len();
            if matches!(role, Role::Step | Role::Fork | Role::Join) {
                for transition in workflow.exits(id) {
                    let price = u32::from(transition.way == Way::Error);
                    match names.target(transition) {
                        Some(NodeId(to)) => {
                            graph.exits.push(Exit { to, price, transition: transition.id })
                        }
                        None if role == Role::Step => {}
                        // A fork or join that leads nowhere cannot be judged.
                        None => role = Role::Stop,
                    }
                }
                if role == Role::Stop || (role == Role::Join && graph.exits.len() != first + 1) {
                    graph.exits.truncate(first);
                    role = Role::Stop;
                }
            }
            graph.roles.push(role);
            graph.offsets.push(graph.exits.len() as u32);
        }
        graph.order = reach.order.iter().map(|id| id.0).collect();
        graph.finish(count);
        graph
    }

    /// A graph from its parts, for games without a workflow: roles, and exits with prices. Nodes are in an order in
    /// which every exit leads forward, and the first is the start.
    #[cfg(test)]
    pub(crate) fn from_parts(nodes: &[(Role, Vec<(u32, u32)>)]) -> Graph {
        let mut graph = Graph { start: Some(0), ..Graph::default() };
        graph.offsets.push(0);
        for (role, exits) in nodes {
            for (to, price) in exits {
                let transition = TransitionId(graph.exits.len() as u32);
                graph.exits.push(Exit { to: *to, price: *price, transition });
            }
            graph.roles.push(*role);
            graph.offsets.push(graph.exits.len() as u32);
        }
        graph.order = (0..nodes.len() as u32).collect();
        graph.finish(nodes.len());
        graph
    }

    fn finish(&mut self, count: usize) {
        self.entries = vec![0; count];
        for exit in &self.exits {
            self.entries[exit.to as usize] += 1;
        }
        self.rank = vec![u32::MAX; count];
        for (rank, node) in self.order.iter().enumerate() {
            self.rank[*node as usize] = rank as u32;
        }
    }

    /// The same graph, in which a node ends the run.
    pub fn without(&self, node: u32) -> Graph {
        let mut graph = self.clone();
        graph.roles[node as usize] = Role::Stop;
        graph
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.roles.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    /// What a node is.
    pub(crate) fn role(&self, node: u32) -> Role {
        look();
        self.roles[node as usize]
    }

    /// The ways out of a node.
    pub fn exits(&self, node: u32) -> &[Exit] {
        look();
        let node = node as usize;
        &self.exits[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Whether a fork names a node twice that is no end of the run; its paths would share one child path.
    pub fn repeats(&self, fork: u32) -> bool {
        let exits = self.exits(fork);
        let mut targets: Vec<u32> = exits.iter().map(|exit| exit.to).collect();
        targets.retain(|to| !matches!(self.role(*to), Role::Stop | Role::End));
        targets.sort_unstable();
        targets.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// How a run goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A node is entered a second time.
    Double,
    /// A token meets a join outside any fork.
    Orphan,
    /// The end is entered on a path of a fork.
    CutOff,
    /// Tokens of one fork arrive at two different joins.
    Race,
    /// A fork's counter can never reach zero.
    Hang,
}

impl Fault {
    /// The word for it in output.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Double => "double",
            Fault::Orphan => "orphan",
            Fault::CutOff => "cut-off",
            Fault::Race => "race",
            Fault::Hang => "hang",
        }
    }
}

/// A path, by its place in [`Play`]; 0 is `/`.
pub(crate) type PathId = u32;

/// One move of a run: an exit that a token on a path took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node that was left.
    pub from: u32,
    /// Which of its exits.
    pub exit: u32,
    /// The path of the token when it left.
    pub path: PathId,
}

/// A run in progress.
#[derive(Clone, Debug)]
pub struct Play<'g> {
    graph: &'g Graph,
    /// Parent and first node, by path.
    paths: Vec<(PathId, u32)>,
    /// The node each living token is at, by path, and whether it has entered it yet.
    at: HashMap<PathId, (u32, bool)>,
    entered: HashMap<u32, ()>,
    /// By parent path: how many tokens of the fork are under way, and the join that one of them arrived at.
    counters: HashMap<PathId, (u32, Option<u32>)>,
    /// What happened.
    pub steps: Vec<Step>,
    /// How many actions failed.
    pub price: u32,
    /// How it went wrong, and at which node; nothing more happens then.
    pub fault: Option<(Fault, u32)>,
    /// Whether the run has ended, well or badly.
    pub over: bool,
}

impl<'g> Play<'g> {
    /// A run with one token at the start.
    pub fn new(graph: &'g Graph, start: u32) -> Play<'g> {
        Play {
            graph,
            paths: vec![(0, start)],
            at: HashMap::from([(0, (start, false))]),
            entered: HashMap::new(),
            counters: HashMap::new(),
            steps: Vec::new(),
            price: 0,
            fault: None,
            over: false,
        }
    }

    /// The node where the token of a path is.
    pub fn token(&self, path: PathId) -> Option<u32> {
        self.at.get(&path).map(|(node, _)| *node)
    }

    /// The path that a path was split from; `/` is its own.
    pub fn parent(&self, path: PathId) -> PathId {
        self.paths[path as usize].0
    }

    /// The first nodes of the branches that lead to a path, the innermost first, and at most so many.
    pub fn branches(&self, path: PathId, most: usize) -> Vec<u32> {
        let mut out = Vec::new();
        let mut at = path;
        while at != 0 && out.len() < most {
            let (parent, node) = self.paths[at as usize];
            out.push(node);
            at = parent;
        }
        out
    }

    fn fail(&mut self, fault: Fault, node: u32) {
        self.fault = Some((fault, node));
        self.over = true;
    }

    /// Lets the token of a path enter the node that it was sent to. Whatever it does next, it does this first.
    pub fn settle(&mut self, path: PathId) {
        if self.over {
            return;
        }
        let Some((node, settled)) = self.at.get_mut(&path) else { return };
        if std::mem::replace(settled, true) {
            return;
        }
        let node = *node;
        match self.graph.role(node) {
            Role::Step => {
                if self.entered.insert(node, ()).is_some() {
                    self.fail(Fault::Double, node);
                }
            }
            Role::Fork if self.graph.repeats(node) => self.fail(Fault::Hang, node),
            Role::Fork => {}
            Role::Stop => self.over = true,
            Role::End if path == 0 => self.over = true,
            Role::End => self.fail(Fault::CutOff, node),
            Role::Join => self.arrive(path, node),
        }
    }

    fn arrive(&mut self, path: PathId, join: u32) {
        self.at.remove(&path);
        if path == 0 {
            return self.fail(Fault::Orphan, join);
        }
        let parent = self.paths[path as usize].0;
        let Some((left, first)) = self.counters.get_mut(&parent) else { return };
        if first.is_some_and(|first| first != join) {
            return self.fail(Fault::Race, join);
        }
        *first = Some(join);
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.counters.remove(&parent);
        if self.entered.insert(join, ()).is_some() {
            return self.fail(Fault::Double, join);
        }
        self.steps.push(Step { from: join, exit: 0, path: parent });
        self.at.insert(parent, (self.graph.exits(join)[0].to, false));
    }

    /// Lets the token of a path, settled at a step, leave by an exit.
    pub fn leave(&mut self, path: PathId, exit: u32) {
        self.settle(path);
        if self.over {
            return;
        }
        let Some((node, _)) = self.at.get(&path).copied() else { return };
        let Some(taken) = self.graph.exits(node).get(exit as usize).copied() else { return };
        self.price += taken.price;
        self.steps.push(Step { from: node, exit, path });
        self.at.insert(path, (taken.to, false));
    }

    /// Splits the token of a path, settled at a fork; answers with the paths of its branches.
    pub fn split(&mut self, path: PathId) -> Vec<PathId> {
        self.settle(path);
        if self.over {
            return Vec::new();
        }
        let Some((fork, _)) = self.at.remove(&path) else { return Vec::new() };
        let exits = self.graph.exits(fork);
        self.counters.insert(path, (exits.len() as u32, None));
        let mut children = Vec::with_capacity(exits.len());
        for (index, exit) in exits.iter().enumerate() {
            let child = self.paths.len() as PathId;
            self.paths.push((path, exit.to));
            children.push(child);
            self.steps.push(Step { from: fork, exit: index as u32, path });
            self.at.insert(child, (exit.to, false));
        }
        children
    }
}
