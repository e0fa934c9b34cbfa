//! Writes a report as a GitLab code quality report, which is shown in a merge request.

use super::place;
use crate::check::{Finding, Report};
use crate::diag::{Kind, Level};
use crate::text::{self, each};
use serde_json::json;

/// Formats a report as one list.
pub fn render(report: &Report) -> String {
    let fingerprints = place::fingerprints(report);
    let pairs: Vec<(&Finding, String)> = report.findings.iter().zip(fingerprints).collect();
    let one = |(finding, fingerprint): &(&Finding, String)| {
        let (start, end) = place::range(report, &finding.path, finding.diagnostic.span);
        let severity = match finding.level {
            Level::Error => "major",
            Level::Warning => "minor",
            Level::Info => "info",
        };
        json!({
            "type": "issue",
            "check_name": finding.diagnostic.kind.name,
            "description": place::words(finding),
            "content": {"body": body(report, finding.diagnostic.kind)},
            "categories": ["Bug Risk"],
            "severity": severity,
            "fingerprint": fingerprint,
            "location": {
                "path": finding.path,
                "lines": {"begin": start.line, "end": end.line},
            },
        })
    };
    text::pretty(&each(&pairs, one))
}

/// The text shown when a reader opens the issue.
fn body(report: &Report, kind: &Kind) -> String {
    format!("{}\n\n{}", kind.summary, place::more(report, kind))
}
