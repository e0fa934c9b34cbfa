//! What a job runs with: file systems, tools, variables, settings. It is fixed when the job is submitted.
//!
//! The [`Needs`] of the submitter become `Equipped` in the process that runs the job, in whatever folder and
//! environment that is. They are stored once for all jobs with the same needs, and child jobs inherit them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};

use super::keep::{JobRecord, spaces};
use super::{Compiler, Error, Shared, bundle, coordinator, view};
use crate::actions::workplace::ActionDefaults;
use crate::host::applications::Applications;
use crate::host::elsewhere::Place;
use crate::host::files::{self, FileSystems, FileUri, Hosts};
use crate::host::function::{Around, Function};
use crate::host::process::Bounds;
use crate::host::process::sandbox::Sandbox;
use ankus_lang::coordinator::Answers;
use ankus_lang::el::{Called, Failure, SiteFunction};
use ankus_lang::time::ProcessingZone;
use ankus_procedure::store::{self, Reader};

/// What a job runs with, taken from the environment of its submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Needs {
    /// The root of the file systems; empty for `root` in the folder of the store.
    pub root: PathBuf,
    /// The targets that authorities of URIs are mapped to: folders of this machine with their whole paths, and URLs of
    /// clusters.
    pub hosts: BTreeMap<String, String>,
    /// Folders of this machine that `file:` URIs may reach.
    pub machine: Vec<PathBuf>,
    /// Folders of this machine that are mounted at URIs.
    pub mounts: Vec<(String, PathBuf)>,
    /// Programs by the names of tools; the others are looked up on PATH.
    pub tools: BTreeMap<String, String>,
    /// Server properties that differ from the defaults.
    pub server: BTreeMap<String, String>,
    /// Schemes of file systems that actions may use.
    pub schemes: Vec<String>,
    /// Action types that the site adds.
    pub site_types: BTreeSet<String>,
    /// Default elements of actions that run programs.
    pub action_defaults: Vec<ActionDefaults>,
    /// The environment variables of programs.
    pub environment: BTreeMap<String, String>,
    /// How long a program may take to end after it was asked to, in milliseconds.
    pub grace_ms: u64,
    /// Whether a program that a shutdown ended is started again; otherwise its action ends with an error.
    pub starts_again: bool,
    /// How many bytes are kept of each output stream of a program.
    pub output: u64,
    /// How many bytes of output are kept of all programs of one run of a job.
    pub output_of_job: u64,
    /// The resource limits of a program.
    pub bounds: Bounds,
    /// The sandbox of a program.
    pub sandbox: Sandbox,
    /// Where programs run that do not run on this machine, by action type.
    pub places: BTreeMap<String, Place>,
    /// EL functions that the site adds.
    pub functions: Vec<SiteFunction>,
    /// Programs that evaluate those functions, by function name.
    pub programs: BTreeMap<String, Function>,
    /// Further settings of the frontend, in its own format.
    pub settings: String,
    /// The settings file that they come from.
    pub settings_file: Option<PathBuf>,
    /// The user who submitted the job.
    pub user: String,
}

impl Default for Needs {
    fn default() -> Needs {
        Needs {
            root: PathBuf::new(),
            hosts: BTreeMap::new(),
            machine: Vec::new(),
            mounts: Vec::new(),
            tools: BTreeMap::new(),
            server: BTreeMap::new(),
            // Every file system is a folder here, and nothing is gained by refusing some.
            schemes: vec!["*".to_owned()],
            site_types: BTreeSet::new(),
            action_defaults: Vec::new(),
            environment: BTreeMap::new(),
            grace_ms: 5_000,
            starts_again: true,
            output: 256 << 20,
            output_of_job: 4 << 30,
            bounds: Bounds::default(),
            sandbox: Sandbox::default(),
            places: BTreeMap::new(),
            functions: Vec::new(),
            programs: BTreeMap::new(),
            settings: String::new(),
            settings_file: None,
            user: String::new(),
        }
    }
}

impl Needs {
    /// Returns the result of the program for a function of the site, or none if the function has no program.
    fn answer(&self, called: &Called<'_>, store: &Path) -> Option<Result<String, Box<Failure>>> {
        let function = self.programs.get(called.function)?;
        let Needs { environment, tools, sandbox, bounds, settings_file, .. } = self;
        let folder = settings_file.as_deref().and_then(Path::parent);
        Some(function.call(called, &Around { environment, tools, sandbox, bounds, folder, store }))
    }

