//! Which tables and indexes there are, by name; and how they came to be, for the next checkpoint.

use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{CatalogEntry, IndexDef, IndexInfo, TableDef, TableInfo};
use std::collections::HashMap;
use std::sync::Arc;

/// The tables of a database, by name. Only definitions: the tables themselves are in [`Tables`](crate::Tables).
#[derive(Default)]
pub(crate) struct Catalog {
    names: HashMap<String, Arc<TableInfo>>,
    entries: Vec<CatalogEntry>,
}

impl Catalog {
    /// Whether a table or an index has a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.values().any(|table| table.name == *name || table.index(name).is_some())
    }

    /// The table called `name`.
    pub(crate) fn table(&self, name: &str) -> Option<Arc<TableInfo>> {
        self.names.get(name).cloned()
    }

    fn table_of(&self, id: TableId) -> Result<&Arc<TableInfo>> {
        let info = self.names.values().find(|info| info.id == id);
        info.ok_or_else(|| Error::NoSuchTable(id.to_string()))
    }

    /// All tables, in the order of their ids.
    pub(crate) fn tables(&self) -> Vec<Arc<TableInfo>> {
        let mut tables: Vec<_> = self.names.values().cloned().collect();
        tables.sort_unstable_by_key(|table| table.id);
        tables
    }

    /// All that a checkpoint says of tables, and the ids of those that are there, without indexes.
    pub(crate) fn for_checkpoint(&self) -> (Vec<u8>, Vec<TableId>) {
        let ids = self.tables().iter().map(|table| table.id).collect();
        (CatalogEntry::all_to_bytes(&self.entries), ids)
    }

    /// A table that is to be created, with the ids from `first` on.
    pub(crate) fn describe_table(&self, first: TableId, def: &TableDef) -> Result<Arc<TableInfo>> {
        TableInfo::new(first, def, |name| Ok(self.has(name))).map(Arc::new)
    }

    /// A table, and an index that it is to have, with an id that is none yet.
    pub(crate) fn describe_index(
        &self,
        table: TableId,
        def: &IndexDef,
    ) -> Result<(Arc<TableInfo>, IndexInfo)> {
        let info = self.table_of(table)?;
        let index = info.new_index(TableId(u32::MAX), def, |name| Ok(self.has(name)))?;
        Ok((info.clone(), index))
    }

    /// Lists a new table.
    pub(crate) fn add(&mut self, info: Arc<TableInfo>, entry: CatalogEntry) {
        self.entries.push(entry);
        self.names.insert(info.name.clone(), info);
    }

    /// Lists a new index of a table.
    pub(crate) fn attach(
        &mut self,
        table: &TableInfo,
        index: IndexInfo,
        entry: CatalogEntry,
    ) -> Arc<TableInfo> {
        let mut info = table.clone();
        info.indexes.push(index);
        let info = Arc::new(info);
        self.add(info.clone(), entry);
        info
    }

    /// Keeps for checkpoints that a table was cleared: only the last time counts.
    pub(crate) fn clear(&mut self, table: TableId, before: u64) {
        self.forget_clear(table);
        self.entries.push(CatalogEntry::ClearTable { id: table, before });
    }

    fn forget_clear(&mut self, table: TableId) {
        self.entries.retain(|entry| !matches!(entry, CatalogEntry::ClearTable { id, .. } if *id == table));
    }

    /// Lists a table and its indexes no more. Checkpoints go on to say how they came to be: ids are counted by that.
    pub(crate) fn remove(&mut self, table: TableId) -> Result<Arc<TableInfo>> {
        let info = self.table_of(table)?.clone();
        self.names.remove(&info.name);
        self.forget_clear(table);
        self.entries.push(CatalogEntry::DropTable { id: table });
        Ok(info)
    }

    /// Lists an index no more.
    pub(crate) fn detach(
        &mut self,
        table: TableId,
        index: TableId,
        entry: CatalogEntry,
    ) -> Result<Arc<TableInfo>> {
        let mut info = TableInfo::clone(self.table_of(table)?);
        info.indexes.retain(|listed| listed.id != index);
        let info = Arc::new(info);
        self.add(info.clone(), entry);
        Ok(info)
    }
}
