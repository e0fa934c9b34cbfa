//! Parses properties with locations: Java's `.properties` and Hadoop's configuration XML.
//!
//! Returns the [`Entry`]s in source order, including duplicates, each with the span of its name and value. Java's form
//! is parsed as `java.util.Properties` does: leading whitespace of a value is dropped, trailing whitespace stays. The
//! XML form is read as the server reads `config-default.xml` and `job-xml`: names are trimmed, values are not, and
//! only the first run of text is used. Resolving `${…}` between properties is not done here.

use super::xml::Tree;
use crate::source::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One property as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Decoded name.
    pub name: String,
    /// Span of the name.
    pub name_span: Span,
    /// Decoded value.
    pub value: String,
    /// Span of the value.
    pub value_span: Span,
    /// Span of the logical line, or of the `property` element.
    pub span: Span,
}

/// A comment of a `.properties` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Text after `#` or `!`.
    pub text: String,
    /// The line.
    pub span: Span,
}

/// A parsed `.properties` text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Entries in source order.
    pub entries: Vec<Entry>,
    /// Comments in source order.
    pub comments: Vec<Comment>,
}

/// Parses Java's form. Every text is valid.
///
/// ```
/// let read = ankus::syntax::properties::parse("# where\nnameNode = hdfs://nn\\\n    :8020\n");
/// assert_eq!(read.entries[0].name, "nameNode");
/// assert_eq!(read.entries[0].value, "hdfs://nn:8020");
/// ```
pub fn parse(text: &str) -> Properties {
    let mut read = Properties::default();
    let bytes = text.as_bytes();
    let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    while at < bytes.len() {
        while at < bytes.len() && is_blank(bytes[at]) {
            at += 1;
        }
        let Some(first) = bytes.get(at) else { break };
        match first {
            b'\n' | b'\r' => at += 1,
            b'#' | b'!' => {
                let end = natural_line_end(bytes, at);
                let span = Span::new(at, end);
                read.comments.push(Comment { text: text[at + 1..end].to_owned(), span });
                at = end;
            }
            _ => {
                let entry = logical_line(text, at);
                at = entry.span.end as usize;
                read.entries.push(entry);
            }
        }
    }
    read
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0C)
}

fn natural_line_end(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..];
    from + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())
}

/// Parses from the first character of a name to the end of its logical line.
fn logical_line(text: &str, start: usize) -> Entry {
    let end = natural_line_end(text.as_bytes(), start);
    match memchr::memchr(b'\\', &text.as_bytes()[start..end]) {
        None => plain_line(text, start, end),
        Some(_) => escaped_line(text, start),
    }
}

/// Parses a line without a backslash, which can be taken literally.
fn plain_line(text: &str, start: usize, end: usize) -> Entry {
    let line = &text.as_bytes()[start..end];
    let ends_name = |byte: &u8| matches!(byte, b'=' | b':') || is_blank(*byte);
    let name = line.iter().position(ends_name).unwrap_or(line.len());
    let blanks = |from: usize| line[from..].iter().take_while(|byte| is_blank(**byte)).count();
    let mut value = name + blanks(name);
    if matches!(line.get(value), Some(b'=' | b':')) {
        value += 1;
        value += blanks(value);
    }
    let (name_end, value_start) = (start + name, start + value);
    Entry {
        name: text[start..name_end].to_owned(),
        name_span: Span::new(start, name_end),
        value: text[value_start..end].to_owned(),
        value_span: Span::new(value_start, end),
        span: Span::new(start, end),
    }
}

/// Parses a line that may be continued or contain escapes.
fn escaped_line(text: &str, start: usize) -> Entry {
    let mut reader = Reader { text, at: start };
    let mut name = String::new();
    let mut name_end = start;
    while let Some((character, escaped)) = reader.peek() {
        if !escaped && (matches!(character, '=' | ':') || is_blank_char(character)) {
            break;
        }
        reader.next();
        name_end = reader.at;
        name.push(character);
    }
    // Whitespace, one separator, whitespace.
    let mut separated = false;
    while let Some((character, escaped)) = reader.peek() {
        let separator = !separated && matches!(character, '=' | ':');
        if escaped || !(is_blank_char(character) || separator) {
            break;
        }
        separated |= separator;
        reader.next();
    }
    reader.skip_continuations();
    let value_start = reader.at;
    let mut value = String::new();
    while let Some((character, _)) = reader.next() {
        value.push(character);
    }
    let end = reader.at;
    Entry {
        name,
        name_span: Span::new(start, name_end),
        value,
        value_span: Span::new(value_start.min(end), end),
        span: Span::new(start, end),
    }
}

