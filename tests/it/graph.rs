//! Pictures of definitions.

use crate::shared;
use ankus::check::{self, FileKind, Input, recognize};
use ankus::emit::graph::{
    self, Alone, Definition, Definitions, Direction, Drawing, Format, Kind, Options,
};
use ankus::files::Files;
use ankus::settings::Settings;
use ankus::source::{Encoding, Source};
use ankus::syntax::properties::Submission;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

fn definition(path: &str, text: &str, kind: FileKind) -> Definition {
    let source = Arc::new(Source::new(path, text));
    let (settings, submission, files) =
        (Settings::default(), Submission::default(), Files::default());
    let outcome = check::check(&Input {
        source: &source,
        encoding: Encoding::Utf8,
        not_text: None,
        kind,
        settings: &settings,
        settings_path: path,
        submission: &submission,
        files: &files,
        user: "tester",
        now: None,
    });
    Definition { source, kind, findings: outcome.findings }
}

/// Definitions by the path that names them.
struct Named(BTreeMap<&'static str, (&'static str, FileKind)>);

impl Definitions for Named {
    fn open(&self, _: &Source, path: &str, _: FileKind) -> Option<Definition> {
        let (text, kind) = self.0.get(path)?;
        Some(definition(path, text, *kind))
    }
}

const FORMATS: [Format; 5] = [Format::Dot, Format::Mermaid, Format::Svg, Format::Json, Format::D2];

