//! Groups and aggregates.
//!
//! Groups that find no room do not come into being: their rows, as far as aggregates look at them, go to a file by the
//! hash of the group, and each part of them is grouped afterwards.

use super::gather::{Way, sort_keys};
use super::groups::{Groups, Parts};
use super::row_filter::load_of;
use super::row_groups::ByBytes;
use super::spill::{Division, Partitions, Rows};
use super::{Exec, Flow, Next};
use scaledb_engine::Worker;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Access, Aggregate, KeyValue, Node, Scan, Sets, Slot, SortKey};
use scaledb_row::RowRef;
use scaledb_types::{Result, Value};
use std::cell::RefCell;

impl<'a, W: Worker> Exec<'a, W> {
    /// Groups the rows of an input and computes aggregates.
    pub(super) fn aggregate(
        &mut self,
        input: &Node,
        (keys, sets): (&[(Expr, Slot)], Option<&Sets>),
        aggregates: &[Aggregate],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let sorts = sort_keys(aggregates);
        let mut groups = Groups::new(keys.len(), aggregates, &sorts, Division::default());
        if keys.is_empty() {
            groups.last = Some(groups.push(&[], aggregates));
            self.group_rows(input, (keys, aggregates), &mut groups, &mut |exec, groups| {
                exec.accumulate(aggregates, groups, 0)
            })?;
            return Ok(self.hand_out(groups, keys, aggregates, next)?.0);
        }
        let mut empty = true;
        let mut key = Vec::with_capacity(keys.len());
        let mut take = |exec: &mut Self, groups: &mut Groups<'_, 'a>| {
            empty = false;
            key.clear();
            for (expr, _) in keys {
                key.push(exec.eval(expr)?);
            }
            let Some(Sets { sets, .. }) = sets else { return exec.take_row(groups, &key, aggregates) };
            for (number, set) in sets.iter().enumerate() {
                exec.take_row(groups, &key_in(&key, set, number), aggregates)?;
            }
            Ok(())
        };
        if sets.is_none() {
            self.group_rows(input, (keys, aggregates), &mut groups, &mut take)?;
        } else {
            let _ = self.run(input, &mut |exec| {
                take(exec, &mut groups)?;
                Ok(Flow::Continue(()))
            })?;
        }
        // without keys there is a group of all rows, even if there are none
        for (number, set) in sets.iter().filter(|_| empty).flat_map(|sets| sets.sets.iter().enumerate()) {
            if set.iter().all(|has| !has) {
                let key = key_in(&vec![Value::Null; keys.len()], set, number);
                let _ = self.group(&mut groups, &key, aggregates)?;
            }
        }
        let mut parts: Vec<Rows<'a>> = Vec::new();
        loop {
            let (flow, rest) = self.hand_out(groups, keys, aggregates, next)?;
            if flow.is_break() {
                return Ok(flow);
            }
            parts.extend(rest);
            let Some(part) = parts.pop() else { return Ok(flow) };
            groups = self.group_part(part, keys.len(), aggregates, &sorts)?;
        }
    }

