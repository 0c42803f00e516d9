//! What is checked when a statement is done, or the transaction: foreign keys, unique keys that are deferrable or in
//! which NULL equals NULL, EXCLUDE constraints, and what constraint triggers check.

use super::references::Reference;
use super::triggers::Fired;
use super::{Exec, codec};
use scaledb_engine::{Order, PREFETCH, Range, Worker};
use scaledb_keys::KeyBuf;
use scaledb_planner::plan::{BoundTable, ForeignKey, IndexRef};
use scaledb_row::Projection;
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Something to look at.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    Reference(Reference),
    /// Of an index that is unique, or has an EXCLUDE constraint.
    Key(NewKey),
    /// A constraint trigger that fires then.
    Trigger(Fired),
}

/// A key that a row has got.
#[derive(Clone, Debug)]
pub(crate) struct NewKey {
    table: Arc<BoundTable>,
    /// Which of the secondary indexes.
    index: usize,
    /// The values of its columns.
    key: Vec<Value>,
}

impl Check {
    /// A row that refers; `None` if it refers to nothing.
    ///
    /// # Errors
    /// 23503 if MATCH FULL finds some NULLs.
    pub(crate) fn referring(key: Arc<ForeignKey>, values: Vec<Value>) -> Result<Option<Self>> {
        Ok(Reference::referring(key, values)?.map(Self::Reference))
    }

    /// A row that was referred to.
    pub(super) fn referred(key: Arc<ForeignKey>, old: Vec<Value>, new: Option<Vec<Value>>) -> Option<Self> {
        Some(Self::Reference(Reference::referred(key, old, new)))
    }

    /// A row with this key; `None` if it equals none, or the engine has compared it.
    pub(super) fn key(table: Arc<BoundTable>, index: usize, key: Vec<Value>) -> Option<Self> {
        table.is_compared_late(index, &key).then(|| Self::Key(NewKey { table, index, key }))
    }

    /// The table whose change asked for it.
    pub(crate) fn table(&self) -> u32 {
        match self {
            Self::Reference(reference) => reference.table(),
            Self::Key(new) => new.table.desc.oid,
            Self::Trigger(fired) => fired.table(),
        }
    }

    /// Whether it is done with, but for a rollback to a savepoint.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Self::Trigger(fired) if fired.done.is_some())
    }
}

/// 55000: a deferrable constraint is checked too late to decide for ON CONFLICT.
#[cold]
pub(super) fn late_arbiter() -> SqlError {
    SqlError::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters",
    )
}

