//! The rows of coordinators in the store, and how they are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::driver::keep::{decode, prefix, spaces};
use crate::driver::{Error, notice};
use ankus_lang::coordinator::{Definition, SlaEvent};
use ankus_lang::machine::coordinator::{Job, Run};
use ankus_lang::time::{Instant, ProcessingZone};
use ankus_procedure::store::{self, Reader};
use ankus_procedure::{ProcedureId, has_messages};

/// The space of coordinators, by id: [`Record`].
pub(in crate::driver) const RECORD: &str = "coordinator";
/// The space of their definitions, by id.
pub(in crate::driver) const DEFINITION: &str = "coordinator-definition";
/// The space of actions, by the coordinator's id and the action's number: [`Kept`].
pub(super) const ACTION: &str = "coordinator-action";
/// The space of moments, by the coordinator's id and a number: lists of [`Moment`].
pub(in crate::driver) const EVENT: &str = "coordinator-event";

/// The spaces with rows of a coordinator: those whose keys begin with its id, and those whose keys are its id, with its
/// own row last.
pub(in crate::driver) const SPACES: (&[&str], &[&str]) =
    (&[ACTION, EVENT, spaces::NOTIFICATION], &[spaces::CONF, DEFINITION, RECORD]);

/// A coordinator as it is stored; its actions are stored separately.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The user who submitted it.
    pub user: String,
    /// When it was submitted, in milliseconds since 1970.
    pub created: i64,
    /// Its state, without its actions.
    pub job: Job,
    /// The id of its bundle, and its index there.
    pub bundle: Option<(String, usize)>,
    /// The procedure that runs or ran it.
    pub(in crate::driver) procedure: ProcedureId,
    /// How many moments of it are stored.
    pub moments: u64,
    /// The key under which the needs of its workflows are stored; empty if an older version submitted it.
    pub(in crate::driver) needs: String,
}

/// A coordinator as an older version stored it.
#[derive(Deserialize)]
struct RecordBefore {
    id: String,
    name: String,
    user: String,
    created: i64,
    job: Job,
    bundle: Option<(String, usize)>,
    procedure: ProcedureId,
    moments: u64,
}

impl Record {
    /// Whether a message to it has not been handled yet.
    pub fn has_messages(&self, reader: &dyn Reader) -> Result<bool, store::Error> {
        has_messages(reader, self.procedure)
    }

    pub(in crate::driver) fn read(what: &str, bytes: &[u8]) -> Result<Record, store::Error> {
        if let Ok(record) = decode(what, bytes) {
            return Ok(record);
        }
        let before: RecordBefore = decode(what, bytes)?;
        let RecordBefore { id, name, user, created, job, bundle, procedure, moments } = before;
        let needs = String::new();
        Ok(Record { id, name, user, created, job, bundle, procedure, moments, needs })
    }
}

/// An action as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// The action.
    pub run: Run,
    /// The state of its workflow.
    pub beside: Beside,
}

/// The state of the workflow of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Its id.
    pub workflow: Option<String>,
    /// The procedure of the workflow.
    pub(super) procedure: Option<ProcedureId>,
    /// When it started, in seconds since 1970.
    pub started: Option<i64>,
    /// When the workflow ended, or when the action ended without one.
    pub ended: Option<i64>,
    /// What the coordinator requested and the workflow has not reported yet.
    pub(super) untold: Untold,
}

/// How many suspensions and resumptions a workflow has been told to make and has not reported yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Untold {
    pub(super) suspended: u32,
    pub(super) running: u32,
}

/// An action as an older version stored it.
#[derive(Deserialize)]
struct KeptBefore {
    run: Run,
    beside: BesideBefore,
}

#[derive(Deserialize)]
struct BesideBefore {
    workflow: Option<String>,
    procedure: Option<ProcedureId>,
    started: Option<i64>,
    ended: Option<i64>,
}

impl Kept {
    /// The id of its workflow. An action that is to run again has none until it begins, unless it goes on in the one
    /// that it had.
    pub fn workflow(&self) -> Option<&str> {
        self.beside.workflow.as_deref().filter(|_| self.run.has_workflow)
    }

