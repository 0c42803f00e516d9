//! A table, or a secondary index: an ordered set of records under one id.
//!
//! A secondary index is a table of *entries*: its keys are the indexed columns (and the primary key,
//! unless the index is unique), and its rows hold the address of the base record. ACC protects entries
//! exactly as it protects rows: inserting a row locks and inserts its entries, changing an indexed column
//! deletes one entry and inserts another. There is no second protocol for indexes, and no stale entry to
//! recognise.

use crate::config::IndexUpdates;
use crate::indexes::IndexSet;
use crate::lane::{TABLES, TableCounters, WorkerTable};
use crate::pending::PendingList;
use crate::tune::{Tuning, Way};
use scaledb_base::limits::MAX_WORKERS;
use scaledb_base::{Error, Result, TableId, WorkerId};
use scaledb_engine::{Access, TableInfo, TableOptions};
use scaledb_index::btree::{BTree, Entry, Finger, LeafStamp};
use scaledb_index::hash::HashIndex;
use scaledb_index::indexlet::Indexlet;
use scaledb_index::phantomlet::{Owners, Phantomlet};
use scaledb_keys::KeyBuf;
use scaledb_memory::Local;
use scaledb_row::{Column, ColumnSet, ColumnType, KeySpec, Projection, RowRef, Schema};
use scaledb_storage::Record;
use scaledb_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use scaledb_sync::{Arc, CachePadded, Published};

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

/// How a key is found.
pub(crate) enum Points {
    /// Every key of the table. Absent here means absent.
    Hash(Box<HashIndex>),
    /// The keys that are not in the tree yet; the others are there.
    Indexlet(Indexlet),
}

/// Where a key was looked for: the tree's leaf, if the tree was asked.
pub(crate) struct Lookup {
    pub(crate) record: Option<Record>,
    pub(crate) leaf: Option<(LeafStamp, u64)>,
}

/// The part of an index that is special: what it indexes.
pub(crate) struct IndexOf {
    pub(crate) base: TableId,
    pub(crate) key: KeySpec,
    pub(crate) unique: bool,
}

pub(crate) struct AccTable {
    pub(crate) id: TableId,
    pub(crate) name: String,
    pub(crate) index_of: Option<IndexOf>,
    /// The base table's indexes.
    pub(crate) indexes: Published<IndexSet>,
    /// The last change of them all that changed these; see `change.rs`.
    pub(crate) changed: AtomicU64,
    /// An index has all entries that snapshots of this raw timestamp or later see, up to `until`.
    pub(crate) since: AtomicU64,
    pub(crate) until: AtomicU64,
    /// The layout of this table's own rows, and projections of them.
    pub(crate) schema: Schema,
    pub(crate) all: Projection,
    /// All groups, no columns.
    pub(crate) existence: Projection,
    pub(crate) points: Points,
    pub(crate) tree: Option<Tree>,
    pub(crate) phantomlet: Phantomlet,
    workers: Box<[AtomicPtr<WorkerTable>]>,
    /// Rows of a table without a primary key are numbered in blocks taken from here.
    pub(crate) row_numbers: CachePadded<AtomicU64>,
    pub(crate) tuning: Tuning,
}

/// The schema of index entries: the address of the base record.
pub(crate) fn entry_schema() -> Schema {
    Schema::new(vec![Column::new("record", ColumnType::Int8)], &[]).expect("a constant schema")
}

/// What a table is made from.
pub(crate) struct Parts<'a> {
    pub(crate) id: TableId,
    pub(crate) info: std::sync::Arc<TableInfo>,
    pub(crate) name: String,
    pub(crate) index_of: Option<IndexOf>,
    pub(crate) indexes: Vec<TableId>,
    pub(crate) options: &'a TableOptions,
    pub(crate) epoch_ticks: u64,
    pub(crate) batch: Option<u32>,
    pub(crate) updates: IndexUpdates,
    pub(crate) indexlet_slots: usize,
    pub(crate) cells: usize,
}

