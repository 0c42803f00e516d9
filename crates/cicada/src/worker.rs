//! A worker: the engine interface, on top of the parts of the protocol.

use crate::clock::{LAST_TICK, LONGEST_STEP, WorkerClock};
use crate::config::{Clocks, Consistency};
use crate::garbage::{Item, UNSTAMPED};
use crate::gc::clean;
use crate::rules::Rule;
use crate::shared::CicadaShared;
use crate::table::CicadaTable;
use crate::txn::Txn;
use scaledb_base::{Error, Result, TableId, Timestamp, WorkerId};
use scaledb_engine::{Order, Range, ReadMark, RowId, Savepoint, TxnKind, Worker};
use scaledb_kit::{Counters, count};
use scaledb_log::Writer;
use scaledb_memory::{IDLE, Local};
use scaledb_row::{Projection, RowBuf, RowMut, RowRef};
use scaledb_sync::Arc;
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
pub struct CicadaWorker {
    shared: Arc<CicadaShared>,
    /// `None` without a log. Before `local`: it ends while the worker's id is still its own.
    log: Option<Writer>,
    local: Local,
    txn: Box<Txn>,
    state: WorkerState,
}

/// What a worker keeps between transactions.
pub(crate) struct WorkerState {
    pub(crate) clock: WorkerClock,
    /// The next transaction's serial.
    serial: u64,
    /// What the last committed transaction depends on.
    pub(crate) depends_on: Timestamp,
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
pub(crate) struct Ctx<'a> {
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
    #[inline]
    fn counters(&self) -> &Counters {
        &self.shared.counters[self.local.id().index()]
    }

    /// A transaction that reads the present takes its timestamp (section 3.1).
    #[inline]
    fn begin(&mut self) -> Result<()> {
        let (shared, id) = (self.shared, self.local.id());
        let now = shared.clock.now_fenced();
        let least = self.state.clock.advance(now);
        if least >= LAST_TICK {
            return Err(clock_used_up());
        }
        shared.horizon.announce(id, least);
        self.local.enter_at(now);
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
        self.local.enter_at(shared.clock.now());
        self.txn.ts = shared.horizon.settle_snapshot(id);
        Ok(())
    }

    /// The end of a transaction, however it went.
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
            self.local.enter_at(now);
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

impl CicadaWorker {
    pub(crate) fn new(shared: Arc<CicadaShared>, local: Local) -> Self {
        let id = local.id();
        shared.horizon.register(id);
        let now = shared.clock.now();
        let times =
            (shared.clock.ticks(shared.config.boost), shared.clock.ticks(Duration::from_secs(LONGEST_STEP)));
        let state = WorkerState {
            clock: WorkerClock::new(shared.config.clocks, now, shared.horizon.clock_of(id), times),
            serial: now << Timestamp::ORIGIN_BITS | id.index() as u64,
            depends_on: Timestamp::ZERO,
            calm: 0,
            promotions: 0,
            min_rts: 0,
            row_numbers: Vec::new(),
            chores_at: now,
            until_collect: 0,
            synchronized_at: now,
            peer: id.index(),
            synchronize: shared.clock.ticks(SYNCHRONIZE),
            relieved_at: 0,
            random: id.index() as u64 + 1,
        };
        let log = shared.log().map(|log| log.writer(id));
        let txn = Box::new(Txn::new(&shared.domain));
        Self { shared, log, local, txn, state }
    }

    /// A worker for what no log tells of.
    pub(crate) fn without_log(shared: Arc<CicadaShared>, local: Local) -> Self {
        let mut worker = Self::new(shared, local);
        worker.log = None;
        worker
    }

    /// This worker's next transactions come after the one with this timestamp, whoever ran it: what
    /// [`Consistency::Causal`] asks those to say who tell others about their commits.
    pub fn observe(&mut self, commit_ts: Timestamp) {
        self.state.clock.observe(commit_ts.ticks());
    }

    #[inline]
    pub(crate) fn ctx(&mut self) -> Ctx<'_> {
        Ctx {
            shared: &self.shared,
            log: &mut self.log,
            local: &mut self.local,
            txn: &mut self.txn,
            state: &mut self.state,
        }
    }

