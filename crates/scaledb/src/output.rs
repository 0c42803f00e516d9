//! What values can be read as.

use crate::value::Value;
use scaledb_row::Datum;

/// A Rust type that a column can be read as: see [`Row::get`](crate::Row::get).
///
/// Integers widen (`i64` reads every integer column), single precision reads as `f64`, `i32` also reads a
/// date and `i64` a time or timestamp. NULL needs an `Option` or a [`Value`].
pub trait FromDatum<'a>: Sized {
    /// The type's name in errors.
    const NAME: &'static str;

    /// The value, if it has a fitting type.
    fn from_datum(datum: Datum<'a>) -> Option<Self>;
}

macro_rules! readable {
    ($($type:ty, $name:literal: $($variant:ident)|+;)*) => {
        $(impl<'a> FromDatum<'a> for $type {
            const NAME: &'static str = $name;

            #[inline]
            fn from_datum(datum: Datum<'a>) -> Option<Self> {
                match datum {
                    $(Datum::$variant(v) => Some(v.into()),)+
                    _ => None,
                }
            }
        })*
    };
}

readable! {
    bool, "bool": Bool;
    i16, "i16": Int2;
    i32, "i32": Int2 | Int4 | Date;
    i64, "i64": Int2 | Int4 | Int8 | Time | Timestamp;
    f32, "f32": Float4;
    f64, "f64": Float4 | Float8;
    [u8; 16], "[u8; 16]": Uuid;
    &'a str, "&str": Text;
    String, "String": Text;
    &'a [u8], "&[u8]": Bytes;
    Vec<u8>, "Vec<u8>": Bytes;
}

impl<'a> FromDatum<'a> for Value {
    const NAME: &'static str = "Value";

    fn from_datum(datum: Datum<'a>) -> Option<Self> {
        Some(datum.into())
    }
}

impl<'a> FromDatum<'a> for Datum<'a> {
    const NAME: &'static str = "Datum";

    fn from_datum(datum: Datum<'a>) -> Option<Self> {
        Some(datum)
    }
}

impl<'a, T: FromDatum<'a>> FromDatum<'a> for Option<T> {
    const NAME: &'static str = T::NAME;

    fn from_datum(datum: Datum<'a>) -> Option<Self> {
        match datum {
            Datum::Null => Some(None),
            other => T::from_datum(other).map(Some),
        }
    }
}
