//! The phases in which the server evaluates expressions, with the functions and constants of each.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Value;

/// A phase of evaluation, with its own functions and constants. Its name is the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// No functions and no constants: credentials.
    None,
    /// Name of an application, retry attributes.
    JobSubmit,
    /// Bodies of actions, decisions, kill messages.
    Workflow,
    /// SLA block of a workflow or action.
    WorkflowSla,
    /// `frequency` of a coordinator or dataset.
    CoordinatorFrequency,
    /// `timeout` of a coordinator.
    CoordinatorTimeout,
    /// Times, controls, includes, URI templates, path of the workflow.
    CoordinatorPlain,
    /// `initial-instance` of a dataset.
    CoordinatorInitialInstance,
    /// Instances, when the coordinator is submitted.
    CoordinatorInstances,
    /// Configuration of the workflow, when the coordinator is submitted.
    CoordinatorData,
    /// SLA block, when the coordinator is submitted.
    CoordinatorSlaSubmit,
    /// `instance`, when an action is created.
    CoordinatorActionCreate,
    /// `start-instance` and `end-instance`, when an action is created.
    CoordinatorActionCreateRange,
    /// SLA block, when an action is created.
    CoordinatorSlaCreate,
    /// Configuration of the workflow and unresolved instances, before an action starts.
    CoordinatorActionStart,
    /// The definition of a bundle.
    BundleSubmit,
    /// A URI template, for one instance.
    UriTemplate,
}

impl Phase {
    /// All phases.
    pub const ALL: [Phase; 17] = [
        Phase::None,
        Phase::JobSubmit,
        Phase::Workflow,
        Phase::WorkflowSla,
        Phase::CoordinatorFrequency,
        Phase::CoordinatorTimeout,
        Phase::CoordinatorPlain,
        Phase::CoordinatorInitialInstance,
        Phase::CoordinatorInstances,
        Phase::CoordinatorData,
        Phase::CoordinatorSlaSubmit,
        Phase::CoordinatorActionCreate,
        Phase::CoordinatorActionCreateRange,
        Phase::CoordinatorSlaCreate,
        Phase::CoordinatorActionStart,
        Phase::BundleSubmit,
        Phase::UriTemplate,
    ];

    /// Returns the server's name of the phase.
    pub fn name(self) -> &'static str {
        match self {
            Phase::None => "none",
            Phase::JobSubmit => "job-submit",
            Phase::Workflow => "workflow",
            Phase::WorkflowSla => "wf-sla-submit",
            Phase::CoordinatorFrequency => "coord-job-submit-freq",
            Phase::CoordinatorTimeout => "coord-job-wait-timeout",
            Phase::CoordinatorPlain => "coord-job-submit-nofuncs",
            Phase::CoordinatorInitialInstance => "coord-job-submit-initial-instance",
            Phase::CoordinatorInstances => "coord-job-submit-instances",
            Phase::CoordinatorData => "coord-job-submit-data",
            Phase::CoordinatorSlaSubmit => "coord-sla-submit",
            Phase::CoordinatorActionCreate => "coord-action-create",
            Phase::CoordinatorActionCreateRange => "coord-action-create-inst",
            Phase::CoordinatorSlaCreate => "coord-sla-create",
            Phase::CoordinatorActionStart => "coord-action-start",
            Phase::BundleSubmit => "bundle-submit",
            Phase::UriTemplate => "uri-template",
        }
    }

    /// Returns the phase of that name.
    pub fn from_name(name: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// Returns a description of the places in a definition that it evaluates.
    pub fn place(self) -> &'static str {
        match self {
            Phase::None => "a credential",
            Phase::JobSubmit => "the name of an application or a retry attribute",
            Phase::Workflow => "an action, a decision or a kill message",
            Phase::WorkflowSla => "the SLA block of a workflow",
            Phase::CoordinatorFrequency => "a frequency",
            Phase::CoordinatorTimeout => "a timeout",
            Phase::CoordinatorPlain => "start, end, controls, a URI template or app-path",
            Phase::CoordinatorInitialInstance => "an initial-instance",
            Phase::CoordinatorInstances => "an instance",
            Phase::CoordinatorData => "the configuration of a coordinator's workflow",
            Phase::CoordinatorSlaSubmit | Phase::CoordinatorSlaCreate => {
                "the SLA block of a coordinator"
            }
            Phase::CoordinatorActionCreate => "an instance",
            Phase::CoordinatorActionCreateRange => "a start-instance or end-instance",
            Phase::CoordinatorActionStart => "the configuration of a coordinator's workflow",
            Phase::BundleSubmit => "a bundle",
            Phase::UriTemplate => "a URI template",
        }
    }

    /// Whether it belongs to coordinators.
    pub fn is_coordinator(self) -> bool {
        self >= Phase::CoordinatorFrequency && self <= Phase::CoordinatorActionStart
    }

    /// Returns the code under which a failure in this phase is reported, if it has one.
    pub fn code(self) -> Option<&'static str> {
        match self {
            Phase::CoordinatorSlaSubmit | Phase::UriTemplate | Phase::None => None,
            phase if phase.is_coordinator() => Some("E1004"),
            Phase::JobSubmit | Phase::WorkflowSla => Some("E0803"),
            _ => None,
        }
    }

    /// Whether a text with a deferred call is wrapped in `${…}` as a whole.
    pub fn wraps(self) -> bool {
        self.is_coordinator() && self != Phase::CoordinatorSlaSubmit
    }

    /// Returns the value of a constant.
    pub fn constant(self, name: &str) -> Option<Value<'static>> {
        constants(self).iter().find(|(constant, _)| *constant == name).map(|(_, value)| match value
        {
            Constant::Number(number) => Value::Integer(*number),
            Constant::Text(text) => Value::String(Cow::Borrowed(text)),
        })
    }

    /// Returns the names of the constants.
    pub fn constants(self) -> impl Iterator<Item = &'static str> {
        constants(self).iter().map(|(name, _)| *name)
    }

    /// Returns the value of a job property as a variable in this phase; none if it does not become a variable.
    pub fn admit<'v>(self, name: &str, value: &'v str) -> Option<Cow<'v, str>> {
        // A property without a value is dropped when it is submitted.
        if value.is_empty() { None } else { self.admit_kept(name, value) }
    }

    /// Does the same for a property that the server stores: an empty one is the default of a parameter.
    pub fn admit_kept<'v>(self, name: &str, value: &'v str) -> Option<Cow<'v, str>> {
        match self {
            Phase::Workflow => is_identifier(name)
                .then(|| crate::el::xml::well_formed(value.trim_matches(|c| c <= ' '))),
            Phase::JobSubmit | Phase::WorkflowSla => Some(Cow::Borrowed(value)),
            Phase::UriTemplate => None,
            _ => Some(Cow::Borrowed(value.trim_matches(|c| c <= ' '))),
        }
    }
}

