//! A worker at work: Cicada's operations, on which `scaledb_kit` puts the engine interface.

use crate::clock::{LAST_TICK, LONGEST_STEP, WorkerClock};
use crate::config::{Clocks, Consistency};
use crate::garbage::{Item, UNSTAMPED};
use crate::gc::clean;
use crate::record::Record;
use crate::rules::Rule;
use crate::shared::CicadaShared;
use crate::table::CicadaTable;
use crate::txn::{RowLocation, Txn};
use scaledb_base::{Conflict, Error, Result, TableId, Timestamp, WorkerId};
use scaledb_engine::{Order, Range, ReadMark, RowId, TxnKind};
use scaledb_kit::{InstanceWorker, Operations, Parts, RecordWriter, Transactions, TxnCore, WriteMark};
use scaledb_log::Writer;
use scaledb_memory::{IDLE, Local};
use scaledb_row::{Projection, RowBuf, RowMut, RowRef};
use scaledb_sync::hint::Backoff;
use std::ops::ControlFlow;
use std::time::Duration;

/// Versions that one transaction promotes at the most.
pub(crate) const PROMOTIONS: u32 = 4;

/// Attempts after which the limit of the backoff begins to double, so that others get out of the way of a transaction
/// that lost often.
const LOSSES: u32 = 8;

/// A loose clock looks at another one this often (section 3.1).
const SYNCHRONIZE: Duration = Duration::from_micros(100);

/// Chores between two looks for memory that others may have left.
const COLLECT: u32 = if scaledb_sync::MODEL { 1 } else { 16 };

/// A worker that begins transactions while memory is short looks this often for what can be freed.
const RELIEF: Duration = Duration::from_micros(200);
/// Parts of a long queue that are cleaned then.
const ROUNDS: usize = 16;
/// Steps of the horizon until what is in a queue is old enough: its epoch is noted, is over, and is seen to be.
const EPOCHS: usize = 3;

/// How long [`TxnKind::Present`] waits at least.
const PATIENCE: Duration = Duration::from_millis(20);
/// It waits for transactions that are younger: their thread may be off its core, or their client on its way.
const YOUTH: Duration = Duration::from_secs(1);

/// Whether a transaction of this age that has been waited for so long is left open, and waited for no longer. Both are
/// asked for: one that is old costs each reader a short wait only, and a machine that stood still has aged all.
fn is_left_open(waited: u64, age: u64, (patience, youth): (u64, u64)) -> bool {
    waited > patience && (age > youth || waited > youth)
}

/// One thread's access to a [`Cicada`](crate::Cicada) database.
pub type CicadaWorker = InstanceWorker<CicadaShared>;

/// What a worker keeps between transactions.
pub struct WorkerState {
    pub(crate) clock: WorkerClock,
    /// Commits since the last conflict.
    pub(crate) calm: u32,
    /// Versions that the running transaction has promoted.
    pub(crate) promotions: u32,
    /// A recent `min_rts`.
    pub(crate) min_rts: u64,
    /// Numbers for rows without a key, by table.
    pub(crate) row_numbers: Vec<std::ops::Range<u64>>,
    chores_at: u64,
    until_collect: u32,
    /// When a loose clock looked at another one, and at whose.
    synchronized_at: u64,
    peer: usize,
    synchronize: u64,
    /// When the worker has last looked for memory that can be freed.
    relieved_at: u64,
    random: u64,
}

/// A worker at work: its own parts and the shared ones, borrowed apart.
pub struct Ctx<'a> {
    pub(crate) shared: &'a CicadaShared,
    pub(crate) log: &'a mut Option<Writer>,
    pub(crate) local: &'a mut Local,
    pub(crate) txn: &'a mut Txn,
    pub(crate) state: &'a mut WorkerState,
}

#[cold]
pub(crate) fn clock_used_up() -> Error {
    Error::BadDefinition("the 54 bits of the clock are used up".into())
}

