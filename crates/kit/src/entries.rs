//! Rows and the entries of their indexes, as a transaction writes them: an engine writes single records, and says so in
//! [`RecordWriter`]. An entry is a record of the index; its key is made of the row, its content leads to the row.

use crate::operations::{Operations, RowLocationOf, Transactions};
use crate::txn::Transaction;
use crate::write_set::WriteMark;
use scaledb_base::{Conflict, ConflictKind, Result};
use scaledb_engine::RowId;
use scaledb_keys::KeyBuf;
use scaledb_row::{ColumnSet, RowBuf, RowRef};

/// How a worker of an engine adds writes of single records to the write_set.
pub trait RecordWriter<P: Transactions>: Operations<P> {
    /// The words of an entry before its commit, which writes the address of the row's record there.
    const ENTRY: &'static [u64];

    /// Adds an insert, after looking whether the key is taken. `base` is the number of the row's write, for an entry.
    /// Returns the number of the write.
    ///
    /// # Errors
    /// As [`Worker::insert`](scaledb_engine::Worker::insert).
    fn insert_record(
        &mut self,
        table: &P::Table,
        key: &[u8],
        words: &[u64],
        base: Option<usize>,
    ) -> Result<usize>;

    /// Adds a delete. False if there is no row.
    ///
    /// # Errors
    /// As [`Worker::delete`](scaledb_engine::Worker::delete).
    fn delete_record(&mut self, table: &P::Table, place: RowLocationOf<P>) -> Result<bool>;

    /// The key of the next row of a table without a primary key: unique, and ascending per worker.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory).
    fn next_row_number(&mut self, table: &P::Table) -> Result<u64>;

    /// Takes back the writes of a statement that failed. What they have found, the transaction has read: the error may
    /// follow from it.
    fn undo_statement(&mut self, mark: WriteMark);
}

/// Inserts a row and its entries. Changes nothing if it fails.
///
/// # Errors
/// As [`Worker::insert`](scaledb_engine::Worker::insert).
#[inline]
pub fn insert_row<P: Transactions, W: RecordWriter<P>>(
    shared: &P,
    worker: &mut W,
    table: &P::Table,
    row: &RowBuf,
) -> Result<RowId> {
    let words = row.words();
    table.check_row(words)?;
    let mut key = KeyBuf::new();
    if table.is_numbered() {
        key = key.u64(worker.next_row_number(table)?);
    } else {
        table.schema.primary_key().encode(&table.schema, row.view(&table.schema), &mut key);
    }
    let mark = worker.txn().writes().mark();
    let result = insert_with_entries(shared, worker, table, &key, words);
    if result.is_err() {
        worker.undo_statement(mark);
    }
    result
}

#[inline]
fn insert_with_entries<P: Transactions, W: RecordWriter<P>>(
    shared: &P,
    worker: &mut W,
    table: &P::Table,
    key: &[u8],
    words: &[u64],
) -> Result<RowId> {
    let number = worker.insert_record(table, key, words, None)?;
    let mut entry_key = KeyBuf::new();
    for &index in &table.indexes.get().ids {
        let index = shared.core().tables.get(index)?;
        let view = RowRef::new(table.schema.layout(), words);
        index.entry_key(&table.schema, view, key, &mut entry_key);
        worker.insert_record(index, &entry_key, W::ENTRY, Some(number))?;
    }
    let txn = worker.txn();
    Ok(txn.row_id(table.id, txn.writes().location(number)))
}

/// Moves the entries of a row whose columns `dirty` were set by write `number`. `keys` sets its arguments to the keys
/// that the row had in an index before, and has now.
///
/// # Errors
/// As [`Worker::update`](scaledb_engine::Worker::update).
#[inline]
pub fn replace_entries<P: Transactions, W: RecordWriter<P>>(
    shared: &P,
    worker: &mut W,
    table: &P::Table,
    (number, dirty): (usize, ColumnSet),
    mut keys: impl FnMut(&mut W, &P::Table, &mut KeyBuf, &mut KeyBuf),
) -> Result<()> {
    let (mut old_key, mut new_key) = (KeyBuf::new(), KeyBuf::new());
    for &index in &table.indexes.get().ids {
        let index = shared.core().tables.get(index)?;
        let of = index.index_of.as_ref().expect("an index");
        if !of.key.columns().overlaps(dirty) {
            continue;
        }
        keys(worker, index, &mut old_key, &mut new_key);
        if old_key != new_key {
            delete_entry(worker, index, &old_key)?;
            worker.insert_record(index, &new_key, W::ENTRY, Some(number))?;
        }
    }
    Ok(())
}

/// Deletes a row and its entries; false if there is no row. `key` sets its argument to the key that the row has in an
/// index.
///
/// # Errors
/// As [`Worker::delete`](scaledb_engine::Worker::delete); then some of the deletes stand in the write_set.
#[inline]
pub fn delete_with_entries<P: Transactions, W: RecordWriter<P>>(
    shared: &P,
    worker: &mut W,
    table: &P::Table,
    place: RowLocationOf<P>,
    mut key: impl FnMut(&mut W, &P::Table, &mut KeyBuf),
) -> Result<bool> {
    if !worker.delete_record(table, place)? {
        return Ok(false);
    }
    let mut entry_key = KeyBuf::new();
    for &index in &table.indexes.get().ids {
        let index = shared.core().tables.get(index)?;
        key(worker, index, &mut entry_key);
        delete_entry(worker, index, &entry_key)?;
    }
    Ok(true)
}

/// Deletes the entry of a row that the transaction deletes or changes.
fn delete_entry<P: Transactions, W: RecordWriter<P>>(
    worker: &mut W,
    index: &P::Table,
    key: &[u8],
) -> Result<()> {
    let deleted = match worker.locate(index, key) {
        Some(place) => worker.delete_record(index, place)?,
        None => false,
    };
    if deleted {
        return Ok(());
    }
    // the row that was read has this entry; if the entry is gone, the two reads are of different states
    Err(Conflict { kind: ConflictKind::ReadChanged, table: index.id, key: key.into(), with: None }.into())
}
