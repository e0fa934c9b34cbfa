//! Error codes: every code that Oozie or `ankus run` reports has an entry, and whatever the entries recommend exists.

use crate::cli::ankus;
use ankus::codes;
use std::collections::BTreeSet;

/// The prefixes of codes, with the number of digits that follow.
const FAMILIES: [(&str, usize); 10] = [
    ("E", 4),
    ("EJ", 3),
    ("EM", 3),
    ("FS", 3),
    ("GIT", 3),
    ("JA", 3),
    ("MR", 3),
    ("SH", 3),
    ("SQOOP", 3),
    ("SUBWF", 3),
];

/// Codes without a meaning: placeholders in tests and examples.
const EXAMPLES: [&str; 1] = ["E9999"];

/// Every word of a text that has the form of a code.
fn codes_of(text: &str) -> BTreeSet<String> {
    let words =
        text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let is_code = |word: &&str| {
        let digits = word.trim_start_matches(|character: char| character.is_ascii_uppercase());
        let family = &word[..word.len() - digits.len()];
        digits.bytes().all(|byte| byte.is_ascii_digit())
            && FAMILIES.contains(&(family, digits.len()))
    };
    words.filter(is_code).filter(|word| !EXAMPLES.contains(word)).map(str::to_owned).collect()
}

fn without_entry(codes: &BTreeSet<String>) -> Vec<&String> {
    codes.iter().filter(|code| codes::of(code).is_none()).collect()
}

#[test]
fn every_code_of_ours_has_an_entry() {
    let mut found = BTreeSet::new();
    for folder in ["src", "runtime", "project/src", "cli/src"] {
        for entry in ignore::Walk::new(crate::root().join(folder)) {
            let entry = entry.expect("readable");
            if entry.path().extension().is_some_and(|end| end == "rs") {
                found.extend(codes_of(&std::fs::read_to_string(entry.path()).expect("text")));
            }
        }
    }
    assert!(found.len() > 100, "only {} codes were seen", found.len());
    assert_eq!(without_entry(&found), Vec::<&String>::new());
}

#[test]
fn every_code_of_the_engine_has_an_entry() {
    let Some(folder) = crate::shared("ANKUS_REFERENCE", "reference") else { return };
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|end| end == "md") {
            found.extend(codes_of(&std::fs::read_to_string(path).expect("text")));
        }
    }
    let missing = without_entry(&found);
    crate::agree("error codes that are explained", found.len() - missing.len(), found.len());
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn every_code_is_explained() {
    for entry in codes::all() {
        for code in &entry.codes {
            ankus(&["explain", code]).run().said(0, entry.title);
        }
    }
}

/// Commands and rules in the recommendations of entries exist.
#[test]
fn entries_name_commands_and_rules_that_exist() {
    let rules: Vec<&str> = ankus::check::kinds().iter().map(|kind| kind.name).collect();
    let settings = std::fs::read_to_string(crate::root().join("docs/settings.md"));
    let settings = settings.expect("the manual is part of the project");
    let mut seen = 0;
    for entry in codes::all() {
        for span in entry.text.split('`').skip(1).step_by(2) {
            if let Some(command) = span.strip_prefix("ankus ") {
                let words: Vec<&str> = command.split(' ').collect();
                let depth = if matches!(words[0], "job" | "store") { 2 } else { 1 };
                let mut asked: Vec<&str> = words[..depth].to_vec();
                asked.push("--help");
                let help = ankus(&asked).run();
                assert_eq!(help.code, 0, "{:?}: {span}", entry.codes);
                for flag in words.iter().filter(|word| word.starts_with("--")) {
                    assert!(help.stdout.contains(flag), "{:?}: {span}", entry.codes);
                }
                seen += 1;
            }
            if span.starts_with('[') {
                // `[limits] timeout = 5` names a table and a key.
                let (table, key) = span.split_once(' ').unwrap_or((span, ""));
                assert!(settings.contains(table), "{:?}: {span}", entry.codes);
                let key = key.split(' ').next().unwrap_or_default();
                assert!(settings.contains(key), "{:?}: {span}", entry.codes);
            }
            let is_rule =
                span.contains('-') && span.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            let is_element = ["job-xml", "retry-max", "retry-interval", "retry-policy"]
                .contains(&span)
                || ["initial-instance", "nominal-time", "should-end", "app-path"].contains(&span)
                || ["job-tracker", "resource-manager", "name-node"].contains(&span)
                || span.starts_with('-');
            assert!(!is_rule || is_element || rules.contains(&span), "{:?}: `{span}`", entry.codes);
        }
    }
    assert!(seen > 20, "only {seen} commands were seen");
}

#[test]
fn codes_are_listed_selected_and_completed() {
    let rules = ankus(&["rules"]).run().stdout;
    assert!(!rules.contains("\\u{"), "{rules}");
    assert!(rules.starts_with("syntax\n  ") && rules.contains("\n\nnames\n  "), "{rules}");
    ankus(&["rules", "--codes"]).run().said(0, "E0708");
    let list = ankus(&["rules", "--codes", "--format", "json"]).run().stdout;
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let entries = list["codes"].as_array().expect("a list");
    let of = |code: &str| {
        entries.iter().find(|entry| {
            entry["codes"].as_array().is_some_and(|codes| codes.iter().any(|known| known == code))
        })
    };
    let rules = &of("E0707").expect("it is listed")["rules"];
    assert!(rules.as_array().is_some_and(|rules| rules.iter().any(|rule| rule == "cycle")));
    ankus(&["explain", "E0077"]).run().said(2, "there is no rule or code `E0077`");
    let folder = crate::cli::folder(&[(
        "workflow.xml",
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"a\"><start to=\"b\"/><kill name=\"c\">\
         <message>m</message></kill><end name=\"end\"/></workflow-app>",
    )]);
    let check = |arguments: &[&str]| {
        let all: Vec<&str> = [&["check"], arguments].concat();
        ankus(&all).folder(folder.path()).run()
    };
    check(&["--select", "E0708"]).said(1, "unresolved-transition");
    assert!(!check(&["--ignore", "e0708"]).stdout.contains("E0708"));
    check(&["--select", "E0604"]).said(2, "no rule reports the code `E0604`");
    let complete = |words: &[&str], at: &str| {
        let all: Vec<&str> = [&["--"], words].concat();
        let asked = ankus(&all).variable("COMPLETE", "bash").variable("_CLAP_COMPLETE_INDEX", at);
        asked.folder(folder.path()).run().stdout
    };
    assert!(complete(&["ankus", "explain", "E070"], "2").contains("E0708"));
    assert!(complete(&["ankus", "check", "--select", "cyc"], "3").contains("cycle"));
    // Without a store there are no jobs, and no complaint either.
    assert!(!complete(&["ankus", "job", "show", ""], "3").contains("00000"));
}
