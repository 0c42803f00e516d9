//! How values are kept in rows and index keys of the engine.
//!
//! | type | row | index key |
//! |---|---|---|
//! | bool, ints, floats, date, time, timestamps, uuid | the engine's own | the row's |
//! | text, varchar, name; char(n) without trailing blanks | text | the row's |
//! | bytea | bytes | the row's |
//! | inet, cidr | family, network, bits, rest of the address: sorted | the row's |
//! | macaddr, macaddr8, timetz, money | int8 | the row's |
//! | bit, varbit | sorted form | the row's |
//! | numeric(p, s), p up to 18 | `value * 10^s` as int8; NaN is the greatest | the row's |
//! | numeric(p, s), p from 19 | sorted form | the row's |
//! | numeric | sorted form, then the scale in 2 bytes | sorted form |
//! | interval | months, days, microseconds in 16 bytes | what comparisons compare, 16 bytes |
//! | jsonb | its tree | sorted form |
//! | json, jsonpath | text | none: they have no order |
//! | oid and the like | int8 | the row's |
//! | "char" | int2 | the row's |
//! | enum types | the label's order as int8 | the row's |
//! | numrange | PostgreSQL's binary format | both bounds' keys |
//! | the other ranges | both bounds' keys | the row's |
//! | arrays | PostgreSQL's binary format; of enum types that of the labels' orders | elements' keys |
//!
//! Where the key is not the row's, equal values may be stored differently (`1.0` and `1.00`; `1 mon` and
//! `30 days`), so that an index needs the key as a column of its own.

use crate::array::Array;
use crate::bits::Bits;
use crate::calendar::{check_date, check_time, check_timestamp};
use crate::enums::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::interval::Interval;
use crate::json::Json;
use crate::jsonpath::JsonPath;
use crate::network::Inet;
use crate::numeric::Numeric;
use crate::range::{Range, RangeType};
use crate::timetz::Timetz;
use crate::ty::{Base, Type};
use crate::value::{Text, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// The engine's type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
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
    /// Microseconds since 2000-01-01.
    Timestamp,
    /// 16 bytes.
    Uuid,
    /// Exactly this many bytes.
    Fixed(u16),
    /// UTF-8.
    Text,
    /// Bytes.
    Bytes,
}

/// What an index has as the key of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyForm {
    /// What the row has.
    Row,
    /// Bytes that [`Value::write_key`] makes.
    Separate,
    /// The type has no order.
    None,
}

