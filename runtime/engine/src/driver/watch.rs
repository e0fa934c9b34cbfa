//! Wakes a coordinator at once when something that it waits for may have arrived.
//!
//! Each missing path is registered with the procedure that waits for it. That procedure is woken when the file system
//! reports that the path, or a folder on the way to it, now exists. This is only a hint: a procedure checks for itself,
//! and polls after a while in any case. Network file systems do not report what other machines write, and are not
//! watched.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use notify::event::{EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use ankus_procedure::{Executor, ProcedureId};

/// Whether the missing paths of a procedure are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watched {
    /// All are watched.
    All,
    /// Not all are watched: poll as if none were.
    Partly,
    /// Something arrived during registration: check again now.
    News,
}

/// The watched paths.
#[derive(Default)]
pub(super) struct Watch {
    state: Arc<Mutex<State>>,
    executor: Arc<OnceLock<Executor>>,
    /// Created when first needed; none if the platform has no watcher.
    watcher: Mutex<Option<Option<RecommendedWatcher>>>,
}

#[derive(Default)]
struct State {
    /// The procedures that wait for a path.
    waiting: HashMap<PathBuf, Vec<ProcedureId>>,
    /// How many awaited paths are in a watched folder.
    folders: HashMap<PathBuf, usize>,
    /// The paths that a procedure waits for.
    paths: HashMap<ProcedureId, Vec<PathBuf>>,
    /// Procedures for which something may have arrived.
    news: HashSet<ProcedureId>,
}

impl State {
    /// Removes the paths of a procedure, and returns the folders that no longer need to be watched.
    fn forget(&mut self, procedure: ProcedureId) -> Vec<PathBuf> {
        let mut idle = Vec::new();
        for path in self.paths.remove(&procedure).unwrap_or_default() {
            if let Some(known) = self.waiting.get_mut(&path) {
                known.retain(|other| *other != procedure);
                if known.is_empty() {
                    self.waiting.remove(&path);
                }
            }
            let Some(folder) = path.parent() else { continue };
            if let Some(count) = self.folders.get_mut(folder) {
                *count -= 1;
                if *count == 0 {
                    self.folders.remove(folder);
                    idle.push(folder.to_path_buf());
                }
            }
        }
        idle
    }

