//! Values of columns, read back from keys.

use crate::types::{ColumnType, Datum};
use scaledb_keys::{Direction, KeyReader, Malformed};

/// Reads the value of a column that is not NULL from a key, and hands it to `f`.
///
/// # Errors
/// The bytes are no such value.
pub fn read_key<R>(
    reader: &mut KeyReader<'_>,
    ty: ColumnType,
    direction: Direction,
    f: impl FnOnce(Datum<'_>) -> R,
) -> Result<R, Malformed> {
    let bytes;
    Ok(f(match ty {
        ColumnType::Bool => Datum::Bool(reader.bool(direction)?),
        ColumnType::Int2 => Datum::Int2(reader.i16(direction)?),
        ColumnType::Int4 => Datum::Int4(reader.i32(direction)?),
        ColumnType::Int8 => Datum::Int8(reader.i64(direction)?),
        ColumnType::Float4 => Datum::Float4(reader.f32(direction)?),
        ColumnType::Float8 => Datum::Float8(reader.f64(direction)?),
        ColumnType::Date => Datum::Date(reader.i32(direction)?),
        ColumnType::Time => Datum::Time(reader.i64(direction)?),
        ColumnType::Timestamp => Datum::Timestamp(reader.i64(direction)?),
        ColumnType::Uuid => {
            Datum::Uuid(reader.fixed_bytes(16, direction)?.try_into().map_err(|_| Malformed)?)
        }
        ColumnType::Fixed(len) => {
            bytes = reader.fixed_bytes(usize::from(len), direction)?;
            Datum::Bytes(&bytes)
        }
        ColumnType::Text(_) => {
            bytes = reader.bytes(direction)?;
            Datum::Text(std::str::from_utf8(&bytes).map_err(|_| Malformed)?)
        }
        ColumnType::Bytes(_) => {
            bytes = reader.bytes(direction)?;
            Datum::Bytes(&bytes)
        }
        // in no key
        ColumnType::Tail => return Err(Malformed),
    }))
}
