//! Job properties in commands that a shell interprets.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::reads;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "shell-injection",
        group: Group::Security,
        summary: "a job property becomes part of a command that a shell interprets",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/shell-injection.md"),
    },
    check,
};

/// Programs that interpret the argument after `-c`.
const SHELLS: [&str; 6] = ["sh", "bash", "ksh", "zsh", "dash", "csh"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        let interpreted = match action.kind() {
            "shell" => {
                let program = action.text("exec");
                let name =
                    program.as_ref().map_or("", |text| text.text.rsplit('/').next().unwrap_or(""));
                if !SHELLS.contains(&name) {
                    continue;
                }
                let mut arguments = action.texts(&["argument"]);
                let option = |text: &str| {
                    text.starts_with('-') && !text.starts_with("--") && text.ends_with('c')
                };
                arguments.find(|text| option(&text.text)).and_then(|_| arguments.next())
            }
            "ssh" => action.text("command").filter(|text| text.text.contains(' ')),
            _ => continue,
        };
        let Some(text) = interpreted else { continue };
        let mut found = Vec::new();
        reads::of_text(&text, &mut found);
        found.retain(|read| !read.name.is_empty());
        let Some(first) = found.first() else { continue };
        let mut names: Vec<String> = Vec::new();
        for name in found.iter().map(|read| format!("`{}`", read.name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let message = match names.as_slice() {
            [name] => format!("a shell interprets whatever {name} contains"),
            [all @ .., last] => {
                format!("a shell interprets whatever {} and {last} contain", all.join(", "))
            }
            [] => continue,
        };
        out.push(
            Diagnostic::new(&RULE.kind, first.span, message)
                .help("pass it as an argument of its own and use it as `\"$1\"`, or ship a script"),
        );
    }
}
