//! CREATE, ALTER and DROP TRIGGER, and ALTER TABLE .. ENABLE and DISABLE TRIGGER.

use super::super::Session;
use super::alter::depends;
use super::{new_name, position};
use crate::api::Tag;
use crate::exec::triggers::arguments;
use crate::routine::{Names, Piece, Wanted, load_condition, run};
use scaledb_catalog::{
    ObjectKind, Privileges, Relation, TableDesc, TriggerConstraint, TriggerDesc, TriggerTiming, ViewDesc,
};
use scaledb_engine::Engine;
use scaledb_parse::lex::{Lexer, Token, name_of, quoted};
use scaledb_parse::routine::Name;
use scaledb_parse::trigger::{CreateTrigger, DropTrigger, EnableTriggers, RenameTrigger};
use scaledb_planner::bind::names::{find_relation, shown};
use scaledb_planner::plan::BoundTable;
use scaledb_planner::plan::trigger::{Event, Trigger, Triggers};
use scaledb_types::{Result, SqlError, SqlState, Type};
use sqlparser::ast::Ident;
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// CREATE TRIGGER.
    ///
    /// # Errors
    /// 42P01, 42809 for the table, 42883, 42P17 for the function, 42710 for the name; what is wrong with the condition.
    pub(in crate::session) fn create_trigger(&mut self, create: &CreateTrigger) -> Result<Tag> {
        let tag = Tag::plain("CREATE TRIGGER");
        self.begin_change()?;
        let table = self.triggering(&create.table)?;
        check_place(create, &table, self.is_view(table.oid))?;
        let function = self.trigger_function(&create.function)?;
        self.state.check_privilege(ObjectKind::Table, table.oid, Privileges::TRIGGER)?;
        self.state.check_privilege(ObjectKind::Routine, function.oid, Privileges::EXECUTE)?;
        let mut columns = Vec::new();
        for name in &create.columns {
            let attnum = table.columns[position(&table, name)?].attnum;
            if columns.contains(&attnum) {
                let what = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
            }
            columns.push(attnum);
        }
        if create.for_each_row && create.events.truncate {
            let what = "TRUNCATE FOR EACH ROW triggers are not supported";
            return Err(SqlError::unsupported(what));
        }
        if create.timing == TriggerTiming::InsteadOf {
            check_instead(create)?;
        }
        check_transitions(create, &table, self.is_view(table.oid))?;
        let name = new_name(&Ident::with_quote('"', create.name.as_str()));
        let known = table.triggers.iter().find(|trigger| trigger.name == name);
        if known.is_some() && !create.replaces {
            let what = format!("trigger \"{name}\" for relation \"{}\" already exists", table.name);
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        let condition = match &create.condition {
            Some(text) => Some(self.condition_of(create, &table, text)?),
            None => None,
        };
        let same_kind = known.is_none_or(|known| known.constraint.is_none());
        if !same_kind {
            let what = format!("trigger \"{name}\" for relation \"{}\" is a constraint trigger", table.name);
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        if create.is_constraint && table.has_constraint(&name) {
            let what = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        let constraint = create.is_constraint.then(|| TriggerConstraint {
            oid: self.state.new_oid(&table.schema),
            name: name.clone(),
            deferrable: create.deferrable,
        });
        let trigger = TriggerDesc {
            oid: known.map_or_else(|| self.state.new_oid(&table.schema), |known| known.oid),
            name,
            timing: create.timing,
            events: create.events,
            columns,
            for_each_row: create.for_each_row,
            condition,
            function: function.oid,
            arguments: create.arguments.clone(),
            enabled: true,
            always: false,
            constraint,
            old_table: create.old_table.clone(),
            new_table: create.new_table.clone(),
            comment: None,
        };
        self.change_triggers(&table, |triggers| {
            triggers.retain(|other| other.oid != trigger.oid);
            triggers.push(trigger);
        })?;
        Ok(tag)
    }

    /// The condition of a trigger as it is kept.
    fn condition_of(&self, create: &CreateTrigger, table: &Arc<TableDesc>, text: &str) -> Result<String> {
        let ast = scaledb_parse::expression(text)?;
        let kept = self.kept_expression(&ast.to_string());
        let wrong = |what: &str| Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what.to_owned()));
        let names = |name: &str| {
            scaledb_parse::lex::Lexer::new(&kept)
                .any(|token| scaledb_parse::lex::name_of(token, &kept).as_deref() == Some(name))
        };
        if !create.for_each_row && (names("new") || names("old")) {
            return wrong("statement trigger's WHEN condition cannot reference column values");
        }
        if create.events.insert && names("old") {
            return wrong("INSERT trigger's WHEN condition cannot reference OLD values");
        }
        if create.events.delete && names("new") {
            return wrong("DELETE trigger's WHEN condition cannot reference NEW values");
        }
        if create.timing == TriggerTiming::Before && names("new") {
            let generated = table.visible().find(|column| column.generated.is_some() && names(&column.name));
            if let Some(column) = generated {
                return Err(SqlError::new(
                    SqlState::INVALID_OBJECT_DEFINITION,
                    "BEFORE trigger's WHEN condition cannot reference NEW generated columns",
                )
                .detail(format!("Column \"{}\" is a generated column.", column.name)));
            }
        }
        let loaded = load_condition(&self.state.catalog, &kept, table)?;
        let Some(sql) = loaded.pieces().first().copied().cloned() else {
            return Err(SqlError::internal("a condition without an expression"));
        };
        let pieces = Names::new(&loaded, &[], sql.scope, sql.visible);
        let types = loaded.types(&[], loaded.width);
        let path = loaded.path.as_deref();
        let wanted = Wanted::Value(None);
        let piece = Piece { text: &sql.text, names: Some(&pieces), types, wanted, path, written: None };
        let compiled = self.state.compile_piece(&self.env, &piece)?;
        let ty = compiled.columns.iter().flatten().next().map_or(Type::UNKNOWN, |column| column.ty);
        if !ty.same(Type::BOOL) {
            let what = format!("argument of WHEN must be type boolean, not type {}", ty.sql_name());
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        }
        if let crate::compiled::Action::Plan(plan) = &compiled.action
            && plan.output.iter().any(scaledb_planner::plan::expr::Expr::has_subquery)
        {
            return Err(SqlError::unsupported("cannot use subquery in trigger WHEN condition"));
        }
        Ok(kept)
    }

    /// The table of a name, whose triggers are meant.
    fn triggering(&self, (schema, name): &Name) -> Result<Arc<TableDesc>> {
        match find_relation(&self.state.catalog, &self.state.path, schema.as_deref(), name) {
            Some(Relation::Table(table)) if table.is_materialized() => {
                let what = format!("relation \"{name}\" cannot have triggers");
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
                    .detail("This operation is not supported for materialized views."))
            }
            Some(Relation::Table(table)) => Ok(table.clone()),
            // in the form of a table
            Some(Relation::View(view)) => Ok(Arc::new(view.as_table())),
            Some(Relation::Sequence(_)) => {
                let what = format!("relation \"{name}\" cannot have triggers");
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what))
            }
            None => {
                let what = format!("relation \"{}\" does not exist", shown(schema.as_deref(), name));
                Err(SqlError::new(SqlState::UNDEFINED_TABLE, what))
            }
        }
    }

    fn change_triggers(
        &mut self,
        table: &Arc<TableDesc>,
        change: impl FnOnce(&mut Vec<TriggerDesc>),
    ) -> Result<()> {
        self.check_not_pending(table.oid, "ALTER TABLE")?;
        let mut triggers = table.triggers.clone();
        change(&mut triggers);
        // they fire in this order
        triggers.sort_by(|a, b| a.name.cmp(&b.name));
        match self.state.catalog.get(table.oid) {
            Some(Relation::View(view)) => {
                let view = ViewDesc { triggers, ..(**view).clone() };
                self.put(Relation::View(Arc::new(view)))
            }
            _ => self.put(Relation::Table(Arc::new(TableDesc { triggers, ..(**table).clone() }))),
        }
    }

    fn is_view(&self, oid: u32) -> bool {
        matches!(self.state.catalog.get(oid), Some(Relation::View(_)))
    }

    /// The trigger of a name.
    fn trigger_named<'t>(table: &'t TableDesc, name: &str) -> Result<&'t TriggerDesc> {
        table.triggers.iter().find(|trigger| trigger.name == name).ok_or_else(|| {
            let what = format!("trigger \"{name}\" for table \"{}\" does not exist", table.name);
            SqlError::new(SqlState::UNDEFINED_OBJECT, what)
        })
    }

    /// DROP TRIGGER.
    ///
    /// # Errors
    /// 42P01, 42704.
    pub(in crate::session) fn drop_trigger(&mut self, drop: &DropTrigger) -> Result<Tag> {
        let tag = Tag::plain("DROP TRIGGER");
        self.begin_change()?;
        let found = self.triggering(&drop.table).and_then(|table| {
            Self::trigger_named(&table, &drop.name).map(|trigger| (table.clone(), trigger.oid))
        });
        match found {
            Ok((table, oid)) => {
                self.state.check_owner_as(table.oid, "relation", &table.name)?;
                self.change_triggers(&table, |triggers| triggers.retain(|other| other.oid != oid))?
            }
            Err(error) if drop.if_exists && error.code().class() == SqlState::UNDEFINED_OBJECT.class() => {
                let what = format!("{}, skipping", error.message());
                self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
            }
            Err(error) => return Err(error),
        }
        Ok(tag)
    }

    /// COMMENT ON TRIGGER.
    pub(super) fn comment_on_trigger(&mut self, name: &str, table: &Name, text: Option<&str>) -> Result<()> {
        let table = self.triggering(table)?;
        self.state.check_owner_as(table.oid, "relation", &table.name)?;
        let oid = Self::trigger_named(&table, name)?.oid;
        let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
        self.change_triggers(&table, |triggers| {
            let own = triggers.iter_mut().filter(|trigger| trigger.oid == oid);
            own.for_each(|trigger| trigger.comment.clone_from(&text));
        })
    }

    /// ALTER TRIGGER .. RENAME TO.
    ///
    /// # Errors
    /// 42P01, 42704, 42710.
    pub(in crate::session) fn rename_trigger(&mut self, rename: &RenameTrigger) -> Result<Tag> {
        self.begin_change()?;
        let table = self.triggering(&rename.table)?;
        self.state.check_owner_as(table.oid, "relation", &table.name)?;
        let oid = Self::trigger_named(&table, &rename.name)?.oid;
        let to = new_name(&Ident::with_quote('"', rename.to.as_str()));
        if table.triggers.iter().any(|trigger| trigger.name == to) {
            let what = format!("trigger \"{to}\" for relation \"{}\" already exists", table.name);
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        self.change_triggers(&table, |triggers| {
            triggers
                .iter_mut()
                .filter(|trigger| trigger.oid == oid)
                .for_each(|trigger| trigger.name.clone_from(&to));
        })?;
        Ok(Tag::plain("ALTER TRIGGER"))
    }

    /// ALTER TABLE .. ENABLE and DISABLE TRIGGER.
    ///
    /// # Errors
    /// 42P01, 42704.
    pub(in crate::session) fn enable_triggers(&mut self, enable: &EnableTriggers) -> Result<Tag> {
        let tag = Tag::plain("ALTER TABLE");
        self.begin_change()?;
        let table = match self.triggering(&enable.table) {
            Err(error) if enable.if_exists && error.code() == SqlState::UNDEFINED_TABLE => {
                let what = format!("{}, skipping", error.message());
                self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
                return Ok(tag);
            }
            table => table?,
        };
        if self.is_view(table.oid) {
            let does = if enable.enabled { "ENABLE" } else { "DISABLE" };
            let what =
                format!("ALTER action {does} TRIGGER cannot be performed on relation \"{}\"", table.name);
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
                .detail("This operation is not supported for views."));
        }
        self.state.check_owner(table.oid)?;
        if let Some(name) = &enable.name {
            Self::trigger_named(&table, name)?;
        }
        let table = if enable.references { self.enable_references(table, enable.enabled)? } else { table };
        let names = |trigger: &TriggerDesc| enable.name.as_ref().is_none_or(|name| trigger.name == *name);
        self.change_triggers(&table, |triggers| {
            let named = triggers.iter_mut().filter(|trigger| names(trigger));
            named.for_each(|trigger| (trigger.enabled, trigger.always) = (enable.enabled, enable.always));
        })?;
        Ok(tag)
    }

    /// Foreign keys of a table, and those that refer to it, are looked at from here on, or not any more. Returns its
    /// descriptor.
    fn enable_references(&mut self, table: Arc<TableDesc>, enabled: bool) -> Result<Arc<TableDesc>> {
        let has_some =
            !table.foreign_keys.is_empty() || !self.state.catalog.references_to(table.oid).is_empty();
        if enabled != table.references_off || !has_some {
            return Ok(table);
        }
        let what = "permission denied: foreign keys are disabled by superusers only";
        self.state.check_superuser(what)?;
        let desc = Arc::new(TableDesc { references_off: !enabled, ..(*table).clone() });
        self.put(Relation::Table(desc.clone()))?;
        Ok(desc)
    }

    /// Drops the triggers that name a column; without `cascade` it stays.
    pub(super) fn drop_triggers_over(&self, desc: &mut TableDesc, attnum: i16, cascade: bool) -> Result<()> {
        let name = desc.column_name(attnum).to_owned();
        let over = |trigger: &TriggerDesc| {
            trigger.columns.contains(&attnum)
                || trigger.condition.as_ref().is_some_and(|text| reads(text, &name))
        };
        let users: Vec<String> =
            desc.triggers.iter().filter(|trigger| over(trigger)).map(|t| t.name.clone()).collect();
        let shown = |user: &String| format!("trigger {user} on table {}", desc.name);
        match users.first() {
            Some(user) if !cascade => {
                return Err(depends(&format!("column {name} of table {}", desc.name), &shown(user)));
            }
            _ => self.tell_of_cascade(&users.iter().map(shown).collect::<Vec<_>>()),
        }
        desc.triggers.retain(|trigger| !users.contains(&trigger.name));
        Ok(())
    }

    /// Fires the triggers of a TRUNCATE.
    pub(super) fn fire_truncate(&mut self, table: &Arc<BoundTable>, timing: TriggerTiming) -> Result<()> {
        let found = Triggers::of(&self.state.catalog, &table.desc, Event::Truncate, None);
        let Some(triggers) = found else { return Ok(()) };
        let list = match timing {
            TriggerTiming::Before => &triggers.before_statement,
            TriggerTiming::After => &triggers.after_statement,
            TriggerTiming::InsteadOf => &triggers.instead,
        };
        for trigger in list {
            self.fire_by_itself(trigger, table)?;
        }
        Ok(())
    }

    fn fire_by_itself(&mut self, trigger: &Trigger, table: &Arc<BoundTable>) -> Result<()> {
        use crate::exec::context::Host;
        self.state.used.note(trigger.function.oid);
        if trigger.desc.condition.is_some() {
            let condition = self.state.condition(trigger, table)?;
            let rows = vec![scaledb_types::Value::Null; condition.width];
            let held = run(self, &condition, rows)?;
            if !matches!(held, crate::routine::Finished::Value(value) if value.is_true()) {
                return Ok(());
            }
        }
        let loaded = self.state.routine(&trigger.function, Some((&trigger.desc, table.desc.oid)))?;
        let values = arguments(trigger, table, Event::Truncate, None, None)?;
        run(self, &loaded, values).map(|_| ())
    }
}

