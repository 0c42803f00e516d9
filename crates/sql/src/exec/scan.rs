//! Scans: by key, by range, whole.

use super::row_filter::WARM_UP;
use super::{Exec, Flow, Next, TakeBytes, codec};
use scaledb_base::TableId;
use scaledb_engine::{Order, PREFETCH, Range, ReadMark, RowId, Worker};
use scaledb_keys::{KeyBuf, Nulls};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::place::Load;
use scaledb_planner::plan::{Access, Bound, IndexColumn, KeyValue, Scan};
use scaledb_row::RowRef;
use scaledb_types::{Result, Value};
use std::ops::ControlFlow;

/// Encoded bounds: the first key, and the key behind the last.
pub(super) type Bounds = (KeyBuf, Option<KeyBuf>);

/// Writes the columns of a row into the frame.
#[inline]
pub(crate) fn load(frame: &mut [Value], scan: &Scan, row: RowRef<'_>) -> Result<()> {
    load_some(frame, scan, &scan.loads.columns, row)
}

/// Writes some of the columns of a row into the frame, and those in the tail.
#[inline]
pub(super) fn load_some(frame: &mut [Value], scan: &Scan, columns: &[Load], row: RowRef<'_>) -> Result<()> {
    let schema = &scan.table.info.schema;
    for load in columns {
        frame[load.slot] = codec::load(row, schema, load.column, load.ty)?;
    }
    for &(position, slot) in &scan.loads.added {
        frame[slot] = codec::column(row, &scan.table, position)?;
    }
    Ok(())
}

/// The first key behind all that begin with one; `None` if there is none.
fn next_prefix(mut key: KeyBuf) -> Option<KeyBuf> {
    key.next_prefix().then_some(key)
}

/// The conditions of a scan's filter.
#[inline]
pub(super) fn conditions(scan: &Scan) -> &[Expr] {
    match &scan.filter {
        None => &[],
        Some(Expr::And(list)) => list,
        Some(one) => std::slice::from_ref(one),
    }
}

/// The columns that are read of a row for which the filter holds but for these conditions.
#[inline]
pub(super) fn to_load<'s>(scan: &'s Scan, left: &[Expr]) -> &'s [Load] {
    if left.is_empty() { scan.loads.kept() } else { &scan.loads.columns }
}

/// What the transaction has read before a scan whose reads it is to forget.
#[inline]
pub(super) fn forgets(scan: &Scan, worker: &mut impl Worker) -> Option<ReadMark> {
    let loose = scan.locked.is_some_and(|locked| locked.loose);
    if loose { Some(worker.read_mark()) } else { None }
}

