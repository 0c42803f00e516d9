//! Values as text: what literals, parameters and results have.

use crate::bits::Bits;
use crate::datetime::Look;
use crate::env::{ByteaOutput, Env};
use crate::error::{Result, SqlError, SqlState};
use crate::json::Json;
use crate::jsonpath::JsonPath;
use crate::network::Inet;
use crate::numeric::{Numeric, trim};
use crate::range::Range;
use crate::ty::{Base, Type};
use crate::value::{Text, Value};
use crate::{array_text, datetime, float, interval_parse, interval_text, macaddr, money};
use std::sync::Arc;

/// Bytes of a `name`, without C's terminator.
pub const NAME_LENGTH: usize = 63;

/// The text of bytes from outside.
///
/// # Errors
///
/// 22021 if they are not UTF-8, or have a zero byte, which PostgreSQL's text cannot have.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    let invalid = |at: &[u8]| {
        let mut bytes = String::new();
        for byte in at {
            bytes.push_str(&format!(" 0x{byte:02x}"));
        }
        SqlError::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\":{bytes}"),
        )
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let len = match bytes[at] {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => 1,
        };
        invalid(&bytes[at..bytes.len().min(at + len)])
    })?;
    if text.as_bytes().contains(&0) {
        return Err(invalid(&[0]));
    }
    Ok(text)
}

/// Reads an integer as PostgreSQL's `pg_strtoint64` does.
pub(crate) fn parse_int(text: &str, min: i64, max: i64, name: &str) -> Result<i64> {
    let trimmed = trim(text);
    let (negative, digits) = match trimmed.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut value = 0_i64;
    let mut count = 0;
    for digit in digits.iter().take_while(|b| b.is_ascii_digit()) {
        // negative numbers reach one further
        let next = value.checked_mul(10).and_then(|v| v.checked_sub(i64::from(digit - b'0')));
        value = next.ok_or_else(|| int_out_of_range(text, name))?;
        count += 1;
    }
    let value = if negative { Some(value) } else { value.checked_neg() };
    let value = value.filter(|value| (min..=max).contains(value));
    match value {
        // a number that is too large is that, whatever follows
        None => Err(int_out_of_range(text, name)),
        Some(value) if count == digits.len() && count > 0 => Ok(value),
        Some(_) => Err(SqlError::invalid_text(name, text)),
    }
}

#[cold]
fn int_out_of_range(text: &str, name: &str) -> SqlError {
    SqlError::out_of_range(format!("value \"{text}\" is out of range for type {name}"))
}

pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    let text = trim(text).to_ascii_lowercase();
    let starts = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    match text.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ if starts("true", 1) || starts("yes", 1) || starts("on", 2) => Some(true),
        _ if starts("false", 1) || starts("no", 1) || starts("off", 2) => Some(false),
        _ => None,
    }
}

fn parse_oid(text: &str, name: &str) -> Result<u32> {
    let value = parse_int(text, i32::MIN.into(), u32::MAX.into(), name)?;
    // negative numbers wrap, as in C
    Ok(value as u32)
}

