//! Annotations of a pull request: workflow commands that a GitHub runner reads from the output of a step.

use super::place;
use crate::check::Report;
use crate::diag::Level;

/// Renders a report, one command a line.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let (start, end) = place::range(report, &finding.path, finding.diagnostic.span);
        let command = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Info => "notice",
        };
        text.push_str(&format!("::{command} file={},line={}", property(&finding.path), start.line));
        // Columns of an annotation are only understood within one line.
        if end.line == start.line {
            text.push_str(&format!(
                ",col={},endColumn={}",
                start.column,
                end.column.max(start.column)
            ));
        } else {
            text.push_str(&format!(",endLine={}", end.line));
        }
        let title = property(&format!("ankus: {}", finding.diagnostic.kind.name));
        text.push_str(&format!(",title={title}::{}\n", data(&place::words(finding))));
    }
    text
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
