//! The manual is a test: every kind has a page, every page has a kind, and the examples of a page show what ankus
//! reports.
//!
//! `ANKUS_DRAW=1 cargo test --test it docs::` adds the findings below the lines of *Bad* examples without marks; review
//! them before you commit.

use crate::cli::ankus;
use ankus::check::{self, FileKind, Input};
use ankus::diag::{Diagnostic, Kind, Level};
use ankus::lint::example::{Example, Expected};
use ankus::settings::{Migration, Rating, Settings};
use ankus::source::{Encoding, Source};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Pages without examples: files of these kinds cannot be put between two fences, or only a large file shows the fault.
const WITHOUT_EXAMPLES: &[&str] = &[
    "action-data-unknown-key",
    "definition-too-long",
    "empty-definition",
    "encoding-refused",
    "check-timed-out",
    "file-too-large",
    "graph-undecided",
    "invalid-utf-8",
    "large-workflow",
    "nested-too-deep",
    "node-name-too-long",
    "not-text",
    // An example would take a hundred lines; the rule's own test has one.
    "wide-fork",
    // These stand for what nothing else explains, so no example can show them.
    "refused",
    "schema-newer-than-server",
];

fn folder() -> PathBuf {
    crate::root().join("docs/rules")
}

#[test]
fn every_kind_has_a_page_and_every_page_a_kind() {
    let kinds = check::kinds();
    let names: BTreeSet<String> = kinds.iter().map(|kind| kind.name.to_owned()).collect();
    let mut pages = BTreeSet::new();
    for entry in std::fs::read_dir(folder()).expect("the manual is part of the project") {
        let path = entry.expect("readable").path();
        pages.insert(path.file_stem().expect("a name").to_string_lossy().into_owned());
    }
    pages.remove("README");
    assert_eq!(names, pages, "kinds and pages");
    for kind in kinds {
        let page = std::fs::read_to_string(folder().join(format!("{}.md", kind.name)));
        assert_eq!(page.expect("it is there"), kind.page, "{}: the wrong page", kind.name);
        let mut lines = kind.page.lines();
        assert_eq!(lines.next(), Some(format!("# {}", kind.name).as_str()));
        let prose = lines.find(|line| !line.is_empty());
        let says = prose.is_some_and(|line| !line.starts_with('#') && !line.starts_with("```"));
        assert!(says, "{}: the page says what is wrong and why it matters", kind.name);
    }
}

/// All findings in an example, with every rule on.
fn found(example: &Example) -> Vec<(Level, Diagnostic)> {
    let (path, text) = &example.files[0];
    let mut settings = Settings {
        migration: Migration::towards("airflow"),
        with_followers: true,
        ..Settings::default()
    };
    for kind in check::kinds() {
        settings.rules.insert(kind.name.to_owned(), Rating::At(kind.level));
    }
    let submission = example.submission();
    let input = Input {
        source: &Arc::new(Source::new(path.clone(), text.clone())),
        encoding: Encoding::Utf8,
        not_text: None,
        kind: match path.rsplit('/').next() {
            Some("coordinator.xml") => FileKind::Coordinator,
            Some("bundle.xml") => FileKind::Bundle,
            _ => FileKind::Workflow,
        },
        settings: &settings,
        settings_path: path,
        submission: &submission,
        files: &example.snapshot(),
        user: "nobody",
        is_walked: false,
        now: ankus::settings::instant("2026-06-01"),
        analysis: None,
    };
    let findings = check::check(&input).findings.into_iter();
    findings.map(|finding| (finding.level, finding.diagnostic)).collect()
}

/// The marks of one kind in an example, and the marks of all kinds.
fn drawn(kind: &Kind, example: &Example) -> (Vec<Expected>, Vec<Expected>) {
    let found = found(example);
    let all: Vec<_> = found.iter().map(|(level, finding)| (*level, finding)).collect();
    let own: Vec<_> =
        all.iter().filter(|(_, found)| found.kind.name == kind.name).copied().collect();
    (example.drawn(&own), example.drawn(&all))
}

fn show(example: &Example, list: &[Expected]) -> String {
    let line = |e: &Expected| e.line - example.added_lines.min(e.line);
    let lines = list
        .iter()
        .map(|e| format!("    {}:{}:{} x{} {}\n", e.path, line(e), e.column, e.carets, e.words));
    lines.collect()
}