    /// Decodes an action of a coordinator from its row.
    pub(in crate::driver) fn read(id: &str, bytes: &[u8]) -> Result<Kept, store::Error> {
        let what = format!("an action of {id}");
        if let Ok(kept) = decode(&what, bytes) {
            return Ok(kept);
        }
        let KeptBefore { run, beside } = decode(&what, bytes)?;
        let BesideBefore { workflow, procedure, started, ended } = beside;
        Ok(Kept {
            run,
            beside: Beside { workflow, procedure, started, ended, untold: Untold::default() },
        })
    }
}

/// A change of state, and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub at: i64,
    /// The action, or the coordinator itself.
    pub action: Option<i64>,
    /// The state, by the server's name; none if the action no longer exists, or if the change is another one.
    pub status: Option<String>,
    /// The event of an SLA expectation.
    pub sla: Option<SlaEvent>,
    /// The reason, if nothing else states it.
    pub why: Option<String>,
}

/// A moment as it was stored before reasons were.
#[derive(Deserialize)]
struct ShorterMoment {
    at: i64,
    action: Option<i64>,
    status: Option<String>,
    sla: Option<SlaEvent>,
}

/// Decodes moments from their row.
pub(in crate::driver) fn read_moments(id: &str, bytes: &[u8]) -> Result<Vec<Moment>, Error> {
    let what = format!("a moment of {id}");
    if let Ok(moments) = decode(&what, bytes) {
        return Ok(moments);
    }
    let shorter: Vec<ShorterMoment> = decode(&what, bytes)?;
    let longer =
        |ShorterMoment { at, action, status, sla }| Moment { at, action, status, sla, why: None };
    Ok(shorter.into_iter().map(longer).collect())
}

impl Record {
    /// Returns the id of its top-level job: its bundle, or itself.
    pub fn root(&self) -> &str {
        self.bundle.as_ref().map_or(&self.id, |(bundle, _)| bundle)
    }
}

/// Returns the coordinator with this id, if there is one.
pub fn record(reader: &dyn Reader, id: &str) -> Result<Option<Record>, Error> {
    match reader.get(RECORD, id.as_bytes())? {
        Some(bytes) => Ok(Some(Record::read(&format!("the coordinator {id}"), &bytes)?)),
        None => Ok(None),
    }
}

/// Returns its readable actions, by number. [`missing`] names the damaged ones.
pub fn actions(reader: &dyn Reader, id: &str) -> Result<BTreeMap<i64, Kept>, Error> {
    read_actions(id, reader.scan_sound(ACTION, &prefix(id))?.0)
}

/// Returns one of its actions, if it exists.
pub fn action(reader: &dyn Reader, id: &str, number: i64) -> Result<Option<Kept>, Error> {
    let bytes = reader.get(ACTION, &key(id, number))?;
    let kept = bytes.map(|bytes| Kept::read(id, &bytes));
    Ok(kept.transpose()?)
}

/// Returns all its actions, or fails if one is damaged: a coordinator is not run with only some of them.
pub(super) fn all_actions(reader: &dyn Reader, id: &str) -> Result<BTreeMap<i64, Kept>, Error> {
    read_actions(id, reader.scan(ACTION, &prefix(id), None, usize::MAX)?)
}

fn read_actions(id: &str, rows: Vec<store::Row>) -> Result<BTreeMap<i64, Kept>, Error> {
    let mut actions = BTreeMap::new();
    for row in rows {
        let Some(number) = number_in(id, &row.key) else {
            return Err(store::Error::Damaged(format!("an action of {id}")).into());
        };
        actions.insert(number, Kept::read(id, &row.value)?);
    }
    Ok(actions)
}

/// Returns the number of an action, or of a moment, from the key of its row.
pub(in crate::driver) fn number_in(id: &str, key: &store::Key) -> Option<i64> {
    let number = key.key.get(prefix(id).len()..).and_then(|bytes| bytes.try_into().ok());
    number.map(i64::from_be_bytes)
}

