//! SetOp: INTERSECT and EXCEPT.
//!
//! The rows of the right side are counted, and those of the left side looked up as they come. Rows that find no room go
//! to files by their hash, those of both sides, and one part after another is looked through as if it were all: equal
//! rows are in parts of the same number.

use super::context::Context;
use super::spill::{Division, Partitions, Rows};
use super::{Exec, Flow, Next, row_weight};
use crate::memory::Memory;
use scaledb_engine::Worker;
use scaledb_planner::plan::{Node, SetKind, Slot};
use scaledb_types::{Result, Value};
use std::collections::HashMap;

/// Rows of both sides that may be equal; those of the left side first.
type Pair<'a> = (Rows<'a>, Option<Rows<'a>>);

/// The sides of an operation.
struct Sides<'a> {
    kind: SetKind,
    /// How many equal rows of the right side there are that no row of the left side has been matched with. EXCEPT adds
    /// the rows that it returns, so that none is returned twice.
    counts: HashMap<Box<[Value]>, usize>,
    /// Bytes that were taken for them.
    weight: usize,
    /// How to divide what finds no room, and what has found none.
    division: Division,
    right: Option<Partitions<'a>>,
    left: Option<Partitions<'a>>,
}

impl<'a> Sides<'a> {
    fn new(kind: SetKind, division: Division) -> Self {
        Self { kind, counts: HashMap::new(), weight: 0, division, right: None, left: None }
    }

    /// Counts a row of the right side.
    fn count(&mut self, context: &'a Context<'a>, memory: &mut Memory<'_>, row: Box<[Value]>) -> Result<()> {
        if let Some(count) = self.counts.get_mut(&row) {
            *count += 1;
            return Ok(());
        }
        let bytes = row_weight(&row);
        if self.right.is_none() && memory.take_or_spill(bytes, self.weight)? {
            self.weight += bytes;
            self.counts.insert(row, 1);
            return Ok(());
        }
        let right = match &mut self.right {
            Some(right) => right,
            None => self.right.insert(Partitions::new(context, memory, &self.division, row.len())?),
        };
        right.push(&row, row.iter())
    }

    /// Looks a row of the left side up: the row, if it is to be handed out now.
    fn look_up(
        &mut self,
        context: &'a Context<'a>,
        memory: &mut Memory<'_>,
        row: Box<[Value]>,
    ) -> Result<Option<Box<[Value]>>> {
        if let Some(count) = self.counts.get_mut(&row) {
            let there = *count > 0;
            match self.kind {
                SetKind::Intersect => *count = 0,
                SetKind::IntersectAll | SetKind::ExceptAll => *count = count.saturating_sub(1),
                SetKind::Except | SetKind::Union => {}
            }
            let wanted = match self.kind {
                SetKind::Intersect | SetKind::IntersectAll => there,
                SetKind::ExceptAll => !there,
                SetKind::Except | SetKind::Union => false,
            };
            return Ok(wanted.then_some(row));
        }
        if self.right.is_none() {
            match self.kind {
                SetKind::Intersect | SetKind::IntersectAll => return Ok(None),
                SetKind::ExceptAll => return Ok(Some(row)),
                SetKind::Except | SetKind::Union => {
                    let bytes = row_weight(&row);
                    if self.left.is_none() && memory.take_or_spill(bytes, self.weight)? {
                        self.weight += bytes;
                        self.counts.insert(row.clone(), 1);
                        return Ok(Some(row));
                    }
                }
            }
        }
        let left = match &mut self.left {
            Some(left) => left,
            None => self.left.insert(match &self.right {
                Some(right) => right.beside(context, memory)?,
                None => Partitions::new(context, memory, &self.division, row.len())?,
            }),
        };
        left.push(&row, row.iter())?;
        Ok(None)
    }

    /// Forgets what was counted: the rows that nobody knows about, and the bytes written for them.
    fn finish(self, memory: &mut Memory<'_>) -> Result<(Vec<Pair<'a>>, u64)> {
        memory.give_rows(self.weight);
        drop(self.counts);
        let written = self.left.iter().chain(&self.right).map(Partitions::written).sum();
        let Some(left) = self.left else {
            if let Some(right) = self.right {
                right.abandon(memory);
            }
            return Ok((Vec::new(), written));
        };
        let left = left.finish_all(memory)?;
        let mut right = self.right.map_or_else(|| Ok(Vec::new()), |right| right.finish_all(memory))?;
        right.resize_with(left.len(), || None);
        let pairs = left.into_iter().zip(right).filter_map(|(left, right)| Some((left?, right)));
        Ok((pairs.collect(), written))
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// UNION, INTERSECT and EXCEPT.
    pub(super) fn set_op(
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
        let mut sides = Sides::new(kind, Division::default());
        let _ = self.run(&right.0, &mut |exec| {
            let row = exec.copy(&right.1);
            sides.count(exec.context, &mut exec.memory, row)?;
            Ok(Flow::Continue(()))
        })?;
        let flow = self.run(&left.0, &mut |exec| {
            let row = exec.copy(&left.1);
            let Some(row) = sides.look_up(exec.context, &mut exec.memory, row)? else {
                return Ok(Flow::Continue(()));
            };
            exec.restore(slots, &row);
            next(exec)
        })?;
        self.note_memory(sides.weight);
        let (mut pairs, written) = sides.finish(&mut self.memory)?;
        if flow.is_break() {
            return Ok(flow);
        }
        let batches = pairs.len();
        self.note_done(|measure| {
            measure.disk += written;
            measure.batches += batches;
        });
        while let Some((mut left, right)) = pairs.pop() {
            let mut sides = Sides::new(kind, left.division.clone());
            if let Some(mut right) = right {
                while let Some(row) = right.next()? {
                    self.tick()?;
                    sides.count(self.context, &mut self.memory, row)?;
                }
            }
            while let Some(row) = left.next()? {
                self.tick()?;
                if let Some(row) = sides.look_up(self.context, &mut self.memory, row)? {
                    for (&slot, value) in slots.iter().zip(row) {
                        self.frame[slot] = value;
                    }
                    if next(self)?.is_break() {
                        return Ok(Flow::Break(()));
                    }
                }
            }
            pairs.extend(sides.finish(&mut self.memory)?.0);
        }
        Ok(Flow::Continue(()))
    }
}
