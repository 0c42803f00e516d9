//! Trigonometry in degrees, exact where the result is: the sine of 30 is 0.5.
//!
//! A result is divided by what the same formula gives for an angle whose sine or cosine is known, so that the error of
//! the formula cancels out there. The constants are computed as the results are, at run time, for the same reason.

use super::Registry;
use super::args::code;
use super::float::{input_out_of_range, overflow};
use crate::error::Result;
use std::hint::black_box;
use std::sync::LazyLock;

const RADIANS: f64 = std::f64::consts::PI / 180.0;

/// What the formulas give for the angles that are known.
struct Known {
    sin_30: f64,
    one_minus_cos_60: f64,
    asin_half: f64,
    acos_half: f64,
    atan_1: f64,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| Known {
    sin_30: black_box(30.0 * RADIANS).sin(),
    one_minus_cos_60: 1.0 - black_box(60.0 * RADIANS).cos(),
    asin_half: black_box(0.5_f64).asin(),
    acos_half: black_box(0.5_f64).acos(),
    atan_1: black_box(1.0_f64).atan(),
});

/// The sine of 0 to 30.
fn small_sine(v: f64) -> f64 {
    (v * RADIANS).sin() / KNOWN.sin_30 / 2.0
}

/// The cosine of 0 to 60.
fn small_cosine(v: f64) -> f64 {
    1.0 - (1.0 - (v * RADIANS).cos()) / KNOWN.one_minus_cos_60 / 2.0
}

/// The sine of 0 to 90.
fn sine(v: f64) -> f64 {
    if v <= 30.0 { small_sine(v) } else { small_cosine(90.0 - v) }
}

/// The cosine of 0 to 90.
fn cosine(v: f64) -> f64 {
    if v <= 60.0 { small_cosine(v) } else { small_sine(90.0 - v) }
}

/// The arc sine of 0 to 1.
fn arc_sine(v: f64) -> f64 {
    if v <= 0.5 { v.asin() / KNOWN.asin_half * 30.0 } else { 90.0 - v.acos() / KNOWN.acos_half * 60.0 }
}

/// The arc cosine of 0 to 1.
fn arc_cosine(v: f64) -> f64 {
    if v <= 0.5 { 90.0 - v.asin() / KNOWN.asin_half * 30.0 } else { v.acos() / KNOWN.acos_half * 60.0 }
}

/// An angle between 0 and 90 with the same sine, cosine and tangent, but for their signs, and what it was reduced by.
struct Reduced {
    angle: f64,
    below_zero: bool,
    beyond_180: bool,
    beyond_90: bool,
}

/// Reduces an angle, which must be finite.
fn reduce(v: f64) -> Result<Reduced> {
    if v.is_infinite() {
        return Err(input_out_of_range());
    }
    let mut angle = v % 360.0;
    let below_zero = angle < 0.0;
    angle = angle.abs();
    let beyond_180 = angle > 180.0;
    if beyond_180 {
        angle = 360.0 - angle;
    }
    let beyond_90 = angle > 90.0;
    if beyond_90 {
        angle = 180.0 - angle;
    }
    Ok(Reduced { angle, below_zero, beyond_180, beyond_90 })
}

fn signed(negative: bool, v: f64) -> f64 {
    if negative { -v } else { v }
}

fn sind(v: f64) -> Result<f64> {
    let at = reduce(v)?;
    Ok(signed(at.below_zero != at.beyond_180, sine(at.angle)))
}

fn cosd(v: f64) -> Result<f64> {
    let at = reduce(v)?;
    Ok(signed(at.beyond_90, cosine(at.angle)))
}

/// Tangent or cotangent, which are infinite somewhere, and never minus zero.
fn ratio(v: f64, f: fn(f64) -> f64) -> Result<f64> {
    let at = reduce(v)?;
    let negative = at.below_zero ^ at.beyond_180 ^ at.beyond_90;
    let found = signed(negative, f(at.angle) / f(45.0));
    Ok(if found == 0.0 { 0.0 } else { found })
}

fn asind(v: f64) -> Result<f64> {
    match v {
        _ if v.is_nan() => Ok(v),
        _ if v.abs() > 1.0 => Err(input_out_of_range()),
        _ if v >= 0.0 => Ok(arc_sine(v)),
        _ => Ok(-arc_sine(-v)),
    }
}

fn acosd(v: f64) -> Result<f64> {
    match v {
        _ if v.is_nan() => Ok(v),
        _ if v.abs() > 1.0 => Err(input_out_of_range()),
        _ if v >= 0.0 => Ok(arc_cosine(v)),
        _ => Ok(90.0 + arc_sine(-v)),
    }
}

fn arc_degrees(v: f64) -> Result<f64> {
    let degrees = v / KNOWN.atan_1 * 45.0;
    if degrees.is_infinite() { Err(overflow()) } else { Ok(degrees) }
}

pub(super) fn register(r: &mut Registry) {
    r.add("sind(float8) float8", code!(|v: f64| sind(v)));
    r.add("cosd(float8) float8", code!(|v: f64| cosd(v)));
    r.add("tand(float8) float8", code!(|v: f64| ratio(v, |v| sine(v) / cosine(v))));
    r.add("cotd(float8) float8", code!(|v: f64| ratio(v, |v| cosine(v) / sine(v))));
    r.add("asind(float8) float8", code!(|v: f64| asind(v)));
    r.add("acosd(float8) float8", code!(|v: f64| acosd(v)));
    r.add("atand(float8) float8", code!(|v: f64| arc_degrees(v.atan())));
    r.add("atan2d(float8,float8) float8", code!(|y: f64, x: f64| arc_degrees(y.atan2(x))));
}
