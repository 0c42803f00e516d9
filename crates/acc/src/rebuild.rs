//! After recovery: the range indexes and the secondary indexes, in bulk, several tables at a time.

use crate::recovery::Recovery;
use crate::shared::AccShared;
use crate::table::{AccTable, Points, RecordEntry};
use scaledb_base::{Error, Result, TableId};
use scaledb_durability::inconsistent;
use scaledb_index::btree::Entry;
use scaledb_index::indexlet::Inserted as Put;
use scaledb_keys::{Direction, KeyBuf, KeyReader};
use scaledb_memory::Local;
use scaledb_row::RowRef;
use scaledb_storage::{Record, Word};
use scaledb_sync::atomic::Ordering;

/// A record and the first bytes of its key, which nearly always decide the order.
pub(crate) type Headed = (u64, u64);

/// The key of a record.
pub(crate) fn key<'a>(raw: u64) -> &'a [u8] {
    // SAFETY: recovery, or who builds an index, holds the record, and nobody removes any now.
    unsafe { RecordEntry::key(raw) }
}

pub(crate) fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

pub(crate) fn sort(records: &mut [Headed]) {
    records.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))));
}

impl Recovery<'_> {
    /// Builds what is missing of a table and of its indexes. Returns the entries that were inserted in trees.
    pub(crate) fn rebuild_table(&self, local: &mut Local, table: &AccTable) -> Result<u64> {
        local.enter();
        let result = self.rebuild_active(local, table);
        local.exit();
        local.collect();
        result
    }

    fn rebuild_active(&self, local: &mut Local, table: &AccTable) -> Result<u64> {
        let mut rows: Vec<Headed> = Vec::new();
        let mut add = |raw: u64| rows.push((head(key(raw)), raw));
        match (&table.points, self.staged.get(table.id.index())) {
            (Points::Hash(hashed), _) => hashed.for_each(local, &mut add),
            (_, Some(Some(staged))) => staged.for_each(&mut add),
            _ => {}
        }
        if table.tree.is_some() {
            sort(&mut rows);
        }
        let mut inserted = load(local, table, &rows)?;
        if table.schema.primary_key().parts().is_empty() {
            let mut last = rows.iter().map(|row| KeyReader::new(key(row.1)).u64(Direction::Ascending));
            let last = last.try_fold(0, |last, number| number.map(|n| last.max(n + 1)));
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
        base: &AccTable,
        index: TableId,
        rows: &[Headed],
    ) -> Result<u64> {
        let index = self.shared.tables.get(index)?;
        let (mut entry_key, mut words) = (KeyBuf::new(), Vec::new());
        let mut entries: Vec<Headed> = Vec::with_capacity(rows.len());
        for &(_, raw) in rows {
            // SAFETY: as in `key`.
            let record = unsafe { Record::from_raw(raw) };
            record.copy_locked(&mut words);
            index.entry_key(
                &base.schema,
                RowRef::new(base.schema.layout(), &words),
                record.key(),
                &mut entry_key,
            );
            let entry = Record::create(local, 1, &entry_key, &[raw])?;
            // an entry is as old as the state of the row that it was made from
            entry.set_word(0, Word::live(record.word(0).ts()));
            entries.push((head(&entry_key), entry.raw()));
        }
        sort(&mut entries);
        if let Some(twice) = entries.windows(2).find(|pair| key(pair[0].1) == key(pair[1].1)) {
            let rows =
                twice.iter().map(|entry| format!("{:02x?}", key(entry.1))).collect::<Vec<_>>().join(" and ");
            return Err(inconsistent(format!(
                "two rows of {} share a key of {}: {rows}",
                base.name, index.name
            )));
        }
        load_index(self.shared, local, index, &entries)
    }
}

/// Fills an empty index. An error leaves a part of the entries in it.
pub(crate) fn load_index(
    shared: &AccShared,
    local: &mut Local,
    index: &AccTable,
    sorted: &[Headed],
) -> Result<u64> {
    if let Points::Hash(hashed) = &index.points {
        for &(_, raw) in sorted {
            match hashed.insert(local, shared.hasher.hash(key(raw)), raw, |other| key(other) == key(raw))? {
                Put::New => {}
                _ => return Err(Error::OutOfMemory { budget: local.domain().budget() }),
            }
        }
    }
    load(local, index, sorted)
}

/// Loads a tree.
fn load(local: &mut Local, table: &AccTable, sorted: &[Headed]) -> Result<u64> {
    let Some(tree) = &table.tree else { return Ok(0) };
    // SAFETY: records are retired only after they have left the tree.
    unsafe { tree.bulk_load(local, sorted.iter().map(|entry| entry.1))? };
    Ok(sorted.len() as u64)
}
