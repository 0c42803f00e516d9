//! Assignment to elements and slices of arrays, and to what a path of jsonb leads to.

use super::Interrupt;
use crate::array::{Array, Dimension, MAX_ELEMENTS, check_dimensions};
use crate::error::{Result, SqlError, SqlState};
use crate::json::{Json, MAX_DEPTH};
use crate::ty::Type;
use crate::value::{Text, Value};
use std::sync::Arc;

/// A part of a slice: its bounds, where they are given.
pub type Bounds = (Option<i32>, Option<i32>);

#[cold]
fn wrong(message: &'static str) -> SqlError {
    SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message)
}

#[cold]
fn too_large() -> SqlError {
    let message = format!("array size exceeds the maximum allowed ({MAX_ELEMENTS})");
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

fn of(array: Array) -> Value {
    Value::Array(Arc::new(array))
}

/// The elements of an array of one dimension and their first subscript, with NULLs before and behind them up to these
/// subscripts.
fn grown(array: &Array, from: i32, to: i32, interrupt: Interrupt<'_>) -> Result<(Dimension, Vec<Value>)> {
    let Some(dim) = array.dimensions().first() else { return Err(wrong("wrong number of array subscripts")) };
    let end = |lower: i32, len: i32| i64::from(lower) + i64::from(len);
    let lower = dim.lower.min(from);
    let behind = end(dim.lower, dim.len).max(i64::from(to) + 1);
    let len = i32::try_from(behind - i64::from(lower)).map_err(|_| too_large())?;
    let dimension = Dimension { len, lower };
    check_dimensions(&[dimension])?;
    interrupt.admit((len as usize).saturating_mul(size_of::<Value>()))?;
    let mut values = Vec::with_capacity(len as usize);
    values.resize((i64::from(dim.lower) - i64::from(lower)) as usize, Value::Null);
    values.extend_from_slice(array.values());
    values.resize(len as usize, Value::Null);
    Ok((dimension, values))
}

/// An array, or NULL, with another element at these subscripts. One dimension grows, with NULLs in between.
///
/// # Errors
///
/// 2202E if the array has other dimensions, 54000 if it would be too large, 53200.
pub fn set_element(
    array: &Value,
    element: Type,
    subscripts: &[i32],
    value: Value,
    interrupt: Interrupt<'_>,
) -> Result<Value> {
    let array = match array {
        Value::Array(array) if !array.dimensions().is_empty() => array,
        _ => {
            let dims = subscripts.iter().map(|&lower| Dimension { len: 1, lower }).collect();
            return Ok(of(Array::with_dimensions(element, dims, vec![value])?));
        }
    };
    if array.dimensions().len() != subscripts.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    if let [subscript] = *subscripts {
        let (dimension, mut values) = grown(array, subscript, subscript, interrupt)?;
        values[(i64::from(subscript) - i64::from(dimension.lower)) as usize] = value;
        return Ok(of(Array::with_dimensions(element, vec![dimension], values)?));
    }
    let mut at = 0;
    for (subscript, dim) in subscripts.iter().zip(array.dimensions()) {
        let offset = i64::from(*subscript) - i64::from(dim.lower);
        if offset < 0 || offset >= i64::from(dim.len) {
            return Err(wrong("array subscript out of range"));
        }
        at = at * dim.len as usize + offset as usize;
    }
    let mut values = array.values().to_vec();
    values[at] = value;
    Ok(of(Array::with_dimensions(element, array.dimensions().to_vec(), values)?))
}

/// An array, or NULL, with the elements of another one in a slice, as they follow one another. NULL changes nothing.
///
/// # Errors
///
/// 2202E if the slice is not in the array, or the other array is too small; 54000 if it would be too large, 53200.
pub fn set_slice(
    array: &Value,
    element: Type,
    bounds: &[Bounds],
    source: &Value,
    interrupt: Interrupt<'_>,
) -> Result<Value> {
    let empty = Arc::new(Array::new(element, Vec::new()));
    let array = match array {
        Value::Array(array) => array,
        _ => &empty,
    };
    let Value::Array(source) = source else { return Ok(Value::Array(array.clone())) };
    let source = source.values();
    if array.dimensions().is_empty() {
        return new_slice(element, bounds, source);
    }
    let dims = array.dimensions();
    if dims.len() < bounds.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    let mut parts = Vec::with_capacity(dims.len());
    for (at, dim) in dims.iter().enumerate() {
        let (lower, upper) = bounds.get(at).copied().unwrap_or_default();
        let last = dim.lower.saturating_add(dim.len - 1);
        let (lower, upper) = (lower.unwrap_or(dim.lower), upper.unwrap_or(last));
        if lower > upper {
            return Err(wrong("upper bound cannot be less than lower bound"));
        }
        if dims.len() > 1 && (lower < dim.lower || upper > last) {
            return Err(wrong("array subscript out of range"));
        }
        parts.push((lower, upper));
    }
    let (dims, mut values) = match parts[..] {
        [(lower, upper)] => {
            let (dimension, values) = grown(array, lower, upper, interrupt)?;
            (vec![dimension], values)
        }
        _ => (dims.to_vec(), array.values().to_vec()),
    };
    let count = |&(lower, upper): &(i32, i32)| (i64::from(upper) - i64::from(lower) + 1) as usize;
    if parts.iter().map(count).product::<usize>() > source.len() {
        return Err(wrong("source array too small"));
    }
    let inside: Vec<(usize, usize)> = parts
        .iter()
        .zip(&dims)
        .map(|(part, dim)| ((i64::from(part.0) - i64::from(dim.lower)) as usize, count(part)))
        .collect();
    let (mut at, mut next) = (0, source.iter());
    put(&mut values, &dims, &inside, &mut at, true, &mut next);
    Ok(of(Array::with_dimensions(element, dims, values)?))
}

/// A slice of what has no elements yet.
fn new_slice(element: Type, bounds: &[Bounds], source: &[Value]) -> Result<Value> {
    let mut dims = Vec::with_capacity(bounds.len());
    for bound in bounds {
        let (Some(lower), Some(upper)) = *bound else {
            let detail = "When assigning to a slice of an empty array value, slice boundaries must be fully specified.";
            return Err(wrong("array slice subscript must provide both boundaries").detail(detail));
        };
        let len = i64::from(upper) - i64::from(lower) + 1;
        let len = i32::try_from(len).ok().filter(|len| *len >= 0).ok_or_else(too_large)?;
        dims.push(Dimension { len, lower });
    }
    check_dimensions(&dims)?;
    let count: usize = dims.iter().map(|dim| dim.len as usize).product();
    let values = source.get(..count).ok_or_else(|| wrong("source array too small"))?;
    Ok(of(Array::with_dimensions(element, dims, values.to_vec())?))
}

/// Puts values where the parts are; `at` is the element that a dimension begins with.
fn put<'v>(
    values: &mut [Value],
    dims: &[Dimension],
    parts: &[(usize, usize)],
    at: &mut usize,
    within: bool,
    next: &mut impl Iterator<Item = &'v Value>,
) {
    let (Some((dim, dims)), Some((&(from, count), parts))) = (dims.split_first(), parts.split_first()) else {
        if let (true, Some(value)) = (within, values.get_mut(*at)) {
            *value = next.next().cloned().unwrap_or_default();
        }
        *at += 1;
        return;
    };
    for number in 0..dim.len as usize {
        let inside = within && (from..from + count).contains(&number);
        put(values, dims, parts, at, inside, next);
    }
}

