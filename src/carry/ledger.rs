//! The ledger: what became of each element and attribute of a definition.
//!
//! A printer claims what it converts. An unclaimed element whose content is only in its parts gets the worst of their
//! outcomes; an element that only groups parts gets the best, because a difference is reported once, where it occurs.
//! Everything else that is not claimed is lost, so that nothing is dropped silently.

use crate::source::{Source, Span};
use crate::syntax::xml::{Element, Tree};

/// What became of a part of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The other engine does the same.
    Exact,
    /// It does nearly the same; the reason says what differs.
    Approximate,
    /// It does not do it; the remedy says what to do about it.
    None,
}

impl Outcome {
    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Exact => "exact",
            Outcome::Approximate => "approximate",
            Outcome::None => "none",
        }
    }
}

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path of the element from the root (`coordinator.controls.timeout`), or one of its attributes (`….@name`).
    pub construct: String,
    /// Its location.
    pub span: Span,
    /// The line, from 1.
    pub line: usize,
    /// What became of it.
    pub outcome: Outcome,
    /// What differs, or why it is lost.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

/// The reason of an entry whose outcome is that of its parts.
pub const PARTS: &str = "see its parts";

/// Elements whose content is only in their parts.
const CONTAINERS: [&str; 7] =
    ["configuration", "controls", "credentials", "datasets", "global", "parameters", "prepare"];

/// Other elements that only group parts: applications, and the sections of coordinators.
const SECTIONS: [&str; 6] =
    ["workflow-app", "coordinator-app", "bundle-app", "input-events", "output-events", "workflow"];

#[derive(Debug)]
struct Place {
    span: Span,
    construct: String,
    parent: Option<usize>,
    /// Whether it has content of its own and is not a mere container.
    speaks: bool,
    /// Whether it only groups its parts.
    holds: bool,
    /// Whether it only concerns how the source is parsed, such as the version of a schema.
    is_settled: bool,
    claim: Option<(Outcome, String, String)>,
}

/// The elements and attributes of a text, with the claims on them.
#[derive(Debug)]
pub struct Ledger {
    places: Vec<Place>,
}

