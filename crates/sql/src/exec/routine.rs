//! Calls of functions that somebody has written, by a statement at work.
//!
//! The pieces of SQL of their bodies run with the engine's worker of the statement, so that they read what it has
//! written, and are undone with it. A statement that is run again after a conflict calls them again.

use super::context::HostMark;
use super::measure::Measures;
use super::of_params::OverParams;
use super::{Exec, Flow};
use crate::api::Severity;
use crate::compiled::{Action, Compiled, Held};
use crate::routine::runner::{Ran, Runner};
use crate::routine::{Finished, MAX_CALLS, Piece, Planned, run, too_deep};
use scaledb_catalog::{Language, RoutineDesc, TriggerDesc};
use scaledb_engine::{Savepoint, Worker};
use scaledb_locks::{Mark, Mode, Tag};
use scaledb_parse::explain::Options;
use scaledb_parse::utility::Utility;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::routine::has_columns;
use scaledb_planner::plan::secured::Reader;
use scaledb_planner::plan::{Kind, Plan};
use scaledb_types::row_weight;
use scaledb_types::{Context as CastContext, Result, SqlError, SqlState, Type, Value, find_cast};
use std::sync::Arc;
use std::time::Instant;

/// Stack for a call.
const STACK: usize = 512 << 10;
/// What must be left of it.
const RED_ZONE: usize = 256 << 10;

impl<'a, W: Worker> Exec<'a, W> {
    /// The value that a function returns.
    pub(super) fn routine(&mut self, desc: &Arc<RoutineDesc>, args: &[Expr]) -> Result<Value> {
        let values = self.eval_all(args)?;
        if desc.strict && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        match self.call_routine(desc, None, values)? {
            Finished::Value(value) => Ok(value),
            Finished::Nothing => Ok(nothing(desc)),
            Finished::Row(_) | Finished::Rows(_) => Err(SqlError::internal("rows where a value is expected")),
        }
    }

    /// Hands out the rows that a function returns.
    pub(super) fn routine_rows(
        &mut self,
        desc: &Arc<RoutineDesc>,
        args: Vec<Value>,
        next: &mut dyn FnMut(&mut Self, Vec<Value>) -> Result<Flow>,
    ) -> Result<Flow> {
        let null = desc.strict && args.iter().any(Value::is_null);
        if null && desc.set {
            return Ok(Flow::Continue(()));
        }
        let finished = if null { None } else { Some(self.call_routine(desc, None, args)?) };
        let rows = match finished {
            Some(Finished::Rows(rows)) => rows,
            Some(Finished::Row(Some(row))) => vec![row.into()],
            Some(Finished::Value(value)) => vec![Box::from([value])],
            Some(Finished::Nothing) => vec![Box::from([nothing(desc)])],
            // a row that is NULL has as many columns as any other, which are NULL already
            Some(Finished::Row(None)) | None => {
                let width = if has_columns(desc) { self.context.host.width_of(desc)? } else { 1 };
                vec![vec![Value::Null; width].into()]
            }
        };
        let bytes = if desc.set { rows.iter().map(|row| row_weight(row)).sum() } else { 0 };
        let mut flow = Flow::Continue(());
        for row in rows {
            flow = next(self, row.into_vec())?;
            if flow.is_break() {
                break;
            }
        }
        self.memory.give(bytes);
        Ok(flow)
    }

    /// Calls a routine; for the rows of a table if a trigger does.
    pub(super) fn call_routine(
        &mut self,
        desc: &Arc<RoutineDesc>,
        by: Option<(&TriggerDesc, u32)>,
        args: Vec<Value>,
    ) -> Result<Finished> {
        let calls = &self.context.calls;
        if calls.get() >= MAX_CALLS {
            return Err(too_deep());
        }
        let loaded = self.context.host.routine(desc, by)?;
        calls.set(calls.get() + 1);
        let mark = self.context.host.enter_routine(desc);
        let result = stacker::maybe_grow(RED_ZONE, STACK, || run(self, &loaded, args));
        self.context.host.leave_routine(mark);
        self.context.calls.set(self.context.calls.get() - 1);
        result
    }

