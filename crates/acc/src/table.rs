//! A table, or a secondary index: an ordered set of records under one id.
//!
//! ACC protects the entries of a secondary index exactly as it protects rows: inserting a row locks and inserts its
//! entries, changing an indexed column deletes one entry and inserts another. There is no second protocol for indexes,
//! and no stale entry to recognise.

use crate::config::{Config, IndexUpdates};
use crate::lane::{TableCounters, WorkerTable};
use crate::pending::{EMPTY, PendingList};
use crate::record::Record;
use crate::tune::{Tuning, Way};
use scaledb_base::limits::MAX_WORKERS;
use scaledb_base::{Error, Result, WorkerId};
use scaledb_engine::{Access, TableOptions};
use scaledb_index::btree::{BTree, Entry, Finger, LeafStamp};
use scaledb_index::hash::HashIndex;
use scaledb_index::indexlet::Indexlet;
use scaledb_index::phantomlet::{Owners, Phantomlet};
use scaledb_kit::{Core, EngineTable, TableCore};
use scaledb_memory::Local;
use scaledb_row::Projection;
use scaledb_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use scaledb_sync::{CachePadded, names};
use std::ops::{Deref, DerefMut};

/// The entries of the trees: addresses of records.
pub(crate) type RecordEntry = scaledb_kit::RecordEntry<Record>;

pub(crate) type Tree = BTree<RecordEntry>;

/// The hash structure of a table.
pub(crate) enum Points {
    /// Every key of the table. Absent here means absent.
    Hash(Box<HashIndex>),
    /// The keys that are not in the tree yet; the others are there.
    Indexlet(Indexlet),
}

/// Where a key was looked for: the leaf, if the tree was searched.
pub(crate) struct Lookup {
    pub(crate) record: Option<Record>,
    pub(crate) leaf: Option<(LeafStamp, u64)>,
}

pub struct AccTable {
    core: TableCore,
    /// Projections of the rows: all columns; all groups, no columns.
    pub(crate) all: Projection,
    pub(crate) existence: Projection,
    pub(crate) points: Points,
    pub(crate) tree: Option<Tree>,
    pub(crate) phantomlet: Phantomlet,
    workers: Box<[AtomicPtr<WorkerTable>]>,
    pub(crate) tuning: Tuning,
    /// Inheritance of leaves up to this generation is forgotten.
    needed_after: CachePadded<AtomicU64>,
}

impl Deref for AccTable {
    type Target = TableCore;

    #[inline(always)]
    fn deref(&self) -> &TableCore {
        &self.core
    }
}

impl DerefMut for AccTable {
    fn deref_mut(&mut self) -> &mut TableCore {
        &mut self.core
    }
}

impl EngineTable for AccTable {
    type Record = Record;

    fn hash(&self) -> Option<&HashIndex> {
        match &self.points {
            Points::Hash(hashed) => Some(hashed),
            Points::Indexlet(_) => None,
        }
    }

