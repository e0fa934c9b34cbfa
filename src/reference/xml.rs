//! The server's XML parser: strict, in one pass, and stopping where it stops.
//!
//! Takes a text and returns its events in order, or the [`Stop`] that ends them. The tolerant tree of `syntax` is for
//! people; this parser must reproduce the server's answer, down to the position where its parser stopped. Names in
//! comments here are those of the XML recommendation. Nothing outside the text is read and no entity is expanded into
//! markup.

use foldhash::{HashMap, HashMapExt};
use std::borrow::Cow;

use super::replay::Replay;
use crate::syntax::scope::{Namespaces, Prefixes};

/// The reason why parsing stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Not well-formed, with the offset of the parser; `None` if the text ended before anything began.
    Malformed(Option<usize>),
    /// An external DOCTYPE or entity: refused before anything is read.
    External,
}

/// A parsing event.
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// A start tag; its attributes are in [`Reader::attributes`].
    Start(Name<'a>),
    /// An end tag, or the end of an empty one.
    End,
    /// Decoded text, possibly one of several pieces.
    Text(Cow<'a, str>),
    /// The end of the text.
    Done,
}

/// A name with its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name<'a> {
    /// As written, with its prefix.
    pub(super) raw: &'a str,
    /// The local name.
    pub(super) local: &'a str,
    /// Index into [`Reader::namespaces`]; 0 is no namespace.
    pub(super) namespace: u16,
}

/// An attribute that is not a namespace declaration.
#[derive(Clone, Debug)]
pub(super) struct Attribute<'a> {
    /// Its name; without a prefix it is in no namespace.
    pub(super) name: Name<'a>,
    /// Its decoded value.
    pub(super) value: Cow<'a, str>,
}

/// A DOCTYPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Doctype {
    /// End offset of the word `DOCTYPE`.
    pub(super) at: usize,
}

/// Parses a text event by event.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    bytes: &'a [u8],
    pub(super) at: usize,
    /// The attributes of the last start tag.
    pub(super) attributes: Vec<Attribute<'a>>,
    /// All namespaces encountered; the first is the empty one.
    pub(super) namespaces: Namespaces<'a>,
    /// Prefixes in scope, the innermost last; the empty prefix is the default namespace.
    pub(super) scope: Prefixes<'a>,
    /// Names of the open elements, with the length of `scope` before each.
    open: Vec<(&'a str, u32)>,
    place: Place,
    /// Whether the text is XML 1.1, which allows more characters.
    pub(super) newer: bool,
    /// Whether there are characters that XML 1.1 allows and the next parser does not.
    pub(super) has_controls: bool,
    /// The DOCTYPE, if it has no external parts.
    pub(super) doctype: Option<Doctype>,
    /// Entities declared in the DOCTYPE, with their text.
    entities: HashMap<&'a str, Option<&'a str>>,
    /// The tree from which the events are taken instead of the text.
    pub(super) replay: Option<Replay<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Prolog,
    Content,
    EmptyTag,
    After,
}

