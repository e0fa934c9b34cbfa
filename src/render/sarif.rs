//! Writes a report as SARIF 2.1.0, which code hosts and editors read.
//!
//! Columns count UTF-16 code units, the default of the format; a result includes related locations, its fixes and a
//! fingerprint that survives moved lines.

use super::place;
use crate::check::{Finding, Report};
use crate::diag::{Group, Kind, Level, Safety};
use crate::source::{Source, Span};
use crate::text::{Notation, Sink, each};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufWriter, Write};

/// Formats a report as one run.
pub fn render(report: &Report) -> String {
    let mut bytes = Vec::new();
    write(report, &mut bytes).expect("there is room in memory");
    String::from_utf8(bytes).expect("JSON is text")
}

/// Writes a report part by part, so that the results of ten thousand definitions are never in memory at once.
pub fn write(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    // Only rules with findings: a list of all rules would be most of the file.
    let mut kinds: Vec<&'static Kind> =
        report.findings.iter().map(|finding| finding.diagnostic.kind).collect();
    kinds.sort_by_key(|kind| kind.name);
    kinds.dedup_by_key(|kind| kind.name);
    let fingerprints = place::fingerprints(report);
    let run = Run { report, kinds: &kinds, fingerprints: &fingerprints };
    let mut sink = Sink::new(out, Notation::Json);
    // The serializer writes single characters.
    let mut out = BufWriter::with_capacity(1 << 16, &mut sink);
    serde_json::to_writer_pretty(&mut out, &Log(&run))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The whole file.
struct Log<'r>(&'r Run<'r>);

impl Serialize for Log<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut log = serializer.serialize_map(None)?;
        log.serialize_entry("$schema", "https://json.schemastore.org/sarif-2.1.0.json")?;
        log.serialize_entry("version", "2.1.0")?;
        log.serialize_entry("runs", &[self.0])?;
        log.end()
    }
}

/// The only run of the file, whose results are created while they are written.
struct Run<'r> {
    report: &'r Report,
    kinds: &'r [&'static Kind],
    fingerprints: &'r [String],
}

impl Serialize for Run<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tool = json!({"driver": {
            "name": "ankus",
            "version": env!("CARGO_PKG_VERSION"),
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": self.kinds.iter().map(|kind| rule(self.report, kind)).collect::<Vec<_>>(),
        }});
        if let Some(home) = place::home() {
            tool["driver"]["informationUri"] = json!(home);
        }
        let counts: serde_json::Map<String, Value> = place::counts(self.report)
            .into_iter()
            .map(|(name, count)| (name.to_owned(), json!(count)))
            .collect();
        let places: HashMap<&str, usize> =
            self.kinds.iter().enumerate().map(|(at, kind)| (kind.name, at)).collect();
        let pairs: Vec<(&Finding, &String)> =
            self.report.findings.iter().zip(self.fingerprints).collect();
        let results = each(&pairs, |(finding, print): &(&Finding, &String)| {
            let index = places.get(finding.diagnostic.kind.name).copied();
            result(self.report, finding, index, print)
        });
        let mut run = serializer.serialize_map(None)?;
        run.serialize_entry("tool", &tool)?;
        run.serialize_entry("columnKind", "utf16CodeUnits")?;
        run.serialize_entry("results", &results)?;
        run.serialize_entry("invocations", &[invocation(self.report)])?;
        run.serialize_entry("properties", &json!({"summary": counts}))?;
        run.end()
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "note",
    }
}

fn rule(report: &Report, kind: &Kind) -> Value {
    let text = kind.page.split("\n## ").next().unwrap_or_default();
    let text = text.split_once('\n').map_or("", |(_, rest)| rest).trim();
    let text = if text.is_empty() { kind.summary } else { text };
    let mut rule = json!({
        "id": kind.name,
        "shortDescription": {"text": kind.summary},
        "fullDescription": {"text": text.replace('\n', " ")},
        "help": {"text": kind.page, "markdown": kind.page},
        "defaultConfiguration": {"level": level(kind.level)},
        "properties": {"tags": [kind.group.name()], "codes": kind.oozie},
    });
    if let Some(page) = place::page(report, kind) {
        rule["helpUri"] = json!(page);
    }
    // Code hosts use this to sort results with the tag `security`.
    if kind.group == Group::Security {
        rule["properties"]["security-severity"] = json!(match kind.level {
            Level::Error => "8.0",
            Level::Warning => "5.5",
            Level::Info => "3.0",
        });
    }
    rule
}

