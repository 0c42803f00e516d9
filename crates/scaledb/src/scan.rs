//! Range scans, updates and deletes.

use crate::input::Tuple;
use crate::row::{Row, RowEdit, RowView};
use crate::session::Core;
use crate::table::Source;
use scaledb_acc::Acc;
use scaledb_base::{Error, Result};
use scaledb_engine::{Engine, Order, Range, RowId, Worker};
use scaledb_keys::KeyBuf;
use scaledb_row::{Projection, RowRef};
use std::ops::ControlFlow;

/// A range of rows in key order, to be narrowed and then read, changed or deleted.
///
/// Bounds are values for the first columns of the key, in the order of the key: with a descending column
/// [`from`](Scan::from) takes the larger value. Several bounds narrow the range further.
///
/// The transaction depends on every key of the range up to the last row that was read, on those that do
/// not exist too: if another transaction inserts one before the commit, that is a conflict.
///
/// ```
/// # use scaledb::{Database, Table, Type};
/// # let db = Database::in_memory();
/// let lines = db.create_table(
///     Table::build("lines")
///         .column("order", Type::Int4).column("line", Type::Int4).column("amount", Type::Int8)
///         .primary_key(["order", "line"]),
/// )?;
/// db.run(|txn| {
///     for (order, line) in [(1, 1), (1, 2), (1, 3), (2, 1)] {
///         txn.insert(&lines, (order, line, 10))?;
///     }
///     assert_eq!(txn.scan(&lines).prefix(1).count()?, 3);
///     assert_eq!(txn.scan(&lines).from((1, 2)).to((2, 1)).count()?, 3);
///     assert_eq!(txn.scan(&lines).after(1).count()?, 1);
///     assert_eq!(txn.scan(&lines).before(2).reverse().first()?.unwrap().get::<i32>("line")?, 3);
///     let mut sum = 0;
///     txn.scan(&lines).prefix(1).for_each(|row| {
///         sum += row.get::<i64>("amount")?;
///         Ok(())
///     })?;
///     assert_eq!(sum, 30);
///     assert_eq!(txn.scan(&lines).prefix(1).update(|row| row.add("amount", 1).map(|_| ()))?, 3);
///     assert_eq!(txn.scan(&lines).prefix(2).delete()?, 1);
///     Ok(())
/// })?;
/// # Ok::<(), scaledb::Error>(())
/// ```
#[must_use = "a scan does nothing until it is read"]
pub struct Scan<'t, 's, E: Engine = Acc> {
    core: &'t mut Core<E::Worker>,
    source: Source<'s>,
    start: KeyBuf,
    end: Option<KeyBuf>,
    order: Order,
    limit: usize,
    /// The first mistake in the description.
    checked: Result<(), Error>,
}

impl<'t, 's, E: Engine> Scan<'t, 's, E> {
    pub(crate) fn new(core: &'t mut Core<E::Worker>, source: Source<'s>, checked: Result<()>) -> Self {
        let (start, end) = (KeyBuf::new(), None);
        Self { core, source, start, end, order: Order::Forward, limit: usize::MAX, checked }
    }

    /// Keys at or after this one.
    pub fn from(self, key: impl Tuple) -> Self {
        self.narrow(key, Self::start_at)
    }

    /// Keys after this one, and after all keys that begin with it.
    pub fn after(self, key: impl Tuple) -> Self {
        self.narrow(key, |scan, key| match behind(key) {
            Some(key) => scan.start_at(key),
            None => scan.end_before(KeyBuf::new()),
        })
    }

    /// Keys at or before this one, and those that begin with it.
    pub fn to(self, key: impl Tuple) -> Self {
        self.narrow(key, |scan, key| {
            if let Some(key) = behind(key) {
                scan.end_before(key);
            }
        })
    }

    /// Keys before this one.
    pub fn before(self, key: impl Tuple) -> Self {
        self.narrow(key, Self::end_before)
    }

    /// Keys that begin with these values.
    pub fn prefix(self, key: impl Tuple) -> Self {
        self.narrow(key, |scan, key| {
            scan.start_at(key.clone());
            if let Some(key) = behind(key) {
                scan.end_before(key);
            }
        })
    }

    /// The largest key first.
    pub fn reverse(mut self) -> Self {
        self.order = Order::Backward;
        self
    }

