//! Preliminary findings after an edit of a large definition, until the check of the whole text is done.
//!
//! The input is a definition with its findings, and its text after an edit. The result is the findings in the edited
//! part that can be made from that part, the nodes that it names and the head of the definition, plus all other
//! findings as they were, at their new places. Effects of the edit on the graph or on distant parts are not included:
//! unlike an answer of [`super::Known`], this is not the result of a full check, which has to follow.

use super::nodes::Nodes;
use super::{
    ALONE, Alone, Input, Looked, Name, Part, Role, difference, follow, inside, is_plain_name,
    limit, parts, placed_in, relocate, tell_length,
};
use crate::analysis::Analysis;
use crate::budget;
use crate::check::{FileKind, Finding, rating};
use crate::diag::nearest;
use crate::source::{Moved, Source, Span};
use crate::syntax::xml::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// Minimum size of a text, in bytes. The check of a shorter one is just as fast.
pub(super) const LONG: usize = 32 << 10;
/// Maximum size of the other nodes that are checked with the edited one, in bytes.
const MOST_AROUND: usize = 32 << 10;
/// Maximum size of an edited part, in bytes.
const MOST_OF_A_PART: usize = 64 << 10;

/// The name of the decision that leads to all other nodes of a small definition, and its condition.
const BEGIN: &str = "ankus-begins-here";
const BEGIN_IF: &str = "wf:id() eq wf:name()";

/// The kinds of preliminary findings, besides those of [`ALONE`]: they depend only on the text at their place.
const NEAR: &[&str] = &[
    "action-in-wrong-namespace",
    "action-with-two-bodies",
    "action-without-body",
    "decision-case-shadowed",
    "decision-constant",
    "decision-default-only",
    "decision-not-boolean",
    "decision-text-around-expression",
    "duplicate-single-element",
    "el-argument-type",
    "el-boolean-text-compare",
    "el-foreign-placeholder",
    "el-function-out-of-place",
    "el-invalid-variable-name",
    "el-nested-expression",
    "el-never-equal",
    "el-single-equals",
    "el-syntax-error",
    "el-unknown-action",
    "el-unknown-function",
    "el-unterminated",
    "el-wrong-arity",
    "element-in-wrong-namespace",
    "element-needs-newer-schema",
    "element-out-of-order",
    "fork-path-repeated",
    "fs-permissions-malformed",
    "invalid-node-name",
    "malformed-name-node",
    "malformed-resource-manager",
    "missing-attribute",
    "missing-element",
    "name-without-quotes",
    "node-name-too-long",
    "self-transition",
    "unexpected-text",
    "unknown-attribute",
    "unknown-element",
    "unknown-schema-version",
    "unresolved-transition",
    "unsupported-action-type",
    "xml-not-well-formed",
];

/// What is kept of a checked definition for preliminary findings after the next edit.
#[derive(Clone, Debug)]
pub struct Glance {
    source: Arc<Source>,
    /// The children of the root, in order.
    parts: Vec<Part>,
    nodes: Arc<Nodes>,
}

impl Glance {
    /// Returns what to keep of a check for preliminary findings, or `None` if a check of the whole text is just as fast
    /// or the text cannot be divided into parts.
    pub fn of(input: &Input<'_>, analysis: &Analysis) -> Option<Glance> {
        let is_long = input.source.text.len() >= LONG;
        if !is_long || input.kind != FileKind::Workflow || !analysis.markup().is_empty() {
            return None;
        }
        let root = analysis.tree().root().filter(|root| root.name() == "workflow-app")?;
        let parts = parts(root, &|_| true);
        let nodes = Arc::new(Nodes::of(analysis.flow(), &parts)?);
        Some(Glance { source: Arc::clone(input.source), parts, nodes })
    }

    /// Returns this value if it belongs to `text`.
    pub fn of_text(self, text: &str) -> Option<Glance> {
        (*self.source.text == *text).then_some(self)
    }

    /// Updates this value for the text after an edit, if the edit lies inside one part.
    pub fn after(&self, source: &Arc<Source>) -> Option<Glance> {
        let moved = Moved::between(&self.source.text, &source.text);
        let (_, parts) = inside(&self.parts, &moved)?;
        Some(Glance { source: Arc::clone(source), parts, nodes: Arc::clone(&self.nodes) })
    }

