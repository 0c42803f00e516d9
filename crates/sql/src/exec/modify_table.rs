//! INSERT, UPDATE and DELETE.
//!
//! UPDATE and DELETE find all their rows before they change the first one, so that none is met again where an
//! index has it now; a row found by its key alone is changed at once.

use super::apart::twice;
use super::changes::{Changes, Finding};
use super::late::{Check, late_arbiter};
use super::spill::Stash;
use super::{Exec, Flow, Next, codec};
use crate::counts::Write;
use crate::plan::{
    Access, Checks, ConflictUpdate, Delete, IndexRef, Insert, KeyValue, Modify, Node, OnConflict, Policy,
    Slot, Table, Update,
};
use scaledb_base::Error;
use scaledb_engine::{RowId, Worker};
use scaledb_keys::KeyBuf;
use scaledb_locks::Mode;
use scaledb_row::{Projection, RowBuf};
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::collections::HashSet;
use std::sync::Arc;

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

/// How an UPDATE locks its rows: keys that others may refer to are locked more strongly.
fn mode_of(update: &Update) -> Mode {
    let desc = &update.table.desc;
    let unique = (0..update.table.secondary.len()).filter(|&number| desc.indexes[number].is_unique_at_once());
    let keys = unique.flat_map(|number| &update.table.secondary[number]).chain(&update.table.primary);
    let sets = |position: usize| update.columns.contains(&position);
    if keys.into_iter().any(|part| sets(part.position)) { Mode::AccessExclusive } else { Mode::Exclusive }
}

