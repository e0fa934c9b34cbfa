//! Captured output that is never read.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};
use memchr::memmem;
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "capture-output-unread",
        group: Group::Actions,
        summary: "captured output is never read",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/capture-output-unread.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let text = facts.tree.text();
    if memmem::find(text.as_bytes(), b"capture-output").is_none() {
        return;
    }
    // A computed name could be any, and a property can contain the expression.
    let calls = text.matches("wf:actionData").count();
    let literal = text.matches("wf:actionData('").count()
        + text.matches("wf:actionData(\"").count()
        + text.matches("wf:actionData(&quot;").count();
    if calls != literal {
        return;
    }
    let mut read: HashSet<&str> = HashSet::new();
    for (at, call) in text.match_indices("wf:actionData(") {
        let rest = &text[at + call.len()..];
        for quote in ["'", "\"", "&quot;"] {
            let name = rest.strip_prefix(quote).and_then(|rest| rest.split_once(quote));
            read.extend(name.filter(|(_, rest)| rest.starts_with(')')).map(|(name, _)| name));
        }
    }
    for action in &facts.actions {
        let Some(element) = action.each("capture-output").next() else { continue };
        let name = action.name();
        if read.contains(name.as_str()) || name.is_empty() {
            continue;
        }
        let message = format!("nothing reads what `{name}` prints");
        let span = facts.removal(element.span());
        out.push(
            Diagnostic::new(&RULE.kind, element.span(), message)
                .help("without `capture-output`, the action cannot fail because its output is too long")
                .fix(Fix::guess("Remove `capture-output`", span, "")),
        );
    }
}
