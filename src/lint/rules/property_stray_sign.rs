//! Stray characters in values of properties.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::PATH_KEYS;
use crate::lint::reads::{expressions, first_expression};
use crate::lint::{Facts, Rule};
use crate::source::{Source, Span};
use crate::syntax::properties::Entry;
use std::collections::HashSet;
use std::ops::Range;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "property-stray-sign",
        group: Group::Parameters,
        summary: "a stray character in a value of a properties file",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/property-stray-sign.md"),
    },
    check,
};

/// The mark that some editors put at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // These files may be the ones that start the definition, if it has no known caller.
    for (source, entries) in facts.near_files() {
        out.extend(entries.iter().filter_map(|entry| path_behind_another(source, entry)));
    }
    for (source, entries) in facts.property_files() {
        if let Some(first) = entries.first()
            && source.text.starts_with(BYTE_ORDER_MARK)
            && first.span.start as usize == BYTE_ORDER_MARK.len_utf8()
        {
            let name = &first.name;
            let message = format!("the file begins with a byte-order mark, so `{name}` is not set");
            let found = Diagnostic::new(&RULE.kind, first.name_span, message).about(name.as_str());
            let help = "Java reads the mark as part of the name: save the file as UTF-8 without it";
            out.push(found.likely().help(help).in_file(source.path.clone()));
        }
        let known: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        for entry in entries {
            let raw = source.slice(entry.value_span);
            if let Some((at, name)) = goes_on(raw) {
                let at = entry.value_span.start as usize + at;
                let message =
                    format!("this `\\` makes the next line, with `{name}`, part of the value");
                let found = Diagnostic::new(&RULE.kind, Span::new(at, at + 1), message);
                out.push(found.about(name).likely().in_file(source.path.clone()));
                continue;
            }
            let found = [second(raw), behind(raw), brace(raw), blank(raw), unread(raw, &known)];
            let Some((range, message)) = found.into_iter().flatten().next() else { continue };
            let start = entry.value_span.start as usize;
            let span = Span::new(start + range.start, start + range.end);
            out.push(
                Diagnostic::new(&RULE.kind, span, message).likely().in_file(source.path.clone()),
            );
        }
    }
}

/// Reports an application path after the value of another property: on a line of its own, it would be set.
fn path_behind_another(source: &Source, entry: &Entry) -> Option<Diagnostic> {
    let raw = source.slice(entry.value_span);
    let (at, key) = PATH_KEYS.iter().find_map(|key| Some((raw.find(key)?, *key)))?;
    let is_set = raw[at + key.len()..].trim_start_matches([' ', '\t']).starts_with('=');
    if !is_set || !raw[..at].ends_with([' ', '\t']) {
        return None;
    }
    let start = entry.value_span.start as usize + at;
    let message = format!("`{key}` is part of the value of `{}`, so nothing sets it", entry.name);
    Some(
        Diagnostic::new(&RULE.kind, Span::new(start, start + key.len()), message)
            .about(key)
            .likely()
            .help("start a new line before it")
            .in_file(source.path.clone()),
    )
}

/// Returns the offset of a backslash at the end of a line that is followed by another property, and the name of that.
fn goes_on(raw: &str) -> Option<(usize, &str)> {
    let mut from = 0;
    while let Some(at) = raw[from..].find("\\\n").map(|at| from + at) {
        let next = raw[at + 2..].lines().next().unwrap_or_default();
        let name = next.split('=').next().unwrap_or_default();
        let is_name = name.trim_end().len() > 2
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.trim_end().bytes().all(|b| b.is_ascii_alphanumeric() || b"._".contains(&b));
        // Lists, options and the like may well have such lines.
        let line = raw[..at].rsplit('\n').next().unwrap_or_default().trim();
        let ends = !line.contains([' ', ',', ';', '&', '=', '"']) && !line.is_empty();
        if is_name && ends && next.len() > name.len() {
            return Some((at, name.trim_end()));
        }
        from = at + 2;
    }
    None
}

