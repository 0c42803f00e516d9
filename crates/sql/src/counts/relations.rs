//! Tables and indexes, with what was done with them and what the engine counts.

use super::{Used, sizes};
use crate::database::Shared;
use scaledb_catalog::Catalog;
use scaledb_engine::{Engine, TableStats};
use std::collections::HashMap;

/// A table, with what was done with it since the database was opened.
#[derive(Clone, Debug, Default)]
pub struct TableNumbers {
    /// Its oid.
    pub oid: u32,
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
    /// Conflicts at rows and keys of it, its indexes included, whoever has heard of them.
    pub conflicts: u64,
    /// Bytes of the rows, about.
    pub bytes: u64,
    /// What the engine counts for the rows.
    pub engine: TableStats,
    /// Its indexes; the primary key first, if there is one.
    pub indexes: Vec<IndexNumbers>,
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

impl<E: Engine> Shared<E> {
    /// The tables of a catalog with what was done with them.
    pub(crate) fn table_numbers(&self, catalog: &Catalog) -> Vec<TableNumbers> {
        let mut stats: HashMap<_, TableStats> =
            self.engine.stats().tables.into_iter().filter_map(|stats| Some((stats.id?, stats))).collect();
        let (used, conflicts) = (self.collected.relations(), self.collected.conflicts());
        let used = |oid: u32| used.get(&oid).copied().unwrap_or_default();
        let conflicts = |oid: u32| conflicts.get(&oid).copied().unwrap_or_default();
        let tables = catalog.tables().map(|table| {
            let info = self.engine.table(&table.engine);
            let engine = info.as_ref().and_then(|info| stats.get(&info.id).cloned()).unwrap_or_default();
            let primary = table.primary_key.iter().map(|key| IndexNumbers {
                oid: key.oid,
                name: key.name.clone(),
                primary: true,
                scans: used(key.oid).scans,
                conflicts: 0,
                bytes: sizes::of_tree(&engine),
                engine: engine.clone(),
            });
            let mut indexes: Vec<IndexNumbers> = primary.collect();
            for (number, index) in table.indexes.iter().enumerate() {
                let id = info.as_ref().and_then(|info| info.indexes.get(number)).map(|index| index.id);
                let engine = id.and_then(|id| stats.remove(&id)).unwrap_or_default();
                indexes.push(IndexNumbers {
                    oid: index.oid,
                    name: index.name.clone(),
                    primary: false,
                    scans: used(index.oid).scans,
                    conflicts: conflicts(index.oid),
                    bytes: sizes::of_tree(&engine) + engine.record_bytes,
                    engine,
                });
            }
            let Used { scans, inserted, updated, deleted } = used(table.oid);
            TableNumbers {
                oid: table.oid,
                schema: table.schema.clone(),
                name: table.name.clone(),
                rows: engine.entries,
                inserted,
                updated,
                deleted,
                whole_scans: scans,
                conflicts: conflicts(table.oid) + indexes.iter().map(|index| index.conflicts).sum::<u64>(),
                bytes: sizes::of_rows(table, &engine),
                engine,
                indexes,
            }
        });
        tables.collect()
    }
}
