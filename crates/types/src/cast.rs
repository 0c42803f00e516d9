//! Casts: which there are, in which context, and what they do.

use crate::array_text::vector;
use crate::binary::round_micros;
use crate::bits::Bits;
use crate::calendar;
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::json::Json;
use crate::macaddr;
use crate::text::{NAME_LENGTH, clip, fit_bits, fit_text, parse_char};
use crate::ty::{Base, Category, Type};
use crate::value::{Text, Value};
use std::sync::Arc;

/// Where a cast may happen without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// Anywhere.
    Implicit,
    /// When a value is assigned to a column.
    Assignment,
    /// Nowhere: `CAST` or `::` has to be written.
    Explicit,
}

/// How a cast is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The values are the same.
    Same,
    /// By code for these types.
    Code,
    /// By printing and reading.
    Text,
    /// Element by element.
    Elements,
}

/// A cast from one type to another, modifiers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    /// The type before.
    pub from: Type,
    /// The type after.
    pub to: Type,
    how: How,
    /// Whether it was written: then text that is too long is cut.
    explicit: bool,
}

use Base::*;

const NUMBERS: [Base; 6] = [Int2, Int4, Int8, Float4, Float8, Numeric];

fn is_reg(base: Base) -> bool {
    matches!(base, Regclass | Regtype | Regproc | Regprocedure | Regnamespace | Regrole)
}

/// The cast of `pg_cast`, if there is one between two base types.
fn listed(from: Base, to: Base) -> Option<(Context, How)> {
    use Context::*;
    let number = |base: Base| NUMBERS.iter().position(|b| *b == base);
    Some(match (from, to) {
        (Int8, Float4 | Float8 | Numeric) | (Numeric, Float4 | Float8) => (Implicit, How::Code),
        _ if number(from).is_some() && number(to).is_some() => {
            // the integers widen, and become floats and numerics; floats become numerics only when asked
            let up = number(from) < number(to) && !(matches!(from, Float4 | Float8) && to == Numeric);
            (if up { Implicit } else { Assignment }, How::Code)
        }
        (Bool, Int4) | (Int4, Bool | Char) | (Char, Int4) => (Explicit, How::Code),
        (Bool, Text | Varchar | Bpchar) => (Assignment, How::Code),
        (Text | Varchar, Text | Varchar | Bpchar) | (Bpchar | Name, Text) | (Bpchar, Varchar) => {
            (Implicit, How::Same)
        }
        (Name, Varchar | Bpchar) => (Assignment, How::Same),
        (Text | Varchar | Bpchar, Name) => (Implicit, How::Code),
        (Text | Varchar | Bpchar, Char) => (Assignment, How::Code),
        (Char, Text) => (Implicit, How::Code),
        (Char, Varchar | Bpchar) => (Assignment, How::Code),
        (Text | Varchar, Regclass) => (Implicit, How::Text),
        (Int2 | Int4 | Int8, Oid) => (Implicit, How::Code),
        (Int2 | Int4 | Int8, to) if is_reg(to) => (Implicit, How::Code),
        (Oid, Int4 | Int8) => (Assignment, How::Code),
        (from, Int4 | Int8) if is_reg(from) => (Assignment, How::Code),
        (Oid, to) if is_reg(to) => (Implicit, How::Same),
        (from, Oid) if is_reg(from) => (Implicit, How::Same),
        (Date, Timestamp | Timestamptz) | (Timestamp, Timestamptz) | (Time, Interval | Timetz) => {
            (Implicit, How::Code)
        }
        (Timestamptz, Timetz) | (Timetz, Time) => (Assignment, How::Code),
        (Timestamp | Timestamptz, Date | Time) | (Timestamptz, Timestamp) | (Interval, Time) => {
            (Assignment, How::Code)
        }
        (Int4 | Int8 | Numeric, Money) | (Money, Numeric) => (Assignment, How::Code),
        (Bit, Varbit) | (Varbit, Bit) => (Implicit, How::Same),
        (Int4 | Int8, Bit) | (Bit, Int4 | Int8) => (Explicit, How::Code),
        (Cidr, Inet) => (Implicit, How::Same),
        (Inet, Cidr) => (Assignment, How::Code),
        (Inet | Cidr, Text | Varchar | Bpchar) => (Assignment, How::Code),
        (Macaddr, Macaddr8) | (Macaddr8, Macaddr) => (Implicit, How::Code),
        (Json, Jsonb) | (Jsonb, Json) => (Assignment, How::Text),
        (Jsonb, Bool | Int2 | Int4 | Int8 | Float4 | Float8 | Numeric) => (Explicit, How::Code),
        _ => return None,
    })
}

