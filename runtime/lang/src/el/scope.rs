//! The queries that an expression can make to its environment.
//!
//! The evaluator and the table of functions do not know jobs. The caller passes a [`Scope`]; functions that need
//! something that the scope does not provide fail with a clear message.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{Failure, Value};
use crate::time::ProcessingZone;

/// Variables, and access to everything else.
pub trait Scope {
    /// Returns the value of a variable, by its exact name. [`super::Phase::admit`] decides which job properties are
    /// variables.
    fn variable(&self, name: &str) -> Option<Value<'_>>;

    /// Answers `wf:…` and `hadoop:counters`.
    fn workflow(&self) -> Option<&dyn WorkflowScope> {
        None
    }

    /// Answers `coord:…`.
    fn coordinator(&self) -> Option<&dyn CoordinatorScope> {
        None
    }

    /// Answers `fs:…`, `coord:latest` and `coord:future`.
    fn files(&self) -> Option<&dyn FileScope> {
        None
    }

    /// Returns a value of the server's Hadoop configuration, for `hadoop:conf`.
    fn hadoop_conf(&self, _authority: &str, _name: &str) -> Option<String> {
        None
    }

    /// Returns the server's time zone for dates; a coordinator action has its own.
    fn zone(&self) -> ProcessingZone {
        ProcessingZone::UTC
    }

    /// Returns the milliseconds since 1970, for `timestamp()`.
    fn now(&self) -> Option<i64> {
        None
    }

    /// Whether the partitions of an `hcat:` URI exist.
    fn hcat_exists(&self, _uri: &str) -> Option<Result<bool, Box<Failure>>> {
        None
    }

    /// Calls a function that the site has added to its server.
    fn site(
        &self,
        _name: &str,
        _arguments: &[Value<'_>],
    ) -> Option<Result<Value<'_>, Box<Failure>>> {
        None
    }
}

/// A call of a function of the site.
#[derive(Clone, Debug)]
pub struct Called<'a> {
    /// Its name.
    pub function: &'a str,
    /// Its arguments.
    pub words: Vec<String>,
    /// The job that calls it.
    pub job: &'a str,
    /// The node that calls it, if any.
    pub node: Option<&'a str>,
}

/// A running workflow job.
pub trait WorkflowScope {
    /// Id of the job.
    fn id(&self) -> Option<Cow<'_, str>>;
    /// Resolved name of the application.
    fn name(&self) -> Option<Cow<'_, str>>;
    /// Path of the application as submitted.
    fn app_path(&self) -> Option<Cow<'_, str>>;
    /// Owner.
    fn user(&self) -> Option<Cow<'_, str>>;
    /// Group or access list.
    fn group(&self) -> Option<Cow<'_, str>>;
    /// Number of reruns: 0 in the first run.
    fn run(&self) -> i64;
    /// A property of the job with references to other properties resolved; none if it is not set or empty.
    fn conf(&self, name: &str) -> Result<Option<Cow<'_, str>>, Box<Failure>>;
    /// The URI to which an external system reports that status.
    fn callback(&self, status: &str) -> Option<String>;
    /// The last action whose status was ERROR.
    fn last_error_node(&self) -> Option<Cow<'_, str>>;
    /// The results of an ended node.
    fn node(&self, name: &str) -> Option<NodeState<'_>>;
}

/// The results of an ended node.
#[derive(Clone, Debug, Default)]
pub struct NodeState<'a> {
    /// The node that followed, or `*` for a fork.
    pub transition: Option<Cow<'a, str>>,
    /// Its captured output, in the form of Java properties.
    pub data: Option<Cow<'a, str>>,
    /// Ids of the jobs it started, separated by commas.
    pub child_ids: Option<Cow<'a, str>>,
    /// Its counters, as JSON.
    pub stats: Option<Cow<'a, str>>,
    /// Id in the external system.
    pub external_id: Option<Cow<'a, str>>,
    /// Address of the external system.
    pub tracker_uri: Option<Cow<'a, str>>,
    /// Status in the external system.
    pub external_status: Option<Cow<'a, str>>,
    /// Code of its error.
    pub error_code: Option<Cow<'a, str>>,
    /// Message of its error.
    pub error_message: Option<Cow<'a, str>>,
}

