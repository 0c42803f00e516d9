//! What json and jsonb contain: `->`, `#>`, `@>`, `?`, lengths and keys.

use super::Registry;
use super::args::code;
use super::text::text_array;
use crate::array::Array;
use crate::error::{Result, SqlError};
use crate::json::Json;
use crate::numeric::trim;
use crate::value::{Text, Value};
use std::sync::Arc;

/// The pieces of json text, whose members keep their form.
pub(super) enum Pieces<'a> {
    Object(Vec<(Text, &'a str)>),
    Array(Vec<&'a str>),
    Scalar,
}

/// Splits a json text, which is well formed, at its top level.
pub(super) fn pieces(text: &str) -> Result<Pieces<'_>> {
    let text = trim(text);
    let bytes = text.as_bytes();
    let open = match bytes.first() {
        Some(open @ (b'{' | b'[')) => *open,
        _ => return Ok(Pieces::Scalar),
    };
    let mut parts = Vec::new();
    let mut colons = Vec::new();
    let (mut depth, mut start, mut quoted, mut escaped) = (0, 1, false, false);
    let mut colon = None;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 && !trim(&text[start..at]).is_empty() {
                    parts.push(&text[start..at]);
                    colons.push(colon.map(|colon: usize| colon - start));
                }
            }
            b',' if depth == 1 => {
                parts.push(&text[start..at]);
                colons.push(colon.take().map(|colon: usize| colon - start));
                start = at + 1;
            }
            b':' if depth == 1 && open == b'{' => colon = Some(at),
            _ => {}
        }
    }
    if open == b'[' {
        return Ok(Pieces::Array(parts.into_iter().map(trim).collect()));
    }
    let members = parts.into_iter().zip(colons).map(|(part, colon)| {
        let (key, value) = part.split_at(colon.unwrap_or(0));
        match Json::parse(key)? {
            Json::String(key) => Ok((key, trim(value.trim_start_matches(':')))),
            _ => Err(SqlError::internal("a key of json is a string")),
        }
    });
    Ok(Pieces::Object(members.collect::<Result<_>>()?))
}

/// The last member of a key: of json, which keeps them all.
fn json_member<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>> {
    Ok(match pieces(text)? {
        Pieces::Object(members) => {
            members.into_iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
        }
        _ => None,
    })
}

fn json_element(text: &str, at: i32) -> Result<Option<&str>> {
    Ok(match pieces(text)? {
        Pieces::Array(parts) => {
            let at = i64::from(at) + if at < 0 { parts.len() as i64 } else { 0 };
            usize::try_from(at).ok().and_then(|at| parts.get(at).copied())
        }
        _ => None,
    })
}

/// The text of a json value: strings unquoted, null NULL.
pub(super) fn json_text(text: &str) -> Result<Value> {
    Ok(match text.as_bytes().first() {
        Some(b'"') => jsonb_text(&Json::parse(text)?),
        _ if text == "null" => Value::Null,
        _ => Value::text(text),
    })
}

/// The same of jsonb.
pub(super) fn jsonb_text(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::String(text) => Value::Text(text.clone()),
        other => {
            let mut out = Vec::new();
            other.write_text(&mut out);
            Value::Text(Text::new(String::from_utf8_lossy(&out)))
        }
    }
}

fn of(json: Option<&Json>) -> Value {
    json.map_or(Value::Null, |json| Value::jsonb(json.clone()))
}

/// Texts of an array.
pub(super) fn path_of(array: &Array) -> Vec<Option<&str>> {
    array.values().iter().map(Value::as_str).collect()
}

/// An integer as a path has it.
pub(super) fn subscript(text: &str) -> Option<i64> {
    text.trim_start().parse::<i32>().ok().map(i64::from)
}

/// The value at a path.
fn at_path<'a>(json: &'a Json, path: &Array) -> Option<&'a Json> {
    path_of(path).into_iter().try_fold(json, |json, step| match json {
        Json::Object(_) => json.get(step?),
        Json::Array(_) => json.at(subscript(step?)?),
        _ => None,
    })
}

fn json_at_path<'a>(text: &'a str, path: &Array) -> Result<Option<&'a str>> {
    let mut text = trim(text);
    for step in path_of(path) {
        let Some(step) = step else { return Ok(None) };
        let next = match pieces(text)? {
            Pieces::Object(_) => json_member(text, step)?,
            Pieces::Array(_) => match subscript(step) {
                Some(at) => json_element(text, at as i32)?,
                None => None,
            },
            Pieces::Scalar => None,
        };
        match next {
            Some(next) => text = next,
            None => return Ok(None),
        }
    }
    Ok(Some(text))
}

