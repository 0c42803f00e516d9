//! Running compiled statements.
//!
//! Operators push: each calls the next one with the frame filled, and stops when that says so.

mod advisory;
pub(crate) mod aggregate;
pub(crate) mod apart;
mod batched_scan;
mod changes;
mod chunks;
pub(crate) mod codec;
pub(crate) mod context;
pub(crate) mod distinct;
mod domain;
pub(crate) mod eval;
pub(crate) mod exclusion;
pub(crate) mod foresee;
mod gather;
mod groups;
mod hash_join;
mod inners;
mod integers;
pub(crate) mod late;
mod limit;
pub(crate) mod lock;
pub(crate) mod long_read;
pub(crate) mod lookup;
pub(crate) mod materialize;
pub(crate) mod measure;
mod membership;
pub(crate) mod modify_table;
mod nested_loop;
pub(crate) mod of_params;
mod packed_groups;
mod pipelined;
pub(crate) mod project_set;
mod references;
pub(crate) mod routine;
mod row_filter;
mod row_groups;
pub(crate) mod scan;
mod set_op;
mod sliding;
pub(crate) mod sort;
pub(crate) mod spill;
mod spilled_join;
mod spilled_window;
pub(crate) mod subquery;
pub(crate) mod tail;
pub(crate) mod triggers;
pub(crate) mod window_agg;
mod window_frame;
mod window_value;

use crate::memory::Memory;
use context::Context;
use scaledb_engine::{RowId, Worker};
use scaledb_planner::plan::{Computed, Node, Scan, Slot};
use scaledb_row::{RowBuf, RowRef};
use scaledb_types::{Result, SqlError, Value};
use scaledb_types::{row_weight, weight};
use std::ops::ControlFlow;
use std::rc::Rc;

/// Whether more rows are wanted.
pub(crate) type Flow = ControlFlow<()>;

/// The next operator.
pub(crate) type Next<'n, 'a, W> = &'n mut dyn FnMut(&mut Exec<'a, W>) -> Result<Flow>;

/// Takes a row of a scan by its bytes; false, and nothing is done with it, if it is to be loaded.
type TakeBytes<'n, 'a, W> = &'n mut dyn FnMut(&mut Exec<'a, W>, RowRef<'_>) -> Result<bool>;

/// Rows that are kept.
pub(crate) type Rows = Rc<Vec<Box<[Value]>>>;

/// What a run works in, empty between runs: kept for its memory.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// NULL everywhere between runs; as long as the longest that was wanted.
    frame: Vec<Value>,
    /// Slots of the last run.
    slots: usize,
    rows: Vec<Option<RowId>>,
    buffer: Option<RowBuf>,
}

/// Slots that are kept at most.
const LONG_FRAME: usize = 1_024;

/// Words of the longest row whose memory is kept.
const LONG_ROW: usize = 1_024;

impl Scratch {
    /// Drops values, which may be large.
    pub(crate) fn clear(&mut self) {
        if self.frame.len() > LONG_FRAME {
            self.frame = Vec::new();
        }
        for value in self.frame.iter_mut().take(self.slots) {
            value.take_null();
        }
        self.rows.clear();
        if self.buffer.as_ref().is_some_and(|row| row.words().len() > LONG_ROW) {
            self.buffer = None;
        }
    }
}

/// What statements with subqueries and WITH queries keep while they run. Most have none, and no memory of this.
#[derive(Default)]
struct Aside<'a> {
    /// Rows that are computed once, by their numbers.
    kept: Vec<Option<materialize::Kept<'a>>>,
    /// Common table expressions that are in scope.
    ctes: Vec<Option<materialize::Evaluated<'a>>>,
    /// How often one was evaluated.
    rounds: u64,
    /// How correlated subqueries are answered.
    trials: Vec<lookup::Trial>,
    /// The rows of uncorrelated ones, hashed.
    members: Vec<Option<Rc<membership::Members>>>,
    /// The filters of scans that have met many rows, by the scans' numbers.
    filters: Vec<row_filter::Warming>,
    /// System catalogs that were scanned, and the rows of those that were scanned again.
    catalogs: Vec<(Computed, Option<pipelined::CatalogRows>)>,
}

