//! ORDER BY, LIMIT, OFFSET and DISTINCT ON: which rows a query returns of those that it makes, and in what order.

use super::names::fold;
use super::select_list::is_open;
use super::stars::is_star;
use super::{Binder, Bound, Output, Typed, unsupported};
use crate::optimize;
use crate::plan::expr::Expr;
use crate::plan::{Node, Slot, SortKey};
use scaledb_parse::{marked, parts_of_row};
use scaledb_types::cast::Context;
use scaledb_types::{Result, SqlError, SqlState, Type};
use sqlparser::ast::{self, Expr as Ast, LimitClause, LockClause, OrderByExpr, OrderByKind, Query};
use std::sync::LazyLock;

static ONE: LazyLock<Ast> =
    LazyLock::new(|| Ast::Value(ast::Value::Number("1".to_owned(), false).with_empty_span()));

/// ORDER BY, LIMIT and OFFSET of a query.
#[derive(Clone, Copy, Default)]
pub(super) struct Tail<'q> {
    pub(super) order: &'q [OrderByExpr],
    pub(super) limit: Option<&'q Ast>,
    pub(super) offset: Option<&'q Ast>,
    /// FETCH .. WITH TIES: the rows that are ordered as the last one is are returned, too.
    pub(super) ties: bool,
    pub(super) locks: &'q [LockClause],
}

impl Tail<'_> {
    /// Whether it returns a part of the rows only.
    pub(super) fn is_limited(&self) -> bool {
        self.limit.is_some() || self.offset.is_some()
    }
}

/// The tail of a query.
///
/// # Errors
/// What of it is not there.
pub(super) fn tail_of(query: &Query) -> Result<Tail<'_>> {
    let order = match &query.order_by {
        Some(order) => match &order.kind {
            OrderByKind::Expressions(list) => list.as_slice(),
            OrderByKind::All(_) => return Err(unsupported("ORDER BY ALL")),
        },
        None => &[],
    };
    let mut tail = Tail { order, limit: None, offset: None, ties: false, locks: &query.locks };
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            tail.limit = limit.as_ref();
            if let Some(count) = limit.as_ref().and_then(marked::count_with_ties) {
                (tail.limit, tail.ties) = (Some(count), true);
                check_ties(query, order)?;
            }
            tail.offset = offset.as_ref().map(|offset| &offset.value);
        }
        Some(LimitClause::OffsetCommaLimit { .. }) => {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "LIMIT #,# syntax is not supported")
                .hint("Use separate LIMIT and OFFSET clauses."));
        }
        None => {}
    }
    if let Some(fetch) = &query.fetch {
        if fetch.percent {
            return Err(unsupported("FETCH of a part in percent"));
        }
        if fetch.with_ties {
            check_ties(query, order)?;
        }
        if tail.limit.is_some() {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "multiple LIMIT clauses not allowed"));
        }
        tail.ties = fetch.with_ties;
        // without a count it is one row
        tail.limit = fetch.quantity.as_ref().or(Some(&ONE));
    }
    Ok(tail)
}

/// Refuses WITH TIES where it makes no sense.
fn check_ties(query: &Query, order: &[OrderByExpr]) -> Result<()> {
    if order.is_empty() {
        let what = "WITH TIES cannot be specified without ORDER BY clause";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
    }
    if query.locks.iter().any(|lock| lock.nonblock == Some(ast::NonBlock::SkipLocked)) {
        let what = "SKIP LOCKED and WITH TIES options cannot be used together";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
    }
    Ok(())
}

