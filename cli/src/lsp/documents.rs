//! The open texts of a client.

use super::places::{Units, path_of};
use ankus::check::{FileKind, recognize};
use ankus::source::{Encoding, Source};
use ankus_project::shown;
use lsp_types::{TextDocumentContentChangeEvent, TextDocumentItem, Uri};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A version of a text.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// The URI, as written by the client.
    pub(super) uri: Uri,
    /// The client's number for this version.
    pub(super) version: i32,
    /// Its path; none for a text that was never saved.
    pub(super) path: Option<PathBuf>,
    /// The text, under its display path.
    pub(super) source: Arc<Source>,
    /// The encoding of its file.
    pub(super) encoding: Encoding,
    /// Whether the client declares it as a properties file.
    is_properties: bool,
}

impl Document {
    /// Creates a text that the client has opened.
    pub(super) fn opened(item: TextDocumentItem) -> Document {
        let path = path_of(&item.uri);
        let name = match &path {
            Some(path) => shown(path),
            None => item.uri.as_str().to_owned(),
        };
        Document {
            is_properties: item.language_id.contains("properties") || name.ends_with(".properties"),
            source: Arc::new(Source::new(name, item.text)),
            version: item.version,
            encoding: Encoding::Utf8,
            uri: item.uri,
            path,
        }
    }

    /// Applies some changes.
    pub(super) fn changed(
        &self,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        units: Units,
    ) -> Document {
        let mut source = Arc::clone(&self.source);
        for change in changes {
            source = Arc::new(match change.range {
                None => Source::new(source.path.clone(), change.text),
                Some(range) => source.edited(units.span(&source, range).range(), &change.text),
            });
        }
        Document { version, source, ..self.clone() }
    }

    /// Returns its kind by its text and its name; `None` if it is not a file of Oozie.
    pub(super) fn kind(&self) -> Option<FileKind> {
        match self.is_properties {
            true => Some(FileKind::Properties),
            false => recognize(&self.source.text),
        }
    }

    /// Whether there are findings about this kind of file.
    pub(super) fn is_ours(&self) -> bool {
        self.kind().is_some() || self.is_settings() || self.is_scenario()
    }

    /// Whether it is a settings file.
    pub(super) fn is_settings(&self) -> bool {
        self.name() == "ankus.toml"
    }

    /// Whether it is a scenario.
    pub(super) fn is_scenario(&self) -> bool {
        self.name().ends_with(".scenario.toml")
    }

    /// Returns the name of its file.
    pub(super) fn name(&self) -> &str {
        let name = self.path.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        name.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lsp_types::{Position, Range};
    use std::str::FromStr;

    #[test]
    fn changes_apply_one_after_the_other() {
        let document = Document::opened(TextDocumentItem {
            uri: Uri::from_str("untitled:one").expect("a URI"),
            language_id: "xml".to_owned(),
            version: 1,
            text: "<a>😀</a>\r\n<b/>".to_owned(),
        });
        let change = |from: (u32, u32), to: (u32, u32), text: &str| {
            let at = |(line, character)| Position { line, character };
            let range = Some(Range { start: at(from), end: at(to) });
            TextDocumentContentChangeEvent { range, range_length: None, text: text.to_owned() }
        };
        let changes = vec![
            change((0, 3), (0, 5), "x"),
            change((0, 4), (1, 0), "\n"),
            change((1, 4), (9, 9), "!"),
        ];
        let changed = document.changed(2, changes, Units::Utf16);
        assert_eq!(*changed.source.text, "<a>x\n<b/>!");
        let whole = TextDocumentContentChangeEvent {
            range: None,
            range_length: None,
            text: "y".to_owned(),
        };
        assert_eq!(*changed.changed(3, vec![whole], Units::Utf16).source.text, "y");
        assert_eq!(document.kind(), None);
    }
}