impl Ledger {
    /// Creates a ledger without claims.
    pub fn new(tree: &Tree) -> Ledger {
        let mut ledger = Ledger { places: Vec::new() };
        let mut todo: Vec<(Element<'_>, Option<usize>)> =
            tree.root().map(|root| (root, None)).into_iter().collect();
        while let Some((element, parent)) = todo.pop() {
            let own = ledger.places.len();
            let construct = match parent {
                None => name_of_root(element.name()).to_owned(),
                Some(parent) => {
                    let above: &Place = &ledger.places[parent];
                    format!("{}.{}", above.construct, element.name())
                }
            };
            let children: Vec<Element<'_>> = element.elements().collect();
            let has_text = !element.text().trimmed().text.is_empty();
            let is_bare = children.is_empty() && !has_text && element.attributes().next().is_none();
            let is_container = CONTAINERS.contains(&element.name());
            let says_nothing = is_bare && is_container;
            ledger.places.push(Place {
                span: element.span(),
                construct: construct.clone(),
                parent,
                speaks: children.is_empty() || has_text,
                holds: is_container || SECTIONS.contains(&element.name()),
                is_settled: false,
                claim: says_nothing.then(|| (Outcome::Exact, String::new(), String::new())),
            });
            for attribute in element.attributes() {
                let declares = attribute.declares().is_some() || attribute.prefix().is_some();
                ledger.places.push(Place {
                    span: attribute.span(),
                    construct: format!("{construct}.@{}", attribute.qualified_name()),
                    parent: Some(own),
                    speaks: true,
                    holds: false,
                    is_settled: declares,
                    claim: declares.then(|| (Outcome::Exact, String::new(), String::new())),
                });
            }
            todo.extend(children.into_iter().rev().map(|child| (child, Some(own))));
        }
        ledger
    }

    /// Returns the innermost place around a span.
    fn at(&self, span: Span) -> Option<usize> {
        let behind = self.places.partition_point(|place| place.span.start <= span.start);
        let mut at = behind.checked_sub(1);
        while let Some(index) = at {
            if self.places[index].span.end >= span.end {
                break;
            }
            // A place that ends before the span is a sibling; their common parent is further up.
            at = self.places[index].parent;
        }
        at
    }

    fn set(&mut self, at: usize, outcome: Outcome, reason: &str, remedy: &str) {
        let Place { claim, is_settled, .. } = &mut self.places[at];
        if *is_settled {
            return;
        }
        // Of two claims with the same outcome, one with a reason is more informative.
        let says_more = |before: &str| before.is_empty() && !reason.is_empty();
        let is_told = claim.as_ref().is_some_and(|(before, said, _)| {
            *before > outcome || (*before == outcome && !says_more(said))
        });
        if !is_told {
            *claim = Some((outcome, reason.to_owned(), remedy.to_owned()));
        }
    }

    /// Claims the innermost place around a span. Of several claims the worst counts.
    pub fn claim(&mut self, span: Span, outcome: Outcome, reason: &str, remedy: &str) {
        if let Some(at) = self.at(span) {
            self.set(at, outcome, reason, remedy);
        }
    }

    /// Claims the innermost place around a span as exact.
    pub fn exact(&mut self, span: Span) {
        self.claim(span, Outcome::Exact, "", "");
    }

    /// Whether the innermost place around a span is claimed.
    pub fn is_claimed(&self, span: Span) -> bool {
        self.at(span).is_some_and(|at| self.places[at].claim.is_some())
    }

    /// Claims an element with its attributes and all its parts. If no element begins in the span, it represents
    /// something in another file, and the element around it is claimed.
    pub fn whole(&mut self, span: Span, outcome: Outcome, reason: &str, remedy: &str) {
        let first = self.places.partition_point(|place| place.span.start < span.start);
        if self.places.get(first).is_none_or(|place| place.span.start >= span.end) {
            return self.claim(span, outcome, reason, remedy);
        }
        for at in first..self.places.len() {
            if self.places[at].span.start >= span.end {
                break;
            }
            self.set(at, outcome, reason, remedy);
        }
    }

    /// Claims the parts of an element that are not claimed yet.
    pub fn rest(&mut self, span: Span, outcome: Outcome, reason: &str, remedy: &str) {
        let first = self.places.partition_point(|place| place.span.start < span.start);
        for place in &mut self.places[first..] {
            if place.span.start >= span.end {
                break;
            }
            if place.claim.is_none() && place.speaks {
                place.claim = Some((outcome, reason.to_owned(), remedy.to_owned()));
            }
        }
    }

    /// Returns every place with its outcome, in source order.
    pub fn entries(&self, source: &Source) -> Vec<Entry> {
        let mut outcomes: Vec<Option<Outcome>> =
            self.places.iter().map(|place| place.claim.as_ref().map(|claim| claim.0)).collect();
        // Children follow their parents, so that in reverse order each is decided before its parent.
        let mut below: Vec<Option<Outcome>> = vec![None; self.places.len()];
        for at in (0..self.places.len()).rev() {
            let place = &self.places[at];
            let own = outcomes[at].unwrap_or(match below[at] {
                Some(below) if !place.speaks => below,
                _ => Outcome::None,
            });
            outcomes[at] = Some(own);
            // The outcome of a namespace declaration does not affect its element.
            if let Some(parent) = place.parent.filter(|_| !place.is_settled) {
                let before = below[parent].unwrap_or(own);
                let holds = self.places[parent].holds;
                below[parent] = Some(if holds { before.min(own) } else { before.max(own) });
            }
        }
        self.places
            .iter()
            .zip(outcomes)
            .map(|(place, outcome)| {
                let outcome = outcome.unwrap_or(Outcome::None);
                let (reason, remedy) = match &place.claim {
                    Some((_, reason, remedy)) => (reason.clone(), remedy.clone()),
                    None if outcome == Outcome::Exact => Default::default(),
                    None if !place.speaks => (PARTS.to_owned(), String::new()),
                    None => (
                        "this part is not converted".to_owned(),
                        "replace it by hand, or accept the loss with --allow".to_owned(),
                    ),
                };
                Entry {
                    construct: place.construct.clone(),
                    span: place.span,
                    line: source.position(place.span.start).line as usize,
                    outcome,
                    reason,
                    remedy,
                }
            })
            .collect()
    }
}

fn name_of_root(name: &str) -> &str {
    name.strip_suffix("-app").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_container_says_nothing() {
        let text = "<workflow-app><global/><prepare> </prepare><prepare x='1'/><capture-output/></workflow-app>";
        let ledger = Ledger::new(&Tree::parse(text).0);
        let entries = ledger.entries(&Source::new("w.xml", text));
        let said: Vec<&str> = entries.iter().map(|entry| entry.outcome.name()).collect();
        assert_eq!(said, ["exact", "exact", "exact", "none", "none", "none"]);
    }

    #[test]
    fn of_equal_claims_the_one_with_a_reason_counts() {
        let text = "<a/>";
        let mut ledger = Ledger::new(&Tree::parse(text).0);
        let span = Span { start: 0, end: 4 };
        for reason in ["", "why", "another"] {
            ledger.claim(span, Outcome::Exact, reason, "");
        }
        let entries = ledger.entries(&Source::new("w.xml", text));
        assert_eq!(entries[0].reason, "why");
    }

    #[test]
    fn what_nobody_claims_is_lost() {
        let text = "<workflow-app name='w'><a><b>1</b><c/></a><d x='1'/></workflow-app>";
        let (tree, _) = Tree::parse(text);
        let mut ledger = Ledger::new(&tree);
        let place = |part: &str| {
            let at = text.find(part).expect("it is in the text") as u32;
            Span { start: at, end: at + part.len() as u32 }
        };
        ledger.exact(place("1</b>").start_only());
        ledger.exact(place("name='w'"));
        ledger.whole(place("<d x='1'/>"), Outcome::Approximate, "nearly", "");
        let entries = ledger.entries(&Source::new("w.xml", text));
        let said: Vec<(&str, &str)> =
            entries.iter().map(|e| (e.construct.as_str(), e.outcome.name())).collect();
        assert_eq!(
            said,
            [
                ("workflow", "exact"),
                ("workflow.@name", "exact"),
                ("workflow.a", "none"),
                ("workflow.a.b", "exact"),
                ("workflow.a.c", "none"),
                ("workflow.d", "approximate"),
                ("workflow.d.@x", "approximate"),
            ]
        );
    }

    impl Span {
        fn start_only(self) -> Span {
            Span { end: self.start + 1, ..self }
        }
    }
}
