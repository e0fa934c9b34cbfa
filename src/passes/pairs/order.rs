//! The relation of two nodes in runs: can they run at once, can one come after the other, does one always come after
//! the other?
//!
//! An [`Order`] is created from a [`Graph`] with its [`Solution`]. It answers queries about actions, decisions and
//! kill nodes, and computes what it needs on demand: only the nodes around the two, unless more is asked about the
//! first. "No" is certain. "Yes" is certain below the least price of a fault ([`Chance::Exact`]); above it, some other
//! fault may end every such run first ([`Chance::Over`]).
//!
//! `docs/graph-analysis.md` has the recurrences.

use std::collections::HashMap;

use super::game::{Graph, Role};
use super::solve::{Arrivals, NEVER, Solution, Solver};

/// Whether something can happen, and the least number of actions that must fail for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// In no run.
    No,
    /// In a run with this number of failures, and in none with fewer.
    Exact(u32),
    /// In no run with fewer failures; possibly in none at all.
    Over(u32),
    /// The budget is used up.
    Undecided,
}

impl Chance {
    /// Whether it may happen.
    pub(crate) fn is_possible(self) -> bool {
        self != Chance::No
    }
}

/// Maximum number of node visits for all queries; after that there are no answers.
const BUDGET: u64 = 20_000_000;

/// Relations between the nodes of a graph.
pub(crate) struct Order<'g> {
    graph: &'g Graph,
    /// The joins at which tokens from each node arrive, and those at which a fork can be completed.
    base: Solver<'g>,
    /// The least price of entering each node.
    entry: Vec<u32>,
    least: Option<u32>,
    ways: Ways,
    /// By relation and first node: the second node of the only query so far, and its price.
    asked: HashMap<(Question, u32), (u32, u32)>,
    /// The prices for all second nodes, if more than one was queried.
    known: HashMap<(Question, u32), Vec<u32>>,
    left: u64,
}

/// The exits that lead to the nodes of a graph.
struct Ways {
    /// The index of the first exit to each node, and the total at the end.
    offsets: Vec<u32>,
    /// The reachable nodes that these exits leave, with their prices.
    from: Vec<(u32, u32)>,
    /// By join, the forks that can be completed at it.
    forks: HashMap<u32, Vec<u32>>,
}

impl Ways {
    fn of(graph: &Graph, base: &Solver<'_>) -> Ways {
        let mut offsets = vec![0; graph.len() + 1];
        // A transition of a node to itself gets no run any further.
        let leaving = |node: u32| graph.exits(node).iter().filter(move |exit| exit.to != node);
        for exit in graph.order.iter().flat_map(|node| leaving(*node)) {
            offsets[exit.to as usize + 1] += 1;
        }
        for at in 0..graph.len() {
            offsets[at + 1] += offsets[at];
        }
        let mut next = offsets.clone();
        let mut from = vec![(0, NEVER); offsets[graph.len()] as usize];
        for node in graph.order.iter().copied() {
            for exit in leaving(node) {
                let place = &mut next[exit.to as usize];
                from[*place as usize] = (node, exit.price);
                *place += 1;
            }
        }
        let mut forks: HashMap<u32, Vec<u32>> = HashMap::new();
        for (fork, sums) in &base.sums {
            sums.iter().for_each(|(join, _)| forks.entry(*join).or_default().push(*fork));
        }
        Ways { offsets, from, forks }
    }

