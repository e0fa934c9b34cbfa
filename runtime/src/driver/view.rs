//! What is kept of jobs, read beside whoever runs them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::keep::{JobRecord, Moment, decode, moment_key, prefix, spaces};
use super::{Error, Notified};
use crate::machine::{Change, JobStatus, Row, Rows, Run};
use crate::plan::{NodeIndex, Plan};
use crate::store::{self, Reader};

/// A job, if there is one of this id.
pub fn record(reader: &dyn Reader, id: &str) -> Result<Option<JobRecord>, Error> {
    match reader.get(spaces::JOB, id.as_bytes())? {
        Some(bytes) => Ok(Some(decode(&format!("the job {id}"), &bytes)?)),
        None => Ok(None),
    }
}

/// Every job, in the order of ids.
pub fn records(reader: &dyn Reader) -> Result<Vec<JobRecord>, Error> {
    let rows = reader.scan(spaces::JOB, b"", None, usize::MAX)?;
    rows.iter().map(|row| Ok(decode("a job", &row.value)?)).collect()
}

/// The properties of a job.
pub fn properties(reader: &dyn Reader, id: &str) -> Result<BTreeMap<String, String>, Error> {
    match reader.get(spaces::CONF, id.as_bytes())? {
        Some(bytes) => Ok(decode(&format!("the properties of {id}"), &bytes)?),
        None => Ok(BTreeMap::new()),
    }
}

/// A job with its properties and rows.
pub fn run(reader: &dyn Reader, record: &JobRecord) -> Result<Run, Error> {
    let id = record.job.id.as_str();
    let start = prefix(id);
    let mut rows = Rows::default();
    for row in reader.scan(spaces::ROW, &start, None, usize::MAX)? {
        let node = row.key.key.get(start.len()..).and_then(|bytes| bytes.try_into().ok());
        let Some(node) = node.map(NodeIndex::from_be_bytes) else {
            return Err(store::Error::Damaged(format!("a row of {id}")).into());
        };
        rows.insert(node, decode(&format!("a row of {id}"), &row.value)?);
    }
    let mut run = Run::new(record.job.clone(), Arc::new(properties(reader, id)?), rows);
    for row in reader.scan(spaces::EXPECTATION, &start, None, usize::MAX)? {
        let damaged = || store::Error::Damaged(format!("an expectation of {id}"));
        let node = row.key.key.get(start.len()..).and_then(|bytes| bytes.try_into().ok());
        let node = node.map(NodeIndex::from_be_bytes).ok_or_else(damaged)?;
        run.expectations.insert(node, decode(&format!("an expectation of {id}"), &row.value)?);
    }
    Ok(run)
}

/// The row of one node.
pub fn row(reader: &dyn Reader, id: &str, node: NodeIndex) -> Result<Option<Row>, Error> {
    match reader.get(spaces::ROW, &super::keep::row_key(id, node))? {
        Some(bytes) => Ok(Some(decode(&format!("a row of {id}"), &bytes)?)),
        None => Ok(None),
    }
}

/// The plan of a job.
pub fn plan(reader: &dyn Reader, record: &JobRecord) -> Result<Plan, Error> {
    let what = || store::Error::Damaged(format!("the plan of {}", record.job.id));
    let bytes = reader.get(spaces::PLAN, record.plan.as_bytes())?.ok_or_else(what)?;
    Plan::from_bytes(&bytes).map_err(|_| what().into())
}

/// The notifications of a job, in the order in which they were due, and what came of them.
pub fn notifications(reader: &dyn Reader, id: &str) -> Result<Vec<Notified>, Error> {
    let rows = reader.scan(spaces::NOTIFICATION, &prefix(id), None, usize::MAX)?;
    rows.iter().map(|row| Ok(decode(&format!("a notification of {id}"), &row.value)?)).collect()
}

/// Why a job is broken in itself: code and message, where it is so and no action tells.
pub fn fault(reader: &dyn Reader, record: &JobRecord) -> Result<Option<(String, String)>, Error> {
    if record.job.status != JobStatus::Failed {
        return Ok(None);
    }
    let (moments, _) = moments(reader, &record.job.id, 0)?;
    let mut fault = None;
    for moment in moments {
        match moment.change {
            Change::Job(JobStatus::Prep) => fault = None,
            Change::Fault(told) => fault = Some((told.code, told.message)),
            _ => {}
        }
    }
    Ok(fault)
}

/// What happened to a job since its moment number `from`: those, and the number that comes next.
pub fn moments(reader: &dyn Reader, id: &str, from: u64) -> Result<(Vec<Moment>, u64), Error> {
    let start = moment_key(id, from);
    let rows = reader.scan(spaces::EVENT, &prefix(id), Some(&start), usize::MAX)?;
    let mut next = from;
    let mut moments = Vec::new();
    for row in rows {
        let several: Vec<Moment> = decode(&format!("a moment of {id}"), &row.value)?;
        next += several.len() as u64;
        moments.extend(several);
    }
    Ok((moments, next))
}
