//! `ankus convert`.

mod around;
mod carried;
mod compare;
mod data;
mod graphs;
mod joined;
mod named;
mod paths;
mod prove;
mod refused;
mod told;
mod turns;
mod unset;
mod written;

use super::check::count_of;
use super::{Exit, Failure, Shell};
use crate::properties::PropertyArguments;
use ankus::analysis::Analysis;
use ankus::carry::airflow;
use ankus::carry::airflow::bundle::{Member, bundle};
use ankus::carry::joined::Joined;
use ankus::carry::{
    self, Conversion, Outcome, Partly, Target, Unscheduled, argo, databricks, is_or_holds, prefect,
    report,
};
use ankus::check::{self, FileKind};
use ankus::settings::secrets::Secrets;
use ankus::source::Span;
use ankus::syntax::properties::{Origin, Submission};
use ankus::syntax::xml::Element;
use ankus_lang::coordinator::Definition;
use ankus_lang::time::{Instant, ProcessingZone};
use ankus_project::application::PATHS;
use ankus_project::{Found, Given, Loaded, Looks, Project, write};
use named::{Ends, Named};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use written::{Files, Mode};

#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus convert apps/ --to airflow -o airflow/          a whole tree, for Airflow 3
  ankus convert apps/daily --to airflow==2.10 -o out/   one application, for Airflow 2.10
  ankus convert apps/ --to step-functions -o aws/       state machines and templates for AWS
  ankus convert apps/ --to argo -o argo/                templates for Argo Workflows
  ankus convert apps/ --to databricks -o bundle/        a bundle of Databricks Jobs
  ankus convert apps/ --report losses.md                only the report: what would be lost
  ankus convert apps/ -o airflow/ --check               whether the output is up to date")]
pub(crate) struct Arguments {
    /// Workflows, coordinators, bundles, their folders, or directory trees.
    #[arg(value_name = "APP|DIR", default_value = ".")]
    paths: Vec<PathBuf>,
    /// The engine: `airflow` (3.x), `airflow==2.10`, `prefect`, `step-functions`, `argo` or `databricks`.
    #[arg(long, value_name = "TARGET", default_value = "airflow", value_parser = target)]
    to: Target,
    /// Folder to write to. Files that were edited since are left alone.
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Report what became of every element and attribute: `FILE.html`, `.json` or `.md`. Repeatable.
    #[arg(long, value_name = "FILE", value_parser = report_file)]
    report: Vec<PathBuf>,
    /// A construct that may be lost with its parts, as the report names it, or `*`. Repeatable.
    #[arg(long, value_name = "CONSTRUCT")]
    allow: Vec<String>,
    /// Print the changes to the output, without making them.
    #[arg(long, requires = "output")]
    diff: bool,
    /// Change nothing; fail if the output is not up to date.
    #[arg(long, requires = "output", conflicts_with = "diff")]
    check: bool,
    /// Keep this edited file as it is, and report it again only when its conversion changes. `*` for all. Repeatable.
    #[arg(long, value_name = "FILE", requires = "output", conflicts_with_all = ["diff", "check"])]
    accept: Vec<String>,
    /// Begin with the first nominal time from this instant on (`2026-12-01T00:00Z`), and print how to end the coordinators before it.
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    cut_over: Option<Instant>,
    /// Play scenarios of each application here and in the other engine with stubbed tasks, and compare.
    #[arg(long, requires = "python")]
    prove: bool,
    /// For --prove: the Python of a virtual environment in which the target engine is installed.
    #[arg(long, value_name = "PYTHON", requires = "prove")]
    python: Option<PathBuf>,
    /// For --prove: maximum number of scenarios per application.
    #[arg(long, value_name = "N", default_value_t = 100, requires = "prove")]
    scenarios: usize,
    #[command(flatten)]
    properties: PropertyArguments,
}

fn target(text: &str) -> Result<Target, String> {
    Target::of(text).ok_or_else(|| {
        "the targets are airflow, airflow==3, airflow==2.10, prefect, step-functions, argo and databricks"
            .to_owned()
    })
}

fn instant(text: &str) -> Result<Instant, String> {
    let parsed = ProcessingZone::UTC.parse(text);
    parsed.map_err(|_| "write it as 2026-12-01T00:00Z".to_owned())
}

