//! Roots, powers and logarithms, to PostgreSQL's number of digits.
//!
//! Logarithms and exponentials are computed in binary fixed point, `value * 2^bits` as an integer, with digits to
//! spare, and rounded once at the end.

use super::arith::{DIGITS_PER_DIGIT, MAX_DISPLAY_SCALE, MIN_SIGNIFICANT_DIGITS, Rounding, checked, divide};
use super::text::overflow;
use super::{MAX_INTEGER_DIGITS, Numeric, Parts, digits_of, pow10};
use crate::error::{Result, SqlError, SqlState};
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::f64::consts::LOG10_E;

/// Decimal digits that are computed and not shown.
const GUARD_DIGITS: i64 = 20;
/// Beyond this exponent `e^x` overflows, or is zero: PostgreSQL's 2000 digits.
const MAX_EXP: f64 = 6_000.0;

/// Bits that hold so many decimal digits.
fn bits_for(digits: i64) -> u64 {
    (digits.max(0) as u64) * 10 / 3 + 2
}

/// The shown scale of a result whose leading digit has this power of ten.
fn shown_scale(weight: i64, at_least: &[u16]) -> u16 {
    let least = at_least.iter().copied().max().unwrap_or(0);
    (MIN_SIGNIFICANT_DIGITS - weight).max(least.into()).clamp(0, MAX_DISPLAY_SCALE) as u16
}

/// A number in binary fixed point.
fn to_fixed(v: &Parts, bits: u64) -> BigInt {
    (&v.mantissa << bits) / pow10(v.scale.into())
}

/// A number of binary fixed point, rounded to a scale.
fn from_fixed(v: &BigInt, bits: u64, scale: u16) -> Result<Numeric> {
    checked(divide(&(v * pow10(scale.into())), &(BigInt::one() << bits), Rounding::Half), scale)
}

/// `e^x` in fixed point.
fn exp_fixed(x: &BigInt, bits: u64) -> BigInt {
    // e^x = (e^(x / 2^k))^(2^k), where the series of the small exponent is short
    let halvings = (x.bits() + 8).saturating_sub(bits) + 8;
    let inner = bits + halvings + 8;
    let x: BigInt = (x << (inner - bits)) >> halvings;
    let one = BigInt::one() << inner;
    let (mut sum, mut term) = (one.clone(), one);
    let mut n = 0_u32;
    while !term.is_zero() && term != BigInt::from(-1) {
        n += 1;
        term = ((term * &x) >> inner) / n;
        sum += &term;
    }
    for _ in 0..halvings {
        sum = (&sum * &sum) >> inner;
    }
    sum >> (inner - bits)
}

/// `2 * atanh(y)` in fixed point.
fn two_atanh(y: &BigInt, bits: u64) -> BigInt {
    let square = (y * y) >> bits;
    let (mut sum, mut power) = (BigInt::zero(), y.clone());
    let mut n = 1_u32;
    while !power.is_zero() && power != BigInt::from(-1) {
        sum += &power / n;
        power = (power * &square) >> bits;
        n += 2;
    }
    sum << 1
}

/// `ln(x)` of a positive number, with so many digits after the point and some more; and the bits of its fixed point.
fn ln_fixed(v: &Parts, digits: i64) -> (BigInt, u64) {
    let bits = bits_for(digits + GUARD_DIGITS + 8);
    // v = m * 2^shift, with m between 1/2 and 1
    let below = pow10(v.scale.into());
    let mut shift = v.mantissa.bits() as i64 - below.bits() as i64;
    let up = bits as i64 - shift;
    let mut m =
        if up >= 0 { (&v.mantissa << up as u64) / below } else { &v.mantissa / (below << (-up) as u64) };
    let one = BigInt::one() << bits;
    // m is between 1/2 and 2; nearer to 1 the series is shorter, and ln(1.0001) keeps its digits
    let low: BigInt = (&one * 3_u32) >> 2;
    let high: BigInt = (&one * 3_u32) >> 1;
    if m < low {
        m <<= 1;
        shift -= 1;
    } else if m > high {
        m >>= 1;
        shift += 1;
    }
    let y = ((&m - &one) << bits) / (&m + &one);
    let third: BigInt = &one / 3_u32;
    let ln2 = two_atanh(&third, bits);
    (two_atanh(&y, bits) + ln2 * shift, bits)
}

