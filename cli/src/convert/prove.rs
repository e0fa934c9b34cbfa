//! Tests whether converted applications behave like the workflows: scenarios with stubbed actions are played by our
//! simulator and by a real Airflow or Prefect, or an interpreter of state machines, and the results are compared.
//!
//! The result for the converted applications is a [`Proof`]. The comparison is in [`compare`](super::compare); which
//! differences the report explains, in [`told`](super::told).

use super::compare::{self, Trial};
use super::data;
use super::graphs;
use super::told::Told;
use super::turns::{Turn, turns};
use super::{Carried, Unit};
use crate::Failure;
use crate::test::{Draw, Explored, explore, first_action, try_out};
use ankus::analysis::Analysis;
use ankus::carry::airflow::{dag_id, python};
use ankus::carry::prefect::flow_name;
use ankus::carry::report::{Difference, Replay};
use ankus::carry::{self, Output, Target, Unscheduled, idioms, model, secret_name};
use ankus::ir::workflow::Details;
use ankus::settings::secrets::Secrets;
use ankus_engine::host::files::FileUri;
use ankus_engine::scenario::Played;
use ankus_lang::plan::{Plan, Work};
use ankus_project::{Given, Loaded, Project};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The engine that plays scenarios.
struct Engine {
    /// Its display name.
    name: &'static str,
    /// The script that plays scenarios in it.
    script: &'static str,
    /// The folder with the converted files.
    folder: &'static str,
    /// The suffix of its files.
    suffix: &'static str,
    /// Returns the name of an application's file, and of the definition in it.
    file: fn(&str) -> String,
}

impl Engine {
    fn of(target: Target) -> Engine {
        match target {
            Target::Prefect => Engine {
                name: "Prefect",
                script: include_str!("replay_prefect.py"),
                folder: "flows",
                suffix: ".py",
                file: flow_name,
            },
            Target::StepFunctions => Engine {
                name: "moto",
                script: include_str!("replay_step_functions.py"),
                folder: "state-machines",
                suffix: ".asl.json",
                file: str::to_owned,
            },
            _ => Engine {
                name: "Airflow",
                script: include_str!("replay.py"),
                folder: "dags",
                suffix: ".py",
                file: str::to_owned,
            },
        }
    }
}

/// The results of all applications, in the order of the definitions.
pub(super) type Proof = Vec<Proved>;

/// The result for an application.
pub(super) struct Proved {
    /// The displayed path of its definition.
    pub(super) path: String,
    /// Its name in the other engine.
    pub(super) name: String,
    /// The result of its scenarios.
    pub(super) replay: Replay,
}

