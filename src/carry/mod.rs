//! Applications carried over to other engines.
//!
//! In: a definition as [`crate::check`] takes it, with what it is submitted with. Out: a neutral [`model`] of what it does,
//! and from a printer the files of another engine. A [`ledger`] has every element and attribute of the source with what
//! became of it; whatever nobody claims is lost, and said to be. Nothing is run or read here.

pub mod airflow;
pub mod argo;
mod claims;
mod commands;
pub mod databricks;
pub mod graphs;
pub mod idioms;
mod instances;
pub mod joined;
pub mod ledger;
mod meets;
mod missing;
pub mod model;
mod options;
mod places;
pub mod prefect;
pub mod report;
mod said;
pub mod shared;
pub mod step_functions;
pub mod text;
mod yaml;

use crate::analysis::Analysis;
use crate::settings::Migration;
use crate::settings::secrets::Secrets;
use crate::source::Span;
use airflow::Coordinated;
use airflow::site::Needs;
use ankus_lang::el::Dialect;
use std::collections::{BTreeMap, BTreeSet};

pub use airflow::Version;
pub use claims::secret_name;
pub use ledger::{Entry, Outcome};
pub use missing::{Partly, with_missing};
pub use shared::Around;

/// The image of commands of Hadoop, where a site names none.
const HADOOP_IMAGE: &str = "apache/hadoop:3.4.1";

/// An engine that applications are carried over to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Airflow of a release.
    Airflow(Version),
    /// AWS Step Functions.
    StepFunctions,
    /// Argo Workflows.
    Argo,
    /// Prefect.
    Prefect,
    /// Databricks Jobs.
    Databricks,
}

impl Target {
    /// By its name, as `--to` takes it.
    ///
    /// ```
    /// use ankus::carry::Target;
    /// assert_eq!(Target::of("step-functions"), Some(Target::StepFunctions));
    /// assert_eq!(Target::of("cron"), None);
    /// ```
    pub fn of(name: &str) -> Option<Target> {
        match name {
            "step-functions" | "stepfunctions" => Some(Target::StepFunctions),
            "argo" => Some(Target::Argo),
            "prefect" => Some(Target::Prefect),
            "databricks" => Some(Target::Databricks),
            _ => Version::of(name).map(Target::Airflow),
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Target::Airflow(version) => version.name(),
            Target::StepFunctions => "step-functions",
            Target::Argo => "argo",
            Target::Prefect => "prefect",
            Target::Databricks => "databricks",
        }
    }

    /// The user that what was converted runs as, and not the one who happens to convert.
    pub fn user(self) -> &'static str {
        match self {
            Target::Airflow(_) => "airflow",
            Target::Prefect => "prefect",
            // Steps of EMR, and containers of Hadoop's image.
            Target::StepFunctions | Target::Argo => "hadoop",
            // Who deploys a bundle runs its jobs.
            Target::Databricks => "${workspace.current_user.short_name}",
        }
    }

    /// The files that every conversion needs.
    pub fn helpers(self) -> Vec<Output> {
        match self {
            Target::Airflow(_) => airflow::helpers(),
            Target::Prefect => prefect::helpers(),
            Target::Databricks => databricks::helpers(),
            Target::StepFunctions | Target::Argo => Vec::new(),
        }
    }
}

/// How the reason of what is lost begins where a server refuses all of it.
const REFUSED: &str = "a server refuses the ";

/// Why it is not known when a coordinator runs, and on which data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unscheduled {
    /// A server refuses it, with this code.
    Refused(String),
    /// It depends on properties or files that nobody gave.
    Unknown(Vec<String>),
}

impl Unscheduled {
    /// The reason, for a report.
    pub fn reason(&self) -> String {
        match self {
            Unscheduled::Refused(code) => format!("{REFUSED}coordinator with {code}"),
            Unscheduled::Unknown(names) => {
                format!(
                    "it depends on properties or files that are not given: {}",
                    names.join(", ")
                )
            }
        }
    }