    /// Turns the findings before an edit into preliminary ones after it. `input` has the new text and is otherwise
    /// unchanged. If the result is `None`, the findings are unchanged.
    pub fn edited(&self, input: &Input<'_>, findings: &mut Vec<Finding>) -> Option<Glance> {
        let (old, new) = (self.source.text.as_str(), input.source.text.as_str());
        let moved = Moved::between(old, new);
        let (at, parts) = inside(&self.parts, &moved)?;
        let texts = [&old[self.parts[at].span.range()], &new[parts[at].span.range()]];
        if texts.iter().any(|text| text.len() > MOST_OF_A_PART) {
            return None;
        }
        let shown = self.shown(at, texts);
        let before = self.drawn(old, &self.parts, at, &shown).looked_at(input);
        let after = self.drawn(new, &parts, at, &shown).looked_at(input);
        if budget::was_spent() {
            return None;
        }
        change(&before, &after, &moved, input.source.path.as_str(), findings);
        tell_length(new, limit(input), findings);
        Some(Glance { source: Arc::clone(input.source), parts, nodes: Arc::clone(&self.nodes) })
    }

    /// Selects the nodes to check together with a part. `texts` are the part before and after the edit.
    fn shown(&self, at: usize, texts: [&str; 2]) -> Shown {
        let mut wanted = Vec::new();
        let mut shown = Shown::default();
        let words = texts.map(Words::of);
        let own: BTreeSet<&str> = words.iter().filter_map(|words| words.name.as_deref()).collect();
        if own.len() > 1 {
            // Nodes that lead to a name that is new or has disappeared.
            wanted.extend(own.iter().flat_map(|name| self.nodes.leading_to(name)));
        }
        texts.iter().for_each(|text| self.nodes.mentioned(text, &mut wanted));
        wanted.retain(|part| *part != at as u32 && self.parts[*part as usize].role.is_left_out());
        let mut size = 0;
        for part in wanted {
            let span = self.parts[part as usize].span;
            size += span.range().len();
            if size > MOST_AROUND {
                break;
            }
            if let Some(name) = self.nodes.name_of(part).filter(|name| is_plain_name(name)) {
                shown.whole.insert(part, name.to_owned());
            }
        }
        // All other targets are included by name; for a target that does not exist, the node with the most similar
        // name.
        let mut led: Vec<String> =
            words.iter().flat_map(|words| words.targets.iter().cloned()).collect();
        for part in shown.whole.keys() {
            let text = &self.source.text[self.parts[*part as usize].span.range()];
            led.extend(Words::of(text).targets);
        }
        led.sort_unstable();
        led.dedup();
        for name in led {
            let is_known = |name: &str| self.nodes.named(name).any(|part| part != at as u32);
            let name = match is_known(&name) || own.contains(name.as_str()) {
                true => Some(name.as_str()),
                false => nearest(&name, self.nodes.names.iter().map(|(_, name)| name.as_str())),
            };
            let is_other = |name: &&str| !own.contains(name) && is_plain_name(name);
            let Some(name) = name.filter(is_other) else { continue };
            let is_there = |part: u32| {
                part == at as u32
                    || shown.whole.contains_key(&part)
                    || !self.parts[part as usize].role.is_left_out()
            };
            if !self.nodes.named(name).any(is_there) {
                shown.by_name.insert(name.to_owned());
            }
        }
        shown
    }

    /// Builds a small definition from one part of the text, the head and the nodes in `shown`.
    fn drawn(&self, text: &str, parts: &[Part], at: usize, shown: &Shown) -> Alone {
        let mut alone = Alone { text: String::new(), pieces: Vec::new(), node: Span::default() };
        let own = Name::of(&text[parts[at].span.range()]).filter(|_| parts[at].role.is_left_out());
        let mut behind = 0;
        for (index, part) in parts.iter().enumerate() {
            let range = behind as usize..part.span.end as usize;
            behind = part.span.end;
            let before = part.span.start as usize - range.start;
            match part.role {
                Role::Start if index != at && own.is_some() => {
                    alone.take(text, range.start..part.span.start as usize);
                    if let Some(Name(name)) = own {
                        shown.begin(name, &mut alone.text);
                    }
                }
                role if index == at || !role.is_left_out() || shown.is_whole(index) => {
                    let start = alone.text.len() + before;
                    alone.take(text, range);
                    if index == at {
                        alone.node = Span::new(start, alone.text.len());
                        for name in &shown.by_name {
                            let kill = "<message>m</message>";
                            let _ = write!(alone.text, "<kill name=\"{name}\">{kill}</kill>");
                        }
                    }
                }
                _ => {}
            }
        }
        alone.take(text, behind as usize..text.len());
        alone
    }
}

