//! Misspelled options of Sqoop.

use super::malformed_property_value;
use crate::diag::{Diagnostic, Fault, Fix, Group, Kind, Level, Safety, within};
use crate::lint::facts::{Action, Said, masked};
use crate::lint::secrets::words;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::xml::Decoded;
use std::ops::Range;

mod needed;
mod tools;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-sqoop-option",
        group: Group::Actions,
        summary: "an option of a Sqoop command that is almost one that Sqoop has",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/misspelt-sqoop-option.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sqoop") {
        let all = words_of(facts, action);
        let told = out.len();
        let needed = needed::missing(&all);
        for word in all.iter().filter(|word| word.name == TABLES && is_of_one_table(&all)) {
            let message = format!("Sqoop has no option `{TABLES}` for one table, and refuses it");
            out.push(near(word.span, message, TABLE));
        }
        if let Some(first) = all.first() {
            if let Some(tool) = first.name.split(' ').next().filter(|tool| is_tool(tool))
                && tool.len() < first.name.len()
            {
                let message = format!("the tool `{tool}` and what follows are several arguments");
                out.push(
                    Diagnostic::new(&RULE.kind, first.span, message)
                        .likely()
                        .help("write each in its own `arg`"),
                );
            } else if let Some(tool) = misspelt_tool(&first.name) {
                out.push(near(first.span, format!("Sqoop has no tool `{}`", first.name), tool));
            } else if !first.is_open && begins_with_option(&first.name) {
                let message = format!("the name of a tool must come before `{}`", first.name);
                let found = Diagnostic::new(&RULE.kind, first.span, message).likely();
                out.push(
                    found.help("the first argument of Sqoop is a tool: `import`, `export`, `eval`"),
                );
            }
        }
        // Line breaks do not separate words, as another rule says; what belongs together is unclear then.
        let is_one_line = action
            .text("command")
            .is_none_or(|text| !text.text.trim().contains(['\n', '\r', '\t']));
        if is_one_line {
            out.extend(stray(&all));
            out.extend(values(&all));
            out.extend(all.last().filter(|_| all.len() > 2).and_then(|last| {
                let option = &all[all.len() - 2].name;
                semicolon(option, last)
            }));
        }
        let words = options(all);
        // An option at the end of the command, or before another option, lacks its value.
        for (at, word) in words.iter().enumerate() {
            let lacks = words
                .get(at + 1)
                .is_none_or(|next| next.name.starts_with("--") && tools::is_option(&next.name));
            // An equals sign is equivalent to a blank.
            let has_own = facts.tree.text()[word.span.end as usize..].starts_with('=');
            if tools::is_valued(&word.name) && lacks && !has_own {
                let message = format!("`{}` has no value", word.name);
                let found = Diagnostic::new(&RULE.kind, word.span, message).of(Fault::NoValue);
                out.push(found.likely());
            }
        }
        let words =
            words.into_iter().filter(|word| word.name.starts_with('-') && word.name.len() > 3);
        for Word { name, span, .. } in words {
            let option = name.split([' ', '\t']).next().filter(|option| option.len() < name.len());
            if let Some(option) = option.filter(|option| tools::is_option(option)) {
                let message = format!("`{option}` and its value are two arguments");
                out.push(
                    Diagnostic::new(&RULE.kind, span, message)
                        .likely()
                        .help("write each in its own `arg`"),
                );
                continue;
            }
            // One hyphen suffices, also for a long name; options of Hadoop begin this way too.
            let single = !name.starts_with("--");
            if tools::is_option(&name) || single && (name.len() < 6 || is_of_hadoop(&name)) {
                continue;
            }
            let long = if single { format!("-{name}") } else { name.clone() };
            // Only a difference of a letter or two counts: a connector may have options of its own.
            let most = if single { 1 } else { 2 };
            let alike = tools::options()
                .filter(|known| known.len().abs_diff(long.len()) <= 2)
                .filter_map(|known| Some((within(&long, known, most)?, known)))
                .min();
            let Some(known) = alike.map(|(_, known)| known).or_else(|| abridged(&long)) else {
                continue;
            };
            let message = format!("Sqoop has no option `{name}`, and refuses it");
            out.push(near(span, message, known));
        }
        // What is wrong in the command explains what it lacks.
        if out.len() == told {
            out.extend(needed);
        }
    }
}

