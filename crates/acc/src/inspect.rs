//! Cross-checks of a database that nobody else uses: tables against their indexes.

use crate::shared::AccShared;
use crate::table::{AccTable, Points, RecordEntry};
use scaledb_base::{Result, Timestamp};
use scaledb_durability::{Inspected, inconsistent};
use scaledb_index::btree::{Entry, LeafRead, Position};
use scaledb_keys::KeyBuf;
use scaledb_memory::Local;
use scaledb_row::RowRef;
use scaledb_storage::Record;

/// Compares every table with its indexes. `local` is active, and no transaction runs.
pub(crate) fn inspect(shared: &AccShared, local: &Local) -> Result<Inspected> {
    let mut sum = Inspected::default();
    for table in shared.tables.iter().filter(|table| table.index_of.is_none()) {
        let rows = walk(shared, local, table, |_| Ok(()))?;
        sum.tables += 1;
        sum.rows += rows;
        for &index in &table.indexes.get().ids {
            let index = shared.tables.get(index)?;
            let (mut words, mut key) = (Vec::new(), KeyBuf::new());
            let entries = walk(shared, local, index, |entry| {
                entry.copy_locked(&mut words);
                // SAFETY: an entry's row is the address of its base record, which lives as long as the entry.
                let base = unsafe { Record::from_raw(words[0]) };
                base.copy_locked(&mut words);
                let row = RowRef::new(table.schema.layout(), &words);
                index.entry_key(&table.schema, row, base.key(), &mut key);
                let right = *key == *entry.key() && !base.word(0).is_absent();
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

fn differ(table: &AccTable, what: &str) -> scaledb_base::Error {
    inconsistent(format!("table or index {}: {what}", table.name))
}

/// Calls `f` with every live record of a table or index. Returns how many there are.
fn walk(
    shared: &AccShared,
    local: &Local,
    table: &AccTable,
    mut f: impl FnMut(Record) -> Result<()>,
) -> Result<u64> {
    let mut count = 0;
    let mut visit = |raw: u64| -> Result<()> {
        // SAFETY: an index holds it, and nobody removes anything now.
        let record = unsafe { Record::from_raw(raw) };
        let word = record.word(0);
        if word.is_locked() || word.ts() == Timestamp::ZERO && !word.is_absent() {
            return Err(differ(table, "a row that no transaction has committed"));
        }
        if word.is_absent() {
            return Ok(());
        }
        if let Points::Hash(hashed) = &table.points {
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
        let Points::Hash(hashed) = &table.points else { return Ok(0) };
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
