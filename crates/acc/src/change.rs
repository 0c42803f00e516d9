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
        self.txn.changes = self.shared.changes.see();
    }

    /// Whether the transaction may write to a table now. Waits while its indexes change.
    ///
    /// # Errors
    /// A conflict: they have changed.
    #[inline]
    pub(crate) fn may_write(&mut self, table: &AccTable) -> Result<()> {
        if self.txn.writes.is_empty() {
            self.shared.changes.see_before_write(&mut self.txn.changes);
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
        let had = self.txn.changes.at_begin != self.shared.changes.count.load(Ordering::SeqCst);
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
        if now == self.txn.changes.at_begin { Ok(()) } else { self.compare_definitions() }
    }

    #[cold]
    fn compare_definitions(&self) -> Result<()> {
        let txn = &*self.txn;
        let written = txn.writes.iter().filter(|write| write.op != Op::Nothing).map(|write| write.table);
        let reads = txn.reads.iter().map(|read| read.table);
        let reads = reads.chain(txn.absents.iter().map(|absent| absent.table));
        let used = reads.chain(txn.ranges.iter().map(|range| range.table));
        // a commit has a later timestamp than every drop so far
        self.shared.compare_definitions(txn.changes, written, used, u64::MAX - 1)
    }

    /// Deletes entries of a dropped index, or rows of a cleared table without their entries, given by their addresses.
    pub(crate) fn delete_records(&mut self, table: &AccTable, records: Vec<u64>) -> Result<()> {
        for raw in records {
            // SAFETY: the table held it in this activity.
            let record = unsafe { Record::from_raw(raw) };
            if !record.word(0).is_absent() {
                self.delete_lone_record(table, record)?;
            }
        }
        Ok(())
    }
}
