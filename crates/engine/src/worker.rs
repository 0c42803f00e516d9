//! The two traits.

use crate::def::{IndexDef, TableDef, TableInfo};
use crate::metric::{Labelled, Metric};
use crate::options::OptionSpec;
use crate::reach::{Keys, Reach};
use crate::stats::{Memory, Reclamation, Stats, TableStats};
use scaledb_base::{Conflict, Error, Result, TableId, Timestamp, WorkerId};
use scaledb_locks::SharedLocks;
use scaledb_row::{Projection, RowBuf, RowMut, RowRef};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a transaction may do, and which state it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TxnKind {
    /// Reads and writes the current state; strictly serializable.
    #[default]
    ReadWrite,
    /// Reads the current state; strictly serializable; writes are refused.
    ReadOnly,
    /// Reads a recent snapshot: serializable, needs no validation and never conflicts, but may not see
    /// the latest commits.
    Snapshot,
    /// Reads a snapshot of the present: as [`TxnKind::Snapshot`], but it waits at its begin until
    /// everything committed before is in the snapshot.
    Deferrable,
    /// As [`TxnKind::Deferrable`], for those who cannot wait for long: the begin fails with
    /// [`Error::SnapshotNotReady`] if transactions that began before keep the engine from such a snapshot.
    Present,
}

impl TxnKind {
    /// Whether it reads a snapshot, without validation and without conflicts.
    #[inline]
    pub fn is_snapshot(self) -> bool {
        matches!(self, Self::Snapshot | Self::Deferrable | Self::Present)
    }
}

/// What the workers of a database have run.
pub trait Statements: Send + Sync {
    /// The statement that the last commit which a worker has begun ended with.
    fn last(&self, worker: WorkerId) -> Option<Arc<str>>;

    /// Those that commits with this timestamp ended with, as far as they are remembered.
    fn at(&self, ts: Timestamp) -> Vec<Arc<str>>;
}

/// Hears what transactions of a shared database announce ([`Worker::announce`]).
pub trait Ear: Send + Sync {
    /// A transaction that has committed has announced this. Called for each announcement once, in the order of the
    /// commits, which is the same at all processes, and of one transaction in its order; when the commit is durable,
    /// and before [`Engine::wait_durable`] returns for it. `at` is the commit's timestamp. The caller may hold locks of
    /// the engine: this must neither wait nor call it.
    fn hear(&self, at: Timestamp, announcement: &[u8]);

    /// Whether it has no room for more: then transactions that announce something fail with
    /// [`Error::TooManyAnnouncements`], at all processes, once these know. What commits until then it takes.
    fn is_full(&self) -> bool;
}

/// A row within a transaction: an address that spares the second look-up. Valid until the transaction
/// ends; afterwards it is refused with [`Error::StaleRow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowId {
    raw: u64,
    txn: u64,
    table: TableId,
}

impl RowId {
    /// Names what `raw` means to an engine, in transaction `txn` (unique among all transactions) and
    /// `table`.
    ///
    /// # Safety
    /// The engine that gets the name back may rely on `raw` as long as `txn` runs.
    #[inline]
    pub unsafe fn new(raw: u64, txn: u64, table: TableId) -> Self {
        Self { raw, txn, table }
    }

    /// What the name means, if it was given by this transaction for this table.
    ///
    /// # Errors
    /// [`Error::StaleRow`].
    #[inline]
    pub fn check(self, txn: u64, table: TableId) -> Result<u64> {
        if self.txn == txn && self.table == table { Ok(self.raw) } else { Err(Error::StaleRow) }
    }

    /// A number for the row's record, the same in every transaction that finds it while one of them runs; `None` for a
    /// row that this transaction has inserted, which no other one can find.
    #[inline]
    pub fn record(self) -> Option<u64> {
        (self.raw & Self::OWN == 0).then_some(self.raw)
    }

    /// Set in what an engine gives [`RowId::new`] for a row that its transaction has inserted.
    pub const OWN: u64 = 1 << 63;
}

/// What a transaction has read by some moment: lengths of an engine's lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadMark(pub [usize; 5]);

/// A point in a transaction that it can be rolled back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub u64);

