//! Statements without a plan.

use super::Session;
use super::run::column;
use crate::api::{Column, Executed, RowSink, Severity, Tag};
use crate::compiled::{Compiled, Held};
use scaledb_catalog::CHECKPOINT;
use scaledb_engine::Engine;
use scaledb_parse::utility::{Modes, Utility};
use scaledb_planner::bind::expr::is_named;
use scaledb_planner::bind::names::parse_type;
use scaledb_types::{Result, SqlError, SqlState, Type, Value};

impl<E: Engine> Session<E> {
    /// The columns that a statement returns.
    pub(super) fn utility_columns(&mut self, utility: &Utility) -> Result<Option<Vec<Column>>> {
        Ok(match utility {
            Utility::Show(Some(name)) => {
                Some(vec![column(self.state.settings.borrow().printed(name), Type::TEXT)])
            }
            Utility::Show(None) => {
                let names = ["name", "setting", "description"];
                Some(names.iter().map(|name| column(name, Type::TEXT)).collect())
            }
            Utility::Explain { options, .. } => Some(vec![super::explain::column(*options)]),
            Utility::Fetch { name, moves: false, .. } => self.cursor_columns(name),
            Utility::Execute { name, .. } => self.statement(name)?.compiled.columns.clone(),
            _ => None,
        })
    }

