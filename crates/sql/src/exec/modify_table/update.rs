//! UPDATE.

use super::super::changes::Finding;
use super::super::late::Check;
use super::super::{Exec, Flow, Next, codec};
use super::{is_point, repeats};
use crate::counts::Write;
use scaledb_base::Error;
use scaledb_engine::{RowId, Worker};
use scaledb_locks::Mode;
use scaledb_planner::plan::{BoundTable, Checks, Slot, Update};
use scaledb_row::Projection;
use scaledb_types::{Result, SqlError, Value};
use std::sync::Arc;

/// How an UPDATE locks its rows: keys that others may refer to are locked more strongly.
pub(super) fn mode_of(update: &Update) -> Mode {
    let desc = &update.table.desc;
    let unique = (0..update.table.secondary.len()).filter(|&number| desc.indexes[number].is_key());
    let keys = unique.flat_map(|number| &update.table.secondary[number]).chain(&update.table.primary);
    let sets = |position: usize| update.columns.contains(&position);
    if keys.into_iter().any(|part| sets(part.position)) { Mode::AccessExclusive } else { Mode::Exclusive }
}

/// Whether the row is needed as it was before.
fn needs_old(update: &Update) -> bool {
    update.moves || update.checks.compares()
}

impl<'a, W: Worker> Exec<'a, W> {
    pub(super) fn update(&mut self, update: &Update, next: Next<'_, 'a, W>) -> Result<()> {
        if update.instead {
            return self.update_instead(update, next);
        }
        if let Some(triggers) = update.triggers.as_deref().filter(|triggers| triggers.see_rows()) {
            return self.update_triggered(update, triggers, next);
        }
        if is_point(&update.source) && !update.moves && self.parts.is_none() {
            self.update_point(update, next)
        } else {
            self.update_found(update, next)
        }
    }

    /// Changes the row of a key at once.
    fn update_point(&mut self, update: &Update, next: Next<'_, 'a, W>) -> Result<()> {
        let table = &*update.table;
        let columns = &update.columns;
        let needs_old = needs_old(update);
        let _ = self.run(&update.source, &mut |exec| {
            let row = exec.found(update.target)?;
            if exec.must_reserve(table) {
                exec.reserve_all(table, &[row], mode_of(update))?;
            }
            exec.locking.wrote = true;
            exec.new_row(update)?;
            exec.check_update(update, row)?;
            let done = {
                let Some(worker) = exec.worker.take() else {
                    return Err(SqlError::internal("a nested write within a scan"));
                };
                let frame = &exec.frame;
                let done = worker.update_at(table.info.id, row, &update.projection, |image| {
                    for &column in columns {
                        codec::set(image, table, column, &frame[update.row[column]])?;
                    }
                    Ok(())
                });
                exec.worker = Some(worker);
                done
            };
            exec.updated(table, done, &update.row)?;
            exec.check_views(table, &update.checks, &update.row)?;
            if needs_old {
                let (old, new) = (exec.copy(&update.old), exec.copy(&update.row));
                exec.note_update(&update.table, &update.checks, &old, &new)?;
            }
            exec.wrote(table.desc.oid, Write::Update);
            exec.returning(update.returning.as_deref(), &update.returning_slots, next)?;
            Ok(Flow::Continue(()))
        })?;
        Ok(())
    }

