//! The fork/join walk of 3.3.2, which keeps the open forks on one stack and their joins on another.
//!
//! Takes the reachable nodes, with as many forks as joins, and returns the first refusal, or all of them. Unlike later
//! releases it continues after a join each time it reaches one, visits the targets of forks and decisions in the order
//! of a Java set, ignores decisions (a node with two ok paths is refused, whatever precedes it), lets a fork start a
//! node twice, and does not check a graph without forks. Its answer below an `error` depends only on the node and the
//! two stacks, so those are shared and compared by number, and a repeated walk is only counted.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::walk::{Fault, Graph, Id, Reached, Refusal, SLOW, Shape, refuse};

/// Maximum number of remembered visits before the walk gives up: adversarial graphs have more than anyone can visit,
/// including the server.
const PATIENCE: usize = 1_000_000;

/// The answer, and whether the server would not return it in reasonable time.
pub(super) fn forks(graph: &Graph<'_>, reached: &Reached) -> (Result<(), Refusal>, bool) {
    let mut walk = Walk::new(graph, reached);
    let answer = walk.run().map_err(|refused| refused.told);
    (answer, walk.total > SLOW || walk.gave_up)
}

/// All faults, continuing the walk after each; each with the joins concerned.
pub(super) fn faults(graph: &Graph<'_>, reached: &Reached) -> Vec<(Fault, Vec<Id>)> {
    let mut walk = Walk::new(graph, reached);
    walk.all = Some(Vec::new());
    let outcome = walk.run();
    debug_assert!(outcome.is_ok(), "a walk that goes on does not stop");
    let mut faults: Vec<(Fault, Vec<Id>)> = Vec::new();
    for refused in walk.all.unwrap_or_default() {
        let same = |(fault, joins): &(Fault, Vec<Id>)| {
            (fault.code, fault.node, fault.other)
                == (refused.fault.code, refused.fault.node, refused.fault.other)
                && *joins == refused.joins
        };
        if !faults.iter().any(same) {
            faults.push((refused.fault, refused.joins));
        }
    }
    faults
}

/// A fault, and the server's message for it.
struct Refused {
    fault: Fault,
    joins: Vec<Id>,
    told: Refusal,
}

/// Persistent stacks of nodes that share their common parts. A stack is a number; 0 is the empty stack.
struct Stacks {
    /// Top node, the stack below, and depth of each stack.
    all: Vec<(Id, u32, u32)>,
    known: HashMap<(Id, u32), u32>,
}

impl Stacks {
    fn push(&mut self, stack: u32, top: Id) -> u32 {
        let next = self.all.len() as u32;
        let depth = self.depth(stack) + 1;
        let found = *self.known.entry((top, stack)).or_insert(next);
        if found == next {
            self.all.push((top, stack, depth));
        }
        found
    }

    fn top(&self, stack: u32) -> Option<Id> {
        (stack > 0).then(|| self.all[stack as usize].0)
    }

    /// The stack without its top; the empty stack stays empty.
    fn pop(&self, stack: u32) -> u32 {
        self.all[stack as usize].1
    }

    fn depth(&self, stack: u32) -> u32 {
        self.all[stack as usize].2
    }
}

/// A visit of a node.
struct Visit {
    node: Id,
    ok: bool,
    /// Index of the next target, in visiting order.
    next: usize,
    /// The stacks at its beginning.
    forks: u32,
    joins: u32,
    /// Number of calls the server needs for it.
    calls: u64,
}

struct Walk<'g, 'a> {
    graph: &'g Graph<'a>,
    reached: &'g Reached,
    /// Targets in visiting order, computed on demand.
    order: HashMap<Id, Vec<Id>>,
    stacks: Stacks,
    /// The stack of open forks.
    forks: u32,
    /// The stack of joins found for them.
    joins: u32,
    /// Nodes reached on an ok path, and joins after which the walk has continued.
    met: Vec<bool>,
    /// The stack of joins after a visit below an `error`, and its number of calls, by node and stacks.
    known: HashMap<(Id, u32, u32), (u32, u64)>,
    path: Vec<Visit>,
    total: u64,
    gave_up: bool,
    all: Option<Vec<Refused>>,
}

