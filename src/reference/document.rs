//! A document as the server's parser passes it on, or its first error.

use std::borrow::Cow;

use super::schema::{Judge, Sets, Violation};
use super::xml::{Event, Reader, Stop};
use crate::budget;
use crate::schema::Language;
use crate::source::look;
use crate::syntax::xml::is_blank;

/// What the first stage of a submission found.
pub(super) struct Reading<'a> {
    /// The document, as far as it was read.
    pub(super) document: Document<'a>,
    /// Why it was not read to the end.
    pub(super) fault: Option<Fault>,
    /// Where the word `DOCTYPE` ends: the schema stage lets it pass, the next parser does not.
    pub(super) doctype: Option<usize>,
    /// A character that only XML 1.1 allows: the schema stage lets it pass, what comes after does not.
    pub(super) has_controls: bool,
}

/// The first thing that is said against a document.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is no well-formed XML, or lies partly outside.
    Xml(Stop),
    /// It breaks a rule of its schema; where the parser stood.
    Schema(Violation, usize),
}

/// The elements of a document, in order.
#[derive(Default)]
pub(super) struct Document<'a> {
    nodes: Vec<Node<'a>>,
    attributes: Vec<(&'a str, Cow<'a, str>)>,
    texts: Vec<(u32, Cow<'a, str>)>,
    namespaces: Vec<Cow<'a, str>>,
}

struct Node<'a> {
    /// Its name without a prefix.
    name: &'a str,
    namespace: u16,
    /// Index of its first attribute; those of the next node begin behind its last.
    attributes: u32,
    /// Index behind the last node within this one.
    end: u32,
    /// Index of the first text at or behind its start tag.
    texts: u32,
}

/// Reads `text` and holds it against the schemas of one set, stopping where the server stops.
pub(super) fn read<'a>(
    text: &'a str,
    language: &'a Language,
    sets: Sets,
    server: &'a str,
) -> Reading<'a> {
    let mut reader = Reader::new(text);
    let mut judge = Judge::new(language, sets, server);
    // As the tolerant tree has it: how many there are is a guess.
    let mut document = Document {
        nodes: Vec::with_capacity(text.len() / 64),
        attributes: Vec::with_capacity(text.len() / 256),
        texts: Vec::with_capacity(text.len() / 128),
        ..Document::default()
    };
    let mut open: Vec<u32> = Vec::new();
    let mut events = 0_u32;
    let fault = loop {
        events = events.wrapping_add(1);
        if events.is_multiple_of(1_024) && budget::spent() {
            break Some(Fault::Xml(Stop::Malformed(None)));
        }
        let checked = match reader.next() {
            Err(stop) => break Some(Fault::Xml(stop)),
            Ok(Event::Done) => break None,
            Ok(Event::Start(name)) => {
                let checked = judge.start(name, &reader);
                let from = document.attributes.len();
                let plain = reader.attributes.iter().filter(|a| a.name.namespace == 0);
                document.attributes.extend(plain.map(|a| (a.name.local, a.value.clone())));
                open.push(document.nodes.len() as u32);
                let texts = document.texts.len() as u32;
                document.nodes.push(Node {
                    name: name.local,
                    namespace: name.namespace,
                    attributes: from as u32,
                    end: 0,
                    texts,
                });
                checked
            }
            Ok(Event::Text(text)) => {
                let is_blank = is_blank(&text);
                judge.text(&text, is_blank);
                // Layout between elements is nobody's text; a blank that stands alone in an element is.
                let id = *open.last().expect("text is read within an element");
                let layout = || document.nodes.len() as u32 > id + 1 || text.contains('\n');
                if !is_blank || !layout() {
                    document.texts.push((id, text));
                }
                Ok(())
            }
            Ok(Event::End) => {
                let id = open.pop().expect("an element ends that has begun");
                document.nodes[id as usize].end = document.nodes.len() as u32;
                judge.end()
            }
        };
        if let Err(violation) = checked {
            break Some(Fault::Schema(violation, reader.offset()));
        }
    };
    let doctype = reader.doctype.map(|doctype| doctype.at);
    let has_controls = reader.has_controls;
    document.namespaces = reader.namespaces.list;
    Reading { document, fault, doctype, has_controls }
}

/// An element of a [`Document`].
#[derive(Clone, Copy)]
pub(super) struct Element<'d, 'a> {
    document: &'d Document<'a>,
    id: u32,
}

impl<'a> Document<'a> {
    /// The outermost element of a document that was read to its end.
    pub(super) fn root(&self) -> Option<Element<'_, 'a>> {
        (!self.nodes.is_empty()).then_some(Element { document: self, id: 0 })
    }
}

impl<'d, 'a> Element<'d, 'a> {
    fn node(self) -> &'d Node<'a> {
        look();
        &self.document.nodes[self.id as usize]
    }

    /// Its name without a prefix.
    pub(super) fn name(self) -> &'a str {
        self.node().name
    }

    /// Its namespace.
    pub(super) fn namespace(self) -> &'d str {
        &self.document.namespaces[self.node().namespace as usize]
    }

    /// Its children, in order.
    pub(super) fn children(self) -> impl Iterator<Item = Element<'d, 'a>> {
        let (document, end) = (self.document, self.node().end);
        let mut next = self.id + 1;
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let child = Element { document, id: next };
                next = child.node().end;
                child
            })
        })
    }

    /// The first child of this name in its own namespace.
    pub(super) fn child(self, name: &str) -> Option<Element<'d, 'a>> {
        let own = self.node().namespace;
        self.children().find(|child| child.name() == name && child.node().namespace == own)
    }

    /// All children of this name in its own namespace.
    pub(super) fn all(self, name: &'d str) -> impl Iterator<Item = Element<'d, 'a>> {
        let own = self.node().namespace;
        let children = self.children();
        children.filter(move |child| child.name() == name && child.node().namespace == own)
    }

    /// The value of an attribute without a namespace.
    pub(super) fn attribute(self, name: &str) -> Option<&'d str> {
        let all = &self.document.attributes;
        let next = self.document.nodes.get(self.id as usize + 1);
        let end = next.map_or(all.len(), |next| next.attributes as usize);
        let mut all = all[self.node().attributes as usize..end].iter();
        all.find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    /// Its own text.
    pub(super) fn text(self) -> String {
        let texts = &self.document.texts[self.node().texts as usize..];
        let within =
            texts.iter().take_while(|(owner, _)| *owner >= self.id && *owner < self.node().end);
        within.filter(|(owner, _)| *owner == self.id).map(|(_, text)| &**text).collect()
    }
}
