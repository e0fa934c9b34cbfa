//! Diagrams of definitions.

mod geometry;

use crate::shared;
use ankus::check::{self, FileKind, Input, recognize};
use ankus::emit::graph::{
    self, Alone, Definition, Definitions, Direction, Drawing, Format, Kind, Options,
};
use ankus::files::Files;
use ankus::settings::Settings;
use ankus::source::Source;
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
        settings: &settings,
        submission: &submission,
        files: &files,
        ..Input::of(&source, kind)
    });
    Definition { source, kind, findings: outcome.findings }
}

/// Definitions by the path that refers to them.
struct Named(BTreeMap<&'static str, (&'static str, FileKind)>);

impl Definitions for Named {
    fn open(&self, _: &Source, path: &str, _: FileKind) -> Option<Definition> {
        let (text, kind) = self.0.get(path)?;
        Some(definition(path, text, *kind))
    }
}

const FORMATS: [Format; 5] = [Format::Dot, Format::Mermaid, Format::Svg, Format::Json, Format::D2];

#[test]
fn a_picture_in_dots_goes_into_a_file() {
    let folder = crate::cli::folder(&[(
        "app/workflow.xml",
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a &amp; b'><start to='end'/><end name='end'/></workflow-app>",
    )]);
    let run = |arguments: &[&str]| {
        let mut ankus = Command::new(env!("CARGO_BIN_EXE_ankus"));
        ankus.args(["graph", "app", "--format", "png"]).args(arguments);
        ankus.current_dir(folder.path()).output().expect("it runs")
    };
    let refused = run(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--output"));
    assert!(run(&["--output", "app.png"]).status.success());
    let bytes = std::fs::read(folder.path().join("app.png")).expect("written");
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 1_000, "{}", bytes.len());
}

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
            // The mutants resemble each other, and Graphviz is slow.
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

/// Has Graphviz parse drawings and lay them out.
fn accepted(dots: &[(String, String)]) {
    let dot = Command::new("dot").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if dot.is_err() {
        println!("skipped: no `dot` is installed");
        return;
    }
    let (mut count, mut refused) = (0, Vec::new());
    // Many per process; on an error, it reports the line.
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

/// The diagrams of the project's own applications and of the corpus, in both directions.
fn pictures() -> Vec<(String, String)> {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures");
    let mut own = Vec::new();
    for entry in ignore::WalkBuilder::new(fixtures).standard_filters(false).build() {
        let path = entry.expect("a readable folder").into_path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if let (Some("xml"), Some(kind)) =
            (path.extension().and_then(|end| end.to_str()), recognize(&text))
        {
            own.push((path, text, kind));
        }
    }
    assert!(own.len() >= 8, "the project has applications of its own");
    let is_mutant = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "mutants");
    let all = all_definitions();
    own.extend(all.into_iter().filter(|(path, ..)| !is_mutant(path)));
    let mut pictures = Vec::new();
    for (path, text, kind) in own {
        let path = path.display().to_string();
        let definition = definition(&path, &text, kind);
        for (data, direction) in [(false, Direction::TopBottom), (true, Direction::LeftRight)] {
            let options = Options { expand: true, data, no_kill: false, direction };
            let drawing = graph::build(&definition, &Alone, &options);
            let name = format!("{path}, {direction:?}");
            pictures.push((name, graph::render(&drawing, Format::Svg)));
        }
    }
    let expanded = broken(true, false);
    pictures.push(("broken".to_owned(), graph::render(&expanded, Format::Svg)));
    pictures
}

#[test]
fn nothing_in_a_picture_covers_anything_else() {
    let mut whole = geometry::Measures::default();
    let mut wrong = Vec::new();
    let mut uses = Vec::new();
    let pictures = pictures();
    for (name, svg) in &pictures {
        let picture = geometry::Picture::read(svg);
        let measures = picture.measure();
        wrong.extend(measures.faults.iter().map(|fault| format!("{name}: {fault}")));
        uses.push(measures.canvas_use);
        whole.add(measures);
    }
    uses.sort_by(f64::total_cmp);
    println!(
        "pictures: {}, nodes: {}, labels: {}, lines: {}, overlaps: {}, crossings: {}, canvas use: {:.0} % in the median",
        pictures.len(),
        whole.nodes,
        whole.labels,
        whole.lines,
        wrong.len(),
        whole.crossings,
        100.0 * uses[uses.len() / 2]
    );
    wrong.iter().take(40).for_each(|line| println!("  {line}"));
    assert!(wrong.is_empty(), "{} overlaps", wrong.len());
    assert!(whole.labels > 10, "words were read");
}

