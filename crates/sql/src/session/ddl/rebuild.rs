//! Tables of the engine: new ones, and rows copied into them.

use super::super::Session;
use crate::exec::exclusion::excluded_keys;
use crate::exec::foresee::foresee_rows;
use crate::exec::{Exec, Scratch, codec};
use crate::patience::{COPY_ATTEMPTS, runs_again};
use crate::session::state::engine_def;
use crate::session::transaction::Created;
use scaledb_catalog::{Relation, TableDesc};
use scaledb_engine::{Engine, Order, Range, SerializationPoint, TableDef, TableInfo, TxnKind, Worker};
use scaledb_keys::{Direction, KeyBuf};
use scaledb_planner::bind::Binder;
use scaledb_planner::bind::generated::Generated;
use scaledb_planner::bind::names::Naming;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{BoundTable, IndexRef};
use scaledb_row::{Projection, RowBuf};
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Rows that are copied between two scans.
const BATCH: usize = 1_000;

/// Columns of a table, and those of a key.
const MAX_COLUMNS: usize = 1_600;
const MAX_KEY_COLUMNS: usize = 32;

/// 54011 for a table of too many columns.
pub(super) fn check_limits(desc: &TableDesc) -> Result<()> {
    let too_many = |what: String| Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, what));
    if desc.columns.len() > MAX_COLUMNS {
        return too_many(format!("tables can have at most {MAX_COLUMNS} columns"));
    }
    let primary = desc.primary_key.iter().map(|key| key.columns.len());
    if primary.chain(desc.indexes.iter().map(|index| index.columns.len())).any(|n| n > MAX_KEY_COLUMNS) {
        return too_many(format!("cannot use more than {MAX_KEY_COLUMNS} columns in an index"));
    }
    Ok(())
}

/// What rows of a new table have.
struct Values {
    /// Each column, over those of the old table.
    values: Vec<Expr>,
    /// Generated columns, over those of the new one.
    generated: Generated,
}

impl<E: Engine> Session<E> {
    /// Gives a new descriptor a table of the engine.
    pub(super) fn make_table(&mut self, desc: &mut TableDesc) -> Result<()> {
        check_limits(desc)?;
        super::spread::check(desc)?;
        desc.placement = None;
        let def = engine_def(&self.state.catalog, desc)?;
        let info = self.empty_table(def, self.state.is_local(&desc.schema))?;
        desc.engine.clone_from(&info.name);
        for (index, made) in desc.indexes.iter_mut().zip(&info.indexes) {
            index.engine.clone_from(&made.name);
        }
        self.transaction.created.push(Created { info, filled: false });
        Ok(())
    }

    /// A table of the engine that is empty for this transaction; for a local relation or not.
    pub(super) fn empty_table(&mut self, def: TableDef, is_local: bool) -> Result<Arc<TableInfo>> {
        let shared = self.state.shared.clone();
        if shared.engine.serialization_point() == SerializationPoint::Commit {
            return shared.engine_table(def, is_local);
        }
        let info = shared.engine_table(def.clone(), is_local)?;
        // it may have been emptied behind the place of this transaction, which sees its former rows
        let Some(worker) = self.worker.as_mut() else { return Ok(info) };
        let mut is_empty = true;
        let scanned =
            worker.scan(info.id, Range::ALL, Order::Forward, &Projection::existence(), |_, _, _| {
                is_empty = false;
                ControlFlow::Break(())
            });
        match scanned {
            Ok(()) if is_empty => Ok(info),
            Ok(()) => {
                shared.keep_spare(info);
                shared.new_engine_table(def, is_local)
            }
            Err(error) => {
                shared.keep_spare(info);
                Err(self.state.explain(error, |table| self.transaction.statement_on(table)))
            }
        }
    }

