//! What can be written, for those who ask the catalogs.

use super::Facts;
use scaledb_catalog::{Relation, ViewDesc};
use scaledb_parse::with_stack;
use scaledb_planner::bind::Binder;
use scaledb_planner::bind::dml::has_trigger_instead;
use scaledb_planner::plan::trigger::Event;
use scaledb_types::{Env, Result};
use std::sync::Arc;

/// UPDATE, by PostgreSQL's number of the command.
pub(super) const UPDATE: i32 = 1 << 2;
/// INSERT.
pub(super) const INSERT: i32 = 1 << 3;
/// DELETE.
pub(super) const DELETE: i32 = 1 << 4;

const ALL: i32 = UPDATE | INSERT | DELETE;

/// Which commands can write a relation, by its triggers, too, if these count.
///
/// # Errors
/// Those of the query of a view.
pub(super) fn relation(facts: &dyn Facts, oid: u32, triggers: bool) -> Result<i32> {
    written(facts, oid, triggers, None)
}

/// Whether a column of a relation can be updated.
///
/// # Errors
/// Those of the query of a view.
pub(super) fn column(facts: &dyn Facts, oid: u32, number: i64, triggers: bool) -> Result<bool> {
    let Some(at) = usize::try_from(number).ok().and_then(|number| number.checked_sub(1)) else {
        return Ok(false);
    };
    if let Some(table) = facts.catalog().table(oid) {
        let has = table.visible().any(|column| i64::from(column.attnum) == number);
        return Ok(has && !table.is_materialized());
    }
    let wanted = UPDATE | DELETE;
    Ok(written(facts, oid, triggers, Some(&[at]))? & wanted == wanted)
}

/// The commands that can write a relation, if these are the columns that count.
fn written(facts: &dyn Facts, oid: u32, triggers: bool, columns: Option<&[usize]>) -> Result<i32> {
    let (mut oid, mut columns) = (oid, columns.map(<[usize]>::to_vec));
    let (mut events, mut mask, mut seen) = (0, ALL, Vec::new());
    loop {
        let view = match facts.catalog().get(oid) {
            Some(Relation::Table(table)) if !table.is_materialized() => return Ok(events | mask),
            Some(Relation::View(view)) if !seen.contains(&oid) => view,
            _ => return Ok(events),
        };
        seen.push(oid);
        if triggers {
            events |= mask & by_triggers(view);
        }
        let env = Env::default();
        let binder = Binder::new(facts.catalog(), facts.lookup(), &env, Vec::new());
        let Ok(own) = with_stack(&view.query, || binder.examine(view))? else { return Ok(events) };
        let every = (0..own.columns.len()).filter(|at| columns.as_ref().is_none_or(|of| of.contains(at)));
        let updatable: Vec<usize> = every.filter_map(|at| own.columns[at].ok()).collect();
        if updatable.is_empty() {
            mask &= DELETE;
        }
        (oid, columns) = (own.lower.oid(), Some(updatable));
    }
}

fn by_triggers(view: &Arc<ViewDesc>) -> i32 {
    let of = |event: Event, bit: i32| if has_trigger_instead(view, event) { bit } else { 0 };
    of(Event::Insert, INSERT) | of(Event::Update, UPDATE) | of(Event::Delete, DELETE)
}