    fn to(&self, node: u32) -> &[(u32, u32)] {
        let node = node as usize;
        &self.from[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    fn forks_at(&self, join: u32) -> &[u32] {
        self.forks.get(&join).map(Vec::as_slice).unwrap_or_default()
    }

    /// Schedules all nodes whose arrivals depend on those of one.
    fn dependents(&self, graph: &Graph, node: u32, todo: &mut Agenda) {
        for (from, _) in self.to(node) {
            match graph.role(*from) {
                Role::Join => self.forks_at(*from).iter().for_each(|fork| todo.add(*fork)),
                _ => todo.add(*from),
            }
        }
    }
}

/// Nodes scheduled for a visit, in topological order or the reverse.
struct Agenda<'g> {
    graph: &'g Graph,
    /// One bit per rank.
    marks: Vec<u64>,
}

impl<'g> Agenda<'g> {
    fn new(graph: &'g Graph) -> Agenda<'g> {
        Agenda { graph, marks: vec![0; graph.order.len() / 64 + 1] }
    }

    fn add(&mut self, node: u32) {
        let rank = self.graph.rank[node as usize];
        self.marks[rank as usize / 64] |= 1 << (rank % 64);
    }

    fn take(&mut self, place: usize, bit: u32) -> u32 {
        self.marks[place] &= !(1 << bit);
        self.graph.order[place * 64 + bit as usize]
    }

    /// Removes the first node, unless it is after `until`; `from` is the place to continue the search.
    fn first(&mut self, from: &mut usize, until: u32) -> Option<u32> {
        let place = (*from..self.marks.len()).find(|place| self.marks[*place] != 0)?;
        *from = place;
        let bit = self.marks[place].trailing_zeros();
        ((place * 64) as u32 + bit <= until).then(|| self.take(place, bit))
    }

    /// Removes the last node; `from` is the place to continue the search.
    fn last(&mut self, from: &mut usize) -> Option<u32> {
        let place = (0..=*from).rev().find(|place| self.marks[*place] != 0)?;
        *from = place;
        let bit = 63 - self.marks[place].leading_zeros();
        Some(self.take(place, bit))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    Before,
    Beside,
    Without,
}

impl<'g> Order<'g> {
    /// The relations in a graph. Without the solution of its faults, every "yes" is [`Chance::Over`].
    pub(crate) fn of(graph: &'g Graph, solution: Option<&Solution<'_>>) -> Order<'g> {
        let mut left = BUDGET;
        let base = arrivals(graph, &mut left);
        let mut entry = vec![NEVER; graph.len()];
        if let Some(start) = graph.start.filter(|start| (*start as usize) < graph.len()) {
            entry[start as usize] = 0;
        }
        forward(graph, &base, &mut entry);
        // What was not decided may be a fault that needs no failure.
        let least = match solution {
            Some(solution) if !solution.undecided => {
                solution.faults.iter().map(|found| found.price).min()
            }
            _ => Some(0),
        };
        let ways = Ways::of(graph, &base);
        let (asked, known) = (HashMap::new(), HashMap::new());
        Order { graph, base, entry, least, ways, asked, known, left }
    }

    fn chance(&self, price: u32) -> Chance {
        match price {
            NEVER => Chance::No,
            price if self.least.is_none_or(|least| price < least) => Chance::Exact(price),
            price => Chance::Over(price),
        }
    }

    /// Whether a node can be entered.
    pub(crate) fn enters(&self, node: u32) -> Chance {
        self.chance(self.entry[node as usize])
    }

    /// Whether `first` can be in the past of a token that enters `second`.
    pub(crate) fn before(&mut self, first: u32, second: u32) -> Chance {
        self.ask(Question::Before, first, second)
    }

    /// Whether both nodes can be active at once.
    pub(crate) fn beside(&mut self, first: u32, second: u32) -> Chance {
        self.ask(Question::Beside, first, second)
    }

    /// Whether `second` can be entered by a token without `first` in its past.
    pub(crate) fn without(&mut self, first: u32, second: u32) -> Chance {
        self.ask(Question::Without, first, second)
    }

    fn ask(&mut self, question: Question, of: u32, about: u32) -> Chance {
        if let Some(prices) = self.known.get(&(question, of)) {
            return self.chance(prices[about as usize]);
        }
        let size = self.graph.len() as u64;
        if self.left == 0 {
            return Chance::Undecided;
        }
        // As long as only one node is queried, later nodes do not matter.
        let first = match self.asked.get(&(question, of)) {
            Some((known, price)) if *known == about => return self.chance(*price),
            before => before.is_none() && question != Question::Beside,
        };
        let until = if first { self.graph.rank[about as usize] } else { u32::MAX };
        let prices = match question {
            Question::Before => self.behind(of, until),
            Question::Beside => {
                self.left = self.left.saturating_sub(size);
                self.around(of)
            }
            Question::Without => self.avoiding(of, until),
        };
        let price = prices[about as usize];
        if first {
            self.asked.insert((question, of), (about, price));
            return self.chance(price);
        }
        // Results are kept as long as they take no more memory than the graph itself if it is large.
        if self.known.len() as u64 > 4 + 1_000_000 / size.max(1) {
            self.known.clear();
        }
        self.known.insert((question, of), prices);
        self.chance(price)
    }

    /// Least prices of entering nodes without `of` in the past of the token, up to a rank.
    fn avoiding(&mut self, of: u32, until: u32) -> Vec<u32> {
        let graph = self.graph;
        let hangs = |from: &u32| graph.role(*from) == Role::Fork && graph.repeats(*from);
        if self.ways.to(of).iter().any(|(from, _)| hangs(from)) {
            // One of these may not hang any more.
            let graph = graph.without(of);
            let base = arrivals(&graph, &mut self.left);
            let mut entry = vec![NEVER; graph.len()];
            if let Some(start) = graph.start.filter(|start| *start != of) {
                entry[start as usize] = 0;
            }
            forward(&graph, &base, &mut entry);
            entry[of as usize] = self.entry[of as usize];
            return entry;
        }
        let mut entry = self.entry.clone();
        if graph.rank[of as usize] >= until {
            return entry;
        }
        let (arrivals_before, sums_before) = self.stop_at(of);
        let mut todo = Agenda::new(graph);
        let leave = |node: u32, sums: &[(u32, u32)], todo: &mut Agenda<'_>| {
            let exits = graph.exits(node).iter().map(|exit| exit.to);
            exits.filter(|to| graph.role(*to) != Role::Join).for_each(|to| todo.add(to));
            sums.iter().for_each(|(join, _)| todo.add(*join));
        };
        leave(of, self.base.sums.get(&of).map_or(&[], Vec::as_slice), &mut todo);
        for (fork, sums) in &sums_before {
            leave(*fork, sums, &mut todo);
        }
        let mut at = 0;
        while let Some(node) = todo.first(&mut at, until) {
            self.left = self.left.saturating_sub(1);
            let price = self.lowest(node, of, &entry);
            if node != of && price != entry[node as usize] {
                entry[node as usize] = price;
                leave(node, self.base.sums.get(&node).map_or(&[], Vec::as_slice), &mut todo);
            }
        }
        for (fork, sums) in sums_before {
            self.base.sums.insert(fork, sums);
        }
        for (node, arrivals) in arrivals_before {
            self.base.arrivals[node as usize] = arrivals;
        }
        entry
    }

