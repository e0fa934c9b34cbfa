//! The reference verdict, compared with the server's answers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ankus::diag::{Fix, Safety};
use ankus::reference::{Answer, Conditions, Definition, Rejected, Rules, Target, findings};
use ankus::schema::Language;
use ankus::schema::validate::{self, Document};
use ankus::syntax::xml::Tree;
use serde_json::Value;

/// An answer in the terms of the recorded verdicts.
fn said(answer: &Answer, text: &str) -> (String, String, Vec<String>) {
    match &answer.rejected {
        None => ("accepted".to_owned(), String::new(), Vec::new()),
        Some(rejected) => {
            ("rejected".to_owned(), rejected.code.to_owned(), rejected.parameters(text))
        }
    }
}

fn wanted(value: &Value) -> (String, String, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let params = value["params"].as_array().map(|list| list.iter().map(text).collect());
    (text(&value["verdict"]), text(&value["code"]), params.unwrap_or_default())
}

struct Tally {
    total: usize,
    agree: usize,
    agree_with_names: usize,
    differing: Vec<String>,
}

impl Tally {
    fn new() -> Tally {
        Tally { total: 0, agree: 0, agree_with_names: 0, differing: Vec::new() }
    }

    fn compare(&mut self, what: &str, expected: &Value, answer: &Answer, text: &str) {
        let (wanted, got) = (wanted(expected), said(answer, text));
        self.total += 1;
        self.agree += usize::from((&wanted.0, &wanted.1) == (&got.0, &got.1));
        self.agree_with_names += usize::from(wanted == got);
        if wanted != got {
            self.differing.push(format!("{what}: expected {wanted:?}, got {got:?}"));
        }
    }

    fn report(&self, what: &str) {
        // The differences come first, because a figure below its floor ends the test.
        for line in &self.differing {
            println!("  {line}");
        }
        crate::agree(what, self.agree, self.total);
        crate::agree(&format!("{what}, names included"), self.agree_with_names, self.total);
    }
}

fn rows(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}