    /// What is left to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Unscheduled::Refused(_) => "mend it first: `ankus check` says what is wrong",
            Unscheduled::Unknown(_) => {
                "give the properties with -P FILE or -D NAME=VALUE, and convert again"
            }
        }
    }
}

/// What is converted to a graph of states or tasks.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The path of the workflow.
    pub path: &'a str,
    /// The workflow; nothing where a coordinator starts one that is not there.
    pub analysis: Option<&'a Analysis>,
    /// What starts it.
    pub coordinator: Option<Coordinated<'a>>,
    /// Its name in the other engine.
    pub name: &'a str,
    /// What it is submitted with.
    pub properties: &'a BTreeMap<String, String>,
    /// What is secret.
    pub secrets: &'a Secrets,
    /// What a site wants of its actions.
    pub migration: &'a Migration,
    /// The library that evaluates expressions.
    pub dialect: Dialect,
    /// Names of what it starts, by the places that name their applications.
    pub started: &'a BTreeMap<Span, String>,
    /// What was found around it.
    pub around: &'a Around,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where, from the folder of all output on.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// An application in another engine's language.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The definition as people see its path.
    pub path: String,
    /// Its name in the other engine.
    pub name: String,
    /// The files.
    pub outputs: Vec<Output>,
    /// What became of each element and attribute, by file and in the order of the text.
    pub entries: Vec<(String, Entry)>,
    /// What a site has to set up for it.
    pub needs: Needs,
}

impl Conversion {
    /// How many entries are lost because a server refuses what they stand in: no run was ever made of it.
    pub fn count_refused(&self) -> usize {
        let entries = self.entries.iter().map(|(_, entry)| entry);
        entries.filter(|entry| entry.reason.starts_with(REFUSED)).count()
    }

    /// How many entries came out so.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.entries.iter().filter(|(_, entry)| entry.outcome == outcome).count()
    }

    /// What is lost, but for the constructs that are allowed to be, with their parts; `*` allows all.
    pub fn lost<'a>(&'a self, allowed: &'a [String]) -> impl Iterator<Item = &'a (String, Entry)> {
        self.entries.iter().filter(move |(_, entry)| {
            entry.outcome == Outcome::None
                && entry.reason != ledger::PARTS
                && !allowed.iter().any(|name| name == "*" || is_or_holds(name, &entry.construct))
        })
    }
}

/// Whether a construct is the named one, or lies in it.
pub fn is_or_holds(name: &str, construct: &str) -> bool {
    let rest = construct.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The files of all of them, each once.
pub fn outputs(conversions: &[Conversion]) -> Vec<Output> {
    let mut seen = BTreeSet::new();
    let all = conversions.iter().flat_map(|one| &one.outputs);
    all.filter(|output| seen.insert(output.path.as_str())).cloned().collect()
}

/// Whether a text has a name that is no part of another one.
pub fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The path of a URI.
fn path_of(uri: &str) -> &str {
    let Some((_, rest)) = uri.split_once("://") else { return uri };
    rest.find('/').map_or("", |at| &rest[at..])
}

/// Whether the value of a property names others that are not known before a run.
fn is_open(name: &str, properties: &BTreeMap<String, String>) -> bool {
    let value = properties.get(name).filter(|value| value.contains("${"));
    value.is_some_and(|value| resolve(value, properties).contains("${"))
}

/// A value with references to other properties resolved, as a submission does.
pub fn resolve(value: &str, properties: &BTreeMap<String, String>) -> String {
    resolve_by(value, &|name| properties.get(name))
}

/// The same, with the properties that somebody knows.
fn resolve_by<'p>(value: &str, known: &dyn Fn(&str) -> Option<&'p String>) -> String {
    let mut value = value.to_owned();
    for _ in 0..20 {
        let Some(from) = value.find("${") else { break };
        let Some(length) = value[from..].find('}') else { break };
        let Some(known) = known(&value[from + 2..from + length]) else { break };
        value.replace_range(from..=from + length, known);
    }
    value
}
