//! Queries: SELECT, VALUES, set operations, WITH.

use super::coerce::common_of;
use super::grouping::{Groups, direct_refused};
use super::labels::name_of;
use super::lock::{self, Locking, Shape};
use super::names::fold;
use super::scope::{Grouping, Scope, ScopeColumn, Shown};
use super::with::Reading;
use super::{Binder, Bound, Output, Typed, unsupported};
use crate::optimize::decorrelate::Apart;
use crate::optimize::{self, Asked};
use crate::plan::expr::Expr;
use crate::plan::{Aggregate, Inlined, Node, SetItem, SetKind, Sets, Slot, SortKey, Window};
use scaledb_types::cast::Context;
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{
    self, Distinct, Expr as Ast, GroupByExpr, LimitClause, LockClause, OrderByExpr, OrderByKind, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier,
};
use std::collections::HashSet;

/// ORDER BY, LIMIT and OFFSET of a query.
#[derive(Clone, Copy, Default)]
pub(super) struct Tail<'q> {
    pub(super) order: &'q [OrderByExpr],
    pub(super) limit: Option<&'q Ast>,
    pub(super) offset: Option<&'q Ast>,
    pub(super) locks: &'q [LockClause],
}

/// Columns of a row that a query makes.
const MAX_COLUMNS: usize = 1_664;

/// 54011 for a row that is too wide.
fn check_width(columns: usize) -> Result<()> {
    if columns <= MAX_COLUMNS {
        return Ok(());
    }
    let what = format!("target lists can have at most {MAX_COLUMNS} entries");
    Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, what))
}

