//! Tables and indexes, with what was done with them and what the engine counts.

use scaledb_engine::{TableStats, WriteToScan};

/// A table, with what was done with it since the database was opened.
#[derive(Clone, Debug, Default)]
pub struct TableNumbers {
    /// Its oid.
    pub oid: u32,
    /// Its database, unless that is the first one.
    pub database: Option<String>,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Rows, about: some that are deleted may be counted, until they are cleaned up.
    pub rows: u64,
    /// Rows inserted, those of transactions that were rolled back included.
    pub inserted: u64,
    /// Rows updated, likewise.
    pub updated: u64,
    /// Rows deleted, likewise.
    pub deleted: u64,
    /// Scans of the whole table.
    pub whole_scans: u64,
    /// Conflicts at its rows and keys, and at those of its indexes, told to a client or not.
    pub conflicts: u64,
    /// Bytes of the rows, about.
    pub bytes: u64,
    /// What the engine counts for the rows.
    pub engine: TableStats,
    /// Its indexes; the primary key first, if there is one.
    pub indexes: Vec<IndexNumbers>,
}

impl TableNumbers {
    /// How long before scans found them its rows had been written, by whichever index they were found.
    pub(crate) fn write_to_scan(&self) -> WriteToScan {
        let mut found = self.engine.write_to_scan;
        // the rows are in the primary key's index
        let secondary = self.indexes.iter().filter(|index| !index.primary);
        secondary.for_each(|index| found += index.engine.write_to_scan);
        found
    }
}

/// An index, with what was done with it.
#[derive(Clone, Debug, Default)]
pub struct IndexNumbers {
    /// Its oid.
    pub oid: u32,
    /// Its name.
    pub name: String,
    /// Whether it is the primary key's: the rows are in it.
    pub primary: bool,
    /// Scans and lookups.
    pub scans: u64,
    /// Conflicts at keys of it.
    pub conflicts: u64,
    /// Bytes of it; rows are not among them.
    pub bytes: u64,
    /// What the engine counts for it.
    pub engine: TableStats,
}

/// The memory of a table or an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RelationSize {
    /// Of the rows, or of the index.
    pub(crate) own: u64,
    /// Of a table's indexes.
    pub(crate) indexes: u64,
}