#[inline]
pub(super) fn forget(worker: &mut impl Worker, mark: Option<ReadMark>) {
    if let Some(mark) = mark {
        worker.forget_reads(mark);
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Runs a scan. Of a range that is read without batches, `bytes` is offered each row that the filter lets pass, if
    /// bytes decide that, too.
    pub(super) fn scan(
        &mut self,
        scan: &Scan,
        mut bytes: Option<TakeBytes<'_, 'a, W>>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        self.context.counts.scanned(scan.counted);
        match &scan.access {
            Access::Point { index, key } => {
                if let Some(key) = self.single_key(scan, key)? {
                    let Some(key) = key else { return Ok(Flow::Continue(())) };
                    return self.point(scan, *index, &key, next);
                }
                for keys in self.keys(scan, key)?.chunks(PREFETCH) {
                    let rows = keys.iter().map(|key| (*index, &key[..], &scan.projection));
                    self.worker()?.prefetch(rows);
                    for key in keys {
                        if self.point(scan, *index, key, next)?.is_break() {
                            return Ok(Flow::Break(()));
                        }
                    }
                }
                Ok(Flow::Continue(()))
            }
            Access::Range { index, key, low, high, order } => {
                let values = key;
                if let Some(key) = self.single_key(scan, values)? {
                    let Some(prefix) = key else { return Ok(Flow::Continue(())) };
                    let columns = scan.table.index_columns(scan.index);
                    let behind = columns.get(values.len()..).unwrap_or_default();
                    let Some(bounds) = self.bounds(scan, prefix, behind, low, high)? else {
                        return Ok(Flow::Continue(()));
                    };
                    return self.range(scan, *index, (bounds, *order), &mut bytes, next);
                }
                let mut prefixes = self.keys(scan, values)?;
                if *order == Order::Backward {
                    prefixes.reverse();
                }
                let columns = scan.table.index_columns(scan.index);
                let behind = columns.get(values.len()..).unwrap_or_default();
                for prefix in prefixes {
                    let Some(bounds) = self.bounds(scan, prefix, behind, low, high)? else {
                        continue;
                    };
                    if self.range(scan, *index, (bounds, *order), &mut bytes, next)?.is_break() {
                        return Ok(Flow::Break(()));
                    }
                }
                Ok(Flow::Continue(()))
            }
        }
    }

    /// The key, if each column has one value; `Some(None)` if one of them is NULL, which nothing equals.
    fn single_key(&mut self, scan: &Scan, values: &[KeyValue]) -> Result<Option<Option<KeyBuf>>> {
        let mut key = KeyBuf::new();
        for (value, column) in values.iter().zip(scan.table.index_columns(scan.index)) {
            let KeyValue::One(expr) = value else { return Ok(None) };
            let value = self.eval(expr)?;
            if value.is_null() {
                return Ok(Some(None));
            }
            codec::push_key(&mut key, &scan.table, column, &value)?;
        }
        Ok(Some(Some(key)))
    }

    /// All keys that the lists of values make, in order, each once.
    fn keys(&mut self, scan: &Scan, values: &[KeyValue]) -> Result<Vec<KeyBuf>> {
        let mut keys = vec![KeyBuf::new()];
        for (value, column) in values.iter().zip(scan.table.index_columns(scan.index)) {
            let choices: Vec<Value> = match value {
                KeyValue::One(expr) => vec![self.eval(expr)?],
                KeyValue::List(list) => list.iter().map(|expr| self.eval(expr)).collect::<Result<_>>()?,
                KeyValue::Array(expr) => match self.eval(expr)? {
                    Value::Array(array) => array.values().to_vec(),
                    _ => Vec::new(),
                },
            };
            let mut longer = Vec::with_capacity(keys.len() * choices.len());
            for key in &keys {
                for choice in choices.iter().filter(|choice| !choice.is_null()) {
                    let mut key = key.clone();
                    codec::push_key(&mut key, &scan.table, column, choice)?;
                    self.memory.take(key.len() + size_of::<KeyBuf>())?;
                    longer.push(key);
                }
            }
            keys = longer;
        }
        keys.sort();
        keys.dedup();
        Ok(keys)
    }

    /// The bounds of a range of the `columns` behind a prefix; `None` if it is empty.
    fn bounds(
        &mut self,
        scan: &Scan,
        prefix: KeyBuf,
        columns: &[IndexColumn],
        low: &[Bound],
        high: &[Bound],
    ) -> Result<Option<Bounds>> {
        let (Some(column), true) = (columns.first(), !low.is_empty() || !high.is_empty()) else {
            let end = next_prefix(prefix.clone());
            return Ok(Some((prefix, end)));
        };
        // a comparison is not true of NULLs, which stand at an end of the range
        let mut start = prefix.clone();
        if scan.table.info.schema.columns()[column.engine].nullable {
            start.push_null_marker(false, Nulls::Last);
        }
        let mut end = next_prefix(start.clone());
        let (first, last) = if column.descending { (high, low) } else { (low, high) };
        for bound in first {
            let Some((key, inclusive)) = self.bound_key(scan, &prefix, columns, bound)? else {
                return Ok(None);
            };
            match if inclusive { Some(key) } else { next_prefix(key) } {
                Some(key) => start = start.max(key),
                None => return Ok(None),
            }
        }
        for bound in last {
            let Some((key, inclusive)) = self.bound_key(scan, &prefix, columns, bound)? else {
                return Ok(None);
            };
            let key = if inclusive { next_prefix(key) } else { Some(key) };
            end = match (end, key) {
                (Some(end), Some(key)) => Some(end.min(key)),
                (end, key) => end.or(key),
            };
        }
        Ok(Some((start, end)))
    }

    /// The key of a bound, and whether rows with it fit; `None` if no row fits.
    fn bound_key(
        &mut self,
        scan: &Scan,
        prefix: &KeyBuf,
        columns: &[IndexColumn],
        bound: &Bound,
    ) -> Result<Option<(KeyBuf, bool)>> {
        let mut key = prefix.clone();
        for (number, (value, column)) in bound.values.iter().zip(columns).enumerate() {
            let value = self.eval(value)?;
            if value.is_null() {
                // a comparison of rows is true where a field before the NULL decides it
                return Ok((number > 0).then_some((key, false)));
            }
            codec::push_key(&mut key, &scan.table, column, &value)?;
        }
        Ok(Some((key, bound.inclusive)))
    }

    /// Reads one row by its key.
    fn point(&mut self, scan: &Scan, index: TableId, key: &[u8], next: Next<'_, 'a, W>) -> Result<Flow> {
        let Some(worker) = self.worker.take() else {
            return Err(scaledb_types::SqlError::internal("a nested read within a scan"));
        };
        let frame = &mut self.frame;
        let mark = forgets(scan, worker);
        let found = worker.get(index, key, &scan.projection, |id, row| (id, load(frame, scan, row)));
        forget(worker, mark);
        self.worker = Some(worker);
        match found.map_err(|error| self.context.engine_error(error))? {
            None => Ok(Flow::Continue(())),
            Some((id, loaded)) => {
                loaded?;
                self.rows[scan.number] = Some(id);
                self.filtered(scan, id, conditions(scan), next)
            }
        }
    }

    /// Calls `next` if these conditions of the scan's filter hold for the current row.
    #[inline]
    fn filtered(
        &mut self,
        scan: &Scan,
        row: RowId,
        conditions: &[Expr],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        if !self.hold(conditions)? {
            self.note_filtered(scan);
            return Ok(Flow::Continue(()));
        }
        self.name_row(scan, row)?;
        next(self)
    }

    /// Whether conditions hold, up to the first that does not.
    #[inline]
    pub(super) fn hold(&mut self, conditions: &[Expr]) -> Result<bool> {
        for condition in conditions {
            if !self.eval(condition)?.is_true() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts a row that the filter has dropped.
    #[inline]
    pub(super) fn note_filtered(&mut self, scan: &Scan) {
        if let Some(filter) = &scan.filter {
            self.note_dropped(filter);
        }
    }

    /// Takes a row for which the conditions hold that bytes decide; `left` are the others.
    #[inline]
    fn passed(
        &mut self,
        scan: &Scan,
        (id, row): (RowId, RowRef<'_>),
        left: &[Expr],
        bytes: &mut Option<&mut TakeBytes<'_, 'a, W>>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        if let Some(take) = bytes
            && left.is_empty()
            && take(self, row)?
        {
            return Ok(Flow::Continue(()));
        }
        load_some(&mut self.frame, scan, to_load(scan, left), row)?;
        self.rows[scan.number] = Some(id);
        self.filtered(scan, id, left, next)
    }

    fn range(
        &mut self,
        scan: &Scan,
        index: TableId,
        ((start, end), order): (Bounds, Order),
        bytes: &mut Option<TakeBytes<'_, 'a, W>>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        if end.as_ref().is_some_and(|end| *end <= start) {
            return Ok(Flow::Continue(()));
        }
        if scan.batches {
            return self.range_in_batches(scan, index, (start, end), order, next);
        }
        let range = Range { start: &start, end: end.as_deref() };
        let Some(worker) = self.worker.take() else {
            return Err(scaledb_types::SqlError::internal("a nested read within a scan"));
        };
        let mut outcome = Ok(Flow::Continue(()));
        let all = conditions(scan);
        // what locks a row wants its name
        let mut bytes = bytes.as_mut().filter(|_| scan.locked.is_none());
        let mut filter = self.row_filter(scan);
        let mut unfiltered = 0_usize;
        let mark = forgets(scan, worker);
        let scanned = worker.scan(index, range, order, &scan.projection, |id, _, row| {
            // most rows are dropped here: nothing is stored for them that is read again at once
            if let Err(error) = self.tick() {
                outcome = Err(error);
                return ControlFlow::Break(());
            }
            let left = match &filter {
                Some(filter) if !filter.holds(row) => {
                    self.note_filtered(scan);
                    return ControlFlow::Continue(());
                }
                Some(filter) => filter.rest(all),
                None if all.is_empty() => all,
                None => {
                    unfiltered += 1;
                    if unfiltered.is_multiple_of(WARM_UP) {
                        match self.warm_up(scan, WARM_UP) {
                            Ok(warm) => filter = warm,
                            Err(error) => {
                                outcome = Err(error);
                                return ControlFlow::Break(());
                            }
                        }
                    }
                    all
                }
            };
            match self.passed(scan, (id, row), left, &mut bytes, next) {
                Ok(Flow::Continue(())) => ControlFlow::Continue(()),
                ended => {
                    outcome = ended;
                    ControlFlow::Break(())
                }
            }
        });
        forget(worker, mark);
        self.worker = Some(worker);
        scanned.map_err(|error| self.context.engine_error(error))?;
        let flow = outcome?;
        #[allow(clippy::modulo_one, reason = "debug builds compile a filter after one row")]
        let rest = unfiltered % WARM_UP;
        if rest > 0 {
            self.warm_up(scan, rest)?;
        }
        Ok(flow)
    }
}
