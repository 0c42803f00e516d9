//! What the catalog says of the values of a row: what computes generated columns, and what must hold of it.
//!
//! What computes them means the same in every session: literals are read as they are with the settings of a server that
//! was told nothing, and the statement that makes the column has refused what another zone would change.

use super::names::Naming;
use super::scope::{Scope, ScopeTable};
use super::{Binder, Typed};
use crate::plan::expr::Expr;
use crate::plan::{BoundTable, Slot};
use scaledb_types::{Env, Result, Type};
use sqlparser::ast::Expr as Ast;
use std::sync::LazyLock;

/// Positions of columns, and what computes their values.
pub type Generated = Vec<(usize, Expr)>;

/// Columns that refuse NULL, and CHECK constraints: name and condition.
pub type Conditions = (Vec<usize>, Vec<(String, Expr)>);

/// The settings that what computes a column is bound with.
static FIXED: LazyLock<Env> = LazyLock::new(Env::default);

impl Binder<'_> {
    /// Binds something from the catalog over the slots of a row.
    pub(super) fn over_row<R>(
        &mut self,
        table: &BoundTable,
        row: &[Slot],
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let table = ScopeTable {
            name: table.desc.name.clone(),
            columns: Self::columns_of(table, row),
            ..ScopeTable::default()
        };
        self.over_columns(table, f)
    }

    /// Binds something from the catalog over some columns.
    pub(super) fn over_columns<R>(
        &mut self,
        table: ScopeTable,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let scopes = std::mem::take(&mut self.scopes);
        // its columns are none of the aggregate whose argument may be at hand
        let named = std::mem::take(&mut self.named);
        self.scopes.push(Scope { tables: vec![table], ..Scope::default() });
        let result = self.apart(Naming::Kept, f);
        (self.scopes, self.named) = (scopes, named);
        result
    }

    /// The generated columns of a table, over the slots of a row; with a SET, those that it may change.
    ///
    /// # Errors
    /// 42601 and others for what the catalog holds, if it is broken.
    pub fn generated(
        &mut self,
        table: &BoundTable,
        row: &[Slot],
        set: Option<&[usize]>,
    ) -> Result<Generated> {
        let mut generated = Vec::new();
        if !table.desc.generates() {
            return Ok(generated);
        }
        let mut set = set.map(<[usize]>::to_vec);
        // hidden ones may read others
        let columns = table.desc.columns.iter().enumerate();
        let (hidden, visible): (Vec<_>, Vec<_>) = columns.partition(|(_, column)| column.hidden);
        for (position, column) in visible.into_iter().chain(hidden) {
            let Some(text) = &column.generated else { continue };
            let ast = scaledb_parse::expression(text)?;
            let ty = table.types[position];
            let expr = self.over_row(table, row, |binder| binder.generation(&ast, ty, &column.name))?;
            if set.as_ref().is_none_or(|set| set.contains(&position) || reads(&expr, row, set)) {
                self.mark(&expr);
                generated.push((position, expr));
                set.iter_mut().for_each(|set| set.push(position));
            }
        }
        Ok(generated)
    }

    /// The condition of an index, whatever the settings of the session.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn predicate(&mut self, ast: &Ast) -> Result<Expr> {
        let own = std::mem::replace(&mut self.env, &FIXED);
        let result = self.condition(ast, "WHERE");
        self.env = own;
        result
    }

    /// An expression of an index, whatever the settings of the session.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn key_expression(&mut self, ast: &Ast) -> Result<Typed> {
        let own = std::mem::replace(&mut self.env, &FIXED);
        let result = self.in_index(ast);
        self.env = own;
        result
    }

    /// An expression that stands where one of an index can.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn in_index(&mut self, ast: &Ast) -> Result<Typed> {
        let before = std::mem::replace(&mut self.scope().clause, "index expressions");
        let typed = self.expr(ast);
        self.scope().clause = before;
        typed
    }

    /// The positions of the columns that have the values of expressions for indexes, and these expressions over the
    /// slots of a row.
    ///
    /// # Errors
    /// 42601 and others for what the catalog holds, if it is broken.
    pub(super) fn key_expressions(&mut self, table: &BoundTable, row: &[Slot]) -> Result<Generated> {
        let mut expressions = Vec::new();
        let (indexes, columns) = (&table.desc.indexes, table.desc.columns.iter().enumerate());
        if indexes.iter().all(|index| !table.desc.has_expressions(index)) {
            return Ok(expressions);
        }
        let used = self.used.clone();
        let in_key =
            |attnum: i16| indexes.iter().any(|index| index.columns.iter().any(|key| key.attnum == attnum));
        for (position, column) in columns.filter(|(_, column)| in_key(column.attnum)) {
            let Some(text) = &column.key else { continue };
            let ast = scaledb_parse::expression(text)?;
            let typed = self.over_row(table, row, |binder| binder.key_expression(&ast))?;
            expressions.push((position, typed.expr));
        }
        // no plan reads what they read, unless the statement does
        let slots = self.used.len();
        self.used = used;
        self.used.resize(slots, false);
        Ok(expressions)
    }

    /// The numbers of the indexes of some rows, and their conditions over the slots of a row.
    ///
    /// # Errors
    /// 42601 and others for what the catalog holds, if it is broken.
    pub(super) fn predicates(&mut self, table: &BoundTable, row: &[Slot]) -> Result<Vec<(usize, Expr)>> {
        let mut conditions = Vec::new();
        if table.desc.indexes.iter().all(|index| index.predicate.is_none()) {
            return Ok(conditions);
        }
        // no plan reads what they read, unless the statement does
        let used = self.used.clone();
        for (number, index) in table.desc.indexes.iter().enumerate() {
            let Some(predicate) = &index.predicate else { continue };
            let ast = scaledb_parse::expression(&predicate.text)?;
            conditions.push((number, self.over_row(table, row, |binder| binder.predicate(&ast))?));
        }
        let slots = self.used.len();
        self.used = used;
        self.used.resize(slots, false);
        Ok(conditions)
    }

    /// The columns that refuse NULL and the CHECK constraints, over the slots of a row; with a SET, only those that it
    /// can break.
    pub fn conditions(
        &mut self,
        table: &BoundTable,
        row: &[Slot],
        set: Option<&[usize]>,
    ) -> Result<Conditions> {
        let touched = |position: &usize| set.is_none_or(|set| set.contains(position));
        let columns = table.desc.columns.iter().enumerate();
        let not_null: Vec<usize> =
            columns.filter(|(_, c)| c.not_null).map(|(position, _)| position).filter(&touched).collect();
        let mut checks = Vec::new();
        if !table.desc.checks.is_empty() {
            // of several that a row breaks, the first by its name is told
            let mut sorted: Vec<_> = table.desc.checks.iter().collect();
            sorted.sort_by(|a, b| a.name.cmp(&b.name));
            for check in sorted {
                let ast = scaledb_parse::expression(&check.expression)?;
                let condition = self.over_row(table, row, |binder| binder.condition(&ast, "CHECK"))?;
                // a row fulfils it as long as what it reads stays as it is, if that is columns of the row alone
                let goes_on = check.validated && condition.is_fixed();
                if !goes_on || set.is_none_or(|set| reads(&condition, row, set)) {
                    checks.push((check.name.clone(), condition));
                }
            }
        }
        Ok((not_null, checks))
    }

    /// What computes a column of a type, whatever the settings of the session.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn generation(&mut self, ast: &Ast, ty: Type, name: &str) -> Result<Expr> {
        let own = std::mem::replace(&mut self.env, &FIXED);
        let result = self.in_generated(ast).and_then(|typed| self.assign(typed, ty, name));
        self.env = own;
        result
    }

    /// An expression that stands where one of a generated column can.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn in_generated(&mut self, ast: &Ast) -> Result<Typed> {
        let before = std::mem::replace(&mut self.scope().clause, "column generation expressions");
        let typed = self.expr(ast);
        self.scope().clause = before;
        typed
    }
}

/// Whether an expression over the slots of a row reads a column at one of these positions.
pub fn reads(expr: &Expr, row: &[Slot], positions: &[usize]) -> bool {
    let mut reads = false;
    expr.slots(&mut |slot| reads |= positions.iter().any(|&position| row[position] == slot));
    reads
}
