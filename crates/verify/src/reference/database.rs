//! What the lock guards: tables, their indexes, and rows.

use scaledb_base::{Error, Result, TableId, limits};
use scaledb_engine::{Access, IndexInfo, TableInfo, TableOptions, check_key};
use scaledb_keys::KeyBuf;
use scaledb_row::RowRef;
use scaledb_sync::Arc;
use std::collections::BTreeMap;

/// Everything.
#[derive(Default)]
pub(super) struct Database {
    /// Whether a transaction runs.
    pub(super) busy: bool,
    /// Transactions that have begun: the last one's number.
    pub(super) begun: u64,
    pub(super) commits: u64,
    pub(super) rollbacks: u64,
    /// The numbers of workers that are taken: bits.
    pub(super) workers: u128,
    /// The next id of a table or index.
    next: u32,
    tables: BTreeMap<TableId, Arc<TableInfo>>,
    indexes: BTreeMap<TableId, Index>,
    /// All rows that ever were. `rows[n].live` if, and only if, the indexes of its table hold `n`.
    rows: Vec<Row>,
}

/// A primary or secondary index.
pub(super) struct Index {
    /// The table whose rows it holds.
    pub(super) table: TableId,
    /// Whether it may be scanned.
    pub(super) ordered: bool,
    /// The numbers of rows, by their encoded keys.
    pub(super) keys: BTreeMap<Box<[u8]>, usize>,
}

/// A row.
pub(super) struct Row {
    pub(super) table: TableId,
    /// Its primary key.
    pub(super) key: Box<[u8]>,
    pub(super) words: Vec<u64>,
    /// Whether it is there: a deleted row stays in the list.
    pub(super) live: bool,
}

impl Index {
    /// An empty one.
    pub(super) fn new(table: TableId, options: &TableOptions) -> Self {
        Self { table, ordered: options.access != Access::HashOnly, keys: BTreeMap::new() }
    }
}

impl Row {
    /// The key of the row's entry in a secondary index: its columns, and the primary key where they need not be unique.
    pub(super) fn entry(&self, table: &TableInfo, index: &IndexInfo) -> Result<Box<[u8]>> {
        let row = RowRef::new(table.schema.layout(), &self.words);
        let mut key = KeyBuf::new();
        let has_null = index.key.encode(&table.schema, row, &mut key);
        if !index.unique || has_null {
            key.push_encoded(&self.key);
        }
        check_key(&key)?;
        Ok((*key).into())
    }
}

fn missing(id: TableId) -> Error {
    Error::NoSuchTable(id.to_string())
}

/// Definitions.
impl Database {
    /// Whether a table or an index has a name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tables.values().any(|table| table.name == name || table.index(name).is_some())
    }

    /// The first of so many new ids. They are taken when [`Database::add_index`] is called with them.
    pub(super) fn next_id(&self, ids: usize) -> Result<TableId> {
        match self.next as usize + ids > limits::MAX_TABLES {
            true => Err(Error::TooManyTables { limit: limits::MAX_TABLES }),
            false => Ok(TableId(self.next)),
        }
    }

    pub(super) fn add_index(&mut self, id: TableId, index: Index) {
        debug_assert_eq!(id.0, self.next, "ids are given one after the other");
        self.next += 1;
        self.indexes.insert(id, index);
    }

    pub(super) fn remove_index(&mut self, id: TableId) {
        self.indexes.remove(&id);
    }

    /// Removes a table, its indexes and its rows.
    pub(super) fn remove_table(&mut self, id: TableId) -> Result<()> {
        self.tables.remove(&id).ok_or_else(|| missing(id))?;
        self.indexes.retain(|_, index| index.table != id);
        self.rows.iter_mut().filter(|row| row.table == id).for_each(|row| row.live = false);
        Ok(())
    }

    /// A table is new, or has other indexes than before.
    pub(super) fn set_table(&mut self, table: TableInfo) -> Arc<TableInfo> {
        let table = Arc::new(table);
        self.tables.insert(table.id, table.clone());
        table
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Arc<TableInfo>> {
        self.tables.values()
    }

    /// All indexes with their names; that of a primary index is its table's.
    pub(super) fn indexes(&self) -> impl Iterator<Item = (TableId, &str, &Index)> {
        self.indexes.iter().map(|(&id, index)| {
            let table = &self.tables[&index.table];
            let secondary = table.indexes.iter().find(|info| info.id == id);
            (id, secondary.map_or(&*table.name, |info| &*info.name), index)
        })
    }

    pub(super) fn index(&self, id: TableId) -> Result<&Index> {
        self.indexes.get(&id).ok_or_else(|| missing(id))
    }

    pub(super) fn table(&self, id: TableId) -> Result<&Arc<TableInfo>> {
        self.tables.get(&id).ok_or_else(|| missing(id))
    }

    /// A table that is to be written to.
    pub(super) fn table_to_write(&self, id: TableId) -> Result<Arc<TableInfo>> {
        match (self.tables.get(&id), self.indexes.get(&id)) {
            (Some(table), _) => Ok(table.clone()),
            (None, Some(_)) => Err(Error::BadDefinition("rows are written in tables, not in indexes".into())),
            (None, None) => Err(missing(id)),
        }
    }
}