impl AccTable {
    pub(crate) fn new(
        local: &mut Local,
        generation: &Arc<CachePadded<AtomicU64>>,
        parts: Parts<'_>,
    ) -> Result<Self> {
        let schema = if parts.index_of.is_some() { entry_schema() } else { parts.info.schema.clone() };
        let access = parts.options.access;
        let points = match access {
            Access::Hashed | Access::HashOnly => Points::Hash(Box::new(HashIndex::new(local)?)),
            Access::Ordered => Points::Indexlet(Indexlet::new(local, parts.indexlet_slots)?),
        };
        let tree = match access {
            Access::HashOnly => None,
            _ => Some(Tree::new(local, generation.clone())?),
        };
        let indexed = if parts.index_of.is_some() {
            ColumnSet::EMPTY
        } else {
            parts.info.indexes.iter().fold(ColumnSet::EMPTY, |set, i| set.union(i.key.columns()))
        };
        Ok(Self {
            id: parts.id,
            name: parts.name,
            index_of: parts.index_of,
            indexes: Published::new(IndexSet { ids: parts.indexes, columns: indexed, closed: false }),
            changed: AtomicU64::new(0),
            since: AtomicU64::new(0),
            until: AtomicU64::new(u64::MAX),
            all: Projection::all(&schema),
            existence: Projection::existence_in_all_groups(&schema),
            schema,
            points,
            tree,
            phantomlet: Phantomlet::new(if access == Access::HashOnly { 2 } else { parts.cells }),
            workers: (0..MAX_WORKERS).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(),
            row_numbers: CachePadded(AtomicU64::new(0)),
            tuning: Tuning {
                batch: AtomicU32::new(parts.batch.unwrap_or(crate::tune::FIRST_BATCH)),
                epoch_ticks: parts.epoch_ticks,
                fixed: parts.batch.is_some(),
                updates: if parts.batch.is_some() { IndexUpdates::Collected } else { parts.updates },
                visited: CachePadded(AtomicU64::new(0)),
                repairs: AtomicU64::new(0),
            },
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

    /// Whether this worker's commits insert into the tree themselves, for now.
    #[inline]
    pub(crate) fn inserts_at_commit(&self, local: &mut Local) -> Result<bool> {
        if self.tree.is_none() {
            return Ok(false);
        }
        if self.tuning.fixed {
            return Ok(self.tuning.batch.load(Ordering::Relaxed) == 0); // a setting
        }
        Ok(self.of_me(local)?.way.is_at_commit())
    }

    /// Looks a key up: indexlet, then tree; or the hash index alone.
    #[inline]
    pub(crate) fn find(&self, local: &Local, hash: u64, key: &[u8], finger: &mut Finger) -> Lookup {
        match &self.points {
            Points::Hash(hashed) => {
                // SAFETY: values of the hash index are records that it holds.
                let raw = hashed.get(local, hash, |raw| unsafe { RecordEntry::key(raw) } == key);
                // SAFETY: as above.
                Lookup { record: raw.map(|raw| unsafe { Record::from_raw(raw) }), leaf: None }
            }
            Points::Indexlet(indexlet) => {
                // SAFETY: values of the indexlet are records that it holds.
                if let Some(raw) = indexlet.get(local, hash, |raw| unsafe { RecordEntry::key(raw) } == key) {
                    // SAFETY: as above.
                    return Lookup { record: Some(unsafe { Record::from_raw(raw) }), leaf: None };
                }
                self.find_in_tree(local, key, finger)
            }
        }
    }

    /// Looks a key up in the tree alone.
    #[inline]
    pub(crate) fn find_in_tree(&self, local: &Local, key: &[u8], finger: &mut Finger) -> Lookup {
        let tree = self.tree.as_ref().expect("a table with an indexlet has a tree");
        let found = tree.find(local, key, finger);
        // SAFETY: values of the tree are records that it holds.
        let record = found.value.map(|raw| unsafe { Record::from_raw(raw) });
        Lookup { record, leaf: Some((found.leaf, found.part)) }
    }

    /// Asks for the memory that a look-up touches first.
    #[inline]
    pub(crate) fn prefetch(&self, local: &Local, hash: u64) {
        match &self.points {
            Points::Hash(hashed) => hashed.prefetch(local, hash),
            Points::Indexlet(indexlet) => indexlet.prefetch(hash),
        }
    }

    /// Asks for the records that a look-up of the hash would compare keys with.
    #[inline]
    pub(crate) fn prefetch_record(&self, local: &Local, hash: u64, lines: u64) {
        // the closure refuses all: it is called with the address of each that has the hash's tag
        let fetch = |raw: u64| {
            Record::prefetch_lines(raw, lines);
            false
        };
        match &self.points {
            Points::Hash(hashed) => hashed.get(local, hash, fetch),
            Points::Indexlet(indexlet) => indexlet.get(local, hash, fetch),
        };
    }

    /// Removes a record from the hash structure.
    pub(crate) fn remove_point(&self, local: &Local, hash: u64, record: Record) {
        match &self.points {
            Points::Hash(hashed) => hashed.remove(local, hash, record.raw()),
            Points::Indexlet(indexlet) => indexlet.remove(local, hash, record.raw()),
        };
    }

    /// What `worker` keeps for this table, if it has inserted.
    #[inline]
    pub(crate) fn of_worker(&self, worker: WorkerId) -> Option<&WorkerTable> {
        // SAFETY: set once, freed with the table. Pairs with the Release in `of_me`.
        unsafe { self.workers[worker.index()].load(Ordering::Acquire).as_ref() }
    }

    /// What this worker keeps for this table.
    #[inline]
    pub(crate) fn of_me(&self, local: &mut Local) -> Result<&WorkerTable> {
        if let Some(mine) = self.of_worker(local.id()) {
            return Ok(mine);
        }
        let mine = Box::new(WorkerTable {
            list: PendingList::new(local, self.phantomlet.cells())?,
            counters: TableCounters::default(),
            way: Way::default(),
            next_row: AtomicU64::new(0),
            end_of_rows: AtomicU64::new(0),
        });
        // pairs with the Acquire in `of_worker`; no other thread has this worker's id
        self.workers[local.id().index()].store(Box::into_raw(mine), Ordering::Release);
        Ok(self.of_worker(local.id()).expect("just stored"))
    }

    /// Hands the pending records of a cell's owners to `f`; those of `own` from number `own_before` on are
    /// left out.
    pub(crate) fn for_each_pending(
        &self,
        cell: scaledb_index::phantomlet::CellId,
        owners: Owners,
        (own, own_before): (WorkerId, u64),
        mut f: impl FnMut(Record),
    ) {
        for owner in owners.iter() {
            if let Some(theirs) = self.of_worker(owner) {
                let before = if owner == own { own_before } else { u64::MAX };
                theirs.list.for_each_of(cell, before, &mut f);
            }
        }
    }

    /// Sums over the workers that have inserted.
    pub(crate) fn workers(&self) -> impl Iterator<Item = &WorkerTable> {
        (0..MAX_WORKERS).filter_map(|w| self.of_worker(WorkerId(w as u8)))
    }

    /// Appends to `key` the key of a base row in this index. Returns whether the primary key must follow.
    pub(crate) fn entry_key(&self, base: &Schema, row: RowRef<'_>, pk: &[u8], key: &mut KeyBuf) {
        let of = self.index_of.as_ref().expect("called for indexes");
        key.clear();
        let has_null = of.key.encode(base, row, key);
        if !of.unique || has_null {
            key.push_encoded(pk);
        }
    }
}

impl Drop for AccTable {
    fn drop(&mut self) {
        for worker in &self.workers {
            let worker = worker.load(Ordering::Relaxed); // nobody else is left
            if !worker.is_null() {
                // SAFETY: made by `of_me`, owned by the table.
                drop(unsafe { Box::from_raw(worker) });
            }
        }
    }
}

/// All tables of a database, by id.
pub(crate) struct Tables {
    tables: Box<[AtomicPtr<AccTable>]>,
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
        self.count.load(Ordering::Acquire) as usize
    }

    /// The table of an id.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`].
    #[inline]
    pub(crate) fn get(&self, id: TableId) -> Result<&AccTable> {
        let table = self.tables.get(id.index()).map_or(std::ptr::null_mut(), |t| t.load(Ordering::Acquire));
        // SAFETY: set once by `add`, freed with the database.
        unsafe { table.as_ref() }.ok_or_else(|| Error::NoSuchTable(id.to_string()))
    }

    /// Adds tables with the ids from [`Tables::len`] on. Called under the catalog lock.
    pub(crate) fn add(&self, tables: Vec<AccTable>) {
        for table in tables {
            let id = table.id.index();
            // pairs with the Acquires in `get` and `len`
            self.tables[id].store(Box::into_raw(Box::new(table)), Ordering::Release);
            self.count.store(id as u32 + 1, Ordering::Release);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &AccTable> {
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

// SAFETY: pointers to heap values owned by the table; shared access is through atomics.
unsafe impl Send for AccTable {}
// SAFETY: as above.
unsafe impl Sync for AccTable {}
