//! Misspelled options of Spark.

use super::malformed_property_value;
use crate::diag::{Diagnostic, Fault, Fix, Group, Kind, Level, Safety, nearest, within};
use crate::files::name_of;
use crate::lint::facts::{Action, masked};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::xml::Decoded;

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
const OTHERS: [&str; 7] = [
    "--help",
    "--status",
    "--supervise",
    "--total-executor-cores",
    "--usage-error",
    "--verbose",
    "--version",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        match action.kind() {
            "spark" | "spark2" | "spark3" => {
                let Some(text) = action.text("spark-opts") else { continue };
                // An expression may evaluate to any word.
                let plain = masked(&text.text);
                let words: Vec<Word<'_>> = words(&plain)
                    .into_iter()
                    .map(|range| Word {
                        plain: plain[range.clone()].to_owned(),
                        text: &text,
                        start: range.start,
                    })
                    .collect();
                let behind = options(&words, true, out);
                // Single quotes do not group words here; another rule reports them.
                if let Some(word) = behind.filter(|_| !plain.contains('\'')) {
                    let message = format!(
                        "`{}` belongs to no option: `spark-submit` treats it as the application",
                        word.plain
                    );
                    out.push(
                        Diagnostic::new(&RULE.kind, word.span(word.plain.len()), message).likely(),
                    );
                }
            }
            "shell" if submits(action) => {
                let texts: Vec<Decoded<'_>> = action.texts(&["argument"]).collect();
                let words: Vec<Word<'_>> = texts
                    .iter()
                    .map(|text| Word { plain: masked(&text.text), text, start: 0 })
                    .collect();
                options(&words, false, out);
            }
            _ => {}
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

/// A word of a command line, and its offset in the text.
struct Word<'t> {
    /// The word with its expressions masked.
    plain: String,
    text: &'t Decoded<'t>,
    start: usize,
}

impl Word<'_> {
    /// Returns the span of its first `length` bytes.
    fn span(&self, length: usize) -> Span {
        self.text.source(self.start..self.start + length)
    }

    /// Returns the word as written.
    fn raw(&self) -> &str {
        &self.text.text[self.start..self.start + self.plain.len()]
    }
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
            let span = written.text.source(range);
            out.push(malformed_property_value::finding(span, name, why));
        }
        if let Some((start, option, why)) = of_size(option, written.raw()) {
            let range = written.start + start..written.start + word.len();
            out.push(malformed_property_value::finding(written.text.source(range), option, why));
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
        let Some(near) = near else { continue };
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
    if SIZES.contains(&option) && !malformed_property_value::is_size(value) {
        return Some((start, option, malformed_property_value::NO_SIZE));
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
    lone.then(|| (name.len(), None, format!("`{name}` has no `--conf` in front of it")))
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
