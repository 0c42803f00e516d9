//! Which views can be written through: those that show rows of one table, or of one such view, as they are.

use super::Binder;
use super::clauses::is_distinct;
use super::names::{Naming, fold, split};
use super::scope::{Scope, ScopeColumn};
use crate::plan::expr::Expr;
use scaledb_catalog::{Relation, ViewDesc};
use scaledb_parse::marked;
use scaledb_types::{Result, SqlError, Type};
use sqlparser::ast::{Distinct, Expr as Ast, GroupByExpr, Query, Select, SelectItem, SetExpr, TableFactor};
use std::sync::Arc;

/// Why a view, or a column of one, cannot be written.
pub type Why = &'static str;

const NOT_OF_ONE: Why =
    "Views that do not select from a single table or view are not automatically updatable.";
const NO_COLUMNS: Why = "Views that have no updatable columns are not automatically updatable.";
const COMPUTED: Why = "View columns that are not columns of their base relation are not updatable.";
const OF_SYSTEM: Why = "View columns that refer to system columns are not updatable.";

/// A view that can be written through.
#[derive(Debug)]
pub struct Updatable {
    pub select: Box<Select>,
    /// What it reads.
    pub lower: Relation,
    /// For each of its columns: which column of what it reads that is, by its place.
    pub columns: Vec<std::result::Result<usize, Why>>,
}

impl Updatable {
    /// What its query reads, as it is written there.
    pub fn factor(&self) -> Result<&TableFactor> {
        let item = self.select.from.first();
        item.map(|item| &item.relation).ok_or_else(|| SqlError::internal("a view of no table"))
    }

    /// Why no rows can be inserted or updated, if none can be.
    pub fn without_columns(&self) -> Option<Why> {
        self.columns.iter().all(std::result::Result::is_err).then_some(NO_COLUMNS)
    }
}

