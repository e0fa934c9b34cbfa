//! The store on disk: one SQLite file in WAL mode.
//!
//! A batch is one transaction, so many steps share one disk sync. Every record and row has a CRC of its name and bytes;
//! mismatches are reported and left in place. `user_version` is the format: a larger one is refused before anything is
//! written. Exactly one process should hold a [`Sqlite`] on a file; `control` ensures that.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use super::tables::{self, Found, Line, Query, Table};
use super::{Error, FORMAT, Key, Loaded, Reader, Row, Store, Write, after_prefix, wal};
use super::{ProcedureId, columns};
use crate::private;

/// `ankP`, so that `file` and SQLite's own tools can tell what this is.
const APPLICATION: i64 = 0x616e_6b50;

/// The size of a reader's page cache, in KiB.
const READER_KIB: i64 = 4_096;
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS procedure (id INTEGER PRIMARY KEY, sum INTEGER NOT NULL, record BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS datum (
        space TEXT NOT NULL, key BLOB NOT NULL, sum INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (space, key)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS mark (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    INSERT OR IGNORE INTO mark VALUES ('largest', 0);
";

/// How durably commits are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// Every commit reaches the disk before it returns. All guarantees rely on this.
    #[default]
    Full,
    /// A commit survives the process, but possibly not the machine. For tests and scratch runs.
    Normal,
}

/// Options for opening a store.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// How durably commits are written.
    pub synchronous: Synchronous,
    /// The maximum number of pages in the file; none for no limit. For tests of a full disk.
    pub page_limit: Option<u32>,
    /// Whether to open the store even if the log is damaged, without the commits after the damage.
    pub forget_damaged: bool,
    /// The tables that are kept next to the rows. Others are dropped, since nothing would update them.
    pub tables: &'static [&'static Table],
}

/// The result of checking a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Soundness {
    /// The errors that SQLite finds in the file, one per line; empty if it is sound.
    pub file: Vec<String>,
    /// The number of rows and procedures.
    pub rows: u64,
    /// The damaged rows.
    pub damaged: Vec<Key>,
    /// The procedures with damaged records.
    pub procedures: Vec<ProcedureId>,
    /// Where the log is damaged.
    pub log: Option<wal::Damage>,
    /// The ids of table lines that differ from the rows.
    pub lines: Vec<String>,
}

impl Soundness {
    /// Whether nothing was found.
    pub fn is_sound(&self) -> bool {
        self.file.is_empty()
            && self.damaged.is_empty()
            && self.procedures.is_empty()
            && self.log.is_none()
            && self.lines.is_empty()
    }
}

/// Returns the path of a store's write-ahead log.
fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// A store in a SQLite file.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    reader: Arc<SqliteReader>,
    largest: u64,
    /// Whether the last commit was refused.
    was_refused: bool,
    tables: &'static [&'static Table],
}

#[derive(Debug)]
struct SqliteReader {
    connection: Mutex<Connection>,
    place: FilePlace,
}

/// An open file, and its path when it was opened. SQLite continues to use a deleted file, and what it writes there is
/// lost.
#[derive(Debug)]
struct FilePlace {
    path: PathBuf,
    identity: (u64, u64),
}

impl FilePlace {
    fn of(path: &Path) -> Result<FilePlace, Error> {
        let failed = |error: std::io::Error| Error::Failed(format!("{}: {error}", path.display()));
        let path = std::path::absolute(path).map_err(failed)?;
        let identity = FilePlace::identity(&path).ok_or(Error::Gone)?;
        Ok(FilePlace { path, identity })
    }

    #[expect(clippy::disallowed_methods, reason = "a store is on the disk")]
    fn identity(path: &Path) -> Option<(u64, u64)> {
        std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
    }

    fn check(&self) -> Result<(), Error> {
        match FilePlace::identity(&self.path) == Some(self.identity) {
            true => Ok(()),
            false => Err(Error::Gone),
        }
    }
}

