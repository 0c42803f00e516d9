//! SELECT: its clauses, in the order in which their rows are made.

use super::group_keys::GroupKeys;
use super::grouping::{Groups, direct_refused};
use super::lock::{Locking, Shape};
use super::scope::Grouping;
use super::select_list::check_width;
use super::tail::{Tail, check_distinct_on};
use super::{Binder, Bound, Output, unsupported};
use crate::optimize::decorrelate::Apart;
use crate::optimize::{self, Asked};
use crate::plan::expr::Expr;
use crate::plan::{Node, SetItem, Sets, Slot, SortKey, Window};
use scaledb_types::{Result, SqlError, SqlState, Value};
use sqlparser::ast::{Distinct, GroupByExpr, Select};
use std::collections::HashSet;

impl Binder<'_> {
    /// Binds a SELECT, with the tail of the query that it is.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn select(&mut self, select: &Select, tail: Tail<'_>) -> Result<Bound> {
        refuse(select)?;
        let decided = !std::mem::take(&mut self.leaves_open);
        let volatile = self.volatile;
        let locking = Locking::new(std::mem::take(&mut self.inherited));
        let lifts = std::mem::take(&mut self.lifts);
        let around = std::mem::replace(&mut self.locking, locking);
        let tree = self.from(&select.from).and_then(|tree| self.check_locking(&tree).map(|()| tree));
        let locking = std::mem::replace(&mut self.locking, around);
        let tree = tree?;
        let input: HashSet<Slot> = self.scope().slots().collect();
        let mut conditions = Vec::new();
        if let Some(selection) = &select.selection {
            self.condition(selection, "WHERE")?.into_conjuncts(&mut conditions);
            let never = |part: &Expr| matches!(part, Expr::Const(Value::Null | Value::Bool(false)));
            if conditions.iter().any(never) {
                conditions = vec![Expr::Const(Value::Bool(false))];
            }
        }
        self.scope().grouping = Some(Grouping::default());
        let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(list, _) if list.is_empty());
        self.scope().subqueries = grouped.then(Vec::new);
        self.scope().windows = Some(Vec::new());
        self.window_clause(&select.named_window)?;
        self.scope().sets = Some(Vec::new());
        let mut output = self.projection(&select.projection, decided)?;
        if matches!(select.distinct, Some(Distinct::Distinct)) {
            output.iter().try_for_each(|column| Self::refuse_rows(column.ty, "DISTINCT of"))?;
        }
        check_width(output.len())?;
        let sets = self.scope().sets.take();
        let having = match &select.having {
            Some(having) => Some(self.condition(having, "HAVING")?),
            None => None,
        };
        self.scope().sets = sets;
        let mut order = self.order(tail.order, &output)?;
        let unordered = order.is_empty();
        let mut distinct_on = match &select.distinct {
            Some(Distinct::On(list)) => Some(self.distinct_on(list, &output)?),
            _ => None,
        };
        self.unused_windows()?;
        let mut sets = self.scope().sets.take().unwrap_or_default();
        let Groups { keys: groups, sets: grouping_sets } = self.group_by(&select.group_by, &output)?;
        let made = |slot: Slot| sets.iter().any(|set| set.row == Some(slot) || set.slots.contains(&slot));
        if groups.iter().any(|group| matches!(group, Expr::Slot(slot) if made(*slot))) {
            return Err(unsupported("a set-returning function in GROUP BY"));
        }
        if let Some(on) = &distinct_on {
            check_distinct_on(on, &order)?;
            if unordered {
                // rows that are equal come one behind the other then, in the order that PostgreSQL gives them, too
                let key = |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
                order = on.iter().map(|expr| (key(expr), None)).collect();
            }
        }
        let distinct = matches!(select.distinct, Some(Distinct::Distinct));
        let (mut order, mut computed) = self.computed(&mut output, order, distinct);
        let Grouping { mut aggregates, calls, .. } = self.scope().grouping.take().unwrap_or_default();
        let mut windows = self.scope().windows.take().unwrap_or_default();
        if groups.iter().any(|group| reads_any(group, &windows)) {
            let what = "window functions are not allowed in GROUP BY";
            return Err(SqlError::new(SqlState::WINDOWING_ERROR, what));
        }
        if !aggregates.is_empty() && self.scope().recursive {
            let what = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(SqlError::new(SqlState::INVALID_RECURSION, what));
        }
        let several = grouping_sets.is_some() || !calls.is_empty();
        let grouped = !groups.is_empty() || several || !aggregates.is_empty() || having.is_some();
        locking.check_shape(Shape {
            distinct: distinct || distinct_on.is_some(),
            groups: !groups.is_empty(),
            having: having.is_some(),
            aggregates: !aggregates.is_empty(),
            windows: !windows.is_empty(),
            sets: !sets.is_empty(),
        })?;
        let plain = windows.is_empty() && sets.is_empty() && computed.is_empty();
        let bare = tail.limit.is_none() && tail.offset.is_none() && plain;
        let tied = self.scopes.len() > 1 && !self.scope().outer.is_empty() && self.volatile == volatile;
        let mut apart = if bare && tied && !several && select.distinct.is_none() && locking.count() == 0 {
            tree.copy().map(|tree| Apart { tree, conditions: conditions.clone(), groups: None, having: None })
        } else {
            None
        };
        // the order that the rows should come in, if nothing in between loses it
        let wish: &[SortKey] = if grouped || !windows.is_empty() || distinct { &[] } else { &order };
        let groups_of = (grouped && !several).then_some((groups.as_slice(), aggregates.as_slice()));
        let asked = Asked { order: wish, groups: groups_of, few: tail.limit.is_some() };
        let optimize::Rows { mut node, mut sorted } = optimize::rows(self, tree, conditions, &asked);
        let mut having = having;
        if grouped {
            let mut keys = GroupKeys::new(self, groups, &aggregates, &input, !several);
            let sets_of_keys = grouping_sets.map(|sets| Sets { sets, slot: self.slot() });
            let results = Self::grouping_results(calls, &keys.keys, sets_of_keys.as_ref())?;
            if let Some(sets) = &sets_of_keys {
                keys.keys.push((Expr::Const(Value::Null), sets.slot));
            }
            for output in &mut output {
                keys.rewrite_in(&mut output.expr)?;
            }
            for key in &mut order {
                keys.rewrite_in(&mut key.expr)?;
            }
            for (expr, _) in &mut computed {
                keys.rewrite_in(expr)?;
            }
            for expr in distinct_on.iter_mut().flatten() {
                keys.rewrite_in(expr)?;
            }
            having = having.map(|having| keys.rewrite(having)).transpose()?;
            for set in &mut sets {
                set.call = set.call.clone().map_args(&mut |arg| keys.rewrite(arg))?;
            }
            for window in &mut windows {
                let order = window.order.iter_mut().map(|key| &mut key.expr);
                let partition = window.partition.iter_mut().chain(order);
                partition.chain(window.function.exprs_mut()).try_for_each(|expr| keys.rewrite_in(expr))?;
            }
            let mut direct = Vec::new();
            for aggregate in &aggregates {
                let exprs = aggregate.direct.iter().map(|expr| keys.rewrite(expr.clone()));
                direct.push(exprs.collect::<Result<Vec<_>>>().map_err(direct_refused)?);
            }
            let keys = keys.keys;
            for (aggregate, direct) in aggregates.iter_mut().zip(direct) {
                aggregate.direct = direct;
            }
            if let Some(apart) = &mut apart {
                apart.groups = Some((keys.clone(), aggregates.clone()));
                apart.having.clone_from(&having);
            }
            node = Node::Aggregate { input: Box::new(node), keys, sets: sets_of_keys, aggregates };
            if !results.is_empty() {
                node = Node::Project { input: Box::new(node), exprs: results };
            }
        }
        if let Some(predicate) = having {
            node = Node::Filter { input: Box::new(node), predicate };
        }
        if !windows.is_empty() {
            let mut read: Vec<&Expr> = output.iter().map(|output| &output.expr).collect();
            read.extend(order.iter().map(|key| &key.expr));
            read.extend(sets.iter().flat_map(|set| set.call.args()));
            read.extend(computed.iter().map(|(expr, _)| expr).chain(distinct_on.iter().flatten()));
            // what is computed of the rows that come out does not come in
            let sets = sets.iter().flat_map(|set| set.slots.iter().chain(&set.row));
            let above: Vec<Slot> = sets.chain(computed.iter().map(|(_, slot)| slot)).copied().collect();
            node = self.window_node(node, windows, &read, &above);
            sorted = false;
        }
        // rows that DISTINCT ON drops call no functions, unless they are dropped by what these return
        let made = |slot: Slot| sets.iter().any(|set| set.row == Some(slot) || set.slots.contains(&slot));
        let mut early = unordered;
        let keys = order.iter().map(|key| &key.expr).chain(distinct_on.iter().flatten());
        keys.for_each(|expr| expr.slots(&mut |slot| early |= made(slot)));
        let mut late = Vec::new();
        if distinct_on.is_some() && !early {
            std::mem::swap(&mut late, &mut sets);
        }
        node = set_nodes(node, sets);
        if !computed.is_empty() {
            node = Node::Project { input: Box::new(node), exprs: computed };
        }
        if distinct {
            // the order is that of the columns that are made distinct
            let on: Vec<Expr> = output.iter().map(|output| output.expr.clone()).collect();
            for key in &order {
                if !on.iter().any(|expr| expr.same(&key.expr)) {
                    return Err(SqlError::new(
                        SqlState::INVALID_COLUMN_REFERENCE,
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                    ));
                }
            }
            node = Node::Distinct { input: Box::new(node), on, order: None };
        }
        if !sorted && !order.is_empty() {
            let mut carry = Vec::new();
            output.iter().for_each(|output| output.expr.slots(&mut |slot| self.carry(slot, &mut carry)));
            for set in &late {
                carry.retain(|slot| set.row != Some(*slot) && !set.slots.contains(slot));
            }
            for set in &late {
                set.call.args().iter().for_each(|arg| arg.slots(&mut |slot| self.carry(slot, &mut carry)));
            }
            for on in distinct_on.iter().flatten() {
                on.slots(&mut |slot| carry.push(slot));
            }
            locking.carry(&mut carry);
            node = Node::Sort { input: Box::new(node), keys: order.clone(), carry, top: false };
        }
        if let Some(on) = distinct_on {
            let leading =
                order.into_iter().map(|key| key.expr).take_while(|key| on.iter().any(|expr| expr.same(key)));
            let order = Some(leading.collect());
            node = Node::Distinct { input: Box::new(node), on, order };
        }
        node = set_nodes(node, late);
        // a query in FROM that takes no part of its rows leaves the locks to the query around it
        if lifts && tail.order.is_empty() && tail.limit.is_none() && tail.offset.is_none() {
            self.locking.take_over(locking);
        } else {
            node = self.lock_node(locking, node);
        }
        let exprs: Vec<&Expr> = output.iter().map(|output| &output.expr).collect();
        let lookup = apart.and_then(|apart| apart.lookup(self, &exprs));
        self.limited(Bound { lookup, ..Bound::new(node, output) }, tail)
    }

    /// Columns whose values are sorted or made distinct, and would be others if they were computed again, go to
    /// slots: the keys, and what is to be computed.
    fn computed(
        &mut self,
        output: &mut [Output],
        order: Vec<(SortKey, Option<usize>)>,
        distinct: bool,
    ) -> (Vec<SortKey>, Vec<(Expr, Slot)>) {
        let mut computed: Vec<(Expr, Slot)> = Vec::new();
        for (number, output) in output.iter_mut().enumerate() {
            let is_key = order.iter().any(|(_, named)| *named == Some(number));
            if !(distinct || is_key) || output.expr.same(&output.expr) && !output.expr.needs_worker() {
                continue;
            }
            let slot = self.slot();
            self.used[slot] = true;
            self.mark(&output.expr);
            computed.push((std::mem::replace(&mut output.expr, Expr::Slot(slot)), slot));
        }
        let keys = order.into_iter().map(|(key, number)| {
            let expr = number.map_or(key.expr, |number| output[number].expr.clone());
            SortKey { expr, ..key }
        });
        (keys.collect(), computed)
    }

    /// Computes window functions. What is `read` above comes through, unless it is made `above`.
    fn window_node(&mut self, input: Node, windows: Vec<Window>, read: &[&Expr], above: &[Slot]) -> Node {
        let mut carry: Vec<Slot> = Vec::new();
        let own: Vec<Slot> = windows.iter().map(|window| window.slot).collect();
        let mut add = |slot: Slot| {
            if !own.contains(&slot) && !above.contains(&slot) {
                self.carry(slot, &mut carry);
            }
        };
        read.iter().for_each(|expr| expr.slots(&mut add));
        Node::WindowAgg { input: Box::new(input), windows, carry }
    }

    /// What must be carried so that a slot can be read: itself, and the fields of the row that it holds.
    pub(crate) fn carry(&self, slot: Slot, carry: &mut Vec<Slot>) {
        carry.push(slot);
        carry.extend(self.composites.get(&slot).into_iter().flatten().map(|(_, field, _)| *field));
    }
}

