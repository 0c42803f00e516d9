//! What a transaction writes: rows, and the entries of their indexes.

use super::ClusterWorker;
use crate::engine::definitions::{ClusterTable, Space};
use crate::rows::{Key, Value};
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{Worker, check_key, check_update};
use scaledb_keys::KeyBuf;
use scaledb_row::{Projection, RowMut, RowRef};
use scaledb_sync::Arc;

/// What a row has in an index.
pub(super) struct IndexEntry {
    /// Which of the table's indexes.
    pub(super) number: usize,
    pub(super) key: Key,
    /// Whether it must be the only one of its key.
    pub(super) alone: bool,
}

impl ClusterWorker {
    /// Writes a key, at the commit.
    pub(in crate::engine) fn put(&mut self, key: Key, value: Option<Value>) -> Result<()> {
        let running = self.writing()?;
        // what locks and validation need has the same limit
        if running.own.len() >= scaledb_scar::MAX_OPERATIONS {
            return Err(Error::TooManyWrites { limit: scaledb_scar::MAX_OPERATIONS });
        }
        running.own.put(key, value);
        Ok(())
    }

    /// Removes the first rows of a space, and says how many.
    pub(in crate::engine) fn sweep(&mut self, space: &Space, limit: usize) -> Result<usize> {
        let rows = self.collect(space, &[], limit)?;
        let count = rows.len();
        rows.into_iter().try_for_each(|(key, _)| self.put(key, None))?;
        Ok(count)
    }

    /// A row's entries, in the order of the indexes that the transaction has.
    pub(super) fn entries(
        &self,
        table: &ClusterTable,
        primary: &[u8],
        words: &[u64],
    ) -> Result<Vec<IndexEntry>> {
        let has = |number: &usize| {
            let by = table.unsettled[*number].as_ref();
            by.is_none_or(|by| self.passes.as_ref().is_some_and(|passes| passes.is_of(by)))
        };
        let numbers = (0..table.indexes.len()).filter(has);
        numbers.map(|number| self.entry(table, number, primary, words)).collect()
    }

    /// A row's entry in one index.
    fn entry(
        &self,
        table: &ClusterTable,
        number: usize,
        primary: &[u8],
        words: &[u64],
    ) -> Result<IndexEntry> {
        let (info, space) = (&table.info.indexes[number], &table.indexes[number]);
        let row = RowRef::new(table.info.schema.layout(), words);
        let mut key = KeyBuf::new();
        let has_null = info.key.encode(&table.info.schema, row, &mut key);
        let alone = info.unique && !has_null;
        if !alone {
            key.push_encoded(primary);
        }
        check_key(&key)?;
        Ok(IndexEntry { number, key: space.key(&key, self.shared.partitions), alone })
    }

    /// Refuses a key that is taken, if what was read so far is of one state.
    pub(super) fn refuse_taken(&mut self, table: TableId, key: &Key) -> Result<()> {
        if self.read(key)?.is_none() {
            return Ok(());
        }
        // whoever tells a client of it has it confirmed: ON CONFLICT does not
        self.check_holds()?;
        Err(Error::DuplicateKey { table, key: (*key.bytes).into() })
    }

    pub(super) fn encode(table: &ClusterTable, words: &[u64]) -> Value {
        let mut bytes = Vec::new();
        table.info.schema.layout().encode_row(words, &mut bytes);
        Value(bytes.into())
    }

    /// Changes the row under a key of the table, where the transaction has read a value.
    pub(super) fn change<R>(
        &mut self,
        table: &Arc<ClusterTable>,
        key: &Key,
        value: Option<Value>,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let Some(value) = value else { return Ok(None) };
        self.decode(table, &key.bytes, &value)?;
        let schema = &table.info.schema;
        let old = self.words.clone();
        let mut new = self.words.clone();
        let mut edit = RowMut::new(schema.layout(), &mut new, 0, cols.columns());
        let result = f(&mut edit)?;
        let dirty = edit.dirty();
        check_update(schema, &key.bytes, dirty, &new)?;
        let value = Self::encode(table, &new);
        let entries =
            self.entries(table, &key.bytes, &old)?.into_iter().zip(self.entries(table, &key.bytes, &new)?);
        let moved: Vec<_> = entries.filter(|(old, new)| old.key != new.key).collect();
        for (_, IndexEntry { number, key, alone }) in &moved {
            if *alone {
                self.refuse_taken(table.indexes[*number].id, key)?;
            }
        }
        self.put(key.clone(), Some(value))?;
        for (old, new) in moved {
            self.put(old.key, None)?;
            self.put(new.key, Some(Value(key.bytes.clone())))?;
        }
        Ok(Some(result))
    }

    /// Removes the row under a key of the table, where the transaction has read a value.
    pub(super) fn remove(
        &mut self,
        table: &Arc<ClusterTable>,
        key: &Key,
        value: Option<Value>,
    ) -> Result<bool> {
        let Some(value) = value else { return Ok(false) };
        self.decode(table, &key.bytes, &value)?;
        let words = std::mem::take(&mut self.words);
        let entries = self.entries(table, &key.bytes, &words);
        self.words = words;
        for entry in entries? {
            self.put(entry.key, None)?;
        }
        self.put(key.clone(), None)?;
        Ok(true)
    }

    /// Writes the entries of a new index for some rows of its table, whose keys are not before `start`. The key to go
    /// on with, if there may be more.
    ///
    /// # Errors
    /// Two rows that would share a key; those of reads and writes.
    pub(in crate::engine) fn fill(
        &mut self,
        table: &Arc<ClusterTable>,
        number: usize,
        start: &[u8],
        limit: usize,
    ) -> Result<Option<Vec<u8>>> {
        let rows = self.collect(&table.space, start, limit)?;
        let next = rows.last().filter(|_| rows.len() == limit).map(|(key, _)| [&*key.bytes, &[0]].concat());
        let mut entries = Vec::with_capacity(rows.len());
        for (key, value) in rows {
            self.decode(table, &key.bytes, &value)?;
            let words = std::mem::take(&mut self.words);
            let entry = self.entry(table, number, &key.bytes, &words);
            self.words = words;
            entries.push((entry?, Value(key.bytes)));
        }
        let alone = entries.iter().filter(|(entry, _)| entry.alone).map(|(entry, _)| entry.key.clone());
        let alone = alone.collect();
        self.fetch(alone).map_err(|ended| self.ended(ended, table.indexes[number].id, start))?;
        for (IndexEntry { key: entry, alone, .. }, row) in entries {
            if alone && self.read(&entry)?.is_some_and(|other| other != row) {
                self.check_so_far()?;
                return Err(Error::DuplicateKey { table: table.info.id, key: (*entry.bytes).into() });
            }
            self.put(entry, Some(row))?;
        }
        Ok(next)
    }
}
