//! All file systems of a run: the file root, and what `[hosts]` maps authorities to.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "hdfs")]
use super::cluster::ClusterFiles;
use super::{ClusterUrl, FileStatus, FileUri, Files, Kind, LocalFiles};
use ankus_lang::uri::normal_parts;

/// What stands for an authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder of this machine.
    Folder(PathBuf),
    /// For `file:` itself: folders of this machine that such URIs may reach, each under its own name.
    Machine(Vec<PathBuf>),
    /// A cluster; only where clusters are built in.
    #[cfg(feature = "hdfs")]
    Cluster(ClusterUrl),
}

impl Place {
    /// Reads a value of `[hosts]`: the URL of a cluster, or a folder that lies in `base` unless it is absolute.
    pub fn read(text: &str, base: &Path) -> Result<Place, String> {
        match text.strip_prefix("file://") {
            Some(path) => Ok(Place::Folder(base.join(path))),
            None if text.contains("://") => ClusterUrl::parse(text).and_then(Place::cluster),
            None => Ok(Place::Folder(base.join(text))),
        }
    }

    /// What `file:` URIs may reach: folders of this machine. One that is not absolute lies in `base`.
    pub fn machine(folders: &[String], base: &Path) -> Place {
        let whole = |text: &String| {
            let path = base.join(text.strip_prefix("file://").unwrap_or(text));
            let parts = path.to_string_lossy().into_owned();
            std::iter::once("/").chain(normal_parts(&parts)).collect()
        };
        Place::Machine(folders.iter().map(whole).collect())
    }

    #[cfg(feature = "hdfs")]
    fn cluster(url: ClusterUrl) -> Result<Place, String> {
        Ok(Place::Cluster(url))
    }

    #[cfg(not(feature = "hdfs"))]
    fn cluster(url: ClusterUrl) -> Result<Place, String> {
        Err(format!(
            "{url} is a cluster, and this ankus was built without them; build it with `--features hdfs`, or name a folder"
        ))
    }
}

/// What stands for which authority: `hdfs://prod:8020` is a folder or a cluster.
pub type Hosts = BTreeMap<String, Place>;

/// A file system that is not of this machine.
pub(crate) trait Remote: Files + fmt::Debug {
    /// Copies a file, or a folder with all below, to a path of this machine where nothing is yet.
    fn fetch(&self, uri: &FileUri, to: &Path) -> io::Result<()>;

    /// Sets how long it may take to answer.
    fn set_patience(&mut self, patience: Duration);
}

/// The file systems of a run, each asked for what is its own.
#[derive(Debug)]
pub struct FileSystems {
    local: LocalFiles,
    remote: BTreeMap<String, Box<dyn Remote>>,
}

impl FileSystems {
    /// A root, which need not be there yet, and what stands for some authorities. No cluster is reached yet.
    pub fn new(root: impl Into<PathBuf>, hosts: Hosts) -> FileSystems {
        let mut folders = BTreeMap::new();
        let mut machine = Vec::new();
        #[cfg_attr(not(feature = "hdfs"), expect(unused_mut, reason = "nothing else is remote"))]
        let mut remote: BTreeMap<String, Box<dyn Remote>> = BTreeMap::new();
        for (authority, place) in hosts {
            match place {
                Place::Folder(folder) => {
                    folders.insert(authority, folder);
                }
                Place::Machine(allowed) => machine.extend(allowed),
                #[cfg(feature = "hdfs")]
                Place::Cluster(url) => {
                    let cluster = ClusterFiles::new(authority.clone(), url);
                    remote.insert(authority, Box::new(cluster));
                }
            }
        }
        let local = LocalFiles::new(root, folders).with_machine(machine);
        FileSystems { local, remote }
    }

    /// The same, with another patience with clusters.
    pub fn with_patience(mut self, patience: Duration) -> FileSystems {
        for remote in self.remote.values_mut() {
            remote.set_patience(patience);
        }
        self
    }

    /// The file root.
    pub fn root(&self) -> &Path {
        self.local.root()
    }

    /// The path on this machine that a URI stands for; none in a cluster, and where nobody allowed it.
    pub fn path(&self, uri: &FileUri) -> Option<PathBuf> {
        match self.remote(uri) {
            Some(_) => None,
            None => self.local.path(uri),
        }
    }

    /// Whether somebody allowed to reach what a URI names, be it there or not.
    pub(crate) fn reaches(&self, uri: &FileUri) -> bool {
        self.remote(uri).is_some() || self.local.path(uri).is_some()
    }

    /// The file system elsewhere that a URI is of.
    pub(crate) fn remote(&self, uri: &FileUri) -> Option<&dyn Remote> {
        if self.remote.is_empty() {
            return None;
        }
        self.remote.get(&uri.origin()).map(|remote| &**remote)
    }

