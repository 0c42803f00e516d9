//! Sorting.

use super::spill::{Sortable, Sorter};
use super::{Exec, Flow, Next, row_weight};
use crate::exec::context::Context;
use scaledb_engine::Worker;
use scaledb_planner::plan::{Node, Slot, SortKey};
use scaledb_types::{Result, Value};
use std::cmp::Ordering;

/// The order of two rows of keys.
pub(crate) fn order(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    for ((key, a), b) in keys.iter().zip(a).zip(b) {
        let order = match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if key.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if key.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if key.descending => b.cmp(a),
            (false, false) => a.cmp(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Rows on their way to an order. What does not fit its memory goes to temporary files, if there are such.
pub(super) struct Sorting<'k, 'a> {
    keys: &'k [SortKey],
    /// Values that are carried.
    carried: usize,
    /// Rows that are wanted.
    limit: usize,
    rows: Vec<Sortable>,
    /// Bytes that were taken for them.
    weight: usize,
    /// What they were at most, and whether some were dropped because of the limit: for EXPLAIN.
    heaviest: usize,
    bounded: bool,
    external: Option<Sorter<'k, 'a>>,
}

impl<'k, 'a> Sorting<'k, 'a> {
    /// Of rows by these keys, each with so many values; `limit` of them are wanted.
    pub(super) fn new(keys: &'k [SortKey], carried: usize, limit: usize) -> Self {
        let rows = Vec::new();
        Self { keys, carried, limit, rows, weight: 0, heaviest: 0, bounded: false, external: None }
    }

    /// Takes a row in.
    #[inline]
    pub(super) fn push<W>(
        &mut self,
        exec: &mut Exec<'a, W>,
        key: Vec<Value>,
        row: Box<[Value]>,
    ) -> Result<()> {
        let bytes = row_weight(&key) + row_weight(&row);
        if !exec.memory.take_or_spill(bytes, self.weight)? {
            self.heaviest = self.heaviest.max(self.weight);
            self.write(exec.context)?;
            exec.memory.give(std::mem::take(&mut self.weight));
            exec.memory.take_or_spill(bytes, 0)?;
        }
        self.weight += bytes;
        self.rows.push((key.into(), row));
        let (keys, limit) = (self.keys, self.limit);
        if limit < usize::MAX / 2 && self.rows.len() > limit * 2 + 64 {
            self.heaviest = self.heaviest.max(self.weight);
            self.bounded = true;
            self.rows.sort_by(|a, b| order(keys, &a.0, &b.0));
            for (key, row) in self.rows.drain(limit..) {
                let bytes = row_weight(&key) + row_weight(&row);
                exec.memory.give(bytes);
                self.weight -= bytes;
            }
        }
        Ok(())
    }

    /// Sorts rows that have found no room, and writes them to a file.
    #[cold]
    fn write(&mut self, context: &'a Context<'a>) -> Result<()> {
        let keys = self.keys;
        self.rows.sort_by(|a, b| order(keys, &a.0, &b.0));
        self.rows.truncate(self.limit);
        let sorter = match &mut self.external {
            Some(sorter) => sorter,
            None => self.external.insert(Sorter::new(context, keys, keys.len() + self.carried)?),
        };
        sorter.add_run(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    /// Calls `take` with what is carried of each row, in order.
    pub(super) fn finish<W: Worker>(
        mut self,
        exec: &mut Exec<'a, W>,
        mut take: impl FnMut(&mut Exec<'a, W>, &mut [Value]) -> Result<Flow>,
    ) -> Result<Flow> {
        exec.note_memory(self.heaviest.max(self.weight));
        exec.note_done(|measure| measure.bounded |= self.bounded);
        let mut flow = Flow::Continue(());
        if self.external.is_some() {
            self.write(exec.context)?;
            let written = self.external.as_ref().map_or(0, Sorter::written);
            exec.note_done(|measure| measure.disk += written);
            exec.memory.give(self.weight);
            drop(self.rows);
            let Some(sorter) = self.external else { return Ok(flow) };
            let mut rows = sorter.merge(&mut exec.memory)?;
            while flow.is_continue()
                && let Some(mut row) = rows.next()?
            {
                exec.tick()?;
                flow = take(exec, &mut row[self.keys.len()..])?;
            }
            exec.memory.give(rows.taken());
            return Ok(flow);
        }
        let keys = self.keys;
        self.rows.sort_by(|a, b| order(keys, &a.0, &b.0));
        for (_, mut row) in self.rows {
            exec.tick()?;
            flow = take(exec, &mut row)?;
            if flow.is_break() {
                break;
            }
        }
        exec.memory.give(self.weight);
        Ok(flow)
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Sorts the rows of an input; with a limit, keeps no more of them than about twice that.
    pub(super) fn sort(
        &mut self,
        input: &Node,
        keys: &[SortKey],
        carry: &[Slot],
        limit: Option<usize>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let mut sorting = Sorting::new(keys, carry.len(), limit.unwrap_or(usize::MAX));
        let _ = self.run(input, &mut |exec| {
            let mut key = Vec::with_capacity(keys.len());
            for part in keys {
                key.push(exec.eval(&part.expr)?);
            }
            let row = exec.copy(carry);
            sorting.push(exec, key, row)?;
            Ok(Flow::Continue(()))
        })?;
        sorting.finish(self, |exec, row| {
            for (&slot, value) in carry.iter().zip(row) {
                exec.frame[slot] = std::mem::take(value);
            }
            next(exec)
        })
    }
}
