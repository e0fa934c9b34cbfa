//! Calls of `concat` that plain text can replace.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::reads::expressions;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "unneeded-string-function",
        group: Group::Style,
        summary: "`concat` where plain text is enough",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/unneeded-string-function.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let calls = |text: &str| memchr::memchr(b'(', text.as_bytes()).is_some();
    for (_, text) in facts.texts().iter().filter(|(_, text)| calls(&text.text)) {
        for range in expressions(&text.text) {
            let Some(parts) = parts(&text.text[range.clone()]) else { continue };
            let span = text.source(range.clone());
            // A text written with character references would need a more complex edit.
            if facts.slice(span) != &text.text[range] {
                continue;
            }
            let message = format!("`{parts}` is the same");
            out.push(Diagnostic::new(&RULE.kind, span, message).fix(Fix::guess(
                format!("Write `{parts}`"),
                span,
                parts,
            )));
        }
    }
}

/// Returns the equivalent of a whole `${concat(a, 'b')}` of variables and literals without the function.
fn parts(expression: &str) -> Option<String> {
    let inner = expression.strip_prefix("${")?.strip_suffix('}')?.trim();
    let arguments = inner.strip_prefix("concat(")?.strip_suffix(')')?;
    let mut written = String::new();
    for argument in arguments.split(',').map(str::trim) {
        if let Some(text) = argument.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            if text.contains(['\'', '"', '$', '#', '\\', '&', '<']) {
                return None;
            }
            written.push_str(text);
        } else {
            let name = argument.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let first = argument.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
            if !(name && first) || ["true", "false", "null"].contains(&argument) {
                return None;
            }
            written.push_str(&format!("${{{argument}}}"));
        }
    }
    Some(written)
}
