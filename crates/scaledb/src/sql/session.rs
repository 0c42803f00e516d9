//! Sessions and transactions.

#[allow(unused_imports, reason = "the documentation names it")]
use super::Kind;
use super::core::Core;
use super::error::{Error, Result};
use super::value::{FromRow, Params};
use super::{Prepared, Sql, statements};
use scaledb_acc::Acc;
use scaledb_engine::Engine;
use scaledb_sql::Status;
use std::ops::ControlFlow;

/// A session of SQL: settings, and one transaction at a time.
///
/// ```
/// use scaledb::Database;
/// let mut session = Database::in_memory().sql()?.session()?;
/// session.execute("set timezone = 'Europe/Berlin'", ())?;
/// let noon: String = session.query_one("select '2024-07-01 10:00Z'::timestamptz", ())?;
/// assert_eq!(noon, "2024-07-01 12:00:00+02");
/// # Ok::<(), scaledb::sql::Error>(())
/// ```
pub struct Session<E: Engine = Acc> {
    core: Core<E>,
    _sql: Sql<E>,
}

impl<E: Engine> Session<E> {
    pub(super) fn new(core: Core<E>, sql: Sql<E>) -> Self {
        Self { core, _sql: sql }
    }

    statements!((&mut self) self.core);

    /// As [`Sql::batch`].
    ///
    /// # Errors
    /// That of the first statement that fails.
    pub fn batch(&mut self, sql: &str) -> Result<()> {
        self.core.batch(sql)
    }

    /// As [`Sql::run`].
    ///
    /// # Errors
    /// As [`Sql::run`].
    pub fn run<R>(&mut self, f: impl FnMut(&mut Transaction<'_, E>) -> Result<R>) -> Result<R> {
        self.core.run("begin", f)
    }

    /// As [`Sql::run_read_only`].
    ///
    /// # Errors
    /// As [`Sql::run_read_only`].
    pub fn run_read_only<R>(&mut self, f: impl FnMut(&mut Transaction<'_, E>) -> Result<R>) -> Result<R> {
        self.core.run("begin read only", f)
    }

    /// As [`Sql::try_run`].
    ///
    /// # Errors
    /// As [`Sql::run`].
    pub fn try_run<R, F: From<Error>>(
        &mut self,
        f: impl FnMut(&mut Transaction<'_, E>) -> Result<R, F>,
    ) -> Result<R, F> {
        self.core.run("begin", f)
    }

    /// Begins a transaction. Dropped, it is rolled back.
    ///
    /// # Errors
    /// None so far.
    pub fn begin(&mut self) -> Result<Transaction<'_, E>> {
        self.core.begin("begin")?;
        Ok(Transaction::new(&mut self.core))
    }

    /// Begins a transaction that only reads: it reads one state of the database, and does not conflict.
    ///
    /// # Errors
    /// None so far.
    pub fn begin_read_only(&mut self) -> Result<Transaction<'_, E>> {
        self.core.begin("begin read only")?;
        Ok(Transaction::new(&mut self.core))
    }
}

/// A transaction of several statements. Dropped, it is rolled back.
///
/// A statement that fails fails the transaction, as in PostgreSQL: what follows is refused with
/// [`Kind::TransactionFailed`], unless the statement was within a [`savepoint`](Self::savepoint).
pub struct Transaction<'a, E: Engine = Acc> {
    core: &'a mut Core<E>,
    /// Within a savepoint: its end is not the transaction's.
    inner: bool,
}

impl<'a, E: Engine> Transaction<'a, E> {
    pub(super) fn new(core: &'a mut Core<E>) -> Self {
        Self { core, inner: false }
    }

    statements!((&mut self) self.core);

    /// Runs `f`, and takes back what it has done if it fails; the transaction then goes on.
    ///
    /// ```
    /// use scaledb::Database;
    /// use scaledb::sql::Kind;
    /// let sql = Database::in_memory().sql()?;
    /// sql.execute("create table t (id int primary key)", ())?;
    /// sql.run(|txn| {
    ///     txn.execute("insert into t values (1)", ())?;
    ///     let again = txn.savepoint(|txn| txn.execute("insert into t values (1)", ()));
    ///     assert_eq!(again.unwrap_err().kind(), Kind::UniqueViolation);
    ///     txn.execute("insert into t values (2)", ())
    /// })?;
    /// assert_eq!(sql.query::<i32>("select id from t order by id", ())?, [1, 2]);
    /// # Ok::<(), scaledb::sql::Error>(())
    /// ```
    ///
    /// # Errors
    /// What `f` returned; a conflict has ended the transaction.
    pub fn savepoint<R, F: From<Error>>(
        &mut self,
        f: impl FnOnce(&mut Transaction<'_, E>) -> Result<R, F>,
    ) -> Result<R, F> {
        // one name does for all: the last one counts, and each is released
        self.core.execute("savepoint closure", &[])?;
        let result = f(&mut Transaction { core: &mut *self.core, inner: true });
        if self.core.has_conflict() {
            return result;
        }
        let failed = self.core.status() == Status::Failed;
        if failed || result.is_err() {
            self.core.execute("rollback to savepoint closure", &[])?;
        }
        self.core.execute("release savepoint closure", &[])?;
        if failed && result.is_ok() { Err(Error::failed().into()) } else { result }
    }

    /// Commits, and returns when that survives a crash, unless the database or the session asks for no more than
    /// asynchronous commits.
    ///
    /// # Errors
    /// A conflict: nothing happened, run the transaction again. [`Kind::TransactionFailed`]: a statement has failed,
    /// nothing happened. [`Kind::Disk`]: whether it survives shows when the database is opened again.
    pub fn commit(self) -> Result<()> {
        self.core.commit()
    }

    /// Ends the transaction without a trace, as dropping it does.
    pub fn rollback(self) {}

    pub(super) fn has_conflict(&self) -> bool {
        self.core.has_conflict()
    }
}

impl<E: Engine> Drop for Transaction<'_, E> {
    fn drop(&mut self) {
        if !self.inner {
            self.core.roll_back();
        }
    }
}
