//! `ankus check --watch`: checks again whenever a file changes.

use super::super::{Exit, Shell};
use super::{Arguments, once};
use ankus_project::{Kind, Project};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The polling interval. Polling costs a few microseconds per file, works on every file system, even on those without
/// change notifications, and needs no support by the system.
const PAUSE: Duration = Duration::from_millis(400);

/// The size and modification time of each file at the last poll.
type Look = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Runs until the process is interrupted or the reader of its output ends.
pub(super) fn watch(arguments: &Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    loop {
        let project = shell.project()?;
        let before = look(arguments, &project);
        if shell.colors {
            shell.clear_screen()?;
        }
        match once(arguments, shell) {
            Ok(_) => {}
            // A temporarily missing file is no reason to stop, but a closed output is.
            Err(report) if super::super::shell::is_closed_pipe(&report) => return Err(report),
            Err(report) => shell.say(format!("error: {report}")),
        }
        shell.flush()?;
        shell.say("watching for changes; press Ctrl-C to stop");
        while look(arguments, &project) == before {
            std::thread::sleep(PAUSE);
        }
    }
}

fn look(arguments: &Arguments, project: &Project) -> Look {
    let mut seen = Look::new();
    let properties = arguments.properties.files.iter();
    for path in arguments.paths.iter().chain(properties).chain(&arguments.baseline) {
        // Files next to a file belong to its application.
        let Ok(tree) = project.tree(path) else { continue };
        let folder = match tree.kind(path) {
            Some(Kind::Folder) => path.as_path(),
            _ => path.parent().unwrap_or(Path::new("")),
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        for file in project.files(folder, false, usize::MAX).unwrap_or_default() {
            let Ok(about) = tree.about(&file.path) else { continue };
            if arguments.output.as_ref() != Some(&file.path) {
                seen.insert(file.path, (about.length(), about.metadata().modified().ok()));
            }
        }
    }
    seen
}
