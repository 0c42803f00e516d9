//! Sessions: one thread's access to a database.

use crate::database::Inner;
use crate::options::CommitMode;
use crate::savepoint::Marks;
use crate::table::Token;
use crate::transaction::Transaction;
use scaledb_acc::Acc;
use scaledb_base::{Error, Result};
use scaledb_engine::{Engine, TxnKind, Worker};
use scaledb_row::RowBuf;
use scaledb_sync::Arc;
use std::cell::Cell;
use std::marker::PhantomData;

/// What a session is made of, without its hold on the database.
pub(crate) struct Core<W> {
    pub(crate) worker: W,
    pub(crate) database: Token,
    pub(crate) marks: Marks,
    /// The row under construction, kept for its memory.
    pub(crate) row: Option<RowBuf>,
    pub(crate) mode: CommitMode,
}

impl<W: Worker> Core<W> {
    pub(crate) fn begin(&mut self, kind: TxnKind) -> Result<()> {
        self.marks.clear();
        self.worker.begin(kind)
    }

    /// As [`Worker::run`], for closures that get a [`Transaction`] and have errors of their own.
    pub(crate) fn run<E: Engine<Worker = W>, R, F: From<Error>>(
        &mut self,
        kind: TxnKind,
        mut f: impl FnMut(&mut Transaction<'_, E>) -> Result<R, F>,
    ) -> Result<R, F> {
        let mut attempt = 0;
        loop {
            if let Some(value) = self.attempt(kind, &mut f)? {
                return Ok(value);
            }
            attempt += 1;
            self.worker.back_off(attempt);
        }
    }

    /// Runs `f` and commits; `None` if there was a conflict.
    fn attempt<E: Engine<Worker = W>, R, F: From<Error>>(
        &mut self,
        kind: TxnKind,
        f: impl FnOnce(&mut Transaction<'_, E>) -> Result<R, F>,
    ) -> Result<Option<R>, F> {
        self.begin(kind)?;
        let mut txn = Transaction::new(self);
        let value = match f(&mut txn) {
            Ok(value) => value,
            Err(error) if txn.is_active() => return Err(error),
            // a conflict has ended the transaction, whatever `f` made of it
            Err(_) => return Ok(None),
        };
        match txn.commit() {
            Ok(_) => Ok(Some(value)),
            Err(Error::Conflict(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl<W> Core<W> {
    pub(crate) fn new(worker: W, database: Token, mode: CommitMode) -> Self {
        let marks = Marks::new(&database);
        Self { worker, database, marks, row: None, mode }
    }
}

/// One thread's access to a database: runs one transaction at a time. Can move between threads, but not be
/// shared by them.
///
/// A database has at most 128 sessions at a time, pooled ones and the engine's own included.
///
/// ```
/// use scaledb::{Database, Table, Type};
/// let db = Database::in_memory();
/// let t = db.create_table(Table::build("t").column("id", Type::Int8).primary_key(["id"]))?;
/// let mut session = db.session()?;
/// session.run(|txn| txn.insert(&t, 1))?;
/// let mut txn = session.begin()?;
/// txn.insert(&t, 2)?;
/// drop(txn); // rolled back
/// assert_eq!(session.run(|txn| txn.count(&t))?, 1);
/// # Ok::<(), scaledb::Error>(())
/// ```
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<scaledb::Session>();
/// ```
pub struct Session<E: Engine = Acc> {
    core: Box<Core<E::Worker>>,
    _database: Arc<Inner<E>>,
    _not_sync: PhantomData<Cell<()>>,
}

impl<E: Engine> Session<E> {
    pub(crate) fn new(core: Box<Core<E::Worker>>, database: Arc<Inner<E>>) -> Self {
        Self { core, _database: database, _not_sync: PhantomData }
    }

    /// Runs `f` in a transaction and commits. When another transaction gets in the way, runs `f` again,
    /// after a randomized pause that the engine's contention control chooses, until it succeeds; so `f`
    /// must have no effect outside the database that may not happen twice. Any other error of `f` rolls
    /// back and is returned; [`Error::RolledBack`] is there for closures that just want that.
    ///
    /// # Errors
    /// What `f` or the commit returned, conflicts excepted.
    pub fn run<R>(&mut self, f: impl FnMut(&mut Transaction<'_, E>) -> Result<R>) -> Result<R> {
        self.core.run(TxnKind::ReadWrite, f)
    }

    /// [`Session::run`] for a transaction of any kind.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn run_as<R>(
        &mut self,
        kind: TxnKind,
        f: impl FnMut(&mut Transaction<'_, E>) -> Result<R>,
    ) -> Result<R> {
        self.core.run(kind, f)
    }

    /// [`Session::run_as`] for closures with an error type of their own. Whatever `f` makes of a conflict,
    /// it is run again.
    ///
    /// ```
    /// # use scaledb::{Database, Error, Table, Type, TxnKind};
    /// #[derive(Debug)]
    /// enum Refused { NoFunds, Database(Error) }
    /// impl From<Error> for Refused {
    ///     fn from(error: Error) -> Self { Self::Database(error) }
    /// }
    /// # let db = Database::in_memory();
    /// # let t = db.create_table(Table::build("t").column("id", Type::Int8).column("n",
    /// Type::Int8).primary_key(["id"]))?;
    /// # db.run(|txn| txn.insert(&t, (1, 10)))?;
    /// # let mut session = db.session()?;
    /// let refused = session.try_run(TxnKind::ReadWrite, |txn| {
    ///     match txn.update(&t, 1, |row| row.add("n", -30))? {
    ///         Some(balance) if balance >= 0 => Ok(()),
    ///         _ => Err(Refused::NoFunds), // rolls back
    ///     }
    /// });
    /// assert!(matches!(refused, Err(Refused::NoFunds)));
    /// # assert_eq!(db.run(|txn| txn.get(&t, 1))?.unwrap().get::<i64>("n")?, 10);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// What `f` or the commit returned, conflicts excepted.
    pub fn try_run<R, F: From<Error>>(
        &mut self,
        kind: TxnKind,
        f: impl FnMut(&mut Transaction<'_, E>) -> Result<R, F>,
    ) -> Result<R, F> {
        self.core.run(kind, f)
    }

    /// Begins a transaction that reads and writes the current state. It rolls back unless it is committed.
    ///
    /// # Errors
    /// None but what the engine's resources impose.
    pub fn begin(&mut self) -> Result<Transaction<'_, E>> {
        self.begin_as(TxnKind::ReadWrite)
    }

    /// Begins a read-only transaction that does not conflict, however many write beside it. It waits, some
    /// milliseconds, until it sees everything committed before. Cicada has to wait for transactions that began earlier;
    /// if one has been open for more than a second, it reads the present instead, and its commit may fail with a
    /// conflict. A single read is faster with `run_as(TxnKind::ReadOnly, ...)`, which does not wait, but may have to
    /// run again.
    ///
    /// # Errors
    /// As [`Session::begin`].
    pub fn begin_read_only(&mut self) -> Result<Transaction<'_, E>> {
        match self.core.begin(TxnKind::Present) {
            Err(Error::SnapshotNotReady) => self.core.begin(TxnKind::ReadOnly)?,
            begun => begun?,
        }
        Ok(Transaction::new(&mut self.core))
    }

    /// Begins a read-only transaction that never conflicts, at the price of not seeing the commits of the
    /// last milliseconds.
    ///
    /// # Errors
    /// As [`Session::begin`].
    pub fn begin_snapshot(&mut self) -> Result<Transaction<'_, E>> {
        self.begin_as(TxnKind::Snapshot)
    }

    /// Begins a read-only transaction that never conflicts, and sees everything committed before. It waits for that as
    /// long as it takes: with Cicada, for all transactions that are open.
    ///
    /// # Errors
    /// As [`Session::begin`].
    pub fn begin_deferrable(&mut self) -> Result<Transaction<'_, E>> {
        self.begin_as(TxnKind::Deferrable)
    }

    /// Begins a transaction of any kind.
    ///
    /// # Errors
    /// As [`Session::begin`].
    pub fn begin_as(&mut self, kind: TxnKind) -> Result<Transaction<'_, E>> {
        self.core.begin(kind)?;
        Ok(Transaction::new(&mut self.core))
    }

    /// When the commits of this session return, from now on: [`Options::commit_mode`](crate::Options::commit_mode)
    /// at first.
    pub fn set_commit_mode(&mut self, mode: CommitMode) {
        self.core.mode = mode;
    }

    /// Waits until the last transaction of this session, and every commit that it has seen, survive a crash: after
    /// asynchronous commits.
    ///
    /// # Errors
    /// [`Error::LogFailed`]: they may not.
    pub fn wait_durable(&self) -> Result<()> {
        self.core.worker.wait_durable()
    }

    /// The engine's worker, for code that counts nanoseconds: encoded keys
    /// ([`KeyBuf`](crate::keys::KeyBuf)), prepared [`Projection`](crate::engine::Projection)s, rows by
    /// column number. What it is given must fit the tables: it checks less than the typed operations.
    ///
    /// ```
    /// use scaledb::engine::{Projection, Worker};
    /// use scaledb::{keys::KeyBuf, Database, Table, TxnKind, Type};
    /// # let db = Database::in_memory();
    /// # let t = db.create_table(Table::build("t").column("id", Type::Int8).column("n",
    /// Type::Int8).primary_key(["id"]))?;
    /// # let mut session = db.session()?;
    /// # session.run(|txn| txn.insert(&t, (1, 10)))?;
    /// let n = Projection::new(t.schema(), [1]);
    /// let key = KeyBuf::new().i64(1);
    /// let sum = session.worker().run(TxnKind::ReadWrite, |worker| {
    ///     worker.update(t.id(), &key, &n, |row| {
    ///         row.set_i64(1, row.view().i64(1) + 1);
    ///         Ok(row.view().i64(1))
    ///     })
    /// })?;
    /// assert_eq!(sum, Some(11));
    /// # Ok::<(), scaledb::Error>(())
    /// ```
    pub fn worker(&mut self) -> &mut E::Worker {
        &mut self.core.worker
    }
}
