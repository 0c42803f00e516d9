//! What a transaction has to do with changes of indexes: `scaledb_kit` makes them, one after the other, and counts
//! them.

use crate::record::Record;
use crate::table::CicadaTable;
use crate::txn::Op;
use crate::worker::Ctx;
use scaledb_base::{Error, Result};
use scaledb_kit::definition_changed;
use scaledb_sync::atomic::Ordering;

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
    pub(crate) fn may_write(&mut self, table: &CicadaTable) -> Result<()> {
        if self.txn.writes.is_empty() {
            self.shared.changes.see_before_write(&mut self.txn.changes);
        }
        let set = table.indexes.get();
        if set.closed || self.txn.ts < set.since { table.wait_for_change() } else { Ok(()) }
    }

    /// Whether the transaction may read through an index.
    ///
    /// # Errors
    /// A conflict if it could when it began, or can if it begins anew; [`Error::NoSuchTable`] if it is gone for it.
    #[inline]
    pub(crate) fn may_use(&self, index: &CicadaTable) -> Result<()> {
        let (since, until) = (index.since.load(Ordering::Acquire), index.until.load(Ordering::Acquire));
        if (since..until).contains(&self.txn.ts) { Ok(()) } else { self.may_not_use(index, since) }
    }

    #[cold]
    fn may_not_use(&self, index: &CicadaTable, since: u64) -> Result<()> {
        let had = self.txn.changes.at_begin != self.shared.changes.count.load(Ordering::SeqCst);
        if had || self.txn.ts < since {
            return Err(definition_changed(index.id));
        }
        Err(Error::NoSuchTable(index.id.to_string()))
    }

    /// Whether the indexes of the tables that were written are those that were kept, and those that were used are
    /// there.
    ///
    /// # Errors
    /// A conflict.
    #[inline]
    pub(crate) fn definitions_hold(&self) -> Result<()> {
        // SeqCst: behind the versions that this commit has installed
        let now = self.shared.changes.count.load(Ordering::SeqCst);
        if now == self.txn.changes.at_begin { Ok(()) } else { self.compare_definitions() }
    }

    #[cold]
    fn compare_definitions(&self) -> Result<()> {
        let txn = &*self.txn;
        let written = txn.writes.iter().filter(|write| write.op != Op::Nothing).map(|write| write.table);
        let reads = txn.reads.iter().map(|read| read.table);
        let reads = reads.chain(txn.absents.iter().map(|absent| absent.table));
        let used = reads.chain(txn.ranges.iter().map(|range| range.table));
        self.shared.compare_definitions(txn.changes, written, used, txn.ts)
    }

    /// Deletes entries of a dropped index, or rows of a cleared table without their entries, given by their addresses.
    pub(crate) fn delete_records(&mut self, table: &CicadaTable, records: Vec<u64>) -> Result<()> {
        for raw in records {
            // SAFETY: the table held it in this activity.
            let record = unsafe { Record::from_raw(raw) };
            if !record.is_obsolete() {
                self.delete_lone_record(table, record)?;
            }
        }
        Ok(())
    }
}
