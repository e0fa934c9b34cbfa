//! Parameters without a value.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_submitted;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "parameter-not-supplied",
        group: Group::Parameters,
        summary: "a formal parameter without a default, and no value for it",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0738"],
        fix: None,
        page: include_str!("../../../docs/rules/parameter-not-supplied.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // A section in a version that ignores it asks for nothing.
    if !is_submitted(facts) || facts.version() == "0.4.5" {
        return;
    }
    let Some((_, parameters)) = facts.parameters() else { return };
    for parameter in parameters.iter().filter(|parameter| parameter.value.is_none()) {
        let name = parameter.name.text.as_ref();
        if name.is_empty() || facts.submission.get(name).is_some() {
            continue;
        }
        let message = format!("`{name}` has no default, and the properties do not give it");
        out.push(Diagnostic::new(&RULE.kind, parameter.name.span(), message).help(format!(
            "add it to `{}`, or give it with `-D`",
            facts.submission.files.join("`, `")
        )));
    }
}
