//! Window functions. Rows that do not fit their memory go another way: see `spilled_window`.

use super::sort::order;
use super::spilled_window::{Layout, Passes};
use super::{Exec, Flow, Next, row_weight};
use crate::plan::{Node, Slot, Window, WindowFn};
use scaledb_engine::Worker;
use scaledb_types::{Result, Value};
use std::cmp::Ordering;

/// The keys of a row for one window.
pub(super) struct Keys {
    pub(super) partition: Vec<Value>,
    pub(super) order: Vec<Value>,
    /// `None` if the row does not fit the FILTER.
    pub(super) args: Option<Vec<Value>>,
}

impl Keys {
    /// Bytes, those of the result and of three numbers per row included.
    fn weight(&self) -> usize {
        let values = [&self.partition, &self.order].into_iter().chain(&self.args);
        values.map(|values| row_weight(values)).sum::<usize>() + size_of::<Value>() + 3 * size_of::<usize>()
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Computes window functions over the rows of an input.
    pub(super) fn window(
        &mut self,
        input: &Node,
        windows: &[Window],
        carry: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        let mut keys: Vec<Vec<Keys>> = windows.iter().map(|_| Vec::new()).collect();
        let mut weight = 0;
        let layout = Layout::new(windows, carry.len());
        let mut aside: Option<Passes<'_, 'a>> = None;
        let _ = self.run(input, &mut |exec| {
            let row = exec.copy(carry);
            let mut bytes = row_weight(&row) * 2;
            for (window, keys) in windows.iter().zip(&mut keys) {
                let key = exec.window_keys(window)?;
                bytes += key.weight();
                keys.push(key);
            }
            if aside.is_none() && exec.memory.take_or_spill(bytes, weight)? {
                weight += bytes;
                rows.push(row);
                return Ok(Flow::Continue(()));
            }
            // the keys of this row are the last ones
            let passes = aside.get_or_insert_with(|| Passes::new(&layout));
            rows.push(row);
            let each = weight / rows.len();
            let mut keys: Vec<_> = keys.iter_mut().map(|keys| keys.drain(..)).collect();
            for row in rows.drain(..) {
                exec.tick()?;
                exec.memory.give_rows(each);
                weight -= each;
                passes.push(exec, row, keys.iter_mut().filter_map(Iterator::next))?;
            }
            exec.memory.give_rows(std::mem::take(&mut weight));
            Ok(Flow::Continue(()))
        })?;
        if let Some(passes) = aside {
            return self.window_passes(passes, windows, carry, next);
        }
        self.note_memory(weight);
        let mut results: Vec<Vec<Value>> = Vec::new();
        let mut last_order: Vec<usize> = (0..rows.len()).collect();
        for (window, keys) in windows.iter().zip(&keys) {
            let mut numbers: Vec<usize> = (0..rows.len()).collect();
            numbers.sort_by(|&a, &b| {
                keys[a]
                    .partition
                    .cmp(&keys[b].partition)
                    .then_with(|| order(&window.order, &keys[a].order, &keys[b].order))
            });
            results.push(self.compute(window, keys, &numbers)?);
            last_order = numbers;
        }
        let mut flow = Flow::Continue(());
        for number in last_order {
            self.tick()?;
            self.restore(carry, &rows[number]);
            for (window, result) in windows.iter().zip(&results) {
                self.frame[window.slot] = result[number].clone();
            }
            flow = next(self)?;
            if flow.is_break() {
                break;
            }
        }
        self.memory.give_rows(weight);
        Ok(flow)
    }

    /// What a window looks at in the row at hand.
    fn window_keys(&mut self, window: &Window) -> Result<Keys> {
        let partition = window.partition.iter().map(|e| self.eval(e)).collect::<Result<_>>()?;
        let order = window.order.iter().map(|k| self.eval(&k.expr)).collect::<Result<_>>()?;
        let args = match &window.function {
            WindowFn::Aggregate(_, args, filter) => match filter {
                Some(filter) if self.eval(filter)? != Value::Bool(true) => None,
                _ => Some(args.iter().map(|e| self.eval(e)).collect::<Result<_>>()?),
            },
            _ => None,
        };
        Ok(Keys { partition, order, args })
    }

    /// The results of one window function, by row.
    fn compute(&self, window: &Window, keys: &[Keys], numbers: &[usize]) -> Result<Vec<Value>> {
        let mut results = vec![Value::Null; numbers.len()];
        let mut from = 0;
        while from < numbers.len() {
            let same = |to: usize| keys[numbers[to]].partition == keys[numbers[from]].partition;
            let to = (from..numbers.len()).find(|&to| !same(to)).unwrap_or(numbers.len());
            let part = &numbers[from..to];
            let is_peer =
                |a: usize, b: usize| order(&window.order, &keys[a].order, &keys[b].order) == Ordering::Equal;
            let mut dense = 0;
            let mut first_peer = 0;
            let mut accumulator = match &window.function {
                WindowFn::Aggregate(function, ..) => Some(function.start()),
                _ => None,
            };
            let mut at = 0;
            while at < part.len() {
                let mut end = at + 1;
                while end < part.len() && is_peer(part[at], part[end]) {
                    end += 1;
                }
                if at == 0 || !is_peer(part[first_peer], part[at]) {
                    first_peer = at;
                    dense += 1;
                }
                if let Some(accumulator) = &mut accumulator {
                    for &number in &part[at..end] {
                        if let Some(args) = &keys[number].args {
                            accumulator.add(self.context.env, args)?;
                        }
                    }
                }
                for (offset, &number) in part[at..end].iter().enumerate() {
                    results[number] = match (&window.function, &accumulator) {
                        (WindowFn::RowNumber, _) => Value::Int8((at + offset) as i64 + 1),
                        (WindowFn::Rank, _) => Value::Int8(first_peer as i64 + 1),
                        (WindowFn::DenseRank, _) => Value::Int8(dense),
                        (WindowFn::Aggregate(..), Some(accumulator)) => {
                            accumulator.clone().finish(self.context.env)?
                        }
                        (WindowFn::Aggregate(..), None) => Value::Null,
                    };
                }
                at = end;
            }
            from = to;
        }
        Ok(results)
    }
}
