//! The relation of two nodes in runs: can they run at once, can one come after the other, does one always come after
//! the other?
//!
//! In: a [`Graph`] with its [`Solution`]. Out: [`Order`], which answers about actions, decisions and kill nodes, and
//! computes what it needs on demand. "No" is certain. "Yes" is certain below the least price of a fault
//! ([`Chance::Exact`]); above it, some other fault may end every such run first ([`Chance::Over`]).
//!
//! `docs/graph-analysis.md` has the recurrences.

use std::collections::HashMap;

use super::game::{Graph, Role};
use super::solve::{Arrivals, NEVER, Solution, Solver};

/// Whether something can happen, and how many actions must fail for it at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// In no run.
    No,
    /// In a run with so many failures, and in none with fewer.
    Exact(u32),
    /// In no run with fewer failures; perhaps in none at all.
    Over(u32),
    /// The budget is spent.
    Undecided,
}

impl Chance {
    /// Whether it may happen.
    pub(crate) fn is_possible(self) -> bool {
        self != Chance::No
    }
}

/// Nodes that are looked at for questions, in all, before answers end.
const BUDGET: u64 = 20_000_000;

/// What holds between the nodes of a graph.
pub(crate) struct Order<'g> {
    graph: &'g Graph,
    /// Which joins are arrived at from a node, and at which joins a fork can be completed.
    base: Solver<'g>,
    /// Least price of entering each node.
    entry: Vec<u32>,
    least: Option<u32>,
    known: HashMap<(Question, u32), Vec<u32>>,
    left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    Before,
    Beside,
    Without,
}

impl<'g> Order<'g> {
    /// The order of a graph. Where its faults are not given, every "yes" is [`Chance::Over`].
    pub(crate) fn of(graph: &'g Graph, solution: Option<&Solution<'_>>) -> Order<'g> {
        let mut left = BUDGET;
        let base = arrivals(graph, &mut left);
        let mut entry = vec![NEVER; graph.len()];
        if let Some(start) = graph.start.filter(|start| (*start as usize) < graph.len()) {
            entry[start as usize] = 0;
        }
        forward(graph, &base, &mut entry);
        // What was not decided may be a fault that needs nothing.
        let least = match solution {
            Some(solution) if !solution.undecided => {
                solution.faults.iter().map(|found| found.price).min()
            }
            _ => Some(0),
        };
        Order { graph, base, entry, least, known: HashMap::new(), left }
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

    /// Whether `first` can lie behind a token that enters `second`.
    pub(crate) fn before(&mut self, first: u32, second: u32) -> Chance {
        self.ask(Question::Before, first, second)
    }

    /// Whether both can be at work at once.
    pub(crate) fn beside(&mut self, first: u32, second: u32) -> Chance {
        self.ask(Question::Beside, first, second)
    }

    /// Whether `second` can be entered by a token that has no `first` behind it.
    pub(crate) fn without(&mut self, first: u32, second: u32) -> Chance {
        self.ask(Question::Without, first, second)
    }

    fn ask(&mut self, question: Question, of: u32, about: u32) -> Chance {
        if let Some(prices) = self.known.get(&(question, of)) {
            return self.chance(prices[about as usize]);
        }
        let size = self.graph.len() as u64;
        if self.left < size {
            return Chance::Undecided;
        }
        self.left -= size;
        let prices = match question {
            Question::Before => self.behind(of),
            Question::Beside => self.around(of),
            Question::Without => {
                let graph = self.graph.without(of);
                let base = arrivals(&graph, &mut self.left);
                let mut entry = vec![NEVER; graph.len()];
                if let Some(start) = graph.start.filter(|start| *start != of) {
                    entry[start as usize] = 0;
                }
                forward(&graph, &base, &mut entry);
                entry[of as usize] = self.entry[of as usize];
                entry
            }
        };
        let chance = self.chance(prices[about as usize]);
        // Answers are kept as long as they take no more room than the graph itself on large ones.
        if self.known.len() as u64 > 4 + 1_000_000 / size.max(1) {
            self.known.clear();
        }
        self.known.insert((question, of), prices);
        chance
    }

