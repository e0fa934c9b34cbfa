//! Programs that outlive this process.
//!
//! A program belongs to a folder, which belongs to exactly one attempt at an action. It runs under a small launcher: a
//! process in its own session that starts it, stores its output and writes its exit status to the folder. Killing ankus
//! does not affect it; a later check of the folder finds it still [running](State::Running) or [ended](State::Ended),
//! and no folder is ever run twice. The launcher is this same binary, called with [`LAUNCH`] and the folder, or with
//! [`NEXT`] before the folder is known; what it then does is in [`launch`], as is how a child of it becomes the
//! program.
//!
//! The interface for starting programs is [`Launchers`]: start, fate, stop. A program is identified by its process
//! group and session together with the start time of its first process, and by the folder's name in its environment
//! ([`MARK`]), never by a process id alone, which another process may have by now. All of this is on the disk before
//! the program runs.
//!
//! A launcher is alive while it holds a file lock, which it has from the start and which is released however it ends.
//! Where the kernel supports it, the program ends with its launcher.
#![expect(clippy::disallowed_methods, reason = "processes are the outside world")]

mod launcher;
pub mod sandbox;
mod spare;
mod table;
mod watch;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

use super::elsewhere::{Address, Seat};
use ankus_procedure::private;
pub use launcher::launch;
use spare::Spares;
pub use spare::{NEXT, launch_next};
pub use table::Identity;
pub(crate) use table::boot;
use watch::Watcher;

/// The hidden argument with which this binary becomes a launcher.
pub const LAUNCH: &str = "__launch";
/// The environment variable by which every process of a program is recognized; its value is the folder.
pub const MARK: &str = "ANKUS_ATTEMPT";

/// A program to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program: a path, or a name to look up on PATH.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment variables.
    pub environment: Vec<(String, String)>,
    /// Whether it gets only these variables; otherwise it also inherits ours.
    #[serde(default)]
    pub alone: bool,
    /// Its working directory.
    pub folder: PathBuf,
    /// How many bytes of each of its output streams are kept; the rest is counted and dropped.
    pub kept: u64,
    /// How many bytes of the beginning of its standard output are kept regardless of the other limits.
    #[serde(default)]
    pub whole: u64,
    /// The file in which the programs of a job share the count of their kept output, and its maximum.
    #[serde(default)]
    pub of_job: Option<(PathBuf, u64)>,
    /// Its resource limits.
    #[serde(default)]
    pub bounds: Bounds,
    /// The command line of the sandbox that is put before its own.
    #[serde(default)]
    pub wrapper: Vec<String>,
    /// Whether its first process is a guard of the sandbox, whose end would end everything in it at once.
    #[serde(default)]
    pub has_guard: bool,
    /// Notes for readers of its output: lines at the start of its standard error.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Where it runs, if not on this machine.
    #[serde(default)]
    pub seat: Option<Seat>,
    /// Whether nobody needs it when the process that started it has ended in any way: it is ended then.
    #[serde(default)]
    pub with_starter: bool,
}

/// The resource limits of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// The time limit in milliseconds.
    pub time_ms: Option<u64>,
    /// The grace period after the time limit, in milliseconds.
    pub grace_ms: u64,
    /// The memory limit in bytes: of the address space of each process, unless the sandbox counts memory.
    pub memory: Option<u64>,
    /// How many bytes it may write to its folder, and to any one file.
    pub disk: Option<u64>,
    /// The CPU time limit of each of its processes, in seconds.
    pub cpu_seconds: Option<u64>,
}

/// A limit for which a program was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// It ran too long.
    Time,
    /// It wrote too much to its folder.
    Disk,
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub error: Option<String>,
    /// The number of bytes of its output for which the disk had no room.
    #[serde(default)]
    pub unkept: u64,
    /// Whether its launcher was asked to end as well: then everything was ended, by a shutdown or a service manager.
    #[serde(default)]
    pub with_all: bool,
    /// Whether it could not be started for a temporary lack of processes, files or memory.
    #[serde(default)]
    pub passing: bool,
    /// The limit for which it was ended.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// The message about its failure from the place where it ran.
    #[serde(default)]
    pub said: Option<String>,
}

