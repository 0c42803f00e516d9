//! Running compiled statements.

use super::Session;
use super::digest::{Digest, Digested};
use super::direct::Rows;
use super::explain::Explaining;
use super::kept::Kept;
use super::long_read::Reading;
use super::waiting::Effort;
use crate::api::{Column, RowSink, Tag};
use crate::compiled::{Action, Compiled, Held};
use crate::exec::apart::Parts;
use crate::exec::context::Context;
use crate::exec::lock::given_up;
use crate::exec::{Exec, Flow};
use crate::routine::cursors::Cursors as _;
use crate::temporary::Allowance;
use scaledb_engine::{Engine, Keys, Worker};
use scaledb_locks::Mode;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Kind, Plan};
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, SqlState, Type, Value};
use std::cell::Cell;
use std::time::Instant;

/// Where the rows of a run go.
pub(super) enum Target<'s> {
    Sink(&'s mut dyn RowSink),
    /// Rows are kept: of a cursor, of a portal that is read in parts.
    Keep(&'s mut Kept),
    /// Rows are handed out one by one, as values.
    Rows(&'s mut dyn Rows),
    /// Rows are computed and dropped: EXPLAIN ANALYZE.
    Explain(&'s mut Explaining),
}

impl Target<'_> {
    fn mark(&mut self) {
        match self {
            Self::Sink(sink) => sink.mark(),
            Self::Rows(_) | Self::Explain(_) => {}
            Self::Keep(kept) => **kept = Kept::default(),
        }
    }

    pub(super) fn rewind(&mut self) -> bool {
        match self {
            Self::Sink(sink) => sink.rewind(),
            Self::Rows(rows) => rows.rewind(),
            Self::Keep(kept) => {
                **kept = Kept::default();
                true
            }
            Self::Explain(explaining) => {
                explaining.again();
                true
            }
        }
    }
}

impl<E: Engine> Session<E> {
    /// What running statements see of the session.
    pub(super) fn context(&self) -> Context<'_> {
        Context {
            env: &self.env,
            budget: &self.state.shared.memory,
            memory_limit: self.work_mem,
            temporary: Allowance::new(self.state.shared.temporary.get(), self.temp_file_limit),
            cancel: &self.cancel,
            deadline: self.deadline(),
            host: &self.state,
            constraints: &self.constraints,
            locks: &self.state.database.locks,
            lock_timeout: self.lock_timeout,
            has_worker: self.transaction.has_begun(),
            waiters: &self.state.shared.waiters,
            gives_up: false,
            given_up: Cell::new(None),
            calls: Cell::new(0),
            triggers: Cell::new(0),
            counts: &self.counts,
            dropped_indexes: &self.transaction.gone,
        }
    }

    /// When `statement_timeout` is over for a statement that begins now. Those of a DO end with it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.running_block {
            Some(block) => block.deadline,
            None => self.statement_timeout.map(|timeout| Instant::now() + timeout),
        }
    }

    /// Sets the clock of the transaction, which literals such as `'now'` read, before a statement begins that may be
    /// the first one in it.
    pub(super) fn look_at_clock(&mut self) {
        if self.transaction.is_alone() && !self.transaction.has_begun() {
            // of a statement that has not come to run
            self.transaction.time = None;
        }
        self.env.transaction_time = self.transaction.time.unwrap_or_else(scaledb_types::zone::clock);
    }

    /// Sets the clocks of the statement, and takes note of settings that have changed.
    pub(super) fn start_statement(&mut self) {
        self.refresh();
        let now = scaledb_types::zone::clock();
        self.env.statement_time = now;
        self.env.transaction_time = *self.transaction.time.get_or_insert(now);
        self.activity.begin(now, self.env.transaction_time);
    }

    /// Runs a plan. `alone` if the statement is committed here: it is then run again after a conflict.
    pub(super) fn run_plan(
        &mut self,
        compiled: &Held,
        params: &[Value],
        alone: bool,
        mut target: Target<'_>,
    ) -> Result<u64> {
        check_given(compiled, params)?;
        // a routine does this by itself, whose variables may hold the names of cursors
        if let Action::Plan(plan) = &compiled.action
            && let Some(current) = &plan.current_of
            && self.running_block.is_none()
        {
            self.state.portals.look_at(&current.cursor, (current.table, &current.name))?;
        }
        let mut fresh: Option<Held> = None;
        let whole = alone || !self.transaction.has_begun();
        target.mark();
        self.state.owner.borrow_mut().begin_statement();
        let deadline = self.deadline();
        let locked = self.state.owner.borrow().count() > 0;
        let mut effort = Effort::new(alone, whole, locked, deadline);
        effort.reserves = self.running_block.as_ref().is_some_and(|running| running.reserves);
        if !alone {
            self.state.acted.set(false);
            self.state.looked.set(false);
            self.state.portals.take_touched();
        }
        if let Action::Plan(plan) = &compiled.action {
            effort.reading =
                if alone { self.reading_alone(plan) } else { self.reading_in_block(plan, &target) };
        }
        let said = self.state.said();
        let result = loop {
            let compiled = fresh.as_ref().unwrap_or(compiled);
            if !alone {
                self.state.drawn.borrow_mut().begin_statement(self.transaction.record.drawn);
            }
            self.transaction.wants_snapshot = effort.wants_snapshot();
            let begun = match effort.reading {
                Reading::Snapshot if !alone => self.move_to_snapshot(&mut effort),
                _ => Ok(()),
            };
            match begun.and_then(|()| self.attempt_with(compiled, params, &mut effort, &mut target)) {
                Ok(affected) => break Ok(affected),
                Err(error) => {
                    if let Err(error) = self.try_again(error, &mut effort, &mut target) {
                        break Err(error);
                    }
                    if !alone
                        && effort.reading == Reading::Snapshot
                        && let Action::Plan(plan) = &compiled.action
                    {
                        plan.contended.store(true, Ordering::Relaxed); // a hint
                    }
                    // functions will say and set it again
                    self.state.unsay(said);
                    if let Action::Plan(plan) = &compiled.action {
                        self.consider_tables(plan, &mut effort);
                    }
                }
            }
            if whole {
                match self.fresh(compiled) {
                    Ok(Some(newer)) => fresh = Some(newer),
                    Ok(None) => {}
                    Err(error) => break Err(error),
                }
            }
        };
        if effort.repeats {
            self.state.end_repeated();
        }
        self.state.settle(said);
        if let Action::Plan(plan) = &compiled.action {
            if !alone {
                if let Err(error) = &result {
                    self.note_failed_in_block(plan, &effort, error);
                }
                let told = matches!(target, Target::Explain(_)) || self.state.has_told(said);
                self.record((compiled, plan), params, &effort, (&result, told));
                if self.state.portals.take_touched() {
                    // what a client fetches of a cursor that a function has opened is in no digest
                    self.transaction.record.settle();
                    self.transaction.record.end_whole();
                }
            } else if effort.reading.may_change() {
                Self::note_reading(plan, &effort, result.is_ok());
            }
        }
        if effort.held {
            target.hold(false);
        }
        result
    }

    /// Begins, and runs the statement as the catalog of the transaction has it: that may be newer than the one that it
    /// was compiled for.
    pub(super) fn attempt_with(
        &mut self,
        compiled: &Held,
        params: &[Value],
        effort: &mut Effort,
        target: &mut Target<'_>,
    ) -> Result<u64> {
        if let Action::Plan(plan) = &compiled.action {
            if plan.writes {
                self.wait_for_changes(&plan.tables)?;
            }
            if self.state.database.locks.tables() != 0 {
                // before it begins: it reads what is there behind the wait
                self.use_tables(plan, effort.deadline)?;
            }
        }
        if let Some(table) = effort.table {
            self.lock_table(table, Mode::ShareRowExclusive, effort.deadline)?;
        }
        match effort.reading {
            Reading::AsBegun => self.begin_to_write()?,
            Reading::Watched | Reading::Snapshot | Reading::Nothing => self.begin_to_read()?,
        }
        if let Some(tables) = &effort.bars {
            self.bar_everywhere(tables)?;
        }
        if compiled.version != self.state.catalog.version
            && let Some(newer) = self.fresh(compiled).map_err(|error| self.unless_cut_off(error))?
        {
            return self.attempt(&newer, params, effort, target);
        }
        self.attempt(compiled, params, effort, target)
    }

    fn attempt(
        &mut self,
        compiled: &Compiled,
        params: &[Value],
        effort: &mut Effort,
        target: &mut Target<'_>,
    ) -> Result<u64> {
        let Action::Plan(plan) = &compiled.action else { return Err(SqlError::internal("not a plan")) };
        if plan.lasting && self.transaction.is_read_only() {
            let word = match plan.kind {
                Kind::Select => "this statement",
                kind => kind.word(),
            };
            return Err(SqlError::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                format!("cannot execute {word} in a read-only transaction"),
            ));
        }
        if plan.whole_catalog {
            self.list_own();
        }
        self.state.check_populated(plan)?;
        if let Some(statement) = plan.locks
            && self.transaction.is_read_only()
        {
            return Err(SqlError::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                format!("cannot execute {statement} in a read-only transaction"),
            ));
        }
        self.state.check_needs_but(plan, self.filling)?;
        if !effort.whole && (self.state.waited.get() || plan.writes && self.is_overtaken()) {
            self.go_on_in_present(None)?;
        }
        self.transaction.touch(&plan.tables, compiled.number);
        self.state.note_uses(plan);
        self.transaction.note(compiled.number, plan.writes);
        self.state.running.set(compiled.number);
        self.activity.run(compiled.number);
        let columns = compiled.columns.as_deref().unwrap_or_default();
        let shown = self.begin_shown(plan, effort);
        let ran = match self.wants_digest(plan, effort) {
            false => self.execute_plan(plan, columns, params, effort, target),
            true => self.execute_digested(plan, columns, params, effort, target),
        };
        let affected = match ran {
            Ok(affected) => affected,
            Err(error) => return Err(self.unless_stale(error)),
        };
        if let Some(mark) = shown {
            self.check_shown(mark)?;
        }
        if effort.alone {
            self.commit()?;
        }
        Ok(affected)
    }

    /// Runs a plan within the engine's transaction.
    fn execute_plan(
        &mut self,
        plan: &Plan,
        columns: &[Column],
        params: &[Value],
        effort: &mut Effort,
        target: &mut Target<'_>,
    ) -> Result<u64> {
        let Some(mut worker) = self.worker.take() else { return Err(SqlError::internal("no worker")) };
        let locks = plan.locks.is_some() || effort.reserves || self.state.database.locks.rows() != 0;
        effort.mark = if locks { Some(worker.read_mark()) } else { None };
        let scratch = self.scratch.take().unwrap_or_default();
        let mut context = self.context();
        context.gives_up = effort.gives_up();
        let mut exec =
            Exec::new(&mut *worker, &context, params, (plan.slots, plan.scans, plan.keeps), scratch);
        exec.locking.again = effort.whole || effort.mark.is_some();
        exec.locking.whole = effort.whole;
        exec.locking.reserves = effort.reserves;
        if effort.reading == Reading::Watched && !self.transaction.snapshot {
            effort.held = target.hold(true);
            // what a block reads is validated, however much it is, as long as nobody writes to it
            if effort.alone || !effort.held { exec.watch_reads() } else { exec.watch_rows() }
        }
        if let Target::Explain(explaining) = target {
            exec.measures = Some(explaining.measures());
        }
        let result = if plan.depth > 64 {
            // evaluation goes as deep as expressions nest
            stacker::maybe_grow(plan.depth << 13, plan.depth << 14, || {
                run(&mut exec, plan, columns, effort, target)
            })
        } else {
            run(&mut exec, plan, columns, effort, target)
        };
        let wrote = self.state.wrote.take();
        effort.given_up = exec.locking.given_up.take().or(context.given_up.get());
        effort.touched = exec.touched();
        let deferred = std::mem::take(&mut exec.deferred);
        if let Target::Explain(explaining) = target {
            let reach = |id, keys: Keys<'_>| self.state.shared.engine.reach(id, keys);
            explaining.has_run(plan, &self.env, &reach, exec.measures.take());
        }
        let mut scratch = exec.take_scratch();
        scratch.clear();
        drop(exec);
        self.scratch = Some(scratch);
        self.worker = Some(worker);
        if wrote {
            self.note_writes();
        }
        if !deferred.is_empty() {
            self.transaction.deferred.extend(deferred);
        }
        // even if the error was caught: the lock is missing
        if effort.given_up.is_some() { result.and_then(|_| Err(given_up())) } else { result }
    }

    /// Runs a plan, and makes the digest of its rows.
    #[cold]
    fn execute_digested(
        &mut self,
        plan: &Plan,
        columns: &[Column],
        params: &[Value],
        effort: &mut Effort,
        target: &mut Target<'_>,
    ) -> Result<u64> {
        let mut digest = Digest::new(&self.blocks.key, None, self.most_digested(effort));
        let result = match target {
            Target::Sink(sink) => {
                let mut sink = Digested { to: &mut **sink, digest: &mut digest };
                self.execute_plan(plan, columns, params, effort, &mut Target::Sink(&mut sink))
            }
            Target::Rows(rows) => {
                let mut rows = Digested { to: &mut **rows, digest: &mut digest };
                self.execute_plan(plan, columns, params, effort, &mut Target::Rows(&mut rows))
            }
            Target::Keep(_) | Target::Explain(_) => {
                let ran = self.execute_plan(plan, columns, params, effort, target);
                if let (Ok(_), Target::Keep(kept)) = (&ran, target) {
                    digest.add_kept(kept)?;
                }
                ran
            }
        };
        effort.digest = Some(digest);
        result
    }

    /// The tag of a plan that has run.
    pub(super) fn tag(plan: &Plan, rows: u64) -> Tag {
        let words = match plan.kind {
            Kind::Insert => "INSERT 0",
            kind => kind.word(),
        };
        Tag::rows(words, rows)
    }
}