fn report_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|end| end.to_str()) {
        Some("html" | "json" | "md") => Ok(path),
        _ => Err("its name must end with .html, .json or .md".to_owned()),
    }
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    if arguments.output.is_none() && arguments.report.is_empty() && !arguments.prove {
        let failure = Failure::new("there is nowhere to write to");
        return Err(failure
            .help("give a folder with -o DIR, a report with --report FILE, or --prove")
            .into());
    }
    let project = shell.project()?;
    // A properties file that starts an application may be in another folder and have any name.
    let search = project.definitions_with_callers(&arguments.paths)?;
    let given = arguments.properties.given();
    let is_airflow = matches!(arguments.to, Target::Airflow(_));
    if !is_airflow && arguments.cut_over.is_some() {
        let failure = Failure::new("--cut-over is for a conversion to Airflow");
        return Err(failure.help("give --to airflow or --to airflow==2.10").into());
    }
    if arguments.prove && matches!(arguments.to, Target::Argo | Target::Databricks) {
        let failure =
            Failure::new("--prove is for a conversion to Airflow, Prefect or Step Functions");
        return Err(failure.help("no engine is available that could run the others").into());
    }
    let carried = convert(&project, search.found, &given, arguments.to, arguments.cut_over)?;
    let Carried { conversions, units, joined } = &carried;
    if conversions.is_empty() {
        return Err(Failure::new("there is no workflow, coordinator or bundle here").into());
    }
    let mut stale = 0;
    if let Some(folder) = &arguments.output {
        let mut outputs = arguments.to.helpers();
        outputs.extend(carry::outputs(conversions));
        let forms = airflow::site::forms(conversions);
        outputs.extend(forms.iter().map(|form| form.output.clone()));
        let replaced = joined::replaced(units, joined);
        let accepted = &arguments.accept;
        let secrets = &secrets_of(units);
        let files =
            Files { outputs: &outputs, forms: &forms, replaced: &replaced, accepted, secrets };
        stale = written::write_all(folder, &files, mode(&arguments), shell)?;
    }
    let proof = match &arguments.python {
        Some(python) if arguments.prove => {
            let most = arguments.scenarios;
            let engine = (arguments.to, python.as_path());
            Some(prove::prove(&project, &carried, &given, engine, most)?)
        }
        _ => None,
    };
    let replays = proof.as_ref().map(|proof| {
        let by_name =
            |one: &prove::Proved| ((one.path.clone(), one.name.clone()), one.replay.clone());
        proof.iter().map(by_name).collect::<report::Replays>()
    });
    for path in &arguments.report {
        let target = arguments.to.name();
        let text = match path.extension().and_then(|end| end.to_str()) {
            Some("html") => report::html(target, conversions, replays.as_ref()),
            Some("md") => report::markdown(target, conversions, replays.as_ref()),
            _ => report::json(target, conversions, replays.as_ref()),
        };
        write::file(path, text.as_bytes())?;
    }
    if let Some(cut_over) = arguments.cut_over {
        tell_cut_over(units, cut_over, shell)?;
    }
    joined::tell(units, joined, arguments.to, shell);
    let lost = tell(conversions, &arguments.allow, shell)?;
    let wrong = proof.map_or(Ok(0), |proof| tell_proof(&proof, shell))?;
    shell.flush()?;
    if !search.failures.is_empty() {
        return Err(Failure::new(search.failures.join("\n")).into());
    }
    Ok(Exit::fault_if(lost > 0 || stale > 0 || wrong > 0))
}

/// Returns the names of secrets in the settings of any of the definitions.
fn secrets_of(units: &[Unit]) -> Secrets {
    let all = units.iter().flat_map(|unit| {
        let coordinator = unit.coordinator.as_ref().map(|(loaded, _)| loaded);
        coordinator.into_iter().chain(&unit.workflow)
    });
    let names: BTreeSet<String> =
        all.flat_map(|loaded| &loaded.settings.settings.secrets.names).cloned().collect();
    Secrets { names: names.into_iter().collect() }
}

/// Returns what to do with files that differ.
fn mode(arguments: &Arguments) -> Mode {
    match (arguments.diff, arguments.check) {
        (true, _) => Mode::Diff,
        (_, true) => Mode::Check,
        _ => Mode::Write,
    }
}

