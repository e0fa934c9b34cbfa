//! Programs that outlive this process.
//!
//! A program belongs to a folder, which belongs to exactly one attempt at an action. It runs under a small launcher: a
//! process of its own session that starts it, keeps its output and leaves its exit status behind in the folder. Killing
//! ankus does not affect it; a later check of the folder finds it still [running](State::Running) or
//! [ended](State::Ended), and no folder is ever run twice. The launcher is this same binary, called with [`LAUNCH`] and
//! the folder, or with [`NEXT`] before it is known which folder that will be; what it does then is in [`launch`], and so is how
//! a child of it becomes the program.
//!
//! The interface for starting programs is [`Launchers`]: start, fate, stop. A program is identified by its process
//! group and session together with the moment its first process began, and by the folder's name in its environment
//! ([`MARK`]), never by a bare process id, which another process may have by now. Before it runs, all of this is on the
//! disk.
//!
//! A launcher is alive while it holds a file lock, which it has from the start and which is released when it ends in
//! any way. Where the kernel supports it, the program ends with its launcher.
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
/// The variable by which every process of a program is known: the folder.
pub const MARK: &str = "ANKUS_ATTEMPT";

/// What is to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program: a path, or a name for PATH.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its variables.
    pub environment: Vec<(String, String)>,
    /// Whether it has these variables only; else those that we have ourselves as well.
    #[serde(default)]
    pub alone: bool,
    /// The folder it starts in.
    pub folder: PathBuf,
    /// Of each of its streams so many bytes are kept; what comes after is counted and dropped.
    pub kept: u64,
    /// Of the beginning of its standard output so many bytes are kept, whatever is kept else.
    #[serde(default)]
    pub whole: u64,
    /// The file in which the programs of a job count together what is kept of them, and how much that may be.
    #[serde(default)]
    pub of_job: Option<(PathBuf, u64)>,
    /// What it may use.
    #[serde(default)]
    pub bounds: Bounds,
    /// The words before its own: of the sandbox it runs in.
    #[serde(default)]
    pub wrapper: Vec<String>,
    /// Whether its first process is a guard of the sandbox, with which all of it would go at once.
    #[serde(default)]
    pub has_guard: bool,
    /// What its readers should know before what it says itself: lines at the start of its standard error.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Where it runs, if not on this machine.
    #[serde(default)]
    pub seat: Option<Seat>,
}

/// What a program may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// How long it may run, in milliseconds.
    pub time_ms: Option<u64>,
    /// How long it may take to end when it has run for longer.
    pub grace_ms: u64,
    /// How much memory, in bytes: of each process its address space, unless the sandbox counts it.
    pub memory: Option<u64>,
    /// How much it may put into its folder, and into any one file, in bytes.
    pub disk: Option<u64>,
    /// How many seconds each of its processes may compute.
    pub cpu_seconds: Option<u64>,
}

/// A bound that a program has passed, and was ended for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// It ran too long.
    Time,
    /// It put too much into its folder.
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
    /// Bytes of its output that the disk had no room for.
    #[serde(default)]
    pub unkept: u64,
    /// Whether its launcher was asked to end as well: whatever ended it ended everything, a shutdown or a service manager.
    #[serde(default)]
    pub with_all: bool,
    /// Whether it could not be started for want of something that comes back: processes, files, memory.
    #[serde(default)]
    pub passing: bool,
    /// The bound that it was ended for.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// What was said of its end where it ran: it did not end well.
    #[serde(default)]
    pub said: Option<String>,
}

/// What is known of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing was started.
    Absent,
    /// It runs.
    Running,
    /// It has ended.
    Ended(Exit),
    /// It was started and is gone without a word: its launcher was killed, or the machine went down. Processes of it may be
    /// alive until it is [stopped](Launchers::stop).
    Lost,
}

/// How a program is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// It may put things in order first.
    Ask,
    /// It was asked, and is looked at.
    Look,
    /// It has no say in it.
    Force,
}

/// Starts programs, knows what became of them, and stops them. Each is asked about one folder, which is of one attempt at one
/// action; what is done to a folder touches no other.
pub trait Launchers: Send + Sync {
    /// Starts a program in a folder, unless that was done before. An error means that nothing runs and nothing will; one that
    /// is passing leaves the folder as it was.
    fn start(&self, folder: &Path, program: &Program) -> io::Result<()>;

    /// How it is now.
    fn fate(&self, folder: &Path) -> io::Result<State>;

    /// Asks all that runs of it to end, and sees to it that nothing of it starts any more. The answer is how many processes
    /// there are still; when it is none, the folder is through for good.
    fn stop(&self, folder: &Path, urgency: Urgency) -> io::Result<usize>;

    /// Calls this when it may have ended. It is called once, perhaps too early, and perhaps never.
    fn watch(&self, folder: &Path, wake: Box<dyn FnOnce() + Send>);

    /// From now on nobody is to be called. What runs goes on.
    fn leave(&self) {}

    /// A program will soon be started in a folder of a folder of this one: what can be done for that in advance is.
    fn stand_by(&self, _jobs: &Path) {}

