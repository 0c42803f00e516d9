//! Whether what a query asks for is among the rows of an index of some rows: whether its conditions imply the index's.

use super::access::widened;
use crate::plan::Slot;
use crate::plan::expr::{Compare, Expr, Test};
use scaledb_types::Value;
use std::cmp::Ordering;
use std::mem::discriminant;

/// Whether what fulfils all of the conditions fulfils this one. False if that is not seen.
pub fn implied(conditions: &[Expr], wanted: &Expr) -> bool {
    match wanted {
        Expr::And(parts) => parts.iter().all(|part| implied(conditions, part)),
        Expr::Or(sides) if sides.iter().any(|side| implied(conditions, side)) => true,
        _ => conditions.iter().any(|condition| implies(condition, wanted)),
    }
}

/// Whether a condition could imply another one if a parameter in it were known.
pub(super) fn may_imply(conditions: &[Expr], wanted: &Expr) -> bool {
    let compares = |slot: Slot, condition: &Expr| match condition {
        Expr::Compare(_, pair) => match (&pair.0, &pair.1) {
            (Expr::Slot(own), Expr::Param(_)) | (Expr::Param(_), Expr::Slot(own)) => *own == slot,
            _ => false,
        },
        Expr::In(value, list) => {
            matches!(**value, Expr::Slot(own) if own == slot)
                && list.iter().any(|item| matches!(item, Expr::Param(_)))
        }
        _ => false,
    };
    let mut may = false;
    wanted.slots(&mut |slot| may |= conditions.iter().any(|condition| compares(slot, condition)));
    may
}

fn implies(condition: &Expr, wanted: &Expr) -> bool {
    if condition.same(wanted) {
        return true;
    }
    match condition {
        Expr::And(parts) => return implied(parts, wanted),
        Expr::Or(sides) => return sides.iter().all(|side| implies(side, wanted)),
        _ => {}
    }
    if let (Some(a), Some(b)) = (truth(condition), truth(wanted)) {
        return a == b;
    }
    match wanted {
        Expr::And(parts) => parts.iter().all(|part| implies(condition, part)),
        Expr::Or(sides) => sides.iter().any(|side| implies(condition, side)),
        Expr::Test(Test::NotNull, inner) => {
            matches!(**inner, Expr::Slot(slot) if is_strict(condition, slot))
        }
        Expr::Test(Test::NotTrue, inner) => {
            matches!(**inner, Expr::Slot(slot) if truth(condition) == Some((slot, false)))
        }
        Expr::Test(Test::NotFalse, inner) => {
            matches!(**inner, Expr::Slot(slot) if truth(condition) == Some((slot, true)))
        }
        _ => values_imply(condition, wanted),
    }
}

/// The boolean column that a condition is about, and what it must be.
fn truth(condition: &Expr) -> Option<(Slot, bool)> {
    match condition {
        Expr::Test(Test::True, inner) => stands_for(inner),
        Expr::Test(Test::False, inner) => stands_for(inner).map(|(slot, is)| (slot, !is)),
        other => stands_for(other),
    }
}

/// The boolean column that an expression is about, and for which of its values it is true: NULL where the column is, so
/// that this holds of its negation, too. Not of NOT (.. IS TRUE), which is true of NULL.
fn stands_for(expr: &Expr) -> Option<(Slot, bool)> {
    match expr {
        Expr::Slot(slot) => Some((*slot, true)),
        Expr::Not(inner) => stands_for(inner).map(|(slot, is)| (slot, !is)),
        Expr::Compare(op @ (Compare::Eq | Compare::Ne), pair) => match (&pair.0, &pair.1) {
            (Expr::Slot(slot), Expr::Const(Value::Bool(is)))
            | (Expr::Const(Value::Bool(is)), Expr::Slot(slot)) => Some((*slot, *is == (*op == Compare::Eq))),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a condition is not true where a column is NULL.
fn is_strict(condition: &Expr, slot: Slot) -> bool {
    let own = |expr: &Expr| widened(expr).is_some_and(|(found, _)| found == slot);
    match condition {
        Expr::Compare(_, pair) => own(&pair.0) || own(&pair.1),
        Expr::In(value, _) => own(value),
        Expr::Quantified(false, _, pair) => own(&pair.0),
        other => truth(other).is_some_and(|(found, _)| found == slot),
    }
}

/// A comparison of an expression with values, of which one at least must fulfil it.
fn compared(condition: &Expr) -> Option<(&Expr, Compare, Vec<&Value>)> {
    match condition {
        Expr::Compare(op, pair) => match (&pair.0, &pair.1) {
            (expr, Expr::Const(value)) => Some((expr, *op, vec![value])),
            (Expr::Const(value), expr) => Some((expr, op.flip(), vec![value])),
            _ => None,
        },
        Expr::In(expr, list) => {
            let values = list.iter().map(|item| match item {
                Expr::Const(value) => Some(value),
                _ => None,
            });
            Some((&**expr, Compare::Eq, values.collect::<Option<_>>()?))
        }
        _ => None,
    }
}

fn values_imply(condition: &Expr, wanted: &Expr) -> bool {
    let (Some((a, op, given)), Some((b, asked, limits))) = (compared(condition), compared(wanted)) else {
        return false;
    };
    // the condition of an index has the same value for the same row, always
    a.same(b) && given.iter().all(|value| limits.iter().any(|limit| one_implies(op, value, asked, limit)))
}

/// Whether `x op value` implies `x asked limit`.
fn one_implies(op: Compare, value: &Value, asked: Compare, limit: &Value) -> bool {
    if value.is_null() || limit.is_null() || discriminant(value) != discriminant(limit) {
        return false;
    }
    let order = value.cmp(limit);
    match (op, asked) {
        (Compare::Eq, asked) => asked.holds(order),
        (Compare::Gt, Compare::Gt | Compare::Ge | Compare::Ne) => order != Ordering::Less,
        (Compare::Ge, Compare::Ge) => order != Ordering::Less,
        (Compare::Ge, Compare::Gt | Compare::Ne) => order == Ordering::Greater,
        (Compare::Lt, Compare::Lt | Compare::Le | Compare::Ne) => order != Ordering::Greater,
        (Compare::Le, Compare::Le) => order != Ordering::Greater,
        (Compare::Le, Compare::Lt | Compare::Ne) => order == Ordering::Less,
        (Compare::Ne, Compare::Ne) => order == Ordering::Equal,
        _ => false,
    }
}
