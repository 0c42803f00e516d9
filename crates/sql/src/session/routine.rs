//! DO and CALL, and SELECT of nothing but a function: blocks and routines that a session runs by itself, within the
//! transaction at hand. They may change the catalog, which functions that other queries call may not.

use super::Session;
use super::direct::Rows;
use super::run::{Target, check_given};
use super::state::Said;
use crate::api::{Column, CopyInfo, Executed, RowSink, Severity, Tag};
use crate::compiled::{Action, Call, Compiled, Held};
use crate::error::changed_definition;
use crate::exec::of_params::OverParams;
use crate::exec::routine::{converted, nothing, of_domain};
use crate::exec::{Exec, Scratch};
use crate::memory::{Memory, Reservation};
use crate::patience::{DEADLOCK_ATTEMPTS, STATEMENT_ATTEMPTS, STATEMENT_PATIENCE, sleep_before};
use crate::routine::runner::{Ran, Runner};
use crate::routine::{MAX_CALLS, Piece, Planned, load_block, row_of, run, too_deep};
use scaledb_catalog::RoutineDesc;
use scaledb_engine::Engine;
use scaledb_parse::maintenance::Maintained;
use scaledb_parse::plpgsql::Program;
use scaledb_parse::schema_elements::SchemaElements;
use scaledb_parse::utility::Utility;
use scaledb_planner::bind::Lookup as _;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::secured::Reader;
use scaledb_planner::plan::{Kind, Node, Plan};
use scaledb_types::{Env, Result, SqlError, SqlState, Type, Value};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// A DO or a CALL that runs.
pub(super) struct Running {
    /// When `statement_timeout` is over.
    pub(super) deadline: Option<Instant>,
    /// Its statements lock what they write: it has met a conflict before.
    pub(super) reserves: bool,
    /// Calls of procedures that are in each other now.
    calls: usize,
    /// The memory of what it keeps.
    reserved: Vec<Reservation>,
}

impl<E: Engine> Session<E> {
    /// The value of an expression over parameters that depends on nothing else, if it is one.
    fn value_of_params(&self, compiled: &Held, params: &[Value]) -> Result<Option<Value>> {
        let Action::Plan(plan) = &compiled.action else { return Ok(None) };
        let [expr] = &plan.output[..] else { return Ok(None) };
        let depends = plan.whole_catalog || plan.needs.is_some() || !plan.relations.is_empty();
        if depends || params.len() < compiled.params.len() {
            return Ok(None);
        }
        let context = self.context();
        let memory = Memory::new(context.budget, context.memory_limit, false);
        OverParams { context: &context, memory: &memory, params }.value(expr)
    }

    /// DO.
    ///
    /// # Errors
    /// Those of its statements that none of its handlers is for.
    pub(super) fn do_block(&mut self, program: &Program, alone: bool) -> Result<Executed> {
        let deadline = self.deadline();
        self.state.check_language(scaledb_catalog::Language::PlPgSql)?;
        self.run_block(alone, deadline, |session, reserves| {
            session.as_statement((deadline, reserves), |session| {
                let mut loaded = load_block(&session.state.catalog, &session.state.path, program)?;
                loaded.strictness = session.state.strictness();
                loaded.cursors = Some(session.state.portals.clone());
                run(session, &loaded, Vec::new())
            })?;
            Ok(Tag::plain("DO"))
        })
    }

    /// CREATE SCHEMA with statements in it.
    ///
    /// # Errors
    /// Those of the statements; 42P15 for one that is about another schema.
    pub(super) fn create_schema_with(&mut self, create: &SchemaElements, alone: bool) -> Result<Executed> {
        let deadline = self.deadline();
        self.run_block(alone, deadline, |session, reserves| {
            session.as_statement((deadline, reserves), |session| session.make_schema(create))
        })
    }

