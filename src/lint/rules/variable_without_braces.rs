//! Variables without braces, which are plain text.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::{operations, starts};
use crate::lint::reads::each_expression;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::xml::{Decoded, Element, NodeKind};
use ankus_lang::el::functions;
use foldhash::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "variable-without-braces",
        group: Group::Expressions,
        summary: "text that looks like a variable with an incomplete `${…}`",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/variable-without-braces.md"),
    },
    check,
};

/// Elements whose text is nearly always a variable.
const CLUSTER: [&str; 5] = ["name-node", "job-tracker", "resource-manager", "jdbc-url", "app-path"];
/// Elements with a path, which no shell expands.
const PATHS: [&str; 13] = [
    "archive",
    "chgrp",
    "chmod",
    "delete",
    "file",
    "jar",
    "job-xml",
    "mkdir",
    "move",
    "script",
    "setrep",
    "touchz",
    "uri-template",
];
/// The time parts of a URI template.
const TIME: [&str; 5] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"];
/// Elements whose text is for human readers or for other programs.
const WORDS: [&str; 8] =
    ["message", "description", "body", "subject", "command", "name", "class", "main-class"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut known: HashSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    known.extend(facts.submission.iter().map(|(name, _)| name));
    let all = starts(facts);
    known.extend(all.iter().flat_map(|start| start.names()));
    let near = facts.near_files().iter().flat_map(|(_, entries)| entries);
    known.extend(near.map(|entry| entry.name.as_str()));
    let mut valued = vec!["value"];
    valued.extend(CLUSTER);
    known.retain(|name| !name.contains('$'));
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ' | b'\n' | b'\r' | b'\t')
    };
    // A fast path: most values are ruled out before they are decoded.
    let may_be_plain = |element: &Element<'_>| {
        let mut texts = element.children().filter(|child| child.kind() == NodeKind::Text);
        texts.all(|text| text.raw().bytes().all(|byte| is_plain(byte) || b"&#;".contains(&byte)))
    };
    let plain = facts.named(&valued).into_iter().filter(may_be_plain);
    let plain = plain.map(|element| (element, element.text()));
    let plain = plain.filter(|(_, text)| text.text.bytes().all(is_plain));
    paths(facts, &known, out);
    calls_in_texts(facts, out);
    let (said, variables) = with_stray_signs(facts);
    let half = half_open(facts, &said, variables, out);
    let said = said.into_iter().cloned();
    // The name of an application may contain variables, to distinguish its runs.
    let named_by = facts.tree.root().and_then(|root| {
        let name = root.attributes().find(|attribute| attribute.qualified_name() == "name")?;
        Some((root, name.value()))
    });
    let own = named_by.as_ref().map(|(root, _)| root.span());
    for (element, text) in said.chain(plain).chain(named_by) {
        let is_own = own == Some(element.span());
        let is_command = element.name() == "command";
        if WORDS.contains(&element.name()) && !is_command
            || element.elements().next().is_some() && !is_own
            || half.contains(&text.span())
        {
            continue;
        }
        let trimmed = text.trim();
        let plain = trimmed.text.as_ref();
        if plain.is_empty() || plain.len() > 1_000 {
            continue;
        }
        let of_cluster = CLUSTER.contains(&element.name());
        let of_time = element.name() == "uri-template";
        let named = |name: &str, whole: bool| {
            let telling = name.len() > 3 || TIME.contains(&name);
            known.contains(name) && (telling || whole) || of_time && TIME.contains(&name)
        };
        let holds_sign = memchr::memchr2(b'$', b'{', plain.as_bytes()).is_some();
        let of_path = of_cluster || PATHS.contains(&element.name());
        let forgotten = || forgotten(plain, of_cluster, of_path, &named);
        let found = holds_sign.then(forgotten).flatten().or_else(|| {
            let telling =
                plain.contains('_') || plain.bytes().any(|byte| byte.is_ascii_uppercase());
            let is_value = of_cluster || element.name() == "value" && telling;
            // A property whose value equals its name passes its own name on.
            let same = || {
                let own = element.parent().and_then(|property| property.child("name"));
                own.is_some_and(|name| name.text().text.trim() == plain)
            };
            // The check that examines all neighbors comes last.
            let whole = is_value
                && named(plain, false)
                && match facts.submission.get(plain) {
                    Some(value) => value.trim() != plain,
                    // A name that looks like a variable is hardly that of a cluster.
                    None => of_cluster && telling,
                }
                && !same();
            whole.then(|| (0..plain.len(), plain.to_owned()))
        });
        let Some((range, mut name)) = found else { continue };
        // In a command, a shell or a database may read other forms.
        if is_command && !plain[range.clone()].starts_with('{') {
            continue;
        }
        // If the case differs, the existing name is meant.
        if !known.contains(name.as_str())
            && let Some(meant) = known.iter().filter(|k| k.eq_ignore_ascii_case(&name)).min()
        {
            name = (*meant).to_owned();
        }
        // In a coordinator or a bundle, `$${` is an escaped `${`, for the program that reads the value later.
        let escapes = plain[range.start..].starts_with("$${") && facts.workflow().is_none();
        if escapes && name.is_empty() {
            continue;
        }
        let span = trimmed.source(range.clone());
        let message = match name.is_empty() {
            true if plain[range.clone()] == *"$" => {
                "this `$` is not part of an expression, and stays in the text".to_owned()
            }
            true => "this brace is not part of an expression, and stays in the text".to_owned(),
            false if name.contains('(') => {
                format!("`{}` is text and does not call a function", &plain[range])
            }
            false => format!("`{}` is text, not the variable `{name}`", &plain[range]),
        };
        // The same slip throughout a file is one finding.
        let about = if name.is_empty() { "a stray sign" } else { facts.slice(span) };
        let finding = Diagnostic::new(&RULE.kind, span, message).about(about).likely();
        out.push(match name.is_empty() {
            true => finding.help("remove it"),
            false => finding.help(format!("write `${{{name}}}`")).fix(Fix::guess(
                format!("Write `${{{name}}}`"),
                span,
                format!("${{{name}}}"),
            )),
        });
    }
}

