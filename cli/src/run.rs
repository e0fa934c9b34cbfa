//! `ankus run`: runs a workflow here, durably.

use super::runner::Runner;
use super::store::{self, Following, RunFormat, StoreArguments};
use super::{
    Exit, Failure, Shell, coordinator, evaluated, fetched, needs, plan, properties, simulate,
    timeline, unheeded,
};
use crate::examined::{Examined, Whole};
use crate::properties::PropertyArguments;
use ankus::files::Files;
use ankus::settings::Settings;
use ankus::{diag, render};
use ankus_engine::driver::{self, Submit};
use ankus_engine::host::files::FileUri;
use ankus_lang::el::Reason;
use ankus_lang::machine::{Command, JobStatus};
use ankus_lang::plan::{NoPart, Plan};
use ankus_lang::time::Instant;
use ankus_project::application::{self, APPLICATION_PATH, Application};
use ankus_project::{Given, Project, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Run a workflow on this machine: no Hadoop, no server.
///
/// Every step is in the store before it is done, so that a run can be stopped at any moment, by whatever means, and taken
/// up again. The file systems that an application names lie in the folder of --root; the application itself is
/// read where it is. Programs run as processes of this machine.
#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus run app/                       run it with its job.properties
  ankus run app/ -D day=2024-06-03     the same, with one property changed
  ankus run app.zip                    run what is in an archive
  ankus run -P job.properties          run what oozie.wf.application.path names
  ankus run app/ --only load           run one action and nothing else
  ankus run --resume 0000000-…-W       continue a run that was stopped")]
pub(super) struct Arguments {
    /// A workflow, coordinator or bundle (its file, folder, zip or URI) or a compiled plan. By default, the application
    /// that `oozie.wf.application.path` (or `oozie.coord…`, `oozie.bundle…`) in the properties names.
    #[arg(value_name = "APP", required_unless_present_any = ["resume", "files", "define"])]
    pub(super) path: Option<PathBuf>,
    /// Resume this job: its id, a unique prefix of it, or `latest`.
    #[arg(long, value_name = "ID", conflicts_with_all = ["path", "dry_run", "strict", "id"])]
    resume: Option<String>,
    #[command(flatten)]
    pub(super) properties: PropertyArguments,
    #[command(flatten)]
    pub(super) store: StoreArguments,
    /// Folder that holds the file systems of the application (default: `root` in the store).
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Id of the new job.
    #[arg(long, value_name = "ID", value_parser = job_id)]
    pub(super) id: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: RunFormat,
    /// Report whether the job would be accepted and with which properties, without running it.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not run an application with errors, even if a server would accept it.
    #[arg(long)]
    strict: bool,
    /// Start at this node. Expressions find no data of the nodes before it.
    #[arg(long = "from", value_name = "NODE", conflicts_with_all = ["resume", "simulate", "only"])]
    begin: Option<String>,
    /// Run only this action.
    #[arg(long, value_name = "NODE", conflicts_with_all = ["resume", "simulate"])]
    only: Option<String>,
    /// Run a coordinator or bundle in simulated time, with workflows that succeed after a minute. All data exists; with
    /// --root, only what lies below it and what the workflows produce.
    #[arg(long, conflicts_with_all = ["resume", "id", "dry_run"])]
    simulate: bool,
    /// End the simulation at this time.
    #[arg(long, value_name = "T", requires = "simulate", value_parser = timeline::instant)]
    until: Option<Instant>,
    /// Start the simulation at this time (default: the start of the first coordinator).
    #[arg(long, value_name = "T", requires = "simulate", value_parser = timeline::instant)]
    at: Option<Instant>,
    /// Exit at the first Ctrl-C. Running programs continue, and `--resume` picks them up.
    #[arg(long)]
    pub(super) detach_on_signal: bool,
}

impl Arguments {
    /// Whether nothing may be written or contacted.
    pub(super) fn is_look(&self) -> bool {
        self.dry_run || self.simulate
    }
}

fn job_id(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > 100 || !text.chars().all(plain) || text.starts_with('.') {
        return Err("an id consists of at most 100 letters, digits, `-`, `_` and `.`".to_owned());
    }
    if text == store::LATEST {
        return Err("`latest` always means the job that was submitted last".to_owned());
    }
    Ok(text.to_owned())
}

/// A prepared submission.
struct Prepared {
    submit: Submit,
    settings: Arc<Settings>,
    settings_file: Option<PathBuf>,
    /// The files of the application, if there is one.
    files: Files,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    if let Some(id) = &arguments.resume {
        let id = store::resolve(&*store::reader(&arguments.store)?, id)?;
        return resume(&id, &arguments, shell);
    }
    let mut arguments = arguments;
    let mut fetched = fetched::named(&arguments, shell)?;
    let path = &fetched.path.clone();
    if arguments.simulate {
        return simulated(path, &arguments, shell);
    }
    let project = if arguments.dry_run { shell.project()? } else { shell.working_project()? };
    let mut given = arguments.properties.given();
    if !is_plan(path) {
        let found = project.find(path, &given)?;
        if let Some(uri) = fetched.uri.clone() {
            let name = match found.kind {
                ankus::check::FileKind::Coordinator => application::PATHS[1],
                ankus::check::FileKind::Bundle => application::PATHS[2],
                _ => APPLICATION_PATH,
            };
            arguments.properties.define.push((name.to_owned(), uri));
            given = arguments.properties.given();
        }
        match found.kind {
            ankus::check::FileKind::Coordinator | ankus::check::FileKind::Bundle => {
                if arguments.begin.is_some() || arguments.only.is_some() {
                    let message = "a coordinator or a bundle has no node to start at";
                    let help = "name its workflow";
                    return Err(Failure::new(message).help(help).into());
                }
                fetched.keep()?;
                return coordinator::run(&found, &arguments, &project, shell);
            }
            _ => {}
        }
    }
    let prepared = if is_plan(path) {
        of_plan(path, &project, &given, shell)?
    } else {
        of_application(path, &arguments, &project, shell)?
    };
    let Some(mut prepared) = prepared else {
        return Ok(Exit::Fault);
    };
    let plan = settle(&mut prepared, &arguments, shell)?;
    if arguments.dry_run {
        return dry_run(path, &prepared, &plan, &arguments.properties, shell);
    }
    let Prepared { mut submit, settings, settings_file, files } = prepared;
    // The run may never reach such an action, so this is only reported.
    for note in
        unheeded(&plan, &submit, &files, &settings).into_iter().filter(|note| note.is_refused)
    {
        shell.say(note.text);
    }
    submit.id = arguments.id.clone();
    let needs = needs::needs(arguments.root.as_deref(), &settings, settings_file.as_deref())?;
    needs::has_sandbox(&needs)?;
    let mut runner = Runner::open(&arguments.store, needs, needs::limits(&settings))?;
    if let Some(driver) = runner.driver() {
        store::forget_old(driver, &settings.keep)?;
    }
    fetched.keep()?;
    let id = match runner.submit(submit) {
        Ok(id) => id,
        Err(driver::Error::Refused(refused)) => {
            shell.say(format!("the submission is refused: {refused}"));
            return Ok(Exit::Fault);
        }
        Err(error) => return Err(store::failure(error)),
    };
    let following = Following {
        store: &arguments.store,
        settings: &settings,
        format: arguments.format,
        detach: arguments.detach_on_signal,
        from: 0,
    };
    store::follow(runner, &id, &following, shell)
}

/// Restricts a submission to the requested part of its plan, drops empty properties, and hides its secrets from now on.
fn settle(
    prepared: &mut Prepared,
    arguments: &Arguments,
    shell: &mut Shell,
) -> miette::Result<Plan> {
    let submit = &mut prepared.submit;
    submit.plan = part(std::mem::take(&mut submit.plan), arguments)?;
    let given_here = submit.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    properties::say_empty(given_here, shell);
    submit.properties.retain(|_, value| !value.is_empty());
    // A rerun reads the definition again, and runs the same part of it.
    for (name, node) in [(driver::FROM, &arguments.begin), (driver::ONLY, &arguments.only)] {
        if let Some(node) = node {
            submit.properties.insert(name.to_owned(), node.clone());
        }
    }
    let plan = Plan::from_bytes(&submit.plan).map_err(|error| Failure::new(error.to_string()))?;
    shell.hide(store::masker(&prepared.settings, &submit.properties, Some(&plan)));
    Ok(plan)
}

/// Prints the properties that a job would have, and reports what would have no effect or be refused in it.
fn dry_run(
    path: &Path,
    prepared: &Prepared,
    plan: &Plan,
    properties: &PropertyArguments,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let Prepared { submit, settings, files, .. } = prepared;
    store::say_idle(settings, shell);
    // Nothing is started, but what has no effect depends on where programs would run.
    let working = shell.working_project().and_then(|project| project.settings(path));
    let working = working.map_or_else(|_| settings.clone(), |loaded| loaded.settings);
    for note in unheeded(plan, submit, files, &working) {
        shell.say(note.text);
    }
    if !is_plan(path) {
        let whole = Whole::read(&shell.working_project()?, path, properties, shell)?;
        // The first is the workflow itself, of which only a part may have been requested.
        for note in whole.workflows.iter().skip(1).flat_map(Examined::notes) {
            shell.say(note.text);
        }
    }
    for (name, value) in &submit.properties {
        shell.line(format!("{name}={}", settings.secrets.shown(name, value)))?;
    }
    Ok(Exit::Success)
}

/// Returns what has no effect in a run of the workflow here.
fn unheeded(
    plan: &Plan,
    submit: &Submit,
    files: &Files,
    settings: &Settings,
) -> Vec<unheeded::Note> {
    let given = submit.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    unheeded::notes(plan, files, settings, given)
}

/// Returns the requested part of a plan.
fn part(bytes: Vec<u8>, arguments: &Arguments) -> miette::Result<Vec<u8>> {
    let Some(name) = arguments.begin.as_ref().or(arguments.only.as_ref()) else { return Ok(bytes) };
    let plan = Plan::from_bytes(&bytes).map_err(|error| Failure::new(error.to_string()))?;
    let names: Vec<String> = plan.nodes.iter().map(|node| node.name.clone()).collect();
    let part = match arguments.only {
        Some(_) => plan.only(name),
        None => plan.beginning_at(name),
    };
    let failure = match part {
        Ok(plan) => return Ok(plan.to_bytes()),
        Err(NoPart::Unknown) => {
            let failure = Failure::new(format!("the workflow has no node `{name}`"));
            match diag::nearest(name, names.iter().map(String::as_str)) {
                Some(near) => failure.help(format!("did you mean `{near}`?")),
                None => failure,
            }
        }
        Err(NoPart::InFork { join }) => {
            let message = format!(
                "`{name}` is on one branch of a fork, and its join `{join}` would wait for the others"
            );
            Failure::new(message).help("start at the fork, or run the action alone with --only")
        }
        Err(NoPart::NoAction) => {
            let message = format!("`{name}` is not an action, and only an action can be run alone");
            Failure::new(message).help(format!("`--from {name}` starts there"))
        }
        Err(NoPart::Endless) => {
            let message = format!("a run that starts at `{name}` would never end");
            Failure::new(message)
                .help("no path from `start` leads to it, so a server does not check it")
        }
        Err(NoPart::NoEnd) => {
            Failure::new("the workflow has no end node, so no run of it can succeed")
        }
    };
    Err(failure.into())
}

/// Simulates a coordinator or a bundle.
fn simulated(path: &Path, arguments: &Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let cache = shell.project()?;
    let found = timeline::find(&cache, path)?;
    let loaded = cache.load(&found, &arguments.properties.given(), None)?;
    let root = arguments.root.as_deref();
    let far = |uri: &FileUri| fetched::lying(uri, &loaded, root);
    let tracks = timeline::tracks(&loaded, &cache, Some(&far), shell)?;
    timeline::admit(&tracks.tracks)?;
    let data = timeline::on_disk(arguments.root.as_deref(), &loaded)?;
    let (at, until, format) = (arguments.at, arguments.until, arguments.format);
    simulate::run(
        &simulate::Asked { tracks: &tracks, at, until, data: data.as_ref(), format },
        shell,
    )
}

fn is_plan(path: &Path) -> bool {
    let mut head = [0; 8];
    let read = Tree::of(path).and_then(|tree| tree.open(path, 8)?.0.read_exact(&mut head));
    read.is_ok() && &head == b"ANKUSPLN"
}

fn of_plan(
    path: &Path,
    project: &Project,
    given: &Given,
    shell: &mut Shell,
) -> miette::Result<Option<Prepared>> {
    let plan = match plan::read(path, project)? {
        Ok(plan) => plan,
        Err(why) => {
            shell.say(why);
            return Ok(None);
        }
    };
    let definition = PathBuf::from(&plan.path);
    let (settings, settings_file) = store::settings_of(shell, &definition)?;
    let submission = project.submission(
        &Given { no_properties: true, ..given.clone() },
        path,
        ankus::check::FileKind::Workflow,
    )?;
    let mut properties: BTreeMap<String, String> =
        submission.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    properties.entry("user.name".to_owned()).or_insert_with(|| ankus_project::user().to_owned());
    properties.entry(APPLICATION_PATH.to_owned()).or_insert_with(|| {
        let folder = definition.parent().and_then(Path::file_name).unwrap_or_default();
        format!("hdfs://localhost:8020/user/{}/{}", ankus_project::user(), folder.to_string_lossy())
    });
    let folder = definition.parent().map(|folder| std::path::absolute(folder).unwrap_or_default());
    let mounts = match folder {
        Some(folder) if folder.is_dir() => {
            vec![(application::folder_uri(&properties), folder)]
        }
        _ => Vec::new(),
    };
    let submit = Submit { plan: plan.to_bytes(), properties, id: None, mounts };
    let files = Files::new();
    Ok(Some(Prepared { submit, settings, settings_file, files }))
}

fn of_application(
    path: &Path,
    arguments: &Arguments,
    project: &Project,
    shell: &mut Shell,
) -> miette::Result<Option<Prepared>> {
    let application = project.application(path, &arguments.properties.given())?;
    let errors = application.errors();
    if !errors.findings.is_empty() {
        let mut text = render::human::render(&errors, shell.talk_width());
        text.trim_end();
        shell.tell(text);
    }
    let plan = match application.plan() {
        Ok(plan) => plan,
        Err(why) => {
            shell.say(why);
            return Ok(None);
        }
    };
    if let Some((code, subject)) = application.refusal() {
        let target = application.settings().target.name();
        let why = refusal(code, &subject, &application.properties());
        shell.tell(format!("Oozie {target} would refuse this submission: {code}{why}"));
        return Ok(None);
    }
    if arguments.strict && !errors.findings.is_empty() {
        shell.say("not run, because it has errors (--strict)");
        return Ok(None);
    }
    let properties = application.properties();
    // If only a part is requested, the rest is not evaluated either.
    let is_whole = arguments.begin.is_none() && arguments.only.is_none();
    if arguments.dry_run
        && is_whole
        && let Some(why) = unevaluable(&application)
    {
        shell.tell(format!("a dry run on a server fails: E0803{why}"));
        return Ok(None);
    }
    let mounts = application.mounts(&properties);
    let submit = Submit { plan: plan.to_bytes(), properties, id: None, mounts };
    let settings = application.settings().clone();
    let settings_file = application.loaded.settings.file.clone();
    let files = application.loaded.files;
    Ok(Some(Prepared { submit, settings, settings_file, files }))
}

/// Resumes a job, whether it was interrupted or suspended.
fn resume(id: &str, arguments: &Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    if coordinator::is_one(id, &arguments.store)? {
        return coordinator::resume(id, arguments, shell);
    }
    take_up(
        id,
        &arguments.store,
        arguments.root.as_deref(),
        arguments.format,
        arguments.detach_on_signal,
        shell,
    )
}

/// Does the same for `ankus job resume`.
pub(super) fn take_up(
    id: &str,
    store: &StoreArguments,
    root: Option<&Path>,
    format: RunFormat,
    detach: bool,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    let shown = store::job(&*reader, id)?;
    let definition = Path::new(&shown.plan.path);
    let (settings, file) = store::settings_of_job(&*reader, id, shell, definition)?;
    let needs = needs::needs(root, &settings, file.as_deref())?;
    let kept = driver::needs::of_job(&*reader, id).map_err(store::failure)?;
    if let Some(kept) = kept.filter(|kept| root.is_some() && kept.root != needs.root) {
        let root = kept.root.display();
        shell.say(format!("--root has no effect: the job keeps its root, {root}"));
    }
    let mut runner = Runner::open(store, needs, needs::own_limits(shell)?)?;
    let following =
        Following { store, settings: &settings, format, detach, from: shown.record.moments };
    if !shown.run.job.status.is_end() {
        runner.activate(id).map_err(store::failure)?;
        if shown.run.job.status == JobStatus::Suspended {
            runner.command(id, Command::Resume).map_err(store::failure)?;
            let reader = store::reader(store)?;
            store::until(store::PATIENCE, || {
                let record = store::job_record(&*reader, id)?;
                let is_suspended = record.job.status == JobStatus::Suspended;
                Ok(!is_suspended || record.moments != following.from)
            })?;
        }
    }
    store::follow(runner, id, &following, shell)
}

/// Maximum number of failures that a dry run reports at once.
const MOST_UNEVALUABLE: usize = 1_000;
const GIVE: &str = "\n  help: give them with -D NAME=VALUE, or in a file with -P";

fn named(names: &[&str]) -> String {
    let names = names.iter().map(|name| format!("`{}`", ankus::text::line(name)));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns why a dry run on a server fails: all names that nothing sets, or else the first expression that cannot be
/// evaluated.
fn unevaluable(application: &Application) -> Option<String> {
    let failures = evaluated::failures(application, MOST_UNEVALUABLE);
    let other = failures.iter().find(|failure| failure.reason != Reason::UnknownVariable);
    let mut names: Vec<&str> =
        failures.iter().filter_map(|failure| failure.name.as_deref()).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    match other {
        Some(other) => Some(format!(", {}", ankus::text::line(&other.message))),
        None if names.is_empty() => None,
        None => {
            let variables = if names.len() == 1 { "the variable" } else { "the variables" };
            Some(format!(", no value for {variables} {}{GIVE}", named(&names)))
        }
    }
}

/// Returns the subject of a refusal, and advice.
fn refusal(code: &str, subject: &[&str], properties: &BTreeMap<String, String>) -> String {
    match (code, subject) {
        ("E0738", names) if !names.is_empty() => {
            let parameters = if names.len() == 1 { "the parameter" } else { "the parameters" };
            format!(", no value for {parameters} {}{GIVE}", named(names))
        }
        ("E0803", ["EL_ERROR", names @ ..]) if !names.is_empty() => {
            // A function cannot be provided by a property.
            let is_absent = |name: &&str| !name.contains(':') && !properties.contains_key(*name);
            let absent = names.iter().all(is_absent);
            let help = if absent { GIVE } else { "" };
            format!(", an expression cannot be evaluated: {}{help}", named(names))
        }
        (_, []) => String::new(),
        (_, subject) => format!(" ({})", ankus::text::line(&subject.join(", "))),
    }
}
