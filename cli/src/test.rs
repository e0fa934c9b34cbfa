//! `ankus test`: runs scenarios of applications in simulated time.

mod first;
mod real;
mod timed;

use super::check::count_of;
use super::needs::schemes;
use super::store::{self, Signals};
use super::{Exit, Failure, Shell};
use ankus::settings::site::names;
use ankus::text::{self, line};
use ankus_engine::driver::Compiler;
use ankus_engine::host::files::{FileUri, Files};
use ankus_engine::scenario::{
    Difference, Expect, ExpectAction, Played, Real, Scenario, compare, play,
};
use ankus_lang::plan::{Global, Node, Plan, Work};
use ankus_project::application::{self, Application, Frontend};
use ankus_project::{Given, Kind, Project, shown, unreadable, write};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file name suffix of scenarios.
const ENDING: &str = ".scenario.toml";
/// Maximum number and size of an application's files in a simulated file root.
const MOST_FILES: usize = 5_000;
const LARGEST_FILE: u64 = 4 << 20;

/// Play scenarios: applications with stubbed actions, in simulated time, in milliseconds.
///
/// A scenario says what the world answers, what an operator does, and what must come out. `fs` actions work on files in
/// memory and sub-workflows run as they are; every other action needs a stub, or is taken to succeed. Of a coordinator or
/// a bundle it says when data are there; their workflows are stubbed, or played too.
#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus test --init app/        write a first set of scenarios
  ankus test                    run every *.scenario.toml below this folder
  ankus test app/ --coverage    and list the transitions none of them takes")]
pub(super) struct Arguments {
    /// Scenario files or folders containing them.
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Run only scenarios whose path or title contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Update the scenarios to expect what was observed.
    #[arg(long)]
    update: bool,
    /// Write a first set of scenarios for an application.
    #[arg(long, value_name = "APP", conflicts_with_all = ["update", "coverage", "filter"])]
    init: Option<PathBuf>,
    /// List the transitions that no scenario takes.
    #[arg(long)]
    coverage: bool,
    /// Run actions without a stub for real, one after another. Their programs, mails and requests are real; their files are
    /// in a temporary folder.
    #[arg(long, conflicts_with = "init")]
    real: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Readable text.
    Human,
    /// One object.
    Json,
    /// JUnit XML.
    Junit,
    /// Test Anything Protocol.
    Tap,
}

/// A scenario with its result, or why it could not be run.
struct Scored {
    shown: String,
    title: String,
    path: PathBuf,
    outcome: Result<Scores, String>,
}

struct Scores {
    /// The workflows whose transitions count.
    plans: Vec<Arc<Plan>>,
    played: Played,
    differences: Vec<Difference>,
}

impl Scored {
    fn fails(&self) -> bool {
        match &self.outcome {
            Ok(outcome) => !outcome.differences.is_empty(),
            Err(_) => true,
        }
    }

    /// Returns the failures, one per line.
    fn faults(&self) -> Vec<String> {
        match &self.outcome {
            Err(why) => vec![why.clone()],
            Ok(outcome) => {
                let words = |difference: &Difference| {
                    format!(
                        "{}: expected {}, seen {}",
                        difference.what, difference.expected, difference.seen
                    )
                };
                outcome.differences.iter().map(words).collect()
            }
        }
    }
}

