//! Placeholders that a generator should have replaced.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use memchr::memmem;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "template-residue",
        group: Group::Migration,
        summary: "a placeholder that a generator should have replaced",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/template-residue.md"),
    },
    check,
};

/// Delimiters of placeholders of common generators.
const MARKS: [(&str, &str); 4] = [("{{", "}}"), ("<%", "%>"), ("#", "#"), ("@", "@")];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // A fast path: most definitions contain none of these.
    let whole = facts.tree.text().as_bytes();
    let holds = |sign: &str| memmem::find(whole, sign.as_bytes()).is_some();
    let is_marked = |(open, _): &(&str, &str)| holds(open.trim_start_matches('<')) || holds("&#");
    let marks: Vec<(&str, &str)> = MARKS.into_iter().filter(is_marked).collect();
    for (_, text) in facts.texts().iter().filter(|_| !marks.is_empty()) {
        for &(open, close) in &marks {
            let Some(start) = text.text.find(open) else { continue };
            let rest = &text.text[start + open.len()..];
            let Some(end) = rest.find(close) else { continue };
            let name = rest[..end].trim();
            let capital =
                |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b"_.-".contains(&b);
            let named = match open {
                // A single character is common in texts, so only names in capitals count.
                "#" | "@" => name.len() > 2 && name.bytes().all(capital),
                _ => !name.is_empty() && !name.contains('\n'),
            };
            if !named {
                continue;
            }
            let whole = start..start + open.len() + end + close.len();
            let message = format!(
                "`{}` looks like a placeholder that was not replaced",
                &text.text[whole.clone()]
            );
            out.push(
                Diagnostic::new(&RULE.kind, text.source(whole), message)
                    .help("check the generated file, not its template"),
            );
            break;
        }
    }
}
