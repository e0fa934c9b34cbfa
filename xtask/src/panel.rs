//! `cargo xtask panel`: findings of the default profile to be judged by people.
//!
//! In: a folder with a repository in each of its folders (default `ANKUS_CORPUS`). The repositories fall into two halves by
//! a hash of their names: rules may be mended with a look at the even one and are judged on the odd one. Out: a sample by
//! a fixed seed as entries for `tests/panel.toml`, those left out that are there already.

use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;

/// What is wanted.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) half: String,
    pub(crate) sample: usize,
    pub(crate) seed: u64,
    /// How many findings of a repository, and of a rule in it.
    pub(crate) most: (usize, usize),
}

/// FNV-1a, which is the same on every machine and in every release.
fn hash(text: &str, seed: u64) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

pub(crate) fn list(root: &Path, program: &Path, folder: &Path, wish: &Wish) -> Result<(), String> {
    let run = Command::new(program)
        .args(["check", ".", "--no-cache", "--format", "json", "--exit-zero", "--isolated"])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let report: Value = serde_json::from_slice(&run.stdout)
        .map_err(|error| format!("no report: {error}; {}", String::from_utf8_lossy(&run.stderr)))?;
    let known = std::fs::read_to_string(root.join("tests/panel.toml")).unwrap_or_default();
    let known: HashSet<&str> = known.lines().filter(|line| line.starts_with("at = ")).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<(u64, String, String, String, String)> = Vec::new();
    for finding in report["findings"].as_array().into_iter().flatten() {
        let (path, rule) = (text(&finding["path"]), text(&finding["rule"]));
        let repository = path.split('/').next().unwrap_or_default().to_owned();
        let half = if hash(&repository, 0).is_multiple_of(2) { "even" } else { "odd" };
        if wish.half == half || wish.half == "both" {
            let at = format!("at = \"{path}:{}\"", finding["start"]["line"]);
            let order = hash(&format!("{at} {rule}"), wish.seed);
            found.push((order, repository, rule, at, text(&finding["message"])));
        }
    }
    found.sort();
    let of_half = found.len();
    let mut of_repository: BTreeMap<String, usize> = BTreeMap::new();
    let mut of_rule: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut taken = 0;
    for (_, repository, rule, at, message) in found {
        let repositories = of_repository.entry(repository.clone()).or_default();
        let rules = of_rule.entry((repository, rule.clone())).or_default();
        if taken == wish.sample || *repositories == wish.most.0 || *rules == wish.most.1 {
            continue;
        }
        (*repositories, *rules, taken) = (*repositories + 1, *rules + 1, taken + 1);
        if !known.contains(at.as_str()) {
            println!(
                "# {message}\n[[finding]]\n{at}\nrule = \"{rule}\"\njudgement = \"\"\nreason = \"\"\n"
            );
        }
    }
    eprintln!("{taken} of {of_half} findings in the sample");
    Ok(())
}