/// A value as a row has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored<'a> {
    /// No value.
    Null,
    /// [`Storage::Bool`].
    Bool(bool),
    /// [`Storage::Int2`].
    Int2(i16),
    /// [`Storage::Int4`].
    Int4(i32),
    /// [`Storage::Int8`].
    Int8(i64),
    /// [`Storage::Float4`].
    Float4(f32),
    /// [`Storage::Float8`].
    Float8(f64),
    /// [`Storage::Date`].
    Date(i32),
    /// [`Storage::Time`].
    Time(i64),
    /// [`Storage::Timestamp`].
    Timestamp(i64),
    /// [`Storage::Uuid`].
    Uuid([u8; 16]),
    /// [`Storage::Text`].
    Text(&'a str),
    /// [`Storage::Bytes`] and [`Storage::Fixed`].
    Bytes(Cow<'a, [u8]>),
}

/// The largest precision whose numbers fit a word.
const WORD_PRECISION: i32 = 18;
/// NaN among scaled integers: above every number of 18 digits.
const WORD_NAN: i64 = i64::MAX;

/// The scale that all values of the type have, if the type says it.
fn fixed_scale(ty: Type) -> Option<u16> {
    ty.precision_scale().map(|(_, scale)| scale.max(0) as u16)
}

impl Type {
    /// The scale of a numeric whose values are stored as integers, NaN as the greatest of all.
    #[inline]
    pub fn word_scale(self) -> Option<i32> {
        let (precision, scale) = self.precision_scale()?;
        (precision <= WORD_PRECISION).then_some(scale)
    }

    /// How the engine stores a column of this type.
    pub fn storage(self) -> Storage {
        if self.array {
            return Storage::Bytes;
        }
        match self.base {
            Base::Bool => Storage::Bool,
            Base::Int2 | Base::Char => Storage::Int2,
            Base::Int4 => Storage::Int4,
            Base::Int8 => Storage::Int8,
            Base::Float4 => Storage::Float4,
            Base::Float8 => Storage::Float8,
            Base::Numeric if self.word_scale().is_some() => Storage::Int8,
            Base::Text | Base::Varchar | Base::Bpchar | Base::Name => Storage::Text,
            Base::Json | Base::Jsonpath | Base::Refcursor | Base::Unknown => Storage::Text,
            Base::Date => Storage::Date,
            Base::Time => Storage::Time,
            Base::Timestamp | Base::Timestamptz => Storage::Timestamp,
            Base::Interval => Storage::Fixed(16),
            Base::Uuid => Storage::Uuid,
            Base::Macaddr | Base::Macaddr8 | Base::Timetz | Base::Money => Storage::Int8,
            Base::Inet | Base::Cidr | Base::Bit | Base::Varbit => Storage::Bytes,
            Base::Oid
            | Base::Xid
            | Base::Regclass
            | Base::Regtype
            | Base::Regproc
            | Base::Regnamespace
            | Base::Regrole
            | Base::Regprocedure
            | Base::Enum(_) => Storage::Int8,
            Base::Numeric | Base::Bytea | Base::Jsonb | Base::Range(_) => Storage::Bytes,
            Base::Int2vector | Base::Oidvector | Base::Void | Base::Record | Base::Polymorphic(_) => {
                Storage::Bytes
            }
        }
    }

    /// What an index on a column of this type has as its key.
    pub fn key_form(self) -> KeyForm {
        match self.base {
            Base::Json
            | Base::Jsonpath
            | Base::Refcursor
            | Base::Void
            | Base::Record
            | Base::Unknown
            | Base::Xid
            | Base::Polymorphic(_) => KeyForm::None,
            _ if self.array => KeyForm::Separate,
            Base::Numeric if self.precision_scale().is_none() => KeyForm::Separate,
            Base::Interval | Base::Jsonb | Base::Int2vector | Base::Oidvector => KeyForm::Separate,
            // a number's key does not say how many digits it is shown with
            Base::Range(RangeType::Numrange) => KeyForm::Separate,
            _ => KeyForm::Row,
        }
    }
}

#[cold]
fn misfit(value: &Value, ty: Type) -> SqlError {
    SqlError::internal(format!("{value:?} is no value of type {ty}"))
}

#[cold]
fn corrupt(ty: Type) -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, format!("a stored value of type {ty} is malformed"))
}

/// An array with the orders of the labels in place of these, which may get other names.
fn orders(array: &Array) -> Result<Array> {
    array.map(Type::INT8, |value| {
        Ok(match value {
            Value::Enum(value) => Value::Int8(value.order()),
            other => other.clone(),
        })
    })
}

/// The array that [`orders`] has turned.
fn labels(orders: &Array, definition: EnumType) -> Result<Value> {
    let ty = Type::of_enum(definition);
    let turned = orders.map(ty, |value| match value {
        Value::Int8(order) => definition.stored(*order).map(Value::Enum).ok_or_else(|| changed_enum(ty)),
        other => Ok(other.clone()),
    })?;
    Ok(Value::Array(Arc::new(turned)))
}

/// A row has a label that the type has got since the running transaction began, which will not commit therefore.
#[cold]
fn changed_enum(ty: Type) -> SqlError {
    let what = format!("type {ty} has been changed since the transaction began");
    SqlError::new(SqlState::SERIALIZATION_FAILURE, what)
}

