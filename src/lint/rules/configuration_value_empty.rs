//! Properties with an empty name or value.

use crate::diag::{Diagnostic, Fault, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "configuration-value-empty",
        group: Group::Parameters,
        summary: "a property with an empty name or value, which is dropped",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/configuration-value-empty.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for configuration in facts.configurations().iter().copied() {
        for property in facts.block(configuration) {
            let name = property.name.text.as_ref();
            if let Some(element) = property.element.child("name").filter(|_| name.trim().is_empty())
            {
                let message = "this property has no name and is dropped";
                out.push(
                    Diagnostic::new(&RULE.kind, element.span(), message)
                        .of(Fault::NoName)
                        .help("give it a name, or remove it"),
                );
                continue;
            }
            let Some(value) = property.value.as_ref().filter(|value| value.text.trim().is_empty())
            else {
                continue;
            };
            if name.is_empty()
                || property.element.child("value").is_some_and(|v| v.elements().next().is_some())
            {
                continue;
            }
            let message = format!("`{name}` is not set: a property without a value is dropped");
            let span = match property.element.child("value") {
                Some(element) => element.span(),
                None => value.span(),
            };
            out.push(
                Diagnostic::new(&RULE.kind, span, message).help(
                    "remove it, or give it a value; an empty string cannot be passed this way",
                ),
            );
        }
    }
}
