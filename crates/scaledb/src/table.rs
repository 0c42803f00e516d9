//! Handles of tables, indexes, and selections of columns.

use crate::builder::TableBuilder;
use crate::input::{Tuple, adapt};
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{IndexInfo, TableInfo};
use scaledb_keys::KeyBuf;
use scaledb_row::{Datum, KeySpec, Projection, Schema};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use std::fmt;

/// Tells databases apart.
#[derive(Clone, Debug)]
pub(crate) struct Token(Arc<AtomicU64>);

impl Token {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(0)))
    }

    /// A number for a session, unique in the database.
    pub(crate) fn next_session(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) // unique is enough
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that no other database has while this one lives.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(&*self.0).addr()
    }
}

struct Shape {
    info: std::sync::Arc<TableInfo>,
    all: Projection,
    database: Token,
    /// Why nothing but SQL may write to it, if that is so.
    read_only: Option<String>,
    /// What keeps SQL from changing its definition.
    pin: Option<Box<dyn std::any::Any + Send + Sync>>,
}

/// A table of a database. A handle: cheap to clone, valid as long as its database, usable in all sessions.
///
/// ```
/// use scaledb::{Database, Table, Type};
/// let db = Database::in_memory();
/// db.create_table(Table::build("t").column("id", Type::Int4).column("n", Type::Int8).primary_key(["id"]))?;
/// let t = db.table("t")?;
/// assert_eq!((t.name(), t.column("n")?), ("t", 1));
/// # Ok::<(), scaledb::Error>(())
/// ```
#[derive(Clone)]
pub struct Table(Arc<Shape>);

impl Table {
    /// Describes a table to be created with [`Database::create_table`](crate::Database::create_table).
    pub fn build(name: &str) -> TableBuilder {
        TableBuilder::new(name)
    }

    pub(crate) fn new(info: std::sync::Arc<TableInfo>, database: Token) -> Self {
        let all = Projection::all(&info.schema);
        Self(Arc::new(Shape { all, info, database, read_only: None, pin: None }))
    }

    /// A table that SQL has made, as it is while the pin lives.
    #[cfg(feature = "sql")]
    pub(crate) fn of_sql(
        info: TableInfo,
        database: Token,
        read_only: Option<String>,
        pin: Option<Box<dyn std::any::Any + Send + Sync>>,
    ) -> Self {
        let all = Projection::all(&info.schema);
        Self(Arc::new(Shape { all, info: std::sync::Arc::new(info), database, read_only, pin }))
    }

    /// Whether SQL has made it.
    pub(crate) fn is_of_sql(&self) -> bool {
        self.0.pin.is_some()
    }

    /// Refuses to write to a table that SQL alone may write to.
    ///
    /// # Errors
    /// [`Error::NotShared`].
    #[inline]
    pub(crate) fn writable(&self) -> Result<()> {
        match &self.0.read_only {
            None => Ok(()),
            Some(why) => Err(self.not_writable(why)),
        }
    }

    #[cold]
    fn not_writable(&self, why: &str) -> Error {
        let why = format!("is written by SQL alone: {why}");
        Error::NotShared { table: self.name().to_owned(), why }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.info.name
    }

    /// Its id, for [`Worker`](crate::engine::Worker).
    pub fn id(&self) -> TableId {
        self.0.info.id
    }

    /// Its columns, keys and indexes.
    pub fn info(&self) -> &TableInfo {
        &self.0.info
    }

    /// Its columns and primary key.
    pub fn schema(&self) -> &Schema {
        &self.0.info.schema
    }

    /// The number of the column called `name`, by which rows are read a little faster than by name.
    ///
    /// # Errors
    /// [`Error::WrongType`]: there is none.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.schema().column(name).ok_or_else(|| self.no_such_column(name))
    }

    /// The index called `name`.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`].
    pub fn index(&self, name: &str) -> Result<Index> {
        let number = self.info().indexes.iter().position(|index| index.name == name);
        let number = number.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
        Ok(Index { table: self.clone(), number })
    }

    /// The table, of which only these columns are read. In a table with
    /// [conflict groups](TableBuilder::conflict_group) a transaction then depends on their groups alone.
    ///
    /// # Errors
    /// [`Error::WrongType`]: there is no such column.
    pub fn select<'n>(&self, columns: impl IntoIterator<Item = &'n str>) -> Result<Selection> {
        Ok(Selection { table: self.clone(), index: None, columns: self.projection(columns)? })
    }

    fn projection<'n>(&self, columns: impl IntoIterator<Item = &'n str>) -> Result<Projection> {
        let columns: Vec<usize> = columns.into_iter().map(|name| self.column(name)).collect::<Result<_>>()?;
        Ok(Projection::new(self.schema(), columns))
    }

    pub(crate) fn belongs_to(&self, database: &Token) -> bool {
        self.0.database.is(database)
    }

    /// The error for a column that the table does not have.
    #[cold]
    pub(crate) fn no_such_column(&self, column: impl fmt::Display) -> Error {
        Error::WrongType {
            column: column.to_string(),
            expected: format!("a column of table {}", self.name()),
            got: "an unknown column".to_owned(),
        }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Table").field(&self.name()).finish()
    }
}