impl Binder<'_> {
    /// Binds a query that is in the scope of another; the slots of that one that it reads.
    pub(crate) fn query_in_scope(&mut self, query: &Query) -> Result<(Bound, Vec<Slot>)> {
        self.scopes.push(Scope::default());
        let bound = self.query_here(query);
        let scope = self.scopes.pop().unwrap_or_default();
        Ok((bound?, scope.outer))
    }

    /// Binds a query.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn query(&mut self, query: &Query) -> Result<Bound> {
        self.query_in_scope(query).map(|(bound, _)| bound)
    }

    fn query_here(&mut self, query: &Query) -> Result<Bound> {
        let visible = self.ctes.len();
        // what is said about this query is not said about those in its WITH
        let around = (std::mem::take(&mut self.inherited), std::mem::take(&mut self.lifts));
        let may_write = std::mem::take(&mut self.may_write);
        let leaves_open = std::mem::take(&mut self.leaves_open);
        let mut ctes = match &query.with {
            Some(with) => self.with(with, may_write && self.scopes.len() == 1),
            None => Ok(Vec::new()),
        }
        .inspect_err(|_| self.ctes.truncate(visible))?;
        (self.inherited, self.lifts) = around;
        let tail = tail_of(query)?;
        self.may_write = may_write;
        self.leaves_open = leaves_open;
        let bound = self.set_expr(&query.body, tail);
        self.leaves_open = false;
        self.ctes.truncate(visible);
        let mut bound = bound?;
        for cte in ctes.iter_mut().rev() {
            let writes = matches!(cte.source(), Node::ModifyTable(_));
            let readings = self.read_ctes.remove(&cte.number).unwrap_or_default();
            cte.read = !readings.is_empty();
            if let Some(recursive) = cte.recursive.as_mut().and_then(std::sync::Arc::get_mut) {
                recursive.streams &= readings.len() == 1;
            }
            if !cte.read && !writes {
                // what only such a query reads is read by nobody
                let here = |reading: &Reading| !reading.within.contains(&cte.number);
                self.read_ctes.values_mut().for_each(|readings| readings.retain(here));
            }
            // PostgreSQL puts such a query where it is read, and computes there what is used of it
            if cte.inlined == Inlined::Always || cte.inlined == Inlined::Once && readings.len() == 1 {
                cte.readers = Some(readings.into_iter().map(|reading| reading.slots).collect());
            }
        }
        // what nobody reads is not evaluated, unless it writes
        ctes.retain(|cte| cte.read || matches!(cte.source(), Node::ModifyTable(_)));
        if !ctes.is_empty() {
            bound.node = Node::With { ctes, input: Box::new(bound.node) };
            bound.lookup = None;
        }
        Ok(bound)
    }

    pub(super) fn set_expr(&mut self, body: &SetExpr, tail: Tail<'_>) -> Result<Bound> {
        let may_write = std::mem::take(&mut self.may_write);
        let mut clauses = lock::clauses(tail.locks)?;
        clauses.append(&mut self.inherited);
        let part = !tail.order.is_empty() || tail.limit.is_some() || tail.offset.is_some();
        self.lifts &= tail.locks.is_empty() && !part;
        match body {
            SetExpr::Select(_) | SetExpr::Query(_) => self.inherited = clauses,
            SetExpr::SetOperation { .. } => lock::refuse(&clauses, "UNION/INTERSECT/EXCEPT")?,
            SetExpr::Values(_) if !tail.locks.is_empty() => lock::refuse(&clauses, "VALUES")?,
            _ => {}
        }
        match body {
            SetExpr::Select(select) => self.deeper(|binder| binder.select(select, tail)),
            SetExpr::Query(query) => {
                if tail.order.is_empty() && tail.limit.is_none() && tail.offset.is_none() {
                    return self.deeper(|binder| binder.query_here(query));
                }
                let bound = self.deeper(|binder| binder.query_here(query))?;
                self.with_tail(bound, tail)
            }
            SetExpr::Values(values) => {
                let bound = self.values(&values.rows)?;
                self.with_tail(bound, tail)
            }
            SetExpr::SetOperation { op, set_quantifier, left, right } => {
                let bound = self.deeper(|binder| binder.set_operation(*op, *set_quantifier, left, right))?;
                self.with_tail(bound, tail)
            }
            SetExpr::Table(table) => {
                let name = table.table_name.clone().unwrap_or_default();
                let text = match &table.schema_name {
                    Some(schema) => format!("SELECT * FROM \"{schema}\".\"{name}\""),
                    None => format!("SELECT * FROM \"{name}\""),
                };
                let query = crate::parse::query(&text)?;
                let bound = self.apart(|binder| binder.deeper(|binder| binder.query_here(&query)))?;
                self.with_tail(bound, tail)
            }
            SetExpr::Insert(statement) | SetExpr::Update(statement) | SetExpr::Delete(statement) => {
                if !may_write {
                    return Err(SqlError::unsupported(
                        "WITH clause containing a data-modifying statement must be at the top level",
                    ));
                }
                self.writes = true;
                self.deeper(|binder| binder.dml_in_query(statement))
            }
            SetExpr::Merge(_) => Err(unsupported("MERGE")),
        }
    }

    /// Writes the results of a query into slots.
    ///
    /// Slots of `outer` are not among them: those keep their values where the others become NULL or are
    /// restored.
    pub(crate) fn slots_of(&mut self, bound: Bound, outer: &[Slot]) -> (Node, Vec<ScopeColumn>) {
        let (node, columns) = self.open_columns(bound, outer);
        columns.iter().for_each(|column| self.used[column.slot] = true);
        (node, columns)
    }

    /// The same, for columns that are read by their names alone: those that nobody reads are not computed.
    pub(crate) fn open_columns(&mut self, bound: Bound, outer: &[Slot]) -> (Node, Vec<ScopeColumn>) {
        let mut exprs = Vec::new();
        let mut columns = Vec::new();
        let mut taken: HashSet<Slot> = outer.iter().copied().collect();
        // the columns of an Append are computed by what it reads
        let open = matches!(bound.node, Node::Append { .. });
        for output in bound.output {
            if !(open && matches!(output.expr, Expr::Slot(_))) {
                self.mark(&output.expr);
            }
            let slot = match output.expr {
                Expr::Slot(slot) if taken.insert(slot) => slot,
                expr => {
                    let slot = self.slot();
                    exprs.push((expr, slot));
                    slot
                }
            };
            // what stays open is text from here on
            let ty = if output.ty.base == Base::Unknown { Type::TEXT } else { output.ty };
            columns.push(ScopeColumn { name: output.name, ty, slot, origin: output.origin, merged: false });
        }
        let node =
            if exprs.is_empty() { bound.node } else { Node::Project { input: Box::new(bound.node), exprs } };
        (node, columns)
    }

    fn values(&mut self, rows: &[ast::Parens<Vec<Ast>>]) -> Result<Bound> {
        let width = rows.first().map_or(0, |row| row.content.len());
        check_width(width)?;
        let mut bound: Vec<Vec<Typed>> = Vec::with_capacity(rows.len());
        for row in rows {
            if row.content.len() != width {
                return Err(SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "VALUES lists must all be the same length",
                ));
            }
            bound.push(row.content.iter().map(|ast| self.expr(ast)).collect::<Result<_>>()?);
        }
        let mut types = Vec::with_capacity(width);
        for column in 0..width {
            types.push(common_of(bound.iter().map(|row| &row[column]), "VALUES")?);
        }
        let slots = self.new_slots(width);
        let mut exprs = Vec::with_capacity(bound.len());
        for row in bound {
            let mut values = Vec::with_capacity(width);
            for (typed, &ty) in row.into_iter().zip(&types) {
                values.push(self.coerce(typed, ty, Context::Implicit)?.expr);
            }
            exprs.push(values);
        }
        let output = types.iter().zip(&slots).enumerate().map(|(number, (&ty, &slot))| Output {
            name: format!("column{}", number + 1),
            expr: Expr::Slot(slot),
            ty,
            origin: (0, 0),
        });
        let output = output.collect();
        Ok(Bound::new(Node::ValuesScan { rows: exprs, slots }, output))
    }

    fn set_operation(
        &mut self,
        op: SetOperator,
        quantifier: SetQuantifier,
        left: &SetExpr,
        right: &SetExpr,
    ) -> Result<Bound> {
        let all = match quantifier {
            SetQuantifier::All => true,
            SetQuantifier::None | SetQuantifier::Distinct => false,
            _ => return Err(unsupported("BY NAME")),
        };
        let what = set_word(op);
        let mut sides = Vec::new();
        let references = self.recursive_references.len();
        for side in [left, right] {
            let here = self.recursive_references.len();
            self.scopes.push(Scope::default());
            // the other side decides what a literal is
            self.leaves_open = true;
            let bound = self.set_expr(side, Tail::default());
            self.leaves_open = false;
            let scope = self.scopes.pop().unwrap_or_default();
            for slot in scope.outer {
                let outer = &mut self.scope().outer;
                if !outer.contains(&slot) {
                    outer.push(slot);
                }
            }
            sides.push(bound?);
            if sides.len() == 2 && what == "EXCEPT" {
                self.refuse_recursion(here, what)?;
            }
        }
        if all && what != "UNION" {
            self.refuse_recursion(references, what)?;
        }
        let (Some(right), Some(left)) = (sides.pop(), sides.pop()) else {
            return Err(SqlError::internal("two sides"));
        };
        self.combine(op, all, left, right)
    }

    /// The rows of two queries as those of one.
    pub(super) fn combine(
        &mut self,
        op: SetOperator,
        all: bool,
        mut left: Bound,
        mut right: Bound,
    ) -> Result<Bound> {
        let what = set_word(op);
        if left.output.len() != right.output.len() {
            return Err(unequal(what));
        }
        let mut output = Vec::new();
        let slots = self.new_slots(left.output.len());
        for ((a, b), &slot) in left.output.iter_mut().zip(&mut right.output).zip(&slots) {
            let both = [&*a, &*b].map(|side| Typed::new(side.expr.clone(), side.ty));
            let ty = common_of(&both, what)?;
            for side in [&mut *a, &mut *b] {
                let typed = Typed::new(side.expr.clone(), side.ty);
                side.expr = self.coerce(typed, ty, Context::Implicit)?.expr;
                side.ty = ty;
            }
            output.push(Output { name: a.name.clone(), expr: Expr::Slot(slot), ty, origin: (0, 0) });
        }
        // the rows of both are those of the union: a column that nobody reads there is read nowhere
        let appends = matches!(op, SetOperator::Union) && all;
        let mut side = |bound: Bound| {
            let (node, columns) =
                if appends { self.open_columns(bound, &[]) } else { self.slots_of(bound, &[]) };
            (node, columns.iter().map(|column| column.slot).collect::<Vec<Slot>>())
        };
        let (left, right) = (side(left), side(right));
        let kind = match (op, all) {
            (SetOperator::Union, true) => {
                let inputs = vec![left, right];
                return Ok(Bound::new(Node::Append { inputs, slots }, output));
            }
            (SetOperator::Union, false) => SetKind::Union,
            (SetOperator::Intersect, false) => SetKind::Intersect,
            (SetOperator::Intersect, true) => SetKind::IntersectAll,
            (_, false) => SetKind::Except,
            (_, true) => SetKind::ExceptAll,
        };
        let node = Node::SetOp { kind, left: Box::new(left), right: Box::new(right), slots };
        Ok(Bound::new(node, output))
    }

    /// ORDER BY and LIMIT of something that is not a plain SELECT: only its columns can be named.
    pub(super) fn with_tail(&mut self, bound: Bound, tail: Tail<'_>) -> Result<Bound> {
        if tail.order.is_empty() {
            return self.limited(bound, tail);
        }
        let (node, columns) = self.slots_of(bound, &[]);
        let output: Vec<Output> = columns
            .iter()
            .map(|c| Output { name: c.name.clone(), expr: Expr::Slot(c.slot), ty: c.ty, origin: c.origin })
            .collect();
        let mut keys = Vec::new();
        for item in tail.order {
            let Some(number) = self.output_number(&item.expr, &output)? else {
                return Err(SqlError::unsupported("invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                    .detail("Only result column names can be used, not expressions or functions.")
                    .hint("Move the query into a FROM clause."));
            };
            keys.push(sort_key(output[number].expr.clone(), item));
        }
        columns.iter().for_each(|column| self.used[column.slot] = true);
        let carry = columns.iter().map(|column| column.slot).collect();
        let node = Node::Sort { input: Box::new(node), keys, carry, top: false };
        self.limited(Bound::new(node, output), tail)
    }

    fn limited(&mut self, mut bound: Bound, tail: Tail<'_>) -> Result<Bound> {
        if tail.limit.is_none() && tail.offset.is_none() {
            return Ok(bound);
        }
        let mut count = |ast: Option<&Ast>| -> Result<Option<Expr>> {
            let Some(ast) = ast else { return Ok(None) };
            let typed = self.expr(ast)?;
            Ok(Some(self.coerce(typed, Type::INT8, Context::Assignment)?.expr))
        };
        let (limit, offset) = (count(tail.limit)?, count(tail.offset)?);
        bound.node = optimize::first_of(bound.node, limit, offset);
        bound.lookup = None;
        Ok(bound)
    }

    /// The output column that an item of ORDER BY or GROUP BY names, by its number or name.
    pub(super) fn output_number(&mut self, ast: &Ast, output: &[Output]) -> Result<Option<usize>> {
        match ast {
            Ast::Value(value) => match &value.value {
                ast::Value::Number(text, _) => {
                    let number: usize = text.parse().unwrap_or(0);
                    if number == 0 || number > output.len() {
                        let what = format!("ORDER BY position {text} is not in select list");
                        return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, what));
                    }
                    Ok(Some(number - 1))
                }
                _ => Ok(None),
            },
            Ast::Identifier(ident) => {
                let name = fold(ident);
                let mut named = output.iter().enumerate().filter(|(_, output)| output.name == name);
                let Some((number, first)) = named.next() else { return Ok(None) };
                if named.any(|(_, other)| !other.expr.same(&first.expr)) {
                    let what = format!("ORDER BY \"{name}\" is ambiguous");
                    return Err(SqlError::new(SqlState::AMBIGUOUS_COLUMN, what));
                }
                Ok(Some(number))
            }
            _ => Ok(None),
        }
    }

    fn select(&mut self, select: &Select, tail: Tail<'_>) -> Result<Bound> {
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

    /// Binds a select list. What has no type of its own is text if that is to be `decided`.
    pub(crate) fn projection(&mut self, items: &[SelectItem], decided: bool) -> Result<Vec<Output>> {
        let bind = if decided { Self::expr_decided } else { Self::expr };
        let mut output = Vec::new();
        for item in items {
            match item {
                SelectItem::Wildcard(_) => {
                    let tables = self.scope().tables.len();
                    if tables == 0 {
                        return Err(SqlError::new(
                            SqlState::SYNTAX_ERROR,
                            "SELECT * with no tables specified is not valid",
                        ));
                    }
                    let shown = self.scope().shown(0..tables);
                    self.expand(shown, &mut output);
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let (schema, name) = super::names::split(name)?;
                    let tables = self.scope().tables.clone();
                    let table = tables
                        .iter()
                        .find(|table| table.name == name && (schema.is_none() || table.schema == schema));
                    let table = table.ok_or_else(|| {
                        let what = format!("missing FROM-clause entry for table \"{name}\"");
                        SqlError::new(SqlState::UNDEFINED_TABLE, what)
                    })?;
                    self.expand(table.columns.iter().map(ScopeColumn::shown).collect(), &mut output);
                }
                SelectItem::UnnamedExpr(ast) => {
                    let typed = bind(self, ast)?;
                    let name = name_of(ast, &self.first_names);
                    output.push(self.output(name, typed));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let typed = bind(self, expr)?;
                    output.push(self.output(fold(alias), typed));
                }
                _ => return Err(unsupported("this item of a select list")),
            }
        }
        Ok(output)
    }

    fn output(&self, name: String, typed: Typed) -> Output {
        let origin = self.origin(&typed.expr);
        Output { name, expr: typed.expr, ty: typed.ty, origin }
    }

    fn expand(&mut self, columns: Vec<Shown>, output: &mut Vec<Output>) {
        for Shown { name, expr, ty, origin } in columns {
            if self.known_columns.iter().any(|(table, end)| *table == origin.0 && origin.1 >= *end) {
                continue;
            }
            self.mark(&expr);
            output.push(Output { name, expr, ty, origin });
        }
    }

    /// The keys of ORDER BY, and the columns that they name.
    fn order(&mut self, order: &[OrderByExpr], output: &[Output]) -> Result<Vec<(SortKey, Option<usize>)>> {
        let mut keys = Vec::new();
        for item in order {
            let number = self.output_number(&item.expr, output)?;
            let expr = match number {
                Some(number) => output[number].expr.clone(),
                None => self.expr_decided(&item.expr)?.expr,
            };
            // a constant orders nothing
            if !matches!(expr, Expr::Const(_)) {
                keys.push((sort_key(expr, item), number));
            }
        }
        Ok(keys)
    }

    fn distinct_on(&mut self, list: &[Ast], output: &[Output]) -> Result<Vec<Expr>> {
        let mut on = Vec::new();
        for ast in list {
            on.push(match self.output_number(ast, output)? {
                Some(number) => output[number].expr.clone(),
                None => self.expr_decided(ast)?.expr,
            });
        }
        Ok(on)
    }
}

