//! Numbers as bytes: PostgreSQL's binary format, and a form whose bytes sort as the numbers do.
//!
//! ```text
//! sorted form     class | exponent (4) | pairs of digits, each + 1 | 0
//! class           0 -infinity, 1 negative, 2 zero, 3 positive, 4 infinity, 5 NaN
//! exponent        of the leading pair in base 100, sign bit flipped; of negatives everything but the class is inverted
//! ```
//!
//! Equal numbers have equal sorted forms: the scale is not in it.

use super::{MAX_SCALE, Numeric, POW10, Parts, pow10};
use crate::error::{Result, SqlError};
use num_bigint::BigInt;
use num_traits::{Signed, Zero};

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEG_INFINITY: u16 = 0xF000;

/// Pairs of digits that a word has at most, with one digit of padding.
const WORD_PAIRS: usize = 11;

/// Classes of the sorted form.
mod class {
    pub(super) const NEG_INFINITY: u8 = 0;
    pub(super) const NEGATIVE: u8 = 1;
    pub(super) const ZERO: u8 = 2;
    pub(super) const POSITIVE: u8 = 3;
    pub(super) const INFINITY: u8 = 4;
    pub(super) const NAN: u8 = 5;
}

/// Digits in groups of `width`, aligned to the point, without zero groups at either end; and the weight of the first.
fn groups(parts: &Parts, width: usize) -> (Vec<u16>, i64) {
    let text = parts.mantissa.magnitude().to_string();
    let digits = text.as_bytes();
    let exponent = parts.exponent();
    let wide = width as i64;
    let weight = exponent.div_euclid(wide);
    let lead = exponent.rem_euclid(wide) as usize + 1;
    let mut found = Vec::with_capacity(digits.len() / width + 2);
    let mut at = 0;
    let mut take = lead;
    while at < digits.len() {
        let value = (0..take)
            .fold(0, |value, i| value * 10 + digits.get(at + i).map_or(0, |digit| u16::from(digit - b'0')));
        found.push(value);
        at += take;
        take = width;
    }
    while found.last() == Some(&0) {
        found.pop();
    }
    (found, weight)
}

/// [`groups`] of a mantissa of one word, which is not zero: the lowest group first, and how many there are.
fn groups_of_word(mantissa: u64, scale: u16, width: usize) -> ([u16; WORD_PAIRS], usize, i64) {
    let base = POW10[width].unsigned_abs();
    let behind = usize::from(scale).div_ceil(width);
    let pad = behind * width - usize::from(scale);
    let mut rest = u128::from(mantissa) * u128::from(POW10[pad].unsigned_abs());
    let (mut found, mut count, mut dropped) = ([0; WORD_PAIRS], 0, 0);
    while rest != 0 {
        // most mantissas are a word even so, and dividing those is far cheaper
        let digit = match u64::try_from(rest) {
            Ok(word) => {
                rest = u128::from(word / base);
                word % base
            }
            Err(_) => {
                let digit = rest % u128::from(base);
                rest /= u128::from(base);
                digit as u64
            }
        };
        if count == 0 && digit == 0 {
            dropped += 1;
            continue;
        }
        found[count] = digit as u16;
        count += 1;
    }
    (found, count, (count + dropped) as i64 - behind as i64 - 1)
}

/// The value of at most four groups of PostgreSQL's, if it is a word: the reverse of [`groups_of_word`].
fn word_of_groups(digits: impl ExactSizeIterator<Item = u16>, weight: i64, scale: u16) -> Option<i64> {
    const MOST: usize = 4;
    let count = digits.len();
    if count > MOST {
        return None;
    }
    let value = digits.fold(0_i64, |value, digit| value * 10_000 + i64::from(digit));
    let shift = 4 * (weight + 1 - count as i64) + i64::from(scale);
    let power = POW10.get(usize::try_from(shift.unsigned_abs()).ok()?);
    if shift >= 0 { value.checked_mul(*power?) } else { Some(power.map_or(0, |power| value / power)) }
}

/// The number of digit groups; the reverse of [`groups`].
fn ungroup(digits: &[u16], weight: i64, width: usize, negative: bool, scale: u16) -> BigInt {
    let mut text = String::with_capacity(digits.len() * width);
    for digit in digits {
        let digit = digit.to_string();
        text.extend(std::iter::repeat_n('0', width.saturating_sub(digit.len())));
        text.push_str(&digit);
    }
    let value = BigInt::parse_bytes(text.as_bytes(), 10).unwrap_or_else(BigInt::zero);
    // value * 10^(width * (weight + 1 - digits)), at `scale`
    let shift = width as i64 * (weight + 1 - digits.len() as i64) + i64::from(scale);
    let value = if shift >= 0 {
        value * pow10(shift as u32)
    } else if shift.unsigned_abs() as usize > text.len() {
        BigInt::zero()
    } else {
        value / pow10(shift.unsigned_abs() as u32)
    };
    if negative { -value } else { value }
}

