//! Finds places where an application contains or passes secrets.

use super::Facts;
use super::facts::{is_open, job_properties};
use super::paths::split_scheme;
use crate::source::Span;
use crate::syntax::xml::Decoded;

/// How a secret is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// As literal text.
    Literal,
    /// By an expression.
    Expression,
}

/// How a secret was recognized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The value of a property, variable or element of this name.
    Named(String),
    /// The value after this command-line option.
    Option(String),
    /// The password in a URL.
    Url,
}

/// A secret.
#[derive(Clone, Debug)]
pub(super) struct Secret {
    pub(super) given: Given,
    pub(super) place: Place,
    pub(super) span: Span,
    /// The file, unless it is the definition.
    pub(super) file: Option<String>,
}

/// Options whose argument is a secret.
const OPTIONS: [&str; 7] = [
    "--password",
    "-password",
    "--passwd",
    "--passphrase",
    "--secret",
    "--access-key",
    "--secret-key",
];

/// Returns everything that looks like a secret, in the definition and the properties of the application.
pub(super) fn secrets<'f>(facts: &'f Facts<'_>) -> &'f [Secret] {
    facts.known.secrets.get_or_init(|| find(facts))
}

fn find(facts: &Facts<'_>) -> Vec<Secret> {
    let mut finder = Finder { facts, found: Vec::new() };
    finder.definition();
    for property in job_properties(facts) {
        let Some(file) = property.file.clone() else { continue };
        if facts.settings.secrets.covers(&property.name) {
            let text = &property.value;
            finder.add(text, property.value_span, Place::Named(property.name.clone()), Some(file));
        } else if let Some(range) = password_of_url(&property.value) {
            // The span of a value in properties maps one to one only if nothing is escaped.
            let start = property.value_span.start as usize;
            let plain = facts.files.text(&file).map(|source| source.slice(property.value_span));
            if plain == Some(property.value.as_str()) {
                let span = Span::new(start + range.start, start + range.end);
                finder.add(&property.value[range], span, Place::Url, Some(file));
            }
        }
    }
    finder.found
}

/// Returns the spans of literal secrets, which no output may show, with the file if it is not the definition.
pub fn in_the_clear(facts: &Facts<'_>) -> Vec<(Option<String>, Span)> {
    let literal = secrets(facts).iter().filter(|secret| secret.given == Given::Literal);
    literal.map(|secret| (secret.file.clone(), secret.span)).collect()
}

struct Finder<'f, 'a> {
    facts: &'f Facts<'a>,
    found: Vec<Secret>,
}

impl<'a> Finder<'_, 'a> {
    fn definition(&mut self) {
        let facts = self.facts;
        for configuration in facts.configurations().iter().copied() {
            for property in facts.block(configuration) {
                let Some(value) = property.value.as_ref().map(Decoded::trim) else { continue };
                self.named(&property.name.text, &value);
            }
        }
        for property in facts.parameters().map(|(_, list)| list).unwrap_or_default() {
            let Some(value) = property.value.as_ref().map(Decoded::trim) else { continue };
            self.named(&property.name.text, &value);
        }
        for action in &facts.actions {
            if let Some(text) = action.text("password") {
                self.add(&text.text, text.span(), Place::Named("password".to_owned()), None);
            }
            for text in action.texts(&["env-var"]) {
                if let Some((name, value)) = text.text.split_once('=') {
                    let start = name.len() + 1;
                    let span = text.source(start..text.text.len());
                    if facts.settings.secrets.covers(name) {
                        self.add(value, span, Place::Named(name.to_owned()), None);
                    }
                }
            }
            let arguments: Vec<_> =
                action.texts(&["arg", "argument", "args", "jdbc-url"]).collect();
            for (index, text) in arguments.iter().enumerate() {
                self.option(text, 0, text.text.len(), arguments.get(index + 1));
                self.url(text);
            }
            if let Some(command) = action.text("command") {
                let words: Vec<_> = words(&command.text);
                for (index, word) in words.iter().enumerate() {
                    let next = words.get(index + 1);
                    self.word(&command, word.clone(), next.cloned());
                }
                self.url(&command);
            }
        }
    }

    fn named(&mut self, name: &str, value: &Decoded<'_>) {
        if self.facts.settings.secrets.covers(name) {
            self.add(&value.text, value.span(), Place::Named(name.to_owned()), None);
        } else {
            self.url(value);
        }
    }

    /// Handles an argument that is an option, with its value in the next argument or after `=`.
    fn option(&mut self, text: &Decoded<'_>, start: usize, end: usize, next: Option<&Decoded<'_>>) {
        let word = &text.text[start..end];
        if OPTIONS.contains(&word) {
            if let Some(value) = next {
                self.add(&value.text, value.span(), Place::Option(word.to_owned()), None);
            }
        } else if let Some((option, value)) = word.split_once('=')
            && OPTIONS.contains(&option)
        {
            let span = text.source(start + option.len() + 1..end);
            self.add(value, span, Place::Option(option.to_owned()), None);
        }
    }

    fn word(
        &mut self,
        text: &Decoded<'_>,
        word: std::ops::Range<usize>,
        next: Option<std::ops::Range<usize>>,
    ) {
        let option = &text.text[word.clone()];
        if OPTIONS.contains(&option) {
            if let Some(next) = next {
                let place = Place::Option(option.to_owned());
                self.add(&text.text[next.clone()], text.source(next), place, None);
            }
        } else {
            self.option(text, word.start, word.end, None);
        }
    }

    fn url(&mut self, text: &Decoded<'_>) {
        if let Some(range) = password_of_url(&text.text) {
            let span = text.source(range.clone());
            self.add(&text.text[range], span, Place::Url, None);
        }
    }

    fn add(&mut self, value: &str, span: Span, place: Place, file: Option<String>) {
        if is_nothing(value) {
            return;
        }
        let given = if is_open(value) { Given::Expression } else { Given::Literal };
        self.found.push(Secret { given, place, span, file });
    }
}

/// Returns the words of the command line of a Sqoop action, as the server splits it.
pub(super) fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for piece in text.split([' ', '\t', '\n', '\r']) {
        if !piece.is_empty() {
            found.push(start..start + piece.len());
        }
        start += piece.len() + 1;
    }
    found
}

/// Returns the range of the password in a URL: `…password=x`, `scheme://user:x@host`.
fn password_of_url(text: &str) -> Option<std::ops::Range<usize>> {
    let scheme = split_scheme(text)?.0.len();
    for key in ["password=", "Password=", "PASSWORD=", "pwd="] {
        if let Some(at) = text.find(key) {
            let start = at + key.len();
            let rest = &text[start..];
            let end = rest.find(['&', ';', ' ', ',']).unwrap_or(rest.len());
            return Some(start..start + end);
        }
    }
    let rest = &text[scheme + 3..];
    let authority = &rest[..rest.find(['/', '?', ' ']).unwrap_or(rest.len())];
    let user = &authority[..authority.find('@')?];
    let colon = user.find(':')?;
    if user.contains("${") {
        return None;
    }
    Some(scheme + 3 + colon + 1..scheme + 3 + user.len())
}

/// Whether a value is not a secret: empty, a switch, a placeholder, or the place where the secret is kept.
fn is_nothing(value: &str) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    value.is_empty()
        || ["true", "false", "none", "null", "changeme", "change_me", "dummy", "-"]
            .contains(&lower.as_str())
        || value.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.'))
        || value.starts_with(['/', '<', '@', '#', '{', '%', '[', '-'])
        || ["jceks://", "localjceks://", "hdfs://", "file:", "kms://"]
            .iter()
            .any(|s| value.starts_with(s))
}
