//! Values.

use crate::array::Array;
use crate::bits::Bits;
use crate::calendar::{check_date, check_time, check_timestamp};
use crate::enums::EnumValue;
use crate::error::Result;
use crate::interval::Interval;
use crate::json::Json;
use crate::jsonpath::JsonPath;
use crate::network::Inet;
use crate::numeric::Numeric;
use crate::range::Range;
use crate::record::Record;
use crate::text::utf8;
use crate::timetz::Timetz;
use crate::ty::{Base, Type};
use std::sync::Arc;

/// Text: up to 23 bytes inline, more behind a shared pointer.
pub type Text = smol_str::SmolStr;

/// One value, NULL included. 24 bytes; clones are copies or count a reference.
///
/// The variant follows from the type, which the binder knows; several types share one (see [`Type::is_text`],
/// [`Type::is_oid`]). `==`, [`Ord`] and [`std::hash::Hash`] are those of grouping and of btree operator classes:
/// NULL equals NULL and is greatest, NaN equals NaN and is greater than every number, -0 equals 0, numeric 1.0
/// equals 1.00. Values of different variants have an order too, which means nothing.
#[derive(Debug, Default)]
pub enum Value {
    /// No value.
    #[default]
    Null,
    /// bool.
    Bool(bool),
    /// int2.
    Int2(i16),
    /// int4.
    Int4(i32),
    /// int8.
    Int8(i64),
    /// float4.
    Float4(f32),
    /// float8.
    Float8(f64),
    /// numeric.
    Numeric(Numeric),
    /// text, varchar, name, json, unknown; `char(n)` without its trailing blanks, which output puts back.
    Text(Text),
    /// `"char"`.
    Char(u8),
    /// bytea.
    Bytea(Arc<[u8]>),
    /// Days since 2000-01-01; `i32::MAX` is infinity, `i32::MIN` -infinity.
    Date(i32),
    /// Microseconds since midnight, up to and including 24:00.
    Time(i64),
    /// timetz.
    Timetz(Timetz),
    /// Microseconds since 2000-01-01 in no particular zone; `i64::MAX` is infinity, `i64::MIN` -infinity.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 UTC; infinities as above.
    Timestamptz(i64),
    /// interval.
    Interval(Interval),
    /// bit, varbit.
    Bits(Arc<Bits>),
    /// money: hundredths.
    Money(i64),
    /// uuid.
    Uuid([u8; 16]),
    /// inet, cidr.
    Inet(Inet),
    /// macaddr.
    Macaddr([u8; 6]),
    /// macaddr8.
    Macaddr8([u8; 8]),
    /// jsonb.
    Jsonb(Arc<Json>),
    /// jsonpath.
    Jsonpath(Arc<JsonPath>),
    /// oid, xid, and the `reg...` types, whose names the catalog knows.
    Oid(u32),
    /// Arrays, int2vector, oidvector.
    Array(Arc<Array>),
    /// Of an enum type.
    Enum(EnumValue),
    /// A row as one value.
    Record(Arc<Record>),
    /// Of a range type.
    Range(Arc<Range>),
}

