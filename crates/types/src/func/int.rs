//! Integers.

use super::args::code;
use super::{Fast, Registry};
use crate::error::{Result, SqlError};
use crate::numeric::Numeric;

#[cold]
fn out_of_range(name: &'static str) -> SqlError {
    SqlError::out_of_range(match name {
        "int2" => "smallint out of range",
        "int4" => "integer out of range",
        _ => "bigint out of range",
    })
}

macro_rules! arithmetic {
    ($module:ident, $type:ty, $name:literal) => {
        /// Checked arithmetic of one width.
        pub(crate) mod $module {
            use super::out_of_range;
            use crate::error::{Result, SqlError};

            pub(crate) fn add(a: $type, b: $type) -> Result<$type> {
                a.checked_add(b).ok_or_else(|| out_of_range($name))
            }

            pub(crate) fn sub(a: $type, b: $type) -> Result<$type> {
                a.checked_sub(b).ok_or_else(|| out_of_range($name))
            }

            pub(crate) fn mul(a: $type, b: $type) -> Result<$type> {
                a.checked_mul(b).ok_or_else(|| out_of_range($name))
            }

            pub(crate) fn div(a: $type, b: $type) -> Result<$type> {
                if b == 0 {
                    return Err(SqlError::division_by_zero());
                }
                a.checked_div(b).ok_or_else(|| out_of_range($name))
            }

            pub(crate) fn rem(a: $type, b: $type) -> Result<$type> {
                if b == 0 {
                    return Err(SqlError::division_by_zero());
                }
                // of the smallest number and -1 it is 0, though the quotient overflows
                Ok(a.wrapping_rem(b))
            }

            pub(crate) fn neg(a: $type) -> Result<$type> {
                a.checked_neg().ok_or_else(|| out_of_range($name))
            }

            pub(crate) fn abs(a: $type) -> Result<$type> {
                a.checked_abs().ok_or_else(|| out_of_range($name))
            }
        }
    };
}

arithmetic!(int2, i16, "int2");
arithmetic!(int4, i32, "int4");
arithmetic!(int8, i64, "int8");

/// Operators of two widths, in the wider one.
macro_rules! mixed {
    ($r:ident, $a:ident $at:ty, $b:ident $bt:ty, $wide:ident $wt:ty) => {
        $r.add(
            concat!("+(", stringify!($a), ",", stringify!($b), ") ", stringify!($wide)),
            code!(|a: $at, b: $bt| $wide::add(<$wt>::from(a), <$wt>::from(b))),
        );
        $r.add(
            concat!("-(", stringify!($a), ",", stringify!($b), ") ", stringify!($wide)),
            code!(|a: $at, b: $bt| $wide::sub(<$wt>::from(a), <$wt>::from(b))),
        );
        $r.add(
            concat!("*(", stringify!($a), ",", stringify!($b), ") ", stringify!($wide)),
            code!(|a: $at, b: $bt| $wide::mul(<$wt>::from(a), <$wt>::from(b))),
        );
        $r.add(
            concat!("/(", stringify!($a), ",", stringify!($b), ") ", stringify!($wide)),
            code!(|a: $at, b: $bt| $wide::div(<$wt>::from(a), <$wt>::from(b))),
        );
    };
}

