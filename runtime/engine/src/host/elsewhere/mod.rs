//! Programs that do not run on this machine, but on another host or in a cluster.
//!
//! A [`Place`] is what `[launchers.NAME]` in the settings describes, and a `Backend` is what can be done there: start a
//! job, check all of them with one request, end one, fetch its results. [`Everywhere`] implements the interface of
//! programs ([`Launchers`]) with it, alongside the programs of this machine; which of them a folder belongs to is
//! recorded in its `launch.json`.
//!
//! A job is never started twice. Its id is on our disk (`ticket.json`) before any request is made, a backend refuses or
//! ignores an id that it knows, and an attempt that was stopped is never started after that. So a process that resumes
//! an attempt after a crash repeats the same start request.
#![expect(clippy::disallowed_methods, reason = "other hosts are the outside world")]

mod bundle;
mod kubernetes;
mod livy;
mod post;
mod receive;
mod ssh;
mod staging;
mod tokens;
mod yarn;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::process::{Exit, Launchers, Local, Program, State, Urgency, write_whole};
use ankus_procedure::private;
use bundle::Bundle;
pub(crate) use bundle::for_any_shell;
pub use kubernetes::Kubernetes;
pub use livy::Livy;
use post::Post;
pub(crate) use receive::size_of_part;
pub use ssh::Ssh;
pub use staging::Staging;
pub use yarn::Yarn;

/// A place where programs run, as described in the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its name in the settings.
    pub name: String,
    /// The system that runs programs there.
    pub system: System,
    /// Programs by the names of tools, with their paths there.
    pub tools: BTreeMap<String, String>,
    /// Environment variables of programs.
    pub environment: BTreeMap<String, String>,
}

/// A system that runs programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum System {
    /// A host, through ssh.
    Ssh(Ssh),
    /// A YARN cluster.
    Yarn(Yarn),
    /// A Kubernetes cluster.
    Kubernetes(Kubernetes),
    /// A Livy server.
    Livy(Livy),
}

impl System {
    fn backend(&self) -> Box<dyn Backend> {
        match self {
            System::Ssh(ssh) => Box::new(ssh.clone()),
            System::Yarn(yarn) => Box::new(yarn.clone()),
            System::Kubernetes(kubernetes) => Box::new(kubernetes.clone()),
            System::Livy(livy) => Box::new(livy.clone()),
        }
    }

    /// Whether it supports memory, processors, queue and priority as specified in a `<launcher>`.
    pub fn has_resources(&self) -> bool {
        match self {
            System::Ssh(_) | System::Livy(_) => false,
            System::Yarn(_) | System::Kubernetes(_) => true,
        }
    }
}

/// The place of one program, and the resources that its action requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The place.
    pub place: Place,
    /// The type of the action.
    pub kind: String,
    /// The name of its job, where jobs have names.
    pub title: String,
    /// The requested resources.
    #[serde(default)]
    pub resources: Resources,
    /// The URIs of the clusters that the action names: its program needs access to them.
    #[serde(default)]
    pub clusters: Vec<String>,
}

/// The resources that an action requests, where the system supports that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Memory in MB.
    pub memory_mb: Option<u64>,
    /// The number of processors.
    pub vcores: Option<u64>,
    /// The queue.
    pub queue: Option<String>,
    /// The priority in the queue.
    pub priority: Option<u64>,
}

/// The ids of a job: ours, and that of the system which runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The id of this attempt alone.
    pub id: String,
    /// The tag of all jobs of this store.
    pub store: String,
    /// The system's own id, if the system assigns ids.
    #[serde(default)]
    pub own: Option<String>,
}

/// How a job is known outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Its id.
    pub id: String,
    /// The system that runs it.
    pub tracker: String,
    /// The URL at which it can be inspected.
    pub console: String,
}

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It waits or runs.
    Runs,
    /// It has ended.
    Ended(Exit),
    /// It is unknown.
    Gone,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No connection was made: the request certainly had no effect.
    Absent(String),
    /// There was no answer, or not at the moment; the request may have had an effect.
    Unreachable(String),
    /// The request was refused.
    Refused(String),
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> io::Error {
        match fault {
            Fault::Absent(why) | Fault::Unreachable(why) => {
                io::Error::new(io::ErrorKind::WouldBlock, why)
            }
            Fault::Refused(why) => io::Error::new(io::ErrorKind::InvalidInput, why),
        }
    }
}

