//! The ends of a range of an index: by comparisons of a column, and of rows of columns that the index begins with.

use super::planner::Planner;
use crate::plan::expr::{Compare, Expr};
use crate::plan::joins::Leaf;
use crate::plan::{Bound, BoundTable, IndexColumn, Slot};
use scaledb_types::{Base, Type};
use std::collections::HashSet;

/// The ends of a range of an index; each bound of several holds.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) low: Vec<Bound>,
    pub(super) high: Vec<Bound>,
}

impl Planner<'_> {
    /// The ends of the range of columns behind the equal ones, as far as conditions say. Those that hold for all rows
    /// of the range, and for no others, are `consumed`.
    pub(super) fn ends(
        &self,
        columns: &[IndexColumn],
        table: &BoundTable,
        leaf: &Leaf,
        conditions: &[Expr],
        bound: &HashSet<Slot>,
        consumed: &mut Vec<usize>,
    ) -> Ends {
        let mut ends = Ends::default();
        let Some(column) = columns.first().filter(|column| range_is_exact(column.ty)) else { return ends };
        for (number, condition) in conditions.iter().enumerate() {
            let found = match condition {
                Expr::Compare(..) => {
                    let compared = compared_to(condition, leaf.slots[column.position]);
                    compared.map(|(op, value)| {
                        let inclusive = matches!(op, Compare::Le | Compare::Ge);
                        (op, Bound { values: vec![value.clone()], inclusive }, true)
                    })
                }
                _ => row_bound(condition, columns, table, leaf),
            };
            let Some((op, end, exact)) = found else { continue };
            if end.values.iter().any(|value| !self.available(value, bound) || value.is_volatile()) {
                continue;
            }
            match op {
                Compare::Gt | Compare::Ge => ends.low.push(end),
                Compare::Lt | Compare::Le => ends.high.push(end),
                Compare::Eq | Compare::Ne => continue,
            }
            if exact {
                consumed.push(number);
            }
        }
        ends
    }
}

/// The bound that a comparison of rows sets, and whether it says all that the comparison does. The comparison has the
/// form of the binder: `a > 1 or a = 1 and (b > 2 or b = 2 and ..)`, or a CASE for `or` and `and`.
fn row_bound(
    condition: &Expr,
    columns: &[IndexColumn],
    table: &BoundTable,
    leaf: &Leaf,
) -> Option<(Compare, Bound, bool)> {
    let mut values: Vec<Expr> = Vec::new();
    let mut direction = None;
    let mut rest = condition;
    for column in columns {
        let slot = leaf.slots[column.position];
        let (first, further) = match field(rest) {
            Some((first, further)) => (first, Some(further)),
            None => (rest, None),
        };
        let Some((op, value)) = compared_to(first, slot) else { break };
        let up = matches!(op, Compare::Gt | Compare::Ge);
        // the order of keys is that of rows while all columns have the direction of the first
        let like_first =
            direction.is_none_or(|(first, descending)| (first, descending) == (up, column.descending));
        // what may fail, and what may cost, is left to the rows that are equal in the fields before it
        let at_hand = values.is_empty() || value.is_at_hand();
        if matches!(op, Compare::Eq | Compare::Ne) || !like_first || !at_hand || !range_is_exact(column.ty) {
            break;
        }
        direction = Some((up, column.descending));
        values.push(value.clone());
        match further {
            Some(further) => rest = further,
            None => {
                let inclusive = matches!(op, Compare::Le | Compare::Ge);
                // NULLs behind the first column lie in the range, and the comparison is not true of them
                let mut behind = columns[1..values.len()].iter();
                let exact = behind.all(|column| table.desc.columns[column.position].not_null);
                return Some((op, Bound { values, inclusive }, exact));
            }
        }
    }
    // rows that are equal so far may fit, or may not
    let (up, _) = direction?;
    Some((if up { Compare::Ge } else { Compare::Le }, Bound { values, inclusive: true }, false))
}

/// The comparison of the first field of a comparison of rows, and what is asked where the first fields are equal.
fn field(condition: &Expr) -> Option<(&Expr, &Expr)> {
    let (first, equal, rest) = match condition {
        Expr::Or(parts) => match &parts[..] {
            [first, Expr::And(both)] => match &both[..] {
                [equal, rest] => (first, equal, rest),
                _ => return None,
            },
            _ => return None,
        },
        Expr::Case(branches, first) => match &branches[..] {
            [(equal, rest)] => (&**first, equal, rest),
            _ => return None,
        },
        _ => return None,
    };
    let (Expr::Compare(Compare::Lt | Compare::Gt, fields), Expr::Compare(Compare::Eq, equals)) =
        (first, equal)
    else {
        return None;
    };
    (fields.0.same(&equals.0) && fields.1.same(&equals.1)).then_some((first, rest))
}

/// Whether keys of the type are in the order of all values that a comparison may meet: a numeric of a fixed
/// scale is compared with numbers of any.
pub(super) fn range_is_exact(ty: Type) -> bool {
    !(ty.base == Base::Numeric && ty.precision_scale().is_some())
}

/// The comparison that a condition makes with a column.
fn compared_to(condition: &Expr, slot: Slot) -> Option<(Compare, &Expr)> {
    let Expr::Compare(op, pair) = condition else { return None };
    match (&pair.0, &pair.1) {
        (Expr::Slot(found), value) if *found == slot => Some((*op, value)),
        (value, Expr::Slot(found)) if *found == slot => Some((op.flip(), value)),
        _ => None,
    }
}
