//! `ankus run COORDINATOR|BUNDLE`: runs coordinators here, durably, with their workflows.

use super::run::Arguments;
use super::runner::Runner;
use super::store::{self, RunFormat, StoreArguments};
use super::{Exit, Failure, Shell, fetched, needs, operate, properties, timeline};
use crate::examined::{Examined, Whole};
use ankus::check::FileKind;
use ankus::emit::timeline::Track;
use ankus::reference::coordinator::{self as reference, Paths};
use ankus::syntax::properties::{Bound, Origin};
use ankus_engine::driver::bundle::{self, SubmitBundle};
use ankus_engine::driver::coordinator::{self as kept, Message, Moment, SubmitCoordinator};
use ankus_engine::driver::{self, object, view};
use ankus_engine::host::files::FileUri;
use ankus_lang::coordinator::{Bundle, Definition, Existing};
use ankus_lang::machine::coordinator::{ActionStatus, Event, Status, bundle::Event as BundleEvent};
use ankus_lang::time::Instant as Time;
use ankus_procedure::store::Reader;
use ankus_project::application::PATHS;
use ankus_project::{Found, Loaded, Looks, Project};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Polling interval while a job runs.
const LOOK: Duration = Duration::from_millis(50);
/// Interval at which another process is checked for being alive.
const ASK: Duration = Duration::from_secs(1);

/// Submits a coordinator or a bundle and follows it until it ends.
pub(super) fn run(
    found: &Found,
    arguments: &Arguments,
    project: &Project,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let loaded = project.load(found, &arguments.properties.given(), None)?;
    let of_defaults = |bound: &Bound| matches!(bound.origin, Origin::Default(_));
    let submitted = loaded.submission.values.iter().filter(|(_, bound)| !of_defaults(bound));
    properties::say_empty(submitted.map(|(name, bound)| (&**name, &*bound.value)), shell);
    let root = arguments.root.as_deref();
    let far = |uri: &FileUri| match arguments.is_look() {
        true => fetched::lying(uri, &loaded, root),
        false => fetched::brought_for(uri, &loaded, root, &arguments.store),
    };
    let tracks = timeline::tracks(&loaded, project, Some(&far), shell)?;
    let of_tracks = tracks.tracks.iter().flat_map(|track| &track.assumed);
    let assumed: BTreeSet<&str> =
        tracks.assumed.iter().chain(of_tracks).map(String::as_str).collect();
    if !assumed.is_empty() {
        let failure = Failure::new(format!(
            "no value is given for {}",
            assumed.into_iter().collect::<Vec<_>>().join(", ")
        ));
        return Err(failure.help("give them with -P FILE or -D NAME=VALUE").into());
    }
    timeline::admit(&tracks.tracks)?;
    if let Err(refused) = ankus::check::refused_path(&loaded.input()) {
        let code = refused.code.unwrap_or("E0803");
        let subject = refused.subject.join(", ");
        let help = match refused.inner.contains(&"E0904") {
            true => {
                "\n  help: the server does not support that file system; `[server] filesystems` in ankus.toml names those of yours"
            }
            false => "",
        };
        let (about, subject) = (refused.about, ankus::text::line(&subject));
        shell.tell(format!("the submission is refused: {code}, for `{about}` ({subject}){help}"));
        return Ok(Exit::Fault);
    }
    if let Some(absent) = tracks.absent.first() {
        // The server would accept the bundle and leave it in PREP forever.
        shell.say(format!("the bundle is refused with E1001: {absent} was found neither near it nor below the file root"));
        return Ok(Exit::Fault);
    }
    let settings = loaded.settings.settings.clone();
    if arguments.dry_run {
        // The server dry-runs a coordinator that is submitted by itself, but not those of a bundle.
        if tracks.bundle.is_none() && !dry_run(&tracks.tracks, &loaded, arguments, shell)? {
            return Ok(Exit::Fault);
        }
        store::say_idle(&settings, shell);
        let working = shell.working_project()?;
        let given = &arguments.properties;
        // The workflows that it starts may be outside the tree that a read-only command may read.
        let found = working.find(&loaded.found.path, &given.given())?;
        let near = working.load(&found, &given.given(), None)?;
        let (whole, _) = Whole::started_by(&working, &near, &tracks, given, shell)?;
        let of_workflows = whole.workflows.iter().flat_map(Examined::notes);
        for note in whole.notes.iter().cloned().chain(of_workflows.map(|note| note.text)) {
            shell.say(note);
        }
        for track in &tracks.tracks {
            for (name, value) in &track.definition.properties {
                shell.line(format!("{name}={}", settings.secrets.shown(name, value)))?;
            }
        }
        return Ok(Exit::Success);
    }
    let root = arguments.root.as_deref();
    let base = loaded.settings.file.as_deref();
    let needs = needs::needs(root, &settings, base)?;
    needs::has_sandbox(&needs)?;
    let mut runner = Runner::open(&arguments.store, needs, needs::limits(&settings))?;
    if let Some(driver) = runner.driver() {
        store::forget_old(driver, &settings.keep)?;
    }
    let definitions: Vec<Definition> =
        tracks.tracks.into_iter().map(|track| track.definition).collect();
    let mounts = mounts(&loaded, tracks.bundle.as_ref(), &definitions);
    let id = arguments.id.clone();
    let submitted = match tracks.bundle {
        Some(bundle) => {
            let new = SubmitBundle { bundle, coordinators: definitions, id, mounts };
            runner.submit_bundle(new)
        }
        None => {
            let definition = definitions.into_iter().next();
            let Some(definition) = definition else { return Ok(Exit::Fault) };
            let new = SubmitCoordinator { definition, id, mounts };
            runner.submit_coordinator(new)
        }
    };
    let id = submitted.map_err(store::failure)?;
    let following = Following { store: &arguments.store, format: arguments.format };
    follow(runner, &id, Seen::default(), &following, shell)
}

