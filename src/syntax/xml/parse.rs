//! Builds a tree from events, with recovery after each error.

mod slips;
mod tag;

use foldhash::{HashSet, HashSetExt};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use memchr::{memchr, memchr2};
use quick_xml::Reader;
use quick_xml::events::Event;
use quick_xml::parser::{ElementParser, Parser as _};

use super::decode::{Place, decode, reference};
use super::{
    Attribute, BLANKS, CDATA, COMMENT, DEPTH_LIMIT, DOCTYPE_FORBIDDEN, Doctype, FINDING_LIMIT,
    INSTRUCTION, LONG_PREFIX, MOVE_LIMIT, NESTED_TOO_DEEP, NOT_WELL_FORMED, Node, NodeId, NodeKind,
    TEXT, Tree, VAIN_LIMIT, is_blank,
};
use crate::budget;
use crate::diag::{Diagnostic, Fault, Fix};
use crate::source::Span;
use crate::syntax::scope::{Namespaces, Prefixes};

/// Maximum number of preceding elements compared to find out how an element was meant.
const MOST_COMPARED: usize = 64;

pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) tree: Tree,
    pub(super) findings: Vec<Diagnostic>,
    /// Open elements, the root first, with the number of prefixes declared before each.
    open: Vec<(NodeId, u32)>,
    prefixes: Prefixes<'a>,
    namespaces: Namespaces<'a>,
    last_top: NodeId,
    moves: usize,
    /// How far the event stream has read.
    reached: usize,
    extra_root: bool,
    /// Undeclared prefixes that were reported: a forgotten declaration is missing everywhere.
    undeclared: HashSet<&'a str>,
}

/// A parsed start tag.
struct Tag {
    name: Span,
    first_attribute: usize,
    empty: bool,
    end: usize,
}

/// The type of the first token of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Met {
    StartTag,
    EndTag,
    Text,
    CData,
    Comment,
    Instruction,
    Declaration,
    Doctype,
    /// A construct without an end.
    Error,
}

