//! Text. Positions count characters; `lower` and `upper` map single characters, whatever the language.

use super::args::code;
use super::{Interrupt, Registry};
use crate::array::Array;
use crate::error::{Result, SqlError, SqlState};
use crate::ty::Type;
use crate::value::{Text, Value};
use std::sync::Arc;

/// Bytes of a text that a function makes.
pub(super) const MAX_BYTES: usize = 0x0FFF_FFFF;

#[cold]
pub(super) fn too_long() -> SqlError {
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

/// Checks a length before it is allocated.
pub(super) fn check_length(bytes: usize) -> Result<()> {
    if bytes > MAX_BYTES { Err(too_long()) } else { Ok(()) }
}

pub(super) fn concat(a: &str, b: &str) -> Result<Text> {
    check_length(a.len() + b.len())?;
    let mut out = String::with_capacity(a.len() + b.len());
    out.push_str(a);
    out.push_str(b);
    Ok(Text::from(out))
}

/// The byte at which a character starts, or the end.
fn byte_of(text: &str, character: usize) -> usize {
    if text.is_ascii() {
        return character.min(text.len());
    }
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

/// `substring(text from start for length)`: characters before the first count as well.
fn substring(text: &str, start: i32, length: Option<i32>) -> Result<&str> {
    let start = i64::from(start);
    let end = match length {
        Some(length) if length < 0 => return Err(negative_length()),
        Some(length) => start + i64::from(length),
        None => i64::MAX,
    };
    let first = (start - 1).max(0);
    if end - 1 <= first {
        return Ok("");
    }
    let rest = &text[byte_of(text, usize::try_from(first).unwrap_or(usize::MAX))..];
    let count = usize::try_from(end - 1 - first).unwrap_or(usize::MAX);
    Ok(&rest[..byte_of(rest, count)])
}

#[cold]
pub(super) fn negative_length() -> SqlError {
    SqlError::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed")
}

fn overlay(text: &str, with: &str, start: i32, length: Option<i32>) -> Result<String> {
    if start <= 0 {
        return Err(negative_length());
    }
    let length = length.unwrap_or_else(|| with.chars().count() as i32);
    let end = start.checked_add(length).ok_or_else(|| SqlError::out_of_range("integer out of range"))?;
    let head = substring(text, 1, Some(start - 1))?;
    let tail = substring(text, end, None)?;
    check_length(head.len() + with.len() + tail.len())?;
    Ok([head, with, tail].concat())
}

/// The position of the first occurrence, from 1; 0 if there is none.
fn position(text: &str, part: &str) -> i32 {
    text.find(part).map_or(0, |at| text[..at].chars().count() as i32 + 1)
}

fn map_chars(text: &str, f: impl Fn(char) -> char) -> String {
    text.chars().map(f).collect()
}

/// The one character that a mapping gives, or the character itself.
fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

pub(crate) fn lower_char(c: char) -> char {
    if c.is_ascii() { c.to_ascii_lowercase() } else { single(c, c.to_lowercase()) }
}

pub(crate) fn upper_char(c: char) -> char {
    if c.is_ascii() { c.to_ascii_uppercase() } else { single(c, c.to_uppercase()) }
}

/// The text in lower case.
pub(crate) fn lower(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { map_chars(text, lower_char) }
}

/// The text in upper case.
pub(crate) fn upper(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_uppercase() } else { map_chars(text, upper_char) }
}

/// Words with a capital at their start.
pub(crate) fn initcap(text: &str) -> String {
    let mut inside = false;
    text.chars()
        .map(|c| {
            let mapped = if inside { lower_char(c) } else { upper_char(c) };
            inside = c.is_alphanumeric();
            mapped
        })
        .collect()
}

/// Text of at most so many characters; a negative number counts from the other end.
fn left(text: &str, n: i32) -> &str {
    let count =
        if n >= 0 { n as usize } else { text.chars().count().saturating_sub(n.unsigned_abs() as usize) };
    &text[..byte_of(text, count)]
}

fn right(text: &str, n: i32) -> &str {
    let skip =
        if n >= 0 { text.chars().count().saturating_sub(n as usize) } else { n.unsigned_abs() as usize };
    &text[byte_of(text, skip)..]
}

fn replace(text: &str, from: &str, to: &str) -> Result<Text> {
    if from.is_empty() {
        return Ok(Text::new(text));
    }
    let hits = text.matches(from).count();
    check_length(text.len().saturating_add(hits.saturating_mul(to.len())))?;
    Ok(Text::from(text.replace(from, to)))
}

fn split_part<'a>(text: &'a str, separator: &str, n: i32) -> Result<&'a str> {
    if n == 0 {
        return Err(SqlError::invalid_parameter("field position must not be zero"));
    }
    if separator.is_empty() {
        return Ok(if matches!(n, 1 | -1) { text } else { "" });
    }
    let at = n.unsigned_abs() as usize - 1;
    let part = if n > 0 { text.split(separator).nth(at) } else { text.rsplit(separator).nth(at) };
    Ok(part.unwrap_or(""))
}

