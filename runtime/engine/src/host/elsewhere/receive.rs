//! What a job left behind, put into the files of its attempt.

use std::io::{self, Write as _};
use std::path::Path;

use crate::host::process::Program;
use ankus_procedure::private;

/// Files that a job may leave behind: it is others who name them here.
pub(super) const NAMES: [&str; 4] = ["stdout", "stderr", "output.properties", "counters.json"];

/// A file, or its beginning or end.
pub(super) struct Part {
    pub(super) name: String,
    /// How large it is.
    pub(super) size: u64,
    /// What there is of it.
    pub(super) bytes: Vec<u8>,
}

/// The ending of the file that says how large one is of which only a part came back.
const SIZE: &str = ".size";

/// How large a file of a job is, where only a part of it came back.
pub(crate) fn size_of_part(folder: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(folder.join(format!("{name}{SIZE}"))).ok()?;
    text.trim().parse().ok()
}

/// Writes it; a note says what is missing, before it where it is an end.
pub(super) fn put(
    folder: &Path,
    program: &Program,
    part: &Part,
    note: Option<&str>,
    is_end: bool,
) -> io::Result<()> {
    if !NAMES.contains(&part.name.as_str()) {
        return Err(io::Error::other("the answer cannot be understood"));
    }
    if part.size > part.bytes.len() as u64 {
        // Whoever reads properties in it is not to take the part for the whole.
        private::write(&folder.join(format!("{}{SIZE}", part.name)), part.size.to_string())?;
    }
    let mut file = private::create(&folder.join(&part.name))?;
    if part.name == "stderr" {
        for line in &program.notes {
            writeln!(file, "[{line}]")?;
        }
    }
    let kept = usize::try_from(program.kept.max(program.whole)).unwrap_or(usize::MAX);
    let bytes = &part.bytes[..part.bytes.len().min(kept)];
    // Properties that are not whole would be read as others.
    let is_text = part.name.starts_with("std");
    if let Some(note) = note.filter(|_| is_end && is_text) {
        writeln!(file, "{note}")?;
    }
    file.write_all(bytes)?;
    if let Some(note) = note.filter(|_| !is_end && is_text) {
        writeln!(file, "{}{note}", if bytes.is_empty() { "" } else { "\n" })?;
    }
    if part.bytes.len() > kept {
        let more = part.bytes.len() - kept;
        writeln!(
            file,
            "\n[{more} bytes more were not kept: of one stream the first {kept} are, [launchers] output]"
        )?;
    }
    file.sync_data()
}
