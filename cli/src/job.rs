//! `ankus job`: commands on jobs, whether they run here, in another process, or not at all.

use super::coordinator::{self, Job};
use super::operate::{self, Again, Scope, Wish};
use super::run::take_up;
use super::runner::Runner;
use super::store::{self, Following, Masked, RunFormat, StoreArguments};
use super::up;
use super::{Exit, Failure, Shell, action, graph, listing, log, needs, properties, remote};
use ankus::settings::Settings;
use ankus::text::hanging;
use ankus_engine::driver::object::{self, Mask};
use ankus_engine::driver::{self, purge, view};
use ankus_lang::machine::{Command, JobStatus, Status};
use ankus_lang::plan::{NOWHERE, Work};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// List, show and control the jobs of a store, whichever process runs them.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// URL of an Oozie server to ask instead of a store. Without `--store` and `ANKUS_STORE`, `OOZIE_URL` is used if set.
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    store: StoreArguments,
    #[command(subcommand)]
    command: JobCommand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Readable text.
    Human,
    /// The objects of the web services.
    Json,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum JobCommand {
    /// List jobs, the newest first.
    List {
        /// Only jobs that match, as `status=RUNNING;user=ann;name=load`. Names: status, user, name, group, id, text, frequency, unit,
        /// startcreatedtime, endcreatedtime, sortby.
        #[arg(long, value_name = "FILTER", default_value = "")]
        filter: String,
        /// Maximum number of jobs.
        #[arg(long, value_name = "N", default_value_t = 100)]
        len: usize,
        /// Number of the first job to list, counting from 1.
        #[arg(long, value_name = "N", default_value_t = 1)]
        offset: usize,
        /// Output format.
        #[arg(long, value_enum, default_value = "human")]
        format: Format,
    },
    /// Show a job and its actions, or one of them.
    Show {
        /// The job: its id, a unique prefix of it, or `latest`; with `@NAME` (or `@NUMBER` for a coordinator), one of its
        /// actions in full.
        id: String,
        /// Show what the job runs with instead: file root, hosts, tools, environment variables.
        #[arg(long)]
        environment: bool,
        /// Output format.
        #[arg(long, value_enum, default_value = "human")]
        format: Format,
    },
    /// Print the log of a job and the output of its programs.
    Log(log::Arguments),
    /// Draw the application of a job and the path it took.
    Graph {
        /// The job: its id, a unique prefix of it, or `latest`.
        id: String,
        /// Output format.
        #[arg(long, value_name = "FORMAT", default_value = "dot")]
        format: graph::Format,
        /// Write to a file instead of standard output.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Remove ended jobs from the store, with the output of their programs.
    Purge {
        /// Jobs to remove, however recently they ended.
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        /// Remove jobs that ended at least this many days ago.
        #[arg(long, value_name = "DAYS", default_value_t = 30, conflicts_with = "ids")]
        older_than: u32,
        /// List the jobs that would be removed, without removing them.
        #[arg(long)]
        dry_run: bool,
    },
    /// Suspend a job. Actions that are running continue; no new ones start.
    Suspend {
        /// The job: its id, a unique prefix of it, or `latest`.
        id: String,
    },
    /// Resume a suspended or interrupted job, in this process unless another one runs it.
    Resume {
        /// The job: its id, a unique prefix of it, or `latest`.
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// Resume every job, coordinator and bundle, and wait until each has ended or is suspended again.
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
    /// Kill a job and every program it runs.
    Kill {
        /// The job: its id, a unique prefix of it, or `latest`.
        id: String,
        /// Do not wait for programs that do not end or cannot be reached: treat them as ended.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        scope: Scope,
    },
    /// Rerun a job that has ended.
    Rerun {
        /// The job: its id, a unique prefix of it, or `latest`.
        id: String,
        /// Skip the nodes that succeeded.
        #[arg(long, conflicts_with = "skip")]
        failed: bool,
        /// Skip these nodes (names separated by commas).
        #[arg(long, value_name = "NODES")]
        skip: Option<String>,
        /// Set one property for this run.
        #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = ankus_project::name_and_value)]
        define: Vec<(String, String)>,
        /// Do not wait for programs of the last run that do not end or cannot be reached: treat them as ended.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        scope: Scope,
        #[command(flatten)]
        again: Again,
    },
    /// Change the end, pause time, concurrency or status of a coordinator or bundle.
    Change {
        /// The job: its id, a unique prefix of it, or `latest`.
        id: String,
        /// Changes separated by `;`: `endtime=T`, `pausetime=T`, `concurrency=N`, `status=RUNNING|IGNORED`.
        value: String,
    },
    /// Ignore failed actions of a coordinator (all of them unless some are named), so that they no longer count.
    Ignore {
        /// The coordinator: its id, a unique prefix of it, or `latest`.
        id: String,
        #[command(flatten)]
        scope: Scope,
    },
    /// Replace the definition of a coordinator. Name, frequency, start, end and time zone cannot change.
    Update {
        /// The coordinator: its id, a unique prefix of it, or `latest`.
        id: String,
        /// The definition: a file or a folder.
        path: PathBuf,
        #[command(flatten)]
        properties: crate::properties::PropertyArguments,
        /// Show the differences first.
        #[arg(long)]
        diff: bool,
        /// Report whether the update would be accepted, without making it.
        #[arg(long)]
        dry_run: bool,
    },
    /// List the attempts of an action.
    Retries {
        /// The job: its id, a unique prefix of it, or `latest`.
        id: String,
        /// The name of its node.
        node: String,
    },
}

impl JobCommand {
    /// Returns the job ids among the arguments.
    fn ids(&mut self) -> Vec<&mut String> {
        match self {
            JobCommand::List { .. } => Vec::new(),
            JobCommand::Log(arguments) => vec![&mut arguments.id],
            JobCommand::Purge { ids, .. } => ids.iter_mut().collect(),
            JobCommand::Resume { id, .. } => id.iter_mut().collect(),
            JobCommand::Show { id, .. }
            | JobCommand::Graph { id, .. }
            | JobCommand::Suspend { id }
            | JobCommand::Kill { id, .. }
            | JobCommand::Rerun { id, .. }
            | JobCommand::Change { id, .. }
            | JobCommand::Ignore { id, .. }
            | JobCommand::Update { id, .. }
            | JobCommand::Retries { id, .. } => vec![id],
        }
    }
}

/// Adapts the arguments to the flags of `ankus job`: Oozie's own have a single dash, as `-filter` and `-len`.
pub(super) fn with_own_flags(
    command: &clap::Command,
    mut arguments: Vec<OsString>,
) -> Vec<OsString> {
    if arguments.get(1).is_none_or(|word| word != "job") {
        return arguments;
    }
    let Some(job) = command.find_subcommand("job") else { return arguments };
    let named = arguments[2..].iter().find_map(|word| job.find_subcommand(word));
    let Some(named) = named else { return arguments };
    let is_flag = |name: &str| named.get_arguments().any(|known| known.get_long() == Some(name));
    for argument in arguments[2..].iter_mut().take_while(|word| **word != "--") {
        let Some(flag) = argument.to_str().and_then(|text| text.strip_prefix('-')) else {
            continue;
        };
        let name = flag.split_once('=').map_or(flag, |(name, _)| name);
        if name.len() > 1 && is_flag(name) {
            *argument = format!("--{flag}").into();
        }
    }
    arguments
}

pub(super) fn run(mut arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    if let Some(url) = remote::server_of(arguments.url.as_deref())? {
        return remote::run(&url, arguments.command, shell);
    }
    let store = &arguments.store;
    let ids = arguments.command.ids();
    if !ids.is_empty() {
        let reader = store::reader(store)?;
        for id in ids {
            *id = store::resolve(&*reader, id)?;
        }
    }
    if let JobCommand::Rerun { define, .. } = &arguments.command {
        let given = define.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        properties::say_empty(given, shell);
    }
    match arguments.command {
        JobCommand::List { filter, len, offset, format } => {
            listing::run(store, &filter, len, offset, format == Format::Json, shell)
        }
        JobCommand::Show { id, environment: true, format } => {
            environment(store, &id, format, shell)
        }
        JobCommand::Show { id, format, .. } => match action::split(&id) {
            Some((job, named)) => show_action(store, job, named, format, shell),
            None => show(store, &id, format, shell),
        },
        JobCommand::Log(arguments) => log::run(store, &arguments, shell),
        JobCommand::Graph { id, format, output } => {
            graph::of_job(&id, store, format, output, shell)
        }
        JobCommand::Purge { ids, older_than, dry_run } => {
            purge(store, &ids, older_than, dry_run, shell)
        }
        JobCommand::Suspend { id } if coordinator::is_one(&id, store)? => {
            operate::steer(store, &id, Wish::Suspend, false, shell)
        }
        JobCommand::Suspend { id } => steer(store, &id, Command::Suspend, false, shell),
        JobCommand::Kill { id, scope, force } if coordinator::is_one(&id, store)? => {
            operate::steer(store, &id, Wish::Kill(scope), force, shell)
        }
        JobCommand::Kill { id, scope, force } => {
            only_of_coordinators(&id, scope.is_given())?;
            steer(store, &id, Command::Kill, force, shell)
        }
        JobCommand::Resume { id: None, .. } => up::resume_all(store, shell),
        JobCommand::Resume { id: Some(id), .. } if coordinator::is_one(&id, store)? => {
            coordinator::take_up(&id, store, None, RunFormat::Human, shell)
        }
        JobCommand::Resume { id: Some(id), .. } => resume(store, &id, shell),
        JobCommand::Change { id, value } => {
            only_of_coordinators(&id, !coordinator::is_one(&id, store)?)?;
            operate::steer(store, &id, Wish::Change(value), false, shell)
        }
        JobCommand::Ignore { id, scope } => {
            only_of_coordinators(&id, !coordinator::is_one(&id, store)?)?;
            operate::steer(store, &id, Wish::Ignore(scope), false, shell)
        }
        JobCommand::Update { id, path, properties, diff, dry_run } => {
            only_of_coordinators(&id, !coordinator::is_one(&id, store)?)?;
            let definition = Box::new(coordinator::updated(&path, &properties, shell)?);
            if diff {
                operate::difference(store, &id, &definition, shell)?;
            }
            if dry_run {
                return operate::would_update(store, &id, &definition, shell);
            }
            operate::steer(store, &id, Wish::Update(definition), false, shell)
        }
        JobCommand::Rerun { id, failed, define, force, scope, again, .. }
            if coordinator::is_one(&id, store)? =>
        {
            let wish = Wish::Rerun { scope, again, failed, define };
            operate::steer(store, &id, wish, force, shell)
        }
        JobCommand::Rerun { id, failed, skip, define, force, scope, again } => {
            let Again { refresh, nocleanup, coordinator } = again;
            let is_given = refresh || nocleanup || coordinator.is_some() || scope.is_given();
            only_of_coordinators(&id, is_given)?;
            let mut properties: BTreeMap<String, String> = define.into_iter().collect();
            // The options of an earlier rerun stay in the configuration of the job, as on a server; here the flags of
            // this one take precedence.
            let mut ask = |name: &str, value: String| {
                properties.entry(format!("oozie.wf.rerun.{name}")).or_insert(value);
            };
            ask("failnodes", failed.to_string());
            ask("skip.nodes", skip.unwrap_or_default());
            rerun(store, &id, &properties, force, shell)
        }
        JobCommand::Retries { id, node } => retries(store, &id, &node, shell),
    }
}

fn only_of_coordinators(id: &str, is_asked: bool) -> miette::Result<()> {
    match is_asked {
        true => Err(Failure::new(format!("`{id}` is neither a coordinator nor a bundle")).into()),
        false => Ok(()),
    }
}

fn show(
    store: &StoreArguments,
    id: &str,
    format: Format,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    if let Some(job) = Job::find(&*reader, id)? {
        return operate::show(&*reader, &job, format == Format::Json, shell);
    }
    let shown = store::job(&*reader, id)?;
    let definition = Path::new(&shown.plan.path);
    let (settings, _) = store::settings_of_job(&*reader, id, shell, definition)?;
    let mask = Masked::new(&settings, &shown);
    shell.hide(mask.0.clone());
    store::say_missing(&shown.missing, shell);
    let (run, plan) = (&shown.run, &shown.plan);
    let stopping = view::stopping(&*reader, &shown.record).map_err(store::failure)?;
    let waiting = match shown.record.open.is_empty() {
        true => Vec::new(),
        false => store::waiting(store, id, shell),
    };
    if format == Format::Json {
        let mut object = store::full(run, plan, shown.fault.as_ref(), &mask);
        if !waiting.is_empty() {
            object["waiting"] = waiting.len().into();
        }
        for waiting in &waiting {
            let name = plan.node(waiting.node).name.as_str();
            let actions = object["actions"].as_array_mut().into_iter().flatten();
            for action in actions.filter(|action| action["name"] == name) {
                action["waiting"] = store::waiting_object(waiting);
            }
        }
        if stopping > 0 {
            object["stopping"] = stopping.into();
        }
        shell.json(&object)?;
        return Ok(Exit::Success);
    }
    let job = &run.job;
    let when = |ms: Option<i64>| ms.map_or("-".to_owned(), object::instant);
    let status = match stopping {
        0 => job.status.name().to_owned(),
        programs => format!("{}, {}", job.status.name(), store::still_stopping(programs)),
    };
    shell.line(format!("{} {} ({status})", job.id, job.name))?;
    shell.line(format!("  path     {}", job.app_path))?;
    shell.line(format!("  user     {}", job.user))?;
    shell.line(format!("  run      {}", job.run))?;
    let took = store::took(job.started, job.ended).unwrap_or("-".to_owned());
    let (started, ended) = (when(job.started), when(job.ended));
    shell.out(format!("  started  {started}\n  ended    {ended}\n  took     {took}\n\n"))?;
    if let Some((code, message)) = &shown.fault {
        let message = store::without_code(code, message);
        shell.out(hanging(&format!("  {code}: "), &mask.text(message)) + "\n\n")?;
    }
    if let Some(sla) = run.expectations.get(&NOWHERE) {
        shell.line(format!("  {}", operate::sla_line(sla)))?;
        shell.out("\n")?;
    }
    let rows = run.in_order();
    let width =
        rows.iter().map(|(node, _)| plan.node(*node).name.chars().count()).max().unwrap_or(0);
    let width = width.min(ankus::text::WIDEST);
    for (index, row) in rows {
        let node = plan.node(index);
        let pad = width.saturating_sub(node.name.chars().count());
        let target = row.transition.as_deref().map_or(String::new(), |to| format!(" -> {to}"));
        let kind = node.work.row_type().trim_matches(':').to_ascii_lowercase();
        let waiting = waiting.iter().find(|waiting| waiting.node == index);
        let waiting = waiting
            .map_or(String::new(), |waiting| format!(", {}", store::waits_for(&waiting.what)));
        // Decisions and control nodes take no time.
        let is_action = matches!(node.work, Work::Action(_));
        let is_under_way = row.status == Status::Running || row.ended.is_some();
        let took = store::took(row.started, row.ended).filter(|_| is_action && is_under_way);
        let took = took.map_or(String::new(), |took| format!("  ({took})"));
        shell.line(format!(
            "  {}{:pad$}  {kind:<12} {}{waiting}{target}{took}",
            node.name,
            "",
            row.status.name()
        ))?;
        if let (Some(code), Some(message)) = (&row.error.code, &row.error.message) {
            let message = store::without_code(code, message);
            shell.out(hanging(&format!("    {code}: "), &mask.text(message)) + "\n")?;
        }
        for line in row.output.data.as_deref().unwrap_or_default().lines() {
            shell.line(format!("    {}", mask.text(line)))?;
        }
        if let Some(sla) = run.expectations.get(&index) {
            shell.line(format!("    {}", operate::sla_line(sla)))?;
        }
    }
    Ok(Exit::Success)
}

/// Shows an action of a workflow or a coordinator; for a coordinator, then the workflow that it started.
fn show_action(
    store: &StoreArguments,
    job: &str,
    named: &str,
    format: Format,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    let object = match Job::find(&*reader, job)? {
        Some(Job::Coordinator(record)) => {
            operate::hide(&*reader, &Job::Coordinator(record.clone()), shell)?;
            operate::coordinator_object(&*reader, &record, true)?
        }
        Some(Job::Bundle(_)) => {
            let failure = Failure::new(format!("`{job}` is a bundle, which has no actions"));
            return Err(failure.help("`ankus job show` lists its coordinators").into());
        }
        None => {
            let shown = store::job(&*reader, job)?;
            let definition = Path::new(&shown.plan.path);
            let (settings, _) = store::settings_of_job(&*reader, job, shell, definition)?;
            let mask = Masked::new(&settings, &shown);
            shell.hide(mask.0.clone());
            store::full(&shown.run, &shown.plan, shown.fault.as_ref(), &mask)
        }
    };
    let found = action::find(&object, named)?;
    if format == Format::Json {
        shell.json(found)?;
        return Ok(Exit::Success);
    }
    action::print(found, shell)?;
    let workflow = found["externalId"].as_str().filter(|_| !found["actionNumber"].is_null());
    if let Some(workflow) = workflow {
        shell.line("")?;
        return show(store, workflow, format, shell);
    }
    Ok(Exit::Success)
}

fn open(store: &StoreArguments, id: &str, shell: &Shell) -> miette::Result<Opened> {
    let reader = store::reader(store)?;
    let shown = store::job(&*reader, id)?;
    let definition = Path::new(&shown.plan.path);
    let (settings, file) = store::settings_of_job(&*reader, id, shell, definition)?;
    let needs = needs::needs(None, &settings, file.as_deref())?;
    let runner = Runner::open(store, needs, needs::own_limits(shell)?)?;
    Ok(Opened { runner, shown, settings })
}

/// Shows the environment of a job, whichever process runs it.
fn environment(
    store: &StoreArguments,
    id: &str,
    format: Format,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    let Some(kept) = driver::needs::of_job(&*reader, id).map_err(store::failure)? else {
        let message =
            format!("an older ankus submitted `{id}`, and did not record what it runs with");
        return Err(Failure::new(message)
            .help("it uses the environment of the user who runs it")
            .into());
    };
    let settings = needs::settings_of(&kept).map_err(Failure::new)?;
    // A variable may contain a value that is secret in a property of the job, or in another variable.
    let mut masker = store::masker(&settings, &kept.environment, None);
    if let Ok(job) = store::job(&*reader, id) {
        masker.add(job.run.conf.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    }
    shell.hide(masker);
    let shown = |map: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        let shown = |(name, value): (&String, &String)| {
            (name.clone(), settings.secrets.shown(name, value).to_string())
        };
        map.iter().map(shown).collect()
    };
    let (hosts, tools, server) = (shown(&kept.hosts), shown(&kept.tools), shown(&kept.server));
    let variables = shown(&kept.environment);
    if format == Format::Json {
        let object = json!({
            "version": 1,
            "id": id,
            "user": kept.user,
            "root": kept.root,
            "settings": kept.settings_file,
            "hosts": hosts,
            "tools": tools,
            "server": server,
            "graceSeconds": kept.grace_ms as f64 / 1000.0,
            "startsAgain": kept.starts_again,
            "output": kept.output,
            "outputOfJob": kept.output_of_job,
            "sandbox": kept.sandbox.kind.name(),
            "network": kept.sandbox.network,
            "writable": kept.sandbox.writable,
            "timeSeconds": kept.bounds.time_ms.map(|ms| ms as f64 / 1000.0),
            "cpuSeconds": kept.bounds.cpu_seconds,
            "memory": kept.bounds.memory,
            "disk": kept.bounds.disk,
            "tasks": kept.sandbox.tasks,
            "environment": variables,
        });
        shell.json(&object)?;
        return Ok(Exit::Success);
    }
    let settings_file = kept.settings_file.as_deref().unwrap_or(Path::new("-")).display();
    let root = kept.root.display();
    shell.out(format!("user      {}\nroot      {root}\nsettings  {settings_file}\n", kept.user))?;
    let sandbox = kept.sandbox.kind.name();
    shell.line(format!("sandbox   {sandbox}"))?;
    for (title, map) in
        [("hosts", hosts), ("tools", tools), ("server", server), ("environment", variables)]
    {
        if map.is_empty() {
            continue;
        }
        shell.out(format!("\n{title}\n"))?;
        for (name, value) in map {
            shell.line(format!("  {name}={value}"))?;
        }
    }
    Ok(Exit::Success)
}

/// A store that was opened for a command about a job.
struct Opened {
    runner: Runner,
    shown: store::Shown,
    settings: Arc<Settings>,
}

/// Removes ended jobs from the store: workflows without a parent, coordinators and bundles, each with everything below
/// it.
fn purge(
    store: &StoreArguments,
    ids: &[String],
    older_than: u32,
    dry_run: bool,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let before = elapsed.as_millis() as i64 - i64::from(older_than) * 86_400_000;
    let mut chosen = Vec::new();
    for id in ids {
        let Some(top) = purge::top_of(&*reader, id).map_err(store::failure)? else {
            return Err(store::failure(driver::Error::Unknown(id.clone())));
        };
        if top != *id {
            let failure = Failure::new(format!("`{id}` belongs to `{top}`"));
            return Err(failure.help("it is removed together with that job").into());
        }
        chosen.push(id.clone());
    }
    if ids.is_empty() {
        let tops = purge::tops(&*reader).map_err(store::failure)?;
        let old = tops.into_iter().filter(|top| top.ended.is_some_and(|ended| ended < before));
        chosen.extend(old.map(|top| top.id));
    }
    if dry_run || chosen.is_empty() {
        for id in &chosen {
            shell.line(id)?;
        }
        shell.say(format!("{} to be purged", counted(chosen.len())));
        return Ok(Exit::Success);
    }
    let (settings, file) = store::settings_of(shell, Path::new("coordinator.xml"))?;
    let runner = Runner::open(
        store,
        needs::needs(None, &settings, file.as_deref())?,
        needs::limits(&settings),
    )?;
    let Some(driver) = runner.driver() else {
        return Err(store::is_held(store).help("purge when it has ended").into());
    };
    let gone = driver.purge(&chosen).map_err(store::failure)?;
    for id in &gone {
        shell.line(id)?;
    }
    shell.say(format!("{} purged", counted(gone.len())));
    Ok(Exit::Success)
}

pub(super) fn counted(jobs: usize) -> String {
    format!("{jobs} {}", if jobs == 1 { "job" } else { "jobs" })
}

/// Sends a command and waits until the job has processed it. The process that runs the store waits until everything
/// that a kill ends has ended.
fn steer(
    store: &StoreArguments,
    id: &str,
    command: Command,
    force: bool,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let Opened { mut runner, shown, .. } = open(store, id, shell)?;
    // An ended job may still be stopping programs, which continues now that a process runs the store.
    let is_stopping = shown.run.job.status.is_end() && !shown.record.open.is_empty();
    if !(command == Command::Kill && is_stopping) {
        let taken = runner.command(id, command);
        let is_done = || -> miette::Result<bool> {
            let status = store::job_record(&*store::reader(store)?, id)?.job.status;
            Ok(match command {
                Command::Suspend => status == JobStatus::Suspended,
                _ => status == JobStatus::Killed,
            })
        };
        match taken {
            Ok(()) => {}
            // The command was carried out, and only the answer was lost.
            Err(_) if runner.has_asked_again && is_done()? => {}
            Err(driver::Error::State(why)) => {
                shell.say(why);
                return Ok(Exit::Fault);
            }
            Err(driver::Error::Control(ankus_procedure::control::ControlError::Refused(why))) => {
                shell.say(why);
                return Ok(Exit::Fault);
            }
            Err(error) => return Err(store::failure(error)),
        }
    }
    let reader = store::reader(store)?;
    let wanted = match command {
        Command::Suspend => JobStatus::Suspended,
        _ => JobStatus::Killed,
    };
    let since = Instant::now();
    let record = loop {
        let record = store::job_record(&*reader, id)?;
        let status = record.job.status;
        if status == wanted || status.is_end() || since.elapsed() > store::PATIENCE {
            break record;
        }
        std::thread::sleep(Duration::from_millis(20));
        runner.keep_going(id).map_err(store::failure)?;
    };
    let status = record.job.status;
    let exit = Exit::fault_if(status != wanted);
    if command != Command::Kill || !status.is_end() {
        shell.line(format!("{} {id}", status.name()))?;
        return Ok(exit);
    }
    if force {
        runner.abandon(id).map_err(store::failure)?;
    }
    // Most programs end as soon as they are asked to.
    store::until(store::SHORT, || Ok(store::job_record(&*reader, id)?.open.is_empty()))?;
    let record = store::job_record(&*reader, id)?;
    match view::stopping(&*reader, &record).map_err(store::failure)? {
        0 => shell.line(format!("{} {id}", status.name()))?,
        programs => {
            let programs = store::still_stopping(programs);
            shell.line(format!("{} {id}, {programs}", status.name()))?;
        }
    }
    shell.flush()?;
    if let Some(driver) = runner.driver() {
        while !driver.wait(id, Duration::from_millis(100)).map_err(store::failure)? {}
    }
    Ok(exit)
}

fn resume(store: &StoreArguments, id: &str, shell: &mut Shell) -> miette::Result<Exit> {
    let shown = store::job(&*store::reader(store)?, id)?;
    let status = shown.run.job.status;
    if status.is_end() && shown.record.open.is_empty() {
        shell.say(format!("the job `{id}` has ended: it is {}", status.name()));
        return Ok(Exit::Fault);
    }
    take_up(id, store, None, RunFormat::Human, false, shell)
}

fn rerun(
    store: &StoreArguments,
    id: &str,
    properties: &BTreeMap<String, String>,
    force: bool,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let Opened { mut runner, shown, settings } = open(store, id, shell)?;
    if force && shown.run.job.status.is_end() {
        runner.abandon(id).map_err(store::failure)?;
    }
    let mut done = runner.rerun(id, properties);
    let reader = store::reader(store)?;
    if done.is_err()
        && runner.has_asked_again
        && store::job_record(&*reader, id)?.job.run > shown.run.job.run
    {
        // The command was carried out, and only the answer was lost. The process that runs the store now was not asked
        // to run the job.
        done = runner.activate(id);
    }
    match done {
        Ok(()) => {}
        Err(driver::Error::Refused(refused)) => {
            shell.say(format!("the rerun is refused: {refused}"));
            return Ok(Exit::Fault);
        }
        Err(driver::Error::State(why)) => {
            shell.say(format!("the rerun is refused: {why}"));
            return Ok(Exit::Fault);
        }
        Err(error) => return Err(store::failure(error)),
    }
    let following = Following {
        store,
        settings: &settings,
        format: RunFormat::Human,
        detach: false,
        from: shown.record.moments,
    };
    store::follow(runner, id, &following, shell)
}

fn retries(
    store: &StoreArguments,
    id: &str,
    node: &str,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let shown = store::job(&*store::reader(store)?, id)?;
    let Some(row) = shown.plan.find(node).and_then(|index| shown.run.rows.get(&index)) else {
        return Err(Failure::new(format!("the job has not reached a node `{node}`")).into());
    };
    let attempts = row.attempts.iter().copied().chain(row.started.map(|start| (start, row.ended)));
    for (number, (start, end)) in attempts.enumerate() {
        let end = end.map_or("-".to_owned(), object::instant);
        shell.line(format!("{}  {}  {end}", number + 1, object::instant(start)))?;
    }
    Ok(Exit::Success)
}
