//! Reports transitions to names that no node has.
//!
//! Takes a workflow, its [`Names`], and the nodes that the server visits; returns the node that each such transition
//! probably meant, and a finding for each name. If a transition and a node have nearly the same name, either may have
//! the typo: it is in the node if several transitions agree on the other name and none uses the node's, or if only the
//! node's name is not made of common words. Otherwise the transition is reported, with the node as the related
//! location.

use super::names::Names;
use super::reach::{FAULT_OUT_OF_REACH, UNRESOLVED_TRANSITION};
use crate::diag::{Diagnostic, Fix, Level, is_mistyped, nearest, within};
use crate::ir::workflow::{Node, NodeId, Shape, Transition, Workflow};
use crate::slips::is_in_declaration;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Maximum number of names compared with unknown ones, in all; after that no suggestions are made.
const MOST_COMPARED: usize = 500_000;
/// Maximum number of names for which a typo in the node is considered: each scans the text.
const MOST_LOOKED_INTO: usize = 16;
/// Maximum number of uses shown with a node whose name has a typo.
const MOST_SHOWN: usize = 8;
/// Functions whose argument is the name of a node.
const ASKING: [&str; 3] = ["wf:action", "wf:error", "wf:transition"];

/// A transition to a name that no node has.
struct Lost<'w> {
    transition: &'w Transition,
    meant: Option<NodeId>,
}

/// The transitions without a target, each with the node it probably meant, and the findings about them. `seen` are
/// nodes that the server visits.
pub(super) fn lost(
    workflow: &Workflow,
    names: &Names,
    seen: &dyn Fn(NodeId) -> bool,
) -> (Vec<(NodeId, Option<NodeId>)>, Vec<Diagnostic>) {
    let mut entered: HashSet<NodeId> = HashSet::new();
    if workflow.transitions().any(|way| names.target(way).is_none()) {
        let ways = workflow.transitions().map(|way| (way, names.target(way)));
        entered
            .extend(ways.filter_map(|(way, target)| target.filter(|target| *target != way.from)));
    }
    let lone = workflow.nodes().filter(|(id, _)| !entered.contains(id));
    let lone: Vec<&str> = lone.map(|(_, node)| &*node.name.text).collect();
    let mut patience = MOST_COMPARED;
    let mut all: Vec<Lost<'_>> = Vec::new();
    for transition in workflow.transitions() {
        if transition.target.given && names.target(transition).is_none() {
            let guess = || meant(workflow, names, &lone, transition);
            let meant = (patience > 0).then(guess).flatten();
            patience = patience.saturating_sub(lone.len() + workflow.nodes.len());
            all.push(Lost { transition, meant });
        }
    }
    let misnamed = misnamed(workflow, &entered, &all);
    let mut findings = Vec::new();
    for (node, lost) in &misnamed {
        findings.push(in_node(workflow.node(*node), lost, seen));
    }
    for lost in &all {
        let is_told = lost.meant.is_some_and(|meant| misnamed.contains_key(&meant));
        if !is_told {
            findings.push(in_transition(workflow, &entered, lost, seen(lost.transition.from)));
        }
    }
    // A transition without a name has no target either.
    let ways = workflow.transitions().filter(|transition| names.target(transition).is_none());
    let known: HashMap<_, _> = all.iter().map(|lost| (lost.transition.id, lost.meant)).collect();
    let ways = ways.map(|way| (way.from, known.get(&way.id).copied().flatten())).collect();
    (ways, findings)
}

/// Finds the node that was probably meant. A node rarely leads to itself; if two names are equally similar, the first
/// in the file is suggested; a node in `lone`, to which no transition leads, takes precedence.
fn meant(
    workflow: &Workflow,
    names: &Names,
    lone: &[&str],
    transition: &Transition,
) -> Option<NodeId> {
    let name = &*transition.target.text;
    let own = &*workflow.node(transition.from).name.text;
    let is_other = |known: &&str| !known.is_empty() && *known != own && *known != ":start:";
    let lone = nearest(name, lone.iter().copied().filter(is_other));
    let lone = lone.filter(|lone| is_mistyped(lone, name));
    let known = || workflow.nodes.iter().map(|node| &*node.name.text).filter(is_other);
    names.node(lone.or_else(|| nearest(name, known()))?)
}

/// The nodes whose own names have the typo, with the transitions that were meant to lead to them.
fn misnamed<'l, 'w>(
    workflow: &Workflow,
    entered: &HashSet<NodeId>,
    all: &'l [Lost<'w>],
) -> BTreeMap<NodeId, Vec<&'l Lost<'w>>> {
    let mut by_meant: BTreeMap<NodeId, Vec<&Lost<'_>>> = BTreeMap::new();
    for lost in all {
        if let Some(meant) = lost.meant {
            by_meant.entry(meant).or_default().push(lost);
        }
    }
    // Whether another transition has the same name and was meant to lead elsewhere.
    let mut elsewhere: HashMap<&str, HashSet<Option<NodeId>>> = HashMap::new();
    for lost in all {
        elsewhere.entry(&lost.transition.target.text).or_default().insert(lost.meant);
    }
    let mut looked_into = 0;
    by_meant.retain(|id, lost| {
        let own = &*workflow.node(*id).name.text;
        let name = &*lost[0].transition.target.text;
        let agree = lost.iter().all(|other| &*other.transition.target.text == name)
            && elsewhere[name].len() == 1;
        if entered.contains(id) || !agree || within(name, own, 2).is_none() {
            return false;
        }
        looked_into += 1;
        if looked_into > MOST_LOOKED_INTO {
            return false;
        }
        let [asked, other] = [name, own].map(|name| asked_for(&workflow.text, name));
        let is_odd = || is_of_series(workflow, name, own) || is_odd_in_case(workflow, name, own);
        other == 0 && (is_in_declaration(own, name, lost.len() + asked) || is_odd())
    });
    by_meant
}

