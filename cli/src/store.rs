//! The store of a run: its location, the process that runs it, and the display of its jobs.

use super::needs;
use super::progress::{Progress, style};
use super::runner::Runner;
use super::{Exit, Failure, Shell};
use ankus::settings::secrets::Masker;
use ankus::settings::{Keep, Settings};
use ankus::text::hanging;
use ankus_engine::driver::object::{self, Mask};
use ankus_engine::driver::places::{Waiting, What};
use ankus_engine::driver::{self, JobRecord, Moment, list, purge, view};
use ankus_lang::machine::{Change, Fault, JobStatus, Row, Run, Status};
use ankus_lang::plan::{NOWHERE, NodeIndex, Plan};
use ankus_procedure::control::{Client, ControlError, Holder};
use ankus_procedure::store::Error::Damaged;
use ankus_procedure::store::Reader;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Polling interval while a job runs.
const LOOK: Duration = Duration::from_millis(20);
/// Polling interval after a period without events, to reduce the load of following a job for hours.
const LONG_LOOK: Duration = Duration::from_millis(100);
const QUIET: Duration = Duration::from_secs(2);
/// Interval at which its record is read again meanwhile: with a thousand actions that takes some milliseconds.
const SELDOM: Duration = Duration::from_secs(2);
/// Maximum time until a command takes effect, on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum time to wait, after a job has ended, for notifications that were not yet attempted.
pub(super) const SETTLE: Duration = Duration::from_secs(20);

/// Interval at which to check what keeps programs from starting.
const WANTS: Duration = Duration::from_secs(1);

/// Waits below this duration are not reported.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

/// Where jobs are kept.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreArguments {
    /// Folder of the store.
    #[arg(long, global = true, value_name = "DIR", env = "ANKUS_STORE", default_value = ".ankus")]
    pub(crate) store: PathBuf,
    /// Allow a store on a network file system. No other machine may use it.
    #[arg(long, global = true, env = "ANKUS_NETWORK_STORE")]
    pub(crate) network_store: bool,
}

/// Output formats of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RunFormat {
    /// Readable text: progress on stderr, the outcome on stdout.
    Human,
    /// The job object of the web services, once the job has ended.
    Json,
    /// One event per line, as it happens.
    Jsonl,
}

/// Converts a failure of a driver.
pub(crate) fn failure(error: driver::Error) -> miette::Report {
    let help = match &error {
        driver::Error::Unknown(_) => Some("`ankus job list` shows the jobs there are"),
        driver::Error::Network(..) => Some(
            "name a folder of this machine with --store or ANKUS_STORE; --network-store uses it anyway, and then no other machine may use it",
        ),
        driver::Error::Store(ankus_procedure::store::Error::Full) => Some(
            "make room on the disk; then `ankus run --resume ID`, `ankus up` or `ankus serve` continues",
        ),
        driver::Error::Store(ankus_procedure::store::Error::Gone) => Some(
            "the state of its jobs is lost; programs that were running may still run, and nothing supervises them",
        ),
        driver::Error::Store(ankus_procedure::store::Error::DamagedLog(_)) => Some(
            "restore a backup; or `ankus store check --forget-damaged` continues with what precedes the damage",
        ),
        driver::Error::Store(Damaged(_)) => Some(
            "`ankus store check` lists all damage; restore a backup, or delete what is damaged with `--forget-damaged`",
        ),
        driver::Error::Store(ankus_procedure::store::Error::NotAStore(_)) => {
            Some("name another folder with --store")
        }
        _ => None,
    };
    let failure = Failure::new(error.to_string());
    match help {
        Some(help) => failure.help(help).into(),
        None => failure.into(),
    }
}

/// Opens a store for reading, whichever process runs it.
pub(crate) fn reader(store: &StoreArguments) -> miette::Result<Arc<dyn Reader>> {
    match driver::reading(&store.store).map_err(failure)? {
        Some(reader) => Ok(reader),
        None => {
            let message = format!("there is no store in `{}`", store.store.display());
            let help = "`ankus run` creates one in .ankus of the working directory; --store or ANKUS_STORE names another";
            Err(Failure::new(message).help(help).into())
        }
    }
}

