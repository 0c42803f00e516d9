//! Values of the protocol's binary format, as far as the workloads have them.

use crate::client::Failure;

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// A smallint, integer or bigint.
    Int(i64),
    /// An amount in cents: a numeric of two decimals.
    Cents(i64),
    /// A text.
    Text(&'a str),
    /// A timestamp, in microseconds since 2000.
    Time(i64),
}

const INT2: u32 = 21;
const INT4: u32 = 23;
const INT8: u32 = 20;
const NUMERIC: u32 = 1700;
const TIMESTAMP: u32 = 1114;
const TEXTS: [u32; 3] = [25, 1042, 1043];

impl Param<'_> {
    /// Appends the value as one of the type with this oid. False for NULL, which has no bytes.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the type is another one: the statement does not fit the schema.
    pub(crate) fn write(&self, oid: u32, out: &mut impl Extend<u8>) -> Result<bool, Failure> {
        let misfit = || Failure::Refused {
            code: "22023".into(),
            message: format!("{self:?} is no value of the type with oid {oid}"),
            detail: None,
        };
        match (*self, oid) {
            (Self::Null, _) => return Ok(false),
            (Self::Int(n), INT2) => out.extend(i16::try_from(n).map_err(|_| misfit())?.to_be_bytes()),
            (Self::Int(n), INT4) => out.extend(i32::try_from(n).map_err(|_| misfit())?.to_be_bytes()),
            (Self::Int(n), INT8) => out.extend(n.to_be_bytes()),
            (Self::Cents(cents), NUMERIC) => write_cents(cents, out),
            (Self::Time(micros), TIMESTAMP) => out.extend(micros.to_be_bytes()),
            (Self::Text(text), oid) if TEXTS.contains(&oid) => out.extend(text.bytes()),
            _ => return Err(misfit()),
        }
        Ok(true)
    }
}

/// Digits of numerics are below this, the last one before the point has weight 0.
const BASE: u64 = 10_000;
const NEGATIVE: u16 = 0x4000;

/// A numeric of two decimals.
fn write_cents(cents: i64, out: &mut impl Extend<u8>) {
    // in 1/10000, so that the last digit has weight -1
    let mut rest = u128::from(cents.unsigned_abs()) * 100;
    let mut digits = [0u16; 8];
    let mut count = 0;
    while rest > 0 {
        digits[count] = (rest % u128::from(BASE)) as u16;
        rest /= u128::from(BASE);
        count += 1;
    }
    let last = digits[..count].iter().position(|&digit| digit != 0).unwrap_or(0);
    let sign = if cents < 0 { NEGATIVE } else { 0 };
    let weight = if count == 0 { 0 } else { count as i16 - 2 };
    let head = [(count - last) as u16, weight as u16, sign, 2];
    let digits = digits[last..count].iter().rev().copied();
    head.into_iter().chain(digits).for_each(|word| out.extend(word.to_be_bytes()));
}

/// A numeric in 1/10000; `None` if it has more decimals, is too large, or is no number.
pub(crate) fn decimal(bytes: &[u8]) -> Option<i64> {
    let mut words = bytes.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    let (count, weight, sign, _scale) = (words.next()?, words.next()? as i16, words.next()?, words.next()?);
    if sign != 0 && sign != NEGATIVE {
        return None;
    }
    let (mut value, mut at) = (0i64, weight);
    for _ in 0..count {
        let digit = i64::from(words.next()?);
        match at {
            -1.. => value = value.checked_mul(BASE as i64)?.checked_add(digit)?,
            _ if digit != 0 => return None,
            _ => {}
        }
        at = at.checked_sub(1)?;
    }
    // digits that are zero at the end are left out
    while at >= -1 {
        value = value.checked_mul(BASE as i64)?;
        at -= 1;
        if value == 0 {
            break;
        }
    }
    Some(if sign == NEGATIVE { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_types::{Env, Type, Value};

    #[test]
    fn numerics_are_those_of_the_database() {
        for cents in [0, 1, -1, 10, 99, 100, 12_345, -5_000_000, 1_000_000, 999_999_999_999, i64::MAX / 100] {
            let mut bytes = Vec::new();
            assert!(Param::Cents(cents).write(NUMERIC, &mut bytes).unwrap());
            assert_eq!(decimal(&bytes), Some(cents * 100), "{cents}");
            let value = Value::from_binary(&bytes, Type::NUMERIC).unwrap();
            let text = value.to_text(Type::NUMERIC, &Env::default()).unwrap();
            let sign = if cents < 0 { "-" } else { "" };
            assert_eq!(text, format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100));
            let mut again = Vec::new();
            value.write_binary(Type::NUMERIC, &mut again);
            assert_eq!(again, bytes);
        }
    }

    #[test]
    fn what_is_no_decimal_is_none() {
        let numeric = |words: &[u16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
        assert_eq!(decimal(&numeric(&[1, 0xFFFF, 0, 4, 1234])), Some(1234));
        assert_eq!(decimal(&numeric(&[0, 0xC000, 0, 0])), Some(0));
        assert_eq!(decimal(&numeric(&[0, 0x7FFF, 0, 0])), Some(0));
        for words in [&[0, 0, 0xC000, 0][..], &[1, 0xFFFE, 0, 8, 1], &[1, 9, 0, 0, 1], &[2, 0, 0, 0, 1], &[1]]
        {
            assert_eq!(decimal(&numeric(words)), None, "{words:?}");
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        for (param, oid) in [(Param::Int(70_000), INT2), (Param::Int(1), NUMERIC), (Param::Text("a"), INT4)] {
            assert_eq!(param.write(oid, &mut Vec::new()).unwrap_err().code(), Some("22023"));
        }
    }
}
