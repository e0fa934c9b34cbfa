//! The nodes of a workflow and where each of them leads, for rules that concern more than one transition.

use super::Facts;
use crate::source::look;
use crate::syntax::xml::{AttributeRef, Element};
use std::borrow::Cow;
use std::collections::HashMap;

/// A way out of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    /// How it is taken: `start`, `ok`, `error`, `path`, `case`, `default` or `join`.
    pub(super) how: &'static str,
    /// The attribute that names the target.
    pub(super) to: AttributeRef<'a>,
    /// The target, where a node has that name.
    pub(super) target: Option<usize>,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub(super) element: Element<'a>,
    /// The name of its element.
    pub(super) kind: &'a str,
    /// Its own name; empty for `start`.
    pub(super) name: Cow<'a, str>,
    pub(super) ways: Vec<Way<'a>>,
    /// Whether some run can come here.
    pub(super) reachable: bool,
    /// Its place among [`Facts::actions`], if it is one of them.
    pub(super) action: Option<u32>,
}

impl<'a> Node<'a> {
    /// The first way of this kind.
    pub(super) fn way(&self, how: &str) -> Option<&Way<'a>> {
        self.ways.iter().find(|way| way.how == how)
    }
}

/// A workflow as nodes and ways, in source order.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph<'a> {
    pub(super) nodes: Nodes<'a>,
}

/// The nodes of a [`Graph`].
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes<'a>(Vec<Node<'a>>);

impl<'a> Nodes<'a> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Node<'a>> {
        self.0.iter().inspect(|_| look())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'a> std::ops::Index<usize> for Nodes<'a> {
    type Output = Node<'a>;

    fn index(&self, index: usize) -> &Node<'a> {
        look();
        &self.0[index]
    }
}

/// Whether an action only tells of something or tidies up, so that its failure need not be one of the job: mail, an `fs`
/// that removes or does nothing, or a name that says so.
pub(super) fn is_aside(action: &super::Action<'_>) -> bool {
    const WORDS: [&str; 15] = [
        "mail",
        "email",
        "notify",
        "notification",
        "alert",
        "log",
        "report",
        "status",
        "clean",
        "cleanup",
        "cleaning",
        "clear",
        "delete",
        "remove",
        "drop",
    ];
    let tidies = |body: Element<'_>| {
        body.elements().all(|step| matches!(step.name(), "delete" | "chmod" | "name-node"))
    };
    let name = action.name().to_ascii_lowercase();
    action.kind() == "email"
        || action.kind() == "fs" && tidies(action.body)
        || name.split(|c: char| !c.is_ascii_alphabetic()).any(|word| WORDS.contains(&word))
        || ["cleanup", "notify", "sendmail", "sendemail"].iter().any(|word| name.contains(word))
}

const KINDS: [&str; 7] = ["start", "end", "kill", "action", "decision", "fork", "join"];

