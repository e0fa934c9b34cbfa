//! What the server checks of the graph: names, cycles and transitions first, then forks and joins.
//!
//! In: the nodes of a definition that its parser took. Out: the first refusal, with the names in its message. Both
//! walks go depth first in the order of transitions, as the server's do, but on a stack of their own; and where the
//! walk of 5.2.1 forgets what it has seen, this one remembers and only counts how many calls forgetting would take.

use std::collections::{HashMap, HashSet};

/// A node, by its place in a [`Graph`].
pub(super) type Id = u32;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Start,
    End,
    Kill,
    Fork,
    Join,
    Decision,
    Action,
}

/// A node and where it leads.
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) shape: Shape,
    /// An action's `ok` and `error`; a decision's cases, then its default; a fork's paths.
    pub(super) targets: Vec<&'a str>,
}

/// The nodes of a definition, in order, the start first.
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) by_name: HashMap<&'a str, Id>,
}

/// A refusal: the code, and the names in its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) names: Vec<String>,
}

fn refuse<const N: usize>(code: &'static str, names: [&str; N]) -> Refusal {
    Refusal { code, names: names.map(str::to_owned).to_vec() }
}

/// A fault of forks and joins, with the nodes that have to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    /// The node that the message names first.
    pub(super) node: Id,
    /// The other node that it names: the end, the target that repeats, or the join's first fork.
    pub(super) other: Id,
    /// The fork within which it was met, where the message does not name it.
    pub(super) fork: Option<Id>,
}

/// Which server's walk over forks and joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Releases up to 5.2.1: none, so that every path is walked.
    Forgets,
    /// What came after 5.2.1: a node that was walked is not walked again, wherever it is met.
    Remembers,
}

/// How many calls a walk without memory may take and still come back.
const SLOW: u64 = 10_000_000;

/// Longest name that may be reached.
const NAME_LIMIT: usize = 128;

/// The targets of the nodes that were reached, and how many of those are forks and joins.
pub(super) struct Reached {
    targets: Vec<Vec<Id>>,
    forks: usize,
    joins: usize,
}

/// Names, cycles and transitions of the nodes that can be reached.
pub(super) fn basic(graph: &Graph<'_>) -> Result<Reached, Refusal> {
    let mut reached = Reached { targets: Vec::new(), forks: 0, joins: 0 };
    reached.targets.resize_with(graph.nodes.len(), Vec::new);
    let mut done = vec![false; graph.nodes.len()];
    let mut on_path = vec![false; graph.nodes.len()];
    let mut path: Vec<(Id, usize)> = Vec::new();
    let mut enter = Some(0);
    loop {
        if let Some(id) = enter.take() {
            let node = &graph.nodes[id as usize];
            name(node)?;
            if on_path[id as usize] {
                let from = path.iter().map(|(id, _)| graph.nodes[*id as usize].name);
                let names: Vec<&str> = from.chain([node.name]).collect();
                return Err(refuse("E0707", [node.name, &names.join("->")]));
            }
            reached.forks += usize::from(node.shape == Shape::Fork);
            reached.joins += usize::from(node.shape == Shape::Join);
            on_path[id as usize] = true;
            path.push((id, 0));
        }
        let Some((id, next)) = path.last_mut() else { return Ok(reached) };
        let id = *id;
        let node = &graph.nodes[id as usize];
        match node.targets.get(*next) {
            Some(target) => {
                *next += 1;
                let Some(to) = graph.by_name.get(target).copied() else {
                    return Err(refuse("E0708", [node.name, target]));
                };
                reached.targets[id as usize].push(to);
                if !done[to as usize] {
                    enter = Some(to);
                }
            }
            None => {
                done[id as usize] = true;
                on_path[id as usize] = false;
                path.pop();
            }
        }
    }
}

