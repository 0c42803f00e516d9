//! OVERLAPS: whether two spans of time have a point in common. A span has two ends in any order, or one and a length.

use super::args::{Time, Timestamp, Timestamptz, mismatch};
use super::datetime::{add_interval, add_interval_tz, time_plus};
use super::{Call, Registry};
use crate::env::Env;
use crate::error::{Result, SqlError};
use crate::interval::Interval;
use crate::value::Value;

/// A point and a length as a point.
fn plus(at: &Value, by: Interval, env: &Env) -> Result<Value> {
    Ok(match at {
        Value::Time(v) => Time(time_plus(*v, by)).into(),
        Value::Timestamp(v) => Timestamp(add_interval(*v, by)?).into(),
        Value::Timestamptz(v) => Timestamptz(add_interval_tz(*v, by, env)?).into(),
        Value::Null => Value::Null,
        other => return Err(mismatch(other)),
    })
}

/// The ends of a span, the lesser one first if both are known; None if none is.
fn ends<'v>(a: &'v Value, b: &'v Value) -> Option<(&'v Value, Option<&'v Value>)> {
    match (a.is_null(), b.is_null()) {
        (true, true) => None,
        (true, false) => Some((b, None)),
        (false, true) => Some((a, None)),
        (false, false) => Some(if a > b { (b, Some(a)) } else { (a, Some(b)) }),
    }
}

/// Of two spans the one that starts earlier must end after the other starts.
fn overlap(first: [&Value; 2], second: [&Value; 2]) -> Option<bool> {
    let (start1, end1) = ends(first[0], first[1])?;
    let (start2, end2) = ends(second[0], second[1])?;
    let (late_start, late_end, early_end) = match start1.cmp(start2) {
        std::cmp::Ordering::Greater => (start1, end1, end2?),
        std::cmp::Ordering::Less => (start2, end2, end1?),
        // spans that start together have that point in common, even if they are empty
        std::cmp::Ordering::Equal => return end1.and(end2).map(|_| true),
    };
    if late_start < early_end {
        return Some(true);
    }
    // what ends at an unknown time may still be the earlier one
    late_end.map(|_| false)
}

fn overlaps(call: &Call<'_>, args: &[Value]) -> Result<Value> {
    let [a, b, c, d] = args else { return Err(super::args::arity()) };
    let end = |start: &Value, end: &Value| match end {
        Value::Interval(by) => plus(start, *by, call.env),
        other => Ok(other.clone()),
    };
    let (b, d) = (end(a, b)?, end(c, d)?);
    let is_point = |v: &Value| {
        matches!(v, Value::Null | Value::Time(_) | Value::Timetz(_))
            || matches!(v, Value::Timestamp(_) | Value::Timestamptz(_))
    };
    if ![a, &b, c, &d].into_iter().all(is_point) {
        return Err(SqlError::internal("OVERLAPS of something else than time"));
    }
    Ok(overlap([a, &b], [c, &d]).map_or(Value::Null, Value::Bool))
}

pub(super) fn register(r: &mut Registry) {
    for signature in [
        "overlaps(time,time,time,time) bool",
        "overlaps(time,interval,time,interval) bool",
        "overlaps(time,time,time,interval) bool",
        "overlaps(time,interval,time,time) bool",
        "overlaps(timetz,timetz,timetz,timetz) bool",
        "overlaps(timestamp,timestamp,timestamp,timestamp) bool",
        "overlaps(timestamp,interval,timestamp,interval) bool",
        "overlaps(timestamp,timestamp,timestamp,interval) bool",
        "overlaps(timestamp,interval,timestamp,timestamp) bool",
        "overlaps(timestamptz,timestamptz,timestamptz,timestamptz) bool",
    ] {
        r.nullable(signature, overlaps);
    }
    // a day of the session's zone need not have 24 hours
    for signature in [
        "overlaps(timestamptz,interval,timestamptz,interval) bool",
        "overlaps(timestamptz,timestamptz,timestamptz,interval) bool",
        "overlaps(timestamptz,interval,timestamptz,timestamptz) bool",
    ] {
        r.stable_nullable(signature, overlaps);
    }
}