/// Resolves an id: a full one, a unique prefix, or `latest`, the job without a parent that was submitted last. The
/// number of an action may follow, as in `latest@3`. An unknown id is returned unchanged.
pub(crate) fn resolve(reader: &dyn Reader, text: &str) -> miette::Result<String> {
    let (job, action) = match text.split_once('@') {
        Some((job, action)) => (job, format!("@{action}")),
        None => (text, String::new()),
    };
    let is_there = || -> Result<bool, driver::Error> {
        Ok(view::record(reader, job)?.is_some()
            || driver::coordinator::record(reader, job)?.is_some()
            || driver::bundle::record(reader, job)?.is_some())
    };
    // An existing but unreadable job is reported by the code that reads it.
    if is_there().unwrap_or(true) {
        return Ok(text.to_owned());
    }
    let find = |wanted: list::Wanted, len| list::jobs(reader, &wanted, 0, len).map_err(failure);
    if job == LATEST {
        let (last, _) = find(list::Wanted { only_tops: true, ..list::Wanted::default() }, 1)?;
        return match last.into_iter().next() {
            Some(last) => Ok(last.id + &action),
            None => Err(Failure::new("there is no job in this store yet").into()),
        };
    }
    let wanted = list::Wanted { beginning: Some(job.to_owned()), ..list::Wanted::default() };
    let (fits, total) = find(wanted, CANDIDATES)?;
    let mut fits: Vec<String> = fits.into_iter().map(|fits| fits.id).collect();
    if total < 2 {
        return Ok(fits.pop().unwrap_or_else(|| job.to_owned()) + &action);
    }
    fits.sort();
    let mut shown = fits.join(", ");
    if total > fits.len() {
        shown.push_str(&format!(" and {} more", total - fits.len()));
    }
    let message = format!("`{job}` matches {total} ids");
    Err(Failure::new(message).help(format!("give more characters of it: {shown}")).into())
}

/// Reports in a dry run how much of the site's configuration has no effect.
pub(crate) fn say_idle(settings: &Settings, shell: &mut Shell) {
    let site = &settings.server.site;
    match site.idle() {
        0 => {}
        1 => shell.say(format!(
            "1 property of `{}` has no effect here; `ankus doctor` says which, and why",
            site.file
        )),
        count => shell.say(format!(
            "{count} properties of `{}` have no effect here; `ankus doctor` lists them, with the reasons",
            site.file
        )),
    }
}

/// Interval between purges of old jobs.
pub(crate) const PURGE: Duration = Duration::from_secs(3_600);

