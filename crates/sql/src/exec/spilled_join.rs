//! Hash joins whose inner rows do not fit their memory.
//!
//! The rows of both sides go to files by the hash of their keys, and one part after another is joined as if it were
//! all: equal keys are in parts of the same number. A part whose inner rows do not fit either is divided again, by
//! another hash. If that does not help, because too many rows have the same key, as many inner rows as fit are held
//! at a time, and the outer rows of the part are read once for each time.
//!
//! ```text
//! inner part   key | row               outer part   key | row | number
//! ```
//!
//! Outer rows that can match nothing are not written.

use super::hash_join::Keyed;
use super::inners::Inners;
use super::sort::Sorting;
use super::spill::{Division, Partitions, Rows};
use super::{Exec, Flow, Next};
use crate::memory::Memory;
use scaledb_engine::{RowId, Worker};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{HashJoin, JoinKind, Slot, SortKey};
use scaledb_types::{Result, SqlError, Value};
use std::cell::Cell;

/// The rows of both sides that may match each other.
struct Pair<'a> {
    inner: Rows<'a>,
    outer: Option<Rows<'a>>,
}

/// A join at work.
struct Apart<'j, 'a> {
    join: &'j HashJoin,
    /// What is still to be joined.
    pairs: Vec<Pair<'a>>,
    /// The number of the current outer row.
    number: &'j Cell<i64>,
    /// The rows that the target was at, by number: rows are named by the engine, and values are written to files.
    names: Vec<Option<RowId>>,
}

/// The numbers of outer rows that have found a match.
#[derive(Default)]
struct Matched(Vec<u64>);

impl Matched {
    fn insert(&mut self, memory: &mut Memory<'_>, number: usize) -> Result<()> {
        let at = number / 64;
        if self.0.len() <= at {
            memory.take_share((at + 1 - self.0.len()) * size_of::<u64>())?;
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (number % 64);
        Ok(())
    }

    fn weight(&self) -> usize {
        self.0.len() * size_of::<u64>()
    }

    fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
}

/// Writes an inner row.
///
/// # Errors
/// Those of the file.
pub(super) fn put_inner(parts: &mut Partitions<'_>, key: &[Value], row: &[Value]) -> Result<()> {
    // rows that match nothing are spread over all parts
    let lonely = key.iter().any(Value::is_null);
    let part = parts.part(if lonely { row } else { key });
    parts.push_to(part, key.iter().chain(row))
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Writes the inner rows that are there, and one that has found no room.
    #[cold]
    pub(super) fn divide_inners(
        &mut self,
        join: &HashJoin,
        table: &mut Inners,
        more: Keyed,
    ) -> Result<Partitions<'a>> {
        self.divide_by(join, &Division::default(), table, more)
    }

