//! A report as text: one file per format.

pub mod checkstyle;

pub mod concise;

mod excerpt;

pub mod github;

pub mod gitlab;

pub mod human;

pub mod json;

pub mod jsonl;

pub mod junit;

mod place;

pub mod rdjson;

pub mod sarif;

use crate::check::Report;
use crate::diag::{Kind, Level, Safety};

/// The address of the page of a rule: `pages` with the name in the place of `{rule}`, or where this build is at home.
pub fn page(pages: Option<&str>, kind: &Kind) -> Option<String> {
    place::page_of(pages, kind)
}

/// What is not reported although it is there, in words; whoever sends a tree can have it silenced.
pub fn silenced(report: &Report) -> Vec<String> {
    [
        (report.suppressed, "suppressed by comments"),
        (report.baselined, "in the baseline"),
        (report.ignored_files, "left out by ignore files"),
        (report.excluded_files, "excluded by settings"),
        (report.links, "behind links, which are not followed"),
        (report.overridden, "switched off or lowered by settings"),
        (report.held_back, "in files of tests or templates (`--profile strict` shows them)"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, how)| format!("{number} {how}"))
    .collect()
}

/// The counts of a report in words, or nothing to say.
pub fn summary(report: &Report) -> String {
    let count = |number: usize, word: &str| match number {
        0 => None,
        1 => Some(format!("1 {word}")),
        number => Some(format!("{number} {word}s")),
    };
    let parts: Vec<String> = [
        count(report.count(Level::Error), "error"),
        count(report.count(Level::Warning), "warning"),
        count(report.count(Level::Info), "info"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let silenced: String = silenced(report).iter().map(|words| format!("; {words}")).collect();
    let Some(files) = count(report.files.len(), "file") else {
        let nothing = "nothing to check: no Oozie definition is here";
        return format!("{nothing}{silenced}");
    };
    let mut text = if parts.is_empty() {
        format!("{files}, nothing to report")
    } else {
        format!("{files}: {}", parts.join(", "))
    };
    let safe = report.fixes(Safety::Safe);
    let guessed = report.fixable() - safe;
    let mended: Vec<String> = [(safe, "a fix (`--fix`)"), (guessed, "a guess (`--unsafe-fixes`)")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, how)| format!("{number} with {how}"))
        .collect();
    if !mended.is_empty() {
        text.push_str(&format!("; {}", mended.join(", ")));
    }
    text + &silenced
}