    /// Replaces a table by one of another shape. `values` computes each new column over the old ones.
    pub(super) fn rebuild(
        &mut self,
        old: &Arc<BoundTable>,
        mut desc: TableDesc,
        values: Vec<Expr>,
    ) -> Result<()> {
        // before any row is copied
        self.may_change(old.desc.oid)?;
        self.begin_change()?;
        self.bar_everywhere(&[old.desc.oid])?;
        if self.reindex(old, &desc, &values)? {
            return Ok(());
        }
        self.make_table(&mut desc)?;
        let desc = Arc::new(desc);
        let new = self.state.table_of(&desc)?;
        self.transaction.touch(&[(old.desc.oid, old.info.id)], 0);
        let values = Values { values, generated: self.generated_of(&new)? };
        self.copy_all(old, desc, &new, &values)
    }

    /// Replaces a table by one whose indexes have what their expressions and conditions compute now. Its generated
    /// columns keep their values.
    pub(super) fn rebuild_indexes(&mut self, old: &Arc<BoundTable>) -> Result<()> {
        self.may_change(old.desc.oid)?;
        self.begin_change()?;
        self.bar_everywhere(&[old.desc.oid])?;
        let mut desc = (*old.desc).clone();
        self.make_table(&mut desc)?;
        let desc = Arc::new(desc);
        let new = self.state.table_of(&desc)?;
        self.transaction.touch(&[(old.desc.oid, old.info.id)], 0);
        let mut generated = self.generated_of(&new)?;
        generated.retain(|(position, _)| desc.columns[*position].hidden);
        let values = Values { values: Self::identity(old), generated };
        self.as_owner_of(old.desc.oid, |session| session.copy_all(old, desc, &new, &values))
    }

    /// What somebody has written into an index runs with the privileges of the table's owner, and not of whoever makes
    /// the index.
    pub(super) fn as_owner_of<R>(&mut self, table: u32, f: impl FnOnce(&mut Self) -> R) -> R {
        let state = &self.state;
        let mark = state.identity.act_as(&state.catalog, state.catalog.owner_of(table));
        let result = f(self);
        self.state.identity.act_no_more(&self.state.catalog, mark);
        result
    }

    fn copy_all(
        &mut self,
        old: &Arc<BoundTable>,
        desc: Arc<TableDesc>,
        new: &Arc<BoundTable>,
        values: &Values,
    ) -> Result<()> {
        if self.can_copy_beside(old) {
            self.copy_beside(old, new, values)?;
            self.begin_behind()?;
        } else {
            self.note_writes();
            self.for_each_row(old, |exec, row| {
                let row = changed(exec, new, values, row)?;
                insert_copy(exec, new, &row)
            })?;
        }
        self.transaction.dropped.push(old.info.clone());
        self.put(Relation::Table(desc))
    }

