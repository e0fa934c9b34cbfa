//! All file systems of a run: the file root, and what `[hosts]` maps authorities to.

#![expect(clippy::disallowed_methods, reason = "this is where what a cluster has is brought here")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "hdfs")]
use super::cluster::ClusterFiles;
use super::metastore::Metastore;
#[cfg(feature = "object-stores")]
use super::objects::ObjectFiles;
use super::web::WebFiles;
use super::{ClusterUrl, FileStatus, FileUri, Files, Kind, LocalFiles};
use ankus_lang::uri::{Protocol, StoreUrl, normal_parts};

/// What an authority is mapped to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder of this machine.
    Folder(PathBuf),
    /// For `file:` itself: folders of this machine that such URIs may reach, each under its own name.
    Machine(Vec<PathBuf>),
    /// A cluster.
    Cluster(ClusterUrl),
    /// A bucket or container of an object store; only if that feature is built in.
    Store(StoreUrl),
}

/// The optional features that the program was built with.
#[derive(Clone, Copy)]
struct Built {
    /// Feature `hdfs`.
    hdfs: bool,
    /// Feature `object-stores`.
    stores: bool,
}

/// The features of this program.
const BUILT: Built =
    Built { hdfs: cfg!(feature = "hdfs"), stores: cfg!(feature = "object-stores") };

impl Place {
    /// Parses a value of `[hosts]`: the URL of a cluster, or a folder, relative to `base` unless it is absolute.
    pub fn read(text: &str, base: &Path) -> Result<Place, String> {
        Place::read_with(BUILT, text, base)
    }

    fn read_with(built: Built, text: &str, base: &Path) -> Result<Place, String> {
        match text.strip_prefix("file://") {
            Some(path) => Ok(Place::Folder(base.join(path))),
            None if StoreUrl::is_scheme(text) => {
                StoreUrl::parse(text).and_then(|url| Place::store(built, url))
            }
            None if text.contains("://") => {
                ClusterUrl::parse(text).and_then(|url| Place::cluster(built, url))
            }
            None => Ok(Place::Folder(base.join(text))),
        }
    }

    /// Returns the place of `file:` URIs: the folders of this machine that they may reach, relative to `base` unless
    /// they are absolute.
    pub fn machine(folders: &[String], base: &Path) -> Place {
        let whole = |text: &String| {
            let path = base.join(text.strip_prefix("file://").unwrap_or(text));
            let parts = path.to_string_lossy().into_owned();
            std::iter::once("/").chain(normal_parts(&parts)).collect()
        };
        Place::Machine(folders.iter().map(whole).collect())
    }

    fn store(built: Built, url: StoreUrl) -> Result<Place, String> {
        if !built.stores {
            return Err(format!(
                "{url} is an object store, and this ankus was built without them; build it with `--features object-stores`, \
                 or name a folder"
            ));
        }
        Ok(Place::Store(url))
    }

    fn cluster(built: Built, url: ClusterUrl) -> Result<Place, String> {
        if url.protocol == Protocol::Native && !built.hdfs {
            // The port of the REST interface cannot be derived from that of the protocol.
            let host = url.host.split(':').next().unwrap_or_default();
            return Err(format!(
                "{url} speaks a protocol that this ankus was built without: name the REST interface of the cluster, \
                 as in `webhdfs://{host}:9870`, or build ankus with `--features hdfs`"
            ));
        }
        Ok(Place::Cluster(url))
    }
}

/// What each authority is mapped to: `hdfs://prod:8020` to a folder or a cluster.
pub type Hosts = BTreeMap<String, Place>;

/// A file system that is not of this machine.
pub(crate) trait Remote: Files + fmt::Debug {
    /// Writes the content of a file, whose length is known, to a file of this machine.
    fn bring(&self, uri: &FileUri, length: u64, to: &mut dyn Write) -> io::Result<()>;

