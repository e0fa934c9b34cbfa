//! Keeps the most informative of several faults in one expression or one decision.

use super::{Apart, IsOn, NEAR, inside, is};
use crate::diag::{Diagnostic, nearest};
use crate::source::Span;
use crate::syntax::xml::{Element, Tree};
use std::collections::{HashMap, HashSet};

/// Keeps the most informative of several faults in one expression or one URI template.
pub(super) fn in_expressions(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
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
    // In a dataset, the whole URI template is the unit; elsewhere, it is the expression.
    let place = |finding: &Diagnostic| -> Option<(usize, usize)> {
        let rank = ORDER.iter().position(|name| is(finding, name))?;
        let at = finding.span.start as usize;
        // Real expressions are never longer.
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
    // The number of arguments is unknown if part of the expression could not be parsed.
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
    // A name that is not defined here cannot be passed on either.
    let undefined: HashSet<String> = found
        .iter()
        .filter(|finding| is(finding, "undefined-variable") && is_on(finding))
        .filter_map(|finding| finding.subject.clone())
        .collect();
    found.retain(|finding| {
        let handed_on = [
            "subworkflow-parameters-missing",
            "coordinator-parameters-missing",
            "workflow-parameters-missing",
        ];
        let told = || finding.names.first().is_some_and(|name| undefined.contains(name));
        !(handed_on.contains(&finding.kind.name) && told())
    });
}

/// For a decision with a case that never or always holds, keeps that finding, and not those about its effects on other
/// cases.
pub(super) fn decisions(root: Element<'_>, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
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
        .filter(|child| child.is("decision"))
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
        // Each predicate that is not boolean is a separate fault.
        rank < 2 || best.get(&decision) == Some(&(rank, finding.span.start))
    });
}

/// Returns the decision whose transitions all lead to one node, with the unreachable node whose name is similar to that
/// node's.
pub(super) fn of_one_way(
    found: &[Diagnostic],
    tree: &Tree,
    is_on: IsOn<'_>,
) -> Option<(Span, String)> {
    let last = |finding: &Diagnostic| finding.names.first().cloned();
    let lost: Vec<String> =
        found.iter().filter(|f| is(f, "unreachable-node") && is_on(f)).filter_map(last).collect();
    if lost.is_empty() {
        return None;
    }
    let single = |finding: &&Diagnostic| is(finding, "decision-single-target") && is_on(finding);
    let count = found.iter().filter(single).count();
    let nodes = || tree.root().into_iter().flat_map(Element::elements);
    found.iter().filter(single).find_map(|finding| {
        let [_, target] = &finding.names[..] else { return None };
        let near = nearest(target, lost.iter().map(String::as_str));
        // Or the only unreachable node, if there is only one such decision.
        let alone = || (lost.len() == 1 && count == 1).then(|| lost[0].as_str());
        let near = near.or_else(alone)?;
        let is_node = |element: Element<'_>| {
            element.attribute("name").is_some_and(|name| name.value().text == near)
        };
        nodes().any(is_node).then(|| (finding.span, near.to_owned()))
    })
}