/// The SELECT that a query is, unless it is of another shape.
fn only_select(query: &Query) -> std::result::Result<&Select, Why> {
    let (mut with, mut limited) = (false, false);
    let mut query = query;
    loop {
        with |= query.with.is_some();
        limited |= query.limit_clause.is_some() || query.fetch.is_some();
        match &*query.body {
            SetExpr::Query(inner) => query = inner,
            SetExpr::Select(select) => {
                let keys = !matches!(&select.group_by, GroupByExpr::Expressions(list, _) if list.is_empty());
                let distinct = is_distinct(select) || matches!(select.distinct, Some(Distinct::On(_)));
                return match () {
                    () if distinct => Err("Views containing DISTINCT are not automatically updatable."),
                    () if keys => Err("Views containing GROUP BY are not automatically updatable."),
                    () if select.having.is_some() => {
                        Err("Views containing HAVING are not automatically updatable.")
                    }
                    () if with => Err("Views containing WITH are not automatically updatable."),
                    () if limited => Err("Views containing LIMIT or OFFSET are not automatically updatable."),
                    () => Ok(select),
                };
            }
            SetExpr::SetOperation { .. } => {
                return Err("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
            }
            _ if with => return Err("Views containing WITH are not automatically updatable."),
            _ if limited => return Err("Views containing LIMIT or OFFSET are not automatically updatable."),
            _ => return Err(NOT_OF_ONE),
        }
    }
}

/// Whether an item of a select list may be a column as it is: no function and no operator is in it.
fn names_column(ast: &Ast) -> bool {
    match ast {
        Ast::Identifier(_) | Ast::CompoundIdentifier(_) => true,
        Ast::Nested(inner) | Ast::Cast { expr: inner, .. } => names_column(inner),
        _ => false,
    }
}

/// Whether an expression names a column that each table of PostgreSQL has.
fn names_system_column(ast: &Ast) -> bool {
    let last = match ast {
        Ast::Identifier(name) => Some(name),
        Ast::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    let system = ["tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"];
    last.is_some_and(|name| system.contains(&fold(name).as_str()))
}

impl<'b> Binder<'b> {
    /// How a view can be written through, or why not. A binder of its own reads its query, as the statement at hand
    /// does not.
    ///
    /// # Errors
    /// Those of the query, which was bound when the view was made.
    pub fn examine(&self, view: &Arc<ViewDesc>) -> Result<std::result::Result<Updatable, Why>> {
        let query = scaledb_parse::query(&view.query)?;
        let select = match only_select(&query) {
            Ok(select) => select,
            Err(why) => return Ok(Err(why)),
        };
        let mut own = Binder::new(self.catalog, self.lookup, self.env, Vec::new());
        own.depth = self.depth;
        own.known_columns.clone_from(&view.known);
        own.apart(Naming::View(view.clone()), |own| own.examine_select(view, select))
    }

    fn examine_select(
        &mut self,
        view: &Arc<ViewDesc>,
        select: &Select,
    ) -> Result<std::result::Result<Updatable, Why>> {
        self.scopes.push(Scope::default());
        let lower = match &select.from[..] {
            [item] if item.joins.is_empty() => match &item.relation {
                TableFactor::Table { name, args: None, sample: None, .. } => {
                    let (schema, name) = split(name)?;
                    self.find_relation(schema.as_deref(), &name)
                }
                _ => None,
            },
            _ => None,
        };
        let lower = lower.filter(|lower| match lower {
            Relation::Table(table) => !table.is_materialized(),
            Relation::View(_) => true,
            Relation::Sequence(_) => false,
        });
        let slots = match &lower {
            Some(lower) => self.describe(lower, &select.from[0].relation)?,
            None => {
                self.from(&select.from)?;
                Vec::new()
            }
        };
        self.begin_clauses(select)?;
        let mut columns = Vec::new();
        for item in &select.projection {
            let outputs = self.projection(std::slice::from_ref(item), true)?;
            let ast = match item {
                SelectItem::UnnamedExpr(ast) | SelectItem::ExprWithAlias { expr: ast, .. } => Some(ast),
                _ => None,
            };
            for output in outputs {
                let plain = ast.is_none_or(|ast| names_column(ast) && marked::all_fields(ast).is_none());
                let found = match output.expr {
                    Expr::Slot(own) if plain => {
                        slots.iter().position(|(slot, ty)| *slot == own && *ty == output.ty)
                    }
                    _ => None,
                };
                columns.push(match found {
                    Some(at) => Ok(at),
                    None if ast.is_some_and(names_system_column) => Err(OF_SYSTEM),
                    None => Err(COMPUTED),
                });
            }
        }
        columns.truncate(view.columns.len());
        let scope = self.scopes.pop().unwrap_or_default();
        let some = |list: Option<bool>| list.unwrap_or(false);
        if some(scope.grouping.map(|grouping| !grouping.aggregates.is_empty())) {
            return Ok(Err("Views that return aggregate functions are not automatically updatable."));
        }
        if some(scope.windows.map(|windows| !windows.is_empty())) {
            return Ok(Err("Views that return window functions are not automatically updatable."));
        }
        if some(scope.sets.map(|sets| !sets.is_empty())) {
            return Ok(Err("Views that return set-returning functions are not automatically updatable."));
        }
        let Some(lower) = lower else { return Ok(Err(NOT_OF_ONE)) };
        Ok(Ok(Updatable { select: Box::new(select.clone()), lower, columns }))
    }

    /// Puts a relation in scope with the columns that its descriptor has: their slots and types, in the order in which
    /// they are counted. Hidden ones have no slot that anything names.
    fn describe(&mut self, relation: &Relation, factor: &TableFactor) -> Result<Vec<(usize, Type)>> {
        let TableFactor::Table { alias, .. } = factor else {
            return Err(SqlError::internal("a view of no table"));
        };
        let (mut all, mut columns) = (Vec::new(), Vec::new());
        match relation {
            Relation::Table(table) => {
                for (desc, ty) in table.columns.iter().zip(crate::plan::column_types(self.catalog, table)?) {
                    let slot = self.slot();
                    all.push((slot, ty));
                    let origin = (table.oid, desc.attnum);
                    if !desc.hidden {
                        let name = desc.name.clone();
                        columns.push(ScopeColumn { name, ty, slot, origin, merged: false });
                    }
                }
            }
            Relation::View(view) => {
                for (name, oid, typmod) in &view.columns {
                    let ty = self.type_of_column(*oid, *typmod)?;
                    let slot = self.slot();
                    all.push((slot, ty));
                    let (name, origin) = (name.clone(), (0, 0));
                    columns.push(ScopeColumn { name, ty, slot, origin, merged: false });
                }
                if let Some(&(_, end)) = self.known_columns.iter().find(|(of, _)| *of == view.oid) {
                    columns.truncate(usize::from(end.unsigned_abs()).saturating_sub(1));
                }
            }
            Relation::Sequence(_) => {}
        }
        self.add_table(Some(relation.schema()), alias.as_ref(), relation.name(), columns)?;
        Ok(all)
    }

    /// The type of a column of a view.
    ///
    /// # Errors
    /// XX000 if there is none.
    pub(super) fn type_of_column(&self, oid: u32, typmod: i32) -> Result<Type> {
        let ty = self.catalog.type_of_oid(oid);
        ty.map(|ty| ty.with_typmod(typmod)).ok_or_else(|| SqlError::internal("a column of no type"))
    }
}
