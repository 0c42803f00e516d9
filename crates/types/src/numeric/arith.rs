//! Arithmetic, with PostgreSQL's scales: those of `+ - *` are exact, that of `/` has 16 significant digits or more.

use super::text::overflow;
use super::{MAX_INTEGER_DIGITS, MAX_SCALE, Numeric, POW10, Parts, pow10};
use crate::error::{Result, SqlError, SqlState};
use crate::ty::Type;
use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use std::cmp::Ordering;

/// Digits that a quotient has at least.
pub(super) const MIN_SIGNIFICANT_DIGITS: i64 = 16;
/// Digits after the point that a function adds at most.
pub(super) const MAX_DISPLAY_SCALE: i64 = 1_000;
/// Decimal digits in one of PostgreSQL's digits, by which it chooses the scale of a quotient.
pub(super) const DIGITS_PER_DIGIT: i64 = 4;

/// How a division ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    /// Half away from zero.
    Half,
    /// Towards zero.
    Down,
}

/// `a / b` as an integer; `b` is positive.
pub(super) fn divide(a: &BigInt, b: &BigInt, rounding: Rounding) -> BigInt {
    let quotient = a / b;
    if rounding == Rounding::Half {
        let rest: BigInt = a - &quotient * b;
        if &(rest.abs() * 2_u32) >= b {
            return if a.is_negative() { quotient - 1 } else { quotient + 1 };
        }
    }
    quotient
}

/// A result, unless it has too many digits.
pub(super) fn checked(mantissa: BigInt, scale: u16) -> Result<Numeric> {
    // 3 bits are less than a digit, so that the count is only made where it may matter
    if mantissa.bits() / 3 > u64::from(MAX_INTEGER_DIGITS) {
        let digits = super::digits_of(&mantissa);
        if digits > MAX_INTEGER_DIGITS + u32::from(scale) {
            return Err(overflow());
        }
    }
    Ok(Numeric::of(mantissa, scale))
}

/// Both mantissas at the larger scale.
fn aligned(a: Parts, b: Parts) -> (BigInt, BigInt, u16) {
    let scale = a.scale.max(b.scale);
    let up = |v: Parts| match scale - v.scale {
        0 => v.mantissa,
        by => v.mantissa * pow10(by.into()),
    };
    (up(a), up(b), scale)
}

/// Both small mantissas at the larger scale.
#[inline]
fn aligned_small(a: i64, x: u16, b: i64, y: u16) -> Option<(i128, i128, u16)> {
    let power = i128::from(*POW10.get(usize::from(x.abs_diff(y)))?);
    let (a, b) = (i128::from(a), i128::from(b));
    Some(if x < y { (a * power, b, y) } else { (a, b * power, x) })
}

/// An operator whose result is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
}

impl Exact {
    /// The result for mantissas and scales, if it is as short as they are: what [`Numeric::add`] and the like answer.
    #[inline]
    pub fn of_short(self, (a, x): (i64, u16), (b, y): (i64, u16)) -> Option<(i64, u16)> {
        if self == Self::Mul {
            // both are at most `MAX_SCALE`, so that the sum fits
            let scale = x + y;
            return if scale <= MAX_SCALE { Some((a.checked_mul(b)?, scale)) } else { None };
        }
        let (a, b, scale) = match x.cmp(&y) {
            Ordering::Equal => (a, b, x),
            Ordering::Less => (a.checked_mul(*POW10.get(usize::from(y - x))?)?, b, y),
            Ordering::Greater => (a, b.checked_mul(*POW10.get(usize::from(x - y))?)?, x),
        };
        let result = if self == Self::Add { a.checked_add(b) } else { a.checked_sub(b) };
        Some((result?, scale))
    }
}

/// The weight and value of the first of PostgreSQL's base 10000 digits.
fn leading(v: &Parts) -> (i64, i64) {
    let digits = v.digits();
    if digits == 0 {
        return (0, 0);
    }
    let exponent = v.exponent();
    let weight = exponent.div_euclid(DIGITS_PER_DIGIT);
    let wanted = exponent.rem_euclid(DIGITS_PER_DIGIT) as u32 + 1;
    let abs = v.mantissa.abs();
    let first = if digits >= wanted { abs / pow10(digits - wanted) } else { abs * pow10(wanted - digits) };
    (weight, i64::try_from(first).unwrap_or(0))
}

