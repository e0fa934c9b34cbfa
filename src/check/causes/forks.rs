//! Among the findings that a faulty fork causes at joins and in runs, picks the one that names the fault.

use super::{IsOn, inside, is};
use crate::diag::{Diagnostic, Group, Level, is_mistyped};
use crate::ir::workflow::{Node, NodeId, Shape, Workflow};
use crate::lint::USED_HERE;
use crate::passes::flow::Flow;
use crate::passes::names::Names;
use crate::source::Span;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Rules about forks and joins, those that name the fault best first. Those that need failing actions to show come
/// last.
pub(in crate::check) const FORKS: [&str; 23] = [
    "fork-path-repeated",
    "end-inside-fork",
    "fork-with-several-joins",
    "node-reached-twice-in-parallel",
    "fork-without-join",
    "join-without-fork",
    "join-of-several-forks",
    "fork-join-unbalanced",
    "entered-twice",
    "joins-race",
    "cut-off",
    "hangs",
    "join-outside-fork",
    "entered-twice-after-failure",
    "joins-race-after-failure",
    "cut-off-after-failure",
    "hangs-after-failure",
    "join-outside-fork-after-failure",
    "entered-twice-after-failures",
    "joins-race-after-failures",
    "cut-off-after-failures",
    "hangs-after-failures",
    "join-outside-fork-after-failures",
];

/// Keeps one finding for each group of related faulty forks. `code` is that of the server's refusal.
pub(in crate::check) fn of_forks(
    flow: Flow<'_>,
    code: Option<&str>,
    is_on: IsOn<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let Flow { workflow, names, .. } = flow;
    past_a_fork(workflow, is_on, found);
    let place = |finding: &Diagnostic| {
        FORKS.iter().position(|name| is(finding, name)).filter(|_| is_on(finding))
    };
    let faults = found.iter().filter(|finding| place(finding).is_some()).count();
    // Which nodes run in parallel is not known before the forks are right.
    if faults > 0 {
        let follows = ["prepare-deletes-sibling-output", "output-written-twice"];
        found.retain(|finding| !follows.contains(&finding.kind.name));
    }
    if faults < 2 {
        return;
    }
    let Some(forks) = Forks::of(workflow, names) else { return };
    let (of, mut classes) = forks.concerned(workflow, found, |finding| {
        place(finding).is_some() && !is(finding, "fork-join-unbalanced")
    });
    let weight = |finding: &Diagnostic| {
        let explains = code.is_some_and(|code| finding.kind.oozie.contains(&code));
        (!explains, std::cmp::Reverse(finding.kind.level), place(finding), finding.span.start)
    };
    let mut best: HashMap<usize, usize> = HashMap::new();
    for (index, fork) in of.iter().enumerate() {
        let Some(fork) = fork else { continue };
        let known = best.entry(classes.of(*fork)).or_insert(index);
        if weight(&found[index]) < weight(&found[*known]) {
            *known = index;
        }
    }
    let explained =
        best.values().any(|index| code.is_none_or(|code| found[*index].kind.oozie.contains(&code)));
    // A run that shows the fault is useful in addition to the server's message.
    for (class, kept) in &best {
        let shown = of.iter().enumerate().find(|(index, fork)| {
            fork.is_some_and(|fork| classes.of(fork) == *class) && found[*index].witness.is_some()
        });
        if let Some((shown, _)) = shown.filter(|_| found[*kept].witness.is_none()) {
            found[*kept].witness = found[shown].witness.clone();
        }
    }
    let kept: HashSet<usize> = best.into_values().collect();
    let mut index = 0;
    found.retain(|finding| {
        let at = index;
        index += 1;
        match place(finding) {
            None => true,
            Some(_) if is(finding, "fork-join-unbalanced") => !explained || kept.is_empty(),
            Some(_) => of[at].is_none() || kept.contains(&at),
        }
    });
}

