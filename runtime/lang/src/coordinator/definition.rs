//! A coordinator or bundle as the server stores it after accepting it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::{
    Cron, Dataset, EndOf, Frequency, ProcessingZone, Schedule, Unit, WeekStart, Zone,
};

/// Properties of a job.
pub type Properties = BTreeMap<String, String>;

/// The execution order: which ready actions start first, and which are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Execution {
    /// The oldest first.
    #[default]
    Fifo,
    /// The newest first.
    Lifo,
    /// The newest first; actions whose successor is due are skipped.
    LastOnly,
    /// The newest first; late actions are skipped.
    None,
}

impl Execution {
    /// Returns the value for its name in a definition; upper case only.
    pub fn from_name(name: &str) -> Option<Execution> {
        Some(match name {
            "FIFO" => Execution::Fifo,
            "LIFO" => Execution::Lifo,
            "LAST_ONLY" => Execution::LastOnly,
            "NONE" => Execution::None,
            _ => return None,
        })
    }

    /// Returns the server's name.
    pub fn name(self) -> &'static str {
        match self {
            Execution::Fifo => "FIFO",
            Execution::Lifo => "LIFO",
            Execution::LastOnly => "LAST_ONLY",
            Execution::None => "NONE",
        }
    }
}

/// The controls: time-out, concurrency, execution order and throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controls {
    /// Minutes that an action waits for its data.
    pub timeout: i64,
    /// Maximum number of actions that run at once; negative for unlimited.
    pub concurrency: i64,
    /// The execution order.
    pub execution: Execution,
    /// Maximum number of waiting actions.
    pub throttle: i64,
}

impl Default for Controls {
    fn default() -> Self {
        Controls { timeout: 120, concurrency: 1, execution: Execution::Fifo, throttle: 12 }
    }
}

/// A dataset with its attributes evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetText {
    /// Name.
    pub name: String,
    /// The number of units between two instances.
    pub frequency: i64,
    /// The frequency as evaluated text.
    pub frequency_text: String,
    /// Unit of the frequency.
    pub unit: Unit,
    /// The period to whose end the initial instance is moved.
    pub end_of: EndOf,
    /// The initial instance as evaluated text.
    pub initial_instance: String,
    /// Time zone.
    pub timezone: String,
    /// Template of the URIs, with `${YEAR}` and the like unresolved.
    pub uri_template: String,
    /// Name of the done flag; none for `_SUCCESS`, empty for the folder itself.
    pub done_flag: Option<String>,
}

impl DatasetText {
    /// Returns the name of the file that marks an instance as complete.
    pub fn flag(&self) -> &str {
        self.done_flag.as_deref().unwrap_or("_SUCCESS")
    }

    /// Returns the dataset as a series of instances; none if a text is invalid, which a submission refuses.
    pub fn series(&self, processing: ProcessingZone) -> Option<Dataset> {
        let initial = processing.parse(&self.initial_instance).ok()?;
        let zone = Zone::from_id(&self.timezone).ok()?;
        let week = WeekStart::Sunday;
        Some(Dataset::new(initial, self.frequency, self.unit, self.end_of, zone, week))
    }
}

/// The instances of a dataset that an event refers to. The texts are evaluated anew for each action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instances {
    /// Single instances.
    List(Vec<String>),
    /// A range, from start to end.
    Range(String, String),
}

/// A data-in or data-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataEvent {
    /// Name.
    pub name: String,
    /// Its dataset, which many events may share.
    pub dataset: Arc<DatasetText>,
    /// Its instances.
    pub instances: Instances,
    /// Whether a rerun keeps the output.
    pub keeps_output: bool,
}

/// The operator of an input logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogicKind {
    /// All children are required.
    And,
    /// The first child that is satisfied.
    Or,
    /// For each instance, the first dataset that has it.
    Combine,
    /// A single `data-in`.
    Data,
}

/// A node of the input logic, which is a flat list with children after their parents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logic {
    /// Its operator.
    pub kind: LogicKind,
    /// Index of its parent.
    pub parent: Option<usize>,
    /// Its name for `coord:dataIn`.
    pub name: Option<String>,
    /// Name of the `data-in`, for [`LogicKind::Data`].
    pub data: String,
    /// Minimum number of instances, as evaluated text.
    pub min: Option<String>,
    /// Minutes to wait for more instances, as evaluated text.
    pub wait: Option<String>,
}

/// An accepted coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Name of the application.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The frequency as evaluated text.
    pub frequency_text: String,
    /// The time zone as evaluated text; `GMT+0530` is not normalized.
    pub zone_text: String,
    /// Its schedule.
    pub schedule: Schedule,
    /// Its controls.
    pub controls: Controls,
    /// Its input events.
    pub inputs: Vec<DataEvent>,
    /// Its output events.
    pub outputs: Vec<DataEvent>,
    /// The input logic; an empty one requires all inputs. None if there is no input logic.
    pub logic: Option<Vec<Logic>>,
    /// Path of the workflow.
    pub app_path: String,
    /// Properties of the workflow: names evaluated, values unevaluated.
    pub configuration: Vec<(String, String)>,
    /// Namespace of the SLA block and its leaves, as far as they could be evaluated.
    pub sla: Option<(String, Vec<(String, String)>)>,
    /// Properties of the job, including the defaults of its parameters.
    pub properties: Properties,
}

impl Definition {
    /// Returns the server's name of the frequency's unit.
    pub fn unit_name(&self) -> &'static str {
        match &self.schedule.frequency {
            Frequency::Every { unit, .. } => unit.name(),
            Frequency::Cron(_) => "CRON",
        }
    }

    /// Returns the server's name of the period to whose end the start is moved.
    pub fn end_of_name(&self) -> &'static str {
        match &self.schedule.frequency {
            Frequency::Every { end_of, .. } => end_of.name(),
            Frequency::Cron(_) => EndOf::None.name(),
        }
    }

    /// Returns the frequency if it is a cron expression.
    pub fn cron(&self) -> Option<&Cron> {
        match &self.schedule.frequency {
            Frequency::Every { .. } => None,
            Frequency::Cron(cron) => Some(cron),
        }
    }
}

/// An accepted bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// Name of the application.
    pub name: String,
    /// The kick-off time as evaluated text.
    pub kick_off: Option<String>,
    /// Its coordinators.
    pub members: Vec<BundleMember>,
    /// Properties of the job.
    pub properties: Properties,
}

/// A coordinator of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleMember {
    /// Its name in the bundle.
    pub name: String,
    /// Path of its application.
    pub app_path: String,
    /// Whether it is started.
    pub is_enabled: bool,
    /// The attribute `enabled` as evaluated text.
    pub enabled: Option<String>,
    /// The attribute `critical`, which the server accepts and ignores.
    pub critical: Option<String>,
    /// Properties that override those of the bundle.
    pub configuration: Vec<(String, String)>,
}
