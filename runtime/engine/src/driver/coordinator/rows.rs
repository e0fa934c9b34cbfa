//! What the store keeps of coordinators, and how it is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::driver::keep::{decode, prefix, spaces};
use crate::driver::{Error, notice};
use ankus_lang::coordinator::{Definition, SlaEvent};
use ankus_lang::machine::coordinator::{Job, Run};
use ankus_lang::time::{Instant, ProcessingZone};
use ankus_procedure::store::{self, Reader};
use ankus_procedure::{ProcedureId, has_messages};

/// A coordinator by its id: [`Record`].
pub(in crate::driver) const RECORD: &str = "coordinator";
/// Its definition by its id.
pub(in crate::driver) const DEFINITION: &str = "coordinator-definition";
/// An action by the coordinator's id and its number: [`Kept`].
pub(super) const ACTION: &str = "coordinator-action";
/// What happened, by the coordinator's id and a number.
pub(in crate::driver) const EVENT: &str = "coordinator-event";

/// Where its rows are: spaces whose keys begin with its id, and those it is the key of, itself last.
pub(in crate::driver) const SPACES: (&[&str], &[&str]) =
    (&[ACTION, EVENT, spaces::NOTIFICATION], &[spaces::CONF, DEFINITION, RECORD]);

/// A coordinator as it is kept; its actions lie beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// When it was submitted, in milliseconds since 1970.
    pub created: i64,
    /// Its state, without its actions.
    pub job: Job,
    /// The bundle it is in, and its place there.
    pub bundle: Option<(String, usize)>,
    /// The procedure that is or was its life.
    pub(in crate::driver) procedure: ProcedureId,
    /// How many moments of it are kept.
    pub moments: u64,
    /// Where it is kept what its workflows run with; empty where an older version submitted it.
    pub(in crate::driver) needs: String,
}

/// A coordinator as an older version kept it.
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
    /// Whether something that it was sent has not been taken yet.
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

/// An action as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// The action.
    pub run: Run,
    /// What is known of its workflow.
    pub beside: Beside,
}

/// What is known of the workflow of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Its id.
    pub workflow: Option<String>,
    /// The procedure of that.
    pub(super) procedure: Option<ProcedureId>,
    /// When it started, in seconds since 1970.
    pub started: Option<i64>,
    /// When it ended, or the action did without one.
    pub ended: Option<i64>,
    /// What the coordinator asked for and it has not told of.
    pub(super) untold: Untold,
}

/// How often a workflow was told to wait, and to go on, without having told of it since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Untold {
    pub(super) suspended: u32,
    pub(super) running: u32,
}

/// An action as an older version kept it.
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
    /// An action of a coordinator, by its row.
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

/// Something that changed, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub at: i64,
    /// The action, or the coordinator itself.
    pub action: Option<i64>,
    /// The server's word for the state; none where an action is no more, or something else happened.
    pub status: Option<String>,
    /// What came of an expectation.
    pub sla: Option<SlaEvent>,
    /// Why it came so, where nothing else tells.
    pub why: Option<String>,
}

/// A moment as it was kept before it told why.
#[derive(Deserialize)]
struct ShorterMoment {
    at: i64,
    action: Option<i64>,
    status: Option<String>,
    sla: Option<SlaEvent>,
}

/// Moments as they are kept.
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
    /// The job on top of it: its bundle, or itself.
    pub fn root(&self) -> &str {
        self.bundle.as_ref().map_or(&self.id, |(bundle, _)| bundle)
    }
}

/// A coordinator, if there is one of this id.
pub fn record(reader: &dyn Reader, id: &str) -> Result<Option<Record>, Error> {
    match reader.get(RECORD, id.as_bytes())? {
        Some(bytes) => Ok(Some(Record::read(&format!("the coordinator {id}"), &bytes)?)),
        None => Ok(None),
    }
}

/// Its actions, by number: those that are as they were written. [`missing`] names the others.
pub fn actions(reader: &dyn Reader, id: &str) -> Result<BTreeMap<i64, Kept>, Error> {
    read_actions(id, reader.scan_sound(ACTION, &prefix(id))?.0)
}

/// One of its actions, if it is there.
pub fn action(reader: &dyn Reader, id: &str, number: i64) -> Result<Option<Kept>, Error> {
    let bytes = reader.get(ACTION, &key(id, number))?;
    let kept = bytes.map(|bytes| Kept::read(id, &bytes));
    Ok(kept.transpose()?)
}

/// All its actions: nothing is run by some of them.
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

/// The number of an action, or of a moment, in the key of its row.
pub(in crate::driver) fn number_in(id: &str, key: &store::Key) -> Option<i64> {
    let number = key.key.get(prefix(id).len()..).and_then(|bytes| bytes.try_into().ok());
    number.map(i64::from_be_bytes)
}

/// What of a coordinator cannot be read any more.
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

/// Ids of coordinators whose own rows are damaged.
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

/// Every coordinator, in the order of ids. One whose row is damaged is not among them.
pub fn records(reader: &dyn Reader) -> Result<Vec<Record>, Error> {
    let (rows, _) = reader.scan_sound(RECORD, b"")?;
    rows.iter().map(|row| Ok(Record::read("a coordinator", &row.value)?)).collect()
}

/// Whether nobody is told of the expectations of an action of this number, with its nominal time and when it was created: by the
/// properties of its coordinator.
pub fn is_silent(
    properties: &BTreeMap<String, String>,
    record: &Record,
    number: i64,
    (nominal, created): (Instant, Instant),
) -> bool {
    let asked = notice::Asked { number, nominal, created, zone: ProcessingZone::UTC };
    notice::is_silent(properties, None, (&record.name, &record.id), &asked)
}

/// What is kept of the definition of a coordinator.
pub fn definition(reader: &dyn Reader, id: &str) -> Result<Definition, Error> {
    let what = || store::Error::Damaged(format!("the definition of {id}"));
    let bytes = reader.get(DEFINITION, id.as_bytes())?.ok_or_else(what)?;
    Ok(decode(&format!("the definition of {id}"), &bytes)?)
}

/// What happened to a coordinator since its moment number `from`: those, and the number that comes next.
pub fn moments(reader: &dyn Reader, id: &str, from: u64) -> Result<(Vec<Moment>, u64), Error> {
    moments_since(reader, EVENT, id, from)
}

/// The same of a coordinator or a bundle, as far as it can be read.
pub(in crate::driver) fn moments_since(
    reader: &dyn Reader,
    space: &str,
    id: &str,
    from: u64,
) -> Result<(Vec<Moment>, u64), Error> {
    let start = key(id, from as i64);
    let rows = match reader.scan(space, &prefix(id), Some(&start), usize::MAX) {
        // What happened at one moment is not known any more, and all else is.
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