/// Rows.
impl Database {
    pub(super) fn row(&self, number: usize) -> &Row {
        &self.rows[number]
    }

    /// The rows of a table, with their numbers.
    pub(super) fn rows_of(&self, table: TableId) -> impl Iterator<Item = (usize, &Row)> {
        self.rows.iter().enumerate().filter(move |(_, row)| row.live && row.table == table)
    }

    /// The number of the next row.
    pub(super) fn next_row(&self) -> usize {
        self.rows.len()
    }

    /// The row under a key of a table, or of a unique index.
    pub(super) fn find(&self, index: TableId, key: &[u8]) -> Result<Option<usize>> {
        Ok(self.index(index)?.keys.get(key).copied())
    }

    /// Adds a row, which gets the next number.
    pub(super) fn insert(&mut self, table: TableId, key: Box<[u8]>, words: Vec<u64>) -> Result<()> {
        self.rows.push(Row { table, key, words, live: false });
        let inserted = self.link(self.rows.len() - 1);
        if inserted.is_err() {
            self.rows.pop();
        }
        inserted
    }

    /// Gives a row other words; returns those that it had.
    pub(super) fn replace(&mut self, number: usize, words: Vec<u64>) -> Result<Vec<u64>> {
        self.unlink(number);
        let old = std::mem::replace(&mut self.rows[number].words, words);
        if let Err(error) = self.link(number) {
            self.rows[number].words = old;
            self.link(number).expect("the row was there before");
            return Err(error);
        }
        Ok(old)
    }

    /// Enters a row in its indexes, or in none of them.
    pub(super) fn link(&mut self, number: usize) -> Result<()> {
        let entries = self.entries(number)?;
        for (index, key) in &entries {
            if self.indexes[index].keys.contains_key(key) {
                return Err(Error::DuplicateKey { table: *index, key: key.clone() });
            }
        }
        for (id, key) in entries {
            self.indexes.entry(id).and_modify(|index| _ = index.keys.insert(key, number));
        }
        self.rows[number].live = true;
        Ok(())
    }

    /// Takes a row out of its indexes.
    pub(super) fn unlink(&mut self, number: usize) {
        for (id, key) in self.entries(number).expect("its keys were entered") {
            self.indexes.entry(id).and_modify(|index| _ = index.keys.remove(&key));
        }
        self.rows[number].live = false;
    }

    /// The keys of a row in the indexes of its table; the primary one is first.
    fn entries(&self, number: usize) -> Result<Vec<(TableId, Box<[u8]>)>> {
        let row = &self.rows[number];
        let table = &self.tables[&row.table];
        let secondary = table.indexes.iter().map(|index| Ok((index.id, row.entry(table, index)?)));
        std::iter::once(Ok((row.table, row.key.clone()))).chain(secondary).collect()
    }
}
