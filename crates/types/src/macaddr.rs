//! `macaddr` and `macaddr8`: hardware addresses of 6 and 8 bytes, in the ways of writing that PostgreSQL reads.

use crate::error::{Result, SqlError, SqlState};

/// What stands in the middle of an address of 8 bytes that was made of one of 6.
const MIDDLE: [u8; 2] = [0xFF, 0xFE];

/// Reads as C's `sscanf` does, which is what PostgreSQL reads a `macaddr` with.
struct Scanf<'a> {
    rest: &'a [u8],
}

impl Scanf<'_> {
    fn skip_blanks(&mut self) {
        while let [b' ' | b'\t'..=b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn literal(&mut self, expected: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        (*first == expected).then_some(())
    }

    /// `%x`, of so many bytes at most: with a sign and `0x`, truncated to 32 bits.
    fn hex(&mut self, mut width: usize) -> Option<i32> {
        self.skip_blanks();
        let mut negative = false;
        if let [sign @ (b'+' | b'-'), rest @ ..] = self.rest {
            negative = *sign == b'-';
            self.rest = rest;
            width -= 1;
        }
        let mut any = false;
        if let (true, [b'0', rest @ ..]) = (width > 0, self.rest) {
            (self.rest, any) = (rest, true);
            width -= 1;
            if let (true, [b'x' | b'X', rest @ ..]) = (width > 0, self.rest) {
                self.rest = rest;
                width -= 1;
            }
        }
        let mut value = Some(0_u64);
        while width > 0
            && let Some((first, rest)) = self.rest.split_first()
            && let Some(digit) = char::from(*first).to_digit(16)
        {
            value = value.and_then(|v| v.checked_mul(16)).map(|v| v | u64::from(digit));
            (self.rest, any) = (rest, true);
            width -= 1;
        }
        let value = match value {
            Some(value) if negative => value.wrapping_neg(),
            Some(value) => value,
            None => u64::MAX,
        };
        any.then_some(value as u32 as i32)
    }

    /// Whether nothing but blanks is left.
    fn is_done(&mut self) -> bool {
        self.skip_blanks();
        self.rest.is_empty()
    }
}

/// The ways to write one: how many digits a byte has at most, behind how many bytes there is a sign, and which.
const FORMS: [(usize, usize, u8); 7] = [
    (usize::MAX, 1, b':'),
    (usize::MAX, 1, b'-'),
    (2, 3, b':'),
    (2, 3, b'-'),
    (2, 2, b'.'),
    (2, 2, b'-'),
    (2, 6, 0),
];

fn scan(text: &str, (width, group, sign): (usize, usize, u8)) -> Option<[i32; 6]> {
    let mut scan = Scanf { rest: text.as_bytes() };
    let mut parts = [0; 6];
    for (at, part) in parts.iter_mut().enumerate() {
        if at > 0 && at % group == 0 {
            scan.literal(sign)?;
        }
        *part = scan.hex(width)?;
    }
    scan.is_done().then_some(parts)
}

/// Reads a `macaddr`.
///
/// # Errors
///
/// 22P02, 22003 if a part is no byte.
pub(crate) fn parse(text: &str) -> Result<[u8; 6]> {
    let parts = FORMS.into_iter().find_map(|form| scan(text, form));
    let parts = parts.ok_or_else(|| SqlError::invalid_text("macaddr", text))?;
    let mut bytes = [0; 6];
    for (byte, part) in bytes.iter_mut().zip(parts) {
        *byte = u8::try_from(part).map_err(|_| {
            SqlError::out_of_range(format!("invalid octet value in \"macaddr\" value: \"{text}\""))
        })?;
    }
    Ok(bytes)
}

/// Reads a `macaddr8`: pairs of digits, with one sign between any of them.
///
/// # Errors
///
/// 22P02.
pub(crate) fn parse8(text: &str) -> Result<[u8; 8]> {
    scan8(text.as_bytes()).ok_or_else(|| SqlError::invalid_text("macaddr8", text))
}

fn scan8(text: &[u8]) -> Option<[u8; 8]> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let mut rest = &text[text.iter().take_while(|byte| is_blank(byte)).count()..];
    let mut bytes = [0; 8];
    let mut count = 0;
    let mut sign = None;
    while let [high, low, behind @ ..] = rest {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        *bytes.get_mut(count)? = (digit(high)? << 4 | digit(low)?) as u8;
        count += 1;
        rest = behind;
        if let [found @ (b':' | b'-' | b'.'), behind @ ..] = rest {
            if *sign.get_or_insert(*found) != *found {
                return None;
            }
            rest = behind;
        }
        if matches!(count, 6 | 8) && rest.first().is_some_and(is_blank) {
            if !rest.iter().all(is_blank) {
                return None;
            }
            rest = &[];
        }
    }
    match count {
        6 => {
            let [a, b, c, d, e, f, ..] = bytes;
            Some(widened([a, b, c, d, e, f]))
        }
        8 => Some(bytes),
        _ => None,
    }
}

/// A `macaddr` as a `macaddr8`.
pub(crate) fn widened([a, b, c, d, e, f]: [u8; 6]) -> [u8; 8] {
    [a, b, c, MIDDLE[0], MIDDLE[1], d, e, f]
}

/// A `macaddr8` as a `macaddr`.
///
/// # Errors
///
/// 22003 if it was not made of one.
pub(crate) fn narrowed([a, b, c, d, e, f, g, h]: [u8; 8]) -> Result<[u8; 6]> {
    if [d, e] == MIDDLE {
        return Ok([a, b, c, f, g, h]);
    }
    let hint = "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example \
                xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.";
    let what = "macaddr8 data out of range to convert to macaddr";
    Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, what).hint(hint))
}

/// Appends pairs of digits with colons in between.
pub(crate) fn write(bytes: &[u8], out: &mut Vec<u8>) {
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            out.push(b':');
        }
        crate::text::write_hex(&[*byte], out);
    }
}