impl Binder<'_> {
    /// ORDER BY and LIMIT of something that is not a plain SELECT: only its columns can be named.
    pub(super) fn with_tail(&mut self, bound: Bound, tail: Tail<'_>) -> Result<Bound> {
        if tail.order.is_empty() {
            return self.limited(bound, tail, Vec::new());
        }
        let (node, columns) = self.slots_of(bound, &[]);
        let output: Vec<Output> = columns
            .iter()
            .map(|c| Output { name: c.name.clone(), expr: Expr::Slot(c.slot), ty: c.ty, origin: c.origin })
            .collect();
        let mut keys = Vec::new();
        for item in tail.order {
            let Some(number) = self.output_number(&item.expr, &output, "ORDER BY")? else {
                return Err(SqlError::unsupported("invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                    .detail("Only result column names can be used, not expressions or functions.")
                    .hint("Move the query into a FROM clause."));
            };
            keys.push(sort_key(output[number].expr.clone(), item));
        }
        columns.iter().for_each(|column| self.used[column.slot] = true);
        let carry = columns.iter().map(|column| column.slot).collect();
        let ties = slots_of_ties(&keys, tail);
        let node = Node::Sort { input: Box::new(node), keys, carry, top: false };
        self.limited(Bound::new(node, output), tail, ties)
    }

    /// The rows of a query that LIMIT and OFFSET leave, with those behind them that are equal in the slots `ties`.
    pub(super) fn limited(&mut self, mut bound: Bound, tail: Tail<'_>, ties: Vec<Slot>) -> Result<Bound> {
        if !tail.is_limited() {
            return Ok(bound);
        }
        let mut count = |ast: Option<&Ast>| -> Result<Option<Expr>> {
            let Some(ast) = ast else { return Ok(None) };
            let typed = self.expr(ast)?;
            Ok(Some(self.coerce(typed, Type::INT8, Context::Assignment)?.expr))
        };
        let (limit, offset) = (count(tail.limit)?, count(tail.offset)?);
        bound.node = optimize::first_of(bound.node, limit, offset, ties);
        bound.lookup = None;
        Ok(bound)
    }

    /// The output column that an item of ORDER BY or GROUP BY names, by its number or name.
    pub(super) fn output_number(
        &mut self,
        ast: &Ast,
        output: &[Output],
        clause: &'static str,
    ) -> Result<Option<usize>> {
        match constant_of(ast) {
            Some(Constant::Integer(number)) => {
                let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                let Some(index) = index.filter(|index| *index < output.len()) else {
                    let what = format!("{clause} position {number} is not in select list");
                    return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, what));
                };
                return Ok(Some(index));
            }
            Some(Constant::Other) => {
                let what = format!("non-integer constant in {clause}");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            None => {}
        }
        match without_parentheses(ast) {
            Ast::Identifier(ident) => {
                let name = fold(ident);
                let mut named = output.iter().enumerate().filter(|(_, output)| output.name == name);
                let Some((number, first)) = named.next() else { return Ok(None) };
                if named.any(|(_, other)| !other.expr.same(&first.expr)) {
                    let what = format!("{clause} \"{name}\" is ambiguous");
                    return Err(SqlError::new(SqlState::AMBIGUOUS_COLUMN, what));
                }
                Ok(Some(number))
            }
            _ => Ok(None),
        }
    }

    /// The keys of ORDER BY, and the columns that they name.
    pub(super) fn order(
        &mut self,
        order: &[OrderByExpr],
        output: &mut [Output],
    ) -> Result<Vec<(SortKey, Option<usize>)>> {
        let mut keys = Vec::new();
        for item in order {
            let number = self.output_number(&item.expr, output, "ORDER BY")?;
            // what is sorted has a type
            if let Some(output) = number.map(|number| &mut output[number]).filter(|output| is_open(output)) {
                self.decide(output)?;
            }
            let key = match number {
                Some(number) => vec![Typed::new(output[number].expr.clone(), output[number].ty)],
                None => self.order_key(&item.expr)?,
            };
            let is_row = key.len() > 1;
            // a constant orders nothing
            let exprs = key.into_iter().map(|part| part.expr).filter(|expr| !matches!(expr, Expr::Const(_)));
            if !is_row {
                keys.extend(exprs.map(|expr| (sort_key(expr, item), number)));
                continue;
            }
            // a row is not NULL: NULLS FIRST and LAST say nothing of its fields
            let descending = item.options.asc == Some(false);
            keys.extend(exprs.map(|expr| (SortKey { expr, descending, nulls_first: descending }, None)));
        }
        Ok(keys)
    }

    /// An expression by which to order: the values of a row constructor, or one value.
    fn order_key(&mut self, ast: &Ast) -> Result<Vec<Typed>> {
        let ast = without_parentheses(ast);
        match parts_of_row(ast) {
            Some(parts) if parts.len() > 1 && !parts.iter().any(is_star) => {
                parts.iter().map(|part| self.expr_decided(part)).collect()
            }
            _ => Ok(vec![self.expr_decided(ast)?]),
        }
    }

    /// The expressions of DISTINCT ON.
    pub(super) fn distinct_on(&mut self, list: &[Ast], output: &[Output]) -> Result<Vec<Expr>> {
        let mut on = Vec::new();
        for ast in list {
            on.push(match self.output_number(ast, output, "DISTINCT ON")? {
                Some(number) => output[number].expr.clone(),
                None => self.expr_decided(ast)?.expr,
            });
        }
        Ok(on)
    }
}

/// The slots of the keys of ORDER BY, by which WITH TIES compares rows.
pub(super) fn slots_of_ties(order: &[SortKey], tail: Tail<'_>) -> Vec<Slot> {
    let slot = |key: &SortKey| match key.expr {
        Expr::Slot(slot) => Some(slot),
        _ => None,
    };
    if tail.ties { order.iter().filter_map(slot).collect() } else { Vec::new() }
}

/// A constant as a key of ORDER BY, GROUP BY or DISTINCT ON: an integer is the number of a column.
pub(super) enum Constant {
    Integer(i32),
    Other,
}

/// The constant that a key is; `None` if it is something else.
pub(super) fn constant_of(ast: &Ast) -> Option<Constant> {
    match without_parentheses(ast) {
        Ast::Value(value) => match &value.value {
            ast::Value::Placeholder(_) => None,
            ast::Value::Number(text, _) => Some(text.parse().map_or(Constant::Other, Constant::Integer)),
            _ => Some(Constant::Other),
        },
        // the sign of a number is a part of it
        Ast::UnaryOp { op: ast::UnaryOperator::Minus, expr } => match (constant_of(expr)?, &**expr) {
            (Constant::Integer(number), _) => {
                Some(number.checked_neg().map_or(Constant::Other, Constant::Integer))
            }
            (Constant::Other, inner) if is_number(inner) => Some(Constant::Other),
            _ => None,
        },
        _ => None,
    }
}

fn is_number(ast: &Ast) -> bool {
    match without_parentheses(ast) {
        Ast::Value(value) => matches!(value.value, ast::Value::Number(..)),
        Ast::UnaryOp { op: ast::UnaryOperator::Minus, expr } => is_number(expr),
        _ => false,
    }
}

/// What stands in parentheses, which mean nothing: `ORDER BY (1)` is a number of a column, too.
pub(super) fn without_parentheses(mut ast: &Ast) -> &Ast {
    while let Ast::Nested(inner) = ast {
        ast = inner;
    }
    ast
}

/// DISTINCT ON needs rows sorted by its expressions before anything else.
pub(super) fn check_distinct_on(on: &[Expr], order: &[(SortKey, Option<usize>)]) -> Result<()> {
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

/// A key of ORDER BY. NULLs are greater than all values, unless it says otherwise.
pub(super) fn sort_key(expr: Expr, item: &OrderByExpr) -> SortKey {
    let descending = item.options.asc == Some(false);
    SortKey { expr, descending, nulls_first: item.options.nulls_first.unwrap_or(descending) }
}