    /// Runs a block or a procedure; again after a conflict if it is alone, with locks on what it writes then.
    fn run_block(
        &mut self,
        alone: bool,
        deadline: Option<Instant>,
        f: impl FnMut(&mut Self, bool) -> Result<Tag>,
    ) -> Result<Executed> {
        let said = self.state.said();
        let done = self.run_block_since(said, alone, deadline, f);
        self.state.settle(said);
        done
    }

    fn run_block_since(
        &mut self,
        said: Said,
        alone: bool,
        deadline: Option<Instant>,
        mut f: impl FnMut(&mut Self, bool) -> Result<Tag>,
    ) -> Result<Executed> {
        let (mut attempt, mut deadlocks, since) = (0, 0, Instant::now());
        loop {
            let error = match f(self, attempt > 0) {
                Ok(tag) if !alone => return Ok(Executed::Complete(tag)),
                Ok(tag) => match self.commit() {
                    Ok(()) => return Ok(Executed::Complete(tag)),
                    Err(error) => error,
                },
                Err(error) => self.unless_stale(error),
            };
            if !alone {
                return Err(error);
            }
            self.rollback();
            attempt += 1;
            let again = match error.code() {
                SqlState::SERIALIZATION_FAILURE => {
                    attempt < STATEMENT_ATTEMPTS || since.elapsed() < STATEMENT_PATIENCE
                }
                SqlState::DEADLOCK_DETECTED => {
                    deadlocks += 1;
                    deadlocks < DEADLOCK_ATTEMPTS
                }
                _ => false,
            };
            if !again {
                return Err(error);
            }
            self.back_off(attempt);
            sleep_before(attempt);
            let mut context = self.context();
            context.deadline = deadline;
            context.check_cancel()?;
            // they will be said again
            self.state.unsay(said);
        }
    }

    /// Runs something whose statements are of one statement of the client.
    fn as_statement<R>(
        &mut self,
        (deadline, reserves): (Option<Instant>, bool),
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.ensure_begun()?;
        let outer = self.running_block.take();
        let calls = outer.as_ref().map_or(0, |outer| outer.calls);
        let deadline = outer.as_ref().map_or(deadline, |outer| outer.deadline);
        let reserves = outer.as_ref().map_or(reserves, |outer| outer.reserves);
        self.running_block = Some(Running { deadline, reserves, calls: calls + 1, reserved: Vec::new() });
        let result = if calls < MAX_CALLS { f(self) } else { Err(too_deep()) };
        self.running_block = outer;
        result
    }

    /// CALL.
    ///
    /// # Errors
    /// Those of the procedure.
    pub(super) fn call(
        &mut self,
        compiled: &Held,
        params: &[Value],
        alone: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        let deadline = self.deadline();
        let mut returned = None;
        let done = self.run_block(alone, deadline, |session, reserves| {
            returned = session.as_statement((deadline, reserves), |session| {
                // the catalog of the transaction may be newer than the one that it was compiled for
                let newer = session.fresh(compiled)?;
                match &newer.as_ref().unwrap_or(compiled).action {
                    Action::Call(call) => session.called(call, params),
                    _ => Err(SqlError::internal("not a call")),
                }
            })?;
            Ok(Tag::plain("CALL"))
        })?;
        if let (Some(columns), Some(row)) = (&compiled.columns, returned) {
            super::run::replay(&self.env, &row, columns, sink)?;
        }
        Ok(done)
    }

    /// Calls a procedure: what it returns.
    fn called(&mut self, call: &Call, params: &[Value]) -> Result<Option<Vec<Value>>> {
        let mut args = Collected { rows: Vec::new(), most: 1, count: 0 };
        self.run_plan(&call.args, params, false, Target::Rows(&mut args))?;
        self.entered(&call.desc, args.rows.pop().map(<[Value]>::into_vec).unwrap_or_default())
    }

    /// Whether a query is nothing but the call of a function that may change definitions, with arguments that read
    /// nothing.
    pub(super) fn is_call_alone(&self, plan: &Plan) -> Result<bool> {
        use crate::exec::context::Host;
        let Some((desc, args)) = call_in(plan) else { return Ok(false) };
        Ok(!args.iter().any(Expr::needs_worker) && self.state.routine(desc, None)?.may_define)
    }

