//! Expressions.

use super::names::{data_type, fold, split};
use super::{Binder, Typed, unsupported};
use crate::functions::{RowForm, ScalarFn};
use crate::parse::SYMMETRIC;
use crate::plan::expr::{Ask, Compare, Expr, Test};
use scaledb_types::cast::Context;
use scaledb_types::func::{common_type, resolve_operator};
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{
    self, BinaryOperator, CeilFloorKind, DateTimeField, Expr as Ast, Spanned as _, UnaryOperator,
    Value as Literal,
};

impl Binder<'_> {
    /// Binds an expression; a literal whose type is open stays open.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn expr(&mut self, ast: &Ast) -> Result<Typed> {
        self.deeper(|binder| binder.bind(ast))
    }

    /// Binds an expression that is text if nothing else is known.
    pub(crate) fn expr_decided(&mut self, ast: &Ast) -> Result<Typed> {
        let typed = self.expr(ast)?;
        if typed.ty.base == Base::Unknown {
            self.coerce(typed, Type::TEXT, Context::Implicit)
        } else {
            Ok(typed)
        }
    }

    /// Binds a condition.
    ///
    /// # Errors
    /// 42804 if it is not boolean.
    pub(crate) fn condition(&mut self, ast: &Ast, clause: &'static str) -> Result<Expr> {
        let before = std::mem::replace(&mut self.scope().clause, clause);
        let typed = self.expr(ast);
        self.scope().clause = before;
        self.boolean(typed?, clause)
    }

    pub(super) fn boolean(&mut self, typed: Typed, clause: &str) -> Result<Expr> {
        if typed.ty.base == Base::Unknown {
            return Ok(self.coerce(typed, Type::BOOL, Context::Implicit)?.expr);
        }
        if !typed.ty.same(Type::BOOL) {
            let what = format!("argument of {clause} must be type boolean, not type {}", typed.ty.sql_name());
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        }
        Ok(typed.expr)
    }

    fn bind(&mut self, ast: &Ast) -> Result<Typed> {
        match ast {
            Ast::Identifier(ident) => self.identifier(ident),
            Ast::CompoundIdentifier(parts) => self.compound(parts),
            Ast::Value(value) => self.literal(&value.value),
            Ast::Nested(inner) => self.bind_nested(inner),
            Ast::TypedString(typed) => {
                let ty = data_type(&typed.data_type)?;
                let text = literal_text(&typed.value.value).ok_or_else(|| unsupported("this literal"))?;
                self.coerce(Typed::constant(Value::text(text), Type::UNKNOWN), ty, Context::Explicit)
            }
            Ast::Interval(interval) => self.interval(interval),
            Ast::BinaryOp { left, op, right } => self.binary(left, op, right),
            Ast::UnaryOp { op, expr } => self.unary(op, expr),
            Ast::IsNull(inner) => self.test(Test::Null, inner),
            Ast::IsNotNull(inner) => self.test(Test::NotNull, inner),
            Ast::IsTrue(inner) => self.truth(Test::True, inner, "IS TRUE"),
            Ast::IsNotTrue(inner) => self.truth(Test::NotTrue, inner, "IS NOT TRUE"),
            Ast::IsFalse(inner) => self.truth(Test::False, inner, "IS FALSE"),
            Ast::IsNotFalse(inner) => self.truth(Test::NotFalse, inner, "IS NOT FALSE"),
            Ast::IsUnknown(inner) => self.truth(Test::Null, inner, "IS UNKNOWN"),
            Ast::IsNotUnknown(inner) => self.truth(Test::NotNull, inner, "IS NOT UNKNOWN"),
            Ast::IsDistinctFrom(left, right) => self.distinct_from(left, right, false),
            Ast::IsNotDistinctFrom(left, right) => self.distinct_from(left, right, true),
            Ast::Between { expr, negated, low, high } => {
                let value = self.expr(expr)?;
                let (low, symmetric) = match &**low {
                    Ast::Prefixed { prefix, value } if prefix.value == SYMMETRIC => (value, true),
                    _ => (low, false),
                };
                let low = self.expr(low)?;
                let high = self.expr(high)?;
                let mut within = |low: &Typed, high: &Typed| -> Result<Expr> {
                    let from = self.comparison(">=", value.clone(), low.clone())?;
                    let to = self.comparison("<=", value.clone(), high.clone())?;
                    Ok(Expr::and(vec![from.expr, to.expr]))
                };
                let mut both = within(&low, &high)?;
                if symmetric {
                    both = Expr::Or(vec![both, within(&high, &low)?]);
                }
                Ok(Typed::new(negate(both, *negated), Type::BOOL))
            }
            Ast::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            Ast::InSubquery { expr, subquery, negated } => {
                let any = self.any_subquery(expr, Compare::Eq, subquery)?;
                Ok(Typed::new(negate(any, *negated), Type::BOOL))
            }
            Ast::Exists { subquery, negated } => {
                let sub = self.subquery_expr(subquery, Ask::Exists)?;
                Ok(Typed::new(negate(sub.0, *negated), Type::BOOL))
            }
            Ast::Subquery(query) => {
                let (expr, types) = self.subquery_expr(query, Ask::Scalar)?;
                match types[..] {
                    [ty] => Ok(Typed::new(expr, ty)),
                    _ => Err(SqlError::new(SqlState::SYNTAX_ERROR, "subquery must return only one column")),
                }
            }
            Ast::AnyOp { left, compare_op, right, .. } => self.quantified(false, left, compare_op, right),
            Ast::AllOp { left, compare_op, right } => self.quantified(true, left, compare_op, right),
            Ast::Cast {
                expr, data_type: ty, kind: ast::CastKind::Cast | ast::CastKind::DoubleColon, ..
            } => {
                let ty = data_type(ty)?;
                if ty.array && is_empty_array(expr) {
                    return self.coerce(
                        Typed::constant(Value::text("{}"), Type::UNKNOWN),
                        ty,
                        Context::Explicit,
                    );
                }
                if ty == Type::TEXT
                    && let Some(row) = self.row_value(expr, RowForm::Record)?
                {
                    return Ok(Typed::new(row.expr, ty));
                }
                let typed = self.expr(expr)?;
                self.coerce(typed, ty, Context::Explicit)
            }
            Ast::Case { operand, conditions, else_result, .. } => self.sets_barred("CASE", |binder| {
                binder.case(operand.as_deref(), conditions, else_result.as_deref())
            }),
            Ast::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like("~~", *negated, expr, pattern, escape_char.as_ref())
            }
            Ast::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like("~~*", *negated, expr, pattern, escape_char.as_ref())
            }
            Ast::SimilarTo { negated, expr, pattern, escape_char } => {
                let mut args = vec![self.expr(pattern)?];
                if let Some(escape) = escape_char {
                    args.push(self.literal(&escape.value)?);
                }
                let regex = self.call_typed("similar_to_escape", args)?;
                let value = self.expr(expr)?;
                let matched = self.operator("~", Some(value), regex)?;
                Ok(Typed::new(negate(matched.expr, *negated), Type::BOOL))
            }
            Ast::Function(function) => self.function(function).map_err(|error| match error.code() {
                SqlState::UNDEFINED_FUNCTION | SqlState::AMBIGUOUS_FUNCTION => {
                    self.at(function.span(), error)
                }
                _ => error,
            }),
            Ast::Extract { field, expr, .. } => {
                let field = Typed::constant(Value::text(field.to_string().to_lowercase()), Type::TEXT);
                let value = self.expr(expr)?;
                self.call_typed("extract", vec![field, value])
            }
            Ast::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                let value = self.expr(expr)?;
                self.call_typed("ceil", vec![value])
            }
            Ast::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                let value = self.expr(expr)?;
                self.call_typed("floor", vec![value])
            }
            Ast::Position { expr, r#in } => {
                let (what, within) = (self.expr(expr)?, self.expr(r#in)?);
                self.call_typed("position", vec![within, what])
            }
            Ast::Substring { expr, substring_from, substring_for, .. } => {
                let mut args = vec![self.expr(expr)?];
                match (substring_from, substring_for) {
                    (Some(from), Some(count)) => {
                        args.push(self.expr(from)?);
                        args.push(self.expr(count)?);
                    }
                    (Some(from), None) => args.push(self.expr(from)?),
                    (None, Some(count)) => {
                        args.push(Typed::constant(Value::Int4(1), Type::INT4));
                        args.push(self.expr(count)?);
                    }
                    (None, None) => {}
                }
                self.call_typed("substring", args)
            }
            Ast::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let mut args = vec![self.expr(expr)?];
                for what in trim_characters.iter().flatten() {
                    args.push(self.expr(what)?);
                }
                if let Some(what) = trim_what {
                    args.push(self.expr(what)?);
                }
                self.call_typed(name, args)
            }
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut args = vec![self.expr(expr)?, self.expr(overlay_what)?, self.expr(overlay_from)?];
                if let Some(count) = overlay_for {
                    args.push(self.expr(count)?);
                }
                self.call_typed("overlay", args)
            }
            Ast::AtTimeZone { timestamp, time_zone } => {
                let (value, zone) = (self.expr(timestamp)?, self.expr(time_zone)?);
                self.call_typed("timezone", vec![zone, value])
            }
            // text compares by bytes whatever the collation
            Ast::Collate { expr, .. } => self.bind_nested(expr),
            Ast::Array(array) => self.array(&array.elem),
            Ast::CompoundFieldAccess { root, access_chain } => self.accesses(root, access_chain),
            Ast::Prefixed { value, .. } => self.bind_nested(value),
            Ast::Tuple(parts) if parts.len() == 1 => self.bind_nested(&parts[0]),
            Ast::Tuple(_) => Err(unsupported("a row value here")),
            other => Err(unsupported(format!("the expression {}", short(&other.to_string())))),
        }
    }

    fn bind_nested(&mut self, ast: &Ast) -> Result<Typed> {
        self.expr(ast)
    }

    pub(super) fn identifier(&mut self, ident: &ast::Ident) -> Result<Typed> {
        let name = fold(ident);
        match self.column(None, &name) {
            Err(error) if error.code() == SqlState::UNDEFINED_COLUMN && ident.quote_style.is_none() => {
                // words that are calls without parentheses
                let bare = matches!(
                    name.as_str(),
                    "current_user"
                        | "session_user"
                        | "user"
                        | "current_role"
                        | "current_catalog"
                        | "current_schema"
                        | "current_date"
                        | "current_time"
                        | "current_timestamp"
                        | "localtime"
                        | "localtimestamp"
                );
                if bare {
                    return self.call_typed(&name, Vec::new());
                }
                if self.names_table(&name) {
                    return Err(unsupported(format!("the whole row \"{name}\" here")));
                }
                Err(self.at(ident.span, error))
            }
            Err(error) => Err(self.at(ident.span, error)),
            found => found,
        }
    }

    pub(super) fn compound(&mut self, parts: &[ast::Ident]) -> Result<Typed> {
        let names: Vec<String> = parts.iter().map(fold).collect();
        let found = match &names[..] {
            [table, column] => self.column(Some((&None, table)), column),
            [schema, table, column] => self.column(Some((&Some(schema.clone()), table)), column),
            [_, schema, table, column] => self.column(Some((&Some(schema.clone()), table)), column),
            _ => Err(unsupported("this qualified name")),
        };
        found.map_err(|error| self.at(parts[0].span, error))
    }

    fn literal(&mut self, literal: &Literal) -> Result<Typed> {
        refuse_nul(literal)?;
        Ok(match literal {
            Literal::Null => Typed::constant(Value::Null, Type::UNKNOWN),
            Literal::Boolean(v) => Typed::constant(Value::Bool(*v), Type::BOOL),
            Literal::Number(text, _) => self.number(text)?,
            Literal::Placeholder(name) => self.placeholder(name)?,
            Literal::HexStringLiteral(_) | Literal::SingleQuotedByteStringLiteral(_) => {
                return Err(unsupported("a bit string"));
            }
            other => match literal_text(other) {
                Some(text) => Typed::constant(Value::text(text), Type::UNKNOWN),
                None => return Err(unsupported("this literal")),
            },
        })
    }

    /// An integer of the least type that holds it, or a numeric.
    pub(crate) fn number(&self, text: &str) -> Result<Typed> {
        if let Ok(v) = text.parse::<i32>() {
            return Ok(Typed::constant(Value::Int4(v), Type::INT4));
        }
        if let Ok(v) = text.parse::<i64>() {
            return Ok(Typed::constant(Value::Int8(v), Type::INT8));
        }
        Ok(Typed::constant(Value::parse(text, Type::NUMERIC, self.env)?, Type::NUMERIC))
    }

    /// The most parameters that the protocol can number.
    const MAX_PARAMS: usize = 65_535;

    fn placeholder(&mut self, name: &str) -> Result<Typed> {
        let number: Option<usize> = name.strip_prefix('$').and_then(|n| n.parse().ok());
        let number = number.filter(|n| (1..=Self::MAX_PARAMS).contains(n)).ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}"))
        })?;
        if self.params.len() < number {
            self.params.resize(number, None);
        }
        let ty = self.params[number - 1].unwrap_or(Type::UNKNOWN);
        Ok(Typed::new(Expr::Param(number - 1), ty))
    }

    fn interval(&mut self, interval: &ast::Interval) -> Result<Typed> {
        let mut name = "interval".to_owned();
        if let Some(field) = &interval.leading_field {
            name.push_str(&format!(" {field}").to_lowercase());
            if let Some(last) = &interval.last_field {
                name.push_str(&format!(" to {last}").to_lowercase());
            }
        }
        let precision = interval.fractional_seconds_precision.or(interval.leading_precision);
        if let Some(precision) = precision {
            name.push_str(&format!("({precision})"));
        }
        let ty = Type::parse(&name)?;
        let value = self.expr(&interval.value)?;
        self.coerce(value, ty, Context::Explicit)
    }

    fn test(&mut self, test: Test, inner: &Ast) -> Result<Typed> {
        if let Ast::Tuple(parts) = inner {
            let mut all = Vec::with_capacity(parts.len());
            for part in parts {
                all.push(Expr::Test(test, Box::new(self.expr_decided(part)?.expr)));
            }
            return Ok(Typed::new(Expr::And(all), Type::BOOL));
        }
        if let Some(fields) = self.row_fields(inner)? {
            let all = fields.into_iter().map(|(_, field)| Expr::Test(test, Box::new(field.expr))).collect();
            return Ok(Typed::new(Expr::And(all), Type::BOOL));
        }
        let inner = self.expr_decided(inner)?;
        Ok(Typed::new(Expr::Test(test, Box::new(inner.expr)), Type::BOOL))
    }

    fn truth(&mut self, test: Test, inner: &Ast, clause: &'static str) -> Result<Typed> {
        let typed = self.expr(inner)?;
        let inner = self.boolean(typed, clause)?;
        Ok(Typed::new(Expr::Test(test, Box::new(inner)), Type::BOOL))
    }

    fn distinct_from(&mut self, left: &Ast, right: &Ast, negated: bool) -> Result<Typed> {
        if let (Ast::Tuple(left), Ast::Tuple(right)) = (left, right) {
            if left.len() != right.len() {
                return Err(unequal_rows());
            }
            let pairs = left.iter().zip(right);
            let equal = pairs.map(|(left, right)| Ok(self.distinct_from(left, right, true)?.expr));
            let equal = Expr::And(equal.collect::<Result<_>>()?);
            return Ok(Typed::new(negate(equal, !negated), Type::BOOL));
        }
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let operands = self.operands("=", left, right, "IS DISTINCT FROM")?;
        Ok(Typed::new(Expr::Distinct(negated, Box::new(operands)), Type::BOOL))
    }

    fn binary(&mut self, left: &Ast, op: &BinaryOperator, right: &Ast) -> Result<Typed> {
        match op {
            BinaryOperator::And | BinaryOperator::Or => return self.chain(left, op, right),
            _ => {}
        }
        let name = operator_name(op)?;
        if let (Ast::Tuple(left), Ast::Tuple(right)) = (left, right) {
            return self.row_comparison(&name, left, right);
        }
        if let (Ast::Nested(inner), Ast::Tuple(_)) | (Ast::Tuple(_), Ast::Nested(inner)) = (left, right)
            && matches!(**inner, Ast::Tuple(_))
        {
            return Err(unsupported("a nested row value"));
        }
        let left = self.expr(left)?;
        let right = self.expr(right)?;
        self.operator(&name, Some(left), right)
    }

    /// A chain of AND or OR, however long, is one list.
    fn chain(&mut self, left: &Ast, op: &BinaryOperator, right: &Ast) -> Result<Typed> {
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
        let expr = if *op == BinaryOperator::And { Expr::and(list) } else { Expr::or(list) };
        Ok(Typed::new(expr, Type::BOOL))
    }

    fn unary(&mut self, op: &UnaryOperator, inner: &Ast) -> Result<Typed> {
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
    pub(crate) fn operator(&mut self, name: &str, left: Option<Typed>, right: Typed) -> Result<Typed> {
        match left {
            Some(left) if compare_of(name).is_some() => self.comparison(name, left, right),
            Some(left) => {
                let resolved = resolve_operator(name, Some(left.ty), right.ty)?;
                self.resolved(resolved, vec![left, right])
            }
            None => {
                let resolved = resolve_operator(name, None, right.ty)?;
                self.resolved(resolved, vec![right])
            }
        }
    }

    /// A comparison: of values of one type where the types allow it, so that indexes can serve it.
    pub(crate) fn comparison(&mut self, name: &str, left: Typed, right: Typed) -> Result<Typed> {
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
        let pair = [left.expr, right.expr];
        if Expr::is_null_for_all(&pair) {
            return Ok(Typed::constant(Value::Null, Type::BOOL));
        }
        let [left, right] = pair;
        Ok(Typed::new(Expr::Compare(op, Box::new((left, right))), Type::BOOL))
    }

    /// A call of a resolved function.
    pub(crate) fn resolved(
        &mut self,
        resolved: scaledb_types::func::Resolved,
        args: Vec<Typed>,
    ) -> Result<Typed> {
        let mut exprs = Vec::with_capacity(args.len());
        for (arg, &ty) in args.into_iter().zip(&resolved.args) {
            exprs.push(self.coerce(arg, ty, Context::Implicit)?.expr);
        }
        let result = resolved.result;
        if resolved.function.strict && Expr::is_null_for_all(&exprs) {
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
            if let Ok(value) = function.call(self.env, &values)
                && self.is_worth_keeping(&value, result, &values)
            {
                return Ok(Typed::constant(value, result));
            }
        }
        Ok(Typed::new(Expr::Call(Box::new((function, exprs))), result))
    }

    /// `(a, b) < (c, d)`.
    fn row_comparison(&mut self, name: &str, left: &[Ast], right: &[Ast]) -> Result<Typed> {
        if left.len() != right.len() {
            return Err(unequal_rows());
        }
        let op = compare_of(name).ok_or_else(|| unsupported("this operator of row values"))?;
        let mut pairs = Vec::new();
        for (left, right) in left.iter().zip(right) {
            pairs.push((self.expr(left)?, self.expr(right)?));
        }
        let all = |binder: &mut Self, pairs: Vec<(Typed, Typed)>| -> Result<Vec<Expr>> {
            pairs.into_iter().map(|(l, r)| binder.comparison("=", l, r).map(|t| t.expr)).collect()
        };
        let expr = match op {
            Compare::Eq => Expr::And(all(self, pairs)?),
            Compare::Ne => Expr::Not(Box::new(Expr::And(all(self, pairs)?))),
            _ => {
                // a < c or a = c and (b < d or ..)
                let strict = match op {
                    Compare::Lt | Compare::Le => "<",
                    _ => ">",
                };
                let mut expr: Option<Expr> = None;
                for (left, right) in pairs.into_iter().rev() {
                    let last = expr.is_none();
                    let first =
                        self.comparison(if last { name } else { strict }, left.clone(), right.clone())?;
                    expr = Some(match expr {
                        None => first.expr,
                        Some(rest) => {
                            let equal = self.comparison("=", left, right)?;
                            Expr::Or(vec![first.expr, Expr::And(vec![equal.expr, rest])])
                        }
                    });
                }
                expr.unwrap_or(Expr::Const(Value::Bool(true)))
            }
        };
        Ok(Typed::new(expr, Type::BOOL))
    }

    fn in_list(&mut self, expr: &Ast, list: &[Ast], negated: bool) -> Result<Typed> {
        if let Ast::Tuple(left) = expr {
            let mut any = Vec::with_capacity(list.len());
            for row in list {
                let Ast::Tuple(right) = row else { return Err(unsupported("a row value beside a scalar")) };
                any.push(self.row_comparison("=", left, right)?.expr);
            }
            return Ok(Typed::new(negate(Expr::Or(any), negated), Type::BOOL));
        }
        let value = self.expr(expr)?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            items.push(self.expr(item)?);
        }
        if items.len() == 1
            && let Some(item) = items.pop()
        {
            let equal = self.comparison("=", value, item)?.expr;
            return Ok(Typed::new(negate(equal, negated), Type::BOOL));
        }
        let mut types: Vec<Type> = vec![value.ty];
        types.extend(items.iter().map(|item| item.ty));
        let common = common_type(&types, "IN");
        // integers of several widths are compared as they are
        if let Ok(common) = common
            && resolve_operator("=", Some(common), common)
                .is_ok_and(|r| matches!(r.function.fast, scaledb_types::func::Fast::Comparison(_)))
        {
            let common = common.plain();
            let value = self.coerce(value, common, Context::Implicit)?.expr;
            let mut exprs = Vec::with_capacity(items.len());
            for item in items {
                exprs.push(self.coerce(item, common, Context::Implicit)?.expr);
            }
            return Ok(Typed::new(negate(Expr::In(Box::new(value), exprs), negated), Type::BOOL));
        }
        let mut any = Vec::with_capacity(items.len());
        for item in items {
            any.push(self.comparison("=", value.clone(), item)?.expr);
        }
        Ok(Typed::new(negate(Expr::Or(any), negated), Type::BOOL))
    }

    fn like(
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

    fn array(&mut self, elements: &[Ast]) -> Result<Typed> {
        let mut list = Vec::with_capacity(elements.len());
        for element in elements {
            list.push(self.expr(element)?);
        }
        if list.is_empty() {
            let what = "cannot determine type of empty array";
            return Err(SqlError::new(SqlState::INDETERMINATE_DATATYPE, what)
                .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let (exprs, element) = self.unify(list, "ARRAY")?;
        let element = element.plain();
        let ty = if element.array { Some(element) } else { element.to_array() };
        let ty = ty.ok_or_else(|| unsupported(format!("an array of {element}")))?;
        Ok(Typed::new(Expr::Array(element, exprs), ty))
    }
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
pub(crate) fn compare_of(name: &str) -> Option<Compare> {
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

/// Types of oids that print as names, but for `regtype`: types know their names.
pub(crate) fn is_named(ty: Type) -> bool {
    is_reg(ty) && ty.base != Base::Regtype
}

/// Whether it is `ARRAY[]`.
fn is_empty_array(ast: &Ast) -> bool {
    match ast {
        Ast::Array(array) => array.elem.is_empty(),
        Ast::Nested(inner) => is_empty_array(inner),
        _ => false,
    }
}

/// Types of names of things, which the catalog knows.
pub(super) fn is_reg(ty: Type) -> bool {
    !ty.array
        && matches!(
            ty.base,
            Base::Regclass | Base::Regtype | Base::Regproc | Base::Regnamespace | Base::Regrole
        )
}

fn negate(expr: Expr, negated: bool) -> Expr {
    if negated { Expr::Not(Box::new(expr)) } else { expr }
}

/// 42601 for rows of different lengths.
fn unequal_rows() -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions")
}

/// 42601 for `U&'\0000'`, which no text can hold.
fn refuse_nul(literal: &Literal) -> Result<()> {
    match literal {
        Literal::UnicodeStringLiteral(text) if text.contains('\0') => {
            Err(SqlError::new(SqlState::SYNTAX_ERROR, "invalid Unicode escape value"))
        }
        _ => Ok(()),
    }
}

/// The text of a literal that is one.
pub(crate) fn literal_text(literal: &Literal) -> Option<&str> {
    match literal {
        Literal::SingleQuotedString(text)
        | Literal::EscapedStringLiteral(text)
        | Literal::UnicodeStringLiteral(text)
        | Literal::NationalStringLiteral(text) => Some(text),
        Literal::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

/// The name of a schema-qualified function or type.
pub(crate) fn last_name(name: &ast::ObjectName) -> Result<String> {
    let (schema, name) = split(name)?;
    match schema.as_deref() {
        None | Some("pg_catalog" | "information_schema" | "public") => Ok(name),
        Some(schema) => {
            Err(SqlError::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist")))
        }
    }
}
