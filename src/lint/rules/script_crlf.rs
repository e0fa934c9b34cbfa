//! Scripts with Windows line ends.

use crate::diag::Edit;
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::files::name_of;
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "script-crlf",
        group: Group::Actions,
        summary: "a shipped script has Windows line ends",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/script-crlf.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "shell") {
        for text in action.texts(&["file"]) {
            let path = text.text.split('#').next().unwrap_or_default().trim();
            // A file of this application is deployed under its own name in the folder of an absolute path.
            let path = match is_open(path) || path.starts_with('/') || path.contains("://") {
                true => name_of(path),
                false => path,
            };
            let Some(path) = facts.beside(path).filter(|_| !path.is_empty()) else { continue };
            let Some(source) = facts.files.text(&path) else { continue };
            let first = source.text.lines().next().unwrap_or_default();
            if !(source.text.starts_with("#!") && source.text[first.len()..].starts_with("\r\n")) {
                continue;
            }
            let message = format!(
                "`{}` has Windows line endings: no machine of the cluster can run it",
                text.text
            );
            let ends = source.text.match_indices("\r\n");
            let edits = ends.map(|(at, _)| Edit {
                file: Some(path.clone()),
                span: Span::new(at, at + 1),
                text: String::new(),
            });
            let title = "Remove the carriage returns".to_owned();
            let fix = Fix { title, safety: Safety::Guess, edits: edits.collect() };
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .note_in(
                        path.clone(),
                        Span::new(0, first.len()),
                        "this line ends with a carriage return",
                    )
                    .fix(fix),
            );
        }
    }
}