    /// SELECT of nothing but a function that may change definitions: it runs by itself, as a procedure does.
    ///
    /// # Errors
    /// Those of the function.
    pub(super) fn call_function(
        &mut self,
        compiled: &Held,
        params: &[Value],
        alone: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        let deadline = self.deadline();
        self.state.running.set(compiled.number);
        self.activity.run(compiled.number);
        self.transaction.record.end_whole();
        let mut value = Value::Null;
        let done = self.run_block(alone, deadline, |session, reserves| {
            value = session.as_statement((deadline, reserves), |session| {
                let newer = session.fresh(compiled)?;
                session.value_returned(newer.as_ref().unwrap_or(compiled), params)
            })?;
            Ok(Tag::rows(Kind::Select.word(), 1))
        })?;
        if let Some(columns) = &compiled.columns {
            super::run::replay(&self.env, &[value], columns, sink)?;
        }
        Ok(done)
    }

    /// What the function returns of which a query is nothing but the call.
    fn value_returned(&mut self, compiled: &Held, params: &[Value]) -> Result<Value> {
        let Action::Plan(plan) = &compiled.action else { return Err(SqlError::internal("not a plan")) };
        let Some((desc, args)) = call_in(plan) else { return Err(changed_definition()) };
        check_given(compiled, params)?;
        self.state.check_needs(plan)?;
        self.state.note_uses(plan);
        self.transaction.note(compiled.number, true);
        let args = self.values_of(plan, args, params)?;
        if desc.strict && args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let row = self.entered(desc, args)?;
        Ok(row.and_then(|mut row| row.pop()).unwrap_or_else(|| nothing(desc)))
    }

    /// The values of expressions of a plan that read nothing.
    fn values_of(&mut self, plan: &Plan, exprs: &[Expr], params: &[Value]) -> Result<Vec<Value>> {
        let Some(mut worker) = self.worker.take() else { return Err(SqlError::internal("no worker")) };
        let context = self.context();
        let shape = (plan.slots, plan.scans, plan.keeps);
        let mut exec = Exec::new(&mut *worker, &context, params, shape, Scratch::default());
        let values = exprs.iter().map(|expr| exec.eval(expr)).collect();
        drop(exec);
        self.worker = Some(worker);
        values
    }

    /// Runs a routine: what it returns.
    fn entered(&mut self, desc: &Arc<RoutineDesc>, args: Vec<Value>) -> Result<Option<Vec<Value>>> {
        use crate::exec::context::Host;
        self.state.used.note(desc.oid);
        let loaded = self.state.routine(desc, None)?;
        let mark = self.state.enter_routine(desc);
        let finished = stacker::maybe_grow(256 << 10, 1 << 20, || run(self, &loaded, args));
        self.state.leave_routine(mark);
        row_of(finished?)
    }