/// The kind of declaration of a data name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// `data-in`, or a named part of the input logic.
    In,
    /// `data-out`.
    Out,
}

/// A dataset, as needed for arithmetic with its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset<'a> {
    /// Name.
    pub name: Cow<'a, str>,
    /// Date of the first instance.
    pub initial_instance: Cow<'a, str>,
    /// The number of units between two instances.
    pub frequency: i32,
    /// Unit of the frequency: `MINUTE`, `HOUR`, `DAY`, `WEEK`, `MONTH`, `YEAR`.
    pub unit: Cow<'a, str>,
    /// `NONE`, `END_OF_DAY`, `END_OF_WEEK` or `END_OF_MONTH`.
    pub end_of: Cow<'a, str>,
    /// Time zone.
    pub timezone: Cow<'a, str>,
    /// Template of its URIs.
    pub uri_template: Cow<'a, str>,
    /// Name of the done flag; empty for the folder itself.
    pub done_flag: Cow<'a, str>,
}

/// The URIs of a data name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataUris<'a> {
    /// The resolved URIs, separated by `#` or `,`; none if there are none.
    Known(Option<Cow<'a, str>>),
    /// Some instances are unresolved.
    Unresolved,
}

/// A coordinator job or one of its actions.
pub trait CoordinatorScope {
    /// The time zone in which the server parses and formats dates.
    fn processing(&self) -> ProcessingZone {
        ProcessingZone::UTC
    }
    /// Time zone of the coordinator.
    fn timezone(&self) -> Option<Cow<'_, str>>;
    /// Name of the coordinator.
    fn name(&self) -> Option<Cow<'_, str>>;
    /// Id of the action.
    fn action_id(&self) -> Option<Cow<'_, str>>;
    /// Nominal time of the action, in milliseconds since 1970.
    fn nominal(&self) -> Option<i64>;
    /// Time at which the action was created, in milliseconds since 1970.
    fn actual(&self) -> Option<i64>;
    /// The dataset whose instance is evaluated.
    fn dataset(&self) -> Option<Dataset<'_>>;
    /// Returns how a data name was declared.
    fn data_name(&self, name: &str) -> Option<DataKind>;
    /// Returns the URIs of an input.
    fn data_in(&self, name: &str) -> Option<DataUris<'_>>;
    /// Returns the URIs of an output.
    fn data_out(&self, name: &str) -> Option<DataUris<'_>>;
}

/// The status of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Length in bytes.
    pub length: i64,
    /// Block size.
    pub block_size: i64,
}

/// A file system, queried by URI.
pub trait FileScope {
    /// Whether a path, which may contain wildcards, matches a file or folder.
    fn exists(&self, uri: &str) -> Result<bool, Box<Failure>>;
    /// How many paths it can look for at once.
    fn at_once(&self) -> usize {
        1
    }
    /// Announces the paths whose existence will be asked for next.
    fn announce(&self, _next: &[String]) {}
    /// Returns the status of a path without wildcards; none if it does not exist.
    fn status(&self, uri: &str) -> Result<Option<FileStatus>, Box<Failure>>;
    /// Whether a partition's folder exists, which is not in a file system that file functions can access.
    fn partition(&self, uri: &str) -> Result<bool, Box<Failure>> {
        self.status(uri).map(|found| found.is_some())
    }
    /// Returns the direct children of a folder.
    fn children(&self, uri: &str) -> Result<Vec<FileStatus>, Box<Failure>>;
}

/// Hashes names: short texts from trusted sources, for which a fast function is sufficient.
pub type NameHash = BuildHasherDefault<NameHasher>;

/// The function behind [`NameHash`] (FNV-1a).
#[derive(Clone, Copy, Debug)]
pub struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> NameHasher {
        NameHasher(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A scope with variables only.
#[derive(Clone, Debug, Default)]
pub struct Variables(pub HashMap<String, Value<'static>, NameHash>);

impl Scope for Variables {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        self.0.get(name).map(Value::borrowed)
    }
}

/// A scope without variables.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Scope for Nothing {
    fn variable(&self, _name: &str) -> Option<Value<'_>> {
        None
    }
}
