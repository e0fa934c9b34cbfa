//! `ankus check --watch`: checks again whenever a file changes.

use super::super::{Exit, Shell};
use super::{Arguments, once};
use ankus_project::{Kind, Project};
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
        let project = shell.project()?;
        let before = look(arguments, &project);
        if shell.colors {
            shell.clear_screen()?;
        }
        match once(arguments, shell) {
            Ok(_) => {}
            // A file that is away for a moment is no reason to stop; a reader that is gone is.
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
        // What lies beside a file belongs to its application.
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
