//! What a transaction has to do with changes of indexes: whether it may use a table or an index, and whether it may
//! still when it commits. `closed.rs` makes the changes, one after the other, and counts them.
//!
//! ```text
//!  at: the raw timestamp that a transaction reads at, or PRESENT, if it reads what is committed
//!  it may use an index       since ≤ at, and (at < until, or the index is there: until = u64::MAX)
//!  it may read a table       the same, with since = 0
//!  it may write to a table   the table is open, and the `since` of its set of indexes ≤ at
//! ```
//!
//! A snapshot at `until` itself would miss nothing in the index: what it sees was committed before. It is refused all
//! the same, so that the rule is one for all engines, and the interval that of [`TableCore::since`] and
//! [`TableCore::until`].
//!
//! [`TableCore::since`]: crate::TableCore::since
//! [`TableCore::until`]: crate::TableCore::until

use crate::core::Core;
use crate::table::{EngineTable, definition_changed};
use crate::txn::Transaction;
use crate::write_set::Write;
use scaledb_base::{Error, Result};
use scaledb_sync::atomic::Ordering;

/// Where a transaction reads that reads what is committed, and has its place in the order when it commits.
pub const PRESENT: u64 = u64::MAX;

impl<T: EngineTable> Core<T> {
    /// Whether a transaction that reads at `at` may write to a table now. Waits while the table's indexes change.
    ///
    /// # Errors
    /// A conflict: they have changed. [`Error::NoSuchTable`]: the table was gone when the transaction began.
    #[inline]
    pub(crate) fn may_write(&self, txn: &mut impl Transaction, table: &T, at: u64) -> Result<()> {
        if txn.writes().is_empty() {
            self.changes.see_before_write(&mut txn.changes);
        }
        let set = table.indexes.get();
        if set.closed || at < set.since { Err(not_writable(txn, table)) } else { Ok(()) }
    }

    /// Whether a transaction that reads at `at` may read through an index, or a table that was dropped.
    ///
    /// # Errors
    /// A conflict if it could when it began, or can if it begins anew; [`Error::NoSuchTable`] if the index is gone for
    /// it.
    #[inline]
    pub(crate) fn may_use(&self, txn: &impl Transaction, index: &T, at: u64) -> Result<()> {
        let (since, until) = (index.since.load(Ordering::SeqCst), index.until.load(Ordering::SeqCst));
        if has_what_is_read(since, until, at) {
            return Ok(());
        }
        let changed = txn.changes.at_begin != self.changes.count.load(Ordering::SeqCst);
        Err(not_usable(index, changed || at < since))
    }

    /// Whether the indexes of the tables that a transaction has written are those that it kept, and those that it has
    /// used are there: asked by a commit that reads at `at`, when nobody can miss its writes any more who changes
    /// indexes after it has asked.
    ///
    /// # Errors
    /// A conflict.
    #[inline]
    pub fn definitions_hold(&self, txn: &impl Transaction, at: u64) -> Result<()> {
        let now = self.changes.count.load(Ordering::SeqCst);
        if now == txn.changes.at_begin { Ok(()) } else { self.compare_definitions(txn, at) }
    }

    /// Called when the count of changes is another one than at the transaction's begin.
    #[cold]
    fn compare_definitions(&self, txn: &impl Transaction, at: u64) -> Result<()> {
        for write in txn.writes().iter().filter(|write| !write.is_nothing()) {
            let table = self.tables.get(write.table())?;
            if table.changed.load(Ordering::SeqCst) > txn.changes.at_first_write {
                return Err(definition_changed(table.id));
            }
        }
        for id in txn.used() {
            let until = self.tables.get(id)?.until.load(Ordering::SeqCst);
            // a commit in the present comes after every drop so far
            if until != u64::MAX && until <= at {
                return Err(definition_changed(id));
            }
        }
        Ok(())
    }
}

/// Whether an index has all entries that a transaction sees which reads at `at`.
#[inline(always)]
fn has_what_is_read(since: u64, until: u64, at: u64) -> bool {
    since <= at && (at < until || until == u64::MAX)
}

/// Why a transaction cannot write to a table: known when the change that is under way is over.
#[cold]
fn not_writable<T: EngineTable>(txn: &impl Transaction, table: &T) -> Error {
    table.wait_for_change();
    let began_before = txn.changes.at_begin < table.changed.load(Ordering::SeqCst);
    if table.is_dropped() && !began_before {
        return Error::NoSuchTable(table.id.to_string());
    }
    definition_changed(table.id)
}

#[cold]
fn not_usable<T: EngineTable>(index: &T, begins_anew: bool) -> Error {
    if begins_anew { definition_changed(index.id) } else { Error::NoSuchTable(index.id.to_string()) }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_read_by_those_who_find_all_their_entries_in_it() {
        const THERE: u64 = u64::MAX;
        // one that is there: by all who are not from before it was made
        assert!(has_what_is_read(0, THERE, 0) && has_what_is_read(5, THERE, 5));
        assert!(has_what_is_read(5, THERE, PRESENT) && !has_what_is_read(5, THERE, 4));
        // one that was dropped: by those who read earlier, and by nobody who reads the present
        assert!(has_what_is_read(5, 9, 8) && !has_what_is_read(5, 9, 4));
        assert!(!has_what_is_read(5, 9, 9) && !has_what_is_read(5, 9, PRESENT));
        // one that was dropped as it was made: by nobody
        assert!((0..9).all(|at| !has_what_is_read(5, 5, at)));
    }
}
