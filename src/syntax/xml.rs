//! A tolerant XML tree with spans.
//!
//! Takes the text of a file, broken or not. Returns a [`Tree`] of whatever can be recovered, and a finding for each
//! place that is not well-formed. Every name, attribute value and run of text has a [`Span`]; text is decoded on
//! request, with a map back to the bytes it was written as ([`Decoded`]).
//!
//! Events come from quick-xml, or are split the same way. quick-xml alone loses the rest of a document after one
//! unclosed quote, so every tag is checked again: a raw `<` inside a tag that could begin markup means that the tag
//! was never closed, and parsing restarts there. Wrong end tags close what they can; an element whose end tag is
//! missing gives back the children that, by indentation or by name, were its siblings. If no error was found,
//! roxmltree checks the text as well, so that nothing ill-formed passes. Entities of a DOCTYPE are never expanded, and
//! nothing outside the text is read.
//!
//! How a server treats the same bytes is decided in `reference`.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::diag::{Diagnostic, Group, Kind, Level, Safety};
use crate::source::{Slice, Span, look};

pub use decode::{Decoded, Places};
use decode::{Place, decode};
use parse::{Parser, judged};

mod decode;
mod parse;

/// Maximum nesting depth of elements; Oozie's own languages need less than twenty levels.
pub(crate) const DEPTH_LIMIT: usize = 1_000;

/// Maximum number of findings listed per file; the tree is built all the same.
const FINDING_LIMIT: usize = 1_000;

/// Maximum number of nodes moved to an outer element in all, so that no input takes quadratic time.
const MOVE_LIMIT: usize = 1_000_000;

/// Maximum number of bytes scanned in vain: for example, the end of an unclosed comment is searched for in the rest of
/// the text.
const VAIN_LIMIT: usize = 512 << 20;

/// Maximum number of attributes of an element, or of namespaces in a text, for the strict parser, which compares all
/// of them with one another.
const STRICT_LIMIT: usize = 1_000;

/// Whether a tag has so many attributes that the strict parser, which compares each with all others, would take long.
pub(crate) fn is_dense(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(less) = memchr::memchr(b'<', &bytes[at..]) {
        at += less + 1;
        let rest = &bytes[at..];
        let skipped = [(&b"!--"[..], &b"-->"[..]), (b"![CDATA[", b"]]>"), (b"?", b"?>")];
        if let Some((_, end)) = skipped.iter().find(|(begin, _)| rest.starts_with(begin)) {
            let Some(length) = memchr::memmem::find(rest, end) else { return false };
            at += length;
            continue;
        }
        let mut attributes = 0;
        let mut quote = None;
        for byte in rest {
            at += 1;
            match (quote, *byte) {
                (None, b'>') => break,
                (None, b'=') => attributes += 1,
                (None, b'"' | b'\'') => quote = Some(*byte),
                (Some(open), byte) if open == byte => quote = None,
                _ => {}
            }
        }
        if attributes > STRICT_LIMIT {
            return true;
        }
    }
    false
}

/// The kinds of findings that this module reports.
pub static KINDS: &[&Kind] = &[&NOT_WELL_FORMED, &DOCTYPE_FORBIDDEN, &NESTED_TOO_DEEP];

/// Broken XML.
pub(crate) static NOT_WELL_FORMED: Kind = Kind {
    name: "xml-not-well-formed",
    group: Group::Syntax,
    summary: "the text is not well-formed XML",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/xml-not-well-formed.md"),
};

/// A document type declaration, which servers refuse.
pub(crate) static DOCTYPE_FORBIDDEN: Kind = Kind {
    name: "doctype-forbidden",
    group: Group::Syntax,
    summary: "a DOCTYPE, which servers refuse",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0700", "E0702"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/doctype-forbidden.md"),
};

/// Elements nested deeper than any use requires.
pub(crate) static NESTED_TOO_DEEP: Kind = Kind {
    name: "nested-too-deep",
    group: Group::Syntax,
    summary: "elements nest deeper than any definition needs",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: None,
    page: include_str!("../../docs/rules/nested-too-deep.md"),
};

/// The id of a node in one [`Tree`]. Ids follow the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    const NONE: NodeId = NodeId(u32::MAX);

    /// Index in the tree's list of nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    fn some(self) -> Option<NodeId> {
        (self != NodeId::NONE).then_some(self)
    }
}