    /// Copies the rows in transactions beside the one at hand: one of a million rows would remember, lock and validate
    /// all of them. No other session knows the new table, and a bar keeps others from the old one.
    fn copy_beside(&mut self, old: &Arc<BoundTable>, new: &Arc<BoundTable>, values: &Values) -> Result<()> {
        if let Some(created) = self.transaction.created.last_mut() {
            created.filled = true;
        }
        let context = self.context();
        // one of its own: those of sessions may all be with transactions that wait for the end of this one
        let mut worker = self.state.shared.engine.worker().map_err(crate::error::plain)?;
        let mut start = KeyBuf::new();
        let mut attempt = 0;
        let mut rows = Vec::new();
        // a change of indexes alone
        let same = values.generated.is_empty()
            && old.desc.placement.is_none()
            && old.info.schema.columns() == new.info.schema.columns()
            && values
                .values
                .iter()
                .enumerate()
                .all(|(at, value)| matches!(value, Expr::Slot(slot) if *slot == at));
        loop {
            worker.begin(TxnKind::ReadWrite).map_err(crate::error::plain)?;
            let mut exec = Exec::new(&mut worker, &context, &[], (0, 0, 0), Scratch::default());
            let copied = if same {
                copy_same(&mut exec, old, new, &start, &mut rows)
            } else {
                copy_changed(&mut exec, old, new, values, &start)
            };
            drop(exec);
            let copied = match copied {
                Ok(next) => worker.commit().map(|_| next).map_err(|error| context.engine_error(error)),
                Err(error) => {
                    worker.rollback();
                    Err(error)
                }
            };
            match copied {
                Ok(Some(next)) => start = next,
                Ok(None) => return Ok(()),
                // merges and clean-up may be in the way
                Err(error) if runs_again(&error, attempt, COPY_ATTEMPTS) => {
                    attempt += 1;
                    worker.back_off(attempt);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Calls `f` with each row of a table.
    pub(super) fn for_each_row(
        &mut self,
        table: &Arc<BoundTable>,
        mut f: impl FnMut(&mut Exec<'_, E::Worker>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        let Some(mut worker) = self.worker.take() else { return Err(SqlError::internal("no worker")) };
        let context = self.context();
        let mut exec = Exec::new(&mut *worker, &context, &[], (0, 0, 0), Scratch::default());
        let result = each(&mut exec, table, &mut f);
        drop(exec);
        self.worker = Some(worker);
        result
    }

    /// The columns of a table as they are.
    pub(super) fn identity(table: &BoundTable) -> Vec<Expr> {
        (0..table.types.len()).map(Expr::Slot).collect()
    }

    /// Binds an expression that is kept with a table over its columns, which are the first slots.
    pub(super) fn bind_kept_over<R>(
        &self,
        table: &BoundTable,
        f: impl FnOnce(&mut Binder<'_>) -> Result<R>,
    ) -> Result<R> {
        self.bind_over(table, |binder| {
            binder.naming = Naming::Kept;
            f(binder)
        })
    }

    /// Binds an expression over the columns of a table, which are the first slots.
    pub(super) fn bind_over<R>(
        &self,
        table: &BoundTable,
        f: impl FnOnce(&mut Binder<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut binder = Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
        let slots = binder.new_slots(table.types.len());
        let columns = table.desc.columns.iter().zip(&table.types).zip(slots);
        let columns = columns.filter(|((desc, _), _)| !desc.hidden).map(|((desc, &ty), slot)| {
            scaledb_planner::bind::scope::ScopeColumn {
                name: desc.name.clone(),
                ty,
                slot,
                origin: (table.desc.oid, desc.attnum),
                merged: false,
            }
        });
        let scope_table = scaledb_planner::bind::scope::ScopeTable {
            schema: None,
            name: table.desc.name.clone(),
            columns: columns.collect(),
            system: Vec::new(),
            scalar: false,
            own: false,
            view: None,
            later: Vec::new(),
            row_names: None,
        };
        binder.scope().tables.push(scope_table);
        f(&mut binder)
    }
}

/// A row of the new table: its values, and as the engine takes them.
type NewRow = (Vec<Value>, RowBuf);

/// Copies the next rows, from `start`, as the expressions change them. Where to go on, if there may be more.
fn copy_changed<W: Worker>(
    exec: &mut Exec<'_, W>,
    old: &Arc<BoundTable>,
    new: &Arc<BoundTable>,
    values: &Values,
    start: &[u8],
) -> Result<Option<KeyBuf>> {
    let mut rows = Vec::new();
    let next = batch(exec, old, start, &mut |exec, row| {
        rows.push(changed(exec, new, values, row)?);
        Ok(())
    })?;
    let worker = exec.worker()?;
    if worker.foresees() {
        foresee_rows(worker, &new.info, rows.iter().map(|(_, row)| row));
    }
    for row in &rows {
        exec.tick()?;
        insert_copy(exec, new, row)?;
    }
    Ok(next)
}

/// What the expressions make of a row of the old table.
fn changed<W: Worker>(
    exec: &mut Exec<'_, W>,
    new: &Arc<BoundTable>,
    values: &Values,
    row: &[Value],
) -> Result<NewRow> {
    exec.frame.clear();
    exec.frame.extend_from_slice(row);
    let mut fresh = Vec::with_capacity(values.values.len());
    for value in &values.values {
        fresh.push(exec.eval(value)?);
    }
    if !values.generated.is_empty() {
        exec.frame.clear();
        exec.frame.extend_from_slice(&fresh);
        for (position, expr) in &values.generated {
            fresh[*position] = exec.eval(expr)?;
        }
    }
    for (position, column) in new.desc.columns.iter().enumerate() {
        if column.not_null && fresh[position].is_null() {
            return Err(SqlError::new(
                SqlState::NOT_NULL_VIOLATION,
                format!("column \"{}\" of relation \"{}\" contains null values", column.name, new.desc.name),
            )
            .table(new.desc.schema.as_str(), new.desc.name.as_str())
            .column(column.name.as_str()));
        }
    }
    let mut buffer = RowBuf::new(&new.info.schema);
    let context = exec.context;
    codec::write(&mut buffer, new, fresh.iter()).map_err(|error| context.engine_error(error))?;
    Ok((fresh, buffer))
}

fn insert_copy<W: Worker>(
    exec: &mut Exec<'_, W>,
    new: &Arc<BoundTable>,
    (fresh, buffer): &NewRow,
) -> Result<()> {
    let context = exec.context;
    match exec.worker()?.insert(new.info.id, buffer) {
        Ok(_) => check_late(exec, new, fresh),
        Err(scaledb_base::Error::DuplicateKey { table: id, .. }) => {
            Err(not_unique(new, id, fresh, context.env))
        }
        Err(error) => Err(context.engine_error(error)),
    }
}

/// 23505 or 23P01 if a row that was inserted shares a key with another, or excludes it, where the engine does not look.
fn check_late<W: Worker>(exec: &mut Exec<'_, W>, table: &BoundTable, row: &[Value]) -> Result<()> {
    for number in table.late() {
        let columns = table.secondary[number].iter();
        let key: Vec<Value> = columns.map(|column| row[column.position].clone()).collect();
        if table.desc.indexes[number].exclusion.is_some() {
            if let Some(existing) = exec.excluded_by(table, number, &key, true)? {
                return Err(not_exclusive(table, number, &key, &existing, exec.context.env));
            }
            continue;
        }
        if table.is_compared_late(number, &key) && exec.is_shared(table, number, key.iter())? {
            return Err(not_unique(table, table.info.indexes[number].id, row, exec.context.env));
        }
    }
    Ok(())
}

/// Copies the next rows, from `start`, as they are. Where to go on, if there may be more.
fn copy_same<W: Worker>(
    exec: &mut Exec<'_, W>,
    old: &Arc<BoundTable>,
    new: &Arc<BoundTable>,
    start: &[u8],
    rows: &mut Vec<RowBuf>,
) -> Result<Option<KeyBuf>> {
    let schema = &old.info.schema;
    let all = Projection::all(schema);
    let mut count = 0;
    let mut last = KeyBuf::new();
    let context = exec.context;
    let range = Range { start, end: None };
    let scanned = exec.worker()?.scan(old.info.id, range, Order::Forward, &all, |_, key, row| {
        if rows.len() == count {
            rows.push(RowBuf::new(schema));
        }
        rows[count].copy_from(row);
        count += 1;
        if count < BATCH {
            return ControlFlow::Continue(());
        }
        last = key.into();
        ControlFlow::Break(())
    });
    scanned.map_err(|error| context.engine_error(error))?;
    let late = !new.late().is_empty();
    let worker = exec.worker()?;
    if worker.foresees() {
        foresee_rows(worker, &new.info, rows[..count].iter());
    }
    for row in &rows[..count] {
        exec.tick()?;
        match exec.worker()?.insert(new.info.id, row) {
            Ok(_) => {}
            Err(scaledb_base::Error::DuplicateKey { table: id, .. }) => {
                let values = codec::columns(row.view(schema), old).collect::<Result<Vec<_>>>()?;
                return Err(not_unique(new, id, &values, context.env));
            }
            Err(error) => return Err(context.engine_error(error)),
        }
        if late {
            check_late(exec, new, &codec::columns(row.view(schema), old).collect::<Result<Vec<_>>>()?)?;
        }
    }
    if last.is_empty() {
        return Ok(None);
    }
    last.push_u8(0, Direction::Ascending);
    Ok(Some(last))
}

/// Calls `f` with each row of a table.
fn each<W: Worker>(
    exec: &mut Exec<'_, W>,
    table: &Arc<BoundTable>,
    f: &mut impl FnMut(&mut Exec<'_, W>, &[Value]) -> Result<()>,
) -> Result<()> {
    let mut start = KeyBuf::new();
    while let Some(next) = batch(exec, table, &start, f)? {
        start = next;
    }
    Ok(())
}

/// Calls `f` with the next rows of a table, from `start`. Where to go on, if there may be more.
fn batch<W: Worker>(
    exec: &mut Exec<'_, W>,
    table: &Arc<BoundTable>,
    start: &[u8],
    f: &mut impl FnMut(&mut Exec<'_, W>, &[Value]) -> Result<()>,
) -> Result<Option<KeyBuf>> {
    let schema = &table.info.schema;
    let all = Projection::all(schema);
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut last = KeyBuf::new();
    let mut failed = None;
    let range = Range { start, end: None };
    let context = exec.context;
    let scanned = exec.worker()?.scan(table.info.id, range, Order::Forward, &all, |_, key, row| {
        match codec::columns(row, table).collect() {
            Ok(values) => rows.push(values),
            Err(error) => {
                failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        if rows.len() < BATCH {
            return ControlFlow::Continue(());
        }
        last = key.into();
        ControlFlow::Break(())
    });
    scanned.map_err(|error| context.engine_error(error))?;
    if let Some(error) = failed {
        return Err(error);
    }
    for row in &rows {
        exec.tick()?;
        f(exec, row)?;
    }
    if last.is_empty() {
        return Ok(None);
    }
    last.push_u8(0, Direction::Ascending);
    Ok(Some(last))
}

/// Two rows of which a new EXCLUDE constraint takes one only.
fn not_exclusive(
    table: &BoundTable,
    number: usize,
    new: &[Value],
    existing: &[Value],
    env: &scaledb_types::Env,
) -> SqlError {
    let [names, new, existing] = excluded_keys(table, number, new, existing, |value, column| {
        value.to_text(column.ty, env).map_or("null".to_owned(), |text| text.to_string())
    });
    let name = table.index_name(IndexRef::Secondary(number));
    let what = format!("could not create exclusion constraint \"{name}\"");
    SqlError::new(SqlState::EXCLUSION_VIOLATION, what)
        .detail(format!("Key ({names})=({new}) conflicts with key ({names})=({existing})."))
        .table(table.desc.schema.as_str(), table.desc.name.as_str())
        .constraint(name)
}

/// Rows that a new unique index does not take.
fn not_unique(
    table: &BoundTable,
    id: scaledb_base::TableId,
    row: &[Value],
    env: &scaledb_types::Env,
) -> SqlError {
    let index = match table.info.indexes.iter().position(|index| index.id == id) {
        Some(number) => IndexRef::Secondary(number),
        None => IndexRef::Primary,
    };
    let (name, columns) = (table.index_name(index), table.shown_columns(index));
    let names: Vec<_> = columns.iter().map(|column| table.key_name(column)).collect();
    let values: Vec<String> = columns
        .iter()
        .map(|c| row[c.position].to_text(c.ty, env).map_or("null".to_owned(), |text| text.to_string()))
        .collect();
    SqlError::new(SqlState::UNIQUE_VIOLATION, format!("could not create unique index \"{name}\""))
        .detail(format!("Key ({})=({}) is duplicated.", names.join(", "), values.join(", ")))
        .table(table.desc.schema.as_str(), table.desc.name.as_str())
        .constraint(name)
}