    /// How others know what runs in a folder, where it is not of this machine.
    fn address(&self, _folder: &Path) -> Option<Address> {
        None
    }

    /// The program of ours that programs may be run by, where there is one.
    fn helper(&self) -> Option<&Path> {
        None
    }
}

/// Starts programs as processes of this machine.
pub struct Local {
    launcher: PathBuf,
    spares: Spares,
    watcher: Watcher,
}

impl Local {
    /// With the program that becomes a launcher when it is called with [`LAUNCH`].
    pub fn new(launcher: PathBuf) -> Local {
        let spares = Spares::new(launcher.clone());
        Local { launcher, spares, watcher: Watcher::default() }
    }
}

impl Launchers for Local {
    fn helper(&self) -> Option<&Path> {
        Some(&self.launcher)
    }

    fn start(&self, folder: &Path, program: &Program) -> io::Result<()> {
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
        // How a lock is passed on without anybody else getting it depends on the system.
        if cfg!(target_os = "linux") {
            self.spares.stand_by(jobs);
        }
    }
}

/// What a launcher says when its program has begun.
const BEGUN: &str = "begun";
/// What it says when its program has ended, before how that was.
const ENDED: &str = "ended: ";
/// What it says first where it could not begin for want of something that comes back.
const PASSING: &str = "passing: ";

/// A launcher of ours, to be waited for.
pub struct Started {
    /// Its process.
    pub child: Child,
    /// Where it says how its program ended.
    says: BufReader<ChildStdout>,
}

/// Starts a program in this folder, unless that was done before. The answer is the launcher, if it is ours.
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
    // How it ends can be written down even when the disk is full by then.
    for name in ["started", "child", "exit", "stop"] {
        reserve(&folder.join(name).with_extension(NEW))?;
    }
    // What is started outlives no stop of the machine, and after one nobody needs to know what it was.
    let launch = folder.join("launch.json");
    let new = launch.with_extension(NEW);
    private::write(&new, &text)?;
    fs::rename(&new, &launch)?;
    // The lock goes to the launcher, one that waits or a new one: from here on it lives as long as the launcher does.
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
            // What was typed at our terminal may come before it has a session of its own.
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

/// How it is now.
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
    // It may have ended between the two looks.
    Ok(match read_exit(folder)? {
        Some(exit) => State::Ended(exit),
        None if folder.join("started").exists() => State::Lost,
        None => State::Absent,
    })
}

/// Asks everything that belongs to this folder to end, and says how much of it there is still.
pub fn stop(folder: &Path, urgency: Urgency) -> io::Result<usize> {
    if !folder.join("launch.json").exists() {
        return Ok(0);
    }
    // Who is about to start the program names it first and looks for this then; we leave this first and look for the name
    // then. One of the two sees the other.
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
        // A launcher that has nobody left is about to write down how it ended; one that cannot is of no use.
        if let (Urgency::Force, Some(launcher)) = (urgency, launcher)
            && table::is_alive(launcher)
        {
            let _ = kill_process(launcher.pid(), Signal::KILL);
        }
        return Ok(1);
    }
    // It may have named a process between our two looks and died then.
    if Identity::read(&folder.join("child"))? != child {
        return Ok(1);
    }
    if read_exit(folder)?.is_none() {
        write_exit(folder, &Exit { signal: Some(Signal::KILL.as_raw()), ..Exit::default() })?;
    }
    Ok(0)
}

/// Sends a signal to all of a program. A guard is not asked to end: it would, and take the program with it before that could put
/// things in order.
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

/// Whether a launcher was told not to start its program, or to start it no more.
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

/// The ending of a file that is not whole yet.
const NEW: &str = "new";
/// So much room is taken in advance for what has to be written when a program ends.
const RESERVED: usize = 512;

/// Takes room for a small file in advance.
fn reserve(path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        let mut file = private::create(path)?;
        file.write_all(&[b' '; RESERVED])?;
        match fallocate(&file, FallocateFlags::empty(), 0, RESERVED as u64) {
            Ok(()) => return Ok(()),
            // Not every file system can; writing through does the same.
            Err(error) if error == rustix::io::Errno::OPNOTSUPP => {}
            Err(error) => return Err(error.into()),
        }
    }
    write_synced(path, &[b' '; RESERVED])
}

/// Writes a file whole or not at all, durably, and where its room was reserved without needing more; what is left of that
/// is blanks.
fn write_reserved(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension(NEW);
    let mut file = private::options().write(true).create(true).truncate(false).open(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// The same for what means nothing any more when the machine has gone down: who a process is. It need not outlive that.
fn note_reserved(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension(NEW);
    let mut file = private::options().write(true).create(true).truncate(false).open(&new)?;
    file.write_all(content)?;
    fs::rename(&new, path)
}

/// Writes a file whole or not at all, and durably.
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

/// Whether what was wanted is only short at the moment: processes, open files, memory.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let passing = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    let code = error.raw_os_error();
    error.kind() == io::ErrorKind::WouldBlock
        || code.is_some_and(|code| passing.iter().any(|errno| errno.raw_os_error() == code))
}