    /// Runs a plan with this statement's worker. `each` gets its rows.
    fn nested(
        &mut self,
        plan: &Plan,
        params: &[Value],
        each: &mut dyn FnMut(&mut Exec<'_, W>) -> Result<Flow>,
    ) -> Result<u64> {
        self.nested_measured(plan, params, &mut None, each)
    }

    /// The same; what its operators do is measured, if there is what measures it.
    fn nested_measured(
        &mut self,
        plan: &Plan,
        params: &[Value],
        measures: &mut Option<Box<Measures>>,
        each: &mut dyn FnMut(&mut Exec<'_, W>) -> Result<Flow>,
    ) -> Result<u64> {
        let context = self.context;
        context.host.note_nested(plan)?;
        if context.locks.tables() != 0 {
            self.use_tables(plan)?;
        }
        let Some(worker) = self.worker.as_deref_mut() else {
            return Err(SqlError::internal("a function is called within a scan"));
        };
        let mark = worker.read_mark();
        let scratch = self.spare.take().unwrap_or_default();
        let mut exec = Exec::new(worker, context, params, (plan.slots, plan.scans, plan.keeps), scratch);
        exec.locking.again = self.locking.again;
        exec.locking.whole = self.locking.whole;
        exec.locking.reserves = self.locking.reserves;
        exec.locking.wrote = self.locking.wrote;
        exec.writes = plan.writes;
        exec.calls = plan.calls;
        exec.measures = measures.take();
        if plan.parts {
            exec.parts = Some(Box::new(super::apart::Parts::new(plan.conflicts)));
        }
        let result = (|| {
            let _ = exec.run(&plan.root, &mut |exec| each(exec))?;
            exec.write_parts()?;
            if plan.locks.is_some() {
                exec.settle_locks(mark)?;
            }
            Ok(exec.affected)
        })();
        let given_up = exec.locking.given_up.take();
        let wrote = exec.locking.wrote;
        let deferred = std::mem::take(&mut exec.deferred);
        *measures = exec.measures.take();
        let mut scratch = exec.take_scratch();
        drop(exec);
        scratch.clear();
        self.spare = Some(scratch);
        self.locking.wrote |= wrote;
        self.locking.given_up = self.locking.given_up.or(given_up);
        self.deferred.extend(deferred);
        result
    }

    /// EXPLAIN: the plan of a statement, and with ANALYZE its run.
    fn explain(&mut self, explained: &Held, options: Options, params: &[Value]) -> Result<Vec<Box<[Value]>>> {
        let Action::Plan(plan) = &explained.action else {
            let what = "EXPLAIN of this statement is not supported: it has no plan";
            return Err(SqlError::unsupported(what));
        };
        let context = self.context;
        let (mut measures, mut execution) = (None, None);
        if options.analyze {
            let begin = Instant::now();
            measures = Some(Box::new(Measures::new(options.timing)));
            self.nested_measured(plan, params, &mut measures, &mut |exec| {
                for expr in &plan.output {
                    exec.eval(expr)?;
                }
                Ok(Flow::Continue(()))
            })?;
            execution = options.summary.then(|| begin.elapsed());
        } else {
            context.host.note_nested(plan)?;
        }
        Ok(context.host.shown(context.env, plan, options, (measures.as_deref(), execution)))
    }

    /// The value of an expression that reads no table: most of those in a body are like that.
    fn simple_value(&mut self, plan: &Plan, expr: &Expr, params: &[Value]) -> Result<Value> {
        let context = self.context;
        context.host.note_uses(plan);
        if let Some(value) = (OverParams { context, memory: &self.memory, params }).value(expr)? {
            return Ok(value);
        }
        let Some(worker) = self.worker.as_deref_mut() else {
            return Err(SqlError::internal("a function is called within a scan"));
        };
        let scratch = self.spare.take().unwrap_or_default();
        let mut exec = Exec::new(worker, context, params, (plan.slots, 0, plan.keeps), scratch);
        let value = exec.eval(expr);
        let mut scratch = exec.take_scratch();
        drop(exec);
        scratch.clear();
        self.spare = Some(scratch);
        value
    }

    /// Locks the tables of a plan, as statements do: another session has locked tables.
    #[cold]
    fn use_tables(&mut self, plan: &Plan) -> Result<()> {
        let mode = match plan.locks {
            _ if plan.writes => Mode::RowExclusive,
            Some(_) => Mode::RowShare,
            None => Mode::AccessShare,
        };
        for &(table, _) in &plan.tables {
            let tag = Tag::Table(table);
            if !self.context.host.take_lock(tag, mode)? {
                self.worker()?.yield_priority();
                self.context.wait_for_lock(tag, mode, false)?;
            }
        }
        Ok(())
    }
}

/// What a function that returns nothing has as its value.
pub(crate) fn nothing(desc: &RoutineDesc) -> Value {
    if desc.language == Language::Sql { Value::Null } else { Value::text("") }
}

/// What may be undone of what a function has done.
pub(crate) struct Part {
    savepoint: Savepoint,
    host: HostMark,
    deferred: usize,
    after: usize,
    locks: Mark,
}

impl<W: Worker> Runner for Exec<'_, W> {
    type Part = Part;

    fn generation(&self) -> u64 {
        0
    }

    fn reader(&self) -> Reader {
        self.context.host.reader()
    }

    fn compile(&mut self, piece: &Piece<'_>) -> Result<Compiled> {
        self.context.host.compile(self.context.env, piece)
    }

    fn run(&mut self, compiled: &Held, params: &[Value], most: usize) -> Result<Ran> {
        let plan = match &compiled.action {
            Action::Plan(plan) => plan,
            Action::Empty => return Ok(Ran::default()),
            Action::Call(call) => {
                let Action::Plan(plan) = &call.args.action else {
                    return Err(SqlError::internal("not a plan"));
                };
                let (mut args, output) = (Vec::new(), &plan.output);
                let each = &mut |exec: &mut Exec<'_, W>| {
                    for expr in output {
                        args.push(exec.eval(expr)?);
                    }
                    Ok(Flow::Continue(()))
                };
                self.nested(plan, params, each)?;
                let finished = self.call_routine(&call.desc, None, args)?;
                let row = crate::routine::row_of(finished)?;
                return Ok(Ran { rows: row.into_iter().map(Into::into).collect(), affected: 0 });
            }
            Action::Utility(utility) if utility.is_about_channels() => {
                self.context.host.about_channels(utility)?;
                return Ok(Ran::default());
            }
            Action::Utility(Utility::Explain { options, .. })
                if let Some(explained) = &compiled.explained =>
            {
                let rows = self.explain(explained, *options, params)?;
                return Ok(Ran { affected: rows.len() as u64, rows });
            }
            Action::Utility(_) | Action::Ddl(_) | Action::Truncate(_) => {
                return Err(SqlError::unsupported(
                    "this statement is not supported in a function that a query calls",
                )
                .hint("DO, CALL, and a SELECT of nothing but the function may have it."));
            }
        };
        let (mut rows, mut count): (Vec<Box<[Value]>>, _) = (Vec::new(), 0);
        let affected = self.nested(plan, params, &mut |exec| {
            count += 1;
            if most == 0 {
                for expr in &plan.output {
                    exec.eval(expr)?;
                }
            }
            if rows.len() < most {
                let mut row = Vec::with_capacity(plan.output.len());
                for expr in &plan.output {
                    row.push(exec.eval(expr)?);
                }
                exec.memory.take(row_weight(&row))?;
                rows.push(row.into());
            }
            // what is to be written is written, however many rows are wanted
            let enough = most > 0 && rows.len() >= most && !plan.writes && plan.locks.is_none();
            Ok(if enough { Flow::Break(()) } else { Flow::Continue(()) })
        })?;
        let affected = if plan.kind == Kind::Select { count } else { affected };
        Ok(Ran { rows, affected })
    }

