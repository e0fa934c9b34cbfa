//! Computes what a run can reach, and where it would loop.
//!
//! Takes a workflow and its [`Names`], and returns [`Reach`], with the nodes that can be entered from `start` by any
//! combination of outcomes, and an order of the nodes in which every transition except those of a cycle goes forward.
//! A cycle is reported once, as the shortest complete one through a transition that closes it; each unreachable node
//! is reported.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::lost;
use super::names::Names;
use super::past::{Past, past};
use crate::diag::{Diagnostic, Fault, Fix, Group, Kind, Level, Safety};
use crate::ir::workflow::{Node, NodeId, Shape, Transition, Workflow};
use crate::settings::Target;
use crate::source::removal;

/// The kinds of findings that this pass reports.
pub static KINDS: &[&Kind] = &[
    &UNRESOLVED_TRANSITION,
    &NODE_NAME_TOO_LONG,
    &CYCLE,
    &FAULT_OUT_OF_REACH,
    &UNREACHABLE_NODE,
    &UNUSED_KILL,
];

/// A transition to a node that does not exist.
pub(crate) static UNRESOLVED_TRANSITION: Kind = Kind {
    name: "unresolved-transition",
    group: Group::Names,
    summary: "a transition to a node that does not exist",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0708"],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/unresolved-transition.md"),
};

/// A name longer than the server's limit.
pub(crate) static NODE_NAME_TOO_LONG: Kind = Kind {
    name: "node-name-too-long",
    group: Group::Names,
    summary: "a node name longer than the server accepts",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0724"],
    fix: None,
    page: include_str!("../../docs/rules/node-name-too-long.md"),
};

/// A fault that the server would refuse if some path led to it.
pub(crate) static FAULT_OUT_OF_REACH: Kind = Kind {
    name: "fault-out-of-reach",
    group: Group::Graph,
    summary: "a fault that the server does not see, because no path from start leads to it",
    level: Level::Warning,
    since: "0.1.0",
    oozie: &[],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/fault-out-of-reach.md"),
};

/// A cycle of transitions.
pub(crate) static CYCLE: Kind = Kind {
    name: "cycle",
    group: Group::Graph,
    summary: "a run could return to a node that it has already passed",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0707"],
    fix: None,
    page: include_str!("../../docs/rules/cycle.md"),
};

/// A node that no run enters.
pub(crate) static UNREACHABLE_NODE: Kind = Kind {
    name: "unreachable-node",
    group: Group::Graph,
    summary: "no path from start leads to this node",
    level: Level::Warning,
    since: "0.1.0",
    oozie: &[],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/unreachable-node.md"),
};

/// A kill node that no run enters.
pub(crate) static UNUSED_KILL: Kind = Kind {
    name: "unused-kill",
    group: Group::Graph,
    summary: "nothing leads to this kill node",
    level: Level::Info,
    since: "0.1.0",
    oozie: &[],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/unused-kill.md"),
};

/// The nodes that can be entered, and their order.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// By node: whether some combination of outcomes enters it.
    pub reachable: Vec<bool>,
    /// Reachable nodes in topological order, except for cycles.
    pub order: Vec<NodeId>,
    /// By node: whether it is on a cycle.
    pub(crate) cyclic: Vec<bool>,
    /// Transitions without a target, each with the node that was probably meant.
    pub(crate) lost: Vec<(NodeId, Option<NodeId>)>,
}

impl Reach {
    /// Whether some combination of outcomes enters a node.
    pub(crate) fn is_reachable(&self, id: NodeId) -> bool {
        self.reachable.get(id.index()).copied().unwrap_or(false)
    }

    /// By node: whether some combination of outcomes enters it if each transition without a target leads where it was
    /// meant to. `None` if the meaning of one of them is unclear.
    pub(crate) fn meant(&self, workflow: &Workflow, names: &Names) -> Option<Vec<bool>> {
        let mut reached = self.reachable.clone();
        loop {
            let ways = self.lost.iter().filter(|(from, _)| reached[from.index()]);
            let mut open = ways.map(|(_, meant)| *meant).collect::<Option<Vec<NodeId>>>()?;
            open.retain(|id| !reached[id.index()]);
            if open.is_empty() {
                return Some(reached);
            }
            while let Some(id) = open.pop() {
                if !std::mem::replace(&mut reached[id.index()], true) {
                    open.extend(workflow.exits(id).iter().filter_map(|exit| names.target(exit)));
                }
            }
        }
    }
}

