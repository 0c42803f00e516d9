//! `numeric`: decimal numbers with a display scale, up to 131072 digits before and 16383 after the point.
//!
//! ```text
//! Small { mantissa: i64, scale }     |mantissa| fits a word: what money columns hold; no allocation
//! Big(mantissa: BigInt, scale)       the rest
//! value = mantissa / 10^scale
//! ```
//!
//! The form is canonical: a number is `Big` only if its mantissa does not fit. The scale is what PostgreSQL calls
//! the display scale: `1.50` has two digits after the point, and keeps them.

mod arith;
mod codec;
mod convert;
mod math;

mod text;

pub use arith::Exact;
pub(crate) use text::{is_space, trim};

use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Digits before the point.
pub const MAX_INTEGER_DIGITS: u32 = 131_072;
/// Digits after the point.
pub const MAX_SCALE: u16 = 16_383;

/// A `numeric`. See the [module](self) for its form.
#[derive(Clone, Debug)]
pub enum Numeric {
    /// `mantissa / 10^scale`.
    Small {
        /// All digits.
        mantissa: i64,
        /// Digits after the point.
        scale: u16,
    },
    /// A number with a longer mantissa.
    Big(Arc<Big>),
    /// Not a number: equal to itself, greater than all others.
    NaN,
    /// Infinity.
    Infinity,
    /// -Infinity.
    NegInfinity,
}

/// The long form of a number.
#[derive(Debug)]
pub struct Big {
    mantissa: BigInt,
    scale: u16,
}

/// Powers of ten that fit a word.
pub(crate) const POW10: [i64; 19] = {
    let mut table = [1; 19];
    let mut at = 1;
    while at < table.len() {
        table[at] = table[at - 1] * 10;
        at += 1;
    }
    table
};

/// `10^n`.
fn pow10(n: u32) -> BigInt {
    POW10.get(n as usize).map_or_else(|| BigInt::from(10).pow(n), |p| BigInt::from(*p))
}

/// A finite number as integer and scale.
pub(crate) struct Parts {
    pub(crate) mantissa: BigInt,
    pub(crate) scale: u16,
}

impl Parts {
    /// Decimal digits of the mantissa; 0 of zero.
    pub(crate) fn digits(&self) -> u32 {
        digits_of(&self.mantissa)
    }

    /// The power of ten of the leading digit; 0 of zero.
    pub(crate) fn exponent(&self) -> i64 {
        match self.digits() {
            0 => 0,
            digits => i64::from(digits) - 1 - i64::from(self.scale),
        }
    }
}

/// Decimal digits of an integer; 0 of zero.
pub(crate) fn digits_of(v: &BigInt) -> u32 {
    if v.is_zero() {
        return 0;
    }
    if let Some(small) = v.to_i64() {
        return small.unsigned_abs().ilog10() + 1;
    }
    // 2^(bits-1) <= |v|, so that the estimate is never above, and at most one below
    let estimate = ((v.bits() - 1) as f64 * std::f64::consts::LOG10_2).floor() as u32;
    let low = estimate.saturating_sub(1);
    let mut bound = pow10(low);
    let mut digits = low;
    while *v.magnitude() >= *bound.magnitude() {
        bound *= 10;
        digits += 1;
    }
    digits
}

impl Numeric {
    /// Zero.
    pub const ZERO: Self = Self::Small { mantissa: 0, scale: 0 };

    /// `mantissa / 10^scale`.
    pub const fn small(mantissa: i64, scale: u16) -> Self {
        Self::Small { mantissa, scale }
    }

    /// `mantissa / 10^scale` from a wider integer.
    pub(crate) fn of_i128(mantissa: i128, scale: u16) -> Self {
        match i64::try_from(mantissa) {
            Ok(mantissa) => Self::Small { mantissa, scale },
            Err(_) => Self::Big(Arc::new(Big { mantissa: mantissa.into(), scale })),
        }
    }

    /// `mantissa / 10^scale` in its canonical form.
    pub(crate) fn of(mantissa: BigInt, scale: u16) -> Self {
        match mantissa.to_i64() {
            Some(mantissa) => Self::Small { mantissa, scale },
            None => Self::Big(Arc::new(Big { mantissa, scale })),
        }
    }

    /// Integer and scale, unless it is NaN or infinite.
    pub(crate) fn parts(&self) -> Option<Parts> {
        match self {
            Self::Small { mantissa, scale } => {
                Some(Parts { mantissa: BigInt::from(*mantissa), scale: *scale })
            }
            Self::Big(big) => Some(Parts { mantissa: big.mantissa.clone(), scale: big.scale }),
            _ => None,
        }
    }

