//! Nothing in the input controls its viewer: each format can hold any text in any place.

use crate::cli::ankus;
use ankus::check::{self, FileKind, FileReport, Finding, Report};
use ankus::diag::{Diagnostic, Fix, Level, Move, Note, Witness};
use ankus::emit::graph::{
    self, Direction, Drawing, Edge, Fault, Format, Group, Hidden, Kind, Node, Place, Relation,
};
use ankus::emit::inventory::{self, Application, Call, Inventory};
use ankus::render;
use ankus::source::{Encoding, Source, Span};
use ankus::text;
use proptest::prelude::*;
use serde_json::Value;
use std::sync::Arc;

/// Random text, in which dangerous characters are more frequent than by chance.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        any::<char>().prop_map(String::from),
        (0u32..0xa0).prop_map(|code| char::from_u32(code).expect("a character").to_string()),
        prop::sample::select(vec![
            "\u{202e}",
            "\u{2066}",
            "\u{2028}",
            "\u{61c}",
            "\u{200f}",
            "\u{1b}[31m",
            "\u{9b}2J",
            "\n",
            "\r\n",
            "\n::error::x",
            "::add-mask::x",
            "##[error]",
            "##vso[task.x]",
            "]]>",
            "-->",
            "</script>",
            "<script>",
            "\"",
            "'",
            "\\",
            "%0A",
            "%",
            ",",
            ":",
            "=cmd",
            "@x",
            "#{x}",
            "\u{fffe}",
            "\t",
            "a name",
            "/",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

/// A report in which every field that comes from the input is one of these texts.
fn report(texts: &[String]) -> Report {
    let text = |at: usize| texts[at % texts.len()].clone();
    let path = format!("{}x", text(0));
    let side = format!("{}side.properties", text(1));
    let source = Source::new(path.clone(), format!("{}\n{}{}\n", text(2), text(3), text(4)));
    let end = source.text.len();
    let start = source.text.char_indices().nth(end / 5).map_or(0, |(at, _)| at);
    let secret = Source::new(side.clone(), format!("name={}", text(5).replace(['\n', '\r'], "")));
    let kind = check::kinds()[texts[0].len() % 20];
    let span = Span::new(start, end);
    let step = Move { node: text(6), exit: "ok", to: text(7), path: text(8), span };
    let mut diagnostic = Diagnostic::new(kind, span, text(9))
        .help(text(10))
        .fix(Fix::guess(text(11), Span::new(start, start), text(0)))
        .witness(Witness { fault: "double", node: text(1), failures: 0, run: vec![step] });
    diagnostic.notes.push(Note {
        file: Some(side.clone()),
        span: Span::new(0, 4),
        message: text(2),
    });
    let finding = Finding { path: path.clone(), level: Level::Error, diagnostic };
    let mut report = Report::default();
    report.files.push(FileReport {
        path: path.clone(),
        kind: FileKind::Workflow,
        name: Some(text(3)),
        schema: Some(text(4)),
        nodes: None,
        properties: vec![text(5)],
        reference: None,
    });
    report.secrets.insert(side.clone(), vec![Span::new(5, secret.text.len().max(5))]);
    report.sources.insert(path, (Arc::new(source), Encoding::Utf8));
    report.sources.insert(side, (Arc::new(secret), Encoding::Utf8));
    report.findings.push(finding);
    report.unreadable.push(text(6));
    report.suppressed = 1;
    report
}

/// Asserts that a text contains nothing that controls a terminal, and nothing that a build server takes for a command.
#[track_caller]
fn calm(text: &str, format: &str) {
    for (number, line) in text.split('\n').enumerate() {
        let steers = line.trim_end_matches('\r').chars().find(|letter| text::steers(*letter));
        assert_eq!(steers, None, "{format}, line {number}: {line:?}");
        assert!(!line.contains("##[") && !line.contains("##vso["), "{format}: {line:?}");
        let is_command = line.trim_start().starts_with("::");
        assert!(!is_command || format == "github", "{format}: {line:?}");
    }
}

/// A drawing in which every text is one of these; its shape and the kinds of its nodes are always the same.
fn drawing(texts: &[String]) -> Drawing {
    let text = |at: usize| texts[at % texts.len()].clone();
    let fault = |at: usize| Fault { level: Level::Error, rule: "a-rule", message: text(at) };
    let (span, extent) = (Span::at(0), Span::at(0));
    let place = |at: usize| {
        Some(Place { path: format!("{}x", text(at)), line: 7, column: 1, span, extent })
    };
    let kinds = [
        Kind::Start,
        Kind::End,
        Kind::Action,
        Kind::Decision,
        Kind::Fork,
        Kind::Join,
        Kind::Kill,
        Kind::Missing,
        Kind::Workflow,
        Kind::Coordinator,
        Kind::Bundle,
        Kind::Dataset,
        Kind::Data,
    ];
    let node = |(at, kind): (usize, &Kind)| Node {
        id: format!("{at}{}", text(at)),
        name: text(at),
        kind: *kind,
        detail: (at % 2 == 0).then(|| text(at + 1)),
        notes: vec![text(at + 2)],
        place: place(at + 3),
        group: at % 2,
        reachable: true,
        faults: vec![fault(at + 4)],
        status: (at % 3 == 0).then(|| text(at + 5)),
        hidden: Hidden::default(),
    };
    let nodes: Vec<Node> = kinds.iter().enumerate().map(node).collect();
    let edge = |at: usize| Edge {
        from: at,
        to: at + 2,
        relation: Relation::Flow,
        exit: "ok",
        label: Some(format!("{}x", text(at))),
        faults: vec![fault(at + 1)],
        taken: false,
    };
    let group = |at: usize, parent: Option<(usize, usize)>| Group {
        name: text(at),
        kind: FileKind::Workflow,
        path: format!("{}x", text(at + 1)),
        parent,
        faults: vec![fault(at + 2)],
    };
    Drawing {
        direction: Direction::LeftRight,
        groups: vec![group(0, None), group(3, Some((0, 2)))],
        edges: (0..nodes.len() - 2).map(edge).collect(),
        nodes,
    }
}

/// A text without the parts between quotes. Within these, `escape` escapes the next character; without it, a doubled
/// quote is a quote character.
fn without_quoted(text: &str, quote: char, escape: Option<char>) -> String {
    let mut rest = String::new();
    let mut letters = text.chars().peekable();
    let mut is_inside = false;
    while let Some(letter) = letters.next() {
        let is_doubled = escape.is_none() && letter == quote && letters.peek() == Some(&quote);
        if is_inside && (Some(letter) == escape || is_doubled) {
            letters.next();
        } else if letter == quote {
            is_inside = !is_inside;
            rest.push(quote);
        } else if !is_inside {
            rest.push(letter);
        }
    }
    assert!(!is_inside, "a quote is left open: {text}");
    rest
}

/// The rows and cells of a table, parsed as RFC 4180 says.
fn cells(table: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut letters = table.chars().peekable();
    let mut is_quoted = false;
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            '\r' if !is_quoted => {}
            letter => cell.push(letter),
        }
    }
    assert!(!is_quoted && row.is_empty() && cell.is_empty(), "a row is left open: {table}");
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_format_of_a_check_holds_any_text(texts in prop::collection::vec(hostile(), 1..12)) {
        let report = report(&texts);
        for width in [None, Some(60)] {
            let human = render::human::render(&report, width);
            calm(human.plain(), "human");
            // Colors come from styles only.
            let colored = human.to_stream(true);
            let mut rest = colored.split('\u{1b}');
            calm(rest.next().unwrap_or_default(), "human");
            for part in rest {
                let code = part.find('m').map(|end| &part[..end]).unwrap_or_default();
                prop_assert!(code.starts_with('[') && code[1..].bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{part:?}");
            }
        }
        let concise = render::concise::render(&report);
        calm(&concise, "concise");
        prop_assert_eq!(concise.lines().count(), 1);
        let github = render::github::render(&report);
        calm(&github, "github");
        for line in github.lines() {
            prop_assert!(line.starts_with("::error file=") || line.starts_with("::notice title=ankus::"), "{line:?}");
        }
        prop_assert_eq!(github.lines().count(), 2);
        let finding = &report.findings[0];
        for (format, text) in [
            ("json", render::json::render(&report)),
            ("sarif", render::sarif::render(&report)),
            ("gitlab", render::gitlab::render(&report)),
            ("rdjson", render::rdjson::render(&report)),
        ] {
            calm(&text, format);
            let value: Value = serde_json::from_str(&text).expect("JSON");
            if format == "json" {
                prop_assert_eq!(value["findings"][0]["path"].as_str(), Some(finding.path.as_str()));
                prop_assert_eq!(value["findings"][0]["message"].as_str(), Some(finding.diagnostic.message.as_str()));
            }
        }
        let lines = render::jsonl::render(&report);
        calm(&lines, "jsonl");
        prop_assert_eq!(lines.lines().count(), 2);
        for line in lines.lines() {
            prop_assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
        }
        for (format, text) in [
            ("junit", render::junit::render(&report, Level::Error)),
            ("checkstyle", render::checkstyle::render(&report)),
        ] {
            calm(&text, format);
            prop_assert!(roxmltree::Document::parse(&text).is_ok(), "{format}: {text}");
        }
    }

    /// Whatever names and messages contain, a drawing has the same elements as with harmless texts.
    #[test]
    fn every_picture_holds_any_text(texts in prop::collection::vec(hostile(), 1..12)) {
        let evil = drawing(&texts);
        let calm_one = drawing(&["harmless".to_owned()]);
        let both = |format| [graph::render(&evil, format), graph::render(&calm_one, format)];
        for (format, quote, escape) in
            [(Format::Dot, '"', Some('\\')), (Format::Mermaid, '"', Some('\\')), (Format::D2, '\'', None)]
        {
            let [written, expected] = both(format);
            calm(&written, &format!("{format:?}"));
            // The title of D2 is a comment.
            let body = |text: &str| match (format, text.split_once('\n')) {
                (Format::D2, Some((title, rest))) => {
                    assert!(title.starts_with("# "), "{title:?}");
                    rest.to_owned()
                }
                _ => text.to_owned(),
            };
            let parts = |text: &str| without_quoted(&body(text), quote, escape);
            prop_assert_eq!(parts(&written), parts(&expected), "{:?}: {}", format, written);
        }
        // Directives and entities of Mermaid, and HTML in its labels.
        let [mermaid, _] = both(Format::Mermaid);
        prop_assert!(!mermaid.contains("%%{") && !mermaid.contains("<script"), "{mermaid}");
        let [json, _] = both(Format::Json);
        calm(&json, "json");
        let value: Value = serde_json::from_str(&json).expect("JSON");
        prop_assert_eq!(value["nodes"][0]["name"].as_str(), Some(texts[0].as_str()));
        let [svg, _] = both(Format::Svg);
        calm(&svg, "svg");
        let tree = roxmltree::Document::parse(&svg).expect("well-formed");
        for element in tree.descendants().filter(roxmltree::Node::is_element) {
            let name = element.tag_name().name();
            prop_assert!(!["script", "foreignObject", "image", "use"].contains(&name), "{svg}");
            for attribute in element.attributes() {
                prop_assert!(!attribute.name().starts_with("on"), "{svg}");
                let is_link = attribute.name() == "href";
                prop_assert!(!is_link || !attribute.value().contains(':'), "{svg}");
            }
        }
    }

    #[test]
    fn an_inventory_holds_any_text(texts in prop::collection::vec(hostile(), 1..12)) {
        let text = |at: usize| texts[at % texts.len()].clone();
        let call = Call { written: text(1), resolved: text(2), to: None, is_sure: true };
        let application = |at: usize| Application {
            path: format!("{at}{}", text(at)),
            kind: FileKind::Workflow,
            name: Some(text(at + 1)),
            version: Some(text(at + 2)),
            nodes: Some(1),
            actions: [(text(at + 3), 1)].into(),
            functions: [(text(at + 4), 1)].into(),
            datasets: vec![(text(at + 5), text(at + 6))],
            calls: vec![call.clone()],
            called: 0,
            refused: None,
            inside: [("a-rule", 1)].into(),
            levels: [1, 0, 0],
            migration: [("a-rule", 1)].into(),
            beside: [].into(),
        };
        let inventory = Inventory::new((0..3).map(application).collect());
        let human = inventory::human(&inventory);
        calm(&human, "human");
        let json = inventory::json(&inventory);
        calm(&json, "json");
        prop_assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
        let csv = inventory::csv(&inventory);
        calm(&csv, "csv");
        let rows = cells(&csv);
        prop_assert_eq!(rows.len(), 4, "{}", csv);
        for row in &rows {
            prop_assert_eq!(row.len(), rows[0].len(), "{}", csv);
            for cell in row {
                prop_assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{csv}");
            }
        }
    }

    #[test]
    fn escapes_hold_any_text(written in hostile()) {
        calm(&text::line(&written), "line");
        prop_assert!(!text::line(&written).contains('\n'));
        calm(&text::clean(&written), "clean");
        calm(text::Text::from(written.as_str()).plain(), "text");
        let xml = format!("<a b=\"{0}\">{0}</a>", text::xml(&written));
        calm(&xml, "xml");
        let tree = roxmltree::Document::parse(&xml).expect("well-formed");
        prop_assert_eq!(tree.descendants().filter(roxmltree::Node::is_element).count(), 1);
        let json = text::pretty(&Value::String(written.clone()));
        calm(&json, "json");
        prop_assert_eq!(serde_json::from_str::<String>(&json).ok(), Some(written.clone()));

        // A table keeps its cells, and none of them begins like a formula.
        let table = format!("{},{}", text::csv(&written), text::csv("b"));
        calm(&table, "csv");
        let first = table.strip_prefix('"').unwrap_or(&table);
        prop_assert!(!first.starts_with(['=', '+', '-', '@', '\t', '\r']), "{table}");
        let mut quotes = 0;
        let cells = table.chars().filter(|letter| {
            quotes += usize::from(*letter == '"');
            *letter == ',' && quotes % 2 == 0
        });
        prop_assert_eq!(cells.count(), 1);
    }
}

/// Names, paths and texts of a tree, through each read-only command, in each of its formats.
#[test]
fn no_command_lets_through_what_steers() {
    let folder = tempfile::tempdir().expect("room for temporary files");
    let evil =
        "&#x9b;2J&#x202e;&#10;::add-mask::x&#10;##[error]y&quot;&lt;script>alert(1)&lt;/script>";
    let name = "a\u{1b}[31m\u{202e}\n::error::b##[x]<b>";
    let app = folder.path().join(name);
    std::fs::create_dir(&app).expect("a folder");
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:0.5' name='{evil}'><start to='{evil}'/>\
         <action name='{evil}'><fs><mkdir path='${{nameNode}}/{evil}'/><delete path='${{x{evil}}}'/></fs>\
         <ok to='end'/><error to='\u{1b}]0;x\u{7}{evil}'/></action>\
         <!-- \u{9b}\u{202e}\n::error::comment --><end name='end'/></workflow-app>"
    );
    std::fs::write(app.join("workflow.xml"), &workflow).expect("a file");
    let properties =
        "na\\u001b[2Jme=\u{202e}\\u009bvalue\\n::error::x\nnameNode=hdfs://nn:8020\\u001b\n";
    std::fs::write(app.join("job.properties"), properties).expect("a file");
    let coordinator = format!(
        "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='{evil}' frequency='${{coord:days(1)}}' \
         start='2026-01-01T00:00Z' end='2026-01-05T00:00Z' timezone='UTC'><datasets>\
         <dataset name='{evil}' frequency='${{coord:days(1)}}' initial-instance='2020-01-01T00:00Z' timezone='UTC'>\
         <uri-template>=cmd{evil}/${{YEAR}}</uri-template></dataset></datasets>\
         <input-events><data-in name='{evil}' dataset='{evil}'><instance>${{coord:current(0)}}</instance></data-in></input-events>\
         <action><workflow><app-path>hdfs://nn/{evil}</app-path></workflow></action></coordinator-app>"
    );
    let timed = folder.path().join("timed");
    std::fs::create_dir(&timed).expect("a folder");
    std::fs::write(timed.join("coordinator.xml"), coordinator).expect("a file");
    let scenario = "title = \"\\u001b[2J \\u202e\\n::error::t ##[x] <b>\"\napp = \".\"\n[expect]\nstatus = \"SUCCEEDED\"\n";
    std::fs::write(app.join("x.scenario.toml"), scenario).expect("a file");

    let mut commands: Vec<Vec<&str>> = Vec::new();
    for format in [
        "human",
        "concise",
        "json",
        "jsonl",
        "sarif",
        "github",
        "gitlab",
        "junit",
        "checkstyle",
        "rdjson",
    ] {
        commands.push(vec!["check", ".", "--exit-zero", "--format", format]);
        commands.push(vec!["check", name, "--format", format]);
    }
    for format in ["dot", "mermaid", "svg", "json", "d2"] {
        commands.push(vec!["graph", name, "--format", format]);
        commands.push(vec!["graph", "timed/coordinator.xml", "--format", format]);
    }
    for format in ["human", "json", "csv", "svg", "ics"] {
        commands.push(vec!["timeline", "timed/coordinator.xml", "--format", format]);
    }
    for format in ["human", "json", "csv", "html"] {
        commands.push(vec!["inventory", ".", "--format", format]);
    }
    for format in ["human", "json", "properties"] {
        commands.push(vec!["params", name, "--format", format]);
    }
    for format in ["human", "json", "junit", "tap"] {
        commands.push(vec!["test", ".", "--format", format]);
    }
    commands.push(vec!["check", "--color", "never", "no\u{1b}[2J\n::error::x"]);
    commands.push(vec!["check", "--no\u{1b}[2J\u{202e}\n::error::x"]);
    commands.push(vec!["explain", "x\u{1b}[2J\n::error::x"]);
    commands.push(vec!["eval", "${concat('\u{1b}[2J\u{202e}', '::error::')} \n::error::x"]);
    commands.push(vec!["eval", "--format", "json", "${concat('\u{1b}[2J\u{202e}', '\u{9b}')}"]);
    commands.push(vec!["eval", "\u{1b}\t\u{202e}${"]);
    commands.push(vec!["diff", name, "timed"]);
    commands.push(vec!["run", "--dry-run", name]);
    commands.push(vec!["compile", name, "--output", "plan"]);
    commands.push(vec!["upgrade", name, "--diff"]);
    commands.push(vec!["fmt", ".", "--diff"]);
    commands.push(vec!["config", "show", name]);
    for words in commands {
        let run = ankus(&words).folder(folder.path()).run();
        let format = if words.contains(&"github") { "github" } else { "command" };
        let told = format!("{words:?}");
        calm(&run.stdout, if format == "github" { format } else { &told });
        calm(&run.stderr, &format!("{words:?}"));
        if words.contains(&"github") {
            for line in run.stdout.lines() {
                let known = ["::error ", "::warning ", "::notice "];
                assert!(known.iter().any(|known| line.starts_with(known)), "{line:?}");
                assert!(!line.contains("::add-mask::"), "{line:?}");
            }
        }
        assert!(run.code <= 2, "{words:?}: {run:?}");
    }
}