/// The order of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// Small keys first.
    #[default]
    Forward,
    /// Large keys first.
    Backward,
}

/// Encoded keys from `start` (inclusive) to `end` (exclusive; `None`: to the last).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<'a> {
    /// The first key.
    pub start: &'a [u8],
    /// The key behind the last.
    pub end: Option<&'a [u8]>,
}

impl<'a> Range<'a> {
    /// All keys.
    pub const ALL: Range<'static> = Range { start: &[], end: None };

    /// Keys from `start` to before `end`.
    pub fn new(start: &'a [u8], end: &'a [u8]) -> Self {
        Self { start, end: Some(end) }
    }

    /// Whether the key lies in the range.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start && self.end.is_none_or(|end| key < end)
    }
}

/// What decides where a transaction stands in the serial order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerializationPoint {
    /// Its commit.
    Commit,
    /// Its begin. Then one that began earlier may commit behind one that began later, and come before it without a
    /// conflict: a change of a table's definition has to look for that by itself.
    Begin,
}

/// Names the tables that a call of [`Engine::close_tables`] has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closure(pub u64);

/// A database engine.
pub trait Engine: Send + Sync + 'static {
    /// Its workers.
    type Worker: Worker;

    /// Creates a table. Not part of a transaction; other workers see it when it returns.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::TooManyTables`], [`Error::BadDefinition`]; [`Error::UnknownOption`],
    /// [`Error::BadOption`].
    fn create_table(&self, def: TableDef) -> Result<Arc<TableInfo>>;

    /// The table called `name`.
    fn table(&self, name: &str) -> Option<Arc<TableInfo>>;

    /// All tables, without their indexes, in the order of their ids.
    fn tables(&self) -> Vec<Arc<TableInfo>>;

    /// Adds a secondary index to a table, made from the rows that it has; returns the table as it is then. Not part of
    /// a transaction. Meanwhile others read the table, and writers wait. A transaction that wrote to the
    /// table before does not commit (a conflict); nor does one that uses the index, but began before the index was
    /// there.
    ///
    /// # Errors
    /// Everything is as it was: [`Error::DuplicateKey`] with the table's id and a key that two rows would share;
    /// [`Error::NoSuchTable`], [`Error::TableExists`], [`Error::TooManyTables`], [`Error::BadDefinition`],
    /// [`Error::KeyTooLarge`], [`Error::OutOfMemory`], [`Error::LogFailed`].
    fn add_index(&self, table: TableId, def: IndexDef) -> Result<Arc<TableInfo>>;

    /// As [`Engine::add_index`], as long as `go_on`, which is asked now and then, says so. An engine that makes an
    /// index in a moment need not ask.
    ///
    /// # Errors
    /// [`Error::Stopped`], too: everything is as it was.
    fn add_index_while(
        &self,
        table: TableId,
        def: IndexDef,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Arc<TableInfo>> {
        let _ = go_on;
        self.add_index(table, def)
    }

    /// Closes tables to all writers but a worker that [passes](Worker::pass), at all nodes, until
    /// [`Engine::open_tables`] or a commit of that worker. Waits while others have closed some, as long as `go_on`,
    /// which is asked now and then, says so. All that was committed to the tables before is behind whoever begins when
    /// this returns, and what others had written and not committed is a conflict of theirs. None, and nothing happens,
    /// in an engine whose sessions are all in this process: they can see to it themselves. One caller at a time; it may
    /// call again for more tables, which then have the place of those before.
    ///
    /// # Errors
    /// Everything is as it was: [`Error::Stopped`]; a conflict; [`Error::NotHere`].
    fn close_tables(&self, tables: &[TableId], go_on: &dyn Fn() -> bool) -> Result<Option<Closure>> {
        let _ = (tables, go_on);
        Ok(None)
    }

    /// Opens what was closed, unless it is open.
    fn open_tables(&self, closure: Closure) {
        let _ = closure;
    }

    /// Whether a table is closed, as far as is known: whoever writes to it meets a conflict, which makes it known.
    fn is_closed(&self, table: TableId) -> bool {
        let _ = table;
        false
    }

    /// Drops a secondary index; returns its table as it is then. Not part of a transaction. A transaction that used the
    /// index, or wrote to the table before, does not commit (a conflict). Its memory is free soon after.
    ///
    /// # Errors
    /// Everything is as it was: [`Error::NoSuchTable`] if there is no such index; [`Error::LogFailed`].
    fn drop_index(&self, index: TableId) -> Result<Arc<TableInfo>>;

    /// Drops a table, its rows and its indexes: their names are free, and their ids are not given again. Not part of a
    /// transaction. One that wrote to the table before does not commit (a conflict), nor does one that has read it and
    /// whose place in the serial order is behind the drop. Its rows may go in the background, and snapshots from before
    /// may see them.
    ///
    /// # Errors
    /// Everything is as it was: [`Error::NoSuchTable`], for an index, too, and for a table that is being cleared
    /// ([`Engine::is_clearing`]); [`Error::TooManyWorkers`]; [`Error::LogFailed`].
    fn drop_table(&self, table: TableId) -> Result<()>;

    /// Discards all rows of a table that nothing names any more, in a time that does not depend on how many there are:
    /// not part of a transaction. They go in the background, and their memory with them; a crash does not bring them
    /// back. Snapshots from before still see them. Until the table is empty ([`Engine::is_clearing`]) who would write
    /// to it waits, and who reads it finds some of the rows. False, and nothing happens, in an engine that can only
    /// delete rows one by one.
    ///
    /// # Errors
    /// Everything is as it was: [`Error::NoSuchTable`], for an index, too; [`Error::TooManyWorkers`];
    /// [`Error::LogFailed`].
    fn clear_table(&self, table: TableId) -> Result<bool> {
        let _ = table;
        Ok(false)
    }

    /// Whether [`Engine::clear_table`] has not yet discarded all rows of a table.
    fn is_clearing(&self, table: TableId) -> bool {
        let _ = table;
        false
    }

    /// Registers a worker.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    fn worker(&self) -> Result<Self::Worker>;

    /// Counters and sizes. Walks every table's index: not for a hot path.
    fn stats(&self) -> Stats;

    /// Counters and sizes of one table or index, if it is there. Walks it, and no other.
    fn table_stats(&self, id: TableId) -> Option<TableStats> {
        self.stats().tables.into_iter().find(|table| table.id == Some(id))
    }

    /// The memory of rows and indexes: two loads.
    fn memory(&self) -> Memory {
        Memory::default()
    }

    /// Whoever uses the engine has freed much memory beside it, which the system's allocator keeps: have it give back
    /// to the system what it can, soon.
    fn loosen(&self) {}

    /// What keeps memory from being used again. Looks at each worker.
    fn reclamation(&self) -> Reclamation {
        Reclamation::default()
    }

    /// A name for reports.
    fn name(&self) -> &'static str;

    /// What decides where a transaction stands in the serial order.
    fn serialization_point(&self) -> SerializationPoint {
        SerializationPoint::Commit
    }

    /// Whether other processes work on the same database, as those of other nodes do: what this one remembers of its
    /// rows may be old.
    fn is_shared(&self) -> bool {
        false
    }

    /// A number that no other process has that works on the same database at the time.
    fn process(&self) -> u8 {
        0
    }

    /// From here on, hands what transactions of a shared database announce, at whichever process, to this. Of several
    /// the first is taken.
    fn hear(&self, ear: Arc<dyn Ear>) {
        let _ = ear;
    }

    /// Gives the engine what remembers the statements of this process, to tell the others of a shared database.
    fn name_statements(&self, statements: Arc<dyn Statements>) {
        let _ = statements;
    }

    /// What the transaction that got in the way may have run last, where processes of a shared database have to be
    /// asked: they are, for a moment. More than one if several may be meant, none if nobody knows.
    fn other_statements(&self, conflict: &Conflict) -> Vec<String> {
        let _ = conflict;
        Vec::new()
    }

    /// The locks that those of a shared database wait for; none where there is only this process, whose own they are.
    fn shared_locks(&self) -> Option<Arc<dyn SharedLocks>> {
        None
    }

    /// Who answers for keys of a table or index; none where there is only this process.
    fn reach(&self, id: TableId, keys: Keys<'_>) -> Option<Reach> {
        let _ = (id, keys);
        None
    }

    /// The options that it has for tables and indexes, beside [`Access`](crate::Access).
    fn table_options(&self) -> &'static [OptionSpec] {
        &[]
    }

    /// What it counts for tables and indexes, beside what [`TableStats`] has of every engine.
    fn table_metrics(&self) -> &'static [Metric] {
        &[]
    }

    /// What it counts as a whole, beside [`Stats`].
    fn metrics(&self) -> Vec<Labelled> {
        Vec::new()
    }

    /// The durable horizon: every commit before it survives a crash. Always behind all commits for an
    /// engine that keeps no log. One load: fit for polling.
    fn durable(&self) -> Timestamp {
        Timestamp::MAX
    }

    /// Waits until the durable horizon has passed `ts`, a timestamp from [`Worker::depends_on`].
    ///
    /// # Errors
    /// [`Error::LogFailed`]: it never will. Whether the commit of `ts` survives shows when the database is opened
    /// again.
    fn wait_durable(&self, ts: Timestamp) -> Result<()> {
        let _ = ts;
        Ok(())
    }

    /// Makes all commits durable, and ends the log: a transaction that writes cannot commit after this. Dropping the
    /// engine does the same, but cannot report a failure.
    ///
    /// # Errors
    /// [`Error::LogFailed`], now or earlier.
    fn close(&self) -> Result<()> {
        Ok(())
    }

    /// Writes a checkpoint, and returns when the next opening starts from it. Does nothing for an engine that keeps
    /// no files.
    ///
    /// # Errors
    /// [`Error::LogFailed`]: the checkpoint before stays in force.
    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }

    /// Why nothing is logged any more, if the disk has failed: commits are refused from then on.
    fn log_failure(&self) -> Option<String> {
        None
    }
}

