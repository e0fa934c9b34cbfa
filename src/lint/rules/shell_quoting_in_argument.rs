//! Shell syntax where there is no shell.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files::name_of;
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "shell-quoting-in-argument",
        group: Group::Actions,
        summary: "quotes, pipes or redirections in an argument, which no shell interprets",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/shell-quoting-in-argument.md"),
    },
    check,
};

/// Programs that read an argument as a command.
const SHELLS: [&str; 10] =
    ["sh", "bash", "ksh", "zsh", "dash", "csh", "perl", "python", "python3", "awk"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "shell") {
        let program = action.text("exec").map(|text| text.text.into_owned()).unwrap_or_default();
        if SHELLS.contains(&name_of(&program)) || program.contains("${") {
            continue;
        }
        for text in action.texts(&["argument"]) {
            let word = masked(&text.text);
            let inner = word.len() > 1;
            let quoted = ['\'', '"'].iter().any(|quote| {
                inner
                    && word.starts_with(*quote)
                    && word.ends_with(*quote)
                    && !word[1..word.len() - 1].contains(*quote)
            });
            let operator = ["|", ">", ">>", "<", "&&", "||", ";", "2>&1", "2>/dev/null"];
            let message = if quoted {
                "the quotes are passed on as part of the argument"
            } else if operator.contains(&word.as_str()) {
                "no shell interprets this: the program gets it as an argument"
            } else if word.contains("$(") {
                "this is not replaced by the output of a command: there is no shell"
            } else {
                continue;
            };
            out.push(Diagnostic::new(&RULE.kind, text.span(), message).help(
                "drop the shell syntax, or run `sh` with `-c` and one argument that contains the command",
            ));
        }
    }
}
