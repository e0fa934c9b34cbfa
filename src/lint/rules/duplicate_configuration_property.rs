//! Properties that stand twice.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::block;
use crate::lint::{Facts, Rule};

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

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for configuration in facts.configurations().iter().copied() {
        let properties = block(configuration);
        for (index, property) in properties.iter().enumerate() {
            let name = property.name.text.as_ref();
            let text = |value: &Option<crate::syntax::xml::Decoded<'_>>| {
                value.as_ref().map(|value| value.text.trim().to_owned()).unwrap_or_default()
            };
            let value = text(&property.value);
            // A value that is empty is dropped and replaces nothing.
            let later = properties[index + 1..]
                .iter()
                .rev()
                .find(|other| other.name.text == name && !text(&other.value).is_empty());
            let Some(later) = later.filter(|_| !name.is_empty() && !value.is_empty()) else {
                continue;
            };
            let equal = text(&later.value) == value;
            let message = match equal {
                true => format!("`{name}` is set to the same value again below"),
                false => format!("`{name}` is set again below, and this value never counts"),
            };
            let finding = Diagnostic::new(&RULE.kind, property.name.span(), message)
                .note(later.name.span(), "this one counts");
            let span = facts.removal(property.element.span());
            out.push(finding.fix(Fix::safe("Remove the first one", span, "")));
        }
    }
}
