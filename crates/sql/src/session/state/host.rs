//! What a running plan asks of its session: functions of the session, rows of the catalog, locks.

use super::SessionState;
use super::locks::give_room;
use crate::api::Severity;
use crate::compiled::{Compiled, Held};
use crate::exec::context::{Host, HostMark};
use crate::exec::measure::Measures;
use crate::exec::triggers::Written;
use crate::explain::{Summary, describe};
use crate::identity::RoleMark;
use crate::routine::{Loaded, Piece};
use crate::system;
use scaledb_catalog::{ObjectKind, Privileges, RoutineDesc, TriggerDesc};
use scaledb_engine::Engine;
use scaledb_locks::keeper::MAX_BATCH;
use scaledb_locks::{Mode, Owner, Tag};
use scaledb_parse::explain::Options;
use scaledb_parse::utility::Utility;
use scaledb_planner::bind::names::{is_schema, is_temporary};
use scaledb_planner::bind::{Keys, Lookup};
use scaledb_planner::functions::{Seeded, SessionFn};
use scaledb_planner::plan::secured::Reader;
use scaledb_planner::plan::trigger::{Event, Trigger, Triggers};
use scaledb_planner::plan::{BoundTable, Computed, Plan};
use scaledb_types::{DomainType, Env, Result, SqlError, SqlState, Type, Value};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

impl<E: Engine> Host for SessionState<E> {
    fn shown(
        &self,
        env: &Env,
        plan: &Plan,
        options: Options,
        (measures, execution): (Option<&Measures>, Option<Duration>),
    ) -> Vec<Box<[Value]>> {
        let reach = |id, keys: scaledb_engine::Keys<'_>| self.shared.engine.reach(id, keys);
        let summary = Summary { execution, ..Summary::default() };
        describe(plan, env, &reach, options.verbose, measures).values(options.format, &summary)
    }

    fn engine_error(&self, error: scaledb_base::Error) -> SqlError {
        self.explain(error, |_| self.running.get())
    }

    fn call(&self, function: &SessionFn, args: &[Value]) -> Result<Value> {
        let text = |at: usize| args.get(at).and_then(Value::as_str);
        match function.name {
            "nextval" | "currval" | "lastval" | "setval" => self.sequence_call(function.name, args),
            "current_of" => {
                let number = match args {
                    [Value::Int4(number)] => usize::try_from(*number).unwrap_or(usize::MAX),
                    _ => usize::MAX,
                };
                Ok(self.portals.current(number))
            }
            "current_setting" => {
                let Some(name) = text(0) else { return Ok(Value::Null) };
                match self.value_of_setting(name) {
                    Ok(value) => Ok(Value::from(value)),
                    Err(_) if args.get(1).is_some_and(Value::is_true) => Ok(Value::Null),
                    Err(error) => Err(error),
                }
            }
            "set_config" => {
                self.act();
                let (Some(name), local) = (text(0), args[2].is_true()) else { return Ok(Value::Null) };
                for setting in ["role", "session_authorization"] {
                    if name.eq_ignore_ascii_case(setting) {
                        let role = text(1).filter(|role| *role != "none");
                        self.check_may_become(setting, role)?;
                        self.set_role(setting, role, local)?;
                        return Ok(args[1].clone());
                    }
                }
                self.settings.borrow_mut().set(name, Some(text(1).unwrap_or_default()), local)?;
                Ok(args[1].clone())
            }
            "current_schemas" | "current_schema" => {
                self.looked.set(true);
                self.used.note_all();
                let hidden = function.name == "current_schema" || !args[0].is_true();
                let role = self.role_name(self.identity.current());
                let set = self.settings.borrow().search_path(&role);
                let is_set = |schema: &str| set.iter().any(|known| known == schema);
                let mut names: Vec<Value> = self
                    .path
                    .iter()
                    .filter(|schema| match schema.as_str() {
                        "pg_catalog" => !hidden || is_set("pg_catalog"),
                        schema if is_temporary(schema) => !hidden || is_set("pg_temp"),
                        schema => is_schema(&self.catalog, &self.path, schema),
                    })
                    .map(Value::text)
                    .collect();
                if function.name == "current_schema" {
                    return Ok(if names.is_empty() { Value::Null } else { names.remove(0) });
                }
                Ok(Value::Array(Arc::new(scaledb_types::Array::new(Type::NAME, names))))
            }
            "pg_postmaster_start_time" | "pg_conf_load_time" => Ok(Value::Timestamptz(self.shared.opened_at)),
            "scaledb_stat_statements_reset" => {
                self.act();
                self.shared.collected.reset();
                Ok(Value::text(""))
            }
            "pg_notify" => {
                self.act();
                self.notify(text(0).unwrap_or_default(), text(1).unwrap_or_default())?;
                Ok(Value::text(""))
            }
            "pg_listening_channels" => {
                let channels =
                    self.database.hub.channels(self.id).into_iter().map(|name| Value::text(&*name));
                Ok(Value::Array(Arc::new(scaledb_types::Array::new(Type::TEXT, channels.collect()))))
            }
            "random" => {
                let number = match &mut *self.random.borrow_mut() {
                    Some(seeded) => {
                        self.act();
                        seeded.next_value()
                    }
                    None => scaledb_types::func::random(),
                };
                Ok(Value::Float8(number))
            }
            "setseed" => {
                self.act();
                let Some(Value::Float8(seed)) = args.first() else { return Ok(Value::Null) };
                if !(-1.0..=1.0).contains(seed) {
                    let what = format!("setseed parameter {seed} is out of allowed range [-1,1]");
                    return Err(SqlError::invalid_parameter(what));
                }
                *self.random.borrow_mut() = Some(Seeded::new(*seed));
                Ok(Value::text(""))
            }
            "txid_current" | "pg_current_xact_id" => {
                let number = self.txid.get().unwrap_or_else(|| self.shared.new_txid());
                self.txid.set(Some(number));
                Ok(Value::Int8(number))
            }
            "txid_current_if_assigned" | "pg_current_xact_id_if_assigned" => {
                Ok(self.txid.get().map_or(Value::Null, Value::Int8))
            }
            "pg_client_encoding" => Ok(Value::text(self.settings.borrow().get("client_encoding")?)),
            "pg_notification_queue_usage" => Ok(Value::Float8(self.database.hub.usage())),
            "pg_backend_pid" => Ok(Value::Int4(self.id as i32)),
            "pg_cancel_backend" | "pg_terminate_backend" | "pg_reload_conf" => {
                self.act();
                self.ask_server(function.name, args.first())
            }
            _ => {
                self.looked.set(true);
                let result = system::functions::call(self, function, args)?;
                match (function.name, &result) {
                    // the names of sequences, for the most part: what matters is that they still mean the same
                    ("cast", Value::Oid(oid)) if self.catalog.get(*oid).is_some() => self.used.note(*oid),
                    (name, _) if system::functions::reads_catalog(name) => self.used.note_all(),
                    _ => {}
                }
                Ok(result)
            }
        }
    }