    /// Runs one operation of the transaction on a table.
    #[inline]
    fn operate<R>(
        &mut self,
        table: TableId,
        f: impl FnOnce(&mut Ctx<'_>, &CicadaTable) -> Result<R>,
    ) -> Result<R> {
        self.step(|ctx| {
            let shared = ctx.shared;
            shared.tables.get(table).and_then(|table| f(ctx, table))
        })
    }

    /// [`CicadaWorker::operate`] for operations that read a table or through an index.
    #[inline]
    fn operate_reading<R>(
        &mut self,
        table: TableId,
        f: impl FnOnce(&mut Ctx<'_>, &CicadaTable) -> Result<R>,
    ) -> Result<R> {
        self.operate(table, |ctx, table| {
            if table.index_of.is_some() {
                ctx.may_use(table)?;
            }
            f(ctx, table)
        })
    }

    /// Runs one operation of the transaction: a conflict ends it, another error leaves it as it was.
    #[inline]
    fn step<R>(&mut self, f: impl FnOnce(&mut Ctx<'_>) -> Result<R>) -> Result<R> {
        if !self.txn.running {
            return Err(Error::TransactionEnded);
        }
        let mut ctx = self.ctx();
        let result = f(&mut ctx);
        if let Err(Error::Conflict(conflict)) = &result {
            count(&ctx.counters().conflicts[conflict.kind as usize], 1);
            ctx.state.clock.boost(true);
            ctx.state.calm = 0;
            ctx.finish();
        }
        result
    }

    /// [`CicadaWorker::operate`] for operations that write.
    #[inline]
    fn operate_writing<R>(
        &mut self,
        table: TableId,
        f: impl FnOnce(&mut Ctx<'_>, &CicadaTable) -> Result<R>,
    ) -> Result<R> {
        if self.txn.running && self.txn.kind != TxnKind::ReadWrite {
            return Err(Error::ReadOnlyTransaction);
        }
        self.operate(table, |ctx, table| {
            table.check_writable()?;
            ctx.may_write(table)?;
            f(ctx, table)
        })
    }
}

impl Worker for CicadaWorker {
    #[inline]
    fn begin(&mut self, kind: TxnKind) -> Result<()> {
        self.begin_while(kind, &|| true)
    }

    #[inline]
    fn begin_while(&mut self, kind: TxnKind, go_on: &dyn Fn() -> bool) -> Result<()> {
        if self.txn.running {
            self.rollback();
        }
        let mut ctx = self.ctx();
        ctx.txn.kind = kind;
        ctx.note_changes();
        if ctx.shared.domain.is_short() {
            ctx.relieve();
        }
        match kind {
            TxnKind::ReadWrite | TxnKind::ReadOnly => ctx.begin()?,
            TxnKind::Snapshot | TxnKind::Deferrable | TxnKind::Present => {
                ctx.begin_snapshot(kind, go_on)?;
            }
        }
        ctx.state.serial += 1 << Timestamp::ORIGIN_BITS;
        ctx.state.promotions = 0;
        ctx.txn.serial = ctx.state.serial;
        ctx.txn.running = true;
        Ok(())
    }

    #[inline]
    fn in_transaction(&self) -> bool {
        self.txn.running
    }

    #[inline]
    fn get<R>(
        &mut self,
        table: TableId,
        key: &[u8],
        _cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        self.operate_reading(table, |ctx, table| ctx.get(table, key, f))
    }

    fn prefetch<'k>(&mut self, rows: impl Iterator<Item = (TableId, &'k [u8], &'k Projection)>) {
        if self.txn.running {
            self.ctx().prefetch(rows);
        }
    }

    fn prefetch_inserts<'k>(&mut self, keys: impl Iterator<Item = (TableId, &'k [u8])>) {
        if self.txn.running {
            self.ctx().prefetch_inserts(keys);
        }
    }

    fn scan(
        &mut self,
        index: TableId,
        range: Range<'_>,
        order: Order,
        _cols: &Projection,
        f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.operate_reading(index, |ctx, table| ctx.scan(table, range, order, f))
    }

    #[inline]
    fn insert(&mut self, table: TableId, row: &RowBuf) -> Result<RowId> {
        self.operate_writing(table, |ctx, table| ctx.insert(table, row))
    }

    #[inline]
    fn update<R>(
        &mut self,
        table: TableId,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        self.operate_writing(table, |ctx, table| match ctx.locate(table, key) {
            Some(place) => ctx.update(table, place, cols, f),
            None => Ok(None),
        })
    }

    #[inline]
    fn update_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        self.operate_writing(table, |ctx, table| {
            let place = ctx.txn.place(table.id, row)?;
            ctx.update(table, place, cols, f)
        })
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.operate_writing(table, |ctx, table| match ctx.locate(table, key) {
            Some(place) => ctx.delete(table, place),
            None => Ok(false),
        })
    }

