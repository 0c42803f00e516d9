//! How SQL's types and values are kept in the engine, and which of them the library's rows have: the one place that
//! says so. [`Type::storage`] and [`Value::store`] decide how a type is stored; what stands here puts that into
//! words of the engine.
//!
//! ```text
//!  Type  ──storage()──► Storage ──column_type()──► ColumnType      a column: of SQL, as it is stored, of the engine
//!    ▲◄──────────────── sql_type() ───────────────────┘            a column that the library made
//!  Value ──store()────► Stored  ◄── datum(), stored_of() ──► Datum    the same of values
//! ```

use scaledb_catalog::ColumnDesc;
use scaledb_row::{Column, ColumnType, Datum};
use scaledb_types::{Base, Storage, Stored, Type};
use std::borrow::Cow;

/// Bytes that a value of variable length may have; rows have a limit of their own.
const MAX_BYTES: u32 = scaledb_base::limits::MAX_ROW_BYTES as u32;

/// The engine's type of a column.
pub(crate) fn column_type(ty: Type) -> ColumnType {
    match ty.storage() {
        Storage::Bool => ColumnType::Bool,
        Storage::Int2 => ColumnType::Int2,
        Storage::Int4 => ColumnType::Int4,
        Storage::Int8 => ColumnType::Int8,
        Storage::Float4 => ColumnType::Float4,
        Storage::Float8 => ColumnType::Float8,
        Storage::Date => ColumnType::Date,
        Storage::Time => ColumnType::Time,
        Storage::Timestamp => ColumnType::Timestamp,
        Storage::Uuid => ColumnType::Uuid,
        Storage::Fixed(len) => ColumnType::Fixed(len),
        Storage::Text => ColumnType::Text(MAX_BYTES),
        Storage::Bytes => ColumnType::Bytes(MAX_BYTES),
    }
}

/// The engine's column for the values of columns that are added later.
pub(crate) fn tail_column() -> Column {
    Column::new("tail", ColumnType::Tail)
}

/// The engine's type of a column that holds a key of its own form.
pub(crate) fn key_column_type() -> ColumnType {
    ColumnType::Bytes(MAX_BYTES)
}

/// What is stored, as a value of a row.
pub(crate) fn datum<'a>(stored: &'a Stored<'_>) -> Datum<'a> {
    match stored {
        Stored::Null => Datum::Null,
        Stored::Bool(v) => Datum::Bool(*v),
        Stored::Int2(v) => Datum::Int2(*v),
        Stored::Int4(v) => Datum::Int4(*v),
        Stored::Int8(v) => Datum::Int8(*v),
        Stored::Float4(v) => Datum::Float4(*v),
        Stored::Float8(v) => Datum::Float8(*v),
        Stored::Date(v) => Datum::Date(*v),
        Stored::Time(v) => Datum::Time(*v),
        Stored::Timestamp(v) => Datum::Timestamp(*v),
        Stored::Uuid(v) => Datum::Uuid(*v),
        Stored::Text(v) => Datum::Text(v),
        Stored::Bytes(v) => Datum::Bytes(v),
    }
}

/// A value of a row, as it is stored.
pub(crate) fn stored_of(datum: Datum<'_>) -> Stored<'_> {
    match datum {
        Datum::Null => Stored::Null,
        Datum::Bool(v) => Stored::Bool(v),
        Datum::Int2(v) => Stored::Int2(v),
        Datum::Int4(v) => Stored::Int4(v),
        Datum::Int8(v) => Stored::Int8(v),
        Datum::Float4(v) => Stored::Float4(v),
        Datum::Float8(v) => Stored::Float8(v),
        Datum::Date(v) => Stored::Date(v),
        Datum::Time(v) => Stored::Time(v),
        Datum::Timestamp(v) => Stored::Timestamp(v),
        Datum::Uuid(v) => Stored::Uuid(v),
        Datum::Text(v) => Stored::Text(v),
        Datum::Bytes(v) => Stored::Bytes(Cow::Borrowed(v)),
    }
}

/// The type that SQL has for a column of the library.
pub(crate) fn sql_type(ty: ColumnType) -> Type {
    match ty {
        ColumnType::Bool => Type::BOOL,
        ColumnType::Int2 => Type::INT2,
        ColumnType::Int4 => Type::INT4,
        ColumnType::Int8 => Type::INT8,
        ColumnType::Float4 => Type::FLOAT4,
        ColumnType::Float8 => Type::FLOAT8,
        ColumnType::Date => Type::DATE,
        ColumnType::Time => Type::TIME,
        ColumnType::Timestamp => Type::TIMESTAMP,
        ColumnType::Uuid => Type::UUID,
        ColumnType::Text(_) => Type::TEXT,
        ColumnType::Bytes(_) | ColumnType::Fixed(_) | ColumnType::Tail => Type::BYTEA,
    }
}

/// The type of a column, if the library's rows have it.
pub(crate) fn shared_type(column: &ColumnDesc) -> std::result::Result<Type, String> {
    let ty = Type::from_oid(column.type_oid).map(|ty| ty.with_typmod(column.typmod));
    let has = |ty: &Type| {
        !ty.array
            && matches!(
                ty.base,
                Base::Bool
                    | Base::Int2
                    | Base::Int4
                    | Base::Int8
                    | Base::Float4
                    | Base::Float8
                    | Base::Text
                    | Base::Varchar
                    | Base::Name
                    | Base::Json
                    | Base::Bytea
                    | Base::Date
                    | Base::Time
                    | Base::Timestamp
                    | Base::Timestamptz
                    | Base::Uuid
            )
    };
    ty.filter(has).ok_or_else(|| {
        let of = ty.map_or_else(|| "an unknown type".to_owned(), |ty| format!("type {ty}"));
        format!("has a column \"{}\" of {of}, which rows of the library do not have", column.name)
    })
}