impl Fault {
    /// Returns the fault of an HTTP request that was not answered.
    fn unanswered(url: &str, error: &ureq::Error) -> Fault {
        let why = format!("{url}: {error}");
        match error {
            ureq::Error::HostNotFound
            | ureq::Error::ConnectionFailed
            | ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => {
                Fault::Absent(why)
            }
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Fault::Absent(why)
            }
            _ => Fault::Unreachable(why),
        }
    }

    /// Returns the fault of a request that followed successful ones, so that it cannot claim that nothing had an
    /// effect.
    fn after_others(self) -> Fault {
        match self {
            Fault::Absent(why) => Fault::Unreachable(why),
            fault => fault,
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Unreachable(error.to_string())
    }
}

/// The operations on jobs at a place. Calls wait for a few seconds at most, except uploads.
pub(crate) trait Backend: Send + Sync {
    /// Requests the id of a job to be started, if the system assigns ids in advance.
    fn name(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    /// Starts a job, unless a job with this ticket was started before. Returns its id if the system assigns ids only
    /// now. A start that is refused, or that had no effect, has left nothing that could run.
    fn start(
        &self,
        ticket: &Ticket,
        seat: &Seat,
        bundle: &Bundle<'_>,
    ) -> Result<Option<String>, Fault>;

    /// Returns the states of these jobs, with one request for all that run. A job missing in the result is unknown
    /// there.
    fn look(&self, tickets: &[&Ticket]) -> Result<HashMap<String, Seen>, Fault>;

    /// Ends a job, and ensures that it is not started any more.
    fn end(&self, ticket: &Ticket, urgency: Urgency) -> Result<(), Fault>;

    /// Copies the results of a job to the folder of its attempt, up to the limit for each stream.
    fn fetch(&self, ticket: &Ticket, folder: &Path, program: &Program) -> Result<(), Fault>;

    /// Deletes what remains of an ended job there.
    fn forget(&self, ticket: &Ticket) -> Result<(), Fault>;

    /// Returns how the job is known outside.
    fn address(&self, ticket: &Ticket) -> Address;

    /// Returns the pause between two checks of all jobs.
    fn pause(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// Starts programs on this machine, and wherever the settings say.
pub struct Everywhere {
    local: Local,
    /// The posts by place.
    posts: Mutex<HashMap<String, Arc<Post>>>,
    /// When each attempt was first asked to end, and last.
    asked: Mutex<HashMap<PathBuf, (Instant, Instant)>>,
}

/// The contents of the folder of an attempt that runs elsewhere.
struct Attempt {
    program: Program,
    seat: Seat,
    ticket: Option<Ticket>,
}

/// The file with the program to run.
const LAUNCH: &str = "launch.json";
/// The file with the id of the job.
const TICKET: &str = "ticket.json";
/// The file that exists once the job was started.
const BEGUN: &str = "begun";
/// A check that is no older than this is not repeated.
const FRESH: Duration = Duration::from_millis(900);
/// How long a place may refuse to report the states of its jobs.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long a job that was asked to end is not asked again.
const INSISTING: Duration = Duration::from_secs(1);
/// Like [`FRESH`], while an end is awaited.
const FRESHER: Duration = Duration::from_millis(300);

impl Everywhere {
    /// Creates launchers with the program that starts programs of this machine.
    pub fn new(launcher: PathBuf) -> Everywhere {
        Everywhere { local: Local::new(launcher), posts: Mutex::default(), asked: Mutex::default() }
    }

    /// Programs of this machine end when this process has ended in any way.
    pub fn ending_with_us(self) -> Everywhere {
        Everywhere { local: self.local.ending_with_us(), ..self }
    }

    fn post(&self, place: &Place) -> io::Result<Arc<Post>> {
        let key = serde_json::to_string(&place.system).map_err(io::Error::other)?;
        let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        let post = posts.entry(key).or_insert_with(|| Arc::new(Post::new(place.system.backend())));
        Ok(post.clone())
    }

    /// Returns the attempt of a folder, if it runs elsewhere.
    fn attempt(&self, folder: &Path) -> io::Result<Option<Attempt>> {
        let program = match read::<Program>(&folder.join(LAUNCH)) {
            // The file of a local program may be lost if it had not reached the disk; that of others is on the disk
            // before they have a ticket.
            Err(error) if error.kind() == io::ErrorKind::Other && !folder.join(TICKET).exists() => {
                return Ok(None);
            }
            program => program?,
        };
        let Some(program) = program else { return Ok(None) };
        let Some(seat) = program.seat.clone() else { return Ok(None) };
        let ticket = read(&folder.join(TICKET))?;
        Ok(Some(Attempt { program, seat, ticket }))
    }

    fn start_elsewhere(&self, folder: &Path, program: &Program, seat: &Seat) -> io::Result<()> {
        private::folder(folder)?;
        if folder.join(BEGUN).exists() {
            return Ok(());
        }
        if folder.join("stop").exists() {
            return Err(io::Error::other("it was stopped before it began"));
        }
        let post = self.post(&seat.place)?;
        write(&folder.join(LAUNCH), program)?;
        let (ticket, is_new) = match read(&folder.join(TICKET))? {
            Some(ticket) => (ticket, false),
            None => {
                let ticket = Ticket { own: post.backend.name()?, ..ticket_of(folder) };
                write(&folder.join(TICKET), &ticket)?;
                (ticket, true)
            }
        };
        let bundle = Bundle { folder, program, seat };
        match post.backend.start(&ticket, seat, &bundle) {
            Ok(Some(own)) => write(&folder.join(TICKET), &Ticket { own: Some(own), ..ticket })?,
            Ok(None) => {}
            // If we may not start a job, we may not stop it either: nothing was accepted, and there is nothing to end.
            Err(fault @ (Fault::Refused(_) | Fault::Absent(_))) if is_new => {
                std::fs::remove_file(folder.join(TICKET))?;
                return Err(fault.into());
            }
            Err(fault) => return Err(fault.into()),
        }
        write_whole(&folder.join(BEGUN), b"begun")
    }

    /// Stores the results of a job and its exit status.
    fn settle(
        &self,
        folder: &Path,
        attempt: &Attempt,
        ticket: &Ticket,
        exit: &Exit,
    ) -> io::Result<()> {
        let post = self.post(&attempt.seat.place)?;
        post.backend.fetch(ticket, folder, &attempt.program)?;
        write(&folder.join("exit"), exit)?;
        self.forget(folder, &post, ticket);
        Ok(())
    }

    /// Deletes what a place still has of a job. Leftovers do no harm, so a failure is only noted.
    fn forget(&self, folder: &Path, post: &Post, ticket: &Ticket) {
        if let Err(fault) = post.backend.forget(ticket) {
            let Address { console, .. } = post.backend.address(ticket);
            let why = io::Error::from(fault);
            let line = format!("[what it left at {console} could not be deleted: {why}]");
            note(folder, &line);
        }
        post.forget(&ticket.id);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }

    fn fate_elsewhere(&self, folder: &Path, attempt: &Attempt) -> io::Result<State> {
        if let Some(exit) = read(&folder.join("exit"))? {
            return Ok(State::Ended(exit));
        }
        let Some(ticket) = attempt.ticket.as_ref().filter(|_| folder.join(BEGUN).exists()) else {
            return Ok(State::Absent);
        };
        let post = self.post(&attempt.seat.place)?;
        match post.look(ticket, FRESH, None) {
            // A place that does not answer may well be running it.
            Ok(Seen::Runs) | Err(Fault::Absent(_) | Fault::Unreachable(_)) => Ok(State::Running),
            Ok(Seen::Gone) => Ok(State::Lost),
            Ok(Seen::Ended(exit)) => match self.settle(folder, attempt, ticket, &exit) {
                Ok(()) => Ok(State::Ended(exit)),
                Err(error) if super::process::is_passing(&error) => Ok(State::Running),
                Err(error) => Err(error),
            },
            // An expired token, or a place that is being reconfigured, can be corrected while the job goes on.
            Err(Fault::Refused(_)) if post.failing() < PATIENCE => Ok(State::Running),
            Err(Fault::Refused(why)) => Err(io::Error::other(why)),
        }
    }

    fn stop_elsewhere(
        &self,
        folder: &Path,
        attempt: &Attempt,
        urgency: Urgency,
    ) -> io::Result<usize> {
        if folder.join("exit").exists() {
            return Ok(0);
        }
        if !folder.join("stop").exists() {
            write_whole(&folder.join("stop"), b"stop")?;
        }
        let killed = Exit { signal: Some(Signal::KILL.as_raw()), ..Exit::default() };
        let Some(ticket) = &attempt.ticket else {
            // No request to start it was ever made.
            write(&folder.join("exit"), &killed)?;
            return Ok(0);
        };
        let post = self.post(&attempt.seat.place)?;
        let asked = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let before = asked().get(folder).copied();
        let Some((since, last)) = before else {
            post.backend.end(ticket, urgency)?;
            let now = Instant::now();
            asked().insert(folder.to_owned(), (now, now));
            // Jobs that are ended at once are looked at together, in later calls: each look lists them all.
            return Ok(1);
        };
        if urgency != Urgency::Look && last.elapsed() >= INSISTING {
            post.backend.end(ticket, urgency)?;
            asked().insert(folder.to_owned(), (since, Instant::now()));
        }
        let exit = match post.look(ticket, FRESHER, Some(since))? {
            Seen::Runs => return Ok(1),
            Seen::Ended(exit) => exit,
            Seen::Gone => killed,
        };
        // Its output is useful, but not required.
        if let Err(fault) = post.backend.fetch(ticket, folder, &attempt.program) {
            let why = io::Error::from(fault);
            note(folder, &format!("[its output is missing: {why}]"));
        }
        write(&folder.join("exit"), &exit)?;
        self.forget(folder, &post, ticket);
        Ok(0)
    }
}

impl Launchers for Everywhere {
    fn helper(&self) -> Option<&Path> {
        self.local.helper()
    }

    fn start(&self, folder: &Path, program: &Program) -> io::Result<()> {
        match &program.seat {
            None => self.local.start(folder, program),
            Some(seat) => self.start_elsewhere(folder, program, seat),
        }
    }

    fn fate(&self, folder: &Path) -> io::Result<State> {
        match self.attempt(folder)? {
            None => self.local.fate(folder),
            Some(attempt) => self.fate_elsewhere(folder, &attempt),
        }
    }

    fn stop(&self, folder: &Path, urgency: Urgency) -> io::Result<usize> {
        match self.attempt(folder)? {
            None => self.local.stop(folder, urgency),
            Some(attempt) => self.stop_elsewhere(folder, &attempt, urgency),
        }
    }

    fn watch(&self, folder: &Path, wake: Box<dyn FnOnce() + Send>) {
        // If the attempt cannot be read, callers poll by themselves.
        let watched = self.attempt(folder).ok().flatten();
        let Some(Attempt { seat, ticket: Some(ticket), .. }) = watched else {
            return self.local.watch(folder, wake);
        };
        if let Ok(post) = self.post(&seat.place) {
            post.watch(&ticket, wake);
        }
    }

    fn leave(&self) {
        self.local.leave();
        for post in self.posts.lock().unwrap_or_else(PoisonError::into_inner).values() {
            post.leave();
        }
    }

    fn stand_by(&self, jobs: &Path) {
        self.local.stand_by(jobs);
    }

    fn address(&self, folder: &Path) -> Option<Address> {
        let attempt = self.attempt(folder).ok().flatten()?;
        let post = self.post(&attempt.seat.place).ok()?;
        Some(post.backend.address(&attempt.ticket?))
    }
}

/// Creates a ticket for an attempt, which no other attempt has, even of an earlier store in this folder.
fn ticket_of(folder: &Path) -> Ticket {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    // STORE/jobs/JOB/ATTEMPT
    let store = folder.ancestors().nth(3).unwrap_or(folder);
    Ticket { id: format!("{}-{now:x}", tag(folder)), store: tag(store), own: None }
}

/// Returns the tag of an attempt: always the same for it, and different from that of any other attempt on any machine
/// that uses the cluster.
pub(crate) fn tag(attempt: &Path) -> String {
    let machine = rustix::system::uname();
    let folder = std::path::absolute(attempt).unwrap_or_else(|_| attempt.to_owned());
    // FNV-1a, which is specified and will not change.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in machine.nodename().to_bytes().iter().chain(folder.to_string_lossy().as_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("ankus-{hash:016x}")
}

/// Adds a line to the stderr log of an attempt.
pub fn note(folder: &Path, line: &str) {
    use std::io::Write as _;
    let log = std::fs::OpenOptions::new().append(true).create(true).open(folder.join("stderr"));
    if let Ok(mut log) = log {
        // A full disk is reported elsewhere.
        let _ = writeln!(log, "{line}");
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
    write_whole(path, &text)
}
