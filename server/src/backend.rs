//! What the web services need and cannot do themselves: reading applications, commanding jobs, looking at the disk.
//!
//! `ankus serve` implements it with the same code as `ankus run` and `ankus job`, so that both accept and refuse the same.

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

/// How far a submission goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The job waits for the command to start.
    Hold,
    /// It starts at once.
    Start,
    /// Nothing is kept; it is only found out whether it would be accepted.
    DryRun,
}

/// How far an update goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// Nothing is kept; it is only found out whether it would be accepted.
    pub is_dry: bool,
    /// Whether what changes is told.
    pub shows_diff: bool,
}

/// Which log of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// Everything.
    All,
    /// Warnings and errors.
    Errors,
    /// Who asked what.
    Audit,
}

/// What stands behind the web services. Its methods block, and are called on threads that may.
pub trait Backend: Send + Sync {
    /// Reads the store.
    ///
    /// # Errors
    /// Where the store cannot be opened.
    fn reader(&self) -> Result<Arc<dyn Reader>, Fault>;

    /// Why nothing can be made durable at the moment, if so: nobody should be sent here until it can.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Submits the application that a configuration names; the answer is the id of the job, or what a dry run tells.
    ///
    /// # Errors
    /// With the code of the server where it is refused.
    fn submit(
        &self,
        configuration: &BTreeMap<String, String>,
        how: Submission,
    ) -> Result<String, Fault>;

    /// Has a workflow take a command of a user.
    ///
    /// # Errors
    /// Where it has ended, or the store cannot be written.
    fn command(&self, by: &str, id: &str, command: Command) -> Result<(), Fault>;

    /// Runs an ended workflow again.
    ///
    /// # Errors
    /// With the code of the server where it is refused.
    fn rerun(
        &self,
        by: &str,
        id: &str,
        configuration: &BTreeMap<String, String>,
    ) -> Result<(), Fault>;

    /// Has a coordinator take a message, and waits until it has.
    ///
    /// # Errors
    /// With the code of the server where it is refused.
    fn coordinator(&self, by: &str, id: &str, message: Message) -> Result<(), Fault>;

    /// What answers for functions of the site in texts of a job.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn answers(&self, id: &str) -> Result<Box<dyn Answers>, Fault>;

    /// Gives a coordinator its definition as it lies at its path now, with other properties where some are given; the answer
    /// says what that changes.
    ///
    /// # Errors
    /// With the code of the server where it is refused.
    fn update(
        &self,
        by: &str,
        id: &str,
        configuration: &BTreeMap<String, String>,
        how: Update,
    ) -> Result<String, Fault>;

    /// Has a bundle take a command, and waits until it has.
    ///
    /// # Errors
    /// With the code of the server where it is refused.
    fn bundle(&self, by: &str, id: &str, event: BundleEvent) -> Result<(), Fault>;

    /// The definition of a job, as it lies at its path.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn definition(&self, id: &str) -> Result<String, Fault>;

    /// A log of a job, as lines, perhaps only those of some of its actions.
    ///
    /// # Errors
    /// Where the filter is wrong, or the log cannot be read.
    fn log(
        &self,
        id: &str,
        log: Log,
        filter: &str,
        actions: Option<&[String]>,
    ) -> Result<String, Fault>;

    /// A picture of a workflow with what has run, as SVG.
    ///
    /// # Errors
    /// Where it cannot be drawn.
    fn picture(&self, id: &str, with_kills: bool) -> Result<String, Fault>;

    /// The same picture as PNG. `svg` is what [`picture`](Self::picture) has made.
    ///
    /// # Errors
    /// Where it is too large, or where this server draws none.
    fn dots(&self, svg: &str) -> Result<Vec<u8>, Fault>;

    /// Whether a server would accept the text of a definition, under a name for messages.
    ///
    /// # Errors
    /// With the code of the server where it would not.
    fn validate(&self, name: &str, text: &str) -> Result<(), Fault>;

    /// The properties of the server.
    fn configuration(&self) -> BTreeMap<String, String>;

    /// Hides the secrets of these properties, those of a workflow where it is given, and both in texts that hold their values.
    fn mask(&self, properties: &BTreeMap<String, String>, plan: Option<&Plan>) -> Box<dyn Mask>;

    /// The parts of the share library with the URIs of their files; none where there is no share library.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn share_library(&self) -> Result<Option<Vec<LibraryPart>>, Fault>;

    /// Deletes jobs that ended so many days ago, the oldest first, at most so many of a kind.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn purge(&self, days: &Purge) -> Result<(), Fault>;
}

/// What is purged: ages in days by kind of job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purge {
    /// Of workflows.
    pub workflows: Option<u64>,
    /// Of coordinators.
    pub coordinators: Option<u64>,
    /// Of bundles.
    pub bundles: Option<u64>,
    /// Whether actions of coordinators that go on go with their workflows, when these are so old.
    pub actions: bool,
    /// How many of each kind go at most.
    pub limit: Option<usize>,
}
