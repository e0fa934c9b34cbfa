//! The answers to an editor, over whole trees: our own fixtures, and the corpus if it is available.

use ankus::check::answer;
use ankus::ide::{Document, Kind, Role, Snapshot, Symbol};
use ankus::source::decode;
use ankus::{FileKind, Input, Source, Span, edit};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The texts of all definitions below some folders, with their paths.
fn texts(kind: Kind) -> Vec<(String, String)> {
    let mut folders: Vec<PathBuf> = vec![crate::root().join("fixtures")];
    folders.extend(crate::shared("ANKUS_CORPUS", "corpus"));
    let mut texts = Vec::new();
    for folder in folders {
        for entry in ignore::WalkBuilder::new(&folder).standard_filters(false).build() {
            let entry = entry.expect("the folder can be read");
            if entry.path().extension().is_none_or(|end| end != "xml") {
                continue;
            }
            let Some(text) = read(entry.path()) else { continue };
            let path = entry.path().strip_prefix(&folder).expect("below the folder");
            let path = path.to_string_lossy().replace('\\', "/");
            if Kind::of(&path, &text) == kind {
                texts.push((path, text));
            }
        }
    }
    texts
}

fn read(path: &Path) -> Option<String> {
    decode(&std::fs::read(path).ok()?).ok().map(|(text, _)| text)
}

/// The answers of a server, as codes.
fn codes(path: &str, text: &str) -> [Option<&'static str>; 2] {
    let source = Arc::new(Source::new(path, text));
    let answer = answer(&Input::of(&source, FileKind::Workflow)).expect("a workflow is answered");
    [answer.verdict.code, answer.validate.code]
}

/// Renames each node of a workflow and back. Returns how many were renamed, and why others were not.
fn rename_all(path: &str, text: &str) -> (usize, Vec<String>) {
    const NAME: &str = "zz-renamed";
    let document = Arc::new(Document::new(path, text));
    let snapshot = Snapshot::default().with(Arc::clone(&document));
    let names = document.names().iter();
    let nodes = names.filter(|name| name.symbol == Symbol::Node && name.role == Role::Definition);
    let before = codes(path, text);
    let (mut renamed, mut refused) = (0, Vec::new());
    for node in nodes {
        let edits = match snapshot.rename(path, node.span.start, NAME) {
            Ok(edits) => edits,
            Err(why) => {
                refused.push(why);
                continue;
            }
        };
        let edits = &edits[path];
        let after = edit::apply(text, edits).expect("edits lie in the text, one behind the other");
        let answer = codes(path, &after);
        if answer != before {
            // The server had refused the node's old name.
            assert_eq!(answer, [None, None], "{path}: {}", node.name);
            renamed += 1;
            continue;
        }
        let first = edits.iter().map(|edit| edit.span.start).min().expect("a place that is named");
        let again = Snapshot::default().with(Arc::new(Document::new(path, after.as_str())));
        let back = again.rename(path, first, &node.name).expect("the old name is free again");
        assert_eq!(edit::apply(&after, &back[path]).as_deref(), Ok(text), "{path}: {}", node.name);
        renamed += 1;
    }
    (renamed, refused)
}

#[test]
fn every_node_of_every_workflow_can_be_renamed_and_the_server_answers_the_same() {
    let texts = texts(Kind::Workflow);
    let halves = texts.split_at(texts.len() / 2);
    let results: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let run = |texts: &[(String, String)]| -> Vec<(usize, Vec<String>)> {
            texts.iter().map(|(path, text)| rename_all(path, text)).collect()
        };
        let other = scope.spawn(move || run(halves.1));
        let mut results = run(halves.0);
        results.extend(other.join().expect("no rename panics"));
        results
    });
    let renamed: usize = results.iter().map(|(renamed, _)| renamed).sum();
    let refused: Vec<&String> = results.iter().flat_map(|(_, refused)| refused).collect();
    println!("{} workflows: {renamed} nodes renamed, {} refused", texts.len(), refused.len());
    for why in &refused {
        // The meaning is unknown; no rename was tried that the server would refuse.
        let known = why.contains("it is not known") || why.contains("would get this one");
        assert!(known, "{why}");
    }
    assert!(renamed > refused.len() * 20, "{renamed} renamed, {refused:#?}");
}