fn name(node: &Node<'_>) -> Result<(), Refusal> {
    let mut bytes = node.name.bytes();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if node.shape == Shape::Start {
        return Ok(());
    }
    if node.name.len() > NAME_LIMIT {
        return Err(refuse("E0724", [node.name, "length"]));
    }
    let first = bytes.next();
    if first.is_none_or(|byte| !byte.is_ascii_alphabetic() && byte != b'_') || !bytes.all(plain) {
        return Err(refuse("E0724", [node.name, "characters"]));
    }
    Ok(())
}

/// One visit of a node within the walk over forks and joins.
struct Visit {
    node: Id,
    /// The fork whose path this is.
    fork: Option<Id>,
    /// The first decision on the way.
    decision: Option<Id>,
    /// Whether no error transition was taken.
    ok: bool,
    /// The next target; for a fork behind its paths, what follows its join.
    next: usize,
    /// How many calls the visit takes without memory.
    calls: u64,
    key: u64,
}

/// Forks and joins. The answer, and whether the server would not come back with it.
pub(super) fn forks(
    graph: &Graph<'_>,
    reached: &Reached,
    memory: Memory,
) -> (Result<(), Refusal>, bool) {
    if reached.forks != reached.joins {
        return (Err(refuse("E0730", [])), false);
    }
    let mut walk = Walk::new(graph, reached, memory);
    let answer = walk.run().map_err(|fault| walk.refusal(fault));
    (answer, memory == Memory::Forgets && walk.total > SLOW)
}

/// All faults of forks and joins: the walk goes on behind each of them. With each, the joins of the fork it is about.
pub(super) fn faults(
    graph: &Graph<'_>,
    reached: &Reached,
    memory: Memory,
) -> Vec<(Fault, Vec<Id>)> {
    let mut walk = Walk::new(graph, reached, memory);
    walk.all = Some(Vec::new());
    let outcome = walk.run();
    debug_assert!(outcome.is_ok(), "a walk that goes on does not stop");
    let mut seen = HashSet::new();
    let mut faults = walk.all.take().unwrap_or_default();
    faults.retain(|fault| seen.insert((fault.code, fault.node, fault.other)));
    // A path that is there twice is why its node is reached twice.
    let twice: HashSet<Id> =
        faults.iter().filter(|fault| fault.code == "E0744").map(|fault| fault.other).collect();
    faults.retain(|fault| fault.code != "E0743" || !twice.contains(&fault.node));
    let joins = |fault: &Fault| walk.joins_of.get(&fault.node).cloned().unwrap_or_default();
    faults.iter().map(|fault| (*fault, joins(fault))).collect()
}

/// What can be reached in a graph that may be incomplete: transitions to no node are left out. None where it has a
/// cycle. The second says whether nothing was left out.
pub(super) fn reach(graph: &Graph<'_>) -> Option<(Reached, bool)> {
    let mut reached = Reached { targets: Vec::new(), forks: 0, joins: 0 };
    reached.targets.resize_with(graph.nodes.len(), Vec::new);
    for (node, targets) in graph.nodes.iter().zip(&mut reached.targets) {
        targets.extend(node.targets.iter().filter_map(|target| graph.by_name.get(target)));
    }
    let mut whole = true;
    // 0: not met, 1: on the path, 2: done.
    let mut state = vec![0_u8; graph.nodes.len()];
    let mut path: Vec<(Id, usize)> = Vec::new();
    if !graph.nodes.is_empty() {
        path.push((0, 0));
    }
    while let Some((id, next)) = path.last_mut() {
        let at = *id as usize;
        if *next == 0 {
            reached.forks += usize::from(graph.nodes[at].shape == Shape::Fork);
            reached.joins += usize::from(graph.nodes[at].shape == Shape::Join);
            whole &= graph.nodes[at].targets.len() == reached.targets[at].len();
            state[at] = 1;
        }
        match reached.targets[at].get(*next) {
            Some(to) => {
                *next += 1;
                match state[*to as usize] {
                    0 => path.push((*to, 0)),
                    1 => return None,
                    _ => {}
                }
            }
            None => {
                state[at] = 2;
                path.pop();
            }
        }
    }
    Some((reached, whole))
}