/// The cast between two types that may happen in a context; None if there is none.
pub fn find_cast(from: Type, to: Type, context: Context) -> Option<Cast> {
    let (from, to) = (from.value_type(), to.value_type());
    let cast = |how| Some(Cast { from, to, how, explicit: context == Context::Explicit });
    if from.same(to) {
        return cast(How::Same);
    }
    // a literal is read as what it has to be
    if from.base == Unknown {
        return cast(How::Text);
    }
    let scalars = !from.array && !to.array;
    if scalars && let Some((allowed, how)) = listed(from.base, to.base) {
        return if allowed <= context { cast(how) } else { None };
    }
    if let (true, true, Some(a), Some(b)) = (from.array, to.array, from.element(), to.element()) {
        return find_cast(a, b, context).and_then(|_| cast(How::Elements));
    }
    // vectors are arrays
    if !from.array && to.array && from.element().is_some() && from.element() == to.element() {
        return cast(How::Same);
    }
    // and an array is made one when asked, as clients compare `ARRAY[..]::oidvector` with one of a catalog
    let is_vector = matches!(to.base, Int2vector | Oidvector) && !to.array;
    if let (true, true, Some(a), Some(b)) = (from.array, is_vector, from.element(), to.element())
        && context == Context::Explicit
    {
        return find_cast(a, b, context).and_then(|_| cast(How::Elements));
    }
    let pseudo = |ty: Type| ty.category() == Category::Pseudo;
    let prints = !pseudo(from) || matches!(from.base, Record | Void);
    // everything prints, and text can be read as anything
    if to.category() == Category::String && prints && context >= Context::Assignment {
        return cast(How::Text);
    }
    if from.category() == Category::String && !pseudo(to) && context == Context::Explicit {
        return cast(How::Text);
    }
    None
}

/// The answer to a cast that does not exist.
pub fn no_cast(from: Type, to: Type) -> SqlError {
    let message = format!("cannot cast type {} to {}", from.sql_name(), to.sql_name());
    SqlError::new(SqlState::CANNOT_COERCE, message)
}

impl Cast {
    /// Whether it leaves every value as it is. What becomes `char` loses the blanks at its end, which do not count
    /// there.
    pub fn is_noop(&self) -> bool {
        self.how == How::Same
            && (self.to.base != Bpchar || self.from.base == Bpchar)
            && (self.to.typmod < 0 || self.to.typmod == self.from.typmod && self.from.same(self.to))
    }

    /// Whether it is one that no function stands behind: the values are the same, or are printed and read.
    pub fn needs_no_code(&self) -> bool {
        matches!(self.how, How::Same | How::Text)
    }

    /// Casts a value.
    ///
    /// # Errors
    ///
    /// What PostgreSQL answers to a value that does not fit.
    pub fn apply(&self, value: &Value, env: &Env) -> Result<Value> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let cast = match self.how {
            How::Same => value.clone(),
            How::Code => convert(value, self.to, env)?,
            How::Text => {
                let text = value.to_text(self.from, env).unwrap_or_default();
                let to = if self.to.array { self.to } else { self.to.plain() };
                let text = if self.from.base == Bpchar { text.trim_end_matches(' ') } else { &text };
                Value::parse(text, to, env)?
            }
            How::Elements => {
                let (Value::Array(array), Some(from), Some(to)) =
                    (value, self.from.element(), self.to.element())
                else {
                    return Err(SqlError::internal("an array cast of no array"));
                };
                let context = if self.explicit { Context::Explicit } else { Context::Assignment };
                let cast = find_cast(from, to, context).ok_or_else(|| no_cast(from, to))?;
                let array = array.map(to, |value| cast.apply(value, env))?;
                if !self.to.array {
                    return array_to_vector(&array, self.to);
                }
                return Ok(Value::Array(Arc::new(array)));
            }
        };
        apply_typmod(cast, self.to, self.explicit)
    }
}

/// An array as an int2vector or an oidvector.
///
/// # Errors
///
/// 42804 for one of several dimensions, or with NULLs.
fn array_to_vector(array: &crate::Array, to: Type) -> Result<Value> {
    if array.dimensions().len() > 1 || array.values().iter().any(Value::is_null) {
        let what = format!("array is not a valid {}", to.sql_name());
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
    }
    Ok(vector(array.element(), array.values().to_vec()))
}

