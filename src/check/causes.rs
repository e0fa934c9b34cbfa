//! One cause, one finding.
//!
//! In: all findings of a definition, and its tree and graph. Out: the same without the consequences of other findings:
//! the effect of a broken tag on the elements around it, of a faulty fork on joins and runs, of a constant on the other
//! cases of its decision. A finding that explains the server's refusal stays.

use crate::diag::{Diagnostic, Group, Level, nearest};
use crate::files::Files;
use crate::ir::workflow::{NodeId, Shape, Workflow};
use crate::passes::flow::Flow;
use crate::passes::names::Names;
use crate::schema;
use crate::source::Span;
use crate::syntax::xml::{self, Element, Tree};
use std::collections::{HashMap, HashSet};

/// Findings of forks and joins, those that name the fault best first. What needs failing actions to show comes last.
pub(super) const FORKS: [&str; 23] = [
    "fork-path-repeated",
    "end-inside-fork",
    "fork-with-several-joins",
    "node-reached-twice-in-parallel",
    "fork-without-join",
    "join-without-fork",
    "join-of-several-forks",
    "fork-join-unbalanced",
    "entered-twice",
    "joins-race",
    "cut-off",
    "hangs",
    "join-outside-fork",
    "entered-twice-after-failure",
    "joins-race-after-failure",
    "cut-off-after-failure",
    "hangs-after-failure",
    "join-outside-fork-after-failure",
    "entered-twice-after-failures",
    "joins-race-after-failures",
    "cut-off-after-failures",
    "hangs-after-failures",
    "join-outside-fork-after-failures",
];

/// What rules miss in an action whose parts the schema has looked at as well.
const NEEDS: [&str; 7] = [
    "name-node-missing",
    "resource-manager-missing",
    "parameter-name-empty",
    "mapreduce-output-missing",
    "distcp-missing-endpoints",
    "script-parameter-missing",
    "credential-incomplete",
];

/// What a coordinator names that may stand in what is broken.
const EVENTS: [&str; 4] =
    ["unknown-data-event", "undefined-dataset", "unused-dataset", "input-logic-reference"];

/// Whether a finding would be told; what would not cannot explain others.
pub(super) type IsOn<'a> = &'a dyn Fn(&Diagnostic) -> bool;

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

/// What broken markup makes of the rest. Only markup that changes what lies in what counts: a bare `&` does not.
pub(super) fn of_markup(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    of_quotes(tree, is_on, found);
    of_wrappers(tree, is_on, found);
    let shifts = |finding: &Diagnostic| {
        std::ptr::eq(finding.kind, &xml::NOT_WELL_FORMED)
            && is_on(finding)
            && xml::shifts_elements(&finding.message)
    };
    if !found.iter().any(shifts) {
        return;
    }
    // An end tag that closes nothing and the element that is open there are two views of one slip.
    let slips: Vec<(Span, Span)> = found
        .iter()
        .filter(|finding| shifts(finding) && xml::closes_nothing(&finding.message))
        .filter_map(|finding| Some((finding.span, finding.notes.first()?.span)))
        .collect();
    let spans = |of: &dyn Fn(&Diagnostic) -> bool| -> HashSet<Span> {
        found.iter().filter(|finding| of(finding)).map(|finding| finding.span).collect()
    };
    let unknown = spans(&|finding| is(finding, "unknown-element"));
    let never_closed = spans(&shifts);
    let mut gone: HashSet<Span> = HashSet::new();
    for (end, open) in slips.iter().filter(|(_, open)| never_closed.contains(open)) {
        // The start tag has the slip where nobody knows such an element.
        gone.insert(if unknown.contains(open) { *end } else { *open });
    }
    found.retain(|finding| !(shifts(finding) && gone.contains(&finding.span)));

    let Some(root) = tree.root() else { return };
    let places: Vec<Span> = found.iter().filter(|f| shifts(f)).map(|f| f.span).collect();
    let children = Apart::of_elements(root.elements());
    let whole = places.iter().any(|place| children.around(*place).is_none());
    // Where something between two nodes is broken, the one before it is suspect.
    let mut damaged: Vec<Span> =
        places.iter().filter_map(|place| children.before(place.start)).collect();
    damaged.sort_unstable_by_key(|span| span.start);
    damaged.dedup();
    let damaged = Apart(damaged);
    let of_schema = |finding: &Diagnostic| {
        schema::kinds::KINDS.iter().any(|kind| std::ptr::eq(*kind, finding.kind))
    };
    let mut of_root: HashSet<Span> = root.elements().map(|child| child.name_span()).collect();
    of_root.insert(root.name_span());
    found.retain(|finding| {
        if finding.file.is_some() || finding.kind.name == xml::NOT_WELL_FORMED.name {
            return true;
        }
        let hit = damaged.around(finding.span).is_some();
        let at_root = whole && of_root.contains(&finding.span);
        let needs = NEEDS.contains(&finding.kind.name);
        let graph = finding.kind.group == Group::Graph || is(finding, "unresolved-transition");
        let asked = finding.notes.first().is_some_and(|note| {
            is(finding, "action-data-without-capture-output") && damaged.around(note.span).is_some()
        });
        let events = EVENTS.contains(&finding.kind.name);
        !(of_schema(finding) && (hit || at_root) || needs && hit || graph || asked || events)
    });
}

