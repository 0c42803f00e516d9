//! Pipelined operators, which hand each row on as it comes: Filter, projections, Append, WITH, and scans of what is not
//! a table.

use super::{Exec, Flow, Next};
use scaledb_engine::Worker;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Computed, Cte, Node, SetCall, Slot};
use scaledb_types::{Result, Value};
use std::rc::Rc;

/// The rows of a system catalog, for several scans.
pub(super) type CatalogRows = Rc<Vec<Vec<Value>>>;

impl<'a, W: Worker> Exec<'a, W> {
    /// Rows that the session computes: those of system catalogs.
    pub(super) fn computed_scan(
        &mut self,
        rows: Computed,
        slots: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        if rows.follows_catalog()
            && let Some(kept) = self.scanned_before(rows)?
        {
            for row in &*kept {
                self.tick()?;
                for (&slot, value) in slots.iter().zip(row) {
                    self.frame[slot].clone_from(value);
                }
                if next(self)?.is_break() {
                    return Ok(Flow::Break(()));
                }
            }
            return Ok(Flow::Continue(()));
        }
        let rows = self.context.host.computed(rows)?;
        for row in rows {
            self.tick()?;
            for (&slot, value) in slots.iter().zip(row) {
                self.frame[slot] = value;
            }
            if next(self)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }

    /// The rows of a catalog that this run has scanned before, which a subquery may scan for each row around it.
    fn scanned_before(&mut self, catalog: Computed) -> Result<Option<CatalogRows>> {
        let known = self.aside().catalogs.iter().position(|(known, _)| *known == catalog);
        let Some(at) = known else {
            self.aside().catalogs.push((catalog, None));
            return Ok(None);
        };
        if self.aside().catalogs[at].1.is_none() {
            let rows = Rc::new(self.context.host.computed(catalog)?);
            self.aside().catalogs[at].1 = Some(rows);
        }
        Ok(self.aside().catalogs[at].1.clone())
    }

    /// VALUES.
    pub(super) fn values_scan(
        &mut self,
        rows: &[Vec<Expr>],
        slots: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        for row in rows {
            for (expr, &slot) in row.iter().zip(slots) {
                let value = self.eval(expr)?;
                self.frame[slot] = value;
            }
            if next(self)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }

    /// The rows of a function, perhaps with their numbers.
    pub(super) fn function_scan(
        &mut self,
        call: &SetCall,
        slots: &[Slot],
        ordinality: Option<Slot>,
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let mut number = 0;
        self.set_call(call, &mut |exec, row| {
            exec.tick()?;
            number += 1;
            for (&slot, value) in slots.iter().zip(row) {
                exec.frame[slot] = value;
            }
            if let Some(slot) = ordinality {
                exec.frame[slot] = Value::Int8(number);
            }
            next(exec)
        })
    }

    /// UNION ALL: the rows of one input after those of another.
    pub(super) fn append(
        &mut self,
        inputs: &[(Node, Vec<Slot>)],
        slots: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        for (input, from) in inputs {
            let flow = self.run(input, &mut |exec| {
                for (&from, &to) in from.iter().zip(slots) {
                    exec.frame[to] = exec.frame[from].clone();
                }
                next(exec)
            })?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(Flow::Continue(()))
    }

    /// A query with its WITH queries.
    pub(super) fn with(&mut self, ctes: &[Cte], input: &Node, next: Next<'_, 'a, W>) -> Result<Flow> {
        for cte in ctes.iter().filter(|cte| cte.read) {
            self.evaluate_cte(cte)?;
        }
        let flow = self.run(input, next)?;
        // WITH queries that write run even if nothing reads them, the last one first, as in PostgreSQL
        for cte in ctes.iter().rev().filter(|cte| !cte.read) {
            self.evaluate_cte(cte)?;
        }
        Ok(flow)
    }

    /// The rows of which a condition is true.
    pub(super) fn filter(&mut self, input: &Node, predicate: &Expr, next: Next<'_, 'a, W>) -> Result<Flow> {
        if matches!(predicate, Expr::Const(never) if !never.is_true()) {
            // the input is not run
            return Ok(Flow::Continue(()));
        }
        self.run(input, &mut |exec| {
            if exec.holds(predicate)? {
                return next(exec);
            }
            exec.note_dropped(predicate);
            Ok(Flow::Continue(()))
        })
    }

    /// Rows with values that are computed from them.
    pub(super) fn project(
        &mut self,
        input: &Node,
        exprs: &[(Expr, Slot)],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        self.run(input, &mut |exec| {
            for (expr, slot) in exprs {
                let value = exec.eval(expr)?;
                exec.frame[*slot] = value;
            }
            next(exec)
        })
    }
}
