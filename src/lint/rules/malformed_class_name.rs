//! Malformed class names.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{Said, USED_HERE};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "malformed-class-name",
        group: Group::Actions,
        summary: "the main class of an action has an invalid name",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/malformed-class-name.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.is(&["java", "spark"])) {
        let element = if action.kind() == "java" { "main-class" } else { "class" };
        let Some(text) = action.text(element) else { continue };
        let Some(said) = Said::of(facts, &text) else { continue };
        let name = said.value;
        // A value that a build fills in is unknown.
        if name.is_empty() || name.contains(['@', '#', '%', '{', '$']) {
            continue;
        }
        let why = if name.contains('/') {
            "packages are separated by dots"
        } else if name.contains(char::is_whitespace) {
            "arguments belong in `arg` elements"
        } else if [".class", ".java", ".jar", ".py"].iter().any(|end| name.ends_with(end)) {
            "a file is not a class"
        } else if name.contains(['(', ')', '"', '\'', ';', ',']) {
            "it consists of letters, digits and dots"
        } else if name.split('.').any(|part| part.is_empty()) {
            "a part between two dots is missing"
        } else {
            continue;
        };
        let message = format!("{} is not the name of a class", said.words());
        let finding = Diagnostic::new(&RULE.kind, text.span(), message).help(why);
        out.push(said.place(facts, finding, USED_HERE));
    }
}
