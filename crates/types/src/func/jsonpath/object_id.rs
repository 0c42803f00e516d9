//! The `id` of what `.keyvalue()` makes: where the object lies in PostgreSQL's form of the value that it is a part of.
//!
//! ```text
//! array     header (4) | entry of each element (4) | elements
//! object    header (4) | entry of each key (4) | entry of each value (4) | keys | values
//! number    at a multiple of 4: header (4) | sign, scale and weight (2, or 4 if they are large) | digits by fours (2)
//! ```
//!
//! Arrays and objects begin at multiples of 4, too; strings where they are; null, true and false take nothing.

use super::item::{Item, Pair};
use crate::json::Json;
use crate::numeric::Numeric;
use crate::value::Text;
use std::collections::HashMap;

/// Where the objects of a value lie, by their addresses.
pub(super) type Places = HashMap<usize, i64>;

/// What tells objects of a value apart.
pub(super) fn address(json: &Json) -> usize {
    std::ptr::from_ref(json) as usize
}

fn aligned(at: i64) -> i64 {
    (at + 3) & !3
}

fn number_len(number: &Numeric) -> i64 {
    let mut bytes = Vec::new();
    number.write_binary(&mut bytes);
    let field = |at: usize| bytes.get(at..at + 2).map_or(0, |v| i64::from(i16::from_be_bytes([v[0], v[1]])));
    let (digits, weight, scale) = (field(0), field(2), field(6));
    let short = scale <= 0x3F && (-0x40..=0x3F).contains(&weight);
    4 + if short { 2 } else { 4 } + 2 * digits
}

/// The places of the objects in a value that lies at the start.
pub(super) fn places(json: &Json) -> Places {
    let mut places = Places::new();
    behind(json, 0, &mut places);
    places
}

/// What is behind a value that begins at a place.
fn behind(json: &Json, at: i64, places: &mut Places) -> i64 {
    match json {
        Json::Null | Json::Bool(_) => at,
        Json::String(text) => at + text.len() as i64,
        Json::Number(number) => aligned(at) + number_len(number),
        Json::Array(elements) => {
            let start = aligned(at) + 4 + 4 * elements.len() as i64;
            elements.iter().fold(start, |at, element| behind(element, at, places))
        }
        Json::Object(members) => {
            let at = aligned(at);
            places.insert(address(json), at);
            members.iter().fold(values_of(at, members), |at, (_, value)| behind(value, at, places))
        }
    }
}

/// Where the values of an object begin.
fn values_of(at: i64, members: &[(Text, Json)]) -> i64 {
    let keys: i64 = members.iter().map(|(key, _)| key.len() as i64).sum();
    at + 4 + 8 * members.len() as i64 + keys
}

impl<'a> Pair<'a> {
    /// Where the value begins, if it is an array or an object.
    pub(super) fn place_of_value(&self) -> i64 {
        let keys = ("id".len() + "key".len() + "value".len()) as i64;
        let id = aligned(4 + 3 * 8 + keys);
        aligned(id + number_len(&self.id) + self.key.len() as i64)
    }

    /// The value as a part of the document.
    pub(super) fn document(&self) -> Option<&'a Json> {
        if let Item::Json(json) = self.value { Some(json) } else { None }
    }
}
