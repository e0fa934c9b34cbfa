//! The events of the server's parser, taken from the tolerant tree.
//!
//! Nearly every text is plain: printable ASCII, well-formed, without references, CDATA sections, declarations of types
//! or prefixed attributes. The tree of such a text has all that [`Reader`] would find in it, so the text need not be
//! read again. In doubt the reader gives up ([`Reader::has_given_up`]), and whoever asked reads the text itself.

use std::borrow::Cow;

use super::xml::{Attribute, Event, Name, Reader, Result, Stop, XML_URI, XMLNS_URI};
use crate::syntax::xml::{AttributeRef, Element, NodeKind, Tree};

/// Maximum number of attributes: those of more are compared by the reader of texts.
const MOST_ATTRIBUTES: usize = 16;

/// A position in a tree.
pub(super) struct Replay<'a> {
    tree: &'a Tree,
    /// Index of the next node.
    next: usize,
    /// The end offsets of the open elements, each with the number of prefixes in scope before it.
    open: Vec<(u32, u32)>,
    has_given_up: bool,
}

/// Whether all bytes are printable ASCII, tabs and line feeds.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') | (byte == b'\t') | (byte == b'\n');
    // Without a branch per byte, many bytes are compared at once.
    let of_chunk = |chunk: &[u8]| chunk.iter().fold(true, |plain, byte| plain & is_plain(*byte));
    text.as_bytes().chunks(256).all(of_chunk)
}

impl<'a> Reader<'a> {
    /// Creates a reader that takes its events from the tree of `text`, if that is plain.
    pub(super) fn of_tree(text: &'a str, tree: &'a Tree) -> Option<Reader<'a>> {
        let is_same = std::ptr::eq(tree.text(), text) && tree.is_well_formed();
        let bytes = text.as_bytes();
        if !is_same
            || tree.doctype().is_some()
            || !is_plain(text)
            || memchr::memchr(b'&', bytes).is_some()
            || memchr::memmem::find(bytes, b"]]>").is_some()
        {
            return None;
        }
        let mut reader = Reader::new(text);
        let is_of_1_0 = reader.declaration().is_ok() && !reader.newer;
        reader.replay = Some(Replay { tree, next: 0, open: Vec::new(), has_given_up: false });
        is_of_1_0.then_some(reader)
    }

    /// Whether the last error was none of the text: it has to be read.
    pub(super) fn has_given_up(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| replay.has_given_up)
    }

    fn give_up<T>(&mut self) -> Result<T> {
        if let Some(replay) = &mut self.replay {
            replay.has_given_up = true;
        }
        Err(Stop::Malformed(None))
    }

    /// The next event of a tree.
    pub(super) fn replayed(&mut self) -> Result<Event<'a>> {
        loop {
            let Some(replay) = &mut self.replay else { return self.give_up() };
            let node = replay.tree.nth(replay.next);
            let start = node.map_or(u32::MAX, |node| node.span().start);
            if let Some((end, outer)) = replay.open.pop_if(|(end, _)| *end <= start) {
                self.at = end as usize;
                self.scope.truncate(outer as usize);
                return Ok(Event::End);
            }
            let Some(node) = node else { return Ok(Event::Done) };
            replay.next += 1;
            let is_inside = !replay.open.is_empty();
            match node.kind() {
                NodeKind::Element => match node.element() {
                    Some(element) => return self.replayed_start(element),
                    None => return self.give_up(),
                },
                NodeKind::Text if is_inside => {
                    self.at = node.span().end as usize;
                    return Ok(Event::Text(Cow::Borrowed(&self.text[node.span().range()])));
                }
                // The shortest comment is `<!---->`.
                NodeKind::Comment if node.span().range().len() >= 7 => {}
                _ => return self.give_up(),
            }
        }
    }

    fn replayed_start(&mut self, element: Element<'a>) -> Result<Event<'a>> {
        let raw = &self.text[element.name_span().range()];
        let Some((prefix, local)) = split(raw) else { return self.give_up() };
        let outer = self.scope.len() as u32;
        self.attributes.clear();
        if element.attributes().count() > MOST_ATTRIBUTES {
            return self.give_up();
        }
        for attribute in element.attributes() {
            if self.replayed_attribute(attribute).is_none() {
                return self.give_up();
            }
        }
        let Some(namespace) = self.resolve(prefix) else { return self.give_up() };
        if matches!(prefix, "xml" | "xmlns") || !is_ended(self.text, element, raw) {
            return self.give_up();
        }
        self.at = element.start_tag().end as usize;
        if let Some(replay) = &mut self.replay {
            replay.open.push((element.span().end, outer));
        }
        Ok(Event::Start(Name { raw, local, namespace }))
    }

    /// Adds an attribute or a declaration of a prefix; `None` if it is not a plain one.
    fn replayed_attribute(&mut self, attribute: AttributeRef<'a>) -> Option<()> {
        let raw = &self.text[attribute.name_span().range()];
        let written = &self.text[attribute.value_span().range()];
        let value = match memchr::memchr2(b'\t', b'\n', written.as_bytes()) {
            None => Cow::Borrowed(written),
            Some(_) => Cow::Owned(written.replace(['\t', '\n'], " ")),
        };
        let (prefix, local) = split(raw).filter(|_| attribute.is_quoted())?;
        let declared = match (prefix, local) {
            ("", "xmlns") => "",
            ("xmlns", local) if !value.is_empty() => local,
            ("", local) => {
                self.attributes.push(Attribute { name: Name { raw, local, namespace: 0 }, value });
                return Some(());
            }
            _ => return None,
        };
        if matches!(declared, "xml" | "xmlns") || value == XML_URI || value == XMLNS_URI {
            return None;
        }
        let uri = self.namespaces.intern(value)?;
        self.scope.push(declared, uri);
        Some(())
    }
}

