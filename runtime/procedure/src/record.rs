//! The stored form of procedures.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Failure, Nonce, ProcedureId, State};

/// The stored form of a procedure. The executor writes these; tools may read them, and tests may create them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its kind, as registered.
    pub kind: String,
    /// For a child: the procedure that waits for it.
    pub parent: Option<ProcedureId>,
    /// Its owner.
    pub owner: Option<String>,
    /// Its priority.
    pub priority: u8,
    /// Its state.
    pub state: State,
    /// Wall-clock time of its submission.
    pub submitted_ms: i64,
    /// Wall-clock time of this record.
    pub updated_ms: i64,
    /// The time-out of its wait, if it has one.
    pub timer: Option<Timer>,
    /// The positions of its steps in the stack of its tree, as runs of (first, count), last run last.
    pub stack: Vec<(u32, u32)>,
    /// If it had children: the id of the first of the last batch, and their number. Their records stay until the root
    /// ends, so a missing one is noticed.
    pub children: Option<(ProcedureId, u32)>,
    /// Whether a step of it was ever durable.
    pub executed: bool,
    /// Whether it holds its lock for life.
    pub locked: bool,
    /// Whether an operator ended it without running it.
    pub bypass: bool,
    /// Whether it has accepted an abort.
    pub abort: bool,
    /// For a root: whether steps of its tree are undone.
    pub undoable: bool,
    /// Whether the result is kept until it is acknowledged or old.
    pub keep: bool,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// The result.
    pub result: Option<Vec<u8>>,
    /// The request that submitted it.
    pub nonce: Option<Nonce>,
    /// For a spawned one: the receiver of the answer, and its tag.
    pub reply: Option<(ProcedureId, u64)>,
    /// Its own state.
    pub data: Vec<u8>,
}

/// The time-out of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// When it expires, by the wall clock.
    pub due_ms: i64,
    /// The intended duration of the wait. After a restart the rest is never longer than this, even if the clock was
    /// set.
    pub length_ms: u64,
    /// Whether the next step follows without asking [`super::Procedure::timed_out`].
    pub resumes: bool,
}

/// The error for bytes that are not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError(String);

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a record of a procedure: {}", self.0)
    }
}

impl std::error::Error for RecordError {}

impl Record {
    /// Creates a record as it is right after submission.
    pub fn new(kind: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Record {
            kind: kind.into(),
            parent: None,
            owner: None,
            priority: 0,
            state: State::Runnable,
            submitted_ms: 0,
            updated_ms: 0,
            timer: None,
            stack: Vec::new(),
            children: None,
            executed: false,
            locked: false,
            bypass: false,
            abort: false,
            undoable: true,
            keep: true,
            failure: None,
            result: None,
            nonce: None,
            reply: None,
            data: data.into(),
        }
    }

    /// Encodes the record for the store.
    pub fn encode(&self) -> Box<[u8]> {
        Wire {
            kind: &self.kind,
            parent: self.parent,
            owner: self.owner.as_deref(),
            priority: self.priority,
            state: self.state,
            submitted_ms: self.submitted_ms,
            updated_ms: self.updated_ms,
            timer: self.timer,
            stack: &self.stack,
            children: self.children,
            flags: flags([
                self.executed,
                self.locked,
                self.bypass,
                self.abort,
                self.undoable,
                self.keep,
            ]),
            failure: self.failure.as_ref(),
            result: self.result.as_deref(),
            nonce: self.nonce,
            reply: self.reply,
            data: &self.data,
        }
        .encode()
    }

    /// Decodes a record.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let (wire, rest): (WireOwned, _) =
            postcard::take_from_bytes(bytes).map_err(|error| RecordError(error.to_string()))?;
        if !rest.is_empty() {
            return Err(RecordError(format!("{} bytes too many", rest.len())));
        }
        let flag = |bit: usize| wire.flags & (1 << bit) != 0;
        Ok(Record {
            executed: flag(0),
            locked: flag(1),
            bypass: flag(2),
            abort: flag(3),
            undoable: flag(4),
            keep: flag(5),
            kind: wire.kind,
            parent: wire.parent,
            owner: wire.owner,
            priority: wire.priority,
            state: wire.state,
            submitted_ms: wire.submitted_ms,
            updated_ms: wire.updated_ms,
            timer: wire.timer,
            stack: wire.stack,
            children: wire.children,
            failure: wire.failure,
            result: wire.result,
            nonce: wire.nonce,
            reply: wire.reply,
            data: wire.data,
        })
    }
}

/// Packs six flags into one byte, in the order of [`Record`]'s fields.
pub(super) fn flags(bits: [bool; 6]) -> u8 {
    bits.iter().enumerate().map(|(bit, set)| u8::from(*set) << bit).sum()
}

/// The stored fields, borrowed from wherever they are.
#[derive(Serialize)]
pub(super) struct Wire<'a> {
    pub(super) kind: &'a str,
    pub(super) parent: Option<ProcedureId>,
    pub(super) owner: Option<&'a str>,
    pub(super) priority: u8,
    pub(super) state: State,
    pub(super) submitted_ms: i64,
    pub(super) updated_ms: i64,
    pub(super) timer: Option<Timer>,
    pub(super) stack: &'a [(u32, u32)],
    pub(super) children: Option<(ProcedureId, u32)>,
    pub(super) flags: u8,
    pub(super) failure: Option<&'a Failure>,
    pub(super) result: Option<&'a [u8]>,
    pub(super) nonce: Option<Nonce>,
    pub(super) reply: Option<(ProcedureId, u64)>,
    pub(super) data: &'a [u8],
}

impl Wire<'_> {
    pub(super) fn encode(&self) -> Box<[u8]> {
        // Most records fit this buffer on the stack, so the bytes are allocated once, with their size.
        let mut room = [0; 256];
        match postcard::to_slice(self, &mut room) {
            Ok(bytes) => (&*bytes).into(),
            Err(_) => postcard::to_stdvec(self)
                .expect("plain data of known length always encodes")
                .into_boxed_slice(),
        }
    }
}

#[derive(Deserialize)]
struct WireOwned {
    kind: String,
    parent: Option<ProcedureId>,
    owner: Option<String>,
    priority: u8,
    state: State,
    submitted_ms: i64,
    updated_ms: i64,
    timer: Option<Timer>,
    stack: Vec<(u32, u32)>,
    children: Option<(ProcedureId, u32)>,
    flags: u8,
    failure: Option<Failure>,
    result: Option<Vec<u8>>,
    nonce: Option<Nonce>,
    reply: Option<(ProcedureId, u64)>,
    data: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_its_encoding() {
        let record = Record {
            parent: Some(ProcedureId(7)),
            owner: Some("alice".to_owned()),
            priority: 3,
            state: State::WaitingTimeout,
            submitted_ms: -5,
            timer: Some(Timer { due_ms: 90, length_ms: 30, resumes: true }),
            stack: vec![(0, 2), (9, 1)],
            executed: true,
            abort: true,
            failure: Some(Failure::new("a", "b", "c")),
            result: Some(vec![1, 2]),
            nonce: Some(Nonce { group: 1, number: 2 }),
            reply: Some((ProcedureId(1), 4)),
            ..Record::new("kind", [1, 2, 3])
        };
        assert_eq!(Record::decode(&record.encode()), Ok(record));
    }

    #[test]
    fn other_bytes_are_no_record() {
        let bytes = Record::new("kind", [1]).encode();
        for len in 0..bytes.len() {
            assert!(Record::decode(&bytes[..len]).is_err());
        }
        assert!(Record::decode(&[&bytes[..], &[0]].concat()).is_err());
    }
}
