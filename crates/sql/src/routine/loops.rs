//! Loops.

use super::Slot;
use super::interpret::{Flow, Interpreter};
use super::runner::Runner;
use scaledb_parse::plpgsql::{Line, Query, Range, Sql, Target};
use scaledb_planner::plan::routine::Fields;
use scaledb_types::row_weight;
use scaledb_types::{Array, Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

/// What a round of a loop says about the loop.
pub(super) enum Round<'l> {
    Again,
    Leave(Flow<'l>),
}

impl<'l, R: Runner> Interpreter<'l, '_, R> {
    pub(super) fn round(&mut self, label: Option<&str>, steps: &'l [Line]) -> Result<Round<'l>> {
        let own = |wanted: Option<&str>| wanted.is_none() || wanted == label;
        Ok(match self.steps(steps)? {
            Flow::Next => Round::Again,
            Flow::Continue(wanted) if own(wanted) => Round::Again,
            Flow::Exit(wanted) if own(wanted) => Round::Leave(Flow::Next),
            other => Round::Leave(other),
        })
    }

    pub(super) fn forever(&mut self, label: Option<&str>, steps: &'l [Line]) -> Result<Flow<'l>> {
        loop {
            // an empty body has no statements that look
            self.runner.check()?;
            if let Round::Leave(flow) = self.round(label, steps)? {
                return Ok(flow);
            }
        }
    }

    pub(super) fn while_holds(
        &mut self,
        label: Option<&str>,
        condition: &'l Sql,
        steps: &'l [Line],
    ) -> Result<Flow<'l>> {
        while self.holds(condition)? {
            self.runner.check()?;
            if let Round::Leave(flow) = self.round(label, steps)? {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn bound(&mut self, sql: &'l Sql, what: &str) -> Result<i32> {
        match self.value(sql, Some(Type::INT4))? {
            Value::Int4(number) => Ok(number),
            _ => {
                let what = format!("{what} of FOR loop cannot be null");
                Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what))
            }
        }
    }

    pub(super) fn for_range(
        &mut self,
        label: Option<&str>,
        range: &'l Range,
        steps: &'l [Line],
    ) -> Result<Flow<'l>> {
        let mut number = self.bound(&range.from, "lower bound")?;
        let last = self.bound(&range.to, "upper bound")?;
        let by = match &range.by {
            Some(by) => self.bound(by, "BY value")?,
            None => 1,
        };
        if by <= 0 {
            let what = "BY value of FOR loop must be greater than zero";
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, what));
        }
        let mut found = false;
        let flow = loop {
            if if range.reverse { number < last } else { number > last } {
                break Flow::Next;
            }
            found = true;
            self.runner.check()?;
            self.frame.set(self.runner, self.loaded, range.variable, Value::Int4(number), Type::INT4)?;
            if let Round::Leave(flow) = self.round(label, steps)? {
                break flow;
            }
            let next = if range.reverse { number.checked_sub(by) } else { number.checked_add(by) };
            match next {
                Some(next) => number = next,
                None => break Flow::Next,
            }
        };
        self.note_found(found);
        Ok(flow)
    }

    pub(super) fn for_query(
        &mut self,
        label: Option<&str>,
        targets: &'l [Target],
        query: &'l Query,
        steps: &'l [Line],
    ) -> Result<Flow<'l>> {
        self.count_unnamed();
        let (rows, fields) = self.rows_of(query)?;
        let bytes = rows.iter().map(|row| row_weight(row)).sum();
        self.runner.take(bytes)?;
        let flow = self.for_rows(label, targets, rows, &fields, steps);
        self.runner.give(bytes);
        flow
    }

    fn for_rows(
        &mut self,
        label: Option<&str>,
        targets: &'l [Target],
        rows: Vec<Box<[Value]>>,
        fields: &Arc<Fields>,
        steps: &'l [Line],
    ) -> Result<Flow<'l>> {
        let found = !rows.is_empty();
        if !found {
            self.put_row(targets, None, fields)?;
        }
        let mut flow = Flow::Next;
        for row in rows {
            self.put_row(targets, Some(&row), fields)?;
            if let Round::Leave(left) = self.round(label, steps)? {
                flow = left;
                break;
            }
        }
        self.note_found(found);
        Ok(flow)
    }

    pub(super) fn for_each(
        &mut self,
        label: Option<&str>,
        target: &'l Target,
        slice: usize,
        array: &'l Sql,
        steps: &'l [Line],
    ) -> Result<Flow<'l>> {
        let (value, ty) = self.typed(array)?;
        let array = match value {
            Value::Array(array) => array,
            Value::Null => {
                let what = "FOREACH expression must not be null";
                return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what));
            }
            _ => {
                let what = format!("FOREACH expression must yield an array, not type {}", ty.sql_name());
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
            }
        };
        let element = ty.element().unwrap_or(Type::TEXT);
        // a slice is what so many dimensions have, the last ones
        let all = array.dimensions();
        let Some(whole) = all.len().checked_sub(slice) else {
            let what = format!("slice dimension ({slice}) is out of the valid range 0..{}", all.len());
            return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, what));
        };
        if let (Slot::Value { ty: own, .. }, None, true) =
            (&self.loaded.places[target.variable], &target.field, target.element.is_empty())
            && own.array != (slice > 0)
        {
            let what = match own.array {
                true => "FOREACH loop variable must not be of an array type",
                false => "FOREACH ... SLICE loop variable must be of an array type",
            };
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        }
        let dimensions = &all[whole..];
        let width = dimensions.iter().map(|dimension| dimension.len as usize).product::<usize>();
        let (mut flow, mut found) = (Flow::Next, false);
        for values in array.values().chunks(width.max(1)) {
            found = true;
            self.runner.check()?;
            if slice > 0 {
                let part = Array::with_dimensions(element.plain(), dimensions.to_vec(), values.to_vec())?;
                self.put(target, Value::Array(Arc::new(part)), ty)?;
            } else {
                self.put(target, values[0].clone(), element)?;
            }
            if let Round::Leave(left) = self.round(label, steps)? {
                flow = left;
                break;
            }
        }
        self.note_found(found);
        Ok(flow)
    }
}
