//! `ankus job …` for coordinators and bundles: show, control, change and rerun, whichever process runs them.

use super::coordinator::{self, Following, Job, Seen};
use super::runner::Runner;
use super::store::{self, RunFormat, StoreArguments};
use super::{Exit, Failure, Shell, log, needs};
use ankus::edit;
use ankus::settings::secrets::Masker;
use ankus::text::{self, hanging};
use ankus_engine::driver::coordinator::{self as kept, Kept, Message, Moment};
use ankus_engine::driver::{self, bundle, object};
use ankus_lang::coordinator::{Definition, Sla};
use ankus_lang::machine::coordinator::bundle::Event as BundleEvent;
use ankus_lang::machine::coordinator::{
    ActionStatus, Event, RerunOptions, ScopeKind, Status, UNSEEN,
};
use ankus_lang::time::{Instant as Time, ProcessingZone};
use ankus_procedure::control::ControlError;
use ankus_procedure::store::Reader;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Which actions a command is about.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Scope {
    /// Actions of a coordinator by number, as `1,4-6`.
    #[arg(long, value_name = "NUMBERS", conflicts_with = "date")]
    pub(super) action: Option<String>,
    /// Actions of a coordinator or bundle by nominal time, as `2026-01-01T00:00Z::2026-01-02T00:00Z`.
    #[arg(long, value_name = "DATES")]
    pub(super) date: Option<String>,
}

impl Scope {
    fn kind(&self) -> Option<(ScopeKind, String)> {
        match (&self.action, &self.date) {
            (Some(numbers), _) => Some((ScopeKind::Action, numbers.clone())),
            (None, Some(dates)) => Some((ScopeKind::Date, dates.clone())),
            (None, None) => None,
        }
    }

    /// Whether a scope was given.
    pub(super) fn is_given(&self) -> bool {
        self.kind().is_some()
    }
}

/// How a rerun is done.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Again {
    /// For a coordinator: resolve the dataset instances again.
    #[arg(long)]
    pub(super) refresh: bool,
    /// For a coordinator: do not delete the output of the actions first.
    #[arg(long)]
    pub(super) nocleanup: bool,
    /// For a bundle: only these coordinators (names separated by commas).
    #[arg(long, value_name = "NAMES")]
    pub(super) coordinator: Option<String>,
}

/// A command of an operator.
pub(super) enum Wish {
    /// Suspend the job.
    Suspend,
    /// Kill the job, or some of its actions.
    Kill(Scope),
    /// Rerun some of its actions.
    Rerun { scope: Scope, again: Again, failed: bool, define: Vec<(String, String)> },
    /// Change its end, pause or concurrency.
    Change(String),
    /// Ignore failures of some of its actions.
    Ignore(Scope),
    /// Replace its definition.
    Update(Box<Definition>),
}

fn options(again: &Again, failed: bool, define: Vec<(String, String)>) -> RerunOptions {
    let Again { refresh, nocleanup, .. } = *again;
    RerunOptions { refresh, no_cleanup: nocleanup, failed, configuration: define }
}

/// The message that is sent for a command.
pub(super) enum Sent {
    Coordinator(Message),
    Bundle(BundleEvent),
}

