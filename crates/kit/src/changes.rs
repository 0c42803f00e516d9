//! Changes of the indexes of a database, one after the other and counted; `closed.rs` has the steps.

use scaledb_base::{Error, Result, TableId};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::lock::{Mutex, MutexGuard};
use scaledb_sync::{CachePadded, thread};
use std::time::Duration;

/// How often a change that waits for its turn looks whether it should still wait.
const LOOK: Duration = Duration::from_millis(1);

/// Changes of the indexes of a database.
#[derive(Default)]
pub struct Changes {
    /// Twice the number of changes: each is counted before and behind it.
    pub count: CachePadded<AtomicU64>,
    /// Held while the indexes of a table are changed.
    pub(crate) turn: Mutex<()>,
    /// Dropped indexes, and dropped and cleared tables behind their indexes, that are not empty yet; each with the key
    /// from which on it has records. They are emptied in this order.
    pub(crate) emptying: Mutex<Vec<(TableId, Vec<u8>)>>,
}

/// The count of changes as a transaction saw it. What it does is right if no change since then has touched what it
/// used.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeenChanges {
    /// When it began.
    pub at_begin: u64,
    /// Before its first write; until then, when it began: `at_begin <= at_first_write`.
    pub at_first_write: u64,
}

impl Changes {
    /// What a transaction that begins now has seen.
    #[inline]
    pub fn see(&self) -> SeenChanges {
        // pairs with the stores in `Closed::count`: a transaction that sees the count sees the closed table
        let count = self.count.load(Ordering::Acquire);
        SeenChanges { at_begin: count, at_first_write: count }
    }

    /// A transaction is about to make its first write: before it reads which indexes the table has.
    #[inline]
    pub fn see_before_write(&self, seen: &mut SeenChanges) {
        seen.at_first_write = self.count.load(Ordering::Acquire); // as above
        debug_assert!(seen.at_begin <= seen.at_first_write, "changes are counted upwards");
    }

    /// Whether a table was cleared and is not empty yet.
    pub(crate) fn is_clearing(&self, table: TableId) -> bool {
        self.emptying.lock().iter().any(|(id, _)| *id == table)
    }

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
