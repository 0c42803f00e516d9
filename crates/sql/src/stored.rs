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

/// Whether rows of the library have values of a type: they are stored as they are.
fn is_shared(ty: Type) -> bool {
    if ty.array {
        return false;
    }
    match ty.base {
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
        | Base::Uuid => true,
        Base::Numeric
        | Base::Bpchar
        | Base::Char
        | Base::Interval
        | Base::Timetz
        | Base::Money
        | Base::Bit
        | Base::Varbit
        | Base::Inet
        | Base::Cidr
        | Base::Macaddr
        | Base::Macaddr8
        | Base::Jsonb
        | Base::Jsonpath
        | Base::Oid
        | Base::Xid
        | Base::Regclass
        | Base::Regtype
        | Base::Regproc
        | Base::Regnamespace
        | Base::Regrole
        | Base::Regprocedure
        | Base::Int2vector
        | Base::Oidvector
        | Base::Refcursor
        | Base::Unknown
        | Base::Void
        | Base::Record
        | Base::Polymorphic(_)
        | Base::Range(_)
        | Base::Enum(_) => false,
    }
}

/// The type of a column, if the library's rows have it.
pub(crate) fn shared_type(column: &ColumnDesc) -> std::result::Result<Type, String> {
    let ty = Type::from_oid(column.type_oid).map(|ty| ty.with_typmod(column.typmod));
    ty.filter(|ty| is_shared(*ty)).ok_or_else(|| {
        let of = ty.map_or_else(|| "an enum type or a domain".to_owned(), |ty| format!("type {ty}"));
        format!("has a column \"{}\" of {of}, which rows of the library do not have", column.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_row::{RowBuf, Schema};
    use scaledb_types::{Env, RangeType, Value};

    /// A value of each type that a column can have.
    fn sample(base: Base) -> Option<Value> {
        let text = match base {
            Base::Bool => "t",
            Base::Int2 | Base::Int4 | Base::Int8 => "-7",
            Base::Float4 | Base::Float8 => "1.5",
            Base::Numeric => "12.30",
            Base::Text | Base::Varchar | Base::Name | Base::Refcursor => "a text",
            Base::Bpchar | Base::Char => "x",
            Base::Bytea => "\\x00ff",
            Base::Date => "2024-02-29",
            Base::Time => "23:59:59.5",
            Base::Timestamp => "2024-02-29 12:00:00",
            Base::Timestamptz => "2024-02-29 12:00:00+01",
            Base::Interval => "1 mon 2 days 03:00:00",
            Base::Uuid => "00000000-0000-0000-0000-0000000000ff",
            Base::Timetz => "23:59:59.5-07:30",
            Base::Bit | Base::Varbit => "1010000000001",
            Base::Money => "-$1,234.56",
            Base::Inet => "10.1.2.3/8",
            Base::Cidr => "2001:db8::/33",
            Base::Macaddr | Base::Macaddr8 => "f8:00:2b:01:02:03",
            Base::Json | Base::Jsonb => "{\"a\": [1, null]}",
            Base::Jsonpath => "strict $.\"a\"[*]?(@ > 1)",
            Base::Oid
            | Base::Regclass
            | Base::Regtype
            | Base::Regproc
            | Base::Regnamespace
            | Base::Regrole
            | Base::Regprocedure => {
                return Some(Value::Oid(u32::MAX));
            }
            Base::Range(RangeType::Int4range | RangeType::Int8range | RangeType::Numrange) => "[-1,7)",
            Base::Range(RangeType::Daterange | RangeType::Tsrange | RangeType::Tstzrange) => "[,2024-02-29)",
            Base::Xid
            | Base::Int2vector
            | Base::Oidvector
            | Base::Unknown
            | Base::Void
            | Base::Record
            | Base::Polymorphic(_)
            | Base::Enum(_) => {
                return None;
            }
        };
        Some(Value::parse(text, Type::of(base), &Env::default()).unwrap())
    }

    /// The value that comes back from a row of the engine.
    fn round_trip(value: &Value, ty: Type) -> Value {
        let key = Column::new("key", ColumnType::Int4);
        let schema = Schema::new(vec![key, Column::new("value", column_type(ty)).nullable()], &[]).unwrap();
        let stored = value.store(ty).unwrap();
        let row = RowBuf::from_values(&schema, &[Datum::Int4(1), datum(&stored)]).unwrap();
        Value::load(ty, &stored_of(row.view(&schema).get(&schema, 1))).unwrap()
    }

    #[test]
    fn a_value_of_every_type_comes_back_from_a_row_as_it_was() {
        for base in Base::all() {
            let Some(value) = sample(base) else { continue };
            let scalar = Type::of(base);
            assert_eq!(round_trip(&value, scalar), value, "{scalar}");
            assert_eq!(round_trip(&Value::Null, scalar), Value::Null, "{scalar}");
            if let Some(array) = scalar.to_array() {
                let elements = scaledb_types::Array::new(scalar, vec![value.clone(), Value::Null]);
                let elements = Value::Array(std::sync::Arc::new(elements));
                assert_eq!(round_trip(&elements, array), elements, "{array}");
            }
        }
        let number = sample(Base::Numeric).unwrap();
        for (precision, scale) in [(10, 2), (30, 2)] {
            let ty = Type::numeric(precision, scale);
            assert_eq!(round_trip(&number, ty), number, "{ty}");
        }
    }

    #[test]
    fn types_of_the_library_are_types_of_sql_that_are_stored_as_they_are() {
        let library = [
            ColumnType::Bool,
            ColumnType::Int2,
            ColumnType::Int4,
            ColumnType::Int8,
            ColumnType::Float4,
            ColumnType::Float8,
            ColumnType::Date,
            ColumnType::Time,
            ColumnType::Timestamp,
            ColumnType::Uuid,
            ColumnType::Text(MAX_BYTES),
            ColumnType::Bytes(MAX_BYTES),
        ];
        for ty in library {
            assert!(is_shared(sql_type(ty)), "{ty}");
            assert_eq!(column_type(sql_type(ty)), ty);
        }
        for base in Base::all().filter(|base| is_shared(Type::of(*base))) {
            let ty = Type::of(base);
            let same = sql_type(column_type(ty));
            assert_eq!(same.storage(), ty.storage(), "{ty}");
            // what the library reads and writes again there is what SQL has stored
            let value = sample(base).unwrap();
            let stored = value.store(ty).unwrap();
            let read = Value::load(same, &stored).unwrap();
            assert_eq!(read.store(same).unwrap(), stored, "{ty}");
        }
    }
}
