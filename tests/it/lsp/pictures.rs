//! Diagrams beside the text, as the panel of an editor requests them.

use super::client::{Editor, uri};
use super::{FINE, fixture, folder_with};
use lsp_types::Uri;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::str::FromStr;

fn strings(list: &Value) -> BTreeSet<&str> {
    list.as_array().expect("a list").iter().filter_map(Value::as_str).collect()
}

#[test]
fn a_graph_names_its_nodes_and_the_ways_through_the_cursor() {
    let (_room, folder) = fixture("projects/flood-watch");
    let path = folder.join("workflow.xml");
    let text = std::fs::read_to_string(&path).expect("a text");
    let mut editor = Editor::open(&folder);
    let uri = editor.open_file(&path);
    let ask = |editor: &mut Editor, word: &str| {
        let line = text.lines().position(|line| line.contains(word)).expect("it is there");
        let position = json!({"line": line, "character": 4});
        editor
            .ask("ankus/graph", json!({"textDocument": {"uri": uri}, "position": position}))
            .expect("a picture")
    };
    let seen = ask(&mut editor, "name=\"north\"");
    let svg = seen["svg"].as_str().expect("a picture");
    assert!(roxmltree::Document::parse(svg).is_ok(), "{svg}");
    // Each node refers to its element, and each element of the picture to a node.
    let nodes = seen["nodes"].as_array().expect("a list");
    for node in nodes {
        let id = node["id"].as_str().expect("an id");
        assert!(svg.contains(&format!("data-node=\"{id}\"")), "{id}");
        let line = node["range"]["start"]["line"].as_u64().expect("a line");
        let line = text.lines().nth(line as usize).expect("a line of the text");
        assert!(id == ":start:" || line.contains(&format!("name=\"{id}\"")), "{id}: {line}");
    }
    assert_eq!(nodes.len(), svg.matches("data-node=").count());
    assert_eq!(seen["current"], "north");
    let path = strings(&seen["path"]);
    for (name, is) in [
        ("prepare", true),
        ("all-read", true),
        ("report", true),
        ("south", false),
        ("failed", false),
    ] {
        assert_eq!(path.contains(name), is, "{name}");
    }
    // Failed actions lead to a kill node.
    let seen = ask(&mut editor, "<kill name=");
    assert_eq!(seen["current"], "failed");
    assert!(strings(&seen["path"]).contains("north"));
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn a_graph_is_that_of_the_text_as_it_is_typed() {
    let (_room, folder) = folder_with(&[("workflow.xml", FINE), ("pom.xml", "<project/>")]);
    let mut editor = Editor::open(&folder);
    let file = editor.open_file(&folder.join("workflow.xml"));
    let graph = |editor: &mut Editor, uri: &Uri| {
        editor.ask("ankus/graph", json!({"textDocument": {"uri": uri}})).expect("an answer")
    };
    let seen = graph(&mut editor, &file);
    assert!(seen["svg"].as_str().is_some_and(|svg| svg.contains("data-to=\"end\"")), "{seen}");
    assert_eq!(seen.get("current"), None);
    editor.replace(&file, 2, &FINE.replace("\"end\"", "\"ende\""));
    let seen = graph(&mut editor, &file);
    assert!(seen["svg"].as_str().is_some_and(|svg| svg.contains("data-to=\"ende\"")), "{seen}");
    // A text that was never saved, a broken one, and one that does not belong to Oozie.
    let untitled = Uri::from_str("untitled:Untitled-1").expect("a URI");
    editor.open_text(&untitled, "xml", &FINE[..FINE.len() - 20]);
    assert!(graph(&mut editor, &untitled)["svg"].is_string());
    let other = editor.open_file(&folder.join("pom.xml"));
    assert_eq!(graph(&mut editor, &other), Value::Null);
    assert_eq!(graph(&mut editor, &uri(&folder.join("nothing.xml"))), Value::Null);
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn a_timeline_is_that_of_a_coordinator() {
    let coordinator = "<coordinator-app xmlns=\"uri:oozie:coordinator:0.4\" name=\"nightly\" frequency=\"${coord:days(1)}\" \
                       start=\"2026-01-01T00:00Z\" end=\"2026-01-08T00:00Z\" timezone=\"UTC\"><action><workflow>\
                       <app-path>hdfs://nn/app</app-path></workflow></action></coordinator-app>\n";
    let (_room, folder) = folder_with(&[("coordinator.xml", coordinator), ("workflow.xml", FINE)]);
    let mut editor = Editor::open(&folder);
    let ask = |editor: &mut Editor, uri: &Uri| {
        editor.ask("ankus/timeline", json!({"textDocument": {"uri": uri}}))
    };
    let file = editor.open_file(&folder.join("coordinator.xml"));
    let seen = ask(&mut editor, &file).expect("a picture");
    assert!(seen["svg"].as_str().is_some_and(|svg| svg.contains("nightly")), "{seen}");
    let workflow = editor.open_file(&folder.join("workflow.xml"));
    assert_eq!(ask(&mut editor, &workflow), Ok(Value::Null));
    // A definition that cannot be drawn gets an error with the reason.
    editor.replace(&file, 2, &coordinator.replace("2026-01-08T00:00Z", "${until}"));
    let refused = ask(&mut editor, &file).expect_err("no end is known");
    assert!(refused["message"].as_str().is_some_and(|why| why.contains("until")), "{refused}");
    assert_eq!(editor.shut_down(), Some(0));
}