/// Determines the first token of a text and its length. Text and tags, which are nearly everything, are recognized
/// here as quick-xml does, which would additionally validate each event as UTF-8 and keep the names of open elements.
fn met(text: &str) -> Option<(Met, usize)> {
    let bytes = text.as_bytes();
    match (bytes.first()?, bytes.get(1)) {
        (b'<', None | Some(b'!' | b'?')) | (b'&', _) => {}
        (b'<', Some(second)) => {
            let met = if *second == b'/' { Met::EndTag } else { Met::StartTag };
            // A fast path for tags without attributes.
            let name = bytes[1..].iter().take_while(|byte| is_name_byte(**byte)).count();
            if bytes.get(1 + name) == Some(&b'>') {
                return Some((met, name + 2));
            }
            let end = ElementParser::Outside.feed(bytes)?;
            return Some((met, end + 1));
        }
        _ => {
            let length = memchr2(b'<', b'&', bytes).unwrap_or(bytes.len());
            return Some((Met::Text, length));
        }
    }
    let mut reader = Reader::from_str(text);
    reader.config_mut().allow_dangling_amp = true;
    let met = match reader.read_event().ok()? {
        Event::CData(_) => Met::CData,
        Event::Comment(_) => Met::Comment,
        Event::PI(_) => Met::Instruction,
        Event::Decl(_) => Met::Declaration,
        Event::DocType(_) => Met::Doctype,
        Event::Text(_) | Event::GeneralRef(_) => Met::Text,
        Event::Start(_) | Event::Empty(_) | Event::End(_) | Event::Eof => return None,
    };
    Some((met, reader.buffer_position() as usize))
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a Arc<String>) -> Parser<'a> {
        let tree = Tree {
            text: text.clone(),
            nodes: Vec::with_capacity(text.len() / 24),
            tags: Vec::with_capacity(text.len() / 48),
            attributes: Vec::with_capacity(text.len() / 96),
            namespaces: Vec::new(),
            root: NodeId::NONE,
            first: NodeId::NONE,
            doctype: None,
            declaration: None,
            well_formed: false,
            judged: OnceLock::new(),
            truncated: false,
        };
        Parser {
            text,
            tree,
            findings: Vec::new(),
            open: Vec::new(),
            prefixes: Prefixes::default(),
            namespaces: Namespaces::new(vec![Cow::Borrowed("")]),
            last_top: NodeId::NONE,
            moves: 0,
            reached: 0,
            extra_root: false,
            undeclared: HashSet::new(),
        }
    }

    fn report(&mut self, finding: Diagnostic) {
        if self.findings.len() < FINDING_LIMIT {
            self.findings.push(finding);
        }
    }

    fn broken(&mut self, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::new(&NOT_WELL_FORMED, span, message));
    }

    fn faulty(&mut self, fault: Fault, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::new(&NOT_WELL_FORMED, span, message).of(fault));
    }

    /// Parses the whole text, restarting wherever the event stream lost its way.
    pub(super) fn run(&mut self) {
        let mut from = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
        let mut vain = 0;
        while let Some(again) = self.read(from) {
            // The end of an unclosed construct is searched for in the whole rest of the text, after each restart.
            vain += self.reached - again.min(self.reached);
            if vain > VAIN_LIMIT {
                let span = Span::at(again);
                self.findings.truncate(FINDING_LIMIT - 1);
                self.broken(span, "too much is broken here; the rest is not read");
                break;
            }
            from = again;
        }
        self.close_beyond(0, self.text.len());
        // The capacities were estimates, and trees are kept.
        self.tree.nodes.shrink_to_fit();
        self.tree.tags.shrink_to_fit();
        self.tree.attributes.shrink_to_fit();
        let namespaces = std::mem::take(&mut self.namespaces.list);
        self.tree.namespaces = namespaces.iter().map(|name| self.tree.keep(name)).collect();
        // The event stream splits text at each `&`; a `&&` is visible only in the whole text.
        let any = memchr(b'&', self.text.as_bytes()).is_some();
        for index in (0..self.tree.nodes.len()).take_while(|_| any) {
            let node = &self.tree.nodes[index];
            let raw = &self.text[node.span.range()];
            if node.tag == TEXT && raw.contains('&') {
                self.references(node.span.start as usize, raw);
            }
        }
        if self.tree.root == NodeId::NONE && !self.tree.truncated {
            let blank = self.text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty();
            let message =
                if blank { "the file is empty" } else { "there is no element: this is not XML" };
            if blank || self.findings.is_empty() {
                let first_line = self.text.lines().next().map_or(0, str::len);
                self.broken(Span::new(0, first_line), message);
            }
        }
    }

    /// Reads from `from`. Returns the offset at which to restart, if that is necessary.
    fn read(&mut self, from: usize) -> Option<usize> {
        // The event stream drops a byte order mark without counting it.
        let marks = self.text[from..].chars().take_while(|character| *character == '\u{feff}');
        let base = from + marks.map(char::len_utf8).sum::<usize>();
        let mut events = 0_u32;
        let mut end = base;
        while end < self.text.len() {
            let start = end;
            events += 1;
            if events.is_multiple_of(1_024) && budget::spent() {
                return None;
            }
            if let Some(behind) = self.plain_end(start) {
                (end, self.reached) = (behind, behind);
                continue;
            }
            let (met, behind) = met(&self.text[start..]).unwrap_or((Met::Error, 0));
            end = start + behind;
            self.reached = if met == Met::Error { self.text.len() } else { end };
            match met {
                Met::StartTag => {
                    if let Some(again) = self.start_tag(start, end) {
                        return Some(again);
                    }
                    if self.tree.truncated {
                        return None;
                    }
                }
                Met::EndTag => {
                    if let Some(again) = self.end_tag(start, end) {
                        return Some(again);
                    }
                }
                Met::Text => self.character_data(start, end),
                Met::CData => {
                    if self.open.is_empty() {
                        self.broken(Span::new(start, end), "text outside the root element");
                    }
                    self.leaf(NodeKind::CData, start, end);
                }
                Met::Comment => self.leaf(NodeKind::Comment, start, end),
                Met::Instruction => self.leaf(NodeKind::Instruction, start, end),
                Met::Declaration => self.declaration(start, end),
                Met::Doctype => self.doctype(start, end),
                Met::Error => return self.recover(start),
            }
        }
        None
    }

    /// Recovers after the event stream gave up at `start`: something that begins there never ends.
    fn recover(&mut self, start: usize) -> Option<usize> {
        let rest = &self.text[start..];
        let Some(markup) = rest.find('<') else {
            self.character_data(start, self.text.len());
            return None;
        };
        let start = start + markup;
        let rest = &self.text[start..];
        let line_end = rest.find(['\r', '\n']).map_or(self.text.len(), |length| start + length);
        let unclosed = [
            ("<!--", Fault::OpenComment, "this comment is never closed"),
            ("<![CDATA[", Fault::OpenSection, "this CDATA section is never closed"),
        ];
        if let Some((opening, fault, message)) =
            unclosed.iter().find(|(opening, ..)| rest.starts_with(opening))
        {
            self.faulty(*fault, Span::new(start, start + opening.len()), *message);
            // Probably only the first line was meant to be inside; the rest is worth parsing.
            return (line_end < self.text.len()).then_some(line_end);
        }
        if let Some(behind) = self.slipped_comment(start).or_else(|| self.conflict(start)) {
            return (behind < self.text.len()).then_some(behind);
        }
        if rest.starts_with("<?") || rest.starts_with("<!") {
            let opening = Span::new(start, start + 2);
            self.faulty(Fault::OpenSection, opening, "this declaration is never closed");
            return (line_end < self.text.len()).then_some(line_end);
        }
        if rest.starts_with("</") {
            return self
                .end_tag(start, self.text.len())
                .or(Some(self.text.len()).filter(|end| *end < self.text.len()));
        }
        self.start_tag(start, self.text.len())
    }

    /// Parses an intended comment whose opening delimiter has a typo: a hyphen or the `!` is missing, or a word
    /// processor turned hyphens into dashes. Such a comment still has an end. Returns the offset after it.
    fn slipped_comment(&mut self, start: usize) -> Option<usize> {
        let is_dash = |c: char| c == '-' || ('\u{2010}'..='\u{2015}').contains(&c);
        let rest = self.text[start..].strip_prefix('<')?;
        let inner = rest.strip_prefix('!').unwrap_or(rest);
        let signs = &inner[..inner.find(|c| !is_dash(c)).unwrap_or(inner.len())];
        // Without a `!`, a single hyphen does not indicate a comment.
        let is_begun = if inner.len() < rest.len() { !signs.is_empty() } else { signs == "--" };
        if !is_begun || signs.len() > 8 {
            return None;
        }
        let opening = self.text.len() - start - inner.len() + signs.len();
        // The comment must end before the next one begins.
        let body = &inner[signs.len()..];
        let next = if inner.len() < rest.len() { "<!" } else { "<" };
        let body = &body[..body.find(next).unwrap_or(body.len())];
        let plain = body.find("-->").map(|at| at + 3);
        let slipped = || {
            let mut ends = body.match_indices('>').map(|(at, _)| at);
            ends.find(|at| body[..*at].ends_with(is_dash)).map(|at| at + 1)
        };
        let end = plain.or_else(|| slipped().filter(|_| inner.len() < rest.len()))?;
        let message = match plain {
            Some(_) => "a comment begins with `<!--`",
            None => "a comment begins with `<!--` and ends with `-->`",
        };
        let opening = Span::new(start, start + opening);
        self.report(Diagnostic::new(&NOT_WELL_FORMED, opening, message).about("comment"));
        Some(opening.end as usize + end)
    }

    /// Parses `text[start..end]`, a start tag according to the event stream. Returns the offset at which to continue,
    /// if that is not `end`.
    fn start_tag(&mut self, start: usize, end: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let name_end = start + 1 + self.name_length(start + 1, end);
        let delimiter = bytes.get(name_end).filter(|_| name_end < end);
        let named = is_name_start(bytes.get(start + 1).copied().unwrap_or(b' '))
            && delimiter.is_none_or(|byte| {
                matches!(
                    byte,
                    b' ' | b'\t' | b'\r' | b'\n' | b'/' | b'>' | b'<' | b'"' | b'\'' | b'='
                )
            });
        if !named {
            if let Some(behind) = self.slipped_comment(start) {
                return Some(behind).filter(|at| *at < self.text.len());
            }
            if let Some(behind) = self.conflict(start) {
                return Some(behind).filter(|at| *at < self.text.len());
            }
            if let Some(less) = self.apart(start, end) {
                return self.tag_apart(start, less, end);
            }
            if let Some(name) = self.end_apart(start, end) {
                return self.end_tag_apart(start, name, end);
            }
            let finding = Diagnostic::new(
                &NOT_WELL_FORMED,
                Span::new(start, start + 1),
                "a bare `<` does not start an element",
            )
            .of(Fault::BareLess)
            .help("write `&lt;`, or in an expression `lt`")
            .fix(Fix::guess("Write `&lt;`", Span::new(start, start + 1), "&lt;"));
            self.report(finding);
            self.text_node(start, start + 1);
            return Some(start + 1);
        }

        self.named_tag(start, start, end)
    }

    /// Parses the start tag at `start` whose name begins after `less`.
    fn named_tag(&mut self, start: usize, less: usize, end: usize) -> Option<usize> {
        let tag = self.tag(less, less + 1 + self.name_length(less + 1, end), end);
        let again =
            (tag.end != end || self.text.as_bytes().get(end - 1) != Some(&b'>')).then_some(tag.end);
        if self.open.len() >= DEPTH_LIMIT {
            let message =
                format!("elements nest more than {DEPTH_LIMIT} deep; the rest is not read");
            self.report(Diagnostic::new(&NESTED_TOO_DEEP, tag.name, message));
            self.tree.truncated = true;
            return None;
        }
        self.element(start, tag);
        again.filter(|at| *at < self.text.len())
    }

    fn name_length(&self, start: usize, end: usize) -> usize {
        self.text.as_bytes()[start..end].iter().take_while(|byte| is_name_byte(**byte)).count()
    }

    /// Parses the end tag of the innermost element, if a regular one is at `start`: nearly every end tag is. Returns
    /// the offset after it.
    fn plain_end(&mut self, start: usize) -> Option<usize> {
        let rest = self.text.as_bytes()[start..].strip_prefix(b"</")?;
        let (id, before) = *self.open.last()?;
        let place = self.tree.nodes[id.index()].tag as usize;
        let name = self.tree.tags[place].name;
        let length = (name.end - name.start) as usize;
        if rest.get(length) != Some(&b'>') || rest[..length] != self.text.as_bytes()[name.range()] {
            return None;
        }
        let end = start + length + 3;
        self.open.pop();
        self.prefixes.truncate(before as usize);
        self.close(id, start, end);
        Some(end)
    }

    /// Records the location of the end tag of an element.
    fn close(&mut self, id: NodeId, start: usize, end: usize) {
        let node = &mut self.tree.nodes[id.index()];
        node.span.end = end as u32;
        let tag = &mut self.tree.tags[node.tag as usize];
        tag.close_start = start as u32;
        tag.closed = true;
    }

    fn end_tag(&mut self, start: usize, end: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if !bytes.get(start + 2).is_some_and(|byte| is_name_byte(*byte))
            && let Some(name) = self.end_apart(start, end)
        {
            return self.end_tag_apart(start, name, end);
        }
        let name_end = start + 2 + self.name_length(start + 2, end);
        let name = &self.text[start + 2..name_end];
        let blanks =
            bytes[name_end..end].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let mut again = None;
        let mut tag_end = end;
        if bytes.get(name_end + blanks) != Some(&b'>') || name_end + blanks + 1 != end {
            let span = Span::new(start, name_end);
            let message = format!("the end tag `</{name}` is never closed with `>`");
            self.faulty(Fault::OpenTag, span, message);
            tag_end = match memchr(b'<', &bytes[name_end..end]) {
                Some(less) => name_end + less,
                None => end,
            };
            again = Some(tag_end).filter(|at| *at < self.text.len());
        }
        self.end_element(name, start, tag_end);
        again
    }

    /// Closes the innermost open element of a name, whose end tag is at `start..end`.
    fn end_element(&mut self, name: &str, start: usize, end: usize) {
        let matches = |(id, _): &(NodeId, u32)| self.tree.slice(self.tree.tag(*id).name) == name;
        let Some(depth) = self.open.iter().rposition(matches) else {
            if self.closed_too_early(name, start, end) {
                return;
            }
            let span = Span::new(start, end);
            let finding =
                Diagnostic::new(&NOT_WELL_FORMED, span, format!("`</{name}>` closes nothing"))
                    .of(Fault::ClosesNothing)
                    .naming([name]);
            let finding = match self.open.last() {
                Some((id, _)) => {
                    let open = self.tree.tag(*id).name;
                    finding.note(open, format!("`{}` is open here", self.tree.slice(open)))
                }
                None => finding,
            };
            self.report(finding);
            return;
        };
        self.close_beyond(depth + 1, start);
        let (id, before) = self.open.pop().expect("the one that matches");
        self.prefixes.truncate(before as usize);
        self.close(id, start, end);
    }

    /// Closes the open elements beyond the first `depth`, which have no end tags.
    fn close_beyond(&mut self, depth: usize, at: usize) {
        while self.open.len() > depth {
            let (id, before) = self.open.pop().expect("more than `depth` are open");
            self.prefixes.truncate(before as usize);
            let outer = self.open.last().filter(|_| self.open.len() > depth);
            match outer.map(|(outer, _)| *outer).filter(|outer| self.reopens(id, *outer)) {
                Some(outer) => {
                    self.not_an_end(id, outer);
                    self.close_unclosed(id, at);
                    self.open.pop();
                    self.close_unclosed(outer, at);
                }
                None => {
                    self.never_closed(id);
                    self.close_unclosed(id, at);
                }
            }
        }
    }

    /// Reports an element that has no end tag.
    fn never_closed(&mut self, id: NodeId) {
        if self.tree.truncated {
            return;
        }
        if let Some(twin) = self.empty_twin(id) {
            self.not_an_end(twin, id);
            return;
        }
        let name = self.tree.tag(id).name;
        let message = format!("`{}` is never closed", self.tree.slice(name));
        let finding = Diagnostic::new(&NOT_WELL_FORMED, name, message.as_str());
        self.report(finding.of(Fault::OpenElement).about(message));
    }

    /// Closes an element that has no end tag, and gives back the children that were its siblings.
    fn close_unclosed(&mut self, id: NodeId, at: usize) {
        let (name, span) = (self.tree.tag(id).name, self.tree.node(id).span);
        let last = self.last_of_its_kind(id);
        let indent = self.indent(span.start as usize).filter(|_| last.is_none());
        let mut is_behind = false;
        let mut before = NodeId::NONE;
        let mut child = self.tree.tag(id).first_child;
        while child != NodeId::NONE {
            let node = self.tree.node(child);
            let same_name = node.is_element()
                && self.tree.slice(self.tree.tag(child).name) == self.tree.slice(name);
            let outdented = match (indent, self.indent(node.span.start as usize)) {
                (Some(outer), Some(inner)) => inner <= outer,
                _ => false,
            };
            if node.is_element() && (same_name || outdented || is_behind) {
                break;
            }
            let is_last = |name| self.tree.slice(self.tree.tag(child).name) == name;
            is_behind |= node.is_element() && last.is_some_and(is_last);
            before = child;
            child = node.next_sibling;
        }
        let parent = self.tree.node(id).parent;
        let mut end = at as u32;
        if child != NodeId::NONE && parent != NodeId::NONE && self.moves < MOVE_LIMIT {
            end = self.tree.node(child).span.start;
            let last = self.tree.tag(id).last_child;
            let own = self.tree.nodes[id.index()].tag as usize;
            self.tree.tags[own].last_child = before;
            if before == NodeId::NONE {
                self.tree.tags[own].first_child = NodeId::NONE;
            } else {
                self.tree.nodes[before.index()].next_sibling = NodeId::NONE;
            }
            // An open element is its parent's last child, so the nodes that it gives back follow it.
            self.tree.nodes[id.index()].next_sibling = child;
            let above = self.tree.nodes[parent.index()].tag as usize;
            self.tree.tags[above].last_child = last;
            while child != NodeId::NONE {
                self.tree.nodes[child.index()].parent = parent;
                child = self.tree.node(child).next_sibling;
                self.moves += 1;
            }
        }
        let node = &mut self.tree.nodes[id.index()];
        let tag = &mut self.tree.tags[node.tag as usize];
        node.span.end = end.max(tag.open_end);
        tag.close_start = node.span.end;
    }

    /// The name of the last child of the first preceding sibling with the same name, if that sibling's content is
    /// indented no further than itself, so that columns are no evidence.
    fn last_of_its_kind(&self, id: NodeId) -> Option<&str> {
        let name = |id: NodeId| self.tree.slice(self.tree.tag(id).name);
        let is_element = |id: &NodeId| self.tree.node(*id).is_element();
        let some = |id: NodeId| (id != NodeId::NONE).then_some(id);
        let children = |of: NodeId| {
            let next = |id: &NodeId| some(self.tree.node(*id).next_sibling);
            let all = std::iter::successors(some(self.tree.tag(of).first_child), next);
            all.take(MOST_COMPARED).filter(is_element)
        };
        let parent = self.tree.node(id).parent;
        if parent == NodeId::NONE {
            return None;
        }
        let mut others = children(parent).take_while(|other| *other != id);
        let other =
            others.find(|other| name(*other) == name(id) && self.tree.tag(*other).closed)?;
        let column = |id: NodeId| self.indent(self.tree.node(id).span.start as usize);
        let first = children(other).next()?;
        let is_flat = column(first)? <= column(other)?;
        children(other).last().filter(|_| is_flat).map(name)
    }

    /// The indentation of the line of `offset`, if only whitespace precedes it. A tab stop is four columns: files that
    /// mix tabs and spaces usually assume that.
    fn indent(&self, offset: usize) -> Option<usize> {
        let before = &self.text.as_bytes()[offset.saturating_sub(1_000)..offset];
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let first = before.len().checked_sub(blanks + 1).map(|at| before[at]);
        if offset != blanks && !matches!(first, Some(b'\n' | b'\r')) {
            return None;
        }
        let column = |column: usize, byte: &u8| match byte {
            b'\t' => (column / 4 + 1) * 4,
            _ => column + 1,
        };
        Some(before[before.len() - blanks..].iter().fold(0, column))
    }

    fn element(&mut self, start: usize, tag: Tag) {
        let parent = match self.open.last() {
            Some((id, _)) => *id,
            None if self.tree.root == NodeId::NONE => NodeId::NONE,
            None => {
                if !self.extra_root {
                    self.extra_root = true;
                    let root = self.tree.tag(self.tree.root).name;
                    let message = "an element after the end of the root element";
                    let finding = Diagnostic::new(&NOT_WELL_FORMED, tag.name, message);
                    let finding = finding.of(Fault::BehindRoot);
                    self.report(finding.note(root, "the root element begins here"));
                }
                // Content after a root that was closed too early most likely belongs inside it.
                self.tree.root
            }
        };
        let before = self.prefixes.len();
        let first_attribute = tag.first_attribute;
        for index in first_attribute..self.tree.attributes.len() {
            let attribute = self.tree.attributes[index];
            let name = &self.text[attribute.name_span.range()];
            // Real tags have few attributes; beyond 64 comparing them is left to the strict parser.
            let before = &self.tree.attributes[first_attribute..index.min(first_attribute + 64)];
            if before.iter().any(|other| self.tree.slice(other.name_span) == name) {
                self.broken(attribute.name_span, format!("attribute `{name}` is given twice"));
            }
            let prefix = match name {
                "xmlns" => "",
                _ => match name.strip_prefix("xmlns:") {
                    Some(prefix) => prefix,
                    None => continue,
                },
            };
            let raw = &self.text[attribute.value_span.range()];
            let value = decode(raw, attribute.value_span.start, Place::Attribute).text;
            let namespace = self.namespaces.intern(value).unwrap_or(0);
            self.prefixes.push(prefix, namespace);
        }
        let attribute_count = self.tree.attributes.len() - first_attribute;

        let name = &self.text[tag.name.range()];
        let length = prefix_length(name);
        let prefix = match length {
            0 => "",
            LONG_PREFIX => name.split_once(':').map_or("", |(prefix, _)| prefix),
            _ => &name[..usize::from(length) - 1],
        };
        let namespace = match self.prefixes.find(prefix) {
            Some(namespace) => namespace,
            None => {
                let is_new =
                    !prefix.is_empty() && prefix != "xml" && self.undeclared.insert(prefix);
                if is_new {
                    let span =
                        Span { start: tag.name.start, end: tag.name.start + prefix.len() as u32 };
                    let message = format!("prefix `{prefix}` is not declared");
                    let help = format!("declare it: `xmlns:{prefix}=\"…\"`");
                    let finding = Diagnostic::new(&NOT_WELL_FORMED, span, message);
                    self.report(finding.of(Fault::Prefix).help(help));
                }
                0
            }
        };

        let own = super::Tag {
            node: NodeId(self.tree.nodes.len() as u32),
            name: tag.name,
            open_end: tag.end as u32,
            close_start: tag.end as u32,
            first_child: NodeId::NONE,
            last_child: NodeId::NONE,
            first_attribute: first_attribute as u32,
            attribute_count: u16::try_from(attribute_count).unwrap_or(u16::MAX),
            namespace,
            prefix: length,
            closed: tag.empty,
            empty: tag.empty,
        };
        let place = self.tree.tags.len() as u32;
        self.tree.tags.push(own);
        let id = self.push(parent, Span::new(start, tag.end), place);
        if self.tree.root == NodeId::NONE {
            self.tree.root = id;
        }
        if tag.empty {
            self.prefixes.truncate(before);
        } else {
            self.open.push((id, before as u32));
        }
    }

    fn character_data(&mut self, start: usize, end: usize) {
        if start == end {
            return;
        }
        let raw = &self.text[start..end];
        if self.open.is_empty() {
            let trimmed = raw.trim_matches([' ', '\t', '\r', '\n']);
            if !trimmed.is_empty() {
                let at = start + raw.find(trimmed).unwrap_or(0);
                let line = trimmed.lines().next().unwrap_or(trimmed);
                self.broken(Span::new(at, at + line.len()), "text outside the root element");
            }
            return;
        }
        if memchr(b'>', raw.as_bytes()).is_some() && self.without_bracket(start, end) {
            return;
        }
        self.text_node(start, end);
    }

    /// Adds character data, merged with that directly before it.
    fn text_node(&mut self, start: usize, end: usize) {
        let Some((parent, _)) = self.open.last().copied() else { return };
        let last = self.tree.tag(parent).last_child;
        if last != NodeId::NONE {
            let node = &mut self.tree.nodes[last.index()];
            if node.kind() == NodeKind::Text && node.span.end as usize == start {
                node.span.end = end as u32;
                if !is_blank(&self.text[start..end]) {
                    node.tag = TEXT;
                }
                return;
            }
        }
        self.leaf(NodeKind::Text, start, end);
    }

    fn leaf(&mut self, kind: NodeKind, start: usize, end: usize) {
        let parent = self.open.last().map_or(NodeId::NONE, |(id, _)| *id);
        if parent == NodeId::NONE && kind == NodeKind::CData {
            return;
        }
        if kind == NodeKind::Comment {
            let inner = &self.text[start + 4..(end - 3).max(start + 4)];
            let hyphens = memchr::memchr_iter(b'-', inner.as_bytes())
                .find(|at| inner.as_bytes().get(at + 1) == Some(&b'-'));
            if let Some(at) = hyphens {
                let at = start + 4 + at;
                let hyphens = Span::new(at, at + 2);
                let message = "`--` is not allowed inside a comment";
                self.faulty(Fault::HyphensInComment, hyphens, message);
            } else if inner.ends_with('-') {
                self.broken(Span::new(end - 4, end), "a comment may not end with `--->`");
            }
        }
        let tag = match kind {
            NodeKind::Instruction => INSTRUCTION,
            NodeKind::Comment => COMMENT,
            NodeKind::CData => CDATA,
            _ if is_blank(&self.text[start..end]) => BLANKS,
            _ => TEXT,
        };
        self.push(parent, Span::new(start, end), tag);
    }

    fn push(&mut self, parent: NodeId, span: Span, tag: u32) -> NodeId {
        let id = NodeId(self.tree.nodes.len() as u32);
        self.tree.nodes.push(Node { span, tag, parent, next_sibling: NodeId::NONE });
        let before = if parent == NodeId::NONE {
            std::mem::replace(&mut self.last_top, id)
        } else {
            let place = self.tree.nodes[parent.index()].tag as usize;
            let above = &mut self.tree.tags[place];
            if above.last_child == NodeId::NONE {
                above.first_child = id;
            }
            std::mem::replace(&mut above.last_child, id)
        };
        if before != NodeId::NONE {
            self.tree.nodes[before.index()].next_sibling = id;
        } else if parent == NodeId::NONE {
            self.tree.first = id;
        }
        id
    }

    fn declaration(&mut self, start: usize, end: usize) {
        if !self.text[..start].trim_start_matches('\u{feff}').is_empty() {
            let span = Span::new(start, end);
            let finding = Diagnostic::new(
                &NOT_WELL_FORMED,
                span,
                "nothing may come before the XML declaration",
            )
            .help("remove everything before it, even whitespace and empty lines");
            self.report(finding);
            return;
        }
        self.tree.declaration = Some(Span::new(start, end));
    }

    fn doctype(&mut self, start: usize, end: usize) {
        let span = Span::new(start, end);
        if self.tree.root != NodeId::NONE || self.tree.doctype.is_some() {
            self.broken(span, "a DOCTYPE is allowed only once, before the root element");
            return;
        }
        let head = self.text[start..end].split('[').next().unwrap_or_default();
        let external =
            head.split_ascii_whitespace().skip(2).any(|word| word == "SYSTEM" || word == "PUBLIC");
        self.tree.doctype = Some(Doctype { span, external });
        let behind =
            self.text[end..].len() - self.text[end..].trim_start_matches(['\r', '\n']).len();
        let finding = Diagnostic::new(
            &DOCTYPE_FORBIDDEN,
            span,
            "a server refuses a definition with a DOCTYPE",
        );
        let (title, whole) = ("Remove the DOCTYPE", Span::new(start, end + behind.min(2)));
        // What it declares may be used below.
        let declares = self.text[start..end].contains('[');
        self.report(finding.fix(match declares {
            true => Fix::guess(title, whole, ""),
            false => Fix::safe(title, whole, ""),
        }));
    }
}

