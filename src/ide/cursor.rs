//! Determines the context of a cursor in incomplete XML, only from the text before it.
//!
//! The tree of a text that is being typed may have moved the elements around the cursor; the text before the cursor
//! shows what its author means. Takes a text and an offset, and returns the open elements and the part of the last one
//! that is being typed.

use crate::source::Span;
use memchr::{memchr, memchr2, memmem};

/// An element that is open at the cursor.
#[derive(Clone, Debug, Default)]
pub(super) struct Open<'t> {
    /// Its name, as written.
    pub(super) name: &'t str,
    /// Its namespace; empty if none is declared.
    pub(super) namespace: &'t str,
    /// Its attributes: names and values, as written.
    pub(super) attributes: Vec<(&'t str, &'t str)>,
    /// The names of its child elements so far, with their namespaces.
    pub(super) children: Vec<(&'t str, &'t str)>,
    /// Start offset of its content.
    content: usize,
}

impl Open<'_> {
    /// Its local name.
    pub(super) fn local(&self) -> &str {
        local(self.name)
    }
}

/// A name without its prefix.
pub(super) fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// The syntactic context of the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typing<'t> {
    /// The name of an element, after `<`.
    Tag,
    /// The name in an end tag, after `</`.
    EndTag,
    /// Between the attributes of the last open element, or in the name of one.
    Attribute,
    /// The value of an attribute, from after its opening quote.
    Value(&'t str),
    /// Content of the last open element, after its start tag or its last child.
    Content,
    /// A comment, an instruction, a declaration: nothing is offered there.
    Nothing,
}

/// The context of the cursor.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'t> {
    /// The open elements, the root first; the last one may be the element whose tag is being typed.
    pub(super) open: Vec<Open<'t>>,
    /// The syntactic context.
    pub(super) typing: Typing<'t>,
    /// Its start offset: after `<`, after the quote, or at the start of the content.
    pub(super) start: usize,
}

/// Scans the text before `offset`. `over` contains the first children of the root that are known to be complete before
/// it: their content is skipped.
pub(super) fn cursor<'t>(text: &'t str, offset: usize, over: &[Span]) -> Cursor<'t> {
    let offset = text.floor_char_boundary(offset.min(text.len()));
    let mut reader = Reader { text: &text[..offset], open: Vec::new(), at: 0 };
    let (typing, start) = reader.run(over);
    // The children of the root matter where further ones can follow.
    if let [root] = reader.open.as_mut_slice() {
        let behind = std::mem::take(&mut root.children);
        over.iter().for_each(|child| reader.child(*child));
        reader.open[0].children.extend(behind);
    }
    Cursor { open: reader.open, typing, start }
}

/// The word around an offset: letters of names, and the characters in `also`.
pub(super) fn word(text: &str, offset: usize, also: &[char]) -> Span {
    let offset = text.floor_char_boundary(offset.min(text.len()));
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-') || also.contains(&c);
    let before = text[..offset].trim_end_matches(is_word).len();
    let behind = &text[offset..];
    let behind = behind.len() - behind.trim_start_matches(is_word).len();
    Span::new(before, offset + behind)
}

/// Whether a byte separates the parts of a tag.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

struct Reader<'t> {
    text: &'t str,
    open: Vec<Open<'t>>,
    at: usize,
}

