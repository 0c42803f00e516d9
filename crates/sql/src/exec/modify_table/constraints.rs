//! NOT NULL and CHECK of new rows, and the errors of rows that break these or a unique key.

use super::super::Exec;
use super::insert::index_of;
use scaledb_base::Error;
use scaledb_engine::Worker;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::secured::{About, PolicyCheck};
use scaledb_planner::plan::{BoundTable, Checks, IndexRef, Slot, ViewChecks};
use scaledb_types::{Result, SqlError, SqlState, Value};

impl<'a, W: Worker> Exec<'a, W> {
    /// NOT NULL and CHECK of the row that the slots hold.
    pub(super) fn check_row(&mut self, table: &BoundTable, checks: &Checks, row: &[Slot]) -> Result<()> {
        if let Some(policies) = &checks.policies {
            self.check_policies(table, policies)?;
        }
        self.check_constraints(table, checks, row)
    }

    /// NOT NULL and CHECK, without what policies say.
    pub(super) fn check_constraints(
        &mut self,
        table: &BoundTable,
        checks: &Checks,
        row: &[Slot],
    ) -> Result<()> {
        self.check_conditions(table, (&checks.not_null, &checks.checks, &checks.given), row)
    }

    /// What policies say of the rows that slots hold.
    #[cold]
    pub(super) fn check_policies(&mut self, table: &BoundTable, policies: &[PolicyCheck]) -> Result<()> {
        for PolicyCheck { policy, about, condition } in policies {
            // NULL is not enough
            if self.holds(condition)? {
                continue;
            }
            let row = if *about == About::Merged { "target" } else { "new" };
            let named = policy.as_ref().map_or_else(String::new, |name| format!(" \"{name}\""));
            let using = if *about == About::New { "" } else { " (USING expression)" };
            let table = &table.desc.name;
            let what =
                format!("{row} row violates row-level security policy{named}{using} for table \"{table}\"");
            return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
        }
        Ok(())
    }

    /// What views make of the row that the slots hold, and say of it, through which it is written.
    #[inline]
    pub(super) fn check_views(&mut self, table: &BoundTable, checks: &Checks, row: &[Slot]) -> Result<()> {
        match &checks.views {
            None => Ok(()),
            Some(views) => self.check_row_of_views(table, views, (row, &checks.given)),
        }
    }

    #[cold]
    fn check_row_of_views(
        &mut self,
        table: &BoundTable,
        views: &ViewChecks,
        (row, given): (&[Slot], &[usize]),
    ) -> Result<()> {
        for (slot, expr) in &views.computed {
            self.frame[*slot] = self.eval(expr)?;
        }
        for (name, condition) in &views.conditions {
            // NULL is not enough
            if !self.holds(condition)? {
                let what = format!("new row violates check option for view \"{name}\"");
                let error = SqlError::new(SqlState::WITH_CHECK_OPTION_VIOLATION, what);
                return Err(self.with_failing_row(error, table, row, given));
            }
        }
        Ok(())
    }

    /// Columns that refuse NULL, and CHECK constraints, of the row that the slots hold; with the columns that the
    /// statement gives values.
    pub(in crate::exec) fn check_conditions(
        &mut self,
        table: &BoundTable,
        (not_null, checks, given): (&[usize], &[(String, Expr)], &[usize]),
        row: &[Slot],
    ) -> Result<()> {
        for &column in not_null {
            if self.frame[row[column]].is_null() {
                let name = &table.desc.columns[column].name;
                let error = SqlError::new(
                    SqlState::NOT_NULL_VIOLATION,
                    format!(
                        "null value in column \"{name}\" of relation \"{}\" violates not-null constraint",
                        table.desc.name
                    ),
                );
                return Err(self
                    .with_failing_row(error, table, row, given)
                    .table(table.desc.schema.as_str(), table.desc.name.as_str())
                    .column(name.as_str()));
            }
        }
        for (name, condition) in checks {
            if matches!(self.eval(condition)?, Value::Bool(false)) {
                let error = SqlError::new(
                    SqlState::CHECK_VIOLATION,
                    format!(
                        "new row for relation \"{}\" violates check constraint \"{name}\"",
                        table.desc.name
                    ),
                );
                return Err(self
                    .with_failing_row(error, table, row, given)
                    .table(table.desc.schema.as_str(), table.desc.name.as_str())
                    .constraint(name.as_str()));
            }
        }
        Ok(())
    }

