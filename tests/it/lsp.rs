//! The language server, tested through the real program: what it reports, and how it starts and ends.

mod client;
mod edits;
mod life;
mod pictures;
mod typed;

use crate::cli::ankus;
use client::{Editor, abilities, uri};
use lsp_types::{
    Diagnostic, DiagnosticSeverity, DiagnosticTag, DidCloseTextDocumentParams, Position, Range,
    TextDocumentContentChangeEvent, TextDocumentIdentifier, notification as note,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A finding in a form that both sides have: range in lines and UTF-16 units, level, rule, message.
type Said = ((u32, u32), (u32, u32), u32, String, String);

/// The line and the UTF-16 column of a byte offset, computed independently.
fn place(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..offset.min(text.len())];
    let line = before.matches('\n').count() as u32;
    let column = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count();
    (line, column as u32)
}

/// The findings of `ankus check` in a folder or a file, by path.
fn by_command(folder: &Path, arguments: &[&str]) -> BTreeMap<PathBuf, Vec<Said>> {
    let mut all = vec!["check", "--no-cache", "--format", "json"];
    all.extend(arguments);
    let run = ankus(&all).folder(folder).run();
    let report: Value = serde_json::from_str(&run.stdout).expect("the output is JSON");
    let mut found: BTreeMap<PathBuf, Vec<Said>> = BTreeMap::new();
    for finding in report["findings"].as_array().expect("a list") {
        let word = |name: &str| finding[name].as_str().expect("a word").to_owned();
        let path = folder.join(word("path"));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let at =
            |end: &str| place(&text, finding[end]["offset"].as_u64().expect("a number") as usize);
        let level = match word("level").as_str() {
            "error" => 1,
            "warning" => 2,
            _ => 3,
        };
        let message = match finding["help"].as_str() {
            Some(help) => format!("{}\n{help}", word("message")),
            None => word("message"),
        };
        let said = (at("start"), at("end"), level, word("rule"), message);
        found.entry(path).or_default().push(said);
    }
    found.values_mut().for_each(|found| found.sort());
    found
}

fn said(found: &[Diagnostic]) -> Vec<Said> {
    let one = |found: &Diagnostic| {
        assert_eq!(found.source.as_deref(), Some("ankus"));
        let place = |at: Position| (at.line, at.character);
        let level = match found.severity {
            Some(DiagnosticSeverity::ERROR) => 1,
            Some(DiagnosticSeverity::WARNING) => 2,
            _ => 3,
        };
        let Some(lsp_types::NumberOrString::String(rule)) = found.code.clone() else {
            panic!("a finding names its rule: {found:?}")
        };
        (place(found.range.start), place(found.range.end), level, rule, found.message.clone())
    };
    let mut said: Vec<Said> = found.iter().map(one).collect();
    said.sort();
    said
}

/// The findings that a server has published, by path.
fn published(editor: &Editor) -> BTreeMap<PathBuf, Vec<Said>> {
    let all = editor.published.iter().filter(|(_, found)| !found.diagnostics.is_empty());
    let path = |uri: &str| PathBuf::from(uri.strip_prefix("file://").expect("a file"));
    all.map(|(uri, found)| (path(uri), said(&found.diagnostics))).collect()
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            std::fs::create_dir_all(&target).expect("room");
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).expect("room");
        }
    }
}

/// A folder with a copy of a fixture.
fn fixture(name: &str) -> (tempfile::TempDir, PathBuf) {
    let room = tempfile::tempdir().expect("room");
    let folder = room.path().canonicalize().expect("it is there");
    copy(&crate::root().join("fixtures").join(name), &folder);
    (room, folder)
}

/// A folder with a file.
fn folder_with(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let room = tempfile::tempdir().expect("room");
    let folder = room.path().canonicalize().expect("it is there");
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("room");
        std::fs::write(path, text).expect("room");
    }
    (room, folder)
}

const LOST: &str = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">\n  <start to=\"nowhere\"/>\n  <end name=\"end\"/>\n</workflow-app>\n";
const FINE: &str = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">\n  <start to=\"end\"/>\n  <end name=\"end\"/>\n</workflow-app>\n";

