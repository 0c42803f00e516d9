//! SELECT: a plan of its clauses, in the order in which their rows are made.
//!
//! ```text
//! FROM, WHERE ── GROUP BY, HAVING ── window functions ── set-returning functions ── DISTINCT ── ORDER BY ── DISTINCT ON
//! ```
//!
//! The clauses are bound first ([`Clauses`]), since what one of them needs decides about the others.

use super::clauses::{Clauses, is_distinct};
use super::group_keys::GroupKeys;
use super::grouping::{Groups, direct_refused};
use super::lock::Locking;
use super::tail::{Tail, slots_of_ties};
use super::{Binder, Bound, unsupported};
use crate::optimize::decorrelate::Apart;
use crate::optimize::{self, Asked};
use crate::plan::expr::Expr;
use crate::plan::joins::{Open, OpenPart, Tree};
use crate::plan::{Aggregate, Node, SetItem, Sets, Slot, SortKey};
use scaledb_types::{Result, SqlError, SqlState, Value};
use sqlparser::ast::Select;
use std::collections::HashSet;

impl Binder<'_> {
    /// Binds a SELECT, with the tail of the query that it is.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn select(&mut self, select: &Select, tail: Tail<'_>) -> Result<Bound> {
        refuse(select)?;
        // what is compared has a type
        let decided = !std::mem::take(&mut self.leaves_open) || is_distinct(select);
        let lifts = std::mem::take(&mut self.lifts);
        let pulled = std::mem::take(&mut self.pulled);
        let volatile = self.volatile;
        self.scope().rows_there = Some(Vec::new());
        let (mut tree, locking) = self.tables_of(select)?;
        let mut input: HashSet<Slot> = self.scope().slots().collect();
        let mut conditions = match self.where_clause(select.selection.as_ref()) {
            Ok(conditions) => conditions,
            Err(error) => {
                // of two mistakes PostgreSQL tells that of the select list
                let _ = self.begin_clauses(select);
                self.output_columns(select, decided)?;
                return Err(error);
            }
        };
        let mut clauses = self.clauses(select, tail.order, decided)?;
        for (column, there) in self.scope().rows_there.take().unwrap_or_default() {
            if !tree.tell_rows(column, there) {
                return Err(unsupported("the whole row of several tables that an outer join may leave out"));
            }
            input.insert(there);
        }
        locking.check_shape(clauses.shape())?;
        if pulled && locking.count() == 0 && clauses.only_filter() {
            return Ok(Bound { rows: Some((tree, conditions)), ..Bound::new(Node::Result, clauses.output) });
        }
        conditions.extend(clauses.take_row_conditions());
        let pushable = match pulled && locking.count() == 0 && !tail.is_limited() {
            true => clauses.pushable(&input),
            false => HashSet::new(),
        };
        let correlated = self.scopes.len() > 1 && !self.scope().outer.is_empty() && self.volatile == volatile;
        let mut apart = None;
        if correlated && locking.count() == 0 && !tail.is_limited() && clauses.only_filter_and_group() {
            apart = tree.copy().map(|tree| Apart {
                tree,
                conditions: conditions.clone(),
                groups: None,
                having: None,
            });
        }
        if tail.ties {
            self.compute_keys(&mut clauses);
        }
        let ties = slots_of_ties(&clauses.order, tail);
        let asked = asked(&clauses, tail);
        let mut open = None;
        let optimize::Rows { mut node, mut sorted } = match pushable.is_empty() {
            true => optimize::rows(self, tree, conditions, &asked),
            false => {
                open = Some(Box::new(Open {
                    pushable,
                    barrier: false,
                    part: OpenPart::Rows(Box::new(tree), conditions),
                }));
                optimize::Rows { node: Node::Result, sorted: false }
            }
        };
        if clauses.is_grouped() {
            let sets = clauses.take_grouped_sets();
            input.extend(sets.iter().flat_map(|set| set.made()));
            node = set_nodes(node, sets);
            node = self.aggregate_node(node, &mut clauses, &input, apart.as_mut())?;
        }
        if let Some(mut predicate) = clauses.having.take() {
            predicate.simplify();
            let mut conjuncts = Vec::new();
            predicate.into_conjuncts(&mut conjuncts);
            if let Some(predicate) = Expr::all(conjuncts) {
                node = Node::Filter { input: Box::new(node), predicate };
            }
        }
        if !clauses.windows.is_empty() {
            node = self.window_node(node, &mut clauses);
            sorted = false;
        }
        let late = clauses.take_late_sets();
        node = set_nodes(node, std::mem::take(&mut clauses.sets));
        if !clauses.computed.is_empty() {
            let exprs = std::mem::take(&mut clauses.computed);
            node = Node::Project { input: Box::new(node), exprs };
        }
        if clauses.distinct {
            let on = clauses.distinct_columns()?;
            node = Node::Distinct { input: Box::new(node), on, order: None };
        }
        if !sorted && !clauses.order.is_empty() {
            node = self.sort_node(node, &clauses, &late, &locking, &ties);
        }
        if let Some(on) = clauses.distinct_on.take() {
            node = distinct_on_node(node, on, std::mem::take(&mut clauses.order));
        }
        node = set_nodes(node, late);
        // a query in FROM that returns all of its rows leaves the locks to the query around it
        if lifts && tail.order.is_empty() && !tail.is_limited() {
            self.locking.take_over(locking);
        } else {
            node = self.lock_node(locking, node);
        }
        let exprs: Vec<&Expr> = clauses.output.iter().map(|output| &output.expr).collect();
        let lookup = apart.and_then(|apart| apart.lookup(self, &exprs));
        self.limited(Bound { lookup, open, ..Bound::new(node, clauses.output) }, tail, ties)
    }

    /// FROM, and which of its tables' rows are to be locked.
    fn tables_of(&mut self, select: &Select) -> Result<(Tree, Locking)> {
        let locking = Locking::new(std::mem::take(&mut self.inherited));
        let around = std::mem::replace(&mut self.locking, locking);
        let tree = self.from(&select.from).and_then(|tree| self.check_locking(&tree).map(|()| tree));
        let locking = std::mem::replace(&mut self.locking, around);
        Ok((tree?, locking))
    }

    /// WHERE, as conditions that must all hold.
    pub(super) fn where_clause(&mut self, selection: Option<&sqlparser::ast::Expr>) -> Result<Vec<Expr>> {
        let mut conditions = Vec::new();
        let Some(selection) = selection else { return Ok(conditions) };
        self.condition(selection, "WHERE")?.into_conjuncts(&mut conditions);
        let never = |conjunct: &Expr| matches!(conjunct, Expr::Const(Value::Null | Value::Bool(false)));
        if conditions.iter().any(never) {
            conditions = vec![Expr::Const(Value::Bool(false))];
        }
        Ok(conditions)
    }

    /// Groups rows of the slots `input` and computes aggregates; every other clause reads keys and aggregates from
    /// then on.
    fn aggregate_node(
        &mut self,
        input: Node,
        clauses: &mut Clauses,
        slots: &HashSet<Slot>,
        apart: Option<&mut Apart>,
    ) -> Result<Node> {
        let groups = std::mem::take(&mut clauses.groups);
        let mut aggregates = std::mem::take(&mut clauses.aggregates);
        let keys = GroupKeys::new(self, &groups, &aggregates, slots);
        let Groups { keys: written, sets, .. } = groups;
        let sets = sets.map(|sets| Sets { sets, slot: self.slot() });
        let calls = std::mem::take(&mut clauses.grouping_calls);
        let results = Self::grouping_results(calls, &keys.keys[..written.len()], sets.as_ref())?;
        clauses.rewrite(&keys)?;
        let direct = |aggregate: &Aggregate| {
            let exprs = aggregate.direct.iter().map(|expr| keys.rewrite(expr.clone()));
            exprs.collect::<Result<Vec<_>>>().map_err(direct_refused)
        };
        let direct = aggregates.iter().map(direct).collect::<Result<Vec<_>>>()?;
        let mut keys = keys.keys;
        if let Some(sets) = &sets {
            // behind the rewriting, or else every NULL of the query would read the number of the set
            keys.push((Expr::Const(Value::Null), sets.slot));
        }
        for (aggregate, direct) in aggregates.iter_mut().zip(direct) {
            aggregate.direct = direct;
        }
        if let Some(apart) = apart {
            apart.groups = Some((keys.clone(), aggregates.clone()));
            apart.having.clone_from(&clauses.having);
        }
        let node = Node::Aggregate { input: Box::new(input), keys, sets, aggregates };
        Ok(match results.is_empty() {
            true => node,
            false => Node::Project { input: Box::new(node), exprs: results },
        })
    }

    /// Computes window functions, and lets through what the clauses above read besides.
    fn window_node(&mut self, input: Node, clauses: &mut Clauses) -> Node {
        let windows = std::mem::take(&mut clauses.windows);
        let own = windows.iter().map(|window| window.slot);
        // what is computed of the rows that come out does not come in
        let sets = clauses.sets.iter().flat_map(|set| set.made());
        let above = sets.chain(clauses.computed.iter().map(|(_, slot)| slot)).copied();
        let made: Vec<Slot> = own.chain(above).collect();
        let mut carry: Vec<Slot> = Vec::new();
        let mut add = |slot: Slot| {
            if !made.contains(&slot) {
                self.carry(slot, &mut carry);
            }
        };
        clauses.read_above_windows().for_each(|expr| expr.slots(&mut add));
        Node::WindowAgg { input: Box::new(input), windows, carry }
    }

    /// Gives each key of ORDER BY a slot, so that rows can be compared by them behind the sort.
    fn compute_keys(&mut self, clauses: &mut Clauses) {
        for key in &mut clauses.order {
            if matches!(key.expr, Expr::Slot(_)) {
                continue;
            }
            let slot = self.slot();
            self.used[slot] = true;
            self.mark(&key.expr);
            let expr = std::mem::replace(&mut key.expr, Expr::Slot(slot));
            for output in clauses.output.iter_mut().filter(|output| output.expr.alike(&expr)) {
                output.expr = Expr::Slot(slot);
            }
            clauses.computed.push((expr, slot));
        }
    }

    /// Sorts rows, with what the `late` calls of set-returning functions and the clauses above read.
    fn sort_node(
        &mut self,
        input: Node,
        clauses: &Clauses,
        late: &[SetItem],
        locking: &Locking,
        ties: &[Slot],
    ) -> Node {
        let mut carry = ties.to_vec();
        for output in &clauses.output {
            output.expr.slots(&mut |slot| self.carry(slot, &mut carry));
        }
        for set in late {
            carry.retain(|slot| !set.makes(*slot));
        }
        for set in late {
            set.call.args().iter().for_each(|arg| arg.slots(&mut |slot| self.carry(slot, &mut carry)));
        }
        for on in clauses.distinct_on.iter().flatten() {
            on.slots(&mut |slot| carry.push(slot));
        }
        locking.carry(&mut carry);
        Node::Sort { input: Box::new(input), keys: clauses.order.clone(), carry, top: false }
    }

    /// What must be carried so that a slot can be read: itself, and the fields of the row that it holds.
    pub fn carry(&self, slot: Slot, carry: &mut Vec<Slot>) {
        carry.push(slot);
        carry.extend(self.composites.get(&slot).into_iter().flatten().map(|(_, field, _)| *field));
    }
}

