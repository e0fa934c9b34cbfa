//! The stored state of jobs, readable while another process runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::keep::{Calls, JobRecord, Moment, decode, moment_key, prefix, spaces};
use super::{Error, Notified, bundle, coordinator};
use ankus_lang::coordinator::{Progress, Sla};
use ankus_lang::el::{Dialect, Phase, Template};
use ankus_lang::machine::{Change, Job, JobStatus, Row, Rows, Run};
use ankus_lang::plan::{Action, NOWHERE, Node, NodeIndex, Plan, Work};
use ankus_procedure::ProcedureId;
use ankus_procedure::store::{self, Reader};

/// Returns the job with this id, if there is one.
pub fn record(reader: &dyn Reader, id: &str) -> Result<Option<JobRecord>, Error> {
    match reader.get(spaces::JOB, id.as_bytes())? {
        Some(bytes) => Ok(Some(JobRecord::read(&format!("the job {id}"), &bytes)?)),
        None => Ok(None),
    }
}

/// Reconstructs a job whose own row is damaged from its moments and properties: its states and their times, its user
/// and the path of its application. Returns none if it has left no trace.
pub fn remains(reader: &dyn Reader, id: &str) -> Result<Option<JobRecord>, Error> {
    let (moments, _) = moments(reader, id, 0)?;
    let Some((first, last)) = moments.first().zip(moments.last()) else { return Ok(None) };
    // It is a job even if its properties are lost.
    let conf = properties(reader, id).unwrap_or_default();
    let property = |name: &str| conf.get(name).cloned().unwrap_or_default();
    let mut job = Job {
        id: id.to_owned(),
        app_path: property("oozie.wf.application.path"),
        user: property("user.name"),
        created: first.at,
        modified: last.at,
        ..Job::default()
    };
    for moment in &moments {
        let Change::Job(status) = moment.change else { continue };
        match status {
            JobStatus::Prep => {
                job.run += 1;
                (job.started, job.ended) = (None, None);
            }
            JobStatus::Running => job.started = job.started.or(Some(moment.at)),
            status if status.is_end() => job.ended = Some(moment.at),
            _ => {}
        }
        job.status = status;
    }
    let run = Run::new(job, Arc::new(conf), Rows::default());
    let root = id.to_owned();
    Ok(Some(JobRecord::new(&run, ProcedureId(0), String::new(), root, String::new())))
}

/// Returns every job, ordered by id, except those whose rows are damaged; [`damaged`] returns those.
pub fn records(reader: &dyn Reader) -> Result<Vec<JobRecord>, Error> {
    let (rows, _) = reader.scan_sound(spaces::JOB, b"")?;
    rows.iter().map(|row| Ok(JobRecord::read("a job", &row.value)?)).collect()
}

/// Returns how many programs of an ended job, and of everything below it, are not known to have ended.
pub fn stopping(reader: &dyn Reader, record: &JobRecord) -> Result<usize, Error> {
    match record.job.status.is_end() {
        true => below(reader, record.clone()),
        false => Ok(0),
    }
}

/// Returns how many programs of ended actions of a coordinator, or of all its actions if it has ended itself, are not
/// known to have ended.
pub fn stopping_of_coordinator(reader: &dyn Reader, id: &str) -> Result<usize, Error> {
    let Some(of) = coordinator::record(reader, id)? else { return Ok(0) };
    let mut programs = 0;
    for kept in coordinator::actions(reader, id)?.into_values() {
        if !of.job.status.is_end() && kept.run.status.is_active() {
            continue;
        }
        let workflow = kept.beside.workflow.as_deref();
        let workflow = workflow.map(|workflow| record(reader, workflow)).transpose()?.flatten();
        if let Some(workflow) = workflow {
            programs += below(reader, workflow)?;
        }
    }
    Ok(programs)
}

/// Returns how many programs of a job, and of everything below it, are not known to have ended.
fn below(reader: &dyn Reader, record: JobRecord) -> Result<usize, Error> {
    let mut programs = 0;
    let mut jobs = vec![record];
    while let Some(job) = jobs.pop() {
        for open in &job.open {
            match open.what {
                Calls::Us => {}
                Calls::Program => programs += 1,
                Calls::Child => {
                    let row = row(reader, &job.job.id, open.node)?;
                    let child = row.as_ref().and_then(|row| row.external.id());
                    let child = child.map(|child| self::record(reader, child)).transpose()?;
                    jobs.extend(child.flatten());
                }
            }
        }
    }
    Ok(programs)
}

