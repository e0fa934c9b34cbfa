//! Names without the quotes that functions and comparisons require.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::{has_default, is_given, starts};
use crate::lint::reads::{How, expressions};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::xml::{Decoded, Element};
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

/// Returns the names of actions, and of the data events of a coordinator, which functions take in the same way.
fn named(facts: &Facts<'_>) -> HashSet<String> {
    let events = facts.named(&["data-in", "data-out"]).into_iter();
    let events =
        events.filter_map(|event| Some(event.attribute("name")?.value().text.into_owned()));
    facts.actions.iter().map(|action| action.name()).chain(events).collect()
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    compared(facts, out);
    keys(facts, out);
    // Computed only on demand, since few definitions pass a bare name to a function.
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

/// Reports keys of captured outputs without quotes, unless something sets a variable of that name.
fn keys(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for read in facts.reads.iter().filter(|read| read.how == How::Key) {
        let name = read.name.as_str();
        let is_variable = facts.reads.iter().any(|r| r.how == How::Variable && r.name == name);
        if is_variable || is_given(facts, name) {
            continue;
        }
        let message = format!("`{name}` is read as a variable, and its value is used as the key");
        out.push(
            Diagnostic::new(&RULE.kind, read.span, message)
                .likely()
                .help(format!("write `'{name}'`"))
                .fix(Fix::guess("Add the quotes", read.span, format!("'{name}'"))),
        );
    }
}

/// A bare word that something is compared with.
struct Bare {
    /// The variable that is compared; the result of a call has no name.
    one: Option<String>,
    word: String,
    span: Span,
}

/// Reports a bare word in a comparison that is not set and is read nowhere else, if something shows that a string is
/// meant: the variable is also compared with quoted strings, or all that starts the definition is known, sets the
/// variable, and does not set the word.
fn compared(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut quoted: HashSet<String> = HashSet::default();
    let mut bare: Vec<Bare> = Vec::new();
    let switches = facts.nodes(&["decision"]).filter_map(|decision| decision.child("switch"));
    for case in switches.flat_map(Element::elements).filter(|child| child.is("case")) {
        let text = case.text();
        for range in expressions(&text.text) {
            let words = words_of(&text.text, &range);
            for three in words.windows(3) {
                let [one, sign, other] = [0, 1, 2].map(|at| &text.text[three[at].clone()]);
                // The argument of a call, or the key of its result.
                let is_call = one.ends_with(['\'', '"', ']']);
                if !COMPARES.contains(&sign) || !is_word(one) && !is_call {
                    continue;
                }
                let name = (!is_call).then(|| one.to_owned());
                match is_word(other) {
                    true => {
                        let span = text.source(three[2].clone());
                        bare.push(Bare { one: name, word: other.to_owned(), span });
                    }
                    false if other.starts_with(['\'', '"']) => quoted.extend(name),
                    false => {}
                }
            }
        }
    }
    if bare.is_empty() {
        return;
    }
    let all = starts(facts);
    let are_known = !all.is_empty() && all.iter().all(|start| start.is_whole);
    for Bare { one, word, span } in bare {
        let is_quoted = one.as_ref().is_some_and(|one| quoted.contains(one));
        let is_set = |name: &str| all.iter().all(|start| start.gives(name));
        let is_string = is_quoted || are_known && one.as_deref().is_none_or(is_set);
        if !is_string {
            continue;
        }
        let reads = facts.reads.iter().filter(|read| read.name == word).count();
        let is_given = is_given(facts, &word)
            || has_default(facts, &word)
            || all.iter().any(|start| start.gives(&word));
        if reads != 1 || is_given {
            continue;
        }
        let message = format!("`{word}` is read as a variable, not as a string");
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .naming([word.as_str()])
                .likely()
                .help(format!("write `'{word}'`"))
                .fix(Fix::guess("Add the quotes", span, format!("'{word}'"))),
        );
    }
}

/// Comparison operators.
const COMPARES: [&str; 4] = ["eq", "ne", "==", "!="];

/// Whether a word can be the name of a variable and is not a keyword.
fn is_word(word: &str) -> bool {
    const LANGUAGE: [&str; 6] = ["empty", "false", "not", "null", "true", "instanceof"];
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !LANGUAGE.contains(&word)
}

/// Returns the words of an expression, split at blanks, braces and parentheses.
fn words_of(text: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let parts = |c: char| c.is_whitespace() || matches!(c, '$' | '{' | '}' | '(' | ')' | ',');
    let (mut words, mut from) = (Vec::new(), range.start);
    for part in text[range.clone()].split(parts) {
        if !part.is_empty() {
            words.push(from..from + part.len());
        }
        from += part.len() + text[from + part.len()..].chars().next().map_or(0, char::len_utf8);
    }
    words
}

/// Functions for times, each with a predicate for its last argument.
const OF_TIMES: [(&str, Wanted); 2] =
    [("coord:formatTime(", is_format), ("coord:dateOffset(", is_unit)];

/// Whether a text is a valid argument of a function.
type Wanted = fn(&str) -> bool;

/// Returns the finding about an unquoted time format or unit in one expression.
fn of_times(facts: &Facts<'_>, text: &Decoded<'_>, range: &Range<usize>) -> Option<Diagnostic> {
    let inner = &text.text[range.clone()];
    memchr::memmem::find(inner.as_bytes(), b"coord:")?;
    OF_TIMES.iter().find_map(|(function, is_wanted)| {
        let start = inner.find(function)? + function.len();
        let length = last_argument(&inner[start..])?;
        let argument = &inner[start..][length.clone()];
        let name = argument.trim();
        // There may be a property with this name that contains a valid value.
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

/// Returns the range of the last argument of a call; `rest` is the text after the opening parenthesis.
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

/// Whether a text is a time format, and hardly the name of a variable: it consists of pattern letters, each more than
/// once, with separators between them.
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

/// Whether a text is the unit of a time offset.
fn is_unit(text: &str) -> bool {
    ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"].contains(&text)
}
