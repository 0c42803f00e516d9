//! Subqueries in expressions, and comparisons with ANY and ALL.

use super::coerce::compared_as;
use super::operator::{compare_of, operator_name, opposite};
use super::scope::{Asked, AskedBefore};
use super::{Binder, Typed, unsupported};
use crate::functions::ScalarFn;
use crate::optimize::prepare::prepare;
use crate::optimize::trim::trim;
use crate::plan::depends::Depends;
use crate::plan::expr::{Ask, Compare, Expr, Subquery};
use scaledb_parse::parts_of_row;
use scaledb_types::cast::Context;
use scaledb_types::func::resolve_operator;
use scaledb_types::{Base, Result, SqlError, SqlState, Type};
use sqlparser::ast::{BinaryOperator, Expr as Ast, Query};
use std::sync::Arc;

/// A query that is bound within another one.
struct Nested {
    bound: super::Bound,
    /// The slots of its surroundings that it reads.
    outer: Vec<usize>,
    /// Whether a function in it may answer differently each time.
    volatile: bool,
}

impl Binder<'_> {
    /// `x op ANY (..)`.
    pub(super) fn quantified(
        &mut self,
        all: bool,
        left: &Ast,
        op: &BinaryOperator,
        right: &Ast,
    ) -> Result<Typed> {
        let name = operator_name(op)?;
        // a query in several parentheses is one, too
        let mut inside = right;
        while let Ast::Nested(inner) = inside {
            inside = inner;
        }
        let query = if let Ast::Subquery(query) = inside { Some(query) } else { None };
        if let (Some(query), Some(op)) = (query, compare_of(&name)) {
            if all {
                // all compare so, unless any compares the other way
                let any = self.any_subquery(left, opposite(op), query)?;
                return Ok(Typed::new(Expr::Not(Box::new(any)), Type::BOOL));
            }
            return Ok(Typed::new(self.any_subquery(left, op, query)?, Type::BOOL));
        }
        let left = self.expr(left)?;
        let mut array = match query {
            // other operators look at the rows as at an array of them
            Some(query) => {
                let (expr, types) = self.subquery_expr(query, Ask::Array(Type::TEXT))?;
                let element = types.first().map_or(Type::TEXT, |ty| ty.plain());
                let element = if element.base == Base::Unknown { Type::TEXT } else { element };
                let ty = element.to_array().ok_or_else(|| unsupported(format!("an array of {element}")))?;
                Typed::new(expr, ty)
            }
            None => self.expr(right)?,
        };
        if array.ty.base == Base::Unknown && !array.ty.array {
            let element = if left.ty.base == Base::Unknown { Type::TEXT } else { left.ty.plain() };
            let ty = element.to_array().ok_or_else(|| unsupported(format!("an array of {element}")))?;
            array = self.coerce(array, ty, Context::Implicit)?;
        }
        let Some(element) = array.ty.element() else {
            return Err(SqlError::new(
                SqlState::WRONG_OBJECT_TYPE,
                "op ANY/ALL (array) requires array on right side",
            ));
        };
        if let Some(op) = compare_of(&name)
            && let Ok(common) = compared_as(&name, left.ty, element, "ANY")
            && let Some(common_array) = common.to_array()
        {
            let left = self.coerce(left, common, Context::Implicit)?;
            let array = self.coerce(array, common_array, Context::Implicit)?;
            return Ok(Typed::new(Expr::Quantified(all, op, Box::new((left.expr, array.expr))), Type::BOOL));
        }
        let resolved = resolve_operator(&name, Some(left.ty), element)?;
        let left = self.coerce(left, resolved.args[0], Context::Implicit)?;
        let function = ScalarFn::new(resolved);
        Ok(Typed::new(Expr::QuantifiedCall(all, Box::new((function, left.expr, array.expr))), Type::BOOL))
    }

    /// `x op ANY (SELECT ..)`, `x IN (SELECT ..)`.
    pub(super) fn any_subquery(&mut self, left: &Ast, op: Compare, query: &Query) -> Result<Expr> {
        let asked = || Asked::Any(Box::new((left.clone(), op, query.clone())));
        self.asked_once(query, asked, |binder| Ok((binder.any_subquery_of(left, op, query)?, Vec::new())))
            .map(|(expr, _)| expr)
    }

    /// `(a, b) op (SELECT ..)`: the query has one row at most.
    pub(super) fn compared_with_row(&mut self, left: &Ast, op: Compare, query: &Query) -> Result<Expr> {
        let (sub, values, output) = self.beside_query(left, op, query, op.name())?;
        Ok(self.subquery_of(sub, output, Ask::One(values, op)))
    }

    /// Binds a subquery, unless a grouped query has asked the same before: the two are then one expression.
    fn asked_once(
        &mut self,
        query: &Query,
        asked: impl FnOnce() -> Asked,
        bind: impl FnOnce(&mut Self) -> Result<(Expr, Vec<Type>)>,
    ) -> Result<(Expr, Vec<Type>)> {
        let noting = self.noted.is_some();
        let scope = self.scope();
        // the argument of an aggregate reads rows, and not groups
        let inside = scope.grouping.as_ref().is_some_and(|grouping| grouping.inside);
        let known = scope.subqueries.as_ref().filter(|_| !inside);
        // what is noted is noted of each by itself
        let Some(known) = known.filter(|_| !noting) else { return bind(self) };
        let asked = asked();
        let address = super::labels::address(query);
        if let Some(known) = known.iter().find(|known| known.asked == asked && !known.volatile) {
            let (expr, types) = (known.expr.clone(), known.types.clone());
            if let Some(name) = known.name.clone() {
                self.first_names.insert(address, name);
            }
            return Ok((expr, types));
        }
        let volatile = self.volatile;
        let (expr, types) = bind(self)?;
        let volatile = self.volatile != volatile;
        let name = self.first_names.get(&address).cloned();
        if let Some(known) = &mut self.scope().subqueries {
            known.push(AskedBefore { asked, expr: expr.clone(), types: types.clone(), name, volatile });
        }
        Ok((expr, types))
    }

    fn any_subquery_of(&mut self, left: &Ast, op: Compare, query: &Query) -> Result<Expr> {
        let (sub, values, output) = self.beside_query(left, op, query, "IN")?;
        Ok(self.subquery_of(sub, output, Ask::Any(values, op)))
    }

    /// Binds a value or a row, and a query that it is compared with: the query, and the two sides as they compare.
    fn beside_query(
        &mut self,
        left: &Ast,
        op: Compare,
        query: &Query,
        construct: &'static str,
    ) -> Result<(Nested, Vec<Expr>, Vec<Expr>)> {
        let left: Vec<Typed> = match parts_of_row(left) {
            Some(parts) => self.row_parts(parts)?,
            None => vec![self.expr(left)?],
        };
        let mut sub = self.nested_query(query)?;
        let columns = std::mem::take(&mut sub.bound.output);
        if columns.len() != left.len() {
            let what = if columns.len() > left.len() {
                "subquery has too many columns"
            } else {
                "subquery has too few columns"
            };
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let mut values = Vec::new();
        let mut output = Vec::new();
        for (left, right) in left.into_iter().zip(columns) {
            let right = Typed::new(right.expr, right.ty);
            let (left, right) = self.operands(op.name(), left, right, construct)?;
            values.push(left);
            output.push(right);
        }
        Ok((sub, values, output))
    }

    fn subquery_of(&mut self, nested: Nested, output: Vec<Expr>, ask: Ask) -> Expr {
        let Nested { bound: super::Bound { node, lookup, .. }, outer, volatile } = nested;
        output.iter().for_each(|expr| self.mark(expr));
        let mut output = output;
        output.iter_mut().for_each(Expr::simplify);
        let depends = Depends::of(&node, &output);
        debug_assert!(
            depends.slots.iter().all(|slot| outer.contains(slot)),
            "{:?} beside {outer:?}",
            depends.slots
        );
        let keep = depends.slots.is_empty().then(|| self.keep());
        // its slots are known to be used by now, as nothing outside of it reads them
        let mut node = node;
        let reads = output.iter().any(Expr::needs_worker);
        prepare(&mut node, &mut self.used, reads);
        trim(&mut node, &output, &[]);
        // an array has its rows in the order that the query asks for
        let lookup = lookup.filter(|_| keep.is_none() && !matches!(ask, Ask::Array(_)));
        let lookup = lookup.map(|mut lookup| {
            let reads = lookup.inner_keys.iter().any(Expr::needs_worker);
            prepare(&mut lookup.node, &mut self.used, reads);
            trim(&mut lookup.node, lookup.inner_keys.iter().chain(&lookup.rest), &lookup.slots);
            Arc::new(lookup)
        });
        Expr::Subquery(Arc::new(Subquery {
            node: Arc::new(node),
            output,
            ask,
            keep,
            volatile,
            depends,
            lookup,
        }))
    }

    /// A subquery that answers a question; the types of its columns.
    pub fn subquery_expr(&mut self, query: &Query, ask: Ask) -> Result<(Expr, Vec<Type>)> {
        let asked = || Asked::Other(std::mem::discriminant(&ask), Box::new(query.clone()));
        self.asked_once(query, asked, |binder| binder.subquery_expr_of(query, ask.clone()))
    }

    fn subquery_expr_of(&mut self, query: &Query, ask: Ask) -> Result<(Expr, Vec<Type>)> {
        let mut sub = self.nested_query(query)?;
        let columns = std::mem::take(&mut sub.bound.output);
        let types: Vec<Type> = columns.iter().map(|output| output.ty).collect();
        if let Some(first) = columns.first() {
            self.first_names.insert(super::labels::address(query), first.name.clone());
        }
        let ask = match ask {
            Ask::Array(_) => match types[..] {
                [ty] => Ask::Array(ty.of_result()),
                _ => {
                    return Err(SqlError::new(
                        SqlState::SYNTAX_ERROR,
                        "subquery must return only one column",
                    ));
                }
            },
            other => other,
        };
        let output = columns.into_iter().map(|output| output.expr).collect();
        Ok((self.subquery_of(sub, output, ask), types))
    }

    /// The columns of the only row of a query, which are to be computed in their order.
    ///
    /// # Errors
    /// 42601 if there are not as many as are asked for, and what is wrong with the query.
    pub(super) fn row_of(&mut self, query: &Query, columns: usize) -> Result<Vec<Typed>> {
        let mut sub = self.nested_query(query)?;
        let row = std::mem::take(&mut sub.bound.output);
        if row.len() != columns {
            let what = "number of columns does not match number of values";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let types: Vec<Type> = row.iter().map(|output| output.ty).collect();
        let output = row.into_iter().map(|output| output.expr).collect();
        let others = self.new_slots(columns.saturating_sub(1));
        let first = self.subquery_of(sub, output, Ask::Row(others.clone()));
        let exprs = std::iter::once(first).chain(others.into_iter().map(Expr::Slot));
        Ok(exprs.zip(types).map(|(expr, ty)| Typed::new(expr, ty)).collect())
    }

    /// Binds a query in the scope of this one.
    fn nested_query(&mut self, query: &Query) -> Result<Nested> {
        let (references, volatile) = (self.recursive_references.len(), self.volatile);
        self.placed.repeated += 1;
        let bound = self.deeper(|binder| binder.query_in_scope(query));
        self.placed.repeated -= 1;
        let (bound, outer) = bound?;
        self.refuse_recursion(references, "a subquery")?;
        Ok(Nested { bound, outer, volatile: self.volatile != volatile })
    }
}