/// Purges ended jobs whose retention period has passed, if the settings define one.
pub(crate) fn forget_old(driver: &driver::Driver, keep: &Keep) -> miette::Result<()> {
    if *keep == Keep::default() {
        return Ok(());
    }
    let reader = driver.reader();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let mut old = Vec::new();
    for top in purge::tops(&*reader).map_err(failure)? {
        let Some(ended) = top.ended else { continue };
        let kept = if view::record(&*reader, &top.id).map_err(failure)?.is_some() {
            keep.workflows
        } else if driver::coordinator::record(&*reader, &top.id).map_err(failure)?.is_some() {
            keep.coordinators
        } else {
            keep.bundles
        };
        let Some(kept) = kept else { continue };
        let kept = i64::try_from(kept.saturating_mul(1_000)).unwrap_or(i64::MAX);
        if ended < now.saturating_sub(kept) {
            old.push(top.id);
        }
    }
    if let Some(kept) = keep.actions {
        let kept = i64::try_from(kept.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let before = now.saturating_sub(kept);
        driver.purge_actions(before, usize::MAX).map_err(failure)?;
    }
    if old.is_empty() {
        return Ok(());
    }
    match driver.purge(&old) {
        // One of them is being rerun at this moment; it is purged later.
        Ok(_) | Err(driver::Error::State(_)) => Ok(()),
        Err(error) => Err(failure(error)),
    }
}

/// The word that stands for the job that was submitted last.
pub(crate) const LATEST: &str = "latest";
/// Maximum number of ids in a message about an ambiguous one.
const CANDIDATES: usize = 8;

/// Returns the settings with which a job was submitted; for a job from an older version, those of its definition.
pub(crate) fn settings_of_job(
    reader: &dyn Reader,
    id: &str,
    shell: &Shell,
    definition: &Path,
) -> miette::Result<(Arc<Settings>, Option<PathBuf>)> {
    match driver::needs::of_job(reader, id) {
        Ok(Some(needs)) => {
            let settings = needs::settings_of(&needs).map_err(Failure::new)?;
            Ok((Arc::new(settings), needs.settings_file))
        }
        // The current settings still define which values are secret.
        Ok(None) | Err(driver::Error::Store(Damaged(_))) => settings_of(shell, definition),
        Err(error) => Err(failure(error)),
    }
}

/// Returns the settings that apply to the definition of a job, if that still exists.
pub(crate) fn settings_of(
    shell: &Shell,
    definition: &Path,
) -> miette::Result<(Arc<Settings>, Option<PathBuf>)> {
    let loaded = shell.working_project()?.settings(definition)?;
    Ok((loaded.settings, loaded.file))
}

/// A stored job, including its plan.
pub(crate) struct Shown {
    pub(crate) record: JobRecord,
    pub(crate) run: Run,
    pub(crate) plan: Plan,
    /// Code and message of an error of the job itself.
    pub(crate) fault: Option<(String, String)>,
    /// Its unreadable parts.
    pub(crate) missing: Vec<String>,
}

/// Reports what cannot be shown.
pub(crate) fn say_missing(missing: &[String], shell: &mut Shell) {
    if !missing.is_empty() {
        let missing = missing.join(", ");
        shell
            .say(format!("damaged and not shown: {missing}; `ankus store check` lists all damage"));
    }
}

/// Reads a job.
pub(crate) fn job(reader: &dyn Reader, id: &str) -> miette::Result<Shown> {
    let unknown = || driver::Error::Unknown(id.to_owned());
    let (record, is_whole) = match view::record(reader, id) {
        Err(error @ driver::Error::Store(Damaged(_))) => {
            let remains = view::remains(reader, id).map_err(failure)?;
            (remains.ok_or_else(|| failure(error))?, false)
        }
        record => (record.and_then(|it| it.ok_or_else(unknown)).map_err(failure)?, true),
    };
    let (run, mut missing) = view::readable(reader, &record).map_err(failure)?;
    if !is_whole {
        missing.insert(0, "the record of the job".to_owned());
    }
    let (plan, is_whole) = view::readable_plan(reader, &record, &run).map_err(failure)?;
    if !is_whole {
        missing.push("its plan, and with it the names of nodes".to_owned());
    }
    if let Err(driver::Error::Store(Damaged(_))) = driver::needs::of_job(reader, id) {
        missing.push("what it runs with".to_owned());
    }
    let fault = view::fault(reader, &record).map_err(failure)?;
    Ok(Shown { record, run, plan, fault, missing })
}

/// Masks the secrets of a job in its display.
#[derive(Clone)]
pub(crate) struct Masked(pub(crate) Masker);

impl Masked {
    pub(crate) fn new(settings: &Settings, shown: &Shown) -> Masked {
        Masked::of(settings, &shown.run.conf, Some(&shown.plan))
    }

    /// Creates a mask for these properties, and the workflow that has them.
    pub(crate) fn of(
        settings: &Settings,
        properties: &BTreeMap<String, String>,
        plan: Option<&Plan>,
    ) -> Masked {
        Masked(masker(settings, properties, plan))
    }
}

impl Mask for Masked {
    fn value(&self, name: &str, value: &str) -> String {
        self.0.value(name, value)
    }

    fn text(&self, text: &str) -> String {
        self.0.text(text)
    }
}

/// Returns the masker for the secrets of these properties, and of the workflow that has them.
pub(crate) fn masker(
    settings: &Settings,
    properties: &BTreeMap<String, String>,
    plan: Option<&Plan>,
) -> Masker {
    let values = properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut masker = settings.secrets.masker(values);
    if let Some(plan) = plan {
        masker.add_plan(plan, properties);
    }
    masker
}

/// Received signals: those typed by a user, and those that end the process.
pub(crate) struct Signals {
    typed: Arc<AtomicUsize>,
    ending: Arc<AtomicUsize>,
}

impl Signals {
    /// Returns how often Ctrl-C was typed.
    pub(crate) fn typed(&self) -> usize {
        self.typed.load(Ordering::SeqCst)
    }

    /// Whether this process has to end; another one will take up its jobs.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst) > 0
    }

    /// Returns a function that reports whether any signal was received.
    pub(crate) fn asked(&self) -> Box<dyn Fn() -> bool + Send> {
        let (typed, ending) = (self.typed.clone(), self.ending.clone());
        Box::new(move || typed.load(Ordering::SeqCst) > 0 || ending.load(Ordering::SeqCst) > 0)
    }
}