/// The type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// An element.
    Element,
    /// A run of character data, references included.
    Text,
    /// A CDATA section.
    CData,
    /// A comment.
    Comment,
    /// A processing instruction.
    Instruction,
}

/// What every node has; most nodes are whitespace between elements.
#[derive(Debug)]
struct Node {
    span: Span,
    /// For an element, its index in `Tree::tags`; for other nodes, one of the constants below.
    tag: u32,
    parent: NodeId,
    next_sibling: NodeId,
}

/// Stored instead of a tag index in nodes that are not elements; no text is long enough for this many elements.
const INSTRUCTION: u32 = u32::MAX;
const COMMENT: u32 = u32::MAX - 1;
const CDATA: u32 = u32::MAX - 2;
const TEXT: u32 = u32::MAX - 3;
/// Literal whitespace.
const BLANKS: u32 = u32::MAX - 4;

impl Node {
    fn kind(&self) -> NodeKind {
        match self.tag {
            INSTRUCTION => NodeKind::Instruction,
            COMMENT => NodeKind::Comment,
            CDATA => NodeKind::CData,
            TEXT | BLANKS => NodeKind::Text,
            _ => NodeKind::Element,
        }
    }

    fn is_element(&self) -> bool {
        self.tag < BLANKS
    }

    /// The content of a node that is not an element, without delimiters.
    fn inner(&self) -> Span {
        let (before, behind) = match self.kind() {
            NodeKind::CData => (9, 3),
            NodeKind::Comment => (4, 3),
            NodeKind::Instruction => (2, 2),
            NodeKind::Element | NodeKind::Text => (0, 0),
        };
        // In `<!-->` the delimiters of a comment overlap.
        let start = self.span.start + before;
        Span { start, end: (self.span.end - behind).max(start) }
    }
}

/// The additional data of an element. Tags are in the order of the text, which is that of the tree.
#[derive(Debug)]
struct Tag {
    /// The node of the element.
    node: NodeId,
    /// The qualified name.
    name: Span,
    /// End offset of the start tag.
    open_end: u32,
    /// Start offset of the end tag (the end of the element if it has none).
    close_start: u32,
    first_child: NodeId,
    last_child: NodeId,
    first_attribute: u32,
    attribute_count: u16,
    /// Index into `Tree::namespaces`; 0 means no namespace.
    namespace: u16,
    /// Length of the prefix with its colon; 255 if it is longer.
    prefix: u8,
    /// Whether the element has an end tag (or `/>`).
    closed: bool,
    /// Whether it is written `<a/>`.
    empty: bool,
}

/// An attribute as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The qualified name.
    pub name_span: Span,
    /// The value without its quotes; the empty span after the name if there is none.
    pub value_span: Span,
    /// Whether there is a value with matching quotes.
    pub quoted: bool,
}

/// A document type declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doctype {
    /// The whole declaration, from `<!DOCTYPE` to `>`.
    pub span: Span,
    /// Whether it names an external subset (`SYSTEM` or `PUBLIC`).
    pub external: bool,
}

/// A parsed text with its syntax tree. Elements borrow from it.
#[derive(Debug)]
pub struct Tree {
    text: Arc<String>,
    nodes: Vec<Node>,
    tags: Vec<Tag>,
    attributes: Vec<Attribute>,
    namespaces: Vec<Slice>,
    root: NodeId,
    first: NodeId,
    doctype: Option<Doctype>,
    declaration: Option<Span>,
    well_formed: bool,
    /// The result of the strict parser, on demand.
    judged: OnceLock<Option<Diagnostic>>,
    truncated: bool,
}

impl Tree {
    /// Parses any text. Findings come in source order.
    ///
    /// ```
    /// use ankus::syntax::xml::Tree;
    ///
    /// let (tree, findings) = Tree::parse("<a>\n  <ok to=\"end/>\n  <error to=\"kill\"/>\n</a>");
    /// let root = tree.root().unwrap();
    /// let targets: Vec<_> = root.elements().map(|e| e.attribute("to").unwrap().value().text).collect();
    /// assert_eq!(targets, ["end", "kill"]);
    /// assert_eq!(findings.len(), 1);
    /// ```
    pub fn parse(text: &str) -> (Tree, Vec<Diagnostic>) {
        let (tree, mut findings) = Tree::parse_tolerantly(text);
        findings.extend(tree.judge());
        (tree, findings)
    }

