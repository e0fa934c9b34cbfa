//! The launcher: starts the program of a folder, and ends when it and every process that holds its output have ended.
//!
//! The program is started in two steps. The launcher forks; the child arranges to end with the launcher, records its
//! identity, sets its resource limits, and then becomes the program, or the sandbox around it. So nothing ever runs
//! unrecorded. The launcher is single-threaded, so the child may do whatever any process may do before it becomes the
//! program. (Executing this binary again instead would double the cost of a start.)

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, kill_process, kill_process_group, setpgid,
    test_kill_process_group, waitpid,
};

use super::{
    BEGUN, Bound, ENDED, Exit, Identity, MARK, PASSING, Program, Urgency, is_passing, is_to_stop,
    note_reserved, stop, table, write_exit, write_whole,
};
use ankus_procedure::private;

/// Signals by which everything is ended at once: a shutdown, a service manager, a closed terminal.
const ENDING: [i32; 4] = [
    signal_hook::consts::SIGTERM,
    signal_hook::consts::SIGINT,
    signal_hook::consts::SIGHUP,
    signal_hook::consts::SIGQUIT,
];
/// How often to check whether a program has ended, if the system does not report it.
const LOOK: Duration = Duration::from_millis(50);
/// How long processes that a program leaves in its process group may take to end, as in a container of YARN
/// (`yarn.nodemanager.sleep-delay-before-sigkill.ms`).
const LEFT_GRACE: Duration = Duration::from_millis(250);
/// How often to check for such processes meanwhile.
const LEFT_LOOK: Duration = Duration::from_millis(10);
/// How often the size of a program's folder is measured, if that is limited.
const MEASURE: Duration = Duration::from_secs(1);
/// How many of its files are counted: a program that creates more is measured by those.
const MEASURED: usize = 200_000;
/// How often, and after what pause, executing a program is retried while another process is writing it.
const BUSY: (u32, Duration) = (30, Duration::from_millis(100));
/// How many seconds of CPU time a process gets after its limit, to clean up.
const CPU_GRACE: u64 = 5;
/// How many bytes are taken from the job's output budget at a time.
const PORTION: u64 = 1 << 20;

/// The file with the reason why the program could not be started, written by the process that was to become it.
const REFUSED: &str = "refused";

/// Runs the program of a folder as its launcher.
pub fn launch(folder: &Path) -> io::Result<()> {
    // The launcher must not be affected by a closed terminal or Ctrl-C. The session is also one of the marks by which
    // the program is recognized.
    rustix::process::setsid()?;
    run(folder, Identity::own())
}

/// Like [`launch`], for a process that already has a session of its own and knows its identity.
pub(super) fn run(folder: &Path, own: Identity) -> io::Result<()> {
    // A signal that is meant for everything is only recorded here; the program gets it too, and decides.
    let with_all = Arc::new(AtomicBool::new(false));
    let is_child = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        // The child that becomes the program reacts to signals as usual.
        signal_hook::flag::register_conditional_default(signal, is_child.clone())?;
        signal_hook::flag::register(signal, with_all.clone())?;
    }
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let text = fs::read(folder.join("launch.json"))?;
    let program: Program = serde_json::from_slice(&text).map_err(io::Error::other)?;
    note_reserved(&folder.join("started"), &own.text())?;
    let say = |what: &str| {
        // The process that started us may be gone.
        let mut out = io::stdout();
        let _ = writeln!(out, "{what}").and_then(|()| out.flush());
    };
    if is_to_stop(folder) {
        say(BEGUN);
        return write_exit(folder, &stopped());
    }

    let started = Forked::new(|out, errors| {
        is_child.store(true, Ordering::SeqCst);
        if !with_all.load(Ordering::SeqCst) {
            // If this returns, nothing was started, and the launcher reads why.
            let _ = become_program(folder, &program, own.pid(), out, errors);
        }
    });
    let child = match started {
        Ok(child) => child,
        Err(error) => {
            let why = format!("`{}`: {error}", program.program).replace('\n', " ");
            if is_passing(&error) && fs::remove_file(folder.join("started")).is_ok() {
                // Nothing has run here, so the next launcher may start it.
                say(&format!("{PASSING}{why}"));
                return Ok(());
            }
            write_exit(folder, &Exit { error: Some(why.clone()), ..Exit::default() })?;
            say(&why);
            return Ok(());
        }
    };
    say(BEGUN);
    let ended = Watched::new(folder, &program, child).run()?;
    let exit = match fs::read(folder.join(REFUSED)) {
        Ok(text) => serde_json::from_slice(&text).map_err(io::Error::other)?,
        Err(_) => Exit {
            code: ended.status.code(),
            signal: ended.status.signal(),
            unkept: ended.unkept,
            with_all: with_all.load(Ordering::SeqCst)
                && !is_to_stop(folder)
                && ended.bound.is_none(),
            bound: ended.bound,
            ..Exit::default()
        },
    };
    // The process that started us need not wait for the disk: it stores the consequences itself before reporting them.
    let text = serde_json::to_string(&exit).map_err(io::Error::other)?;
    say(&format!("{ENDED}{text}"));
    write_exit(folder, &exit)
}

