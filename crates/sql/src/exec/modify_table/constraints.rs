//! NOT NULL and CHECK of new rows, and the errors of rows that break these or a unique key.

use super::super::Exec;
use super::insert::index_of;
use crate::plan::expr::Expr;
use crate::plan::{BoundTable, Checks, IndexRef, Slot};
use scaledb_base::Error;
use scaledb_engine::Worker;
use scaledb_types::{Result, SqlError, SqlState, Value};

impl<'a, W: Worker> Exec<'a, W> {
    /// NOT NULL and CHECK of the row that the slots hold.
    pub(super) fn check_row(&mut self, table: &BoundTable, checks: &Checks, row: &[Slot]) -> Result<()> {
        self.check_conditions(table, &checks.not_null, &checks.checks, row)
    }

    /// Columns that refuse NULL, and CHECK constraints, of the row that the slots hold.
    pub(in crate::exec) fn check_conditions(
        &mut self,
        table: &BoundTable,
        not_null: &[usize],
        checks: &[(String, Expr)],
        row: &[Slot],
    ) -> Result<()> {
        for &column in not_null {
            if self.frame[row[column]].is_null() {
                let name = &table.desc.columns[column].name;
                return Err(SqlError::new(
                    SqlState::NOT_NULL_VIOLATION,
                    format!(
                        "null value in column \"{name}\" of relation \"{}\" violates not-null constraint",
                        table.desc.name
                    ),
                )
                .detail(self.failing_row(table, row))
                .table(table.desc.schema.as_str(), table.desc.name.as_str())
                .column(name.as_str()));
            }
        }
        for (name, condition) in checks {
            if matches!(self.eval(condition)?, Value::Bool(false)) {
                return Err(SqlError::new(
                    SqlState::CHECK_VIOLATION,
                    format!(
                        "new row for relation \"{}\" violates check constraint \"{name}\"",
                        table.desc.name
                    ),
                )
                .detail(self.failing_row(table, row))
                .table(table.desc.schema.as_str(), table.desc.name.as_str())
                .constraint(name.as_str()));
            }
        }
        Ok(())
    }

    pub(super) fn failing_row(&self, table: &BoundTable, row: &[Slot]) -> String {
        let values = row.iter().zip(&table.types).zip(&table.desc.columns);
        let values = values.filter(|(_, column)| !column.hidden);
        let values = values.map(|((&slot, &ty), _)| self.printed(&self.frame[slot], ty));
        format!("Failing row contains ({}).", values.collect::<Vec<_>>().join(", "))
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
        SqlError::new(
            SqlState::UNIQUE_VIOLATION,
            format!("duplicate key value violates unique constraint \"{name}\""),
        )
        .detail(format!("Key ({})=({}) already exists.", names.join(", "), values.join(", ")))
        .table(table.desc.schema.as_str(), table.desc.name.as_str())
        .constraint(name)
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