pub(super) type Result<T> = std::result::Result<T, Stop>;

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        let mut scope = Prefixes::default();
        scope.push("xml", 1);
        Reader {
            text,
            bytes: text.as_bytes(),
            at: 0,
            attributes: Vec::new(),
            namespaces: Namespaces::new(vec![Cow::Borrowed(""), Cow::Borrowed(XML_URI)]),
            scope,
            open: Vec::new(),
            place: Place::Start,
            newer: false,
            has_controls: false,
            doctype: None,
            entities: HashMap::new(),
            replay: None,
        }
    }

    /// The offset of the parser.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// The namespace for an index from a [`Name`].
    pub(super) fn namespace(&self, index: u16) -> &str {
        &self.namespaces.list[index as usize]
    }

    /// The namespace bound to a prefix here.
    pub(super) fn prefix(&self, prefix: &str) -> Option<u16> {
        self.scope.find(prefix)
    }

    pub(super) fn next(&mut self) -> Result<Event<'a>> {
        if self.replay.is_some() {
            return self.replayed();
        }
        match self.place {
            Place::Start => {
                self.declaration()?;
                self.place = Place::Prolog;
                self.prolog()
            }
            Place::Prolog => self.prolog(),
            Place::Content => self.content(),
            Place::EmptyTag => {
                self.pop();
                Ok(Event::End)
            }
            Place::After => self.after(),
        }
    }

    fn malformed<T>(&self) -> Result<T> {
        Err(Stop::Malformed(Some(self.at)))
    }

    fn over<T>(&mut self) -> Result<T> {
        self.at = self.bytes.len();
        self.malformed()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn char(&self) -> Option<char> {
        match self.peek()? {
            byte if byte < 0x80 => Some(byte as char),
            _ => self.text[self.at..].chars().next(),
        }
    }

    #[inline]
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Skips the characters that need no further check.
    #[inline]
    fn pass(&mut self, plain: &[bool; 256]) {
        let rest = &self.bytes[self.at..];
        let stop = rest.iter().position(|byte| !plain[usize::from(*byte)]);
        self.at += stop.unwrap_or(rest.len());
    }

    fn skip_text(&mut self, text: &str) -> bool {
        let found = self.bytes[self.at..].starts_with(text.as_bytes());
        self.at += if found { text.len() } else { 0 };
        found
    }

    #[inline]
    fn spaces(&mut self) -> bool {
        let from = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.at > from
    }

    /// Parses a name without a colon (NCName).
    #[inline]
    fn plain_name(&mut self) -> Option<&'a str> {
        let from = self.at;
        if !self.char().is_some_and(|c| starts_name(c) && c != ':') {
            return None;
        }
        self.pass(&IN_NAME);
        // Nearly every name is ASCII, and ends here.
        while self.peek().is_some_and(|byte| byte >= 0x80)
            && let Some(c) = self.char().filter(|c| in_name(*c))
        {
            self.at += c.len_utf8();
            self.pass(&IN_NAME);
        }
        Some(&self.text[from..self.at])
    }

    /// Parses a name with at most one colon (QName): the prefix and the rest.
    #[inline]
    fn name(&mut self) -> Result<Option<(&'a str, &'a str, &'a str)>> {
        let from = self.at;
        let Some(first) = self.plain_name() else { return Ok(None) };
        if self.peek() != Some(b':') {
            return Ok(Some((first, "", first)));
        }
        self.at += 1;
        match self.plain_name() {
            Some(local) => Ok(Some((&self.text[from..self.at], first, local))),
            None => self.malformed(),
        }
    }

    /// Parses `<?xml …?>`, if the text begins with it.
    pub(super) fn declaration(&mut self) -> Result<()> {
        if !self.bytes.starts_with(b"<?xml") || self.text[5..].chars().next().is_some_and(in_name) {
            return Ok(());
        }
        self.at = 5;
        let version = self.pseudo("version")?;
        match version {
            Some("1.0") => {}
            Some("1.1") => self.newer = true,
            _ => return self.malformed(),
        }
        self.pseudo("encoding")?;
        if self.pseudo("standalone")?.is_some_and(|value| value != "yes" && value != "no") {
            return self.malformed();
        }
        self.spaces();
        if self.bytes.len() == self.at {
            return self.over();
        }
        if !self.skip(b'?') || !self.skip(b'>') {
            return self.malformed();
        }
        Ok(())
    }

    /// Parses `name="value"` in the declaration, after whitespace.
    fn pseudo(&mut self, name: &str) -> Result<Option<&'a str>> {
        let from = self.at;
        if !self.spaces() || !self.skip_text(name) {
            self.at = from;
            return Ok(None);
        }
        self.spaces();
        if !self.skip(b'=') {
            return self.malformed();
        }
        self.spaces();
        let Some(quote @ (b'"' | b'\'')) = self.peek() else { return self.malformed() };
        let from = self.at + 1;
        match self.bytes[from..].iter().position(|byte| *byte == quote) {
            Some(length) => {
                self.at = from + length + 1;
                Ok(Some(&self.text[from..from + length]))
            }
            None => self.over(),
        }
    }

    fn prolog(&mut self) -> Result<Event<'a>> {
        loop {
            self.spaces();
            if self.at == self.bytes.len() {
                return Err(Stop::Malformed(None));
            }
            if self.skip(b'&') || !self.skip(b'<') {
                return self.malformed();
            }
            if self.skip(b'!') {
                if self.skip(b'-') {
                    self.comment()?;
                } else if self.skip_text("DOCTYPE") {
                    self.document_type()?;
                } else {
                    return self.malformed();
                }
            } else if self.char().is_some_and(starts_name) {
                self.place = Place::Content;
                return self.start_tag();
            } else if self.skip(b'?') {
                self.instruction()?;
            } else {
                return self.malformed();
            }
        }
    }

    fn after(&mut self) -> Result<Event<'a>> {
        loop {
            self.spaces();
            if self.at == self.bytes.len() {
                return Ok(Event::Done);
            }
            if !self.skip(b'<') {
                return self.malformed();
            }
            if self.skip(b'?') {
                self.instruction()?;
            } else if self.skip(b'!') {
                if !self.skip(b'-') {
                    return self.malformed();
                }
                self.comment()?;
            } else {
                self.skip(b'/');
                return self.malformed();
            }
        }
    }

    fn content(&mut self) -> Result<Event<'a>> {
        loop {
            match self.peek() {
                None => return self.over(),
                Some(b'<') => {
                    self.at += 1;
                    if self.skip(b'/') {
                        self.end_tag()?;
                        return Ok(Event::End);
                    }
                    if self.skip(b'!') {
                        if self.skip(b'-') {
                            self.comment()?;
                        } else if self.skip_text("[CDATA[") {
                            let text = self.section()?;
                            if !text.is_empty() {
                                return Ok(Event::Text(text));
                            }
                        } else {
                            return self.malformed();
                        }
                    } else if self.skip(b'?') {
                        self.instruction()?;
                    } else if self.char().is_some_and(starts_name) {
                        return self.start_tag();
                    } else {
                        return self.malformed();
                    }
                }
                Some(b'&') => {
                    self.at += 1;
                    let text = self.reference()?;
                    if !text.is_empty() {
                        return Ok(Event::Text(text));
                    }
                }
                Some(_) => return self.characters(),
            }
        }
    }

    fn characters(&mut self) -> Result<Event<'a>> {
        let from = self.at;
        let mut rewrite = false;
        loop {
            self.pass(&IN_TEXT);
            let Some(byte) = self.peek() else { break };
            match byte {
                b'<' | b'&' => break,
                b']' if self.bytes[self.at..].starts_with(b"]]>") => {
                    self.at += 3;
                    return self.malformed();
                }
                b'\r' => {
                    rewrite = true;
                    self.at += 1;
                }
                b']' => self.at += 1,
                _ => self.allowed_char()?,
            }
        }
        Ok(Event::Text(lines(&self.text[from..self.at], rewrite)))
    }

    /// Skips one character other than the plain ones, if XML allows it.
    fn allowed_char(&mut self) -> Result<()> {
        let Some(c) = self.char() else { return self.over() };
        if !self.allows(c) {
            return self.malformed();
        }
        self.at += c.len_utf8();
        Ok(())
    }

    /// Whether a character may occur literally in the text.
    fn allows(&self, c: char) -> bool {
        match c {
            '\t' | '\n' | '\r' => true,
            // XML 1.1 requires references for these.
            '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' => !self.newer,
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => false,
            _ => true,
        }
    }

    fn section(&mut self) -> Result<Cow<'a, str>> {
        let from = self.at;
        let mut rewrite = false;
        loop {
            match self.peek() {
                None => return self.over(),
                Some(b']') if self.bytes[self.at..].starts_with(b"]]>") => {
                    let text = &self.text[from..self.at];
                    self.at += 3;
                    return Ok(lines(text, rewrite));
                }
                Some(byte) => {
                    rewrite |= byte == b'\r';
                    self.allowed_char()?;
                }
            }
        }
    }

    /// Parses the rest after `<!-`.
    fn comment(&mut self) -> Result<()> {
        if !self.skip(b'-') {
            return self.malformed();
        }
        loop {
            self.pass(&IN_COMMENT);
            match self.peek() {
                None => return self.over(),
                Some(b'-') if self.bytes[self.at..].starts_with(b"--") => {
                    self.at += 2;
                    return if self.skip(b'>') { Ok(()) } else { self.malformed() };
                }
                Some(_) => self.allowed_char()?,
            }
        }
    }

    /// Parses the rest after `<?`.
    fn instruction(&mut self) -> Result<()> {
        let Some(target) = self.plain_name() else { return self.malformed() };
        if target.eq_ignore_ascii_case("xml") {
            return self.malformed();
        }
        if !self.spaces() {
            if self.skip_text("?>") {
                return Ok(());
            }
            if self.skip(b':') {
                self.plain_name();
            }
            return self.malformed();
        }
        loop {
            match self.peek() {
                None => return self.over(),
                Some(b'?') if self.bytes[self.at..].starts_with(b"?>") => {
                    self.at += 2;
                    return Ok(());
                }
                Some(_) => self.allowed_char()?,
            }
        }
    }

    /// Parses a reference after `&`, in content or in a value.
    fn reference(&mut self) -> Result<Cow<'a, str>> {
        if self.skip(b'#') {
            return self.character_reference();
        }
        let from = self.at;
        if !self.char().is_some_and(starts_name) {
            return self.malformed();
        }
        while let Some(c) = self.char().filter(|c| in_name(*c)) {
            self.at += c.len_utf8();
        }
        let name = &self.text[from..self.at];
        if !self.skip(b';') {
            return self.malformed();
        }
        let text = match name {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            "apos" => "'",
            _ => match self.entities.get(name) {
                Some(Some(text)) => text,
                Some(None) => return Err(Stop::External),
                None => return self.malformed(),
            },
        };
        Ok(Cow::Borrowed(text))
    }

    fn character_reference(&mut self) -> Result<Cow<'a, str>> {
        let radix = if self.skip(b'x') { 16 } else { 10 };
        let from = self.at;
        while self.peek().is_some_and(|byte| (byte as char).is_digit(radix)) {
            self.at += 1;
        }
        let digits = &self.text[from..self.at];
        if digits.is_empty() || !self.skip(b';') {
            return self.malformed();
        }
        let c = u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        match c {
            Some('\t' | '\n' | '\r') => {}
            Some('\u{1}'..='\u{1f}') if self.newer => self.has_controls = true,
            Some('\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}') | None => return self.malformed(),
            Some(_) => {}
        }
        Ok(Cow::Owned(c.into_iter().collect()))
    }

    fn start_tag(&mut self) -> Result<Event<'a>> {
        let Some((raw, prefix, local)) = self.name()? else { return self.malformed() };
        self.attributes.clear();
        let outer = self.scope.len() as u32;
        let mut empty = false;
        loop {
            let spaced = self.spaces();
            match self.peek() {
                None => return self.over(),
                Some(b'>') => {
                    self.at += 1;
                    break;
                }
                Some(b'/') => {
                    self.at += 1;
                    if !self.skip(b'>') {
                        return self.malformed();
                    }
                    empty = true;
                    break;
                }
                Some(_) if spaced && self.char().is_some_and(starts_name) => self.attribute()?,
                Some(_) => return self.malformed(),
            }
        }
        // Prefixes are resolved only now, because they may be declared after their use.
        let Some(namespace) = self.resolve(prefix) else { return self.malformed() };
        if prefix == "xmlns" {
            return self.malformed();
        }
        for at in 0..self.attributes.len() {
            let name = self.attributes[at].name;
            if name.raw.len() > name.local.len() {
                let prefix = &name.raw[..name.raw.len() - name.local.len() - 1];
                let Some(uri) = self.resolve(prefix) else { return self.malformed() };
                self.attributes[at].name.namespace = uri;
            }
        }
        if self.repeats_attribute(outer) {
            return self.malformed();
        }
        self.open.push((raw, outer));
        self.place = if empty { Place::EmptyTag } else { Place::Content };
        Ok(Event::Start(Name { raw, local, namespace }))
    }

    /// Whether two attributes, or two declarations, of this tag have the same name.
    fn repeats_attribute(&self, outer: u32) -> bool {
        let declared = self.scope.since(outer as usize);
        if self.attributes.len() < 2 && declared.len() < 2 {
            return false;
        }
        let few = self.attributes.len() + declared.len() <= 16;
        if few {
            let attributes = self.attributes.iter().enumerate().any(|(at, attribute)| {
                self.attributes[..at].iter().any(|other| same(&other.name, &attribute.name))
            });
            return attributes
                || declared.iter().enumerate().any(|(at, (prefix, _))| {
                    declared[..at].iter().any(|(other, _)| other == prefix)
                });
        }
        let mut seen = std::collections::HashSet::new();
        let attributes = self.attributes.iter().map(|a| (a.name.namespace, a.name.local));
        let declared = declared.iter().map(|(prefix, _)| (u16::MAX, *prefix));
        !attributes.chain(declared).all(|name| seen.insert(name))
    }

    #[inline]
    pub(super) fn resolve(&self, prefix: &str) -> Option<u16> {
        match self.prefix(prefix) {
            Some(uri) if uri != 0 || prefix.is_empty() => Some(uri),
            None if prefix.is_empty() => Some(0),
            _ => None,
        }
    }

    fn attribute(&mut self) -> Result<()> {
        let Some((raw, prefix, local)) = self.name()? else { return self.malformed() };
        self.spaces();
        if !self.skip(b'=') {
            return self.malformed();
        }
        self.spaces();
        let value = self.value()?;
        let declares = match (prefix, local) {
            ("", "xmlns") => Some(""),
            ("xmlns", local) => Some(local),
            _ => None,
        };
        let Some(declared) = declares else {
            let name = Name { raw, local, namespace: 0 };
            self.attributes.push(Attribute { name, value });
            return Ok(());
        };
        let xml = value == XML_URI;
        let removed = value.is_empty() && !declared.is_empty() && !self.newer;
        if declared == "xmlns" || value == XMLNS_URI || xml != (declared == "xml") || removed {
            return self.malformed();
        }
        let Some(uri) = self.namespaces.intern(value) else { return self.malformed() };
        self.scope.push(declared, uri);
        Ok(())
    }

    fn value(&mut self) -> Result<Cow<'a, str>> {
        let Some(quote @ (b'"' | b'\'')) = self.peek() else { return self.malformed() };
        self.at += 1;
        let mut from = self.at;
        let mut whole: Option<String> = None;
        loop {
            self.pass(&IN_VALUE);
            let Some(byte) = self.peek() else { return self.over() };
            match byte {
                _ if byte == quote => {
                    let last = &self.text[from..self.at];
                    self.at += 1;
                    return Ok(match whole {
                        Some(whole) => Cow::Owned(whole + last),
                        None => Cow::Borrowed(last),
                    });
                }
                b'<' => return self.malformed(),
                b'&' => {
                    let before = &self.text[from..self.at];
                    self.at += 1;
                    let text = self.reference()?;
                    let whole = whole.get_or_insert_default();
                    whole.push_str(before);
                    whole.push_str(&text);
                    from = self.at;
                }
                b'\t' | b'\n' | b'\r' => {
                    let whole = whole.get_or_insert_default();
                    whole.push_str(&self.text[from..self.at]);
                    whole.push(' ');
                    self.at += 1;
                    if byte == b'\r' {
                        self.skip(b'\n');
                    }
                    from = self.at;
                }
                b'"' | b'\'' => self.at += 1,
                _ => self.allowed_char()?,
            }
        }
    }

    fn end_tag(&mut self) -> Result<()> {
        let (raw, _) = *self.open.last().expect("content is read within an element");
        if !self.skip_text(raw) {
            // A text that ends in the middle of the right name is incomplete, not malformed.
            let rest = &self.bytes[self.at..];
            return if raw.as_bytes().starts_with(rest) { self.over() } else { self.malformed() };
        }
        self.spaces();
        if !self.skip(b'>') {
            return self.malformed();
        }
        self.pop();
        Ok(())
    }

    fn pop(&mut self) {
        let (_, outer) = self.open.pop().expect("an element is open");
        self.scope.truncate(outer as usize);
        self.place = if self.open.is_empty() { Place::After } else { Place::Content };
    }

    /// Parses the rest after `<!DOCTYPE`. Declarations in it are skipped, except entities with their text.
    fn document_type(&mut self) -> Result<()> {
        let at = self.at;
        if self.doctype.is_some() || !self.spaces() {
            return self.malformed();
        }
        if self.name()?.is_none() {
            return self.malformed();
        }
        self.spaces();
        if self.skip_text("SYSTEM") || self.skip_text("PUBLIC") {
            return Err(Stop::External);
        }
        if self.skip(b'[') {
            self.subset()?;
            self.spaces();
        }
        if !self.skip(b'>') {
            return self.malformed();
        }
        self.doctype = Some(Doctype { at });
        Ok(())
    }

    fn subset(&mut self) -> Result<()> {
        loop {
            self.spaces();
            if self.skip(b']') {
                return Ok(());
            }
            if self.skip_text("<!--") {
                self.at -= 1;
                self.comment()?;
            } else if self.skip_text("<?") {
                self.instruction()?;
            } else if self.skip_text("<!ENTITY") {
                self.entity()?;
            } else if self.skip(b'%') {
                return Err(Stop::External);
            } else if self.skip_text("<!") {
                self.markup_declaration()?;
            } else {
                return self.malformed();
            }
        }
    }

    fn entity(&mut self) -> Result<()> {
        if !self.spaces() {
            return self.malformed();
        }
        let parameter = self.skip(b'%');
        self.spaces();
        let Some(name) = self.plain_name() else { return self.malformed() };
        if !self.spaces() {
            return self.malformed();
        }
        let Some(quote @ (b'"' | b'\'')) = self.peek() else {
            if !parameter {
                self.entities.entry(name).or_insert(None);
            }
            return self.markup_declaration();
        };
        self.at += 1;
        let from = self.at;
        let Some(length) = self.bytes[from..].iter().position(|byte| *byte == quote) else {
            return self.over();
        };
        self.at = from + length + 1;
        if !parameter {
            self.entities.entry(name).or_insert(Some(&self.text[from..from + length]));
        }
        self.spaces();
        if self.skip(b'>') { Ok(()) } else { self.malformed() }
    }

    fn markup_declaration(&mut self) -> Result<()> {
        loop {
            match self.peek() {
                None => return self.over(),
                Some(b'>') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(quote @ (b'"' | b'\'')) => {
                    self.at += 1;
                    match self.bytes[self.at..].iter().position(|byte| *byte == quote) {
                        Some(length) => self.at += length + 1,
                        None => return self.over(),
                    }
                }
                Some(_) => self.allowed_char()?,
            }
        }
    }
}

