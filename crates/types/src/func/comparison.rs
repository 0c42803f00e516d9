//! `= <> < <= > >=`, within types and across those that PostgreSQL compares without a cast.

use super::args::{code, mismatch};
use super::{Code, Fast, Registry};
use crate::cast::{date_to_timestamp, timestamp_to_timestamptz};
use crate::compare::compare_f64;
use crate::env::Env;
use crate::error::Result;
use crate::record::Record;
use crate::value::Value;
use std::cmp::Ordering;

/// What a comparison asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Comparison {
    const ALL: [Self; 6] = [Self::Eq, Self::Ne, Self::Lt, Self::Le, Self::Gt, Self::Ge];

    /// Whether an order satisfies it.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }

    /// The comparison with its sides exchanged.
    #[must_use]
    pub fn commuted(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }

    /// The comparison that holds where this one does not.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
        }
    }
}

/// The order of two values, which may be integers of different widths.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => match (float(a), float(b)) {
            (Some(a), Some(b)) => compare_f64(a, b),
            _ => a.cmp(b),
        },
    }
}

fn float(v: &Value) -> Option<f64> {
    match v {
        Value::Float4(v) => Some((*v).into()),
        Value::Float8(v) => Some(*v),
        _ => None,
    }
}

/// The order of a date, a timestamp or a timestamptz and another.
fn time_order(a: &Value, b: &Value, env: &Env) -> Result<Ordering> {
    // a date beyond the range of timestamps is greater than all of them
    let micros =
        |day: &i32| date_to_timestamp(*day).unwrap_or(if *day > 0 { i64::MAX - 1 } else { i64::MIN + 1 });
    let local = |v: &Value| match v {
        Value::Date(v) => Ok(micros(v)),
        Value::Timestamp(v) | Value::Timestamptz(v) => Ok(*v),
        other => Err(mismatch(other)),
    };
    let utc = |v: &Value| match v {
        Value::Timestamptz(v) => Ok(*v),
        other => local(other).map(|v| timestamp_to_timestamptz(v, env).unwrap_or(v)),
    };
    Ok(if matches!(a, Value::Timestamptz(_)) || matches!(b, Value::Timestamptz(_)) {
        utc(a)?.cmp(&utc(b)?)
    } else {
        local(a)?.cmp(&local(b)?)
    })
}

/// Codes of the six comparisons, in the order of [`Comparison::ALL`].
fn codes() -> [Code; 6] {
    [
        code!(|a: &Value, b: &Value| Ok(order(a, b).is_eq())),
        code!(|a: &Value, b: &Value| Ok(order(a, b).is_ne())),
        code!(|a: &Value, b: &Value| Ok(order(a, b).is_lt())),
        code!(|a: &Value, b: &Value| Ok(order(a, b).is_le())),
        code!(|a: &Value, b: &Value| Ok(order(a, b).is_gt())),
        code!(|a: &Value, b: &Value| Ok(order(a, b).is_ge())),
    ]
}

fn time_codes() -> [Code; 6] {
    [
        code!(|c; a: &Value, b: &Value| Ok(time_order(a, b, c.env)?.is_eq())),
        code!(|c; a: &Value, b: &Value| Ok(time_order(a, b, c.env)?.is_ne())),
        code!(|c; a: &Value, b: &Value| Ok(time_order(a, b, c.env)?.is_lt())),
        code!(|c; a: &Value, b: &Value| Ok(time_order(a, b, c.env)?.is_le())),
        code!(|c; a: &Value, b: &Value| Ok(time_order(a, b, c.env)?.is_gt())),
        code!(|c; a: &Value, b: &Value| Ok(time_order(a, b, c.env)?.is_ge())),
    ]
}

