//! Success that ends in failure.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::graph::{Graph, Node, is_aside};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "kill-after-success",
        group: Group::Graph,
        summary: "a job is killed although nothing failed",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/kill-after-success.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let graph = Graph::of(facts);
    let start = graph.nodes.iter().position(|node| node.kind == "start");
    // Nothing failed and nothing was decided: every run that gets here without a failure goes this way.
    let certain = graph.reach(start, |node, way| way.how != "error" && node.kind != "decision");
    // What has its ways exchanged goes on where it fails. A decision may lead to a step that tells of something wrong;
    // that step would not lead to others only where it fails.
    let without_failure = graph.reach(start, |_, way| way.how != "error");
    let exchanged = |action: &Node<'_>| {
        let error = action.way("error").and_then(|error| error.target);
        error.is_some_and(|target| {
            let next = &graph.nodes[target];
            let aside = next.action.is_some_and(|at| is_aside(&facts.actions[at as usize]));
            next.kind != "kill" && !aside
        })
    };
    for ((action, certain), without) in graph.nodes.iter().zip(certain).zip(without_failure) {
        let certain = certain || without && exchanged(action);
        let Some(ok) = action.way("ok").filter(|_| certain) else { continue };
        let Some(kill) = ok.target.map(|target| &graph.nodes[target]) else { continue };
        if kill.kind == "kill" {
            let message = format!("`{}` succeeds, and the job is killed", action.name);
            out.push(
                Diagnostic::new(&RULE.kind, ok.to.value_span(), message)
                    .help("go on to `end`, or to the next step"),
            );
        }
    }
}
