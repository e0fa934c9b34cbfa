//! Brings the files for an action's program into its working directory: `lib/`, files, archives, scripts and jars.

use super::{COPIED, COPIES, Workplace, child_text, entries, own, refusal, unreadable};
use crate::actions::cluster::Shipped;
use crate::actions::command::Refusal;
use crate::host::files::{FileUri, Files, archive};
use ankus_lang::machine::Class;
use ankus_procedure::private;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

impl Workplace<'_, '_> {
    /// Brings archives, the script or jar of the element, `lib/`, the libraries of the job and files into the working
    /// directory, in this order: of two with the same name, the first gets it, as on a server.
    pub(super) fn bring_files(&self, work: &Path) -> Result<Shipped, Refusal> {
        let mut shipped = Shipped::default();
        for entry in entries(self.element, "archive") {
            let (uri, link) = self.linked(&entry)?;
            let name = link.unwrap_or_else(|| uri.name()).to_owned();
            let is_there = shipped.names.contains_key(&name);
            if shipped.claim(&name, &uri) && !is_there {
                let source = self.unpack(&uri, work, &name)?;
                shipped.archives.push((name, source));
            }
        }
        let programs = ["script", "jar"].into_iter().filter_map(|name| {
            let path = child_text(self.element, name).filter(|path| !path.is_empty())?;
            Some((name, self.resolve(&path)))
        });
        let mut absent = None;
        for (name, uri) in programs {
            let status = self.files.status(&uri).map_err(|error| unreadable(&uri, &error))?;
            if status.is_none() {
                // A missing jar may be on the machine of the tool.
                absent = absent.or((name == "script").then_some(uri));
            } else if self.bring_as(&uri, work, uri.name(), &mut shipped)? {
                shipped.programs.push(uri.name().to_owned());
            }
        }
        self.bring_libraries(work, &mut shipped)?;
        for entry in entries(self.element, "file") {
            let (uri, link) = self.linked(&entry)?;
            let name = link.unwrap_or_else(|| uri.name()).to_owned();
            if !self.bring_as(&uri, work, &name, &mut shipped)? {
                continue;
            }
            let path = work.join(&name);
            match link.is_none() && name.ends_with(".jar") {
                true => shipped.jars.push((name, path)),
                false => shipped.files.push((name, path)),
            }
        }
        // A script that does not exist at its path may have been brought from elsewhere under the same name.
        if let Some(uri) = absent.filter(|uri| !work.join(uri.name()).exists()) {
            self.bring(&uri, work, uri.name())?;
            shipped.programs.push(uri.name().to_owned());
        }
        for list in [&mut shipped.jars, &mut shipped.files] {
            let mut seen = std::collections::BTreeSet::new();
            list.retain(|(name, _)| seen.insert(name.clone()));
        }
        Ok(shipped)
    }

    /// Returns the URI that a `<file>` or `<archive>` names, and the name of its link.
    fn linked<'e>(&self, entry: &'e str) -> Result<(FileUri, Option<&'e str>), Refusal> {
        is_uri(entry)?;
        let (path, link) = split_link(entry);
        Ok((self.resolve(&decoded(path)?), link))
    }

    /// Brings a file, unless another one has its name already. Returns whether it did.
    pub(super) fn bring_as(
        &self,
        uri: &FileUri,
        work: &Path,
        name: &str,
        shipped: &mut Shipped,
    ) -> Result<bool, Refusal> {
        let is_own = shipped.claim(name, uri);
        if is_own {
            self.bring(uri, work, name)?;
        }
        Ok(is_own)
    }

    /// Brings a file that the job itself needs. Uses another name if its own is taken.
    pub(super) fn bring_needed(
        &self,
        uri: &FileUri,
        work: &Path,
        shipped: &mut Shipped,
    ) -> Result<PathBuf, Refusal> {
        let is_taken = shipped.names.get(uri.name()).is_some_and(|first| first != uri);
        let name = match is_taken {
            true => format!("own/{}", uri.name()),
            false => uri.name().to_owned(),
        };
        self.bring_as(uri, work, &name, shipped)?;
        Ok(work.join(name))
    }

    /// Returns the path of a file on this machine, or the engine's error if it does not exist.
    pub(super) fn locate(&self, uri: &FileUri) -> Result<PathBuf, Refusal> {
        let copies = self.folder.join(COPIES);
        let number = fs::read_dir(&copies).map_or(0, Iterator::count).to_string();
        match self.files.locate(uri, &copies.join(number).join(uri.name())) {
            Ok(Some(path)) => Ok(std::path::absolute(&path).unwrap_or(path)),
            Ok(None) => {
                let place = match self.files.place(uri) {
                    Some(_) => format!("below the file root {}", self.files.root().display()),
                    None => "in its cluster".to_owned(),
                };
                let message = format!(
                    "File does not exist: {uri} (looked for in the application and {place})"
                );
                Err(refusal(Class::Error, "JA008", message))
            }
            Err(error) => Err(unreadable(uri, &error)),
        }
    }

    pub(super) fn bring(&self, uri: &FileUri, work: &Path, name: &str) -> Result<(), Refusal> {
        let source = self.locate(uri)?;
        let target = within(work, name)?;
        if target.symlink_metadata().is_ok() {
            return Ok(());
        }
        let metadata = fs::metadata(&source).map_err(|error| own(&error, &source))?;
        if metadata.is_dir() || metadata.len() > COPIED {
            return std::os::unix::fs::symlink(&source, &target)
                .map_err(|error| own(&error, &target));
        }
        // The program gets its own copy, since it may change it. All files are executable.
        fs::copy(&source, &target).map_err(|error| own(&error, &target))?;
        let mode = metadata.permissions().mode() | 0o700;
        fs::set_permissions(&target, fs::Permissions::from_mode(mode))
            .and_then(|()| match self.is_lasting() {
                true => fs::File::open(&target)?.sync_data(),
                false => Ok(()),
            })
            .map_err(|error| own(&error, &target))
    }

    /// Returns the path of the original archive, beside the unpacked one. For a program that runs elsewhere, the
    /// archive is linked into the folder of the attempt, which is sent there.
    fn beside(&self, source: PathBuf) -> Result<PathBuf, Refusal> {
        let copies = self.folder.join(COPIES);
        if !self.needs.places.contains_key(self.element.tag_name().name())
            || source.starts_with(&copies)
        {
            return Ok(source);
        }
        let number = fs::read_dir(&copies).map_or(0, Iterator::count).to_string();
        let folder = copies.join(number);
        private::folder(&folder).map_err(|error| own(&error, &folder))?;
        let copy = folder.join(source.file_name().unwrap_or_default());
        // The transfer follows links.
        let link = std::os::unix::fs::symlink(&source, &copy);
        link.map(|()| copy.clone()).map_err(|error| own(&error, &copy))
    }

    fn unpack(&self, uri: &FileUri, work: &Path, name: &str) -> Result<PathBuf, Refusal> {
        let source = self.locate(uri)?;
        let target = within(work, name)?;
        private::folder(&target).map_err(|error| own(&error, &target))?;
        match archive::unpack(&source, uri.name(), &target, archive::QUOTA) {
            Some(Ok(())) => self.beside(source),
            // A broken archive stays broken; a full disk is a transient error.
            Some(Err(error)) => match error.kind() {
                io::ErrorKind::StorageFull => Err(own(&error, &target)),
                _ => Err(refusal(Class::Error, "JA018", format!("cannot unpack `{uri}`: {error}"))),
            },
            None => {
                let message = format!(
                    "`{uri}` is not an archive that can be unpacked (.zip, .jar, .tar, .tar.gz, .tgz)"
                );
                Err(refusal(Class::Error, "JA018", message))
            }
        }
    }
}

