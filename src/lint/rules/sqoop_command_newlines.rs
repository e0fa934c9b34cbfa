//! Line breaks in sqoop commands.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "sqoop-command-newlines",
        group: Group::Actions,
        summary: "line breaks in a sqoop `command` separate nothing",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/sqoop-command-newlines.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sqoop") {
        let Some(element) = action.each("command").next() else { continue };
        let text = element.text().trimmed();
        let plain = masked(&text.text);
        let Some(at) = plain.find(['\n', '\r', '\t']) else { continue };
        let message = "only spaces separate arguments; this becomes part of one";
        let finding = Diagnostic::new(&RULE.kind, text.source(at..at + 1), message)
            .help("write the command on one line, or use `arg` elements");
        let raw = facts.slice(text.span());
        if raw != text.text || plain.contains(['"', '\'']) {
            out.push(finding);
            continue;
        }
        let mut joined = String::new();
        let mut start = 0;
        for piece in plain.split([' ', '\n', '\r', '\t']) {
            // At the end of a line, it is meant to continue the line, as in a shell.
            let continues = piece == "\\" && plain[start + 1..].starts_with(['\n', '\r']);
            if !piece.is_empty() && !continues {
                if !joined.is_empty() {
                    joined.push(' ');
                }
                joined.push_str(&raw[start..start + piece.len()]);
            }
            start += piece.len() + 1;
        }
        out.push(finding.fix(Fix::guess("Write it on one line", text.span(), joined)));
    }
}