    fn value(&mut self, piece: &Planned, params: &[Value]) -> Result<Value> {
        let Action::Plan(plan) = &piece.held.action else {
            return Err(SqlError::internal("not an expression"));
        };
        let [expr] = &plan.output[..] else { return Err(SqlError::internal("not one expression")) };
        if piece.is_plain {
            return self.simple_value(plan, expr, params);
        }
        let (mut found, mut rows) = (Value::Null, 0);
        self.nested(plan, params, &mut |exec| {
            rows += 1;
            if rows > 1 {
                return Err(SqlError::new(
                    SqlState::CARDINALITY_VIOLATION,
                    "query returned more than one row",
                ));
            }
            found = exec.eval(expr)?;
            Ok(Flow::Continue(()))
        })?;
        Ok(found)
    }

    fn convert(&mut self, value: Value, from: Type, to: Type) -> Result<Value> {
        if from == to {
            return Ok(value);
        }
        let context = self.context;
        let value = converted(context, value, from, to)?;
        if to.domain.is_none() {
            return Ok(value);
        }
        let held = context.host.domain(context.env, to)?;
        let Action::Plan(plan) = &held.action else { return Err(SqlError::internal("not a plan")) };
        let [expr] = &plan.output[..] else { return Err(SqlError::internal("not one expression")) };
        if !expr.needs_worker() {
            return of_domain::<W>(context, plan, value);
        }
        let mut found = Value::Null;
        self.nested(plan, &[value], &mut |exec| {
            found = exec.eval(expr)?;
            Ok(Flow::Continue(()))
        })?;
        Ok(found)
    }