/// Applies the modifier of a type to a value of it. An explicit cast cuts text that is too long.
///
/// # Errors
///
/// 22001 or 22003 if the value does not fit.
pub fn apply_typmod(value: Value, ty: Type, explicit: bool) -> Result<Value> {
    if ty.typmod < 0 && (ty.base != Bpchar) {
        return Ok(value);
    }
    Ok(match value {
        Value::Text(text) if matches!(ty.base, Varchar | Bpchar) => {
            let fitted = fit_text(&text, ty, explicit)?;
            if fitted.len() == text.len() { Value::Text(text) } else { Value::text(fitted) }
        }
        Value::Numeric(v) => Value::Numeric(v.to_typmod(ty)?),
        Value::Bits(v) => Value::Bits(fit_bits(v, ty, explicit)?),
        Value::Time(v) => Value::Time(round_micros(v, ty)),
        Value::Timetz(v) => Value::Timetz(crate::Timetz { micros: round_micros(v.micros, ty), ..v }),
        Value::Timestamp(v) => Value::Timestamp(round_timestamp(v, ty)?),
        Value::Timestamptz(v) => Value::Timestamptz(round_timestamp(v, ty)?),
        Value::Interval(v) => Value::Interval(v.to_typmod(ty)?),
        Value::Array(array) if ty.array => {
            let element = Type { array: false, ..ty };
            if array.element() == element {
                return Ok(Value::Array(array));
            }
            let mapped = array.map(element, |value| apply_typmod(value.clone(), element, explicit))?;
            Value::Array(Arc::new(mapped))
        }
        other => other,
    })
}

fn round_timestamp(micros: i64, ty: Type) -> Result<i64> {
    if calendar::is_infinite(micros) {
        return Ok(micros);
    }
    let rounded = round_micros(micros, ty);
    if calendar::is_timestamp(rounded) { Ok(rounded) } else { Err(timestamp_out_of_range()) }
}

/// 22008.
#[cold]
pub(crate) fn timestamp_out_of_range() -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

#[cold]
fn int_out_of_range(name: &str) -> SqlError {
    SqlError::out_of_range(format!("{name} out of range"))
}

/// An integer as another type of number.
fn from_int(v: i64, to: Type) -> Result<Value> {
    Ok(match to.base {
        Int2 => Value::Int2(i16::try_from(v).map_err(|_| int_out_of_range("smallint"))?),
        Int4 => Value::Int4(i32::try_from(v).map_err(|_| int_out_of_range("integer"))?),
        Int8 => Value::Int8(v),
        Float4 => Value::Float4(v as f32),
        Float8 => Value::Float8(v as f64),
        Numeric => Value::Numeric(v.into()),
        _ => return Err(no_cast(Type::INT8, to)),
    })
}

/// A float rounded half to even, as an integer.
fn round_float(v: f64, min: f64, max: f64, name: &str) -> Result<i64> {
    let rounded = v.round_ties_even();
    if rounded >= min && rounded < max { Ok(rounded as i64) } else { Err(int_out_of_range(name)) }
}

fn from_float(v: f64, to: Type) -> Result<Value> {
    const TWO_15: f64 = 32_768.0;
    const TWO_31: f64 = 2_147_483_648.0;
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    Ok(match to.base {
        Int2 => Value::Int2(round_float(v, -TWO_15, TWO_15, "smallint")? as i16),
        Int4 => Value::Int4(round_float(v, -TWO_31, TWO_31, "integer")? as i32),
        Int8 => Value::Int8(round_float(v, -TWO_63, TWO_63, "bigint")?),
        Float8 => Value::Float8(v),
        Float4 => {
            let narrow = v as f32;
            if narrow.is_infinite() && v.is_finite() {
                return Err(SqlError::out_of_range("value out of range: overflow"));
            }
            if narrow == 0.0 && v != 0.0 {
                return Err(SqlError::out_of_range("value out of range: underflow"));
            }
            Value::Float4(narrow)
        }
        _ => return Err(no_cast(Type::FLOAT8, to)),
    })
}

/// The number or boolean of a jsonb.
fn from_json(json: &Json, to: Type) -> Result<Value> {
    let refuse = || {
        let kind = match json {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "numeric",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        };
        SqlError::invalid_parameter(format!("cannot cast jsonb {kind} to type {}", to.sql_name()))
    };
    match (json, to.base) {
        (Json::Bool(v), Bool) => Ok(Value::Bool(*v)),
        (Json::Number(v), Int2 | Int4 | Int8 | Float4 | Float8 | Numeric) => from_numeric(v, to),
        _ => Err(refuse()),
    }
}

