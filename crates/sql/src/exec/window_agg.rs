//! Window functions. Rows that do not fit their memory go another way: see `spilled_window`.

use super::sort::order;
use super::spilled_window::{Layout, Passes};
use super::window_frame::{Offsets, Rows};
use super::{Exec, Flow, Next, row_weight};
use scaledb_engine::Worker;
use scaledb_planner::plan::{Node, Slot, Window, WindowFn};
use scaledb_types::{Result, Value};

/// The keys of a row for one window.
pub(super) struct Keys {
    pub(super) partition: Vec<Value>,
    pub(super) order: Vec<Value>,
    /// `None` if the row does not fit the FILTER.
    pub(super) args: Option<Vec<Value>>,
}

impl Keys {
    /// Bytes, those of the result and of four numbers per row included.
    fn weight(&self) -> usize {
        let values = [&self.partition, &self.order].into_iter().chain(&self.args);
        values.map(|values| row_weight(values)).sum::<usize>() + size_of::<Value>() + 4 * size_of::<usize>()
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Computes window functions over the rows of an input.
    pub(super) fn window_agg(
        &mut self,
        input: &Node,
        windows: &[Window],
        carry: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let offsets: Vec<Offsets> =
            windows.iter().map(|window| self.offsets(&window.frame)).collect::<Result<_>>()?;
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
            return self.window_passes(passes, (windows, &offsets), carry, next);
        }
        self.note_memory(weight);
        let mut results: Vec<Vec<Value>> = Vec::new();
        let mut last_order: Vec<usize> = (0..rows.len()).collect();
        for (number, (window, keys)) in windows.iter().zip(&keys).enumerate() {
            // calls over one window stand side by side, as a rule
            if number == 0 || !window.sorts_as(&windows[number - 1]) {
                last_order = (0..rows.len()).collect();
                last_order.sort_by(|&a, &b| {
                    keys[a]
                        .partition
                        .cmp(&keys[b].partition)
                        .then_with(|| order(&window.order, &keys[a].order, &keys[b].order))
                });
            }
            results.push(self.compute(window, &offsets[number], keys, &last_order)?);
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

    /// What a window looks at in the current row.
    fn window_keys(&mut self, window: &Window) -> Result<Keys> {
        let partition = window.partition.iter().map(|e| self.eval(e)).collect::<Result<_>>()?;
        let order = window.order.iter().map(|k| self.eval(&k.expr)).collect::<Result<_>>()?;
        let args = match &window.function {
            WindowFn::Aggregate(.., Some(filter)) if !self.holds(filter)? => None,
            function => Some(function.args().iter().map(|e| self.eval(e)).collect::<Result<_>>()?),
        };
        Ok(Keys { partition, order, args })
    }

    /// The results of one window function, by row, the rows in the order of the window.
    fn compute(
        &mut self,
        window: &Window,
        offsets: &Offsets,
        keys: &[Keys],
        numbers: &[usize],
    ) -> Result<Vec<Value>> {
        let mut results = vec![Value::Null; numbers.len()];
        let mut groups = Vec::new();
        let mut from = 0;
        while from < numbers.len() {
            let same = |to: usize| keys[numbers[to]].partition == keys[numbers[from]].partition;
            let to = (from..numbers.len()).find(|&to| !same(to)).unwrap_or(numbers.len());
            let part = &numbers[from..to];
            let mut group = 0;
            groups.clear();
            for (at, &number) in part.iter().enumerate() {
                let before = &keys[part[at.saturating_sub(1)]].order;
                group += i64::from(order(&window.order, before, &keys[number].order).is_ne());
                groups.push(group);
            }
            let mut part_rows = InMemory { keys, part, groups: &groups };
            let mut given = part.iter();
            let _ = self.window_values(window, offsets, &mut part_rows, &mut |_, value| {
                if let Some(&number) = given.next() {
                    results[number] = value;
                }
                Ok(Flow::Continue(()))
            })?;
            from = to;
        }
        Ok(results)
    }
}

/// A partition in memory.
struct InMemory<'k> {
    keys: &'k [Keys],
    /// The numbers of its rows, in their order, and of their peers.
    part: &'k [usize],
    groups: &'k [i64],
}

impl Rows for InMemory<'_> {
    fn len(&self) -> usize {
        self.part.len()
    }

    fn group(&mut self, at: usize) -> Result<i64> {
        Ok(self.groups[at])
    }

    fn key(&mut self, at: usize) -> Result<&Value> {
        Ok(self.keys[self.part[at]].order.first().unwrap_or(&Value::Null))
    }

    fn args(&mut self, at: usize) -> Result<Option<&[Value]>> {
        Ok(self.keys[self.part[at]].args.as_deref())
    }
}
