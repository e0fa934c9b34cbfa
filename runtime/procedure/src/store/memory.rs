//! A store in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Error, Loaded, Reader, Row, Store, Write, after_prefix};
use super::{IdHasher, ProcedureId};

/// Stores everything in memory. A clone is another handle to the same contents, with which a test simulates a restart.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    contents: Arc<Mutex<Contents>>,
}

/// Rows, ordered by key.
type Space = BTreeMap<Box<[u8]>, Box<[u8]>>;

#[derive(Debug, Default)]
struct Contents {
    records: HashMap<ProcedureId, Box<[u8]>, IdHasher>,
    rows: HashMap<Arc<str>, Space>,
    largest: u64,
    damaged: Vec<ProcedureId>,
}

impl Memory {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the ids of all records, in order.
    pub fn ids(&self) -> Vec<ProcedureId> {
        let mut ids: Vec<_> = self.contents().records.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the bytes of a record.
    pub fn record(&self, id: ProcedureId) -> Option<Box<[u8]>> {
        self.contents().records.get(&id).cloned()
    }

    /// Simulates that the disk lost bits of this record: the next load reports it as damaged.
    pub fn damage(&self, id: ProcedureId) {
        self.contents().damaged.push(id);
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn load(&mut self) -> Result<Loaded, Error> {
        let contents = self.contents();
        let mut records: Vec<_> = contents
            .records
            .iter()
            .filter(|(id, _)| !contents.damaged.contains(id))
            .map(|(id, bytes)| (*id, bytes.clone()))
            .collect();
        records.sort_unstable_by_key(|(id, _)| *id);
        let damaged = contents
            .damaged
            .iter()
            .copied()
            .filter(|id| contents.records.contains_key(id))
            .collect();
        Ok(Loaded { records, damaged, largest: contents.largest })
    }

    fn commit(&mut self, batch: &[Write]) -> Result<(), Error> {
        let mut contents = self.contents();
        for write in batch {
            match write {
                Write::Record(id, bytes) => {
                    contents.largest = contents.largest.max(id.0);
                    match contents.records.get_mut(id) {
                        Some(old) if old.len() == bytes.len() => old.copy_from_slice(bytes),
                        Some(old) => old.clone_from(bytes),
                        None => drop(contents.records.insert(*id, bytes.clone())),
                    }
                }
                Write::Remove(id) => {
                    contents.records.remove(id);
                }
                Write::Put(row) => {
                    let space = contents.rows.entry(row.key.space.clone()).or_default();
                    space.insert(row.key.key.clone(), row.value.clone());
                }
                Write::Delete(key) => {
                    if let Some(space) = contents.rows.get_mut(&key.space) {
                        space.remove(&key.key);
                    }
                }
            }
        }
        Ok(())
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(self.clone())
    }

    fn instant(&self) -> bool {
        true
    }
}

impl Reader for Memory {
    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Box<[u8]>>, Error> {
        Ok(self.contents().rows.get(space).and_then(|rows| rows.get(key)).cloned())
    }

    fn scan(
        &self,
        space: &str,
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, Error> {
        let contents = self.contents();
        let Some((name, rows)) = contents.rows.get_key_value(space) else { return Ok(Vec::new()) };
        let first = from.filter(|from| *from > prefix).unwrap_or(prefix);
        let end = after_prefix(prefix);
        Ok(rows
            .range::<[u8], _>((std::ops::Bound::Included(first), std::ops::Bound::Unbounded))
            .take_while(|(key, _)| end.as_deref().is_none_or(|end| &key[..] < end))
            .take(limit)
            .map(|(key, value)| Row {
                key: super::Key { space: name.clone(), key: key.clone() },
                value: value.clone(),
            })
            .collect())
    }
}
