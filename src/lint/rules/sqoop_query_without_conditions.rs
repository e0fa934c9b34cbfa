//! Queries that cannot be split among mappers.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Decoded;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "sqoop-query-without-conditions",
        group: Group::Actions,
        summary: "a query that sqoop cannot split among its mappers",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/sqoop-query-without-conditions.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sqoop") {
        let arguments: Vec<Decoded<'_>> = action.texts(&["arg"]).collect();
        let Some(at) =
            arguments.iter().position(|text| matches!(text.text.as_ref(), "--query" | "-e"))
        else {
            continue;
        };
        let Some(query) = arguments.get(at + 1) else { continue };
        // `eval` runs its query once, unchanged, in the database.
        if !arguments[..at].iter().any(|text| text.text.trim() == "import") {
            continue;
        }
        // The value of a property is unknown.
        if query.text.trim_start().starts_with("${") {
            continue;
        }
        if !query.text.contains("$CONDITIONS") {
            let message = "the query does not use `$CONDITIONS`, and sqoop refuses it";
            out.push(
                Diagnostic::new(&RULE.kind, query.span(), message)
                    .help("add `where $CONDITIONS`, or `and $CONDITIONS` to the conditions it has"),
            );
            continue;
        }
        // A property or an options file may contain the option.
        let open = arguments
            .iter()
            .any(|text| text.text.starts_with("${") || text.text.trim() == "--options-file");
        if !open && !arguments.iter().any(|text| is_split(text.text.trim())) {
            let message = "nothing says how to split the query among mappers";
            out.push(
                Diagnostic::new(&RULE.kind, query.span(), message)
                    .help("add `--split-by` with a column, or `-m` with `1`"),
            );
        }
    }
}

/// Whether an argument says how to split the query. The value may be part of it: `-m1`, `--num-mappers=1`.
fn is_split(argument: &str) -> bool {
    let name = argument.split_once('=').map_or(argument, |(name, _)| name);
    let attached = || argument.strip_prefix("-m").filter(|count| !count.is_empty());
    ["--split-by", "-m", "--num-mappers", "--autoreset-to-one-mapper"].contains(&name)
        || attached().is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
}