impl Sqlite {
    /// Opens the store in this file, and creates it if it does not exist.
    pub fn open(path: &Path, options: Options) -> Result<Self, Error> {
        // SQLite gives the files next to it the same permissions. An existing file is not opened here: closing it would
        // release the locks that SQLite has on it.
        match private::options().write(true).create_new(true).open(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::Failed(format!("{}: {error}", path.display())));
            }
            _ => {}
        }
        let log = wal::damage(&log_of(path)).map_err(|error| Error::Failed(error.to_string()))?;
        if let (Some(damage), false) = (log, options.forget_damaged) {
            return Err(Error::DamagedLog(damage));
        }
        let connection = Connection::open(path).map_err(report)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(report)?;

        let format: i64 =
            connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(report)?;
        let application: i64 =
            connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(report)?;
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(report)?;
        if tables > 0 && application != APPLICATION {
            return Err(Error::NotAStore("the file is a database of something else".to_owned()));
        }
        if format > FORMAT {
            return Err(Error::Newer { found: format });
        }

        let synchronous = match options.synchronous {
            Synchronous::Full => "FULL",
            Synchronous::Normal => "NORMAL",
        };
        // The application id is written with the tables, so that no reader sees a half-created store.
        let whose = match (application, format) {
            (APPLICATION, FORMAT) => String::new(),
            _ => format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"),
        };
        let setup = format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA cache_size = -32768;
             PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864;
             BEGIN IMMEDIATE; {whose} {SCHEMA}"
        );
        connection.execute_batch(&setup).map_err(report)?;
        columns::settle(&connection, options.tables).map_err(report)?;
        connection.execute_batch("COMMIT").map_err(report)?;
        // One statement for every set of columns that change together, besides those for rows.
        connection.set_prepared_statement_cache_capacity(64);
        if tables == 0 {
            // The file type is written to the file itself, whatever happens to the log.
            connection
                .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
                .map_err(report)?;
        }
        if let Some(pages) = options.page_limit {
            connection
                .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| {
                    row.get::<_, i64>(0)
                })
                .map_err(report)?;
        }

        let read =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(report)?;
        read.busy_timeout(Duration::from_secs(10)).map_err(report)?;
        let place = FilePlace::of(path)?;
        let reader = Arc::new(SqliteReader { connection: Mutex::new(read), place });
        let largest: i64 = connection
            .query_row("SELECT value FROM mark WHERE name = 'largest'", [], |row| row.get(0))
            .map_err(report)?;
        let largest = unsigned(largest);
        Ok(Sqlite { connection, reader, largest, was_refused: false, tables: options.tables })
    }

    /// Opens the store in this file for reading only, whichever process runs it. Returns none if there is no file, or
    /// if a store is just being created in it.
    pub fn reading(path: &Path) -> Result<Option<Arc<dyn Reader>>, Error> {
        if !path.exists() {
            return Ok(None);
        }
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(report)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(report)?;
        let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0));
        // What the running process is writing may look like damage, but not twice in the same way.
        let looked =
            || wal::damage(&log_of(path)).map_err(|error| Error::Failed(error.to_string()));
        if let Some(damage) = looked()? {
            std::thread::sleep(Duration::from_millis(50));
            if looked()? == Some(damage) {
                return Err(Error::DamagedLog(damage));
            }
        }
        if number("SELECT count(*) FROM sqlite_schema").map_err(report)? == 0 {
            return Ok(None);
        }
        let format = number("PRAGMA user_version").map_err(report)?;
        if number("PRAGMA application_id").map_err(report)? != APPLICATION {
            return Err(Error::NotAStore("the file is something else".to_owned()));
        }
        if format > FORMAT {
            return Err(Error::Newer { found: format });
        }
        // Enough for the indexes of many jobs.
        connection.pragma_update(None, "cache_size", -READER_KIB).map_err(report)?;
        let place = FilePlace::of(path)?;
        Ok(Some(Arc::new(SqliteReader { connection: Mutex::new(connection), place })))
    }

    /// Checks everything in the store in this file, whichever process runs it, and changes nothing.
    pub fn check(path: &Path, kept: &[&Table]) -> Result<Soundness, Error> {
        let log = wal::damage(&log_of(path)).map_err(|error| Error::Failed(error.to_string()))?;
        let mut found = Soundness { log, ..Soundness::default() };
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(report)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(report)?;
        // A single state of it, even if it is being written.
        connection.execute_batch("BEGIN").map_err(report)?;
        let mut lines = connection.prepare("PRAGMA integrity_check(100)").map_err(report)?;
        let lines = lines.query_map([], |row| row.get::<_, String>(0)).map_err(report)?;
        for line in lines {
            // In a badly damaged file, the check itself fails.
            let line = line.unwrap_or_else(|error| error.to_string());
            if line != "ok" {
                found.file.push(line);
            }
        }
        let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('datum', 'procedure')";
        let tables = connection.query_row(tables, [], |row| row.get::<_, i64>(0));
        if found.log.is_some() && tables.is_ok_and(|tables| tables < 2) {
            // The tables were created in the lost part.
            return Ok(found);
        }
        let read = Self::check_rows(&connection, &mut found).map_err(report);
        let read = read.and_then(|()| Self::check_tables(path, &connection, kept, &mut found));
        match read {
            // It was reported already.
            Err(Error::NotAStore(_)) if !found.file.is_empty() => Ok(found),
            other => other.map(|()| found),
        }
    }

    fn check_rows(connection: &Connection, found: &mut Soundness) -> rusqlite::Result<()> {
        let mut statement = connection.prepare("SELECT space, key, sum, value FROM datum")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found.rows += 1;
            let space = row.get_ref(0)?.as_bytes().unwrap_or_default();
            let key = row.get_ref(1)?.as_bytes().unwrap_or_default();
            let sum: Result<i64, _> = row.get(2);
            let value = row.get_ref(3)?.as_bytes().unwrap_or_default();
            if sum.ok() != Some(checksum(&[space, key], value)) {
                found.damaged.push(Key::new(String::from_utf8_lossy(space), key));
            }
        }
        let mut statement = connection.prepare("SELECT id, sum, record FROM procedure")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found.rows += 1;
            let id = ProcedureId(unsigned(row.get(0)?));
            let sum: Result<i64, _> = row.get(1);
            let record = row.get_ref(2)?.as_bytes().unwrap_or_default();
            if sum.ok() != Some(checksum(&[&id.0.to_le_bytes()], record)) {
                found.procedures.push(id);
            }
        }
        Ok(())
    }

    fn check_tables(
        path: &Path,
        connection: &Connection,
        tables: &[&Table],
        found: &mut Soundness,
    ) -> Result<(), Error> {
        for table in tables {
            if !columns::is_kept(connection, table).map_err(report)? {
                continue;
            }
            // Only values from intact rows can be compared.
            let place = FilePlace::of(path)?;
            let rows = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
            let rows = SqliteReader { connection: Mutex::new(rows.map_err(report)?), place };
            let told = tables::lines(&rows, table)?;
            let damaged = |id: &String| {
                found.damaged.iter().any(|key| {
                    let sources = table.sources.iter().filter(|it| *it.space == *key.space);
                    sources.into_iter().any(|source| (source.id)(&key.key) == Some(id))
                })
            };
            let differing = columns::differing(connection, table, &told).map_err(report)?;
            let differing: Vec<String> = differing.into_iter().filter(|id| !damaged(id)).collect();
            found.lines.extend(differing);
        }
        Ok(())
    }

    /// Writes a consistent copy of the store in this file, whichever process runs it. The target must not exist.
    pub fn backup(path: &Path, to: &Path) -> Result<(), Error> {
        let shown = |error: std::io::Error| Error::Failed(format!("{}: {error}", to.display()));
        // SQLite fills an empty file, and this one is private.
        private::options().write(true).create_new(true).open(to).map_err(shown)?;
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(report)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(report)?;
        let target = to
            .to_str()
            .ok_or_else(|| Error::Failed(format!("{}: a name that is not UTF-8", to.display())))?;
        connection.execute("VACUUM INTO ?1", params![target]).map_err(report)?;
        private::options().write(true).open(to).and_then(|file| file.sync_all()).map_err(shown)
    }

    /// Deletes damaged rows and records, so that the rest of what they belonged to can be read again, and refills the
    /// tables.
    pub fn forget(&mut self, found: &Soundness) -> Result<(), Error> {
        let rows = found.damaged.iter().cloned().map(Write::Delete);
        let records = found.procedures.iter().copied().map(Write::Remove);
        self.commit(&rows.chain(records).collect::<Vec<_>>())?;
        let transaction = self.connection.transaction().map_err(report)?;
        for table in self.tables {
            columns::fill(&transaction, table).map_err(report)?;
        }
        transaction.commit().map_err(report)
    }

    /// Returns the space of deleted data to the disk.
    pub fn compact(&mut self) -> Result<(), Error> {
        self.connection.execute_batch("VACUUM").map_err(report)?;
        self.checkpoint()
    }

    /// Moves everything from the log to the file.
    fn checkpoint(&self) -> Result<(), Error> {
        let done = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        done.map_err(report)
    }

    /// Returns the errors that SQLite finds in the file; `ok` if there are none.
    pub fn integrity(&self) -> Result<String, Error> {
        self.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(report)
    }

    /// Sets the limit on the size of the file.
    pub fn limit_pages(&mut self, pages: u32) -> Result<(), Error> {
        let sql = format!("PRAGMA max_page_count = {pages}");
        self.connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(|_| ()).map_err(report)
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.settle();
    }
}