    /// Makes runs end at a node; returns the previous values of what that changes.
    #[expect(clippy::type_complexity, reason = "two lists that are put back at once")]
    fn stop_at(&mut self, of: u32) -> (Vec<(u32, Arrivals)>, Vec<(u32, Vec<(u32, u32)>)>) {
        let (mut arrivals_before, mut sums_before) = (Vec::new(), Vec::new());
        let mut todo = Agenda::new(self.graph);
        let old = self.base.arrivals[of as usize].take();
        if old.is_some() {
            self.ways.dependents(self.graph, of, &mut todo);
        }
        arrivals_before.push((of, old));
        let mut at = todo.marks.len() - 1;
        while let Some(node) = todo.last(&mut at) {
            self.left = self.left.saturating_sub(1);
            sums_before.extend(self.base.sums.remove(&node).map(|sums| (node, sums)));
            let old = self.base.arrivals[node as usize].take();
            let new = self.base.arrive(node);
            if old != new {
                self.ways.dependents(self.graph, node, &mut todo);
            }
            self.base.arrivals[node as usize] = new;
            arrivals_before.push((node, old));
        }
        self.left = self.left.saturating_sub(std::mem::take(&mut self.base.spent));
        (arrivals_before, sums_before)
    }

    /// The least price of entering a node, from those of its predecessors other than `but`.
    fn lowest(&self, node: u32, but: u32, entry: &[u32]) -> u32 {
        let graph = self.graph;
        let seed = if graph.start == Some(node) { 0 } else { NEVER };
        let open = |from: u32| from != but && entry[from as usize] != NEVER;
        if graph.role(node) == Role::Join {
            let forks = self.ways.forks_at(node).iter().filter(|fork| open(**fork));
            let completed = forks.filter_map(|fork| {
                let sums = self.base.sums.get(fork)?;
                let (_, sum) = sums.iter().find(|(join, _)| *join == node)?;
                Some(entry[*fork as usize].saturating_add(*sum))
            });
            return completed.min().unwrap_or(NEVER).min(seed);
        }
        let hangs = |from: u32| graph.role(from) == Role::Fork && graph.repeats(from);
        let ways = self.ways.to(node).iter().filter(|(from, _)| open(*from) && !hangs(*from));
        let prices = ways.map(|(from, price)| entry[*from as usize].saturating_add(*price));
        prices.min().unwrap_or(NEVER).min(seed)
    }

