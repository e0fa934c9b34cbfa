//! Texts that stand for files of the disk: what an editor shows and has not saved yet.
//!
//! In: texts by path. Out: an [`Overlay`], which [`crate::Looks`] ask before they read the disk.

use super::tree::absolute;
use ankus::source::{Encoding, Source};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text that stands for a file.
#[derive(Clone, Debug)]
pub struct Unsaved {
    /// The text, by the path that people see.
    pub source: Arc<Source>,
    /// How the file will stand for it.
    pub encoding: Encoding,
}

impl Unsaved {
    pub(crate) fn size(&self) -> u64 {
        self.source.text.len() as u64
    }
}

/// Texts by the absolute paths of the files that they stand for.
#[derive(Clone, Debug, Default)]
pub struct Overlay(BTreeMap<PathBuf, Unsaved>);

impl Overlay {
    /// Has a text stand for the file at an absolute path.
    pub fn insert(&mut self, path: PathBuf, unsaved: Unsaved) {
        self.0.insert(path, unsaved);
    }

    /// The file counts again.
    pub fn remove(&mut self, path: &Path) {
        self.0.remove(path);
    }

    /// What stands for a file.
    pub fn get(&self, path: &Path) -> Option<&Unsaved> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(absolute(path).ok()?.as_path())
    }

    /// All of them, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Unsaved)> {
        self.0.iter().map(|(path, unsaved)| (path.as_path(), unsaved))
    }

    /// Names of the files directly in a folder that have a text here.
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