impl Role {
    /// Whether such a part is left out of a small definition unless it is needed.
    fn is_left_out(self) -> bool {
        matches!(self, Role::Action | Role::Loose | Role::Other)
    }
}

/// The contents of a small definition besides its head and the edited part.
#[derive(Default)]
struct Shown {
    /// Names of the nodes that are included with their contents, by part.
    whole: BTreeMap<u32, String>,
    /// Nodes of which only the existence matters.
    by_name: BTreeSet<String>,
}

impl Shown {
    fn is_whole(&self, part: usize) -> bool {
        u32::try_from(part).is_ok_and(|part| self.whole.contains_key(&part))
    }

    /// Adds transitions from the start to every node that is included with its contents; the contents of others do not
    /// matter.
    fn begin(&self, own: &str, out: &mut String) {
        let _ = write!(out, "<start to=\"{BEGIN}\"/><decision name=\"{BEGIN}\"><switch>");
        for name in self.whole.values() {
            let _ = write!(out, "<case to=\"{name}\">${{{BEGIN_IF}}}</case>");
        }
        let _ = write!(out, "<default to=\"{own}\"/></switch></decision>");
    }
}

/// The name and the transition targets in the text of a part.
struct Words {
    name: Option<String>,
    targets: Vec<String>,
}

impl Words {
    fn of(part: &str) -> Words {
        let (tree, _) = Tree::of(&Arc::new(part.to_owned()));
        let mut words = Words { name: None, targets: Vec::new() };
        let Some(root) = tree.root() else { return words };
        let value = |name: &str, element: crate::syntax::xml::Element<'_>| {
            element.attribute(name).map(|found| found.value().text.into_owned())
        };
        words.name = value("name", root);
        for element in root.descendants() {
            words.targets.extend(["to", "start"].into_iter().filter_map(|at| value(at, element)));
        }
        words
    }
}

/// Updates the findings of the whole definition with the preliminary ones.
fn change(before: &Looked, after: &Looked, moved: &Moved, path: &str, findings: &mut Vec<Finding>) {
    let (gone, come) = difference(before, after, path);
    for finding in gone.into_iter().filter_map(|finding| placed_in(before, finding, path)) {
        // The check of the whole text may have given more details about it.
        let (gone, path) = (&finding.diagnostic, &finding.path);
        findings.retain(|known| {
            let found = &known.diagnostic;
            known.path != *path
                || !std::ptr::eq(found.kind, gone.kind)
                || (&found.file, found.span) != (&gone.file, gone.span)
        });
    }
    findings
        .retain_mut(|finding| relocate(&mut finding.diagnostic, path, &|span| follow(moved, span)));
    let node = after.alone.node;
    let is_near = |finding: &&Finding| {
        let found = &finding.diagnostic;
        let is_inside = node.start <= found.span.start && found.span.end <= node.end;
        let name = found.kind.name;
        let is_near = is_inside && (NEAR.contains(&name) || ALONE.contains(&name));
        found.file.is_none() && (is_near || name == "unresolved-transition")
    };
    for finding in come.into_iter().filter(is_near) {
        let Some(finding) = placed_in(after, finding, path) else { continue };
        let is_known = |known: &Finding| {
            let (known, found) = (&known.diagnostic, &finding.diagnostic);
            let is_of_one_thing = found.subject.is_some() && known.subject == found.subject;
            std::ptr::eq(known.kind, found.kind) && (known.span == found.span || is_of_one_thing)
        };
        if !findings.iter().any(is_known) {
            findings.push(finding);
        }
    }
    rating::sort(findings);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_a_first_look_tells_of_are_there() {
        let all: BTreeSet<&str> = crate::check::kinds().iter().map(|kind| kind.name).collect();
        let unknown = NEAR.iter().chain(ALONE).filter(|name| !all.contains(**name));
        assert_eq!(unknown.collect::<Vec<_>>(), [&""; 0]);
        assert!(NEAR.is_sorted() && !NEAR.iter().any(|name| ALONE.contains(name)));
    }
}