    /// The finding of the strict parser, if tolerant parsing found none.
    pub fn judge(&self) -> Option<Diagnostic> {
        self.judged.get_or_init(|| self.strictly()).clone()
    }

    fn strictly(&self) -> Option<Diagnostic> {
        let many = |tag: &Tag| usize::from(tag.attribute_count) > STRICT_LIMIT;
        if !self.well_formed || self.namespaces.len() > STRICT_LIMIT || self.tags.iter().any(many) {
            return None;
        }
        let options =
            roxmltree::ParsingOptions { allow_dtd: self.doctype.is_some(), ..Default::default() };
        let error = roxmltree::Document::parse_with_options(&self.text, options).err()?;
        Some(judged(&self.text, &error))
    }

    /// Parses any text without the final check of the strict parser: rare faults (such as `]]>` in text) may go
    /// unnoticed. For text that is known to be well-formed, or is being typed.
    pub fn parse_tolerantly(text: &str) -> (Tree, Vec<Diagnostic>) {
        Tree::of(&Arc::new(text.to_owned()))
    }

    /// Like [`Tree::parse_tolerantly`], for a shared text.
    pub fn of(text: &Arc<String>) -> (Tree, Vec<Diagnostic>) {
        let mut parser = Parser::new(text);
        parser.run();
        let Parser { mut tree, mut findings, .. } = parser;
        let doctype_only =
            findings.iter().all(|finding| std::ptr::eq(finding.kind, &DOCTYPE_FORBIDDEN));
        tree.well_formed = doctype_only && !tree.truncated;
        findings.sort_by_key(|finding| finding.span);
        (tree, findings)
    }

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, for use beyond the lifetime of the tree.
    pub fn shared(&self) -> Arc<String> {
        self.text.clone()
    }

    /// A part of the text, or text decoded from it, for use beyond the lifetime of the tree.
    pub(crate) fn keep(&self, part: &str) -> Slice {
        Slice::of(&self.text, part)
    }

    /// Whether the text is well-formed XML with namespaces.
    pub fn is_well_formed(&self) -> bool {
        self.well_formed && self.judged.get().is_none_or(Option::is_none)
    }

    /// Whether parsing stopped at [`DEPTH_LIMIT`].
    #[cfg(test)]
    fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// The document element.
    pub fn root(&self) -> Option<Element<'_>> {
        self.element(self.root.some()?)
    }

    /// The document type declaration.
    pub fn doctype(&self) -> Option<Doctype> {
        self.doctype
    }

    /// The `<?xml …?>` declaration.
    pub fn declaration(&self) -> Option<Span> {
        self.declaration
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes in the order of the text, including comments outside the root.
    pub fn nodes(&self) -> impl Iterator<Item = Child<'_>> {
        (0..self.nodes.len()).map(|index| Child { tree: self, id: NodeId(index as u32) })
    }

    /// The node at a place in the order of the text.
    pub(crate) fn nth(&self, index: usize) -> Option<Child<'_>> {
        (index < self.nodes.len()).then_some(Child { tree: self, id: NodeId(index as u32) })
    }

    /// The top-level nodes, including the root, in order.
    pub fn top(&self) -> Children<'_> {
        Children { tree: self, next: self.first }
    }

    /// The element with this id, if the node is one.
    pub fn element(&self, id: NodeId) -> Option<Element<'_>> {
        let node = self.nodes.get(id.index())?;
        node.is_element().then_some(Element { tree: self, id, tag: node.tag })
    }

    /// The innermost element whose span contains `offset`.
    pub(crate) fn element_at(&self, offset: u32) -> Option<Element<'_>> {
        let mut found = self.root().filter(|root| root.span().touches(offset))?;
        while let Some(child) =
            found.elements().find(|child| child.span().start < offset && offset < child.span().end)
        {
            found = child;
        }
        Some(found)
    }

    #[inline]
    fn slice(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    #[inline]
    fn node(&self, id: NodeId) -> &Node {
        look();
        &self.nodes[id.index()]
    }

    /// The additional data of an element.
    #[inline]
    fn tag(&self, id: NodeId) -> &Tag {
        &self.tags[self.node(id).tag as usize]
    }
}

/// A child of an element, of any kind.
#[derive(Clone, Copy, Debug)]
pub struct Child<'t> {
    tree: &'t Tree,
    id: NodeId,
}