/// Whether an expression reads what a window function returns.
fn reads_any(expr: &Expr, windows: &[Window]) -> bool {
    let mut found = false;
    expr.slots(&mut |slot| found |= windows.iter().any(|window| window.slot == slot));
    found
}

/// Calls set-returning functions; those whose arguments are results of others after these.
fn set_nodes(mut node: Node, mut sets: Vec<SetItem>) -> Node {
    while !sets.is_empty() {
        let made: Vec<Slot> = sets.iter().flat_map(|set| set.slots.iter().chain(&set.row)).copied().collect();
        let (later, now): (Vec<SetItem>, Vec<SetItem>) = sets.into_iter().partition(|set| {
            let mut waits = false;
            set.call.args().iter().for_each(|arg| arg.slots(&mut |slot| waits |= made.contains(&slot)));
            waits
        });
        node = Node::ProjectSet { input: Box::new(node), sets: now };
        sets = later;
    }
    node
}

/// Refuses clauses that are not there.
fn refuse(select: &Select) -> Result<()> {
    let odd = select.top.is_some()
        || select.into.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.cluster_by.is_empty()
        || !select.sort_by.is_empty()
        || select.qualify.is_some()
        || !select.connect_by.is_empty();
    if odd { Err(unsupported("this clause of SELECT")) } else { Ok(()) }
}