/// The scale of a quotient.
fn quotient_scale(a: &Parts, b: &Parts) -> u16 {
    let ((weight_a, first_a), (weight_b, first_b)) = (leading(a), leading(b));
    let weight = weight_a - weight_b - i64::from(first_a <= first_b);
    let scale = (MIN_SIGNIFICANT_DIGITS - weight * DIGITS_PER_DIGIT).max(a.scale.into()).max(b.scale.into());
    scale.clamp(0, MAX_DISPLAY_SCALE) as u16
}

impl Numeric {
    /// `self + other`.
    ///
    /// # Errors
    ///
    /// 22003 if the sum has too many digits.
    #[inline]
    pub fn add(&self, other: &Self) -> Result<Self> {
        if let (Self::Small { mantissa: a, scale: x }, Self::Small { mantissa: b, scale: y }) = (self, other)
            && let Some((a, b, scale)) = aligned_small(*a, *x, *b, *y)
        {
            return Ok(Self::of_i128(a + b, scale));
        }
        match (self.parts(), other.parts()) {
            (Some(a), Some(b)) => {
                let (a, b, scale) = aligned(a, b);
                checked(a + b, scale)
            }
            _ => Ok(match (self, other) {
                (Self::NaN, _) | (_, Self::NaN) => Self::NaN,
                (Self::Infinity, Self::NegInfinity) | (Self::NegInfinity, Self::Infinity) => Self::NaN,
                (Self::Infinity, _) | (_, Self::Infinity) => Self::Infinity,
                _ => Self::NegInfinity,
            }),
        }
    }

    /// `self - other`.
    ///
    /// # Errors
    ///
    /// 22003 if the difference has too many digits.
    #[inline]
    pub fn sub(&self, other: &Self) -> Result<Self> {
        if let (Self::Small { mantissa: a, scale: x }, Self::Small { mantissa: b, scale: y }) = (self, other)
            && let Some((a, b, scale)) = aligned_small(*a, *x, *b, *y)
        {
            return Ok(Self::of_i128(a - b, scale));
        }
        self.add(&other.neg())
    }

    /// `self * other`.
    ///
    /// # Errors
    ///
    /// 22003 if the product has too many digits.
    #[inline]
    pub fn mul(&self, other: &Self) -> Result<Self> {
        if let (Self::Small { mantissa: a, scale: x }, Self::Small { mantissa: b, scale: y }) = (self, other)
            && x + y <= MAX_SCALE
        {
            return Ok(Self::of_i128(i128::from(*a) * i128::from(*b), x + y));
        }
        match (self.parts(), other.parts()) {
            (Some(a), Some(b)) => {
                let (mantissa, scale) = (a.mantissa * b.mantissa, a.scale + b.scale);
                if scale > MAX_SCALE {
                    let power = pow10((scale - MAX_SCALE).into());
                    return checked(divide(&mantissa, &power, Rounding::Half), MAX_SCALE);
                }
                checked(mantissa, scale)
            }
            _ => Ok(match self.signum().zip(other.signum()).map(|(a, b)| a * b) {
                Some(1) => Self::Infinity,
                Some(-1) => Self::NegInfinity,
                _ => Self::NaN,
            }),
        }
    }

    /// The product with all its digits, also those that no numeric keeps: what is left when such products are
    /// subtracted from each other may depend on them.
    ///
    /// # Errors
    ///
    /// 22003 if the product has too many digits.
    pub(crate) fn mul_exact(&self, other: &Self) -> Result<Self> {
        match (self.parts(), other.parts()) {
            (Some(a), Some(b)) if a.scale + b.scale > MAX_SCALE => {
                checked(a.mantissa * b.mantissa, a.scale + b.scale)
            }
            _ => self.mul(other),
        }
    }