impl Store for Sqlite {
    fn load(&mut self) -> Result<Loaded, Error> {
        let mut loaded = Loaded { largest: self.largest, ..Loaded::default() };
        let mut statement = self
            .connection
            .prepare("SELECT id, sum, record FROM procedure ORDER BY id")
            .map_err(report)?;
        let mut rows = statement.query([]).map_err(report)?;
        while let Some(row) = rows.next().map_err(report)? {
            let id = ProcedureId(unsigned(row.get(0).map_err(report)?));
            loaded.largest = loaded.largest.max(id.0);
            // A damaged page may change the type of a value as well as its bytes.
            let sum: Result<i64, _> = row.get(1);
            let record = row.get_ref(2).ok().and_then(|value| value.as_blob().ok());
            match (sum, record) {
                (Ok(sum), Some(record)) if sum == checksum(&[&id.0.to_le_bytes()], record) => {
                    loaded.records.push((id, record.into()));
                }
                _ => loaded.damaged.push(id),
            }
        }
        Ok(loaded)
    }

    fn commit(&mut self, batch: &[Write]) -> Result<(), Error> {
        let committed = self.write(batch);
        self.was_refused = committed.is_err();
        committed
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.reader.clone()
    }

    fn settle(&mut self) {
        // Others may be reading: what they have seen is still moved to the file, and only the log remains.
        let _ = self.connection.busy_timeout(Duration::from_millis(200));
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        let _ = self.checkpoint();
    }
}