fn meant(job: &Job, wish: Wish) -> Result<Sent, Failure> {
    let usage = |why: &str, help: &str| Failure::new(why).help(help);
    let scoped = |scope: &Scope| {
        let help = "name actions with --action NUMBERS or --date DATES";
        scope.kind().ok_or_else(|| usage("no actions are named", help))
    };
    Ok(match job {
        Job::Coordinator(_) => Sent::Coordinator(match wish {
            Wish::Suspend => Message::Event(Event::Suspend),
            Wish::Kill(scope) => Message::Event(match scope.kind() {
                Some((kind, text)) => Event::KillActions(kind, text),
                None => Event::Kill,
            }),
            Wish::Rerun { scope, again, failed, define } => {
                let (kind, text) = scoped(&scope)?;
                let options = options(&again, failed, define);
                Message::Event(Event::Rerun(kind, text, options))
            }
            Wish::Change(value) => Message::Event(Event::Change(value)),
            Wish::Ignore(scope) => Message::Event(match scope.kind() {
                Some((kind, text)) => Event::IgnoreActions(kind, text),
                None => Event::Change("status=IGNORED".to_owned()),
            }),
            Wish::Update(definition) => Message::Update(definition),
        }),
        Job::Bundle(bundle) => Sent::Bundle(match wish {
            Wish::Suspend => BundleEvent::Suspend,
            Wish::Kill(scope) if !scope.is_given() => BundleEvent::Kill,
            Wish::Rerun { scope, again, failed, define } => {
                if scope.action.is_some() {
                    let help = "use --coordinator NAMES and --date DATES";
                    return Err(usage("the actions of a bundle have no numbers", help));
                }
                let options = options(&again, failed, define);
                let names = again.coordinator.unwrap_or_default();
                let dates = scope.date.unwrap_or_default();
                if names.is_empty() && dates.is_empty() {
                    let help = "use --coordinator NAMES, --date DATES or both";
                    return Err(usage("neither coordinators nor dates are named", help));
                }
                let known = |name: &&str| bundle.job.members.iter().any(|it| it.name == **name);
                let mut named = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                if let Some(name) = named.find(|name| !known(name)) {
                    let id = &bundle.id;
                    let help = "`ankus job show ID` lists the coordinators of a bundle";
                    return Err(usage(&format!("`{id}` has no coordinator `{name}`"), help));
                }
                BundleEvent::Rerun(names, dates, options)
            }
            Wish::Change(value) => BundleEvent::Change(value),
            Wish::Kill(_) | Wish::Ignore(_) | Wish::Update(_) => {
                let help = "`ankus job show ID` lists the coordinators of a bundle";
                return Err(usage("this is for a coordinator, not for a bundle", help));
            }
        }),
    })
}

/// Sends a command to a job, and waits until the job has processed it.
pub(super) fn steer(
    store: &StoreArguments,
    id: &str,
    wish: Wish,
    force: bool,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    let job = Job::read(&*reader, id)?;
    let wanted = match &wish {
        Wish::Suspend => Some(Status::Suspended),
        Wish::Kill(scope) if !scope.is_given() => Some(Status::Killed),
        _ => None,
    };
    let numbers = match &wish {
        Wish::Kill(scope) | Wish::Ignore(scope) | Wish::Rerun { scope, .. } => scope.action.clone(),
        _ => None,
    };
    let runs_on = matches!(wish, Wish::Rerun { .. });
    let is_kill = matches!(wish, Wish::Kill(_));
    let sent = meant(&job, wish)?;
    if wanted.is_some() && job.status().is_end() {
        shell.say(format!("the job `{id}` has ended: it is {}", job.status().name()));
        return Ok(Exit::Fault);
    }
    if let (Some(numbers), Job::Coordinator(record)) = (numbers, &job) {
        some_of_them(&*reader, record, &numbers)?;
    }
    let seen = Seen::now(&*reader, &job)?;
    let definition = Path::new("coordinator.xml");
    let (settings, file) = store::settings_of_job(&*reader, id, shell, definition)?;
    let needs = needs::needs(None, &settings, file.as_deref())?;
    let mut runner = Runner::open(store, needs, needs::own_limits(shell)?)?;
    if force && !is_kill {
        abandon(&*reader, id, &mut runner)?;
    }
    let before = stamp(&job);
    let mut taken = send(&mut runner, id, &sent);
    if taken.is_err() && runner.has_asked_again && stamp(&Job::read(&*reader, id)?) != before {
        // The process that ran the store has exited, perhaps because this command ended its job, and the second attempt
        // is refused.
        taken = Ok(());
    }
    match taken {
        Ok(()) => {}
        Err(driver::Error::State(why)) => {
            shell.say(why);
            return Ok(Exit::Fault);
        }
        Err(driver::Error::Control(ControlError::Refused(why))) => {
            shell.say(why);
            return Ok(Exit::Fault);
        }
        Err(error) => return Err(store::failure(error)),
    }
    let is_mine = runner.driver().is_some();
    if runs_on && is_mine {
        let following = Following { store, format: RunFormat::Human };
        return coordinator::follow(runner, id, seen, &following, shell);
    }
    let status = settled(&*reader, id, wanted, &mut runner)?;
    let stopping = || stopping(&*reader, id);
    if force && is_kill {
        abandon(&*reader, id, &mut runner)?;
    }
    if is_kill {
        store::until(store::SHORT, || Ok(stopping()? == 0))?;
    }
    match stopping()? {
        0 => shell.line(format!("{} {id}", status.name()))?,
        programs => {
            let programs = store::still_stopping(programs);
            shell.line(format!("{} {id}, {programs}", status.name()))?;
        }
    }
    shell.flush()?;
    // The process that runs the store waits until everything that a kill ends has ended.
    while is_kill && runner.driver().is_some() && stopping()? > 0 {
        std::thread::sleep(Duration::from_millis(50));
    }
    let is_wanted = match wanted {
        Some(Status::Suspended) => matches!(status, Status::Suspended | Status::PrepSuspended),
        Some(wanted) => status == wanted,
        None => true,
    };
    Ok(Exit::fault_if(!is_wanted))
}

