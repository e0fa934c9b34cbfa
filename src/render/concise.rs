//! Writes a report with one line per finding, as compilers do.

use crate::check::Report;
use crate::source::Position;
use crate::text::line;

/// Formats a report.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let place = report
            .sources
            .get(&finding.path)
            .map(|(source, _)| source.position(finding.diagnostic.span.start));
        let place = place.unwrap_or(Position { line: 1, column: 1 });
        text.push_str(&format!(
            "{}:{}:{}: {}: {} [{}]\n",
            line(&finding.path),
            place.line,
            place.column,
            finding.level.name(),
            line(&finding.diagnostic.message),
            finding.diagnostic.kind.name
        ));
    }
    text
}
