//! `ankus up`: runs every job of a store until it is stopped, and `ankus job resume --all`.

use super::coordinator::Job;
use super::needs;
use super::operate;
use super::runner::Runner;
use super::store::{self, StoreArguments};
use super::{Exit, Failure, Shell};
use ankus_engine::driver::{self, Calls, JobRecord, coordinator as kept, view};
use ankus_lang::machine::coordinator::Status as Timed;
use ankus_lang::machine::{JobStatus, Status};
use ankus_procedure::control::Holder;
use ankus_procedure::store::Reader;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// Polling interval.
const LOOK: Duration = Duration::from_millis(100);

/// Run every job of a store: resume interrupted jobs, follow coordinators and bundles, and carry out what other processes
/// submit or command.
///
/// Runs in the foreground until SIGTERM or Ctrl-C. Programs that are running continue, and the next process that runs the
/// store picks them up.
#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus up --store /var/lib/ankus   run the jobs of a store, as a service does
  ankus up --until-idle             run what there is, and exit when nothing is left to do")]
pub(super) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,
    /// Exit once every job has ended or is suspended.
    #[arg(long)]
    until_idle: bool,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    serve(&arguments.store, false, arguments.until_idle, shell)
}

/// Resumes every job until each has ended or is suspended again.
pub(super) fn resume_all(store: &StoreArguments, shell: &mut Shell) -> miette::Result<Exit> {
    // A missing store is an error and must not be created.
    store::reader(store)?;
    serve(store, true, true, shell)
}

fn serve(
    store: &StoreArguments,
    resumes: bool,
    until_idle: bool,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let signals = store::signals();
    let (settings, file) = store::settings_of(shell, Path::new("workflow.xml"))?;
    let needs = needs::needs(None, &settings, file.as_deref())?;
    needs::has_sandbox(&needs)?;
    let mut runner = Runner::open(store, needs, needs::limits(&settings))?;
    let reader = store::reader(store)?;
    let mut seen = statuses(&*reader)?;
    let open: BTreeSet<String> =
        seen.iter().filter(|(_, (_, is_over))| !is_over).map(|(id, _)| id.clone()).collect();
    runner.activate_all(resumes).map_err(store::failure)?;
    let place = store.store.display();
    match runner.driver() {
        Some(_) => {
            shell.say(format!("running the jobs of `{place}` (process {})", std::process::id()))
        }
        None => {
            let path = store.store.join(driver::STORE);
            let holder = Holder::of(&path).map_err(|error| Failure::new(error.to_string()))?;
            let holder = holder.unwrap_or_default();
            shell.say(format!("{holder} runs the jobs of `{place}`; this takes over when it ends"));
        }
    }
    let mut looked = Instant::now();
    let mut purged: Option<Instant> = None;
    loop {
        std::thread::sleep(LOOK);
        reader.is_there().map_err(|error| store::failure(error.into()))?;
        if let Some(driver) = runner.driver()
            && purged.is_none_or(|at| at.elapsed() > store::PURGE)
        {
            purged = Some(Instant::now());
            store::forget_old(driver, &settings.keep)?;
        }
        if signals.typed() > 0 || signals.is_ending() {
            shell.say("running programs continue; `ankus up` picks them up");
            return Ok(if until_idle { Exit::Unfinished } else { Exit::Success });
        }
        if runner.is_handed_over().map_err(store::failure)? {
            runner.activate_all(false).map_err(store::failure)?;
            if runner.driver().is_some() {
                shell
                    .say(format!("running the jobs of `{place}` (process {})", std::process::id()));
            }
        }
        if let Some(driver) = runner.driver() {
            driver.executor().wait_for_room();
            if let Some(error) = driver.executor().stopped_by() {
                return Err(store::failure(error.into()));
            }
        }
        // Stores with many jobs are polled less often.
        if looked.elapsed() < LOOK * (1 + seen.len() as u32 / 1_000) {
            continue;
        }
        // Checked before reading the statuses, so that jobs that have ended by then are reported as ended.
        let is_over = until_idle && is_idle(&*reader, &mut runner)?;
        let now = statuses(&*reader)?;
        for (id, (status, _)) in &now {
            if seen.get(id).is_none_or(|(before, _)| before != status) {
                shell.say(format!("{status:<9} {id}"));
            }
        }
        seen = now;
        if is_over {
            break;
        }
        looked = Instant::now();
    }
    if let Some(driver) = runner.driver() {
        driver.settle(store::SETTLE);
    }
    let ended = |wanted: &str| {
        open.iter().filter(|id| seen.get(*id).is_some_and(|(status, _)| *status == wanted)).count()
    };
    let is_over = |id: &&String| seen.get(*id).is_none_or(|(_, is_over)| *is_over);
    let unfinished = open.iter().filter(|id| !is_over(id)).count();
    Ok(match (unfinished, ended("KILLED") + ended("FAILED") + ended("DONEWITHERROR")) {
        (0, 0) => Exit::Success,
        (0, _) if resumes => Exit::Fault,
        (0, _) => Exit::Success,
        _ => Exit::Unfinished,
    })
}

