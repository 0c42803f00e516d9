//! Merges: M1 sort, M2 insert into the tree, M3 evict from the indexlet, M4 leave the list, M5 count down, M6 clear the
//! owner's bits. (M4 comes before M5, or a scan could take the count of another lane's item for its own lane's.
//! Secondary trees have no step of their own: indexes are tables, with lists of their own.)

use crate::lane::{Lane, LaneGuard};
use crate::pending::PendingList;
use crate::record::Record;
use crate::rules::Rule;
use crate::shared::AccShared;
use crate::table::{AccTable, Points, Tree};
use crate::tune::Timer;
use crate::worker::Ctx;
use scaledb_base::{Result, TableId, WorkerId};
use scaledb_index::phantomlet::CellId;
use scaledb_kit::{count, head};
use scaledb_memory::{Local, Purpose};
use scaledb_sync::atomic::Ordering;
use scaledb_sync::hint::Backoff;

/// A pending entry that is being merged: the first eight bytes of its key, the record, its cell.
struct Entry(u64, Record, CellId);

/// A worker looks after one commit in so many whether entries have been pending for longer than an epoch.
const LATE: u32 = 8;
/// Places of the hash structure that are asked for before entries are removed from them: others have written there
/// since.
const AHEAD: usize = 8;

/// Merges the entries that `worker` has pending in a table. The caller holds the worker's lane, and no
/// commit is between C3 and C6 on it.
pub(crate) fn merge(
    shared: &AccShared,
    local: &mut Local,
    lane: &LaneGuard<'_>,
    table: &AccTable,
    worker: WorkerId,
) -> Result<()> {
    let Some(theirs) = table.of_worker(worker) else {
        lane.unmark(table.id);
        return Ok(());
    };
    let (list, counters) = (&theirs.list, &theirs.counters);
    let timer = Timer::start(&shared.clock);
    let end = list.tail();
    let (mut entries, mut cells) = items(list, end);
    // M1. Each record has one item, ever, so that no other merge has it; and clean-up waits for the pin.
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.key().cmp(b.1.key())));
    let needed_after = shared.raise_needed_after(table);
    let rules = shared.config.rules;
    if !rules.on(Rule::EvictAfterInsert) {
        evict(shared, local, table, &entries);
        // as long as a thread may be off its core: whole transactions must fit in between
        scaledb_sync::thread::sleep(std::time::Duration::from_micros(100));
    }
    // M2
    if let Some(tree) = &table.tree {
        // merges of committed keys may exceed the budget: entries that stay pending would delay snapshots and
        // checkpoints
        let purpose = local.set_purpose(Purpose::Upkeep);
        let inserted = insert(local, tree, needed_after, &entries);
        local.set_purpose(purpose);
        count(&counters.node_locks, inserted?);
    }
    // M3
    if rules.on(Rule::EvictAfterInsert) {
        evict(shared, local, table, &entries);
    }
    // M4
    list.remove_before(end);
    // M5
    for run in entries.chunk_by(|entry, next| entry.2 == next.2) {
        table.phantomlet.merged(run[0].2, run.len() as u64);
        cells.push(run[0].2);
    }
    // M6
    for cell in cells {
        if table.phantomlet.read(cell).owners.contains(worker) {
            table.phantomlet.clear_owner(cell, worker);
        }
    }
    list.shrink(local);
    lane.unmark(table.id);
    count(&counters.merges, 1);
    count(&counters.merged, entries.len() as u64);
    crate::tune::after_merge(
        &table.tuning,
        &theirs.visits,
        entries.len() as u64,
        table.room(shared.domain.workers()),
    );
    if local.id() == worker {
        let ticks = timer.ticks(&shared.clock);
        theirs.way.merged(table.tuning.updates, &theirs.visits, entries.len() as u64, ticks);
    }
    Ok(())
}

/// The entries of a list up to `end`, and the cells of those that have no record any more.
fn items(list: &PendingList, end: u64) -> (Vec<Entry>, Vec<CellId>) {
    let start = list.start();
    let (mut entries, mut cells) = (Vec::with_capacity((end - start) as usize), Vec::new());
    for number in start..end {
        match list.item(number) {
            (Some(record), cell) => entries.push(Entry(head(record.key()), record, cell)),
            (None, cell) => cells.push(cell),
        }
    }
    (entries, cells)
}

/// M2. Returns how many nodes were locked.
fn insert(local: &mut Local, tree: &Tree, needed_after: u64, entries: &[Entry]) -> Result<u64> {
    let mut sorted: Vec<u64> = entries.iter().map(|entry| entry.1.raw()).collect();
    let mut backoff = Backoff::new();
    let mut locks = 0;
    while !sorted.is_empty() {
        let mut left = Vec::new();
        // SAFETY: records stay valid until they have left the tree.
        let stats = unsafe {
            tree.insert_batch(local, needed_after, &sorted, |i, existing| {
                // a synchronous inserter's placeholder: its owner, which waits for nobody, is about to find
                // ours in the indexlet, and takes its own back
                if existing != sorted[i] {
                    left.push(sorted[i]);
                }
            })
        };
        locks += stats?.locks;
        sorted = left;
        if !sorted.is_empty() {
            backoff.wait_forever();
        }
    }
    Ok(locks)
}

