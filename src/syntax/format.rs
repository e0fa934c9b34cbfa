//! Formats definitions.
//!
//! Takes the text of a file and returns the formatted definition, or a [`Refusal`]. Changes only what no server reads:
//! whitespace between elements and between attributes, the kind of quotes, `<a></a>` for `<a/>`. Text, CDATA, comments
//! and the order of everything stay, byte for byte; so do the line endings of the file and its byte order mark. Blank
//! lines stay too, one at a time, because they separate groups; so do a name and its value on one line, and arguments
//! that share one.
//!
//! Text is never moved, not even where a server trims it: kill messages, ssh arguments and configuration values are
//! taken literally. An element that contains only whitespace keeps it, because the schemas reject `<ok> </ok>`. The
//! result is compared with the original, piece by piece, before it is returned.

use crate::source::Span;
use crate::syntax::xml::{Child, Element, NodeKind, Tree};

/// Line width and indentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Indentation of one level: spaces, or a tab.
    pub indent: String,
    /// Number of columns of one level.
    pub step: usize,
    /// Maximum width in columns; the attributes of a wider tag get a line each.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Style {
        Style { indent: "    ".to_owned(), step: 4, width: 120 }
    }
}

/// Elements that stay on the same line as their neighbor: an option and its value.
const ARGUMENTS: [&str; 2] = ["arg", "argument"];

/// Maximum number of child elements of an element that stays on one line: a name and its value, a folder to create.
const FEW: usize = 2;

/// Elements whose content is always text: whitespace in them is part of a value.
const TEXT_ELEMENTS: [&str; 3] = ["name", "value", "description"];

/// The reason why a text is not formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not well-formed XML (or has a DOCTYPE, which may change what the rest means).
    NotWellFormed,
    /// It would exceed the maximum length that servers accept.
    TooLong(usize),
    /// The result would be read differently at this location: a bug in the formatter.
    Changed(Span),
}

/// Formats a definition. `limit` is the maximum length that the server accepts.
///
/// ```
/// use ankus::syntax::format::{Style, format};
///
/// let text = "<a  x='1'><b></b>\n\n\n<!-- c --><name> n </name></a>";
/// let expected = "<a x=\"1\">\n    <b/>\n\n    <!-- c -->\n    <name> n </name>\n</a>\n";
/// assert_eq!(format(text, &Style::default(), 100_000).unwrap(), expected);
/// ```
pub fn format(text: &str, style: &Style, limit: usize) -> Result<String, Refusal> {
    layout(&Tree::parse(text).0, style, limit)
}

/// Like [`format()`], for a parsed text.
pub fn layout(tree: &Tree, style: &Style, limit: usize) -> Result<String, Refusal> {
    let text = tree.text();
    if !tree.is_well_formed() || tree.doctype().is_some() {
        return Err(Refusal::NotWellFormed);
    }
    // The last line end decides, because every formatted text has one; the first one may be content.
    let decides = if text.ends_with('\n') { text.len().checked_sub(1) } else { text.find('\n') };
    let line_end = match decides {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    };
    let out = String::with_capacity(text.len() + 64);
    let mut printer = Printer { text, style, line_end, out };
    if text.starts_with('\u{feff}') {
        printer.out.push('\u{feff}');
    }
    printer.document(tree);
    let out = printer.out;
    if out.len() > limit && text.len() <= limit {
        return Err(Refusal::TooLong(out.len()));
    }
    if out == text {
        return Ok(out);
    }
    match held(tree, &out) {
        Ok(()) => Ok(out),
        Err(span) => Err(Refusal::Changed(span)),
    }
}

