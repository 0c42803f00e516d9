//! What is kept with a routine in its text: constraints, generated columns, indexes, triggers and domains.
//!
//! These texts mean what they meant when they were made, so that a routine which they call neither goes nor comes
//! unseen:
//!
//! ```text
//!  DROP FUNCTION f             2BP01; with CASCADE what calls it goes, too
//!  CREATE OR REPLACE f         indexes over it are made anew: they would answer as the old one did
//!  CREATE FUNCTION f(bigint)   0A000 where a text that calls f(integer) would call this one
//! ```

use super::super::Session;
use super::alter::depends;
use scaledb_catalog::{DomainDesc, Relation, RoutineDesc, TableDesc, TriggerDesc, Volatility};
use scaledb_engine::Engine;
use scaledb_parse::lex::{Lexer, name_of};
use scaledb_planner::bind::Binder;
use scaledb_planner::bind::names::Naming;
use scaledb_types::{Result, SqlError, SqlState, Type};
use std::sync::Arc;

/// What has a text that calls a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// A CHECK constraint of a table, by their oids.
    Check(u32, u32),
    /// A generated column of a table.
    Column(u32, String),
    Index(u32, u32),
    Trigger(u32, u32),
    /// The default of a parameter of another routine.
    Routine(u32),
    /// A CHECK constraint of a domain.
    DomainCheck(u32, u32),
    DomainDefault(u32),
}

