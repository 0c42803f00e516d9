//! Joins.

use super::{Exec, Flow, Next, row_weight};
use crate::plan::{Hash, JoinKind, Loop};
use scaledb_engine::Worker;
use scaledb_types::{Result, Value};
use std::collections::HashMap;

/// A row of the inner side of a hash join, and whether it has found a match.
struct Inner {
    row: Box<[Value]>,
    matched: bool,
}

impl<'a, W: Worker> Exec<'a, W> {
    /// For each outer row, the inner rows.
    pub(super) fn nested_loop(&mut self, join: &Loop, next: Next<'_, 'a, W>) -> Result<Flow> {
        self.run(&join.outer, &mut |exec| {
            let mut matched = false;
            let flow = exec.run(&join.inner, &mut |exec| {
                if let Some(on) = &join.on
                    && !exec.holds(on)?
                {
                    return Ok(Flow::Continue(()));
                }
                matched = true;
                next(exec)
            })?;
            match join.kind {
                JoinKind::Inner => Ok(flow),
                JoinKind::Left if matched => Ok(flow),
                JoinKind::Left => {
                    for &slot in &join.inner_slots {
                        exec.frame[slot] = Value::Null;
                    }
                    next(exec)
                }
            }
        })
    }

    /// Builds a hash table of the inner rows, and looks each outer row up in it.
    pub(super) fn hash_join(&mut self, join: &Hash, next: Next<'_, 'a, W>) -> Result<Flow> {
        let mut table: HashMap<Box<[Value]>, Vec<Inner>> = HashMap::new();
        // rows with a NULL in their key match nothing
        let mut lonely: Vec<Box<[Value]>> = Vec::new();
        let mut weight = 0;
        let _ = self.run(&join.inner, &mut |exec| {
            let mut key = Vec::with_capacity(join.inner_keys.len());
            for part in &join.inner_keys {
                key.push(exec.eval(part)?);
            }
            let null = key.iter().any(Value::is_null);
            if null && !join.full {
                return Ok(Flow::Continue(()));
            }
            let row = exec.copy(&join.inner_slots);
            let bytes = row_weight(&key) + row_weight(&row) + 32;
            exec.memory.take_rows(bytes)?;
            weight += bytes;
            if null {
                lonely.push(row);
            } else {
                table.entry(key.into()).or_default().push(Inner { row, matched: false });
            }
            Ok(Flow::Continue(()))
        })?;
        let mut flow = self.run(&join.outer, &mut |exec| {
            exec.tick()?;
            let mut key = Vec::with_capacity(join.outer_keys.len());
            for part in &join.outer_keys {
                key.push(exec.eval(part)?);
            }
            let mut matched = false;
            if !key.iter().any(Value::is_null)
                && let Some(rows) = table.get_mut(key.as_slice())
            {
                for inner in rows {
                    exec.restore(&join.inner_slots, &inner.row);
                    if let Some(on) = &join.on
                        && !exec.holds(on)?
                    {
                        continue;
                    }
                    matched = true;
                    inner.matched = true;
                    if next(exec)?.is_break() {
                        return Ok(Flow::Break(()));
                    }
                }
            }
            match (join.kind, matched) {
                (JoinKind::Left, false) => {
                    for &slot in &join.inner_slots {
                        exec.frame[slot] = Value::Null;
                    }
                    next(exec)
                }
                _ => Ok(Flow::Continue(())),
            }
        })?;
        if join.full && flow.is_continue() {
            for &slot in &join.outer_slots {
                self.frame[slot] = Value::Null;
            }
            let unmatched = table.into_values().flatten().filter(|inner| !inner.matched);
            for row in unmatched.map(|inner| inner.row).chain(lonely) {
                self.restore(&join.inner_slots, &row);
                flow = next(self)?;
                if flow.is_break() {
                    break;
                }
            }
        }
        self.memory.give(weight);
        Ok(flow)
    }
}
