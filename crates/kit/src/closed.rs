//! Changes of indexes while their tables are used. docs/internals/schema-changes.md has the argument.
//!
//! ```text
//!  1  the table is closed: writers wait                           its IndexSet
//!  2  the change is counted: earlier writers conflict            Changes::count, TableCore::changed
//!  3  no commit is left that has not seen 2                      Protocol::await_commits
//!  4  entries of all rows, sorted, into a new tree; or the index is marked as gone
//!  5  the table is open, with the new set; and the change is counted once more
//! ```

use crate::core::Core;
use crate::protocol::Protocol;
use crate::table::{EngineTable, IndexSet};
use scaledb_sync::atomic::Ordering;

/// A table that nobody writes to. It opens when this is dropped.
pub(crate) struct Closed<'a, T: EngineTable> {
    core: &'a Core<T>,
    table: &'a T,
    /// The indexes that it will have.
    pub(crate) next: IndexSet,
}

impl<'a, T: EngineTable> Closed<'a, T> {
    /// Steps 1 to 3. The caller has its turn.
    pub(crate) fn new<P: Protocol<Table = T>>(protocol: &'a P, table: &'a T) -> Self {
        let next = table.indexes.get().clone();
        table.indexes.replace(IndexSet { closed: true, ..next.clone() });
        let closed = Self { core: protocol.core(), table, next };
        closed.count();
        protocol.await_commits();
        closed
    }

    fn count(&self) {
        let next = self.core.changes.count.load(Ordering::Relaxed) + 1; // changed under `turn` only
        self.table.changed.store(next, Ordering::SeqCst);
        self.core.changes.count.store(next, Ordering::SeqCst);
    }
}

impl<T: EngineTable> Drop for Closed<'_, T> {
    /// Step 5.
    fn drop(&mut self) {
        self.table.indexes.replace(self.next.clone());
        self.count();
    }
}