/// Waits until the published findings are the expected ones.
#[track_caller]
fn becomes(editor: &mut Editor, what: &str, expected: &BTreeMap<PathBuf, Vec<Said>>) {
    if editor.comes(|editor| published(editor) == *expected) {
        return;
    }
    let found = published(editor);
    let paths: std::collections::BTreeSet<&PathBuf> = found.keys().chain(expected.keys()).collect();
    let mut wrong = String::new();
    for path in paths.into_iter().filter(|path| found.get(*path) != expected.get(*path)) {
        let (found, expected) = (found.get(path), expected.get(path));
        let of = |said: Option<&Vec<Said>>| said.cloned().unwrap_or_default();
        let (found, expected) = (of(found), of(expected));
        let more: Vec<&Said> = found.iter().filter(|said| !expected.contains(said)).collect();
        let less: Vec<&Said> = expected.iter().filter(|said| !found.contains(said)).collect();
        wrong += &format!("{}\n  too much: {more:?}\n  missing: {less:?}\n", path.display());
    }
    panic!("{what}:\n{wrong}");
}

/// Checks a folder with the server and the command, and expects the same findings.
#[track_caller]
fn same_as_the_command(folder: &Path) {
    let expected = by_command(folder, &["."]);
    let mut editor = Editor::open(folder);
    becomes(&mut editor, "as the command", &expected);
    // When the files are opened, the findings are the same, now with a version.
    let mut uris = Vec::new();
    for path in expected.keys() {
        let text = std::fs::read(path).expect("it was found there");
        // Text that is not UTF-8 cannot be sent in the protocol.
        if let Ok(text) = String::from_utf8(text)
            && !text.starts_with('\u{feff}')
        {
            editor.open_text(&uri(path), "xml", &text);
            uris.push(uri(path).as_str().to_owned());
        }
    }
    editor.until("a word on the open texts", |editor| {
        uris.iter().all(|uri| editor.published[uri].version == Some(1))
    });
    becomes(&mut editor, "as the command when open", &expected);
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn findings_are_those_of_the_command() {
    for name in ["err/nightly", "mistakes/app", "projects/bakery", "projects/flood-watch"] {
        let (_room, folder) = fixture(name);
        same_as_the_command(&folder);
    }
}

/// Values of properties are masked in a baseline, and compared masked.
#[test]
fn a_baseline_hides_the_same_as_for_the_command() {
    let (_room, folder) = folder_with(&[
        ("workflow.xml", LOST),
        ("job.properties", "nameNode=hdfs://nn:8020\nnameNode=hdfs://other:8020\n"),
        ("ankus.toml", "[check]\nbaseline = 'known.json'\n"),
    ]);
    ankus(&["check", "--no-cache", "--write-baseline", "known.json"]).folder(&folder).run();
    assert!(by_command(&folder, &["."]).is_empty());
    std::fs::write(folder.join("other.xml"), LOST.replace("nowhere", "now")).expect("room");
    same_as_the_command(&folder);
}

#[test]
fn findings_are_those_of_the_command_in_the_corpus() {
    let Some(corpus) = crate::shared("ANKUS_CORPUS", "corpus") else { return };
    for name in ["gbif__occurrence", "kite-sdk__kite-examples", "apache__knox", "Shopify__pyoozie"]
    {
        same_as_the_command(&corpus.join(name).canonicalize().expect("it is there"));
    }
}

#[test]
fn a_finding_has_all_that_the_command_knows() {
    let settings = "profile = \"strict\"\n[check]\npages = \"https://rules.example/{rule}.html\"\n";
    let text = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">\n  <start to=\"end\"/>\n  <kill name=\"one\"><message>m</message></kill>\n  <kill name=\"one\"><message>m</message></kill>\n  <end name=\"end\"/>\n</workflow-app>\n";
    let (_room, folder) = folder_with(&[("ankus.toml", settings), ("workflow.xml", text)]);
    let mut editor = Editor::open(&folder);
    let uri = editor.open_file(&folder.join("workflow.xml"));
    let found = editor.findings(&uri, 1);
    let of = |rule: &str| {
        let is = |found: &&Diagnostic| {
            found.code == Some(lsp_types::NumberOrString::String(rule.to_owned()))
        };
        found.iter().find(is).unwrap_or_else(|| panic!("{rule} in {found:#?}"))
    };
    let twice = of("duplicate-node-name");
    let related = twice.related_information.as_ref().expect("the other place");
    assert_eq!(
        (related[0].location.uri.as_str(), related[0].location.range.start.line),
        (uri.as_str(), 2)
    );
    let page = twice.code_description.as_ref().expect("a page");
    assert_eq!(page.href.as_str(), "https://rules.example/duplicate-node-name.html");
    let idle = FINE.replace("<end", "<kill name=\"idle\"><message>m</message></kill>\n  <end");
    editor.replace(&uri, 2, &idle);
    let found = editor.findings(&uri, 2);
    let unused = found.iter().find(|found| found.tags == Some(vec![DiagnosticTag::UNNECESSARY]));
    assert!(unused.is_some(), "{found:#?}");
}

#[test]
fn every_edit_is_answered_in_both_units() {
    for (encodings, is_utf8) in
        [(json!(["utf-8", "utf-16"]), true), (json!(["utf-16"]), false), (json!(null), false)]
    {
        let (_room, folder) = folder_with(&[("workflow.xml", FINE)]);
        let mut editor = Editor::start(&folder);
        let mut can = abilities();
        can["general"] = json!({"positionEncodings": encodings});
        let answer = editor.initialize(can, &[&folder], Value::Null);
        let agreed = answer.capabilities.position_encoding.expect("it is said");
        assert_eq!(agreed.as_str(), if is_utf8 { "utf-8" } else { "utf-16" });
        let uri = editor.open_file(&folder.join("workflow.xml"));
        assert_eq!(editor.findings(&uri, 1), []);
        let edit = |line, from: u32, to: u32, text: &str| {
            let at = |character| Position { line, character };
            let range = Some(Range { start: at(from), end: at(to) });
            TextDocumentContentChangeEvent { range, range_length: None, text: text.to_owned() }
        };
        // Characters outside the Basic Multilingual Plane before the change, and Windows line endings.
        let smile = if is_utf8 { 4 } else { 2 };
        let fine = FINE.replace('\n', "\r\n");
        editor.replace(&uri, 2, &fine);
        assert_eq!(editor.findings(&uri, 2), []);
        editor.change(
            &uri,
            3,
            vec![edit(1, 0, 0, "<!--😀-->"), edit(1, 7 + smile + 13, 7 + smile + 16, "😀")],
        );
        let found = editor.findings(&uri, 3);
        let lost: Vec<_> = found.iter().filter(|found| found.message.contains('😀')).collect();
        assert!(!lost.is_empty(), "{found:#?}");
        let place = lost[0].range;
        assert_eq!((place.start.line, place.start.character), (1, 7 + smile + 13));
        assert_eq!((place.end.line, place.end.character), (1, 7 + smile + 13 + smile));
        editor.change(&uri, 4, vec![edit(1, 7 + smile + 13, 7 + smile + 13 + smile, "end")]);
        assert_eq!(editor.findings(&uri, 4), []);
        assert_eq!(editor.shut_down(), Some(0));
    }
}

#[test]
fn texts_without_a_file_and_without_a_workspace() {
    let (_room, folder) = folder_with(&[]);
    let mut editor = Editor::start(&folder);
    editor.initialize(abilities(), &[], Value::Null);
    let untitled = "untitled:Untitled-1".parse().expect("a URI");
    editor.open_text(&untitled, "xml", LOST);
    let found = editor.findings(&untitled, 1);
    let run = ankus(&["check", "-", "--format", "json"]).folder(&folder).input(LOST).run();
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let rules = |found: &[Value]| -> Vec<String> {
        found.iter().map(|found| found["rule"].as_str().expect("a rule").to_owned()).collect()
    };
    let own: Vec<String> = said(&found).into_iter().map(|said| said.3).collect();
    assert_eq!(own, rules(report["findings"].as_array().expect("a list")));
    assert!(!own.is_empty());
    // Quick fixes are offered here as well.
    editor.replace(&untitled, 2, &LOST.replace("nowhere", "edn"));
    let found = editor.findings(&untitled, 2);
    let (document, range) = (json!({"uri": untitled}), found[0].range);
    let asked = json!({"textDocument": document, "range": range, "context": {"diagnostics": []}});
    let actions = editor.ask("textDocument/codeAction", asked).expect("an answer");
    let mut titles = actions.as_array().into_iter().flatten().map(|action| &action["title"]);
    assert!(titles.any(|title| title == "Rename to `end`"), "{actions:#?}");
    editor.replace(&untitled, 3, FINE);
    assert_eq!(editor.findings(&untitled, 3), []);
    // A file outside any workspace has the findings of `ankus check FILE`.
    let (_other, lone) = folder_with(&[("workflow.xml", LOST), ("job.properties", "a=1\n")]);
    let file = lone.join("workflow.xml");
    let lone_uri = editor.open_file(&file);
    let found = editor.findings(&lone_uri, 1);
    let expected = by_command(&lone, &["workflow.xml"]);
    assert_eq!(said(&found), expected[&file]);
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn other_xml_gets_nothing_at_all() {
    let (_room, folder) = folder_with(&[("workflow.xml", FINE)]);
    let mut editor = Editor::open(&folder);
    for (name, language, text) in [
        ("pom.xml", "xml", "<project><broken></project>"),
        ("log4j.properties", "properties", "a=${oops"),
        ("site/core-site.xml", "xml", "<configuration><property></configuration>"),
    ] {
        editor.open_text(&uri(&folder.join(name)), language, text);
    }
    let uri = editor.open_file(&folder.join("workflow.xml"));
    editor.findings(&uri, 1);
    // Messages are answered in their order.
    editor.replace(&uri, 2, LOST);
    editor.findings(&uri, 2);
    // `log4j.properties` lies beside a definition and may belong to it.
    let mut others: Vec<&String> = editor.published.keys().collect();
    others.retain(|other| !other.ends_with("workflow.xml") && !other.ends_with("log4j.properties"));
    assert_eq!(others, [""; 0]);
}

#[test]
fn files_of_an_application_are_seen_together_as_they_are_open() {
    let coordinator = "<coordinator-app xmlns=\"uri:oozie:coordinator:0.4\" name=\"c\" frequency=\"${coord:days(1)}\" start=\"2026-01-01T00:00Z\" end=\"2026-02-01T00:00Z\" timezone=\"UTC\">\n  <action><workflow><app-path>${nameNode}/app</app-path></workflow></action>\n</coordinator-app>\n";
    let (_room, folder) = folder_with(&[
        ("app/workflow.xml", FINE),
        ("app/coordinator.xml", coordinator),
        (
            "app/job.properties",
            "nameNode=hdfs://nn\noozie.coord.application.path=${nameNode}/app\n",
        ),
    ]);
    let mut editor = Editor::open(&folder);
    let workflow = folder.join("app/workflow.xml");
    let workflow_uri = editor.open_file(&workflow);
    editor.findings(&workflow_uri, 1);
    // The unsaved workflow requires a parameter that nothing sets; the file on disk does not.
    let asking = FINE.replace(
        "<start to=\"end\"/>",
        "<parameters><property><name>input</name></property></parameters><start to=\"end\"/>",
    );
    editor.replace(&workflow_uri, 2, &asking);
    editor.findings(&workflow_uri, 2);
    std::fs::write(&workflow, &asking).expect("room");
    let expected = by_command(&folder, &["."]);
    std::fs::write(&workflow, FINE).expect("room");
    assert!(!expected.is_empty());
    becomes(&mut editor, "what the command says of the same text", &expected);
    // After the text is closed, the file counts again.
    let text_document = TextDocumentIdentifier { uri: workflow_uri };
    editor.notify::<note::DidCloseTextDocument>(DidCloseTextDocumentParams { text_document });
    let expected = by_command(&folder, &["."]);
    becomes(&mut editor, "what the command says of the file", &expected);
}

#[test]
fn settings_and_scenarios_are_read_as_they_are_written() {
    let (_room, folder) = folder_with(&[("workflow.xml", LOST)]);
    let mut editor = Editor::open(&folder);
    let workflow = editor.open_file(&folder.join("workflow.xml"));
    let found = editor.findings(&workflow, 1);
    assert!(said(&found).iter().any(|said| said.3 == "unresolved-transition"), "{found:?}");
    let settings = uri(&folder.join("ankus.toml"));
    editor.open_text(&settings, "toml", "[rulez]\n");
    let found = editor.findings(&settings, 1);
    assert_eq!(
        said(&found),
        [(
            (0, 1),
            (0, 6),
            1,
            "settings".to_owned(),
            "unknown key `rulez`\ndid you mean `rules`?".to_owned()
        )]
    );
    // The settings are not saved, but in force.
    editor.replace(&settings, 2, "[rules]\nunresolved-transition = \"off\"\n");
    assert_eq!(editor.findings(&settings, 2), []);
    let key = workflow.as_str().to_owned();
    editor.until("the rule to be off", |editor| {
        let found = said(&editor.published[&key].diagnostics);
        found.iter().all(|said| said.3 != "unresolved-transition")
    });
    let scenario = uri(&folder.join("one.scenario.toml"));
    editor.open_text(&scenario, "toml", "app = \".\"\nlimmit = \"1d\"\n");
    let found = said(&editor.findings(&scenario, 1));
    assert_eq!((found[0].0, found[0].3.as_str()), ((1, 0), "scenario"), "{found:?}");
}

#[test]
fn what_a_client_sets_counts() {
    let (_room, folder) = folder_with(&[("workflow.xml", FINE)]);
    let strict = by_command(&folder, &[".", "--profile", "strict"]);
    let usual = by_command(&folder, &["."]);
    assert_ne!(strict, usual);
    let mut editor = Editor::start(&folder);
    let mut can = abilities();
    can["workspace"]["configuration"] = json!(true);
    editor.configuration = json!({"profile": "strict"});
    editor.initialize(can, &[&folder], json!({"profile": "default"}));
    editor.until("the strict findings", |editor| published(editor) == strict);
    editor.configuration = json!({"profile": "default"});
    editor.tell("workspace/didChangeConfiguration", json!({"settings": null}));
    editor.until("the usual findings", |editor| published(editor) == usual);
    editor.configuration = json!({"profile": "sloppy"});
    editor.tell("workspace/didChangeConfiguration", json!({"settings": null}));
    editor.until("a complaint", |editor| {
        editor.told.iter().any(|told| told.to_string().contains("there is no profile `sloppy`"))
    });
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn folders_come_and_go_and_files_change_on_the_disk() {
    let (_one, first) = folder_with(&[("workflow.xml", LOST)]);
    let (_two, second) = folder_with(&[("a/workflow.xml", LOST), ("b/workflow.xml", FINE)]);
    let mut editor = Editor::start(&first);
    editor.initialize(abilities(), &[&first, &second], Value::Null);
    let paths = |editor: &Editor| published(editor).into_keys().collect::<Vec<_>>();
    let of = |folder: &Path, names: &[&str]| -> Vec<PathBuf> {
        names.iter().map(|name| folder.join(name)).collect()
    };
    let both = |mut paths: Vec<PathBuf>| {
        paths.push(first.join("workflow.xml"));
        paths.sort();
        paths
    };
    let expected = both(of(&second, &["a/workflow.xml"]));
    editor.until("findings of both folders", |editor| paths(editor) == expected);
    std::fs::write(second.join("b/workflow.xml"), LOST).expect("room");
    std::fs::create_dir(second.join("c")).expect("room");
    std::fs::write(second.join("c/workflow.xml"), LOST).expect("room");
    std::fs::remove_file(second.join("a/workflow.xml")).expect("ours");
    let changes: Vec<Value> = [("a", 3), ("b", 2), ("c", 1)]
        .map(|(name, kind)| json!({"uri": uri(&second.join(name).join("workflow.xml")), "type": kind}))
        .to_vec();
    editor.tell("workspace/didChangeWatchedFiles", json!({"changes": changes}));
    let expected = both(of(&second, &["b/workflow.xml", "c/workflow.xml"]));
    editor.until("what is on the disk now", |editor| paths(editor) == expected);
    let gone = json!([{"uri": uri(&second), "name": "second"}]);
    editor.tell(
        "workspace/didChangeWorkspaceFolders",
        json!({"event": {"added": [], "removed": gone}}),
    );
    editor.until("the second to be gone", |editor| paths(editor) == [first.join("workflow.xml")]);
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn findings_can_be_asked_for() {
    let (_room, folder) = folder_with(&[("workflow.xml", LOST), ("other/workflow.xml", LOST)]);
    let mut editor = Editor::start(&folder);
    let mut can = abilities();
    can["textDocument"]["diagnostic"] = json!({});
    let answer = editor.initialize(can, &[&folder], Value::Null);
    assert!(answer.capabilities.diagnostic_provider.is_some());
    let uri = editor.open_file(&folder.join("workflow.xml"));
    let ask = |editor: &mut Editor, known: Value| {
        let document = json!({"uri": uri});
        let params = json!({"textDocument": document, "previousResultId": known});
        editor.ask("textDocument/diagnostic", params).expect("an answer")
    };
    let first = ask(&mut editor, Value::Null);
    assert_eq!(first["kind"], "full");
    let found: Vec<Diagnostic> = serde_json::from_value(first["items"].clone()).expect("findings");
    assert_eq!(said(&found), by_command(&folder, &["."])[&folder.join("workflow.xml")]);
    let again = ask(&mut editor, first["resultId"].clone());
    assert_eq!((&again["kind"], &again["resultId"]), (&json!("unchanged"), &first["resultId"]));
    // The answer is always about the current text.
    editor.replace(&uri, 2, FINE);
    let mended = ask(&mut editor, first["resultId"].clone());
    assert_eq!((&mended["kind"], &mended["items"]), (&json!("full"), &json!([])));
    let all = loop {
        let all = editor
            .ask("workspace/diagnostic", json!({"previousResultIds": []}))
            .expect("an answer");
        let items = all["items"].as_array().expect("a list").clone();
        if items
            .iter()
            .any(|item| item["uri"].as_str().is_some_and(|uri| uri.ends_with("other/workflow.xml")))
        {
            break items;
        }
    };
    assert!(all.iter().all(|item| item["kind"] == "full"), "{all:?}");
    // A client that pulls diagnostics is not sent them as well.
    assert!(editor.published.is_empty());
    assert_eq!(editor.shut_down(), Some(0));
}

/// The position of the first occurrence of `words`, plus `further` bytes.
fn place_of(text: &str, words: &str, further: usize) -> Value {
    let at = text.find(words).unwrap_or_else(|| panic!("`{words}` is not there"));
    let (line, character) = place(text, at + further);
    json!({"line": line, "character": character})
}

/// A text after non-overlapping edits of the protocol.
fn edited(text: &str, edits: &Value) -> String {
    let mut lines: Vec<usize> = vec![0];
    lines.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    let offset = |place: &Value| {
        let start = lines[place["line"].as_u64().expect("a line") as usize];
        let wanted = place["character"].as_u64().expect("a unit") as usize;
        let (mut units, mut at) = (0, start);
        let mut letters = text[start..].chars();
        while units < wanted
            && let Some(letter) = letters.next()
        {
            units += letter.len_utf16();
            at += letter.len_utf8();
        }
        at
    };
    let one = |edit: &Value| {
        let word = edit["newText"].as_str().expect("a text").to_owned();
        (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]), word)
    };
    let mut edits: Vec<(usize, usize, String)> =
        edits.as_array().expect("a list").iter().map(one).collect();
    edits.sort();
    let mut text = text.to_owned();
    for (start, end, word) in edits.into_iter().rev() {
        text.replace_range(start..end, &word);
    }
    text
}

#[test]
fn names_are_explained_found_and_changed() {
    let text =
        FINE.replace("<end name", "<kill name=\"end😀\"><message>m</message></kill><end name");
    let (_room, folder) = folder_with(&[("workflow.xml", &text)]);
    let mut editor = Editor::start(&folder);
    let mut can = abilities();
    can["textDocument"]["definition"] = json!({"linkSupport": true});
    can["textDocument"]["documentSymbol"] = json!({"hierarchicalDocumentSymbolSupport": true});
    can["textDocument"]["rename"] = json!({"prepareSupport": true});
    can["workspace"]["workspaceEdit"] = json!({"documentChanges": true});
    editor.initialize(can, &[&folder], Value::Null);
    let uri = editor.open_file(&folder.join("workflow.xml"));
    let at = |words: &str, further| json!({"textDocument": {"uri": uri}, "position": place_of(&text, words, further)});
    let target = at("to=\"end", 5);
    let ask = |editor: &mut Editor, method: &str, params: Value| {
        editor.ask(&format!("textDocument/{method}"), params).unwrap_or_else(|why| panic!("{why}"))
    };
    let hover = ask(&mut editor, "hover", target.clone());
    assert_eq!(hover["contents"]["kind"], "markdown", "{hover}");
    let found = ask(&mut editor, "definition", target.clone());
    let name = place_of(&text, "name=\"end\"", 6);
    assert_eq!(found[0]["targetSelectionRange"]["start"], name, "{found}");
    let mut asked = target.clone();
    asked["context"] = json!({"includeDeclaration": true});
    let found = ask(&mut editor, "references", asked);
    assert_eq!(found.as_array().map(Vec::len), Some(2), "{found}");
    let found = ask(&mut editor, "documentHighlight", target.clone());
    assert_eq!(found.as_array().map(Vec::len), Some(2), "{found}");
    let prepared = ask(&mut editor, "prepareRename", target.clone());
    assert_eq!(prepared["placeholder"], "end", "{prepared}");
    let mut asked = target.clone();
    asked["newName"] = json!("done");
    let edit = ask(&mut editor, "rename", asked);
    let change = &edit["documentChanges"][0];
    assert_eq!(change["textDocument"]["version"], 1, "{edit}");
    let expected = text.replace("\"end\"", "\"done\"");
    assert_eq!(edited(&text, &change["edits"]), expected);
    // A name that the server would refuse is refused here, with a reason.
    let mut asked = target;
    asked["newName"] = json!("end😀");
    let error = editor.ask("textDocument/rename", asked).expect_err("the name is taken");
    assert_eq!(error["code"], -32803, "{error}");
    let outline = ask(&mut editor, "documentSymbol", json!({"textDocument": {"uri": uri}}));
    let names: Vec<&str> = outline[0]["children"]
        .as_array()
        .expect("levels")
        .iter()
        .filter_map(|child| child["name"].as_str())
        .collect();
    assert!(names.contains(&"end😀") && names.contains(&"end"), "{outline}");
    editor.until("a look through the folder", |editor| !editor.published.is_empty());
    let found = editor.ask("workspace/symbol", json!({"query": "end"})).expect("an answer");
    assert!(found.to_string().contains("end😀"), "{found}");
    assert_eq!(editor.shut_down(), Some(0));
}

/// Applies those edits of a workspace edit that are about one text.
fn applied(text: &str, uri: &lsp_types::Uri, edit: &Value) -> String {
    let of = |change: &Value| change["textDocument"]["uri"] == uri.as_str();
    match edit["documentChanges"].as_array() {
        Some(changes) => {
            edited(text, &changes.iter().find(|change| of(change)).expect("it changes")["edits"])
        }
        None => edited(text, &edit["changes"][uri.as_str()]),
    }
}

#[test]
fn what_is_typed_is_completed_explained_and_laid_out() {
    let text = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">\n  <start to=\"\"/>\n  <action name=\"tidy\">\n    <fs><delete path=\"${concat(nameNode, '/tmp')}\"/></fs>\n    <ok to=\"end\"/><error to=\"end\"/>\n  </action>\n    <end name=\"end\"/>\n</workflow-app>\n";
    let properties = "nameNode=hdfs://nn\noozie.wf.application.path=${nameNode}/app\n";
    let (_room, folder) =
        folder_with(&[("app/workflow.xml", text), ("app/job.properties", properties)]);
    let mut editor = Editor::open(&folder);
    let uri = editor.open_file(&folder.join("app/workflow.xml"));
    editor.findings(&uri, 1);
    let document = json!({"uri": uri});
    let at = |words: &str, further| json!({"textDocument": document, "position": place_of(text, words, further)});
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}});
    let mut ask = |method: &str, params: Value| {
        editor.ask(method, params).unwrap_or_else(|why| panic!("{method}: {why}"))
    };
    let count = |answer: &Value| answer.as_array().map_or(0, Vec::len);
    let offered = ask("textDocument/completion", at("to=\"\"", 4));
    let labels: Vec<&str> = offered["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|item| item["label"].as_str())
        .collect();
    assert!(labels.contains(&"tidy") && labels.contains(&"end"), "{labels:?}");
    // This client does not support snippets, so none are sent.
    let offered = ask("textDocument/completion", at("\n  </action>", 0));
    assert!(offered["items"].as_array().is_some(), "{offered}");
    assert!(!offered.to_string().contains("insertTextFormat"), "{offered}");
    let signature = ask("textDocument/signatureHelp", at("nameNode, ", 10));
    assert_eq!(signature["activeParameter"], 1, "{signature}");
    let folds = ask("textDocument/foldingRange", json!({"textDocument": document}));
    assert!(count(&folds) >= 2, "{folds}");
    let positions = json!([place_of(text, "'/tmp'", 2)]);
    let grows = ask(
        "textDocument/selectionRange",
        json!({"textDocument": document, "positions": positions}),
    );
    let (mut levels, mut around) = (0, &grows[0]);
    while !around.is_null() {
        (levels, around) = (levels + 1, &around["parent"]);
    }
    assert!(levels >= 3, "{grows}");
    let linked = ask("textDocument/linkedEditingRange", at("<action", 3));
    assert_eq!(count(&linked["ranges"]), 2, "{linked}");
    let tokens = ask("textDocument/semanticTokens/full", json!({"textDocument": document}));
    assert!(count(&tokens["data"]) >= 5 && count(&tokens["data"]) % 5 == 0, "{tokens}");
    let part = json!({"textDocument": document, "range": {"start": {"line": 3, "character": 0}, "end": {"line": 4, "character": 0}}});
    let some = ask("textDocument/semanticTokens/range", part);
    assert!(count(&some["data"]) < count(&tokens["data"]) && count(&some["data"]) >= 5, "{some}");
    let hints = ask("textDocument/inlayHint", json!({"textDocument": document, "range": whole}));
    assert!(hints.to_string().contains("hdfs://nn"), "{hints}");
    let lenses = ask("textDocument/codeLens", json!({"textDocument": document}));
    assert!(lenses.to_string().contains("ankus.run"), "{lenses}");
    ask("textDocument/documentLink", json!({"textDocument": document}));
    let options = json!({"tabSize": 2, "insertSpaces": true});
    let edits =
        ask("textDocument/formatting", json!({"textDocument": document, "options": options}));
    let expected = ankus(&["fmt", "-"]).folder(&folder).input(text).run();
    assert_eq!(edited(text, &edits), expected.stdout);
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn findings_are_mended_and_callers_are_found() {
    let slip = FINE.replace("to=\"end\"", "to=\"edn\"");
    let coordinator = "<coordinator-app xmlns=\"uri:oozie:coordinator:0.4\" name=\"daily\" frequency=\"${coord:days(1)}\" start=\"2026-01-01T00:00Z\" end=\"2026-02-01T00:00Z\" timezone=\"UTC\">\n  <action><workflow><app-path>${nameNode}/app</app-path></workflow></action>\n</coordinator-app>\n";
    let (_room, folder) = folder_with(&[
        ("app/workflow.xml", &slip),
        ("app/coordinator.xml", coordinator),
        (
            "app/job.properties",
            "nameNode=hdfs://nn\noozie.coord.application.path=${nameNode}/app\n",
        ),
    ]);
    let mut editor = Editor::open(&folder);
    let uri = editor.open_file(&folder.join("app/workflow.xml"));
    let found = editor.findings(&uri, 1);
    let place =
        found.iter().find(|found| found.message.contains("edn")).expect("it is found").range;
    let document = json!({"uri": uri});
    let asked = json!({"textDocument": document, "range": place, "context": {"diagnostics": []}});
    let actions = editor.ask("textDocument/codeAction", asked).expect("an answer");
    let rename = actions
        .as_array()
        .expect("a list")
        .iter()
        .find(|action| action["title"].as_str().is_some_and(|title| title.contains("`end`")));
    let rename = rename.unwrap_or_else(|| panic!("{actions}"));
    assert_eq!(
        (&rename["kind"], &rename["diagnostics"][0]["code"]),
        (&json!("quickfix"), &json!("unresolved-transition"))
    );
    assert_eq!(applied(&slip, &uri, &rename["edit"]), FINE);
    let asked = json!({"textDocument": document, "range": place, "context": {"diagnostics": [], "only": ["refactor"]}});
    let refactorings = editor.ask("textDocument/codeAction", asked).expect("an answer");
    let is_one =
        |action: &Value| action["kind"].as_str().is_some_and(|kind| kind.starts_with("refactor"));
    assert!(refactorings.as_array().expect("a list").iter().all(is_one), "{refactorings}");
    let asked = json!({"textDocument": document, "position": {"line": 0, "character": 3}});
    let items = editor.ask("textDocument/prepareCallHierarchy", asked).expect("an answer");
    let callers =
        editor.ask("callHierarchy/incomingCalls", json!({"item": items[0]})).expect("an answer");
    let from = callers.to_string();
    assert!(from.contains("coordinator.xml"), "{callers}");
    let by =
        &callers.as_array().expect("a list").iter().find(|call| call["from"]["name"] == "daily");
    let by = by.unwrap_or_else(|| panic!("{callers}"));
    assert_eq!(by["fromRanges"][0]["start"], place_of(coordinator, "${nameNode}", 0));
    let started =
        editor.ask("callHierarchy/outgoingCalls", json!({"item": by["from"]})).expect("an answer");
    assert_eq!(started[0]["to"]["uri"], uri.as_str(), "{started}");
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn the_manual_lists_what_is_there() {
    let page = std::fs::read_to_string(crate::root().join("docs/editors/README.md"));
    let page = page.expect("a page of the manual");
    let part = page.split("### ").find(|part| part.starts_with("Requests of the client"));
    let rows = part.expect("the part of requests").lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let method = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((method, cells.next()? == "yes"))
    });
    let (_room, folder) = folder_with(&[]);
    let mut editor = Editor::start(&folder);
    let mut can = abilities();
    can["textDocument"]["diagnostic"] = json!({});
    let answer = editor.initialize(can, &[&folder], Value::Null);
    let (mut asked, mut wrong) = (0, Vec::new());
    for (method, is_there) in rows.filter(|(method, _)| *method != "shutdown") {
        let code = editor.ask(method, json!({})).err().map(|error| error["code"].clone());
        if (code == Some(json!(-32601))) == is_there {
            wrong.push(format!("`{method}`: {code:?}"));
        }
        asked += 1;
    }
    assert!(asked >= 45 && wrong.is_empty(), "{asked} methods, wrong: {wrong:?}");
    // Every capability that the server announces has a row.
    let can = serde_json::to_value(answer.capabilities).expect("a value");
    for (name, _) in can.as_object().expect("an object") {
        let Some(stem) = name.strip_suffix("Provider") else { continue };
        let method = match stem {
            "workspaceSymbol" => "workspace/symbol".to_owned(),
            "documentFormatting" => "textDocument/formatting".to_owned(),
            "documentRangeFormatting" => "textDocument/rangeFormatting".to_owned(),
            "callHierarchy" => "textDocument/prepareCallHierarchy".to_owned(),
            "semanticTokens" => "textDocument/semanticTokens/full".to_owned(),
            stem => format!("textDocument/{stem}"),
        };
        assert!(page.contains(&format!("| `{method}` | yes |")), "{method}");
    }
    assert_eq!(editor.shut_down(), Some(0));
}
