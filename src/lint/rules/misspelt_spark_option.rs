//! Misspelled options of Spark.

use super::malformed_property_value;
use crate::diag::{Diagnostic, Fault, Fix, Group, Kind, Level, Safety, nearest, within};
use crate::files::name_of;
use crate::lint::facts::{Action, masked};
use crate::lint::reads::{each_expression, of_text};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::xml::Decoded;
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-spark-option",
        group: Group::Actions,
        summary: "an option in `spark-opts` that is almost one of `spark-submit`",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/misspelt-spark-option.md"),
    },
    check,
};

/// Options that take a value.
const VALUED: [&str; 26] = [
    "--archives",
    "--class",
    "--conf",
    "--deploy-mode",
    "--driver-class-path",
    "--driver-cores",
    "--driver-java-options",
    "--driver-library-path",
    "--driver-memory",
    "--exclude-packages",
    "--executor-cores",
    "--executor-memory",
    "--files",
    "--jars",
    "--keytab",
    "--kill",
    "--master",
    "--name",
    "--num-executors",
    "--packages",
    "--principal",
    "--properties-file",
    "--proxy-user",
    "--py-files",
    "--queue",
    "--repositories",
];
/// Options without a value, and one whose value is a number.
const OTHERS: [&str; 8] = [
    "--help",
    "--remote",
    "--status",
    "--supervise",
    "--total-executor-cores",
    "--usage-error",
    "--verbose",
    "--version",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut names = BTreeMap::new();
    for action in &facts.actions {
        match action.kind() {
            "spark" | "spark2" | "spark3" => {
                let Some(text) = action.text("spark-opts") else { continue };
                // An expression may evaluate to any word.
                let plain = masked(&text.text);
                let words = words_of(&plain, &Place::Text(&text));
                behind(options(&words, true, out), &plain, out);
                read_whole(&text, &mut names);
            }
            "shell" if submits(action) => {
                let texts: Vec<Decoded<'_>> = action.texts(&["argument"]).collect();
                let words: Vec<Word<'_>> = texts
                    .iter()
                    .map(|text| Word {
                        plain: masked(&text.text),
                        place: Place::Text(text),
                        start: 0,
                    })
                    .collect();
                options(&words, false, out);
            }
            _ => {}
        }
    }
    in_properties(facts, &names, out);
}

/// Reports the word that `spark-submit` treats as the application.
fn behind(word: Option<&Word<'_>>, plain: &str, out: &mut Vec<Diagnostic>) {
    // Single quotes do not group words here; another rule reports them.
    let Some(word) = word.filter(|_| !plain.contains('\'')) else { return };
    // The value of a property may be confidential.
    let written = match word.place {
        Place::Text(_) => &format!("`{}`", word.plain),
        Place::Value(..) => "this word",
    };
    let message =
        format!("{written} belongs to no option: `spark-submit` treats it as the application");
    out.push(Diagnostic::new(&RULE.kind, word.span(word.plain.len()), message).likely());
}

/// Adds the names of the properties that `spark-opts` reads as whole words, each with whether it is the last word.
fn read_whole(text: &Decoded<'_>, names: &mut BTreeMap<String, bool>) {
    let mut reads = Vec::new();
    of_text(text, &mut reads);
    let all = text.text.as_ref();
    let is_end = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    for range in each_expression(all) {
        let is_word =
            is_end(all.as_bytes()[..range.start].last()) && is_end(all.as_bytes().get(range.end));
        let span = text.source(range.clone());
        let read = reads.iter().find(|read| read.expression == span).filter(|_| is_word);
        if let Some(read) = read {
            let is_last = all[range.end..].trim_end().is_empty();
            *names.entry(read.name.clone()).or_insert(true) &= is_last;
        }
    }
}

/// Checks the options in the values of these properties.
fn in_properties(facts: &Facts<'_>, names: &BTreeMap<String, bool>, out: &mut Vec<Diagnostic>) {
    if names.is_empty() {
        return;
    }
    for (source, entries) in facts.value_files() {
        for entry in entries {
            let Some(is_last) = names.get(&entry.name) else { continue };
            let raw = source.slice(entry.value_span);
            // The value of one option needs no check, and characters may stand for others.
            if !raw.trim_start().starts_with('-') || raw.contains(['\\', '&']) {
                continue;
            }
            let plain = masked(raw);
            let words = words_of(&plain, &Place::Value(raw, entry.value_span.start as usize));
            let mut found = Vec::new();
            behind(options(&words, *is_last, &mut found), &plain, &mut found);
            out.extend(found.into_iter().map(|found| found.in_file(source.path.clone())));
        }
    }
}

