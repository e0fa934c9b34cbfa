//! The token game that models a run of the engine.
//!
//! A token has a node and a path; entering a fork puts a token on a child path for each of its paths, and a join takes
//! the tokens of the innermost fork of their path, whichever join it is. The game is played on a [`Graph`]; [`Play`]
//! makes given moves and reports when one ends in a fault. (`reference` on forks and joins, "The game".)

use std::collections::HashMap;

use crate::ir::workflow::{NodeId, Shape, TransitionId, Way, Workflow};
use crate::passes::names::Names;
use crate::passes::reach::Reach;
use crate::source::look;

/// The role of a node in the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An action or a decision, or the start: left by one exit.
    Step,
    /// Left by all exits at once.
    Fork,
    /// Waits.
    Join,
    /// Ends the run without a fault: a kill node, and everything that cannot be judged (a cycle, an unresolved
    /// transition).
    Stop,
    /// Ends the run successfully.
    End,
}

/// An exit of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The target node.
    pub to: u32,
    /// 1 if the action must fail to take it.
    pub price: u32,
    /// The transition in the workflow.
    pub transition: TransitionId,
}

/// The nodes that a run can reach, by their index in the workflow.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    roles: Vec<Role>,
    /// The index of the first exit of each node, and the total at the end.
    offsets: Vec<u32>,
    exits: Vec<Exit>,
    /// The number of exits that lead to each node.
    pub entries: Vec<u32>,
    /// The reachable nodes in topological order.
    pub order: Vec<u32>,
    /// The index in [`Graph::order`], by node.
    pub(crate) rank: Vec<u32>,
    /// The node at which a run starts.
    pub start: Option<u32>,
}

impl Graph {
    /// Creates the graph of a workflow. Unreachable nodes have no exits.
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
                        // A fork or join with an unresolved transition cannot be judged.
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

    /// Creates a graph from roles, and exits with prices, for games without a workflow. The nodes are in an order in
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

    /// The same graph, with a node that ends the run.
    pub fn without(&self, node: u32) -> Graph {
        let mut graph = self.clone();
        graph.roles[node as usize] = Role::Stop;
        graph
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.roles.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    /// The role of a node.
    pub(crate) fn role(&self, node: u32) -> Role {
        look();
        self.roles[node as usize]
    }

    /// The exits of a node.
    pub fn exits(&self, node: u32) -> &[Exit] {
        look();
        let node = node as usize;
        &self.exits[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Whether a fork names a node twice that does not end the run; its paths would share one child path.
    pub fn repeats(&self, fork: u32) -> bool {
        let exits = self.exits(fork);
        let mut targets: Vec<u32> = exits.iter().map(|exit| exit.to).collect();
        targets.retain(|to| !matches!(self.role(*to), Role::Stop | Role::End));
        targets.sort_unstable();
        targets.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// The way in which a run fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A node is entered a second time.
    Double,
    /// A token arrives at a join outside any fork.
    Orphan,
    /// The end is entered on a path of a fork.
    CutOff,
    /// Tokens of one fork arrive at two different joins.
    Race,
    /// A fork's counter can never reach zero.
    Hang,
}

impl Fault {
    /// Its name in output.
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

/// A path, by its index in [`Play`]; 0 is `/`.
pub(crate) type PathId = u32;

/// One move of a run: the exit that a token on a path takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node that the token leaves.
    pub from: u32,
    /// The index of the exit.
    pub exit: u32,
    /// The path of the token before the move.
    pub path: PathId,
}

/// A run in progress.
#[derive(Clone, Debug)]
pub struct Play<'g> {
    graph: &'g Graph,
    /// The parent and first node of each path.
    paths: Vec<(PathId, u32)>,
    /// The node of each live token, by path, and whether the token has entered it yet.
    at: HashMap<PathId, (u32, bool)>,
    entered: HashMap<u32, ()>,
    /// By parent path: the number of tokens of the fork that are on their way, and the join at which one of them
    /// arrived.
    counters: HashMap<PathId, (u32, Option<u32>)>,
    /// The moves so far.
    pub steps: Vec<Step>,
    /// The number of failed actions.
    pub price: u32,
    /// The fault and its node, if the run failed; it is over then.
    pub fault: Option<(Fault, u32)>,
    /// Whether the run has ended, successfully or not.
    pub over: bool,
}

impl<'g> Play<'g> {
    /// Creates a run with one token at the start.
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

    /// The node of a path's token.
    pub fn token(&self, path: PathId) -> Option<u32> {
        self.at.get(&path).map(|(node, _)| *node)
    }

    /// The path that a path was split from; `/` is its own parent.
    pub fn parent(&self, path: PathId) -> PathId {
        self.paths[path as usize].0
    }

    /// The first nodes of the branches that lead to a path, innermost first, at most `most`.
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

    /// Lets the token of a path enter the node that it was sent to, which always comes before its next move.
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

    /// Splits the token of a path, settled at a fork; returns the paths of its branches.
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
