//! What every engine refuses, whatever it keeps: definitions that make no sense, and rows and keys that do not fit one.

use crate::def::{IndexDef, IndexInfo, TableDef, TableInfo};
use scaledb_base::limits::{MAX_INDEXES, MAX_KEY_BYTES, MAX_ROW_BYTES};
use scaledb_base::{Error, Result, TableId};
use scaledb_row::{ColumnSet, RowRef, Schema};

impl TableInfo {
    /// The table of a definition. It gets the id `first`, and its indexes those behind it. `is_taken` says whether
    /// another table or index of the database has a name.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::BadDefinition`]; those of `is_taken`.
    pub fn new(
        first: TableId,
        def: &TableDef,
        mut is_taken: impl FnMut(&str) -> Result<bool>,
    ) -> Result<Self> {
        if is_taken(&def.name)? {
            return Err(Error::TableExists(def.name.clone()));
        }
        let (name, schema) = (def.name.clone(), def.schema.clone());
        let mut table = Self { id: first, name, schema, indexes: Vec::new() };
        for (id, index) in (first.0 + 1..).zip(&def.indexes) {
            let index = table.new_index(TableId(id), index, &mut is_taken)?;
            table.indexes.push(index);
        }
        Ok(table)
    }

    /// The index of a definition, as one more of this table.
    ///
    /// # Errors
    /// As [`TableInfo::new`].
    pub fn new_index(
        &self,
        id: TableId,
        def: &IndexDef,
        is_taken: impl FnOnce(&str) -> Result<bool>,
    ) -> Result<IndexInfo> {
        if self.indexes.len() >= MAX_INDEXES {
            return Err(Error::BadDefinition(format!("a table has at most {MAX_INDEXES} indexes")));
        }
        if self.name == def.name || self.index(&def.name).is_some() || is_taken(&def.name)? {
            return Err(Error::TableExists(def.name.clone()));
        }
        if def.key.is_empty() {
            return Err(Error::BadDefinition(format!("index {} has no columns", def.name)));
        }
        let key = self.schema.key(&def.key)?;
        Ok(IndexInfo { id, name: def.name.clone(), key, unique: def.unique })
    }
}

/// Whether the words are a row of a table, which may be inserted.
///
/// # Errors
/// [`Error::RowTooLarge`], [`Error::WrongRow`].
#[inline]
pub fn check_row(table: TableId, schema: &Schema, words: &[u64]) -> Result<()> {
    check_size(words)?;
    if schema.layout().fits(words) { Ok(()) } else { Err(Error::WrongRow(table)) }
}

/// Whether an update may leave the row with the primary key `key` like this, after it has set the columns `dirty`. The
/// others need not be loaded.
///
/// # Errors
/// [`Error::KeyUpdate`], [`Error::RowTooLarge`].
#[inline]
pub fn check_update(schema: &Schema, key: &[u8], dirty: ColumnSet, words: &[u64]) -> Result<()> {
    if schema.primary_key().columns().overlaps(dirty) {
        check_key_columns(schema, key, dirty, words)?;
    }
    check_size(words)
}

/// The values decide: a key column of variable length counts as set when another one has moved it, and one beyond the
/// first 63 when any of those was set.
#[cold]
fn check_key_columns(schema: &Schema, key: &[u8], dirty: ColumnSet, words: &[u64]) -> Result<()> {
    match schema.primary_key().changed(schema, key, dirty, RowRef::new(schema.layout(), words)) {
        Some(column) => Err(Error::KeyUpdate(schema.columns()[column].name.clone())),
        None => Ok(()),
    }
}

#[inline]
fn check_size(words: &[u64]) -> Result<()> {
    let got = size_of_val(words);
    if got > MAX_ROW_BYTES { Err(Error::RowTooLarge { got, limit: MAX_ROW_BYTES }) } else { Ok(()) }
}

/// Whether a key may be so long.
///
/// # Errors
/// [`Error::KeyTooLarge`].
#[inline]
pub fn check_key(key: &[u8]) -> Result<()> {
    let got = key.len();
    if got > MAX_KEY_BYTES { Err(Error::KeyTooLarge { got, limit: MAX_KEY_BYTES }) } else { Ok(()) }
}
