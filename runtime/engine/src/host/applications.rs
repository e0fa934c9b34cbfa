//! Applications on this machine, visible at the paths that their properties give.
//!
//! Combines the file systems of a run with folders mapped to some URIs. What a run writes goes to the file systems,
//! whatever the path; a mapped folder is read where the file systems have nothing themselves, and is never changed.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::RwLock;

use super::files::{FileStatus, FileSystems, FileUri, Files, Folders, Kind, LocalFiles};

/// The file systems of a run with applications laid over them.
#[derive(Debug)]
pub struct Applications {
    root: FileSystems,
    mounts: RwLock<Vec<(FileUri, PathBuf)>>,
}

impl Applications {
    /// Creates an overlay over these file systems, without any applications.
    pub fn new(root: FileSystems) -> Applications {
        Applications { root, mounts: RwLock::default() }
    }

    /// Maps a folder to a URI. If several match a path, the latest one is used.
    pub fn mount(&self, at: FileUri, folder: PathBuf) {
        let mut mounts = self.mounts.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        mounts.retain(|(uri, _)| *uri != at);
        mounts.push((at, folder));
    }

    /// Returns the file root.
    pub fn root(&self) -> &Path {
        self.root.root()
    }

    /// Returns the path on this machine at which a file will be if a run writes it; none if it is in a cluster.
    pub fn place(&self, uri: &FileUri) -> Option<PathBuf> {
        self.root.path(uri)
    }

    /// Whether a URI belongs to a file system that is only mapped to the file root.
    pub fn is_of_root(&self, uri: &FileUri) -> bool {
        self.root.system(uri).is_empty()
    }

    /// Whether some URIs are those of clusters.
    pub fn has_clusters(&self) -> bool {
        self.root.has_remotes()
    }

    /// Whether a URI is that of a cluster, whether or not anything exists there.
    pub fn is_of_cluster(&self, uri: &FileUri) -> bool {
        self.root.remote(uri).is_some()
    }

    /// Returns the names in a folder of an object store, if few requests are enough for that; none otherwise.
    pub(crate) fn names(&self, folder: &FileUri) -> io::Result<Option<BTreeSet<String>>> {
        self.root.remote(folder).map_or(Ok(None), |remote| remote.names(folder))
    }

    /// Whether something exists at a URI, and is in a cluster: what is in an application on this machine is not,
    /// whatever its path.
    pub fn is_in_cluster(&self, uri: &FileUri) -> io::Result<bool> {
        Ok(self.root.remote(uri).is_some() && self.in_root(uri)?)
    }

    /// Returns the path of a file or folder on this machine. What is in a cluster is copied to `copy` first.
    pub fn locate(&self, uri: &FileUri, copy: &Path) -> io::Result<Option<PathBuf>> {
        if self.in_root(uri)? {
            let Some(remote) = self.root.remote(uri) else { return Ok(self.root.path(uri)) };
            remote.fetch(uri, copy)?;
            return Ok(Some(copy.to_owned()));
        }
        match self.mounted(uri) {
            Some((folder, inner)) if folder.status(&inner)?.is_some() => Ok(folder.path(&inner)),
            _ => Ok(None),
        }
    }

    /// Whether the file systems themselves have something at a URI. What a run may not access there may still be part
    /// of the application.
    fn in_root(&self, uri: &FileUri) -> io::Result<bool> {
        if !self.root.reaches(uri) && self.mounted(uri).is_some() {
            return Ok(false);
        }
        Ok(self.root.status(uri)?.is_some())
    }

    /// Returns the folder that is mapped to this URI, and the path within it.
    fn mounted(&self, uri: &FileUri) -> Option<(LocalFiles, FileUri)> {
        let mounts = self.mounts.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let system = self.root.system(uri);
        mounts.iter().rev().find_map(|(at, folder)| {
            if self.root.system(at) != system {
                return None;
            }
            let rest = uri.path.strip_prefix(&at.path)?;
            if !(rest.is_empty() || rest.starts_with('/')) {
                return None;
            }
            let inner = if rest.is_empty() { "/" } else { rest };
            Some((
                LocalFiles::new(folder.clone(), Folders::new()),
                FileUri::default().with_path(inner),
            ))
        })
    }

    fn in_application(&self, uri: &FileUri) -> io::Result<bool> {
        Ok(match self.mounted(uri) {
            Some((folder, inner)) => folder.kind(&inner)?.is_some(),
            None => false,
        })
    }

