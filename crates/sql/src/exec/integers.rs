//! Expressions of integers, computed in registers: without a [`Value`] for each of their parts.
//!
//! All functions here answer `None` of what is no such expression, is NULL, or fails: it is then computed as any other,
//! which tells what is wrong with it.

use scaledb_planner::functions::Integers;
use scaledb_planner::plan::expr::{Compare, Expr};
use scaledb_types::Value;

/// Operators within each other that are computed so. A part that is none of integers is met again at each level above
/// it, so without a bound a long sum would be walked once for each of its operators.
const DEPTH: u32 = 8;

/// The int4 that an expression is; `at_hand` has the values of slots and parameters.
#[inline]
pub(super) fn int4<'v>(
    expr: &'v Expr,
    at_hand: impl Fn(&'v Expr) -> Option<&'v Value> + Copy,
) -> Option<i32> {
    int4_within(expr, at_hand, DEPTH)
}

fn int4_within<'v>(
    expr: &'v Expr,
    at_hand: impl Fn(&'v Expr) -> Option<&'v Value> + Copy,
    depth: u32,
) -> Option<i32> {
    if let Expr::Call(call) = expr {
        let (Some(Integers::Int4(code)), [left, right]) = (call.0.integers(), &call.1[..]) else {
            return None;
        };
        let depth = depth.checked_sub(1)?;
        return code(int4_within(left, at_hand, depth)?, int4_within(right, at_hand, depth)?).ok();
    }
    match at_hand(expr)? {
        Value::Int4(value) => Some(*value),
        _ => None,
    }
}

/// The int8 that an expression is.
#[inline]
pub(super) fn int8<'v>(
    expr: &'v Expr,
    at_hand: impl Fn(&'v Expr) -> Option<&'v Value> + Copy,
) -> Option<i64> {
    int8_within(expr, at_hand, DEPTH)
}

fn int8_within<'v>(
    expr: &'v Expr,
    at_hand: impl Fn(&'v Expr) -> Option<&'v Value> + Copy,
    depth: u32,
) -> Option<i64> {
    if let Expr::Call(call) = expr {
        let depth = depth.checked_sub(1)?;
        return match (call.0.integers()?, &call.1[..]) {
            (Integers::Int8(code), [left, right]) => {
                code(int8_within(left, at_hand, depth)?, int8_within(right, at_hand, depth)?).ok()
            }
            (Integers::Widened, [one]) => int4_within(one, at_hand, depth).map(i64::from),
            _ => None,
        };
    }
    match at_hand(expr)? {
        Value::Int8(value) => Some(*value),
        _ => None,
    }
}

/// The value of a call, if it is one of integers.
#[inline]
pub(super) fn call<'v>(
    expr: &'v Expr,
    at_hand: impl Fn(&'v Expr) -> Option<&'v Value> + Copy,
) -> Option<Value> {
    let Expr::Call(call) = expr else { return None };
    match call.0.integers()? {
        Integers::Int4(_) => int4(expr, at_hand).map(Value::Int4),
        Integers::Int8(_) | Integers::Widened => int8(expr, at_hand).map(Value::Int8),
    }
}

/// The truth of a comparison, if it is one of integers, of which one is computed.
#[inline]
pub(super) fn comparison<'v>(
    op: Compare,
    left: &'v Expr,
    right: &'v Expr,
    at_hand: impl Fn(&'v Expr) -> Option<&'v Value> + Copy,
) -> Option<bool> {
    let of_call = |expr: &Expr| if let Expr::Call(call) = expr { call.0.integers() } else { None };
    match of_call(left).or_else(|| of_call(right))? {
        Integers::Int4(_) => Some(op.holds(int4(left, at_hand)?.cmp(&int4(right, at_hand)?))),
        Integers::Int8(_) | Integers::Widened => {
            Some(op.holds(int8(left, at_hand)?.cmp(&int8(right, at_hand)?)))
        }
    }
}