impl Numeric {
    /// Appends PostgreSQL's binary format.
    pub(crate) fn write_binary(&self, out: &mut Vec<u8>) {
        let mut put = |v: u16| out.extend_from_slice(&v.to_be_bytes());
        if let Self::Small { mantissa, scale } = *self
            && mantissa != 0
        {
            let (digits, count, weight) = groups_of_word(mantissa.unsigned_abs(), scale, 4);
            put(count as u16);
            put(weight as i16 as u16);
            put(if mantissa < 0 { NEGATIVE } else { 0 });
            put(scale);
            digits[..count].iter().rev().for_each(|digit| put(*digit));
            return;
        }
        let Some(parts) = self.parts() else {
            let sign = match self {
                Self::Infinity => INFINITY,
                Self::NegInfinity => NEG_INFINITY,
                _ => NAN,
            };
            // the infinities show a scale that nothing uses
            let scale = if sign == NAN { 0 } else { 0x20 };
            for word in [0, 0, sign, scale] {
                put(word);
            }
            return;
        };
        let (digits, weight) = if parts.mantissa.is_zero() { (Vec::new(), 0) } else { groups(&parts, 4) };
        put(digits.len() as u16);
        put(weight as i16 as u16);
        put(if parts.mantissa.is_negative() { NEGATIVE } else { 0 });
        put(parts.scale);
        for digit in digits {
            put(digit);
        }
    }

