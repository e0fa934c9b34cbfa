//! The operations that the web services need from outside: reading applications, commanding jobs, access to the disk.
//!
//! `ankus serve` implements them with the same code as `ankus run` and `ankus job`, so that both accept and refuse the
//! same.

use std::collections::BTreeMap;
use std::sync::Arc;

use ankus_engine::driver::coordinator::Message;
use ankus_engine::driver::object::Mask;
use ankus_engine::host::files::LibraryPart;
use ankus_lang::coordinator::Answers;
use ankus_lang::machine::Command;
use ankus_lang::machine::coordinator::bundle::Event as BundleEvent;
use ankus_lang::plan::Plan;
use ankus_procedure::store::Reader;

use crate::answer::Fault;

/// The mode of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The job waits for the command `start`.
    Hold,
    /// The job starts at once.
    Start,
    /// Nothing is stored; the submission is only validated.
    DryRun,
}

/// The mode of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// Whether the update is only validated and not stored.
    pub is_dry: bool,
    /// Whether the changes are returned.
    pub shows_diff: bool,
}

/// A log of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// Everything.
    All,
    /// Warnings and errors.
    Errors,
    /// The audit log of requests.
    Audit,
}

/// The implementation behind the web services. Its methods block, and are called on threads that may block.
pub trait Backend: Send + Sync {
    /// Returns a reader of the store.
    ///
    /// # Errors
    /// If the store cannot be opened.
    fn reader(&self) -> Result<Arc<dyn Reader>, Fault>;

    /// Returns why nothing can be made durable at the moment, if so: load balancers should send no requests until then.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Submits the application that a configuration points to; returns the id of the job, or the result of a dry run.
    ///
    /// # Errors
    /// With the server's code if it is refused.
    fn submit(
        &self,
        configuration: &BTreeMap<String, String>,
        how: Submission,
    ) -> Result<String, Fault>;

    /// Sends a user's command to a workflow.
    ///
    /// # Errors
    /// If it has ended, or the store cannot be written.
    fn command(&self, by: &str, id: &str, command: Command) -> Result<(), Fault>;

    /// Reruns an ended workflow.
    ///
    /// # Errors
    /// With the server's code if it is refused.
    fn rerun(
        &self,
        by: &str,
        id: &str,
        configuration: &BTreeMap<String, String>,
    ) -> Result<(), Fault>;

    /// Sends a message to a coordinator, and waits until it has been processed.
    ///
    /// # Errors
    /// With the server's code if it is refused.
    fn coordinator(&self, by: &str, id: &str, message: Message) -> Result<(), Fault>;

    /// Returns the implementation of site functions in texts of a job.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn answers(&self, id: &str) -> Result<Box<dyn Answers>, Fault>;

    /// Updates a coordinator to the current definition at its path, with other properties if some are given; returns
    /// the differences.
    ///
    /// # Errors
    /// With the server's code if it is refused.
    fn update(
        &self,
        by: &str,
        id: &str,
        configuration: &BTreeMap<String, String>,
        how: Update,
    ) -> Result<String, Fault>;

    /// Sends a command to a bundle, and waits until it has been processed.
    ///
    /// # Errors
    /// With the server's code if it is refused.
    fn bundle(&self, by: &str, id: &str, event: BundleEvent) -> Result<(), Fault>;

    /// Returns the current definition at a job's path.
    ///
    /// # Errors
    /// If it cannot be read.
    fn definition(&self, id: &str) -> Result<String, Fault>;

    /// Returns a log of a job, as lines, possibly only those of some of its actions.
    ///
    /// # Errors
    /// If the filter is invalid, or the log cannot be read.
    fn log(
        &self,
        id: &str,
        log: Log,
        filter: &str,
        actions: Option<&[String]>,
    ) -> Result<String, Fault>;

    /// Returns a picture of a workflow with its progress, as SVG.
    ///
    /// # Errors
    /// If it cannot be drawn.
    fn picture(&self, id: &str, with_kills: bool) -> Result<String, Fault>;

    /// Converts the picture to PNG. `svg` is the result of [`picture`](Self::picture).
    ///
    /// # Errors
    /// If it is too large, or this server does not support PNG.
    fn dots(&self, svg: &str) -> Result<Vec<u8>, Fault>;

    /// Validates the text of a definition as a server would, under a name for messages.
    ///
    /// # Errors
    /// With the server's code if it is refused.
    fn validate(&self, name: &str, text: &str) -> Result<(), Fault>;

    /// Returns the properties of the server.
    fn configuration(&self) -> BTreeMap<String, String>;

    /// Returns a mask for the secrets in these properties, those of a workflow if given, and all texts that contain
    /// their values.
    fn mask(&self, properties: &BTreeMap<String, String>, plan: Option<&Plan>) -> Box<dyn Mask>;

    /// Returns the parts of the share library with the URIs of their files; none if there is no share library.
    ///
    /// # Errors
    /// If it cannot be read.
    fn share_library(&self) -> Result<Option<Vec<LibraryPart>>, Fault>;

    /// Deletes jobs that ended more than the given number of days ago, the oldest first, up to a limit per kind.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn purge(&self, days: &Purge) -> Result<(), Fault>;
}

/// The jobs that are purged: ages in days by kind of job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purge {
    /// Age of workflows.
    pub workflows: Option<u64>,
    /// Age of coordinators.
    pub coordinators: Option<u64>,
    /// Age of bundles.
    pub bundles: Option<u64>,
    /// Whether actions of running coordinators are purged with their workflows, when these are old enough.
    pub actions: bool,
    /// Maximum number of each kind.
    pub limit: Option<usize>,
}
