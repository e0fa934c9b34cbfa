//! Queries that cannot be split among mappers.

use super::misspelt_sqoop_option::takes_value;
use crate::diag::{Diagnostic, Group, Kind, Level, within};
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
        let words: Vec<&str> = arguments.iter().map(|text| text.text.trim()).collect();
        let is_value = |at: usize| at > 0 && takes_value(words[at - 1]);
        let is_open = |(at, word): (usize, &&str)| word.starts_with("${") && !is_value(at);
        let open = words.iter().enumerate().any(is_open)
            || words.iter().any(|word| within(word, "--options-file", 2).is_some());
        if open || words.iter().any(|word| is_split(word)) {
            continue;
        }
        let mappers = words
            .iter()
            .enumerate()
            .find_map(|(at, word)| Some((at, mappers(word, words.get(at + 1))?)));
        let (span, message) = match mappers {
            None => (query.span(), "nothing says how to split the query among mappers".to_owned()),
            Some((at, count))
                if count != "1" && count.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                let message = format!("nothing says how to split the query among {count} mappers");
                (arguments[at].span(), message)
            }
            Some(_) => continue,
        };
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .help("add `--split-by` with a column, or `-m` with `1`"),
        );
    }
}

/// Whether an argument says how to split the query.
fn is_split(argument: &str) -> bool {
    let name = argument.split_once('=').map_or(argument, |(name, _)| name);
    // A misspelled option has a finding of its own.
    ["--split-by", "-split-by", "--autoreset-to-one-mapper"]
        .iter()
        .any(|known| within(name, known, 2).is_some())
}

/// Returns the number of mappers that an argument asks for, which may be part of it: `-m1`, `--num-mappers=1`.
fn mappers<'t>(argument: &'t str, next: Option<&&'t str>) -> Option<&'t str> {
    let (name, own) =
        argument.split_once('=').map_or((argument, None), |(name, own)| (name, Some(own)));
    if ["-m", "--m", "--num-mappers", "-num-mappers"].contains(&name) {
        return Some(own.or(next.copied()).unwrap_or_default());
    }
    let count = argument.strip_prefix("-m").filter(|count| !count.is_empty())?;
    count.bytes().all(|byte| byte.is_ascii_digit()).then_some(count)
}
