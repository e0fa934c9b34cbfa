//! Detects the end of programs, with one thread for all launchers.
//!
//! A launcher that this process started reports how its program ended as soon as it knows, and then writes that to the
//! disk; of other launchers only the end can be observed.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{ENDED, Exit, Identity, Started, State, state};

/// How often to check a program whose end the system does not report.
const LOOK: Duration = Duration::from_millis(200);
/// How often to check nevertheless if it does.
const RARELY: Duration = Duration::from_secs(10);

type Wake = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(super) struct Watcher {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    entries: HashMap<PathBuf, Entry>,
    /// Wakes the thread when there are new launchers; none while there is no thread.
    bell: Option<UnixStream>,
}

#[derive(Default)]
struct Entry {
    /// The launcher, if this process started it and has to wait for it.
    child: Option<Child>,
    /// The stream on which it reports how its program ended, until it has.
    says: Option<(Arc<OwnedFd>, BufReader<ChildStdout>)>,
    /// The reported exit, until it is on the disk.
    told: Option<Exit>,
    /// Becomes readable when the launcher ends.
    fd: Option<Arc<OwnedFd>>,
    wake: Option<Wake>,
}

impl Entry {
    /// Reads the launcher's report of the end of its program.
    fn listen(&mut self) {
        let Some((_, mut says)) = self.says.take() else { return };
        let mut line = String::new();
        if says.read_line(&mut line).is_ok() {
            let exit = line.strip_prefix(ENDED).map(serde_json::from_str);
            // A launcher that reports nothing ends without an exit status, and is checked then.
            self.told = exit.and_then(Result::ok);
        }
    }
}

impl Watcher {
    /// Adds a launcher that this process started.
    pub(super) fn adopt(&self, folder: &Path, started: Started) {
        let Started { child, says } = started;
        let fd = i32::try_from(child.id()).ok().and_then(descriptor);
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = shared.entries.entry(folder.to_owned()).or_default();
        let has_word = !says.buffer().is_empty();
        let ear = says.get_ref().as_fd().try_clone_to_owned();
        (entry.child, entry.fd) = (Some(child), fd);
        // Without a file descriptor of its own, only its end can be observed.
        entry.says = ear.ok().map(|ear| (Arc::new(ear), says));
        if has_word {
            entry.listen();
        }
        self.ring(&mut shared);
    }

    /// Returns how the program of a folder ended, if its launcher has reported it and may still be about to write it.
    pub(super) fn told(&self, folder: &Path) -> Option<Exit> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.entries.get(folder)?.told.clone()
    }

    /// Calls `wake` when the launcher of this folder has ended.
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
        // Without a thread, callers poll by themselves; the next call tries again.
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
    /// Stops all wake-ups.
    pub(super) fn leave(&self) {
        // The thread notices that the bell is closed. Launchers go on without us, except that those which only have to
        // write the exit they reported are waited for, so that the next process finds it in their folders.
        let entries = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.bell = None;
            std::mem::take(&mut shared.entries)
        };
        let told = entries.into_values().filter(|entry| entry.told.is_some());
        for mut child in told.filter_map(|entry| entry.child) {
            let _ = child.wait();
        }
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

/// A descriptor to wait for: the launcher's folder, and whether a report or the end is awaited.
type Awaited = (PathBuf, Arc<OwnedFd>, bool);

/// Returns all descriptors to wait for, whether there are launchers whose end the system does not report, and the
/// wake-ups that are due now.
fn awaited(shared: &Mutex<Shared>) -> (Vec<Awaited>, bool, Vec<Wake>) {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let told = shared.entries.values_mut().filter(|entry| entry.told.is_some());
    let wakes = told.filter_map(|entry| entry.wake.take()).collect();
    let blind = shared.entries.values().any(|entry| entry.fd.is_none());
    let mut all = Vec::new();
    for (folder, entry) in &shared.entries {
        let ear = entry.says.as_ref().map(|(ear, _)| (folder.clone(), ear.clone(), true));
        let end = entry.fd.as_ref().map(|fd| (folder.clone(), fd.clone(), false));
        all.extend(ear.into_iter().chain(end));
    }
    (all, blind, wakes)
}

fn run(shared: &Mutex<Shared>, mut ear: UnixStream) {
    let _ = ear.set_nonblocking(true);
    loop {
        let (fds, blind, wakes) = awaited(shared);
        for wake in wakes {
            wake();
        }
        let mut polled = vec![PollFd::new(&ear, PollFlags::IN)];
        polled.extend(fds.iter().map(|(_, fd, _)| PollFd::new(&**fd, PollFlags::IN)));
        let pause = if blind { LOOK } else { RARELY };
        let pause = Timespec {
            tv_sec: i64::try_from(pause.as_secs()).unwrap_or(1),
            tv_nsec: i64::from(pause.subsec_nanos()),
        };
        if poll(&mut polled, Some(&pause)).is_err() {
            thread::sleep(LOOK);
        }
        let happened = polled[1..].iter().zip(&fds).filter(|(it, _)| !it.revents().is_empty());
        let happened: Vec<&Awaited> = happened.map(|(_, awaited)| awaited).collect();
        let is_rung = !polled[0].revents().is_empty();
        let mut woken = Vec::new();
        {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            for (folder, _, is_word) in happened {
                match (is_word, shared.entries.get_mut(folder)) {
                    (true, Some(entry)) => entry.listen(),
                    (true, None) => {}
                    (false, _) => woken.extend(shared.entries.remove(folder)),
                }
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