/// Number of bytes before a character that are searched for the beginning of its expression.
const LONGEST_LOOK: usize = 4_096;

fn less_than_fix(raw: &str, start: usize, at: usize) -> Fix {
    let span = Span::new(start + at, start + at + 1);
    let next = raw[at + 1..].bytes().next();
    match (in_expression(raw, at), next) {
        (true, Some(b'=')) => {
            Fix::safe("Write `le`", Span::new(start + at, start + at + 2), spaced(raw, at, 2, "le"))
        }
        (true, _) => Fix::safe("Write `lt`", span, spaced(raw, at, 1, "lt")),
        (false, _) => Fix::safe("Write `&lt;`", span, "&lt;"),
    }
}

/// Whether the character at `at` is inside `${…}`.
fn in_expression(raw: &str, at: usize) -> bool {
    // Real expressions begin no farther away.
    let before = &raw[raw.floor_char_boundary(at.saturating_sub(LONGEST_LOOK))..at];
    before.rfind("${").is_some_and(|open| !before[open..].contains('}'))
}

/// Returns `word` with the spaces it needs when it replaces `raw[at..at + length]`.
fn spaced(raw: &str, at: usize, length: usize, word: &str) -> String {
    let blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    let left = if blank(raw.as_bytes()[..at].last()) { "" } else { " " };
    let right = if blank(raw.as_bytes().get(at + length)) { "" } else { " " };
    format!("{left}{word}{right}")
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || byte >= 0x80
}

