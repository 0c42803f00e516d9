//! How a table is scanned. Statistics do not decide it: what counts is what an index can give, a row by its whole key,
//! rows by leading columns of a key, or a range.

use super::implied::{implied, may_imply};
use super::planner::Planner;
use super::range::{Ends, range_is_exact};
use crate::functions::ScalarFn;
use crate::plan::IndexColumn;
use crate::plan::expr::{Ask, Compare, Expr};
use crate::plan::joins::{Leaf, LeafKind};
use crate::plan::place::Loads;
use crate::plan::{Access, BoundTable, IndexRef, KeyValue, Node, Scan, Slot, SortKey};
use scaledb_engine::Order;
use scaledb_row::Projection;
use scaledb_types::{Type, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// How good an access is: the whole key, the number of equal columns, the columns of the longest bound of a range, the
/// order, an index without the rows that are not asked for.
pub(super) type Score = (bool, usize, usize, bool, bool);

/// A way to find the rows of a table.
pub(super) struct Candidate {
    pub(super) score: Score,
    index: IndexRef,
    access: Access,
    /// Numbers of the conditions that the access guarantees.
    pub(super) consumed: Vec<usize>,
    pub(super) ordered: bool,
}

/// What the leading columns of an index equal.
struct Equal {
    key: Vec<KeyValue>,
    /// Numbers of the conditions that say so.
    consumed: Vec<usize>,
    /// Whether one of them equals any value of a list.
    listed: bool,
}

impl Planner<'_> {
    /// The scan of a table, or the operator of another leaf, under the conditions that can be checked there.
    pub(super) fn leaf(
        &mut self,
        mut leaf: Leaf,
        conditions: &mut Vec<Expr>,
        bound: &mut HashSet<Slot>,
        first: bool,
    ) -> Node {
        // what policies say is asked first: nothing else learns of a row that they hide
        let mut secured = leaf.secured.len();
        conditions.splice(..0, std::mem::take(&mut leaf.secured));
        let candidate = self.candidate(&leaf, conditions, bound, first);
        let mut partial = leaf.partial.iter();
        if partial.any(|(_, predicate)| !implied(conditions, predicate) && may_imply(conditions, predicate)) {
            self.statement.note_values();
        }
        bound.extend(&leaf.slots);
        let applied = conditions.iter().filter(|condition| self.available(condition, bound));
        let share = self.facts.share_of_all(applied);
        self.rows = match leaf.node() {
            Some(_) => self.rows,
            None => self.facts.rows(leaf.number()) * share,
        };
        let rows = self.rows;
        let node = match (leaf.kind, candidate) {
            (LeafKind::Table { table, alias, number, locked }, Some(candidate)) => {
                if first {
                    self.ordered = candidate.ordered;
                }
                let mut numbers = candidate.consumed;
                numbers.sort_unstable();
                // what a loose scan finds in an index is not validated: the row itself must say that it fits
                if locked.is_some_and(|locked| locked.loose) {
                    numbers.clear();
                }
                for number in numbers.into_iter().rev() {
                    conditions.remove(number);
                    secured -= usize::from(number < secured);
                }
                let mut own: Vec<Expr> = conditions.drain(..secured).collect();
                Expr::sort(&mut own);
                let loads = Loads::new(&table, &leaf.slots);
                let projection = Projection::existence();
                let counted = candidate.access.counted(&table, candidate.index);
                Node::Scan(Box::new(Scan {
                    table,
                    alias,
                    number,
                    index: candidate.index,
                    access: candidate.access,
                    loads,
                    projection,
                    filter: Expr::together(own),
                    secured,
                    rows,
                    counted,
                    batches: false,
                    upcoming: Vec::new(),
                    locked,
                }))
            }
            (LeafKind::Other(node), _) => match leaf.open {
                Some(open) => {
                    let barrier = open.barrier;
                    let mut node = self.open(node, *open, &leaf.slots, conditions, bound);
                    if let (true, Node::Scan(scan)) = (barrier, &mut node) {
                        scan.secure();
                    }
                    node
                }
                None => node,
            },
            (LeafKind::Table { .. }, None) => Node::Result,
        };
        let node = match leaf.there {
            Some(there) => {
                // conditions on its columns stay with the scan
                let node = self.apply(node, conditions, bound);
                let exprs = vec![(Expr::Const(Value::Bool(true)), *there)];
                Node::Project { input: Box::new(node), exprs }
            }
            None => node,
        };
        self.apply(node, conditions, bound)
    }

    /// The best access to a table under conditions.
    pub(super) fn candidate(
        &self,
        leaf: &Leaf,
        conditions: &[Expr],
        bound: &HashSet<Slot>,
        first: bool,
    ) -> Option<Candidate> {
        let LeafKind::Table { table, .. } = &leaf.kind else { return None };
        if !leaf.secured.is_empty() {
            return self.secured_candidate(table, leaf, conditions, bound, first);
        }
        self.candidate_of(table, leaf, conditions, bound, first)
    }

    /// The best access under conditions and those of policies.
    fn secured_candidate(
        &self,
        table: &Arc<BoundTable>,
        leaf: &Leaf,
        conditions: &[Expr],
        bound: &HashSet<Slot>,
        first: bool,
    ) -> Option<Candidate> {
        let own = leaf.secured.len();
        let all = [&leaf.secured[..], conditions].concat();
        let mut found = self.candidate_of(table, leaf, &all, bound, first)?;
        found.consumed.retain(|number| *number >= own);
        found.consumed.iter_mut().for_each(|number| *number -= own);
        Some(found)
    }

    fn candidate_of(
        &self,
        table: &Arc<BoundTable>,
        leaf: &Leaf,
        conditions: &[Expr],
        bound: &HashSet<Slot>,
        first: bool,
    ) -> Option<Candidate> {
        let indexes =
            std::iter::once(IndexRef::Primary).chain((0..table.secondary.len()).map(IndexRef::Secondary));
        let mut best: Option<Candidate> = None;
        for index in indexes {
            if !has_all(leaf, index, conditions) {
                continue;
            }
            let candidate = self.by_index(table, leaf, index, conditions, bound, first);
            if best.as_ref().is_none_or(|best| candidate.score > best.score) {
                best = Some(candidate);
            }
        }
        best
    }

    /// How an index finds the rows of a table: by its leading columns that equal something, and a range of the next.
    fn by_index(
        &self,
        table: &Arc<BoundTable>,
        leaf: &Leaf,
        index: IndexRef,
        conditions: &[Expr],
        bound: &HashSet<Slot>,
        first: bool,
    ) -> Candidate {
        let columns = table.index_columns(index);
        let hidden = table.hidden_columns(index);
        let Equal { mut key, mut consumed, listed } =
            self.equal_columns(&columns[hidden..], leaf, conditions, bound);
        let found = key.len();
        key.splice(..0, (0..hidden).map(|_| KeyValue::One(Expr::Const(Value::Bool(true)))));
        let unique = match index {
            IndexRef::Primary => !columns.is_empty(),
            IndexRef::Secondary(number) => table.desc.indexes[number].is_unique_at_once(),
        };
        let id = table.index_id(index);
        let equal = key.len();
        if unique && equal == columns.len() {
            // one row is in order, as far as the order is by its columns
            let own = |key: &SortKey| matches!(key.expr, Expr::Slot(slot) if leaf.slots.contains(&slot));
            let ordered = first && !listed && !self.wish.order.is_empty() && self.wish.order.iter().all(own);
            return Candidate {
                score: (true, found, 0, !listed, hidden > 0),
                index,
                access: Access::Point { index: id, key },
                consumed,
                ordered,
            };
        }
        let Ends { low, high } = self.ends(&columns[equal..], table, leaf, conditions, bound, &mut consumed);
        let ranged = low.iter().chain(&high).map(|bound| bound.values.len()).max().unwrap_or(0);
        let direction = if first && !listed { self.direction(table, leaf, index, equal, &key) } else { None };
        Candidate {
            score: (false, found, ranged, direction.is_some(), hidden > 0),
            index,
            access: Access::Range { index: id, key, low, high, order: direction.unwrap_or_default() },
            consumed,
            ordered: direction.is_some(),
        }
    }

    /// What the leading columns of an index must equal, as far as conditions say.
    fn equal_columns(
        &self,
        columns: &[IndexColumn],
        leaf: &Leaf,
        conditions: &[Expr],
        bound: &HashSet<Slot>,
    ) -> Equal {
        let (mut key, mut consumed) = (Vec::new(), Vec::new());
        let mut listed = false;
        for column in columns {
            let slot = leaf.slots[column.position];
            let mut found = None;
            for (number, condition) in conditions.iter().enumerate() {
                if let Some(value) = equal_to(condition, slot, column.ty)
                    && (!listed || matches!(value, KeyValue::One(_)))
                    && self.is_bound(&value, bound)
                {
                    let one = matches!(value, KeyValue::One(_));
                    found = Some((number, value));
                    if one {
                        break;
                    }
                }
            }
            let Some((number, value)) = found else { break };
            listed |= !matches!(value, KeyValue::One(_));
            consumed.push(number);
            key.push(value);
        }
        Equal { key, consumed, listed }
    }

    fn is_bound(&self, value: &KeyValue, bound: &HashSet<Slot>) -> bool {
        match value {
            KeyValue::One(expr) | KeyValue::Array(expr) => self.available(expr, bound),
            KeyValue::List(list) => list.iter().all(|expr| self.available(expr, bound)),
        }
    }

    /// The direction in which an index gives the order wished for.
    fn direction(
        &self,
        table: &BoundTable,
        leaf: &Leaf,
        index: IndexRef,
        equal: usize,
        _key: &[KeyValue],
    ) -> Option<Order> {
        let columns = table.index_columns(index);
        if self.wish.order.is_empty() || columns.is_empty() {
            return None;
        }
        let mut at = equal;
        let mut direction: Option<Order> = None;
        let fixed: Vec<Slot> = columns[..equal].iter().map(|c| leaf.slots[c.position]).collect();
        for key in self.wish.order {
            let Expr::Slot(slot) = key.expr else { return None };
            // a column that has one value only does not matter
            if fixed.contains(&slot) {
                continue;
            }
            let Some(column) = columns.get(at) else {
                // behind a whole unique key there is nothing to order
                let unique = match index {
                    IndexRef::Primary => true,
                    IndexRef::Secondary(number) => table.desc.indexes[number].is_unique_at_once(),
                };
                let nullable = columns.iter().any(|c| !table.desc.columns[c.position].not_null);
                let own = leaf.slots.contains(&slot);
                return if unique && !nullable && own { direction } else { None };
            };
            if leaf.slots[column.position] != slot {
                return None;
            }
            let not_null = table.desc.columns[column.position].not_null;
            let forward =
                key.descending == column.descending && (not_null || key.nulls_first == column.nulls_first);
            let backward =
                key.descending != column.descending && (not_null || key.nulls_first != column.nulls_first);
            let wanted = match (forward, backward) {
                (true, _) => Order::Forward,
                (_, true) => Order::Backward,
                _ => return None,
            };
            if direction.is_some_and(|direction| direction != wanted) {
                return None;
            }
            direction = Some(wanted);
            at += 1;
        }
        direction.or(Some(Order::Forward))
    }
}