impl<'t> Reader<'t> {
    fn run(&mut self, over: &[Span]) -> (Typing<'t>, usize) {
        let mut content = 0;
        let mut over = over.first().zip(over.last());
        while let Some(less) = memchr(b'<', &self.text.as_bytes()[self.at..]) {
            let start = self.at + less;
            let rest = &self.text[start..];
            let is_skipped = matches!(rest.as_bytes().get(1), Some(b'!' | b'?'));
            let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
            let mut skipped = skipped.iter().filter(|_| is_skipped);
            if let Some((begin, end)) = skipped.find(|(begin, _)| rest.starts_with(begin)) {
                let from = begin.len().min(rest.len());
                let Some(length) = memmem::find(&rest.as_bytes()[from..], end.as_bytes()) else {
                    // Expressions can be in CDATA as well.
                    let typing = match *begin {
                        "<![CDATA[" => Typing::Content,
                        _ => Typing::Nothing,
                    };
                    return (typing, start + from);
                };
                self.at = start + from + length + end.len();
                continue;
            }
            if let Some(rest) = rest.strip_prefix("</") {
                let Some(end) = memchr2(b'>', b'<', rest.as_bytes()) else {
                    return (Typing::EndTag, start + 2);
                };
                self.close(local(rest[..end].trim()));
                self.at = start + 2 + end + usize::from(rest.as_bytes()[end] == b'>');
                content = self.at;
                continue;
            }
            if let Some(found) = self.tag(start) {
                return found;
            }
            if let Some((_, last)) = over.take_if(|(first, _)| self.at <= first.start as usize) {
                self.at = last.end as usize;
            }
            content = self.at;
        }
        let begin = self.open.last().map_or(0, |open| open.content);
        (Typing::Content, content.max(begin))
    }

    /// An end tag closes the last open element with its name, if there is one.
    fn close(&mut self, name: &str) {
        if let Some(at) = self.open.iter().rposition(|open| open.local() == name) {
            self.open.truncate(at);
        }
    }