    fn delete_at(&mut self, table: TableId, row: RowId) -> Result<bool> {
        self.operate_writing(table, |ctx, table| {
            let place = ctx.txn.place(table.id, row)?;
            ctx.delete(table, place)
        })
    }

    fn check_so_far(&mut self) -> Result<()> {
        // a snapshot has remembered nothing
        self.step(|ctx| ctx.check_so_far())
    }

    fn get_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        _cols: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        self.operate(table, |ctx, table| ctx.get_named(table, row, f))
    }

    fn read_mark(&mut self) -> ReadMark {
        // a promotion is a write
        self.state.promotions = PROMOTIONS;
        self.txn.read_mark()
    }

    fn forget_reads(&mut self, mark: ReadMark) {
        self.txn.forget_reads_since(mark);
    }

    fn refresh(&mut self, mark: ReadMark) -> Result<bool> {
        if self.txn.kind.is_snapshot() {
            return Ok(true);
        }
        self.step(|ctx| {
            let now = ctx.shared.clock.now_fenced();
            let ticks = ctx.state.clock.advance(now);
            ctx.take_later(ticks)?;
            match ctx.check_so_far() {
                Ok(()) => Ok(true),
                Err(error) if error.is_conflict() => {
                    ctx.txn.forget_reads_since(mark);
                    ctx.check_so_far().map(|()| false)
                }
                Err(error) => Err(error),
            }
        })
    }

    fn savepoint(&mut self) -> Result<Savepoint> {
        if !self.txn.running {
            return Err(Error::TransactionEnded);
        }
        Ok(self.txn.writes.savepoint())
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        if !self.txn.running {
            return Err(Error::TransactionEnded);
        }
        let mark = self.txn.writes.back_to(savepoint)?;
        self.ctx().roll_back_to(mark);
        Ok(())
    }

    #[inline]
    fn commit(&mut self) -> Result<Timestamp> {
        if !self.txn.running {
            return Err(Error::TransactionEnded);
        }
        let mut ctx = self.ctx();
        let reads_present = matches!(ctx.txn.kind, TxnKind::ReadWrite | TxnKind::ReadOnly);
        let result = ctx.commit();
        match &result {
            Ok(_) => {
                count(&ctx.counters().commits, 1);
                ctx.state.clock.boost(false);
                ctx.state.calm = ctx.state.calm.saturating_add(1);
            }
            Err(Error::Conflict(conflict)) => {
                count(&ctx.counters().conflicts[conflict.kind as usize], 1);
                ctx.state.clock.boost(true);
                ctx.state.calm = 0;
            }
            Err(_) => count(&ctx.counters().rollbacks, 1),
        }
        let now = ctx.shared.clock.now();
        ctx.chores(now);
        ctx.finish();
        if let (Ok(ts), true) = (&result, reads_present) {
            ctx.wait_for_clock(*ts, now);
        }
        result
    }

    #[inline]
    fn id(&self) -> WorkerId {
        self.local.id()
    }

    fn depends_on(&self) -> Timestamp {
        self.state.depends_on
    }

    fn wait_durable(&self) -> Result<()> {
        self.shared.wait_durable(self.state.depends_on)
    }

    fn rollback(&mut self) {
        if self.txn.running {
            let mut ctx = self.ctx();
            count(&ctx.counters().rollbacks, 1);
            let now = ctx.shared.clock.now();
            ctx.chores(now);
            ctx.finish();
        }
    }

    fn back_off(&mut self, attempt: u32) {
        let backoff = &self.shared.backoff;
        let limit = backoff.limit().max(backoff.least()) << attempt.saturating_sub(LOSSES).min(6);
        backoff.wait(&self.shared.clock, limit, &mut self.state.random);
    }
}

impl Drop for CicadaWorker {
    fn drop(&mut self) {
        self.rollback();
        // the next worker of this id goes on behind this one's timestamps: they stand in the horizon's slot.
        // What is left in the queue is cleaned by the background thread, or by that worker.
        let mut ctx = self.ctx();
        let now = ctx.shared.clock.now();
        ctx.local.enter_at(now);
        ctx.do_chores(now);
        ctx.local.exit();
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
