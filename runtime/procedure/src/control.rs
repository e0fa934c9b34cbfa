//! Lets one process run a store, and others send requests to it.
//!
//! To use a store, call [`hold`] with its path. It returns either the right to run the store, which lasts as long as
//! the [`Guard`] (or the process: a killed one leaves nothing behind that blocks the next), or a [`Client`] of the
//! process that runs it. The lock is `<store>.lock`, the socket `<store>.sock`; both belong to the user alone.
//!
//! A frame is its length in four bytes, little-endian, and a `Request` or `Reply` in postcard.
#![expect(clippy::disallowed_methods, reason = "sockets and lock files are the outside world")]

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use crate::private;
use crate::store;

use super::{Executor, Finished, Listing, Metrics, New, Nonce, ProcedureId, State};

/// The maximum length of a frame.
const LONGEST: usize = 64 << 20;

/// How long a process that has just begun to run a store may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long an answer may take, beyond the time that the request itself allows.
const ANSWER: Duration = Duration::from_secs(20);

/// The same for clients that only want to inspect the store, and can do without.
const GLANCE: Duration = Duration::from_secs(2);

/// How often the process that runs a store checks whether lock and socket are still where others look for them.
const LOOK: Duration = Duration::from_millis(500);

/// The process that runs a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Since when it has run the store, in milliseconds since 1970.
    pub since_ms: i64,
    /// Its command line.
    pub command: String,
}

impl Holder {
    fn own() -> Holder {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let since_ms = since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0));
        let words: Vec<String> =
            std::env::args_os().take(6).map(|word| word.to_string_lossy().into_owned()).collect();
        Holder { pid: std::process::id(), since_ms, command: words.join(" ") }
    }

    /// Returns the process that runs the store in this file, as far as it has recorded itself; none if there is none.
    pub fn of(store: &Path) -> Result<Option<Holder>, ControlError> {
        let path = beside(store, ".lock");
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ControlError::at(&path, &error)),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(None),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
                let text = fs::read(&path).unwrap_or_default();
                Ok(Some(serde_json::from_slice(text.trim_ascii()).unwrap_or_default()))
            }
            Err(error) => Err(ControlError::at(&path, &error.into())),
        }
    }

    /// Whether the process is stopped (by SIGSTOP or a debugger), where the system shows that.
    fn is_paused(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
        matches!(state, Some("T" | "t"))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            return f.write_str("another process");
        }
        write!(f, "process {}", self.pid)?;
        if !self.command.is_empty() {
            write!(f, " (`{}`)", self.command)?;
        }
        if let Ok(since) = jiff::Timestamp::from_millisecond(self.since_ms) {
            write!(f, ", which has run the store since {},", since.strftime("%Y-%m-%dT%H:%M:%SZ"))?;
        }
        Ok(())
    }
}

/// The result of [`hold`].
#[derive(Debug)]
pub enum Hold {
    /// No process ran the store. Now this process may.
    Mine(Guard),
    /// Another process runs the store, and this client is connected to it.
    Theirs(Client),
}

/// The right to run a store.
#[derive(Debug)]
pub struct Guard {
    store: PathBuf,
    lock: File,
}

/// The identity of a file, whatever its name refers to by now.
type Identity = (u64, u64);

fn identity(found: &fs::Metadata) -> Identity {
    (found.dev(), found.ino())
}

fn identity_at(path: &Path) -> Option<Identity> {
    fs::symlink_metadata(path).ok().map(|found| identity(&found))
}

/// Takes the right to run the store in this file, or connects to the process that has it.
pub fn hold(store: &Path) -> Result<Hold, ControlError> {
    let began = Instant::now();
    loop {
        if let Some(guard) = Guard::take(store)? {
            return Ok(Hold::Mine(guard));
        }
        match Client::reach(store) {
            Ok(client) => return Ok(Hold::Theirs(client)),
            Err(error @ ControlError::Silent(_)) => return Err(error),
            // The holder of the lock is about to open the socket, or about to end.
            Err(_) if began.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(10)),
            Err(_) => return Err(silent(store)),
        }
    }
}