    /// Least prices of entering nodes with `node` in the past of the token, up to a rank.
    fn behind(&mut self, node: u32, until: u32) -> Vec<u32> {
        let graph = self.graph;
        let mut prices = vec![NEVER; graph.len()];
        let own = graph.rank[node as usize];
        if self.entry[node as usize] == NEVER || graph.role(node) == Role::Stop || own >= until {
            return prices;
        }
        let mut joins = Vec::new();
        // Arrivals with `node` in the past, for the nodes that have any.
        let mut through: HashMap<u32, Arrivals> = HashMap::new();
        let mut todo = Agenda::new(graph);
        todo.add(node);
        if graph.role(node) == Role::Join {
            self.ways.forks_at(node).iter().for_each(|fork| todo.add(*fork));
        }
        let mut at = todo.marks.len() - 1;
        while let Some(next) = todo.last(&mut at) {
            self.left = self.left.saturating_sub(1);
            let arrivals = self.passing_by(node, next, &through, &mut joins);
            if arrivals.is_some() {
                self.ways.dependents(graph, next, &mut todo);
                through.insert(next, arrivals);
            }
        }
        let mut todo = Agenda::new(graph);
        for (join, price) in joins {
            prices[join as usize] = prices[join as usize].min(price);
            todo.add(join);
        }
        prices[node as usize] = self.entry[node as usize];
        todo.add(node);
        let mut at = 0;
        while let Some(next) = todo.first(&mut at, until) {
            self.left = self.left.saturating_sub(1);
            onward(graph, &self.base, next, &mut prices, &mut |to| todo.add(to));
        }
        self.left = self.left.saturating_sub(std::mem::take(&mut self.base.spent));
        prices[node as usize] = NEVER;
        prices
    }

