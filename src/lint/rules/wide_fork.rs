//! Forks with very many paths.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "wide-fork",
        group: Group::Graph,
        summary: "a fork with more than a hundred paths",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/wide-fork.md"),
    },
    check,
};

/// Number of paths beyond which the cluster's queue is the limit, not the workflow.
const LIMIT: usize = 100;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for fork in facts.nodes(&["fork"]) {
        let paths = fork.elements().filter(|child| child.is("path")).count();
        if paths > LIMIT {
            let name = fork.attribute("name");
            let span = name.map_or(fork.name_span(), |name| name.value_span());
            let message = format!("this fork starts {paths} paths at once");
            out.push(
                Diagnostic::new(&RULE.kind, span, message)
                    .help("start them in groups, or as one job that does them all"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::example::Example;

    #[test]
    fn a_hundred_are_allowed() {
        for (count, findings) in [(100, 0), (101, 1)] {
            let paths = "<path start=\"a\"/>".repeat(count);
            let example = Example::definition(&format!("<fork name=\"f\">{paths}</fork>"));
            assert_eq!(example.findings_of(&RULE).len(), findings);
        }
    }
}
