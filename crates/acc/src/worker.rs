//! A worker: the engine interface, on top of the parts of the protocol.

use crate::contention::PATIENCE;
use crate::lane::Lane;
use crate::rules::Rule;
use crate::shared::AccShared;
use crate::table::AccTable;
use crate::txn::Txn;
use scaledb_base::{Conflict, Error, Result, TableId, Timestamp, WorkerId};
use scaledb_engine::{Order, Range, ReadMark, RowId, Savepoint, TxnKind, Worker};
use scaledb_kit::{Counters, count};
use scaledb_log::Writer;
use scaledb_memory::Local;
use scaledb_row::{Projection, RowBuf, RowMut, RowRef};
use scaledb_sync::Arc;
use std::ops::ControlFlow;

/// One thread's access to an [`Acc`](crate::Acc) database.
pub struct AccWorker {
    /// `None` without a log. Before `local`: it ends while the worker's id is still its own.
    log: Option<Writer>,
    shared: Arc<AccShared>,
    local: Local,
    txn: Box<Txn>,
    state: WorkerState,
}

/// What a worker keeps between transactions.
pub(crate) struct WorkerState {
    /// The worker's last commit: the next one is later.
    pub(crate) last_ticks: u64,
    pub(crate) begun: u64,
    /// What the last committed transaction depends on.
    pub(crate) depends_on: Timestamp,
    /// The next transaction's serial.
    pub(crate) serial: u64,
    /// Whether this worker holds the contention control's priority.
    pub(crate) privileged: bool,
    /// Commits until the next look at what else is to do.
    pub(crate) until_chores: u32,
    /// When the worker has last looked for memory that can be freed.
    pub(crate) relieved_at: u64,
    pub(crate) random: u64,
}

/// A worker at work: its own parts and the shared ones, borrowed apart.
pub(crate) struct Ctx<'a> {
    pub(crate) shared: &'a AccShared,
    pub(crate) local: &'a mut Local,
    pub(crate) txn: &'a mut Txn,
    pub(crate) state: &'a mut WorkerState,
    pub(crate) log: &'a mut Option<Writer>,
}

impl Ctx<'_> {
    #[inline]
    pub(crate) fn lane(&self) -> &Lane {
        &self.shared.lanes[self.local.id().index()]
    }

    #[inline]
    pub(crate) fn counters(&self) -> &Counters {
        &self.shared.counters[self.local.id().index()]
    }

    /// Counts a conflict. Who committed before this transaction began was not in its way.
    #[cold]
    fn note(&self, conflict: &mut Conflict) {
        count(&self.counters().conflicts[conflict.kind as usize], 1);
        conflict.with = conflict.with.filter(|with| with.ticks() >= self.state.begun);
    }

    /// Waits after a conflict: for a random time up to the limit, doubled with each further attempt; or not
    /// at all, with priority, when the transaction has lost too often.
    pub(crate) fn back_off(&mut self, attempt: u32) {
        let contention = &self.shared.contention;
        if attempt >= PATIENCE && !self.state.privileged && contention.take() {
            self.state.privileged = true;
        }
        if self.state.privileged {
            return;
        }
        let backoff = &self.shared.backoff;
        let limit = backoff.limit().max(backoff.least()) << attempt.min(6) >> 1;
        backoff.wait(&self.shared.clock, limit, &mut self.state.random);
    }

    /// The end of a transaction, however it went.
    #[inline]
    pub(crate) fn finish(&mut self) {
        let huge = self.txn.clear();
        if self.txn.kind.is_snapshot() {
            self.end_snapshot();
        }
        self.local.exit();
        if self.state.privileged {
            self.state.privileged = false;
            self.shared.contention.release();
        }
        if huge {
            self.local.give_back();
        }
    }
}

impl AccWorker {
    pub(crate) fn new(shared: Arc<AccShared>, local: Local) -> Self {
        let id = local.id().index() as u64;
        let state = WorkerState {
            last_ticks: 0,
            begun: 0,
            depends_on: Timestamp::ZERO,
            serial: shared.clock.now() << Timestamp::ORIGIN_BITS | id,
            privileged: false,
            until_chores: 0,
            relieved_at: 0,
            random: id + 1,
        };
        let log = shared.log().map(|log| log.writer(local.id()));
        let txn = Box::new(Txn::new(&shared.domain));
        Self { shared, local, txn, state, log }
    }

    /// A worker for what no log tells of.
    pub(crate) fn without_log(shared: Arc<AccShared>, local: Local) -> Self {
        let mut worker = Self::new(shared, local);
        worker.log = None;
        worker
    }

