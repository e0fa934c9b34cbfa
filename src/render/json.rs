//! The report as one JSON object. Its shape is a promise: fields are only ever added.

use super::place;
use crate::check::{FileReport, Finding, Report, Verdict};
use crate::diag::Safety;
use crate::source::{Encoding, Source, Span};
use crate::text::{Notation, Sink};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::io::{BufWriter, Write};

/// Renders a report as one indented object.
pub fn render(report: &Report) -> String {
    let mut bytes = Vec::new();
    write(report, &mut bytes).expect("there is room in memory");
    String::from_utf8(bytes).expect("JSON is text")
}

/// Writes the same, part by part.
pub fn write(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    let mut sink = Sink::new(out, Notation::Json);
    // A serializer writes letters one by one.
    let mut out = BufWriter::with_capacity(1 << 16, &mut sink);
    serde_json::to_writer_pretty(&mut out, &Whole(report))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The object, whose parts are made one after the other: the values of ten thousand definitions at once would take
/// several times the room of their text.
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
        object.serialize_entry("files", &Each(&report.files, file))?;
        object.serialize_entry(
            "findings",
            &Each(&report.findings, |f: &Finding| finding(report, f)),
        )?;
        object.serialize_entry("summary", &summary)?;
        object.end()
    }
}

/// A list, made while it is written.
pub(super) struct Each<'r, T, F>(pub(super) &'r [T], pub(super) F);

impl<T, F: Fn(&T) -> Value> Serialize for Each<'_, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
    }
}

fn file(file: &FileReport) -> Value {
    let mut object = Map::new();
    object.insert("path".to_owned(), json!(file.path));
    object.insert("kind".to_owned(), json!(file.kind.name()));
    let mut optional = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(name.to_owned(), value);
        }
    };
    optional("name", file.name.as_ref().map(|name| json!(name)));
    optional("schema", file.schema.as_ref().map(|schema| json!(schema)));
    optional("nodes", file.nodes.map(|nodes| json!(nodes)));
    object.insert("properties".to_owned(), json!(file.properties));
    if let Some(reference) = &file.reference {
        let mut answer = verdict(&reference.verdict);
        answer.insert("target".to_owned(), json!(reference.target.name()));
        answer.insert("validate".to_owned(), Value::Object(verdict(&reference.validate)));
        if let Some(submit) = &reference.submit {
            answer.insert("submit".to_owned(), Value::Object(verdict(submit)));
        }
        object.insert("reference".to_owned(), Value::Object(answer));
    }
    Value::Object(object)
}

/// One answer of the server.
fn verdict(verdict: &Verdict) -> Map<String, Value> {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    match verdict.code {
        None => {
            put("verdict", json!("accepted"));
        }
        Some(code) => {
            put("verdict", json!("rejected"));
            put("code", json!(code));
            put("subject", json!(verdict.subject));
        }
    }
    if let Some((line, column)) = verdict.at {
        put("at", json!({"line": line, "column": column}));
    }
    if !verdict.uncertain.is_empty() {
        put("uncertain", json!(verdict.uncertain));
    }
    if verdict.slow {
        put("slow", json!(true));
    }
    object
}

/// One finding.
pub fn finding(report: &Report, finding: &Finding) -> Value {
    let found = &finding.diagnostic;
    let (start, end) = places(report, &finding.path, found.span);
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("rule", json!(found.kind.name));
    put("group", json!(found.kind.group.name()));
    put("level", json!(finding.level.name()));
    put("confidence", json!(found.confidence.name()));
    if let Some(on) = found.confidence.on() {
        put("depends_on", json!(on));
    }
    put("codes", json!(found.kind.oozie));
    put("path", json!(finding.path));
    put("start", start);
    put("end", end);
    put("message", json!(found.message));
    if let Some(help) = &found.help {
        put("help", json!(help));
    }
    let notes: Vec<Value> = found
        .notes
        .iter()
        .map(|note| {
            let path = note.file.as_deref().unwrap_or(&finding.path);
            let (start, end) = places(report, path, note.span);
            json!({"path": path, "start": start, "end": end, "message": note.message})
        })
        .collect();
    put("notes", json!(notes));
    put("places", json!(found.places));
    if let Some(witness) = &found.witness {
        let run: Vec<Value> = witness
            .run
            .iter()
            .map(|step| {
                json!({"node": step.node, "exit": step.exit, "to": step.to, "path": step.path})
            })
            .collect();
        put(
            "witness",
            json!({"fault": witness.fault, "node": witness.node, "failures": witness.failures, "run": run}),
        );
    }
    let fixes: Vec<Value> = found
        .fixes
        .iter()
        .map(|fix| {
            let edits: Vec<Value> = fix
                .edits
                .iter()
                .map(|edit| {
                    let path = edit.file.as_deref().unwrap_or(&finding.path);
                    let (start, end) = (
                        offset(report, path, edit.span.start),
                        offset(report, path, edit.span.end),
                    );
                    json!({"path": path, "start": start, "end": end, "text": edit.text})
                })
                .collect();
            let safety = if fix.safety == Safety::Safe { "safe" } else { "unsafe" };
            json!({"title": fix.title, "safety": safety, "edits": edits})
        })
        .collect();
    put("fixes", json!(fixes));
    Value::Object(object)
}

/// The JSON Schema of what [`render`] writes.
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

fn places(report: &Report, path: &str, span: Span) -> (Value, Value) {
    let place = |at: u32| {
        let position = source(report, path).map(|(source, _)| source.position(at));
        let (line, column) = position.map_or((1, 1), |position| (position.line, position.column));
        json!({"line": line, "column": column, "offset": offset(report, path, at)})
    };
    (place(span.start), place(span.end))
}