/// Plays scenarios of each application, at most `most` of each.
pub(super) fn prove(
    project: &Project,
    Carried { conversions, units, joined }: &Carried,
    given: &Given,
    (target, python): (Target, &Path),
    most: usize,
) -> miette::Result<Proof> {
    let engine = Engine::of(target);
    let mut outputs = target.helpers();
    outputs.extend(carry::outputs(conversions));
    let made: BTreeSet<&str> = outputs.iter().map(|output| output.path.as_str()).collect();
    let mut proof = Proof::default();
    let mut trials = Vec::new();
    let told: Vec<Told> = units.iter().map(|unit| Told::of(unit, conversions)).collect();
    let files: Vec<String> = units
        .iter()
        .zip(joined)
        .map(|(unit, one)| one.graph.as_ref().map_or(&unit.name, |place| &place.graph))
        .map(|name| (engine.file)(name))
        .collect();
    let mut all: Vec<Drawing> = units
        .iter()
        .zip(&files)
        .zip(joined)
        .map(|((unit, file), one)| {
            let path = format!("{}/{file}{}", engine.folder, engine.suffix);
            if !made.contains(path.as_str()) {
                return Err("nothing could be made of it".to_owned());
            }
            let prefix = one.graph.as_ref().map(|_| python::identifier(&unit.name) + ".");
            let of_target = (matches!(target, Target::Airflow(_)), prefix.unwrap_or_default());
            of_unit(project, unit, given, most, of_target)
        })
        .collect();
    graphs::put_together(units, joined, &mut all);
    for ((unit, told), (file, drawn)) in units.iter().zip(&told).zip(files.iter().zip(all)) {
        let mut replay = Replay::default();
        match drawn {
            Ok(more) if more.is_empty() => {
                replay.left_out = Some("none of its scenarios ends".to_owned());
            }
            Ok(mut more) => {
                for trial in &mut more {
                    trial.scenario["flow"] = json!(file);
                    trial.worded = told.worded();
                }
                trials.extend(more.into_iter().map(|trial| (proof.len(), trial)));
            }
            Err(why) => replay.left_out = Some(why),
        }
        let (path, name) = (unit.shown().to_owned(), unit.name.clone());
        proof.push(Proved { path, name, replay });
    }
    let answers = asked(&engine, python, &outputs, &trials)?;
    for ((at, trial), answer) in trials.iter().zip(&answers) {
        let replay = &mut proof[*at].replay;
        if let Some(why) = answer["refused"].as_str() {
            replay
                .refused
                .get_or_insert_with(|| format!("{} cannot import it: {why}", engine.name));
            continue;
        }
        replay.scenarios += 1;
        let strictly = compare::differs(trial, answer, &BTreeSet::new());
        if strictly.is_empty() {
            replay.agree += 1;
            continue;
        }
        let differs = compare::differs(trial, answer, &compare::going_on(trial));
        if differs.is_empty() {
            replay.loosely += 1;
            continue;
        }
        let because = told[*at].explain(&trial.plan, &trial.failed(), &differs);
        replay.differs.push(Difference {
            scenario: trial.title.clone(),
            what: differs.into_iter().map(|one| one.what).collect(),
            is_told: because.is_some(),
            because: because.unwrap_or_default(),
        });
    }
    Ok(proof)
}

/// The scenarios of an application, or why there are none.
pub(super) type Drawing = Result<Vec<Trial>, String>;

fn of_unit(
    project: &Project,
    unit: &Unit,
    given: &Given,
    most: usize,
    (is_airflow, prefix): (bool, String),
) -> Drawing {
    let words = |report: miette::Report| report.to_string();
    let Some(workflow) = &unit.workflow else {
        return Err("its workflow is not among the converted files".to_owned());
    };
    if looks_at_files(workflow) {
        return Err("its decisions look at files, which are only known here".to_owned());
    }
    let mut define: Vec<(String, String)> = given.define.clone();
    let mut nominal = None;
    let mut inputs = BTreeMap::new();
    let mut there = BTreeSet::new();
    let mut conf: BTreeMap<String, String> = BTreeMap::new();
    let mut own = Given { define: define.clone(), ..given.clone() };
    if let Some((coordinator, definition)) = &unit.coordinator {
        let definition = definition.as_ref().map_err(Unscheduled::reason)?;
        define.extend(unit.properties.clone());
        let coordinated = Given { define: define.clone(), ..given.clone() };
        let path = &coordinator.found.path;
        let application = project.application(path, &coordinated).map_err(words)?;
        // A scheduled run gets no properties: those that its DAG does not have are missing.
        let action = first_action(project, &application)?;
        if action.began.is_none() {
            let why = action.missing.or(action.error.map(|(_, message)| message));
            return Err(format!("its first action does not begin: {}", why.unwrap_or_default()));
        }
        nominal = Some(action.nominal);
        inputs = action.inputs;
        there = data::places(definition, &inputs);
        // A workflow gets the properties of its coordinator's job, and those that the coordinator sets.
        define.extend(action.configuration);
        own = Given { define: define.clone(), files: Vec::new(), no_properties: true };
    }
    let explored = explore(project, &workflow.found.path, &own).map_err(words)?;
    let explored = explored.map_err(|(_, why)| why)?;
    conf.extend(explored.made_up.clone());
    let secrets = explored.application.settings().secrets.with_references(&unit.properties);
    // The other engine has the properties of scheduled runs, except secrets.
    let properties = explored.application.properties().into_iter();
    conf.extend(properties.filter(|(name, _)| unit.coordinator.is_none() || secrets.covers(name)));
    // Only Airflow has failure notices.
    let notices = if is_airflow { notices(workflow) } else { BTreeMap::new() };
    let mut trials = Vec::new();
    let drawn = drawn(project, &explored, workflow, unit.coordinator.is_none())?;
    for (title, draw, changes) in drawn.into_iter().take(most) {
        let status = draw.played.seen.status.as_str();
        if !matches!(status, "SUCCEEDED" | "KILLED" | "FAILED") {
            continue;
        }
        let nominal = nominal.map(|nominal| {
            let mut text = String::new();
            ankus_lang::time::ProcessingZone::UTC.write(nominal, &mut text);
            text
        });
        let mut scenario =
            scenario(&unit.name, &explored.plan, &draw.played, &conf, &secrets, nominal);
        files(&mut scenario, &there);
        scenario["changes"] = json!(changes);
        let tasks = scenario["tasks"].take();
        let tasks = tasks.as_object().into_iter().flatten();
        scenario["tasks"] =
            tasks.map(|(id, told)| (format!("{prefix}{id}"), told.clone())).collect();
        trials.push(Trial {
            title,
            prefix: prefix.clone(),
            behind: Vec::new(),
            scenario,
            plan: Arc::clone(&explored.plan),
            played: draw.played,
            inputs: inputs.clone(),
            worded: BTreeSet::new(),
            notices: notices.clone(),
        });
    }
    // Before the first instance of its datasets, a coordinator waits for nothing.
    let waits = inputs.values().any(|uris| !uris.is_empty());
    let never = trials.first().filter(|_| waits).map(without_data);
    trials.extend(never);
    Ok(trials)
}