/// The power of ten of the leading digit of `ln(v)`, estimated as PostgreSQL does.
fn ln_weight(v: &Parts) -> i64 {
    let one = pow10(v.scale.into());
    let difference = &v.mantissa - &one;
    // 0.9 <= v <= 1.1
    if difference.abs() * 10_u32 <= one {
        if difference.is_zero() {
            return 0;
        }
        let x = Parts { mantissa: difference, scale: v.scale };
        return x.exponent();
    }
    let digits = v.digits();
    let first = if digits > 8 { &v.mantissa / pow10(digits - 8) } else { v.mantissa.clone() };
    let shifted = i64::from(digits.saturating_sub(8)) - i64::from(v.scale);
    let ln = first.to_f64().unwrap_or(1.0).ln() + shifted as f64 * std::f64::consts::LN_10;
    ln.abs().log10() as i64
}

/// The answers to logarithms that there are not.
fn check_log(v: &Numeric) -> Result<()> {
    let message = match v.signum() {
        Some(0) => "cannot take logarithm of zero",
        Some(-1) => "cannot take logarithm of a negative number",
        _ => return Ok(()),
    };
    Err(SqlError::new(SqlState::INVALID_ARGUMENT_FOR_LOG, message))
}

fn bad_power(message: &'static str) -> SqlError {
    SqlError::new(SqlState::INVALID_ARGUMENT_FOR_POWER, message)
}

impl Numeric {
    /// `n!`
    pub(crate) fn factorial(n: u32) -> Result<Self> {
        let mut product = BigInt::one();
        for i in 2..=n {
            product *= i;
        }
        checked(product, 0)
    }

    /// The square root.
    ///
    /// # Errors
    ///
    /// 2201F of a negative number.
    pub fn sqrt(&self) -> Result<Self> {
        if self.signum() == Some(-1) {
            return Err(bad_power("cannot take square root of a negative number"));
        }
        let Some(v) = self.parts() else { return Ok(self.clone()) };
        // the weight in base 10000 decides on the scale
        let weight = if self.is_zero() { 0 } else { v.exponent().div_euclid(DIGITS_PER_DIGIT) };
        let root_weight = (weight + 1) * DIGITS_PER_DIGIT / 2 - 1;
        let scale = shown_scale(root_weight, &[v.scale]);
        self.sqrt_at(scale)
    }

    /// The square root of a number that is not negative, to a scale.
    pub(crate) fn sqrt_at(&self, scale: u16) -> Result<Self> {
        let Some(v) = self.parts() else { return Ok(self.clone()) };
        // one digit more than shown decides on the rounding: a root that ends there is exact
        let up = 2 * (i64::from(scale) + 1) - i64::from(v.scale);
        let scaled = if up >= 0 { v.mantissa * pow10(up as u32) } else { v.mantissa / pow10((-up) as u32) };
        checked(divide(&scaled.sqrt(), &pow10(1), Rounding::Half), scale)
    }

    /// `e^self`.
    ///
    /// # Errors
    ///
    /// 22003 if it has too many digits.
    pub fn exp(&self) -> Result<Self> {
        let Some(v) = self.parts() else {
            return Ok(match self {
                Self::NegInfinity => Self::ZERO,
                other => other.clone(),
            });
        };
        let weight = (self.approximate() * LOG10_E).clamp(-2_000.0, 2_000.0) as i64;
        let scale = shown_scale(weight, &[v.scale]);
        exp_of(&v, scale)
    }

    /// The natural logarithm.
    ///
    /// # Errors
    ///
    /// 2201E of zero and negative numbers.
    pub fn ln(&self) -> Result<Self> {
        check_log(self)?;
        let Some(v) = self.parts() else { return Ok(self.clone()) };
        let scale = shown_scale(ln_weight(&v), &[v.scale]);
        let (ln, bits) = ln_fixed(&v, scale.into());
        from_fixed(&ln, bits, scale)
    }