/// Reports names that are longer than the server allows.
pub(crate) fn long_names(workflow: &Workflow, reach: &Reach, target: Target) -> Vec<Diagnostic> {
    let limit = target.name_limit();
    let started = workflow.nodes.iter().any(|node| node.shape == Shape::Start);
    let mut findings = Vec::new();
    for (id, node) in workflow.nodes() {
        let length = node.name.text.chars().count();
        if length > limit {
            let seen = !started || reach.is_reachable(id);
            let kind = if seen { &NODE_NAME_TOO_LONG } else { &FAULT_OUT_OF_REACH };
            let server = target.name();
            let message = format!(
                "the name has {length} characters, more than the {limit} that server {server} accepts"
            );
            let finding = Diagnostic::new(kind, node.name.span, message);
            findings.push(if seen { finding } else { finding.at_most(Level::Info) });
        }
    }
    findings
}

/// Computes the reachable nodes. Total: it returns a result for every workflow. Without a `start` nothing is
/// reachable, and nothing is reported.
pub fn reach(workflow: &Workflow, names: &Names) -> (Reach, Vec<Diagnostic>) {
    let count = workflow.nodes.len();
    let mut reach = Reach {
        reachable: vec![false; count],
        order: Vec::new(),
        cyclic: vec![false; count],
        lost: Vec::new(),
    };
    let mut findings = Vec::new();

    let started = mark_reachable(workflow, names, &mut reach.reachable);
    // Components come in reverse topological order. Tarjan's algorithm would be the usual one, but that of the library
    // is recursive.
    let components = kosaraju_scc(&graph(workflow, names));
    for component in components.iter().rev() {
        for index in component {
            if reach.reachable[index.index()] {
                reach.order.push(NodeId(index.index() as u32));
            }
        }
    }
    // The server checks only reachable nodes; it refuses a workflow without a start anyway.
    let seen = |id: NodeId| !started || reach.reachable[id.index()];
    let (lost, told) = lost::lost(workflow, names, &seen);
    findings.extend(told);
    reach.lost = lost;
    let mut cycles: Vec<Vec<NodeId>> = components
        .iter()
        .filter(|component| component.len() > 1)
        .map(|component| {
            let mut nodes: Vec<NodeId> =
                component.iter().map(|index| NodeId(index.index() as u32)).collect();
            nodes.sort();
            nodes
        })
        .collect();
    cycles.sort();
    let ranks = match cycles.is_empty() {
        true => Vec::new(),
        false => ranks(workflow, names),
    };
    for mut nodes in cycles {
        // The cycle is closed by the transition back to the node where runs enter it.
        if let Some(first) = (0..nodes.len()).min_by_key(|at| ranks[nodes[*at].index()]) {
            nodes[..=first].rotate_right(1);
        }
        for id in &nodes {
            reach.cyclic[id.index()] = true;
        }
        findings.extend(match nodes.iter().any(|id| !started || reach.reachable[id.index()]) {
            true => cycle(workflow, names, &nodes, &CYCLE),
            false => cycle(workflow, names, &nodes, &FAULT_OUT_OF_REACH)
                .map(|finding| finding.at_most(Level::Info)),
        });
    }

    if started {
        let mut entered = vec![false; count];
        for transition in workflow.transitions() {
            if let Some(target) = names.target(transition).filter(|to| *to != transition.from) {
                entered[target.index()] = true;
            }
        }
        let kills = workflow.nodes.iter().filter(|node| node.shape == Shape::Kill).count();
        let told = heads(workflow, names, &reach, &components);
        let told = workflow.nodes().filter(|(id, node)| told[id.index()] && node.name.given);
        let told: Vec<(NodeId, &Node)> = told.collect();
        // Of several nodes, it is unclear which is to be entered first.
        let mut lone = told.iter().filter(|(_, node)| node.shape != Shape::Kill);
        let lone = lone.next().filter(|_| lone.next().is_none()).map(|(id, _)| *id);
        for (id, node) in told {
            let finding = unreachable(workflow, node, entered[id.index()], kills);
            let past = (lone == Some(id)).then(|| past(workflow, names, id)).flatten();
            findings.push(match past {
                Some(past) => passed(workflow, node, past, finding),
                None => finding,
            });
        }
    }
    findings.sort_by_key(|finding| finding.span);
    (reach, findings)
}

