//! How jobs are stored: one space for each kind of row, and the bytes of each.

use serde::{Deserialize, Serialize};

use ankus_lang::machine::{Change, Job, Phase, Run};
use ankus_lang::plan::NodeIndex;
use ankus_procedure::store::{self, Reader};
use ankus_procedure::{ProcedureId, has_messages};

/// The spaces of the store that jobs use.
pub(crate) mod spaces {
    /// Jobs, by id: [`super::JobRecord`].
    pub(crate) const JOB: &str = "job";
    /// Properties of jobs, by id.
    pub(crate) const CONF: &str = "conf";
    /// Plans, by checksum and length.
    pub(crate) const PLAN: &str = "plan";
    /// Rows of nodes, by the job's id and the node's index.
    pub(crate) const ROW: &str = "row";
    /// Moments, by the job's id and a number: lists of [`super::Moment`].
    pub(crate) const EVENT: &str = "event";
    /// Notifications, by the job's id and a number: [`super::super::Notified`].
    pub(crate) const NOTIFICATION: &str = "notification";
    /// What jobs run with, by checksum and length: [`super::super::Needs`].
    pub(crate) const NEEDS: &str = "needs";
    /// Folders of this machine, by the URI at which they are mounted, for jobs that older versions submitted.
    pub(crate) const MOUNT: &str = "mount";
    /// SLA expectations of nodes, by the job's id and the node's index: [`ankus_lang::coordinator::Sla`].
    pub(crate) const EXPECTATION: &str = "expectation";
    /// Ids of submitted jobs, by the number that identifies the request.
    pub(crate) const ASKED: &str = "asked";
    /// Values of the store itself.
    pub(crate) const META: &str = "meta";
}

/// A job as it is stored; its properties and rows are stored separately.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job.
    pub job: Job,
    /// The procedure that runs or ran it.
    pub procedure: ProcedureId,
    /// The key of its plan.
    pub plan: String,
    /// The job at the top of the chain of parents; its own id if it has none.
    pub root: String,
    /// How many moments of it are stored.
    pub moments: u64,
    /// Its calls that are not known to have ended, even if the job itself has.
    pub open: Vec<Open>,
    /// The key of what it runs with; empty if an older version submitted it.
    pub(crate) needs: String,
}

/// A call of a job that is not known to have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The node.
    pub node: NodeIndex,
    /// The number of the call.
    pub serial: u32,
    /// The phase of the action that it carries out.
    pub phase: Phase,
    /// What may be running for it.
    pub what: Calls,
    /// The procedure of the call.
    pub(crate) procedure: ProcedureId,
    /// The serial number of the call that stops it, if it is to stop.
    pub(crate) stop: Option<u32>,
}

/// What may be running for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Calls {
    /// Work of the driver itself that ends soon.
    Us,
    /// A program.
    Program,
    /// A child job.
    Child,
}

/// A job as an older version stored it.
#[derive(Deserialize)]
struct JobRecordBefore {
    job: Job,
    procedure: ProcedureId,
    plan: String,
    root: String,
    moments: u64,
}

impl JobRecord {
    /// Whether a command to it has not been handled yet.
    pub fn has_messages(&self, reader: &dyn Reader) -> Result<bool, store::Error> {
        has_messages(reader, self.procedure)
    }

    pub(crate) fn new(
        run: &Run,
        procedure: ProcedureId,
        plan: String,
        root: String,
        needs: String,
    ) -> JobRecord {
        let (job, open) = (run.job.clone(), Vec::new());
        JobRecord { job, procedure, plan, root, moments: 0, open, needs }
    }

    /// Decodes a stored job of any version.
    pub(crate) fn read(what: &str, bytes: &[u8]) -> Result<JobRecord, store::Error> {
        if let Ok(record) = decode(what, bytes) {
            return Ok(record);
        }
        let before: JobRecordBefore = decode(what, bytes)?;
        let JobRecordBefore { job, procedure, plan, root, moments } = before;
        let (open, needs) = (Vec::new(), String::new());
        Ok(JobRecord { job, procedure, plan, root, moments, open, needs })
    }
}

/// A change, and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub at: i64,
    /// What changed.
    pub change: Change,
}

/// Access to the plans in the store.
pub(crate) struct Keep;

impl Keep {
    /// Returns the key of a plan, and its bytes if they are not stored yet. Identical plans are stored once.
    pub(crate) fn plan_key(
        reader: &dyn Reader,
        bytes: &[u8],
    ) -> Result<(String, Option<Vec<u8>>), store::Error> {
        for attempt in 0_u32.. {
            let key = format!("{:08x}-{}-{attempt}", crc32fast::hash(bytes), bytes.len());
            match reader.get(spaces::PLAN, key.as_bytes()) {
                Ok(None) => return Ok((key, Some(bytes.to_vec()))),
                Ok(Some(known)) if *known == *bytes => return Ok((key, None)),
                // The stored plan is a different one, or damaged.
                Ok(Some(_)) | Err(store::Error::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("there are fewer plans than numbers")
    }
}

/// Encodes any stored type.
pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("every type of ours has a serialized form")
}

/// Decodes any stored type.
pub(crate) fn decode<'a, T: Deserialize<'a>>(
    what: &str,
    bytes: &'a [u8],
) -> Result<T, store::Error> {
    postcard::from_bytes(bytes).map_err(|_| store::Error::Damaged(what.to_owned()))
}

/// Returns the key of a row; the rows of a job are ordered by node.
pub(crate) fn row_key(job: &str, node: NodeIndex) -> Vec<u8> {
    let mut key = prefix(job);
    key.extend_from_slice(&node.to_be_bytes());
    key
}

/// Returns the key of a moment.
pub(crate) fn moment_key(job: &str, number: u64) -> Vec<u8> {
    let mut key = prefix(job);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Returns the rows of a job's expectations.
pub(crate) fn expectations(run: &Run) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> + '_ {
    run.expectations.iter().map(|(node, sla)| (row_key(&run.job.id, *node), encode(sla)))
}

/// Returns the prefix of all keys of a job's rows. An id contains no zero byte.
pub(crate) fn prefix(job: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(job.len() + 9);
    key.extend_from_slice(job.as_bytes());
    key.push(0);
    key
}

/// Formats the time at which a store was created for use in job ids: `yyMMddHHmmssSSS`.
pub(crate) fn stamp(ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(moment) => {
            let zoned = moment.to_zoned(jiff::tz::TimeZone::UTC);
            format!("{}{:03}", zoned.strftime("%y%m%d%H%M%S"), ms.rem_euclid(1000))
        }
        Err(_) => "000000000000000".to_owned(),
    }
}
