//! Definitions as they were when their jobs were submitted: whoever looks at an old job sees what it ran, not what lies at its path now.
//!
//! Each job has a file of its id in the folder `definitions` of the store. Jobs with the same definition share one: their files are links to
//! a file that is named by what is in it.
#![expect(clippy::disallowed_methods, reason = "files in the store's own folder")]

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ankus_procedure::private;

/// The folder in that of the store.
const FOLDER: &str = "definitions";
/// What the names of shared files begin with, which no id does.
const SHARED: &str = "text-";

fn named(store: &Path, name: &str) -> PathBuf {
    store.join(FOLDER).join(name)
}

/// Keeps the definition of a job in the store of this folder, in place of one that it had.
///
/// # Errors
/// Where it cannot be written.
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
        // Whole or not at all: others may read it meanwhile.
        let new = named(store, &format!("{SHARED}{id}"));
        private::write(&new, text)?;
        fs::rename(&new, &shared)?;
    }
    // Another may have taken its name just now, and some file systems know no links.
    match is_same() && fs::hard_link(&shared, &own).is_ok() {
        true => Ok(()),
        false => private::write(&own, text),
    }
}

/// The definition with which a job was submitted; none where it was not kept.
///
/// # Errors
/// Where it cannot be read.
pub fn kept(store: &Path, id: &str) -> io::Result<Option<String>> {
    match fs::read_to_string(named(store, id)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Forgets that of a job that is purged.
pub(super) fn forget(store: &Path, id: &str) -> io::Result<()> {
    match fs::remove_file(named(store, id)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Deletes shared files that no job has any more.
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
