//! Generates a first set of scenarios: one that succeeds, and others that together fail every reachable action.

use super::{ENDING, expectation, play_one, timed, ways, with_expectation};
use crate::{Exit, Failure, Shell};
use ankus::analysis::Analysis;
use ankus::lint::Facts;
use ankus::lint::parameters::{Shape, parameters};
use ankus::render;
use ankus_engine::scenario::timed::SeenAction;
use ankus_engine::scenario::{Outcome, Played, Scenario, Stub};
use ankus_lang::plan::{Plan, Work};
use ankus_project::application::Application;
use ankus_project::{Given, Project, write};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of generated scenarios of one application.
const MOST_DRAWN: usize = 500;

/// A scenario that was run.
pub(crate) struct Draw {
    /// The actions that fail; all others succeed.
    pub(crate) failing: BTreeSet<String>,
    /// Its result.
    pub(crate) played: Played,
}

/// An application with its first scenarios.
pub(crate) struct Explored {
    /// The application with its properties.
    pub(crate) application: Application,
    /// Its plan.
    pub(crate) plan: Arc<Plan>,
    /// Missing properties, with generated values.
    pub(crate) made_up: BTreeMap<String, String>,
    /// The scenarios.
    pub(crate) draws: Vec<Draw>,
}

/// Generates scenarios of a workflow; the inner error says why there is no plan of it.
pub(crate) fn explore(
    project: &Project,
    path: &Path,
    given: &Given,
) -> miette::Result<Result<Explored, (Application, String)>> {
    let application = project.application(path, given)?;
    // Missing properties get generated values: host names, paths, numbers, depending on their use.
    let mut made_up: BTreeMap<String, String> = missing(&application);
    let (application, plan) = loop {
        let define = given.define.iter().cloned().chain(made_up.clone()).collect();
        let given = Given { define, ..given.clone() };
        let application = project.application(path, &given)?;
        let plan = match application.plan() {
            Ok(plan) => Arc::new(plan),
            Err(why) => return Ok(Err((application, why))),
        };
        // The properties of a sub-workflow are known only when it runs.
        let well = play_one(&application, &Scenario::default(), plan.clone(), project, None);
        let well = well.map_err(Failure::new)?;
        match needed(&well)
            .filter(|name| !made_up.contains_key(name) && made_up.len() < MOST_MADE_UP)
        {
            Some(name) => {
                let value = plausible(&name, Shape::Text);
                made_up.insert(name, value);
            }
            None => break (application, plan),
        }
    };
    let mut explored = Explored { application, plan, made_up, draws: Vec::new() };
    let mut open: Vec<BTreeSet<String>> = vec![BTreeSet::new()];
    let mut failed: BTreeSet<String> = BTreeSet::new();
    while let Some(failing) = open.pop() {
        if explored.draws.len() >= MOST_DRAWN {
            break;
        }
        let played = try_out(project, &explored, &failing, Scenario::default())?;
        if let Some(refused) = &played.refused {
            let help = "set what it needs in a job.properties next to the application";
            return Err(Failure::new(format!("the submission is refused: {refused}"))
                .help(help)
                .into());
        }
        for node in &played.seen.nodes {
            let is_action = explored
                .plan
                .find(&node.name)
                .is_some_and(|index| matches!(explored.plan.node(index).work, Work::Action(_)));
            if is_action && failed.insert(node.name.clone()) {
                let mut more = failing.clone();
                more.insert(node.name.clone());
                open.push(more);
            }
        }
        explored.draws.push(Draw { failing, played });
    }
    Ok(Ok(explored))
}

/// Runs a workflow in which some actions fail.
pub(crate) fn try_out(
    project: &Project,
    explored: &Explored,
    failing: &BTreeSet<String>,
    mut scenario: Scenario,
) -> miette::Result<Played> {
    for name in failing {
        let stub = Stub { result: Outcome::Error, ..Stub::default() };
        scenario.actions.insert(name.clone(), stub);
    }
    let plan = explored.plan.clone();
    let played = play_one(&explored.application, &scenario, plan, project, None);
    Ok(played.map_err(Failure::new)?)
}