/// M3.
fn evict(shared: &AccShared, local: &mut Local, table: &AccTable, entries: &[Entry]) {
    let Points::Indexlet(indexlet) = &table.points else { return };
    let hashes: Vec<u64> = entries.iter().map(|entry| shared.hasher.hash(entry.1.key())).collect();
    hashes.iter().take(AHEAD).for_each(|&hash| indexlet.prefetch_to_write(hash));
    for (i, (entry, &hash)) in entries.iter().zip(&hashes).enumerate() {
        if let Some(&ahead) = hashes.get(i + AHEAD) {
            indexlet.prefetch_to_write(ahead);
        }
        indexlet.remove(local, hash, entry.1.raw());
    }
}

impl Ctx<'_> {
    /// Merges this worker's entries of a table. Must not run between C3 and C6.
    pub(crate) fn merge_table(
        &mut self,
        shared: &AccShared,
        lane: &LaneGuard<'_>,
        table: &AccTable,
    ) -> Result<()> {
        merge(shared, self.local, lane, table, self.local.id())
    }

    /// After a commit: merges what has reached its table's batch.
    pub(crate) fn merge_full_lists(&mut self, shared: &AccShared, lane: &LaneGuard<'_>) {
        let mut last = None;
        for i in 0..self.txn.posts.len() {
            let id: TableId = self.txn.posts[i].0;
            if last == Some(id) {
                continue;
            }
            last = Some(id);
            let Ok(table) = shared.tables.get(id) else { continue };
            let batch = u64::from(table.tuning.batch.load(Ordering::Relaxed)); // a setting
            if table.of_worker(self.local.id()).is_some_and(|mine| mine.list.len() >= batch.max(1)) {
                // out of memory: the entries stay pending, and nothing is lost
                let _ = self.merge_table(shared, lane, table);
            }
        }
    }

    /// After some of the commits: merges entries that have been pending for longer than their table's epoch. Background
    /// work does so too, but among many workers it comes too seldom: snapshots and clean-up wait for the pin, and it
    /// keeps inherited parts of leaves alive, which cost scans time.
    #[inline]
    pub(crate) fn merge_late_lists(&mut self, guard: &LaneGuard<'_>, now: u64) {
        let (shared, me) = (self.shared, self.local.id());
        let lane = &shared.lanes[me.index()];
        // changed under the lane lock, which is held
        let late = now.saturating_sub(lane.pin_ticks.load(Ordering::Relaxed)) > shared.epoch_ticks;
        if late && self.state.until_chores.is_multiple_of(LATE) {
            // what cannot be merged now stays, and is merged later
            let _ = merge_lane(shared, self.local, guard, lane, me, false);
        }
    }

    /// Merges entries that have been pending for longer than their table's epoch, or all of them if `all`.
    ///
    /// # Errors
    /// Out of memory: the entries stay pending.
    pub(crate) fn merge_old_lists(&mut self, all: bool) -> Result<()> {
        let shared = self.shared;
        let lane = &shared.lanes[self.local.id().index()];
        if !lane.is_pinned() {
            return Ok(());
        }
        let guard = lane.lock();
        merge_lane(shared, self.local, &guard, lane, self.local.id(), all)
    }
}

/// Merges the tables of a lane whose epoch is over. The lane is unpinned when nothing is left.
///
/// # Errors
/// Out of memory: the entries stay pending and the lane stays pinned, until a later merge succeeds.
pub(crate) fn merge_lane(
    shared: &AccShared,
    local: &mut Local,
    guard: &LaneGuard<'_>,
    lane: &Lane,
    worker: WorkerId,
    all: bool,
) -> Result<()> {
    // the pin changes under the lane lock only
    let age = shared.clock.now().saturating_sub(lane.pin_ticks.load(Ordering::Relaxed));
    let mut result = Ok(());
    for id in guard.marked(shared.tables.len()) {
        let Ok(table) = shared.tables.get(id) else { continue };
        if all || age > table.tuning.epoch_ticks {
            result = result.and(merge(shared, local, guard, table, worker));
        }
    }
    if guard.is_clean() {
        guard.unpin();
    }
    result
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::LATE;
    use crate::{Acc, Config, IndexUpdates};
    use scaledb_engine::{Engine, TableDef, TxnKind, Worker};
    use scaledb_row::{Column, ColumnType, Datum, KeyPart, RowBuf, Schema};
    use std::time::Duration;

    #[test]
    fn a_worker_that_commits_merges_what_is_late_before_its_chores() {
        let index_updates = IndexUpdates::Collected;
        let config =
            Config { background: false, merge_epoch: Duration::ZERO, index_updates, ..Config::default() };
        let db = Acc::open(config).unwrap();
        let schema = Schema::new(vec![Column::new("id", ColumnType::Int4)], &[KeyPart::asc(0)]).unwrap();
        let t = db.create_table(TableDef::new("t", schema)).unwrap();
        let mut worker = db.worker().unwrap();
        let mut insert = |id| {
            let row = RowBuf::from_values(&t.schema, &[Datum::Int4(id)]).unwrap();
            worker.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row).map(|_| ())).unwrap();
        };
        // the first transaction ends with chores, and the next ones come some dozens of transactions later
        insert(0);
        let merges = || {
            let lists = db.shared().tables.get(t.id).unwrap().workers();
            lists
                .map(|worker| worker.counters.merges.load(scaledb_sync::atomic::Ordering::Relaxed))
                .sum::<u64>()
        };
        for round in 1..4 {
            let before = merges();
            // the first commit that checks may be the one that has pinned the lane
            (0..2 * LATE as i32).for_each(|n| insert(round * 100 + n));
            assert!(merges() > before, "round {round}");
        }
    }
}
