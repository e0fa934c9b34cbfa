//! Ended workflows as spans of a trace: the action of the coordinator that started the job, the job, its actions, and the attempts
//! of an action that was retried.
//!
//! Reads the store and returns [`Span`]s, which an exporter writes in the form that its collector reads. Ids are
//! derived from those of jobs, so that exporting a job again gives the same ids. A job without a parent begins a trace,
//! and so does each of its reruns; a sub-workflow belongs to the trace of its caller, below the action that started it.

use super::object::Mask;
use super::{Error, JobRecord, coordinator, view};
use ankus_lang::machine::coordinator::ActionStatus;
use ankus_lang::machine::{JobStatus, Row, Run, Status};
use ankus_lang::plan::{Plan, Work};
use ankus_procedure::store::Reader;

/// Maximum number of parents searched for the job that began a trace: no sub-workflow lies deeper.
const DEEPEST: usize = 200;

/// A span of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The trace that it belongs to.
    pub trace: u128,
    /// Its id.
    pub id: u64,
    /// The id of its parent span; none for the first span of a trace.
    pub parent: Option<u64>,
    /// The name of the application or of the action.
    pub name: String,
    /// When it started, in milliseconds since 1970.
    pub started: i64,
    /// When it ended.
    pub ended: i64,
    /// Why it failed.
    pub fault: Option<String>,
    /// Further attributes, with secrets masked.
    pub attributes: Vec<(&'static str, Value)>,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Number(number.into())
    }
}

/// FNV-1a with 128 bits: the same in every release, which the standard library does not promise for its hashes.
fn fnv(bytes: impl Iterator<Item = u8>) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

fn hash(parts: &[&str]) -> u128 {
    // No part contains the byte that terminates it.
    fnv(parts.iter().flat_map(|part| part.bytes().chain([0])))
}

/// Returns the id of the object that these parts name.
fn id(parts: &[&str]) -> u64 {
    let hash = hash(parts);
    let folded = (hash >> 64) as u64 ^ hash as u64;
    // An id of zero is invalid.
    folded.max(1)
}

/// Returns the spans of a workflow that has ended, its own first, or of a coordinator action (`ID@NUMBER`) that has
/// ended without a workflow. Returns none if it has not ended. `mask` returns the mask for a job with the given
/// properties.
///
/// # Errors
/// Fails if the store cannot be read.
pub fn spans<M: Mask>(
    reader: &dyn Reader,
    job: &str,
    mask: impl FnOnce(&Run, &Plan) -> M,
) -> Result<Vec<Span>, Error> {
    if job.contains('@') {
        return Ok(ended_alone(reader, job)?.into_iter().collect());
    }
    let Some(record) = view::record(reader, job)? else { return Ok(Vec::new()) };
    let Some(ended) = record.job.ended.filter(|_| record.job.status.is_end()) else {
        return Ok(Vec::new());
    };
    let run = view::run(reader, &record)?;
    let plan = view::plan(reader, &record)?;
    let mask = mask(&run, &plan);
    let (trace, parent) = above(reader, &record)?;
    let started_it = of_coordinator(reader, &record, trace, ended)?;
    let parent = started_it.as_ref().map(|span| span.id).or(parent);
    let told = Told { run: &run, plan: &plan, mask: &mask, trace, ended };
    let mut spans = vec![told.job(parent)];
    spans.extend(started_it);
    for (node, row) in run.in_order() {
        if let Work::Action(action) = &plan.node(node).work
            // An action that a rerun skipped belongs to the run before.
            && row.entered
        {
            spans.push(told.action(&plan.node(node).name, &action.kind, row));
            spans.extend(told.attempts(&plan.node(node).name, row));
        }
    }
    Ok(spans)
}

/// Returns the trace of a job, and the span of the parent's action that started it.
fn above(reader: &dyn Reader, record: &JobRecord) -> Result<(u128, Option<u64>), Error> {
    let mut parent = None;
    let mut top = record.clone();
    for depth in 0..DEEPEST {
        // A coordinator action begins a trace with each of its workflows.
        let Some(caller) = top.job.parent_id.as_deref() else { break };
        let Some(caller) = view::record(reader, caller)? else { break };
        if depth == 0 {
            let run = view::run(reader, &caller)?;
            let is_it = |row: &Row| row.external.id() == Some(top.job.id.as_str());
            let node = run.rows.iter().find(|(_, row)| is_it(row)).map(|(node, _)| node);
            let plan = view::plan(reader, &caller)?;
            parent = node.map(|node| action_id(&run, &plan.node(node).name));
        }
        top = caller;
    }
    Ok((hash(&["trace", &top.job.id, &top.job.run.to_string()]), parent))
}

