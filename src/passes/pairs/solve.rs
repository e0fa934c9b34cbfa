//! Determines the faults in which some run ends, and how many actions must fail for each.
//!
//! The method is described in `docs/graph-analysis.md`. In short: `A` gives the joins at which a token can arrive,
//! with prices; one pass per fork, the innermost first, propagates the two cheapest labels of different paths through
//! everything that the paths can enter. Nodes to which only one fork leads belong to it and are never visited again by
//! the forks around it: they use the fork's `Rim` instead. So a graph of well-nested forks takes linear time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::game::{Fault, Graph, PathId, Play, Role};

/// More than the price of any run.
pub(super) const NEVER: u32 = u32::MAX;

/// Maximum number of labels propagated in all; beyond that the analysis stops and reports that.
pub(crate) const BUDGET: u64 = 40_000_000;

/// Maximum number of faults simulated; a generated definition with a systematic mistake would have thousands.
const MOST_FAULTS: usize = 100;

/// Maximum number of moves stored for all runs, except the first run.
const MOST_MOVES: usize = 100_000;

/// A fault with the run that ends in it.
#[derive(Clone, Debug)]
pub(crate) struct Found<'g> {
    /// The way in which the run fails.
    pub fault: Fault,
    /// The node of the fault.
    pub node: u32,
    /// The number of actions that must fail.
    pub price: u32,
    /// The fork whose paths meet, if one is involved.
    pub fork: Option<u32>,
    /// The run.
    pub play: Play<'g>,
}

/// The result of the analysis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solution<'g> {
    /// Faults, each with a simulated run that ends in it; the cheapest first.
    pub faults: Vec<Found<'g>>,
    /// Whether the budget was used up before the analysis was complete.
    pub undecided: bool,
    /// The number of further faults that were predicted but not simulated.
    pub(crate) unplayed: usize,
}

/// Analyzes a graph.
pub(crate) fn solve(graph: &Graph) -> Solution<'_> {
    let Some(start) = graph.start.filter(|start| (*start as usize) < graph.len()) else {
        return Solution::default();
    };
    let mut solver = Solver::new(graph, start, BUDGET);
    solver.run();
    let mut found: Vec<Candidate> = std::mem::take(&mut solver.candidates);
    found.sort_by_key(|candidate| (candidate.price, candidate.fault, candidate.node));
    let mut solution = Solution { undecided: solver.spent > solver.budget, ..Solution::default() };
    let mut told: HashSet<(Fault, u32)> = HashSet::new();
    // A move costs as much as a visit; the cheapest fault is simulated whatever it costs.
    solver.spent = 0;
    let mut moves = 0;
    for candidate in found {
        if told.contains(&(candidate.fault, candidate.node)) {
            continue;
        }
        let first = solution.faults.is_empty();
        if solution.faults.len() >= MOST_FAULTS
            || (!first && (moves > MOST_MOVES || solver.spent > solver.budget))
        {
            solution.unplayed += 1;
            told.insert((candidate.fault, candidate.node));
            continue;
        }
        let Some(play) = solver.replay(&candidate) else { continue };
        solver.spent += play.steps.len() as u64;
        if play.fault == Some((candidate.fault, candidate.node)) && play.price == candidate.price {
            moves += play.steps.len();
            told.insert((candidate.fault, candidate.node));
            let Candidate { fault, node, price, fork, .. } = candidate;
            solution.faults.push(Found { fault, node, price, fork, play });
        }
    }
    solution
}

/// The joins at which a token can arrive, with the least price: sorted by join, shared between nodes if equal.
pub(super) type Arrivals = Option<std::rc::Rc<[(u32, u32)]>>;

/// How a label reached a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// It was there initially: on a path of the fork, or on the start.
    Seed,
    /// By an exit of the preceding node.
    Exit(u32),
    /// By entering the preceding fork; this is a path of it.
    Path(u32),
    /// By completing the preceding fork at this join.
    Complete,
    /// From inside the preceding fork, by its rim.
    Rim,
}

