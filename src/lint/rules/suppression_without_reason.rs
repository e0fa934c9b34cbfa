//! Suppressions without a reason.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use crate::syntax::xml::NodeKind;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "suppression-without-reason",
        group: Group::Style,
        summary: "a suppression without a reason",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/suppression-without-reason.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if !facts.tree.text().contains("ankus:") {
        return;
    }
    for comment in facts.tree.nodes().filter(|node| node.kind() == NodeKind::Comment) {
        let Some(rest) = comment.raw().trim_start().strip_prefix("ankus:") else { continue };
        let rest = rest.trim_start();
        if !rest.starts_with("allow") {
            continue;
        }
        if rest.split_once(')').is_some_and(|(_, reason)| reason.trim().is_empty()) {
            let message = "this does not say why the finding is allowed";
            out.push(
                Diagnostic::new(&RULE.kind, comment.span(), message)
                    .help("write the reason after the parenthesis"),
            );
        }
    }
}
