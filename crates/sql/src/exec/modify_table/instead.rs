//! INSERT, UPDATE and DELETE of views whose triggers do what is to be done: no row is written here.

use super::super::spill::Stash;
use super::super::{Exec, Flow, Next};
use super::triggered::others;
use scaledb_engine::Worker;
use scaledb_planner::plan::trigger::Triggers;
use scaledb_planner::plan::{Delete, Insert, Update};
use scaledb_types::{Result, SqlError};

fn no_triggers() -> SqlError {
    SqlError::internal("a view without triggers")
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Hands the row that the slots hold to the triggers.
    pub(super) fn insert_instead(&mut self, insert: &Insert, next: Next<'_, 'a, W>) -> Result<()> {
        let triggers = insert.triggers.as_deref().ok_or_else(no_triggers)?;
        let mut new = self.copy(&insert.row).into_vec();
        if !self.fire_instead(triggers, &insert.table, None, Some(&mut new))? {
            return Ok(());
        }
        self.restore(&insert.row, &new);
        self.affected += 1;
        self.check_views(&insert.table, &insert.checks, &insert.row)?;
        self.returning(insert.returning.as_deref(), &insert.returning_slots, next)
    }

    /// Finds all rows of the view, and hands them to the triggers.
    pub(super) fn update_instead(&mut self, update: &Update, next: Next<'_, 'a, W>) -> Result<()> {
        let triggers: &Triggers = update.triggers.as_deref().ok_or_else(no_triggers)?;
        let others = others(update.returning.as_deref(), &[&update.old, &update.row]);
        let (old, new) = (update.old.len(), update.row.len());
        let mut rows = Stash::new(old + new + others.len());
        let _ = self.run(&update.source, &mut |exec| {
            exec.new_row(update)?;
            let slots = update.old.iter().chain(&update.row).chain(&others);
            let values: Vec<_> = slots.map(|&slot| exec.frame[slot].clone()).collect();
            rows.push(exec.context, &mut exec.memory, values.into())?;
            Ok(Flow::Continue(()))
        })?;
        let mut rows = rows.finish()?.drain();
        while let Some(row) = rows.next()? {
            self.tick()?;
            let (old, rest) = row.split_at(old);
            let (new, others_of_row) = rest.split_at(new);
            let mut new = new.to_vec();
            if !self.fire_instead(triggers, &update.table, Some(old), Some(&mut new))? {
                continue;
            }
            self.restore(&update.old, old);
            self.restore(&update.row, &new);
            self.restore(&others, others_of_row);
            self.affected += 1;
            self.check_views(&update.table, &update.checks, &update.row)?;
            self.returning(update.returning.as_deref(), &update.returning_slots, next)?;
        }
        Ok(())
    }

    /// Finds all rows of the view, and hands them to the triggers.
    pub(super) fn delete_instead(&mut self, delete: &Delete, next: Next<'_, 'a, W>) -> Result<()> {
        let triggers: &Triggers = delete.triggers.as_deref().ok_or_else(no_triggers)?;
        let others = others(delete.returning.as_deref(), &[&delete.old]);
        let mut rows = Stash::new(delete.old.len() + others.len());
        let _ = self.run(&delete.source, &mut |exec| {
            let slots = delete.old.iter().chain(&others);
            let values: Vec<_> = slots.map(|&slot| exec.frame[slot].clone()).collect();
            rows.push(exec.context, &mut exec.memory, values.into())?;
            Ok(Flow::Continue(()))
        })?;
        let mut rows = rows.finish()?.drain();
        while let Some(row) = rows.next()? {
            self.tick()?;
            let (old, others_of_row) = row.split_at(delete.old.len());
            if !self.fire_instead(triggers, &delete.table, Some(old), None)? {
                continue;
            }
            self.restore(&delete.old, old);
            self.restore(&others, others_of_row);
            self.affected += 1;
            self.returning(delete.returning.as_deref(), &delete.returning_slots, next)?;
        }
        Ok(())
    }
}