/// Whether a property of that name becomes a variable of a workflow.
pub fn is_identifier(name: &str) -> bool {
    let bytes = name.as_bytes();
    matches!(bytes.first(), Some(b'A'..=b'Z' | b'a'..=b'z' | b'_'))
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

enum Constant {
    Number(i64),
    Text(&'static str),
}

type Constants = &'static [(&'static str, Constant)];

fn constants(phase: Phase) -> Constants {
    const WORKFLOW: Constants = &[
        ("KB", Constant::Number(1 << 10)),
        ("MB", Constant::Number(1 << 20)),
        ("GB", Constant::Number(1 << 30)),
        ("TB", Constant::Number(1 << 40)),
        ("PB", Constant::Number(1 << 50)),
        ("RECORDS", Constant::Text("org.apache.hadoop.mapred.Task$Counter")),
        ("MAP_IN", Constant::Text("MAP_INPUT_RECORDS")),
        ("MAP_OUT", Constant::Text("MAP_OUTPUT_RECORDS")),
        ("REDUCE_IN", Constant::Text("REDUCE_INPUT_RECORDS")),
        ("REDUCE_OUT", Constant::Text("REDUCE_OUTPUT_RECORDS")),
        ("GROUPS", Constant::Text("REDUCE_INPUT_GROUPS")),
    ];
    const SLA: Constants = &[
        ("MINUTES", Constant::Number(1)),
        ("HOURS", Constant::Number(60)),
        ("DAYS", Constant::Number(1440)),
    ];
    // They evaluate to themselves until the template is filled.
    const TEMPLATE: Constants = &[
        ("YEAR", Constant::Text("${YEAR}")),
        ("MONTH", Constant::Text("${MONTH}")),
        ("DAY", Constant::Text("${DAY}")),
        ("HOUR", Constant::Text("${HOUR}")),
        ("MINUTE", Constant::Text("${MINUTE}")),
    ];
    match phase {
        Phase::Workflow => WORKFLOW,
        Phase::WorkflowSla | Phase::CoordinatorSlaSubmit | Phase::CoordinatorSlaCreate => SLA,
        Phase::CoordinatorPlain => TEMPLATE,
        _ => &[],
    }
}

/// A set of phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases(u32);

impl Phases {
    /// The empty set.
    pub const NONE: Phases = Phases(0);

    /// Returns the set of these phases.
    pub const fn of(phases: &[Phase]) -> Phases {
        let mut bits = 0;
        let mut at = 0;
        while at < phases.len() {
            bits |= 1 << phases[at] as u32;
            at += 1;
        }
        Phases(bits)
    }

    /// Whether the set contains the phase.
    pub const fn has(self, phase: Phase) -> bool {
        self.0 & (1 << phase as u32) != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the union.
    pub const fn and(self, other: Phases) -> Phases {
        Phases(self.0 | other.0)
    }

    /// Iterates over its phases, in order.
    pub fn iter(self) -> impl Iterator<Item = Phase> {
        Phase::ALL.into_iter().filter(move |phase| self.has(*phase))
    }
}
