//! One cause, one finding.
//!
//! In: all findings of a definition, and its tree and graph. Out: the same without the consequences of other findings:
//! the effect of a broken tag on the elements around it, of a faulty fork on joins and runs, of a constant on the other
//! cases of its decision. A finding that explains the server's refusal stays.

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

/// How far back an expression or a line is looked for the beginning of.
const NEAR: usize = 4_096;

/// Whether a finding would be told; what would not cannot explain others.
pub(super) type IsOn<'a> = &'a dyn Fn(&Diagnostic) -> bool;

/// Shows what is missing in the place where it belongs, with a note of what it is missing in: of a long element, the first
/// line says little.
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

/// Spans that follow each other, so that at most one of them holds a place.
struct Apart(Vec<Span>);

impl Apart {
    fn of_elements<'t>(elements: impl Iterator<Item = Element<'t>>) -> Apart {
        Apart(elements.map(|element| element.span()).collect())
    }

    /// The last that begins at a place or before it.
    fn before(&self, start: u32) -> Option<Span> {
        self.0[..self.0.partition_point(|span| span.start <= start)].last().copied()
    }

    /// The one that holds a place.
    fn around(&self, span: Span) -> Option<Span> {
        self.before(span.start).filter(|outer| inside(*outer, span))
    }

    /// Those that hold any of these.
    fn around_any(&self, spans: &[Span]) -> Apart {
        let mut held: Vec<Span> = spans.iter().filter_map(|span| self.around(*span)).collect();
        held.sort_unstable_by_key(|span| span.start);
        held.dedup();
        Apart(held)
    }
}
