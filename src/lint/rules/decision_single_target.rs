//! Decisions whose cases all lead to the same node.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::ir::workflow::{Shape, Way};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "decision-single-target",
        group: Group::Graph,
        summary: "a decision whose transitions all lead to the same node",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/decision-single-target.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(flow) = facts.flow() else { return };
    let decisions = flow.workflow.nodes().filter(|(_, node)| node.shape == Shape::Decision);
    for (id, decision) in decisions {
        let Some((_, Some(first))) = flow.exits(id).next() else { continue };
        let has_cases = flow.exit(id, Way::Case).is_some();
        if !has_cases || flow.exits(id).any(|(_, target)| target != Some(first)) {
            continue;
        }
        let (name, next) = (&decision.name, &flow.workflow.node(first).name.text);
        let message = format!("all transitions of `{}` lead to `{next}`", name.text);
        out.push(
            Diagnostic::new(&RULE.kind, name.span, message)
                .naming([&*name.text, &**next])
                .help("send one of the cases elsewhere, or remove the decision"),
        );
    }
}
