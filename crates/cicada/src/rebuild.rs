//! After recovery: the range indexes and the secondary indexes, in bulk, several tables at a time.

use crate::record::Record;
use crate::recovery::{Recovery, create_record, wts};
use crate::shared::CicadaShared;
use crate::table::{CicadaTable, RecordEntry};
use crate::version::Version;
use scaledb_base::{Error, Result, TableId};
use scaledb_durability::inconsistent;
use scaledb_index::btree::Entry;
use scaledb_index::indexlet::Inserted;
use scaledb_keys::{Direction, KeyBuf, KeyReader};
use scaledb_memory::Local;
use scaledb_row::RowRef;
use scaledb_sync::atomic::Ordering;

/// A record and the first bytes of its key, which nearly always decide the order.
pub(crate) type Headed = (u64, u64);

/// The key of a record.
pub(crate) fn key<'a>(raw: u64) -> &'a [u8] {
    // SAFETY: recovery, or who builds an index, holds the record, and nobody removes any now.
    unsafe { RecordEntry::key(raw) }
}

/// The row of a record that has one version.
pub(crate) fn row<'a>(record: Record) -> &'a [u64] {
    // SAFETY: nobody changes or removes anything now.
    unsafe { Version::from_raw(record.latest().load(Ordering::SeqCst)).row() }
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
    pub(crate) fn rebuild_table(&self, local: &mut Local, table: &CicadaTable) -> Result<u64> {
        local.enter();
        let result = self.rebuild_active(local, table);
        local.exit();
        local.collect();
        result
    }

    fn rebuild_active(&self, local: &mut Local, table: &CicadaTable) -> Result<u64> {
        let mut rows: Vec<Headed> = Vec::new();
        let mut add = |raw: u64| rows.push((head(key(raw)), raw));
        match (&table.hash, self.staged.get(table.id.index())) {
            (Some(index), _) => index.for_each(local, &mut add),
            (None, Some(Some(staged))) => staged.for_each(&mut add),
            _ => {}
        }
        if table.tree.is_some() {
            sort(&mut rows);
        }
        let mut inserted = load(local, table, &rows)?;
        if table.is_numbered() {
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
        base: &CicadaTable,
        index: TableId,
        rows: &[Headed],
    ) -> Result<u64> {
        let index = self.shared.tables.get(index)?;
        let mut entry_key = KeyBuf::new();
        let mut entries: Vec<Headed> = Vec::with_capacity(rows.len());
        for &(_, raw) in rows {
            // SAFETY: as in `key`.
            let record = unsafe { Record::from_raw(raw) };
            let view = RowRef::new(base.schema.layout(), row(record));
            index.entry_key(&base.schema, view, record.key(), &mut entry_key);
            // an entry is as old as the row that it was made from
            let entry = create_record(self.shared, local, &entry_key, wts(record).raw(), &[raw])?;
            entries.push((head(&entry_key), entry.raw()));
        }
        sort(&mut entries);
        if let Some(twice) = entries.windows(2).find(|pair| key(pair[0].1) == key(pair[1].1)) {
            let key = key(twice[0].1);
            return Err(inconsistent(format!(
                "two rows of {} share the key {key:02x?} of {}",
                base.name, index.name
            )));
        }
        load_index(self.shared, local, index, &entries)
    }
}

/// Fills an empty index. An error leaves a part of the entries in it.
pub(crate) fn load_index(
    shared: &CicadaShared,
    local: &mut Local,
    index: &CicadaTable,
    sorted: &[Headed],
) -> Result<u64> {
    if let Some(hashed) = &index.hash {
        for &(_, raw) in sorted {
            match hashed.insert(local, shared.hasher.hash(key(raw)), raw, |other| key(other) == key(raw))? {
                Inserted::New => {}
                _ => return Err(Error::OutOfMemory { budget: local.domain().budget() }),
            }
        }
    }
    load(local, index, sorted)
}

/// Loads a tree.
fn load(local: &mut Local, table: &CicadaTable, sorted: &[Headed]) -> Result<u64> {
    let Some(tree) = &table.tree else { return Ok(0) };
    // SAFETY: records are retired only after they have left the tree.
    unsafe { tree.bulk_load(local, sorted.iter().map(|entry| entry.1))? };
    Ok(sorted.len() as u64)
}
