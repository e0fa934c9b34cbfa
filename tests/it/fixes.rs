//! Every safe fix, applied on its own.
//!
//! The guarantees of a safe fix: the file can still be read, the finding is gone, no new finding appears, and a server
//! that accepts the definition still accepts it.

use crate::shared;
use ankus::check::{self, FileKind, Input};
use ankus::diag::{Fix, Group, Safety};
use ankus::edit;
use ankus::files::{Entry, Files, folder_of, join};
use ankus::settings::{Rating, Settings};
use ankus::source::{Source, decode};
use ankus::syntax::properties::{self, Origin, Submission};
use ankus::syntax::xml::Tree;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A definition with its surroundings.
struct Case {
    path: String,
    kind: FileKind,
    files: Files,
}

/// The definitions below a folder; each with the files of its own folder and below.
fn cases(folder: &Path) -> Vec<Case> {
    let mut all = BTreeMap::new();
    for entry in ignore::WalkBuilder::new(folder).standard_filters(false).build() {
        let entry = entry.expect("a readable folder");
        let path = entry.path().strip_prefix(folder).expect("below it");
        let shown = path.to_string_lossy().replace('\\', "/");
        let entry = if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            Entry::Folder
        } else {
            match std::fs::read(entry.path()).ok().and_then(|bytes| decode(&bytes).ok()) {
                Some((text, _)) => Entry::Text(Arc::new(Source::new(shown.clone(), text))),
                None => Entry::Unread,
            }
        };
        all.insert(shown, entry);
    }
    let definitions = all.iter().filter_map(|(path, entry)| {
        let Entry::Text(source) = entry else { return None };
        if !path.ends_with(".xml") {
            return None;
        }
        let kind = check::recognize(&source.text).unwrap_or(FileKind::Workflow);
        let wanted = kind.is_definition() || kind == FileKind::Datasets;
        wanted.then(|| (path.clone(), kind))
    });
    definitions
        .map(|(path, kind)| {
            let folder = folder_of(&path);
            let mut files = Files::new();
            files.set_listed(folder);
            for (path, entry) in &all {
                if path.len() > folder.len() && path.starts_with(folder) {
                    if matches!(entry, Entry::Folder) {
                        files.set_listed(path.clone());
                    }
                    files.insert(path.clone(), entry.clone());
                }
            }
            Case { path, kind, files }
        })
        .collect()
}

/// Checks a case with every rule on, whatever the settings.
fn ask(case: &Case, files: &Files, settings: &Settings) -> check::Outcome {
    let mut submission = Submission::default();
    let beside = |name: &str| join(folder_of(&case.path), name).unwrap_or_default();
    if let Some(source) = files.text(&beside("config-default.xml"))
        && let Ok(read) = properties::parse_configuration(&source.text)
    {
        submission.merge(&Origin::Default(source.path.clone()), &read.entries);
    }
    let own = if case.kind == FileKind::Coordinator {
        "coordinator.properties"
    } else {
        "job.properties"
    };
    for name in [own, "job.properties"] {
        if let Some(source) = files.text(&beside(name)) {
            let entries = properties::parse(&source.text).entries;
            submission.merge(&Origin::File(source.path.clone()), &entries);
            break;
        }
    }
    check::check(&Input {
        submission: &submission,
        settings,
        files,
        ..Input::of(files.text(&case.path).expect("it was found"), case.kind)
    })
}

/// Counts the findings by file, rule and message, without the number of occurrences in a message.
fn counts(outcome: &check::Outcome) -> BTreeMap<(String, String, String), i64> {
    let mut counts = BTreeMap::new();
    for finding in &outcome.findings {
        let kind = finding.diagnostic.kind.name.to_owned();
        let message = words(&finding.diagnostic.message);
        let places = finding.diagnostic.places as i64;
        *counts.entry((finding.path.clone(), kind, message)).or_default() += places;
    }
    counts
}

fn words(message: &str) -> String {
    let often = message.ends_with(" times").then(|| message.rsplit_once(", ")).flatten();
    often.map_or(message, |(words, _)| words).to_owned()
}