fn is_blank_char(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\u{c}')
}

/// Iterates over the characters of one logical line, with continuations removed and escapes decoded.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// The next character, and whether it was escaped. `None` at the end of the logical line.
    fn next(&mut self) -> Option<(char, bool)> {
        self.skip_continuations();
        let rest = &self.text[self.at..];
        let mut characters = rest.chars();
        let first = characters.next()?;
        if matches!(first, '\n' | '\r') {
            return None;
        }
        if first != '\\' {
            self.at += first.len_utf8();
            return Some((first, false));
        }
        let Some(second) = characters.next() else {
            // A backslash at the very end is ignored.
            self.at = self.text.len();
            return None;
        };
        let digits = rest.get(2..6).filter(|four| four.bytes().all(|b| b.is_ascii_hexdigit()));
        if let ('u', Some(four)) = (second, digits) {
            let mut code = u32::from_str_radix(four, 16).expect("four hexadecimal digits");
            self.at += 6;
            // Java uses UTF-16: a pair of escapes may be one character.
            let low = self.text[self.at..]
                .strip_prefix("\\u")
                .and_then(|rest| rest.get(..4))
                .and_then(|four| u32::from_str_radix(four, 16).ok());
            if let (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) = (code, low) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                self.at += 6;
            }
            return Some((char::from_u32(code).unwrap_or('\u{fffd}'), true));
        }
        self.at += 1 + second.len_utf8();
        let character = match second {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            other => other,
        };
        Some((character, true))
    }

    fn peek(&mut self) -> Option<(char, bool)> {
        self.skip_continuations();
        let at = self.at;
        let found = self.next();
        self.at = at;
        found
    }

    fn skip_continuations(&mut self) {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at) == Some(&b'\\') {
            let mut next = match (bytes.get(self.at + 1), bytes.get(self.at + 2)) {
                (Some(b'\r'), Some(b'\n')) => self.at + 3,
                (Some(b'\n' | b'\r'), _) => self.at + 2,
                _ => return,
            };
            while next < bytes.len() && is_blank(bytes[next]) {
                next += 1;
            }
            self.at = next;
        }
    }
}

/// Why a text is not a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotConfiguration {
    /// The location of the error.
    pub span: Span,
    /// One line, lower case, no full stop.
    pub message: String,
}

/// Returns the entries of a file that is submitted: a configuration in XML or properties. A file in XML that is no
/// configuration has none.
pub fn entries_of(path: &str, text: &str) -> Vec<Entry> {
    match path.ends_with(".xml") {
        true => parse_configuration(text).map(|read| read.entries).unwrap_or_default(),
        false => parse(text).entries,
    }
}

