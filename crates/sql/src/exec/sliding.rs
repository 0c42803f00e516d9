//! Aggregates over frames that move.
//!
//! A frame gains rows at its end and loses rows at its start. What has accumulated cannot be taken back, but what has
//! accumulated of two parts can be merged: so the rows before some middle are kept as what accumulates from each of
//! them up to there, and those behind it as what has accumulated since. When the start reaches the middle, the middle
//! goes to the end, and the rows before it are read once more. Each row is read three times, however long the frame
//! is.
//!
//! ```text
//! from                 block          block          middle                to
//!  │ each row ..middle  │ ..middle     │ ..middle      │      behind        │
//!  └───── singles ──────┴──── blocks ──┴───────────────┴────────────────────┘
//! ```
//!
//! Aggregates that do not merge (sums of floats, and what keeps its values) begin again when the start moves, as they
//! do in PostgreSQL.

use super::Exec;
use super::window_frame::Rows;
use scaledb_engine::Worker;
use scaledb_planner::functions::{Accumulator, AggregateFn};
use scaledb_types::{Result, Value};
use std::ops::Range;

/// Rows of a block.
const BLOCK: usize = if cfg!(test) { 8 } else { 256 };

/// Rows that are aggregated, neither of whose ends goes back.
struct Sliding {
    from: usize,
    middle: usize,
    to: usize,
    /// The first rows of blocks, and what accumulates of them up to the middle; the nearest block last.
    blocks: Vec<(usize, Accumulator)>,
    /// What accumulates up to the middle of each row before the nearest block; the first row last.
    singles: Vec<Accumulator>,
    behind: Accumulator,
    /// Bytes that were taken for values that are kept, and for blocks.
    kept: usize,
    weight: usize,
}

impl Sliding {
    fn new(function: &AggregateFn) -> Self {
        Self {
            from: 0,
            middle: 0,
            to: 0,
            blocks: Vec::new(),
            singles: Vec::new(),
            behind: function.start(),
            kept: 0,
            weight: 0,
        }
    }

    /// What has accumulated of all of its rows.
    fn value(&self) -> Result<Accumulator> {
        let front = self.singles.last().or_else(|| self.blocks.last().map(|(_, front)| front));
        let Some(front) = front else { return Ok(self.behind.clone()) };
        let mut value = front.clone();
        value.merge(&self.behind)?;
        Ok(value)
    }

    fn move_to<W: Worker>(
        &mut self,
        exec: &mut Exec<'_, W>,
        function: &AggregateFn,
        rows: &mut impl Rows,
        range: Range<usize>,
    ) -> Result<()> {
        if range.start > self.from {
            if range.start >= self.to || !function.merges() {
                self.blocks.clear();
                self.singles.clear();
                exec.memory.give(std::mem::take(&mut self.kept));
                (self.middle, self.to) = (range.start, range.start);
                self.behind = function.start();
            } else if range.start >= self.middle {
                self.turn(exec, function, rows, range.start)?;
            } else {
                self.drop_rows(exec, function, rows, range.start)?;
            }
            self.from = range.start;
        }
        while self.to < range.end {
            exec.tick()?;
            let grown = exec.add_row(&mut self.behind, rows, self.to)?;
            exec.memory.take(grown)?;
            self.kept += grown;
            self.to += 1;
        }
        Ok(())
    }

    /// Makes the end the middle.
    fn turn<W: Worker>(
        &mut self,
        exec: &mut Exec<'_, W>,
        function: &AggregateFn,
        rows: &mut impl Rows,
        from: usize,
    ) -> Result<()> {
        self.blocks.clear();
        self.singles.clear();
        self.middle = self.to;
        self.behind = function.start();
        let weight = (BLOCK + (self.middle - from) / BLOCK) * size_of::<Accumulator>();
        if weight > self.weight {
            exec.memory.take_share(weight - self.weight)?;
            self.weight = weight;
        }
        for first in (from..self.middle).step_by(BLOCK).rev() {
            let mut block = function.start();
            for row in first..(first + BLOCK).min(self.middle) {
                exec.tick()?;
                exec.add_row(&mut block, rows, row)?;
            }
            if let Some((_, next)) = self.blocks.last() {
                block.merge(next)?;
            }
            self.blocks.push((first, block));
        }
        self.open(exec, function, rows, from)
    }

