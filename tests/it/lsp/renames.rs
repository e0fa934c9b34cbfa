//! Renames through the real program: every file that means the name is edited, those that are not open as well.

use super::client::Editor;
use super::fixture;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many edits each file gets, by its name.
fn edits(answer: &Value) -> BTreeMap<String, usize> {
    let by_uri = answer["changes"].as_object().expect("changes by file");
    let name = |uri: &String| uri.rsplit('/').next().unwrap_or_default().to_owned();
    by_uri.iter().map(|(uri, edits)| (name(uri), edits.as_array().map_or(0, Vec::len))).collect()
}

#[test]
fn a_node_is_renamed_in_its_scenarios_too() {
    let (_room, folder) = fixture("projects/flood-watch");
    let mut editor = Editor::open(&folder);
    let path = folder.join("workflow.xml");
    let text = std::fs::read_to_string(&path).expect("a text");
    let uri = editor.open_file(&path);
    let line =
        text.lines().position(|line| line.contains("action name=\"north\"")).expect("a node");
    let params = json!({
        "textDocument": {"uri": uri}, "position": {"line": line, "character": 18}, "newName": "upstream",
    });
    let seen = edits(&editor.ask("textDocument/rename", params.clone()).expect("a rename"));
    assert_eq!(
        seen["workflow.xml"],
        text.matches("north'").count() + text.matches("\"north\"").count()
    );
    for entry in std::fs::read_dir(folder.join("scenarios")).expect("its scenarios") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let names_it = std::fs::read_to_string(&path).expect("a text").contains("north");
        assert_eq!(seen.contains_key(&name), names_it, "{name}: {seen:?}");
    }
    // A name that is taken is refused, and nothing is edited.
    let taken = editor.ask("textDocument/rename", {
        let mut params = params;
        params["newName"] = json!("south");
        params
    });
    let refused = taken.expect_err("there is such a node");
    assert!(refused["message"].as_str().is_some_and(|why| why.contains("south")), "{refused}");
    assert_eq!(editor.shut_down(), Some(0));
}
