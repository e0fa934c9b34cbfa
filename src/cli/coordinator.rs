//! `ankus run COORDINATOR`: a coordinator runs here, durably, and its workflows with it.

use super::disk::{self, Found, Loaded, SettingsCache};
use super::run::Arguments;
use super::store::{self, RunFormat, StoreArguments};
use super::{Exit, Failure, Shell, timeline};
use ankus_runtime::driver::coordinator::{self as kept, Moment, SubmitCoordinator};
use ankus_runtime::driver::{Driver, Opened, object};
use ankus_runtime::host::files::FileUri;
use ankus_runtime::machine::coordinator::Status;
use ankus_runtime::store::Reader;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it is looked at while it runs.
const LOOK: Duration = Duration::from_millis(50);

/// Submits a coordinator and follows it to its end.
pub(super) fn run(found: &Found, arguments: &Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let cache = SettingsCache::new(shell)?;
    let loaded = disk::load(found, &cache, &arguments.properties)?;
    let mut tracks = timeline::tracks(&loaded, shell)?.tracks;
    let Some(track) = tracks.pop() else { return Ok(Exit::Fault) };
    if !track.assumed.is_empty() {
        let names = track.assumed.join(", ");
        let failure = Failure::new(format!("nobody gave {names}"));
        return Err(failure.help("give them with -P FILE or -D NAME=VALUE").into());
    }
    if arguments.dry_run {
        let secrets = &loaded.settings.settings.secrets;
        for (name, value) in &track.definition.properties {
            shell.out(format!("{name}={}\n", secrets.shown(name, value)))?;
        }
        return Ok(Exit::Success);
    }
    let settings = &loaded.settings;
    let root = arguments.root.as_deref();
    let opened = store::open(&arguments.store, root, &settings.settings, settings.file.as_deref())?;
    let driver = mine(opened)?;
    let mounts = mounts(&loaded, &track.definition.app_path);
    let new = SubmitCoordinator { definition: track.definition, id: arguments.id.clone(), mounts };
    let id = driver.submit_coordinator(new).map_err(store::failure)?;
    follow(&driver, &id, 0, arguments, shell)
}

/// Goes on with a coordinator.
pub(super) fn resume(id: &str, arguments: &Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let reader = store::reader(&arguments.store)?;
    let record = record(&*reader, id)?;
    let loaded = SettingsCache::new(shell)?.for_file(std::path::Path::new("coordinator.xml"))?;
    let root = arguments.root.as_deref();
    let opened = store::open(&arguments.store, root, &loaded.settings, loaded.file.as_deref())?;
    let driver = mine(opened)?;
    let is_suspended = matches!(record.job.status, Status::Suspended | Status::PrepSuspended);
    if is_suspended {
        let resume = ankus_runtime::machine::coordinator::Event::Resume;
        driver.coordinator_event(id, &resume).map_err(store::failure)?;
    }
    follow(&driver, id, record.moments, arguments, shell)
}

/// Whether an id is that of a coordinator.
pub(super) fn is_one(id: &str, store: &StoreArguments) -> miette::Result<bool> {
    let reader = store::reader(store)?;
    Ok(kept::record(&*reader, id).map_err(store::failure)?.is_some())
}

fn mine(opened: Opened) -> miette::Result<Box<Driver>> {
    match opened {
        Opened::Mine(driver) => Ok(driver),
        Opened::Theirs(_) => {
            let failure = Failure::new("another process runs the jobs of this store");
            Err(failure.help("name another store with --store").into())
        }
    }
}

fn record(reader: &dyn Reader, id: &str) -> miette::Result<kept::Record> {
    let record = kept::record(reader, id).map_err(store::failure)?;
    record.ok_or_else(|| store::failure(ankus_runtime::driver::Error::Unknown(id.to_owned())))
}

/// The workflow of the coordinator, where its folder stands in the file systems.
fn mounts(loaded: &Loaded, app_path: &str) -> Vec<(String, PathBuf)> {
    let file = disk::application_around(&loaded.found.path, app_path, "workflow.xml");
    let Some(folder) = file.as_deref().and_then(std::path::Path::parent) else { return Vec::new() };
    let at = FileUri::parse(app_path);
    let at = match at.parent() {
        Some(parent) if at.name().ends_with(".xml") => parent,
        _ => at,
    };
    vec![(at.to_string(), folder.to_path_buf())]
}