/// The state of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// No program was started.
    Absent,
    /// The program is running.
    Running,
    /// The program has ended.
    Ended(Exit),
    /// It was started and is gone without an exit status: its launcher was killed, or the machine went down. Processes
    /// of it may be alive until it is [stopped](Launchers::stop).
    Lost,
}

/// How a program is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// It is asked to end and may clean up first.
    Ask,
    /// It was asked before, and is only checked.
    Look,
    /// It is killed.
    Force,
}

/// Starts programs, reports their state, and stops them. Each method takes a folder, which belongs to one attempt at
/// one action, and affects no other folder.
pub trait Launchers: Send + Sync {
    /// Starts a program in a folder, unless that was done before. An error means that nothing runs and nothing will; a
    /// temporary error leaves the folder as it was.
    fn start(&self, folder: &Path, program: &Program) -> io::Result<()>;

    /// Returns the current state.
    fn fate(&self, folder: &Path) -> io::Result<State>;

    /// Asks everything of it that runs to end, and ensures that nothing of it is started any more. Returns how many
    /// processes remain; when there are none, the folder is finished for good.
    fn stop(&self, folder: &Path, urgency: Urgency) -> io::Result<usize>;

    /// Calls `wake` when it may have ended: at most once, perhaps too early, perhaps never.
    fn watch(&self, folder: &Path, wake: Box<dyn FnOnce() + Send>);

    /// Stops calling `wake`. Running programs go on.
    fn leave(&self) {}

    /// Prepares for a program that will soon be started in a folder two levels below this one.
    fn stand_by(&self, _jobs: &Path) {}

    /// Returns the address of what runs in a folder, if it is not on this machine.
    fn address(&self, _folder: &Path) -> Option<Address> {
        None
    }

    /// Returns our program that may run other programs, if there is one.
    fn helper(&self) -> Option<&Path> {
        None
    }
}

/// Starts programs as processes of this machine.
pub struct Local {
    launcher: PathBuf,
    spares: Spares,
    watcher: Watcher,
    /// Whether what it starts ends when this process has ended.
    ends_with_us: bool,
}

impl Local {
    /// Creates launchers with the program that becomes a launcher when it is called with [`LAUNCH`].
    pub fn new(launcher: PathBuf) -> Local {
        let spares = Spares::new(launcher.clone());
        Local { launcher, spares, watcher: Watcher::default(), ends_with_us: false }
    }

    /// What it starts ends when this process has ended in any way.
    pub fn ending_with_us(self) -> Local {
        Local { ends_with_us: true, ..self }
    }
}

impl Launchers for Local {
    fn helper(&self) -> Option<&Path> {
        Some(&self.launcher)
    }

    fn start(&self, folder: &Path, program: &Program) -> io::Result<()> {
        let bound = self.ends_with_us.then(|| Program { with_starter: true, ..program.clone() });
        let program = bound.as_ref().unwrap_or(program);
        if let Some(started) = start(&self.launcher, &self.spares, folder, program)? {
            self.watcher.adopt(folder, started);
            // JOBS/JOB/ATTEMPT
            self.stand_by(folder.ancestors().nth(2).unwrap_or(folder));
        }
        Ok(())
    }

    fn fate(&self, folder: &Path) -> io::Result<State> {
        match self.watcher.told(folder) {
            Some(exit) => Ok(State::Ended(exit)),
            None => state(folder),
        }
    }

    fn stop(&self, folder: &Path, urgency: Urgency) -> io::Result<usize> {
        stop(folder, urgency)
    }

    fn watch(&self, folder: &Path, wake: Box<dyn FnOnce() + Send>) {
        self.watcher.watch(folder, wake);
    }

    fn leave(&self) {
        self.spares.leave();
        self.watcher.leave();
    }

    fn stand_by(&self, jobs: &Path) {
        // Whether a lock can be handed over without another process getting it depends on the system.
        if cfg!(target_os = "linux") {
            self.spares.stand_by(jobs);
        }
    }
}