/// Returns the scenario of the same run in which its data never arrive.
fn without_data(trial: &Trial) -> Trial {
    let mut scenario = trial.scenario.clone();
    scenario["files"] = json!({});
    // A sensor that waits for a task of another DAG is stubbed.
    for name in trial.inputs.keys() {
        let sensor = format!("{}wait_for_{}", trial.prefix, python::identifier(name));
        scenario["tasks"][sensor] = json!({"result": "error"});
    }
    let mut played = Played::default();
    "TIMEDOUT".clone_into(&mut played.seen.status);
    Trial {
        title: "the data never come".to_owned(),
        prefix: trial.prefix.clone(),
        behind: Vec::new(),
        scenario,
        plan: Arc::clone(&trial.plan),
        played,
        inputs: BTreeMap::new(),
        worded: BTreeSet::new(),
        notices: BTreeMap::new(),
    }
}

/// Returns the email actions that became failure notices, with the kill nodes that send them.
fn notices(workflow: &Loaded) -> BTreeMap<String, String> {
    let values = &workflow.settings.settings.migration.values;
    if values.get("failure-mail").is_none_or(|value| value != "notice") {
        return BTreeMap::new();
    }
    let analysis = Analysis::new(Arc::clone(&workflow.source));
    let flow = analysis.flow();
    let is_mail = |id| {
        let node = flow.workflow.node(id);
        let body = node.action.as_ref().and_then(|action| action.body.as_ref());
        body.is_some_and(|body| matches!(body.details, Details::Email { .. }))
    };
    let name = |id| flow.workflow.node(id).name.text.to_string();
    let found = idioms::notices(&mut model::tasks(flow), &is_mail);
    found.into_iter().map(|(kill, mail)| (name(mail), name(kill))).collect()
}

/// Whether a decision depends on files, which may change while a workflow runs.
fn looks_at_files(workflow: &Loaded) -> bool {
    let analysis = Analysis::new(Arc::clone(&workflow.source));
    let mut predicates =
        analysis.workflow().transitions().filter_map(|exit| exit.predicate.as_ref());
    predicates.any(|predicate| predicate.as_str().contains("fs:"))
}