#[test]
fn a_picture_that_is_spoilt_is_noticed() {
    let svg = graph::render(&broken(true, false), Format::Svg);
    assert!(geometry::Picture::read(&svg).measure().faults.is_empty());
    // The labels are moved up into what is above them; a node is moved off the canvas.
    let mut moved = String::new();
    for line in svg.lines() {
        let at = line.starts_with("<text class=\"label").then(|| line.find(" y=\"")).flatten();
        match at {
            Some(at) => {
                let end = at + 4 + line[at + 4..].find('"').expect("a quote");
                let y: f64 = line[at + 4..end].parse().expect("a number");
                moved += &format!("{}{}{}\n", &line[..at + 4], y - 22.0, &line[end..]);
            }
            None => moved += &format!("{line}\n"),
        }
    }
    assert!(!geometry::Picture::read(&moved).measure().faults.is_empty());
    let narrow = svg.replacen("viewBox=\"0 0 ", "viewBox=\"0 0 1", 1);
    assert_ne!(narrow, svg);
    let width = svg.split("viewBox=\"0 0 ").nth(1).expect("a box").split(' ').next();
    let cut =
        svg.replace(&format!("viewBox=\"0 0 {} ", width.expect("a width")), "viewBox=\"0 0 90 ");
    assert!(!geometry::Picture::read(&cut).measure().faults.is_empty());
}

#[test]
fn many_failures_are_marks_and_few_share_one_word() {
    let workflow = |count: usize| {
        let action = |at: usize| {
            let next = if at + 1 == count { "end".to_owned() } else { format!("a{}", at + 1) };
            format!("<action name='a{at}'><fs/><ok to='{next}'/><error to='failed'/></action>")
        };
        let actions: String = (0..count).map(action).collect();
        format!(
            "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='a0'/>{actions}\
             <kill name='failed'><message>m</message></kill><end name='end'/></workflow-app>"
        )
    };
    let draw = |count: usize| {
        let definition = definition("w.xml", &workflow(count), FileKind::Workflow);
        let drawing = graph::build(&definition, &Alone, &Options::default());
        graph::render(&drawing, Format::Svg)
    };
    let few = draw(5);
    assert_eq!(few.matches(">error</text>").count(), 1);
    assert_eq!(few.matches("class=\"edge failure\"").count(), 5);
    assert_eq!(few.matches("class=\"mark\"").count(), 0);
    let many = draw(40);
    assert_eq!(many.matches("class=\"edge failure\"").count(), 0);
    // One at each action, and one that explains them.
    assert_eq!(many.matches("class=\"mark\"").count(), 41);
    assert!(many.contains(">after an error of 40 nodes</text>"));
    // The chain is straight: all boxes have the same center.
    let picture = geometry::Picture::read(&many);
    let actions: Vec<f64> = picture.boxes("action").map(|area| area.middle()).collect();
    assert_eq!(actions.len(), 40);
    assert!(actions.iter().all(|x| (x - actions[0]).abs() < 0.1), "{actions:?}");
}

#[test]
fn a_fork_stands_over_the_middle_of_its_paths() {
    for count in 2..8 {
        let paths: String = (0..count).map(|at| format!("<path start='a{at}'/>")).collect();
        let action = |at| format!("<action name='a{at}'><fs/><ok to='j'/><error to='k'/></action>");
        let actions: String = (0..count).map(action).collect();
        let text = format!(
            "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='f'/><fork name='f'>{paths}</fork>\
             {actions}<join name='j' to='e'/><kill name='k'><message>m</message></kill><end name='e'/></workflow-app>"
        );
        let definition = definition("w.xml", &text, FileKind::Workflow);
        let drawing = graph::build(&definition, &Alone, &Options::default());
        let picture = geometry::Picture::read(&graph::render(&drawing, Format::Svg));
        let actions: Vec<f64> = picture.boxes("action").map(|area| area.middle()).collect();
        let least = actions.iter().copied().fold(f64::INFINITY, f64::min);
        let most = actions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for gate in picture.boxes("fork").chain(picture.boxes("join")) {
            // Where the line of failures passes between two of them, it takes some space.
            let off = (gate.middle() - (least + most) / 2.0).abs();
            assert!(off < 16.0, "{count} paths: {off}");
        }
    }
}