/// Waits until a durable command has had its effect, or for as long as one usually takes. Returns the status of the job.
fn settled(
    reader: &dyn Reader,
    id: &str,
    wanted: Option<Status>,
    runner: &mut Runner,
) -> miette::Result<Status> {
    let is_mine = runner.driver().is_some();
    let patience = Duration::from_secs(if wanted.is_some() { 30 } else { 2 });
    let since = Instant::now();
    loop {
        let job = Job::read(reader, id)?;
        let is_settled = !is_mine || !job.is_pending() || since.elapsed() > Duration::from_secs(2);
        let has_come = match wanted {
            Some(wanted) => has_come(&job, wanted),
            None => !job.has_messages(reader)?,
        };
        if has_come && is_settled || since.elapsed() > patience {
            return Ok(job.status());
        }
        std::thread::sleep(Duration::from_millis(20));
        runner.keep_going(id).map_err(store::failure)?;
    }
}

/// The number of programs of a coordinator, or of all coordinators of a bundle, that have yet to end after a kill.
fn stopping(reader: &dyn Reader, id: &str) -> miette::Result<usize> {
    let mut programs = 0;
    for id in members(reader, id)? {
        programs += driver::view::stopping_of_coordinator(reader, &id).map_err(store::failure)?;
    }
    Ok(programs)
}

/// Whether a job has the wanted status, or will not reach it.
fn has_come(job: &Job, wanted: Status) -> bool {
    let status = job.status();
    match wanted {
        Status::Suspended => {
            status.is_end() || matches!(status, Status::Suspended | Status::PrepSuspended)
        }
        wanted => status == wanted || status.is_end(),
    }
}

/// Returns a coordinator, or the coordinators of a bundle.
fn members(reader: &dyn Reader, id: &str) -> miette::Result<Vec<String>> {
    Ok(match Job::read(reader, id)? {
        Job::Coordinator(record) => vec![record.id],
        Job::Bundle(record) => record.coordinators.into_iter().flatten().collect(),
    })
}

/// Treats as ended what ended workflows of a coordinator or a bundle still have to stop.
fn abandon(reader: &dyn Reader, id: &str, runner: &mut Runner) -> miette::Result<()> {
    for id in members(reader, id)? {
        for action in kept::actions(reader, &id).map_err(store::failure)?.into_values() {
            let Some(workflow) = action.beside.workflow else { continue };
            let record = driver::view::record(reader, &workflow).map_err(store::failure)?;
            let is_stopping =
                |record: &driver::JobRecord| record.job.status.is_end() && !record.open.is_empty();
            if record.as_ref().is_some_and(is_stopping) {
                runner.abandon(&workflow).map_err(store::failure)?;
            }
        }
    }
    Ok(())
}

/// Fails if none of the given actions exists: such a command would be accepted without effect.
fn some_of_them(reader: &dyn Reader, record: &kept::Record, numbers: &str) -> Result<(), Failure> {
    let actions =
        kept::actions(reader, &record.id).map_err(|error| Failure::new(error.to_string()))?;
    let mut any = false;
    for part in numbers.split(',').map(str::trim) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (Ok(from), Ok(to)) = (from.trim().parse::<i64>(), to.trim().parse::<i64>()) else {
            // A scope that is not a list of numbers is refused by the receiver, with the server's code.
            return Ok(());
        };
        any |= from <= to && actions.range(from..=to).next().is_some();
    }
    if any {
        return Ok(());
    }
    let message = format!("`{}` has no action {numbers}", record.id);
    let known = match (actions.keys().next(), actions.keys().next_back()) {
        (Some(first), Some(last)) if first == last => format!("it has action {first} so far"),
        (Some(first), Some(last)) => format!("it has actions {first} to {last} so far"),
        _ => "it has none so far".to_owned(),
    };
    Err(Failure::new(message).help(known))
}

