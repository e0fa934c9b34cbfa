//! Converts applications to other engines.
//!
//! A definition with the properties of its submission becomes a neutral [`model`], from which a printer per engine
//! creates files. A [`ledger`] records what became of every element and attribute of the source; a part that no printer
//! claims is reported as lost. Nothing is run or read here.

pub mod airflow;
pub mod argo;
mod claims;
mod command_line;
mod commands;
mod coordinates;
pub mod databricks;
pub mod graphs;
pub mod idioms;
mod instances;
pub mod joined;
pub mod ledger;
mod meets;
mod missing;
pub mod model;
mod now;
mod options;
mod patterns;
mod places;
pub mod prefect;
mod reached;
pub mod report;
mod said;
pub mod shared;
pub mod step_functions;
pub mod text;
mod typed;
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

/// The default container image for Hadoop commands.
const HADOOP_IMAGE: &str = "apache/hadoop:3.4.1";

/// An engine that applications can be converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A release of Airflow.
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
    /// Returns the target of this name, as accepted by `--to`.
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

    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Target::Airflow(version) => version.name(),
            Target::StepFunctions => "step-functions",
            Target::Argo => "argo",
            Target::Prefect => "prefect",
            Target::Databricks => "databricks",
        }
    }

    /// Returns the user that converted applications run as, which is not the user who converts them.
    pub fn user(self) -> &'static str {
        match self {
            Target::Airflow(_) => "airflow",
            Target::Prefect => "prefect",
            // The user of EMR steps, and of containers with the Hadoop image.
            Target::StepFunctions | Target::Argo => "hadoop",
            // Jobs run as the user who deploys the bundle.
            Target::Databricks => "${workspace.current_user.short_name}",
        }
    }

    /// Returns what to do about parameters that have no value, and what happens if they stay without one.
    pub fn unset_remedy(self) -> &'static str {
        match self {
            Target::Airflow(_) => {
                "convert again with -P FILE or -D NAME=VALUE. If only tasks use it, you can also add it to `PARAMS` of the DAG or to the configuration of a run. Tasks fail while it has no value"
            }
            Target::Prefect => {
                "convert again with -P FILE or -D NAME=VALUE. If only steps use it, you can also add it to `PARAMS` of the flow or to `params` of a run. Steps fail while it has no value"
            }
            Target::StepFunctions => {
                "convert again with -P FILE or -D NAME=VALUE. If only states use it, you can also add it to the input of each execution. Executions without it fail"
            }
            Target::Argo => {
                "convert again with -P FILE or -D NAME=VALUE. If only tasks use it, you can also give it a value in `arguments` of the template, or with `argo submit -p NAME=VALUE`. Argo runs no workflow without it"
            }
            Target::Databricks => {
                "convert again with -P FILE or -D NAME=VALUE. If only tasks use it, you can also set the `default` of the job parameter. Until then it is an empty string, and the job runs anyway"
            }
        }
    }

    /// Returns the files that every conversion needs.
    pub fn helpers(self) -> Vec<Output> {
        match self {
            Target::Airflow(_) => airflow::helpers(),
            Target::Prefect => prefect::helpers(),
            Target::Databricks => databricks::helpers(),
            Target::StepFunctions | Target::Argo => Vec::new(),
        }
    }
}

/// The beginning of the reason for a loss if a server refuses the definition.
pub const REFUSED: &str = "a server refuses the ";

/// Why the nominal times and data of a coordinator are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unscheduled {
    /// A server refuses the coordinator with this code.
    Refused(String),
    /// It depends on properties or files that are not given.
    Unknown(Vec<String>),
}

impl Unscheduled {
    /// Returns the reason for a report.
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

    /// Returns the remedy for a report.
    pub fn remedy(&self) -> &'static str {
        match self {
            Unscheduled::Refused(_) => "correct it first: `ankus check` says what is wrong",
            Unscheduled::Unknown(_) => {
                "give the properties with -P FILE or -D NAME=VALUE, and convert again"
            }
        }
    }
}

