//! Which of the expressions that a table is kept with call a routine.

use super::super::Session;
use crate::parse::lex::{Lexer, name_of};
use scaledb_catalog::{RoutineDesc, TableDesc};
use scaledb_engine::Engine;
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

    /// What calls a routine, of the constraints, generated columns and indexes of a table, if something does.
    pub(super) fn kept_call(&self, table: &Arc<TableDesc>, desc: &RoutineDesc) -> Result<Option<String>> {
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
            return Ok(None);
        }
        let bound = self.unmade(table)?;
        for (user, text) in texts {
            let ast = crate::parse::expression(text)?;
            let calls = self.bind_kept_over(&bound, |binder| {
                binder.expr(&ast)?;
                Ok(binder.relations.contains(&desc.oid))
            })?;
            if calls {
                return Ok(Some(user));
            }
        }
        Ok(None)
    }
}
