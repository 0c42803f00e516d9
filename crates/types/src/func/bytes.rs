//! bytea, digests and encodings.

use super::Registry;
use super::args::code;
use super::like::{like, like_escape};
use super::text::{check_length, negative_length};
use crate::error::{Result, SqlError, SqlState};
use crate::text::{parse_escaped, parse_hex, utf8, write_escaped, write_hex};
use crate::value::Value;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// Base64 characters in a line.
const LINE: usize = 76;

fn hex(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    write_hex(bytes, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn unknown_encoding(name: &str) -> SqlError {
    SqlError::invalid_parameter(format!("unrecognized encoding: \"{name}\""))
}

fn encode(bytes: &[u8], format: &str) -> Result<String> {
    Ok(match format.to_ascii_lowercase().as_str() {
        "hex" => hex(bytes),
        "base64" => {
            let text = STANDARD.encode(bytes);
            let lines: Vec<&str> =
                text.as_bytes().chunks(LINE).map(|line| std::str::from_utf8(line).unwrap_or("")).collect();
            lines.join("\n")
        }
        "escape" => {
            let mut out = Vec::new();
            for byte in bytes {
                match byte {
                    // only zero and high bytes are escaped here
                    0 | 0x80.. => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
                    b'\\' => write_escaped(&[*byte], &mut out),
                    _ => out.push(*byte),
                }
            }
            String::from_utf8_lossy(&out).into_owned()
        }
        _ => return Err(unknown_encoding(format)),
    })
}

fn decode(text: &str, format: &str) -> Result<Vec<u8>> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => parse_hex(text.as_bytes()),
        "base64" => decode_base64(text),
        "escape" => parse_escaped(text).ok_or_else(|| {
            SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
        }),
        _ => Err(unknown_encoding(format)),
    }
}

fn decode_base64(text: &str) -> Result<Vec<u8>> {
    let is_blank = |c: &char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let kept: String = text.chars().filter(|c| !is_blank(c)).collect();
    if let Some(c) = kept.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))) {
        let message = format!("invalid symbol \"{c}\" found while decoding base64 sequence");
        return Err(SqlError::invalid_parameter(message));
    }
    STANDARD.decode(&kept).map_err(|_| {
        if kept.trim_end_matches('=').contains('=') {
            return SqlError::invalid_parameter("unexpected \"=\" while decoding base64 sequence");
        }
        let hint = "Input data is missing padding, is truncated, or is otherwise corrupted.";
        SqlError::invalid_parameter("invalid base64 end sequence").hint(hint)
    })
}

fn substring(bytes: &[u8], start: i32, length: Option<i32>) -> Result<&[u8]> {
    let start = i64::from(start);
    let end = match length {
        Some(length) if length < 0 => return Err(negative_length()),
        Some(length) => start + i64::from(length),
        None => i64::MAX,
    };
    let clip = |at: i64| (at - 1).clamp(0, bytes.len() as i64) as usize;
    let (from, to) = (clip(start), clip(end));
    Ok(if from < to { &bytes[from..to] } else { &[] })
}

fn position(bytes: &[u8], part: &[u8]) -> i32 {
    if part.is_empty() {
        return 1;
    }
    bytes.windows(part.len()).position(|window| window == part).map_or(0, |at| at as i32 + 1)
}

fn index(bytes: &[u8], at: i32) -> Result<usize> {
    let found = usize::try_from(at).ok().filter(|at| *at < bytes.len());
    found.ok_or_else(|| {
        let message = format!("index {at} out of valid range, 0..{}", bytes.len() as i64 - 1);
        SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message)
    })
}

/// Without the bytes of a set at the start, at the end, or both.
fn trim<'a>(bytes: &'a [u8], set: &[u8], (start, end): (bool, bool)) -> &'a [u8] {
    let keep = |byte: &u8| !set.contains(byte);
    match (bytes.iter().position(keep), bytes.iter().rposition(keep)) {
        (Some(from), Some(to)) => {
            &bytes[if start { from } else { 0 }..if end { to + 1 } else { bytes.len() }]
        }
        _ => &[],
    }
}

fn overlay(bytes: &[u8], with: &[u8], start: i32, length: i32) -> Result<Value> {
    if start <= 0 {
        return Err(negative_length());
    }
    let end = start.checked_add(length).ok_or_else(|| SqlError::out_of_range("integer out of range"))?;
    let (head, tail) = (substring(bytes, 1, Some(start - 1))?, substring(bytes, end, None)?);
    check_length(head.len() + with.len() + tail.len())?;
    Ok(Value::bytea([head, with, tail].concat()))
}

/// The byte of a bit, and the bit in it; they are counted from the least one of every byte.
fn bit(bytes: &[u8], at: i64) -> Result<(usize, u8)> {
    let bits = bytes.len() as i64 * 8;
    if !(0..bits).contains(&at) {
        let message = format!("index {at} out of valid range, 0..{}", bits - 1);
        return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message));
    }
    Ok(((at / 8) as usize, 1 << (at % 8)))
}

fn set_bit(bytes: &[u8], at: i64, v: i32) -> Result<Value> {
    let (at, bit) = bit(bytes, at)?;
    let mut bytes = bytes.to_vec();
    match v {
        0 => bytes[at] &= !bit,
        1 => bytes[at] |= bit,
        _ => return Err(SqlError::invalid_parameter("new bit must be 0 or 1")),
    }
    Ok(Value::bytea(bytes))
}

/// Every byte as a character, so that patterns match as they do on texts.
fn characters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn like_bytes(bytes: &[u8], pattern: &[u8]) -> Result<bool> {
    like(&characters(bytes), &characters(pattern), false)
}