/// Returns the only option that has a longer word in the middle or at the end of this one.
fn abridged(name: &str) -> Option<&'static str> {
    let mut longer = tools::options().filter(|known| {
        let same = name.bytes().zip(known.bytes()).take_while(|(one, other)| one == other).count();
        let rest = name.len() - same;
        let is_word = same >= name.len().min(8) || name[..same].ends_with('-');
        name.len() < known.len()
            && same > 5
            && rest > 2
            && is_word
            && known.as_bytes().ends_with(&name.as_bytes()[same..])
    });
    longer.next().filter(|_| longer.next().is_none())
}

/// Returns a finding about a word that almost is the one that is meant.
fn near(span: Span, message: String, meant: &'static str) -> Diagnostic {
    Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(meant).fix(Fix::guess(
        format!("Write `{meant}`"),
        span,
        meant,
    ))
}

/// Whether some tool has this option with a value.
pub(super) fn takes_value(name: &str) -> bool {
    tools::is_valued(name)
}

/// Whether the first word of a command is an option. One may name a file with all words, among them the tool.
fn begins_with_option(name: &str) -> bool {
    name != "--options-file" && (tools::is_option(name) || name.starts_with("-D") && name.len() > 2)
}

/// Whether a word is an option of Hadoop, which every tool accepts.
fn is_of_hadoop(name: &str) -> bool {
    ["-D", "-archives", "-conf", "-files", "-fs", "-jt", "-libjars"]
        .iter()
        .any(|one| name.starts_with(one))
}

/// Finds the first word at which Sqoop stops, because it belongs to no option, or the tool has no such option.
fn stray(words: &[Word]) -> Option<Diagnostic> {
    let tool = words.first().filter(|tool| is_tool(&tool.name))?;
    let words: Vec<&Word> = words[1..].iter().take_while(|word| !word.ends_options()).collect();
    // The first value may be that of an option that is not known here.
    let (mut at, mut may_be_value) = (0, false);
    while let Some(word) = words.get(at) {
        at += 1;
        let was_unknown = std::mem::replace(&mut may_be_value, false);
        if word.is_open || word.name.is_empty() || word.name.starts_with("--options-file") {
            // An expression may evaluate to an option, and a file may end with one.
            may_be_value = true;
            at += usize::from(!word.is_open && !word.name.is_empty());
        } else if tools::is_option(&word.name) {
            if tools::lacks(&tool.name, &word.name) {
                // Another finding explains it.
                if word.name == TABLES && tool.name != "export" {
                    return None;
                }
                let message = format!(
                    "the tool `{}` has no option `{}`, and refuses it",
                    tool.name, word.name
                );
                let found = Diagnostic::new(&RULE.kind, word.span, message).likely();
                let meant = (tool.name == "export" && word.name.ends_with("-target-dir"))
                    .then_some("--export-dir");
                return Some(match meant {
                    Some(meant) => found.did_you_mean(meant),
                    None => found,
                });
            }
            let next_is_option = || {
                words
                    .get(at)
                    .is_some_and(|next| next.name.starts_with("--") && tools::is_option(&next.name))
            };
            if tools::is_valued(&word.name) && !word.has_own && !next_is_option() {
                at += 1;
            }
        } else if word.name.starts_with('-') {
            let is_letter = word.name.len() == 2 && word.name.as_bytes()[1].is_ascii_alphabetic();
            if is_letter && word.name != "-D" && tools::lacks(&tool.name, &word.name) {
                let message = format!(
                    "the tool `{}` has no option `{}`, and refuses it",
                    tool.name, word.name
                );
                return Some(Diagnostic::new(&RULE.kind, word.span, message).likely());
            }
            may_be_value = true;
        } else if !was_unknown {
            // The value of a property may be confidential.
            let written = if word.is_property { "this value" } else { &format!("`{}`", word.name) };
            let message = format!("{written} belongs to no option, and Sqoop refuses it");
            return Some(Diagnostic::new(&RULE.kind, word.span, message).likely());
        }
    }
    None
}

