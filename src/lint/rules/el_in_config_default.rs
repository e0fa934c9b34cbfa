//! Expressions in defaults.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::reads::expressions;
use crate::lint::{Facts, Rule};
use crate::syntax::properties;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "el-in-config-default",
        group: Group::Parameters,
        summary: "an expression in `config-default.xml`, where none is evaluated",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/el-in-config-default.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(source) = facts.config_default() else { return };
    let Ok(read) = properties::parse_configuration(&source.text) else { return };
    for entry in read.entries {
        for range in expressions(&entry.value) {
            let inner = entry.value[range.clone()].trim_start_matches("${").trim_end_matches('}');
            // `${name}` is replaced by the property of that name.
            if !inner.contains(['(', ' ', '\'', '?', '[']) {
                continue;
            }
            let message =
                format!("the expression in the value of `{}` is not evaluated", entry.name);
            out.push(
                Diagnostic::new(&RULE.kind, entry.value_span, message)
                    .help("only `${name}` is replaced, by another property; put the expression where it is used")
                    .in_file(source.path.clone()),
            );
            break;
        }
    }
}