/// Prints how to end the coordinators when Airflow takes over. The end itself is not a nominal time of theirs, and
/// earlier actions that are still waiting go on.
fn tell_cut_over(units: &[Unit], cut_over: Instant, shell: &mut Shell) -> miette::Result<()> {
    if units.iter().all(|unit| unit.coordinator.is_none()) {
        shell.say("--cut-over has no effect: no coordinator is converted");
    }
    let mut end = String::new();
    ProcessingZone::UTC.write(cut_over, &mut end);
    for unit in units {
        let Some((coordinator, definition)) = &unit.coordinator else { continue };
        let path = &coordinator.found.shown;
        let definition = match definition {
            Ok(definition) => definition,
            Err(why) => {
                let reason = why.reason();
                shell.say(format!(
                    "{path}: no command can end it, because its times are unknown: {reason}"
                ));
                continue;
            }
        };
        let times = &definition.schedule;
        if times.end <= cut_over {
            shell.say(format!("{path}: it will have ended by then, so Airflow runs nothing of it"));
        } else if times.start >= cut_over {
            shell.line(format!("oozie job -kill COORDINATOR-ID  # {path}: it begins later"))?;
        } else {
            let change = format!("oozie job -change COORDINATOR-ID -value endtime={end}");
            shell.line(format!("{change}  # {path}"))?;
        }
    }
    Ok(())
}

/// Prints the results of the scenarios. Returns the number of those that differ.
fn tell_proof(proof: &prove::Proof, shell: &mut Shell) -> miette::Result<usize> {
    let mut wrong = 0;
    for one in proof {
        if let Some(why) = &one.replay.refused {
            wrong += 1;
            shell.line(format!("{}: {why}", one.path))?;
        }
        for difference in one.replay.differs.iter().filter(|difference| !difference.is_told) {
            wrong += 1;
            let (path, scenario) = (&one.path, &difference.scenario);
            shell.line(format!("{path}: with `{scenario}` the two sides differ"))?;
            for what in &difference.what {
                shell.line(format!("    {what}"))?;
            }
        }
    }
    for one in proof {
        if let Some(why) = &one.replay.left_out {
            shell.say(format!("{}: not played: {why}", one.path));
        }
    }
    let sums = report::Sums::of(proof.iter().map(|one| &one.replay));
    shell.say(format!(
        "replay: agree {} of {} scenarios of {}",
        sums.agree + sums.loosely,
        sums.scenarios,
        count_of(sums.applications, "application"),
    ));
    let loosely = sums.loosely;
    shell.say(format!(
        "    {loosely} of them except for tasks that a server stops when another fails"
    ));
    let told = sums.told;
    shell.say(format!("    {told} others differ where the report says that something is lost"));
    Ok(wrong)
}

