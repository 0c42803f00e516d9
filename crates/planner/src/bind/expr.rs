//! Expressions.

use super::literal::literal_text;
use super::names::{fold, split};
use super::{Binder, Typed, unsupported};
use crate::functions::RowForm;
use crate::plan::expr::{Ask, Compare, Expr, Test};
use scaledb_catalog::RoutineKind;
use scaledb_parse::collation;
use scaledb_types::cast::Context;
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{self, Expr as Ast, Spanned as _};

impl Binder<'_> {
    /// Binds an expression; a literal whose type is open stays open.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn expr(&mut self, ast: &Ast) -> Result<Typed> {
        self.deeper(|binder| binder.bind(ast))
    }

    /// Binds an expression that is text if nothing else is known.
    pub fn expr_decided(&mut self, ast: &Ast) -> Result<Typed> {
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
    pub fn condition(&mut self, ast: &Ast, clause: &'static str) -> Result<Expr> {
        let before = std::mem::replace(&mut self.scope().clause, clause);
        let typed = self.expr(ast);
        self.scope().clause = before;
        let mut condition = self.boolean(typed?, clause)?;
        // what others may be grouped by is looked at first
        if !matches!(clause, "HAVING" | "FILTER") {
            condition.simplify();
        }
        Ok(condition)
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
            Ast::Identifier(ident) => Ok(self.identifier(ident)?.from(ident.span)),
            Ast::CompoundIdentifier(parts) => Ok(self.compound(parts)?.from(parts[0].span)),
            Ast::Value(value) => match self.literal(&value.value) {
                Ok(typed) => Ok(typed.from(value.span)),
                Err(error) => Err(self.at(value.span, error)),
            },
            Ast::Nested(inner) => self.expr(inner),
            Ast::TypedString(typed) => {
                let ty = match typed.data_type {
                    // without a length these take all of a literal
                    ast::DataType::Bit(None) | ast::DataType::Char(None) | ast::DataType::Character(None) => {
                        self.data_type(&typed.data_type)?.plain()
                    }
                    _ => self.data_type(&typed.data_type)?,
                };
                let text = literal_text(&typed.value.value).ok_or_else(|| unsupported("this literal"))?;
                let text = Typed::constant(Value::text(text), Type::UNKNOWN).from(typed.value.span);
                self.coerce(text, ty, Context::Explicit)
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
            Ast::Between { expr, negated, low, high } => self.between(expr, *negated, low, high),
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
                let ty = self.data_type(ty)?;
                self.cast(expr, ty)
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
                self.similar_to(*negated, expr, pattern, escape_char.as_ref())
            }
            Ast::Function(function) => self.function(function).map_err(|error| match error.code() {
                SqlState::UNDEFINED_FUNCTION | SqlState::AMBIGUOUS_FUNCTION => {
                    self.at(function.span(), error)
                }
                _ => error,
            }),
            Ast::Extract { .. }
            | Ast::Ceil { .. }
            | Ast::Floor { .. }
            | Ast::Position { .. }
            | Ast::Substring { .. }
            | Ast::Trim { .. }
            | Ast::Overlay { .. }
            | Ast::AtTimeZone { .. } => self.special_call(ast),
            // text compares by bytes whatever the collation
            Ast::Collate { expr, .. } => {
                let typed = self.expr(expr)?;
                collation::check_type(typed.ty)?;
                Ok(typed)
            }
            Ast::Array(array) => self.array(&array.elem),
            Ast::CompoundFieldAccess { root, access_chain } => self.accesses(root, access_chain),
            Ast::Prefixed { value, .. } => self.expr(value),
            Ast::Tuple(parts) => self.row_constructor(parts),
            Ast::QualifiedWildcard(name, _) => match self.row_value(ast, RowForm::Record)? {
                Some(row) => Ok(row),
                None => self.only_column(name)?.ok_or_else(|| no_such_expression(ast)),
            },
            other => Err(no_such_expression(other)),
        }
    }

    /// `CAST (x AS t)`, `x::t`.
    fn cast(&mut self, expr: &Ast, ty: Type) -> Result<Typed> {
        // what a domain over arrays demands is asked of the whole array
        if ty.array && ty.as_domain().is_some() && !is_empty_array(expr) {
            let typed = self.cast(expr, ty.without_domain())?;
            return self.coerce(typed, ty, Context::Explicit);
        }
        if ty.array && is_empty_array(expr) {
            return self.coerce(Typed::constant(Value::text("{}"), Type::UNKNOWN), ty, Context::Explicit);
        }
        // each element is cast, so that they need not have a type in common
        if let (Ast::Array(array), Some(element)) = (expr, ty.element().filter(|_| ty.array))
            && !array.elem.iter().any(|element| matches!(element, Ast::Array(_)))
        {
            let list: Vec<Typed> = array.elem.iter().map(|ast| self.expr(ast)).collect::<Result<_>>()?;
            // of arrays an array of more dimensions is made
            if list.iter().any(|typed| typed.ty.array) {
                let typed = self.array_of(list)?;
                return self.coerce(typed, ty, Context::Explicit);
            }
            let mut exprs = Vec::with_capacity(list.len());
            for typed in list {
                exprs.push(self.coerce(typed, element, Context::Explicit)?.expr);
            }
            return Ok(Typed::new(Expr::Array(element.plain(), exprs), ty));
        }
        let typed = self.expr(expr)?;
        self.coerce(typed, ty, Context::Explicit)
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
                if let Some(column) = self.scalar_of(&name) {
                    return self.column(Some((&None, &name)), &column);
                }
                match self.row_value(&Ast::Identifier(ident.clone()), RowForm::Record)? {
                    Some(row) => Ok(row),
                    None => Err(self.at(ident.span, error)),
                }
            }
            Err(error) => Err(self.at(ident.span, error)),
            Ok(found) => {
                self.note_column(ident.span, &found.expr);
                Ok(found)
            }
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
        let found = match (found, parts) {
            (Err(error), [table, name]) if error.code() == SqlState::UNDEFINED_COLUMN => {
                return match self.function_of_row(table, name) {
                    Some(call) => call,
                    None => Err(self.at(table.span, error)),
                };
            }
            (found, _) => found.map_err(|error| self.at(parts[0].span, error))?,
        };
        if let Some(last) = parts.last() {
            self.note_column(last.span, &found.expr);
        }
        Ok(found)
    }

    /// `item.label` where `item` has no such column: the call `label(item)`, if somebody has written a function that
    /// takes the rows of `item`.
    fn function_of_row(&mut self, table: &ast::Ident, name: &ast::Ident) -> Option<Result<Typed>> {
        let name = ast::ObjectName::from(vec![name.clone()]);
        if !self.names_routine(&name) {
            return None;
        }
        let row = ast::FunctionArgExpr::Expr(Ast::Identifier(table.clone()));
        let list = [ast::FunctionArg::Unnamed(row)];
        self.routine_call(&name, &list, RoutineKind::Function, false).ok().flatten()?;
        let list =
            ast::FunctionArgumentList { duplicate_treatment: None, args: list.to_vec(), clauses: Vec::new() };
        Some(self.expr(&Ast::Function(ast::Function {
            name,
            uses_odbc_syntax: false,
            parameters: ast::FunctionArguments::None,
            args: ast::FunctionArguments::List(list),
            filter: None,
            null_treatment: None,
            over: None,
            within_group: Vec::new(),
        })))
    }

    fn array(&mut self, elements: &[Ast]) -> Result<Typed> {
        let mut list = Vec::with_capacity(elements.len());
        for element in elements {
            list.push(self.expr(element)?);
        }
        self.array_of(list)
    }

    pub(super) fn array_of(&mut self, list: Vec<Typed>) -> Result<Typed> {
        if list.is_empty() {
            let what = "cannot determine type of empty array";
            return Err(SqlError::new(SqlState::INDETERMINATE_DATATYPE, what)
                .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let (exprs, element) = self.unify(list, "ARRAY")?;
        let ty = if element.array { Some(element) } else { element.to_array() };
        let ty = ty.ok_or_else(|| unsupported(format!("an array of {element}")))?;
        let element = element.of_result();
        Ok(Typed::new(Expr::Array(element, exprs), ty))
    }
}

/// Types of oids that print as names, and arrays of them.
pub fn is_named(ty: Type) -> bool {
    is_reg(Type { array: false, ..ty })
}

/// Whether it is `ARRAY[]`, or made of nothing but such arrays.
fn is_empty_array(ast: &Ast) -> bool {
    match ast {
        Ast::Array(array) => array.elem.iter().all(is_empty_array),
        Ast::Nested(inner) => is_empty_array(inner),
        _ => false,
    }
}

/// Types of names of things, which the catalog knows.
pub(super) fn is_reg(ty: Type) -> bool {
    !ty.array
        && matches!(
            ty.base,
            Base::Regclass
                | Base::Regtype
                | Base::Regproc
                | Base::Regprocedure
                | Base::Regnamespace
                | Base::Regrole
        )
}

/// NOT, if it stands there.
pub(super) fn negate(expr: Expr, negated: bool) -> Expr {
    if negated { Expr::Not(Box::new(expr)) } else { expr }
}

/// 0A000 for an expression that is not there.
pub(super) fn no_such_expression(ast: &Ast) -> SqlError {
    let text: String = ast.to_string().chars().take(60).collect();
    unsupported(format!("the expression {text}"))
}

/// The name of a schema-qualified function or type.
pub fn last_name(name: &ast::ObjectName) -> Result<String> {
    let (schema, name) = split(name)?;
    match schema.as_deref() {
        None | Some("pg_catalog" | "information_schema" | "public") => Ok(name),
        Some(schema) => {
            Err(SqlError::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist")))
        }
    }
}