/// Of records, whose fields may be of other types.
fn record_codes() -> [Code; 6] {
    const EQUAL: &str = "an equality operator";
    const ORDERED: &str = "a comparison function";
    [
        code!(|a: &Record, b: &Record| Ok(a.compare(b, EQUAL)?.is_eq())),
        code!(|a: &Record, b: &Record| Ok(a.compare(b, EQUAL)?.is_ne())),
        code!(|a: &Record, b: &Record| Ok(a.compare(b, ORDERED)?.is_lt())),
        code!(|a: &Record, b: &Record| Ok(a.compare(b, ORDERED)?.is_le())),
        code!(|a: &Record, b: &Record| Ok(a.compare(b, ORDERED)?.is_gt())),
        code!(|a: &Record, b: &Record| Ok(a.compare(b, ORDERED)?.is_ge())),
    ]
}

macro_rules! six {
    ($args:literal) => {
        [
            concat!("=", $args),
            concat!("<>", $args),
            concat!("<", $args),
            concat!("<=", $args),
            concat!(">", $args),
            concat!(">=", $args),
        ]
    };
}

pub(super) fn register(r: &mut Registry) {
    for signatures in [
        six!("(bool, bool) bool"),
        six!("(int2, int2) bool"),
        six!("(int4, int4) bool"),
        six!("(int8, int8) bool"),
        six!("(int2, int4) bool"),
        six!("(int4, int2) bool"),
        six!("(int2, int8) bool"),
        six!("(int8, int2) bool"),
        six!("(int4, int8) bool"),
        six!("(int8, int4) bool"),
        six!("(float4, float4) bool"),
        six!("(float8, float8) bool"),
        six!("(float4, float8) bool"),
        six!("(float8, float4) bool"),
        six!("(numeric, numeric) bool"),
        six!("(text, text) bool"),
        six!("(bpchar, bpchar) bool"),
        six!("(name, name) bool"),
        six!("(name, text) bool"),
        six!("(text, name) bool"),
        six!("(char, char) bool"),
        six!("(bytea, bytea) bool"),
        six!("(date, date) bool"),
        six!("(time, time) bool"),
        six!("(timetz, timetz) bool"),
        six!("(timestamp, timestamp) bool"),
        six!("(timestamptz, timestamptz) bool"),
        six!("(interval, interval) bool"),
        six!("(uuid, uuid) bool"),
        six!("(inet, inet) bool"),
        six!("(macaddr, macaddr) bool"),
        six!("(macaddr8, macaddr8) bool"),
        six!("(bit, bit) bool"),
        six!("(varbit, varbit) bool"),
        six!("(money, money) bool"),
        six!("(jsonb, jsonb) bool"),
        six!("(oid, oid) bool"),
        six!("(oidvector, oidvector) bool"),
        six!("(anyarray, anyarray) bool"),
        six!("(anyenum, anyenum) bool"),
        six!("(anyrange, anyrange) bool"),
    ] {
        for ((signature, code), comparison) in signatures.into_iter().zip(codes()).zip(Comparison::ALL) {
            r.fast(Fast::Comparison(comparison), signature, code);
        }
    }
    for (signature, code) in [("=(xid, xid) bool", codes()[0]), ("<>(xid, xid) bool", codes()[1])] {
        r.add(signature, code);
    }
    for (signature, code) in six!("(record, record) bool").into_iter().zip(record_codes()) {
        r.add(signature, code);
    }
    r.add("=(xid, int4) bool", code!(|a: &Value, b: &Value| Ok(order(a, b).is_eq())));
    for (signatures, stable) in [
        (six!("(date, timestamp) bool"), false),
        (six!("(timestamp, date) bool"), false),
        (six!("(date, timestamptz) bool"), true),
        (six!("(timestamptz, date) bool"), true),
        (six!("(timestamp, timestamptz) bool"), true),
        (six!("(timestamptz, timestamp) bool"), true),
    ] {
        for (signature, code) in signatures.into_iter().zip(time_codes()) {
            if stable {
                r.stable(signature, code);
            } else {
                r.add(signature, code);
            }
        }
    }
}