/// Returns why no process answers for a store.
fn silent(store: &Path) -> ControlError {
    let holder = match Holder::of(store) {
        Ok(Some(holder)) => holder,
        Ok(None) => return ControlError::Gone("it has ended".to_owned()),
        Err(error) => return error,
    };
    let why = match holder.is_paused() {
        true => format!("it is stopped; `kill -CONT {}` lets it continue", holder.pid),
        false => "it may be busy or hanging".to_owned(),
    };
    ControlError::Silent(format!("{holder} does not answer: {why}"))
}

impl Guard {
    /// Takes the right to run a store; none if another process has it.
    pub fn take(store: &Path) -> Result<Option<Self>, ControlError> {
        let path = beside(store, ".lock");
        let file = lock_file(&path).map_err(|error| ControlError::at(&path, &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // Records this process; without that, the lock holds all the same.
                let holder = serde_json::to_vec(&Holder::own()).unwrap_or_default();
                let mut written = &file;
                let _ = file.set_len(0).and_then(|()| written.write_all(&holder));
                Ok(Some(Guard { store: store.to_owned(), lock: file }))
            }
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(None),
            Err(error) => Err(ControlError::at(&path, &error.into())),
        }
    }

    /// Answers requests of other processes for this executor. `call` answers [`Client::call`].
    pub fn serve(
        self,
        executor: Executor,
        call: impl Fn(&str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Result<Server, ControlError> {
        let path = beside(&self.store, ".sock");
        let socket = Socket::bind(&path).map_err(|error| ControlError::at(&path, &error))?;
        let (bell, ear) = UnixStream::pair().map_err(|error| ControlError::at(&path, &error))?;
        let serving = Arc::new(Serving {
            executor,
            call: Box::new(call),
            stop: AtomicBool::new(false),
            streams: Mutex::new(HashMap::new()),
        });
        let accepting = serving.clone();
        let guard = Arc::new(self);
        let held = guard.clone();
        let thread = thread::Builder::new()
            .spawn(move || accepting.accept(socket, &held, &ear))
            .map_err(|error| ControlError::at(&path, &error))?;
        Ok(Server { serving, bell, thread: Some(thread), _guard: guard })
    }

    /// Whether the lock that others would try is still the one held here. If the files of the store were deleted or
    /// moved, another process may run what is there now.
    fn holds(&self) -> bool {
        let own = self.lock.metadata().ok().map(|found| identity(&found));
        own.is_some() && own == identity_at(&beside(&self.store, ".lock"))
    }
}

/// The socket at which others connect.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
    identity: Option<Identity>,
}

impl Socket {
    /// Opens the socket. Only the holder of the lock may: an existing socket was left behind by a process that was
    /// killed.
    fn bind(path: &Path) -> io::Result<Socket> {
        let _ = fs::remove_file(path);
        let listener = with_short(path, UnixListener::bind)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Socket { listener, path: path.to_owned(), identity: identity_at(path) })
    }

