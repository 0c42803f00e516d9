//! LIMIT and OFFSET.

use super::{Exec, Flow, Next};
use scaledb_engine::Worker;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Node, Slot};
use scaledb_types::{Result, SqlError, SqlState, Value};

impl<'a, W: Worker> Exec<'a, W> {
    /// The first rows only; with those behind the last of them that are equal to it in the slots `ties`.
    pub(super) fn limit(
        &mut self,
        input: &Node,
        (limit, offset): (Option<&Expr>, Option<&Expr>),
        ties: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let limit = match limit {
            Some(limit) => self.count(limit, SqlState::INVALID_ROW_COUNT_IN_LIMIT, "LIMIT")?,
            None => None,
        };
        let offset = match offset {
            Some(offset) => self.count(offset, SqlState::INVALID_ROW_COUNT_IN_OFFSET, "OFFSET")?,
            None => None,
        };
        let (limit, mut skip) = (limit.unwrap_or(u64::MAX), offset.unwrap_or(0));
        if limit == 0 {
            return Ok(Flow::Continue(()));
        }
        let mut left = limit;
        let mut stopped = Flow::Continue(());
        // of the last row that counts
        let mut last: Vec<Value> = Vec::new();
        let mut take = |exec: &mut Self| {
            if skip > 0 {
                skip -= 1;
                return Ok(Flow::Continue(()));
            }
            if left == 0 && ties.iter().zip(&last).any(|(&slot, value)| exec.frame[slot] != *value) {
                return Ok(Flow::Break(()));
            }
            left = left.saturating_sub(1);
            if left == 0 && last.is_empty() {
                last.extend(ties.iter().map(|&slot| exec.frame[slot].clone()));
            }
            stopped = next(exec)?;
            Ok(if left == 0 && ties.is_empty() { Flow::Break(()) } else { stopped })
        };
        // the plan says that the sort needs to keep no more than what is let through
        if let Node::Sort { input: below, keys, carry, top: true } = input {
            let keep = usize::try_from(limit.saturating_add(offset.unwrap_or(0))).ok();
            let _ = if self.measures.is_some() {
                let sort =
                    &mut |exec: &mut Self, next: Next<'_, 'a, W>| exec.sort(below, keys, carry, keep, next);
                self.measure(input, &mut take, sort)?
            } else {
                self.sort(below, keys, carry, keep, &mut take)?
            };
        } else {
            let _ = self.run(input, &mut take)?;
        }
        Ok(stopped)
    }

    fn count(&mut self, expr: &Expr, code: SqlState, what: &'static str) -> Result<Option<u64>> {
        match self.eval(expr)?.as_i64() {
            None => Ok(None),
            Some(count) => u64::try_from(count)
                .map(Some)
                .map_err(|_| SqlError::new(code, format!("{what} must not be negative"))),
        }
    }
}
