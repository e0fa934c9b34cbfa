//! Facts about a text that was just edited, for queries that come with every keystroke and cannot wait until a large
//! text is analyzed again.
//!
//! Takes a well-formed text that is completely analyzed, and edits that are each inside one child of its root. Returns
//! the names of the new text with their meanings, and the ends of its first children. An edited child is analyzed
//! separately; the others are assumed to be unchanged, however much the edit breaks after it.

use super::document::{Document, LONG, Read};
use super::names::Occurrence;
use crate::ir::workflow::Node;
use crate::source::{Moved, Source, Span};
use std::sync::Arc;

/// Maximum size of a child that is analyzed separately, and of the text before the first child, in bytes.
const MOST_OF_A_CHILD: usize = 64 << 10;
/// Maximum number of children analyzed separately before the whole text is.
const MOST_EDITED: usize = 20;

/// A text derived from an analyzed one by edits of some children.
#[derive(Clone, Debug)]
pub(super) struct Edited {
    /// The analyzed text.
    base: Arc<Read>,
    /// The spans of its children in the new text.
    children: Vec<Span>,
    /// The edited children, in order.
    own: Vec<Own>,
}

/// An edited child.
#[derive(Clone, Debug)]
struct Own {
    /// Its index.
    at: usize,
    /// A document with the root and only this child, in its current form.
    small: Arc<Document>,
    /// The span of the child in that document.
    place: Span,
}

impl Edited {
    /// The analyzed text before any edit; `None` if analyzing all of it is as fast, or necessary.
    pub(super) fn none(base: Arc<Read>) -> Option<Edited> {
        let is_long = base.text().len() >= LONG;
        is_long.then(|| Edited { children: base.children().to_vec(), own: Vec::new(), base })
    }

    /// The text after one more edit; `None` if all of it must be analyzed.
    pub(super) fn after(mut self, old: &str, new: &Source) -> Option<Edited> {
        let moved = Moved::between(old, &new.text);
        let at = self.children.partition_point(|child| child.start < moved.from).checked_sub(1)?;
        if moved.to >= self.children[at].end {
            return None;
        }
        let move_by = |at: u32| u32::try_from(i64::from(at) + moved.by).ok();
        self.children[at].end = move_by(self.children[at].end)?;
        for later in &mut self.children[at + 1..] {
            *later = Span { start: move_by(later.start)?, end: move_by(later.end)? };
        }
        let own = self.own(at, new)?;
        match self.own.binary_search_by_key(&at, |own| own.at) {
            Ok(known) => self.own[known] = own,
            Err(next) => self.own.insert(next, own),
        }
        (self.own.len() <= MOST_EDITED).then_some(self)
    }

    /// Analyzes a child separately.
    fn own(&self, at: usize, new: &Source) -> Option<Own> {
        let root = self.base.analysis.tree().root()?;
        let (head, tail) = (root.start_tag().end as usize, root.end_tag().range());
        let child = self.children[at].range();
        if child.len().max(head) > MOST_OF_A_CHILD {
            return None;
        }
        let old = self.base.text();
        let mut text = old[..head].to_owned();
        text.push_str(new.text.get(child)?);
        let place = Span::new(head, text.len());
        text.push_str(&old[tail]);
        let small = Arc::new(Document::new(new.path.clone(), text));
        Some(Own { at, small, place })
    }

    /// Every name of the new text with its span there; those of the edited children come last.
    pub(super) fn names(&self) -> impl Iterator<Item = (Span, &Occurrence)> {
        let was = self.base.children();
        let mut at = 0;
        let others = self.base.names().iter().filter_map(move |name| {
            while was.get(at).is_some_and(|child| child.end <= name.span.start) {
                at += 1;
            }
            let child = was.get(at).filter(|child| child.start <= name.span.start);
            let Some(child) = child else { return Some((name.span, name)) };
            let is_edited = self.own.binary_search_by_key(&at, |own| own.at).is_ok();
            (!is_edited).then(|| (moved(name.span, child.start, self.children[at].start), name))
        });
        others.chain(self.own.iter().flat_map(|own| {
            let within = |place: Span| own.place.start <= place.start && place.end <= own.place.end;
            let names = own.small.names().iter().filter(move |name| within(name.span));
            let start = self.children[own.at].start;
            names.map(move |name| (moved(name.span, own.place.start, start), name))
        }))
    }

    /// The node with a name.
    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        let own = self.own.iter().find_map(|own| own.small.read().node(name));
        own.or_else(|| self.base.node(name))
    }

    /// The first children that certainly end before an offset.
    pub(super) fn children_before(&self, offset: u32) -> &[Span] {
        let known = self.own.first().map_or(self.children.len(), |own| own.at);
        let over = self.children.partition_point(|child| child.end <= offset);
        &self.children[..over.min(known)]
    }
}