/// A jsonb, or NULL, with another value where a path leads to; what is missing on the way is made. NULL begins as an
/// array if `array`, and as an object otherwise.
///
/// # Errors
///
/// 22023 if a scalar is on the way, 22P02 if an array has no such number, 53200, 54001.
pub fn set_path(
    json: &Value,
    path: &[&str],
    array: bool,
    value: &Value,
    interrupt: Interrupt<'_>,
) -> Result<Value> {
    let value = match value {
        Value::Jsonb(json) => (**json).clone(),
        _ => Json::Null,
    };
    let mut json = match json {
        Value::Jsonb(json) => (**json).clone(),
        _ if array => Json::Array(Vec::new()),
        _ => Json::Object(Vec::new()),
    };
    if path.len() > MAX_DEPTH {
        return Err(too_deep());
    }
    set_at(&mut json, path, 0, value, interrupt)?;
    if json.is_too_deep() { Err(too_deep()) } else { Ok(Value::jsonb(json)) }
}

#[cold]
fn too_deep() -> SqlError {
    let what = format!("JSON is nested deeper than {MAX_DEPTH} levels");
    SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, what)
}

#[cold]
fn scalar_on_the_way() -> SqlError {
    SqlError::invalid_parameter("cannot replace existing key")
        .detail("The path assumes key is a composite object, but it is a scalar value.")
}

fn set_at(json: &mut Json, path: &[&str], depth: usize, value: Json, interrupt: Interrupt<'_>) -> Result<()> {
    let Some(&step) = path.get(depth) else {
        *json = value;
        return Ok(());
    };
    match json {
        Json::Object(members) => match members.iter_mut().find(|(key, _)| key == step) {
            Some((_, member)) => set_at(member, path, depth + 1, value, interrupt),
            None => {
                let mut members = std::mem::take(members);
                members.push((Text::new(step), made(path, depth + 1, value, interrupt)?));
                *json = Json::object(members);
                Ok(())
            }
        },
        Json::Array(elements) => {
            let number = integer(step).ok_or_else(|| {
                let what = format!("path element at position {} is not an integer: \"{step}\"", depth + 1);
                SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, what)
            })?;
            let len = elements.len();
            let at = if number < 0 { i64::from(number) + len as i64 } else { i64::from(number) };
            let at = usize::try_from(at).map_err(|_| {
                let what = format!("path element at position {} is out of range: {number}", depth + 1);
                SqlError::invalid_parameter(what)
            })?;
            if let Some(element) = elements.get_mut(at) {
                return set_at(element, path, depth + 1, value, interrupt);
            }
            fill(elements, at, interrupt)?;
            elements.push(made(path, depth + 1, value, interrupt)?);
            Ok(())
        }
        _ => Err(scalar_on_the_way()),
    }
}

/// A number of an element.
fn integer(step: &str) -> Option<i32> {
    step.trim_start().parse().ok()
}

/// Makes an array so long.
fn fill(elements: &mut Vec<Json>, len: usize, interrupt: Interrupt<'_>) -> Result<()> {
    interrupt.admit(len.saturating_mul(size_of::<Json>()))?;
    elements.resize(len.max(elements.len()), Json::Null);
    Ok(())
}

/// What the rest of a path leads to, where there is nothing yet.
fn made(path: &[&str], depth: usize, value: Json, interrupt: Interrupt<'_>) -> Result<Json> {
    let mut json = value;
    for &step in path[depth.min(path.len())..].iter().rev() {
        json = match integer(step) {
            None => Json::Object(vec![(Text::new(step), json)]),
            Some(number) => {
                let mut elements = Vec::new();
                fill(&mut elements, usize::try_from(number).unwrap_or(0), interrupt)?;
                elements.push(json);
                Json::Array(elements)
            }
        };
    }
    Ok(json)
}
