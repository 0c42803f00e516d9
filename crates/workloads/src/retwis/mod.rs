//! Retwis, as papers on replicated transactions run it (Zhang et al., SOSP 2015): four transactions of a small Twitter
//! on a table of keys.
//!
//! ```text
//!   Add User          5 %    reads 1 key, writes 3
//!   Follow           15 %    reads 2, writes 2
//!   Post Tweet       30 %    reads 3, writes 5
//!   Load Timeline    50 %    reads 1 to 10
//! ```
//!
//! Each write adds 1 to its key, so that lost and doubled writes show in the sum.

pub mod client;

pub use client::{Retwis, User};

use crate::load::{in_batches, in_parallel};
use scaledb_base::{Result, TableId};
use scaledb_engine::{Access, Engine, Order, Range, TableDef, TableInfo, TxnKind, Worker};
use scaledb_row::{Column, ColumnType, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::Arc;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Keys of one unit of loading.
const KEYS_PER_UNIT: u64 = 20_000;

/// The workload's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Keys.
    pub keys: u64,
    /// Skew of their choice: 0 is uniform.
    pub theta: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { keys: 100_000, theta: 0.75 }
    }
}

/// The table: a key, and how often it was written.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its id.
    pub id: TableId,
    /// Its definition.
    pub info: Arc<TableInfo>,
    /// The second column.
    pub cols: Projection,
}

const KEY: usize = 0;
const WRITES: usize = 1;

impl Table {
    fn of(info: Arc<TableInfo>) -> Self {
        Self { id: info.id, cols: Projection::new(&info.schema, [WRITES]), info }
    }

    /// Creates it.
    ///
    /// # Errors
    /// Those of [`Engine::create_table`].
    pub fn create<E: Engine>(engine: &E) -> Result<Self> {
        let columns = ["key", "writes"].map(|name| Column::new(name, ColumnType::Int8));
        let schema = Schema::new(columns.to_vec(), &[KeyPart::asc(KEY)])?;
        let options = crate::table_options(Access::Hashed, false);
        Ok(Self::of(engine.create_table(TableDef::new("retwis", schema).options(options))?))
    }

    /// Inserts all keys on `threads` workers.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn load<E: Engine>(&self, engine: &E, keys: u64, seed: u64, threads: usize) -> Result<()> {
        let units: Vec<_> = (0..keys).step_by(KEYS_PER_UNIT as usize).collect();
        in_parallel(engine, threads, seed, &units, |worker, rng, &first| {
            let mut buf = RowBuf::new(&self.info.schema);
            in_batches(worker, rng, first..(first + KEYS_PER_UNIT).min(keys), 1, |worker, _, key| {
                let mut row = buf.edit(&self.info.schema);
                row.set_i64(KEY, key as i64);
                row.set_i64(WRITES, 0);
                worker.insert(self.id, &buf).map(drop)
            })
        })
    }

    /// How many writes there were in all.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn writes<W: Worker>(&self, worker: &mut W) -> Result<u64> {
        worker.run(TxnKind::Deferrable, |worker| {
            let mut writes = 0;
            worker.scan(self.id, Range::ALL, Order::Forward, &self.cols, |_, _, row| {
                writes += row.i64(WRITES) as u64;
                ControlFlow::Continue(())
            })?;
            Ok(writes)
        })
    }
}

/// The encoded key.
#[inline]
fn encoded(key: u64) -> [u8; 8] {
    (key ^ 1 << 63).to_be_bytes()
}
