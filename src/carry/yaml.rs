//! A printer for YAML that looks handwritten.

use std::fmt::Write as _;

/// A node of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Yaml {
    /// A text.
    Text(String),
    /// A number or a Boolean.
    Plain(String),
    /// A sequence.
    List(Vec<Yaml>),
    /// A mapping that keeps its order.
    Map(Vec<(String, Yaml)>),
}

/// Creates a text.
pub(super) fn text(text: impl Into<String>) -> Yaml {
    Yaml::Text(text.into())
}

/// Creates a mapping.
pub(super) fn map<const N: usize>(entries: [(&str, Yaml); N]) -> Yaml {
    Yaml::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Creates a mapping with the entry `name`.
pub(super) fn named(name: &str) -> Yaml {
    map([("name", text(name))])
}

impl Yaml {
    /// Adds an entry to a mapping.
    pub(super) fn and(mut self, key: &str, value: Yaml) -> Yaml {
        if let Yaml::Map(entries) = &mut self {
            entries.push((key.to_owned(), value));
        }
        self
    }

    /// Replaces the value of an existing entry.
    pub(super) fn put(&mut self, key: &str, value: Yaml) {
        if let Yaml::Map(entries) = self
            && let Some((_, old)) = entries.iter_mut().find(|(name, _)| name == key)
        {
            *old = value;
        }
    }

    /// Adds an entry with a list, unless the list is empty.
    pub(super) fn and_some(self, key: &str, list: Vec<Yaml>) -> Yaml {
        if list.is_empty() { self } else { self.and(key, Yaml::List(list)) }
    }

    /// Prints the document.
    pub(super) fn print(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }

    /// Prints the value after a key or a dash at a depth, including the end of the line.
    fn behind(&self, depth: usize, out: &mut String) {
        match self {
            Yaml::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
            Yaml::List(list) if list.is_empty() => out.push_str(" []\n"),
            Yaml::List(list) => match flow(list) {
                Some(line) => {
                    let _ = writeln!(out, " {line}");
                }
                None => {
                    out.push('\n');
                    self.write(depth + 1, out);
                }
            },
            Yaml::Map(_) => {
                out.push('\n');
                self.write(depth + 1, out);
            }
            Yaml::Plain(word) => {
                let _ = writeln!(out, " {word}");
            }
            Yaml::Text(words) => match block(words) {
                Some(lines) => {
                    out.push_str(if words.ends_with('\n') { " |\n" } else { " |-\n" });
                    for line in lines {
                        let indent = if line.is_empty() { 0 } else { 2 * (depth + 1) };
                        let _ = writeln!(out, "{:indent$}{line}", "");
                    }
                }
                None => {
                    let _ = writeln!(out, " {}", scalar(words));
                }
            },
        }
    }

    fn write(&self, depth: usize, out: &mut String) {
        let indent = 2 * depth;
        match self {
            Yaml::Map(entries) => {
                for (key, value) in entries {
                    let _ = write!(out, "{:indent$}{}:", "", scalar(key));
                    value.behind(depth, out);
                }
            }
            Yaml::List(list) => {
                for value in list {
                    let _ = write!(out, "{:indent$}-", "");
                    match value {
                        Yaml::Map(entries) if !entries.is_empty() => {
                            let mut inner = String::new();
                            value.write(depth + 1, &mut inner);
                            let _ = write!(out, " {}", inner.trim_start());
                        }
                        value => value.behind(depth, out),
                    }
                }
            }
            value => value.behind(depth, out),
        }
    }
}

/// Prints a list of short texts on one line.
fn flow(list: &[Yaml]) -> Option<String> {
    let words: Option<Vec<String>> = list
        .iter()
        .map(|value| match value {
            Yaml::Text(words) if !words.contains(['\n', '\r']) => Some(scalar(words)),
            Yaml::Plain(word) => Some(word.clone()),
            _ => None,
        })
        .collect();
    let line = format!("[{}]", words?.join(", "));
    (line.chars().count() <= 80).then_some(line)
}

/// Returns the lines of a text that can be printed as a block scalar.
fn block(words: &str) -> Option<Vec<&str>> {
    let fits = |c: char| c == '\n' || (!c.is_control() && c != '\u{feff}');
    let body = words.strip_suffix('\n').unwrap_or(words);
    let is_plain = body.contains('\n')
        && !words.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && words.chars().all(fits)
        && !words.contains(['\u{85}', '\u{2028}', '\u{2029}']);
    is_plain.then(|| body.split('\n').collect())
}

/// Prints a text on one line, with quotes where it could be parsed as something else.
fn scalar(words: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:-".contains(c);
    let start = words.strip_prefix('-').unwrap_or(words);
    let is_word = start.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_')
        && !words.ends_with(':')
        && words.chars().all(plain);
    let lower = words.to_ascii_lowercase();
    let is_taken =
        ["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&lower.as_str());
    if is_word && !is_taken {
        return words.to_owned();
    }
    if words.chars().all(|c| !c.is_control() && !"\u{85}\u{2028}\u{2029}\u{feff}".contains(c)) {
        let is_simple = !words.contains('\'') || words.contains(['"', '\\']);
        return match is_simple {
            true => format!("'{}'", words.replace('\'', "''")),
            false => format!("\"{words}\""),
        };
    }
    let mut out = String::from("\"");
    for c in words.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || "\u{85}\u{2028}\u{2029}\u{feff}".contains(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