#[test]
fn a_part_of_a_drawing_says_what_it_leaves_out() {
    let whole = broken(true, false);
    let mail = graph::named(&whole, "mail");
    assert_eq!(mail.len(), 1);
    let part = graph::focus(&whole, mail[0], 1);
    sound(&part, "focus");
    let names: Vec<&str> = part.nodes.iter().map(|node| node.id.as_str()).collect();
    // A group that is expanded in it stays expanded.
    assert_eq!(names, ["split", "mail", "both", "failed", "mail/:start:", "mail/end"]);
    let hidden = |name: &str| part.nodes.iter().find(|node| node.id == name).expect(name).hidden;
    assert_eq!((hidden("split").entries, hidden("split").exits), (2, 1));
    assert_eq!((hidden("both").entries, hidden("both").exits), (1, 1));
    assert_eq!(hidden("mail"), graph::Hidden::default());
    // It does not continue beyond `failed`, where everything meets, but it may start there.
    let part = graph::focus(&whole, mail[0], 2);
    assert!(part.nodes.iter().all(|node| node.id != "left-over"));
    let failed = graph::named(&whole, "failed")[0];
    let part = graph::focus(&whole, failed, 1);
    assert!(part.nodes.iter().any(|node| node.id == "left-over"));
    // Inside an expanded group, only that group is left.
    let inner = graph::named(&whole, "mail/end")[0];
    let part = graph::focus(&whole, inner, 3);
    assert_eq!((part.groups.len(), part.nodes.len()), (1, 2));
    assert!(part.groups[0].parent.is_none());
    sound(&part, "focus within");
}

/// The project's own applications, as the manual shows them.
fn manual() -> Vec<(&'static str, String)> {
    let fixture = |path: &str| {
        let whole = format!("{}/../fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&whole).unwrap_or_else(|error| panic!("{whole}: {error}"))
    };
    /// Definitions by the end of the path that refers to them.
    struct Ends(Vec<(&'static str, Definition)>);
    impl Definitions for Ends {
        fn open(&self, _: &Source, path: &str, kind: FileKind) -> Option<Definition> {
            let mut known = self.0.iter();
            let named = |(end, definition): &&(&str, Definition)| {
                path.ends_with(end) && definition.kind == kind
            };
            known.find(named).map(|(_, definition)| definition.clone())
        }
    }
    // The path within the project's folder.
    let of = |path: &str, kind| {
        let name = path.splitn(3, '/').nth(2).expect("a project has a folder");
        definition(name, &fixture(path), kind)
    };
    let (workflow, coordinator) = (FileKind::Workflow, FileKind::Coordinator);
    let around = Ends(vec![
        ("/warning", of("projects/flood-watch/warning/workflow.xml", workflow)),
        ("/bakery/bake", of("projects/bakery/bake/workflow.xml", workflow)),
        ("/bakery/bake", of("projects/bakery/bake/coordinator.xml", coordinator)),
        ("/bakery/count", of("projects/bakery/count/workflow.xml", workflow)),
        ("/bakery/count", of("projects/bakery/count/coordinator.xml", coordinator)),
    ]);
    let plain = Options::default();
    let expand = Options { expand: true, ..plain };
    let flood_watch = of("projects/flood-watch/workflow.xml", workflow);
    let mut run = graph::build(&flood_watch, &around, &plain);
    let state = |status: &str, next: &str| graph::State {
        status: status.to_owned(),
        transition: (!next.is_empty()).then(|| next.to_owned()),
    };
    let states = [
        (":start:", state("OK", "prepare")),
        ("prepare", state("OK", "read-gauges")),
        ("read-gauges", state("OK", "*")),
        ("north", state("RUNNING", "")),
        ("south", state("ERROR", "failed")),
        ("failed", state("OK", "")),
    ];
    graph::paint(&mut run, &states.map(|(name, state)| (name.to_owned(), state)).into());
    let month_end = of("pictures/month-end/workflow.xml", workflow);
    let month_end = graph::build(&month_end, &around, &plain);
    let clean = graph::named(&month_end, "is-clean")[0];
    let bakery = of("projects/bakery/bundle.xml", FileKind::Bundle);
    let nightly = of("err/nightly/workflow.xml", workflow);
    let across = Options { direction: Direction::LeftRight, ..plain };
    [
        ("flood-watch", graph::build(&flood_watch, &around, &expand)),
        ("run", run),
        ("bakery", graph::build(&bakery, &around, &expand)),
        ("month-end", month_end.clone()),
        ("focus", graph::focus(&month_end, clean, 1)),
        ("nightly", graph::build(&nightly, &around, &across)),
    ]
    .map(|(name, drawing)| (name, graph::render(&drawing, Format::Svg)))
    .into()
}

#[test]
fn the_pictures_of_the_manual_are_fresh() {
    let folder = format!("{}/../docs/pictures", env!("CARGO_MANIFEST_DIR"));
    let mut stale = Vec::new();
    for (name, svg) in manual() {
        assert!(geometry::Picture::read(&svg).measure().faults.is_empty(), "{name}");
        let path = format!("{folder}/{name}.svg");
        if std::fs::read_to_string(&path).ok().as_ref() != Some(&svg) {
            std::fs::write(&path, &svg).expect("a folder for pictures");
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "drawn anew: {stale:?}");
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
    // `sums` is not declared.
    assert_eq!(count(Kind::Missing), 2);
    assert_eq!(drawing.groups.len(), 3);
}