/// Returns the ids of jobs, coordinators and bundles whose own rows are damaged.
pub fn damaged(reader: &dyn Reader) -> Result<Vec<String>, Error> {
    let (_, damaged) = reader.scan_sound(spaces::JOB, b"")?;
    let ids = damaged.iter().map(|key| String::from_utf8_lossy(&key.key).into_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.extend(coordinator::damaged(reader)?);
    ids.extend(bundle::damaged(reader)?);
    Ok(ids)
}

/// Returns the plan of a job, and whether it is intact. If it is damaged, the plan has a node for every known row,
/// named by its number if the name is lost.
pub fn readable_plan(
    reader: &dyn Reader,
    record: &JobRecord,
    run: &Run,
) -> Result<(Plan, bool), Error> {
    match plan(reader, record) {
        Err(Error::Store(store::Error::Damaged(_))) => {}
        whole => return Ok((whole?, true)),
    }
    let empty = || Template::compile("", Phase::None, Dialect::default());
    let told = moments(reader, &record.job.id, 0)?.0.into_iter().filter_map(|it| match it.change {
        Change::Row { node, .. } | Change::Expectation { node, .. } => Some(node),
        Change::Job(_) | Change::Fault(_) => None,
    });
    let known = run.rows.keys().chain(told).filter(|node| *node != NOWHERE);
    let last = known.max().unwrap_or(0);
    let node = |index: NodeIndex| {
        let row = run.rows.get(&index);
        // The external id of a program contains the name of its node, and the row has the text of the action.
        let name = row.and_then(|row| row.external.id()).and_then(|id| id.split_once('#'));
        let name = name.map_or(format!("node number {index}"), |(_, name)| name.to_owned());
        let text = row.and_then(|row| row.conf.as_deref()).unwrap_or_default();
        let kind = text.trim_start().trim_start_matches('<');
        let kind = kind.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next();
        let action = Action {
            kind: kind.filter(|kind| !kind.is_empty()).unwrap_or("-").to_owned(),
            head: empty(),
            configuration: None,
            tail: empty(),
            takes_defaults: false,
            ok: index,
            error: index,
            retry_max: None,
            retry_interval: None,
            retry_policy: None,
            cred: None,
        };
        Node { name, span: (0, 0), work: Work::Action(Box::new(action)) }
    };
    let plan = Plan::of_nodes(empty(), Dialect::default(), (0..=last).map(node).collect());
    Ok((plan, false))
}

/// Returns a job as far as its rows can be read, and what is missing. This must not be run: a missing row may belong to
/// an action that was already done.
pub fn readable(reader: &dyn Reader, record: &JobRecord) -> Result<(Run, Vec<String>), Error> {
    match run(reader, record) {
        Err(Error::Store(store::Error::Damaged(_))) => {}
        whole => return Ok((whole?, Vec::new())),
    }
    let id = record.job.id.as_str();
    let start = prefix(id);
    let mut missing = Vec::new();
    let conf = properties(reader, id).unwrap_or_else(|_| {
        missing.push("its properties".to_owned());
        BTreeMap::new()
    });
    let node_of = |key: &[u8]| {
        let node = key.get(start.len()..).and_then(|bytes| bytes.try_into().ok());
        node.map(NodeIndex::from_be_bytes)
    };
    let mut rows = Rows::default();
    let (sound, damaged) = reader.scan_sound(spaces::ROW, &start)?;
    for row in sound {
        if let Some(node) = node_of(&row.key.key) {
            rows.insert(node, decode(&format!("a row of {id}"), &row.value)?);
        }
    }
    missing.extend(damaged.iter().map(|key| match node_of(&key.key) {
        Some(node) => format!("node number {node}"),
        None => "a node".to_owned(),
    }));
    let mut run = Run::new(record.job.clone(), Arc::new(conf), rows);
    let (sound, damaged) = reader.scan_sound(spaces::EXPECTATION, &start)?;
    for row in sound {
        if let Some(node) = node_of(&row.key.key) {
            run.expectations.insert(node, decode(&format!("an expectation of {id}"), &row.value)?);
        }
    }
    missing.extend(damaged.iter().map(|_| "an expectation".to_owned()));
    Ok((run, missing))
}

/// Returns the properties of a job.
pub fn properties(reader: &dyn Reader, id: &str) -> Result<BTreeMap<String, String>, Error> {
    match reader.get(spaces::CONF, id.as_bytes())? {
        Some(bytes) => Ok(decode(&format!("the properties of {id}"), &bytes)?),
        None => Ok(BTreeMap::new()),
    }
}

/// Returns a job with its properties and rows.
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

/// An SLA expectation of a workflow or of one of its actions.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The id of the job, or of the action: `job@name`.
    pub id: String,
    /// The id of its parent: for an action, its job.
    pub parent: Option<String>,
    /// The name of the application or of the action.
    pub name: String,
    /// Its kind, by the server's name.
    pub kind: &'static str,
    /// The user who owns it.
    pub user: String,
    /// Its state, by the server's name.
    pub status: &'static str,
    /// When the job was submitted, or the action was reached, in milliseconds since 1970.
    pub created: i64,
    /// The expectation and its state.
    pub sla: Sla,
    /// When it started and ended.
    pub progress: Progress,
}

