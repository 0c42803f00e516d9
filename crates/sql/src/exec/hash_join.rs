//! Joins by equality: the inner rows are kept in a hash table. Those that do not fit go another way: see
//! `spilled_join`.

use super::spill::Partitions;
use super::spilled_join::put_inner;
use super::{Exec, Flow, Next, row_weight};
use crate::memory::Memory;
use rapidhash::fast::RandomState;
use scaledb_engine::Worker;
use scaledb_planner::plan::{HashJoin, JoinKind};
use scaledb_types::{Result, Value};
use std::collections::HashMap;

/// A row of the inner side of a hash join, and whether it has found a match.
pub(super) struct Inner {
    pub(super) row: Box<[Value]>,
    matched: bool,
}

/// A row and its key.
pub(super) type Keyed = (Vec<Value>, Box<[Value]>);

/// The rows of the inner side by their keys.
#[derive(Default)]
pub(super) struct Inners {
    pub(super) rows: HashMap<Box<[Value]>, Vec<Inner>, RandomState>,
    /// Rows with a NULL in their key match nothing.
    pub(super) lonely: Vec<Box<[Value]>>,
    /// Bytes that were taken for them.
    pub(super) weight: usize,
}

impl Inners {
    /// Adds a row, or hands it back if there is no room for it.
    #[inline]
    pub(super) fn add(
        &mut self,
        memory: &mut Memory<'_>,
        key: Vec<Value>,
        row: Box<[Value]>,
    ) -> Result<Option<Keyed>> {
        let bytes = row_weight(&key) + row_weight(&row) + 32;
        if !memory.take_or_spill(bytes, self.weight)? {
            return Ok(Some((key, row)));
        }
        self.weight += bytes;
        if key.iter().any(Value::is_null) {
            self.lonely.push(row);
        } else {
            self.rows.entry(key.into()).or_default().push(Inner { row, matched: false });
        }
        Ok(None)
    }

    /// Whether nearly all rows have one key: to divide them by a hash does not help.
    pub(super) fn is_skewed(&self) -> bool {
        let most = self.rows.values().map(Vec::len).max().unwrap_or(0);
        let all = self.rows.values().map(Vec::len).sum::<usize>();
        most >= all - all / 16
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Builds a hash table of the inner rows, and looks each outer row up in it.
    pub(super) fn hash_join(&mut self, join: &HashJoin, next: Next<'_, 'a, W>) -> Result<Flow> {
        let mut table = Inners::default();
        let mut aside: Option<Partitions<'a>> = None;
        let _ = self.run(&join.inner, &mut |exec| {
            let mut key = Vec::with_capacity(join.inner_keys.len());
            for part in &join.inner_keys {
                key.push(exec.eval(part)?);
            }
            if !join.full && key.iter().any(Value::is_null) {
                return Ok(Flow::Continue(()));
            }
            let row = exec.copy(&join.inner_slots);
            if let Some(aside) = &mut aside {
                put_inner(aside, &key, &row)?;
            } else if let Some(more) = table.add(&mut exec.memory, key, row)? {
                aside = Some(exec.divide_inners(join, &mut table, more)?);
            }
            Ok(Flow::Continue(()))
        })?;
        if let Some(aside) = aside {
            return self.join_apart(join, aside, next);
        }
        self.note_memory(table.weight);
        let mut key = Vec::with_capacity(join.outer_keys.len());
        let mut flow = self.run(&join.outer, &mut |exec| {
            exec.tick()?;
            key.clear();
            for part in &join.outer_keys {
                key.push(exec.eval(part)?);
            }
            let (flow, matched) = exec.probe(join, &mut table, &key, next)?;
            match (join.kind, matched) {
                (JoinKind::Left, false) => exec.without_inner(join, next),
                _ => Ok(flow),
            }
        })?;
        let weight = table.weight;
        if join.full && flow.is_continue() {
            flow = self.without_outer(join, table, next)?;
        }
        self.memory.give(weight);
        Ok(flow)
    }

    /// Calls `next` for each inner row that the current outer row matches; whether there was one.
    #[inline]
    pub(super) fn probe(
        &mut self,
        join: &HashJoin,
        table: &mut Inners,
        key: &[Value],
        next: Next<'_, 'a, W>,
    ) -> Result<(Flow, bool)> {
        let mut matched = false;
        if !key.iter().any(Value::is_null)
            && let Some(rows) = table.rows.get_mut(key)
        {
            for inner in rows {
                self.restore(&join.inner_slots, &inner.row);
                if let Some(on) = &join.on
                    && !self.holds(on)?
                {
                    self.note_dropped(on);
                    continue;
                }
                matched = true;
                inner.matched = true;
                if next(self)?.is_break() {
                    return Ok((Flow::Break(()), true));
                }
            }
        }
        Ok((Flow::Continue(()), matched))
    }

    /// Calls `next` for an outer row that matches nothing.
    pub(super) fn without_inner(&mut self, join: &HashJoin, next: Next<'_, 'a, W>) -> Result<Flow> {
        for &slot in &join.inner_slots {
            self.frame[slot] = Value::Null;
        }
        next(self)
    }

    /// Calls `next` for the inner rows that no outer row has matched.
    pub(super) fn without_outer(
        &mut self,
        join: &HashJoin,
        table: Inners,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        for &slot in &join.outer_slots {
            self.frame[slot] = Value::Null;
        }
        let unmatched = table.rows.into_values().flatten().filter(|inner| !inner.matched);
        for row in unmatched.map(|inner| inner.row).chain(table.lonely) {
            self.tick()?;
            self.restore(&join.inner_slots, &row);
            if next(self)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }
}
