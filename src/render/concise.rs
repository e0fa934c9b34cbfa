//! One line a finding, as compilers print them.

use crate::check::Report;

/// Renders a report.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let place = report
            .sources
            .get(&finding.path)
            .map(|(source, _)| source.position(finding.diagnostic.span.start));
        let (line, column) = place.map_or((1, 1), |place| (place.line, place.column));
        text.push_str(&format!(
            "{}:{line}:{column}: {}: {} [{}]\n",
            finding.path,
            finding.level.name(),
            finding.diagnostic.message,
            finding.diagnostic.kind.name
        ));
    }
    text
}
