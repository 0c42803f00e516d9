//! A table as plans use it, and its indexes.

use super::place::Places;
use scaledb_base::TableId;
use scaledb_catalog::{Catalog, ColumnDesc, TableDesc};
use scaledb_engine::TableInfo;
use scaledb_types::{Result, SqlError, SqlState, Type, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// A table as plans use it: the descriptor and the engine's table behind it.
#[derive(Debug)]
pub struct BoundTable {
    pub desc: Arc<TableDesc>,
    pub info: Arc<TableInfo>,
    /// The types of the columns.
    pub types: Vec<Type>,
    /// The columns of the primary key; none if the engine numbers the rows.
    pub primary: Vec<IndexColumn>,
    /// The columns of the secondary indexes.
    pub secondary: Vec<Vec<IndexColumn>>,
    /// Columns whose keys have a form of their own: position, and the engine's column of the key.
    pub key_columns: Vec<(usize, usize)>,
    /// Where rows have the columns.
    pub places: Places,
}

/// The type of a column.
///
/// # Errors
/// XX001 if there is none.
pub fn column_type(catalog: &Catalog, column: &ColumnDesc) -> Result<Type> {
    let ty = catalog.type_of_oid(column.type_oid).ok_or_else(|| {
        SqlError::new(SqlState::DATA_CORRUPTED, format!("column {} has an unknown type", column.name))
    })?;
    Ok(ty.with_typmod(column.typmod))
}

/// The types of the columns of a table.
///
/// # Errors
/// XX001 if one is of no type.
pub fn column_types(catalog: &Catalog, desc: &TableDesc) -> Result<Vec<Type>> {
    desc.columns.iter().map(|column| column_type(catalog, column)).collect()
}

/// A column of an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexColumn {
    /// Its position in the table.
    pub position: usize,
    /// The engine's column that holds its key.
    pub engine: usize,
    /// Whether that is a column of its own.
    pub separate: bool,
    pub ty: Type,
    pub descending: bool,
    pub nulls_first: bool,
}

impl BoundTable {
    /// The columns of an index.
    pub fn index_columns(&self, index: IndexRef) -> &[IndexColumn] {
        match index {
            IndexRef::Primary => &self.primary,
            IndexRef::Secondary(number) => &self.secondary[number],
        }
    }

    /// How many of an index's leading columns are hidden: they are true in the rows that it is for.
    pub fn hidden_columns(&self, index: IndexRef) -> usize {
        match index {
            IndexRef::Primary => 0,
            IndexRef::Secondary(number) => usize::from(self.desc.indexes[number].predicate.is_some()),
        }
    }

    /// The columns of an index that statements see.
    pub fn shown_columns(&self, index: IndexRef) -> &[IndexColumn] {
        &self.index_columns(index)[self.hidden_columns(index)..]
    }

    /// What a column of an index is called in messages and plans: an expression by itself.
    pub fn key_name(&self, column: &IndexColumn) -> Cow<'_, str> {
        let desc = &self.desc.columns[column.position];
        match desc.key.as_deref() {
            Some(text) => key_text(text),
            None => Cow::Borrowed(&desc.name),
        }
    }

    /// The engine's id of an index.
    pub fn index_id(&self, index: IndexRef) -> TableId {
        match index {
            IndexRef::Primary => self.info.id,
            IndexRef::Secondary(number) => self.info.indexes[number].id,
        }
    }

    /// The secondary indexes whose constraints are checked late.
    pub fn late(&self) -> Vec<usize> {
        let indexes = self.desc.indexes.iter().enumerate();
        indexes.filter(|(_, index)| index.is_checked_late()).map(|(number, _)| number).collect()
    }

    /// Whether no other row may have this key of a secondary index that has a constraint.
    pub fn is_compared(&self, number: usize, key: &[Value]) -> bool {
        let (markers, shown) = key.split_at(self.hidden_columns(IndexRef::Secondary(number)));
        let has_null = |values: &[Value]| values.iter().any(Value::is_null);
        !has_null(markers) && (self.desc.indexes[number].takes_one_null() || !has_null(shown))
    }

    /// Whether that is looked at when a statement is done, or the transaction.
    pub fn is_compared_late(&self, number: usize, key: &[Value]) -> bool {
        let desc = &self.desc.indexes[number];
        // the engine looks at keys without NULLs itself
        let by_engine = desc.is_unique_at_once() && !key.iter().any(Value::is_null);
        self.is_compared(number, key) && !by_engine
    }

    /// The oid of an index; that of the table if it has no primary key.
    #[inline]
    pub fn index_oid(&self, index: IndexRef) -> u32 {
        match index {
            IndexRef::Primary => self.desc.primary_key.as_ref().map_or(self.desc.oid, |key| key.oid),
            IndexRef::Secondary(number) => self.desc.indexes[number].oid,
        }
    }

    /// The name of an index.
    pub fn index_name(&self, index: IndexRef) -> &str {
        match index {
            IndexRef::Primary => self.desc.primary_key.as_ref().map_or("", |key| key.name.as_str()),
            IndexRef::Secondary(number) => &self.desc.indexes[number].name,
        }
    }
}

/// An expression of an index, in parentheses unless it is a call.
pub fn key_text(text: &str) -> Cow<'_, str> {
    match scaledb_parse::expression(text) {
        Ok(expr) if !scaledb_parse::is_call(&expr) => Cow::Owned(format!("({text})")),
        _ => Cow::Borrowed(text),
    }
}

/// Which index of a table: its primary key, or the secondary one of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexRef {
    Primary,
    Secondary(usize),
}
