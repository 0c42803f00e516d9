//! A worker of an [`Instance`](crate::Instance): the engine interface, on top of an engine's [`Operations`]. What every
//! engine checks before an operation, counts, and does behind one, stands here.

use crate::counters::count;
use crate::operations::{Operations, Parts, Transactions};
use crate::record::Record;
use crate::records::RecordOf;
use crate::txn::{Transaction, TxnCore};
use scaledb_base::{Conflict, Error, Result, TableId, Timestamp, WorkerId};
use scaledb_engine::{Order, Range, ReadMark, RowId, Savepoint, TxnKind, Worker, WriteToScan};
use scaledb_log::Writer;
use scaledb_memory::Local;
use scaledb_row::{Projection, RowBuf, RowMut, RowRef};
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use std::ops::ControlFlow;

/// What a scan hands its rows to.
type EachRow<'f> = dyn FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()> + 'f;

/// One thread's access to an [`Instance`](crate::Instance): runs one transaction at a time.
pub struct InstanceWorker<P: Transactions> {
    /// `None` without a log. Before `local`: it ends while the worker's id is still its own.
    log: Option<Writer>,
    local: Local,
    txn: Box<P::Txn>,
    state: P::State,
    shared: Arc<P>,
}

impl<P: Transactions> InstanceWorker<P> {
    /// A worker with this access to memory, whose commits are logged if the database has a log.
    pub fn new(shared: Arc<P>, local: Local) -> Self {
        let id = local.id();
        let core = shared.core();
        let serial = core.clock.now() << Timestamp::ORIGIN_BITS | id.index() as u64;
        let log = core.log().map(|log| log.writer(id));
        let txn = Box::new(shared.txn(TxnCore::new(&core.domain, serial)));
        let state = shared.state(id);
        Self { log, local, txn, state, shared }
    }

    /// A worker for what no log tells of.
    pub(crate) fn without_log(shared: Arc<P>, local: Local) -> Self {
        let mut worker = Self::new(shared, local);
        worker.log = None;
        worker
    }

    /// This worker's next transactions come after the one with this timestamp, whoever ran it: for those who tell
    /// others about their commits, and use an engine whose order need not agree with real time.
    pub fn observe(&mut self, commit_ts: Timestamp) {
        self.ctx().observe(commit_ts);
    }