/// Text of exactly so many characters.
fn pad(text: &str, length: i32, fill: &str, before: bool) -> Result<String> {
    let length = usize::try_from(length).unwrap_or(0);
    let has = text.chars().count();
    if has >= length {
        return Ok(text[..byte_of(text, length)].to_owned());
    }
    if fill.is_empty() {
        return Ok(text.to_owned());
    }
    // a character has up to four bytes
    check_length(length.saturating_mul(4))?;
    let padding: String = fill.chars().cycle().take(length - has).collect();
    Ok(if before { padding + text } else { text.to_owned() + &padding })
}

fn repeat(text: &str, n: i32) -> Result<String> {
    let n = usize::try_from(n).unwrap_or(0);
    check_length(text.len().saturating_mul(n))?;
    Ok(text.repeat(n))
}

fn trim_set<'a>(text: &'a str, set: &str, start: bool, end: bool) -> &'a str {
    let mut text = text;
    if start {
        text = text.trim_start_matches(|c| set.contains(c));
    }
    if end {
        text = text.trim_end_matches(|c| set.contains(c));
    }
    text
}

fn chr(code: i32) -> Result<String> {
    let limit = |message: String| SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
    if code < 0 {
        return Err(SqlError::invalid_parameter("character number must be positive"));
    }
    if code == 0 {
        return Err(limit("null character not permitted".into()));
    }
    match char::from_u32(code as u32) {
        Some(c) => Ok(c.to_string()),
        None if code > 0x10_FFFF => Err(limit(format!("requested character too large for encoding: {code}"))),
        None => Err(limit(format!("requested character not valid for encoding: {code}"))),
    }
}

fn translate(text: &str, from: &str, to: &str) -> String {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    text.chars()
        .filter_map(|c| match from.iter().position(|f| *f == c) {
            Some(at) => to.get(at).copied(),
            None => Some(c),
        })
        .collect()
}

/// A text with its Unicode escapes replaced: four digits, `+` and six, `u` and four, or `U` and eight.
fn unistr(text: &str) -> Result<String> {
    let syntax = |what| SqlError::new(SqlState::SYNTAX_ERROR, what);
    let bad_pair = || syntax("invalid Unicode surrogate pair");
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // the first half of a character that two escapes make
    let mut high: Option<u32> = None;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let (digits, len) = match rest.as_bytes().first() {
            _ if c != '\\' => ("", 0),
            Some(b'\\') => ("", 0),
            Some(b'+') => (&rest[1..], 6),
            Some(b'u') => (&rest[1..], 4),
            Some(b'U') => (&rest[1..], 8),
            _ => (rest, 4),
        };
        if len == 0 {
            if high.is_some() {
                return Err(bad_pair());
            }
            rest = rest.strip_prefix('\\').filter(|_| c == '\\').unwrap_or(rest);
            out.push(c);
            continue;
        }
        let own = digits.get(..len).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = own.and_then(|own| u32::from_str_radix(own, 16).ok()).ok_or_else(|| {
            let hint = "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.";
            syntax("invalid Unicode escape").hint(hint)
        })?;
        rest = &digits[len..];
        match (high.take(), code) {
            (None, 0xD800..=0xDBFF) => high = Some(code),
            (Some(first), 0xDC00..=0xDFFF) => {
                let pair = char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (code - 0xDC00));
                out.push(pair.ok_or_else(bad_pair)?);
            }
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(bad_pair()),
            (None, _) => {
                let c = char::from_u32(code).filter(|c| *c != '\0');
                out.push(c.ok_or_else(|| {
                    SqlError::invalid_parameter(format!("invalid Unicode code point: {code:04X}"))
                })?);
            }
        }
    }
    if high.is_some() { Err(bad_pair()) } else { Ok(out) }
}