impl<'g, 'a> Walk<'g, 'a> {
    fn new(graph: &'g Graph<'a>, reached: &'g Reached) -> Walk<'g, 'a> {
        Walk {
            graph,
            reached,
            order: HashMap::new(),
            stacks: Stacks { all: vec![(0, 0, 0)], known: HashMap::new() },
            forks: 0,
            joins: 0,
            met: vec![false; graph.nodes.len()],
            known: HashMap::new(),
            path: Vec::new(),
            total: 0,
            gave_up: false,
            all: None,
        }
    }

    fn shape(&self, id: Id) -> Shape {
        self.graph.nodes[id as usize].shape
    }

    fn run(&mut self) -> Result<(), Refused> {
        // The server does not check a graph without forks.
        if self.reached.counts().0 == 0 {
            return Ok(());
        }
        self.enter(0, true)?;
        while let Some(top) = self.path.last_mut() {
            let (node, next, ok) = (top.node, top.next, top.ok);
            top.next += 1;
            match (self.shape(node), self.target(node, next)) {
                (Shape::Action, Some(to)) => self.enter(to, ok && next == 0)?,
                (Shape::Join, Some(to)) => self.behind(node, to, ok)?,
                (_, Some(to)) => self.enter(to, ok)?,
                (_, None) => self.leave(),
            }
            self.gave_up |= self.known.len() >= PATIENCE;
            if self.gave_up {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The next target of a node.
    fn target(&mut self, node: Id, next: usize) -> Option<Id> {
        let targets = &self.reached.targets[node as usize];
        if !matches!(self.shape(node), Shape::Fork | Shape::Decision) {
            return targets.get(next).copied();
        }
        let graph = self.graph;
        let ordered = self.order.entry(node).or_insert_with(|| {
            in_a_set(targets, |id: &Id| java_hash(graph.nodes[*id as usize].name))
        });
        ordered.get(next).copied()
    }

    fn enter(&mut self, node: Id, ok: bool) -> Result<(), Refused> {
        let shape = self.shape(node);
        self.total = self.total.saturating_add(1);
        if ok && !matches!(shape, Shape::Kill | Shape::Join | Shape::End) {
            if self.met[node as usize] {
                return self.fault("E0743", node, node, [node]);
            }
            self.met[node as usize] = true;
        }
        match shape {
            Shape::Kill => return self.counted(1),
            Shape::End if self.forks == 0 => return self.counted(1),
            Shape::End => {
                let before = self.path.last().map_or(node, |visit| visit.node);
                return self.fault("E0737", before, node, [before, node]);
            }
            _ => {}
        }
        let (forks, joins) = (self.forks, self.joins);
        if !ok && let Some((after, calls)) = self.known.get(&(node, forks, joins)).copied() {
            self.joins = after;
            self.total = self.total.saturating_add(calls - 1);
            return self.counted(calls);
        }
        match shape {
            Shape::Fork => self.forks = self.stacks.push(forks, node),
            Shape::Join => {
                let Some(fork) = self.stacks.top(forks) else {
                    return self.fault("E0742", node, node, [node]);
                };
                let free = self.stacks.depth(forks) > self.stacks.depth(joins);
                match self.stacks.top(joins) {
                    Some(first) if first == node => {}
                    Some(first) if !free => {
                        return self.fault("E0732", node, fork, [fork, node, first]);
                    }
                    _ => self.joins = self.stacks.push(joins, node),
                }
                self.forks = self.stacks.pop(self.forks);
                self.joins = self.stacks.pop(self.joins);
            }
            _ => {}
        }
        self.path.push(Visit { node, ok, next: 0, forks, joins, calls: 1 });
        Ok(())
    }

    /// Continues after a join: on an ok path only the first time.
    fn behind(&mut self, join: Id, to: Id, ok: bool) -> Result<(), Refused> {
        let first = ok && !self.met[join as usize];
        self.met[join as usize] |= first;
        self.enter(to, first)
    }

    /// Ends the current visit.
    fn leave(&mut self) {
        let done = self.path.pop().expect("a visit is open");
        match self.shape(done.node) {
            // The server pops a join whether or not any of the fork's paths reached one.
            Shape::Fork => self.joins = self.stacks.pop(self.joins),
            Shape::Join => self.joins = self.stacks.push(self.joins, done.node),
            _ => {}
        }
        self.forks = done.forks;
        if !done.ok {
            self.known.insert((done.node, done.forks, done.joins), (self.joins, done.calls));
        }
        self.add(done.calls);
    }

    /// Counts a visit that ends at once, or was made before.
    fn counted(&mut self, calls: u64) -> Result<(), Refused> {
        self.add(calls);
        Ok(())
    }

    fn add(&mut self, calls: u64) {
        if let Some(parent) = self.path.last_mut() {
            parent.calls = parent.calls.saturating_add(calls);
        }
    }

    /// Ends the walk with a fault, or records it and continues.
    fn fault<const N: usize>(
        &mut self,
        code: &'static str,
        node: Id,
        other: Id,
        names: [Id; N],
    ) -> Result<(), Refused> {
        let name = |id: Id| self.graph.nodes[id as usize].name;
        let fault = Fault { code, node, other, fork: self.stacks.top(self.forks) };
        let joins: Vec<Id> =
            names.iter().copied().filter(|id| self.shape(*id) == Shape::Join).collect();
        let refused = Refused { fault, joins, told: refuse(code, names.map(name)) };
        match &mut self.all {
            Some(all) => {
                all.push(refused);
                self.counted(1)
            }
            None => Err(refused),
        }
    }
}

/// Distinct items in the iteration order of a Java set to which all of them are added: by the bits of their hashes
/// that select a bucket, and by insertion order within a bucket.
fn in_a_set<T: Copy + Eq + Hash>(items: &[T], hash: impl Fn(&T) -> u32) -> Vec<T> {
    // The table is sized so that the items fill at most three quarters of it.
    let places = (items.len() * 4 / 3 + 1).max(16).next_power_of_two() as u32;
    let mut seen = HashSet::new();
    let mut all: Vec<T> = items.iter().copied().filter(|item| seen.insert(*item)).collect();
    all.sort_by_key(|item| {
        let hash = hash(item);
        (hash ^ hash >> 16) & (places - 1)
    });
    all
}

/// The hash of a string in Java.
fn java_hash(text: &str) -> u32 {
    text.encode_utf16().fold(0u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Target;
    use crate::reference::walk::{Node, basic, tests::graph_of, tests::random_graph};

    #[test]
    fn sets_are_walked_as_java_walks_them() {
        let order = |names: &[&'static str]| in_a_set(names, |name| java_hash(name)).join(" ");
        // "b" is 98, "a" 97, "j" 106: their lowest four bits are 2, 1 and 10.
        assert_eq!(order(&["b", "j", "a", "b"]), "a b j");
        // "p" is 112 and "a0" 3055: buckets 0 and 15; "q1" is 3552, in bucket 0 as well, after the one inserted first.
        assert_eq!(order(&["a0", "q1", "p"]), "q1 p a0");
        assert_eq!(java_hash("Aa"), java_hash("BB"));
        assert_eq!(order(&["BB", "Aa"]), "BB Aa");
        // 13 names need a table of 32: "p" is 112, now in bucket 16, after "a" to "l".
        assert_eq!(
            order(&["p", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]),
            "a b c d e f g h i j k l p"
        );
    }

    /// The published algorithm, literally: it is recursive and does not remember visits.
    struct Plain<'g> {
        graph: &'g Graph<'g>,
        reached: &'g Reached,
        forks: Vec<Id>,
        joins: Vec<Id>,
        path: Vec<Id>,
        ok_nodes: Vec<Id>,
        seen_joins: Vec<Id>,
        calls: u64,
    }

    impl Plain<'_> {
        fn set(&self, node: Id) -> Vec<Id> {
            let name = |id: &Id| java_hash(self.graph.nodes[*id as usize].name);
            in_a_set(&self.reached.targets[node as usize], name)
        }

        fn walk(&mut self, node: Id, ok: bool) -> Result<(), Refusal> {
            self.calls += 1;
            let shape = self.graph.nodes[node as usize].shape;
            let refused = |code, ids: &[Id]| {
                let names = ids.iter().map(|id| self.graph.nodes[*id as usize].name.to_owned());
                Err(Refusal { code, names: names.collect() })
            };
            self.path.push(node);
            if ok && !matches!(shape, Shape::Kill | Shape::Join | Shape::End) {
                if self.ok_nodes.contains(&node) {
                    return refused("E0743", &[node]);
                }
                self.ok_nodes.push(node);
            }
            let to = |nth: usize| self.reached.targets[node as usize][nth];
            match shape {
                Shape::Start => self.walk(to(0), ok)?,
                Shape::Action => {
                    let (first, second) = (to(0), to(1));
                    self.walk(first, ok)?;
                    self.walk(second, false)?;
                }
                Shape::Decision => {
                    for target in self.set(node) {
                        self.walk(target, ok)?;
                    }
                }
                Shape::Fork => {
                    self.forks.push(node);
                    for target in self.set(node) {
                        self.walk(target, ok)?;
                    }
                    self.forks.pop();
                    self.joins.pop();
                }
                Shape::Join => {
                    let Some(fork) = self.forks.last().copied() else {
                        return refused("E0742", &[node]);
                    };
                    if self.forks.len() > self.joins.len() && self.joins.last() != Some(&node) {
                        self.joins.push(node);
                    }
                    if self.joins.last() != Some(&node) {
                        let first = *self.joins.last().unwrap();
                        return refused("E0732", &[fork, node, first]);
                    }
                    let next = to(0);
                    self.joins.pop();
                    self.forks.pop();
                    if !ok || self.seen_joins.contains(&node) {
                        self.walk(next, false)?;
                    } else {
                        self.seen_joins.push(node);
                        self.walk(next, true)?;
                    }
                    self.forks.push(fork);
                    self.joins.push(node);
                }
                Shape::End if !self.forks.is_empty() => {
                    return refused("E0737", &[self.path[self.path.len() - 2], node]);
                }
                Shape::End | Shape::Kill => {}
            }
            self.path.pop();
            Ok(())
        }
    }

    #[test]
    fn remembering_changes_no_answer() {
        let mut codes: HashMap<&str, usize> = HashMap::new();
        for seed in 0..60_000 {
            let graph = random_graph(seed);
            let Ok(reached) = basic(&graph, Target::V3_3_2) else { continue };
            let (forks, joins) = reached.counts();
            if forks != joins || forks == 0 {
                continue;
            }
            let mut plain = Plain {
                graph: &graph,
                reached: &reached,
                forks: Vec::new(),
                joins: Vec::new(),
                path: Vec::new(),
                ok_nodes: Vec::new(),
                seen_joins: Vec::new(),
                calls: 0,
            };
            let expected = plain.walk(0, true);
            let mut walk = Walk::new(&graph, &reached);
            let answer = walk.run().map_err(|refused| refused.told);
            assert_eq!(answer, expected, "graph {seed}");
            assert!(expected.is_err() || walk.total == plain.calls, "graph {seed}");
            *codes
                .entry(expected.map_or_else(|refusal| refusal.code, |()| "accepted"))
                .or_default() += 1;
        }
        // Every possible answer occurred.
        for code in ["accepted", "E0732", "E0737", "E0742", "E0743"] {
            assert!(codes.get(code).is_some_and(|count| *count > 20), "{codes:?}");
        }
    }

    #[test]
    fn a_graph_made_to_be_walked_for_ever_is_given_up() {
        // Below an error there are forks that may be bypassed, each continuing while still open.
        let names: Vec<[String; 2]> =
            (0..=40).map(|at| [format!("d{at}"), format!("f{at}")]).collect();
        let node = |name, shape, targets: &[&'static str]| Node {
            name,
            shape,
            targets: targets.to_vec(),
            unknown: None,
        };
        let mut nodes = vec![
            node(":start:", Shape::Start, &["a"]),
            Node { targets: vec!["k", &names[0][0]], ..node("a", Shape::Action, &[]) },
            node(&names[40][0], Shape::Decision, &["k"]),
            node("k", Shape::Kill, &[]),
        ];
        for pair in names.windows(2) {
            let ([decision, fork], next) = (&pair[0], pair[1][0].as_str());
            nodes.push(Node { targets: vec![fork, next], ..node(decision, Shape::Decision, &[]) });
            nodes.push(Node { targets: vec![next, "k"], ..node(fork, Shape::Fork, &[]) });
        }
        let graph = graph_of(nodes);
        let mut reached = basic(&graph, Target::V3_3_2).unwrap();
        reached.joins = reached.forks;
        let (answer, slow) = forks(&graph, &reached);
        assert!(answer.is_ok() && slow);
    }
}
