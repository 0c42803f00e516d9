//! The library's use of tables that SQL has made.

use scaledb_catalog::{Catalog, Relation};
use scaledb_engine::TableInfo;
use scaledb_sync::lock::{Mutex, MutexGuard};
use scaledb_types::{Result, SqlError, SqlState};
use std::collections::HashMap;
use std::sync::Arc;

/// Tables of SQL that the library uses: by oid, how many handles there are.
#[derive(Debug, Default)]
pub(crate) struct Pins(pub(crate) Mutex<HashMap<u32, usize>>);

impl Pins {
    /// Whether the library uses a table. It may begin to behind this.
    pub(crate) fn has(&self, oid: u32) -> bool {
        self.0.lock().contains_key(&oid)
    }

    /// Keeps others from beginning to use tables, while the catalog changes.
    ///
    /// # Errors
    /// 55006: the library uses a table that changes.
    pub(crate) fn hold(
        &self,
        before: &Catalog,
        now: &Catalog,
    ) -> Result<MutexGuard<'_, HashMap<u32, usize>>> {
        let pins = self.0.lock();
        match pins.keys().find(|&&oid| !same(before, now, oid)) {
            Some(&oid) => Err(in_use(before.get(oid).map_or("?", Relation::name))),
            None => Ok(pins),
        }
    }
}

/// A table of SQL that the library uses. While it lives, the table's definition stays as it is.
#[derive(Debug)]
pub struct Pin {
    pub(crate) oid: u32,
    pub(crate) pins: Arc<Pins>,
    /// The engine's table, with the names that SQL has for it, its columns and indexes.
    pub info: TableInfo,
    /// Why nothing but SQL may write to it, if that is so.
    pub read_only: Option<String>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pins = self.pins.0.lock();
        if let Some(count) = pins.get_mut(&self.oid) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&self.oid);
            }
        }
    }
}

pub(crate) fn in_use(table: &str) -> SqlError {
    let what =
        format!("cannot change table \"{table}\": the program that the database is embedded in uses it");
    SqlError::new(SqlState::OBJECT_IN_USE, what).hint("Drop its handles of the table first.")
}

/// Whether a relation or an enum type has the same definition in both catalogs.
pub(crate) fn same(before: &Catalog, now: &Catalog, oid: u32) -> bool {
    before.has_same(now, oid)
}
