//! A table, or a secondary index: records under one id, and the structures that find them.
//!
//! A secondary index is a table of *entries*: its keys are the indexed columns (and the primary key, unless
//! the index is unique), and its rows hold the address of the base record. Entries are versioned, read and
//! validated exactly as rows are, so that a secondary index is a multi-version index (section 3.6). What is
//! single-version is only the way from a key to its record: an index holds each key that has a record,
//! whatever its versions, and guards (`guard.rs`) watch the keys that have none.

use crate::guard::Guards;
use crate::indexes::IndexSet;
use crate::record::Record;
use scaledb_base::limits::MAX_TABLES;
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{Access, TableInfo, TableOptions};
use scaledb_index::btree::{BTree, Entry};
use scaledb_index::hash::HashIndex;
use scaledb_keys::KeyBuf;
use scaledb_memory::Local;
use scaledb_row::{Column, ColumnSet, ColumnType, KeySpec, RowRef, Schema};
use scaledb_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use scaledb_sync::{Arc, CachePadded, Published};

/// Tables of one database in this build.
pub(crate) const TABLES: usize = if scaledb_sync::MODEL { 64 } else { MAX_TABLES };

/// The entries of the trees: addresses of records, which hold their keys.
pub(crate) struct RecordEntry;

// SAFETY: a record's key never changes.
unsafe impl Entry for RecordEntry {
    #[inline]
    unsafe fn key<'a>(raw: u64) -> &'a [u8] {
        // SAFETY: the caller's promise: `raw` is a record that a tree holds or held in this activity.
        unsafe { Record::from_raw(raw).key_for() }
    }
}

pub(crate) type Tree = BTree<RecordEntry>;

/// The part of an index that is special: what it indexes.
pub(crate) struct IndexOf {
    pub(crate) base: TableId,
    pub(crate) key: KeySpec,
    pub(crate) unique: bool,
}

pub(crate) struct CicadaTable {
    pub(crate) id: TableId,
    pub(crate) name: String,
    pub(crate) index_of: Option<IndexOf>,
    /// The base table's indexes.
    pub(crate) indexes: Published<IndexSet>,
    /// The last change of them all that changed these; see `change.rs`.
    pub(crate) changed: AtomicU64,
    /// An index is there for raw timestamps from `since` on, and before `until`.
    pub(crate) since: AtomicU64,
    pub(crate) until: AtomicU64,
    /// The layout of this table's own rows.
    pub(crate) schema: Schema,
    /// All keys, for point reads; without it the tree serves them.
    pub(crate) hash: Option<Box<HashIndex>>,
    /// All keys, in order.
    pub(crate) tree: Option<Tree>,
    /// Read timestamps of keys without a record, by hash.
    pub(crate) absent: Guards,
    /// Read timestamps of scanned leaves, by part.
    pub(crate) leaves: Guards,
    /// Rows of a table without a primary key are numbered in blocks taken from here.
    pub(crate) row_numbers: CachePadded<AtomicU64>,
    /// Records that clean-up removed.
    pub(crate) cleaned: CachePadded<AtomicU64>,
}

/// What a table is made from.
pub(crate) struct Parts<'a> {
    pub(crate) id: TableId,
    pub(crate) info: std::sync::Arc<TableInfo>,
    pub(crate) name: String,
    pub(crate) index_of: Option<IndexOf>,
    pub(crate) indexes: Vec<TableId>,
    pub(crate) options: &'a TableOptions,
    pub(crate) guards: usize,
}

/// The schema of index entries: the address of the base record.
fn entry_schema() -> Schema {
    Schema::new(vec![Column::new("record", ColumnType::Int8)], &[]).expect("a constant schema")
}

