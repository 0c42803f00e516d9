//! Amounts of bytes, as people write them, and the size of a value.

use super::Registry;
use super::args::code;
use crate::env::Env;
use crate::error::{Result, SqlError};
use crate::numeric::Numeric;
use crate::storage::Stored;
use crate::ty::Type;
use crate::value::Value;

/// Units, each 1,024 times the one before.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

pub(super) fn register(r: &mut Registry) {
    r.add("pg_size_pretty(int8) text", |_, args| {
        Ok(args[0].as_i64().map_or(Value::Null, |size| Value::from(size_pretty(size))))
    });
    r.add("pg_size_pretty(numeric) text", code!(|size: &Numeric| numeric_pretty(size)));
    r.add("pg_size_bytes(text) int8", code!(|text: &str| size_bytes(text)));
    r.stable("pg_column_size(any) int4", |call, args| column_size(&args[0], call.args[0]));
}

/// The bytes that a value takes in a row.
fn column_size(value: &Value, ty: Type) -> Result<Value> {
    let bytes = match value.store(ty)? {
        Stored::Null => return Ok(Value::Null),
        Stored::Bool(_) => 1,
        Stored::Int2(_) => 2,
        Stored::Int4(_) | Stored::Float4(_) | Stored::Date(_) => 4,
        Stored::Int8(_) | Stored::Float8(_) | Stored::Time(_) | Stored::Timestamp(_) => 8,
        Stored::Uuid(_) => 16,
        Stored::Text(text) => text.len(),
        Stored::Bytes(bytes) => bytes.len(),
    };
    Ok(Value::Int4(i32::try_from(bytes).unwrap_or(i32::MAX)))
}

/// A number of bytes in the unit that leaves at most five digits, rounded.
fn size_pretty(bytes: i64) -> String {
    // one more bit than the unit, for rounding
    let mut doubled = i128::from(bytes) * 2;
    for (at, unit) in UNITS.iter().enumerate() {
        let limit = if at == 0 { 10 * 1_024 * 2 } else { 20 * 1_024 - 1 };
        if doubled.abs() < limit || at + 1 == UNITS.len() {
            let rounded = if at == 0 { doubled / 2 } else { (doubled + doubled.signum()) / 2 };
            return format!("{rounded} {unit}");
        }
        doubled /= 1_024;
    }
    String::new()
}

/// As [`size_pretty`], of any number.
fn numeric_pretty(size: &Numeric) -> Result<String> {
    let whole = |number: i64| Numeric::from(number);
    // one more bit than the unit, for rounding, but for the first one
    let mut left = size.clone();
    for (at, unit) in UNITS.iter().enumerate() {
        let limit = if at == 0 { 10 * 1_024 } else { 20 * 1_024 - 1 };
        if left.abs() < whole(limit) || at + 1 == UNITS.len() {
            let rounded = match at {
                0 => left,
                _ if left < whole(0) => left.sub(&whole(1))?.div_trunc(&whole(2))?,
                _ => left.add(&whole(1))?.div_trunc(&whole(2))?,
            };
            return Ok(format!("{rounded} {unit}"));
        }
        left = left.div_trunc(&whole(if at == 0 { 512 } else { 1_024 }))?;
    }
    Ok(String::new())
}

/// The number of bytes that a number with a unit means.
fn size_bytes(text: &str) -> Result<i64> {
    let invalid = || SqlError::invalid_parameter(format!("invalid size: \"{text}\""));
    let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let unsigned = trimmed.trim_start_matches(['+', '-']);
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let before = digits(unsigned);
    let mut length = before;
    let mut any = before > 0;
    if unsigned[length..].starts_with('.') {
        let behind = digits(&unsigned[length + 1..]);
        any |= behind > 0;
        length += 1 + behind;
    }
    if !any || trimmed.len() - unsigned.len() > 1 {
        return Err(invalid());
    }
    if unsigned[length..].starts_with(['e', 'E']) {
        let sign = usize::from(unsigned[length + 1..].starts_with(['+', '-']));
        let exponent = digits(&unsigned[length + 1 + sign..]);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    let (number, unit) = trimmed.split_at(trimmed.len() - unsigned.len() + length);
    let Ok(Value::Numeric(number)) = Value::parse(number, Type::NUMERIC, &Env::default()) else {
        return Err(invalid());
    };
    let unit = unit.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let power = match UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit)) {
        Some(power) => power,
        None if unit.is_empty() => 0,
        None => {
            return Err(invalid()
                .detail(format!("Invalid size unit: \"{unit}\"."))
                .hint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."));
        }
    };
    let bytes = number.mul(&Numeric::from(1_i64 << (10 * power)))?;
    bytes.to_int("bigint")
}

#[cfg(test)]
mod tests {
    use super::size_pretty;

    #[test]
    fn sizes_are_as_postgresql_prints_them() {
        for (bytes, wanted) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (10_485_247, "10239 kB"),
            (10_485_248, "10 MB"),
            (-20_000, "-20 kB"),
            (1 << 40, "1024 GB"),
            (i64::MAX, "8192 PB"),
        ] {
            assert_eq!(size_pretty(bytes), wanted, "{bytes}");
        }
    }
}