/// Whether an index has all rows that conditions ask for.
fn has_all(leaf: &Leaf, index: IndexRef, conditions: &[Expr]) -> bool {
    let partial = leaf.partial.iter().find(|(number, _)| index == IndexRef::Secondary(*number));
    partial.is_none_or(|(_, predicate)| implied(conditions, predicate))
}

/// The slot that an expression is, if but for a cast that widens an integer.
pub(super) fn widened(expr: &Expr) -> Option<(Slot, bool)> {
    match expr {
        Expr::Slot(slot) => Some((*slot, false)),
        Expr::Call(call) if call.0.is_widening() => match call.1[..] {
            [Expr::Slot(slot)] => Some((slot, true)),
            _ => None,
        },
        _ => None,
    }
}

/// The value that a condition wants a column to equal.
pub(super) fn equal_to(condition: &Expr, slot: Slot, ty: Type) -> Option<KeyValue> {
    match condition {
        Expr::Compare(Compare::Eq, pair) => {
            let other = |expr: &Expr, wide: bool| Some(KeyValue::One(narrowed(expr, wide, ty)));
            match (widened(&pair.0), widened(&pair.1)) {
                (Some((found, wide)), _) if found == slot => other(&pair.1, wide),
                (_, Some((found, wide))) if found == slot => other(&pair.0, wide),
                _ => None,
            }
        }
        Expr::In(value, list) => {
            let (found, wide) = widened(value).filter(|(found, _)| *found == slot)?;
            debug_assert_eq!(found, slot);
            Some(KeyValue::List(list.iter().map(|item| narrowed(item, wide, ty)).collect()))
        }
        Expr::Quantified(false, Compare::Eq, pair) => match (&pair.0, is_exact_type(ty)) {
            (Expr::Slot(found), true) if *found == slot => Some(KeyValue::Array(pair.1.clone())),
            _ => None,
        },
        Expr::Subquery(sub) => {
            let Ask::Any(values, Compare::Eq) = &sub.ask else { return None };
            // a list that does not depend on the row is looked up key by key
            match (&values[..], sub.keep.is_some() && is_exact_type(ty)) {
                ([Expr::Slot(found)], true) if *found == slot && !ty.array => {
                    let array = Ask::Array(ty.plain());
                    Some(KeyValue::Array(Expr::Subquery(Arc::new(sub.asking(array)))))
                }
                _ => None,
            }
        }
        // a boolean column by itself
        Expr::Slot(found) if *found == slot => Some(KeyValue::One(Expr::Const(Value::Bool(true)))),
        Expr::Not(inner) => match **inner {
            Expr::Slot(found) if found == slot => Some(KeyValue::One(Expr::Const(Value::Bool(false)))),
            _ => None,
        },
        _ => None,
    }
}

/// Whether every value that is compared with the column is one that the column could hold.
fn is_exact_type(ty: Type) -> bool {
    range_is_exact(ty)
}

/// The value as one of the column's type; NULL, which nothing equals, if there is none.
fn narrowed(expr: &Expr, wide: bool, ty: Type) -> Expr {
    if !wide && is_exact_type(ty) {
        return expr.clone();
    }
    let function = ScalarFn::narrow(ty);
    Expr::Call(Box::new((function, vec![expr.clone()])))
}