    /// Returns the user name for clusters that trust the client's name.
    pub fn cluster_user(&self) -> &str {
        let named = self.environment.get("HADOOP_USER_NAME").filter(|name| !name.is_empty());
        named.unwrap_or(&self.user)
    }
}

impl Needs {
    /// Returns the user whom the owner of a Kerberos ticket impersonates.
    pub fn proxy_user(&self) -> Option<&str> {
        let named = self.environment.get("HADOOP_PROXY_USER")?;
        Some(named.as_str()).filter(|name| !name.is_empty())
    }
}

/// Makes frontends for given needs.
pub trait Frontends: Send + Sync {
    /// Returns the compiler for jobs with these needs.
    fn compiler(&self, needs: &Needs) -> Result<Box<dyn Compiler>, String>;
}

/// Needs with the objects that provide them.
pub(crate) struct Equipped {
    pub(crate) needs: Needs,
    pub(crate) files: Applications,
    pub(crate) compiler: Box<dyn Compiler>,
    /// The folder of the store.
    pub(crate) store: PathBuf,
}

impl Equipped {
    pub(super) fn new(
        mut needs: Needs,
        folder: &Path,
        frontends: &dyn Frontends,
    ) -> Result<Equipped, Error> {
        if needs.root.as_os_str().is_empty() {
            needs.root = folder.join("root");
        }
        needs.root = std::path::absolute(&needs.root).unwrap_or(needs.root);
        std::fs::create_dir_all(&needs.root)
            .map_err(|error| Error::Folder(needs.root.clone(), error))?;
        let mut hosts = Hosts::new();
        for (authority, place) in &needs.hosts {
            let place = files::Place::read(place, Path::new("/"));
            let place = place.map_err(|why| {
                Error::State(format!("the file system of `{authority}` cannot be used: {why}"))
            })?;
            hosts.insert(authority.clone(), place);
        }
        if !needs.machine.is_empty() {
            hosts.insert("file:".to_owned(), files::Place::Machine(needs.machine.clone()));
        }
        let files = Applications::new(
            FileSystems::new(needs.root.clone(), hosts)
                .with_user(needs.cluster_user())
                .with_proxy(needs.proxy_user()),
        );
        for (uri, folder) in &needs.mounts {
            files.mount(FileUri::parse(uri), folder.clone());
        }
        let compiler = frontends.compiler(&needs).map_err(Error::State)?;
        Ok(Equipped { needs, files, compiler, store: folder.to_owned() })
    }

    /// Returns the time zone of the server's dates.
    pub(super) fn zone(&self) -> ProcessingZone {
        self.server("oozie.processing.timezone")
            .and_then(ProcessingZone::from_id)
            .unwrap_or_default()
    }

    /// Returns a property of the server.
    pub(super) fn server(&self, name: &str) -> Option<&str> {
        self.needs.server.get(name).map(String::as_str)
    }
}

impl Answers for Equipped {
    fn functions(&self) -> &[SiteFunction] {
        &self.needs.functions
    }

    fn call(&self, called: &Called<'_>) -> Option<Result<String, Box<Failure>>> {
        self.needs.answer(called, &self.store)
    }
}

/// The programs that evaluate functions of the site, for callers that evaluate a text as a job would.
pub struct Programs {
    needs: Needs,
    store: PathBuf,
}

impl Answers for Programs {
    fn functions(&self) -> &[SiteFunction] {
        &self.needs.functions
    }

    fn call(&self, called: &Called<'_>) -> Option<Result<String, Box<Failure>>> {
        self.needs.answer(called, &self.store)
    }
}

/// Returns the programs of a job, of a store in this folder.
pub fn programs_of_job(reader: &dyn Reader, id: &str, store: &Path) -> Result<Programs, Error> {
    let needs = of_job(reader, id)?.unwrap_or_default();
    Ok(Programs { needs, store: store.to_owned() })
}

/// Needs to be stored with a job: their key, and their bytes if they are not stored yet.
pub(super) struct Kept {
    pub(super) key: String,
    pub(super) new: Option<Vec<u8>>,
    pub(super) equipped: Arc<Equipped>,
}

/// Returns the needs with this key.
pub fn read(reader: &dyn Reader, key: &str) -> Result<Option<Needs>, Error> {
    if key.is_empty() {
        return Ok(None);
    }
    let damaged = || store::Error::Damaged(format!("what jobs run with ({key})"));
    let bytes = reader.get(spaces::NEEDS, key.as_bytes())?.ok_or_else(damaged)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|_| damaged().into())
}