/// Starts to count the signals that ask the process to stop.
pub(crate) fn signals() -> Signals {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let (typed, ending) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = (typed.clone(), ending.clone());
    // Without a handler, a signal simply ends the process, which loses nothing.
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
        let handle = signals.handle();
        let counting = std::thread::Builder::new().spawn(move || {
            for signal in signals.forever() {
                let of = if signal == SIGINT { &counted.0 } else { &counted.1 };
                of.fetch_add(1, Ordering::SeqCst);
            }
        });
        if counting.is_err() {
            handle.close();
        }
    }
    Signals { typed, ending }
}

/// The parameters of following a job.
pub(crate) struct Following<'a> {
    pub(crate) store: &'a StoreArguments,
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) format: RunFormat,
    /// Whether to exit at the first signal and let running programs continue.
    pub(crate) detach: bool,
    /// Earlier events are not reported.
    pub(crate) from: u64,
}

/// Waits for a change of a job. Returns whether it has ended; `false` if another process runs it.
fn has_ended_within(
    runner: &Runner,
    record: &driver::JobRecord,
    pause: Duration,
) -> miette::Result<bool> {
    match runner.driver() {
        Some(driver) => driver.wait_for_record(record, pause).map_err(failure),
        None => {
            std::thread::sleep(pause);
            Ok(false)
        }
    }
}

