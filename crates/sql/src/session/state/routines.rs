//! Routines as statements at work call them: made ready once, and their pieces of SQL compiled.

use super::SessionState;
use crate::routine::{Loaded, Said, Strictness, WrittenNames, load, load_condition};
use scaledb_catalog::{Relation, RoutineDesc, TriggerDesc};
use scaledb_engine::Engine;
use scaledb_parse::plpgsql::NameConflicts;
use scaledb_planner::plan::trigger::Trigger;
use scaledb_planner::plan::{BoundTable, Plan};
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;

/// Routines that a session keeps; all are dropped when there are more.
const MAX_ROUTINES: usize = 1_000;

impl<E: Engine> SessionState<E> {
    /// A routine, ready to run; for the rows of a table if a trigger of it calls it.
    ///
    /// # Errors
    /// What is wrong with its body.
    pub(super) fn loaded(
        &self,
        desc: &Arc<RoutineDesc>,
        by: Option<(&TriggerDesc, u32)>,
    ) -> Result<Arc<Loaded>> {
        // what foreign keys set calls some that no plan has noted
        self.used.note(desc.oid);
        // triggers of one table differ in what they call the rows that a statement has written
        let of = by.map(|(trigger, table)| if trigger.has_transitions() { trigger.oid } else { table });
        let table = by.map(|(_, table)| table);
        let key = (desc.oid, of.unwrap_or(0), desc.instance.clone());
        if let Some(known) = self.routines.borrow().get(&key) {
            return Ok(known.clone());
        }
        let of_view;
        let rows = match table.and_then(|table| self.catalog.get(table)) {
            Some(Relation::Table(table)) => Some(&**table),
            Some(Relation::View(view)) => {
                of_view = view.as_table();
                Some(&of_view)
            }
            _ => None,
        };
        let mut loaded = load(&self.catalog, &self.path, desc, rows)?;
        loaded.strictness = self.strictness();
        loaded.written = by.filter(|(trigger, _)| trigger.has_transitions()).map(|(trigger, table)| {
            WrittenNames { table, old: trigger.old_table.clone(), new: trigger.new_table.clone() }
        });
        loaded.cursors = Some(self.portals.clone());
        let loaded = Arc::new(loaded);
        let mut routines = self.routines.borrow_mut();
        if routines.len() >= MAX_ROUTINES {
            routines.clear();
        }
        routines.insert(key, loaded.clone());
        Ok(loaded)
    }

    /// What the settings say of what PL/pgSQL lets pass.
    pub(in crate::session) fn strictness(&self) -> Strictness {
        let settings = self.settings.borrow();
        let value = |name: &str| settings.get(name).unwrap_or_default();
        let lists = |name: &str, check: &str| value(name).split(", ").any(|listed| listed == check);
        let said = |check: &str| {
            if lists("plpgsql.extra_errors", check) {
                Said::Error
            } else if lists("plpgsql.extra_warnings", check) {
                Said::Warning
            } else {
                Said::Nothing
            }
        };
        Strictness {
            without_asserts: value("plpgsql.check_asserts") == "off",
            conflicts: match value("plpgsql.variable_conflict") {
                "use_column" => NameConflicts::Column,
                "use_variable" => NameConflicts::Variable,
                _ => NameConflicts::Refused,
            },
            too_many_rows: said("too_many_rows"),
            multi_assignment: said("strict_multi_assignment"),
        }
    }

    /// The condition of a trigger, ready to run.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn loaded_condition(&self, trigger: &Trigger, table: &BoundTable) -> Result<Arc<Loaded>> {
        let key = (trigger.desc.oid, table.desc.oid, None);
        if let Some(known) = self.routines.borrow().get(&key) {
            return Ok(known.clone());
        }
        let text = trigger.desc.condition.as_deref().unwrap_or("true");
        let loaded = Arc::new(load_condition(&self.catalog, text, &table.desc)?);
        self.routines.borrow_mut().insert(key, loaded.clone());
        Ok(loaded)
    }

    /// Notes what a plan uses that a function runs within a statement.
    ///
    /// # Errors
    /// 25006.
    pub(super) fn use_nested(&self, plan: &Plan) -> Result<()> {
        if self.is_read_only() && (plan.lasting || plan.locks.is_some()) {
            let what = match plan.locks {
                Some(statement) => format!("cannot execute {statement} in a read-only transaction"),
                None => "cannot execute a statement that writes in a read-only transaction".to_owned(),
            };
            return Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, what));
        }
        self.check_needs(plan)?;
        self.check_populated(plan)?;
        self.note_uses(plan);
        plan.tables.iter().for_each(|(oid, _)| self.used.note(*oid));
        if plan.writes {
            self.wrote.set(true);
        }
        Ok(())
    }
}
