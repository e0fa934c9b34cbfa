//! Detects the end of launchers: one thread for all of them.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Identity, State, state};

/// How often a program is looked after of whose end the system does not tell.
const LOOK: Duration = Duration::from_millis(200);
/// And how often all the same where it does.
const RARELY: Duration = Duration::from_secs(10);

type Wake = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(super) struct Watcher {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    entries: HashMap<PathBuf, Entry>,
    /// Tells the thread that there are others; none while there is no thread.
    bell: Option<UnixStream>,
}

#[derive(Default)]
struct Entry {
    /// The launcher, where it is ours: somebody has to take note of its end.
    child: Option<Child>,
    /// Becomes readable when the launcher ends.
    fd: Option<Arc<OwnedFd>>,
    wake: Option<Wake>,
}

impl Watcher {
    /// A launcher of ours.
    pub(super) fn adopt(&self, folder: &Path, child: Child) {
        let fd = i32::try_from(child.id()).ok().and_then(descriptor);
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = shared.entries.entry(folder.to_owned()).or_default();
        (entry.child, entry.fd) = (Some(child), fd);
        self.ring(&mut shared);
    }

    /// Wakes somebody when the launcher of this folder has ended.
    pub(super) fn watch(&self, folder: &Path, wake: Wake) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = shared.entries.entry(folder.to_owned()).or_default();
        if entry.fd.is_none() {
            let launcher = Identity::read(&folder.join("started")).ok().flatten();
            let launcher = launcher.filter(|launcher| super::table::is_alive(*launcher));
            entry.fd = launcher.and_then(|it| descriptor(it.pid().as_raw_nonzero().get()));
        }
        entry.wake = Some(wake);
        self.ring(&mut shared);
    }

    fn ring(&self, shared: &mut Shared) {
        if let Some(bell) = &mut shared.bell {
            let _ = bell.write_all(b"!");
            return;
        }
        // Without a thread, whoever waits looks for himself from time to time; the next one tries again.
        let Ok((bell, ear)) = UnixStream::pair() else { return };
        let of = self.shared.clone();
        let spawned =
            thread::Builder::new().name("launchers".to_owned()).spawn(move || run(&of, ear));
        if spawned.is_ok() {
            shared.bell = Some(bell);
        }
    }
}

impl Watcher {
    /// Wakes nobody any more.
    pub(super) fn leave(&self) {
        // The thread hears that the bell is gone. Launchers go on without us.
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.bell = None;
        shared.entries.clear();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(target_os = "linux")]
fn descriptor(pid: i32) -> Option<Arc<OwnedFd>> {
    let pid = rustix::process::Pid::from_raw(pid)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok().map(Arc::new)
}

#[cfg(not(target_os = "linux"))]
fn descriptor(_pid: i32) -> Option<Arc<OwnedFd>> {
    None
}

fn run(shared: &Mutex<Shared>, mut ear: UnixStream) {
    let _ = ear.set_nonblocking(true);
    loop {
        let (fds, blind) = {
            let shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let blind = shared.entries.values().any(|entry| entry.fd.is_none());
            let fds: Vec<(PathBuf, Arc<OwnedFd>)> = shared
                .entries
                .iter()
                .filter_map(|(folder, entry)| Some((folder.clone(), entry.fd.clone()?)))
                .collect();
            (fds, blind)
        };
        let mut polled = vec![PollFd::new(&ear, PollFlags::IN)];
        polled.extend(fds.iter().map(|(_, fd)| PollFd::new(&**fd, PollFlags::IN)));
        let pause = if blind { LOOK } else { RARELY };
        let pause = Timespec {
            tv_sec: i64::try_from(pause.as_secs()).unwrap_or(1),
            tv_nsec: i64::from(pause.subsec_nanos()),
        };
        if poll(&mut polled, Some(&pause)).is_err() {
            thread::sleep(LOOK);
        }
        let ended: Vec<&PathBuf> = polled[1..]
            .iter()
            .zip(&fds)
            .filter(|(polled, _)| !polled.revents().is_empty())
            .map(|(_, (folder, _))| folder)
            .collect();
        let is_rung = !polled[0].revents().is_empty();
        let mut woken = Vec::new();
        {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            for folder in ended {
                woken.extend(shared.entries.remove(folder));
            }
            let blind: Vec<PathBuf> = shared
                .entries
                .iter()
                .filter(|(folder, entry)| {
                    entry.fd.is_none() && !matches!(state(folder), Ok(State::Running))
                })
                .map(|(folder, _)| folder.clone())
                .collect();
            for folder in blind {
                woken.extend(shared.entries.remove(&folder));
            }
        }
        for entry in woken {
            if let Some(mut child) = entry.child {
                let _ = child.wait();
            }
            if let Some(wake) = entry.wake {
                wake();
            }
        }
        if is_rung {
            let mut bytes = [0; 64];
            match ear.read(&mut bytes) {
                Ok(0) => return,
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
                _ => {}
            }
        }
    }
}