/// What a lost quote makes of the rest of its tag: the next attribute is in the value of the one before.
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
            let torn = finding.message == xml::NO_BLANK || finding.message.ends_with(xml::NO_VALUE);
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

/// What stands in an element without the one that should be around it: that one is missing, and nothing else.
const WRAPPERS: [(&str, &str, [&str; 2]); 2] = [
    ("action", "workflow", ["app-path", "configuration"]),
    ("decision", "switch", ["case", "default"]),
];

fn of_wrappers(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    // A way out of an action under a name of its own is no second thing that the action does.
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
        let is_lost = ["`action` needs `ok`", "`action` needs `error`"]
            .contains(&finding.message.as_str())
            && without.contains(&finding.span);
        !is_lost && (!ways.contains(&finding.span) || is(finding, "unsupported-action-type"))
    });
    let missing: HashSet<(Span, &str)> = found
        .iter()
        .filter(|finding| is(finding, "missing-element") && is_on(finding))
        .filter_map(|finding| {
            let wrapper = WRAPPERS.iter().find(|(parent, name, _)| {
                finding.message == format!("`{parent}` needs `{name}`")
            })?;
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

/// What a property is not, because of how its line is written: what is said of the line explains what is said of its value.
pub(super) fn of_values(files: &Files, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    const LINES: [&str; 3] =
        ["property-comment-in-value", "property-in-quotes", "property-stray-sign"];
    let of_line = |finding: &Diagnostic| LINES.contains(&finding.kind.name);
    let line = |finding: &Diagnostic| -> Option<(String, u32)> {
        let file = finding.file.as_ref()?;
        let source = files.text(file)?;
        Some((file.clone(), source.position(finding.span.start).line))
    };
    // Of several words for one fault in one place, the first says most.
    const SAME: [(&str, &str); 10] = [
        ("subworkflow-parameters-missing", "configuration-name-malformed"),
        ("workflow-parameters-missing", "configuration-name-malformed"),
        ("misspelt-hadoop-property", "configuration-name-malformed"),
        ("action-overwrites-input", "output-written-twice"),
        ("el-nested-expression", "variable-without-braces"),
        ("malformed-uri", "malformed-name-node"),
        ("unresolved-transition", "invalid-node-name"),
        ("property-unresolved-reference", "workflow-parameters-missing"),
        ("property-unresolved-reference", "coordinator-parameters-missing"),
        ("property-unresolved-reference", "undefined-variable"),
    ];
    for (first, second) in SAME {
        let places: Vec<(Option<String>, Span)> = found
            .iter()
            .filter(|finding| is(finding, first) && is_on(finding))
            .map(|finding| (finding.file.clone(), finding.span))
            .collect();
        let near = |finding: &Diagnostic| {
            let span = finding.span;
            let touches = |place: &Span| place.start <= span.end && span.start <= place.end;
            places.iter().any(|(file, place)| *file == finding.file && touches(place))
        };
        if !places.is_empty() {
            found.retain(|finding| !(is(finding, second) && near(finding)));
        }
    }
    // What a line takes with it is missed because of that.
    let taken: HashSet<String> = found
        .iter()
        .filter(|finding| is(finding, "property-stray-sign") && is_on(finding))
        .filter_map(|finding| finding.subject.clone())
        .collect();
    if !taken.is_empty() {
        found.retain(|finding| {
            let names = finding.message.split('`').skip(1).step_by(2);
            of_line(finding) || !names.take(2).any(|name| taken.contains(name))
        });
    }
    let told: HashSet<(String, u32)> =
        found.iter().filter(|f| of_line(f) && is_on(f)).filter_map(line).collect();
    if !told.is_empty() {
        found.retain(|f| of_line(f) || line(f).is_none_or(|line| !told.contains(&line)));
    }
    // A name with its value at its end gives nothing under the name that it begins with.
    const MISSING: [&str; 6] = [
        "coordinator-parameters-missing",
        "undefined-variable",
        "workflow-parameters-missing",
        "subworkflow-parameters-missing",
        "parameter-not-supplied",
        "property-unresolved-reference",
    ];
    let joined: Vec<String> = found
        .iter()
        .filter(|finding| is(finding, "property-without-value") && is_on(finding))
        .filter_map(|finding| {
            let source = files.text(finding.file.as_ref()?)?;
            // With what stands before the sign, where a blank ends the name.
            let line = source.text.get(finding.span.start as usize..)?;
            let name = line.split(['=', '\n', '\r']).next().unwrap_or_default();
            Some(
                source.slice(finding.span).to_owned()
                    + name.get(finding.span.range().len()..).unwrap_or(""),
            )
        })
        .collect();
    if joined.is_empty() {
        return;
    }
    found.retain(|finding| {
        let name = finding.message.split('`').nth(1).filter(|name| !name.is_empty());
        let begins = |name: &str| {
            joined.iter().any(|joined| {
                // The name itself may have a blank in it.
                let whole: String = joined.chars().filter(|c| !c.is_whitespace()).collect();
                joined.starts_with(name) || whole.starts_with(name)
            })
        };
        !(MISSING.contains(&finding.kind.name) && name.is_some_and(begins))
    });
}

/// A coordinator as a server keeps it, with what it adds to the definition that was submitted: that is all that is wrong
/// with it.
fn stored(root: Element<'_>, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let added = ["freq_timeunit", "end_of_duration"];
    if root.name() != "coordinator-app" || added.iter().any(|name| root.attribute(name).is_none()) {
        return;
    }
    let told = |finding: &Diagnostic| {
        is(finding, "unknown-attribute") && added.iter().any(|name| finding.message.contains(name))
    };
    let Some(at) = found.iter().position(|finding| told(finding) && is_on(finding)) else { return };
    let mut kept = found.swap_remove(at);
    kept.help = Some(
        "a server adds this when it stores a coordinator: check the definition that was submitted"
            .to_owned(),
    );
    found.retain(|finding| {
        let of_schema = schema::kinds::KINDS.iter().any(|kind| std::ptr::eq(*kind, finding.kind));
        !of_schema && !is(finding, "date-format") && !is(finding, "submission-refused")
    });
    found.push(kept);
}

/// Attributes that are taken for one another where a way leads somewhere.
const LEADS: [&str; 5] = ["to", "start", "name", "node", "target"];

/// Whether a name has the letters of another one in their order, the first at the beginning: `grp`, for `group`.
fn is_short_for(short: &str, name: &str) -> bool {
    let mut letters = name.chars();
    short.len() > 1
        && short.chars().next() == name.chars().next()
        && short.chars().all(|letter| letters.any(|other| other == letter))
}

/// How far back an expression or a line is looked for the beginning of.
const NEAR: usize = 4_096;

/// Of several faults of one expression or one URI template, the one that says most.
fn in_expressions(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    const ORDER: [&str; 8] = [
        "variable-without-braces",
        "name-without-quotes",
        "el-single-equals",
        "el-syntax-error",
        "uri-template-unknown-constant",
        "undefined-variable",
        "subworkflow-parameters-missing",
        "uri-template-too-coarse",
    ];
    let text = tree.text();
    // A template of a dataset is one thing; elsewhere it is the expression.
    let place = |finding: &Diagnostic| -> Option<(usize, usize)> {
        let rank = ORDER.iter().position(|name| is(finding, name))?;
        let at = finding.span.start as usize;
        // No expression that anybody writes is longer.
        let from = text.floor_char_boundary(at.saturating_sub(NEAR));
        let before = &text[from..at];
        let template = before.rfind("<uri-template>");
        if let Some(open) = template.filter(|open| !before[*open..].contains("</uri-template>")) {
            return Some((rank, from + open));
        }
        let start = match text[at..].starts_with("${") {
            true => at,
            false => from + before.rfind("${").filter(|open| !before[*open..].contains('}'))?,
        };
        Some((rank, start))
    };
    let mut best: HashMap<usize, (usize, u32)> = HashMap::new();
    for finding in found.iter().filter(|finding| finding.file.is_none() && is_on(finding)) {
        if let Some((rank, start)) = place(finding) {
            let key = (rank, finding.span.start);
            let known = best.entry(start).or_insert(key);
            *known = (*known).min(key);
        }
    }
    // How many values a function is given depends on what could not be read.
    let mut unread: Vec<Span> = found
        .iter()
        .filter(|finding| is(finding, "el-syntax-error") && is_on(finding))
        .filter_map(|finding| {
            let (_, start) = place(finding)?;
            let end = text[start..].find('}').map_or(text.len(), |length| start + length);
            Some(Span::new(start, end))
        })
        .collect();
    unread.sort_unstable_by_key(|span| span.start);
    let unread = Apart(unread);
    found.retain(|finding| {
        if finding.file.is_some() || !is_on(finding) {
            return true;
        }
        if is(finding, "el-wrong-arity")
            && unread
                .before(finding.span.start)
                .is_some_and(|expression| finding.span.start < expression.end)
        {
            return false;
        }
        match place(finding) {
            Some((rank, start)) => best.get(&start) == Some(&(rank, finding.span.start)),
            None => true,
        }
    });
    // What is not defined here cannot be handed on either.
    let undefined: HashSet<String> = found
        .iter()
        .filter(|finding| is(finding, "undefined-variable") && is_on(finding))
        .filter_map(|finding| finding.subject.clone())
        .collect();
    found.retain(|finding| {
        let names = finding.message.split('`').nth(1).unwrap_or_default();
        let handed_on = [
            "subworkflow-parameters-missing",
            "coordinator-parameters-missing",
            "workflow-parameters-missing",
        ];
        !(handed_on.contains(&finding.kind.name) && undefined.contains(names))
    });
}

/// Of several faults of the markup of one tag, the first; and of tags that are none but text, one on a line.
fn of_tags(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
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
    // The tag that a place stands in: from its `<`, where no tag ends in between.
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
        if finding.message.ends_with("is never closed") {
            let first = open.entry(line_of(finding.span.start)).or_insert(finding.span);
            *first = (*first).min(finding.span);
        }
    }
    found.retain(|finding| {
        if finding.file.is_some() {
            return true;
        }
        if broken(finding) && finding.message.ends_with("is never closed") {
            return open.get(&line_of(finding.span.start)) == Some(&finding.span);
        }
        let of_tag = broken(finding) || is(finding, "unknown-attribute");
        let first = tag_of(finding.span.start).filter(|_| of_tag).and_then(|tag| tags.get(&tag));
        first.is_none_or(|first| *first == finding.span && broken(finding))
    });
}

/// Followers that are told by the elements in which they stand.
pub(super) fn in_elements(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let Some(root) = tree.root() else { return };
    stored(root, is_on, found);
    of_tags(tree, is_on, found);
    in_expressions(tree, is_on, found);
    // Where the end is missing, the ways to it lead nowhere.
    let endless = |f: &Diagnostic| is(f, "missing-element") && f.message.ends_with("needs `end`");
    if found.iter().any(|finding| endless(finding) && is_on(finding)) {
        let lost = |f: &Diagnostic| is(f, "unresolved-transition");
        let names: HashSet<String> =
            found.iter().filter(|f| lost(f)).map(|f| f.message.clone()).collect();
        if names.len() == 1 {
            found.retain(|finding| !lost(finding));
        }
    }
    // What stands in an element without the attribute for it was meant for that attribute.
    let text = tree.text();
    let lacking: HashSet<usize> = found
        .iter()
        .filter(|finding| is(finding, "missing-attribute") && is_on(finding))
        .map(|finding| finding.span.end as usize)
        .collect();
    if !lacking.is_empty() {
        // Right behind a tag that ends with the name of its element.
        let begins = |span: Span| {
            let from = text.floor_char_boundary((span.start as usize).saturating_sub(NEAR));
            let tag = text[from..span.start as usize].trim_end().strip_suffix('>');
            tag.is_some_and(|tag| lacking.contains(&(from + tag.trim_end().len())))
        };
        found.retain(|finding| !(is(finding, "unexpected-text") && begins(finding.span)));
    }
    // Of what is unknown in a tag, and what is missing there, the one is the other's name.
    let tag = |finding: &Diagnostic| {
        let from = text.floor_char_boundary((finding.span.start as usize).saturating_sub(NEAR));
        Some(from + text[from..finding.span.start as usize].rfind('<')?)
    };
    let mut odd: HashMap<usize, usize> = HashMap::new();
    let unknown = |f: &Diagnostic| is(f, "unknown-attribute") && is_on(f);
    for at in found.iter().filter(|finding| unknown(finding)).filter_map(tag) {
        *odd.entry(at).or_default() += 1;
    }
    if !odd.is_empty() {
        let one = |f: &Diagnostic| f.message.matches('`').count() == 4;
        let missing: HashMap<usize, String> = found
            .iter()
            .filter(|finding| is(finding, "missing-attribute") && one(finding) && is_on(finding))
            .filter_map(|f| Some((tag(f)?, f.message.split('`').nth(3)?.to_owned())))
            .filter(|(at, _)| odd.get(at) == Some(&1))
            .filter(|(at, name)| {
                let odd = found.iter().find(|f| unknown(f) && tag(f) == Some(*at));
                // One that is nearly another attribute is not this one.
                let lone = odd.is_some_and(|f| f.fixes.is_empty());
                let odd = odd.and_then(|f| text.get(f.span.range()));
                odd.is_some_and(|odd| {
                    let leads = LEADS.contains(&odd) && LEADS.contains(&name.as_str());
                    lone || leads || is_short_for(odd, name) || is_short_for(name, odd)
                })
            })
            .collect();
        for finding in found.iter_mut().filter(|finding| unknown(finding)) {
            let name = tag(finding).and_then(|at| missing.get(&at));
            if let Some(name) = name.filter(|_| finding.fixes.is_empty()) {
                finding.help = Some(format!("did you mean `{name}`?"));
            }
        }
        found.retain(|finding| {
            let told = || tag(finding).is_some_and(|at| missing.contains_key(&at));
            !(is(finding, "missing-attribute") && one(finding) && told())
        });
    }
    // What is unknown in `global` was meant to be what actions miss.
    let global = root.child("global").map(|global| global.span());
    let is_odd = |f: &Diagnostic| {
        is(f, "unknown-element") && global.is_some_and(|global| inside(global, f.span))
    };
    if found.iter().any(|finding| is_odd(finding) && is_on(finding)) {
        found.retain(|finding| {
            !["name-node-missing", "resource-manager-missing"].contains(&finding.kind.name)
        });
    }
    // Of two properties of one name, the second was meant to be the one that is missing.
    let only = |name: &str| -> Option<usize> {
        let mut places = (0..found.len()).filter(|at| is(&found[*at], name));
        places.next().filter(|_| places.next().is_none())
    };
    let missing = only("workflow-parameters-missing").or(only("subworkflow-parameters-missing"));
    if let (Some(missing), Some(twice)) = (missing, only("duplicate-configuration-property"))
        && is_on(&found[missing])
        && is_on(&found[twice])
        && found[missing].message.contains(", and is not given it")
    {
        let name = found[twice].message.split('`').nth(1).unwrap_or_default().to_owned();
        let (place, asked) = (found[twice].span, found[missing].span);
        let finding = &mut found[missing];
        finding.message.push_str(&format!(", and this is the second `{name}`"));
        *finding = finding.clone().note(asked, "it is started here");
        finding.span = place;
        found.remove(twice);
    }
    // Of two datasets of one name, the second was meant to be the one that is missed.
    let places = |name: &str| -> Vec<usize> {
        let of = |at: &usize| is(&found[*at], name) && found[*at].file.is_none();
        (0..found.len()).filter(of).collect()
    };
    if let ([missed], [second]) =
        (places("undefined-dataset").as_slice(), places("duplicate-dataset").as_slice())
        && is_on(&found[*missed])
    {
        let (missed, second) = (*missed, *second);
        let name = found[second].message.split('`').nth(1).unwrap_or_default().to_owned();
        let (place, used) = (found[second].span, found[missed].span);
        let finding = &mut found[missed];
        finding.message.push_str(&format!(", and this is the second called `{name}`"));
        *finding = finding.clone().note(used, "it is used here");
        finding.span = place;
        finding.fixes.clear();
        found.remove(second);
    }
    // Without a frequency nobody knows what tells instances apart.
    if found.iter().any(|f| is(f, "el-non-positive-period") && is_on(f)) {
        found.retain(|finding| !is(finding, "uri-template-too-coarse"));
    }
    // The output is there, under a name with a slip.
    let slips: Vec<Span> = found
        .iter()
        .filter(|f| is(f, "misspelt-hadoop-property") && is_on(f))
        .filter(|f| f.help.as_deref().is_some_and(|help| help.contains("output")))
        .map(|finding| finding.span)
        .collect();
    if !slips.is_empty() {
        let actions = root.elements().filter(|child| child.name() == "action");
        let hit = Apart::of_elements(actions).around_any(&slips);
        found.retain(|finding| {
            !(is(finding, "mapreduce-output-missing") && hit.around(finding.span).is_some())
        });
    }
    // A path that is relative because its variable lacks the braces.
    let bare: HashMap<u32, Diagnostic> = found
        .iter()
        .filter(|finding| is(finding, "variable-without-braces") && is_on(finding))
        .map(|finding| (finding.span.start, finding.clone()))
        .collect();
    if !bare.is_empty() {
        let mut explained = HashSet::new();
        for finding in found.iter_mut().filter(|f| f.file.is_none() && is_on(f)) {
            let paths = ["fs-path-relative", "fs-path-without-scheme"];
            let Some(cause) = bare.get(&finding.span.start) else { continue };
            if paths.contains(&finding.kind.name) {
                explained.insert(finding.span.start);
                finding.help.clone_from(&cause.help);
                finding.fixes.clone_from(&cause.fixes);
            }
        }
        found.retain(|finding| {
            !(is(finding, "variable-without-braces") && explained.contains(&finding.span.start))
        });
    }
    // A prefix that nobody declares makes its elements unknown.
    let undeclared: HashSet<u32> = found
        .iter()
        .filter(|f| is(f, xml::NOT_WELL_FORMED.name) && f.message.ends_with("is not declared"))
        .map(|finding| finding.span.start)
        .collect();
    found.retain(|finding| {
        !(is(finding, "unknown-element") && undeclared.contains(&finding.span.start))
    });
    // What is missing behind a way that leads nowhere was meant to be led to.
    if found.iter().any(|finding| is(finding, "unresolved-transition") && is_on(finding)) {
        found.retain(|finding| !is(finding, "unreachable-node"));
    }
    // A way out whose name has the wrong case is no body of its action, and not missing.
    let is_misspelt = |action: &Element<'_>| {
        action.elements().any(|child| {
            let lower = child.name().to_ascii_lowercase();
            lower != child.name() && matches!(lower.as_str(), "ok" | "error")
        })
    };
    let actions = || root.elements().filter(|child| child.name() == "action");
    let misspelt = Apart::of_elements(actions().filter(is_misspelt));
    if !misspelt.0.is_empty() {
        found.retain(|finding| {
            let hit = misspelt.around(finding.span).is_some();
            let follows = ["missing-element", "duplicate-single-element", "action-with-two-bodies"];
            !(hit && follows.contains(&finding.kind.name))
        });
    }
    let libpath = |finding: &Diagnostic| {
        is(finding, "misspelt-oozie-property")
            && finding.help.as_ref().is_some_and(|help| help.contains("oozie.use.system.libpath"))
    };
    if found.iter().any(libpath) {
        found.retain(|finding| !is(finding, "system-libpath-off"));
    }
    let misnamed: HashSet<String> = found
        .iter()
        .filter(|finding| is(finding, "undefined-variable") && finding.file.is_some())
        .filter_map(|finding| finding.message.split('`').nth(3).map(str::to_owned))
        .collect();
    found.retain(|finding| {
        let name = finding.message.split('`').nth(1).unwrap_or_default();
        !(is(finding, "property-unresolved-reference") && misnamed.contains(name))
    });
    // What properties name in a value of their own is told where they do.
    let unresolved: HashSet<(String, String)> = found
        .iter()
        .filter(|finding| is(finding, "property-unresolved-reference") && is_on(finding))
        .filter_map(|finding| {
            let name = finding.message.split('`').nth(1)?;
            Some((finding.file.clone()?, name.to_owned()))
        })
        .collect();
    let told = |finding: &Diagnostic| {
        let mut words = finding.message.split('`').skip(1).step_by(2).map(str::to_owned);
        match (words.next(), words.next()) {
            (Some(file), Some(name)) => unresolved.contains(&(file, name)),
            (Some(name), None) => {
                finding.file.is_none() && unresolved.iter().any(|(_, told)| *told == name)
            }
            _ => false,
        }
    };
    found.retain(|finding| !(is(finding, "undefined-variable") && told(finding)));
    // Who has misspelt the key of the path has not given it.
    if found.iter().any(|f| is(f, "application-path-leads-nowhere") && is_on(f)) {
        found.retain(|f| !is(f, "application-path-is-file"));
    }
    // Where success is a failure and failure a success, the two were exchanged: that is one slip, or meant.
    let killed: Vec<Span> = found
        .iter()
        .filter(|finding| is(finding, "kill-after-success") && is_on(finding))
        .map(|finding| finding.span)
        .collect();
    if !killed.is_empty() {
        let actions: Vec<Span> = root.elements().map(|action| action.span()).collect();
        let action_of = |span: Span| actions.partition_point(|action| action.start <= span.start);
        let both: HashSet<usize> = killed.into_iter().map(action_of).collect();
        found.retain(|finding| {
            !(is(finding, "failure-reported-as-success") && both.contains(&action_of(finding.span)))
        });
    }
    // What the schema misses at an action, rules of actions need not miss again.
    let missed: Vec<Span> = found
        .iter()
        .filter(|finding| {
            let explains = ["missing-element", "unknown-element", "action-without-body"];
            explains.contains(&finding.kind.name) && is_on(finding)
        })
        .map(|finding| finding.span)
        .collect();
    let bodies = Apart::of_elements(actions()).around_any(&missed);
    found.retain(|finding| {
        let asked = || {
            let action = finding.notes.first();
            action.is_some_and(|note| bodies.around(note.span).is_some())
        };
        let needs = NEEDS.contains(&finding.kind.name);
        !(needs && bodies.around(finding.span).is_some()
            || is(finding, "action-data-without-capture-output") && asked())
    });
    // A decision that lacks a way decides nothing yet.
    let decisions_hit =
        Apart::of_elements(root.elements().filter(|child| child.name() == "decision"))
            .around_any(&missed);
    found.retain(|finding| {
        !(is(finding, "decision-single-target") && decisions_hit.around(finding.span).is_some())
    });
    // What is no XML is no expression either.
    let broken: HashSet<Span> = found
        .iter()
        .filter(|f| is(f, xml::NOT_WELL_FORMED.name) && is_on(f))
        .map(|finding| finding.span)
        .collect();
    found.retain(|finding| !(is(finding, "el-syntax-error") && broken.contains(&finding.span)));
    // A quote too many ends the attribute, and the expression in it.
    let tag_before = |at: u32| {
        let from = text.floor_char_boundary((at as usize).saturating_sub(NEAR));
        Some(from + text[from..at as usize].rfind('<')?)
    };
    let torn: HashSet<usize> = broken.iter().filter_map(|span| tag_before(span.start)).collect();
    found.retain(|finding| {
        !(is(finding, "el-unterminated")
            && finding.file.is_none()
            && tag_before(finding.span.start).is_some_and(|tag| torn.contains(&tag)))
    });
    // A node without its name, or under an element nobody knows, is what others lead to in vain.
    let misnames = |finding: &Diagnostic| {
        ["unknown-element", "missing-attribute", "unknown-attribute", "invalid-node-name"]
            .contains(&finding.kind.name)
            && is_on(finding)
    };
    let nameless = found.iter().any(&misnames) && {
        let names = root.elements().flat_map(|child| {
            let attributes = child.attributes();
            let spans =
                attributes.flat_map(|attribute| [attribute.name_span(), attribute.value_span()]);
            spans.chain([child.name_span()])
        });
        let names: HashSet<Span> = names.collect();
        found.iter().any(|finding| misnames(finding) && names.contains(&finding.span))
    };
    if nameless {
        found.retain(|finding| {
            !(is(finding, "unresolved-transition")
                || is(finding, "unreachable-node")
                || is(finding, "unused-kill"))
        });
    }
    // Where every way of a decision leads to one node, and none to another with nearly its name, one has the wrong name.
    let single = of_one_way(found, tree, is_on);
    if let Some((span, other)) = single {
        let finding = found.iter_mut().find(|f| is(f, "decision-single-target") && f.span == span);
        if let Some(finding) = finding {
            finding.help = Some(format!("did you mean `{other}` in one of them?"));
        }
        found.retain(|f| !is(f, "unreachable-node") || !f.message.ends_with(&format!("`{other}`")));
    }
    // What is no sign of an expression is told as such, once.
    let broken: Vec<Span> = found
        .iter()
        .filter(|f| is(f, "el-syntax-error") && f.file.is_none() && is_on(f))
        .map(|finding| finding.span)
        .collect();
    found.retain(|finding| {
        !(is(finding, "typographic-characters")
            && broken.iter().any(|span| inside(*span, finding.span) || inside(finding.span, *span)))
    });
    // A new name for an old thing: the old one is missing because the new one is there.
    let newer = |f: &Diagnostic| {
        is(f, "element-needs-newer-schema") && f.message.contains("`resource-manager`")
    };
    let newer: Vec<Span> =
        found.iter().filter(|f| newer(f) && is_on(f)).map(|finding| finding.span).collect();
    if !newer.is_empty() {
        found.retain(|finding| {
            let old =
                is(finding, "missing-element") && finding.message.ends_with("needs `job-tracker`");
            // The element that lacks it begins shortly before the one that it has instead.
            !(old
                && newer.iter().any(|span| {
                    let between = text.get(finding.span.end as usize..span.start as usize);
                    between.is_some_and(|between| between.matches('<').count() == 1)
                }))
        });
    }
    // A way that leads where it may not is missing where it should lead.
    let astray = [
        "self-transition",
        "cycle",
        "fork-path-repeated",
        "fork-single-path",
        "duplicate-node-name",
    ];
    if found.iter().any(|finding| astray.contains(&finding.kind.name) && is_on(finding)) {
        found.retain(|finding| !is(finding, "unreachable-node"));
    }
    if found.iter().any(|finding| is(finding, "duplicate-node-name") && is_on(finding)) {
        let follows = ["unresolved-transition", "self-transition", "cycle"];
        found.retain(|finding| !follows.contains(&finding.kind.name));
    }
    decisions(root, is_on, found);
}

