//! Which names mean which slots.

use super::{Binder, Typed};
use crate::plan::Slot;
use crate::plan::expr::{Ask, Compare, Expr};
use scaledb_types::{Result, SqlError, SqlState, Type};

/// A column in scope.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) slot: Slot,
    pub(crate) origin: (u32, i16),
    /// Merged into the column of another table by USING: found by its qualified name only.
    pub(crate) merged: bool,
}

/// A table in scope.
#[derive(Clone, Debug)]
pub(crate) struct ScopeTable {
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
    pub(crate) columns: Vec<ScopeColumn>,
}

/// A subquery as it is written, with what is asked of it: the comparison and its other side, or the kind of question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Asked {
    Any(Box<(sqlparser::ast::Expr, Compare, sqlparser::ast::Query)>),
    Other(std::mem::Discriminant<Ask>, Box<sqlparser::ast::Query>),
}

/// A subquery that was bound.
#[derive(Clone, Debug)]
pub(crate) struct AskedBefore {
    pub(crate) asked: Asked,
    pub(crate) expr: Expr,
    pub(crate) types: Vec<Type>,
    /// It may answer differently each time: the same words elsewhere are another subquery.
    pub(crate) volatile: bool,
}

/// What a grouped query may use of its input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grouping {
    /// Aggregates that were bound.
    pub(crate) aggregates: Vec<crate::plan::Aggregate>,
    /// Whether an aggregate is being bound: they do not nest.
    pub(crate) inside: bool,
}

/// The tables of one query, and what its expressions collect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) tables: Vec<ScopeTable>,
    /// Where aggregates go; `None` where they must not be.
    pub(crate) grouping: Option<Grouping>,
    /// Where window functions go.
    pub(crate) windows: Option<Vec<crate::plan::Window>>,
    /// Where calls of set-returning functions go; `None` where they must not be.
    pub(crate) sets: Option<Vec<crate::plan::SetItem>>,
    /// Subqueries that were bound, where the same one may be asked for again.
    pub(crate) subqueries: Option<Vec<AskedBefore>>,
    /// Slots of enclosing queries that this one reads.
    pub(crate) outer: Vec<Slot>,
    /// What a condition is called in messages.
    pub(crate) clause: &'static str,
}

impl Scope {
    /// All slots of its tables.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.tables.iter().flat_map(|table| table.columns.iter().map(|column| column.slot))
    }
}

impl Binder<'_> {
    /// The scope of the innermost query.
    pub(crate) fn scope(&mut self) -> &mut Scope {
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
    pub(crate) fn column(&mut self, table: Option<(&Option<String>, &str)>, name: &str) -> Result<Typed> {
        let mut found: Option<(usize, Slot, Type)> = None;
        let mut table_known = false;
        for (level, scope) in self.scopes.iter().enumerate().rev() {
            for scope_table in &scope.tables {
                if let Some((schema, wanted)) = table {
                    let schema_fits = schema.is_none() || scope_table.schema == *schema;
                    if scope_table.name != wanted || !schema_fits {
                        continue;
                    }
                    table_known = true;
                }
                for column in &scope_table.columns {
                    if column.name != name || table.is_none() && column.merged {
                        continue;
                    }
                    if found.is_some() {
                        let what = format!("column reference \"{name}\" is ambiguous");
                        return Err(SqlError::new(SqlState::AMBIGUOUS_COLUMN, what));
                    }
                    found = Some((level, column.slot, column.ty));
                }
            }
            if found.is_some() {
                break;
            }
        }
        let Some((level, slot, ty)) = found else {
            return Err(match table {
                Some((_, table)) if table_known => {
                    SqlError::new(SqlState::UNDEFINED_COLUMN, format!("column {table}.{name} does not exist"))
                }
                Some((_, table)) => SqlError::new(
                    SqlState::UNDEFINED_TABLE,
                    format!("missing FROM-clause entry for table \"{table}\""),
                ),
                None => {
                    SqlError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"))
                }
            });
        };
        self.note_outer(level, slot);
        for (here, innermost) in &mut self.named {
            if level <= *here {
                *innermost = (*innermost).max(Some(level));
            }
        }
        Ok(Typed::new(Expr::Slot(slot), ty))
    }

    /// Notes in all queries inside of a level that they read a slot of it.
    pub(super) fn note_outer(&mut self, level: usize, slot: Slot) {
        self.used[slot] = true;
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
    pub(crate) fn origin(&self, expr: &Expr) -> (u32, i16) {
        let Expr::Slot(slot) = expr else { return (0, 0) };
        let columns = self.scopes.iter().rev().flat_map(|s| &s.tables).flat_map(|t| &t.columns);
        columns.filter(|column| column.slot == *slot).map(|column| column.origin).next().unwrap_or((0, 0))
    }
}
