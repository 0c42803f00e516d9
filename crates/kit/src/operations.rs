//! What a worker of an engine can do: its operations on a running transaction, which [`InstanceWorker`] calls.
//!
//! [`InstanceWorker`]: crate::InstanceWorker

use crate::records::{RecordOf, Records};
use crate::txn::{Transaction, TxnCore};
use crate::write_set::{RowLocation, Write, WriteMark};
use scaledb_base::{Conflict, Result, TableId, Timestamp, WorkerId};
use scaledb_engine::{Order, Range, ReadMark, RowId, TxnKind};
use scaledb_log::Writer;
use scaledb_memory::Local;
use scaledb_row::{Projection, RowBuf, RowMut, RowRef};
use std::ops::ControlFlow;

/// Where a transaction of an engine has found a row.
pub type RowLocationOf<P> = RowLocation<RecordOf<P>>;

/// How transactions run on an engine's tables and records.
pub trait Transactions: Records {
    /// What a worker remembers of its transaction.
    type Txn: Transaction<Write: Write<Record = RecordOf<Self>>>;
    /// What a worker keeps from one transaction to the next, beside [`TxnCore`].
    type State: Send;
    /// A worker at work: its own parts and the shared ones, borrowed apart.
    type Ctx<'a>: Operations<Self>;

    /// A new worker's transaction.
    fn txn(&self, core: TxnCore) -> Self::Txn;

    /// What a new worker keeps.
    fn state(&self, worker: WorkerId) -> Self::State;

    /// A worker at work.
    fn ctx(parts: Parts<'_, Self>) -> Self::Ctx<'_>;
}

/// The parts of a worker.
pub struct Parts<'a, P: Transactions> {
    /// What all workers share.
    pub shared: &'a P,
    /// Its log; `None` for what no log tells of.
    pub log: &'a mut Option<Writer>,
    /// Its access to memory.
    pub local: &'a mut Local,
    /// Its transaction.
    pub txn: &'a mut P::Txn,
    /// What else it keeps.
    pub state: &'a mut P::State,
}

/// The operations of a worker. Those on tables are called while a transaction runs, with a table that it may use so.
/// A conflict ends the transaction: [`Operations::finish`] is called then. After any other error it is as it was.
pub trait Operations<P: Transactions> {
    /// The transaction.
    fn txn(&mut self) -> &mut P::Txn;

    /// Between transactions, when memory is short: frees what can be freed, so that the transaction to come finds what
    /// deletes before it have left.
    fn relieve(&mut self);

    /// Begins a transaction of this kind, as long as `go_on` says so while a snapshot is waited for.
    ///
    /// # Errors
    /// As [`Worker::begin_while`](scaledb_engine::Worker::begin_while): no transaction runs.
    fn begin(&mut self, kind: TxnKind, go_on: &dyn Fn() -> bool) -> Result<()>;

    /// The raw timestamp that the transaction reads at, or [`PRESENT`](crate::PRESENT).
    fn reads_at(&self) -> u64;