    fn protect(&self, uri: &FileUri) -> io::Result<()> {
        // Changes apply to a link itself, wherever it leads.
        let in_root = self.root.reaches(uri) && self.root.kind(uri)?.is_some();
        if !in_root && self.in_application(uri)? {
            let why = format!("{uri} belongs to the application, which a run does not change");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(())
    }
}

impl Files for Applications {
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>> {
        let mounted = self.mounted(uri);
        if mounted.is_none() || self.root.reaches(uri) {
            let found = self.root.status(uri)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        mounted.map_or(Ok(None), |(folder, inner)| folder.status(&inner))
    }

    fn kind(&self, uri: &FileUri) -> io::Result<Option<Kind>> {
        let mounted = self.mounted(uri);
        if mounted.is_none() || self.root.reaches(uri) {
            let found = self.root.kind(uri)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        mounted.map_or(Ok(None), |(folder, inner)| folder.kind(&inner))
    }

    fn list(&self, uri: &FileUri) -> io::Result<Vec<String>> {
        let mounted = self.mounted(uri);
        let mut names = match mounted.is_none() || self.root.reaches(uri) {
            true => self.root.list(uri)?,
            false => Vec::new(),
        };
        if let Some((folder, inner)) = mounted {
            names.extend(folder.list(&inner)?);
            names.sort();
            names.dedup();
        }
        Ok(names)
    }

    fn create_folder(&self, uri: &FileUri) -> io::Result<()> {
        self.root.create_folder(uri)
    }

    fn delete(&self, uri: &FileUri) -> io::Result<bool> {
        self.protect(uri)?;
        self.root.delete(uri)
    }

    fn trash(&self, uri: &FileUri) -> io::Result<bool> {
        self.protect(uri)?;
        self.root.trash(uri)
    }

    fn set_replication(&self, uri: &FileUri, copies: u32) -> io::Result<()> {
        self.protect(uri)?;
        self.root.set_replication(uri, copies)
    }

    fn renames_at_once(&self, uri: &FileUri) -> bool {
        self.root.renames_at_once(uri)
    }

    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        self.protect(from)?;
        self.root.rename(from, to)
    }

    fn read(&self, uri: &FileUri, limit: u64) -> io::Result<Vec<u8>> {
        match self.mounted(uri) {
            Some((folder, inner)) if !self.in_root(uri)? => folder.read(&inner, limit),
            _ => self.root.read(uri, limit),
        }
    }

    fn write(&self, uri: &FileUri, content: &[u8]) -> io::Result<()> {
        self.root.write(uri, content)
    }

    fn set_mode(&self, uri: &FileUri, mode: u32) -> io::Result<()> {
        self.protect(uri)?;
        self.root.set_mode(uri, mode)
    }

    fn set_group(&self, uri: &FileUri, group: &str) -> io::Result<()> {
        self.protect(uri)?;
        self.root.set_group(uri, group)
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::Hosts;
    use super::*;

    #[test]
    fn an_application_is_read_and_never_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let application = LocalFiles::new(folder.path().join("app"), Folders::new());
        let path = |path: &str| FileUri::default().with_path(path);
        application.write(&path("/lib/a.jar"), b"a").expect("a file");
        let files = Applications::new(FileSystems::new(folder.path().join("root"), Hosts::new()));
        files.mount(FileUri::parse("hdfs://nn/apps/x"), folder.path().join("app"));

        let uri = |path: &str| FileUri::parse(&format!("hdfs://nn{path}"));
        assert_eq!(files.read(&uri("/apps/x/lib/a.jar"), 9).expect("its content"), b"a");
        assert_eq!(files.list(&uri("/apps/x")).expect("a list"), ["lib"]);
        assert!(files.status(&uri("/apps/xy")).expect("a status").is_none());
        assert!(files.delete(&uri("/apps/x/lib")).is_err());
        assert_eq!(files.read(&uri("/other/../apps/./x/lib/a.jar"), 9).expect("its content"), b"a");
        assert!(files.status(&uri("/apps/x/../lib/a.jar")).expect("a status").is_none());
        files.write(&uri("/apps/common/c"), b"c").expect("a file beside the application");
        assert_eq!(files.read(&uri("/apps/x/../common/c"), 9).expect("its content"), b"c");
        files.write(&uri("/apps/x/lib/b.jar"), b"b").expect("a file of the run");
        assert_eq!(files.list(&uri("/apps/x/lib")).expect("a list"), ["a.jar", "b.jar"]);
        assert!(files.delete(&uri("/apps/x/lib/b.jar")).expect("it is gone"));
        assert!(folder.path().join("app/lib/a.jar").is_file());
        assert!(!folder.path().join("app/lib/b.jar").exists());
    }
}
