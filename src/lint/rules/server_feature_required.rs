//! Features that older servers lack.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "server-feature-required",
        group: Group::Migration,
        summary: "a feature that older servers do not have",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/server-feature-required.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(root) = facts.tree.root() else { return };
    let mut needs: Vec<(u32, &str, String, Span)> = Vec::new();
    if facts.workflow().is_some() && facts.version() == "1.0" {
        needs.push((500, "5.0", "version 1.0 of the schema".to_owned(), root.name_span()));
    }
    for action in &facts.actions {
        let span = action.body.name_span();
        let (order, version) = match (action.kind(), action.version()) {
            ("git", _) => (510, "5.1"),
            ("spark", _) => (420, "4.2"),
            ("hive2", _) => (402, "4.1"),
            (_, "1.0")
                if !["java", "map-reduce", "pig", "fs", "sub-workflow"]
                    .contains(&action.kind()) =>
            {
                (500, "5.0")
            }
            _ => continue,
        };
        needs.push((order, version, format!("the `{}` action", action.kind()), span));
    }
    if let Some(logic) = facts.named(&["input-logic"]).first() {
        needs.push((430, "4.3", "`input-logic`".to_owned(), logic.name_span()));
    }
    // The feature that needs the newest server is reported; of several, the first.
    let most = needs.iter().map(|(order, ..)| *order).max();
    let Some((_, version, what, span)) = needs.iter().find(|(order, ..)| Some(*order) == most)
    else {
        return;
    };
    let message = format!("{what} needs Oozie {version} or newer");
    out.push(Diagnostic::new(&RULE.kind, *span, message));
}
