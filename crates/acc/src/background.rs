//! Background work between transactions: merges of idle workers' lanes, clean-up, and periodic maintenance.
//!
//! Workers do their own chores every few commits; a thread per database does those of workers that run no
//! transactions.

use crate::cleanup::{Horizon, clean};
use crate::lane::NONE;
use crate::merge::merge_lane;
use crate::shared::AccShared;
use crate::worker::Ctx;
use scaledb_base::{Result, WorkerId};
use scaledb_memory::{IDLE, Local};
use scaledb_sync::atomic::Ordering;
use std::time::Duration;

/// Commits between a worker's rounds of background work, with few workers.
const CHORES: u32 = if scaledb_sync::MODEL { 2 } else { 64 };
/// Commits between a worker's rounds of background work, per worker of the database. A round reads all lanes, whose
/// owners then have to fetch the cache line back: as the interval grows with the workers, the cost per commit does not.
const CHORES_OF_WORKER: u32 = if scaledb_sync::MODEL { 0 } else { 8 };

/// While memory is short, a worker that begins transactions looks for memory to free at intervals of this length.
const RELIEF: Duration = Duration::from_micros(200);
/// How many parts of a long queue it then cleans.
const ROUNDS: usize = 16;

impl Ctx<'_> {
    /// After a transaction, between transactions: every few commits, merges what is old, cleans up, and
    /// reclaims memory.
    #[inline]
    pub(crate) fn chores(&mut self) {
        if self.state.until_chores > 0 {
            self.state.until_chores -= 1;
        } else {
            self.do_chores();
        }
    }

    #[cold]
    fn do_chores(&mut self) {
        let shared = self.shared;
        self.state.until_chores = CHORES.max(CHORES_OF_WORKER * shared.domain.workers() as u32);
        let horizon = Horizon::now(shared);
        self.local.enter();
        // what cannot be merged now stays, and is merged later
        let _ = self.merge_old_lists(shared.snapshots.is_waiting());
        let mut lane = shared.lanes[self.local.id().index()].lock();
        clean(shared, self.local, &mut lane, &horizon);
        drop(lane);
        self.local.exit();
        shared.raise_flights_since();
        for id in std::mem::take(&mut self.state.inherited) {
            if let Ok(table) = shared.tables.get(id) {
                shared.raise_needed_after(table);
            }
        }
        self.local.collect();
    }

    /// Between transactions, when memory is short: frees what can be freed, of this worker and of idle ones, so that
    /// the transaction to come finds what deletes before it have left.
    #[cold]
    pub(crate) fn relieve(&mut self) {
        let (shared, now) = (self.shared, self.shared.clock.now());
        if now.saturating_sub(self.state.relieved_at) < shared.clock.ticks(RELIEF) {
            return;
        }
        self.state.relieved_at = now;
        if shared.lanes[self.local.id().index()].is_pinned() {
            self.local.enter();
            // what cannot be merged now stays, and is merged later
            let _ = self.merge_old_lists(true);
            self.local.exit();
        }
        let horizon = Horizon::now(shared);
        self.local.enter();
        for _ in 0..ROUNDS {
            if !clean_idle(shared, self.local, &horizon) {
                break;
            }
        }
        self.local.exit();
        self.local.collect();
        shared.domain.restore_reserve();
    }

    /// Before the worker is dropped: merges its pending entries. If that fails, the lane stays pinned until the
    /// background thread, the next worker of this id, or a snapshot that waits for the lane merges them.
    pub(crate) fn leave(&mut self) {
        self.local.enter();
        let _ = self.merge_old_lists(true);
        self.local.exit();
    }
}

/// Merges the lanes of workers that do not run transactions: those that have been pinned for longer than
/// their tables' epochs, or all if `all`. `local` is active.
///
/// # Errors
/// Out of memory: the entries stay pending.
pub(crate) fn merge_idle_lanes(shared: &AccShared, local: &mut Local, all: bool) -> Result<()> {
    let mut result = Ok(());
    let now = shared.clock.now();
    for (id, lane) in shared.lanes.iter().enumerate() {
        let id = WorkerId(id as u8);
        let pin = lane.pin_ticks.load(Ordering::Acquire);
        if pin == NONE || id == local.id() {
            continue;
        }
        // the owner of a lane merges it itself while it runs transactions, unless one of them takes long
        let idle = shared.domain.active_since(id) == IDLE;
        let late = now.saturating_sub(pin) > 4 * shared.epoch_ticks;
        if !(all || idle || late) {
            continue;
        }
        if let Some(guard) = lane.try_lock() {
            result = result.and(merge_lane(shared, local, &guard, lane, id, all));
        }
    }
    result
}

/// Cleans the queues of idle workers and of this one. Returns whether more could be cleaned. `local` is active.
fn clean_idle(shared: &AccShared, local: &mut Local, horizon: &Horizon) -> bool {
    let mut more = false;
    for (id, lane) in shared.lanes.iter().enumerate().take(shared.domain.workers()) {
        let id = WorkerId(id as u8);
        let idle = id == local.id() || shared.domain.active_since(id) == IDLE;
        if let Some(mut guard) = idle.then(|| lane.try_lock()).flatten() {
            clean(shared, local, &mut guard, horizon);
            more |= horizon.lets_clean(shared, &guard);
        }
    }
    more
}

/// One round of the background thread. Returns whether there is more to do.
pub(crate) fn tend(shared: &AccShared, local: &mut Local) -> bool {
    shared.maybe_stop_retaining();
    let horizon = Horizon::now(shared);
    local.enter();
    // what cannot be merged now stays for the next round
    let _ = merge_idle_lanes(shared, local, false);
    let more = clean_idle(shared, local, &horizon);
    local.exit();
    shared.raise_flights_since();
    more
}