/// Of a decision in which a case never or always holds, that is said, and not what it does to the other cases.
fn decisions(root: Element<'_>, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let about = [
        "decision-not-boolean",
        "decision-text-around-expression",
        "decision-constant",
        "decision-case-shadowed",
    ];
    let rank = |finding: &Diagnostic| {
        about.iter().position(|name| is(finding, name)).filter(|_| is_on(finding))
    };
    if !found.iter().any(|finding| is(finding, "decision-constant")) {
        return;
    }
    let decisions: Vec<Span> = root
        .elements()
        .filter(|child| child.name() == "decision")
        .map(|decision| decision.span())
        .collect();
    let of = |finding: &Diagnostic| decisions.iter().position(|span| inside(*span, finding.span));
    let mut best: HashMap<usize, (usize, u32)> = HashMap::new();
    for finding in found.iter() {
        if let (Some(rank), Some(decision)) = (rank(finding), of(finding)) {
            let key = (rank, finding.span.start);
            let known = best.entry(decision).or_insert(key);
            *known = (*known).min(key);
        }
    }
    found.retain(|finding| {
        let Some((rank, decision)) = rank(finding).zip(of(finding)) else { return true };
        // Predicates that are no truths are faults of their own, each.
        rank < 2 || best.get(&decision) == Some(&(rank, finding.span.start))
    });
}

