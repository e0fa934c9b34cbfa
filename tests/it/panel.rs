//! Human judgments of findings.
//!
//! `tests/panel.toml` has a judgment for each finding of the default profile and for a sample of those of the other
//! profiles, made by reading the file and its surroundings: `useful` if the maintainer would change it, `right` if it
//! is true but nobody would act on it, `wrong` if it is not true. `cargo xtask panel` lists what has not been judged
//! yet. A finding that the default profile no longer reports stays in the list, so that it does not come back.

use crate::cli::ankus;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A rule at a location.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Place {
    at: String,
    rule: String,
}

/// The judgment of a finding.
#[derive(Debug)]
struct Judgement {
    word: String,
    /// The profile that reports it; none if it is no longer reported.
    profile: Option<String>,
}

/// The minimum number of judged findings that are still reported.
const PANEL: usize = 300;

fn judgements() -> BTreeMap<Place, Judgement> {
    let list = std::fs::read_to_string(crate::root().join("tests/panel.toml")).expect("a list");
    let list: toml::Table = list.parse().expect("the list is TOML");
    let mut known = BTreeMap::new();
    for finding in list["finding"].as_array().expect("a list of findings") {
        let text = |key: &str| finding[key].as_str().expect("a text").to_owned();
        let word = text("judgement");
        assert!(["useful", "right", "wrong"].contains(&word.as_str()), "{finding}");
        assert!(!text("reason").is_empty(), "{finding}: a judgement has a reason");
        let profile = finding.get("profile").and_then(|name| name.as_str()).map(str::to_owned);
        let place = Place { at: text("at"), rule: text("rule") };
        let judgement = Judgement { word, profile };
        assert!(known.insert(place, judgement).is_none(), "{finding} is judged twice");
    }
    known
}

/// The findings of a profile in all repositories, and the number for each file.
fn findings(corpus: &Path, profile: &str) -> (BTreeSet<Place>, Vec<usize>) {
    let arguments = ["check", ".", "--no-cache", "--isolated", "--format", "json", "--exit-zero"];
    let arguments: Vec<&str> = arguments.into_iter().chain(["--profile", profile]).collect();
    let run = ankus(&arguments).folder(corpus).run();
    let report: Value = serde_json::from_str(&run.stdout).expect("the output is JSON");
    let mut of_file: BTreeMap<&str, usize> = BTreeMap::new();
    for file in report["files"].as_array().expect("a list of files") {
        of_file.insert(file["path"].as_str().expect("a path"), 0);
    }
    let mut places = BTreeSet::new();
    for finding in report["findings"].as_array().expect("a list of findings") {
        let path = finding["path"].as_str().expect("a path");
        *of_file.entry(path).or_default() += 1;
        let at = format!("{path}:{}", finding["start"]["line"]);
        let rule = finding["rule"].as_str().expect("a rule").to_owned();
        places.insert(Place { at, rule });
    }
    let mut counts: Vec<usize> = of_file.into_values().collect();
    counts.sort_unstable();
    (places, counts)
}

#[test]
fn findings_are_right_and_worth_acting_on() {
    let known = judgements();
    let panel = || known.iter().filter_map(|(place, j)| Some((place, j, j.profile.as_deref()?)));
    assert!(panel().count() >= PANEL, "findings of the panel");
    assert!(panel().all(|(_, judgement, _)| judgement.word != "wrong"), "what is wrong is mended");

    let Some(corpus) = crate::shared("ANKUS_CORPUS", "corpus") else { return };
    for profile in ["default", "strict", "migration", "style"] {
        let (found, of_file) = findings(&corpus, profile);
        let of_profile = || panel().filter(|(.., of)| *of == profile);
        let count = |word: &str| of_profile().filter(|(_, j, _)| j.word == word).count();
        println!("{profile}: {} useful, {} right, none wrong", count("useful"), count("right"));
        let gone: Vec<&Place> =
            of_profile().map(|(place, ..)| place).filter(|place| !found.contains(place)).collect();
        assert!(gone.is_empty(), "judged and no longer reported: {gone:#?}");
        if profile != "default" {
            continue;
        }
        let (useful, right) = (count("useful"), count("right"));
        assert!(useful * 10 >= (useful + right) * 6, "{useful} useful, {right} right");
        let is = |place: &&Place, word: &str| known.get(place).is_some_and(|j| j.word == word);
        let wrong: Vec<&Place> = found.iter().filter(|place| is(place, "wrong")).collect();
        assert!(wrong.is_empty(), "wrong findings: {wrong:#?}");
        let unknown: Vec<&Place> =
            found.iter().filter(|place| !known.contains_key(place)).collect();
        assert!(
            unknown.len() * 5 <= found.len(),
            "not judged, see `cargo xtask panel`: {unknown:#?}"
        );
        let at = |part: usize| of_file[(of_file.len() * part / 100).min(of_file.len() - 1)];
        println!("median {} and p90 {} of {} files", at(50), at(90), of_file.len());
        assert!(at(50) <= 1 && at(90) < 6, "too many findings a file");
    }
}
