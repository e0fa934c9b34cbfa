//! The life cycle of the language server: panics, canceled requests, clients that disappear.

use super::client::{Editor, abilities, uri};
use super::{LOST, folder_with};
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn a_panic_is_an_error_and_the_server_lives_on() {
    let (_room, folder) = folder_with(&[("workflow.xml", LOST)]);
    let mut editor = Editor::open(&folder);
    if cfg!(debug_assertions) {
        let error = editor.ask("ankus/panic", json!({})).expect_err("it panics");
        assert_eq!(error["code"], -32603, "{error}");
    }
    let error = editor.ask("ankus/nothing", json!({})).expect_err("there is no such thing");
    assert_eq!(error["code"], -32601, "{error}");
    let error =
        editor.ask("textDocument/diagnostic", json!({"a": 1})).expect_err("it makes no sense");
    assert_eq!(error["code"], -32602, "{error}");
    let uri = editor.open_file(&folder.join("workflow.xml"));
    assert!(!editor.findings(&uri, 1).is_empty());
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn what_nobody_waits_for_is_not_answered() {
    let (_room, folder) = folder_with(&[]);
    let mut editor = Editor::start(&folder);
    let mut can = abilities();
    can["textDocument"]["diagnostic"] = json!({});
    editor.initialize(can, &[&folder], Value::Null);
    // A workflow that takes a while to check, so that there is time to cancel.
    let mut text = String::from(
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">\n<start to=\"n0\"/>\n",
    );
    for index in 0..3_000 {
        let next = index + 1;
        text += &format!(
            "<action name=\"n{index}\"><fs><mkdir path=\"/a/{index}\"/></fs><ok to=\"n{next}\"/><error to=\"n{next}\"/></action>\n"
        );
    }
    text += "<end name=\"n3000\"/></workflow-app>";
    let uri = uri(&folder.join("workflow.xml"));
    editor.open_text(&uri, "xml", &text);
    let params = json!({"textDocument": {"uri": uri}});
    let asked = editor.begin("textDocument/diagnostic", params.clone());
    editor.tell("$/cancelRequest", json!({"id": asked}));
    let error = editor.answer(asked).expect_err("it was cancelled");
    assert_eq!(error["code"], -32800, "{error}");
    // Of many versions, only the last counts.
    for version in 2..40 {
        editor.replace(&uri, version, &text.replace("name=\"w\"", &format!("name=\"w{version}\"")));
    }
    editor.replace(&uri, 40, LOST);
    let answer = editor.ask("textDocument/diagnostic", params).expect("an answer");
    assert!(answer["items"].to_string().contains("nowhere"), "{answer}");
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn it_ends_with_its_client() {
    let (_room, folder) = folder_with(&[("workflow.xml", LOST)]);
    // With `shutdown` and `exit`.
    assert_eq!(Editor::open(&folder).shut_down(), Some(0));
    // With `exit` only.
    let mut editor = Editor::open(&folder);
    editor.tell("exit", Value::Null);
    assert_eq!(editor.wait(), Some(1));
    // By closing the input.
    let mut editor = Editor::open(&folder);
    drop(editor.input.take());
    assert_eq!(editor.wait(), Some(1));
    // Before `initialize`.
    let mut editor = Editor::start(&folder);
    let error = editor.ask("textDocument/hover", json!({})).expect_err("too early");
    assert_eq!(error["code"], -32002);
    drop(editor.input.take());
    assert_eq!(editor.wait(), Some(1));
    // After `shutdown`, requests are refused.
    let mut editor = Editor::open(&folder);
    editor.ask("shutdown", Value::Null).expect("it obeys");
    let error = editor.ask("textDocument/hover", json!({})).expect_err("too late");
    assert_eq!(error["code"], -32600);
    editor.tell("exit", Value::Null);
    assert_eq!(editor.wait(), Some(0));
}

#[cfg(unix)]
#[test]
fn it_ends_when_the_process_of_its_client_does() {
    let (_room, folder) = folder_with(&[]);
    let mut client = Command::new("sleep").arg("600").spawn().expect("there is a sleep");
    let mut editor = Editor::start(&folder);
    let params = json!({"processId": client.id(), "capabilities": {}, "rootUri": null});
    editor.ask("initialize", params).expect("an answer");
    client.kill().expect("ours");
    client.wait().expect("ours");
    // The input stays open all the time.
    assert_eq!(editor.wait(), Some(1));
    assert!(editor.input.is_some());
}

/// The first answer is about the edited place; the consequences for the graph follow once the whole text is checked.
#[test]
fn a_large_text_is_looked_at_where_it_was_edited_and_then_whole() {
    let mut text = String::from(
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">\n<start to=\"split\"/>\n\
         <fork name=\"split\"><path start=\"n0\"/><path start=\"beside\"/></fork>\n\
         <action name=\"beside\"><fs><mkdir path=\"/b\"/></fs><ok to=\"meet\"/><error to=\"fail\"/></action>\n",
    );
    for index in 0..1_000 {
        let next = if index == 999 { "meet".to_owned() } else { format!("n{}", index + 1) };
        text += &format!(
            "<action name=\"n{index}\"><fs><mkdir path=\"/a/{index}\"/></fs><ok to=\"{next}\"/><error to=\"fail\"/></action>\n"
        );
    }
    text += "<join name=\"meet\" to=\"end\"/><kill name=\"fail\"><message>m</message></kill><end name=\"end\"/></workflow-app>";
    // A path leaves the fork: the target of the transition exists, but the graph is invalid.
    let broken = text.replacen("<ok to=\"meet\"/>", "<ok to=\"end\"/>", 1);
    for pulls in [false, true] {
        let (_room, folder) = folder_with(&[]);
        let mut editor = Editor::start(&folder);
        let mut can = abilities();
        if pulls {
            can["textDocument"]["diagnostic"] = json!({});
            can["workspace"]["diagnostics"] = json!({"refreshSupport": true});
        }
        editor.initialize(can, &[&folder], Value::Null);
        let uri = uri(&folder.join("workflow.xml"));
        editor.open_text(&uri, "xml", &text);
        let params = json!({"textDocument": {"uri": uri}});
        let is_refused = |found: &str| found.contains("end-inside-fork") || found.contains("fork-");
        if pulls {
            let first = editor.ask("textDocument/diagnostic", params.clone()).expect("an answer");
            assert!(!is_refused(&first.to_string()), "{first}");
            editor.replace(&uri, 2, &broken);
            // Requested at once, and again whenever the server asks for a refresh.
            let mut answer =
                editor.ask("textDocument/diagnostic", params.clone()).expect("an answer");
            while !is_refused(&answer.to_string()) {
                let refreshes = |editor: &Editor| {
                    editor
                        .told
                        .iter()
                        .filter(|told| told["method"] == "workspace/diagnostic/refresh")
                        .count()
                };
                let seen = refreshes(&editor);
                editor.until("a sign that there is more", |editor| refreshes(editor) > seen);
                answer = editor.ask("textDocument/diagnostic", params.clone()).expect("an answer");
            }
        } else {
            let first = editor.findings(&uri, 1);
            assert!(!is_refused(&serde_json::to_string(&first).expect("a value")));
            editor.replace(&uri, 2, &broken);
            let key = uri.as_str().to_owned();
            editor.until("what the edit does to the graph", |editor| {
                let known = &editor.published[&key];
                known.version == Some(2)
                    && is_refused(&serde_json::to_string(&known.diagnostics).expect("a value"))
            });
        }
        assert_eq!(editor.shut_down(), Some(0));
    }
}
