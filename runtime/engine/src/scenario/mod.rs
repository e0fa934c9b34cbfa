//! Scenarios: an application run in simulated time with stubbed actions, and the expected results.
//!
//! It compares a [`Scenario`] as a test author writes it (a `*.scenario.toml`, parsed elsewhere) with the results of a
//! run ([`Seen`]), and returns the [`Difference`]s. How a stub answers is defined here ([`Stub::answer`]); the
//! simulation decides which action asks, and at which simulated time. Coordinators and bundles are run by [`timed`].
//! `docs/scenarios.md` is the manual.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use compare::{Difference, compare};
pub use real::{Left, Real, end_left};
pub use run::{Compile, Played, play};

mod arrival;
mod compare;
mod real;
mod run;
pub mod timed;

/// A scenario as it is written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// The application: a folder or file, relative to the scenario's own folder.
    pub app: String,
    /// The title in lists; the file's name if empty.
    #[serde(default)]
    pub title: Option<String>,
    /// Simulated time at which the run begins, such as `2020-01-01T00:00Z`; by default the start time of a coordinator.
    #[serde(default)]
    pub at: Option<String>,
    /// The simulated time after which the run is stopped and compared as it is; `30d` by default.
    #[serde(default)]
    pub limit: Option<String>,
    /// Property files, relative to the scenario's folder; later ones override earlier ones.
    #[serde(default)]
    pub property_files: Vec<String>,
    /// Properties, which override those of all files.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Properties of the server.
    #[serde(default)]
    pub server: BTreeMap<String, String>,
    /// The fixed results of functions of the site, whatever their arguments.
    #[serde(default)]
    pub functions: BTreeMap<String, String>,
    /// The file root before the run: URI to text.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Files that appear during the run.
    #[serde(default)]
    pub arrivals: Vec<Arrival>,
    /// How an action ends, by the name of its node.
    #[serde(default)]
    pub actions: BTreeMap<String, Stub>,
    /// How every action of a type ends that has no stub of its own.
    #[serde(default)]
    pub types: BTreeMap<String, Stub>,
    /// For a coordinator: when the instances of a dataset become available, by the dataset's name.
    #[serde(default)]
    pub datasets: BTreeMap<String, Instances>,
    /// For a coordinator: how the workflows of its actions end. Without this, they are run if their definitions can be
    /// found.
    #[serde(default)]
    pub workflow: Option<WorkflowStub>,
    /// The same for a single action, by its number or nominal time; in a bundle preceded by the name of its coordinator
    /// and `@`.
    #[serde(default)]
    pub workflows: BTreeMap<String, WorkflowStub>,
    /// The commands of an operator, and when they are given.
    #[serde(default)]
    pub then: Vec<Then>,
    /// The expected results.
    #[serde(default)]
    pub expect: Expect,
}

impl Scenario {
    /// Returns the stub for an action: by its node's name, else by its type.
    pub fn stub(&self, node: &str, action_type: &str) -> Option<&Stub> {
        self.actions.get(node).or_else(|| self.types.get(action_type))
    }
}

/// A file that appears in the file root during the run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arrival {
    /// Its URI.
    pub file: String,
    /// Its text.
    #[serde(default)]
    pub text: String,
    /// Time since the beginning of the run, such as `90m`.
    #[serde(default)]
    pub after: Option<String>,
    /// The time instead: `2020-01-01T06:00Z`.
    #[serde(default)]
    pub at: Option<String>,
}

/// When the instances of a dataset become available.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Instances {
    /// How long after its nominal time an instance becomes available, such as `20m`; at once by default.
    #[serde(default)]
    pub after: Option<String>,
    /// The same for single instances, by their nominal time.
    #[serde(default)]
    pub late: BTreeMap<String, String>,
    /// Nominal times of instances that never become available.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// How the workflow of an action ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It succeeds.
    #[default]
    Ok,
    /// It is killed, as by a kill node.
    Error,
    /// It fails.
    Failed,
    /// It suspends itself; after it is resumed, the next answer applies.
    Suspend,
    /// It never ends.
    Never,
}

/// How a workflow that is not run ends: the same each time, or one answer per start.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkflowStub {
    /// How it ends.
    #[serde(default)]
    pub result: Ending,
    /// The simulated time it takes; none at all by default.
    #[serde(default)]
    pub takes: Option<String>,
    /// One answer per start instead; the last one repeats.
    #[serde(default)]
    pub attempts: Vec<WorkflowAttempt>,
}

/// How one start of a workflow ends.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkflowAttempt {
    /// How it ends.
    #[serde(default)]
    pub result: Ending,
    /// The simulated time it takes.
    #[serde(default)]
    pub takes: Option<String>,
}

