//! From the syntax trees of statements to plans.

use super::state::SessionState;
use crate::api::Column;
use crate::compiled::StatementKind;
use crate::compiled::{Action, Call, Compiled, Held};
use crate::routine::{Piece, Wanted, WrittenNames};
use crate::trace::Number;
use scaledb_catalog::{Catalog, RoutineKind, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::utility::Utility;
use scaledb_parse::{self as parse, utility};
use scaledb_planner::bind::expr::is_named;
use scaledb_planner::bind::variables::Variables;
use scaledb_planner::bind::with::Placed;
use scaledb_planner::bind::{Binder, Bound, Keys, Lookup, SystemTable, Typed};
use scaledb_planner::functions::SessionFn;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::point::PointKey;
use scaledb_planner::plan::routine::result_columns;
use scaledb_planner::plan::secured::Reader;
use scaledb_planner::plan::statistics::TableStatistics;
use scaledb_planner::plan::{BoundTable, Kind, Plan};
use scaledb_types::{Base, Context, Env, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{SetExpr, Statement as Ast};
use std::sync::Arc;

/// A statement that has a plan, with the types of its parameters and its columns, if it returns rows.
pub(super) struct Planned {
    pub(super) action: Action,
    pub(super) params: Vec<Type>,
    pub(super) columns: Option<Vec<Column>>,
}

/// What a statement is compiled with.
pub(super) struct Compiling<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) lookup: &'c dyn Lookup,
    pub(super) env: &'c Env,
    pub(super) text: &'c str,
    /// Types of its parameters, as far as they are known.
    pub(super) types: Vec<Option<Type>>,
    pub(super) variables: Option<&'c dyn Variables>,
}

impl<'c> Compiling<'c> {
    fn binder(&mut self) -> Binder<'c> {
        let types = std::mem::take(&mut self.types);
        let mut binder = Binder::new(self.catalog, self.lookup, self.env, types);
        binder.text = self.text;
        binder.variables = self.variables;
        binder
    }

    /// The statement with its plan; `None` if it has none, as it changes the catalog.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn statement(mut self, ast: &Ast) -> Result<Option<Planned>> {
        let types = self.types.clone();
        let mut binder = self.binder();
        if let Ast::Call(function) = ast {
            return self.call(binder, function).map(Some);
        }
        let Some((mut bound, mut kind)) = bound_of(&mut binder, ast)? else { return Ok(None) };
        if !binder.placed.found.is_empty() {
            let found = std::mem::take(&mut binder.placed.found);
            self.types = types;
            binder = self.binder();
            binder.placed = Placed::of(found);
            let Some(again) = bound_of(&mut binder, ast)? else { return Ok(None) };
            (bound, kind) = again;
        }
        for output in &mut bound.output {
            if output.ty.base == Base::Unknown {
                let typed = Typed::new(output.expr.clone(), output.ty);
                output.expr = binder.coerce(typed, Type::TEXT, Context::Implicit)?.expr;
                output.ty = Type::TEXT;
            }
        }
        // the variables of a routine keep what has a name as it is
        for output in bound.output.iter_mut().filter(|_| self.variables.is_none()) {
            // a record may have such fields
            if is_named(output.ty) || output.ty.base == Base::Record {
                let name = SessionFn::name_of(output.ty);
                binder.mark(&output.expr);
                let oid = std::mem::replace(&mut output.expr, Expr::Const(Value::Null));
                output.expr = Expr::Session(Box::new((name, vec![oid])));
            }
        }
        Ok(Some(planned(binder, bound, kind)))
    }

    /// CALL.
    fn call(&self, mut binder: Binder<'_>, function: &sqlparser::ast::Function) -> Result<Planned> {
        let ast = sqlparser::ast::Expr::Function(function.clone());
        let (desc, exprs) = binder.procedure(&ast)?;
        debug_assert_eq!(desc.kind, RoutineKind::Procedure);
        let columns =
            if desc.returned().next().is_some() { Some(result_columns(self.catalog, &desc)?) } else { None };
        let named: Vec<_> = desc.named().collect();
        let place = |parameter: &scaledb_catalog::ParameterDesc| {
            let at = named.iter().position(|named| std::ptr::eq(*named, parameter))?;
            match exprs.get(at) {
                Some(Expr::Param(number)) => Some(*number),
                _ => None,
            }
        };
        let places = desc.returned().map(place).collect();
        let types = columns.iter().flatten().map(|(_, ty)| *ty).collect();
        // what is returned only is not evaluated
        let given = exprs.into_iter().zip(&named).filter(|(_, parameter)| parameter.mode.is_given());
        let output = given.map(|(expr, _)| scaledb_planner::bind::Output {
            name: String::new(),
            expr,
            ty: Type::TEXT,
            origin: (0, 0),
        });
        let bound = Bound::new(scaledb_planner::plan::Node::Result, output.collect());
        let Planned { action, params, .. } = planned(binder, bound, Kind::Select);
        let args = Held::new(Arc::new(compiled(
            self.text,
            0,
            0,
            action,
            params.clone(),
            None,
            self.catalog.version,
        )));
        let columns = columns.map(|columns| {
            let each = columns.into_iter();
            each.map(|(name, ty)| {
                let name = if name.is_empty() { desc.name.clone() } else { name };
                Column { name, ty, table: 0, attnum: 0 }
            })
            .collect()
        });
        Ok(Planned { action: Action::Call(Box::new(Call { desc, args, types, places })), params, columns })
    }

    /// An expression, whose value becomes one of a type, if one is given.
    ///
    /// # Errors
    /// 42601 if it is not one value; 42804 if it does not become one of the type.
    fn value(mut self, ast: &Ast, to: Option<Type>) -> Result<Planned> {
        let mut binder = self.binder();
        let Ast::Query(query) = ast else { return Err(SqlError::internal("an expression that is no query")) };
        let mut bound = binder.query(query)?;
        let [output] = &mut bound.output[..] else {
            let what = format!("query returned {} columns", bound.output.len());
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        };
        let open = output.ty.base == Base::Unknown && !output.ty.array;
        if let Some(to) = to.or(open.then_some(Type::TEXT)) {
            let typed = Typed::new(output.expr.clone(), output.ty);
            binder.mark(&typed.expr);
            let assigned = match binder.coerce(typed.clone(), to, Context::Assignment) {
                // what has no cast goes by its text
                Err(error) if error.code() == SqlState::CANNOT_COERCE => {
                    let text = binder.coerce(typed, Type::TEXT, Context::Explicit)?;
                    binder.coerce(text, to, Context::Explicit)?
                }
                other => other?,
            };
            (output.expr, output.ty) = (assigned.expr, to);
        }
        Ok(planned(binder, bound, Kind::Select))
    }
}