/// If one transition leads past a fork to one of its paths, so that nothing reaches the fork, keeps one finding, at that
/// transition.
fn past_a_fork(workflow: &Workflow, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let is_lost = |finding: &Diagnostic| is(finding, "unreachable-node") && is_on(finding);
    let Some(unbalanced) =
        found.iter().position(|finding| is(finding, "fork-join-unbalanced") && is_on(finding))
    else {
        return;
    };
    let lost: HashSet<String> =
        found.iter().filter(|f| is_lost(f)).filter_map(|f| f.names.first().cloned()).collect();
    let mut forks = workflow
        .nodes()
        .filter(|(_, node)| node.shape == Shape::Fork && lost.contains(&*node.name.text));
    let (Some((fork, node)), None) = (forks.next(), forks.next()) else { return };
    let paths: HashSet<&str> = workflow.exits(fork).iter().map(|exit| &*exit.target.text).collect();
    let mut past = workflow.transitions().filter(|transition| {
        paths.contains(&*transition.target.text)
            && transition.from != fork
            && !lost.contains(&*workflow.node(transition.from).name.text)
    });
    let (Some(past), None) = (past.next(), past.next()) else { return };
    let (name, at) = (node.name.text.to_string(), node.name.span);
    let finding = &mut found[unbalanced];
    finding.span = past.target.span;
    finding.message = format!("this leads past the fork `{name}`, so {}", finding.message);
    finding.notes.insert(
        0,
        crate::diag::Note { file: None, span: at, message: "nothing leads to the fork".to_owned() },
    );
    found.retain(|finding| {
        let of_fork = is_lost(finding) && finding.names.first() == Some(&name);
        !(of_fork || is(finding, "join-without-fork") || is(finding, "join-outside-fork"))
    });
}

/// The forks of a workflow, with the nodes that follow each of them.
struct Forks {
    nodes: Vec<NodeId>,
    /// By fork, all nodes reachable from it.
    behind: Vec<Vec<bool>>,
    /// By fork, the nodes on its paths up to the next join.
    on_paths: Vec<Vec<bool>>,
}

impl Forks {
    /// Collects the forks; `None` if searching from each of them would take too long.
    fn of(workflow: &Workflow, names: &Names) -> Option<Forks> {
        const MOST: usize = 2_000_000;
        let forks = workflow.nodes().filter(|(_, node)| node.shape == Shape::Fork);
        let nodes: Vec<NodeId> = forks.map(|(id, _)| id).collect();
        if nodes.len().saturating_mul(workflow.transitions.len()) > MOST {
            return None;
        }
        let reached = |paths: bool| -> Vec<Vec<bool>> {
            nodes.iter().map(|fork| reach(workflow, names, *fork, paths)).collect()
        };
        let (behind, on_paths) = (reached(false), reached(true));
        Some(Forks { behind, on_paths, nodes })
    }

    fn number(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|fork| *fork == node)
    }

    /// Returns the node itself if it is a fork, or else the innermost forks before it, with no other fork in between.
    fn around(&self, node: NodeId) -> Vec<usize> {
        if let Some(at) = self.number(node) {
            return vec![at];
        }
        let before = (0..self.nodes.len()).filter(|at| self.behind[*at][node.index()]);
        let before: Vec<usize> = before.collect();
        let is_between =
            |at: usize, other: usize| other != at && self.behind[at][self.nodes[other].index()];
        let innermost = |at: &&usize| !before.iter().any(|other| is_between(**at, *other));
        before.iter().filter(innermost).copied().collect()
    }

    /// Returns the fork that each of these findings is about, and the classes of forks whose faults belong together.
    fn concerned(
        &self,
        workflow: &Workflow,
        found: &[Diagnostic],
        is_of_forks: impl Fn(&Diagnostic) -> bool,
    ) -> (Vec<Option<usize>>, Classes) {
        let node_at: HashMap<Span, NodeId> =
            workflow.nodes().map(|(id, node)| (node.name.span, id)).collect();
        let transitions = workflow.transitions();
        let from_at: HashMap<Span, NodeId> =
            transitions.map(|transition| (transition.target.span, transition.from)).collect();
        let mut classes = Classes((0..self.nodes.len()).collect());
        let mut of: Vec<Option<usize>> = vec![None; found.len()];
        for (index, finding) in found.iter().enumerate().filter(|(_, one)| is_of_forks(one)) {
            let notes = finding.notes.iter().map(|note| note.span);
            let nodes: Vec<NodeId> = std::iter::once(finding.span)
                .chain(notes)
                .filter_map(|span| node_at.get(&span).or_else(|| from_at.get(&span)).copied())
                .collect();
            let named: Vec<usize> = nodes.iter().filter_map(|node| self.number(*node)).collect();
            let all = match named.is_empty() {
                true => nodes.first().map(|node| self.around(*node)).unwrap_or_default(),
                false => named,
            };
            for other in all.iter().skip(1) {
                classes.join(all[0], *other);
            }
            of[index] = all.first().copied();
        }
        // A faulty fork makes the forks on its paths look faulty.
        let wrong: BTreeSet<usize> = of.iter().flatten().copied().collect();
        for one in &wrong {
            for other in &wrong {
                if one != other && self.on_paths[*one][self.nodes[*other].index()] {
                    classes.join(*one, *other);
                }
            }
        }
        (of, classes)
    }
}