    #[inline]
    pub(crate) fn ctx(&mut self) -> Ctx<'_> {
        Ctx {
            shared: &self.shared,
            local: &mut self.local,
            txn: &mut self.txn,
            state: &mut self.state,
            log: &mut self.log,
        }
    }

    /// Runs one operation of the transaction on a table.
    #[inline]
    fn operate<R>(
        &mut self,
        table: TableId,
        f: impl FnOnce(&mut Ctx<'_>, &AccTable) -> Result<R>,
    ) -> Result<R> {
        self.step(|ctx| {
            let shared = ctx.shared;
            shared.tables.get(table).and_then(|table| f(ctx, table))
        })
    }

    /// [`AccWorker::operate`] for operations that read a table or through an index.
    #[inline]
    fn operate_reading<R>(
        &mut self,
        table: TableId,
        f: impl FnOnce(&mut Ctx<'_>, &AccTable) -> Result<R>,
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
        let mut result = f(&mut ctx);
        if let Err(Error::Conflict(conflict)) = &mut result {
            ctx.note(conflict);
            ctx.finish();
        }
        result
    }

    /// [`AccWorker::operate`] for operations that write.
    #[inline]
    fn operate_writing<R>(
        &mut self,
        table: TableId,
        f: impl FnOnce(&mut Ctx<'_>, &AccTable) -> Result<R>,
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

    fn is_snapshot(&self) -> bool {
        self.txn.kind.is_snapshot()
    }
}

impl Worker for AccWorker {
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
        if ctx.shared.domain.is_short() {
            ctx.relieve();
        }
        ctx.state.begun = ctx.local.enter();
        ctx.state.serial += 1 << Timestamp::ORIGIN_BITS;
        ctx.txn.serial = ctx.state.serial;
        ctx.txn.running = true;
        ctx.txn.kind = kind;
        ctx.note_changes();
        if kind.is_snapshot() {
            let begun = ctx.begin_snapshot(kind != TxnKind::Snapshot, go_on);
            if begun.is_err() {
                ctx.finish();
            }
            return begun;
        }
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
        cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        if self.is_snapshot() {
            return self.operate_reading(table, |ctx, table| ctx.get_at(table, key, cols, f));
        }
        self.operate_reading(table, |ctx, table| ctx.get(table, key, cols, f))
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
        cols: &Projection,
        f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if self.is_snapshot() {
            return self.operate_reading(index, |ctx, table| ctx.scan_at(table, range, order, cols, f));
        }
        self.operate_reading(index, |ctx, table| ctx.scan(table, range, order, cols, f))
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
        // what a snapshot reads holds together
        let snapshot = self.is_snapshot();
        self.step(|ctx| if snapshot { Ok(()) } else { ctx.check_so_far() })
    }

    fn get_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        if self.is_snapshot() {
            return Err(Error::ReadOnlyTransaction);
        }
        self.operate(table, |ctx, table| ctx.get_named(table, row, cols, f))
    }

    fn read_mark(&mut self) -> ReadMark {
        self.txn.read_mark()
    }

    fn forget_reads(&mut self, mark: ReadMark) {
        self.txn.forget_reads_since(mark);
    }

    fn refresh(&mut self, mark: ReadMark) -> Result<bool> {
        if self.is_snapshot() {
            return Ok(true);
        }
        self.step(|ctx| match ctx.check_so_far() {
            Ok(()) => Ok(true),
            Err(error) if error.is_conflict() => {
                ctx.txn.forget_reads_since(mark);
                ctx.check_so_far().map(|()| false)
            }
            Err(error) => Err(error),
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
        let mut ctx = self.ctx();
        let keep_reads = ctx.shared.config.rules.on(Rule::UndoneReads);
        for undone in ctx.txn.inserts_since(mark) {
            if keep_reads {
                ctx.note_free(undone);
            }
        }
        let reads = self.txn.reads.len();
        self.txn.undo_to(mark);
        if !keep_reads {
            self.txn.reads.truncate(reads);
        }
        Ok(())
    }

    #[inline]
    fn commit(&mut self) -> Result<Timestamp> {
        if !self.txn.running {
            return Err(Error::TransactionEnded);
        }
        let mut ctx = self.ctx();
        let mut result = ctx.commit();
        match &mut result {
            Ok(_) => count(&ctx.counters().commits, 1),
            Err(Error::Conflict(conflict)) => ctx.note(conflict),
            Err(_) => count(&ctx.counters().rollbacks, 1),
        }
        ctx.finish();
        ctx.chores();
        result
    }

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
            ctx.finish();
        }
    }

    fn back_off(&mut self, attempt: u32) {
        let mut ctx = self.ctx();
        ctx.back_off(attempt);
    }
}

impl Drop for AccWorker {
    fn drop(&mut self) {
        self.rollback();
        self.ctx().leave();
    }
}