    /// Least prices of entering nodes with `node` behind the token.
    fn behind(&mut self, node: u32) -> Vec<u32> {
        let graph = self.graph;
        let mut prices = vec![NEVER; graph.len()];
        if self.entry[node as usize] == NEVER || graph.role(node) == Role::Stop {
            return prices;
        }
        // Arrivals with the node behind them.
        let mut through: Vec<Arrivals> = vec![None; graph.len()];
        for at in graph.order.iter().rev().copied() {
            through[at as usize] = match graph.role(at) {
                Role::Stop | Role::End | Role::Join => None,
                Role::Step if at == node => self.base.arrivals[at as usize].clone(),
                Role::Step => {
                    let mut best = None;
                    for exit in graph.exits(at) {
                        let next = through[exit.to as usize].clone();
                        best = self.base.cheaper(best, next, exit.price);
                    }
                    best
                }
                Role::Fork => {
                    let mut best = None;
                    let sums = self.base.sums.remove(&at).unwrap_or_default();
                    for (join, sum) in sums.iter().copied() {
                        let to = graph.exits(join)[0].to as usize;
                        let own = self.base.arrivals[to].clone();
                        // The fork is completed at the node itself, or with it in one of the branches, or it comes later.
                        let inside = match join == node || at == node {
                            true => sum,
                            false => passing(&self.base, &through, graph, at, join, sum),
                        };
                        if inside < NEVER {
                            let entry = self.entry[at as usize];
                            if entry < NEVER {
                                let price = entry.saturating_add(inside);
                                prices[join as usize] = prices[join as usize].min(price);
                            }
                            best = self.base.cheaper(best, own, inside);
                        }
                        best = self.base.cheaper(best, through[to].clone(), sum);
                    }
                    if !sums.is_empty() {
                        self.base.sums.insert(at, sums);
                    }
                    best
                }
            };
        }
        prices[node as usize] = self.entry[node as usize];
        forward(graph, &self.base, &mut prices);
        prices[node as usize] = NEVER;
        prices
    }

    /// Least prices of entering nodes while `node` is at work.
    fn around(&mut self, node: u32) -> Vec<u32> {
        let graph = self.graph;
        // Least price for a token, or one that comes of it, to enter the node.
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

/// The least price at which a fork is completed at a join with some node behind one of its branches.
fn passing(
    base: &Solver<'_>,
    through: &[Arrivals],
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
        let with = price(&through[exit.to as usize])?;
        Some(with - price(&base.arrivals[exit.to as usize]).unwrap_or(with))
    };
    let least = graph.exits(fork).iter().filter_map(detour).min();
    least.map_or(NEVER, |detour| sum.saturating_add(detour))
}

/// Which joins are arrived at, for every node.
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

/// Carries prices of entering nodes forward, to whatever can be entered from there; a join counts as entered when it
/// is completed.
fn forward(graph: &Graph, base: &Solver<'_>, prices: &mut [u32]) {
    let lower = |prices: &mut [u32], node: u32, price: u32| {
        prices[node as usize] = prices[node as usize].min(price);
    };
    for node in graph.order.iter().copied() {
        let price = prices[node as usize];
        let hangs = graph.role(node) == Role::Fork && graph.repeats(node);
        if price == NEVER || hangs || matches!(graph.role(node), Role::Stop | Role::End) {
            continue;
        }
        for exit in graph.exits(node) {
            if graph.role(exit.to) != Role::Join {
                lower(prices, exit.to, price.saturating_add(exit.price));
            }
        }
        if graph.role(node) == Role::Fork {
            for (join, sum) in base.sums.get(&node).into_iter().flatten() {
                lower(prices, *join, price.saturating_add(*sum));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::exhaust;
    use super::super::solve::solve;
    use super::*;

    /// Compares what the recurrences say of every two nodes with what all runs show.
    #[track_caller]
    fn compare(seed: u64) -> bool {
        let parts = exhaust::random(seed);
        let graph = Graph::from_parts(&parts);
        let Some(truth) = exhaust::play(&graph, true) else { return false };
        let pairs = truth.pairs.expect("they were asked for");
        let mut order = Order::of(&graph, Some(&solve(&graph)));
        let asks = |node: u32| matches!(graph.role(node), Role::Step | Role::Stop);
        for first in (0..graph.len() as u32).filter(|node| graph.role(*node) == Role::Step) {
            for second in (0..graph.len() as u32).filter(|node| asks(*node) && *node != first) {
                let cell = first as usize * pairs.nodes + second as usize;
                let answers = [
                    ("before", order.before(first, second), pairs.before[cell]),
                    ("without", order.without(first, second), pairs.without[cell]),
                    ("beside", order.beside(first, second), pairs.beside[cell]),
                ];
                for (name, said, seen) in answers {
                    // A kill node ends the run at once, so that nothing is beside it.
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