    /// Reads one row of a table, or through a unique index.
    ///
    /// # Errors
    /// As [`Worker::get`](scaledb_engine::Worker::get).
    fn get<R>(
        &mut self,
        table: &P::Table,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>>;

    /// Reads a row that the transaction has a name for.
    ///
    /// # Errors
    /// As [`Worker::get_at`](scaledb_engine::Worker::get_at).
    fn get_named<R>(
        &mut self,
        table: &P::Table,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>>;

    /// Hands the rows of a range to `f`.
    ///
    /// # Errors
    /// As [`Worker::scan`](scaledb_engine::Worker::scan).
    fn scan(
        &mut self,
        table: &P::Table,
        range: Range<'_>,
        order: Order,
        cols: &Projection,
        f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// As [`Worker::prefetch`](scaledb_engine::Worker::prefetch).
    fn prefetch<'k>(&mut self, rows: impl Iterator<Item = (TableId, &'k [u8], &'k Projection)>);

    /// As [`Worker::prefetch_inserts`](scaledb_engine::Worker::prefetch_inserts).
    fn prefetch_inserts<'k>(&mut self, keys: impl Iterator<Item = (TableId, &'k [u8])>);

    /// As [`Worker::prefetch_ranges`](scaledb_engine::Worker::prefetch_ranges).
    fn prefetch_ranges<'k>(&mut self, starts: impl Iterator<Item = (TableId, &'k [u8])>);

    /// Inserts a row, and its entries.
    ///
    /// # Errors
    /// As [`Worker::insert`](scaledb_engine::Worker::insert).
    fn insert(&mut self, table: &P::Table, row: &RowBuf) -> Result<RowId>;

    /// Where the row of a key is, if it is anywhere; that it is not has been read then.
    fn locate(&mut self, table: &P::Table, key: &[u8]) -> Option<RowLocationOf<P>>;

    /// Changes a row, and its entries.
    ///
    /// # Errors
    /// As [`Worker::update`](scaledb_engine::Worker::update).
    fn update<R>(
        &mut self,
        table: &P::Table,
        place: RowLocationOf<P>,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>>;

    /// Deletes a row, and its entries.
    ///
    /// # Errors
    /// As [`Worker::delete`](scaledb_engine::Worker::delete).
    fn delete(&mut self, table: &P::Table, place: RowLocationOf<P>) -> Result<bool>;

    /// Deletes one record, unless it is deleted already: an entry of a dropped index, or a row of a cleared table,
    /// whose entries are gone.
    ///
    /// # Errors
    /// As [`Operations::delete`].
    fn delete_lone_record(&mut self, table: &P::Table, record: RecordOf<P>) -> Result<()>;

    /// Whether what has been read holds together so far. A snapshot's always does.
    ///
    /// # Errors
    /// A conflict.
    fn check_so_far(&mut self) -> Result<()>;

    /// [`Operations::check_so_far`] of what was read since `mark`, at least.
    ///
    /// # Errors
    /// A conflict.
    fn check_since(&mut self, mark: ReadMark) -> Result<()> {
        let _ = mark;
        self.check_so_far()
    }

    /// From here on, reading makes no writes of its own: what is read may be forgotten.
    fn begin_forgettable_reads(&mut self) {}

    /// Gives a transaction that is ordered at its begin a new place in the order, after all that has committed.
    ///
    /// # Errors
    /// The clock is used up.
    fn take_new_place(&mut self) -> Result<()> {
        Ok(())
    }

    /// Takes back the writes since `mark`. What they have found, the transaction has read.
    fn roll_back_to(&mut self, mark: WriteMark);

    /// Commits, or changes nothing; then, however it went, [`Operations::after_commit`] ends the transaction.
    ///
    /// # Errors
    /// As [`Worker::commit`](scaledb_engine::Worker::commit).
    fn commit(&mut self) -> Result<Timestamp>;

    /// Ends the transaction whose commit had this result, and does what is to do between transactions.
    fn after_commit(&mut self, result: &Result<Timestamp>);

    /// Ends the transaction without a trace.
    fn after_rollback(&mut self) {
        self.finish();
    }

    /// Ends the transaction, however it went: forgets what it remembered, and lets go of what it read.
    fn finish(&mut self);

    /// The transaction is about to end with this conflict.
    fn note_conflict(&mut self, conflict: &mut Conflict);

    /// Waits before another attempt: see [`Worker::back_off`](scaledb_engine::Worker::back_off).
    fn back_off(&mut self, attempt: u32);

    /// Gives up priority: see [`Worker::yield_priority`](scaledb_engine::Worker::yield_priority).
    fn yield_priority(&mut self) {}

    /// The worker's next transactions come after the one with this timestamp. Nothing to do for an engine whose order
    /// agrees with real time: who knows of a commit begins after it.
    fn observe(&mut self, commit_ts: Timestamp) {
        let _ = commit_ts;
    }

    /// The worker is about to be dropped.
    fn leave(&mut self);
}
