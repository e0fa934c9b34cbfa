//! An archive that was named, as the folder of what it holds.
//!
//! In: a zip that is open. Out: its names and their contents, read when they are asked for, and never written anywhere.
//! An archive is untrusted: one whose names lead out, repeat or contradict each other, with links in it, or that would
//! become larger than an application can be, is refused as a whole. `ankus run` unpacks archives under the same rules.

use ankus::syntax::archive::{DIRECTORY_LIMIT, TAIL, directory, names};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::tree::{Kind, Listed};

/// More entries than any application has.
const ENTRIES: usize = 100_000;
/// More bytes than any application has.
const BYTES: u64 = 4 << 30;
/// So many times its own size an archive may become, as far as that is more than [`SMALL`].
const RATIO: u64 = 200;
/// So many bytes are taken whatever the ratio.
const SMALL: u64 = 256 << 20;
/// The longest name, and the deepest folder.
const NAME: usize = 4_096;
const DEPTH: usize = 256;

/// An archive, and what it holds by its paths.
pub(crate) struct Archive {
    zip: Mutex<zip::ZipArchive<BufReader<File>>>,
    /// Folders have no number.
    entries: BTreeMap<PathBuf, Option<Member>>,
    /// What the system keeps of the archive itself.
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
    /// Where it is no archive, or not one that an application can be.
    pub(crate) fn of(mut file: File) -> Result<Archive> {
        let metadata = file.metadata()?;
        // The library keeps the last of several entries of a name; so the directory is read by us, too.
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
                return Err(refused("unpacked it is larger than an archive of its size may be"));
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

    /// What stands at a path in it, with its length.
    pub(crate) fn look(&self, path: &Path) -> Option<(Kind, u64)> {
        Some(match self.entries.get(path)? {
            Some(member) => (Kind::File, member.length),
            None => (Kind::Folder, 0),
        })
    }

    /// The content of a file in it, if it has at most `limit` bytes; of a longer one so many, and one more.
    pub(crate) fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        let member = match self.entries.get(path) {
            None => return Err(ErrorKind::NotFound.into()),
            Some(None) => return Err(ErrorKind::IsADirectory.into()),
            Some(Some(member)) => *member,
        };
        let mut zip = self.zip.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = zip.by_index(member.at).map_err(refused)?;
        let mut bytes = Vec::new();
        // It may be longer than the directory says.
        let most = limit.min(member.length).saturating_add(1);
        entry.take(most).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > member.length {
            let name = path.display();
            return Err(refused(format_args!("`{name}` is longer than its directory says")));
        }
        Ok(bytes)
    }

    /// What stands directly in a folder of it.
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

/// The names in the directory of an archive, as often as they are there.
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

/// The path that a name stands for; one that leads out, or that no file system would have, is refused.
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
