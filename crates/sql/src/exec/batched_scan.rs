//! A range that is read in batches: the engine's scan pauses, so that what stands above it can use the worker.

use super::row_filter::RowFilter;
use super::scan::{Bounds, conditions, forget, forgets, load};
use super::{Exec, Flow, Next, row_weight};
use scaledb_base::TableId;
use scaledb_engine::{Order, Range, RowId, Worker};
use scaledb_keys::{Direction, KeyBuf};
use scaledb_planner::plan::Scan;
use scaledb_planner::plan::expr::Expr;
use scaledb_types::{Result, SqlError, Value};
use std::ops::ControlFlow;

/// Rows of the first batch, and of the largest. What calls functions that may write has all rows in one, as long as
/// there is memory, or else it would meet what they insert.
const BATCH: (usize, usize) = (8, 512);

/// What one scan of the engine has found before it paused.
struct Batch {
    /// After so many rows it pauses.
    limit: usize,
    /// Whether a condition needs the worker: then the conditions are evaluated when the scan has paused.
    waits: bool,
    /// The rows for which the conditions so far hold.
    rows: Vec<(RowId, Vec<Value>)>,
    /// Their memory.
    weight: usize,
    /// The rows that it has met, dropped ones included.
    met: usize,
    /// The key at which it paused; empty at the end of the range.
    last: KeyBuf,
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Fetches rows in batches, and calls `next` between the engine's scans.
    pub(super) fn range_in_batches(
        &mut self,
        scan: &Scan,
        index: TableId,
        (mut start, mut end): Bounds,
        order: Order,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let mut filter = self.row_filter(scan);
        let waits = conditions(scan).iter().any(Expr::needs_worker);
        let first = if self.calls { usize::MAX } else { BATCH.0 };
        let mut batch =
            Batch { limit: first, waits, rows: Vec::new(), weight: 0, met: 0, last: KeyBuf::new() };
        loop {
            let range = Range { start: &start, end: end.as_deref() };
            self.fetch_batch(scan, index, range, order, filter.as_deref(), &mut batch)?;
            self.memory.take_share(batch.weight)?;
            let flow = self.hand_over(scan, filter.as_deref(), &mut batch, next)?;
            self.memory.give_rows(batch.weight);
            if flow.is_break() || batch.last.is_empty() {
                return Ok(flow);
            }
            if filter.is_none() {
                filter = self.warm_up(scan, batch.met)?;
            }
            let last = std::mem::take(&mut batch.last);
            match order {
                // the key's successor
                Order::Forward => {
                    start = last;
                    start.push_u8(0, Direction::Ascending);
                }
                Order::Backward => end = Some(last),
            }
            batch.limit = batch.limit.saturating_mul(2).min(if self.calls { usize::MAX } else { BATCH.1 });
        }
    }

    /// One scan of the engine, up to where it pauses.
    fn fetch_batch(
        &mut self,
        scan: &Scan,
        index: TableId,
        range: Range<'_>,
        order: Order,
        filter: Option<&RowFilter>,
        batch: &mut Batch,
    ) -> Result<()> {
        let all = conditions(scan);
        (batch.weight, batch.met) = (0, 0);
        batch.rows.clear();
        let Some(worker) = self.worker.take() else {
            return Err(SqlError::internal("a nested read within a scan"));
        };
        let mut failed = None;
        let mark = forgets(scan, worker);
        let scanned = worker.scan(index, range, order, &scan.projection, |id, key, row| {
            let mut keep = || {
                self.tick()?;
                let left = filter.map_or(all, |filter| filter.rest(all));
                let mut passes = filter.is_none_or(|filter| filter.holds(row));
                if passes {
                    load(&mut self.frame, scan, row)?;
                    passes = batch.waits || self.hold(left)?;
                }
                if !passes {
                    self.note_filtered(scan);
                }
                Ok(passes)
            };
            match keep() {
                Err(error) => {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
                Ok(true) => {
                    let values: Vec<Value> =
                        scan.loads.slots().map(|slot| self.frame[slot].clone()).collect();
                    batch.weight += row_weight(&values);
                    batch.rows.push((id, values));
                }
                Ok(false) => {}
            }
            batch.met += 1;
            let full = batch.rows.len() >= batch.limit
                || batch.met >= batch.limit.saturating_mul(64)
                || batch.weight >= self.memory.room() / 4;
            if full {
                batch.last = key.into();
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        forget(worker, mark);
        self.worker = Some(worker);
        scanned.map_err(|error| self.context.engine_error(error))?;
        failed.map_or(Ok(()), Err)
    }

    /// Calls `next` with the rows of a batch, after the conditions that have waited for the worker.
    fn hand_over(
        &mut self,
        scan: &Scan,
        filter: Option<&RowFilter>,
        batch: &mut Batch,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let all = conditions(scan);
        let waited = match filter {
            _ if !batch.waits => &[],
            Some(filter) => filter.rest(all),
            None => all,
        };
        for (id, values) in batch.rows.drain(..) {
            for (slot, value) in scan.loads.slots().zip(values) {
                self.frame[slot] = value;
            }
            self.rows[scan.number] = Some(id);
            if !self.hold(waited)? {
                self.note_filtered(scan);
                continue;
            }
            self.name_row(scan, id)?;
            if next(self)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }
}
