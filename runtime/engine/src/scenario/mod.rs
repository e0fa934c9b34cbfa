//! Scenarios: an application run in simulated time with stubbed actions, and the expected results.
//!
//! In: a [`Scenario`] as a test author writes it (a `*.scenario.toml`, read elsewhere), and what a run showed
//! ([`Seen`]). Out: the [`Difference`]s. How a stub answers is defined here ([`Stub::answer`]); the driver decides who
//! asks, and at which simulated time. A coordinator or a bundle is played by [`timed`]. `docs/scenarios.md` is the
//! manual.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use compare::{Difference, compare};
pub use real::Real;
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
    /// One line for lists; the file's name if empty.
    #[serde(default)]
    pub title: Option<String>,
    /// Simulated time at which the run begins, `2020-01-01T00:00Z`; for a coordinator its start, if nothing is said.
    #[serde(default)]
    pub at: Option<String>,
    /// How much simulated time may pass before the run is stopped and judged as it is; `30d` by default.
    #[serde(default)]
    pub limit: Option<String>,
    /// Files of properties, relative to the scenario's folder, the first the weakest.
    #[serde(default)]
    pub property_files: Vec<String>,
    /// Properties, stronger than any file's.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Properties of the server.
    #[serde(default)]
    pub server: BTreeMap<String, String>,
    /// What functions of the site answer, whatever they are asked.
    #[serde(default)]
    pub functions: BTreeMap<String, String>,
    /// The file root before the run: URI to text.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Files that appear during the run.
    #[serde(default)]
    pub arrivals: Vec<Arrival>,
    /// What the world answers an action, by the name of its node.
    #[serde(default)]
    pub actions: BTreeMap<String, Stub>,
    /// What the world answers every action of a type that has no stub of its own.
    #[serde(default)]
    pub types: BTreeMap<String, Stub>,
    /// Of a coordinator: when the instances of a dataset are there, by its name.
    #[serde(default)]
    pub datasets: BTreeMap<String, Instances>,
    /// Of a coordinator: how the workflows of its actions end. Without, they are played where they can be found.
    #[serde(default)]
    pub workflow: Option<WorkflowStub>,
    /// The same for one action, by its number or nominal time; in a bundle after the name of its coordinator and `@`.
    #[serde(default)]
    pub workflows: BTreeMap<String, WorkflowStub>,
    /// What an operator does, and when.
    #[serde(default)]
    pub then: Vec<Then>,
    /// What must have come out.
    #[serde(default)]
    pub expect: Expect,
}

impl Scenario {
    /// The stub for an action: by its node's name, else by its type.
    pub fn stub(&self, node: &str, action_type: &str) -> Option<&Stub> {
        self.actions.get(node).or_else(|| self.types.get(action_type))
    }
}

/// A file that appears in the file root while the run goes on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arrival {
    /// Its URI.
    pub file: String,
    /// Its text.
    #[serde(default)]
    pub text: String,
    /// Time from the begin of the run, `90m`.
    #[serde(default)]
    pub after: Option<String>,
    /// When, instead: `2020-01-01T06:00Z`.
    #[serde(default)]
    pub at: Option<String>,
}

/// When the instances of a dataset are there.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Instances {
    /// How long after its own time an instance is there, `20m`; at once, if nothing is said.
    #[serde(default)]
    pub after: Option<String>,
    /// The same for single instances, by their time.
    #[serde(default)]
    pub late: BTreeMap<String, String>,
    /// Times of instances that never come.
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
    /// It suspends itself; when it is resumed, the next answer counts.
    Suspend,
    /// It never ends.
    Never,
}

/// How a workflow ends that is not played: the same each time, or an answer a start.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkflowStub {
    /// How it ends.
    #[serde(default)]
    pub result: Ending,
    /// Simulated time it takes; none at all by default.
    #[serde(default)]
    pub takes: Option<String>,
    /// An answer a start, instead; the last one repeats.
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
    /// Simulated time it takes.
    #[serde(default)]
    pub takes: Option<String>,
}

impl WorkflowStub {
    /// The answer to the start with this number, from 0.
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
    /// While it is started.
    #[default]
    Start,
    /// While the engine asks how it is doing.
    Check,
    /// While its result is taken.
    End,
}

/// What the world answers one attempt at an action.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Attempt {
    /// How it ends.
    #[serde(default)]
    pub result: Outcome,
    /// In which phase an error appears.
    #[serde(default)]
    pub phase: Phase,
    /// The error code; `STUB` if none.
    #[serde(default)]
    pub code: Option<String>,
    /// The error message.
    #[serde(default)]
    pub message: Option<String>,
    /// What the action captures.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
    /// The external status; as the result asks if none.
    #[serde(default)]
    pub external_status: Option<String>,
    /// The external id.
    #[serde(default)]
    pub external_id: Option<String>,
    /// Simulated time it takes, `5m`; none at all by default.
    #[serde(default)]
    pub takes: Option<String>,
    /// Files it leaves in the file root: URI to text.
    #[serde(default)]
    pub writes: BTreeMap<String, String>,
}

/// What the world answers an action: the same each time, or an answer an attempt.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stub {
    /// How it ends.
    #[serde(default)]
    pub result: Outcome,
    /// In which phase an error appears.
    #[serde(default)]
    pub phase: Phase,
    /// The error code; `STUB` if none.
    #[serde(default)]
    pub code: Option<String>,
    /// The error message.
    #[serde(default)]
    pub message: Option<String>,
    /// What the action captures.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
    /// The external status; as the result asks if none.
    #[serde(default)]
    pub external_status: Option<String>,
    /// The external id.
    #[serde(default)]
    pub external_id: Option<String>,
    /// Simulated time it takes.
    #[serde(default)]
    pub takes: Option<String>,
    /// Files it leaves in the file root: URI to text.
    #[serde(default)]
    pub writes: BTreeMap<String, String>,
    /// An answer an attempt, instead of all of the above; the last one repeats.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
}

