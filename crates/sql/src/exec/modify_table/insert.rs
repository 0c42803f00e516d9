//! INSERT.

use super::super::foresee::PutOff;
use super::super::late::{Check, late_arbiter};
use super::super::spill::Stash;
use super::super::{Exec, Flow, Next, codec};
use super::on_conflict::with_key;
use crate::counts::Write;
use scaledb_base::{Error, TableId};
use scaledb_catalog::IndexDesc;
use scaledb_engine::{RowId, Worker};
use scaledb_keys::KeyBuf;
use scaledb_planner::plan::{BoundTable, IndexRef, Insert, OnConflict, Slot};
use scaledb_row::{Projection, RowBuf};
use scaledb_types::{Result, Value};
use std::collections::HashSet;

/// What an INSERT is doing.
pub(in crate::exec) struct Inserting<'i> {
    pub(in crate::exec) insert: &'i Insert,
    /// The row as the engine takes it; kept for its memory.
    buffer: RowBuf,
    /// Rows that this statement has inserted or updated.
    pub(super) touched: HashSet<RowId>,
    /// Whether the key that ON CONFLICT names is looked up before the insert is tried.
    looks_first: bool,
}

impl<'i> Inserting<'i> {
    /// An insert without ON CONFLICT.
    pub(super) fn new(insert: &'i Insert) -> Self {
        let buffer = RowBuf::new(&insert.table.info.schema);
        Self { insert, buffer, touched: HashSet::new(), looks_first: false }
    }
}

/// The index that refuses a key, by its number in the engine.
///
/// # Errors
/// The table has none of this number, or not any more: 40001 for one that another session makes or drops, 0A000 for one
/// that this transaction has dropped.
pub(super) fn index_of(table: &BoundTable, id: TableId, dropped: &[TableId]) -> Result<IndexRef> {
    if id == table.info.id {
        return Ok(IndexRef::Primary);
    }
    let number = table.info.indexes.iter().position(|index| index.id == id);
    number.map(IndexRef::Secondary).ok_or_else(|| match dropped.contains(&id) {
        true => crate::error::dropped_index(&table.desc.name),
        false => crate::error::changed_definition(),
    })
}

/// Whether the EXCLUDE constraint of a secondary index is one that ON CONFLICT asks before a row is inserted.
fn asks(insert: &Insert, number: usize) -> bool {
    let wanted = insert.conflict.as_ref().map(|conflict| conflict.index);
    let asked =
        wanted.is_some_and(|wanted| wanted.is_none_or(|wanted| wanted == IndexRef::Secondary(number)));
    asked && insert.table.desc.indexes[number].exclusion.is_some()
}