/// Reports the events of a job until it has ended or sleeps, or the process is asked to stop.
pub(crate) fn follow(
    mut runner: Runner,
    id: &str,
    following: &Following<'_>,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let signals = signals();
    let reader = reader(following.store)?;
    let mut progress = Progress::new(following.format == RunFormat::Human);
    let began = Instant::now();
    let mut next = following.from;
    let Shown { plan, run, .. } = job(&*reader, id)?;
    shell.hide(masker(following.settings, &run.conf, Some(&plan)));
    if following.format == RunFormat::Human && std::io::stdin().is_terminal() {
        shell.say(match following.detach {
            true => "Ctrl-C exits at once; programs continue, and `ankus run --resume` picks them up",
            false => "Ctrl-C suspends the job once its running actions have ended; pressed twice, it exits at once",
        });
    }
    let mut asked = 0;
    let (mut since_end, mut is_told) = (Instant::now(), false);
    let mut wants = Wants { looked: Instant::now(), told: BTreeMap::new() };
    let (mut record, mut read) = (job_record(&*reader, id)?, Instant::now());
    let mut heard = Instant::now();
    loop {
        let pause = if heard.elapsed() < QUIET { LOOK } else { LONG_LOOK };
        let over = has_ended_within(&runner, &record, pause)?;
        progress.tick();
        reader.is_there().map_err(|error| failure(error.into()))?;
        let (moments, after) = view::moments(&*reader, id, next).map_err(failure)?;
        next = after;
        for moment in &moments {
            tell(&*reader, id, &plan, moment, following, &mut progress, shell)?;
        }
        if !moments.is_empty() {
            heard = Instant::now();
            shell.flush()?;
        }
        if following.format == RunFormat::Human {
            wants.tell(&runner, id, &plan, &mut progress, shell)?;
        }
        let is_quiet = moments.is_empty() && !over && record.job.status == JobStatus::Running;
        if !is_quiet || read.elapsed() > SELDOM {
            (record, read) = (job_record(&*reader, id)?, Instant::now());
        }
        let status = record.job.status;
        let is_stopped = over || (runner.driver().is_none() && record.open.is_empty());
        let ended = status.is_end() && is_stopped;
        if status.is_end() && !is_stopped && since_end.elapsed() > SHORT && !is_told {
            is_told = true;
            let programs = view::stopping(&*reader, &record).map_err(failure)?;
            if programs > 0 && following.format == RunFormat::Human {
                progress.say(&format!("{}, {}", status.name(), still_stopping(programs)), shell);
                shell.flush()?;
            }
        }
        if !status.is_end() {
            since_end = Instant::now();
        }
        if ended || (over && moments.is_empty()) {
            break;
        }
        if status == JobStatus::Suspended && moments.is_empty() {
            let run = view::run(&*reader, &record).map_err(failure)?;
            if !is_busy(&run, &runner.waiting(id).map_err(failure)?) {
                break;
            }
        }
        if signals.typed() > asked || signals.is_ending() {
            asked = signals.typed();
            if following.detach || asked > 1 || signals.is_ending() {
                progress.clear();
                shell.say(format!("{id} is left as it is; `ankus run --resume {id}` continues it"));
                return Ok(Exit::Unfinished);
            }
            progress.say(
                "stopping once the running actions have ended; press Ctrl-C again to exit at once and leave programs running",
                shell,
            );
            // A job that has just ended need not be suspended.
            let _ = runner.command(id, ankus_lang::machine::Command::Suspend);
        }
        match status.is_end() {
            // This process may have to stop the programs that another one left.
            true => runner.is_handed_over().map(|_| ()),
            false => runner.keep_going(id),
        }
        .map_err(failure)?;
    }
    let took = began.elapsed();
    drop(progress);
    if let Some(driver) = runner.driver() {
        let record = job_record(&*reader, id)?;
        wait_for_coordinator(&*reader, &record)?;
        driver.settle(SETTLE);
    }
    conclude(&*reader, id, took, following, shell)
}

/// Reports what keeps programs from starting, except other programs, since it may require an action of the user.
struct Wants {
    looked: Instant,
    told: BTreeMap<NodeIndex, String>,
}

impl Wants {
    /// Reports it once.
    fn tell(
        &mut self,
        runner: &Runner,
        id: &str,
        plan: &Plan,
        progress: &mut Progress,
        shell: &mut Shell,
    ) -> miette::Result<()> {
        let Some(driver) = runner.driver().filter(|_| self.looked.elapsed() > WANTS) else {
            return Ok(());
        };
        self.looked = Instant::now();
        for Waiting { node, what, since, .. } in driver.waiting(id) {
            let What::Room(why) = &what else { continue };
            if self.told.get(&node) != Some(why) {
                let at = object::instant(since);
                let name = &plan.node(node).name;
                let line = format!("{} PREP      {name}, {}", &at[11..19], waits_for(&what));
                progress.say(&line, shell);
                shell.flush()?;
                self.told.insert(node, why.clone());
            }
        }
        Ok(())
    }
}

/// Describes the programs that a job has stopped and that have not ended yet.
pub(crate) fn still_stopping(programs: usize) -> String {
    match programs {
        1 => "1 program still stopping".to_owned(),
        many => format!("{many} programs still stopping"),
    }
}

/// Whether a job has work in progress that a suspension does not stop; actions that only wait for a slot do not count.
pub(super) fn is_busy(run: &Run, waiting: &[Waiting]) -> bool {
    let waits = |node| waiting.iter().any(|waiting| waiting.node == node);
    let is_under_way = |(node, row): (_, &Row)| {
        row.status == Status::Running || (row.calling.is_some() && !waits(node))
    };
    run.rows.iter().any(is_under_way)
}