impl Sqlite {
    /// Writes a batch in one transaction.
    fn write(&mut self, batch: &[Write]) -> Result<(), Error> {
        self.reader.place.check()?;
        let transaction = self.connection.transaction().map_err(report)?;
        let mut largest = self.largest;
        {
            let mut record = transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO procedure (id, sum, record) VALUES (?1, ?2, ?3)",
                )
                .map_err(report)?;
            let mut remove = transaction
                .prepare_cached("DELETE FROM procedure WHERE id = ?1")
                .map_err(report)?;
            let mut put = transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO datum (space, key, sum, value) VALUES (?1, ?2, ?3, ?4)",
                )
                .map_err(report)?;
            let mut delete = transaction
                .prepare_cached("DELETE FROM datum WHERE space = ?1 AND key = ?2")
                .map_err(report)?;
            for write in batch {
                match write {
                    Write::Record(id, bytes) => {
                        largest = largest.max(id.0);
                        let sum = checksum(&[&id.0.to_le_bytes()], bytes);
                        record.execute(params![signed(id.0), sum, &bytes[..]])
                    }
                    Write::Remove(id) => remove.execute(params![signed(id.0)]),
                    Write::Put(row) => {
                        let sum = checksum(&[row.key.space.as_bytes(), &row.key.key], &row.value);
                        put.execute(params![&*row.key.space, &row.key.key[..], sum, &row.value[..]])
                    }
                    Write::Delete(key) => delete.execute(params![&*key.space, &key.key[..]]),
                }
                .map_err(report)?;
            }
            columns::follow(&transaction, self.tables, batch).map_err(report)?;
            if self.was_refused {
                // A commit without changes would not reach the disk, and would not show whether it accepts writes
                // again.
                let tried = "INSERT INTO mark VALUES ('tried', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1";
                transaction.execute(tried, []).map_err(report)?;
            }
            if largest > self.largest {
                transaction
                    .prepare_cached("UPDATE mark SET value = ?1 WHERE name = 'largest'")
                    .and_then(|mut mark| mark.execute(params![signed(largest)]))
                    .map_err(report)?;
            }
        }
        transaction.commit().map_err(report)?;
        self.largest = largest;
        Ok(())
    }
}

