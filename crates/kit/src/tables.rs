//! All tables and indexes of a database, by id.

use crate::table::EngineTable;
use scaledb_base::limits::MAX_TABLES;
use scaledb_base::{Error, Result, TableId};
use scaledb_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use scaledb_sync::names;

/// Tables and indexes of one database in this build.
pub const TABLES: usize = if scaledb_sync::MODEL { 64 } else { MAX_TABLES };

/// All tables and indexes of a database, by id. They come one after the other and stay until the end, so that a look-up
/// is one load.
pub struct Tables<T: EngineTable> {
    tables: Box<[AtomicPtr<T>]>,
    count: AtomicU32,
}

impl<T: EngineTable> Tables<T> {
    pub(crate) fn new() -> Self {
        Self {
            tables: (0..TABLES).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(),
            count: AtomicU32::new(0),
        }
    }

    /// One more than the highest id.
    #[inline]
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Acquire) as usize // pairs with the Release in `add`
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The table of an id.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`].
    #[inline]
    pub fn get(&self, id: TableId) -> Result<&T> {
        // pairs with the Release in `add`
        let table = self.tables.get(id.index()).map_or(std::ptr::null_mut(), |t| t.load(Ordering::Acquire));
        // SAFETY: set once by `add`, freed with the database.
        unsafe { table.as_ref() }.ok_or_else(|| Error::NoSuchTable(id.to_string()))
    }

    /// Adds tables with the ids from [`Tables::len`] on. Called under the catalog lock.
    pub(crate) fn add(&self, tables: Vec<T>) {
        for table in tables {
            let id = table.id.index();
            // another table in its place would be one that others use
            assert_eq!(id, self.len(), "ids are given one after the other");
            let table = Box::new(table);
            names::name_with(|| (&raw const *table, size_of::<T>(), format!("table {}", table.name)));
            // pairs with the Acquires in `get` and `len`
            self.tables[id].store(Box::into_raw(table), Ordering::Release);
            self.count.store(id as u32 + 1, Ordering::Release);
        }
    }

    /// All, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|id| self.get(TableId(id as u32)).ok())
    }

    /// Those that are no indexes, and have not been dropped.
    pub(crate) fn bases(&self) -> impl Iterator<Item = &T> {
        self.iter().filter(|table| table.index_of.is_none() && !table.is_dropped())
    }

    /// The first of some new ids. The caller has the catalog.
    ///
    /// # Errors
    /// [`Error::TooManyTables`].
    pub(crate) fn next_id(&self, count: usize) -> Result<TableId> {
        let first = self.len();
        if first + count > TABLES {
            return Err(Error::TooManyTables { limit: TABLES });
        }
        Ok(TableId(first as u32))
    }
}

impl<T: EngineTable> Drop for Tables<T> {
    fn drop(&mut self) {
        for table in &self.tables {
            let table = table.load(Ordering::Relaxed); // nobody else is left
            if !table.is_null() {
                // SAFETY: made by `add`, owned here.
                drop(unsafe { Box::from_raw(table) });
            }
        }
    }
}
