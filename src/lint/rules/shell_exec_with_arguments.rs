//! Command lines in `exec`.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::{links, masked, sibling};
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "shell-exec-with-arguments",
        group: Group::Actions,
        summary: "`exec` contains a whole command line, which no shell splits",
        level: Level::Error,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/shell-exec-with-arguments.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "shell") {
        let Some(element) = action.each("exec").next() else { continue };
        let text = element.text().trimmed();
        let plain = masked(&text.text);
        let Some(at) = plain.find(' ') else { continue };
        // A program may have this name.
        if links(action).iter().any(|link| *link == text.text) {
            continue;
        }
        let message = "the server treats the whole text as the name of one program";
        let finding = Diagnostic::new(&RULE.kind, text.span(), message)
            .help("put each argument into its own `argument` element");
        let simple = !plain.contains(['\'', '"', '\\', '|', '>', '<', ';', '&', '`', '\n', '$']);
        let raw = facts.slice(text.span());
        if !(simple && raw == text.text) {
            out.push(finding);
            continue;
        }
        let mut arguments = String::new();
        let mut start = at;
        for word in plain[at..].split(' ') {
            if !word.is_empty() {
                let argument = &raw[start..start + word.len()];
                let element_text = format!("<argument>{argument}</argument>");
                arguments.push_str(&sibling(facts, element, &element_text));
            }
            start += word.len() + 1;
        }
        let behind = Span::new(text.source(at..at + 1).start as usize, text.span().end as usize);
        out.push(
            finding.fix(
                Fix::safe("Give each argument its own element", behind, "")
                    .and(Span::at(element.span().end as usize), arguments),
            ),
        );
    }
}