/// What a launcher prints when its program has begun.
const BEGUN: &str = "begun";
/// What it prints when its program has ended, followed by the exit status.
const ENDED: &str = "ended: ";
/// The prefix of what it prints if it could not start the program because of a temporary lack of resources.
const PASSING: &str = "passing: ";

/// A launcher that this process started.
pub struct Started {
    /// Its process.
    pub child: Child,
    /// The stream on which it reports how its program ended.
    says: BufReader<ChildStdout>,
}

/// Starts a program in this folder, unless that was done before. Returns the launcher if this process started it.
fn start(
    launcher: &Path,
    spares: &Spares,
    folder: &Path,
    program: &Program,
) -> io::Result<Option<Started>> {
    private::folder(folder)?;
    let lock = lock_file(folder)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    if folder.join("started").exists() {
        return Ok(None);
    }
    let text = serde_json::to_vec_pretty(program).map_err(io::Error::other)?;
    // Space is reserved so that the end can be recorded even if the disk is full by then.
    for name in ["started", "child", "exit", "stop"] {
        reserve(&folder.join(name).with_extension(NEW))?;
    }
    // This need not be synced: no program survives the machine going down, and after that its command is of no use.
    let launch = folder.join("launch.json");
    let new = launch.with_extension(NEW);
    private::write(&new, &text)?;
    fs::rename(&new, &launch)?;
    // The lock is passed to the launcher, a spare or a new one: from here on it lives as long as the launcher does.
    let lock = OwnedFd::from(lock);
    let waiting = spares.take().and_then(|spare| spare.hand_over(folder, &lock).ok());
    let mut child = match waiting {
        Some(child) => {
            drop(lock);
            child
        }
        None => Command::new(launcher)
            .arg(LAUNCH)
            .arg(folder)
            .stdin(Stdio::from(lock))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?,
    };
    let mut said = String::new();
    let mut says = BufReader::new(child.stdout.take().expect("it is piped"));
    let _ = says.read_line(&mut said);
    match said.trim_end() {
        BEGUN => Ok(Some(Started { child, says })),
        "" => {
            let status = child.wait()?;
            let why = format!("the launcher ended at once ({status})");
            // A signal from our terminal may arrive before the launcher has a session of its own.
            let is_passing = status.signal().is_some() && !folder.join("started").exists();
            let kind = if is_passing { io::ErrorKind::WouldBlock } else { io::ErrorKind::Other };
            Err(io::Error::new(kind, why))
        }
        why => {
            let why = why.to_owned();
            child.wait()?;
            match why.strip_prefix(PASSING) {
                Some(why) => Err(io::Error::new(io::ErrorKind::WouldBlock, why)),
                None => Err(io::Error::other(why)),
            }
        }
    }
}

/// Returns the state of a folder.
pub fn state(folder: &Path) -> io::Result<State> {
    if !folder.join("launch.json").exists() {
        return Ok(State::Absent);
    }
    if let Some(exit) = read_exit(folder)? {
        return Ok(State::Ended(exit));
    }
    let lock = lock_file(folder)?;
    match flock(&lock, FlockOperation::NonBlockingLockShared) {
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => return Ok(State::Running),
        Err(error) => return Err(error.into()),
        Ok(()) => {}
    }
    // It may have ended between the two checks.
    Ok(match read_exit(folder)? {
        Some(exit) => State::Ended(exit),
        None if folder.join("started").exists() => State::Lost,
        None => State::Absent,
    })
}

