//! Reads the format of definitions: from settings, otherwise from `.editorconfig`.

use super::look::{Looks, Notes};
use super::search::Found;
use super::settings::{LoadedSettings, Project};
use super::tree::absolute;
use ankus::settings::{EditorConfig, Formatting};
use std::path::Path;

/// The file name.
const FILE: &str = ".editorconfig";
/// Maximum size in bytes.
const LARGEST: u64 = 64 << 10;

impl Project {
    /// Returns the format for a definition, from its settings and the `.editorconfig` files between its folder and the
    /// root of its tree. Reads are recorded in `notes`.
    pub fn formatting(
        &self,
        found: &Found,
        settings: &LoadedSettings,
        notes: Option<&Notes>,
    ) -> Formatting {
        let said = settings.settings.formatting;
        let path = match absolute(&found.path) {
            Ok(path) if !self.is_isolated() => path,
            _ => return said,
        };
        let looks = Looks::into_tree(&found.tree, notes);
        let mut files = Vec::new();
        for folder in found.tree.folders_above(&path) {
            let Ok(bytes) = looks.read(&folder.join(FILE), LARGEST) else { continue };
            let file = EditorConfig::parse(&String::from_utf8_lossy(&bytes));
            let is_root = file.is_root;
            files.push((file, path.strip_prefix(folder).unwrap_or(Path::new(""))));
            if is_root {
                break;
            }
        }
        let files = files.iter().rev().map(|(file, inside)| (file, *inside));
        said.over(EditorConfig::formatting(files))
    }
}