    /// Whether a statement may stand in a block or a procedure.
    ///
    /// # Errors
    /// 0A000; 2D000 for one that would end the transaction.
    fn check_allowed(utility: &Utility) -> Result<()> {
        let allowed = matches!(
            utility,
            Utility::AlterSequence(_)
                | Utility::AlterType(_)
                | Utility::Domain(_)
                | Utility::AlterView(_)
                | Utility::SetSchema(_)
                | Utility::Materialized(_)
                | Utility::Comment(_)
                | Utility::Lock { .. }
                | Utility::Grant(_)
                | Utility::Roles(_)
                | Utility::Databases(_)
                | Utility::BecomeRole { .. }
                | Utility::Reset(_)
                | Utility::Set { .. }
                | Utility::SetConstraints { .. }
                | Utility::CreateRoutine(_)
                | Utility::DropRoutines(_)
                | Utility::AlterRoutine(_)
                | Utility::CreateTrigger(_)
                | Utility::SchemaElements(_)
                | Utility::DropTrigger(_)
                | Utility::Policy(_)
                | Utility::RenameTrigger(_)
                | Utility::EnableTriggers(_)
                | Utility::Notify { .. }
                | Utility::Listen(_)
                | Utility::Unlisten(_)
        ) || matches!(utility, Utility::Maintain(about) if matches!(**about, Maintained::Analyzed(_)));
        if matches!(utility, Utility::Commit { .. } | Utility::Rollback { .. } | Utility::PrepareTransaction)
        {
            let what = "invalid transaction termination";
            return Err(SqlError::new(SqlState::INVALID_TRANSACTION_TERMINATION, what));
        }
        let alone = match utility {
            Utility::Databases(statement) if statement.is_alone() => Some(statement.tag()),
            Utility::Maintain(about) => about.alone(),
            _ => None,
        };
        if let Some(alone) = alone {
            let what = format!("{alone} cannot be executed from a function");
            return Err(SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, what));
        }
        if allowed {
            Ok(())
        } else {
            Err(SqlError::unsupported("this statement is not supported in a block"))
        }
    }
}

/// The function of which a query is nothing but the call.
fn call_in(plan: &Plan) -> Option<(&Arc<RoutineDesc>, &[Expr])> {
    match (&plan.root, &plan.output[..]) {
        (Node::Result, [Expr::Routine(call)]) => Some((&call.0, &call.1)),
        _ => None,
    }
}

impl<E: Engine> Runner for Session<E> {
    type Part = usize;

    fn generation(&self) -> u64 {
        // both only grow
        self.state.catalog_changes + self.path_number
    }

    fn reader(&self) -> Reader {
        self.state.reader()
    }

    fn compile(&mut self, piece: &Piece<'_>) -> Result<Compiled> {
        self.refresh();
        self.state.compile_piece(&self.env, piece)
    }

    fn run(&mut self, compiled: &Held, params: &[Value], most: usize) -> Result<Ran> {
        self.refresh();
        match &compiled.action {
            Action::Plan(plan) if plan.calls && self.is_call_alone(plan)? => {
                let value =
                    self.as_statement((None, false), |session| session.value_returned(compiled, params))?;
                let rows = if most > 0 { vec![Box::from([value])] } else { Vec::new() };
                Ok(Ran { rows, affected: 1 })
            }
            Action::Plan(plan) => {
                let mut kept = Collected { rows: Vec::new(), most, count: 0 };
                let count = self.run_plan(compiled, params, false, Target::Rows(&mut kept))?;
                let affected = if plan.kind == Kind::Select { kept.count } else { count };
                Ok(Ran { rows: kept.rows, affected })
            }
            Action::Call(call) => {
                let row = self.as_statement((None, false), |session| session.called(call, params))?;
                Ok(Ran { rows: row.into_iter().map(Into::into).collect(), affected: 0 })
            }
            Action::Empty => Ok(Ran::default()),
            Action::Utility(Utility::Explain { options, .. })
                if let Some(explained) = &compiled.explained =>
            {
                let rows = self.explain_in_routine(explained, *options, params)?;
                Ok(Ran { affected: rows.len() as u64, rows })
            }
            Action::Utility(utility) => {
                Self::check_allowed(utility)?;
                self.run_compiled(compiled, &[], false, &mut NoRows).map(|_| Ran::default())
            }
            Action::Ddl(_) | Action::Truncate(_) => {
                let affected = match self.run_compiled(compiled, &[], false, &mut NoRows)? {
                    Executed::Complete(tag) => tag.rows.unwrap_or(0),
                    _ => 0,
                };
                Ok(Ran { rows: Vec::new(), affected })
            }
        }
    }

