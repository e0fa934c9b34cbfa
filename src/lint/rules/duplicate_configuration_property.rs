//! Properties that are set twice.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Property, Rule};
use foldhash::{HashMap, HashMapExt};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "duplicate-configuration-property",
        group: Group::Parameters,
        summary: "a property is set twice in one configuration; the last value is used",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/duplicate-configuration-property.md"),
    },
    check,
};

fn value_of<'p>(property: &'p Property<'_>) -> &'p str {
    property.value.as_ref().map(|value| value.text.trim()).unwrap_or_default()
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for configuration in facts.configurations().iter().copied() {
        let properties = facts.block(configuration);
        // An empty value is dropped and replaces nothing; among the others, the last one counts.
        let mut before: HashMap<&str, usize> = HashMap::new();
        for (index, property) in properties.iter().enumerate() {
            let name = property.name.text.as_ref();
            let value = value_of(property);
            if name.is_empty() || value.is_empty() {
                continue;
            }
            // The finding is at the later one, which was probably added.
            let Some(earlier) = before.insert(name, index) else { continue };
            let earlier = &properties[earlier];
            let equal = value_of(earlier) == value;
            let message = match equal {
                true => format!("`{name}` is already set to the same value above"),
                false => format!("`{name}` is already set above; only this value is used"),
            };
            let finding = Diagnostic::new(&RULE.kind, property.name.span(), message)
                .naming([name])
                .note(earlier.name.span(), "this value is never used");
            let span = facts.removal(earlier.element.span());
            // Two values may also mean that one of the names is a slip.
            let title = "Remove the first one";
            out.push(match equal {
                true => finding.fix(Fix::safe(title, span, "")).at_most(Level::Info),
                false => finding.fix(Fix::guess(title, span, "")),
            });
        }
    }
}
