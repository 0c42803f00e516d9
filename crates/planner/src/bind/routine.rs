//! Calls of functions and procedures that somebody has written.

use super::names::{Naming, fold, own_schema, split};
use super::variadic::{begins_with_text, spread, takes_any};
use super::{Binder, Typed, unsupported};
use crate::functions::{ScalarFn, SessionFn, SetFn, is_aggregate, returns_set};
use crate::plan::SetCall;
use crate::plan::expr::Expr;
use crate::plan::routine::{Fields, fields_of, has_columns, result_columns, value_type};
use crate::plan::window::OwnFn;
use scaledb_catalog::{
    Instance, Language, PUBLIC, ParameterMode, Returned, RoutineDesc, RoutineKind, of_row_type,
};
use scaledb_types::cast::{Context, find_cast};
use scaledb_types::func::{Param, Resolved, functions_named};
use scaledb_types::polymorphic::{Inferred, Polymorphic};
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{
    Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, TableAlias,
    TableAliasColumnDef,
};
use std::ops::Range;
use std::sync::Arc;

/// Arguments as they were given: the first ones by their places, the others by names.
struct Given {
    placed: Vec<Typed>,
    named: Vec<(String, Typed)>,
    /// Whether the last one is an array for a VARIADIC parameter.
    spread: bool,
}

/// How a routine takes arguments.
struct Match {
    desc: Arc<RoutineDesc>,
    /// For each of its parameters that take arguments, the argument's number; none for a default.
    order: Vec<Option<usize>>,
    /// The arguments that are left for a VARIADIC parameter, which is the last one.
    rest: Option<Range<usize>>,
    /// What its polymorphic parameters take, if it has some.
    open: Option<Vec<(Polymorphic, Type)>>,
    /// How many arguments have the very type of their parameters.
    exact: usize,
    /// How many arguments without a type become text.
    texts: usize,
    /// Where its schema stands in the path.
    place: usize,
    /// The types that the arguments get, in their order.
    types: Vec<u32>,
}

