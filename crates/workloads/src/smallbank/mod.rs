//! SmallBank (Alomari et al., ICDE 2008): six short transactions on checking and savings accounts.
//!
//! Amounts are in cents. Each client sums what its committed transactions brought into the bank; the
//! balances must add up to that.

pub mod client;

pub use client::{SmallBank, Teller};

use crate::load::{in_batches, in_parallel};
use scaledb_base::{Result, TableId};
use scaledb_engine::{Access, Engine, Order, Range, TableDef, TableInfo, TxnKind, Worker};
use scaledb_row::{Column, ColumnType, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::Arc;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Customers of one unit of loading.
const CUSTOMERS_PER_UNIT: u32 = 20_000;
/// How the tables are kept: probed only, but scanned by the check.
const ACCESS: Access = Access::Hashed;
/// The initial balances lie between these, in cents.
const INITIAL: (u32, u32) = (10_000_00, 50_000_00);

/// The workload's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Customers; each has both accounts.
    pub customers: u32,
    /// The first so many of them are the hot spot.
    pub hot_customers: u32,
    /// Percentage of transactions that choose their customers there.
    pub hot_percent: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { customers: 1_000_000, hot_customers: 100, hot_percent: 90 }
    }
}

/// A table, and what of it is read.
#[derive(Clone, Debug)]
pub struct CustomerTable {
    /// Its id.
    pub id: TableId,
    /// Its definition.
    pub info: Arc<TableInfo>,
    /// Its second column: name or balance.
    pub cols: Projection,
}

/// The three tables: a customer's number, and the name or a balance.
#[derive(Clone, Debug)]
pub struct Tables {
    /// `account`: the customer's name.
    pub account: CustomerTable,
    /// `savings`.
    pub savings: CustomerTable,
    /// `checking`.
    pub checking: CustomerTable,
}

/// The column of the customer's number.
pub(crate) const CUSTOMER: usize = 0;
/// The column of the name or balance.
pub(crate) const VALUE: usize = 1;

impl Tables {
    /// Creates them.
    ///
    /// # Errors
    /// Those of [`Engine::create_table`].
    pub fn create<E: Engine>(engine: &E, synchronous: bool) -> Result<Self> {
        let table = |name: &str, value: Column| -> Result<CustomerTable> {
            let columns = vec![Column::new("customer_id", ColumnType::Int4), value];
            let options = crate::table_options(ACCESS, synchronous);
            let schema = Schema::new(columns, &[KeyPart::asc(CUSTOMER)])?;
            let info = engine.create_table(TableDef::new(name, schema).options(options))?;
            Ok(CustomerTable { id: info.id, cols: Projection::new(&info.schema, [VALUE]), info })
        };
        Ok(Self {
            account: table("account", Column::new("name", ColumnType::Fixed(16)))?,
            savings: table("savings", Column::new("balance", ColumnType::Int8))?,
            checking: table("checking", Column::new("balance", ColumnType::Int8))?,
        })
    }

    /// Inserts `customers` customers on `threads` workers.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn load<E: Engine>(&self, engine: &E, customers: u32, seed: u64, threads: usize) -> Result<()> {
        let units: Vec<_> = (0..customers).step_by(CUSTOMERS_PER_UNIT as usize).collect();
        in_parallel(
            engine,
            threads,
            seed,
            &units,
            |i, _| i,
            |worker, rng, &first| {
                let tables = [&self.account, &self.savings, &self.checking];
                let mut rows = tables.map(|table| RowBuf::new(&table.info.schema));
                let last = (first + CUSTOMERS_PER_UNIT).min(customers);
                in_batches(worker, rng, first..last, 3, |worker, rng, customer| {
                    for (i, (table, buf)) in tables.iter().zip(&mut rows).enumerate() {
                        let mut row = buf.edit(&table.info.schema);
                        row.set_i32(CUSTOMER, customer as i32);
                        match i {
                            0 => row.set_bytes(VALUE, format!("{customer:016}").as_bytes()),
                            _ => row.set_i64(VALUE, i64::from(rng.within(INITIAL.0, INITIAL.1))),
                        }
                        worker.insert(table.id, buf)?;
                    }
                    Ok(())
                })
            },
        )
    }

    /// The sum of all balances, in cents.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn total<W: Worker>(&self, worker: &mut W) -> Result<i64> {
        worker.run(TxnKind::Deferrable, |worker| {
            let mut total = 0;
            for table in [&self.savings, &self.checking] {
                worker.scan(table.id, Range::ALL, Order::Forward, &table.cols, |_, _, row| {
                    total += row.i64(VALUE);
                    ControlFlow::Continue(())
                })?;
            }
            Ok(total)
        })
    }
}

/// The encoded key of a customer.
#[inline]
pub(crate) fn key(customer: u32) -> [u8; 4] {
    (customer ^ 1 << 31).to_be_bytes()
}
