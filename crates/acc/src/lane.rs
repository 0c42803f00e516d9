//! A worker's lane: what others must know of its commits and its unmerged entries.

use crate::pending::PendingList;
use crate::record::{Record, Version};
use crate::tune::{Visits, Way};
use scaledb_base::TableId;
use scaledb_kit::TABLES;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use scaledb_sync::hint::Backoff;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

/// No pin, no snapshot.
pub(crate) const NONE: u64 = u64::MAX;

/// The shared part of a worker.
///
/// - The pin is set while a commit is in flight or an entry is unmerged. It is changed under the lock
///   only, so that a helper that merges cannot take away the pin of an owner in flight.
/// - `pin_ticks` is at or before the timestamps of all commits that the pin covers.
/// - `flight_generation` is at or before the generation of every tree in which the commit in flight looks up a leaf to
///   post under; [`NONE`] without one. What it has posted, each table's list says
///   ([`generation`](PendingList::generation)).
pub(crate) struct Lane {
    pub(crate) pin_ticks: AtomicU64,
    pub(crate) flight_generation: AtomicU64,
    /// The boundary that the worker's snapshot reads at, as a raw timestamp; [`NONE`] without one.
    pub(crate) snapshot: AtomicU64,
    locked: AtomicBool,
    /// One bit per table that has pending items.
    dirty: Box<[AtomicU64]>,
    dirty_tables: AtomicU64,
    state: UnsafeCell<LaneState>,
}

/// What the lane lock guards.
#[derive(Default)]
pub(crate) struct LaneState {
    /// Records that await clean-up, each in one lane at the most: those that this worker deleted, in the order of
    /// the deletes, with entries between that had to wait once more.
    pub(crate) deleted: VecDeque<Deleted>,
    /// Versions that left their records, in the order of the commits that superseded them.
    pub(crate) versions: VecDeque<(u64, Version)>,
}

/// A record that awaits clean-up.
pub(crate) struct Deleted {
    pub(crate) table: TableId,
    pub(crate) record: Record,
    /// The raw timestamp of the delete; it may have been inserted and deleted again since.
    pub(crate) ts: u64,
}

// SAFETY: `state` is reached only through `LaneGuard`, which holds `locked`.
unsafe impl Sync for Lane {}
// SAFETY: versions and records may be freed by any thread that holds the lock.
unsafe impl Send for Lane {}

impl Lane {
    pub(crate) fn new() -> Self {
        Self {
            pin_ticks: AtomicU64::new(NONE),
            flight_generation: AtomicU64::new(NONE),
            snapshot: AtomicU64::new(NONE),
            locked: AtomicBool::new(false),
            dirty_tables: AtomicU64::new(0),
            dirty: (0..TABLES / 64).map(|_| AtomicU64::new(0)).collect(),
            state: UnsafeCell::new(LaneState::default()),
        }
    }

    /// Locks the lane. It may be held by its owner in a commit, or by another worker that merges it.
    #[inline]
    pub(crate) fn lock(&self) -> LaneGuard<'_> {
        let mut backoff = Backoff::new();
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            backoff.wait_forever();
        }
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> Option<LaneGuard<'_>> {
        // pairs with the Release in `LaneGuard::drop`
        let free = self.locked.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        free.is_ok().then(|| LaneGuard { lane: self })
    }

    /// Whether a commit is in flight or entries are unmerged, as far as this thread can see.
    #[inline]
    pub(crate) fn is_pinned(&self) -> bool {
        self.pin_ticks.load(Ordering::Acquire) != NONE
    }
}

/// The lane, locked.
pub(crate) struct LaneGuard<'a> {
    lane: &'a Lane,
}

