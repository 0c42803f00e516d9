//! Hardware addresses: bit by bit, and their manufacturers' parts.

use super::Registry;
use super::args::code;
use crate::macaddr::{narrowed, widened};
use crate::value::Value;

/// Two addresses become one, byte by byte.
fn combine<const N: usize>(a: &[u8; N], b: &[u8; N], op: fn(u8, u8) -> u8) -> [u8; N] {
    std::array::from_fn(|at| op(a[at], b[at]))
}

/// The first three bytes, the others zero.
fn manufacturer<const N: usize>(v: &[u8; N]) -> [u8; N] {
    std::array::from_fn(|at| if at < 3 { v[at] } else { 0 })
}

pub(super) fn register(r: &mut Registry) {
    r.add("~(macaddr) macaddr", code!(|v: &[u8; 6]| Ok(Value::Macaddr(v.map(|byte| !byte)))));
    r.add("~(macaddr8) macaddr8", code!(|v: &[u8; 8]| Ok(Value::Macaddr8(v.map(|byte| !byte)))));
    r.add(
        "&(macaddr,macaddr) macaddr",
        code!(|a: &[u8; 6], b: &[u8; 6]| Ok(Value::Macaddr(combine(a, b, |a, b| a & b)))),
    );
    r.add(
        "&(macaddr8,macaddr8) macaddr8",
        code!(|a: &[u8; 8], b: &[u8; 8]| Ok(Value::Macaddr8(combine(a, b, |a, b| a & b)))),
    );
    r.add(
        "|(macaddr,macaddr) macaddr",
        code!(|a: &[u8; 6], b: &[u8; 6]| Ok(Value::Macaddr(combine(a, b, |a, b| a | b)))),
    );
    r.add(
        "|(macaddr8,macaddr8) macaddr8",
        code!(|a: &[u8; 8], b: &[u8; 8]| Ok(Value::Macaddr8(combine(a, b, |a, b| a | b)))),
    );
    r.add("trunc(macaddr) macaddr", code!(|v: &[u8; 6]| Ok(Value::Macaddr(manufacturer(v)))));
    r.add("trunc(macaddr8) macaddr8", code!(|v: &[u8; 8]| Ok(Value::Macaddr8(manufacturer(v)))));
    r.add(
        "macaddr8_set7bit(macaddr8) macaddr8",
        code!(|v: &[u8; 8]| {
            let mut bytes = *v;
            bytes[0] |= 2;
            Ok(Value::Macaddr8(bytes))
        }),
    );
    // casts that are written as functions
    r.add("macaddr8(macaddr) macaddr8", code!(|v: &[u8; 6]| Ok(Value::Macaddr8(widened(*v)))));
    r.add("macaddr(macaddr8) macaddr", code!(|v: &[u8; 8]| narrowed(*v).map(Value::Macaddr)));
}
