//! Blanks inside texts that are used unchanged.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "element-text-whitespace",
        group: Group::Actions,
        summary: "spaces or line breaks in text that is used unchanged",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/element-text-whitespace.md"),
    },
    check,
};

/// Elements whose text is a single path, class or program.
const SINGLE: [&str; 11] = [
    "script",
    "main-class",
    "exec",
    "jar",
    "class",
    "app-path",
    "job-xml",
    "jdbc-url",
    "program",
    "git-uri",
    "destination-uri",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        for element in action.body.elements().filter(|element| SINGLE.contains(&element.name())) {
            let text = element.text().trimmed();
            if text.text.contains(['\n', '\r'])
                && let Some(at) = masked(&text.text).find(['\n', '\r'])
            {
                let message = format!("the line break is part of `{}`", element.name());
                out.push(
                    Diagnostic::new(&RULE.kind, text.source(at..at + 1), message)
                        .help("write it on one line; only whitespace at both ends is trimmed"),
                );
            }
        }
        if let Some(attribute) = action.element.attribute("cred") {
            let value = attribute.value();
            let blank = value.text.split(',').any(|item| item != item.trim());
            if blank && !value.text.contains("${") {
                let names: Vec<_> = value.text.split(',').map(str::trim).collect();
                let message = "whitespace in this list is part of the names (JA021)";
                out.push(
                    Diagnostic::new(&RULE.kind, attribute.value_span(), message)
                        .help(format!("write `{}`", names.join(","))),
                );
            }
        }
        let attachment = action.text("attachment").filter(|_| action.kind() == "email");
        if let Some(text) = attachment
            && let Some(at) = masked(&text.text).find(", ")
        {
            let message = "the space is part of the next attachment's name";
            out.push(
                Diagnostic::new(&RULE.kind, text.source(at + 1..at + 2), message)
                    .help("separate attachments with a comma alone"),
            );
        }
    }
}
