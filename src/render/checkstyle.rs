//! Checkstyle's XML, which many build servers read.

use super::place;
use crate::check::Report;

/// Renders a report.
pub fn render(report: &Report) -> String {
    let mut text =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"4.3\">\n");
    let mut open: Option<&str> = None;
    // Findings are sorted by path.
    for finding in &report.findings {
        if open != Some(finding.path.as_str()) {
            if open.is_some() {
                text.push_str("  </file>\n");
            }
            text.push_str(&format!("  <file name=\"{}\">\n", place::xml(&finding.path)));
            open = Some(&finding.path);
        }
        let (start, _) = place::range(report, &finding.path, finding.diagnostic.span);
        text.push_str(&format!(
            "    <error line=\"{}\" column=\"{}\" severity=\"{}\" message=\"{}\" source=\"ankus.{}\"/>\n",
            start.line,
            start.column,
            finding.level.name(),
            place::xml(&place::words(finding)),
            finding.diagnostic.kind.name
        ));
    }
    if open.is_some() {
        text.push_str("  </file>\n");
    }
    text.push_str("</checkstyle>\n");
    text
}
