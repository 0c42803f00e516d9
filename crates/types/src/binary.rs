//! Values in PostgreSQL's binary format: parameters and results of the extended protocol.

use crate::array::{Array, Dimension, MAX_DIMENSIONS, check_dimensions};
use crate::bits::Bits;
use crate::calendar;
use crate::error::{Result, SqlError, SqlState};
use crate::interval::Interval;
use crate::json::Json;
use crate::jsonpath::JsonPath;
use crate::macaddr;
use crate::network::Inet;
use crate::numeric::Numeric;
use crate::range::Range;
use crate::text::{clip, fit_bits, fit_text, pad, utf8};
use crate::timetz::Timetz;
use crate::ty::{Base, Type};
use crate::value::Value;
use std::sync::Arc;

#[cold]
fn wrong_format() -> SqlError {
    SqlError::invalid_binary("incorrect binary data format")
}

#[cold]
fn short() -> SqlError {
    SqlError::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")
}

/// Reads from the front of a message.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or_else(short)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(short)?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.chunk()?))
    }
}

/// All of a message, which has to be this long.
fn exact<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    match bytes.try_into() {
        Ok(chunk) => Ok(chunk),
        Err(_) if bytes.len() < N => Err(short()),
        Err(_) => Err(wrong_format()),
    }
}

impl Value {
    /// The value of PostgreSQL's binary format. The modifier of the type applies, as in [`Value::parse`].
    ///
    /// # Errors
    ///
    /// 22P03 if the length or content is wrong, 08P01 if bytes are missing, 22003, 22008, 22001 or 22021 if the value
    /// does not fit.
    pub fn from_binary(bytes: &[u8], ty: Type) -> Result<Self> {
        if ty.array {
            return array(bytes, ty, 1);
        }
        Ok(match ty.base {
            Base::Bool => Self::Bool(exact::<1>(bytes)? != [0]),
            Base::Int2 => Self::Int2(i16::from_be_bytes(exact(bytes)?)),
            Base::Int4 => Self::Int4(i32::from_be_bytes(exact(bytes)?)),
            Base::Int8 => Self::Int8(i64::from_be_bytes(exact(bytes)?)),
            Base::Float4 => Self::Float4(f32::from_be_bytes(exact(bytes)?)),
            Base::Float8 => Self::Float8(f64::from_be_bytes(exact(bytes)?)),
            Base::Numeric => Self::Numeric(Numeric::from_binary(bytes)?.to_typmod(ty)?),
            Base::Text | Base::Refcursor | Base::Unknown => Self::text(utf8(bytes)?),
            Base::Varchar | Base::Bpchar => Self::text(fit_text(utf8(bytes)?, ty, false)?),
            Base::Name => Self::text(clip(utf8(bytes)?, crate::text::NAME_LENGTH)),
            Base::Char => Self::Char(exact::<1>(bytes)?[0]),
            Base::Bytea => Self::bytea(bytes),
            Base::Date => {
                let day = i32::from_be_bytes(exact(bytes)?);
                if !calendar::is_infinite_date(day) && !calendar::is_day(day.into()) {
                    return Err(out_of_range("date out of range"));
                }
                Self::Date(day)
            }
            Base::Time => {
                let micros = i64::from_be_bytes(exact(bytes)?);
                if !(0..=calendar::DAY_MICROS).contains(&micros) {
                    return Err(out_of_range("time out of range"));
                }
                Self::Time(round_micros(micros, ty))
            }
            Base::Timetz => {
                let bytes: [u8; 12] = exact(bytes)?;
                let mut reader = Reader { bytes: &bytes };
                let micros = i64::from_be_bytes(reader.chunk()?);
                let read = Timetz { micros, west: reader.i32()? }.checked()?;
                Self::Timetz(Timetz { micros: round_micros(read.micros, ty), ..read })
            }
            Base::Timestamp => Self::Timestamp(timestamp(bytes, ty)?),
            Base::Timestamptz => Self::Timestamptz(timestamp(bytes, ty)?),
            Base::Interval => {
                let bytes: [u8; 16] = exact(bytes)?;
                let mut reader = Reader { bytes: &bytes };
                let micros = i64::from_be_bytes(reader.chunk()?);
                let days = reader.i32()?;
                let months = reader.i32()?;
                Self::Interval(Interval::new(months, days, micros).to_typmod(ty)?)
            }
            Base::Bit | Base::Varbit => Self::Bits(fit_bits(Arc::new(Bits::from_binary(bytes)?), ty, false)?),
            Base::Money => Self::Money(i64::from_be_bytes(exact(bytes)?)),
            Base::Uuid => Self::Uuid(exact(bytes)?),
            Base::Inet => Self::Inet(Inet::from_binary(bytes, false)?),
            Base::Cidr => Self::Inet(Inet::from_binary(bytes, true)?),
            Base::Macaddr => Self::Macaddr(exact(bytes)?),
            Base::Macaddr8 => Self::Macaddr8(match bytes.try_into() {
                Ok(short) => macaddr::widened(short),
                Err(_) => exact(bytes)?,
            }),
            Base::Json => {
                let text = utf8(bytes)?;
                Json::check(text, "json")?;
                Self::text(text)
            }
            Base::Jsonb => match bytes.split_first() {
                Some((1, text)) => Self::Jsonb(Arc::new(Json::parse(utf8(text)?)?)),
                Some((version, _)) => {
                    return Err(SqlError::internal(format!("unsupported jsonb version number {version}")));
                }
                None => return Err(short()),
            },
            Base::Jsonpath => match bytes.split_first() {
                Some((1, text)) => Self::Jsonpath(Arc::new(JsonPath::parse(utf8(text)?)?)),
                Some((version, _)) => {
                    return Err(SqlError::internal(format!(
                        "unsupported jsonpath version number: {version}"
                    )));
                }
                None => return Err(short()),
            },
            Base::Oid
            | Base::Xid
            | Base::Regclass
            | Base::Regtype
            | Base::Regproc
            | Base::Regnamespace
            | Base::Regrole
            | Base::Regprocedure => Self::Oid(u32::from_be_bytes(exact(bytes)?)),
            Base::Int2vector | Base::Oidvector => array(bytes, ty, 0)?,
            Base::Range(range) => Self::Range(Arc::new(Range::from_binary(bytes, range)?)),
            Base::Enum(definition) => Self::Enum(definition.value(utf8(bytes)?)?),
            Base::Void => Self::Null,
            Base::Polymorphic(_) => {
                let what = format!("cannot accept a value of type {}", ty.sql_name());
                return Err(SqlError::unsupported(what));
            }
            Base::Record => {
                return Err(SqlError::unsupported("input of anonymous composite types is not implemented"));
            }
        })
    }