/// Sends a query to the process that runs a store; the default value if there is none. A process that does not answer
/// soon is reported, and the result is unknown.
pub(crate) fn glance<T: Default>(
    store: &StoreArguments,
    shell: &mut Shell,
    ask: impl FnOnce(&mut Client) -> Result<T, driver::Error>,
) -> Option<T> {
    let path = store.store.join(driver::STORE);
    let Ok(Some(_)) = Holder::of(&path) else { return Some(T::default()) };
    let answer = Client::glance(&path).map_err(driver::Error::from);
    match answer.and_then(|mut client| ask(&mut client)) {
        Ok(answer) => Some(answer),
        Err(driver::Error::Control(ControlError::Gone(_))) => Some(T::default()),
        Err(error) => {
            shell.say(error.to_string());
            None
        }
    }
}

/// Returns the failure of an operation that only the process that runs a store may perform.
pub(crate) fn is_held(store: &StoreArguments) -> Failure {
    let holder = Holder::of(&store.store.join(driver::STORE)).ok().flatten().unwrap_or_default();
    Failure::new(format!("{holder} runs the jobs of this store"))
}

/// Returns the actions of a job that are ready to start, but have to wait, according to the process that runs the
/// store; none without such a process.
pub(crate) fn waiting(store: &StoreArguments, id: &str, shell: &mut Shell) -> Vec<Waiting> {
    glance(store, shell, |client| driver::waiting_there(client, id)).unwrap_or_default()
}

/// Describes what an action is waiting for.
pub(crate) fn waits_for(what: &What) -> String {
    match what {
        What::Place { limit, .. } if limit.is_empty() => "WAITING for a place".to_owned(),
        What::Place { limit, taken, most } => {
            format!("WAITING for a place: {taken} of {most} taken, {limit}")
        }
        What::Disk { free, floor } => {
            let megabytes = |bytes: &u64| bytes >> 20;
            let (free, floor) = (megabytes(free), megabytes(floor));
            format!(
                "WAITING for room on the disk: {free} MB of {floor} MB free, [launchers] disk_floor"
            )
        }
        What::Suspended => "WAITING until its job is resumed".to_owned(),
        What::Room(why) => format!("WAITING to start a program: {why}"),
    }
}

/// Returns the same as a JSON object.
pub(crate) fn waiting_object(waiting: &Waiting) -> Value {
    let since = object::instant(waiting.since);
    match &waiting.what {
        What::Place { limit, taken, most } => {
            json!({"for": "place", "since": since, "limit": limit, "taken": taken, "most": most})
        }
        What::Disk { free, floor } => {
            json!({"for": "disk", "since": since, "limit": "[launchers] disk_floor", "free": free, "floor": floor})
        }
        What::Suspended => json!({"for": "resume", "since": since}),
        What::Room(why) => json!({"for": "system", "since": since, "message": why}),
    }
}

/// Waits until the coordinator of a workflow has processed its end, which happens at once, if at all.
fn wait_for_coordinator(reader: &dyn Reader, record: &JobRecord) -> miette::Result<()> {
    let above = record.job.parent_id.as_deref().and_then(|parent| parent.rsplit_once('@'));
    let Some((id, number)) = above.filter(|_| record.job.status.is_end()) else { return Ok(()) };
    let Ok(number) = number.parse::<i64>() else { return Ok(()) };
    until(Duration::from_secs(5), || {
        let actions = driver::coordinator::actions(reader, id).map_err(failure)?;
        Ok(actions.get(&number).is_none_or(|action| !action.run.status.is_active()))
    })
}

pub(crate) fn job_record(reader: &dyn Reader, id: &str) -> miette::Result<JobRecord> {
    let record = view::record(reader, id).map_err(failure)?;
    record.ok_or_else(|| failure(driver::Error::Unknown(id.to_owned())))
}