/// Returns all SLA expectations of workflows and their actions, without damaged ones; [`damaged`] returns damaged jobs.
pub fn expectations(reader: &dyn Reader) -> Result<Vec<Expectation>, Error> {
    let (rows, _) = reader.scan_sound(spaces::EXPECTATION, b"")?;
    let job = |key: &[u8]| key.split(|byte| *byte == 0).next().map(<[u8]>::to_vec);
    let ids: BTreeSet<Vec<u8>> = rows.iter().filter_map(|row| job(&row.key.key)).collect();
    let mut all = Vec::new();
    for id in ids.iter().filter_map(|id| std::str::from_utf8(id).ok()) {
        let Some(record) = record(reader, id)? else { continue };
        let (run, _) = readable(reader, &record)?;
        let (plan, _) = readable_plan(reader, &record, &run)?;
        for (node, sla) in &run.expectations {
            let of_job = *node == NOWHERE;
            let row = run.rows.get(node);
            let name = match of_job {
                true => run.job.name.clone(),
                false => plan.node(*node).name.clone(),
            };
            all.push(Expectation {
                id: if of_job { id.to_owned() } else { format!("{id}@{name}") },
                parent: if of_job { run.job.parent_id.clone() } else { Some(id.to_owned()) },
                name,
                kind: if of_job { "WORKFLOW_JOB" } else { "WORKFLOW_ACTION" },
                user: run.job.user.clone(),
                status: match row {
                    Some(row) if !of_job => row.status.name(),
                    _ => run.job.status.name(),
                },
                created: row.filter(|_| !of_job).map_or(run.job.created, |row| row.created),
                sla: sla.clone(),
                progress: run.progress_of(*node),
            });
        }
    }
    Ok(all)
}

/// Returns the row of a node.
pub fn row(reader: &dyn Reader, id: &str, node: NodeIndex) -> Result<Option<Row>, Error> {
    match reader.get(spaces::ROW, &super::keep::row_key(id, node))? {
        Some(bytes) => Ok(Some(decode(&format!("a row of {id}"), &bytes)?)),
        None => Ok(None),
    }
}

/// Returns the plan of a job.
pub fn plan(reader: &dyn Reader, record: &JobRecord) -> Result<Plan, Error> {
    let what = || store::Error::Damaged(format!("the plan of {}", record.job.id));
    let bytes = reader.get(spaces::PLAN, record.plan.as_bytes())?.ok_or_else(what)?;
    Plan::from_bytes(&bytes).map_err(|_| what().into())
}

/// Returns the notifications of a job in the order in which they were due, with their results.
pub fn notifications(reader: &dyn Reader, id: &str) -> Result<Vec<Notified>, Error> {
    let (rows, _) = reader.scan_sound(spaces::NOTIFICATION, &prefix(id))?;
    rows.iter().map(|row| Ok(decode(&format!("a notification of {id}"), &row.value)?)).collect()
}

/// Returns the code and the message of the error that failed a job itself, if no action reports it.
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

/// Returns how many of a job's rows of moments are damaged.
pub fn lost_moments(reader: &dyn Reader, id: &str) -> Result<usize, Error> {
    Ok(reader.scan_sound(spaces::EVENT, &prefix(id))?.1.len())
}

/// Returns the moments of a job from number `from` on, and the number of the next one.
pub fn moments(reader: &dyn Reader, id: &str, from: u64) -> Result<(Vec<Moment>, u64), Error> {
    let start = moment_key(id, from);
    let rows = match reader.scan(spaces::EVENT, &prefix(id), Some(&start), usize::MAX) {
        // Only the damaged moment is lost.
        Err(store::Error::Damaged(_)) => {
            let (mut rows, _) = reader.scan_sound(spaces::EVENT, &prefix(id))?;
            rows.retain(|row| *row.key.key >= *start);
            rows
        }
        rows => rows?,
    };
    let mut next = from;
    let mut moments = Vec::new();
    for row in rows {
        let several: Vec<Moment> = decode(&format!("a moment of {id}"), &row.value)?;
        let number = row.key.key.get(prefix(id).len()..).and_then(|bytes| bytes.try_into().ok());
        next = number.map_or(next, u64::from_be_bytes) + several.len() as u64;
        moments.extend(several);
    }
    Ok((moments, next))
}
