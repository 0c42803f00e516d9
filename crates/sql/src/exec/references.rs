//! Foreign keys.
//!
//! A look is a read like any other: what is found, or not found, is validated at the commit. So no other
//! transaction can remove the row that is referred to, or add one that refers to what was removed.
//!
//! The two sides may be of other types: an `int4` refers to an `int8`. Values are looked for in the type of the side
//! where they are looked for; what that type cannot hold is not there.

use super::late::Check;
use super::{Exec, codec};
use crate::counts::Write;
use scaledb_base::TableId;
use scaledb_catalog::Action;
use scaledb_engine::{Order, Range, RowId, Worker};
use scaledb_keys::KeyBuf;
use scaledb_planner::plan::trigger::Event;
use scaledb_planner::plan::{ForeignKey, IndexRef, Slot};
use scaledb_row::{Projection, RowRef};
use scaledb_types::cast::{Context, find_cast, no_cast};
use scaledb_types::{Env, Result, SqlError, SqlState, Type, Value};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A foreign key to check.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(super) key: Arc<ForeignKey>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// A row refers to these values.
    Referring(Vec<Value>),
    /// The row that was referred to by `old` is gone, or has become `new`.
    Referred { old: Vec<Value>, new: Option<Vec<Value>> },
}

impl Reference {
    /// A row that refers; `None` if it refers to nothing.
    ///
    /// # Errors
    /// 23503 if MATCH FULL finds some NULLs.
    pub(super) fn referring(key: Arc<ForeignKey>, values: Vec<Value>) -> Result<Option<Self>> {
        let nulls = values.iter().filter(|value| value.is_null()).count();
        if key.desc.full && nulls > 0 && nulls < values.len() {
            return Err(violation(&key, false)
                .detail("MATCH FULL does not allow mixing of null and nonnull key values."));
        }
        Ok((nulls == 0).then_some(Self { key, kind: Kind::Referring(values) }))
    }

    /// A row that was referred to.
    pub(super) fn referred(key: Arc<ForeignKey>, old: Vec<Value>, new: Option<Vec<Value>>) -> Self {
        Self { key, kind: Kind::Referred { old, new } }
    }

    /// The key of the row that must be there for one that refers to it.
    ///
    /// # Errors
    /// Those of the key.
    pub(super) fn looked_for(&self) -> Result<Option<(TableId, KeyBuf)>> {
        let Kind::Referring(values) = &self.kind else { return Ok(None) };
        referred_by(&self.key, values).map(|wanted| key_of_referred(&self.key, &wanted)).transpose()
    }

    /// Whether it may wait for the end of the transaction: actions are taken at once.
    pub(super) fn may_wait(&self) -> bool {
        let action = match &self.kind {
            Kind::Referring(_) => Action::NoAction,
            Kind::Referred { new: None, .. } => self.key.desc.on_delete,
            Kind::Referred { new: Some(_), .. } => self.key.desc.on_update,
        };
        action == Action::NoAction
    }

    /// The table whose change asked for it.
    pub(super) fn table(&self) -> u32 {
        match &self.kind {
            Kind::Referring(_) => self.key.from.desc.oid,
            Kind::Referred { .. } => self.key.to.desc.oid,
        }
    }
}

/// What rows with these values refer to; `None` if no row can have it.
fn referred_by<'v>(key: &ForeignKey, values: &'v [Value]) -> Option<Cow<'v, [Value]>> {
    equal_in(values, key.referring_types().zip(key.referred_types()))
}

/// What rows have that refer to these values; `None` if no row can have it.
fn referring_to<'v>(key: &ForeignKey, values: &'v [Value]) -> Option<Cow<'v, [Value]>> {
    equal_in(values, key.referred_types().zip(key.referring_types()))
}

