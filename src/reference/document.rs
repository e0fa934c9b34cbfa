//! A document as the server's parser passes it on, or its first error.

use std::borrow::Cow;

use super::schema::{Judge, Sets, Violation};
use super::xml::{Event, Reader, Stop};
use crate::budget;
use crate::schema::Language;
use crate::source::look;
use crate::syntax::xml::{Tree, is_blank};

/// The result of the first stage of a submission.
pub(super) struct Reading<'a> {
    /// The document, as far as it was read.
    pub(super) document: Document<'a>,
    /// The error at which reading stopped.
    pub(super) fault: Option<Fault>,
    /// End offset of the word `DOCTYPE`: the schema stage accepts it, the next parser does not.
    pub(super) doctype: Option<usize>,
    /// Whether there is a character that only XML 1.1 allows: the schema stage accepts it, later stages do not.
    pub(super) has_controls: bool,
}

/// The first error of a document.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is not well-formed XML, or refers to external entities.
    Xml(Stop),
    /// It violates its schema; with the offset of the parser.
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
    /// Local name.
    name: &'a str,
    namespace: u16,
    /// Index of its first attribute; those of the next node follow its last.
    attributes: u32,
    /// Index after its last descendant.
    end: u32,
    /// Index of the first text at or after its start tag.
    texts: u32,
}

/// Reads `text` and validates it against the schemas of one set, stopping where the server stops. The tree of the text,
/// if there is one, saves reading it.
pub(super) fn read<'a>(
    text: &'a str,
    tree: Option<&'a Tree>,
    language: &'a Language,
    sets: Sets,
    server: &'a str,
) -> Reading<'a> {
    let of_tree = tree.and_then(|tree| Reader::of_tree(text, tree));
    let replayed = of_tree.and_then(|reader| read_all(text, reader, language, sets, server));
    replayed.unwrap_or_else(|| {
        let reading = read_all(text, Reader::new(text), language, sets, server);
        reading.expect("a reader of a text does not give up")
    })
}

/// Reads all events of a reader; `None` if it gave up.
fn read_all<'a>(
    text: &'a str,
    mut reader: Reader<'a>,
    language: &'a Language,
    sets: Sets,
    server: &'a str,
) -> Option<Reading<'a>> {
    let mut judge = Judge::new(language, sets, server);
    // The capacities are estimates, as for the tolerant tree.
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
            Err(_) if reader.has_given_up() => return None,
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
                // Layout between elements is ignored; whitespace alone in an element is its text.
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
    Some(Reading { document, fault, doctype, has_controls })
}

/// An element of a [`Document`].
#[derive(Clone, Copy)]
pub(super) struct Element<'d, 'a> {
    document: &'d Document<'a>,
    id: u32,
}

impl<'a> Document<'a> {
    /// The root element of a document that was read completely.
    pub(super) fn root(&self) -> Option<Element<'_, 'a>> {
        (!self.nodes.is_empty()).then_some(Element { document: self, id: 0 })
    }
}

impl<'d, 'a> Element<'d, 'a> {
    fn node(self) -> &'d Node<'a> {
        look();
        &self.document.nodes[self.id as usize]
    }

    /// The local name.
    pub(super) fn name(self) -> &'a str {
        self.node().name
    }

    /// The namespace.
    pub(super) fn namespace(self) -> &'d str {
        &self.document.namespaces[self.node().namespace as usize]
    }

    /// The child elements, in order.
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

    /// The first child with this name in the element's own namespace.
    pub(super) fn child(self, name: &str) -> Option<Element<'d, 'a>> {
        let own = self.node().namespace;
        self.children().find(|child| child.name() == name && child.node().namespace == own)
    }

    /// All children with this name in the element's own namespace.
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

    /// The element's own text.
    pub(super) fn text(self) -> String {
        let texts = &self.document.texts[self.node().texts as usize..];
        let within =
            texts.iter().take_while(|(owner, _)| *owner >= self.id && *owner < self.node().end);
        within.filter(|(owner, _)| *owner == self.id).map(|(_, text)| &**text).collect()
    }
}