/// Options whose value is a number, and those that have a few values.
const NUMBERS: [&str; 7] = [
    "--direct-split-size",
    "--fetch-size",
    "--inline-lob-limit",
    "--num-mappers",
    "--split-limit",
    "-m",
    "--m",
];
const CHOICES: [(&str, [&str; 2], &str); 2] = [
    ("--incremental", ["append", "lastmodified"], "neither `append` nor `lastmodified`"),
    ("--update-mode", ["updateonly", "allowinsert"], "neither `updateonly` nor `allowinsert`"),
];

/// Finds a `;` at the end of a command, as in a shell. A query may end with one.
fn semicolon(option: &str, last: &Word) -> Option<Diagnostic> {
    const NAMES: [&str; 10] = [
        "--create",
        "--delete",
        "--exec",
        "--export-dir",
        "--hive-table",
        "--show",
        "--table",
        "--target-dir",
        "--username",
        "--warehouse-dir",
    ];
    let ends = !last.is_argument && last.name.ends_with(';') && NAMES.contains(&option);
    let message = format!("the `;` is part of the value of `{option}`");
    ends.then(|| Diagnostic::new(&RULE.kind, last.span, message).likely())
}

/// Finds values that their options cannot have.
fn values(words: &[Word]) -> Vec<Diagnostic> {
    let is_known = words.first().is_some_and(|tool| is_tool(&tool.name));
    let own = words.iter().take_while(|word| !word.ends_options()).filter(|_| is_known);
    let mut found = Vec::new();
    let mut before: Option<&Word> = None;
    for word in own {
        let Some(option) = before.replace(word).filter(|option| !option.has_own) else { continue };
        let value = word.name.as_str();
        if word.is_open || value.is_empty() || value.starts_with("--") {
            continue;
        }
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        let why = if NUMBERS.contains(&option.name.as_str()) {
            Some("not a number").filter(|_| !is_number)
        } else {
            let choice = CHOICES.iter().find(|(name, _, _)| *name == option.name);
            choice.filter(|(_, all, _)| !all.contains(&value)).map(|(_, _, why)| *why)
        };
        let why = why.filter(|_| !value.starts_with('-'));
        found
            .extend(why.map(|why| malformed_property_value::finding(word.span, &option.name, why)));
    }
    found
}

/// An option of tools for many tables, and that of the tools for one.
const TABLES: &str = "--tables";
const TABLE: &str = "--table";

/// Whether a command runs a tool that takes the name of one table, and does not name it.
fn is_of_one_table(words: &[Word]) -> bool {
    words.first().is_some_and(|tool| ["export", "import"].contains(&tool.name.as_str()))
        && words.iter().all(|word| word.name != TABLE)
}

/// Whether Sqoop has a tool of this name, with options.
fn is_tool(name: &str) -> bool {
    tools::tools().any(|tool| tool == name)
}

/// Returns the tool that a misspelled name stands for.
fn misspelt_tool(name: &str) -> Option<&'static str> {
    // A difference of two letters is unambiguous; a site's own tool has a more different name.
    let is_name = name.len() > 2 && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    if !is_name || tools::tools().chain(tools::PLAIN).any(|tool| tool == name) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let near = tools::tools().filter_map(|tool| {
        let most = if tool.len() > 4 { 2 } else { 1 };
        Some((within(&lower, tool, most)?, tool))
    });
    near.min().map(|(_, tool)| tool)
}

