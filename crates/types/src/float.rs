//! Floats as text: the shortest digits that read back the same, or as many as asked for.

use crate::error::{Result, SqlError, SqlState};
use crate::numeric::trim;

/// Digits that every text of so many survives.
const FLOAT4_DIGITS: i32 = 6;
const FLOAT8_DIGITS: i32 = 15;

/// Appends digits with a decimal exponent: plain while `-4 <= exponent < limit`, else as `1.5e+20`.
fn write_digits(negative: bool, digits: &[u8], exponent: i32, limit: i32, out: &mut Vec<u8>) {
    if negative {
        out.push(b'-');
    }
    let count = digits.len() as i32;
    if (-4..limit).contains(&exponent) {
        if exponent < 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + (-exponent - 1) as usize, b'0');
            out.extend_from_slice(digits);
        } else if count <= exponent + 1 {
            out.extend_from_slice(digits);
            out.resize(out.len() + (exponent + 1 - count) as usize, b'0');
        } else {
            let (whole, part) = digits.split_at(exponent as usize + 1);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(part);
        }
        return;
    }
    out.push(digits[0]);
    if count > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..]);
    }
    out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    let exponent = exponent.unsigned_abs();
    if exponent < 10 {
        out.push(b'0');
    }
    out.extend_from_slice(itoa::Buffer::new().format(exponent).as_bytes());
}

/// Digits without zeros at the end, and the exponent of the first, of a text like `1.25e-7`, `0.001` or `120.0`.
fn digits_of(text: &str) -> ([u8; 24], usize, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut exponent: i32 = exponent.parse().unwrap_or(0);
    let mut digits = [0; 24];
    let mut count = 0;
    let mut seen_point = false;
    let mut before_point = 0;
    for byte in mantissa.bytes() {
        match byte {
            b'.' => seen_point = true,
            b'0' if count == 0 => {
                // a zero before the first digit that counts: behind the point it moves the exponent
                before_point -= i32::from(seen_point);
            }
            digit => {
                if count < digits.len() {
                    digits[count] = digit;
                    count += 1;
                }
                before_point += i32::from(!seen_point);
            }
        }
    }
    while count > 0 && digits[count - 1] == b'0' {
        count -= 1;
    }
    exponent += before_point - 1;
    (digits, count, exponent)
}

fn write_special(v: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = match v {
        _ if v.is_nan() => b"NaN",
        f64::INFINITY => b"Infinity",
        f64::NEG_INFINITY => b"-Infinity",
        _ if v == 0.0 && v.is_sign_negative() => b"-0",
        _ if v == 0.0 => b"0",
        _ => return false,
    };
    out.extend_from_slice(text);
    true
}

/// Appends a number with so many digits at most, as C's `%.*g` does.
fn write_rounded(v: f64, digits: i32, out: &mut Vec<u8>) {
    let digits = digits.max(1);
    let text = format!("{:.*e}", digits as usize - 1, v.abs());
    let (found, count, exponent) = digits_of(&text);
    write_digits(v < 0.0, &found[..count], exponent, digits, out);
}

/// Appends a float8.
pub(crate) fn write_f64(v: f64, extra_digits: i8, out: &mut Vec<u8>) {
    if write_special(v, out) {
        return;
    }
    if extra_digits <= 0 {
        return write_rounded(v, FLOAT8_DIGITS + i32::from(extra_digits), out);
    }
    let mut buffer = ryu::Buffer::new();
    let (digits, count, exponent) = digits_of(buffer.format_finite(v.abs()));
    write_digits(v < 0.0, &digits[..count], exponent, FLOAT8_DIGITS, out);
}

/// Appends a float4.
pub(crate) fn write_f32(v: f32, extra_digits: i8, out: &mut Vec<u8>) {
    if write_special(v.into(), out) {
        return;
    }
    if extra_digits <= 0 {
        return write_rounded(v.into(), FLOAT4_DIGITS + i32::from(extra_digits), out);
    }
    let mut buffer = ryu::Buffer::new();
    let (digits, count, exponent) = digits_of(buffer.format_finite(v.abs()));
    write_digits(v < 0.0, &digits[..count], exponent, FLOAT4_DIGITS, out);
}

#[cold]
fn out_of_range(text: &str, name: &str) -> SqlError {
    SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("\"{text}\" is out of range for type {name}"))
}

/// Whether a text that reads as zero has a digit other than zero: then it was too small.
fn is_underflow(text: &str) -> bool {
    text.bytes().take_while(|b| !matches!(b, b'e' | b'E')).any(|b| matches!(b, b'1'..=b'9'))
}

/// Whether a text that reads as infinite says so.
fn says_infinite(text: &str) -> bool {
    text.trim_start_matches(['+', '-']).starts_with(['i', 'I'])
}

/// Reads a float8.
pub(crate) fn parse_f64(text: &str) -> Result<f64> {
    const NAME: &str = "double precision";
    let trimmed = trim(text);
    let v: f64 = trimmed.parse().map_err(|_| SqlError::invalid_text(NAME, text))?;
    if (v.is_infinite() && !says_infinite(trimmed)) || (v == 0.0 && is_underflow(trimmed)) {
        return Err(out_of_range(trimmed, NAME));
    }
    Ok(v)
}

/// Reads a float4.
pub(crate) fn parse_f32(text: &str) -> Result<f32> {
    const NAME: &str = "real";
    let trimmed = trim(text);
    let v: f32 = trimmed.parse().map_err(|_| SqlError::invalid_text(NAME, text))?;
    if (v.is_infinite() && !says_infinite(trimmed)) || (v == 0.0 && is_underflow(trimmed)) {
        return Err(out_of_range(trimmed, NAME));
    }
    Ok(v)
}