/// The decision whose ways all lead to one node, with the unreachable node whose name is nearly that node's.
fn of_one_way(found: &[Diagnostic], tree: &Tree, is_on: IsOn<'_>) -> Option<(Span, String)> {
    let last = |finding: &Diagnostic| finding.message.rsplit('`').nth(1).map(str::to_owned);
    let lost: Vec<String> =
        found.iter().filter(|f| is(f, "unreachable-node") && is_on(f)).filter_map(last).collect();
    if lost.is_empty() {
        return None;
    }
    let single = |finding: &&Diagnostic| is(finding, "decision-single-target") && is_on(finding);
    let count = found.iter().filter(single).count();
    let nodes = || tree.root().into_iter().flat_map(Element::elements);
    found.iter().filter(single).find_map(|finding| {
        // The next node: what the message ends with is words.
        let target = finding.message.split('`').nth(3)?;
        let near = nearest(target, lost.iter().map(String::as_str));
        // The only node that nothing leads to, and the only decision that could.
        let alone = || (lost.len() == 1 && count == 1).then(|| lost[0].as_str());
        let near = near.or_else(alone)?;
        let is_node = |element: Element<'_>| {
            element.attribute("name").is_some_and(|name| name.value().text == near)
        };
        nodes().any(is_node).then(|| (finding.span, near.to_owned()))
    })
}

