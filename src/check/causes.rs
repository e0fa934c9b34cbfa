//! Reduces findings with a common cause to one.
//!
//! From all findings of a definition, and its tree and graph, removes those that are consequences of others: the
//! effects of a broken tag on the elements around it, of a faulty fork on joins and runs, or of a constant condition on
//! the other cases of its decision. A finding that explains the server's refusal is kept.

mod elements;
mod expressions;
mod forks;
mod markup;
mod places;
mod values;

use crate::diag::{Diagnostic, Note};
use crate::source::Span;
use crate::syntax::xml::Element;

pub(super) use elements::in_elements;
pub(super) use forks::{FORKS, of_forks, out_of_reach};
pub(super) use markup::of_markup;
pub(super) use values::of_values;

/// How far back to search for the beginning of an expression or a line, in bytes.
const NEAR: usize = 4_096;

/// Whether a finding would be reported. One that would not cannot explain others.
pub(super) type IsOn<'a> = &'a dyn Fn(&Diagnostic) -> bool;

/// Moves findings about missing elements to the place where the element belongs, with a note at the enclosing element,
/// since the first line of a long element is little help.
pub(super) fn show_where_it_belongs(text: &str, found: &mut [Diagnostic]) {
    for finding in found.iter_mut().filter(|finding| finding.file.is_none()) {
        let Some(place) = finding.belongs.take() else { continue };
        let between = finding.span.end as usize..place.start as usize;
        if !text.get(between).is_some_and(|between| between.contains('\n')) {
            continue;
        }
        let outer = std::mem::replace(&mut finding.span, place);
        let name = text.get(outer.range()).unwrap_or_default();
        finding
            .notes
            .insert(0, Note { file: None, span: outer, message: format!("in this `{name}`") });
    }
}

fn is(finding: &Diagnostic, name: &str) -> bool {
    finding.kind.name == name
}

pub(super) fn inside(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Consecutive spans, of which at most one contains a given place.
struct Apart(Vec<Span>);

impl Apart {
    fn of_elements<'t>(elements: impl Iterator<Item = Element<'t>>) -> Apart {
        Apart(elements.map(|element| element.span()).collect())
    }

    /// Returns the last span that begins at or before `start`.
    fn before(&self, start: u32) -> Option<Span> {
        self.0[..self.0.partition_point(|span| span.start <= start)].last().copied()
    }

    /// Returns the span that contains a place.
    fn around(&self, span: Span) -> Option<Span> {
        self.before(span.start).filter(|outer| inside(*outer, span))
    }

    /// Returns the spans that contain any of these.
    fn around_any(&self, spans: &[Span]) -> Apart {
        let mut held: Vec<Span> = spans.iter().filter_map(|span| self.around(*span)).collect();
        held.sort_unstable_by_key(|span| span.start);
        held.dedup();
        Apart(held)
    }
}
