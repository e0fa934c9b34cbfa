//! Opening a store: to run its jobs, to read it, or to reach the process that runs it.

use super::keep::spaces;
use super::{Driver, Error, STORE, Surroundings, list, view};
use crate::host::network;
use ankus_procedure::store::{Memory, Reader, Sqlite, Store};
use ankus_procedure::{Host, RealHost, control, private, store};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the jobs of a driver are stored.
pub enum Place {
    /// In this folder, which is created. Refused if several machines share its file system.
    Folder(PathBuf),
    /// In this folder, even if several machines share its file system. Only one of them may use it.
    SharedFolder(PathBuf),
    /// In memory: they are gone with the driver.
    Memory,
}

/// The result of [`open`].
pub enum Opened {
    /// This process runs the store.
    Mine(Box<Driver>),
    /// Another process runs the store, and this client is connected to it.
    Theirs(control::Client),
}

/// Returns the options for opening a store of jobs.
pub fn options() -> store::Options {
    store::Options { tables: list::TABLES, ..store::Options::default() }
}

/// Opens a store to run its jobs, or connects to the process that runs it.
pub fn open(place: Place, surroundings: Surroundings) -> Result<Opened, Error> {
    let may_be_shared = matches!(place, Place::SharedFolder(_));
    let (store, guard, folder): (Box<dyn Store>, _, _) = match place {
        Place::Memory => (Box::new(Memory::new()), None, PathBuf::new()),
        Place::Folder(folder) | Place::SharedFolder(folder) => {
            let shared_by = network::file_system(&folder).filter(|_| !may_be_shared);
            if let Some(name) = shared_by {
                return Err(Error::Network(folder, name));
            }
            private::claim(&folder).map_err(|error| Error::Folder(folder.clone(), error))?;
            let path = folder.join(STORE);
            let guard = match control::hold(&path)? {
                control::Hold::Mine(guard) => guard,
                control::Hold::Theirs(client) => return Ok(Opened::Theirs(client)),
            };
            (Box::new(Sqlite::open(&path, options())?), Some(guard), folder)
        }
    };
    let host = Arc::new(RealHost::new());
    Driver::new(store, guard, folder, surroundings, host, true)
        .map(|driver| Opened::Mine(Box::new(driver)))
}

/// Opens the store in this folder for reading, whichever process runs it. Returns none if there is no store. Fails if
/// other users have access to it.
pub fn reading(folder: &Path) -> Result<Option<Arc<dyn Reader>>, Error> {
    let is_there = private::check(folder).map_err(|error| Error::Folder(folder.into(), error))?;
    if !is_there {
        return Ok(None);
    }
    Ok(Sqlite::reading(&folder.join(STORE))?)
}

/// Opens the store in this folder for maintenance while no process runs its jobs, for as long as the guard is held.
/// With `forget_damaged` it opens even if the log or rows are damaged.
pub fn tend(folder: &Path, forget_damaged: bool) -> Result<(Sqlite, control::Guard), Error> {
    private::claim(folder).map_err(|error| Error::Folder(folder.into(), error))?;
    let path = folder.join(STORE);
    let Some(guard) = control::Guard::take(&path)? else {
        return Err(store::Error::Busy.into());
    };
    let options = store::Options { forget_damaged, ..options() };
    Ok((Sqlite::open(&path, options)?, guard))
}

/// Removes plans from a store that no job has any more, and returns how many. No process may run its jobs meanwhile.
pub fn forget_plans(store: &mut Sqlite) -> Result<usize, Error> {
    let reader = store.reader();
    let used: BTreeSet<String> =
        view::records(&*reader)?.into_iter().map(|record| record.plan).collect();
    if !view::damaged(&*reader)?.is_empty() {
        // It is unknown which plan the damaged job has.
        return Ok(0);
    }
    let plans = reader.scan_sound(spaces::PLAN, b"")?.0.into_iter().map(|row| row.key);
    let idle: Vec<store::Write> = plans
        .filter(|key| !used.contains(&*String::from_utf8_lossy(&key.key)))
        .map(store::Write::Delete)
        .collect();
    store.commit(&idle)?;
    Ok(idle.len())
}

/// Runs the jobs of any store, which no other process may use meanwhile. Programs have their folders below `folder`.
pub fn open_store(
    store: Box<dyn Store>,
    folder: PathBuf,
    surroundings: Surroundings,
) -> Result<Driver, Error> {
    open_store_on(store, folder, surroundings, Arc::new(RealHost::new()))
}

/// Like [`open_store`], with another clock than the machine's.
pub fn open_store_on(
    store: Box<dyn Store>,
    folder: PathBuf,
    surroundings: Surroundings,
    host: Arc<dyn Host>,
) -> Result<Driver, Error> {
    Driver::new(store, None, folder, surroundings, host, true)
}

/// Like [`open_store_on`], without threads: nothing happens except through [`turn`](ankus_procedure::Executor::turn),
/// [`commit`](ankus_procedure::Executor::commit) and [`tick`](ankus_procedure::Executor::tick).
pub fn open_still(
    store: Box<dyn Store>,
    folder: PathBuf,
    surroundings: Surroundings,
    host: Arc<dyn Host>,
) -> Result<Driver, Error> {
    Driver::new(store, None, folder, surroundings, host, false)
}
