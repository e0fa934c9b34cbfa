//! The server's checks of the graph: names, cycles and transitions first, then forks and joins.
//!
//! Takes the nodes of a definition that its parser accepted, and returns the first refusal, with the names in its
//! message. Both walks are depth-first in the order of transitions, as the server's are, but with an explicit stack;
//! and where the walk of 5.2.1 forgets what it has visited, this one remembers and only counts how many calls
//! forgetting would take.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::{Target, stacks};

/// A node, by its index in a [`Graph`].
pub(super) type Id = u32;

/// The type of a node.
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

/// A node and the targets of its transitions.
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) shape: Shape,
    /// An action's `ok` and `error`; a decision's cases, then its default; a fork's paths.
    pub(super) targets: Vec<&'a str>,
    /// An unsupported action type, if the server reports it only when its walk reaches the node.
    pub(super) unknown: Option<&'a str>,
}

/// The nodes of a definition, in order, `start` first.
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) by_name: HashMap<&'a str, Id>,
}

/// A refusal: its code, and the names in its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) names: Vec<String>,
}

pub(super) fn refuse<const N: usize>(code: &'static str, names: [&str; N]) -> Refusal {
    Refusal { code, names: names.map(str::to_owned).to_vec() }
}

/// A fault of forks and joins, with the nodes concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    /// The node that the message names first.
    pub(super) node: Id,
    /// The other node that the message names: the end, the repeated target, or the join's first fork.
    pub(super) other: Id,
    /// The fork inside which it was found, if the message does not name it.
    pub(super) fork: Option<Id>,
}

/// The variant of the fork/join walk, by server release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// 3.3.2: continues after every join again, with a stack of forks and one of joins ([`stacks`]).
    Stacks,
    /// 4.3.1: like 5.2.1, but `ok` starts a new ok path, also below an `error`.
    Renews,
    /// 5.2.1: remembers no visits, so that every path is walked.
    Forgets,
    /// After 5.2.1: a visited node is not visited again, wherever it is reached.
    Remembers,
}

impl Method {
    pub(super) fn of(target: Target) -> Method {
        match target {
            Target::V3_3_2 => Method::Stacks,
            Target::V4_3_1 => Method::Renews,
            Target::V5_2_1 => Method::Forgets,
            Target::Trunk => Method::Remembers,
        }
    }
}

/// Maximum number of calls with which a walk that does not remember visits still ends in reasonable time.
pub(super) const SLOW: u64 = 10_000_000;

/// The targets of the reachable nodes, and the numbers of reachable forks and joins.
pub(super) struct Reached {
    pub(super) targets: Vec<Vec<Id>>,
    pub(super) forks: usize,
    pub(super) joins: usize,
}