impl Binder<'_> {
    /// The routines that a name may mean, with the places of their schemas in the path.
    fn routines(&self, schema: Option<&str>, name: &str) -> Vec<(usize, Arc<RoutineDesc>)> {
        let all = self.catalog.routines_named(name);
        let path = self.lookup.search_path();
        let found = all.filter_map(|desc| {
            let place = match (schema, &self.naming) {
                (Some(schema), _) => (own_schema(path, schema)? == desc.schema).then_some(0),
                (None, Naming::Statement) => path.iter().position(|known| *known == desc.schema),
                (None, Naming::Kept) => (desc.schema == PUBLIC).then_some(0),
                // views find what they found when they were made
                (None, Naming::View(view)) => view.uses.contains(&desc.oid).then_some(0),
            };
            place.map(|place| (place, desc.clone()))
        });
        found.collect()
    }

    /// Whether a name may be that of a routine.
    pub(super) fn names_routine(&self, name: &ObjectName) -> bool {
        let mut known = self.catalog.routines().peekable();
        if known.peek().is_none() {
            return false;
        }
        split(name).is_ok_and(|(schema, name)| !self.routines(schema.as_deref(), &name).is_empty())
    }

    /// The call of a routine; `None` if no routine of the name takes such arguments. One that takes them only if
    /// they become others is passed by if `exact`, for a function of the system may take them as they are.
    ///
    /// # Errors
    /// 42725 if several routines take them, and 42809 for a procedure.
    pub(super) fn routine_call(
        &mut self,
        name: &ObjectName,
        list: &[FunctionArg],
        kind: RoutineKind,
        exact: bool,
    ) -> Result<Option<(Arc<RoutineDesc>, Vec<Expr>)>> {
        let (schema, name) = split(name)?;
        let found = self.routines(schema.as_deref(), &name);
        if found.is_empty() {
            return Ok(None);
        }
        let given = self.given_args(list)?;
        let types = || given.placed.iter().map(|arg| arg.ty).chain(given.named.iter().map(|(_, arg)| arg.ty));
        let count = types().count();
        let mut matches: Vec<Match> =
            found.into_iter().filter_map(|(place, desc)| self.matches(place, desc, &given)).collect();
        if exact {
            // the system's schema comes first in every path
            let of_system: Vec<Type> = types().collect();
            let is_of_system = has_function(&name, &of_system);
            // one of the system's that takes anything takes hardly an argument as it is
            let first = of_system.first().filter(|_| begins_with_text(&name));
            let own = (
                usize::from(first.is_some_and(|ty| ty.same(Type::TEXT))),
                usize::from(first.is_some_and(|ty| ty.base == Base::Unknown)),
            );
            let fits = |found: &Match| match takes_any(&name) {
                true => (found.exact, found.texts) > own,
                false => found.exact == count && !is_of_system,
            };
            matches.retain(fits);
        }
        let best = matches.iter().map(|found| found.exact).max();
        matches.retain(|found| Some(found.exact) == best);
        let first = matches.iter().map(|found| found.place).min();
        matches.retain(|found| Some(found.place) == first);
        // one that has a parameter for each argument is meant rather than one that takes any number of them
        let spreads = |found: &&Match| found.rest.is_some();
        if matches.len() > 1 && matches.iter().any(|found| !spreads(&found)) {
            let alike =
                |found: &Match| matches.iter().any(|other| !spreads(&other) && other.types == found.types);
            let keep: Vec<bool> = matches.iter().map(|found| found.rest.is_none() || !alike(found)).collect();
            let mut keep = keep.into_iter();
            matches.retain(|_| keep.next().unwrap_or(true));
        }
        // one that needs no defaults is meant rather than one that does, unless they take the arguments alike
        let alike = |found: &Match| matches.iter().filter(|other| other.types == found.types).count() > 1;
        let whole = |found: &&Match| found.order.iter().all(Option::is_some);
        let mut whole = matches.iter().filter(whole).peekable();
        if matches.len() > 1 && whole.peek().is_some() && !whole.any(alike) {
            matches.retain(|found| found.order.iter().all(Option::is_some));
        }
        let texts = matches.iter().map(|found| found.texts).max();
        matches.retain(|found| Some(found.texts) == texts);
        let shown = || {
            let types: Vec<String> = types().map(|ty| ty.sql_name()).collect();
            format!("{name}({})", types.join(", "))
        };
        if matches.len() > 1 {
            let what = format!("{} {} is not unique", kind.word(), shown());
            let hint = format!(
                "Could not choose a best candidate {}. You might need to add explicit type casts.",
                kind.word()
            );
            return Err(SqlError::new(SqlState::AMBIGUOUS_FUNCTION, what).hint(hint));
        }
        let Some(Match { desc, order, rest, open, .. }) = matches.pop() else { return Ok(None) };
        if desc.kind != kind {
            let what = match kind {
                RoutineKind::Function => format!("{} is a procedure", shown()),
                RoutineKind::Procedure => format!("{} is not a procedure", shown()),
            };
            let hint = match kind {
                RoutineKind::Function => "To call a procedure, use CALL.",
                RoutineKind::Procedure => "To call a function, use SELECT.",
            };
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what).hint(hint));
        }
        if desc.returns == Returned::Trigger {
            let what = "trigger functions can only be called as triggers";
            return Err(SqlError::unsupported(what));
        }
        self.relations.push(desc.oid);
        self.calls_routine(&desc.schema, desc.oid);
        let args: Vec<Typed> =
            given.placed.into_iter().chain(given.named.into_iter().map(|(_, arg)| arg)).collect();
        let desc = match open {
            Some(open) => self.instance_of(&desc, open, &order)?,
            None => desc,
        };
        let mut exprs = Vec::with_capacity(order.len());
        for (parameter, from) in desc.named().zip(order) {
            // an argument for a parameter that is returned only says which variable gets it
            if !parameter.mode.is_given() && kind == RoutineKind::Procedure {
                exprs.push(from.map_or(Expr::Const(Value::Null), |at| args[at].expr.clone()));
                continue;
            }
            let to = self.type_of_parameter(parameter.type_oid)?;
            if let (ParameterMode::Variadic, Some(rest)) = (parameter.mode, &rest) {
                let element = to.element().unwrap_or(to);
                let mut list = Vec::with_capacity(rest.len());
                for arg in &args[rest.clone()] {
                    list.push(self.coerce(arg.clone(), element, Context::Implicit)?.expr);
                }
                exprs.push(Expr::Array(element.plain(), list));
                continue;
            }
            let arg = match from {
                Some(at) => self.coerce(args[at].clone(), to, Context::Implicit)?,
                None => {
                    let default = self.default_of(parameter.default.as_deref().unwrap_or("NULL"))?;
                    self.coerce(default, to, Context::Assignment)?
                }
            };
            exprs.push(arg.expr);
        }
        self.volatile += usize::from(desc.volatility == scaledb_catalog::Volatility::Volatile);
        Ok(Some((desc, exprs)))
    }

    /// 42883 for a call with arguments that have names.
    pub(super) fn no_such_call(&mut self, name: &ObjectName, list: &[FunctionArg]) -> Result<SqlError> {
        let given = self.given_args(list)?;
        let placed = given.placed.iter().map(|arg| arg.ty.sql_name());
        let named = given.named.iter().map(|(name, arg)| format!("{name} => {}", arg.ty.sql_name()));
        let (schema, name) = split(name)?;
        let types: Vec<String> = placed.chain(named).collect();
        let what = format!(
            "function {}({}) does not exist",
            super::names::shown(schema.as_deref(), &name),
            types.join(", ")
        );
        Ok(SqlError::new(SqlState::UNDEFINED_FUNCTION, what).hint(
            "No function matches the given name and argument types. You might need to add explicit type casts.",
        ))
    }

    fn type_of_parameter(&mut self, oid: u32) -> Result<Type> {
        if let Some(table) = of_row_type(oid) {
            self.relations.push(table);
            return Ok(Type::RECORD);
        }
        let ty = self.catalog.type_of_oid(oid).ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist"))
        })?;
        self.depend_on(ty);
        Ok(ty)
    }

    /// The default of a parameter, which was kept as text.
    fn default_of(&mut self, text: &str) -> Result<Typed> {
        let ast = scaledb_parse::expression(text)?;
        self.apart(Naming::Kept, |binder| binder.expr(&ast))
    }

    fn given_args(&mut self, list: &[FunctionArg]) -> Result<Given> {
        let mut given = Given { placed: Vec::new(), named: Vec::new(), spread: false };
        for arg in list {
            if let Some(array) = spread(arg) {
                let typed = self.expr(array)?;
                given.placed.push(typed);
                given.spread = true;
                continue;
            }
            match arg {
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(ast), .. } => {
                    let name = fold(name);
                    if given.named.iter().any(|(known, _)| *known == name) {
                        let what = format!("argument name \"{name}\" used more than once");
                        return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
                    }
                    let typed = self.expr(ast)?;
                    given.named.push((name, typed));
                }
                _ if !given.named.is_empty() => {
                    let what = "positional argument cannot follow named argument";
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
                }
                other => {
                    if !self.is_void(other) {
                        let typed = self.arg(other)?;
                        given.placed.push(typed);
                    }
                }
            }
        }
        Ok(given)
    }

    /// How a routine takes the arguments, if it does.
    fn matches(&self, place: usize, desc: Arc<RoutineDesc>, given: &Given) -> Option<Match> {
        let parameters: Vec<_> = desc.named().collect();
        let mut order = vec![None; parameters.len()];
        let types: Vec<Type> =
            given.placed.iter().chain(given.named.iter().map(|(_, arg)| arg)).map(|arg| arg.ty).collect();
        let last = parameters.len().checked_sub(1);
        let takes_rest = last.filter(|at| parameters[*at].mode == ParameterMode::Variadic);
        if given.spread && takes_rest != given.placed.len().checked_sub(1) {
            return None;
        }
        // without VARIADIC in the call, what is left makes an array
        let rest = match takes_rest {
            Some(at) if !given.spread && given.placed.len() > at => Some(at..given.placed.len()),
            _ => None,
        };
        for at in 0..rest.as_ref().map_or(given.placed.len(), |rest| rest.start) {
            *order.get_mut(at)? = Some(at);
        }
        for (number, (name, _)) in given.named.iter().enumerate() {
            let at = parameters.iter().position(|parameter| parameter.name == *name)?;
            // the arguments of one that takes any number of them have no name
            if order[at].is_some() || takes_rest == Some(at) {
                return None;
            }
            order[at] = Some(given.placed.len() + number);
        }
        let (mut exact, mut texts) = (0, 0);
        let mut open = Vec::new();
        let mut wanted: Vec<u32> = vec![0; types.len()];
        for (at, (parameter, from)) in parameters.iter().zip(&order).enumerate() {
            if let Some(table) = of_row_type(parameter.type_oid) {
                let number = (*from)?;
                let args = given.placed.iter().chain(given.named.iter().map(|(_, arg)| arg));
                if !args.skip(number).take(1).any(|arg| self.is_row_of(arg, table)) {
                    return None;
                }
                wanted[number] = parameter.type_oid;
                exact += 1;
                continue;
            }
            let to = self.catalog.type_of_oid(parameter.type_oid)?;
            let polymorphic = Polymorphic::of_type(to);
            let (to, polymorphic, numbers) = match (from, &rest) {
                (Some(from), _) => (to, polymorphic, *from..*from + 1),
                (None, Some(rest)) if takes_rest == Some(at) => {
                    (to.element().unwrap_or(to), polymorphic.and_then(Polymorphic::element), rest.clone())
                }
                (None, _) => {
                    parameter.default.as_ref()?;
                    continue;
                }
            };
            for number in numbers {
                let from = types[number];
                wanted[number] = polymorphic.map_or(to, |ty| Type::of(Base::Polymorphic(ty))).oid();
                if let Some(polymorphic) = polymorphic {
                    open.push((polymorphic, from));
                    continue;
                }
                texts += usize::from(from.base == Base::Unknown && to.is_text());
                if from.same(to) && from.domain == to.domain {
                    exact += 1;
                } else if from.base == Base::Record
                    || from.base != Base::Unknown && find_cast(from, to, Context::Implicit).is_none()
                {
                    return None;
                }
            }
        }
        let open = match desc.parameters.iter().any(|parameter| is_polymorphic(parameter.type_oid)) {
            // no call takes such arguments
            true if Inferred::of_call(&open).is_none() => return None,
            true => Some(open),
            false => None,
        };
        Some(Match { desc, order, rest, open, exact, texts, place, types: wanted })
    }

    /// Whether an argument is a row of a table, or NULL.
    fn is_row_of(&self, arg: &Typed, table: u32) -> bool {
        if arg.ty.base == Base::Unknown {
            return matches!(arg.expr, Expr::Const(Value::Null));
        }
        let wanted = self.catalog.table(table).and_then(|table| fields_of(self.catalog, table).ok());
        let (Some(fields), Some(wanted)) = (self.fields_of(&arg.expr), wanted) else { return false };
        arg.ty.same(Type::RECORD)
            && fields.types.len() == wanted.len()
            && fields.types.iter().zip(&wanted).all(|(own, (_, ty))| own.same(*ty))
    }

    /// A polymorphic routine as a call has it that gives arguments in this order: they and the defaults of the other
    /// parameters say what its types are.
    ///
    /// # Errors
    /// 42804 if nothing says what its types are, or a default is none for what the arguments are.
    fn instance_of(
        &mut self,
        desc: &Arc<RoutineDesc>,
        mut open: Vec<(Polymorphic, Type)>,
        order: &[Option<usize>],
    ) -> Result<Arc<RoutineDesc>> {
        for (parameter, _) in desc.named().zip(order).filter(|(_, from)| from.is_none()) {
            let declared = self.catalog.type_of_oid(parameter.type_oid).and_then(Polymorphic::of_type);
            if let (Some(declared), Some(default)) = (declared, parameter.default.as_deref()) {
                open.push((declared, self.default_of(default)?.ty));
            }
        }
        let inferred = Inferred::of_call(&open).ok_or_else(|| {
            let declared = open.first().map_or("anyelement", |(declared, _)| declared.name());
            let what = format!("arguments declared \"{declared}\" are not all alike");
            SqlError::new(SqlState::DATATYPE_MISMATCH, what)
        })?;
        let mut made = (**desc).clone();
        let mut resolve = |oid: u32| -> Result<u32> {
            let ty = self.catalog.type_of_oid(oid).and_then(Polymorphic::of_type);
            let Some(ty) = ty else { return Ok(oid) };
            let resolved = inferred.resolve(ty)?;
            self.depend_on(resolved);
            Ok(resolved.oid())
        };
        for parameter in &mut made.parameters {
            parameter.type_oid = resolve(parameter.type_oid)?;
        }
        if let Returned::Value(oid) = &mut made.returns {
            *oid = resolve(*oid)?;
        }
        let types = made.parameters.iter().map(|parameter| parameter.type_oid).collect();
        made.instance = Some(Arc::new(Instance { types, columns: Vec::new() }));
        Ok(Arc::new(made))
    }

    /// The columns that a list of definitions in FROM gives a function that returns records.
    ///
    /// # Errors
    /// 42601 if there is none, or one for a function that says itself what it returns; 42701.
    fn defined_columns(
        &mut self,
        desc: Arc<RoutineDesc>,
        alias: Option<&TableAlias>,
        ordinality: bool,
    ) -> Result<Arc<RoutineDesc>> {
        let defined = |column: &TableAliasColumnDef| column.data_type.is_some();
        let list = alias.map(|alias| alias.columns.as_slice()).unwrap_or_default();
        let has_list = !list.is_empty() && list.iter().all(defined);
        let syntax = |what: &'static str| Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        if desc.returns != Returned::Record {
            return match list.iter().any(defined) {
                false => Ok(desc),
                true if has_columns(&desc) => {
                    syntax("a column definition list is redundant for a function with OUT parameters")
                }
                true => syntax("a column definition list is only allowed for functions returning \"record\""),
            };
        }
        if !has_list {
            return syntax("a column definition list is required for functions returning \"record\"");
        }
        if ordinality {
            return syntax("WITH ORDINALITY cannot be used with a column definition list");
        }
        let mut columns: Vec<(String, u32, i32)> = Vec::with_capacity(list.len());
        for definition in list {
            let Some(ast) = &definition.data_type else { continue };
            let (ty, name) = (self.data_type(ast)?, fold(&definition.name));
            if columns.iter().any(|(known, ..)| *known == name) {
                let what = format!("column name \"{name}\" specified more than once");
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
            }
            if matches!(ty.base, Base::Unknown | Base::Void | Base::Record | Base::Polymorphic(_)) {
                let what = format!("column \"{name}\" has pseudo-type {}", ty.sql_name());
                return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what));
            }
            columns.push((name, ty.oid(), ty.modifier()));
        }
        let mut made = (*desc).clone();
        let types = made.instance.as_ref().map(|instance| instance.types.clone()).unwrap_or_default();
        made.instance = Some(Arc::new(Instance { types, columns }));
        Ok(Arc::new(made))
    }

    /// A call of a function in an expression, if a routine takes the arguments. One of the system is meant first,
    /// unless the routine takes them as they are.
    ///
    /// # Errors
    /// As [`Binder::routine_call`]; 0A000 where rows are not expected.
    pub(super) fn routine_function(&mut self, function: &Function) -> Result<Option<Typed>> {
        let list = match &function.args {
            FunctionArguments::None => &[],
            FunctionArguments::List(list) => list.args.as_slice(),
            FunctionArguments::Subquery(_) => return Ok(None),
        };
        if !self.names_routine(&function.name) {
            // none of the system's functions is in a schema that somebody has made
            let (schema, _) = split(&function.name)?;
            return match schema {
                Some(schema) if self.catalog.schema_named(&schema).is_some() => {
                    Err(self.no_such_call(&function.name, list)?)
                }
                _ => Ok(None),
            };
        }
        let (schema, name) = split(&function.name)?;
        let exact = schema.is_none() && is_of_system(&name);
        let called = self.routine_call(&function.name, list, RoutineKind::Function, exact)?;
        let Some((desc, args)) = called else {
            let named = list.iter().any(|arg| matches!(arg, FunctionArg::Named { .. }));
            if !named || exact {
                return Ok(None);
            }
            return Err(self.no_such_call(&function.name, list)?);
        };
        let plain = function.over.is_none() && function.filter.is_none() && function.within_group.is_empty();
        let clauses = matches!(&function.args, FunctionArguments::List(list) if list.duplicate_treatment.is_some() || !list.clauses.is_empty());
        if !plain || clauses {
            let what = format!("{name} is not an aggregate function");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        self.calls |= desc.may_write();
        if desc.set || has_columns(&desc) {
            let columns = result_columns(self.catalog, &desc)?;
            let call = SetCall::new(SetFn::Routine(desc), args);
            return self.set_in_select_list(call, columns).map(Some);
        }
        let ty = value_type(self.catalog, &desc)?;
        self.depend_on(ty);
        if desc.language == Language::C {
            return native_call(&desc, args, ty).map(Some);
        }
        Ok(Some(Typed::new(Expr::Routine(Box::new((desc, args))), ty)))
    }

    /// A call of a function in FROM, if a routine takes the arguments: the call, and its columns. One without a name
    /// is called as the function. What returns records has the columns that the alias defines.
    ///
    /// # Errors
    /// As [`Binder::routine_call`]; 42601.
    pub(super) fn routine_rows(
        &mut self,
        name: &ObjectName,
        list: &[FunctionArg],
        (alias, ordinality): (Option<&TableAlias>, bool),
    ) -> Result<Option<(SetCall, Fields)>> {
        let found = self.routine_call(name, list, RoutineKind::Function, false)?;
        let Some((desc, args)) = found else { return Ok(None) };
        let desc = self.defined_columns(desc, alias, ordinality)?;
        self.calls |= desc.may_write();
        let mut columns = result_columns(self.catalog, &desc)?;
        if columns.is_empty() {
            // what returns nothing has a column all the same
            columns.push((String::new(), Type::VOID));
        }
        columns.iter().for_each(|(_, ty)| self.depend_on(*ty));
        if let Returned::Row(table) = desc.returns {
            self.relations.push(table);
        }
        if desc.language == Language::C {
            let ty = value_type(self.catalog, &desc)?;
            let call = native_call(&desc, args, ty)?;
            return Ok(Some((SetCall::new(SetFn::One, vec![call.expr]), columns)));
        }
        Ok(Some((SetCall::new(SetFn::Routine(desc), args), columns)))
    }

    /// The call of a procedure.
    ///
    /// # Errors
    /// 42883, and as a call in an expression.
    pub fn procedure(&mut self, ast: &Ast) -> Result<(Arc<RoutineDesc>, Vec<Expr>)> {
        let Ast::Function(function) = ast else { return Err(unsupported("CALL of what is no procedure")) };
        let list = match &function.args {
            FunctionArguments::List(list) => list.args.as_slice(),
            _ => &[],
        };
        // what JDBC calls void is an argument here: a procedure has one for each result, too
        for arg in list {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(ast))
            | FunctionArg::Named { arg: FunctionArgExpr::Expr(ast), .. } = arg
                && let Some(number) = self.void_parameter(ast)
            {
                self.params[number] = None;
            }
        }
        if let Some(found) = self.routine_call(&function.name, list, RoutineKind::Procedure, false)? {
            return Ok(found);
        }
        let given = self.given_args(list)?;
        let types: Vec<String> = given.placed.iter().map(|arg| arg.ty.sql_name()).collect();
        let (schema, name) = split(&function.name)?;
        let shown = super::names::shown(schema.as_deref(), &name);
        let of_system = schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
        // a call of a procedure has arguments for what is returned, too, so it may be a function's with OUT parameters
        let given_all = |desc: &Arc<RoutineDesc>| {
            let mut modes = desc.parameters.iter().map(|parameter| parameter.mode);
            desc.kind == RoutineKind::Function
                && desc.parameters.len() == types.len()
                && modes.any(|mode| mode == ParameterMode::Out)
        };
        let function = self.routines(schema.as_deref(), &name).into_iter().any(|(_, desc)| given_all(&desc));
        if function || of_system && given.named.is_empty() && self.call_typed(&name, given.placed).is_ok() {
            let what = format!("{shown}({}) is not a procedure", types.join(", "));
            return Err(
                SqlError::new(SqlState::WRONG_OBJECT_TYPE, what).hint("To call a function, use SELECT.")
            );
        }
        let what = format!("procedure {shown}({}) does not exist", types.join(", "));
        Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, what)
            .hint("No procedure matches the given name and argument types. You might need to add explicit type casts."))
    }
}