/// Parses Hadoop's form: `<configuration><property><name/><value/></property>…`. The server ignores a property without
/// a name or with an empty value, so it is not in `entries` but in `dropped`.
pub fn parse_configuration(text: &str) -> Result<Configuration, NotConfiguration> {
    if super::xml::is_dense(text) {
        let message = "an element has more attributes than any configuration needs".to_owned();
        return Err(NotConfiguration { span: Span::default(), message });
    }
    let document = roxmltree::Document::parse(text).map_err(|error| {
        let at = offset_of(text, error.pos());
        NotConfiguration { span: Span::at(at), message: error.to_string() }
    })?;
    let root = document.root_element();
    if root.tag_name().name() != "configuration" {
        let name = root.tag_name().name();
        let start = root.range().start + 1;
        let span = Span::new(start, start + name.len());
        let message = format!("the root is `{name}`, not `configuration`");
        return Err(NotConfiguration { span, message });
    }
    let mut read = Configuration::default();
    // Nested configurations are allowed; `descendants` does not recurse.
    for node in root.descendants().skip(1).filter(roxmltree::Node::is_element) {
        let parent = node.parent().map_or("", |parent| parent.tag_name().name());
        let name = node.tag_name().name();
        if parent != "configuration" || name == "configuration" {
            continue;
        }
        if name != "property" {
            let start = node.range().start + 1;
            let span = Span::new(start, start + name.len());
            let message = format!("`{name}` where only `property` is allowed");
            return Err(NotConfiguration { span, message });
        }
        // The last of several applies, as the server overwrites earlier ones.
        let part = |wanted: &str| {
            node.children().rfind(|child| child.is_element() && child.tag_name().name() == wanted)
        };
        let first_text = |part: Option<roxmltree::Node<'_, '_>>| {
            let node = part?.first_child().filter(roxmltree::Node::is_text)?;
            Some((node.text().unwrap_or_default().to_owned(), node.range()))
        };
        let span = Span::new(node.range().start, node.range().end);
        let (name, name_range) = first_text(part("name")).unwrap_or((String::new(), node.range()));
        let lead = name.len() - name.trim_start().len();
        let trimmed = name.trim();
        let name_span = if name.len() == name_range.len() {
            Span::new(name_range.start + lead, name_range.start + lead + trimmed.len())
        } else {
            Span::new(name_range.start, name_range.end)
        };
        let value = first_text(part("value"));
        let value_range = value.as_ref().map_or_else(
            || part("value").map_or(node.range(), |node| node.range()),
            |(_, range)| range.clone(),
        );
        let entry = Entry {
            name: trimmed.to_owned(),
            name_span,
            value: value.map(|(text, _)| text).unwrap_or_default(),
            value_span: Span::new(value_range.start, value_range.end),
            span,
        };
        let kept = !entry.name.is_empty() && !entry.value.is_empty();
        let list = if kept { &mut read.entries } else { &mut read.dropped };
        list.push(entry);
    }
    Ok(read)
}

/// Parses a configuration with broken markup as far as it can be read, although the server reads nothing from it: it
/// shows what was meant. There are no entries if the root is not `configuration`.
pub(crate) fn parse_broken_configuration(text: &str) -> Vec<Entry> {
    let (tree, _) = Tree::parse_tolerantly(text);
    let root = tree.root().filter(|root| root.is("configuration"));
    let all = root.into_iter().flat_map(|root| root.elements());
    all.filter(|element| element.is("property"))
        .filter_map(|property| {
            let (name, value) = (property.child("name")?, property.child("value")?);
            let (name, value) = (name.text().trimmed(), value.text());
            let (name_span, value_span) = (name.span(), value.span());
            let (name, value) = (name.text.into_owned(), value.text.into_owned());
            let is_empty = name.is_empty() || value.is_empty();
            (!is_empty).then(|| Entry { name, name_span, value, value_span, span: property.span() })
        })
        .collect()
}

/// A parsed configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Entries in source order.
    pub entries: Vec<Entry>,
    /// Entries without a name or with an empty value: the server never sees them.
    pub dropped: Vec<Entry>,
}

fn offset_of(text: &str, position: roxmltree::TextPos) -> usize {
    let line_start = text
        .split_inclusive('\n')
        .take(position.row.saturating_sub(1) as usize)
        .map(str::len)
        .sum::<usize>();
    let line = text[line_start..].lines().next().unwrap_or_default();
    let column = position.col.saturating_sub(1) as usize;
    let within = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    line_start + within
}

/// Whether a value is nothing but a reference to itself: a build replaces it with the real value before submission.
pub(crate) fn is_filled_in(name: &str, value: &str) -> bool {
    let inner = value.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| inner.trim() == name)
}

/// The source of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `config-default.xml` beside the application.
    Default(String),
    /// A properties file.
    File(String),
    /// `-D` on the command line.
    Argument,
    /// Nothing: the value takes the place of one that a server would know.
    Assumed,
}

/// One property with its origin; the span is in the origin's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The value as written in the source; `${…}` in it is not resolved.
    pub value: String,
    /// The source.
    pub origin: Origin,
    /// Span of the name, in the origin's file.
    pub name_span: Span,
    /// Span of the value, in the origin's file.
    pub value_span: Span,
}

/// A nearby caller that starts a definition, with the properties that it passes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// The file that names the definition: a properties file, or another definition.
    pub path: String,
    /// The span where it names it.
    pub span: Span,
    /// The files through which it is itself started, the nearest first.
    pub by: String,
    /// Whether it is a properties file.
    pub(crate) is_properties: bool,
    /// Whether it is a definition, and not the properties of a submission: what it does not pass is reported there.
    pub(crate) is_definition: bool,
    /// The properties that it passes, as written; shared by all their receivers.
    pub values: Arc<BTreeMap<String, String>>,
    /// Whether these are all properties; otherwise an unknown caller may start this one with more.
    pub is_whole: bool,
    /// Whether it passes on a name node.
    pub name_node: bool,
    /// Whether it passes on a resource manager.
    pub resource_manager: bool,
}