/// Returns the parts of a coordinator that are damaged.
pub fn missing(reader: &dyn Reader, id: &str) -> Result<Vec<String>, Error> {
    let mut missing = Vec::new();
    if let Err(Error::Store(store::Error::Damaged(_))) = definition(reader, id) {
        missing.push("its definition".to_owned());
    }
    missing.extend(reader.scan_sound(ACTION, &prefix(id))?.1.iter().map(|key| {
        number_in(id, key).map_or("an action".to_owned(), |number| format!("action {number}"))
    }));
    let moments = reader.scan_sound(EVENT, &prefix(id))?.1;
    missing.extend(moments.iter().map(|_| "what happened at one moment".to_owned()));
    Ok(missing)
}

/// Returns the ids of coordinators whose own rows are damaged.
pub(in crate::driver) fn damaged(reader: &dyn Reader) -> Result<Vec<String>, Error> {
    let (_, damaged) = reader.scan_sound(RECORD, b"")?;
    Ok(damaged.iter().map(|key| String::from_utf8_lossy(&key.key).into_owned()).collect())
}

/// Whether an action of a coordinator, or the coordinator, has ended.
pub(in crate::driver) fn has_ended(
    reader: &dyn Reader,
    id: &str,
    number: &str,
) -> Result<bool, Error> {
    let Ok(number) = number.parse::<i64>() else { return Ok(false) };
    if let Some(bytes) = reader.get(ACTION, &key(id, number))? {
        let kept = Kept::read(id, &bytes)?;
        return Ok(!kept.run.status.is_active());
    }
    Ok(record(reader, id)?.is_some_and(|record| record.job.status.is_end()))
}

/// Returns every coordinator, ordered by id, except those whose rows are damaged.
pub fn records(reader: &dyn Reader) -> Result<Vec<Record>, Error> {
    let (rows, _) = reader.scan_sound(RECORD, b"")?;
    rows.iter().map(|row| Ok(Record::read("a coordinator", &row.value)?)).collect()
}

/// Whether SLA alerts are disabled, by the properties of the coordinator, for its action with this number, nominal time
/// and creation time.
pub fn is_silent(
    properties: &BTreeMap<String, String>,
    record: &Record,
    number: i64,
    (nominal, created): (Instant, Instant),
) -> bool {
    let asked = notice::Asked { number, nominal, created, zone: ProcessingZone::UTC };
    notice::is_silent(properties, None, (&record.name, &record.id), &asked)
}

/// Returns the stored definition of a coordinator.
pub fn definition(reader: &dyn Reader, id: &str) -> Result<Definition, Error> {
    let what = || store::Error::Damaged(format!("the definition of {id}"));
    let bytes = reader.get(DEFINITION, id.as_bytes())?.ok_or_else(what)?;
    Ok(decode(&format!("the definition of {id}"), &bytes)?)
}

/// Returns the moments of a coordinator from number `from` on, and the number of the next one.
pub fn moments(reader: &dyn Reader, id: &str, from: u64) -> Result<(Vec<Moment>, u64), Error> {
    moments_since(reader, EVENT, id, from)
}

/// Returns the readable moments of a coordinator or a bundle.
pub(in crate::driver) fn moments_since(
    reader: &dyn Reader,
    space: &str,
    id: &str,
    from: u64,
) -> Result<(Vec<Moment>, u64), Error> {
    let start = key(id, from as i64);
    let rows = match reader.scan(space, &prefix(id), Some(&start), usize::MAX) {
        // Only the damaged moment is lost.
        Err(store::Error::Damaged(_)) => {
            let (mut rows, _) = reader.scan_sound(space, &prefix(id))?;
            rows.retain(|row| *row.key.key >= *start);
            rows
        }
        rows => rows?,
    };
    let (mut next, mut moments) = (from, Vec::new());
    for row in rows {
        let several = read_moments(id, &row.value)?;
        let number = number_in(id, &row.key).map_or(next, |number| number as u64);
        next = number + several.len() as u64;
        moments.extend(several);
    }
    Ok((moments, next))
}

pub(super) fn key(id: &str, number: i64) -> Vec<u8> {
    let mut key = prefix(id);
    key.extend_from_slice(&number.to_be_bytes());
    key
}
