//! Window functions over rows that do not fit their memory.
//!
//! The rows are sorted for one window function after another, with what each looks at, and pass by: only the rows
//! that are waiting for the value of an aggregate, which is that of their last peer, are kept meanwhile. A function
//! that looks at other rows keeps those of a partition, and apart from them what it looks at, to be read by the
//! numbers of the rows. Rows that a window does not tell apart come in the order in which they were found, as they do
//! in memory.
//!
//! ```text
//! row    carried | number | for each window: partition, order, whether it counts, arguments | a result for each
//! ```

use super::sort::{Sorting, order};
use super::spill::{Numbered, Numbering, Stash};
use super::window_agg::Keys;
use super::window_frame::{Offsets, Rows};
use super::{Exec, Flow, Next};
use scaledb_engine::Worker;
use scaledb_planner::functions::Accumulator;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::window::OwnFn;
use scaledb_planner::plan::{Slot, SortKey, Window, WindowFn};
use scaledb_types::{Result, Value};
use std::ops::Range;

/// Where a row has what one window looks at.
struct WindowColumns {
    partition: Range<usize>,
    order: Range<usize>,
    counts: usize,
    args: Range<usize>,
    result: usize,
    /// How it is sorted: by the partition, the order and the number.
    keys: Vec<SortKey>,
}

/// How rows are laid out.
pub(super) struct Layout {
    number: usize,
    places: Vec<WindowColumns>,
    width: usize,
}

impl Layout {
    /// For these windows, behind so many values that are carried.
    pub(super) fn new(windows: &[Window], carried: usize) -> Self {
        let mut at = carried + 1;
        let mut behind = |count: usize| {
            at += count;
            at - count..at
        };
        let ascending = || SortKey { expr: Expr::Const(Value::Null), descending: false, nulls_first: false };
        let mut places = Vec::with_capacity(windows.len());
        for window in windows {
            let args = window.function.args().len();
            let keys = window.partition.iter().map(|_| ascending()).chain(window.order.iter().cloned());
            places.push(WindowColumns {
                keys: keys.chain([ascending()]).collect(),
                partition: behind(window.partition.len()),
                order: behind(window.order.len()),
                counts: behind(1).start,
                args: behind(args),
                result: 0,
            });
        }
        for place in &mut places {
            place.result = behind(1).start;
        }
        Self { number: carried, places, width: at }
    }

    /// The keys of a row for one window.
    fn key(&self, window: usize, row: &[Value]) -> Vec<Value> {
        let place = &self.places[window];
        let keys = row[place.partition.clone()].iter().chain(&row[place.order.clone()]);
        keys.chain([&row[self.number]]).cloned().collect()
    }
}

/// Rows on their way through the windows.
pub(super) struct Passes<'l, 'a> {
    layout: &'l Layout,
    sorting: Sorting<'l, 'a>,
    rows: i64,
}

impl<'l, 'a> Passes<'l, 'a> {
    pub(super) fn new(layout: &'l Layout) -> Self {
        let sorting = Sorting::new(&layout.places[0].keys, layout.width, usize::MAX);
        Self { layout, sorting, rows: 0 }
    }

    /// Adds a row and what its windows look at.
    pub(super) fn push<W>(
        &mut self,
        exec: &mut Exec<'a, W>,
        carried: Box<[Value]>,
        keys: impl Iterator<Item = Keys>,
    ) -> Result<()> {
        let layout = self.layout;
        let mut row = carried.into_vec();
        row.reserve_exact(layout.width - row.len());
        row.push(Value::Int8(self.rows));
        self.rows += 1;
        for (keys, place) in keys.zip(&layout.places) {
            row.extend(keys.partition);
            row.extend(keys.order);
            row.push(Value::Bool(keys.args.is_some()));
            row.extend(keys.args.into_iter().flatten());
            row.resize(place.args.end, Value::Null);
        }
        row.resize(layout.width, Value::Null);
        self.sorting.push(exec, layout.key(0, &row), row.into())
    }
}

