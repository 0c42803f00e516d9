//! `bit` and `bit varying`: strings of bits, which both types keep in the same way.
//!
//! ```text
//! in memory   how many bits | bytes, the first bit the highest of the first one, zeros behind the last
//! as a key    bytes, each 00 as 00 FF | 00 01 | bits of the last byte (1), 0 if there is none
//! ```

use crate::error::{Result, SqlError, SqlState};
use crate::storage::write_terminated;
use std::cmp::Ordering;

/// How many bits there are at most.
pub(crate) const MAX_BITS: usize = 2_147_483_640;

/// A string of bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bits {
    /// `bytes.len() == len.div_ceil(8)`
    len: usize,
    /// Those behind the last bit are zero.
    bytes: Vec<u8>,
}

#[cold]
fn invalid_digit(digit: char, what: &str) -> SqlError {
    let what = format!("\"{digit}\" is not a valid {what} digit");
    SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, what)
}

/// 54000.
#[cold]
pub(crate) fn too_long() -> SqlError {
    let what = format!("bit string length exceeds the maximum allowed ({MAX_BITS})");
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what)
}

impl Bits {
    /// The first bits of some bytes; what is missing is zero.
    pub fn new(mut bytes: Vec<u8>, len: usize) -> Self {
        bytes.resize(len.div_ceil(8), 0);
        if let (Some(last), spare @ 1..) = (bytes.last_mut(), len.wrapping_neg() % 8) {
            *last &= 0xFF << spare;
        }
        Self { len, bytes }
    }

    /// How many bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Eight bits each, zeros behind the last one.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bit at a place that there is.
    pub(crate) fn get(&self, at: usize) -> bool {
        self.bytes[at / 8] & (0x80 >> (at % 8)) != 0
    }

    /// The same with another bit at a place that there is.
    pub(crate) fn set(&self, at: usize, bit: bool) -> Self {
        let mut bytes = self.bytes.clone();
        let mask = 0x80 >> (at % 8);
        if bit {
            bytes[at / 8] |= mask;
        } else {
            bytes[at / 8] &= !mask;
        }
        Self { len: self.len, bytes }
    }

