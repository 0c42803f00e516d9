//! Rows that the log updates before anything has said that they exist.

use crate::error::inconsistent;
use scaledb_base::{Result, TableId, Timestamp};
use std::collections::HashMap;

/// The checkpoint is not of one moment: it did not see a row any more that was updated and then deleted while it was
/// written. So the update of an unknown row is kept in mind until the log says what became of it.
#[derive(Default)]
pub struct Orphans(HashMap<(TableId, Box<[u8]>), Timestamp>);

impl Orphans {
    /// No row is known that this update could change.
    pub fn add(&mut self, table: TableId, key: &[u8], ts: Timestamp) {
        self.0.insert((table, key.into()), ts);
    }

    /// The row is known to be, or not to be: updates of it that came before are explained.
    pub fn explain(&mut self, table: TableId, key: &[u8]) {
        if !self.0.is_empty() {
            self.0.remove(&(table, key.into()));
        }
    }

    /// At the end of the log.
    ///
    /// # Errors
    /// [`Error::Directory`](scaledb_base::Error::Directory): an update was never explained.
    pub fn check(&self) -> Result<()> {
        match self.0.iter().next() {
            None => Ok(()),
            Some(((table, _), ts)) => {
                Err(inconsistent(format!("a row of table {table} that does not exist is updated at {ts:?}")))
            }
        }
    }
}
