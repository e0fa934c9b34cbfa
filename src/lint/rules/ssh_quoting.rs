//! Arguments with blanks, which arrive as several arguments.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "ssh-quoting",
        group: Group::Actions,
        summary: "an argument with spaces, which arrives as several arguments",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/ssh-quoting.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "ssh") {
        // `echo` only joins its arguments again; without a command, nothing needs quoting.
        if action.text("command").is_none_or(|command| command.text.ends_with("echo")) {
            continue;
        }
        for text in action.texts(&["args"]) {
            let plain = masked(&text.text);
            let quoted = ['\'', '"'].iter().any(|quote| plain.contains(*quote));
            if quoted && plain.contains(' ') {
                let message = "the remote side splits this at whitespace, regardless of quotes";
                let finding = Diagnostic::new(&RULE.kind, text.span(), message);
                out.push(match action.version() {
                    "0.2" => finding.help("use `arg` elements, one for each argument"),
                    _ => finding
                        .help("use `arg` elements, which schema `uri:oozie:ssh-action:0.2` has"),
                });
            }
        }
    }
}