/// Creates the actions of the first hour without storing them, as a server does, with the data below the root. Reports
/// an action that cannot be created.
fn dry_run(
    tracks: &[Track],
    loaded: &Loaded,
    arguments: &Arguments,
    shell: &mut Shell,
) -> miette::Result<bool> {
    let nothing = Paths::new([], &loaded.settings.settings.server.filesystems);
    let data = timeline::on_disk(arguments.root.as_deref(), loaded)?;
    let existing = data.as_ref().map_or(&nothing as &dyn Existing, |data| data as &dyn Existing);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Time(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    for track in tracks {
        let Err(refused) = reference::dry_run(&track.definition, &track.name, now, existing) else {
            continue;
        };
        let codes: Vec<&str> = refused.code.into_iter().chain(refused.inner).collect();
        let codes = if codes.is_empty() { "no code".to_owned() } else { codes.join(", ") };
        let subject = refused.subject.join(", ");
        shell.say(format!(
            "a dry run on a server fails: {codes}, for `{}` ({subject})",
            refused.about
        ));
        return Ok(false);
    }
    Ok(true)
}

/// Resumes a coordinator or a bundle.
pub(super) fn resume(id: &str, arguments: &Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    take_up(id, &arguments.store, arguments.root.as_deref(), arguments.format, shell)
}

/// Does the same for `ankus job resume`.
pub(super) fn take_up(
    id: &str,
    store: &StoreArguments,
    root: Option<&Path>,
    format: RunFormat,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    let job = Job::read(&*reader, id)?;
    let seen = Seen::now(&*reader, &job)?;
    let definition = Path::new("coordinator.xml");
    let (settings, file) = store::settings_of_job(&*reader, id, shell, definition)?;
    let needs = needs::needs(root, &settings, file.as_deref())?;
    let mut runner = Runner::open(store, needs, needs::own_limits(shell)?)?;
    let is_suspended = matches!(
        job.status(),
        Status::Suspended | Status::SuspendedWithError | Status::PrepSuspended
    );
    if is_suspended {
        match job {
            Job::Coordinator(_) => runner.coordinator(id, &Message::Event(Event::Resume)),
            Job::Bundle(_) => runner.bundle(id, &BundleEvent::Resume),
        }
        .map_err(store::failure)?;
        runner.activate(id).map_err(store::failure)?;
        let before = job.status();
        store::until(store::PATIENCE, || Ok(Job::read(&*reader, id)?.status() != before))?;
    }
    let following = Following { store, format };
    follow(runner, id, seen, &following, shell)
}

/// A stored coordinator or bundle.
pub(super) enum Job {
    /// A coordinator.
    Coordinator(Box<kept::Record>),
    /// A bundle.
    Bundle(Box<bundle::Record>),
}

impl Job {
    /// Returns the job with an id, if it is a coordinator or bundle.
    pub(super) fn find(reader: &dyn Reader, id: &str) -> miette::Result<Option<Job>> {
        if let Some(record) = kept::record(reader, id).map_err(store::failure)? {
            return Ok(Some(Job::Coordinator(Box::new(record))));
        }
        let record = bundle::record(reader, id).map_err(store::failure)?;
        Ok(record.map(|record| Job::Bundle(Box::new(record))))
    }

    /// Returns the job with an id.
    pub(super) fn read(reader: &dyn Reader, id: &str) -> miette::Result<Job> {
        let unknown = || store::failure(driver::Error::Unknown(id.to_owned()));
        Job::find(reader, id)?.ok_or_else(unknown)
    }

    /// Returns its id.
    pub(super) fn id(&self) -> &str {
        match self {
            Job::Coordinator(record) => &record.id,
            Job::Bundle(record) => &record.id,
        }
    }

    /// Returns its status.
    pub(super) fn status(&self) -> Status {
        match self {
            Job::Coordinator(record) => record.job.status,
            Job::Bundle(record) => record.job.status,
        }
    }

    /// Whether it has unprocessed messages.
    pub(super) fn has_messages(&self, reader: &dyn Reader) -> miette::Result<bool> {
        let has_messages = match self {
            Job::Coordinator(record) => record.has_messages(reader),
            Job::Bundle(record) => record.has_messages(reader),
        };
        has_messages.map_err(|error| store::failure(error.into()))
    }

    /// Returns what it is waiting for, if none of its work is due yet.
    fn waits_until(&self, reader: &dyn Reader, now: SystemTime) -> miette::Result<Option<String>> {
        let (at, what) = match self {
            Job::Coordinator(record) => {
                // Before its first pass it has no next time.
                let start = || kept::definition(reader, &record.id).map(|it| it.schedule.start);
                let next = match (record.job.next, record.job.status) {
                    (None, Status::Prep) => Some(start().map_err(store::failure)?),
                    (next, _) => next,
                };
                (next, "creates its next action")
            }
            Job::Bundle(record) => {
                let kick_off = record.job.kick_off.filter(|_| record.job.status == Status::Prep);
                (kick_off, "starts its coordinators")
            }
        };
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let later = at.filter(|at| u64::try_from(at.0).is_ok_and(|at| at > now));
        Ok(later.map(|at| format!("{what} at {}", operate::time(at))))
    }

    /// Whether a command is in progress.
    pub(super) fn is_pending(&self) -> bool {
        match self {
            Job::Coordinator(record) => record.job.pending,
            Job::Bundle(record) => {
                record.job.pending || record.job.members.iter().any(|member| member.pending)
            }
        }
    }
}

/// Whether an id is that of a coordinator or a bundle.
pub(super) fn is_one(id: &str, store: &StoreArguments) -> miette::Result<bool> {
    Ok(Job::find(&*store::reader(store)?, id)?.is_some())
}

/// Returns the application paths of a coordinator, or of those of a bundle, each with the definition of its workflow if
/// that is found around them.
pub(super) fn workflows(
    loaded: &Loaded,
    bundle: Option<&Bundle>,
    definitions: &[Definition],
) -> Vec<(String, Option<PathBuf>)> {
    let around = |definition: &Definition| {
        let looks = Looks::into_tree(&loaded.found.tree, None);
        // The path of the submission: of the bundle, or of the coordinator itself.
        let own = match bundle {
            Some(bundle) => ankus::check::resolved(&bundle.properties, PATHS[2]),
            None => ankus::check::resolved(&definition.properties, PATHS[1]),
        };
        loaded.application_around(looks, own.as_deref(), &definition.app_path, "workflow.xml")
    };
    let each = definitions.iter();
    each.map(|definition| (definition.app_path.clone(), around(definition))).collect()
}

/// Returns where the folders of the coordinators' workflows are mounted in the file systems.
pub(super) fn mounts(
    loaded: &Loaded,
    bundle: Option<&Bundle>,
    definitions: &[Definition],
) -> Vec<(String, PathBuf)> {
    let mut mounts = Vec::new();
    for (path, file) in workflows(loaded, bundle, definitions) {
        let Some(folder) = file.as_deref().and_then(Path::parent) else { continue };
        let at = FileUri::parse(&path);
        let at = match at.parent() {
            Some(parent) if at.name().ends_with(".xml") => parent,
            _ => at,
        };
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        mounts.push((at.to_string(), folder));
    }
    mounts
}

/// The position up to which the events of each job were reported.
#[derive(Default)]
pub(super) struct Seen(BTreeMap<String, u64>);

impl Seen {
    /// Returns the current positions.
    pub(super) fn now(reader: &dyn Reader, job: &Job) -> miette::Result<Seen> {
        let mut seen = BTreeMap::new();
        match job {
            Job::Coordinator(record) => {
                seen.insert(record.id.clone(), record.moments);
            }
            Job::Bundle(record) => {
                seen.insert(record.id.clone(), record.moments);
                for id in record.coordinators.iter().flatten() {
                    let member = kept::record(reader, id).map_err(store::failure)?;
                    seen.insert(id.clone(), member.map_or(0, |member| member.moments));
                }
            }
        }
        Ok(Seen(seen))
    }

    /// Returns the events since.
    fn news(&mut self, reader: &dyn Reader, id: &str) -> miette::Result<Vec<(String, Moment)>> {
        let mut news = Vec::new();
        let mut ids = vec![id.to_owned()];
        if let Some(record) = bundle::record(reader, id).map_err(store::failure)? {
            let next = self.0.entry(id.to_owned()).or_default();
            let (moments, after) = bundle::moments(reader, id, *next).map_err(store::failure)?;
            *next = after;
            news.extend(moments.into_iter().map(|moment| (id.to_owned(), moment)));
            ids = record.coordinators.into_iter().flatten().collect();
        }
        for id in ids {
            let next = self.0.entry(id.clone()).or_default();
            let (moments, after) = kept::moments(reader, &id, *next).map_err(store::failure)?;
            *next = after;
            news.extend(moments.into_iter().map(|moment| (id.clone(), moment)));
        }
        news.sort_by_key(|(_, moment)| moment.at);
        Ok(news)
    }
}

/// The parameters of following a job.
pub(super) struct Following<'a> {
    pub(super) store: &'a StoreArguments,
    pub(super) format: RunFormat,
}