fn accepted(outcome: &check::Outcome) -> Option<bool> {
    outcome.file.reference.as_ref().map(|reference| reference.verdict.code.is_none())
}

fn applied(case: &Case, path: &str, fix: &Fix) -> Option<Files> {
    let mut batch = edit::Batch::new();
    batch.add(path, fix).ok()?;
    let mut files = case.files.clone();
    for (path, edits) in batch.files() {
        let text = edit::apply(&case.files.text(path)?.text, edits).ok()?;
        files.insert_text(path, text);
    }
    Some(files)
}

#[derive(Default)]
struct Tally {
    tried: usize,
    by_rule: BTreeMap<&'static str, usize>,
    faults: Vec<String>,
    /// New findings in definitions that are refused anyway and in expressions that fail, where one fault may hide
    /// another.
    uncovered: Vec<String>,
}

fn try_all(case: &Case, settings: &Settings) -> Tally {
    let mut tally = Tally::default();
    let before = ask(case, &case.files, settings);
    let well_formed = |files: &Files| {
        let text = &files.text(&case.path).expect("it was found").text;
        Tree::parse(text).0.is_well_formed()
    };
    let known = counts(&before);
    for finding in &before.findings {
        let diagnostic = &finding.diagnostic;
        let Some(fix) = diagnostic.fixes.iter().find(|fix| fix.safety == Safety::Safe) else {
            continue;
        };
        let rule = diagnostic.kind.name;
        // Its fix is `ankus fmt`, which has stricter tests elsewhere.
        if rule == "formatting" {
            continue;
        }
        *tally.by_rule.entry(rule).or_default() += 1;
        tally.tried += 1;
        let place = format!("{} @{} {rule} ({})", case.path, diagnostic.span.start, fix.title);
        let Some(files) = applied(case, &finding.path, fix) else {
            tally.faults.push(format!("{place}: does not fit"));
            continue;
        };
        if well_formed(&case.files) && !well_formed(&files) {
            tally.faults.push(format!("{place}: no longer well-formed"));
        }
        let after = ask(case, &files, settings);
        if accepted(&before) == Some(true) && accepted(&after) == Some(false) {
            tally.faults.push(format!("{place}: no longer accepted"));
        }
        let left = counts(&after);
        let key = (finding.path.clone(), rule.to_owned(), words(&diagnostic.message));
        if left.get(&key).copied().unwrap_or(0) >= known[&key] {
            tally.faults.push(format!("{place}: not gone: {}", diagnostic.message));
        }
        for (key, count) in left {
            if count > known.get(&key).copied().unwrap_or(0) {
                let words = format!("{place}: new: {} {}", key.1, key.2);
                // An expression that could not be evaluated had no value.
                let hidden =
                    diagnostic.kind.group == Group::Expressions && key.1.starts_with("el-");
                let list = if accepted(&before) == Some(false) || hidden {
                    &mut tally.uncovered
                } else {
                    &mut tally.faults
                };
                list.push(words);
            }
        }
    }
    tally
}

#[test]
fn safe_fixes_keep_their_promise() {
    let rules = check::kinds()
        .iter()
        .filter(|kind| kind.group != Group::Migration)
        .map(|kind| (kind.name.to_owned(), Rating::At(kind.level)))
        .collect();
    let settings = Settings { rules, with_followers: true, ..Settings::default() };
    for (variable, name, below) in
        [("ANKUS_CORPUS", "corpus", ""), ("ANKUS_VERDICTS", "verdicts", "mutants")]
    {
        let Some(folder) = shared(variable, name) else { continue };
        let cases = cases(&folder.join(below));
        let tallies: Vec<Tally> = cases.par_iter().map(|case| try_all(case, &settings)).collect();
        let mut all = Tally::default();
        for tally in tallies {
            all.tried += tally.tried;
            for (rule, count) in tally.by_rule {
                *all.by_rule.entry(rule).or_default() += count;
            }
            all.faults.extend(tally.faults);
            all.uncovered.extend(tally.uncovered);
        }
        println!(
            "{name}: {} safe fixes of {} rules in {} definitions",
            all.tried,
            all.by_rule.len(),
            cases.len()
        );
        for (rule, count) in &all.by_rule {
            println!("  {count:5} {rule}");
        }
        println!("  {} uncover another finding where one fault hid the other", all.uncovered.len());
        for line in all.uncovered.iter().take(20) {
            println!("    {line}");
        }
        for line in all.faults.iter().take(400) {
            println!("  FAULT {line}");
        }
        assert!(all.faults.is_empty(), "{} safe fixes break their promise", all.faults.len());
    }
}

