//! Files of jobs that are stored in the file system of a cluster while the jobs run: for places that accept no files
//! themselves, or only small ones.
//!
//! Each job has a folder of its own below the configured one. Only those who know its name can look into it, and it is
//! deleted when the job has ended.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Fault, Ticket};
use crate::host::files::{FileStatus, FileSystems, FileUri, Files, Hosts, Place};

/// Where files of jobs are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging {
    /// The URI of a folder.
    pub folder: String,
    /// What its file system is mapped to, as in `[hosts]`; paths are absolute.
    pub hosts: BTreeMap<String, String>,
    /// The user who writes there, unless the URL names one.
    pub user: String,
    /// The user whom the owner of a Kerberos ticket impersonates, unless the URL names one.
    #[serde(default)]
    pub proxy: Option<String>,
}

/// The permissions of the folder of all jobs: each user may add folders, delete only their own, and see no others.
const SHARED: u32 = 0o1733;
/// The permissions of folders: others may pass through, if they know the names.
const FOLDER: u32 = 0o711;
/// The permissions of files: others may read them.
const FILE: u32 = 0o644;
/// The largest file that is copied, in bytes.
const LARGEST: u64 = 2 << 30;

impl Staging {
    fn files(&self) -> Result<FileSystems, Fault> {
        let folder = FileUri::parse(&self.folder);
        let origin = folder.origin();
        let Some(text) = self.hosts.get(&origin) else {
            return Err(Fault::Refused(format!(
                "`staging` is {}, and [hosts] does not say how {origin} is reached",
                self.folder
            )));
        };
        let place = Place::read(text, Path::new("/"))
            .map_err(|why| Fault::Refused(format!("[hosts] of {origin}: {why}")))?;
        let files = FileSystems::new("/nowhere", Hosts::from([(origin, place)]));
        Ok(files.with_user(&self.user).with_proxy(self.proxy.as_deref()))
    }

    fn folder_of(&self, ticket: &Ticket) -> FileUri {
        FileUri::parse(&self.folder).child(&ticket.id)
    }

    /// Copies a file of this machine to the folder of its job, under a name. A file that was copied before is left as
    /// it is.
    pub(super) fn put(
        &self,
        ticket: &Ticket,
        name: &str,
        path: &Path,
    ) -> Result<(FileUri, FileStatus), Fault> {
        let unreadable =
            |error: std::io::Error| Fault::Refused(format!("{}: {error}", path.display()));
        let length = std::fs::metadata(path).map_err(unreadable)?.len();
        if length > LARGEST {
            return Err(Fault::Refused(format!(
                "{} has {length} bytes, and {LARGEST} can be transferred: name a file of the cluster instead",
                path.display()
            )));
        }
        self.write(ticket, name, &std::fs::read(path).map_err(unreadable)?)
    }

    /// Writes bytes to a file in the same way.
    pub(super) fn write(
        &self,
        ticket: &Ticket,
        name: &str,
        bytes: &[u8],
    ) -> Result<(FileUri, FileStatus), Fault> {
        let files = self.files()?;
        let folder = self.folder_of(ticket);
        let uri = name.split('/').fold(folder.clone(), |uri, part| uri.child(part));
        let fault = |error: std::io::Error| self.fault(&error);
        // A job that was started before the process was killed relies on the file as it is.
        let there = files.status(&uri).map_err(fault)?;
        if let Some(status) = there.filter(|status| status.length == bytes.len() as u64) {
            return Ok((uri, status));
        }
        let shared = FileUri::parse(&self.folder);
        if files.status(&shared).map_err(fault)?.is_none() {
            files.create_folder(&shared).map_err(fault)?;
            files.set_mode(&shared, SHARED).map_err(fault)?;
        }
        let mut folders = vec![folder.clone()];
        let mut above = uri.parent();
        while let Some(parent) = above.filter(|parent| parent.path.len() > folder.path.len()) {
            above = parent.parent();
            folders.push(parent);
        }
        for folder in folders {
            files.create_folder(&folder).map_err(fault)?;
            files.set_mode(&folder, FOLDER).map_err(fault)?;
        }
        files.write(&uri, bytes).map_err(fault)?;
        files.set_mode(&uri, FILE).map_err(fault)?;
        match files.status(&uri).map_err(fault)? {
            Some(status) => Ok((uri, status)),
            None => Err(Fault::Unreachable(format!("{uri} has disappeared"))),
        }
    }

    /// Deletes the files of a job.
    pub(super) fn clear(&self, ticket: &Ticket) -> Result<(), Fault> {
        let files = self.files()?;
        files.delete(&self.folder_of(ticket)).map_err(|error| self.fault(&error))?;
        Ok(())
    }

    fn fault(&self, error: &std::io::Error) -> Fault {
        let why = format!("`staging` {}: {error}", self.folder);
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => Fault::Refused(format!(
                "{why}; if others use the folder too, its owner has to allow it: `hadoop fs -chmod 1733 {}`",
                self.folder
            )),
            std::io::ErrorKind::InvalidInput => Fault::Refused(why),
            _ => Fault::Unreachable(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_job_come_and_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let cluster = folder.path().join("cluster").display().to_string();
        let staging = Staging {
            folder: "hdfs://nn:8020/tmp/ankus".to_owned(),
            hosts: [("hdfs://nn:8020".to_owned(), cluster)].into(),
            user: "joe".to_owned(),
            proxy: None,
        };
        let ticket = |id: &str| Ticket { id: id.to_owned(), ..Ticket::default() };
        let path = folder.path().join("a.jar");
        std::fs::write(&path, b"jar").expect("a file");
        for id in ["one", "two"] {
            let (uri, status) = staging.put(&ticket(id), "lib/a.jar", &path).expect("a file");
            assert_eq!(uri.to_string(), format!("hdfs://nn:8020/tmp/ankus/{id}/lib/a.jar"));
            assert_eq!((status.length, status.mode & 0o777), (3, 0o644));
        }
        let mode = std::os::unix::fs::PermissionsExt::mode;
        let shared =
            std::fs::metadata(format!("{}/tmp/ankus", folder.path().join("cluster").display()));
        assert_eq!(mode(&shared.expect("a folder").permissions()) & 0o7777, 0o1733);
        staging.clear(&ticket("one")).expect("it is cleared");
        let there = folder.path().join("cluster/tmp/ankus");
        assert!(!there.join("one").exists() && there.join("two/lib/a.jar").exists());
        staging.clear(&ticket("one")).expect("nothing is left to be cleared");
        let nowhere = Staging { hosts: BTreeMap::new(), ..staging };
        let Err(Fault::Refused(why)) = nowhere.clear(&ticket("two")) else { panic!("refused") };
        assert!(why.contains("[hosts] does not say how hdfs://nn:8020 is reached"), "{why}");
    }
}