/// Rows that [`Worker::prefetch`] takes at once: more would push each other out of what a processor keeps near.
pub const PREFETCH: usize = 32;

/// One thread's access to a database: runs one transaction at a time.
///
/// All keys are encoded (`scaledb-keys`); a key of a table is its primary key, a key of an index its
/// columns, followed by the primary key if the index is not unique.
pub trait Worker: Send {
    /// Begins a transaction.
    ///
    /// # Errors
    /// None but what the engine's resources impose. A transaction that still runs is rolled back.
    fn begin(&mut self, kind: TxnKind) -> Result<()>;

    /// As [`Worker::begin`], as long as `go_on`, which is asked while it waits for a snapshot, says so. An engine whose
    /// begin waits for nobody need not ask.
    ///
    /// # Errors
    /// [`Error::Stopped`], too: no transaction runs.
    fn begin_while(&mut self, kind: TxnKind, go_on: &dyn Fn() -> bool) -> Result<()> {
        let _ = go_on;
        self.begin(kind)
    }

    /// Whether a transaction runs.
    fn in_transaction(&self) -> bool;

    /// Reads one row of a table, or through a unique index, and hands the columns of `cols` to `f`.
    /// `None` if there is no such row.
    ///
    /// # Errors
    /// A conflict; [`Error::TransactionEnded`].
    fn get<R>(
        &mut self,
        table: TableId,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>>;

    /// Asks for the memory of rows, each given by its table or unique index, its key and the columns that will be
    /// accessed soon; the look-ups then overlap. Of more than [`PREFETCH`] the first are taken. A hint: nothing is read
    /// in the sense of the transaction.
    fn prefetch<'k>(&mut self, rows: impl Iterator<Item = (TableId, &'k [u8], &'k Projection)>);

    /// Asks for the memory that inserts of rows with these primary keys will write first; the inserts then overlap in
    /// what they wait for. Of more than [`PREFETCH`] the first are taken. A hint: nothing is read or written in the
    /// sense of the transaction.
    ///
    /// An engine that [foresees](Self::foresees) takes keys of unique indexes, too.
    fn prefetch_inserts<'k>(&mut self, keys: impl Iterator<Item = (TableId, &'k [u8])>) {
        let _ = keys;
    }

    /// Whether it pays to make rows before the first of them is inserted, so that [`Worker::prefetch_inserts`] and
    /// [`Worker::prefetch`] can be told of many: what they ask for may be at other nodes.
    fn foresees(&self) -> bool {
        false
    }

    /// Asks for the memory in which scans begin, each given by its table or index and the start of its range;
    /// the scans then overlap in what they wait for. Of more than [`PREFETCH`] the first are taken. A hint:
    /// nothing is read in the sense of the transaction.
    fn prefetch_ranges<'k>(&mut self, starts: impl Iterator<Item = (TableId, &'k [u8])>) {
        let _ = starts;
    }

    /// Hands the rows of `range` to `f` in key order until it breaks. `f` gets the row, its key in the
    /// scanned table or index, and the columns of `cols`. The transaction depends on the keys up to the
    /// last one handed out (or to the end of the range), and on no others.
    ///
    /// # Errors
    /// A conflict; [`Error::NotOrdered`]; [`Error::TransactionEnded`].
    fn scan(
        &mut self,
        index: TableId,
        range: Range<'_>,
        order: Order,
        cols: &Projection,
        f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Inserts a row.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] for the table or one of its unique indexes (the transaction goes on); a
    /// conflict; [`Error::KeyTooLarge`], [`Error::RowTooLarge`], [`Error::OutOfMemory`],
    /// [`Error::TransactionsTooLarge`], [`Error::TooManyWrites`]; [`Error::ReadOnlyTransaction`],
    /// [`Error::TransactionEnded`].
    fn insert(&mut self, table: TableId, row: &RowBuf) -> Result<RowId>;

    /// Changes a row: `f` gets the columns of `cols` and sets what it likes, except key columns of the
    /// table. `None` if there is no such row. An error of `f` leaves the row unchanged.
    ///
    /// # Errors
    /// As [`Worker::insert`]; what `f` returns.
    fn update<R>(
        &mut self,
        table: TableId,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>>;

    /// [`Worker::update`] of a row that this transaction has found before.
    ///
    /// # Errors
    /// As [`Worker::update`].
    fn update_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>>;

    /// Deletes a row. False if there is none.
    ///
    /// # Errors
    /// A conflict; [`Error::TransactionsTooLarge`], [`Error::TooManyWrites`]; [`Error::ReadOnlyTransaction`],
    /// [`Error::TransactionEnded`].
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool>;

    /// [`Worker::delete`] of a row that this transaction has found before.
    ///
    /// # Errors
    /// As [`Worker::delete`].
    fn delete_at(&mut self, table: TableId, row: RowId) -> Result<bool>;

    /// Whether what the running transaction has read holds together so far. Until it commits it may have read parts
    /// of several states; an error that it has found in them is one only if this succeeds. [`Worker::insert`] asks
    /// by itself whether that holds before it reports a duplicate. In an engine of several nodes this returns when a
    /// client may be told: when the others have agreed, as they do to a commit.
    ///
    /// # Errors
    /// A conflict, if it cannot commit any more; [`Error::TransactionEnded`].
    fn check_so_far(&mut self) -> Result<()>;

    /// [`Worker::check_so_far`] of what was read since `mark` alone, by something that has written nothing: whether it
    /// is of one state. An engine may look at more.
    ///
    /// # Errors
    /// As [`Worker::check_so_far`].
    fn check_since(&mut self, mark: ReadMark) -> Result<()> {
        let _ = mark;
        self.check_so_far()
    }

    /// [`Worker::get`] of a row that this transaction has found before.
    ///
    /// # Errors
    /// As [`Worker::get`]; [`Error::StaleRow`].
    fn get_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>>;

    /// The primary key of a row that this transaction has found: what the nodes of a shared database know it by. For
    /// other engines [`RowId::record`] is enough.
    ///
    /// # Errors
    /// [`Error::StaleRow`], for engines that are not shared, too; [`Error::TransactionEnded`].
    fn key_of(&mut self, table: TableId, row: RowId) -> Result<Vec<u8>> {
        let _ = (table, row);
        Err(Error::StaleRow)
    }

    /// What the transaction has read by now. From here on, reading makes no writes of its own, so that what is read can
    /// be forgotten.
    fn read_mark(&mut self) -> ReadMark;

    /// Forgets what the transaction has read since the mark: it depends on that no more. Nothing may have been written
    /// since.
    fn forget_reads(&mut self, mark: ReadMark);

    /// Goes on in the present: what has been read is compared with what is there now, and an engine whose transactions
    /// are ordered at their begin gives this one a new place. True if nothing has changed. False if only what was read
    /// since the mark has, which is forgotten: it is to be read again. Nothing may have been written since the mark.
    ///
    /// # Errors
    /// A conflict: what was read before the mark has changed. [`Error::TransactionEnded`].
    fn refresh(&mut self, mark: ReadMark) -> Result<bool>;

    /// Marks a point to come back to.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`].
    fn savepoint(&mut self) -> Result<Savepoint>;

    /// Undoes the writes since the savepoint, which stays.
    ///
    /// # Errors
    /// [`Error::NoSuchSavepoint`], [`Error::TransactionEnded`].
    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()>;

    /// The worker's transactions write to tables that are closed, and commit only while they are; the first commit
    /// opens them. None: no more.
    fn pass(&mut self, closure: Option<Closure>) {
        let _ = closure;
    }

    /// Tells whoever listens, at all processes of a shared database, if the transaction commits: see [`Ear`]. A
    /// transaction that only reads may announce something, too. An engine that is not shared ignores it.
    ///
    /// # Errors
    /// [`Error::TooManyWrites`], [`Error::TransactionEnded`]. [`Worker::commit`] may fail with
    /// [`Error::TooManyAnnouncements`]: nothing happened.
    fn announce(&mut self, announcement: &[u8]) -> Result<()> {
        let _ = announcement;
        Ok(())
    }

    /// Commits. The timestamp is the transaction's place in the serial order.
    ///
    /// # Errors
    /// A conflict: nothing happened. [`Error::OutOfMemory`]: likewise. [`Error::TransactionEnded`].
    fn commit(&mut self) -> Result<Timestamp>;

    /// The worker's number, which is in the timestamps of its commits. Another worker may get it when this one is
    /// dropped.
    fn id(&self) -> WorkerId;

    /// What the last committed transaction depends on: its own commit or, if it wrote nothing, the latest commit
    /// that it saw. Its result may be acknowledged to a client when the durable horizon has passed this:
    /// see [`Engine::wait_durable`]. A commit itself does not wait, so that one thread can have many
    /// transactions under way to the disk.
    fn depends_on(&self) -> Timestamp {
        Timestamp::ZERO
    }

    /// Waits until what the last committed transaction depends on survives a crash.
    ///
    /// # Errors
    /// As [`Engine::wait_durable`].
    fn wait_durable(&self) -> Result<()> {
        Ok(())
    }

    /// Ends the transaction without a trace. Without one, nothing happens.
    fn rollback(&mut self);

    /// Called between attempts of [`Worker::run`] after a conflict: `attempt` counts from 1. Engines
    /// wait here as their contention control says.
    fn back_off(&mut self, attempt: u32);

    /// Gives up what the contention control has granted to this worker alone, as it is about to wait for something that
    /// another transaction has: that one's commit must not wait for this worker.
    fn yield_priority(&mut self) {}

    /// Runs `f` in a transaction and commits, again after each conflict until it succeeds. Any other
    /// error of `f` rolls back and is returned.
    ///
    /// # Errors
    /// What `f` or the commit returned, conflicts excepted.
    fn run<R>(&mut self, kind: TxnKind, mut f: impl FnMut(&mut Self) -> Result<R>) -> Result<R>
    where
        Self: Sized,
    {
        let mut attempt = 0;
        loop {
            self.begin(kind)?;
            let result = match f(self) {
                Ok(value) if self.in_transaction() => self.commit().map(|_| value),
                // `f` caught a conflict, which had ended the transaction, and went on
                Ok(_) => Err(Error::TransactionEnded),
                Err(error) => {
                    self.rollback();
                    Err(error)
                }
            };
            match result {
                Err(error) if error.is_conflict() => {
                    attempt += 1;
                    self.back_off(attempt);
                }
                done => return done,
            }
        }
    }
}
