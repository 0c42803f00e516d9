//! What an engine of several nodes hears of before it reads it: the keys that new rows must not share with others, and
//! those that they refer to. It asks each node once for many, where each would wait for an answer of its own.

use super::late::Check;
use super::modify_table::Inserting;
use super::{Exec, Flow, Next, codec};
use scaledb_engine::{PREFETCH, TableInfo, Worker};
use scaledb_keys::KeyBuf;
use scaledb_planner::plan::Insert;
use scaledb_row::{KeySpec, Projection, RowBuf};
use scaledb_types::{Result, Value};

/// The keys that rows must not share with others, each with its table or index.
pub(crate) fn foresee_rows<'r, W: Worker>(
    worker: &mut W,
    table: &TableInfo,
    rows: impl Iterator<Item = &'r RowBuf>,
) {
    let schema = &table.schema;
    let mut keys = Vec::new();
    for row in rows {
        let mut add = |id, columns: &KeySpec| {
            let mut key = KeyBuf::new();
            let has_null = columns.encode(schema, row.view(schema), &mut key);
            if !key.is_empty() && !has_null {
                keys.push((id, key));
            }
        };
        add(table.id, schema.primary_key());
        table.indexes.iter().filter(|index| index.unique).for_each(|index| add(index.id, &index.key));
    }
    for some in keys.chunks(PREFETCH) {
        worker.prefetch_inserts(some.iter().map(|(id, key)| (*id, &key[..])));
    }
}

/// Whether the engine asks for the keys of rows before they are inserted, and these are what will be inserted.
pub(crate) fn foresees<W: Worker>(worker: &W, insert: &Insert) -> bool {
    let changed = insert.instead || insert.triggers.as_ref().is_some_and(|t| !t.before_row.is_empty());
    !changed && worker.foresees()
}

/// The keys that new rows must not share with others, and those that they refer to. Columns of which nothing is known
/// are NULL: what depends on them is not foreseen.
pub(crate) fn foresee_inserts<W: Worker>(worker: &mut W, insert: &Insert, rows: &[Vec<Value>]) {
    let buffers: Vec<RowBuf> = rows.iter().filter_map(|row| encoded(insert, row)).collect();
    foresee_rows(worker, &insert.table.info, buffers.iter());
    let mut keys = Vec::new();
    for (row, key) in rows.iter().flat_map(|row| insert.checks.references.iter().map(move |key| (row, key))) {
        let values = key.from_columns.iter().map(|&column| row[column].clone()).collect();
        if let Ok(Some(Check::Reference(reference))) = Check::referring(key.clone(), values)
            && let Ok(Some(key)) = reference.looked_for()
        {
            keys.push(key);
        }
    }
    let existence = Projection::existence();
    for some in keys.chunks(PREFETCH) {
        worker.prefetch(some.iter().map(|(id, key)| (*id, &key[..], &existence)));
    }
}

/// Rows of an INSERT that are made before the first of them is inserted.
#[derive(Default)]
pub(super) struct PutOff(Vec<Box<[Value]>>);

impl<'a, W: Worker> Exec<'a, W> {
    /// Whether rows of an INSERT are put off.
    pub(super) fn puts_off(&mut self, insert: &Insert) -> Result<bool> {
        Ok(self.parts.is_none() && foresees(self.worker()?, insert))
    }

    /// Runs the source of an INSERT, and inserts its rows some at a time.
    pub(super) fn insert_put_off(&mut self, state: &mut Inserting<'_>, next: Next<'_, 'a, W>) -> Result<()> {
        let insert = state.insert;
        let mut put_off = PutOff::default();
        let _ = self.run(&insert.source, &mut |exec| {
            let row = insert.values.iter().map(|value| exec.eval(value)).collect::<Result<_>>()?;
            exec.put_off(state, &mut put_off, row, next)?;
            Ok(Flow::Continue(()))
        })?;
        self.insert_all(state, &mut put_off, next)
    }

    /// Adds a row to those that are inserted together.
    pub(super) fn put_off(
        &mut self,
        state: &mut Inserting<'_>,
        put_off: &mut PutOff,
        row: Box<[Value]>,
        next: Next<'_, 'a, W>,
    ) -> Result<()> {
        put_off.0.push(row);
        if put_off.0.len() < PREFETCH { Ok(()) } else { self.insert_all(state, put_off, next) }
    }

    /// Inserts the rows that were put off.
    pub(super) fn insert_all(
        &mut self,
        state: &mut Inserting<'_>,
        put_off: &mut PutOff,
        next: Next<'_, 'a, W>,
    ) -> Result<()> {
        let (insert, table) = (state.insert, &state.insert.table);
        if put_off.0.len() > 1 {
            let buffers: Vec<RowBuf> = put_off.0.iter().filter_map(|row| encoded(insert, row)).collect();
            foresee_rows(self.worker()?, &table.info, buffers.iter());
        }
        for row in put_off.0.drain(..) {
            self.tick()?;
            for (&slot, value) in insert.row.iter().zip(row) {
                self.frame[slot] = value;
            }
            self.insert_row(state, next)?;
        }
        Ok(())
    }

    /// Tells the engine of the rows that the next of these checks look for.
    pub(super) fn foresee_checks(&mut self, from: usize) -> Result<()> {
        if !self.worker()?.foresees() {
            return Ok(());
        }
        let mut keys = Vec::new();
        for check in self.after[from..].iter().take(PREFETCH) {
            if let Check::Reference(reference) = check
                && let Some(key) = reference.looked_for()?
            {
                keys.push(key);
            }
        }
        let existence = Projection::existence();
        self.worker()?.prefetch(keys.iter().map(|(id, key)| (*id, &key[..], &existence)));
        Ok(())
    }
}

/// A row as the engine takes it. None: it does not, which its insert says.
fn encoded(insert: &Insert, row: &[Value]) -> Option<RowBuf> {
    let mut buffer = RowBuf::new(&insert.table.info.schema);
    codec::write(&mut buffer, &insert.table, row.iter()).ok().map(|()| buffer)
}