    /// Runs a statement without a plan.
    pub(super) fn utility(
        &mut self,
        utility: &Utility,
        compiled: &Compiled,
        params: &[Value],
        alone: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        let done = |words: &'static str| Ok(Executed::Complete(Tag::plain(words)));
        match utility {
            Utility::Commit { chain } => {
                let modes = self.chained(*chain, "COMMIT AND CHAIN")?;
                let committed = self.commit_block()?;
                self.begin_chained(modes);
                return done(if committed { "COMMIT" } else { "ROLLBACK" });
            }
            Utility::Rollback { chain } => {
                let modes = self.chained(*chain, "ROLLBACK AND CHAIN")?;
                self.rollback_block();
                self.begin_chained(modes);
                return done("ROLLBACK");
            }
            Utility::PrepareTransaction => return self.prepare_transaction().and_then(done),
            Utility::RollbackTo(name) => {
                self.rollback_to(name)?;
                return done("ROLLBACK");
            }
            _ => self.refuse_failed()?,
        }
        self.start_statement();
        match utility {
            Utility::EndPrepared { words, name } => {
                self.check_no_block(words)?;
                let what = format!("prepared transaction with identifier \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
            }
            Utility::Begin { modes, start } => {
                self.begin_block(*modes);
                return done(if *start { "START TRANSACTION" } else { "BEGIN" });
            }
            Utility::Savepoint(name) => {
                self.savepoint(name.clone())?;
                return done("SAVEPOINT");
            }
            Utility::ReleaseSavepoint(name) => {
                self.release(name)?;
                return done("RELEASE");
            }
            Utility::SetTransaction(modes) => {
                self.set_modes(*modes)?;
                return done("SET");
            }
            Utility::Copy(copy) => return self.copy(copy, alone, sink),
            Utility::Grant(grant) => return self.run_change(alone, |session| session.grant(grant)),
            Utility::Roles(roles) => return self.run_change(alone, |session| session.change_roles(roles)),
            Utility::Databases(statement) => {
                self.check_databases_alone(statement)?;
                return self.run_change(alone, |session| session.change_databases(statement));
            }
            Utility::Extension(statement) => {
                return self.run_change(alone, |session| session.change_extensions(statement));
            }
            Utility::DropAbsent(drop) => return self.run_change(alone, |session| session.drop_absent(drop)),
            Utility::Comment(comment) => return self.run_change(alone, |session| session.comment(comment)),
            Utility::AlterSequence(alter) => {
                return self.run_change(alone, |session| session.alter_sequence(alter));
            }
            Utility::Do(program) => return self.do_block(program, alone),
            Utility::SchemaElements(create) => return self.create_schema_with(create, alone),
            Utility::Materialized(statement) => {
                return self.run_materialized(statement, alone);
            }
            Utility::SetSchema(set) => return self.run_change(alone, |session| session.set_schema(set)),
            Utility::CreateRoutine(create) => {
                return self.run_change(alone, |session| session.create_routine(create));
            }
            Utility::CreateTrigger(create) => {
                return self.run_change(alone, |session| session.create_trigger(create));
            }
            Utility::Policy(statement) => {
                return self.run_change(alone, |session| session.change_policies(statement));
            }
            Utility::DropTrigger(drop) => {
                return self.run_change(alone, |session| session.drop_trigger(drop));
            }
            Utility::RenameTrigger(rename) => {
                return self.run_change(alone, |session| session.rename_trigger(rename));
            }
            Utility::EnableTriggers(enable) => {
                return self.run_change(alone, |session| session.enable_triggers(enable));
            }
            Utility::DropRoutines(drop) => {
                return self.run_change(alone, |session| session.drop_routines(drop));
            }
            Utility::AlterRoutine(alter) => {
                return self.run_change(alone, |session| session.alter_routine(alter));
            }
            Utility::AlterView(alter) => return self.run_change(alone, |session| session.alter_view(alter)),
            Utility::Domain(statement) => {
                return self.run_change(alone, |session| session.domain_statement(statement));
            }
            Utility::AlterType(alter) => return self.run_change(alone, |session| session.alter_type(alter)),
            Utility::Execute { name, arguments } => return self.execute_named(name, arguments, alone, sink),
            Utility::Explain { options, text } => {
                return self.explain(text, *options, (&compiled.params, params), alone, sink);
            }
            _ => {}
        }
        let tag = match utility {
            Utility::Declare { name, hold, scroll, text } => {
                self.declare(name.clone(), *hold, *scroll, text, (&compiled.params, params), &compiled.text)?
            }
            Utility::Prepare { name, types, text } => {
                self.prepare_by_sql(name, types, text, &compiled.text)?
            }
            _ => self.utility_within(utility, compiled.columns.as_deref(), sink)?,
        };
        if alone {
            self.commit()?;
        }
        Ok(Executed::Complete(tag))
    }

    /// The modes of the transaction that a chained one follows.
    ///
    /// # Errors
    /// 25P01 outside of a block.
    fn chained(&self, chain: bool, what: &str) -> Result<Option<Modes>> {
        if chain && !self.transaction.is_failed() {
            self.need_block(what)?;
        }
        Ok(chain.then(|| self.transaction.effective_modes()))
    }

    fn begin_chained(&mut self, modes: Option<Modes>) {
        if let Some(modes) = modes {
            self.begin_block(modes);
        }
    }

    /// A statement that may stand anywhere in a transaction.
    fn utility_within(
        &mut self,
        utility: &Utility,
        columns: Option<&[Column]>,
        sink: &mut dyn RowSink,
    ) -> Result<Tag> {
        Ok(match utility {
            Utility::SetCharacteristics(modes) => {
                self.set_characteristics(*modes)?;
                Tag::plain("SET")
            }
            Utility::SetConstraints { names, deferred } => {
                self.set_constraints(names.as_deref(), *deferred)?
            }
            Utility::Set { local, name, value } => {
                self.set_setting(name, value.as_deref(), *local)?;
                Tag::plain("SET")
            }
            Utility::Reset(name) => self.reset_setting(name.as_deref())?,
            Utility::Show(name) => {
                let rows = self.shown(name.as_deref())?;
                let columns = columns.unwrap_or_default();
                rows.iter().try_for_each(|row| super::run::replay(&self.env, row, columns, sink))?;
                Tag::plain("SHOW")
            }
            Utility::Discard(what) => self.discard_state(what)?,
            Utility::Deallocate(None) => {
                self.statements.clear();
                Tag::plain("DEALLOCATE ALL")
            }
            Utility::Deallocate(Some(name)) => {
                self.statement(name)?;
                self.statements.remove(name);
                Tag::plain("DEALLOCATE")
            }
            Utility::Fetch { name, motion, moves } => self.fetch(name, *motion, *moves, sink)?,
            Utility::Close(name) => self.close_cursor(name.as_deref())?,
            Utility::Checkpoint => {
                if !self.state.is_member_of(CHECKPOINT) {
                    let what = "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT";
                    return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
                }
                self.state.shared.engine.checkpoint().map_err(crate::error::checkpoint)?;
                Tag::plain("CHECKPOINT")
            }
            Utility::Lock { tables, mode, nowait } => self.lock_tables(tables, *mode, *nowait)?,
            Utility::Notify { .. } | Utility::Listen(_) | Utility::Unlisten(_) => {
                self.state.tell_or_listen(utility)?
            }
            Utility::Maintain(about) => self.maintain(about)?,
            Utility::BecomeRole { setting, local, name } => {
                self.become_role(setting, name.as_deref(), *local)?;
                Tag::plain("SET")
            }
            _ => return Err(SqlError::internal("a statement of another kind")),
        })
    }

    /// SET CONSTRAINTS.
    fn set_constraints(&mut self, names: Option<&[String]>, deferred: bool) -> Result<Tag> {
        match names {
            None => {
                self.constraints.all = Some(deferred);
                self.constraints.named.clear();
            }
            Some(names) => {
                for name in names {
                    self.check_deferrable(name)?;
                    self.constraints.named.push((name.clone(), deferred));
                }
            }
        }
        if !deferred {
            self.check_deferred(false)?;
        }
        Ok(Tag::plain("SET CONSTRAINTS"))
    }

    /// RESET.
    fn reset_setting(&mut self, name: Option<&str>) -> Result<Tag> {
        match name {
            None => self.state.settings.borrow_mut().reset_all(),
            Some(name) => self.set_setting(name, None, false)?,
        }
        self.refresh();
        Ok(Tag::plain("RESET"))
    }

    /// DISCARD.
    fn discard_state(&mut self, what: &str) -> Result<Tag> {
        Ok(match what {
            "all" => {
                self.check_no_block("DISCARD ALL")?;
                self.statements.clear();
                self.clear_portals();
                self.state.give_all_locks_back();
                self.state.tell_or_listen(&Utility::Unlisten(None))?;
                self.drop_temporary()?;
                self.state.forget_sequences();
                self.become_role("session_authorization", None, false)?;
                self.state.settings.borrow_mut().reset_all();
                self.refresh();
                Tag::plain("DISCARD ALL")
            }
            "plans" => {
                self.cache.clear();
                Tag::plain("DISCARD PLANS")
            }
            "sequences" => {
                self.state.forget_sequences();
                Tag::plain("DISCARD SEQUENCES")
            }
            "temp" | "temporary" => {
                self.drop_temporary()?;
                Tag::plain("DISCARD TEMP")
            }
            _ => return Err(SqlError::new(SqlState::SYNTAX_ERROR, "unknown object of DISCARD")),
        })
    }

    /// PREPARE.
    fn prepare_by_sql(
        &mut self,
        name: &str,
        types: &[String],
        text: &str,
        whole: &std::sync::Arc<str>,
    ) -> Result<Tag> {
        let mut oids = Vec::with_capacity(types.len());
        for ty in types {
            oids.push(parse_type(&self.state.catalog, &self.state.path, ty)?.oid());
        }
        self.prepare_named(name, text, &oids)?;
        if let Some(statement) = self.statements.get_mut(name) {
            statement.by_sql = true;
            statement.whole = Some(std::sync::Arc::clone(whole));
        }
        Ok(Tag::plain("PREPARE"))
    }

    /// CLOSE.
    fn close_cursor(&mut self, name: Option<&str>) -> Result<Tag> {
        match name {
            None => self.clear_portals(),
            Some(name) => {
                if self.state.portals.take(name).is_none() {
                    let what = format!("cursor \"{name}\" does not exist");
                    return Err(SqlError::new(SqlState::INVALID_CURSOR_NAME, what));
                }
            }
        }
        Ok(Tag::plain(if name.is_some() { "CLOSE CURSOR" } else { "CLOSE CURSOR ALL" }))
    }

    fn set_setting(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        match name {
            "transaction_isolation" | "transaction_read_only" | "transaction_deferrable" => {
                let text = match (name, value) {
                    ("transaction_isolation", Some(level)) => {
                        format!("set transaction isolation level {level}")
                    }
                    ("transaction_read_only", Some("on" | "true" | "1")) => {
                        "set transaction read only".to_owned()
                    }
                    ("transaction_deferrable", Some("on" | "true" | "1")) => {
                        "set transaction deferrable".to_owned()
                    }
                    _ => return Ok(()),
                };
                if let Some(Ok(Utility::SetTransaction(modes))) = scaledb_parse::utility::parse(&text) {
                    return self.set_modes(modes);
                }
                return Err(SqlError::invalid_parameter(format!(
                    "invalid value for parameter \"{name}\": \"{}\"",
                    value.unwrap_or_default()
                )));
            }
            "log_statement" | "log_min_duration_statement" | "track_statements" => {
                let what = format!("permission denied to set parameter \"{name}\"");
                self.state.check_superuser(&what)?;
            }
            "role" => return self.become_role("role", value.filter(|name| *name != "none"), local),
            "session_authorization" => return self.become_role("session_authorization", value, local),
            _ => {}
        }
        let alone = !self.transaction.in_block() && !self.transaction.is_implicit();
        if local && alone && self.running_block.is_none() {
            self.state.notice(
                Severity::Warning,
                SqlError::new(
                    SqlState::NO_ACTIVE_SQL_TRANSACTION,
                    "SET LOCAL can only be used in transaction blocks",
                ),
            );
        }
        let told = self.state.settings.borrow().is_idle(name, value);
        self.state.settings.borrow_mut().set(name, value, local)?;
        if told {
            let what = format!("parameter \"{name}\" is kept, but has no effect");
            self.state.notice(Severity::Warning, SqlError::new(SqlState::WARNING, what));
        }
        self.refresh();
        Ok(())
    }

    /// SET SESSION CHARACTERISTICS.
    fn set_characteristics(&mut self, modes: Modes) -> Result<()> {
        let named = [
            ("default_transaction_read_only", modes.read_only.and(modes.shown("transaction_read_only"))),
            ("default_transaction_deferrable", modes.deferrable.and(modes.shown("transaction_deferrable"))),
            ("default_transaction_isolation", modes.isolation.and(modes.shown("transaction_isolation"))),
        ];
        for (name, value) in named.into_iter().filter(|(_, value)| value.is_some()) {
            self.state.settings.borrow_mut().set(name, value, false)?;
        }
        self.refresh();
        Ok(())
    }

    /// SET ROLE and SET SESSION AUTHORIZATION; without a name the session is itself again.
    fn become_role(&mut self, setting: &'static str, name: Option<&str>, local: bool) -> Result<()> {
        self.state.check_may_become(setting, name)?;
        self.state.set_role(setting, name, local)?;
        self.refresh();
        Ok(())
    }

    fn shown(&self, name: Option<&str>) -> Result<Vec<Box<[Value]>>> {
        let settings = self.state.settings.borrow();
        Ok(match name {
            Some(name) => {
                let value = match self.transaction.effective_modes().shown(name) {
                    Some(value) => value,
                    None => settings.get(name)?,
                };
                vec![Box::from([Value::text(value)])]
            }
            None => {
                let all = settings.all().into_iter();
                all.map(|(name, value)| Box::from([Value::text(name), Value::text(value), Value::text("")]))
                    .collect()
            }
        })
    }

    fn check_deferrable(&self, name: &str) -> Result<()> {
        let (mut found, mut deferrable) = (false, false);
        for table in self.state.catalog.tables() {
            if !table.has_constraint(name) {
                continue;
            }
            found = true;
            let trigger = table.constraint_trigger(name).and_then(|trigger| trigger.constraint.as_ref());
            deferrable |= trigger.is_some_and(|constraint| constraint.deferrable.is_some());
            deferrable |= table.foreign_keys.iter().any(|key| key.name == name && key.deferrable)
                || table.indexes.iter().any(|index| index.name == name && index.deferrable.is_some());
        }
        match found.then_some(deferrable) {
            Some(true) => Ok(()),
            Some(false) => Err(SqlError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("constraint \"{name}\" is not deferrable"),
            )),
            None => Err(SqlError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("constraint \"{name}\" does not exist"),
            )),
        }
    }

    /// EXECUTE.
    fn execute_named(
        &mut self,
        name: &str,
        arguments: &[String],
        alone: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        let (compiled, params) = self.bound_by_name(name, arguments)?;
        self.run_compiled(&compiled, &params, alone, sink)
    }

    /// A prepared statement, with the values of its parameters.
    pub(super) fn bound_by_name(&mut self, name: &str, arguments: &[String]) -> Result<(Held, Vec<Value>)> {
        let compiled = self.current(name)?;
        if arguments.len() != compiled.params.len() {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!("wrong number of parameters for prepared statement \"{name}\""),
            )
            .detail(format!(
                "Expected {} parameters but got {}.",
                compiled.params.len(),
                arguments.len()
            )));
        }
        let mut params = Vec::with_capacity(arguments.len());
        for (argument, &ty) in arguments.iter().zip(&compiled.params) {
            params.push(self.constant(argument, ty)?);
        }
        Ok((compiled, params))
    }

    /// The value of an expression without columns.
    fn constant(&mut self, text: &str, ty: Type) -> Result<Value> {
        let compiled = self.compile(&format!("SELECT ({text})::{ty}"), &[])?;
        let mut kept = super::kept::Kept::default();
        self.run_plan(&compiled, &[], false, super::run::Target::Keep(&mut kept))?;
        let value = kept.into_first().and_then(|row| row.into_vec().pop());
        match value.ok_or_else(|| SqlError::internal("no value"))? {
            // the names of things are shown as texts
            Value::Text(text) if is_named(ty) => self.parse_parameter(&text, ty),
            value => Ok(value),
        }
    }
}
