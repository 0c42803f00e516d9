//! DELETE.

use super::super::changes::Finding;
use super::super::late::Check;
use super::super::{Exec, Flow, Next};
use super::{is_point, repeats};
use crate::counts::Write;
use scaledb_engine::Worker;
use scaledb_locks::Mode;
use scaledb_planner::plan::{Checks, Delete, Slot};
use scaledb_types::{Result, Value};

impl<'a, W: Worker> Exec<'a, W> {
    pub(super) fn delete(&mut self, delete: &Delete, next: Next<'_, 'a, W>) -> Result<()> {
        if delete.instead {
            return self.delete_instead(delete, next);
        }
        if let Some(triggers) = delete.triggers.as_deref().filter(|triggers| triggers.see_rows()) {
            return self.delete_triggered(delete, triggers, next);
        }
        if is_point(&delete.source) && self.parts.is_none() {
            self.delete_point(delete, next)
        } else {
            self.delete_found(delete, next)
        }
    }

    /// Deletes the row of a key at once.
    fn delete_point(&mut self, delete: &Delete, next: Next<'_, 'a, W>) -> Result<()> {
        let table = &*delete.table;
        let needs_old = !delete.checks.referred.is_empty();
        let _ = self.run(&delete.source, &mut |exec| {
            let row = exec.found(delete.target)?;
            if exec.must_reserve(table) {
                exec.reserve_all(table, &[row], Mode::AccessExclusive)?;
            }
            exec.locking.wrote = true;
            exec.delete_row(table, row)?;
            if needs_old {
                let old = exec.copy(&delete.old);
                exec.note_delete(&delete.checks, &old);
            }
            exec.wrote(table.desc.oid, Write::Delete);
            exec.returning(delete.returning.as_deref(), &delete.returning_slots, next)?;
            Ok(Flow::Continue(()))
        })?;
        Ok(())
    }

    /// Finds all rows, then deletes them.
    fn delete_found(&mut self, delete: &Delete, next: Next<'_, 'a, W>) -> Result<()> {
        let table = &*delete.table;
        let needs_old = !delete.checks.referred.is_empty();
        let old: &[Slot] = if needs_old { &delete.old } else { &[] };
        let returning = delete.returning.as_deref().unwrap_or_default();
        let mut finding = Finding::new(old.len(), 0, returning.len(), repeats(&delete.source));
        let _ = self.run(&delete.source, &mut |exec| {
            let row = exec.found(delete.target)?;
            if !finding.meets(&mut exec.memory, row)? || !exec.claims(table, row, true) {
                return Ok(Flow::Continue(()));
            }
            let mut values = Vec::with_capacity(finding.width());
            values.extend(old.iter().map(|&slot| exec.frame[slot].clone()));
            for expr in returning {
                values.push(exec.eval(expr)?);
            }
            finding.push(exec.context, &mut exec.memory, row, values)?;
            Ok(Flow::Continue(()))
        })?;
        let changes = finding.finish()?;
        if self.must_reserve(table) {
            self.reserve_all(table, changes.names(), Mode::AccessExclusive)?;
        }
        self.locking.wrote |= !changes.names().is_empty();
        let _ = changes.each(|change| {
            self.tick()?;
            if self.parts.is_none() {
                self.delete_row(table, change.row)?;
            }
            if needs_old {
                self.note_delete(&delete.checks, change.old);
            }
            self.wrote(table.desc.oid, Write::Delete);
            if delete.returning.is_none() {
                return Ok(Flow::Continue(()));
            }
            self.restore(&delete.returning_slots, change.returned);
            next(self)
        })?;
        self.delete_apart(&delete.table, changes);
        Ok(())
    }

    /// Notes what a delete means for foreign keys.
    pub(super) fn note_delete(&mut self, checks: &Checks, old: &[Value]) {
        for key in &checks.referred {
            let values = key.to_columns.iter().map(|&column| old[column].clone()).collect();
            self.note(Check::referred(key.clone(), values, None));
        }
    }
}