/// Runs a plan. One that may have to begin anew hands its rows out when it is known that it does not: one that locks
/// rows when it has looked at all locks, one whose reads are watched at its end, unless the target holds rows back.
fn run<W: Worker>(
    exec: &mut Exec<'_, W>,
    plan: &Plan,
    columns: &[Column],
    effort: &Effort,
    target: &mut Target<'_>,
) -> Result<u64> {
    let mark = effort.mark.filter(|_| plan.locks.is_some());
    let holds = effort.held || matches!(target, Target::Keep(_) | Target::Explain(_));
    if holds || mark.is_none() && !exec.is_watched() {
        let affected = emit(exec, plan, columns, target)?;
        mark.map_or(Ok(()), |mark| exec.settle_locks(mark))?;
        return Ok(affected);
    }
    let mut kept = Kept::default();
    let affected = match emit(exec, plan, columns, &mut Target::Keep(&mut kept)) {
        Ok(affected) => affected,
        // the rows before an error are handed out, unless those of another run will be
        Err(error) if mark.is_none() && error.code() != SqlState::SERIALIZATION_FAILURE => {
            kept.finish(exec.context, &mut exec.memory)?;
            hand_out(&kept, exec.context.env, columns, target)?;
            return Err(error);
        }
        Err(error) => return Err(error),
    };
    mark.map_or(Ok(()), |mark| exec.settle_locks(mark))?;
    hand_out(&kept, exec.context.env, columns, target)?;
    Ok(affected)
}

