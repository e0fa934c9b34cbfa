//! The sandbox around a program of this machine, as a command line of the program that creates it.
//!
//! From the program, its folders and its limits this derives the words to put before its command line. Nothing is
//! started here except by [`Sandbox::probe`], which tests whether the sandbox works at all. If it does not, nothing
//! runs: no program is ever started without the requested sandbox.
#![expect(clippy::disallowed_methods, reason = "processes are the outside world")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::Bounds;

/// The kinds of sandboxes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// No sandbox.
    #[default]
    None,
    /// Namespaces: the program has its own view of files, its own processes and, if configured, its own network.
    /// Created by `bwrap`.
    Bubblewrap,
    /// A systemd scope, in which memory, tasks and time are limited together. Created by `systemd-run`.
    SystemdRun,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 3] = [Kind::None, Kind::Bubblewrap, Kind::SystemdRun];

    /// Returns its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Kind::None => "none",
            Kind::Bubblewrap => "bubblewrap",
            Kind::SystemdRun => "systemd-run",
        }
    }

    /// Returns the program that creates it, by its name on PATH and in `[tools]`.
    pub fn tool(self) -> Option<&'static str> {
        match self {
            Kind::None => None,
            Kind::Bubblewrap => Some("bwrap"),
            Kind::SystemdRun => Some("systemd-run"),
        }
    }
}

/// The sandbox of the programs of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sandbox {
    /// The kind of sandbox.
    pub kind: Kind,
    /// Whether programs can access the network.
    pub network: bool,
    /// Folders that they may write to, besides those of the action and of its file systems.
    pub writable: Vec<PathBuf>,
    /// How many processes and threads a program may have.
    pub tasks: Option<u64>,
}

impl Default for Sandbox {
    fn default() -> Sandbox {
        Sandbox { kind: Kind::None, network: true, writable: Vec::new(), tasks: None }
    }
}

/// The folders that a program works with.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// The folder to hide: the store.
    pub hidden: Option<PathBuf>,
    /// Paths that it may read although their surroundings are hidden.
    pub readable: Vec<PathBuf>,
    /// Paths that it may write to.
    pub writable: Vec<PathBuf>,
    /// The folder of the attempt, which it may read.
    pub attempt: PathBuf,
    /// Paths in that folder that it may write to.
    pub own: Vec<PathBuf>,
}

impl Sandbox {
    /// Returns the words before a program's command line: none without a sandbox.
    pub fn words(&self, tool: &str, folders: &Folders, bounds: &Bounds) -> Vec<String> {
        match self.kind {
            Kind::None => Vec::new(),
            Kind::Bubblewrap => self.bubblewrap(tool, folders),
            Kind::SystemdRun => self.systemd_run(tool, bounds, is_root()),
        }
    }

    fn bubblewrap(&self, tool: &str, folders: &Folders) -> Vec<String> {
        let mut words: Vec<String> = [
            tool,
            "--die-with-parent",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--tmpfs",
            "/tmp",
        ]
        .map(str::to_owned)
        .into();
        if !self.network {
            words.push("--unshare-net".to_owned());
        }
        let writable = || folders.writable.iter().chain(&self.writable);
        for path in &folders.readable {
            bind(&mut words, "--ro-bind-try", path);
        }
        for path in writable() {
            bind(&mut words, "--bind-try", path);
        }
        if let Some(hidden) = &folders.hidden {
            words.extend(["--tmpfs".to_owned(), hidden.to_string_lossy().into_owned()]);
            let is_within = |path: &&PathBuf| path.starts_with(hidden);
            for path in folders.readable.iter().filter(is_within) {
                bind(&mut words, "--ro-bind-try", path);
            }
            for path in writable().filter(is_within) {
                bind(&mut words, "--bind-try", path);
            }
        }
        bind(&mut words, "--ro-bind", &folders.attempt);
        for path in &folders.own {
            bind(&mut words, "--bind", path);
        }
        words.push("--".to_owned());
        words
    }

    fn systemd_run(&self, tool: &str, bounds: &Bounds, is_root: bool) -> Vec<String> {
        let mut words = vec![tool.to_owned()];
        words.extend((!is_root).then(|| "--user".to_owned()));
        words.extend(["--scope", "--quiet", "--collect"].map(str::to_owned));
        let mut set = |property: String| words.extend(["-p".to_owned(), property]);
        if let Some(memory) = bounds.memory {
            set(format!("MemoryMax={memory}"));
            set("MemorySwapMax=0".to_owned());
        }
        if let Some(tasks) = self.tasks {
            set(format!("TasksMax={tasks}"));
        }
        if let Some(time_ms) = bounds.time_ms {
            // The launcher ends it first, and reports why.
            let seconds = (time_ms + bounds.grace_ms).div_ceil(1_000) + 10;
            set(format!("RuntimeMaxSec={seconds}"));
        }
        words.push("--".to_owned());
        words
    }