type Found = Option<(Range<usize>, String)>;

/// Finds a second separator between a name and its value: `name==value`, `name:=value`.
fn second(raw: &str) -> Found {
    let value = raw.strip_prefix('=')?.trim_start();
    let message = "this `=` is part of the value: only the first separates it from the name";
    let telling = value.starts_with(|c: char| c.is_ascii_alphanumeric() || "/$".contains(c));
    telling.then(|| (0..1, message.to_owned()))
}

/// Finds a semicolon after a path, an address, a number or a word; statements and database URLs may end with one.
fn behind(raw: &str) -> Found {
    let raw = raw.trim_end();
    if let Some(value) = raw.strip_suffix(',') {
        let is_path = value.starts_with("${") || value.starts_with("hdfs://");
        let plain = value.contains('/') && !value.contains([' ', ';', '=', ',', '"', '\'']);
        let message = "this `,` is part of the value: lines end without a separator";
        return (is_path && plain).then(|| (value.len()..raw.len(), message.to_owned()));
    }
    let value = raw.strip_suffix(';')?;
    let plain = !value.is_empty()
        && !value.contains([' ', ';', '=', ',', '&', '(', '"', '\''])
        && !value.starts_with("jdbc:");
    let telling = value.contains(['/', ':', '$'])
        || value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let message = "this `;` is part of the value: lines end without a separator";
    (plain && telling).then(|| (value.len()..raw.len(), message.to_owned()))
}

/// Finds an unmatched closing brace after a reference.
fn brace(raw: &str) -> Found {
    let range = expressions(raw).into_iter().find(|range| raw[range.end..].starts_with('}'))?;
    let message = "this brace is not part of an expression, and stays in the text";
    let count = |sign: char| raw.matches(sign).count();
    (count('}') > count('{')).then(|| (range.end..range.end + 1, message.to_owned()))
}

/// Finds a blank between a reference and the path after it.
fn blank(raw: &str) -> Found {
    let first = first_expression(raw).filter(|range| range.start == 0)?;
    let rest = &raw[first.end..];
    let path = rest.trim_start_matches([' ', '\t']);
    let blanks = rest.len() - path.len();
    let plain = blanks > 0 && path.len() > 1 && path.starts_with('/') && !path.contains([' ', ',']);
    let message = "this space is part of the path";
    plain.then(|| (first.end..first.end + blanks, message.to_owned()))
}

/// Finds the name of another property after a `$`, or in braces or parentheses, which is not a reference.
fn unread(raw: &str, known: &HashSet<&str>) -> Found {
    let inside = expressions(raw);
    let signs = raw.char_indices().filter(|(_, sign)| matches!(sign, '$' | '{'));
    // The ranges are in order.
    let is_inside = |at: usize| {
        let next = inside.partition_point(|range| range.end <= at);
        inside.get(next).is_some_and(|range| range.contains(&at))
    };
    for (at, sign) in signs.filter(|(at, _)| !is_inside(*at)) {
        let rest = &raw[at + 1..];
        let (open, close) = match sign {
            '{' => ("", "}"),
            _ if rest.starts_with('(') => ("(", ")"),
            _ => ("", ""),
        };
        let rest = &rest[open.len()..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        let end = end.unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches('.');
        let closed = rest[name.len()..].starts_with(close);
        // In a text with other braces, these are ordinary characters.
        let is_part = raw[..at].is_empty() || raw[..at].ends_with(['/', '}']);
        let is_known = known.contains(name) || name == "user.name";
        if closed && name.len() > 3 && is_known && (sign == '$' || is_part) {
            let range = at..at + 1 + open.len() + name.len() + close.len();
            let message = format!("`{}` is text, not a reference to `{name}`", &raw[range.clone()]);
            return Some((range, message));
        }
    }
    None
}