fn tell(
    reader: &dyn Reader,
    id: &str,
    plan: &Plan,
    moment: &Moment,
    following: &Following<'_>,
    progress: &mut Progress,
    shell: &mut Shell,
) -> miette::Result<()> {
    let at = object::instant(moment.at);
    match (following.format, &moment.change) {
        (RunFormat::Json, _) => Ok(()),
        (RunFormat::Jsonl, Change::Job(status)) => {
            shell.json_line(&json!({"at": at, "job": id, "status": status.name()}))
        }
        (RunFormat::Jsonl, Change::Row { node, status, pending }) => {
            let node = plan.node(*node);
            let line = json!({
                "at": at, "job": id, "node": node.name, "type": node.work.row_type(),
                "status": status.name(), "pending": pending,
            });
            shell.json_line(&line)
        }
        (RunFormat::Human, Change::Job(JobStatus::Running)) => {
            progress.say_status(
                &format!("{} ", &at[11..19]),
                "RUNNING",
                &format!("   {id}"),
                shell,
            );
            Ok(())
        }
        (RunFormat::Human, Change::Job(_)) => Ok(()),
        (RunFormat::Jsonl, Change::Fault(fault)) => {
            let Fault { code, message } = &**fault;
            let line = json!({"at": at, "job": id, "errorCode": code, "errorMessage": message});
            shell.json_line(&line)
        }
        (RunFormat::Human, Change::Fault(fault)) => {
            let Fault { code, message } = &**fault;
            progress.say(&format!("{} {code}     {message}", &at[11..19]), shell);
            Ok(())
        }
        (RunFormat::Jsonl, Change::Expectation { node, event }) => {
            let node = (*node != NOWHERE).then(|| plan.node(*node).name.as_str());
            let line = json!({"at": at, "job": id, "node": node, "sla": event.name()});
            shell.json_line(&line)
        }
        (RunFormat::Human, Change::Expectation { node, event }) => {
            let of = if *node == NOWHERE { id } else { &plan.node(*node).name };
            progress.say(&format!("{} SLA {} {of}", &at[11..19], event.name()), shell);
            Ok(())
        }
        (RunFormat::Human, Change::Row { node, status, pending }) => {
            let work = &plan.node(*node).work;
            // Statuses of control nodes are not reported; the nodes that follow are.
            let quiet = matches!(status, Status::Prep | Status::Done)
                || (*pending && matches!(status, Status::Ok | Status::Error | Status::Killed));
            if quiet {
                return Ok(());
            }
            let row = view::row(reader, id, *node).map_err(failure)?.unwrap_or_default();
            let target = row.transition.as_deref().filter(|_| *status != Status::Running);
            let target = target.map_or(String::new(), |target| format!(" -> {target}"));
            let name = &plan.node(*node).name;
            let name = if name == ":start:" { "start" } else { name };
            let target = if target == " -> *" { String::new() } else { target };
            let kind = work.row_type().trim_matches(':').to_ascii_lowercase();
            let mut behind = format!(" {name} ({kind}){target}");
            let is_tried_again =
                matches!(status, Status::StartRetry | Status::EndRetry | Status::UserRetry);
            let reason = row.error.code.as_deref().zip(row.error.message.as_deref());
            if let (true, Some((code, message))) = (is_tried_again, reason) {
                let message = without_code(code, message).lines().next().unwrap_or_default();
                behind += &format!(": {code}: {message}");
            }
            let shown = format!("{:<9}", status.name());
            progress.say_status(&format!("{} ", &at[11..19]), &shown, &behind, shell);
            match status {
                Status::Running => progress.begin(name, &kind),
                _ => progress.end(name),
            }
            Ok(())
        }
    }
}

/// Returns a job as a JSON object, with its own error.
pub(crate) fn full(
    run: &Run,
    plan: &Plan,
    fault: Option<&(String, String)>,
    mask: &Masked,
) -> Value {
    let mut object = object::full(run, plan, mask);
    if let Some((code, message)) = fault {
        object["errorCode"] = code.as_str().into();
        object["errorMessage"] = object::Mask::text(mask, message).into();
    }
    object
}

/// Removes the code with which messages of the server often begin.
pub(crate) fn without_code<'m>(code: &str, message: &'m str) -> &'m str {
    let rest = message.strip_prefix(code).and_then(|rest| rest.strip_prefix(": "));
    rest.unwrap_or(message)
}