/// Returns the first action of a coordinator, with all data present.
pub(crate) fn first_action(
    project: &Project,
    application: &Application,
) -> Result<SeenAction, String> {
    let played = timed::first(application, project)?;
    if let Some(refused) = &played.refused {
        return Err(format!("the submission is refused: {refused}"));
    }
    let actions = played.seen.timed.into_iter().flat_map(|timed| timed.actions);
    actions.min_by_key(|action| action.nominal).ok_or_else(|| "it has no action".to_owned())
}

/// Writes a scenario that succeeds, and others that together fail every reachable action.
pub(super) fn init(path: &Path, shell: &mut Shell) -> miette::Result<Exit> {
    let project = shell.project()?;
    let application = project.application(path, &Given::default())?;
    if timed::is_timed(&application) {
        return timed::init(&application, &project, shell);
    }
    let explored = match explore(&project, path, &Given::default())? {
        Ok(explored) => explored,
        Err((application, why)) => {
            shell.out(render::human::render(&application.errors(), shell.width()))?;
            shell.say(why);
            return Ok(Exit::Fault);
        }
    };
    let place = &explored.application.loaded.found.path;
    let folder = place.parent().map(|folder| folder.join("scenarios")).unwrap_or_default();
    let file = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let app = if file == "workflow.xml" { "..".to_owned() } else { format!("../{file}") };
    let mut unwell = None;
    let mut taken: BTreeSet<(String, String)> = BTreeSet::new();
    for draw in &explored.draws {
        let own = draw.played.taken.iter().filter(|(of, ..)| *of == explored.plan.path);
        taken.extend(own.map(|(_, from, to)| (from.clone(), to.clone())));
        if draw.failing.is_empty() && draw.played.seen.status != "SUCCEEDED" {
            // If the run without failing actions fails, it is not a useful expectation.
            unwell = Some(&draw.played);
            continue;
        }
        write_one(&folder, &app, &explored.made_up, draw, shell)?;
    }
    let missed: Vec<_> =
        ways(&explored.plan).into_iter().filter(|way| !taken.contains(way)).collect();
    if !missed.is_empty() {
        shell.say("not taken yet; give the properties, data or files that lead there in a scenario of your own:");
        for (from, to) in missed {
            shell.say(format!("  {from} -> {to}"));
        }
    }
    let Some(unwell) = unwell else { return Ok(Exit::Success) };
    tell_unwell(unwell, &explored.made_up, shell);
    Ok(Exit::Fault)
}

/// Writes a scenario, unless the file exists.
fn write_one(
    folder: &Path,
    app: &str,
    made_up: &BTreeMap<String, String>,
    draw: &Draw,
    shell: &mut Shell,
) -> miette::Result<()> {
    let Draw { failing, played } = draw;
    let name = match failing.iter().next_back() {
        None => "all-well".to_owned(),
        Some(_) => failing.iter().map(String::as_str).collect::<Vec<_>>().join("-and-") + "-fails",
    };
    let name: String = name.chars().take(100).collect();
    let target = folder.join(format!("{name}{ENDING}"));
    if target.symlink_metadata().is_ok() {
        let shown = ankus_project::shown(&target);
        shell.say(format!("{shown} exists already and is left unchanged"));
        return Ok(());
    }
    let mut text = format!("app = \"{app}\"\ntitle = \"{}\"\n", name.replace('-', " "));
    if !made_up.is_empty() {
        text.push_str("\n# Nothing sets these: the values are made up.\n[properties]\n");
        for (name, value) in made_up {
            let _ = writeln!(text, "{name:?} = {value:?}");
        }
    }
    let stubbed = played
        .seen
        .nodes
        .iter()
        .filter(|node| failing.contains(&node.name) || played.unstubbed.contains(&node.name));
    for node in stubbed {
        let result = if failing.contains(&node.name) { "error" } else { "ok" };
        let _ = write!(text, "\n[actions.{:?}]\nresult = \"{result}\"\n", node.name);
    }
    let text = with_expectation(&text, &expectation(played))?;
    std::fs::create_dir_all(folder).map_err(|error| ankus_project::unreadable(folder, error))?;
    write::file(&target, text.as_bytes())?;
    shell.line(ankus_project::shown(&target))
}

