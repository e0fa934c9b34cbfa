//! Writes a report in Reviewdog's diagnostic format. Columns count UTF-8 bytes, as that format requires.

use crate::check::{Finding, Report};
use crate::diag::Level;
use crate::source::{Source, Span};
use crate::text::{self, each};
use serde::Serialize;
use serde_json::{Value, json};

/// The whole object, whose diagnostics are created one at a time.
#[derive(Serialize)]
struct Log<E> {
    source: Value,
    diagnostics: E,
}

/// Formats a report as one object.
pub fn render(report: &Report) -> String {
    let one = |finding: &Finding| {
        let found = &finding.diagnostic;
        let severity = match finding.level {
            Level::Error => "ERROR",
            Level::Warning => "WARNING",
            Level::Info => "INFO",
        };
        let range = |path: &str, span| range(report, path, span);
        let suggestions: Vec<Value> = found
                .fixes
                .iter()
                .filter(|fix| fix.edits.len() == 1 && fix.edits[0].file.is_none())
                .map(|fix| json!({"range": range(&finding.path, fix.edits[0].span), "text": fix.edits[0].text}))
                .collect();
        let mut object = json!({
            "message": super::place::words(finding),
            "location": {"path": finding.path, "range": range(&finding.path, found.span)},
            "severity": severity,
            "source": {"name": "ankus"},
            "code": {"value": found.kind.name},
        });
        if let Some(page) = super::place::page(report, found.kind) {
            object["code"]["url"] = json!(page);
        }
        if !suggestions.is_empty() {
            object["suggestions"] = json!(suggestions);
        }
        if !found.notes.is_empty() {
            let related = found.notes.iter().map(|note| {
                    let path = note.file.as_deref().unwrap_or(&finding.path);
                    json!({"message": note.message, "location": {"path": path, "range": range(path, note.span)}})
                });
            object["relatedLocations"] = related.collect();
        }
        object
    };
    let mut source = json!({"name": "ankus"});
    if let Some(home) = super::place::home() {
        source["url"] = json!(home);
    }
    let log = Log { source, diagnostics: each(&report.findings, one) };
    text::pretty(&log)
}

fn range(report: &Report, path: &str, span: Span) -> Value {
    let Some((source, _)) = report.sources.get(path) else {
        return json!({"start": {"line": 1, "column": 1}});
    };
    let place = |at| json!({"line": source.position(at).line, "column": column(source, at)});
    json!({"start": place(span.start), "end": place(span.end)})
}

/// The column in bytes, from 1.
fn column(source: &Source, offset: u32) -> usize {
    source.columns(offset).0
}
