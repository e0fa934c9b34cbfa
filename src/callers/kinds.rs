//! The kinds of files that start definitions, and what definitions are called.

use crate::diag::within;

/// The names of definitions in their folders.
pub(super) const NAMES: [&str; 3] = ["workflow.xml", "coordinator.xml", "bundle.xml"];

/// The properties that name an application, and what it is called in its folder.
pub(super) const KEYS: [(&str, &str); 3] = [
    ("oozie.wf.application.path", NAMES[0]),
    ("oozie.coord.application.path", NAMES[1]),
    ("oozie.bundle.application.path", NAMES[2]),
];

/// A file that starts definitions; the order is that in which those nobody starts are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Properties,
    Bundle,
    Coordinator,
    Workflow,
}

/// The roots of definitions.
pub(super) const ROOTS: [(&str, Kind); 3] = [
    ("workflow-app", Kind::Workflow),
    ("coordinator-app", Kind::Coordinator),
    ("bundle-app", Kind::Bundle),
];

/// The root that a name means: itself, or the one that it is but for a slip.
pub(super) fn meant(name: &str) -> Option<(&str, Kind)> {
    let exact = ROOTS.into_iter().find(|(root, _)| *root == name);
    exact.or_else(|| ROOTS.into_iter().find(|(root, _)| within(name, root, 2).is_some()))
}
