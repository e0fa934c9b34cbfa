//! Commands that begin with their own name.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "sqoop-command-prefix",
        group: Group::Actions,
        summary: "a sqoop `command` begins with `sqoop`",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/sqoop-command-prefix.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sqoop") {
        let Some(text) = action.text("command") else { continue };
        let Some((first, rest)) = text.text.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if !first.eq_ignore_ascii_case("sqoop") || rest.starts_with('-') || rest.is_empty() {
            continue;
        }
        let end = text.text.len() - rest.len();
        let message = format!("`{first}` is dropped: the command starts after it");
        out.push(
            Diagnostic::new(&RULE.kind, text.source(0..first.len()), message).fix(Fix::guess(
                format!("Remove `{first}`"),
                text.source(0..end),
                "",
            )),
        );
    }
}
