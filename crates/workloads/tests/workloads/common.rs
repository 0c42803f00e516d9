//! What the tests share: a loaded TPC-C database on the reference engine, and rows as values.

use scaledb_engine::{Engine, Order, Range, TxnKind, Worker};
use scaledb_row::{Datum, Projection};
use scaledb_sync::Arc;
use scaledb_verify::reference::{Reference, ReferenceWorker};
use scaledb_workloads::driver::{Options, Outcome};
use scaledb_workloads::tpcc::schema::TpccTable;
use scaledb_workloads::tpcc::{self, Mix, Scale, Tables};
use std::ops::ControlFlow;
use std::time::Duration;

pub(crate) const SEED: u64 = 42;

/// A short run.
pub(crate) fn options(threads: usize, ms: u64) -> Options {
    Options {
        threads,
        warmup: Duration::from_millis(ms / 4),
        measured: Duration::from_millis(ms),
        pin: false,
        asynchronous: false,
    }
}

/// A loaded database.
pub(crate) struct Tpcc {
    pub(crate) engine: Reference,
    pub(crate) worker: ReferenceWorker,
    pub(crate) tables: Arc<Tables>,
}

impl Tpcc {
    pub(crate) fn load(scale: Scale, threads: usize) -> Self {
        let engine = Reference::new();
        let tables = Tables::create(&engine, scale, false).unwrap();
        tpcc::load(&engine, &tables, SEED, threads, 0).unwrap();
        Self { worker: engine.worker().unwrap(), engine, tables: Arc::new(tables) }
    }

    pub(crate) fn workload(&self, mix: Mix) -> tpcc::Tpcc {
        tpcc::Tpcc { tables: self.tables.clone(), mix, seed: SEED, snapshot_reads: false }
    }

    /// Runs one transaction; rolls it back on an error.
    pub(crate) fn execute(&mut self, f: impl FnOnce(&mut ReferenceWorker, &Tables) -> Outcome) -> Outcome {
        self.worker.begin(TxnKind::ReadWrite).unwrap();
        match f(&mut self.worker, &self.tables) {
            Ok(()) => self.worker.commit().map(drop).map_err(Into::into),
            Err(error) => {
                self.worker.rollback();
                Err(error)
            }
        }
    }

    /// The row with this key.
    pub(crate) fn row(&mut self, table: &TpccTable, key: &[u8]) -> Row {
        let wanted = rows(&mut self.worker, table).into_iter().find(|row| row.key == key);
        wanted.unwrap_or_else(|| panic!("{} has no such row", table.info.name))
    }

    pub(crate) fn assert_consistent(&mut self) {
        let conditions = tpcc::check(&self.tables, &mut self.worker).unwrap();
        assert!(conditions.iter().all(|c| c.holds() && (c.checked > 0 || c.number == 3)), "{conditions:#?}");
    }
}

/// A row as values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) key: Vec<u8>,
    values: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Int(i64),
    Bytes(Vec<u8>),
}

impl Row {
    /// An integer; `None` is NULL.
    pub(crate) fn int(&self, column: usize) -> Option<i64> {
        match self.values[column] {
            Value::Int(v) => Some(v),
            Value::Null => None,
            Value::Bytes(_) => panic!("column {column} is not an integer"),
        }
    }

    /// Bytes, with the padding.
    pub(crate) fn bytes(&self, column: usize) -> &[u8] {
        match &self.values[column] {
            Value::Bytes(v) => v,
            other => panic!("column {column} is {other:?}"),
        }
    }
}

/// All rows of a table or index, in its order.
pub(crate) fn rows(worker: &mut ReferenceWorker, table: &TpccTable) -> Vec<Row> {
    let schema = table.schema();
    let mut found = Vec::new();
    worker.begin(TxnKind::ReadOnly).unwrap();
    worker
        .scan(table.id, Range::ALL, Order::Forward, &Projection::all(schema), |_, key, row| {
            let values = (0..schema.columns().len()).map(|column| match row.get(schema, column) {
                Datum::Null => Value::Null,
                Datum::Int2(v) => Value::Int(v.into()),
                Datum::Int4(v) => Value::Int(v.into()),
                Datum::Int8(v) | Datum::Timestamp(v) => Value::Int(v),
                Datum::Bytes(v) => Value::Bytes(v.to_vec()),
                other => panic!("unexpected {other:?}"),
            });
            found.push(Row { key: key.to_vec(), values: values.collect() });
            ControlFlow::Continue(())
        })
        .unwrap();
    worker.commit().unwrap();
    found
}

/// Changes behind the workload's back.
pub(crate) mod full {
    use super::*;

    pub(crate) fn set(
        worker: &mut ReferenceWorker,
        table: &TpccTable,
        key: &[u8],
        column: usize,
        value: Datum<'_>,
    ) {
        let schema = table.schema();
        let set = worker.run(TxnKind::ReadWrite, |w| {
            w.update(table.id, key, &Projection::all(schema), |row| row.set(schema, column, value))
        });
        assert!(set.unwrap().is_some(), "{} has no such row", table.info.name);
    }

    pub(crate) fn delete(worker: &mut ReferenceWorker, table: &TpccTable, key: &[u8]) {
        assert!(worker.run(TxnKind::ReadWrite, |w| w.delete(table.id, key)).unwrap());
    }
}