fn stopped() -> Exit {
    Exit { signal: Some(Signal::KILL.as_raw()), ..Exit::default() }
}

/// Executes the program of a folder; returns only if that fails.
fn become_program(
    folder: &Path,
    program: &Program,
    launcher: Pid,
    out: io::PipeWriter,
    errors: io::PipeWriter,
) -> io::Result<()> {
    let refuse = |exit: &Exit| {
        let text = serde_json::to_vec(exit).map_err(io::Error::other)?;
        write_whole(&folder.join(REFUSED), &text)
    };
    let failed = |error: io::Error, what: &str| {
        let passing = is_passing(&error);
        let why = format!("`{what}`: {error}");
        refuse(&Exit { error: Some(why), passing, ..Exit::default() })
    };
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if rustix::process::getppid() != Some(launcher) {
        // The launcher ended before we could arrange to end with it.
        return Ok(());
    }
    if let Err(error) = note_reserved(&folder.join("child"), &Identity::own().text()) {
        return failed(error, &program.program);
    }
    if is_to_stop(folder) {
        return refuse(&stopped());
    }
    let bounds = &program.bounds;
    for (resource, most) in [
        (Resource::As, bounds.memory),
        (Resource::Fsize, bounds.disk),
        (Resource::Cpu, bounds.cpu_seconds),
    ] {
        let Some(most) = most else { continue };
        // A program that may raise its limits is not prevented from it: it has the same user as we do.
        let given = rustix::process::getrlimit(resource);
        let at_most = |most: u64| Some(given.maximum.map_or(most, |given| given.min(most)));
        // The signal at the soft CPU limit names the cause; the one at the hard limit does not.
        let more = if resource == Resource::Cpu { CPU_GRACE } else { 0 };
        let limit = Rlimit { current: at_most(most), maximum: at_most(most.saturating_add(more)) };
        if let Err(error) = rustix::process::setrlimit(resource, limit) {
            return failed(error.into(), "setrlimit");
        }
    }
    let mut words = program.wrapper.iter().chain([&program.program]).chain(&program.arguments);
    let Some(first) = words.next() else { return Ok(()) };
    let mut command = Command::new(first);
    if program.alone {
        command.env_clear();
    }
    command
        .args(words)
        .envs(program.environment.iter().map(|(name, value)| (name, value)))
        .env(MARK, folder)
        .current_dir(&program.folder)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(errors);
    let mut tries = 0;
    loop {
        let error = command.exec();
        let is_busy = error.raw_os_error() == Some(rustix::io::Errno::TXTBSY.raw_os_error());
        if !is_busy || tries == BUSY.0 {
            return match absent_interpreter(&error, first) {
                Some(why) => refuse(&Exit { error: Some(why), ..Exit::default() }),
                None => failed(error, first),
            };
        }
        tries += 1;
        std::thread::sleep(BUSY.1);
    }
}

/// Returns the message for a script whose interpreter is missing: the system reports both cases as a missing file.
fn absent_interpreter(error: &io::Error, program: &str) -> Option<String> {
    let mut head = Vec::new();
    if error.kind() == io::ErrorKind::NotFound {
        let file = fs::File::open(program).ok()?;
        file.take(256).read_to_end(&mut head).ok()?;
    }
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let hint = match line.ends_with('\r') {
        true => ", and its lines end with a carriage return",
        false => "",
    };
    let interpreter = line.split_whitespace().next()?;
    Some(format!(
        "`{program}`: its first line names the interpreter `{interpreter}`{hint}: {error}"
    ))
}

/// The child process that becomes the program, with the read ends of its streams.
struct Forked {
    pid: Pid,
    streams: Option<(io::PipeReader, io::PipeReader)>,
}