/// Every definition of the corpus and of the mutants, with its text.
fn all_definitions() -> Vec<(PathBuf, String, FileKind)> {
    let mut found = Vec::new();
    for (variable, name) in [("ANKUS_CORPUS", "corpus"), ("ANKUS_VERDICTS", "verdicts")] {
        let Some(folder) = shared(variable, name) else { continue };
        for entry in ignore::WalkBuilder::new(folder).standard_filters(false).build() {
            let path = entry.expect("a readable folder").into_path();
            let Ok(bytes) = std::fs::read(&path) else { continue };
            if path.extension().is_none_or(|end| end != "xml") {
                continue;
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some(kind) = recognize(&text) {
                found.push((path, text, kind));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[track_caller]
fn sound(drawing: &Drawing, what: &str) {
    let mut ids = HashSet::new();
    for node in &drawing.nodes {
        assert!(ids.insert(&node.id), "{what}: {} is drawn twice", node.id);
    }
    for edge in &drawing.edges {
        let (from, to) = (&drawing.nodes[edge.from], &drawing.nodes[edge.to]);
        assert_eq!(from.group, to.group, "{what}: {} -> {}", from.id, to.id);
    }
    let svg = graph::render(drawing, Format::Svg);
    let read = roxmltree::Document::parse(&svg);
    let read = read.unwrap_or_else(|error| panic!("{what}: {error}"));
    let boxes = read.descendants().filter(|element| {
        element.tag_name().name() == "g"
            && element.attribute("class").is_some_and(|class| class.starts_with("node "))
    });
    assert_eq!(boxes.count(), drawing.nodes.len(), "{what}");
    let json = graph::render(drawing, Format::Json);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["nodes"].as_array().map(Vec::len), Some(drawing.nodes.len()), "{what}");
    for format in FORMATS {
        assert!(!graph::render(drawing, format).is_empty(), "{what}");
    }
}

#[test]
fn every_definition_there_is_can_be_drawn() {
    let all = all_definitions();
    let mut dots: Vec<(String, String)> = Vec::new();
    for (path, text, kind) in &all {
        let path = path.display().to_string();
        let definition = definition(&path, text, *kind);
        for (data, no_kill, direction) in
            [(false, false, Direction::TopBottom), (true, true, Direction::LeftRight)]
        {
            // The mutants look like each other; Graphviz takes its time.
            let is_mutant = path.contains("mutants");
            if is_mutant && !data {
                continue;
            }
            let options = Options { expand: true, data, no_kill, direction };
            let drawing = graph::build(&definition, &Alone, &options);
            sound(&drawing, &path);
            if !data {
                dots.push((path.clone(), graph::render(&drawing, Format::Dot)));
            }
        }
    }
    println!("drawn: {} definitions in five formats", all.len());
    accepted(&dots);
}

/// Has Graphviz read drawings and lay them out.
fn accepted(dots: &[(String, String)]) {
    let dot = Command::new("dot").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if dot.is_err() {
        println!("skipped: no `dot` is installed");
        return;
    }
    let (mut count, mut refused) = (0, Vec::new());
    // Many to a process; it says which line it does not understand.
    for some in dots.chunks(200) {
        let mut child = Command::new("dot")
            .arg("-Tcanon")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("`dot` was there a moment ago");
        let mut stdin = child.stdin.take().expect("piped");
        let text: String = some.iter().map(|(_, dot)| dot.as_str()).collect();
        let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output().expect("an end");
        let _ = writer.join();
        let drawn = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|line| line.starts_with("digraph"))
            .count();
        count += drawn;
        if drawn != some.len() || !output.status.success() || !output.stderr.is_empty() {
            refused.push(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    println!("accepted by dot: {count} of {}", dots.len());
    assert!(refused.is_empty(), "{refused:#?}");
}

const BROKEN: &str = r#"<workflow-app xmlns="uri:oozie:workflow:0.5" name="nightly">
  <start to="split"/>
  <fork name="split">
    <path start="load"/>
    <path start="mail"/>
  </fork>
  <action name="load">
    <shell xmlns="uri:oozie:shell-action:0.3">
      <prepare><delete path="${out}"/></prepare>
      <exec>load.sh</exec>
    </shell>
    <ok to="both"/>
    <error to="nowhere"/>
  </action>
  <action name="mail">
    <sub-workflow><app-path>apps/mail</app-path></sub-workflow>
    <ok to="both"/>
    <error to="failed"/>
  </action>
  <join name="both" to="more"/>
  <decision name="more">
    <switch>
      <case to="split">${wf:conf("again") eq "yes &amp; no"}</case>
      <default to="end"/>
    </switch>
  </decision>
  <action name="left-over"><fs/><ok to="end"/><error to="failed"/></action>
  <kill name="failed"><message>it "failed"</message></kill>
  <end name="end"/>
</workflow-app>
"#;

const MAIL: &str = r#"<workflow-app xmlns="uri:oozie:workflow:0.5" name="mail">
  <start to="end"/><end name="end"/>
</workflow-app>"#;

fn broken(expand: bool, no_kill: bool) -> Drawing {
    let named = Named(BTreeMap::from([("apps/mail", (MAIL, FileKind::Workflow))]));
    let options = Options { expand, data: true, no_kill, ..Options::default() };
    graph::build(&definition("workflow.xml", BROKEN, FileKind::Workflow), &named, &options)
}

#[test]
fn a_broken_workflow_shows_its_faults() {
    let drawing = broken(true, false);
    sound(&drawing, "broken");
    let by_name = |name: &str| drawing.nodes.iter().find(|node| node.id == name).expect(name);
    assert_eq!(by_name("nowhere").kind, Kind::Missing);
    assert_eq!(by_name("nowhere").faults[0].rule, "unresolved-transition");
    assert!(!by_name("left-over").reachable);
    assert_eq!(by_name("mail/:start:").group, 1);
    assert_eq!(by_name("${out}").kind, Kind::Data);
    let back = drawing.edges.iter().find(|edge| edge.exit == "case").expect("a way back");
    assert_eq!(back.faults[0].rule, "cycle");
    let svg = graph::render(&drawing, Format::Svg);
    assert!(
        svg.contains("class=\"edge flow error\"") && svg.contains("class=\"node missing error\"")
    );

    let bare = broken(false, true);
    assert!(bare.nodes.iter().all(|node| node.kind != Kind::Kill && node.group == 0));
}

#[test]
fn a_workflow_in_itself_is_not_unfolded_for_ever() {
    const TEXT: &str = r#"<workflow-app xmlns="uri:oozie:workflow:0.5" name="w">
  <start to="a"/>
  <action name="a"><sub-workflow><app-path>w</app-path></sub-workflow><ok to="e"/><error to="e"/></action>
  <end name="e"/>
</workflow-app>"#;
    let named = Named(BTreeMap::from([("w", (TEXT, FileKind::Workflow))]));
    let options = Options { expand: true, ..Options::default() };
    let drawing = graph::build(&definition("w", TEXT, FileKind::Workflow), &named, &options);
    assert_eq!(drawing.groups.len(), 1);
    assert!(drawing.nodes[1].notes.contains(&"runs what it is part of".to_owned()));
}

#[test]
fn a_run_is_painted_on_it() {
    let mut drawing = broken(true, false);
    let state = |status: &str, next: &str| {
        let next = Some(next.to_owned()).filter(|next| !next.is_empty());
        graph::State { status: status.to_owned(), transition: next }
    };
    let states = BTreeMap::from([
        (":start:".to_owned(), state("OK", "split")),
        ("split".to_owned(), state("OK", "*")),
        ("load".to_owned(), state("RUNNING", "")),
        ("mail".to_owned(), state("ERROR", "failed")),
        ("failed".to_owned(), state("OK", "")),
    ]);
    graph::paint(&mut drawing, &states);
    let taken: Vec<(&str, &str)> = drawing
        .edges
        .iter()
        .filter(|edge| edge.taken)
        .map(|edge| (drawing.nodes[edge.from].id.as_str(), drawing.nodes[edge.to].id.as_str()))
        .collect();
    assert_eq!(
        taken,
        [(":start:", "split"), ("split", "load"), ("split", "mail"), ("mail", "failed")]
    );
    sound(&drawing, "painted");
    assert!(graph::render(&drawing, Format::Dot).contains("style=filled"));
}

#[test]
fn each_format_in_full() {
    let drawing = broken(true, false);
    for (name, format) in [
        ("dot", Format::Dot),
        ("mermaid", Format::Mermaid),
        ("d2", Format::D2),
        ("json", Format::Json),
    ] {
        insta::assert_snapshot!(name, graph::render(&drawing, format), BROKEN);
    }
}

#[test]
fn a_bundle_shows_what_its_coordinators_share() {
    const COORDINATOR: &str = r#"<coordinator-app xmlns="uri:oozie:coordinator:0.4" name="c" frequency="60"
    start="2020-01-01T00:00Z" end="2020-01-02T00:00Z" timezone="UTC">
  <datasets>
    <dataset name="logs" frequency="60" initial-instance="2020-01-01T00:00Z" timezone="UTC">
      <uri-template>/logs/${HOUR}</uri-template>
    </dataset>
  </datasets>
  <input-events><data-in name="in" dataset="logs"><instance>${coord:current(0)}</instance></data-in></input-events>
  <output-events><data-out name="out" dataset="sums"><instance>${coord:current(0)}</instance></data-out></output-events>
  <action><workflow><app-path>apps/sum</app-path></workflow></action>
</coordinator-app>"#;
    const BUNDLE: &str = r#"<bundle-app xmlns="uri:oozie:bundle:0.2" name="b">
  <coordinator name="one"><app-path>c</app-path></coordinator>
  <coordinator name="two"><app-path>c</app-path></coordinator>
</bundle-app>"#;
    let named = Named(BTreeMap::from([
        ("c", (COORDINATOR, FileKind::Coordinator)),
        ("apps/sum", (MAIL, FileKind::Workflow)),
    ]));
    let options = Options { expand: true, ..Options::default() };
    let drawing = graph::build(&definition("b.xml", BUNDLE, FileKind::Bundle), &named, &options);
    sound(&drawing, "bundle");
    let count = |kind| drawing.nodes.iter().filter(|node| node.kind == kind).count();
    assert_eq!((count(Kind::Bundle), count(Kind::Coordinator)), (1, 2));
    assert_eq!((count(Kind::Dataset), count(Kind::Workflow)), (1, 2));
    // Nobody declares `sums`.
    assert_eq!(count(Kind::Missing), 2);
    assert_eq!(drawing.groups.len(), 3);
}