impl Aside<'_> {
    #[cold]
    fn new(keeps: usize) -> Self {
        let kept = (0..keeps).map(|_| None).collect();
        let ctes = (0..keeps).map(|_| None).collect();
        Self { kept, ctes, ..Self::default() }
    }
}

/// A run of a statement.
pub(crate) struct Exec<'a, W> {
    /// The engine's worker; absent while a scan of it runs.
    pub(crate) worker: Option<&'a mut W>,
    /// What the session provides.
    pub(crate) context: &'a Context<'a>,
    pub(crate) params: &'a [Value],
    pub(crate) frame: Vec<Value>,
    /// How many slots of the frame are the run's.
    slots: usize,
    /// The names of the rows that scans are at.
    pub(crate) rows: Vec<Option<RowId>>,
    /// A row to be inserted, kept for its memory.
    pub(crate) buffer: Option<RowBuf>,
    /// What the last piece of SQL of a function has worked in, kept for its memory.
    spare: Option<Scratch>,
    /// What is computed once in a run; made for those that do so.
    aside: Option<Box<Aside<'a>>>,
    pub(crate) memory: Memory<'a>,
    /// Whether the statement writes.
    pub(crate) writes: bool,
    /// Whether it calls functions that may write.
    pub(crate) calls: bool,
    /// What the parts of a statement write at its end, if it has several.
    pub(crate) parts: Option<Box<apart::Parts<'a>>>,
    /// Rows written by the current statement.
    pub(crate) affected: u64,
    /// To be checked when the statement is done.
    pub(crate) after: Vec<late::Check>,
    /// Triggers that wait for the end of the statement.
    pub(crate) waiting: triggers::Waiting,
    /// Whether the statement goes on behind this run, and its own triggers fire elsewhere: it is a COPY.
    pub(crate) goes_on: bool,
    /// To be checked when the transaction is done.
    pub(crate) deferred: Vec<late::Check>,
    pub(crate) locking: lock::Locking,
    /// Rows touched.
    ticks: u64,
    /// The current statement may touch so many, and whether it has touched more.
    last_tick: u64,
    too_long: bool,
    /// How many rows it may touch before it is given up for a run in a snapshot.
    much: u64,
    /// What its operators have done, if that is asked for.
    pub(crate) measures: Option<Box<measure::Measures>>,
}

impl<'a, W: Worker> Exec<'a, W> {
    /// A run.
    pub(crate) fn new(
        worker: &'a mut W,
        context: &'a Context<'a>,
        params: &'a [Value],
        shape: (usize, usize, usize),
        scratch: Scratch,
    ) -> Self {
        Self { worker: Some(worker), ..Self::without_worker(context, params, shape, scratch) }
    }

    /// A run that reads no tables.
    fn without_worker(
        context: &'a Context<'a>,
        params: &'a [Value],
        (slots, scans, keeps): (usize, usize, usize),
        scratch: Scratch,
    ) -> Self {
        let Scratch { mut frame, mut rows, buffer, .. } = scratch;
        if frame.len() < slots {
            frame.resize(slots, Value::Null);
        }
        rows.resize(scans, None);
        Self {
            worker: None,
            context,
            params,
            frame,
            slots,
            rows,
            buffer,
            spare: None,
            aside: if keeps > 0 { Some(Box::new(Aside::new(keeps))) } else { None },
            memory: Memory::new(context.budget, context.memory_limit, context.temporary.exists()),
            writes: false,
            calls: false,
            parts: None,
            affected: 0,
            after: Vec::new(),
            waiting: triggers::Waiting::default(),
            goes_on: false,
            deferred: Vec::new(),
            locking: lock::Locking::default(),
            ticks: 0,
            last_tick: u64::MAX,
            too_long: false,
            much: u64::MAX,
            measures: None,
        }
    }

    /// Ends the run, and returns its memory for the next one.
    #[inline]
    pub(crate) fn take_scratch(&mut self) -> Scratch {
        Scratch {
            frame: std::mem::take(&mut self.frame),
            slots: self.slots,
            rows: std::mem::take(&mut self.rows),
            buffer: self.buffer.take(),
        }
    }

