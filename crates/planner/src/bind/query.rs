//! Queries: what WITH says before them, and which kind they are.

use super::coerce::common_of;
use super::lock;
use super::scope::{Scope, ScopeColumn};
use super::select_list::check_width;
use super::tail::{Tail, tail_of};
use super::with::Reading;
use super::{Binder, Bound, Output, Typed};
use crate::plan::expr::Expr;
use crate::plan::{Inlined, Node, Slot};
use scaledb_types::cast::Context;
use scaledb_types::{Base, Result, SqlError, SqlState, Type};
use sqlparser::ast::{self, Expr as Ast, Query, SetExpr};
use std::collections::HashSet;

impl Binder<'_> {
    /// Binds a query that is in the scope of another; the slots of that one that it reads.
    pub fn query_in_scope(&mut self, query: &Query) -> Result<(Bound, Vec<Slot>)> {
        self.scopes.push(Scope::default());
        let bound = self.query_here(query);
        let scope = self.scopes.pop().unwrap_or_default();
        Ok((bound?, scope.outer))
    }

    /// Binds a query.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn query(&mut self, query: &Query) -> Result<Bound> {
        self.query_in_scope(query).map(|(bound, _)| bound)
    }

    fn query_here(&mut self, query: &Query) -> Result<Bound> {
        let visible = self.ctes.len();
        // what is said about this query is not said about those in its WITH
        let around = (std::mem::take(&mut self.inherited), std::mem::take(&mut self.lifts));
        let pulled = std::mem::take(&mut self.pulled);
        let may_write = std::mem::take(&mut self.may_write);
        let leaves_open = std::mem::take(&mut self.leaves_open);
        if let (Some(with), SetExpr::Merge(_)) = (&query.with, &*query.body)
            && with.recursive
        {
            let what = "WITH RECURSIVE is not supported for MERGE statement";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let mut ctes = match &query.with {
            Some(with) => self.with(with, may_write && self.scopes.len() == 1),
            None => Ok(Vec::new()),
        }
        .inspect_err(|_| self.ctes.truncate(visible))?;
        (self.inherited, self.lifts) = around;
        // those that stand where they are read are parts of it, as other queries in FROM
        ctes.retain(|cte| !self.placed.stands(cte.number));
        self.pulled = pulled && ctes.is_empty();
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
                // what only such a query reads is not read at all
                let here = |reading: &Reading| !reading.within.contains(&cte.number);
                self.read_ctes.values_mut().for_each(|readings| readings.retain(here));
            }
            if let [Reading { place: Some(number), .. }] = readings[..]
                && self.placed.is_read_once(cte.number)
            {
                self.placed.found.push(number);
            }
            // PostgreSQL puts such a query where it is read, and computes there what is used of it
            if cte.inlined == Inlined::Always || cte.inlined == Inlined::Once && readings.len() == 1 {
                cte.readers = Some(readings.into_iter().map(|reading| reading.slots).collect());
            }
        }
        // a query that is not read is not evaluated, unless it writes
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
        let reads = matches!(body, SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::SetOperation { .. });
        self.pulled &= reads && tail.locks.is_empty() && !part;
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
            // tables that begin a query were written as SELECT: `scaledb-parse`
            SetExpr::Table(_) => {
                Err(SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"TABLE\""))
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
            SetExpr::Merge(_) if !may_write => {
                Err(SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"MERGE\""))
            }
            SetExpr::Merge(statement) => self.deeper(|binder| binder.dml_in_query(statement)),
        }
    }

    /// Writes the results of a query into slots.
    ///
    /// Slots of `outer` are not among them: those keep their values where the others become NULL or are
    /// restored.
    pub fn slots_of(&mut self, bound: Bound, outer: &[Slot]) -> (Node, Vec<ScopeColumn>) {
        let (node, columns) = self.open_columns(bound, outer);
        columns.iter().for_each(|column| self.used[column.slot] = true);
        (node, columns)
    }

    /// The same, for columns that are read by their names alone: those that are not read are not computed.
    pub fn open_columns(&mut self, bound: Bound, outer: &[Slot]) -> (Node, Vec<ScopeColumn>) {
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
                    if let Some(fields) = self.fields_of(&expr) {
                        self.records.insert(slot, fields);
                    }
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
        let mut bound: Vec<Vec<Typed>> = Vec::with_capacity(rows.len());
        for row in rows {
            let row = self.row_parts(&row.content)?;
            if bound.first().is_some_and(|first| first.len() != row.len()) {
                return Err(SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "VALUES lists must all be the same length",
                ));
            }
            bound.push(row);
        }
        let width = bound.first().map_or(0, Vec::len);
        check_width(width)?;
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
}
