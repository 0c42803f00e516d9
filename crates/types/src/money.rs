//! `money`: hundredths in 64 bits, read and printed as in the locale "C": `$1,234.56`.

use crate::error::{Result, SqlError};

/// Digits behind the point.
pub(crate) const DIGITS: u16 = 2;

#[cold]
fn too_large(text: &str) -> SqlError {
    SqlError::out_of_range(format!("value \"{text}\" is out of range for type money"))
}

/// What a result that does not fit answers. PostgreSQL 15 goes on with a wrong sum here; later versions say this.
#[cold]
pub(crate) fn out_of_range() -> SqlError {
    SqlError::out_of_range("money out of range")
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn without_blanks(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|byte| is_blank(byte)).count()..]
}

/// Without blanks and a dollar between them.
fn without_symbol(bytes: &[u8]) -> &[u8] {
    let bytes = without_blanks(bytes);
    without_blanks(bytes.strip_prefix(b"$").unwrap_or(bytes))
}

/// Reads an amount: signs and dollars on either side, commas anywhere, the third digit behind the point rounds.
///
/// # Errors
///
/// 22P02, 22003.
pub(crate) fn parse(text: &str) -> Result<i64> {
    let mut rest = without_symbol(text.as_bytes());
    let mut negative = false;
    if let [sign @ (b'-' | b'(' | b'+'), behind @ ..] = rest {
        negative = *sign != b'+';
        rest = behind;
    }
    rest = without_symbol(rest);
    // below zero there is one more number than above
    let mut value = Some(0_i64);
    let mut decimals = None;
    while let [byte, behind @ ..] = rest {
        match byte {
            b'0'..=b'9' if decimals.is_none_or(|count| count < DIGITS) => {
                let digit = i64::from(byte - b'0');
                value = value.and_then(|value| value.checked_mul(10)?.checked_sub(digit));
                decimals = decimals.map(|count| count + 1);
            }
            b'.' if decimals.is_none() => decimals = Some(0),
            b',' => {}
            _ => break,
        }
        rest = behind;
    }
    if matches!(rest, [b'5'..=b'9', ..]) {
        value = value.and_then(|value| value.checked_sub(1));
    }
    for _ in decimals.unwrap_or(0)..DIGITS {
        value = value.and_then(|value| value.checked_mul(10));
    }
    let value = value.ok_or_else(|| too_large(text))?;
    rest = &rest[rest.iter().take_while(|byte| byte.is_ascii_digit()).count()..];
    for byte in rest {
        match byte {
            b'-' => negative = true,
            b'+' | b'$' | b')' => {}
            byte if is_blank(byte) => {}
            _ => return Err(SqlError::invalid_text("money", text)),
        }
    }
    if negative { Ok(value) } else { value.checked_neg().ok_or_else(|| too_large(text)) }
}

/// Appends an amount.
pub(crate) fn write(amount: i64, out: &mut Vec<u8>) {
    if amount < 0 {
        out.push(b'-');
    }
    out.push(b'$');
    let whole = (amount.unsigned_abs() / 100).to_string();
    for (at, digit) in whole.bytes().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(digit);
    }
    out.extend_from_slice(format!(".{:02}", amount.unsigned_abs() % 100).as_bytes());
}
