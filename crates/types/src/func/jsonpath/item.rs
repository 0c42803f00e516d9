//! Items: parts of the value, and what was computed of them.

use crate::datetime::{self, Look};
use crate::json::Json;
use crate::numeric::Numeric;
use crate::timetz::Timetz;
use crate::value::Text;
use crate::zone::Zone;
use std::rc::Rc;

/// One of the things that a path works on.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    /// A part of the value, or of a variable.
    Json(&'a Json),
    Null,
    Bool(bool),
    Number(Numeric),
    String(Text),
    Datetime(Datetime),
    /// A member as `.keyvalue()` has it.
    Pair(Rc<Pair<'a>>),
}

/// What `.datetime()` has made of a string.
#[derive(Clone, Copy, Debug)]
pub(in crate::func) enum Datetime {
    Date(i32),
    Time(i64),
    Timetz(Timetz),
    Timestamp(i64),
    /// In UTC, and seconds east of it that it is shown at.
    Timestamptz(i64, i32),
}

/// `{"id": .., "key": .., "value": ..}`
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) id: Numeric,
    pub(super) key: Text,
    pub(super) value: Item<'a>,
}

/// What kind of thing an item is, with its content.
pub(super) enum View<'i, 'a> {
    Null,
    Bool(bool),
    Number(&'i Numeric),
    String(&'i str),
    Datetime(&'i Datetime),
    Array(&'a [Json]),
    Object(&'a [(Text, Json)]),
    Pair(&'i Pair<'a>),
}

impl<'a> Item<'a> {
    pub(super) fn view(&self) -> View<'_, 'a> {
        match self {
            Self::Json(Json::Null) | Self::Null => View::Null,
            Self::Json(Json::Bool(v)) | Self::Bool(v) => View::Bool(*v),
            Self::Json(Json::Number(v)) => View::Number(v),
            Self::Json(Json::String(v)) => View::String(v),
            Self::Json(Json::Array(elements)) => View::Array(elements),
            Self::Json(Json::Object(members)) => View::Object(members),
            Self::Number(v) => View::Number(v),
            Self::String(v) => View::String(v),
            Self::Datetime(v) => View::Datetime(v),
            Self::Pair(pair) => View::Pair(pair),
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.view(), View::Null)
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        if let View::Bool(v) = self.view() { Some(v) } else { None }
    }

    pub(super) fn as_number(&self) -> Option<&Numeric> {
        if let View::Number(v) = self.view() { Some(v) } else { None }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        if let View::String(v) = self.view() { Some(v) } else { None }
    }

    /// The elements, if it is an array.
    pub(super) fn elements(&self) -> Option<&'a [Json]> {
        if let View::Array(elements) = self.view() { Some(elements) } else { None }
    }

    /// Whether it is an array or an object.
    pub(super) fn is_container(&self) -> bool {
        matches!(self.view(), View::Array(_) | View::Object(_) | View::Pair(_))
    }

    /// What `.type()` says.
    pub(super) fn type_name(&self) -> &'static str {
        match self.view() {
            View::Null => "null",
            View::Bool(_) => "boolean",
            View::Number(_) => "number",
            View::String(_) => "string",
            View::Array(_) => "array",
            View::Object(_) | View::Pair(_) => "object",
            View::Datetime(Datetime::Date(_)) => "date",
            View::Datetime(Datetime::Time(_)) => "time without time zone",
            View::Datetime(Datetime::Timetz(_)) => "time with time zone",
            View::Datetime(Datetime::Timestamp(_)) => "timestamp without time zone",
            View::Datetime(Datetime::Timestamptz(..)) => "timestamp with time zone",
        }
    }

    pub(super) fn to_json(&self) -> Json {
        match self {
            Self::Json(json) => (*json).clone(),
            Self::Null => Json::Null,
            Self::Bool(v) => Json::Bool(*v),
            Self::Number(v) => Json::Number(v.clone()),
            Self::String(v) => Json::String(v.clone()),
            Self::Datetime(v) => Json::String(v.shown()),
            Self::Pair(pair) => Json::object(vec![
                (Text::new("id"), Json::Number(pair.id.clone())),
                (Text::new("key"), Json::String(pair.key.clone())),
                (Text::new("value"), pair.value.to_json()),
            ]),
        }
    }
}

impl<'a> Pair<'a> {
    /// The values in the order of their keys.
    pub(super) fn members(&self) -> [(&'static str, Item<'a>); 3] {
        [
            ("id", Item::Number(self.id.clone())),
            ("key", Item::String(self.key.clone())),
            ("value", self.value.clone()),
        ]
    }
}

impl Datetime {
    /// In the form of ISO 8601.
    fn shown(&self) -> Text {
        let mut out = Vec::new();
        match *self {
            Self::Date(v) => datetime::write_date(v, Look::ISO, &mut out),
            Self::Time(v) => datetime::write_time(v, &mut out),
            Self::Timetz(v) => datetime::write_timetz(v, &mut out),
            Self::Timestamp(v) => datetime::write_timestamp(v, Look::ISO, &mut out),
            Self::Timestamptz(v, east) => {
                let zone = Zone::fixed(east).unwrap_or_else(Zone::utc);
                datetime::write_timestamptz(v, &zone, Look::ISO, &mut out);
            }
        }
        let mut text = String::from_utf8_lossy(&out).into_owned();
        if matches!(self, Self::Timestamp(_) | Self::Timestamptz(..)) {
            text = text.replacen(' ', "T", 1);
        }
        if matches!(self, Self::Timetz(_) | Self::Timestamptz(..)) {
            // the offset has minutes here
            let end = text.find(" BC").unwrap_or(text.len());
            if text[..end].rfind(['+', '-']).is_some_and(|at| end - at == 3) {
                text.insert_str(end, ":00");
            }
        }
        text.into()
    }
}
