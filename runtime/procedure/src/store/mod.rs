//! Storage for procedures and the rows of jobs: [`Sqlite`] for real, [`Memory`] for tests.
//!
//! In: batches of [`Write`]s, each all or nothing. Out: everything that was committed, once, at the start
//! ([`Store::load`]), and single rows at any time ([`Reader`]). A store does not interpret the bytes; it keeps a
//! checksum with each and reports those that no longer match.
//!
//! Two kinds of things are kept. *Records* are the procedures, by id. *Rows* belong to their writer (a job keeps its
//! workflow, its actions and its events there): a space, a key and a value, in the order of keys within the space.
//!
//! Beside the rows there may be [`tables`], by which some rows are found without reading all of them.

mod columns;
mod counts;
mod memory;
mod sqlite;
pub mod tables;
pub mod wal;

pub use memory::Memory;
pub use sqlite::{Options, Soundness, Sqlite, Synchronous};

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The format of the store that this version writes. A store with a larger number is refused.
pub const FORMAT: i64 = 3;

/// The number of a procedure. Given out once in the life of a store, upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcedureId(pub u64);

impl fmt::Display for ProcedureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One change. Writing the same twice leaves the same behind, so a batch whose fate is unknown can be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Inserts or replaces the record of a procedure.
    Record(ProcedureId, Box<[u8]>),
    /// Removes the record of a procedure, if there is one. Its id is never given out again.
    Remove(ProcedureId),
    /// Inserts or replaces a row.
    Put(Row),
    /// Removes a row, if there is one.
    Delete(Key),
}

/// The name of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Whose rows these are and of which sort, such as `job` or `event`.
    pub space: Arc<str>,
    /// Any bytes; rows of a space are in their order.
    pub key: Box<[u8]>,
}

impl Key {
    /// A key of any bytes in a space.
    pub fn new(space: impl Into<Arc<str>>, key: impl AsRef<[u8]>) -> Self {
        Key { space: space.into(), key: key.as_ref().into() }
    }
}

/// A row: its name and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Where it stands.
    pub key: Key,
    /// What it holds.
    pub value: Box<[u8]>,
}

/// Everything a store holds about procedures, as far as its checksums agree.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Records in the order of ids.
    pub records: Vec<(ProcedureId, Box<[u8]>)>,
    /// Records whose bytes are not those that were written.
    pub damaged: Vec<ProcedureId>,
    /// The largest id ever stored, removed ones included; zero when there was none.
    pub largest: u64,
}

/// A durable map of records and rows. `commit` is all or nothing, and what it accepted survives the process and the machine.
pub trait Store: Send {
    /// Every record. Called once, before the first commit.
    fn load(&mut self) -> Result<Loaded, Error>;

    /// Makes all of the batch durable, or none of it. After an error the same batch may be sent again.
    fn commit(&mut self, batch: &[Write]) -> Result<(), Error>;

    /// A way to read rows beside the commits.
    fn reader(&self) -> Arc<dyn Reader>;

    /// Brings everything to where whoever copies the store finds it. Called when nothing is committed any more; where it cannot
    /// be done now, whoever opens the store next does it.
    fn settle(&mut self) {}

    /// Whether a commit costs next to nothing, so that gathering many steps into one is not worth a thread.
    fn instant(&self) -> bool {
        false
    }
}

/// Reads committed rows, from any thread.
pub trait Reader: Send + Sync {
    /// The value of one row.
    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Box<[u8]>>, Error>;

    /// Rows whose keys begin with `prefix`, in the order of keys, at most `limit` of them.
    fn scan(
        &self,
        space: &str,
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, Error>;

    /// Lines of a table that is declared for the store; where it keeps none, they are read from the rows.
    fn find(&self, table: &tables::Table, query: &tables::Query) -> Result<tables::Found, Error> {
        tables::scan(self, table, query)
    }

    /// The line with the largest value of a column, for each combination of other columns, in no order; lines without a value are
    /// passed over.
    fn largest(
        &self,
        table: &tables::Table,
        column: &'static str,
        for_each: &[&'static str],
    ) -> Result<Vec<tables::Line>, Error> {
        tables::scan_largest(self, table, column, for_each)
    }

    /// An error where what is read here is no longer what others find where the store was.
    fn is_there(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The rows of a scan that are as they were written, and the names of those that are not.
    fn scan_sound(&self, space: &str, prefix: &[u8]) -> Result<(Vec<Row>, Vec<Key>), Error> {
        Ok((self.scan(space, prefix, None, usize::MAX)?, Vec::new()))
    }
}

/// The smallest key that is greater than every key with this prefix, if there is one.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// It was written by a newer version, with this format.
    Newer {
        /// The format found.
        found: i64,
    },
    /// The file is not one of ours, or is damaged beyond reading.
    NotAStore(String),
    /// Another process runs this store.
    Busy,
    /// Its files were deleted or moved while it was in use. What is written now nobody would find.
    Gone,
    /// No room is left.
    Full,
    /// The disk does not take or give what is asked of it: an I/O error, or files that cannot be written or opened.
    Disk(String),
    /// The bytes of one row are not those that were written.
    Damaged(String),
    /// The log of what was not yet in the file is damaged, and what stands behind would be forgotten.
    DamagedLog(wal::Damage),
    /// Anything else the disk or the database said.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Newer { found } => {
                write!(
                    f,
                    "the store has format {found}, written by a newer version; this one reads up to {FORMAT}"
                )
            }
            Error::NotAStore(why) => write!(f, "not a store of procedures, or damaged: {why}"),
            Error::Busy => f.write_str("another process runs this store"),
            Error::Gone => f.write_str(
                "the store is gone: its files were deleted or moved away while it was in use",
            ),
            Error::Full => f.write_str("no room is left on the disk of the store"),
            Error::Disk(why) => write!(f, "the disk of the store fails: {why}"),
            Error::Damaged(what) => {
                write!(f, "the checksum of {what} does not agree with its bytes")
            }
            Error::DamagedLog(wal::Damage { at, commits }) => write!(
                f,
                "the log of the store (store.sqlite-wal) is damaged at byte {at}, and at least {commits} commits behind that would be \
                 forgotten"
            ),
            Error::Failed(why) => write!(f, "the store failed: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Whether it may pass by itself, without anybody touching the store: a full disk, one that fails.
    pub fn may_pass(&self) -> bool {
        matches!(self, Error::Full | Error::Disk(_))
    }
}

/// Spreads ids, which are dense and given out by us, cheaply.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IdHasher(u64);

impl BuildHasher for IdHasher {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher(0)
    }
}

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, id: u64) {
        // Odd constant of the golden ratio: neighbors land far apart, also in the top bits that the table looks at.
        self.0 = (self.0 ^ id).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}
