//! Removes findings that are consequences of broken markup.

use super::elements::NEEDS;
use super::{Apart, IsOn, NEAR, is};
use crate::diag::{Diagnostic, Fault, Group, is_mistyped, within};
use crate::schema;
use crate::source::Span;
use crate::syntax::xml::{self, Element, NodeKind, Tree};
use std::collections::{HashMap, HashSet};

/// Rules about names in a coordinator whose definitions may be in the broken part.
const EVENTS: [&str; 4] =
    ["unknown-data-event", "undefined-dataset", "unused-dataset", "input-logic-reference"];

/// Maximum number of mistyped transitions whose names are searched for in the text.
const MOST_TARGETS: usize = 50;

/// Removes findings that are consequences of broken markup. Only markup that changes the nesting of elements counts: a
/// bare `&` does not.
pub(in crate::check) fn of_markup(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    of_quotes(tree, is_on, found);
    of_wrappers(tree, is_on, found);
    let shifts = |finding: &Diagnostic| {
        std::ptr::eq(finding.kind, &xml::NOT_WELL_FORMED)
            && is_on(finding)
            && finding.fault.is_some_and(Fault::shifts_elements)
            // An end tag closes its element even without its `>`.
            && !(finding.is(Fault::OpenTag) && tree.text()[finding.span.range()].starts_with("</"))
    };
    if !found.iter().any(shifts) {
        return;
    }
    // An end tag that closes nothing and the element still open there are two symptoms of one slip.
    let slips: Vec<(Span, Span)> = found
        .iter()
        .filter(|finding| shifts(finding) && finding.is(Fault::ClosesNothing))
        .filter_map(|finding| Some((finding.span, finding.notes.first()?.span)))
        .collect();
    let spans = |of: &dyn Fn(&Diagnostic) -> bool| -> HashSet<Span> {
        found.iter().filter(|finding| of(finding)).map(|finding| finding.span).collect()
    };
    let unknown = spans(&|finding| is(finding, "unknown-element") || is(finding, "unknown-root"));
    let never_closed = spans(&shifts);
    let mut gone: HashSet<Span> = HashSet::new();
    let mut meant: HashMap<Span, String> = HashMap::new();
    for (end, open) in slips.iter().filter(|(_, open)| never_closed.contains(open)) {
        // If there is no element with its name, the slip is in the start tag.
        if !unknown.contains(open) {
            gone.insert(*open);
            continue;
        }
        gone.insert(*end);
        let (open_name, end_tag) = (&tree.text()[open.range()], &tree.text()[end.range()]);
        let name = end_tag.trim_matches(['<', '/', '>']).trim();
        if within(open_name, name, 2).is_some() {
            meant.insert(*open, format!("did you mean `{name}`, as in its end tag?"));
        }
    }
    gone.extend(of_wrong_ends(tree, &slips, &never_closed));
    found.retain(|finding| !(shifts(finding) && gone.contains(&finding.span)));
    for finding in found.iter_mut().filter(|finding| shifts(finding)) {
        if let Some(help) = meant.get(&finding.span) {
            finding.help.get_or_insert_with(|| help.clone());
        }
    }

    let mut patience = MOST_TARGETS;
    let Some(root) = tree.root() else { return };
    let places: Vec<Span> = found.iter().filter(|f| shifts(f)).map(|f| f.span).collect();
    let children = Apart::of_elements(root.elements());
    // Elements swallowed by one that is not closed are missing after it.
    let swallows = found.iter().any(|f| f.fault.is_some_and(Fault::is_open) && is_on(f));
    let whole = places.iter().any(|place| children.around(*place).is_none());
    // If the text between two nodes is broken, the node before it is suspect.
    let mut damaged: Vec<Span> =
        places.iter().filter_map(|place| children.before(place.start)).collect();
    damaged.sort_unstable_by_key(|span| span.start);
    damaged.dedup();
    let damaged = Apart(damaged);
    let of_schema = |finding: &Diagnostic| {
        schema::kinds::KINDS.iter().any(|kind| std::ptr::eq(*kind, finding.kind))
    };
    // Names in a text whose end is unknown.
    let endless: Vec<Span> = root
        .descendants()
        .filter(|element| places.contains(&element.name_span()))
        .filter_map(|element| element.children().next())
        .filter(|child| child.kind() == NodeKind::Text)
        .map(|child| child.span())
        .collect();
    // Actions need what a broken `global` may hold.
    let of_global = places.iter().any(|place| {
        within(tree.text()[place.range()].trim_matches(['<', '/', '>']), "global", 2).is_some()
    });
    let mut of_root: HashSet<Span> = root.elements().map(|child| child.name_span()).collect();
    of_root.insert(root.name_span());
    found.retain(|finding| {
        if finding.file.is_some() || finding.kind.name == xml::NOT_WELL_FORMED.name {
            return true;
        }
        let hit = damaged.around(finding.span).is_some();
        let is_within =
            |text: &Span| text.start <= finding.span.start && finding.span.end <= text.end;
        if finding.kind.group == Group::Names && endless.iter().any(is_within) {
            return false;
        }
        let is_root = finding.span == root.name_span();
        let at_root = whole && of_root.contains(&finding.span) || swallows && is_root;
        // If the end of a property's value is unknown, so is the value.
        let in_value = is(finding, "configuration-value-empty")
            && places
                .iter()
                .any(|place| finding.span.start <= place.end && place.start <= finding.span.end);
        if in_value {
            return false;
        }
        let needs = NEEDS.contains(&finding.kind.name);
        if needs && of_global {
            return false;
        }
        let graph = finding.kind.group == Group::Graph
            || is(finding, "unresolved-transition")
                && !is_mistyped_target(tree, finding, &mut patience);
        let asked = is(finding, "action-data-without-capture-output")
            && (hit || finding.notes.first().is_some_and(|n| damaged.around(n.span).is_some()));
        let events = EVENTS.contains(&finding.kind.name);
        !(of_schema(finding) && (hit || at_root) || needs && hit || graph || asked || events)
    });
}

