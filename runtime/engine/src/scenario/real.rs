//! Runs actions of a scenario for real: those without a stub are carried out by a driver of its own.
//!
//! Each start of such an action is a job with this single action, from start to end, in a store and below a file root
//! of its own. The scenario's files are written below that root beforehand, and what the action changed is copied back
//! into the scenario afterwards. In simulated time an action takes as long as it really took.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crate::driver::{Driver, Error, Opened, Place, STORE, Submit, Surroundings, open, view};
use crate::host::files::{FileUri, Files, Folders, Kind, LocalFiles, MemoryFiles};
use crate::simulation::{Call, Reply};
use ankus_lang::el::Template;
use ankus_lang::machine::{Answer, Class, Command, DASH, External, Finished, Phase, Row, Status};
use ankus_lang::plan::{NodeIndex, Plan, Work};
use ankus_procedure::{Host, RealHost};

/// How often to check whether an action has ended, or is to be stopped.
const LOOK: Duration = Duration::from_millis(20);
/// How long to wait for a killed action to end.
const STOPPING: Duration = Duration::from_secs(30);
/// The largest file that is copied back into a scenario.
const LARGEST_FILE: u64 = 256 << 20;

/// Carries out actions for real.
pub struct Real {
    driver: Box<Driver>,
    host: RealHost,
    files: LocalFiles,
    is_interrupted: Box<dyn Fn() -> bool + Send>,
    /// The longest time that an action may take before it is killed.
    limit_ms: u64,
    /// Actions that were carried out.
    pub(super) done: BTreeSet<String>,
    /// Why it cannot continue.
    pub(super) fault: Option<String>,
}

/// An action that was left running when its test was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its name.
    pub node: String,
    /// Its id at the place where it runs, if that is not this machine.
    pub id: Option<String>,
    /// Whether it has ended now.
    pub has_ended: bool,
}

/// Ends what a test that was killed has left running, in the folder with which [`Real::open`] was called. Returns none
/// if the test is still running, or had not begun anything.
pub fn end_left(folder: &Path, surroundings: Surroundings) -> Result<Option<Vec<Left>>, Error> {
    let store = folder.join("store");
    // Where this file exists, the test has its lock, as long as it runs.
    if !store.join(STORE).exists() {
        return Ok(None);
    }
    let Opened::Mine(driver) = open(Place::Folder(store), surroundings)? else { return Ok(None) };
    let reader = driver.reader();
    let mut left = Vec::new();
    for record in view::records(&*reader)? {
        let job = &record.job.id;
        if record.job.status.is_end() && record.open.is_empty() {
            continue;
        }
        match driver.command(job, Command::Kill) {
            Ok(()) => {}
            // It has ended, and its program has not.
            Err(Error::State(_)) => driver.activate(job)?,
            Err(error) => return Err(error),
        }
        let has_ended = driver.wait(job, STOPPING)?;
        let plan = view::plan(&*reader, &record)?;
        for open in &record.open {
            let row = view::row(&*reader, job, open.node)?.unwrap_or_default();
            let is_here = row.external.tracker().is_none_or(|tracker| tracker == "local");
            let id = row.external.id().filter(|_| !is_here).map(str::to_owned);
            let node = plan.nodes[open.node as usize].name.to_string();
            left.push(Left { node, id, has_ended });
        }
    }
    Ok(Some(left))
}

/// The result of one start of an action.
struct Carried {
    row: Option<Row>,
    took_ms: u64,
}

impl Real {
    /// Opens a driver in an empty folder. The file root is a folder in it, whatever `surroundings` says; the last
    /// argument is polled for whether to stop.
    pub fn open(
        folder: &Path,
        mut surroundings: Surroundings,
        is_interrupted: Box<dyn Fn() -> bool + Send>,
    ) -> Result<Real, Error> {
        let root = folder.join("files");
        std::fs::create_dir(&root).map_err(|error| Error::Folder(root.clone(), error))?;
        let needs = &mut surroundings.needs;
        needs.root.clone_from(&root);
        // What a scenario does must stay below its root.
        needs.hosts.clear();
        needs.machine.clear();
        needs.mounts.clear();
        let store = folder.join("store");
        let driver = match open(Place::Folder(store.clone()), surroundings)? {
            Opened::Mine(driver) => driver,
            Opened::Theirs(_) => {
                let used = std::io::Error::from(std::io::ErrorKind::AddrInUse);
                return Err(Error::Folder(store, used));
            }
        };
        let files = LocalFiles::new(&root, Folders::new());
        let (limit_ms, done, fault) = (u64::MAX, BTreeSet::new(), None);
        Ok(Real { driver, host: RealHost::new(), files, is_interrupted, limit_ms, done, fault })
    }

    /// Sets the limit after which actions are killed, so that they never end in the scenario.
    pub(super) fn set_limit(&mut self, ms: u64) {
        self.limit_ms = ms;
    }