/// A path that leads nowhere, in a tree that contains the rest of the application.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lost {
    /// Span of the path in the definition that names it.
    pub span: Span,
    /// The path as written.
    pub uri: String,
    /// Where the path leads: a path in the tree, or the end of the one on the cluster.
    pub wanted: String,
    /// The existing folder that was probably meant.
    pub near: Option<String>,
}

impl Lost {
    /// Returns how a message names the path.
    pub fn words(&self) -> String {
        path_in_words(&self.uri, &self.wanted)
    }
}

/// Returns how a message names a path that leads nowhere: as written, with the place that was looked at if a property
/// hides the end of the path.
pub fn path_in_words(written: &str, wanted: &str) -> String {
    let last = written.trim().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match last.contains("${") && !wanted.is_empty() {
        true => format!("`{written}`, which leads to `{wanted}`"),
        false => format!("`{written}`"),
    }
}

/// What the sources of a tree say about a class that they do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alike {
    /// Classes with a similar name.
    pub classes: Vec<String>,
    /// The sources of these, in the same order, and others that may define the class itself.
    pub sources: Vec<String>,
}

/// The properties of a submission: merged layers, in which later ones override earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submission {
    /// Properties by name.
    pub values: BTreeMap<String, Bound>,
    /// The properties in `config-default.xml` beside the definition, whatever is submitted: the configurations of
    /// actions include them.
    pub defaults: Vec<(String, String)>,
    /// Merged files, lowest layer first.
    pub files: Vec<String>,
    /// A `config-default.xml` beside the definition that cannot be parsed: a server refuses the submission.
    pub broken: Option<String>,
    /// The known callers, if they were searched for.
    pub callers: Vec<Caller>,
    /// The files of the definitions that it starts, with the span that names each.
    pub starts: Vec<(Span, String)>,
    /// Paths in it that lead nowhere.
    pub lost: Vec<Lost>,
    /// Whether a nearby workflow starts others that cannot be resolved.
    pub may_have_parent: bool,
    /// Paths of the scripts and jars in the tree that have the names of its own; `None` if they were not searched for.
    pub scripts: Option<std::collections::BTreeSet<String>>,
    /// The classes that it names and that have no source in the tree, if others have a similar name there.
    pub classes: BTreeMap<String, Alike>,
    /// The classes that it names and that have a source in the tree.
    pub sourced: std::collections::BTreeSet<String>,
    /// The sources of the main classes whose output it may capture.
    pub sources: BTreeMap<String, String>,
    /// Whether the definitions of the tree have nearly all of their scripts beside them.
    pub keeps_scripts: bool,
    /// Whether exactly one of the scripts of all definitions in the tree is missing.
    pub misses_one_script: bool,
    /// Names of properties that scripts of the tree set for the jobs they start, to unknown values.
    pub launched: std::collections::BTreeSet<String>,
    /// What is near it, if it has no known callers.
    pub near: Near,
}

/// What is near a definition without known callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near {
    /// Properties files that start something and may start it as well, the nearest first.
    pub properties: Vec<String>,
    /// The variables that it and the definitions near it read, with the number of definitions that read each.
    pub read: std::sync::Arc<foldhash::HashMap<String, usize>>,
    /// The variables that at least [`Near::OFTEN`] definitions read, sorted.
    pub often: std::sync::Arc<Vec<String>>,
    /// A hash of those variables.
    pub number: u64,
}

impl Near {
    /// Number of definitions that must read a variable for it to count as commonly known.
    pub const OFTEN: usize = 3;
}

impl std::hash::Hash for Near {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.properties.hash(state);
        self.number.hash(state);
    }
}

impl Submission {
    /// Merges a layer over the existing ones.
    pub fn merge(&mut self, origin: &Origin, entries: &[Entry]) {
        if let Origin::File(path) | Origin::Default(path) = origin
            && !self.files.contains(path)
        {
            self.files.push(path.clone());
        }
        if let Origin::Default(_) = origin {
            let defaults = entries.iter().map(|entry| (entry.name.clone(), entry.value.clone()));
            self.defaults.extend(defaults);
        }
        for entry in entries {
            let bound = Bound {
                value: entry.value.clone(),
                origin: origin.clone(),
                name_span: entry.name_span,
                value_span: entry.value_span,
            };
            self.values.insert(entry.name.clone(), bound);
        }
    }

