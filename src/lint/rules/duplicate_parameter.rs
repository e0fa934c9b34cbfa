//! Parameters that are declared twice.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Property, Rule};
use foldhash::{HashMap, HashMapExt};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "duplicate-parameter",
        group: Group::Parameters,
        summary: "a formal parameter is declared twice; the second default is never used",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/duplicate-parameter.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some((_, parameters)) = facts.parameters() else { return };
    let mut known: HashMap<&str, &Property<'_>> = HashMap::new();
    for parameter in parameters {
        let name = &parameter.name.text;
        let first = *known.entry(name).or_insert(parameter);
        if std::ptr::eq(first, parameter) || name.is_empty() {
            continue;
        }
        // If the first declaration has no default, the second default counts.
        let message = match &first.value {
            Some(_) => format!("`{name}` is already declared; this default is never used"),
            None => format!("`{name}` is already declared"),
        };
        let finding = Diagnostic::new(&RULE.kind, parameter.name.span(), message)
            .note(first.name.span(), "first declared here");
        let span = facts.removal(parameter.element.span());
        let title = "Remove the second declaration";
        // Two defaults may also mean that one of the names is a slip.
        out.push(match &first.value {
            Some(value)
                if parameter.value.as_ref().is_some_and(|other| other.text == value.text) =>
            {
                finding.fix(Fix::safe(title, span, ""))
            }
            Some(_) => finding.fix(Fix::guess(title, span, "")),
            None => finding,
        });
    }
}
