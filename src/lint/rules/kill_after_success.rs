//! `ok` transitions that lead to a `kill` node.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::ir::workflow::{NodeId, Shape, Way};
use crate::lint::{Facts, Rule};
use crate::passes::flow::Flow;

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

/// Words in the names of actions that are expected to fail.
const TO_FAIL: [&str; 6] = ["nonexist", "notexist", "negative", "invalid", "badfile", "mustfail"];

/// Whether an action is expected to fail: its name suggests it, and success leads to a `kill` node.
pub(super) fn is_to_fail(flow: Flow<'_>, action: NodeId) -> bool {
    let leads_to_kill = |way| {
        let target = flow.exit(action, way).and_then(|(_, target)| target);
        target.is_some_and(|target| flow.workflow.node(target).shape == Shape::Kill)
    };
    let is_called_so = || {
        let name = flow.workflow.node(action).name.text.to_ascii_lowercase();
        TO_FAIL.iter().any(|word| name.contains(word))
    };
    leads_to_kill(Way::Ok) && !leads_to_kill(Way::Error) && is_called_so()
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(flow) = facts.flow() else { return };
    let start = flow.workflow.start();
    // Reachable without failures and decisions: every run without a failure passes here.
    let certain =
        flow.behind(start, |node, exit| exit.way != Way::Error && node.shape != Shape::Decision);
    // An action with swapped transitions continues when it fails. A decision may lead to an action that reports a
    // problem; but such an action would not continue only when it fails.
    let without_failure = flow.behind(start, |_, exit| exit.way != Way::Error);
    let exchanged = |action: NodeId| {
        let error = flow.exit(action, Way::Error).and_then(|(_, target)| target);
        error.is_some_and(|target| {
            let next = flow.workflow.node(target);
            let aside = facts.action(next).is_some_and(|action| action.is_aside());
            next.shape != Shape::Kill && !aside
        })
    };
    let ends = flow.leading_to(Shape::End);
    let before = out.len();
    for (id, node) in flow.workflow.nodes() {
        // Only failure leads to the end, and success to an action that handles failures.
        if without_failure[id.index()]
            && let Some((ok, Some(next))) = flow.exit(id, Way::Ok)
            && let Some((_, Some(error))) = flow.exit(id, Way::Error)
            && flow.workflow.node(next).shape != Shape::Kill
            && !ends[next.index()]
            && ends[error.index()]
            && exchanged(id)
            && !is_to_fail(flow, id)
        {
            let message =
                format!("`{}` succeeds, but the job ends in a `kill` node", node.name.text);
            let after = &flow.workflow.node(error).name.text;
            out.push(Diagnostic::new(&RULE.kind, ok.target.span, message).help(format!(
                "only its failure continues, to `{after}`: swap the two transitions"
            )));
        }
    }
    // After the fix, the nodes that follow are entered only by failures.
    if out.len() > before {
        return;
    }
    for (id, node) in flow.workflow.nodes() {
        if is_to_fail(flow, id) {
            continue;
        }
        let certain = certain[id.index()] || without_failure[id.index()] && exchanged(id);
        let Some((ok, Some(next))) = flow.exit(id, Way::Ok).filter(|_| certain) else { continue };
        if flow.workflow.node(next).shape == Shape::Kill {
            let message = format!("`{}` succeeds, and the job is killed", node.name.text);
            out.push(
                Diagnostic::new(&RULE.kind, ok.target.span, message)
                    .help("continue with `end`, or with the next step"),
            );
        }
    }
}