/// Reports events until the job has ended or is suspended, or a signal asks to stop.
pub(super) fn follow(
    mut runner: Runner,
    id: &str,
    mut seen: Seen,
    following: &Following<'_>,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let signals = store::signals();
    let reader = store::reader(following.store)?;
    let job = Job::read(&*reader, id)?;
    operate::hide(&*reader, &job, shell)?;
    let is_bundle = matches!(job, Job::Bundle(_));
    runner.activate(id).map_err(store::failure)?;
    if let Some(later) = job.waits_until(&*reader, SystemTime::now())? {
        shell.say(format!("{id} {later}"));
    }
    let mut asked = Instant::now();
    loop {
        let over = match runner.driver() {
            Some(driver) if is_bundle => driver.wait_for_bundle(id, LOOK),
            Some(driver) => driver.wait_for_coordinator(id, LOOK),
            None => {
                std::thread::sleep(LOOK);
                let job = Job::read(&*reader, id)?;
                Ok(job.status().is_end() && !job.is_pending())
            }
        };
        let over = over.map_err(store::failure)?;
        reader.is_there().map_err(|error| store::failure(error.into()))?;
        let news = seen.news(&*reader, id)?;
        for (of, moment) in &news {
            tell(of, moment, following.format, shell)?;
        }
        if !news.is_empty() {
            shell.flush()?;
        } else if over {
            break;
        } else {
            let job = Job::read(&*reader, id)?;
            // A suspended job waits for a command, which wakes it wherever it runs.
            let rests = matches!(job.status(), Status::Suspended | Status::PrepSuspended);
            // Running programs continue meanwhile, and their end is awaited.
            if rests && !job.is_pending() {
                if !is_busy(&*reader, &job, &mut runner)? {
                    break;
                }
                std::thread::sleep(10 * LOOK);
            }
        }
        if signals.typed() > 0 || signals.is_ending() {
            shell.say(format!("{id} is left as it is; `ankus run --resume {id}` continues it"));
            return Ok(Exit::Unfinished);
        }
        if asked.elapsed() > ASK {
            asked = Instant::now();
            if runner.is_handed_over().map_err(store::failure)? {
                runner.activate(id).map_err(store::failure)?;
            }
        }
    }
    if let Some(driver) = runner.driver() {
        driver.settle(store::SETTLE);
    }
    operate::conclude(&*reader, id, following.format, shell)
}

