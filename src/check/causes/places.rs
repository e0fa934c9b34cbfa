//! One finding for an element in the wrong place or the wrong form.

use super::elements::Here;
use super::is;
use crate::diag::{Diagnostic, Fault};
use crate::source::Span;
use crate::syntax::xml::{self, Element};
use std::collections::{HashMap, HashSet};

/// Returns the spans of the findings of a rule that would be reported.
fn places(here: &Here<'_>, found: &[Diagnostic], rule: &str) -> HashSet<Span> {
    let told = found.iter().filter(|f| is(f, rule) && f.file.is_none() && (here.is_on)(f));
    told.map(|finding| finding.span).collect()
}

/// `name` and `value` without the `property` around them.
pub(super) fn without_a_property(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let unknown = places(here, found, "unknown-element");
    if unknown.is_empty() {
        return;
    }
    let (mut first, mut gone) = (HashSet::new(), HashSet::new());
    for outer in here.root.descendants().filter(|element| element.name() == "configuration") {
        let mut before: Option<Element<'_>> = None;
        for child in outer.elements() {
            let is_pair = child.name() == "value" && unknown.contains(&child.name_span());
            let name = before.filter(|name| name.name() == "name" && is_pair);
            if let Some(name) = name.filter(|name| unknown.contains(&name.name_span())) {
                first.insert(name.name_span());
                gone.insert(child.name_span());
                gone.insert(outer.name_span());
            }
            before = Some(child);
        }
    }
    for finding in found.iter_mut() {
        if is(finding, "unknown-element") && first.contains(&finding.span) {
            finding.help = Some("put it and its `value` into a `property`".to_owned());
            finding.fixes.clear();
        }
    }
    found.retain(|finding| {
        let is_wrapper =
            is(finding, "missing-element") && finding.names == ["configuration", "property"];
        let follows = is(finding, "unknown-element") || is_wrapper;
        !(follows && finding.file.is_none() && gone.contains(&finding.span))
    });
}

/// Properties after the end of their configuration, which is empty because of that.
pub(super) fn behind_configurations(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let unknown = places(here, found, "unknown-element");
    let missing = places(here, found, "missing-element");
    if unknown.is_empty() || missing.is_empty() {
        return;
    }
    let (mut first, mut gone) = (HashSet::new(), HashSet::new());
    let empty = |element: &Element<'_>| {
        element.name() == "configuration" && missing.contains(&element.name_span())
    };
    for configuration in here.root.descendants().filter(empty) {
        let behind = configuration.parent().into_iter().flat_map(Element::elements);
        let mut behind = behind
            .filter(|e| e.name() == "property" && e.span().start > configuration.span().start)
            .map(|property| property.name_span())
            .filter(|name| unknown.contains(name));
        let Some(property) = behind.next() else { continue };
        first.insert(property);
        gone.insert(configuration.name_span());
        gone.extend(behind);
    }
    for finding in found.iter_mut() {
        if is(finding, "unknown-element") && first.contains(&finding.span) {
            finding.help = Some("put it into the `configuration` before it".to_owned());
            finding.fixes.clear();
        }
    }
    found.retain(|finding| {
        let follows = is(finding, "unknown-element") || is(finding, "missing-element");
        !(follows && finding.file.is_none() && gone.contains(&finding.span))
    });
}

/// `<property name="a" value="b"/>`: the missing elements are there as attributes.
pub(super) fn attributes_for_elements(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let unknown = places(here, found, "unknown-attribute");
    if unknown.is_empty() {
        return;
    }
    let missing: HashMap<Span, Vec<String>> = found
        .iter()
        .filter(|f| is(f, "missing-element") && f.file.is_none() && (here.is_on)(f))
        .map(|finding| (finding.span, finding.names.iter().skip(1).cloned().collect()))
        .collect();
    let mut written: HashMap<Span, String> = HashMap::new();
    let mut gone: HashSet<Span> = HashSet::new();
    for element in here.root.descendants() {
        let Some(names) = missing.get(&element.name_span()) else { continue };
        let attribute = |name: &String| element.attribute(name).map(|found| found.name_span());
        let spans: Vec<Span> = names.iter().filter_map(attribute).collect();
        if spans.is_empty() || spans.len() < names.len() {
            continue;
        }
        gone.insert(element.name_span());
        let elements: Vec<String> = names.iter().map(|name| format!("`<{name}>`")).collect();
        let help = format!("write {} inside it", elements.join(" and "));
        written.extend(spans.into_iter().map(|span| (span, help.clone())));
    }
    for finding in found.iter_mut().filter(|f| is(f, "unknown-attribute") && f.file.is_none()) {
        if let Some(help) = written.get(&finding.span) {
            finding.help = Some(help.clone());
        }
    }
    found.retain(|f| !(is(f, "missing-element") && f.file.is_none() && gone.contains(&f.span)));
}