impl Value {
    /// Text from a string.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Text::new(text))
    }

    /// bytea from bytes.
    pub fn bytea(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Bytea(bytes.into())
    }

    /// jsonb from a tree.
    pub fn jsonb(json: Json) -> Self {
        Self::Jsonb(Arc::new(json))
    }

    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Makes it NULL: at less cost than an assignment for values that own nothing.
    #[inline]
    pub fn take_null(&mut self) {
        match self {
            Self::Null => {}
            Self::Bool(_) | Self::Int2(_) | Self::Int4(_) | Self::Int8(_) | Self::Timestamp(_) => {
                std::mem::forget(std::mem::take(self));
            }
            _ => *self = Self::Null,
        }
    }

    /// Whether it is true: what WHERE asks, to which NULL is false.
    #[inline]
    pub fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The truth value.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(v) => Some(*v),
            _ => None,
        }
    }

    /// The integer, of whatever width, or the OID.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int2(v) => Some((*v).into()),
            Self::Int4(v) => Some((*v).into()),
            Self::Int8(v) => Some(*v),
            Self::Oid(v) => Some((*v).into()),
            _ => None,
        }
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(v) => Some(v),
            _ => None,
        }
    }

    /// The bytes of a bytea.
    #[inline]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytea(v) => Some(v),
            _ => None,
        }
    }

    /// Refuses what only looks like a value, as a program may make it: dates and times out of range, text with a zero
    /// byte.
    ///
    /// # Errors
    /// 22008, 22021.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Date(v) => check_date(*v).map(|_| ()),
            Self::Time(v) => check_time(*v).map(|_| ()),
            Self::Timetz(v) => v.checked().map(|_| ()),
            Self::Timestamp(v) | Self::Timestamptz(v) => check_timestamp(*v).map(|_| ()),
            Self::Text(v) => utf8(v.as_bytes()).map(|_| ()),
            Self::Array(array) => array.values().iter().try_for_each(Self::check),
            Self::Record(record) => record.values().iter().try_for_each(Self::check),
            Self::Range(range) => {
                range.bounds().into_iter().flatten().try_for_each(|bound| bound.value.check())
            }
            _ => Ok(()),
        }
    }

    /// Whether values of this type look like this one. NULL fits every type.
    pub fn fits(&self, ty: Type) -> bool {
        let base = match self {
            Self::Null => return true,
            Self::Array(array) => {
                return match ty.base {
                    Base::Int2vector | Base::Oidvector if !ty.array => true,
                    _ => ty.array && array.element().same(Type::of(ty.base)),
                };
            }
            _ if ty.array => return false,
            Self::Text(_) => return ty.is_text(),
            Self::Oid(_) => return ty.is_oid(),
            Self::Bits(_) => return matches!(ty.base, Base::Bit | Base::Varbit),
            Self::Inet(v) => return ty.base == Base::Inet || ty.base == Base::Cidr && v.is_network(),
            Self::Bool(_) => Base::Bool,
            Self::Int2(_) => Base::Int2,
            Self::Int4(_) => Base::Int4,
            Self::Int8(_) => Base::Int8,
            Self::Float4(_) => Base::Float4,
            Self::Float8(_) => Base::Float8,
            Self::Numeric(_) => Base::Numeric,
            Self::Char(_) => Base::Char,
            Self::Bytea(_) => Base::Bytea,
            Self::Date(_) => Base::Date,
            Self::Time(_) => Base::Time,
            Self::Timetz(_) => Base::Timetz,
            Self::Timestamp(_) => Base::Timestamp,
            Self::Timestamptz(_) => Base::Timestamptz,
            Self::Interval(_) => Base::Interval,
            Self::Money(_) => Base::Money,
            Self::Uuid(_) => Base::Uuid,
            Self::Macaddr(_) => Base::Macaddr,
            Self::Macaddr8(_) => Base::Macaddr8,
            Self::Jsonb(_) => Base::Jsonb,
            Self::Jsonpath(_) => Base::Jsonpath,
            Self::Enum(v) => Base::Enum(v.ty()),
            Self::Record(_) => Base::Record,
            Self::Range(v) => Base::Range(v.ty()),
        };
        ty.base == base
    }
}

impl Clone for Value {
    /// The short ones, which most are, where the call stands.
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::Null => Self::Null,
            Self::Int2(v) => Self::Int2(*v),
            Self::Int4(v) => Self::Int4(*v),
            Self::Int8(v) => Self::Int8(*v),
            other => other.clone_any(),
        }
    }
}

impl Value {
    #[inline(never)]
    fn clone_any(&self) -> Self {
        match self {
            Self::Null => Self::Null,
            Self::Bool(v) => Self::Bool(*v),
            Self::Int2(v) => Self::Int2(*v),
            Self::Int4(v) => Self::Int4(*v),
            Self::Int8(v) => Self::Int8(*v),
            Self::Float4(v) => Self::Float4(*v),
            Self::Float8(v) => Self::Float8(*v),
            Self::Numeric(v) => Self::Numeric(v.clone()),
            Self::Text(v) => Self::Text(v.clone()),
            Self::Char(v) => Self::Char(*v),
            Self::Bytea(v) => Self::Bytea(v.clone()),
            Self::Date(v) => Self::Date(*v),
            Self::Time(v) => Self::Time(*v),
            Self::Timetz(v) => Self::Timetz(*v),
            Self::Timestamp(v) => Self::Timestamp(*v),
            Self::Timestamptz(v) => Self::Timestamptz(*v),
            Self::Interval(v) => Self::Interval(*v),
            Self::Bits(v) => Self::Bits(v.clone()),
            Self::Money(v) => Self::Money(*v),
            Self::Uuid(v) => Self::Uuid(*v),
            Self::Inet(v) => Self::Inet(*v),
            Self::Macaddr(v) => Self::Macaddr(*v),
            Self::Macaddr8(v) => Self::Macaddr8(*v),
            Self::Jsonb(v) => Self::Jsonb(v.clone()),
            Self::Jsonpath(v) => Self::Jsonpath(v.clone()),
            Self::Oid(v) => Self::Oid(*v),
            Self::Array(v) => Self::Array(v.clone()),
            Self::Enum(v) => Self::Enum(*v),
            Self::Record(v) => Self::Record(v.clone()),
            Self::Range(v) => Self::Range(v.clone()),
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),*) => {
        $(impl From<$type> for Value {
            fn from(v: $type) -> Self {
                Self::$variant(v)
            }
        })*
    };
}

from!(
    bool => Bool, i16 => Int2, i32 => Int4, i64 => Int8, f32 => Float4, f64 => Float8, Numeric => Numeric,
    Text => Text, Interval => Interval
);

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Self::text(v)
    }
}

impl From<String> for Value {
    fn from(v: String) -> Self {
        Self::Text(Text::from(v))
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Self {
        v.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_small() {
        assert!(size_of::<Value>() <= 24, "{}", size_of::<Value>());
        assert!(size_of::<Option<Value>>() <= 24);
        assert!(size_of::<crate::SqlError>() == 8);
        assert!(size_of::<Type>() <= 32);
    }
}
