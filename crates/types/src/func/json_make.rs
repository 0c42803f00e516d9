//! Values as JSON: `to_json`, `json_build_array` and the like.

use super::args::code;
use super::{Call, Registry};
use crate::array::Array;
use crate::datetime::{self, Look};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::json::{Json, write_string};
use crate::record::{Record, write_json};
use crate::ty::{Base, Type};
use crate::value::{Text, Value};

/// Appends a value as JSON.
pub(crate) fn to_json(value: &Value, ty: Type, env: &Env, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(v) => out.extend_from_slice(if *v { b"true" } else { b"false" }),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Jsonb(_) => value.write_text(ty, env, out),
        Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => {
            // NaN and infinities are no numbers of JSON
            let at = out.len();
            value.write_text(ty, env, out);
            if !out[at..].iter().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e')) {
                out.insert(at, b'"');
                out.push(b'"');
            }
        }
        Value::Text(v) if ty.base == Base::Json => out.extend_from_slice(v.as_bytes()),
        // in ISO's form, whatever the session has set
        Value::Date(v) => {
            let mut text = Vec::new();
            datetime::write_date(*v, Look::ISO, &mut text);
            write_string(&String::from_utf8_lossy(&text), out);
        }
        Value::Timestamp(_) | Value::Timestamptz(_) => {
            let mut text = Vec::new();
            match value {
                Value::Timestamptz(v) => datetime::write_timestamptz(*v, &env.zone, Look::ISO, &mut text),
                Value::Timestamp(v) => datetime::write_timestamp(*v, Look::ISO, &mut text),
                _ => {}
            }
            let mut text = String::from_utf8_lossy(&text).replacen(' ', "T", 1);
            // the offset has minutes here
            if matches!(value, Value::Timestamptz(_))
                && let Some(at) = text.rfind(['+', '-'])
                && text[at..].len() == 3
                && text[..at].contains('T')
            {
                text.push_str(":00");
            }
            write_string(&text, out);
        }
        Value::Array(v) => array(v, env, false, out),
        Value::Record(record) => write_json(record.each(), env, false, out),
        _ => write_string(&value.to_text(ty, env).unwrap_or_default(), out),
    }
}

/// With `lines`, every element of the outer dimension stands on a line of its own.
fn array(array: &Array, env: &Env, lines: bool, out: &mut Vec<u8>) {
    if array.dimensions().is_empty() {
        out.extend_from_slice(b"[]");
        return;
    }
    level(array, 0, &mut array.values(), env, lines, out);
}

fn level(array: &Array, depth: usize, values: &mut &[Value], env: &Env, lines: bool, out: &mut Vec<u8>) {
    out.push(b'[');
    for i in 0..array.dimensions()[depth].len {
        if i > 0 {
            out.extend_from_slice(if lines { b",\n " } else { b"," });
        }
        if depth + 1 < array.dimensions().len() {
            level(array, depth + 1, values, env, false, out);
        } else if let Some((value, rest)) = values.split_first() {
            *values = rest;
            to_json(value, array.element(), env, out);
        }
    }
    out.push(b']');
}

/// A value as jsonb.
pub(crate) fn to_jsonb(value: &Value, ty: Type, env: &Env) -> Result<Json> {
    match value {
        Value::Null => Ok(Json::Null),
        Value::Bool(v) => Ok(Json::Bool(*v)),
        Value::Jsonb(v) => Ok(v.as_ref().clone()),
        Value::Text(v) if ty.base != Base::Json && ty.base != Base::Bpchar => Ok(Json::String(v.clone())),
        _ => {
            let mut out = Vec::new();
            to_json(value, ty, env, &mut out);
            Json::parse(&String::from_utf8_lossy(&out))
        }
    }
}

fn ty_of(call: &Call<'_>, at: usize) -> Type {
    call.args.get(at).copied().unwrap_or(Type::TEXT)
}

fn as_text(out: Vec<u8>) -> Value {
    Value::Text(Text::new(String::from_utf8_lossy(&out)))
}

fn build_array(call: &Call<'_>, args: &[Value]) -> Value {
    let mut out = vec![b'['];
    for (i, value) in args.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        to_json(value, ty_of(call, i), call.env, &mut out);
    }
    out.push(b']');
    as_text(out)
}

fn null_key() -> SqlError {
    SqlError::invalid_parameter("null value not allowed for object key")
}

/// The text of a key.
pub(crate) fn key_text(value: &Value, ty: Type, env: &Env) -> Result<Text> {
    if value.is_null() {
        return Err(null_key());
    }
    if matches!(value, Value::Array(_) | Value::Jsonb(_) | Value::Record(_)) || ty.base == Base::Json {
        let message = "key value must be scalar, not array, composite, or json";
        return Err(SqlError::invalid_parameter(message));
    }
    Ok(value.to_text(ty, env).unwrap_or_default())
}

fn odd(args: &[Value], name: &str) -> Result<()> {
    if args.len().is_multiple_of(2) {
        return Ok(());
    }
    let hint = format!("The arguments of {name}() must consist of alternating keys and values.");
    Err(SqlError::invalid_parameter("argument list must have even number of elements").hint(hint))
}

fn build_object(call: &Call<'_>, args: &[Value]) -> Result<Value> {
    odd(args, "json_build_object")?;
    let mut out = vec![b'{'];
    for (i, pair) in args.chunks(2).enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        if pair[0].is_null() {
            let message = format!("argument {} cannot be null", 2 * i + 1);
            return Err(SqlError::invalid_parameter(message).hint("Object keys should be text."));
        }
        write_string(&key_text(&pair[0], ty_of(call, 2 * i), call.env)?, &mut out);
        out.extend_from_slice(b" : ");
        to_json(&pair[1], ty_of(call, 2 * i + 1), call.env, &mut out);
    }
    out.push(b'}');
    Ok(as_text(out))
}

