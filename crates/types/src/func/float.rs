//! Floats.

use super::args::code;
use super::{Fast, Registry};
use crate::error::{Result, SqlError, SqlState};
use crate::value::Value;
use rand::Rng;
use std::f64::consts::LN_2;

#[cold]
pub(super) fn overflow() -> SqlError {
    SqlError::out_of_range("value out of range: overflow")
}

#[cold]
fn underflow() -> SqlError {
    SqlError::out_of_range("value out of range: underflow")
}

#[cold]
pub(super) fn input_out_of_range() -> SqlError {
    SqlError::out_of_range("input is out of range")
}

macro_rules! arithmetic {
    ($module:ident, $type:ty) => {
        /// Arithmetic that answers infinities and zeros that come from finite numbers with an error.
        mod $module {
            use super::{overflow, underflow};
            use crate::error::{Result, SqlError};

            pub(super) fn add(a: $type, b: $type) -> Result<$type> {
                let v = a + b;
                if v.is_infinite() && a.is_finite() && b.is_finite() { Err(overflow()) } else { Ok(v) }
            }

            pub(super) fn sub(a: $type, b: $type) -> Result<$type> {
                add(a, -b)
            }

            pub(super) fn mul(a: $type, b: $type) -> Result<$type> {
                let v = a * b;
                if v.is_infinite() && a.is_finite() && b.is_finite() {
                    return Err(overflow());
                }
                if v == 0.0 && a != 0.0 && b != 0.0 { Err(underflow()) } else { Ok(v) }
            }

            pub(super) fn div(a: $type, b: $type) -> Result<$type> {
                if b == 0.0 && !a.is_nan() {
                    return Err(SqlError::division_by_zero());
                }
                let v = a / b;
                if v.is_infinite() && a.is_finite() {
                    return Err(overflow());
                }
                if v == 0.0 && a != 0.0 && b.is_finite() { Err(underflow()) } else { Ok(v) }
            }
        }
    };
}

arithmetic!(float4, f32);
arithmetic!(float8, f64);

/// A result of finite arguments, which has to be finite.
fn finite(v: f64, arg: f64) -> Result<f64> {
    if v.is_infinite() && arg.is_finite() { Err(overflow()) } else { Ok(v) }
}

fn power(a: f64, b: f64) -> Result<f64> {
    let bad = |message| Err(SqlError::new(SqlState::INVALID_ARGUMENT_FOR_POWER, message));
    if a == 0.0 && b < 0.0 {
        return bad("zero raised to a negative power is undefined");
    }
    if a < 0.0 && b.is_finite() && b.floor() != b {
        return bad("a negative number raised to a non-integer power yields a complex result");
    }
    let v = a.powf(b);
    if a.is_finite() && b.is_finite() {
        if v.is_infinite() {
            return Err(overflow());
        }
        if v == 0.0 && a != 0.0 {
            return Err(underflow());
        }
    }
    Ok(v)
}

fn sqrt(v: f64) -> Result<f64> {
    if v < 0.0 {
        let message = "cannot take square root of a negative number";
        return Err(SqlError::new(SqlState::INVALID_ARGUMENT_FOR_POWER, message));
    }
    Ok(v.sqrt())
}

fn exp(v: f64) -> Result<f64> {
    let result = v.exp();
    if result == 0.0 && v.is_finite() {
        return Err(underflow());
    }
    finite(result, v)
}

fn log(v: f64, f: fn(f64) -> f64) -> Result<f64> {
    let message = match v {
        0.0 => "cannot take logarithm of zero",
        _ if v < 0.0 => "cannot take logarithm of a negative number",
        _ => return Ok(f(v)),
    };
    Err(SqlError::new(SqlState::INVALID_ARGUMENT_FOR_LOG, message))
}

/// A function of angles, which infinity has not.
fn angle(v: f64, f: fn(f64) -> f64) -> Result<f64> {
    if v.is_infinite() { Err(input_out_of_range()) } else { finite(f(v), v) }
}

/// A function between -1 and 1.
fn unit(v: f64, f: fn(f64) -> f64) -> Result<f64> {
    if v.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(f(v)) }
}

