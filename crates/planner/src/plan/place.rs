//! Where rows have the columns of a table.
//!
//! The engine's table has the columns that the table was made with. ADD COLUMN does not touch the rows: the values of
//! columns that came later are in the row's tail, and rows from before have the column's missing value. DROP COLUMN
//! does not touch them either: the engine's column stays, and no statement reads it. A copy of the rows puts all of
//! this in order.

use super::{BoundTable, Slot};
use scaledb_row::{ColumnType, Projection, Schema};
use scaledb_types::{Type, Value};

/// Where rows have a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnPlace {
    /// In this column of the engine's table.
    Column(usize),
    /// In the tail.
    Tail(Added),
}

/// A column in the tail.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    pub attnum: i16,
    /// What rows have that were there before the column: as bytes, and as a value.
    pub missing: Option<Vec<u8>>,
    pub value: Value,
}

/// Where rows have the columns.
#[derive(Debug)]
pub struct Places {
    /// By position.
    pub columns: Vec<ColumnPlace>,
    /// The engine's column that is the tail. Tables that are older than tails have none.
    pub tail: Option<usize>,
    /// Some column is in the tail.
    pub any_added: bool,
}

impl Places {
    pub fn new(columns: Vec<ColumnPlace>, schema: &Schema) -> Self {
        let tail = schema.columns().iter().position(|column| column.ty == ColumnType::Tail);
        let any_added = columns.iter().any(|place| matches!(place, ColumnPlace::Tail(_)));
        Self { columns, tail, any_added }
    }

    /// The columns that a table was made with, and no others.
    pub fn as_made(count: usize, schema: &Schema) -> Self {
        Self::new((0..count).map(ColumnPlace::Column).collect(), schema)
    }
}

impl BoundTable {
    /// Whether rows can have NULL in a column, whatever the descriptor says.
    pub fn takes_null(&self, position: usize) -> bool {
        match self.places.columns[position] {
            ColumnPlace::Column(column) => self.info.schema.columns()[column].nullable,
            ColumnPlace::Tail(_) => true,
        }
    }

    /// The engine's column that a column is in.
    pub fn engine_column(&self, position: usize) -> Option<usize> {
        match self.places.columns[position] {
            ColumnPlace::Column(column) => Some(column),
            ColumnPlace::Tail(_) => self.places.tail,
        }
    }

    /// What is read of a row before these columns are set.
    pub fn projection_to_write(&self, positions: &[usize]) -> Projection {
        let columns = positions.iter().filter_map(|&position| self.engine_column(position));
        let keys =
            self.key_columns.iter().filter(|(of, _)| positions.contains(of)).map(|(_, column)| *column);
        Projection::new(&self.info.schema, columns.chain(keys))
    }
}

/// A column that a scan writes into a slot.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The engine's.
    pub column: usize,
    pub slot: Slot,
    pub ty: Type,
}

/// The columns that a scan writes into slots.
#[derive(Debug, Default)]
pub struct Loads {
    /// Those that only the scan's filter reads stand last.
    pub columns: Vec<Load>,
    /// How many of them others read.
    kept: usize,
    /// Columns in the tail: position, and slot.
    pub added: Vec<(usize, Slot)>,
}

impl Loads {
    /// All columns of a table, or none if there are no slots.
    pub fn new(table: &BoundTable, slots: &[Slot]) -> Self {
        let mut loads = Self::default();
        for (position, (&slot, &ty)) in slots.iter().zip(&table.types).enumerate() {
            match table.places.columns[position] {
                ColumnPlace::Column(column) => loads.columns.push(Load { column, slot, ty }),
                ColumnPlace::Tail(_) => loads.added.push((position, slot)),
            }
        }
        loads.kept = loads.columns.len();
        loads
    }

    /// The slots.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.columns.iter().map(|load| load.slot).chain(self.added.iter().map(|(_, slot)| *slot))
    }

    /// Forgets columns whose slots no expression reads.
    pub fn retain(&mut self, used: &[bool]) {
        self.retain_for(|slot| used[slot], |_| true);
    }

    /// Forgets columns whose slots nothing reads, and tells those that only the scan's filter reads from others.
    pub fn retain_for(&mut self, read: impl Fn(Slot) -> bool, kept: impl Fn(Slot) -> bool) {
        self.columns.retain(|load| read(load.slot));
        self.added.retain(|(_, slot)| read(*slot));
        self.columns.sort_by_key(|load| !kept(load.slot));
        self.kept = self.columns.iter().filter(|load| kept(load.slot)).count();
    }

    /// The columns that are read behind the scan's filter.
    #[inline]
    pub fn kept(&self) -> &[Load] {
        &self.columns[..self.kept]
    }

    /// What is read of a row of the table.
    pub fn projection(&self, table: &BoundTable) -> Projection {
        Projection::new(&table.info.schema, self.engine_columns(table))
    }

    /// The engine's columns that are read.
    pub fn engine_columns(&self, table: &BoundTable) -> impl Iterator<Item = usize> {
        let tail = table.places.tail.filter(|_| !self.added.is_empty());
        self.columns.iter().map(|load| load.column).chain(tail)
    }
}