impl Value {
    /// The value as a row has it. It has the type already, its modifier included.
    ///
    /// # Errors
    ///
    /// XX000 if the value is not of the type, 54001 if it is a jsonb nested too deeply.
    pub fn store(&self, ty: Type) -> Result<Stored<'_>> {
        Ok(match self {
            Self::Null => Stored::Null,
            Self::Bool(v) => Stored::Bool(*v),
            Self::Int2(v) => Stored::Int2(*v),
            Self::Int4(v) => Stored::Int4(*v),
            Self::Int8(v) | Self::Money(v) => Stored::Int8(*v),
            Self::Float4(v) => Stored::Float4(*v),
            Self::Float8(v) => Stored::Float8(*v),
            Self::Text(v) => Stored::Text(v),
            Self::Jsonpath(v) => Stored::Text(v.text()),
            Self::Char(v) => Stored::Int2((*v).into()),
            Self::Bytea(v) => Stored::Bytes(Cow::Borrowed(v)),
            Self::Date(v) => Stored::Date(*v),
            Self::Time(v) => Stored::Time(*v),
            Self::Timestamp(v) | Self::Timestamptz(v) => Stored::Timestamp(*v),
            Self::Uuid(v) => Stored::Uuid(*v),
            Self::Bits(v) => {
                let mut bytes = Vec::with_capacity(v.bytes().len() + 3);
                v.write_key(&mut bytes);
                Stored::Bytes(Cow::Owned(bytes))
            }
            Self::Inet(v) => {
                let mut bytes = Vec::with_capacity(20);
                v.write_key(&mut bytes);
                Stored::Bytes(Cow::Owned(bytes))
            }
            Self::Macaddr([a, b, c, d, e, f]) => {
                Stored::Int8(i64::from_be_bytes([0, 0, *a, *b, *c, *d, *e, *f]))
            }
            Self::Timetz(v) => Stored::Int8(v.key()),
            // the sign keeps the order
            Self::Macaddr8(v) => Stored::Int8(i64::from_be_bytes(*v) ^ i64::MIN),
            Self::Oid(v) => Stored::Int8((*v).into()),
            Self::Enum(v) => Stored::Int8(v.order()),
            Self::Record(_) => return Err(misfit(self, ty)),
            Self::Range(range) => {
                let mut bytes = Vec::with_capacity(24);
                match range.ty() {
                    RangeType::Numrange => range.write_binary(&mut bytes),
                    _ => range.write_key(&mut bytes),
                }
                Stored::Bytes(Cow::Owned(bytes))
            }
            Self::Numeric(v) => match ty.word_scale() {
                Some(_) if v.is_nan() => Stored::Int8(WORD_NAN),
                Some(scale) => Stored::Int8(v.mantissa_at(scale).ok_or_else(|| misfit(self, ty))?),
                None => {
                    let mut bytes = Vec::with_capacity(16);
                    v.write_sorted(&mut bytes);
                    if fixed_scale(ty).is_none() {
                        bytes.extend_from_slice(&v.scale().unwrap_or(0).to_be_bytes());
                    }
                    Stored::Bytes(Cow::Owned(bytes))
                }
            },
            Self::Interval(v) => {
                let mut bytes = Vec::with_capacity(16);
                bytes.extend_from_slice(&v.months.to_be_bytes());
                bytes.extend_from_slice(&v.days.to_be_bytes());
                bytes.extend_from_slice(&v.micros.to_be_bytes());
                Stored::Bytes(Cow::Owned(bytes))
            }
            Self::Jsonb(v) => {
                if v.is_too_deep() {
                    let message = format!("jsonb is nested deeper than {} levels", crate::json::MAX_DEPTH);
                    return Err(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, message));
                }
                let mut bytes = Vec::new();
                v.write_stored(&mut bytes);
                Stored::Bytes(Cow::Owned(bytes))
            }
            Self::Array(array) => {
                let mut bytes = Vec::new();
                match array.element().as_enum() {
                    Some(_) => Self::Array(Arc::new(orders(array)?)).write_binary(Type::INT8, &mut bytes),
                    None => self.write_binary(ty, &mut bytes),
                }
                Stored::Bytes(Cow::Owned(bytes))
            }
        })
    }

    /// The value of a type from what a row has.
    ///
    /// # Errors
    ///
    /// XX001 if it cannot be one, 22008 for a date or time out of range, 40001 for a label that an enum type does not
    /// have in this definition.
    pub fn load(ty: Type, stored: &Stored<'_>) -> Result<Self> {
        let wrong = || corrupt(ty);
        if ty.array {
            return match stored {
                Stored::Null => Ok(Self::Null),
                Stored::Bytes(bytes) if let Base::Enum(definition) = ty.base => {
                    match Self::from_binary(bytes, Type::array_of(Base::Int8)) {
                        Ok(Self::Array(orders)) => labels(&orders, definition),
                        _ => Err(wrong()),
                    }
                }
                Stored::Bytes(bytes) => Self::from_binary(bytes, ty).map_err(|_| wrong()),
                _ => Err(wrong()),
            };
        }
        Ok(match (stored, ty.base) {
            (Stored::Null, _) => Self::Null,
            (Stored::Bool(v), _) => Self::Bool(*v),
            (Stored::Int2(v), Base::Char) => Self::Char(u8::try_from(*v).map_err(|_| wrong())?),
            (Stored::Int2(v), _) => Self::Int2(*v),
            (Stored::Int4(v), _) => Self::Int4(*v),
            (Stored::Int8(v), Base::Int8) => Self::Int8(*v),
            (Stored::Int8(v), Base::Money) => Self::Money(*v),
            (Stored::Int8(v), Base::Numeric) => match ty.word_scale() {
                Some(scale) => Self::of_word(*v, scale),
                None => return Err(wrong()),
            },
            (Stored::Int8(v), _) if ty.is_oid() => Self::Oid(u32::try_from(*v).map_err(|_| wrong())?),
            (Stored::Int8(v), Base::Macaddr) => match v.to_be_bytes() {
                [0, 0, a, b, c, d, e, f] => Self::Macaddr([a, b, c, d, e, f]),
                _ => return Err(wrong()),
            },
            (Stored::Int8(v), Base::Timetz) => Self::Timetz(Timetz::of_key(*v).ok_or_else(wrong)?),
            (Stored::Int8(v), Base::Macaddr8) => Self::Macaddr8((v ^ i64::MIN).to_be_bytes()),
            (Stored::Int8(v), Base::Enum(definition)) => {
                Self::Enum(definition.stored(*v).ok_or_else(|| changed_enum(ty))?)
            }
            (Stored::Float4(v), _) => Self::Float4(*v),
            (Stored::Float8(v), _) => Self::Float8(*v),
            // what SQL has not written may be anything
            (Stored::Date(v), _) => Self::Date(check_date(*v)?),
            (Stored::Time(v), _) => Self::Time(check_time(*v)?),
            (Stored::Timestamp(v), Base::Timestamptz) => Self::Timestamptz(check_timestamp(*v)?),
            (Stored::Timestamp(v), _) => Self::Timestamp(check_timestamp(*v)?),
            (Stored::Uuid(v), _) => Self::Uuid(*v),
            (Stored::Text(v), Base::Jsonpath) => {
                Self::Jsonpath(Arc::new(JsonPath::parse(v).map_err(|_| wrong())?))
            }
            (Stored::Text(v), _) => Self::Text(Text::new(v)),
            (Stored::Bytes(v), Base::Bytea) => Self::Bytea(Arc::from(v.as_ref())),
            (Stored::Bytes(v), Base::Numeric) => Self::Numeric(load_numeric(ty, v).ok_or_else(wrong)?),
            (Stored::Bytes(v), Base::Interval) => Self::Interval(load_interval(v).ok_or_else(wrong)?),
            (Stored::Bytes(v), Base::Bit | Base::Varbit) => {
                Self::Bits(Arc::new(Bits::read_key(v).ok_or_else(wrong)?))
            }
            (Stored::Bytes(v), Base::Inet) => Self::Inet(Inet::read_key(v).ok_or_else(wrong)?),
            (Stored::Bytes(v), Base::Cidr) => {
                Self::Inet(Inet::read_key(v).filter(Inet::is_network).ok_or_else(wrong)?)
            }
            (Stored::Bytes(v), Base::Jsonb) => Self::jsonb(Json::read_stored(v).ok_or_else(wrong)?),
            (Stored::Bytes(v), Base::Range(RangeType::Numrange)) => {
                Self::from_binary(v, ty).map_err(|_| wrong())?
            }
            (Stored::Bytes(v), Base::Range(range)) => {
                Self::Range(Arc::new(Range::read_key(v, range).ok_or_else(wrong)?))
            }
            (Stored::Bytes(v), Base::Int2vector | Base::Oidvector) => {
                Self::from_binary(v, ty).map_err(|_| wrong())?
            }
            _ => return Err(wrong()),
        })
    }

    /// The mantissa of a number of a column that is stored as an integer; `None` of NaN.
    #[inline]
    pub fn mantissa_of_word(word: i64) -> Option<i64> {
        if word == WORD_NAN { None } else { Some(word) }
    }

    /// The number of a column that is stored as an integer, and of its scale.
    #[inline]
    pub fn of_word(word: i64, scale: i32) -> Self {
        if word == WORD_NAN {
            return Self::Numeric(Numeric::NaN);
        }
        Self::Numeric(Numeric::from_mantissa(word, scale))
    }

    /// Appends the key of [`KeyForm::Separate`]: bytes that sort as the values do, and are equal if they are. No key is
    /// a prefix of another. NULL has none.
    pub fn write_key(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Bool(v) => out.push(u8::from(*v)),
            Self::Int2(v) => out.extend_from_slice(&(v ^ i16::MIN).to_be_bytes()),
            Self::Int4(v) | Self::Date(v) => out.extend_from_slice(&(v ^ i32::MIN).to_be_bytes()),
            Self::Int8(v) | Self::Time(v) | Self::Timestamp(v) | Self::Timestamptz(v) => {
                out.extend_from_slice(&(v ^ i64::MIN).to_be_bytes());
            }
            Self::Float4(v) => out.extend_from_slice(&sorted_float((*v).into()).to_be_bytes()),
            Self::Float8(v) => out.extend_from_slice(&sorted_float(*v).to_be_bytes()),
            Self::Numeric(v) => v.write_sorted(out),
            Self::Text(v) => write_terminated(v.as_bytes(), out),
            Self::Char(v) => out.push(*v),
            Self::Bytea(v) => write_terminated(v, out),
            Self::Interval(v) => out.extend_from_slice(&(v.span() ^ i128::MIN).to_be_bytes()),
            Self::Timetz(v) => out.extend_from_slice(&(v.key() ^ i64::MIN).to_be_bytes()),
            Self::Bits(v) => v.write_key(out),
            Self::Money(v) => out.extend_from_slice(&(v ^ i64::MIN).to_be_bytes()),
            Self::Uuid(v) => out.extend_from_slice(v),
            Self::Inet(v) => v.write_key(out),
            Self::Macaddr(v) => out.extend_from_slice(v),
            Self::Macaddr8(v) => out.extend_from_slice(v),
            Self::Jsonpath(v) => write_terminated(v.text().as_bytes(), out),
            // the least of all
            Self::Jsonb(v) if v.is_empty_array() => out.push(0),
            Self::Jsonb(v) => v.write_key(out),
            Self::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
            Self::Enum(v) => out.extend_from_slice(&(v.order() ^ i64::MIN).to_be_bytes()),
            Self::Record(v) => write_sequence(v.values(), out),
            Self::Range(v) => v.write_key(out),
            Self::Array(v) => {
                write_sequence(v.values(), out);
                out.push(v.dimensions().len() as u8);
                for dim in v.dimensions() {
                    out.extend_from_slice(&(dim.len ^ i32::MIN).to_be_bytes());
                    out.extend_from_slice(&(dim.lower ^ i32::MIN).to_be_bytes());
                }
            }
        }
    }
}