    /// Reads digits: binary ones, also behind `b`, or hexadecimal ones behind `x`.
    ///
    /// # Errors
    ///
    /// 22P02.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(hex) = text.strip_prefix(['x', 'X']) {
            let mut bytes = Vec::with_capacity(hex.len().div_ceil(2));
            for (at, c) in hex.chars().enumerate() {
                let digit = c.to_digit(16).ok_or_else(|| invalid_digit(c, "hexadecimal"))? as u8;
                match bytes.last_mut() {
                    Some(last) if at % 2 == 1 => *last |= digit,
                    _ => bytes.push(digit << 4),
                }
            }
            return Ok(Self { len: hex.len() * 4, bytes });
        }
        let digits = text.strip_prefix(['b', 'B']).unwrap_or(text);
        let mut bytes = vec![0; digits.len().div_ceil(8)];
        for (at, c) in digits.chars().enumerate() {
            match c {
                '0' => {}
                '1' => bytes[at / 8] |= 0x80 >> (at % 8),
                _ => return Err(invalid_digit(c, "binary")),
            }
        }
        Ok(Self { len: digits.len(), bytes })
    }

    /// Appends binary digits.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        out.extend((0..self.len).map(|at| b'0' + u8::from(self.get(at))));
    }

    /// Reads PostgreSQL's binary format.
    ///
    /// # Errors
    ///
    /// 22P03, 08P01.
    pub fn from_binary(message: &[u8]) -> Result<Self> {
        let short = || SqlError::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
        let (len, bytes) = message.split_first_chunk::<4>().ok_or_else(short)?;
        let len = usize::try_from(i32::from_be_bytes(*len)).ok().filter(|len| *len <= MAX_BITS);
        let len = len.ok_or_else(|| SqlError::invalid_binary("invalid length in external bit string"))?;
        match bytes.len().cmp(&len.div_ceil(8)) {
            Ordering::Less => Err(short()),
            Ordering::Greater => Err(SqlError::invalid_binary("incorrect binary data format")),
            Ordering::Equal => Ok(Self::new(bytes.to_vec(), len)),
        }
    }

    /// Appends PostgreSQL's binary format.
    pub fn write_binary(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len as i32).to_be_bytes());
        out.extend_from_slice(&self.bytes);
    }

    /// Appends bytes that sort as the values do. No key is a prefix of another.
    pub fn write_key(&self, out: &mut Vec<u8>) {
        write_terminated(&self.bytes, out);
        let last = if self.len == 0 { 0 } else { (self.len - 1) % 8 + 1 };
        out.push(last as u8);
    }

    /// The value of a key.
    pub fn read_key(key: &[u8]) -> Option<Self> {
        let (last, mut rest) = key.split_last()?;
        let mut bytes = Vec::with_capacity(rest.len());
        loop {
            rest = match rest {
                [0, 1] => break,
                [0, 0xFF, rest @ ..] => {
                    bytes.push(0);
                    rest
                }
                [0, ..] | [] => return None,
                [byte, rest @ ..] => {
                    bytes.push(*byte);
                    rest
                }
            };
        }
        let valid = if bytes.is_empty() { *last == 0 } else { (1..=8).contains(last) };
        let len = if bytes.is_empty() { 0 } else { (bytes.len() - 1) * 8 + usize::from(*last) };
        let spare = if len % 8 == 0 { 0 } else { 0xFF >> (len % 8) };
        (valid && bytes.last().is_none_or(|last| last & spare == 0)).then_some(Self { len, bytes })
    }

    /// So many bits, cut at the end, or filled with zeros there.
    #[must_use]
    pub(crate) fn resized(&self, len: usize) -> Self {
        let mut bytes = self.bytes.clone();
        bytes.truncate(len.div_ceil(8));
        Self::new(bytes, len)
    }

    /// The bits from a place, so many.
    pub(crate) fn part(&self, from: usize, len: usize) -> Self {
        let len = len.min(self.len.saturating_sub(from));
        let (skip, shift) = (from / 8, from % 8);
        let byte = |at: usize| u16::from(self.bytes.get(at).copied().unwrap_or(0));
        let bytes = (skip..skip + len.div_ceil(8))
            .map(|at| ((byte(at) << 8 | byte(at + 1)) << shift >> 8) as u8)
            .collect();
        Self::new(bytes, len)
    }

    /// These bits and others behind them.
    pub(crate) fn followed_by(&self, other: &Self) -> Self {
        let mut bytes = self.bytes.clone();
        let shift = self.len % 8;
        for byte in &other.bytes {
            if let (Some(last), 1..) = (bytes.last_mut(), shift) {
                *last |= byte >> shift;
                bytes.push(byte << (8 - shift));
            } else {
                bytes.push(*byte);
            }
        }
        Self::new(bytes, self.len + other.len)
    }

    /// As many bits, moved to the left; zeros follow.
    pub(crate) fn shifted_left(&self, by: usize) -> Self {
        self.part(by.min(self.len), self.len).resized(self.len)
    }

    /// As many bits, moved to the right; zeros come before them.
    pub(crate) fn shifted_right(&self, by: usize) -> Self {
        let by = by.min(self.len);
        Self::new(Vec::new(), by).followed_by(&self.part(0, self.len - by))
    }

    /// The other bits.
    pub(crate) fn inverted(&self) -> Self {
        Self::new(self.bytes.iter().map(|byte| !byte).collect(), self.len)
    }

    /// Two strings become one, bit by bit.
    ///
    /// # Errors
    ///
    /// 22026 if they are not equally long.
    pub(crate) fn combined(&self, other: &Self, what: &str, op: fn(u8, u8) -> u8) -> Result<Self> {
        if self.len != other.len {
            let what = format!("cannot {what} bit strings of different sizes");
            return Err(SqlError::new(SqlState::STRING_DATA_LENGTH_MISMATCH, what));
        }
        let bytes = self.bytes.iter().zip(&other.bytes).map(|(a, b)| op(*a, *b)).collect();
        Ok(Self { len: self.len, bytes })
    }

    /// Where others begin in these, from 1; 0 if nowhere.
    ///
    /// # Errors
    ///
    /// What `check` answers, which is asked now and then.
    pub(crate) fn position(&self, other: &Self, check: impl Fn() -> Result<()>) -> Result<usize> {
        const BETWEEN_CHECKS: usize = 4_096;
        if self.len == 0 || other.len > self.len {
            return Ok(0);
        }
        for from in 0..=self.len - other.len {
            if from % BETWEEN_CHECKS == 0 {
                check()?;
            }
            if self.has_at(other, from) {
                return Ok(from + 1);
            }
        }
        Ok(0)
    }

    fn has_at(&self, other: &Self, from: usize) -> bool {
        let (skip, shift) = (from / 8, from % 8);
        let byte = |at: usize| u16::from(self.bytes.get(at).copied().unwrap_or(0));
        other.bytes.iter().enumerate().all(|(at, wanted)| {
            let has = ((byte(skip + at) << 8 | byte(skip + at + 1)) << shift >> 8) as u8;
            let bits = (other.len - at * 8).min(8);
            (has ^ wanted) & !(0xFF_u16 >> bits) as u8 == 0
        })
    }

    /// The lowest bits of an integer, its sign before them.
    pub(crate) fn of_int(v: i64, len: usize) -> Self {
        let sign = if v < 0 { 0xFF } else { 0 };
        let width = len.div_ceil(8);
        // the last bit need not end a byte
        let low = (i128::from(v) << (len.wrapping_neg() % 8)).to_be_bytes();
        let mut bytes = vec![sign; width.saturating_sub(low.len())];
        bytes.extend_from_slice(&low[low.len().saturating_sub(width)..]);
        Self::new(bytes, len)
    }

    /// The number that the bits are, without a sign; None if there are more than `max`.
    pub(crate) fn to_int(&self, max: usize) -> Option<u64> {
        if self.len > max || max > 64 {
            return None;
        }
        let wide = self.bytes.iter().fold(0_u128, |v, byte| v << 8 | u128::from(*byte));
        Some((wide >> (self.len.wrapping_neg() % 8)) as u64)
    }
}

