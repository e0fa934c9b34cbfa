//! What a server stores of a coordinator that it has accepted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::{
    Cron, Dataset, EndOf, Frequency, ProcessingZone, Schedule, Unit, WeekStart, Zone,
};

/// Properties of a job.
pub type Properties = BTreeMap<String, String>;

/// Which of several ready actions goes first, and which are passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Execution {
    /// The oldest.
    #[default]
    Fifo,
    /// The newest.
    Lifo,
    /// The newest; those whose successor is due are skipped.
    LastOnly,
    /// The newest; those that are late are skipped.
    None,
}

impl Execution {
    /// The name in a definition; upper case only.
    pub fn from_name(name: &str) -> Option<Execution> {
        Some(match name {
            "FIFO" => Execution::Fifo,
            "LIFO" => Execution::Lifo,
            "LAST_ONLY" => Execution::LastOnly,
            "NONE" => Execution::None,
            _ => return None,
        })
    }

    /// The server's name.
    pub fn name(self) -> &'static str {
        match self {
            Execution::Fifo => "FIFO",
            Execution::Lifo => "LIFO",
            Execution::LastOnly => "LAST_ONLY",
            Execution::None => "NONE",
        }
    }
}

/// How long actions wait, how many run at once, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controls {
    /// Minutes an action waits for its data.
    pub timeout: i64,
    /// How many may run at once; below 0 all of them.
    pub concurrency: i64,
    /// Which goes first.
    pub execution: Execution,
    /// How many may wait.
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
    /// Units between two instances.
    pub frequency: i64,
    /// The frequency as it was evaluated.
    pub frequency_text: String,
    /// Unit of the frequency.
    pub unit: Unit,
    /// End of a period to which the initial instance is moved.
    pub end_of: EndOf,
    /// The initial instance as it was evaluated.
    pub initial_instance: String,
    /// Time zone.
    pub timezone: String,
    /// Template of the URIs; `${YEAR}` and its kind stand in it still.
    pub uri_template: String,
    /// Name of the flag; nothing for `_SUCCESS`, empty for the folder itself.
    pub done_flag: Option<String>,
}

impl DatasetText {
    /// The name of the file that says an instance is complete.
    pub fn flag(&self) -> &str {
        self.done_flag.as_deref().unwrap_or("_SUCCESS")
    }

    /// Ready for arithmetic; nothing if a text is wrong, which a submission refuses.
    pub fn series(&self, processing: ProcessingZone) -> Option<Dataset> {
        let initial = processing.parse(&self.initial_instance).ok()?;
        let zone = Zone::from_id(&self.timezone).ok()?;
        let week = WeekStart::Sunday;
        Some(Dataset::new(initial, self.frequency, self.unit, self.end_of, zone, week))
    }
}

/// Which instances of a dataset an event names. The texts are evaluated anew for each action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instances {
    /// One by one.
    List(Vec<String>),
    /// From one to another.
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
    /// Whether a rerun leaves an output where it is.
    pub keeps_output: bool,
}

/// What kind of part of the input logic it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogicKind {
    /// All of its parts.
    And,
    /// The first part that is there.
    Or,
    /// Instance by instance, the first dataset that has it.
    Combine,
    /// One data-in.
    Data,
}

/// A part of the input logic; parts are kept in a flat list, children behind their parents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logic {
    /// Its kind.
    pub kind: LogicKind,
    /// The part it is within.
    pub parent: Option<usize>,
    /// Its name for `coord:dataIn`.
    pub name: Option<String>,
    /// The data-in, for [`LogicKind::Data`].
    pub data: String,
    /// How many instances are enough, as it was evaluated.
    pub min: Option<String>,
    /// Minutes to wait for more, as it was evaluated.
    pub wait: Option<String>,
}

/// A coordinator that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Name of the application.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The frequency as it was evaluated.
    pub frequency_text: String,
    /// The zone as it was evaluated; `GMT+0530` stays as it is.
    pub zone_text: String,
    /// When it acts.
    pub schedule: Schedule,
    /// How it acts.
    pub controls: Controls,
    /// Data it waits for.
    pub inputs: Vec<DataEvent>,
    /// Data it makes.
    pub outputs: Vec<DataEvent>,
    /// Which inputs are needed; empty: all. Nothing where there is no input logic.
    pub logic: Option<Vec<Logic>>,
    /// Path of the workflow.
    pub app_path: String,
    /// Properties of the workflow: names evaluated, values as written.
    pub configuration: Vec<(String, String)>,
    /// Namespace of the SLA block and its leaves, as far as they could be evaluated.
    pub sla: Option<(String, Vec<(String, String)>)>,
    /// Properties of the job, defaults of its parameters among them.
    pub properties: Properties,
}

impl Definition {
    /// The server's name of the unit.
    pub fn unit_name(&self) -> &'static str {
        match &self.schedule.frequency {
            Frequency::Every { unit, .. } => unit.name(),
            Frequency::Cron(_) => "CRON",
        }
    }

    /// The server's name of the end of a period that the start is moved to.
    pub fn end_of_name(&self) -> &'static str {
        match &self.schedule.frequency {
            Frequency::Every { end_of, .. } => end_of.name(),
            Frequency::Cron(_) => EndOf::None.name(),
        }
    }

    /// The cron expression, if it is one.
    pub fn cron(&self) -> Option<&Cron> {
        match &self.schedule.frequency {
            Frequency::Every { .. } => None,
            Frequency::Cron(cron) => Some(cron),
        }
    }
}

/// A bundle that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// Name of the application.
    pub name: String,
    /// When it starts, as it was evaluated.
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
    /// Where it lies.
    pub app_path: String,
    /// Whether it is started.
    pub is_enabled: bool,
    /// What is written for that, evaluated.
    pub enabled: Option<String>,
    /// Taken and ignored by the server.
    pub critical: Option<String>,
    /// What it is given on top of the bundle's properties.
    pub configuration: Vec<(String, String)>,
}
