//! Command lines: words, commands before the last one, and the shell script that runs them.

use super::airflow::expression::shell_quoted;
use super::options;
use super::text::{Part, Text};
use std::cell::Cell;

/// A word of a command.
#[derive(Clone, Debug)]
pub(super) enum Word {
    /// One argument.
    One(Text),
    /// Split at whitespace into any number of arguments.
    Split(Text),
    /// The last part of a path that is only known at run time, followed by this text. The shell cuts it off.
    Name(Text, &'static str),
    /// Shell code, passed as is.
    Raw(&'static str),
}

/// What a step runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    /// Commands that run before the last one.
    pub(super) before: Vec<Vec<Word>>,
    pub(super) words: Vec<Word>,
}

pub(super) fn one(text: &str) -> Word {
    Word::One(Text::literal(text))
}

pub(super) fn words(line: &str) -> Vec<Word> {
    line.split(' ').map(one).collect()
}

/// Splits the path of a file from the name that it gets, with a text `behind` the name.
pub(super) fn named_file(text: Text, behind: &'static str) -> (Text, Word) {
    let is_open = Cell::new(false);
    let (path, name) = text.split_name(|path| {
        is_open.set(true);
        path.clone()
    });
    let name = match is_open.get() {
        true => Word::Name(name, behind),
        false => Word::One(name.then(Text::literal(behind))),
    };
    (path, name)
}

/// Splits a text at whitespace into words; a word that contains an expression may become several arguments.
pub(super) fn words_of(text: Text) -> Vec<Word> {
    let mut all: Vec<Text> = vec![Text::default()];
    for part in text.parts {
        let pieces = match &part {
            Part::Literal(text) => text.split(char::is_whitespace).map(Text::literal).collect(),
            Part::Value(_) => vec![Text { parts: vec![part], ..Text::default() }],
        };
        for (number, piece) in pieces.into_iter().enumerate() {
            match all.last_mut() {
                Some(open) if number == 0 => *open = std::mem::take(open).then(piece),
                _ => all.push(piece),
            }
        }
    }
    all.retain(|word| !word.parts.is_empty());
    let word =
        |text: Text| if text.known().is_some() { Word::One(text) } else { Word::Split(text) };
    all.into_iter().map(word).collect()
}

/// Splits a text of options into words as the launcher does.
pub(super) fn options_of(text: Text, apart: fn(&str) -> Vec<(String, bool)>) -> Vec<Word> {
    let literal = |part: &Part| match part {
        Part::Literal(text) => Some(text.clone()),
        Part::Value(_) => None,
    };
    let made = |text: &str| Part::Literal(text.to_owned());
    let words = options::apart(&text.parts, literal, made, apart).into_iter();
    let word = |(parts, is_one)| {
        let text = Text { parts, ..Text::default() };
        if is_one || text.known().is_some() { Word::One(text) } else { Word::Split(text) }
    };
    words.map(word).collect()
}

impl Command {
    /// Returns a step with this command only.
    pub(super) fn of(texts: Vec<Text>) -> Command {
        Command { before: Vec::new(), words: texts.into_iter().map(Word::One).collect() }
    }

    /// Appends a property: `-D name=value`.
    pub(super) fn define(&mut self, name: Text, value: Text) {
        let pair = name.then(Text::literal("=")).then(value);
        self.words.extend([one("-D"), Word::One(pair)]);
    }

    pub(super) fn add(&mut self, line: &str) -> &mut Vec<Word> {
        self.words.extend(words(line));
        &mut self.words
    }

    /// Returns the program and its arguments, or a shell with its script and parameters; `between` separates the
    /// commands of the script.
    pub(super) fn texts(&self, between: &str) -> Vec<Text> {
        let is_plain = |word: &Word| match word {
            Word::One(_) => true,
            Word::Split(text) => text.known().is_some(),
            Word::Name(..) | Word::Raw(_) => false,
        };
        if self.before.is_empty() && self.words.iter().all(is_plain) {
            let words = self.words.iter().flat_map(|word| match word {
                Word::One(text) => vec![text.clone()],
                Word::Split(text) => {
                    let known = text.known().unwrap_or_default();
                    known.split_whitespace().map(Text::literal).collect()
                }
                Word::Name(..) | Word::Raw(_) => Vec::new(),
            });
            return words.collect();
        }
        let (lines, given) = self.script(true);
        // A single argument is limited to 128 KiB; all of them together may be much longer.
        let (lines, given) = match lines.iter().map(|line| line.len() + between.len()).sum() {
            0..=LONGEST_ARGUMENT => (lines, given),
            _ => self.script(false),
        };
        let mut all = ["bash", "-c", &lines.join(between)].map(Text::literal).to_vec();
        if !given.is_empty() {
            all.push(Text::literal("bash"));
        }
        all.extend(given);
        all
    }

    /// Returns the lines of a shell script and its positional parameters. With `is_inline`, words that are known at
    /// conversion are written into the lines.
    fn script(&self, is_inline: bool) -> (Vec<String>, Vec<Text>) {
        let mut given: Vec<Text> = Vec::new();
        let mut lines = vec!["set -ef".to_owned()];
        if !self.before.is_empty() {
            lines.push("cd \"$(mktemp -d)\"".to_owned());
        }
        for command in self.before.iter().chain([&self.words]) {
            let parts: Vec<String> =
                command.iter().map(|word| word.for_shell(&mut given, is_inline)).collect();
            if !parts.is_empty() {
                lines.push(parts.join(" "));
            }
        }
        (lines, given)
    }

    /// Returns the number of characters of the command that are known at conversion.
    pub(super) fn length(&self, between: &str) -> usize {
        let texts = self.texts(between);
        let known = texts.iter().flat_map(|text| &text.parts).map(|part| match part {
            Part::Literal(text) => text.chars().count(),
            Part::Value(_) => 0,
        });
        known.sum()
    }
}

/// Longer scripts pass their words as parameters. Leaves room for the values of expressions.
pub(super) const LONGEST_ARGUMENT: usize = 100_000;

impl Word {
    fn for_shell(&self, given: &mut Vec<Text>, is_inline: bool) -> String {
        let mut number = |text: &Text| {
            let same = |other: &Text| other.parts == text.parts;
            let at = given.iter().position(same).unwrap_or_else(|| {
                given.push(text.clone());
                given.len() - 1
            });
            at + 1
        };
        let mut parameter = |text: &Text| match number(text) {
            at @ 1..=9 => format!("${at}"),
            at => format!("${{{at}}}"),
        };
        match self {
            Word::Raw(text) => (*text).to_owned(),
            Word::Name(path, behind) => format!("\"${{{}##*/}}{behind}\"", number(path)),
            Word::One(text) => match text.known().filter(|_| is_inline) {
                Some(known) => shell_quoted(known),
                None => format!("\"{}\"", parameter(text)),
            },
            Word::Split(text) => match text.known() {
                Some(known) => {
                    known.split_whitespace().map(shell_quoted).collect::<Vec<_>>().join(" ")
                }
                None => parameter(text),
            },
        }
    }
}