/// A way to a node from one path of a fork.
#[derive(Clone, Copy, Debug)]
struct Label {
    price: u32,
    path: u32,
    from: u32,
    how: How,
}

const NO_LABEL: Label = Label { price: NEVER, path: NEVER, from: NEVER, how: How::Seed };

/// The state of a node during one pass.
#[derive(Clone, Copy)]
struct Mark {
    pass: u32,
    /// The two cheapest labels, of different paths.
    labels: [Label; 2],
    /// The number of entries found to belong to the fork.
    entries: u32,
    /// The least price by ways that belong to the fork.
    own_price: u32,
    queued: bool,
}

/// A summary of a fork for the forks around it.
#[derive(Clone, Debug, Default)]
struct Rim {
    /// Nodes outside to which nodes inside lead: the price, if a token can get there, and the number of exits.
    outside: Vec<(u32, u32, u32)>,
    /// The first node inside that is entered whenever the fork is, and the path it is on.
    entry: Option<u32>,
}

/// A predicted fault, with the journeys of one or two tokens that lead to it.
#[derive(Clone, Debug)]
struct Candidate {
    fault: Fault,
    node: u32,
    price: u32,
    fork: Option<u32>,
    ends: Ends,
}

#[derive(Clone, Debug)]
enum Ends {
    /// The token of the start reaches the node.
    Start,
    /// The fork is entered.
    Fork,
    /// Both paths reach the node.
    Both(u32, u32),
    /// One path reaches the node.
    One(u32),
    /// One path arrives at one join, and the other path at another.
    Joins { first: (u32, u32), second: (u32, u32) },
}

pub(super) struct Solver<'g> {
    graph: &'g Graph,
    start: u32,
    pub(super) arrivals: Vec<Arrivals>,
    /// By fork: each join at which all its paths can arrive, with the sum of their prices.
    pub(super) sums: HashMap<u32, Vec<(u32, u32)>>,
    rims: HashMap<u32, Rim>,
    marks: Vec<Mark>,
    pass: u32,
    candidates: Vec<Candidate>,
    budget: u64,
    pub(super) spent: u64,
    /// By node, the cheapest way to reach it from the start.
    from_start: Vec<(u32, How)>,
}

