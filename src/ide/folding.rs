//! Ranges of a text: foldable regions, ranges for expanding a selection, and the two names of an element that are
//! edited together.

use super::document::{Document, Kind};
use crate::source::Span;
use crate::syntax::xml::NodeKind;

/// A foldable region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// From the end of the line that stays visible to the end of the last line.
    pub span: Span,
    /// Whether it is a comment.
    pub is_comment: bool,
}

/// All elements, comments and tables of more than one line, in source order.
pub(super) fn folding(document: &Document) -> Vec<Fold> {
    let text = document.text();
    let mut folds = Vec::new();
    let mut add = |start: usize, end: usize, is_comment: bool| {
        let inside = text.get(start..end).unwrap_or_default();
        if inside.contains(['\n', '\r']) {
            folds.push(Fold { span: Span::new(start, end), is_comment });
        }
    };
    match document.kind() {
        Kind::Settings | Kind::Scenario => {
            let mut open: Option<usize> = None;
            let (mut at, mut last) = (0, 0);
            for line in text.split_inclusive('\n') {
                if line.trim_start().starts_with('[') {
                    if let Some(start) = open {
                        add(start, last, false);
                    }
                    open = Some(at + line.trim_end().len());
                }
                if !line.trim().is_empty() {
                    last = at + line.trim_end().len();
                }
                at += line.len();
            }
            if let Some(start) = open {
                add(start, last.max(start), false);
            }
        }
        Kind::Properties | Kind::Other => {}
        _ => {
            for node in document.analysis().tree().nodes() {
                if let Some(element) = node.element() {
                    let content = element.content();
                    add(content.start as usize, content.end as usize, false);
                } else if node.kind() == NodeKind::Comment {
                    add(node.span().start as usize + 4, node.span().end as usize, true);
                }
            }
        }
    }
    folds
}

/// The ranges around an offset, the innermost first: a word, a value, an attribute, a tag, elements up to the root.
pub(super) fn selection(document: &Document, offset: u32) -> Vec<Span> {
    let whole = Span::new(0, document.text().len());
    let mut spans = vec![super::cursor::word(document.text(), offset as usize, &[])];
    if let Some(name) = document.name_at(offset) {
        spans.push(name.span);
    }
    if document.kind() == Kind::Properties {
        let entries = &document.properties().entries;
        if let Some(entry) = entries.iter().find(|entry| entry.span.touches(offset)) {
            spans.extend([entry.name_span, entry.value_span, entry.span]);
        }
    }
    let tree = document.analysis().tree();
    let mut at = tree.element_at(offset).filter(|_| document.kind().is_xml());
    while let Some(element) = at {
        let attributes = element.attributes().filter(|known| known.span().touches(offset));
        spans.extend(attributes.flat_map(|known| [known.value_span(), known.span()]));
        spans.extend([element.name_span(), element.start_tag(), element.content(), element.span()]);
        at = element.parent();
    }
    spans.push(whole);
    spans.retain(|span| span.touches(offset) && span.start < span.end);
    spans.sort_by_key(|span| (span.end - span.start, span.start));
    // Each range contains the previous one.
    let mut nested: Vec<Span> = Vec::new();
    for span in spans {
        let fits = nested
            .last()
            .is_none_or(|last| span.start <= last.start && last.end <= span.end && *last != span);
        if fits {
            nested.push(span);
        }
    }
    nested
}

/// The names in the start tag and the end tag of the element whose name is at an offset.
pub(super) fn linked(document: &Document, offset: u32) -> Option<[Span; 2]> {
    if !document.kind().is_xml() {
        return None;
    }
    let tree = document.analysis().tree();
    let mut at = tree.element_at(offset);
    // A cursor directly before or after a tag is outside the element.
    while let Some(element) = at {
        let (start, end) = (element.name_span(), element.end_tag());
        let name = element.qualified_name();
        if !element.is_empty_tag() && end.end > end.start + 2 {
            let begin = end.start + 2;
            let close = Span { start: begin, end: begin + name.len() as u32 };
            let same = document.slice(close) == name;
            if same && (start.touches(offset) || close.touches(offset)) {
                return Some([start, close]);
            }
        }
        at = element.parent().filter(|_| !start.touches(offset));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing;

    #[test]
    fn elements_of_several_lines_fold() {
        let (snapshot, path, _) = testing::workflow(
            "|<start to='a'/>\r\n<!-- a\n b -->\n<kill name='a'>\r\n<message>m</message></kill>",
        );
        let document = snapshot.document(&path).unwrap();
        let shown: Vec<(&str, bool)> = snapshot
            .folding(&path)
            .iter()
            .map(|fold| (document.slice(fold.span).trim(), fold.is_comment))
            .collect();
        assert_eq!(shown[1..], [("a\n b -->", true), ("<message>m</message>", false)]);
        assert!(shown[0].0.starts_with("<start"));
    }

    #[test]
    fn a_selection_grows_from_a_word_to_the_root() {
        let (snapshot, path, offset) = testing::workflow("<start to='lo|ad-all'/>");
        let document = snapshot.document(&path).unwrap();
        let spans = snapshot.selection(&path, offset);
        let shown: Vec<&str> = spans.iter().map(|span| document.slice(*span).trim()).collect();
        assert_eq!(shown[..3], ["load-all", "to='load-all'", "<start to='load-all'/>"]);
        assert_eq!(*shown.last().unwrap(), document.text());
    }

    #[test]
    fn both_names_of_an_element_are_linked() {
        let (snapshot, path, offset) =
            testing::workflow("<kill name='k'><message>m</mess|age></kill>");
        let document = snapshot.document(&path).unwrap();
        let linked = snapshot.linked(&path, offset).unwrap();
        assert_eq!(linked.map(|span| document.slice(span)), ["message", "message"]);
        let (snapshot, path, offset) = testing::workflow("<sta|rt to='k'/>");
        assert_eq!(snapshot.linked(&path, offset), None);
    }
}
