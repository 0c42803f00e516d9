//! Owned values.

use scaledb_row::Datum;
use std::fmt;

/// One value of a row, owned. [`Datum`] is its borrowed form.
///
/// ```
/// use scaledb::{Datum, Value};
/// let value = Value::from("ann");
/// assert_eq!(value.as_datum(), Datum::Text("ann"));
/// assert_eq!(value.to_string(), "'ann'");
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// No value.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// 16-bit integer.
    Int2(i16),
    /// 32-bit integer.
    Int4(i32),
    /// 64-bit integer.
    Int8(i64),
    /// Single precision.
    Float4(f32),
    /// Double precision.
    Float8(f64),
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 2000-01-01 00:00:00.
    Timestamp(i64),
    /// 16 bytes.
    Uuid([u8; 16]),
    /// Text.
    Text(String),
    /// Bytes, of fixed or variable length.
    Bytes(Vec<u8>),
}

impl Value {
    /// The value, borrowed.
    pub fn as_datum(&self) -> Datum<'_> {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(v) => Datum::Bool(*v),
            Self::Int2(v) => Datum::Int2(*v),
            Self::Int4(v) => Datum::Int4(*v),
            Self::Int8(v) => Datum::Int8(*v),
            Self::Float4(v) => Datum::Float4(*v),
            Self::Float8(v) => Datum::Float8(*v),
            Self::Date(v) => Datum::Date(*v),
            Self::Time(v) => Datum::Time(*v),
            Self::Timestamp(v) => Datum::Timestamp(*v),
            Self::Uuid(v) => Datum::Uuid(*v),
            Self::Text(v) => Datum::Text(v),
            Self::Bytes(v) => Datum::Bytes(v),
        }
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl From<Datum<'_>> for Value {
    fn from(datum: Datum<'_>) -> Self {
        match datum {
            Datum::Null => Self::Null,
            Datum::Bool(v) => Self::Bool(v),
            Datum::Int2(v) => Self::Int2(v),
            Datum::Int4(v) => Self::Int4(v),
            Datum::Int8(v) => Self::Int8(v),
            Datum::Float4(v) => Self::Float4(v),
            Datum::Float8(v) => Self::Float8(v),
            Datum::Date(v) => Self::Date(v),
            Datum::Time(v) => Self::Time(v),
            Datum::Timestamp(v) => Self::Timestamp(v),
            Datum::Uuid(v) => Self::Uuid(v),
            Datum::Text(v) => Self::Text(v.to_owned()),
            Datum::Bytes(v) => Self::Bytes(v.to_vec()),
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

from!(bool => Bool, i16 => Int2, i32 => Int4, i64 => Int8, f32 => Float4, f64 => Float8, [u8; 16] => Uuid,
      String => Text, Vec<u8> => Bytes);

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Self::Text(v.to_owned())
    }
}

impl From<&[u8]> for Value {
    fn from(v: &[u8]) -> Self {
        Self::Bytes(v.to_vec())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Self {
        v.map_or(Self::Null, Into::into)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(v) => write!(f, "{v}"),
            Self::Int2(v) => write!(f, "{v}"),
            Self::Int4(v) => write!(f, "{v}"),
            Self::Int8(v) => write!(f, "{v}"),
            Self::Float4(v) => write!(f, "{v}"),
            Self::Float8(v) => write!(f, "{v}"),
            Self::Date(v) => write!(f, "day {v}"),
            Self::Time(v) | Self::Timestamp(v) => write!(f, "{v} us"),
            Self::Text(v) => write!(f, "'{}'", v.replace('\'', "''")),
            Self::Uuid(v) => hex(v, f),
            Self::Bytes(v) => hex(v, f),
        }
    }
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("x'")?;
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
    f.write_str("'")
}