/// Reports why a job ended as it did: the errors of its actions, and of jobs below them.
fn say_faults(
    reader: &dyn Reader,
    shown: &Shown,
    settings: &Settings,
    depth: usize,
    shell: &mut Shell,
) -> miette::Result<()> {
    let mask = Masked::new(settings, shown);
    let indent = "  ".repeat(depth);
    if let Some((code, message)) = &shown.fault {
        let message = without_code(code, message);
        shell.tell(hanging(&format!("{indent}{code}: "), &mask.text(message)));
    }
    for (node, row) in shown.run.in_order() {
        let name = &shown.plan.node(node).name;
        if let (Some(code), Some(message)) = (&row.error.code, &row.error.message) {
            let message = without_code(code, message);
            shell.tell(hanging(&format!("{indent}{name}: {code}: "), &mask.text(message)));
        }
        let folder = row.external.console().and_then(|url| url.strip_prefix("file://"));
        if let (Some(folder), true) = (folder, row.error.code.is_some()) {
            shell.say(format!("{indent}  its output: {folder}/stdout and stderr"));
        }
        let child = row.external.id().filter(|id| id.ends_with("-W"));
        if let (Some(child), true) = (child, row.status == Status::Error && depth < 50) {
            shell.say(format!("{indent}{name}: the sub-workflow {child} failed"));
            say_faults(reader, &job(reader, child)?, settings, depth + 1, shell)?;
        }
    }
    Ok(())
}

/// Waits until a condition on the store holds, up to a limit: an earlier reader would see the previous state of the
/// job.
pub(crate) fn until(
    at_most: Duration,
    mut shows: impl FnMut() -> miette::Result<bool>,
) -> miette::Result<()> {
    let began = Instant::now();
    while !shows()? && began.elapsed() < at_most {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Describes the duration from start to end, or until now.
pub(crate) fn took(started: Option<i64>, ended: Option<i64>) -> Option<String> {
    let now = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    };
    let took = ended.unwrap_or_else(now).saturating_sub(started?);
    Some(spent(Duration::from_millis(u64::try_from(took).unwrap_or(0))))
}

/// Formats a duration.
pub(crate) fn spent(took: Duration) -> String {
    match took.as_secs() {
        0 => format!("{} ms", took.as_millis()),
        1..60 => format!("{:.1} s", took.as_secs_f64()),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Reports the outcome: the final status, the reasons, the location of the output, and the next command to type.
fn conclude(
    reader: &dyn Reader,
    id: &str,
    took: Duration,
    following: &Following<'_>,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let Shown { record, run, plan, fault, missing } = job(reader, id)?;
    let mask = Masked::of(following.settings, &run.conf, Some(&plan));
    let status = run.job.status;
    let exit = match status {
        JobStatus::Succeeded => Exit::Success,
        JobStatus::Killed | JobStatus::Failed => Exit::Fault,
        _ => Exit::Unfinished,
    };
    match following.format {
        RunFormat::Json => {
            shell.json(&full(&run, &plan, fault.as_ref(), &mask))?;
        }
        RunFormat::Jsonl => {
            let last: Value = json!({"at": object::instant(run.job.ended.unwrap_or(run.job.modified)), "job": id, "end": status.name()});
            shell.json_line(&last)?;
        }
        RunFormat::Human => {
            let took = spent(took);
            let end = shell.marked("", status.name(), style(status.name()), "");
            shell.out(end)?;
            shell.line(format!(" {} {id} in {took}", run.job.name))?;
            shell.flush()?;
            let shown = Shown { record, run, plan, fault, missing };
            say_faults(reader, &shown, following.settings, 1, shell)?;
            match exit {
                Exit::Fault => shell
                    .say(format!("next: ankus job show {id}, or ankus job rerun {id} --failed")),
                Exit::Unfinished => shell.say(format!("next: ankus job resume {id}")),
                Exit::Success => {}
            }
        }
    }
    Ok(exit)
}
