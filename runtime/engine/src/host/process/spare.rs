//! Spare launchers: a launcher waits for its program, so that no program waits for a launcher.
//!
//! Executing this binary takes longer than everything else between the decision to start a program and its first
//! instruction. One launcher is therefore started in advance, when a job is submitted and whenever the previous one was
//! used. It waits at a socket for the folder of its program and the lock of that folder, and is then like any other
//! launcher. If the socket closes without a message, because this process ended in any way, it ends as well.

use std::ffi::OsStr;
use std::io::{self, IoSlice, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::{Identity, LAUNCH, launcher};

/// The argument of a spare launcher, preceded by the folder in which those of its programs will be.
pub const NEXT: &str = "next";
/// The maximum length of a path.
const LONGEST: usize = 8 << 10;

/// A received lock must not be inherited, where the system supports that; elsewhere there are no spares.
#[cfg(target_os = "linux")]
const CLOSES_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const CLOSES_ON_EXEC: RecvFlags = RecvFlags::empty();

/// The spare launcher, if there is one.
pub(super) struct Spares {
    launcher: PathBuf,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    waiting: Option<Spare>,
    /// Whether one is being started.
    is_coming: bool,
    /// Whether none is needed any more.
    has_left: bool,
}

/// A waiting launcher. It ends when this is dropped.
pub(super) struct Spare {
    child: Child,
    socket: UnixStream,
}

impl Spares {
    pub(super) fn new(launcher: PathBuf) -> Spares {
        Spares { launcher, shared: Arc::default() }
    }

    /// Starts a spare launcher for a program whose folder will be below this one, unless there is one.
    pub(super) fn stand_by(&self, jobs: &Path) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.has_left || shared.is_coming || shared.waiting.is_some() {
            return;
        }
        let (of, launcher, jobs) = (self.shared.clone(), self.launcher.clone(), jobs.to_owned());
        let make = move || {
            // Without a spare, the next program starts its launcher itself, and reports what is wrong.
            let made = Spare::new(&launcher, &jobs).ok();
            let mut shared = of.lock().unwrap_or_else(PoisonError::into_inner);
            shared.is_coming = false;
            if !shared.has_left {
                shared.waiting = made;
            }
        };
        let spawned = thread::Builder::new().name("next launcher".to_owned()).spawn(make);
        shared.is_coming = spawned.is_ok();
    }

    pub(super) fn take(&self) -> Option<Spare> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).waiting.take()
    }

    /// Ends the spare.
    pub(super) fn leave(&self) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.has_left = true;
        shared.waiting = None;
    }
}

impl Spare {
    fn new(launcher: &Path, jobs: &Path) -> io::Result<Spare> {
        let (socket, its_end) = UnixStream::pair()?;
        let child = Command::new(launcher)
            .arg(LAUNCH)
            .arg(jobs)
            .arg(NEXT)
            .stdin(Stdio::from(OwnedFd::from(its_end)))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Spare { child, socket })
    }

    /// Hands a folder and its lock over to the launcher. If the launcher is gone, nothing has happened.
    pub(super) fn hand_over(self, folder: &Path, lock: &OwnedFd) -> io::Result<Child> {
        let Spare { mut child, socket } = self;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let locks = [lock.as_fd()];
        ancillary.push(SendAncillaryMessage::ScmRights(&locks));
        let text = folder.as_os_str().as_bytes();
        let sent = sendmsg(&socket, &[IoSlice::new(text)], &mut ancillary, SendFlags::NOSIGNAL);
        match sent {
            Ok(length) if length == text.len() => Ok(child),
            sent => {
                // A launcher that got only half of a path finds no program there.
                let _ = child.kill();
                child.wait()?;
                Err(sent.map_or_else(io::Error::from, |_| io::ErrorKind::WriteZero.into()))
            }
        }
    }
}

/// Waits on standard input for a folder, and runs its program.
pub fn launch_next() -> io::Result<()> {
    // A spare must not be affected by the signals of a terminal.
    rustix::process::setsid()?;
    let own = Identity::own();
    let mut socket = io::stdin();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut path = vec![0; LONGEST];
    let received =
        recvmsg(socket.as_fd(), &mut [IoSliceMut::new(&mut path)], &mut ancillary, CLOSES_ON_EXEC)?;
    path.truncate(received.bytes);
    if path.is_empty() {
        return Ok(());
    }
    let lock = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut locks) => locks.next(),
        _ => None,
    });
    // The sender closes the socket after the path.
    socket.read_to_end(&mut path)?;
    // The lock is held as long as this process lives.
    let Some(_lock) = lock else { return Err(io::ErrorKind::InvalidData.into()) };
    launcher::run(Path::new(OsStr::from_bytes(&path)), own)
}