    /// Returns the procedures that an event concerns.
    fn concerned(&self, event: &notify::Event) -> Vec<ProcedureId> {
        if event.need_rescan() {
            return self.paths.keys().copied().collect();
        }
        let mut concerned = Vec::new();
        for path in &event.paths {
            concerned.extend(self.waiting.get(path).into_iter().flatten());
            let is_gone = matches!(
                event.kind,
                EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Other
            );
            if is_gone && self.folders.contains_key(path) {
                // A folder on the way is gone: procedures that wait in it have to watch another one.
                let within = self.waiting.iter().filter(|(of, _)| of.parent() == Some(path));
                concerned.extend(within.flat_map(|(_, known)| known));
            }
        }
        concerned
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Sets the executor that wakes procedures.
    pub(super) fn set_executor(&self, executor: Executor) {
        let _ = self.executor.set(executor);
    }

    fn watcher(&self) -> Option<RecommendedWatcher> {
        let (state, executor) = (self.state.clone(), self.executor.clone());
        let told = move |event: notify::Result<notify::Event>| {
            let concerned = match &event {
                Ok(event) => held(&state).concerned(event),
                Err(_) => return,
            };
            if concerned.is_empty() {
                return;
            }
            held(&state).news.extend(concerned.iter().copied());
            if let Some(executor) = executor.get() {
                for procedure in concerned {
                    executor.wake(procedure);
                }
            }
        };
        notify::recommended_watcher(told).ok()
    }

    /// Whether something may have arrived for a procedure since the last call.
    pub(super) fn take_news(&self, procedure: ProcedureId) -> bool {
        held(&self.state).news.remove(&procedure)
    }

    /// Registers the paths that a procedure waits for, replacing the previous ones.
    pub(super) fn wait_for(&self, procedure: ProcedureId, paths: &[PathBuf]) -> Watched {
        // The state is not locked while the watcher is called, which may wait for an event to be delivered.
        let mut idle = held(&self.state).forget(procedure);
        if paths.is_empty() {
            self.leave(idle);
            return Watched::All;
        }
        let mut watched = Watched::All;
        let mut steps = Vec::new();
        for path in paths {
            match step(path) {
                Some(next) => steps.push(next),
                None => watched = Watched::News,
            }
        }
        steps.sort_unstable();
        steps.dedup();

        let mut new = Vec::new();
        {
            let mut state = held(&self.state);
            for path in &steps {
                state.waiting.entry(path.clone()).or_default().push(procedure);
                if let Some(folder) = path.parent() {
                    let count = state.folders.entry(folder.to_path_buf()).or_insert(0);
                    *count += 1;
                    if *count == 1 {
                        new.push(folder.to_path_buf());
                    }
                }
            }
            state.paths.insert(procedure, steps.clone());
        }
        let mut given_up = Vec::new();
        {
            let mut watcher = held(&self.watcher);
            let watcher = watcher.get_or_insert_with(|| self.watcher());
            new.retain(|folder| match idle.iter().position(|other| other == folder) {
                Some(at) => {
                    idle.swap_remove(at);
                    false
                }
                None => true,
            });
            for folder in new {
                let is_watched = watcher.as_mut().is_some_and(|watcher| {
                    !is_elsewhere(&folder)
                        && watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok()
                });
                if !is_watched {
                    given_up.push(folder);
                }
            }
            if let Some(watcher) = watcher {
                for folder in &idle {
                    let _ = watcher.unwatch(folder);
                }
            }
        }
        if !given_up.is_empty() {
            // Other procedures may wait in the same folder: it counts as unwatched for them, too.
            let mut state = held(&self.state);
            let in_vain =
                |path: &PathBuf| path.parent().is_some_and(|of| given_up.iter().any(|f| f == of));
            if let Some(paths) = state.paths.get_mut(&procedure) {
                paths.retain(|path| !in_vain(path));
            }
            for folder in &given_up {
                state.folders.remove(folder);
            }
            state.waiting.retain(|path, _| !in_vain(path));
            if watched == Watched::All {
                watched = Watched::Partly;
            }
        }
        // Something may have arrived between the check and the start of the watch.
        let came = |path: &PathBuf| path.symlink_metadata().is_ok();
        if watched == Watched::All && steps.iter().any(came) {
            watched = Watched::News;
        }
        watched
    }

    fn leave(&self, folders: Vec<PathBuf>) {
        if folders.is_empty() {
            return;
        }
        if let Some(Some(watcher)) = &mut *held(&self.watcher) {
            for folder in &folders {
                let _ = watcher.unwatch(folder);
            }
        }
    }
}

/// Returns what has to appear next on the way to a path: the path itself, or a folder above it. Returns none if the
/// path exists.
fn step(path: &Path) -> Option<PathBuf> {
    let mut missing = path;
    if missing.symlink_metadata().is_ok() {
        return None;
    }
    while let Some(parent) = missing.parent() {
        if parent.is_dir() {
            return Some(missing.to_path_buf());
        }
        missing = parent;
    }
    Some(path.to_path_buf())
}

/// Whether a folder is on a file system to which other machines write unnoticed.
#[cfg(target_os = "linux")]
fn is_elsewhere(folder: &Path) -> bool {
    /// NFS, SMB, CIFS, SMB2, FUSE, 9P, Lustre, GPFS, Ceph, AFS, Coda, OCFS2, GFS2, as `statfs` has them.
    const ELSEWHERE: [u64; 13] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x6573_5546,
        0x0102_1997,
        0x0bd0_0bd0,
        0x4750_4653,
        0x00c3_6400,
        0x5346_414f,
        0x7375_7245,
        0x7461_636f,
        0x0116_1970,
    ];
    let kind = rustix::fs::statfs(folder).map(|found| u64::try_from(found.f_type).unwrap_or(0));
    kind.is_ok_and(|kind| ELSEWHERE.contains(&(kind & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn is_elsewhere(_folder: &Path) -> bool {
    false
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "what is watched is on a disk")]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_on_the_way_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b/_SUCCESS");
        assert_eq!(step(&path), Some(folder.path().join("a")));
        std::fs::create_dir_all(folder.path().join("a/b")).expect("a folder");
        assert_eq!(step(&path), Some(path.clone()));
        std::fs::write(&path, "").expect("a file");
        assert_eq!(step(&path), None);
    }

    #[test]
    fn who_waits_hears_of_it_and_folders_are_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (ProcedureId(1), ProcedureId(2));
        let watch = Watch::default();
        let path = folder.path().join("in/_SUCCESS");
        assert_eq!(watch.wait_for(one, std::slice::from_ref(&path)), Watched::All);
        assert_eq!(watch.wait_for(other, &[folder.path().join("elsewhere")]), Watched::All);
        let heard = |procedure| {
            let begin = std::time::Instant::now();
            while begin.elapsed() < std::time::Duration::from_secs(120) {
                if watch.take_news(procedure) {
                    return true;
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            false
        };
        std::fs::create_dir(folder.path().join("in")).expect("a folder");
        assert!(heard(one));
        assert_eq!(watch.wait_for(one, std::slice::from_ref(&path)), Watched::All);
        std::fs::write(&path, "").expect("a file");
        assert!(heard(one));
        assert!(!watch.take_news(other));
        assert_eq!(watch.wait_for(one, std::slice::from_ref(&path)), Watched::News);
        watch.wait_for(one, &[]);
        watch.wait_for(other, &[]);
        let state = held(&watch.state);
        assert!(state.folders.is_empty() && state.waiting.is_empty() && state.paths.is_empty());
    }
}
