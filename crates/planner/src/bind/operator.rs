//! Operators, comparisons, predicates.

use super::coerce::compared_as;
use super::expr::negate;
use super::stars::is_star;
use super::tail::without_parentheses;
use super::{Binder, Typed, unsupported};
use crate::functions::ScalarFn;
use crate::plan::expr::{Compare, Expr, Test};
use scaledb_parse::{SYMMETRIC, parts_of_row};
use scaledb_types::cast::Context;
use scaledb_types::func::{Interrupt, common_type, resolve_operator};
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{self, BinaryOperator, Expr as Ast, UnaryOperator, Value as Literal};

/// Bytes of what a folded call may keep while it computes.
const MAX_FOLDED: usize = 1 << 20;

impl Binder<'_> {
    pub(super) fn binary(&mut self, left: &Ast, op: &BinaryOperator, right: &Ast) -> Result<Typed> {
        match op {
            BinaryOperator::And | BinaryOperator::Or => return self.chain(left, op, right),
            _ => {}
        }
        let name = operator_name(op)?;
        let rows = [left, right].map(|side| parts_of_row(without_parentheses(side)));
        if let [Some(left), Some(right)] = rows {
            return self.row_comparison(&name, left, right);
        }
        if let [Some(_), None] = rows
            && let Ast::Subquery(query) = without_parentheses(right)
            && let Some(op) = compare_of(&name)
        {
            let compared = self.compared_with_row(without_parentheses(left), op, query)?;
            return Ok(Typed::new(compared, Type::BOOL));
        }
        if matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq)
            && let Some(equal) = self.equal_rows(left, right)?
        {
            let differ = matches!(op, BinaryOperator::NotEq);
            return Ok(Typed::new(negate(equal, differ), Type::BOOL));
        }
        let left = self.expr(left)?;
        let right = self.expr(right)?;
        self.operator(&name, Some(left), right)
    }

    /// A chain of AND or OR, however long, is one list.
    pub(super) fn chain(&mut self, left: &Ast, op: &BinaryOperator, right: &Ast) -> Result<Typed> {
        let clause = if *op == BinaryOperator::And { "AND" } else { "OR" };
        let mut operands = vec![right];
        let mut rest = left;
        while let Ast::BinaryOp { left, op: inner, right } = rest
            && inner == op
        {
            operands.push(right);
            rest = left;
        }
        operands.push(rest);
        let mut list = Vec::with_capacity(operands.len());
        for operand in operands.into_iter().rev() {
            let typed = self.expr(operand)?;
            list.push(self.boolean(typed, clause)?);
        }
        // a constant that settles it does so later: the columns of the others count where groups are checked
        let expr = if *op == BinaryOperator::And { Expr::And(list) } else { Expr::Or(list) };
        Ok(Typed::new(expr, Type::BOOL))
    }

    pub(super) fn unary(&mut self, op: &UnaryOperator, inner: &Ast) -> Result<Typed> {
        match op {
            UnaryOperator::Not => {
                let typed = self.expr(inner)?;
                let inner = self.boolean(typed, "NOT")?;
                Ok(Typed::new(Expr::Not(Box::new(inner)), Type::BOOL))
            }
            UnaryOperator::Minus => {
                if let Ast::Value(value) = inner
                    && let Literal::Number(text, _) = &value.value
                {
                    return self.number(&format!("-{text}"));
                }
                let value = self.expr(inner)?;
                self.operator("-", None, value)
            }
            UnaryOperator::Plus => {
                let value = self.expr(inner)?;
                self.operator("+", None, value)
            }
            other => {
                let value = self.expr(inner)?;
                self.operator(&other.to_string(), None, value)
            }
        }
    }

    /// An operator on bound operands.
    pub fn operator(&mut self, name: &str, left: Option<Typed>, right: Typed) -> Result<Typed> {
        match left {
            Some(left) if compare_of(name).is_some() => self.comparison(name, left, right),
            Some(left) => {
                let mut sides = vec![left, right];
                // what is put behind a text is the name of a thing, for which the catalog is needed
                if name == "||" && sides.iter().all(|side| !side.ty.array) {
                    sides = self.printed(sides)?;
                }
                let resolved = resolve_operator(name, Some(sides[0].ty), sides[1].ty)?;
                self.resolved(resolved, sides)
            }
            None => {
                let resolved = resolve_operator(name, None, right.ty)?;
                self.resolved(resolved, vec![right])
            }
        }
    }

    /// A comparison: of values of one type where the types allow it, so that indexes can serve it.
    pub fn comparison(&mut self, name: &str, left: Typed, right: Typed) -> Result<Typed> {
        let Some(op) = compare_of(name) else {
            return self.operator(name, Some(left), right);
        };
        let resolved = resolve_operator(name, Some(left.ty), right.ty)?;
        let ordered = matches!(resolved.function.fast, scaledb_types::func::Fast::Comparison(_));
        let (a, b) = (resolved.args[0], resolved.args[1]);
        if !ordered {
            return self.resolved(resolved, vec![left, right]);
        }
        let common = match (rank(a), rank(b)) {
            _ if a.same(b) || a.is_text() && b.is_text() => None,
            (Some(x), Some(y)) => Some(if x >= y { a } else { b }),
            _ => return self.resolved(resolved, vec![left, right]),
        };
        let left = self.coerce(left, common.unwrap_or(a).plain(), Context::Implicit)?;
        let right = self.coerce(right, common.unwrap_or(b).plain(), Context::Implicit)?;
        if [&left.expr, &right.expr].iter().all(|side| matches!(side, Expr::Const(Value::Null))) {
            return Ok(Typed::constant(Value::Null, Type::BOOL));
        }
        Ok(Typed::new(Expr::Compare(op, Box::new((left.expr, right.expr))), Type::BOOL))
    }

    /// A call of a resolved function.
    pub fn resolved(&mut self, resolved: scaledb_types::func::Resolved, args: Vec<Typed>) -> Result<Typed> {
        let mut exprs = Vec::with_capacity(args.len());
        for (arg, &ty) in args.into_iter().zip(&resolved.args) {
            exprs.push(self.coerce(arg, ty, Context::Implicit)?.expr);
        }
        let result = resolved.result;
        let nulls = || exprs.iter().all(|expr| matches!(expr, Expr::Const(Value::Null)));
        if resolved.function.strict && !exprs.is_empty() && nulls() {
            return Ok(Typed::constant(Value::Null, result));
        }
        let function = ScalarFn::new(resolved);
        self.volatile += usize::from(function.is_volatile());
        // constants are folded, if the function always answers the same, and does
        let constants = function.is_immutable() && exprs.iter().all(|expr| matches!(expr, Expr::Const(_)));
        if constants {
            let values: Vec<Value> = exprs
                .iter()
                .map(|expr| match expr {
                    Expr::Const(value) => value.clone(),
                    _ => Value::Null,
                })
                .collect();
            // what takes long is left to the statement, which can be interrupted
            let long = || Err(SqlError::internal("a function takes too long to be folded"));
            if let Ok(value) = function.call_within(self.env, &values, Interrupt::new(&long, MAX_FOLDED))
                && self.is_worth_keeping(&value, result, &values)
            {
                return Ok(Typed::constant(value, result));
            }
        }
        Ok(Typed::new(Expr::Call(Box::new((function, exprs))), result))
    }

    /// `(a, b) OVERLAPS (c, d)`: not a comparison, but a call of a function of four arguments.
    fn overlaps(&mut self, left: &[Ast], right: &[Ast]) -> Result<Typed> {
        for (row, side) in [(left, "left"), (right, "right")] {
            if row.len() != 2 {
                let what = format!("wrong number of parameters on {side} side of OVERLAPS expression");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
        }
        let args: Result<Vec<Typed>> = left.iter().chain(right).map(|ast| self.expr(ast)).collect();
        self.call_typed("overlaps", args?)
    }

    /// `(a, b) < (c, d)`.
    pub(super) fn row_comparison(&mut self, name: &str, left: &[Ast], right: &[Ast]) -> Result<Typed> {
        if name.eq_ignore_ascii_case("overlaps") {
            return self.overlaps(left, right);
        }
        let (left, right) = (self.row_parts(left)?, self.row_parts(right)?);
        if left.len() != right.len() {
            return Err(unequal_rows());
        }
        if left.is_empty() {
            return Err(SqlError::unsupported("cannot compare rows of zero length"));
        }
        let op = compare_of(name).ok_or_else(|| unsupported("this operator of row values"))?;
        let pairs: Vec<(Typed, Typed)> = left.into_iter().zip(right).collect();
        let all = |binder: &mut Self, pairs: Vec<(Typed, Typed)>| -> Result<Vec<Expr>> {
            pairs.into_iter().map(|(l, r)| binder.comparison("=", l, r).map(|t| t.expr)).collect()
        };
        let expr = match op {
            Compare::Eq => Expr::And(all(self, pairs)?),
            Compare::Ne => Expr::Not(Box::new(Expr::And(all(self, pairs)?))),
            _ => {
                // a < c or a = c and (b < d or ..); what is computed only where the fields before it are equal
                // stands in a CASE
                let strict = match op {
                    Compare::Lt | Compare::Le => "<",
                    _ => ">",
                };
                let mut expr: Option<Expr> = None;
                let mut computed = false;
                for (left, right) in pairs.into_iter().rev() {
                    let last = expr.is_none();
                    let behind = computed;
                    computed |= !(left.expr.is_at_hand() && right.expr.is_at_hand());
                    let first =
                        self.comparison(if last { name } else { strict }, left.clone(), right.clone())?;
                    expr = Some(match expr {
                        None => first.expr,
                        Some(rest) => {
                            let equal = self.comparison("=", left, right)?;
                            if behind {
                                expr = Some(Expr::Case(vec![(equal.expr, rest)], Box::new(first.expr)));
                                continue;
                            }
                            Expr::Or(vec![first.expr, Expr::And(vec![equal.expr, rest])])
                        }
                    });
                }
                expr.unwrap_or(Expr::Const(Value::Bool(true)))
            }
        };
        Ok(Typed::new(expr, Type::BOOL))
    }

    pub(super) fn in_list(&mut self, expr: &Ast, list: &[Ast], negated: bool) -> Result<Typed> {
        if let Some(left) = parts_of_row(expr)
            && let Some(rows) = list.iter().map(parts_of_row).collect::<Option<Vec<_>>>()
        {
            let mut any = Vec::with_capacity(rows.len());
            for right in rows {
                any.push(self.row_comparison("=", left, right)?.expr);
            }
            return Ok(Typed::new(negate(Expr::Or(any), negated), Type::BOOL));
        }
        let mut value = self.expr(expr)?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            items.push(self.expr(item)?);
        }
        // several items that read no row of this query are an array of the type that they have in common; each of the
        // others is compared by itself
        let alone: Vec<bool> = items.iter().map(|item| !self.reads_here(&item.expr)).collect();
        let mut types: Vec<Type> = vec![value.ty];
        types.extend(items.iter().zip(&alone).filter(|(_, alone)| **alone).map(|(item, _)| item.ty));
        let common = if types.len() > 2 { common_type(&types, "IN").ok().map(Type::plain) } else { None };
        // the array gives a parameter its type, and the other items meet it with that
        if let (Some(common), Expr::Param(_), Base::Unknown) = (common, &value.expr, value.ty.base) {
            self.coerce(value.clone(), common, Context::Implicit)?;
            value = self.as_known(&value);
        }
        let mut groups: Vec<(Type, Vec<Typed>)> = Vec::new();
        let mut any = Vec::new();
        let mut known: Vec<(Type, Option<Type>)> = Vec::new();
        for (mut item, alone) in items.into_iter().zip(alone) {
            if let Some(common) = common.filter(|_| alone) {
                item = self.coerce(item, common, Context::Implicit)?;
            }
            let ty = match known.iter().find(|(of, _)| *of == item.ty) {
                Some((_, ty)) => *ty,
                None => {
                    let ty = compared_as("=", value.ty, item.ty, "IN").ok().filter(|&ty| is_ordered(ty));
                    known.push((item.ty, ty));
                    ty
                }
            };
            match ty {
                None => any.push(self.comparison("=", value.clone(), item)?.expr),
                Some(ty) => match groups.iter_mut().find(|(of, _)| *of == ty) {
                    Some((_, items)) => items.push(item),
                    None => groups.push((ty, vec![item])),
                },
            }
        }
        for (ty, mut items) in groups {
            if items.len() == 1
                && let Some(item) = items.pop()
            {
                any.push(self.comparison("=", value.clone(), item)?.expr);
                continue;
            }
            let value = self.coerce(value.clone(), ty, Context::Implicit)?.expr;
            let mut exprs = Vec::with_capacity(items.len());
            for item in items {
                exprs.push(self.coerce(item, ty, Context::Implicit)?.expr);
            }
            any.push(Expr::In(Box::new(value), exprs));
        }
        let one = if any.len() == 1 { any.pop() } else { None };
        let any = one.unwrap_or(Expr::Or(any));
        Ok(Typed::new(negate(any, negated), Type::BOOL))
    }

    /// Whether an expression reads columns of the innermost query.
    fn reads_here(&self, expr: &Expr) -> bool {
        let around = self.scopes.split_last().map_or(&[][..], |(_, around)| around);
        let mut reads = false;
        expr.slots(&mut |slot| {
            reads |= !around.iter().any(|scope| scope.slots().any(|known| known == slot));
        });
        reads
    }

    pub(super) fn like(
        &mut self,
        name: &str,
        negated: bool,
        expr: &Ast,
        pattern: &Ast,
        escape: Option<&ast::ValueWithSpan>,
    ) -> Result<Typed> {
        let value = self.expr(expr)?;
        let mut pattern = self.expr(pattern)?;
        if let Some(escape) = escape {
            let escape = self.literal(&escape.value)?;
            pattern = self.call_typed("like_escape", vec![pattern, escape])?;
        }
        let matched = self.operator(name, Some(value), pattern)?;
        Ok(Typed::new(negate(matched.expr, negated), Type::BOOL))
    }

    pub(super) fn test(&mut self, test: Test, inner: &Ast) -> Result<Typed> {
        if let Some(parts) = parts_of_row(inner) {
            let mut all = Vec::with_capacity(parts.len());
            for part in parts {
                // a row within a row is a value, whatever it consists of
                if parts_of_row(part).is_some() {
                    self.test(test, part)?;
                    all.push(Expr::Const(Value::Bool(test == Test::NotNull)));
                    continue;
                }
                if let Some(fields) = self.star_in_row(part)? {
                    all.extend(fields.into_iter().map(|field| Expr::Test(test, Box::new(field.expr))));
                    continue;
                }
                all.push(Expr::Test(test, Box::new(self.expr_decided(part)?.expr)));
            }
            return Ok(Typed::new(Expr::And(all), Type::BOOL));
        }
        if let Some(fields) = self.row_fields(inner)? {
            let all = fields.into_iter().map(|(_, field)| Expr::Test(test, Box::new(field.expr))).collect();
            return Ok(Typed::new(Expr::And(all), Type::BOOL));
        }
        let inner = self.expr_decided(inner)?;
        if inner.ty == Type::RECORD && matches!(test, Test::Null | Test::NotNull) {
            let function = ScalarFn::all_null(test == Test::Null);
            return Ok(Typed::new(Expr::Call(Box::new((function, vec![inner.expr]))), Type::BOOL));
        }
        Ok(Typed::new(Expr::Test(test, Box::new(inner.expr)), Type::BOOL))
    }

    pub(super) fn truth(&mut self, test: Test, inner: &Ast, clause: &'static str) -> Result<Typed> {
        let typed = self.expr(inner)?;
        let inner = self.boolean(typed, clause)?;
        Ok(Typed::new(Expr::Test(test, Box::new(inner)), Type::BOOL))
    }

    pub(super) fn distinct_from(&mut self, left: &Ast, right: &Ast, negated: bool) -> Result<Typed> {
        if let (Some(left), Some(right)) = (parts_of_row(left), parts_of_row(right)) {
            if left.iter().chain(right).any(is_star) {
                return self.distinct_rows(left, right, negated);
            }
            if left.len() != right.len() {
                return Err(unequal_rows());
            }
            let pairs = left.iter().zip(right);
            let equal = pairs.map(|(left, right)| Ok(self.distinct_from(left, right, true)?.expr));
            let equal = Expr::And(equal.collect::<Result<_>>()?);
            return Ok(Typed::new(negate(equal, !negated), Type::BOOL));
        }
        if let Some(equal) = self.equal_rows(left, right)? {
            return Ok(Typed::new(negate(equal, !negated), Type::BOOL));
        }
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let operands = self.operands("=", left, right, "IS DISTINCT FROM")?;
        Ok(Typed::new(Expr::Distinct(negated, Box::new(operands)), Type::BOOL))
    }

    /// Rows that stars are among the parts of.
    fn distinct_rows(&mut self, left: &[Ast], right: &[Ast], negated: bool) -> Result<Typed> {
        let (left, right) = (self.row_parts(left)?, self.row_parts(right)?);
        if left.len() != right.len() {
            return Err(unequal_rows());
        }
        let mut equal = Vec::with_capacity(left.len());
        for (left, right) in left.into_iter().zip(right) {
            let operands = self.operands("=", left, right, "IS DISTINCT FROM")?;
            equal.push(Expr::Distinct(true, Box::new(operands)));
        }
        Ok(Typed::new(negate(Expr::And(equal), !negated), Type::BOOL))
    }

    /// Whether two rows of tables, or of variables, have the same values, where NULL is one; `None` if both are not
    /// such rows.
    fn equal_rows(&mut self, left: &Ast, right: &Ast) -> Result<Option<Expr>> {
        let (left, right) = (without_parentheses(left), without_parentheses(right));
        let is_name = |ast: &Ast| matches!(ast, Ast::Identifier(_) | Ast::QualifiedWildcard(..));
        if !is_name(left) || !is_name(right) {
            return Ok(None);
        }
        let (Some(left), Some(right)) = (self.fields_there(left)?, self.fields_there(right)?) else {
            return Ok(None);
        };
        if left.len() != right.len() {
            return Err(unequal_rows());
        }
        let mut equal = Vec::with_capacity(left.len());
        for (left, right) in left.into_iter().zip(right) {
            let operands = self.operands("=", left, right, "IS DISTINCT FROM")?;
            equal.push(Expr::Distinct(true, Box::new(operands)));
        }
        Ok(Some(Expr::And(equal)))
    }

    /// `x BETWEEN low AND high`, `BETWEEN SYMMETRIC`.
    pub(super) fn between(&mut self, expr: &Ast, negated: bool, low: &Ast, high: &Ast) -> Result<Typed> {
        let value = self.expr(expr)?;
        let (low, symmetric) = match low {
            Ast::Prefixed { prefix, value } if prefix.value == SYMMETRIC => (&**value, true),
            _ => (low, false),
        };
        let low = self.expr(low)?;
        let high = self.expr(high)?;
        let mut within = |low: &Typed, high: &Typed| -> Result<Expr> {
            let from = self.comparison(">=", self.as_known(&value), self.as_known(low))?;
            let to = self.comparison("<=", self.as_known(&value), self.as_known(high))?;
            Ok(Expr::And(vec![from.expr, to.expr]))
        };
        let mut both = within(&low, &high)?;
        if symmetric {
            both = Expr::Or(vec![both, within(&high, &low)?]);
        }
        Ok(Typed::new(negate(both, negated), Type::BOOL))
    }

    /// `x SIMILAR TO pattern`.
    pub(super) fn similar_to(
        &mut self,
        negated: bool,
        expr: &Ast,
        pattern: &Ast,
        escape: Option<&ast::ValueWithSpan>,
    ) -> Result<Typed> {
        let mut args = vec![self.expr(pattern)?];
        if let Some(escape) = escape {
            args.push(self.literal(&escape.value)?);
        }
        let regex = self.call_typed("similar_to_escape", args)?;
        let value = self.expr(expr)?;
        let matched = self.operator("~", Some(value), regex)?;
        Ok(Typed::new(negate(matched.expr, negated), Type::BOOL))
    }
}

