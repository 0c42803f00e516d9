//! Groups and aggregates.
//!
//! Groups that find no room do not come into being: their rows, as far as aggregates look at them, go to a file by the
//! hash of the group, and each part of them is grouped afterwards.

use super::sort::order;
use super::spill::{Division, Partitions, Rows};
use super::{Exec, Flow, Next, row_weight};
use crate::functions::Accumulator;
use crate::plan::expr::Expr;
use crate::plan::{Aggregate, Node, Slot};
use scaledb_engine::Worker;
use scaledb_types::{Result, Value};
use std::collections::{HashMap, HashSet};

/// Values that are kept.
type Kept = Box<[Value]>;

/// An aggregate at work.
struct Running {
    accumulator: Accumulator,
    /// Arguments seen, if they count once.
    seen: Option<HashSet<Box<[Value]>>>,
    /// Arguments with their sort keys, if they have an order.
    sorted: Vec<(Kept, Kept)>,
}

impl Running {
    fn new(aggregate: &Aggregate) -> Self {
        Self {
            accumulator: aggregate.function.start(),
            seen: aggregate.distinct.then(HashSet::new),
            sorted: Vec::new(),
        }
    }
}

/// Groups in the order of their first rows.
struct Groups<'a> {
    numbers: HashMap<Box<[Value]>, usize>,
    groups: Vec<(Kept, Vec<Running>)>,
    /// Bytes that were taken for them.
    weight: usize,
    /// How to divide what finds no room, and what has found none.
    division: Division,
    rest: Option<Partitions<'a>>,
}

