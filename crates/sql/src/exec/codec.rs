//! Values in rows and keys of the engine.

use super::tail;
use crate::stored::{datum, stored_of};
use scaledb_base::Error;
use scaledb_keys::{Direction, KeyBuf, Nulls};
use scaledb_planner::plan::place::ColumnPlace;
use scaledb_planner::plan::{BoundTable, IndexColumn};
use scaledb_row::{Column, Datum, RowBuf, RowMut, RowRef, Schema};
use scaledb_types::calendar::{check_date, check_timestamp};
use scaledb_types::{Base, Result, Stored, Type, Value};

/// Reads a column.
///
/// # Errors
/// XX001; 22008 for a date or time that the library has written and SQL does not have.
#[inline]
pub(crate) fn load(row: RowRef<'_>, schema: &Schema, column: usize, ty: Type) -> Result<Value> {
    if row.is_null(column) {
        return Ok(Value::Null);
    }
    if !ty.array {
        match ty.base {
            Base::Bool => return Ok(Value::Bool(row.bool(column))),
            Base::Int2 => return Ok(Value::Int2(row.i16(column))),
            Base::Int4 => return Ok(Value::Int4(row.i32(column))),
            Base::Int8 => return Ok(Value::Int8(row.i64(column))),
            Base::Text | Base::Varchar | Base::Bpchar => return Ok(Value::text(row.text(column))),
            Base::Date => return check_date(row.i32(column)).map(Value::Date),
            Base::Numeric => {
                if let Some(scale) = ty.word_scale() {
                    return Ok(Value::of_word(row.i64(column), scale));
                }
            }
            Base::Timestamp => return check_timestamp(row.i64(column)).map(Value::Timestamp),
            Base::Timestamptz => return check_timestamp(row.i64(column)).map(Value::Timestamptz),
            _ => {}
        }
    }
    Value::load(ty, &stored_of(row.get(schema, column)))
}

/// Reads a column of a table, wherever it is.
///
/// # Errors
/// XX001.
pub(crate) fn column(row: RowRef<'_>, table: &BoundTable, position: usize) -> Result<Value> {
    let ty = table.types[position];
    match &table.places.columns[position] {
        ColumnPlace::Column(column) => load(row, &table.info.schema, *column, ty),
        ColumnPlace::Tail(added) => tail::load(row.tail(), added, ty),
    }
}

/// Reads all columns of a table.
pub(crate) fn columns(row: RowRef<'_>, table: &BoundTable) -> impl Iterator<Item = Result<Value>> {
    (0..table.types.len()).map(move |position| column(row, table, position))
}

/// Sets a column of a row, and its key if that has a form of its own. The value has the column's type.
///
/// # Errors
/// Those of the engine.
pub(crate) fn set(
    row: &mut RowMut<'_>,
    table: &BoundTable,
    position: usize,
    value: &Value,
) -> std::result::Result<(), Error> {
    let schema = &table.info.schema;
    let stored = stored(table, position, value)?;
    let column = match &table.places.columns[position] {
        ColumnPlace::Column(column) => *column,
        ColumnPlace::Tail(added) => {
            let mut new = Vec::new();
            tail::copy_others(row.view().tail(), added.attnum, &mut new);
            tail::push(&mut new, added, &stored);
            return set_tail(row, table, &new);
        }
    };
    row.set(schema, column, datum(&stored))?;
    for (of, column) in &table.key_columns {
        if *of == position {
            if value.is_null() {
                row.set(schema, *column, Datum::Null)?;
            } else {
                let mut key = Vec::new();
                value.write_key(&mut key);
                row.set(schema, *column, Datum::Bytes(&key))?;
            }
        }
    }
    Ok(())
}

/// A value as the engine has it.
fn stored<'v>(
    table: &BoundTable,
    position: usize,
    value: &'v Value,
) -> std::result::Result<Stored<'v>, Error> {
    value.store(table.types[position]).map_err(|_| Error::WrongType {
        column: table.desc.columns[position].name.clone(),
        expected: table.types[position].to_string(),
        got: "another type".to_owned(),
    })
}

fn set_tail(row: &mut RowMut<'_>, table: &BoundTable, bytes: &[u8]) -> std::result::Result<(), Error> {
    match table.places.tail {
        Some(tail) => row.set(&table.info.schema, tail, Datum::Bytes(bytes)),
        None => Err(Error::WrongRow(table.info.id)),
    }
}

/// Writes a whole row.
///
/// # Errors
/// Those of the engine.
pub(crate) fn write<'v>(
    buffer: &mut RowBuf,
    table: &BoundTable,
    values: impl Iterator<Item = &'v Value>,
) -> std::result::Result<(), Error> {
    let schema = &table.info.schema;
    buffer.reset(schema);
    let mut row = buffer.edit(schema);
    if !table.places.any_added {
        for (position, value) in values.enumerate() {
            set(&mut row, table, position, value)?;
        }
        return Ok(());
    }
    let mut added = Vec::new();
    for (position, value) in values.enumerate() {
        match &table.places.columns[position] {
            ColumnPlace::Column(_) => set(&mut row, table, position, value)?,
            ColumnPlace::Tail(column) => tail::push(&mut added, column, &stored(table, position, value)?),
        }
    }
    if added.is_empty() { Ok(()) } else { set_tail(&mut row, table, &added) }
}

/// Appends the key of a value. The value has the column's type.
///
/// # Errors
/// XX000.
pub(crate) fn push_key(
    key: &mut KeyBuf,
    table: &BoundTable,
    column: &IndexColumn,
    value: &Value,
) -> Result<()> {
    let engine: &Column = &table.info.schema.columns()[column.engine];
    let d = if column.descending { Direction::Descending } else { Direction::Ascending };
    if engine.nullable {
        let nulls = if column.nulls_first { Nulls::First } else { Nulls::Last };
        key.push_null_marker(value.is_null(), nulls);
    }
    if column.separate {
        if !value.is_null() {
            let mut bytes = Vec::new();
            value.write_key(&mut bytes);
            key.push_bytes(&bytes, d);
        }
        return Ok(());
    }
    match value {
        Value::Null => {}
        Value::Int4(v) | Value::Date(v) => key.push_i32(*v, d),
        Value::Int8(v) | Value::Time(v) | Value::Timestamp(v) | Value::Timestamptz(v) => key.push_i64(*v, d),
        Value::Int2(v) => key.push_i16(*v, d),
        Value::Bool(v) => key.push_bool(*v, d),
        Value::Float4(v) => key.push_f32(*v, d),
        Value::Float8(v) => key.push_f64(*v, d),
        Value::Uuid(v) => key.push_fixed_bytes(v, d),
        Value::Text(v) => key.push_bytes(v.as_bytes(), d),
        Value::Oid(v) => key.push_i64(i64::from(*v), d),
        Value::Enum(v) => key.push_i64(v.order(), d),
        Value::Char(v) => key.push_i16(i16::from(*v), d),
        other => match other.store(column.ty)? {
            Stored::Int8(v) => key.push_i64(v, d),
            Stored::Bytes(v) => key.push_bytes(&v, d),
            _ => return Err(scaledb_types::SqlError::internal("a value without a key")),
        },
    }
    Ok(())
}