    /// Appends PostgreSQL's binary format. Nothing for NULL.
    pub fn write_binary(&self, ty: Type, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Bool(v) => out.push(u8::from(*v)),
            Self::Int2(v) => out.extend_from_slice(&v.to_be_bytes()),
            Self::Int4(v) | Self::Date(v) => out.extend_from_slice(&v.to_be_bytes()),
            Self::Int8(v) | Self::Time(v) | Self::Timestamp(v) | Self::Timestamptz(v) => {
                out.extend_from_slice(&v.to_be_bytes());
            }
            Self::Float4(v) => out.extend_from_slice(&v.to_be_bytes()),
            Self::Float8(v) => out.extend_from_slice(&v.to_be_bytes()),
            Self::Numeric(v) => v.write_binary(out),
            Self::Text(v) => {
                out.extend_from_slice(v.as_bytes());
                if ty.base == Base::Bpchar {
                    pad(v, ty, out);
                }
            }
            Self::Char(v) => out.push(*v),
            Self::Bytea(v) => out.extend_from_slice(v),
            Self::Interval(v) => {
                out.extend_from_slice(&v.micros.to_be_bytes());
                out.extend_from_slice(&v.days.to_be_bytes());
                out.extend_from_slice(&v.months.to_be_bytes());
            }
            Self::Timetz(v) => {
                out.extend_from_slice(&v.micros.to_be_bytes());
                out.extend_from_slice(&v.west.to_be_bytes());
            }
            Self::Bits(v) => v.write_binary(out),
            Self::Money(v) => out.extend_from_slice(&v.to_be_bytes()),
            Self::Uuid(v) => out.extend_from_slice(v),
            Self::Inet(v) => v.write_binary(ty.base == Base::Cidr, out),
            Self::Macaddr(v) => out.extend_from_slice(v),
            Self::Macaddr8(v) => out.extend_from_slice(v),
            Self::Jsonb(v) => {
                out.push(1);
                v.write_text(out);
            }
            Self::Jsonpath(v) => {
                out.push(1);
                out.extend_from_slice(v.text().as_bytes());
            }
            Self::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
            Self::Array(v) => write_array(v, out),
            Self::Enum(v) => out.extend_from_slice(v.label().as_bytes()),
            Self::Record(v) => v.write_binary(out),
            Self::Range(v) => v.write_binary(out),
        }
    }
}