impl<'g> Solver<'g> {
    pub(super) fn new(graph: &'g Graph, start: u32, budget: u64) -> Solver<'g> {
        let mark =
            Mark { pass: 0, labels: [NO_LABEL; 2], entries: 0, own_price: NEVER, queued: false };
        Solver {
            graph,
            start,
            arrivals: vec![None; graph.len()],
            sums: HashMap::new(),
            rims: HashMap::new(),
            marks: vec![mark; graph.len()],
            pass: 0,
            candidates: Vec::new(),
            budget,
            spent: 0,
            from_start: Vec::new(),
        }
    }

    fn run(&mut self) {
        for index in (0..self.graph.order.len()).rev() {
            let node = self.graph.order[index];
            self.arrivals[node as usize] = self.arrive(node);
            if self.spent > self.budget {
                return;
            }
        }
        let orphans = self.arrivals[self.start as usize].clone();
        if let Some((join, price)) =
            orphans.iter().flat_map(|list| list.iter()).min_by_key(|(_, price)| *price)
        {
            let (fault, node, price) = (Fault::Orphan, *join, *price);
            self.candidates.push(Candidate { fault, node, price, fork: None, ends: Ends::Start });
        }

        // One pass per fork, the innermost first: prices count from the fork, until that of reaching it is known.
        let forks: Vec<u32> = self
            .graph
            .order
            .iter()
            .rev()
            .copied()
            .filter(|node| self.graph.role(*node) == Role::Fork)
            .collect();
        for fork in &forks {
            if self.spent > self.budget {
                break;
            }
            self.fork(*fork);
        }
        self.travel(None, self.start, NEVER);
        self.from_start = self
            .marks
            .iter()
            .map(|mark| match mark.pass == self.pass && mark.labels[0].price < NEVER {
                true => (mark.labels[0].from, mark.labels[0].how),
                false => (NEVER, How::Seed),
            })
            .collect();
        let way: HashMap<u32, u32> =
            forks.iter().map(|fork| (*fork, self.price_of(*fork))).collect();
        for candidate in &mut self.candidates {
            if let Some(fork) = candidate.fork {
                candidate.price =
                    candidate.price.saturating_add(way.get(&fork).copied().unwrap_or(NEVER));
            }
        }
        self.candidates.retain(|candidate| candidate.price < NEVER);
    }

    /// Computes the recurrence `A`.
    pub(super) fn arrive(&mut self, node: u32) -> Arrivals {
        match self.graph.role(node) {
            Role::Join => Some([(node, 0)].into()),
            Role::Stop | Role::End => None,
            Role::Step => {
                let mut best: Arrivals = None;
                for exit in self.graph.exits(node) {
                    let next = self.arrivals[exit.to as usize].clone();
                    best = self.cheaper(best, next, exit.price);
                }
                best
            }
            // Nothing happens after a fork that hangs.
            Role::Fork if self.graph.repeats(node) => None,
            Role::Fork => {
                let sums = self.sum(node);
                let mut best: Arrivals = None;
                for (join, sum) in &sums {
                    let to = self.graph.exits(*join)[0].to;
                    let next = self.arrivals[to as usize].clone();
                    best = self.cheaper(best, next, *sum);
                }
                if !sums.is_empty() {
                    self.sums.insert(node, sums);
                }
                best
            }
        }
    }

    /// The cheaper of both prices for each join, with `price` added to those of the second.
    pub(super) fn cheaper(&mut self, first: Arrivals, second: Arrivals, price: u32) -> Arrivals {
        let (Some(a), Some(b)) = (&first, &second) else {
            return match second {
                Some(list) if price > 0 => Some(
                    list.iter().map(|(join, own)| (*join, own.saturating_add(price))).collect(),
                ),
                Some(list) => Some(list),
                None => first,
            };
        };
        self.spent += (a.len() + b.len()) as u64;
        // Usually the second adds nothing, and the first is reused.
        let adds = |(join, own): &(u32, u32)| match a.binary_search_by_key(join, |(join, _)| *join)
        {
            Ok(at) => own.saturating_add(price) < a[at].1,
            Err(_) => true,
        };
        if !b.iter().any(adds) {
            return first;
        }
        let mut merged: Vec<(u32, u32)> = a.to_vec();
        for (join, own) in b.iter() {
            let own = own.saturating_add(price);
            match merged.binary_search_by_key(join, |(join, _)| *join) {
                Ok(at) => merged[at].1 = merged[at].1.min(own),
                Err(at) => merged.insert(at, (*join, own)),
            }
        }
        Some(merged.into())
    }

    /// The joins at which all paths of a fork can arrive, with the sum of their prices.
    fn sum(&mut self, fork: u32) -> Vec<(u32, u32)> {
        let mut sums: Option<Vec<(u32, u32)>> = None;
        for exit in self.graph.exits(fork) {
            let Some(list) = &self.arrivals[exit.to as usize] else { return Vec::new() };
            self.spent += list.len() as u64;
            match &mut sums {
                None => sums = Some(list.to_vec()),
                Some(sums) => sums.retain_mut(|(join, sum)| {
                    let found = list.binary_search_by_key(join, |(join, _)| *join);
                    found.is_ok_and(|at| {
                        *sum = sum.saturating_add(list[at].1);
                        true
                    })
                }),
            }
        }
        sums.unwrap_or_default()
    }

    /// Finds all faults among the paths of a fork; their prices do not include that of reaching the fork.
    fn fork(&mut self, fork: u32) {
        let graph = self.graph;
        let fork_of = Some(fork);
        if graph.repeats(fork) {
            let (fault, node) = (Fault::Hang, fork);
            self.candidates.push(Candidate {
                fault,
                node,
                price: 0,
                fork: fork_of,
                ends: Ends::Fork,
            });
            self.rims.insert(fork, Rim::default());
            return;
        }
        self.race(fork);

        let visited = self.travel(Some(fork), fork, NEVER);
        let mut rim = Rim { outside: Vec::new(), entry: None };
        for node in visited {
            let mark = self.marks[node as usize];
            let role = graph.role(node);
            let [first, second] = mark.labels;
            if role == Role::End {
                let ends = Ends::One(first.path);
                let (fault, price) = (Fault::CutOff, first.price);
                self.candidates.push(Candidate { fault, node, price, fork: fork_of, ends });
            }
            // If two ways met before, the fault was found where they met.
            let apart = first.from != second.from || first.how != second.how;
            if second.price < NEVER && role != Role::End && (apart || first.how == How::Seed) {
                let place = match role {
                    Role::Step | Role::Join => Some(node),
                    Role::Fork => self.rims.get(&node).and_then(|rim| rim.entry),
                    _ => None,
                };
                if let Some(node) = place {
                    let price = first.price.saturating_add(second.price);
                    let ends = Ends::Both(first.path, second.path);
                    self.candidates.push(Candidate {
                        fault: Fault::Double,
                        node,
                        price,
                        fork: fork_of,
                        ends,
                    });
                }
            }
            // Stop nodes, and joins that are not completed, carry no label, but joins count their entries.
            if mark.entries < graph.entries[node as usize] || role == Role::End {
                rim.outside.push((node, mark.own_price, mark.entries));
            }
        }
        rim.outside.retain(|(_, price, entries)| *price < NEVER || *entries > 0);
        rim.entry = graph.exits(fork).iter().find_map(|exit| match graph.role(exit.to) {
            Role::Step => Some(exit.to),
            Role::Fork => self.rims.get(&exit.to).and_then(|rim| rim.entry),
            _ => None,
        });
        self.rims.insert(fork, rim);
    }

    /// Finds the cheapest two paths of a fork that can arrive at different joins.
    fn race(&mut self, fork: u32) {
        let exits = self.graph.exits(fork);
        // By join, the two cheapest paths; a fork with many paths has few joins.
        let mut by_join: HashMap<u32, [(u32, u32); 2]> = HashMap::new();
        for (path, exit) in exits.iter().enumerate() {
            for (join, price) in self.arrivals[exit.to as usize].iter().flat_map(|list| list.iter())
            {
                let best = by_join.entry(*join).or_insert([(NEVER, NEVER); 2]);
                let own = (*price, path as u32);
                if own < best[0] {
                    *best = [own, best[0]];
                } else if own < best[1] {
                    best[1] = own;
                }
                self.spent += 1;
            }
        }
        if by_join.len() < 2 {
            return;
        }
        let mut joins: Vec<_> = by_join.into_iter().collect();
        joins.sort_unstable();
        let mut best: Option<(u32, Ends, u32)> = None;
        for (index, (first, ones)) in joins.iter().enumerate() {
            for (second, others) in &joins[index + 1..] {
                self.spent += 1;
                for one in ones {
                    for other in others {
                        if one.1 == other.1 || one.0 == NEVER || other.0 == NEVER {
                            continue;
                        }
                        let price = one.0.saturating_add(other.0);
                        if best.as_ref().is_none_or(|best| price < best.0) {
                            let ends =
                                Ends::Joins { first: (one.1, *first), second: (other.1, *second) };
                            best = Some((price, ends, *second));
                        }
                    }
                }
            }
        }
        if let Some((price, ends, node)) = best {
            self.candidates.push(Candidate {
                fault: Fault::Race,
                node,
                price,
                fork: Some(fork),
                ends,
            });
        }
    }

    fn mark(&mut self, node: u32) -> &mut Mark {
        let pass = self.pass;
        let mark = &mut self.marks[node as usize];
        if mark.pass != pass {
            *mark =
                Mark { pass, labels: [NO_LABEL; 2], entries: 0, own_price: NEVER, queued: false };
        }
        mark
    }

    fn price_of(&self, node: u32) -> u32 {
        let mark = &self.marks[node as usize];
        if mark.pass == self.pass { mark.labels[0].price } else { NEVER }
    }

    /// Propagates labels from the paths of a fork (or from the start, in which case forks are entered and not
    /// bypassed) to all nodes that they can enter, but not past the node of rank `until`. Returns those nodes in
    /// order; their marks are valid until the next pass.
    fn travel(&mut self, fork: Option<u32>, from: u32, until: u32) -> Vec<u32> {
        self.pass += 1;
        let graph = self.graph;
        let mut heap: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
        let mut visited = Vec::new();
        match fork {
            Some(fork) => {
                for (path, exit) in graph.exits(fork).iter().enumerate() {
                    let label = Label { price: 0, path: path as u32, from: fork, how: How::Seed };
                    self.send(&mut heap, exit.to, label, true, 1);
                }
            }
            None => {
                let label = Label { price: 0, path: 0, from, how: How::Seed };
                self.send(&mut heap, from, label, false, 0);
            }
        }
        while let Some(Reverse((rank, node))) = heap.pop() {
            if rank > until {
                break;
            }
            visited.push(node);
            let mark = *self.mark(node);
            // A node belongs to the fork if all of its entries do.
            let own = mark.entries == graph.entries[node as usize];
            let labels = mark.labels.into_iter().filter(|label| label.price < NEVER);
            self.spent += 1;
            match graph.role(node) {
                Role::Stop | Role::End => {}
                // A token that arrives stays; only a completed fork continues from its join.
                Role::Join | Role::Step => {
                    for (index, exit) in graph.exits(node).iter().enumerate() {
                        let how = How::Exit(index as u32);
                        for label in labels.clone() {
                            let price = label.price.saturating_add(exit.price);
                            self.send(
                                &mut heap,
                                exit.to,
                                Label { price, from: node, how, ..label },
                                own,
                                0,
                            );
                        }
                        if own {
                            self.send(&mut heap, exit.to, NO_LABEL, own, 1);
                        }
                    }
                }
                Role::Fork => {
                    let sums = self.sums.get(&node).cloned().unwrap_or_default();
                    for (join, sum) in sums {
                        for label in labels.clone() {
                            let price = label.price.saturating_add(sum);
                            let label = Label { price, from: node, how: How::Complete, ..label };
                            self.complete(&mut heap, join, label, own);
                        }
                    }
                    if fork.is_none() {
                        if !graph.repeats(node) {
                            for (index, exit) in graph.exits(node).iter().enumerate() {
                                for label in labels.clone() {
                                    let label =
                                        Label { from: node, how: How::Path(index as u32), ..label };
                                    self.send(&mut heap, exit.to, label, own, 0);
                                }
                            }
                        }
                        continue;
                    }
                    let rim = std::mem::take(self.rims.entry(node).or_default());
                    for (outside, price, entries) in &rim.outside {
                        self.spent += 1;
                        if *price < NEVER {
                            for label in labels.clone() {
                                let price = label.price.saturating_add(*price);
                                let label = Label { price, from: node, how: How::Rim, ..label };
                                self.send(&mut heap, *outside, label, own, 0);
                            }
                        }
                        if own {
                            self.send(&mut heap, *outside, NO_LABEL, own, *entries);
                        }
                    }
                    self.rims.insert(node, rim);
                }
            }
        }
        visited
    }

    /// Adds a label to a node, and counts entries that belong to the fork. Joins get labels only when a fork is
    /// completed there ([`Solver::complete`]).
    fn send(
        &mut self,
        heap: &mut BinaryHeap<Reverse<(u32, u32)>>,
        to: u32,
        label: Label,
        own: bool,
        entries: u32,
    ) {
        let role = self.graph.role(to);
        if role == Role::Stop {
            return;
        }
        let mark = self.mark(to);
        mark.entries += entries;
        if role != Role::Join {
            add(mark, label, own);
        }
        self.queue(heap, to);
    }

    fn complete(
        &mut self,
        heap: &mut BinaryHeap<Reverse<(u32, u32)>>,
        join: u32,
        label: Label,
        own: bool,
    ) {
        add(self.mark(join), label, own);
        self.queue(heap, join);
    }

    fn queue(&mut self, heap: &mut BinaryHeap<Reverse<(u32, u32)>>, node: u32) {
        let rank = self.graph.rank[node as usize];
        let mark = self.mark(node);
        if !std::mem::replace(&mut mark.queued, true) {
            heap.push(Reverse((rank, node)));
        }
    }

    /// Simulates the run of a candidate.
    fn replay(&mut self, candidate: &Candidate) -> Option<Play<'g>> {
        let mut play = Play::new(self.graph, self.start);
        let Some(fork) = candidate.fork else {
            self.bring(&mut play, 0, candidate.node);
            play.settle(0);
            return Some(play);
        };
        let way = self.way(self.start, fork)?;
        let path = self.walk(&mut play, 0, &way)?;
        if matches!(candidate.ends, Ends::Fork) {
            play.settle(path);
            return Some(play);
        }
        let branches = play.split(path);
        let go = |solver: &mut Self, play: &mut Play<'g>, index: u32| {
            let seed = solver.graph.exits(fork)[index as usize].to;
            let way = solver.way(seed, candidate.node)?;
            let path = solver.walk(play, *branches.get(index as usize)?, &way)?;
            // A join has been completed by now; the node after it is not entered, because it may end the run.
            if solver.graph.role(candidate.node) != Role::Join {
                play.settle(path);
            }
            Some(())
        };
        match candidate.ends {
            Ends::Start | Ends::Fork => {}
            Ends::One(index) => go(self, &mut play, index)?,
            Ends::Both(first, second) => {
                go(self, &mut play, first)?;
                go(self, &mut play, second)?;
            }
            Ends::Joins { first, second } => {
                for (index, join) in [first, second] {
                    let path = *branches.get(index as usize)?;
                    self.bring(&mut play, path, join);
                    play.settle(path);
                }
            }
        }
        Some(play)
    }

    /// The cheapest steps from one node to another, into and around forks.
    fn way(&mut self, from: u32, to: u32) -> Option<Vec<Leg>> {
        let kept = from == self.start && !self.from_start.is_empty();
        if !kept {
            self.travel(None, from, self.graph.rank[to as usize]);
        }
        let mut legs = Vec::new();
        let mut at = to;
        loop {
            let (before, how) = if kept {
                self.from_start[at as usize]
            } else {
                let mark = &self.marks[at as usize];
                let label = mark.labels[0];
                let known = mark.pass == self.pass && label.price < NEVER;
                if known { (label.from, label.how) } else { (NEVER, How::Seed) }
            };
            match how {
                // The initial label came from the node itself.
                How::Seed if at == from && before == from => break,
                How::Seed => return None,
                how => legs.push(Leg { from: before, to: at, how }),
            }
            at = before;
        }
        legs.reverse();
        Some(legs)
    }

    /// Moves a token along a way; returns the path it is on then.
    fn walk(&mut self, play: &mut Play<'g>, path: PathId, way: &[Leg]) -> Option<PathId> {
        let mut path = path;
        for leg in way {
            if play.over {
                return Some(path);
            }
            match leg.how {
                How::Seed | How::Rim => return None,
                // A join is left by the move that completes it.
                How::Exit(_) if self.graph.role(leg.from) == Role::Join => {}
                How::Exit(exit) => play.leave(path, exit),
                How::Path(index) => path = *play.split(path).get(index as usize)?,
                How::Complete => {
                    for branch in play.split(path) {
                        self.bring(play, branch, leg.to);
                        play.settle(branch);
                    }
                }
            }
        }
        Some(path)
    }

    /// Moves a token to a join at the least price, completing inner forks. The token ends up before the join.
    fn bring(&mut self, play: &mut Play<'g>, path: PathId, join: u32) {
        let price = |solver: &Solver<'_>, node: u32, join: u32| {
            let list = solver.arrivals[node as usize].as_ref()?;
            let at = list.binary_search_by_key(&join, |(join, _)| *join).ok()?;
            Some(list[at].1)
        };
        // Tokens to move, the last first. A token that waits for the branches of an inner fork is below them.
        let mut open = vec![(path, join)];
        while let Some((path, join)) = open.pop() {
            if play.over {
                return;
            }
            let Some(node) = play.token(path) else { continue };
            if node == join {
                // Inner tokens arrive at once; entering the join with the outermost is left to the caller.
                if !open.is_empty() {
                    play.settle(path);
                }
                continue;
            }
            let Some(least) = price(self, node, join) else { return };
            match self.graph.role(node) {
                Role::Step => {
                    let fits = |exit: &super::game::Exit| {
                        price(self, exit.to, join)
                            .is_some_and(|own| own.saturating_add(exit.price) == least)
                    };
                    let Some(exit) = self.graph.exits(node).iter().position(fits) else { return };
                    play.leave(path, exit as u32);
                    open.push((path, join));
                }
                Role::Fork => {
                    let sums = self.sums.get(&node).cloned().unwrap_or_default();
                    let fits = |(inner, sum): &&(u32, u32)| {
                        let to = self.graph.exits(*inner)[0].to;
                        price(self, to, join).is_some_and(|own| own.saturating_add(*sum) == least)
                    };
                    let Some((inner, _)) = sums.iter().find(fits).copied() else { return };
                    open.push((path, join));
                    for branch in play.split(path).into_iter().rev() {
                        open.push((branch, inner));
                    }
                }
                _ => return,
            }
        }
    }
}

