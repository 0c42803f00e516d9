//! MERGE.
//!
//! All rows of the source are found, with what is to be done with each, before the first one is written: conditions and
//! values see the rows as they were. Then they are written one after the other, in the order in which they were found,
//! so that triggers see the rows that were written before.

use super::super::changes::Changes;
use super::super::spill::{Stash, Stashed};
use super::super::{Exec, Flow, Next};
use super::Inserting;
use super::update::mode_of;
use crate::counts::Write;
use scaledb_engine::{RowId, Worker};
use scaledb_locks::Mode;
use scaledb_planner::plan::{Delete, Merge, MergeAction, Slot, Update};
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::collections::HashSet;

/// What a MERGE has written.
struct Merging<'m> {
    /// Rows that were there before.
    touched: HashSet<RowId>,
    /// What the clauses insert.
    inserts: Vec<Option<Inserting<'m>>>,
    /// Whether some trigger fires before a row is written, and may write others.
    fires: bool,
}

/// A row that was found: the number of its clause, that of its name, what it was before, if that is kept, and what it
/// is to be.
struct Merged<'v> {
    clause: usize,
    name: &'v Value,
    old: &'v [Value],
    new: &'v [Value],
}

#[cold]
fn twice() -> SqlError {
    let what = "MERGE command cannot affect row a second time";
    SqlError::new(SqlState::CARDINALITY_VIOLATION, what)
        .hint("Ensure that not more than one source row matches any one target row.")
}

#[cold]
fn lost() -> SqlError {
    SqlError::internal("a row of MERGE that was not kept as it was found")
}

fn merged<'v>(merge: &Merge, row: &'v [Value]) -> Result<Merged<'v>> {
    let [Value::Int8(clause), name, values @ ..] = row else { return Err(lost()) };
    let old = if merge.keeps_old { merge.old.len() } else { 0 };
    let (old, new) = values.split_at_checked(old).ok_or_else(lost)?;
    Ok(Merged { clause: usize::try_from(*clause).map_err(|_| lost())?, name, old, new })
}

/// Calls `f` with each row that was found.
fn each(found: &Stashed<'_>, mut f: impl FnMut(&[Value]) -> Result<()>) -> Result<()> {
    if let Some(rows) = found.in_memory() {
        return rows.iter().try_for_each(|row| f(row));
    }
    let Some(mut reader) = found.reader() else { return Ok(()) };
    while let Some(row) = reader.next()? {
        f(&row)?;
    }
    Ok(())
}

impl<'a, W: Worker> Exec<'a, W> {
    pub(super) fn merge(&mut self, merge: &Merge, next: Next<'_, 'a, W>) -> Result<()> {
        let found = self.find_merged(merge)?;
        if self.must_reserve(&merge.table) {
            each(&found, |row| self.reserve_merged(merge, row))?;
        }
        self.locking.wrote |= !found.is_empty();
        let mut merging = Merging {
            touched: HashSet::new(),
            inserts: merge.clauses.iter().map(|_| None).collect(),
            fires: merge.triggers.iter().any(|triggers| !triggers.before_row.is_empty()),
        };
        each(&found, |row| {
            self.tick()?;
            self.merge_row(merge, &mut merging, row, next)
        })
    }

