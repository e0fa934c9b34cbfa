//! Paths on the author's own machine.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "absolute-local-path",
        group: Group::Actions,
        summary: "a path on the local disk of the author's machine",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/absolute-local-path.md"),
    },
    check,
};

/// Folders of home folders.
const HOMES: [&str; 4] = ["/home/", "/Users/", "/root/", "file:///home/"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() != "ssh") {
        for text in action.texts(&["exec", "argument", "arg", "file", "archive", "jar", "script"]) {
            let word = text.text.as_ref();
            let drive = word.len() > 3
                && word.as_bytes()[0].is_ascii_alphabetic()
                && (word[1..].starts_with(":\\")
                    || word[1..].starts_with(":/") && !word[1..].starts_with("://"));
            if drive || HOMES.iter().any(|home| word.starts_with(home)) {
                let message = "this path is on the author's machine, and unlikely to exist where the action runs";
                // All paths below one home folder are one fault.
                let mut parts = word.trim_start_matches("file://").split(['/', '\\']);
                let home = parts.by_ref().take(3).collect::<Vec<_>>().join("/");
                out.push(
                    Diagnostic::new(&RULE.kind, text.span(), message)
                        .about(home)
                        .help("put the file into the application and name it in a `file` element"),
                );
            }
        }
    }
}