    fn value(&mut self, piece: &Planned, params: &[Value]) -> Result<Value> {
        self.refresh();
        if piece.is_plain
            && let Some(value) = self.value_of_params(&piece.held, params)?
        {
            return Ok(value);
        }
        let compiled = &piece.held;
        if let Action::Plan(plan) = &compiled.action
            && plan.calls
            && self.is_call_alone(plan)?
        {
            return self.as_statement((None, false), |session| session.value_returned(compiled, params));
        }
        let mut kept = Collected { rows: Vec::new(), most: 2, count: 0 };
        self.run_plan(compiled, params, false, Target::Rows(&mut kept))?;
        if kept.rows.len() > 1 {
            return Err(SqlError::new(SqlState::CARDINALITY_VIOLATION, "query returned more than one row"));
        }
        Ok(kept.rows.pop().and_then(|row| row.into_vec().pop()).unwrap_or_default())
    }

    fn convert(&mut self, value: Value, from: Type, to: Type) -> Result<Value> {
        if from == to {
            return Ok(value);
        }
        let value = converted(&self.context(), value, from, to)?;
        if to.domain.is_none() {
            return Ok(value);
        }
        self.refresh();
        let held = self.state.domain(&self.env, to)?;
        let Action::Plan(plan) = &held.action else { return Err(SqlError::internal("not a plan")) };
        if !plan.output.iter().any(scaledb_planner::plan::expr::Expr::needs_worker) {
            return of_domain::<E::Worker>(&self.context(), plan, value);
        }
        let mut kept = Collected { rows: Vec::new(), most: 1, count: 0 };
        self.run_plan(&held, &[value], false, Target::Rows(&mut kept))?;
        Ok(kept.rows.pop().and_then(|row| row.into_vec().pop()).unwrap_or_default())
    }

    fn text(&mut self, value: &Value, ty: Type) -> Option<String> {
        self.context().text(value, ty)
    }

    fn begin_part(&mut self) -> Result<usize> {
        Session::begin_part(self)
    }

    fn end_part(&mut self, part: usize) {
        Session::end_part(self, part);
    }

    fn undo_part(&mut self, part: usize) -> Result<()> {
        Session::undo_part(self, part)?;
        // the error may follow from what others change
        self.state.used.note_all();
        Ok(())
    }

    fn notice(&mut self, severity: Severity, fields: SqlError) {
        self.state.notice(severity, fields);
    }

    fn take(&mut self, bytes: usize) -> Result<()> {
        let reserved = Reservation::new(&self.state.shared.memory, bytes)?;
        if let Some(running) = &mut self.running_block {
            running.reserved.push(reserved);
        }
        Ok(())
    }

    fn give(&mut self, _: usize) {
        // what was taken last is given back first
        if let Some(running) = &mut self.running_block {
            running.reserved.pop();
        }
    }

    fn check(&mut self) -> Result<()> {
        self.context().check_cancel()
    }
}

/// Rows of a piece of SQL, so many at most; if none is kept, all are counted.
struct Collected {
    rows: Vec<Box<[Value]>>,
    most: usize,
    count: u64,
}

impl Rows for Collected {
    fn row(&mut self, _: &Env, _: &[Column], values: &[Value]) -> Result<ControlFlow<()>> {
        self.count += 1;
        if self.rows.len() < self.most {
            self.rows.push(values.into());
        }
        let enough = self.most > 0 && self.rows.len() >= self.most;
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn rewind(&mut self) -> bool {
        self.rows.clear();
        self.count = 0;
        true
    }
}

/// Where rows go that nobody asked for.
pub(in crate::session) struct NoRows;

impl RowSink for NoRows {
    fn describe(&mut self, _: &[Column]) -> Result<()> {
        Ok(())
    }

    fn begin_row(&mut self, _: usize) {}

    fn value(&mut self, _: &Env, _: Type, _: &Value) -> Result<()> {
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }

    fn complete(&mut self, _: &Tag) {}

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> Result<()> {
        Err(SqlError::unsupported("COPY is not supported in a block"))
    }

    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Err(SqlError::unsupported("COPY is not supported in a block"))
    }

    fn mark(&mut self) {}

    fn rewind(&mut self) -> bool {
        true
    }
}