/// An array of texts.
pub(super) fn text_array(parts: impl Iterator<Item = Value>) -> Value {
    Value::Array(Arc::new(Array::new(Type::TEXT, parts.collect())))
}

/// Texts that become an array: no more than the statement has memory for.
pub(super) struct Gathered<'a> {
    values: Vec<Value>,
    bytes: usize,
    interrupt: Interrupt<'a>,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(interrupt: Interrupt<'a>) -> Self {
        Self { values: Vec::new(), bytes: 0, interrupt }
    }

    /// Adds a part; `None` is NULL.
    pub(super) fn push(&mut self, part: Option<&str>) -> Result<()> {
        const BETWEEN_CHECKS: usize = 1_024;
        self.bytes += size_of::<Value>() + part.map_or(0, str::len);
        if self.values.len().is_multiple_of(BETWEEN_CHECKS) {
            self.interrupt.check()?;
            self.interrupt.admit(self.bytes)?;
        }
        self.values.push(part.map_or(Value::Null, Value::text));
        Ok(())
    }

    pub(super) fn array(self) -> Value {
        text_array(self.values.into_iter())
    }
}

/// `string_to_array`: without a separator single characters.
fn string_to_array(
    text: Option<&str>,
    separator: Option<&str>,
    null: Option<&str>,
    interrupt: Interrupt<'_>,
) -> Result<Value> {
    let Some(text) = text else { return Ok(Value::Null) };
    let mut found = Gathered::new(interrupt);
    let mut push = |part: &str| found.push((null != Some(part)).then_some(part));
    match separator {
        _ if text.is_empty() => {}
        None => text.chars().try_for_each(|c| push(c.encode_utf8(&mut [0; 4])))?,
        Some("") => push(text)?,
        Some(separator) => text.split(separator).try_for_each(push)?,
    }
    Ok(found.array())
}