    /// Checks whether the sandbox can be created here, with this program for it. The error says why not.
    pub fn probe(&self, tool: &str) -> Result<(), String> {
        let words = match self.kind {
            Kind::None => return Ok(()),
            Kind::Bubblewrap => {
                let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
                let folders = Folders { attempt: here, ..Folders::default() };
                self.words(tool, &folders, &Bounds::default())
            }
            Kind::SystemdRun => self.words(tool, &Folders::default(), &Bounds::default()),
        };
        let Some((first, rest)) = words.split_first() else { return Ok(()) };
        let mut command = Command::new(first);
        command.args(rest).arg("true").stdin(Stdio::null());
        let output = command.output().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no program `{tool}`"),
            _ => format!("`{tool}` cannot be started: {error}"),
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
        Err(match self.kind {
            Kind::SystemdRun => {
                format!("`{tool}` cannot reach a service manager ({}): {said}", output.status)
            }
            _ => format!("`{tool}` cannot make a sandbox here ({}): {said}", output.status),
        })
    }
}

/// Adds the words that bind a folder to its own path.
fn bind(words: &mut Vec<String>, how: &str, path: &Path) {
    let path = path.to_string_lossy().into_owned();
    words.extend([how.to_owned(), path.clone(), path]);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> Folders {
        Folders {
            hidden: Some("/s/.ankus".into()),
            readable: vec!["/tmp/app".into()],
            writable: vec!["/s/.ankus/root".into(), "/data".into()],
            attempt: "/s/.ankus/jobs/j/a-0-1".into(),
            own: vec!["/s/.ankus/jobs/j/a-0-1/work".into()],
        }
    }

    #[test]
    fn a_sandbox_of_namespaces_shows_the_store_to_nobody() {
        let sandbox = Sandbox {
            kind: Kind::Bubblewrap,
            network: false,
            writable: vec!["/out".into()],
            tasks: None,
        };
        let words = sandbox.words("/usr/bin/bwrap", &folders(), &Bounds::default()).join(" ");
        assert_eq!(
            words,
            "/usr/bin/bwrap --die-with-parent --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try \
             --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-net --ro-bind-try /tmp/app /tmp/app \
             --bind-try /s/.ankus/root /s/.ankus/root --bind-try /data /data --bind-try /out /out \
             --tmpfs /s/.ankus --bind-try /s/.ankus/root /s/.ankus/root \
             --ro-bind /s/.ankus/jobs/j/a-0-1 /s/.ankus/jobs/j/a-0-1 \
             --bind /s/.ankus/jobs/j/a-0-1/work /s/.ankus/jobs/j/a-0-1/work --"
        );
    }

    #[test]
    fn a_scope_has_bounds_for_all_processes_together() {
        let sandbox = Sandbox { kind: Kind::SystemdRun, tasks: Some(64), ..Sandbox::default() };
        let bounds = Bounds {
            time_ms: Some(90_500),
            memory: Some(1 << 30),
            grace_ms: 5_000,
            ..Bounds::default()
        };
        let of = |is_root| sandbox.systemd_run("systemd-run", &bounds, is_root).join(" ");
        assert_eq!(
            of(false),
            "systemd-run --user --scope --quiet --collect -p MemoryMax=1073741824 -p MemorySwapMax=0 -p TasksMax=64 \
             -p RuntimeMaxSec=106 --"
        );
        assert!(of(true).starts_with("systemd-run --scope"));
    }

    #[test]
    fn a_sandbox_that_cannot_be_made_says_so() {
        for kind in [Kind::Bubblewrap, Kind::SystemdRun] {
            let sandbox = Sandbox { kind, ..Sandbox::default() };
            let missing = sandbox.probe("no-such-sandbox");
            assert_eq!(missing, Err("there is no program `no-such-sandbox`".to_owned()));
            let why = sandbox.probe("false").expect_err("it cannot");
            assert!(why.starts_with("`false` cannot "), "{why}");
        }
        assert_eq!(Sandbox::default().probe("no-such-sandbox"), Ok(()));
    }
}
