//! How jobs are stored: one space for each kind of row, and the bytes of each.

use serde::{Deserialize, Serialize};

use ankus_lang::machine::{Change, Job, Phase, Run};
use ankus_lang::plan::NodeIndex;
use ankus_procedure::store::{self, Reader};
use ankus_procedure::{ProcedureId, has_messages};

/// The spaces of the store that jobs use.
pub(crate) mod spaces {
    /// A job by its id: [`super::JobRecord`].
    pub(crate) const JOB: &str = "job";
    /// The properties of a job by its id.
    pub(crate) const CONF: &str = "conf";
    /// A plan by its sum and length.
    pub(crate) const PLAN: &str = "plan";
    /// A row of a node by the job's id and the node's index.
    pub(crate) const ROW: &str = "row";
    /// What happened, by the job's id and a number.
    pub(crate) const EVENT: &str = "event";
    /// A notification by the job's id and a number: [`super::super::Notified`].
    pub(crate) const NOTIFICATION: &str = "notification";
    /// What jobs run with by its sum and length: [`super::super::Needs`].
    pub(crate) const NEEDS: &str = "needs";
    /// A folder of this machine by the URI at which it stands, of jobs that older versions submitted.
    pub(crate) const MOUNT: &str = "mount";
    /// What an SLA block expects of a node, by the job's id and the node's index: [`ankus_lang::coordinator::Sla`].
    pub(crate) const EXPECTATION: &str = "expectation";
    /// The id of what was submitted, by the number that names the request.
    pub(crate) const ASKED: &str = "asked";
    /// Numbers of the store itself.
    pub(crate) const META: &str = "meta";
}

/// A job as it is kept; its properties and rows lie beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job.
    pub job: Job,
    /// The procedure that is or was its life.
    pub procedure: ProcedureId,
    /// Where its plan is kept.
    pub plan: String,
    /// The job at the top of the chain of parents; its own id if it has none.
    pub root: String,
    /// How many moments of it are kept.
    pub moments: u64,
    /// What it has called for that is not known to have ended. A job may have ended before.
    pub open: Vec<Open>,
    /// Where it is kept what it runs with; empty where an older version submitted it.
    pub(crate) needs: String,
}

/// A call of a job that is not known to have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The node.
    pub node: NodeIndex,
    /// The number of the call.
    pub serial: u32,
    /// What for.
    pub phase: Phase,
    /// What may be running for it.
    pub what: Calls,
    /// The procedure that is its life.
    pub(crate) procedure: ProcedureId,
    /// The call that it is stopped by, where it is to stop.
    pub(crate) stop: Option<u32>,
}

/// What may be running for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Calls {
    /// Something that is over soon by itself.
    Us,
    /// A program.
    Program,
    /// A job below.
    Child,
}

/// A job as an older version kept it.
#[derive(Deserialize)]
struct JobRecordBefore {
    job: Job,
    procedure: ProcedureId,
    plan: String,
    root: String,
    moments: u64,
}

impl JobRecord {
    /// Whether a command that it was sent has not been taken yet.
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

    /// A job as it is kept, by whatever version.
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

/// Something that changed, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub at: i64,
    /// What changed.
    pub change: Change,
}

/// Plans in the store.
pub(crate) struct Keep;

impl Keep {
    /// Where a plan is kept, and its bytes if they are not there yet. The same plan is kept once.
    pub(crate) fn plan_key(
        reader: &dyn Reader,
        bytes: &[u8],
    ) -> Result<(String, Option<Vec<u8>>), store::Error> {
        for attempt in 0_u32.. {
            let key = format!("{:08x}-{}-{attempt}", crc32fast::hash(bytes), bytes.len());
            match reader.get(spaces::PLAN, key.as_bytes()) {
                Ok(None) => return Ok((key, Some(bytes.to_vec()))),
                Ok(Some(known)) if *known == *bytes => return Ok((key, None)),
                // It is another one, or nobody knows any more which it was.
                Ok(Some(_)) | Err(store::Error::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("there are fewer plans than numbers")
    }
}

/// Any of our types as bytes.
pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("every type of ours has a serialized form")
}

/// Bytes as one of our types.
pub(crate) fn decode<'a, T: Deserialize<'a>>(
    what: &str,
    bytes: &'a [u8],
) -> Result<T, store::Error> {
    postcard::from_bytes(bytes).map_err(|_| store::Error::Damaged(what.to_owned()))
}

/// The key of a row; rows of a job are in the order of nodes.
pub(crate) fn row_key(job: &str, node: NodeIndex) -> Vec<u8> {
    let mut key = prefix(job);
    key.extend_from_slice(&node.to_be_bytes());
    key
}

/// The key of a moment.
pub(crate) fn moment_key(job: &str, number: u64) -> Vec<u8> {
    let mut key = prefix(job);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// The rows of what is expected of a job.
pub(crate) fn expectations(run: &Run) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> + '_ {
    run.expectations.iter().map(|(node, sla)| (row_key(&run.job.id, *node), encode(sla)))
}

/// What all keys of a job's rows begin with. An id has no zero byte.
pub(crate) fn prefix(job: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(job.len() + 9);
    key.extend_from_slice(job.as_bytes());
    key.push(0);
    key
}

/// The moment a store was made, as it stands in ids of jobs: `yyMMddHHmmssSSS`.
pub(crate) fn stamp(ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(moment) => {
            let zoned = moment.to_zoned(jiff::tz::TimeZone::UTC);
            format!("{}{:03}", zoned.strftime("%y%m%d%H%M%S"), ms.rem_euclid(1000))
        }
        Err(_) => "000000000000000".to_owned(),
    }
}
