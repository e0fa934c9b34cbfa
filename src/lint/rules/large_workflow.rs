//! Workflows that are too large to keep an overview of.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "large-workflow",
        group: Group::Style,
        summary: "a workflow with more than a hundred actions",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/large-workflow.md"),
    },
    check,
};

/// Number of actions beyond which a diagram no longer helps.
const LIMIT: usize = 100;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(root) = facts.workflow().filter(|_| facts.actions.len() > LIMIT) else { return };
    let message = format!("this workflow has {} actions", facts.actions.len());
    out.push(
        Diagnostic::new(&RULE.kind, root.name_span(), message)
            .help("move parts that belong together into sub-workflows"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::example::Example;

    #[test]
    fn a_hundred_are_allowed() {
        for (count, findings) in [(100, 0), (101, 1)] {
            let action = "<action name=\"a\"><fs/><ok to=\"end\"/><error to=\"end\"/></action>";
            let example = Example::definition(&action.repeat(count));
            assert_eq!(example.findings_of(&RULE).len(), findings);
        }
    }
}
