//! The share library of a server: a folder of jars for each action type.

use std::io;

use super::{FileUri, Files};

/// A part of a share library: its name, and the URIs of its files.
pub type LibraryPart = (String, Vec<String>);

/// Returns the newest of the folders `lib_TIMESTAMP` (`lib_20250101120000`), or the library itself, as with older
/// servers.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn newest_library(files: &dyn Files, system: &FileUri) -> io::Result<FileUri> {
    let is_stamp = |name: &String| {
        let digits = name.strip_prefix("lib_");
        digits.is_some_and(|rest| rest.len() == 14 && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let newest = files.list(system)?.into_iter().filter(is_stamp).max();
    Ok(newest.map_or_else(|| system.clone(), |name| system.child(&name)))
}

/// Returns the parts of a share library, each with the URIs of its files, including those in subfolders. Returns none
/// if the library does not exist.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn library_parts(files: &dyn Files, system: &FileUri) -> io::Result<Option<Vec<LibraryPart>>> {
    if !files.status(system)?.is_some_and(|status| status.directory) {
        return Ok(None);
    }
    let root = newest_library(files, system)?;
    let mut parts = Vec::new();
    for name in files.list(&root)? {
        let folder = root.child(&name);
        if !files.status(&folder)?.is_some_and(|status| status.directory) {
            continue;
        }
        let mut found = Vec::new();
        let mut below = vec![folder];
        while let Some(folder) = below.pop() {
            for name in files.list(&folder)? {
                let uri = folder.child(&name);
                match files.status(&uri)? {
                    Some(status) if status.directory => below.push(uri),
                    Some(_) => found.push(uri.to_string()),
                    None => {}
                }
            }
        }
        found.sort();
        parts.push((name, found));
    }
    Ok(Some(parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::MemoryFiles;

    #[test]
    fn the_newest_library_counts() {
        let files = MemoryFiles::default();
        let at = |path: &str| FileUri::parse(&format!("hdfs://nn/share/lib{path}"));
        for path in [
            "/lib_20240101000000/pig/old.jar",
            "/lib_20250101000000/pig/a/b.jar",
            "/lib_x/pig/c.jar",
        ] {
            files.write(&at(path), b"").expect("in memory");
        }
        let parts = library_parts(&files, &at("")).expect("readable").expect("there");
        let jar = "hdfs://nn/share/lib/lib_20250101000000/pig/a/b.jar".to_owned();
        assert_eq!(parts, vec![("pig".to_owned(), vec![jar])]);
        assert_eq!(library_parts(&files, &FileUri::parse("/none")).expect("readable"), None);
    }
}