/// One finding for each group of forks that are wrong together. `code` is the one the server refuses with.
pub(super) fn of_forks(
    flow: Flow<'_>,
    code: Option<&str>,
    is_on: IsOn<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let Flow { workflow, names, .. } = flow;
    let place = |finding: &Diagnostic| {
        FORKS.iter().position(|name| is(finding, name)).filter(|_| is_on(finding))
    };
    let faults = found.iter().filter(|finding| place(finding).is_some()).count();
    // What runs at once is not known before the forks are right.
    if faults > 0 {
        let follows = ["prepare-deletes-sibling-output", "output-written-twice"];
        found.retain(|finding| !follows.contains(&finding.kind.name));
    }
    if faults < 2 {
        return;
    }
    let forks: Vec<NodeId> =
        workflow.nodes().filter(|(_, node)| node.shape == Shape::Fork).map(|(id, _)| id).collect();
    // Past that many, looking from each fork is too much to ask.
    const MOST: usize = 2_000_000;
    if forks.len().saturating_mul(workflow.transitions.len()) > MOST {
        return;
    }
    let reached: Vec<(Vec<bool>, Vec<bool>)> = forks
        .iter()
        .map(|fork| (reach(workflow, names, *fork, false), reach(workflow, names, *fork, true)))
        .collect();
    let mut class: Vec<usize> = (0..forks.len()).collect();
    fn top(class: &mut [usize], mut at: usize) -> usize {
        while class[at] != at {
            class[at] = class[class[at]];
            at = class[at];
        }
        at
    }
    let node_at: HashMap<Span, NodeId> =
        workflow.nodes().map(|(id, node)| (node.name.span, id)).collect();
    let from_at: HashMap<Span, NodeId> = workflow
        .transitions()
        .map(|transition| (transition.target.span, transition.from))
        .collect();
    let fork_of = |node: NodeId| -> Vec<usize> {
        if let Some(at) = forks.iter().position(|fork| *fork == node) {
            return vec![at];
        }
        let before: Vec<usize> =
            (0..forks.len()).filter(|at| reached[*at].0[node.index()]).collect();
        // The innermost: no other fork lies between.
        before
            .iter()
            .copied()
            .filter(|at| {
                !before.iter().any(|other| other != at && reached[*at].0[forks[*other].index()])
            })
            .collect()
    };
    let mut of: Vec<Option<usize>> = vec![None; found.len()];
    for (index, finding) in found.iter().enumerate() {
        if place(finding).is_none() || is(finding, "fork-join-unbalanced") {
            continue;
        }
        let spans = std::iter::once(finding.span).chain(finding.notes.iter().map(|note| note.span));
        let nodes: Vec<NodeId> = spans
            .filter_map(|span| node_at.get(&span).or_else(|| from_at.get(&span)).copied())
            .collect();
        let named: Vec<usize> =
            nodes.iter().filter_map(|node| forks.iter().position(|fork| fork == node)).collect();
        let all = if named.is_empty() {
            nodes.iter().take(1).flat_map(|n| fork_of(*n)).collect()
        } else {
            named
        };
        let Some(first) = all.first().copied() else { continue };
        for other in &all[1..] {
            let (one, two) = (top(&mut class, first), top(&mut class, *other));
            class[one.max(two)] = one.min(two);
        }
        of[index] = Some(first);
    }
    // A fork that is wrong makes the forks on its paths look wrong.
    let wrong: Vec<usize> = {
        let mut wrong: Vec<usize> = of.iter().flatten().copied().collect();
        wrong.sort_unstable();
        wrong.dedup();
        wrong
    };
    for one in &wrong {
        for other in &wrong {
            if one != other && reached[*one].1[forks[*other].index()] {
                let (a, b) = (top(&mut class, *one), top(&mut class, *other));
                class[a.max(b)] = a.min(b);
            }
        }
    }
    let weight = |finding: &Diagnostic| {
        let explains = code.is_some_and(|code| finding.kind.oozie.contains(&code));
        (!explains, std::cmp::Reverse(finding.kind.level), place(finding), finding.span.start)
    };
    let mut best: HashMap<usize, usize> = HashMap::new();
    for (index, fork) in of.iter().enumerate() {
        let Some(fork) = fork else { continue };
        let known = best.entry(top(&mut class, *fork)).or_insert(index);
        if weight(&found[index]) < weight(&found[*known]) {
            *known = index;
        }
    }
    let explained =
        best.values().any(|index| code.is_none_or(|code| found[*index].kind.oozie.contains(&code)));
    // A run that shows the fault is worth having beside what the server says of it.
    for (class_at, kept) in &best {
        let shown = of.iter().enumerate().find(|(index, fork)| {
            fork.is_some_and(|fork| top(&mut class, fork) == *class_at)
                && found[*index].witness.is_some()
        });
        if let Some((shown, _)) = shown.filter(|_| found[*kept].witness.is_none()) {
            found[*kept].witness = found[shown].witness.clone();
        }
    }
    let kept: HashSet<usize> = best.into_values().collect();
    let mut index = 0;
    found.retain(|finding| {
        let at = index;
        index += 1;
        match place(finding) {
            None => true,
            Some(_) if is(finding, "fork-join-unbalanced") => !explained || kept.is_empty(),
            Some(_) => of[at].is_none() || kept.contains(&at),
        }
    });
}

