//! What belongs to no family: uuid, counts of NULLs, comparisons of several values.

use super::Registry;
use crate::value::Value;
use rand::RngCore;

/// A random UUID of version 4.
fn random_uuid() -> Value {
    let mut bytes = [0; 16];
    rand::rng().fill_bytes(&mut bytes);
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Value::Uuid(bytes)
}

fn nulls(args: &[Value]) -> usize {
    args.iter().filter(|value| value.is_null()).count()
}

pub(super) fn register(r: &mut Registry) {
    r.volatile("gen_random_uuid() uuid", |_, _| Ok(random_uuid()));
    r.nullable("num_nulls(variadic any) int4", |_, args| Ok(Value::Int4(nulls(args) as i32)));
    r.nullable("num_nonnulls(variadic any) int4", |_, args| {
        Ok(Value::Int4((args.len() - nulls(args)) as i32))
    });
    // GREATEST and LEAST leave out NULLs, and take the first of equal values
    r.nullable("greatest(variadic anycompatible) anycompatible", |_, args| {
        Ok(args.iter().rev().filter(|value| !value.is_null()).max().cloned().unwrap_or_default())
    });
    r.nullable("least(variadic anycompatible) anycompatible", |_, args| {
        Ok(args.iter().filter(|value| !value.is_null()).min().cloned().unwrap_or_default())
    });
}