    /// `self / other`.
    ///
    /// # Errors
    ///
    /// 22012 if `other` is zero, 22003 if the quotient has too many digits.
    pub fn div(&self, other: &Self) -> Result<Self> {
        match (self.parts(), other.parts()) {
            (Some(a), Some(b)) => {
                if b.mantissa.is_zero() {
                    return Err(SqlError::division_by_zero());
                }
                let scale = quotient_scale(&a, &b);
                // a/10^x / (b/10^y) = a*10^(scale+y-x) / b / 10^scale
                let shift = i64::from(scale) + i64::from(b.scale) - i64::from(a.scale);
                let (mut above, mut below) = (a.mantissa, b.mantissa);
                if shift >= 0 {
                    above *= pow10(shift as u32);
                } else {
                    below *= pow10(shift.unsigned_abs() as u32);
                }
                if below.is_negative() {
                    (above, below) = (-above, -below);
                }
                checked(divide(&above, &below, Rounding::Half), scale)
            }
            _ => match (self, other) {
                (Self::NaN, _) | (_, Self::NaN) => Ok(Self::NaN),
                (_, Self::Infinity | Self::NegInfinity) if self.is_finite() => Ok(Self::ZERO),
                (_, Self::Infinity | Self::NegInfinity) => Ok(Self::NaN),
                _ => match self.signum().unwrap_or(0) * other.signum().unwrap_or(0) {
                    0 => Err(SqlError::division_by_zero()),
                    sign if sign > 0 => Ok(Self::Infinity),
                    _ => Ok(Self::NegInfinity),
                },
            },
        }
    }

    /// The quotient without its fraction.
    ///
    /// # Errors
    ///
    /// As [`Numeric::div`].
    pub fn div_trunc(&self, other: &Self) -> Result<Self> {
        match (self.parts(), other.parts()) {
            (Some(a), Some(b)) => {
                if b.mantissa.is_zero() {
                    return Err(SqlError::division_by_zero());
                }
                let (a, b, _) = aligned(a, b);
                checked(a / b, 0)
            }
            _ => self.div(other),
        }
    }

    /// The remainder, with the sign of `self`.
    ///
    /// # Errors
    ///
    /// 22012 if `other` is zero.
    pub fn rem(&self, other: &Self) -> Result<Self> {
        if let (Self::Small { mantissa: a, scale: x }, Self::Small { mantissa: b, scale: y }) = (self, other)
            && *b != 0
            && let Some((a, b, scale)) = aligned_small(*a, *x, *b, *y)
        {
            return Ok(Self::of_i128(a % b, scale));
        }
        match (self.parts(), other.parts()) {
            (Some(a), Some(b)) => {
                if b.mantissa.is_zero() {
                    return Err(SqlError::division_by_zero());
                }
                let (a, b, scale) = aligned(a, b);
                checked(a % b, scale)
            }
            _ => match (self, other) {
                (Self::NaN, _) | (_, Self::NaN) => Ok(Self::NaN),
                (Self::Infinity | Self::NegInfinity, _) if other.is_zero() => {
                    Err(SqlError::division_by_zero())
                }
                (Self::Infinity | Self::NegInfinity, _) => Ok(Self::NaN),
                _ => Ok(self.clone()),
            },
        }
    }

    /// `-self`.
    #[must_use]
    pub fn neg(&self) -> Self {
        match self {
            Self::Small { mantissa, scale } => Self::of_i128(-i128::from(*mantissa), *scale),
            Self::Big(big) => Self::of(-&big.mantissa, big.scale),
            Self::NaN => Self::NaN,
            Self::Infinity => Self::NegInfinity,
            Self::NegInfinity => Self::Infinity,
        }
    }

