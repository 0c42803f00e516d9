//! Calls of functions: plain ones, aggregates, window functions, those of the session, those that return sets.

use super::expr::{is_named, last_name};
use super::names::fold;
use super::scope::Scope;
use super::tail::sort_key;
use super::{Binder, Typed, unsupported};
use crate::functions::{self, AggregateFn, ScalarFn, SessionFn, SetFn, of_session};
use crate::plan::SetCall;
use crate::plan::expr::{Ask, Expr};
use crate::plan::window::OwnFn;
use crate::plan::{Aggregate, SetItem, SortKey};
use scaledb_types::cast::{Context, find_cast};
use scaledb_types::func::{
    common_type, functions_named, named_parameters, resolve_function, resolve_operator,
};
use scaledb_types::{Base, Fields, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    self, DuplicateTreatment, Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, OrderByExpr,
};
use std::sync::Arc;

/// An argument that is an expression.
pub fn plain_arg(arg: &FunctionArg) -> Result<&Ast> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(ast)) => Ok(ast),
        FunctionArg::Unnamed(_) => Err(unsupported("* as this argument")),
        FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
            Err(unsupported("an argument with a name"))
        }
    }
}

/// What an aggregate's values are sorted by: within its arguments, or WITHIN GROUP.
#[derive(Clone, Copy)]
enum Order<'o> {
    Of(&'o [&'o OrderByExpr]),
    Within(&'o [OrderByExpr]),
}

#[cold]
fn without_within(name: &str) -> SqlError {
    let what = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
}

#[cold]
pub(super) fn over_ordered_set(name: &str) -> SqlError {
    SqlError::unsupported(format!("OVER is not supported for ordered-set aggregate {name}"))
}

/// The parts of a call of an aggregate.
struct Parts {
    function: AggregateFn,
    args: Vec<Expr>,
    direct: Vec<Expr>,
    order: Vec<SortKey>,
    filter: Option<Expr>,
}

