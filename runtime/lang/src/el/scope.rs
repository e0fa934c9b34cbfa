//! What an expression may query from its environment.
//!
//! The evaluator and the table of functions know no job. The caller passes a [`Scope`]; what a scope does not offer
//! makes the functions that need it fail with a clear message.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{Failure, Value};
use crate::time::ProcessingZone;

/// Variables, and doors to the rest.
pub trait Scope {
    /// The value of a variable, by its exact name. Properties of the job are variables as [`super::Phase::admit`] says.
    fn variable(&self, name: &str) -> Option<Value<'_>>;

    /// What `wf:…` and `hadoop:counters` ask.
    fn workflow(&self) -> Option<&dyn WorkflowScope> {
        None
    }

    /// What `coord:…` asks.
    fn coordinator(&self) -> Option<&dyn CoordinatorScope> {
        None
    }

    /// What `fs:…`, `coord:latest` and `coord:future` ask.
    fn files(&self) -> Option<&dyn FileScope> {
        None
    }

    /// A value of the server's Hadoop configuration, for `hadoop:conf`.
    fn hadoop_conf(&self, _authority: &str, _name: &str) -> Option<String> {
        None
    }

    /// The zone of the server's dates; an action of a coordinator has its own.
    fn zone(&self) -> ProcessingZone {
        ProcessingZone::UTC
    }

    /// Milliseconds since 1970, for `timestamp()`.
    fn now(&self) -> Option<i64> {
        None
    }

    /// Whether the partitions of an `hcat:` URI exist.
    fn hcat_exists(&self, _uri: &str) -> Option<Result<bool, Box<Failure>>> {
        None
    }

    /// A function that the site has added to its server.
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
    /// The node that calls it, if it is one.
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
    /// 0 on the first run, one more with each rerun.
    fn run(&self) -> i64;
    /// A property of the job with `${…}` between properties resolved; nothing when it is not set or empty.
    fn conf(&self, name: &str) -> Result<Option<Cow<'_, str>>, Box<Failure>>;
    /// The URI at which an external system reports that status.
    fn callback(&self, status: &str) -> Option<String>;
    /// The last action whose status was ERROR.
    fn last_error_node(&self) -> Option<Cow<'_, str>>;
    /// What is known of a node that ended.
    fn node(&self, name: &str) -> Option<NodeState<'_>>;
}

/// What a node left behind when it ended.
#[derive(Clone, Debug, Default)]
pub struct NodeState<'a> {
    /// Where it went: a node, or `*` for a fork.
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

/// Which list a data name was declared in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// `data-in`, or a named part of the input logic.
    In,
    /// `data-out`.
    Out,
}

/// A dataset, as far as arithmetic with its instances needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset<'a> {
    /// Name.
    pub name: Cow<'a, str>,
    /// Date of the first instance.
    pub initial_instance: Cow<'a, str>,
    /// How many units between two instances.
    pub frequency: i32,
    /// Unit of the frequency: `MINUTE`, `HOUR`, `DAY`, `WEEK`, `MONTH`, `YEAR`.
    pub unit: Cow<'a, str>,
    /// `NONE`, `END_OF_DAY`, `END_OF_WEEK` or `END_OF_MONTH`.
    pub end_of: Cow<'a, str>,
    /// Time zone.
    pub timezone: Cow<'a, str>,
    /// Template of its URIs.
    pub uri_template: Cow<'a, str>,
    /// Name of the file that says an instance is complete; empty for the folder itself.
    pub done_flag: Cow<'a, str>,
}

/// The URIs behind a data name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataUris<'a> {
    /// They are known: separated by `#` or `,`; nothing where there are none.
    Known(Option<Cow<'a, str>>),
    /// Some instances are still looked for.
    Unresolved,
}

/// A coordinator job or one of its actions.
pub trait CoordinatorScope {
    /// The zone in which the server reads and writes dates.
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
    /// How a data name was declared.
    fn data_name(&self, name: &str) -> Option<DataKind>;
    /// URIs of an input.
    fn data_in(&self, name: &str) -> Option<DataUris<'_>>;
    /// URIs of an output.
    fn data_out(&self, name: &str) -> Option<DataUris<'_>>;
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Length in bytes.
    pub length: i64,
    /// Size of a block.
    pub block_size: i64,
}

/// A file system, asked with URIs.
pub trait FileScope {
    /// Whether a path, which may hold wildcards, names something.
    fn exists(&self, uri: &str) -> Result<bool, Box<Failure>>;
    /// What is at a path, without wildcards; nothing where nothing is.
    fn status(&self, uri: &str) -> Result<Option<FileStatus>, Box<Failure>>;
    /// Whether a folder of partitions is there, which is of no file system that functions on files know.
    fn partition(&self, uri: &str) -> Result<bool, Box<Failure>> {
        self.status(uri).map(|found| found.is_some())
    }
    /// What is directly in a folder.
    fn children(&self, uri: &str) -> Result<Vec<FileStatus>, Box<Failure>>;
}

/// Hashes names: short texts of one's own, for which a fast function is enough.
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

/// Variables and nothing else.
#[derive(Clone, Debug, Default)]
pub struct Variables(pub HashMap<String, Value<'static>, NameHash>);

impl Scope for Variables {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        self.0.get(name).map(Value::borrowed)
    }
}

/// No variables.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Scope for Nothing {
    fn variable(&self, _name: &str) -> Option<Value<'_>> {
        None
    }
}