/// A statement that has a plan.
fn bound_of(binder: &mut Binder<'_>, ast: &Ast) -> Result<Option<(Bound, Kind)>> {
    match ast {
        Ast::Query(query) => Ok(Some((binder.query(query)?, kind_of(&query.body)))),
        other => binder.dml(other),
    }
}

fn planned(binder: Binder<'_>, bound: Bound, kind: Kind) -> Planned {
    let columns: Vec<Column> = bound
        .output
        .iter()
        .map(|output| Column {
            name: output.name.clone(),
            ty: output.ty,
            table: output.origin.0,
            attnum: output.origin.1,
        })
        .collect();
    let rows = kind == Kind::Select || !columns.is_empty();
    let (plan, params): (Plan, _) = binder.finish(bound, kind, kind != Kind::Select);
    Planned { action: Action::Plan(plan), params, columns: rows.then_some(columns) }
}

/// A statement, compiled.
pub(super) fn compiled(
    text: &str,
    number: Number,
    serial: u64,
    action: Action,
    params: Vec<Type>,
    columns: Option<Vec<Column>>,
    version: u64,
) -> Compiled {
    Compiled {
        text: Arc::from(text),
        number,
        serial,
        kind: StatementKind::of(&action),
        point: match &action {
            Action::Plan(plan) => PointKey::of(&plan.root, &params),
            _ => None,
        },
        action,
        params,
        columns,
        explained: None,
        keyed: None,
        version,
    }
}

