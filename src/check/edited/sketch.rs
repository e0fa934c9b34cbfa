//! Reduces a definition for an edit of a name or a transition.
//!
//! The input is the nodes of a checked definition, and one action whose name or transitions are edited. The result is
//! the nodes that the edit can affect, and for all others, nodes that each stand for a row of them. An action is
//! *plain* if it can neither have nor cause a finding: it has none now, it does not refer to other nodes in
//! expressions, its `error` transition leads to a kill node and its `ok` transition to a node of another type. A row is
//! a sequence of plain actions without a transition into its middle. The graph keeps its faults if each row is replaced
//! by one action.

use super::nodes::{Nodes, part_of};
use super::{Led, Part, Role, is_plain_name};
use crate::diag::nearest;
use crate::ir::workflow::{NodeId, Shape, Way};
use crate::lint::{Action, Facts, seen};
use crate::source::Span;
use crate::syntax::xml::Tree;
use foldhash::{HashMap, HashSet, HashSetExt};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of nodes that are kept as they are.
const MOST_NODES: usize = 120;
/// Maximum number of transitions to nodes that do not exist.
const MOST_LOST: usize = 4;
/// The longest node name that every server accepts.
const LONGEST: usize = 39;
/// Text by which an action refers to another one, or a comment addresses ankus.
const ASKING: [&str; 8] =
    ["wf:action", "wf:error", "wf:last", "wf:transition", "hadoop:", "hcat:", "coord:", "ankus"];

/// The targets of a plain action, as parts.
#[derive(Clone, Copy, Debug)]
struct Plain {
    ok: u32,
    error: u32,
}

/// The graph of a definition at the last check of the whole text. Nodes are identified by their parts.
#[derive(Debug)]
pub(super) struct Sketch {
    nodes: Arc<Nodes>,
    /// Targets that do not exist, each with the node that leads there.
    lost: Vec<(u32, String)>,
    /// Nodes that are always kept as they are.
    kept: Vec<u32>,
    plain: Vec<Option<Plain>>,
    /// By part, the number of transitions to the node, and the last node in the text that has one.
    entered: Vec<(u32, u32)>,
}

/// The representation of a part in the reduced definition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Drawn {
    /// Its full text.
    Whole,
    /// An action with its name, which stands for it and the rest of its row.
    Row { to: u32, error: u32 },
    /// Nothing: it is represented by the first action of its row.
    Behind,
}

/// The changes since a sketch was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since<'k> {
    /// The names and targets that the edited action has had.
    pub(super) led: &'k Led,
    /// Other edited parts.
    pub(super) touched: &'k [u32],
    /// The text before the edit.
    pub(super) text: &'k str,
}

fn is_node(part: &Part) -> bool {
    matches!(part.role, Role::Action | Role::Loose | Role::Other)
}

