//! A launcher that waits for its program, so that no program waits for a launcher.
//!
//! To start this binary once more takes longer than all else between the decision to start a program and its first
//! instruction. One launcher is therefore started in advance, when a job is submitted and whenever the one before was used. It waits
//! at a socket for the folder of its program and the lock of that folder, and is then what any launcher is. Where the
//! socket closes without a word, because we have ended in any way, it ends as well.

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

use super::{LAUNCH, launcher};

/// What a launcher is called with that waits, behind the folder in which those of its programs will lie.
pub const NEXT: &str = "next";
/// No path is longer.
const LONGEST: usize = 8 << 10;

/// Where the system can, nothing that is received is inherited; elsewhere no launcher waits.
#[cfg(target_os = "linux")]
const CLOSES_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const CLOSES_ON_EXEC: RecvFlags = RecvFlags::empty();

/// The launcher that waits, if there is one.
pub(super) struct Spares {
    launcher: PathBuf,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    waiting: Option<Spare>,
    /// One is being started.
    is_coming: bool,
    /// None is wanted any more.
    has_left: bool,
}

/// A launcher that waits. It ends when this goes.
pub(super) struct Spare {
    child: Child,
    socket: UnixStream,
}

impl Spares {
    pub(super) fn new(launcher: PathBuf) -> Spares {
        Spares { launcher, shared: Arc::default() }
    }

    /// Has a launcher wait for a program whose folder will lie below this one, unless one does.
    pub(super) fn stand_by(&self, jobs: &Path) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.has_left || shared.is_coming || shared.waiting.is_some() {
            return;
        }
        let (of, launcher, jobs) = (self.shared.clone(), self.launcher.clone(), jobs.to_owned());
        let make = move || {
            // Without one, the next program starts its launcher itself, and says what is wrong.
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

    /// The one that waits ends.
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

    /// Gives it a folder, whose lock it has from then on as well. Where it is gone, nothing has happened.
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
                // What has half of a path finds no program there.
                let _ = child.kill();
                child.wait()?;
                Err(sent.map_or_else(io::Error::from, |_| io::ErrorKind::WriteZero.into()))
            }
        }
    }
}

/// Waits at the standard input for a folder, and runs its program.
pub fn launch_next() -> io::Result<()> {
    // What is typed at a terminal is not meant for whoever waits.
    rustix::process::setsid()?;
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
    // Whoever has sent it has nothing more to say.
    socket.read_to_end(&mut path)?;
    // It is held as long as we live.
    let Some(_lock) = lock else { return Err(io::ErrorKind::InvalidData.into()) };
    launcher::run(Path::new(OsStr::from_bytes(&path)))
}