/// The prefix and the local part of an ASCII name; `None` if it is not a name with at most one colon.
fn split(name: &str) -> Option<(&str, &str)> {
    let begins = |part: &str| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match name.bytes().position(|byte| byte == b':') {
        None => begins(name).then_some(("", name)),
        Some(colon) => {
            let (prefix, local) = (&name[..colon], &name[colon + 1..]);
            (begins(prefix) && begins(local) && !local.contains(':')).then_some((prefix, local))
        }
    }
}

/// Whether an element is empty or has a regular end tag.
fn is_ended(text: &str, element: Element<'_>, name: &str) -> bool {
    if element.is_empty_tag() {
        return true;
    }
    let tag = text[element.end_tag().range()].strip_prefix("</");
    let rest = tag.and_then(|tag| tag.strip_prefix(name));
    element.is_closed() && rest.is_some_and(|rest| rest.trim_start() == ">")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const TEXT: &str = "<?xml version='1.0'?>\n<!-- a -->\n<w:app xmlns:w=\"u:w\" xmlns='u:d' name = 'n\to'>\n\
        <start to='a' />b<!--c-->d\n<w:x><y >]] ></y\n></w:x><z/></w:app>\n<!-- e -->\n";

    /// The events of a reader up to its end, with the position after each; `None` if it gave up.
    fn events(mut reader: Reader<'_>) -> Option<Vec<String>> {
        let mut all = Vec::new();
        loop {
            let event = reader.next();
            if reader.has_given_up() {
                return None;
            }
            let is_last = matches!(event, Ok(Event::Done) | Err(_));
            let is_start = matches!(event, Ok(Event::Start(_)));
            let attributes = is_start.then_some(&reader.attributes);
            // Nobody asks for the position of what is complete.
            let at = (!matches!(event, Ok(Event::Done))).then(|| reader.offset());
            all.push(format!("{event:?} {at:?} {attributes:?} {:?}", reader.namespaces.list));
            if is_last {
                return Some(all);
            }
        }
    }

    /// Compares both readers; returns whether the tree sufficed.
    #[track_caller]
    fn check(text: &str) -> bool {
        let shared = Arc::new(text.to_owned());
        let (tree, _) = Tree::of(&shared);
        let replayed = Reader::of_tree(&shared, &tree).and_then(events);
        if let Some(replayed) = &replayed {
            assert_eq!(Some(replayed), events(Reader::new(&shared)).as_ref(), "{text}");
        }
        replayed.is_some()
    }

    #[test]
    fn a_tree_has_the_events_of_its_text() {
        assert!(check(TEXT));
        for odd in
            ["<a>&lt;</a>", "<a>]]></a>", "<a><![CDATA[b]]></a>", "<a b='&amp;'/>", "<a>\u{e9}</a>"]
        {
            assert!(!check(odd), "{odd}");
        }
    }

    #[test]
    fn whatever_is_changed_a_tree_has_the_events_of_its_text_or_none() {
        let mut replayed = 0;
        for at in 0..TEXT.len() {
            for sign in [
                "", "<", ">", "/", "'", "\"", "=", ":", " ", "\n", "-", "!", "?", "a", "1", "]",
                "xml",
            ] {
                for behind in [at, at + 1] {
                    let text = [&TEXT[..at], sign, &TEXT[behind..]].concat();
                    replayed += usize::from(check(&text));
                }
            }
        }
        assert!(replayed > 1_000, "{replayed}");
    }
}