/// Reports paths of file operations that begin with the bare name of a variable.
fn paths(facts: &Facts<'_>, known: &HashSet<&str>, out: &mut Vec<Diagnostic>) {
    for (_, attribute) in facts.actions.iter().flat_map(operations) {
        let value = attribute.value();
        let first = value.text.split('/').next().unwrap_or_default();
        let telling = first.contains('_') || first.bytes().any(|byte| byte.is_ascii_uppercase());
        if !telling || !known.contains(first) {
            continue;
        }
        let span = value.source(0..first.len());
        let message = format!("`{first}` is text, not the variable `{first}`");
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .about(first)
                .likely()
                .help(format!("write `${{{first}}}`"))
                .fix(Fix::guess(format!("Write `${{{first}}}`"), span, format!("${{{first}}}"))),
        );
    }
}

/// Reports function calls inside a text that are not in an expression, so that they are not evaluated.
fn calls_in_texts(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let prefixes: &[&str] = match facts.workflow() {
        Some(_) => &["wf", "fs", "hadoop", "hcat"],
        None => &["coord"],
    };
    let of_people_or_times = |element: &Element<'_>| {
        element.name() == DESCRIPTION || element.name().ends_with("instance")
    };
    for (_, text) in facts.texts().iter().filter(|(element, _)| !of_people_or_times(element)) {
        let plain = text.text.as_ref();
        let mut end = 0;
        for colon in memchr::memchr_iter(b':', plain.as_bytes()) {
            let before = &plain[..colon];
            let Some(prefix) = prefixes.iter().find(|prefix| before.ends_with(**prefix)) else {
                continue;
            };
            let at = colon - prefix.len();
            let letters = plain[colon + 1..].bytes().take_while(u8::is_ascii_alphabetic).count();
            let named = colon + 1 + letters;
            let is_part = before[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if at < end || is_part || !plain[named..].starts_with('(') {
                continue;
            }
            // Braces and dollar signs before it have findings of their own.
            let is_told = before[..at].ends_with(['$', '{', '#']) || before[..at].ends_with("$(");
            if is_told
                || functions::named(&plain[at..named]).next().is_none()
                || is_inside(plain, at)
            {
                continue;
            }
            let Some(length) = balanced(&plain[named..]) else { continue };
            end = named + length;
            let span = text.source(at..end);
            let call = facts.slice(span);
            out.push(
                Diagnostic::new(
                    &RULE.kind,
                    span,
                    format!("`{call}` is text and does not call a function"),
                )
                .about(call)
                .likely()
                .help(format!("write `${{{call}}}`"))
                .fix(Fix::guess(
                    format!("Write `${{{call}}}`"),
                    span,
                    format!("${{{call}}}"),
                )),
            );
        }
    }
}