    /// The worker at work.
    #[inline]
    pub fn ctx(&mut self) -> P::Ctx<'_> {
        self.parts().1
    }

    /// What all workers share, the worker at work, and its number.
    #[inline(always)]
    fn parts(&mut self) -> (&P, P::Ctx<'_>, usize) {
        let Self { log, local, txn, state, shared } = self;
        let (shared, number): (&P, usize) = (shared, local.id().index());
        (shared, P::ctx(Parts { shared, log, local, txn, state }), number)
    }

    #[inline]
    fn is_snapshot(&self) -> bool {
        self.txn.kind.is_snapshot()
    }

    #[inline]
    fn check_running(&self) -> Result<()> {
        if self.txn.running { Ok(()) } else { Err(Error::TransactionEnded) }
    }

    /// Runs one operation of the transaction: a conflict ends it, another error leaves it as it was.
    #[inline]
    fn step<R>(&mut self, f: impl FnOnce(&P, &mut P::Ctx<'_>) -> Result<R>) -> Result<R> {
        self.check_running()?;
        let (shared, mut ctx, number) = self.parts();
        let mut result = f(shared, &mut ctx);
        if let Err(Error::Conflict(conflict)) = &mut result {
            note_conflict(shared, &mut ctx, number, conflict);
            ctx.finish();
        }
        result
    }

    /// [`step`](Self::step) on a table.
    #[inline]
    fn operate<R>(
        &mut self,
        table: TableId,
        f: impl FnOnce(&mut P::Ctx<'_>, &P::Table) -> Result<R>,
    ) -> Result<R> {
        self.step(|shared, ctx| shared.core().tables.get(table).and_then(|table| f(ctx, table)))
    }

    /// [`step`](Self::step) that reads a table, or through an index.
    #[inline]
    fn operate_reading<R>(
        &mut self,
        table: TableId,
        f: impl FnOnce(&mut P::Ctx<'_>, &P::Table) -> Result<R>,
    ) -> Result<R> {
        self.step(|shared, ctx| {
            let core = shared.core();
            let table = core.tables.get(table)?;
            // pairs with the store when the table is dropped; a commit that has missed it is refused all the same
            if table.asked.load(Ordering::Acquire) {
                let at = ctx.reads_at();
                core.may_use(ctx.txn(), table, at)?;
            }
            f(ctx, table)
        })
    }

    /// [`step`](Self::step) that writes to a table.
    #[inline]
    fn operate_writing<R>(
        &mut self,
        table: TableId,
        f: impl FnOnce(&mut P::Ctx<'_>, &P::Table) -> Result<R>,
    ) -> Result<R> {
        if self.txn.running && self.txn.kind != TxnKind::ReadWrite {
            return Err(Error::ReadOnlyTransaction);
        }
        self.step(|shared, ctx| {
            let core = shared.core();
            let table = core.tables.get(table)?;
            table.check_writable()?;
            let at = ctx.reads_at();
            core.may_write(ctx.txn(), table, at)?;
            f(ctx, table)
        })
    }

    /// [`Worker::scan`], which counts how long ago the rows that it finds were written.
    #[cold]
    fn scan_sampled(
        &mut self,
        index: TableId,
        range: Range<'_>,
        order: Order,
        cols: &Projection,
        mut f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let all = self.shared.clone();
        self.operate_reading(index, |ctx, table| {
            let clock = &all.core().clock;
            let (now, mut found) = (clock.now(), [0; WriteToScan::BUCKETS]);
            // not another copy of the engine's scan for each caller
            let each: &mut EachRow<'_> = &mut |id, key, row| {
                if let Some(raw) = id.record() {
                    // SAFETY: the scan has found the record in the transaction that runs.
                    let written = unsafe { RecordOf::<P>::from_raw(raw) }.committed();
                    let ago = clock.duration(now.saturating_sub(written.ticks()));
                    found[WriteToScan::bucket(ago)] += 1;
                }
                f(id, key, row)
            };
            let scanned = ctx.scan(table, range, order, cols, each);
            table.sampled.add(&found);
            scanned
        })
    }

    /// Deletes records of a dropped index or a cleared table, and nothing else, in the running transaction: those that
    /// `choose` returns the addresses of, as far as they are not deleted yet. Returns what else it returns.
    ///
    /// # Errors
    /// As [`Worker::delete`].
    ///
    /// # Safety
    /// A transaction runs, and the table held the records at these addresses at some time since it began: so none of
    /// them is reclaimed before it ends.
    pub(crate) unsafe fn delete_records<R>(
        &mut self,
        table: &P::Table,
        choose: impl FnOnce(&Local) -> (Vec<u64>, R),
    ) -> Result<R> {
        debug_assert!(self.txn.running, "the records are valid while the transaction runs");
        let (records, rest) = choose(&self.local);
        let mut ctx = self.ctx();
        for raw in records {
            // SAFETY: the caller's promise.
            ctx.delete_lone_record(table, unsafe { RecordOf::<P>::from_raw(raw) })?;
        }
        Ok(rest)
    }
}

/// Counts a conflict of a worker.
#[cold]
fn note_conflict<P: Transactions>(shared: &P, ctx: &mut P::Ctx<'_>, number: usize, conflict: &mut Conflict) {
    count(&shared.core().counters[number].conflicts[conflict.kind as usize], 1);
    ctx.note_conflict(conflict);
}

impl<P: Transactions> Worker for InstanceWorker<P> {
    #[inline]
    fn begin(&mut self, kind: TxnKind) -> Result<()> {
        self.begin_while(kind, &|| true)
    }

    #[inline]
    fn begin_while(&mut self, kind: TxnKind, go_on: &dyn Fn() -> bool) -> Result<()> {
        if self.txn.running {
            self.rollback();
        }
        let (shared, mut ctx, _) = self.parts();
        let core = shared.core();
        if core.domain.is_short() {
            ctx.relieve();
        }
        // Before the transaction can read anything: a change that is counted after this is one that it may have met,
        // and is compared with what it has used. It need not be protected from reclamation for that; tables stay.
        ctx.txn().begin(kind, core.changes.see());
        ctx.begin(kind, go_on)?;
        ctx.txn().running = true;
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

    fn prefetch_ranges<'k>(&mut self, starts: impl Iterator<Item = (TableId, &'k [u8])>) {
        if self.txn.running {
            self.ctx().prefetch_ranges(starts);
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
        if self.txn.is_sampled() {
            return self.scan_sampled(index, range, order, cols, f);
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
            let place = ctx.txn().place(table.id, row)?;
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
            let place = ctx.txn().place(table.id, row)?;
            ctx.delete(table, place)
        })
    }

    fn check_so_far(&mut self) -> Result<()> {
        self.step(|_, ctx| ctx.check_so_far())
    }

    fn check_since(&mut self, mark: ReadMark) -> Result<()> {
        self.step(|_, ctx| ctx.check_since(mark))
    }

    fn get_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        self.operate(table, |ctx, table| ctx.get_named(table, row, cols, f))
    }

    fn read_mark(&mut self) -> ReadMark {
        self.ctx().begin_forgettable_reads();
        self.txn.read_mark()
    }

    fn forget_reads(&mut self, mark: ReadMark) {
        self.txn.forget_reads_since(mark);
    }

    fn refresh(&mut self, mark: ReadMark) -> Result<bool> {
        if self.is_snapshot() {
            return Ok(true);
        }
        self.step(|_, ctx| {
            ctx.take_new_place()?;
            match ctx.check_so_far() {
                Ok(()) => Ok(true),
                Err(error) if error.is_conflict() => {
                    ctx.txn().forget_reads_since(mark);
                    ctx.check_so_far().map(|()| false)
                }
                Err(error) => Err(error),
            }
        })
    }

    fn savepoint(&mut self) -> Result<Savepoint> {
        self.check_running()?;
        Ok(self.txn.writes_mut().savepoint())
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.check_running()?;
        let mark = self.txn.writes_mut().back_to(savepoint)?;
        self.ctx().roll_back_to(mark);
        Ok(())
    }

    #[inline]
    fn commit(&mut self) -> Result<Timestamp> {
        self.check_running()?;
        let (shared, mut ctx, number) = self.parts();
        let mut result = ctx.commit();
        match &mut result {
            Ok(_) => count(&shared.core().counters[number].commits, 1),
            Err(Error::Conflict(conflict)) => note_conflict(shared, &mut ctx, number, conflict),
            Err(_) => count(&shared.core().counters[number].rollbacks, 1),
        }
        ctx.after_commit(&result);
        result
    }

    #[inline]
    fn id(&self) -> WorkerId {
        self.local.id()
    }

    #[inline]
    fn depends_on(&self) -> Timestamp {
        self.txn.depends_on
    }

    fn wait_durable(&self) -> Result<()> {
        self.shared.core().wait_durable(self.txn.depends_on)
    }

    fn rollback(&mut self) {
        if self.txn.running {
            let (shared, mut ctx, number) = self.parts();
            count(&shared.core().counters[number].rollbacks, 1);
            ctx.after_rollback();
        }
    }

    fn back_off(&mut self, attempt: u32) {
        self.ctx().back_off(attempt);
    }

    fn yield_priority(&mut self) {
        self.ctx().yield_priority();
    }
}

impl<P: Transactions> Drop for InstanceWorker<P> {
    fn drop(&mut self) {
        self.rollback();
        self.ctx().leave();
    }
}
