//! Groups and aggregates.
//!
//! Groups that find no room do not come into being: their rows, as far as aggregates look at them, go to a file by the
//! hash of the group, and each part of them is grouped afterwards.

use super::gather::{Gathered, Values, Way, sort_keys};
use super::spill::{Division, Partitions, Rows};
use super::{Exec, Flow, Next, row_weight};
use hashbrown::HashTable;
use rapidhash::fast::RandomState;
use scaledb_engine::Worker;
use scaledb_planner::functions::Accumulator;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Aggregate, Node, Sets, Slot, SortKey};
use scaledb_types::{Result, Value};
use std::hash::BuildHasher;

/// Values that are kept.
pub(super) type Kept = Box<[Value]>;

/// Bytes of a group besides its key and its aggregates, with what the tables of groups leave free.
const PER_GROUP: usize = 128;

/// An aggregate at work.
pub(super) struct Running {
    pub(super) accumulator: Accumulator,
    /// Its DISTINCT or ordered values; only for aggregates that have such.
    values: Option<Box<Values>>,
}

impl Running {
    fn new(aggregate: &Aggregate) -> Self {
        Self { accumulator: aggregate.function.start(), values: None }
    }

    /// Its DISTINCT or ordered values.
    pub(super) fn values(&mut self) -> &mut Values {
        self.values.get_or_insert_default()
    }

    /// The accumulator, and the DISTINCT or ordered values.
    pub(super) fn into_parts(self) -> (Accumulator, Values) {
        (self.accumulator, self.values.map(|values| *values).unwrap_or_default())
    }
}

/// Groups in the order of their first rows.
pub(super) struct Groups<'k, 'a> {
    /// The hash of a key, and the number of its group.
    numbers: HashTable<(u64, usize)>,
    hasher: RandomState,
    pub(super) groups: Vec<(Kept, Vec<Running>)>,
    /// Bytes that were taken for them.
    pub(super) weight: usize,
    /// Bytes of the aggregates of a group, and of what else comes with it.
    running_weight: usize,
    pub(super) gathered: Gathered<'k, 'a>,
    /// How to divide what finds no room, and what has found none.
    division: Division,
    rest: Option<Partitions<'a>>,
}

impl<'k> Groups<'k, '_> {
    fn new(aggregates: &[Aggregate], sorts: &'k [Vec<SortKey>], division: Division) -> Self {
        let gathered = Gathered::new(aggregates, sorts);
        let whole = (0..aggregates.len()).filter(|&at| gathered.way(at) != Way::AsTheyCome).count();
        Self {
            numbers: HashTable::new(),
            hasher: RandomState::default(),
            groups: Vec::new(),
            weight: 0,
            running_weight: aggregates.len() * size_of::<Running>() + whole * size_of::<Values>() + PER_GROUP,
            gathered,
            division,
            rest: None,
        }
    }
}

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
        let mut groups = Groups::new(aggregates, &sorts, Division::default());
        if keys.is_empty() {
            groups.groups.push((Box::default(), aggregates.iter().map(Running::new).collect()));
            let _ = self.run(input, &mut |exec| {
                exec.accumulate(aggregates, &mut groups, 0)?;
                Ok(Flow::Continue(()))
            })?;
            return Ok(self.hand_out(groups, keys, aggregates, next)?.0);
        }
        let mut empty = true;
        let mut key = Vec::with_capacity(keys.len());
        let _ = self.run(input, &mut |exec| {
            empty = false;
            key.clear();
            for (expr, _) in keys {
                key.push(exec.eval(expr)?);
            }
            let Some(Sets { sets, .. }) = sets else {
                exec.take_row(&mut groups, &key, aggregates)?;
                return Ok(Flow::Continue(()));
            };
            for (number, set) in sets.iter().enumerate() {
                exec.take_row(&mut groups, &key_in(&key, set, number), aggregates)?;
            }
            Ok(Flow::Continue(()))
        })?;
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
        let mut groups = Groups::new(aggregates, sorts, rows.division.clone());
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
        let hash = groups.hasher.hash_one(key);
        let is_key = |(of, number): &(u64, usize)| *of == hash && *groups.groups[*number].0 == *key;
        if let Some((_, number)) = groups.numbers.find(hash, is_key) {
            return Ok(Some(*number));
        }
        let bytes = row_weight(key) + groups.running_weight;
        // all rows of a group that does not fit the memory are written to the file
        if groups.rest.is_some() || !self.memory.take_or_spill(bytes, groups.weight)? {
            return Ok(None);
        }
        groups.weight += bytes;
        let number = groups.groups.len();
        groups.numbers.insert_unique(hash, (hash, number), |(hash, _)| *hash);
        groups.groups.push((key.into(), aggregates.iter().map(Running::new).collect()));
        Ok(Some(number))
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
        let Groups { numbers, groups, weight, mut gathered, rest, .. } = groups;
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
        for (number, (key, running)) in groups.into_iter().enumerate() {
            self.tick()?;
            for ((_, slot), value) in keys.iter().zip(key) {
                self.frame[*slot] = value;
            }
            for (at, (aggregate, running)) in aggregates.iter().zip(running).enumerate() {
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
                let running = &mut groups.groups[number].1[at];
                if let Some(short) = self.short(arg)
                    && running.accumulator.add_short(short)
                {
                    continue;
                }
                let value = self.eval(arg)?;
                let grown = running.accumulator.add(self.context.env, std::slice::from_ref(&value))?;
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
        let grown = groups.groups[number].1[at].accumulator.add(self.context.env, &args)?;
        self.memory.take(grown)?;
        groups.weight += grown;
        Ok(())
    }
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
