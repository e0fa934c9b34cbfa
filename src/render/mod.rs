//! A report as text: one file a format.

pub mod checkstyle;

pub mod concise;

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
use crate::diag::Level;

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
        count(report.count(Level::Info), "hint"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let files = count(report.files.len(), "file").unwrap_or_else(|| "no file".to_owned());
    let mut text = if parts.is_empty() {
        format!("{files}, nothing to report")
    } else {
        format!("{files}: {}", parts.join(", "))
    };
    match report.fixable() {
        0 => {}
        fixable => text.push_str(&format!("; {fixable} with a fix (`--fix`)")),
    }
    if report.suppressed > 0 {
        text.push_str(&format!("; {} allowed", report.suppressed));
    }
    text
}
