//! Unsaved texts of an editor, which take the place of files on the disk.
//!
//! An [`Overlay`] has texts by path; [`crate::Looks`] query it before they read the disk.

use super::tree::absolute;
use ankus::source::{Encoding, Source};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An unsaved text of a file.
#[derive(Clone, Debug)]
pub struct Unsaved {
    /// The text, under its display path.
    pub source: Arc<Source>,
    /// The encoding in which the file will be saved.
    pub encoding: Encoding,
}

impl Unsaved {
    pub(crate) fn size(&self) -> u64 {
        self.source.text.len() as u64
    }
}

/// Unsaved texts by the absolute paths of their files.
#[derive(Clone, Debug, Default)]
pub struct Overlay(BTreeMap<PathBuf, Unsaved>);

impl Overlay {
    /// Sets the unsaved text of the file at an absolute path.
    pub fn insert(&mut self, path: PathBuf, unsaved: Unsaved) {
        self.0.insert(path, unsaved);
    }

    /// Removes an unsaved text, so that the file on the disk counts again.
    pub fn remove(&mut self, path: &Path) {
        self.0.remove(path);
    }

    /// Returns the unsaved text of a file.
    pub fn get(&self, path: &Path) -> Option<&Unsaved> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(absolute(path).ok()?.as_path())
    }

    /// Iterates over all texts, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Unsaved)> {
        self.0.iter().map(|(path, unsaved)| (path.as_path(), unsaved))
    }

    /// Returns the names of the files directly in a folder that have an unsaved text.
    pub(crate) fn names_in(&self, folder: &Path) -> Vec<String> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let Ok(folder) = absolute(folder) else { return Vec::new() };
        let below = self.0.range(folder.clone()..).map(|(path, _)| path);
        let below = below.take_while(|path| path.starts_with(&folder));
        let direct = below.filter(|path| path.parent() == Some(&folder));
        direct.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
    }
}
