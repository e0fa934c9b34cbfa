//! Names that functions take as texts.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::reads::expressions;
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Decoded;
use foldhash::HashSet;
use std::cell::LazyCell;
use std::ops::Range;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "name-without-quotes",
        group: Group::Expressions,
        summary: "a variable is passed where the function expects a name in quotes",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/name-without-quotes.md"),
    },
    check,
};

/// Functions that take the name of an action, of a property, or of an event.
const FUNCTIONS: [&str; 11] = [
    "wf:actionData(",
    "wf:errorCode(",
    "wf:errorMessage(",
    "wf:transition(",
    "wf:actionExternalId(",
    "wf:actionTrackerUri(",
    "wf:actionExternalStatus(",
    "wf:conf(",
    "coord:conf(",
    "coord:dataIn(",
    "coord:dataOut(",
];

/// The names of actions, and of the events of a coordinator, which functions take in the same way.
fn named(facts: &Facts<'_>) -> HashSet<String> {
    let events = facts.named(&["data-in", "data-out"]).into_iter();
    let events =
        events.filter_map(|event| Some(event.attribute("name")?.value().text.into_owned()));
    facts.actions.iter().map(|action| action.name()).chain(events).collect()
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // Few definitions hand a function a plain name.
    let named = LazyCell::new(|| named(facts));
    let calls = |text: &str| {
        let mut colons = memchr::memchr_iter(b':', text.as_bytes());
        colons.any(|at| text[..at].ends_with("wf") || text[..at].ends_with("coord"))
    };
    for (_, text) in facts.texts() {
        if !calls(&text.text) {
            continue;
        }
        for range in expressions(&text.text) {
            let inner = &text.text[range.clone()];
            out.extend(of_times(facts, text, &range));
            for open in memchr::memchr_iter(b'(', inner.as_bytes()) {
                let (call, rest) = (&inner[..=open], &inner[open + 1..]);
                let Some(function) = FUNCTIONS.iter().find(|function| call.ends_with(*function))
                else {
                    continue;
                };
                let Some((argument, _)) = rest.split_once(')') else { continue };
                let name = argument.trim();
                let plain = !name.is_empty()
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
                    && !name.starts_with(|c: char| c.is_ascii_digit());
                let of_conf = function.ends_with("conf(");
                if !plain || !of_conf && !named.contains(name) {
                    continue;
                }
                let start = range.start + open + 1;
                let start = start + argument.len() - argument.trim_start().len();
                let span = text.source(start..start + name.len());
                let message =
                    format!("`{name}` is read as a variable, and its value is used as the name");
                out.push(
                    Diagnostic::new(&RULE.kind, span, message)
                        .likely()
                        .help(format!("write `'{name}'`"))
                        .fix(Fix::guess("Add the quotes", span, format!("'{name}'"))),
                );
            }
        }
    }
}

/// Functions of times, with what they take as their last text.
const OF_TIMES: [(&str, Wanted); 2] =
    [("coord:formatTime(", is_format), ("coord:dateOffset(", is_unit)];

/// Whether a text is one that a function takes.
type Wanted = fn(&str) -> bool;

/// The format or unit of a time without its quotes, in one expression.
fn of_times(facts: &Facts<'_>, text: &Decoded<'_>, range: &Range<usize>) -> Option<Diagnostic> {
    let inner = &text.text[range.clone()];
    OF_TIMES.iter().find_map(|(function, is_wanted)| {
        let start = inner.find(function)? + function.len();
        let length = last_argument(&inner[start..])?;
        let argument = &inner[start..][length.clone()];
        let name = argument.trim();
        // A property may be called so, and hold what is wanted.
        let is_given = facts.submission.get(name).is_some();
        if !is_wanted(name) || is_given {
            return None;
        }
        let start =
            range.start + start + length.start + argument.len() - argument.trim_start().len();
        let span = text.source(start..start + name.len());
        let message = format!("`{name}` is read as a variable, not as a string");
        Some(
            Diagnostic::new(&RULE.kind, span, message)
                .likely()
                .help(format!("write `'{name}'`"))
                .fix(Fix::guess("Add the quotes", span, format!("'{name}'"))),
        )
    })
}

/// Where the last argument of a call stands, of whose text this is what follows the opening parenthesis.
fn last_argument(rest: &str) -> Option<Range<usize>> {
    let mut depth = 0;
    let mut quote = None;
    let mut start = None;
    for (at, sign) in rest.char_indices() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(sign),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return Some(start?..at),
            (None, ')') => depth -= 1,
            (None, ',') if depth == 0 => start = Some(at + 1),
            (None, _) => {}
        }
    }
    None
}

/// Whether a text is a format of times, and hardly the name of a variable: letters that stand for parts of a time, each of
/// them more than once, with signs between them.
fn is_format(text: &str) -> bool {
    let mut parts = text.split(['-', '_', '/', ':', '.', ' ']).filter(|part| !part.is_empty());
    let is_part = |part: &str| {
        let mut rest = part;
        while let Some(letter) = rest.chars().next().filter(|letter| "yMdHhms".contains(*letter)) {
            rest = rest.trim_start_matches(letter);
        }
        rest.is_empty() && part.len() > 1
    };
    parts.clone().next().is_some() && parts.all(is_part)
}

/// Whether a text is the unit of an offset.
fn is_unit(text: &str) -> bool {
    ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"].contains(&text)
}