    /// Finds all rows, then changes them.
    fn update_found(&mut self, update: &Update, next: Next<'_, 'a, W>) -> Result<()> {
        let table = &*update.table;
        let columns = &update.columns;
        let needs_old = needs_old(update);
        let old: &[Slot] = if needs_old { &update.old } else { &[] };
        let returning = update.returning.as_deref().unwrap_or_default();
        let mut finding = Finding::new(old.len(), update.row.len(), returning.len(), repeats(&update.source));
        let _ = self.run(&update.source, &mut |exec| {
            let row = exec.found(update.target)?;
            // with FROM a row may be found several times: the first one counts
            if !finding.meets(&mut exec.memory, row)? || !exec.claims(table, row, false) {
                return Ok(Flow::Continue(()));
            }
            exec.new_row(update)?;
            exec.check_update(update, row)?;
            exec.check_views(table, &update.checks, &update.row)?;
            let slots = old.iter().chain(&update.row);
            let mut values = Vec::with_capacity(finding.width());
            values.extend(slots.map(|&slot| exec.frame[slot].clone()));
            for expr in returning {
                values.push(exec.eval(expr)?);
            }
            finding.push(exec.context, &mut exec.memory, row, values)?;
            Ok(Flow::Continue(()))
        })?;
        let changes = finding.finish()?;
        if self.must_reserve(table) {
            self.reserve_all(table, changes.names(), mode_of(update))?;
        }
        self.locking.wrote |= !changes.names().is_empty();
        if self.parts.is_none() {
            self.write_changes(table, columns, &update.projection, update.moves, &changes)?;
        }
        let _ = changes.each(|change| {
            if needs_old {
                self.note_update(&update.table, &update.checks, change.old, change.new)?;
            }
            self.wrote(table.desc.oid, Write::Update);
            if update.returning.is_none() {
                return Ok(Flow::Continue(()));
            }
            self.restore(&update.returning_slots, change.returned);
            next(self)
        })?;
        self.update_apart(&update.table, columns, &update.projection, changes);
        Ok(())
    }

    /// Computes the new row of an UPDATE into its slots.
    pub(super) fn new_row(&mut self, update: &Update) -> Result<()> {
        for &(new, old) in &update.copies {
            self.frame[new] = self.frame[old].clone();
        }
        for (column, value) in &update.set {
            let value = self.eval(value)?;
            self.frame[update.row[*column]] = value;
        }
        Ok(())
    }

    fn updated(
        &mut self,
        table: &BoundTable,
        done: std::result::Result<Option<()>, Error>,
        row: &[Slot],
    ) -> Result<()> {
        match done {
            Ok(_) => Ok(()),
            Err(error) => {
                let new = self.copy(row);
                Err(self.write_error(table, error, &new))
            }
        }
    }

    /// `check_row` of a row that an UPDATE changes.
    pub(super) fn check_update(&mut self, update: &Update, row: RowId) -> Result<()> {
        let table = &*update.table;
        if let Some(policies) = &update.checks.policies {
            self.check_policies(table, policies)?;
        }
        let checked = self.check_constraints(table, &update.checks, &update.row);
        let Err(error) = checked else { return Ok(()) };
        // the message shows the whole row, of which the statement may have read a part only
        let schema = &table.info.schema;
        let is_set = |position: usize| update.set.iter().any(|(column, _)| *column == position);
        let Some(worker) = self.worker.take() else { return Err(error) };
        let frame = &mut self.frame;
        let loaded = worker.update_at(table.info.id, row, &Projection::all(schema), |image| {
            for (position, &slot) in update.row.iter().enumerate().filter(|&(position, _)| !is_set(position))
            {
                if let Ok(value) = codec::column(image.view(), table, position) {
                    frame[slot] = value;
                }
            }
            Ok(())
        });
        self.worker = Some(worker);
        match loaded {
            Ok(Some(())) => Err(self.with_failing_row(error, table, &update.row, &update.checks.given)),
            _ => Err(error),
        }
    }

    /// Notes what an update means for foreign keys, and for unique keys that are checked late.
    pub(super) fn note_update(
        &mut self,
        table: &Arc<BoundTable>,
        checks: &Checks,
        old: &[Value],
        new: &[Value],
    ) -> Result<()> {
        self.note_keys(table, &checks.late, old, new)?;
        let pick = |columns: &[usize], row: &[Value]| -> Vec<Value> {
            columns.iter().map(|&column| row[column].clone()).collect()
        };
        for key in &checks.references {
            let (before, after) = (pick(&key.from_columns, old), pick(&key.from_columns, new));
            if before != after {
                self.note(Check::referring(key.clone(), after)?);
            }
        }
        for key in &checks.referred {
            let (before, after) = (pick(&key.to_columns, old), pick(&key.to_columns, new));
            // a key that is equal, and looks otherwise, goes along as well
            if !Value::are_identical(&before, &after) {
                self.note(Check::referred(key.clone(), before, Some(after)));
            }
        }
        Ok(())
    }
}
