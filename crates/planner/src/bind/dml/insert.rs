//! INSERT: its columns, and the values that they get.

use super::target::Target;
use super::{element_to_default, is_default, is_generated};
use crate::bind::element::Element;
use crate::bind::names::{fold, split};
use crate::bind::scope::ScopeTable;
use crate::bind::select::set_nodes;
use crate::bind::{Binder, Bound, Output, Typed, unsupported};
use crate::plan::expr::Expr;
use crate::plan::trigger::Event;
use crate::plan::{Checks, Insert, Kind, Modify, Node};
use scaledb_catalog::{Identity, PolicyCommand, Privileges};
use scaledb_parse::marked;
use scaledb_types::{Result, SqlError, SqlState, Value};
use sqlparser::ast::{self, Expr as Ast, OnInsert, SetExpr, TableObject};
use std::collections::BTreeSet;

/// Whose values the identity columns of an INSERT get.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Overriding {
    /// The values of the statement, where the column allows it.
    Nothing,
    /// The values of the statement: OVERRIDING SYSTEM VALUE.
    System,
    /// The values of the sequence: OVERRIDING USER VALUE.
    User,
}

impl Overriding {
    /// What the first column says that an INSERT names.
    pub(super) fn of(first: Option<&ast::ObjectName>) -> Self {
        match first.and_then(marked::mark_of) {
            Some(marked::SYSTEM) => Self::System,
            Some(marked::USER) => Self::User,
            _ => Self::Nothing,
        }
    }

    /// Whether a column gets its default, whatever the statement has for it.
    fn keeps_default(self, target: &Target, at: usize) -> bool {
        let own = || target.base(at).map(|position| &target.table.desc.columns[position]);
        self == Self::User && own().is_some_and(|column| column.identity.is_some())
    }
}

/// A column that gets a value, or an element of it.
pub(super) struct Column {
    position: usize,
    element: Option<Element>,
}

impl Column {
    pub(super) fn position(&self) -> usize {
        self.position
    }
}

/// What an INSERT gives values.
pub(super) struct Targets<'t> {
    pub(super) target: &'t Target,
    /// The columns, in the order of the values.
    pub(super) columns: Vec<Column>,
    /// Whether the statement names them.
    pub(super) named: bool,
    pub(super) overriding: Overriding,
}

/// The positions of columns of which elements are set, each once.
pub(super) fn positions_of_parts(columns: &[Column]) -> Vec<usize> {
    let set: BTreeSet<usize> =
        columns.iter().filter(|column| column.element.is_some()).map(Column::position).collect();
    set.into_iter().collect()
}