    /// Calls `take` with each row of an input that does not go to its group by its bytes.
    fn group_rows(
        &mut self,
        input: &Node,
        (keys, aggregates): (&[(Expr, Slot)], &[Aggregate]),
        groups: &mut Groups<'_, 'a>,
        take: &mut dyn FnMut(&mut Self, &mut Groups<'_, 'a>) -> Result<()>,
    ) -> Result<()> {
        let Node::Scan(scan) = input else {
            let _ = self.run(input, &mut |exec| {
                take(exec, groups)?;
                Ok(Flow::Continue(()))
            })?;
            return Ok(());
        };
        groups.together = come_together(scan, keys);
        // a row goes the one way or the other, so the groups are never borrowed twice
        let taking = RefCell::new((ByBytes::default(), groups));
        let mut bytes = |exec: &mut Self, row: RowRef<'_>| {
            let (by, groups) = &mut *taking.borrow_mut();
            exec.take_bytes((by, groups), (scan, row), keys, aggregates)
        };
        let mut loaded = |exec: &mut Self| {
            let (_, groups) = &mut *taking.borrow_mut();
            take(exec, groups)?;
            Ok(Flow::Continue(()))
        };
        let _ = self.run_scan(input, scan, &mut bytes, &mut loaded)?;
        Ok(())
    }

    /// Adds the current row to the group of a key.
    #[inline]
    fn take_row(
        &mut self,
        groups: &mut Groups<'_, 'a>,
        key: &[Value],
        aggregates: &[Aggregate],
    ) -> Result<()> {
        match self.group(groups, key, aggregates)? {
            Some(number) => self.accumulate(aggregates, groups, number),
            None => {
                let seen = self.seen_by(aggregates)?;
                self.put_aside(groups, key, seen.iter())
            }
        }
    }

    /// Groups rows that were put aside.
    fn group_part<'k>(
        &mut self,
        mut rows: Rows<'a>,
        keys: usize,
        aggregates: &[Aggregate],
        sorts: &'k [Vec<SortKey>],
    ) -> Result<Groups<'k, 'a>> {
        let mut groups = Groups::new(keys, aggregates, sorts, rows.division.clone());
        while let Some(row) = rows.next()? {
            self.tick()?;
            let mut row = row.into_vec();
            let mut seen = row.split_off(keys);
            match self.group(&mut groups, &row, aggregates)? {
                Some(number) => {
                    let mut end = 0;
                    for (at, aggregate) in aggregates.iter().enumerate() {
                        let (from, args) = (end, aggregate.args.len());
                        end += width(aggregate);
                        if !seen[from].is_true() {
                            continue;
                        }
                        let mut take = |range: std::ops::Range<usize>| -> Vec<Value> {
                            seen[range].iter_mut().map(std::mem::take).collect()
                        };
                        let key = take(from + 1 + args..end);
                        let args = take(from + 1..from + 1 + args);
                        self.take_in(aggregates, at, &mut groups, number, (args, key))?;
                    }
                }
                None => self.put_aside(&mut groups, &row, seen.iter())?,
            }
        }
        Ok(groups)
    }

    /// The number of a group, a new one if there is room for it.
    fn group(
        &mut self,
        groups: &mut Groups<'_, 'a>,
        key: &[Value],
        aggregates: &[Aggregate],
    ) -> Result<Option<usize>> {
        if let Some(last) = groups.last
            && groups.key(last) == key
        {
            return Ok(Some(last));
        }
        let hash = groups.hash_of(key);
        let found = groups.find(hash, |of| of == key);
        if found.is_some() {
            groups.last = found;
            return Ok(found);
        }
        self.begin_group(groups, hash, key, aggregates)
    }

    /// Begins a group that is not there; its number, if there is room for it.
    ///
    /// # Errors
    /// 53200.
    pub(super) fn begin_group(
        &mut self,
        groups: &mut Groups<'_, 'a>,
        hash: u64,
        key: &[Value],
        aggregates: &[Aggregate],
    ) -> Result<Option<usize>> {
        let bytes = groups.weight_of(key);
        // all rows of a group that does not fit the memory are written to the file
        if groups.rest.is_some() || !self.memory.take_or_spill(bytes, groups.weight)? {
            return Ok(None);
        }
        groups.weight += bytes;
        groups.last = Some(groups.begin(hash, key, aggregates));
        Ok(groups.last)
    }

    /// What aggregates look at in the current row: for each whether it counts, its arguments and its sort keys.
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
        groups: &mut Groups<'_, 'a>,
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
        mut groups: Groups<'_, 'a>,
        keys: &[(Expr, Slot)],
        aggregates: &[Aggregate],
        next: Next<'_, 'a, W>,
    ) -> Result<(Flow, Vec<Rows<'a>>)> {
        self.merge_gathered(aggregates, &mut groups)?;
        let Parts { count, keys: mut values, mut running, weight, mut gathered, rest } = groups.into_parts();
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
        for number in 0..count {
            self.tick()?;
            for ((_, slot), value) in keys.iter().zip(&mut values) {
                self.frame[*slot] = value;
            }
            for (at, (aggregate, running)) in aggregates.iter().zip(&mut running).enumerate() {
                self.frame[aggregate.slot] = self.result(aggregate, at, number, running, &mut gathered)?;
            }
            flow = next(self)?;
            if flow.is_break() {
                break;
            }
        }
        self.memory.give(weight);
        self.give_gathered(gathered);
        Ok((flow, rest))
    }

    /// Adds the current row to the aggregates of its group.
    fn accumulate(
        &mut self,
        aggregates: &[Aggregate],
        groups: &mut Groups<'_, 'a>,
        number: usize,
    ) -> Result<()> {
        for (at, aggregate) in aggregates.iter().enumerate() {
            if let Some(filter) = &aggregate.filter
                && !self.holds(filter)?
            {
                continue;
            }
            if let (Way::AsTheyCome, [arg]) = (groups.gathered.way(at), &aggregate.args[..]) {
                if let Some(short) = self.short(arg)
                    && groups.running(number)[at].accumulated.add_short(short)
                {
                    continue;
                }
                let value = self.eval(arg)?;
                let to = &mut groups.running(number)[at].accumulated;
                let grown = aggregate.function.add(to, self.context.env, std::slice::from_ref(&value))?;
                if grown > 0 {
                    self.memory.take(grown)?;
                    groups.weight += grown;
                }
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
            self.take_in(aggregates, at, groups, number, (args, key))?;
        }
        Ok(())
    }

    /// Adds arguments with their sort keys to an aggregate.
    #[inline]
    fn take_in(
        &mut self,
        aggregates: &[Aggregate],
        at: usize,
        groups: &mut Groups<'_, 'a>,
        number: usize,
        (args, key): (Vec<Value>, Vec<Value>),
    ) -> Result<()> {
        if groups.gathered.way(at) != Way::AsTheyCome {
            return self.gather(aggregates, at, groups, number, (args, key));
        }
        let to = &mut groups.running(number)[at].accumulated;
        let grown = aggregates[at].function.add(to, self.context.env, &args)?;
        self.memory.take(grown)?;
        groups.weight += grown;
        Ok(())
    }
}

