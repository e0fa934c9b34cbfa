//! Simulates every run of a small graph, and generates such graphs.
//!
//! The analysis is compared with this: [`play`] shares no code with it, nor with [`super::game::Play`]. Runs are
//! simulated cheapest first over all states of the game, with every order of moves. Only `cargo xtask graphs` and the
//! tests call it; it takes time exponential in the size of the graph.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::game::{Fault, Graph, Role};
use super::solve::solve;

/// The price of what no run does.
pub(crate) const NEVER: u32 = u32::MAX;

/// Maximum number of nodes of a graph: a node takes five bits of a path.
pub(crate) const MOST_NODES: usize = 30;

/// Maximum depth of nested forks: a path has eleven nodes.
const MOST_DEPTH: u32 = 11;

/// The result of simulating all runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// The least price of a fault, and the faults in which some run of this price ends.
    pub least: Option<(u32, Vec<Fault>)>,
    /// What was observed about each pair of nodes in runs before their fault, if requested.
    pub pairs: Option<Pairs>,
}

/// Least prices of observations about two nodes, indexed by `first * nodes + second`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// The number of nodes.
    pub nodes: usize,
    /// Both were active at once.
    pub beside: Vec<u32>,
    /// The first was in the past of a token that entered the second.
    pub before: Vec<u32>,
    /// The second was entered by a token without the first in its past.
    pub without: Vec<u32>,
}

/// A token or a counter: its packed place, and the nodes in its past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Piece {
    /// For a token: path, node, whether it is settled. For a counter: path, join, tokens left.
    place: u64,
    past: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    entered: u32,
    tokens: Vec<Piece>,
    counters: Vec<Piece>,
}

fn token(path: u64, node: u32, settled: bool, past: u32) -> Piece {
    Piece { place: path << 6 | u64::from(node) << 1 | u64::from(settled), past }
}

impl Piece {
    fn path(self) -> u64 {
        self.place >> 6
    }
    fn node(self) -> u32 {
        (self.place >> 1) as u32 & 31
    }
    fn settled(self) -> bool {
        self.place & 1 == 1
    }
}

/// No token has arrived at a join.
const NO_JOIN: u64 = 31;

/// A counter: its path first, as in a token, then the join and the number of tokens left.
fn counter(path: u64, join: u64, left: u64, past: u32) -> Piece {
    Piece { place: path << 9 | join << 4 | left, past }
}

/// The result of entering a node.
enum Entry {
    Goes(State),
    Over,
    Fault(Fault),
}

struct Game<'g> {
    graph: &'g Graph,
    pairs: Option<Pairs>,
}

/// Simulates all runs; `None` if the graph is too large. With `pairs` set, all runs are continued to their fault, not
/// only the cheapest.
pub fn play(graph: &Graph, pairs: bool) -> Option<Truth> {
    let nodes = graph.len();
    if nodes > MOST_NODES {
        return None;
    }
    let none = || vec![NEVER; nodes * nodes];
    let pairs = pairs.then(|| Pairs { nodes, beside: none(), before: none(), without: none() });
    let mut game = Game { graph, pairs };
    let mut least: Option<(u32, Vec<Fault>)> = None;
    let start = State { tokens: vec![token(0, graph.start?, false, 0)], ..State::default() };
    let mut open: Vec<Vec<State>> = vec![vec![start]];
    let mut seen: HashSet<State> = HashSet::new();
    let mut price = 0;
    while price < open.len() {
        while let Some(state) = open[price].pop() {
            if !seen.insert(state.clone()) {
                continue;
            }
            if game.pairs.is_some() {
                game.look(&state, price as u32);
            }
            for index in 0..state.tokens.len() {
                let piece = state.tokens[index];
                let node = piece.node();
                let exits = if piece.settled() { graph.exits(node).len() } else { 1 };
                for exit in 0..exits {
                    let mut next = state.clone();
                    next.tokens.remove(index);
                    let (to, cost) = match piece.settled() {
                        true => {
                            let exit = graph.exits(node)[exit];
                            (exit.to, exit.price as usize)
                        }
                        false => (node, 0),
                    };
                    match game.enter(next, piece.path(), to, piece.past, (price + cost) as u32)? {
                        Entry::Goes(next) => {
                            if open.len() <= price + cost {
                                open.resize_with(price + cost + 1, Vec::new);
                            }
                            open[price + cost].push(next);
                        }
                        Entry::Over => {}
                        Entry::Fault(fault) => {
                            let price = (price + cost) as u32;
                            match &mut least {
                                Some((least, _)) if *least < price => {}
                                Some((least, faults)) if *least == price => faults.push(fault),
                                _ => least = Some((price, vec![fault])),
                            }
                        }
                    }
                }
            }
        }
        if least.as_ref().is_some_and(|(least, _)| *least as usize <= price) && game.pairs.is_none()
        {
            break;
        }
        price += 1;
    }
    if let Some((_, faults)) = &mut least {
        faults.sort_unstable();
        faults.dedup();
    }
    Some(Truth { least, pairs: game.pairs })
}

