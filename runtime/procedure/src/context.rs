//! The context of a call: what a step can read, and what it writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{Failure, Host, New, ProcedureId};
use crate::store::{Error, Key, Reader, Row, Write};

/// A message from the durable inbox. Each is delivered to exactly one step that commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its number, unique in the store; later messages have larger ones.
    pub number: u64,
    /// The procedure that sent it; none if it came from outside.
    pub from: Option<ProcedureId>,
    /// For an answer, the tag with which its procedure was spawned; otherwise the sender's choice.
    pub tag: u64,
    /// Its content.
    pub note: Note,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// Bytes in a format that sender and receiver agree on.
    Data(Vec<u8>),
    /// A spawned procedure has succeeded, with this result.
    Succeeded(Option<Vec<u8>>),
    /// A spawned procedure has failed and is rolled back.
    Failed(Failure),
}

/// The effects of a step: they become durable with the step, in the same commit, or not at all.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) writes: Vec<Write>,
    pub(crate) spawned: Vec<(ProcedureId, New)>,
    pub(crate) sent: Vec<(ProcedureId, u64, Vec<u8>)>,
    pub(crate) taken: bool,
    pub(crate) result: Option<Vec<u8>>,
    pub(crate) skip: bool,
}

/// The context of every call of a procedure.
///
/// Everything it collects ([`put`](Self::put), [`delete`](Self::delete), [`spawn`](Self::spawn), [`send`](Self::send),
/// [`take_messages`](Self::take_messages)) is committed together with the record of the procedure, or not at all.
pub struct Context<'a> {
    pub(crate) id: ProcedureId,
    pub(crate) parent: Option<ProcedureId>,
    pub(crate) answers_to: Option<ProcedureId>,
    pub(crate) abort: bool,
    pub(crate) restarted: bool,
    pub(crate) messages: &'a mut Vec<Message>,
    pub(crate) first: usize,
    pub(crate) effects: Effects,
    pub(crate) host: &'a dyn Host,
    pub(crate) reader: &'a dyn Reader,
    pub(crate) next_id: &'a AtomicU64,
    pub(crate) ready: &'a dyn Fn(&str) -> bool,
}

impl Context<'_> {
    /// Returns the procedure's own id.
    pub fn id(&self) -> ProcedureId {
        self.id
    }

    /// Returns its parent's id, if it is a child.
    pub fn parent(&self) -> Option<ProcedureId> {
        self.parent
    }

    /// Returns the receiver of its answer, if it was [spawned](Self::spawn).
    pub fn answers_to(&self) -> Option<ProcedureId> {
        self.answers_to
    }

    /// Returns the source of time and randomness.
    pub fn host(&self) -> &dyn Host {
        self.host
    }

    /// Whether an abort was requested and accepted. Survives a crash.
    pub fn abort_requested(&self) -> bool {
        self.abort
    }

    /// Whether this is its first call since the process started, of a procedure that existed before: its last step may
    /// have been in progress then.
    pub fn after_restart(&self) -> bool {
        self.restarted
    }

    /// Whether the event of this name is ready.
    pub fn is_ready(&self, event: &str) -> bool {
        (self.ready)(event)
    }

    /// Returns the waiting messages, oldest first. They stay until a step takes them.
    pub fn messages(&self) -> &[Message] {
        &self.messages[self.first..]
    }

    /// Takes all messages. They are removed when the step commits; if it never does, they are delivered again.
    pub fn take_messages(&mut self) -> Vec<Message> {
        self.effects.taken |= self.first < self.messages.len();
        let taken = self.messages[self.first..].to_vec();
        self.first = self.messages.len();
        taken
    }

    /// Writes a row.
    pub fn put(
        &mut self,
        space: impl Into<Arc<str>>,
        key: impl AsRef<[u8]>,
        value: impl Into<Vec<u8>>,
    ) {
        let value: Vec<u8> = value.into();
        self.effects
            .writes
            .push(Write::Put(Row { key: Key::new(space, key), value: value.into() }));
    }

    /// Removes a row.
    pub fn delete(&mut self, space: impl Into<Arc<str>>, key: impl AsRef<[u8]>) {
        self.effects.writes.push(Write::Delete(Key::new(space, key)));
    }

    /// Reads a committed row. What this step has put is not visible yet.
    pub fn get(&self, space: &str, key: impl AsRef<[u8]>) -> Result<Option<Box<[u8]>>, Error> {
        self.reader.get(space, key.as_ref())
    }

    /// Reads committed rows whose keys begin with `prefix`, in order.
    pub fn scan(
        &self,
        space: &str,
        prefix: impl AsRef<[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, Error> {
        self.reader.scan(space, prefix.as_ref(), None, limit)
    }

    /// Starts an independent procedure when this step commits. Its end, either way, comes back as a message; its
    /// failure does not roll this procedure back.
    pub fn spawn(&mut self, new: New) -> ProcedureId {
        let id = ProcedureId(self.next_id.fetch_add(1, Ordering::Relaxed));
        self.effects.spawned.push((id, new));
        id
    }

    /// Sends bytes to another procedure when this step commits. If that one has ended by then, they are dropped.
    pub fn send(&mut self, to: ProcedureId, tag: u64, data: impl Into<Vec<u8>>) {
        self.effects.sent.push((to, tag, data.into()));
    }

    /// Sets the result that waiting callers get if this step ends the procedure.
    pub fn set_result(&mut self, result: impl Into<Vec<u8>>) {
        self.effects.result = Some(result.into());
    }

    /// Discards everything that this step has collected, and puts back the messages that it took.
    pub fn start_over(&mut self) {
        self.effects = Effects::default();
        self.first = 0;
    }

    /// Keeps this step out of the store: a crash repeats it, and rollback does not undo it. Has no effect on a step
    /// that collects something, has children, ends or fails.
    pub fn skip_persistence(&mut self) {
        self.effects.skip = true;
    }
}