/// The input of a conversion to a graph of states or tasks.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The path of the workflow.
    pub path: &'a str,
    /// The workflow; none if a coordinator starts one that is not available.
    pub analysis: Option<&'a Analysis>,
    /// The coordinator that starts it, if any.
    pub coordinator: Option<Coordinated<'a>>,
    /// Its name in the other engine.
    pub name: &'a str,
    /// The properties that it is submitted with.
    pub properties: &'a BTreeMap<String, String>,
    /// The names of secrets.
    pub secrets: &'a Secrets,
    /// The migration settings for its actions.
    pub migration: &'a Migration,
    /// The EL implementation that evaluates expressions.
    pub dialect: Dialect,
    /// Names of the applications that it starts, by the location of their paths.
    pub started: &'a BTreeMap<Span, String>,
    /// Its context: settings of files and of workflows that start it.
    pub around: &'a Around,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The path, relative to the output folder.
    pub path: String,
    /// The content.
    pub text: String,
}

/// A parameter that an application uses although nothing gives it a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unset {
    /// Its name.
    pub name: String,
    /// Where it is used: paths and lines, in order.
    pub uses: Vec<(String, usize)>,
    /// What to do about it.
    pub remedy: &'static str,
}

/// An application in another engine's language.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The displayed path of the definition.
    pub path: String,
    /// Its name in the other engine.
    pub name: String,
    /// The files.
    pub outputs: Vec<Output>,
    /// What became of each element and attribute, by file and in source order.
    pub entries: Vec<(String, Entry)>,
    /// What a site has to set up for it.
    pub needs: Needs,
    /// The parameters that have no value.
    pub unset: Vec<Unset>,
}

impl Conversion {
    /// Returns the number of entries that are lost because a server refuses the definition, so that it never ran.
    pub fn count_refused(&self) -> usize {
        let lost = self.entries.iter().filter(|(_, entry)| entry.outcome == Outcome::None);
        lost.filter(|(_, entry)| entry.reason.starts_with(REFUSED)).count()
    }

    /// Returns the number of entries with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.entries.iter().filter(|(_, entry)| entry.outcome == outcome).count()
    }

    /// Returns the lost entries, except those of allowed constructs and their parts; `*` allows all.
    pub fn lost<'a>(&'a self, allowed: &'a [String]) -> impl Iterator<Item = &'a (String, Entry)> {
        self.entries.iter().filter(move |(_, entry)| {
            entry.outcome == Outcome::None
                && entry.reason != ledger::PARTS
                && !allowed.iter().any(|name| name == "*" || is_or_holds(name, &entry.construct))
        })
    }
}

/// Whether a construct is the named one or a part of it.
pub fn is_or_holds(name: &str, construct: &str) -> bool {
    let rest = construct.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the files of all conversions, each once.
pub fn outputs(conversions: &[Conversion]) -> Vec<Output> {
    let mut seen = BTreeSet::new();
    let all = conversions.iter().flat_map(|one| &one.outputs);
    all.filter(|output| seen.insert(output.path.as_str())).cloned().collect()
}

/// Whether a text contains a name as a whole word.
pub fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns the path of a URI.
fn path_of(uri: &str) -> &str {
    let Some((_, rest)) = uri.split_once("://") else { return uri };
    rest.find('/').map_or("", |at| &rest[at..])
}

/// Whether the value of a property refers to others that are only known at run time.
fn is_open(name: &str, properties: &BTreeMap<String, String>) -> bool {
    let value = properties.get(name).filter(|value| value.contains("${"));
    value.is_some_and(|value| resolve(value, properties).contains("${"))
}

/// Resolves the references to other properties in a value, as a submission does.
pub fn resolve(value: &str, properties: &BTreeMap<String, String>) -> String {
    resolve_by(value, &|name| properties.get(name))
}

/// Resolves the references in a value with a function that looks up properties.
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
