//! Joins row by row: for each outer row, the inner rows are read.

use super::{Exec, Flow, Next};
use scaledb_engine::Worker;
use scaledb_planner::plan::{JoinKind, NestedLoop};
use scaledb_types::{Result, Value};

impl<'a, W: Worker> Exec<'a, W> {
    /// For each outer row, the inner rows.
    pub(super) fn nested_loop(&mut self, join: &NestedLoop, next: Next<'_, 'a, W>) -> Result<Flow> {
        self.run(&join.outer, &mut |exec| {
            let mut matched = false;
            let flow = exec.run(&join.inner, &mut |exec| {
                if let Some(on) = &join.on
                    && !exec.holds(on)?
                {
                    exec.note_dropped(on);
                    return Ok(Flow::Continue(()));
                }
                matched = true;
                next(exec)
            })?;
            match join.kind {
                JoinKind::Inner => Ok(flow),
                JoinKind::Left if matched => Ok(flow),
                JoinKind::Left => {
                    for &slot in &join.inner_slots {
                        exec.frame[slot] = Value::Null;
                    }
                    next(exec)
                }
            }
        })
    }
}