impl Ctx<'_> {
    /// A transaction that reads the present takes its timestamp (section 3.1).
    #[inline]
    fn begin_present(&mut self) -> Result<()> {
        let (shared, id) = (self.shared, self.local.id());
        let now = shared.clock.now_fenced();
        let least = self.state.clock.advance(now);
        if least >= LAST_TICK {
            return Err(clock_used_up());
        }
        shared.horizon.announce(id, least);
        // SAFETY: the domain's clock was read above.
        unsafe { self.local.enter_at(now) };
        let ticks = shared.horizon.settle(id, least);
        self.state.clock.used(ticks);
        self.txn.ts = Timestamp::new(ticks, id).raw();
        Ok(())
    }

    /// A snapshot takes its boundary: the last one, or one behind all that has begun. The latter waits for all
    /// transactions that are open: a deferrable one however long their owners leave them so, one of the present
    /// only for young ones, see [`is_left_open`].
    fn begin_snapshot(&mut self, kind: TxnKind, go_on: &dyn Fn() -> bool) -> Result<()> {
        let (shared, id) = (self.shared, self.local.id());
        if kind != TxnKind::Snapshot {
            let least = shared.horizon.latest() + 1;
            let mut backoff = Backoff::new();
            let since = shared.clock.now();
            let times = (shared.clock.ticks(PATIENCE), shared.clock.ticks(YOUTH));
            while shared.horizon.min_wts() < Timestamp::start_of(least).raw() {
                if !go_on() {
                    return Err(Error::Stopped);
                }
                let now = shared.clock.now();
                if kind == TxnKind::Present {
                    let waited = now.saturating_sub(since);
                    let age = shared.horizon.oldest().map_or(0, |oldest| now.saturating_sub(oldest));
                    if is_left_open(waited, age, times) {
                        return Err(Error::SnapshotNotReady);
                    }
                }
                shared.lead(self.state.clock.advance(now).max(least), now);
                backoff.wait_forever();
            }
        }
        shared.horizon.announce_snapshot(id);
        self.local.enter();
        self.txn.ts = shared.horizon.settle_snapshot(id);
        Ok(())
    }

    /// The records that were kept for inserts are left to clean-up.
    #[cold]
    fn unpin(&mut self) {
        let wts = self.txn.ts;
        let items = self.txn.pins.drain(..);
        let items = items.map(|(table, record)| Item { record, table, version: None, wts, epoch: UNSTAMPED });
        self.shared.lanes[self.local.id().index()].lock().extend(items);
    }

    /// At the end of a transaction, every some microseconds: what it and earlier ones have superseded is
    /// reclaimed, and somebody moves the horizon (section 3.8), which the transaction holds back no more.
    #[inline]
    fn chores(&mut self, now: u64) {
        self.shared.horizon.end(self.local.id());
        if now.wrapping_sub(self.state.chores_at) >= self.shared.quiescence {
            self.do_chores(now);
        }
    }

    #[cold]
    fn do_chores(&mut self, now: u64) {
        let shared = self.shared;
        self.state.chores_at = now;
        if shared.horizon.wants_leader(now, shared.quiescence) {
            shared.lead(self.state.clock.peek(now), now);
        }
        self.state.min_rts = shared.horizon.min_rts();
        clean(shared, self.local, &mut shared.lanes[self.local.id().index()].lock());
        if shared.config.clocks == Clocks::Loose {
            self.synchronize(now);
        }
        if self.state.until_collect == 0 {
            self.state.until_collect = COLLECT;
            self.local.collect();
            if !shared.config.background {
                shared.regulate(now);
            }
        } else {
            self.state.until_collect -= 1;
        }
    }

    /// Between transactions, when memory is short: frees what can be freed, so that the transaction to come finds
    /// what deletes before it have left.
    #[cold]
    fn relieve(&mut self) {
        let (shared, now) = (self.shared, self.shared.clock.now());
        if now.wrapping_sub(self.state.relieved_at) < shared.clock.ticks(RELIEF) {
            return;
        }
        self.state.relieved_at = now;
        for _ in 0..EPOCHS {
            shared.lead(self.state.clock.peek(now), now);
            self.local.enter();
            for (id, lane) in shared.lanes.iter().enumerate().take(shared.horizon.workers()) {
                let id = WorkerId(id as u8);
                if id == self.local.id() || shared.domain.active_since(id) == IDLE {
                    let mut lane = lane.lock();
                    let _more = (0..ROUNDS).all(|_| clean(shared, self.local, &mut lane));
                }
            }
            self.local.exit();
        }
        self.local.collect();
        shared.domain.restore_reserve();
    }

    /// One-sided synchronization (section 3.1): the next worker's clock is looked at.
    fn synchronize(&mut self, now: u64) {
        if now.wrapping_sub(self.state.synchronized_at) < self.state.synchronize {
            return;
        }
        self.state.synchronized_at = now;
        let workers = self.shared.horizon.workers();
        self.state.peer = (self.state.peer + 1) % workers.max(1);
        let peer = scaledb_base::WorkerId(self.state.peer as u8);
        if peer != self.local.id() {
            self.state.clock.catch_up(self.shared.horizon.clock_of(peer));
        }
    }

    /// External consistency (section 3.1): no transaction that begins after this returns has a smaller
    /// timestamp than `ts`, which has committed.
    #[inline]
    fn wait_for_clock(&mut self, ts: Timestamp, now: u64) {
        let shared = self.shared;
        if shared.config.consistency == Consistency::Causal || !shared.config.rules.on(Rule::WaitForClock) {
            return;
        }
        match shared.config.clocks {
            Clocks::Synchronized => {
                let mut now = now;
                while now <= ts.ticks() {
                    scaledb_sync::hint::spin_loop();
                    now = shared.clock.now();
                }
            }
            Clocks::Loose => {
                let mut backoff = Backoff::new();
                while shared.horizon.min_wts() <= ts.raw() {
                    let now = shared.clock.now();
                    shared.lead(self.state.clock.advance(now).max(ts.ticks() + 1), now);
                    if shared.horizon.min_wts() <= ts.raw() {
                        backoff.wait_forever();
                    }
                }
            }
        }
    }
}