#[cold]
fn out_of_range(message: &'static str) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

fn timestamp(bytes: &[u8], ty: Type) -> Result<i64> {
    let micros = i64::from_be_bytes(exact(bytes)?);
    if calendar::is_infinite(micros) {
        return Ok(micros);
    }
    let rounded = round_micros(micros, ty);
    if calendar::is_timestamp(micros) && calendar::is_timestamp(rounded) {
        Ok(rounded)
    } else {
        Err(out_of_range("timestamp out of range"))
    }
}

/// Microseconds rounded to the digits of a second that the type keeps.
pub(crate) fn round_micros(micros: i64, ty: Type) -> i64 {
    let Some(precision) = ty.time_precision().filter(|precision| *precision < 6) else { return micros };
    let unit = 10_i64.pow(6 - precision);
    let half = unit / 2;
    // half away from zero
    if micros >= 0 {
        (micros.saturating_add(half)) / unit * unit
    } else {
        -((half.saturating_sub(micros)) / unit * unit)
    }
}

/// ```text
/// dimensions (4) | has NULLs (4) | element OID (4) | (length, lower bound) each 4 | (length or -1, value) each
/// ```
fn array(bytes: &[u8], ty: Type, lower: i32) -> Result<Value> {
    let element = ty.element().ok_or_else(wrong_format)?;
    let mut reader = Reader { bytes };
    let count = reader.i32()?;
    if !(0..=MAX_DIMENSIONS as i32).contains(&count) {
        let (code, message) = if count < 0 {
            (SqlState::INVALID_BINARY_REPRESENTATION, format!("invalid number of dimensions: {count}"))
        } else {
            let message = format!("number of array dimensions ({count}) exceeds the maximum allowed (6)");
            (SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        };
        return Err(SqlError::new(code, message));
    }
    if !matches!(reader.i32()?, 0 | 1) {
        return Err(SqlError::invalid_binary("invalid array flags"));
    }
    let oid = reader.i32()? as u32;
    if oid != element.oid() && oid != element.value_type().oid() {
        let message =
            format!("binary data has array element type {oid} instead of expected {}", element.oid());
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let mut dims = Vec::with_capacity(count as usize);
    for _ in 0..count {
        dims.push(Dimension { len: reader.i32()?, lower: reader.i32()? });
    }
    if dims.iter().any(|dim| dim.len < 0) {
        return Err(wrong_format());
    }
    check_dimensions(&dims)?;
    let elements: usize = if dims.is_empty() { 0 } else { dims.iter().map(|dim| dim.len as usize).product() };
    // each element has a length of 4 bytes: a message cannot announce more than it has
    if elements > reader.bytes.len() / 4 {
        return Err(short());
    }
    let mut values = Vec::with_capacity(elements);
    for _ in 0..elements {
        values.push(match reader.i32()? {
            -1 => Value::Null,
            len => {
                let len = usize::try_from(len).map_err(|_| short())?;
                Value::from_binary(reader.take(len)?, element)?
            }
        });
    }
    if !reader.bytes.is_empty() {
        return Err(wrong_format());
    }
    if !ty.array && (dims.len() > 1 || dims.iter().any(|dim| dim.lower != lower)) {
        return Err(SqlError::invalid_binary(format!("invalid {} data", ty.name())));
    }
    Ok(Value::Array(Arc::new(Array::with_dimensions(element, dims, values)?)))
}

fn write_array(array: &Array, out: &mut Vec<u8>) {
    let has_null = array.values().iter().any(Value::is_null);
    out.extend_from_slice(&(array.dimensions().len() as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(has_null).to_be_bytes());
    out.extend_from_slice(&array.element().oid().to_be_bytes());
    for dim in array.dimensions() {
        out.extend_from_slice(&dim.len.to_be_bytes());
        out.extend_from_slice(&dim.lower.to_be_bytes());
    }
    for value in array.values() {
        if value.is_null() {
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            continue;
        }
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        value.write_binary(array.element(), out);
        let len = (out.len() - at - 4) as i32;
        out[at..at + 4].copy_from_slice(&len.to_be_bytes());
    }
}