/// The length of a prefix with its colon.
fn prefix_length(name: &str) -> u8 {
    // Names are short, so a call of `memchr` would take longer.
    match name.bytes().position(|byte| byte == b':') {
        Some(colon) => u8::try_from(colon + 1).unwrap_or(LONG_PREFIX),
        None => 0,
    }
}

fn is_name_byte(byte: u8) -> bool {
    IN_NAME[usize::from(byte)]
}

/// Bytes that can occur in names; any byte beyond ASCII may be part of a letter.
const IN_NAME: [bool; 256] = {
    let mut table = [true; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        table[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-' | b'.');
        byte += 1;
    }
    table
};

/// The finding for an error of the strict parser that was not found here.
pub(super) fn judged(text: &str, error: &roxmltree::Error) -> Diagnostic {
    let position = error.pos();
    let line = text.split('\n').nth(position.row.saturating_sub(1) as usize).unwrap_or_default();
    let line_start = line.as_ptr() as usize - text.as_ptr() as usize;
    let column = line
        .char_indices()
        .nth(position.col.saturating_sub(1) as usize)
        .map_or(line.len(), |(at, _)| at);
    let at = if line.is_empty() { text.len().min(line_start) } else { line_start + column };
    let at = if at > text.len() { text.len() } else { at };
    let length = text[at..].chars().next().map_or(0, char::len_utf8);
    let words = error.to_string();
    let words = words.rsplit_once(" at ").map_or(words.as_str(), |(words, _)| words).to_owned();
    Diagnostic::new(&NOT_WELL_FORMED, Span::new(at, at + length), words)
}
