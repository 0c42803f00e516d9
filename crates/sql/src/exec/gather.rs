//! Values that an aggregate cannot take as they come: DISTINCT ones, and those with an ORDER BY.
//!
//! Values of a group are kept until it is handed out. When there is no room for more of them, those of all groups go to
//! files, one for each aggregate, as sorted runs; the runs are merged while groups are handed out.
//!
//! ```text
//! row       number of the group | sort keys | arguments
//! ```

use super::groups::{Groups, Running};
use super::sort::order;
use super::spill::{Merged, Sortable, Sorter};
use super::{Exec, row_weight};
use scaledb_engine::Worker;
use scaledb_planner::functions::{Accumulated, AggregateFn};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Aggregate, SortKey};
use scaledb_types::{Result, Value};
use std::collections::HashSet;

/// Values that are kept.
type Kept = Box<[Value]>;

/// The values of one aggregate in one group.
#[derive(Default)]
pub(super) struct Values {
    /// The distinct arguments so far, for DISTINCT.
    seen: HashSet<Box<[Value]>>,
    /// Arguments with their sort keys, for ORDER BY.
    sorted: Vec<(Kept, Kept)>,
    /// How many values there are, those in files included, for ORDER BY.
    count: u64,
}

/// How an aggregate looks at its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Each as it comes.
    AsTheyCome,
    /// Each that was not there before, as it comes: the order makes no difference.
    Once,
    /// Those that differ, sorted, as PostgreSQL has them.
    OnceSorted,
    /// In the order that is asked for, and once if they are DISTINCT.
    Sorted,
}

impl Way {
    pub(super) fn of(aggregate: &Aggregate) -> Self {
        const ANY_ORDER: [&str; 9] =
            ["count", "min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor"];
        match () {
            () if !aggregate.order.is_empty() => Self::Sorted,
            () if !aggregate.distinct || aggregate.args.is_empty() => Self::AsTheyCome,
            () if ANY_ORDER.contains(&aggregate.function.name()) => Self::Once,
            () => Self::OnceSorted,
        }
    }
}

/// By what the values of each aggregate are sorted in files.
pub(super) fn sort_keys(aggregates: &[Aggregate]) -> Vec<Vec<SortKey>> {
    let ascending = || SortKey { expr: Expr::Const(Value::Null), descending: false, nulls_first: false };
    let keys = |aggregate: &Aggregate| {
        let args = if aggregate.distinct { aggregate.args.len() } else { 0 };
        let behind = (0..args).map(|_| ascending());
        [ascending()].into_iter().chain(aggregate.order.iter().cloned()).chain(behind).collect()
    };
    aggregates.iter().map(keys).collect()
}

/// The values of all groups.
pub(super) struct Gathered<'k, 'a> {
    ways: Vec<Way>,
    keys: &'k [Vec<SortKey>],
    /// Groups that have values in memory.
    groups: Vec<usize>,
    /// Bytes that were taken for values in memory.
    pub(super) weight: usize,
    files: Vec<Option<Sorter<'k, 'a>>>,
    merged: Vec<Option<Merging<'k, 'a>>>,
}

/// The values of an aggregate in files, group by group.
struct Merging<'k, 'a> {
    rows: Merged<'k, 'a>,
    head: Option<Box<[Value]>>,
}