/// Shows what a new definition of a coordinator would change.
pub(super) fn difference(
    store: &StoreArguments,
    id: &str,
    new: &Definition,
    shell: &mut Shell,
) -> miette::Result<()> {
    let reader = store::reader(store)?;
    let old = kept::definition(&*reader, id).map_err(store::failure)?;
    let definition = Path::new("coordinator.xml");
    let (settings, _) = store::settings_of_job(&*reader, id, shell, definition)?;
    let text = |definition: &Definition| {
        let mut shown = definition.clone();
        for (name, value) in &mut shown.properties {
            *value = settings.secrets.shown(name, value);
        }
        let text = serde_json::to_string_pretty(&shown);
        text::json(&(text.expect("values have text for keys") + "\n")).into_owned()
    };
    let (old, new) = (text(&old), text(new));
    shell.out(edit::difference(id, "update", &old, &new))
}

/// Reports whether a coordinator would accept a new definition.
pub(super) fn would_update(
    store: &StoreArguments,
    id: &str,
    new: &Definition,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    let old = kept::definition(&*reader, id).map_err(store::failure)?;
    let Job::Coordinator(record) = Job::read(&*reader, id)? else { return Ok(Exit::Fault) };
    let is_taken = kept::updatable(&record.job, &old, new);
    shell.say(match is_taken {
        true => format!("`{id}` would accept this; nothing was changed"),
        false => format!(
            "E1023: name, frequency, start, end and time zone of the coordinator `{id}` cannot be changed; nothing was changed"
        ),
    });
    Ok(Exit::fault_if(!is_taken))
}

pub(super) fn send(runner: &mut Runner, id: &str, sent: &Sent) -> Result<(), driver::Error> {
    match sent {
        Sent::Coordinator(message) => runner.coordinator(id, message),
        Sent::Bundle(event) => runner.bundle(id, event),
    }
}

/// Returns a value that changes when a command was processed.
fn stamp(job: &Job) -> String {
    match job {
        Job::Coordinator(record) => format!("{:?}{}", record.job, record.moments),
        Job::Bundle(record) => format!("{:?}{}", record.job, record.moments),
    }
}

/// Describes an event.
pub(super) fn words(id: &str, moment: &Moment) -> String {
    let who = moment.action.map(|number| format!("@{number}")).unwrap_or_default();
    match (moment.sla, &moment.status) {
        (Some(event), _) => format!("{id}{who} SLA {}", event.name()),
        (None, Some(status)) => match &moment.why {
            Some(why) => format!("{id}{who} {status}: {why}"),
            None => format!("{id}{who} {status}"),
        },
        (None, None) => format!("{id}{who} deleted"),
    }
}

fn level(moment: &Moment) -> log::Level {
    match (moment.sla, moment.status.as_deref()) {
        (Some(event), _) if event.name().ends_with("MISS") => log::Level::Warn,
        (_, Some("FAILED")) => log::Level::Error,
        (_, Some("KILLED" | "TIMEDOUT")) => log::Level::Warn,
        (_, Some(status)) if status.ends_with("WITHERROR") => log::Level::Warn,
        _ => log::Level::Info,
    }
}

pub(super) fn time(at: Time) -> String {
    ProcessingZone::UTC.format(at)
}

fn seconds(at: Option<i64>) -> Option<String> {
    at.map(|at| object::instant(at.saturating_mul(1000)))
}

fn action_object(id: &str, number: i64, kept: &Kept) -> Value {
    let run = &kept.run;
    let mut object = json!({
        "id": format!("{id}@{number}"),
        "coordJobId": id,
        "actionNumber": number,
        "nominalTime": time(run.data.nominal),
        "createdTime": time(run.created),
        "status": run.status.name(),
        "externalId": kept.workflow(),
        "missingDependencies": run.missing,
        "errorCode": run.fault().map(|(code, _)| code).filter(|code| !code.is_empty()),
        "errorMessage": run.fault().map(|(_, message)| message),
        "startTime": seconds(kept.beside.started),
        "endTime": seconds(kept.beside.ended),
    });
    if let Some(sla) = &run.sla {
        object["sla"] = object::sla(sla);
    }
    object
}

/// Describes the status of an SLA.
pub(super) fn sla_line(sla: &Sla) -> String {
    format!("SLA {}, to end by {}", sla.status.name(), time(sla.expected_end))
}

