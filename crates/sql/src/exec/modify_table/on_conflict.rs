//! INSERT .. ON CONFLICT: what is done where a row with the key is there.

use super::super::apart::twice;
use super::super::changes::Changes;
use super::super::{Exec, Next, codec};
use super::Inserting;
use crate::counts::Write;
use scaledb_engine::{Order, Range, RowId, Worker};
use scaledb_keys::KeyBuf;
use scaledb_locks::Mode;
use scaledb_planner::plan::secured::About;
use scaledb_planner::plan::{BoundTable, ConflictUpdate, IndexRef, Slot};
use scaledb_row::{Projection, RowRef};
use scaledb_types::{Result, SqlError};
use std::ops::ControlFlow;

impl<'a, W: Worker> Exec<'a, W> {
    /// ON CONFLICT: a row with the key is there.
    pub(in crate::exec) fn on_conflict(
        &mut self,
        state: &mut Inserting<'_>,
        index: IndexRef,
        key: &[u8],
        next: Next<'_, 'a, W>,
    ) -> Result<()> {
        let insert = state.insert;
        let table = &*insert.table;
        let update = insert.conflict.as_ref().and_then(|conflict| conflict.update.as_deref());
        let Some(ConflictUpdate { existing, computed, set, generated, columns, filter, policies, triggers }) =
            update
        else {
            return Ok(());
        };
        self.reserve_existing(table, index, key)?;
        let Some(id) = self.load_existing(table, index, key, existing)? else { return Ok(()) };
        if state.touched.contains(&id) {
            return Err(twice());
        }
        for (slot, expr) in computed {
            self.frame[*slot] = self.eval(expr)?;
        }
        if let Some(filter) = filter
            && !self.holds(filter)?
        {
            return Ok(());
        }
        let policies = policies.as_deref().unwrap_or_default();
        let (there, new) =
            policies.split_at(policies.partition_point(|check| check.about == About::InTheWay));
        self.check_policies(table, there)?;
        let mut changed = Vec::with_capacity(set.len());
        for (column, value) in set {
            changed.push((*column, self.eval(value)?));
        }
        for (&slot, &old) in insert.row.iter().zip(existing) {
            self.frame[slot] = self.frame[old].clone();
        }
        for (column, value) in changed {
            self.frame[insert.row[column]] = value;
        }
        if let Some(triggers) = triggers.as_deref().filter(|triggers| !triggers.before_row.is_empty()) {
            let (old, new) = (self.copy(existing), self.copy(&insert.row).into_vec());
            let Some(new) = self.fire_before(triggers, &insert.table, Some(&old), Some(new))? else {
                return Ok(());
            };
            self.restore(&insert.row, &new);
        }
        self.generate(generated, &insert.row)?;
        self.check_policies(table, new)?;
        self.check_constraints(table, &insert.checks, &insert.row)?;
        let all = Projection::all(&table.info.schema);
        let old = self.copy(existing);
        let new = self.copy(&insert.row);
        if self.parts.is_some() {
            if !self.claims(table, id, false) {
                return Err(twice());
            }
            let change = Changes::one(id, &old, &new);
            self.update_apart(&insert.table, columns, &all, change);
        } else {
            // another row has the key's place then
            let row = self.change_row(table, id, columns, &all, &old, &new)?;
            state.touched.insert(row);
        }
        self.note_update(&insert.table, &insert.checks, &old, &new)?;
        self.check_views(table, &insert.checks, &insert.row)?;
        if let Some(triggers) = triggers {
            self.fire_after(triggers, &insert.table, Some(&old), Some(&new))?;
        }
        state.touched.insert(id);
        self.wrote(insert.table.desc.oid, Write::Update);
        self.returning(insert.returning.as_deref(), &insert.returning_slots, next)
    }

    /// Locks the row that has the key, where rows are locked: before it is read, so that what is read is current.
    fn reserve_existing(&mut self, table: &BoundTable, index: IndexRef, key: &[u8]) -> Result<()> {
        if !self.must_reserve(table) {
            return Ok(());
        }
        let worker = self.worker()?;
        let mark = worker.read_mark();
        let named = with_key(worker, table, index, key, &Projection::existence(), |id, _| id);
        worker.forget_reads(mark);
        match named.map_err(|error| self.context.engine_error(error))? {
            Some(row) => self.reserve_all(table, &[row], Mode::Exclusive),
            None => Ok(()),
        }
    }

    /// Loads the row that has the key into these slots; its name, unless it has gone meanwhile.
    fn load_existing(
        &mut self,
        table: &BoundTable,
        index: IndexRef,
        key: &[u8],
        slots: &[Slot],
    ) -> Result<Option<RowId>> {
        let Some(worker) = self.worker.take() else {
            return Err(SqlError::internal("a nested write within a scan"));
        };
        let frame = &mut self.frame;
        let all = Projection::all(&table.info.schema);
        let found = with_key(worker, table, index, key, &all, |id, row| {
            for (position, &slot) in slots.iter().enumerate() {
                frame[slot] = codec::column(row, table, position)?;
            }
            Ok(id)
        });
        self.worker = Some(worker);
        found.map_err(|error| self.context.engine_error(error))?.transpose()
    }
}

/// Finds the row that has a key which no two rows share. The engine knows a key with NULLs as that of several.
pub(in crate::exec) fn with_key<W: Worker, R>(
    worker: &mut W,
    table: &BoundTable,
    index: IndexRef,
    key: &[u8],
    columns: &Projection,
    found: impl FnOnce(RowId, RowRef<'_>) -> R,
) -> scaledb_base::Result<Option<R>> {
    let id = table.index_id(index);
    if !matches!(index, IndexRef::Secondary(number) if table.desc.indexes[number].takes_one_null()) {
        return worker.get(id, key, columns, found);
    }
    let mut end = KeyBuf::from(key);
    let end = if end.next_prefix() { Some(end) } else { None };
    let range = Range { start: key, end: end.as_deref() };
    let (mut found, mut result) = (Some(found), None);
    worker.scan(id, range, Order::Forward, columns, |row, _, values| {
        result = found.take().map(|found| found(row, values));
        ControlFlow::Break(())
    })?;
    Ok(result)
}
