//! Cross-checks of a database that nobody else uses: tables against their indexes.

use crate::record::Record;
use crate::records::{RecordOf, Records};
use crate::table::EngineTable;
use scaledb_base::{Error, Result};
use scaledb_durability::{Inspected, inconsistent};
use scaledb_index::btree::{LeafRead, Position};
use scaledb_keys::KeyBuf;
use scaledb_memory::Local;
use scaledb_row::RowRef;

/// Compares every table with its indexes. `local` is active, and no transaction runs.
pub(crate) fn inspect<P: Records>(engine: &P, local: &Local) -> Result<Inspected> {
    let tables = &engine.core().tables;
    let mut sum = Inspected::default();
    for table in tables.bases() {
        let rows = walk(engine, local, table, |_| Ok(()))?;
        sum.tables += 1;
        sum.rows += rows;
        for &index in &table.indexes.get().ids {
            let index = tables.get(index)?;
            let (mut words, mut key) = (Vec::new(), KeyBuf::new());
            let entries = walk(engine, local, index, |entry| {
                if fits(engine, table, index, entry, &mut words, &mut key) {
                    Ok(())
                } else {
                    Err(differ(index, "an entry does not fit its row"))
                }
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

/// Whether an entry names a row that has its key.
fn fits<P: Records>(
    engine: &P,
    table: &P::Table,
    index: &P::Table,
    entry: RecordOf<P>,
    words: &mut Vec<u64>,
    key: &mut KeyBuf,
) -> bool {
    let Some((&[base], _)) = engine.committed_row(index, entry, words) else { return false };
    // SAFETY: an entry's row is the address of its base record, which lives as long as the entry.
    let base = unsafe { RecordOf::<P>::from_raw(base) };
    if engine.has_row(base) != Some(true) {
        return false;
    }
    let Some((row, _)) = engine.committed_row(table, base, words) else { return false };
    // SAFETY: an index holds both records, and nobody removes anything now.
    let (base_key, entry_key) = unsafe { (base.key_for(), entry.key_for()) };
    index.entry_key(&table.schema, RowRef::new(table.schema.layout(), row), base_key, key);
    **key == *entry_key
}

fn differ<T: EngineTable>(table: &T, what: &str) -> Error {
    inconsistent(format!("table or index {}: {what}", table.name))
}

/// Calls `f` with every record of a table or index that has a row. Returns how many there are.
fn walk<P: Records>(
    engine: &P,
    local: &Local,
    table: &P::Table,
    mut f: impl FnMut(RecordOf<P>) -> Result<()>,
) -> Result<u64> {
    let mut count = 0;
    let mut visit = |raw: u64| -> Result<()> {
        // SAFETY: an index holds it, and nobody removes anything now.
        let record = unsafe { RecordOf::<P>::from_raw(raw) };
        match engine.has_row(record) {
            None => return Err(differ(table, "a row that no transaction has committed")),
            Some(false) => return Ok(()),
            Some(true) => {}
        }
        if let Some(hashed) = table.hash() {
            // SAFETY: as above.
            let key = |raw: u64| unsafe { RecordOf::<P>::from_raw(raw).key_for() };
            let hash = engine.core().hasher.hash(key(raw));
            if hashed.get(local, hash, |other| key(other) == key(raw)) != Some(raw) {
                return Err(differ(table, "a key of the range index is not in the hash index"));
            }
        }
        count += 1;
        f(record)
    };
    let Some(tree) = table.ordered() else {
        let Some(hashed) = table.hash() else { return Ok(0) };
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