impl Sketch {
    /// Makes a sketch; `None` if too many nodes would have to be kept. `told` are the spans of findings.
    pub(super) fn of(
        facts: &Facts<'_>,
        nodes: Arc<Nodes>,
        parts: &[Part],
        told: &[Span],
    ) -> Option<Sketch> {
        let text = facts.tree.text();
        // Such a comment can suppress findings in the whole file.
        if text.contains("allow-file") || writes_twice(facts) {
            return None;
        }
        let flow = facts.analysis.flow();
        let workflow = flow.workflow;
        let mut sketch = Sketch {
            nodes,
            lost: Vec::new(),
            kept: Vec::new(),
            plain: vec![None; parts.len()],
            entered: vec![(0, 0); parts.len()],
        };
        let mut part_of_node = Vec::with_capacity(workflow.nodes.len());
        for (id, node) in workflow.nodes() {
            let part = part_of(parts, node.span)?;
            part_of_node.push(part);
            for (exit, target) in flow.exits(id) {
                match target {
                    Some(target) => {
                        let entered = part_of(parts, workflow.node(target).span)? as usize;
                        let (count, last) = sketch.entered[entered];
                        sketch.entered[entered] = (count + 1, last.max(part));
                    }
                    None => sketch.lost.push((part, exit.target.text.to_string())),
                }
            }
        }
        let told: HashSet<u32> = told.iter().filter_map(|span| part_of(parts, *span)).collect();
        let forks = workflow.nodes.iter().any(|node| node.shape == Shape::Fork);
        let actions: HashMap<Span, &Action<'_>> =
            facts.actions.iter().map(|action| (action.element.span(), action)).collect();
        let is_quiet = |at: usize| {
            let part = &parts[at];
            // Comments before a node belong to it.
            let before = at.checked_sub(1).map_or(0, |before| parts[before].span.end);
            let words = &text[before as usize..part.span.end as usize];
            let is_aside = |action: &&Action<'_>| {
                seen::is_aside(action)
                    || forks && (seen::is_writer(action) || words.contains("<prepare"))
            };
            part.role == Role::Action
                && !told.contains(&(at as u32))
                && actions.get(&part.span).is_some_and(|action| !is_aside(action))
                && !ASKING.iter().any(|word| words.contains(word))
        };
        for (id, node) in workflow.nodes() {
            let at = part_of_node[id.index()] as usize;
            if !is_node(&parts[at]) {
                continue;
            }
            let part = |id: NodeId| part_of_node[id.index()];
            let exits: Vec<_> = flow.exits(id).collect();
            sketch.plain[at] = match exits.as_slice() {
                [(ok, Some(to)), (error, Some(kill))]
                    if ok.way == Way::Ok
                        && error.way == Way::Error
                        && workflow.node(*to).shape != Shape::Kill
                        && workflow.node(*kill).shape == Shape::Kill
                        && *to != id
                        && node.name.text.len() <= LONGEST
                        && is_plain_name(&ok.target.text)
                        && is_plain_name(&error.target.text)
                        && is_quiet(at) =>
                {
                    Some(Plain { ok: part(*to), error: part(*kill) })
                }
                _ => None,
            };
            if sketch.plain[at].is_none() {
                sketch.kept.push(at as u32);
            }
        }
        sketch.keep_mentioned(parts, text);
        (sketch.kept.len() <= MOST_NODES && sketch.lost.len() <= MOST_LOST).then_some(sketch)
    }

    /// Also keeps the nodes that are named in kept nodes or in the head, in transitions or in expressions.
    fn keep_mentioned(&mut self, parts: &[Part], text: &str) {
        let mut more = Vec::new();
        // With more nodes than that, there is no sketch anyway.
        let kept = self.kept.iter().map(|at| parts[*at as usize]).take(2 * MOST_NODES);
        let head = parts.iter().copied().filter(|part| !is_node(part));
        for part in kept.chain(head) {
            self.nodes.mentioned(&text[part.span.range()], &mut more);
        }
        self.kept.extend(more);
        self.kept.sort_unstable();
        self.kept.dedup();
    }

    /// Returns for each part whether it is kept as it is. `ways` are those of the action before and after the edit.
    fn concerned(
        &self,
        at: usize,
        parts: &[Part],
        since: Since<'_>,
        ways: [&Ways; 2],
        texts: [&str; 2],
    ) -> Option<Vec<bool>> {
        let mut all = self.kept.clone();
        let mut close = vec![at as u32];
        let Led { names, targets, .. } = since.led;
        for name in names.iter().chain(ways.map(|ways| &ways.name)) {
            close.extend(self.nodes.named(name));
            all.extend(self.nodes.leading_to(name));
        }
        for name in targets.iter().chain(ways.iter().flat_map(|ways| &ways.targets)) {
            close.extend(self.nodes.named(name));
        }
        for [now, other] in [ways, [ways[1], ways[0]]] {
            self.guessed(at, now, other, &mut all)?;
        }
        all.extend(since.touched);
        let touched = since.touched.iter().take(MOST_NODES);
        let touched = touched.map(|at| &since.text[parts[*at as usize].span.range()]);
        for text in texts.into_iter().chain(touched) {
            self.nodes.mentioned(text, &mut all);
        }
        // A fix that removes a node also changes the text next to it, so the neighbors are kept as they are.
        let last = parts.len() as u32 - 1;
        all.extend(close.iter().flat_map(|at| [at.saturating_sub(1), *at, (at + 1).min(last)]));
        let mut concerned = vec![false; parts.len()];
        all.iter().for_each(|at| concerned[*at as usize] = true);
        let count = concerned.iter().filter(|concerned| **concerned).count();
        (count <= MOST_NODES + 30).then_some(concerned)
    }

    /// Adds the nodes that are suggested in place of targets that do not exist, while the edited action has the name
    /// and targets in `now`.
    fn guessed(&self, at: usize, now: &Ways, other: &Ways, out: &mut Vec<u32>) -> Option<()> {
        let own = |part: u32| part == at as u32;
        let is_known = |word: &str| {
            let others = self.nodes.named(word).any(|part| !own(part));
            others || word == now.name
        };
        let base = self.nodes.name_of(at as u32)?;
        let mut words: Vec<(&str, u32)> = Vec::new();
        words.extend(now.targets.iter().map(|to| (to.as_str(), at as u32)));
        let lost = self.lost.iter().filter(|(part, _)| !own(*part));
        words.extend(lost.map(|(part, word)| (word.as_str(), *part)));
        for name in [now.name.as_str(), other.name.as_str(), base] {
            let leading = self.nodes.leading_to(name);
            words.extend(leading.filter(|part| !own(*part)).map(|part| (name, part)));
        }
        words.retain(|(word, _)| !is_known(word));
        words.sort_unstable();
        words.dedup();
        if words.len() > 2 * MOST_LOST {
            return None;
        }
        // Nodes without incoming transitions are suggested before others.
        if !words.is_empty() {
            let lone = self.nodes.names.iter().map(|(part, _)| *part);
            out.extend(lone.filter(|part| self.entered[*part as usize].0 == 0));
        }
        let names = || {
            self.nodes.names.iter().map(|(part, name)| match own(*part) {
                true => now.name.as_str(),
                false => name.as_str(),
            })
        };
        for (word, from) in words {
            let of_node =
                if own(from) { Some(now.name.as_str()) } else { self.nodes.name_of(from) };
            // Suggestions may leave out the name of the node itself.
            let others = nearest(word, names().filter(|name| Some(*name) != of_node));
            for near in [nearest(word, names()), others].into_iter().flatten() {
                out.extend(self.nodes.named(near));
            }
        }
        Some(())
    }

    /// Returns the representation of each part while the action at `at` is edited; `None` if too many nodes are
    /// affected.
    pub(super) fn drawn(
        &self,
        at: usize,
        parts: &[Part],
        since: Since<'_>,
        ways: [&Ways; 2],
        texts: [&str; 2],
    ) -> Option<Vec<Drawn>> {
        let concerned = self.concerned(at, parts, since, ways, texts)?;
        let plain = |part: u32| self.plain[part as usize].filter(|_| !concerned[part as usize]);
        let is_behind = |part: u32| {
            let (count, from) = self.entered[part as usize];
            let (one, other) = (plain(from), plain(part));
            count == 1 && one.zip(other).is_some_and(|(a, b)| a.ok == part && a.error == b.error)
        };
        let mut passed = 0;
        let mut drawn = Vec::with_capacity(parts.len());
        for at in 0..parts.len() as u32 {
            drawn.push(match plain(at) {
                None => Drawn::Whole,
                Some(_) if is_behind(at) => Drawn::Behind,
                Some(first) => {
                    let mut to = first.ok;
                    while let Some(next) = plain(to).filter(|_| is_behind(to)) {
                        passed += 1;
                        to = next.ok;
                    }
                    Drawn::Row { to, error: first.error }
                }
            });
        }
        // A cycle of plain actions has no first one, so it cannot be reduced.
        let behind = drawn.iter().filter(|drawn| matches!(drawn, Drawn::Behind)).count();
        (behind == passed).then_some(drawn)
    }

    /// Writes the action that stands for a row.
    pub(super) fn write(&self, part: usize, to: u32, error: u32, out: &mut String) -> Option<()> {
        let (name, to, error) =
            (self.nodes.name_of(part as u32)?, self.nodes.name_of(to)?, self.nodes.name_of(error)?);
        write!(
            out,
            "<action name=\"{name}\"><fs><mkdir path=\"hdfs:///a\"/></fs><ok to=\"{to}\"/><error to=\"{error}\"/></action>"
        )
        .ok()
    }
}

