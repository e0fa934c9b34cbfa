//! Failures that change nothing.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::graph::{Graph, is_aside};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "error-swallowed",
        group: Group::Graph,
        summary: "an action goes on to the same node whether it succeeds or fails",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/error-swallowed.md"),
    },
    check,
};

/// With more of them in a workflow, one finding tells of all.
const HABIT: usize = 3;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let graph = Graph::of(facts);
    let to_end = graph.leading_to("end");
    let mut found = Vec::new();
    for action in graph.actions() {
        let (Some(ok), Some(error)) = (action.way("ok"), action.way("error")) else { continue };
        let Some(target) = ok.target.filter(|target| Some(*target) == error.target) else {
            continue;
        };
        let body = action.action.and_then(|at| facts.actions.get(at as usize));
        if body.is_some_and(is_aside) {
            continue;
        }
        // Where nothing but a `kill` comes, the run has failed already, and this cleans up or tells of it.
        if !to_end[target] {
            continue;
        }
        let target = &graph.nodes[target];
        let message =
            format!("`{}` goes on to `{}` whether it succeeds or fails", action.name, target.name);
        let finding = Diagnostic::new(&RULE.kind, error.to.value_span(), message)
            .note(ok.to.value_span(), "this is where it goes when it succeeds");
        found.push(finding.help("send errors to a `kill` node, or allow this with the reason why the failure does not matter"));
    }
    // Whoever does so throughout a workflow does it for a reason.
    let habit = found.len() > HABIT;
    out.extend(found.into_iter().map(|finding| match habit {
        true => finding.about("all").at_most(Level::Info),
        false => finding,
    }));
}