    fn divide_by(
        &mut self,
        join: &HashJoin,
        division: &Division,
        table: &mut Inners,
        (key, row): Keyed,
    ) -> Result<Partitions<'a>> {
        let width = join.inner_keys.len() + join.inner_slots.len();
        let mut parts = Partitions::new(self.context, &mut self.memory, division, width)?;
        let full = std::mem::replace(table, Inners::new(join));
        self.note_memory(full.weight);
        for (key, row) in full.keyed() {
            self.tick()?;
            put_inner(&mut parts, key, row)?;
        }
        let nulls = vec![Value::Null; join.inner_keys.len()];
        for row in full.lonely() {
            self.tick()?;
            put_inner(&mut parts, &nulls, row)?;
        }
        self.memory.give(full.weight);
        put_inner(&mut parts, &key, &row)?;
        Ok(parts)
    }

    /// Joins rows of which the inner ones were written.
    #[cold]
    pub(super) fn join_apart(
        &mut self,
        join: &HashJoin,
        inner: Partitions<'a>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let number = Cell::new(0);
        if !join.ordered {
            return self.join_parts(join, inner, &number, next);
        }
        // rows come part by part, and an operator above relies on the order of their numbers
        let key = SortKey { expr: Expr::Const(Value::Null), descending: false, nulls_first: false };
        let keys = [key];
        let carry: Vec<Slot> = join.outer_slots.iter().chain(&join.inner_slots).copied().collect();
        let mut sorting = Sorting::new(&keys, carry.len(), usize::MAX);
        let _ = self.join_parts(join, inner, &number, &mut |exec| {
            let row = exec.copy(&carry);
            sorting.push(exec, vec![Value::Int8(number.get())], row)?;
            Ok(Flow::Continue(()))
        })?;
        sorting.finish(self, |exec, row| {
            for (&slot, value) in carry.iter().zip(row) {
                exec.frame[slot] = std::mem::take(value);
            }
            next(exec)
        })
    }

    fn join_parts(
        &mut self,
        join: &HashJoin,
        inner: Partitions<'a>,
        number: &Cell<i64>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let division = inner.division().clone();
        let written = inner.written();
        let inner = inner.finish_all(&mut self.memory)?;
        let width = join.outer_keys.len() + join.outer_slots.len() + 1;
        let mut outer =
            Partitions::with_parts(self.context, &mut self.memory, &division, width, inner.len())?;
        let mut names: Vec<Option<RowId>> = Vec::new();
        let mut rows = 0;
        let mut flow = self.run(&join.outer, &mut |exec| {
            exec.tick()?;
            rows += 1;
            number.set(rows);
            let mut key = Vec::with_capacity(join.outer_keys.len());
            for part in &join.outer_keys {
                key.push(exec.eval(part)?);
            }
            let part = outer.part(&key);
            if inner[part].is_none() || key.iter().any(Value::is_null) {
                return match join.kind {
                    JoinKind::Inner => Ok(Flow::Continue(())),
                    JoinKind::Left => exec.without_inner(join, next),
                };
            }
            if let Some(target) = join.target {
                exec.memory.take_rows(size_of::<Option<RowId>>())?;
                number.set(names.len() as i64);
                names.push(exec.rows[target]);
            }
            let number = Value::Int8(number.get());
            let row = join.outer_slots.iter().map(|&slot| &exec.frame[slot]);
            outer.push_to(part, key.iter().chain(row).chain([&number])).map(|()| Flow::Continue(()))
        })?;
        let held = names.len() * size_of::<Option<RowId>>();
        if flow.is_break() {
            outer.abandon(&mut self.memory);
        } else {
            let written = written + outer.written();
            let outer = outer.finish_all(&mut self.memory)?;
            let pairs = pairs(join, inner, outer);
            self.note_done(|measure| {
                measure.disk += written;
                measure.batches += pairs.len().saturating_sub(1);
            });
            let mut apart = Apart { join, pairs, number, names };
            while let Some(pair) = apart.pairs.pop() {
                flow = self.join_pair(&mut apart, pair, next)?;
                if flow.is_break() {
                    break;
                }
            }
        }
        self.memory.give_rows(held);
        Ok(flow)
    }

    /// Joins the rows of a part, or divides them.
    fn join_pair(
        &mut self,
        apart: &mut Apart<'_, 'a>,
        pair: Pair<'a>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let Pair { mut inner, mut outer } = pair;
        let join = apart.join;
        let mut table = Inners::new(join);
        let mut matched = Matched::default();
        let mut more = self.fill(join, &mut table, &mut inner)?;
        if let Some(row) = more.take_if(|_| !table.is_skewed() && !inner.division.is_last()) {
            return self.divide_pair(apart, &mut table, row, (inner, outer), next);
        }
        loop {
            let last = more.is_none();
            let rows = if last { outer.take() } else { outer.as_ref().map(Rows::again) };
            let mut flow = Flow::Continue(());
            if let Some(rows) = rows
                && (last || !table.is_empty())
            {
                flow = self.probe_all(apart, &mut table, rows, (&mut matched, last), next)?;
            }
            let done = std::mem::replace(&mut table, Inners::new(join));
            self.note_memory(done.weight);
            if join.full && flow.is_continue() {
                flow = self.without_outer(join, &done, next)?;
            }
            self.memory.give(done.weight);
            drop(done);
            let Some((key, row)) = more.filter(|_| flow.is_continue()) else {
                self.memory.give(matched.weight());
                return Ok(flow);
            };
            more = if table.add(&mut self.memory, &key, row.iter())? {
                self.fill(join, &mut table, &mut inner)?
            } else {
                Some((key, row))
            };
        }
    }

    /// Reads inner rows for as long as there is room; the first one for which there is none.
    fn fill(&mut self, join: &HashJoin, table: &mut Inners, inner: &mut Rows<'a>) -> Result<Option<Keyed>> {
        while let Some(row) = inner.next()? {
            self.tick()?;
            let (key, rest) = row.split_at(join.inner_keys.len());
            if !table.add(&mut self.memory, key, rest.iter())? {
                return Ok(Some((key.to_vec(), rest.into())));
            }
        }
        Ok(None)
    }

    /// Looks the outer rows of a part up; says whether no more inner rows are to come.
    fn probe_all(
        &mut self,
        apart: &Apart<'_, 'a>,
        table: &mut Inners,
        mut rows: Rows<'a>,
        (matched, last): (&mut Matched, bool),
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let join = apart.join;
        let mut at = 0;
        while let Some(row) = rows.next()? {
            self.tick()?;
            let mut key = row.into_vec();
            let row = key.split_off(join.outer_keys.len());
            self.restore_outer(apart, row)?;
            let (flow, found) = self.probe(join, table, &key, next)?;
            if flow.is_break() {
                return Ok(flow);
            }
            if join.kind == JoinKind::Left {
                if found && !last {
                    matched.insert(&mut self.memory, at)?;
                } else if !found && last && !matched.has(at) && self.without_inner(join, next)?.is_break() {
                    return Ok(Flow::Break(()));
                }
            }
            at += 1;
        }
        Ok(Flow::Continue(()))
    }

    /// Makes an outer row the current one.
    fn restore_outer(&mut self, apart: &Apart<'_, 'a>, row: Vec<Value>) -> Result<()> {
        let join = apart.join;
        let lost = || SqlError::internal("a row of a join without a number");
        let Some(Value::Int8(number)) = row.last() else { return Err(lost()) };
        apart.number.set(*number);
        if let Some(target) = join.target {
            let number = usize::try_from(*number).map_err(|_| lost())?;
            self.rows[target] = *apart.names.get(number).ok_or_else(lost)?;
        }
        for (&slot, value) in join.outer_slots.iter().zip(row) {
            self.frame[slot] = value;
        }
        Ok(())
    }

    /// Divides the rows of a part again.
    fn divide_pair(
        &mut self,
        apart: &mut Apart<'_, 'a>,
        table: &mut Inners,
        more: Keyed,
        (mut rows, outer): (Rows<'a>, Option<Rows<'a>>),
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let join = apart.join;
        let division = rows.division.clone();
        let mut parts = self.divide_by(join, &division, table, more)?;
        while let Some(row) = rows.next()? {
            self.tick()?;
            let (key, row) = row.split_at(join.inner_keys.len());
            put_inner(&mut parts, key, row)?;
        }
        let written = parts.written();
        let inner = parts.finish_all(&mut self.memory)?;
        let width = join.outer_keys.len() + join.outer_slots.len() + 1;
        let mut parts =
            Partitions::with_parts(self.context, &mut self.memory, &division, width, inner.len())?;
        if let Some(mut rows) = outer {
            while let Some(row) = rows.next()? {
                self.tick()?;
                let (key, rest) = row.split_at(join.outer_keys.len());
                let part = parts.part(key);
                if inner[part].is_some() {
                    parts.push_to(part, &row)?;
                } else if join.kind == JoinKind::Left {
                    self.restore_outer(apart, rest.to_vec())?;
                    if self.without_inner(join, next)?.is_break() {
                        parts.abandon(&mut self.memory);
                        return Ok(Flow::Break(()));
                    }
                }
            }
        }
        let written = written + parts.written();
        let outer = parts.finish_all(&mut self.memory)?;
        let pairs = pairs(join, inner, outer);
        self.note_done(|measure| {
            measure.disk += written;
            measure.batches += pairs.len().saturating_sub(1);
        });
        apart.pairs.extend(pairs);
        Ok(Flow::Continue(()))
    }
}

/// The parts that can match each other, or have rows that come all the same.
fn pairs<'a>(join: &HashJoin, inner: Vec<Option<Rows<'a>>>, outer: Vec<Option<Rows<'a>>>) -> Vec<Pair<'a>> {
    let pairs = inner.into_iter().zip(outer).filter_map(|(inner, outer)| Some(Pair { inner: inner?, outer }));
    pairs.filter(|pair| pair.outer.is_some() || join.full).collect()
}