    /// Which file system a URI is of: authorities that nothing stands for share the root.
    pub(crate) fn system(&self, uri: &FileUri) -> String {
        match self.remote(uri) {
            Some(_) => uri.origin(),
            None => self.local.system(uri),
        }
    }

    fn of(&self, uri: &FileUri) -> &dyn Files {
        match self.remote(uri) {
            Some(remote) => remote,
            None => &self.local,
        }
    }
}

impl Files for FileSystems {
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>> {
        self.of(uri).status(uri)
    }

    fn kind(&self, uri: &FileUri) -> io::Result<Option<Kind>> {
        self.of(uri).kind(uri)
    }

    fn list(&self, uri: &FileUri) -> io::Result<Vec<String>> {
        self.of(uri).list(uri)
    }

    fn create_folder(&self, uri: &FileUri) -> io::Result<()> {
        self.of(uri).create_folder(uri)
    }

    fn delete(&self, uri: &FileUri) -> io::Result<bool> {
        self.of(uri).delete(uri)
    }

    fn trash(&self, uri: &FileUri) -> io::Result<bool> {
        self.of(uri).trash(uri)
    }

    fn set_replication(&self, uri: &FileUri, copies: u32) -> io::Result<()> {
        self.of(uri).set_replication(uri, copies)
    }

    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        let is_within = match (self.remote(from), self.remote(to)) {
            (None, None) => true,
            (Some(from), Some(to)) => std::ptr::addr_eq(from, to),
            _ => false,
        };
        if !is_within {
            let why = format!("{from} and {to} are of different file systems");
            return Err(io::Error::new(io::ErrorKind::CrossesDevices, why));
        }
        self.of(from).rename(from, to)
    }

    fn read(&self, uri: &FileUri, limit: u64) -> io::Result<Vec<u8>> {
        self.of(uri).read(uri, limit)
    }

    fn write(&self, uri: &FileUri, content: &[u8]) -> io::Result<()> {
        self.of(uri).write(uri, content)
    }

    fn set_mode(&self, uri: &FileUri, mode: u32) -> io::Result<()> {
        self.of(uri).set_mode(uri, mode)
    }

    fn set_group(&self, uri: &FileUri, group: &str) -> io::Result<()> {
        self.of(uri).set_group(uri, group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(text: &str, why: &str) {
        let refused = ClusterUrl::parse(text).expect_err(text);
        assert!(refused.contains(why), "{text}: {refused}");
    }

    #[test]
    fn a_url_says_where_and_as_whom() {
        let url = ClusterUrl::parse("hdfs://etl@nn1:8020/a/../sandbox/").expect("a URL");
        assert_eq!(url.to_string(), "hdfs://etl@nn1:8020/sandbox");
        assert_eq!(ClusterUrl::parse("hdfs://nameservice1").expect("a URL").host, "nameservice1");
        check_refused("s3a://bucket/x", "`s3a://bucket`");
        check_refused("hdfs://me:secret@nn1:8020", "no password");
        check_refused("hdfs://nn1:port", "hdfs://host:port");
        check_refused("hdfs:///x", "hdfs://host:port");
    }

    #[cfg(not(feature = "hdfs"))]
    #[test]
    fn a_cluster_is_refused_where_none_is_built_in() {
        let refused = Place::read("hdfs://nn1:8020", Path::new("")).expect_err("no cluster");
        assert!(refused.contains("--features hdfs"), "{refused}");
    }

    #[cfg(feature = "hdfs")]
    #[test]
    fn each_authority_is_asked_where_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut hosts = Hosts::new();
        for (authority, text) in [("hdfs://dev", "dev"), ("hdfs://prod:8020", "hdfs://nowhere")] {
            let place = Place::read(text, folder.path()).expect("a place");
            hosts.insert(authority.to_owned(), place);
        }
        let files = FileSystems::new(folder.path().join("root"), hosts);
        let uri = FileUri::parse;
        files.write(&uri("hdfs://dev/x"), b"x").expect("a file in its folder");
        assert!(folder.path().join("dev/x").is_file());
        files.write(&uri("hdfs://other/x"), b"x").expect("a file in the root");
        assert!(folder.path().join("root/x").is_file());
        assert_eq!(files.path(&uri("hdfs://prod:8020/x")), None);
        assert!(files.status(&uri("hdfs://prod:8020/x")).is_err(), "no folder stands for it");
        assert_eq!(files.system(&uri("hdfs://prod:8020/x")), "hdfs://prod:8020");
        let error = files.rename(&uri("hdfs://dev/x"), &uri("hdfs://prod:8020/x"));
        assert_eq!(error.map_err(|error| error.kind()), Err(io::ErrorKind::CrossesDevices));
        assert!(Place::read("s3a://bucket", folder.path()).is_err());
        let place = Place::read("file:///data", folder.path());
        assert_eq!(place, Ok(Place::Folder("/data".into())));
    }
}
