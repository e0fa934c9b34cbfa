//! Binds every transition to the node it names, and every credential to its definition.
//!
//! Takes a lowered workflow, valid or not, and returns [`Names`], with a binding for each transition that has one.
//! Later passes use `Names`; none of them compares strings again. A transition without a binding is reported by
//! `reach`, because it is a fault only if a run can reach it.

use foldhash::{HashMap, HashMapExt};

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Patience, Safety, is_mistyped, within};
use crate::ir::Scalar;
use crate::ir::workflow::{NodeId, Shape, Transition, Workflow};
use crate::slips::is_in_declaration;
use crate::source::{Slice, Span, removal};
use std::collections::BTreeMap;

/// The kinds of findings that this pass reports.
pub static KINDS: &[&Kind] = &[
    &DUPLICATE_NODE_NAME,
    &SELF_TRANSITION,
    &NODE_NAME_LONG,
    &UNDEFINED_CREDENTIAL,
    &UNUSED_CREDENTIAL,
];

/// Two nodes with the same name.
pub(crate) static DUPLICATE_NODE_NAME: Kind = Kind {
    name: "duplicate-node-name",
    group: Group::Names,
    summary: "two nodes have the same name",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0705"],
    fix: None,
    page: include_str!("../../docs/rules/duplicate-node-name.md"),
};

/// A node that leads to itself.
pub(crate) static SELF_TRANSITION: Kind = Kind {
    name: "self-transition",
    group: Group::Names,
    summary: "a node leads to itself",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0706"],
    fix: None,
    page: include_str!("../../docs/rules/self-transition.md"),
};

/// A node name that older servers refuse.
pub(crate) static NODE_NAME_LONG: Kind = Kind {
    name: "node-name-long",
    group: Group::Names,
    summary: "a node name longer than older servers accept",
    level: Level::Info,
    since: "0.1.0",
    oozie: &["E0724"],
    fix: None,
    page: include_str!("../../docs/rules/node-name-long.md"),
};

/// A credential that is not defined.
pub(crate) static UNDEFINED_CREDENTIAL: Kind = Kind {
    name: "undefined-credential",
    group: Group::Names,
    summary: "an action uses a credential that is not defined",
    level: Level::Warning,
    since: "0.1.0",
    oozie: &["JA021"],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/undefined-credential.md"),
};

/// A credential that no action uses.
pub(crate) static UNUSED_CREDENTIAL: Kind = Kind {
    name: "unused-credential",
    group: Group::Names,
    summary: "no action uses this credential",
    level: Level::Info,
    since: "0.1.0",
    oozie: &[],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/unused-credential.md"),
};

/// Maximum length of a node name for older servers, and for the oldest.
const OLD_NAME_LIMIT: usize = 50;
const OLDEST_NAME_LIMIT: usize = 39;

/// The node that each name and each transition refers to.
#[derive(Clone, Debug, Default)]
pub struct Names {
    by_name: HashMap<Slice, NodeId>,
    /// The target by transition.
    targets: Vec<Option<NodeId>>,
}

impl Names {
    /// The first node with this name, including `:start:`.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The target of a transition.
    pub fn target(&self, transition: &Transition) -> Option<NodeId> {
        self.targets.get(transition.id.index()).copied().flatten()
    }
}

/// Maximum number of uses shown with a credential whose name has a typo.
const MOST_SHOWN: usize = 8;

/// Binds all names. Total: it returns a result for every workflow, and reports faults instead of stopping.
pub fn bind(workflow: &Workflow) -> (Names, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let mut by_name: HashMap<Slice, NodeId> = HashMap::with_capacity(workflow.nodes.len());
    for (id, node) in workflow.nodes() {
        if !node.name.given || node.shape == Shape::Start {
            continue;
        }
        // The first definition applies, so that one edit does not move every later finding.
        match by_name.get(&*node.name.text) {
            None => {
                by_name.insert(node.name.text.clone(), id);
            }
            Some(first) => {
                let message = format!("a second node is named `{}`", node.name.text);
                let first = workflow.node(*first).name.span;
                let finding = Diagnostic::new(&DUPLICATE_NODE_NAME, node.name.span, message);
                let finding = finding.naming([&*node.name.text]);
                findings.push(finding.note(first, "first defined here"));
            }
        }
        let length = node.name.text.chars().count();
        if length > OLDEST_NAME_LIMIT {
            let (limit, which) = match length > OLD_NAME_LIMIT {
                true => (OLD_NAME_LIMIT, "older"),
                false => (OLDEST_NAME_LIMIT, "the oldest"),
            };
            let message = format!(
                "the name has {length} characters, more than the {limit} of {which} servers"
            );
            findings.push(Diagnostic::new(&NODE_NAME_LONG, node.name.span, message));
        }
    }

    let mut targets = Vec::with_capacity(workflow.transitions.len());
    for transition in workflow.transitions() {
        let name = &transition.target;
        let target = by_name.get(&*name.text).copied().filter(|_| name.given);
        targets.push(target);
        if !name.given {
            // The schema requires the attribute, so its absence is reported there.
            continue;
        }
        if target == Some(transition.from) {
            let message = format!("`{}` leads to itself", name.text);
            findings.push(Diagnostic::new(&SELF_TRANSITION, name.span, message));
        }
    }
    // Expressions may refer to `:start:`; no transition can.
    if let Some(start) = workflow.start() {
        by_name.entry(workflow.node(start).name.text.clone()).or_insert(start);
    }
    credentials(workflow, &mut findings);
    findings.sort_by_key(|finding| finding.span);
    (Names { by_name, targets }, findings)
}

