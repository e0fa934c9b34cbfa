//! Edits through the real program: a rename reaches every file that refers to the name, open or not, and a text is
//! formatted as `ankus fmt` does it.

use super::client::{Editor, abilities};
use super::{fixture, folder_with};
use crate::cli::ankus;
use lsp_types::TextEdit;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The number of edits of each file, by file name.
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
    // A name that is in use is refused, and nothing is edited.
    let taken = editor.ask("textDocument/rename", {
        let mut params = params;
        params["newName"] = json!("south");
        params
    });
    let refused = taken.expect_err("there is such a node");
    assert!(refused["message"].as_str().is_some_and(|why| why.contains("south")), "{refused}");
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn a_text_is_laid_out_as_the_command_does_it() {
    let text = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">\n\t<start to=\"end\"/>\n<end name=\"end\"/>\n</workflow-app>\n";
    for (config, blanks) in
        [("root = true\n[*.xml]\nindent_size = 3\nindent_style = space\n", 3), ("root = true\n", 4)]
    {
        let (_room, folder) = folder_with(&[("workflow.xml", text), (".editorconfig", config)]);
        let mut editor = Editor::open(&folder);
        let uri = editor.open_file(&folder.join("workflow.xml"));
        let options = json!({"tabSize": 2, "insertSpaces": true});
        let params = json!({"textDocument": {"uri": uri}, "options": options});
        let edits = editor.ask("textDocument/formatting", params).expect("edits");
        let edits: Vec<TextEdit> = serde_json::from_value(edits).expect("edits");
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        // Each edit replaces whole lines. They are applied from the last to the first, so that line numbers stay valid.
        for edit in edits.iter().rev() {
            assert_eq!((edit.range.start.character, edit.range.end.character), (0, 0), "{edit:?}");
            let (from, to) = (edit.range.start.line as usize, edit.range.end.line as usize);
            lines.splice(from..to, [edit.new_text.as_str()]);
        }
        let indent = " ".repeat(blanks);
        assert!(lines.concat().contains(&format!("\n{indent}<start to=\"end\"/>\n")), "{lines:?}");
        std::fs::write(folder.join("workflow.xml"), lines.concat()).expect("room");
        let checked = ankus(&["fmt", "--check", "workflow.xml"]).folder(&folder).run();
        assert_eq!(checked.code, 0, "{checked:?}");
        assert_eq!(editor.shut_down(), Some(0));
    }
}

/// Nodes of a workflow that can run on any machine.
const STEPS: &str = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"steps\">
    <start to=\"first\"/>
    <action name=\"first\"><fs><mkdir path=\"hdfs://nn/out/first\"/></fs><ok to=\"second\"/><error to=\"failed\"/></action>
    <action name=\"second\"><fs><mkdir path=\"hdfs://nn/out/${day}\"/></fs><ok to=\"third\"/><error to=\"failed\"/></action>
    <action name=\"third\"><fs><move source=\"hdfs://nn/out/${day}\" target=\"hdfs://nn/out/third\"/></fs><ok to=\"end\"/><error to=\"failed\"/></action>
    <kill name=\"failed\"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>
    <end name=\"end\"/>
</workflow-app>
";

#[test]
fn a_part_that_is_extracted_runs_as_it_did() {
    let properties = "day=monday\n";
    let (_room, folder) = folder_with(&[("workflow.xml", STEPS), ("job.properties", properties)]);
    let ask = |editor: &mut Editor| {
        let uri = editor.open_file(&folder.join("workflow.xml"));
        let range =
            json!({"start": {"line": 3, "character": 0}, "end": {"line": 5, "character": 0}});
        let params = json!({
            "textDocument": {"uri": uri}, "range": range,
            "context": {"diagnostics": [], "only": ["refactor.extract"]},
        });
        editor.ask("textDocument/codeAction", params).expect("an answer")
    };
    // A client that cannot create files is offered nothing.
    let mut editor = Editor::open(&folder);
    assert_eq!(ask(&mut editor), json!([]));
    assert_eq!(editor.shut_down(), Some(0));

    let mut abilities = abilities();
    abilities["workspace"]["workspaceEdit"] =
        json!({"documentChanges": true, "resourceOperations": ["create"]});
    let mut editor = Editor::start(&folder);
    editor.initialize(abilities, &[&folder], Value::Null);
    let actions = ask(&mut editor);
    let changes = actions[0]["edit"]["documentChanges"].as_array().expect("changes");
    assert_eq!(editor.shut_down(), Some(0));
    let [created, written, edited] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!(created["kind"], "create");
    let uri = created["uri"].as_str().expect("a URI");
    assert!(uri.ends_with("/second.xml"), "{uri}");
    assert_eq!(written["textDocument"]["uri"], uri);
    let inner = written["edits"][0]["newText"].as_str().expect("a text");
    let edits: Vec<TextEdit> =
        serde_json::from_value(edited["edits"].clone()).expect("edits of a text");
    let [edit] = edits.as_slice() else { panic!("{edits:?}") };
    let lines: Vec<&str> = STEPS.split_inclusive('\n').collect();
    let (start, end) = (edit.range.start, edit.range.end);
    assert_eq!((start.line, end.line), (3, 4));
    let outer = [
        &lines[..3].concat(),
        &lines[3][..start.character as usize],
        &edit.new_text,
        &lines[4][end.character as usize..],
        &lines[5..].concat(),
    ]
    .concat();
    std::fs::write(folder.join("workflow.xml"), outer).expect("written");
    std::fs::write(folder.join("second.xml"), inner).expect("written");
    let store = tempfile::tempdir().expect("room");
    let store = store.path().to_str().expect("a plain path");
    let run = ankus(&["run", ".", "--store", store]).folder(&folder).run();
    run.said(0, "second (sub-workflow)");
}
