//! Groups and aggregates.

use super::sort::order;
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
        // groups come in the order of their first rows
        let mut numbers: HashMap<Box<[Value]>, usize> = HashMap::new();
        let mut groups: Vec<(Kept, Vec<Running>)> = Vec::new();
        let mut weight = 0;
        let _ = self.run(input, &mut |exec| {
            let mut key = Vec::with_capacity(keys.len());
            for (expr, _) in keys {
                key.push(exec.eval(expr)?);
            }
            let number = match numbers.get(key.as_slice()) {
                Some(number) => *number,
                None => {
                    let bytes = 2 * row_weight(&key) + aggregates.len() * size_of::<Running>() + 64;
                    exec.memory.take_rows(bytes)?;
                    weight += bytes;
                    let key: Box<[Value]> = key.into();
                    numbers.insert(key.clone(), groups.len());
                    groups.push((key, aggregates.iter().map(Running::new).collect()));
                    groups.len() - 1
                }
            };
            exec.accumulate(aggregates, &mut groups[number].1)?;
            Ok(Flow::Continue(()))
        })?;
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
        Ok(flow)
    }

    /// Adds the row at hand to the aggregates of its group.
    fn accumulate(&mut self, aggregates: &[Aggregate], running: &mut [Running]) -> Result<()> {
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
            if let Some(seen) = &mut running.seen
                && !args.is_empty()
            {
                let weight = row_weight(&args);
                if !seen.insert(args.clone().into()) {
                    continue;
                }
                self.memory.take_rows(weight)?;
            }
            if !aggregate.order.is_empty() {
                let mut key = Vec::with_capacity(aggregate.order.len());
                for part in &aggregate.order {
                    key.push(self.eval(&part.expr)?);
                }
                self.memory.take_rows(row_weight(&key) + row_weight(&args))?;
                running.sorted.push((key.into(), args.into()));
                continue;
            }
            let grown = running.accumulator.add(self.context.env, &args)?;
            self.memory.take(grown)?;
        }
        Ok(())
    }

    /// Writes the results of a group into the slots.
    fn finish(&mut self, aggregates: &[Aggregate], running: Vec<Running>) -> Result<()> {
        for (aggregate, mut running) in aggregates.iter().zip(running) {
            running.sorted.sort_by(|a, b| order(&aggregate.order, &a.0, &b.0));
            for (_, args) in &running.sorted {
                running.accumulator.add(self.context.env, args)?;
            }
            self.frame[aggregate.slot] = running.accumulator.finish(self.context.env)?;
        }
        Ok(())
    }
}
