//! Numbers as text.

use super::{MAX_INTEGER_DIGITS, MAX_SCALE, Numeric, POW10, pow10};
use crate::error::{Result, SqlError};
use num_bigint::BigInt;
use num_traits::Zero;
use std::fmt;
use std::str::FromStr;

/// Exponents beyond this overflow whatever the digits are (PostgreSQL: `INT_MAX / 2`).
const MAX_EXPONENT: i64 = i32::MAX as i64 / 2;

/// The answer to numbers with too many digits.
#[cold]
pub(crate) fn overflow() -> SqlError {
    SqlError::out_of_range("value overflows numeric format")
}

/// Why a text is no number.
pub(crate) enum Bad {
    Syntax,
    Overflow,
}

impl FromStr for Numeric {
    type Err = SqlError;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).map_err(|bad| match bad {
            Bad::Syntax => SqlError::invalid_text("numeric", text),
            Bad::Overflow => overflow(),
        })
    }
}

/// What C's `isspace` skips.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// `text` without blanks at its ends.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

pub(crate) fn parse(text: &str) -> std::result::Result<Numeric, Bad> {
    let text = trim(text);
    let (negative, body) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let bytes = body.as_bytes();
    let whole = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = whole;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        fraction = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        at += fraction;
    }
    if whole + fraction == 0 {
        return special(text, body, negative);
    }
    let digits = at;
    let mut exponent = 0_i64;
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let text = &body[at + 1..];
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Bad::Syntax);
        }
        exponent = text.parse().unwrap_or(i64::MAX);
        if exponent.saturating_abs() >= MAX_EXPONENT {
            return Err(Bad::Overflow);
        }
        at = bytes.len();
    }
    if at != bytes.len() {
        return Err(Bad::Syntax);
    }
    let scale = fraction as i64 - exponent;
    let scale_shown = scale.max(0);
    if whole + fraction <= 18 && scale == scale_shown && scale <= MAX_SCALE.into() {
        let value = bytes[..digits]
            .iter()
            .filter(|b| **b != b'.')
            .fold(0_i64, |value, b| value * 10 + i64::from(b - b'0'));
        return Ok(Numeric::small(if negative { -value } else { value }, scale as u16));
    }
    // leading zeros are no digits of the number, and must not count as such
    let kept: Vec<u8> =
        bytes[..digits].iter().copied().filter(|b| *b != b'.').skip_while(|b| *b == b'0').collect();
    if scale_shown > MAX_SCALE.into() {
        // a zero is stored with no digits, and still with its scale
        return Err(Bad::Overflow);
    }
    if kept.is_empty() {
        return Ok(Numeric::small(0, scale_shown as u16));
    }
    if kept.len() as i64 - scale > MAX_INTEGER_DIGITS.into() {
        return Err(Bad::Overflow);
    }
    let mut mantissa = BigInt::parse_bytes(&kept, 10).unwrap_or_else(BigInt::zero);
    if scale < 0 {
        mantissa *= pow10(scale.unsigned_abs() as u32);
    }
    Ok(Numeric::of(if negative { -mantissa } else { mantissa }, scale_shown as u16))
}

fn special(text: &str, body: &str, negative: bool) -> std::result::Result<Numeric, Bad> {
    if text.eq_ignore_ascii_case("nan") {
        return Ok(Numeric::NaN);
    }
    if body.eq_ignore_ascii_case("infinity") || body.eq_ignore_ascii_case("inf") {
        return Ok(if negative { Numeric::NegInfinity } else { Numeric::Infinity });
    }
    Err(Bad::Syntax)
}

impl Numeric {
    /// Appends the text, as PostgreSQL prints it.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Self::Small { mantissa, scale } => {
                let scale = usize::from(*scale);
                if *mantissa < 0 {
                    out.push(b'-');
                }
                let value = mantissa.unsigned_abs();
                if scale == 0 {
                    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
                } else if let Some(power) = POW10.get(scale) {
                    let (whole, part) = (value / *power as u64, value % *power as u64);
                    out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
                    out.push(b'.');
                    let mut buffer = itoa::Buffer::new();
                    let part = buffer.format(part).as_bytes();
                    out.resize(out.len() + scale - part.len(), b'0');
                    out.extend_from_slice(part);
                } else {
                    point(itoa::Buffer::new().format(value).as_bytes(), scale, out);
                }
            }
            Self::Big(big) => {
                if big.mantissa.sign() == num_bigint::Sign::Minus {
                    out.push(b'-');
                }
                point(big.mantissa.magnitude().to_string().as_bytes(), big.scale.into(), out);
            }
            Self::NaN => out.extend_from_slice(b"NaN"),
            Self::Infinity => out.extend_from_slice(b"Infinity"),
            Self::NegInfinity => out.extend_from_slice(b"-Infinity"),
        }
    }
}

/// Digits with a point before the last `scale` of them.
fn point(digits: &[u8], scale: usize, out: &mut Vec<u8>) {
    if scale >= digits.len() {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + scale - digits.len(), b'0');
        out.extend_from_slice(digits);
        return;
    }
    let (whole, part) = digits.split_at(digits.len() - scale);
    out.extend_from_slice(whole);
    if scale > 0 {
        out.push(b'.');
        out.extend_from_slice(part);
    }
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write_text(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}
