//! `ankus check --watch`: again whenever a file changes.

use super::super::{Exit, Shell};
use super::{Arguments, once};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often the disk is looked at. Looking costs a few microseconds a file, works on every file system, also on those
/// that tell nobody of changes, and needs nothing of the system.
const PAUSE: Duration = Duration::from_millis(400);

/// What a file was like when it was looked at.
type Look = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Goes on until the process is interrupted or its reader goes away.
pub(super) fn watch(arguments: &Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    loop {
        let before = look(arguments);
        if shell.colors {
            shell.out("\u{1b}[2J\u{1b}[H")?;
        }
        match once(arguments, shell) {
            Ok(_) => {}
            // A file that is away for a moment is no reason to stop; a reader that is gone is.
            Err(report) if super::super::shell::is_closed_pipe(&report) => return Err(report),
            Err(report) => shell.say(format!("error: {report}")),
        }
        shell.flush()?;
        shell.say("watching; Ctrl-C ends it");
        while look(arguments) == before {
            std::thread::sleep(PAUSE);
        }
    }
}

fn look(arguments: &Arguments) -> Look {
    let mut seen = Look::new();
    let properties = arguments.properties.files.iter();
    for path in arguments.paths.iter().chain(properties).chain(&arguments.baseline) {
        // What lies beside a file belongs to its application.
        let folder =
            if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(Path::new("")) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        for entry in ignore::WalkBuilder::new(folder).require_git(false).build().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() {
                let own = arguments.output.as_deref() == Some(entry.path());
                if !own {
                    seen.insert(entry.into_path(), (metadata.len(), metadata.modified().ok()));
                }
            }
        }
    }
    seen
}
