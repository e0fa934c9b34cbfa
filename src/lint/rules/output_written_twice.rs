//! Outputs that two actions write.

use crate::budget;
use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::ir::workflow::{NodeId, Shape, Way};
use crate::lint::endpoints::outputs;
use crate::lint::facts::{Action, operations};
use crate::lint::paths::{LONGEST, behind_file_system};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use std::collections::{BTreeMap, HashMap};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "output-written-twice",
        group: Group::Actions,
        summary: "two actions of a run write to the same location",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/output-written-twice.md"),
    },
    check,
};

/// Maximum number of visits per node, on average, before the search of forks stops.
const PATIENCE: usize = 32;
/// Maximum numbers of paths that are examined, of writers of one path that are compared, and of nodes from which the
/// graph is searched.
const MOST_PLACES: usize = 64;
const MOST_WRITERS: usize = 16;
const MOST_WALKS: usize = 8;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(flow) = facts.flow() else { return };
    let mut writers: BTreeMap<String, Vec<(NodeId, Span)>> = BTreeMap::new();
    for (id, node) in flow.reachable(Shape::Action) {
        // A DistCp action adds to the existing files, and so may a Hive statement.
        let writes = |action: &Action<'_>| action.is(&["map-reduce", "pig", "sqoop"]);
        let Some(action) = facts.action(node).filter(writes) else { continue };
        for (path, span) in outputs(&action) {
            let path = behind_file_system(&path);
            // A path that depends on the job may be different every time.
            let unique = ["timestamp", "wf:lastErrorNode"].iter().any(|part| path.contains(part));
            if path.len() > 1 && path.len() <= LONGEST && !unique {
                writers.entry(path.to_owned()).or_default().push((id, span));
            }
        }
    }
    writers.retain(|_, all| all.len() > 1);
    if writers.is_empty() {
        return;
    }
    let mut deleted: BTreeMap<String, usize> = BTreeMap::new();
    for (command, attribute) in facts.actions.iter().flat_map(operations) {
        if matches!(command, "delete" | "source") {
            let path = behind_file_system(&attribute.value().text).to_owned();
            *deleted.entry(path).or_default() += 1;
        }
    }
    // By node, the forks and paths it is on, by index.
    let mut on: HashMap<NodeId, Vec<(usize, usize)>> = HashMap::new();
    let mut patience = PATIENCE * flow.workflow.nodes.len();
    let forks = flow.reachable(Shape::Fork);
    for (fork, branches) in forks.map_while(|f| flow.branches(f.0, &mut patience)).enumerate() {
        for (branch, nodes) in branches.iter().enumerate() {
            nodes.iter().for_each(|node| on.entry(*node).or_default().push((fork, branch)));
        }
    }
    let beside = |one: NodeId, other: NodeId| {
        let places = |node: NodeId| on.get(&node).map(Vec::as_slice).unwrap_or_default();
        let of_fork = |fork: usize| places(other).iter().find(|(known, _)| *known == fork);
        places(one)
            .iter()
            .any(|(fork, branch)| of_fork(*fork).is_some_and(|(_, other)| other != branch))
    };
    let mut behind: HashMap<NodeId, Vec<bool>> = HashMap::new();
    for (path, all) in writers.iter().take(MOST_PLACES) {
        // If the path is also used elsewhere, it may be read before it is written again.
        let times = facts.tree.text().matches(path.as_str()).count();
        let kept = times > all.len() + deleted.get(path).copied().unwrap_or_default();
        let removed = around(path).any(|path| deleted.contains_key(path));
        for (at, (second, span)) in all.iter().enumerate().take(MOST_WRITERS).skip(1) {
            if budget::spent_often() {
                return;
            }
            let mut follows = |first: NodeId| {
                if behind.len() >= MOST_WALKS && !behind.contains_key(&first) {
                    return false;
                }
                let reach = || flow.behind([first], |_, exit| exit.way != Way::Error);
                first != *second && behind.entry(first).or_insert_with(reach)[second.index()]
            };
            let mut before = all[..at].iter();
            let clash = before.find(|(first, _)| {
                beside(*first, *second) || !(removed && kept) && follows(*first)
            });
            let Some((_, first)) = clash else { continue };
            let message = "another action of the same run writes to this location";
            // A path that was copied many times is one fault.
            out.push(
                Diagnostic::new(&RULE.kind, *span, message)
                    .about(path.as_str())
                    .note(*first, "this one")
                    .help("choose another location for one of them"),
            );
        }
    }
}

/// Returns a path and the folders above it.
fn around(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| at).chain([path.len()]).map(|end| &path[..end])
}
