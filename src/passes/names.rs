//! Binds every transition to the node it names, and every credential to its definition.
//!
//! In: a lowered workflow, valid or not. Out: [`Names`], with a binding for each transition that has one. Later passes
//! use `Names`; none of them compares strings again. A transition without a binding is reported by `reach`, because it
//! is a fault only if a run can reach it.

use foldhash::{HashMap, HashMapExt};

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, nearest};
use crate::ir::workflow::{NodeId, Shape, Transition, Workflow};
use crate::source::{Slice, removal};

/// What this pass reports.
pub static KINDS: &[&Kind] = &[
    &DUPLICATE_NODE_NAME,
    &SELF_TRANSITION,
    &NODE_NAME_LONG,
    &UNDEFINED_CREDENTIAL,
    &UNUSED_CREDENTIAL,
];

/// Two nodes of one name.
pub(crate) static DUPLICATE_NODE_NAME: Kind = Kind {
    name: "duplicate-node-name",
    group: Group::Names,
    summary: "two nodes have one name",
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

/// A name that older servers refuse.
pub(crate) static NODE_NAME_LONG: Kind = Kind {
    name: "node-name-long",
    group: Group::Names,
    summary: "the name of a node is longer than older servers take",
    level: Level::Info,
    since: "0.1.0",
    oozie: &["E0724"],
    fix: None,
    page: include_str!("../../docs/rules/node-name-long.md"),
};

/// A credential nobody defines.
pub(crate) static UNDEFINED_CREDENTIAL: Kind = Kind {
    name: "undefined-credential",
    group: Group::Names,
    summary: "an action asks for a credential that is not defined",
    level: Level::Warning,
    since: "0.1.0",
    oozie: &["JA021"],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/undefined-credential.md"),
};

/// A credential nobody asks for.
pub(crate) static UNUSED_CREDENTIAL: Kind = Kind {
    name: "unused-credential",
    group: Group::Names,
    summary: "no action asks for this credential",
    level: Level::Info,
    since: "0.1.0",
    oozie: &[],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/unused-credential.md"),
};

/// Characters of a name that older servers take, and what the oldest do.
const OLD_NAME_LIMIT: usize = 50;
const OLDEST_NAME_LIMIT: usize = 39;

/// Which node each name and each transition means.
#[derive(Clone, Debug, Default)]
pub struct Names {
    by_name: HashMap<Slice, NodeId>,
    /// By transition.
    targets: Vec<Option<NodeId>>,
}

impl Names {
    /// The first node of this name, `:start:` among them.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The node a transition leads to.
    pub fn target(&self, transition: &Transition) -> Option<NodeId> {
        self.targets.get(transition.id.index()).copied().flatten()
    }
}

/// Names that are compared with unknown ones, in all, before nearest names are no longer looked for.
const MOST_COMPARED: usize = 500_000;

/// Total: it answers for every workflow, and reports instead of stopping.
pub fn bind(workflow: &Workflow) -> (Names, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let mut by_name: HashMap<Slice, NodeId> = HashMap::with_capacity(workflow.nodes.len());
    for (id, node) in workflow.nodes() {
        if !node.name.given || node.shape == Shape::Start {
            continue;
        }
        // The first definition wins, so that one edit does not move every later finding.
        match by_name.get(&*node.name.text) {
            None => {
                by_name.insert(node.name.text.clone(), id);
            }
            Some(first) => {
                let message = format!("a second node is named `{}`", node.name.text);
                let first = workflow.node(*first).name.span;
                let finding = Diagnostic::new(&DUPLICATE_NODE_NAME, node.name.span, message);
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
            // The schema asks for the attribute, so its absence is reported there.
            continue;
        }
        if target == Some(transition.from) {
            let message = format!("`{}` leads to itself", name.text);
            findings.push(Diagnostic::new(&SELF_TRANSITION, name.span, message));
        }
    }
    // Expressions may ask for it, and no transition leads there.
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
    let mut patience = MOST_COMPARED;
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
            if let Some(defined) = by_name.get(name) {
                defined.iter().for_each(|index| used[*index] = true);
                continue;
            }
            let span = cred.place(start..start + name.len());
            let finding = Diagnostic::new(
                &UNDEFINED_CREDENTIAL,
                span,
                format!("no credential is named `{name}`"),
            )
            .about(name);
            let known = workflow.credentials.iter().map(|credential| &*credential.name.text);
            let known = known.take(patience);
            patience = patience.saturating_sub(workflow.credentials.len());
            findings.push(match nearest(name, known) {
                Some(near) => {
                    let fix = Fix::guess(format!("Rename to `{near}`"), span, near);
                    finding.help(format!("did you mean `{near}`?")).fix(fix)
                }
                None => finding.help("define it in `<credentials>`"),
            });
        }
    }
    // A section without credentials would be refused.
    let some_used = used.contains(&true);
    for (credential, used) in workflow.credentials.iter().zip(used) {
        if !used && all_known && credential.name.given {
            let message = format!("no action asks for the credential `{}`", credential.name.text);
            let finding = Diagnostic::new(&UNUSED_CREDENTIAL, credential.name.span, message);
            let removal = removal(&workflow.text, credential.span);
            findings.push(match some_used {
                true => finding.fix(Fix::guess("Remove the credential", removal, "")),
                false => finding,
            });
        }
    }
}
