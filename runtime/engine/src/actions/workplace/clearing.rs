//! Cleans up after an action has ended: deletes the files that were brought for it, and what it wrote beside them.
//!
//! A server deletes the folder of an action at its end. Here, its output, configuration and results stay with the job;
//! files that may be large are deleted, unless the action failed and the user may want to look at them.

use super::{COPIES, KEEP, KEY, SECRET, WORK};
use crate::host::elsewhere::note;
use std::fs;
use std::io;
use std::path::Path;

/// Deletes the files that were brought for an action whose program has succeeded or was stopped. This can be repeated.
pub(crate) fn clear(folder: &Path) {
    forget_key(folder);
    if folder.join(KEEP).exists() {
        return;
    }
    // A `<config-class>` is compiled in a folder of its own, which remains if the program is killed meanwhile.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let classes = names.filter(|name| name.starts_with("classes."));
    for name in [WORK, COPIES].map(str::to_owned).into_iter().chain(classes) {
        match fs::remove_dir_all(folder.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                note(folder, &format!("[{name}/ stays until the job is purged: {error}]"));
            }
            _ => {}
        }
    }
}

/// Deletes the copy of a private key and a password, however the program ended.
pub(crate) fn forget_key(folder: &Path) {
    let secrets = [
        ("the copy of the key", folder.join(KEY)),
        ("the file with the password", folder.join(WORK).join(SECRET)),
    ];
    for (what, file) in secrets {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                note(folder, &format!("[{what}, {}, cannot be deleted: {error}]", file.display()));
            }
            _ => {}
        }
    }
}