/// Applies each change that is offered at the root and at each node. Returns their number.
fn change_all(path: &str, text: &str) -> usize {
    let document = Arc::new(Document::new(path, text));
    let snapshot = Snapshot::default().with(Arc::clone(&document));
    let before = codes(path, text);
    let root = document.analysis().tree().root().map(|root| root.name_span().start);
    let nodes = document.analysis().workflow().nodes.iter().map(|node| node.tag.start);
    let unknown = document.names().iter().filter(|name| name.role == Role::Use);
    let places: Vec<u32> = root.into_iter().chain(nodes).collect();
    let places = places.into_iter().chain(unknown.map(|name| name.span.start));
    let mut changed = 0;
    for place in places {
        for action in snapshot.code_actions(path, Span::at(place as usize), &[]) {
            let after = edit::apply(text, &action.edits[path]).expect("edits do not overlap");
            let answer = codes(path, &after);
            let kept = answer
                .iter()
                .zip(&before)
                .all(|(after, before)| after.is_none() || after == before);
            assert!(kept, "{path}: {}: {before:?} became {answer:?}", action.title);
            changed += 1;
        }
    }
    changed
}

#[test]
fn what_is_offered_keeps_the_answer_of_the_server() {
    let texts = texts(Kind::Workflow);
    let changed: usize = texts.iter().map(|(path, text)| change_all(path, text)).sum();
    println!("{} workflows: {changed} changes", texts.len());
    assert!(changed > texts.len() / 2, "{changed}");
}

/// Extracts every extractable run of up to six nodes. Returns their number.
fn extract_all(path: &str, text: &str) -> usize {
    let document = Arc::new(Document::new(path, text));
    let snapshot = Snapshot::default().with(Arc::clone(&document));
    let nodes = &document.analysis().workflow().nodes;
    let before = codes(path, text);
    let mut extracted = 0;
    for length in 1..=6 {
        for nodes in nodes.windows(length) {
            let within = Span { start: nodes[0].span.start, end: nodes[length - 1].span.end };
            for action in snapshot.code_actions(path, within, &[]) {
                let Some((created, inner)) = action.created.first_key_value() else { continue };
                assert_eq!(codes(created, inner), [None, None], "{path}: {inner}");
                let after = edit::apply(text, &action.edits[path]).expect("edits do not overlap");
                let answer = codes(path, &after);
                assert!(
                    answer == before || answer == [None, None],
                    "{path}: {before:?}, {answer:?}"
                );
                // Every node is in one of the two, and the call takes the name of the first.
                let after = Document::new(path, after.as_str());
                let left = after.analysis().workflow().nodes.len();
                assert_eq!(left, document.analysis().workflow().nodes.len() - length + 1, "{path}");
                extracted += 1;
            }
        }
    }
    extracted
}

#[test]
fn what_is_extracted_is_accepted() {
    let mut texts = texts(Kind::Workflow);
    texts.retain(|(path, _)| path.ends_with("/workflow.xml"));
    let extracted: usize = texts.iter().map(|(path, text)| extract_all(path, text)).sum();
    println!("{} workflows: {extracted} parts extracted", texts.len());
    assert!(extracted > texts.len() / 2, "{extracted}");
}

/// Every answer is within the text, whatever the text.
#[test]
fn every_answer_lies_in_its_text() {
    for kind in [Kind::Workflow, Kind::Coordinator, Kind::Bundle] {
        for (path, text) in texts(kind) {
            let snapshot = Snapshot::of([Document::new(path.as_str(), text.as_str())]);
            let inside = |span: Span, what: &str| {
                assert!(text.get(span.range()).is_some(), "{path}: {what}: {span:?}");
            };
            snapshot.folding(&path).iter().for_each(|fold| inside(fold.span, "a fold"));
            snapshot.links(&path).iter().for_each(|link| inside(link.span, "a link"));
            let tokens = snapshot.semantic_tokens(&path);
            tokens.iter().for_each(|token| inside(token.span, "a token"));
            assert!(tokens.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start), "{path}");
            let whole = Span::new(0, text.len());
            for hint in snapshot.inlay_hints(&path, whole) {
                inside(Span::at(hint.offset as usize), "a hint");
            }
            let mut todo = snapshot.document_symbols(&path);
            while let Some(entry) = todo.pop() {
                inside(entry.span, "an entry");
                let (outer, name) = (entry.span, entry.name_span);
                assert!(
                    outer.start <= name.start && name.end <= outer.end,
                    "{path}: {}",
                    entry.name
                );
                todo.extend(entry.children);
            }
            for offset in (0..text.len()).step_by(97) {
                for span in snapshot.selection(&path, offset as u32) {
                    inside(span, "a selection");
                }
                for offer in snapshot.completion(&path, offset as u32) {
                    inside(offer.span, "a completion");
                }
                snapshot.hover(&path, offset as u32).into_iter().for_each(|hover| {
                    inside(hover.span, "a hover");
                });
            }
            let formatted = snapshot.format(&path, None);
            assert!(edit::apply(&text, &formatted).is_ok(), "{path}");
        }
    }
}