/// Returns the stored definition of a coordinator, if it is readable.
fn definition_of(reader: &dyn Reader, id: &str) -> miette::Result<Option<Definition>> {
    match kept::definition(reader, id) {
        Err(driver::Error::Store(ankus_procedure::store::Error::Damaged(_))) => Ok(None),
        definition => Ok(Some(definition.map_err(store::failure)?)),
    }
}

/// Returns a coordinator of a bundle, if it is readable.
fn member_of(reader: &dyn Reader, id: &str) -> miette::Result<Option<kept::Record>> {
    match kept::record(reader, id) {
        Err(driver::Error::Store(ankus_procedure::store::Error::Damaged(_))) => Ok(None),
        record => record.map_err(store::failure),
    }
}

/// Returns the unreadable parts of a coordinator or a bundle.
fn missing(reader: &dyn Reader, job: &Job) -> miette::Result<Vec<String>> {
    let mut missing = match job {
        Job::Coordinator(record) => kept::missing(reader, &record.id),
        Job::Bundle(record) => bundle::missing(reader, &record.id),
    }
    .map_err(store::failure)?;
    if let Job::Bundle(record) = job {
        for id in record.coordinators.iter().flatten() {
            if member_of(reader, id)?.is_none() {
                missing.push(format!("the coordinator {id}"));
            }
        }
    }
    if let Err(driver::Error::Store(ankus_procedure::store::Error::Damaged(_))) =
        driver::needs::of_job(reader, job.id())
    {
        missing.push("what it runs with".to_owned());
    }
    Ok(missing)
}

pub(super) fn coordinator_object(
    reader: &dyn Reader,
    record: &kept::Record,
    with_actions: bool,
) -> miette::Result<Value> {
    let id = record.id.as_str();
    let definition = definition_of(reader, id)?;
    let definition = definition.as_ref();
    let job = &record.job;
    let mut object = json!({
        "version": 1,
        "coordJobId": id,
        "coordJobName": record.name,
        "coordJobPath": definition.and_then(|it| it.properties.get("oozie.coord.application.path")),
        "bundleId": record.bundle.as_ref().map(|(bundle, _)| bundle),
        "status": job.status.name(),
        "executionPolicy": job.controls.execution.name(),
        "frequency": definition.map(|it| it.frequency_text.as_str()),
        "timeUnit": definition.map(Definition::unit_name),
        "timeZone": definition.map(|it| it.zone_text.as_str()),
        "concurrency": job.controls.concurrency,
        "timeOut": job.controls.timeout,
        "mat_throttling": job.controls.throttle,
        "startTime": definition.map(|it| time(it.schedule.start)),
        "endTime": time(job.end),
        "pauseTime": job.pause.map(time),
        "nextMaterializedTime": job.next.map(time),
        "createdTime": object::instant(record.created),
        "user": record.user,
    });
    if with_actions {
        let actions = kept::actions(reader, id).map_err(store::failure)?;
        object["total"] = json!(actions.len());
        object["actions"] =
            actions.iter().map(|(number, kept)| action_object(id, *number, kept)).collect();
    }
    Ok(object)
}

pub(super) fn bundle_object(reader: &dyn Reader, record: &bundle::Record) -> miette::Result<Value> {
    let mut coordinators = Vec::new();
    for id in record.coordinators.iter().flatten() {
        if let Some(member) = member_of(reader, id)? {
            coordinators.push(coordinator_object(reader, &member, false)?);
        }
    }
    Ok(json!({
        "version": 1,
        "bundleJobId": record.id,
        "bundleJobName": record.name,
        "status": record.job.status.name(),
        "kickoffTime": record.job.kick_off.map(time),
        "pauseTime": record.job.pause.map(time),
        "createdTime": object::instant(record.created),
        "user": record.user,
        "bundleCoordJobs": coordinators,
    }))
}