/// 1, -1 or 0; of NaN, which is neither more nor less than zero, it is 0.
fn sign(v: f64) -> f64 {
    match v {
        _ if v > 0.0 => 1.0,
        _ if v < 0.0 => -1.0,
        _ => 0.0,
    }
}

/// The bucket of a histogram of equal widths.
fn width_bucket(v: f64, low: f64, high: f64, count: i32) -> Result<i32> {
    let bad = |message| Err(SqlError::new(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET, message));
    if count <= 0 {
        return bad("count must be greater than zero");
    }
    if v.is_nan() || low.is_nan() || high.is_nan() {
        return bad("operand, lower bound, and upper bound cannot be NaN");
    }
    if low.is_infinite() || high.is_infinite() {
        return bad("lower and upper bounds must be finite");
    }
    if low == high {
        return bad("lower bound cannot equal upper bound");
    }
    // halves, so that the difference of bounds does not overflow
    let inside =
        |a: f64, b: f64| (f64::from(count) * ((a / 2.0 - b / 2.0) / (high / 2.0 - low / 2.0)).abs()) as i32;
    let last = || count.checked_add(1).ok_or_else(|| SqlError::out_of_range("integer out of range"));
    let up = low < high;
    let (before, after) = if up { (v < low, v >= high) } else { (v > low, v <= high) };
    match (before, after) {
        (true, _) => Ok(0),
        (_, true) => last(),
        _ => Ok(inside(v, low).min(count - 1) + 1),
    }
}

/// Beyond this, the inverse hyperbolic functions are a logarithm, and their usual formulas overflow.
const LARGE: f64 = 268_435_456.0;

fn asinh(a: f64) -> f64 {
    if a.is_finite() && a.abs() > LARGE { (a.abs().ln() + LN_2).copysign(a) } else { a.asinh() }
}

/// A random number, at least 0 and less than 1.
pub fn random() -> f64 {
    rand::rng().random::<f64>()
}