/// What comes behind a fork, the fork aside; `paths` stops at joins.
fn reach(workflow: &Workflow, names: &Names, fork: NodeId, paths: bool) -> Vec<bool> {
    let mut seen = vec![false; workflow.nodes.len()];
    let mut open = vec![fork];
    while let Some(id) = open.pop() {
        if paths && id != fork && workflow.node(id).shape == Shape::Join {
            continue;
        }
        for exit in workflow.exits(id) {
            if let Some(target) = names.target(exit)
                && !std::mem::replace(&mut seen[target.index()], true)
            {
                open.push(target);
            }
        }
    }
    seen
}

/// Opinions about nodes that no run enters are for those who ask for them: that nothing leads there is said already.
pub(super) fn out_of_reach(flow: Flow<'_>, code: Option<&str>, found: &mut [Diagnostic]) {
    let Flow { workflow, names, reach, .. } = flow;
    let mut dead: Vec<Span> = workflow
        .nodes()
        .filter(|(id, node)| node.shape != Shape::Start && !reach.is_reachable(*id))
        .map(|(_, node)| node.span)
        .collect();
    // Behind a transition to nowhere a node may be meant to be entered.
    let lost = |transition: &crate::ir::workflow::Transition| {
        reach.is_reachable(transition.from) && names.target(transition).is_none()
    };
    let started = workflow.nodes().any(|(_, node)| node.shape == Shape::Start);
    if dead.is_empty() || !started || workflow.transitions().any(lost) {
        return;
    }
    dead.sort_unstable();
    let is_own = |finding: &Diagnostic| {
        ["unreachable-node", "fault-out-of-reach", "unused-kill", "duplicate-node-name"]
            .contains(&finding.kind.name)
            || finding.kind.group == Group::Syntax
            || finding.kind.group == Group::Security
            || code.is_some_and(|code| finding.kind.oozie.contains(&code))
    };
    for finding in found.iter_mut() {
        if finding.file.is_some() || is_own(finding) {
            continue;
        }
        let at = dead.partition_point(|span| span.start <= finding.span.start);
        if at > 0 && inside(dead[at - 1], finding.span) {
            finding.at_most = Some(Level::Info);
        }
    }
}
