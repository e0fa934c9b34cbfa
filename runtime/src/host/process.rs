//! Programs that outlive us.
//!
//! An action's program runs under a small launcher: a process of its own session that starts it, keeps its output and
//! leaves its exit status behind in a folder. Killing ankus does not touch it; whoever looks at the folder later finds
//! it still [running](State::Running) or [ended](State::Ended), and no folder is ever run twice. The launcher is this same
//! binary, called with [`LAUNCH`] and the folder; [`launch`] is what it does then.
//!
//! Liveness is a file lock that the launcher is born with and that goes when it goes, however that happens.
#![expect(clippy::disallowed_methods, reason = "processes are the outside world")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

use super::private;

/// The hidden argument with which this binary becomes a launcher.
pub const LAUNCH: &str = "__launch";

/// What is to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program: a path, or a name for PATH.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables beside those we have ourselves.
    pub environment: Vec<(String, String)>,
    /// The folder it starts in.
    pub folder: PathBuf,
    /// Of each of its streams so many bytes are kept; what comes after is counted and dropped.
    pub kept: u64,
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
    /// It was started and is gone without a word: its launcher was killed, or the machine went down.
    Lost,
}

/// Starts a program in this folder, unless that was done before. The answer is the launcher, to be waited for, if it is
/// ours.
pub fn start(launcher: &Path, folder: &Path, program: &Program) -> io::Result<Option<Child>> {
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
    for name in ["started", "child", "exit"] {
        write_synced(&folder.join(name).with_extension(NEW), &[b' '; RESERVED])?;
    }
    write_whole(&folder.join("launch.json"), &text)?;
    // The lock goes to the launcher as its standard input: from here on it lives as long as the launcher does.
    let child = Command::new(launcher)
        .arg(LAUNCH)
        .arg(folder)
        .stdin(Stdio::from(lock))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    Ok(Some(child))
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

/// Waits until it runs no more.
pub fn wait(folder: &Path) -> io::Result<()> {
    let lock = lock_file(folder)?;
    loop {
        match flock(&lock, FlockOperation::LockShared) {
            Ok(()) => return Ok(()),
            Err(error) if error == rustix::io::Errno::INTR => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends it with everything it started: asks first, and after `grace` asks no more.
pub fn kill(folder: &Path, grace: Duration) -> io::Result<()> {
    if state(folder)? != State::Running {
        return Ok(());
    }
    let number = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    };
    let since = Instant::now();
    // It may be about to write down who it is.
    let launcher = loop {
        match number("started") {
            Some(launcher) => break launcher,
            None if since.elapsed() > Duration::from_secs(5) => return Ok(()),
            None => thread::sleep(Duration::from_millis(5)),
        }
        if state(folder)? != State::Running {
            return Ok(());
        }
    };
    let everyone = |signal: Signal| {
        let mut any = false;
        if let Some(child) = number("child") {
            any |= kill_process_group(child, signal).is_ok();
        }
        for pid in descendants(launcher) {
            any |= kill_process(pid, signal).is_ok();
        }
        any
    };
    everyone(Signal::TERM);
    let since = Instant::now();
    while since.elapsed() < grace {
        if state(folder)? != State::Running {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    // A process may be born while others die.
    let since = Instant::now();
    while everyone(Signal::KILL) && since.elapsed() < Duration::from_secs(2) {
        if state(folder)? != State::Running {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    if state(folder)? == State::Running {
        let _ = kill_process(launcher, Signal::KILL);
        wait(folder)?;
    }
    if read_exit(folder)?.is_none() {
        write_exit(folder, &Exit { signal: Some(Signal::KILL.as_raw()), ..Exit::default() })?;
    }
    Ok(())
}

/// Every process below this one, where the system can tell.
fn descendants(of: Pid) -> Vec<Pid> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name may hold anything, parentheses too; state and parent come behind its last one.
        let after = stat.rsplit(')').next().unwrap_or_default();
        if let Some(parent) =
            after.split_whitespace().nth(1).and_then(|text| text.parse::<i32>().ok())
        {
            parents.push((pid, parent));
        }
    }
    let mut found = vec![of.as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

/// What the launcher does: runs the program of a folder, and ends when it and whoever holds its output have ended.
pub fn launch(folder: &Path) -> io::Result<()> {
    // A closed terminal or a Ctrl-C there is not meant for us.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let text = fs::read(folder.join("launch.json"))?;
    let program: Program = serde_json::from_slice(&text).map_err(io::Error::other)?;
    write_reserved(&folder.join("started"), std::process::id().to_string().as_bytes())?;

    let started = Command::new(&program.program)
        .args(&program.arguments)
        .envs(program.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&program.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let exit = match started {
        Err(error) => {
            let why = format!("`{}`: {error}", program.program);
            Exit { error: Some(why), ..Exit::default() }
        }
        Ok(mut child) => {
            write_reserved(&folder.join("child"), child.id().to_string().as_bytes())?;
            let streams = [
                child.stdout.take().map(|stream| keep(stream, folder.join("stdout"), program.kept)),
                child.stderr.take().map(|stream| keep(stream, folder.join("stderr"), program.kept)),
            ];
            let status = child.wait()?;
            let unkept = streams.into_iter().flatten().map(|thread| match thread.join() {
                Ok(Ok(unkept)) => unkept,
                // A stream that could not be read or written at all has lost something.
                Ok(Err(_)) | Err(_) => 1,
            });
            let unkept = unkept.sum();
            Exit { code: status.code(), signal: status.signal(), error: None, unkept }
        }
    };
    write_exit(folder, &exit)
}

/// Keeps the beginning of a stream in a file, and reads the rest so that the program does not stand still. The answer is
/// how many bytes would have been kept if there had been room on the disk.
fn keep(
    mut stream: impl Read + Send + 'static,
    path: PathBuf,
    kept: u64,
) -> thread::JoinHandle<io::Result<u64>> {
    thread::spawn(move || {
        let mut file = private::create(&path);
        let mut buffer = vec![0; 64 << 10];
        let (mut room, mut dropped, mut unkept) = (kept, 0_u64, 0_u64);
        loop {
            let read = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let keep = room.min(read as u64);
            room -= keep;
            dropped += read as u64 - keep;
            // A full disk stops the log, not the program.
            let written = match (&mut file, unkept) {
                (Ok(file), 0) => file.write_all(&buffer[..keep as usize]).is_ok(),
                _ => false,
            };
            if !written {
                unkept += keep;
            }
        }
        if let Ok(file) = &mut file
            && dropped + unkept > 0
        {
            let _ = writeln!(file, "\n[{} bytes more were not kept]", dropped + unkept);
        }
        Ok(unkept)
    })
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

/// Writes a file whole or not at all, durably, and where its room was reserved without needing more; what is left of that
/// is blanks.
fn write_reserved(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension(NEW);
    let mut file = private::options().write(true).create(true).truncate(false).open(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// Writes a file whole or not at all, and durably.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension(NEW);
    write_synced(&new, content)?;
    fs::rename(&new, path)
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}
