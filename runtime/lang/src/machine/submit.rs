//! Creates a job in PREP from submitted properties.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Job, JobScope, Rows, Run, World, expect};
use crate::configuration::{CONSTANTS, substitute};
use crate::el::Phase;
use crate::plan::Plan;

/// Whether a property of this name cannot be submitted.
pub(super) fn is_reserved(name: &str) -> bool {
    name.is_empty() || CONSTANTS.contains(&name)
}

/// A submission.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// The id of the new job.
    pub id: String,
    /// Its properties, without those of default files, which are in [`Submission::defaults`].
    pub properties: BTreeMap<String, String>,
    /// Properties of default files, ordered by precedence.
    pub defaults: Vec<Vec<(String, String)>>,
}

/// A refused submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The server's error code.
    pub code: &'static str,
    /// A one-sentence message.
    pub message: String,
}

impl Refused {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Refused {
        Refused { code, message: message.into() }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// Returns the properties of a job: submitted ones, completed by defaults; references between them are resolved.
pub(crate) fn configuration(
    plan: &Plan,
    properties: &BTreeMap<String, String>,
    defaults: &[Vec<(String, String)>],
) -> Result<BTreeMap<String, String>, Refused> {
    let mut conf = BTreeMap::new();
    for (name, value) in properties {
        if is_reserved(name) {
            return Err(Refused::new(
                "E0803",
                format!("the property `{name}` may not be set (E0808)"),
            ));
        }
        if !value.is_empty() {
            conf.insert(name.clone(), value.trim().to_owned());
        }
    }
    conf = resolve(&conf)?;
    for (name, value) in defaults.iter().flatten().chain(&plan.defaults) {
        if is_reserved(name) || name == "user.name" || name == "mapreduce.job.user.name" {
            return Err(Refused::new(
                "E0803",
                format!("the property `{name}` may not be set in default files (E0808)"),
            ));
        }
        conf.entry(name.clone()).or_insert_with(|| value.clone());
    }
    resolve(&conf)
}

fn resolve(conf: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Refused> {
    let lookup = |name: &str| conf.get(name).map(|value| value.as_str().into());
    conf.iter()
        .map(|(name, value)| match substitute(value, lookup) {
            Ok(value) => Ok((name.clone(), value.into_owned())),
            Err(endless) => Err(Refused::new("E0803", endless.to_string())),
        })
        .collect()
}

/// Sets declared parameters without a value to their defaults; refuses those that have none.
pub(crate) fn parameters(plan: &Plan, conf: &mut BTreeMap<String, String>) -> Result<(), Refused> {
    let mut missing = Vec::new();
    for (name, default) in &plan.parameters {
        if name.trim().is_empty() {
            return Err(Refused::new("E0739", "a parameter has no name"));
        }
        if conf.contains_key(name) {
            continue;
        }
        match default {
            Some(default) => {
                conf.insert(name.clone(), default.clone());
            }
            None => missing.push(name.as_str()),
        }
    }
    if missing.is_empty() {
        *conf = resolve(conf)?;
        return Ok(());
    }
    let message = format!("parameters without a value: {}", missing.join(", "));
    Err(Refused::new("E0738", message))
}

/// Creates a job in PREP, or refuses the submission.
pub fn submit(plan: &Plan, submission: Submission, world: &dyn World) -> Result<Run, Refused> {
    let mut conf = configuration(plan, &submission.properties, &submission.defaults)?;
    parameters(plan, &mut conf)?;
    let now = world.now();
    let get = |name: &str| conf.get(name).cloned();
    let job = Job {
        id: submission.id,
        app_path: get("oozie.wf.application.path").unwrap_or_default(),
        user: get("user.name").unwrap_or_default(),
        group: get("group.name").or_else(|| get("oozie.job.acl")),
        parent_id: get("oozie.wf.parent.id"),
        external_id: get("oozie.wf.external.id"),
        created: now,
        modified: now,
        ..Job::default()
    };
    let mut run = Run::new(job, Arc::new(conf), Rows::default());
    run.job.name = name(plan, &run, world)?;
    run.expectations = expect::register(plan, &run, world)?;
    Ok(run)
}

/// Returns the evaluated name of the application.
pub(crate) fn name(plan: &Plan, run: &Run, world: &dyn World) -> Result<String, Refused> {
    let scope = JobScope { plan, run, node: None, world, phase: Phase::JobSubmit };
    match plan.name.text(&scope) {
        Ok(name) => Ok(name.into_owned()),
        Err(failure) => Err(Refused::new("E0803", failure.to_string())),
    }
}