/// Values of the first types as equal values of the second, if these have them.
fn equal_in(values: &[Value], types: impl Iterator<Item = (Type, Type)> + Clone) -> Option<Cow<'_, [Value]>> {
    // all text types store their values the same way
    let alike = |(from, to): (Type, Type)| from.plain() == to.plain() || from.is_text() && to.is_text();
    if types.clone().all(alike) {
        return Some(Cow::Borrowed(values));
    }
    let env = Env::default();
    let cast = |value: &Value, from: Type, to: Type| {
        find_cast(from.plain(), to.plain(), Context::Explicit)?.apply(value, &env).ok()
    };
    let equal = |(value, (from, to)): (&Value, (Type, Type))| {
        if alike((from, to)) {
            return Some(value.clone());
        }
        let there = cast(value, from, to)?;
        (cast(&there, to, from)? == *value).then_some(there)
    };
    values.iter().zip(types).map(equal).collect::<Option<_>>().map(Cow::Owned)
}

fn violation(key: &ForeignKey, referred: bool) -> SqlError {
    let (name, from) = (&key.desc.name, &key.from.desc);
    let message = if referred {
        let to = &key.to.desc.name;
        format!(
            "update or delete on table \"{to}\" violates foreign key constraint \"{name}\" on table \"{}\"",
            from.name
        )
    } else {
        format!("insert or update on table \"{}\" violates foreign key constraint \"{name}\"", from.name)
    };
    SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
        .table(from.schema.as_str(), from.name.as_str())
        .constraint(name.as_str())
}

/// The unique key of a row that is referred to.
fn key_of_referred(key: &ForeignKey, values: &[Value]) -> Result<(TableId, KeyBuf)> {
    let mut encoded = KeyBuf::new();
    for (column, &number) in key.to.index_columns(key.unique).iter().zip(&key.key_order) {
        codec::push_key(&mut encoded, &key.to, column, &values[number])?;
    }
    Ok((key.to.index_id(key.unique), encoded))
}

impl<'a, W: Worker> Exec<'a, W> {
    pub(super) fn check_reference(&mut self, check: &Reference, late: bool) -> Result<()> {
        let key = &check.key;
        match &check.kind {
            Kind::Referring(values) => {
                if let Some(wanted) = referred_by(key, values)
                    && self.is_there(key, &wanted)?
                {
                    return Ok(());
                }
                // the referring row may have been deleted since
                if late && self.referring(key, values, true)?.is_empty() {
                    return Ok(());
                }
                let shown = self.shown_key(key, values, false);
                let detail = format!("Key{shown} is not present in table \"{}\".", key.to.desc.name);
                Err(violation(key, false).detail(detail))
            }
            Kind::Referred { old, new } => {
                if old.iter().any(Value::is_null) {
                    return Ok(());
                }
                let action = if new.is_some() { key.desc.on_update } else { key.desc.on_delete };
                if action == Action::NoAction && self.is_there(key, old)? {
                    return Ok(());
                }
                let sets = if new.is_some() { &[][..] } else { &key.desc.on_delete_sets[..] };
                let first = matches!(action, Action::NoAction | Action::Restrict);
                let Some(wanted) = referring_to(key, old) else { return Ok(()) };
                let rows = self.referring(key, &wanted, first)?;
                if rows.is_empty() {
                    return Ok(());
                }
                match (action, new) {
                    (Action::NoAction | Action::Restrict, _) => {
                        let shown = self.shown_key(key, old, true);
                        let from = &key.from.desc.name;
                        let detail = format!("Key{shown} is still referenced from table \"{from}\".");
                        Err(violation(key, true).detail(detail))
                    }
                    (Action::Cascade, None) => self.cascade_delete(key, rows),
                    (Action::Cascade, Some(new)) => {
                        let new = self.assigned(key, new)?;
                        self.cascade_update(key, rows, &new, &[])
                    }
                    (Action::SetNull, _) => {
                        let nulls = vec![Value::Null; old.len()];
                        self.cascade_update(key, rows, &nulls, sets)
                    }
                    (Action::SetDefault, _) => self.cascade_update(key, rows, &key.set_default, sets),
                }
            }
        }
    }

    /// A key as details print it, for those who may read its columns.
    fn shown_key(&self, key: &ForeignKey, values: &[Value], referred: bool) -> String {
        let (table, columns) =
            if referred { (&key.to, &key.to_columns) } else { (&key.from, &key.from_columns) };
        match self.shows_key(table, columns.iter().copied()) {
            true => format!(" ({})=({})", self.names(key, referred), self.values(key, values, referred)),
            false => String::new(),
        }
    }

