//! Rows that are computed once and handed out again, until what they depend on is another.

use super::{Exec, Flow, Next, Rows, row_weight};
use crate::plan::depends::Depends;
use crate::plan::{Cte, Node, Slot};
use scaledb_engine::Worker;
use scaledb_types::{Result, SqlError, Value};
use std::collections::HashSet;
use std::rc::Rc;

/// Rows, and what they were computed from.
#[derive(Debug)]
pub(crate) struct Kept {
    rows: Rows,
    /// The values of the slots that they depend on.
    slots: Box<[Value]>,
    /// The evaluations of the WITH queries that they depend on.
    rounds: Box<[u64]>,
    /// Bytes taken for them.
    weight: usize,
}

/// The rows of a WITH query.
#[derive(Debug)]
pub(crate) struct Evaluated {
    rows: Rows,
    /// Which evaluation of the run it was.
    round: u64,
    weight: usize,
}

/// Whether two values are the same in every respect, and not merely equal (`1.0` and `1.00`, `24:00` and `1 day`).
/// Values that are not cheap to look through are taken as different.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float4(a), Value::Float4(b)) => a.to_bits() == b.to_bits(),
        (Value::Float8(a), Value::Float8(b)) => a.to_bits() == b.to_bits(),
        (Value::Numeric(x), Value::Numeric(y)) => x.scale() == y.scale() && a == b,
        (Value::Interval(a), Value::Interval(b)) => {
            (a.months, a.days, a.micros) == (b.months, b.days, b.micros)
        }
        (Value::Text(a), Value::Text(b)) => a.as_bytes() == b.as_bytes(),
        (Value::Array(_) | Value::Jsonb(_), _) => false,
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b) && a == b,
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// The rows that are kept under a number, if they still hold.
    pub(super) fn kept(&self, number: usize, depends: &Depends) -> Option<Rows> {
        let kept = self.kept[number].as_ref()?;
        let slots =
            depends.slots.iter().zip(&kept.slots).all(|(&slot, value)| same(&self.frame[slot], value));
        let rounds = depends.ctes.iter().zip(&kept.rounds).all(|(&cte, &round)| self.round(cte) == round);
        (slots && rounds).then(|| kept.rows.clone())
    }

    /// Which evaluation of a WITH query its rows are of.
    fn round(&self, number: usize) -> u64 {
        self.ctes[number].as_ref().map_or(0, |cte| cte.round)
    }

    /// Keeps rows under a number.
    pub(super) fn keep(&mut self, number: usize, depends: &Depends, rows: &Rows, weight: usize) {
        let kept = Kept {
            rows: rows.clone(),
            slots: self.copy(&depends.slots),
            rounds: depends.ctes.iter().map(|&cte| self.round(cte)).collect(),
            weight,
        };
        if let Some(old) = self.kept[number].replace(kept) {
            self.memory.give(old.weight);
        }
    }

    /// Bytes taken for what is kept here.
    pub(super) fn held_by_keep(&self) -> usize {
        let kept = self.kept.iter().flatten().map(|kept| kept.weight);
        kept.chain(self.ctes.iter().flatten().map(|cte| cte.weight)).sum()
    }

    /// All rows of an input, kept for as long as they hold.
    pub(super) fn keep_input(
        &mut self,
        input: &Node,
        number: usize,
        depends: &Depends,
        slots: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        let rows = match self.kept(number, depends) {
            Some(rows) => rows,
            None => {
                let (rows, weight) = self.collect(input, slots)?;
                self.keep(number, depends, &rows, weight);
                rows
            }
        };
        self.replay(&rows, slots, next)
    }

    /// All rows of an input, and the bytes taken for them.
    pub(super) fn collect(&mut self, input: &Node, slots: &[Slot]) -> Result<(Rows, usize)> {
        let mut rows = Vec::new();
        let mut weight = 0;
        let _ = self.run(input, &mut |exec| {
            let row = exec.copy(slots);
            let bytes = row_weight(&row);
            exec.memory.take_rows(bytes)?;
            weight += bytes;
            rows.push(row);
            Ok(Flow::Continue(()))
        })?;
        Ok((Rc::new(rows), weight))
    }

    /// Calls `next` with kept rows.
    fn replay(&mut self, rows: &[Box<[Value]>], slots: &[Slot], next: Next<'_, 'a, W>) -> Result<Flow> {
        for row in rows {
            self.tick()?;
            self.restore(slots, row);
            if next(self)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }

    /// The rows of a WITH query.
    pub(super) fn cte_scan(&mut self, number: usize, slots: &[Slot], next: Next<'_, 'a, W>) -> Result<Flow> {
        let rows = self.ctes[number].as_ref().map(|cte| cte.rows.clone());
        let rows = rows.ok_or_else(|| SqlError::internal("a WITH query that was not evaluated"))?;
        self.replay(&rows, slots, next)
    }

    /// Makes rows those of a WITH query.
    fn evaluated(&mut self, number: usize, rows: Rows, weight: usize) {
        self.rounds += 1;
        if let Some(old) = self.ctes[number].replace(Evaluated { rows, round: self.rounds, weight }) {
            self.memory.give(old.weight);
        }
    }

    /// Evaluates a WITH query.
    pub(super) fn evaluate_cte(&mut self, cte: &Cte) -> Result<()> {
        // what a WITH query writes is not counted
        let affected = self.affected;
        let (first, weight) = self.collect(&cte.node, &cte.slots)?;
        self.affected = affected;
        let Some((node, slots, distinct)) = &cte.recursive else {
            self.evaluated(cte.number, first, weight);
            return Ok(());
        };
        let mut seen = HashSet::new();
        let mut all: Vec<Box<[Value]>> = Vec::new();
        let mut fresh: Vec<Box<[Value]>> =
            first.iter().filter(|row| !distinct || seen.insert((*row).clone())).cloned().collect();
        drop(first);
        self.memory.give(weight);
        let mut total = 0;
        while !fresh.is_empty() {
            self.context.check_cancel()?;
            let mut weight = 0;
            for row in &fresh {
                // once as it was found, once among all
                weight += row_weight(row);
                all.push(row.clone());
            }
            self.memory.take_rows(weight * 2)?;
            total += weight;
            self.evaluated(cte.number, Rc::new(fresh), weight);
            let (found, weight) = self.collect(node, slots)?;
            fresh = found.iter().filter(|row| !distinct || seen.insert((*row).clone())).cloned().collect();
            self.memory.give(weight);
        }
        self.evaluated(cte.number, Rc::new(all), total);
        Ok(())
    }
}