/// Compares a formatted text with its original, piece by piece: everything must be the same except whitespace that is
/// layout or between attributes, the kind of quotes, and the two forms of an empty element. This implies that both are
/// read the same ([`same_reading`]), without parsing the result. `Err` is the first difference.
fn held(tree: &Tree, out: &str) -> Result<(), Span> {
    let mut rest = Rest { out, at: 0 };
    rest.take(if tree.text().starts_with('\u{feff}') { "\u{feff}" } else { "" });
    if let Some(span) = tree.declaration() {
        rest.take(&tree.text()[span.range()]).then_some(()).ok_or(span)?;
    }
    // Open elements, whether each ended with its start tag, and whether its whitespace is layout, computed on demand.
    let mut open: Vec<(Element<'_>, bool, Option<bool>)> = Vec::new();
    for (event, span) in Events::new(tree) {
        let ended = open.last().is_some_and(|(_, ended, _)| *ended);
        if ended && !matches!(event, Event::End) {
            return Err(span);
        }
        if rest.is_at_blank() && !matches!(event, Event::Text(_)) {
            let is_layout = match open.last_mut() {
                Some((parent, _, known)) => *known.get_or_insert_with(|| is_structural(*parent)),
                None => true,
            };
            if is_layout {
                rest.blanks();
            }
        }
        let same = match event {
            Event::Start(element) => {
                let ended = rest.start_tag(element).ok_or(span)?;
                open.push((element, ended, None));
                true
            }
            Event::Text(child) => rest.take(child.raw()),
            Event::CData(raw) => rest.take("<![CDATA[") && rest.take(raw) && rest.take("]]>"),
            Event::Comment(raw) => rest.take("<!--") && rest.take(raw) && rest.take("-->"),
            Event::Instruction(raw) => rest.take("<?") && rest.take(raw) && rest.take("?>"),
            Event::End => {
                let name = open.pop().map_or("", |(element, ..)| element.qualified_name());
                ended || (rest.take("</") && rest.take(name) && rest.take(">"))
            }
        };
        if !same {
            return Err(span);
        }
    }
    rest.blanks();
    let end = Span::at(tree.text().len());
    if rest.at == out.len() && open.is_empty() { Ok(()) } else { Err(end) }
}

/// The part of a formatted text that has not been compared yet.
struct Rest<'o> {
    out: &'o str,
    at: usize,
}

impl Rest<'_> {
    fn take(&mut self, text: &str) -> bool {
        let found = self.out.as_bytes()[self.at..].starts_with(text.as_bytes());
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn is_at_blank(&self) -> bool {
        matches!(self.out.as_bytes().get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n'))
    }

    fn blanks(&mut self) -> bool {
        let from = self.at;
        while self.is_at_blank() {
            self.at += 1;
        }
        self.at > from
    }

    /// Compares a start tag; returns whether it is also the end of the element.
    fn start_tag(&mut self, element: Element<'_>) -> Option<bool> {
        if !self.take("<") || !self.take(element.qualified_name()) {
            return None;
        }
        for attribute in element.attributes() {
            let raw = attribute.raw();
            if !self.blanks() || !self.take(attribute.qualified_name()) || !self.take("=") {
                return None;
            }
            let quote = if self.take("\"") { '"' } else { '\'' };
            let opened = quote == '"' || self.take("'");
            if !opened
                || raw.contains(quote)
                || !self.take(raw)
                || !self.take(quote.encode_utf8(&mut [0; 4]))
            {
                return None;
            }
        }
        self.blanks();
        let ended = self.take("/");
        self.take(">").then_some(ended)
    }
}

/// Whether two texts are the same definition to every reader: names, namespaces, attributes in order, significant
/// text, comments. `Err` is the first location in `before` that differs in `after`.
pub fn same_reading(before: &Tree, after: &Tree) -> Result<(), Span> {
    let mut left = Events::new(before);
    let mut right = Events::new(after);
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ok(()),
            (Some((left, _)), Some((right, _))) if left.reads_as(&right) => {}
            (Some((_, span)), _) => return Err(span),
            (None, Some(_)) => return Err(Span::at(before.text().len())),
        }
    }
}