/// The name of a scenario, the scenario, and the properties that it changes.
type Drawn = (String, Draw, BTreeMap<String, String>);

/// Returns the basic scenarios, and those in which decisions have other outcomes.
fn drawn(
    project: &Project,
    explored: &Explored,
    workflow: &Loaded,
    takes_properties: bool,
) -> Result<Vec<Drawn>, String> {
    let words = |report: miette::Report| report.to_string();
    let mut taken: BTreeSet<(String, String, String)> = BTreeSet::new();
    let mut all = Vec::new();
    for draw in &explored.draws {
        taken.extend(draw.played.taken.iter().cloned());
        let draw = Draw { failing: draw.failing.clone(), played: draw.played.clone() };
        all.push((title(None, &draw.failing), draw, BTreeMap::new()));
    }
    // A run cannot change the properties that a coordinator sets for its workflow.
    let turns = turns(workflow);
    let singles: Vec<&Turn> =
        turns.iter().filter(|turn| takes_properties || turn.properties.is_empty()).collect();
    let mut open: Vec<Turn> = singles.iter().rev().map(|turn| (*turn).clone()).collect();
    let mut tries = 0;
    while let Some(turn) = open.pop() {
        tries += 1;
        if tries > MOST_TURNS {
            break;
        }
        let changed = turn.changed(project, explored).map_err(words)?;
        let found = failures(project, &changed, &turn, &mut taken).map_err(words)?;
        if !found.is_empty() {
            open.extend(singles.iter().map(|other| turn.and(other)).filter(|both| *both != turn));
        }
        for draw in found {
            all.push((title(Some(&turn), &draw.failing), draw, turn.properties.clone()));
        }
    }
    Ok(all)
}

/// Maximum number of changes that are tried for an application.
const MOST_TURNS: usize = 60;

/// Returns for a change the scenario in which all actions succeed, and those in which some fail, as far as they take
/// transitions that are not in `taken` yet.
fn failures(
    project: &Project,
    changed: &Explored,
    turn: &Turn,
    taken: &mut BTreeSet<(String, String, String)>,
) -> miette::Result<Vec<Draw>> {
    let mut found = Vec::new();
    let mut open = vec![BTreeSet::new()];
    while let Some(failing) = open.pop() {
        let played = try_out(project, changed, &failing, turn.scenario())?;
        let is_new = played.taken.iter().any(|way| !taken.contains(way));
        if played.refused.is_some() || !is_new {
            continue;
        }
        taken.extend(played.taken.iter().cloned());
        for node in &played.seen.nodes {
            let is_action = changed
                .plan
                .find(&node.name)
                .is_some_and(|index| matches!(changed.plan.node(index).work, Work::Action(_)));
            if is_action && !failing.contains(&node.name) {
                let mut more = failing.clone();
                more.insert(node.name.clone());
                open.push(more);
            }
        }
        found.push(Draw { failing, played });
    }
    Ok(found)
}

fn title(turn: Option<&Turn>, failing: &BTreeSet<String>) -> String {
    let names: Vec<&str> = failing.iter().map(String::as_str).collect();
    let outcome = match names.as_slice() {
        [] => "all well".to_owned(),
        names => format!("{} fails", names.join(" and ")),
    };
    match turn {
        Some(turn) => format!("{}: {outcome}", turn.title()),
        None => outcome,
    }
}