impl Transactions for CicadaShared {
    type Txn = Txn;
    type State = WorkerState;
    type Ctx<'a> = Ctx<'a>;

    fn txn(&self, core: TxnCore) -> Txn {
        Txn::new(core)
    }

    fn state(&self, id: WorkerId) -> WorkerState {
        self.horizon.register(id);
        let now = self.clock.now();
        let times =
            (self.clock.ticks(self.config.boost), self.clock.ticks(Duration::from_secs(LONGEST_STEP)));
        WorkerState {
            clock: WorkerClock::new(self.config.clocks, now, self.horizon.clock_of(id), times),
            calm: 0,
            promotions: 0,
            min_rts: 0,
            row_numbers: Vec::new(),
            chores_at: now,
            until_collect: 0,
            synchronized_at: now,
            peer: id.index(),
            synchronize: self.clock.ticks(SYNCHRONIZE),
            relieved_at: 0,
            random: id.index() as u64 + 1,
        }
    }

    #[inline(always)]
    fn ctx(Parts { shared, log, local, txn, state }: Parts<'_, Self>) -> Ctx<'_> {
        Ctx { shared, log, local, txn, state }
    }
}

impl Operations<CicadaShared> for Ctx<'_> {
    #[inline(always)]
    fn txn(&mut self) -> &mut Txn {
        self.txn
    }

    fn relieve(&mut self) {
        self.relieve();
    }

    #[inline]
    fn begin(&mut self, kind: TxnKind, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.state.promotions = 0;
        if kind.is_snapshot() { self.begin_snapshot(kind, go_on) } else { self.begin_present() }
    }

    #[inline]
    fn reads_at(&self) -> u64 {
        self.txn.ts
    }

    #[inline]
    fn get<R>(
        &mut self,
        table: &CicadaTable,
        key: &[u8],
        _: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        self.get(table, key, f)
    }

    fn get_named<R>(
        &mut self,
        table: &CicadaTable,
        row: RowId,
        _: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        self.get_named(table, row, f)
    }

    fn scan(
        &mut self,
        table: &CicadaTable,
        range: Range<'_>,
        order: Order,
        _: &Projection,
        f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan(table, range, order, f)
    }

