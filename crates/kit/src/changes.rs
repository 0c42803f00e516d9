//! Changes of the indexes of a database, one after the other and counted; `closed.rs` has the steps.

use scaledb_base::{Error, Result, TableId};
use scaledb_sync::atomic::AtomicU64;
use scaledb_sync::lock::{Mutex, MutexGuard};
use scaledb_sync::{CachePadded, thread};
use std::time::Duration;

/// How often who waits for its turn looks whether it is still to wait.
const LOOK: Duration = Duration::from_millis(1);

/// Changes of the indexes of a database.
#[derive(Default)]
pub struct Changes {
    /// Twice the number of changes: each is counted before and behind it.
    pub count: CachePadded<AtomicU64>,
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
            thread::sleep(LOOK);
        }
    }
}