impl Reader for SqliteReader {
    fn is_there(&self) -> Result<(), Error> {
        self.place.check()
    }

    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Box<[u8]>>, Error> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = connection
            .prepare_cached("SELECT sum, value FROM datum WHERE space = ?1 AND key = ?2")
            .map_err(report)?;
        let found: Option<(i64, Vec<u8>)> = statement
            .query_row(params![space, key], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(report)?;
        found.map(|(sum, value)| intact(space, key, sum, value)).transpose()
    }

    fn scan(
        &self,
        space: &str,
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, Error> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let first = from.filter(|from| *from > prefix).unwrap_or(prefix);
        let end = after_prefix(prefix);
        let mut statement = connection
            .prepare_cached(
                "SELECT key, sum, value FROM datum
                 WHERE space = ?1 AND key >= ?2 AND (?3 IS NULL OR key < ?3) ORDER BY key LIMIT ?4",
            )
            .map_err(report)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![space, first, end, limit]).map_err(report)?;
        let name: Arc<str> = space.into();
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(report)? {
            let key: Vec<u8> = row.get(0).map_err(report)?;
            let value =
                intact(space, &key, row.get(1).map_err(report)?, row.get(2).map_err(report)?)?;
            found.push(Row { key: Key { space: name.clone(), key: key.into() }, value });
        }
        Ok(found)
    }

    fn find(&self, table: &Table, query: &Query) -> Result<Found, Error> {
        {
            table.knows(query)?;
            let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
            // The count and the lines are of one snapshot.
            let moment = connection.transaction().map_err(report)?;
            if columns::is_kept(&moment, table).map_err(report)? {
                return columns::find(&moment, table, query).map_err(report);
            }
        }
        // The store has not been run since tables were introduced.
        tables::scan(self, table, query)
    }

    fn largest(
        &self,
        table: &Table,
        column: &'static str,
        for_each: &[&'static str],
    ) -> Result<Vec<Line>, Error> {
        {
            table.has(for_each.iter().copied().chain([column]))?;
            let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
            if columns::is_kept(&connection, table).map_err(report)? {
                return columns::largest(&connection, table, column, for_each).map_err(report);
            }
        }
        tables::scan_largest(self, table, column, for_each)
    }

    fn scan_sound(&self, space: &str, prefix: &[u8]) -> Result<(Vec<Row>, Vec<Key>), Error> {
        match self.scan(space, prefix, None, usize::MAX) {
            Err(Error::Damaged(_)) => {}
            whole => return Ok((whole?, Vec::new())),
        }
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = connection
            .prepare(
                "SELECT key, sum, value FROM datum
                 WHERE space = ?1 AND key >= ?2 AND (?3 IS NULL OR key < ?3) ORDER BY key",
            )
            .map_err(report)?;
        let mut rows =
            statement.query(params![space, prefix, after_prefix(prefix)]).map_err(report)?;
        let name: Arc<str> = space.into();
        let (mut found, mut damaged) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next().map_err(report)? {
            let key: Vec<u8> = row.get(0).map_err(report)?;
            let value = match (row.get(1), row.get(2)) {
                (Ok(sum), Ok(value)) => intact(space, &key, sum, value).ok(),
                _ => None,
            };
            let key = Key { space: name.clone(), key: key.into() };
            match value {
                Some(value) => found.push(Row { key, value }),
                None => damaged.push(key),
            }
        }
        Ok((found, damaged))
    }
}

fn intact(space: &str, key: &[u8], sum: i64, value: Vec<u8>) -> Result<Box<[u8]>, Error> {
    if sum == checksum(&[space.as_bytes(), key], &value) {
        return Ok(value.into());
    }
    Err(Error::Damaged(format!(
        "row `{}` of `{space}`",
        String::from_utf8_lossy(key).escape_default()
    )))
}

/// Computes a checksum that includes the name, so that a row in the place of another is noticed.
pub(super) fn checksum(name: &[&[u8]], bytes: &[u8]) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    for part in name {
        hasher.update(part);
        hasher.update(&[0xff]);
    }
    hasher.update(bytes);
    i64::from(hasher.finalize())
}

/// SQLite's integers are signed; ids keep their bits.
fn signed(id: u64) -> i64 {
    id.cast_signed()
}

fn unsigned(id: i64) -> u64 {
    id.cast_unsigned()
}

pub(super) fn report(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full,
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            Error::NotAStore(error.to_string())
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
            Error::Disk(error.to_string())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy,
        _ => Error::Failed(error.to_string()),
    }
}