/// Hands rows that were kept back to the target.
fn hand_out(
    kept: &Kept,
    env: &scaledb_types::Env,
    columns: &[Column],
    target: &mut Target<'_>,
) -> Result<()> {
    match target {
        Target::Sink(sink) => kept.each(0..kept.len(), &mut |row| replay(env, row, columns, &mut **sink)),
        Target::Rows(takes) => {
            let mut enough = false;
            kept.each(0..kept.len(), &mut |row| {
                enough = enough || takes.row(env, columns, row)?.is_break();
                Ok(())
            })
        }
        Target::Keep(_) | Target::Explain(_) => Ok(()),
    }
}

/// Runs a plan and hands its rows to the target. The number of rows written, or of those returned.
fn emit<W: Worker>(
    exec: &mut Exec<'_, W>,
    plan: &Plan,
    columns: &[Column],
    target: &mut Target<'_>,
) -> Result<u64> {
    let mut rows = 0u64;
    // what is handed out row by row
    let mut row = Vec::new();
    let mut enough = false;
    exec.writes = plan.writes;
    exec.calls = plan.calls;
    if plan.parts {
        exec.parts = Some(Box::new(Parts::new(plan.conflicts)));
    }
    let _ = exec.run(&plan.root, &mut |exec| {
        rows += 1;
        match target {
            Target::Sink(sink) => {
                emit_row(exec, &plan.output, columns, &mut **sink)?;
                if exec.is_watched() && sink.is_full() {
                    return Err(exec.reads_much());
                }
            }
            Target::Explain(_) => {
                for expr in &plan.output {
                    exec.eval(expr)?;
                }
            }
            Target::Rows(_) if enough => {}
            Target::Rows(takes) => {
                row.clear();
                for expr in &plan.output {
                    row.push(exec.eval(expr)?);
                }
                enough = takes.row(exec.context.env, columns, &row)?.is_break();
                // what is to be written is written, even if the client wants no more rows
                if enough && !plan.writes && plan.locks.is_none() {
                    return Ok(Flow::Break(()));
                }
            }
            Target::Keep(kept) => {
                let mut row = Vec::with_capacity(plan.output.len());
                for expr in &plan.output {
                    row.push(exec.eval(expr)?);
                }
                kept.push(exec.context, &mut exec.memory, row.into())?;
            }
        }
        Ok(Flow::Continue(()))
    })?;
    exec.write_parts()?;
    if let Target::Keep(kept) = target {
        kept.finish(exec.context, &mut exec.memory)?;
    }
    Ok(if plan.kind == Kind::Select { rows } else { exec.affected })
}

