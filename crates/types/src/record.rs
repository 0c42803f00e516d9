//! Rows as values: the text of a record, and rows as JSON.

use crate::env::Env;
use crate::error::Result;
use crate::func::{to_json, to_jsonb};
use crate::json::{Json, write_string};
use crate::ty::Type;
use crate::value::{Text, Value};

/// A row as the text of a record: `(1,"a b",)`.
pub fn to_record(env: &Env, types: &[Type], row: &[Value]) -> Value {
    let mut out = vec![b'('];
    let mut field = Vec::new();
    for (number, (value, &ty)) in row.iter().zip(types).enumerate() {
        if number > 0 {
            out.push(b',');
        }
        if value.is_null() {
            continue;
        }
        field.clear();
        value.write_text(ty, env, &mut field);
        let special = |byte: &u8| b"(),\"\\".contains(byte) || byte.is_ascii_whitespace();
        if !field.is_empty() && !field.iter().any(special) {
            out.extend_from_slice(&field);
            continue;
        }
        out.push(b'"');
        for &byte in &field {
            if byte == b'"' || byte == b'\\' {
                out.push(byte);
            }
            out.push(byte);
        }
        out.push(b'"');
    }
    out.push(b')');
    Value::text(String::from_utf8_lossy(&out))
}

/// A row as a JSON object, with the names of its columns as keys. With `lines`, every member is on a line of its own.
pub fn row_to_json(env: &Env, names: &[String], types: &[Type], row: &[Value], lines: bool) -> Value {
    let mut out = vec![b'{'];
    for (number, ((name, &ty), value)) in names.iter().zip(types).zip(row).enumerate() {
        if number > 0 {
            out.extend_from_slice(if lines { b",\n " } else { b"," });
        }
        write_string(name, &mut out);
        out.push(b':');
        to_json(value, ty, env, &mut out);
    }
    out.push(b'}');
    Value::text(String::from_utf8_lossy(&out))
}

/// As [`row_to_json`], as jsonb.
///
/// # Errors
/// A value that jsonb does not hold.
pub fn row_to_jsonb(env: &Env, names: &[String], types: &[Type], row: &[Value]) -> Result<Value> {
    let fields = names.iter().zip(types).zip(row);
    let members =
        fields.map(|((name, &ty), value)| Ok((Text::new(name.as_str()), to_jsonb(value, ty, env)?)));
    Ok(Value::jsonb(Json::object(members.collect::<Result<_>>()?)))
}