/// A step of a way.
#[derive(Clone, Copy, Debug)]
struct Leg {
    from: u32,
    to: u32,
    how: How,
}

fn add(mark: &mut Mark, label: Label, own: bool) {
    if label.price == NEVER {
        return;
    }
    if own {
        mark.own_price = mark.own_price.min(label.price);
    }
    let [first, second] = mark.labels;
    if label.path == first.path {
        if label.price < first.price {
            mark.labels[0] = label;
        }
    } else if label.price < first.price {
        mark.labels = [label, first];
    } else if label.price < second.price {
        mark.labels[1] = label;
    }
}

#[cfg(test)]
mod tests {
    use super::super::exhaust;
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_join_before_a_kill_is_completed_twice() {
        // The first completion must not end the run.
        let graph = Graph::from_parts(&exhaust::random(10_181_954));
        assert_eq!(exhaust::compare(&graph), Ok(Some(0)));
    }

    #[test]
    fn the_least_price_is_that_of_playing_everything() {
        const COUNT: u64 = 20_000;
        let half = |odd: u64| {
            let mut by_price: BTreeMap<Option<u32>, u32> = BTreeMap::new();
            for seed in (odd..COUNT).step_by(2) {
                let graph = Graph::from_parts(&exhaust::random(seed));
                match exhaust::compare(&graph) {
                    Ok(least) => *by_price.entry(least).or_default() += 1,
                    Err(what) => panic!("seed {seed}: {what}"),
                }
            }
            by_price
        };
        let mut by_price: BTreeMap<Option<u32>, u32> = BTreeMap::new();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| half(1));
            for (price, graphs) in half(0).into_iter().chain(other.join().expect("no panic")) {
                *by_price.entry(price).or_default() += graphs;
            }
        });
        #[expect(clippy::disallowed_macros, reason = "a figure of the run, for its report")]
        {
            println!("graphs by the least price of a fault: {by_price:?}");
        }
        // The graphs are useful as a test only if they include all kinds.
        for price in [None, Some(0), Some(1), Some(2)] {
            assert!(by_price.get(&price).is_some_and(|graphs| *graphs > 20), "{price:?}");
        }
    }
}