impl Reached {
    /// How many forks and how many joins can be reached.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.forks, self.joins)
    }
}

struct Walk<'g, 'a> {
    graph: &'g Graph<'a>,
    reached: &'g Reached,
    memory: Memory,
    fork_of: Vec<Option<Id>>,
    joins_of: HashMap<Id, Vec<Id>>,
    /// For nodes met on an ok path: the first decision on the way to them.
    first_decision: Vec<Option<Option<Id>>>,
    visited: Vec<bool>,
    /// How many calls a visit took, by node, fork and kind of path: all that the answer depends on.
    known: HashMap<u64, u64>,
    path: Vec<Visit>,
    total: u64,
    /// The faults met so far, where the walk goes on behind them.
    all: Option<Vec<Fault>>,
}

impl<'g, 'a> Walk<'g, 'a> {
    fn new(graph: &'g Graph<'a>, reached: &'g Reached, memory: Memory) -> Walk<'g, 'a> {
        let nodes = graph.nodes.len();
        Walk {
            graph,
            reached,
            memory,
            fork_of: vec![None; nodes],
            joins_of: HashMap::new(),
            first_decision: vec![None; nodes],
            visited: vec![false; if memory == Memory::Remembers { nodes } else { 0 }],
            known: HashMap::new(),
            path: Vec::new(),
            total: 0,
            all: None,
        }
    }

    /// Ends the walk, or goes on.
    fn fault(&mut self, fault: Fault) -> Result<(), Fault> {
        match &mut self.all {
            Some(all) => {
                all.push(fault);
                self.counted(1)
            }
            None => Err(fault),
        }
    }

    /// A fault in the words of the server.
    fn refusal(&self, fault: Fault) -> Refusal {
        let (node, other) = (self.name(fault.node), self.name(fault.other));
        match fault.code {
            "E0737" | "E0744" | "E0758" => refuse(fault.code, [node, other]),
            "E0757" => {
                let joins = self.joins_of[&fault.node].iter();
                let mut names: Vec<String> = joins.map(|id| self.name(*id).to_owned()).collect();
                names.sort();
                names.insert(0, node.to_owned());
                Refusal { code: "E0757", names }
            }
            code => refuse(code, [node]),
        }
    }

    fn name(&self, id: Id) -> &str {
        self.graph.nodes[id as usize].name
    }

    fn shape(&self, id: Id) -> Shape {
        self.graph.nodes[id as usize].shape
    }

    fn run(&mut self) -> Result<(), Fault> {
        self.enter(0, None, None, true)?;
        while let Some(top) = self.path.last_mut() {
            let (node, next) = (top.node, top.next);
            let (fork, decision, ok) = (top.fork, top.decision, top.ok);
            top.next += 1;
            let targets = &self.reached.targets[node as usize];
            match (self.graph.nodes[node as usize].shape, targets.get(next)) {
                (Shape::Fork, Some(to)) => self.enter(*to, Some(node), decision, ok)?,
                (Shape::Fork, None) if next == targets.len() => {
                    let join = self.only_join(node)?;
                    // The join has one target, unless the definition is broken.
                    let to = join.and_then(|join| self.reached.targets[join as usize].first());
                    if let Some(to) = to.copied() {
                        self.enter(to, fork, decision, ok)?;
                    }
                }
                (Shape::Decision, Some(to)) => {
                    self.enter(*to, fork, decision.or(Some(node)), ok)?;
                }
                (Shape::Action, Some(to)) => self.enter(*to, fork, decision, ok && next == 0)?,
                (Shape::Start, Some(to)) => self.enter(*to, fork, decision, ok)?,
                _ => {
                    let done = self.path.pop().expect("a visit is open");
                    if self.memory == Memory::Forgets {
                        self.known.insert(done.key, done.calls);
                    }
                    if let Some(parent) = self.path.last_mut() {
                        parent.calls = parent.calls.saturating_add(done.calls);
                    }
                }
            }
        }
        Ok(())
    }