impl Binder<'_> {
    /// A function call.
    pub(super) fn function(&mut self, function: &Function) -> Result<Typed> {
        if let Some(typed) = self.routine_function(function)? {
            return Ok(typed);
        }
        let name = last_name(&function.name)?;
        if name == "array"
            && let FunctionArguments::Subquery(query) = &function.args
        {
            let (expr, types) = self.subquery_expr(query, Ask::Array(Type::TEXT))?;
            let element = if types[0].base == Base::Unknown { Type::TEXT } else { types[0] };
            let ty = if element.array { Some(element) } else { element.to_array() };
            let ty = ty.ok_or_else(|| unsupported("an array of this type"))?;
            return Ok(Typed::new(expr, ty));
        }
        let empty = Vec::new();
        let (list, distinct, clauses) = match &function.args {
            FunctionArguments::None => (&empty, false, &[][..]),
            FunctionArguments::List(list) => {
                let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
                (&list.args, distinct, list.clauses.as_slice())
            }
            FunctionArguments::Subquery(_) => return Err(unsupported("a query as an argument")),
        };
        let star = matches!(list[..], [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        if name == "count" && list.is_empty() {
            let what = "count(*) must be used to call a parameterless aggregate function";
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        let within = &function.within_group;
        if !within.is_empty() && distinct {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "cannot use DISTINCT with WITHIN GROUP"));
        }
        if let (Some(_), false) = (&function.over, within.is_empty()) {
            return Err(over_ordered_set(&name));
        }
        let order_by = clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_)));
        let given = match () {
            () if star => Some("*"),
            () if distinct => Some("DISTINCT"),
            () if !within.is_empty() => Some("WITHIN GROUP"),
            () if order_by => Some("ORDER BY"),
            () if function.filter.is_some() => Some("FILTER"),
            () if function.over.is_some() => Some("OVER"),
            () => None,
        };
        let places = !within.is_empty() && functions::is_hypothetical(&name);
        if within.is_empty() && !list.is_empty() && functions::is_hypothetical(&name) {
            return Err(without_within(&name));
        }
        if let Some(given) = given.filter(|_| !functions::is_aggregate(&name) && !places)
            && (given != "OVER" || OwnFn::named(&name).is_none())
            && !(function.over.is_some() && OwnFn::named(&name).is_some())
        {
            return Err(self.no_aggregate(&name, list, given));
        }
        if let Some(over) = &function.over {
            if function.null_treatment.is_some() {
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"NULLS\""));
            }
            let refused = match (functions::is_aggregate(&name), distinct, clauses.is_empty()) {
                (_, true, _) => Some("DISTINCT is not implemented for window functions"),
                (_, _, false) => Some("aggregate ORDER BY is not implemented for window functions"),
                (false, ..) if function.filter.is_some() => {
                    Some("FILTER is not implemented for non-aggregate window functions")
                }
                _ => None,
            };
            if let Some(refused) = refused {
                return Err(SqlError::unsupported(refused));
            }
            let list = if star { &empty } else { list };
            return self.window(&name, list, function.filter.as_deref(), over);
        }
        if functions::is_aggregate(&name) || places {
            let mut order = Vec::new();
            for clause in clauses {
                match clause {
                    FunctionArgumentClause::OrderBy(list) => order.extend(list),
                    _ => return Err(unsupported("this clause of an aggregate")),
                }
            }
            if !within.is_empty() && !order.is_empty() {
                let what = "cannot use multiple ORDER BY clauses with WITHIN GROUP";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            let order = if within.is_empty() { Order::Of(&order) } else { Order::Within(within) };
            return self.aggregate(&name, list, star, distinct, order, function.filter.as_deref());
        }
        if name == "coalesce" {
            let args = self.sets_barred("COALESCE", |binder| binder.args(list))?;
            return self.call_typed(&name, args);
        }
        if let Some(typed) = self.variadic_call(&name, list)? {
            return Ok(typed);
        }
        // the row is in the form of the function's result
        if let Some(row) = self.row_args(&name, list)?.and_then(|mut args| args.pop()) {
            return Ok(row);
        }
        if let Some(typed) = self.clock(&name, list)? {
            return Ok(typed);
        }
        let args = if list.iter().any(|arg| matches!(arg, FunctionArg::Named { .. })) {
            if !is_known(&name) {
                return Err(self.no_such_call(&function.name, list)?);
            }
            self.named_args(&name, list)?
        } else {
            self.args(list)?
        };
        if name == "grouping" && function.name.0.len() == 1 {
            return self.grouping(args);
        }
        if functions::returns_set(&name) {
            return self.set_in_list(&name, args);
        }
        if let Some(own) = OwnFn::named(&name) {
            return Err(super::window::without_over(own));
        }
        let of_row = matches!(args[..], [Typed { ty: Type { base: Base::Record, .. }, .. }]);
        self.call_typed(&name, args).or_else(|error| match error.code() {
            SqlState::UNDEFINED_FUNCTION if of_row => self.field_called(&function.name, list).ok_or(error),
            _ => Err(error),
        })
    }

    /// What is wrong with a call that only aggregates may have the form of: there is no such function, or it is none.
    #[cold]
    fn no_aggregate(&mut self, name: &str, list: &[FunctionArg], given: &str) -> SqlError {
        let star = matches!(list, [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        let known = functions::returns_set(name) || OwnFn::named(name).is_some();
        let args = if star { Ok(Vec::new()) } else { self.args(list) };
        match args {
            Err(error) => return error,
            Ok(args) if !known => match self.call_typed(name, args) {
                Err(error) if error.code() == SqlState::UNDEFINED_FUNCTION => return error,
                _ => {}
            },
            Ok(_) => {}
        }
        SqlError::new(
            SqlState::WRONG_OBJECT_TYPE,
            match given {
                "*" => format!("{name}(*) specified, but {name} is not an aggregate function"),
                "OVER" => {
                    format!("OVER specified, but {name} is not a window function nor an aggregate function")
                }
                _ => format!("{given} specified, but {name} is not an aggregate function"),
            },
        )
    }

    /// A set-returning function in a select list.
    fn set_in_list(&mut self, name: &str, args: Vec<Typed>) -> Result<Typed> {
        self.admit_set()?;
        let (call, columns) = self.set_call(name, args)?;
        self.set_of_list(call, columns)
    }

    /// Whether a call of a set-returning function may stand here.
    ///
    /// # Errors
    /// 0A000.
    fn admit_set(&mut self) -> Result<()> {
        let scope = self.scope();
        if scope.grouping.as_ref().is_some_and(|grouping| grouping.inside) {
            let what = "aggregate function calls cannot contain set-returning function calls";
            return Err(SqlError::unsupported(what)
                .hint("You might be able to move the set-returning function into a LATERAL FROM item."));
        }
        if let Some(what) = scope.without_sets {
            return Err(SqlError::unsupported(match what {
                "OVER" => "window function calls cannot contain set-returning function calls".to_owned(),
                _ => format!("set-returning functions are not allowed in {what}"),
            })
            .hint("You might be able to move the set-returning function into a LATERAL FROM item."));
        }
        if scope.sets.is_none() {
            let clause = match scope.clause {
                "" => "this clause",
                "CHECK" => "check constraints",
                clause => clause,
            };
            return Err(SqlError::unsupported(format!(
                "set-returning functions are not allowed in {clause}"
            )));
        }
        Ok(())
    }

    /// A call of a set-returning function that somebody has written, in a select list.
    pub(super) fn set_in_select_list(
        &mut self,
        call: SetCall,
        columns: Vec<(String, Type)>,
    ) -> Result<Typed> {
        self.admit_set()?;
        self.set_of_list(call, columns)
    }

    fn set_of_list(&mut self, call: SetCall, columns: Vec<(String, Type)>) -> Result<Typed> {
        // the same call in ORDER BY or DISTINCT ON is the one of the select list
        if let [(_, ty)] = columns[..]
            && let Some(known) = self.scope().sets.iter().flatten().find(|known| known.call.same(&call))
        {
            return Ok(Typed::new(Expr::Slot(known.slots[0]), ty));
        }
        call.args().iter().for_each(|arg| self.mark(arg));
        let slots = self.new_slots(columns.len());
        slots.iter().for_each(|&slot| self.used[slot] = true);
        let (row, typed) = if let [(_, ty)] = columns[..] {
            (None, Typed::new(Expr::Slot(slots[0]), ty))
        } else {
            let row = self.slot();
            self.used[row] = true;
            let (names, types) = columns.iter().cloned().unzip();
            let record = (row, Arc::new(Fields { names, types }));
            let fields = columns.into_iter().zip(&slots).map(|((name, ty), &slot)| (name, slot, ty));
            self.composites.insert(row, fields.collect());
            (Some(record), Typed::new(Expr::Slot(row), Type::RECORD))
        };
        if let Some(sets) = &mut self.scope().sets {
            sets.push(SetItem { call, slots, row });
        }
        Ok(typed)
    }

    /// Binds what must not contain calls of set-returning functions.
    pub(super) fn sets_barred<R>(&mut self, what: &'static str, bind: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope().without_sets.replace(what);
        let bound = bind(self);
        self.scope().without_sets = before;
        bound
    }

    pub(super) fn args(&mut self, list: &[FunctionArg]) -> Result<Vec<Typed>> {
        let mut args = Vec::with_capacity(list.len());
        for arg in list {
            if !self.is_void(arg) {
                args.push(self.arg(arg)?);
            }
        }
        Ok(args)
    }

    /// Whether an argument is a parameter of type void: JDBC stands one for each result of a function that it calls,
    /// and they are no arguments.
    pub(super) fn is_void(&self, arg: &FunctionArg) -> bool {
        plain_arg(arg).is_ok_and(|ast| self.void_parameter(ast).is_some())
    }

    /// Which parameter an expression is, from 0, if it is one of type void.
    pub(super) fn void_parameter(&self, ast: &Ast) -> Option<usize> {
        let Ast::Value(ast::ValueWithSpan { value: ast::Value::Placeholder(name), .. }) = ast else {
            return None;
        };
        let number = name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)?;
        self.params.get(number)?.is_some_and(|ty| ty.base == Base::Void).then_some(number)
    }

    /// An argument without a name.
    pub(super) fn arg(&mut self, arg: &FunctionArg) -> Result<Typed> {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => {
                self.expr(&Ast::QualifiedWildcard(name.clone(), AttachedToken::empty()))
            }
            other => plain_arg(other).and_then(|ast| self.expr(ast)),
        }
    }

    /// `current_timestamp(3)` and the like: the number says how many digits of a second are kept. `None` if it is
    /// something else.
    fn clock(&mut self, name: &str, list: &[FunctionArg]) -> Result<Option<Typed>> {
        let ty = match name {
            "current_timestamp" => "timestamptz",
            "localtimestamp" => "timestamp",
            "localtime" => "time",
            "current_time" => "timetz",
            _ => return Ok(None),
        };
        let [arg] = list else { return Ok(None) };
        let Ast::Value(ast::ValueWithSpan { value: ast::Value::Number(digits, _), .. }) = plain_arg(arg)?
        else {
            return Ok(None);
        };
        let to = Type::parse(&format!("{ty}({digits})"))?;
        let now = self.call_typed(name, Vec::new())?;
        self.coerce(now, to, Context::Explicit).map(Some)
    }

    /// Arguments some of which have names, in the order of the function's parameters; what is not given is the default.
    fn named_args(&mut self, name: &str, list: &[FunctionArg]) -> Result<Vec<Typed>> {
        let syntax = |what: String| Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        let Some(parameters) = named_parameters(name) else {
            return Err(unsupported(format!("an argument with a name, in a call of {name},")));
        };
        let mut given: Vec<Option<Typed>> = parameters.iter().map(|_| None).collect();
        let mut types = Vec::new();
        let mut misplaced = false;
        let (mut named, mut placed) = (false, 0);
        for (at, arg) in list.iter().enumerate() {
            let (at, ast) = match arg {
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(ast), .. } => {
                    if !std::mem::replace(&mut named, true) {
                        placed = types.len();
                    }
                    let name = fold(name);
                    let at = parameters.iter().position(|(known, _)| *known == name);
                    // one that is given by its place as well is a parameter of no function
                    if at.is_some_and(|at| at >= placed && given[at].is_some()) {
                        return syntax(format!("argument name \"{name}\" used more than once"));
                    }
                    (at, ast)
                }
                _ if named => return syntax("positional argument cannot follow named argument".to_owned()),
                other => (Some(at).filter(|at| *at < parameters.len()), plain_arg(other)?),
            };
            let typed = self.expr(ast)?;
            types.push(typed.ty);
            match at.filter(|at| given[*at].is_none()) {
                Some(at) => given[at] = Some(typed),
                None => misplaced = true,
            }
        }
        let last = given.iter().rposition(Option::is_some).unwrap_or(0);
        let mut args = Vec::new();
        for (at, (typed, (_, default))) in given.into_iter().zip(parameters).enumerate() {
            args.push(match (typed, default) {
                (Some(typed), _) => typed,
                (None, Some((ty, text))) => Typed::constant(Value::parse(text, *ty, self.env)?, *ty),
                (None, None) => {
                    misplaced |= at < last;
                    break;
                }
            });
        }
        if misplaced { Err(no_function(name, &types)) } else { Ok(args) }
    }

    /// A call of a function that is not an aggregate.
    pub fn call_typed(&mut self, name: &str, mut args: Vec<Typed>) -> Result<Typed> {
        match name {
            "coalesce" | "greatest" | "least" if args.is_empty() => {
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at or near \")\""));
            }
            "coalesce" => {
                let (exprs, ty) = self.unify(args, "COALESCE")?;
                return Ok(Typed::new(Expr::Coalesce(exprs), ty));
            }
            "greatest" | "least" => {
                let (exprs, ty) = self.unify(args, if name == "greatest" { "GREATEST" } else { "LEAST" })?;
                return Ok(Typed::new(Expr::Extreme(name == "greatest", exprs), ty));
            }
            "nullif" if args.len() == 2 => {
                if let (Some(second), Some(first)) = (args.pop(), args.pop()) {
                    return self.nullif(first, second);
                }
                return Err(SqlError::internal("two arguments"));
            }
            _ => {}
        }
        /// Arguments of a function.
        const MAX_ARGS: usize = 100;
        if args.len() > MAX_ARGS {
            let what = format!("cannot pass more than {MAX_ARGS} arguments to a function");
            return Err(SqlError::new(SqlState::TOO_MANY_ARGUMENTS, what));
        }
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        if let Some((function, params)) = SessionFn::find(name, &types) {
            let mut exprs = Vec::with_capacity(args.len());
            for (arg, &param) in args.into_iter().zip(params) {
                // "any" takes what comes
                if param.base == Base::Unknown {
                    let ty = if arg.ty.base == Base::Unknown { Type::TEXT } else { arg.ty };
                    exprs.push(self.coerce(arg, ty, Context::Implicit)?.expr);
                    continue;
                }
                exprs.push(self.coerce_session(arg, param)?);
            }
            self.volatile += usize::from(!function.is_stable());
            return Ok(Typed::new(Expr::Session(Box::new((function.clone(), exprs))), function.result()));
        }
        if name.contains("json") || matches!(name, "concat" | "concat_ws" | "format" | "array_to_string") {
            args = self.printed(args)?;
        }
        if let ("pg_typeof", [Typed { expr: Expr::Const(_), ty, .. }]) = (name, &args[..])
            && ty.base == Base::Unknown
        {
            return Ok(Typed::constant(Value::Oid(Type::UNKNOWN.oid()), Type::REGTYPE));
        }
        if let Some(cast) = self.type_call(name, &args)? {
            return Ok(cast);
        }
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        match resolve_function(name, &types) {
            Ok(resolved) => self.resolved(resolved, args),
            Err(error) if error.code() == SqlState::UNDEFINED_FUNCTION => self.cast_called(name, args, error),
            Err(error) => Err(error),
        }
    }

    fn coerce_session(&mut self, arg: Typed, param: Type) -> Result<Expr> {
        if arg.ty.is_oid() && param.is_oid() {
            return Ok(arg.expr);
        }
        // text names a thing here without a cast
        if is_named(param) && arg.ty.is_text() && arg.ty.base != Base::Unknown {
            return Ok(self.session_cast(arg, param)?.expr);
        }
        Ok(self.coerce(arg, param, Context::Assignment)?.expr)
    }

    /// A cast that needs the catalog: between names of things and their oids.
    pub fn session_cast(&mut self, typed: Typed, to: Type) -> Result<Typed> {
        let from = typed.ty;
        let typed = if from.is_text() { self.coerce(typed, Type::TEXT, Context::Implicit)? } else { typed };
        let function = SessionFn::reg_cast(from, to);
        let result = Typed::new(Expr::Session(Box::new((function, vec![typed.expr]))), to.plain());
        if to.is_text() && to.plain() != to {
            return self.coerce(Typed::new(result.expr, Type::TEXT), to, Context::Explicit);
        }
        Ok(result)
    }

    fn aggregate(
        &mut self,
        name: &str,
        list: &[FunctionArg],
        star: bool,
        distinct: bool,
        order: Order<'_>,
        filter: Option<&Ast>,
    ) -> Result<Typed> {
        let nested = || SqlError::new(SqlState::GROUPING_ERROR, "aggregate function calls cannot be nested");
        if let Some(grouping) = &mut self.scope().grouping {
            if grouping.inside {
                return Err(nested());
            }
            grouping.inside = true;
        }
        self.named.push((self.scopes.len() - 1, None));
        let bound = self.aggregate_parts(name, list, star, distinct, order, filter);
        let named = self.named.pop().and_then(|(_, innermost)| innermost);
        if let Some(grouping) = &mut self.scope().grouping {
            grouping.inside = false;
        }
        let Parts { function, args, direct, order: keys, filter } = bound?;
        let ty = function.result();
        let parts = args.iter().chain(keys.iter().map(|key| &key.expr)).chain(&filter);
        // where it may stand is asked of the query that it belongs to: WHERE of a subquery in HAVING may have one
        let level = self.level_of(parts, named);
        let Scope { clause, grouping, .. } = &self.scopes[level];
        match grouping {
            Some(grouping) if grouping.inside => return Err(nested()),
            Some(_) if clause.is_empty() || *clause == "HAVING" => {}
            _ => {
                let clause = if clause.is_empty() { "this clause" } else { clause };
                let what = format!("aggregate functions are not allowed in {clause}");
                return Err(SqlError::new(SqlState::GROUPING_ERROR, what));
            }
        }
        let grouping = self.scopes[level].grouping.as_mut();
        let known = grouping.and_then(|grouping| {
            grouping.aggregates.iter().find(|known| {
                known.function == function
                    && known.distinct == distinct
                    && known.args.len() == args.len()
                    && known.args.iter().zip(&args).all(|(a, b)| a.same(b))
                    && known.filter.is_none()
                    && filter.is_none()
                    && known.order.is_empty()
                    && keys.is_empty()
            })
        });
        if let Some(slot) = known.map(|known| known.slot) {
            self.note_outer(level, slot);
            return Ok(Typed::new(Expr::Slot(slot), ty));
        }
        let slot = self.slot();
        self.note_outer(level, slot);
        if let Some(grouping) = &mut self.scopes[level].grouping {
            let aggregate = Aggregate { function, args, direct, distinct, filter, order: keys, slot };
            grouping.aggregates.push(aggregate);
        }
        Ok(Typed::new(Expr::Slot(slot), ty))
    }

    fn aggregate_parts(
        &mut self,
        name: &str,
        list: &[FunctionArg],
        star: bool,
        distinct: bool,
        order: Order<'_>,
        filter: Option<&Ast>,
    ) -> Result<Parts> {
        let row = if distinct { None } else { self.row_args(name, list)? };
        let mut args = match row {
            Some(row) => row,
            None if star => Vec::new(),
            None => self.args(list)?,
        };
        if name.contains("json") {
            args = self.printed(args)?;
        }
        let order = match order {
            Order::Of(order) => order,
            Order::Within(within) => {
                for item in within {
                    args.push(self.expr(&item.expr)?);
                }
                return self.ordered_set_parts(name, args, within, filter);
            }
        };
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        let (function, params) = AggregateFn::resolve(name, &types)?;
        let mut exprs = Vec::with_capacity(args.len());
        // as they are written: a cast that changes nothing makes another expression of an argument nevertheless
        let written = args.clone();
        for (arg, param) in args.into_iter().zip(params) {
            exprs.push(self.coerce(arg, param, Context::Implicit)?.expr);
        }
        let mut keys = Vec::new();
        for item in order {
            let Typed { expr: key, ty, .. } = self.expr_decided(&item.expr)?;
            let same = |(arg, cast): (&Typed, &Expr)| match arg.ty.base {
                Base::Unknown => arg.expr.same(&key) || cast.same(&key),
                _ => arg.expr.same(&key) && arg.ty == ty,
            };
            if distinct && !written.iter().zip(&exprs).any(same) {
                let what = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, what));
            }
            keys.push(sort_key(key, item));
        }
        let filter = filter.map(|filter| self.condition(filter, "FILTER")).transpose()?;
        if function.is_ordered_set() {
            return Err(without_within(name));
        }
        Ok(Parts { function, args: exprs, direct: Vec::new(), order: keys, filter })
    }

    /// An aggregate with WITHIN GROUP, whose `args` are the direct ones and what the values are sorted by.
    fn ordered_set_parts(
        &mut self,
        name: &str,
        args: Vec<Typed>,
        within: &[OrderByExpr],
        filter: Option<&Ast>,
    ) -> Result<Parts> {
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        let (function, params) = match self.places_of(name, &types, within.len())? {
            Some(found) => found,
            None => AggregateFn::resolve(name, &types)?,
        };
        if !function.is_ordered_set() {
            let what = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        let mut exprs = Vec::with_capacity(args.len());
        for (arg, param) in args.into_iter().zip(params) {
            exprs.push(self.coerce(arg, param, Context::Implicit)?.expr);
        }
        let values = exprs.split_off(exprs.len().saturating_sub(within.len()));
        let order = values.into_iter().zip(within).map(|(expr, item)| sort_key(expr, item)).collect();
        let filter = filter.map(|filter| self.condition(filter, "FILTER")).transpose()?;
        Ok(Parts { function, args: Vec::new(), direct: exprs, order, filter })
    }

    /// The aggregate of a name that is asked where a row would stand, with as many values in front of WITHIN GROUP as
    /// there are behind it; and the types that values and keys become together.
    ///
    /// # Errors
    /// 42883 for another number of values, 42804 for types that are not compared.
    fn places_of(&self, name: &str, types: &[Type], keys: usize) -> Result<Option<(AggregateFn, Vec<Type>)>> {
        if !functions::is_hypothetical(name) {
            return Ok(None);
        }
        let values = types.len() - keys;
        if values != keys {
            let error = AggregateFn::missing(name, types);
            return Err(error.hint(format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {values}) must match the number of ordering columns (here {keys})."
            )));
        }
        let pair = |(value, key): (&Type, &Type)| common_type(&[*value, *key], "WITHIN GROUP");
        let params = types[..keys].iter().zip(&types[keys..]).map(pair).collect::<Result<Vec<_>>>()?;
        let params: Vec<Type> = params.iter().chain(&params).copied().collect();
        Ok(AggregateFn::hypothetical(name, &params).map(|function| (function, params)))
    }

    /// A function whose rows are the elements of the array that another one makes of a text.
    fn split(
        &mut self,
        name: &'static str,
        array: &str,
        args: Vec<Typed>,
    ) -> Result<(SetCall, Vec<(String, Type)>)> {
        let parts = self.call_typed(array, args)?;
        Ok((SetCall::new(SetFn::Split(name), vec![parts.expr]), vec![(String::new(), Type::TEXT)]))
    }

    /// Arguments of a function that takes these types.
    pub(super) fn args_as(&mut self, name: &str, args: Vec<Typed>, params: &[Type]) -> Result<Vec<Expr>> {
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        let fits = |ty: Type, to: Type| {
            ty.base == Base::Unknown || ty == to || find_cast(ty, to, Context::Implicit).is_some()
        };
        if !types.iter().zip(params).all(|(&ty, &to)| fits(ty, to)) {
            return Err(no_function(name, &types));
        }
        let each = args.into_iter().zip(params);
        each.map(|(arg, &to)| Ok(self.coerce(arg, to, Context::Implicit)?.expr)).collect()
    }

    /// A function in FROM: the call, and the names and types of its columns. An empty name is the function's.
    pub(super) fn set_call(
        &mut self,
        name: &str,
        args: Vec<Typed>,
    ) -> Result<(SetCall, Vec<(String, Type)>)> {
        let own = String::new;
        match (name, args.len()) {
            ("generate_series", 2 | 3) => {
                let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
                if types.iter().all(|ty| ty.base == Base::Unknown) {
                    return Err(not_unique(name, &types));
                }
                let params = series_params(&types).ok_or_else(|| no_function(name, &types))?;
                let ty = params[0];
                let mut exprs = Vec::new();
                for (arg, param) in args.into_iter().zip(params) {
                    let castable = arg.ty == param || find_cast(arg.ty, param, Context::Implicit).is_some();
                    if arg.ty.base != Base::Unknown && !castable {
                        return Err(no_function(name, &types));
                    }
                    exprs.push(self.coerce(arg, param, Context::Implicit)?.expr);
                }
                let step =
                    if matches!(ty.base, Base::Timestamp | Base::Timestamptz) { Type::INTERVAL } else { ty };
                let add = ScalarFn::new(resolve_operator("+", Some(ty), step)?);
                Ok((SetCall::new(SetFn::Series(add, ty), exprs), vec![(own(), ty)]))
            }
            ("unnest", 1..) => {
                let mut exprs = Vec::new();
                let mut columns = Vec::new();
                for arg in args {
                    if arg.ty.base == Base::Unknown && !arg.ty.array {
                        return Err(not_unique(name, &[arg.ty]));
                    }
                    let element = arg.ty.element().ok_or_else(|| {
                        let what = format!("function unnest({}) does not exist", arg.ty.sql_name());
                        SqlError::new(SqlState::UNDEFINED_FUNCTION, what)
                    })?;
                    exprs.push(arg.expr);
                    columns.push((own(), element.of_result()));
                }
                Ok((SetCall::new(SetFn::Unnest, exprs), columns))
            }
            ("string_to_table", 2 | 3) => self.split("string_to_table", "string_to_array", args),
            ("regexp_split_to_table", 2 | 3) => {
                self.split("regexp_split_to_table", "regexp_split_to_array", args)
            }
            ("regexp_matches", 2 | 3) => {
                let exprs = self.args_as(name, args, &[Type::TEXT; 3])?;
                let columns = vec![(own(), Type::array_of(Base::Text))];
                Ok((SetCall::new(SetFn::Matches, exprs), columns))
            }
            (_, 1) if let Some((function, ty, columns)) = SetFn::of_json(name) => {
                let exprs = self.args_as(name, args, &[ty])?;
                let columns = columns.iter().map(|&(name, ty)| (name.to_owned(), ty)).collect();
                Ok((SetCall::new(function, exprs), columns))
            }
            (_, 2..=4) if let Some(function) = SetFn::of_path(name) => {
                let params = [Type::JSONB, Type::JSONPATH, Type::JSONB, Type::BOOL];
                let exprs = self.args_as(name, args, &params)?;
                Ok((SetCall::new(function, exprs), vec![(own(), Type::JSONB)]))
            }
            ("generate_subscripts", 2 | 3) => {
                let mut exprs = Vec::new();
                for (arg, to) in args.into_iter().zip([None, Some(Type::INT4), Some(Type::BOOL)]) {
                    exprs.push(match to {
                        Some(to) => self.coerce(arg, to, Context::Implicit)?.expr,
                        None => arg.expr,
                    });
                }
                Ok((SetCall::new(SetFn::Subscripts, exprs), vec![(own(), Type::INT4)]))
            }
            ("pg_listening_channels", 0) => self.split("pg_listening_channels", name, args),
            ("_pg_expandarray", 1) => {
                let Some(arg) = args.into_iter().next() else {
                    return Err(SqlError::internal("an argument"));
                };
                let Some(element) = arg.ty.element() else {
                    let what = format!("function _pg_expandarray({}) does not exist", arg.ty.sql_name());
                    return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, what));
                };
                let columns = vec![("x".to_owned(), element), ("n".to_owned(), Type::INT4)];
                Ok((SetCall::new(SetFn::Expand, vec![arg.expr]), columns))
            }
            ("pg_options_to_table", 1) => {
                let exprs = self.args_as(name, args, &[Type::array_of(Base::Text)])?;
                let columns = ["option_name", "option_value"];
                let columns = columns.map(|name| (name.to_owned(), Type::TEXT)).to_vec();
                Ok((SetCall::new(SetFn::Options, exprs), columns))
            }
            (_, count)
                if let Some((name, params, by, columns)) =
                    of_session(name).filter(|(_, params, ..)| params.len() == count) =>
            {
                let given = self.args_as(name, args, params)?;
                let Some((function, _)) = SessionFn::find(by, params) else {
                    return Err(SqlError::internal("a function of the session"));
                };
                let exprs = vec![Expr::Session(Box::new((function, given)))];
                let named = columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect();
                Ok((SetCall::new(SetFn::Texts(name, columns), exprs), named))
            }
            ("pg_get_keywords", 0) => {
                let columns = [
                    ("word", Type::TEXT),
                    ("catcode", Type::CHAR),
                    ("barelabel", Type::BOOL),
                    ("catdesc", Type::TEXT),
                    ("baredesc", Type::TEXT),
                ];
                let columns = columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect();
                Ok((SetCall::new(SetFn::Keywords, Vec::new()), columns))
            }
            _ => {
                // a function that returns one row
                let typed = self.call_typed(name, args)?;
                let ty = if typed.ty.base == Base::Unknown { Type::TEXT } else { typed.ty };
                Ok((SetCall::new(SetFn::One, vec![typed.expr]), vec![(own(), ty)]))
            }
        }
    }
}