    /// `|self|`.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.signum() == Some(-1) { self.neg() } else { self.clone() }
    }

    /// With `scale` digits after the point; a negative scale makes the digits before it zero.
    fn rescaled(&self, scale: i32, rounding: Rounding) -> Self {
        let to = scale.clamp(-(MAX_INTEGER_DIGITS as i32) - 1, MAX_SCALE.into());
        let shown = to.max(0) as u16;
        if let Self::Small { mantissa, scale } = *self {
            let down = i32::from(scale) - to;
            if down == 0 {
                return self.clone();
            }
            if let Some(power) = POW10.get(down.unsigned_abs() as usize).copied() {
                if down < 0 {
                    return Self::of_i128(i128::from(mantissa) * i128::from(power), shown);
                }
                let mut quotient = mantissa / power;
                if rounding == Rounding::Half && (mantissa % power).unsigned_abs() * 2 >= power as u64 {
                    quotient += mantissa.signum();
                }
                // what was cut before the point comes back as zeros
                let zeros = (-to).max(0) as usize;
                if zeros == 0 {
                    return Self::small(quotient, shown);
                }
                if let Some(back) = POW10.get(zeros) {
                    return Self::of_i128(i128::from(quotient) * i128::from(*back), shown);
                }
            }
        }
        let Some(parts) = self.parts() else { return self.clone() };
        let down = i32::from(parts.scale) - to;
        if down <= 0 {
            return Self::of(parts.mantissa * pow10(down.unsigned_abs()), shown);
        }
        if down as u32 > parts.digits() + 1 {
            return Self::small(0, shown);
        }
        let quotient = divide(&parts.mantissa, &pow10(down as u32), rounding);
        Self::of(quotient * pow10((-to).max(0) as u32), shown)
    }

    /// Rounded half away from zero, to `scale` digits after the point.
    ///
    /// # Errors
    ///
    /// 22003 if a digit too many came in front.
    pub fn round(&self, scale: i32) -> Result<Self> {
        match self.rescaled(scale.clamp(-131_073, MAX_SCALE.into()), Rounding::Half).parts() {
            Some(parts) => checked(parts.mantissa, parts.scale),
            None => Ok(self.clone()),
        }
    }

    /// As [`Numeric::round`], for a scale at which nothing can overflow.
    #[must_use]
    pub(crate) fn rounded(&self, scale: u16) -> Self {
        self.rescaled(scale.into(), Rounding::Half)
    }

    /// Cut off behind `scale` digits after the point.
    #[must_use]
    pub fn trunc(&self, scale: i32) -> Self {
        self.rescaled(scale, Rounding::Down)
    }

    /// The smallest integer that is not less.
    ///
    /// # Errors
    ///
    /// 22003 if it has too many digits.
    pub fn ceil(&self) -> Result<Self> {
        let cut = self.trunc(0);
        if cut < *self { cut.add(&Self::small(1, 0)) } else { Ok(cut) }
    }

    /// The greatest integer that is not greater.
    ///
    /// # Errors
    ///
    /// 22003 if it has too many digits.
    pub fn floor(&self) -> Result<Self> {
        let cut = self.trunc(0);
        if cut > *self { cut.sub(&Self::small(1, 0)) } else { Ok(cut) }
    }

    /// Without zeros at the end of the fraction.
    #[must_use]
    pub fn trim_scale(&self) -> Self {
        self.trunc(self.min_scale().into())
    }

    /// Digits after the point that are needed; 0 of NaN and infinities.
    pub fn min_scale(&self) -> u16 {
        if self.is_zero() {
            return 0;
        }
        self.reduced().map_or(0, |(_, scale)| scale.max(0) as u16)
    }

    /// The number as a column of type `numeric(p, s)` keeps it.
    ///
    /// # Errors
    ///
    /// 22003 if it does not fit.
    pub fn to_typmod(self, ty: Type) -> Result<Self> {
        let Some((precision, scale)) = ty.precision_scale() else { return Ok(self) };
        if let Self::Small { mantissa, scale: has } = self
            && i32::from(has) == scale
            && POW10.get(precision as usize).is_none_or(|bound| mantissa.unsigned_abs() < *bound as u64)
        {
            return Ok(self);
        }
        let detail = match self {
            Self::NaN => return Ok(self),
            Self::Infinity | Self::NegInfinity => {
                format!("A field with precision {precision}, scale {scale} cannot hold an infinite value.")
            }
            _ => {
                let rounded = self.rescaled(scale, Rounding::Half);
                // |value| < 10^(precision - scale)
                let fits = rounded
                    .parts()
                    .is_some_and(|v| v.exponent() < i64::from(precision - scale) || rounded.is_zero());
                if fits {
                    return Ok(rounded);
                }
                let bound = match precision - scale {
                    0 => "1".to_owned(),
                    digits => format!("10^{digits}"),
                };
                format!(
                    "A field with precision {precision}, scale {scale} must round to an absolute value less than \
                     {bound}."
                )
            }
        };
        Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(detail))
    }
}
