//! ModifyTable: INSERT, UPDATE, DELETE and MERGE.
//!
//! UPDATE, DELETE and MERGE find all their rows before they change the first one, so that none is met again where an
//! index has it now; a row found by its key alone is changed at once.

mod constraints;
mod delete;
mod insert;
mod instead;
mod merge;
mod on_conflict;
mod row_writes;
mod triggered;
mod update;

pub(super) use insert::Inserting;
pub(super) use on_conflict::with_key;

use super::{Exec, Flow, Next};
use crate::counts::Write;
use scaledb_engine::{RowId, Worker};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Access, KeyValue, Modify, Node, Slot};
use scaledb_types::{Result, SqlError};

/// Whether a source yields one row at most, found by its key.
fn is_point(source: &Node) -> bool {
    let Node::Scan(scan) = source else { return false };
    let Access::Point { key, .. } = &scan.access else { return false };
    key.iter().all(|value| matches!(value, KeyValue::One(_)))
}

/// Whether a source may yield one row of its target several times: a scan does not, for its keys are all different.
fn repeats(source: &Node) -> bool {
    match source {
        Node::Filter { input, .. } => repeats(input),
        Node::Scan(_) => false,
        _ => true,
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Runs a statement that writes; `next` gets the rows of RETURNING.
    pub(super) fn modify_table(&mut self, modify: &Modify, next: Next<'_, 'a, W>) -> Result<Flow> {
        if modify.triggers().next().is_some() {
            self.begin_triggers(modify)?;
        }
        match modify {
            Modify::Insert(insert) => self.insert(insert, next)?,
            Modify::Update(update) => self.update(update, next)?,
            Modify::Delete(delete) => self.delete(delete, next)?,
            Modify::Merge(merge) => self.merge(merge, next)?,
        }
        if self.parts.is_none() {
            self.check_noted()?;
        }
        if !self.goes_on && modify.triggers().next().is_some() {
            self.end_triggers(modify)?;
        }
        Ok(Flow::Continue(()))
    }

    /// Fires the triggers before a statement.
    #[cold]
    pub(crate) fn begin_triggers(&mut self, modify: &Modify) -> Result<()> {
        for (triggers, table) in modify.triggers() {
            self.admit_triggers(triggers)?;
            if !self.goes_on {
                self.fire_statement(&triggers.before_statement, table, triggers.event)?;
            }
        }
        Ok(())
    }

    /// Fires the triggers before a COPY, whose rows are inserted one by one.
    pub(crate) fn begin_copy(&mut self, modify: &Modify) -> Result<()> {
        for (triggers, table) in modify.triggers() {
            self.fire_statement(&triggers.before_statement, table, triggers.event)?;
        }
        Ok(())
    }

    /// Fires the triggers behind a COPY: those that have waited for its rows, and those of the statement.
    pub(crate) fn end_copy(&mut self, modify: &Modify, empty: bool) -> Result<()> {
        if empty {
            self.begin_copy(modify)?;
        }
        self.fire_waiting()?;
        self.end_triggers(modify)
    }

    /// Fires the triggers behind a statement.
    #[cold]
    pub(crate) fn end_triggers(&mut self, modify: &Modify) -> Result<()> {
        // those of an INSERT fire behind those of its ON CONFLICT DO UPDATE
        let events: Vec<_> = modify.triggers().collect();
        for (triggers, table) in events.into_iter().rev() {
            self.fire_statement(&triggers.after_statement, table, triggers.event)?;
        }
        Ok(())
    }

    /// Counts a row that is written.
    #[inline]
    fn wrote(&mut self, table: u32, write: Write) {
        self.affected += 1;
        self.context.counts.wrote(table, write);
    }

    /// The name of the row that a scan is at.
    fn found(&self, scan: usize) -> Result<RowId> {
        self.rows[scan].ok_or_else(|| SqlError::internal("a row without a name"))
    }

    /// Hands a row of RETURNING on.
    fn returning(&mut self, returning: Option<&[Expr]>, slots: &[Slot], next: Next<'_, 'a, W>) -> Result<()> {
        let Some(returning) = returning else { return Ok(()) };
        // no expression of RETURNING reads the slots that these values go to
        for (expr, &slot) in returning.iter().zip(slots) {
            let value = self.eval(expr)?;
            self.frame[slot] = value;
        }
        let _ = next(self)?;
        Ok(())
    }
}