/// Whether a place is in an expression, or after the beginning of an unterminated one.
fn is_inside(text: &str, at: usize) -> bool {
    let mut last = 0;
    for range in each_expression(text).take_while(|range| range.start < at) {
        if range.end > at {
            return true;
        }
        last = range.end;
    }
    text[last..at].contains("${") || text[last..at].contains("#{")
}

/// Returns the length of the text from an opening parenthesis to the matching one.
fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices().take(MOST_OF_A_CALL) {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Returns the texts with a dollar sign or a brace outside expressions, and the total number of expressions.
fn with_stray_signs<'f, 'a>(facts: &'f Facts<'a>) -> (Vec<&'f (Element<'a>, Decoded<'a>)>, usize) {
    let (mut texts, mut variables) = (Vec::new(), 0);
    for text in facts.texts() {
        let plain = text.1.text.as_ref();
        let strays = |part: &str| memchr::memchr3(b'$', b'{', b'}', part.as_bytes()).is_some();
        let (mut from, mut is_stray, mut count) = (0, false, 0);
        for range in each_expression(plain) {
            is_stray |= strays(&plain[from..range.start]);
            from = range.end;
            count += 1;
        }
        if is_stray || strays(&plain[from..]) {
            texts.push(text);
        }
        if text.0.name() != DESCRIPTION {
            variables += count;
        }
    }
    (texts, variables)
}

/// Reports variables that lack one character, whether or not they are known: `$name}`, and a lone `{name}`. If others
/// are written in the same way, they may belong to another program. Returns the spans of the texts they are in.
fn half_open(
    facts: &Facts<'_>,
    said: &[&(Element<'_>, Decoded<'_>)],
    variables: usize,
    out: &mut Vec<Diagnostic>,
) -> HashSet<Span> {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let mut found = Vec::new();
    for (element, text) in said.iter().filter(|(element, _)| element.name() != DESCRIPTION) {
        let plain = text.text.as_ref();
        let inside: Vec<_> = each_expression(plain).collect();
        if element.elements().next().is_some() && element.parent().is_some() || plain.len() > 4_000
        {
            continue;
        }
        let outside = |at: usize| !inside.iter().any(|range| range.contains(&at));
        let begins = plain.len() - plain.trim_start().len();
        let braces = memchr::memchr_iter(b'{', plain.as_bytes()).filter(|at| outside(*at));
        let braces: Vec<usize> = braces.collect();
        let name_at = |at: usize| {
            let rest = &plain[at..];
            let end = rest.find(|c| !letter(c)).unwrap_or(rest.len());
            let closed = end > 1 && rest[end..].starts_with('}');
            closed
                .then(|| &rest[..end])
                .filter(|name| !name.starts_with(|c: char| c.is_ascii_digit()))
        };
        let of_dollar = memchr::memchr_iter(b'$', plain.as_bytes())
            .filter(|at| outside(*at) && braces.is_empty())
            .find_map(|at| Some((at, name_at(at + 1)?)));
        let hashed = usize::from(plain[begins..].starts_with("#{"));
        let of_brace = (braces == [begins + hashed])
            .then(|| name_at(begins + hashed + 1))
            .flatten()
            .filter(|name| {
                let behind = plain[begins + hashed + name.len() + 2..].trim();
                behind.is_empty() || behind.starts_with('/')
            })
            .map(|name| (begins, name));
        if let Some((at, name)) = of_dollar.or(of_brace) {
            let sign = if of_dollar.is_some() { 0 } else { hashed };
            let range = at..at + sign + name.len() + 2;
            found.push((of_dollar.is_some(), text.span(), text.source(range), name.to_owned()));
        }
    }
    // In a template, all of them are written this way.
    if found.len() > 1 || variables < ENOUGH_VARIABLES {
        return HashSet::default();
    }
    for (_, _, span, name) in &found {
        let message = format!("`{}` is text, not the variable `{name}`", facts.slice(*span));
        out.push(
            Diagnostic::new(&RULE.kind, *span, message)
                .about(name.as_str())
                .likely()
                .help(format!("write `${{{name}}}`"))
                .fix(Fix::guess(format!("Write `${{{name}}}`"), *span, format!("${{{name}}}"))),
        );
    }
    found.into_iter().map(|(_, text, ..)| text).collect()
}

/// The element whose text is only for human readers.
const DESCRIPTION: &str = "description";
/// Maximum length of a call that is examined, in characters.
const MOST_OF_A_CALL: usize = 500;
/// Number of correct variables from which an incomplete one counts as a slip.
const ENOUGH_VARIABLES: usize = 3;

/// Whether a text begins with a call of an Oozie function.
fn calls(text: &str) -> bool {
    ["wf:", "coord:", "hadoop:", "fs:", "hcat:"].iter().any(|prefix| {
        let name = text.strip_prefix(prefix).unwrap_or_default();
        let letters = name.bytes().take_while(u8::is_ascii_alphabetic).count();
        letters > 0 && name[letters..].starts_with('(')
    })
}

/// Returns the first range that looks like an expression and is not one, with the name in it; a stray brace has no
/// name.
fn forgotten(
    text: &str,
    of_cluster: bool,
    of_path: bool,
    named: &dyn Fn(&str, bool) -> bool,
) -> Option<(std::ops::Range<usize>, String)> {
    let expressions: Vec<_> = each_expression(text).collect();
    let inside = |at: usize| expressions.iter().any(|range| range.contains(&at));
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for at in memchr::memchr2_iter(b'$', b'{', text.as_bytes()).filter(|at| !inside(*at)) {
        let (sign, rest) = (&text[at..=at], &text[at + 1..]);
        let (skipped, open) = match sign {
            "{" => (0, true),
            _ if rest.trim_start().starts_with('{') => {
                (rest.len() - rest.trim_start().len() + 1, true)
            }
            _ if rest.starts_with('(') => (1, true),
            _ => (0, false),
        };
        // A call in shell-style parentheses.
        if sign == "$" && rest.starts_with('(') && calls(&rest[1..]) {
            let closed = rest.find("))").map_or(rest.len(), |end| end + 2);
            let call = rest[1..closed].strip_suffix(')').unwrap_or(&rest[1..closed]);
            return Some((at..at + 1 + closed, call.to_owned()));
        }
        // A function without the braces.
        let is_function = ["wf:", "coord:"].iter().any(|prefix| rest.starts_with(prefix));
        if let Some(length) = rest.find("()").filter(|_| is_function) {
            let letters = |c: char| c.is_ascii_alphanumeric() || c == ':';
            let closed = sign == "$" || rest[length + 2..].starts_with('}');
            if closed && rest[..length].chars().all(letters) {
                let end = at + 1 + length + 2 + usize::from(sign == "{");
                return Some((at..end, rest[..length + 2].to_owned()));
            }
        }
        let name: String = rest[skipped..].chars().take_while(|c| letter(*c)).collect();
        let behind = &rest[skipped + name.len()..];
        let closed = !open || behind.starts_with(['}', ')']);
        // Braces around a whole text are stronger evidence than around a part.
        // The value of `name=value` is a whole text too.
        let begins = at == 0 || text[..at].ends_with('=');
        let whole = open && begins && behind.len() == 1 && name.len() > 2;
        // In a path, parentheses after a dollar sign are meant as a variable.
        let in_path = of_path && rest.starts_with('(') && behind.starts_with(')');
        // A path that consists only of a name in braces, even after another character, is meant as a variable.
        let sign = text[..at].strip_suffix(['%', '#', '@']);
        let alone = of_path && sign == Some("") && open && behind == "}" && name.len() > 2;
        let is_named = named(&name, whole) || of_cluster && at == 0 || in_path || alone;
        if name.is_empty() || !closed || !is_named {
            continue;
        }
        let end = at + 1 + skipped + name.len() + usize::from(open);
        let start = if alone { at - 1 } else { at };
        return Some((start..end, name));
    }
    // An extra dollar sign before a variable. In a pattern or for a shell, it may be deliberate.
    let doubled = expressions.iter().find(|range| {
        let before = text[..range.start].strip_suffix('$');
        let name = text[range.start + 2..range.end].trim_end_matches('}').trim();
        before.is_some_and(|before| before.is_empty() || before.ends_with(['/', '=', ' ']))
            && named(name, true)
    });
    if let Some(range) = doubled {
        return Some((range.start - 1..range.start, String::new()));
    }
    // An unmatched closing brace after an expression.
    let stray = expressions.iter().find(|range| text[range.end..].starts_with('}'))?;
    let count = |sign: u8| memchr::memchr_iter(sign, text.as_bytes()).filter(|at| !inside(*at));
    if count(b'}').count() <= count(b'{').count() {
        return None;
    }
    Some((stray.end..stray.end + 1, String::new()))
}