/// What the clauses ask of the rows of the tables.
fn asked<'c>(clauses: &'c Clauses, tail: Tail<'_>) -> Asked<'c> {
    let grouped = clauses.is_grouped();
    // what stands between the tables and ORDER BY may lose their order
    let loses = grouped || !clauses.windows.is_empty() || clauses.distinct;
    let order: &[SortKey] = if loses { &[] } else { &clauses.order };
    let groups = (grouped && !clauses.has_several_groupings())
        .then_some((clauses.groups.keys.as_slice(), clauses.aggregates.as_slice()));
    Asked { order, groups, few: tail.limit.is_some() }
}

/// The first row of each value of `on`, of rows that are sorted by these first.
fn distinct_on_node(input: Node, on: Vec<Expr>, order: Vec<SortKey>) -> Node {
    let keys = order.into_iter().map(|key| key.expr);
    let leading = keys.take_while(|key| on.iter().any(|expr| expr.same(key))).collect();
    Node::Distinct { input: Box::new(input), on, order: Some(leading) }
}

/// Calls set-returning functions; those whose arguments are results of others after these.
pub(super) fn set_nodes(mut node: Node, mut sets: Vec<SetItem>) -> Node {
    while !sets.is_empty() {
        let made: Vec<Slot> = sets.iter().flat_map(|set| set.made()).copied().collect();
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
    if select.into.is_some() {
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, "SELECT ... INTO is not allowed here"));
    }
    if select.distinct.is_some() && select.projection.is_empty() {
        let what = "SELECT DISTINCT needs something to be distinct";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
    }
    let odd = select.top.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.cluster_by.is_empty()
        || !select.sort_by.is_empty()
        || select.qualify.is_some()
        || !select.connect_by.is_empty();
    if odd { Err(unsupported("this clause of SELECT")) } else { Ok(()) }
}
