//! Properties that stand twice.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Property, Rule};
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "duplicate-configuration-property",
        group: Group::Parameters,
        summary: "a property stands twice in one configuration, and the last one counts",
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
        // A value that is empty is dropped and replaces nothing; of the others the last counts.
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (index, property) in properties.iter().enumerate() {
            if !value_of(property).is_empty() {
                last.insert(&property.name.text, index);
            }
        }
        for (index, property) in properties.iter().enumerate() {
            let name = property.name.text.as_ref();
            let value = value_of(property);
            let later = last.get(name).copied().filter(|later| *later > index);
            let Some(later) = later.filter(|_| !name.is_empty() && !value.is_empty()) else {
                continue;
            };
            let later = &properties[later];
            let equal = value_of(later) == value;
            let message = match equal {
                true => format!("`{name}` is set to the same value again below"),
                false => format!("`{name}` is set again below, and this value never counts"),
            };
            let finding = Diagnostic::new(&RULE.kind, property.name.span(), message)
                .note(later.name.span(), "this one counts");
            let span = facts.removal(property.element.span());
            let finding = finding.fix(Fix::safe("Remove the first one", span, ""));
            out.push(if equal { finding.at_most(Level::Info) } else { finding });
        }
    }
}
