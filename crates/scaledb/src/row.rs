//! Rows: owned, borrowed, and being changed.

use crate::input::{AsDatum, adapt};
use crate::output::FromDatum;
use crate::table::{Source, Table};
use crate::value::Value;
use scaledb_base::{Error, Result};
use scaledb_row::{ColumnSet, Datum, RowMut, RowRef};
use std::fmt;

/// A column of a row: its name, or its number.
pub trait ColumnRef: Copy + fmt::Display {
    /// The column's number.
    ///
    /// # Errors
    /// [`Error::WrongType`]: the table has no such column.
    fn number(self, table: &Table) -> Result<usize>;
}

impl ColumnRef for &str {
    #[inline]
    fn number(self, table: &Table) -> Result<usize> {
        table.column(self)
    }
}

impl ColumnRef for usize {
    #[inline]
    fn number(self, table: &Table) -> Result<usize> {
        if self < table.schema().columns().len() { Ok(self) } else { Err(table.no_such_column(self)) }
    }
}

/// The number of a column that was read.
#[inline]
fn find(table: &Table, read: ColumnSet, column: impl ColumnRef) -> Result<usize> {
    let number = column.number(table)?;
    if read.has(number) {
        return Ok(number);
    }
    Err(Error::WrongType {
        column: table.schema().columns()[number].name.clone(),
        expected: "a column of the selection".to_owned(),
        got: "one that was not read".to_owned(),
    })
}

#[inline]
fn convert<'a, T: FromDatum<'a>>(table: &Table, column: usize, datum: Datum<'a>) -> Result<T> {
    T::from_datum(datum).ok_or_else(|| Error::WrongType {
        column: table.schema().columns()[column].name.clone(),
        expected: T::NAME.to_owned(),
        got: datum.type_name().to_owned(),
    })
}

/// A row, copied out of the database. It can outlive its transaction, but only what a transaction that
/// committed has read is known to be true.
///
/// Each row allocates, and shares the handle of its table; the closure forms
/// ([`Transaction::get_with`](crate::Transaction::get_with), [`Scan::for_each`](crate::Scan::for_each))
/// do neither.
#[derive(Clone, Debug)]
pub struct Row {
    table: Table,
    read: ColumnSet,
    values: Vec<Value>,
}

impl Row {
    /// A column, as `T`.
    ///
    /// ```
    /// # use scaledb::{Database, Table, Type, Value};
    /// # let db = Database::in_memory();
    /// # let t = db.create_table(Table::build("t").column("id", Type::Int8).column("city", Type::Text(9)).nullable().primary_key(["id"]))?;
    /// # db.run(|txn| txn.insert(&t, (1, None::<&str>)))?;
    /// let row = db.run(|txn| txn.get(&t, 1))?.expect("row 1");
    /// let id: i64 = row.get("id")?;
    /// assert_eq!((id, row.get::<i64>(0)?), (1, 1));
    /// assert_eq!(row.get::<Option<&str>>("city")?, None);
    /// assert_eq!(row.get::<Value>("city")?, Value::Null);
    /// # Ok::<(), scaledb::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongType`]: `T` does not fit, or the column is unknown or was not read.
    pub fn get<'r, T: FromDatum<'r>>(&'r self, column: impl ColumnRef) -> Result<T> {
        let column = find(&self.table, self.read, column)?;
        convert(&self.table, column, self.values[column].as_datum())
    }

    /// All values in the order of the columns; NULL where a column was not read.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// All values, owned.
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }

    /// The row's table.
    pub fn table(&self) -> &Table {
        &self.table
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.table.id() == other.table.id() && self.values == other.values
    }
}

/// A row where it lies, valid during a closure.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    source: Source<'a>,
    row: RowRef<'a>,
}

impl<'a> RowView<'a> {
    pub(crate) fn new(source: Source<'a>, row: RowRef<'a>) -> Self {
        Self { source, row }
    }

    /// A column, as `T`; text and bytes can be borrowed. As [`Row::get`].
    ///
    /// # Errors
    /// [`Error::WrongType`].
    #[inline]
    pub fn get<T: FromDatum<'a>>(&self, column: impl ColumnRef) -> Result<T> {
        let table = self.source.table;
        let column = find(table, self.source.columns.columns(), column)?;
        convert(table, column, self.row.get(table.schema(), column))
    }

    /// A copy.
    pub fn to_row(&self) -> Row {
        let (table, read) = (self.source.table, self.source.columns.columns());
        let value = |column| {
            if read.has(column) { self.row.get(table.schema(), column).into() } else { Value::Null }
        };
        Row { table: table.clone(), read, values: (0..table.schema().columns().len()).map(value).collect() }
    }

    /// The engine's view of the row, with unchecked getters by column number.
    pub fn raw(&self) -> RowRef<'a> {
        self.row
    }
}

/// A row that an update changes.
#[derive(Debug)]
pub struct RowEdit<'a, 'w> {
    source: Source<'a>,
    row: &'a mut RowMut<'w>,
}

impl<'a, 'w> RowEdit<'a, 'w> {
    pub(crate) fn new(source: Source<'a>, row: &'a mut RowMut<'w>) -> Self {
        Self { source, row }
    }

    /// A column as it is now, changes included. As [`Row::get`].
    ///
    /// # Errors
    /// [`Error::WrongType`].
    pub fn get<'r, T: FromDatum<'r>>(&'r self, column: impl ColumnRef) -> Result<T> {
        RowView::new(self.source, self.row.view()).get(column)
    }

    /// Sets a column. Not one of the primary key: delete the row and insert it anew.
    ///
    /// # Errors
    /// [`Error::WrongType`], [`Error::NullValue`], [`Error::OutOfRange`], [`Error::RowTooLarge`],
    /// [`Error::KeyUpdate`].
    pub fn set(&mut self, column: impl ColumnRef, value: impl AsDatum) -> Result<()> {
        let table = self.source.table;
        let schema = table.schema();
        let number = find(table, self.source.columns.columns(), column)?;
        if schema.primary_key().parts().iter().any(|part| part.column == number) {
            return Err(Error::KeyUpdate(schema.columns()[number].name.clone()));
        }
        let datum = adapt(&schema.columns()[number], value.as_datum())?;
        self.row.set(schema, number, datum)
    }

    /// Adds to an integer column. Returns the sum.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::WrongType`].
    pub fn add(&mut self, column: impl ColumnRef, amount: i64) -> Result<i64> {
        let sum = self.get::<i64>(column)?.checked_add(amount);
        let sum = sum.ok_or_else(|| Error::OutOfRange(column.to_string()))?;
        self.set(column, sum)?;
        Ok(sum)
    }
}