/// `@>`: whether what is in `part` is in `whole` at the same place. An array contains a scalar.
fn contains(whole: &Json, part: &Json, top: bool) -> bool {
    match (whole, part) {
        (Json::Object(_), Json::Object(members)) => {
            members.iter().all(|(key, value)| whole.get(key).is_some_and(|has| contains(has, value, false)))
        }
        (Json::Array(elements), Json::Array(wanted)) => {
            wanted.iter().all(|wanted| elements.iter().any(|has| contains(has, wanted, false)))
        }
        (Json::Array(elements), scalar) if top && !matches!(scalar, Json::Object(_)) => {
            elements.iter().any(|has| has == scalar)
        }
        (Json::Object(_) | Json::Array(_), _) | (_, Json::Object(_) | Json::Array(_)) => false,
        (a, b) => a == b,
    }
}

/// `?`: whether a text is a key, or an element.
fn exists(json: &Json, key: &str) -> bool {
    match json {
        Json::Object(_) => json.get(key).is_some(),
        Json::Array(elements) => elements.iter().any(|e| matches!(e, Json::String(text) if text == key)),
        Json::String(text) => text == key,
        _ => false,
    }
}

fn type_name(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn array_length(json: &Json) -> Result<i32> {
    match json {
        Json::Array(elements) => Ok(elements.len() as i32),
        Json::Object(_) => Err(SqlError::invalid_parameter("cannot get array length of a non-array")),
        _ => Err(SqlError::invalid_parameter("cannot get array length of a scalar")),
    }
}

/// Without members that are null.
fn strip_nulls(json: &Json) -> Json {
    match json {
        Json::Object(members) => Json::Object(
            members
                .iter()
                .filter(|(_, value)| !matches!(value, Json::Null))
                .map(|(key, value)| (key.clone(), strip_nulls(value)))
                .collect(),
        ),
        Json::Array(elements) => Json::Array(elements.iter().map(strip_nulls).collect()),
        other => other.clone(),
    }
}

/// The same of json, whose members and numbers keep their form.
fn strip_json_nulls(text: &str, out: &mut Vec<u8>) -> Result<()> {
    let separate = |first: &mut bool, out: &mut Vec<u8>| {
        if !std::mem::replace(first, false) {
            out.push(b',');
        }
    };
    let mut first = true;
    match pieces(text)? {
        Pieces::Object(members) => {
            out.push(b'{');
            for (key, value) in members.into_iter().filter(|(_, value)| *value != "null") {
                separate(&mut first, out);
                crate::json::write_string(&key, out);
                out.push(b':');
                strip_json_nulls(value, out)?;
            }
            out.push(b'}');
        }
        Pieces::Array(elements) => {
            out.push(b'[');
            for element in elements {
                separate(&mut first, out);
                strip_json_nulls(element, out)?;
            }
            out.push(b']');
        }
        Pieces::Scalar if trim(text).starts_with('"') => Json::parse(text)?.write_text(out),
        Pieces::Scalar => out.extend_from_slice(trim(text).as_bytes()),
    }
    Ok(())
}

/// Appends the text in lines, four blanks for every level.
fn pretty(json: &Json, level: usize, out: &mut Vec<u8>) {
    let line = |level: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + level * 4, b' ');
    };
    match json {
        Json::Array(elements) => {
            out.push(b'[');
            for (i, element) in elements.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                line(level + 1, out);
                pretty(element, level + 1, out);
            }
            line(level, out);
            out.push(b']');
        }
        Json::Object(members) => {
            out.push(b'{');
            for (i, (key, value)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                line(level + 1, out);
                crate::json::write_string(key, out);
                out.extend_from_slice(b": ");
                pretty(value, level + 1, out);
            }
            line(level, out);
            out.push(b'}');
        }
        scalar => scalar.write_text(out),
    }
}

/// An element of an array. A scalar is stored as an array of one, and PostgreSQL's operators show it.
fn element(json: &Json, at: i32) -> Option<&Json> {
    match json {
        Json::Array(_) | Json::Object(_) => json.at(at.into()),
        scalar => matches!(at, 0 | -1).then_some(scalar),
    }
}

