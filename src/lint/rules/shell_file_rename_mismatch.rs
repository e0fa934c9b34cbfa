//! Scripts that appear under another name.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::files::name_of;
use crate::lint::facts::{is_open, links};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "shell-file-rename-mismatch",
        group: Group::Actions,
        summary: "the script is shipped under another name than `exec` uses",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/shell-file-rename-mismatch.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "shell") {
        let Some(text) = action.text("exec").filter(|text| !is_open(&text.text)) else { continue };
        let name = name_of(&text.text).to_owned();
        if links(action).contains(&name) {
            continue;
        }
        for file in action.texts(&["file"]) {
            let Some((path, link)) = file.text.split_once('#') else { continue };
            if name_of(path) != name || link.is_empty() || is_open(link) || link.contains(',') {
                continue;
            }
            let message = format!("where this runs, the script is called `{link}`");
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .note(file.span(), "renamed here")
                    .fix(Fix::guess(format!("Run `{link}`"), text.span(), link)),
            );
            break;
        }
    }
}