    /// The rows that a clause has something to do with, and what they are to be.
    fn find_merged(&mut self, merge: &Merge) -> Result<Stashed<'a>> {
        let old: &[Slot] = if merge.keeps_old { &merge.old } else { &[] };
        let width = 2 + old.len() + merge.old.len();
        let mut found = Stash::new(width);
        let _ = self.run(&merge.source, &mut |exec| {
            let Some(clause) = exec.clause_of(merge)? else { return Ok(Flow::Continue(())) };
            let mut row = Vec::with_capacity(width);
            row.push(Value::Int8(clause as i64));
            row.push(exec.frame[merge.name].clone());
            if let Some(policies) = &merge.clauses[clause].policies {
                exec.check_policies(&merge.table, policies)?;
            }
            match &merge.clauses[clause].action {
                MergeAction::Nothing => return Ok(Flow::Continue(())),
                MergeAction::Insert(insert) => {
                    row.resize(2 + old.len(), Value::Null);
                    for value in &insert.values {
                        row.push(exec.eval(value)?);
                    }
                }
                MergeAction::Update(update) => {
                    exec.new_row(update)?;
                    row.extend(old.iter().chain(&update.row).map(|&slot| exec.frame[slot].clone()));
                }
                MergeAction::Delete(_) => row.extend(old.iter().map(|&slot| exec.frame[slot].clone())),
            }
            row.resize(width, Value::Null);
            found.push(exec.context, &mut exec.memory, row.into())?;
            Ok(Flow::Continue(()))
        })?;
        found.finish()
    }

    /// The first clause that applies to the row at hand.
    fn clause_of(&mut self, merge: &Merge) -> Result<Option<usize>> {
        let matched = !self.frame[merge.name].is_null();
        for (number, clause) in merge.clauses.iter().enumerate() {
            let holds = clause.matched == matched
                && match &clause.condition {
                    Some(condition) => self.holds(condition)?,
                    None => true,
                };
            if holds {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Locks a row that is to be changed, where rows are locked.
    fn reserve_merged(&mut self, merge: &Merge, row: &[Value]) -> Result<()> {
        let row = merged(merge, row)?;
        let mode = match merge.clauses.get(row.clause).map(|clause| &clause.action) {
            Some(MergeAction::Update(update)) => mode_of(update),
            Some(MergeAction::Delete(_)) => Mode::AccessExclusive,
            _ => return Ok(()),
        };
        let id = self.row_named(row.name).ok_or_else(lost)?;
        self.reserve_all(&merge.table, &[id], mode)
    }

    /// Does what is to be done with a row.
    fn merge_row<'m>(
        &mut self,
        merge: &'m Merge,
        merging: &mut Merging<'m>,
        row: &[Value],
        next: Next<'_, 'a, W>,
    ) -> Result<()> {
        let row = merged(merge, row)?;
        let before = self.affected;
        match merge.clauses.get(row.clause).map(|clause| &clause.action).ok_or_else(lost)? {
            MergeAction::Nothing => {}
            MergeAction::Insert(insert) => {
                self.restore(&insert.row, row.new);
                let own = merging.inserts.get_mut(row.clause).ok_or_else(lost)?;
                self.insert_row(own.get_or_insert_with(|| Inserting::new(insert)), next)?;
                let inserted = self.affected - before;
                self.note_done(|measure| measure.merged.inserted += inserted);
            }
            MergeAction::Update(update) => {
                let id = self.unwritten(merging, row.name)?;
                self.merge_update(update, id, &row, merging.fires)?;
                let updated = self.affected - before;
                self.touch(merging, id, updated)?;
                self.note_done(|measure| measure.merged.updated += updated);
            }
            MergeAction::Delete(delete) => {
                let id = self.unwritten(merging, row.name)?;
                self.merge_delete(delete, id, &row, merging.fires)?;
                let deleted = self.affected - before;
                self.touch(merging, id, deleted)?;
                self.note_done(|measure| measure.merged.deleted += deleted);
            }
        }
        Ok(())
    }

    /// The row of a name, which the statement has not written before.
    fn unwritten(&self, merging: &Merging<'_>, name: &Value) -> Result<RowId> {
        let id = self.row_named(name).ok_or_else(lost)?;
        if merging.touched.contains(&id) { Err(twice()) } else { Ok(id) }
    }

    /// Notes that a row is written, unless a trigger has kept it from that.
    fn touch(&mut self, merging: &mut Merging<'_>, id: RowId, written: u64) -> Result<()> {
        if written > 0 {
            self.memory.take_rows(2 * size_of::<RowId>())?;
            merging.touched.insert(id);
        }
        Ok(())
    }

    fn merge_update(&mut self, update: &Update, id: RowId, row: &Merged<'_>, fires: bool) -> Result<()> {
        let (table, old) = (&update.table, row.old);
        let mut new = row.new.to_vec();
        if let Some(triggers) = update.triggers.as_deref().filter(|triggers| !triggers.before_row.is_empty())
        {
            match self.fire_before(triggers, table, Some(old), Some(new))? {
                Some(row) => new = row,
                None => return Ok(()),
            }
        }
        if fires {
            self.check_untouched(table, id, old)?;
        }
        self.restore(&update.row, &new);
        self.generate(&update.generated, &update.row)?;
        self.check_update(update, id)?;
        let new = self.copy(&update.row);
        if self.parts.is_some() {
            if !self.claims(table, id, false) {
                return Err(twice());
            }
            let change = Changes::one(id, old, &new);
            self.update_apart(table, &update.columns, &update.projection, change);
        } else {
            self.change_row(table, id, &update.columns, &update.projection, old, &new)?;
        }
        self.note_update(table, &update.checks, old, &new)?;
        if let Some(triggers) = &update.triggers {
            self.fire_after(triggers, table, Some(old), Some(&new))?;
        }
        self.wrote(table.desc.oid, Write::Update);
        Ok(())
    }

    fn merge_delete(&mut self, delete: &Delete, id: RowId, row: &Merged<'_>, fires: bool) -> Result<()> {
        let (table, old) = (&delete.table, row.old);
        if let Some(triggers) = delete.triggers.as_deref().filter(|triggers| !triggers.before_row.is_empty())
            && self.fire_before(triggers, table, Some(old), None)?.is_none()
        {
            return Ok(());
        }
        if fires {
            self.check_untouched(table, id, old)?;
        }
        if self.parts.is_some() {
            if !self.claims(table, id, true) {
                return Err(twice());
            }
            self.delete_apart(table, Changes::one(id, &[], &[]));
        } else {
            self.delete_row(table, id)?;
        }
        self.note_delete(&delete.checks, old);
        if let Some(triggers) = &delete.triggers {
            self.fire_after(triggers, table, Some(old), None)?;
        }
        self.wrote(table.desc.oid, Write::Delete);
        Ok(())
    }
}