pub(super) fn register(r: &mut Registry) {
    for signature in ["->(json,text) json", "json_object_field(json,text) json"] {
        r.add(signature, code!(|j: &str, key: &str| json_member(j, key)));
    }
    for signature in ["->(json,int4) json", "json_array_element(json,int4) json"] {
        r.add(signature, code!(|j: &str, at: i32| json_element(j, at)));
    }
    for signature in ["->>(json,text) text", "json_object_field_text(json,text) text"] {
        r.add(signature, code!(|j: &str, key: &str| json_member(j, key)?.map_or(Ok(Value::Null), json_text)));
    }
    for signature in ["->>(json,int4) text", "json_array_element_text(json,int4) text"] {
        r.add(signature, code!(|j: &str, at: i32| json_element(j, at)?.map_or(Ok(Value::Null), json_text)));
    }
    for signature in ["#>(json,text[]) json", "json_extract_path(json, variadic text) json"] {
        r.add(signature, |_, args| Ok(json_at_path(args[0].as_str().unwrap_or(""), &path(args))?.into()));
    }
    for signature in ["#>>(json,text[]) text", "json_extract_path_text(json, variadic text) text"] {
        r.add(signature, |_, args| {
            json_at_path(args[0].as_str().unwrap_or(""), &path(args))?.map_or(Ok(Value::Null), json_text)
        });
    }
    for signature in ["->(jsonb,text) jsonb", "jsonb_object_field(jsonb,text) jsonb"] {
        r.add(signature, code!(|j: &Json, key: &str| Ok(of(j.get(key)))));
    }
    for signature in ["->(jsonb,int4) jsonb", "jsonb_array_element(jsonb,int4) jsonb"] {
        r.add(signature, code!(|j: &Json, at: i32| Ok(of(element(j, at)))));
    }
    for signature in ["->>(jsonb,text) text", "jsonb_object_field_text(jsonb,text) text"] {
        r.add(signature, code!(|j: &Json, key: &str| Ok(j.get(key).map_or(Value::Null, jsonb_text))));
    }
    for signature in ["->>(jsonb,int4) text", "jsonb_array_element_text(jsonb,int4) text"] {
        r.add(signature, code!(|j: &Json, at: i32| Ok(element(j, at).map_or(Value::Null, jsonb_text))));
    }
    for signature in ["#>(jsonb,text[]) jsonb", "jsonb_extract_path(jsonb, variadic text) jsonb"] {
        r.add(signature, |_, args| match &args[0] {
            Value::Jsonb(json) => Ok(of(at_path(json, &path(args)))),
            _ => Ok(Value::Null),
        });
    }
    for signature in ["#>>(jsonb,text[]) text", "jsonb_extract_path_text(jsonb, variadic text) text"] {
        r.add(signature, |_, args| match &args[0] {
            Value::Jsonb(json) => Ok(at_path(json, &path(args)).map_or(Value::Null, jsonb_text)),
            _ => Ok(Value::Null),
        });
    }
    for signature in ["@>(jsonb,jsonb) bool", "jsonb_contains(jsonb,jsonb) bool"] {
        r.add(signature, code!(|a: &Json, b: &Json| Ok(contains(a, b, true))));
    }
    for signature in ["<@(jsonb,jsonb) bool", "jsonb_contained(jsonb,jsonb) bool"] {
        r.add(signature, code!(|a: &Json, b: &Json| Ok(contains(b, a, true))));
    }
    r.add("?(jsonb,text) bool", code!(|j: &Json, key: &str| Ok(exists(j, key))));
    r.add("jsonb_exists(jsonb,text) bool", code!(|j: &Json, key: &str| Ok(exists(j, key))));
    for signature in ["?|(jsonb,text[]) bool", "jsonb_exists_any(jsonb,text[]) bool"] {
        r.add(
            signature,
            code!(|j: &Json, keys: &Array| Ok(path_of(keys).into_iter().flatten().any(|key| exists(j, key)))),
        );
    }
    for signature in ["?&(jsonb,text[]) bool", "jsonb_exists_all(jsonb,text[]) bool"] {
        r.add(
            signature,
            code!(|j: &Json, keys: &Array| Ok(path_of(keys).into_iter().flatten().all(|key| exists(j, key)))),
        );
    }
    r.add("jsonb_typeof(jsonb) text", code!(|j: &Json| Ok(type_name(j))));
    r.add("json_typeof(json) text", code!(|j: &str| Ok(type_name(&Json::parse(j)?))));
    r.add("jsonb_array_length(jsonb) int4", code!(|j: &Json| array_length(j)));
    r.add("json_array_length(json) int4", code!(|j: &str| array_length(&Json::parse(j)?)));
    r.add(
        "json_strip_nulls(json) json",
        code!(|j: &str| {
            let mut out = Vec::new();
            strip_json_nulls(j, &mut out).map(|()| Value::text(String::from_utf8_lossy(&out)))
        }),
    );
    r.add("jsonb_strip_nulls(jsonb) jsonb", code!(|j: &Json| Ok(Value::jsonb(strip_nulls(j)))));
    r.add(
        "jsonb_pretty(jsonb) text",
        code!(|j: &Json| {
            let mut out = Vec::new();
            pretty(j, 0, &mut out);
            Ok(String::from_utf8_lossy(&out).into_owned())
        }),
    );
}

/// The path of a call: an array, or all arguments behind the first.
fn path(args: &[Value]) -> Arc<Array> {
    match args.get(1) {
        Some(Value::Array(path)) => path.clone(),
        _ => match text_array(args[1..].iter().cloned()) {
            Value::Array(path) => path,
            _ => Arc::new(Array::new(crate::Type::TEXT, Vec::new())),
        },
    }
}