/// Whether programs of a job's suspended workflows still run.
fn is_busy(reader: &dyn Reader, job: &Job, runner: &mut Runner) -> miette::Result<bool> {
    let coordinators: Vec<&str> = match job {
        Job::Coordinator(record) => vec![&record.id],
        Job::Bundle(record) => record.coordinators.iter().flatten().map(String::as_str).collect(),
    };
    for id in coordinators {
        for (_, action) in kept::actions(reader, id).map_err(store::failure)? {
            let suspended = action.run.status == ActionStatus::Suspended;
            let Some(workflow) = action.beside.workflow.filter(|_| suspended) else { continue };
            let record = view::record(reader, &workflow).map_err(store::failure)?;
            let Some(record) = record.filter(|record| !record.job.status.is_end()) else {
                continue;
            };
            let run = view::run(reader, &record).map_err(store::failure)?;
            let waiting = runner.waiting(&workflow).map_err(store::failure)?;
            if store::is_busy(&run, &waiting) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn tell(id: &str, moment: &Moment, format: RunFormat, shell: &mut Shell) -> miette::Result<()> {
    let at = object::instant(moment.at);
    let status = moment.status.as_deref();
    match format {
        RunFormat::Json => Ok(()),
        RunFormat::Jsonl => {
            let line = match (moment.action, status, moment.sla) {
                (Some(number), _, Some(event)) => {
                    json!({"at": at, "job": id, "action": number, "sla": event.name()})
                }
                (None, status, _) => match &moment.why {
                    Some(why) => json!({"at": at, "job": id, "status": status, "why": why}),
                    None => json!({"at": at, "job": id, "status": status}),
                },
                (Some(number), Some(status), _) => {
                    json!({"at": at, "job": id, "action": number, "status": status})
                }
                (Some(number), None, _) => {
                    json!({"at": at, "job": id, "action": number, "deleted": true})
                }
            };
            shell.json_line(&line)
        }
        RunFormat::Human => {
            // Intermediate statuses of an action are not reported.
            if moment.action.is_some() && matches!(status, Some("READY" | "SUBMITTED")) {
                return Ok(());
            }
            shell.say(format!("{} {}", &at[11..19], operate::words(id, moment)));
            Ok(())
        }
    }
}

/// Returns the new definition for the update of a coordinator.
pub(super) fn updated(
    path: &Path,
    properties: &crate::properties::PropertyArguments,
    shell: &mut Shell,
) -> miette::Result<Definition> {
    let project = shell.working_project()?;
    let found = timeline::find(&project, path)?;
    if found.kind != FileKind::Coordinator {
        return Err(Failure::new(format!("`{}` is not a coordinator", path.display())).into());
    }
    let loaded = project.load(&found, &properties.given(), None)?;
    let mut tracks = timeline::tracks(&loaded, &project, None, shell)?.tracks;
    let none = || Failure::new(format!("`{}` is not a coordinator", path.display()));
    Ok(tracks.pop().ok_or_else(none)?.definition)
}