    /// Returns the answers to a call.
    pub(super) fn call(&mut self, call: &Call<'_>) -> Vec<Reply> {
        match call.phase {
            Phase::Start => {}
            // The end is reported by itself; an earlier check learns nothing.
            Phase::Check => return vec![Reply::now(Phase::Check, Answer::Running(None))],
            Phase::End => return vec![Reply::now(Phase::End, Answer::Ended(None))],
            Phase::Kill => return vec![Reply::now(Phase::Kill, Answer::Stopped)],
        }
        self.done.insert(call.name().to_owned());
        match self.carry_out(call) {
            Ok(carried) => replies(carried),
            Err(why) => {
                let message = format!("`{}` cannot be run for real: {why}", call.name());
                self.fault.get_or_insert_with(|| message.clone());
                vec![Reply::now(Phase::Start, Answer::Error(Class::Failed, String::new(), message))]
            }
        }
    }

    fn carry_out(&mut self, call: &Call<'_>) -> Result<Carried, String> {
        if self.fault.is_some() || (self.is_interrupted)() {
            return Err("interrupted".to_owned());
        }
        let before = self.lay_out(call.files)?;
        let (plan, node) = alone(call)?;
        let mut properties = (*call.run.conf).clone();
        // Nobody must be notified of a job that exists only for the scenario.
        properties
            .retain(|name, _| !(name.starts_with("oozie.wf.") && name.contains(".notification.")));
        let submit = Submit { plan: plan.to_bytes(), properties, id: None, mounts: Vec::new() };
        let began = self.host.elapsed_ms();
        let text = |error: Error| error.to_string();
        let id = self.driver.submit(submit).map_err(text)?;
        let mut is_killed = false;
        let row = loop {
            let is_over = self.driver.wait(&id, LOOK).map_err(text)?;
            let reader = self.driver.reader();
            let row = view::row(&*reader, &id, node).map_err(text)?;
            if is_over {
                break row;
            }
            let is_late = self.host.elapsed_ms() - began > self.limit_ms;
            let is_left = row.as_ref().is_some_and(|row| class(row.status).is_some());
            if (is_late || is_left || (self.is_interrupted)()) && !is_killed {
                is_killed = true;
                match self.driver.command(&id, Command::Kill) {
                    // It has ended meanwhile.
                    Ok(()) | Err(Error::State(_)) => {}
                    Err(error) => return Err(text(error)),
                }
                // Whether to retry, or to wait for an operator, is decided by the scenario.
                if is_left && !is_late {
                    self.driver.wait(&id, STOPPING).map_err(text)?;
                    break row;
                }
            }
        };
        let took_ms = self.host.elapsed_ms() - began;
        if (self.is_interrupted)() {
            return Err("interrupted".to_owned());
        }
        self.take_back(call, &before)?;
        let is_late = is_killed && row.as_ref().is_some_and(|row| row.status == Status::Killed);
        Ok(Carried { row: row.filter(|_| !is_late), took_ms })
    }

    /// Writes the files of the scenario below the root, and returns what is there.
    fn lay_out(&self, files: &MemoryFiles) -> Result<BTreeMap<FileUri, Option<Vec<u8>>>, String> {
        let entries = files.entries();
        let wanted: BTreeSet<String> = entries.keys().map(inside).collect();
        for path in self.below()?.difference(&wanted) {
            let uri = FileUri::parse("/").with_path(&**path);
            self.files.delete(&uri).map_err(|error| failed(&uri, &error))?;
        }
        for (uri, content) in &entries {
            let done = match content {
                None => self.files.create_folder(uri),
                Some(content) => match self.files.read(uri, content.len() as u64) {
                    Ok(there) if there == *content => Ok(()),
                    _ => self.files.write(uri, content),
                },
            };
            done.map_err(|error| failed(uri, &error))?;
        }
        Ok(entries)
    }

    /// Copies what the action changed below the root back into the scenario.
    fn take_back(
        &self,
        call: &Call<'_>,
        before: &BTreeMap<FileUri, Option<Vec<u8>>>,
    ) -> Result<(), String> {
        let by_path: BTreeMap<String, &FileUri> =
            before.keys().map(|uri| (inside(uri), uri)).collect();
        let application = call.run.property("oozie.wf.application.path").unwrap_or_default();
        let application = FileUri::parse(application);
        let found = self.below()?;
        for (path, uri) in &by_path {
            if !found.contains(path) {
                call.files.delete(uri).map_err(|error| failed(uri, &error))?;
            }
        }
        for path in found {
            // A new file belongs to the file system of its nearest known parent.
            let above = std::iter::successors(Some(&*path), |path| Some(path.rsplit_once('/')?.0));
            let near = above.filter_map(|path| by_path.get(path).copied()).next();
            let uri = near.unwrap_or(&application).with_path(path);
            let taken = match self.files.kind(&uri).map_err(|error| failed(&uri, &error))? {
                Some(Kind::Folder) => call.files.create_folder(&uri),
                Some(Kind::File) => {
                    let content = self
                        .files
                        .read(&uri, LARGEST_FILE)
                        .map_err(|error| failed(&uri, &error))?;
                    match before.get(&uri) {
                        Some(Some(known)) if *known == content => Ok(()),
                        _ => call.files.write(&uri, &content),
                    }
                }
                _ => Ok(()),
            };
            taken.map_err(|error| failed(&uri, &error))?;
        }
        Ok(())
    }

