//! Functions that return the parts of json and jsonb as rows.

use super::json::{Pieces, json_text, jsonb_text, pieces};
use crate::error::{Result, SqlError};
use crate::json::Json;
use crate::value::Value;
use std::ops::ControlFlow;

/// Which parts, in which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonRows {
    /// The elements of an array.
    Elements,
    /// Their texts.
    ElementTexts,
    /// The keys of an object.
    Keys,
    /// The keys and values of an object.
    Members,
    /// The keys, and the texts of the values.
    MemberTexts,
}

impl JsonRows {
    /// Hands the rows of a call of `function` to `next` until that breaks; NULL has none.
    ///
    /// # Errors
    /// 22023 for a value of another kind, and those of `next`.
    pub fn rows(
        self,
        function: &str,
        value: &Value,
        next: &mut dyn FnMut(Vec<Value>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        match value {
            Value::Null => Ok(ControlFlow::Continue(())),
            Value::Jsonb(json) => self.of_jsonb(function, json, next),
            json => self.of_json(function, json.as_str().unwrap_or_default(), next),
        }
    }

    fn of_jsonb(
        self,
        function: &str,
        json: &Json,
        next: &mut dyn FnMut(Vec<Value>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        match (self, json) {
            (Self::Elements, Json::Array(elements)) => {
                each(elements, |element| next(vec![Value::jsonb(element.clone())]))
            }
            (Self::ElementTexts, Json::Array(elements)) => {
                each(elements, |element| next(vec![jsonb_text(element)]))
            }
            (Self::Keys, Json::Object(members)) => {
                each(members, |(key, _)| next(vec![Value::Text(key.clone())]))
            }
            (Self::Members, Json::Object(members)) => each(members, |(key, value)| {
                next(vec![Value::Text(key.clone()), Value::jsonb(value.clone())])
            }),
            (Self::MemberTexts, Json::Object(members)) => {
                each(members, |(key, value)| next(vec![Value::Text(key.clone()), jsonb_text(value)]))
            }
            _ => Err(SqlError::invalid_parameter(match (self, json) {
                (Self::Elements | Self::ElementTexts, Json::Object(_)) => {
                    "cannot extract elements from an object".to_owned()
                }
                (Self::Elements | Self::ElementTexts, _) => {
                    "cannot extract elements from a scalar".to_owned()
                }
                (Self::Keys, Json::Array(_)) => format!("cannot call {function} on an array"),
                (Self::Keys, _) => format!("cannot call {function} on a scalar"),
                _ => format!("cannot call {function} on a non-object"),
            })),
        }
    }

    fn of_json(
        self,
        function: &str,
        text: &str,
        next: &mut dyn FnMut(Vec<Value>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        match (self, pieces(text)?) {
            (Self::Elements, Pieces::Array(elements)) => {
                each(&elements, |element| next(vec![Value::text(element)]))
            }
            (Self::ElementTexts, Pieces::Array(elements)) => {
                each(&elements, |element| next(vec![json_text(element)?]))
            }
            (Self::Keys, Pieces::Object(members)) => {
                each(&members, |(key, _)| next(vec![Value::Text(key.clone())]))
            }
            (Self::Members, Pieces::Object(members)) => {
                each(&members, |(key, value)| next(vec![Value::Text(key.clone()), Value::text(value)]))
            }
            (Self::MemberTexts, Pieces::Object(members)) => {
                each(&members, |(key, value)| next(vec![Value::Text(key.clone()), json_text(value)?]))
            }
            (_, other) => Err(SqlError::invalid_parameter(match (self, other) {
                (Self::Elements | Self::ElementTexts, Pieces::Scalar) => {
                    format!("cannot call {function} on a scalar")
                }
                (Self::Elements | Self::ElementTexts, _) => format!("cannot call {function} on a non-array"),
                (Self::Keys, Pieces::Scalar) => format!("cannot call {function} on a scalar"),
                (Self::Keys, _) => format!("cannot call {function} on an array"),
                (_, Pieces::Scalar) => "cannot deconstruct a scalar".to_owned(),
                _ => "cannot deconstruct an array as an object".to_owned(),
            })),
        }
    }
}

fn each<T>(parts: &[T], mut next: impl FnMut(&T) -> Result<ControlFlow<()>>) -> Result<ControlFlow<()>> {
    for part in parts {
        if next(part)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