    fn names(&self, key: &ForeignKey, referred: bool) -> String {
        let (table, columns) =
            if referred { (&key.to, &key.to_columns) } else { (&key.from, &key.from_columns) };
        let names = columns.iter().map(|&column| table.desc.columns[column].name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    fn values(&self, key: &ForeignKey, values: &[Value], referred: bool) -> String {
        let (table, columns) =
            if referred { (&key.to, &key.to_columns) } else { (&key.from, &key.from_columns) };
        let types = columns.iter().map(|&column| table.types[column]);
        let values = values.iter().zip(types).map(|(value, ty)| self.printed(value, ty));
        values.collect::<Vec<_>>().join(", ")
    }

    /// Values of the referred columns as the referring ones take them.
    fn assigned<'v>(&self, key: &ForeignKey, values: &'v [Value]) -> Result<Cow<'v, [Value]>> {
        let types = || key.referred_types().zip(key.referring_types());
        if types().all(|(from, to)| from == to) {
            return Ok(Cow::Borrowed(values));
        }
        let assign = |(value, (from, to)): (&Value, (Type, Type))| {
            let cast = find_cast(from, to, Context::Assignment).ok_or_else(|| no_cast(from, to))?;
            cast.apply(value, self.context.env)
        };
        values.iter().zip(types()).map(assign).collect::<Result<_>>().map(Cow::Owned)
    }

    /// Whether the row that is referred to exists.
    fn is_there(&mut self, key: &ForeignKey, values: &[Value]) -> Result<bool> {
        let (id, encoded) = key_of_referred(key, values)?;
        let found = self.worker()?.get(id, &encoded, &Projection::existence(), |_, _| ());
        Ok(found.map_err(|error| self.context.engine_error(error))?.is_some())
    }