/// Whether the rows of a group come one behind another: keys are the leading columns of the order that a scan has.
fn come_together(scan: &Scan, keys: &[(Expr, Slot)]) -> bool {
    let Access::Range { key: fixed, .. } = &scan.access else { return false };
    if !fixed.iter().all(|value| matches!(value, KeyValue::One(_))) {
        return false;
    }
    let columns = keys.iter().map(|(key, _)| load_of(key, &scan.loads).map(|load| load.column));
    let Some(mut wanted) = columns.collect::<Option<Vec<usize>>>() else { return false };
    let ordered = scan.table.index_columns(scan.index);
    for (number, column) in ordered.iter().enumerate() {
        let before = wanted.len();
        wanted.retain(|wanted| *wanted != column.engine);
        if wanted.len() == before && number >= fixed.len() {
            break;
        }
    }
    wanted.is_empty()
}

/// A key as one of several sets has it, with the number of the set as its last value.
fn key_in(key: &[Value], set: &[bool], number: usize) -> Vec<Value> {
    // behind the keys that sets have or lack stand those that depend on keys of all sets, and the number of the set
    let (keys, others) = key.split_at(set.len());
    let values = keys.iter().zip(set).map(|(value, has)| if *has { value.clone() } else { Value::Null });
    let depending = others.iter().take(others.len().saturating_sub(1)).cloned();
    values.chain(depending).chain([Value::Int4(number as i32 + 1)]).collect()
}

/// Values that an aggregate looks at, and whether it does.
fn width(aggregate: &Aggregate) -> usize {
    1 + aggregate.args.len() + aggregate.order.len()
}