    /// The logarithm to a base.
    ///
    /// # Errors
    ///
    /// 2201E of zero and negative numbers, 22012 if the base is 1.
    pub fn log(&self, base: &Self) -> Result<Self> {
        if self.is_nan() || base.is_nan() {
            return Ok(Self::NaN);
        }
        check_log(base)?;
        check_log(self)?;
        match (self.parts(), base.parts()) {
            (Some(v), Some(b)) => {
                let weight = ln_weight(&v) - ln_weight(&b);
                let scale = shown_scale(weight, &[v.scale, b.scale]);
                // digits that the quotient loses by small logarithms
                let digits = i64::from(scale) + ln_weight(&v).abs() + ln_weight(&b).abs() * 2;
                let (above, bits) = ln_fixed(&v, digits);
                let (mut below, _) = ln_fixed(&b, digits);
                if below.is_zero() {
                    return Err(SqlError::division_by_zero());
                }
                let mut above: BigInt = above << bits;
                if below.is_negative() {
                    (above, below) = (-above, -below);
                }
                from_fixed(&(above / below), bits, scale)
            }
            (None, None) => Ok(Self::NaN),
            (None, Some(_)) => Ok(self.clone()),
            (Some(_), None) => Ok(Self::ZERO),
        }
    }

    /// `self ^ exponent`.
    ///
    /// # Errors
    ///
    /// 2201F of a negative number and an exponent that is no integer, and of zero and a negative exponent; 22003 if the
    /// power has too many digits.
    pub fn power(&self, exponent: &Self) -> Result<Self> {
        let (Some(base), Some(exp)) = (self.parts(), exponent.parts()) else {
            return self.power_infinite(exponent);
        };
        let sign = exponent.signum().unwrap_or(0);
        if self.is_zero() && sign < 0 {
            return Err(bad_power("zero raised to a negative power is undefined"));
        }
        let integer = exponent.trunc(0) == *exponent;
        if self.signum() == Some(-1) && !integer {
            let message = "a negative number raised to a non-integer power yields a complex result";
            return Err(bad_power(message));
        }
        if integer
            && let Ok(n) = exponent.to_int("integer")
            && let Ok(n) = i32::try_from(n)
        {
            return power_int(&base, n);
        }
        if self.is_zero() {
            return Ok(Self::small(0, MIN_SIGNIFICANT_DIGITS as u16));
        }
        // an exponent beyond i32 keeps the sign if it is even
        let odd = integer && exponent.rem(&Self::small(2, 0))?.is_zero().eq(&false);
        let abs = Parts { mantissa: base.mantissa.abs(), scale: base.scale };
        let rough = self.abs().ln()?.mul(exponent)?.approximate();
        if rough.abs() > MAX_EXP * 1.003_4 {
            return if rough > 0.0 { Err(overflow()) } else { Ok(Self::small(0, MAX_DISPLAY_SCALE as u16)) };
        }
        let weight = (rough * LOG10_E) as i64;
        let scale = shown_scale(weight, &[base.scale, exp.scale]);
        // the logarithm needs the digits that the exponent multiplies away
        let digits = i64::from(scale) + weight.abs() + exp.exponent().max(0) + GUARD_DIGITS;
        let (ln, bits) = ln_fixed(&abs, digits);
        let x = ln * &exp.mantissa / pow10(exp.scale.into());
        let power = from_fixed(&exp_fixed(&x, bits), bits, scale)?;
        let negative = odd && self.signum() == Some(-1);
        Ok(if negative { power.neg() } else { power })
    }