pub(super) use first::{Draw, Explored, explore, first_action, try_out};

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    if let Some(path) = &arguments.init {
        return first::init(path, shell);
    }
    let project = if arguments.real { shell.working_project()? } else { shell.project()? };
    let mut found = Vec::new();
    for path in &arguments.paths {
        match project.tree(path)?.kind(path) {
            None => return Err(unreadable(path, std::io::ErrorKind::NotFound.into())),
            Some(Kind::Folder) => {}
            Some(_) => {
                found.push(path.clone());
                continue;
            }
        }
        let files = project.files(path, false, usize::MAX)?.into_iter().map(|file| file.path);
        found.extend(files.filter(|file| {
            file.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.ends_with(ENDING))
        }));
    }
    found.sort();
    found.dedup();
    let mut written: Vec<Written> = found.par_iter().map(|path| open(path, &project)).collect();
    if let Some(filter) = &arguments.filter {
        written.retain(|it| it.shown.contains(filter) || it.title.contains(filter));
    }
    let results: Vec<Scored> = if arguments.real {
        let signals = store::signals();
        real::end_left(shell);
        written.into_iter().map(|it| it.played(&project, Some(&signals))).collect()
    } else {
        written.into_par_iter().map(|it| it.played(&project, None)).collect()
    };
    if results.is_empty() {
        return Err(Failure::new("there are no scenarios")
            .help("`ankus test --init APP` writes a first set; their names end in .scenario.toml")
            .into());
    }
    if arguments.update {
        return update(&results, &project, shell);
    }
    let failed = results.iter().filter(|result| result.fails()).count();
    let text = match arguments.format {
        Format::Human => human(&results),
        Format::Json => text::pretty(&json_of(&results)),
        Format::Junit => junit(&results),
        Format::Tap => tap(&results),
    };
    shell.out(text)?;
    if arguments.coverage {
        coverage(&results, shell)?;
    }
    shell.flush()?;
    if arguments.format == Format::Human {
        shell.say(format!("{}, {failed} failed", count_of(results.len(), "scenario")));
    }
    Ok(Exit::fault_if(failed > 0))
}

/// A parsed scenario.
struct Written {
    shown: String,
    title: String,
    path: PathBuf,
    scenario: Result<Scenario, String>,
}

fn open(path: &Path, project: &Project) -> Written {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let scenario = read(path, project).map_err(|error| error.to_string());
    let scenario = scenario
        .and_then(|text| toml::from_str::<Scenario>(&text).map_err(|error| error.to_string()));
    let title = scenario.as_ref().ok().and_then(|scenario| scenario.title.clone());
    let title = title.unwrap_or_else(|| name.trim_end_matches(ENDING).to_owned());
    Written { shown: shown(path), title, path: path.to_owned(), scenario }
}

impl Written {
    /// Runs it; if signals are given, actions without a stub run for real until a signal.
    fn played(self, project: &Project, real: Option<&Signals>) -> Scored {
        let Written { shown, title, path, scenario } = self;
        let outcome = scenario.and_then(|scenario| score(&path, scenario, project, real));
        Scored { shown, title, path, outcome }
    }
}

fn score(
    path: &Path,
    mut scenario: Scenario,
    project: &Project,
    real: Option<&Signals>,
) -> Result<Scores, String> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let application = load(&folder.join(&scenario.app), folder, &scenario, project)?;
    // The scenario's server properties take precedence over the site's configuration.
    let site = &application.settings().server.site;
    for (name, value) in site.kept().properties {
        if !site.overridden.contains(&name) {
            scenario.server.entry(name).or_insert(value);
        }
    }
    let schemes = schemes(application.settings()).join(",");
    scenario.server.entry(names::SCHEMES.to_owned()).or_insert(schemes);
    let mut stage =
        real.map(|signals| real::stage(&application, &scenario, signals)).transpose()?;
    let carries_out = stage.as_mut().map(|stage| &mut stage.real);
    let mut played = if timed::is_timed(&application) {
        timed::play(&application, &scenario, project, carries_out)?
    } else {
        let plan = Arc::new(application.plan()?);
        let played = play_one(&application, &scenario, plan.clone(), project, carries_out)?;
        known(&scenario, &plan, &played)?;
        Played { plans: vec![plan], ..played }
    };
    let mut differences = compare(&scenario.expect, &played.seen);
    if real.is_some() {
        real::mask(&mut played, &mut differences, &application);
    }
    Ok(Scores { plans: played.plans.clone(), played, differences })
}

/// Refuses a stub or an expectation for an unknown action. The actions of sub-workflows are known only after these have
/// run; if some have not, nothing is refused.
fn known(scenario: &Scenario, plan: &Plan, played: &Played) -> Result<(), String> {
    let is_open = plan.nodes.iter().any(|node| {
        let is_sub =
            matches!(&node.work, Work::Action(_)) && node.work.row_type() == "sub-workflow";
        is_sub && !played.taken.iter().any(|(of, from, _)| *of == plan.path && *from == node.name)
    });
    let own = || plan.nodes.iter().map(|node| node.name.as_str());
    let below = || played.taken.iter().map(|(_, from, _)| from.as_str());
    let seen = || played.seen.nodes.iter().map(|node| node.name.as_str());
    let all = || own().chain(below()).chain(seen());
    for (table, name) in scenario
        .actions
        .keys()
        .map(|name| ("actions", name))
        .chain(scenario.expect.actions.keys().map(|name| ("expect.actions", name)))
    {
        if is_open || all().any(|known| known == name) {
            continue;
        }
        let near = ankus::diag::nearest(name, own());
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(format!("`[{table}.{name}]`: the workflow has no node of this name{near}"));
    }
    Ok(())
}

