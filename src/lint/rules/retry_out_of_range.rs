//! Numbers of retries that the server reduces, ignores or cannot parse.

use crate::diag::{Diagnostic, Group, Kind, Level, within};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "retry-out-of-range",
        group: Group::Actions,
        summary: "a number of retries that the server reduces, ignores or cannot read",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0820", "E0700"],
        fix: None,
        page: include_str!("../../../docs/rules/retry-out-of-range.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let limit = facts.settings.server.retry_max.unwrap_or(3);
    for action in &facts.actions {
        // It may be misspelled.
        let mut attributes = action.element.attributes();
        let has_maximum =
            attributes.any(|other| within(other.qualified_name(), "retry-max", 2).is_some());
        for name in ["retry-max", "retry-interval"] {
            let Some(attribute) = action.element.attribute(name) else { continue };
            let value = attribute.value();
            if is_open(&value.text) {
                continue;
            }
            let (message, help) = match value.text.parse::<i64>() {
                Err(_) => (
                    "this is not a number, and the job fails when it gets here (E0700)".to_owned(),
                    "write a whole number",
                ),
                Ok(number) if number < 0 => {
                    ("a negative number means 0".to_owned(), "write 0, or leave it out")
                }
                Ok(number) if name == "retry-max" && number > limit as i64 => (
                    format!("the server allows {limit} retries"),
                    "lower it; if your server allows more, set `retry-max` in `[server]` of `ankus.toml`",
                ),
                Ok(_) if name == "retry-interval" && !has_maximum => (
                    "the interval has no effect without `retry-max`".to_owned(),
                    "add `retry-max`; a server does not retry by default",
                ),
                Ok(_) => continue,
            };
            out.push(Diagnostic::new(&RULE.kind, attribute.value_span(), message).help(help));
        }
    }
}