/// The content of a definition according to another XML parser: every attribute and every text with its path,
/// unordered. An older and a newer name with the same meaning are unified.
fn said(text: &str) -> Option<Vec<String>> {
    let document = roxmltree::Document::parse(text).ok()?;
    let mut all = Vec::new();
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = |node: roxmltree::Node<'_, '_>| match node.tag_name().name() {
            "job-tracker" => "resource-manager".to_owned(),
            name => name.to_owned(),
        };
        let mut path: Vec<String> =
            node.ancestors().filter(roxmltree::Node::is_element).map(name).collect();
        path.reverse();
        let path = path.join("/");
        all.extend(node.attributes().map(|a| format!("{path} {}={}", a.name(), a.value())));
        let own: String = node
            .children()
            .filter(roxmltree::Node::is_text)
            .filter_map(|text| text.text())
            .collect();
        let of_elements = node.children().any(|child| child.is_element());
        let own = if of_elements { own.trim() } else { own.as_str() };
        all.push(format!("{path} {} {own}", node.tag_name().namespace().unwrap_or_default()));
    }
    all.sort();
    Some(all)
}

/// The content of a definition in the typed form that plans are made of, without locations.
fn typed(text: &str) -> Option<String> {
    let tree = Arc::new(Tree::parse_tolerantly(text).0);
    let root = tree.root()?;
    let whole = match root.name() {
        "workflow-app" => format!("{:#?}", ankus::ir::lower::workflow(&tree)),
        "coordinator-app" => format!("{:#?}", ankus::ir::coordinator::coordinator(&tree)),
        "bundle-app" => format!("{:#?}", ankus::ir::coordinator::bundle(&tree)),
        _ => format!("{:#?}", ankus::ir::coordinator::datasets_of(root)),
    };
    Some(without_places(&whole))
}

/// The debug output of a value, one field per line, without the fields that state locations.
fn without_places(printed: &str) -> String {
    const PLACES: [&str; 7] = ["span", "tag", "source", "map", "element", "exits", "id"];
    let (mut kept, mut skipped) = (String::new(), None);
    for line in printed.lines() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if let Some(outer) = skipped {
            if indent == outer {
                skipped = None;
            }
            continue;
        }
        let (field, value) = content.split_once(": ").unwrap_or(("", content));
        // At the top level, `text` is the whole source.
        let whole = indent == 4 && field == "text";
        if PLACES.contains(&field) || value.starts_with("Span {") || whole {
            skipped = value.ends_with(['{', '(', '[']).then_some(indent);
            continue;
        }
        // An older and a newer name have the same meaning.
        kept.push_str(&line.replace("\"job-tracker\"", "\"resource-manager\""));
        kept.push('\n');
    }
    kept
}

#[test]
fn the_typed_form_has_no_places() {
    let before = "<workflow-app name='w'><start to='e'/><end name='e'/></workflow-app>";
    let after = "<!-- moved --> <workflow-app\n name=\"w\" ><start to='e' /> <end name='e'/></workflow-app>";
    assert_eq!(typed(before), typed(after));
    assert_ne!(typed(before), typed(&after.replace("to='e'", "to='f'")));
    assert_ne!(typed(before), typed(&after.replace("\"w\"", "\"v\"")));
}

