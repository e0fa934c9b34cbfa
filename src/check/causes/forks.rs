//! Of all that a faulty fork does to joins and runs, the finding that names the fault.

use super::{IsOn, inside, is};
use crate::diag::{Diagnostic, Group, Level, is_mistyped};
use crate::ir::workflow::{NodeId, Shape, Workflow};
use crate::lint::USED_HERE;
use crate::passes::flow::Flow;
use crate::passes::names::Names;
use crate::source::Span;
use std::collections::{HashMap, HashSet};

/// Findings of forks and joins, those that name the fault best first. What needs failing actions to show comes last.
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

/// One finding for each group of forks that are wrong together. `code` is the one the server refuses with.
pub(in crate::check) fn of_forks(
    flow: Flow<'_>,
    code: Option<&str>,
    is_on: IsOn<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let Flow { workflow, names, .. } = flow;
    let place = |finding: &Diagnostic| {
        FORKS.iter().position(|name| is(finding, name)).filter(|_| is_on(finding))
    };
    let faults = found.iter().filter(|finding| place(finding).is_some()).count();
    // What runs at once is not known before the forks are right.
    if faults > 0 {
        let follows = ["prepare-deletes-sibling-output", "output-written-twice"];
        found.retain(|finding| !follows.contains(&finding.kind.name));
    }
    if faults < 2 {
        return;
    }
    let forks: Vec<NodeId> =
        workflow.nodes().filter(|(_, node)| node.shape == Shape::Fork).map(|(id, _)| id).collect();
    // Past that many, looking from each fork is too much to ask.
    const MOST: usize = 2_000_000;
    if forks.len().saturating_mul(workflow.transitions.len()) > MOST {
        return;
    }
    let reached: Vec<(Vec<bool>, Vec<bool>)> = forks
        .iter()
        .map(|fork| (reach(workflow, names, *fork, false), reach(workflow, names, *fork, true)))
        .collect();
    let mut class: Vec<usize> = (0..forks.len()).collect();
    fn top(class: &mut [usize], mut at: usize) -> usize {
        while class[at] != at {
            class[at] = class[class[at]];
            at = class[at];
        }
        at
    }
    let node_at: HashMap<Span, NodeId> =
        workflow.nodes().map(|(id, node)| (node.name.span, id)).collect();
    let from_at: HashMap<Span, NodeId> = workflow
        .transitions()
        .map(|transition| (transition.target.span, transition.from))
        .collect();
    let fork_of = |node: NodeId| -> Vec<usize> {
        if let Some(at) = forks.iter().position(|fork| *fork == node) {
            return vec![at];
        }
        let before: Vec<usize> =
            (0..forks.len()).filter(|at| reached[*at].0[node.index()]).collect();
        // The innermost: no other fork lies between.
        before
            .iter()
            .copied()
            .filter(|at| {
                !before.iter().any(|other| other != at && reached[*at].0[forks[*other].index()])
            })
            .collect()
    };
    let mut of: Vec<Option<usize>> = vec![None; found.len()];
    for (index, finding) in found.iter().enumerate() {
        if place(finding).is_none() || is(finding, "fork-join-unbalanced") {
            continue;
        }
        let spans = std::iter::once(finding.span).chain(finding.notes.iter().map(|note| note.span));
        let nodes: Vec<NodeId> = spans
            .filter_map(|span| node_at.get(&span).or_else(|| from_at.get(&span)).copied())
            .collect();
        let named: Vec<usize> =
            nodes.iter().filter_map(|node| forks.iter().position(|fork| fork == node)).collect();
        let all = if named.is_empty() {
            nodes.iter().take(1).flat_map(|n| fork_of(*n)).collect()
        } else {
            named
        };
        let Some(first) = all.first().copied() else { continue };
        for other in &all[1..] {
            let (one, two) = (top(&mut class, first), top(&mut class, *other));
            class[one.max(two)] = one.min(two);
        }
        of[index] = Some(first);
    }
    // A fork that is wrong makes the forks on its paths look wrong.
    let wrong: Vec<usize> = {
        let mut wrong: Vec<usize> = of.iter().flatten().copied().collect();
        wrong.sort_unstable();
        wrong.dedup();
        wrong
    };
    for one in &wrong {
        for other in &wrong {
            if one != other && reached[*one].1[forks[*other].index()] {
                let (a, b) = (top(&mut class, *one), top(&mut class, *other));
                class[a.max(b)] = a.min(b);
            }
        }
    }
    let weight = |finding: &Diagnostic| {
        let explains = code.is_some_and(|code| finding.kind.oozie.contains(&code));
        (!explains, std::cmp::Reverse(finding.kind.level), place(finding), finding.span.start)
    };
    let mut best: HashMap<usize, usize> = HashMap::new();
    for (index, fork) in of.iter().enumerate() {
        let Some(fork) = fork else { continue };
        let known = best.entry(top(&mut class, *fork)).or_insert(index);
        if weight(&found[index]) < weight(&found[*known]) {
            *known = index;
        }
    }
    let explained =
        best.values().any(|index| code.is_none_or(|code| found[*index].kind.oozie.contains(&code)));
    // A run that shows the fault is worth having beside what the server says of it.
    for (class_at, kept) in &best {
        let shown = of.iter().enumerate().find(|(index, fork)| {
            fork.is_some_and(|fork| top(&mut class, fork) == *class_at)
                && found[*index].witness.is_some()
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

/// What comes behind a fork, the fork aside; `paths` stops at joins.
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

/// Opinions about nodes that no run enters are for those who ask for them: that nothing leads there is said already.
pub(in crate::check) fn out_of_reach(
    flow: Flow<'_>,
    path: &str,
    code: Option<&str>,
    found: &mut [Diagnostic],
) {
    let Flow { workflow, names, reach, .. } = flow;
    let started = workflow.nodes().any(|(_, node)| node.shape == Shape::Start);
    // Behind a transition to nowhere a node may be meant to be entered.
    let Some(reached) = reach.meant(workflow, names).filter(|_| started) else { return };
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
        // A value in another file counts where it is used.
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
        // What is mistyped is wrong even where nothing leads; whoever leads there meets it.
        if hit {
            let most = if is_mistyped_name(finding) { Level::Warning } else { Level::Info };
            finding.at_most = Some(finding.at_most.map_or(most, |known| known.min(most)));
        }
    }
}

/// Whether a finding is of one name that was mistyped, by a letter.
fn is_mistyped_name(finding: &Diagnostic) -> bool {
    let kinds = ["undefined-variable", "el-unknown-function", "el-unknown-action"];
    let is_slip = |meant: &String| finding.names.iter().any(|name| is_mistyped(name, meant));
    kinds.contains(&finding.kind.name) && finding.meant.as_ref().is_some_and(is_slip)
}
