//! A pool of readers of the store. Opening one scans the log of the store, which takes longer than most answers.

use super::StoreArguments;
use crate::store;
use ankus_procedure::store::Reader;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of open readers, one per concurrent answer.
const MOST: usize = 6;

/// The pool of a store.
pub(super) struct Readers {
    store: StoreArguments,
    open: Mutex<Vec<Arc<dyn Reader>>>,
}

impl Readers {
    pub(super) fn new(store: &StoreArguments) -> Readers {
        Readers { store: store.clone(), open: Mutex::default() }
    }

    /// Returns an unused reader, or opens one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(super) fn one(&self) -> miette::Result<Arc<dyn Reader>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // If the store was moved or replaced, it is opened anew.
        if open.first().is_some_and(|reader| reader.is_there().is_err()) {
            open.clear();
        }
        if let Some(idle) = open.iter().find(|reader| Arc::strong_count(reader) == 1) {
            return Ok(idle.clone());
        }
        let has_room = open.len() < MOST;
        drop(open);
        let reader = store::reader(&self.store)?;
        if has_room {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).push(reader.clone());
        }
        Ok(reader)
    }
}
