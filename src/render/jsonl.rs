//! Writes a report with one JSON object per line: each finding as in [`super::json`], then the summary.

use super::json::Shown;
use crate::check::Report;
use crate::text::{Notation, Sink};
use serde_json::json;
use std::io::{BufWriter, Write};

/// Formats a report. Every line is an object with a `type`: `finding`, or `summary` for the last.
pub fn render(report: &Report) -> String {
    let mut bytes = Vec::new();
    write(report, &mut bytes).expect("there is room in memory");
    String::from_utf8(bytes).expect("JSON is text")
}

/// Writes a report line by line.
pub fn write(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    let mut sink = Sink::new(out, Notation::Json);
    // The serializer writes single characters.
    let mut out = BufWriter::with_capacity(1 << 16, &mut sink);
    for finding in &report.findings {
        let object = Shown { report, finding, kind: Some("finding") };
        serde_json::to_writer(&mut out, &object)?;
        out.write_all(b"\n")?;
    }
    let mut summary = json!({
        "type": "summary",
        "version": 1,
        "tool": {"name": "ankus", "version": env!("CARGO_PKG_VERSION")},
    });
    for (name, count) in super::place::counts(report) {
        summary[name] = json!(count);
    }
    writeln!(out, "{summary}")?;
    out.flush()
}
