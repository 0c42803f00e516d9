//! Rows that are computed once and handed out again, until a value that they depend on changes.

use super::spill::{CHECK, Stash, Stashed};
use super::{Exec, Flow, Next, row_weight};
use scaledb_engine::Worker;
use scaledb_planner::plan::depends::Depends;
use scaledb_planner::plan::{Cte, Node, Recursive, Slot};
use scaledb_types::{Result, SqlError, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Rows, and what they were computed from.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    rows: Stashed<'a>,
    /// The values of the slots that they depend on.
    slots: Box<[Value]>,
    /// The evaluations of the WITH queries that they depend on.
    rounds: Box<[u64]>,
}

/// The rows of a WITH query.
#[derive(Debug)]
pub(crate) struct Evaluated<'a> {
    /// All that there are so far, as they were found.
    found: Vec<Stashed<'a>>,
    /// Which evaluation of the run it was.
    round: u64,
    weight: usize,
    /// How to find more.
    growing: Option<Box<Growing<'a>>>,
}

/// A query that is being run: it has found as many of its rows as its readers have asked for.
#[derive(Debug)]
struct Growing<'a> {
    first: Arc<Node>,
    first_slots: Vec<Slot>,
    /// What a recursive query goes on with.
    next: Option<Arc<Recursive>>,
    begun: bool,
    seen: HashSet<Box<[Value]>>,
    /// The rows that its own part reads while it runs, and which evaluation they are.
    working: Option<(Stashed<'a>, u64)>,
    /// The first rows of the next ones, where whoever read them as they came wanted no more.
    partial: Option<Stashed<'a>>,
}

/// A part of a recursive query.
enum Term {
    First(Arc<Node>),
    Next(Arc<Recursive>),
}

impl Term {
    fn of(&self) -> &Node {
        match self {
            Self::First(node) => node,
            Self::Next(next) => &next.node,
        }
    }
}