/// Whether two actions write to the same path. Rules then examine the order of all actions.
fn writes_twice(facts: &Facts<'_>) -> bool {
    let mut written = HashSet::new();
    let mut all = facts.actions.iter().flat_map(|action| seen::outputs(action));
    all.any(|path| !written.insert(path))
}

/// The name and transition targets of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ways {
    pub(super) name: String,
    pub(super) targets: Vec<String>,
    /// The ranges of the name and the targets in the text, in order.
    places: Vec<Range<usize>>,
}

impl Ways {
    /// Parses the text of an action; `None` if the name or a target is not plain.
    pub(super) fn of(action: &str) -> Option<Ways> {
        let (tree, _) = Tree::of(&Arc::new(action.to_owned()));
        let root = tree.root().filter(|root| root.name() == "action")?;
        let mut ways = Ways { name: String::new(), targets: Vec::new(), places: Vec::new() };
        let value = |element: crate::syntax::xml::Element<'_>, name: &str| {
            let place = element.attribute(name)?.value_span().range();
            let value = action.get(place.clone()).filter(|value| is_plain_name(value))?;
            Some((value.to_owned(), place))
        };
        let (name, place) = value(root, "name")?;
        ways.name = name;
        ways.places.push(place);
        for end in root.elements().filter(|child| ["ok", "error"].contains(&child.name())) {
            let (to, place) = value(end, "to")?;
            ways.targets.push(to);
            ways.places.push(place);
        }
        Some(ways)
    }

    /// Returns the rest of the text, between the name and the targets.
    pub(super) fn around<'t>(&'t self, action: &'t str) -> impl Iterator<Item = &'t str> {
        let starts = std::iter::once(0).chain(self.places.iter().map(|place| place.end));
        let ends = self.places.iter().map(|place| place.start).chain([action.len()]);
        starts.zip(ends).map(move |(start, end)| &action[start..end])
    }
}