    /// What is computed once in the run.
    fn aside(&mut self) -> &mut Aside<'a> {
        self.aside.get_or_insert_default()
    }

    /// The engine's worker.
    ///
    /// # Errors
    /// XX000: a plan that reads while it scans.
    #[inline]
    pub(crate) fn worker(&mut self) -> Result<&mut W> {
        self.worker.as_deref_mut().ok_or_else(|| SqlError::internal("a nested read within a scan"))
    }

    /// Counts a row; looks now and then whether the statement was cancelled.
    ///
    /// # Errors
    /// 57014.
    #[inline]
    pub(crate) fn tick(&mut self) -> Result<()> {
        self.ticks += 1;
        if self.ticks & 255 != 0 {
            return Ok(());
        }
        if self.ticks > self.last_tick {
            return Err(self.gives_up());
        }
        self.context.check_cancel()
    }

    /// Copies slots.
    pub(crate) fn copy(&self, slots: &[Slot]) -> Box<[Value]> {
        slots.iter().map(|&slot| self.frame[slot].clone()).collect()
    }

    /// Writes slots.
    pub(crate) fn restore(&mut self, slots: &[Slot], values: &[Value]) {
        for (&slot, value) in slots.iter().zip(values) {
            self.frame[slot] = value.clone();
        }
    }

    /// Runs an operator: calls `next` with each row.
    ///
    /// # Errors
    /// Those of the statement.
    #[inline]
    pub(crate) fn run(&mut self, node: &Node, next: Next<'_, 'a, W>) -> Result<Flow> {
        if self.measures.is_some() {
            return self.measure(node, next, &mut |exec, next| exec.operate(node, next));
        }
        self.operate(node, next)
    }

    /// Runs a scan, whose rows `bytes` may take before they are loaded.
    ///
    /// # Errors
    /// Those of the statement.
    fn run_scan(
        &mut self,
        node: &Node,
        scan: &Scan,
        bytes: TakeBytes<'_, 'a, W>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        if self.measures.is_some() {
            return self.measure(node, next, &mut |exec, next| exec.scan(scan, Some(bytes), next));
        }
        self.scan(scan, Some(bytes), next)
    }

    fn operate(&mut self, node: &Node, next: Next<'_, 'a, W>) -> Result<Flow> {
        match node {
            Node::Result => next(self),
            Node::Scan(scan) => self.scan(scan, None, next),
            Node::ComputedScan { rows, slots, .. } => self.computed_scan(*rows, slots, next),
            Node::ValuesScan { rows, slots } => self.values_scan(rows, slots, next),
            Node::FunctionScan { call, slots, ordinality, .. } => {
                self.function_scan(call, slots, *ordinality, next)
            }
            Node::Filter { input, predicate } => self.filter(input, predicate, next),
            Node::Project { input, exprs } => self.project(input, exprs, next),
            Node::NestedLoop(join) => self.nested_loop(join, next),
            Node::HashJoin(join) => self.hash_join(join, next),
            Node::Aggregate { input, keys, sets, aggregates } => {
                self.aggregate(input, (keys, sets.as_ref()), aggregates, next)
            }
            Node::Sort { input, keys, carry, .. } => self.sort(input, keys, carry, None, next),
            Node::Distinct { input, on, order } => self.distinct(input, on, order.as_deref(), next),
            Node::Limit { input, limit, offset, ties } => {
                self.limit(input, (limit.as_ref(), offset.as_ref()), ties, next)
            }
            Node::LockRows { input, locks } => self.lock_rows(input, locks, next),
            Node::Append { inputs, slots } => self.append(inputs, slots, next),
            Node::SetOp { kind, left, right, slots } => self.set_op(*kind, left, right, slots, next),
            Node::Materialize { input, number, depends, slots } => {
                self.materialize(input, *number, depends, slots, next)
            }
            Node::With { ctes, input } => self.with(ctes, input, next),
            Node::CteScan { number, slots, .. } => self.cte_scan(*number, slots, next),
            Node::ModifyTable(modify) => self.modify_table(modify, next),
            Node::ProjectSet { input, sets } => self.project_set(input, sets, next),
            Node::WindowAgg { input, windows, carry } => self.window_agg(input, windows, carry, next),
        }
    }
}