impl Ord for Bits {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes.cmp(&other.bytes).then(self.len.cmp(&other.len))
    }
}

impl PartialOrd for Bits {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(bits: &Bits) -> String {
        let mut out = Vec::new();
        bits.write_text(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn bits(digits: &str) -> Bits {
        Bits::parse(digits).unwrap()
    }

    proptest! {
        #[test]
        fn strings_of_bits_are_strings_of_digits(
            a in "[01]{0,40}", b in "[01]{0,12}", from in 0_usize..50, len in 0_usize..50,
        ) {
            let (x, y) = (bits(&a), bits(&b));
            prop_assert_eq!(text(&x), a.clone());
            prop_assert_eq!(text(&x.followed_by(&y)), format!("{a}{b}"));
            let part: String = a.chars().skip(from).take(len).collect();
            prop_assert_eq!(text(&x.part(from.min(a.len()), len)), part);
            prop_assert_eq!(text(&x.resized(len)), format!("{a:0<len$}")[..len].to_owned());
            let left: String = a.chars().skip(from).collect();
            prop_assert_eq!(text(&x.shifted_left(from)), format!("{left:0<width$}", width = a.len()));
            let right: String = a.chars().take(a.len().saturating_sub(from)).collect();
            prop_assert_eq!(text(&x.shifted_right(from)), format!("{right:0>width$}", width = a.len()));
            let found = if a.is_empty() { None } else { a.find(&b) };
            prop_assert_eq!(x.position(&y, || Ok(())).unwrap(), found.map_or(0, |at| at + 1));
            let mut key = Vec::new();
            x.write_key(&mut key);
            prop_assert_eq!(Bits::read_key(&key), Some(x));
        }

        #[test]
        fn numbers_are_their_lowest_bits(v in any::<i64>(), len in 1_usize..100) {
            let whole = format!("{:0128b}", i128::from(v));
            prop_assert_eq!(text(&Bits::of_int(v, len)), whole[128 - len..].to_owned());
            prop_assert_eq!(Bits::of_int(v, 64).to_int(64), Some(v as u64));
            prop_assert_eq!(Bits::of_int(v, 20).to_int(32), Some(v as u64 & 0xF_FFFF));
        }

        #[test]
        fn any_bytes_are_a_key_or_none(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            if let Some(bits) = Bits::read_key(&bytes) {
                let mut key = Vec::new();
                bits.write_key(&mut key);
                prop_assert_eq!(key, bytes);
            }
        }
    }
}