    /// The arrivals of a node with `node` in the past, from those of its successors. Joins at which forks are
    /// completed this way are added to `joins`, with the price of entering them.
    fn passing_by(
        &mut self,
        node: u32,
        at: u32,
        through: &HashMap<u32, Arrivals>,
        joins: &mut Vec<(u32, u32)>,
    ) -> Arrivals {
        let graph = self.graph;
        let known = |at: u32| through.get(&at).cloned().flatten();
        match graph.role(at) {
            Role::Stop | Role::End | Role::Join => None,
            Role::Step if at == node => self.base.arrivals[at as usize].clone(),
            Role::Step => {
                let mut best = None;
                for exit in graph.exits(at) {
                    best = self.base.cheaper(best, known(exit.to), exit.price);
                }
                best
            }
            Role::Fork => {
                let mut best = None;
                let sums = self.base.sums.remove(&at).unwrap_or_default();
                for (join, sum) in sums.iter().copied() {
                    let to = graph.exits(join)[0].to;
                    let own = self.base.arrivals[to as usize].clone();
                    // The fork is completed at the node itself, or with it in one of the branches, or it comes later.
                    let inside = match join == node || at == node {
                        true => sum,
                        false => passing(&self.base, through, graph, at, join, sum),
                    };
                    if inside < NEVER {
                        let entry = self.entry[at as usize];
                        if entry < NEVER {
                            joins.push((join, entry.saturating_add(inside)));
                        }
                        best = self.base.cheaper(best, own, inside);
                    }
                    best = self.base.cheaper(best, known(to), sum);
                }
                if !sums.is_empty() {
                    self.base.sums.insert(at, sums);
                }
                best
            }
        }
    }

    /// Least prices of entering nodes while `node` is active.
    fn around(&mut self, node: u32) -> Vec<u32> {
        let graph = self.graph;
        // The least price for a token, or one split from it, to enter `node`.
        let mut to_node = vec![NEVER; graph.len()];
        for at in graph.order.iter().rev().copied() {
            to_node[at as usize] = match graph.role(at) {
                _ if at == node && graph.role(at) != Role::Join => 0,
                Role::Stop | Role::End | Role::Join => NEVER,
                Role::Step => graph
                    .exits(at)
                    .iter()
                    .map(|exit| to_node[exit.to as usize].saturating_add(exit.price))
                    .min()
                    .unwrap_or(NEVER),
                Role::Fork if graph.repeats(at) => NEVER,
                Role::Fork => {
                    let branches = graph.exits(at).iter().map(|exit| to_node[exit.to as usize]);
                    let sums = self.base.sums.get(&at);
                    let behind = sums.into_iter().flatten().map(|(join, sum)| {
                        let to = graph.exits(*join)[0].to as usize;
                        if *join == node { *sum } else { sum.saturating_add(to_node[to]) }
                    });
                    branches.chain(behind).min().unwrap_or(NEVER)
                }
            };
        }
        let mut prices = vec![NEVER; graph.len()];
        for fork in graph.order.iter().copied() {
            let entry = self.entry[fork as usize];
            if graph.role(fork) != Role::Fork || entry == NEVER || graph.repeats(fork) {
                continue;
            }
            // For each branch, the cheapest of the others.
            let (mut first, mut second) = ((NEVER, u32::MAX), NEVER);
            for (branch, exit) in graph.exits(fork).iter().enumerate() {
                let own = to_node[exit.to as usize];
                if own < first.0 {
                    second = first.0;
                    first = (own, branch as u32);
                } else {
                    second = second.min(own);
                }
            }
            for (branch, exit) in graph.exits(fork).iter().enumerate() {
                let others = if branch as u32 == first.1 { second } else { first.0 };
                if others < NEVER && graph.role(exit.to) != Role::Join {
                    let price = entry.saturating_add(others);
                    prices[exit.to as usize] = prices[exit.to as usize].min(price);
                }
            }
        }
        forward(graph, &self.base, &mut prices);
        prices
    }
}

/// The least price at which a fork is completed at a join with some node in the past of one of its branches.
fn passing(
    base: &Solver<'_>,
    through: &HashMap<u32, Arrivals>,
    graph: &Graph,
    fork: u32,
    join: u32,
    sum: u32,
) -> u32 {
    let price = |list: &Arrivals| {
        let list = list.as_ref()?;
        let at = list.binary_search_by_key(&join, |(join, _)| *join).ok()?;
        Some(list[at].1)
    };
    let detour = |exit: &super::game::Exit| {
        let with = price(through.get(&exit.to)?)?;
        Some(with - price(&base.arrivals[exit.to as usize]).unwrap_or(with))
    };
    let least = graph.exits(fork).iter().filter_map(detour).min();
    least.map_or(NEVER, |detour| sum.saturating_add(detour))
}

/// The joins at which tokens arrive, for every node.
fn arrivals<'g>(graph: &'g Graph, left: &mut u64) -> Solver<'g> {
    let mut solver = Solver::new(graph, graph.start.unwrap_or(0), u64::MAX);
    for node in graph.order.iter().rev().copied() {
        solver.arrivals[node as usize] = solver.arrive(node);
        if solver.spent > *left {
            break;
        }
    }
    *left = left.saturating_sub(solver.spent);
    solver.spent = 0;
    solver
}

