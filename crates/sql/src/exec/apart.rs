//! Statements with several parts that write: `WITH .. AS (INSERT ..)`.
//!
//! All parts see the rows as of the start of the statement. So what they write waits until everything is read; a
//! row is written by the first part that wants to.

use super::changes::Changes;
use super::late::late_arbiter;
use super::modify_table::{Inserting, with_key};
use super::{Exec, Next};
use scaledb_base::TableId;
use scaledb_engine::{RowId, Worker};
use scaledb_planner::plan::{BoundTable, IndexRef, Insert};
use scaledb_row::Projection;
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What the parts of a statement will write.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    pending: Vec<Pending<'a>>,
    /// Rows that were there before and are written, and whether they are deleted.
    touched: HashMap<(TableId, RowId), bool>,
    /// Unique keys of rows to be inserted, if ON CONFLICT of some part asks for them.
    keys: Option<HashSet<(TableId, Vec<u8>)>>,
}

impl Parts<'_> {
    /// Of a statement; whether some part has ON CONFLICT.
    pub(crate) fn new(conflicts: bool) -> Self {
        Self { keys: conflicts.then(HashSet::new), ..Self::default() }
    }
}

#[derive(Debug)]
enum Pending<'a> {
    Insert(Arc<BoundTable>, Box<[Value]>),
    Update { table: Arc<BoundTable>, columns: Vec<usize>, projection: Projection, changes: Changes<'a> },
    Delete(Arc<BoundTable>, Changes<'a>),
}

/// Whether a row that is to be inserted has its place taken.
enum Taken {
    No,
    /// By a row with this key.
    There(IndexRef, Vec<u8>),
    /// By a row that the statement inserts.
    Proposed,
}

/// 21000.
#[cold]
pub(super) fn twice() -> SqlError {
    SqlError::new(
        SqlState::CARDINALITY_VIOLATION,
        "ON CONFLICT DO UPDATE command cannot affect row a second time",
    )
    .hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
    )
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Whether a part of the statement may write a row: no other part has done so. True of a statement of one part.
    pub(super) fn claims(&mut self, table: &BoundTable, row: RowId, deletes: bool) -> bool {
        let Some(parts) = &mut self.parts else { return true };
        match parts.touched.entry((table.info.id, row)) {
            std::collections::hash_map::Entry::Occupied(_) => false,
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(deletes);
                true
            }
        }
    }

    /// Lets an insert wait, or what its ON CONFLICT makes of it.
    pub(super) fn insert_apart(&mut self, state: &mut Inserting<'_>, next: Next<'_, 'a, W>) -> Result<()> {
        let insert = state.insert;
        if let Some(conflict) = &insert.conflict {
            match self.taken(insert)? {
                Taken::No if insert.table.desc.indexes.iter().any(|index| index.exclusion.is_some()) => {
                    let what = "ON CONFLICT of a table with an exclusion constraint is not supported in a statement \
                                that writes in several parts";
                    return Err(SqlError::unsupported(what));
                }
                Taken::No
                    if conflict.index.is_none()
                        && insert.table.desc.indexes.iter().any(|index| index.deferrable.is_some()) =>
                {
                    return Err(late_arbiter());
                }
                Taken::No => {}
                Taken::There(index, key) => return self.on_conflict(state, index, &key, next),
                Taken::Proposed if conflict.update.is_some() => return Err(twice()),
                Taken::Proposed => return Ok(()),
            }
        }
        let asked = self.parts.as_ref().is_some_and(|parts| parts.keys.is_some());
        let keys = if asked { self.unique_keys(insert, false)? } else { Vec::new() };
        let row = self.copy(&insert.row);
        let of_keys = keys.iter().map(|(_, key)| size_of::<(TableId, Vec<u8>)>() + key.len());
        self.memory.take_rows(super::row_weight(&row) + of_keys.sum::<usize>())?;
        if let Some(parts) = &mut self.parts {
            let keys = keys.into_iter().map(|(index, key)| (insert.table.index_id(index), key));
            if let Some(known) = &mut parts.keys {
                known.extend(keys);
            }
            parts.pending.push(Pending::Insert(insert.table.clone(), row));
        }
        self.inserted(insert, next)
    }

    /// The keys of a new row that no other may have; those that ON CONFLICT names only, if `named`.
    fn unique_keys(&self, insert: &Insert, named: bool) -> Result<Vec<(IndexRef, Vec<u8>)>> {
        let table = &*insert.table;
        let wanted = insert.conflict.as_ref().and_then(|conflict| conflict.index).filter(|_| named);
        let unique =
            (0..table.secondary.len()).filter(|&number| table.desc.indexes[number].is_unique_at_once());
        let primary = table.desc.primary_key.is_some().then_some(IndexRef::Primary);
        let mut keys = Vec::new();
        for index in primary.into_iter().chain(unique.map(IndexRef::Secondary)) {
            if wanted.is_none_or(|wanted| wanted == index)
                && let Some(key) = self.key_of(table, index, &insert.row)?
            {
                keys.push((index, key.to_vec()));
            }
        }
        Ok(keys)
    }

    fn taken(&mut self, insert: &Insert) -> Result<Taken> {
        for (index, key) in self.unique_keys(insert, true)? {
            let id = insert.table.index_id(index);
            let there =
                with_key(self.worker()?, &insert.table, index, &key, &Projection::existence(), |row, _| row)
                    .map_err(|error| self.context.engine_error(error))?;
            let Some(parts) = &self.parts else { continue };
            let gone = |row| parts.touched.get(&(insert.table.info.id, row)) == Some(&true);
            if there.is_some_and(|row| !gone(row)) {
                return Ok(Taken::There(index, key));
            }
            if parts.keys.as_ref().is_some_and(|keys| keys.contains(&(id, key))) {
                return Ok(Taken::Proposed);
            }
        }
        Ok(Taken::No)
    }

    /// Lets the changes of an UPDATE wait.
    pub(super) fn update_apart(
        &mut self,
        table: &Arc<BoundTable>,
        columns: &[usize],
        projection: &Projection,
        changes: Changes<'a>,
    ) {
        if let Some(parts) = &mut self.parts {
            let (columns, projection) = (columns.to_vec(), projection.clone());
            parts.pending.push(Pending::Update { table: table.clone(), columns, projection, changes });
        }
    }

    /// Lets the changes of a DELETE wait.
    pub(super) fn delete_apart(&mut self, table: &Arc<BoundTable>, changes: Changes<'a>) {
        if let Some(parts) = &mut self.parts {
            parts.pending.push(Pending::Delete(table.clone(), changes));
        }
    }

    /// Writes what has waited for the end of the statement.
    ///
    /// # Errors
    /// Those of the writes, and of what they break.
    pub(crate) fn write_parts(&mut self) -> Result<()> {
        let Some(parts) = self.parts.take() else { return Ok(()) };
        for pending in parts.pending {
            match pending {
                Pending::Insert(table, row) => {
                    self.insert_moved(&table, &row)?;
                }
                Pending::Update { table, columns, projection, changes } => {
                    let moves = columns.iter().any(|c| table.primary.iter().any(|part| part.position == *c));
                    self.write_changes(&table, &columns, &projection, moves, &changes)?;
                }
                Pending::Delete(table, changes) => {
                    for &row in changes.names() {
                        self.tick()?;
                        self.delete_row(&table, row)?;
                    }
                }
            }
        }
        self.check_noted()
    }
}
