//! The kinds of files that start definitions, and the file names of definitions.

use crate::diag::within;

/// The default file names of definitions.
pub(super) const NAMES: [&str; 3] = ["workflow.xml", "coordinator.xml", "bundle.xml"];

/// The properties that name an application, with its default file name.
pub(super) const KEYS: [(&str, &str); 3] = [
    ("oozie.wf.application.path", NAMES[0]),
    ("oozie.coord.application.path", NAMES[1]),
    ("oozie.bundle.application.path", NAMES[2]),
];

/// A file that starts definitions. In this order, files without known callers are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Properties,
    Bundle,
    Coordinator,
    Workflow,
}

/// The root elements of definitions.
pub(super) const ROOTS: [(&str, Kind); 3] = [
    ("workflow-app", Kind::Workflow),
    ("coordinator-app", Kind::Coordinator),
    ("bundle-app", Kind::Bundle),
];

/// The root element that a name stands for, exactly or with a typo.
pub(super) fn meant(name: &str) -> Option<(&str, Kind)> {
    let exact = ROOTS.into_iter().find(|(root, _)| *root == name);
    exact.or_else(|| ROOTS.into_iter().find(|(root, _)| within(name, root, 2).is_some()))
}