/// Where a condition names a field of its rows: the tokens of the field.
fn fields<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Token> + 't {
    let tokens: Vec<Token> = Lexer::new(text).collect();
    (2..tokens.len()).filter_map(move |at| {
        let row = name_of(tokens[at - 2], text).is_some_and(|row| row == "new" || row == "old");
        let field = name_of(tokens[at], text).is_some_and(|field| field == name);
        (row && tokens[at - 1].is_sign(text, ".") && field).then(|| tokens[at])
    })
}

/// Whether a condition names a field of its rows.
fn reads(text: &str, name: &str) -> bool {
    fields(text, name).next().is_some()
}

/// The triggers of a table one of whose columns has got another name.
pub(super) fn rename_field(desc: &mut TableDesc, from: &str, to: &str) {
    for condition in desc.triggers.iter_mut().filter_map(|trigger| trigger.condition.as_mut()) {
        let mut renamed = String::with_capacity(condition.len());
        let mut copied = 0;
        for token in fields(condition, from) {
            renamed.push_str(&condition[copied..token.start]);
            renamed.push_str(&quoted(to));
            copied = token.end;
        }
        renamed.push_str(&condition[copied..]);
        *condition = renamed;
    }
}

/// Refuses a trigger that a table, or a view, does not have.
///
/// # Errors
/// 42809.
fn check_place(create: &CreateTrigger, table: &TableDesc, is_view: bool) -> Result<()> {
    let refused = |what: &str, detail: &str| {
        let what = format!("\"{}\" is a {what}", table.name);
        Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what).detail(detail))
    };
    let instead = create.timing == TriggerTiming::InsteadOf;
    match is_view {
        false if instead => refused("table", "Tables cannot have INSTEAD OF triggers."),
        true if !instead && create.for_each_row => {
            refused("view", "Views cannot have row-level BEFORE or AFTER triggers.")
        }
        true if create.events.truncate => refused("view", "Views cannot have TRUNCATE triggers."),
        _ => Ok(()),
    }
}

