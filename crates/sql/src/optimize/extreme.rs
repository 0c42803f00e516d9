//! The smallest or largest value of a column, by an index: its first row has it.

use crate::plan::expr::{Expr, Test};
use crate::plan::{Aggregate, SortKey};

/// `min(x)` or `max(x)` alone: the first row in the order of `x` answers it. The order, and that `x` is there.
pub(crate) fn extreme_of(groups: &[Expr], aggregates: &[Aggregate]) -> Option<(SortKey, Expr)> {
    let ([], [aggregate]) = (groups, aggregates) else { return None };
    let descending = match aggregate.function.name() {
        "min" => false,
        "max" => true,
        _ => return None,
    };
    let [Expr::Slot(slot)] = aggregate.args[..] else { return None };
    if aggregate.filter.is_some() {
        return None;
    }
    let key = SortKey { expr: Expr::Slot(slot), descending, nulls_first: descending };
    let there = Expr::Test(Test::NotNull, Box::new(Expr::Slot(slot)));
    Some((key, there))
}