impl WorkflowStub {
    /// Returns the answer to the start with this number, counted from 0.
    pub fn answer(&self, attempt: usize) -> WorkflowAttempt {
        if let Some(last) = self.attempts.last() {
            return self.attempts.get(attempt).unwrap_or(last).clone();
        }
        WorkflowAttempt { result: self.result, takes: self.takes.clone() }
    }
}

/// How an attempt at an action ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It succeeds.
    #[default]
    Ok,
    /// An error of type ERROR: the error transition, unless a user retry applies.
    Error,
    /// An error of type TRANSIENT: retried by the engine.
    Transient,
    /// An error of type NON_TRANSIENT: the job is suspended.
    NonTransient,
    /// An error of type FAILED: the job fails.
    Failed,
    /// It never ends.
    Never,
}

/// The phase of an action in which a stub's error appears.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// When it is started.
    #[default]
    Start,
    /// When the engine checks its state.
    Check,
    /// When its result is taken.
    End,
}

/// How one attempt at an action ends.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Attempt {
    /// How it ends.
    #[serde(default)]
    pub result: Outcome,
    /// The phase in which an error occurs.
    #[serde(default)]
    pub phase: Phase,
    /// The error code; `STUB` if none.
    #[serde(default)]
    pub code: Option<String>,
    /// The error message.
    #[serde(default)]
    pub message: Option<String>,
    /// The captured output of the action.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
    /// The external status; by default the one that fits the result.
    #[serde(default)]
    pub external_status: Option<String>,
    /// The external id.
    #[serde(default)]
    pub external_id: Option<String>,
    /// The simulated time it takes, such as `5m`; none at all by default.
    #[serde(default)]
    pub takes: Option<String>,
    /// Files it writes to the file root: URI to text.
    #[serde(default)]
    pub writes: BTreeMap<String, String>,
}

/// How an action ends: the same each time, or one answer per attempt.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stub {
    /// How it ends.
    #[serde(default)]
    pub result: Outcome,
    /// The phase in which an error occurs.
    #[serde(default)]
    pub phase: Phase,
    /// The error code; `STUB` if none.
    #[serde(default)]
    pub code: Option<String>,
    /// The error message.
    #[serde(default)]
    pub message: Option<String>,
    /// The captured output of the action.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
    /// The external status; by default the one that fits the result.
    #[serde(default)]
    pub external_status: Option<String>,
    /// The external id.
    #[serde(default)]
    pub external_id: Option<String>,
    /// The simulated time it takes.
    #[serde(default)]
    pub takes: Option<String>,
    /// Files it writes to the file root: URI to text.
    #[serde(default)]
    pub writes: BTreeMap<String, String>,
    /// One answer per attempt instead of all of the above; the last one repeats.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
}

impl Stub {
    /// Returns the answer to the attempt with this number, counted from 0, for any phase.
    pub fn answer(&self, attempt: usize) -> Attempt {
        if let Some(last) = self.attempts.last() {
            return self.attempts.get(attempt).unwrap_or(last).clone();
        }
        Attempt {
            result: self.result,
            phase: self.phase,
            code: self.code.clone(),
            message: self.message.clone(),
            data: self.data.clone(),
            external_status: self.external_status.clone(),
            external_id: self.external_id.clone(),
            takes: self.takes.clone(),
            writes: self.writes.clone(),
        }
    }
}

/// A command of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Suspends the job.
    Suspend,
    /// Resumes the job.
    Resume,
    /// Kills the job.
    Kill,
    /// Reruns the job with [`Then::properties`], or some actions of a coordinator.
    Rerun,
    /// Changes the end time, the pause time or the concurrency of a coordinator or a bundle to [`Then::value`].
    Change,
    /// Ignores failed actions of a coordinator, so that they no longer count.
    Ignore,
}

/// A command of an operator in the middle of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Then {
    /// When an action reaches a status (`load RUNNING`), or the job does (`job SUSPENDED`). Actions of a coordinator
    /// have numbers and times (`3 TIMEDOUT`).
    #[serde(default)]
    pub when: Option<String>,
    /// Time since the previous command, or since the beginning of the run.
    #[serde(default)]
    pub after: Option<String>,
    /// The time instead: `2020-01-01T06:00Z`.
    #[serde(default)]
    pub at: Option<String>,
    /// The command.
    #[serde(rename = "do")]
    pub command: Command,
    /// Properties of a rerun.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// In a bundle: the coordinator that the command applies to, instead of the whole bundle; for a rerun, names
    /// separated by commas.
    #[serde(default)]
    pub coordinator: Option<String>,
    /// The actions of a coordinator that it applies to, by number: `2,4-6`.
    #[serde(default)]
    pub actions: Option<String>,
    /// The same by nominal time: `2020-01-01T00:00Z::2020-01-02T00:00Z`.
    #[serde(default)]
    pub dates: Option<String>,
    /// The change: `endtime=2020-02-01T00:00Z;concurrency=2`.
    #[serde(default)]
    pub value: Option<String>,
    /// For a rerun: whether instances are resolved anew.
    #[serde(default)]
    pub refresh: bool,
    /// For a rerun: whether outputs are kept.
    #[serde(default)]
    pub nocleanup: bool,
    /// For a rerun: whether workflows continue from their failed nodes.
    #[serde(default)]
    pub failed: bool,
}