/// Marks the nodes that a run can reach. Returns whether there is a start node.
fn mark_reachable(workflow: &Workflow, names: &Names, reachable: &mut [bool]) -> bool {
    let starts = workflow.nodes().filter(|(_, node)| node.shape == Shape::Start).map(|(id, _)| id);
    let mut open: Vec<NodeId> = starts.collect();
    for id in &open {
        reachable[id.index()] = true;
    }
    let started = !open.is_empty();
    while let Some(id) = open.pop() {
        for transition in workflow.exits(id) {
            if let Some(target) = names.target(transition)
                && !reachable[target.index()]
            {
                reachable[target.index()] = true;
                open.push(target);
            }
        }
    }
    started
}

/// The nodes and their transitions.
fn graph(workflow: &Workflow, names: &Names) -> DiGraph<(), ()> {
    let mut graph: DiGraph<(), ()> =
        DiGraph::with_capacity(workflow.nodes.len(), workflow.transitions.len());
    for _ in 0..workflow.nodes.len() {
        graph.add_node(());
    }
    for transition in workflow.transitions() {
        if let Some(target) = names.target(transition) {
            graph.add_edge(
                NodeIndex::new(transition.from.index()),
                NodeIndex::new(target.index()),
                (),
            );
        }
    }
    graph
}

/// The unreachable nodes that no other fault explains: nodes reachable only from such nodes follow once these are
/// fixed, and if a transition has no target, or a node has no name, it may have been meant to lead here.
fn heads(
    workflow: &Workflow,
    names: &Names,
    reach: &Reach,
    components: &[Vec<NodeIndex>],
) -> Vec<bool> {
    let count = workflow.nodes.len();
    let mut told = vec![false; count];
    let lost = reach.lost.iter().filter(|(from, _)| reach.reachable[from.index()]);
    let (lost, meant): (usize, Vec<NodeId>) =
        (lost.clone().count(), lost.filter_map(|(_, meant)| *meant).collect());
    let mut reachable = reach.reachable.clone();
    let found = meant.len();
    let mut open = meant;
    // Of two nodes with the same name, it is unclear which is meant to be entered.
    let mut seen: std::collections::HashMap<&str, NodeId> = std::collections::HashMap::new();
    for (id, node) in workflow.nodes().filter(|(_, node)| node.shape != Shape::Start) {
        if let Some(first) = seen.insert(&*node.name.text, id) {
            open.extend([first, id]);
        }
    }
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut reachable[id.index()], true) {
            open.extend(workflow.exits(id).iter().filter_map(|exit| names.target(exit)));
        }
    }
    let mut led = vec![false; count];
    let mut component = vec![0; count];
    for (at, members) in components.iter().enumerate() {
        members.iter().for_each(|member| component[member.index()] = at);
    }
    for transition in workflow.transitions() {
        if let Some(target) = names.target(transition)
            && component[target.index()] != component[transition.from.index()]
        {
            led[component[target.index()]] = true;
        }
    }
    let incomplete = workflow.nodes().filter(|(id, node)| {
        let wanted = match node.shape {
            Shape::Kill | Shape::End => 0,
            Shape::Action | Shape::Decision => 2,
            _ => 1,
        };
        reach.reachable[id.index()] && workflow.exits(*id).len() < wanted
    });
    let unexplained = lost - found + incomplete.count();
    for (at, members) in components.iter().enumerate() {
        let first = members.iter().map(|member| member.index()).min();
        if let Some(first) = first.filter(|first| !reachable[*first] && !led[at]) {
            told[first] = true;
        }
    }
    // A transition to a name similar to none may be what should have led to one of them.
    if told.iter().filter(|told| **told).count() <= unexplained {
        told.fill(false);
    }
    told
}