    /// Sets one property, as on the command line.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.bind(name.into(), value.into(), Origin::Argument);
    }

    /// Assumes the value of one property that nothing sets.
    pub fn assume(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.bind(name.into(), value.into(), Origin::Assumed);
    }

    fn bind(&mut self, name: String, value: String, origin: Origin) {
        let (name_span, value_span) = (Span::default(), Span::default());
        self.values.insert(name, Bound { value, origin, name_span, value_span });
    }

    /// Whether a property has a value that is not merely assumed.
    pub fn names(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|bound| bound.origin != Origin::Assumed)
    }

    /// The value of a property, as written.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|bound| bound.value.as_str())
    }

    /// A text with the values of properties replaced by references, for display. Values that also occur in `own` are
    /// not masked: they are no secret.
    pub fn masked(&self, text: &str, own: &str) -> String {
        let mut values: Vec<(&str, &str)> = self
            .iter()
            .map(|(name, value)| (name, value.trim()))
            .filter(|(_, value)| value.len() > 3 && text.contains(value) && !own.contains(value))
            .collect();
        // A value may be a part of another one.
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let mut text = text.to_owned();
        for (name, value) in values {
            text = text.replace(value, &format!("${{{name}}}"));
        }
        text
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, bound)| (name.as_str(), bound.value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).entries.into_iter().map(|entry| (entry.name, entry.value)).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let read = pairs(text);
        let read: Vec<_> = read.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn java_reads_it_this_way() {
        check("a=b", &[("a", "b")]);
        check("a : b ", &[("a", "b ")]);
        check("a b=c", &[("a", "b=c")]);
        check("a==b", &[("a", "=b")]);
        check("  a\\ b\\=c = d\\te\\u00e9", &[("a b=c", "d\teé")]);
        check("a = one\\\n   two\\\r\n\tthree\nb", &[("a", "onetwothree"), ("b", "")]);
        check("# c\\\na=1\n! d\n\n", &[("a", "1")]);
        check("a=\\ud83d\\ude00", &[("a", "😀")]);
        check("a=x\\", &[("a", "x")]);
        check("=v", &[("", "v")]);
        check("a=${nameNode}/x", &[("a", "${nameNode}/x")]);
    }

    #[test]
    fn places_are_narrow() {
        let text = "\u{feff}x = y\nname\\ a =  v w  \n";
        let read = parse(text);
        let entry = &read.entries[1];
        assert_eq!(&text[entry.name_span.range()], "name\\ a");
        assert_eq!(&text[entry.value_span.range()], "v w  ");
    }

    #[test]
    fn configurations_are_read_as_the_server_reads_them() {
        let text = "<configuration><property><name> a </name><value> b </value></property>\
            <property><name>c</name><value/></property></configuration>";
        let read = parse_configuration(text).unwrap();
        assert_eq!((read.entries[0].name.as_str(), read.entries[0].value.as_str()), ("a", " b "));
        assert_eq!(&text[read.entries[0].name_span.range()], "a");
        assert_eq!(read.dropped[0].name, "c");
        assert!(parse_configuration("<x/>").unwrap_err().message.contains("`x`"));
        assert!(parse_configuration("<configuration>").is_err());
    }

    mod property {
        use proptest::prelude::*;

        proptest! {
            #[test]
            fn a_plain_line_is_read_as_any_other(line in "[ab=:#! \\t\u{c}é]{1,20}") {
                let text = format!("{line}\n");
                let plain = super::super::plain_line(&text, 0, line.len());
                prop_assert_eq!(plain, super::super::escaped_line(&text, 0));
            }

            #[test]
            fn any_text_is_read_and_spans_hold(text in "[ab=: \\t\\\\\\r\\nué#!0-9]{0,40}") {
                for entry in super::parse(&text).entries {
                    prop_assert!(text.get(entry.span.range()).is_some());
                    prop_assert!(text.get(entry.name_span.range()).is_some());
                    prop_assert!(text.get(entry.value_span.range()).is_some());
                }
            }
        }
    }
}