    /// Mantissa and scale, if the mantissa fits a word.
    #[inline]
    pub fn short(&self) -> Option<(i64, u16)> {
        match self {
            Self::Small { mantissa, scale } => Some((*mantissa, *scale)),
            _ => None,
        }
    }

    /// Digits after the point; None of NaN and infinities.
    pub fn scale(&self) -> Option<u16> {
        match self {
            Self::Small { scale, .. } => Some(*scale),
            Self::Big(big) => Some(big.scale),
            _ => None,
        }
    }

    /// Whether it is NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Self::NaN)
    }

    /// Whether it is neither NaN nor infinite.
    pub fn is_finite(&self) -> bool {
        matches!(self, Self::Small { .. } | Self::Big(_))
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Small { mantissa: 0, .. })
    }

    /// -1, 0 or 1; None of NaN.
    pub fn signum(&self) -> Option<i32> {
        match self {
            Self::Small { mantissa, .. } => Some(mantissa.signum() as i32),
            Self::Big(big) => Some(if big.mantissa.is_negative() { -1 } else { 1 }),
            Self::Infinity => Some(1),
            Self::NegInfinity => Some(-1),
            Self::NaN => None,
        }
    }

    /// Without its trailing zeros: equal numbers have the same integer and exponent of ten.
    fn reduced(&self) -> Option<(BigInt, i64)> {
        if let Self::Small { mantissa, scale } = *self {
            let (mut mantissa, mut scale) = (mantissa, i64::from(scale));
            if mantissa == 0 {
                return Some((BigInt::zero(), 0));
            }
            while mantissa % 10 == 0 {
                mantissa /= 10;
                scale -= 1;
            }
            return Some((mantissa.into(), scale));
        }
        let Parts { mut mantissa, scale } = self.parts()?;
        let mut scale = i64::from(scale);
        // large steps first: a long number loses its zeros in a few divisions
        for step in (0..18).rev().map(|bit| 1_u32 << bit) {
            while mantissa.trailing_zeros().is_some_and(|zeros| zeros >= step.into()) {
                let power = pow10(step);
                let quotient = &mantissa / &power;
                if &quotient * &power != mantissa {
                    break;
                }
                mantissa = quotient;
                scale -= i64::from(step);
            }
        }
        Some((mantissa, scale))
    }
}

/// Compares `a / 10^x` with `b / 10^y`.
fn compare_parts(a: &BigInt, x: u16, b: &BigInt, y: u16) -> Ordering {
    if a.sign() != b.sign() || a.sign() == Sign::NoSign {
        return a.sign().cmp(&b.sign());
    }
    match x.cmp(&y) {
        Ordering::Equal => a.cmp(b),
        Ordering::Less => (a * pow10((y - x).into())).cmp(b),
        Ordering::Greater => a.cmp(&(b * pow10((x - y).into()))),
    }
}

impl Ord for Numeric {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Self::Small { mantissa: a, scale: x }, Self::Small { mantissa: b, scale: y }) = (self, other)
        {
            if x == y {
                return a.cmp(b);
            }
            let (down, up) = (usize::from(x.abs_diff(*y)), x < y);
            if let Some(power) = POW10.get(down) {
                let (a, b, power) = (i128::from(*a), i128::from(*b), i128::from(*power));
                return if up { (a * power).cmp(&b) } else { a.cmp(&(b * power)) };
            }
        }
        let rank = |v: &Self| match v {
            Self::NegInfinity => 0,
            Self::Small { .. } | Self::Big(_) => 1,
            Self::Infinity => 2,
            Self::NaN => 3,
        };
        match (self.parts(), other.parts()) {
            (Some(a), Some(b)) => compare_parts(&a.mantissa, a.scale, &b.mantissa, b.scale),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::NaN => state.write_u8(1),
            Self::Infinity => state.write_u8(2),
            Self::NegInfinity => state.write_u8(3),
            _ => self.reduced().hash(state),
        }
    }
}

macro_rules! from_int {
    ($($type:ty),*) => {
        $(impl From<$type> for Numeric {
            fn from(v: $type) -> Self {
                Self::Small { mantissa: v.into(), scale: 0 }
            }
        })*
    };
}

from_int!(i16, i32, i64, u32);

impl From<i128> for Numeric {
    fn from(v: i128) -> Self {
        Self::of_i128(v, 0)
    }
}