/// The keys of a grouped query, and what its expressions become.
struct GroupKeys<'k> {
    keys: Vec<(Expr, Slot)>,
    /// Slots that the groups do not have.
    lost: HashSet<Slot>,
    names: Vec<(Slot, String)>,
    aggregates: &'k [Aggregate],
}

impl<'k> GroupKeys<'k> {
    fn new(
        binder: &mut Binder<'_>,
        groups: Vec<Expr>,
        aggregates: &'k [Aggregate],
        input: &HashSet<Slot>,
        determines: bool,
    ) -> Self {
        let mut lost = input.clone();
        let mut keys: Vec<(Expr, Slot)> = Vec::new();
        for expr in groups {
            // a column keeps its slot, so that whoever reads it still does
            let slot = match expr {
                Expr::Slot(slot) => slot,
                _ => binder.slot(),
            };
            lost.remove(&slot);
            keys.push((expr, slot));
        }
        let mut names = Vec::new();
        for table in binder.scope().tables.clone() {
            for column in &table.columns {
                names.push((column.slot, format!("{}.{}", table.name, column.name)));
            }
            // the primary key determines the other columns of the same scan: a subquery may have columns of several
            let scan_of = |column: &ScopeColumn| {
                let (oid, attnum) = column.origin;
                let desc = binder.catalog.table(oid)?;
                Some((oid, column.slot.checked_sub(desc.position(attnum)?)?))
            };
            let mut scans: Vec<(u32, Slot)> = table.columns.iter().filter_map(scan_of).collect();
            scans.dedup();
            for scan in scans {
                let Some(desc) = binder.catalog.table(scan.0) else { continue };
                let Some(key) = &desc.primary_key else { continue };
                let own = || table.columns.iter().filter(|column| scan_of(column) == Some(scan));
                let grouped = determines
                    && key.columns.iter().all(|part| {
                        let mut parts = own().filter(|column| column.origin.1 == part.attnum);
                        parts.any(|column| keys.iter().any(|(_, slot)| *slot == column.slot))
                    });
                if grouped {
                    for column in own().filter(|column| binder.used[column.slot]) {
                        if lost.remove(&column.slot) {
                            keys.push((Expr::Slot(column.slot), column.slot));
                        }
                    }
                }
            }
        }
        Self { keys, lost, names, aggregates }
    }