impl Stub {
    /// The answer to the attempt with this number, from 0, of any phase.
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

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Suspends the job.
    Suspend,
    /// Resumes the job.
    Resume,
    /// Kills the job.
    Kill,
    /// Runs the job again, by [`Then::properties`]; of a coordinator some actions of it.
    Rerun,
    /// Changes end, pause or concurrency of a coordinator or a bundle, by [`Then::value`].
    Change,
    /// Has faults of some actions of a coordinator count no more.
    Ignore,
}

/// A command of an operator in the middle of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Then {
    /// When an action has a status (`load RUNNING`), or the job has (`job SUSPENDED`). Actions of a coordinator have
    /// numbers and times (`3 TIMEDOUT`).
    #[serde(default)]
    pub when: Option<String>,
    /// Time from the command before, or from the begin of the run.
    #[serde(default)]
    pub after: Option<String>,
    /// When, instead: `2020-01-01T06:00Z`.
    #[serde(default)]
    pub at: Option<String>,
    /// What is done.
    #[serde(rename = "do")]
    pub command: Command,
    /// Properties of a rerun.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// In a bundle: to which of its coordinators, instead of to all of it; of a rerun, names with commas between.
    #[serde(default)]
    pub coordinator: Option<String>,
    /// To which actions of a coordinator, by number: `2,4-6`.
    #[serde(default)]
    pub actions: Option<String>,
    /// The same by time: `2020-01-01T00:00Z::2020-01-02T00:00Z`.
    #[serde(default)]
    pub dates: Option<String>,
    /// What is changed: `endtime=2020-02-01T00:00Z;concurrency=2`.
    #[serde(default)]
    pub value: Option<String>,
    /// Of a rerun: instances are resolved anew.
    #[serde(default)]
    pub refresh: bool,
    /// Of a rerun: outputs stay where they are.
    #[serde(default)]
    pub nocleanup: bool,
    /// Of a rerun: workflows go on from what failed.
    #[serde(default)]
    pub failed: bool,
}

/// What must have come out. What is not said is not compared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// Status of the job at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The nodes that ran, in the order they began; forks and joins only where they are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// Nodes of which each began after the one before it had ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Groups of nodes that were all running at one moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parallel: Vec<Vec<String>>,
    /// Nodes that must not have begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<String>,
    /// Words that the message of the kill node, or of the failed action, must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Words each of which some notification's URL must contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notifications: Vec<String>,
    /// What must be in the file root at the end: URI to text; an empty text asks only that it is there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Of a coordinator: how many actions are in which state at the end; states that are not named are not compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, usize>,
    /// Of a coordinator or a bundle: codes with which commands were refused, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusals: Option<Vec<String>>,
    /// By the name of the node; of a coordinator by number or nominal time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub actions: BTreeMap<String, ExpectAction>,
    /// Of a bundle: by the name of the coordinator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coordinators: BTreeMap<String, ExpectCoordinator>,
}

/// What must have come out for one coordinator of a bundle.
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

/// What must have come out for one action.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExpectAction {
    /// Status of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// How often the engine retried it, over the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How often it was retried by its own `retry-max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_retries: Option<u32>,
    /// Error code of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Words that its error message must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Where it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<String>,
    /// External status of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_status: Option<String>,
    /// Captured values, among others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
    /// Values of the configuration it saw, among others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub configuration: BTreeMap<String, String>,
    /// Of a coordinator: its nominal time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<String>,
    /// Of a coordinator: when its workflow began for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// Of a coordinator: when it came to its last state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Of a coordinator: how often a workflow of it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<u32>,
    /// Of a coordinator: words of what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Of a coordinator: URIs by the name of the data-in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Vec<String>>,
    /// Of a coordinator: URIs by the name of the data-out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Vec<String>>,
    /// Of a coordinator: what came of its expectations, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<Vec<String>>,
    /// Of a coordinator: the nodes of its workflow that ran, if that was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
}

/// What a run showed, in the terms of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Status of the job when it ended, or when the limit was reached.
    pub status: String,
    /// The nodes in the order they began.
    pub nodes: Vec<SeenNode>,
    /// Message of the kill node, or of the action that failed the job.
    pub message: Option<String>,
    /// URLs of the notifications, in order.
    pub notifications: Vec<String>,
    /// The file root at the end.
    pub files: BTreeMap<String, String>,
    /// What came of coordinators, in the place of nodes.
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
    /// Retries by its own attributes.
    pub user_retries: u32,
    /// Error code.
    pub code: Option<String>,
    /// Error message.
    pub message: Option<String>,
    /// Where it went.
    pub transition: Option<String>,
    /// External status.
    pub external_status: Option<String>,
    /// Captured values.
    pub data: BTreeMap<String, String>,
    /// The merged configuration it saw.
    pub configuration: BTreeMap<String, String>,
    /// Simulated milliseconds from the begin of the run to its own.
    pub began_ms: u64,
    /// Simulated milliseconds from the begin of the run to its end; none if it was still running.
    pub ended_ms: Option<u64>,
}

/// Milliseconds of a span as scenarios write it: `90s`, `5m`, `2h`, `1d`, `250ms`, or several in a row (`1h30m`).
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