    fn ordered(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    fn for_each_unmerged(&self, f: impl FnMut(u64)) {
        if let Points::Indexlet(indexlet) = &self.points {
            // a merge puts a record into the tree before it takes it out of here
            indexlet.for_each(f);
        }
    }
}

impl AccTable {
    pub(crate) fn new(
        local: &mut Local,
        database: &Core<Self>,
        config: &Config,
        core: TableCore,
        options: &TableOptions,
    ) -> Result<Self> {
        let epoch = options.engine.time("merge_epoch").unwrap_or(config.merge_epoch);
        let batch = options.engine.integer("merge_batch").map(|batch| batch.min(u64::from(u32::MAX)) as u32);
        let points = match options.access {
            Access::Hashed | Access::HashOnly => Points::Hash(Box::new(HashIndex::new(local)?)),
            Access::Ordered => Points::Indexlet(Indexlet::new(local, config.indexlet_slots)?),
        };
        let (tree, cells) = match options.access {
            Access::HashOnly => (None, 2),
            _ => (Some(Tree::new(local, database.generation.clone())?), config.phantomlet_cells),
        };
        Ok(Self {
            all: Projection::all(&core.schema),
            existence: Projection::existence_in_all_groups(&core.schema),
            core,
            points,
            tree,
            phantomlet: Phantomlet::new(cells),
            workers: (0..MAX_WORKERS).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(),
            tuning: Tuning {
                batch: AtomicU32::new(batch.unwrap_or(crate::tune::FIRST_BATCH)),
                epoch_ticks: database.clock.ticks(epoch),
                fixed: batch.is_some(),
                updates: if batch.is_some() { IndexUpdates::Collected } else { config.index_updates },
            },
            needed_after: CachePadded(AtomicU64::new(0)),
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

    /// Whether this worker's commits insert into the tree at present, instead of posting.
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

    /// Prefetches the memory that a look-up touches first.
    #[inline]
    pub(crate) fn prefetch(&self, local: &Local, hash: u64) {
        match &self.points {
            Points::Hash(hashed) => hashed.prefetch(local, hash),
            Points::Indexlet(indexlet) => indexlet.prefetch(hash),
        }
    }

    /// Prefetches the memory that the insert of a key touches first, for writing if the insert writes it.
    #[inline]
    pub(crate) fn prefetch_insert(&self, local: &Local, hash: u64) {
        match &self.points {
            Points::Hash(hashed) => hashed.prefetch_to_write(local, hash),
            Points::Indexlet(indexlet) => {
                let at_commit = match self.tuning.fixed {
                    true => self.tuning.batch.load(Ordering::Relaxed) == 0, // a setting
                    false => self.of_worker(local.id()).is_some_and(|mine| mine.way.is_at_commit()),
                };
                // keys that go into the tree are only looked up here, so that the cache line can stay shared between
                // cores
                if at_commit { indexlet.prefetch(hash) } else { indexlet.prefetch_to_write(hash) }
            }
        }
    }

    /// Prefetches the records whose keys a look-up of the hash would compare.
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
            visits: CachePadded::default(),
            counters: TableCounters::default(),
            way: Way::default(),
            next_row: AtomicU64::new(0),
            end_of_rows: AtomicU64::new(0),
        });
        names::name_of(&*mine, "table.worker");
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

    /// How many unmerged keys each of so many workers may have: few enough to be found at their first place.
    pub(crate) fn room(&self, workers: usize) -> u64 {
        const SPARE: usize = 4;
        match &self.points {
            Points::Hash(_) => u64::MAX,
            Points::Indexlet(indexlet) => (indexlet.slots() / (SPARE * workers.max(1))) as u64,
        }
    }

    /// The generation up to which nobody needs the inherited parts of this table's leaves: a lower bound, raised by
    /// [`AccShared::raise_needed_after`](crate::shared::AccShared::raise_needed_after).
    #[inline]
    pub(crate) fn needed_after(&self) -> u64 {
        self.needed_after.load(Ordering::Acquire)
    }

    /// Raises that to `bound`, if it is lower. Returns what it is then.
    pub(crate) fn raise_needed_after(&self, bound: u64) -> u64 {
        if bound <= self.needed_after() {
            return self.needed_after();
        }
        // pairs with the Acquire in `needed_after`: who forgets up to the bound finds in the tree what has left lists
        self.needed_after.fetch_max(bound, Ordering::AcqRel).max(bound)
    }

    /// A generation at or before those of the leaf look-ups of all keys that the first so many workers have on their
    /// lists; [`EMPTY`] if these are empty.
    pub(crate) fn unmerged_generation(&self, workers: usize) -> u64 {
        let lists = (0..workers).filter_map(|w| self.of_worker(WorkerId(w as u8)));
        lists.map(|worker| worker.list.generation()).fold(EMPTY, u64::min)
    }

    /// A time, in ticks, before the timestamps of all commits of the first so many workers whose keys are not merged
    /// yet; [`EMPTY`] if all are.
    pub(crate) fn unmerged_since(&self, workers: usize) -> u64 {
        let lists = (0..workers).filter_map(|w| self.of_worker(WorkerId(w as u8)));
        lists.map(|worker| worker.list.since()).fold(EMPTY, u64::min)
    }

    /// Sums over the workers that have inserted.
    pub(crate) fn workers(&self) -> impl Iterator<Item = &WorkerTable> {
        (0..MAX_WORKERS).filter_map(|w| self.of_worker(WorkerId(w as u8)))
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

// SAFETY: pointers to heap values owned by the table; shared access is through atomics.
unsafe impl Send for AccTable {}
// SAFETY: as above.
unsafe impl Sync for AccTable {}
