//! Which names mean which slots.

use super::{Binder, Typed};
use crate::plan::Slot;
use crate::plan::expr::{Ask, Compare, Expr};
use scaledb_types::{Result, SqlError, SqlState, Type};
use std::ops::Range;

/// A column in scope.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    pub name: String,
    pub ty: Type,
    pub slot: Slot,
    pub origin: (u32, i16),
    /// Found by its qualified name only, as a column that USING has merged with another is.
    pub merged: bool,
}

/// A column as `*` shows it.
#[derive(Clone, Debug)]
pub struct Shown {
    pub name: String,
    pub expr: Expr,
    pub ty: Type,
    pub origin: (u32, i16),
}

/// A column that USING has made of one on either side of a join.
#[derive(Clone, Debug)]
pub struct Merged {
    pub shown: Shown,
    /// The tables of the join.
    pub tables: Range<usize>,
}

/// The name of a join: of the columns that its USING has made.
#[derive(Clone, Debug)]
pub struct Alias {
    pub name: String,
    pub columns: Vec<Shown>,
    /// The first table of the join.
    pub first: usize,
}

impl ScopeColumn {
    pub fn shown(&self) -> Shown {
        let expr = Expr::Slot(self.slot);
        Shown { name: self.name.clone(), expr, ty: self.ty, origin: self.origin }
    }
}

/// A table in scope.
#[derive(Clone, Debug, Default)]
pub struct ScopeTable {
    pub schema: Option<String>,
    pub name: String,
    pub columns: Vec<ScopeColumn>,
    /// Columns that are found by their names, and that neither `*` nor a whole row has.
    pub system: Vec<ScopeColumn>,
    /// Its name means its only column: the result of a function that makes no rows of several.
    pub scalar: bool,
    /// It is a table, and its columns have their own names.
    pub own: bool,
    /// The view that it is, if its columns have their own names.
    pub view: Option<u32>,
    /// Columns of a view that are newer than the view whose query reads it: its whole row has them, behind the others.
    pub later: Vec<ScopeColumn>,
    /// What the fields of its row are called, where its columns are called otherwise here: a row of a table has the
    /// names of the table.
    pub row_names: Option<Vec<String>>,
}

/// A subquery as it is written, with what is asked of it: the comparison and its other side, or the kind of question.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Any(Box<(sqlparser::ast::Expr, Compare, sqlparser::ast::Query)>),
    Other(std::mem::Discriminant<Ask>, Box<sqlparser::ast::Query>),
}

/// A subquery that was bound.
#[derive(Clone, Debug)]
pub struct AskedBefore {
    pub asked: Asked,
    pub expr: Expr,
    pub types: Vec<Type>,
    /// What its first column is called, where that names a column of the query around it.
    pub name: Option<String>,
    /// It may answer differently each time: the same words elsewhere are another subquery.
    pub volatile: bool,
}

/// What a grouped query may use of its input.
#[derive(Clone, Debug, Default)]
pub struct Grouping {
    /// Aggregates that were bound.
    pub aggregates: Vec<crate::plan::Aggregate>,
    /// Calls of GROUPING.
    pub calls: Vec<super::grouping::GroupingCall>,
    /// Whether an aggregate is being bound: they do not nest.
    pub inside: bool,
}

/// The tables of one query, and what its expressions collect.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub tables: Vec<ScopeTable>,
    /// Columns that USING has made, an inner join's before those of the joins around it.
    pub merges: Vec<Merged>,
    /// The names of its joins.
    pub aliases: Vec<Alias>,
    /// Slots of tables that are in scope and may not be read by what is bound now.
    pub barred: Vec<Slot>,
    /// Tables of the statement that what is bound now must not refer to.
    pub hidden: Vec<ScopeTable>,
    /// Slots of tables whose rows an outer join may leave out.
    pub missing: Vec<Slot>,
    /// Slots that say whether rows are there, each behind that of a column of the table; `None` where tables are not,
    /// or not any more, to be planned.
    pub rows_there: Option<Vec<(Slot, Slot)>>,
    /// Whether one of its tables is the recursive query that it is a part of.
    pub recursive: bool,
    /// Where aggregates go; `None` where they must not be.
    pub grouping: Option<Grouping>,
    /// Where window functions go.
    pub windows: Option<Vec<crate::plan::Window>>,
    /// Why calls of window functions must not be in what is being bound.
    pub without_windows: Option<&'static str>,
    /// The windows of its WINDOW clause.
    pub named_windows: Vec<super::window::Definition>,
    /// Where calls of set-returning functions go; `None` where they must not be.
    pub sets: Option<Vec<crate::plan::SetItem>>,
    /// What is being bound, if calls of set-returning functions must not be in it.
    pub without_sets: Option<&'static str>,
    /// Subqueries that were bound, where the same one may be asked for again.
    pub subqueries: Option<Vec<AskedBefore>>,
    /// Slots of enclosing queries that this one reads.
    pub outer: Vec<Slot>,
    /// What a condition is called in messages.
    pub clause: &'static str,
}

