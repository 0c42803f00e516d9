//! Transactions: typed operations on rows.

use crate::input::{Tuple, adapt};
use crate::options::CommitMode;
use crate::row::{Row, RowEdit, RowView};
use crate::savepoint::Savepoint;
use crate::scan::Scan;
use crate::session::Core;
use crate::table::{Source, Table};
use scaledb_acc::Acc;
use scaledb_base::{Error, Result, Timestamp};
use scaledb_engine::{Engine, Worker};
use scaledb_row::{Projection, RowBuf, RowMut};

/// A running transaction. Dropping it rolls it back.
///
/// It sees the database as if it ran alone at one moment, that of its commit, and its own writes on top.
/// An operation that fails with [`Error::Conflict`] has ended it: all later ones fail with
/// [`Error::TransactionEnded`]. An operation that fails with another error has changed nothing, and the
/// transaction goes on. A commit ends it whatever its result.
///
/// Until it has committed, what it reads may not fit together: act on it outside the database only
/// afterwards.
///
/// ```
/// # use scaledb::{Database, Error, Table, Type};
/// # let db = Database::in_memory();
/// # let accounts = db.create_table(Table::build("accounts").column("id", Type::Int8).column("balance",
/// Type::Int8).primary_key(["id"]))?;
/// # let mut session = db.session()?;
/// let mut txn = session.begin()?;
/// txn.insert(&accounts, (1, 100))?;
/// assert!(matches!(txn.insert(&accounts, (1, 50)), Err(Error::DuplicateKey { .. })));
/// assert_eq!(txn.get(&accounts, 1)?.unwrap().get::<i64>("balance")?, 100);
/// let commit_ts = txn.commit()?;
/// # Ok::<(), scaledb::Error>(())
/// ```
#[must_use = "dropping a transaction rolls it back"]
pub struct Transaction<'a, E: Engine = Acc> {
    core: &'a mut Core<E::Worker>,
}

impl<'a, E: Engine> Transaction<'a, E> {
    pub(crate) fn new(core: &'a mut Core<E::Worker>) -> Self {
        Self { core }
    }

    /// Whether it runs still: false after a conflict.
    pub fn is_active(&self) -> bool {
        self.core.worker.in_transaction()
    }