    fn may_read(&self, table: u32, attnum: Option<i16>) -> bool {
        let (role, asked) = (self.identity.current(), Privileges::SELECT);
        if self.hides_rows(table) {
            return false;
        }
        match attnum {
            None => self.catalog.privileges(role, ObjectKind::Table, table, asked) == asked,
            Some(attnum) => self.catalog.column_privileges(role, table, attnum, asked) == asked,
        }
    }

    fn hides_rows(&self, table: u32) -> bool {
        let secured = self.catalog.table(table).filter(|desc| desc.is_secured());
        secured.is_some_and(|desc| self.catalog.are_rows_secured(desc, self.identity.current()))
    }

    fn reader(&self) -> Reader {
        Lookup::reader(self)
    }

    fn computed(&self, table: Computed) -> Result<Vec<Vec<Value>>> {
        match table {
            Computed::Written { new } => {
                let written = self.written.borrow();
                written.last().map(|written| written.rows(new)).ok_or_else(|| {
                    SqlError::internal("rows that a statement has written, and no trigger that sees them")
                })
            }
            table => system::rows(self, table),
        }
    }

    fn keys_of(&self, table: u32) -> Result<Keys> {
        let (references, referred) = self.foreign_keys(table)?;
        // the plan names the tables that are one step away; rows that go along lead farther
        references.iter().for_each(|key| self.used.note(key.to.desc.oid));
        for key in &referred {
            self.used.note(key.from.desc.oid);
            key.from.desc.foreign_keys.iter().for_each(|other| self.used.note(other.table));
            let domains = key.from_columns.iter().filter_map(|&column| key.from.types[column].domain);
            domains.flat_map(DomainType::chain).for_each(|domain| self.used.note(domain.oid()));
        }
        Ok((references, referred))
    }

    fn take_lock(&self, tag: Tag, mode: Mode) -> Result<bool> {
        if matches!(tag, Tag::Advisory { .. }) {
            self.act();
        }
        let mut owner = self.owner.borrow_mut();
        self.need_room(&self.locks_memory, owner.count())?;
        owner.try_take(tag, mode).map_err(crate::error::lock_not_taken)
    }