impl<'k> Gathered<'k, '_> {
    pub(super) fn new(aggregates: &[Aggregate], keys: &'k [Vec<SortKey>]) -> Self {
        Self {
            ways: aggregates.iter().map(Way::of).collect(),
            keys,
            groups: Vec::new(),
            weight: 0,
            files: aggregates.iter().map(|_| None).collect(),
            merged: aggregates.iter().map(|_| None).collect(),
        }
    }

    /// Whether an aggregate takes each value as it comes.
    #[inline]
    pub(super) fn is_plain(&self, at: usize) -> bool {
        self.ways[at] == Way::AsTheyCome
    }

    /// How an aggregate looks at its values.
    #[inline]
    pub(super) fn way(&self, at: usize) -> Way {
        self.ways[at]
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Takes a value that does not go to its aggregate as it comes.
    #[inline]
    pub(super) fn gather(
        &mut self,
        aggregates: &[Aggregate],
        at: usize,
        groups: &mut Groups<'_, 'a>,
        number: usize,
        (args, key): (Vec<Value>, Vec<Value>),
    ) -> Result<()> {
        let aggregate = &aggregates[at];
        let Gathered { ways, files, weight: held, .. } = &groups.gathered;
        let (way, in_files, held) = (ways[at], files[at].is_some(), *held);
        let of_values =
            aggregate.function.is_ordered_set() && aggregate.function.start_hypothetical().is_none();
        if of_values && key.iter().any(Value::is_null) {
            return Ok(());
        }
        let once = way != Way::Sorted || aggregate.distinct;
        if once && groups.running(number)[at].values().seen.contains(args.as_slice()) {
            return Ok(());
        }
        let mut bytes = row_weight(&args);
        if way == Way::Sorted {
            bytes += row_weight(&key) + if once { row_weight(&args) } else { 0 };
        }
        if !self.memory.take_or_spill(bytes, held)? {
            self.write_gathered(aggregates, groups)?;
            self.memory.take_or_spill(bytes, 0)?;
        }
        let gathered = &mut groups.gathered;
        gathered.weight += bytes;
        if gathered.groups.last() != Some(&number) {
            gathered.groups.push(number);
        }
        let adds = way == Way::Once && !in_files && gathered.files[at].is_none();
        let running = &mut groups.running(number)[at];
        if adds {
            let grown = aggregate.function.add(&mut running.accumulated, self.context.env, &args)?;
            self.memory.take(grown)?;
            groups.weight += grown;
        }
        let values = groups.running(number)[at].values();
        if way == Way::Sorted {
            values.count += 1;
            if once {
                values.seen.insert(args.clone().into());
            }
            values.sorted.push((key.into(), args.into()));
        } else {
            values.seen.insert(args.into());
        }
        Ok(())
    }

    /// Writes the values of all groups that have found room so far.
    #[cold]
    fn write_gathered(&mut self, aggregates: &[Aggregate], groups: &mut Groups<'_, 'a>) -> Result<()> {
        let mut numbers = std::mem::take(&mut groups.gathered.groups);
        numbers.sort_unstable();
        numbers.dedup();
        for (at, aggregate) in aggregates.iter().enumerate() {
            let mut rows: Vec<Sortable> = Vec::new();
            for &number in &numbers {
                let (way, in_files) = (groups.gathered.ways[at], groups.gathered.files[at].is_some());
                let running = &mut groups.running(number)[at];
                let lead = Value::Int8(number as i64);
                let seen = std::mem::take(&mut running.values().seen);
                if way == Way::Sorted {
                    for (key, args) in std::mem::take(&mut running.values().sorted) {
                        let key = [lead.clone()].into_iter().chain(key);
                        rows.push(match aggregate.distinct {
                            true => (key.chain(args).collect(), Box::default()),
                            false => (key.collect(), args),
                        });
                    }
                } else {
                    if !in_files && !seen.is_empty() {
                        running.accumulated = aggregate.function.begin();
                    }
                    let row = |args: Box<[Value]>| [lead.clone()].into_iter().chain(args).collect();
                    rows.extend(seen.into_iter().map(|args| (row(args), Box::default())));
                }
            }
            if rows.is_empty() {
                continue;
            }
            let gathered = &mut groups.gathered;
            let keys = &gathered.keys[at];
            rows.sort_by(|a, b| order(keys, &a.0, &b.0));
            let file = match &mut gathered.files[at] {
                Some(file) => file,
                None => {
                    let width = 1 + aggregate.order.len() + aggregate.args.len();
                    gathered.files[at].insert(Sorter::new(self.context, keys, width)?)
                }
            };
            file.add_run(&rows)?;
        }
        self.memory.give_rows(std::mem::take(&mut groups.gathered.weight));
        Ok(())
    }

    /// Before groups are handed out: what is in files is read from here on.
    pub(super) fn merge_gathered(
        &mut self,
        aggregates: &[Aggregate],
        groups: &mut Groups<'_, 'a>,
    ) -> Result<()> {
        self.note_memory(groups.gathered.weight);
        if groups.gathered.files.iter().all(Option::is_none) {
            return Ok(());
        }
        self.write_gathered(aggregates, groups)?;
        let gathered = &mut groups.gathered;
        for (file, merged) in gathered.files.iter_mut().zip(&mut gathered.merged) {
            if let Some(file) = file.take() {
                let written = file.written();
                self.note_done(|measure| measure.disk += written);
                let mut rows = file.merge(&mut self.memory)?;
                let head = rows.next()?;
                *merged = Some(Merging { rows, head });
            }
        }
        Ok(())
    }

    /// The result of an aggregate for a group.
    pub(super) fn result(
        &mut self,
        aggregate: &Aggregate,
        at: usize,
        number: usize,
        running: Running,
        gathered: &mut Gathered<'_, 'a>,
    ) -> Result<Value> {
        let (mut accumulated, Values { seen, mut sorted, count }) = running.into_parts();
        let way = gathered.ways[at];
        if aggregate.function.is_ordered_set() {
            let mut direct = Vec::with_capacity(aggregate.direct.len());
            for expr in &aggregate.direct {
                direct.push(self.eval(expr)?);
            }
            if let Some(mut place) = aggregate.function.start_hypothetical() {
                let keys = &aggregate.order;
                match &mut gathered.merged[at] {
                    Some(merging) => {
                        let mut last: Option<Box<[Value]>> = None;
                        while let Some(row) = merging.next(number)? {
                            self.tick()?;
                            let key = &row[1..];
                            let differs = last.is_none_or(|last| order(keys, &last[1..], key).is_ne());
                            place.add(order(keys, key, &direct), differs);
                            last = Some(row);
                        }
                    }
                    None => {
                        sorted.sort_by(|a, b| order(keys, &a.0, &b.0));
                        let mut last: Option<&Kept> = None;
                        for (key, _) in &sorted {
                            let differs = last.is_none_or(|last| order(keys, last, key).is_ne());
                            place.add(order(keys, key, &direct), differs);
                            last = Some(key);
                        }
                    }
                }
                return Ok(place.finish());
            }
            let mut set = aggregate.function.start_ordered(&direct, count)?;
            match &mut gathered.merged[at] {
                Some(merging) => {
                    while let Some(row) = merging.next(number)? {
                        self.tick()?;
                        row.get(1).into_iter().for_each(|value| set.add(value));
                    }
                }
                None => {
                    sorted.sort_by(|a, b| order(&aggregate.order, &a.0, &b.0));
                    sorted.iter().flat_map(|(key, _)| key.first()).for_each(|value| set.add(value));
                }
            }
            return set.finish(aggregate.function.result());
        }
        if let Some(merging) = &mut gathered.merged[at] {
            let args = 1 + aggregate.order.len()..;
            let mut last: Option<Box<[Value]>> = None;
            let mut taken = 0;
            while let Some(row) = merging.next(number)? {
                self.tick()?;
                let known = last.as_ref().is_some_and(|last| last[args.clone()] == row[args.clone()]);
                if aggregate.distinct && known {
                    continue;
                }
                let grown = aggregate.function.add(&mut accumulated, self.context.env, &row[args.clone()])?;
                self.memory.take_beside(grown, taken)?;
                taken += grown;
                if aggregate.distinct {
                    last = Some(row);
                }
            }
            self.memory.give_rows(taken);
        } else if way == Way::Sorted {
            sorted.sort_by(|a, b| order(&aggregate.order, &a.0, &b.0));
            self.add_all(&aggregate.function, &mut accumulated, sorted.iter().map(|(_, args)| args))?;
        } else if way == Way::OnceSorted {
            let mut all: Vec<Box<[Value]>> = seen.into_iter().collect();
            let keys = &gathered.keys[at][1..];
            all.sort_by(|a, b| order(keys, a, b));
            self.add_all(&aggregate.function, &mut accumulated, all.iter())?;
        }
        aggregate.function.finish(accumulated, self.context.env)
    }

    fn add_all<'v>(
        &mut self,
        function: &AggregateFn,
        to: &mut Accumulated,
        rows: impl Iterator<Item = &'v Box<[Value]>>,
    ) -> Result<()> {
        for args in rows {
            function.add(to, self.context.env, args)?;
        }
        Ok(())
    }

    /// All groups were handed out.
    pub(super) fn give_gathered(&mut self, gathered: Gathered<'_, 'a>) {
        self.memory.give_rows(gathered.weight);
        for merging in gathered.merged.into_iter().flatten() {
            self.memory.give_rows(merging.rows.taken());
        }
    }
}

impl Merging<'_, '_> {
    /// The next row of a group; groups are asked for by ascending numbers.
    fn next(&mut self, number: usize) -> Result<Option<Box<[Value]>>> {
        let of_group = |row: &[Value]| row.first() == Some(&Value::Int8(number as i64));
        match &self.head {
            Some(head) if of_group(head) => {
                let next = self.rows.next()?;
                Ok(std::mem::replace(&mut self.head, next))
            }
            _ => Ok(None),
        }
    }
}