/// Reports the outcome: the final status, and the statuses of the actions.
pub(super) fn conclude(
    reader: &dyn Reader,
    id: &str,
    format: RunFormat,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let job = Job::read(reader, id)?;
    match (&job, format) {
        (_, RunFormat::Jsonl) => {}
        (_, RunFormat::Json) => show_json(reader, &job, shell)?,
        (Job::Coordinator(record), RunFormat::Human) => summary(reader, record, shell)?,
        (Job::Bundle(record), RunFormat::Human) => {
            shell.line(format!("{} {} {id}", record.job.status.name(), record.name))?;
            for id in record.coordinators.iter().flatten() {
                if let Some(member) = member_of(reader, id)? {
                    shell.out("  ")?;
                    summary(reader, &member, shell)?;
                }
            }
        }
    }
    let status = job.status();
    if format == RunFormat::Human && matches!(status, Status::Suspended | Status::PrepSuspended) {
        shell.say(format!("`ankus job resume {id}` continues it"));
    }
    Ok(match status {
        Status::Succeeded => Exit::Success,
        Status::Killed | Status::Failed | Status::DoneWithError => Exit::Fault,
        _ => Exit::Unfinished,
    })
}

/// Prefixes a message with a code; for some errors the server has none.
fn prefix(code: &str) -> String {
    if code.is_empty() { String::new() } else { format!("{code}: ") }
}

/// Returns why a coordinator has failed, if no action's error shows it.
fn fault(reader: &dyn Reader, record: &kept::Record) -> miette::Result<Option<String>> {
    if record.job.status != Status::Failed {
        return Ok(None);
    }
    let (moments, _) = kept::moments(reader, &record.id, 0).map_err(store::failure)?;
    Ok(moments.into_iter().rev().find_map(|moment| moment.why))
}

