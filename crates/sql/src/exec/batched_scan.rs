//! A range that is read in batches: the engine's scan pauses, so that what stands above it can use the worker.

use super::row_filter::RowFilter;
use super::scan::{Bounds, conditions, forget, forgets, load_some, to_load};
use super::{Exec, Flow, Next, codec, row_weight};
use scaledb_base::TableId;
use scaledb_engine::{Order, Range, RowId, Worker};
use scaledb_keys::{Direction, KeyBuf};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::place::Load;
use scaledb_planner::plan::{Scan, Slot, Upcoming};
use scaledb_types::{Result, SqlError, Value};
use std::ops::ControlFlow;

/// Rows of the first batch, and of the largest. What calls functions that may write has all rows in one, as long as
/// there is memory, or else it would meet what they insert.
const BATCH: (usize, usize) = (8, 512);

/// How many rows before a row the memory of what is looked up with it is asked for, at least; so many at once.
const AHEAD: usize = 8;

/// What one scan of the engine has found before it paused.
struct Batch {
    /// After so many rows it pauses.
    limit: usize,
    /// Whether a condition needs the worker: then the conditions are evaluated when the scan has paused.
    waits: bool,
    /// The rows for which the conditions so far hold.
    rows: Vec<(RowId, Vec<Value>)>,
    /// The keys of what is looked up with each of them; empty where that is not known.
    keys: Vec<KeyBuf>,
    /// Their memory.
    weight: usize,
    /// The rows that it has met, dropped ones included.
    met: usize,
    /// The key at which it paused; empty at the end of the range.
    last: KeyBuf,
}

/// The slots of some columns, and of those in the tail.
fn slots_of(scan: &Scan, columns: &[Load]) -> impl Iterator<Item = Slot> {
    columns.iter().map(|load| load.slot).chain(scan.loads.added.iter().map(|(_, slot)| *slot))
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
        let (rows, keys) = (Vec::new(), Vec::new());
        let mut batch = Batch { limit: first, waits, rows, keys, weight: 0, met: 0, last: KeyBuf::new() };
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
        let left = filter.map_or(all, |filter| filter.rest(all));
        let columns = to_load(scan, left);
        (batch.weight, batch.met) = (0, 0);
        batch.rows.clear();
        batch.keys.clear();
        let Some(worker) = self.worker.take() else {
            return Err(SqlError::internal("a nested read within a scan"));
        };
        let mut failed = None;
        let mark = forgets(scan, worker);
        let scanned = worker.scan(index, range, order, &scan.projection, |id, key, row| {
            let mut keep = || {
                self.tick()?;
                let mut passes = filter.is_none_or(|filter| filter.holds(row));
                if passes {
                    load_some(&mut self.frame, scan, columns, row)?;
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
                        slots_of(scan, columns).map(|slot| self.frame[slot].clone()).collect();
                    batch.weight += row_weight(&values);
                    batch.rows.push((id, values));
                    batch.keys.extend(scan.upcoming.iter().map(|upcoming| self.upcoming_key(upcoming)));
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

    /// The key of what is looked up with the values of a row that is loaded; empty if that is not known.
    fn upcoming_key(&mut self, upcoming: &Upcoming) -> KeyBuf {
        let mut key = KeyBuf::new();
        for (expr, column) in upcoming.key.iter().zip(upcoming.table.index_columns(upcoming.index)) {
            // what fails does so where it is looked up
            let pushed = match self.eval(expr) {
                Ok(value) if !value.is_null() => {
                    codec::push_key(&mut key, &upcoming.table, column, &value).is_ok()
                }
                _ => false,
            };
            if !pushed {
                return KeyBuf::new();
            }
        }
        key
    }

    /// Asks for the memory of what is looked up with some rows of a batch.
    fn foresee(&mut self, scan: &Scan, keys: &[KeyBuf], rows: std::ops::Range<usize>) -> Result<()> {
        let each = scan.upcoming.len();
        let end = keys.len().min(rows.end * each);
        let Some(keys) = keys.get(rows.start * each..end) else { return Ok(()) };
        let worker = self.worker()?;
        for (number, upcoming) in scan.upcoming.iter().enumerate() {
            let of = keys.iter().skip(number).step_by(each).filter(|key| !key.is_empty());
            let index = upcoming.table.index_id(upcoming.index);
            if upcoming.whole {
                worker.prefetch(of.map(|key| (index, &key[..], &upcoming.projection)));
            } else {
                worker.prefetch_ranges(of.map(|key| (index, &key[..])));
            }
        }
        Ok(())
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
        let left = filter.map_or(all, |filter| filter.rest(all));
        let columns = to_load(scan, left);
        let waited = if batch.waits { left } else { &[] };
        for (number, (id, values)) in batch.rows.drain(..).enumerate() {
            if !batch.keys.is_empty() && number.is_multiple_of(AHEAD) {
                let from = if number == 0 { 0 } else { number + AHEAD };
                self.foresee(scan, &batch.keys, from..number + 2 * AHEAD)?;
            }
            for (slot, value) in slots_of(scan, columns).zip(values) {
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
