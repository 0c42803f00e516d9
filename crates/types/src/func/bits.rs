//! Strings of bits: operators, parts of them, and single bits.

use super::args::code;
use super::text::negative_length;
use super::{Call, Registry};
use crate::bits::{Bits, MAX_BITS, too_long};
use crate::error::{Result, SqlError, SqlState};
use crate::value::Value;

impl From<Bits> for Value {
    fn from(v: Bits) -> Self {
        Self::Bits(v.into())
    }
}

/// The bits of two strings, one behind the other.
fn concat(call: &Call<'_>, a: &Bits, b: &Bits) -> Result<Bits> {
    if a.len() + b.len() > MAX_BITS {
        return Err(too_long());
    }
    call.interrupt.admit(a.bytes().len() + b.bytes().len())?;
    Ok(a.followed_by(b))
}

/// The bits from a place on, which is counted from 1 and may lie before them.
fn substring(v: &Bits, start: i32, length: Option<i32>) -> Result<Bits> {
    let start = i64::from(start);
    let end = match length {
        Some(length) if length < 0 => return Err(negative_length()),
        Some(length) => start + i64::from(length),
        None => i64::MAX,
    };
    let clip = |at: i64| (at - 1).clamp(0, v.len() as i64) as usize;
    let (from, to) = (clip(start), clip(end));
    Ok(v.part(from, to.saturating_sub(from)))
}

fn overlay(call: &Call<'_>, v: &Bits, with: &Bits, start: i32, length: i32) -> Result<Bits> {
    if start <= 0 {
        return Err(negative_length());
    }
    let end = start.checked_add(length).ok_or_else(|| SqlError::out_of_range("integer out of range"))?;
    let head = substring(v, 1, Some(start - 1))?;
    concat(call, &concat(call, &head, with)?, &substring(v, end, None)?)
}

/// A shift to the left, or to the right if it is negative.
fn shift(v: &Bits, left: i64) -> Bits {
    let by = usize::try_from(left.unsigned_abs()).unwrap_or(usize::MAX);
    if left >= 0 { v.shifted_left(by) } else { v.shifted_right(by) }
}

/// The place of a bit, counted from 0.
fn place(v: &Bits, at: i32) -> Result<usize> {
    let found = usize::try_from(at).ok().filter(|at| *at < v.len());
    found.ok_or_else(|| {
        let what = format!("bit index {at} out of valid range (0..{})", v.len() as i64 - 1);
        SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, what)
    })
}

fn set(v: &Bits, at: i32, bit: i32) -> Result<Bits> {
    let at = place(v, at)?;
    match bit {
        0 | 1 => Ok(v.set(at, bit == 1)),
        _ => Err(SqlError::invalid_parameter("new bit must be 0 or 1")),
    }
}

pub(super) fn register(r: &mut Registry) {
    r.add("&(bit,bit) bit", code!(|a: &Bits, b: &Bits| a.combined(b, "AND", |a, b| a & b)));
    r.add("|(bit,bit) bit", code!(|a: &Bits, b: &Bits| a.combined(b, "OR", |a, b| a | b)));
    r.add("#(bit,bit) bit", code!(|a: &Bits, b: &Bits| a.combined(b, "XOR", |a, b| a ^ b)));
    r.add("~(bit) bit", code!(|v: &Bits| Ok(v.inverted())));
    r.add("<<(bit,int4) bit", code!(|v: &Bits, by: i32| Ok(shift(v, by.into()))));
    r.add(">>(bit,int4) bit", code!(|v: &Bits, by: i32| Ok(shift(v, -i64::from(by)))));
    r.add("||(varbit,varbit) varbit", code!(|c; a: &Bits, b: &Bits| concat(c, a, b)));
    for signature in ["length(bit) int4", "bit_length(bit) int4"] {
        r.add(signature, code!(|v: &Bits| Ok(v.len() as i32)));
    }
    r.add("octet_length(bit) int4", code!(|v: &Bits| Ok(v.bytes().len() as i32)));
    r.add(
        "bit_count(bit) int8",
        code!(|v: &Bits| Ok(v.bytes().iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>())),
    );
    r.add("substring(bit,int4) bit", code!(|v: &Bits, start: i32| substring(v, start, None)));
    r.add(
        "substring(bit,int4,int4) bit",
        code!(|v: &Bits, start: i32, length: i32| substring(v, start, Some(length))),
    );
    r.add(
        "overlay(bit,bit,int4,int4) bit",
        code!(|c; v: &Bits, with: &Bits, start: i32, length: i32| overlay(c, v, with, start, length)),
    );
    r.add(
        "overlay(bit,bit,int4) bit",
        code!(|c; v: &Bits, with: &Bits, start: i32| overlay(c, v, with, start, with.len() as i32)),
    );
    r.add(
        "position(bit,bit) int4",
        code!(|c; v: &Bits, part: &Bits| v.position(part, || c.interrupt.check()).map(|at| at as i32)),
    );
    r.add("get_bit(bit,int4) int4", code!(|v: &Bits, at: i32| place(v, at).map(|at| i32::from(v.get(at)))));
    r.add("set_bit(bit,int4,int4) bit", code!(|v: &Bits, at: i32, bit: i32| set(v, at, bit)));
    // casts that are written as functions
    r.add("int4(bit) int4", code!(|v: &Bits| crate::cast::bits_to_int(v, 32)));
    r.add("int8(bit) int8", code!(|v: &Bits| crate::cast::bits_to_int(v, 64)));
}
