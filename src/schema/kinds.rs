//! The kinds of findings that schema validation reports.

use crate::diag::{Group, Kind, Level, Safety};

/// The kinds of findings that [`super::validate`] reports.
pub static KINDS: &[&Kind] = &[
    &MISSING_NAMESPACE,
    &UNKNOWN_SCHEMA_VERSION,
    &SCHEMA_NEWER_THAN_SERVER,
    &UNKNOWN_ROOT,
    &ELEMENT_OUT_OF_ORDER,
    &UNKNOWN_ELEMENT,
    &MISSING_ELEMENT,
    &UNKNOWN_ATTRIBUTE,
    &MISSING_ATTRIBUTE,
    &DUPLICATE_SINGLE_ELEMENT,
    &ELEMENT_NEEDS_NEWER_SCHEMA,
    &INPUT_LOGIC_NEEDS_SCHEMA,
    &ELEMENT_IN_WRONG_NAMESPACE,
    &SLA_SCHEMA_MISMATCH,
    &ACTION_IN_WRONG_NAMESPACE,
    &ACTION_WITH_TWO_BODIES,
    &ACTION_WITHOUT_BODY,
    &UNSUPPORTED_ACTION_TYPE,
    &UNEXPECTED_TEXT,
    &INVALID_VALUE,
    &INVALID_NODE_NAME,
    &EMPTY_DEFINITION,
    &DEFINITION_TOO_LONG,
    &FORK_SINGLE_PATH,
    &DECISION_DEFAULT_ONLY,
];

/// A root element without a namespace.
pub(crate) static MISSING_NAMESPACE: Kind = Kind {
    name: "missing-namespace",
    group: Group::Syntax,
    summary: "the root element has no namespace",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/missing-namespace.md"),
};

/// A namespace that belongs to no schema.
pub(crate) static UNKNOWN_SCHEMA_VERSION: Kind = Kind {
    name: "unknown-schema-version",
    group: Group::Syntax,
    summary: "a namespace that no Oozie release supports",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/unknown-schema-version.md"),
};

/// A schema that is newer than the server.
pub(crate) static SCHEMA_NEWER_THAN_SERVER: Kind = Kind {
    name: "schema-newer-than-server",
    group: Group::Syntax,
    summary: "a schema that the server named by `target` does not have",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/schema-newer-than-server.md"),
};

/// A root element that is not the root of a definition.
pub(crate) static UNKNOWN_ROOT: Kind = Kind {
    name: "unknown-root",
    group: Group::Syntax,
    summary: "the root element is not that of a definition",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701", "E0703", "E0803"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/unknown-root.md"),
};

/// An element in the wrong place within its parent.
pub(crate) static ELEMENT_OUT_OF_ORDER: Kind = Kind {
    name: "element-out-of-order",
    group: Group::Syntax,
    summary: "valid elements in the wrong order",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/element-out-of-order.md"),
};

/// An element that its parent cannot contain.
pub(crate) static UNKNOWN_ELEMENT: Kind = Kind {
    name: "unknown-element",
    group: Group::Syntax,
    summary: "an element that its parent does not have",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/unknown-element.md"),
};

/// A required element that is absent.
pub(crate) static MISSING_ELEMENT: Kind = Kind {
    name: "missing-element",
    group: Group::Syntax,
    summary: "a required element is missing",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/missing-element.md"),
};

/// An attribute that its element cannot have.
pub(crate) static UNKNOWN_ATTRIBUTE: Kind = Kind {
    name: "unknown-attribute",
    group: Group::Syntax,
    summary: "an attribute that its element does not have",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/unknown-attribute.md"),
};

/// A required attribute that is absent.
pub(crate) static MISSING_ATTRIBUTE: Kind = Kind {
    name: "missing-attribute",
    group: Group::Syntax,
    summary: "a required attribute is missing",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/missing-attribute.md"),
};

/// A single element that occurs more than once.
pub(crate) static DUPLICATE_SINGLE_ELEMENT: Kind = Kind {
    name: "duplicate-single-element",
    group: Group::Syntax,
    summary: "an element that may occur once occurs twice",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: None,
    page: include_str!("../../docs/rules/duplicate-single-element.md"),
};

