//! Small texts with a cursor, for tests.

use super::{Document, Snapshot};

/// Removes the mark of the cursor, `|`, from a text.
#[track_caller]
pub(super) fn cursor(text: &str) -> (String, u32) {
    let at = text.find('|').expect("a text with the mark of a cursor");
    (text.replacen('|', "", 1), at as u32)
}

/// A snapshot of files, one of which contains the cursor, with its path.
#[track_caller]
pub(super) fn files(files: &[(&str, &str)]) -> (Snapshot, String, u32) {
    let with_cursor = files.iter().find(|(_, text)| text.contains('|')).expect("a cursor");
    let (_, offset) = cursor(with_cursor.1);
    let documents =
        files.iter().map(|(path, text)| Document::new(*path, text.replacen('|', "", 1)));
    (Snapshot::of(documents), with_cursor.0.to_owned(), offset)
}

/// A workflow with these nodes in a snapshot of its own.
#[track_caller]
pub(super) fn workflow(nodes: &str) -> (Snapshot, String, u32) {
    let text =
        format!("<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'>\n{nodes}\n</workflow-app>");
    files(&[("app/workflow.xml", &text)])
}
