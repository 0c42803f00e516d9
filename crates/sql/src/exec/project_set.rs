//! Set-returning functions in select lists.

use super::{Exec, Flow, Next, row_weight};
use scaledb_engine::Worker;
use scaledb_planner::plan::{Node, SetItem};
use scaledb_types::{Record, Result, Value};
use std::sync::Arc;

impl<'a, W: Worker> Exec<'a, W> {
    /// For each row, the rows of the functions side by side; NULL where one has ended before the others.
    pub(super) fn project_set(
        &mut self,
        input: &Node,
        sets: &[SetItem],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        self.run(input, &mut |exec| {
            if let [set] = sets {
                return exec.set_call(&set.call, &mut |exec, row| {
                    exec.tick()?;
                    exec.put_set(set, Some(&row))?;
                    next(exec)
                });
            }
            let mut lists: Vec<Vec<Vec<Value>>> = Vec::with_capacity(sets.len());
            let mut weight = 0;
            for set in sets {
                let mut rows = Vec::new();
                let _ = exec.set_call(&set.call, &mut |exec, row| {
                    exec.tick()?;
                    let bytes = row_weight(&row);
                    exec.memory.take(bytes)?;
                    weight += bytes;
                    rows.push(row);
                    Ok(Flow::Continue(()))
                })?;
                lists.push(rows);
            }
            let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
            let mut flow = Flow::Continue(());
            for at in 0..longest {
                for (set, rows) in sets.iter().zip(&lists) {
                    exec.put_set(set, rows.get(at).map(Vec::as_slice))?;
                }
                flow = next(exec)?;
                if flow.is_break() {
                    break;
                }
            }
            exec.memory.give(weight);
            Ok(flow)
        })
    }

    fn put_set(&mut self, set: &SetItem, row: Option<&[Value]>) -> Result<()> {
        if let Some((slot, fields)) = &set.row {
            self.frame[*slot] = match row {
                Some(row) => Value::Record(Arc::new(Record::new(Arc::clone(fields), row)?)),
                None => Value::Null,
            };
        }
        for (at, &slot) in set.slots.iter().enumerate() {
            self.frame[slot] = row.and_then(|row| row.get(at)).cloned().unwrap_or_default();
        }
        Ok(())
    }
}