/// The call of a function whose code an extension has.
///
/// # Errors
/// 42883 for one that the extension does not have any more.
fn native_call(desc: &RoutineDesc, args: Vec<Expr>, ty: Type) -> Result<Typed> {
    let native = scaledb_extensions::native(&desc.body).ok_or_else(|| {
        let what = format!("could not find function \"{}\" in the extension of {}", desc.body, desc.name);
        SqlError::new(SqlState::UNDEFINED_FUNCTION, what)
    })?;
    let params = native.function.params.iter();
    let args_as = params.filter_map(|param| if let Param::Type(ty) = param { Some(*ty) } else { None });
    let resolved = Resolved { function: &native.function, args: args_as.collect(), result: ty };
    Ok(Typed::new(Expr::Call(Box::new((ScalarFn::new(resolved), args))), ty))
}

/// Whether a type is one that calls decide.
fn is_polymorphic(oid: u32) -> bool {
    Type::from_oid(oid).is_some_and(|ty| Polymorphic::of_type(ty).is_some())
}

/// Whether the system has a function of a name that takes arguments of these very types.
fn has_function(name: &str, types: &[Type]) -> bool {
    let same = |param: &Param, ty: &Type| matches!(param, Param::Type(own) if own.same(*ty));
    functions_named(name).iter().any(|function| {
        !function.variadic
            && function.params.len() == types.len()
            && function.params.iter().zip(types).all(|(param, ty)| same(param, ty))
    })
}

/// Whether the system has functions of a name.
fn is_of_system(name: &str) -> bool {
    let special = ["coalesce", "greatest", "least", "nullif", "grouping", "array"];
    special.contains(&name)
        || is_aggregate(name)
        || returns_set(name)
        || OwnFn::named(name).is_some()
        || SessionFn::is_named(name)
        || !functions_named(name).is_empty()
        || Type::by_typname(name).is_some()
}