pub(super) fn register(r: &mut Registry) {
    r.fast(Fast::Float8(float8::add), "+(float8,float8) float8", code!(|a: f64, b: f64| float8::add(a, b)));
    r.fast(Fast::Float8(float8::sub), "-(float8,float8) float8", code!(|a: f64, b: f64| float8::sub(a, b)));
    r.fast(Fast::Float8(float8::mul), "*(float8,float8) float8", code!(|a: f64, b: f64| float8::mul(a, b)));
    r.fast(Fast::Float8(float8::div), "/(float8,float8) float8", code!(|a: f64, b: f64| float8::div(a, b)));
    r.add("+(float4,float4) float4", code!(|a: f32, b: f32| float4::add(a, b)));
    r.add("-(float4,float4) float4", code!(|a: f32, b: f32| float4::sub(a, b)));
    r.add("*(float4,float4) float4", code!(|a: f32, b: f32| float4::mul(a, b)));
    r.add("/(float4,float4) float4", code!(|a: f32, b: f32| float4::div(a, b)));
    r.add("+(float4,float8) float8", code!(|a: f32, b: f64| float8::add(a.into(), b)));
    r.add("-(float4,float8) float8", code!(|a: f32, b: f64| float8::sub(a.into(), b)));
    r.add("*(float4,float8) float8", code!(|a: f32, b: f64| float8::mul(a.into(), b)));
    r.add("/(float4,float8) float8", code!(|a: f32, b: f64| float8::div(a.into(), b)));
    r.add("+(float8,float4) float8", code!(|a: f64, b: f32| float8::add(a, b.into())));
    r.add("-(float8,float4) float8", code!(|a: f64, b: f32| float8::sub(a, b.into())));
    r.add("*(float8,float4) float8", code!(|a: f64, b: f32| float8::mul(a, b.into())));
    r.add("/(float8,float4) float8", code!(|a: f64, b: f32| float8::div(a, b.into())));
    r.add("-(float4) float4", code!(|a: f32| Ok(-a)));
    r.add("-(float8) float8", code!(|a: f64| Ok(-a)));
    r.add("+(float4) float4", code!(|a: f32| Ok(a)));
    r.add("+(float8) float8", code!(|a: f64| Ok(a)));
    r.add("@(float4) float4", code!(|a: f32| Ok(a.abs())));
    r.add("@(float8) float8", code!(|a: f64| Ok(a.abs())));
    r.add("abs(float4) float4", code!(|a: f32| Ok(a.abs())));
    r.add("abs(float8) float8", code!(|a: f64| Ok(a.abs())));
    r.add("|/(float8) float8", code!(|a: f64| sqrt(a)));
    r.add("||/(float8) float8", code!(|a: f64| Ok(a.cbrt())));
    r.add("sqrt(float8) float8", code!(|a: f64| sqrt(a)));
    r.add("cbrt(float8) float8", code!(|a: f64| Ok(a.cbrt())));
    for signature in ["^(float8,float8) float8", "power(float8,float8) float8", "pow(float8,float8) float8"] {
        r.add(signature, code!(|a: f64, b: f64| power(a, b)));
    }
    r.add("exp(float8) float8", code!(|a: f64| exp(a)));
    r.add("ln(float8) float8", code!(|a: f64| log(a, f64::ln)));
    r.add("log(float8) float8", code!(|a: f64| log(a, f64::log10)));
    r.add("log10(float8) float8", code!(|a: f64| log(a, f64::log10)));
    r.add("ceil(float8) float8", code!(|a: f64| Ok(a.ceil())));
    r.add("ceiling(float8) float8", code!(|a: f64| Ok(a.ceil())));
    r.add("floor(float8) float8", code!(|a: f64| Ok(a.floor())));
    r.add("round(float8) float8", code!(|a: f64| Ok(a.round_ties_even())));
    r.add("trunc(float8) float8", code!(|a: f64| Ok(a.trunc())));
    r.add("sign(float8) float8", code!(|a: f64| Ok(sign(a))));
    r.add("sin(float8) float8", code!(|a: f64| angle(a, f64::sin)));
    r.add("cos(float8) float8", code!(|a: f64| angle(a, f64::cos)));
    r.add("tan(float8) float8", code!(|a: f64| angle(a, f64::tan)));
    // of zero it is infinite
    r.add(
        "cot(float8) float8",
        code!(|a: f64| if a.is_infinite() { Err(input_out_of_range()) } else { Ok(1.0 / a.tan()) }),
    );
    r.add("asin(float8) float8", code!(|a: f64| unit(a, f64::asin)));
    r.add("acos(float8) float8", code!(|a: f64| unit(a, f64::acos)));
    r.add("atan(float8) float8", code!(|a: f64| Ok(a.atan())));
    r.add("atan2(float8,float8) float8", code!(|a: f64, b: f64| Ok(a.atan2(b))));
    r.add("sinh(float8) float8", code!(|a: f64| Ok(a.sinh())));
    r.add("cosh(float8) float8", code!(|a: f64| Ok(a.cosh())));
    r.add("tanh(float8) float8", code!(|a: f64| Ok(a.tanh())));
    r.add("asinh(float8) float8", code!(|a: f64| Ok(asinh(a))));
    r.add(
        "acosh(float8) float8",
        code!(|a: f64| if a < 1.0 {
            Err(input_out_of_range())
        } else {
            Ok(if a > LARGE { a.ln() + LN_2 } else { a.acosh() })
        }),
    );
    r.add("atanh(float8) float8", code!(|a: f64| unit(a, f64::atanh)));
    r.add("degrees(float8) float8", code!(|a: f64| finite(a / (std::f64::consts::PI / 180.0), a)));
    r.add("radians(float8) float8", code!(|a: f64| Ok(a * (std::f64::consts::PI / 180.0))));
    r.add("pi() float8", |_, _| Ok(std::f64::consts::PI.into()));
    r.add(
        "width_bucket(float8,float8,float8,int4) int4",
        code!(|v: f64, low: f64, high: f64, count: i32| width_bucket(v, low, high, count)),
    );
    r.add("float4send(float4) bytea", code!(|v: f32| Ok(Value::bytea(v.to_be_bytes()))));
    r.add("float8send(float8) bytea", code!(|v: f64| Ok(Value::bytea(v.to_be_bytes()))));
}
