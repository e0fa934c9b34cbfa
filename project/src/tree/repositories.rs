//! Which repository a folder belongs to: a tree does not reach beyond its own.

use foldhash::HashMap;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Result;
use std::path::{Path, PathBuf};

/// Which folders are repositories, as far as that was looked up: those above many files are the same few. They are kept
/// by their bytes, which are hashed faster than their parts.
#[derive(Debug, Default)]
pub(crate) struct Repositories {
    folders: RefCell<HashMap<OsString, bool>>,
    /// How many bytes of the path of a folder are that of the root of its repository.
    roots: RefCell<HashMap<OsString, Option<usize>>>,
    /// Folders without links in their paths.
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

    /// An absolute folder without links in its path, as [`std::fs::canonicalize`] tells it; that looks at every folder above
    /// again, which are the same few.
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

    /// As [`repository`]. A folder that is none itself belongs where the one around it does.
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

/// Whether a folder is the root of a repository by what it holds.
pub(super) fn is_repository(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// The root of the repository that a folder belongs to by its path as it is written. One that is reached through a link
/// out of another does not count: whoever has the outer one could lead anywhere with it.
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
