//! Arrays.

use super::args::code;
use super::{Registry, element_of};
use crate::array::{Array, Dimension, check_dimensions};
use crate::error::{Result, SqlError, SqlState};
use crate::value::Value;
use std::sync::Arc;

fn of(array: Array) -> Value {
    Value::Array(Arc::new(array))
}

/// The dimension of a number from 1.
fn dimension(array: &Array, n: i32) -> Option<&Dimension> {
    array.dimensions().get(usize::try_from(n).ok()?.checked_sub(1)?)
}

#[cold]
fn not_flat(message: &'static str) -> SqlError {
    SqlError::unsupported(message)
}

/// The array with a value behind, or before, its elements.
fn extend(array: Option<&Array>, value: &Value, element: crate::Type, front: bool) -> Result<Value> {
    let empty = Array::new(element, Vec::new());
    let array = array.unwrap_or(&empty);
    let mut values = array.values().to_vec();
    let dim = match array.dimensions() {
        [] => Dimension { len: 0, lower: 1 },
        [dim] => *dim,
        _ => {
            let message = "argument must be empty or one-dimensional array";
            return Err(SqlError::new(SqlState::DATA_EXCEPTION, message));
        }
    };
    // a new first element has the subscript before the others
    let at = if front { 0 } else { values.len() };
    values.insert(at, value.clone());
    let dims = vec![Dimension { len: dim.len + 1, lower: dim.lower }];
    Ok(of(Array::with_dimensions(element, dims, values)?))
}

fn cat(a: &Array, b: &Array) -> Result<Value> {
    if a.values().is_empty() {
        return Ok(of(b.clone()));
    }
    if b.values().is_empty() {
        return Ok(of(a.clone()));
    }
    let incompatible =
        || SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, "cannot concatenate incompatible arrays");
    let (x, y) = (a.dimensions(), b.dimensions());
    let lens = |dims: &[Dimension]| dims.iter().map(|dim| dim.len).collect::<Vec<_>>();
    let mut dims = match x.len() as i32 - y.len() as i32 {
        0 if lens(&x[1..]) == lens(&y[1..]) => {
            let mut dims = x.to_vec();
            dims[0].len += y[0].len;
            dims
        }
        1 if lens(&x[1..]) == lens(y) => {
            let mut dims = x.to_vec();
            dims[0].len += 1;
            dims
        }
        -1 if lens(x) == lens(&y[1..]) => {
            let mut dims = y.to_vec();
            dims[0].len += 1;
            dims
        }
        _ => return Err(incompatible()),
    };
    if dims.is_empty() {
        dims.clear();
    }
    let mut values = a.values().to_vec();
    values.extend_from_slice(b.values());
    Ok(of(Array::with_dimensions(a.element(), dims, values)?))
}

fn position(array: &Array, wanted: &Value, start: i32) -> Result<Value> {
    if array.dimensions().len() > 1 {
        return Err(not_flat("searching for elements in multidimensional arrays is not supported"));
    }
    let lower = array.dimensions().first().map_or(1, |dim| dim.lower);
    let found = array
        .values()
        .iter()
        .zip(lower..)
        .find(|(value, at)| *at >= start && value.is_null() == wanted.is_null() && *value == wanted);
    Ok(found.map(|(_, at)| at).into())
}

fn positions(array: &Array, wanted: &Value) -> Result<Value> {
    if array.dimensions().len() > 1 {
        return Err(not_flat("searching for elements in multidimensional arrays is not supported"));
    }
    let lower = array.dimensions().first().map_or(1, |dim| dim.lower);
    let found = array.values().iter().zip(lower..).filter(|(value, _)| *value == wanted);
    Ok(of(Array::new(crate::Type::INT4, found.map(|(_, at)| at.into()).collect())))
}

fn remove(array: &Array, unwanted: &Value) -> Result<Value> {
    if array.dimensions().len() > 1 {
        return Err(not_flat("removing elements from multidimensional arrays is not supported"));
    }
    let values = array.values().iter().filter(|value| *value != unwanted).cloned().collect();
    Ok(of(Array::new(array.element(), values)))
}