    /// Copies a file, or a folder with everything below it, to a free path of this machine.
    fn fetch(&self, uri: &FileUri, to: &Path) -> io::Result<()> {
        let absent = || io::Error::new(io::ErrorKind::NotFound, format!("{uri} does not exist"));
        let mut open = vec![(uri.clone(), to.to_owned())];
        while let Some((uri, to)) = open.pop() {
            let status = self.status(&uri)?.ok_or_else(absent)?;
            if status.directory {
                fs::create_dir_all(&to)?;
                for name in self.list(&uri)? {
                    // Names from a cluster must not lead out of the folder.
                    if name.contains('/') || matches!(&*name, "" | "." | "..") {
                        let why = format!("{uri} has something named `{name}`");
                        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                    }
                    open.push((uri.child(&name), to.join(&name)));
                }
                continue;
            }
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut file = fs::File::create(&to)?;
            self.bring(&uri, status.length, &mut file)?;
            file.set_permissions(fs::Permissions::from_mode(status.mode & 0o777 | 0o600))?;
            file.sync_data()?;
        }
        Ok(())
    }

    /// Sets the time limit for answers.
    fn set_patience(&mut self, patience: Duration);

    /// Sets the user name, if neither the URL nor the environment has one.
    fn set_user(&mut self, _user: &str) {}

    /// Sets the user whom the owner of a Kerberos ticket impersonates, if the URL names none.
    fn set_proxy(&mut self, _user: &str) {}

    /// Returns the names in a folder, if few requests are enough for that; none otherwise.
    fn names(&self, _folder: &FileUri) -> io::Result<Option<BTreeSet<String>>> {
        Ok(None)
    }

    /// Requests a delegation token, in the form in which tokens are part of URLs; none if the file system issues none.
    ///
    /// `renewer` is the principal that may renew it, and `service` the address by which clients find it.
    fn delegation_token(&self, _renewer: &str, _service: &str) -> io::Result<Option<String>> {
        Ok(None)
    }
}

/// Creates the file system at a URL, for an authority. No connection is made yet.
pub(crate) fn remote(authority: &str, url: ClusterUrl) -> Box<dyn Remote> {
    match url.protocol {
        #[cfg(feature = "hdfs")]
        Protocol::Native => Box::new(ClusterFiles::new(authority, url)),
        Protocol::Metastore => Box::new(Metastore::new(authority, url)),
        _ => Box::new(WebFiles::new(authority, url)),
    }
}

/// The file systems of a run; each URI is handled by its own.
#[derive(Debug)]
pub struct FileSystems {
    local: LocalFiles,
    remote: BTreeMap<String, Box<dyn Remote>>,
}

impl FileSystems {
    /// Creates file systems with a root, which need not exist yet, and mapped authorities. No connection is made yet.
    pub fn new(root: impl Into<PathBuf>, hosts: Hosts) -> FileSystems {
        let mut folders = BTreeMap::new();
        let mut machine = Vec::new();
        let mut remote: BTreeMap<String, Box<dyn Remote>> = BTreeMap::new();
        for (authority, place) in hosts {
            match place {
                Place::Folder(folder) => {
                    folders.insert(authority, folder);
                }
                Place::Machine(allowed) => machine.extend(allowed),
                Place::Cluster(url) => {
                    let cluster = self::remote(&authority, url);
                    remote.insert(authority, cluster);
                }
                #[cfg(feature = "object-stores")]
                Place::Store(url) => {
                    let store = ObjectFiles::new(authority.clone(), &url);
                    remote.insert(authority, Box::new(store));
                }
                #[cfg(not(feature = "object-stores"))]
                Place::Store(_) => unreachable!("`Place::read` refuses it"),
            }
        }
        let local = LocalFiles::new(root, folders).with_machine(machine);
        FileSystems { local, remote }
    }

    /// Sets the time limit for answers of clusters.
    pub fn with_patience(mut self, patience: Duration) -> FileSystems {
        for remote in self.remote.values_mut() {
            remote.set_patience(patience);
        }
        self
    }

