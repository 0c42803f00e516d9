//! What the operators of a run have done, for EXPLAIN ANALYZE.
//!
//! A run that is measured goes through [`Exec::measure`] wherever an operator begins, and through a closure more
//! wherever a row is handed on. Others pass one test per operator, and one per row that a condition drops.
//!
//! ```text
//! time of an operator     from its begin to its end, less what it has waited for whoever takes its rows
//! ```

use super::{Exec, Flow, Next};
use scaledb_engine::Worker;
use scaledb_planner::plan::Node;
use scaledb_planner::plan::expr::{Expr, Subquery};
use scaledb_types::Result;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What an operator has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measure {
    /// How often it was run.
    pub(crate) loops: u64,
    /// The rows of all these runs.
    pub(crate) rows: u64,
    /// The time to the first row of each run, and that of whole runs, together.
    pub(crate) first: Duration,
    pub(crate) total: Duration,
    /// Bytes that it has held at most, and those that it has written to files.
    pub(crate) memory: usize,
    pub(crate) disk: u64,
    /// Parts of its rows that it has worked at one after another, beyond the first.
    pub(crate) batches: usize,
    /// It has kept no more rows than were asked for.
    pub(crate) bounded: bool,
    /// What a MERGE has written.
    pub(crate) merged: MergedRows,
}

/// Rows that a MERGE has written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MergedRows {
    pub(crate) inserted: u64,
    pub(crate) updated: u64,
    pub(crate) deleted: u64,
}

/// What the operators of a run have done. They are known by their addresses, which are compared and never followed.
#[derive(Debug, Default)]
pub(crate) struct Measures {
    /// Whether times are measured.
    pub(crate) timing: bool,
    operators: HashMap<usize, Measure>,
    /// Rows that conditions have dropped.
    dropped: HashMap<usize, u64>,
    /// Subqueries that were answered from rows that were kept.
    answered: HashMap<usize, u64>,
    /// The operator that runs now.
    current: usize,
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

impl Measures {
    pub(crate) fn new(timing: bool) -> Self {
        Self { timing, ..Self::default() }
    }

    /// What an operator has done; `None` if it was never run.
    pub(crate) fn of(&self, node: &Node) -> Option<Measure> {
        self.operators.get(&address(node)).copied()
    }

    /// The rows that a condition has dropped.
    pub(crate) fn dropped_by(&self, condition: &Expr) -> u64 {
        self.dropped.get(&address(condition)).copied().unwrap_or(0)
    }

    /// How often a subquery was answered from rows that were kept.
    pub(crate) fn answered(&self, sub: &Subquery) -> u64 {
        self.answered.get(&address(sub)).copied().unwrap_or(0)
    }

    fn now(&self) -> Option<Instant> {
        self.timing.then(Instant::now)
    }
}

fn since(begin: Option<Instant>) -> Duration {
    begin.map_or(Duration::ZERO, |begin| begin.elapsed())
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Runs an operator by `f`, and measures that.
    #[cold]
    pub(super) fn measure(
        &mut self,
        node: &Node,
        next: Next<'_, 'a, W>,
        f: &mut dyn FnMut(&mut Self, Next<'_, 'a, W>) -> Result<Flow>,
    ) -> Result<Flow> {
        let now = |exec: &Self| exec.measures.as_ref().and_then(|measures| measures.now());
        let around =
            self.measures.as_mut().map(|measures| std::mem::replace(&mut measures.current, address(node)));
        let (mut rows, mut first, mut away) = (0, None, Duration::ZERO);
        let begin = now(self);
        let result = f(self, &mut |exec| {
            let left = now(exec);
            rows += 1;
            first.get_or_insert_with(|| since(begin));
            let flow = next(exec);
            away += since(left);
            flow
        });
        let total = since(begin).saturating_sub(away);
        if let (Some(measures), Some(around)) = (&mut self.measures, around) {
            measures.current = around;
            let measure = measures.operators.entry(address(node)).or_default();
            measure.loops += 1;
            measure.rows += rows;
            measure.first += first.unwrap_or(total);
            measure.total += total;
        }
        result
    }

    /// Notes something about the operator that runs now.
    #[inline]
    pub(super) fn note_done(&mut self, note: impl FnOnce(&mut Measure)) {
        if let Some(measures) = &mut self.measures {
            note(measures.operators.entry(measures.current).or_default());
        }
    }

    /// Notes how many bytes the operator that runs now holds.
    #[inline]
    pub(super) fn note_memory(&mut self, bytes: usize) {
        self.note_done(|measure| measure.memory = measure.memory.max(bytes));
    }

    /// Counts a row that a condition has dropped.
    #[inline]
    pub(super) fn note_dropped(&mut self, condition: &Expr) {
        if let Some(measures) = &mut self.measures {
            *measures.dropped.entry(address(condition)).or_default() += 1;
        }
    }

    /// Counts an answer from rows that were kept.
    #[inline]
    pub(super) fn note_answered(&mut self, sub: &Subquery) {
        if let Some(measures) = &mut self.measures {
            *measures.answered.entry(address(sub)).or_default() += 1;
        }
    }
}