/// Compares the analysis of a graph with the simulation of all runs. Returns the least price of a fault, or what
/// differs.
pub fn compare(graph: &Graph) -> Result<Option<u32>, String> {
    let truth = play(graph, false).ok_or("the graph is too large to be played")?;
    let solution = solve(graph);
    let said = solution.faults.first().map(|found| found.price);
    let least = truth.least.as_ref().map(|(price, _)| *price);
    if said != least || solution.undecided {
        return Err(format!("the analysis says {said:?}, all runs {least:?}"));
    }
    for found in &solution.faults {
        if found.play.fault != Some((found.fault, found.node)) || found.play.price != found.price {
            return Err(format!(
                "the witness of {:?} at {} ends otherwise",
                found.fault, found.node
            ));
        }
        let cheapest = truth.least.as_ref().filter(|(price, _)| *price == found.price);
        if cheapest.is_some_and(|(_, faults)| !faults.contains(&found.fault)) {
            return Err(format!("no run of the least price ends in {:?}", found.fault));
        }
    }
    Ok(least)
}

impl Game<'_> {
    /// Lets a token enter a node; `None` if forks are nested too deeply.
    fn enter(
        &mut self,
        mut state: State,
        path: u64,
        node: u32,
        past: u32,
        price: u32,
    ) -> Option<Entry> {
        let graph = self.graph;
        let role = graph.role(node);
        Some(match role {
            Role::Stop => {
                self.entered(node, past, price);
                Entry::Over
            }
            Role::End if path == 0 => Entry::Over,
            Role::End => Entry::Fault(Fault::CutOff),
            Role::Step => {
                if state.entered >> node & 1 == 1 {
                    return Some(Entry::Fault(Fault::Double));
                }
                state.entered |= 1 << node;
                self.entered(node, past, price);
                let past = if self.pairs.is_some() { past | 1 << node } else { 0 };
                insert(&mut state.tokens, token(path, node, true, past));
                Entry::Goes(state)
            }
            Role::Fork => {
                let exits = graph.exits(node);
                let mut first: Vec<u32> = exits
                    .iter()
                    .map(|exit| exit.to)
                    .filter(|to| !matches!(graph.role(*to), Role::Stop | Role::End))
                    .collect();
                first.sort_unstable();
                if first.windows(2).any(|two| two[0] == two[1]) {
                    return Some(Entry::Fault(Fault::Hang));
                }
                if path >> (5 * (MOST_DEPTH - 1)) != 0 || exits.len() > 15 {
                    return None;
                }
                insert(&mut state.counters, counter(path, NO_JOIN, exits.len() as u64, 0));
                for exit in exits {
                    let path = path << 5 | u64::from(exit.to + 1);
                    insert(&mut state.tokens, token(path, exit.to, false, past));
                }
                Entry::Goes(state)
            }
            Role::Join => {
                if path == 0 {
                    return Some(Entry::Fault(Fault::Orphan));
                }
                let parent = path >> 5;
                let at = state.counters.iter().position(|each| each.place >> 9 == parent)?;
                let old = state.counters.remove(at);
                let (join, left) = (old.place >> 4 & 31, (old.place & 15) - 1);
                let past = old.past | past;
                if join != NO_JOIN && join != u64::from(node) {
                    return Some(Entry::Fault(Fault::Race));
                }
                if left > 0 {
                    let piece = counter(parent, u64::from(node), left, past);
                    insert(&mut state.counters, piece);
                    return Some(Entry::Goes(state));
                }
                if state.entered >> node & 1 == 1 {
                    return Some(Entry::Fault(Fault::Double));
                }
                state.entered |= 1 << node;
                self.entered(node, past, price);
                let past = if self.pairs.is_some() { past | 1 << node } else { 0 };
                let to = graph.exits(node)[0].to;
                insert(&mut state.tokens, token(parent, to, false, past));
                Entry::Goes(state)
            }
        })
    }

    /// Records the past of a token that enters a node.
    fn entered(&mut self, node: u32, past: u32, price: u32) {
        let Some(pairs) = &mut self.pairs else { return };
        for other in 0..pairs.nodes {
            let cell = other * pairs.nodes + node as usize;
            let list = if past >> other & 1 == 1 { &mut pairs.before } else { &mut pairs.without };
            list[cell] = list[cell].min(price);
        }
    }

    /// Records which nodes are active at once.
    fn look(&mut self, state: &State, price: u32) {
        let Some(pairs) = &mut self.pairs else { return };
        let settled = || state.tokens.iter().filter(|token| token.settled());
        for first in settled() {
            for second in settled().filter(|second| *second != first) {
                let cell = first.node() as usize * pairs.nodes + second.node() as usize;
                pairs.beside[cell] = pairs.beside[cell].min(price);
            }
        }
    }
}