impl<'t> Child<'t> {
    /// The id of the node.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// The type of the node.
    pub fn kind(self) -> NodeKind {
        self.tree.node(self.id).kind()
    }

    /// Its span, including delimiters.
    pub fn span(self) -> Span {
        self.tree.node(self.id).span
    }

    /// The text between the delimiters, undecoded (the text of a comment, CDATA or character data as written).
    pub fn raw(self) -> &'t str {
        self.tree.slice(self.raw_span())
    }

    /// The span of [`Child::raw`]; for an element, that of its name.
    pub(crate) fn raw_span(self) -> Span {
        let node = self.tree.node(self.id);
        match node.is_element() {
            true => self.tree.tags[node.tag as usize].name,
            false => node.inner(),
        }
    }

    /// The parent element.
    pub fn parent(self) -> Option<Element<'t>> {
        self.tree.element(self.tree.node(self.id).parent.some()?)
    }

    /// The node as an element, if it is one.
    pub fn element(self) -> Option<Element<'t>> {
        self.tree.element(self.id)
    }

    /// Whether it is character data that consists of whitespace, literal or not.
    pub(crate) fn is_blank(self) -> bool {
        match self.kind() {
            NodeKind::Text if self.is_layout() => true,
            NodeKind::Text => {
                let raw = self.raw();
                raw.contains('&') && is_blank(&decode(raw, self.raw_span().start, Place::Text).text)
            }
            NodeKind::CData => is_blank(self.raw()),
            _ => false,
        }
    }

    /// Whether it is literal whitespace; whitespace written as a reference is intentional.
    pub(crate) fn is_layout(self) -> bool {
        self.tree.node(self.id).tag == BLANKS
    }
}

pub(crate) fn is_blank(text: &str) -> bool {
    text.as_bytes().iter().all(|byte| BLANK[usize::from(*byte)])
}

/// The bytes that are whitespace in XML.
const BLANK: [bool; 256] = {
    let mut table = [false; 256];
    table[b' ' as usize] = true;
    table[b'\t' as usize] = true;
    table[b'\r' as usize] = true;
    table[b'\n' as usize] = true;
    table
};

/// Iterates over siblings.
#[derive(Clone, Debug)]
pub struct Children<'t> {
    tree: &'t Tree,
    next: NodeId,
}

impl<'t> Iterator for Children<'t> {
    type Item = Child<'t>;

    fn next(&mut self) -> Option<Child<'t>> {
        let id = self.next.some()?;
        self.next = self.tree.node(id).next_sibling;
        Some(Child { tree: self.tree, id })
    }
}

/// An element of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Element<'t> {
    tree: &'t Tree,
    id: NodeId,
    /// Its index in `Tree::tags`.
    tag: u32,
}

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.tree, other.tree) && self.id == other.id
    }
}

