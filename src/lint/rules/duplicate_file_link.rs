//! Files that hide each other.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "duplicate-file-link",
        group: Group::Names,
        summary: "two files of an action with the same link name",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/duplicate-file-link.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        let mut seen: HashMap<String, (String, Span)> = HashMap::new();
        for text in action.texts(&["file", "archive"]) {
            let (path, link) = text.text.split_once('#').unwrap_or((&text.text, ""));
            let link = if link.is_empty() { files::name_of(path) } else { link };
            if link.is_empty() || link.contains(['$', ',']) {
                continue;
            }
            match seen.get(link) {
                Some((other, first)) if other != path => out.push(
                    Diagnostic::new(
                        &RULE.kind,
                        text.span(),
                        format!("this action has two files called `{link}`"),
                    )
                    .note(*first, "this is the first")
                    .help("give one of them another name after `#`"),
                ),
                Some(_) => {}
                None => {
                    seen.insert(link.to_owned(), (path.to_owned(), text.span()));
                }
            }
        }
    }
}