/// Propagates the prices of entering nodes forward to everything that can be entered from there; a join counts as
/// entered when it is completed.
fn forward(graph: &Graph, base: &Solver<'_>, prices: &mut [u32]) {
    for node in graph.order.iter().copied() {
        onward(graph, base, node, prices, &mut |_| {});
    }
}

/// The same from one node on; reports each node whose price decreases.
fn onward(
    graph: &Graph,
    base: &Solver<'_>,
    node: u32,
    prices: &mut [u32],
    lowered: &mut dyn FnMut(u32),
) {
    let price = prices[node as usize];
    let hangs = || graph.role(node) == Role::Fork && graph.repeats(node);
    if price == NEVER || matches!(graph.role(node), Role::Stop | Role::End) || hangs() {
        return;
    }
    let mut lower = |to: u32, price: u32| {
        if price < prices[to as usize] {
            prices[to as usize] = price;
            lowered(to);
        }
    };
    for exit in graph.exits(node) {
        if graph.role(exit.to) != Role::Join {
            lower(exit.to, price.saturating_add(exit.price));
        }
    }
    if graph.role(node) == Role::Fork {
        for (join, sum) in base.sums.get(&node).into_iter().flatten() {
            lower(*join, price.saturating_add(*sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::exhaust;
    use super::super::solve::solve;
    use super::*;

    /// Compares the result of the recurrences for every two nodes with what all runs show.
    #[track_caller]
    fn compare(seed: u64) -> bool {
        let parts = exhaust::random(seed);
        let graph = Graph::from_parts(&parts);
        let Some(truth) = exhaust::play(&graph, true) else { return false };
        let pairs = truth.pairs.expect("they were asked for");
        let solution = solve(&graph);
        let [mut order, mut once] = [(); 2].map(|()| Order::of(&graph, Some(&solution)));
        let asks = |node: u32| matches!(graph.role(node), Role::Step | Role::Stop);
        for first in (0..graph.len() as u32).filter(|node| graph.role(*node) == Role::Step) {
            for second in (0..graph.len() as u32).filter(|node| asks(*node) && *node != first) {
                let cell = first as usize * pairs.nodes + second as usize;
                // The first query is answered without visiting the nodes after both.
                once.asked.clear();
                let answers = [
                    ("before", once.before(first, second), pairs.before[cell]),
                    ("without", once.without(first, second), pairs.without[cell]),
                    ("before", order.before(first, second), pairs.before[cell]),
                    ("without", order.without(first, second), pairs.without[cell]),
                    ("beside", order.beside(first, second), pairs.beside[cell]),
                ];
                for (name, said, seen) in answers {
                    // A kill node ends the run at once, so nothing runs beside it.
                    if name == "beside" && graph.role(second) == Role::Stop {
                        continue;
                    }
                    let right = match said {
                        Chance::No => seen == NEVER,
                        Chance::Exact(price) => seen == price,
                        Chance::Over(price) => seen >= price,
                        Chance::Undecided => false,
                    };
                    let text = exhaust::definition(&parts);
                    assert!(
                        right,
                        "seed {seed}: n{first} {name} n{second}: {said:?}, seen {seen}\n{text}"
                    );
                }
            }
        }
        true
    }

    #[test]
    fn order_is_that_of_all_runs() {
        let compared = (0..1_000).filter(|seed| compare(*seed)).count();
        assert!(compared > 900, "{compared}");
    }
}
