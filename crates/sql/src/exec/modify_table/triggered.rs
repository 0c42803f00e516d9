//! UPDATE and DELETE of rows that triggers see: each row is written behind the triggers that fire before it, so that
//! these see the rows that were written before.

use super::super::changes::Finding;
use super::super::{Exec, Flow, Next, codec};
use super::repeats;
use super::update::mode_of;
use crate::counts::Write;
use scaledb_engine::{RowId, Worker};
use scaledb_locks::Mode;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::trigger::Triggers;
use scaledb_planner::plan::{BoundTable, Delete, Slot, Update};
use scaledb_row::Projection;
use scaledb_types::{Result, SqlError, SqlState, Value};

/// What RETURNING reads besides the row that is written.
pub(super) fn others(returning: Option<&[Expr]>, own: &[&[Slot]]) -> Vec<Slot> {
    let mut slots = Vec::new();
    for expr in returning.into_iter().flatten() {
        expr.slots(&mut |slot| {
            if !slots.contains(&slot) && !own.iter().any(|row| row.contains(&slot)) {
                slots.push(slot);
            }
        });
    }
    slots
}

impl<'a, W: Worker> Exec<'a, W> {
    pub(super) fn update_triggered(
        &mut self,
        update: &Update,
        triggers: &Triggers,
        next: Next<'_, 'a, W>,
    ) -> Result<()> {
        let table = &update.table;
        let others = others(update.returning.as_deref(), &[&update.old, &update.row]);
        let (old, new) = (update.old.len(), update.row.len());
        let mut finding = Finding::new(old, new, others.len(), repeats(&update.source));
        let _ = self.run(&update.source, &mut |exec| {
            let row = exec.found(update.target)?;
            if !finding.meets(&mut exec.memory, row)? {
                return Ok(Flow::Continue(()));
            }
            exec.new_row(update)?;
            let slots = update.old.iter().chain(&update.row).chain(&others);
            let values = slots.map(|&slot| exec.frame[slot].clone()).collect();
            finding.push(exec.context, &mut exec.memory, row, values)?;
            Ok(Flow::Continue(()))
        })?;
        let changes = finding.finish()?;
        if self.must_reserve(table) {
            self.reserve_all(table, changes.names(), mode_of(update))?;
        }
        self.locking.wrote |= !changes.names().is_empty();
        let _ = changes.each(|change| {
            self.tick()?;
            let mut new = change.new.to_vec();
            if !triggers.before_row.is_empty() {
                match self.fire_before(triggers, table, Some(change.old), Some(new))? {
                    Some(row) => new = row,
                    None => return Ok(Flow::Continue(())),
                }
                self.check_untouched(table, change.row, change.old)?;
            }
            self.restore(&update.old, change.old);
            self.restore(&update.row, &new);
            self.restore(&others, change.returned);
            self.generate(&update.generated, &update.row)?;
            self.check_update(update, change.row)?;
            let new = self.copy(&update.row);
            self.change_row(table, change.row, &update.columns, &update.projection, change.old, &new)?;
            self.note_update(table, &update.checks, change.old, &new)?;
            self.check_views(table, &update.checks, &update.row)?;
            self.fire_after(triggers, table, Some(change.old), Some(&new))?;
            self.wrote(table.desc.oid, Write::Update);
            self.returning(update.returning.as_deref(), &update.returning_slots, next)?;
            Ok(Flow::Continue(()))
        })?;
        Ok(())
    }

    /// Refuses to write a row that a trigger has written meanwhile.
    pub(super) fn check_untouched(&mut self, table: &BoundTable, row: RowId, old: &[Value]) -> Result<()> {
        let all = Projection::all(&table.info.schema);
        let same = self.worker()?.get_at(table.info.id, row, &all, |found| {
            codec::columns(found, table)
                .zip(old)
                .try_fold(true, |same, (now, then)| Ok(same && now? == *then))
        });
        if same.map_err(|error| self.context.engine_error(error))?.unwrap_or(Ok(false))? {
            return Ok(());
        }
        let what =
            "tuple to be updated was already modified by an operation triggered by the current command";
        let hint =
            "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.";
        Err(SqlError::new(SqlState::TRIGGERED_DATA_CHANGE_VIOLATION, what).hint(hint))
    }

    pub(super) fn delete_triggered(
        &mut self,
        delete: &Delete,
        triggers: &Triggers,
        next: Next<'_, 'a, W>,
    ) -> Result<()> {
        let table = &delete.table;
        let others = others(delete.returning.as_deref(), &[&delete.old]);
        let mut finding = Finding::new(delete.old.len(), 0, others.len(), repeats(&delete.source));
        let _ = self.run(&delete.source, &mut |exec| {
            let row = exec.found(delete.target)?;
            if finding.meets(&mut exec.memory, row)? {
                let slots = delete.old.iter().chain(&others);
                let values = slots.map(|&slot| exec.frame[slot].clone()).collect();
                finding.push(exec.context, &mut exec.memory, row, values)?;
            }
            Ok(Flow::Continue(()))
        })?;
        let changes = finding.finish()?;
        if self.must_reserve(table) {
            self.reserve_all(table, changes.names(), Mode::AccessExclusive)?;
        }
        self.locking.wrote |= !changes.names().is_empty();
        let _ = changes.each(|change| {
            self.tick()?;
            if self.fire_before(triggers, table, Some(change.old), None)?.is_none() {
                return Ok(Flow::Continue(()));
            }
            if !triggers.before_row.is_empty() {
                self.check_untouched(table, change.row, change.old)?;
            }
            self.restore(&delete.old, change.old);
            self.restore(&others, change.returned);
            self.delete_row(table, change.row)?;
            self.note_delete(&delete.checks, change.old);
            self.fire_after(triggers, table, Some(change.old), None)?;
            self.wrote(table.desc.oid, Write::Delete);
            self.returning(delete.returning.as_deref(), &delete.returning_slots, next)?;
            Ok(Flow::Continue(()))
        })?;
        Ok(())
    }
}