    /// Sets the user name for clusters, if nothing else specifies one.
    pub fn with_user(mut self, user: &str) -> FileSystems {
        for remote in self.remote.values_mut() {
            remote.set_user(user);
        }
        self
    }

    /// Sets the user whom the owner of a Kerberos ticket impersonates in clusters, if there is one and their URLs name
    /// none.
    pub fn with_proxy(mut self, user: Option<&str>) -> FileSystems {
        for remote in self.remote.values_mut() {
            user.inspect(|user| remote.set_proxy(user));
        }
        self
    }

    /// Returns the file root.
    pub fn root(&self) -> &Path {
        self.local.root()
    }

    /// Returns the path of a URI on this machine; none in a cluster, or if access is not allowed.
    pub fn path(&self, uri: &FileUri) -> Option<PathBuf> {
        match self.remote(uri) {
            Some(_) => None,
            None => self.local.path(uri),
        }
    }

    /// Returns the path of a file or folder on this machine. What is elsewhere is copied to `copy`, which must be free.
    pub fn bring(&self, uri: &FileUri, copy: &Path) -> io::Result<Option<PathBuf>> {
        if self.status(uri)?.is_none() {
            return Ok(None);
        }
        let Some(remote) = self.remote(uri) else { return Ok(self.local.path(uri)) };
        remote.fetch(uri, copy)?;
        Ok(Some(copy.to_owned()))
    }

    /// Whether access to a URI is allowed, whether it exists or not.
    pub(crate) fn reaches(&self, uri: &FileUri) -> bool {
        self.remote(uri).is_some() || self.local.path(uri).is_some()
    }

    /// Whether there are remote file systems.
    pub(crate) fn has_remotes(&self) -> bool {
        !self.remote.is_empty()
    }

    /// Returns the remote file system of a URI.
    pub(crate) fn remote(&self, uri: &FileUri) -> Option<&dyn Remote> {
        if self.remote.is_empty() {
            return None;
        }
        self.remote.get(&uri.origin()).map(|remote| &**remote)
    }

    /// Returns the name of a URI's file system: authorities that are not mapped share the root.
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

    fn renames_at_once(&self, uri: &FileUri) -> bool {
        self.of(uri).renames_at_once(uri)
    }

    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        let is_within = match (self.remote(from), self.remote(to)) {
            (None, None) => true,
            (Some(from), Some(to)) => std::ptr::addr_eq(from, to),
            _ => false,
        };
        if !is_within {
            let why = format!("{from} and {to} are on different file systems");
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
        check_refused("ftp://host/x", "`ftp://host`");
        check_refused("webhdfs://me:secret@nn1", "cannot contain a password");
        check_refused("webhdfs://nn1,,nn2", "webhdfs://host:port");
        check_refused("hdfs://nn1:8020,nn2:8020", "hdfs://host:port");
        check_refused("hdfs://me:secret@nn1:8020", "cannot contain a password");
        check_refused("hdfs://nn1:port", "hdfs://host:port");
        check_refused("hdfs:///x", "hdfs://host:port");
    }

    #[test]
    fn what_is_not_built_in_is_refused() {
        let read = |built, text| Place::read_with(built, text, Path::new(""));
        let (none, all) =
            (Built { hdfs: false, stores: false }, Built { hdfs: true, stores: true });
        for (text, feature) in [
            ("hdfs://nn1:8020", "webhdfs://nn1:9870`, or build ankus with `--features hdfs`"),
            ("s3://raw", "--features object-stores"),
        ] {
            let refused = read(none, text).expect_err(text);
            assert!(refused.contains(feature), "{refused}");
            read(all, text).expect(text);
        }
    }

    #[test]
    fn each_authority_is_asked_where_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut hosts = Hosts::new();
        for (authority, text) in
            [("hdfs://dev", "dev"), ("hdfs://prod:8020", "webhdfs://127.0.0.1:1")]
        {
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
        assert!(Place::read("ftp://host", folder.path()).is_err());
        let place = Place::read("file:///data", folder.path());
        assert_eq!(place, Ok(Place::Folder("/data".into())));
    }
}