pub(super) fn register(r: &mut Registry) {
    r.add("||(text,text) text", code!(|a: &str, b: &str| concat(a, b)));
    let as_text: super::Code = |call, args| {
        // as the cast to text has it: no blanks of a `char(n)`
        let text = |i: usize| match &args[i] {
            Value::Bool(v) => Text::new_static(if *v { "true" } else { "false" }),
            Value::Inet(v) => v.shown(),
            value => value.to_text(call.args[i].plain(), call.env).unwrap_or_default(),
        };
        Ok(concat(&text(0), &text(1))?.into())
    };
    r.stable("||(text,anynonarray) text", as_text);
    r.stable("||(anynonarray,text) text", as_text);
    r.add("textcat(text,text) text", code!(|a: &str, b: &str| concat(a, b)));
    for signature in ["length(text) int4", "char_length(text) int4", "character_length(text) int4"] {
        r.add(signature, code!(|a: &str| Ok(a.chars().count() as i32)));
    }
    for signature in ["length(bpchar) int4", "char_length(bpchar) int4", "character_length(bpchar) int4"] {
        r.add(signature, code!(|a: &str| Ok(a.chars().count() as i32)));
    }
    r.add("octet_length(text) int4", code!(|a: &str| Ok(a.len() as i32)));
    r.add("octet_length(bpchar) int4", |call, args| {
        let mut out = Vec::new();
        args[0].write_text(call.args[0], call.env, &mut out);
        Ok(Value::Int4(out.len() as i32))
    });
    r.add("bit_length(text) int4", code!(|a: &str| Ok(a.len() as i32 * 8)));
    r.add("lower(text) text", code!(|a: &str| Ok(lower(a))));
    r.add("upper(text) text", code!(|a: &str| Ok(upper(a))));
    r.add("initcap(text) text", code!(|a: &str| Ok(initcap(a))));
    for signature in ["substr(text,int4,int4) text", "substring(text,int4,int4) text"] {
        r.add(signature, code!(|a: &str, start: i32, length: i32| substring(a, start, Some(length))));
    }
    for signature in ["substr(text,int4) text", "substring(text,int4) text"] {
        r.add(signature, code!(|a: &str, start: i32| substring(a, start, None)));
    }
    r.add("position(text,text) int4", code!(|a: &str, part: &str| Ok(position(a, part))));
    r.add("strpos(text,text) int4", code!(|a: &str, part: &str| Ok(position(a, part))));
    r.add(
        "overlay(text,text,int4,int4) text",
        code!(|a: &str, with: &str, start: i32, length: i32| overlay(a, with, start, Some(length))),
    );
    r.add(
        "overlay(text,text,int4) text",
        code!(|a: &str, with: &str, start: i32| overlay(a, with, start, None)),
    );
    r.add("btrim(text) text", code!(|a: &str| Ok(trim_set(a, " ", true, true))));
    r.add("ltrim(text) text", code!(|a: &str| Ok(trim_set(a, " ", true, false))));
    r.add("rtrim(text) text", code!(|a: &str| Ok(trim_set(a, " ", false, true))));
    r.add("btrim(text,text) text", code!(|a: &str, set: &str| Ok(trim_set(a, set, true, true))));
    r.add("ltrim(text,text) text", code!(|a: &str, set: &str| Ok(trim_set(a, set, true, false))));
    r.add("rtrim(text,text) text", code!(|a: &str, set: &str| Ok(trim_set(a, set, false, true))));
    r.add("left(text,int4) text", code!(|a: &str, n: i32| Ok(left(a, n))));
    r.add("right(text,int4) text", code!(|a: &str, n: i32| Ok(right(a, n))));
    r.add("replace(text,text,text) text", code!(|a: &str, from: &str, to: &str| replace(a, from, to)));
    r.add("split_part(text,text,int4) text", code!(|a: &str, by: &str, n: i32| split_part(a, by, n)));
    r.add("lpad(text,int4,text) text", code!(|a: &str, n: i32, fill: &str| pad(a, n, fill, true)));
    r.add("rpad(text,int4,text) text", code!(|a: &str, n: i32, fill: &str| pad(a, n, fill, false)));
    r.add("lpad(text,int4) text", code!(|a: &str, n: i32| pad(a, n, " ", true)));
    r.add("rpad(text,int4) text", code!(|a: &str, n: i32| pad(a, n, " ", false)));
    r.add("repeat(text,int4) text", code!(|a: &str, n: i32| repeat(a, n)));
    r.add("reverse(text) text", code!(|a: &str| Ok(a.chars().rev().collect::<String>())));
    r.add("ascii(text) int4", code!(|a: &str| Ok(a.chars().next().map_or(0, |c| c as i32))));
    r.add("unistr(text) text", code!(|a: &str| unistr(a)));
    r.add("chr(int4) text", code!(|a: i32| chr(a)));
    r.add(
        "translate(text,text,text) text",
        code!(|a: &str, from: &str, to: &str| Ok(translate(a, from, to))),
    );
    r.add("starts_with(text,text) bool", code!(|a: &str, part: &str| Ok(a.starts_with(part))));
    r.add("^@(text,text) bool", code!(|a: &str, part: &str| Ok(a.starts_with(part))));
    r.nullable(
        "string_to_array(text,text) text[]",
        code!(|c; a: Option<&str>, by: Option<&str>| string_to_array(a, by, None, c.interrupt)),
    );
    r.nullable(
        "string_to_array(text,text,text) text[]",
        code!(|c; a: Option<&str>, by: Option<&str>, null: Option<&str>| {
            string_to_array(a, by, null, c.interrupt)
        }),
    );
}