    /// The number of PostgreSQL's binary format.
    ///
    /// # Errors
    ///
    /// 22P03 if it is none.
    pub(crate) fn from_binary(bytes: &[u8]) -> Result<Self> {
        let bad = |what: &'static str| SqlError::invalid_binary(what);
        let short =
            || SqlError::new(crate::SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
        let word = |at: usize| bytes.get(at * 2..at * 2 + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
        let count = word(0).ok_or_else(short)?;
        let weight = word(1).ok_or_else(short)? as i16;
        let sign = word(2).ok_or_else(short)?;
        let scale = word(3).ok_or_else(short)?;
        match sign {
            0 | NEGATIVE => {}
            NAN | INFINITY | NEG_INFINITY if bytes.len() != 8 => {
                return Err(bad("incorrect binary data format"));
            }
            NAN => return Ok(Self::NaN),
            INFINITY => return Ok(Self::Infinity),
            NEG_INFINITY => return Ok(Self::NegInfinity),
            _ => return Err(bad("invalid sign in external \"numeric\" value")),
        }
        if scale > MAX_SCALE {
            return Err(bad("invalid scale in external \"numeric\" value"));
        }
        if bytes.len() < 8 + 2 * usize::from(count) {
            return Err(short());
        }
        if bytes.len() != 8 + 2 * usize::from(count) {
            return Err(bad("incorrect binary data format"));
        }
        let digits = bytes[8..].chunks_exact(2).map(|digit| u16::from_be_bytes([digit[0], digit[1]]));
        if digits.clone().any(|digit| digit > 9_999) {
            return Err(bad("invalid digit in external \"numeric\" value"));
        }
        if count == 0 {
            return Ok(Self::small(0, scale));
        }
        if let Some(mantissa) = word_of_groups(digits.clone(), weight.into(), scale) {
            return Ok(Self::small(if sign == NEGATIVE { -mantissa } else { mantissa }, scale));
        }
        let digits: Vec<u16> = digits.collect();
        super::arith::checked(ungroup(&digits, weight.into(), 4, sign == NEGATIVE, scale), scale)
    }

    /// Appends the sorted form.
    pub(crate) fn write_sorted(&self, out: &mut Vec<u8>) {
        let Some(parts) = self.parts() else {
            out.push(match self {
                Self::Infinity => class::INFINITY,
                Self::NegInfinity => class::NEG_INFINITY,
                _ => class::NAN,
            });
            return;
        };
        if parts.mantissa.is_zero() {
            out.push(class::ZERO);
            return;
        }
        let negative = parts.mantissa.is_negative();
        let invert = if negative { 0xFF } else { 0 };
        let (pairs, weight) = groups(&parts, 2);
        out.push(if negative { class::NEGATIVE } else { class::POSITIVE });
        let exponent = (weight as i32 as u32) ^ (1 << 31);
        out.extend(exponent.to_be_bytes().map(|byte| byte ^ invert));
        out.extend(pairs.iter().map(|pair| (*pair as u8 + 1) ^ invert));
        out.push(invert);
    }

    /// The number of a sorted form, at this scale, and the bytes behind it. None if it is malformed.
    pub(crate) fn read_sorted(bytes: &[u8], scale: u16) -> Option<(Self, &[u8])> {
        let (class, rest) = bytes.split_first()?;
        let negative = match *class {
            class::NEG_INFINITY => return Some((Self::NegInfinity, rest)),
            class::INFINITY => return Some((Self::Infinity, rest)),
            class::NAN => return Some((Self::NaN, rest)),
            class::ZERO => return Some((Self::small(0, scale), rest)),
            class::NEGATIVE => true,
            class::POSITIVE => false,
            _ => return None,
        };
        let invert = if negative { 0xFF } else { 0 };
        let (exponent, rest) = rest.split_first_chunk::<4>()?;
        let weight = (u32::from_be_bytes(exponent.map(|byte| byte ^ invert)) ^ (1 << 31)) as i32;
        let end = rest.iter().position(|byte| *byte == invert)?;
        let pairs: Vec<u16> = rest[..end].iter().map(|byte| u16::from((byte ^ invert) - 1)).collect();
        if pairs.is_empty() || pairs.iter().any(|pair| *pair > 99) || weight.unsigned_abs() > 70_000 {
            return None;
        }
        let value = ungroup(&pairs, weight.into(), 2, negative, scale);
        Some((Self::of(value, scale), &rest[end + 1..]))
    }

    /// The mantissa at a scale, which may be negative. None if it is no integer of a word.
    pub(crate) fn mantissa_at(&self, scale: i32) -> Option<i64> {
        let Self::Small { mantissa, scale: has } = *self else { return None };
        let by = scale - i32::from(has);
        let power = *super::POW10.get(by.unsigned_abs() as usize)?;
        if by >= 0 {
            mantissa.checked_mul(power)
        } else {
            (mantissa % power == 0).then_some(mantissa / power)
        }
    }

    /// The number of a mantissa at a scale, which may be negative.
    pub(crate) fn from_mantissa(mantissa: i64, scale: i32) -> Self {
        match u16::try_from(scale) {
            Ok(scale) => Self::small(mantissa, scale),
            Err(_) => Self::of(BigInt::from(mantissa) * pow10(scale.unsigned_abs()), 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a number would be if its mantissa were no word.
    fn slow(mantissa: i64, scale: u16, width: usize) -> (Vec<u16>, i64) {
        groups(&Parts { mantissa: mantissa.into(), scale }, width)
    }

    fn mantissas() -> impl Iterator<Item = i64> {
        let near = |v: i64| [v.saturating_sub(1), v, v.saturating_add(1)];
        let powers = POW10.into_iter().flat_map(near).flat_map(|v| [v, -v]);
        let others = (0..2_000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64 >> (i % 50));
        powers.chain(others).chain([i64::MAX, i64::MIN]).filter(|mantissa| *mantissa != 0)
    }

    #[test]
    fn words_have_the_groups_that_long_numbers_have() {
        for mantissa in mantissas() {
            for (scale, width) in (0..45).chain([999, 1_000, 1_001, MAX_SCALE]).flat_map(|s| [(s, 2), (s, 4)])
            {
                let (mut found, count, weight) = groups_of_word(mantissa.unsigned_abs(), scale, width);
                found[..count].reverse();
                let (expected, at) = slow(mantissa, scale, width);
                assert_eq!((&found[..count], weight), (&expected[..], at), "{mantissa} / 10^{scale}");
            }
        }
    }

    #[test]
    fn groups_make_the_words_that_long_numbers_make() {
        for mantissa in mantissas() {
            for of in [0, 1, 2, 3, 4, 9, 17, 19, 40] {
                let (digits, weight) = slow(mantissa, of, 4);
                for scale in [0, 1, 2, 3, 5, 8, 12, 18, 19, 20, 40, MAX_SCALE] {
                    let expected = ungroup(&digits, weight, 4, false, scale);
                    if let Some(word) = word_of_groups(digits.iter().copied(), weight, scale) {
                        assert_eq!(BigInt::from(word), expected, "{digits:?} {weight} at {scale}");
                    } else {
                        assert!(digits.len() > 4 || expected > BigInt::from(i64::MAX));
                    }
                }
            }
        }
    }
}