impl LaneGuard<'_> {
    /// Step C1: a commit is in flight from now on. Publishes its generation, and the pin unless there is one. The
    /// caller reads `generation` and the clock before.
    #[inline]
    pub(crate) fn pin(&self, generation: u64, ticks: u64) {
        self.lane.flight_generation.store(generation, Ordering::Relaxed); // published by the next store
        // what is pinned already stays so, and is stored again: that store is a fence
        let pinned = self.lane.pin_ticks.load(Ordering::Relaxed); // changed under the lock only
        self.lane.pin_ticks.store(if pinned == NONE { ticks } else { pinned }, Ordering::SeqCst);
        // a thread that reads pins either sees this pin, or its own store before that is seen by the loads that
        // follow here: pairs with the fences of threads that read pins. On x86-64 the store is this fence;
        // elsewhere a later load may overtake it
        if cfg!(any(loom, not(target_arch = "x86_64"))) {
            fence(Ordering::SeqCst);
        }
    }

    /// The generation of the commit in flight.
    #[inline]
    pub(crate) fn flight_generation(&self) -> u64 {
        self.lane.flight_generation.load(Ordering::Relaxed) // the owner's, who holds the lock
    }

    /// No commit is in flight any more.
    #[inline]
    pub(crate) fn end_flight(&self) {
        // Release: a thread that no longer sees it in flight sees the generations of the lists that it has posted to
        self.lane.flight_generation.store(NONE, Ordering::Release);
    }

    /// Removes the pin: no commit is in flight, and no item is pending.
    #[inline]
    pub(crate) fn unpin(&self) {
        // Release: a thread that no longer sees the pin finds in the trees what it protected
        self.lane.pin_ticks.store(NONE, Ordering::Release);
    }

    /// Notes that the table has pending items.
    #[inline]
    pub(crate) fn mark(&self, table: TableId) {
        let (word, bit) = (&self.lane.dirty[table.index() / 64], 1 << (table.index() % 64));
        let bits = word.load(Ordering::Relaxed); // only lock holders touch it
        if bits & bit == 0 {
            word.store(bits | bit, Ordering::Relaxed);
            self.lane
                .dirty_tables
                .store(self.lane.dirty_tables.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// The table's items have been merged.
    pub(crate) fn unmark(&self, table: TableId) {
        let (word, bit) = (&self.lane.dirty[table.index() / 64], 1 << (table.index() % 64));
        let bits = word.load(Ordering::Relaxed); // only lock holders touch it
        if bits & bit != 0 {
            word.store(bits & !bit, Ordering::Relaxed);
            self.lane
                .dirty_tables
                .store(self.lane.dirty_tables.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        }
    }

    /// Whether no table has pending items.
    #[inline]
    pub(crate) fn is_clean(&self) -> bool {
        self.lane.dirty_tables.load(Ordering::Relaxed) == 0
    }

    /// The tables that have pending items. `tables` bounds the ids.
    pub(crate) fn marked(&self, tables: usize) -> impl Iterator<Item = TableId> {
        let words = &self.lane.dirty[..tables.div_ceil(64)];
        words.iter().enumerate().flat_map(|(i, word)| {
            let bits = word.load(Ordering::Relaxed); // only lock holders touch it
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| TableId((i * 64 + bit) as u32))
        })
    }
}

impl Deref for LaneGuard<'_> {
    type Target = LaneState;
    fn deref(&self) -> &LaneState {
        // SAFETY: the lock is held.
        unsafe { &*self.lane.state.get() }
    }
}

impl DerefMut for LaneGuard<'_> {
    fn deref_mut(&mut self) -> &mut LaneState {
        // SAFETY: the lock is held, and this guard is borrowed mutably.
        unsafe { &mut *self.lane.state.get() }
    }
}

impl Drop for LaneGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // pairs with the Acquire in `try_lock`
        self.lane.locked.store(false, Ordering::Release);
    }
}

/// What one worker keeps for one table; made at its first insert.
pub(crate) struct WorkerTable {
    pub(crate) list: PendingList,
    /// On a cache line of its own, because other workers write it, too.
    pub(crate) visits: CachePadded<Visits>,
    pub(crate) counters: TableCounters,
    pub(crate) way: Way,
    /// Row numbers for tables without a primary key: the next one, and the end of the block.
    pub(crate) next_row: AtomicU64,
    pub(crate) end_of_rows: AtomicU64,
}

/// Counters with one writer at a time; see `stats::METRICS`.
#[derive(Default)]
pub(crate) struct TableCounters {
    pub(crate) posted: AtomicU64,
    pub(crate) merged: AtomicU64,
    pub(crate) merges: AtomicU64,
    pub(crate) synchronous: AtomicU64,
    pub(crate) node_locks: AtomicU64,
    pub(crate) cleaned: AtomicU64,
}
