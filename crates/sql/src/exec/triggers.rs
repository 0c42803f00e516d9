//! Triggers at work.
//!
//! Those that fire before a row is written may change it, or keep it from being written. Those that fire after rows
//! wait until the statement has written all of them and its foreign keys are checked; those that are deferred
//! constraints, until the transaction commits.

use super::Exec;
use super::late::Check;
use crate::memory::Reservation;
use crate::routine::{Finished, run};
use scaledb_catalog::{Initially, TriggerTiming};
use scaledb_engine::Worker;
use scaledb_planner::plan::BoundTable;
use scaledb_planner::plan::trigger::{Event, Trigger, Triggers, seen};
use scaledb_types::row_weight;
use scaledb_types::{Array, Base, Dimension, Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

/// A row as triggers see it: the values of all columns of its table.
pub(crate) type Row = Box<[Value]>;

/// A trigger that waits for the end of the statement, or of the transaction.
#[derive(Clone, Debug)]
pub(crate) struct Fired {
    pub(super) trigger: Arc<Trigger>,
    table: Arc<BoundTable>,
    event: Event,
    old: Option<Arc<Row>>,
    new: Option<Arc<Row>>,
    /// The memory of the rows, if they outlive the statement.
    _reserved: Option<Arc<Reservation>>,
    /// How many savepoints there were when it fired, if it has: a rollback to one of them takes that back.
    pub(crate) done: Option<usize>,
}

impl Fired {
    /// The table whose change it fires on.
    pub(super) fn table(&self) -> u32 {
        self.table.desc.oid
    }
}

/// The rows of a table that a statement has written, for the triggers that see all of them.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    table: Arc<BoundTable>,
    event: Event,
    old: Vec<Arc<Row>>,
    new: Vec<Arc<Row>>,
}

impl Written {
    /// The rows as they are now, or as they were: what triggers see of each.
    pub(crate) fn rows(&self, new: bool) -> Vec<Vec<Value>> {
        let rows = if new { &self.new } else { &self.old };
        let row = |row: &Arc<Row>| seen(&self.table).map(|position| row[position].clone()).collect();
        rows.iter().map(row).collect()
    }

    fn is_of(&self, table: &BoundTable, event: Event) -> bool {
        self.table.desc.oid == table.desc.oid && self.event == event
    }
}

/// What waits for the end of a statement.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Triggers, in the order in which they fire.
    fired: Vec<Fired>,
    /// The rows that were written, if triggers see all of them.
    written: Vec<Arc<Written>>,
}

impl Waiting {
    /// Of how many rows something is kept.
    pub(crate) fn len(&self) -> usize {
        let kept = |written: &Arc<Written>| written.old.len().max(written.new.len());
        self.written.iter().map(kept).sum::<usize>().max(self.fired.len())
    }

    /// Whether no trigger waits.
    pub(super) fn is_empty(&self) -> bool {
        self.fired.is_empty()
    }

    /// Keeps a row for the triggers that see all of them.
    fn keep(&mut self, table: &Arc<BoundTable>, event: Event, old: Option<Arc<Row>>, new: Option<Arc<Row>>) {
        let known =
            self.written.iter().position(|written| written.is_of(table, event)).unwrap_or_else(|| {
                self.written.push(Arc::new(Written {
                    table: table.clone(),
                    event,
                    old: Vec::new(),
                    new: Vec::new(),
                }));
                self.written.len() - 1
            });
        // no trigger runs that has it, too
        let written = Arc::make_mut(&mut self.written[known]);
        written.old.extend(old);
        written.new.extend(new);
    }
}

/// The values in the first places of the frame of a trigger's function: those of the new row and of the old one, and
/// what the function is told of the trigger.
pub(crate) fn arguments(
    trigger: &Trigger,
    table: &BoundTable,
    event: Event,
    old: Option<&[Value]>,
    new: Option<&[Value]>,
) -> Result<Vec<Value>> {
    let mut values = rows(table, old, new);
    let desc = &trigger.desc;
    let when = match desc.timing {
        TriggerTiming::Before => "BEFORE",
        TriggerTiming::After => "AFTER",
        TriggerTiming::InsteadOf => "INSTEAD OF",
    };
    let count = i32::try_from(desc.arguments.len()).unwrap_or(i32::MAX);
    let texts: Vec<Value> = desc.arguments.iter().map(Value::text).collect();
    let dims = vec![Dimension { len: count, lower: 0 }];
    let texts = Array::with_dimensions(Type::of(Base::Text), dims, texts)?;
    values.extend([
        Value::text(desc.name.as_str()),
        Value::text(when),
        Value::text(if desc.for_each_row { "ROW" } else { "STATEMENT" }),
        Value::text(event.word()),
        Value::Oid(table.desc.oid),
        Value::text(table.desc.name.as_str()),
        Value::text(table.desc.name.as_str()),
        Value::text(table.desc.schema.as_str()),
        Value::Int4(count),
        if count == 0 { Value::Null } else { Value::Array(Arc::new(texts)) },
    ]);
    Ok(values)
}

