//! Conditions that hold whichever side of an OR is true.
//!
//! `(a AND b) OR (a AND c)` is `a AND (b OR c)`: a join key that all sides share becomes one that a join can use. And
//! each side may restrict one table alone, in its own way: the OR of these restrictions holds for the table's rows
//! before they are joined.

use super::Slot;
use super::expr::Expr;

/// The conditions that an OR of these sides is made of, none of them an AND: those that all sides share, and the OR
/// of what is left.
pub fn factored(sides: Vec<Expr>, out: &mut Vec<Expr>) {
    let mut parts: Vec<Vec<Expr>> = Vec::with_capacity(sides.len());
    for side in sides {
        let mut conjuncts = Vec::new();
        side.into_conjuncts(&mut conjuncts);
        parts.push(conjuncts);
    }
    let mut shared = Vec::new();
    if let Some((first, others)) = parts.split_first_mut() {
        first.retain(|condition| {
            let places: Option<Vec<usize>> =
                others.iter().map(|other| other.iter().position(|known| known.same(condition))).collect();
            let Some(places) = places else { return true };
            for (other, place) in others.iter_mut().zip(places) {
                other.remove(place);
            }
            shared.push(condition.clone());
            false
        });
    }
    out.extend(shared);
    // a side of which nothing is left is true where the shared ones are, and so is the OR
    if parts.iter().any(Vec::is_empty) {
        return;
    }
    out.push(Expr::Or(parts.into_iter().filter_map(Expr::together).collect()));
}

/// What an OR over several tables says of the table that has these slots, if each side says something of it alone.
pub fn implied(condition: &Expr, slots: &[Slot]) -> Option<Expr> {
    let Expr::Or(sides) = condition else { return None };
    if is_of(condition, slots) {
        return None;
    }
    let mut of_table = Vec::with_capacity(sides.len());
    for side in sides {
        let mut conjuncts = Vec::new();
        side.clone().into_conjuncts(&mut conjuncts);
        conjuncts.retain(|conjunct| is_of(conjunct, slots));
        of_table.push(Expr::all(conjuncts)?);
    }
    Some(Expr::Or(of_table))
}

/// Whether an expression reads slots of a table, no others, and nothing else.
fn is_of(expr: &Expr, slots: &[Slot]) -> bool {
    let (mut any, mut all) = (false, true);
    expr.slots(&mut |slot| {
        any = true;
        all &= slots.contains(&slot);
    });
    any && all && !expr.needs_worker() && !expr.is_volatile()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::expr::Compare;
    use scaledb_types::Value;

    fn is(slot: Slot, value: i32) -> Expr {
        Expr::Compare(Compare::Eq, Box::new((Expr::Slot(slot), Expr::Const(Value::Int4(value)))))
    }

    fn conjuncts(expr: Expr) -> Vec<Expr> {
        let mut out = Vec::new();
        expr.into_conjuncts(&mut out);
        out
    }

    #[test]
    fn a_key_that_all_sides_share_is_a_condition_of_its_own() {
        let or = Expr::Or(vec![Expr::And(vec![is(0, 1), is(1, 2)]), Expr::And(vec![is(1, 3), is(0, 1)])]);
        let found = conjuncts(or);
        assert_eq!(found.len(), 2);
        assert!(found[0].same(&is(0, 1)));
        assert!(found[1].same(&Expr::Or(vec![is(1, 2), is(1, 3)])));
    }

    #[test]
    fn a_side_that_is_shared_whole_leaves_no_or() {
        let found = conjuncts(Expr::Or(vec![is(0, 1), Expr::And(vec![is(0, 1), is(1, 3)])]));
        assert_eq!(found.len(), 1);
        assert!(found[0].same(&is(0, 1)));
        // nothing is shared here
        let found = conjuncts(Expr::Or(vec![is(0, 1), is(0, 2)]));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn each_side_must_say_something_of_the_table() {
        let or = Expr::Or(vec![Expr::And(vec![is(0, 1), is(5, 2)]), Expr::And(vec![is(0, 2), is(5, 3)])]);
        assert!(implied(&or, &[0]).is_some_and(|found| found.same(&Expr::Or(vec![is(0, 1), is(0, 2)]))));
        let or = Expr::Or(vec![Expr::And(vec![is(0, 1), is(5, 2)]), is(5, 3)]);
        assert!(implied(&or, &[0]).is_none());
        assert!(implied(&or, &[5]).is_some());
    }
}
