//! Subqueries in expressions.

use super::spill::Stashed;
use super::{Exec, Flow, Rows, row_weight};
use scaledb_engine::Worker;
use scaledb_planner::functions::SetFn;
use scaledb_planner::plan::expr::{Ask, Compare, Subquery};
use scaledb_types::func::Interrupt;
use scaledb_types::{Array, Result, SqlError, SqlState, Type, Value};
use std::rc::Rc;
use std::sync::Arc;

impl<'a, W: Worker> Exec<'a, W> {
    /// Answers what is asked of a subquery.
    pub(super) fn subquery(&mut self, sub: &Subquery) -> Result<Value> {
        match &sub.ask {
            Ask::Exists => {
                let Some(number) = sub.keep else { return Ok(Value::Bool(self.has_row(sub)?)) };
                let rows = match self.kept(number, &sub.depends) {
                    Some(rows) => rows,
                    None => {
                        let rows = if self.has_row(sub)? { vec![Box::default()] } else { Vec::new() };
                        let found = Stashed::of(Rc::new(rows), 0);
                        self.keep(number, &sub.depends, &found);
                        found
                    }
                };
                Ok(Value::Bool(!rows.is_empty()))
            }
            Ask::Scalar => {
                if let Some(number) = sub.keep {
                    let rows = self.kept_rows(sub, number, 2)?;
                    return scalar(&rows);
                }
                let (rows, weight) = self.subquery_rows(sub, 2)?;
                self.memory.give(weight);
                scalar(&rows)
            }
            Ask::Row(others) => {
                let rows = match sub.keep {
                    Some(number) => self.kept_rows(sub, number, 2)?,
                    None => {
                        let (rows, weight) = self.subquery_rows(sub, 2)?;
                        self.memory.give(weight);
                        Rc::new(rows)
                    }
                };
                let first = scalar(&rows)?;
                for (number, &slot) in others.iter().enumerate() {
                    self.frame[slot] = rows.first().map_or(Value::Null, |row| row[number + 1].clone());
                }
                Ok(first)
            }
            Ask::Array(element) => {
                let rows = self.rows_of(sub)?;
                let values: Vec<Value> = rows.iter().filter_map(|row| row.first().cloned()).collect();
                // arrays make an array of one more dimension
                let array = match element.element() {
                    Some(element_of) if element.array => accumulated(element_of, &values)?,
                    _ => Array::new(*element, values),
                };
                Ok(Value::Array(Arc::new(array)))
            }
            Ask::Any(values, op) => {
                let mut left = Vec::with_capacity(values.len());
                for value in values {
                    left.push(self.eval(value)?);
                }
                let rows = self.rows_of(sub)?;
                if let (Some(number), Compare::Eq) = (sub.keep, op) {
                    return self.is_member(number, &rows, &left);
                }
                self.any_of(*op, rows.iter(), &left)
            }
            Ask::One(values, op) => {
                let mut left = Vec::with_capacity(values.len());
                for value in values {
                    left.push(self.eval(value)?);
                }
                let rows = match sub.keep {
                    Some(number) => self.kept_rows(sub, number, 2)?,
                    None => {
                        let (rows, weight) = self.subquery_rows(sub, 2)?;
                        self.memory.give(weight);
                        Rc::new(rows)
                    }
                };
                // NULL without a row, and refused with several
                if rows.len() != 1 {
                    return scalar(&rows);
                }
                self.any_of(*op, rows.iter(), &left)
            }
        }
    }

    /// The rows of a set-returning function.
    pub(super) fn set_call(
        &mut self,
        call: &scaledb_planner::plan::SetCall,
        next: &mut dyn FnMut(&mut Self, Vec<Value>) -> Result<Flow>,
    ) -> Result<Flow> {
        let mut args = Vec::with_capacity(call.args().len());
        for arg in call.args() {
            args.push(self.eval(arg)?);
        }
        if let SetFn::Routine(desc) = &call.function {
            return self.routine_rows(desc, args, next);
        }
        let context = self.context;
        let check = || context.check_cancel();
        let interrupt = Interrupt::new(&check, self.memory.room());
        call.function.rows(context.env, &args, interrupt, &mut |row| next(self, row))
    }

    fn has_row(&mut self, sub: &Subquery) -> Result<bool> {
        let mut found = false;
        let _ = self.subquery_run(sub, &mut |_| {
            found = true;
            Ok(Flow::Break(()))
        })?;
        Ok(found)
    }

    fn rows_of(&mut self, sub: &Subquery) -> Result<Rows> {
        match sub.keep {
            Some(number) => self.kept_rows(sub, number, usize::MAX),
            None => {
                let (rows, weight) = self.subquery_rows(sub, usize::MAX)?;
                self.memory.give(weight);
                Ok(Rc::new(rows))
            }
        }
    }

    fn kept_rows(&mut self, sub: &Subquery, number: usize, limit: usize) -> Result<Rows> {
        if let Some(kept) = self.kept(number, &sub.depends)
            && let Some(rows) = kept.in_memory()
        {
            return Ok(rows.clone());
        }
        let (rows, weight) = self.subquery_rows(sub, limit)?;
        let rows = Rc::new(rows);
        self.keep(number, &sub.depends, &Stashed::of(rows.clone(), weight));
        Ok(rows)
    }

    /// The rows of a subquery, and the bytes taken for them.
    fn subquery_rows(&mut self, sub: &Subquery, limit: usize) -> Result<(Vec<Box<[Value]>>, usize)> {
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        let mut weight = 0;
        let _ = self.subquery_run(sub, &mut |exec| {
            let mut row = Vec::with_capacity(sub.output.len());
            for expr in &sub.output {
                row.push(exec.eval(expr)?);
            }
            weight += row_weight(&row);
            // an array is one value
            match sub.ask {
                Ask::Array(_) => exec.memory.take(row_weight(&row))?,
                _ => exec.memory.take_rows(row_weight(&row))?,
            }
            rows.push(row.into());
            Ok(if rows.len() >= limit { Flow::Break(()) } else { Flow::Continue(()) })
        })?;
        Ok((rows, weight))
    }
}

/// Arrays as one of one more dimension.
fn accumulated(element: Type, parts: &[Value]) -> Result<Array> {
    let mut first = None;
    for part in parts {
        let Value::Array(part) = part else {
            let what = "cannot accumulate null arrays";
            return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what));
        };
        let refused = match first.replace(part.dimensions()) {
            _ if part.dimensions().is_empty() => "cannot accumulate empty arrays",
            Some(before) if before != part.dimensions() => {
                "cannot accumulate arrays of different dimensionality"
            }
            _ => continue,
        };
        return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, refused));
    }
    Array::nested(element, parts)
}

fn scalar(rows: &[Box<[Value]>]) -> Result<Value> {
    match rows {
        [] => Ok(Value::Null),
        [row] => Ok(row.first().cloned().unwrap_or_default()),
        _ => Err(SqlError::new(
            SqlState::CARDINALITY_VIOLATION,
            "more than one row returned by a subquery used as an expression",
        )),
    }
}