    /// At most this many rows. The transaction depends on nothing behind the last of them.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    fn narrow(mut self, key: impl Tuple, f: impl FnOnce(&mut Self, KeyBuf)) -> Self {
        if self.checked.is_ok() {
            match self.source.bound(key) {
                Ok(key) => f(&mut self, key),
                Err(error) => self.checked = Err(error),
            }
        }
        self
    }

    fn start_at(&mut self, key: KeyBuf) {
        if key > self.start {
            self.start = key;
        }
    }

    fn end_before(&mut self, key: KeyBuf) {
        if self.end.as_ref().is_none_or(|end| key < *end) {
            self.end = Some(key);
        }
    }

    /// Hands the rows to `f`, with the columns of `columns`, until it breaks or fails.
    fn visit(
        &mut self,
        columns: &Projection,
        mut f: impl FnMut(RowId, RowRef<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        std::mem::replace(&mut self.checked, Ok(()))?;
        if self.limit == 0 {
            return Ok(());
        }
        let range = Range { start: &self.start, end: self.end.as_deref() };
        let (mut left, mut result) = (self.limit, Ok(()));
        self.core.worker.scan(self.source.id(), range, self.order, columns, |id, _, row| {
            left -= 1;
            match f(id, row) {
                Ok(ControlFlow::Continue(())) if left > 0 => ControlFlow::Continue(()),
                Ok(_) => ControlFlow::Break(()),
                Err(error) => {
                    result = Err(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        result
    }

    /// Hands the rows to `f`, where they lie, until it breaks or fails.
    ///
    /// # Errors
    /// For the bounds: [`Error::WrongArity`], [`Error::WrongType`], [`Error::NullValue`],
    /// [`Error::OutOfRange`], [`Error::KeyTooLarge`]. [`Error::NotOrdered`] if the table has no range
    /// index; a conflict; [`Error::TransactionEnded`]; what `f` returns.
    pub fn try_for_each(mut self, mut f: impl FnMut(RowView<'_>) -> Result<ControlFlow<()>>) -> Result<()> {
        let source = self.source;
        self.visit(source.columns, |_, row| f(RowView::new(source, row)))
    }

    /// Hands the rows to `f`, where they lie, until it fails.
    ///
    /// # Errors
    /// As [`Scan::try_for_each`].
    pub fn for_each(self, mut f: impl FnMut(RowView<'_>) -> Result<()>) -> Result<()> {
        self.try_for_each(|row| f(row).map(ControlFlow::Continue))
    }

    /// The rows, copied.
    ///
    /// # Errors
    /// As [`Scan::try_for_each`].
    pub fn collect(self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.for_each(|row| {
            rows.push(row.to_row());
            Ok(())
        })?;
        Ok(rows)
    }

    /// The first row.
    ///
    /// # Errors
    /// As [`Scan::try_for_each`].
    pub fn first(self) -> Result<Option<Row>> {
        Ok(self.limit(1).collect()?.pop())
    }

    /// The number of rows. Depends on nothing of them but that they exist.
    ///
    /// # Errors
    /// As [`Scan::try_for_each`].
    pub fn count(mut self) -> Result<usize> {
        let mut rows = 0;
        self.visit(&Projection::existence(), |_, _| {
            rows += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }

    /// Changes the rows. Returns their number. If `f` or a change fails, all rows stay as they were.
    ///
    /// The rows are found first and changed then, one by one: a change of a unique key must fit the rows as
    /// they are at that moment.
    ///
    /// # Errors
    /// As [`Scan::try_for_each`] and [`Transaction::update`](crate::Transaction::update).
    pub fn update(mut self, mut f: impl FnMut(&mut RowEdit<'_, '_>) -> Result<()>) -> Result<usize> {
        let source = self.source;
        self.write(source.columns, |worker, id| {
            let table = source.table.id();
            worker.update_at(table, id, source.columns, |row| f(&mut RowEdit::new(source, row))).map(|_| ())
        })
    }

    /// Deletes the rows. Returns their number.
    ///
    /// # Errors
    /// As [`Scan::try_for_each`] and [`Transaction::delete`](crate::Transaction::delete).
    pub fn delete(mut self) -> Result<usize> {
        let table = self.source.table.id();
        self.write(&Projection::existence(), |worker, id| worker.delete_at(table, id).map(|_| ()))
    }

    /// Writes all rows of the range, or none.
    fn write(
        &mut self,
        columns: &Projection,
        mut f: impl FnMut(&mut E::Worker, RowId) -> Result<()>,
    ) -> Result<usize> {
        self.source.table.writable()?;
        let mut rows = Vec::new();
        self.visit(columns, |id, _| {
            rows.push(id);
            Ok(ControlFlow::Continue(()))
        })?;
        let worker = &mut self.core.worker;
        let before = worker.savepoint()?;
        for &row in &rows {
            if let Err(error) = f(worker, row) {
                if worker.in_transaction() {
                    worker.rollback_to(before)?;
                }
                return Err(error);
            }
        }
        Ok(rows.len())
    }
}

/// The first key after all keys that begin with this one.
fn behind(mut key: KeyBuf) -> Option<KeyBuf> {
    key.next_prefix().then_some(key)
}