/// Tells what happens until the coordinator has ended, or we are asked to leave.
fn follow(
    driver: &Driver,
    id: &str,
    from: u64,
    arguments: &Arguments,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let signals = store::signals();
    let reader = store::reader(&arguments.store)?;
    driver.activate_coordinator(id).map_err(store::failure)?;
    let mut next = from;
    loop {
        let over = driver.wait_for_coordinator(id, LOOK).map_err(store::failure)?;
        let (moments, after) = kept::moments(&*reader, id, next).map_err(store::failure)?;
        next = after;
        for moment in &moments {
            tell(id, moment, arguments.format, shell)?;
        }
        if !moments.is_empty() {
            shell.flush()?;
        }
        if over && moments.is_empty() {
            break;
        }
        if signals.load(Ordering::SeqCst) > 0 {
            shell.say(format!("{id} is left as it is; `ankus run --resume {id}` goes on"));
            return Ok(Exit::Unfinished);
        }
    }
    conclude(&*reader, id, arguments.format, shell)
}

fn tell(id: &str, moment: &Moment, format: RunFormat, shell: &mut Shell) -> miette::Result<()> {
    let at = object::instant(moment.at);
    let status = moment.status.as_deref();
    match format {
        RunFormat::Json => Ok(()),
        RunFormat::Jsonl => {
            let line = match (moment.action, status) {
                (None, status) => json!({"at": at, "job": id, "status": status}),
                (Some(number), Some(status)) => {
                    json!({"at": at, "job": id, "action": number, "status": status})
                }
                (Some(number), None) => {
                    json!({"at": at, "job": id, "action": number, "deleted": true})
                }
            };
            shell.out(format!("{line}\n"))
        }
        RunFormat::Human => {
            let status = status.unwrap_or("deleted");
            // What an action goes through on its way is no news.
            if moment.action.is_some() && matches!(status, "READY" | "SUBMITTED") {
                return Ok(());
            }
            let who = moment.action.map(|number| format!("@{number}")).unwrap_or_default();
            shell.say(format!("{} {id}{who} {status}", &at[11..19]));
            Ok(())
        }
    }
}

/// The last word: how it ended, and what of its actions.
fn conclude(
    reader: &dyn Reader,
    id: &str,
    format: RunFormat,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let record = record(reader, id)?;
    let actions = kept::actions(reader, id).map_err(store::failure)?;
    let status = record.job.status;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for kept in actions.values() {
        *counts.entry(kept.run.status.name()).or_default() += 1;
    }
    match format {
        RunFormat::Json => {
            let zone = ankus_runtime::time::ProcessingZone::UTC;
            let actions: Vec<_> = actions
                .iter()
                .map(|(number, kept)| {
                    json!({
                        "id": format!("{id}@{number}"),
                        "actionNumber": number,
                        "nominalTime": zone.format(kept.run.data.nominal),
                        "status": kept.run.status.name(),
                        "externalId": kept.workflow,
                        "missingDependencies": kept.run.missing,
                        "errorCode": kept.run.error.as_ref().map(|(code, _)| code),
                        "errorMessage": kept.run.error.as_ref().map(|(_, message)| message),
                    })
                })
                .collect();
            let object = json!({
                "version": 1,
                "coordJobId": id,
                "coordJobName": record.name,
                "status": status.name(),
                "actions": actions,
            });
            shell.out(format!("{object:#}\n"))?;
        }
        RunFormat::Jsonl => {}
        RunFormat::Human => {
            let counts: Vec<String> =
                counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
            shell.out(format!(
                "{} {} {id}: {}\n",
                status.name(),
                record.name,
                counts.join(", ")
            ))?;
            for (number, kept) in &actions {
                if let Some((code, message)) = &kept.run.error {
                    shell.say(format!("{id}@{number} {code}: {message}"));
                }
            }
        }
    }
    Ok(match status {
        Status::Succeeded => Exit::Success,
        Status::Killed | Status::Failed | Status::DoneWithError => Exit::Fault,
        _ => Exit::Unfinished,
    })
}
