//! After recovery: the range indexes and the secondary indexes, in bulk, several tables at a time.

use crate::build::make_entry;
use crate::bulk::{Headed, duplicate, load_index, load_tree, sort};
use crate::record::Record;
use crate::records::{RecordOf, Records};
use crate::recovery::Recovery;
use crate::table::EngineTable;
use scaledb_base::{Result, TableId};
use scaledb_durability::inconsistent;
use scaledb_keys::{Direction, KeyBuf, KeyReader};
use scaledb_memory::Local;
use scaledb_sync::atomic::Ordering;

impl<P: Records> Recovery<'_, P> {
    /// Builds what is missing of a table and of its indexes. Returns the entries that were inserted in trees.
    pub(crate) fn rebuild_table(&self, local: &mut Local, table: &P::Table) -> Result<u64> {
        local.enter();
        let result = self.rebuild_active(local, table);
        local.exit();
        local.collect();
        result
    }

    fn rebuild_active(&self, local: &mut Local, table: &P::Table) -> Result<u64> {
        let mut rows: Vec<Headed<RecordOf<P>>> = Vec::new();
        // SAFETY: what indexes hold, and what is staged, are records, and none is removed meanwhile.
        let mut add = |raw: u64| rows.push(unsafe { Headed::new(RecordOf::<P>::from_raw(raw)) });
        match (table.hash(), self.staged.get(table.id.index())) {
            (Some(hashed), _) => hashed.for_each(local, &mut add),
            (None, Some(Some(staged))) => staged.for_each(&mut add),
            _ => {}
        }
        if table.ordered().is_some() {
            sort(&mut rows);
        }
        let mut inserted = load_tree(local, table, &rows)?;
        if table.is_numbered() {
            let mut last = rows.iter().map(|row| KeyReader::new(row.key()).u64(Direction::Ascending));
            let last = last.try_fold(0, |next, number| number.map(|n| next.max(n + 1)));
            let next = last.map_err(|_| inconsistent(format!("a row number of table {}", table.name)))?;
            // nobody inserts yet
            table.row_numbers.store(next, Ordering::Relaxed);
        }
        for &index in &table.indexes.get().ids {
            inserted += self.rebuild_index(local, table, index, &rows)?;
        }
        Ok(inserted)
    }

    fn rebuild_index(
        &self,
        local: &mut Local,
        base: &P::Table,
        index: TableId,
        rows: &[Headed<RecordOf<P>>],
    ) -> Result<u64> {
        let index = self.engine.core().tables.get(index)?;
        let (mut entry_key, mut words) = (KeyBuf::new(), Vec::new());
        let mut entries: Vec<Headed<RecordOf<P>>> = Vec::with_capacity(rows.len());
        for row in rows {
            let row = (base, row.record());
            let entry = make_entry(self.engine, local, row, index, &mut words, &mut entry_key)?;
            // SAFETY: made for the index, and not removed meanwhile.
            entries.extend(entry.map(|entry| unsafe { Headed::new(entry) }));
        }
        sort(&mut entries);
        if let Some(key) = duplicate(&entries) {
            return Err(inconsistent(format!(
                "two rows of {} share the key {key:02x?} of {}",
                base.name, index.name
            )));
        }
        load_index(self.engine, local, index, &entries)
    }
}