pub(super) const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";
pub(super) const XMLNS_URI: &str = "http://www.w3.org/2000/xmlns/";

fn same(a: &Name<'_>, b: &Name<'_>) -> bool {
    a.local == b.local && a.namespace == b.namespace
}

/// Normalizes line ends as XML requires: `\r\n` and a lone `\r` become `\n`.
fn lines(text: &str, rewrite: bool) -> Cow<'_, str> {
    if rewrite {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Bytes that are a complete name character each, except the colon.
const IN_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        byte += 1;
    }
    table
};
/// Bytes of text that are plain characters.
const IN_TEXT: [bool; 256] = printed(b"<&]");
/// Bytes of a comment that are plain characters and do not end it.
const IN_COMMENT: [bool; 256] = printed(b"-");
/// Bytes of an attribute's value that are plain characters and do not end it.
const IN_VALUE: [bool; 256] = {
    let mut table = printed(b"<&\"'");
    table[b'\t' as usize] = false;
    table[b'\n' as usize] = false;
    table
};

/// Printable ASCII, tab and line feed, except the bytes in `special`.
const fn printed(special: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        table[byte as usize] = true;
        byte += 1;
    }
    table[b'\t' as usize] = true;
    table[b'\n' as usize] = true;
    let mut at = 0;
    while at < special.len() {
        table[special[at] as usize] = false;
        at += 1;
    }
    table
}

fn starts_name(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '_' | ':' => true,
        _ if c.is_ascii() => false,
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' => true,
        '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' => true,
        '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' => true,
        '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}' => true,
        _ => false,
    }
}

fn in_name(c: char) -> bool {
    match c {
        '-' | '.' | '0'..='9' | '\u{b7}' => true,
        '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}' => true,
        _ => starts_name(c),
    }
}
