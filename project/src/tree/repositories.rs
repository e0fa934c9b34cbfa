//! Finds the repository that a folder belongs to: a tree does not extend beyond its own.

use foldhash::HashMap;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Result;
use std::path::{Path, PathBuf};

/// Caches which folders are repositories, since many files share the same few ancestors. Keys are the bytes of paths,
/// which hash faster than their components.
#[derive(Debug, Default)]
pub(crate) struct Repositories {
    folders: RefCell<HashMap<OsString, bool>>,
    /// The length in bytes of the path of the repository's root, by folder.
    roots: RefCell<HashMap<OsString, Option<usize>>>,
    /// Folders with all links resolved.
    real: RefCell<HashMap<OsString, PathBuf>>,
}

impl Repositories {
    fn has(&self, folder: &Path) -> bool {
        if let Some(known) = self.folders.borrow().get(folder.as_os_str()) {
            return *known;
        }
        let found = is_repository(folder);
        self.folders.borrow_mut().insert(folder.into(), found);
        found
    }

    /// Resolves links in the path of a folder like [`std::fs::canonicalize`], but caches the ancestors, which are the
    /// same few for most folders.
    pub(super) fn real(&self, folder: &Path) -> Result<PathBuf> {
        let (Some(above), Some(name), true) = (folder.parent(), folder.file_name(), cfg!(unix))
        else {
            return std::fs::canonicalize(folder);
        };
        if let Some(known) = self.real.borrow().get(folder.as_os_str()) {
            return Ok(known.clone());
        }
        let mut real = self.real(above)?;
        real.push(name);
        if real.symlink_metadata()?.is_symlink() {
            real = std::fs::canonicalize(&real)?;
        }
        self.real.borrow_mut().insert(folder.into(), real.clone());
        Ok(real)
    }

    /// As [`repository`], cached. A folder that is not a root itself belongs to the repository of its parent.
    pub(super) fn root<'f>(&self, folder: &'f Path) -> Option<&'f Path> {
        let mut passed = Vec::new();
        let mut found = None;
        for above in folder.ancestors() {
            if let Some(known) = self.roots.borrow().get(above.as_os_str()) {
                found = *known;
                break;
            }
            passed.push(above.as_os_str());
            if self.has(above) {
                found = repository(above, self).map(|root| root.as_os_str().len());
                break;
            }
        }
        let passed = passed.into_iter().map(|folder| (folder.to_owned(), found));
        self.roots.borrow_mut().extend(passed);
        let length = found?;
        folder.ancestors().find(|above| above.as_os_str().len() == length)
    }
}

/// Whether a folder is the root of a repository, judging by its content.
pub(super) fn is_repository(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// Returns the root of the repository that a folder belongs to by its path as written. One that is reached through a
/// link out of another does not count: the owner of the outer one could make the link lead anywhere.
fn repository<'f>(folder: &'f Path, known: &Repositories) -> Option<&'f Path> {
    let around: Vec<&Path> = folder.ancestors().filter(|above| known.has(above)).collect();
    let mut found: Option<(&Path, PathBuf)> = None;
    for inner in around.into_iter().rev() {
        let Ok(real) = known.real(inner) else { break };
        if found.as_ref().is_some_and(|(_, outer)| !real.starts_with(outer)) {
            break;
        }
        found = Some((inner, real));
    }
    found.map(|(folder, _)| folder)
}
