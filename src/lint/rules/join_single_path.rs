//! Joins of one path.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::graph::Graph;
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
    // By node: the first source that a run can come to, and whether there are more, or more ways from it.
    let mut sources: Vec<Option<(usize, bool)>> = vec![None; graph.nodes.len()];
    for (index, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.reachable) {
        for target in node.ways.iter().filter_map(|way| way.target) {
            // Several cases of one decision, or paths of one fork, may end at one join.
            sources[target] = Some(sources[target].map_or((index, false), |(one, _)| (one, true)));
        }
    }
    for (join, source) in graph.nodes.iter().zip(sources) {
        let Some((source, false)) = source else { continue };
        if join.kind != "join" || !join.reachable {
            continue;
        }
        let source = &graph.nodes[source];
        let name = join.element.attribute("name");
        let span = name.map_or(join.element.name_span(), |name| name.value_span());
        let message = format!("only `{}` leads to this join", source.name);
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .help("lead the other paths of the fork here, or take fork and join out"),
        );
    }
}
