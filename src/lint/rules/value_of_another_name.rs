//! Names that get a value which belongs to another name.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_given;
use crate::lint::{Facts, Language, Rule};
use crate::syntax::xml::Decoded;
use foldhash::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "value-of-another-name",
        group: Group::Parameters,
        summary: "a name is given the value of another one, which has it too",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/value-of-another-name.md"),
    },
    check,
};

/// The parts of a time, with the letter of date patterns for each.
const PARTS: [(&str, char); 5] =
    [("year", 'y'), ("month", 'M'), ("day", 'd'), ("hour", 'H'), ("minute", 'm')];
/// The variables of a dataset's template.
const TIMES: [&str; 5] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"];
/// The number of properties of a configuration that must be passed on under their own names.
const ENOUGH: usize = 2;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let read: HashSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    for (_, text) in facts.texts() {
        parts_of_times(facts, &read, text, out);
    }
    if matches!(facts.language, Language::Coordinator | Language::Bundle) {
        formats(facts, out);
        passed_on(facts, &read, out);
    }
}

/// Reports a part of a time that is set to the variable of another part, if its own variable is there:
/// `month=${runDay}`, where `runMonth` is known.
fn parts_of_times(
    facts: &Facts<'_>,
    read: &HashSet<&str>,
    text: &Decoded<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let whole = &*text.text;
    for (dollar, _) in whole.match_indices('$') {
        let Some(before) = whole[..dollar].strip_suffix('=') else { continue };
        let at = before.len();
        if !whole[dollar..].starts_with("${") {
            continue;
        }
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &whole[whole[..at].trim_end_matches(is_letter).len()..at];
        let rest = &whole[at + 3..];
        let end = rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len());
        let variable = &rest[..end];
        // In a longer value, and in the template of a dataset, parts are combined.
        let Some(after) = rest[end..].strip_prefix('}') else { continue };
        let is_whole = after.is_empty() || after.starts_with(['/', ' ', '\'', '"', ',', '&', '\n']);
        if !is_whole || TIMES.contains(&variable) {
            continue;
        }
        let Some((wanted, _)) = part_of(name) else { continue };
        let Some((given, place)) = part_of(variable) else { continue };
        let meant = with_part(variable, place, PARTS[given].0, PARTS[wanted].0);
        let is_known = || read.contains(meant.as_str()) || is_given(facts, &meant);
        if wanted == given || !is_known() {
            continue;
        }
        let span = text.source(at + 3..at + 3 + end);
        let message = format!("`{name}` is given `{variable}`, not `{meant}`");
        out.push(Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(meant));
    }
}

/// Reports a property named for a part of a time whose value has the format of another part, if the property of that
/// part has it too.
fn formats(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for block in facts.configurations() {
        let all = facts.block(*block).iter().filter_map(|property| {
            let value = property.value.as_ref()?;
            let (before, pattern) = format_of(&value.text)?;
            let (part, _) = part_of(&property.name.text)?;
            Some((property, value, part, before, pattern))
        });
        let all: Vec<_> = all.collect();
        for (property, value, part, before, pattern) in &all {
            let of = |other: usize| pattern.chars().all(|c| c == PARTS[other].1);
            let Some(other) = (0..PARTS.len()).find(|other| of(*other)) else { continue };
            let is_there =
                all.iter().any(|(_, _, part, _, same)| *part == other && same == pattern);
            if other == *part || !is_there {
                continue;
            }
            let span = value.source(before.len()..before.len() + pattern.len());
            let (own, other) = (PARTS[*part].0, PARTS[other].0);
            let message = format!(
                "`{}` is given the {other}, not the {own}: `{pattern}`",
                property.name.text
            );
            out.push(Diagnostic::new(&RULE.kind, span, message).likely());
        }
    }
}

/// Reports a property that is passed on with the value of another one, if it has a value itself that nothing else
/// reads, and the other one is passed on too.
fn passed_on(facts: &Facts<'_>, read: &HashSet<&str>, out: &mut Vec<Diagnostic>) {
    for block in facts.configurations() {
        let all = facts.block(*block).iter().filter_map(|property| {
            let value = property.value.as_ref()?;
            let variable = value.text.trim().strip_prefix("${")?.strip_suffix('}')?;
            let is_name = variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            is_name.then_some((&*property.name.text, value, variable))
        });
        let all: Vec<_> = all.collect();
        let own: HashSet<&str> =
            all.iter().filter(|(name, _, value)| name == value).map(|(name, ..)| *name).collect();
        for (name, value, variable) in &all {
            let is_own = name == variable || read.contains(name);
            let is_set = || facts.submission.get(name).is_some();
            if is_own || own.len() < ENOUGH || !own.contains(variable) || !is_set() {
                continue;
            }
            let message = format!("`{name}` is given the value of `{variable}`, not its own");
            let found = Diagnostic::new(&RULE.kind, value.span(), message).likely();
            out.push(found.did_you_mean(format!("${{{name}}}")));
        }
    }
}

/// The only part of a time that a name names, as an index, and where. `holiday` and `yearly` name none.
fn part_of(name: &str) -> Option<(usize, usize)> {
    let lower = name.to_ascii_lowercase();
    let is_lower = |c: &char| c.is_ascii_lowercase();
    let is_word = |at: usize, part: &str| {
        let before = name[..at].chars().rev().take_while(is_lower).count();
        let begins = name[at..].starts_with(|c: char| c.is_ascii_uppercase()) || before < 3;
        begins && !name[at + part.len()..].starts_with(|c: char| c.is_ascii_lowercase())
    };
    let mut all = Vec::new();
    for (index, (part, _)) in PARTS.iter().enumerate() {
        let places = lower.match_indices(part).filter(|(at, _)| is_word(*at, part));
        all.extend(places.map(|(at, _)| (index, at)));
    }
    match all[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// A name with one part of a time in place of another, in the same case.
fn with_part(name: &str, at: usize, from: &str, to: &str) -> String {
    let written = &name[at..at + from.len()];
    let is_upper = |c: char| c.is_ascii_uppercase();
    let to = match written.starts_with(is_upper) {
        true if written.chars().all(is_upper) => to.to_ascii_uppercase(),
        true => to[..1].to_ascii_uppercase() + &to[1..],
        false => to.to_owned(),
    };
    format!("{}{to}{}", &name[..at], &name[at + from.len()..])
}

/// The pattern with which an expression formats a time, and the text before it, if the expression is all of a value.
fn format_of(value: &str) -> Option<(&str, &str)> {
    let inner = value.trim_end().strip_suffix('}')?.trim_end().strip_suffix(')')?.trim_end();
    let inner = inner.strip_suffix(['\'', '"'])?;
    let at = inner.rfind(['\'', '"'])? + 1;
    let is_call =
        inner.trim_start().strip_prefix("${")?.trim_start().starts_with("coord:formatTime");
    let is_one = inner.matches("formatTime").count() == 1 && at < inner.len();
    (is_call && is_one).then(|| (&inner[..at], &inner[at..]))
}
