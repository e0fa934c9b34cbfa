//! The properties that an application is submitted with: defaults next to it, files, and single ones.

use super::settings::Project;
use super::tree::{Tree, shown};
use super::{Failure, Looks, unreadable};
use ankus::check::FileKind;
use ankus::files::Files;
use ankus::source;
use ankus::syntax::properties::{self, Origin, Submission};
use std::path::{Path, PathBuf};

/// Maximum size of a properties file or configuration, in bytes.
const LARGEST: u64 = 2 << 20;

/// The properties given by the user.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Files, of which later ones take precedence: `.properties`, or `.xml` in Hadoop's format.
    pub files: Vec<PathBuf>,
    /// Single properties, which take precedence over files.
    pub define: Vec<(String, String)>,
    /// Whether to ignore properties files next to the application.
    pub no_properties: bool,
}

/// Splits `NAME=VALUE`.
///
/// # Errors
/// If there is no name or no `=`.
pub fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

impl Project {
    /// Returns the properties of an application, which are given or in files next to it.
    ///
    /// # Errors
    /// If a properties file cannot be read.
    pub fn submission(
        &self,
        given: &Given,
        application: &Path,
        kind: FileKind,
    ) -> miette::Result<Submission> {
        self.submission_among(given, application, kind, &Files::new())
    }

    /// Does the same with texts that replace some of the files.
    ///
    /// # Errors
    /// As for [`Project::submission`].
    pub fn submission_among(
        &self,
        given: &Given,
        application: &Path,
        kind: FileKind,
        files: &Files,
    ) -> miette::Result<Submission> {
        let tree = self.tree(application)?;
        let overlay = self.overlay();
        let looks = Looks::into_tree(&tree, None).over(&overlay);
        self.found_submission(given, application, kind, files, looks, &|path| looks.is_there(path))
    }

    /// Does the same for a known list of files.
    pub(crate) fn found_submission(
        &self,
        given: &Given,
        application: &Path,
        kind: FileKind,
        files: &Files,
        looks: Looks<'_>,
        is_there: &dyn Fn(&Path) -> bool,
    ) -> miette::Result<Submission> {
        let overlaid = |path: &Path| {
            let source = files.text(&shown(path))?;
            let is_plain = path.extension().is_none_or(|extension| extension != "xml");
            is_plain.then(|| properties::parse(&source.text).entries)
        };
        let beside = |path: &Path| match (overlaid(path), looks.unsaved(path)) {
            (Some(entries), _) => Ok(entries),
            (None, Some(unsaved)) => entries_of(path, &unsaved.source.text),
            (None, None) => {
                if let Some(source) = looks.text_before(path, &shown(path)) {
                    return entries_of(path, &source.text);
                }
                let bytes = looks.read(path, LARGEST).map_err(|error| unreadable(path, error))?;
                entries(path, &bytes)
            }
        };
        let folder = application.parent().unwrap_or(Path::new(""));
        let mut submission = Submission::default();
        let default = match kind {
            FileKind::Workflow => Some("config-default.xml"),
            FileKind::Coordinator => Some("coord-config-default.xml"),
            FileKind::Bundle => Some("bundle-config-default.xml"),
            _ => None,
        };
        let default = default.map(|name| folder.join(name)).filter(|path| is_there(path));
        if let Some(default) = default {
            match beside(&default) {
                Ok(entries) => submission.merge(&Origin::Default(shown(&default)), &entries),
                // Errors in it are reported as findings of their own.
                Err(_) => submission.broken = Some(shown(&default)),
            }
        }
        if given.files.is_empty() && !given.no_properties {
            let names: &[&str] = match kind {
                FileKind::Coordinator => &["coordinator.properties", "job.properties"],
                FileKind::Bundle => &["bundle.properties", "job.properties"],
                _ => &["job.properties"],
            };
            // A copy such as `workflow.xml.security` belongs to properties with the same suffix.
            let name = application.file_name().unwrap_or_default().to_string_lossy();
            let ending = name.rsplit_once(".xml").map_or("", |(_, ending)| ending);
            let first = names
                .iter()
                .map(|name| folder.join(format!("{name}{ending}")))
                .find(|path| is_there(path));
            if let Some(path) = first {
                let entries = beside(&path)?;
                submission.merge(&Origin::File(shown(&path)), &entries);
            }
        }
        for path in &given.files {
            let entries = match overlaid(path) {
                Some(entries) => entries,
                None => self.properties(path)?,
            };
            submission.merge(&Origin::File(shown(path)), &entries);
        }
        for (name, value) in &given.define {
            submission.set(name, value);
        }
        Ok(submission)
    }

    /// Reads a properties file given by the user, in the format that its name indicates.
    ///
    /// # Errors
    /// If it cannot be read, or does not have that format.
    pub fn properties(&self, path: &Path) -> miette::Result<Vec<properties::Entry>> {
        if let Some(unsaved) = self.overlay().get(path) {
            return entries_of(path, &unsaved.source.text);
        }
        let bytes = self.named(path, LARGEST)?;
        entries(path, &bytes)
    }

    /// Reads a file given by the user. Within a known tree it is read as part of the tree; elsewhere it belongs to the
    /// user, and may be a link or a pipe.
    ///
    /// # Errors
    /// If it cannot be read, or has more than `limit` bytes.
    pub fn named(&self, path: &Path, limit: u64) -> miette::Result<Vec<u8>> {
        let read = || {
            let in_repository = || Tree::of(path).ok().filter(Tree::is_of_working_directory);
            if let Some(tree) = self.known_tree(path) {
                return tree.read(path, limit);
            }
            match in_repository() {
                Some(tree) => tree.read(path, limit),
                None => {
                    let file = std::fs::File::open(path)?;
                    let metadata = file.metadata()?;
                    if metadata.is_dir() {
                        return Err(std::io::ErrorKind::IsADirectory.into());
                    }
                    super::tree::read_at_most(file, metadata.len(), limit)
                }
            }
        };
        read().map_err(|error| unreadable(path, error))
    }
}

fn is_xml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "xml")
}

fn no_configuration(path: &Path, why: String) -> Failure {
    Failure::new(format!("`{}` is not a Hadoop configuration", path.display())).because(why)
}

fn entries(path: &Path, bytes: &[u8]) -> miette::Result<Vec<properties::Entry>> {
    if !is_xml(path) {
        return entries_of(path, &text_of(bytes));
    }
    let (text, _) = source::decode(bytes).map_err(|error| no_configuration(path, error.reason))?;
    entries_of(path, &text)
}

fn entries_of(path: &Path, text: &str) -> miette::Result<Vec<properties::Entry>> {
    if !is_xml(path) {
        return Ok(properties::parse(text).entries);
    }
    let read = properties::parse_configuration(text);
    Ok(read.map_err(|error| no_configuration(path, error.message))?.entries)
}

/// Decodes properties, which are Latin-1 by specification and UTF-8 in practice.
pub fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}