/// It, and what it is called in messages.
pub(super) type Caller = (Kept, String);

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

    /// What calls a routine, but for defaults of columns and queries of views.
    pub(super) fn kept_calls(&self, desc: &RoutineDesc) -> Result<Vec<Caller>> {
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
            for trigger in table.triggers.iter().filter(calls) {
                let user = format!("trigger {} on {kind} {}", trigger.name, table.name);
                users.push((Kept::Trigger(table.oid, trigger.oid), user));
            }
        }
        for routine in self.state.catalog.routines().filter(|routine| routine.oid != desc.oid) {
            let mut defaults = routine.parameters.iter().filter_map(|parameter| parameter.default.as_deref());
            if defaults.any(|text| has_name(text, desc)) {
                let user = format!("{} {}", routine.kind.word(), self.signature_of(routine));
                users.push((Kept::Routine(routine.oid), user));
            }
        }
        for domain in self.state.catalog.domains() {
            self.calls_of_domain(domain, desc, &mut users)?;
        }
        Ok(users)
    }

    fn calls_of_table(
        &self,
        table: &Arc<TableDesc>,
        desc: &RoutineDesc,
        users: &mut Vec<Caller>,
    ) -> Result<()> {
        let mut texts: Vec<(Kept, String, &str)> = Vec::new();
        for check in &table.checks {
            let user = format!("constraint {} on table {}", check.name, table.name);
            texts.push((Kept::Check(table.oid, check.oid), user, &check.expression));
        }
        for column in table.visible() {
            if let Some(text) = &column.generated {
                let user = format!("column {} of table {}", column.name, table.name);
                texts.push((Kept::Column(table.oid, column.name.clone()), user, text));
            }
        }
        for index in &table.indexes {
            let condition = index.predicate.iter().map(|predicate| predicate.text.as_str());
            let keys = index.key().filter_map(|key| table.key_expression(key.attnum));
            let user = match index.constraint {
                true => format!("constraint {} on table {}", index.name, table.name),
                false => format!("index {}", index.name),
            };
            let of_index = |text| (Kept::Index(table.oid, index.oid), user.clone(), text);
            texts.extend(condition.chain(keys).map(of_index));
        }
        texts.retain(|(_, _, text)| has_name(text, desc));
        if texts.is_empty() {
            return Ok(());
        }
        let bound = self.unmade(table)?;
        for (kept, user, text) in texts {
            let ast = scaledb_parse::expression(text)?;
            let calls = self.bind_kept_over(&bound, |binder| {
                binder.expr(&ast)?;
                Ok(binder.relations.contains(&desc.oid))
            })?;
            if calls && users.last().is_none_or(|(known, _)| *known != kept) {
                users.push((kept, user));
            }
        }
        Ok(())
    }

    fn calls_of_domain(
        &self,
        domain: &Arc<DomainDesc>,
        desc: &RoutineDesc,
        users: &mut Vec<Caller>,
    ) -> Result<()> {
        let texts = domain.checks.iter().map(|check| check.expression.as_str());
        if !texts.chain(domain.default.as_deref()).any(|text| has_name(text, desc)) {
            return Ok(());
        }
        let base = self.state.catalog.type_of_oid(domain.type_oid).unwrap_or(Type::UNKNOWN);
        let binder = || Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
        for check in &domain.checks {
            let ast = scaledb_parse::expression(&check.expression)?;
            let mut binder = binder();
            binder.naming = Naming::Kept;
            let slot = binder.slot();
            binder.domain_condition(&ast, base, slot)?;
            if binder.relations.contains(&desc.oid) {
                users.push((Kept::DomainCheck(domain.oid, check.oid), format!("constraint {}", check.name)));
            }
        }
        if let Some(text) = &domain.default {
            let ast = scaledb_parse::expression(text)?;
            let mut binder = binder();
            binder.naming = Naming::Kept;
            binder.expr(&ast)?;
            if binder.relations.contains(&desc.oid) {
                users.push((Kept::DomainDefault(domain.oid), format!("type {}", domain.name)));
            }
        }
        Ok(())
    }

    /// Drops what calls a routine that goes, but for defaults of columns and queries of views.
    ///
    /// # Errors
    /// 2BP01 without `cascade`; 55006.
    pub(super) fn drop_kept_calls(
        &mut self,
        desc: &RoutineDesc,
        (what, cascade): (&str, bool),
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        // what goes may take others along
        while let Some((kept, user)) = self.kept_calls(desc)?.into_iter().next() {
            if !cascade {
                return Err(depends(what, &user));
            }
            cascaded.push(user);
            self.drop_kept(kept, cascaded)?;
        }
        Ok(())
    }

    fn drop_kept(&mut self, kept: Kept, cascaded: &mut Vec<String>) -> Result<()> {
        match kept {
            Kept::Check(table, constraint) => {
                self.check_not_pending(table, "ALTER TABLE")?;
                let mut desc = (*self.table(table)?.desc).clone();
                desc.checks.retain(|check| check.oid != constraint);
                self.put(Relation::Table(Arc::new(desc)))
            }
            Kept::Column(table, column) => {
                self.check_not_pending(table, "ALTER TABLE")?;
                let table = self.table(table)?;
                self.drop_column(&table, &column, true)
            }
            Kept::Index(table, index) => {
                self.check_not_pending(table, "DROP INDEX")?;
                let table = self.table(table)?;
                self.drop_index_of(&table, index)
            }
            Kept::Trigger(relation, trigger) => match self.state.catalog.get(relation).cloned() {
                Some(Relation::Table(table)) => {
                    self.check_not_pending(relation, "ALTER TABLE")?;
                    let mut desc = (*table).clone();
                    desc.triggers.retain(|own| own.oid != trigger);
                    self.put(Relation::Table(Arc::new(desc)))
                }
                Some(Relation::View(view)) => {
                    let mut desc = (*view).clone();
                    desc.triggers.retain(|own| own.oid != trigger);
                    self.put(Relation::View(Arc::new(desc)))
                }
                _ => Ok(()),
            },
            Kept::Routine(oid) => match self.state.catalog.routine(oid).cloned() {
                Some(routine) => self.drop_routine(&routine, true, cascaded),
                None => Ok(()),
            },
            Kept::DomainCheck(domain, constraint) => {
                let Some(desc) = self.state.catalog.domain_of(domain) else { return Ok(()) };
                let mut desc = (**desc).clone();
                desc.checks.retain(|check| check.oid != constraint);
                self.put_type(super::own_types::OwnType::Domain(Arc::new(desc)));
                Ok(())
            }
            Kept::DomainDefault(domain) => match self.state.catalog.domain_of(domain).cloned() {
                Some(desc) => self.drop_type(&super::own_types::OwnType::Domain(desc), true, cascaded),
                None => Ok(()),
            },
        }
    }

    /// Refuses a new routine that texts would mean which are kept, and now mean another function.
    ///
    /// # Errors
    /// 0A000.
    pub(super) fn refuse_captured(&self, desc: &RoutineDesc) -> Result<()> {
        let by_name = |(kept, _): &Caller| matches!(kept, Kept::Trigger(..) | Kept::Routine(_));
        let mut captured = self.kept_calls(desc)?;
        captured.retain(|caller| !by_name(caller));
        let Some((_, user)) = captured.first() else { return Ok(()) };
        let what = format!("{user} would call {}, and not what it calls now", self.signature_of(desc));
        Err(SqlError::unsupported(what).hint("Give the function another name or other parameters."))
    }

    /// A routine has got another definition: what indexes have of it is computed again.
    ///
    /// # Errors
    /// 42P17 if it is not IMMUTABLE any more and an index or a generated column needs that; what is wrong with the new
    /// definition, and 23505 for rows that a unique index does not take.
    pub(super) fn follow_definition(&mut self, before: &RoutineDesc, desc: &RoutineDesc) -> Result<()> {
        let promises = |desc: &RoutineDesc| (desc.volatility, desc.strict, desc.security_definer);
        let same = before.body == desc.body
            && before.language == desc.language
            && before.settings == desc.settings
            && promises(before) == promises(desc);
        if same {
            return Ok(());
        }
        let callers = self.kept_calls(desc)?;
        let mut tables = Vec::new();
        for (kept, user) in callers {
            let fixed = matches!(kept, Kept::Index(..) | Kept::Column(..));
            if fixed && desc.volatility != Volatility::Immutable {
                let what = format!("{user} needs {} to be IMMUTABLE", self.signature_of(desc));
                return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what));
            }
            if let Kept::Index(table, _) = kept
                && !tables.contains(&table)
            {
                tables.push(table);
            }
        }
        tables.into_iter().try_for_each(|table| self.index_again(table))
    }

    /// Whether an index of a table has what functions compute that somebody has written.
    ///
    /// # Errors
    /// What is wrong with an expression.
    pub(in crate::session) fn calls_in_indexes(&self, table: u32) -> Result<bool> {
        if !self.state.catalog.table(table).is_some_and(|desc| desc.generates()) {
            return Ok(false);
        }
        let table = self.table(table)?;
        let hidden = |position: usize| table.desc.columns[position].hidden;
        Ok(self.generated_of(&table)?.iter().any(|(position, expr)| hidden(*position) && expr.needs_worker()))
    }

    /// Computes what the indexes of a table have again.
    ///
    /// # Errors
    /// What is wrong with an expression, and 23505 for rows that a unique index does not take.
    pub(in crate::session) fn index_again(&mut self, table: u32) -> Result<()> {
        self.check_not_pending(table, "REINDEX")?;
        let table = self.table(table)?;
        self.rebuild_indexes(&table)
    }
}
