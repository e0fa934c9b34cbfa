//! Texts that are damaged as they are in an editor between two valid states, and the findings that must survive.
//!
//! Also used by `cargo xtask damage`, which applies every damage to every file.

use ankus::check::{self, FileKind};
use ankus::files::Files;
use ankus::settings::Settings;
use ankus::source::Source;
use ankus::syntax::properties::Submission;
use ankus::syntax::xml::{Element, Tree};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// A text with one damage.
pub(crate) struct Damaged {
    /// A description of the damage, for messages.
    pub(crate) what: String,
    /// The damaged text.
    pub(crate) text: String,
    /// The part of the original text that was removed or added to.
    touched: Range<usize>,
    /// The number of bytes by which the text behind it has moved.
    shift: isize,
}

/// The text up to a position.
pub(crate) fn prefix(text: &str, mut at: usize) -> Damaged {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let what = format!("cut at {at}");
    Damaged { what, text: text[..at].to_owned(), touched: at..text.len(), shift: 0 }
}

/// The text without one of its lines.
pub(crate) fn without_line(text: &str, line: usize) -> Option<Damaged> {
    let mut at = 0;
    for (index, own) in text.split_inclusive('\n').enumerate() {
        if index == line {
            let touched = at..at + own.len();
            let left = format!("{}{}", &text[..touched.start], &text[touched.end..]);
            let what = format!("line {} deleted", line + 1);
            return Some(Damaged { what, text: left, touched, shift: -(own.len() as isize) });
        }
        at += own.len();
    }
    None
}

/// The text with the beginning of an attribute typed into a start tag, so that a quote is open.
pub(crate) fn opened_quote(text: &str, tag_end: usize) -> Damaged {
    const TYPED: &str = " retry-max=\"";
    let left = format!("{}{TYPED}{}", &text[..tag_end], &text[tag_end..]);
    let what = format!("quote opened at {tag_end}");
    Damaged { what, text: left, touched: tag_end..tag_end + 1, shift: TYPED.len() as isize }
}

/// The positions at which the start tags of the root's children end.
pub(crate) fn tag_ends(text: &str) -> Vec<usize> {
    let (tree, _) = Tree::parse(text);
    let nodes: Vec<_> = tree.root().into_iter().flat_map(Element::elements).collect();
    let end = |element: &Element<'_>| {
        let span = element.span();
        let tag = &text[span.start as usize..span.end as usize];
        let end = tag.find('>')?;
        // For a self-closing tag, the position before its slash.
        let end = if tag[..end].ends_with('/') { end - 1 } else { end };
        Some(span.start as usize + end)
    };
    nodes.iter().filter_map(end).collect()
}

/// A text with its findings, to compare damaged texts with.
pub(crate) struct Whole {
    text: String,
    kind: FileKind,
    /// The root's children.
    nodes: Vec<Range<usize>>,
    found: BTreeSet<(usize, &'static str)>,
}

/// Kinds that depend on more than the element in which they are found, in addition to some whole groups.
const FAR: [&str; 14] = [
    "capture-output-unread",
    "resource-manager-missing",
    "name-node-missing",
    "duplicate-single-element",
    "refused",
    "sharelib-name-unknown",
    "subworkflow-parameters-missing",
    "fs-path-relative",
    "output-not-prepared",
    "hardcoded-name-node",
    "hardcoded-cluster-address",
    "el-unstable-path",
    "el-dotted-variable",
    "element-needs-newer-schema",
];

fn found(text: &str, kind: FileKind) -> BTreeSet<(usize, &'static str)> {
    let source = Arc::new(Source::new("workflow.xml", text));
    let (settings, submission, files) =
        (Settings::default(), Submission::default(), Files::default());
    let outcome = check::check(&check::Input {
        settings: &settings,
        submission: &submission,
        files: &files,
        ..check::Input::of(&source, kind)
    });
    let mut all = BTreeSet::new();
    for finding in &outcome.findings {
        let span = finding.diagnostic.span;
        assert!(span.start <= span.end && span.end as usize <= text.len(), "a span out of bounds");
        assert!(text.is_char_boundary(span.start as usize), "a span within a character");
        assert!(text.is_char_boundary(span.end as usize), "a span within a character");
        let kind = finding.diagnostic.kind;
        if ["syntax", "expressions", "actions", "security"].contains(&kind.group.name())
            && !FAR.contains(&kind.name)
        {
            all.insert((span.start as usize, kind.name));
        }
    }
    all
}

impl Whole {
    /// Checks a text; `None` if it has no root.
    pub(crate) fn new(text: &str, kind: FileKind) -> Option<Whole> {
        let (tree, _) = Tree::parse(text);
        let nodes: Vec<Range<usize>> =
            tree.root()?.elements().map(|element| element.span().range()).collect();
        Some(Whole { text: text.to_owned(), kind, nodes, found: found(text, kind) })
    }

    /// The number of findings in untouched nodes, and those of them that the damaged text no longer has.
    pub(crate) fn lost(&self, damaged: &Damaged) -> (usize, Vec<(usize, &'static str)>) {
        let now = found(&damaged.text, self.kind);
        let touched = &damaged.touched;
        if self.nodes.first().is_none_or(|first| touched.start < first.start) {
            // The root itself is damaged, including the schema version.
            return (0, Vec::new());
        }
        let hit = |node: &Range<usize>| node.start < touched.end && touched.start < node.end;
        // The damage may extend into the following node.
        let last = self.nodes.iter().rposition(|node| node.start < touched.end);
        let mut count = 0;
        let mut lost = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if hit(node) || last.is_some_and(|last| index == last || index == last + 1) {
                continue;
            }
            let shift = if node.start >= touched.end { damaged.shift } else { 0 };
            let open = self.text[node.clone()].find('>').map_or(node.end, |at| node.start + at);
            for (at, kind) in self.found.range((open, "")..(node.end, "")) {
                count += 1;
                if !now.contains(&(at.saturating_add_signed(shift), *kind)) {
                    lost.push((*at, *kind));
                }
            }
        }
        (count, lost)
    }
}
