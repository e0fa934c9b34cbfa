//! Stores the results of a job in the files of its attempt.

use std::io::{self, Write as _};
use std::path::Path;

use crate::host::process::Program;
use ankus_procedure::private;

/// The names of files that a job may return: the names come from the other side.
pub(super) const NAMES: [&str; 4] = ["stdout", "stderr", "output.properties", "counters.json"];

/// A file, or its beginning or end.
pub(super) struct Part {
    pub(super) name: String,
    /// Its full size.
    pub(super) size: u64,
    /// The received bytes.
    pub(super) bytes: Vec<u8>,
}

/// The extension of the file with the full size of one of which only a part was received.
const SIZE: &str = ".size";

/// Returns the full size of a file of which only a part was received.
pub(crate) fn size_of_part(folder: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(folder.join(format!("{name}{SIZE}"))).ok()?;
    text.trim().parse().ok()
}

/// Writes a part to its file, with a note about what is missing: before it if it is the end of the file.
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
        // Readers of its properties must not take the part for the whole.
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
    // A note would change the meaning of properties.
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
