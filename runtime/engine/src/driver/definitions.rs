//! Keeps the definitions of jobs as they were submitted, so that an old job is shown with what it ran, not with what is
//! at its path now.
//!
//! Each job has a file named by its id in the folder `definitions` of the store. Jobs with the same definition share
//! one: their files are hard links to a file that is named by a hash of its contents.
#![expect(clippy::disallowed_methods, reason = "files in the store's own folder")]

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ankus_procedure::private;

/// The name of the folder in the store's folder.
const FOLDER: &str = "definitions";
/// The prefix of the names of shared files, with which no id begins.
const SHARED: &str = "text-";

fn named(store: &Path, name: &str) -> PathBuf {
    store.join(FOLDER).join(name)
}

/// Stores the definition of a job in the store in this folder, replacing a previous one.
///
/// # Errors
/// Fails if it cannot be written.
pub fn keep(store: &Path, id: &str, text: &str) -> io::Result<()> {
    private::folder(&store.join(FOLDER))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    let shared = named(store, &format!("{SHARED}{:016x}", hasher.finish()));
    let own = named(store, id);
    match fs::remove_file(&own) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let is_same = || fs::read(&shared).is_ok_and(|bytes| bytes == text.as_bytes());
    if !is_same() {
        // Replaced atomically, since other processes may read it meanwhile.
        let new = named(store, &format!("{SHARED}{id}"));
        private::write(&new, text)?;
        fs::rename(&new, &shared)?;
    }
    // Another process may have replaced the shared file just now, and some file systems have no hard links.
    match is_same() && fs::hard_link(&shared, &own).is_ok() {
        true => Ok(()),
        false => private::write(&own, text),
    }
}

/// Returns the definition with which a job was submitted, or none if it was not stored.
///
/// # Errors
/// Fails if it cannot be read.
pub fn kept(store: &Path, id: &str) -> io::Result<Option<String>> {
    match fs::read_to_string(named(store, id)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Deletes the definition of a job that is purged.
pub(super) fn forget(store: &Path, id: &str) -> io::Result<()> {
    match fs::remove_file(named(store, id)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Deletes shared files that no job uses any more.
pub(super) fn tidy(store: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(store.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries.filter_map(Result::ok) {
        let is_shared = entry.file_name().to_string_lossy().starts_with(SHARED);
        if is_shared && entry.metadata().is_ok_and(|found| found.nlink() == 1) {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_share_a_definition_and_lose_it_alone() {
        let store = tempfile::tempdir().expect("a folder");
        let store = store.path();
        let count = || fs::read_dir(store.join(FOLDER)).map_or(0, Iterator::count);
        for id in ["1-W", "2-W"] {
            keep(store, id, "<a/>").expect("written");
        }
        assert_eq!(count(), 3);
        keep(store, "1-W", "<b/>").expect("written");
        assert_eq!(kept(store, "1-W").expect("read").as_deref(), Some("<b/>"));
        assert_eq!(kept(store, "2-W").expect("read").as_deref(), Some("<a/>"));
        forget(store, "1-W").expect("deleted");
        forget(store, "1-W").expect("nothing to delete");
        tidy(store).expect("tidied");
        assert_eq!((count(), kept(store, "1-W").expect("read")), (2, None));
    }
}
