//! Execution of correlated subqueries: run anew for each outer row, or answered from a hash table of all their rows.
//!
//! How often a subquery will run is not known when it is planned. It begins as one that runs anew each time, and the
//! rows that this reads are counted. When they are many, the hash table is built, with a limit for the rows that
//! this may read: if the limit is reached, the subquery runs as before, and the next attempt comes when it has read
//! twice as many rows. So it never costs much more than the better of both ways. No attempt is made where the
//! planner's estimate of the rows is above the limit.

use super::{Exec, Flow, Next, row_weight};
use rapidhash::fast::RandomState;
use scaledb_engine::Worker;
use scaledb_planner::plan::expr::{Lookup, Subquery};
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::collections::HashMap;
use std::rc::Rc;

/// Rows by their keys.
pub(crate) type Found = HashMap<Box<[Value]>, Vec<Box<[Value]>>, RandomState>;

/// Rows that are touched before another way is tried, and how many that may touch for each of them.
const PATIENCE: u64 = 1_024;
const WORTH: u64 = 4;

/// How far a subquery has come.
#[derive(Debug)]
pub(crate) enum Trial {
    /// So many rows were touched; from so many on, another way is tried.
    Asked { touched: u64, until: u64 },
    /// All rows, and the bytes taken for them.
    Kept(Rc<Found>, usize),
    /// Reading all rows has failed.
    Refused,
}

impl Default for Trial {
    fn default() -> Self {
        Self::Asked { touched: 0, until: PATIENCE }
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Calls `next` with each row of a subquery.
    pub(super) fn subquery_run(&mut self, sub: &Subquery, next: Next<'_, 'a, W>) -> Result<Flow> {
        let Some(lookup) = &sub.lookup else { return self.run(&sub.node, next) };
        let number = lookup.number;
        let trials = &mut self.aside().trials;
        if trials.len() <= number {
            trials.resize_with(number + 1, Trial::default);
        }
        if let Trial::Asked { touched: 0, until } = &mut trials[number] {
            *until = PATIENCE.max(lookup.reads / WORTH);
        }
        if let Trial::Asked { touched, until } = trials[number]
            && touched >= until
        {
            let trial = self.try_lookup(lookup, touched)?;
            self.aside().trials[number] = trial;
        }
        if let Trial::Kept(found, _) = &self.aside().trials[number] {
            let found = found.clone();
            self.note_answered(sub);
            return self.look_up(lookup, &found, next);
        }
        let before = self.ticks;
        let flow = self.run(&sub.node, next)?;
        let more = self.ticks - before + 1;
        if let Some(Trial::Asked { touched, .. }) = self.aside().trials.get_mut(number) {
            *touched += more;
        }
        Ok(flow)
    }

    /// Reads all rows, if that touches no more than what has been touched makes worth while.
    fn try_lookup(&mut self, lookup: &Lookup, touched: u64) -> Result<Trial> {
        let before = self.last_tick;
        self.last_tick = before.min(self.ticks + touched * WORTH);
        let mark = self.memory.mark(self.held());
        let result = self.read_all(lookup);
        self.last_tick = before;
        let error = match result {
            Ok((found, weight)) => return Ok(Trial::Kept(Rc::new(found), weight)),
            Err(error) => error,
        };
        // subqueries inside keep their rows for the next time
        self.memory.back_to(mark, self.held());
        if std::mem::take(&mut self.too_long) {
            return Ok(Trial::Asked { touched, until: touched * 2 });
        }
        // an error in a row that the statement may never look up must not end it
        let code = error.code();
        let of_values = code.as_str().starts_with("22") || code == SqlState::CARDINALITY_VIOLATION;
        if of_values || code.as_str().starts_with("53") { Ok(Trial::Refused) } else { Err(error) }
    }

    /// Bytes taken for rows that are kept beyond the operator that has read them.
    fn held(&self) -> usize {
        let Some(aside) = &self.aside else { return 0 };
        let found =
            aside.trials.iter().map(|trial| if let Trial::Kept(_, weight) = trial { *weight } else { 0 });
        let members = aside.members.iter().flatten().map(|members| members.weight);
        found.chain(members).sum::<usize>() + self.held_by_keep()
    }

    fn read_all(&mut self, lookup: &Lookup) -> Result<(Found, usize)> {
        let mut found = Found::default();
        let mut weight = 0;
        let _ = self.run(&lookup.node, &mut |exec| {
            let mut key = Vec::with_capacity(lookup.inner_keys.len());
            for part in &lookup.inner_keys {
                let value = exec.eval(part)?;
                // NULL equals nothing
                if value.is_null() {
                    return Ok(Flow::Continue(()));
                }
                key.push(value);
            }
            let row = exec.copy(&lookup.slots);
            let bytes = row_weight(&row) + size_of::<Box<[Value]>>();
            let rows = match found.get_mut(key.as_slice()) {
                Some(rows) => rows,
                None => {
                    let bytes = row_weight(&key) + size_of::<Vec<Box<[Value]>>>();
                    exec.memory.take(bytes)?;
                    weight += bytes;
                    found.entry(key.into()).or_default()
                }
            };
            // of rows without values only their number can be asked: one, or several
            if row.is_empty() && rows.len() >= 2 {
                return Ok(Flow::Continue(()));
            }
            exec.memory.take(bytes)?;
            weight += bytes;
            rows.push(row);
            Ok(Flow::Continue(()))
        })?;
        Ok((found, weight))
    }

    /// Calls `next` with the kept rows that belong to the current outer row.
    fn look_up(&mut self, lookup: &Lookup, found: &Found, next: Next<'_, 'a, W>) -> Result<Flow> {
        let mut key = Vec::with_capacity(lookup.outer_keys.len());
        for part in &lookup.outer_keys {
            key.push(self.eval(part)?);
        }
        let rows = found.get(key.as_slice()).map_or(&[][..], Vec::as_slice);
        if let (true, Some(aggregates)) = (rows.is_empty(), &lookup.aggregates) {
            for aggregate in aggregates {
                self.frame[aggregate.slot] = aggregate.function.start().finish(self.context.env)?;
            }
            return self.passes_on(lookup, next);
        }
        for row in rows {
            self.tick()?;
            self.restore(&lookup.slots, row);
            if self.passes_on(lookup, next)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }

    fn passes_on(&mut self, lookup: &Lookup, next: Next<'_, 'a, W>) -> Result<Flow> {
        match &lookup.rest {
            Some(rest) if !self.holds(rest)? => Ok(Flow::Continue(())),
            _ => next(self),
        }
    }

    /// More rows were touched than is worth while.
    #[cold]
    pub(super) fn gives_up(&mut self) -> SqlError {
        if self.ticks > self.much {
            return self.reads_much();
        }
        self.too_long = true;
        SqlError::internal("reading all rows of a subquery takes too long")
    }
}