    /// Whether others can find the socket.
    fn is_there(&self) -> bool {
        self.identity.is_some() && self.identity == identity_at(&self.path)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A file that another process has put in its place is not ours.
        if self.is_there() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Answers other processes until it is dropped.
pub struct Server {
    serving: Arc<Serving>,
    /// Tells the accepting thread to stop.
    bell: UnixStream,
    thread: Option<thread::JoinHandle<()>>,
    _guard: Arc<Guard>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.stop.store(true, Ordering::Release);
        // The thread notices this even if the socket's file is gone.
        let _ = self.bell.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for stream in self.serving.streams.lock().unwrap_or_else(PoisonError::into_inner).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

type Call = dyn Fn(&str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync;

struct Serving {
    executor: Executor,
    call: Box<Call>,
    stop: AtomicBool,
    streams: Mutex<HashMap<u64, UnixStream>>,
}

impl Serving {
    /// Accepts connections until it is told to stop.
    fn accept(self: Arc<Self>, mut socket: Socket, guard: &Guard, ear: &UnixStream) {
        let pause = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        let mut looked = Instant::now();
        for number in 0_u64.. {
            let polled = {
                let listener = PollFd::new(&socket.listener, PollFlags::IN);
                poll(&mut [listener, PollFd::new(ear, PollFlags::IN)], Some(&pause))
            };
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if !guard.holds() {
                    self.executor.give_up(store::Error::Gone);
                } else if !socket.is_there() {
                    // The socket was deleted. Without it no process could send commands.
                    if let Ok(again) = Socket::bind(&socket.path) {
                        socket = again;
                    }
                }
            }
            if matches!(polled, Ok(0)) {
                continue;
            }
            let stream = polled.map_err(io::Error::from).and_then(|_| socket.listener.accept());
            let stream = stream.and_then(|(stream, _)| {
                stream.set_nonblocking(false)?;
                Ok((stream.try_clone()?, stream))
            });
            let Ok((other, stream)) = stream else {
                // A temporary lack of file handles or of other resources.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            // The socket and the folder of a store are private; but the store of a test may be anywhere.
            if !is_ours(&stream) {
                continue;
            }
            self.streams.lock().unwrap_or_else(PoisonError::into_inner).insert(number, other);
            let serving = self.clone();
            let talking = thread::Builder::new().spawn(move || {
                let _ = serving.converse(stream);
                serving.streams.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
            });
            if talking.is_err() {
                // The client sees that the connection is closed, and retries.
                let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(stream) = streams.remove(&number) {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
        }
    }

    fn converse(&self, mut stream: UnixStream) -> io::Result<()> {
        while let Some(request) = receive(&mut stream)? {
            let reply = match postcard::from_bytes(&request) {
                Ok(request) => self.answer(request),
                Err(_) => Reply::Error("the request is of another version".to_owned()),
            };
            if matches!(reply, Reply::Error(_)) && self.executor.is_stopping() {
                // It was not done because this process is ending. The client asks the next one.
                return Ok(());
            }
            send(&mut stream, &reply)?;
        }
        Ok(())
    }

    fn answer(&self, request: Request) -> Reply {
        let executor = &self.executor;
        let tried = match request {
            Request::Ping => Ok(Reply::Done),
            Request::Send { to, tag, data } => executor.send(to, tag, data).map(Reply::Answer),
            Request::Wake(id) => Ok(Reply::Answer(executor.wake(id))),
            Request::Abort { id, unless_started } => {
                executor.abort(id, unless_started).map(Reply::Answer)
            }
            Request::Bypass { ids, force, recursive } => {
                executor.bypass(&ids, force, recursive).map(Reply::Answers)
            }
            Request::Acknowledge(id) => Ok(Reply::Answer(executor.acknowledge(id))),
            Request::State(id) => Ok(Reply::State(executor.state(id))),
            Request::Wait { id, at_most_ms } => {
                Ok(Reply::Finished(executor.wait(id, Some(Duration::from_millis(at_most_ms)))))
            }
            Request::List => Ok(Reply::List(executor.list())),
            Request::Metrics => Ok(Reply::Metrics(Box::new(executor.metrics()))),
            Request::Call { name, data } => {
                return match (self.call)(&name, &data) {
                    Ok(data) => Reply::Data(data),
                    Err(why) => Reply::Error(why),
                };
            }
            Request::Submit { kind, data, owner, priority, nonce } => {
                executor.new_of(&kind, &data).and_then(|mut new| {
                    if let Some(owner) = owner {
                        new = new.owner(owner);
                    }
                    let new: New = new.priority(priority);
                    match nonce {
                        Some(nonce) => executor
                            .submit_once(new, nonce)
                            .map(|submitted| Reply::Id(submitted.id())),
                        None => executor.submit(new).map(Reply::Id),
                    }
                })
            }
        };
        tried.unwrap_or_else(|error| Reply::Error(error.to_string()))
    }
}

/// A request to the process that runs a store.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Request {
    Ping,
    Submit {
        kind: String,
        data: Vec<u8>,
        owner: Option<String>,
        priority: u8,
        nonce: Option<Nonce>,
    },
    Send {
        to: ProcedureId,
        tag: u64,
        data: Vec<u8>,
    },
    Wake(ProcedureId),
    Abort {
        id: ProcedureId,
        unless_started: bool,
    },
    Bypass {
        ids: Vec<ProcedureId>,
        force: bool,
        recursive: bool,
    },
    Acknowledge(ProcedureId),
    State(ProcedureId),
    Wait {
        id: ProcedureId,
        at_most_ms: u64,
    },
    List,
    Metrics,
    Call {
        name: String,
        data: Vec<u8>,
    },
}

/// An answer of the process that runs a store.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Reply {
    Done,
    Id(ProcedureId),
    Answer(bool),
    Answers(Vec<bool>),
    State(Option<State>),
    Finished(Option<Finished>),
    List(Vec<Listing>),
    Metrics(Box<Metrics>),
    Data(Vec<u8>),
    Error(String),
}

/// A connection to the process that runs a store.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    store: PathBuf,
    /// How long an answer may take, beyond the time that the request itself allows.
    patience: Duration,
}

impl Client {
    /// Connects to the process that runs this store now.
    pub fn reach(store: &Path) -> Result<Self, ControlError> {
        Self::reach_within(store, ANSWER)
    }

    /// Like [`Client::reach`], for clients that only want to inspect the store: a slow answer is not waited for.
    pub fn glance(store: &Path) -> Result<Self, ControlError> {
        Self::reach_within(store, GLANCE).map_err(|error| match error {
            // The process holds the lock, and is about to open its socket or to end; or it is gone.
            ControlError::Files(_) | ControlError::Gone(_) => silent(store),
            error => error,
        })
    }

    fn reach_within(store: &Path, patience: Duration) -> Result<Self, ControlError> {
        let path = beside(store, ".sock");
        let stream = with_short(&path, UnixStream::connect)
            .map_err(|error| ControlError::at(&path, &error))?;
        if !is_ours(&stream) {
            let why = "another user answers on this socket; remove it, or run as that user";
            return Err(ControlError::Refused(format!("{}: {why}", path.display())));
        }
        let mut client = Client { stream, store: store.to_owned(), patience };
        match client.ask(&Request::Ping)? {
            Reply::Done => Ok(client),
            other => Err(strange(&other)),
        }
    }

    /// Sends a request that the process which runs the store was given to answer: see [`Guard::serve`].
    pub fn call(&mut self, name: &str, data: &[u8]) -> Result<Vec<u8>, ControlError> {
        self.call_within(name, data, Duration::ZERO)
    }

    /// Like [`Client::call`], for requests that may take this much longer.
    pub fn call_within(
        &mut self,
        name: &str,
        data: &[u8],
        longer: Duration,
    ) -> Result<Vec<u8>, ControlError> {
        let request = Request::Call { name: name.to_owned(), data: data.to_vec() };
        match self.ask_within(&request, longer)? {
            Reply::Data(data) => Ok(data),
            other => Err(strange(&other)),
        }
    }

    /// See [`Executor::submit`] and [`Executor::submit_once`]; the state of the new procedure is given as bytes.
    pub fn submit(
        &mut self,
        kind: &str,
        data: &[u8],
        owner: Option<&str>,
        priority: u8,
        nonce: Option<Nonce>,
    ) -> Result<ProcedureId, ControlError> {
        let (kind, data, owner) = (kind.to_owned(), data.to_vec(), owner.map(str::to_owned));
        match self.ask(&Request::Submit { kind, data, owner, priority, nonce })? {
            Reply::Id(id) => Ok(id),
            other => Err(strange(&other)),
        }
    }

    /// See [`Executor::send`].
    pub fn send(&mut self, to: ProcedureId, tag: u64, data: &[u8]) -> Result<bool, ControlError> {
        self.ask_whether(&Request::Send { to, tag, data: data.to_vec() })
    }

    /// See [`Executor::wake`].
    pub fn wake(&mut self, id: ProcedureId) -> Result<bool, ControlError> {
        self.ask_whether(&Request::Wake(id))
    }

    /// See [`Executor::abort`].
    pub fn abort(&mut self, id: ProcedureId, unless_started: bool) -> Result<bool, ControlError> {
        self.ask_whether(&Request::Abort { id, unless_started })
    }

    /// See [`Executor::acknowledge`].
    pub fn acknowledge(&mut self, id: ProcedureId) -> Result<bool, ControlError> {
        self.ask_whether(&Request::Acknowledge(id))
    }

    /// See [`Executor::bypass`].
    pub fn bypass(
        &mut self,
        ids: &[ProcedureId],
        force: bool,
        recursive: bool,
    ) -> Result<Vec<bool>, ControlError> {
        match self.ask(&Request::Bypass { ids: ids.to_vec(), force, recursive })? {
            Reply::Answers(answers) => Ok(answers),
            other => Err(strange(&other)),
        }
    }

    /// See [`Executor::state`].
    pub fn state(&mut self, id: ProcedureId) -> Result<Option<State>, ControlError> {
        match self.ask(&Request::State(id))? {
            Reply::State(state) => Ok(state),
            other => Err(strange(&other)),
        }
    }

    /// See [`Executor::wait`].
    pub fn wait(
        &mut self,
        id: ProcedureId,
        at_most: Duration,
    ) -> Result<Option<Finished>, ControlError> {
        let at_most_ms = u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX);
        match self.ask_within(&Request::Wait { id, at_most_ms }, at_most)? {
            Reply::Finished(finished) => Ok(finished),
            other => Err(strange(&other)),
        }
    }

    /// See [`Executor::list`].
    pub fn list(&mut self) -> Result<Vec<Listing>, ControlError> {
        match self.ask(&Request::List)? {
            Reply::List(list) => Ok(list),
            other => Err(strange(&other)),
        }
    }

    /// See [`Executor::metrics`].
    pub fn metrics(&mut self) -> Result<Metrics, ControlError> {
        match self.ask(&Request::Metrics)? {
            Reply::Metrics(metrics) => Ok(*metrics),
            other => Err(strange(&other)),
        }
    }

    fn ask_whether(&mut self, request: &Request) -> Result<bool, ControlError> {
        match self.ask(request)? {
            Reply::Answer(answer) => Ok(answer),
            other => Err(strange(&other)),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Reply, ControlError> {
        self.ask_within(request, Duration::ZERO)
    }

    /// Sends a request that may take this much longer.
    fn ask_within(&mut self, request: &Request, longer: Duration) -> Result<Reply, ControlError> {
        let at_most = Some(self.patience.saturating_add(longer));
        let failed = |error: io::Error, store: &Path| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => silent(store),
            _ => ControlError::gone(&error),
        };
        self.stream
            .set_read_timeout(at_most)
            .and_then(|()| self.stream.set_write_timeout(at_most))
            .map_err(|error| ControlError::gone(&error))?;
        send(&mut self.stream, request).map_err(|error| failed(error, &self.store))?;
        let reply = receive(&mut self.stream).map_err(|error| failed(error, &self.store))?;
        let Some(reply) = reply else {
            return Err(ControlError::Gone("it closed the connection".to_owned()));
        };
        match postcard::from_bytes(&reply) {
            Ok(Reply::Error(why)) => Err(ControlError::Refused(why)),
            Ok(reply) => Ok(reply),
            Err(_) => Err(ControlError::Refused(
                "the process that runs the store is of another version".to_owned(),
            )),
        }
    }
}

/// Errors of requests to the process that runs a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlError {
    /// The lock file or the socket cannot be used.
    Files(String),
    /// The process that ran the store has gone. Calling [`hold`] again may give the right to run it.
    Gone(String),
    /// The request was refused.
    Refused(String),
    /// The process that runs the store does not answer.
    Silent(String),
}

impl ControlError {
    fn at(path: &Path, error: &io::Error) -> Self {
        ControlError::Files(format!("{}: {error}", path.display()))
    }

    fn gone(error: &io::Error) -> Self {
        ControlError::Gone(error.to_string())
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::Files(why) => f.write_str(why),
            ControlError::Gone(why) => write!(f, "the process that ran the store is gone: {why}"),
            ControlError::Refused(why) | ControlError::Silent(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ControlError {}

fn strange(reply: &Reply) -> ControlError {
    ControlError::Refused(format!("its answer does not match the request: {reply:?}"))
}

/// Opens the lock file. It is private to this user, since any user who can open a file, even for reading, can lock it.
fn lock_file(path: &Path) -> io::Result<File> {
    let file = private::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    let found = file.metadata()?;
    private::closed(path, &found)?;
    if found.mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Whether the peer is of this user.
#[cfg(target_os = "linux")]
fn is_ours(stream: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream);
    peer.is_ok_and(|peer| peer.uid.as_raw() == private::user())
}

#[cfg(not(target_os = "linux"))]
fn is_ours(_stream: &UnixStream) -> bool {
    true
}

fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Socket addresses are short; a longer path is opened relative to its folder.
fn with_short<T>(path: &Path, open: impl Fn(PathBuf) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().as_bytes().len() < 100 {
        return open(path.to_owned());
    }
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = File::open(parent)?;
    let name = path.file_name().unwrap_or_default();
    open(Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
}

fn send(stream: &mut UnixStream, frame: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_stdvec(frame).map_err(io::Error::other)?;
    if bytes.len() > LONGEST {
        return Err(io::Error::other("the frame is too long"));
    }
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_le_bytes(), &bytes[..]].concat())
}

fn receive(stream: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::Error::other("the frame is too long"));
    }
    // Memory is allocated as the bytes arrive, not as announced.
    let mut bytes = Vec::new();
    let read = stream.take(length as u64).read_to_end(&mut bytes)?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;
    use crate::{Config, Procedure, RealHost, Registry, Step, Wait};

    /// Waits for one message, which is its result.
    struct Listener;

    impl Procedure for Listener {
        fn execute(&mut self, context: &mut crate::Context<'_>) -> Result<Step, crate::Failure> {
            let Some(message) = context.take_messages().into_iter().next() else {
                return Ok(Step::Suspend(Wait::for_message()));
            };
            let crate::Note::Data(data) = message.note else { return Ok(Step::More) };
            context.set_result(data);
            Ok(Step::Done)
        }

        fn save(&self) -> Vec<u8> {
            Vec::new()
        }
    }

    fn executor() -> Executor {
        let mut registry = Registry::new();
        registry.register("listener", |_| Ok(Listener));
        let host = Arc::new(RealHost::new());
        let opened = Executor::open(Box::new(Memory::new()), registry, host, Config::default());
        opened.expect("an empty store").0
    }

    fn check_conversation(store: &Path) {
        let Ok(Hold::Mine(guard)) = hold(store) else { panic!("nobody runs it yet") };
        assert!(Guard::take(store).expect("readable").is_none(), "two run it");

        let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
        let executor = executor();
        executor.start(runtime.handle(), 1);
        let answer = |name: &str, data: &[u8]| match name {
            "echo" => Ok(data.to_vec()),
            _ => Err(format!("nobody answers `{name}`")),
        };
        let server = guard.serve(executor.clone(), answer).expect("a socket");

        let Ok(Hold::Theirs(mut client)) = hold(store) else { panic!("somebody runs it") };
        assert_eq!(client.call("echo", b"x"), Ok(b"x".to_vec()));
        let refused = ControlError::Refused("nobody answers `y`".to_owned());
        assert_eq!(client.call("y", b""), Err(refused));
        let id = client.submit("listener", b"", Some("alice"), 0, None).expect("a known kind");
        assert_eq!(client.wait(id, Duration::ZERO), Ok(None));
        assert_eq!(client.send(id, 0, b"over here"), Ok(true));
        let finished = client.wait(id, Duration::from_secs(10)).expect("answered").expect("ended");
        assert_eq!(finished.result.as_deref(), Some(&b"over here"[..]));
        assert_eq!(client.state(id), Ok(Some(State::Success)));
        assert_eq!(client.send(id, 0, b"too late"), Ok(false));
        assert!(client.submit("stranger", b"", None, 0, None).is_err());
        assert_eq!(client.metrics().map(|metrics| metrics.succeeded), Ok(1));
        assert_eq!(client.list().map(|list| list.len()), Ok(1));

        drop(server);
        executor.stop();
        assert!(matches!(client.state(id), Err(ControlError::Gone(_))));
        assert!(matches!(hold(store), Ok(Hold::Mine(_))), "the right to run it comes back");
    }

    #[test]
    fn others_reach_the_process_that_runs_a_store() {
        let folder = tempfile::tempdir().expect("a folder");
        check_conversation(&folder.path().join("store"));
    }

    #[test]
    fn a_long_path_is_no_hindrance() {
        let folder = tempfile::tempdir().expect("a folder");
        let deep = folder.path().join("x".repeat(120));
        fs::create_dir(&deep).expect("a folder");
        check_conversation(&deep.join("store"));
    }

    #[test]
    fn what_a_killed_process_left_is_no_hindrance() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("store");
        drop(UnixListener::bind(beside(&store, ".sock")).expect("a socket that nobody answers"));
        fs::write(beside(&store, ".lock"), b"").expect("a lock that nobody holds");
        check_conversation(&store);
    }
}
