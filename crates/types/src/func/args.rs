//! Arguments of functions as Rust values.

use crate::array::Array;
use crate::bits::Bits;
use crate::error::{Result, SqlError};
use crate::interval::Interval;
use crate::json::Json;
use crate::network::Inet;
use crate::numeric::Numeric;
use crate::range::Range;
use crate::record::Record;
use crate::timetz::Timetz;
use crate::value::Value;

/// A date: days since 2000-01-01.
#[derive(Clone, Copy)]
pub(super) struct Date(pub(super) i32);
/// A time: microseconds since midnight.
#[derive(Clone, Copy)]
pub(super) struct Time(pub(super) i64);
/// A timestamp in no zone.
#[derive(Clone, Copy)]
pub(super) struct Timestamp(pub(super) i64);
/// A timestamp in UTC.
#[derive(Clone, Copy)]
pub(super) struct Timestamptz(pub(super) i64);

#[cold]
#[inline(never)]
pub(super) fn mismatch(value: &Value) -> SqlError {
    SqlError::internal(format!("a function was called with {value:?}, which it does not take"))
}

/// What a parameter of a function can be.
pub(super) trait Get<'a>: Sized {
    /// The value as this type.
    fn get(value: &'a Value) -> Result<Self>;
}

macro_rules! get {
    ($($type:ty: $pattern:pat => $result:expr),* $(,)?) => {
        $(impl<'a> Get<'a> for $type {
            #[inline]
            fn get(value: &'a Value) -> Result<Self> {
                match value {
                    $pattern => Ok($result),
                    _ => Err(mismatch(value)),
                }
            }
        })*
    };
}

get! {
    bool: Value::Bool(v) => *v,
    i16: Value::Int2(v) => *v,
    i32: Value::Int4(v) => *v,
    i64: Value::Int8(v) => *v,
    f32: Value::Float4(v) => *v,
    f64: Value::Float8(v) => *v,
    u8: Value::Char(v) => *v,
    &'a Numeric: Value::Numeric(v) => v,
    &'a str: Value::Text(v) => v.as_str(),
    &'a [u8]: Value::Bytea(v) => v,
    Date: Value::Date(v) => Date(*v),
    Time: Value::Time(v) => Time(*v),
    Timetz: Value::Timetz(v) => *v,
    Timestamp: Value::Timestamp(v) => Timestamp(*v),
    Timestamptz: Value::Timestamptz(v) => Timestamptz(*v),
    Interval: Value::Interval(v) => *v,
    &'a [u8; 16]: Value::Uuid(v) => v,
    Inet: Value::Inet(v) => *v,
    &'a [u8; 6]: Value::Macaddr(v) => v,
    &'a [u8; 8]: Value::Macaddr8(v) => v,
    &'a Bits: Value::Bits(v) => v,
    super::money::Money: Value::Money(v) => super::money::Money(*v),
    &'a Json: Value::Jsonb(v) => v,
    &'a Array: Value::Array(v) => v,
    &'a Record: Value::Record(v) => v,
    &'a Range: Value::Range(v) => v,
}

impl<'a> Get<'a> for &'a Value {
    fn get(value: &'a Value) -> Result<Self> {
        Ok(value)
    }
}

impl<'a, T: Get<'a>> Get<'a> for Option<T> {
    fn get(value: &'a Value) -> Result<Self> {
        if value.is_null() { Ok(None) } else { T::get(value).map(Some) }
    }
}

impl From<Date> for Value {
    fn from(v: Date) -> Self {
        Self::Date(v.0)
    }
}

impl From<Time> for Value {
    fn from(v: Time) -> Self {
        Self::Time(v.0)
    }
}

impl From<Timestamp> for Value {
    fn from(v: Timestamp) -> Self {
        Self::Timestamp(v.0)
    }
}

impl From<Timestamptz> for Value {
    fn from(v: Timestamptz) -> Self {
        Self::Timestamptz(v.0)
    }
}

/// What a function was called with instead of its arguments.
#[cold]
pub(super) fn arity() -> SqlError {
    SqlError::internal("a function was called with another number of arguments than it takes")
}

/// A closure of typed arguments as the code of a function. The body is a `Result` of what converts to a value.
macro_rules! code {
    (|$call:ident; $($param:ident: $type:ty),*| $body:expr) => {
        |$call: &$crate::func::Call<'_>, args: &[$crate::value::Value]| {
            let _ = $call;
            let [$($param),*] = args else { return Err($crate::func::args::arity()) };
            $(let $param = <$type as $crate::func::args::Get<'_>>::get($param)?;)*
            Ok($crate::value::Value::from($body?))
        }
    };
    (|$($param:ident: $type:ty),*| $body:expr) => {
        $crate::func::args::code!(|_call; $($param: $type),*| $body)
    };
}

pub(super) use code;