fn from_numeric(v: &crate::numeric::Numeric, to: Type) -> Result<Value> {
    match to.base {
        Int2 => from_int(v.to_int("smallint")?, to),
        Int4 => from_int(v.to_int("integer")?, to),
        Int8 => Ok(Value::Int8(v.to_int("bigint")?)),
        Float4 => Ok(Value::Float4(v.to_f32()?)),
        Float8 => Ok(Value::Float8(v.to_f64()?)),
        Numeric => Ok(Value::Numeric(v.clone())),
        _ => Err(no_cast(Type::NUMERIC, to)),
    }
}

/// The casts that have code.
fn convert(value: &Value, to: Type, env: &Env) -> Result<Value> {
    let out_of_range = |message: &'static str| SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message);
    Ok(match (value, to.base) {
        (Value::Bool(v), Int4) => Value::Int4((*v).into()),
        (Value::Bool(v), _) => Value::Text(Text::new_static(if *v { "true" } else { "false" })),
        (Value::Int4(v), Bool) => Value::Bool(*v != 0),
        (Value::Int4(v), Char) => match i8::try_from(*v) {
            Ok(v) => Value::Char(v as u8),
            Err(_) => return Err(int_out_of_range("\"char\"")),
        },
        // negative int4 wrap, as bits are kept
        (Value::Int4(v), _) if to.is_oid() => Value::Oid(*v as u32),
        (Value::Int2(v), _) if to.is_oid() => Value::Oid(i32::from(*v) as u32),
        (Value::Int8(v), _) if to.is_oid() => {
            Value::Oid(u32::try_from(*v).map_err(|_| SqlError::out_of_range("OID out of range"))?)
        }
        (Value::Int4(_) | Value::Int8(_), Money) => {
            let hundredths = value.as_i64().and_then(|v| v.checked_mul(100));
            Value::Money(hundredths.ok_or_else(|| int_out_of_range("bigint"))?)
        }
        (Value::Numeric(v), Money) => {
            Value::Money(v.mul(&crate::numeric::Numeric::from(100_i64))?.to_int("bigint")?)
        }
        (Value::Money(v), _) => Value::Numeric(crate::numeric::Numeric::small(*v, crate::money::DIGITS)),
        (Value::Int4(_) | Value::Int8(_), Bit) => {
            Bits::of_int(value.as_i64().unwrap_or(0), to.bit_length().unwrap_or(1)).into()
        }
        (Value::Bits(v), Int4) => bits_to_int(v, 32)?,
        (Value::Bits(v), Int8) => bits_to_int(v, 64)?,
        (Value::Int2(_) | Value::Int4(_) | Value::Int8(_), _) => from_int(value.as_i64().unwrap_or(0), to)?,
        (Value::Oid(v), Int4) => Value::Int4(*v as i32),
        (Value::Oid(v), _) => Value::Int8((*v).into()),
        (Value::Float4(v), Numeric) => Value::Numeric(crate::numeric::Numeric::from_f32(*v)),
        (Value::Float8(v), Numeric) => Value::Numeric(crate::numeric::Numeric::from_f64(*v)),
        (Value::Float4(v), _) => from_float((*v).into(), to)?,
        (Value::Float8(v), _) => from_float(*v, to)?,
        (Value::Numeric(v), _) => from_numeric(v, to)?,
        (Value::Text(v), Name) => Value::text(clip(v, NAME_LENGTH)),
        (Value::Text(v), Char) => Value::Char(parse_char(v)),
        (Value::Char(v), Int4) => Value::Int4((*v as i8).into()),
        (Value::Char(_), _) => Value::Text(value.to_text(Type::CHAR, env).unwrap_or_default()),
        (Value::Date(v), Timestamp) => Value::Timestamp(date_to_timestamp(*v)?),
        (Value::Date(v), Timestamptz) => match date_to_timestamp(*v)? {
            v if calendar::is_infinite(v) => Value::Timestamptz(v),
            v => {
                let utc = env.zone.to_utc(v);
                Value::Timestamptz(utc.ok_or_else(|| out_of_range("date out of range for timestamp"))?)
            }
        },
        (Value::Timestamp(v), Timestamptz) => Value::Timestamptz(timestamp_to_timestamptz(*v, env)?),
        (Value::Timestamptz(v), Timestamp) => Value::Timestamp(timestamptz_to_timestamp(*v, env)?),
        (Value::Timestamp(v), Date) => Value::Date(timestamp_to_date(*v)),
        (Value::Timestamptz(v), Date) => Value::Date(timestamp_to_date(timestamptz_to_timestamp(*v, env)?)),
        (Value::Timestamp(v), Time) => timestamp_to_time(*v),
        (Value::Timestamptz(v), Time) => timestamp_to_time(timestamptz_to_timestamp(*v, env)?),
        (Value::Interval(v), Time) => Value::Time(v.micros.rem_euclid(calendar::DAY_MICROS)),
        (Value::Time(v), Timetz) => Value::Timetz(crate::Timetz::of_today(*v, env)?),
        (Value::Timetz(v), Time) => Value::Time(v.micros),
        (Value::Timestamptz(v), Timetz) => timestamptz_to_timetz(*v, env)?,
        (Value::Time(v), Interval) => Value::Interval(crate::interval::Interval::new(0, 0, *v)),
        (Value::Inet(v), Cidr) => Value::Inet(v.network()),
        // with the bits of the network, even if they are all
        (Value::Inet(v), _) => Value::Text(v.shown()),
        (Value::Macaddr(v), Macaddr8) => Value::Macaddr8(macaddr::widened(*v)),
        (Value::Macaddr8(v), Macaddr) => Value::Macaddr(macaddr::narrowed(*v)?),
        (Value::Jsonb(v), _) => from_json(v, to)?,
        _ => return Err(SqlError::internal(format!("no code to cast {value:?} to {to}"))),
    })
}