impl Forked {
    /// Forks a process in a process group of its own that executes `what`, which does not return if all goes well.
    fn new(what: impl FnOnce(io::PipeWriter, io::PipeWriter)) -> io::Result<Forked> {
        let (out, its_out) = io::pipe()?;
        let (errors, its_errors) = io::pipe()?;
        match fork::fork()? {
            fork::Fork::Child => {
                if setpgid(None, None).is_ok() {
                    what(its_out, its_errors);
                }
                std::process::exit(2)
            }
            fork::Fork::Parent(pid) => {
                let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
                // Parent and child both do this; the child may also be gone already.
                let _ = setpgid(Some(pid), Some(pid));
                Ok(Forked { pid, streams: Some((out, errors)) })
            }
        }
    }

    /// Returns its exit status, if it has ended.
    fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        let ended = waitpid(Some(self.pid), WaitOptions::NOHANG)?;
        Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
    }
}

/// The end of a program and of every process that held its output.
struct Ended {
    status: ExitStatus,
    unkept: u64,
    bound: Option<Bound>,
}

/// A running program.
struct Watched<'a> {
    folder: &'a Path,
    program: &'a Program,
    child: Forked,
    /// Becomes readable when the program ends, if the system supports that.
    end: Option<OwnedFd>,
    status: Option<ExitStatus>,
    streams: Vec<Stream>,
    began: Instant,
    measured: Instant,
    /// The limit that it has exceeded, and since when it has been asked to end for that.
    passed: Option<(Bound, Instant)>,
    was_forced: Option<Instant>,
    /// Since when whoever started it is gone, where it is to end with them.
    abandoned: Option<Instant>,
}