/// Checks names, cycles and transitions of the reachable nodes.
pub(super) fn basic(graph: &Graph<'_>, target: Target) -> Result<Reached, Refusal> {
    let mut reached = Reached { targets: Vec::new(), forks: 0, joins: 0 };
    reached.targets.resize_with(graph.nodes.len(), Vec::new);
    let mut done = vec![false; graph.nodes.len()];
    let mut on_path = vec![false; graph.nodes.len()];
    let mut path: Vec<(Id, usize)> = Vec::new();
    let mut enter = Some(0);
    loop {
        if let Some(id) = enter.take() {
            let node = &graph.nodes[id as usize];
            name(node, target.name_limit())?;
            if let Some(kind) = node.unknown {
                return Err(refuse("E0723", [kind]));
            }
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

fn name(node: &Node<'_>, limit: usize) -> Result<(), Refusal> {
    let mut bytes = node.name.bytes();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if node.shape == Shape::Start {
        return Ok(());
    }
    if node.name.len() > limit {
        return Err(refuse("E0724", [node.name, "length"]));
    }
    let first = bytes.next();
    if first.is_none_or(|byte| !byte.is_ascii_alphabetic() && byte != b'_') || !bytes.all(plain) {
        return Err(refuse("E0724", [node.name, "characters"]));
    }
    Ok(())
}

/// A visit of a node in the walk over forks and joins.
struct Visit {
    node: Id,
    /// The fork to whose path it belongs.
    fork: Option<Id>,
    /// The first decision on the path to it.
    decision: Option<Id>,
    /// Whether no error transition was taken on the path to it.
    ok: bool,
    /// Index of the next target; for a fork after its paths, the target of its join.
    next: usize,
    /// Number of calls that the visit takes without remembering.
    calls: u64,
    /// See [`Known::again`].
    again: Option<Id>,
    key: Key,
}

/// Everything that the result of a visit depends on: node, fork, type of path, and for 4.3.1 the first decision,
/// because its checks of ok paths restart below an `error`.
type Key = (Id, Option<Id>, bool, Option<Id>);

/// A visit that found no fault.
#[derive(Clone, Copy)]
struct Known {
    /// Number of calls it took.
    calls: u64,
    /// The first node reached on an ok path without a preceding decision: a second visit ends there.
    again: Option<Id>,
}

/// Checks forks and joins. Returns the answer, and whether the server would not return it in reasonable time.
pub(super) fn forks(
    graph: &Graph<'_>,
    reached: &Reached,
    method: Method,
) -> (Result<(), Refusal>, bool) {
    if reached.forks != reached.joins {
        return (Err(refuse("E0730", [])), false);
    }
    if method == Method::Stacks {
        return stacks::forks(graph, reached);
    }
    let mut walk = Walk::new(graph, reached, method);
    let answer = walk.run().map_err(|fault| walk.refusal(fault));
    (answer, method != Method::Remembers && walk.total > SLOW)
}

/// All faults of forks and joins, continuing the walk after each; each with the joins of the fork concerned.
pub(super) fn faults(
    graph: &Graph<'_>,
    reached: &Reached,
    method: Method,
) -> Vec<(Fault, Vec<Id>)> {
    if method == Method::Stacks {
        return stacks::faults(graph, reached);
    }
    let mut walk = Walk::new(graph, reached, method);
    walk.all = Some(Vec::new());
    let outcome = walk.run();
    debug_assert!(outcome.is_ok(), "a walk that goes on does not stop");
    let mut seen = HashSet::new();
    let mut faults = walk.all.take().unwrap_or_default();
    faults.retain(|fault| seen.insert((fault.code, fault.node, fault.other)));
    // If a path is repeated, its node is reached twice for that reason.
    let twice: HashSet<Id> =
        faults.iter().filter(|fault| fault.code == "E0744").map(|fault| fault.other).collect();
    faults.retain(|fault| fault.code != "E0743" || !twice.contains(&fault.node));
    let joins = |fault: &Fault| walk.joins_of.get(&fault.node).cloned().unwrap_or_default();
    faults.iter().map(|fault| (*fault, joins(fault))).collect()
}

/// The reachable part of a graph that may be incomplete: unresolved transitions are left out. `None` if it has a
/// cycle. The second value is whether nothing was left out.
pub(super) fn reach(graph: &Graph<'_>) -> Option<(Reached, bool)> {
    let mut reached = Reached { targets: Vec::new(), forks: 0, joins: 0 };
    reached.targets.resize_with(graph.nodes.len(), Vec::new);
    for (node, targets) in graph.nodes.iter().zip(&mut reached.targets) {
        targets.extend(node.targets.iter().filter_map(|target| graph.by_name.get(target)));
    }
    let mut whole = true;
    // 0: not visited, 1: on the current path, 2: done.
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
    /// The numbers of reachable forks and joins.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.forks, self.joins)
    }
}

struct Walk<'g, 'a> {
    graph: &'g Graph<'a>,
    reached: &'g Reached,
    method: Method,
    fork_of: Vec<Option<Id>>,
    joins_of: HashMap<Id, Vec<Id>>,
    /// For nodes reached on an ok path: the first decision on the path to them.
    first_decision: Vec<Option<Option<Id>>>,
    visited: Vec<bool>,
    /// Visits that found no fault.
    known: HashMap<Key, Known>,
    path: Vec<Visit>,
    total: u64,
    /// The faults found so far, if the walk continues after them.
    all: Option<Vec<Fault>>,
}

impl<'g, 'a> Walk<'g, 'a> {
    fn new(graph: &'g Graph<'a>, reached: &'g Reached, method: Method) -> Walk<'g, 'a> {
        let nodes = graph.nodes.len();
        Walk {
            graph,
            reached,
            method,
            fork_of: vec![None; nodes],
            joins_of: HashMap::new(),
            first_decision: vec![None; nodes],
            visited: vec![false; if method == Method::Remembers { nodes } else { 0 }],
            known: HashMap::new(),
            path: Vec::new(),
            total: 0,
            all: None,
        }
    }

    /// Ends the walk with a fault, or records it and continues.
    fn fault(&mut self, fault: Fault) -> Result<(), Fault> {
        match &mut self.all {
            Some(all) => {
                all.push(fault);
                self.counted()
            }
            None => Err(fault),
        }
    }

    /// The server's message for a fault.
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
                    // The join has one target, unless the definition is invalid.
                    let to = join.and_then(|join| self.reached.targets[join as usize].first());
                    if let Some(to) = to.copied() {
                        self.enter(to, fork, decision, ok)?;
                    }
                }
                (Shape::Decision, Some(to)) => {
                    self.enter(*to, fork, decision.or(Some(node)), ok)?;
                }
                (Shape::Action, Some(to)) => {
                    let ok = next == 0 && (ok || self.method == Method::Renews);
                    self.enter(*to, fork, decision, ok)?;
                }
                (Shape::Start, Some(to)) => self.enter(*to, fork, decision, ok)?,
                _ => {
                    let done = self.path.pop().expect("a visit is open");
                    let known = Known { calls: done.calls, again: done.again };
                    if self.method != Method::Remembers {
                        self.known.insert(done.key, known);
                    }
                    self.add(known);
                }
            }
        }
        Ok(())
    }

    /// The only join of a fork whose paths were walked, if it has one.
    fn only_join(&mut self, fork: Id) -> Result<Option<Id>, Fault> {
        let joins = self.joins_of.get(&fork).map_or(&[][..], Vec::as_slice);
        // The walk after a join of another fork, which was reported, is done for that fork.
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
        let minded = ok && !matches!(shape, Shape::Kill | Shape::Join | Shape::End);
        let again = (minded && decision.is_none()).then_some(node);
        if minded {
            match self.first_decision[node as usize] {
                None => self.first_decision[node as usize] = Some(decision),
                Some(first) if first.is_none() || first != decision => {
                    let fault = Fault { code: "E0743", node, other: node, fork };
                    return self.fault(fault);
                }
                Some(_) => {}
            }
        }
        let renews = self.method == Method::Renews;
        let key = (node, fork, ok, decision.filter(|_| renews));
        match shape {
            Shape::End => {
                let Some(inside) = fork else { return self.counted() };
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
                            // For later faults, the join counts as one of this fork as well.
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
                return self.counted();
            }
            _ => {}
        }
        match self.method {
            Method::Remembers if self.visited[node as usize] => return Ok(()),
            Method::Remembers => self.visited[node as usize] = true,
            _ => {
                if let Some(known) = self.known.get(&key).copied() {
                    if let Some(node) = known.again {
                        return self.fault(Fault { code: "E0743", node, other: node, fork });
                    }
                    self.total = self.total.saturating_add(known.calls - 1);
                    self.add(known);
                    return Ok(());
                }
            }
        }
        if shape == Shape::Fork {
            self.repeated_path(node)?;
        }
        self.path.push(Visit { node, fork, decision, ok, next: 0, calls: 1, again, key });
        Ok(())
    }

    /// Counts a visit that ends at once.
    fn counted(&mut self) -> Result<(), Fault> {
        self.add(Known { calls: 1, again: None });
        Ok(())
    }

    /// Adds a visit that ended, or was made before, to its parent.
    fn add(&mut self, known: Known) {
        if let Some(parent) = self.path.last_mut() {
            parent.calls = parent.calls.saturating_add(known.calls);
            parent.again = parent.again.or(known.again);
        }
    }

    /// Reports a target that a fork names twice, except joins and kill nodes.
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A graph of the given nodes.
    pub(in crate::reference) fn graph_of(nodes: Vec<Node<'_>>) -> Graph<'_> {
        let by_name = nodes.iter().zip(0..).map(|(node, id)| (node.name, id)).collect();
        Graph { nodes, by_name }
    }

    /// Deterministic pseudo-random numbers.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) as usize) % limit
        }
    }

    /// A small acyclic graph, mostly reachable, usually with as many forks as joins.
    pub(in crate::reference) fn random_graph(seed: u64) -> Graph<'static> {
        const NAMES: [&str; 14] = [
            "a0", "f1", "j2", "d3", "a4", "f5", "j6", "d7", "a8", "a9", "x10", "y11", "z12", "w13",
        ];
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        for _ in 0..4 {
            dice.below(2);
        }
        let count = 3 + dice.below(NAMES.len() - 2);
        let mut nodes = vec![Node {
            name: ":start:",
            shape: Shape::Start,
            targets: vec![NAMES[0]],
            unknown: None,
        }];
        // Number of forks without a join so far, so that joins follow forks.
        let mut open = 0;
        for at in 0..count {
            let shape = match dice.below(6) {
                0 | 1 if at + 2 < count => Shape::Fork,
                2 | 3 if open > 0 => Shape::Join,
                4 => Shape::Decision,
                _ => Shape::Action,
            };
            open += usize::from(shape == Shape::Fork);
            open -= usize::from(shape == Shape::Join);
            let mut later = |near: bool| {
                let left = count - at - 1;
                match dice.below(if near { 12 } else { 3 }) {
                    0 => "k",
                    1 if left < 3 => "e",
                    _ if left == 0 => "e",
                    _ => NAMES[at + 1 + dice.below(left.min(4))],
                }
            };
            let targets = match shape {
                Shape::Join => vec![later(true)],
                Shape::Action => vec![later(true), later(false)],
                _ => (0..2 + at % 2).map(|_| later(true)).collect(),
            };
            nodes.push(Node { name: NAMES[at], shape, targets, unknown: None });
        }
        for (name, shape) in [("k", Shape::Kill), ("e", Shape::End)] {
            nodes.push(Node { name, shape, targets: Vec::new(), unknown: None });
        }
        graph_of(nodes)
    }

    /// The published algorithm of 4.3.1 and 5.2.1, literally: it is recursive and does not remember visits.
    struct Plain<'g> {
        graph: &'g Graph<'g>,
        reached: &'g Reached,
        method: Method,
        fork_of: HashMap<Id, Id>,
        first_decision: HashMap<Id, Option<Id>>,
        calls: u64,
    }

    impl Plain<'_> {
        fn walk(
            &mut self,
            node: Id,
            fork: Option<Id>,
            decision: Option<Id>,
            ok: bool,
        ) -> Result<(), &'static str> {
            self.calls += 1;
            let shape = self.graph.nodes[node as usize].shape;
            if ok && !matches!(shape, Shape::Kill | Shape::Join | Shape::End) {
                match self.first_decision.get(&node) {
                    None => drop(self.first_decision.insert(node, decision)),
                    Some(first) if first.is_none() || *first != decision => return Err("E0743"),
                    Some(_) => {}
                }
            }
            let reached = self.reached;
            let targets = &reached.targets[node as usize];
            match shape {
                Shape::Fork => {
                    for to in targets {
                        let target = self.graph.nodes[*to as usize].shape;
                        let times = targets.iter().filter(|other| *other == to).count();
                        if times > 1 && !matches!(target, Shape::Join | Shape::Kill) {
                            return Err("E0744");
                        }
                    }
                    for to in targets {
                        self.walk(*to, Some(node), decision, ok)?;
                    }
                    let own = self.fork_of.iter().filter(|(_, fork)| **fork == node);
                    let joins: Vec<Id> = own.map(|(join, _)| *join).collect();
                    match joins.len() {
                        0 => return Err("E0733"),
                        1 => {
                            let next = reached.targets[joins[0] as usize][0];
                            self.walk(next, fork, decision, ok)?;
                        }
                        _ => return Err("E0757"),
                    }
                }
                Shape::Join => {
                    let fork = fork.ok_or("E0742")?;
                    if *self.fork_of.entry(node).or_insert(fork) != fork {
                        return Err("E0758");
                    }
                }
                Shape::Decision => {
                    for to in targets {
                        self.walk(*to, fork, decision.or(Some(node)), ok)?;
                    }
                }
                Shape::Action => {
                    let below = ok || self.method == Method::Renews;
                    self.walk(targets[0], fork, decision, below)?;
                    self.walk(targets[1], fork, decision, false)?;
                }
                Shape::Start => self.walk(targets[0], fork, decision, ok)?,
                Shape::End if fork.is_some() => return Err("E0737"),
                Shape::End | Shape::Kill => {}
            }
            Ok(())
        }
    }

    #[test]
    fn remembering_changes_no_answer() {
        for (method, target) in
            [(Method::Renews, Target::V4_3_1), (Method::Forgets, Target::V5_2_1)]
        {
            let mut codes: HashMap<&str, usize> = HashMap::new();
            for seed in 0..60_000 {
                let graph = random_graph(seed);
                let Ok(reached) = basic(&graph, target) else { continue };
                if reached.forks != reached.joins {
                    continue;
                }
                let (fork_of, first_decision) = (HashMap::new(), HashMap::new());
                let (graph, reached) = (&graph, &reached);
                let mut plain = Plain { graph, reached, method, fork_of, first_decision, calls: 0 };
                let expected = plain.walk(0, None, None, true);
                let mut walk = Walk::new(graph, reached, method);
                let answer = walk.run().map_err(|fault| fault.code);
                assert_eq!(answer, expected, "graph {seed}, {method:?}");
                assert!(expected.is_err() || walk.total == plain.calls, "graph {seed}");
                *codes.entry(expected.err().unwrap_or("accepted")).or_default() += 1;
            }
            // Every possible answer occurred.
            let all = ["accepted", "E0733", "E0737", "E0742", "E0743", "E0744", "E0757", "E0758"];
            for code in all {
                assert!(codes.get(code).is_some_and(|count| *count > 20), "{codes:?}");
            }
        }
    }
}