/// Returns the span of the coordinator action that started a workflow, from its creation until the workflow has ended.
fn of_coordinator(
    reader: &dyn Reader,
    record: &JobRecord,
    trace: u128,
    ended: i64,
) -> Result<Option<Span>, Error> {
    let job = &record.job;
    let Some((of, kept)) = coordinated(reader, job.parent_id.as_deref().unwrap_or_default())?
    else {
        return Ok(None);
    };
    // A rerun did not wait again.
    let started = match job.run {
        0 => kept.run.created.millis(),
        _ => job.started.unwrap_or(job.created),
    };
    let fault = (job.status != JobStatus::Succeeded).then(|| job.status.name().to_owned());
    let own = id(&["coordinator", &job.id, &job.run.to_string()]);
    Ok(Some(of.span((trace, own), (started, ended), job.status.name(), fault)))
}

/// Returns the span of a coordinator action that ended without a workflow.
fn ended_alone(reader: &dyn Reader, action: &str) -> Result<Option<Span>, Error> {
    let Some((of, kept)) = coordinated(reader, action)? else { return Ok(None) };
    let run = &kept.run;
    let Some(ended) = kept.beside.ended.filter(|_| !run.status.is_active() && !run.has_workflow)
    else {
        return Ok(None);
    };
    let started = run.created.millis().to_string();
    let ids = (hash(&["trace", action, &started]), id(&["coordinator", action, &started]));
    let status = run.status;
    let fault = match run.fault() {
        _ if matches!(status, ActionStatus::Skipped | ActionStatus::Ignored) => None,
        Some((code, _)) if !code.is_empty() => Some(format!("{}: {code}", status.name())),
        _ => Some(status.name().to_owned()),
    };
    Ok(Some(of.span(ids, (run.created.millis(), ended * 1000), status.name(), fault)))
}

/// A coordinator action to be exported.
struct Coordinated<'a> {
    action: &'a str,
    coordinator: coordinator::Record,
    nominal: i64,
}

fn coordinated<'a>(
    reader: &dyn Reader,
    action: &'a str,
) -> Result<Option<(Coordinated<'a>, coordinator::Kept)>, Error> {
    let Some((id, number)) = action.rsplit_once('@') else { return Ok(None) };
    let Ok(number) = number.parse::<i64>() else { return Ok(None) };
    let Some(coordinator) = coordinator::record(reader, id)? else { return Ok(None) };
    let Some(kept) = coordinator::action(reader, id, number)? else { return Ok(None) };
    let nominal = kept.run.data.nominal.millis();
    Ok(Some((Coordinated { action, coordinator, nominal }, kept)))
}

impl Coordinated<'_> {
    fn span(
        &self,
        (trace, id): (u128, u64),
        (started, ended): (i64, i64),
        status: &str,
        fault: Option<String>,
    ) -> Span {
        let coordinator = &self.coordinator;
        let (_, number) = self.action.rsplit_once('@').unwrap_or_default();
        Span {
            trace,
            id,
            parent: None,
            name: format!("{}@{number}", coordinator.name),
            started: started.min(ended),
            ended,
            fault,
            attributes: vec![
                ("oozie.job.id", Value::from(self.action)),
                ("oozie.job.name", coordinator.name.as_str().into()),
                ("oozie.job.user", coordinator.user.as_str().into()),
                ("oozie.job.status", status.into()),
                ("oozie.job.parent", coordinator.id.as_str().into()),
                ("oozie.action.nominal_time_ms", Value::Number(self.nominal)),
            ],
        }
    }
}

fn action_id(run: &Run, name: &str) -> u64 {
    id(&["action", &run.job.id, &run.job.run.to_string(), name])
}

/// A job to be exported.
struct Told<'a> {
    run: &'a Run,
    plan: &'a Plan,
    mask: &'a dyn Mask,
    trace: u128,
    ended: i64,
}

