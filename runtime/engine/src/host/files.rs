//! The file systems of the URIs in an application.
//!
//! For a [`FileUri`] they answer as Hadoop's client would, from a folder of this machine ([`LocalFiles`]), from a
//! cluster (over its REST interface or, with the feature `hdfs`, in its own protocol) or from memory ([`MemoryFiles`],
//! for scenarios). `hdfs://nn/a/b` is `a/b` below the file root, unless `[hosts]` maps that authority to a folder or a
//! cluster ([`FileSystems`]); `file:///a/b` is `/a/b` of this machine, if `[hosts]` allows that. No path leaves its
//! root, through `..` or links.

use std::io;
use std::path::{Path, PathBuf};

pub use ankus_lang::uri::{ClusterUrl, FileUri};
pub use beneath::Kind;
pub use hosts::{FileSystems, Hosts, Place};
pub use library::{LibraryPart, library_parts, newest_library};
pub use local::{Folders, LocalFiles};
pub use memory::MemoryFiles;

pub(crate) mod archive;
mod beneath;
#[cfg(feature = "hdfs")]
mod cluster;
mod glob;
mod hosts;
mod library;
mod local;
mod memory;
mod metastore;
#[cfg(feature = "object-stores")]
mod objects;
mod web;

/// Unpacks the archive of an application into a folder, within limits. Nothing is written outside the folder, and links
/// are refused. Returns the folder of the application, since many archives contain a single folder with everything in
/// it.
pub fn unpack_application(archive: &Path, folder: &Path) -> io::Result<PathBuf> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    archive::unpack(archive, &name, folder, archive::APPLICATION).unwrap_or_else(|| {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not an archive"))
    })?;
    let files = LocalFiles::new(folder, Folders::new());
    let top = FileUri::parse("/");
    if let [only] = files.list(&top)?.as_slice()
        && files.kind(&top.child(only))? == Some(Kind::Folder)
    {
        return Ok(folder.join(only));
    }
    Ok(folder.to_owned())
}

/// The status of a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Whether it is a folder.
    pub directory: bool,
    /// Its length in bytes.
    pub length: u64,
    /// The time of its last change, in milliseconds since 1970.
    pub modified_ms: i64,
    /// Permission bits, `0o755`.
    pub mode: u32,
}

/// A file system as actions and coordinators see it. Every operation is idempotent or reports that it did nothing.
pub trait Files: Send + Sync {
    /// Returns the status of a path, or none if nothing is there.
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>>;

    /// Returns the kind of a path without following links, or none if nothing is there.
    fn kind(&self, uri: &FileUri) -> io::Result<Option<Kind>> {
        let kind = |status: FileStatus| if status.directory { Kind::Folder } else { Kind::File };
        Ok(self.status(uri)?.map(kind))
    }

    /// Returns the names in a folder, sorted; empty for a file or a missing path.
    fn list(&self, uri: &FileUri) -> io::Result<Vec<String>>;

    /// Creates a folder and its parents; an existing one is no error.
    fn create_folder(&self, uri: &FileUri) -> io::Result<()>;

    /// Deletes a file, or a folder with everything below it. Returns whether anything was there.
    fn delete(&self, uri: &FileUri) -> io::Result<bool>;

    /// Whether renaming is atomic, so that a crash leaves nothing half moved.
    fn renames_at_once(&self, _uri: &FileUri) -> bool {
        true
    }

    /// Renames a file or folder. Nothing may be at `to`, and the parent folder of `to` must exist.
    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()>;

    /// Returns the content of a file of at most `limit` bytes.
    fn read(&self, uri: &FileUri, limit: u64) -> io::Result<Vec<u8>>;

    /// Writes a file atomically; its parent folders are created.
    fn write(&self, uri: &FileUri, content: &[u8]) -> io::Result<()>;

    /// Sets permission bits.
    fn set_mode(&self, uri: &FileUri, mode: u32) -> io::Result<()>;

    /// Sets the group.
    fn set_group(&self, uri: &FileUri, group: &str) -> io::Result<()>;

