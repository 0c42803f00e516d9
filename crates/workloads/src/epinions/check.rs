//! What the tables must hold after a run.

use super::client::RATINGS;
use super::{Tables, item, key, review, trust, useracct};
use crate::table::{WorkloadTable, is_whole};
use scaledb_base::Result;
use scaledb_engine::{Order, Range, TxnKind, Worker};
use scaledb_row::{Projection, RowRef};
use std::ops::ControlFlow;

/// Rows of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Of `useracct`.
    pub users: u64,
    /// Of `item`.
    pub items: u64,
    /// Of `review`.
    pub reviews: u64,
    /// Of `trust`.
    pub trust: u64,
}

impl Counts {
    /// Those of a database as it is now.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn of<W: Worker>(tables: &Tables, worker: &mut W) -> Result<Self> {
        let columns = Projection::existence();
        worker.run(TxnKind::Deferrable, |worker| {
            let mut count = |table: &WorkloadTable| -> Result<u64> {
                let mut count = 0;
                scan(worker, table, &columns, |_, _| count += 1)?;
                Ok(count)
            };
            Ok(Self {
                users: count(&tables.useracct)?,
                items: count(&tables.item)?,
                reviews: count(&tables.review)?,
                trust: count(&tables.trust)?,
            })
        })
    }
}

fn scan<W: Worker>(
    worker: &mut W,
    table: &WorkloadTable,
    columns: &Projection,
    mut f: impl FnMut(&[u8], RowRef<'_>),
) -> Result<()> {
    worker.scan(table.id, Range::ALL, Order::Forward, columns, |_, key, row| {
        f(key, row);
        ControlFlow::Continue(())
    })
}

/// The rows that a table, or an index of it on a column, has: how many, and a sum over what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    rows: u64,
    sum: u64,
    /// Entries of the index whose row has another value.
    elsewhere: u64,
    out_of_range: u64,
}

fn found<W: Worker>(
    worker: &mut W,
    table: &WorkloadTable,
    column: Option<usize>,
    numbers: [usize; 3],
    value: (usize, u64),
) -> Result<Found> {
    let mut found = Found::default();
    let columns = Projection::all(table.schema());
    scan(worker, table, &columns, |entry, row| {
        let mut hash = 0u64;
        for number in numbers {
            hash = (hash ^ row.i32(number) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        found.rows += 1;
        found.sum = found.sum.wrapping_add(hash >> 8);
        found.elsewhere +=
            u64::from(column.is_some_and(|column| !entry.starts_with(&key(row.i32(column) as u32))));
        let (column, limit) = value;
        found.out_of_range += u64::from(row.is_null(column) || row.i32(column) as u64 >= limit);
    })?;
    Ok(found)
}

/// Compares a database with what it held before the run: nothing comes or goes, no text is torn, and all indexes have
/// the rows of their tables. `Err` inside tells what is wrong.
///
/// # Errors
/// What the engine returns.
pub fn check<W: Worker>(tables: &Tables, before: Counts, worker: &mut W) -> Result<Result<(), String>> {
    let counts = Counts::of(tables, worker)?;
    if counts != before {
        return Ok(Err(format!("{counts:?}, not {before:?}")));
    }
    let t = tables;
    worker.run(TxnKind::Deferrable, |worker| {
        let mut torn = 0u64;
        for (table, column) in [(&t.useracct, useracct::NAME), (&t.item, item::TITLE)] {
            scan(worker, table, &table.project(&[column]), |_, row| {
                torn += u64::from(!is_whole(row.bytes(column)));
            })?;
        }
        if torn > 0 {
            return Ok(Err(format!("{torn} names or titles are torn")));
        }
        let reviews = [
            (&t.review, None),
            (&t.review_by_id, Some(review::A_ID)),
            (&t.review_by_user, Some(review::U_ID)),
            (&t.review_by_item, Some(review::I_ID)),
        ];
        let numbers = [review::U_ID, review::I_ID, review::RATING];
        let mut all = Vec::new();
        for (table, column) in reviews {
            all.push(("review", found(worker, table, column, numbers, (review::RATING, RATINGS))?));
        }
        let trusts = [
            (&t.trust, None),
            (&t.trust_by_source, Some(trust::SOURCE_U_ID)),
            (&t.trust_by_target, Some(trust::TARGET_U_ID)),
        ];
        let numbers = [trust::SOURCE_U_ID, trust::TARGET_U_ID, trust::TRUST];
        for (table, column) in trusts {
            all.push(("trust", found(worker, table, column, numbers, (trust::TRUST, 2))?));
        }
        for (number, (name, found)) in all.iter().enumerate() {
            let (_, first) = all[all.iter().position(|(first, _)| first == name).unwrap_or(number)];
            if found.elsewhere > 0 || found.out_of_range > 0 || *found != first {
                return Ok(Err(format!(
                    "{name}, by access path {number}: {found:?}, the table has {first:?}"
                )));
            }
        }
        Ok(Ok(()))
    })
}
