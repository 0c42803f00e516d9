//! What a transaction has to do with changes of indexes: `scaledb_kit` makes them, one after the other, and counts
//! them.

use crate::record::Record;
use crate::shared::AccShared;
use crate::table::AccTable;
use crate::txn::Op;
use crate::worker::Ctx;
use scaledb_base::{Error, Result, WorkerId};
use scaledb_kit::definition_changed;
use scaledb_memory::Local;
use scaledb_sync::atomic::Ordering;

impl AccShared {
    /// Returns when no commit is in flight that was in flight before.
    pub(crate) fn await_commits(&self) {
        for lane in &self.lanes {
            // a commit holds its lane from before it looks at the count of changes until it is through
            drop(lane.lock());
        }
    }

    /// Merges what all workers have pending in a table.
    pub(crate) fn merge_all(&self, local: &mut Local, table: &AccTable) -> Result<()> {
        for (id, lane) in self.lanes.iter().enumerate() {
            let id = WorkerId(id as u8);
            if table.of_worker(id).is_some_and(|theirs| theirs.list.len() > 0) {
                let guard = lane.lock();
                crate::merge::merge(self, local, &guard, table, id)?;
                if guard.is_clean() {
                    guard.unpin();
                }
            }
        }
        Ok(())
    }
}

impl Ctx<'_> {
    /// Notes which changes of indexes there have been.
    #[inline]
    pub(crate) fn note_changes(&mut self) {
        // pairs with the stores of who counts: who sees the count sees the closed table
        let changes = self.shared.changes.count.load(Ordering::Acquire);
        (self.txn.changes, self.txn.write_changes) = (changes, changes);
    }

    /// Whether the transaction may write to a table now. Waits while its indexes change.
    ///
    /// # Errors
    /// A conflict: they have changed.
    #[inline]
    pub(crate) fn may_write(&mut self, table: &AccTable) -> Result<()> {
        if self.txn.writes.is_empty() {
            // before the set is read that the first write keeps
            self.txn.write_changes = self.shared.changes.count.load(Ordering::Acquire);
        }
        if table.indexes.get().closed { table.wait_for_change() } else { Ok(()) }
    }

    /// Whether the transaction may read through an index.
    ///
    /// # Errors
    /// A conflict if it could when it began, or can if it begins anew; [`Error::NoSuchTable`] if it is gone for it.
    #[inline]
    pub(crate) fn may_use(&self, index: &AccTable) -> Result<()> {
        let until = index.until.load(Ordering::Acquire);
        let snapshot = if self.txn.kind.is_snapshot() { self.txn.snapshot.raw() } else { u64::MAX };
        if until == u64::MAX && snapshot >= index.since.load(Ordering::Acquire) {
            return Ok(());
        }
        self.may_use_still(index, until, snapshot)
    }

    #[cold]
    fn may_use_still(&self, index: &AccTable, until: u64, snapshot: u64) -> Result<()> {
        if snapshot < index.since.load(Ordering::SeqCst) {
            return Err(definition_changed(index.id));
        }
        if self.txn.kind.is_snapshot() && snapshot <= until {
            return Ok(());
        }
        let had = self.txn.changes != self.shared.changes.count.load(Ordering::SeqCst);
        if had { Err(definition_changed(index.id)) } else { Err(Error::NoSuchTable(index.id.to_string())) }
    }

    /// Whether the indexes of the tables that were written are those that were kept, and those that were used are
    /// there.
    ///
    /// # Errors
    /// A conflict.
    #[inline]
    pub(crate) fn definitions_hold(&self) -> Result<()> {
        let now = self.shared.changes.count.load(Ordering::Acquire);
        if now == self.txn.changes { Ok(()) } else { self.compare_definitions() }
    }

    #[cold]
    fn compare_definitions(&self) -> Result<()> {
        let txn = &*self.txn;
        for write in txn.writes.iter().filter(|write| write.op != Op::Nothing) {
            let table = self.shared.tables.get(write.table)?;
            if table.changed.load(Ordering::SeqCst) > txn.write_changes {
                return Err(definition_changed(table.id));
            }
        }
        let reads = txn.reads.iter().map(|read| read.table);
        let reads = reads.chain(txn.absents.iter().map(|absent| absent.table));
        for id in reads.chain(txn.ranges.iter().map(|range| range.table)) {
            let table = self.shared.tables.get(id)?;
            if table.until.load(Ordering::SeqCst) != u64::MAX {
                return Err(definition_changed(id));
            }
        }
        Ok(())
    }

    /// Deletes entries of a dropped index, given by their addresses.
    pub(crate) fn delete_entries(&mut self, index: &AccTable, entries: Vec<u64>) -> Result<()> {
        for raw in entries {
            // SAFETY: the index held it in this activity.
            let record = unsafe { Record::from_raw(raw) };
            if !record.word(0).is_absent() {
                self.delete_entry_record(index, record)?;
            }
        }
        Ok(())
    }
}