/// The finding for an unreachable node. `entered`: other unreachable nodes lead to it.
fn unreachable(workflow: &Workflow, node: &Node, entered: bool, kills: usize) -> Diagnostic {
    let (name, span) = (&node.name.text, node.name.span);
    let whole = removal(&workflow.text, node.span);
    if node.shape == Shape::Kill {
        let message = format!("nothing leads to the kill node `{name}`");
        let finding = Diagnostic::new(&UNUSED_KILL, span, message);
        // The only kill node was probably forgotten, rather than left over.
        return match (entered, kills) {
            (true, _) => finding,
            (false, 1) => finding.fix(Fix::guess("Remove the node", whole, "")),
            (false, _) => finding.fix(Fix::guess("Remove the node", whole, "")),
        };
    }
    let message = format!("no path from start leads to `{name}`");
    let help = "add a transition to it, or remove it; the server never checks it, so its mistakes stay hidden";
    let finding = Diagnostic::new(&UNREACHABLE_NODE, span, message).about("start").help(help);
    let finding = finding.naming([&**name]);
    match entered || node.shape == Shape::End {
        true => finding,
        false => finding.fix(Fix::guess("Remove the node", whole, "")),
    }
}

/// The finding about an unreachable node, located where runs pass it.
fn passed(workflow: &Workflow, node: &Node, past: Past, finding: Diagnostic) -> Diagnostic {
    let name = &node.name.text;
    let (span, how) = match past {
        Past::Later(span) => (span, "this one leads past it".to_owned()),
        Past::Kill(span, kill) => {
            (span, format!("this one leads to the kill node `{}`", workflow.node(kill).name.text))
        }
        Past::Fork(span, fork) => {
            (span, format!("`{}` leads past it", workflow.node(fork).name.text))
        }
    };
    let mut finding = finding.of(Fault::Passed).note(node.name.span, "it is defined here");
    finding.span = span;
    finding.message = format!("no path from start leads to `{name}`; {how}");
    finding
}

/// The earliest step at which a run may reach each node; unreachable ones come last.
fn ranks(workflow: &Workflow, names: &Names) -> Vec<usize> {
    let mut ranks = vec![usize::MAX; workflow.nodes.len()];
    let starts = workflow.nodes().filter(|(_, node)| node.shape == Shape::Start);
    let mut open: std::collections::VecDeque<NodeId> = starts.map(|(id, _)| id).collect();
    let mut rank = 0;
    while let Some(id) = open.pop_front() {
        if ranks[id.index()] == usize::MAX {
            ranks[id.index()] = rank;
            rank += 1;
            open.extend(workflow.exits(id).iter().filter_map(|exit| names.target(exit)));
        }
    }
    ranks
}