/// Hands one row to the sink.
fn emit_row<W: Worker>(
    exec: &mut Exec<'_, W>,
    output: &[Expr],
    columns: &[Column],
    sink: &mut dyn RowSink,
) -> Result<()> {
    sink.begin_row(output.len());
    for (expr, column) in output.iter().zip(columns) {
        let env = exec.context.env;
        match expr {
            Expr::Slot(slot) => sink.value(env, column.ty, &exec.frame[*slot])?,
            Expr::Session(call) if call.0.is_name() => {
                let oid = exec.eval(&call.1[0])?;
                let name = exec.context.call(&call.0, std::slice::from_ref(&oid))?;
                sink.named(env, column.ty, &oid, &name)?;
            }
            other => {
                let value = exec.eval(other)?;
                sink.value(env, column.ty, &value)?;
            }
        }
    }
    sink.end_row()
}

/// Hands kept rows to the sink.
pub(super) fn replay(
    env: &scaledb_types::Env,
    row: &[Value],
    columns: &[Column],
    sink: &mut dyn RowSink,
) -> Result<()> {
    // behind these a cursor has the key of the row
    sink.begin_row(row.len().min(columns.len()));
    for (value, column) in row.iter().zip(columns) {
        sink.value(env, column.ty, value)?;
    }
    sink.end_row()
}

/// A text without Bind has no values, whatever it names.
///
/// # Errors
/// 42P02.
pub(super) fn check_given(compiled: &Held, params: &[Value]) -> Result<()> {
    if params.len() < compiled.params.len() {
        let what = format!("there is no parameter ${}", params.len() + 1);
        return Err(SqlError::new(SqlState::UNDEFINED_PARAMETER, what));
    }
    Ok(())
}

/// A column of a result that no table has.
pub(super) fn column(name: &str, ty: Type) -> Column {
    Column { name: name.to_owned(), ty, table: 0, attnum: 0 }
}
