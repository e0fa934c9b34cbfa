//! Files that are typed character by character, with requests in between.

use super::client::{Editor, uri};
use super::{by_command, fixture, said};
use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Types a file in place, character by character, with requests in between. The final findings must be those of the
/// command.
fn typed_through(folder: &Path, file: &Path) {
    let text = std::fs::read_to_string(file).expect("a text");
    let expected = by_command(folder, &["."]).remove(file).unwrap_or_default();
    let mut editor = Editor::open(folder);
    let uri = uri(file);
    editor.open_text(&uri, "xml", "");
    let (mut version, mut at, mut before) = (1, Position::default(), ' ');
    for letter in text.chars() {
        version += 1;
        let range = Some(Range { start: at, end: at });
        let change =
            TextDocumentContentChangeEvent { range, range_length: None, text: letter.to_string() };
        editor.change(&uri, version, vec![change]);
        match letter {
            // The second half of a line ending.
            '\n' if before == '\r' => {}
            '\n' | '\r' => at = Position { line: at.line + 1, character: 0 },
            letter => at.character += letter.len_utf16() as u32,
        }
        before = letter;
        if version % 7 == 0 {
            let params = json!({"textDocument": {"uri": uri}, "position": at});
            for method in ["textDocument/completion", "textDocument/hover"] {
                editor.ask(method, params.clone()).unwrap_or_else(|why| panic!("{why}"));
            }
        }
    }
    assert_eq!(said(&editor.findings(&uri, version)), expected, "{}", file.display());
    assert!(!editor.told.iter().any(|told| told.to_string().contains("has failed")), "a panic");
    assert_eq!(editor.shut_down(), Some(0));
}

/// All files in a folder and its subfolders, in order.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let each = paths.into_iter().flat_map(|path| match path.is_dir() {
        true => files_below(&path),
        false => vec![path],
    });
    each.collect()
}

#[test]
fn a_file_may_be_typed_letter_by_letter() {
    let (_room, folder) = fixture("err/nightly");
    typed_through(&folder, &folder.join("workflow.xml"));
    let Some(corpus) = crate::shared("ANKUS_CORPUS", "corpus") else { return };
    let corpus = corpus.canonicalize().expect("it is there");
    // `cargo xtask type-through` types more of them, from the whole corpus.
    let asked = std::env::var("ANKUS_TYPE_THROUGH").ok().and_then(|number| number.parse().ok());
    let (folder, most) = match asked {
        Some(most) => (corpus, most),
        None => (corpus.join("gbif__occurrence"), 4),
    };
    let mut fits = files_below(&folder);
    fits.retain(|path| {
        let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let is_definition = ["<workflow-app", "<coordinator-app", "<bundle-app"]
            .iter()
            .any(|root| text.contains(root));
        is_definition && (1_000..4_000).contains(&length)
    });
    // The typed files are spread evenly over all of them.
    let step = (fits.len() / most).max(1);
    let chosen: Vec<_> = fits.into_iter().step_by(step).take(most).collect();
    assert_eq!(chosen.len(), most);
    for path in &chosen {
        typed_through(&folder, path);
    }
    println!("{most} files typed letter by letter");
}