    /// Moves a path into the trash of its file system, or deletes it if there is no trash. Returns whether anything was
    /// there.
    fn trash(&self, uri: &FileUri) -> io::Result<bool> {
        self.delete(uri)
    }

    /// Sets the replication of a file, if the file system has replicas.
    fn set_replication(&self, _uri: &FileUri, _copies: u32) -> io::Result<()> {
        Ok(())
    }

    /// Returns every path that matches a pattern of Hadoop (`*`, `?`, `[…]`, `{a,b}`), sorted; at most `limit` + 1. A
    /// pattern without wildcards matches the path itself if it exists.
    fn glob(&self, pattern: &FileUri, limit: usize) -> io::Result<Vec<FileUri>> {
        glob::expand(self, pattern, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_files(files: &dyn Files, origin: &str) {
        let uri = |path: &str| FileUri::parse(&format!("{origin}{path}"));
        let names =
            |found: Vec<FileUri>| found.iter().map(|uri| uri.path.clone()).collect::<Vec<_>>();
        files.create_folder(&uri("/in/sub")).expect("a folder");
        files.create_folder(&uri("/in")).expect("it is there already");
        for name in ["/in/f.txt", "/in/g.txt", "/in/sub/h.txt"] {
            files.write(&uri(name), b"x").expect("a file");
        }
        assert_eq!(files.list(&uri("/in")).expect("a list"), ["f.txt", "g.txt", "sub"]);
        assert_eq!(
            names(files.glob(&uri("/in/*.txt"), 9).expect("matches")),
            ["/in/f.txt", "/in/g.txt"]
        );
        assert_eq!(
            names(files.glob(&uri("/in/{g,sub/h}.txt"), 9).expect("matches")),
            ["/in/g.txt", "/in/sub/h.txt"]
        );
        assert_eq!(
            names(files.glob(&uri("/*/[e-g].tx?"), 9).expect("matches")),
            ["/in/f.txt", "/in/g.txt"]
        );
        assert_eq!(names(files.glob(&uri("/none"), 9).expect("no matches")), [""; 0]);
        assert_eq!(
            files.glob(&uri("/in/*"), 1).expect("matches").len(),
            2,
            "one more than the limit shows the excess"
        );
        let absent = files.rename(&uri("/in/f.txt"), &uri("/new/deep/f")).expect_err("no folder");
        assert_eq!(absent.kind(), io::ErrorKind::NotFound, "{absent}");
        assert_eq!(files.status(&uri("/new")).expect("nothing was made"), None);
        files.rename(&uri("/in/f.txt"), &uri("/in/g.txt")).expect_err("something is there");
        files.rename(&uri("/in/sub"), &uri("/in/sub/sub")).expect_err("it would lie in itself");
        assert_eq!(files.read(&uri("/in/g.txt"), 10).expect("its content"), b"x");
        files.create_folder(&uri("/new/deep")).expect("a folder");
        files.rename(&uri("/in/f.txt"), &uri("/new/deep/f")).expect("a rename");
        assert_eq!(files.read(&uri("/new/deep/f"), 10).expect("its content"), b"x");
        assert!(files.read(&uri("/new/deep/f"), 0).is_err(), "larger than asked for");
        files.set_mode(&uri("/in"), 0o750).expect("permissions");
        assert_eq!(
            files.status(&uri("/in")).expect("a status").map(|status| status.mode),
            Some(0o750)
        );
        assert!(files.delete(&uri("/in")).expect("it is there"));
        assert!(!files.delete(&uri("/in")).expect("it is gone"));
        assert_eq!(files.status(&uri("/in/sub/h.txt")).expect("nothing"), None);
    }

    #[test]
    fn memory_behaves_like_a_file_system() {
        check_files(&MemoryFiles::default(), "hdfs://nn");
    }

    #[test]
    fn a_pattern_that_leads_through_too_many_folders_misses_nothing_in_silence() {
        let files = MemoryFiles::default();
        let uri = |path: &str| FileUri::parse(&format!("hdfs://nn{path}"));
        for at in 0..=1_000 {
            files.create_folder(&uri(&format!("/in/{at:04}"))).expect("a folder");
        }
        files.write(&uri("/in/1000/x"), b"").expect("a file");
        let error = files.glob(&uri("/in/*/x"), 9).expect_err("not all of them are looked at");
        assert!(error.to_string().contains("more than 1000 paths"), "{error}");
        assert_eq!(files.glob(&uri("/in/*"), 9).expect("matches").len(), 10);
        assert_eq!(files.glob(&uri("/in/1*/x"), 9).expect("matches").len(), 1);
    }

    #[test]
    fn a_folder_behaves_like_a_file_system() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = LocalFiles::new(folder.path(), Folders::new());
        check_files(&files, "hdfs://nn");
        files.write(&FileUri::parse("hdfs://nn/../../x"), b"y").expect("a file in the root");
        assert!(folder.path().join("x").is_file());
    }

    /// Needs a cluster: `ANKUS_HDFS=hdfs://host:port/folder`, or `webhdfs:`. Everything in `check-files` in that folder
    /// is deleted.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "which cluster there is, the environment says")]
    #[expect(clippy::disallowed_macros, reason = "a test says that it is skipped")]
    fn a_cluster_behaves_like_a_file_system() {
        let Ok(url) = std::env::var("ANKUS_HDFS") else {
            println!("skipped: ANKUS_HDFS names no cluster");
            return;
        };
        let url = ClusterUrl::parse(&format!("{url}/check-files")).expect("the URL of a cluster");
        let mut files = hosts::remote("hdfs://nn", url);
        files.set_user("root");
        let uri = |path: &str| FileUri::parse(&format!("hdfs://nn{path}"));
        for name in files.list(&uri("/")).expect("a list") {
            files.delete(&uri("/").child(&name)).expect("what an earlier test left");
        }
        check_files(&*files, "hdfs://nn");

        let long: Vec<u8> = (0..9_000_000_u32).map(|at| (at / 7) as u8).collect();
        files.write(&uri("/long"), &long).expect("a file of several pieces");
        assert_eq!(files.read(&uri("/long"), 1 << 30).expect("its content"), long);
        files.write(&uri("/long"), b"short").expect("a file in its place");
        assert_eq!(files.read(&uri("/long"), 9).expect("its content"), b"short");
        files.write(&uri("/empty"), b"").expect("an empty file");
        assert_eq!(files.read(&uri("/empty"), 0).expect("nothing"), b"");
        let there = files.rename(&uri("/empty"), &uri("/long")).expect_err("a file is there");
        assert_eq!(there.kind(), io::ErrorKind::AlreadyExists, "{there}");
        let absent = files.read(&uri("/none"), 9).expect_err("nothing is there");
        assert_eq!(absent.kind(), io::ErrorKind::NotFound, "{absent}");
        assert_eq!(files.status(&uri("/long/x")).expect("nothing below a file"), None);
        assert_eq!(files.list(&uri("/long")).expect("a file has no names"), [""; 0]);
        files.set_group(&uri("/long"), "staff").expect("a group");
        files.set_replication(&uri("/long"), 2).expect("copies");
        match files.trash(&uri("/empty")) {
            Ok(moved) => assert!(moved && files.status(&uri("/empty")).expect("gone").is_none()),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}"),
        }
        assert!(files.delete(&uri("/")).is_err());
        let mut left = files.list(&uri("/")).expect("a list");
        left.retain(|name| name.starts_with('.'));
        assert_eq!(left, [""; 0], "half a file is left");

        let folder = tempfile::tempdir().expect("a folder");
        files.write(&uri("/tree/sub/a.sh"), b"#!/bin/sh\n").expect("a file");
        files.set_mode(&uri("/tree/sub/a.sh"), 0o750).expect("permissions");
        files.fetch(&uri("/tree"), &folder.path().join("tree")).expect("a copy");
        let copied = LocalFiles::new(folder.path(), Folders::new());
        let status = copied.status(&uri("/tree/sub/a.sh")).expect("a status");
        assert_eq!(status.map(|status| (status.length, status.mode)), Some((10, 0o750)));
        files.delete(&uri("/tree")).expect("it was there");
    }
}
