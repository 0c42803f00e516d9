//! Rows without duplicates: DISTINCT, and UNION.
//!
//! A row is handed out when it is seen for the first time. When there is no room for more rows that were seen, others
//! go to a file by their hash, and each part of them is looked through afterwards.

use super::spill::{Division, Partitions, Rows};
use super::{Exec, Flow, Next, row_weight};
use crate::exec::context::Context;
use crate::memory::Memory;
use scaledb_engine::Worker;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Node, Slot};
use scaledb_types::{Result, Value};
use std::collections::HashSet;

/// What was seen.
struct Seen<'a> {
    rows: HashSet<Box<[Value]>>,
    /// Bytes that were taken for them.
    weight: usize,
    /// How to divide what finds no room, and what has found none.
    division: Division,
    rest: Option<Partitions<'a>>,
}

/// Whether a row was seen.
enum Noted {
    Fresh,
    Known,
    /// It is not known, and there is no room to note the row.
    Full(Vec<Value>),
}

impl<'a> Seen<'a> {
    fn new(division: Division) -> Self {
        Self { rows: HashSet::new(), weight: 0, division, rest: None }
    }

    fn note(&mut self, memory: &mut Memory<'_>, row: Vec<Value>) -> Result<Noted> {
        let bytes = row_weight(&row);
        if self.rest.is_none() && memory.take_or_spill(bytes, self.weight)? {
            if self.rows.insert(row.into()) {
                self.weight += bytes;
                return Ok(Noted::Fresh);
            }
            memory.give_rows(bytes);
            return Ok(Noted::Known);
        }
        Ok(if self.rows.contains(row.as_slice()) { Noted::Known } else { Noted::Full(row) })
    }

    /// Writes a row that has found no room, and what is to be restored with it.
    #[cold]
    fn put_aside(
        &mut self,
        context: &'a Context<'a>,
        memory: &mut Memory<'_>,
        row: &[Value],
        carried: &[Value],
    ) -> Result<()> {
        let rest = match &mut self.rest {
            Some(rest) => rest,
            None => {
                let width = row.len() + carried.len();
                self.rest.insert(Partitions::new(context, memory, &self.division, width)?)
            }
        };
        rest.push(row, row.iter().chain(carried))
    }

    /// Forgets the rows that it has seen.
    fn finish(self, memory: &mut Memory<'_>) -> Result<Vec<Rows<'a>>> {
        memory.give_rows(self.weight);
        drop(self.rows);
        self.rest.map_or_else(|| Ok(Vec::new()), |rest| rest.finish(memory))
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Drops rows whose values of `on` came before. Without an `order` that is to stay, nobody reads more of them than
    /// what `on` reads.
    pub(super) fn distinct(
        &mut self,
        input: &Node,
        on: &[Expr],
        order: Option<&[Expr]>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        if let Some(order) = order {
            return self.distinct_in_order(input, on, order, next);
        }
        let mut carry = Vec::new();
        for expr in on {
            expr.slots(&mut |slot| {
                if !carry.contains(&slot) {
                    carry.push(slot);
                }
            });
        }
        let mut seen = Seen::new(Division::default());
        let flow = self.run(input, &mut |exec| {
            let mut row = Vec::with_capacity(on.len());
            for part in on {
                row.push(exec.eval(part)?);
            }
            match seen.note(&mut exec.memory, row)? {
                Noted::Fresh => return next(exec),
                Noted::Known => {}
                Noted::Full(row) => {
                    let carried = exec.copy(&carry);
                    seen.put_aside(exec.context, &mut exec.memory, &row, &carried)?;
                }
            }
            Ok(Flow::Continue(()))
        })?;
        self.distinct_parts(flow, seen, on.len(), &carry, next)
    }

    /// Rows that are equal in `order` come one behind the other, and are forgotten when others come.
    fn distinct_in_order(
        &mut self,
        input: &Node,
        on: &[Expr],
        order: &[Expr],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let places: Vec<_> = order.iter().filter_map(|key| on.iter().position(|on| on.same(key))).collect();
        let all = (0..on.len()).all(|place| places.contains(&place));
        let mut last: Vec<Value> = Vec::new();
        let mut seen: HashSet<Box<[Value]>> = HashSet::new();
        let mut weight = 0;
        let flow = self.run(input, &mut |exec| {
            let mut key = Vec::with_capacity(on.len());
            for part in on {
                key.push(exec.eval(part)?);
            }
            let same =
                places.len() == last.len() && places.iter().zip(&last).all(|(&at, last)| key[at] == *last);
            if !same {
                last.clear();
                last.extend(places.iter().map(|&place| key[place].clone()));
                seen = HashSet::new();
                exec.memory.give_rows(std::mem::take(&mut weight));
            }
            let fresh = !same || !all && !seen.contains(key.as_slice());
            if !fresh {
                return Ok(Flow::Continue(()));
            }
            if !all {
                let bytes = row_weight(&key);
                exec.memory.take_rows(bytes)?;
                weight += bytes;
                seen.insert(key.into());
            }
            next(exec)
        })?;
        self.memory.give_rows(weight);
        Ok(flow)
    }

    /// UNION: the rows of both sides without duplicates.
    pub(super) fn union(
        &mut self,
        sides: [&(Node, Vec<Slot>); 2],
        slots: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let mut seen = Seen::new(Division::default());
        let mut flow = Flow::Continue(());
        for (node, from) in sides {
            flow = self.run(node, &mut |exec| {
                let row = exec.copy(from);
                exec.restore(slots, &row);
                match seen.note(&mut exec.memory, row.into())? {
                    Noted::Fresh => return next(exec),
                    Noted::Known => {}
                    Noted::Full(row) => seen.put_aside(exec.context, &mut exec.memory, &row, &row)?,
                }
                Ok(Flow::Continue(()))
            })?;
            if flow.is_break() {
                break;
            }
        }
        self.distinct_parts(flow, seen, slots.len(), slots, next)
    }

    /// Hands out what is fresh among the rows that were put aside: `width` values that are compared, and `slots`.
    fn distinct_parts(
        &mut self,
        flow: Flow,
        seen: Seen<'a>,
        width: usize,
        slots: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        self.note_memory(seen.weight);
        if flow.is_break() {
            self.memory.give_rows(seen.weight);
            return Ok(flow);
        }
        let written = seen.rest.as_ref().map_or(0, Partitions::written);
        let mut parts = seen.finish(&mut self.memory)?;
        let batches = parts.len();
        self.note_done(|measure| {
            measure.disk += written;
            measure.batches += batches;
        });
        while let Some(mut part) = parts.pop() {
            let mut seen = Seen::new(part.division.clone());
            while let Some(row) = part.next()? {
                self.tick()?;
                let mut row = row.into_vec();
                let carried = row.split_off(width);
                match seen.note(&mut self.memory, row)? {
                    Noted::Fresh => {
                        for (&slot, value) in slots.iter().zip(carried) {
                            self.frame[slot] = value;
                        }
                        if next(self)?.is_break() {
                            return Ok(Flow::Break(()));
                        }
                    }
                    Noted::Known => {}
                    Noted::Full(row) => seen.put_aside(self.context, &mut self.memory, &row, &carried)?,
                }
            }
            parts.extend(seen.finish(&mut self.memory)?);
        }
        Ok(Flow::Continue(()))
    }
}