/// Returns the scenario for the other engine.
fn scenario(
    dag: &str,
    plan: &Plan,
    played: &Played,
    conf: &BTreeMap<String, String>,
    secrets: &Secrets,
    nominal: Option<String>,
) -> Value {
    let mut tasks = serde_json::Map::new();
    for node in &played.seen.nodes {
        let is_action = plan
            .find(&node.name)
            .is_some_and(|index| matches!(plan.node(index).work, Work::Action(_)));
        if !is_action {
            continue;
        }
        let mut output = String::new();
        for (name, value) in &node.data {
            ankus_lang::configuration::write_property(name, value, &mut output);
        }
        let result = if node.status == "ERROR" { "error" } else { "ok" };
        let mut task = json!({"result": result, "output": output});
        // Our simulator may give other reasons, and none for a failed sub-workflow.
        if result == "error" {
            task["message"] = json!(node.message.as_deref().unwrap_or_default());
        }
        tasks.insert(dag_id(&node.name), task);
    }
    let files: BTreeMap<String, usize> = played
        .seen
        .files
        .iter()
        .map(|(uri, text)| (FileUri::parse(uri).path, text.len()))
        .collect();
    let (hidden, open): (BTreeMap<_, _>, BTreeMap<_, _>) =
        conf.iter().partition(|(name, _)| secrets.covers(name));
    let given = hidden.clone();
    let variables: BTreeMap<String, &String> =
        hidden.into_iter().map(|(name, value)| (secret_name(dag, name), value)).collect();
    json!({
        "dag": dag, "conf": open, "secrets": given, "variables": variables, "files": files, "tasks": tasks,
        "nominal": nominal,
    })
}

/// Adds files that exist from the beginning.
fn files(scenario: &mut Value, there: &BTreeSet<String>) {
    for path in there {
        scenario["files"][path] = json!(0);
    }
}

/// Plays the scenarios in the other engine.
fn asked(
    engine: &Engine,
    python: &Path,
    outputs: &[Output],
    trials: &[(usize, Trial)],
) -> miette::Result<Vec<Value>> {
    // An engine takes seconds to start; this only checks that there is a Python.
    if trials.is_empty() {
        let started = Command::new(python)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        return match started {
            Ok(status) if status.success() => Ok(Vec::new()),
            Ok(_) => {
                Err(Failure::new(format!("`{}` is not a Python interpreter", python.display()))
                    .help(python_help(engine))
                    .into())
            }
            Err(error) => Err(cannot_start(python, error).help(python_help(engine)).into()),
        };
    }
    let folder = std::env::temp_dir().join(format!("ankus-prove-{}", std::process::id()));
    let result = in_folder(engine, &folder, python, outputs, trials);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn in_folder(
    engine: &Engine,
    folder: &Path,
    python: &Path,
    outputs: &[Output],
    trials: &[(usize, Trial)],
) -> miette::Result<Vec<Value>> {
    let failed = |what: &str| Failure::new(format!("cannot {what} in `{}`", folder.display()));
    ankus_procedure::private::claim(folder)
        .map_err(|error| failed("make a folder").because(error))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        ankus_procedure::private::folder(parent)
            .and_then(|()| ankus_procedure::private::write(&path, text))
            .map_err(|error| failed("write").because(error))
    };
    for output in outputs {
        write(&output.path, &output.text)?;
    }
    let scenarios: Vec<&Value> = trials.iter().map(|(_, trial)| &trial.scenario).collect();
    write("scenarios.json", &json!(scenarios).to_string())?;
    write("replay.py", engine.script)?;
    let answers = folder.join("answers.json");
    let done = Command::new(python)
        .arg(folder.join("replay.py"))
        .args([folder, &folder.join("scenarios.json"), &answers])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(|error| cannot_start(python, error).help(python_help(engine)))?;
    let text = match done.status.success() {
        true => std::fs::read_to_string(&answers).ok(),
        false => None,
    };
    let read = text.and_then(|text| serde_json::from_str::<Vec<Value>>(&text).ok());
    let Some(read) = read.filter(|read| read.len() == trials.len()) else {
        let said = String::from_utf8_lossy(&done.stderr);
        let last: Vec<&str> = said.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        let name = engine.name;
        let failure = Failure::new(format!("{name} did not answer: {}", last.join(" ")));
        return Err(failure.help(python_help(engine)).into());
    };
    Ok(read)
}

fn cannot_start(python: &Path, error: std::io::Error) -> Failure {
    Failure::new(format!("cannot start `{}`", python.display())).because(error)
}

fn python_help(engine: &Engine) -> String {
    format!("--python names the Python of a virtual environment with {}", engine.name)
}