impl Groups<'_> {
    fn new(division: Division) -> Self {
        Self { numbers: HashMap::new(), groups: Vec::new(), weight: 0, division, rest: None }
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Groups the rows of an input and computes aggregates.
    pub(super) fn aggregate(
        &mut self,
        input: &Node,
        keys: &[(Expr, Slot)],
        aggregates: &[Aggregate],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        if keys.is_empty() {
            let mut running: Vec<Running> = aggregates.iter().map(Running::new).collect();
            let _ = self.run(input, &mut |exec| {
                exec.accumulate(aggregates, &mut running)?;
                Ok(Flow::Continue(()))
            })?;
            self.finish(aggregates, running)?;
            return next(self);
        }
        let mut groups = Groups::new(Division::default());
        let _ = self.run(input, &mut |exec| {
            let mut key = Vec::with_capacity(keys.len());
            for (expr, _) in keys {
                key.push(exec.eval(expr)?);
            }
            match exec.group(&mut groups, key, aggregates)? {
                Ok(number) => groups.weight += exec.accumulate(aggregates, &mut groups.groups[number].1)?,
                Err(key) => {
                    let seen = exec.seen_by(aggregates)?;
                    exec.put_aside(&mut groups, &key, seen.iter())?;
                }
            }
            Ok(Flow::Continue(()))
        })?;
        let mut parts: Vec<Rows<'a>> = Vec::new();
        loop {
            let (flow, rest) = self.hand_out(groups, keys, aggregates, next)?;
            if flow.is_break() {
                return Ok(flow);
            }
            parts.extend(rest);
            let Some(part) = parts.pop() else { return Ok(flow) };
            groups = self.group_part(part, keys.len(), aggregates)?;
        }
    }

    /// Groups rows that were put aside.
    fn group_part(
        &mut self,
        mut rows: Rows<'a>,
        keys: usize,
        aggregates: &[Aggregate],
    ) -> Result<Groups<'a>> {
        let mut groups = Groups::new(rows.division.clone());
        while let Some(row) = rows.next()? {
            self.tick()?;
            let mut row = row.into_vec();
            let mut seen = row.split_off(keys);
            match self.group(&mut groups, row, aggregates)? {
                Ok(number) => {
                    let mut at = 0;
                    for (aggregate, running) in aggregates.iter().zip(&mut groups.groups[number].1) {
                        let (from, args) = (at, aggregate.args.len());
                        at += width(aggregate);
                        if !seen[from].is_true() {
                            continue;
                        }
                        let mut take = |range: std::ops::Range<usize>| -> Vec<Value> {
                            seen[range].iter_mut().map(std::mem::take).collect()
                        };
                        let key = take(from + 1 + args..at);
                        let args = take(from + 1..from + 1 + args);
                        groups.weight += self.take_in(aggregate, running, args, key)?;
                    }
                }
                Err(key) => self.put_aside(&mut groups, &key, seen.iter())?,
            }
        }
        Ok(groups)
    }

    /// The number of a group, a new one if there is room for it; or its key again.
    fn group(
        &mut self,
        groups: &mut Groups<'a>,
        key: Vec<Value>,
        aggregates: &[Aggregate],
    ) -> Result<std::result::Result<usize, Vec<Value>>> {
        if let Some(number) = groups.numbers.get(key.as_slice()) {
            return Ok(Ok(*number));
        }
        let bytes = 2 * row_weight(&key) + aggregates.len() * size_of::<Running>() + 64;
        // of a group that has found no room, all rows are put aside
        if groups.rest.is_some() || !self.memory.take_or_spill(bytes, groups.weight)? {
            return Ok(Err(key));
        }
        groups.weight += bytes;
        let key: Box<[Value]> = key.into();
        groups.numbers.insert(key.clone(), groups.groups.len());
        groups.groups.push((key, aggregates.iter().map(Running::new).collect()));
        Ok(Ok(groups.groups.len() - 1))
    }

    /// What aggregates look at in the row at hand: for each whether it counts, its arguments and its sort keys.
    fn seen_by(&mut self, aggregates: &[Aggregate]) -> Result<Vec<Value>> {
        let mut seen = Vec::new();
        for aggregate in aggregates {
            let counts = match &aggregate.filter {
                Some(filter) => self.holds(filter)?,
                None => true,
            };
            seen.push(Value::Bool(counts));
            let exprs = aggregate.args.iter().chain(aggregate.order.iter().map(|part| &part.expr));
            for expr in exprs {
                seen.push(if counts { self.eval(expr)? } else { Value::Null });
            }
        }
        Ok(seen)
    }

    /// Writes a row of a group that has found no room.
    #[cold]
    fn put_aside<'v>(
        &mut self,
        groups: &mut Groups<'a>,
        key: &[Value],
        seen: std::slice::Iter<'v, Value>,
    ) -> Result<()> {
        let rest = match &mut groups.rest {
            Some(rest) => rest,
            None => {
                let width = key.len() + seen.len();
                let rest = Partitions::new(self.context, &mut self.memory, &groups.division, width)?;
                groups.rest.insert(rest)
            }
        };
        rest.push(key, key.iter().chain(seen))
    }

    /// Calls `next` with the groups; the rows that were put aside.
    fn hand_out(
        &mut self,
        groups: Groups<'a>,
        keys: &[(Expr, Slot)],
        aggregates: &[Aggregate],
        next: Next<'_, 'a, W>,
    ) -> Result<(Flow, Vec<Rows<'a>>)> {
        let Groups { numbers, groups, weight, rest, .. } = groups;
        drop(numbers);
        self.note_memory(weight);
        let rest = match rest {
            Some(rest) => {
                let written = rest.written();
                let rest = rest.finish(&mut self.memory)?;
                let parts = rest.len();
                self.note_done(|measure| {
                    measure.disk += written;
                    measure.batches += parts;
                });
                rest
            }
            None => Vec::new(),
        };
        let mut flow = Flow::Continue(());
        for (key, running) in groups {
            self.tick()?;
            for ((_, slot), value) in keys.iter().zip(key) {
                self.frame[*slot] = value;
            }
            self.finish(aggregates, running)?;
            flow = next(self)?;
            if flow.is_break() {
                break;
            }
        }
        self.memory.give(weight);
        Ok((flow, rest))
    }

    /// Adds the row at hand to the aggregates of its group. The bytes that were taken for it.
    fn accumulate(&mut self, aggregates: &[Aggregate], running: &mut [Running]) -> Result<usize> {
        let mut taken = 0;
        for (aggregate, running) in aggregates.iter().zip(running) {
            if let Some(filter) = &aggregate.filter
                && !self.holds(filter)?
            {
                continue;
            }
            let mut args = Vec::with_capacity(aggregate.args.len());
            for arg in &aggregate.args {
                args.push(self.eval(arg)?);
            }
            let mut key = Vec::with_capacity(aggregate.order.len());
            for part in &aggregate.order {
                key.push(self.eval(&part.expr)?);
            }
            taken += self.take_in(aggregate, running, args, key)?;
        }
        Ok(taken)
    }

    /// Adds arguments with their sort keys to an aggregate. The bytes that were taken for them.
    #[inline]
    fn take_in(
        &mut self,
        aggregate: &Aggregate,
        running: &mut Running,
        args: Vec<Value>,
        key: Vec<Value>,
    ) -> Result<usize> {
        let mut taken = 0;
        if aggregate.function.is_ordered_set() && key.iter().any(Value::is_null) {
            return Ok(0);
        }
        if let Some(seen) = &mut running.seen
            && !args.is_empty()
        {
            let weight = row_weight(&args);
            if !seen.insert(args.clone().into()) {
                return Ok(0);
            }
            self.memory.take_rows(weight)?;
            taken += weight;
        }
        if !aggregate.order.is_empty() {
            let weight = row_weight(&key) + row_weight(&args);
            self.memory.take_rows(weight)?;
            running.sorted.push((key.into(), args.into()));
            return Ok(taken + weight);
        }
        let grown = running.accumulator.add(self.context.env, &args)?;
        self.memory.take(grown)?;
        Ok(taken + grown)
    }

    /// Writes the results of a group into the slots.
    fn finish(&mut self, aggregates: &[Aggregate], running: Vec<Running>) -> Result<()> {
        for (aggregate, mut running) in aggregates.iter().zip(running) {
            running.sorted.sort_by(|a, b| order(&aggregate.order, &a.0, &b.0));
            if aggregate.function.is_ordered_set() {
                let mut direct = Vec::with_capacity(aggregate.direct.len());
                for expr in &aggregate.direct {
                    direct.push(self.eval(expr)?);
                }
                let count = running.sorted.len() as u64;
                let mut set = aggregate.function.start_ordered(&direct, count)?;
                running.sorted.iter().flat_map(|(key, _)| key.first()).for_each(|value| set.add(value));
                self.frame[aggregate.slot] = set.finish(aggregate.function.result())?;
                continue;
            }
            for (_, args) in &running.sorted {
                running.accumulator.add(self.context.env, args)?;
            }
            self.frame[aggregate.slot] = running.accumulator.finish(self.context.env)?;
        }
        Ok(())
    }
}

/// Values that an aggregate looks at, and whether it does.
fn width(aggregate: &Aggregate) -> usize {
    1 + aggregate.args.len() + aggregate.order.len()
}