fn modes() -> [(&'static str, Conditions); 3] {
    [
        ("bare", Conditions::bare()),
        ("bound", Conditions::bound()),
        ("nofj", Conditions::no_fork_join()),
    ]
}

#[test]
fn workflows_of_the_corpus() {
    let (Some(verdicts), Some(corpus)) =
        (crate::shared("ANKUS_VERDICTS", "verdicts"), crate::shared("ANKUS_CORPUS", "corpus"))
    else {
        return;
    };
    let language = Language::default();
    let mut tally = Tally::new();
    for row in rows(&verdicts.join("workflow.jsonl")) {
        let file = row["file"].as_str().unwrap();
        let text = read(&corpus.join(file));
        let definition = Definition::workflow(&text, Rules::new(Target::V5_2_1, &language));
        tally.compare(&format!("{file} validate"), &row["validate"], &definition.validate(), &text);
        let trunk = Definition::workflow(&text, Rules::new(Target::Trunk, &language));
        for (mode, conditions) in modes() {
            let answer = definition.parse(&conditions);
            let expected = &row[mode];
            if expected["verdict"] == "timeout" {
                assert!(answer.slow, "{file}: the server does not come back, {mode}");
            } else {
                tally.compare(&format!("{file} {mode}"), expected, &answer, &text);
            }
            let on_trunk =
                if expected["trunk"].is_object() { &expected["trunk"] } else { expected };
            if on_trunk["verdict"] != "timeout" {
                let answer = trunk.parse(&conditions);
                tally.compare(&format!("{file} {mode}, trunk"), on_trunk, &answer, &text);
            }
        }
    }
    tally.report("workflow verdicts");
    assert_eq!(tally.agree_with_names, tally.total);
}

#[test]
fn mutants() {
    let Some(verdicts) = crate::shared("ANKUS_VERDICTS", "verdicts") else { return };
    let language = Language::default();
    let mut tally = Tally::new();
    for row in rows(&verdicts.join("mutants.jsonl")) {
        let file = row["file"].as_str().unwrap();
        let text = read(&verdicts.join("mutants").join(file));
        let definition = Definition::workflow(&text, Rules::new(Target::V5_2_1, &language));
        let validate = definition.validate();
        let accepted = row["validate"] == "accepted";
        if accepted != validate.rejected.is_none() {
            tally.differing.push(format!("{file} validate: {:?}", validate.rejected));
        }
        for (mode, conditions) in modes() {
            let expected = if row[mode].is_object() { &row[mode] } else { &row };
            tally.compare(
                &format!("{file} {mode}"),
                expected,
                &definition.parse(&conditions),
                &text,
            );
        }
        let expected = if row["trunk"].is_object() { &row["trunk"] } else { &row };
        let trunk = Definition::workflow(&text, Rules::new(Target::Trunk, &language));
        let answer = trunk.parse(&Conditions::bare());
        tally.compare(&format!("{file} trunk"), expected, &answer, &text);
    }
    tally.report("workflow verdicts of mutants");
    assert_eq!(tally.agree_with_names, tally.total);
}

/// The answers of older releases: verdict and code, for each recorded mode.
#[test]
fn older_releases() {
    let (Some(verdicts), Some(corpus)) =
        (crate::shared("ANKUS_VERDICTS", "verdicts"), crate::shared("ANKUS_CORPUS", "corpus"))
    else {
        return;
    };
    let language = Language::default();
    let mut differing = 0;
    for target in [Target::V4_3_1, Target::V3_3_2] {
        for (list, folder) in [("workflow", corpus.clone()), ("mutants", verdicts.join("mutants"))]
        {
            let list = format!("{list}-{}.jsonl", target.name());
            let rows = rows(&verdicts.join(&list));
            let mut disagree = Vec::new();
            for row in &rows {
                let file = row["file"].as_str().unwrap();
                let text = read(&folder.join(file));
                let definition = Definition::workflow(&text, Rules::new(target, &language));
                let answers = [
                    ("validate", definition.validate()),
                    ("bare", definition.parse(&Conditions::bare())),
                    ("bound", definition.parse(&Conditions::bound())),
                ];
                let mut different = Vec::new();
                for (mode, answer) in answers {
                    let (verdict, code, names) = said(&answer, &text);
                    let (wanted, wanted_code, _) = wanted(&row[mode]);
                    let agrees = match wanted.as_str() {
                        "timeout" => answer.slow,
                        _ => (&wanted, &wanted_code) == (&verdict, &code),
                    };
                    if !agrees {
                        different.push(format!(
                            "{mode}: expected {wanted} {wanted_code}, got {verdict} {code} {names:?}"
                        ));
                    }
                }
                if !different.is_empty() {
                    disagree.push(format!("  {file} {}", different.join("; ")));
                }
            }
            disagree.iter().for_each(|line| println!("{line}"));
            crate::agree(&list, rows.len() - disagree.len(), rows.len());
            differing += disagree.len();
        }
    }
    assert_eq!(differing, 0);
}

/// Whether a check refuses a text for its encoding, with the server's code.
fn is_refused_for_its_encoding(text: &str, target: Target) -> bool {
    let check = ["check", "-", "--isolated", "--format", "json", "--target", target.name()];
    let printed = crate::cli::ankus(&check).input(text).run().stdout;
    let report: Value = serde_json::from_str(&printed).expect("a report");
    let findings = report["findings"].as_array().into_iter().flatten();
    let mut refused = findings.filter(|finding| finding["rule"] == "encoding-refused");
    refused.any(|finding| finding["codes"] == serde_json::json!(["E0701"]))
}

/// Whether the findings of the schema agree with the server: none if it accepts the text, at least one if it refuses
/// it.
fn schema_findings_agree(
    name: &str,
    text: &str,
    target: Target,
    differing: &mut Vec<String>,
) -> bool {
    let language = Language::default();
    let (tree, broken) = Tree::parse(text);
    let name = &format!("{name}, {}", target.name());
    let definition = Definition::workflow(text, Rules::new(target, &language));
    let rejected = definition.parse(&Conditions::bound()).rejected;
    let doctype = broken.iter().any(|finding| finding.kind.name == "doctype-forbidden");
    if target == Target::V3_3_2 && rejected.is_none() && doctype {
        // It is the only release that reads past a DOCTYPE, and it may apply no schema then.
        return true;
    }
    let first = rejected.as_ref().and_then(|rejected| rejected.subject.first());
    if first.is_some_and(|first| first == "not-well-formed" || first == "doctype") {
        let findings = validate::check(&tree, Document::Workflow, &language, target.name());
        // A byte order mark is a fault of the encoding, which the check of the whole file reports.
        let is_marked = text.starts_with('\u{feff}') && is_refused_for_its_encoding(text, target);
        if broken.is_empty() && findings.is_empty() && !is_marked {
            differing.push(format!("{name}: server {rejected:?}, the tree is fine"));
        }
        return true;
    }
    if let Some(broken) = broken.first() {
        // The server stops at the first fault of either kind.
        if rejected.is_none() {
            differing.push(format!("{name}: server accepts, ours {}", broken.message));
        }
        return true;
    }
    let schema = rejected.filter(|r| r.subject.first().is_some_and(|rule| rule.contains("cvc-")));
    let findings = validate::check(&tree, Document::Workflow, &language, target.name());
    let ours: Vec<String> = findings
        .iter()
        .map(|f| format!("{} {}: {}", f.span.start, f.kind.name, f.message))
        .collect();
    // A document with another root element may be valid and still not be a definition.
    let valid_alone = findings.len() == 1 && findings[0].kind.name == "unknown-root";
    if schema.is_some() == findings.is_empty() && !valid_alone {
        differing.push(format!("{name}: server {schema:?}, ours {ours:#?}"));
    } else if std::env::var_os("ANKUS_SHOW").is_some() && !ours.is_empty() {
        println!("{name}: server {:?}, ours {ours:#?}", schema.map(|r| r.parameters(text)));
    }
    true
}

#[test]
fn schema_findings() {
    let (Some(verdicts), Some(corpus)) =
        (crate::shared("ANKUS_VERDICTS", "verdicts"), crate::shared("ANKUS_CORPUS", "corpus"))
    else {
        return;
    };
    let mut differing = Vec::new();
    let mut total = 0;
    for (list, folder) in [("workflow.jsonl", corpus), ("mutants.jsonl", verdicts.join("mutants"))]
    {
        for row in rows(&verdicts.join(list)) {
            let file = row["file"].as_str().unwrap();
            let text = read(&folder.join(file));
            for target in Target::ALL {
                total += usize::from(schema_findings_agree(file, &text, target, &mut differing));
            }
        }
    }
    differing.iter().for_each(|line| println!("  {line}"));
    crate::agree("schema findings", total - differing.len(), total);
    assert!(differing.is_empty());
}

/// Deterministic pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// One change of a well-formed text that usually leaves it well-formed.
fn changed(text: &str, dice: &mut Dice) -> String {
    let (tree, _) = Tree::parse(text);
    let elements: Vec<_> = tree.root().unwrap().descendants().collect();
    let one = elements[dice.below(elements.len())];
    let other = elements[dice.below(elements.len())];
    let cut = |range: std::ops::Range<usize>, new: &str| {
        format!("{}{new}{}", &text[..range.start], &text[range.end..])
    };
    let renamed = |name: &str| {
        let mut whole = text[one.span().range()].to_owned();
        let length = one.qualified_name().len();
        if !one.is_empty_tag() {
            let at = whole.rfind("</").unwrap() + 2;
            whole.replace_range(at..at + length, name);
        }
        whole.replace_range(1..1 + length, name);
        cut(one.span().range(), &whole)
    };
    let attributes: Vec<_> = one.attributes().collect();
    match dice.below(13) {
        0 => cut(one.span().range(), ""),
        1 => cut(one.span().range(), &text[one.span().range()].repeat(2)),
        2 => cut(one.span().range(), &text[other.span().range()]),
        3 => {
            let at = one.span().end as usize;
            cut(at..at, &text[other.span().range()])
        }
        4 => renamed(other.qualified_name()),
        5 if !attributes.is_empty() => {
            cut(attributes[dice.below(attributes.len())].span().range(), "")
        }
        6 => {
            let at = one.name_span().end as usize;
            let new =
                [" x=\"1\"", " name=\"a.b\"", " cred=\"c\"", " skip-trash=\"maybe\"", " to=\"\""];
            cut(at..at, new[dice.below(new.len())])
        }
        7 if !one.is_empty_tag() => {
            let at = one.content().start as usize;
            cut(at..at, [" ", "x", "<!-- c -->", "<![CDATA[]]>", "&#32;", "<x/>"][dice.below(6)])
        }
        8 => {
            let versions = ["0.1", "0.2", "0.2.5", "0.3", "0.4", "0.4.5", "0.5", "1.0", "0.6"];
            match text.find("workflow:0") {
                Some(at) => {
                    let end = at + text[at..].find(['"', '\'']).unwrap();
                    cut(at + 9..end, versions[dice.below(versions.len())])
                }
                None => text.to_owned(),
            }
        }
        9 => match one.parent() {
            Some(parent) => {
                let at = parent.content().start as usize;
                let moved = text[one.span().range()].to_owned();
                let without = cut(one.span().range(), "");
                format!("{}{moved}{}", &without[..at], &without[at..])
            }
            None => text.to_owned(),
        },
        _ => {
            let new = [
                "launcher",
                "global",
                "case",
                "script",
                "shell",
                "java",
                "resource-manager",
                "end",
            ];
            renamed(new[dice.below(new.len())])
        }
    }
}

#[test]
fn schema_findings_of_changed_workflows() {
    let Some(verdicts) = crate::shared("ANKUS_VERDICTS", "verdicts") else { return };
    let all = rows(&verdicts.join("mutants.jsonl"));
    let texts: Vec<String> = all
        .iter()
        .filter(|row| row["validate"] == "accepted")
        .map(|row| read(&verdicts.join("mutants").join(row["file"].as_str().unwrap())))
        .filter(|text| text.starts_with("<workflow-app"))
        .collect();
    let mut dice = Dice(7);
    let mut differing = Vec::new();
    let rounds = std::env::var("ANKUS_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000);
    let mut total = 0;
    for round in 0..rounds {
        let mut text = texts[dice.below(texts.len())].clone();
        // Usually the current release.
        let target = *Target::ALL.get(dice.below(8)).unwrap_or(&Target::V5_2_1);
        for _ in 0..=dice.below(3) {
            if Tree::parse(&text).1.is_empty() {
                text = changed(&text, &mut dice);
            }
        }
        total += usize::from(schema_findings_agree(
            &format!("{round}\n{text}"),
            &text,
            target,
            &mut differing,
        ));
    }
    differing.iter().take(10).for_each(|line| println!("  {line}"));
    crate::agree("schema findings of changed workflows", total - differing.len(), total);
    assert!(differing.is_empty());
}

#[test]
fn findings_of_forks_and_joins() {
    let (Some(verdicts), Some(corpus)) =
        (crate::shared("ANKUS_VERDICTS", "verdicts"), crate::shared("ANKUS_CORPUS", "corpus"))
    else {
        return;
    };
    let language = Language::default();
    let codes = ["E0730", "E0732", "E0733", "E0737", "E0742", "E0743", "E0744", "E0757", "E0758"];
    let (mut total, mut differing) = (0, Vec::new());
    for (list, folder) in [("workflow.jsonl", corpus), ("mutants.jsonl", verdicts.join("mutants"))]
    {
        for row in rows(&verdicts.join(list)) {
            let file = row["file"].as_str().unwrap();
            let text = read(&folder.join(file));
            for target in Target::ALL {
                let definition = Definition::workflow(&text, Rules::new(target, &language));
                let answer = definition.parse(&Conditions::bound());
                let tree = Arc::new(Tree::parse(&text).0);
                let workflow = ankus::ir::lower::workflow(&tree);
                let found = findings::forks_and_joins(&workflow, target);
                let right = match &answer.rejected {
                    None => found.is_empty(),
                    Some(rejected) if codes.contains(&rejected.code) => {
                        found.iter().any(|finding| finding.kind.oozie.contains(&rejected.code))
                    }
                    Some(_) => true,
                };
                total += 1;
                let minded = findings::parser(&tree, &Rules::new(target, &language));
                let right = right && (answer.rejected.is_some() || minded.is_empty());
                if let Some(Rejected { code: "E0803" | "E0723" | "E0736", .. }) = answer.rejected
                    && tree.root().unwrap().name() == "workflow-app"
                    && minded.is_empty()
                {
                    differing.push(format!("{file}: {:?}, nothing said", answer.rejected));
                }
                let said: Vec<String> = found
                    .iter()
                    .chain(&minded)
                    .map(|f| format!("{}: {}", f.kind.name, f.message))
                    .collect();
                if !right {
                    differing.push(format!("{file}: {:?}, ours {said:#?}", answer.rejected));
                } else if std::env::var_os("ANKUS_SHOW").is_some() && !said.is_empty() {
                    println!("{file}: {:?}, ours {said:#?}", answer.rejected);
                }
                let covered = findings::unexplained(&answer, Some(&workflow), &text, &[]);
                assert_eq!(covered.is_some(), answer.rejected.is_some());
            }
        }
    }
    differing.iter().for_each(|line| println!("  {line}"));
    crate::agree("findings of forks and joins", total - differing.len(), total);
    assert!(differing.is_empty());
}

/// A text with one fix applied.
fn mended(text: &str, fix: &Fix) -> String {
    let mut text = text.to_owned();
    for edit in fix.edits.iter().rev() {
        text.replace_range(edit.span.range(), &edit.text);
    }
    text
}

#[test]
fn fixes_of_the_schema_mend_what_they_are_offered_for() {
    let Some(verdicts) = crate::shared("ANKUS_VERDICTS", "verdicts") else { return };
    let all = rows(&verdicts.join("mutants.jsonl"));
    let texts: Vec<String> = all
        .iter()
        .map(|row| read(&verdicts.join("mutants").join(row["file"].as_str().unwrap())))
        .filter(|text| Tree::parse(text).1.is_empty())
        .collect();
    let language = Language::default();
    let mut dice = Dice(11);
    let (mut offered, mut failing) = (0, Vec::new());
    for round in 0..4_000 {
        let mut text = texts[round % texts.len()].clone();
        if round >= texts.len() {
            text = changed(&text, &mut dice);
        }
        let (tree, broken) = Tree::parse(&text);
        if !broken.is_empty() {
            continue;
        }
        let findings = validate::check(&tree, Document::Workflow, &language, "5.2.1");
        for finding in &findings {
            for fix in finding.fixes.iter().filter(|fix| fix.safety == Safety::Safe) {
                offered += 1;
                let after = mended(&text, fix);
                let (tree, broken) = Tree::parse(&after);
                let left = validate::check(&tree, Document::Workflow, &language, "5.2.1");
                let again = left.iter().any(|other| other.message == finding.message)
                    && left.len() >= findings.len();
                if !broken.is_empty() || again || left.len() > findings.len() {
                    let left: Vec<_> = left.iter().map(|finding| &finding.message).collect();
                    failing
                        .push(format!("{}: {} -> {left:#?}\n{text}", finding.message, fix.title));
                }
            }
        }
    }
    println!("safe fixes of the schema: {} of {offered} mend", offered - failing.len());
    failing.iter().take(12).for_each(|line| println!("{line}"));
    assert!(failing.is_empty());
}