/// `ok` and `error` after the end of their action.
pub(super) fn ways_behind_actions(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let unknown = places(here, found, "unknown-element");
    let missing: HashSet<Span> = found
        .iter()
        .filter(|f| {
            let is_way = |name: &String| ["ok", "error"].contains(&name.as_str());
            is(f, "missing-element") && f.names.get(1).is_some_and(is_way)
        })
        .filter(|f| f.file.is_none() && (here.is_on)(f))
        .map(|finding| finding.span)
        .collect();
    if unknown.is_empty() || missing.is_empty() {
        return;
    }
    let mut gone: HashSet<Span> = HashSet::new();
    let mut lacking: Option<Span> = None;
    let mut behind: HashSet<Span> = HashSet::new();
    for child in here.root.elements() {
        let name = child.name_span();
        match child.name() {
            "action" => lacking = missing.contains(&name).then_some(name),
            "ok" | "error" if unknown.contains(&name) => {
                gone.extend(lacking.map(|_| name));
                behind.extend(lacking);
            }
            _ => lacking = None,
        }
    }
    for finding in found.iter_mut() {
        if is(finding, "missing-element") && behind.contains(&finding.span) {
            finding.help = Some("it is after the end of its action".to_owned());
        }
    }
    found.retain(|finding| {
        let is_way = is(finding, "unknown-element") && gone.contains(&finding.span);
        let is_lost = !behind.is_empty() && is(finding, "unreachable-node");
        !(finding.file.is_none() && (is_way || is_lost))
    });
}

/// Elements after the body of an action that are not bodies themselves.
pub(super) fn parts_behind_bodies(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let unknown = places(here, found, "unsupported-action-type");
    found.retain(|finding| {
        let second =
            is(finding, "action-with-two-bodies") || is(finding, "duplicate-single-element");
        !(second && finding.file.is_none() && unknown.contains(&finding.span))
    });
}

/// Start tags without their `>`: errors about their end tags, or about what the start tags are taken for, are not
/// separate faults.
pub(super) fn tags_without_their_end(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let text = here.text;
    let is_broken = |finding: &Diagnostic| {
        is(finding, xml::NOT_WELL_FORMED.name) && finding.file.is_none() && (here.is_on)(finding)
    };
    let open: HashSet<Span> = found
        .iter()
        .filter(|f| is_broken(f) && f.is(Fault::OpenTag))
        .map(|finding| finding.span)
        .collect();
    found.retain(|finding| {
        let is_same = finding.is(Fault::OpenElement) && open.contains(&finding.span);
        !(is_broken(finding) && is_same)
    });
    let ends: Vec<(usize, String)> = found
        .iter()
        .filter(|f| is_broken(f) && f.is(Fault::ClosesNothing))
        .filter_map(|f| Some((f.span.start as usize, f.names.first()?.clone())))
        .collect();
    let mut gone: HashSet<usize> = HashSet::new();
    for finding in found.iter_mut() {
        let at = finding.span.start as usize;
        if ends.is_empty() || !finding.is(Fault::BareLess) || !is_broken(finding) {
            continue;
        }
        let rest = &text[at + 1..];
        let letter = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let name = &rest[..rest.find(letter).unwrap_or(rest.len())];
        let line = rest.find('\n').map_or(text.len(), |length| at + 1 + length);
        // The text after the tag becomes part of its name: `<valuedefault</value>`.
        let begins = |told: &str| !told.is_empty() && name.starts_with(told);
        let end = ends.iter().find(|(end, told)| (at..line).contains(end) && begins(told));
        let Some(end) = end else { continue };
        gone.insert(end.0);
        finding.message = format!("the tag `<{}` is never closed with `>`", end.1);
        finding.fault = Some(Fault::OpenTag);
        finding.help = None;
        finding.fixes.clear();
    }
    found.retain(|finding| {
        let of_end = gone.contains(&(finding.span.start as usize));
        !(of_end && is_broken(finding) && finding.is(Fault::ClosesNothing))
    });
}

/// Two actions run together, because the end of the first and the beginning of the second are missing: all elements
/// that the result has twice, and the transitions to the second action, are one fault.
pub(super) fn actions_run_together(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    const WAYS: [&str; 2] = ["ok", "error"];
    let is_second = |finding: &Diagnostic| {
        finding.file.is_none()
            && (here.is_on)(finding)
            && (is(finding, "action-with-two-bodies")
                || is(finding, "duplicate-single-element")
                    && finding.names.first().is_some_and(|outer| outer == "action"))
    };
    let is_way = |finding: &Diagnostic| {
        finding.names.get(1).is_some_and(|name| WAYS.contains(&name.as_str()))
    };
    if !found.iter().any(|finding| is_second(finding) && is_way(finding)) {
        return;
    }
    let mut joined: Vec<(Span, Span)> = Vec::new();
    for action in here.root.elements().filter(|child| child.is("action")) {
        let twice = |name: &str| action.elements().filter(|child| child.is(name)).nth(1).is_some();
        let inside = |finding: &&Diagnostic| {
            is_second(finding) && !is_way(finding) && super::inside(action.span(), finding.span)
        };
        let body = found.iter().find(inside).filter(|_| WAYS.iter().all(|way| twice(way)));
        joined.extend(body.map(|body| (action.span(), body.span)));
    }
    let lost: HashSet<&str> = found
        .iter()
        .filter(|finding| is(finding, "unresolved-transition") && finding.file.is_none())
        .filter_map(|finding| here.text.get(finding.span.range()))
        .collect();
    let is_lost = !joined.is_empty() && lost.len() == joined.len();
    found.retain_mut(|finding| {
        let within = joined.iter().find(|(action, _)| super::inside(*action, finding.span));
        if let Some((_, body)) = within.filter(|_| is_second(finding)) {
            if finding.span == *body {
                finding.help = Some(
                    "end the first action before it, and begin the second one there".to_owned(),
                );
            }
            return finding.span == *body;
        }
        let follows = ["el-action-not-yet-run", "element-out-of-order"];
        let follows = follows.contains(&finding.kind.name) && within.is_some();
        !(follows || is_lost && is(finding, "unresolved-transition"))
    });
}