    /// Returns the paths of all files and folders below the root, without links.
    fn below(&self) -> Result<BTreeSet<String>, String> {
        let root = FileUri::parse("/");
        let mut found = BTreeSet::new();
        let mut open = vec![String::new()];
        while let Some(folder) = open.pop() {
            let at = root.with_path(format!("{folder}/"));
            for name in self.files.list(&at).map_err(|error| failed(&at, &error))? {
                let path = format!("{folder}/{name}");
                let uri = root.with_path(&*path);
                let kind = self.files.kind(&uri).map_err(|error| failed(&uri, &error))?;
                if kind == Some(Kind::Folder) {
                    open.push(path.clone());
                }
                if matches!(kind, Some(Kind::Folder | Kind::File)) {
                    found.insert(path);
                }
            }
        }
        Ok(found)
    }
}

fn failed(uri: &FileUri, error: &std::io::Error) -> String {
    format!("{uri}: {error}")
}

/// Returns the path of a file below the root, which does not show its file system.
fn inside(uri: &FileUri) -> String {
    let parts = ankus_lang::uri::normal_parts(&uri.path);
    parts.into_iter().fold(String::new(), |path, part| format!("{path}/{part}"))
}

/// Returns a plan that does what the call requests and nothing else: its texts are already evaluated, and it is tried
/// once.
fn alone(call: &Call<'_>) -> Result<(Plan, NodeIndex), String> {
    let mut plan = call.plan.clone();
    plan.defaults.clear();
    plan.parameters.clear();
    plan.expectations.clear();
    let dialect = plan.dialect;
    let literal = |text: &str| Template::literal(text, ankus_lang::el::Phase::Workflow, dialect);
    plan.name = literal(&call.run.job.name);
    if let Work::Action(action) = &mut plan.nodes[call.node as usize].work {
        action.head = literal(call.text());
        (action.configuration, action.takes_defaults) = (None, false);
        action.tail = literal("");
        action.retry_max = Some(literal("0"));
        (action.retry_interval, action.retry_policy) = (None, None);
    }
    let plan = plan.only(call.name()).map_err(|_| "it is not an action".to_owned())?;
    Ok((plan, call.node))
}

/// Returns the class of an error after which the engine does not continue by itself, or not at once.
fn class(status: Status) -> Option<Class> {
    match status {
        Status::StartRetry | Status::EndRetry => Some(Class::Transient),
        Status::StartManual | Status::EndManual => Some(Class::NonTransient),
        _ => None,
    }
}

fn replies(carried: Carried) -> Vec<Reply> {
    let Some(row) = carried.row else {
        // It was killed because the scenario's time was up.
        let external = External { id: "killed".into(), tracker: "local".into(), console: DASH };
        return vec![Reply::now(Phase::Start, Answer::Started(external))];
    };
    let error = row.error;
    let said = || {
        let code = error.code.clone().unwrap_or_default();
        (code, error.message.clone().unwrap_or_default())
    };
    let began = row.external.id().is_some();
    let class = class(row.status).or((row.status == Status::Failed).then_some(Class::Failed));
    let failed_at_once = (!began && row.status != Status::Ok).then_some(Class::Error);
    if let Some(class) = class.or(failed_at_once) {
        let (code, message) = said();
        let reply = Reply::now(Phase::Start, Answer::Error(class, code, message));
        return vec![Reply { after_ms: carried.took_ms, ..reply }];
    }
    let status = row.external.status.clone().unwrap_or_else(|| "SUCCEEDED".into());
    let finished = Finished { external: None, status, output: row.output, error };
    match row.external.id().filter(|id| *id != DASH) {
        // An action that runs within the call has no external id.
        None => {
            let finished = Finished { external: Some(External::none()), ..finished };
            let reply = Reply::now(Phase::Start, Answer::Finished(finished));
            vec![Reply { after_ms: carried.took_ms, ..reply }]
        }
        Some(id) => {
            let external = External { id: id.into(), tracker: "local".into(), console: DASH };
            let end = Reply::now(Phase::Check, Answer::Finished(finished));
            vec![
                Reply::now(Phase::Start, Answer::Started(external)),
                Reply { after_ms: carried.took_ms, ..end },
            ]
        }
    }
}
