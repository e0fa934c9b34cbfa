//! Joins of one path.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::graph::{Graph, Node};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "join-single-path",
        group: Group::Graph,
        summary: "a join that only one path leads to",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/join-single-path.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let graph = Graph::of(facts);
    // A transition that leads nowhere, which is a finding of its own, may be the one that is missed here.
    if graph.nodes.iter().any(|node| node.ways.iter().any(|way| way.target.is_none())) {
        return;
    }
    for (index, join) in graph.nodes.iter().enumerate() {
        if join.kind != "join" || !join.reachable {
            continue;
        }
        let sources = graph.nodes.iter().filter(|node| node.reachable);
        let leads_here = |node: &&Node<'_>| node.ways.iter().any(|way| way.target == Some(index));
        let mut sources = sources.filter(leads_here);
        let (Some(source), None) = (sources.next(), sources.next()) else { continue };
        // Several cases of one decision, or paths of one fork, may end here.
        if source.ways.iter().filter(|way| way.target == Some(index)).count() > 1 {
            continue;
        }
        let name = join.element.attribute("name");
        let span = name.map_or(join.element.name_span(), |name| name.value_span());
        let message = format!("only `{}` leads to this join", source.name);
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .help("lead the other paths of the fork here, or take fork and join out"),
        );
    }
}