    /// Makes an expression one over groups.
    fn rewrite_in(&self, expr: &mut Expr) -> Result<()> {
        *expr = self.rewrite(std::mem::replace(expr, Expr::Const(Value::Null)))?;
        Ok(())
    }

    /// The expression over groups.
    fn rewrite(&self, expr: Expr) -> Result<Expr> {
        if let Some((_, slot)) = self.keys.iter().find(|(key, _)| key.same(&expr)) {
            return Ok(Expr::Slot(*slot));
        }
        match &expr {
            Expr::Slot(slot) if self.aggregates.iter().any(|aggregate| aggregate.slot == *slot) => {
                return Ok(expr);
            }
            Expr::Slot(slot) if self.lost.contains(slot) => return Err(self.ungrouped(*slot)),
            Expr::Subquery(sub) => {
                if let Some(slot) = sub.depends.slots.iter().find(|slot| self.lost.contains(slot)) {
                    return Err(self.ungrouped(*slot));
                }
            }
            _ => {}
        }
        expr.map_children(&mut |child| self.rewrite(child))
    }

    fn ungrouped(&self, slot: Slot) -> SqlError {
        let name = self.names.iter().find(|(known, _)| *known == slot).map_or("?", |(_, name)| name.as_str());
        SqlError::new(
            SqlState::GROUPING_ERROR,
            format!(
                "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
            ),
        )
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

/// DISTINCT ON needs rows sorted by its expressions before anything else.
fn check_distinct_on(on: &[Expr], order: &[(SortKey, Option<usize>)]) -> Result<()> {
    let is_on = |key: &Expr| on.iter().any(|expr| expr.same(key));
    let leading: Vec<&Expr> = order.iter().map(|(key, _)| &key.expr).take_while(|key| is_on(key)).collect();
    let all = on.iter().all(|expr| {
        matches!(expr, Expr::Const(_)) || leading.iter().any(|key| key.same(expr)) || !expr.same(expr)
    });
    if all || leading.len() == order.len() {
        return Ok(());
    }
    Err(SqlError::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
    ))
}

/// The word for an operation on two queries.
fn set_word(op: SetOperator) -> &'static str {
    match op {
        SetOperator::Union => "UNION",
        SetOperator::Intersect => "INTERSECT",
        SetOperator::Except | SetOperator::Minus => "EXCEPT",
    }
}