/// Refuses what an INSTEAD OF trigger does not have.
///
/// # Errors
/// 0A000.
fn check_instead(create: &CreateTrigger) -> Result<()> {
    let what = match create {
        _ if !create.for_each_row => "INSTEAD OF triggers must be FOR EACH ROW",
        _ if create.condition.is_some() => "INSTEAD OF triggers cannot have WHEN conditions",
        _ if !create.columns.is_empty() => "INSTEAD OF triggers cannot have column lists",
        _ => return Ok(()),
    };
    Err(SqlError::unsupported(what))
}

/// Refuses names for all rows of a statement where there are no such rows, or several kinds of them.
///
/// # Errors
/// 0A000, 42809, 42P17.
fn check_transitions(create: &CreateTrigger, table: &TableDesc, is_view: bool) -> Result<()> {
    let (old, new) = (&create.old_table, &create.new_table);
    if old.is_none() && new.is_none() {
        return Ok(());
    }
    let wrong = |what: &str| Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what.to_owned()));
    let events = create.events;
    if is_view {
        let what = format!("\"{}\" is a view", table.name);
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
            .detail("Triggers on views cannot have transition tables."));
    }
    if create.timing != TriggerTiming::After {
        return wrong("transition table name can only be specified for an AFTER trigger");
    }
    if events.truncate {
        return Err(SqlError::unsupported("TRUNCATE triggers with transition tables are not supported"));
    }
    if [events.insert, events.update, events.delete].into_iter().filter(|fires| *fires).count() != 1 {
        let what = "transition tables cannot be specified for triggers with more than one event";
        return Err(SqlError::unsupported(what));
    }
    if !create.columns.is_empty() {
        let what = "transition tables cannot be specified for triggers with column lists";
        return Err(SqlError::unsupported(what));
    }
    if new.is_some() && events.delete {
        return wrong("NEW TABLE can only be specified for an INSERT or UPDATE trigger");
    }
    if old.is_some() && events.insert {
        return wrong("OLD TABLE can only be specified for a DELETE or UPDATE trigger");
    }
    if old == new {
        return wrong("OLD TABLE name and NEW TABLE name cannot be the same");
    }
    Ok(())
}