/// Reads a `"char"`: its first byte, or `\ooo`.
pub(crate) fn parse_char(text: &str) -> u8 {
    match text.as_bytes() {
        [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => {
            ((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0')
        }
        bytes => bytes.first().copied().unwrap_or(0),
    }
}

pub(crate) fn write_char(byte: u8, out: &mut Vec<u8>) {
    match byte {
        0 => {}
        1..=0x7F => out.push(byte),
        _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
    }
}

pub(crate) fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let bad = || SqlError::invalid_text("uuid", text);
    let body = match text.strip_prefix('{') {
        Some(body) => body.strip_suffix('}').ok_or_else(bad)?,
        None => text,
    };
    let bytes = body.as_bytes();
    let mut uuid = [0; 16];
    let mut at = 0;
    for (i, byte) in uuid.iter_mut().enumerate() {
        let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
        let (high, low) = digit(at).zip(digit(at + 1)).ok_or_else(bad)?;
        *byte = (high << 4 | low) as u8;
        at += 2;
        // a hyphen may follow every fourth digit
        if i % 2 == 1 && i < 15 && bytes.get(at) == Some(&b'-') {
            at += 1;
        }
    }
    if at == bytes.len() { Ok(uuid) } else { Err(bad()) }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends bytes as hex digits.
pub(crate) fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(HEX[usize::from(byte >> 4)]);
        out.push(HEX[usize::from(byte & 15)]);
    }
}

fn write_uuid(uuid: &[u8; 16], out: &mut Vec<u8>) {
    for (i, range) in [0..4, 4..6, 6..8, 8..10, 10..16].into_iter().enumerate() {
        if i > 0 {
            out.push(b'-');
        }
        write_hex(&uuid[range], out);
    }
}

/// Reads hex digits, blanks between pairs allowed.
pub(crate) fn parse_hex(text: &[u8]) -> Result<Vec<u8>> {
    let bad = |c: &str| SqlError::invalid_parameter(format!("invalid hexadecimal digit: \"{c}\""));
    let digit = |at: usize| {
        char::from(text[at]).to_digit(16).ok_or_else(|| {
            let rest = String::from_utf8_lossy(&text[at..]);
            bad(&rest.chars().take(1).collect::<String>())
        })
    };
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut at = 0;
    while at < text.len() {
        if matches!(text[at], b' ' | b'\n' | b'\t' | b'\r') {
            at += 1;
            continue;
        }
        let high = digit(at)?;
        if at + 1 >= text.len() {
            return Err(SqlError::invalid_parameter("invalid hexadecimal data: odd number of digits"));
        }
        bytes.push((high << 4 | digit(at + 1)?) as u8);
        at += 2;
    }
    Ok(bytes)
}

pub(crate) fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("\\x") {
        return parse_hex(hex.as_bytes());
    }
    parse_escaped(text).ok_or_else(|| {
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
    })
}

/// Reads bytes with `\\` and `\ooo`.
pub(crate) fn parse_escaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return Some(bytes),
            [b'\\', b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                bytes.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
                rest
            }
            [b'\\', ..] => return None,
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// Appends bytes with `\\` and `\ooo`: what is not printable ASCII.
pub(crate) fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x20..=0x7E => out.push(*byte),
            _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
}