    /// Lets go of the rows before one that comes before the middle.
    fn drop_rows<W: Worker>(
        &mut self,
        exec: &mut Exec<'_, W>,
        function: &AggregateFn,
        rows: &mut impl Rows,
        from: usize,
    ) -> Result<()> {
        let end = self.from + self.singles.len();
        if from < end {
            self.singles.truncate(end - from);
            return Ok(());
        }
        self.singles.clear();
        while let [.., (next, _), _] = self.blocks[..]
            && next <= from
        {
            self.blocks.pop();
        }
        self.open(exec, function, rows, from)
    }

    /// Takes the nearest block apart, from a row of it on.
    fn open<W: Worker>(
        &mut self,
        exec: &mut Exec<'_, W>,
        function: &AggregateFn,
        rows: &mut impl Rows,
        from: usize,
    ) -> Result<()> {
        self.blocks.pop();
        let end = self.blocks.last().map_or(self.middle, |(next, _)| *next);
        let mut parts = Vec::with_capacity(end - from);
        for row in from..end {
            exec.tick()?;
            let mut part = function.start();
            exec.add_row(&mut part, rows, row)?;
            parts.push(part);
        }
        for mut part in parts.into_iter().rev() {
            if let Some(next) = self.singles.last().or_else(|| self.blocks.last().map(|(_, next)| next)) {
                part.merge(next)?;
            }
            self.singles.push(part);
        }
        Ok(())
    }

    fn give<W: Worker>(&mut self, exec: &mut Exec<'_, W>) {
        exec.memory.give(std::mem::take(&mut self.kept));
        exec.memory.give_rows(std::mem::take(&mut self.weight));
    }
}

/// An aggregate over the frames of a partition.
pub(super) struct Aggregating<'w> {
    function: &'w AggregateFn,
    first: Sliding,
    last: Sliding,
    /// The frame before, and its value.
    known: Option<([Range<usize>; 3], Value)>,
}

impl<'w> Aggregating<'w> {
    pub(super) fn new(function: &'w AggregateFn) -> Self {
        Self { function, first: Sliding::new(function), last: Sliding::new(function), known: None }
    }

    /// The value of a frame.
    ///
    /// # Errors
    /// What the aggregate refuses, 53200, those of the file.
    pub(super) fn value<W: Worker>(
        &mut self,
        exec: &mut Exec<'_, W>,
        rows: &mut impl Rows,
        ranges: [Range<usize>; 3],
    ) -> Result<Value> {
        if let Some((known, value)) = &self.known
            && *known == ranges
        {
            return Ok(value.clone());
        }
        let function = self.function;
        let [first, own, last] = ranges.clone();
        let value = if function.merges() {
            self.first.move_to(exec, function, rows, first)?;
            self.last.move_to(exec, function, rows, last)?;
            let mut value = self.first.value()?;
            for row in own {
                exec.add_row(&mut value, rows, row)?;
            }
            value.merge(&self.last.value()?)?;
            value
        } else if own.is_empty() && last.is_empty() && self.last.to == 0 {
            self.first.move_to(exec, function, rows, first)?;
            self.first.value()?
        } else {
            // what is excluded is in the middle of what has accumulated
            self.last.to = usize::MAX;
            self.first.give(exec);
            let mut value = function.start();
            for row in first.chain(own).chain(last) {
                exec.tick()?;
                let grown = exec.add_row(&mut value, rows, row)?;
                exec.memory.take(grown)?;
                self.first.kept += grown;
            }
            value
        };
        let value = value.finish(exec.context.env)?;
        self.known = Some((ranges, value.clone()));
        Ok(value)
    }

    /// Gives back the memory that was taken.
    pub(super) fn finish<W: Worker>(mut self, exec: &mut Exec<'_, W>) {
        self.first.give(exec);
        self.last.give(exec);
    }
}

impl<W: Worker> Exec<'_, W> {
    /// Adds a row to an aggregate, if it fits the FILTER; the memory that it took.
    fn add_row(&mut self, to: &mut Accumulator, rows: &mut impl Rows, row: usize) -> Result<usize> {
        match rows.args(row)? {
            Some(args) => to.add(self.context.env, args),
            None => Ok(0),
        }
    }
}