#[cold]
fn lost() -> SqlError {
    SqlError::internal("a recursive query that was not evaluated")
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
        (Value::Array(_) | Value::Jsonb(_) | Value::Record(_) | Value::Range(_), _) => false,
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b) && a == b,
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// The rows that are kept under a number, if they still hold.
    pub(super) fn kept(&self, number: usize, depends: &Depends) -> Option<Stashed<'a>> {
        let kept = self.aside.as_ref()?.kept[number].as_ref()?;
        let slots =
            depends.slots.iter().zip(&kept.slots).all(|(&slot, value)| same(&self.frame[slot], value));
        let rounds = depends.ctes.iter().zip(&kept.rounds).all(|(&cte, &round)| self.round(cte) == round);
        (slots && rounds).then(|| kept.rows.clone())
    }

    /// Which evaluation of a WITH query its rows are of.
    fn round(&self, number: usize) -> u64 {
        let Some(cte) = self.aside.as_ref().and_then(|aside| aside.ctes[number].as_ref()) else { return 0 };
        let working = cte.growing.as_ref().and_then(|growing| growing.working.as_ref());
        working.map_or(cte.round, |(_, round)| *round)
    }

    /// Keeps rows under a number.
    pub(super) fn keep(&mut self, number: usize, depends: &Depends, rows: &Stashed<'a>) {
        let kept = Kept {
            rows: rows.clone(),
            slots: self.copy(&depends.slots),
            rounds: depends.ctes.iter().map(|&cte| self.round(cte)).collect(),
        };
        if let Some(old) = self.aside().kept[number].replace(kept) {
            self.memory.give(old.rows.weight);
        }
    }

    /// Bytes taken for what is kept here.
    pub(super) fn held_by_keep(&self) -> usize {
        let Some(aside) = &self.aside else { return 0 };
        let kept = aside.kept.iter().flatten().map(|kept| kept.rows.weight);
        kept.chain(aside.ctes.iter().flatten().map(|cte| cte.weight)).sum()
    }

    /// All rows of an input, kept for as long as they hold.
    pub(super) fn materialize(
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
                let rows = self.collect(input, slots)?;
                self.note_memory(rows.weight);
                self.keep(number, depends, &rows);
                rows
            }
        };
        self.replay(&rows, 0, slots, next)
    }

    /// All rows of an input.
    pub(super) fn collect(&mut self, input: &Node, slots: &[Slot]) -> Result<Stashed<'a>> {
        let mut rows = Stash::new(slots.len());
        let _ = self.run(input, &mut |exec| {
            let row = exec.copy(slots);
            rows.push(exec.context, &mut exec.memory, row)?;
            Ok(Flow::Continue(()))
        })?;
        rows.finish()
    }

    /// Calls `next` with kept rows, but for the first ones.
    fn replay(
        &mut self,
        rows: &Stashed<'a>,
        skip: usize,
        slots: &[Slot],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        if let Some(rows) = rows.in_memory() {
            for row in rows.iter().skip(skip) {
                self.tick()?;
                self.restore(slots, row);
                if next(self)?.is_break() {
                    return Ok(Flow::Break(()));
                }
            }
        }
        let Some(mut rows) = rows.reader() else { return Ok(Flow::Continue(())) };
        let mut at = 0;
        while let Some(row) = rows.next()? {
            self.tick()?;
            at += 1;
            if at <= skip {
                continue;
            }
            for (&slot, value) in slots.iter().zip(row) {
                self.frame[slot] = value;
            }
            if next(self)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }

    /// The rows of a WITH query.
    pub(super) fn cte_scan(&mut self, number: usize, slots: &[Slot], next: Next<'_, 'a, W>) -> Result<Flow> {
        let missing = || SqlError::internal("a WITH query that was not evaluated");
        let cte = self.aside().ctes[number].as_ref().ok_or_else(missing)?;
        if let Some((rows, _)) = cte.growing.as_ref().and_then(|growing| growing.working.as_ref()) {
            let rows = rows.clone();
            return self.replay(&rows, 0, slots, next);
        }
        let round = cte.round;
        // of those that follow, so many were handed on before all were known
        let (mut at, mut handed) = (0, 0);
        loop {
            let cte =
                self.aside().ctes[number].as_ref().filter(|cte| cte.round == round).ok_or_else(missing)?;
            if let Some(rows) = cte.found.get(at) {
                let rows = rows.clone();
                at += 1;
                if self.replay(&rows, std::mem::take(&mut handed), slots, next)?.is_break() {
                    return Ok(Flow::Break(()));
                }
                continue;
            }
            let Some(growing) = &cte.growing else { return Ok(Flow::Continue(())) };
            match &growing.partial {
                Some(rows) if handed == 0 => {
                    let rows = rows.clone();
                    handed = rows.len();
                    if self.replay(&rows, 0, slots, next)?.is_break() {
                        return Ok(Flow::Break(()));
                    }
                }
                None if growing.next.as_ref().is_some_and(|next| next.streams) => {
                    if self.grow_along(number, slots, next)?.is_break() {
                        return Ok(Flow::Break(()));
                    }
                    at = self.aside().ctes[number].as_ref().map_or(at, |cte| cte.found.len());
                }
                _ => self.grow(number)?,
            }
        }
    }

    /// Makes a WITH query known by its number.
    fn evaluated(
        &mut self,
        number: usize,
        found: Vec<Stashed<'a>>,
        weight: usize,
        growing: Option<Box<Growing<'a>>>,
    ) {
        let aside = self.aside();
        aside.rounds += 1;
        let cte = Evaluated { found, round: aside.rounds, weight, growing };
        if let Some(old) = aside.ctes[number].replace(cte) {
            self.memory.give(old.weight);
        }
    }

    /// Evaluates a WITH query when it is read: a recursive one as far as that goes, which may be a part of infinitely
    /// many rows. One that writes is evaluated at once, and so is one of a statement that writes: what it reads is
    /// there now.
    pub(super) fn evaluate_cte(&mut self, cte: &Cte) -> Result<()> {
        if cte.recursive.is_some() || !self.writes {
            let growing = Growing {
                first: cte.node.clone(),
                first_slots: cte.slots.clone(),
                next: cte.recursive.clone(),
                begun: false,
                seen: HashSet::new(),
                working: None,
                partial: None,
            };
            self.evaluated(cte.number, Vec::new(), 0, Some(Box::new(growing)));
            return Ok(());
        }
        // what a WITH query writes is not counted
        let affected = self.affected;
        let rows = self.collect(&cte.node, &cte.slots)?;
        self.affected = affected;
        let weight = rows.weight;
        self.evaluated(cte.number, vec![rows], weight, None);
        Ok(())
    }

    /// Finds the next rows of a recursive query: those that follow from the last ones.
    fn grow(&mut self, number: usize) -> Result<()> {
        let (node, slots) = self.begin_round(number)?;
        let found = self.collect(node.of(), &slots);
        let partial = self.end_round(number)?.partial.take();
        if let Some(rows) = partial {
            self.memory.give_rows(rows.weight);
            self.aside().ctes[number].as_mut().ok_or_else(lost)?.weight -= rows.weight;
        }
        self.note_round(number, found?)
    }

    /// Finds the next rows, and hands on each as it comes: there may be no end to them.
    fn grow_along(&mut self, number: usize, slots: &[Slot], next: Next<'_, 'a, W>) -> Result<Flow> {
        let (node, from) = self.begin_round(number)?;
        let mut rows = Stash::new(from.len());
        let flow = self.run(node.of(), &mut |exec| {
            let row = exec.copy(&from);
            exec.restore(slots, &row);
            rows.push(exec.context, &mut exec.memory, row)?;
            next(exec)
        });
        let growing = self.end_round(number)?;
        if flow?.is_break() {
            let rows = rows.finish()?;
            let weight = rows.weight;
            growing.partial = Some(rows);
            self.aside().ctes[number].as_mut().ok_or_else(lost)?.weight += weight;
            return Ok(Flow::Break(()));
        }
        self.note_round(number, rows.finish()?)?;
        Ok(Flow::Continue(()))
    }

    /// What the next rows come from, while the last ones are those that the query reads of itself.
    fn begin_round(&mut self, number: usize) -> Result<(Term, Vec<Slot>)> {
        self.context.check_cancel()?;
        let aside = self.aside();
        aside.rounds += 1;
        let round = aside.rounds;
        let cte = aside.ctes[number].as_mut().ok_or_else(lost)?;
        let growing = cte.growing.as_mut().ok_or_else(lost)?;
        if let (true, Some(next)) = (growing.begun, &growing.next) {
            growing.working = cte.found.last().map(|rows| (rows.clone(), round));
            return Ok((Term::Next(next.clone()), next.slots.clone()));
        }
        Ok((Term::First(growing.first.clone()), growing.first_slots.clone()))
    }

    fn end_round(&mut self, number: usize) -> Result<&mut Growing<'a>> {
        let cte = self.aside().ctes[number].as_mut().ok_or_else(lost)?;
        let growing = cte.growing.as_mut().ok_or_else(lost)?;
        growing.working = None;
        Ok(growing)
    }

    /// Notes the next rows.
    fn note_round(&mut self, number: usize, mut rows: Stashed<'a>) -> Result<()> {
        let context = self.context;
        let cte = self.aside.as_mut().and_then(|aside| aside.ctes[number].as_mut()).ok_or_else(lost)?;
        let growing = cte.growing.as_mut().ok_or_else(lost)?;
        growing.begun = true;
        if growing.next.as_ref().is_some_and(|next| next.distinct) {
            self.memory.give_rows(rows.weight);
            let mut fresh = Stash::new(growing.first_slots.len());
            let mut found = rows.drain();
            let mut looked = 0_usize;
            while let Some(row) = found.next()? {
                if looked.is_multiple_of(CHECK) {
                    context.check_cancel()?;
                }
                looked += 1;
                if growing.seen.contains(&row) {
                    continue;
                }
                let bytes = row_weight(&row);
                self.memory.take_rows(bytes)?;
                cte.weight += bytes;
                growing.seen.insert(row.clone());
                fresh.push(context, &mut self.memory, row)?;
            }
            rows = fresh.finish()?;
        }
        cte.weight += rows.weight;
        if rows.is_empty() || growing.next.is_none() {
            cte.growing = None;
        }
        if !rows.is_empty() {
            cte.found.push(rows);
        }
        Ok(())
    }
}
