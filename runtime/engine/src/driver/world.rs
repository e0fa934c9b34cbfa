//! The environment in which the state machine evaluates jobs of a driver.

use std::collections::BTreeSet;

use super::Shared;
use super::needs::Equipped;
use crate::actions::fs::{GLOB_LIMIT, Unsupported, supported};
use crate::host::files::{FileUri, Files};
use ankus_lang::action_types::action_type;
use ankus_lang::coordinator::Answers;
use ankus_lang::el::{self, Called, Failure, FileScope};
use ankus_lang::machine::World;
use ankus_lang::plan::NodeIndex;

/// The clock, files and settings of a driver.
pub(crate) struct Surrounded<'a> {
    equipped: &'a Equipped,
    now: i64,
    files: FilesOf<'a>,
    /// Nodes whose actions wait for a place.
    pub(super) waiting: BTreeSet<NodeIndex>,
}

impl<'a> Surrounded<'a> {
    pub(super) fn new(shared: &Shared, equipped: &'a Equipped) -> Surrounded<'a> {
        let files = FilesOf { files: &equipped.files, schemes: &equipped.needs.schemes };
        let now = shared.host.wall_ms();
        Surrounded { equipped, now, files, waiting: BTreeSet::new() }
    }
}

impl World for Surrounded<'_> {
    fn now(&self) -> i64 {
        self.now
    }

    fn files(&self) -> Option<&dyn FileScope> {
        Some(&self.files)
    }

    fn server(&self, name: &str) -> Option<&str> {
        self.equipped.server(name)
    }

    fn knows(&self, kind: &str) -> bool {
        action_type(kind).is_some() || self.equipped.needs.site_types.contains(kind)
    }

    fn call(&self, called: &Called<'_>) -> Option<Result<String, Box<Failure>>> {
        Answers::call(self.equipped, called)
    }

    fn is_waiting(&self, node: NodeIndex) -> bool {
        self.waiting.contains(&node)
    }
}

/// The file systems that expressions may query.
pub(crate) struct FilesOf<'a> {
    pub(crate) files: &'a dyn Files,
    /// The allowed schemes; `*` allows all.
    pub(crate) schemes: &'a [String],
}

impl FilesOf<'_> {
    /// Parses a URI, and fails if its scheme is not supported. One without a scheme belongs to the default file system.
    fn reachable(&self, uri: &str) -> Result<FileUri, Box<Failure>> {
        let uri = FileUri::parse(uri);
        if uri.scheme.is_empty() {
            return Ok(uri);
        }
        let exception =
            |why: Unsupported| Failure::exception("HadoopAccessorException", why.message());
        supported(self.schemes, &uri).map_err(exception)?;
        Ok(uri)
    }

    fn look(&self, uri: &FileUri) -> Result<Option<el::FileStatus>, Box<Failure>> {
        let status = self.files.status(uri).map_err(|error| failed(&error))?;
        Ok(status.map(|status| el::FileStatus {
            is_folder: status.directory,
            length: i64::try_from(status.length).unwrap_or(i64::MAX),
            block_size: if status.directory { 0 } else { 128 << 20 },
        }))
    }
}

fn failed(error: &std::io::Error) -> Box<Failure> {
    Failure::exception("IOException", error.to_string())
}

impl FileScope for FilesOf<'_> {
    fn exists(&self, uri: &str) -> Result<bool, Box<Failure>> {
        let found = self.files.glob(&self.reachable(uri)?, GLOB_LIMIT);
        found.map(|found| !found.is_empty()).map_err(|error| failed(&error))
    }

    fn status(&self, uri: &str) -> Result<Option<el::FileStatus>, Box<Failure>> {
        self.look(&self.reachable(uri)?)
    }

    fn partition(&self, uri: &str) -> Result<bool, Box<Failure>> {
        self.look(&FileUri::parse(uri)).map(|found| found.is_some())
    }

    fn children(&self, uri: &str) -> Result<Vec<el::FileStatus>, Box<Failure>> {
        let folder = self.reachable(uri)?;
        let names = self.files.list(&folder).map_err(|error| failed(&error))?;
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            found.extend(self.look(&folder.child(&name))?);
        }
        Ok(found)
    }
}