/// Returns the statuses of jobs without a parent, and whether they have ended.
fn statuses(reader: &dyn Reader) -> miette::Result<BTreeMap<String, (&'static str, bool)>> {
    let mut statuses = BTreeMap::new();
    for record in view::records(reader).map_err(store::failure)? {
        if record.root == record.job.id {
            let status = record.job.status;
            statuses.insert(record.job.id, (status.name(), status.is_end()));
        }
    }
    for line in operate::lines(reader)? {
        statuses.insert(line.id, (line.status, line.job.status().is_end()));
    }
    Ok(statuses)
}

/// Whether nothing would happen any more without a command.
fn is_idle(reader: &dyn Reader, runner: &mut Runner) -> miette::Result<bool> {
    let records: BTreeMap<String, JobRecord> = view::records(reader)
        .map_err(store::failure)?
        .into_iter()
        .map(|record| (record.job.id.clone(), record))
        .collect();
    // Jobs that have ended and stopped everything need no further check.
    for record in records.values() {
        let is_through = record.job.status.is_end() && record.open.is_empty();
        if !is_through && !rests(reader, &records, record, 0, runner)? {
            return Ok(false);
        }
    }
    for line in operate::lines(reader)? {
        let is_suspended = |status| {
            matches!(status, Timed::Suspended | Timed::SuspendedWithError | Timed::PrepSuspended)
        };
        let rests = match &line.job {
            Job::Coordinator(record) => {
                let status = record.job.status;
                let waits_for_workflows = || -> miette::Result<bool> {
                    if !record.job.is_done {
                        return Ok(false);
                    }
                    // Actions that are ready, or wait for data or a time, start by themselves.
                    let actions = kept::actions(reader, &record.id).map_err(store::failure)?;
                    Ok(actions.values().filter(|kept| kept.run.status.is_active()).all(|kept| {
                        let workflow = kept.beside.workflow.as_ref();
                        workflow.is_some_and(|id| {
                            records.get(id).is_some_and(|record| !record.job.status.is_end())
                        })
                    }))
                };
                (status.is_end() && !record.job.pending)
                    || is_suspended(status)
                    || (!status.is_end() && has_active(reader, record)? && waits_for_workflows()?)
            }
            Job::Bundle(record) => {
                let status = record.job.status;
                let is_pending = line.job.is_pending();
                (status.is_end() && !is_pending) || is_suspended(status) || has_members(record)
            }
        };
        if !rests {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_active(reader: &dyn Reader, record: &kept::Record) -> miette::Result<bool> {
    let actions = kept::actions(reader, &record.id).map_err(store::failure)?;
    Ok(actions.values().any(|kept| kept.run.status.is_active()))
}

/// Whether a bundle only waits for its coordinators, which are checked themselves.
fn has_members(record: &driver::bundle::Record) -> bool {
    record.job.status != Timed::Prep
        && !record.job.status.is_end()
        && record.coordinators.iter().any(Option::is_some)
        && record.coordinators.iter().all(Option::is_some)
}

/// Whether a job needs a command to continue.
fn rests(
    reader: &dyn Reader,
    records: &BTreeMap<String, JobRecord>,
    record: &JobRecord,
    depth: usize,
    runner: &mut Runner,
) -> miette::Result<bool> {
    let status = record.job.status;
    if status == JobStatus::Prep && record.job.run == 0 {
        let properties = view::properties(reader, &record.job.id).map_err(store::failure)?;
        return Ok(properties.contains_key(driver::HELD));
    }
    if status == JobStatus::Prep || (status.is_end() && !record.open.is_empty()) || depth > 1_000 {
        return Ok(false);
    }
    if status.is_end() {
        return Ok(true);
    }
    let run = view::run(reader, record).map_err(store::failure)?;
    let has_timer = run.rows.values().any(|row| {
        let waits = matches!(row.status, Status::UserRetry | Status::StartRetry | Status::EndRetry);
        row.pending && waits && status == JobStatus::Running
    });
    if has_timer {
        return Ok(false);
    }
    let mut any_child = false;
    let waiting = match status == JobStatus::Suspended && !record.open.is_empty() {
        true => runner.waiting(&record.job.id).map_err(store::failure)?,
        false => Vec::new(),
    };
    for open in &record.open {
        if waiting.iter().any(|waiting| waiting.node == open.node) {
            continue;
        }
        if open.what != Calls::Child {
            return Ok(false);
        }
        let child = run.rows.get(&open.node).and_then(|row| row.external.id());
        let Some(child) = child.and_then(|child| records.get(child)) else { return Ok(false) };
        // The end of a child wakes its parent.
        if child.job.status.is_end() || !rests(reader, records, child, depth + 1, runner)? {
            return Ok(false);
        }
        any_child = true;
    }
    Ok(status == JobStatus::Suspended || any_child)
}

/// Returns the jobs without a parent that perform work in the process that runs the store; empty without such a
/// process, none if unknown.
pub(super) fn active(store: &StoreArguments, shell: &mut Shell) -> Option<BTreeSet<String>> {
    store::glance(store, shell, driver::active_there)
}
