//! Recognizes tags with a slip: their name apart from its bracket, no bracket, or that of the other kind of tag.

use super::*;

/// Maximum number of characters between the `<` of an end tag and its name.
const MOST_SIGNS: usize = 64;

impl Parser<'_> {
    /// Reports the line at `start` if it marks the beginning of a merge conflict. Returns its end.
    pub(super) fn conflict(&mut self, start: usize) -> Option<usize> {
        let rest = &self.text[start..];
        let is_first = self.text[..start].is_empty() || self.text[..start].ends_with('\n');
        if !is_first || !rest.starts_with("<<<<<<<") || rest.starts_with("<<<<<<<<") {
            return None;
        }
        let line = rest.lines().next().unwrap_or(rest).len();
        let message = "a merge conflict begins here that was not resolved";
        let place = Span::new(start, start + line);
        let finding = Diagnostic::new(&NOT_WELL_FORMED, place, message).of(Fault::Conflict);
        let help = "keep one of the two versions, and remove the lines that begin with `<<<<<<<`, `=======` and `>>>>>>>`";
        self.report(finding.about("conflict").help(help));
        Some(start + line)
    }

    /// Whether the `<` at `start` begins a start tag whose name follows after whitespace or a second `<`. Returns the
    /// offset before the name.
    pub(super) fn apart(&self, start: usize, end: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let blanks =
            bytes[start + 1..end].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let less = start + if bytes.get(start + 1) == Some(&b'<') { 1 } else { blanks };
        let name = less + 1;
        if less == start || name >= end || !is_name_start(bytes[name]) {
            return None;
        }
        let rest = self.text[name + self.name_length(name, end)..end].trim_start();
        // In a text, it is more likely an operator.
        let follows_tag = self.text[..start].trim_end().ends_with('>');
        (follows_tag && (rest == ">" || rest == "/>" || begins_attribute(rest))).then_some(less)
    }

    /// Parses a start tag whose name is apart from its `<`.
    pub(super) fn tag_apart(&mut self, start: usize, less: usize, end: usize) -> Option<usize> {
        let gap = Span::new(start + 1, less + 1);
        let (message, title) = match is_blank(&self.text[gap.range()]) {
            true => ("no whitespace is allowed after `<`", "Remove the whitespace"),
            false => ("a second `<` does not start an element", "Remove it"),
        };
        let finding = Diagnostic::new(&NOT_WELL_FORMED, gap, message);
        self.report(finding.fix(Fix::guess(title, gap, "")));
        self.named_tag(start, less, end)
    }

    /// Whether the `<` at `start` begins an end tag of the innermost open element, with other characters than a single
    /// `/` before the name: `</ a>`, `< /a>`, `<//a>`, `<\a>`. Returns the offset of the name.
    pub(super) fn end_apart(&self, start: usize, end: usize) -> Option<usize> {
        let rest = self.text.get(start + 1..end)?;
        let is_sign = |c: &char| ['/', '\\', ' ', '\t', '\r', '\n', '<'].contains(c);
        let count = rest.chars().take(MOST_SIGNS + 1).take_while(is_sign).count();
        // All signs are of one byte.
        let after = &rest[count..];
        let signs = &rest[..rest.len() - after.len()];
        if !signs.contains(['/', '\\']) || signs.len() > MOST_SIGNS {
            return None;
        }
        let (open, _) = self.open.last()?;
        let behind = after.strip_prefix(self.tree.slice(self.tree.tag(*open).name))?;
        (behind.trim() == ">").then_some(start + 1 + signs.len())
    }

    /// Parses the end tag of the innermost open element, whose name at `name` is apart from its `<`.
    pub(super) fn end_tag_apart(&mut self, start: usize, name: usize, end: usize) -> Option<usize> {
        let signs = Span::new(start, name);
        let finding = Diagnostic::new(&NOT_WELL_FORMED, signs, "an end tag begins with `</`");
        self.report(finding.fix(Fix::guess("Write `</`", signs, "</")));
        let name = &self.text[name..name + self.name_length(name, end)];
        self.end_element(name, start, end);
        None
    }

    /// Parses character data that consists of a tag without its `<`. Returns whether it does.
    pub(super) fn without_bracket(&mut self, start: usize, end: usize) -> bool {
        let raw = &self.text[start..end];
        let at = start + raw.len() - raw.trim_start().len();
        let Some(close) = raw.find('>').map(|close| start + close) else { return false };
        let (Some((parent, _)), true) = (self.open.last(), is_blank(&self.text[close + 1..end]))
        else {
            return false;
        };
        let parent = self.tree.tag(*parent);
        let inner = &self.text[at..close];
        let message = "the `<` of this tag is missing";
        let place = Span::new(at, close + 1);
        let finding = Diagnostic::new(&NOT_WELL_FORMED, place, message);
        let finding = finding.fix(Fix::guess("Add the `<`", Span::at(at), "<"));
        if let Some(name) = inner.strip_prefix('/') {
            if name.trim_end() != self.tree.slice(parent.name) {
                return false;
            }
            self.report(finding);
            self.blanks(start, at);
            self.end_element(name.trim_end(), at, close + 1);
            self.blanks(close + 1, end);
            return true;
        }
        let name_end = at + self.name_length(at, close);
        let rest = self.text[name_end..close].trim_start();
        let is_tag = inner.as_bytes().first().is_some_and(|byte| is_name_start(*byte))
            && (begins_attribute(rest) && rest.contains(['"', '\'']) || rest.is_empty());
        // A text in a line of its own may look the same, but not between elements.
        let is_alone = |text: &str| text.contains(['\r', '\n']);
        let has_element = self.first_element(parent.node).is_some();
        let lines = is_alone(&self.text[start..at]) && is_alone(&self.text[close + 1..end]);
        if !is_tag || !has_element && !lines {
            return false;
        }
        self.report(finding);
        self.blanks(start, at);
        self.named_tag(at, at - 1, close + 1);
        self.blanks(close + 1, end);
        true
    }

    fn blanks(&mut self, start: usize, end: usize) {
        if start < end {
            self.text_node(start, end);
        }
    }

    fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let some = |id: NodeId| (id != NodeId::NONE).then_some(id);
        let next = move |id: &NodeId| some(self.tree.node(*id).next_sibling);
        std::iter::successors(some(self.tree.tag(id).first_child), next)
    }

    fn first_element(&self, id: NodeId) -> Option<NodeId> {
        self.children(id).take(MOST_COMPARED).find(|child| self.tree.node(*child).is_element())
    }

    fn name(&self, id: NodeId) -> &str {
        self.tree.slice(self.tree.tag(id).name)
    }

    /// Whether the start tag of `id` was meant to be the end tag of `outer`, which directly contains it.
    pub(super) fn reopens(&self, id: NodeId, outer: NodeId) -> bool {
        let first = |id| self.first_element(id).map(|child| self.name(child));
        self.tree.node(id).parent == outer
            && self.name(id) == self.name(outer)
            && self.tree.tag(id).attribute_count == 0
            // Two elements that both lack their end tags begin with the same child.
            && self.first_element(outer) != Some(id)
            && first(id) != first(outer)
    }

    /// An empty element in `id` that was meant to be its end tag: `<a>…<a/>`.
    pub(super) fn empty_twin(&self, id: NodeId) -> Option<NodeId> {
        let is_twin = |child: &NodeId| {
            self.tree.node(*child).is_element()
                && self.name(*child) == self.name(id)
                && self.tree.tag(*child).attribute_count == 0
                && self.tree.tag(*child).first_child == NodeId::NONE
        };
        self.children(id).take(MOST_COMPARED).find(is_twin)
    }

    /// Reports a start tag that was meant to be the end tag of `outer`.
    pub(super) fn not_an_end(&mut self, id: NodeId, outer: NodeId) {
        if self.tree.truncated {
            return;
        }
        let tag = self.tree.tag(id);
        let place = Span::new(self.tree.node(id).span.start as usize, tag.open_end as usize);
        let (name, open) = (self.name(id).to_owned(), self.tree.tag(outer).name);
        let message = format!("this is not an end tag, and `{name}` is never closed");
        let finding = Diagnostic::new(&NOT_WELL_FORMED, place, message)
            .of(Fault::OpenElement)
            .note(open, format!("`{name}` is open here"))
            .fix(Fix::guess(format!("Write `</{name}>`"), place, format!("</{name}>")));
        self.report(finding);
    }

    /// Continues an element that its start tag closed by mistake (`<a/>…</a>`), if the end tag at `start..end` belongs
    /// to such an element. Returns whether it does.
    pub(super) fn closed_too_early(&mut self, name: &str, start: usize, end: usize) -> bool {
        let Some((parent, _)) = self.open.last().copied() else { return false };
        let mut children: Vec<NodeId> = self.children(parent).take(MOST_COMPARED + 1).collect();
        let at = children
            .iter()
            .rposition(|child| self.tree.node(*child).is_element() && self.name(*child) == name);
        let Some(at) = at.filter(|_| children.len() <= MOST_COMPARED) else { return false };
        let id = children[at];
        let tag = self.tree.tag(id);
        let attributes = &self.tree.attributes[tag.first_attribute as usize..]
            [..usize::from(tag.attribute_count)];
        let declares = attributes.iter().any(|a| self.tree.slice(a.name_span).starts_with("xmlns"));
        let is_empty =
            tag.first_child == NodeId::NONE && self.text[..tag.open_end as usize].ends_with("/>");
        let has_elements =
            children[at + 1..].iter().any(|child| self.tree.node(*child).is_element());
        if !is_empty || declares || !has_elements {
            return false;
        }
        let sign = Span::new(tag.open_end as usize - 2, tag.open_end as usize);
        let message = format!("this already closes `{name}`, which has an end tag below");
        let finding = Diagnostic::new(&NOT_WELL_FORMED, sign, message)
            .note(Span::new(start, end), "its end tag is here")
            .fix(Fix::guess("Write `>`", sign, ">"));
        self.report(finding);
        let inner = children.split_off(at + 1);
        let (first, last) = (inner[0], inner[inner.len() - 1]);
        for child in inner {
            self.tree.nodes[child.index()].parent = id;
        }
        self.tree.nodes[id.index()].next_sibling = NodeId::NONE;
        let above = self.tree.nodes[parent.index()].tag as usize;
        self.tree.tags[above].last_child = id;
        let own = self.tree.nodes[id.index()].tag as usize;
        self.tree.tags[own].first_child = first;
        self.tree.tags[own].last_child = last;
        self.close(id, start, end);
        true
    }
}

/// Whether a text in a tag begins with an attribute.
fn begins_attribute(text: &str) -> bool {
    let behind = text.trim_start_matches(|c: char| c.is_ascii() && is_name_byte(c as u8));
    behind.len() < text.len() && behind.trim_start().starts_with('=')
}
