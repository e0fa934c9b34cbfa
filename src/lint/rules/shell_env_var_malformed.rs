//! Malformed environment variables.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "shell-env-var-malformed",
        group: Group::Actions,
        summary: "an `env-var` that is not of the form `NAME=value`",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["JA010"],
        fix: None,
        page: include_str!("../../../docs/rules/shell-env-var-malformed.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "shell") {
        for text in action.texts(&["env-var"]) {
            let word = text.text.as_ref();
            let message = match word.split_once('=') {
                // An expression may evaluate to the name, the `=` and the value; but after a blank, it is only a value.
                None if is_open(word)
                    && !word.split("${").next().unwrap_or_default().contains([' ', ':']) =>
                {
                    continue;
                }
                None => "this is not of the form `NAME=value`",
                // No program finds a variable whose name has a blank.
                Some((name, _)) if name.trim().is_empty() || name.contains([' ', '\t']) => {
                    let message = "the name of the variable is empty, or contains whitespace";
                    let found = Diagnostic::new(&RULE.kind, text.span(), message).likely();
                    out.push(found.at_most(Level::Warning).help("write `NAME=value`"));
                    continue;
                }
                Some((_, value)) if value.trim_matches('=').is_empty() => {
                    "the variable has no value"
                }
                Some(_) => continue,
            };
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .help("write `NAME=value`, with a value that is not empty"),
            );
        }
    }
}