/// The number that bits are: an int4 of 32 at most, or an int8 of 64.
pub(crate) fn bits_to_int(v: &Bits, max: usize) -> Result<Value> {
    let name = if max == 32 { "integer" } else { "bigint" };
    let number = v.to_int(max).ok_or_else(|| int_out_of_range(name))?;
    Ok(if max == 32 { Value::Int4(number as u32 as i32) } else { Value::Int8(number as i64) })
}

/// Midnight of a date.
pub(crate) fn date_to_timestamp(day: i32) -> Result<i64> {
    match day {
        calendar::DATE_INFINITY => Ok(calendar::TIMESTAMP_INFINITY),
        calendar::DATE_NEG_INFINITY => Ok(calendar::TIMESTAMP_NEG_INFINITY),
        _ => {
            let micros =
                i64::from(day).checked_mul(calendar::DAY_MICROS).filter(|v| calendar::is_timestamp(*v));
            micros.ok_or_else(|| {
                SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")
            })
        }
    }
}

/// The date of a timestamp.
pub(crate) fn timestamp_to_date(micros: i64) -> i32 {
    match micros {
        calendar::TIMESTAMP_INFINITY => calendar::DATE_INFINITY,
        calendar::TIMESTAMP_NEG_INFINITY => calendar::DATE_NEG_INFINITY,
        // a timestamp has less days than a date
        _ => calendar::split(micros).0 as i32,
    }
}

fn timestamp_to_time(micros: i64) -> Value {
    if calendar::is_infinite(micros) { Value::Null } else { Value::Time(calendar::split(micros).1) }
}

/// What the session's clocks show at a time, without the date; NULL of infinity.
pub(crate) fn timestamptz_to_timetz(micros: i64, env: &Env) -> Result<Value> {
    if calendar::is_infinite(micros) {
        return Ok(Value::Null);
    }
    let local = calendar::split(timestamptz_to_timestamp(micros, env)?).1;
    Ok(Value::Timetz(crate::Timetz::new(local, env.zone.offset_at(micros)).checked()?))
}

/// The time in UTC at which the session's clocks show a timestamp.
pub(crate) fn timestamp_to_timestamptz(micros: i64, env: &Env) -> Result<i64> {
    if calendar::is_infinite(micros) {
        return Ok(micros);
    }
    env.zone.to_utc(micros).ok_or_else(timestamp_out_of_range)
}

/// What the session's clocks show at a time.
pub(crate) fn timestamptz_to_timestamp(micros: i64, env: &Env) -> Result<i64> {
    if calendar::is_infinite(micros) {
        return Ok(micros);
    }
    env.zone.to_local(micros).filter(|v| calendar::is_timestamp(*v)).ok_or_else(timestamp_out_of_range)
}
