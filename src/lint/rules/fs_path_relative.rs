//! Relative paths in `fs` actions.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{default_name_node, is_open, operations};
use crate::lint::paths;
use crate::lint::rules::malformed_uri::{lacks_colon, without_colon};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "fs-path-relative",
        group: Group::Actions,
        summary: "a file operation on a path that does not begin with `/`",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["FS011"],
        fix: None,
        page: include_str!("../../../docs/rules/fs-path-relative.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // Computed once, since it searches all nodes.
    let default = default_name_node(facts);
    for action in facts.actions.iter().filter(|action| action.kind() == "fs") {
        let name_node = default || action.body.child("name-node").is_some();
        for (command, attribute) in operations(action) {
            let value = attribute.value();
            let word = value.text.trim();
            let relative =
                !word.is_empty() && !word.starts_with('/') && paths::scheme(word).is_none();
            // The target of a move is used as written.
            if !relative
                || !name_node
                || command == "target"
                || word.starts_with("${")
                || is_open(word)
            {
                continue;
            }
            if let Some((range, scheme)) = without_colon(&value.text) {
                out.push(lacks_colon(&RULE.kind, value.source(range), scheme));
                continue;
            }
            let message =
                format!("`{word}` is a relative path, and nothing says what it is relative to");
            out.push(
                Diagnostic::new(&RULE.kind, attribute.value_span(), message)
                    .help("write an absolute path: an fs action has no working directory"),
            );
        }
    }
}
