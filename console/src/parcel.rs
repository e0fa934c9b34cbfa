//! Collects everything about a job in one archive, to be sent to support. Secrets are masked in it as everywhere.

use super::ask;
use crate::{Answer, Console, Fault, Request};
use std::io::{Cursor, Write as _};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The files of the archive, and their sources.
const PARTS: [(&str, &str); 6] = [
    ("job.json", "info"),
    ("definition.xml", "definition"),
    ("log.txt", "log"),
    ("error-log.txt", "errorlog"),
    ("audit-log.txt", "auditlog"),
    ("graph.svg", "graph"),
];

pub(crate) fn answer(console: &Console, request: &Request) -> Result<Answer, Fault> {
    let id = request.required("id")?;
    let get = |show: &str| {
        ask(console, request, "GET", &["v2", "job", id], &[("show", show), ("format", "svg")], None)
    };
    // Without this part the job does not exist.
    get("info")?;
    let broken = |error: zip::result::ZipError| Fault::new(500, error.to_string());
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut lacks = String::new();
    for (name, show) in PARTS {
        let got = match show {
            "definition" => get(show).and_then(|bytes| {
                let text = String::from_utf8_lossy(&bytes);
                console.pages.masked(id, &text).map(String::into_bytes)
            }),
            _ => get(show),
        };
        match got {
            Ok(bytes) => {
                archive.start_file(name, options).map_err(broken)?;
                archive.write_all(&bytes).map_err(|error| Fault::new(500, error.to_string()))?;
            }
            Err(fault) => lacks.push_str(&format!("{name}: {}\n", fault.message)),
        }
    }
    if !lacks.is_empty() {
        archive.start_file("missing.txt", options).map_err(broken)?;
        archive.write_all(lacks.as_bytes()).map_err(|error| Fault::new(500, error.to_string()))?;
    }
    let bytes = archive.finish().map_err(broken)?.into_inner();
    let name: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let saved = format!("attachment; filename=\"{name}.zip\"");
    Ok(Answer::of("application/zip", bytes).with("content-disposition", saved))
}
