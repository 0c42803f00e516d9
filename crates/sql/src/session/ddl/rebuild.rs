//! Tables of the engine: new ones, and rows copied into them.

use super::super::Session;
use crate::bind::Binder;
use crate::exec::{Exec, Scratch, codec};
use crate::plan::Table;
use crate::plan::expr::Expr;
use crate::session::state::engine_def;
use scaledb_catalog::{Relation, TableDesc};
use scaledb_engine::{Engine, Order, Range, Worker};
use scaledb_keys::{Direction, KeyBuf};
use scaledb_row::{Projection, RowBuf};
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Rows that are copied between two scans.
const BATCH: usize = 1_000;

impl<E: Engine> Session<E> {
    /// Gives a new descriptor a table of the engine.
    pub(super) fn make_table(&mut self, desc: &mut TableDesc) -> Result<()> {
        let info = self.state.shared.engine_table(engine_def(desc)?)?;
        desc.engine.clone_from(&info.name);
        self.transaction.created.push(info);
        Ok(())
    }

    /// Replaces a table by one of another shape. `values` computes each new column over the old ones.
    pub(super) fn rebuild(&mut self, old: &Arc<Table>, mut desc: TableDesc, values: Vec<Expr>) -> Result<()> {
        self.begin_change()?;
        self.make_table(&mut desc)?;
        let desc = Arc::new(desc);
        let new = self.state.table_of(&desc)?;
        self.transaction.touch(&[(old.desc.oid, old.info.id)], 0);
        self.for_each_row(old, |exec, row| {
            exec.frame.clear();
            exec.frame.extend_from_slice(row);
            let mut fresh = Vec::with_capacity(values.len());
            for value in &values {
                fresh.push(exec.eval(value)?);
            }
            for (position, column) in new.desc.columns.iter().enumerate() {
                if column.not_null && fresh[position].is_null() {
                    return Err(SqlError::new(
                        SqlState::NOT_NULL_VIOLATION,
                        format!(
                            "column \"{}\" of relation \"{}\" contains null values",
                            column.name, new.desc.name
                        ),
                    )
                    .table(new.desc.schema.as_str(), new.desc.name.as_str())
                    .column(column.name.as_str()));
                }
            }
            let mut buffer = RowBuf::new(&new.info.schema);
            let context = exec.context;
            codec::write(&mut buffer, &new, fresh.iter()).map_err(|error| context.engine_error(error))?;
            match exec.worker()?.insert(new.info.id, &buffer) {
                Ok(_) => Ok(()),
                Err(scaledb_base::Error::DuplicateKey { table: id, .. }) => {
                    Err(not_unique(&new, id, &fresh, context.env))
                }
                Err(error) => Err(context.engine_error(error)),
            }
        })?;
        self.transaction.dropped.push(old.info.clone());
        self.put(Relation::Table(desc))
    }

    /// Calls `f` with each row of a table.
    pub(super) fn for_each_row(
        &mut self,
        table: &Arc<Table>,
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
    pub(super) fn identity(table: &Table) -> Vec<Expr> {
        (0..table.types.len()).map(Expr::Slot).collect()
    }

    /// Binds an expression over the columns of a table, which are the first slots.
    pub(super) fn bind_over<R>(
        &self,
        table: &Table,
        f: impl FnOnce(&mut Binder<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut binder = Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
        let slots = binder.new_slots(table.types.len());
        let columns = table.desc.columns.iter().zip(&table.types).zip(slots);
        let columns = columns.map(|((desc, &ty), slot)| crate::bind::scope::ScopeColumn {
            name: desc.name.clone(),
            ty,
            slot,
            origin: (table.desc.oid, desc.attnum),
            merged: false,
        });
        let scope_table = crate::bind::scope::ScopeTable {
            schema: None,
            name: table.desc.name.clone(),
            columns: columns.collect(),
        };
        binder.scope().tables.push(scope_table);
        f(&mut binder)
    }
}

fn each<W: Worker>(
    exec: &mut Exec<'_, W>,
    table: &Arc<Table>,
    f: &mut impl FnMut(&mut Exec<'_, W>, &[Value]) -> Result<()>,
) -> Result<()> {
    let schema = &table.info.schema;
    let all = Projection::all(schema);
    let mut start = KeyBuf::new();
    loop {
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let mut last = KeyBuf::new();
        let mut failed = None;
        let range = Range { start: &start, end: None };
        let context = exec.context;
        let scanned = exec.worker()?.scan(table.info.id, range, Order::Forward, &all, |_, key, row| {
            let values = table.types.iter().enumerate();
            let values = values.map(|(column, &ty)| codec::load(row, schema, column, ty)).collect();
            match values {
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
            return Ok(());
        }
        start = last;
        start.push_u8(0, Direction::Ascending);
    }
}

/// Rows that a new unique index does not take.
fn not_unique(table: &Table, id: scaledb_base::TableId, row: &[Value], env: &scaledb_types::Env) -> SqlError {
    let (name, columns) = if id == table.info.id {
        (table.index_name(crate::plan::IndexRef::Primary), &table.primary)
    } else {
        let number = table.info.indexes.iter().position(|index| index.id == id).unwrap_or(0);
        (table.index_name(crate::plan::IndexRef::Secondary(number)), &table.secondary[number])
    };
    let names: Vec<&str> = columns.iter().map(|c| table.desc.columns[c.position].name.as_str()).collect();
    let values: Vec<String> = columns
        .iter()
        .map(|c| row[c.position].to_text(c.ty, env).map_or("null".to_owned(), |text| text.to_string()))
        .collect();
    SqlError::new(SqlState::UNIQUE_VIOLATION, format!("could not create unique index \"{name}\""))
        .detail(format!("Key ({})=({}) is duplicated.", names.join(", "), values.join(", ")))
        .table(table.desc.schema.as_str(), table.desc.name.as_str())
        .constraint(name)
}