fn dims_text(array: &Array) -> Value {
    if array.dimensions().is_empty() {
        return Value::Null;
    }
    let dims = array.dimensions().iter();
    let text: String = dims
        .map(|dim| format!("[{}:{}]", dim.lower, i64::from(dim.lower) + i64::from(dim.len) - 1))
        .collect();
    text.into()
}

/// Whether all of `part` is in `whole`: NULL is in nothing.
fn contains(whole: &Array, part: &Array) -> bool {
    let has = |wanted: &Value| !wanted.is_null() && whole.values().contains(wanted);
    part.values().iter().all(has)
}

fn overlap(a: &Array, b: &Array) -> bool {
    a.values().iter().any(|value| !value.is_null() && b.values().contains(value))
}

/// Non-negative integers of an array.
fn ints(array: &Array) -> Result<Vec<i32>> {
    let null = || SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "dimension values cannot be null");
    if array.dimensions().len() > 1 {
        let message = "wrong number of array subscripts";
        return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message));
    }
    array.values().iter().map(|value| value.as_i64().map(|v| v as i32).ok_or_else(null)).collect()
}

fn fill(value: &Value, element: crate::Type, lens: &Array, lowers: Option<&Array>) -> Result<Value> {
    let lens = ints(lens)?;
    let lowers = match lowers {
        Some(lowers) => ints(lowers)?,
        None => vec![1; lens.len()],
    };
    if lens.len() != lowers.len() {
        let message = "wrong number of array subscripts";
        return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message));
    }
    let dims: Vec<Dimension> =
        lens.iter().zip(&lowers).map(|(len, lower)| Dimension { len: *len, lower: *lower }).collect();
    check_dimensions(&dims)?;
    let count = if dims.is_empty() { 0 } else { dims.iter().map(|dim| dim.len as usize).product() };
    super::text::check_length(count.saturating_mul(size_of::<Value>()))?;
    Ok(of(Array::with_dimensions(element, dims, vec![value.clone(); count])?))
}

fn trim(array: &Array, n: i32) -> Result<Value> {
    let len = array.dimensions().first().map_or(0, |dim| dim.len);
    if n < 0 || n > len {
        let message = format!("number of elements to trim must be between 0 and {len}");
        return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message));
    }
    let Some((first, rest)) = array.dimensions().split_first() else { return Ok(of(array.clone())) };
    let row: usize = rest.iter().map(|dim| dim.len as usize).product();
    let kept = (len - n) as usize;
    let mut dims = vec![Dimension { len: kept as i32, lower: 1 }];
    dims.extend(rest.iter().map(|dim| Dimension { lower: 1, ..*dim }));
    let _ = first;
    Ok(of(Array::with_dimensions(array.element(), dims, array.values()[..kept * row].to_vec())?))
}

/// How many of the bounds, which are in order, a value is not less than.
fn width_bucket(value: &Value, bounds: &Array) -> Result<i32> {
    if bounds.dimensions().len() > 1 {
        let message = "thresholds must be one-dimensional array";
        return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message));
    }
    if bounds.values().iter().any(Value::is_null) {
        let message = "thresholds array must not contain NULLs";
        return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    Ok(bounds.values().partition_point(|bound| bound <= value) as i32)
}

