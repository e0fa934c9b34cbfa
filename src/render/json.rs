//! Writes a report as one JSON object. Its format is stable: fields are only added.

use super::place;
use crate::check::{FileReport, Finding, Reference, Report, Verdict};
use crate::diag::{Fix, Move, Safety};
use crate::source::{Encoding, Source, Span};
use crate::text::{Notation, Sink, each};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::io::{BufWriter, Write};

/// Formats a report as one indented object.
pub fn render(report: &Report) -> String {
    let mut bytes = Vec::new();
    write(report, &mut bytes).expect("there is room in memory");
    String::from_utf8(bytes).expect("JSON is text")
}

/// Writes a report as one indented object, part by part.
pub fn write(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    let mut sink = Sink::new(out, Notation::Json);
    // The serializer writes single characters.
    let mut out = BufWriter::with_capacity(1 << 16, &mut sink);
    serde_json::to_writer_pretty(&mut out, &Whole(report))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The whole object, whose parts are created one at a time: the values of ten thousand definitions at once would take
/// several times the memory of their text.
struct Whole<'r>(&'r Report);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = self.0;
        let summary: Map<String, Value> = place::counts(report)
            .into_iter()
            .map(|(name, count)| (name.to_owned(), json!(count)))
            .collect();
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("version", &1)?;
        let tool = json!({"name": "ankus", "version": env!("CARGO_PKG_VERSION")});
        object.serialize_entry("tool", &tool)?;
        object.serialize_entry("files", &each(&report.files, File))?;
        object.serialize_entry(
            "findings",
            &each(&report.findings, |finding| Shown { report, finding, kind: None }),
        )?;
        object.serialize_entry("summary", &summary)?;
        object.end()
    }
}

struct File<'r>(&'r FileReport);

impl Serialize for File<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let file = self.0;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("path", &file.path)?;
        object.serialize_entry("kind", file.kind.name())?;
        if let Some(name) = &file.name {
            object.serialize_entry("name", name)?;
        }
        if let Some(schema) = &file.schema {
            object.serialize_entry("schema", schema)?;
        }
        if let Some(nodes) = &file.nodes {
            object.serialize_entry("nodes", nodes)?;
        }
        object.serialize_entry("properties", &file.properties)?;
        if let Some(reference) = &file.reference {
            object.serialize_entry("reference", &Answers(reference))?;
        }
        object.end()
    }
}

/// The server's answers, with the first one in the object itself.
struct Answers<'r>(&'r Reference);

impl Serialize for Answers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        verdict(&self.0.verdict, &mut object)?;
        object.serialize_entry("target", self.0.target.name())?;
        object.serialize_entry("validate", &Answered(&self.0.validate))?;
        if let Some(submit) = &self.0.submit {
            object.serialize_entry("submit", &Answered(submit))?;
        }
        object.end()
    }
}

/// One answer of the server.
struct Answered<'r>(&'r Verdict);

impl Serialize for Answered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        verdict(self.0, &mut object)?;
        object.end()
    }
}

fn verdict<M: SerializeMap>(verdict: &Verdict, object: &mut M) -> Result<(), M::Error> {
    match verdict.code {
        None => object.serialize_entry("verdict", "accepted")?,
        Some(code) => {
            object.serialize_entry("verdict", "rejected")?;
            object.serialize_entry("code", code)?;
            object.serialize_entry("subject", &verdict.subject)?;
        }
    }
    if let Some((line, column)) = verdict.at {
        object.serialize_entry("at", &At { line, column })?;
    }
    if !verdict.uncertain.is_empty() {
        object.serialize_entry("uncertain", &verdict.uncertain)?;
    }
    if verdict.slow {
        object.serialize_entry("slow", &true)?;
    }
    Ok(())
}

/// The position of a refusal.
#[derive(Serialize)]
struct At {
    line: u32,
    column: u32,
}

/// One finding, created while it is written: a finding with 64,000 locations has a fix with as many edits.
pub(super) struct Shown<'r> {
    pub(super) report: &'r Report,
    pub(super) finding: &'r Finding,
    /// The `type` of an object, in a format that has other objects as well.
    pub(super) kind: Option<&'static str>,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Shown { report, finding, kind } = *self;
        let found = &finding.diagnostic;
        let (start, end) = places(report, &finding.path, found.span);
        let mut object = serializer.serialize_map(None)?;
        if let Some(kind) = kind {
            object.serialize_entry("type", kind)?;
        }
        object.serialize_entry("rule", found.kind.name)?;
        object.serialize_entry("group", found.kind.group.name())?;
        object.serialize_entry("level", finding.level.name())?;
        object.serialize_entry("confidence", found.confidence.name())?;
        if let Some(on) = found.confidence.on() {
            object.serialize_entry("depends_on", on)?;
        }
        object.serialize_entry("codes", found.kind.oozie)?;
        object.serialize_entry("path", &finding.path)?;
        object.serialize_entry("start", &start)?;
        object.serialize_entry("end", &end)?;
        object.serialize_entry("message", &found.message)?;
        if let Some(help) = &found.help {
            object.serialize_entry("help", help)?;
        }
        let notes = each(&found.notes, |note| {
            let path = note.file.as_deref().unwrap_or(&finding.path);
            let (start, end) = places(report, path, note.span);
            Note { path, start, end, message: &note.message }
        });
        object.serialize_entry("notes", &notes)?;
        object.serialize_entry("places", &found.places)?;
        if let Some(witness) = &found.witness {
            let step = |step: &Move| json!({"node": step.node, "exit": step.exit, "to": step.to, "path": step.path});
            let run: Vec<Value> = witness.run.iter().map(step).collect();
            let witness = json!({
                "fault": witness.fault, "node": witness.node, "failures": witness.failures, "run": run,
            });
            object.serialize_entry("witness", &witness)?;
        }
        let fixes = each(&found.fixes, |fix| ShownFix { report, finding, fix });
        object.serialize_entry("fixes", &fixes)?;
        object.end()
    }
}