/// Whether a transition leads to a node with one mistyped letter, and no broken tag may hold a node of the name as
/// written.
fn is_mistyped_target(tree: &Tree, finding: &Diagnostic, patience: &mut usize) -> bool {
    let Some((name, meant)) = finding.subject.as_deref().zip(finding.meant.as_deref()) else {
        return false;
    };
    if *patience == 0 || !is_mistyped(name, meant) {
        return false;
    }
    *patience -= 1;
    let text = tree.text();
    let mut places = text.match_indices(name);
    let is_declared = places.any(|(at, _)| {
        let before = text[..at].trim_end_matches(['"', '\'', ' ', '=']);
        before.ends_with("name")
    });
    !is_declared
}

/// Returns the end tags that close nothing because their element has been closed before, by an end tag with a wrong
/// name further inside.
fn of_wrong_ends(
    tree: &Tree,
    slips: &[(Span, Span)],
    never_closed: &HashSet<Span>,
) -> HashSet<Span> {
    let text = tree.text();
    let mut gone = HashSet::new();
    let mut open: Vec<Span> = never_closed.iter().copied().collect();
    open.sort_unstable_by_key(|span| span.start);
    for span in open {
        let from = span.end as usize;
        // After a nested element, an end tag may well belong to that element.
        let next = text.get(from..).and_then(|rest| rest.find('<')).map(|at| from + at);
        let Some(at) = next.filter(|at| text[*at..].starts_with("</")) else { continue };
        let Some(length) = text[at..].find('>') else { continue };
        let end_tag = &text[at..=at + length];
        let later = slips.iter().map(|(end, _)| *end).filter(|end| end.start as usize > at);
        let mut later = later.filter(|end| text[end.range()].trim_end() == end_tag);
        gone.extend(later.find(|end| !gone.contains(end)));
    }
    gone
}

/// Handles the consequences of a lost quote in the rest of its tag, where the next attribute becomes part of the value
/// before it.
fn of_quotes(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let text = tree.text();
    let tag_of = |span: Span| -> Option<usize> {
        let at = span.start as usize;
        let from = text.floor_char_boundary(at.saturating_sub(NEAR));
        Some(from + text.get(from..at)?.rfind('<')?)
    };
    let torn: HashSet<usize> = found
        .iter()
        .filter(|finding| finding.kind.name == xml::NOT_WELL_FORMED.name && is_on(finding))
        .filter(|finding| {
            let before = text.get(..finding.span.start as usize).unwrap_or_default();
            let torn = finding.is(Fault::NoBlank) || finding.is(Fault::NoValue);
            torn && before.strip_suffix(['"', '\'']).unwrap_or(before).ends_with('=')
        })
        .filter_map(|finding| tag_of(finding.span))
        .collect();
    if torn.is_empty() {
        return;
    }
    found.retain(|finding| {
        finding.file.is_some()
            || finding.kind.name == xml::NOT_WELL_FORMED.name
            // The node may be the one that lost its name.
            || finding.kind.group != Group::Graph
                && !is(finding, "unresolved-transition")
                && !tag_of(finding.span).is_some_and(|tag| {
torn.contains(&tag)
            })
    });
}

/// Elements whose enclosing element is missing, as (parent, missing element, its children). Only the missing element is
/// reported.
const WRAPPERS: [(&str, &str, [&str; 2]); 2] = [
    ("action", "workflow", ["app-path", "configuration"]),
    ("decision", "switch", ["case", "default"]),
];

