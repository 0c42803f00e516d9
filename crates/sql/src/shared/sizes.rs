//! How much memory tables and indexes take.
//!
//! ```text
//!  table      its records: keys, rows, heads          and its tree, if it has no primary key
//!  index      its tree or hash structure              and its entries, unless it is the primary key: those are the rows
//! ```

use super::Shared;
use crate::adopted::index_of;
use crate::counts::RelationSize;
use scaledb_catalog::{Catalog, TableDesc};
use scaledb_engine::{Engine, TableStats};

/// What leads to records.
pub(super) fn of_tree(stats: &TableStats) -> u64 {
    stats.tree_bytes + stats.hash_bytes + stats.other_bytes
}

/// The rows of a table.
pub(super) fn of_rows(table: &TableDesc, stats: &TableStats) -> u64 {
    stats.record_bytes + if table.primary_key.is_none() { of_tree(stats) } else { 0 }
}

impl<E: Engine> Shared<E> {
    /// The memory of a relation of the catalog; `None` if it has none of this oid.
    pub(crate) fn size(&self, catalog: &Catalog, oid: u32) -> Option<RelationSize> {
        if let Some(table) = catalog.table(oid) {
            return Some(self.size_of_table(table));
        }
        if catalog.get(oid).is_some() {
            return Some(RelationSize::default());
        }
        let is_there = |table: &&std::sync::Arc<TableDesc>| {
            table.primary_key.as_ref().is_some_and(|key| key.oid == oid)
                || table.indexes.iter().any(|index| index.oid == oid)
        };
        let table = catalog.tables().find(is_there)?;
        let info = self.engine.table(&table.engine)?;
        let own = match table.indexes.iter().position(|index| index.oid == oid) {
            None => of_tree(&self.engine.table_stats(info.id)?),
            Some(number) => {
                let stats = self.engine.table_stats(index_of(table, &info, number)?.id)?;
                of_tree(&stats) + stats.record_bytes
            }
        };
        Some(RelationSize { own, indexes: 0 })
    }

    /// The memory of the tables and indexes of a database that this process has opened.
    pub(crate) fn size_of_database(&self, oid: u32) -> u64 {
        let Some(database) = self.opened_databases().into_iter().find(|each| each.oid == oid) else {
            return 0;
        };
        let sizes = database.catalog().tables().map(|table| self.size_of_table(table)).collect::<Vec<_>>();
        sizes.iter().map(|size| size.own + size.indexes).sum()
    }

    fn size_of_table(&self, table: &TableDesc) -> RelationSize {
        let Some(info) = self.engine.table(&table.engine) else { return RelationSize::default() };
        let stats = self.engine.table_stats(info.id).unwrap_or_default();
        let primary = if table.primary_key.is_some() { of_tree(&stats) } else { 0 };
        let secondary = info.indexes.iter().filter_map(|index| self.engine.table_stats(index.id));
        let secondary: u64 = secondary.map(|stats| of_tree(&stats) + stats.record_bytes).sum();
        RelationSize { own: of_rows(table, &stats), indexes: primary + secondary }
    }
}