/// The receiver of the rows of a pass.
type Take<'t, 'a, W> = &'t mut dyn FnMut(&mut Exec<'a, W>, Box<[Value]>) -> Result<Flow>;

/// The partition and the order of a row.
type Last = (Box<[Value]>, Box<[Value]>);

/// What is known of the current partition.
struct Partition<'a> {
    /// The partition and the order of the last row.
    last: Option<Last>,
    rows: i64,
    first_peer: i64,
    peers: i64,
    accumulator: Option<Accumulator>,
    /// Bytes that it takes.
    weight: usize,
    /// Rows that wait for the value of the accumulator, or for the end of the partition.
    waiting: Stash<'a>,
    /// What a function sees of these that looks at other rows: [`Seen`].
    seen: Option<Numbering<'a>>,
}

/// A partition whose rows were kept: the number of the peers, the first key of the order, whether the row counts, and
/// the arguments.
struct Seen<'a>(Numbered<'a>);

impl Rows for Seen<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn group(&mut self, at: usize) -> Result<i64> {
        Ok(self.0.get(at)?[0].as_i64().unwrap_or_default())
    }

    fn key(&mut self, at: usize) -> Result<&Value> {
        Ok(&self.0.get(at)?[1])
    }

    fn args(&mut self, at: usize) -> Result<Option<&[Value]>> {
        let row = self.0.get(at)?;
        Ok(row[2].is_true().then_some(&row[3..]))
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Computes the windows, and calls `next` with the rows in the order of the last one.
    pub(super) fn window_passes(
        &mut self,
        passes: Passes<'_, 'a>,
        (windows, offsets): (&[Window], &[Offsets]),
        carry: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let Passes { layout, mut sorting, .. } = passes;
        for (number, (window, offsets)) in windows.iter().zip(offsets).enumerate() {
            if let Some(place) = layout.places.get(number + 1) {
                let mut sorted = Sorting::new(&place.keys, layout.width, usize::MAX);
                let _ =
                    self.window_pass((layout, number), (window, offsets), sorting, &mut |exec, row| {
                        sorted.push(exec, layout.key(number + 1, &row), row)?;
                        Ok(Flow::Continue(()))
                    })?;
                sorting = sorted;
                continue;
            }
            return self.window_pass((layout, number), (window, offsets), sorting, &mut |exec, row| {
                let row = row.into_vec();
                for (window, place) in windows.iter().zip(&layout.places) {
                    exec.frame[window.slot] = row[place.result].clone();
                }
                for (&slot, value) in carry.iter().zip(row) {
                    exec.frame[slot] = value;
                }
                next(exec)
            });
        }
        Ok(Flow::Continue(()))
    }

    fn window_pass(
        &mut self,
        (layout, number): (&Layout, usize),
        (window, offsets): (&Window, &Offsets),
        sorting: Sorting<'_, 'a>,
        take: Take<'_, 'a, W>,
    ) -> Result<Flow> {
        let place = &layout.places[number];
        let mut at = Partition {
            last: None,
            rows: 0,
            first_peer: 0,
            peers: 0,
            accumulator: None,
            weight: 0,
            waiting: Stash::new(layout.width),
            seen: None,
        };
        // what is kept of a row for a function that looks at other rows
        let looked_at = (!window.passes()).then(|| 3 + place.args.len());
        let flow = sorting.finish(self, |exec, row| {
            let mut row: Box<[Value]> = row.iter_mut().map(std::mem::take).collect();
            let (partition, key) = (&row[place.partition.clone()], &row[place.order.clone()]);
            let (other, apart) = match &at.last {
                None => (true, true),
                Some((last, _)) if **last != *partition => (true, true),
                Some((_, last)) => (false, order(&window.order, last, key).is_ne()),
            };
            if apart && exec.hand_out_peers(&mut at, place, layout.width, take)?.is_break() {
                return Ok(Flow::Break(()));
            }
            if other
                && exec.hand_out_partition(&mut at, place, layout.width, (window, offsets), take)?.is_break()
            {
                return Ok(Flow::Break(()));
            }
            if other {
                exec.memory.give(std::mem::take(&mut at.weight));
                (at.rows, at.peers) = (0, 0);
                at.accumulator = match &window.function {
                    WindowFn::Aggregate(function, ..) if window.passes() => Some(function.start()),
                    _ => None,
                };
                at.seen = looked_at.map(Numbering::new);
            }
            at.rows += 1;
            if apart {
                at.first_peer = at.rows;
                at.peers += 1;
                at.last = Some((partition.into(), key.into()));
            }
            if let Some(seen) = &mut at.seen {
                let key = row[place.order.clone()].first().cloned().unwrap_or_default();
                let mut looked_at = vec![Value::Int8(at.peers - 1), key, row[place.counts].clone()];
                looked_at.extend_from_slice(&row[place.args.clone()]);
                seen.push(exec.context, &mut exec.memory, looked_at.into())?;
                at.waiting.push(exec.context, &mut exec.memory, row)?;
                return Ok(Flow::Continue(()));
            }
            row[place.result] = match window.function {
                WindowFn::Own(OwnFn::Rank, _) => Value::Int8(at.first_peer),
                WindowFn::Own(OwnFn::DenseRank, _) => Value::Int8(at.peers),
                WindowFn::Own(..) => Value::Int8(at.rows),
                WindowFn::Aggregate(..) => {
                    if let Some(accumulator) = &mut at.accumulator
                        && row[place.counts].is_true()
                    {
                        let grown = accumulator.add(exec.context.env, &row[place.args.clone()])?;
                        exec.memory.take(grown)?;
                        at.weight += grown;
                    }
                    at.waiting.push(exec.context, &mut exec.memory, row)?;
                    return Ok(Flow::Continue(()));
                }
            };
            take(exec, row)
        })?;
        let flow = match flow {
            Flow::Continue(()) => self.hand_out_peers(&mut at, place, layout.width, take)?,
            Flow::Break(()) => flow,
        };
        let flow = match flow {
            Flow::Continue(()) => {
                self.hand_out_partition(&mut at, place, layout.width, (window, offsets), take)?
            }
            Flow::Break(()) => flow,
        };
        self.memory.give(at.weight);
        Ok(flow)
    }

    /// Hands out the rows that wait for the value of their last peer.
    fn hand_out_peers(
        &mut self,
        at: &mut Partition<'a>,
        place: &WindowColumns,
        width: usize,
        take: Take<'_, 'a, W>,
    ) -> Result<Flow> {
        let Some(accumulator) = &at.accumulator else { return Ok(Flow::Continue(())) };
        let rows = std::mem::replace(&mut at.waiting, Stash::new(width)).finish()?;
        if rows.is_empty() {
            return Ok(Flow::Continue(()));
        }
        let value = accumulator.clone().finish(self.context.env)?;
        let weight = rows.weight;
        let mut rows = rows.drain();
        let mut flow = Flow::Continue(());
        while flow.is_continue()
            && let Some(mut row) = rows.next()?
        {
            self.tick()?;
            row[place.result] = value.clone();
            flow = take(self, row)?;
        }
        self.memory.give_rows(weight);
        Ok(flow)
    }

    /// Hands out the rows of a partition that was kept.
    fn hand_out_partition(
        &mut self,
        at: &mut Partition<'a>,
        place: &WindowColumns,
        width: usize,
        (window, offsets): (&Window, &Offsets),
        take: Take<'_, 'a, W>,
    ) -> Result<Flow> {
        let Some(seen) = at.seen.take() else { return Ok(Flow::Continue(())) };
        let mut seen = Seen(seen.finish(&mut self.memory)?);
        let rows = std::mem::replace(&mut at.waiting, Stash::new(width)).finish()?;
        let weight = rows.weight + seen.0.weight;
        let mut rows = rows.drain();
        let flow = self.window_values(window, offsets, &mut seen, &mut |exec, value| {
            let Some(mut row) = rows.next()? else { return Ok(Flow::Break(())) };
            row[place.result] = value;
            take(exec, row)
        })?;
        self.memory.give_rows(weight);
        Ok(flow)
    }
}