impl<'t> Element<'t> {
    #[inline]
    fn tag(self) -> &'t Tag {
        look();
        &self.tree.tags[self.tag as usize]
    }

    /// The tree it belongs to.
    pub fn tree(self) -> &'t Tree {
        self.tree
    }

    /// The id of its node.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// The name without its prefix.
    #[inline]
    pub fn name(self) -> &'t str {
        let tag = self.tag();
        if tag.prefix == LONG_PREFIX {
            return self.name_after_long_prefix();
        }
        &self.tree.text[tag.name.start as usize + usize::from(tag.prefix)..tag.name.end as usize]
    }

    /// The name without a prefix whose length is not stored.
    #[cold]
    fn name_after_long_prefix(self) -> &'t str {
        let name = self.qualified_name();
        name.split_once(':').map_or(name, |(_, local)| local)
    }

    /// Whether `name` is its local name. Most names differ in length, which is compared first.
    #[inline]
    pub(crate) fn is(self, name: &str) -> bool {
        let tag = self.tag();
        if tag.prefix == LONG_PREFIX {
            return self.name_after_long_prefix() == name;
        }
        let start = tag.name.start as usize + usize::from(tag.prefix);
        tag.name.end as usize - start == name.len()
            && self.tree.text.as_bytes()[start..tag.name.end as usize] == *name.as_bytes()
    }

    /// The name as written.
    pub fn qualified_name(self) -> &'t str {
        self.tree.slice(self.tag().name)
    }

    /// The prefix, without the colon.
    pub fn prefix(self) -> Option<&'t str> {
        if self.tag().prefix == 0 {
            return None;
        }
        self.qualified_name().split_once(':').map(|(prefix, _)| prefix)
    }

    /// The namespace name; empty if there is none.
    pub fn namespace(self) -> &'t str {
        &self.tree.namespaces[usize::from(self.tag().namespace)]
    }

    /// The namespace name, for use beyond the lifetime of the tree.
    pub(crate) fn namespace_name(self) -> Slice {
        self.tree.namespaces[usize::from(self.tag().namespace)].clone()
    }

    /// A part of the text, or text decoded from it, for use beyond the lifetime of the tree.
    pub(crate) fn keep(self, part: &str) -> Slice {
        self.tree.keep(part)
    }

    /// The span of the name in the start tag.
    pub fn name_span(self) -> Span {
        self.tag().name
    }

    /// The span from `<` to the end of its end tag.
    pub fn span(self) -> Span {
        self.tree.node(self.id).span
    }

    /// The start tag, `<` to `>`.
    pub(crate) fn start_tag(self) -> Span {
        Span { start: self.span().start, end: self.tag().open_end }
    }

    /// The end tag; empty if there is none.
    pub(crate) fn end_tag(self) -> Span {
        Span { start: self.tag().close_start, end: self.span().end }
    }

    /// The span between the tags; empty after the start tag for `<a/>`.
    pub fn content(self) -> Span {
        let tag = self.tag();
        Span { start: tag.open_end, end: tag.close_start.max(tag.open_end) }
    }

    /// Whether it is written `<a/>`.
    pub fn is_empty_tag(self) -> bool {
        self.tag().empty
    }

    /// Whether it is closed (by an end tag, or by `/>`).
    pub(crate) fn is_closed(self) -> bool {
        self.tag().closed
    }

    /// The parent element.
    pub fn parent(self) -> Option<Element<'t>> {
        self.tree.element(self.tree.node(self.id).parent.some()?)
    }

    /// All child nodes.
    pub fn children(self) -> Children<'t> {
        Children { tree: self.tree, next: self.tag().first_child }
    }

    /// All child elements.
    pub fn elements(self) -> Elements<'t> {
        Elements { tree: self.tree, next: self.tag().first_child }
    }

    /// The first child element with this local name.
    pub fn child(self, name: &str) -> Option<Element<'t>> {
        self.elements().find(|element| element.is(name))
    }

    /// The attributes in source order, including namespace declarations.
    pub fn attributes(self) -> impl Iterator<Item = AttributeRef<'t>> + Clone {
        let tag = self.tag();
        let first = tag.first_attribute as usize;
        let tree = self.tree;
        tree.attributes[first..first + usize::from(tag.attribute_count)]
            .iter()
            .map(move |attribute| AttributeRef { tree, attribute: *attribute })
    }

    /// The attribute of this name without a prefix.
    pub fn attribute(self, name: &str) -> Option<AttributeRef<'t>> {
        self.attributes().find(|attribute| attribute.qualified_name() == name)
    }

    /// The namespace name bound to a prefix here (`""` for the default namespace).
    pub(crate) fn resolve_prefix(self, prefix: &str) -> Option<Cow<'t, str>> {
        if prefix == "xml" {
            return Some(Cow::Borrowed(XML_NAMESPACE));
        }
        let mut at = Some(self);
        while let Some(element) = at {
            let found = element.attributes().find(|attribute| attribute.declares() == Some(prefix));
            if let Some(attribute) = found {
                return Some(attribute.value().text);
            }
            at = element.parent();
        }
        None
    }

    /// Its own character data, including CDATA, without that of child elements, and without comments.
    pub fn text(self) -> Decoded<'t> {
        let is_data = |child: &Child<'t>| matches!(child.kind(), NodeKind::Text | NodeKind::CData);
        let mut parts = self.children();
        let Some(first) = parts.find(is_data) else {
            return Decoded::empty(self.tag().open_end);
        };
        let mut decoded = first.decoded();
        for part in parts.filter(is_data) {
            decoded.append(part.decoded());
        }
        decoded
    }

    /// Whether its own character data may contain `byte`, which is not whitespace, literally or as a reference.
    pub(crate) fn may_hold(self, byte: u8) -> bool {
        let data = |kind| matches!(kind, NodeKind::Text | NodeKind::CData);
        let mut data = self.children().filter(|child| data(child.kind()) && !child.is_layout());
        data.any(|child| memchr::memchr2(byte, b'&', child.raw().as_bytes()).is_some())
    }

    /// The element and all elements below it, in order.
    pub fn descendants(self) -> Descendants<'t> {
        // If the root was closed too early, the elements after it belong to it as well.
        let end = if self.id == self.tree.root { u32::MAX } else { self.span().end };
        Descendants { tree: self.tree, next: self.tag, end }
    }
}

