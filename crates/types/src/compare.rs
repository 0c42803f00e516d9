//! Order, equality and hash of values: those of PostgreSQL's btree and hash operator classes.
//!
//! Text compares by bytes, which is the "C" collation.

use crate::value::Value;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// NaN is equal to itself and greatest; -0 equals 0.
pub(crate) fn compare_f64(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// As [`compare_f64`].
pub(crate) fn compare_f32(a: f32, b: f32) -> Ordering {
    compare_f64(a.into(), b.into())
}

/// The bits that equal numbers share.
fn float_bits(v: f64) -> u64 {
    match v {
        _ if v.is_nan() => f64::NAN.to_bits(),
        _ if v == 0.0 => 0,
        _ => v.to_bits(),
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        use Value::*;
        match (self, other) {
            (Null, Null) => Ordering::Equal,
            (Null, _) => Ordering::Greater,
            (_, Null) => Ordering::Less,
            (Bool(a), Bool(b)) => a.cmp(b),
            (Int2(a), Int2(b)) => a.cmp(b),
            (Int4(a), Int4(b)) | (Date(a), Date(b)) => a.cmp(b),
            (Int8(a), Int8(b))
            | (Time(a), Time(b))
            | (Timestamp(a), Timestamp(b))
            | (Timestamptz(a), Timestamptz(b)) => a.cmp(b),
            (Float4(a), Float4(b)) => compare_f32(*a, *b),
            (Float8(a), Float8(b)) => compare_f64(*a, *b),
            (Numeric(a), Numeric(b)) => a.cmp(b),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Char(a), Char(b)) => a.cmp(b),
            (Bytea(a), Bytea(b)) => a.cmp(b),
            (Interval(a), Interval(b)) => a.cmp(b),
            (Timetz(a), Timetz(b)) => a.cmp(b),
            (Bits(a), Bits(b)) => a.cmp(b),
            (Money(a), Money(b)) => a.cmp(b),
            (Uuid(a), Uuid(b)) => a.cmp(b),
            (Inet(a), Inet(b)) => a.cmp(b),
            (Macaddr(a), Macaddr(b)) => a.cmp(b),
            (Macaddr8(a), Macaddr8(b)) => a.cmp(b),
            (Jsonb(a), Jsonb(b)) => a.compare_whole(b),
            (Jsonpath(a), Jsonpath(b)) => a.cmp(b),
            (Oid(a), Oid(b)) => a.cmp(b),
            (Array(a), Array(b)) => a.cmp(b),
            (Enum(a), Enum(b)) => a.cmp(b),
            (Record(a), Record(b)) => a.cmp(b),
            (Range(a), Range(b)) => a.cmp(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

/// The rank of texts.
const TEXT: u8 = 8;

/// Orders what has no order: values of different variants.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Int2(_) => 2,
        Value::Int4(_) => 3,
        Value::Int8(_) => 4,
        Value::Float4(_) => 5,
        Value::Float8(_) => 6,
        Value::Numeric(_) => 7,
        Value::Text(_) => TEXT,
        Value::Char(_) => 9,
        Value::Bytea(_) => 10,
        Value::Date(_) => 11,
        Value::Time(_) => 12,
        Value::Timestamp(_) => 13,
        Value::Timestamptz(_) => 14,
        Value::Interval(_) => 15,
        Value::Uuid(_) => 16,
        Value::Jsonb(_) => 17,
        Value::Oid(_) => 18,
        Value::Array(_) => 19,
        Value::Enum(_) => 20,
        Value::Record(_) => 21,
        Value::Range(_) => 22,
        Value::Inet(_) => 23,
        Value::Macaddr(_) => 24,
        Value::Macaddr8(_) => 25,
        Value::Timetz(_) => 26,
        Value::Bits(_) => 27,
        Value::Money(_) => 28,
        Value::Jsonpath(_) => 29,
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // no need to order what only has to be equal
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytea(a), Self::Bytea(b)) => a == b,
            _ => self.cmp(other) == Ordering::Equal,
        }
    }
}

impl Eq for Value {}

impl Value {
    /// Whether it is the same in every detail: equal values may differ, as `1.0` and `1.00` do, and `0` and `-0`.
    pub fn is_identical(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float4(a), Self::Float4(b)) => a.to_bits() == b.to_bits(),
            (Self::Float8(a), Self::Float8(b)) => a.to_bits() == b.to_bits(),
            (Self::Numeric(a), Self::Numeric(b)) => a == b && a.scale() == b.scale(),
            (Self::Interval(a), Self::Interval(b)) => {
                (a.months, a.days, a.micros) == (b.months, b.days, b.micros)
            }
            (Self::Array(a), Self::Array(b)) => {
                self == other && a.values().iter().zip(b.values()).all(|(a, b)| a.is_identical(b))
            }
            (Self::Record(a), Self::Record(b)) => {
                self == other && a.values().iter().zip(b.values()).all(|(a, b)| a.is_identical(b))
            }
            (Self::Range(a), Self::Range(b)) => {
                let (mut first, mut second) = (Vec::new(), Vec::new());
                a.write_binary(&mut first);
                b.write_binary(&mut second);
                self == other && first == second
            }
            (Self::Jsonb(a), Self::Jsonb(b)) => {
                let (mut first, mut second) = (Vec::new(), Vec::new());
                a.write_stored(&mut first);
                b.write_stored(&mut second);
                self == other && first == second
            }
            _ => self == other,
        }
    }

    /// Whether all values are the same in every detail as the others.
    pub fn are_identical(these: &[Self], others: &[Self]) -> bool {
        these.len() == others.len() && these.iter().zip(others).all(|(a, b)| a.is_identical(b))
    }
}

/// The hash of a text behind its rank. No text has the byte that ends it.
fn hash_bytes<H: Hasher>(text: &[u8], state: &mut H) {
    state.write(text);
    state.write_u8(0xff);
}

impl Value {
    /// Hashes a text as a [`Value`] of it is hashed.
    #[inline]
    pub fn hash_text<H: Hasher>(text: &[u8], state: &mut H) {
        state.write_u8(TEXT);
        hash_bytes(text, state);
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(rank(self));
        match self {
            Self::Null => {}
            Self::Bool(v) => v.hash(state),
            Self::Int2(v) => v.hash(state),
            Self::Int4(v) | Self::Date(v) => v.hash(state),
            Self::Int8(v) | Self::Time(v) | Self::Timestamp(v) | Self::Timestamptz(v) => v.hash(state),
            Self::Float4(v) => float_bits((*v).into()).hash(state),
            Self::Float8(v) => float_bits(*v).hash(state),
            Self::Numeric(v) => v.hash(state),
            Self::Text(v) => hash_bytes(v.as_bytes(), state),
            Self::Char(v) => v.hash(state),
            Self::Bytea(v) => v.hash(state),
            Self::Interval(v) => v.hash(state),
            Self::Timetz(v) => v.hash(state),
            Self::Bits(v) => v.hash(state),
            Self::Money(v) => v.hash(state),
            Self::Uuid(v) => v.hash(state),
            Self::Inet(v) => v.hash(state),
            Self::Macaddr(v) => v.hash(state),
            Self::Macaddr8(v) => v.hash(state),
            Self::Jsonb(v) => v.hash(state),
            Self::Jsonpath(v) => v.hash(state),
            Self::Oid(v) => v.hash(state),
            Self::Array(v) => v.hash(state),
            Self::Enum(v) => v.hash(state),
            Self::Record(v) => v.hash(state),
            Self::Range(v) => v.hash(state),
        }
    }
}