/// A secondary index of a table. A handle like [`Table`].
#[derive(Clone, Debug)]
pub struct Index {
    table: Table,
    number: usize,
}

impl Index {
    /// Its table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Its id, name and columns.
    pub fn info(&self) -> &IndexInfo {
        &self.table.info().indexes[self.number]
    }

    /// The index, of whose rows only these columns are read; see [`Table::select`].
    ///
    /// # Errors
    /// [`Error::WrongType`]: there is no such column.
    pub fn select<'n>(&self, columns: impl IntoIterator<Item = &'n str>) -> Result<Selection> {
        let index = Some(self.number);
        Ok(Selection { table: self.table.clone(), index, columns: self.table.projection(columns)? })
    }
}

/// Some columns of the rows of a table or index: made once, used for many rows.
#[derive(Clone, Debug)]
pub struct Selection {
    table: Table,
    index: Option<usize>,
    columns: Projection,
}

/// Where rows are looked for: a [`Table`] by its primary key, an [`Index`] by its columns, or a
/// [`Selection`] of either. Operations take `&Table`, `&Index` and `&Selection` alike.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub(crate) table: &'a Table,
    pub(crate) index: Option<&'a IndexInfo>,
    pub(crate) columns: &'a Projection,
}

impl<'a> From<&'a Table> for Source<'a> {
    fn from(table: &'a Table) -> Self {
        Self { table, index: None, columns: &table.0.all }
    }
}

impl<'a> From<&'a Index> for Source<'a> {
    fn from(index: &'a Index) -> Self {
        Self { table: &index.table, index: Some(index.info()), columns: &index.table.0.all }
    }
}

impl<'a> From<&'a Selection> for Source<'a> {
    fn from(selection: &'a Selection) -> Self {
        let table = &selection.table;
        let index = selection.index.map(|number| &table.info().indexes[number]);
        Self { table, index, columns: &selection.columns }
    }
}

impl<'a> Source<'a> {
    /// The table's or the index's id.
    pub(crate) fn id(&self) -> TableId {
        self.index.map_or(self.table.id(), |index| index.id)
    }

    fn key_spec(&self) -> &'a KeySpec {
        self.index.map_or(self.table.schema().primary_key(), |index| &index.key)
    }

    /// The encoded key of one row.
    ///
    /// # Errors
    /// [`Error::WrongArity`], [`Error::WrongType`], [`Error::NullValue`], [`Error::OutOfRange`],
    /// [`Error::KeyTooLarge`]; [`Error::BadDefinition`] if the key cannot name a single row.
    pub(crate) fn key(&self, values: impl Tuple) -> Result<KeyBuf> {
        let spec = self.key_spec();
        if let Some(index) = self.index.filter(|index| !index.unique) {
            return Err(Error::BadDefinition(format!("index {} is not unique: scan it", index.name)));
        }
        if spec.parts().is_empty() {
            let name = self.table.name();
            return Err(Error::BadDefinition(format!("table {name} has no primary key: scan it")));
        }
        values.with_datums(|datums| {
            if datums.len() != spec.parts().len() {
                return Err(Error::WrongArity { expected: spec.parts().len(), got: datums.len() });
            }
            self.encode(datums)
        })
    }

    /// The encoded first columns of a key.
    ///
    /// # Errors
    /// As [`Source::key`].
    pub(crate) fn bound(&self, values: impl Tuple) -> Result<KeyBuf> {
        values.with_datums(|datums| self.encode(datums))
    }

    fn encode(&self, datums: &mut [Datum<'_>]) -> Result<KeyBuf> {
        let (spec, schema) = (self.key_spec(), self.table.schema());
        for (part, datum) in spec.parts().iter().zip(&mut *datums) {
            *datum = adapt(&schema.columns()[part.column], *datum)?;
        }
        spec.encode_values(schema, datums)
    }
}
