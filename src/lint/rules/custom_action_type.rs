//! Custom action types.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use ankus_lang::action_types::action_type;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "custom-action-type",
        group: Group::Migration,
        summary: "an action of a type that does not come with the server",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/custom-action-type.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // The workflow schema still has `http`.
    let known = |kind: &str| kind == "http" || action_type(kind).is_some();
    for action in facts.actions.iter().filter(|action| !known(action.kind())) {
        let message = format!(
            "`{}` is an action type added by a site, and ankus cannot convert it",
            action.kind()
        );
        out.push(
            Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                .help("implement what it does in the target"),
        );
    }
}
