//! Column types and single values.

use std::fmt;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// 16-bit integer.
    Int2,
    /// 32-bit integer.
    Int4,
    /// 64-bit integer.
    Int8,
    /// Single precision.
    Float4,
    /// Double precision.
    Float8,
    /// Days since 2000-01-01.
    Date,
    /// Microseconds since midnight.
    Time,
    /// Microseconds since 2000-01-01 00:00:00 (UTC where a zone matters).
    Timestamp,
    /// 16 bytes.
    Uuid,
    /// Exactly this many bytes, shorter values padded with zero bytes.
    Fixed(u16),
    /// Text of at most this many bytes.
    Text(u32),
    /// Bytes, at most this many.
    Bytes(u32),
    /// Whole words behind all else, which take nothing as long as there are none: room for what a table gets later.
    /// Zeros fill up the last one. One column of a table at most, and of no key.
    Tail,
}

/// How a type is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In the fixed area, in this many bytes.
    Fixed(u16),
    /// In the var area, behind a slot in the fixed area.
    Var,
    /// At the end of the var area, without a slot.
    Tail,
}

impl ColumnType {
    pub(crate) fn storage(self) -> Storage {
        match self {
            Self::Bool => Storage::Fixed(1),
            Self::Int2 => Storage::Fixed(2),
            Self::Int4 | Self::Float4 | Self::Date => Storage::Fixed(4),
            Self::Int8 | Self::Float8 | Self::Time | Self::Timestamp => Storage::Fixed(8),
            Self::Uuid => Storage::Fixed(16),
            Self::Fixed(n) => Storage::Fixed(n),
            Self::Text(_) | Self::Bytes(_) => Storage::Var,
            Self::Tail => Storage::Tail,
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int2 => f.write_str("int2"),
            Self::Int4 => f.write_str("int4"),
            Self::Int8 => f.write_str("int8"),
            Self::Float4 => f.write_str("float4"),
            Self::Float8 => f.write_str("float8"),
            Self::Date => f.write_str("date"),
            Self::Time => f.write_str("time"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Uuid => f.write_str("uuid"),
            Self::Fixed(n) => write!(f, "fixed({n})"),
            Self::Text(n) => write!(f, "text({n})"),
            Self::Bytes(n) => write!(f, "bytes({n})"),
            Self::Tail => f.write_str("tail"),
        }
    }
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// No value.
    Null,
    /// [`ColumnType::Bool`].
    Bool(bool),
    /// [`ColumnType::Int2`].
    Int2(i16),
    /// [`ColumnType::Int4`].
    Int4(i32),
    /// [`ColumnType::Int8`].
    Int8(i64),
    /// [`ColumnType::Float4`].
    Float4(f32),
    /// [`ColumnType::Float8`].
    Float8(f64),
    /// [`ColumnType::Date`].
    Date(i32),
    /// [`ColumnType::Time`].
    Time(i64),
    /// [`ColumnType::Timestamp`].
    Timestamp(i64),
    /// [`ColumnType::Uuid`].
    Uuid([u8; 16]),
    /// [`ColumnType::Text`].
    Text(&'a str),
    /// [`ColumnType::Bytes`], [`ColumnType::Fixed`] and [`ColumnType::Tail`].
    Bytes(&'a [u8]),
}

impl Datum<'_> {
    /// The name of the value's type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int2(_) => "int2",
            Self::Int4(_) => "int4",
            Self::Int8(_) => "int8",
            Self::Float4(_) => "float4",
            Self::Float8(_) => "float8",
            Self::Date(_) => "date",
            Self::Time(_) => "time",
            Self::Timestamp(_) => "timestamp",
            Self::Uuid(_) => "uuid",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),*) => {
        $(impl From<$type> for Datum<'_> {
            fn from(v: $type) -> Self {
                Self::$variant(v)
            }
        })*
    };
}

from!(bool => Bool, i16 => Int2, i32 => Int4, i64 => Int8, f32 => Float4, f64 => Float8, [u8; 16] => Uuid);

impl<'a> From<&'a str> for Datum<'a> {
    fn from(v: &'a str) -> Self {
        Self::Text(v)
    }
}

impl<'a> From<&'a [u8]> for Datum<'a> {
    fn from(v: &'a [u8]) -> Self {
        Self::Bytes(v)
    }
}

impl<'a, T: Into<Datum<'a>>> From<Option<T>> for Datum<'a> {
    fn from(v: Option<T>) -> Self {
        v.map_or(Self::Null, Into::into)
    }
}