/// Returns the path of a name within a folder; a name that leads out of it is refused.
fn within(folder: &Path, name: &str) -> Result<PathBuf, Refusal> {
    let plain = !name.is_empty()
        && !name.starts_with('/')
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !plain {
        return Err(refusal(
            Class::Error,
            "JA018",
            format!("`{name}` is not a valid name for a link in the working directory"),
        ));
    }
    let path = folder.join(name);
    if let Some(parent) = path.parent() {
        private::folder(parent).map_err(|error| own(&error, parent))?;
    }
    Ok(path)
}

/// Splits `path#name`.
fn split_link(entry: &str) -> (&str, Option<&str>) {
    match entry.split_once('#') {
        Some((path, link)) if !link.is_empty() => (path, Some(link)),
        Some((path, _)) => (path, None),
        None => (entry, None),
    }
}

/// Refuses what is no URI for a server: Java accepts certain characters nowhere in a URI, and `#` only once.
fn is_uri(entry: &str) -> Result<(), Refusal> {
    let mut is_name = false;
    for (at, character) in entry.replace(' ', "%20").chars().enumerate() {
        let is_legal = match character {
            '#' => !std::mem::replace(&mut is_name, true),
            '[' | ']' => is_name,
            '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => false,
            other => !other.is_control(),
        };
        if !is_legal {
            let part = if is_name { "fragment" } else { "path" };
            let message = format!(
                "Illegal character in {part} at index {at}: {entry}; write `%{:02X}` for it",
                u32::from(character)
            );
            return Err(refusal(Class::Error, "URISyntaxException", message));
        }
    }
    Ok(())
}

/// Decodes the path of a `<file>` or `<archive>`, which a server parses as a URI: `%20` is a space, `%25` a percent
/// sign.
fn decoded(path: &str) -> Result<String, Refusal> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = match (first, after) {
            (b'%', [high, low, ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                std::str::from_utf8(&[*high, *low])
                    .ok()
                    .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            }
            (b'%', _) => None,
            _ => {
                bytes.push(*first);
                rest = after;
                continue;
            }
        };
        let Some(code) = code else {
            let message =
                format!("Malformed escape pair in `{path}`: write `%25` for a percent sign");
            return Err(refusal(Class::Error, "URISyntaxException", message));
        };
        bytes.push(code);
        rest = &after[2..];
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_files_are_uris() {
        for (path, read) in [("a%20b.txt", "a b.txt"), ("50%25.txt", "50%.txt"), ("a b", "a b")] {
            assert_eq!(decoded(path).expect(path), read);
        }
        for entry in ["a b", "a#b[1]", "é#é", "hdfs://nn/a?x=1#b"] {
            is_uri(entry).expect(entry);
        }
        for (entry, at) in [
            ("a#b#c", "fragment at index 3"),
            ("x[1]", "path at index 1"),
            ("a b|c", "path at index 5"),
        ] {
            let refusal = is_uri(entry).expect_err(entry);
            assert_eq!(refusal.code, "URISyntaxException");
            assert!(refusal.message.contains(at), "{}", refusal.message);
        }
        for path in ["50%", "50%2", "50%zz"] {
            assert_eq!(decoded(path).expect_err(path).code, "URISyntaxException");
        }
    }
}