fn of_wrappers(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    // A transition of an action with a misspelled name is not a second body.
    let unknown: HashSet<Span> = found
        .iter()
        .filter(|finding| is(finding, "unsupported-action-type") && is_on(finding))
        .map(|finding| finding.span)
        .collect();
    let actions = tree.root().into_iter().flat_map(Element::elements);
    let mut ways: HashSet<Span> = HashSet::new();
    let mut without: HashSet<Span> = HashSet::new();
    for action in actions.filter(|element| !unknown.is_empty() && element.name() == "action") {
        for child in action.elements().filter(|child| unknown.contains(&child.name_span())) {
            if child.attribute("to").is_some() && child.elements().next().is_none() {
                ways.insert(child.name_span());
                without.insert(action.name_span());
            }
        }
    }
    found.retain(|finding| {
        let lacks = |way: &str| finding.names == ["action", way];
        let is_lost = is(finding, "missing-element")
            && (lacks("ok") || lacks("error"))
            && without.contains(&finding.span);
        !is_lost && (!ways.contains(&finding.span) || is(finding, "unsupported-action-type"))
    });
    let missing: HashSet<(Span, &str)> = found
        .iter()
        .filter(|finding| is(finding, "missing-element") && is_on(finding))
        .filter_map(|finding| {
            let wrapper =
                WRAPPERS.iter().find(|(parent, name, _)| finding.names == [*parent, *name])?;
            Some((finding.span, wrapper.1))
        })
        .collect();
    if missing.is_empty() {
        return;
    }
    let mut inner: HashSet<Span> = HashSet::new();
    for element in tree.root().into_iter().flat_map(Element::descendants) {
        for (_, name, children) in &WRAPPERS {
            if missing.contains(&(element.name_span(), *name)) {
                let inside = element.elements().filter(|child| children.contains(&child.name()));
                inner.extend(inside.map(|child| child.name_span()));
            }
        }
    }
    found.retain(|finding| !(is(finding, "unknown-element") && inner.contains(&finding.span)));
}

/// Keeps the first of several faults in the markup of one tag, and one per line for tags that are really text.
pub(super) fn of_tags(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let broken = |finding: &Diagnostic| {
        std::ptr::eq(finding.kind, &xml::NOT_WELL_FORMED)
            && finding.file.is_none()
            && is_on(finding)
    };
    let mut faults: Vec<Span> = found.iter().filter(|f| broken(f)).map(|f| f.span).collect();
    if faults.is_empty() {
        return;
    }
    faults.sort_unstable();
    let text = tree.text();
    // The offset of the `<` of the tag that contains a place, if no tag ends in between.
    let tag_of = |at: u32| {
        let before = &text.as_bytes()[..at as usize];
        let open = memchr::memrchr2(b'<', b'>', before)?;
        (before[open] == b'<').then_some(open)
    };
    let mut tags: HashMap<usize, Span> = HashMap::new();
    for span in &faults {
        if let Some(tag) = tag_of(span.start) {
            tags.entry(tag).or_insert(*span);
        }
    }
    let line_of = |at: u32| {
        let at = at as usize;
        let from = at.saturating_sub(NEAR);
        let end = memchr::memrchr(b'\n', &text.as_bytes()[from..at]);
        end.map_or(at - at % NEAR, |end| from + end)
    };
    let mut open: HashMap<usize, Span> = HashMap::new();
    for finding in found.iter().filter(|finding| broken(finding)) {
        if finding.fault.is_some_and(Fault::is_open) {
            let first = open.entry(line_of(finding.span.start)).or_insert(finding.span);
            *first = (*first).min(finding.span);
        }
    }
    // A truncated file leaves all elements open at its end; this is reported at the root.
    let ends_open = tree.root().is_some_and(|root| {
        let at = |finding: &&Diagnostic| finding.span == root.name_span() && broken(finding);
        found.iter().find(at).and_then(|finding| finding.fault).is_some_and(Fault::is_open)
    });
    let mut cut: HashSet<Span> = HashSet::new();
    let mut last = tree.root().filter(|_| ends_open);
    while let Some(element) = last {
        last = element.elements().last().filter(|child| child.span().end == element.span().end);
        cut.extend(last.map(|child| child.name_span()));
    }
    let at_end = |finding: &Diagnostic| {
        finding.is(Fault::OpenTag) && !text[finding.span.end as usize..].contains('<')
    };
    found.retain(|finding| {
        if finding.file.is_some() {
            return true;
        }
        if ends_open && broken(finding) && (cut.contains(&finding.span) || at_end(finding)) {
            return false;
        }
        if broken(finding) && finding.fault.is_some_and(Fault::is_open) {
            return open.get(&line_of(finding.span.start)) == Some(&finding.span);
        }
        let of_tag = broken(finding) || is(finding, "unknown-attribute");
        let first = tag_of(finding.span.start).filter(|_| of_tag).and_then(|tag| tags.get(&tag));
        first.is_none_or(|first| *first == finding.span && broken(finding))
    });
}