/// Values one after the other: each is preceded by 1, NULL is 2, the end 0, so that fewer come first and NULLs last.
fn write_sequence(values: &[Value], out: &mut Vec<u8>) {
    for value in values {
        out.push(if value.is_null() { 2 } else { 1 });
        value.write_key(out);
    }
    out.push(0);
}

/// Bytes, each 00 as 00 FF, and 00 01 at the end.
pub(crate) fn write_terminated(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xFF);
        }
    }
    out.extend_from_slice(&[0, 1]);
}

fn sorted_float(v: f64) -> u64 {
    let bits = match v {
        _ if v.is_nan() => f64::NAN.to_bits() & (u64::MAX >> 1),
        _ if v == 0.0 => 0,
        _ => v.to_bits(),
    };
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

fn load_numeric(ty: Type, bytes: &[u8]) -> Option<Numeric> {
    if let Some(scale) = fixed_scale(ty) {
        let (value, rest) = Numeric::read_sorted(bytes, scale)?;
        return rest.is_empty().then_some(value);
    }
    let (bytes, scale) = bytes.split_last_chunk::<2>()?;
    let (value, rest) = Numeric::read_sorted(bytes, u16::from_be_bytes(*scale))?;
    rest.is_empty().then_some(value)
}

fn load_interval(bytes: &[u8]) -> Option<Interval> {
    let (months, rest) = bytes.split_first_chunk::<4>()?;
    let (days, rest) = rest.split_first_chunk::<4>()?;
    let micros: [u8; 8] = rest.try_into().ok()?;
    Some(Interval::new(i32::from_be_bytes(*months), i32::from_be_bytes(*days), i64::from_be_bytes(micros)))
}
