//! Validates the order and number of children: too few, too many, or in the wrong place.

use super::{Checker, Place, Placed, holds, line_of, names_of};
use crate::diag::{Diagnostic, Edit, Fix, Safety};
use crate::schema::kinds::*;
use crate::schema::model::{Model, Occurs, Particle, Symbol};
use crate::schema::{Child, TypeRef};
use crate::source::Span;
use crate::syntax::xml::Element;

impl<'t> Checker<'t> {
    /// Reports children that are out of order: all except a longest run of them that is in order.
    pub(super) fn order(&mut self, parent: Element<'t>, placed: &[Placed<'t>]) {
        let ranks: Vec<usize> = placed.iter().map(|placed| placed.rank).collect();
        let kept = longest_run(&ranks);
        // The run is sorted, so its neighbors of a child are found by binary search.
        let run: Vec<usize> = (0..placed.len()).filter(|at| kept[*at]).collect();
        for (at, child) in placed.iter().enumerate().filter(|(at, _)| !kept[*at]) {
            let later = run.get(run.partition_point(|other| ranks[*other] <= ranks[at]));
            let earlier = run.partition_point(|other| ranks[*other] < ranks[at]).checked_sub(1);
            let (anchor, before) = match (later, earlier.map(|earlier| run[earlier])) {
                (Some(other), _) if *other < at => (&placed[*other], true),
                (_, Some(other)) if other > at => (&placed[other], false),
                _ => continue,
            };
            let (name, other) = (child.element.name(), anchor.element.name());
            let way = if before { "before" } else { "behind" };
            self.report(
                Diagnostic::new(
                    &ELEMENT_OUT_OF_ORDER,
                    child.element.name_span(),
                    format!("`{name}` must come {way} `{other}`"),
                )
                .note(anchor.element.name_span(), format!("{way} this"))
                .help(format!("the order of the elements in `{}` is fixed", parent.name()))
                .fix(self.move_to(child.element, anchor.element, before)),
            );
        }
    }

    /// Creates a fix that moves an element, with its line if it has one to itself.
    fn move_to(&self, element: Element<'t>, anchor: Element<'t>, before: bool) -> Fix {
        let text = self.tree.text();
        let (from, to) = (line_of(text, element.span()), line_of(text, anchor.span()));
        let (from, to) = match (from, to) {
            (Some(from), Some(to)) => (from, to),
            _ => (element.span(), anchor.span()),
        };
        let at = if before { to.start } else { to.end };
        let insert = Edit {
            file: None,
            span: Span { start: at, end: at },
            text: text[from.range()].to_owned(),
        };
        let remove = Edit { file: None, span: from, text: String::new() };
        let mut edits = vec![insert, remove];
        edits.sort_by_key(|edit| edit.span);
        let way = if before { "before" } else { "behind" };
        let title = format!("Move it {way} `{}`", anchor.name());
        Fix { title, safety: Safety::Safe, edits }
    }

    /// Validates the number of occurrences of each part.
    pub(super) fn count(&mut self, place: &Place<'_, 't>, part: &Particle, placed: &[Placed<'t>]) {
        let occurs = part.occurs();
        match part {
            Particle::Child(..) | Particle::Wildcard(..) => {
                self.count_one(place, part, placed, occurs)
            }
            Particle::Choice(parts, _) if occurs.max == Some(1) => {
                let used =
                    |part: &&Particle| placed.iter().any(|placed| holds(part, placed.symbol));
                let alternatives: Vec<&Particle> = parts.iter().filter(used).collect();
                match alternatives.as_slice() {
                    [] if !part.optional() => self.missing(place, part),
                    [] => {}
                    [one] => self.count(place, one, placed),
                    [_, ..] => self.several(place, parts, placed),
                }
            }
            Particle::Sequence(parts, _) if occurs.max == Some(1) => {
                if occurs.min == 0 && placed.is_empty() {
                    return;
                }
                for part in parts {
                    let own: Vec<_> =
                        placed.iter().filter(|p| holds(part, p.symbol)).copied().collect();
                    self.count(place, part, &own);
                }
            }
            // A repeated group may have any number of children.
            Particle::Choice(..) | Particle::Sequence(..) => {
                if placed.is_empty() && !part.optional() {
                    self.missing(place, part);
                }
            }
        }
    }

    fn count_one(
        &mut self,
        place: &Place<'_, 't>,
        part: &Particle,
        placed: &[Placed<'t>],
        occurs: Occurs,
    ) {
        if placed.len() < usize::from(occurs.min) {
            if occurs.min > 1 && !placed.is_empty() {
                self.too_few(place, placed, occurs.min);
            } else {
                self.missing(place, part);
            }
        }
        let Some(max) = occurs.max else { return };
        let Some(first) = placed.first() else { return };
        for extra in placed.iter().skip(usize::from(max)) {
            let name = extra.element.name();
            self.report(
                Diagnostic::new(
                    &DUPLICATE_SINGLE_ELEMENT,
                    extra.element.name_span(),
                    format!("`{}` may contain only one `{name}`", place.element.name()),
                )
                .naming([place.element.name(), name])
                .note(first.element.name_span(), "the first is here"),
            );
        }
    }

    /// Reports two children of which only one is allowed.
    fn several(&mut self, place: &Place<'_, 't>, parts: &[Particle], placed: &[Placed<'t>]) {
        let first = &placed[0];
        let same = |one: Symbol, other: Symbol| {
            parts.iter().any(|part| holds(part, one) && holds(part, other))
        };
        let body = place.is_action();
        for extra in placed.iter().skip(1).filter(|extra| body || !same(first.symbol, extra.symbol))
        {
            let (name, other) = (extra.element.name(), first.element.name());
            let finding = if body {
                Diagnostic::new(
                    &ACTION_WITH_TWO_BODIES,
                    extra.element.name_span(),
                    format!("an action has one type, but this one has `{other}` and `{name}`"),
                )
            } else {
                Diagnostic::new(
                    &DUPLICATE_SINGLE_ELEMENT,
                    extra.element.name_span(),
                    format!(
                        "`{}` may contain `{other}` or `{name}`, not both",
                        place.element.name()
                    ),
                )
                .naming([place.element.name(), other, name])
            };
            self.report(finding.note(first.element.name_span(), "the first is here"));
        }
    }

    fn too_few(&mut self, place: &Place<'_, 't>, placed: &[Placed<'t>], min: u16) {
        let kind = if place.is("FORK") { &FORK_SINGLE_PATH } else { &MISSING_ELEMENT };
        let name = placed[0].element.name();
        let message = format!("`{}` needs at least {min} `{name}`", place.element.name());
        let finding = Diagnostic::new(kind, place.element.name_span(), message);
        self.report(finding.naming([place.element.name(), name]));
    }

    pub(super) fn missing(&mut self, place: &Place<'_, 't>, part: &Particle) {
        let parent = place.element;
        let mut names = Vec::new();
        names_of(part, place.model, &mut names);
        let list: Vec<String> = names.iter().map(|child| format!("`{}`", child.name)).collect();
        if place.is_action() && names.len() > 2 {
            self.report(
                Diagnostic::new(
                    &ACTION_WITHOUT_BODY,
                    parent.name_span(),
                    "this action does nothing: it has no action type",
                )
                .help("an action contains its type, then `ok`, then `error`"),
            );
            return;
        }
        let kind = match names.first() {
            Some(child) if place.is("SWITCH") && &*child.name == "case" => &DECISION_DEFAULT_ONLY,
            _ => &MISSING_ELEMENT,
        };
        let message = match list.as_slice() {
            [] => format!("`{}` is not complete", parent.name()),
            [one] => format!("`{}` needs {one}", parent.name()),
            several => format!("`{}` needs one of {}", parent.name(), several.join(", ")),
        };
        let about = std::iter::once(parent.name()).chain(names.iter().map(|child| &*child.name));
        let mut finding = Diagnostic::new(kind, parent.name_span(), message).naming(about);
        // An element for the cluster has no single place where it belongs: `global` can set it as well, and other
        // versions of the schema do not require it.
        let of_cluster = ["name-node", "job-tracker", "resource-manager"];
        let is_of_cluster = names.iter().any(|child| of_cluster.contains(&&*child.name));
        finding.belongs =
            self.part_of(place, &names).or_else(|| place.behind()).filter(|_| !is_of_cluster);
        if let Some(child) = names.first() {
            finding = finding.help(format!("`{}`: {}", child.name, child.about));
            if names.len() == 1
                && let Some(fix) = self.stub(place, child)
            {
                finding = finding.fix(fix);
            }
        }
        self.report(finding);
    }

    /// The first child that belongs inside the missing one rather than here: the missing one would begin there.
    fn part_of(&self, place: &Place<'_, 't>, missing: &[&Child]) -> Option<Span> {
        let [Child { kind: TypeRef::Type(id), .. }] = missing else { return None };
        let inner = place.schema.ty(*id);
        let is_part = |child: &Element<'_>| {
            place.model.child(child.name()).is_none() && inner.child(child.name()).is_some()
        };
        place.element.elements().find(is_part).map(|child| child.name_span())
    }

    /// Creates a fix that inserts an empty element where it belongs.
    fn stub(&self, place: &Place<'_, 't>, child: &Child) -> Option<Fix> {
        let parent = place.element;
        if !parent.is_closed() || parent.is_empty_tag() {
            return None;
        }
        let TypeRef::Text(text) = child.kind else { return None };
        let prefix = parent.prefix().map(|prefix| format!("{prefix}:")).unwrap_or_default();
        let name = format!("{prefix}{}", child.name);
        let value = match (&*child.name, text.meaning) {
            ("name-node", _) => "${nameNode}",
            ("job-tracker", _) => "${jobTracker}",
            ("resource-manager", _) => "${resourceManager}",
            _ => "",
        };
        let stub = format!("<{name}>{value}</{name}>");
        let source = self.tree.text();
        let before = place.placed.iter().rev().find(|placed| placed.rank < place.rank);
        let after = place.placed.iter().find(|placed| placed.rank > place.rank);
        let title = format!("Add `{}`", child.name);
        let insert = |at: u32, text: String| Fix::guess(title, Span { start: at, end: at }, text);
        let anchor = before.or(after)?;
        let span = anchor.element.span();
        let line = line_of(source, span);
        Some(match (line, before.is_some()) {
            (Some(line), behind) => {
                let indent = &source[line.start as usize..span.start as usize];
                let end = if source[..line.end as usize].ends_with("\r\n") { "\r\n" } else { "\n" };
                let at = if behind { line.end } else { line.start };
                insert(at, format!("{indent}{stub}{end}"))
            }
            (None, true) => insert(span.end, stub),
            (None, false) => insert(span.start, stub),
        })
    }
}

/// Marks the members of a longest nondecreasing run; of several such runs, the one that begins earliest, so that later
/// elements are the ones out of order.
pub(super) fn longest_run(ranks: &[usize]) -> Vec<bool> {
    // Length of the longest run that begins at each index, computed from the end by the greatest first rank of a run
    // of each length.
    let mut firsts: Vec<usize> = Vec::new();
    let mut lengths = vec![0; ranks.len()];
    for (at, rank) in ranks.iter().enumerate().rev() {
        let length = firsts.partition_point(|first| first >= rank);
        lengths[at] = length + 1;
        match firsts.get_mut(length) {
            Some(first) => *first = *rank,
            None => firsts.push(*rank),
        }
    }
    let mut kept = vec![false; ranks.len()];
    let (mut wanted, mut last) = (firsts.len(), 0);
    for (at, rank) in ranks.iter().enumerate() {
        if lengths[at] == wanted && *rank >= last {
            kept[at] = true;
            last = *rank;
            wanted -= 1;
        }
    }
    kept
}

/// Whether a child may occur more than once.
pub(super) fn repeats(part: &Particle, model: &Model, name: &str) -> bool {
    match part {
        Particle::Child(at, occurs) => {
            occurs.repeats() && &*model.children[*at as usize].name == name
        }
        Particle::Wildcard(..) => false,
        Particle::Sequence(parts, occurs) | Particle::Choice(parts, occurs) => {
            let at = model.children.iter().position(|child| &*child.name == name);
            let inside = at.is_some_and(|at| holds(part, Symbol::Child(at as u16)));
            (occurs.repeats() && inside) || parts.iter().any(|part| repeats(part, model, name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_later_is_out_of_order() {
        let kept = |ranks: &[usize]| {
            longest_run(ranks).iter().map(|kept| u8::from(*kept)).collect::<Vec<_>>()
        };
        assert_eq!(kept(&[0, 1, 3, 2]), [1, 1, 1, 0]);
        assert_eq!(kept(&[3, 0, 1, 2]), [0, 1, 1, 1]);
        assert_eq!(kept(&[1, 1, 0, 1]), [1, 1, 0, 1]);
        assert_eq!(kept(&[]), [] as [u8; 0]);
    }
}
