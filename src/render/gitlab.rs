//! A code quality report, which GitLab shows beside a merge request.

use super::place;
use crate::check::Report;
use crate::diag::Level;
use serde_json::{Value, json};

/// Renders a report as one list.
pub fn render(report: &Report) -> String {
    let fingerprints = place::fingerprints(report);
    let issues: Vec<Value> = report
        .findings
        .iter()
        .zip(fingerprints)
        .map(|(finding, fingerprint)| {
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
                "content": {"body": finding.diagnostic.kind.summary},
                "categories": ["Bug Risk"],
                "severity": severity,
                "fingerprint": fingerprint,
                "location": {
                    "path": finding.path,
                    "lines": {"begin": start.line, "end": end.line},
                },
            })
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&issues).expect("values have text for keys");
    text.push('\n');
    text
}