/// What an INSERT is doing.
pub(super) struct Inserting<'i> {
    pub(super) insert: &'i Insert,
    buffer: RowBuf,
    /// Rows that this statement has inserted or updated.
    touched: HashSet<RowId>,
    first_looks: bool,
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Runs a statement that writes; `next` gets the rows of RETURNING.
    pub(super) fn modify(&mut self, modify: &Modify, next: Next<'_, 'a, W>) -> Result<Flow> {
        match modify {
            Modify::Insert(insert) => self.insert(insert, next)?,
            Modify::Update(update) => self.update(update, next)?,
            Modify::Delete(delete) => self.delete(delete, next)?,
        }
        if self.parts.is_none() {
            self.check_noted()?;
        }
        Ok(Flow::Continue(()))
    }

    fn insert(&mut self, insert: &Insert, next: Next<'_, 'a, W>) -> Result<()> {
        let chooses = insert.conflict.as_ref().is_some_and(|conflict| conflict.index.is_some());
        let uniques = || {
            insert.table.desc.indexes.iter().filter(|index| index.is_unique_at_once()).count()
                + usize::from(insert.table.desc.primary_key.is_some())
        };
        let buffer = self.buffer.take().unwrap_or_else(|| RowBuf::new(&insert.table.info.schema));
        // an insert that fails behind its first write takes that back, and rows of this transaction have other names
        // then: so where another index than the table itself is asked, and where the other ones come first
        let of_table = |conflict: &OnConflict| conflict.index == Some(IndexRef::Primary);
        let first_looks = chooses && (uniques() > 1 || !insert.conflict.as_ref().is_some_and(of_table));
        let mut state = Inserting { insert, buffer, touched: HashSet::new(), first_looks };
        self.insert_rows(&mut state, next)?;
        self.buffer = Some(state.buffer);
        Ok(())
    }

    fn insert_rows(&mut self, state: &mut Inserting<'_>, next: Next<'_, 'a, W>) -> Result<()> {
        let insert = state.insert;
        if insert.reads {
            let mut rows = Stash::new(insert.values.len());
            let _ = self.run(&insert.source, &mut |exec| {
                let mut row = Vec::with_capacity(insert.values.len());
                for value in &insert.values {
                    row.push(exec.eval(value)?);
                }
                rows.push(exec.context, &mut exec.memory, row.into())?;
                Ok(Flow::Continue(()))
            })?;
            let mut rows = rows.finish()?.drain();
            while let Some(row) = rows.next()? {
                self.tick()?;
                for (&slot, value) in insert.row.iter().zip(row) {
                    self.frame[slot] = value;
                }
                self.insert_row(state, next)?;
            }
            return Ok(());
        }
        let _ = self.run(&insert.source, &mut |exec| {
            for (value, &slot) in insert.values.iter().zip(&insert.row) {
                let value = exec.eval(value)?;
                exec.frame[slot] = value;
            }
            exec.insert_row(state, next)?;
            Ok(Flow::Continue(()))
        })?;
        Ok(())
    }

    /// Inserts the row that the slots hold.
    fn insert_row(&mut self, state: &mut Inserting<'_>, next: Next<'_, 'a, W>) -> Result<()> {
        let insert = state.insert;
        let table = &*insert.table;
        self.check_row(table, &insert.checks, &insert.row)?;
        if let Some(OnConflict { index: Some(IndexRef::Secondary(number)), .. }) = &insert.conflict
            && insert.checks.late.contains(number)
        {
            return Err(late_arbiter());
        }
        if self.parts.is_some() {
            return self.insert_apart(state, next);
        }
        self.locking.wrote = true;
        let values = insert.row.iter().map(|&slot| &self.frame[slot]);
        codec::write(&mut state.buffer, table, values).map_err(|error| self.context.engine_error(error))?;
        if state.first_looks
            && let Some(index) = insert.conflict.as_ref().and_then(|conflict| conflict.index)
            && let Some(key) = self.key_of(table, index, &insert.row)?
        {
            let id = table.index_id(index);
            let there = self
                .worker()?
                .get(id, &key, &Projection::existence(), |_, _| ())
                .map_err(|error| self.context.engine_error(error))?;
            if there.is_some() {
                return self.on_conflict(state, index, &key, next);
            }
        }
        match self.worker()?.insert(table.info.id, &state.buffer) {
            Ok(row) => {
                if insert.conflict.as_ref().is_some_and(|conflict| conflict.index.is_none())
                    && !insert.checks.late.is_empty()
                {
                    return Err(late_arbiter());
                }
                if insert.conflict.is_some() {
                    state.touched.insert(row);
                }
                self.inserted(insert, next)
            }
            Err(Error::DuplicateKey { table: id, key }) => {
                let index = if id == table.info.id {
                    IndexRef::Primary
                } else {
                    let number = table.info.indexes.iter().position(|index| index.id == id);
                    // one that is there since the statement was planned
                    IndexRef::Secondary(number.ok_or_else(crate::error::changed_definition)?)
                };
                match &insert.conflict {
                    Some(conflict) if conflict.index.is_none_or(|wanted| wanted == index) => {
                        self.on_conflict(state, index, &key, next)
                    }
                    _ => Err(self.duplicate(table, index, &insert.row)),
                }
            }
            Err(error) => Err(self.context.engine_error(error)),
        }
    }

    /// Counts a row that is written.
    #[inline]
    fn wrote(&mut self, table: u32, write: Write) {
        self.affected += 1;
        self.context.counts.wrote(table, write);
    }

    /// Notes that the row of the slots is inserted.
    pub(super) fn inserted(&mut self, insert: &Insert, next: Next<'_, 'a, W>) -> Result<()> {
        self.wrote(insert.table.desc.oid, Write::Insert);
        for key in &insert.checks.references {
            let values = self.key_values(&key.from_columns, &insert.row);
            self.note(Check::referring(key.clone(), values)?);
        }
        for &number in &insert.checks.late {
            let columns = insert.table.secondary[number].iter();
            let key = columns.map(|column| self.frame[insert.row[column.position]].clone()).collect();
            self.note(Check::unique(insert.table.clone(), number, key));
        }
        self.returning(insert.returning.as_deref(), &insert.returning_slots, next)
    }

    /// The key of the new row in an index; `None` if a NULL is in it, which conflicts with nothing.
    pub(super) fn key_of(&self, table: &Table, index: IndexRef, row: &[Slot]) -> Result<Option<KeyBuf>> {
        let mut key = KeyBuf::new();
        for column in table.index(index) {
            let value = &self.frame[row[column.position]];
            if value.is_null() {
                return Ok(None);
            }
            codec::push_key(&mut key, table, column, value)?;
        }
        Ok(Some(key))
    }

    /// ON CONFLICT: a row with the key is there.
    pub(super) fn on_conflict(
        &mut self,
        state: &mut Inserting<'_>,
        index: IndexRef,
        key: &[u8],
        next: Next<'_, 'a, W>,
    ) -> Result<()> {
        let insert = state.insert;
        let table = &*insert.table;
        let update = insert.conflict.as_ref().and_then(|conflict| conflict.update.as_deref());
        let Some(ConflictUpdate { existing, set, filter }) = update else { return Ok(()) };
        let Some(worker) = self.worker.take() else {
            return Err(SqlError::internal("a nested write within a scan"));
        };
        let schema = &table.info.schema;
        let named = if self.locking.reserves || self.context.locks.rows() != 0 {
            // locked before it is read: what is read is then current
            let mark = worker.read_mark();
            let named = worker.get(table.index_id(index), key, &Projection::existence(), |id, _| id);
            worker.forget_reads(mark);
            named
        } else {
            Ok(None)
        };
        self.worker = Some(worker);
        if let Some(row) = named.map_err(|error| self.context.engine_error(error))? {
            self.reserve(table, row, Mode::Exclusive, Policy::Wait)?;
        }
        let Some(worker) = self.worker.take() else { return Err(SqlError::internal("no worker")) };
        let frame = &mut self.frame;
        let found = worker.get(table.index_id(index), key, &Projection::all(schema), |id, row| {
            for (position, &slot) in existing.iter().enumerate() {
                frame[slot] = codec::column(row, table, position)?;
            }
            Ok(id)
        });
        self.worker = Some(worker);
        let Some(id) = found.map_err(|error| self.context.engine_error(error))? else { return Ok(()) };
        let id = id?;
        if state.touched.contains(&id) {
            return Err(twice());
        }
        if let Some(filter) = filter
            && !self.holds(filter)?
        {
            return Ok(());
        }
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
        self.check_row(table, &insert.checks, &insert.row)?;
        let columns: Vec<usize> = set.iter().map(|(column, _)| *column).collect();
        let old = self.copy(existing);
        let new = self.copy(&insert.row);
        if self.parts.is_some() {
            if !self.claims(table, id, false) {
                return Err(twice());
            }
            let change = Changes::one(id, &old, &new);
            self.update_apart(&insert.table, &columns, &Projection::all(schema), change);
        } else {
            // another row has the key's place then
            let row = self.change_row(table, id, &columns, &Projection::all(schema), &old, &new)?;
            state.touched.insert(row);
        }
        self.note_update(&insert.table, &insert.checks, &old, &new)?;
        state.touched.insert(id);
        self.wrote(insert.table.desc.oid, Write::Update);
        self.returning(insert.returning.as_deref(), &insert.returning_slots, next)
    }

    fn update(&mut self, update: &Update, next: Next<'_, 'a, W>) -> Result<()> {
        let table = &*update.table;
        let columns = &update.columns;
        let needs_old = update.moves || update.checks.compares();
        if is_point(&update.source) && !update.moves && self.parts.is_none() {
            let _ = self.run(&update.source, &mut |exec| {
                let row = exec.found(update.target)?;
                if exec.must_reserve() {
                    exec.reserve(table, row, mode_of(update), Policy::Wait)?;
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
                if needs_old {
                    let (old, new) = (exec.copy(&update.old), exec.copy(&update.row));
                    exec.note_update(&update.table, &update.checks, &old, &new)?;
                }
                exec.wrote(table.desc.oid, Write::Update);
                exec.returning(update.returning.as_deref(), &update.returning_slots, next)?;
                Ok(Flow::Continue(()))
            })?;
            return Ok(());
        }
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
        if self.must_reserve() {
            for &row in changes.names() {
                self.reserve(table, row, mode_of(update), Policy::Wait)?;
            }
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

    /// Writes rows that were found and changed; `moves` if a column of their keys is set.
    pub(super) fn write_changes(
        &mut self,
        table: &Table,
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

    /// The name of the row that a scan is at.
    fn found(&self, scan: usize) -> Result<RowId> {
        self.rows[scan].ok_or_else(|| SqlError::internal("a row without a name"))
    }

    /// Computes the new row of an UPDATE into its slots.
    fn new_row(&mut self, update: &Update) -> Result<()> {
        for &(new, old) in &update.copies {
            self.frame[new] = self.frame[old].clone();
        }
        for (column, value) in &update.set {
            let value = self.eval(value)?;
            self.frame[update.row[*column]] = value;
        }
        Ok(())
    }

    /// Whether a row gets another primary key, or an equal one that is not the same: 1.00 for 1.0, 0 for -0.
    fn moves(&self, table: &Table, columns: &[usize], old: &[Value], new: &[Value]) -> bool {
        let key = |column: &usize| table.primary.iter().any(|part| part.position == *column);
        let exact = |value: &Value| {
            let mut bytes = Vec::new();
            value.write_tagged(&mut bytes).map(|()| bytes).ok()
        };
        let differs = |a: &Value, b: &Value| a != b || exact(a) != exact(b);
        columns.iter().any(|column| key(column) && differs(&old[*column], &new[*column]))
    }

    pub(super) fn delete_row(&mut self, table: &Table, row: RowId) -> Result<()> {
        let deleted = self.worker()?.delete_at(table.info.id, row);
        deleted.map_err(|error| self.context.engine_error(error))?;
        Ok(())
    }

    pub(super) fn insert_moved(&mut self, table: &Table, new: &[Value]) -> Result<RowId> {
        let mut buffer = RowBuf::new(&table.info.schema);
        codec::write(&mut buffer, table, new.iter()).map_err(|error| self.context.engine_error(error))?;
        match self.worker()?.insert(table.info.id, &buffer) {
            Ok(row) => Ok(row),
            Err(error) => Err(self.write_error(table, error, new)),
        }
    }

    /// Sets columns of a row, which may be those of its key: the row that it is then.
    pub(super) fn change_row(
        &mut self,
        table: &Table,
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
    pub(super) fn update_row(
        &mut self,
        table: &Table,
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

    fn updated(
        &mut self,
        table: &Table,
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

    fn delete(&mut self, delete: &Delete, next: Next<'_, 'a, W>) -> Result<()> {
        let table = &*delete.table;
        let needs_old = !delete.checks.referred.is_empty();
        if is_point(&delete.source) && self.parts.is_none() {
            let _ = self.run(&delete.source, &mut |exec| {
                let row = exec.found(delete.target)?;
                if exec.must_reserve() {
                    exec.reserve(table, row, Mode::AccessExclusive, Policy::Wait)?;
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
            return Ok(());
        }
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
        if self.must_reserve() {
            for &row in changes.names() {
                self.reserve(table, row, Mode::AccessExclusive, Policy::Wait)?;
            }
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

    /// Hands a row of RETURNING on.
    fn returning(
        &mut self,
        returning: Option<&[crate::plan::expr::Expr]>,
        slots: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<()> {
        let Some(returning) = returning else { return Ok(()) };
        // no expression of RETURNING reads the slots that these values go to
        for (expr, &slot) in returning.iter().zip(slots) {
            let value = self.eval(expr)?;
            self.frame[slot] = value;
        }
        let _ = next(self)?;
        Ok(())
    }

    /// NOT NULL and CHECK of the row that the slots hold.
    fn check_row(&mut self, table: &Table, checks: &Checks, row: &[Slot]) -> Result<()> {
        for &column in &checks.not_null {
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
        for (name, condition) in &checks.checks {
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

    /// `check_row` of a row that an UPDATE changes.
    fn check_update(&mut self, update: &Update, row: RowId) -> Result<()> {
        let table = &*update.table;
        let checked = self.check_row(table, &update.checks, &update.row);
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
            Ok(Some(())) => Err(error.detail(self.failing_row(table, &update.row))),
            _ => Err(error),
        }
    }

    fn failing_row(&self, table: &Table, row: &[Slot]) -> String {
        let values = row.iter().zip(&table.types).map(|(&slot, &ty)| self.printed(&self.frame[slot], ty));
        format!("Failing row contains ({}).", values.collect::<Vec<_>>().join(", "))
    }

    /// A value as error messages print it.
    pub(super) fn printed(&self, value: &Value, ty: scaledb_types::Type) -> String {
        value.to_text(ty, self.context.env).map_or_else(|| "null".to_owned(), |text| text.to_string())
    }

    /// A unique violation, with the key that is there.
    fn duplicate(&self, table: &Table, index: IndexRef, row: &[Slot]) -> SqlError {
        let new: Vec<Value> = row.iter().map(|&slot| self.frame[slot].clone()).collect();
        self.duplicate_of(table, index, &new)
    }

    fn duplicate_of(&self, table: &Table, index: IndexRef, new: &[Value]) -> SqlError {
        self.taken_key(table, index, table.index(index).iter().map(|column| &new[column.position]))
    }

    /// The error 23505 for a key.
    pub(super) fn taken_key<'v>(
        &self,
        table: &Table,
        index: IndexRef,
        key: impl Iterator<Item = &'v Value>,
    ) -> SqlError {
        let columns = table.index(index);
        let names: Vec<_> = columns.iter().map(|c| table.desc.columns[c.position].name.as_str()).collect();
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
    fn write_error(&self, table: &Table, error: Error, new: &[Value]) -> SqlError {
        match error {
            Error::DuplicateKey { table: id, .. } if id == table.info.id => {
                self.duplicate_of(table, IndexRef::Primary, new)
            }
            Error::DuplicateKey { table: id, .. } => {
                match table.info.indexes.iter().position(|index| index.id == id) {
                    Some(number) => self.duplicate_of(table, IndexRef::Secondary(number), new),
                    // one that is there since the statement was planned
                    None => crate::error::changed_definition(),
                }
            }
            other => self.context.engine_error(other),
        }
    }

    fn key_values(&self, columns: &[usize], row: &[Slot]) -> Vec<Value> {
        columns.iter().map(|&column| self.frame[row[column]].clone()).collect()
    }

    /// Notes what an update means for foreign keys, and for unique keys that are checked late.
    fn note_update(
        &mut self,
        table: &Arc<Table>,
        checks: &Checks,
        old: &[Value],
        new: &[Value],
    ) -> Result<()> {
        self.note_keys(table, &checks.late, old, new);
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
            if before != after {
                self.note(Check::referred(key.clone(), before, Some(after)));
            }
        }
        Ok(())
    }

    /// Notes what a delete means for foreign keys.
    fn note_delete(&mut self, checks: &Checks, old: &[Value]) {
        for key in &checks.referred {
            let values = key.to_columns.iter().map(|&column| old[column].clone()).collect();
            self.note(Check::referred(key.clone(), values, None));
        }
    }
}