fn insert(pieces: &mut Vec<Piece>, piece: Piece) {
    let at = pieces.partition_point(|other| *other < piece);
    pieces.insert(at, piece);
}

/// The parts of a graph: the role of each node, and its exits with their prices.
pub(crate) type Parts = Vec<(Role, Vec<(u32, u32)>)>;

/// A pseudo-random graph of 4 to some 20 nodes, all but the end reachable, with every exit leading forward;
/// deterministic in `seed`.
pub fn random(seed: u64) -> Parts {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as usize % below
    };
    let parts = if seed.is_multiple_of(2) { tangled(&mut next) } else { nested(&mut next) };
    without_islands(&parts)
}

/// A graph in which every exit leads to a near node, whatever its role.
fn tangled(next: &mut dyn FnMut(usize) -> usize) -> Parts {
    let count = 4 + next(9);
    let (kill, end) = (count - 2, count - 1);
    let mut parts = Parts::new();
    for index in 0..count - 2 {
        let ahead = count - index - 1;
        // Near nodes are likelier, so that forks and joins meet.
        let mut target = || (index + 1 + next(ahead.min(4))).min(end) as u32;
        let (a, b, c) = (target(), target(), target());
        let kind = if index == 0 { 0 } else { next(8) };
        parts.push(match kind {
            0 | 1 => (Role::Step, vec![(a, 0), (kill as u32, 1)]),
            2 => (Role::Step, vec![(a, 0), (b, 1)]),
            3 => (Role::Step, vec![(a, 0), (b, 0)]),
            4 | 5 if next(4) == 0 => (Role::Fork, vec![(a, 0), (b, 0), (c, 0)]),
            4 | 5 => (Role::Fork, vec![(a, 0), (b, 0)]),
            _ => (Role::Join, vec![(a, 0)]),
        });
    }
    parts.push((Role::Stop, vec![]));
    parts.push((Role::End, vec![]));
    parts
}

const KILL: u32 = u32::MAX - 1;
const HANDLER: u32 = u32::MAX - 2;

/// A well-nested graph with a shared error handler, with a few exits redirected.
fn nested(next: &mut dyn FnMut(usize) -> usize) -> Parts {
    let mut parts: Parts = vec![(Role::Step, vec![(1, 0), (KILL, 1)])];
    let open = row(&mut parts, next, 2);
    let handler = parts.len() as u32;
    let (kill, end) = (handler + 1, handler + 2);
    let behind = if next(3) > 0 { kill } else { end };
    parts.push((Role::Step, vec![(behind, 0), (kill, 1)]));
    parts.push((Role::Stop, vec![]));
    parts.push((Role::End, vec![]));
    for (node, exit) in open {
        parts[node].1[exit].0 = end;
    }
    for (to, _) in parts.iter_mut().flat_map(|(_, exits)| exits) {
        *to = match *to {
            KILL => kill,
            HANDLER => handler,
            to => to,
        };
    }
    for _ in 0..next(3) {
        let node = next(parts.len());
        let ahead = parts.len() - node - 1;
        if ahead > 0 && !parts[node].1.is_empty() {
            let exit = next(parts[node].1.len());
            parts[node].1[exit].0 = (node + 1 + next(ahead)) as u32;
        }
    }
    parts
}

