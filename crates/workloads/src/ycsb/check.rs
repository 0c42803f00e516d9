//! What the table must hold after a run.

use super::client::Done;
use super::{Config, UserTable, value_of};
use scaledb_base::Result;
use scaledb_engine::{Order, Range, TxnKind, Worker};
use std::ops::ControlFlow;

/// Compares the table with what the sessions have written (their sums). `Err` inside tells what is wrong.
///
/// # Errors
/// What the engine returns.
pub fn check<W: Worker>(
    config: &Config,
    table: &UserTable,
    done: Done,
    worker: &mut W,
) -> Result<Result<(), String>> {
    let all = table.project(None);
    let (records, sum, torn) = worker.run(TxnKind::Deferrable, |worker| {
        let (mut records, mut sum, mut torn) = (0u64, 0u64, 0u64);
        worker.scan(table.id, Range::ALL, Order::Forward, &all, |_, _, row| {
            records += 1;
            for field in 1..=config.fields {
                match value_of(row.bytes(field)) {
                    Some(value) => sum = sum.wrapping_add(value),
                    None => torn += 1,
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok((records, sum, torn))
    })?;
    let expected = config.records + done.inserts;
    Ok(if records != expected {
        Err(format!("{records} records, not {expected}"))
    } else if torn > 0 {
        Err(format!("{torn} fields are torn"))
    } else if config.update == 0 && sum != done.increments {
        Err(format!("{} increments have committed, {sum} are there", done.increments))
    } else {
        Ok(())
    })
}

impl std::iter::Sum for Done {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            increments: a.increments + b.increments,
            inserts: a.inserts + b.inserts,
        })
    }
}