pub(super) fn unequal(what: &str) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, format!("each {what} query must have the same number of columns"))
}

pub(crate) fn sort_key(expr: Expr, item: &OrderByExpr) -> SortKey {
    let descending = item.options.asc == Some(false);
    SortKey { expr, descending, nulls_first: item.options.nulls_first.unwrap_or(descending) }
}

pub(super) fn tail_of(query: &Query) -> Result<Tail<'_>> {
    let order = match &query.order_by {
        Some(order) => match &order.kind {
            OrderByKind::Expressions(list) => list.as_slice(),
            OrderByKind::All(_) => return Err(unsupported("ORDER BY ALL")),
        },
        None => &[],
    };
    let mut tail = Tail { order, limit: None, offset: None, locks: &query.locks };
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            tail.limit = limit.as_ref();
            tail.offset = offset.as_ref().map(|offset| &offset.value);
        }
        Some(LimitClause::OffsetCommaLimit { .. }) => {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "LIMIT #,# syntax is not supported")
                .hint("Use separate LIMIT and OFFSET clauses."));
        }
        None => {}
    }
    if let Some(fetch) = &query.fetch {
        if fetch.with_ties || fetch.percent {
            return Err(unsupported("FETCH WITH TIES"));
        }
        tail.limit = fetch.quantity.as_ref();
    }
    Ok(tail)
}

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