/// Returns what a job, a coordinator or a bundle runs with, or none if an older version submitted it.
pub fn of_job(reader: &dyn Reader, id: &str) -> Result<Option<Needs>, Error> {
    read(reader, &key_of(reader, id)?)
}

fn key_of(reader: &dyn Reader, id: &str) -> Result<String, Error> {
    if let Some(record) = view::record(reader, id)? {
        return Ok(record.needs);
    }
    if let Some(record) = coordinator::record(reader, id)? {
        return Ok(record.needs);
    }
    match bundle::record(reader, id)? {
        Some(record) => Ok(record.needs),
        None => Err(Error::Unknown(id.to_owned())),
    }
}

impl Shared {
    /// Prepares the needs of a submission for storage, with further folders mounted at URIs.
    pub(super) fn keep_needs(
        &self,
        needs: &Needs,
        mounts: &[(String, PathBuf)],
    ) -> Result<Kept, Error> {
        let mut needs = needs.clone();
        needs.mounts.extend(mounts.iter().cloned());
        if needs.root.as_os_str().is_empty() {
            needs.root = self.default_root();
        }
        needs.root = std::path::absolute(&needs.root).unwrap_or(needs.root);
        let bytes = serde_json::to_vec(&needs).expect("it has a serialized form");
        let mut attempt = 0_u32;
        let (key, new) = loop {
            let key = format!("{:08x}-{}-{attempt}", crc32fast::hash(&bytes), bytes.len());
            match self.reader().get(spaces::NEEDS, key.as_bytes()) {
                Ok(None) => break (key, Some(bytes)),
                Ok(Some(known)) if *known == *bytes => break (key, None),
                Ok(Some(_)) | Err(store::Error::Damaged(_)) => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        };
        let equipped = self.equip(&key, || Ok(needs))?;
        Ok(Kept { key, new, equipped })
    }

    fn equip(
        &self,
        key: &str,
        needs: impl FnOnce() -> Result<Needs, Error>,
    ) -> Result<Arc<Equipped>, Error> {
        let mut known = self.equipped.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(equipped) = known.get(key) {
            return Ok(equipped.clone());
        }
        let folder = self.folder.parent().unwrap_or(Path::new(""));
        let frontends = &*self.surroundings.frontends;
        let equipped = Arc::new(Equipped::new(needs()?, folder, frontends)?);
        known.insert(key.to_owned(), equipped.clone());
        Ok(equipped)
    }

    /// Returns what jobs with these needs run with. Jobs of an older version have the needs of this process.
    pub(super) fn equipped(&self, key: &str) -> Result<Arc<Equipped>, Error> {
        self.equip(key, || Ok(read(self.reader(), key)?.unwrap_or_else(|| self.own_needs())))
    }

    /// Like [`Shared::equipped`], for a job, a coordinator or a bundle.
    pub(super) fn equipped_of(&self, id: &str) -> Result<Arc<Equipped>, Error> {
        self.equipped(&key_of(self.reader(), id)?)
    }

    fn default_root(&self) -> PathBuf {
        self.folder.with_file_name("root")
    }

    /// Returns the needs of this process, for jobs stored without needs: with the root and the mounted folders that the
    /// store was used with.
    fn own_needs(&self) -> Needs {
        let mut needs = self.surroundings.needs.clone();
        let known = self.reader().get(spaces::META, b"root").ok().flatten();
        if let (true, Some(known)) = (needs.root.as_os_str().is_empty(), known) {
            needs.root = PathBuf::from(String::from_utf8_lossy(&known).into_owned());
        }
        for row in self.reader().scan_sound(spaces::MOUNT, b"").unwrap_or_default().0 {
            let uri = String::from_utf8_lossy(&row.key.key).into_owned();
            let folder = PathBuf::from(String::from_utf8_lossy(&row.value).into_owned());
            needs.mounts.push((uri, folder));
        }
        needs
    }
}

impl Kept {
    /// Returns the key and the bytes to store with the job, if any.
    pub(super) fn row(&mut self) -> Option<(&str, Vec<u8>)> {
        self.new.take().map(|bytes| (self.key.as_str(), bytes))
    }
}

/// Returns what a job runs with, by its record.
pub(super) fn of_record(shared: &Shared, record: &JobRecord) -> Result<Arc<Equipped>, Error> {
    shared.equipped(&record.needs)
}