/// A union-find structure: each number refers to another of its class, or to itself if it represents the class.
struct Classes(Vec<usize>);

impl Classes {
    fn of(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// Returns the nodes reachable from a fork; with `paths`, the search stops at joins.
fn reach(workflow: &Workflow, names: &Names, fork: NodeId, paths: bool) -> Vec<bool> {
    let mut seen = vec![false; workflow.nodes.len()];
    let mut open = vec![fork];
    while let Some(id) = open.pop() {
        if paths && id != fork && workflow.node(id).shape == Shape::Join {
            continue;
        }
        for exit in workflow.exits(id) {
            if let Some(target) = names.target(exit)
                && !std::mem::replace(&mut seen[target.index()], true)
            {
                open.push(target);
            }
        }
    }
    seen
}

/// Lowers findings about nodes that no run enters: that they are unreachable is reported already. In a text that violates
/// the schema (`torn`), a node counts as entered if the text has its name in any other place.
pub(in crate::check) fn out_of_reach(
    flow: Flow<'_>,
    path: &str,
    code: Option<&str>,
    torn: Option<&str>,
    found: &mut [Diagnostic],
) {
    let Flow { workflow, names, reach, .. } = flow;
    let started = workflow.nodes().any(|(_, node)| node.shape == Shape::Start);
    // A transition to a node that does not exist may be meant to lead to one of these.
    let Some(mut reached) = reach.meant(workflow, names).filter(|_| started) else { return };
    if let Some(text) = torn {
        enter_named(flow, text, &mut reached);
    }
    let mut dead: Vec<Span> = workflow
        .nodes()
        .filter(|(id, node)| node.shape != Shape::Start && !reached[id.index()])
        .map(|(_, node)| node.span)
        .collect();
    if dead.is_empty() {
        return;
    }
    dead.sort_unstable();
    let is_own = |finding: &Diagnostic| {
        ["unreachable-node", "fault-out-of-reach", "unused-kill", "duplicate-node-name"]
            .contains(&finding.kind.name)
            || finding.kind.group == Group::Syntax
            || finding.kind.group == Group::Security
            || code.is_some_and(|code| finding.kind.oozie.contains(&code))
    };
    let is_dead = |place: Span| {
        let at = dead.partition_point(|span| span.start <= place.start);
        at > 0 && inside(dead[at - 1], place)
    };
    for finding in found.iter_mut().filter(|finding| !is_own(finding)) {
        // A value in another file counts at the places where it is used.
        let hit = match &finding.file {
            None => is_dead(finding.span),
            Some(_) => {
                let mut uses = finding.notes.iter().filter(|note| {
                    note.file.as_deref().is_none_or(|file| file == path)
                        && note.message == USED_HERE
                });
                let first = uses.next().is_some_and(|note| is_dead(note.span));
                first && uses.all(|note| is_dead(note.span))
            }
        };
        // A mistyped name is wrong even in an unreachable node; it fails as soon as a transition leads there.
        if hit {
            let most = if is_mistyped_name(finding) { Level::Warning } else { Level::Info };
            finding.at_most = Some(finding.at_most.map_or(most, |known| known.min(most)));
        }
    }
}

/// Adds the nodes that a text names apart from their own tags and the transitions that are known, and all nodes behind
/// them.
fn enter_named(Flow { workflow, names, .. }: Flow<'_>, text: &str, reached: &mut [bool]) {
    let mut known = vec![1; workflow.nodes.len()];
    for target in workflow.transitions().filter_map(|exit| names.target(exit)) {
        known[target.index()] += 1;
    }
    let mut times: HashMap<&str, usize> = HashMap::new();
    let is_other = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'));
    for word in text.split(is_other) {
        *times.entry(word).or_default() += 1;
    }
    let is_named = |(id, node): &(NodeId, &Node)| {
        times.get(&*node.name.text).is_none_or(|times| *times > known[id.index()])
    };
    let dead = workflow.nodes().filter(|(id, _)| !reached[id.index()]);
    let mut open: Vec<NodeId> = dead.filter(is_named).map(|(id, _)| id).collect();
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut reached[id.index()], true) {
            open.extend(workflow.exits(id).iter().filter_map(|exit| names.target(exit)));
        }
    }
}

/// Whether a finding is about a name with one mistyped letter.
fn is_mistyped_name(finding: &Diagnostic) -> bool {
    let kinds = ["undefined-variable", "el-unknown-function", "el-unknown-action"];
    let is_slip = |meant: &String| finding.names.iter().any(|name| is_mistyped(name, meant));
    kinds.contains(&finding.kind.name) && finding.meant.as_ref().is_some_and(is_slip)
}
