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
        // pairs with the stores of who counts: who sees the count sees the closed table
        let changes = self.shared.changes.count.load(Ordering::Acquire);
        (self.txn.changes, self.txn.write_changes) = (changes, changes);
    }

    /// Whether the transaction may write to a table now. Waits while its indexes change.
    ///
    /// # Errors
    /// A conflict: they have changed.
    #[inline]
    pub(crate) fn may_write(&mut self, table: &CicadaTable) -> Result<()> {
        if self.txn.writes.is_empty() {
            // before the set is read that the first write keeps
            self.txn.write_changes = self.shared.changes.count.load(Ordering::Acquire);
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
        let had = self.txn.changes != self.shared.changes.count.load(Ordering::SeqCst);
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
            if table.until.load(Ordering::SeqCst) <= txn.ts {
                return Err(definition_changed(id));
            }
        }
        Ok(())
    }

    /// Deletes entries of a dropped index, given by their addresses.
    pub(crate) fn delete_entries(&mut self, index: &CicadaTable, entries: Vec<u64>) -> Result<()> {
        for raw in entries {
            // SAFETY: the index held it in this activity.
            let record = unsafe { Record::from_raw(raw) };
            if !record.is_obsolete() {
                self.delete_entry_record(index, record)?;
            }
        }
        Ok(())
    }
}