    fn take_locks(&self, tags: &[Tag], mode: Mode) -> Result<usize> {
        let mut owner = self.owner.borrow_mut();
        let mut taken = 0;
        for some in tags.chunks(MAX_BATCH) {
            self.need_room(&self.locks_memory, owner.count() + some.len())?;
            let more = owner.try_take_all(some, mode).map_err(crate::error::lock_not_taken)?;
            taken += more;
            if more < some.len() {
                break;
            }
        }
        Ok(taken)
    }

    fn keep_lock(&self, tag: Tag, mode: Mode) -> Result<bool> {
        self.act();
        let mut owner = self.owner.borrow_mut();
        self.need_room(&self.kept_memory, owner.kept())?;
        owner.try_keep(tag, mode).map_err(crate::error::lock_not_taken)
    }

    fn give_lock_back(&self, tag: Tag, mode: Mode) -> bool {
        self.act();
        let mut owner = self.owner.borrow_mut();
        let given = owner.give_back(tag, mode);
        give_room(&self.kept_memory, owner.kept());
        given
    }

    fn give_locks_back(&self) {
        self.act();
        self.give_all_locks_back();
    }

    fn owner(&self) -> &RefCell<Owner> {
        &self.owner
    }

    fn act(&self) {
        self.acted.set(true);
    }

    fn note_wait(&self) {
        self.waited.set(true);
    }

    fn warn(&self, code: SqlState, what: &str) {
        self.notice(Severity::Warning, SqlError::new(code, what.to_owned()));
    }

    fn tell(&self, severity: Severity, fields: SqlError) {
        self.notice(severity, fields);
    }

    fn routine(&self, desc: &Arc<RoutineDesc>, by: Option<(&TriggerDesc, u32)>) -> Result<Arc<Loaded>> {
        self.loaded(desc, by)
    }

    fn enter_trigger(&self, written: Arc<Written>) {
        self.written.borrow_mut().push(written);
    }

    fn leave_trigger(&self) {
        self.written.borrow_mut().pop();
    }

    fn enter_routine(&self, desc: &RoutineDesc) -> Option<RoleMark> {
        SessionState::enter_routine(self, desc)
    }

    fn leave_routine(&self, mark: Option<RoleMark>) {
        SessionState::leave_routine(self, mark);
    }

    fn latest(&self, desc: &RoutineDesc) -> Option<Arc<RoutineDesc>> {
        self.used.note(desc.oid);
        self.catalog.routine(desc.oid).cloned()
    }

    fn condition(&self, trigger: &Trigger, table: &BoundTable) -> Result<Arc<Loaded>> {
        self.loaded_condition(trigger, table)
    }

    fn triggers_of(&self, table: &BoundTable, event: Event, set: Option<&[usize]>) -> Option<Box<Triggers>> {
        let triggers = Triggers::of(&self.catalog, &table.desc, event, set)?;
        triggers.all().for_each(|trigger| self.used.note(trigger.function.oid));
        Some(triggers)
    }

    fn width_of(&self, desc: &RoutineDesc) -> Result<usize> {
        Ok(scaledb_planner::plan::routine::result_columns(&self.catalog, desc)?.len())
    }

    fn compile(&self, env: &Env, piece: &Piece<'_>) -> Result<Compiled> {
        self.compile_piece(env, piece)
    }

    fn domain(&self, env: &Env, ty: Type) -> Result<Held> {
        SessionState::domain(self, env, ty)
    }

    fn note_nested(&self, plan: &Plan) -> Result<()> {
        self.use_nested(plan)
    }

    fn note_uses(&self, plan: &Plan) {
        SessionState::note_uses(self, plan);
    }

    fn note_whole_catalog(&self) {
        self.used.note_all();
    }

    fn mark(&self) -> HostMark {
        HostMark { settings: self.settings.borrow().mark(), pending: self.pending.borrow().mark() }
    }

    fn undo_to(&self, mark: HostMark) {
        self.settings.borrow_mut().rollback_to(mark.settings);
        self.pending.borrow_mut().truncate(mark.pending);
    }

    fn about_channels(&self, utility: &Utility) -> Result<()> {
        self.act();
        self.tell_or_listen(utility).map(|_| ())
    }

    fn name_of(&self, value: &Value, ty: Type) -> Result<Value> {
        self.call(&SessionFn::name_of(ty), std::slice::from_ref(value))
    }
}