fn escape_bytes(pattern: &[u8], escape: &[u8]) -> Result<Value> {
    let escaped = like_escape(&characters(pattern), &characters(escape))?;
    Ok(Value::bytea(escaped.chars().map(|c| c as u8).collect::<Vec<u8>>()))
}

/// Whether an encoding is UTF-8 by one of its names.
fn check_utf8_name(name: &str) -> Result<()> {
    if matches!(name.to_ascii_lowercase().as_str(), "utf8" | "utf-8" | "unicode") {
        return Ok(());
    }
    Err(SqlError::unsupported(format!("encoding \"{name}\" is not supported: use UTF8")))
}

pub(super) fn register(r: &mut Registry) {
    r.add(
        "||(bytea,bytea) bytea",
        code!(|a: &[u8], b: &[u8]| check_length(a.len() + b.len()).map(|()| Value::bytea([a, b].concat()))),
    );
    r.add("length(bytea) int4", code!(|a: &[u8]| Ok(a.len() as i32)));
    r.add("octet_length(bytea) int4", code!(|a: &[u8]| Ok(a.len() as i32)));
    r.add("bit_length(bytea) int4", code!(|a: &[u8]| Ok(a.len() as i32 * 8)));
    for signature in ["substr(bytea,int4,int4) bytea", "substring(bytea,int4,int4) bytea"] {
        r.add(
            signature,
            code!(|a: &[u8], start: i32, length: i32| substring(a, start, Some(length)).map(Value::bytea)),
        );
    }
    for signature in ["substr(bytea,int4) bytea", "substring(bytea,int4) bytea"] {
        r.add(signature, code!(|a: &[u8], start: i32| substring(a, start, None).map(Value::bytea)));
    }
    r.add("position(bytea,bytea) int4", code!(|a: &[u8], part: &[u8]| Ok(position(a, part))));
    r.add("get_byte(bytea,int4) int4", code!(|a: &[u8], at: i32| index(a, at).map(|at| i32::from(a[at]))));
    r.add(
        "set_byte(bytea,int4,int4) bytea",
        code!(|a: &[u8], at: i32, v: i32| index(a, at).map(|at| {
            let mut bytes = a.to_vec();
            bytes[at] = v as u8;
            Value::bytea(bytes)
        })),
    );
    r.add(
        "btrim(bytea,bytea) bytea",
        code!(|a: &[u8], set: &[u8]| Ok(Value::bytea(trim(a, set, (true, true))))),
    );
    r.add(
        "ltrim(bytea,bytea) bytea",
        code!(|a: &[u8], set: &[u8]| Ok(Value::bytea(trim(a, set, (true, false))))),
    );
    r.add(
        "rtrim(bytea,bytea) bytea",
        code!(|a: &[u8], set: &[u8]| Ok(Value::bytea(trim(a, set, (false, true))))),
    );
    r.add(
        "overlay(bytea,bytea,int4,int4) bytea",
        code!(|a: &[u8], with: &[u8], start: i32, length: i32| overlay(a, with, start, length)),
    );
    r.add(
        "overlay(bytea,bytea,int4) bytea",
        code!(|a: &[u8], with: &[u8], start: i32| overlay(a, with, start, with.len() as i32)),
    );
    r.add(
        "get_bit(bytea,int8) int4",
        code!(|a: &[u8], at: i64| { bit(a, at).map(|(at, bit)| i32::from(a[at] & bit != 0)) }),
    );
    r.add("set_bit(bytea,int8,int4) bytea", code!(|a: &[u8], at: i64, v: i32| set_bit(a, at, v)));
    r.add(
        "bit_count(bytea) int8",
        code!(|a: &[u8]| { Ok(a.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>()) }),
    );
    for signature in ["~~(bytea,bytea) bool", "like(bytea,bytea) bool"] {
        r.add(signature, code!(|a: &[u8], p: &[u8]| like_bytes(a, p)));
    }
    for signature in ["!~~(bytea,bytea) bool", "notlike(bytea,bytea) bool"] {
        r.add(signature, code!(|a: &[u8], p: &[u8]| like_bytes(a, p).map(|hit| !hit)));
    }
    r.add("like_escape(bytea,bytea) bytea", code!(|p: &[u8], escape: &[u8]| escape_bytes(p, escape)));
    r.add("encode(bytea,text) text", code!(|a: &[u8], format: &str| encode(a, format)));
    r.add("decode(text,text) bytea", code!(|a: &str, format: &str| decode(a, format).map(Value::bytea)));
    r.add(
        "convert_from(bytea,name) text",
        code!(|a: &[u8], name: &str| { check_utf8_name(name).and_then(|()| utf8(a)) }),
    );
    r.add(
        "convert_to(text,name) bytea",
        code!(|a: &str, name: &str| { check_utf8_name(name).map(|()| Value::bytea(a.as_bytes())) }),
    );
    r.add("md5(text) text", code!(|a: &str| Ok(hex(&Md5::digest(a)))));
    r.add("md5(bytea) text", code!(|a: &[u8]| Ok(hex(&Md5::digest(a)))));
    r.add("sha224(bytea) bytea", code!(|a: &[u8]| Ok(Value::bytea(Sha224::digest(a).as_slice()))));
    r.add("sha256(bytea) bytea", code!(|a: &[u8]| Ok(Value::bytea(Sha256::digest(a).as_slice()))));
    r.add("sha384(bytea) bytea", code!(|a: &[u8]| Ok(Value::bytea(Sha384::digest(a).as_slice()))));
    r.add("sha512(bytea) bytea", code!(|a: &[u8]| Ok(Value::bytea(Sha512::digest(a).as_slice()))));
}