impl<W: Worker> Exec<'_, W> {
    /// Notes something to look at.
    pub(super) fn note(&mut self, check: Option<Check>) {
        let Some(check) = check else { return };
        // a key that no other row has now need not wait: a row that takes it later is checked itself
        if matches!(check, Check::Reference(_)) && self.waits(&check) {
            self.deferred.push(check);
        } else {
            self.after.push(check);
        }
    }

    /// Notes a key that a row has got, or looks at it at once.
    ///
    /// A key of an EXCLUDE constraint looks at its neighbours only. That is enough as long as no rows overlap that were
    /// written before, so it is done at once; where it has to wait, what stood between two rows that overlap may have
    /// gone by then, so all that waited is looked at before the commit.
    ///
    /// # Errors
    /// 23P01.
    pub(super) fn note_key(&mut self, table: &Arc<BoundTable>, index: usize, key: Vec<Value>) -> Result<()> {
        let Some(check) = Check::key(table.clone(), index, key) else { return Ok(()) };
        let desc = &table.desc.indexes[index];
        if desc.exclusion.is_none() {
            self.note(Some(check));
            return Ok(());
        }
        // the parts of a WITH are written later
        if desc.deferrable.is_none() && self.parts.is_none() {
            // an UPDATE of many rows looks at all of them behind its last write
            self.tick()?;
            return self.check(&check, false);
        }
        if !self.waits(&check) {
            self.after.push(check.clone());
        }
        self.deferred.push(check);
        Ok(())
    }

    /// Notes the keys of these indexes that an update has changed.
    ///
    /// # Errors
    /// 23P01.
    pub(super) fn note_keys(
        &mut self,
        table: &Arc<BoundTable>,
        late: &[usize],
        old: &[Value],
        new: &[Value],
    ) -> Result<()> {
        for &number in late {
            let columns = &table.secondary[number];
            if columns.iter().any(|column| old[column.position] != new[column.position]) {
                let key = columns.iter().map(|column| new[column.position].clone()).collect();
                self.note_key(table, number, key)?;
            }
        }
        Ok(())
    }

    /// Whether it is looked at when the transaction is done.
    pub(crate) fn waits(&self, check: &Check) -> bool {
        match check {
            Check::Reference(reference) => {
                let desc = &reference.key.desc;
                reference.may_wait() && desc.deferrable && self.context.is_deferred(&desc.name, desc.deferred)
            }
            Check::Key(new) => {
                let desc = &new.table.desc.indexes[new.index];
                desc.deferrable.is_some_and(|initially| {
                    self.context.is_deferred(&desc.name, initially == scaledb_catalog::Initially::Deferred)
                })
            }
            Check::Trigger(fired) => self.fires_late(&fired.trigger),
        }
    }

    /// Looks at something at once.
    ///
    /// # Errors
    /// 23503, 23505, 23P01.
    pub(crate) fn check_now(&mut self, check: Option<Check>) -> Result<()> {
        check.map_or(Ok(()), |check| self.check(&check, false))
    }

    /// Looks at what was noted.
    pub(super) fn check_noted(&mut self) -> Result<()> {
        // actions note further checks
        let mut at = 0;
        while at < self.after.len() {
            if at.is_multiple_of(PREFETCH) && self.after.len() - at > 1 {
                self.foresee_checks(at)?;
            }
            let check = self.after[at].clone();
            at += 1;
            self.tick()?;
            self.check(&check, false)?;
        }
        self.after.clear();
        if !self.waiting.is_empty() && !self.goes_on {
            self.fire_waiting()?;
        }
        Ok(())
    }

    /// Looks at what waited for the end of the transaction, which has so many savepoints.
    ///
    /// # Errors
    /// 23503, 23505, 23P01, and those of triggers.
    pub(crate) fn check_deferred<'c>(
        &mut self,
        checks: impl Iterator<Item = &'c mut Check>,
        savepoints: usize,
    ) -> Result<()> {
        for check in checks.filter(|check| !check.is_done()) {
            self.tick()?;
            // before it fires: if it fails, that is undone with what it has done
            if let Check::Trigger(fired) = check {
                fired.done = Some(savepoints);
            }
            self.check(check, true)?;
        }
        self.check_noted()
    }

    fn check(&mut self, check: &Check, late: bool) -> Result<()> {
        match check {
            Check::Reference(reference) => self.check_reference(reference, late),
            Check::Trigger(fired) => self.fire_late(fired),
            Check::Key(NewKey { table, index, key }) => {
                let error = if table.desc.indexes[*index].exclusion.is_some() {
                    match self.excluded_by(table, *index, key, true)? {
                        Some(existing) => self.excluded(table, *index, key, &existing),
                        None => return Ok(()),
                    }
                } else if self.is_shared(table, *index, key.iter())? {
                    let index = IndexRef::Secondary(*index);
                    self.taken_key(table, index, key.iter().skip(table.hidden_columns(index)))
                } else {
                    return Ok(());
                };
                if !late && self.waits(check) {
                    self.deferred.push(check.clone());
                    return Ok(());
                }
                Err(error)
            }
        }
    }

    /// Whether several rows have this key in a secondary index.
    pub(crate) fn is_shared<'v>(
        &mut self,
        table: &BoundTable,
        index: usize,
        values: impl Iterator<Item = &'v Value>,
    ) -> Result<bool> {
        let mut key = KeyBuf::new();
        for (column, value) in table.secondary[index].iter().zip(values) {
            codec::push_key(&mut key, table, column, value)?;
        }
        let mut end = key.clone();
        let end = if end.next_prefix() { Some(end) } else { None };
        let range = Range { start: &key, end: end.as_deref() };
        let id = table.index_id(IndexRef::Secondary(index));
        let mut rows = 0;
        let none = Projection::existence();
        let scanned = self.worker()?.scan(id, range, Order::Forward, &none, |_, _, _| {
            rows += 1;
            if rows > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        scanned.map_err(|error| self.context.engine_error(error))?;
        Ok(rows > 1)
    }
}