/// What a reader encounters.
#[derive(Debug)]
pub(crate) enum Event<'t> {
    Start(Element<'t>),
    Text(Child<'t>),
    CData(&'t str),
    Comment(&'t str),
    Instruction(&'t str),
    End,
}

impl Event<'_> {
    /// Whether a reader sees the same. Values that are written identically need no decoding.
    fn reads_as(&self, other: &Event<'_>) -> bool {
        match (self, other) {
            (Event::Start(one), Event::Start(other)) => {
                one.qualified_name() == other.qualified_name()
                    && one.namespace() == other.namespace()
                    && one.attributes().count() == other.attributes().count()
                    && one.attributes().zip(other.attributes()).all(|(one, other)| {
                        one.qualified_name() == other.qualified_name()
                            && (one.raw() == other.raw() || one.value().text == other.value().text)
                    })
            }
            (Event::Text(one), Event::Text(other)) => {
                one.raw() == other.raw() || one.decoded().text == other.decoded().text
            }
            (Event::CData(one), Event::CData(other))
            | (Event::Comment(one), Event::Comment(other))
            | (Event::Instruction(one), Event::Instruction(other)) => one == other,
            (Event::End, Event::End) => true,
            _ => false,
        }
    }
}

/// Walks a tree without recursion.
pub(crate) struct Events<'t> {
    stack: Vec<Open<'t>>,
}

/// An element, or the document, with its remaining children.
struct Open<'t> {
    element: Option<Element<'t>>,
    children: crate::syntax::xml::Children<'t>,
    /// Whether its whitespace is layout, computed on demand.
    is_structural: Option<bool>,
}

impl<'t> Events<'t> {
    pub(crate) fn new(tree: &'t Tree) -> Events<'t> {
        let document = Open { element: None, children: tree.top(), is_structural: Some(true) };
        Events { stack: vec![document] }
    }
}

impl<'t> Iterator for Events<'t> {
    type Item = (Event<'t>, Span);

    fn next(&mut self) -> Option<(Event<'t>, Span)> {
        loop {
            let open = self.stack.last_mut()?;
            let Some(child) = open.children.next() else {
                self.stack.pop();
                return (!self.stack.is_empty()).then_some((Event::End, Span::default()));
            };
            let span = child.span();
            let event = match child.kind() {
                NodeKind::Element => {
                    let element = child.element().expect("its kind says so");
                    let children = element.children();
                    self.stack.push(Open { element: Some(element), children, is_structural: None });
                    Event::Start(element)
                }
                NodeKind::Text => {
                    let element = open.element;
                    let layout = || element.is_some_and(is_structural);
                    if child.is_blank() && *open.is_structural.get_or_insert_with(layout) {
                        continue;
                    }
                    Event::Text(child)
                }
                NodeKind::CData => Event::CData(child.raw()),
                NodeKind::Comment => Event::Comment(child.raw()),
                NodeKind::Instruction => Event::Instruction(child.raw()),
            };
            return Some((event, span));
        }
    }
}

/// Whether the whitespace in an element is layout: it contains elements (or comments on lines of their own) and no
/// text.
fn is_structural(element: Element<'_>) -> bool {
    // Most elements contain a single text.
    let mut children = element.children();
    if let (Some(only), None) = (children.next(), children.next())
        && only.kind() == NodeKind::Text
    {
        return false;
    }
    let (mut holds, mut lines, mut comments) = (false, false, false);
    for child in element.children() {
        match child.kind() {
            NodeKind::Element => holds = true,
            NodeKind::Comment | NodeKind::Instruction => comments = true,
            NodeKind::CData => return false,
            NodeKind::Text if child.is_layout() => lines = lines || child.raw().contains('\n'),
            NodeKind::Text => return false,
        }
    }
    (holds || (comments && lines))
        && !TEXT_ELEMENTS.contains(&element.name())
        && element.attribute("xml:space").is_none()
}

struct Printer<'a> {
    text: &'a str,
    style: &'a Style,
    line_end: &'static str,
    out: String,
}

/// An element that contains only text, on one line.
fn is_leaf(element: Element<'_>) -> bool {
    let text = |kind| matches!(kind, NodeKind::Text | NodeKind::CData);
    element.children().all(|child| text(child.kind()) && !child.raw().contains('\n'))
}

/// Whether an element stays beside its neighbor on a line.
fn is_argument(element: Element<'_>) -> bool {
    ARGUMENTS.contains(&element.name()) && is_leaf(element)
}

impl<'a> Printer<'a> {
    fn document(&mut self, tree: &'a Tree) {
        if let Some(declaration) = tree.declaration() {
            self.out.push_str(&self.text[declaration.range()]);
            self.out.push_str(self.line_end);
        }
        // Each open element with its remaining children; the bottom of the stack is the document.
        let mut stack = vec![(None, tree.top(), tree.declaration().map_or(0, |span| span.end))];
        let mut is_behind_argument = false;
        while let Some((owner, children, behind)) = stack.last_mut() {
            let owner: Option<Element<'a>> = *owner;
            let Some(child) = children.next() else {
                stack.pop();
                is_behind_argument = false;
                if let Some(element) = owner {
                    self.indent(stack.len() - 1);
                    self.out.push_str("</");
                    self.out.push_str(element.qualified_name());
                    self.out.push('>');
                    self.out.push_str(self.line_end);
                }
                continue;
            };
            if child.is_layout() {
                continue;
            }
            let first = owner.map_or(0, |element| element.start_tag().end) == *behind;
            let gap = &self.text[*behind as usize..child.span().start as usize];
            *behind = child.span().end;
            let depth = stack.len() - 1;
            let element = child.element();
            let structural = element.filter(|element| is_structural(*element));
            if let Some(element) = structural
                && self.is_flat(element, depth)
            {
                is_behind_argument = false;
                self.begin(gap, first, depth);
                self.flat(element);
                continue;
            }
            let argument = element.filter(|element| is_argument(*element));
            let follows = std::mem::replace(&mut is_behind_argument, argument.is_some());
            if let Some(element) = argument.filter(|_| follows && !gap.contains('\n'))
                && self.beside(element)
            {
                continue;
            }
            self.child(child, structural.is_some(), depth, gap, first);
            if let Some(element) = structural {
                let behind = element.start_tag().end;
                stack.push((Some(element), element.children(), behind));
            }
        }
    }

    fn child(&mut self, child: Child<'a>, structural: bool, depth: usize, gap: &str, first: bool) {
        let lines = gap.bytes().filter(|byte| *byte == b'\n').count();
        let remark = child.kind() == NodeKind::Comment
            && lines == 0
            && !self.text[child.span().range()].contains('\n')
            && self.out.ends_with(self.line_end);
        if remark && !self.out.is_empty() && !(first && depth == 0) {
            // A comment at the end of a line stays there.
            self.out.truncate(self.out.trim_end_matches(['\r', '\n']).len());
            self.out.push(' ');
        } else {
            self.begin(gap, first, depth);
        }
        match child.element() {
            None => self.out.push_str(&self.text[child.span().range()]),
            Some(element) => self.element(element, structural, depth),
        }
        self.out.push_str(self.line_end);
    }

    /// Starts a line after a gap: blank lines are kept, one at a time.
    fn begin(&mut self, gap: &str, first: bool, depth: usize) {
        if gap.bytes().filter(|byte| *byte == b'\n').count() > 1 && !first {
            self.out.push_str(self.line_end);
        }
        self.indent(depth);
    }

    /// Whether an element that contains elements stays on one line.
    fn is_flat(&self, element: Element<'a>, depth: usize) -> bool {
        let text = &self.text[element.span().range()];
        depth > 0
            && !text.contains('\n')
            && depth * self.style.step + text.chars().count() <= self.style.width
            && element.children().filter(|child| child.element().is_some()).count() <= FEW
            && element.children().all(|child| match child.element() {
                Some(inner) => is_leaf(inner),
                None => child.kind() == NodeKind::Text,
            })
    }

    /// Writes an element and its content on one line.
    fn flat(&mut self, element: Element<'a>) {
        self.element(element, true, 0);
        for child in element.children() {
            if let Some(inner) = child.element() {
                self.element(inner, false, 0);
            }
        }
        self.out.push_str("</");
        self.out.push_str(element.qualified_name());
        self.out.push('>');
        self.out.push_str(self.line_end);
    }

    /// Writes an argument on the line of the previous one, if there is room.
    fn beside(&mut self, element: Element<'a>) -> bool {
        let end = self.out.trim_end_matches(['\r', '\n']).len();
        let line = &self.out[self.out[..end].rfind('\n').map_or(0, |at| at + 1)..end];
        let steps = line.chars().take_while(|letter| *letter == '\t').count();
        let taken = line.chars().count() + steps * (self.style.step - 1);
        let text = &self.text[element.span().range()];
        if taken + 1 + text.chars().count() > self.style.width {
            return false;
        }
        self.out.truncate(end);
        self.out.push(' ');
        self.element(element, false, 0);
        self.out.push_str(self.line_end);
        true
    }

    /// Writes the start tag, and the rest if the content is text.
    fn element(&mut self, element: Element<'a>, structural: bool, depth: usize) {
        let name = element.qualified_name();
        self.out.push('<');
        self.out.push_str(name);
        let content = element.content();
        let empty = !structural && content.range().is_empty();
        let count = element.attributes().count();
        let broken = count > 1 && {
            let width = |text: &str| text.chars().count();
            // Each takes a space, `=` and two quotes.
            let attributes = element
                .attributes()
                .map(|each| 4 + width(each.qualified_name()) + width(each.raw()));
            let end = if empty { 2 } else { 1 };
            let taken = depth * self.style.step + 1 + name.len();
            taken + attributes.sum::<usize>() + end > self.style.width
        };
        for (index, attribute) in element.attributes().enumerate() {
            if broken && index > 0 {
                self.out.push_str(self.line_end);
                self.indent(depth + 2);
            } else {
                self.out.push(' ');
            }
            let raw = attribute.raw();
            let quote = if raw.contains('"') { '\'' } else { '"' };
            self.out.push_str(attribute.qualified_name());
            self.out.push('=');
            self.out.push(quote);
            self.out.push_str(raw);
            self.out.push(quote);
        }
        self.out.push_str(if empty { "/>" } else { ">" });
        if !structural && !empty {
            self.out.push_str(&self.text[content.range()]);
            self.out.push_str("</");
            self.out.push_str(name);
            self.out.push('>');
        }
    }

    fn indent(&mut self, depth: usize) {
        for _ in 0..depth {
            self.out.push_str(&self.style.indent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text: &str, limit: usize) -> Result<String, Refusal> {
        format(text, &Style::default(), limit)
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        check_in(&Style::default(), text, expected);
    }

    #[track_caller]
    fn check_in(style: &Style, text: &str, expected: &str) {
        let out = format(text, style, usize::MAX).expect("formats");
        assert_eq!(out, expected);
        assert_eq!(format(&out, style, usize::MAX).expect("formats again"), out, "settles at once");
    }

    #[test]
    fn names_stay_beside_their_values() {
        check(
            "<c><property><name>a</name> <value>b</value></property>\n<property>\n<name>a</name><value>b</value></property></c>",
            "<c>\n    <property><name>a</name><value>b</value></property>\n    <property>\n        <name>a</name>\n        <value>b</value>\n    </property>\n</c>\n",
        );
        check(
            "<c><arg>--in</arg><arg> x</arg>\n<arg>--out</arg>  <arg>y</arg><!-- c --><arg>z</arg><b/><arg>v</arg></c>",
            "<c>\n    <arg>--in</arg> <arg> x</arg>\n    <arg>--out</arg> <arg>y</arg> <!-- c -->\n    <arg>z</arg>\n    <b/>\n    <arg>v</arg>\n</c>\n",
        );
        let narrow = Style { indent: "\t".to_owned(), step: 8, width: 40 };
        check_in(
            &narrow,
            "<c><arg>a</arg><arg>b</arg><arg>c</arg><arg>d</arg><property><name>long</name><value>longer</value></property></c>",
            "<c>\n\t<arg>a</arg> <arg>b</arg>\n\t<arg>c</arg> <arg>d</arg>\n\t<property>\n\t\t<name>long</name>\n\t\t<value>longer</value>\n\t</property>\n</c>\n",
        );
    }

    #[test]
    fn elements_get_a_line_and_text_stays() {
        check(
            "<?xml version='1.0'?><w  xmlns=\"u\"\n  name='n' ><start to=\"a\" />\n\n\n\n<arg>\n  x </arg><ok to=\"b\"></ok><m> </m></w>",
            "<?xml version='1.0'?>\n<w xmlns=\"u\" name=\"n\">\n    <start to=\"a\"/>\n\n    <arg>\n  x </arg>\n    <ok to=\"b\"/>\n    <m> </m>\n</w>\n",
        );
    }

    #[test]
    fn quotes_that_are_needed_stay() {
        check("<a x='say \"no\"' y='&lt;'/>", "<a x='say \"no\"' y=\"&lt;\"/>\n");
    }

    #[test]
    fn comments_stay_where_they_are() {
        check(
            "<!-- top --><a><!-- in --><b/> <!-- behind b -->\n<!-- before c\n  -->\n<c><!-- only --></c><d>\n<!-- x --></d></a><!-- last -->",
            "<!-- top -->\n<a> <!-- in -->\n    <b/> <!-- behind b -->\n    <!-- before c\n  -->\n    <c><!-- only --></c>\n    <d>\n        <!-- x -->\n    </d>\n</a> <!-- last -->\n",
        );
    }

    #[test]
    fn values_keep_their_blanks_and_sections() {
        let text = "<p>\n    <value> <b/> </value>\n    <t><![CDATA[ a ]]></t>\n    <x>a <i/> b</x>\n    <y>&#32;<i/></y>\n</p>\n";
        check(text, text);
    }

    #[test]
    fn long_tags_are_broken() {
        let long = "x".repeat(100);
        check(
            &format!("<a one='{long}' two='{long}'><b/></a>"),
            &format!("<a one=\"{long}\"\n        two=\"{long}\">\n    <b/>\n</a>\n"),
        );
    }

    #[test]
    fn line_ends_and_mark_stay() {
        check(
            "\u{feff}<a>\r\n<b/><c>x\ny</c></a>",
            "\u{feff}<a>\r\n    <b/>\r\n    <c>x\ny</c>\r\n</a>\r\n",
        );
    }

    #[test]
    fn mixed_line_ends_settle() {
        let once = formatted("\r\n<name>\n</name>", usize::MAX).expect("it is well-formed");
        assert_eq!(once, "<name>\n</name>\r\n");
        assert_eq!(formatted(&once, usize::MAX), Ok(once.clone()));
    }

    #[test]
    fn what_cannot_be_proven_is_refused() {
        for text in ["<a>", "<!DOCTYPE a><a/>", "", "<a>&x;</a>"] {
            assert_eq!(formatted(text, usize::MAX), Err(Refusal::NotWellFormed), "{text}");
        }
        assert_eq!(formatted("<a><b/></a>", 12), Err(Refusal::TooLong(18)));
    }

    #[test]
    fn what_is_no_layout_of_it_is_noticed() {
        let text = "<a x='1'><b/><!-- c --><n> t <i/></n><v><![CDATA[d]]></v><?p q?></a>";
        let (tree, _) = Tree::parse(text);
        let good = formatted(text, usize::MAX).expect("formats");
        assert_eq!(held(&tree, &good), Ok(()));
        for (from, to) in [
            ("x=\"1\"", "x=\"2\""),
            ("x=\"1\"", ""),
            ("<b/>", "<b></b>x"),
            ("<b/>", ""),
            ("<b/>", "<c/>"),
            (" t ", " t"),
            ("<i/>", "<i>"),
            (" c ", " c"),
            ("[d]", "[ d]"),
            ("?p q?", "?p?"),
            ("</v>", "</v> </v>"),
            ("</a>", ""),
            ("</a>", "</a><a/>"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "{from}");
            assert!(held(&tree, &bad).is_err(), "{bad}");
        }
        assert_eq!(held(&tree, &good.replacen("<b/>", "<b></b>", 1)), Ok(()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_reads_the_same_and_settles(text in "(<[abc]( x=\"[1 &]?\"| y='\"')?/?>|</[abc]>|t|&lt;|<!-- c -->|<!\\[CDATA\\[ \\]\\]>|<name>|</name>|[ \n\r]{1,3}|<\\?p q\\?>){0,14}") {
            match formatted(&text, usize::MAX) {
                Ok(out) => {
                    proptest::prop_assert_eq!(formatted(&out, usize::MAX), Ok(out.clone()));
                    let (before, after) = (Tree::parse(&text).0, Tree::parse(&out).0);
                    proptest::prop_assert_eq!(same_reading(&before, &after), Ok(()));
                }
                Err(refusal) => proptest::prop_assert_eq!(refusal, Refusal::NotWellFormed),
            }
        }
    }
}