    fn source<'s>(&self, source: impl Into<Source<'s>>) -> Result<Source<'s>> {
        let source = source.into();
        if !self.is_active() {
            return Err(Error::TransactionEnded);
        }
        if !source.table.belongs_to(&self.core.database) {
            return Err(Error::NoSuchTable(source.table.name().to_owned()));
        }
        Ok(source)
    }

    /// Inserts a row: one value for each column, in their order.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] for the table or a unique index; [`Error::WrongArity`],
    /// [`Error::WrongType`], [`Error::NullValue`], [`Error::OutOfRange`], [`Error::KeyTooLarge`],
    /// [`Error::RowTooLarge`], [`Error::OutOfMemory`], [`Error::TransactionsTooLarge`], [`Error::TooManyWrites`]; a
    /// conflict; [`Error::ReadOnlyTransaction`], [`Error::TransactionEnded`].
    pub fn insert(&mut self, table: &Table, values: impl Tuple) -> Result<()> {
        self.source(table)?;
        table.writable()?;
        let schema = table.schema();
        let Core { worker, row, .. } = &mut *self.core;
        let row = row.get_or_insert_with(|| RowBuf::new(schema));
        row.reset(schema);
        values.with_datums(|datums| {
            if datums.len() != schema.columns().len() {
                return Err(Error::WrongArity { expected: schema.columns().len(), got: datums.len() });
            }
            let mut edit = row.edit(schema);
            for (number, (column, datum)) in schema.columns().iter().zip(datums).enumerate() {
                edit.set(schema, number, adapt(column, *datum)?)?;
            }
            Ok(())
        })?;
        worker.insert(table.id(), row).map(|_| ())
    }

    /// The row of a primary key, or of the key of a unique index. `None` if there is none; that, too, is
    /// part of what the transaction has read.
    ///
    /// # Errors
    /// [`Error::WrongArity`], [`Error::WrongType`], [`Error::NullValue`], [`Error::OutOfRange`],
    /// [`Error::KeyTooLarge`] for the key; [`Error::BadDefinition`] if the index is not unique; a conflict;
    /// [`Error::TransactionEnded`].
    pub fn get<'s>(&mut self, source: impl Into<Source<'s>>, key: impl Tuple) -> Result<Option<Row>> {
        self.get_with(source, key, |row| Ok(row.to_row()))
    }

    /// [`Transaction::get`] through a unique index.
    ///
    /// ```
    /// # use scaledb::{Database, Table, Type};
    /// # let db = Database::in_memory();
    /// # let users = db.create_table(Table::build("users").column("id", Type::Int8).column("email",
    /// Type::Text(90)).primary_key(["id"]).unique_index("by_email", ["email"]))?; let by_email =
    /// users.index("by_email")?;
    /// # db.run(|txn| txn.insert(&users, (7, "ann@example.org")))?;
    /// let row = db.run(|txn| txn.get_by(&by_email, "ann@example.org"))?;
    /// assert_eq!(row.unwrap().get::<i64>("id")?, 7);
    /// # Ok::<(), scaledb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn get_by(&mut self, index: &crate::Index, key: impl Tuple) -> Result<Option<Row>> {
        self.get(index, key)
    }

    /// [`Transaction::get`], without copying the row: `f` looks at it where it lies.
    ///
    /// # Errors
    /// As [`Transaction::get`]; what `f` returns.
    pub fn get_with<'s, R>(
        &mut self,
        source: impl Into<Source<'s>>,
        key: impl Tuple,
        f: impl FnOnce(RowView<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let source = self.source(source)?;
        let key = source.key(key)?;
        let worker = &mut self.core.worker;
        worker.get(source.id(), &key, source.columns, |_, row| f(RowView::new(source, row)))?.transpose()
    }

    /// Whether a row of this key exists. Depends on nothing else of the row.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn contains<'s>(&mut self, source: impl Into<Source<'s>>, key: impl Tuple) -> Result<bool> {
        let source = self.source(source)?;
        let key = source.key(key)?;
        let found = self.core.worker.get(source.id(), &key, &Projection::existence(), |_, _| ())?;
        Ok(found.is_some())
    }

    /// Changes the row of a key. Returns what `f` returns; `None` if there is no such row. If `f` fails the
    /// row stays as it was.
    ///
    /// ```
    /// # use scaledb::{Database, Table, Type};
    /// # let db = Database::in_memory();
    /// # let t = db.create_table(Table::build("t").column("id", Type::Int8).column("n",
    /// Type::Int8).primary_key(["id"]))?;
    /// # db.run(|txn| txn.insert(&t, (1, 10)))?;
    /// db.run(|txn| {
    ///     txn.update(&t, 1, |row| {
    ///         let n: i64 = row.get("n")?;
    ///         row.set("n", n * 2)
    ///     })
    /// })?;
    /// # assert_eq!(db.run(|txn| txn.get(&t, 1))?.unwrap().get::<i64>("n")?, 20);
    /// # Ok::<(), scaledb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::get`] and [`Transaction::insert`]; what `f` returns.
    pub fn update<'s, R>(
        &mut self,
        source: impl Into<Source<'s>>,
        key: impl Tuple,
        f: impl FnOnce(&mut RowEdit<'_, '_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let source = self.source(source)?;
        source.table.writable()?;
        let (key, columns, table) = (source.key(key)?, source.columns, source.table.id());
        let change = |row: &mut RowMut<'_>| f(&mut RowEdit::new(source, row));
        let worker = &mut self.core.worker;
        if source.index.is_none() {
            return worker.update(table, &key, columns, change);
        }
        match worker.get(source.id(), &key, columns, |id, _| id)? {
            Some(id) => worker.update_at(table, id, columns, change),
            None => Ok(None),
        }
    }

    /// Deletes the row of a key. False if there is none.
    ///
    /// # Errors
    /// As [`Transaction::get`]; [`Error::TransactionsTooLarge`], [`Error::TooManyWrites`];
    /// [`Error::ReadOnlyTransaction`].
    pub fn delete<'s>(&mut self, source: impl Into<Source<'s>>, key: impl Tuple) -> Result<bool> {
        let source = self.source(source)?;
        source.table.writable()?;
        let (key, table) = (source.key(key)?, source.table.id());
        let worker = &mut self.core.worker;
        if source.index.is_none() {
            return worker.delete(table, &key);
        }
        match worker.get(source.id(), &key, &Projection::existence(), |id, _| id)? {
            Some(id) => worker.delete_at(table, id),
            None => Ok(false),
        }
    }

    /// A range of rows, in the order of the primary key or of the index: all of them until it is narrowed.
    pub fn scan<'s>(&mut self, source: impl Into<Source<'s>>) -> Scan<'_, 's, E> {
        let source = source.into();
        let checked = self.source(source).map(|_| ());
        Scan::new(self.core, source, checked)
    }

    /// The number of rows of a table. Reads them all.
    ///
    /// # Errors
    /// As [`Scan::count`].
    pub fn count<'s>(&mut self, source: impl Into<Source<'s>>) -> Result<usize> {
        self.scan(source).count()
    }

    /// Marks a point to come back to.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`].
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        let inner = self.core.worker.savepoint()?;
        Ok(self.core.marks.add(inner))
    }

    /// Undoes the writes since the savepoint, which stays; later savepoints are gone. What was read stays
    /// read.
    ///
    /// # Errors
    /// [`Error::NoSuchSavepoint`], [`Error::TransactionEnded`].
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        if !self.is_active() {
            return Err(Error::TransactionEnded);
        }
        let inner = self.core.marks.return_to(savepoint)?;
        self.core.worker.rollback_to(inner)
    }

    /// Commits. The timestamp is the transaction's place in the serial order of all transactions.
    ///
    /// # Errors
    /// A conflict: nothing happened, run the transaction again. [`Error::DuplicateKey`],
    /// [`Error::OutOfMemory`]: nothing happened. [`Error::TransactionEnded`] after a conflict.
    /// [`Error::LogFailed`]: whether it survives shows when the database is opened again.
    pub fn commit(self) -> Result<Timestamp> {
        let mode = self.core.mode;
        self.commit_as(mode)
    }

    /// [`Transaction::commit`] in a mode of its own.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit_as(self, mode: CommitMode) -> Result<Timestamp> {
        let commit_ts = self.core.worker.commit()?;
        if mode == CommitMode::Durable {
            self.core.worker.wait_durable()?;
        }
        Ok(commit_ts)
    }

    /// Ends the transaction without a trace, as dropping it does.
    pub fn rollback(self) {}

    /// The engine's worker within this transaction; see [`Session::worker`](crate::Session::worker).
    pub fn worker(&mut self) -> &mut E::Worker {
        &mut self.core.worker
    }
}

impl<E: Engine> Drop for Transaction<'_, E> {
    fn drop(&mut self) {
        self.core.worker.rollback();
    }
}
