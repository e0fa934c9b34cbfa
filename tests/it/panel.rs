//! What people think of the findings of the default profile.
//!
//! `tests/panel.toml` has a judgement for each finding, made by reading the file and what lies around it: `useful` where
//! whoever looks after it would change it, `idle` where the finding is right and nobody would act, `wrong` where it is
//! not true. `cargo xtask panel` lists what is not judged yet. What was wrong or idle once stays listed when its rule has
//! been mended, so that it does not come back.

use crate::cli::ankus;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Place {
    at: String,
    rule: String,
}

/// The half in which a repository is judged, and no rule is written with a look at it.
fn is_judged(path: &str) -> bool {
    let repository = path.split('/').next().unwrap_or_default();
    let hash = repository.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash % 2 == 1
}

#[test]
fn findings_are_right_and_worth_acting_on() {
    let list = std::fs::read_to_string(crate::root().join("tests/panel.toml")).expect("a list");
    let list: toml::Table = list.parse().expect("the list is TOML");
    let mut known: BTreeMap<Place, String> = BTreeMap::new();
    for finding in list["finding"].as_array().expect("a list of findings") {
        let text = |key: &str| finding[key].as_str().expect("a text").to_owned();
        let judgement = text("judgement");
        assert!(["useful", "idle", "wrong"].contains(&judgement.as_str()), "{finding}");
        assert!(!text("reason").is_empty(), "{finding}: a judgement has a reason");
        let place = Place { at: text("at"), rule: text("rule") };
        assert!(known.insert(place, judgement).is_none(), "{finding} is judged twice");
    }

    let Some(corpus) = crate::shared("ANKUS_CORPUS", "corpus") else { return };
    let arguments = ["check", ".", "--no-cache", "--format", "json", "--exit-zero"];
    let run = ankus(&arguments).folder(&corpus).run();
    let report: Value = serde_json::from_str(&run.stdout).expect("the output is JSON");
    let mut of_file: BTreeMap<&str, usize> = BTreeMap::new();
    for file in report["files"].as_array().expect("a list of files") {
        of_file.insert(file["path"].as_str().expect("a path"), 0);
    }
    let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
    for finding in report["findings"].as_array().expect("a list of findings") {
        let path = finding["path"].as_str().expect("a path");
        *of_file.entry(path).or_default() += 1;
        let at = format!("{path}:{}", finding["start"]["line"]);
        let place = Place { at, rule: finding["rule"].as_str().expect("a rule").to_owned() };
        let judgement = known.get(&place).map_or("", String::as_str);
        *counts.entry((is_judged(path), judgement)).or_default() += 1;
        match judgement {
            "wrong" => wrong.push(place),
            "" => unknown.push(place),
            _ => {}
        }
    }
    for (half, name) in [(true, "judged"), (false, "tuned")] {
        let count = |judgement| counts.get(&(half, judgement)).copied().unwrap_or_default();
        let mut files: Vec<usize> = of_file
            .iter()
            .filter(|(path, _)| is_judged(path) == half)
            .map(|(_, count)| *count)
            .collect();
        files.sort_unstable();
        let at = |part: usize| files.get((files.len() * part / 100).min(files.len() - 1));
        println!(
            "the {name} half: {} useful, {} idle, {} wrong, {} not judged; median {:?} and p90 {:?} of {} files",
            count("useful"),
            count("idle"),
            count("wrong"),
            count(""),
            at(50).expect("there are files"),
            at(90).expect("there are files"),
            files.len(),
        );
        assert!(at(50) <= Some(&1) && at(90) < Some(&6), "{name}: too many findings a file");
    }
    assert!(wrong.is_empty(), "wrong findings: {wrong:#?}");
    let all: usize = counts.values().sum();
    assert!(unknown.len() * 5 <= all, "not judged, see `cargo xtask panel`: {unknown:#?}");
    let count = |judgement| -> usize {
        counts.iter().filter(|((_, known), _)| *known == judgement).map(|(_, count)| count).sum()
    };
    let (useful, idle) = (count("useful"), count("idle"));
    assert!(useful * 10 >= (useful + idle) * 6, "{useful} useful, {idle} idle");
}