impl CicadaTable {
    pub(crate) fn new(
        local: &mut Local,
        generation: &Arc<CachePadded<AtomicU64>>,
        parts: Parts<'_>,
    ) -> Result<Self> {
        let is_index = parts.index_of.is_some();
        let access = parts.options.access;
        let hash = match access {
            Access::Hashed | Access::HashOnly => Some(Box::new(HashIndex::new(local)?)),
            Access::Ordered => None,
        };
        let tree = match access {
            Access::HashOnly => None,
            _ => Some(Tree::new(local, generation.clone())?),
        };
        let indexes = if is_index { &[][..] } else { &parts.info.indexes };
        let columns = indexes.iter().fold(ColumnSet::EMPTY, |set, i| set.union(i.key.columns()));
        Ok(Self {
            id: parts.id,
            name: parts.name,
            index_of: parts.index_of,
            indexes: Published::new(IndexSet { ids: parts.indexes, columns, since: 0, closed: false }),
            changed: AtomicU64::new(0),
            since: AtomicU64::new(0),
            until: AtomicU64::new(u64::MAX),
            schema: if is_index { entry_schema() } else { parts.info.schema.clone() },
            hash,
            absent: Guards::new(parts.guards),
            leaves: Guards::new(if tree.is_some() { parts.guards } else { 2 }),
            tree,
            row_numbers: CachePadded(AtomicU64::new(0)),
            cleaned: CachePadded(AtomicU64::new(0)),
        })
    }

    /// The range index.
    ///
    /// # Errors
    /// [`Error::NotOrdered`].
    #[inline]
    pub(crate) fn tree(&self) -> Result<&Tree> {
        self.tree.as_ref().ok_or(Error::NotOrdered(self.id))
    }

    /// The record of a key, live or not.
    #[inline]
    pub(crate) fn find(&self, local: &Local, hash: u64, key: &[u8]) -> Option<Record> {
        let raw = match (&self.hash, &self.tree) {
            // SAFETY: the index holds records.
            (Some(index), _) => index.get(local, hash, |raw| unsafe { RecordEntry::key(raw) } == key),
            (None, Some(tree)) => tree.get(local, key),
            (None, None) => None,
        };
        // SAFETY: as above.
        raw.map(|raw| unsafe { Record::from_raw(raw) })
    }

    /// Asks for the memory that a look-up touches first.
    #[inline]
    pub(crate) fn prefetch(&self, local: &Local, hash: u64, key: &[u8]) {
        match (&self.hash, &self.tree) {
            (Some(index), _) => index.prefetch(local, hash),
            (None, Some(tree)) => tree.prefetch(local, key),
            (None, None) => {}
        }
    }

    /// Asks for the records that a look-up would compare keys with.
    #[inline]
    pub(crate) fn prefetch_record(&self, local: &Local, hash: u64) {
        if let Some(index) = &self.hash {
            // the closure refuses all: it is called with the address of each that has the hash's tag
            index.get(local, hash, |raw| {
                Record::prefetch(raw);
                false
            });
        }
    }

    /// Appends to `key` the key of a base row in this index.
    pub(crate) fn entry_key(&self, base: &Schema, row: RowRef<'_>, pk: &[u8], key: &mut KeyBuf) {
        let of = self.index_of.as_ref().expect("called for indexes");
        key.clear();
        let has_null = of.key.encode(base, row, key);
        if !of.unique || has_null {
            key.push_encoded(pk);
        }
    }

    /// Whether the engine numbers the rows.
    #[inline]
    pub(crate) fn is_numbered(&self) -> bool {
        self.index_of.is_none() && self.schema.primary_key().parts().is_empty()
    }
}

/// All tables of a database, by id.
pub(crate) struct Tables {
    tables: Box<[AtomicPtr<CicadaTable>]>,
    count: AtomicU32,
}

impl Tables {
    pub(crate) fn new() -> Self {
        Self {
            tables: (0..TABLES).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(),
            count: AtomicU32::new(0),
        }
    }

    /// One more than the highest id.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire) as usize // pairs with the Release in `add`
    }

    /// The table of an id.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`].
    #[inline]
    pub(crate) fn get(&self, id: TableId) -> Result<&CicadaTable> {
        // pairs with the Release in `add`
        let table = self.tables.get(id.index()).map_or(std::ptr::null_mut(), |t| t.load(Ordering::Acquire));
        // SAFETY: set once by `add`, freed with the database.
        unsafe { table.as_ref() }.ok_or_else(|| Error::NoSuchTable(id.to_string()))
    }

    /// Adds tables with the ids from [`Tables::len`] on. Called under the catalog lock.
    pub(crate) fn add(&self, tables: Vec<CicadaTable>) {
        for table in tables {
            let id = table.id.index();
            // pairs with the Acquires in `get` and `len`
            self.tables[id].store(Box::into_raw(Box::new(table)), Ordering::Release);
            self.count.store(id as u32 + 1, Ordering::Release);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &CicadaTable> {
        (0..self.len()).filter_map(|id| self.get(TableId(id as u32)).ok())
    }
}

impl Drop for Tables {
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