/// The longest start of a text that has at most so many bytes.
pub(crate) fn clip(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// Text as `varchar(n)` or `char(n)` keeps it. What is beyond its length may be blanks only, unless it is cut.
pub(crate) fn fit_text(text: &str, ty: Type, cut: bool) -> Result<&str> {
    let text = match ty.char_length() {
        // bytes are never fewer than characters
        Some(limit) if text.len() > limit => match text.char_indices().nth(limit) {
            Some((end, _)) => {
                if !cut && !text[end..].bytes().all(|b| b == b' ') {
                    let message =
                        format!("value too long for type {}", Type { array: false, domain: None, ..ty });
                    return Err(SqlError::new(SqlState::STRING_DATA_RIGHT_TRUNCATION, message));
                }
                &text[..end]
            }
            None => text,
        },
        _ => text,
    };
    Ok(if ty.base == Base::Bpchar { text.trim_end_matches(' ') } else { text })
}

/// Bits as `bit(n)` or `bit varying(n)` keeps them. Other lengths are refused, unless they are cut or filled up.
pub(crate) fn fit_bits(bits: Arc<Bits>, ty: Type, cut: bool) -> Result<Arc<Bits>> {
    let Some(limit) = ty.bit_length() else { return Ok(bits) };
    let varying = ty.base == Base::Varbit;
    match bits.len() {
        len if len == limit || varying && len < limit => Ok(bits),
        _ if cut => Ok(Arc::new(bits.resized(limit))),
        _ if varying => {
            let what = format!("bit string too long for type bit varying({limit})");
            Err(SqlError::new(SqlState::STRING_DATA_RIGHT_TRUNCATION, what))
        }
        len => {
            let what = format!("bit string length {len} does not match type bit({limit})");
            Err(SqlError::new(SqlState::STRING_DATA_LENGTH_MISMATCH, what))
        }
    }
}

impl Value {
    /// The value of a text. The modifier of the type applies: numbers are rounded, and text that is too long is
    /// refused.
    ///
    /// # Errors
    ///
    /// 22P02 if it is none, 22003, 22008 or 22001 if it does not fit, and what else PostgreSQL answers.
    pub fn parse(text: &str, ty: Type, env: &Env) -> Result<Self> {
        if ty.array {
            return array_text::parse(text, ty, env);
        }
        Ok(match ty.base {
            Base::Bool => match parse_bool(text) {
                Some(v) => Self::Bool(v),
                None => return Err(SqlError::invalid_text("boolean", text)),
            },
            Base::Int2 => Self::Int2(parse_int(text, i16::MIN.into(), i16::MAX.into(), "smallint")? as i16),
            Base::Int4 => Self::Int4(parse_int(text, i32::MIN.into(), i32::MAX.into(), "integer")? as i32),
            Base::Int8 => Self::Int8(parse_int(text, i64::MIN, i64::MAX, "bigint")?),
            Base::Float4 => Self::Float4(float::parse_f32(text)?),
            Base::Float8 => Self::Float8(float::parse_f64(text)?),
            Base::Numeric => Self::Numeric(text.parse::<Numeric>()?.to_typmod(ty)?),
            Base::Text | Base::Refcursor | Base::Unknown => Self::text(text),
            Base::Varchar | Base::Bpchar => Self::text(fit_text(text, ty, false)?),
            Base::Name => Self::text(clip(text, NAME_LENGTH)),
            Base::Char => Self::Char(parse_char(text)),
            Base::Bytea => Self::bytea(parse_bytea(text)?),
            Base::Date => datetime::parse_date(text, env)?,
            Base::Time => datetime::parse_time(text, ty, env)?,
            Base::Timetz => datetime::parse_timetz(text, ty, env)?,
            Base::Timestamp => datetime::parse_timestamp(text, ty, env)?,
            Base::Timestamptz => datetime::parse_timestamptz(text, ty, env)?,
            Base::Interval => Self::Interval(interval_parse::parse(text, ty, env)?),
            Base::Bit | Base::Varbit => Self::Bits(fit_bits(Arc::new(Bits::parse(text)?), ty, false)?),
            Base::Money => Self::Money(money::parse(text)?),
            Base::Uuid => Self::Uuid(parse_uuid(text)?),
            Base::Inet => Self::Inet(Inet::parse(text, false)?),
            Base::Cidr => Self::Inet(Inet::parse(text, true)?),
            Base::Macaddr => Self::Macaddr(macaddr::parse(text)?),
            Base::Macaddr8 => Self::Macaddr8(macaddr::parse8(text)?),
            Base::Json => {
                Json::check(text, "json")?;
                Self::text(text)
            }
            Base::Jsonb => Self::Jsonb(Arc::new(Json::parse(text)?)),
            Base::Jsonpath => Self::Jsonpath(Arc::new(JsonPath::parse(text)?)),
            // types have names here; the other `reg...` types are the catalog's
            Base::Regtype if !trim(text).bytes().all(|b| b.is_ascii_digit()) => {
                Self::Oid(Type::parse(text)?.plain().oid())
            }
            Base::Oid
            | Base::Xid
            | Base::Regclass
            | Base::Regtype
            | Base::Regproc
            | Base::Regnamespace
            | Base::Regrole
            | Base::Regprocedure => {
                Self::Oid(parse_oid(text, if ty.base == Base::Xid { "xid" } else { "oid" })?)
            }
            Base::Int2vector | Base::Oidvector => array_text::parse_vector(text, ty)?,
            Base::Range(range) => Self::Range(Arc::new(Range::parse(text, range, env)?)),
            Base::Enum(definition) => Self::Enum(definition.value(text)?),
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

    /// Appends the text of a value, as PostgreSQL prints it. Nothing for NULL.
    pub fn write_text(&self, ty: Type, env: &Env, out: &mut Vec<u8>) {
        let mut integer = itoa::Buffer::new();
        match self {
            Self::Null => {}
            Self::Bool(v) => out.push(if *v { b't' } else { b'f' }),
            Self::Int2(v) => out.extend_from_slice(integer.format(*v).as_bytes()),
            Self::Int4(v) => out.extend_from_slice(integer.format(*v).as_bytes()),
            Self::Int8(v) => out.extend_from_slice(integer.format(*v).as_bytes()),
            Self::Oid(v) if ty.base == Base::Regtype => match Type::from_oid(*v) {
                Some(named) => out.extend_from_slice(named.sql_name().as_bytes()),
                None if *v == 0 => out.push(b'-'),
                None => out.extend_from_slice(integer.format(*v).as_bytes()),
            },
            Self::Oid(v) => out.extend_from_slice(integer.format(*v).as_bytes()),
            Self::Float4(v) => float::write_f32(*v, env.extra_float_digits, out),
            Self::Float8(v) => float::write_f64(*v, env.extra_float_digits, out),
            Self::Numeric(v) => v.write_text(out),
            Self::Text(v) => {
                out.extend_from_slice(v.as_bytes());
                if ty.base == Base::Bpchar {
                    pad(v, ty, out);
                }
            }
            Self::Char(v) => write_char(*v, out),
            Self::Bytea(v) => match env.bytea_output {
                ByteaOutput::Hex => {
                    out.extend_from_slice(b"\\x");
                    write_hex(v, out);
                }
                ByteaOutput::Escape => write_escaped(v, out),
            },
            Self::Date(v) => datetime::write_date(*v, Look::of(env), out),
            Self::Time(v) => datetime::write_time(*v, out),
            Self::Timetz(v) => datetime::write_timetz(*v, out),
            Self::Timestamp(v) => datetime::write_timestamp(*v, Look::of(env), out),
            Self::Timestamptz(v) => datetime::write_timestamptz(*v, &env.zone, Look::of(env), out),
            Self::Interval(v) => interval_text::write(v, env.interval_style, out),
            Self::Bits(v) => v.write_text(out),
            Self::Money(v) => money::write(*v, out),
            Self::Uuid(v) => write_uuid(v, out),
            Self::Inet(v) => v.write_text(ty.base == Base::Cidr, out),
            Self::Macaddr(v) => macaddr::write(v, out),
            Self::Macaddr8(v) => macaddr::write(v, out),
            Self::Jsonb(v) => v.write_text(out),
            Self::Jsonpath(v) => out.extend_from_slice(v.text().as_bytes()),
            Self::Array(v) if !ty.array && ty.element().is_some() => array_text::write_vector(v, env, out),
            Self::Array(v) => array_text::write(v, env, out),
            Self::Enum(v) => out.extend_from_slice(v.label().as_bytes()),
            Self::Record(v) => v.write_text(env, out),
            Self::Range(v) => v.write_text(env, out),
        }
    }

    /// The text of a value, as PostgreSQL prints it; None of NULL.
    pub fn to_text(&self, ty: Type, env: &Env) -> Option<Text> {
        if let Self::Text(v) = self
            && ty.base != Base::Bpchar
        {
            return Some(v.clone());
        }
        if self.is_null() {
            return None;
        }
        let mut out = Vec::new();
        self.write_text(ty, env, &mut out);
        Some(Text::new(String::from_utf8_lossy(&out)))
    }
}

/// Appends the blanks that a `char(n)` is shown with.
pub(crate) fn pad(text: &str, ty: Type, out: &mut Vec<u8>) {
    if let Some(length) = ty.char_length() {
        let has = text.chars().count();
        out.resize(out.len() + length.saturating_sub(has), b' ');
    }
}