    /// Powers with NaN and infinities, as IEEE 754 has them.
    fn power_infinite(&self, exponent: &Self) -> Result<Self> {
        let one = Self::small(1, 0);
        if *self == one || exponent.is_zero() {
            return Ok(one);
        }
        if self.is_nan() || exponent.is_nan() {
            return Ok(Self::NaN);
        }
        let up = exponent.signum() == Some(1);
        if self.is_zero() && !up {
            return Err(bad_power("zero raised to a negative power is undefined"));
        }
        if !exponent.is_finite() {
            let abs = self.abs();
            return Ok(match abs.cmp(&one) {
                std::cmp::Ordering::Equal => one,
                order if order.is_gt() == up => Self::Infinity,
                _ => Self::ZERO,
            });
        }
        let integer = exponent.trunc(0) == *exponent;
        if matches!(self, Self::NegInfinity) && !integer {
            let message = "a negative number raised to a non-integer power yields a complex result";
            return Err(bad_power(message));
        }
        if !up {
            return Ok(Self::ZERO);
        }
        let odd = !exponent.rem(&Self::small(2, 0))?.is_zero();
        Ok(if matches!(self, Self::NegInfinity) && odd { Self::NegInfinity } else { Self::Infinity })
    }
}

/// `e^v` at a scale.
fn exp_of(v: &Parts, scale: u16) -> Result<Numeric> {
    let rough = Numeric::of(v.mantissa.clone(), v.scale).approximate();
    if rough.abs() >= MAX_EXP {
        return if rough > 0.0 { Err(overflow()) } else { Ok(Numeric::small(0, scale)) };
    }
    // digits before the point cost as many bits of the fraction
    let weight = (rough * LOG10_E).max(0.0) as i64;
    let bits = bits_for(i64::from(scale) + 2 * weight + GUARD_DIGITS);
    from_fixed(&exp_fixed(&to_fixed(v, bits), bits), bits, scale)
}

/// A number cut to so many digits: what repeated products need.
struct Rough {
    mantissa: BigInt,
    /// `value = mantissa * 10^exponent`
    exponent: i64,
}

impl Rough {
    fn times(&self, other: &Self, digits: u32) -> Self {
        let mut mantissa = &self.mantissa * &other.mantissa;
        let mut exponent = self.exponent + other.exponent;
        let has = digits_of(&mantissa);
        if has > digits {
            mantissa /= pow10(has - digits);
            exponent += i64::from(has - digits);
        }
        Self { mantissa, exponent }
    }
}

/// `base ^ n`: at least 16 digits after the point, however many are before it.
fn power_int(base: &Parts, n: i32) -> Result<Numeric> {
    let scale = shown_scale(0, &[base.scale]);
    if base.mantissa.is_zero() {
        // zero and zero is one
        return Ok(if n == 0 { Numeric::of(pow10(scale.into()), scale) } else { Numeric::small(0, scale) });
    }
    // log10 of the result, from the leading digits
    let digits = base.digits();
    let kept = digits.min(17);
    let leading = (&base.mantissa.abs() / pow10(digits - kept)).to_f64().unwrap_or(1.0);
    let log10 = leading.log10() + f64::from(digits - kept) - f64::from(base.scale);
    let weight = f64::from(n) * log10;
    if weight > f64::from(MAX_INTEGER_DIGITS) + 1.0 {
        return Err(overflow());
    }
    if weight + 1.0 < -f64::from(scale) {
        return Ok(Numeric::small(0, scale));
    }
    let wanted = (i64::from(scale) + weight.abs() as i64 + GUARD_DIGITS + 10) as u32;
    let mut square = Rough { mantissa: base.mantissa.clone(), exponent: -i64::from(base.scale) };
    let mut product = Rough { mantissa: BigInt::one(), exponent: 0 };
    let mut rest = n.unsigned_abs();
    while rest > 0 {
        if rest & 1 == 1 {
            product = product.times(&square, wanted);
        }
        rest >>= 1;
        if rest > 0 {
            square = square.times(&square, wanted);
        }
    }
    // product * 10^scale, or 10^scale / product
    let shift = product.exponent + i64::from(scale);
    let (mut above, mut below) =
        if n >= 0 { (product.mantissa, BigInt::one()) } else { (BigInt::one(), product.mantissa) };
    let up = if n >= 0 { shift } else { i64::from(scale) - product.exponent };
    if up >= 0 {
        above *= pow10(up as u32);
    } else {
        below *= pow10((-up) as u32);
    }
    if below.is_negative() {
        (above, below) = (-above, -below);
    }
    checked(divide(&above, &below, Rounding::Half), scale)
}