/// `check --fix` on every definition: the meaning is unchanged except for the fault, a second run changes nothing, and
/// the server's answer is not worse. A second check reads the XML independently, and a third compares the typed form.
#[test]
fn all_safe_fixes_together_keep_the_meaning() {
    use ankus::emit::compare::compare;
    use ankus::mend::{State, settle};
    // When a name is set twice, only one value counts, and its own rule decides which.
    const DROP: [&str; 4] = [
        "duplicate-configuration-property",
        "duplicate-parameter",
        "suppression-unused",
        "duplicate-property-key",
    ];
    let settings = Settings {
        rules: check::kinds()
            .iter()
            .filter(|kind| kind.group != Group::Migration)
            .map(|kind| (kind.name.to_owned(), Rating::At(kind.level)))
            .collect(),
        with_followers: true,
        ..Settings::default()
    };
    for (variable, name, below) in
        [("ANKUS_CORPUS", "corpus", ""), ("ANKUS_VERDICTS", "verdicts", "mutants")]
    {
        let Some(folder) = shared(variable, name) else { continue };
        let cases = cases(&folder.join(below));
        let results: Vec<(usize, usize, usize, Vec<String>)> = cases
            .par_iter()
            .map(|case| {
                let state = |files: &Files| {
                    let outcome = ask(case, files, &settings);
                    let text = &files.text(&case.path).expect("it was found").text;
                    State {
                        accepted: accepted(&outcome),
                        well_formed: Tree::parse(text).0.is_well_formed(),
                        findings: outcome.findings,
                        left: Vec::new(),
                    }
                };
                let before = ask(case, &case.files, &settings);
                let is_safe = |fix: &Fix| fix.safety == Safety::Safe;
                if !before.findings.iter().any(|found| found.diagnostic.fixes.iter().any(is_safe)) {
                    return (0, 0, 0, Vec::new());
                }
                let mended = settle(&case.files, Safety::Safe, state);
                let mut faults = Vec::new();
                let mut files = case.files.clone();
                for (path, text) in &mended.texts {
                    files.insert_text(path, text.clone());
                }
                let after = ask(case, &files, &settings);
                let again = settle(&files, Safety::Safe, state);
                if !again.texts.is_empty() {
                    faults.push(format!("{}: a second run changes {:?}", case.path, again.applied));
                }
                if accepted(&before) == Some(true) && accepted(&after) != Some(true) {
                    faults.push(format!("{}: no longer accepted", case.path));
                }
                let repaired = accepted(&before) == Some(false)
                    || before.findings.iter().any(|finding| {
                        let rule = finding.diagnostic.kind.name;
                        finding.level == ankus::diag::Level::Error
                            && mended.applied.iter().any(|step| step.rule == rule)
                    });
                let mut same = 0;
                for (path, text) in mended.texts.iter().filter(|_| !repaired) {
                    let old = &case.files.text(path).expect("it was there").text;
                    if !path.ends_with(".xml") {
                        continue;
                    }
                    let changes = compare(old, text);
                    if !changes.is_empty() {
                        faults.push(format!("{path}: {changes:?}"));
                    }
                    let dropped = mended.applied.iter().any(|step| DROP.contains(&step.rule));
                    if !dropped && said(old) != said(text) {
                        faults.push(format!("{path}: says something else: {:?}", mended.applied));
                    }
                    if !dropped && typed(old) != typed(text) {
                        faults.push(format!("{path}: is typed otherwise: {:?}", mended.applied));
                    }
                    same += 1;
                }
                let changed = usize::from(!mended.texts.is_empty());
                (changed, same, usize::from(repaired && changed == 1), faults)
            })
            .collect();
        let changed: usize = results.iter().map(|result| result.0).sum();
        let same: usize = results.iter().map(|result| result.1).sum();
        let repaired: usize = results.iter().map(|result| result.2).sum();
        let faults: Vec<&String> = results.iter().flat_map(|result| &result.3).collect();
        println!(
            "{name}: {changed} of {} definitions changed: {same} texts mean the same, {repaired} are repaired",
            cases.len()
        );
        assert!(faults.is_empty(), "{faults:#?}");
    }
}