impl ScopeTable {
    /// Has these newer columns, too.
    pub fn with_later(&mut self, later: Vec<ScopeColumn>) {
        if let Some(names) = &mut self.row_names {
            names.extend(later.iter().map(|column| column.name.clone()));
        }
        self.later = later;
    }

    /// All columns that have names.
    pub fn named(&self) -> impl Iterator<Item = &ScopeColumn> {
        self.columns.iter().chain(&self.system)
    }
}

impl Scope {
    /// The columns of some of its tables, as `*` shows them: those that USING has made come before the others of
    /// their join.
    pub fn shown(&self, tables: Range<usize>) -> Vec<Shown> {
        let mut shown = Vec::new();
        for number in tables.clone() {
            let mut merges: Vec<&Merged> = self.merges.iter().filter(|m| m.tables.start == number).collect();
            merges.retain(|merged| merged.tables.end <= tables.end);
            merges.sort_by_key(|merged| std::cmp::Reverse(merged.tables.end));
            shown.extend(merges.into_iter().map(|merged| merged.shown.clone()));
            let columns = self.tables[number].columns.iter().filter(|column| !column.merged);
            shown.extend(columns.map(ScopeColumn::shown));
        }
        shown
    }

    /// Notes that an outer join may leave out the rows of some of its tables.
    pub fn may_miss(&mut self, tables: Range<usize>) {
        let columns = self.tables[tables].iter().flat_map(ScopeTable::named);
        self.missing.extend(columns.map(|column| column.slot));
    }

    /// The slot that says whether the row of a column is there, if it was asked for before.
    pub fn noted_rows(&self, column: Slot) -> Option<Slot> {
        let mut noted = self.rows_there.iter().flatten();
        noted.find(|(known, _)| *known == column).map(|(_, slot)| *slot)
    }

    /// All slots of its tables.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.tables.iter().flat_map(|table| table.named().map(|column| column.slot))
    }
}

