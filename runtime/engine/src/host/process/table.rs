//! Finds the processes that belong to a program, where the system allows that.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::MARK;

/// The unique identity of a process: its id, its start time, and the boot of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pid: i32,
    /// The start time in ticks since boot; none if the system does not report it, or in a file of an older version.
    #[serde(default)]
    began: Option<u64>,
    /// A checksum of the boot id.
    #[serde(default)]
    boot: Option<u32>,
}

impl Identity {
    /// Returns the identity of this process.
    pub(super) fn own() -> Identity {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Identity { pid, began: look(pid, false).map(|process| process.began), boot: boot() }
    }

    /// Reads an identity from a file; older versions wrote the process id alone.
    pub(super) fn read(path: &Path) -> io::Result<Option<Identity>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // The machine went down before the file was on the disk, and no process survived that.
        if text.trim_matches(['\0', ' ', '\n']).is_empty() {
            return Ok(None);
        }
        if let Ok(pid) = text.trim().parse::<i32>() {
            return Ok((pid > 0).then_some(Identity { pid, began: None, boot: None }));
        }
        let identity: Identity = serde_json::from_str(text.trim()).map_err(io::Error::other)?;
        if identity.pid <= 0 {
            return Err(io::Error::other(format!("{} names no process", path.display())));
        }
        Ok(Some(identity))
    }

    /// Returns the contents of its file.
    pub(super) fn text(self) -> Vec<u8> {
        serde_json::to_vec(&self).expect("numbers have a serialized form")
    }

    /// Returns the process id.
    pub(super) fn pid(self) -> Pid {
        Pid::from_raw(self.pid).expect("it is read and made as a positive number")
    }

    /// Whether the process is of an earlier boot.
    fn is_of_another_start(self) -> bool {
        matches!((self.boot, boot()), (Some(then), Some(now)) if then != now)
    }
}

/// Whether exactly this process is alive.
pub(super) fn is_alive(identity: Identity) -> bool {
    if identity.is_of_another_start() {
        return false;
    }
    if !cfg!(target_os = "linux") {
        return rustix::process::test_kill_process(identity.pid()).is_ok();
    }
    look(identity.pid, false).is_some_and(|process| {
        process.is_alive && identity.began.is_none_or(|began| began == process.began)
    })
}

/// Returns a checksum of the boot id, if the system has one.
pub(crate) fn boot() -> Option<u32> {
    static BOOT: OnceLock<Option<u32>> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let id = fs::read("/proc/sys/kernel/random/boot_id").ok()?;
        Some(crc32fast::hash(id.trim_ascii()))
    })
}

#[derive(Clone, Debug)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    began: u64,
    /// False for a zombie.
    is_alive: bool,
    mark: Option<Box<[u8]>>,
}

fn look(pid: i32, with_mark: bool) -> Option<Process> {
    // The system reports no size for this file; with enough space it is read at once.
    let mut stat = String::with_capacity(1 << 10);
    File::open(format!("/proc/{pid}/stat")).ok()?.take(u64::MAX).read_to_string(&mut stat).ok()?;
    // The name may contain any characters, including parentheses; the other fields follow its last one.
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    let state = fields.next()?;
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    let began = fields.nth(15)?.parse().ok()?;
    let mark = if with_mark { mark_of(pid) } else { None };
    Some(Process {
        pid,
        parent,
        group,
        session,
        began,
        is_alive: !matches!(state, "Z" | "X" | "x"),
        mark,
    })
}

/// Returns the folder in the environment of a process. Only those of our own user are readable.
fn mark_of(pid: i32) -> Option<Box<[u8]>> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let variable = environment.split(|byte| *byte == 0).find_map(|variable| {
        variable.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    });
    variable.map(Into::into)
}

/// All processes, and when they were listed.
static TABLE: Mutex<Option<(Instant, Arc<Vec<Process>>)>> = Mutex::new(None);

/// Returns the processes of the machine, listed after this time. Concurrent callers share one listing.
fn processes(after: Instant) -> Arc<Vec<Process>> {
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((since, processes)) = &*table
        && *since > after
    {
        return processes.clone();
    }
    let since = Instant::now();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        found.extend(pid.and_then(|pid| look(pid, true)));
    }
    let found = Arc::new(found);
    *table = Some((since, found.clone()));
    found
}

/// The processes of a program that are alive, without its launcher.
pub(super) struct Members {
    pub(super) count: usize,
    /// Those in its process group; if the system cannot list them, its first process.
    pub(super) in_group: Vec<i32>,
    /// The others.
    pub(super) outside_group: Vec<i32>,
}

/// Returns every process of the program of a folder that was alive after a given time.
pub(super) fn members(
    folder: &Path,
    launcher: Option<Identity>,
    child: Option<Identity>,
    after: Instant,
) -> Members {
    let nobody = Members { count: 0, in_group: Vec::new(), outside_group: Vec::new() };
    if launcher.or(child).is_some_and(Identity::is_of_another_start) {
        return nobody;
    }
    if !cfg!(target_os = "linux") {
        let Some(child) = child else { return nobody };
        let is_there = rustix::process::test_kill_process_group(child.pid()).is_ok();
        let in_group: Vec<i32> = is_there.then_some(child.pid).into_iter().collect();
        return Members { count: in_group.len(), in_group, outside_group: Vec::new() };
    }
    let table = processes(after);
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // If the launcher itself is gone, its process id says nothing about descendants.
    let above = launcher.filter(|launcher| {
        let same = |process: &&Process| {
            process.pid == launcher.pid && launcher.began.is_none_or(|began| began == process.began)
        };
        table.iter().find(same).is_some()
    });
    let mut below: Vec<i32> = above.iter().map(|launcher| launcher.pid).collect();
    let mut next = 0;
    while let Some(parent) = below.get(next).copied() {
        below.extend(table.iter().filter(|it| it.parent == parent).map(|it| it.pid));
        next += 1;
    }
    let mark = folder.as_os_str().as_encoded_bytes();
    let mut members = nobody;
    for process in table.iter().filter(|process| process.is_alive && process.pid != own) {
        if launcher.is_some_and(|launcher| launcher.pid == process.pid) {
            continue;
        }
        // A process id is not reused while it names a group or a session, so both together identify our program. A
        // process with the id of the first one is that one only if it has the same start time.
        let in_group = child.is_some_and(|child| {
            process.group == child.pid
                && launcher.is_some_and(|launcher| process.session == launcher.pid)
                && (process.pid != child.pid
                    || child.began.is_none_or(|began| began == process.began))
        });
        if in_group {
            members.in_group.push(process.pid);
            members.count += 1;
        } else if below.contains(&process.pid) || process.mark.as_deref() == Some(mark) {
            members.outside_group.push(process.pid);
            members.count += 1;
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_ourselves() {
        let own = Identity::own();
        assert!(is_alive(own));
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("own");
        fs::write(&file, own.text()).expect("a file");
        assert_eq!(Identity::read(&file).expect("readable"), Some(own));
        fs::write(&file, "77   \n").expect("a file");
        let older = Identity { pid: 77, began: None, boot: None };
        assert_eq!(Identity::read(&file).expect("readable"), Some(older));
        if cfg!(target_os = "linux") {
            let earlier = Identity { began: own.began.map(|began| began - 1), ..own };
            assert!(!is_alive(earlier), "another process of this number");
            assert!(!is_alive(Identity { boot: own.boot.map(|boot| boot ^ 1), ..own }));
        }
    }
}
