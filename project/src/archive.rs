//! Reads an archive named on the command line as a folder of its entries.
//!
//! Names and contents of an opened zip are read on demand, and never written to the disk. An archive is untrusted: one
//! whose names lead out of it, repeat or contradict each other, that contains links, or that would become larger than
//! an application can be, is refused as a whole. `ankus run` unpacks archives under the same rules.

use ankus::syntax::archive::{DIRECTORY_LIMIT, TAIL, directory, names};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::tree::{Kind, Listed};

/// Maximum number of entries.
const ENTRIES: usize = 100_000;
/// Maximum unpacked size, in bytes.
const BYTES: u64 = 4 << 30;
/// Maximum ratio of the unpacked size to the size of the archive; it applies above [`SMALL`].
const RATIO: u64 = 200;
/// Unpacked size up to which any ratio is accepted, in bytes.
const SMALL: u64 = 256 << 20;
/// Maximum length of a name, and maximum depth of folders.
const NAME: usize = 4_096;
const DEPTH: usize = 256;

/// An archive, with its entries by path.
pub(crate) struct Archive {
    zip: Mutex<zip::ZipArchive<BufReader<File>>>,
    /// The entries; `None` for folders.
    entries: BTreeMap<PathBuf, Option<Member>>,
    /// Metadata of the archive file.
    pub(crate) metadata: Metadata,
}

#[derive(Clone, Copy)]
struct Member {
    at: usize,
    length: u64,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "an archive of {} entries", self.entries.len())
    }
}

fn refused(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the archive is refused: {why}"))
}

impl Archive {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// If it is not an archive, or not one that can be an application.
    pub(crate) fn of(mut file: File) -> Result<Archive> {
        let metadata = file.metadata()?;
        // The library keeps only the last of several entries with the same name, so the directory is also read here.
        let listed = listed(&mut file, metadata.len())?;
        if listed.len() > ENTRIES {
            return Err(refused(format_args!("it has more than {ENTRIES} entries")));
        }
        file.seek(SeekFrom::Start(0))?;
        let broken = |error: zip::result::ZipError| refused(error);
        let mut zip = zip::ZipArchive::new(BufReader::new(file)).map_err(broken)?;
        if zip.len() != listed.len() {
            return Err(match repeated(&listed) {
                Some(name) => refused(format_args!("it contains `{name}` twice")),
                None => refused("its directory is inconsistent"),
            });
        }
        let most = metadata.len().saturating_mul(RATIO).clamp(SMALL, BYTES);
        let mut bytes = 0_u64;
        let mut entries: BTreeMap<PathBuf, Option<Member>> = BTreeMap::new();
        for at in 0..zip.len() {
            let entry = zip.by_index_raw(at).map_err(broken)?;
            let name = entry.name().map_err(broken)?.into_owned();
            let path = path_of(&name)?;
            if entry.is_symlink() {
                return Err(refused(format_args!(
                    "`{name}` is a link, which an application may not have"
                )));
            }
            if entry.encrypted() {
                return Err(refused(format_args!("`{name}` is encrypted")));
            }
            bytes = bytes.saturating_add(entry.size());
            if bytes > most {
                return Err(refused("unpacked, it is larger than an archive of its size may be"));
            }
            let is_folder = entry.is_dir();
            let member = (!is_folder).then_some(Member { at, length: entry.size() });
            for folder in path.ancestors().skip(usize::from(!is_folder)) {
                if matches!(entries.insert(folder.to_owned(), None), Some(Some(_))) {
                    return Err(refused(format_args!(
                        "`{}` is a file and a folder",
                        folder.display()
                    )));
                }
            }
            if let Some(member) = member
                && entries.insert(path, Some(member)).is_some()
            {
                return Err(refused(format_args!("it contains `{name}` twice")));
            }
        }
        entries.insert(PathBuf::new(), None);
        Ok(Archive { zip: Mutex::new(zip), entries, metadata })
    }

    /// Returns the kind and length of the entry at a path.
    pub(crate) fn look(&self, path: &Path) -> Option<(Kind, u64)> {
        Some(match self.entries.get(path)? {
            Some(member) => (Kind::File, member.length),
            None => (Kind::Folder, 0),
        })
    }

    /// Returns the content of a file in it, up to `limit` bytes and one more if it is longer.
    pub(crate) fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        let member = match self.entries.get(path) {
            None => return Err(ErrorKind::NotFound.into()),
            Some(None) => return Err(ErrorKind::IsADirectory.into()),
            Some(Some(member)) => *member,
        };
        let mut zip = self.zip.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = zip.by_index(member.at).map_err(refused)?;
        let mut bytes = Vec::new();
        // It may be longer than the directory states.
        let most = limit.min(member.length).saturating_add(1);
        entry.take(most).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > member.length {
            let name = path.display();
            return Err(refused(format_args!("`{name}` is longer than its directory says")));
        }
        Ok(bytes)
    }

    /// Lists the direct children of a folder in it.
    pub(crate) fn list(&self, folder: &Path) -> Result<Vec<Listed>> {
        match self.entries.get(folder) {
            None => return Err(ErrorKind::NotFound.into()),
            Some(Some(_)) => return Err(ErrorKind::NotADirectory.into()),
            Some(None) => {}
        }
        let below = self.entries.range(folder.to_owned()..).skip(1);
        let below = below.take_while(|(path, _)| path.starts_with(folder));
        let direct = below.filter(|(path, _)| path.parent() == Some(folder));
        Ok(direct
            .map(|(path, member)| Listed {
                name: path.file_name().map(OsString::from).unwrap_or_default(),
                kind: Some(if member.is_some() { Kind::File } else { Kind::Folder }),
                is_link: false,
            })
            .collect())
    }
}

/// Returns all names in the directory of an archive, with duplicates.
fn listed(file: &mut File, length: u64) -> Result<Vec<String>> {
    let no_archive = || refused("it is not a zip archive, or is larger than 4 GiB");
    let mut read = |back: u64, count: u64| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(length.checked_sub(back).ok_or_else(no_archive)?))?;
        file.take(count).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let tail = TAIL.min(length);
    let (back, count) = directory(&read(tail, tail)?).ok_or_else(no_archive)?;
    if count > DIRECTORY_LIMIT {
        return Err(refused("its directory is larger than that of any application"));
    }
    names(&read(back, count)?).ok_or_else(no_archive)
}

fn repeated(listed: &[String]) -> Option<&str> {
    let mut sorted: Vec<&str> = listed.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Converts an entry's name to a path; one that leads out of the archive, or that no file system accepts, is refused.
fn path_of(name: &str) -> Result<PathBuf> {
    let leads_out =
        name.starts_with('/') || name.contains(['\0', '\\']) || name.split('/').any(|p| p == "..");
    if leads_out {
        return Err(refused(format_args!("`{name}` leads out of its folder")));
    }
    let parts: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if name.len() > NAME || parts.len() > DEPTH || parts.iter().any(|part| part.len() > 255) {
        let begin: String = name.chars().take(40).collect();
        return Err(refused(format_args!("the name `{begin}…` is too long")));
    }
    Ok(parts.iter().collect())
}