/// Whether a shell action starts `spark-submit`, or a versioned variant of it.
pub(super) fn submits(action: &Action<'_>) -> bool {
    action.text("exec").is_some_and(|exec| {
        let name = name_of(&exec.text);
        let rest = name.strip_prefix("spark").and_then(|rest| rest.strip_suffix("-submit"));
        rest.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Returns the application in the arguments of `spark-submit`: the first argument that belongs to no option.
pub(super) fn application<'t>(texts: &'t [Decoded<'t>]) -> Option<&'t Decoded<'t>> {
    let mut of_option = false;
    texts.iter().find(|text| {
        let is_value = std::mem::replace(&mut of_option, VALUED.contains(&text.text.trim()));
        !is_value && !text.text.trim_start().starts_with('-')
    })
}

/// Where a command line is: in the definition, or in the value of a property, with its offset in that file.
#[derive(Clone, Copy)]
enum Place<'t> {
    Text(&'t Decoded<'t>),
    Value(&'t str, usize),
}

impl<'t> Place<'t> {
    fn text(&self) -> &'t str {
        match self {
            Place::Text(text) => &text.text,
            Place::Value(text, _) => text,
        }
    }

    fn span(&self, range: std::ops::Range<usize>) -> Span {
        match self {
            Place::Text(text) => text.source(range),
            Place::Value(_, start) => Span::new(start + range.start, start + range.end),
        }
    }
}

/// A word of a command line, and its offset in the text.
struct Word<'t> {
    /// The word with its expressions masked.
    plain: String,
    place: Place<'t>,
    start: usize,
}

impl<'t> Word<'t> {
    /// Returns the span of its first `length` bytes.
    fn span(&self, length: usize) -> Span {
        self.place.span(self.start..self.start + length)
    }

    /// Returns the word as written.
    fn raw(&self) -> &'t str {
        &self.place.text()[self.start..self.start + self.plain.len()]
    }
}

/// Returns the words of a command line whose expressions are masked.
fn words_of<'t>(plain: &str, place: &Place<'t>) -> Vec<Word<'t>> {
    words(plain)
        .into_iter()
        .map(|range| Word {
            plain: plain[range.clone()].to_owned(),
            place: *place,
            start: range.start,
        })
        .collect()
}

/// Checks the options up to the application. Returns the first word that belongs to no option and follows one that has
/// its value already.
///
/// `ends_here`: no further option comes after these words.
fn options<'w>(
    words: &'w [Word<'w>],
    ends_here: bool,
    out: &mut Vec<Diagnostic>,
) -> Option<&'w Word<'w>> {
    let (mut of_option, mut has_value) = (false, false);
    let mut before = "";
    for (at, written) in words.iter().enumerate() {
        let word = written.plain.as_str();
        let option = std::mem::replace(&mut before, word);
        if let Some((length, fault, message)) = of_conf(option, word) {
            let mut found = Diagnostic::new(&RULE.kind, written.span(length), message).likely();
            found.fault = fault;
            out.push(found);
            (of_option, has_value) = (false, false);
            continue;
        }
        if ["--conf", "-c"].contains(&option)
            && let Some((name, value)) = written.raw().split_once('=')
            && let Some(why) = malformed_property_value::problem(name, unquoted(value))
        {
            let range = written.start + name.len() + 1..written.start + word.len();
            let span = written.place.span(range);
            out.push(malformed_property_value::finding(span, name, why));
        }
        // A unit after a blank has a finding of its own.
        let is_unit = |next: &Word<'_>| matches!(next.raw(), "k" | "m" | "g" | "K" | "M" | "G");
        let is_torn = words.get(at + 1).is_some_and(is_unit);
        if let Some((start, option, why)) = of_size(option, written.raw()).filter(|_| !is_torn) {
            let range = written.start + start..written.start + word.len();
            out.push(malformed_property_value::finding(written.place.span(range), option, why));
        }
        let name = word.split('=').next().unwrap_or_default();
        let is_option = VALUED.contains(&word) || OTHERS.contains(&word);
        let is_value = std::mem::replace(&mut of_option, VALUED.contains(&word));
        let is_last = at + 1 == words.len() && of_option && !is_value;
        if is_value && is_option || is_last && ends_here {
            // The option takes the next one as its value.
            let of = if is_last { Some(written) } else { words.get(at.wrapping_sub(1)) };
            if let Some(of) = of {
                let message = format!("`{}` has no value", of.plain);
                out.push(Diagnostic::new(&RULE.kind, of.span(of.plain.len()), message).likely());
            }
            has_value = false;
            continue;
        }
        let had_value = std::mem::replace(&mut has_value, is_value);
        // A single hyphen belongs to options of another program, unless a second one makes it a known option.
        let single = VALUED.iter().find(|known| !is_value && known[1..] == *name).copied();
        let known = VALUED.contains(&name) || OTHERS.contains(&name);
        if single.is_none() {
            if is_value || known {
                continue;
            }
            if !name.starts_with('-') {
                // An expression may evaluate to options; among arguments, it may be the application.
                if ends_here && written.raw().starts_with("${") {
                    has_value = false;
                    continue;
                }
                let is_plain = !written.raw().contains(['$', '{', '@', '#', '%']);
                return Some(written).filter(|_| had_value && is_plain);
            }
            // A name with other separators is a known option, or one of another program.
            let dashed = name.replace('_', "-");
            let of_others = dashed != name && !VALUED.contains(&dashed.as_str());
            if !name.starts_with("--") || of_others {
                continue;
            }
        }
        let near = single.or_else(|| nearest(name, VALUED.iter().chain(&OTHERS).copied()));
        let Some(near) = near else {
            // All words are options of Spark here; other programs have theirs behind the application.
            let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            if ends_here && is_name && name.len() > 4 {
                let message = format!("`spark-submit` has no option `{name}`, and refuses it");
                let found = Diagnostic::new(&RULE.kind, written.span(name.len()), message);
                out.push(found.likely());
                return None;
            }
            continue;
        };
        of_option = !word.contains('=') && VALUED.contains(&near);
        let span = written.span(name.len());
        let message = format!("`spark-submit` has no option `{name}`, and refuses it");
        out.push(
            Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(near).fix(Fix::guess(
                format!("Write `{near}`"),
                span,
                near,
            )),
        );
    }
    None
}

