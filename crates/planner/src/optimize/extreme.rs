//! The smallest or largest value of a column, by an index: its first row has it.

use super::Statement;
use super::computed::by_columns;
use super::pull_up::{Made, replace};
use crate::plan::expr::{Expr, Test};
use crate::plan::joins::Held;
use crate::plan::{Aggregate, SortKey};

/// `min(x)` or `max(x)` alone: the first row in the order of `x` answers it. The order, and that `x` is there.
pub(super) fn extreme_of(
    statement: &mut dyn Statement,
    groups: &[Expr],
    aggregates: &[Aggregate],
    computed: &[Held],
    made: &Made,
) -> Option<(SortKey, Expr)> {
    let ([], [aggregate]) = (groups, aggregates) else { return None };
    let descending = match aggregate.function.name() {
        "min" => false,
        "max" => true,
        _ => return None,
    };
    let [arg] = &aggregate.args[..] else { return None };
    if aggregate.filter.is_some() {
        return None;
    }
    let mut arg = arg.clone();
    replace(&mut arg, made);
    let slot = match arg {
        Expr::Slot(slot) => slot,
        _ if computed.is_empty() => return None,
        arg => {
            let Expr::Slot(slot) = by_columns(statement, &arg, computed) else { return None };
            statement.note_read(slot);
            slot
        }
    };
    let key = SortKey { expr: Expr::Slot(slot), descending, nulls_first: descending };
    let there = Expr::Test(Test::NotNull, Box::new(Expr::Slot(slot)));
    Some((key, there))
}
