//! Enum types: their first and last values, and ranges of them.

use super::{Call, Registry};
use crate::array::Array;
use crate::enums::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::ty::Type;
use crate::value::Value;
use std::sync::Arc;

/// The type that the arguments have. They may be NULL.
fn definition(call: &Call<'_>) -> Result<EnumType> {
    let found = call.args.first().and_then(|ty| ty.as_enum());
    found.ok_or_else(|| SqlError::internal("no enum type"))
}

/// 55000 for a type that has no values.
fn empty(definition: EnumType) -> SqlError {
    let what = format!("enum {} contains no values", Type::of_enum(definition));
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what)
}

/// The values between two, of which NULL means the end.
fn range(call: &Call<'_>, from: &Value, to: &Value) -> Result<Value> {
    let definition = definition(call)?;
    let values = definition.values().map(Value::Enum);
    let within = values.filter(|value| (from.is_null() || value >= from) && (to.is_null() || value <= to));
    Ok(Value::Array(Arc::new(Array::new(Type::of_enum(definition), within.collect()))))
}

// they change with ALTER TYPE: nothing that is stored may be computed by them
pub(super) fn register(r: &mut Registry) {
    r.stable_nullable("enum_first(anyenum) anyenum", |call, _| {
        let definition = definition(call)?;
        definition.values().next().map(Value::Enum).ok_or_else(|| empty(definition))
    });
    r.stable_nullable("enum_last(anyenum) anyenum", |call, _| {
        let definition = definition(call)?;
        definition.values().next_back().map(Value::Enum).ok_or_else(|| empty(definition))
    });
    r.stable_nullable("enum_range(anyenum) anyarray", |call, _| range(call, &Value::Null, &Value::Null));
    r.stable_nullable("enum_range(anyenum, anyenum) anyarray", |call, args| match args {
        [from, to] => range(call, from, to),
        _ => Err(SqlError::internal("two arguments")),
    });
}
