//! Failures that leave a fork.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::graph::Graph;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "error-skips-join",
        group: Group::Graph,
        summary: "a failure on one path of a fork goes on outside of it",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/error-skips-join.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let graph = Graph::of(facts);
    for fork in graph.nodes.iter().filter(|node| node.kind == "fork" && node.reachable) {
        let mut inside = vec![false; graph.nodes.len()];
        for index in graph.branches(fork).into_iter().flatten() {
            inside[index] = true;
        }
        let own: Vec<usize> = (0..inside.len()).filter(|index| inside[*index]).collect();
        let joins: Vec<usize> = own
            .iter()
            .flat_map(|index| &graph.nodes[*index].ways)
            .filter_map(|way| way.target)
            .filter(|target| !inside[*target] && graph.nodes[*target].kind == "join")
            .collect();
        let failing_to = |target: usize| {
            let failing = own.iter().filter_map(|index| graph.nodes[*index].way("error"));
            failing.filter(|error| error.target == Some(target)).count()
        };
        for action in own.iter().map(|index| &graph.nodes[*index]) {
            let Some(error) = action.way("error") else { continue };
            let Some(target) = error.target else { continue };
            // Straight to a `kill` is what everybody does: all is over at once.
            if inside[target] || graph.nodes[target].kind != "action" {
                continue;
            }
            // Where several lead, it is entered twice when both fail, and that is told with the run that shows it.
            if failing_to(target) > 1 {
                continue;
            }
            let after = graph.reach([target], |_, way| way.how != "error");
            if joins.iter().any(|join| after[*join]) {
                continue;
            }
            let message = format!(
                "`{}` runs beside the other paths of `{}`, which end when the job does",
                graph.nodes[target].name, fork.name
            );
            out.push(
                Diagnostic::new(&RULE.kind, error.to.value_span(), message)
                    .help("what runs on the other paths is killed in the middle of its work; see that a rerun can cope with it"),
            );
        }
    }
}