    /// An error that shows a row: all of it to those who may read the table; to others the columns that they may read,
    /// and those that the statement gives values.
    pub(super) fn with_failing_row(
        &self,
        error: SqlError,
        table: &BoundTable,
        row: &[Slot],
        given: &[usize],
    ) -> SqlError {
        let host = self.context.host;
        if host.hides_rows(table.desc.oid) {
            return error;
        }
        let all = host.may_read(table.desc.oid, None);
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (at, column) in table.desc.columns.iter().enumerate().filter(|(_, column)| !column.hidden) {
            if all || given.contains(&at) || host.may_read(table.desc.oid, Some(column.attnum)) {
                names.push(column.name.as_str());
                values.push(self.printed(&self.frame[row[at]], table.types[at]));
            }
        }
        let values = values.join(", ");
        match all {
            true => error.detail(format!("Failing row contains ({values}).")),
            false if names.is_empty() => error,
            false => error.detail(format!("Failing row contains ({}) = ({values}).", names.join(", "))),
        }
    }

    /// Whether the columns of a key may be shown to the role that runs the statement.
    pub(in crate::exec) fn shows_key(
        &self,
        table: &BoundTable,
        mut positions: impl Iterator<Item = usize>,
    ) -> bool {
        let (host, desc) = (self.context.host, &table.desc);
        host.may_read(desc.oid, None)
            || !host.hides_rows(desc.oid)
                && positions.all(|at| {
                    let column = &desc.columns[at];
                    !column.hidden && host.may_read(desc.oid, Some(column.attnum))
                })
    }

    /// A value as error messages print it.
    pub(in crate::exec) fn printed(&self, value: &Value, ty: scaledb_types::Type) -> String {
        value.to_text(ty, self.context.env).map_or_else(|| "null".to_owned(), |text| text.to_string())
    }

    /// A unique violation, with the key that is there.
    pub(super) fn duplicate(&self, table: &BoundTable, index: IndexRef, row: &[Slot]) -> SqlError {
        let new: Vec<Value> = row.iter().map(|&slot| self.frame[slot].clone()).collect();
        self.duplicate_of(table, index, &new)
    }

    fn duplicate_of(&self, table: &BoundTable, index: IndexRef, new: &[Value]) -> SqlError {
        self.taken_key(table, index, table.shown_columns(index).iter().map(|column| &new[column.position]))
    }

    /// The error 23505 for a key.
    pub(in crate::exec) fn taken_key<'v>(
        &self,
        table: &BoundTable,
        index: IndexRef,
        key: impl Iterator<Item = &'v Value>,
    ) -> SqlError {
        let columns = table.shown_columns(index);
        let names: Vec<_> = columns.iter().map(|column| table.key_name(column)).collect();
        let values: Vec<_> = columns.iter().zip(key).map(|(c, value)| self.printed(value, c.ty)).collect();
        let name = table.index_name(index);
        let error = SqlError::new(
            SqlState::UNIQUE_VIOLATION,
            format!("duplicate key value violates unique constraint \"{name}\""),
        )
        .table(table.desc.schema.as_str(), table.desc.name.as_str())
        .constraint(name);
        if !self.shows_key(table, columns.iter().map(|column| column.position)) {
            return error;
        }
        error.detail(format!("Key ({})=({}) already exists.", names.join(", "), values.join(", ")))
    }

    /// The error of a write of this row.
    pub(super) fn write_error(&self, table: &BoundTable, error: Error, new: &[Value]) -> SqlError {
        match error {
            Error::DuplicateKey { table: id, .. } => {
                match index_of(table, id, self.context.dropped_indexes) {
                    Ok(index) => self.duplicate_of(table, index, new),
                    Err(error) => error,
                }
            }
            other => self.context.engine_error(other),
        }
    }
}
