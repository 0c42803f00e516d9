//! The name of a table where a column could stand: its whole row.
//!
//! A row is a record. Where JSON is made of it, or a field is read, no record is made in between.

use super::expr::is_named;
use super::names::fold;
use super::scope::{Scope, ScopeColumn, ScopeTable};
use super::{Binder, Typed, unsupported};
use crate::functions::{RowForm, ScalarFn};
use crate::plan::Slot;
use crate::plan::expr::{Expr, Test};
use scaledb_types::cast::Context;
use scaledb_types::{Base, Fields, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{self, Expr as Ast, FunctionArg, FunctionArgExpr, ObjectNamePart};
use std::sync::Arc;

/// The system column that there is.
const TABLEOID: &str = "tableoid";

/// The system columns of PostgreSQL's tables.
const SYSTEM_COLUMNS: &[&str] = &[TABLEOID, "ctid", "xmin", "xmax", "cmin", "cmax"];

/// Whether tables of a query have a system column of a name.
pub(super) fn has_system_column(scope: &Scope, table: Option<(&Option<String>, &str)>, name: &str) -> bool {
    SYSTEM_COLUMNS.contains(&name) && owners(scope, table).next().is_some()
}

/// The tables of a query that have system columns, or those of a name.
fn owners<'s>(
    scope: &'s Scope,
    table: Option<(&'s Option<String>, &'s str)>,
) -> impl Iterator<Item = &'s ScopeTable> {
    scope.tables.iter().filter(move |of| {
        let named = table
            .is_none_or(|(schema, wanted)| of.name == wanted && (schema.is_none() || of.schema == *schema));
        of.own && of.view.is_none() && named && !of.columns.is_empty()
    })
}

/// A row that a name means.
struct WholeRow {
    names: Vec<String>,
    fields: Vec<Typed>,
    /// The field that is NULL only where an outer join has left the whole row out; `None` if none does.
    key: Option<usize>,
    /// What its fields are called as a value, if that is something else than what they are called here.
    own_names: Option<Vec<String>>,
    /// What says whether the row is there at all, if it may not be.
    is_there: Option<Expr>,
}

