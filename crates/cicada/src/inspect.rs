//! Cross-checks of a database that nobody else uses: tables against their indexes.

use crate::rebuild::row;
use crate::record::Record;
use crate::shared::CicadaShared;
use crate::table::{CicadaTable, RecordEntry};
use crate::version::{Status, Version};
use scaledb_base::Result;
use scaledb_durability::{Inspected, inconsistent};
use scaledb_index::btree::{Entry, LeafRead, Position};
use scaledb_keys::KeyBuf;
use scaledb_memory::Local;
use scaledb_row::RowRef;
use scaledb_sync::atomic::Ordering;

/// Compares every table with its indexes. `local` is active, and no transaction runs.
pub(crate) fn inspect(shared: &CicadaShared, local: &Local) -> Result<Inspected> {
    let mut sum = Inspected::default();
    for table in shared.tables.iter().filter(|table| table.index_of.is_none()) {
        let rows = walk(shared, local, table, |_| Ok(()))?;
        sum.tables += 1;
        sum.rows += rows;
        for &index in &table.indexes.get().ids {
            let index = shared.tables.get(index)?;
            let mut key = KeyBuf::new();
            let entries = walk(shared, local, index, |entry| {
                // SAFETY: an entry's row is the address of its base record, which lives as long as the entry.
                let base = unsafe { Record::from_raw(row(entry)[0]) };
                if !is_live(base) {
                    return Err(differ(index, "an entry without a row"));
                }
                let view = RowRef::new(table.schema.layout(), row(base));
                index.entry_key(&table.schema, view, base.key(), &mut key);
                let right = *key == *entry.key();
                if right { Ok(()) } else { Err(differ(index, "an entry does not fit its row")) }
            })?;
            if entries != rows {
                return Err(differ(index, &format!("{entries} entries for {rows} rows of {}", table.name)));
            }
            sum.indexes += 1;
            sum.entries += entries;
        }
    }
    Ok(sum)
}

/// Whether a record's newest version is a row that counts.
fn is_live(record: Record) -> bool {
    let newest = record.latest().load(Ordering::SeqCst);
    // SAFETY: nobody changes anything now.
    newest > Record::OBSOLETE && unsafe { Version::from_raw(newest) }.status() == Status::Committed
}

fn differ(table: &CicadaTable, what: &str) -> scaledb_base::Error {
    inconsistent(format!("table or index {}: {what}", table.name))
}

/// Calls `f` with every live record of a table or index. Returns how many there are.
fn walk(
    shared: &CicadaShared,
    local: &Local,
    table: &CicadaTable,
    mut f: impl FnMut(Record) -> Result<()>,
) -> Result<u64> {
    let mut count = 0;
    let mut visit = |raw: u64| -> Result<()> {
        // SAFETY: an index holds it, and nobody removes anything now.
        let record = unsafe { Record::from_raw(raw) };
        if !is_live(record) {
            return Err(differ(table, "a row that no transaction has committed"));
        }
        if let Some(hashed) = &table.hash {
            // SAFETY: as above.
            let same = |other: u64| unsafe { RecordEntry::key(other) } == record.key();
            if hashed.get(local, shared.hasher.hash(record.key()), same) != Some(raw) {
                return Err(differ(table, "a key of the range index is not in the hash index"));
            }
        }
        count += 1;
        f(record)
    };
    let Some(tree) = &table.tree else {
        let Some(hashed) = &table.hash else { return Ok(0) };
        let mut raws = Vec::new();
        hashed.for_each(local, |raw| raws.push(raw));
        raws.into_iter().try_for_each(visit)?;
        return Ok(count);
    };
    tree.check(local).map_err(|what| differ(table, &what))?;
    let mut leaf = LeafRead::new();
    tree.open_leaf(local, Position::First, &mut leaf);
    loop {
        if !tree.read_entries(local, &mut leaf) {
            return Err(differ(table, "the range index changes"));
        }
        leaf.values().iter().try_for_each(|&raw| visit(raw))?;
        if !tree.open_next(local, &mut leaf) {
            return Ok(count);
        }
    }
}
