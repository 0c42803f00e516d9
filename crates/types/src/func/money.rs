//! Amounts of money: sums, shares and rates.

use super::Registry;
use super::args::code;
use crate::error::{Result, SqlError};
use crate::money::out_of_range;
use crate::value::Value;

/// An amount, in hundredths.
#[derive(Clone, Copy)]
pub(super) struct Money(pub(super) i64);

impl From<Money> for Value {
    fn from(v: Money) -> Self {
        Self::Money(v.0)
    }
}

fn fits(v: Option<i64>) -> Result<Money> {
    v.map(Money).ok_or_else(out_of_range)
}

/// A float, rounded half to even.
fn rounded(v: f64) -> Result<Money> {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    let v = v.round_ties_even();
    fits((-TWO_63..TWO_63).contains(&v).then_some(v as i64))
}

fn share(v: Money, by: i64) -> Result<Money> {
    if by == 0 {
        return Err(SqlError::division_by_zero());
    }
    fits(v.0.checked_div(by))
}

fn rate(v: Money, by: f64) -> Result<Money> {
    if by == 0.0 {
        return Err(SqlError::division_by_zero());
    }
    rounded(v.0 as f64 / by)
}

fn ratio(a: Money, b: Money) -> Result<f64> {
    if b.0 == 0 {
        return Err(SqlError::division_by_zero());
    }
    Ok(a.0 as f64 / b.0 as f64)
}

pub(super) fn register(r: &mut Registry) {
    r.add("+(money,money) money", code!(|a: Money, b: Money| fits(a.0.checked_add(b.0))));
    r.add("-(money,money) money", code!(|a: Money, b: Money| fits(a.0.checked_sub(b.0))));
    r.add("/(money,money) float8", code!(|a: Money, b: Money| ratio(a, b)));
    macro_rules! whole {
        ($($name:literal: $type:ty),*) => {
            $(r.add(
                concat!("*(money,", $name, ") money"),
                code!(|v: Money, by: $type| fits(v.0.checked_mul(by.into()))),
            );
            r.add(
                concat!("*(", $name, ",money) money"),
                code!(|by: $type, v: Money| fits(v.0.checked_mul(by.into()))),
            );
            r.add(concat!("/(money,", $name, ") money"), code!(|v: Money, by: $type| share(v, by.into())));)*
        };
    }
    whole!("int2": i16, "int4": i32, "int8": i64);
    macro_rules! broken {
        ($($name:literal: $type:ty),*) => {
            $(r.add(
                concat!("*(money,", $name, ") money"),
                code!(|v: Money, by: $type| rounded(v.0 as f64 * f64::from(by))),
            );
            r.add(
                concat!("*(", $name, ",money) money"),
                code!(|by: $type, v: Money| rounded(v.0 as f64 * f64::from(by))),
            );
            r.add(concat!("/(money,", $name, ") money"), code!(|v: Money, by: $type| rate(v, f64::from(by))));)*
        };
    }
    broken!("float4": f32, "float8": f64);
}
