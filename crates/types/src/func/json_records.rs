//! Objects of json and jsonb as rows of named columns: `jsonb_to_recordset` and its like.

use super::json::{Pieces, json_text, jsonb_text, pieces};
use crate::error::{Result, SqlError, SqlState};
use crate::json::Json;
use crate::value::{Text, Value};
use std::ops::ControlFlow;

/// In which form a member of an object is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As text: a string without its quotes.
    Text,
    /// As the text of an array: `{1,2}`.
    Array,
    /// As json.
    Json,
    /// As jsonb.
    Jsonb,
}

/// The members that rows have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonRecords {
    /// Whether there is a row for each element of an array.
    pub set: bool,
    /// Keys, and the forms of their values.
    pub members: Vec<(Text, Form)>,
}

impl JsonRecords {
    /// Hands the rows of a call of `function` to `next` until that breaks. A set of NULL has no rows; a record of NULL
    /// is one of NULLs.
    ///
    /// # Errors
    /// 22023 for a value of another kind, 22P02 for what is no array where one is wanted, and those of `next`.
    pub fn rows(
        &self,
        function: &str,
        value: &Value,
        next: &mut dyn FnMut(Vec<Value>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let wrong =
            |what: &str| Err(SqlError::invalid_parameter(format!("cannot call {function} on {what}")));
        let no_object = || {
            Err(SqlError::invalid_parameter(format!("argument of {function} must be an array of objects")))
        };
        match (value, self.set) {
            (Value::Null, true) => Ok(ControlFlow::Continue(())),
            (Value::Null, false) => next(vec![Value::Null; self.members.len()]),
            (Value::Jsonb(json), false) => match &**json {
                Json::Object(members) => next(self.of_jsonb(members)?),
                Json::Array(_) => wrong("an array"),
                _ => wrong("a scalar"),
            },
            (Value::Jsonb(json), true) => {
                let Json::Array(elements) = &**json else { return wrong("a non-array") };
                for element in elements {
                    let Json::Object(members) = element else { return no_object() };
                    if next(self.of_jsonb(members)?)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(ControlFlow::Continue(()))
            }
            (json, false) => match pieces(json.as_str().unwrap_or_default())? {
                Pieces::Object(members) => next(self.of_json(&members)?),
                Pieces::Array(_) => wrong("an array"),
                Pieces::Scalar => wrong("a scalar"),
            },
            (json, true) => {
                let elements = match pieces(json.as_str().unwrap_or_default())? {
                    Pieces::Array(elements) => elements,
                    Pieces::Object(_) => return wrong("an object"),
                    Pieces::Scalar => return wrong("a scalar"),
                };
                for element in elements {
                    let Pieces::Object(members) = pieces(element)? else { return no_object() };
                    if next(self.of_json(&members)?)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    fn of_jsonb(&self, members: &[(Text, Json)]) -> Result<Vec<Value>> {
        let value = |(key, form): &(Text, Form)| match members.iter().find(|(known, _)| known == key) {
            None | Some((_, Json::Null)) => Ok(Value::Null),
            Some((_, json)) => match form {
                Form::Text => Ok(jsonb_text(json)),
                Form::Array => array_text(key, json),
                Form::Jsonb => Ok(Value::jsonb(json.clone())),
                Form::Json => {
                    let mut out = Vec::new();
                    json.write_text(&mut out);
                    Ok(Value::text(String::from_utf8_lossy(&out)))
                }
            },
        };
        self.members.iter().map(value).collect()
    }

    fn of_json(&self, members: &[(Text, &str)]) -> Result<Vec<Value>> {
        // of members with one key the last counts
        let value = |(key, form): &(Text, Form)| match members.iter().rfind(|(known, _)| known == key) {
            None | Some((_, "null")) => Ok(Value::Null),
            Some((_, text)) => match form {
                Form::Text => json_text(text),
                Form::Array => array_text(key, &Json::parse(text)?),
                Form::Jsonb => Ok(Value::jsonb(Json::parse(text)?)),
                Form::Json => Ok(Value::text(text)),
            },
        };
        self.members.iter().map(value).collect()
    }
}

/// The text of an array that has the elements of a JSON array.
///
/// # Errors
/// 22P02 if it is none.
fn array_text(key: &str, json: &Json) -> Result<Value> {
    if !matches!(json, Json::Array(_)) {
        let hint = format!("See the value of key \"{key}\".");
        return Err(SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected JSON array").hint(hint));
    }
    let mut out = Vec::new();
    write_array(json, &mut out);
    Ok(Value::text(String::from_utf8_lossy(&out)))
}

/// Writes an element of an array. JSON is not nested deeper than its parser allows, which bounds the depth.
fn write_array(json: &Json, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.extend_from_slice(b"NULL"),
        Json::Array(elements) => {
            out.push(b'{');
            for (number, element) in elements.iter().enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                write_array(element, out);
            }
            out.push(b'}');
        }
        other => {
            let mut text = Vec::new();
            match other {
                Json::String(string) => text.extend_from_slice(string.as_bytes()),
                other => other.write_text(&mut text),
            }
            out.push(b'"');
            for byte in text {
                if byte == b'"' || byte == b'\\' {
                    out.push(b'\\');
                }
                out.push(byte);
            }
            out.push(b'"');
        }
    }
}