impl Binder<'_> {
    /// INSERT: the rows of its source, with the defaults of what they do not name.
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<(Bound, Kind)> {
        let TableObject::TableName(name) = &insert.table else { return Err(unsupported("this target")) };
        if insert.overwrite || insert.replace_into || insert.ignore || insert.or.is_some() {
            return Err(unsupported("this form of INSERT"));
        }
        let target = self.target(name, Privileges::NONE, Event::Insert)?;
        let table = target.table.clone();
        let overriding = Overriding::of(insert.columns.first());
        let (columns, named) = self.insert_targets(&target, &insert.columns, overriding)?;
        let mut given: Vec<usize> = columns.iter().filter(|_| named).map(Column::position).collect();
        let parts = positions_of_parts(&columns);
        let mut values: Vec<Option<Expr>> = vec![None; target.width()];
        let (source, reads) = match &insert.source {
            Some(query) => {
                let targets = Targets { target: &target, columns, named, overriding };
                self.insert_source(targets, query, &mut values)?
            }
            None if insert.assignments.is_empty() => (Node::Result, false),
            None => return Err(unsupported("INSERT with SET")),
        };
        given.extend((0..values.len()).filter(|&position| !named && values[position].is_some()));
        self.needs_on_target(&target, Privileges::INSERT, given.iter().copied());
        let given: Vec<usize> = given.into_iter().filter_map(|at| target.base(at)).collect();
        self.values_of_parts(&target, parts, &mut values)?;
        let values = self.values_of_table(&target, values)?;
        let mut exprs = Vec::with_capacity(values.len());
        for (position, value) in values.into_iter().enumerate() {
            exprs.push(match value {
                Some(value) => value,
                None => self.default(&table, position)?,
            });
        }
        let row = self.new_slots(table.types.len());
        row.iter().for_each(|&slot| self.used[slot] = true);
        let seen = self.seen(&target, &row)?;
        let alias = insert.table_alias.as_ref().map(|alias| fold(&alias.alias));
        let shown = alias.unwrap_or_else(|| target.name().to_owned());
        let generated = self.generated(&table, &row, None)?;
        let mut checks = match target.instead {
            None => Checks { given, ..self.checks(&table, &row, None)? },
            Some(_) => Checks { given, ..Checks::default() },
        };
        self.conflicts |= insert.on.is_some();
        let mut conflict = match &insert.on {
            None => None,
            Some(OnInsert::OnConflict(on)) => Some(self.on_conflict(&target, &shown, (&row, &seen), on)?),
            Some(_) => return Err(unsupported("ON DUPLICATE KEY")),
        };
        self.scope().tables = vec![ScopeTable {
            schema: Some(target.schema().to_owned()),
            name: shown,
            columns: seen.columns.clone(),
            system: Vec::new(),
            scalar: false,
            own: !target.is_view(),
            view: None,
            later: Vec::new(),
            row_names: None,
        }];
        let (returning, returning_slots, output) = self.returning(insert.returning.as_deref())?;
        checks.views = self.view_checks(&target, &seen);
        checks.policies = self.policies_of_new(&target, &row, PolicyCommand::Insert, true)?;
        if let Some(update) = conflict.as_mut().and_then(|conflict| conflict.update.as_mut()) {
            update.policies = self.policies_of_conflict(&target, &update.existing, &row)?;
        }
        let triggers = self.triggers(&table, Event::Insert, None);
        let insert = Insert {
            table,
            source,
            reads,
            values: exprs,
            row,
            generated,
            checks,
            conflict,
            instead: target.instead.is_some(),
            triggers,
            returning,
            returning_slots,
        };
        let node = Node::ModifyTable(Box::new(Modify::Insert(insert)));
        Ok((Bound::new(node, output), Kind::Insert))
    }

    /// Columns of which elements were set, as a whole.
    ///
    /// # Errors
    /// As [`Binder::of_parts`].
    pub(super) fn values_of_parts(
        &mut self,
        target: &Target,
        parts: Vec<usize>,
        values: &mut [Option<Expr>],
    ) -> Result<()> {
        for position in parts {
            if let Some(value) = values[position].take() {
                values[position] = Some(self.of_parts(value, target.column_type(position))?);
            }
        }
        Ok(())
    }

    /// The columns that an INSERT gives values, and whether it names them.
    pub(super) fn insert_targets(
        &mut self,
        target: &Target,
        columns: &[ast::ObjectName],
        overriding: Overriding,
    ) -> Result<(Vec<Column>, bool)> {
        let mut targets: Vec<Column> = Vec::new();
        for column in columns.iter().skip(usize::from(overriding != Overriding::Nothing)) {
            let (position, name, chain) = self.target_to_set(target, column)?;
            let twice =
                |known: &Column| known.position == position && (known.element.is_none() || chain.is_none());
            if targets.iter().any(twice) {
                let what = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
            }
            // one is the value that the next one changes
            self.nests(targets.iter().filter(|known| known.position == position).count())?;
            let ty = target.column_type(position);
            let element = chain.map(|chain| self.element(ty, &name, chain)).transpose()?;
            targets.push(Column { position, element });
        }
        let named = !targets.is_empty();
        if !named {
            targets = target.visible().map(|position| Column { position, element: None }).collect();
        }
        Ok((targets, named))
    }

    /// Gives a column a value, or an element of it, beside those that it has got.
    fn set_column(
        &mut self,
        target: &Target,
        Column { position, element }: Column,
        value: Typed,
        values: &mut [Option<Expr>],
    ) -> Result<()> {
        let name = target.column_name(position);
        let value = match element {
            None => self.assign(value, target.column_type(position), name)?,
            Some(element) => {
                let before = values[position].take().unwrap_or(Expr::Const(Value::Null));
                self.with_element(before, name, element, value)?
            }
        };
        values[position] = Some(value);
        Ok(())
    }

    /// The source of an INSERT, whose rows fill `values`, and whether it reads the database.
    fn insert_source(
        &mut self,
        targets: Targets<'_>,
        query: &ast::Query,
        values: &mut [Option<Expr>],
    ) -> Result<(Node, bool)> {
        if let SetExpr::Values(rows) = &*query.body
            && query.with.is_none()
            && query.order_by.is_none()
            && query.limit_clause.is_none()
        {
            // one row is a list of a SELECT: its sets make rows of it
            let sets = (rows.rows.len() == 1).then(Vec::new);
            let before = std::mem::replace(&mut self.scope().sets, sets);
            let source = self.insert_values(targets, &rows.rows, values);
            let sets = std::mem::replace(&mut self.scope().sets, before).unwrap_or_default();
            let source = source?;
            if !sets.is_empty() {
                return Ok((set_nodes(source, sets), true));
            }
            let reads = match &source {
                Node::ValuesScan { rows, .. } => rows.iter().flatten().any(Expr::needs_worker),
                _ => false,
            };
            return Ok((source, reads));
        }
        Ok((self.insert_query(targets, query, values)?, true))
    }

    /// The rows of a query, each value cast to its column.
    fn insert_query(
        &mut self,
        Targets { target, columns, named, overriding }: Targets<'_>,
        query: &ast::Query,
        values: &mut [Option<Expr>],
    ) -> Result<Node> {
        self.leaves_open = matches!(&*query.body, SetExpr::Select(s) if s.distinct.is_none());
        let bound = self.deeper(|binder| binder.query(query))?;
        self.check_width(bound.output.len(), columns.len(), named)?;
        let output: Vec<Output> = bound.output;
        for (output, column) in output.into_iter().zip(columns) {
            if overriding.keeps_default(target, column.position) {
                continue;
            }
            self.refuse_value(target, column.position, overriding)?;
            self.mark(&output.expr);
            self.set_column(target, column, Typed::new(output.expr, output.ty), values)?;
        }
        Ok(bound.node)
    }

    fn check_width(&self, got: usize, wanted: usize, named: bool) -> Result<()> {
        if got > wanted {
            let what = "INSERT has more expressions than target columns";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        if got < wanted && named {
            let what = "INSERT has more target columns than expressions";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        Ok(())
    }

    /// 428C9 for a column that takes no value but its own.
    fn refuse_value(&self, target: &Target, at: usize, overriding: Overriding) -> Result<()> {
        // what no view sets is refused behind this
        let Some(position) = target.base(at) else { return Ok(()) };
        let column = &target.table.desc.columns[position];
        if column.generated.is_some() {
            return Err(SqlError::new(
                SqlState::GENERATED_ALWAYS,
                format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name),
            )
            .detail(is_generated(&column.name)));
        }
        if column.identity == Some(Identity::Always) && overriding != Overriding::System {
            return Err(SqlError::new(
                SqlState::GENERATED_ALWAYS,
                format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name),
            )
            .detail(format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name))
            .hint("Use OVERRIDING SYSTEM VALUE to override."));
        }
        Ok(())
    }

    /// A row of values with the fields of variables, and the columns of tables in scope, in the place of stars; `None`
    /// if there are none.
    fn expanded(&self, row: &[Ast]) -> Result<Option<Vec<Ast>>> {
        if !row.iter().any(|ast| matches!(ast, Ast::QualifiedWildcard(..))) {
            return Ok(None);
        }
        let mut expanded = Vec::with_capacity(row.len());
        for ast in row {
            let variable = match ast {
                Ast::QualifiedWildcard(name, _) => {
                    let (_, name) = split(name)?;
                    self.fields_behind(&name)?.map(|fields| (name, fields))
                }
                _ => None,
            };
            let Some((name, fields)) = variable else {
                expanded.push(ast.clone());
                continue;
            };
            let quoted = |name: &str| ast::Ident::with_quote('"', name);
            let each = fields.iter().map(|field| vec![quoted(&name), quoted(field)]);
            expanded.extend(each.map(Ast::CompoundIdentifier));
        }
        Ok(Some(expanded))
    }

    /// The names of the columns of a table in scope, or of the fields of a variable.
    fn fields_behind(&self, name: &str) -> Result<Option<Vec<String>>> {
        let tables = self.scopes.last().map_or(&[][..], |scope| &scope.tables);
        if let Some(table) = tables.iter().find(|table| table.name == name) {
            return Ok(Some(table.columns.iter().map(|column| column.name.clone()).collect()));
        }
        let fields = self.row_variable(name)?;
        Ok(fields.map(|fields| fields.into_iter().map(|(field, _)| field).collect()))
    }

    /// The rows of VALUES, each value cast to its column; DEFAULT stands for the column's.
    pub(super) fn insert_values(
        &mut self,
        Targets { target, columns, named, overriding }: Targets<'_>,
        rows: &[ast::Parens<Vec<Ast>>],
        values: &mut [Option<Expr>],
    ) -> Result<Node> {
        // the fields of a row of a trigger, or of another variable: VALUES (new.*)
        let expanded = rows.iter().map(|row| self.expanded(&row.content)).collect::<Result<Vec<_>>>()?;
        let rows: Vec<&[Ast]> = expanded
            .iter()
            .zip(rows)
            .map(|(expanded, row)| expanded.as_deref().unwrap_or(&row.content))
            .collect();
        let width = rows.first().map_or(0, |row| row.len());
        self.check_width(width, columns.len(), named)?;
        let slots = self.new_slots(width);
        let mut exprs = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != width {
                return Err(SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "VALUES lists must all be the same length",
                ));
            }
            // a parameter that several columns take has no type before all values are known
            let mut given = Vec::with_capacity(width);
            for (ast, column) in row.iter().zip(&columns) {
                if is_default(ast) || overriding.keeps_default(target, column.position) {
                    given.push(None);
                    continue;
                }
                self.refuse_value(target, column.position, overriding)?;
                given.push(Some(self.expr(ast)?));
            }
            let mut list = Vec::with_capacity(width);
            for (typed, column) in given.into_iter().zip(&columns) {
                let position = column.position;
                list.push(match (typed, &column.element) {
                    (Some(typed), None) => {
                        self.assign(typed, target.column_type(position), target.column_name(position))?
                    }
                    (Some(typed), Some(element)) => {
                        self.element_value(element, target.column_name(position), typed)?
                    }
                    (None, None) => self.default_behind(target, position)?,
                    (None, Some(_)) => return Err(element_to_default()),
                });
            }
            exprs.push(list);
        }
        // one row needs no slots in between
        let one = (exprs.len() == 1).then(|| exprs.remove(0));
        let results = match one {
            Some(list) => list,
            None => {
                slots.iter().for_each(|&slot| self.used[slot] = true);
                // a generated column of a view's table takes DEFAULT, which is NULL here, and no value
                let is_null = |at: usize| exprs.iter().all(|row| matches!(row[at], Expr::Const(Value::Null)));
                let of = |(at, &slot)| if is_null(at) { Expr::Const(Value::Null) } else { Expr::Slot(slot) };
                slots.iter().enumerate().map(of).collect()
            }
        };
        for (value, Column { position, element }) in results.into_iter().zip(columns) {
            let value = match element {
                None => value,
                Some(element) => {
                    element.put(values[position].take().unwrap_or(Expr::Const(Value::Null)), value)
                }
            };
            values[position] = Some(value);
        }
        if exprs.is_empty() {
            return Ok(Node::Result);
        }
        Ok(Node::ValuesScan { rows: exprs, slots })
    }
}