pub(super) fn register(r: &mut Registry) {
    r.add(
        "array_length(anyarray,int4) int4",
        code!(|a: &Array, n: i32| Ok(dimension(a, n).map(|dim| dim.len))),
    );
    r.add(
        "array_lower(anyarray,int4) int4",
        code!(|a: &Array, n: i32| Ok(dimension(a, n).map(|dim| dim.lower))),
    );
    r.add(
        "array_upper(anyarray,int4) int4",
        code!(|a: &Array, n: i32| Ok(dimension(a, n).map(|dim| dim.lower + dim.len - 1))),
    );
    r.add(
        "array_ndims(anyarray) int4",
        code!(|a: &Array| Ok(Some(a.dimensions().len() as i32).filter(|n| *n > 0))),
    );
    r.add("array_dims(anyarray) text", code!(|a: &Array| Ok(dims_text(a))));
    r.add("cardinality(anyarray) int4", code!(|a: &Array| Ok(a.values().len() as i32)));
    for signature in [
        "array_append(anycompatiblearray,anycompatible) anycompatiblearray",
        "||(anycompatiblearray,anycompatible) anycompatiblearray",
    ] {
        r.nullable(
            signature,
            code!(|call; a: Option<&Array>, value: &Value| extend(a, value, element_of(call.result), false)),
        );
    }
    for signature in [
        "array_prepend(anycompatible,anycompatiblearray) anycompatiblearray",
        "||(anycompatible,anycompatiblearray) anycompatiblearray",
    ] {
        r.nullable(
            signature,
            code!(|call; value: &Value, a: Option<&Array>| extend(a, value, element_of(call.result), true)),
        );
    }
    for signature in [
        "array_cat(anycompatiblearray,anycompatiblearray) anycompatiblearray",
        "||(anycompatiblearray,anycompatiblearray) anycompatiblearray",
    ] {
        r.nullable(signature, |_, args| match args {
            [Value::Array(a), Value::Array(b)] => cat(a, b),
            [one, Value::Null] | [Value::Null, one] => Ok(one.clone()),
            _ => Ok(Value::Null),
        });
    }
    r.nullable(
        "array_position(anycompatiblearray,anycompatible) int4",
        code!(|a: Option<&Array>, wanted: &Value| a.map_or(Ok(Value::Null), |a| position(
            a,
            wanted,
            i32::MIN
        ))),
    );
    r.nullable(
        "array_position(anycompatiblearray,anycompatible,int4) int4",
        code!(|a: Option<&Array>, wanted: &Value, start: Option<i32>| match (a, start) {
            (None, _) => Ok(Value::Null),
            (Some(a), Some(start)) => position(a, wanted, start),
            (Some(_), None) =>
                Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "initial position must not be null")),
        }),
    );
    r.nullable(
        "array_positions(anycompatiblearray,anycompatible) int4[]",
        code!(|a: Option<&Array>, wanted: &Value| a.map_or(Ok(Value::Null), |a| positions(a, wanted))),
    );
    r.nullable(
        "array_remove(anycompatiblearray,anycompatible) anycompatiblearray",
        code!(|a: Option<&Array>, unwanted: &Value| a.map_or(Ok(Value::Null), |a| remove(a, unwanted))),
    );
    r.nullable(
        "array_replace(anycompatiblearray,anycompatible,anycompatible) anycompatiblearray",
        code!(|a: Option<&Array>, from: &Value, to: &Value| match a {
            Some(a) => {
                let swap = |value: &Value| Ok(if value == from { to.clone() } else { value.clone() });
                a.map(a.element(), swap).map(of)
            }
            None => Ok(Value::Null),
        }),
    );
    r.add("@>(anyarray,anyarray) bool", code!(|a: &Array, b: &Array| Ok(contains(a, b))));
    r.add("<@(anyarray,anyarray) bool", code!(|a: &Array, b: &Array| Ok(contains(b, a))));
    r.add("&&(anyarray,anyarray) bool", code!(|a: &Array, b: &Array| Ok(overlap(a, b))));
    r.add("trim_array(anyarray,int4) anyarray", code!(|a: &Array, n: i32| trim(a, n)));
    r.add(
        "width_bucket(anycompatible,anycompatiblearray) int4",
        code!(|value: &Value, bounds: &Array| width_bucket(value, bounds)),
    );
    r.nullable("array_fill(anyelement,int4[]) anyarray", |call, args| match args {
        [value, Value::Array(lens)] => fill(value, element_of(call.result), lens, None),
        _ => Err(null_fill()),
    });
    r.nullable("array_fill(anyelement,int4[],int4[]) anyarray", |call, args| match args {
        [value, Value::Array(lens), Value::Array(lowers)] => {
            fill(value, element_of(call.result), lens, Some(lowers))
        }
        _ => Err(null_fill()),
    });
}

#[cold]
fn null_fill() -> SqlError {
    let message = "dimension array or low bound array cannot be null";
    SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
}