    fn text(&mut self, value: &Value, ty: Type) -> Option<String> {
        self.context.text(value, ty)
    }

    fn begin_part(&mut self) -> Result<Part> {
        let savepoint = self.worker()?.savepoint().map_err(|error| self.context.engine_error(error))?;
        Ok(Part {
            savepoint,
            host: self.context.host.mark(),
            deferred: self.deferred.len(),
            after: self.after.len(),
            locks: self.context.host.owner().borrow().mark(),
        })
    }

    fn end_part(&mut self, _: Part) {}

    fn undo_part(&mut self, part: Part) -> Result<()> {
        let undone = self.worker()?.rollback_to(part.savepoint);
        undone.map_err(|error| match error {
            scaledb_base::Error::TransactionEnded => SqlError::new(
                SqlState::SERIALIZATION_FAILURE,
                "a conflict with another transaction has ended this one",
            )
            .hint("Roll back and run the whole transaction again."),
            other => self.context.engine_error(other),
        })?;
        // a run that was given up for a lock is given up, whatever a handler says
        if self.locking.given_up.is_some() || self.context.given_up.get().is_some() {
            return Err(super::lock::given_up());
        }
        self.context.host.undo_to(part.host);
        self.context.host.owner().borrow_mut().release_to(part.locks);
        self.deferred.truncate(part.deferred);
        self.after.truncate(part.after);
        // the error may follow from what others change
        self.context.host.note_whole_catalog();
        Ok(())
    }

    fn notice(&mut self, severity: Severity, fields: SqlError) {
        self.context.host.tell(severity, fields);
    }

    fn take(&mut self, bytes: usize) -> Result<()> {
        self.memory.take(bytes)
    }

    fn give(&mut self, bytes: usize) {
        self.memory.give(bytes);
    }

    fn check(&mut self) -> Result<()> {
        self.context.check_cancel()
    }
}

/// A value of one type as one of another, as an assignment has it: by a cast, or else by its text. What a domain
/// demands is not looked at.
///
/// # Errors
/// 42804, and those of the cast.
pub(crate) fn converted(
    context: &super::context::Context<'_>,
    value: Value,
    from: Type,
    to: Type,
) -> Result<Value> {
    if let Some(cast) = find_cast(from, to, CastContext::Assignment) {
        return cast.apply(&value, context.env);
    }
    match context.text(&value, from) {
        Some(text) => Value::parse(&text, to, context.env),
        None => Ok(Value::Null),
    }
}

/// A value that becomes one of the domain that a plan makes values of, which calls nothing that somebody has written.
///
/// # Errors
/// 23502 and 23514 for what the domain refuses.
pub(crate) fn of_domain<W: Worker>(
    context: &super::context::Context<'_>,
    plan: &Plan,
    value: Value,
) -> Result<Value> {
    context.host.note_uses(plan);
    let [expr] = &plan.output[..] else { return Err(SqlError::internal("not one expression")) };
    let (params, shape) = ([value], (plan.slots, 0, 0));
    Exec::<W>::without_worker(context, &params, shape, super::Scratch::default()).eval(expr)
}