/// Prints the losses and a summary. Returns the number of losses that are not allowed.
fn tell(
    conversions: &[Conversion],
    allowed: &[String],
    shell: &mut Shell,
) -> miette::Result<usize> {
    let mut lost = 0;
    // The members of a bundle share files and therefore losses, each of which is printed once.
    let mut order: Vec<(String, String)> = Vec::new();
    let mut names: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for conversion in conversions {
        for group in report::groups(conversion.lost(allowed)) {
            lost += group.count;
            let what = format!("{}: {}: {}", group.place(), lost_words(&group), group.reason);
            let loss = (what, group.remedy.to_owned());
            let known = names.entry(loss.clone()).or_default();
            if known.is_empty() {
                order.push(loss);
            }
            known.insert(&conversion.name);
        }
    }
    for loss in order {
        let (what, remedy) = &loss;
        shell.line(what)?;
        if !remedy.is_empty() {
            shell.line(format!("    {remedy}"))?;
        }
        let names: Vec<&str> = names[&loss].iter().copied().collect();
        if let [most @ .., last] = &names[..]
            && !most.is_empty()
        {
            shell.line(format!("    this holds for {} and {last}", most.join(", ")))?;
        }
    }
    let known: BTreeSet<&str> = conversions
        .iter()
        .flat_map(|one| one.lost(&[]))
        .map(|(_, entry)| entry.construct.as_str())
        .collect();
    let is_lost = |name: &str| known.iter().any(|construct| is_or_holds(name, construct));
    for name in allowed.iter().filter(|name| *name != "*" && !is_lost(name)) {
        let near = ankus::diag::nearest(name, known.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        shell.say(format!("--allow {name}: nothing with that name is lost{near}"));
    }
    let of = |outcome| conversions.iter().map(|one| one.count(outcome)).sum::<usize>();
    let refused = match conversions.iter().map(Conversion::count_refused).sum::<usize>() {
        0 => String::new(),
        refused => format!(", {refused} of them in what a server refuses"),
    };
    shell.say(format!(
        "{}: {} exact, {} approximate, {} lost{refused}",
        count_of(conversions.len(), "application"),
        of(Outcome::Exact),
        of(Outcome::Approximate),
        of(Outcome::None),
    ));
    let unset: Vec<usize> = conversions.iter().map(|one| one.unset.len()).collect();
    let users = unset.iter().filter(|number| **number > 0).count();
    if users > 0 {
        let number: usize = unset.iter().sum();
        let have = if number == 1 { "has" } else { "have" };
        let parameters = count_of(number, "parameter");
        let users = count_of(users, "application");
        shell.say(format!(
            "{parameters} of {users} {have} no value: `--report` says where each is used and what to do"
        ));
    }
    Ok(lost)
}

/// Describes a group of losses in words: "`a` is lost with its parts, also in line 7".
fn lost_words(group: &report::Group<'_>) -> String {
    /// Maximum number of constructs that are listed; others are only counted.
    const MOST: usize = 4;
    let names: Vec<String> =
        group.constructs.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let names = match (&names[..], group.constructs.len() - names.len()) {
        ([most @ .., last], 0) if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        (names, 0) => names.concat(),
        (names, more) => format!("{} and {more} more", names.join(", ")),
    };
    let is_one = group.constructs.len() == 1;
    let are = if is_one { "is" } else { "are" };
    let parts = match (group.has_parts, is_one) {
        (false, _) => "",
        (true, true) => " with its parts",
        (true, false) => " with their parts",
    };
    let also = group.other_lines().map_or(String::new(), |lines| format!(", also in {lines}"));
    format!("{names} {are} lost{parts}{also}")
}

/// A definition that becomes a DAG.
struct Unit {
    /// The workflow.
    workflow: Option<Arc<Loaded>>,
    /// The coordinator that starts it.
    coordinator: Option<(Arc<Loaded>, Result<Definition, Unscheduled>)>,
    /// The known parts of its coordinator if the times are unknown.
    partly: Option<Partly>,
    /// Included files with datasets that are not available.
    missing: Vec<String>,
    /// The properties that it is submitted with.
    properties: BTreeMap<String, String>,
    /// The properties that all callers pass to it; those of a submission take precedence.
    handed: BTreeMap<String, String>,
    /// The names of the workflows that it starts, by the location of their paths.
    started: BTreeMap<Span, String>,
    tags: Vec<String>,
    name: String,
}

impl Unit {
    /// Returns the displayed path of its definition.
    fn shown(&self) -> &str {
        let first = self.coordinator.as_ref().map(|(loaded, _)| loaded);
        first.or(self.workflow.as_ref()).map_or("", |loaded| &loaded.found.shown)
    }

    /// Whether its submission names the user who submits it.
    fn names_user(&self) -> bool {
        let first = self.coordinator.as_ref().map(|(loaded, _)| loaded);
        first.or(self.workflow.as_ref()).is_some_and(|loaded| loaded.submission.names(USER))
    }

    /// Returns its known properties: those that it is submitted with, and those that callers pass to it.
    fn known(&self) -> BTreeMap<String, String> {
        let mut known = self.handed.clone();
        known.extend(self.properties.iter().map(|(name, value)| (name.clone(), value.clone())));
        known
    }
}

/// The result of a conversion.
struct Carried {
    conversions: Vec<Conversion>,
    units: Vec<Unit>,
    /// What each unit shares with others.
    joined: Vec<Joined>,
}

/// Converts all definitions that were found.
fn convert(
    project: &Project,
    found: Vec<Found>,
    given: &Given,
    target: Target,
    cut_over: Option<Instant>,
) -> miette::Result<Carried> {
    let mut loaded: BTreeMap<PathBuf, Arc<Loaded>> = BTreeMap::new();
    for one in found {
        if matches!(one.kind, FileKind::Workflow | FileKind::Coordinator | FileKind::Bundle) {
            let path = absolute(&one.path);
            loaded.insert(path, Arc::new(load(project, &one, given, target)?));
        }
    }
    let ends = Ends::of(loaded.keys());
    let (used, assumed) = (BTreeSet::new(), BTreeSet::new());
    let mut gathering = Gathering { project, given, target, loaded, ends, used, assumed };
    let mut conversions = Vec::new();
    let mut units = gathering.of_bundles(&mut conversions)?;
    let coordinators = gathering.rest(FileKind::Coordinator);
    for (path, coordinator) in coordinators {
        gathering.used.insert(path);
        units.push(gathering.coordinator(coordinator, Vec::new(), None)?);
    }
    for (_, workflow) in gathering.rest(FileKind::Workflow) {
        let mut properties = properties_of(&workflow.submission);
        for (name, value) in defaults(&workflow) {
            properties.entry(name).or_insert(value);
        }
        let name = name_of(&workflow, workflow_name);
        units.push(Unit {
            workflow: Some(workflow),
            coordinator: None,
            partly: None,
            missing: Vec::new(),
            properties,
            handed: BTreeMap::new(),
            started: BTreeMap::new(),
            tags: Vec::new(),
            name,
        });
    }
    let mut taken = BTreeSet::new();
    let mut by_path: BTreeMap<PathBuf, String> = BTreeMap::new();
    for unit in &mut units {
        let base = unit.name.clone();
        let mut number = 1;
        let name = |name: &str| match target {
            Target::Argo => argo::resource_name(name),
            // Variables of Airflow are named after the application that reads them.
            Target::Airflow(_) => airflow::python::identifier(name).to_lowercase(),
            Target::Prefect => prefect::flow_name(name).to_lowercase(),
            Target::Databricks => databricks::key(name).to_lowercase(),
            _ => name.to_lowercase(),
        };
        while !taken.insert(name(&unit.name)) {
            number += 1;
            unit.name = format!("{base}_{number}");
        }
        if let (Some(workflow), None) = (&unit.workflow, &unit.coordinator) {
            by_path.insert(absolute(&workflow.found.path), unit.name.clone());
        }
    }
    paths::of_started(&mut units, &Named::of(by_path));
    let joined = joined::of(&units, target);
    let mut converted = carried::all(&units, &joined, (target, cut_over));
    let names = units.iter().map(|unit| unit.name.clone());
    let mut unset: BTreeMap<String, _> = names.zip(unset::of(&units, target)).collect();
    for conversion in &mut converted {
        conversion.unset = unset.remove(&conversion.name).unwrap_or_default();
    }
    conversions.extend(converted);
    conversions.sort_by(|a, b| (&a.path, &a.name).cmp(&(&b.path, &b.name)));
    let mut carried = Carried { conversions, units, joined };
    gathering.tell(&mut carried.conversions);
    refused::tell(&mut carried);
    Ok(carried)
}

/// Loads a definition. If neither the command line nor the properties name the user, it is that of the target.
fn load(project: &Project, found: &Found, given: &Given, target: Target) -> miette::Result<Loaded> {
    let mut loaded = project.load(found, given, None)?;
    if loaded.submission.get(USER).is_none() {
        loaded.submission.assume(USER, target.user());
    }
    Ok(loaded)
}

/// The property with the user who submits.
const USER: &str = "user.name";

/// The placeholder for the folder of an application whose path on the cluster is unknown.
const OWN_FOLDER: &str = "${wf:appPath()}";

/// Whether a path is that of the application itself, which starts itself again.
fn is_own(path: &str) -> bool {
    path.chars().filter(|c| !c.is_whitespace()).eq(OWN_FOLDER.chars())
}

/// Replaces `wf:appPath()` in a path by the application's own path, if that is known.
fn of_application(path: &str, own: Option<&str>) -> String {
    let compact: String = path.trim().chars().filter(|c| !c.is_whitespace()).collect();
    let Some(rest) = compact.strip_prefix(OWN_FOLDER) else { return path.to_owned() };
    match own {
        Some(own) => format!("{own}{rest}"),
        None => compact,
    }
}

/// Returns the path of a unit's workflow on the cluster, if it is known.
fn own_path(unit: &Unit) -> Option<String> {
    match &unit.coordinator {
        Some((_, definition)) => {
            let known = unit.partly.as_ref().map(|partly| &partly.definition);
            Some(definition.as_ref().ok().or(known)?.app_path.clone())
        }
        None => unit.properties.get(PATHS[0]).cloned(),
    }
}

/// Removes the file system from a URI, whether it is known or a variable.
fn without_file_system(uri: &str) -> &str {
    if let Some((_, rest)) = uri.split_once("://") {
        return rest.find('/').map_or("", |at| &rest[at..]);
    }
    let rest = uri.strip_prefix("${").and_then(|rest| rest.split_once('}'));
    rest.map_or(uri, |(_, rest)| rest)
}

/// Returns the local folder of an application that is next to another one on the cluster, if the folder of that one has
/// the same name here.
fn beside(own: &str, asked: &str, file: &Path) -> Option<PathBuf> {
    let own = own.trim_end_matches('/').trim_end_matches("/workflow.xml");
    let (above, last) = own.rsplit_once('/')?;
    let folder = file.parent()?;
    if *folder.file_name()? != *last {
        return None;
    }
    let rest = asked.strip_prefix(above)?.trim_matches('/');
    Some(folder.parent()?.join(rest))
}

/// Returns the absolute path that identifies a file, however it was named.
fn absolute(path: &Path) -> PathBuf {
    ankus_project::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn properties_of(submission: &Submission) -> BTreeMap<String, String> {
    submission.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the default values of a definition's parameters.
fn defaults(loaded: &Loaded) -> Vec<(String, String)> {
    let analysis = Analysis::new(Arc::clone(&loaded.source));
    let Some(root) = analysis.tree().root() else { return Vec::new() };
    let text = |element: &Element<'_>, name: &str| {
        Some(element.child(name)?.text().text.trim().to_owned())
    };
    let parameters = root.child("parameters").into_iter().flat_map(|all| all.elements());
    parameters
        .filter_map(|parameter| Some((text(&parameter, "name")?, text(&parameter, "value")?)))
        .collect()
}

fn workflow_name(analysis: &Analysis) -> Option<String> {
    Some(analysis.workflow().name.as_ref()?.known()?.to_owned())
}

fn coordinator_name(analysis: &Analysis) -> Option<String> {
    Some(analysis.coordinator().name.as_ref()?.known()?.to_owned())
}

/// Returns the name of a definition. If it is only known at run time, returns that of its file, or of the folder if the
/// file has a usual name.
fn name_of(loaded: &Loaded, name: fn(&Analysis) -> Option<String>) -> String {
    let own = name(&Analysis::new(Arc::clone(&loaded.source)));
    let own = own.filter(|name| !name.trim().is_empty());
    let placed = || {
        let path = absolute(&loaded.found.path);
        let own = path.file_stem().filter(|name| {
            let name = name.to_string_lossy().to_lowercase();
            !USUAL.iter().any(|usual| name.starts_with(usual))
        });
        let name = own.or_else(|| path.parent().and_then(Path::file_name));
        name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    airflow::dag_id(own.unwrap_or_else(placed).trim())
}

/// The beginnings of file names that only say what kind of definition the file contains.
const USUAL: [&str; 4] = ["workflow", "wf", "coord", "bundle"];

/// The placeholder for the code of an error that has none.
const NO_CODE: &str = "an error without a code";

/// Finds out which definition starts which, and collects them as units.
struct Gathering<'a> {
    project: &'a Project,
    given: &'a Given,
    target: Target,
    loaded: BTreeMap<PathBuf, Arc<Loaded>>,
    ends: Ends,
    /// The files that are part of a unit already.
    used: BTreeSet<PathBuf>,
    /// The displayed paths of coordinators whose workflow is only assumed to be the one beside them.
    assumed: BTreeSet<String>,
}

impl Gathering<'_> {
    /// Returns the definitions of a kind that are not part of a unit yet.
    fn rest(&self, kind: FileKind) -> Vec<(PathBuf, Arc<Loaded>)> {
        let left = self
            .loaded
            .iter()
            .filter(|(path, loaded)| loaded.found.kind == kind && !self.used.contains(*path));
        left.map(|(path, loaded)| (path.clone(), Arc::clone(loaded))).collect()
    }

    /// Finds an application that another one names by its path.
    /// `own` is the path of the latter, if it is known.
    fn around(&self, from: &Loaded, own: Option<&str>, uri: &str, file: &str) -> Option<PathBuf> {
        let looks = Looks::into_tree(&from.found.tree, None);
        let found = from.application_around(looks, own, uri, file);
        let found = found.or_else(|| self.ends.find(uri, file, &from.found.path).cloned());
        // If the folder is unknown, the workflow next to the coordinator is used.
        found.or_else(|| {
            let folder = absolute(&from.found.path).parent()?.to_owned();
            let beside = folder.join(file);
            let looks = Looks::into_tree(&from.found.tree, None);
            let last = uri.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let fits = last == file || last.contains("${");
            (fits && beside != absolute(&from.found.path) && looks.is_file(&beside))
                .then_some(beside)
        })
    }

    /// Returns the workflow beside a coordinator that names a folder which is not among the files: one that is deployed
    /// under another name. `own` is the path of the coordinator, if it is known.
    fn assumed(&mut self, from: &Loaded, own: Option<&str>, uri: &str) -> Option<PathBuf> {
        const FILE: &str = "workflow.xml";
        let folder_of = |path: &str| {
            let path = without_file_system(path.trim()).trim_end_matches('/').to_owned();
            path.strip_suffix(".xml").map_or(path.clone(), |file| {
                file.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned())
            })
        };
        let asked = folder_of(uri);
        let last = asked.rsplit('/').next().unwrap_or_default();
        let is_elsewhere = own.is_some_and(|own| folder_of(own) != asked);
        let is_plain = !last.is_empty() && !last.contains(['$', '<']);
        if is_elsewhere || !is_plain || (uri.ends_with(".xml") && !uri.ends_with(FILE)) {
            return None;
        }
        let beside = absolute(&from.found.path).parent()?.join(FILE);
        let is_there =
            self.loaded.get(&beside).is_some_and(|one| one.found.kind == FileKind::Workflow);
        let mut folders = self.loaded.keys().filter_map(|path| path.parent()?.file_name());
        if !is_there || folders.any(|folder| *folder == *last) {
            return None;
        }
        self.assumed.insert(from.found.shown.clone());
        Some(beside)
    }

    /// Reports the workflows that are only assumed.
    fn tell(&self, conversions: &mut [Conversion]) {
        for (path, entry) in conversions.iter_mut().flat_map(|one| &mut one.entries) {
            let is_path = entry.construct == "coordinator.action.workflow.app-path";
            if is_path && entry.outcome == Outcome::Exact && self.assumed.contains(path) {
                entry.outcome = Outcome::Approximate;
                "its folder is not among the converted files: the workflow beside the coordinator is used".clone_into(&mut entry.reason);
                "check that it is the one that is deployed there".clone_into(&mut entry.remedy);
            }
        }
    }

    fn load(&mut self, path: &Path, kind: FileKind) -> miette::Result<Arc<Loaded>> {
        let path = absolute(path);
        if let Some(loaded) = self.loaded.get(&path) {
            return Ok(Arc::clone(loaded));
        }
        let found = self.project.found(path.clone(), kind)?;
        let loaded = Arc::new(load(self.project, &found, self.given, self.target)?);
        self.loaded.insert(path, Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Returns the coordinators of bundles; the bundles themselves are added to `conversions`.
    fn of_bundles(&mut self, conversions: &mut Vec<Conversion>) -> miette::Result<Vec<Unit>> {
        let mut units = Vec::new();
        for (path, loaded) in self.rest(FileKind::Bundle) {
            self.used.insert(path);
            let submitted = check::submit_bundle(&loaded.input());
            let analysis = Analysis::new(Arc::clone(&loaded.source));
            let mut known = Vec::new();
            let name = analysis.bundle().name.as_ref().and_then(|name| name.known());
            let name = airflow::dag_id(name.unwrap_or("bundle"));
            if let Ok(taken) = &submitted.outcome {
                for (at, member) in taken.members.iter().enumerate() {
                    if !member.is_enabled {
                        known.push(Member::Disabled);
                        continue;
                    }
                    let own = check::resolved(&taken.properties, PATHS[2]);
                    let file =
                        self.around(&loaded, own.as_deref(), &member.app_path, "coordinator.xml");
                    let Some(file) = file else {
                        known.push(Member::Missing);
                        continue;
                    };
                    known.push(Member::Converted);
                    let given =
                        ankus::lint::coordinator::given(taken, &submitted.unknown.names, at);
                    let coordinator = self.load(&file, FileKind::Coordinator)?;
                    self.used.insert(absolute(&file));
                    let mut own = self.project.load(&coordinator.found, &Given::default(), None)?;
                    let values = std::mem::take(&mut own.submission).values;
                    for (name, bound) in values {
                        if matches!(bound.origin, Origin::Default(_)) {
                            own.submission.set(&name, &bound.value);
                        }
                    }
                    for (name, value) in &given {
                        own.submission.set(name.to_string(), value.to_string());
                    }
                    if !loaded.submission.names(USER) {
                        own.submission.assume(USER, self.target.user());
                    }
                    let tags = vec![name.clone()];
                    let member = Some(member.name.as_str()).filter(|name| !name.is_empty());
                    units.push(self.coordinator(Arc::new(own), tags, member)?);
                }
            }
            let refused = submitted.outcome.as_ref().err();
            let known = match refused {
                Some(refused) => Err(refused.code.unwrap_or(NO_CODE)),
                None => Ok(&known[..]),
            };
            conversions.push(bundle(&loaded.found.shown, &name, &analysis, known));
        }
        Ok(units)
    }

    fn coordinator(
        &mut self,
        loaded: Arc<Loaded>,
        tags: Vec<String>,
        name: Option<&str>,
    ) -> miette::Result<Unit> {
        let submitted = check::submit_coordinator(&loaded.input());
        let unknown = submitted.unknown;
        let analysis = Analysis::new(Arc::clone(&loaded.source));
        let (mut missing, mut partly) = (Vec::new(), None);
        let definition = match submitted.outcome {
            Ok(definition) if unknown.lacks_datasets_alone() => {
                missing.extend(unknown.datasets);
                Ok(carry::with_missing(analysis.coordinator(), definition))
            }
            Ok(definition) if unknown.is_unsure() => {
                let known = Partly::of(analysis.coordinator(), definition, &unknown.assumed);
                partly = Some(known);
                let names = unknown.needed.iter().chain(&unknown.includes);
                let why = Unscheduled::Unknown(names.cloned().collect());
                missing.extend(unknown.datasets);
                Err(why)
            }
            Ok(definition) => Ok(definition),
            Err(refused) => {
                let code = refused.code.unwrap_or(NO_CODE);
                Err(Unscheduled::Refused(code.to_owned()))
            }
        };
        let written = analysis.coordinator().app_path.as_ref().map(|path| path.as_str().to_owned());
        let known = definition.as_ref().ok();
        let uri = known.map(|definition| definition.app_path.clone()).or(written);
        let own = known.and_then(|known| check::resolved(&known.properties, PATHS[1]));
        let file = uri.and_then(|uri| {
            let found = self.around(&loaded, own.as_deref(), &uri, "workflow.xml");
            found.or_else(|| self.assumed(&loaded, own.as_deref(), &uri))
        });
        let workflow = match file {
            Some(file) => {
                self.used.insert(absolute(&file));
                Some(self.load(&file, FileKind::Workflow)?)
            }
            None => None,
        };
        let mut properties = properties_of(&loaded.submission);
        let mut given: Vec<(String, String)> = defaults(&loaded);
        if let Some(workflow) = &workflow {
            let values = workflow.submission.values.iter();
            let values = values.filter(|(_, bound)| matches!(bound.origin, Origin::Default(_)));
            given.extend(values.map(|(name, bound)| (name.clone(), bound.value.clone())));
            given.extend(defaults(workflow));
        }
        for (name, value) in given {
            properties.entry(name).or_insert(value);
        }
        let known = known.or(partly.as_ref().map(|partly| &partly.definition));
        // A server sets it for the workflow, and values of other properties may refer to it.
        let path = known.map(|known| known.app_path.trim());
        if let Some(path) = path.filter(|path| !path.is_empty() && !path.contains("${")) {
            properties.insert(PATHS[0].to_owned(), path.to_owned());
        }
        let evaluated = known.map(|known| known.name.as_str());
        let evaluated = evaluated.filter(|name| !name.is_empty() && !name.contains("${"));
        let name =
            name.or(evaluated).map_or_else(|| name_of(&loaded, coordinator_name), airflow::dag_id);
        let coordinator = Some((loaded, definition));
        let (handed, started) = (BTreeMap::new(), BTreeMap::new());
        Ok(Unit { workflow, coordinator, partly, missing, properties, handed, started, tags, name })
    }
}