/// The values of the new row and of the old one, as far as triggers see them; NULLs if there is none.
fn rows(table: &BoundTable, old: Option<&[Value]>, new: Option<&[Value]>) -> Vec<Value> {
    let row = |row: Option<&[Value]>| -> Vec<Value> {
        seen(table).map(|position| row.map_or(Value::Null, |row| row[position].clone())).collect()
    };
    let mut values = row(new);
    values.append(&mut row(old));
    values.extend([new, old].map(|row| Value::Bool(row.is_some())));
    values
}

impl<W: Worker> Exec<'_, W> {
    /// Refuses triggers in a statement whose parts see the rows as of its start.
    ///
    /// # Errors
    /// 0A000.
    pub(super) fn admit_triggers(&self, triggers: &Triggers) -> Result<()> {
        if triggers.all().next().is_some() && self.parts.is_some() {
            let what = "triggers are not supported where a statement has several parts that write, or reads in RETURNING";
            return Err(SqlError::unsupported(what));
        }
        Ok(())
    }

    /// Fires triggers that fire once for a statement.
    pub(crate) fn fire_statement(
        &mut self,
        triggers: &[Arc<Trigger>],
        table: &Arc<BoundTable>,
        event: Event,
    ) -> Result<()> {
        for trigger in triggers {
            if self.applies(trigger, table, None, None)? {
                self.fire(trigger, table, event, None, None)?;
            }
        }
        Ok(())
    }

    /// Fires the triggers before a row is written: the row that is to be written then, or none. Of a row that is
    /// deleted nothing is written.
    pub(super) fn fire_before(
        &mut self,
        triggers: &Triggers,
        table: &Arc<BoundTable>,
        old: Option<&[Value]>,
        new: Option<Vec<Value>>,
    ) -> Result<Option<Vec<Value>>> {
        let deletes = new.is_none();
        let mut new = new;
        // they see no generated column of the new row, as what it is computed of may still change
        let mut computed = Vec::new();
        if let Some(new) = new.as_mut().filter(|_| !triggers.before_row.is_empty()) {
            for (position, column) in table.desc.columns.iter().enumerate() {
                if column.generated.is_some() {
                    computed.push((position, std::mem::take(&mut new[position])));
                }
            }
        }
        for trigger in &triggers.before_row {
            if !self.fire_one_before(trigger, (table, triggers.event), old, new.as_mut())? {
                return Ok(None);
            }
        }
        if let Some(new) = &mut new {
            for (position, value) in computed {
                new[position] = value;
            }
        }
        Ok(if deletes { Some(Vec::new()) } else { new })
    }

    /// Fires one trigger before a row is written, or in the place of that: whether the row is to be written. It may
    /// change the new row.
    fn fire_one_before(
        &mut self,
        trigger: &Arc<Trigger>,
        (table, event): (&Arc<BoundTable>, Event),
        old: Option<&[Value]>,
        new: Option<&mut Vec<Value>>,
    ) -> Result<bool> {
        if !self.applies(trigger, table, old, new.as_deref().map(Vec::as_slice))? {
            return Ok(true);
        }
        let row = self.fire(trigger, table, event, old, new.as_deref().map(Vec::as_slice))?;
        let (Some(row), Some(new)) = (&row, new) else { return Ok(row.is_some()) };
        let width = seen(table).count();
        if row.len() != width {
            let what = "returned row structure does not match the structure of the triggering table";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        }
        for (position, value) in seen(table).zip(row) {
            // what is computed is computed behind the triggers
            if table.desc.columns[position].generated.is_none() {
                new[position].clone_from(value);
            }
        }
        Ok(true)
    }

    /// Fires the triggers of a view in the place of what is to be done with a row: whether they have done it. They may
    /// change the new row, which RETURNING sees.
    pub(super) fn fire_instead(
        &mut self,
        triggers: &Triggers,
        table: &Arc<BoundTable>,
        old: Option<&[Value]>,
        mut new: Option<&mut Vec<Value>>,
    ) -> Result<bool> {
        for trigger in &triggers.instead {
            if !self.fire_one_before(trigger, (table, triggers.event), old, new.as_deref_mut())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets the triggers that fire after a row wait for the end of the statement.
    pub(super) fn fire_after(
        &mut self,
        triggers: &Triggers,
        table: &Arc<BoundTable>,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<()> {
        if triggers.after_row.is_empty() && !triggers.keeps_rows {
            return Ok(());
        }
        let kept = |row: Option<&[Value]>| row.map(|row| Arc::new(Row::from(row)));
        let (kept_old, kept_new) = (kept(old), kept(new));
        let weight: usize = [old, new].into_iter().flatten().map(row_weight).sum();
        let (mut bytes, mut reserved) = (0, None);
        if triggers.keeps_rows {
            bytes = weight;
            self.waiting.keep(table, triggers.event, kept_old.clone(), kept_new.clone());
        }
        for trigger in &triggers.after_row {
            if !self.applies(trigger, table, old, new)? {
                continue;
            }
            let mut fired = Fired {
                trigger: trigger.clone(),
                table: table.clone(),
                event: triggers.event,
                old: kept_old.clone(),
                new: kept_new.clone(),
                _reserved: None,
                done: None,
            };
            if self.fires_late(trigger) {
                if reserved.is_none() {
                    reserved = Some(Arc::new(Reservation::new(self.context.budget, weight)?));
                }
                fired._reserved.clone_from(&reserved);
                self.deferred.push(Check::Trigger(fired));
            } else {
                bytes = weight;
                self.waiting.fired.push(fired);
            }
        }
        self.memory.take(bytes)
    }

    /// Whether a trigger that fires after a row waits for the end of the transaction.
    pub(super) fn fires_late(&self, trigger: &Trigger) -> bool {
        let Some(constraint) = &trigger.desc.constraint else { return false };
        constraint.deferrable.is_some_and(|initially| {
            self.context.is_deferred(&constraint.name, initially == Initially::Deferred)
        })
    }

    /// Fires what has waited for the end of the statement.
    pub(crate) fn fire_waiting(&mut self) -> Result<()> {
        for fired in std::mem::take(&mut self.waiting.fired) {
            self.tick()?;
            self.fire_kept(&fired)?;
        }
        Ok(())
    }

    /// Fires what has waited for the end of the transaction, by the function as it is by now.
    ///
    /// # Errors
    /// Those of the function; 42883 if it is gone.
    pub(super) fn fire_late(&mut self, fired: &Fired) -> Result<()> {
        let function = self.context.host.latest(&fired.trigger.function).ok_or_else(|| {
            let what = format!("the function of trigger \"{}\" was dropped", fired.trigger.desc.name);
            SqlError::new(SqlState::UNDEFINED_FUNCTION, what)
        })?;
        let trigger = Trigger { desc: fired.trigger.desc.clone(), function };
        self.fire_kept(&Fired { trigger: Arc::new(trigger), ..fired.clone() })
    }

    fn fire_kept(&mut self, fired: &Fired) -> Result<()> {
        let row = |row: &Option<Arc<Row>>| row.as_ref().map(|row| row.to_vec());
        let (old, new) = (row(&fired.old), row(&fired.new));
        self.fire(&fired.trigger, &fired.table, fired.event, old.as_deref(), new.as_deref()).map(drop)
    }

    /// Whether the condition of a trigger holds.
    fn applies(
        &mut self,
        trigger: &Trigger,
        table: &Arc<BoundTable>,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<bool> {
        if trigger.desc.condition.is_none() {
            return Ok(true);
        }
        let condition = self.context.host.condition(trigger, table)?;
        match run(self, &condition, rows(table, old, new))? {
            Finished::Value(value) => Ok(value.is_true()),
            _ => Err(SqlError::internal("a condition without a value")),
        }
    }

    fn fire(
        &mut self,
        trigger: &Trigger,
        table: &Arc<BoundTable>,
        event: Event,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<Option<Vec<Value>>> {
        let values = arguments(trigger, table, event, old, new)?;
        let depth = &self.context.triggers;
        depth.set(depth.get() + 1);
        let sees_all = trigger.desc.has_transitions();
        if sees_all {
            let known = self.waiting.written.iter().find(|written| written.is_of(table, event));
            let none = || Arc::new(Written { table: table.clone(), event, old: Vec::new(), new: Vec::new() });
            self.context.host.enter_trigger(known.cloned().unwrap_or_else(none));
        }
        let result = self.call_routine(&trigger.function, Some((&trigger.desc, table.desc.oid)), values);
        if sees_all {
            self.context.host.leave_trigger();
        }
        self.context.triggers.set(self.context.triggers.get() - 1);
        match result? {
            Finished::Row(row) => Ok(row),
            _ => {
                let what = "trigger function returned what is no row";
                Err(SqlError::new(SqlState::TRIGGER_PROTOCOL_VIOLATED, what))
            }
        }
    }
}
