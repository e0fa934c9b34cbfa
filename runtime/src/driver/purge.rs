//! Takes ended jobs out of the store, with the folders of their programs.
//!
//! The folders go first: whoever is interrupted finds the jobs still listed, and purges them again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Shared;
use super::keep::{encode, prefix, spaces};
use crate::procedure::{Context, Failure, Procedure, Step};

/// The kind of this procedure.
pub(super) const KIND: &str = "purge";

/// Jobs that are to go.
pub(super) struct Purge {
    shared: Arc<Shared>,
    saved: Saved,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    jobs: Vec<String>,
}

impl Purge {
    pub(super) fn new(shared: Arc<Shared>, jobs: Vec<String>) -> Purge {
        Purge { shared, saved: Saved { jobs } }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Purge, String> {
        let saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Purge { shared: shared.clone(), saved })
    }
}

impl Procedure for Purge {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let reader = self.shared.reader();
        for id in &self.saved.jobs {
            match std::fs::remove_dir_all(self.shared.folder.join(id)) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(Failure::new(
                        "purge",
                        "disk",
                        format!("the folder of {id}: {error}"),
                    ));
                }
            }
            for space in [spaces::ROW, spaces::EVENT, spaces::NOTIFICATION, spaces::EXPECTATION] {
                let rows = reader.scan(space, &prefix(id), None, usize::MAX);
                let rows =
                    rows.map_err(|error| Failure::new("purge", "store", error.to_string()))?;
                for row in rows {
                    context.delete(space, &row.key.key);
                }
            }
            for space in [spaces::CONF, spaces::JOB] {
                context.delete(space, id.as_bytes());
            }
        }
        Ok(Step::Done)
    }

    fn save(&self) -> Vec<u8> {
        encode(&self.saved)
    }

    fn undoable(&self) -> bool {
        false
    }
}
