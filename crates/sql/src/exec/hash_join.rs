//! Joins by equality: the inner rows are kept in a hash table. Those that do not fit go another way: see
//! `spilled_join`.

use super::inners::Inners;
use super::spill::Partitions;
use super::spilled_join::put_inner;
use super::{Exec, Flow, Next};
use scaledb_engine::Worker;
use scaledb_planner::plan::{HashJoin, JoinKind};
use scaledb_types::{Result, Value};

/// A key and the row that has it.
pub(super) type Keyed = (Vec<Value>, Box<[Value]>);

impl<'a, W: Worker> Exec<'a, W> {
    /// Builds a hash table of the inner rows, and looks each outer row up in it.
    pub(super) fn hash_join(&mut self, join: &HashJoin, next: Next<'_, 'a, W>) -> Result<Flow> {
        let mut table = Inners::new(join);
        let mut aside: Option<Partitions<'a>> = None;
        let mut key = Vec::with_capacity(join.inner_keys.len());
        let _ = self.run(&join.inner, &mut |exec| {
            key.clear();
            for part in &join.inner_keys {
                key.push(exec.eval(part)?);
            }
            if !join.full && key.iter().any(Value::is_null) {
                return Ok(Flow::Continue(()));
            }
            if let Some(aside) = &mut aside {
                put_inner(aside, &key, &exec.copy(&join.inner_slots))?;
                return Ok(Flow::Continue(()));
            }
            let row = join.inner_slots.iter().map(|&slot| &exec.frame[slot]);
            if !table.add(&mut exec.memory, &key, row)? {
                let more = (key.clone(), exec.copy(&join.inner_slots));
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
            flow = self.without_outer(join, &table, next)?;
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
        if key.iter().any(Value::is_null) {
            return Ok((Flow::Continue(()), false));
        }
        let mut at = table.first(key);
        while let Some(row) = at {
            at = table.next(row);
            self.restore(&join.inner_slots, table.row(row));
            if let Some(on) = &join.on
                && !self.holds(on)?
            {
                self.note_dropped(on);
                continue;
            }
            matched = true;
            table.note_match(row);
            if next(self)?.is_break() {
                return Ok((Flow::Break(()), true));
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
        table: &Inners,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        for &slot in &join.outer_slots {
            self.frame[slot] = Value::Null;
        }
        for row in table.unmatched() {
            self.tick()?;
            self.restore(&join.inner_slots, row);
            if next(self)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }
}
