//! numeric.

use super::args::code;
use super::{Fast, Registry};
use crate::error::{Result, SqlError, SqlState};
use crate::numeric::{Exact, Numeric};
use crate::value::Value;

/// Digits behind the point that `round` and `trunc` keep at most, and those before it that they take away at most: one
/// more than a number has.
const MAX_ROUND: i32 = 16_383;
const MIN_ROUND: i32 = -131_073;

fn sign(v: &Numeric) -> Numeric {
    v.signum().map_or(Numeric::NaN, Numeric::from)
}

fn gcd(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    if !a.is_finite() || !b.is_finite() {
        return Ok(Numeric::NaN);
    }
    let scale = a.scale().max(b.scale()).unwrap_or(0);
    let (mut a, mut b) = (a.abs(), b.abs());
    while !b.is_zero() {
        (a, b) = (b.clone(), a.rem(&b)?);
    }
    a.round(scale.into())
}

fn lcm(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    if !a.is_finite() || !b.is_finite() {
        return Ok(Numeric::NaN);
    }
    let scale = a.scale().max(b.scale()).unwrap_or(0);
    if a.is_zero() || b.is_zero() {
        return Ok(Numeric::small(0, scale));
    }
    a.div_trunc(&gcd(a, b)?)?.mul(b)?.abs().round(scale.into())
}

fn width_bucket(v: &Numeric, low: &Numeric, high: &Numeric, count: i32) -> Result<i32> {
    let bad = |message| Err(SqlError::new(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET, message));
    if count <= 0 {
        return bad("count must be greater than zero");
    }
    if v.is_nan() || low.is_nan() || high.is_nan() {
        return bad("operand, lower bound, and upper bound cannot be NaN");
    }
    if !low.is_finite() || !high.is_finite() {
        return bad("lower and upper bounds must be finite");
    }
    if low == high {
        return bad("lower bound cannot equal upper bound");
    }
    let up = low < high;
    let (before, after) = if up { (v < low, v >= high) } else { (v > low, v <= high) };
    if before {
        return Ok(0);
    }
    if after {
        return count.checked_add(1).ok_or_else(|| SqlError::out_of_range("integer out of range"));
    }
    let bucket = v.sub(low)?.mul(&count.into())?.div_trunc(&high.sub(low)?)?;
    Ok(bucket.to_int("integer")? as i32 + 1)
}

pub(super) fn register(r: &mut Registry) {
    r.fast(
        Fast::Numeric(Exact::Add),
        "+(numeric,numeric) numeric",
        code!(|a: &Numeric, b: &Numeric| a.add(b)),
    );
    r.fast(
        Fast::Numeric(Exact::Sub),
        "-(numeric,numeric) numeric",
        code!(|a: &Numeric, b: &Numeric| a.sub(b)),
    );
    r.fast(
        Fast::Numeric(Exact::Mul),
        "*(numeric,numeric) numeric",
        code!(|a: &Numeric, b: &Numeric| a.mul(b)),
    );
    r.add("/(numeric,numeric) numeric", code!(|a: &Numeric, b: &Numeric| a.div(b)));
    r.add("%(numeric,numeric) numeric", code!(|a: &Numeric, b: &Numeric| a.rem(b)));
    r.add("mod(numeric,numeric) numeric", code!(|a: &Numeric, b: &Numeric| a.rem(b)));
    r.add("div(numeric,numeric) numeric", code!(|a: &Numeric, b: &Numeric| a.div_trunc(b)));
    r.add("-(numeric) numeric", code!(|a: &Numeric| Ok(a.neg())));
    r.add("+(numeric) numeric", code!(|a: &Value| Ok(a.clone())));
    r.add("@(numeric) numeric", code!(|a: &Numeric| Ok(a.abs())));
    r.add("abs(numeric) numeric", code!(|a: &Numeric| Ok(a.abs())));
    r.add("sign(numeric) numeric", code!(|a: &Numeric| Ok(sign(a))));
    r.add("ceil(numeric) numeric", code!(|a: &Numeric| a.ceil()));
    r.add("ceiling(numeric) numeric", code!(|a: &Numeric| a.ceil()));
    r.add("floor(numeric) numeric", code!(|a: &Numeric| a.floor()));
    r.add("round(numeric) numeric", code!(|a: &Numeric| a.round(0)));
    r.add("trunc(numeric) numeric", code!(|a: &Numeric| Ok(a.trunc(0))));
    r.add("round(numeric,int4) numeric", code!(|a: &Numeric, n: i32| a.round(n.clamp(MIN_ROUND, MAX_ROUND))));
    r.add(
        "trunc(numeric,int4) numeric",
        code!(|a: &Numeric, n: i32| Ok(a.trunc(n.clamp(MIN_ROUND, MAX_ROUND)))),
    );
    r.add("sqrt(numeric) numeric", code!(|a: &Numeric| a.sqrt()));
    r.add("exp(numeric) numeric", code!(|a: &Numeric| a.exp()));
    r.add("ln(numeric) numeric", code!(|a: &Numeric| a.ln()));
    r.add("log(numeric) numeric", code!(|a: &Numeric| a.log(&Numeric::from(10))));
    r.add("log10(numeric) numeric", code!(|a: &Numeric| a.log(&Numeric::from(10))));
    r.add("log(numeric,numeric) numeric", code!(|base: &Numeric, a: &Numeric| a.log(base)));
    for signature in
        ["^(numeric,numeric) numeric", "power(numeric,numeric) numeric", "pow(numeric,numeric) numeric"]
    {
        r.add(signature, code!(|a: &Numeric, b: &Numeric| a.power(b)));
    }
    r.add("gcd(numeric,numeric) numeric", code!(|a: &Numeric, b: &Numeric| gcd(a, b)));
    r.add("lcm(numeric,numeric) numeric", code!(|a: &Numeric, b: &Numeric| lcm(a, b)));
    r.add("scale(numeric) int4", code!(|a: &Numeric| Ok(a.scale().map(i32::from))));
    r.add(
        "min_scale(numeric) int4",
        code!(|a: &Numeric| Ok(a.is_finite().then(|| i32::from(a.min_scale())))),
    );
    r.add("trim_scale(numeric) numeric", code!(|a: &Numeric| Ok(a.trim_scale())));
    r.add(
        "width_bucket(numeric,numeric,numeric,int4) int4",
        code!(|v: &Numeric, low: &Numeric, high: &Numeric, count: i32| width_bucket(v, low, high, count)),
    );
}