impl Told<'_> {
    fn own_id(&self) -> u64 {
        id(&["job", &self.run.job.id, &self.run.job.run.to_string()])
    }

    fn job(&self, parent: Option<u64>) -> Span {
        let job = &self.run.job;
        let mut attributes = vec![
            ("oozie.job.id", Value::from(job.id.as_str())),
            ("oozie.job.name", job.name.as_str().into()),
            ("oozie.job.path", Value::Text(self.mask.text(&job.app_path))),
            ("oozie.job.user", job.user.as_str().into()),
            ("oozie.job.run", job.run.into()),
            ("oozie.job.status", job.status.name().into()),
        ];
        if let Some(parent) = &job.parent_id {
            attributes.push(("oozie.job.parent", parent.as_str().into()));
        }
        let cause = job.last_error.and_then(|node| Some((node, self.run.rows.get(&node)?)));
        let fault = (job.status != JobStatus::Succeeded).then(|| match cause {
            Some((node, row)) => {
                let name = &self.plan.node(node).name;
                format!("{}: `{name}`: {}", job.status.name(), self.fault(row))
            }
            None => job.status.name().to_owned(),
        });
        Span {
            trace: self.trace,
            id: self.own_id(),
            parent,
            name: job.name.clone(),
            started: job.started.unwrap_or(job.created).min(self.ended),
            ended: self.ended,
            fault,
            attributes,
        }
    }

    fn fault(&self, row: &Row) -> String {
        let code = row.error.code.as_deref().unwrap_or(row.status.name());
        match row.error.message.as_deref().map(|message| self.mask.text(message)) {
            Some(message) if message.starts_with(code) => message,
            Some(message) => format!("{code}: {message}"),
            None => code.to_owned(),
        }
    }

    fn action(&self, name: &str, kind: &str, row: &Row) -> Span {
        let mut attributes = vec![
            ("oozie.job.id", Value::from(self.run.job.id.as_str())),
            ("oozie.action.name", name.into()),
            ("oozie.action.type", kind.into()),
            ("oozie.action.status", row.status.name().into()),
            ("oozie.action.retries", (row.user_retry_count + row.all_retries).into()),
        ];
        let more = [
            ("oozie.action.external_id", row.external.id()),
            ("oozie.action.external_status", row.external.status.as_deref()),
            ("oozie.action.transition", row.transition.as_deref()),
            ("error.type", row.error.code.as_deref()),
        ];
        attributes
            .extend(more.into_iter().filter_map(|(name, value)| Some((name, Value::from(value?)))));
        let ended = row.ended.unwrap_or(self.ended);
        // An action with several attempts began with the first.
        let first = row.attempts.first().map(|(started, _)| *started);
        let started = first.or(row.started).unwrap_or(row.created);
        Span {
            trace: self.trace,
            id: action_id(self.run, name),
            parent: Some(self.own_id()),
            name: name.to_owned(),
            started: started.min(ended),
            ended,
            fault: (row.status != Status::Ok).then(|| self.fault(row)),
            attributes,
        }
    }

    /// Returns a span for each attempt of an action that was retried, including the last.
    fn attempts(&self, name: &str, row: &Row) -> Vec<Span> {
        if row.attempts.is_empty() {
            return Vec::new();
        }
        let last = (row.started.unwrap_or(row.created), row.ended);
        let all: Vec<_> = row.attempts.iter().copied().chain([last]).collect();
        let attempt = |(at, (started, ended)): (usize, &(i64, Option<i64>))| {
            let number = at + 1;
            let is_last = number == all.len();
            // An attempt without an end time ended when the next one began.
            let next = all.get(number).map_or(self.ended, |(next, _)| *next);
            let ended = ended.unwrap_or(next);
            let fault = match is_last {
                true => (row.status != Status::Ok).then(|| self.fault(row)),
                false => Some(Status::UserRetry.name().to_owned()),
            };
            let run = self.run.job.run.to_string();
            Span {
                trace: self.trace,
                id: id(&["attempt", &self.run.job.id, &run, name, &number.to_string()]),
                parent: Some(action_id(self.run, name)),
                name: format!("{name} attempt {number}"),
                started: (*started).min(ended),
                ended,
                fault,
                attributes: vec![
                    ("oozie.action.name", name.into()),
                    ("oozie.action.attempt", Value::Number(number as i64)),
                ],
            }
        };
        all.iter().enumerate().map(attempt).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_every_release() {
        // The published value for this text.
        assert_eq!(fnv("a".bytes()), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_ne!(hash(&["a", "b"]), hash(&["ab"]));
        assert_ne!(id(&["action", "1", "0", "a"]), id(&["action", "1", "0", "b"]));
    }
}