/// The finding for nodes on a cycle, starting with the one that runs enter first.
fn cycle(
    workflow: &Workflow,
    names: &Names,
    nodes: &[NodeId],
    kind: &'static Kind,
) -> Option<Diagnostic> {
    let first = *nodes.first()?;
    let members: std::collections::HashSet<NodeId> = nodes.iter().copied().collect();
    let mut came: std::collections::HashMap<NodeId, &Transition> = std::collections::HashMap::new();
    let mut open = std::collections::VecDeque::from([first]);
    let closing = 'search: loop {
        let id = open.pop_front()?;
        for transition in workflow.exits(id) {
            let Some(target) = names.target(transition) else { continue };
            if target == first {
                break 'search transition;
            }
            if members.contains(&target) && !came.contains_key(&target) {
                came.insert(target, transition);
                open.push_back(target);
            }
        }
    };
    let mut steps = vec![closing];
    let mut at = closing.from;
    while at != first {
        let step = came.get(&at)?;
        steps.push(step);
        at = step.from;
    }
    steps.reverse();
    let name = |id: NodeId| format!("`{}`", workflow.node(id).name.text);
    let mut path: Vec<String> = steps.iter().map(|step| name(step.from)).collect();
    path.push(name(first));
    // A cycle of thousands of nodes is shown by its ends.
    if path.len() > 12 {
        let left_out = path.len() - 11;
        path.splice(6..6 + left_out, [format!("… {left_out} more …")]);
    }
    let message = format!("a run could return here: {}", path.join(" → "));
    let mut finding = Diagnostic::new(kind, closing.target.span, message)
        .help("a workflow cannot loop; repeat work with a coordinator or a sub-workflow");
    for step in steps.iter().take(steps.len() - 1).take(10) {
        finding = finding
            .note(step.target.span, format!("{} leads to {}", name(step.from), step.target.text));
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;
    use crate::ir::lower;
    use crate::syntax::xml::Tree;
    use std::sync::Arc;

    #[track_caller]
    fn check(nodes: &str, expected: &[&str]) {
        let text =
            format!("<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'>{nodes}</workflow-app>");
        let (tree, _) = Tree::parse(&text);
        let workflow = lower::workflow(&Arc::new(tree));
        let (names, mut findings) = names::bind(&workflow);
        let (_, more) = reach(&workflow, &names);
        findings.extend(more);
        findings.sort_by_key(|finding| finding.span);
        let found: Vec<_> =
            findings.iter().map(|f| format!("{} {}", &text[f.span.range()], f.message)).collect();
        assert_eq!(found, expected);
    }

    fn action(name: &str, ok: &str, error: &str) -> String {
        format!("<action name='{name}'><fs/><ok to='{ok}'/><error to='{error}'/></action>")
    }

    #[test]
    fn a_name_almost_right_is_offered() {
        let nodes = format!("<start to='a'/>{}<end name='end'/>", action("a", "ned", "end"));
        check(&nodes, &["ned there is no node `ned`"]);
    }

    #[test]
    fn several_that_agree_know_the_name_of_a_node() {
        let nodes = format!(
            "<start to='load'/>{}{}<kill name='brokne'/><end name='end'/>",
            action("load", "sum", "broken"),
            action("sum", "end", "broken")
        );
        let message = "brokne there is no node `broken`, to which 2 transitions lead; `brokne` looks like a misspelling of it";
        check(&nodes, &[message]);
        // References in expressions count as well.
        let nodes = format!(
            "<start to='laod'/>{}{}<end name='end'/>",
            action("laodx", "sum", "end"),
            action("sum", "end", "end")
                .replace("<fs/>", "<fs><mkdir path=\"${wf:errorCode('laod')}\"/></fs>")
        );
        let message = "laodx there is no node `laod`, to which a transition leads; `laodx` looks like a misspelling of it";
        check(&nodes, &[message]);
        // A node to which another transition leads has the right name.
        let nodes = format!(
            "<start to='load'/>{}{}<kill name='broken'/><end name='end'/>",
            action("load", "sum", "brokne"),
            action("sum", "end", "broken")
        );
        check(&nodes, &["brokne there is no node `brokne`"]);
    }

    #[test]
    fn one_that_is_no_word_has_the_slip() {
        let of = |kill: &str, error: &str| {
            let load = action("load", "end", error);
            format!("<start to='load'/>{load}<kill name='{kill}'/><end name='end'/>")
        };
        let message = "fial there is no node `fail`, to which a transition leads; `fial` looks like a misspelling of it";
        check(&of("fial", "fail"), &[message]);
        check(&of("fail", "fial"), &["fial there is no node `fial`"]);
        // If it is unclear which is right, both are shown.
        let text = of("qwerty", "qwetry");
        let (tree, _) = Tree::parse(&format!("<workflow-app name='w'>{text}</workflow-app>"));
        let workflow = lower::workflow(&Arc::new(tree));
        let (names, _) = names::bind(&workflow);
        let (_, findings) = reach(&workflow, &names);
        let found = findings.iter().find(|f| f.message == "there is no node `qwetry`");
        let notes: Vec<&str> =
            found.iter().flat_map(|f| &f.notes).map(|note| note.message.as_str()).collect();
        assert_eq!(notes, ["`qwerty` is defined here, but nothing leads to it"]);
    }

    #[test]
    fn what_nothing_leads_to_is_offered_first() {
        let nodes = format!(
            "<start to='sum-a'/>{}{}<end name='end'/>",
            action("sum-a", "sum-b", "end"),
            action("smu-b", "end", "end"),
        );
        check(&nodes, &["sum-b there is no node `sum-b`"]);
    }

    #[test]
    fn a_circle_is_shown_whole() {
        let nodes = format!(
            "<start to='a'/>{}{}<end name='end'/>",
            action("a", "b", "end"),
            action("b", "end", "a")
        );
        check(&nodes, &["a a run could return here: `a` → `b` → `a`"]);
    }

    #[test]
    fn what_nothing_leads_to_is_said() {
        let nodes = format!(
            "<start to='end'/>{}<kill name='k'/><end name='end'/>",
            action("a", "end", "end")
        );
        check(
            &nodes,
            &[
                "end no path from start leads to `a`; this one leads past it",
                "k nothing leads to the kill node `k`",
            ],
        );
    }

    #[test]
    fn one_name_twice_and_a_node_to_itself() {
        let nodes =
            format!("<start to='a'/>{}<kill name='a'/><end name='end'/>", action("a", "a", "end"));
        check(&nodes, &["a `a` leads to itself", "a a second node is named `a`"]);
    }
}
