//! Decisions that make no difference.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::graph::Graph;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "decision-single-target",
        group: Group::Graph,
        summary: "a decision of which all ways lead to one node",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/decision-single-target.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let graph = Graph::of(facts);
    for decision in graph.nodes.iter().filter(|node| node.kind == "decision") {
        let Some(first) = decision.ways.first().and_then(|way| way.target) else { continue };
        let cases = decision.ways.iter().filter(|way| way.how == "case").count();
        if cases == 0 || decision.ways.iter().any(|way| way.target != Some(first)) {
            continue;
        }
        let name = decision.element.attribute("name");
        let span = name.map_or(decision.element.name_span(), |name| name.value_span());
        let message =
            format!("whatever `{}` decides, `{}` is next", decision.name, graph.nodes[first].name);
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .help("lead one of the cases elsewhere, or take the decision out"),
        );
    }
}
