//! Rows of the store's users, written with a submission or by themselves.

use crate::store;
use crate::store::{Key, Reader, Row, Write};
use std::sync::Arc;

/// Rows to write together with something else.
#[derive(Debug, Default)]
pub struct Rows {
    pub(super) writes: Vec<Write>,
    /// For each write, whether the row is known to be new.
    pub(super) new: Vec<bool>,
}

impl Rows {
    /// Writes a row, possibly replacing one.
    pub fn put(
        &mut self,
        space: impl Into<Arc<str>>,
        key: impl AsRef<[u8]>,
        value: impl Into<Vec<u8>>,
    ) {
        self.push(space, key, value, false);
    }

    /// Writes a row that is known not to exist.
    pub fn put_new(
        &mut self,
        space: impl Into<Arc<str>>,
        key: impl AsRef<[u8]>,
        value: impl Into<Vec<u8>>,
    ) {
        self.push(space, key, value, true);
    }

    pub(super) fn push(
        &mut self,
        space: impl Into<Arc<str>>,
        key: impl AsRef<[u8]>,
        value: impl Into<Vec<u8>>,
        is_new: bool,
    ) {
        let value: Vec<u8> = value.into();
        self.writes.push(Write::Put(Row { key: Key::new(space, key), value: value.into() }));
        self.new.push(is_new);
    }

    /// Removes a row.
    pub fn delete(&mut self, space: impl Into<Arc<str>>, key: impl AsRef<[u8]>) {
        self.writes.push(Write::Delete(Key::new(space, key)));
        self.new.push(false);
    }

    /// Returns the writes that restore the previous state.
    pub(super) fn undo(&self, reader: &dyn Reader) -> Result<Vec<Write>, store::Error> {
        let mut undo = Vec::with_capacity(self.writes.len());
        for (write, is_new) in self.writes.iter().zip(&self.new) {
            let key = match write {
                Write::Put(row) => &row.key,
                Write::Delete(key) => key,
                Write::Record(..) | Write::Remove(_) => continue,
            };
            let before = match is_new {
                true => None,
                // What cannot be read is not worth restoring.
                false => match reader.get(&key.space, &key.key) {
                    Err(store::Error::Damaged(_)) => None,
                    before => before?,
                },
            };
            let key = key.clone();
            undo.push(match before {
                Some(value) => Write::Put(Row { key, value }),
                None => Write::Delete(key),
            });
        }
        Ok(undo)
    }
}
