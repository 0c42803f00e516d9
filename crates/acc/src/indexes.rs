//! Which indexes a table has, for those who write to it; `change.rs` changes that.

use scaledb_base::{Error, Result, TableId};
use scaledb_row::ColumnSet;
use scaledb_sync::atomic::AtomicU64;
use scaledb_sync::lock::{Mutex, MutexGuard};
use scaledb_sync::{CachePadded, thread};
use std::time::Duration;

/// The indexes of a table that a write keeps.
#[derive(Clone)]
pub(crate) struct IndexSet {
    pub(crate) ids: Vec<TableId>,
    /// Columns that are part of any index's key.
    pub(crate) columns: ColumnSet,
    /// The set is about to be replaced: nobody writes.
    pub(crate) closed: bool,
}

/// Changes of indexes.
#[derive(Default)]
pub(crate) struct Changes {
    /// How many there were, twice.
    pub(crate) count: CachePadded<AtomicU64>,
    /// Held by who changes a table's indexes.
    pub(crate) turn: Mutex<()>,
    /// Dropped indexes that have entries still, and the key from where on.
    pub(crate) dropped: Mutex<Vec<(TableId, Vec<u8>)>>,
}

impl Changes {
    /// Waits for the changes before, as long as `go_on` says so.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub(crate) fn wait_for_turn(&self, go_on: &dyn Fn() -> bool) -> Result<MutexGuard<'_, ()>> {
        loop {
            if let Some(turn) = self.turn.try_lock() {
                return Ok(turn);
            }
            if !go_on() {
                return Err(Error::Stopped);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
