//! What the server checks of the graph: names, cycles and transitions first, then forks and joins.
//!
//! In: the nodes of a definition that its parser took. Out: the first refusal, with the names in its message. Both
//! walks go depth first in the order of transitions, as the server's do, but on a stack of their own; and where the
//! walk of 5.2.1 forgets what it has seen, this one remembers and only counts how many calls forgetting would take.

use std::collections::HashMap;

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
    let mut walk = Walk {
        graph,
        reached,
        memory,
        fork_of: vec![None; graph.nodes.len()],
        joins_of: HashMap::new(),
        first_decision: vec![None; graph.nodes.len()],
        visited: vec![false; if memory == Memory::Remembers { graph.nodes.len() } else { 0 }],
        known: HashMap::new(),
        path: Vec::new(),
        total: 0,
    };
    let answer = walk.run();
    (answer, memory == Memory::Forgets && walk.total > SLOW)
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
}

impl Walk<'_, '_> {
    fn name(&self, id: Id) -> &str {
        self.graph.nodes[id as usize].name
    }

    fn shape(&self, id: Id) -> Shape {
        self.graph.nodes[id as usize].shape
    }

    fn run(&mut self) -> Result<(), Refusal> {
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
                    // The join has one target, which was reached with it.
                    let to = self.reached.targets[join as usize][0];
                    self.enter(to, fork, decision, ok)?;
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

    fn only_join(&self, fork: Id) -> Result<Id, Refusal> {
        match self.joins_of.get(&fork).map_or(&[][..], Vec::as_slice) {
            [] => Err(refuse("E0733", [self.name(fork)])),
            [join] => Ok(*join),
            joins => {
                let mut names: Vec<String> =
                    joins.iter().map(|id| self.name(*id).to_owned()).collect();
                names.sort();
                names.insert(0, self.name(fork).to_owned());
                Err(Refusal { code: "E0757", names })
            }
        }
    }

    fn enter(
        &mut self,
        node: Id,
        fork: Option<Id>,
        decision: Option<Id>,
        ok: bool,
    ) -> Result<(), Refusal> {
        let shape = self.shape(node);
        self.total = self.total.saturating_add(1);
        if ok && !matches!(shape, Shape::Kill | Shape::Join | Shape::End) {
            match self.first_decision[node as usize] {
                None => self.first_decision[node as usize] = Some(decision),
                Some(first) if first.is_none() || first != decision => {
                    return Err(refuse("E0743", [self.name(node)]));
                }
                Some(_) => {}
            }
        }
        let key =
            u64::from(node) << 33 | u64::from(fork.map_or(0, |id| id + 1)) << 1 | u64::from(ok);
        match shape {
            Shape::End => {
                return match fork {
                    Some(_) => {
                        let before = self.path.last().map_or(node, |visit| visit.node);
                        Err(refuse("E0737", [self.name(before), self.name(node)]))
                    }
                    None => self.counted(1),
                };
            }
            Shape::Join => {
                let Some(fork) = fork else { return Err(refuse("E0742", [self.name(node)])) };
                match self.fork_of[node as usize] {
                    None => {
                        self.fork_of[node as usize] = Some(fork);
                        self.joins_of.entry(fork).or_default().push(node);
                    }
                    Some(first) if first != fork => {
                        return Err(refuse("E0758", [self.name(node), self.name(first)]));
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
    fn counted(&mut self, calls: u64) -> Result<(), Refusal> {
        if let Some(parent) = self.path.last_mut() {
            parent.calls = parent.calls.saturating_add(calls);
        }
        Ok(())
    }

    /// A target that a fork names twice, joins and kills excepted.
    fn repeated_path(&self, fork: Id) -> Result<(), Refusal> {
        let targets = &self.reached.targets[fork as usize];
        let mut times: HashMap<Id, u32> = HashMap::new();
        for to in targets {
            *times.entry(*to).or_default() += 1;
        }
        let repeated = targets
            .iter()
            .find(|to| times[*to] > 1 && !matches!(self.shape(**to), Shape::Join | Shape::Kill));
        match repeated {
            Some(to) => Err(refuse("E0744", [self.name(fork), self.name(*to)])),
            None => Ok(()),
        }
    }
}