/// Shifts a span whose child has moved.
fn moved(place: Span, from: u32, to: u32) -> Span {
    Span { start: place.start - from + to, end: place.end - from + to }
}

#[cfg(test)]
mod tests {
    use super::super::{Document, Occurrence, Snapshot};
    use crate::source::Span;
    use std::fmt::Write as _;
    use std::sync::Arc;

    /// A workflow with `nodes` actions, each of which reads two properties and refers to the previous action.
    fn long(nodes: usize) -> String {
        let mut text =
            "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'>\n<start to='n0'/>\n".to_owned();
        for at in 0..nodes {
            let (before, next) = (at.saturating_sub(1), at + 1);
            let _ = writeln!(
                text,
                "<action name='n{at}'>\n<fs><mkdir path=\"${{root}}/${{wf:actionData('n{before}')['k']}}/${{p{at}}}\"/></fs>\n\
                 <ok to='n{next}'/><error to='failed'/>\n</action>"
            );
        }
        let _ = write!(
            text,
            "<kill name='failed'><message>m</message></kill>\n<end name='n{nodes}'/>\n</workflow-app>"
        );
        text
    }

    fn read(text: &str) -> Document {
        let document = Document::new("workflow.xml", text);
        document.names();
        document
    }

    fn edited(before: &Document, text: String) -> Document {
        let source = crate::source::Source::new("workflow.xml", text);
        before.edited(Arc::new(source))
    }

    /// The names of a text, in order, as estimated and as analyzed.
    fn both(document: &Document) -> [Vec<(Span, Occurrence)>; 2] {
        let placed = |(place, name): (Span, &Occurrence)| {
            (place, Occurrence { span: place, ..name.clone() })
        };
        let edited = document.edited.as_ref().expect("an edit of a long text");
        let mut guessed: Vec<_> = edited.names().map(placed).collect();
        guessed.sort_by_key(|(place, name)| (*place, name.symbol, name.role));
        [guessed, document.names().iter().map(|name| placed((name.span, name))).collect()]
    }

    #[test]
    fn names_after_edits_are_those_of_the_text() {
        let text = long(300);
        let before = read(&text);
        for (old, new) in [
            ("name='n7'", "name='n7b'"),
            ("'n7'", ""),
            ("<ok to='n8'/>", "<ok to='somewhere-else'/><!-- n9 -->"),
            ("${p7}", "${q}/${root}"),
            ("<start to='n0'/>", "<start to='n1'/>"),
            ("<end name='n300'/>", "<end name='over'/>"),
            ("['k']}/${p299}", "}"),
        ] {
            let after = edited(&before, text.replacen(old, new, 1));
            assert!(after.edited.is_some(), "{old}");
            let [guessed, names] = both(&after);
            assert_eq!(guessed, names, "{old}");
            assert_ne!(before.names(), after.names(), "{old}");
        }
        // One edit after the other, none of which was analyzed.
        let once = edited(&before, text.replacen("'n7'", "'seven'", 1));
        let twice = edited(&once, text.replacen("name='n7'><", "name='se", 1));
        assert!(twice.edited.is_some());
        // An edit elsewhere.
        let elsewhere = edited(&once, once.text().replacen("name='n9'", "name='nine'", 1));
        let twice =
            edited(&elsewhere, elsewhere.text().replacen("<ok to='n8'/>", "<ok to='x'/>", 1));
        let [guessed, names] = both(&twice);
        assert_eq!(guessed, names);
        // An edit in two children at once, between children, and in a short text.
        let far = text.replacen("'n9'", "'nine'", 3);
        assert!(edited(&before, far).edited.is_none());
        assert!(edited(&before, text.replacen("</action>\n", "</action>\n\n", 1)).edited.is_none());
        assert!(edited(&read(&long(3)), long(3).replacen("n1", "n", 1)).edited.is_none());
    }

    #[test]
    fn what_is_broken_behind_an_edit_is_offered_all_the_same() {
        let text = long(300);
        let before = read(&text);
        let typed = "<ok to=\"";
        let after = edited(&before, text.replacen("<ok to='n8'/>", typed, 1));
        let at = after.text().find(typed).unwrap() + typed.len();
        assert!(after.edited.is_some());
        assert!(after.analysis().markup().iter().any(|found| found.span.start as usize >= at - 1));
        let path = after.path().to_owned();
        let offered = Snapshot::of([]).with(Arc::new(after)).completion(&path, at as u32);
        let offered: Vec<&str> = offered.iter().map(|offer| offer.label.as_str()).collect();
        assert_eq!(offered.len(), super::super::MOST_OFFERED);
        assert!(["n6", "n7", "n8", "n9"].iter().all(|near| offered.contains(near)), "{offered:?}");
    }
}