/// What the arguments of `generate_series` are cast to: two integers or numbers, and their distance; or two points in
/// time, whose distance has to be there. `None` for others.
fn series_params(types: &[Type]) -> Option<[Type; 3]> {
    if types.iter().any(|ty| ty.array) {
        return None;
    }
    let time =
        types[..2].iter().find(|ty| matches!(ty.base, Base::Date | Base::Timestamp | Base::Timestamptz));
    if let Some(time) = time {
        let ty = if time.base == Base::Timestamp { Type::TIMESTAMP } else { Type::TIMESTAMPTZ };
        return (types.len() == 3).then_some([ty, ty, Type::INTERVAL]);
    }
    let ty = match scaledb_types::func::common_type(types, "generate_series").ok()?.base {
        Base::Int2 | Base::Int4 | Base::Unknown | Base::Text => Type::INT4,
        Base::Int8 => Type::INT8,
        Base::Numeric => Type::NUMERIC,
        _ => return None,
    };
    Some([ty, ty, ty])
}

/// 42725.
fn not_unique(name: &str, types: &[Type]) -> SqlError {
    let types: Vec<String> = types.iter().map(|ty| ty.sql_name().to_string()).collect();
    let what = format!("function {name}({}) is not unique", types.join(", "));
    SqlError::new(SqlState::AMBIGUOUS_FUNCTION, what)
        .hint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

/// Whether the system has a function of a name.
fn is_known(name: &str) -> bool {
    named_parameters(name).is_some()
        || !functions_named(name).is_empty()
        || functions::returns_set(name)
        || functions::is_aggregate(name)
        || functions::SessionFn::is_named(name)
        || OwnFn::named(name).is_some()
}

/// 42883.
fn no_function(name: &str, types: &[Type]) -> SqlError {
    let types: Vec<String> = types.iter().map(|ty| ty.sql_name().to_string()).collect();
    let what = format!("function {name}({}) does not exist", types.join(", "));
    SqlError::new(SqlState::UNDEFINED_FUNCTION, what).hint(
        "No function matches the given name and argument types. You might need to add explicit type casts.",
    )
}
