//! Which of the expressions that a table is kept with call a routine.

use super::super::Session;
use scaledb_catalog::{RoutineDesc, TableDesc, TriggerDesc};
use scaledb_engine::Engine;
use scaledb_parse::lex::{Lexer, name_of};
use scaledb_types::Result;
use std::sync::Arc;

/// Whether a text has a name that may be a routine's.
fn has_name(text: &str, desc: &RoutineDesc) -> bool {
    Lexer::new(text).any(|token| name_of(token, text).as_deref() == Some(desc.name.as_str()))
}

impl<E: Engine> Session<E> {
    /// Whether the default of a column calls a routine.
    pub(super) fn default_calls(
        &self,
        table: &Arc<TableDesc>,
        position: usize,
        desc: &RoutineDesc,
    ) -> Result<bool> {
        if !table.columns[position].default.as_ref().is_some_and(|text| has_name(text, desc)) {
            return Ok(false);
        }
        let table = self.unmade(table)?;
        self.bind_kept_over(&table, |binder| {
            binder.default(&table, position)?;
            Ok(binder.relations.contains(&desc.oid))
        })
    }

    /// What calls a routine and would not go with it: constraints, generated columns and indexes of tables, conditions
    /// of triggers, defaults of parameters, and what domains demand.
    pub(super) fn kept_calls(&self, desc: &RoutineDesc) -> Result<Vec<String>> {
        let mut users = Vec::new();
        for table in self.state.catalog.tables() {
            self.calls_of_table(table, desc, &mut users)?;
        }
        // these are few, so that a name is enough
        for table in self.state.catalog.triggering() {
            let calls = |trigger: &&TriggerDesc| {
                trigger.function != desc.oid
                    && trigger.condition.as_ref().is_some_and(|text| has_name(text, desc))
            };
            let kind = if self.state.catalog.table(table.oid).is_some() { "table" } else { "view" };
            let named = |trigger: &TriggerDesc| format!("trigger {} on {kind} {}", trigger.name, table.name);
            users.extend(table.triggers.iter().filter(calls).map(named));
        }
        for routine in self.state.catalog.routines().filter(|routine| routine.oid != desc.oid) {
            let mut defaults = routine.parameters.iter().filter_map(|parameter| parameter.default.as_deref());
            if defaults.any(|text| has_name(text, desc)) {
                users.push(format!("{} {}", routine.kind.word(), self.signature_of(routine)));
            }
        }
        for domain in self.state.catalog.domains() {
            let checks = domain.checks.iter().map(|check| check.expression.as_str());
            if checks.chain(domain.default.as_deref()).any(|text| has_name(text, desc)) {
                users.push(format!("type {}", domain.name));
            }
        }
        Ok(users)
    }

    fn calls_of_table(
        &self,
        table: &Arc<TableDesc>,
        desc: &RoutineDesc,
        users: &mut Vec<String>,
    ) -> Result<()> {
        let mut texts: Vec<(String, &str)> = Vec::new();
        for check in &table.checks {
            texts.push((format!("constraint {} on table {}", check.name, table.name), &check.expression));
        }
        for column in table.visible() {
            if let Some(text) = &column.generated {
                texts.push((format!("column {} of table {}", column.name, table.name), text));
            }
        }
        for index in &table.indexes {
            let condition = index.predicate.iter().map(|predicate| predicate.text.as_str());
            let keys = index.key().filter_map(|key| table.key_expression(key.attnum));
            texts.extend(condition.chain(keys).map(|text| (format!("index {}", index.name), text)));
        }
        texts.retain(|(_, text)| has_name(text, desc));
        if texts.is_empty() {
            return Ok(());
        }
        let bound = self.unmade(table)?;
        for (user, text) in texts {
            let ast = scaledb_parse::expression(text)?;
            let calls = self.bind_kept_over(&bound, |binder| {
                binder.expr(&ast)?;
                Ok(binder.relations.contains(&desc.oid))
            })?;
            if calls {
                users.push(user);
            }
        }
        Ok(())
    }
}