/// The expected results. What is left out is not compared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// Status of the job at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The nodes that ran, in the order in which they started; forks and joins only count if they are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// Nodes each of which started after the one before it had ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Groups of nodes that were all running at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parallel: Vec<Vec<String>>,
    /// Nodes that must not have started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<String>,
    /// Text that the message of the kill node, or of the failed action, must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Texts each of which must be part of the URL of some notification.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notifications: Vec<String>,
    /// The expected contents of the file root at the end: URI to text; an empty text only requires that the file
    /// exists.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// For a coordinator: how many actions are in which state at the end; states that are not named are not compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, usize>,
    /// For a coordinator or a bundle: the codes with which commands were refused, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusals: Option<Vec<String>>,
    /// Expected results of actions, by the name of the node; for a coordinator by number or nominal time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub actions: BTreeMap<String, ExpectAction>,
    /// For a bundle: expected results of coordinators, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coordinators: BTreeMap<String, ExpectCoordinator>,
}

/// The expected results of one coordinator of a bundle.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExpectCoordinator {
    /// Its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// How many of its actions are in which state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, usize>,
}

/// The expected results of one action.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExpectAction {
    /// Status of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// How often the engine retried it, over the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How often it was retried because of its `retry-max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_retries: Option<u32>,
    /// Error code of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Text that its error message must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The node it went on to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<String>,
    /// External status of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_status: Option<String>,
    /// Captured values that must be present.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
    /// Values that its configuration must contain.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub configuration: BTreeMap<String, String>,
    /// For a coordinator: its nominal time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<String>,
    /// For a coordinator: when its workflow started for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// For a coordinator: when it reached its last state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// For a coordinator: how often a workflow of it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<u32>,
    /// For a coordinator: part of what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// For a coordinator: URIs by the name of the data-in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Vec<String>>,
    /// For a coordinator: URIs by the name of the data-out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Vec<String>>,
    /// For a coordinator: its SLA events, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<Vec<String>>,
    /// For a coordinator: the nodes of its workflow that ran, if the workflow was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
}

/// The results of a run, in the terms of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Status of the job when it ended, or when the limit was reached.
    pub status: String,
    /// The nodes in the order in which they started.
    pub nodes: Vec<SeenNode>,
    /// Message of the kill node, or of the action that failed the job.
    pub message: Option<String>,
    /// URLs of the notifications, in order.
    pub notifications: Vec<String>,
    /// The file root at the end.
    pub files: BTreeMap<String, String>,
    /// The results of coordinators, instead of nodes.
    pub timed: Option<timed::SeenTimed>,
}

/// One node of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenNode {
    /// Its name.
    pub name: String,
    /// Its type, as in the job object: `shell`, `switch`, `:FORK:`.
    pub node_type: String,
    /// Status of its row.
    pub status: String,
    /// Retries by the engine.
    pub retries: u32,
    /// User retries.
    pub user_retries: u32,
    /// Error code.
    pub code: Option<String>,
    /// Error message.
    pub message: Option<String>,
    /// The node it went on to.
    pub transition: Option<String>,
    /// External status.
    pub external_status: Option<String>,
    /// Captured values.
    pub data: BTreeMap<String, String>,
    /// Its merged configuration.
    pub configuration: BTreeMap<String, String>,
    /// Simulated milliseconds from the beginning of the run to its start.
    pub began_ms: u64,
    /// Simulated milliseconds from the beginning of the run to its end; none if it was still running.
    pub ended_ms: Option<u64>,
}

/// Parses a duration as scenarios write it to milliseconds: `90s`, `5m`, `2h`, `1d`, `250ms`, or several in a row
/// (`1h30m`).
///
/// ```
/// assert_eq!(ankus_engine::scenario::milliseconds("1h30m"), Some(5_400_000));
/// assert_eq!(ankus_engine::scenario::milliseconds("soon"), None);
/// ```
pub fn milliseconds(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit: u64 = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        rest = &rest[letters..];
        total = total.checked_add(number.checked_mul(unit)?)?;
    }
    Some(total)
}
