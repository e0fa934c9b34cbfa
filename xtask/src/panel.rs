//! `cargo xtask panel`: selects findings for review by people.
//!
//! The arguments are a folder whose subfolders are repositories (default `ANKUS_CORPUS`), and a profile. The output is
//! a sample, by a fixed seed, of the findings that the profile adds to the default one, with a limit per rule, as
//! entries for `tests/panel.toml`, without those that it already has.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::process::Command;

/// The parameters.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) profile: String,
    pub(crate) sample: usize,
    pub(crate) seed: u64,
    /// Maximum number of findings per rule.
    pub(crate) alike: usize,
}

/// A finding: its rule, its location, its message.
type Finding = (String, String, String);

/// FNV-1a, which is the same on every machine and in every release.
fn hash(text: &str, seed: u64) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the findings of a profile, one per rule and location.
fn findings(program: &Path, folder: &Path, profile: &str) -> Result<Vec<Finding>, String> {
    let arguments = ["check", ".", "--no-cache", "--format", "json", "--exit-zero", "--isolated"];
    let run = Command::new(program)
        .args(arguments)
        .args(["--profile", profile])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let report: Value = serde_json::from_slice(&run.stdout)
        .map_err(|error| format!("no report: {error}; {}", String::from_utf8_lossy(&run.stderr)))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut seen = HashSet::new();
    let all = report["findings"].as_array().into_iter().flatten().map(|finding| {
        let at = format!("{}:{}", text(&finding["path"]), finding["start"]["line"]);
        (text(&finding["rule"]), at, text(&finding["message"]))
    });
    Ok(all.filter(|(rule, at, _)| seen.insert((rule.clone(), at.clone()))).collect())
}

pub(crate) fn list(root: &Path, program: &Path, folder: &Path, wish: &Wish) -> Result<(), String> {
    let places = |found: Vec<Finding>| -> BTreeSet<(String, String)> {
        found.into_iter().map(|(rule, at, _)| (rule, at)).collect()
    };
    let told = match wish.profile.as_str() {
        "default" => BTreeSet::new(),
        _ => places(findings(program, folder, "default")?),
    };
    let mut found = findings(program, folder, &wish.profile)?;
    found.retain(|(rule, at, _)| !told.contains(&(rule.clone(), at.clone())));
    found.sort_by_cached_key(|(rule, at, _)| hash(&format!("{at} {rule}"), wish.seed));
    let all = found.len();
    let known = std::fs::read_to_string(root.join("tests/panel.toml")).unwrap_or_default();
    let mut of_rule: BTreeMap<String, usize> = BTreeMap::new();
    let mut taken = 0;
    for (rule, at, message) in found {
        let alike = of_rule.entry(rule.clone()).or_default();
        if taken == wish.sample || *alike == wish.alike {
            continue;
        }
        (*alike, taken) = (*alike + 1, taken + 1);
        let place = format!("at = \"{at}\"\nrule = \"{rule}\"\n");
        if !known.contains(&place) {
            let profile = &wish.profile;
            println!(
                "# {message}\n[[finding]]\n{place}profile = \"{profile}\"\njudgement = \"\"\nreason = \"\"\n"
            );
        }
    }
    eprintln!("{taken} of {all} findings in the sample");
    Ok(())
}