/// The result of the check itself: unreadable files are not findings.
fn invocation(report: &Report) -> Value {
    let notices: Vec<Value> = report
        .unreadable
        .iter()
        .map(|why| json!({"level": "error", "message": {"text": why}}))
        .collect();
    let mut invocation = json!({"executionSuccessful": notices.is_empty()});
    if !notices.is_empty() {
        invocation["toolExecutionNotifications"] = json!(notices);
    }
    invocation
}

fn result(report: &Report, finding: &Finding, index: Option<usize>, print: &str) -> Value {
    let found = &finding.diagnostic;
    let mut result = json!({
        "ruleId": found.kind.name,
        "level": level(finding.level),
        "message": {"text": place::words(finding)},
        "locations": [location(report, &finding.path, found.span)],
        "partialFingerprints": {"ankus/v1": print},
    });
    if let Some(index) = index {
        result["ruleIndex"] = json!(index);
    }
    if !found.notes.is_empty() {
        let related = found.notes.iter().map(|note| {
            let path = note.file.as_deref().unwrap_or(&finding.path);
            let mut location = location(report, path, note.span);
            location["message"] = json!({"text": note.message});
            location
        });
        result["relatedLocations"] = related.collect();
    }
    if let Some(witness) = &found.witness {
        let steps = witness.run.iter().map(|step| {
            let text = format!("{} {} → {}", step.node, step.exit, step.to);
            let mut location = location(report, &finding.path, step.span);
            location["message"] = json!({"text": text});
            json!({"location": location})
        });
        let steps: Vec<Value> = steps.collect();
        if !steps.is_empty() {
            result["codeFlows"] = json!([{"threadFlows": [{"locations": steps}]}]);
        }
    }
    if !found.fixes.is_empty() {
        let fixes = found.fixes.iter().map(|fix| {
            let mut files: Vec<(&str, Vec<Value>)> = Vec::new();
            for edit in &fix.edits {
                let path = edit.file.as_deref().unwrap_or(&finding.path);
                let replacement = json!({
                    "deletedRegion": region(report, path, edit.span),
                    "insertedContent": {"text": edit.text},
                });
                match files.iter_mut().find(|(known, _)| *known == path) {
                    Some((_, list)) => list.push(replacement),
                    None => files.push((path, vec![replacement])),
                }
            }
            let changes: Vec<Value> = files
                .into_iter()
                .map(|(path, list)| json!({"artifactLocation": artifact(path), "replacements": list}))
                .collect();
            let sure = if fix.safety == Safety::Safe { "" } else { " (a guess)" };
            json!({"description": {"text": format!("{}{sure}", fix.title)}, "artifactChanges": changes})
        });
        let fixes: Vec<Value> = fixes.filter(|fix| fix["artifactChanges"] != json!([])).collect();
        result["fixes"] = json!(fixes);
    }
    result
}

fn location(report: &Report, path: &str, span: Span) -> Value {
    json!({"physicalLocation": {
        "artifactLocation": artifact(path),
        "region": region(report, path, span),
    }})
}

fn artifact(path: &str) -> Value {
    if path.starts_with('/') {
        json!({"uri": format!("file://{}", place::uri(path))})
    } else {
        json!({"uri": place::uri(path), "uriBaseId": "%SRCROOT%"})
    }
}

fn region(report: &Report, path: &str, span: Span) -> Value {
    let Some((source, _)) = report.sources.get(path) else {
        return json!({"startLine": 1, "startColumn": 1});
    };
    let (start, end) = (source.position(span.start), source.position(span.end));
    json!({
        "startLine": start.line,
        "startColumn": column(source, span.start),
        "endLine": end.line,
        "endColumn": column(source, span.end),
    })
}

/// The column in UTF-16 code units, from 1.
fn column(source: &Source, offset: u32) -> usize {
    source.columns(offset).1
}
