//! A worker at work: ACC's operations, on which `scaledb_kit` puts the engine interface.

use crate::contention::PATIENCE;
use crate::lane::Lane;
use crate::record::Record;
use crate::shared::AccShared;
use crate::table::AccTable;
use crate::txn::{RowLocation, Txn};
use scaledb_base::{Conflict, Error, Result, TableId, Timestamp, WorkerId};
use scaledb_engine::{Order, Range, ReadMark, RowId, TxnKind};
use scaledb_kit::{
    InstanceWorker, Operations, PRESENT, Parts, RecordWriter, Transactions, TxnCore, WriteMark,
};
use scaledb_log::Writer;
use scaledb_memory::Local;
use scaledb_row::{Projection, RowBuf, RowMut, RowRef};
use smallvec::SmallVec;
use std::ops::ControlFlow;

/// One thread's access to an [`Acc`](crate::Acc) database.
pub type AccWorker = InstanceWorker<AccShared>;

/// What a worker keeps between transactions.
pub struct WorkerState {
    /// The worker's last commit: the next one is later.
    pub(crate) last_ticks: u64,
    pub(crate) begun: u64,
    /// Whether this worker holds the contention control's priority.
    pub(crate) privileged: bool,
    /// Commits until the next round of background work.
    pub(crate) until_chores: u32,
    /// Some of the tables in which scans have looked at inherited parts since the last chores, which see whether that
    /// is still needed.
    pub(crate) inherited: SmallVec<[TableId; INHERITED]>,
    /// When the worker has last tried to free memory.
    pub(crate) relieved_at: u64,
    pub(crate) random: u64,
}

/// Tables that a worker looks after at its chores for what scans need not look at any more.
const INHERITED: usize = 4;

impl WorkerState {
    /// A scan of this table has looked at inherited parts.
    #[inline]
    pub(crate) fn note_inherited(&mut self, table: TableId) {
        if self.inherited.len() < INHERITED && !self.inherited.contains(&table) {
            self.inherited.push(table);
        }
    }
}

/// A worker at work: its own parts and the shared ones, borrowed apart.
pub struct Ctx<'a> {
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
}

impl Transactions for AccShared {
    type Txn = Txn;
    type State = WorkerState;
    type Ctx<'a> = Ctx<'a>;

    fn txn(&self, core: TxnCore) -> Txn {
        Txn::new(core)
    }

    fn state(&self, worker: WorkerId) -> WorkerState {
        WorkerState {
            last_ticks: 0,
            begun: 0,
            privileged: false,
            until_chores: 0,
            inherited: SmallVec::new(),
            relieved_at: 0,
            random: worker.index() as u64 + 1,
        }
    }

    #[inline(always)]
    fn ctx(Parts { shared, log, local, txn, state }: Parts<'_, Self>) -> Ctx<'_> {
        Ctx { shared, local, txn, state, log }
    }
}

impl Operations<AccShared> for Ctx<'_> {
    #[inline(always)]
    fn txn(&mut self) -> &mut Txn {
        self.txn
    }

    fn relieve(&mut self) {
        self.relieve();
    }

    #[inline]
    fn begin(&mut self, kind: TxnKind, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.state.begun = self.local.enter();
        if !kind.is_snapshot() {
            return Ok(());
        }
        let begun = self.begin_snapshot(kind != TxnKind::Snapshot, go_on);
        if begun.is_err() {
            self.finish();
        }
        begun
    }

    #[inline]
    fn reads_at(&self) -> u64 {
        if self.txn.kind.is_snapshot() { self.txn.snapshot.raw() } else { PRESENT }
    }

    #[inline]
    fn get<R>(
        &mut self,
        table: &AccTable,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        if self.txn.kind.is_snapshot() {
            return self.get_at(table, key, cols, f);
        }
        self.get(table, key, cols, f)
    }

    fn get_named<R>(
        &mut self,
        table: &AccTable,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        if self.txn.kind.is_snapshot() {
            return Err(Error::ReadOnlyTransaction);
        }
        self.get_named(table, row, cols, f)
    }

    fn scan(
        &mut self,
        table: &AccTable,
        range: Range<'_>,
        order: Order,
        cols: &Projection,
        f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if self.txn.kind.is_snapshot() {
            return self.scan_at(table, range, order, cols, f);
        }
        self.scan(table, range, order, cols, f)
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
    fn insert(&mut self, table: &AccTable, row: &RowBuf) -> Result<RowId> {
        self.insert(table, row)
    }

    #[inline]
    fn locate(&mut self, table: &AccTable, key: &[u8]) -> Option<RowLocation> {
        self.locate(table, key)
    }

    #[inline]
    fn update<R>(
        &mut self,
        table: &AccTable,
        place: RowLocation,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        self.update(table, place, cols, f)
    }

    fn delete(&mut self, table: &AccTable, place: RowLocation) -> Result<bool> {
        self.delete(table, place)
    }

    fn delete_lone_record(&mut self, table: &AccTable, record: Record) -> Result<()> {
        if record.word(0).is_absent() { Ok(()) } else { self.delete_lone_record(table, record) }
    }

    fn check_so_far(&mut self) -> Result<()> {
        // a snapshot is consistent without validation
        if self.txn.kind.is_snapshot() { Ok(()) } else { self.check_so_far() }
    }

    fn check_since(&mut self, mark: ReadMark) -> Result<()> {
        if self.txn.kind.is_snapshot() { Ok(()) } else { self.validate_since(mark) }
    }

    fn roll_back_to(&mut self, mark: WriteMark) {
        self.roll_back_to(mark);
    }

    #[inline]
    fn commit(&mut self) -> Result<Timestamp> {
        self.commit()
    }

    #[inline]
    fn after_commit(&mut self, _: &Result<Timestamp>) {
        self.finish();
        self.chores();
    }

    #[inline]
    fn finish(&mut self) {
        let huge = self.txn.clear();
        if self.txn.kind.is_snapshot() {
            self.end_snapshot();
        }
        self.local.exit();
        self.yield_priority();
        if huge {
            self.local.give_back();
        }
    }

    fn note_conflict(&mut self, conflict: &mut Conflict) {
        // a transaction that committed before this one began did not conflict with it
        conflict.with = conflict.with.filter(|with| with.ticks() >= self.state.begun);
    }

    /// Waits for a random time up to the limit, doubled with each further attempt; or not at all, with priority, when
    /// the transaction has lost too often.
    fn back_off(&mut self, attempt: u32) {
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

    #[inline]
    fn yield_priority(&mut self) {
        if self.state.privileged {
            self.state.privileged = false;
            self.shared.contention.release();
        }
    }

    fn leave(&mut self) {
        self.leave();
    }
}

impl RecordWriter<AccShared> for Ctx<'_> {
    const ENTRY: &'static [u64] = &[];

    #[inline]
    fn insert_record(
        &mut self,
        table: &AccTable,
        key: &[u8],
        words: &[u64],
        base: Option<usize>,
    ) -> Result<usize> {
        self.insert_record(table, key, words, base)
    }

    #[inline]
    fn delete_record(&mut self, table: &AccTable, place: RowLocation) -> Result<bool> {
        self.delete_record(table, place)
    }

    #[inline]
    fn next_row_number(&mut self, table: &AccTable) -> Result<u64> {
        self.next_row_number(table)
    }

    fn undo_statement(&mut self, mark: WriteMark) {
        self.undo_statement(mark);
    }
}
