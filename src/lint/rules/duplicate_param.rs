//! Script parameters that are set twice.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "duplicate-param",
        group: Group::Actions,
        summary: "a script gets two values for the same parameter",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/duplicate-param.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.is(&["hive", "hive2", "pig"])) {
        let mut seen: HashMap<String, (String, Span)> = HashMap::new();
        for text in action.texts(&["param"]) {
            let Some((name, value)) = text.text.split_once('=') else { continue };
            let name = name.trim();
            if name.is_empty() || is_open(name) {
                continue;
            }
            match seen.get(name) {
                Some((other, _)) if other == value.trim() => {}
                Some((_, first)) => {
                    let message = format!(
                        "`{name}` is already set above; only one of the two values is used"
                    );
                    out.push(
                        Diagnostic::new(&RULE.kind, text.span(), message)
                            .note(*first, "it is first set here"),
                    );
                }
                None => {
                    seen.insert(name.to_owned(), (value.trim().to_owned(), text.span()));
                }
            }
        }
    }
}
