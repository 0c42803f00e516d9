//! Writes of single rows to the engine: of statements, of what waited for their end, and of referential actions.

use super::super::changes::Changes;
use super::super::{Exec, Flow, codec};
use scaledb_engine::{RowId, Worker};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{BoundTable, Slot};
use scaledb_row::{Projection, RowBuf};
use scaledb_types::{Result, Value};

impl<'a, W: Worker> Exec<'a, W> {
    /// Computes generated columns into the slots of their row.
    #[inline]
    pub(in crate::exec) fn generate(&mut self, generated: &[(usize, Expr)], row: &[Slot]) -> Result<()> {
        for (position, expr) in generated {
            let value = self.eval(expr)?;
            self.frame[row[*position]] = value;
        }
        Ok(())
    }

    /// Writes rows that were found and changed; `moves` if a column of their keys is set.
    pub(in crate::exec) fn write_changes(
        &mut self,
        table: &BoundTable,
        columns: &[usize],
        projection: &Projection,
        moves: bool,
        changes: &Changes<'_>,
    ) -> Result<()> {
        let mut moved: Vec<RowId> = Vec::new();
        let _ = changes.each(|change| {
            self.tick()?;
            if moves && self.moves(table, columns, change.old, change.new) {
                self.delete_row(table, change.row)?;
                self.memory.take_rows(size_of::<RowId>())?;
                moved.push(change.row);
            } else {
                self.update_row(table, change.row, columns, projection, change.new)?;
            }
            Ok(Flow::Continue(()))
        })?;
        // keys that rows leave and others take
        let mut moved = moved.into_iter().peekable();
        if moved.peek().is_none() {
            return Ok(());
        }
        let _ = changes.each(|change| {
            if moved.next_if_eq(&change.row).is_some() {
                self.tick()?;
                self.insert_moved(table, change.new)?;
            }
            Ok(Flow::Continue(()))
        })?;
        Ok(())
    }

    /// Whether a row gets another primary key, or an equal one that is not the same: 1.00 for 1.0, 0 for -0.
    fn moves(&self, table: &BoundTable, columns: &[usize], old: &[Value], new: &[Value]) -> bool {
        let key = |column: &usize| table.primary.iter().any(|part| part.position == *column);
        let exact = |value: &Value| {
            let mut bytes = Vec::new();
            value.write_tagged(&mut bytes).map(|()| bytes).ok()
        };
        let differs = |a: &Value, b: &Value| a != b || exact(a) != exact(b);
        columns.iter().any(|column| key(column) && differs(&old[*column], &new[*column]))
    }

    pub(in crate::exec) fn delete_row(&mut self, table: &BoundTable, row: RowId) -> Result<()> {
        let deleted = self.worker()?.delete_at(table.info.id, row);
        deleted.map_err(|error| self.context.engine_error(error))?;
        Ok(())
    }

    pub(in crate::exec) fn insert_moved(&mut self, table: &BoundTable, new: &[Value]) -> Result<RowId> {
        let mut buffer = RowBuf::new(&table.info.schema);
        codec::write(&mut buffer, table, new.iter()).map_err(|error| self.context.engine_error(error))?;
        match self.worker()?.insert(table.info.id, &buffer) {
            Ok(row) => Ok(row),
            Err(error) => Err(self.write_error(table, error, new)),
        }
    }

    /// Sets columns of a row, which may be those of its key: the row that it is then.
    pub(in crate::exec) fn change_row(
        &mut self,
        table: &BoundTable,
        row: RowId,
        columns: &[usize],
        projection: &Projection,
        old: &[Value],
        new: &[Value],
    ) -> Result<RowId> {
        if self.moves(table, columns, old, new) {
            self.delete_row(table, row)?;
            return self.insert_moved(table, new);
        }
        self.update_row(table, row, columns, projection, new).map(|()| row)
    }

    /// Sets columns of a row in place.
    pub(in crate::exec) fn update_row(
        &mut self,
        table: &BoundTable,
        row: RowId,
        columns: &[usize],
        projection: &Projection,
        new: &[Value],
    ) -> Result<()> {
        let is_key = |column: usize| table.primary.iter().any(|part| part.position == column);
        let done = self.worker()?.update_at(table.info.id, row, projection, |image| {
            for &column in columns.iter().filter(|&&column| !is_key(column)) {
                codec::set(image, table, column, &new[column])?;
            }
            Ok(())
        });
        match done {
            Ok(_) => Ok(()),
            Err(error) => Err(self.write_error(table, error, new)),
        }
    }
}