/// Asks everything that belongs to this folder to end, and returns how many processes remain.
pub fn stop(folder: &Path, urgency: Urgency) -> io::Result<usize> {
    if !folder.join("launch.json").exists() {
        return Ok(0);
    }
    // A launcher first records the process and then checks for this file; we first write this file and then check for
    // the process. So at least one of the two sees the other.
    let note = folder.join("stop");
    if !note.exists() {
        write_reserved(&note, b"stop")?;
    }
    let asked = Instant::now();
    let launcher = Identity::read(&folder.join("started"))?;
    let child = Identity::read(&folder.join("child"))?;
    let members = table::members(folder, launcher, child, asked);
    let signal = match urgency {
        Urgency::Ask => Some(Signal::TERM),
        Urgency::Look => None,
        Urgency::Force => Some(Signal::KILL),
    };
    if let Some(signal) = signal {
        let program = fs::read(folder.join("launch.json")).ok();
        let program = program.and_then(|text| serde_json::from_slice::<Program>(&text).ok());
        let has_guard = program.is_some_and(|program| program.has_guard);
        signal_members(has_guard, child, &members, signal);
    }
    if members.count > 0 {
        return Ok(members.count);
    }
    if state(folder)? == State::Running {
        // A launcher without processes is about to record the exit status; one that cannot is of no use.
        if let (Urgency::Force, Some(launcher)) = (urgency, launcher)
            && table::is_alive(launcher)
        {
            let _ = kill_process(launcher.pid(), Signal::KILL);
        }
        return Ok(1);
    }
    // It may have recorded a process between our two checks, and died then.
    if Identity::read(&folder.join("child"))? != child {
        return Ok(1);
    }
    if read_exit(folder)?.is_none() {
        write_exit(folder, &Exit { signal: Some(Signal::KILL.as_raw()), ..Exit::default() })?;
    }
    Ok(0)
}

/// Sends a signal to all processes of a program. A guard is not asked to end: it would take the program with it before
/// that could clean up.
fn signal_members(
    has_guard: bool,
    child: Option<Identity>,
    members: &table::Members,
    signal: Signal,
) {
    let send = |pids: &[i32]| {
        for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process(pid, signal);
        }
    };
    match child {
        Some(child) if has_guard && signal == Signal::TERM => {
            let guard = child.pid().as_raw_nonzero().get();
            let others = members.in_group.iter().copied().filter(|pid| *pid != guard);
            send(&others.collect::<Vec<_>>());
        }
        Some(child) if !members.in_group.is_empty() => {
            let _ = kill_process_group(child.pid(), signal);
        }
        _ => {}
    }
    send(&members.outside_group);
}

/// Whether a launcher was told not to start its program, or not to start it again.
fn is_to_stop(folder: &Path) -> bool {
    folder.join("stop").exists()
}

fn lock_file(folder: &Path) -> io::Result<File> {
    private::options().read(true).write(true).create(true).truncate(false).open(folder.join("lock"))
}

fn read_exit(folder: &Path) -> io::Result<Option<Exit>> {
    match fs::read(folder.join("exit")) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text).map_err(io::Error::other)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write_exit(folder: &Path, exit: &Exit) -> io::Result<()> {
    let text = serde_json::to_vec(exit).map_err(io::Error::other)?;
    write_reserved(&folder.join("exit"), &text)
}

/// The extension of a file that is still incomplete.
const NEW: &str = "new";
/// How many bytes are reserved for each file that has to be written when a program ends.
const RESERVED: usize = 512;

/// Reserves space for a small file.
fn reserve(path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        let mut file = private::create(path)?;
        file.write_all(&[b' '; RESERVED])?;
        match fallocate(&file, FallocateFlags::empty(), 0, RESERVED as u64) {
            Ok(()) => return Ok(()),
            // Not every file system supports this; writing the file has the same effect.
            Err(error) if error == rustix::io::Errno::OPNOTSUPP => {}
            Err(error) => return Err(error.into()),
        }
    }
    write_synced(path, &[b' '; RESERVED])
}

/// Writes a file atomically and durably, without needing more space if that was reserved. The rest of the reserved
/// space is blanks.
fn write_reserved(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension(NEW);
    let mut file = private::options().write(true).create(true).truncate(false).open(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// Like [`write_reserved`] without syncing, for process identities, which mean nothing after the machine went down.
fn note_reserved(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension(NEW);
    let mut file = private::options().write(true).create(true).truncate(false).open(&new)?;
    file.write_all(content)?;
    fs::rename(&new, path)
}

/// Writes a file atomically and durably.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension(NEW);
    write_synced(&new, content)?;
    fs::rename(&new, path)
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Whether an error means a temporary lack of processes, open files or memory.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let passing = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    let code = error.raw_os_error();
    error.kind() == io::ErrorKind::WouldBlock
        || code.is_some_and(|code| passing.iter().any(|errno| errno.raw_os_error() == code))
}