impl<'a> Watched<'a> {
    fn new(folder: &'a Path, program: &'a Program, mut child: Forked) -> Watched<'a> {
        let end = descriptor(child.pid);
        let mut streams = Vec::new();
        let budget = program.of_job.as_ref().map(|(file, most)| Budget { file, most: *most });
        if let Some((out, errors)) = child.streams.take() {
            let (budget, path) = (budget.as_ref(), folder.join("stdout"));
            streams.push(Stream::new(Box::new(out), &path, program, budget, program.whole));
            let path = folder.join("stderr");
            let mut stream = Stream::new(Box::new(errors), &path, program, budget, 0);
            stream.note(&program.notes);
            streams.push(stream);
        }
        let now = Instant::now();
        Watched {
            folder,
            program,
            child,
            end,
            status: None,
            streams,
            began: now,
            measured: now,
            passed: None,
            was_forced: None,
            abandoned: None,
        }
    }

    /// Waits until it has ended, and so has every process that could write to its output.
    fn run(mut self) -> io::Result<Ended> {
        while self.status.is_none() || self.streams.iter().any(|stream| stream.pipe.is_some()) {
            self.wait();
            for stream in &mut self.streams {
                stream.read();
            }
            if self.status.is_none() {
                self.status = self.child.try_wait()?;
            }
            self.keep_bounds();
        }
        let status = self.status.expect("the loop ends when it is there");
        self.end_what_is_left();
        let unkept = self.streams.iter_mut().map(Stream::finish).sum();
        Ok(Ended { status, unkept, bound: self.passed.map(|(bound, _)| bound) })
    }

    /// Waits until there is something to do.
    fn wait(&mut self) {
        let pause = self.pause().map(|pause| Timespec {
            tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(pause.subsec_nanos()),
        });
        let mut fds = Vec::new();
        let mut places = Vec::new();
        for (place, stream) in self.streams.iter().enumerate() {
            if let Some(pipe) = &stream.pipe {
                fds.push(PollFd::new(pipe, PollFlags::IN));
                places.push(place);
            }
        }
        if let (Some(end), None) = (&self.end, self.status) {
            fds.push(PollFd::new(end, PollFlags::IN));
        }
        // Whoever started us listens at the other end as long as they live.
        let starter = io::stdout();
        let listens = (self.program.with_starter && self.abandoned.is_none()).then_some(fds.len());
        if listens.is_some() {
            fds.push(PollFd::new(&starter, PollFlags::empty()));
        }
        let readable = match poll(&mut fds, pause.as_ref()) {
            Ok(_) => fds.iter().map(|fd| !fd.revents().is_empty()).collect(),
            // Interrupted by a signal; checked again.
            Err(_) => vec![false; fds.len()],
        };
        drop(fds);
        if listens.is_some_and(|place| readable[place]) {
            self.abandoned = Some(Instant::now());
            let _ = stop(self.folder, Urgency::Ask);
        }
        for (place, readable) in places.into_iter().zip(readable) {
            self.streams[place].is_readable = readable;
        }
    }

    fn pause(&self) -> Option<Duration> {
        let bounds = &self.program.bounds;
        let mut pauses = Vec::new();
        if self.status.is_none() && self.end.is_none() {
            pauses.push(LOOK);
        }
        if self.passed.is_some() || self.abandoned.is_some() {
            pauses.push(LOOK);
        }
        if let (Some(most), None) = (bounds.time_ms, &self.passed) {
            pauses.push(Duration::from_millis(most).saturating_sub(self.began.elapsed()));
        }
        if bounds.disk.is_some() {
            pauses.push(MEASURE.saturating_sub(self.measured.elapsed()));
        }
        pauses.into_iter().min()
    }

    /// Enforces the limits: the program is asked to end, and killed after its grace period.
    fn keep_bounds(&mut self) {
        let bounds = &self.program.bounds;
        if let Some(since) = self.abandoned {
            // It was asked to end. What has left its group goes as well.
            if since.elapsed() >= Duration::from_millis(bounds.grace_ms) {
                let _ = stop(self.folder, Urgency::Force);
            }
            return;
        }
        if self.passed.is_none() {
            let is_late = |most: u64| self.began.elapsed() >= Duration::from_millis(most);
            let passed = if bounds.time_ms.is_some_and(is_late) {
                Some(Bound::Time)
            } else if let Some(most) = bounds.disk
                && self.measured.elapsed() >= MEASURE
            {
                let passes = size(&self.program.folder, most) > most;
                self.measured = Instant::now();
                passes.then_some(Bound::Disk)
            } else {
                None
            };
            let Some(passed) = passed else { return };
            self.passed = Some((passed, Instant::now()));
            return self.signal(Signal::TERM);
        }
        let Some((_, since)) = self.passed else { return };
        let is_over = since.elapsed() >= Duration::from_millis(bounds.grace_ms);
        // Repeated, so that processes started meanwhile are killed as well.
        let is_time = self.was_forced.is_none_or(|at| at.elapsed() >= LOOK * 4);
        if is_over && is_time {
            self.was_forced = Some(Instant::now());
            self.signal(Signal::KILL);
        }
    }

    /// Ends the processes that the program left in its process group, as a container of YARN does. A process with a
    /// session of its own was detached on purpose and stays, as it does there.
    fn end_what_is_left(&self) {
        // Nearly always nothing is left, and this call is the only cost.
        if test_kill_process_group(self.child.pid).is_err() {
            return;
        }
        for signal in [Signal::TERM, Signal::KILL] {
            let since = Instant::now();
            let (_, members) = self.members();
            if members.in_group.is_empty() {
                return;
            }
            let _ = kill_process_group(self.child.pid, signal);
            while since.elapsed() < LEFT_GRACE && !self.members().1.in_group.is_empty() {
                std::thread::sleep(LEFT_LOOK);
            }
        }
    }

    /// Returns the first process of the program, once it is recorded, and all that are alive.
    fn members(&self) -> (Option<Identity>, table::Members) {
        let child = Identity::read(&self.folder.join("child")).ok().flatten();
        let launcher = Some(Identity::own());
        (child, table::members(self.folder, launcher, child, Instant::now()))
    }

    fn signal(&self, signal: Signal) {
        let (child, members) = self.members();
        super::signal_members(self.program.has_guard, child, &members, signal);
        if child.is_none() {
            // The child has not become the program yet.
            let _ = kill_process_group(self.child.pid, signal);
            let _ = kill_process(self.child.pid, signal);
        }
    }
}

#[cfg(target_os = "linux")]
fn descriptor(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn descriptor(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Returns the size of a folder in bytes; stops counting soon after `most`.
fn size(folder: &Path, most: u64) -> u64 {
    let (mut bytes, mut looked) = (0_u64, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            looked += 1;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                bytes = bytes.saturating_add(metadata.blocks().saturating_mul(512));
            }
            if bytes > most || looked > MEASURED {
                return bytes;
            }
        }
    }
    bytes
}

/// The budget for the output of a job's programs, in a file that all its launchers share.
#[derive(Clone, Debug)]
struct Budget<'a> {
    file: &'a Path,
    most: u64,
}

impl Budget<'_> {
    /// Takes up to `take` bytes, or returns `give` bytes to the budget. Returns how many were taken.
    fn change(&self, take: u64, give: u64) -> io::Result<u64> {
        let mut file = private::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.file)?;
        flock(file.as_fd(), FlockOperation::LockExclusive)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let used: u64 = text.trim().parse().unwrap_or(0);
        let used = used.saturating_sub(give);
        let taken = take.min(self.most.saturating_sub(used));
        file.rewind()?;
        write!(file, "{:<20}", used + taken)?;
        Ok(taken)
    }
}