    /// Scans a start tag; returns the context if the text ends in it.
    fn tag(&mut self, start: usize) -> Option<(Typing<'t>, usize)> {
        let text = self.text;
        let rest = &text[start + 1..];
        let is_end = |byte: u8| is_blank(byte) || matches!(byte, b'>' | b'/' | b'<');
        let Some(length) = rest.bytes().position(is_end) else {
            return Some((Typing::Tag, start + 1));
        };
        let mut element = Open { name: &rest[..length], ..Open::default() };
        let mut at = start + 1 + length;
        loop {
            let rest = &text[at..];
            at += rest.bytes().take_while(|byte| is_blank(*byte)).count();
            let rest = &text[at..];
            match rest.as_bytes().first() {
                None => {
                    self.push(element, at);
                    return Some((Typing::Attribute, at));
                }
                Some(b'>') => {
                    self.at = at + 1;
                    self.push(element, at + 1);
                    return None;
                }
                Some(b'/') if rest.starts_with("/>") => {
                    self.at = at + 2;
                    self.push(element, at + 2);
                    self.open.pop();
                    return None;
                }
                Some(b'/') if rest.len() > 1 => {
                    at += 1;
                    continue;
                }
                Some(b'/') => {
                    self.push(element, at);
                    return Some((Typing::Nothing, at));
                }
                // The tag was never closed.
                Some(b'<') => {
                    self.at = at;
                    self.push(element, at);
                    return None;
                }
                _ => {}
            }
            let ends = |byte: u8| is_blank(byte) || matches!(byte, b'=' | b'>' | b'<' | b'/');
            let Some(length) = rest.bytes().position(ends) else {
                self.push(element, at);
                return Some((Typing::Attribute, at));
            };
            let name = &rest[..length];
            let behind = rest[length..].trim_start();
            let Some(value) = behind.strip_prefix('=') else {
                at += length.max(1);
                continue;
            };
            let value = value.trim_start();
            let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                at = text.len() - value.len();
                match value.is_empty() {
                    true => {
                        self.push(element, at);
                        return Some((Typing::Nothing, at));
                    }
                    false => continue,
                }
            };
            let from = text.len() - value.len() + 1;
            let inner = &text[from..];
            match memchr2(quote as u8, b'<', inner.as_bytes()) {
                Some(end) if inner[end..].starts_with(quote) => {
                    element.attributes.push((name, &inner[..end]));
                    at = from + end + 1;
                }
                // The quote was not closed before the next tag.
                Some(end) => at = from + end,
                None => {
                    self.push(element, from);
                    return Some((Typing::Value(name), from));
                }
            }
        }
    }

    /// Records a child of the root without its content.
    fn child(&mut self, place: Span) {
        self.tag(place.start as usize);
        self.open.truncate(1);
    }

    fn push(&mut self, mut element: Open<'t>, content: usize) {
        let prefix = element.name.split_once(':').map(|(prefix, _)| prefix);
        let declared = |attributes: &[(&'t str, &'t str)]| {
            attributes.iter().find_map(|(name, value)| match (prefix, name.strip_prefix("xmlns")) {
                (None, Some("")) => Some(*value),
                (Some(prefix), Some(rest)) if rest.strip_prefix(':') == Some(prefix) => {
                    Some(*value)
                }
                _ => None,
            })
        };
        let own = declared(&element.attributes);
        let above = || self.open.iter().rev().find_map(|open| declared(&open.attributes));
        element.namespace = own.or_else(above).unwrap_or_default();
        element.content = content;
        if let Some(parent) = self.open.last_mut() {
            parent.children.push((local(element.name), element.namespace));
        }
        self.open.push(element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, open: &str, typing: Typing<'_>, typed: &str) {
        let cursor = cursor(text, text.len(), &[]);
        let names: Vec<&str> = cursor.open.iter().map(Open::local).collect();
        assert_eq!((names.join(" ").as_str(), &cursor.typing), (open, &typing));
        assert_eq!(&text[cursor.start..], typed);
    }

    #[test]
    fn what_is_typed_is_known_from_what_is_before_it() {
        check("<a><b/><c x='1'>te", "a c", Typing::Content, "te");
        check("<a><b/><", "a", Typing::Tag, "");
        check("<a><b/><s:in", "a", Typing::Tag, "s:in");
        check("<a><b></", "a b", Typing::EndTag, "");
        check("<a><b t", "a b", Typing::Attribute, "t");
        check("<a><b to='x' ", "a b", Typing::Attribute, "");
        check("<a><b to=\"x", "a b", Typing::Value("to"), "x");
        check("<a><b to=", "a b", Typing::Nothing, "");
        check("<a><!-- <b", "a", Typing::Nothing, " <b");
        check("<a><![CDATA[ ${", "a", Typing::Content, " ${");
    }

    #[test]
    fn what_was_left_open_does_not_hide_what_follows() {
        check("<a><b to='x><c n='1'>t", "a b c", Typing::Content, "t");
        check("<a><b <c>", "a b c", Typing::Content, "");
        check("<a><b></c></b><d>", "a d", Typing::Content, "");
    }

    #[test]
    fn children_that_are_known_to_be_over_are_passed_by() {
        let text = "<?xml version='1.0'?><!-- <b> --><a xmlns='n'> <b x='1'><c/></b><!-- <d> --><s:e \
                    xmlns:s='m' s:f='>'/>\n<g><![CDATA[</g>]]></g><h i='j'>k</h> </a>";
        let (tree, findings) = crate::syntax::xml::Tree::parse(text);
        assert!(findings.is_empty());
        let children: Vec<Span> = tree.root().unwrap().elements().map(|e| e.span()).collect();
        // The children of elements that cannot be continued are not compared.
        let shown = |mut cursor: Cursor<'_>| {
            let last = cursor.open.len().saturating_sub(1);
            cursor.open[..last].iter_mut().for_each(|open| open.children.clear());
            format!("{cursor:?}")
        };
        for at in 0..=text.len() {
            let whole = shown(cursor(text, at, &[]));
            for known in 0..=children.partition_point(|child| child.end as usize <= at) {
                let quick = cursor(text, at, &children[..known]);
                assert_eq!(shown(quick), whole, "{at} {known}");
            }
        }
    }

    #[test]
    fn namespaces_are_those_in_reach() {
        let text = "<a xmlns='n' xmlns:s='m'><s:b><c><d xmlns='o'/>";
        let cursor = cursor(text, text.len(), &[]);
        let namespaces: Vec<&str> = cursor.open.iter().map(|open| open.namespace).collect();
        assert_eq!(namespaces, ["n", "m", "n"]);
        assert_eq!(cursor.open[2].children, [("d", "o")]);
    }
}