/// Whether values of a type are compared by their order.
fn is_ordered(ty: Type) -> bool {
    resolve_operator("=", Some(ty), ty)
        .is_ok_and(|resolved| matches!(resolved.function.fast, scaledb_types::func::Fast::Comparison(_)))
}

/// The width of a number, among those that compare with each other.
fn rank(ty: Type) -> Option<u8> {
    if ty.array {
        return None;
    }
    Some(match ty.base {
        Base::Int2 => 0,
        Base::Int4 => 1,
        Base::Int8 => 2,
        Base::Float4 => 10,
        Base::Float8 => 11,
        _ => return None,
    })
}

/// The comparison of a name.
pub(super) fn compare_of(name: &str) -> Option<Compare> {
    Some(match name {
        "=" => Compare::Eq,
        "<>" | "!=" => Compare::Ne,
        "<" => Compare::Lt,
        "<=" => Compare::Le,
        ">" => Compare::Gt,
        ">=" => Compare::Ge,
        _ => return None,
    })
}

pub(super) fn opposite(op: Compare) -> Compare {
    match op {
        Compare::Eq => Compare::Ne,
        Compare::Ne => Compare::Eq,
        Compare::Lt => Compare::Ge,
        Compare::Ge => Compare::Lt,
        Compare::Le => Compare::Gt,
        Compare::Gt => Compare::Le,
    }
}

pub(super) fn operator_name(op: &BinaryOperator) -> Result<String> {
    if let BinaryOperator::PGCustomBinaryOperator(parts) = op {
        return Ok(parts.last().cloned().unwrap_or_default());
    }
    Ok(op.to_string())
}

/// 42601 for rows of different lengths.
fn unequal_rows() -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions")
}