/// What every width has besides `+ - * /`.
macro_rules! same {
    ($r:ident, $name:ident, $type:ty, $unsigned_bits:literal) => {
        $r.add(
            concat!("%(", stringify!($name), ",", stringify!($name), ") ", stringify!($name)),
            code!(|a: $type, b: $type| $name::rem(a, b)),
        );
        $r.add(
            concat!("mod(", stringify!($name), ",", stringify!($name), ") ", stringify!($name)),
            code!(|a: $type, b: $type| $name::rem(a, b)),
        );
        $r.add(concat!("-(", stringify!($name), ") ", stringify!($name)), code!(|a: $type| $name::neg(a)));
        $r.add(concat!("+(", stringify!($name), ") ", stringify!($name)), code!(|a: $type| Ok(a)));
        $r.add(concat!("@(", stringify!($name), ") ", stringify!($name)), code!(|a: $type| $name::abs(a)));
        $r.add(concat!("abs(", stringify!($name), ") ", stringify!($name)), code!(|a: $type| $name::abs(a)));
        $r.add(
            concat!("&(", stringify!($name), ",", stringify!($name), ") ", stringify!($name)),
            code!(|a: $type, b: $type| Ok(a & b)),
        );
        $r.add(
            concat!("|(", stringify!($name), ",", stringify!($name), ") ", stringify!($name)),
            code!(|a: $type, b: $type| Ok(a | b)),
        );
        $r.add(
            concat!("#(", stringify!($name), ",", stringify!($name), ") ", stringify!($name)),
            code!(|a: $type, b: $type| Ok(a ^ b)),
        );
        $r.add(concat!("~(", stringify!($name), ") ", stringify!($name)), code!(|a: $type| Ok(!a)));
        // the processor takes the low bits of the distance, and so does PostgreSQL
        $r.add(
            concat!("<<(", stringify!($name), ",int4) ", stringify!($name)),
            code!(|a: $type, b: i32| Ok((i64::from(a) << (b & ($unsigned_bits - 1))) as $type)),
        );
        $r.add(
            concat!(">>(", stringify!($name), ",int4) ", stringify!($name)),
            code!(|a: $type, b: i32| Ok((i64::from(a) >> (b & ($unsigned_bits - 1))) as $type)),
        );
    };
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn gcd4(a: i32, b: i32) -> Result<i32> {
    let found = gcd(a.unsigned_abs().into(), b.unsigned_abs().into());
    i32::try_from(found).map_err(|_| out_of_range("int4"))
}

fn gcd8(a: i64, b: i64) -> Result<i64> {
    i64::try_from(gcd(a.unsigned_abs(), b.unsigned_abs())).map_err(|_| out_of_range("int8"))
}

fn lcm(a: i64, b: i64) -> Option<u64> {
    if a == 0 || b == 0 {
        return Some(0);
    }
    (a.unsigned_abs() / gcd(a.unsigned_abs(), b.unsigned_abs())).checked_mul(b.unsigned_abs())
}

fn lcm4(a: i32, b: i32) -> Result<i32> {
    lcm(a.into(), b.into()).and_then(|v| i32::try_from(v).ok()).ok_or_else(|| out_of_range("int4"))
}

fn lcm8(a: i64, b: i64) -> Result<i64> {
    lcm(a, b).and_then(|v| i64::try_from(v).ok()).ok_or_else(|| out_of_range("int8"))
}

fn factorial(n: i64) -> Result<Numeric> {
    /// The largest whose factorial a numeric has digits for.
    const LARGEST: i64 = 32_177;
    if n < 0 {
        return Err(SqlError::out_of_range("factorial of a negative number is undefined"));
    }
    if n > LARGEST {
        return Err(SqlError::out_of_range("value overflows numeric format"));
    }
    Numeric::factorial(n as u32)
}

pub(super) fn register(r: &mut Registry) {
    r.fast(Fast::Int4(int4::add), "+(int4,int4) int4", code!(|a: i32, b: i32| int4::add(a, b)));
    r.fast(Fast::Int4(int4::sub), "-(int4,int4) int4", code!(|a: i32, b: i32| int4::sub(a, b)));
    r.fast(Fast::Int4(int4::mul), "*(int4,int4) int4", code!(|a: i32, b: i32| int4::mul(a, b)));
    r.fast(Fast::Int4(int4::div), "/(int4,int4) int4", code!(|a: i32, b: i32| int4::div(a, b)));
    r.fast(Fast::Int8(int8::add), "+(int8,int8) int8", code!(|a: i64, b: i64| int8::add(a, b)));
    r.fast(Fast::Int8(int8::sub), "-(int8,int8) int8", code!(|a: i64, b: i64| int8::sub(a, b)));
    r.fast(Fast::Int8(int8::mul), "*(int8,int8) int8", code!(|a: i64, b: i64| int8::mul(a, b)));
    r.fast(Fast::Int8(int8::div), "/(int8,int8) int8", code!(|a: i64, b: i64| int8::div(a, b)));
    mixed!(r, int2 i16, int2 i16, int2 i16);
    mixed!(r, int2 i16, int4 i32, int4 i32);
    mixed!(r, int4 i32, int2 i16, int4 i32);
    mixed!(r, int2 i16, int8 i64, int8 i64);
    mixed!(r, int8 i64, int2 i16, int8 i64);
    mixed!(r, int4 i32, int8 i64, int8 i64);
    mixed!(r, int8 i64, int4 i32, int8 i64);
    same!(r, int2, i16, 32);
    same!(r, int4, i32, 32);
    same!(r, int8, i64, 64);
    r.add("gcd(int4,int4) int4", code!(|a: i32, b: i32| gcd4(a, b)));
    r.add("gcd(int8,int8) int8", code!(|a: i64, b: i64| gcd8(a, b)));
    r.add("lcm(int4,int4) int4", code!(|a: i32, b: i32| lcm4(a, b)));
    r.add("lcm(int8,int8) int8", code!(|a: i64, b: i64| lcm8(a, b)));
    r.add("factorial(int8) numeric", code!(|a: i64| factorial(a)));
    r.add("to_hex(int4) text", code!(|a: i32| Ok(format!("{a:x}"))));
    r.add("to_hex(int8) text", code!(|a: i64| Ok(format!("{a:x}"))));
}