impl<E: Engine> SessionState<E> {
    /// Compiles a piece of SQL of a routine.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(in crate::session) fn compile_piece(&self, env: &Env, piece: &Piece<'_>) -> Result<Compiled> {
        let text = match piece.wanted {
            Wanted::Statement | Wanted::Cursor => piece.text.to_owned(),
            // `new.*` is a row, not a list
            Wanted::Value(_) if begins_with_row(piece.text) => format!("SELECT ({})", piece.text),
            Wanted::Value(_) => format!("SELECT {}", piece.text),
        };
        parse::refuse_empty_names(piece.text)?;
        let mut compiled = parse::with_stack(&text, || self.compile_piece_of(env, &text, piece));
        if piece.wanted == Wanted::Cursor
            && let Ok(compiled) = &mut compiled
        {
            compiled.keyed = self.compile_keyed(env, piece);
        }
        compiled.map_err(|mut error| {
            // the client's text is another one; and nobody has written the SELECT before an expression
            let own = text.len() - piece.text.len();
            if let Some(position) = error.fields_mut().position.take() {
                let position = position.saturating_sub(own as u32).max(1);
                error.fields_mut().internal.get_or_insert_with(|| (position, piece.text.to_owned()));
            }
            error
        })
    }

    /// The query of a cursor with the keys of its rows, if it is one of which WHERE CURRENT OF names rows.
    fn compile_keyed(&self, env: &Env, piece: &Piece<'_>) -> Option<(Held, u32)> {
        let path = piece.path.unwrap_or(&self.path);
        let (text, table) = parse::with_stack(piece.text, || self.text_with_key(piece.text, path))?;
        let compiled = parse::with_stack(&text, || self.compile_piece_of(env, &text, piece)).ok()?;
        Some((Held::new(Arc::new(compiled)), table))
    }

    fn compile_piece_of(&self, env: &Env, text: &str, piece: &Piece<'_>) -> Result<Compiled> {
        let finish = |action, params, columns| {
            let number = self.running.get();
            compiled(text, number, 0, action, params, columns, self.catalog.version)
        };
        if parse::lex::Lexer::new(text).next().is_none() {
            return Ok(finish(Action::Empty, Vec::new(), None));
        }
        if let Some(utility) = utility::parse(text) {
            let utility = utility?;
            let Utility::Explain { options, text } = &utility else {
                return Ok(finish(Action::Utility(utility), Vec::new(), None));
            };
            let explained = self.compile_piece_of(env, text, piece)?;
            let columns = vec![super::explain::column(*options)];
            let compiled = finish(Action::Utility(utility), Vec::new(), Some(columns));
            return Ok(Compiled { explained: Some(Held::new(Arc::new(explained))), ..compiled });
        }
        let ast = parse::statement(text)?;
        let written = piece.written.and_then(|names| Some((names, &**self.catalog.table(names.table)?)));
        let differs = piece.path.is_some() || written.is_some();
        let along = differs.then_some(Along { lookup: self, path: piece.path, written });
        let compiling = Compiling {
            catalog: &self.catalog,
            lookup: along.as_ref().map_or(self, |along| along),
            env,
            text,
            types: piece.types.clone(),
            variables: piece.names.map(|names| names as &dyn Variables),
        };
        let planned = match (piece.wanted, &ast) {
            (Wanted::Value(to), _) => compiling.value(&ast, to)?,
            (Wanted::Statement | Wanted::Cursor, Ast::Truncate(_)) => {
                return Ok(finish(Action::Truncate(Box::new(ast)), Vec::new(), None));
            }
            (Wanted::Statement | Wanted::Cursor, _) => match compiling.statement(&ast)? {
                Some(planned) => planned,
                None => return Ok(finish(Action::Ddl(Box::new(ast)), Vec::new(), None)),
            },
        };
        // variables are its parameters, and there are always enough of them
        let params = if piece.names.is_some() { Vec::new() } else { planned.params };
        Ok(finish(planned.action, params, planned.columns))
    }
}

/// Whether an expression begins with all columns of something: `new.* IS DISTINCT FROM old.*`.
fn begins_with_row(text: &str) -> bool {
    let text = text.trim_start();
    let name = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    name > 0 && text[name..].starts_with(".*")
}

/// A look-up along another search path.
struct Along<'a> {
    lookup: &'a dyn Lookup,
    path: Option<&'a [String]>,
    /// What a trigger calls the rows that a statement has written, and their table.
    written: Option<(&'a WrittenNames, &'a TableDesc)>,
}

impl Lookup for Along<'_> {
    fn table(&self, oid: u32) -> Result<Arc<BoundTable>> {
        self.lookup.table(oid)
    }

    fn unmade(&self, desc: &TableDesc) -> Result<BoundTable> {
        self.lookup.unmade(desc)
    }

    fn foreign_keys(&self, oid: u32) -> Result<Keys> {
        self.lookup.foreign_keys(oid)
    }

    fn statistics(&self, table: &BoundTable) -> Option<Arc<TableStatistics>> {
        self.lookup.statistics(table)
    }

    fn database(&self) -> Option<&str> {
        if self.path.is_some() { None } else { self.lookup.database() }
    }

    fn search_path(&self) -> &[String] {
        self.path.unwrap_or_else(|| self.lookup.search_path())
    }

    fn system_table(&self, schema: Option<&str>, name: &str) -> Option<SystemTable> {
        self.lookup.system_table(schema, name)
    }

    fn written(&self, name: &str) -> Option<(bool, &TableDesc)> {
        let (names, table) = self.written?;
        [(false, &names.old), (true, &names.new)]
            .into_iter()
            .find(|(_, own)| own.as_deref() == Some(name))
            .map(|(new, _)| (new, table))
    }

    fn absent(&self, name: &str) -> Option<String> {
        self.lookup.absent(name)
    }

    fn reader(&self) -> Reader {
        self.lookup.reader()
    }
}

/// What the tag of a query says: behind WITH may stand a statement that writes.
fn kind_of(body: &SetExpr) -> Kind {
    match body {
        SetExpr::Insert(_) => Kind::Insert,
        SetExpr::Update(_) => Kind::Update,
        SetExpr::Delete(_) => Kind::Delete,
        SetExpr::Merge(_) => Kind::Merge,
        _ => Kind::Select,
    }
}
