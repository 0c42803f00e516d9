//! The tail of a row: values of columns that its table got later.
//!
//! ```text
//! tail      values, one after the other; zeros may follow
//! value     number    varint: the column's attnum, not 0
//!           length    varint: 0 for NULL, else bytes + 1
//!           bytes     as below
//! ```
//!
//! A number is never given again within a table, so values of columns that have gone mean nothing. A value that is the
//! column's missing one is left out: it is that of all rows that say nothing.

use scaledb_base::varint;
use scaledb_planner::plan::place::Added;
use scaledb_types::{Result, SqlError, SqlState, Storage, Stored, Type, Value};
use std::borrow::Cow;

/// A value of a tail: its number, and the bytes unless it is NULL.
type Entry<'a> = (u32, Option<&'a [u8]>);

/// Takes a value from the front. `Ok(None)` at the end.
fn take<'a>(from: &mut &'a [u8]) -> std::result::Result<Option<Entry<'a>>, ()> {
    if from.first().is_none_or(|&first| first == 0) {
        return Ok(None);
    }
    let number = varint::take(from).ok_or(())?;
    let Some(len) = varint::take(from).ok_or(())?.checked_sub(1) else { return Ok(Some((number, None))) };
    let (bytes, rest) = from.split_at_checked(len as usize).ok_or(())?;
    *from = rest;
    Ok(Some((number, Some(bytes))))
}

fn number(attnum: i16) -> u32 {
    u32::from(attnum.unsigned_abs())
}

fn malformed(ty: Type) -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, format!("a stored value of type {ty} is malformed"))
}

/// Reads a column.
///
/// # Errors
/// XX001.
pub(crate) fn load(mut tail: &[u8], added: &Added, ty: Type) -> Result<Value> {
    let wanted = number(added.attnum);
    while let Some((number, bytes)) = take(&mut tail).map_err(|()| malformed(ty))? {
        if number == wanted {
            return bytes.map_or(Ok(Value::Null), |bytes| decode(bytes, ty));
        }
    }
    Ok(added.value.clone())
}

/// Appends all values of a tail but those of one column. What cannot be read is left behind.
pub(crate) fn copy_others(mut tail: &[u8], attnum: i16, out: &mut Vec<u8>) {
    let not_wanted = number(attnum);
    while let Ok(Some((number, bytes))) = take(&mut tail) {
        if number != not_wanted {
            push_entry(out, number, bytes);
        }
    }
}

/// Appends the value of a column, unless it is what rows without it have.
pub(crate) fn push(out: &mut Vec<u8>, added: &Added, value: &Stored<'_>) {
    let bytes = encode(value);
    if bytes.as_deref() != added.missing.as_deref() {
        push_entry(out, number(added.attnum), bytes.as_deref());
    }
}

fn push_entry(out: &mut Vec<u8>, number: u32, bytes: Option<&[u8]>) {
    varint::push(out, number);
    match bytes {
        None => varint::push(out, 0),
        Some(bytes) => {
            // rows are not as long as that
            varint::push(out, bytes.len() as u32 + 1);
            out.extend_from_slice(bytes);
        }
    }
}

/// The bytes of a value; none for NULL.
pub(crate) fn encode<'v>(value: &'v Stored<'_>) -> Option<Cow<'v, [u8]>> {
    let owned = |bytes: &[u8]| Some(Cow::Owned(bytes.to_vec()));
    match value {
        Stored::Null => None,
        Stored::Bool(v) => owned(&[u8::from(*v)]),
        Stored::Int2(v) => owned(&v.to_le_bytes()),
        Stored::Int4(v) | Stored::Date(v) => owned(&v.to_le_bytes()),
        Stored::Int8(v) | Stored::Time(v) | Stored::Timestamp(v) => owned(&v.to_le_bytes()),
        Stored::Float4(v) => owned(&v.to_le_bytes()),
        Stored::Float8(v) => owned(&v.to_le_bytes()),
        Stored::Uuid(v) => owned(v),
        Stored::Text(v) => Some(Cow::Borrowed(v.as_bytes())),
        Stored::Bytes(v) => Some(Cow::Borrowed(v)),
    }
}