/// Appends a well-nested sequence of blocks, no deeper than `depth`; returns the exits that lead out of it.
fn row(
    parts: &mut Parts,
    next: &mut dyn FnMut(usize) -> usize,
    depth: usize,
) -> Vec<(usize, usize)> {
    let mut open: Vec<(usize, usize)> = Vec::new();
    for _ in 0..1 + next(2) {
        let entry = parts.len();
        for (node, exit) in open.drain(..) {
            parts[node].1[exit].0 = entry as u32;
        }
        let kind = if depth == 0 || parts.len() > 5 { next(2) } else { next(5) };
        match kind {
            0 | 1 => {
                let error = if next(3) == 0 { HANDLER } else { KILL };
                parts.push((Role::Step, vec![(0, 0), (error, 1)]));
                open.push((entry, 0));
            }
            2 => {
                parts.push((Role::Step, vec![(0, 0), (0, 0)]));
                for branch in 0..2 {
                    parts[entry].1[branch].0 = parts.len() as u32;
                    open.extend(row(parts, next, depth - 1));
                }
            }
            _ => {
                parts.push((Role::Fork, vec![(0, 0), (0, 0)]));
                let mut inner = Vec::new();
                for branch in 0..2 {
                    parts[entry].1[branch].0 = parts.len() as u32;
                    inner.extend(row(parts, next, depth - 1));
                }
                let join = parts.len();
                parts.push((Role::Join, vec![(0, 0)]));
                for (node, exit) in inner {
                    parts[node].1[exit].0 = join as u32;
                }
                open.push((join, 0));
            }
        }
    }
    open
}

/// Removes unreachable nodes; the end stays, as every definition has one.
fn without_islands(parts: &Parts) -> Parts {
    let mut place: Vec<Option<u32>> = vec![None; parts.len()];
    let mut reached = vec![false; parts.len()];
    reached[0] = true;
    let mut count = 0;
    for (index, (role, exits)) in parts.iter().enumerate() {
        if reached[index] {
            exits.iter().for_each(|(to, _)| reached[*to as usize] = true);
        }
        if reached[index] || *role == Role::End {
            place[index] = Some(count);
            count += 1;
        }
    }
    let lead = |(to, price): &(u32, u32)| (place[*to as usize].unwrap_or(0), *price);
    let kept = parts.iter().enumerate().filter(|(index, _)| place[*index].is_some());
    kept.map(|(_, (role, exits))| (*role, exits.iter().map(lead).collect())).collect()
}

/// A definition with these parts. A node is named after its index; an action uses the more expensive exit for its
/// `error`.
pub fn definition(parts: &[(Role, Vec<(u32, u32)>)]) -> String {
    let mut text = String::from(
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">\n  <start to=\"n0\"/>\n",
    );
    for (index, (role, exits)) in parts.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = match (role, exits.as_slice()) {
            (Role::End, _) => writeln!(text, "  <end name=\"n{index}\"/>"),
            (Role::Stop, _) => {
                writeln!(text, "  <kill name=\"n{index}\"><message>failed</message></kill>")
            }
            (Role::Join, exits) => {
                let to = exits.first().map_or(0, |exit| exit.0);
                writeln!(text, "  <join name=\"n{index}\" to=\"n{to}\"/>")
            }
            (Role::Fork, exits) => {
                let paths = exits.iter().fold(String::new(), |mut paths, (to, _)| {
                    let _ = write!(paths, "<path start=\"n{to}\"/>");
                    paths
                });
                writeln!(text, "  <fork name=\"n{index}\">{paths}</fork>")
            }
            (Role::Step, [(ok, 0), (error, 1)]) => writeln!(
                text,
                "  <action name=\"n{index}\"><fs/><ok to=\"n{ok}\"/><error to=\"n{error}\"/></action>"
            ),
            (Role::Step, exits) => {
                let cases =
                    exits.iter().rev().skip(1).rev().fold(String::new(), |mut cases, (to, _)| {
                        // Each predicate tests something else, so that no run contradicts itself.
                        let _ = write!(cases, "<case to=\"n{to}\">${{p{index} eq {to}}}</case>");
                        cases
                    });
                let to = exits.last().map_or(0, |exit| exit.0);
                writeln!(
                    text,
                    "  <decision name=\"n{index}\"><switch>{cases}<default to=\"n{to}\"/></switch></decision>"
                )
            }
        };
    }
    text.push_str("</workflow-app>\n");
    text
}