fn jsonb_build_object(call: &Call<'_>, args: &[Value]) -> Result<Value> {
    odd(args, "jsonb_build_object")?;
    let mut members = Vec::with_capacity(args.len() / 2);
    for (i, pair) in args.chunks(2).enumerate() {
        if pair[0].is_null() {
            return Err(SqlError::invalid_parameter(format!("argument {}: key must not be null", 2 * i + 1)));
        }
        let key = key_text(&pair[0], ty_of(call, 2 * i), call.env)?;
        members.push((key, to_jsonb(&pair[1], ty_of(call, 2 * i + 1), call.env)?));
    }
    Ok(Value::jsonb(Json::object(members)))
}

fn jsonb_build_array(call: &Call<'_>, args: &[Value]) -> Result<Value> {
    let elements = args.iter().enumerate().map(|(i, value)| to_jsonb(value, ty_of(call, i), call.env));
    Ok(Value::jsonb(Json::Array(elements.collect::<Result<_>>()?)))
}

/// Keys and values of `json_object`: `{k, v, k, v}`, `{{k, v}, {k, v}}`, or an array of each.
fn pairs(args: &[Value]) -> Result<Vec<(Text, Option<Text>)>> {
    let bad = |message| SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message);
    let text = |value: &Value| value.as_str().map(Text::new);
    let key = |value: &Value| {
        let null = "null value not allowed for object key";
        text(value).ok_or_else(|| SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, null))
    };
    match args {
        [Value::Array(all)] => {
            match all.dimensions() {
                [] => {}
                [dim] if dim.len % 2 == 0 => {}
                [_] => return Err(bad("array must have even number of elements")),
                [_, dim] if dim.len == 2 => {}
                [_, _] => return Err(bad("array must have two columns")),
                _ => return Err(bad("wrong number of array subscripts")),
            }
            all.values().chunks(2).map(|pair| Ok((key(&pair[0])?, text(&pair[1])))).collect()
        }
        [Value::Array(keys), Value::Array(values)] => {
            if keys.dimensions().len() > 1 || values.dimensions().len() > 1 {
                return Err(bad("wrong number of array subscripts"));
            }
            if keys.values().len() != values.values().len() {
                return Err(bad("mismatched array dimensions"));
            }
            keys.values().iter().zip(values.values()).map(|(k, v)| Ok((key(k)?, text(v)))).collect()
        }
        _ => Err(SqlError::internal("json_object of no arrays")),
    }
}

fn json_object(args: &[Value]) -> Result<Value> {
    let mut out = vec![b'{'];
    for (i, (key, value)) in pairs(args)?.into_iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        write_string(&key, &mut out);
        out.extend_from_slice(b" : ");
        match value {
            Some(value) => write_string(&value, &mut out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
    Ok(as_text(out))
}

fn row_to_json(record: &Record, env: &Env, lines: bool) -> Value {
    let mut out = Vec::new();
    write_json(record.each(), env, lines, &mut out);
    as_text(out)
}

fn jsonb_object(args: &[Value]) -> Result<Value> {
    let members = pairs(args)?.into_iter().map(|(k, v)| (k, v.map_or(Json::Null, Json::String)));
    Ok(Value::jsonb(Json::object(members.collect())))
}

pub(super) fn register(r: &mut Registry) {
    for signature in ["to_json(anyelement) json", "array_to_json(anyarray) json"] {
        r.stable(signature, |call, args| {
            let mut out = Vec::new();
            to_json(&args[0], ty_of(call, 0), call.env, &mut out);
            Ok(as_text(out))
        });
    }
    r.stable(
        "array_to_json(anyarray,bool) json",
        code!(|call; a: &Array, lines: bool| {
            let mut out = Vec::new();
            array(a, call.env, lines, &mut out);
            Ok::<_, SqlError>(as_text(out))
        }),
    );
    r.stable(
        "row_to_json(record) json",
        code!(|call; record: &Record| Ok::<_, SqlError>(row_to_json(record, call.env, false))),
    );
    r.stable(
        "row_to_json(record,bool) json",
        code!(|call; record: &Record, lines: bool| Ok::<_, SqlError>(row_to_json(record, call.env, lines))),
    );
    r.stable("to_jsonb(anyelement) jsonb", |call, args| {
        to_jsonb(&args[0], ty_of(call, 0), call.env).map(Value::jsonb)
    });
    r.stable_nullable("json_build_array() json", |call, args| Ok(build_array(call, args)));
    r.stable_nullable("json_build_array(variadic any) json", |call, args| Ok(build_array(call, args)));
    r.stable_nullable("json_build_object() json", build_object);
    r.stable_nullable("json_build_object(variadic any) json", build_object);
    r.stable_nullable("jsonb_build_array() jsonb", jsonb_build_array);
    r.stable_nullable("jsonb_build_array(variadic any) jsonb", jsonb_build_array);
    r.stable_nullable("jsonb_build_object() jsonb", jsonb_build_object);
    r.stable_nullable("jsonb_build_object(variadic any) jsonb", jsonb_build_object);
    r.add("json_object(text[]) json", |_, args| json_object(args));
    r.add("json_object(text[],text[]) json", |_, args| json_object(args));
    r.add("jsonb_object(text[]) jsonb", |_, args| jsonb_object(args));
    r.add("jsonb_object(text[],text[]) jsonb", |_, args| jsonb_object(args));
}
