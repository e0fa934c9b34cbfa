//! Quotes, dashes and blanks of a word processor.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "typographic-characters",
        group: Group::Parameters,
        summary: "a typographic quote, dash or space, as word processors insert them",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/typographic-characters.md"),
    },
    check,
};

/// Elements whose text is for human readers.
const WORDS: [&str; 6] = ["message", "description", "body", "subject", "name", "to"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let whole = facts.tree.text();
    if whole.is_ascii() {
        return;
    }
    blanks(facts, out);
    // A fast path: most definitions contain none of these characters, which all begin with the same bytes.
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
        // A dash belongs to an option only at the beginning of a word.
        let dash =
            [" \u{2013}", " \u{2014}"].iter().find_map(|dash| Some(text.text.find(dash)? + 1));
        // The second of two hyphens at the beginning of an option.
        let second = ["-\u{2013}", "-\u{2014}"]
            .into_iter()
            .find_map(|dash| (text.text.starts_with(dash)).then_some(1));
        let first = text.text.starts_with(['\u{2013}', '\u{2014}']).then_some(0);
        let Some(at) = quote.or(first).or(second).or(dash) else { continue };
        let sign = text.text[at..].chars().next().unwrap_or_default();
        let message = format!("programs do not read `{sign}` as a plain quote or dash");
        let span = text.source(at..at + sign.len_utf8());
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .likely()
                .help("write a plain `\"`, `'` or `-`; a word processor inserted this"),
        );
    }
}

const QUOTES: [char; 4] = ['\u{201c}', '\u{201d}', '\u{2018}', '\u{201e}'];
/// Blanks that programs neither trim nor treat as separators.
const BLANKS: [char; 4] = ['\u{a0}', '\u{2007}', '\u{202f}', '\u{200b}'];

/// Reports word-processor blanks at the ends of a text, where they are invisible.
fn blanks(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    const VALUES: [&str; 9] =
        ["app-path", "arg", "argument", "exec", "file", "jar", "param", "script", "value"];
    let whole = facts.tree.text();
    if !BLANKS.iter().any(|blank| whole.contains(*blank)) {
        return;
    }
    for (element, text) in facts.texts().iter().filter(|(e, _)| VALUES.contains(&e.name())) {
        let plain = text.text.trim_matches(|c: char| c.is_ascii_whitespace());
        let start = plain.as_ptr() as usize - text.text.as_ptr() as usize;
        let mut ends =
            [plain.char_indices().next(), plain.char_indices().next_back()].into_iter().flatten();
        let Some((at, sign)) = ends.find(|(_, sign)| BLANKS.contains(sign)) else { continue };
        let span = text.source(start + at..start + at + sign.len_utf8());
        let message = format!(
            "this `{}` begins or ends with an invisible space, which is not trimmed",
            element.name()
        );
        out.push(Diagnostic::new(&RULE.kind, span, message).likely().help("write a plain blank"));
    }
}
