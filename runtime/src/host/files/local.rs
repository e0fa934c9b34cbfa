//! Folders of this machine as the file systems of an application.

#![expect(clippy::disallowed_methods, reason = "this is where the disk is reached")]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{FileStatus, FileUri, Files, normal_parts};

/// Which folder of this machine stands for which authority.
pub type Folders = BTreeMap<String, PathBuf>;

/// The file root of a run, and the folders that `[hosts]` gives to authorities.
#[derive(Clone, Debug)]
pub struct LocalFiles {
    root: PathBuf,
    folders: Folders,
}

impl LocalFiles {
    /// A root, which need not be there yet, and folders for some authorities.
    pub fn new(root: impl Into<PathBuf>, folders: Folders) -> LocalFiles {
        LocalFiles { root: root.into(), folders }
    }

    /// The file root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Which file system a URI is of: authorities without a folder of their own share the root.
    pub(crate) fn system(&self, uri: &FileUri) -> String {
        let origin = uri.origin();
        match uri.scheme.as_str() {
            _ if self.folders.contains_key(&origin) => origin,
            "file" => "file:".to_owned(),
            _ => String::new(),
        }
    }

    /// The path on this machine that a URI stands for.
    pub fn path(&self, uri: &FileUri) -> PathBuf {
        let mut path = match self.folders.get(&uri.origin()) {
            Some(folder) => folder.clone(),
            None if uri.scheme == "file" => PathBuf::from("/"),
            None => self.root.clone(),
        };
        path.extend(normal_parts(&uri.path));
        path
    }
}

impl Files for LocalFiles {
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>> {
        let metadata = match fs::metadata(self.path(uri)) {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let modified_ms = metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000;
        let length = if metadata.is_dir() { 0 } else { metadata.len() };
        let mode = metadata.permissions().mode() & 0o7777;
        Ok(Some(FileStatus { directory: metadata.is_dir(), length, modified_ms, mode }))
    }

    fn list(&self, uri: &FileUri) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.path(uri)) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) || error.kind() == io::ErrorKind::NotADirectory => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            // A name that is not UTF-8 cannot be written in a definition either.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn create_folder(&self, uri: &FileUri) -> io::Result<()> {
        fs::create_dir_all(self.path(uri))
    }

    fn delete(&self, uri: &FileUri) -> io::Result<bool> {
        let path = self.path(uri);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        if path == Path::new("/") || path == self.root {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the root itself is not deleted",
            ));
        }
        // A link is deleted, never what it points at.
        if metadata.is_dir() {
            fs::remove_dir_all(&path)?
        } else {
            fs::remove_file(&path)?
        }
        Ok(true)
    }

    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        let (from, to) = (self.path(from), self.path(to));
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(from, to)
    }

    fn read(&self, uri: &FileUri, limit: u64) -> io::Result<Vec<u8>> {
        let path = self.path(uri);
        let length = fs::metadata(&path)?.len();
        if length > limit {
            let message = format!("{length} bytes are more than the limit of {limit}");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        fs::read(path)
    }

    fn write(&self, uri: &FileUri, content: &[u8]) -> io::Result<()> {
        let path = self.path(uri);
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        // Written beside and renamed, so that nobody ever sees half a file.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = folder.join(format!(".{name}.{}.part", std::process::id()));
        let written = fs::write(&beside, content).and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }

    fn set_mode(&self, uri: &FileUri, mode: u32) -> io::Result<()> {
        fs::set_permissions(self.path(uri), fs::Permissions::from_mode(mode))
    }

    fn set_group(&self, uri: &FileUri, group: &str) -> io::Result<()> {
        // Only the system's own tool knows every source of group names.
        let output = Command::new("chgrp").arg("--").arg(group).arg(self.path(uri)).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