    /// The join of a fork whose paths were walked, if it has one.
    fn only_join(&mut self, fork: Id) -> Result<Option<Id>, Fault> {
        let joins = self.joins_of.get(&fork).map_or(&[][..], Vec::as_slice);
        // A join that belongs to another fork, which was told, goes on for that one.
        let own = |join: &&Id| self.fork_of[**join as usize] == Some(fork);
        let first = joins.iter().find(own).copied();
        let code = match joins.len() {
            0 => "E0733",
            1 => return Ok(first),
            _ => "E0757",
        };
        self.fault(Fault { code, node: fork, other: fork, fork: None })?;
        Ok(first)
    }

    fn enter(
        &mut self,
        node: Id,
        fork: Option<Id>,
        decision: Option<Id>,
        ok: bool,
    ) -> Result<(), Fault> {
        let shape = self.shape(node);
        self.total = self.total.saturating_add(1);
        if ok && !matches!(shape, Shape::Kill | Shape::Join | Shape::End) {
            match self.first_decision[node as usize] {
                None => self.first_decision[node as usize] = Some(decision),
                Some(first) if first.is_none() || first != decision => {
                    let fault = Fault { code: "E0743", node, other: node, fork };
                    return self.fault(fault);
                }
                Some(_) => {}
            }
        }
        let key =
            u64::from(node) << 33 | u64::from(fork.map_or(0, |id| id + 1)) << 1 | u64::from(ok);
        match shape {
            Shape::End => {
                let Some(inside) = fork else { return self.counted(1) };
                let before = self.path.last().map_or(node, |visit| visit.node);
                let fork = Some(inside);
                return self.fault(Fault { code: "E0737", node: before, other: node, fork });
            }
            Shape::Join => {
                let Some(fork) = fork else {
                    return self.fault(Fault { code: "E0742", node, other: node, fork: None });
                };
                match self.fork_of[node as usize] {
                    None => {
                        self.fork_of[node as usize] = Some(fork);
                        self.joins_of.entry(fork).or_default().push(node);
                    }
                    Some(first) if first != fork => {
                        if self.all.is_some() {
                            // The join is this fork's as well, as far as later faults go.
                            let joins = self.joins_of.entry(fork).or_default();
                            if !joins.contains(&node) {
                                joins.push(node);
                            }
                        }
                        let fork = Some(fork);
                        return self.fault(Fault { code: "E0758", node, other: first, fork });
                    }
                    Some(_) => {}
                }
                return self.counted(1);
            }
            _ => {}
        }
        match self.memory {
            Memory::Remembers if self.visited[node as usize] => return Ok(()),
            Memory::Remembers => self.visited[node as usize] = true,
            Memory::Forgets => {
                if let Some(calls) = self.known.get(&key).copied() {
                    self.total = self.total.saturating_add(calls - 1);
                    return self.counted(calls);
                }
            }
        }
        if shape == Shape::Fork {
            self.repeated_path(node)?;
        }
        self.path.push(Visit { node, fork, decision, ok, next: 0, calls: 1, key });
        Ok(())
    }

    /// A visit that ends at once, or was made before.
    fn counted(&mut self, calls: u64) -> Result<(), Fault> {
        if let Some(parent) = self.path.last_mut() {
            parent.calls = parent.calls.saturating_add(calls);
        }
        Ok(())
    }

    /// A target that a fork names twice, joins and kills excepted.
    fn repeated_path(&mut self, fork: Id) -> Result<(), Fault> {
        let reached = self.reached;
        let targets = &reached.targets[fork as usize];
        let mut times: HashMap<Id, u32> = HashMap::new();
        for to in targets {
            *times.entry(*to).or_default() += 1;
        }
        let repeated = targets
            .iter()
            .find(|to| times[*to] > 1 && !matches!(self.shape(**to), Shape::Join | Shape::Kill));
        match repeated {
            Some(to) => self.fault(Fault { code: "E0744", node: fork, other: *to, fork: None }),
            None => Ok(()),
        }
    }
}