impl<'a> Graph<'a> {
    /// The graph of a workflow, made once; empty for everything else.
    pub(super) fn of<'f>(facts: &'f Facts<'a>) -> &'f Graph<'a> {
        facts.known.graph.get_or_init(|| Graph::make(facts))
    }

    fn make(facts: &Facts<'a>) -> Graph<'a> {
        let elements = facts.workflow().into_iter().flat_map(Element::elements);
        let mut actions = facts.actions.iter().enumerate().peekable();
        let mut nodes: Vec<Node<'a>> = elements
            .filter(|element| KINDS.contains(&element.name()))
            .map(|element| {
                let name = element.attribute("name").filter(|_| element.name() != "start");
                // Both lists are in the order of the text.
                let action = actions.next_if(|(_, action)| action.element == element);
                Node {
                    element,
                    kind: element.name(),
                    name: name.map(|name| name.value().text).unwrap_or_default(),
                    ways: ways(element),
                    reachable: false,
                    action: action.map(|(index, _)| index as u32),
                }
            })
            .collect();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            if node.kind != "start" {
                by_name.entry(&node.name).or_insert(index);
            }
        }
        let targets: Vec<Vec<Option<usize>>> = nodes
            .iter()
            .map(|node| {
                let target = |way: &Way<'_>| by_name.get(way.to.value().text.as_ref()).copied();
                node.ways.iter().map(target).collect()
            })
            .collect();
        for (node, targets) in nodes.iter_mut().zip(targets) {
            for (way, target) in node.ways.iter_mut().zip(targets) {
                way.target = target;
            }
        }
        let mut graph = Graph { nodes: Nodes(nodes) };
        let start = graph.nodes.iter().position(|node| node.kind == "start");
        let reached = graph.reach(start, |_, _| true);
        for (node, reached) in graph.nodes.0.iter_mut().zip(reached) {
            node.reachable = reached;
        }
        graph
    }

    /// What can be reached, the places of departure with it, along the ways that `along` lets pass.
    pub(super) fn reach(
        &self,
        from: impl IntoIterator<Item = usize>,
        along: impl Fn(&Node<'a>, &Way<'a>) -> bool,
    ) -> Vec<bool> {
        let mut seen = vec![false; self.nodes.len()];
        let mut todo: Vec<usize> = from.into_iter().collect();
        while let Some(index) = todo.pop() {
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            let node = &self.nodes[index];
            todo.extend(
                node.ways.iter().filter(|way| along(node, way)).filter_map(|way| way.target),
            );
        }
        seen
    }

    /// The actions that some run can come to.
    pub(super) fn actions(&self) -> impl Iterator<Item = &Node<'a>> {
        self.nodes.iter().filter(|node| node.kind == "action" && node.reachable)
    }

    /// By node: whether one of this kind comes, at the node or behind it, as long as nothing fails.
    pub(super) fn leading_to(&self, kind: &str) -> Vec<bool> {
        let mut sources: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for way in node.ways.iter().filter(|way| way.how != "error") {
                if let Some(target) = way.target {
                    sources[target].push(index as u32);
                }
            }
        }
        let mut leading = vec![false; self.nodes.len()];
        let all = 0..self.nodes.len();
        let mut todo: Vec<usize> = all.filter(|index| self.nodes[*index].kind == kind).collect();
        while let Some(index) = todo.pop() {
            if !std::mem::replace(&mut leading[index], true) {
                todo.extend(sources[index].iter().map(|source| *source as usize));
            }
        }
        leading
    }

    /// The nodes of each path of a fork, up to the join where it ends, as long as nothing fails; each in the order of
    /// the text. None where `patience`, which this uses up, does not suffice: forks within forks would be walked over
    /// and over.
    pub(super) fn branches(
        &self,
        fork: &Node<'a>,
        patience: &mut usize,
    ) -> Option<Vec<Vec<usize>>> {
        let mut branches = Vec::new();
        for first in fork.ways.iter().filter_map(|way| way.target) {
            let mut depths: HashMap<usize, u32> = HashMap::new();
            let mut todo = vec![(first, 0_u32)];
            while let Some((index, depth)) = todo.pop() {
                *patience = patience.checked_sub(1)?;
                let node = &self.nodes[index];
                if depths.contains_key(&index) || (node.kind == "join" && depth == 0) {
                    continue;
                }
                depths.insert(index, depth);
                let below = match node.kind {
                    "fork" => depth + 1,
                    "join" => depth - 1,
                    _ => depth,
                };
                let ways = node.ways.iter().filter(|way| way.how != "error");
                todo.extend(ways.filter_map(|way| way.target).map(|target| (target, below)));
            }
            let mut branch: Vec<usize> = depths.into_keys().collect();
            branch.sort_unstable();
            branches.push(branch);
        }
        Some(branches)
    }
}

fn ways<'a>(element: Element<'a>) -> Vec<Way<'a>> {
    let way = |how, owner: Element<'a>, name| {
        let to = owner.attribute(name)?;
        Some(Way { how, to, target: None })
    };
    match element.name() {
        "start" => way("start", element, "to").into_iter().collect(),
        "join" => way("join", element, "to").into_iter().collect(),
        "fork" => {
            let paths = element.elements().filter(|child| child.name() == "path");
            paths.filter_map(|path| way("path", path, "start")).collect()
        }
        "action" => element
            .elements()
            .filter_map(|child| match child.name() {
                "ok" => way("ok", child, "to"),
                "error" => way("error", child, "to"),
                _ => None,
            })
            .collect(),
        "decision" => element
            .elements()
            .filter(|child| child.name() == "switch")
            .flat_map(Element::elements)
            .filter_map(|child| match child.name() {
                "case" => way("case", child, "to"),
                "default" => way("default", child, "to"),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}