/// Iterates over sibling elements.
#[derive(Clone, Debug)]
pub struct Elements<'t> {
    tree: &'t Tree,
    next: NodeId,
}

impl<'t> Iterator for Elements<'t> {
    type Item = Element<'t>;

    fn next(&mut self) -> Option<Element<'t>> {
        loop {
            let id = self.next.some()?;
            let node = self.tree.node(id);
            self.next = node.next_sibling;
            if node.is_element() {
                return Some(Element { tree: self.tree, id, tag: node.tag });
            }
        }
    }
}

/// Iterates over an element and all elements below it, in the order of the tree: all tags from its own up to the first
/// that begins after its end.
#[derive(Clone, Debug)]
pub struct Descendants<'t> {
    tree: &'t Tree,
    next: u32,
    end: u32,
}

impl<'t> Iterator for Descendants<'t> {
    type Item = Element<'t>;

    fn next(&mut self) -> Option<Element<'t>> {
        let tag = self.tree.tags.get(self.next as usize)?;
        // The name follows the `<` at which the element begins.
        if tag.name.start > self.end {
            return None;
        }
        look();
        let element = Element { tree: self.tree, id: tag.node, tag: self.next };
        self.next += 1;
        Some(element)
    }
}

impl<'t> Child<'t> {
    /// The decoded text of character data; for other nodes the literal text.
    pub fn decoded(self) -> Decoded<'t> {
        let place = if self.kind() == NodeKind::Text { Place::Text } else { Place::CData };
        decode(self.raw(), self.raw_span().start, place)
    }
}

/// An attribute with its tree.
#[derive(Clone, Copy, Debug)]
pub struct AttributeRef<'t> {
    tree: &'t Tree,
    attribute: Attribute,
}

impl<'t> AttributeRef<'t> {
    /// The tree it belongs to.
    pub fn tree(self) -> &'t Tree {
        self.tree
    }

    /// The name as written.
    pub fn qualified_name(self) -> &'t str {
        self.tree.slice(self.attribute.name_span)
    }

    /// The name without its prefix.
    pub fn name(self) -> &'t str {
        let name = self.qualified_name();
        name.split_once(':').map_or(name, |(_, local)| local)
    }

    /// The prefix, without the colon.
    pub fn prefix(self) -> Option<&'t str> {
        self.qualified_name().split_once(':').map(|(prefix, _)| prefix)
    }

    /// The prefix that this attribute declares, if it is a namespace declaration; `""` for the default namespace.
    pub fn declares(self) -> Option<&'t str> {
        match self.qualified_name() {
            "xmlns" => Some(""),
            name => name.strip_prefix("xmlns:"),
        }
    }

    /// The span of the name.
    pub fn name_span(self) -> Span {
        self.attribute.name_span
    }

    /// The span of the value, without its quotes.
    pub fn value_span(self) -> Span {
        self.attribute.value_span
    }

    /// Name, equals sign and value with its quotes.
    pub fn span(self) -> Span {
        let closing = u32::from(self.attribute.quoted);
        Span { start: self.attribute.name_span.start, end: self.attribute.value_span.end + closing }
    }

    /// Whether there is a value with matching quotes.
    pub fn is_quoted(self) -> bool {
        self.attribute.quoted
    }

    /// The value as written.
    pub fn raw(self) -> &'t str {
        self.tree.slice(self.attribute.value_span)
    }

    /// The value, decoded and normalized as XML requires (each whitespace character becomes a space).
    pub fn value(self) -> Decoded<'t> {
        decode(self.raw(), self.attribute.value_span.start, Place::Attribute)
    }
}

/// Marks a prefix too long for the field, whose length is computed each time.
const LONG_PREFIX: u8 = 255;

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

#[cfg(test)]
mod tests;