fn load(
    path: &Path,
    folder: &Path,
    scenario: &Scenario,
    project: &Project,
) -> Result<Application, String> {
    // The author of the scenario is not the user of the command.
    let tree = project.tree(folder).map_err(|error| error.to_string())?;
    let named = scenario.property_files.iter().map(|file| folder.join(file));
    if let Some(outside) = named.chain([path.to_owned()]).find(|file| !tree.holds(file)) {
        let outside = shown(&outside);
        return Err(format!("`{outside}` lies outside the tree of the scenario; see --tree"));
    }
    let given = Given {
        files: scenario.property_files.iter().map(|file| folder.join(file)).collect(),
        define: scenario.properties.clone().into_iter().collect(),
        no_properties: false,
    };
    project.application(path, &given).map_err(|report| sentence(&report))
}

/// Formats a failure and its advice as one line.
fn sentence(report: &miette::Report) -> String {
    match report.help() {
        Some(help) => format!("{report} ({help})"),
        None => report.to_string(),
    }
}

fn play_one(
    application: &Application,
    scenario: &Scenario,
    plan: Arc<Plan>,
    project: &Project,
    real: Option<&mut Real>,
) -> Result<Played, String> {
    let properties = application.properties();
    let uri = FileUri::parse(&application::folder_uri(&properties));
    let folder = application.loaded.found.path.parent().map(Path::to_path_buf).unwrap_or_default();
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    let mut files = Vec::new();
    play_files(project, &folder, &uri, &mut files);
    let frontend = Frontend { settings: application.settings().clone() };
    let mut compile = |path: &FileUri,
                       files: &dyn Files,
                       properties: &BTreeMap<String, String>,
                       inherited: Option<&Global>| {
        frontend.compile(path, files, properties, inherited)
    };
    play(scenario, plan, properties, &files, &mut compile, real)
}

/// Returns the files of a folder, with their paths in a simulated file root.
fn play_files(project: &Project, folder: &Path, uri: &FileUri, files: &mut Vec<(String, Vec<u8>)>) {
    let found =
        project.tree(folder).and_then(|tree| Ok((tree, project.files(folder, true, MOST_FILES)?)));
    let Ok((tree, found)) = found else { return };
    for file in found {
        let Some(inside) = file.inside.to_str() else { continue };
        if let Ok(content) = tree.read(&file.path, LARGEST_FILE) {
            files.push((uri.with_path(format!("{}/{inside}", uri.path)).to_string(), content));
        }
    }
}

/// Returns the text of a scenario.
fn read(path: &Path, project: &Project) -> miette::Result<String> {
    let tree = project.tree(path)?;
    let bytes = tree.read(path, LARGEST_FILE).map_err(|error| unreadable(path, error))?;
    Ok(String::from_utf8(bytes)
        .map_err(|_| Failure::new(format!("`{}` is not valid UTF-8", shown(path))))?)
}

fn human(results: &[Scored]) -> String {
    let mut text = String::new();
    for result in results {
        let word = if result.fails() { "FAILED" } else { "ok    " };
        let _ = ankus::put!(&mut text, "{word}  {} ({})", result.title, result.shown);
        for fault in result.faults() {
            for words in fault.lines() {
                let _ = ankus::put!(&mut text, "        {words}");
            }
        }
        if let Ok(outcome) = &result.outcome {
            if let Some(refused) = &outcome.played.refused {
                let _ = ankus::put!(&mut text, "        the submission is refused: {refused}");
            }
            let played = &outcome.played;
            let nodes = played.seen.nodes.iter();
            for node in nodes.filter(|node| result.fails() && played.real.contains(&node.name)) {
                if let Some(message) = &node.message {
                    let _ = ankus::put!(&mut text, "        {}: {message}", node.name);
                }
            }
            for (names, what) in
                [(&played.unstubbed, "assumed to succeed"), (&played.real, "run for real")]
            {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                if !names.is_empty() {
                    let names = names.join(", ");
                    let _ = ankus::put!(&mut text, "        without a stub, {what}: {names}");
                }
            }
        }
    }
    text
}