fn summary(reader: &dyn Reader, record: &kept::Record, shell: &mut Shell) -> miette::Result<()> {
    let id = &record.id;
    let actions = kept::actions(reader, id).map_err(store::failure)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for kept in actions.values() {
        *counts.entry(kept.run.status.name()).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let counts = if counts.is_empty() { "no actions".to_owned() } else { counts.join(", ") };
    shell.line(format!("{} {} {id}: {counts}", record.job.status.name(), record.name))?;
    if let Some(why) = fault(reader, record)? {
        shell.tell(hanging("  ", &why));
    }
    for (number, kept) in &actions {
        if let Some((code, message)) = kept.run.fault() {
            shell.tell(hanging(&format!("{id}@{number} {}", prefix(code)), message));
        }
    }
    Ok(())
}

fn show_json(reader: &dyn Reader, job: &Job, shell: &mut Shell) -> miette::Result<()> {
    let object = match job {
        Job::Coordinator(record) => coordinator_object(reader, record, true)?,
        Job::Bundle(record) => bundle_object(reader, record)?,
    };
    shell.json(&object)
}

/// Hides the secrets of a coordinator, or of those of a bundle, in all further output.
pub(super) fn hide(reader: &dyn Reader, job: &Job, shell: &mut Shell) -> miette::Result<()> {
    let masker = masker(reader, job, shell)?;
    shell.hide(masker);
    Ok(())
}

/// Returns the masker for the secrets of a coordinator, or of those of a bundle.
pub(super) fn masker(reader: &dyn Reader, job: &Job, shell: &Shell) -> miette::Result<Masker> {
    let (settings, _) = store::settings_of(shell, Path::new("coordinator.xml"))?;
    let ids: Vec<&str> = match job {
        Job::Coordinator(record) => vec![&record.id],
        Job::Bundle(record) => record.coordinators.iter().flatten().map(String::as_str).collect(),
    };
    let mut masker = settings.secrets.masker([]);
    for id in ids {
        // An unreadable one is reported where it is shown, and contributes no secrets.
        let Ok(definition) = kept::definition(reader, id) else { continue };
        let properties = definition.properties.iter();
        masker.add(properties.map(|(name, value)| (name.as_str(), value.as_str())));
    }
    Ok(masker)
}

/// Shows a job, with its actions or its coordinators.
pub(super) fn show(
    reader: &dyn Reader,
    job: &Job,
    is_json: bool,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    hide(reader, job, shell)?;
    store::say_missing(&missing(reader, job)?, shell);
    if is_json {
        show_json(reader, job, shell)?;
        return Ok(Exit::Success);
    }
    match job {
        Job::Bundle(record) => {
            let status = record.job.status.name();
            shell.line(format!("{} {} ({status})", record.id, record.name))?;
            let kick_off = record.job.kick_off.map_or("-".to_owned(), time);
            shell.line(format!("  user      {}", record.user))?;
            shell.out(format!("  kick-off  {kick_off}\n\n"))?;
            for (at, member) in record.job.members.iter().enumerate() {
                let id = record.coordinators.get(at).and_then(Option::as_deref).unwrap_or("-");
                shell.line(format!("  {:<12} {id}  {}", member.status.name(), member.name))?;
            }
        }
        Job::Coordinator(record) => {
            let definition = definition_of(reader, &record.id)?;
            let start = definition.map(|definition| definition.schedule.start);
            let (id, job) = (&record.id, &record.job);
            let or_none = |at: Option<Time>| at.map_or("-".to_owned(), time);
            shell.line(format!("{id} {} ({})", record.name, job.status.name()))?;
            shell.line(format!("  user         {}", record.user))?;
            shell.out(format!(
                "  from         {}\n  to           {}\n  next         {}\n  paused from  {}\n",
                or_none(start),
                time(job.end),
                or_none(job.next.filter(|_| !job.is_done)),
                or_none(job.pause),
            ))?;
            shell.out(format!("  concurrency  {}\n\n", job.controls.concurrency))?;
            if let Some(why) = fault(reader, record)? {
                shell.out(hanging("  ", &why) + "\n\n")?;
            }
            for (number, kept) in kept::actions(reader, id).map_err(store::failure)? {
                let run = &kept.run;
                let workflow = kept.workflow().unwrap_or("-");
                shell.line(format!(
                    "  {:<9} {}  {id}@{number}  {workflow}",
                    run.status.name(),
                    time(run.data.nominal)
                ))?;
                let waits = run.status == ActionStatus::Waiting;
                if let (Some(missing), true) = (&run.missing, waits) {
                    let cannot_look = missing.starts_with(UNSEEN);
                    let word = if cannot_look { "" } else { "waits for " };
                    shell.line(format!("    {word}{missing}"))?;
                }
                if let Some((code, message)) = run.fault() {
                    shell.out(hanging(&format!("    {}", prefix(code)), message) + "\n")?;
                }
                if let Some(sla) = &run.sla {
                    shell.line(format!("    {}", sla_line(sla)))?;
                }
            }
        }
    }
    Ok(Exit::Success)
}

/// Prints the log of a job.
pub(super) fn log(
    reader: &dyn Reader,
    job: &Job,
    arguments: &log::Arguments,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    hide(reader, job, shell)?;
    store::say_missing(&missing(reader, job)?, shell);
    let (entries, owner) = entries(reader, job)?;
    log::print(&entries, &owner, arguments, shell)?;
    Ok(Exit::Success)
}

/// Returns the log entries of a job, and its owner.
pub(super) fn entries<'j>(
    reader: &dyn Reader,
    job: &'j Job,
) -> miette::Result<(Vec<log::Entry>, log::Owner<'j>)> {
    let (id, moments, user, name, created) = match job {
        Job::Coordinator(record) => {
            let (moments, _) = kept::moments(reader, &record.id, 0).map_err(store::failure)?;
            (&record.id, moments, &record.user, &record.name, record.created)
        }
        Job::Bundle(record) => {
            let (moments, _) = bundle::moments(reader, &record.id, 0).map_err(store::failure)?;
            (&record.id, moments, &record.user, &record.name, record.created)
        }
    };
    let entries: Vec<_> = moments
        .iter()
        .map(|moment| log::Entry {
            at: moment.at,
            level: level(moment),
            action: moment.action.map(|number| format!("{id}@{number}")).unwrap_or_default(),
            text: words(id, moment),
        })
        .collect();
    let owner = log::Owner { id, name, user, group: None, token: "", created };
    Ok((entries, owner))
}

/// A coordinator or a bundle in a list.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) status: &'static str,
    /// The job.
    pub(super) job: Job,
}

/// Returns all coordinators and bundles.
pub(super) fn lines(reader: &dyn Reader) -> miette::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for record in kept::records(reader).map_err(store::failure)? {
        lines.push(Line {
            id: record.id.clone(),
            status: record.job.status.name(),
            job: Job::Coordinator(Box::new(record)),
        });
    }
    for record in bundle::records(reader).map_err(store::failure)? {
        lines.push(Line {
            id: record.id.clone(),
            status: record.job.status.name(),
            job: Job::Bundle(Box::new(record)),
        });
    }
    Ok(lines)
}

/// Returns the object of a job in a list.
pub(super) fn listed(reader: &dyn Reader, job: &Job) -> miette::Result<Value> {
    match job {
        Job::Coordinator(record) => coordinator_object(reader, record, false),
        Job::Bundle(record) => bundle_object(reader, record),
    }
}
