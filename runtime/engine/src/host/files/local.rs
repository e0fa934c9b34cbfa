//! Folders of this machine as the file systems of an application.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::beneath::{Beneath, Kind};
use super::{FileStatus, FileUri, Files};
use ankus_lang::uri::normal_parts;

/// The folder of this machine that each authority is mapped to.
pub type Folders = BTreeMap<String, PathBuf>;

/// The file root of a run, and the folders that `[hosts]` maps authorities to.
#[derive(Clone, Debug)]
pub struct LocalFiles {
    root: PathBuf,
    folders: Folders,
    /// Folders of this machine that `file:` URIs may reach under their own names.
    machine: Vec<PathBuf>,
}

impl LocalFiles {
    /// Creates file systems with a root, which need not exist yet, and folders for some authorities. `file:` URIs may
    /// not be accessed.
    pub fn new(root: impl Into<PathBuf>, folders: Folders) -> LocalFiles {
        LocalFiles { root: root.into(), folders, machine: Vec::new() }
    }

    /// Allows `file:` URIs to access these folders.
    pub fn with_machine(mut self, folders: Vec<PathBuf>) -> LocalFiles {
        self.machine = folders;
        self
    }

    /// Returns the file root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the name of a URI's file system: authorities without a folder of their own share the root.
    pub(crate) fn system(&self, uri: &FileUri) -> String {
        let origin = uri.origin();
        match uri.scheme.as_str() {
            _ if self.folders.contains_key(&origin) => origin,
            "file" => "file:".to_owned(),
            _ => String::new(),
        }
    }

    /// Returns the folder of a URI, and the path within; none for a `file:` URI without permission.
    fn place<'a>(&self, uri: &'a FileUri) -> Option<(&Path, Vec<&'a str>)> {
        let parts = normal_parts(&uri.path);
        match self.folders.get(&uri.origin()) {
            Some(folder) => Some((folder, parts)),
            None if uri.scheme == "file" => {
                let path: PathBuf = std::iter::once("/").chain(parts.iter().copied()).collect();
                // The innermost folder that contains it: links may lead anywhere within the named folder.
                let of = self.machine.iter().filter(|folder| path.starts_with(folder));
                let folder = of.max_by_key(|folder| folder.as_os_str().len())?;
                let above = folder.components().count().saturating_sub(1);
                Some((folder, parts[above.min(parts.len())..].to_vec()))
            }
            None => Some((&self.root, parts)),
        }
    }

    fn allowed<'a>(&self, uri: &'a FileUri) -> io::Result<(&Path, Vec<&'a str>)> {
        self.place(uri).ok_or_else(|| {
            let why = format!(
                "`{uri}` is of this machine itself, which workflows reach only where the settings say so: \
                 [hosts] \"file://\" = \"/folder\" in ankus.toml"
            );
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        })
    }

    /// Returns the path of a URI on this machine; none if access is not allowed.
    pub fn path(&self, uri: &FileUri) -> Option<PathBuf> {
        let (folder, parts) = self.place(uri)?;
        let mut path = folder.to_owned();
        path.extend(parts);
        Some(path)
    }

    /// Reads something at a URI, if its folder exists.
    fn look<T>(
        &self,
        uri: &FileUri,
        look: impl FnOnce(&Beneath, &[&str]) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        let (folder, parts) = self.allowed(uri)?;
        let Some(folder) = Beneath::open(folder)? else { return Ok(None) };
        match look(&folder, &parts) {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Changes something at a URI, creating its folder if needed.
    fn change<T>(
        &self,
        uri: &FileUri,
        change: impl FnOnce(&Beneath, &[&str]) -> io::Result<T>,
    ) -> io::Result<T> {
        let (folder, parts) = self.allowed(uri)?;
        change(&Beneath::make(folder)?, &parts)
    }
}

impl Files for LocalFiles {
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>> {
        let metadata = self.look(uri, Beneath::metadata)?;
        Ok(metadata.map(|metadata| {
            let modified_ms = metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000;
            let length = if metadata.is_dir() { 0 } else { metadata.len() };
            let mode = metadata.permissions().mode() & 0o7777;
            FileStatus { directory: metadata.is_dir(), length, modified_ms, mode }
        }))
    }

    fn kind(&self, uri: &FileUri) -> io::Result<Option<Kind>> {
        self.look(uri, Beneath::kind)
    }

    fn list(&self, uri: &FileUri) -> io::Result<Vec<String>> {
        let mut names = self.look(uri, Beneath::list)?.unwrap_or_default();
        names.sort();
        Ok(names)
    }

    fn create_folder(&self, uri: &FileUri) -> io::Result<()> {
        self.change(uri, |folder, parts| folder.make_folder(parts).map(drop))
    }

    fn delete(&self, uri: &FileUri) -> io::Result<bool> {
        let deleted = self.look(uri, |folder, parts| match parts {
            [] => {
                let why = "the root itself is not deleted";
                Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
            }
            parts => folder.delete(parts),
        })?;
        Ok(deleted.is_some())
    }

    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        let (target, to) = self.allowed(to)?;
        let target = Beneath::make(target)?;
        self.change(from, |folder, from| folder.rename(from, &target, &to))
    }

    fn read(&self, uri: &FileUri, limit: u64) -> io::Result<Vec<u8>> {
        let (folder, parts) = self.allowed(uri)?;
        match Beneath::open(folder)? {
            Some(folder) => folder.read(&parts, limit),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn write(&self, uri: &FileUri, content: &[u8]) -> io::Result<()> {
        self.change(uri, |folder, parts| folder.write(parts, content))
    }

    fn set_mode(&self, uri: &FileUri, mode: u32) -> io::Result<()> {
        self.change(uri, |folder, parts| folder.set_mode(parts, mode))
    }

    fn set_group(&self, uri: &FileUri, group: &str) -> io::Result<()> {
        self.change(uri, |folder, parts| folder.set_group(parts, group))
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_itself_is_reached_only_where_it_is_allowed() {
        let above = tempfile::tempdir().expect("a folder");
        let data = above.path().join("data");
        let uri = |path: &str| FileUri::parse(&format!("file://{}/{path}", above.path().display()));
        let files = LocalFiles::new(above.path().join("root"), Folders::new());
        for tried in [
            files.status(&uri("data")).map(drop),
            files.write(&uri("data/x"), b"x"),
            files.delete(&uri("data")).map(drop),
            files.create_folder(&uri("data/y")),
            files.list(&uri("")).map(drop),
            files.set_mode(&uri("data"), 0o777),
            files.rename(&FileUri::parse("hdfs://nn/a"), &uri("data/a")),
        ] {
            let error = tried.expect_err("nobody allowed it");
            assert!(error.to_string().contains("[hosts] \"file://\""), "{error}");
        }

        let files = files.with_machine(vec![data.clone()]);
        files.write(&uri("data/deep/x"), b"x").expect("a file in a folder that is named");
        assert_eq!(files.read(&uri("data/deep/x"), 9).expect("its content"), b"x");
        assert_eq!(files.path(&uri("data/deep/x")), Some(data.join("deep/x")));
        files.write(&uri("data/../beside"), b"x").expect_err("not in the folder");
        files.write(&uri("database"), b"x").expect_err("another folder");
        assert!(files.delete(&uri("data")).is_err(), "the folder that is named stays");
        assert!(files.delete(&uri("data/deep")).expect("it is there"));
        let all = LocalFiles::new("", Folders::new()).with_machine(vec!["/".into()]);
        assert_eq!(all.list(&uri("data")).expect("a list"), [""; 0]);
    }
}