/// A position in a text; `offset` counts bytes in the file.
#[derive(Serialize)]
struct Place {
    line: u32,
    column: u32,
    offset: u64,
}

#[derive(Serialize)]
struct Note<'r> {
    path: &'r str,
    start: Place,
    end: Place,
    message: &'r str,
}

#[derive(Serialize)]
struct Edit<'r> {
    path: &'r str,
    start: u64,
    end: u64,
    text: &'r str,
}

struct ShownFix<'r> {
    report: &'r Report,
    finding: &'r Finding,
    fix: &'r Fix,
}

impl Serialize for ShownFix<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let edits = each(&self.fix.edits, |edit| {
            let path = edit.file.as_deref().unwrap_or(&self.finding.path);
            let start = offset(self.report, path, edit.span.start);
            let end = offset(self.report, path, edit.span.end);
            Edit { path, start, end, text: &edit.text }
        });
        let safety = if self.fix.safety == Safety::Safe { "safe" } else { "unsafe" };
        let mut object = serializer.serialize_map(Some(3))?;
        object.serialize_entry("title", &self.fix.title)?;
        object.serialize_entry("safety", safety)?;
        object.serialize_entry("edits", &edits)?;
        object.end()
    }
}

/// The JSON Schema of the output of [`render`].
pub fn schema() -> Value {
    let list = |items: Value| json!({"type": "array", "items": items});
    let text = json!({"type": "string"});
    let number = json!({"type": "integer", "minimum": 0});
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let link = |name: &str| json!({"$ref": format!("#/$defs/{name}")});
    let verdict = json!({
        "verdict": {"enum": ["accepted", "rejected"]},
        "code": text, "subject": list(text.clone()),
        "at": object(json!({"line": number, "column": number}), &["line", "column"]),
        "uncertain": list(text.clone()), "slow": {"type": "boolean"},
    });
    let mut reference = verdict.clone();
    reference["target"] = text.clone();
    reference["validate"] = link("verdict");
    reference["submit"] = link("verdict");
    let file = json!({
        "path": text, "kind": text, "name": text, "schema": text, "nodes": number,
        "properties": list(text.clone()), "reference": object(reference, &["verdict", "target", "validate"]),
    });
    let note = json!({"path": text, "start": link("place"), "end": link("place"), "message": text});
    let step = json!({"node": text, "exit": text, "to": text, "path": text});
    let witness = json!({"fault": text, "node": text, "failures": number, "run": list(object(step, &["node", "exit", "to", "path"]))});
    let edit = json!({"path": text, "start": number, "end": number, "text": text});
    let fix = json!({"title": text, "safety": {"enum": ["safe", "unsafe"]}, "edits": list(object(edit, &["path", "start", "end", "text"]))});
    let finding = json!({
        "rule": text, "group": text, "level": {"enum": ["error", "warning", "info"]}, "codes": list(text.clone()),
        "confidence": {"enum": ["certain", "likely", "depends"]}, "depends_on": text, "places": number,
        "path": text, "start": link("place"), "end": link("place"), "message": text, "help": text,
        "notes": list(object(note, &["path", "start", "end", "message"])),
        "witness": object(witness, &["fault", "node", "failures", "run"]),
        "fixes": list(object(fix, &["title", "safety", "edits"])),
    });
    let counts = place::counts(&Report::default()).map(|(name, _)| name);
    let summary: Map<String, Value> =
        counts.iter().map(|name| ((*name).to_owned(), number.clone())).collect();
    let required = ["version", "tool", "files", "findings", "summary"];
    let mut schema = object(
        json!({
            "version": {"const": 1},
            "tool": object(json!({"name": text, "version": text}), &["name", "version"]),
            "files": list(object(file, &["path", "kind", "properties"])),
            "findings": list(object(finding, &["rule", "group", "level", "codes", "path", "start", "end", "message", "notes", "fixes", "confidence", "places"])),
            "summary": object(Value::Object(summary), &counts),
        }),
        &required,
    );
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("The output of `ankus check --format json`");
    schema["$defs"] = json!({
        "place": object(json!({"line": number, "column": number, "offset": number}), &["line", "column", "offset"]),
        "verdict": object(verdict, &["verdict"]),
    });
    schema
}

fn source<'a>(report: &'a Report, path: &str) -> Option<(&'a Source, Encoding)> {
    report.sources.get(path).map(|(source, encoding)| (source.as_ref(), *encoding))
}

fn offset(report: &Report, path: &str, at: u32) -> u64 {
    match source(report, path) {
        Some((source, encoding)) => encoding.file_offset(source, at),
        None => u64::from(at),
    }
}

fn places(report: &Report, path: &str, span: Span) -> (Place, Place) {
    let place = |at: u32| {
        let position = source(report, path).map(|(source, _)| source.position(at));
        let (line, column) = position.map_or((1, 1), |position| (position.line, position.column));
        Place { line, column, offset: offset(report, path, at) }
    };
    (place(span.start), place(span.end))
}