impl Binder<'_> {
    /// The whole row that an expression means, in a form; `None` if it is something else.
    ///
    /// # Errors
    /// 0A000 for one that an outer join may leave out, if that cannot be seen.
    pub(super) fn row_value(&mut self, ast: &Ast, form: RowForm) -> Result<Option<Typed>> {
        let Some(mut row) = self.whole_row(ast, true)? else { return Ok(None) };
        if form != RowForm::Record {
            row.fields = self.printed(row.fields)?;
        }
        let types = row.fields.iter().map(|field| field.ty).collect();
        let fields = Fields { names: row.own_names.unwrap_or(row.names), types };
        let exprs = row.fields.into_iter().map(|field| field.expr).collect();
        let ty = match form {
            RowForm::Record => Type::RECORD,
            RowForm::Json | RowForm::JsonLines => Type::JSON,
            RowForm::Jsonb => Type::JSONB,
        };
        let function = ScalarFn::row(form, fields, row.key);
        let call = Expr::Call(Box::new((function, exprs)));
        let expr = match row.is_there {
            Some(is_there) => Expr::Case(vec![(is_there, call)], Box::new(Expr::Const(Value::Null))),
            None => call,
        };
        Ok(Some(Typed::new(expr, ty)))
    }

    /// The values as JSON and texts take them: names of things are texts, for which the catalog is needed.
    ///
    /// # Errors
    /// As [`Binder::session_cast`].
    pub(super) fn printed(&mut self, values: Vec<Typed>) -> Result<Vec<Typed>> {
        let as_text = |ty: Type| if ty.array { Type::array_of(Base::Text) } else { Type::TEXT };
        let each = values.into_iter();
        each.map(|v| if is_named(v.ty) { self.session_cast(v.clone(), as_text(v.ty)) } else { Ok(v) })
            .collect()
    }

    /// The arguments of a function or an aggregate that takes a row as one of them; `None` if there is none, or it does
    /// not take any.
    ///
    /// # Errors
    /// As [`Binder::row_value`].
    pub(super) fn row_args(&mut self, name: &str, list: &[FunctionArg]) -> Result<Option<Vec<Typed>>> {
        let literal = |arg: &FunctionArg| match super::function::plain_arg(arg) {
            Ok(Ast::Value(ast::ValueWithSpan { value: ast::Value::Boolean(v), .. })) => Some(*v),
            _ => None,
        };
        let (list, form) = match list {
            [row, lines] if name == "row_to_json" => match literal(lines) {
                Some(true) => (std::slice::from_ref(row), Some(RowForm::JsonLines)),
                Some(false) => (std::slice::from_ref(row), None),
                None => return Ok(None),
            },
            list => (list, None),
        };
        let form = match name {
            _ if let Some(form) = form => form,
            "count" | "array_agg" => RowForm::Record,
            "row_to_json" | "to_json" | "json_agg" => RowForm::Json,
            "to_jsonb" | "jsonb_agg" => RowForm::Jsonb,
            _ => return Ok(None),
        };
        let [arg] = list else { return Ok(None) };
        let all = match arg {
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => {
                Some(Ast::QualifiedWildcard(name.clone(), AttachedToken::empty()))
            }
            _ => None,
        };
        let ast = all.as_ref().map_or_else(|| super::function::plain_arg(arg), Ok);
        Ok(match ast {
            Ok(ast) => self.row_value(ast, form)?.map(|row| {
                // it has each row on a line of its own
                let ty = if name == "json_agg" { Type::RECORD } else { row.ty };
                vec![Typed::new(row.expr, ty)]
            }),
            Err(_) => None,
        })
    }

    /// The fields of the whole row that an expression means.
    ///
    /// # Errors
    /// As [`Binder::row_value`].
    pub(super) fn row_fields(&mut self, ast: &Ast) -> Result<Option<Vec<(String, Typed)>>> {
        let row = self.whole_row(ast, false)?;
        Ok(row.map(|row| row.names.into_iter().zip(row.fields).collect()))
    }

    /// The same, of a row that is there in any case.
    ///
    /// # Errors
    /// As [`Binder::row_value`].
    pub(super) fn fields_there(&mut self, ast: &Ast) -> Result<Option<Vec<Typed>>> {
        let row = self.whole_row(ast, true)?.filter(|row| row.key.is_none() && row.is_there.is_none());
        Ok(row.map(|row| row.fields))
    }

    /// Whether a name that no column has is that of a table.
    pub(super) fn names_table(&self, name: &str) -> bool {
        self.scopes.iter().rev().flat_map(|scope| &scope.tables).any(|table| table.name == name)
    }

    /// The column that the name of a function in FROM means.
    pub(super) fn scalar_of(&self, name: &str) -> Option<String> {
        let mut tables = self.scopes.iter().rev().flat_map(|scope| &scope.tables);
        let table = tables.find(|table| table.name == name).filter(|table| table.scalar)?;
        table.columns.first().map(|column| column.name.clone())
    }

    /// The column that `f.*` means where one value stands: a function that makes no rows of several has only this one.
    pub(super) fn only_column(&mut self, object: &ast::ObjectName) -> Result<Option<Typed>> {
        let (_, name) = super::names::split(object)?;
        let Some(column) = self.scalar_of(&name) else { return Ok(None) };
        self.column(Some((&None, &name)), &column).map(Some)
    }

    /// The row that an expression means; `as_value` if it counts whether it is there, and not its fields alone.
    fn whole_row(&mut self, ast: &Ast, as_value: bool) -> Result<Option<WholeRow>> {
        let ident = match ast {
            Ast::Nested(inner) => return self.whole_row(inner, as_value),
            Ast::Identifier(ident) => ident,
            Ast::QualifiedWildcard(name, _) => match &name.0[..] {
                [ObjectNamePart::Identifier(ident)] => ident,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let name = fold(ident);
        if !self.names_table(&name)
            && let Some(row) = self.visible_row(&name)?
        {
            let each = row.fields.into_iter().map(|(name, variable)| (name, variable.typed()));
            let (names, fields) = each.unzip();
            let is_there = row.is_there.map(|variable| variable.typed().expr);
            return Ok(Some(WholeRow { names, fields, key: None, own_names: None, is_there }));
        }
        if matches!(ast, Ast::QualifiedWildcard(..)) && !self.names_table(&name) {
            let what = format!("missing FROM-clause entry for table \"{name}\"");
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
        }
        let undefined = |error: &SqlError| error.code() == SqlState::UNDEFINED_COLUMN;
        let is_star = matches!(ast, Ast::QualifiedWildcard(..));
        let is_column = !is_star && !self.column(None, &name).as_ref().is_err_and(undefined);
        if !self.names_table(&name) || is_column {
            return Ok(None);
        }
        if self.scalar_of(&name).is_some() {
            return Ok(None);
        }
        let mut found = None;
        for (level, scope) in self.scopes.iter().enumerate().rev() {
            if let Some(table) = scope.tables.iter().find(|table| table.name == name) {
                let missing = table.columns.iter().any(|column| scope.missing.contains(&column.slot));
                let columns: Vec<_> = table.columns.iter().chain(&table.later).cloned().collect();
                found = Some((level, columns, table.row_names.clone(), missing));
                break;
            }
        }
        let Some((level, columns, own_names, missing)) = found else { return Ok(None) };
        let key = self.never_null(&columns);
        let is_there = match columns.first() {
            Some(first) if missing && key.is_none() && as_value => {
                let slot =
                    self.scopes[level].noted_rows(first.slot).or_else(|| self.note_row(level, first.slot));
                let slot = slot.ok_or_else(|| {
                    unsupported(format!(
                        "the whole row of \"{name}\", which an outer join may leave out and no column of which is NOT NULL,"
                    ))
                })?;
                Some(self.refer(level, Expr::Slot(slot), Type::BOOL, &name)?.expr)
            }
            _ => None,
        };
        let mut row = WholeRow {
            names: Vec::new(),
            fields: Vec::new(),
            key: key.filter(|_| missing),
            own_names,
            is_there,
        };
        for column in columns {
            row.fields.push(self.refer(level, Expr::Slot(column.slot), column.ty, &name)?);
            row.names.push(column.name);
        }
        Ok(Some(row))
    }

    /// The first column that is NULL only where its row is missing.
    fn never_null(&self, columns: &[ScopeColumn]) -> Option<usize> {
        columns.iter().position(|column| {
            let table = self.catalog.table(column.origin.0);
            let desc = table.and_then(|table| Some(&table.columns[table.position(column.origin.1)?]));
            desc.is_some_and(|desc| desc.not_null)
        })
    }

    /// What a name means that no column has, and that every table of PostgreSQL's has one of: `tableoid` is the oid of
    /// the table. `None` if it is another name, or there is no table for it.
    ///
    /// # Errors
    /// 0A000 for those that say where a row is stored, and who has written it; 42702.
    pub(super) fn system_column(
        &mut self,
        level: usize,
        table: Option<(&Option<String>, &str)>,
        name: &str,
    ) -> Result<Option<Typed>> {
        let (first, others) = {
            let mut own = owners(&self.scopes[level], table);
            (own.next().cloned(), own.next().is_some())
        };
        let Some(own) = first else { return Ok(None) };
        let oid = own.columns.first().map(|column| column.origin.0);
        let Some(oid) = oid.filter(|oid| self.catalog.table(*oid).is_some()) else { return Ok(None) };
        if others {
            let what = format!("column reference \"{name}\" is ambiguous");
            return Err(SqlError::new(SqlState::AMBIGUOUS_COLUMN, what));
        }
        if name != TABLEOID {
            let what = format!("rows have no system column \"{name}\"");
            return Err(SqlError::unsupported(what).hint(
                "A row is known by its primary key; what reads it again sees whether it has changed.",
            ));
        }
        let value = Expr::Const(Value::Oid(oid));
        let missing = own.columns.iter().any(|column| self.scopes[level].missing.contains(&column.slot));
        if !missing {
            return Ok(Some(Typed::new(value, Type::OID)));
        }
        let is_there = match self.never_null(&own.columns) {
            Some(key) => {
                let key = &own.columns[key];
                let key = self.refer(level, Expr::Slot(key.slot), key.ty, &own.name)?;
                Expr::Test(Test::NotNull, Box::new(key.expr))
            }
            None => {
                let first = own.columns[0].slot;
                let slot = self.scopes[level].noted_rows(first).or_else(|| self.note_row(level, first));
                let slot = slot.ok_or_else(|| {
                    unsupported(format!(
                        "tableoid of \"{}\", which an outer join may leave out and no column of which is NOT NULL,",
                        own.name
                    ))
                })?;
                self.refer(level, Expr::Slot(slot), Type::BOOL, &own.name)?.expr
            }
        };
        let expr = Expr::Case(vec![(is_there, value)], Box::new(Expr::Const(Value::Null)));
        Ok(Some(Typed::new(expr, Type::OID)))
    }

    /// A slot that is true where the row of a table is there which an outer join may leave out; `None` if the tables
    /// are planned already.
    fn note_row(&mut self, level: usize, column: Slot) -> Option<Slot> {
        self.scopes[level].rows_there.as_ref()?;
        let slot = self.slot();
        self.used[slot] = true;
        self.scopes[level].rows_there.as_mut()?.push((column, slot));
        Some(slot)
    }

    /// `ROW(a, b)`: its fields are `f1`, `f2`.
    ///
    /// # Errors
    /// Those of the fields; 54011 for too many.
    pub(super) fn row_constructor(&mut self, parts: &[Ast]) -> Result<Typed> {
        let mut parts = self.row_parts(parts)?;
        super::select_list::check_width(parts.len())?;
        for part in parts.iter_mut().filter(|part| part.ty.base == Base::Unknown && !part.ty.array) {
            *part = self.coerce(part.clone(), Type::TEXT, Context::Implicit)?;
        }
        let names = (1..=parts.len()).map(|number| format!("f{number}")).collect();
        let types = parts.iter().map(|part| part.ty).collect();
        let function = ScalarFn::row(RowForm::Record, Fields { names, types }, None);
        let exprs = parts.into_iter().map(|part| part.expr).collect();
        Ok(Typed::new(Expr::Call(Box::new((function, exprs))), Type::RECORD))
    }

    /// What fields a record has, as far as its expression says it.
    pub(super) fn fields_of(&self, expr: &Expr) -> Option<Arc<Fields>> {
        match expr {
            Expr::Slot(slot) => match self.composites.get(slot) {
                Some(row) => {
                    let names = row.iter().map(|(name, ..)| name.clone()).collect();
                    let types = row.iter().map(|(.., ty)| *ty).collect();
                    Some(Arc::new(Fields { names, types }))
                }
                None => self.records.get(slot).cloned(),
            },
            Expr::Call(call) => call.0.fields().cloned(),
            // a row of a table that an outer join may have left out is one of them
            Expr::Case(branches, other) => {
                self.fields_of_all(branches.iter().map(|(_, value)| value).chain([&**other]))
            }
            Expr::Coalesce(list) => self.fields_of_all(list.iter()),
            _ => None,
        }
    }

    /// The fields that several records have, one of which is the value; the names are those of the first one.
    fn fields_of_all<'e>(&self, values: impl Iterator<Item = &'e Expr>) -> Option<Arc<Fields>> {
        let mut known: Option<Arc<Fields>> = None;
        for value in values.filter(|value| !matches!(value, Expr::Const(Value::Null))) {
            let fields = self.fields_of(value)?;
            match &known {
                Some(known) if known.types != fields.types => return None,
                Some(_) => {}
                None => known = Some(fields),
            }
        }
        known
    }
}
