//! Script parameters without a value.

use crate::callers;
use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};
use crate::slips::has_name;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "param-without-value",
        group: Group::Actions,
        summary: "a `param` of a script that is not `name=value`",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/param-without-value.md"),
    },
    check,
};

/// Returns the text with all properties resolved, if all of them are known.
fn resolved(text: &str, facts: &Facts<'_>) -> Option<String> {
    let given = facts.submission.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let whole = callers::resolved(text, &given.collect());
    (!whole.contains("${")).then_some(whole)
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.is(&["hive", "hive2", "pig"])) {
        for text in action.texts(&["param"]) {
            // The text before the first expression must contain a name, unless it is just a path.
            let head = text.text.split("${").next().unwrap_or_default();
            let head = head.trim_start();
            // Names of parameters are often in capitals; `OUTPUT/user` lacks the `=` between name and value.
            let first = head.split('/').next().unwrap_or_default();
            let capital = first.len() > 2
                && first.len() < head.len()
                && first.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
            // Another character is in place of the `=`.
            let sign = head.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let (name, rest) = head.split_at(sign.unwrap_or(0));
            let ends = rest.len() == 1 && head.len() < text.text.trim_start().len();
            // It is followed by a path or an expression.
            let other = name.len() > 1
                && rest.starts_with(['-', ';', ','])
                && (ends || rest[1..].starts_with('/'))
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            // The name, directly followed by an expression that reads it.
            let value = &text.text.trim_start()[head.len()..];
            let value = value.split_inclusive('}').next().unwrap_or_default();
            let lost = head.len() > 1
                && head.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && has_name(&value.to_ascii_lowercase(), &head.to_ascii_lowercase());
            // The fully resolved text has no `=` either.
            let whole = || match resolved(&text.text, facts) {
                Some(whole) => !head.is_empty() && !whole.contains('='),
                None => false,
            };
            let named = lost
                || whole()
                || head.contains([' ', ':'])
                || capital
                || other
                || !is_open(&text.text);
            if text.text.is_empty() || text.text.contains('=') || !named {
                continue;
            }
            let message = format!("`{}` has no `=` and gives the script no variable", text.text);
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .help("write `name=value`; the script reads it as `${name}`"),
            );
        }
    }
}