    /// The rows that refer to these values: all, or whether there is one.
    fn referring(
        &mut self,
        key: &ForeignKey,
        values: &[Value],
        first: bool,
    ) -> Result<Vec<(RowId, Box<[Value]>)>> {
        let table = &key.from;
        let (index, prefix) = match &key.index {
            Some((index, order)) => {
                let mut prefix = KeyBuf::new();
                for (column, &number) in table.index_columns(*index).iter().zip(order) {
                    codec::push_key(&mut prefix, table, column, &values[number])?;
                }
                (table.index_id(*index), prefix)
            }
            None => (table.index_id(IndexRef::Primary), KeyBuf::new()),
        };
        let mut end = prefix.clone();
        let end = if end.next_prefix() { Some(end) } else { None };
        let range = Range { start: &prefix, end: end.as_deref() };
        let Some(worker) = self.worker.take() else {
            return Err(SqlError::internal("a nested read within a scan"));
        };
        let mut rows = Vec::new();
        let mut failed = None;
        let read = |row: RowRef<'_>| -> Result<Option<Box<[Value]>>> {
            for (&column, value) in key.from_columns.iter().zip(values) {
                if codec::column(row, table, column)? != *value {
                    return Ok(None);
                }
            }
            codec::columns(row, table).collect::<Result<_>>().map(Some)
        };
        let all = Projection::all(&table.info.schema);
        let scanned = worker.scan(index, range, Order::Forward, &all, |id, _, row| match read(row) {
            Ok(Some(values)) => {
                rows.push((id, values));
                if first { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        });
        self.worker = Some(worker);
        scanned.map_err(|error| self.context.engine_error(error))?;
        failed.map_or(Ok(rows), Err)
    }

    fn cascade_delete(&mut self, key: &ForeignKey, rows: Vec<(RowId, Box<[Value]>)>) -> Result<()> {
        let (_, further) = self.context.host.keys_of(key.from.desc.oid)?;
        let triggers = self.context.host.triggers_of(&key.from, Event::Delete, None);
        for (id, old) in rows {
            if let Some(triggers) = &triggers
                && self.fire_before(triggers, &key.from, Some(&old), None)?.is_none()
            {
                continue;
            }
            let deleted = self.worker()?.delete_at(key.from.info.id, id);
            deleted.map_err(|error| self.context.engine_error(error))?;
            self.context.counts.wrote(key.from.desc.oid, Write::Delete);
            for further in further.iter() {
                let values = further.to_columns.iter().map(|&column| old[column].clone()).collect();
                self.note(Check::referred(further.clone(), values, None));
            }
            if let Some(triggers) = &triggers {
                self.fire_after(triggers, &key.from, Some(&old), None)?;
            }
        }
        Ok(())
    }

    /// A row with other values of the referring columns, or of some of them, and of those that are computed from them.
    fn set_columns(
        &mut self,
        key: &ForeignKey,
        old: &[Value],
        values: &[Value],
        sets: &[i16],
    ) -> Result<Box<[Value]>> {
        let (table, setting) = (&*key.from, &key.setting);
        let mut new = old.to_vec();
        for (&column, value) in key.from_columns.iter().zip(values) {
            if sets.is_empty() || sets.contains(&table.desc.columns[column].attnum) {
                new[column] = value.clone();
            }
        }
        let row: Vec<Slot> = (0..new.len()).collect();
        let frame = std::mem::replace(&mut self.frame, new);
        let set = |column: usize| sets.is_empty() || sets.contains(&table.desc.columns[column].attnum);
        let mut domains = setting.domains.iter().filter(|(column, _)| set(*column));
        let checked = domains
            .try_for_each(|(_, value)| self.eval(value).map(drop))
            .and_then(|()| self.generate(&setting.generated, &row))
            .and_then(|()| self.check_conditions(table, (&setting.not_null, &setting.checks, &[]), &row));
        let mut new = std::mem::replace(&mut self.frame, frame);
        new.truncate(row.len());
        checked.map(|()| new.into())
    }

    /// Sets the referring columns, or some of them.
    fn cascade_update(
        &mut self,
        key: &Arc<ForeignKey>,
        rows: Vec<(RowId, Box<[Value]>)>,
        values: &[Value],
        sets: &[i16],
    ) -> Result<()> {
        let (table, setting) = (&key.from, &key.setting);
        let (references, further) = self.context.host.keys_of(table.desc.oid)?;
        let all = Projection::all(&table.info.schema);
        let triggers = self.context.host.triggers_of(table, Event::Update, Some(&setting.columns));
        for (id, old) in rows {
            let new = self.set_columns(key, &old, values, sets)?;
            if let Some(triggers) = &triggers {
                match self.fire_before(triggers, table, Some(&old), Some(new.to_vec()))? {
                    None => continue,
                    Some(row) if *row == *new => {}
                    Some(_) => return Err(changed_by_trigger(&table.desc.name)),
                }
            }
            self.change_row(table, id, &setting.columns, &all, &old, &new)?;
            self.note_keys(table, &table.late(), &old, &new)?;
            self.context.counts.wrote(table.desc.oid, Write::Update);
            for other in references.iter() {
                let own = other.desc.oid == key.desc.oid;
                let refers =
                    |column: &usize| setting.columns.contains(column) && old[*column] != new[*column];
                let defaults = [key.desc.on_update, key.desc.on_delete].contains(&Action::SetDefault);
                if if own { defaults } else { other.from_columns.iter().any(refers) } {
                    let values = other.from_columns.iter().map(|&column| new[column].clone()).collect();
                    self.note(Check::referring(other.clone(), values)?);
                }
            }
            for further in further.iter() {
                let pick = |row: &[Value]| -> Vec<Value> {
                    further.to_columns.iter().map(|&column| row[column].clone()).collect()
                };
                let (before, after) = (pick(&old), pick(&new));
                if !Value::are_identical(&before, &after) {
                    self.note(Check::referred(further.clone(), before, Some(after)));
                }
            }
            if let Some(triggers) = &triggers {
                self.fire_after(triggers, table, Some(&old), Some(&new))?;
            }
        }
        Ok(())
    }
}

/// 0A000: a trigger would have another row written than the action of a foreign key.
#[cold]
fn changed_by_trigger(table: &str) -> SqlError {
    let what =
        format!("a trigger of table \"{table}\" changes a row that an action of a foreign key updates");
    SqlError::unsupported(what).hint("Let the trigger leave such rows as they are, or fire AFTER UPDATE.")
}