/// The value of bytes that `encode` made.
///
/// # Errors
/// XX001.
pub(crate) fn decode(bytes: &[u8], ty: Type) -> Result<Value> {
    fn fixed<const N: usize>(bytes: &[u8], ty: Type) -> Result<[u8; N]> {
        bytes.try_into().map_err(|_| malformed(ty))
    }
    let stored = match ty.storage() {
        Storage::Bool => Stored::Bool(fixed::<1>(bytes, ty)?[0] != 0),
        Storage::Int2 => Stored::Int2(i16::from_le_bytes(fixed(bytes, ty)?)),
        Storage::Int4 => Stored::Int4(i32::from_le_bytes(fixed(bytes, ty)?)),
        Storage::Int8 => Stored::Int8(i64::from_le_bytes(fixed(bytes, ty)?)),
        Storage::Float4 => Stored::Float4(f32::from_le_bytes(fixed(bytes, ty)?)),
        Storage::Float8 => Stored::Float8(f64::from_le_bytes(fixed(bytes, ty)?)),
        Storage::Date => Stored::Date(i32::from_le_bytes(fixed(bytes, ty)?)),
        Storage::Time => Stored::Time(i64::from_le_bytes(fixed(bytes, ty)?)),
        Storage::Timestamp => Stored::Timestamp(i64::from_le_bytes(fixed(bytes, ty)?)),
        Storage::Uuid => Stored::Uuid(fixed(bytes, ty)?),
        Storage::Text => Stored::Text(std::str::from_utf8(bytes).map_err(|_| malformed(ty))?),
        Storage::Fixed(_) | Storage::Bytes => Stored::Bytes(Cow::Borrowed(bytes)),
    };
    Value::load(ty, &stored)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn added(attnum: i16, missing: Option<&[u8]>) -> Added {
        Added { attnum, missing: missing.map(<[u8]>::to_vec), value: Value::Int4(7) }
    }

    #[test]
    fn values_are_found_by_number_and_what_is_missing_is_left_out() {
        let columns = [added(3, Some(&7_i32.to_le_bytes())), added(300, None), added(4, None)];
        let mut tail = Vec::new();
        push(&mut tail, &columns[0], &Stored::Int4(7));
        push(&mut tail, &columns[2], &Stored::Null);
        assert!(tail.is_empty(), "what all rows have takes nothing");
        push(&mut tail, &columns[1], &Stored::Int4(-1));
        push(&mut tail, &columns[0], &Stored::Null);
        tail.resize(tail.len().next_multiple_of(8), 0);
        let load = |tail: &[u8], at: usize| load(tail, &columns[at], Type::INT4).unwrap();
        assert_eq!(
            (load(&tail, 0), load(&tail, 1), load(&tail, 2)),
            (Value::Null, Value::Int4(-1), Value::Int4(7))
        );
        let mut others = Vec::new();
        copy_others(&tail, 3, &mut others);
        assert_eq!((load(&others, 0), load(&others, 1)), (Value::Int4(7), Value::Int4(-1)));
    }

    #[test]
    fn damaged_tails_are_refused_or_read() {
        let column = added(5, None);
        for ty in [Type::INT4, Type::TEXT, Type::NUMERIC, Type::BOOL, Type::JSONB, Type::INTERVAL, Type::UUID]
        {
            for bytes in [
                &[5][..],
                &[5, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
                &[5, 9, 1, 2],
                &[5, 1],
                &[5, 3, 0xFF, 0xFE],
                &[0xFF; 9],
            ] {
                let _ = load(bytes, &column, ty);
                copy_others(bytes, 1, &mut Vec::new());
            }
        }
        assert!(load(&[5, 9, 1, 2], &column, Type::TEXT).is_err());
        assert!(load(&[5, 3, 0xFF, 0xFE], &column, Type::TEXT).is_err());
    }
}