/// An element of a newer version of the schema.
pub(crate) static ELEMENT_NEEDS_NEWER_SCHEMA: Kind = Kind {
    name: "element-needs-newer-schema",
    group: Group::Syntax,
    summary: "an element or attribute of another version of the schema",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/element-needs-newer-schema.md"),
};

/// `input-logic` before the schema version that introduced it.
pub(crate) static INPUT_LOGIC_NEEDS_SCHEMA: Kind = Kind {
    name: "input-logic-needs-schema",
    group: Group::Data,
    summary: "`input-logic` in a coordinator older than 0.5",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/input-logic-needs-schema.md"),
};

/// An element in another namespace than its own.
pub(crate) static ELEMENT_IN_WRONG_NAMESPACE: Kind = Kind {
    name: "element-in-wrong-namespace",
    group: Group::Syntax,
    summary: "a known element in a namespace that is not its own",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/element-in-wrong-namespace.md"),
};

/// A version of SLA that the workflow's schema does not accept.
pub(crate) static SLA_SCHEMA_MISMATCH: Kind = Kind {
    name: "sla-schema-mismatch",
    group: Group::Syntax,
    summary: "a version of the SLA schema that this version of the workflow schema does not accept",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/sla-schema-mismatch.md"),
};

/// An action without its own namespace.
pub(crate) static ACTION_IN_WRONG_NAMESPACE: Kind = Kind {
    name: "action-in-wrong-namespace",
    group: Group::Syntax,
    summary: "an action element without the namespace of its own schema",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/action-in-wrong-namespace.md"),
};

/// An action with two bodies.
pub(crate) static ACTION_WITH_TWO_BODIES: Kind = Kind {
    name: "action-with-two-bodies",
    group: Group::Syntax,
    summary: "an action with two action types",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: None,
    page: include_str!("../../docs/rules/action-with-two-bodies.md"),
};

/// An action without a body.
pub(crate) static ACTION_WITHOUT_BODY: Kind = Kind {
    name: "action-without-body",
    group: Group::Syntax,
    summary: "an action without an action type",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701", "E0803"],
    fix: None,
    page: include_str!("../../docs/rules/action-without-body.md"),
};

/// An action type that the server does not support.
pub(crate) static UNSUPPORTED_ACTION_TYPE: Kind = Kind {
    name: "unsupported-action-type",
    group: Group::Syntax,
    summary: "an action type that the server does not run",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701", "E0723"],
    fix: None,
    page: include_str!("../../docs/rules/unsupported-action-type.md"),
};

/// Text where none is allowed.
pub(crate) static UNEXPECTED_TEXT: Kind = Kind {
    name: "unexpected-text",
    group: Group::Syntax,
    summary: "text where only elements, or nothing, are allowed",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/unexpected-text.md"),
};

/// A value that the schema does not allow.
pub(crate) static INVALID_VALUE: Kind = Kind {
    name: "invalid-value",
    group: Group::Syntax,
    summary: "a value that the schema does not allow",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701", "E0803"],
    fix: None,
    page: include_str!("../../docs/rules/invalid-value.md"),
};

/// A node name with characters that are not allowed.
pub(crate) static INVALID_NODE_NAME: Kind = Kind {
    name: "invalid-node-name",
    group: Group::Names,
    summary: "a node name with characters that are not allowed",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../../docs/rules/invalid-node-name.md"),
};

/// A file without any element.
pub(crate) static EMPTY_DEFINITION: Kind = Kind {
    name: "empty-definition",
    group: Group::Syntax,
    summary: "a file without an element",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0803", "E0701"],
    fix: None,
    page: include_str!("../../docs/rules/empty-definition.md"),
};

/// A definition longer than the server accepts.
pub(crate) static DEFINITION_TOO_LONG: Kind = Kind {
    name: "definition-too-long",
    group: Group::Syntax,
    summary: "a definition longer than the server accepts",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0736"],
    fix: None,
    page: include_str!("../../docs/rules/definition-too-long.md"),
};

/// A fork with one path.
pub(crate) static FORK_SINGLE_PATH: Kind = Kind {
    name: "fork-single-path",
    group: Group::Graph,
    summary: "a fork with one path",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/fork-single-path.md"),
};

/// A decision without a case.
pub(crate) static DECISION_DEFAULT_ONLY: Kind = Kind {
    name: "decision-default-only",
    group: Group::Graph,
    summary: "a decision without a case",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: None,
    page: include_str!("../../docs/rules/decision-default-only.md"),
};
