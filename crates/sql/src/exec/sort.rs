//! Sorting, INTERSECT and EXCEPT.

use super::spill::{Sortable, Sorter};
use super::{Exec, Flow, Next, row_weight};
use crate::plan::{Node, SetKind, Slot, SortKey};
use scaledb_engine::Worker;
use scaledb_types::{Result, Value};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

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

impl<'a, W: Worker> Exec<'a, W> {
    /// Sorts the rows of an input; with a limit, keeps no more of them than about twice that. What does not fit its
    /// memory goes to temporary files, if there are such.
    pub(super) fn sort(
        &mut self,
        input: &Node,
        keys: &[SortKey],
        carry: &[Slot],
        limit: Option<usize>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let mut rows: Vec<Sortable> = Vec::new();
        let limit = limit.unwrap_or(usize::MAX);
        let mut weight = 0usize;
        let mut external: Option<Sorter<'_, 'a>> = None;
        let _ = self.run(input, &mut |exec| {
            let mut key = Vec::with_capacity(keys.len());
            for part in keys {
                key.push(exec.eval(&part.expr)?);
            }
            let row = exec.copy(carry);
            let bytes = row_weight(&key) + row_weight(&row);
            if !exec.memory.take_or_spill(bytes, weight)? {
                exec.sort_out(keys, carry, limit, &mut rows, &mut external)?;
                exec.memory.give(std::mem::take(&mut weight));
                exec.memory.take_or_spill(bytes, 0)?;
            }
            weight += bytes;
            rows.push((key.into(), row));
            if limit < usize::MAX / 2 && rows.len() > limit * 2 + 64 {
                rows.sort_by(|a, b| order(keys, &a.0, &b.0));
                for (key, row) in rows.drain(limit..) {
                    let bytes = row_weight(&key) + row_weight(&row);
                    exec.memory.give(bytes);
                    weight -= bytes;
                }
            }
            Ok(Flow::Continue(()))
        })?;
        if external.is_some() {
            self.sort_out(keys, carry, limit, &mut rows, &mut external)?;
            self.memory.give(weight);
            drop(rows);
            return match external {
                Some(external) => self.merged(external, keys.len(), carry, next),
                None => Ok(Flow::Continue(())),
            };
        }
        rows.sort_by(|a, b| order(keys, &a.0, &b.0));
        let mut flow = Flow::Continue(());
        for (_, row) in rows {
            self.tick()?;
            for (&slot, value) in carry.iter().zip(row) {
                self.frame[slot] = value;
            }
            flow = next(self)?;
            if flow.is_break() {
                break;
            }
        }
        self.memory.give(weight);
        Ok(flow)
    }

    /// Sorts rows that have found no room, and writes them to a file.
    #[cold]
    fn sort_out<'k>(
        &mut self,
        keys: &'k [SortKey],
        carry: &[Slot],
        limit: usize,
        rows: &mut Vec<Sortable>,
        external: &mut Option<Sorter<'k, 'a>>,
    ) -> Result<()> {
        rows.sort_by(|a, b| order(keys, &a.0, &b.0));
        rows.truncate(limit);
        let sorter = match external {
            Some(sorter) => sorter,
            None => external.insert(Sorter::new(self.context, keys, keys.len() + carry.len())?),
        };
        sorter.add_run(rows)?;
        rows.clear();
        Ok(())
    }

    /// Calls `next` with rows that lie in a file, in order.
    fn merged(
        &mut self,
        sorter: Sorter<'_, 'a>,
        keys: usize,
        carry: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let mut rows = sorter.merge(&mut self.memory)?;
        let mut flow = Flow::Continue(());
        while flow.is_continue()
            && let Some(mut row) = rows.next()?
        {
            self.tick()?;
            for (&slot, value) in carry.iter().zip(&mut row[keys..]) {
                self.frame[slot] = std::mem::take(value);
            }
            flow = next(self)?;
        }
        self.memory.give(rows.taken());
        Ok(flow)
    }

    /// UNION, INTERSECT and EXCEPT.
    pub(super) fn set_operation(
        &mut self,
        kind: SetKind,
        left: &(Node, Vec<Slot>),
        right: &(Node, Vec<Slot>),
        slots: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        if kind == SetKind::Union {
            return self.union([left, right], slots, next);
        }
        let mut counts: HashMap<Box<[Value]>, usize> = HashMap::new();
        let _ = self.run(&right.0, &mut |exec| {
            let row = exec.copy(&right.1);
            exec.memory.take_rows(row_weight(&row))?;
            *counts.entry(row).or_default() += 1;
            Ok(Flow::Continue(()))
        })?;
        let mut given: HashSet<Box<[Value]>> = HashSet::new();
        self.run(&left.0, &mut |exec| {
            let row = exec.copy(&left.1);
            let count = counts.get_mut(&row);
            let wanted = match (kind, count) {
                (SetKind::Intersect | SetKind::Except, count) => {
                    let fresh = count.is_some() == (kind == SetKind::Intersect) && !given.contains(&row);
                    if fresh {
                        exec.memory.take_rows(row_weight(&row))?;
                        given.insert(row.clone());
                    }
                    fresh
                }
                (SetKind::IntersectAll, Some(count)) if *count > 0 => {
                    *count -= 1;
                    true
                }
                (SetKind::IntersectAll, _) => false,
                (_, Some(count)) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            };
            if !wanted {
                return Ok(Flow::Continue(()));
            }
            exec.restore(slots, &row);
            next(exec)
        })
    }
}