/// Whether a name is one of a numbered series, and the similar name of a node is not.
fn is_of_series(workflow: &Workflow, name: &str, own: &str) -> bool {
    let series = |name: &str| {
        let mut shape = String::new();
        for letter in name.chars() {
            match letter.is_ascii_digit() {
                true if shape.ends_with('#') => {}
                true => shape.push('#'),
                false => shape.push(letter),
            }
        }
        shape
    };
    let wanted = series(name);
    let is_another = |node: &&Node| &*node.name.text != own && series(&node.name.text) == wanted;
    wanted.contains('#') && series(own) != wanted && workflow.nodes.iter().any(|n| is_another(&n))
}

/// Whether a name and that of a node differ in the case of their first letter, and all other nodes begin like the name:
/// if the node ends the job, all others that do, or else all of several.
fn is_odd_in_case(workflow: &Workflow, name: &str, own: &str) -> bool {
    let is_upper = |text: &str| text.starts_with(char::is_uppercase);
    let is_end = |node: &Node| matches!(node.shape, Shape::End | Shape::Kill);
    let ends = workflow.nodes.iter().any(|node| &*node.name.text == own && is_end(node));
    let others = workflow.nodes.iter().filter(|node| node.shape != Shape::Start);
    let (mut alike, mut unlike) = (0, 0);
    let (mut ends_alike, mut ends_unlike) = (0, 0);
    for node in others.filter(|node| &*node.name.text != own) {
        let is_alike = is_upper(&node.name.text) == is_upper(name);
        *(if is_alike { &mut alike } else { &mut unlike }) += 1;
        if is_end(node) {
            *(if is_alike { &mut ends_alike } else { &mut ends_unlike }) += 1;
        }
    }
    let are_alike = unlike == 0 && alike > 1 || ends && ends_unlike == 0 && ends_alike > 0;
    name.eq_ignore_ascii_case(own) && is_upper(name) != is_upper(own) && are_alike
}

/// Number of expressions that refer to a node by this name.
fn asked_for(text: &str, name: &str) -> usize {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == ':';
    let asks = |(at, _): &(usize, &str)| {
        let before = text[..*at].trim_end();
        let quote = before.chars().next_back().filter(|quote| ['\'', '"'].contains(quote));
        let call = quote.and_then(|_| before[..before.len() - 1].trim_end().strip_suffix('('));
        let closed = text[at + name.len()..].trim_start().chars().next() == quote;
        closed
            && call.is_some_and(|call| {
                let function = call.trim_end();
                let start = function.trim_end_matches(is_of_name).len();
                ASKING.iter().any(|asking| function[start..].starts_with(asking))
            })
    };
    text.match_indices(name).filter(asks).count()
}

/// The finding for a typo in the name of a node, located at the node.
fn in_node(node: &Node, lost: &[&Lost<'_>], seen: &dyn Fn(NodeId) -> bool) -> Diagnostic {
    let own = &*node.name.text;
    let name = &*lost[0].transition.target.text;
    let kind = match lost.iter().any(|lost| seen(lost.transition.from)) {
        true => &UNRESOLVED_TRANSITION,
        false => &FAULT_OUT_OF_REACH,
    };
    let lead = match lost.len() {
        1 => "to which a transition leads".to_owned(),
        count => format!("to which {count} transitions lead"),
    };
    let message =
        format!("there is no node `{name}`, {lead}; `{own}` looks like a misspelling of it");
    let fix = Fix::guess(format!("Rename to `{name}`"), node.name.span, escaped(name));
    let mut finding =
        Diagnostic::new(kind, node.name.span, message).about(name).did_you_mean(name).fix(fix);
    for lost in lost.iter().take(MOST_SHOWN) {
        finding = finding.note(lost.transition.target.span, "leads to it");
    }
    finding
}

/// The finding for a name that no node has, located at the transition.
fn in_transition(
    workflow: &Workflow,
    entered: &HashSet<NodeId>,
    lost: &Lost<'_>,
    is_seen: bool,
) -> Diagnostic {
    let name = &lost.transition.target;
    let message = match &*name.text {
        "" => {
            format!("`{}` is not the name of a node", workflow.node(lost.transition.from).name.text)
        }
        text => format!("there is no node `{text}`"),
    };
    let kind = if is_seen { &UNRESOLVED_TRANSITION } else { &FAULT_OUT_OF_REACH };
    let finding = Diagnostic::new(kind, name.span, message).about(&*name.text);
    let meant = lost.meant.map(|meant| (meant, workflow.node(meant)));
    // In unreachable parts, names of removed nodes are common.
    let is_slip = meant.is_some_and(|(_, node)| is_mistyped(&name.text, &node.name.text));
    let finding = if is_seen || is_slip { finding } else { finding.at_most(Level::Info) };
    let Some((meant, node)) = meant else {
        return finding.help("define the node, or use one that is defined");
    };
    let near = &*node.name.text;
    let finding = match node.shape != Shape::Start && !entered.contains(&meant) {
        true => finding
            .note(node.name.span, format!("`{near}` is defined here, but nothing leads to it")),
        false => finding,
    };
    let fix = Fix::guess(format!("Rename to `{near}`"), name.span, escaped(near));
    finding.did_you_mean(near).fix(fix)
}

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('\'', "&apos;")
}