impl<'a, W: Worker> Exec<'a, W> {
    pub(super) fn insert(&mut self, insert: &Insert, next: Next<'_, 'a, W>) -> Result<()> {
        let chooses = insert.conflict.as_ref().is_some_and(|conflict| conflict.index.is_some());
        let uniques = || {
            insert.table.desc.indexes.iter().filter(|index| index.is_unique_at_once()).count()
                + usize::from(insert.table.desc.primary_key.is_some())
        };
        let buffer = self.buffer.take().unwrap_or_else(|| RowBuf::new(&insert.table.info.schema));
        // an insert that fails behind its first write takes that back, and rows of this transaction have other names
        // then: so where another index than the table itself is asked, and where the other ones come first
        let of_table = |conflict: &OnConflict| conflict.index == Some(IndexRef::Primary);
        let one_null =
            insert.conflict.is_some() && insert.table.desc.indexes.iter().any(IndexDesc::takes_one_null);
        let looks_first =
            one_null || chooses && (uniques() > 1 || !insert.conflict.as_ref().is_some_and(of_table));
        let mut state = Inserting { insert, buffer, touched: HashSet::new(), looks_first };
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
            let puts_off = self.puts_off(insert)?;
            let mut put_off = PutOff::default();
            while let Some(row) = rows.next()? {
                self.tick()?;
                if puts_off {
                    self.put_off(state, &mut put_off, row, next)?;
                    continue;
                }
                for (&slot, value) in insert.row.iter().zip(row) {
                    self.frame[slot] = value;
                }
                self.insert_row(state, next)?;
            }
            return self.insert_all(state, &mut put_off, next);
        }
        if self.puts_off(insert)? {
            return self.insert_put_off(state, next);
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
    pub(in crate::exec) fn insert_row(
        &mut self,
        state: &mut Inserting<'_>,
        next: Next<'_, 'a, W>,
    ) -> Result<()> {
        let insert = state.insert;
        let table = &*insert.table;
        if insert.instead {
            return self.insert_instead(insert, next);
        }
        if let Some(triggers) = insert.triggers.as_deref().filter(|triggers| !triggers.before_row.is_empty())
        {
            let new = self.copy(&insert.row).into_vec();
            let Some(new) = self.fire_before(triggers, &insert.table, None, Some(new))? else {
                return Ok(());
            };
            self.restore(&insert.row, &new);
        }
        self.generate(&insert.generated, &insert.row)?;
        self.check_row(table, &insert.checks, &insert.row)?;
        if let Some(OnConflict { index: Some(IndexRef::Secondary(number)), .. }) = &insert.conflict
            && insert.table.desc.indexes[*number].deferrable.is_some()
        {
            return Err(late_arbiter());
        }
        if insert.conflict.is_some() && !insert.checks.late.is_empty() && self.is_excluded(insert)? {
            return Ok(());
        }
        if self.parts.is_some() {
            return self.insert_apart(state, next);
        }
        self.locking.wrote = true;
        let values = insert.row.iter().map(|&slot| &self.frame[slot]);
        codec::write(&mut state.buffer, table, values).map_err(|error| self.context.engine_error(error))?;
        if let Some((index, key)) = self.existing_key(state)? {
            return self.on_conflict(state, index, &key, next);
        }
        match self.worker()?.insert(table.info.id, &state.buffer) {
            Ok(row) => {
                if insert.conflict.as_ref().is_some_and(|conflict| conflict.index.is_none())
                    && insert.table.desc.indexes.iter().any(|index| index.deferrable.is_some())
                {
                    return Err(late_arbiter());
                }
                if insert.conflict.is_some() {
                    state.touched.insert(row);
                }
                self.inserted(insert, next)
            }
            Err(Error::DuplicateKey { table: id, key }) => {
                let index = index_of(table, id, self.context.dropped_indexes)?;
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

    /// The key that ON CONFLICT names, if it has to be looked up before the insert, and a row has it. If it names none,
    /// only keys with NULLs have to be: of others the engine tells.
    fn existing_key(&mut self, state: &Inserting<'_>) -> Result<Option<(IndexRef, KeyBuf)>> {
        let insert = state.insert;
        let table = &*insert.table;
        if !state.looks_first {
            return Ok(None);
        }
        let one_null = |number: &usize| table.desc.indexes[*number].takes_one_null();
        let asked: Vec<IndexRef> = match insert.conflict.as_ref().and_then(|conflict| conflict.index) {
            Some(index) => vec![index],
            None => (0..table.secondary.len()).filter(one_null).map(IndexRef::Secondary).collect(),
        };
        for index in asked {
            // an EXCLUDE constraint has been asked
            if matches!(index, IndexRef::Secondary(number) if table.desc.indexes[number].exclusion.is_some())
            {
                continue;
            }
            let Some(key) = self.key_of(table, index, &insert.row)? else { continue };
            let existing = with_key(self.worker()?, table, index, &key, &Projection::existence(), |_, _| ());
            if existing.map_err(|error| self.context.engine_error(error))?.is_some() {
                return Ok(Some((index, key)));
            }
        }
        Ok(None)
    }

    /// Whether ON CONFLICT DO NOTHING leaves the row of the slots out for an EXCLUDE constraint.
    fn is_excluded(&mut self, insert: &Insert) -> Result<bool> {
        for &number in &insert.checks.late {
            if !asks(insert, number) {
                continue;
            }
            if insert.table.desc.indexes[number].deferrable.is_some() {
                return Err(late_arbiter());
            }
            let columns = insert.table.secondary[number].iter();
            let key: Vec<Value> =
                columns.map(|column| self.frame[insert.row[column.position]].clone()).collect();
            if self.excluded_by(&insert.table, number, &key, false)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes that the row of the slots is inserted.
    pub(in crate::exec) fn inserted(&mut self, insert: &Insert, next: Next<'_, 'a, W>) -> Result<()> {
        self.wrote(insert.table.desc.oid, Write::Insert);
        self.check_views(&insert.table, &insert.checks, &insert.row)?;
        for key in &insert.checks.references {
            let values = self.key_values(&key.from_columns, &insert.row);
            self.note(Check::referring(key.clone(), values)?);
        }
        // those that ON CONFLICT has asked have found nothing just before
        for &number in insert.checks.late.iter().filter(|&&number| !asks(insert, number)) {
            let columns = insert.table.secondary[number].iter();
            let key = columns.map(|column| self.frame[insert.row[column.position]].clone()).collect();
            self.note_key(&insert.table, number, key)?;
        }
        if let Some(triggers) = &insert.triggers {
            let new = self.copy(&insert.row);
            self.fire_after(triggers, &insert.table, None, Some(&new))?;
        }
        self.returning(insert.returning.as_deref(), &insert.returning_slots, next)
    }

    /// The key of the new row in an index; `None` if it conflicts with nothing, for a NULL is in it.
    pub(in crate::exec) fn key_of(
        &self,
        table: &BoundTable,
        index: IndexRef,
        row: &[Slot],
    ) -> Result<Option<KeyBuf>> {
        let mut key = KeyBuf::new();
        let one_null =
            matches!(index, IndexRef::Secondary(number) if table.desc.indexes[number].takes_one_null());
        let hidden = table.hidden_columns(index);
        for (at, column) in table.index_columns(index).iter().enumerate() {
            let value = &self.frame[row[column.position]];
            if value.is_null() && !(one_null && at >= hidden) {
                return Ok(None);
            }
            codec::push_key(&mut key, table, column, value)?;
        }
        Ok(Some(key))
    }

    fn key_values(&self, columns: &[usize], row: &[Slot]) -> Vec<Value> {
        columns.iter().map(|&column| self.frame[row[column]].clone()).collect()
    }
}