fn json_of(results: &[Scored]) -> Value {
    let scenarios: Vec<_> = results
        .iter()
        .map(|result| {
            let mut object = json!({"path": result.shown, "title": result.title, "ok": !result.fails()});
            match &result.outcome {
                Err(why) => object["error"] = why.as_str().into(),
                Ok(outcome) => {
                    let seen = &outcome.played.seen;
                    object["status"] = seen.status.as_str().into();
                    object["took_ms"] = outcome.played.took_ms.into();
                    match &seen.timed {
                        None => {
                            let nodes = seen.nodes.iter().map(|node| node.name.clone());
                            object["path_taken"] = nodes.collect();
                        }
                        Some(seen) => {
                            (object["coordinators"], object["actions"]) = timed::json(seen);
                        }
                    }
                    object["unstubbed"] = outcome.played.unstubbed.iter().cloned().collect();
                    object["real"] = outcome.played.real.iter().cloned().collect();
                    let differences = outcome.differences.iter().map(|difference| {
                        json!({"what": difference.what, "expected": difference.expected, "seen": difference.seen})
                    });
                    object["differences"] = differences.collect();
                }
            }
            object
        })
        .collect();
    let failed = results.iter().filter(|result| result.fails()).count();
    let summary = json!({"scenarios": results.len(), "failed": failed});
    json!({"version": 1, "scenarios": scenarios, "summary": summary})
}

fn junit(results: &[Scored]) -> String {
    let failed = results.iter().filter(|result| result.fails()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"ankus test\" tests=\"{}\" failures=\"{failed}\">\n",
        results.len()
    );
    for result in results {
        let _ = write!(
            text,
            "  <testcase classname=\"{}\" name=\"{}\"",
            text::xml(&result.shown),
            text::xml(&result.title)
        );
        let faults = result.faults();
        if faults.is_empty() {
            text.push_str("/>\n");
        } else {
            let _ = writeln!(
                text,
                "><failure message=\"{}\">{}</failure></testcase>",
                text::xml(&faults[0]),
                text::xml(&faults.join("\n"))
            );
        }
    }
    text.push_str("</testsuite>\n");
    text
}

fn tap(results: &[Scored]) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", results.len());
    for (number, result) in results.iter().enumerate() {
        let word = if result.fails() { "not ok" } else { "ok" };
        let title = line(&result.title).replace('#', "\\#");
        let _ = writeln!(text, "{word} {} - {title}", number + 1);
        for fault in result.faults() {
            for words in fault.lines() {
                let _ = writeln!(text, "# {}", line(words));
            }
        }
    }
    text
}

/// A transition: source and target.
type Way = (String, String);

/// Lists the transitions of the applications that no scenario takes.
fn coverage(results: &[Scored], shell: &mut Shell) -> miette::Result<()> {
    let mut applications: BTreeMap<String, (Arc<Plan>, BTreeSet<Way>)> = BTreeMap::new();
    let mut outcomes: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for outcome in results.iter().filter_map(|result| result.outcome.as_ref().ok()) {
        for plan in &outcome.plans {
            let nodes = outcome.played.seen.nodes.iter();
            let ended = nodes.map(|node| (node.name.clone(), node.status.clone()));
            outcomes.entry(plan.path.clone()).or_default().extend(ended);
            let entry = applications
                .entry(plan.path.clone())
                .or_insert_with(|| (plan.clone(), BTreeSet::new()));
            let own = outcome.played.taken.iter().filter(|(path, ..)| *path == plan.path);
            entry.1.extend(own.map(|(_, from, to)| (from.clone(), to.clone())));
        }
    }
    for (path, (plan, taken)) in applications {
        let ways = ways(&plan);
        let missed: Vec<_> = ways.iter().filter(|way| !taken.contains(way)).collect();
        let reached: BTreeSet<&String> = ways.iter().flat_map(|(from, to)| [from, to]).collect();
        shell.out("\n")?;
        shell.line(format!(
            "{path}: {} of {} transitions taken",
            ways.len() - missed.len(),
            ways.len()
        ))?;
        for (from, to) in missed {
            shell.line(format!("  never: {from} -> {to}"))?;
        }
        let outcomes = &outcomes[&path];
        let is_action = |node: &&Node| matches!(node.work, Work::Action(_));
        let wanted: Vec<(&str, &str)> = plan
            .nodes
            .iter()
            .filter(|node| reached.contains(&node.name))
            .filter(is_action)
            .flat_map(|node| [(node.name.as_str(), "OK"), (node.name.as_str(), "ERROR")])
            .collect();
        let had = |(name, status): &(&str, &str)| {
            outcomes.contains(&((*name).to_owned(), (*status).to_owned()))
        };
        let decisions: BTreeSet<&str> = plan
            .nodes
            .iter()
            .filter(|node| node.work.row_type() == "switch")
            .map(|node| node.name.as_str())
            .collect();
        let cases = || ways.iter().filter(|(from, _)| decisions.contains(from.as_str()));
        shell.line(format!(
            "  outcomes of actions: {} of {}; cases of decisions: {} of {}",
            wanted.iter().filter(|one| had(one)).count(),
            wanted.len(),
            cases().filter(|way| taken.contains(*way)).count(),
            cases().count(),
        ))?;
        for (name, status) in wanted.iter().filter(|one| !had(one)) {
            shell.line(format!("  never: {name} ends with {status}"))?;
        }
    }
    Ok(())
}