/// Stores the beginning of a stream in a file, and drains the rest so that the program does not block.
struct Stream {
    pipe: Option<Box<dyn Pipe>>,
    is_readable: bool,
    file: io::Result<File>,
    /// How many more bytes of it may be kept.
    room: u64,
    most: u64,
    /// How many more bytes are kept regardless of the job's budget.
    whole: u64,
    budget: Option<(PathBuf, u64)>,
    /// How many bytes were taken from the job's budget and not used yet.
    taken: u64,
    /// How many bytes were dropped: for the limit of the attempt, for that of the job, for lack of disk space.
    dropped: u64,
    dropped_by_job: u64,
    unkept: u64,
}

trait Pipe: Read + AsFd {}
impl<T: Read + AsFd> Pipe for T {}

impl Stream {
    fn new(
        pipe: Box<dyn Pipe>,
        path: &Path,
        program: &Program,
        budget: Option<&Budget<'_>>,
        whole: u64,
    ) -> Stream {
        Stream {
            pipe: Some(pipe),
            is_readable: false,
            file: private::create(path),
            room: program.kept.max(whole),
            most: program.kept,
            whole,
            budget: budget.map(|budget| (budget.file.to_owned(), budget.most)),
            taken: 0,
            dropped: 0,
            dropped_by_job: 0,
            unkept: 0,
        }
    }

    /// Writes our notes before the output of the program.
    fn note(&mut self, lines: &[String]) {
        let Ok(file) = &mut self.file else { return };
        for line in lines {
            // A full disk loses the program's output as well, and that is reported.
            let _ = writeln!(file, "[{line}]");
        }
    }

    /// Reads what is available.
    fn read(&mut self) {
        if !std::mem::take(&mut self.is_readable) {
            return;
        }
        let Some(pipe) = &mut self.pipe else { return };
        let mut buffer = [0; 64 << 10];
        match pipe.read(&mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(read) => self.keep(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => {
                // A stream that cannot be read has lost data.
                self.unkept += 1;
                self.pipe = None;
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        let fits = self.room.min(length);
        let kept = self.take(fits);
        self.room -= kept;
        self.dropped += length - fits;
        self.dropped_by_job += fits - kept;
        if kept < fits {
            // Nothing is stored after a gap.
            self.room = 0;
        }
        // A full disk stops the log, not the program.
        let written = match (&mut self.file, self.unkept) {
            (Ok(file), 0) => file.write_all(&bytes[..kept as usize]).is_ok(),
            _ => kept == 0,
        };
        if !written {
            self.unkept += kept;
        }
    }

    /// Takes bytes from the job's budget; returns how many may be kept.
    fn take(&mut self, wanted: u64) -> u64 {
        let Some((file, most)) = &self.budget else { return wanted };
        let free = wanted.min(self.whole);
        self.whole -= free;
        let wanted = wanted - free;
        if self.taken < wanted {
            let budget = Budget { file, most: *most };
            let portion = (wanted - self.taken).max(PORTION.min(self.room));
            // If the budget cannot be updated, the bytes are kept: the limit of the attempt still applies.
            self.taken += budget.change(portion, 0).unwrap_or(portion);
        }
        let taken = wanted.min(self.taken);
        self.taken -= taken;
        free + taken
    }

    /// Notes at the end of the file what is missing, and returns the number of bytes for which the disk had no room.
    fn finish(&mut self) -> u64 {
        if let Some((file, most)) = &self.budget
            && self.taken > 0
        {
            let _ = Budget { file, most: *most }.change(0, self.taken);
        }
        if let Ok(file) = &mut self.file {
            let mut note = String::new();
            let mut say = |bytes: u64, why: String| {
                if bytes > 0 {
                    note.push_str(&format!("\n[{bytes} bytes more were not kept: {why}]\n"));
                }
            };
            let most = self.most;
            say(self.unkept, "there was no room on the disk".to_owned());
            if self.dropped_by_job == 0 {
                say(
                    self.dropped,
                    format!("of one stream the first {most} are, [launchers] output"),
                );
            } else {
                let bytes = self.dropped_by_job + self.dropped;
                say(bytes, "the job has reached its limit, [launchers] output_job".to_owned());
            }
            let _ = file.write_all(note.as_bytes());
        }
        self.unkept
    }
}
