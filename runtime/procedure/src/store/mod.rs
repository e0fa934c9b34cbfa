//! Storage for procedures and the rows of jobs: [`Sqlite`] for real, [`Memory`] for tests.
//!
//! A store commits batches of [`Write`]s, each all or nothing. It returns everything that was committed once, at the
//! start ([`Store::load`]), and single rows at any time ([`Reader`]). It does not interpret the bytes; it stores a
//! checksum with each value and reports those that no longer match.
//!
//! Two kinds of data are stored. *Records* are the procedures, by id. *Rows* belong to the user of the store (a job has
//! its workflow, its actions and its events there): a space, a key and a value, ordered by key within the space.
//!
//! Next to the rows there may be [`tables`], by which some rows are found without reading all of them.

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

/// The store format that this version writes. A store with a larger number is refused.
pub const FORMAT: i64 = 3;

/// The number of a procedure. Each is assigned once in the life of a store, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcedureId(pub u64);

impl fmt::Display for ProcedureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One change. Writing the same twice has the same result as once, so a batch whose fate is unknown can be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Inserts or replaces the record of a procedure.
    Record(ProcedureId, Box<[u8]>),
    /// Removes the record of a procedure, if there is one. Its id is never assigned again.
    Remove(ProcedureId),
    /// Inserts or replaces a row.
    Put(Row),
    /// Removes a row, if there is one.
    Delete(Key),
}

/// The key of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The namespace of the rows, such as `job` or `event`.
    pub space: Arc<str>,
    /// Any bytes; the rows of a space are ordered by them.
    pub key: Box<[u8]>,
}

impl Key {
    /// Creates a key in a space.
    pub fn new(space: impl Into<Arc<str>>, key: impl AsRef<[u8]>) -> Self {
        Key { space: space.into(), key: key.as_ref().into() }
    }
}

/// A row: its key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its space and key.
    pub key: Key,
    /// Its value.
    pub value: Box<[u8]>,
}

/// Everything in a store about procedures, as far as its checksums match.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Records, ordered by id.
    pub records: Vec<(ProcedureId, Box<[u8]>)>,
    /// Records whose checksums do not match.
    pub damaged: Vec<ProcedureId>,
    /// The largest id ever stored, including removed ones; zero if there was none.
    pub largest: u64,
}

/// A durable map of records and rows. `commit` is all or nothing, and what it accepted survives the process and the machine.
pub trait Store: Send {
    /// Returns every record. Called once, before the first commit.
    fn load(&mut self) -> Result<Loaded, Error>;

    /// Makes all of the batch durable, or none of it. After an error the same batch may be sent again.
    fn commit(&mut self, batch: &[Write]) -> Result<(), Error>;

    /// Returns a reader of rows that is independent of the commits.
    fn reader(&self) -> Arc<dyn Reader>;

    /// Brings everything to where a copy of the store contains it. Called when nothing is committed any more; if it
    /// cannot be done now, the next process that opens the store does it.
    fn settle(&mut self) {}

    /// Whether a commit costs next to nothing, so that gathering many steps into one is not worth a thread.
    fn instant(&self) -> bool {
        false
    }
}

/// Reads committed rows, from any thread.
pub trait Reader: Send + Sync {
    /// Returns the value of one row.
    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Box<[u8]>>, Error>;

    /// Returns the rows whose keys begin with `prefix`, ordered by key, at most `limit` of them.
    fn scan(
        &self,
        space: &str,
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, Error>;

    /// Finds lines of a table that is declared for the store; if it keeps no tables, they are read from the rows.
    fn find(&self, table: &tables::Table, query: &tables::Query) -> Result<tables::Found, Error> {
        tables::scan(self, table, query)
    }

    /// Returns the line with the largest value of a column, for each combination of other columns, in no order; lines
    /// without a value are skipped.
    fn largest(
        &self,
        table: &tables::Table,
        column: &'static str,
        for_each: &[&'static str],
    ) -> Result<Vec<tables::Line>, Error> {
        tables::scan_largest(self, table, column, for_each)
    }

    /// Fails if what is read here is no longer what others find at the path of the store.
    fn is_there(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the intact rows of a scan, and the keys of the damaged ones.
    fn scan_sound(&self, space: &str, prefix: &[u8]) -> Result<(Vec<Row>, Vec<Key>), Error> {
        Ok((self.scan(space, prefix, None, usize::MAX)?, Vec::new()))
    }
}

/// Returns the smallest key that is greater than every key with this prefix, if there is one.
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

/// Errors of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The store was written by a newer version, with this format.
    Newer {
        /// The format found.
        found: i64,
    },
    /// The file is not one of ours, or is damaged beyond reading.
    NotAStore(String),
    /// Another process runs this store.
    Busy,
    /// Its files were deleted or moved while it was in use. No process would find what is written now.
    Gone,
    /// The disk is full.
    Full,
    /// The disk fails: an I/O error, or files that cannot be written or opened.
    Disk(String),
    /// The checksum of a row does not match.
    Damaged(String),
    /// The write-ahead log is damaged, and the commits after that would be lost.
    DamagedLog(wal::Damage),
    /// Any other error of the disk or the database.
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
                write!(f, "the checksum of {what} does not match its bytes")
            }
            Error::DamagedLog(wal::Damage { at, commits }) => write!(
                f,
                "the log of the store (store.sqlite-wal) is damaged at byte {at}, and at least {commits} commits after that would be lost"
            ),
            Error::Failed(why) => write!(f, "the store failed: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Whether the error may disappear without any change to the store: a full disk, or a failing one.
    pub fn may_pass(&self) -> bool {
        matches!(self, Error::Full | Error::Disk(_))
    }
}

/// A cheap hasher for ids, which are dense and assigned by the store.
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
        // An odd constant of the golden ratio: neighbors end up far apart, also in the top bits, which the hash table
        // uses.
        self.0 = (self.0 ^ id).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}
