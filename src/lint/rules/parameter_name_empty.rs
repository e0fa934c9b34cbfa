//! Parameters without a name.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "parameter-name-empty",
        group: Group::Parameters,
        summary: "a formal parameter without a name",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["E0739"],
        fix: None,
        page: include_str!("../../../docs/rules/parameter-name-empty.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let ignored = facts.version() == "0.4.5";
    let Some((_, parameters)) = facts.parameters().filter(|_| !ignored) else { return };
    for parameter in parameters.iter().filter(|parameter| parameter.name.text.is_empty()) {
        let message = "this parameter has no name";
        let span =
            parameter.element.child("name").map_or(parameter.element.span(), |name| name.span());
        out.push(Diagnostic::new(&RULE.kind, span, message).help("name it, or remove it"));
    }
}
