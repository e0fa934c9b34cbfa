//! Writes a report as Checkstyle XML, which many build servers read.

use super::place;
use crate::check::Report;
use crate::text;

/// Formats a report.
pub fn render(report: &Report) -> String {
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"4.3\">\n");
    let mut open: Option<&str> = None;
    // Findings are sorted by path.
    for finding in &report.findings {
        if open != Some(finding.path.as_str()) {
            if open.is_some() {
                out.push_str("  </file>\n");
            }
            out.push_str(&format!("  <file name=\"{}\">\n", text::xml(&finding.path)));
            open = Some(&finding.path);
        }
        let (start, _) = place::range(report, &finding.path, finding.diagnostic.span);
        out.push_str(&format!(
            "    <error line=\"{}\" column=\"{}\" severity=\"{}\" message=\"{}\" source=\"ankus.{}\"/>\n",
            start.line,
            start.column,
            finding.level.name(),
            text::xml(&place::words(finding)),
            finding.diagnostic.kind.name
        ));
    }
    if open.is_some() {
        out.push_str("  </file>\n");
    }
    out.push_str("</checkstyle>\n");
    out
}
