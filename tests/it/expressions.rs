//! Expressions of real applications, and the findings of the pass over expressions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ankus::analysis::Analysis;
use ankus::passes::expressions::{self, Input, place};
use ankus::source::Source;
use ankus_lang::el::{Dialect, Piece, Template};

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "xml") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_expression_of_the_corpus_parses_or_has_a_finding() {
    let Some(folder) = crate::shared("ANKUS_CORPUS", "corpus") else { return };
    let verbose = std::env::var_os("ANKUS_VERBOSE").is_some();
    let (mut definitions, mut texts, mut count) = (0, 0, 0);
    let mut by_rule = BTreeMap::<&str, usize>::new();
    let mut silent = Vec::new();
    for path in files(&folder) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let source = Arc::new(Source::new(path.display().to_string(), text.clone()));
        let analysis = Analysis::new(source.clone());
        let tree = analysis.tree();
        let Some(root) = tree.root() else { continue };
        if !matches!(root.name(), "workflow-app" | "coordinator-app" | "bundle-app" | "datasets") {
            continue;
        }
        definitions += 1;
        let beside = path.parent().map(Path::to_owned).unwrap_or_default();
        let findings = expressions::examine(&Input {
            tree,
            flow: (root.name() == "workflow-app").then(|| analysis.flow()),
            dialect: Dialect::Tomcat,
            site: &[],
            properties: &BTreeMap::new(),
            provided: &[],
            built: false,
            shipped: &|name| std::fs::read_to_string(beside.join(name)).ok().map(Arc::new),
        });
        for place in place::collect(tree) {
            texts += 1;
            let template = Template::compile(&place.text.text, place.phase, Dialect::Tomcat);
            let pieces = template.pieces().iter();
            count += pieces.filter(|piece| matches!(piece, Piece::Expression { .. })).count();
            let place = place.text.span();
            if !template.errors().is_empty()
                && !findings.iter().any(|finding| {
                    place.start <= finding.span.start && finding.span.end <= place.end
                })
            {
                silent.push(format!("{}: {}", path.display(), template.source()));
            }
        }
        for finding in findings {
            *by_rule.entry(finding.kind.name).or_default() += 1;
            assert!(finding.span.end as usize <= text.len(), "a place lies in the text");
            if verbose {
                let place = source.position(finding.span.start);
                println!(
                    "{}:{}:{} {}: {} [{}]",
                    path.strip_prefix(&folder).unwrap_or(&path).display(),
                    place.line,
                    place.column,
                    finding.kind.name,
                    finding.message,
                    source.slice(finding.span)
                );
            }
        }
    }
    println!("expressions of the corpus: {count} in {texts} texts of {definitions} definitions");
    for (rule, found) in by_rule {
        println!("  {rule}: {found}");
    }
    assert!(silent.is_empty(), "broken without a finding: {silent:#?}");
}

/// Splits an example into the text and its lines with carets, as (offset, length, message).
fn marked(example: &str) -> (String, Vec<(usize, usize, String)>) {
    let mut text = String::new();
    let mut last = 0;
    let mut marks = Vec::new();
    for line in example.lines() {
        let bare = line.trim_start();
        if bare.starts_with('^') {
            let column = line.len() - bare.len();
            let length = bare.len() - bare.trim_start_matches('^').len();
            marks.push((last + column, length, bare[length..].trim().to_owned()));
            continue;
        }
        last = text.len();
        text.push_str(line);
        text.push('\n');
    }
    (text, marks)
}

#[test]
fn pages_of_the_pass_show_what_it_finds() {
    let folder = crate::root().join("docs/rules");
    let mut wrong = 0;
    for kind in expressions::KINDS {
        let page = std::fs::read_to_string(folder.join(format!("{}.md", kind.name)))
            .unwrap_or_else(|_| panic!("{} has a page", kind.name));
        for (at, block) in page.split("```").enumerate().filter(|(at, _)| at % 2 == 1) {
            let bad = page.split("## Good").next().is_some_and(|part| part.contains(block));
            let (text, marks) = marked(block.trim_start_matches("xml").trim_start_matches('\n'));
            let analysis = Analysis::new(Arc::new(Source::new("page.xml", text.clone())));
            let root = analysis.tree().root();
            let findings = expressions::examine(&Input {
                tree: analysis.tree(),
                flow: root.filter(|root| root.name() == "workflow-app").map(|_| analysis.flow()),
                dialect: Dialect::Tomcat,
                site: &[],
                properties: &BTreeMap::new(),
                provided: &[],
                built: false,
                shipped: &|_| None,
            });
            let found: Vec<(usize, usize, String)> = findings
                .iter()
                .map(|finding| {
                    let (end, place) = (finding.span.end as usize, finding.belongs);
                    // Something missing is shown in the line where it belongs.
                    let place = place.filter(|at| text[end..at.start as usize].contains('\n'));
                    let span = place.unwrap_or(finding.span);
                    let length = span.end - span.start;
                    let words = format!("{}: {}", finding.kind.level.name(), finding.message);
                    (span.start as usize, length as usize, words)
                })
                .collect();
            if found != marks {
                println!("{} block {at}: found {found:?}, the page says {marks:?}", kind.name);
                wrong += 1;
            }
            if bad && !findings.is_empty() {
                assert!(
                    findings.iter().any(|finding| std::ptr::eq(finding.kind, *kind)),
                    "{} shows itself",
                    kind.name
                );
            }
        }
    }
    assert_eq!(wrong, 0, "pages agree with the pass");
}