/// Whether an expression, or a build, supplies a part of a text.
fn is_unknown(text: &str) -> bool {
    text.contains(['$', '@', '#', '%', '{', '<'])
}

/// A word that Sqoop gets.
struct Word {
    /// The word with its expressions masked, up to an equals sign.
    name: String,
    span: Span,
    /// Whether an expression, or a build, supplies a part of it.
    is_open: bool,
    /// The variable that it is, if it is one.
    variable: Option<String>,
    /// Whether it has a value after an equals sign.
    has_own: bool,
    /// Whether the word is the value of a property.
    is_property: bool,
    /// Whether it is the whole of an argument, with any blanks.
    is_argument: bool,
}

impl Word {
    /// Whether what follows is for another program, or is not split as its quotes suggest, which another rule reports.
    fn ends_options(&self) -> bool {
        self.name == "--" || !self.is_argument && self.name.contains(['"', '\'', '\\'])
    }
}

/// Returns the words that Sqoop itself parses, for a tool whose options are known: those before a `--`. The words after
/// it are for another program; in `job`, the words after the first `--` are for the tool that the job runs.
fn options(words: Vec<Word>) -> Vec<Word> {
    let is_known = words.first().is_some_and(|tool| is_tool(&tool.name));
    let mut ends = 1 + usize::from(words.first().is_some_and(|tool| tool.name == "job"));
    let own = words.into_iter().take_while(|word| {
        ends -= usize::from(word.name == "--");
        is_known && ends > 0
    });
    own.filter(|word| word.name != "--").collect()
}

/// Returns the words of a Sqoop action with their spans, the tool first.
fn words_of(facts: &Facts<'_>, action: &Action<'_>) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let add = |found: &mut Vec<Word>, text: &Decoded<'_>, plain: &str, range: Range<usize>| {
        let whole = &plain[range.clone()];
        let name = match whole.starts_with('-') {
            true => whole.split('=').next().unwrap_or_default(),
            false => whole,
        };
        let raw = &text.text[range.start..range.start + name.len()];
        found.push(Word {
            name: name.to_owned(),
            span: text.source(range.start..range.start + name.len()),
            // A dash from a word processor has a finding of its own.
            is_open: is_unknown(raw) || !raw.is_ascii(),
            variable: raw
                .strip_prefix("${")
                .and_then(|name| name.strip_suffix('}'))
                .map(str::to_owned),
            has_own: whole.len() > name.len(),
            is_property: false,
            is_argument: action.text("command").is_none(),
        });
    };
    // An expression may evaluate to any word.
    match action.text("command") {
        Some(text) => {
            let plain = masked(&text.text);
            let mut ranges = words(&plain);
            // The server drops the name of the program before a tool.
            let is_tool = |range: &Range<usize>| !plain[range.clone()].starts_with('-');
            if ranges
                .first()
                .is_some_and(|first| plain[first.clone()].eq_ignore_ascii_case("sqoop"))
                && ranges.get(1).is_some_and(is_tool)
            {
                ranges.remove(0);
            }
            ranges.into_iter().for_each(|range| add(&mut found, &text, &plain, range));
        }
        // Each `arg` is one word, regardless of blanks in it.
        None => {
            for text in action.texts(&["arg"]) {
                let value = Said::at(facts, &text).map(|said| said.value.to_owned());
                let value = value.filter(|value| !value.starts_with('-') && !value.is_empty());
                if let Some(value) = value.filter(|value| !is_unknown(value)) {
                    let span = text.span();
                    let word = Word {
                        name: value,
                        span,
                        is_open: false,
                        variable: None,
                        has_own: false,
                        is_property: true,
                        is_argument: true,
                    };
                    found.push(word);
                    continue;
                }
                let plain = masked(&text.text);
                add(&mut found, &text, &plain, 0..plain.len());
            }
        }
    }
    found
}