fn credentials(workflow: &Workflow, findings: &mut Vec<Diagnostic>) {
    let mut used = vec![false; workflow.credentials.len()];
    let mut all_known = true;
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, credential) in workflow.credentials.iter().enumerate() {
        by_name.entry(&credential.name.text).or_default().push(index);
    }
    let mut missing: Vec<(&str, Span)> = Vec::new();
    let actions = workflow.nodes.iter().filter_map(|node| node.action.as_ref());
    for action in actions.filter(|action| action.has_cred()) {
        let Some(cred) = &action.cred else { continue };
        let Some(text) = cred.known() else {
            all_known = false;
            continue;
        };
        let mut at = 0;
        for part in text.split(',') {
            let name = part.trim();
            let start = at + (part.len() - part.trim_start().len());
            at += part.len() + 1;
            if name.is_empty() {
                continue;
            }
            match by_name.get(name) {
                Some(defined) => defined.iter().for_each(|index| used[*index] = true),
                None => missing.push((name, cred.place(start..start + name.len()))),
            }
        }
    }
    undefined_credentials(workflow, &missing, &used, findings);
    // A `<credentials>` section without credentials would be refused.
    let some_used = used.contains(&true);
    for (credential, used) in workflow.credentials.iter().zip(used) {
        if !used && all_known && credential.name.given {
            let message = format!("no action uses the credential `{}`", credential.name.text);
            let finding = Diagnostic::new(&UNUSED_CREDENTIAL, credential.name.span, message);
            let removal = removal(&workflow.text, credential.span);
            findings.push(match some_used {
                true => finding.fix(Fix::guess("Remove the credential", removal, "")),
                false => finding,
            });
        }
    }
}

/// Reports credentials that actions use and nothing defines, each where the typo probably is. `used` are the
/// credentials that some action uses by their own names.
fn undefined_credentials(
    workflow: &Workflow,
    missing: &[(&str, Span)],
    used: &[bool],
    findings: &mut Vec<Diagnostic>,
) {
    let mut by_name: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for (name, span) in missing {
        by_name.entry(name).or_default().push(*span);
    }
    let patience = Patience::default();
    // A credential that no action uses takes precedence.
    let near_of = |name: &str| {
        let known = || workflow.credentials.iter().map(|credential| &*credential.name.text);
        let lone = known().zip(used).filter(|(_, used)| !**used).map(|(known, _)| known);
        let lone = patience.nearest(name, lone).filter(|lone| is_mistyped(lone, name));
        let near = lone.or_else(|| patience.nearest(name, known()))?;
        workflow.credentials.iter().position(|credential| &*credential.name.text == near)
    };
    let near: Vec<Option<usize>> = by_name.keys().map(|name| near_of(name)).collect();
    for (at, (name, spans)) in by_name.iter().enumerate() {
        let message = format!("credential `{name}` is not declared");
        let Some(index) = near[at] else {
            let help = "define it in `<credentials>`";
            let of = |span: &Span| Diagnostic::new(&UNDEFINED_CREDENTIAL, *span, &*message);
            findings.extend(spans.iter().map(|span| of(span).about(*name).help(help)));
            continue;
        };
        let defined = &workflow.credentials[index].name;
        let own = &*defined.text;
        // If two unknown names are similar to one credential, it is unclear which is right.
        let is_lone = !used[index] && near.iter().filter(|near| **near == Some(index)).count() == 1;
        // A name that repeats the type is intended.
        let kind = workflow.credentials[index].kind.as_ref().map(Scalar::as_str);
        let is_lone = is_lone && kind != Some(own);
        if is_lone && is_in_declaration(own, name, spans.len()) && within(name, own, 2).is_some() {
            let message = format!(
                "credential `{name}` is not declared; `{own}` looks like a misspelling of it"
            );
            let mut finding = Diagnostic::new(&UNDEFINED_CREDENTIAL, defined.span, message)
                .about(*name)
                .did_you_mean(*name)
                .fix(Fix::guess(format!("Rename to `{name}`"), defined.span, *name));
            for span in spans.iter().take(MOST_SHOWN) {
                finding = finding.note(*span, "used here");
            }
            findings.push(finding);
            continue;
        }
        for span in spans {
            let mut finding = Diagnostic::new(&UNDEFINED_CREDENTIAL, *span, &*message)
                .about(*name)
                .did_you_mean(own)
                .fix(Fix::guess(format!("Rename to `{own}`"), *span, own));
            if is_lone {
                let message = format!("`{own}` is defined here, but no action uses it");
                finding = finding.note(defined.span, message);
            }
            findings.push(finding);
        }
    }
}
