//! Tables and indexes, with what was done with them and what the engine counts.

use super::{Shared, sizes};
use crate::adopted::index_of;
use crate::counts::{IndexNumbers, TableNumbers, Used};
use scaledb_catalog::Catalog;
use scaledb_engine::{Engine, TableStats};
use std::collections::HashMap;

impl<E: Engine> Shared<E> {
    /// The tables of a catalog with what was done with them.
    pub(crate) fn table_numbers(&self, catalog: &Catalog) -> Vec<TableNumbers> {
        let mut stats: HashMap<_, TableStats> =
            self.engine.stats().tables.into_iter().filter_map(|stats| Some((stats.id?, stats))).collect();
        let (used, conflicts) = (self.collected.relations(), self.collected.conflicts());
        let used = |oid: u32| used.get(&oid).copied().unwrap_or_default();
        let conflicts = |oid: u32| conflicts.get(&oid).copied().unwrap_or_default();
        let own = catalog.database(catalog.own_database()).map(|desc| desc.name.clone());
        let database = own.filter(|name| !name.is_empty());
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
                let id = info.as_ref().and_then(|info| index_of(table, info, number)).map(|index| index.id);
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
                database: database.clone(),
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