/// Returns all transitions between reachable nodes.
fn ways(plan: &Plan) -> BTreeSet<(String, String)> {
    let mut open = vec![plan.start];
    let mut seen = BTreeSet::from([plan.start]);
    let mut ways = BTreeSet::new();
    while let Some(node) = open.pop() {
        for to in plan.node(node).work.targets() {
            if plan.nodes.get(to as usize).is_none() {
                continue;
            }
            ways.insert((plan.node(node).name.clone(), plan.node(to).name.clone()));
            if seen.insert(to) {
                open.push(to);
            }
        }
    }
    ways
}

/// Replaces the expectations of scenarios by the observed results.
fn update(results: &[Scored], project: &Project, shell: &mut Shell) -> miette::Result<Exit> {
    let mut failed = false;
    for result in results {
        match &result.outcome {
            Err(why) => {
                failed = true;
                shell.say(format!("{}: {why}", result.shown));
            }
            Ok(outcome) => {
                let text = read(&result.path, project)?;
                let new = with_expectation(&text, &expectation(&outcome.played))?;
                if new != text {
                    write::file(&result.path, new.as_bytes())?;
                    shell.say(format!("wrote {}", result.shown));
                }
            }
        }
    }
    Ok(Exit::fault_if(failed))
}

/// Returns the expectations that this run would meet.
fn expectation(played: &Played) -> Expect {
    let seen = &played.seen;
    if let Some(seen) = &seen.timed {
        return timed::expectation(played, seen);
    }
    let plain = seen
        .nodes
        .iter()
        .filter(|node| !matches!(node.node_type.as_str(), ":FORK:" | ":JOIN:" | ":START:"));
    let actions = seen
        .nodes
        .iter()
        .filter(|node| !node.node_type.starts_with(':') && node.node_type != "switch");
    let actions = actions.map(|node| {
        let count = |number: u32| (number > 0).then_some(number);
        let expected = ExpectAction {
            status: Some(node.status.clone()),
            retries: count(node.retries),
            user_retries: count(node.user_retries),
            code: node.code.clone(),
            ..ExpectAction::default()
        };
        (node.name.clone(), expected)
    });
    Expect {
        status: Some(seen.status.clone()),
        path: Some(plain.map(|node| node.name.clone()).collect()),
        message: seen.message.clone(),
        actions: actions.collect(),
        ..Expect::default()
    }
}

/// Replaces the expectations in the text of a scenario; the rest is kept.
fn with_expectation(text: &str, expect: &Expect) -> miette::Result<String> {
    #[derive(serde::Serialize)]
    struct Only<'a> {
        expect: &'a Expect,
    }
    let mut kept = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let head = line.trim_start();
        if head.starts_with('[') {
            let name = head.trim_start_matches('[').trim_start();
            inside = name.starts_with("expect]")
                || name.starts_with("expect.")
                || name.starts_with("expect ");
        }
        if !inside {
            kept.push_str(line);
        }
    }
    let written = toml::to_string(&Only { expect })
        .map_err(|error| Failure::new("cannot write what was seen as TOML").because(error))?;
    Ok(format!("{}\n\n{written}", kept.trim_end()))
}
