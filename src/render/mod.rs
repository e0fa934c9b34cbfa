//! Formats reports as text: one file per format.

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

/// The URL of a rule's page: `pages` with the name substituted for `{rule}`, or on the home page of this build.
pub fn page(pages: Option<&str>, kind: &Kind) -> Option<String> {
    place::page_of(pages, kind)
}

/// A description of what is not reported although it exists; the author of a tree can have it suppressed.
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

/// The counts of a report in words, or a message that there is nothing.
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
