//! Quotes and dashes of a word processor.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "typographic-characters",
        group: Group::Parameters,
        summary: "a quote or a dash that a word processor has put there",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/typographic-characters.md"),
    },
    check,
};

/// Elements whose text is for people.
const WORDS: [&str; 6] = ["message", "description", "body", "subject", "name", "to"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let whole = facts.tree.text();
    // Most definitions hold none of these signs, all of which begin with the same bytes.
    let begin = &"\u{2013}".as_bytes()[..2];
    if memchr::memmem::find(whole.as_bytes(), begin).is_none() {
        return;
    }
    if !whole.contains("\u{2013}") && !whole.contains("\u{2014}") && !whole.contains(QUOTES) {
        return;
    }
    for (element, text) in facts.texts() {
        if WORDS.contains(&element.name()) {
            continue;
        }
        let quote = text.text.find(QUOTES);
        // A dash is one of an option only in front of it.
        let dash =
            [" \u{2013}", " \u{2014}"].iter().find_map(|dash| Some(text.text.find(dash)? + 1));
        // One of two dashes that begin an option.
        let second = ["-\u{2013}", "-\u{2014}"]
            .into_iter()
            .find_map(|dash| (text.text.starts_with(dash)).then_some(1));
        let first = text.text.starts_with(['\u{2013}', '\u{2014}']).then_some(0);
        let Some(at) = quote.or(first).or(second).or(dash) else { continue };
        let sign = text.text[at..].chars().next().unwrap_or_default();
        let message = format!("`{sign}` is neither a quote nor a dash to any program");
        let span = text.source(at..at + sign.len_utf8());
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .likely()
                .help("write the plain `\"`, `'` or `-`; a word processor has put this there"),
        );
    }
}

const QUOTES: [char; 4] = ['\u{201c}', '\u{201d}', '\u{2018}', '\u{201e}'];
