//! Ranges: constructors, operators, and what their bounds are.

use super::args::{arity, code};
use super::{Call, Registry};
use crate::error::{Result, SqlError, SqlState};
use crate::range::{Bound, Range, RangeType};
use crate::value::Value;
use std::sync::Arc;

impl From<Range> for Value {
    fn from(range: Range) -> Self {
        Self::Range(Arc::new(range))
    }
}

/// The range type that a constructor makes.
fn made(call: &Call<'_>) -> Result<RangeType> {
    call.result.as_range().ok_or_else(|| SqlError::internal("a constructor of ranges makes something else"))
}

/// `int4range(1, 5)`, `int4range(1, 5, '[]')`: NULL is an infinite bound.
fn construct(call: &Call<'_>, args: &[Value]) -> Result<Value> {
    let (lower, upper, flags) = match args {
        [lower, upper] => (lower, upper, "[)"),
        [_, _, Value::Null] => {
            let what = "range constructor flags argument must not be null";
            return Err(SqlError::new(SqlState::DATA_EXCEPTION, what));
        }
        [lower, upper, Value::Text(flags)] => (lower, upper, flags.as_str()),
        _ => return Err(arity()),
    };
    let (lower_inclusive, upper_inclusive) = match flags {
        "[]" => (true, true),
        "[)" => (true, false),
        "(]" => (false, true),
        "()" => (false, false),
        _ => {
            let hint = "Valid values are \"[]\", \"[)\", \"(]\", and \"()\".";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "invalid range bound flags").hint(hint));
        }
    };
    let lower = Bound::new(lower.clone(), lower_inclusive);
    Ok(Range::new(made(call)?, lower, Bound::new(upper.clone(), upper_inclusive))?.into())
}

/// Whether a bound of a range, which may be empty, is so.
fn bound_is(range: &Range, upper: bool, is: impl Fn(&Bound) -> bool) -> bool {
    range.bounds().is_some_and(|bounds| is(&bounds[usize::from(upper)]))
}

/// The value of a bound: NULL if there is none.
fn bound_value(range: &Range, upper: bool) -> Value {
    range.bounds().map_or(Value::Null, |bounds| bounds[usize::from(upper)].value.clone())
}

pub(super) fn register(r: &mut Registry) {
    for signatures in [
        ["int4range(int4, int4) int4range", "int4range(int4, int4, text) int4range"],
        ["int8range(int8, int8) int8range", "int8range(int8, int8, text) int8range"],
        ["numrange(numeric, numeric) numrange", "numrange(numeric, numeric, text) numrange"],
        ["tsrange(timestamp, timestamp) tsrange", "tsrange(timestamp, timestamp, text) tsrange"],
        [
            "tstzrange(timestamptz, timestamptz) tstzrange",
            "tstzrange(timestamptz, timestamptz, text) tstzrange",
        ],
        ["daterange(date, date) daterange", "daterange(date, date, text) daterange"],
    ] {
        signatures.into_iter().for_each(|signature| r.nullable(signature, construct));
    }
    r.add("lower(anyrange) anyelement", code!(|range: &Range| Ok(bound_value(range, false))));
    r.add("upper(anyrange) anyelement", code!(|range: &Range| Ok(bound_value(range, true))));
    r.add("isempty(anyrange) bool", code!(|range: &Range| Ok(range.is_empty())));
    r.add("lower_inc(anyrange) bool", code!(|range: &Range| Ok(bound_is(range, false, |b| b.inclusive))));
    r.add("upper_inc(anyrange) bool", code!(|range: &Range| Ok(bound_is(range, true, |b| b.inclusive))));
    r.add("lower_inf(anyrange) bool", code!(|range: &Range| Ok(bound_is(range, false, Bound::is_infinite))));
    r.add("upper_inf(anyrange) bool", code!(|range: &Range| Ok(bound_is(range, true, Bound::is_infinite))));
    r.add("range_merge(anyrange, anyrange) anyrange", code!(|a: &Range, b: &Range| Ok(a.merge(b))));

    r.add("@>(anyrange, anyrange) bool", code!(|a: &Range, b: &Range| Ok(a.contains(b))));
    r.add("<@(anyrange, anyrange) bool", code!(|a: &Range, b: &Range| Ok(b.contains(a))));
    r.add("@>(anyrange, anyelement) bool", code!(|a: &Range, b: &Value| Ok(a.contains_value(b))));
    r.add("<@(anyelement, anyrange) bool", code!(|a: &Value, b: &Range| Ok(b.contains_value(a))));
    r.add("&&(anyrange, anyrange) bool", code!(|a: &Range, b: &Range| Ok(a.overlaps(b))));
    r.add("<<(anyrange, anyrange) bool", code!(|a: &Range, b: &Range| Ok(a.is_before(b))));
    r.add(">>(anyrange, anyrange) bool", code!(|a: &Range, b: &Range| Ok(b.is_before(a))));
    r.add("&<(anyrange, anyrange) bool", code!(|a: &Range, b: &Range| Ok(a.ends_within(b))));
    r.add("&>(anyrange, anyrange) bool", code!(|a: &Range, b: &Range| Ok(a.starts_within(b))));
    r.add("-|-(anyrange, anyrange) bool", code!(|a: &Range, b: &Range| Ok(a.is_adjacent(b))));
    r.add("+(anyrange, anyrange) anyrange", code!(|a: &Range, b: &Range| a.union(b)));
    r.add("*(anyrange, anyrange) anyrange", code!(|a: &Range, b: &Range| Ok(a.intersection(b))));
    r.add("-(anyrange, anyrange) anyrange", code!(|a: &Range, b: &Range| a.difference(b)));
}