    fn prefetch<'k>(&mut self, rows: impl Iterator<Item = (TableId, &'k [u8], &'k Projection)>) {
        self.prefetch(rows);
    }

    fn prefetch_inserts<'k>(&mut self, keys: impl Iterator<Item = (TableId, &'k [u8])>) {
        self.prefetch_inserts(keys);
    }

    fn prefetch_ranges<'k>(&mut self, starts: impl Iterator<Item = (TableId, &'k [u8])>) {
        self.prefetch_ranges(starts);
    }

    #[inline]
    fn insert(&mut self, table: &CicadaTable, row: &RowBuf) -> Result<RowId> {
        self.insert(table, row)
    }

    #[inline]
    fn locate(&mut self, table: &CicadaTable, key: &[u8]) -> Option<RowLocation> {
        self.locate(table, key)
    }

    #[inline]
    fn update<R>(
        &mut self,
        table: &CicadaTable,
        place: RowLocation,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        self.update(table, place, cols, f)
    }

    fn delete(&mut self, table: &CicadaTable, place: RowLocation) -> Result<bool> {
        self.delete(table, place)
    }

    fn delete_lone_record(&mut self, table: &CicadaTable, record: Record) -> Result<()> {
        if record.is_obsolete() { Ok(()) } else { self.delete_lone_record(table, record) }
    }

    fn check_so_far(&mut self) -> Result<()> {
        // a snapshot has remembered nothing
        self.check_so_far()
    }

    fn check_since(&mut self, mark: ReadMark) -> Result<()> {
        self.check_since(mark)
    }

    fn begin_forgettable_reads(&mut self) {
        // a promotion is a write
        self.state.promotions = PROMOTIONS;
    }

    fn take_new_place(&mut self) -> Result<()> {
        let now = self.shared.clock.now_fenced();
        let ticks = self.state.clock.advance(now);
        self.take_later(ticks)
    }

    fn roll_back_to(&mut self, mark: WriteMark) {
        self.roll_back_to(mark);
    }

    #[inline]
    fn commit(&mut self) -> Result<Timestamp> {
        self.commit()
    }

    #[inline]
    fn after_commit(&mut self, result: &Result<Timestamp>) {
        if result.is_ok() {
            self.state.clock.boost(false);
            self.state.calm = self.state.calm.saturating_add(1);
        }
        let now = self.shared.clock.now();
        self.chores(now);
        self.finish();
        if let (Ok(ts), false) = (result, self.txn.kind.is_snapshot()) {
            self.wait_for_clock(*ts, now);
        }
    }

    fn after_rollback(&mut self) {
        let now = self.shared.clock.now();
        self.chores(now);
        self.finish();
    }

    #[inline]
    fn finish(&mut self) {
        if !self.txn.pins.is_empty() {
            self.unpin();
        }
        let huge = self.txn.clear();
        self.shared.horizon.end(self.local.id());
        self.local.exit();
        if huge {
            self.local.give_back();
        }
    }

    fn note_conflict(&mut self, _: &mut Conflict) {
        self.state.clock.boost(true);
        self.state.calm = 0;
    }

    fn back_off(&mut self, attempt: u32) {
        let backoff = &self.shared.backoff;
        let limit = backoff.limit().max(backoff.least()) << attempt.saturating_sub(LOSSES).min(6);
        backoff.wait(&self.shared.clock, limit, &mut self.state.random);
    }

    fn observe(&mut self, commit_ts: Timestamp) {
        self.state.clock.observe(commit_ts.ticks());
    }

    fn leave(&mut self) {
        // the next worker of this id goes on behind this one's timestamps: they stand in the horizon's slot.
        // What is left in the queue is cleaned by the background thread, or by that worker.
        let now = self.local.enter();
        self.do_chores(now);
        self.local.exit();
    }
}

impl RecordWriter<CicadaShared> for Ctx<'_> {
    const ENTRY: &'static [u64] = &[0];

    #[inline]
    fn insert_record(
        &mut self,
        table: &CicadaTable,
        key: &[u8],
        words: &[u64],
        base: Option<usize>,
    ) -> Result<usize> {
        self.insert_record(table, key, words, base)
    }

    #[inline]
    fn delete_record(&mut self, table: &CicadaTable, place: RowLocation) -> Result<bool> {
        self.delete_record(table, place)
    }

    #[inline]
    fn next_row_number(&mut self, table: &CicadaTable) -> Result<u64> {
        Ok(self.next_row_number(table))
    }

    fn undo_statement(&mut self, mark: WriteMark) {
        self.txn.undo_to(mark, true);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_reader_waits_for_young_transactions_and_briefly_for_old_ones() {
        let times = (20, 1000);
        let left = |waited, age| is_left_open(waited, age, times);
        // a writer whose thread lost its core for a while is waited for
        assert!(!left(21, 21) && !left(999, 1000));
        // one that is left open is not, for longer than a moment; nor one whose clock is ahead
        assert!(!left(20, 100_000) && left(21, 1001) && left(1001, 0));
    }
}
