//! One object a line: each finding as in [`super::json`], then the summary.

use crate::check::Report;
use crate::diag::Level;
use serde_json::json;

/// Renders a report. Every line is an object with a `type`: `finding`, or `summary` for the last.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let mut object = super::json::finding(report, finding);
        if let Some(fields) = object.as_object_mut() {
            fields.shift_insert(0, "type".to_owned(), json!("finding"));
        }
        text.push_str(&object.to_string());
        text.push('\n');
    }
    let summary = json!({
        "type": "summary",
        "version": 1,
        "tool": {"name": "ankus", "version": env!("CARGO_PKG_VERSION")},
        "files": report.files.len(),
        "errors": report.count(Level::Error),
        "warnings": report.count(Level::Warning),
        "infos": report.count(Level::Info),
        "fixable": report.fixable(),
        "suppressed": report.suppressed,
    });
    text.push_str(&summary.to_string());
    text.push('\n');
    text
}