/// Options whose value is a memory size; `COUNTS` has those whose value is a number.
const SIZES: [&str; 2] = ["--driver-memory", "--executor-memory"];
const COUNTS: [&str; 4] =
    ["--driver-cores", "--executor-cores", "--num-executors", "--total-executor-cores"];

/// Returns a value as Spark gets it: a server removes the quotes around a whole value.
fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains('"')).unwrap_or(value)
}

/// Returns the offset in a word of a value that its option cannot have, the value, and why. The option is the word
/// before, or the part before `=`.
fn of_size<'w>(before: &'w str, word: &'w str) -> Option<(usize, &'w str, &'static str)> {
    let (option, value) = match word.split_once('=') {
        Some((option, value)) if option.starts_with('-') => (option, value),
        _ => (before, word),
    };
    // A value that a build fills in is unknown, and a missing value is reported for another reason.
    if value.is_empty() || value.contains(['$', '@', '#', '%', '{', '<']) || value.starts_with('-')
    {
        return None;
    }
    let start = word.len() - value.len();
    let value = unquoted(value);
    if SIZES.contains(&option)
        && let Some(why) = malformed_property_value::of_memory(value)
    {
        return Some((start, option, why));
    }
    if let Some(why) = malformed_property_value::of_option(option, value) {
        return Some((start, option, why));
    }
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    (COUNTS.contains(&option) && !is_number).then_some((start, option, "not a number"))
}

/// Returns what is wrong with a Spark setting among the options: the length of the faulty part, and why.
fn of_conf(option: &str, word: &str) -> Option<(usize, Option<Fault>, String)> {
    let name = word.split('=').next().unwrap_or_default();
    let is_name = |text: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        text.starts_with("spark.") && text.len() > 6 && text.bytes().all(plain)
    };
    let is_setting = is_name(name);
    let set = ["--conf", "-c"].contains(&option);
    let family = name.split('.').next().unwrap_or_default();
    if set && name.contains('.') && family != "spark" && within(family, "spark", 2).is_some() {
        let message = format!("Spark ignores `{name}`: its settings begin with `spark.`");
        return Some((name.len(), Some(Fault::NotOfSpark), message));
    }
    if set
        && !word.contains('=')
        && let Some((name, _)) = word.split_once(':')
        && is_name(name)
    {
        let message =
            format!("`spark-submit` refuses a setting without `=`: write it as `{name}=value`");
        return Some((name.len() + 1, None, message));
    }
    if is_setting && set && !word.contains('=') {
        let message = format!("`{name}` has no value: write it as `{name}=value`");
        return Some((name.len(), None, message));
    }
    // Values of other options, and arguments after the jar, are not settings.
    let of_option = option.starts_with(|c: char| !c.is_ascii_alphanumeric());
    let lone = is_setting && word.contains('=') && !of_option;
    lone.then(|| (name.len(), None, format!("`--conf` is missing in front of `{name}`")))
}

/// Splits a line of options into words; blanks between quotes do not separate words. Quotes around a whole word are not
/// part of it: the server removes them.
fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let (mut words, mut start, mut quoted) = (Vec::new(), None, false);
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_whitespace() && !quoted {
            words.extend(start.take().map(|start| start..at));
            continue;
        }
        quoted ^= byte == b'"';
        start.get_or_insert(at);
    }
    words.extend(start.map(|start| start..text.len()));
    let bare = |word: std::ops::Range<usize>| {
        let inner = text[word.clone()].strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match inner {
            Some(inner) if !inner.is_empty() && !inner.contains('"') => {
                word.start + 1..word.end - 1
            }
            _ => word,
        }
    };
    words.into_iter().map(bare).collect()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[track_caller]
    fn check(options: &str, expected: &[&str]) {
        let found: Vec<&str> = words(options).into_iter().map(|word| &options[word]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn quotes_around_a_whole_word_are_not_part_of_it() {
        check(
            r#"--conf "spark.a=-Dx -Dy" --name "n""#,
            &["--conf", "spark.a=-Dx -Dy", "--name", "n"],
        );
        check(r#"--conf spark.a="-Dx -Dy""#, &["--conf", r#"spark.a="-Dx -Dy""#]);
        check(r#"--conf "a" "b"c"#, &["--conf", "a", r#""b"c"#]);
        check(r#"--conf "spark.a=1"#, &["--conf", r#""spark.a=1"#]);
        check(r#"--name "" '"#, &["--name", r#""""#, "'"]);
    }
}
