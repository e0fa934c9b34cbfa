//! What goes when an action has ended: files that were brought for it, and what it wrote beside them.
//!
//! A server deletes the folder of an action at its end. Here its output, its configuration and its results stay with the
//! job; files that may be large go, unless the action failed and somebody may want to look at them.

use super::{COPIES, KEEP, KEY, WORK};
use crate::host::elsewhere::note;
use std::fs;
use std::io;
use std::path::Path;

/// Deletes what was brought for an action whose program has ended well, or was stopped. It may be done twice.
pub(crate) fn clear(folder: &Path) {
    forget_key(folder);
    if folder.join(KEEP).exists() {
        return;
    }
    for name in [WORK, COPIES] {
        match fs::remove_dir_all(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                note(folder, &format!("[{name}/ stays until the job is purged: {error}]"));
            }
            _ => {}
        }
    }
}

/// Deletes the copy of a private key, however the program ended.
pub(crate) fn forget_key(folder: &Path) {
    match fs::remove_file(folder.join(KEY)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            note(folder, &format!("[the copy of the key, {KEY}, cannot be deleted: {error}]"));
        }
        _ => {}
    }
}