#[test]
fn examples_show_what_ankus_says() {
    let draw = std::env::var_os("ANKUS_DRAW").is_some();
    let (mut wrong, mut examples) = (Vec::new(), 0);
    for kind in check::kinds() {
        let bad = Example::of_page(kind.page, "Bad");
        let good = Example::of_page(kind.page, "Good");
        examples += bad.len() + good.len();
        let excused = WITHOUT_EXAMPLES.contains(&kind.name);
        if bad.is_empty() || good.is_empty() {
            if !excused {
                wrong.push(format!("{}: a bad and a good example", kind.name));
            }
            continue;
        }
        if excused {
            wrong.push(format!("{}: has examples now; take it off the list", kind.name));
        }
        for example in &bad {
            let (found, all) = drawn(kind, example);
            // Every finding of the kind is marked, and every mark is a finding.
            let marked = found.iter().all(|one| example.expected.contains(one));
            let real = example.expected.iter().all(|one| all.contains(one));
            if draw && example.expected.is_empty() && !found.is_empty() {
                draw_into_page(kind, example, &found);
            } else if found.is_empty() || !marked || !real {
                let (found, expected) = (show(example, &found), show(example, &example.expected));
                wrong.push(format!("{}: bad\n  found:\n{found}  expected:\n{expected}", kind.name));
            }
        }
        for example in &good {
            let (found, _) = drawn(kind, example);
            if !found.is_empty() {
                wrong.push(format!("{}: good\n  found:\n{}", kind.name, show(example, &found)));
            }
        }
    }
    println!("{examples} examples");
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

/// Adds marks below the lines of an example that has none.
fn draw_into_page(kind: &Kind, example: &Example, found: &[Expected]) {
    let path = folder().join(format!("{}.md", kind.name));
    let mut page = std::fs::read_to_string(&path).expect("it is there");
    for (file, text) in &example.files {
        let added = if file == &example.files[0].0 { example.added_lines } else { 0 };
        let plain: String =
            text.lines().skip(added as usize).map(|line| format!("{line}\n")).collect();
        // The lines that were wrapped around a fragment are in no page.
        let mut inside = page.split("```").map(|block| block.split_once('\n').map_or("", |b| b.1));
        let Some(block) = inside.find(|block| !block.is_empty() && plain.starts_with(block)) else {
            continue;
        };
        let (block, mut marked) = (block.to_owned(), String::new());
        for (at, line) in block.lines().enumerate() {
            marked.push_str(&format!("{line}\n"));
            for mark in found.iter().filter(|e| &e.path == file) {
                if mark.line == at as u32 + 1 + added {
                    let blanks = " ".repeat(mark.column as usize - 1);
                    let carets = "^".repeat(mark.carets as usize);
                    marked.push_str(&format!("{blanks}{carets} {}\n", mark.words));
                }
            }
        }
        page = page.replacen(&block, &marked, 1);
    }
    std::fs::write(path, page).expect("the manual can be written to");
}

/// The session in the README is what the binary prints now.
#[test]
fn the_readme_shows_what_is_printed() {
    let root = crate::root();
    let readme = std::fs::read_to_string(root.join("README.md")).expect("it is there");
    let mut sessions = 0;
    for part in readme.split("<!-- session: ").skip(1) {
        let (folder, rest) = part.split_once(" -->").expect("the comment ends");
        let block =
            rest.split("```").nth(1).expect("a fenced block").trim_start_matches("console\n");
        let (command, printed) = block.split_once('\n').expect("a command and what it prints");
        let arguments: Vec<&str> =
            command.strip_prefix("$ ankus ").expect("a call of ankus").split(' ').collect();
        let run = ankus(&arguments).folder(&root.join(folder)).run();
        // In a terminal, both streams are shown together.
        let both = format!("{}{}", run.stdout, run.stderr);
        let bare = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(bare(&both), bare(printed), "{command} prints:\n{both}");
        sessions += 1;
    }
    assert!(sessions > 0, "the README shows a session");
}

/// Compares a generated file; if it differs, writes it (to be reviewed before it is committed) and fails.
fn fresh(path: &str, text: &str) {
    let place = crate::root().join(path);
    if std::fs::read_to_string(&place).ok().as_deref() != Some(text) {
        std::fs::write(&place, text).expect("the manual can be written to");
        panic!("{path} was stale and is written anew: look at it and commit it");
    }
}

#[test]
fn the_list_of_rules_is_fresh() {
    use ankus::diag::{Group, Safety};
    let mut text = String::from(
        "# Rules\n\nEverything that `ankus check` reports, by group. *Fix*: fixed by `--fix`, or by `--fix --unsafe-fixes` (a guess). An *info* is reported in the profile `strict`, or in `style` for that group; a rule that is *off*, only if it is turned on by name; the group migration, in the profile of that name.\n",
    );
    let kinds = check::kinds();
    for group in Group::ALL {
        let members: Vec<_> = kinds.iter().filter(|kind| kind.group == group).collect();
        if members.is_empty() {
            continue;
        }
        text.push_str(&format!("\n## {}\n\n", group.name()));
        text.push_str(
            "| rule | level | codes | fix | what it finds |\n| --- | --- | --- | --- | --- |\n",
        );
        for kind in members {
            let level = ankus::settings::listed(kind);
            let fix = match kind.fix {
                Some(Safety::Safe) => "yes",
                Some(Safety::Guess) => "guess",
                None => "",
            };
            let summary = kind.summary.replace('|', "\\|");
            let codes = kind.oozie.join(" ");
            text.push_str(&format!(
                "| [{0}]({0}.md) | {level} | {codes} | {fix} | {summary} |\n",
                kind.name
            ));
        }
    }
    fresh("docs/rules/README.md", &text);
}

#[test]
fn the_schema_of_settings_is_fresh() {
    let schema = ankus::settings::schema::schema(&check::kinds());
    let text = serde_json::to_string_pretty(&schema).expect("values have text for keys");
    fresh("docs/ankus.schema.json", &(text + "\n"));
}

/// The settings in the manual are valid.
#[test]
fn the_settings_of_the_manual_are_read() {
    let names: Vec<&str> = check::kinds().iter().map(|kind| kind.name).collect();
    for page in ["docs/settings.md", "README.md"] {
        let path = crate::root().join(page);
        let text = std::fs::read_to_string(path).expect("it is there");
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().expect("a block");
            assert!(
                Settings::parse(block, &names).is_ok(),
                "{page}: {:?}",
                Settings::parse(block, &names)
            );
        }
    }
}