impl Binder<'_> {
    /// The scope of the innermost query.
    pub fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// The column that a name means.
    ///
    /// # Errors
    /// 42703, 42702, 42P01.
    pub fn column(&mut self, table: Option<(&Option<String>, &str)>, name: &str) -> Result<Typed> {
        let mut found: Option<(usize, Expr, Type, &str)> = None;
        let ambiguous = || {
            let what = format!("column reference \"{name}\" is ambiguous");
            Err(SqlError::new(SqlState::AMBIGUOUS_COLUMN, what))
        };
        let mut table_known = false;
        // the query whose tables have a system column of the name
        let mut system = None;
        (self.found_own, self.found_in_view) = (false, None);
        for (level, scope) in self.scopes.iter().enumerate().rev() {
            for scope_table in &scope.tables {
                if let Some((schema, wanted)) = table {
                    let schema_fits = schema.is_none() || scope_table.schema == *schema;
                    if scope_table.name != wanted || !schema_fits {
                        continue;
                    }
                    table_known = true;
                }
                for (place, column) in scope_table.named().enumerate() {
                    if column.name != name || table.is_none() && column.merged {
                        continue;
                    }
                    if found.is_some() {
                        return ambiguous();
                    }
                    found = Some((level, Expr::Slot(column.slot), column.ty, &scope_table.name));
                    self.found_own = scope_table.own;
                    self.found_in_view = scope_table.view.zip(i16::try_from(place + 1).ok());
                }
            }
            let wanted = table.filter(|(schema, _)| schema.is_none()).map(|(_, wanted)| wanted);
            for alias in scope.aliases.iter().filter(|alias| wanted == Some(&alias.name)) {
                table_known = true;
                for shown in alias.columns.iter().filter(|shown| shown.name == name) {
                    found = Some((level, shown.expr.clone(), shown.ty, &alias.name));
                }
            }
            for Merged { shown, .. } in scope.merges.iter().filter(|_| table.is_none()) {
                if shown.name != name {
                    continue;
                }
                if found.is_some() {
                    return ambiguous();
                }
                found = Some((level, shown.expr.clone(), shown.ty, name));
            }
            if found.is_some() {
                break;
            }
            if system.is_none() && super::whole_row::has_system_column(scope, table, name) {
                system = Some(level);
                break;
            }
        }
        let Some((level, expr, ty, of)) = found else {
            let variable = match table {
                None => self.variable(None, name)?,
                Some((None, table)) if !table_known => self.variable(Some(table), name)?,
                Some((Some(label), row)) if !table_known => self.labelled(label, row, name)?,
                Some(_) => None,
            };
            if let Some(variable) = variable {
                return Ok(variable);
            }
            if let Some(level) = system
                && let Some(column) = self.system_column(level, table, name)?
            {
                return Ok(column);
            }
            return Err(match table {
                Some((_, table)) if table_known => {
                    SqlError::new(SqlState::UNDEFINED_COLUMN, format!("column {table}.{name} does not exist"))
                }
                Some((_, table)) => self.missing_table(table),
                None => self.missing_column(name),
            });
        };
        let of = of.to_owned();
        if table.is_none()
            && let Some(variable) = self.variable_before_column(name)?
        {
            return Ok(variable);
        }
        self.refer(level, expr, ty, &of)
    }

    /// 42P01 for the name of a table.
    #[cold]
    pub(super) fn missing_table(&self, name: &str) -> SqlError {
        if self.hidden().any(|table| table.name == name) {
            let what = format!("invalid reference to FROM-clause entry for table \"{name}\"");
            let hint = format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
            );
            return SqlError::new(SqlState::UNDEFINED_TABLE, what).hint(hint);
        }
        let what = format!("missing FROM-clause entry for table \"{name}\"");
        SqlError::new(SqlState::UNDEFINED_TABLE, what)
    }

    /// 42703 for the name of a column.
    #[cold]
    fn missing_column(&self, name: &str) -> SqlError {
        let what = format!("column \"{name}\" does not exist");
        let error = SqlError::new(SqlState::UNDEFINED_COLUMN, what);
        let has = |table: &&ScopeTable| table.columns.iter().any(|column| column.name == name);
        match self.hidden().find(has) {
            Some(ScopeTable { name: table, .. }) => error.hint(format!(
                "There is a column named \"{name}\" in table \"{table}\", but it cannot be referenced from this part of the query."
            )),
            None => error,
        }
    }

    fn hidden(&self) -> impl Iterator<Item = &ScopeTable> {
        self.scopes.iter().flat_map(|scope| &scope.hidden)
    }

    /// Notes that a column of a table in scope is read.
    ///
    /// # Errors
    /// 42P10 for one that may not be.
    pub(super) fn refer(&mut self, level: usize, expr: Expr, ty: Type, of: &str) -> Result<Typed> {
        let mut slots = Vec::new();
        expr.slots(&mut |slot| slots.push(slot));
        if slots.iter().any(|slot| self.scopes[level].barred.contains(slot)) {
            let what = format!("invalid reference to FROM-clause entry for table \"{of}\"");
            return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, what)
                .detail("It is in scope, but what is read here does not depend on its rows."));
        }
        slots.into_iter().for_each(|slot| self.note_outer(level, slot));
        for (here, innermost) in &mut self.named {
            if level <= *here {
                *innermost = (*innermost).max(Some(level));
            }
        }
        Ok(Typed::new(expr, ty))
    }

    /// Notes in all queries inside of a level that they read a slot of it.
    pub(super) fn note_outer(&mut self, level: usize, slot: Slot) {
        self.used[slot] = true;
        self.names_slot(slot);
        for inner in &mut self.scopes[level + 1..] {
            if !inner.outer.contains(&slot) {
                inner.outer.push(slot);
            }
        }
    }

    /// The level of the query that an aggregate over these expressions belongs to: the innermost one whose columns
    /// they read, or named before they were folded; this one if they read none.
    pub(super) fn level_of<'e>(&self, parts: impl Iterator<Item = &'e Expr>, named: Option<usize>) -> usize {
        let here = self.scopes.len() - 1;
        let mut innermost = named;
        for part in parts {
            part.slots(&mut |slot| {
                // what no table has was made by this query
                let level = self.scopes.iter().rposition(|scope| scope.slots().any(|known| known == slot));
                innermost = innermost.max(Some(level.unwrap_or(here)));
            });
        }
        innermost.unwrap_or(here)
    }

    /// Where a column of this query comes from.
    pub fn origin(&self, expr: &Expr) -> (u32, i16) {
        let Expr::Slot(slot) = expr else { return (0, 0) };
        let columns = self.scopes.iter().rev().flat_map(|s| &s.tables).flat_map(|t| &t.columns);
        columns.filter(|column| column.slot == *slot).map(|column| column.origin).next().unwrap_or((0, 0))
    }
}