/// Reports why there is no scenario that succeeds.
fn tell_unwell(unwell: &Played, made_up: &BTreeMap<String, String>, shell: &mut Shell) {
    let seen = &unwell.seen;
    shell.say(format!(
        "no `all-well` is written: even if every action succeeds, the job is {}",
        seen.status
    ));
    let faults = seen.nodes.iter().filter_map(|node| {
        let (code, message) = (node.code.as_deref()?, node.message.as_deref().unwrap_or_default());
        let message = message.strip_prefix(code).unwrap_or(message).trim_start_matches(": ");
        Some(format!("  {}: {code}: {message}", node.name))
    });
    for line in seen.message.iter().map(|message| format!("  {message}")).chain(faults) {
        shell.say(line);
    }
    let names: Vec<&str> = made_up.keys().map(String::as_str).collect();
    shell.say(match names.as_slice() {
        [] => "give the properties, data or files that lead to its end in a scenario of your own".to_owned(),
        names => format!(
            "these properties are made up; set those that decide the path in a job.properties next to the application: {}",
            names.join(", ")
        ),
    });
}

/// Maximum number of properties with generated values.
const MOST_MADE_UP: usize = 200;

/// Returns the properties that an application needs and that are not given, each with a value that suits its uses.
fn missing(application: &Application) -> BTreeMap<String, String> {
    let loaded = &application.loaded;
    let analysis = Analysis::new(loaded.source.clone());
    let settings = &loaded.settings.settings;
    let facts = Facts::new(&analysis, &loaded.files, &loaded.submission, settings);
    let used = parameters(&facts)
        .into_iter()
        .filter(|parameter| parameter.is_required && parameter.given.is_none())
        .map(|parameter| {
            let value = plausible(&parameter.name, parameter.shape);
            (parameter.name, value)
        });
    // A server requires the declared parameters, used or not.
    let declared = analysis.workflow().parameters.iter().filter_map(|parameter| {
        let name = parameter.name.as_str().trim().to_owned();
        let is_given = parameter.value.is_some() || loaded.submission.get(&name).is_some();
        (!is_given).then(|| (name.clone(), plausible(&name, Shape::Text)))
    });
    let mut missing: BTreeMap<String, String> = declared.collect();
    missing.extend(used);
    missing
}

/// Returns the variable whose absence makes the successful scenario fail.
fn needed(played: &Played) -> Option<String> {
    let of_nodes = played.seen.nodes.iter().filter_map(|node| node.message.as_ref());
    played.seen.message.iter().chain(of_nodes).find_map(|text| {
        let (_, rest) = text.split_once("no variable is named `")?;
        Some(rest.split_once('`')?.0.to_owned())
    })
}

/// Returns a plausible value for a property with this name and use.
fn plausible(name: &str, shape: Shape) -> String {
    let lower = name.to_ascii_lowercase().replace(['.', '-', '_'], "");
    let by_name = [
        ("namenode", "hdfs://localhost:8020"),
        ("defaultfs", "hdfs://localhost:8020"),
        ("jobtracker", "localhost:8032"),
        ("resourcemanager", "localhost:8032"),
        ("queue", "default"),
        ("mail", "someone@example.org"),
        ("jdbc", "jdbc:hive2://localhost:10000/default"),
        ("metastore", "thrift://localhost:9083"),
    ];
    if let Some((_, value)) = by_name.iter().find(|(part, _)| lower.contains(part)) {
        return (*value).to_owned();
    }
    match shape {
        Shape::Number => "1".to_owned(),
        Shape::Time => "2024-01-01T00:00Z".to_owned(),
        Shape::Zone => "UTC".to_owned(),
        Shape::Path => format!("/user/someone/{name}"),
        Shape::FileSystem => "hdfs://localhost:8020".to_owned(),
        Shape::Host => "localhost:8032".to_owned(),
        _ => name.to_owned(),
    }
}
