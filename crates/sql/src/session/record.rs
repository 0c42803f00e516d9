//! What a transaction block has run: its statements with their values, and digests of the rows that its client has
//! seen, by which another run of them is compared.

use super::Session;
use super::digest::Digest;
use super::run::Target;
use super::waiting::Effort;
use crate::compiled::{Action, Compiled, Held};
use scaledb_catalog::FIRST_OID;
use scaledb_engine::{Engine, Worker};
use scaledb_parse::utility::Utility;
use scaledb_planner::bind::expr::is_named;
use scaledb_planner::plan::Plan;
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, Type, Value, weight};
use std::ops::Range;
use std::time::Instant;

/// Bytes that the steps of a block may take. More are not recorded.
const MOST: usize = 64 << 10;

/// Texts of statements that are not longer take no memory but that of the plans that sessions keep anyway.
const SHORT: usize = 1 << 10;

/// Steps and values whose memory is kept for the next block.
const KEPT: usize = 64;

/// What a block reads, and whether that may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Way {
    /// The present. It has done nothing but query, and all of its queries are recorded.
    #[default]
    Open,
    /// The present, to its end.
    Settled,
    /// A snapshot. It has done nothing but query, and all of its queries are recorded.
    Snapshot,
    /// A snapshot, to its end.
    Pinned,
    /// Nothing any more: its statements have not had the same results again, or could not be run again.
    Lost,
}

/// The statements of a block, in their order.
#[derive(Default)]
pub(super) struct Record {
    steps: Vec<Step>,
    /// The values of all steps.
    values: Vec<Value>,
    /// Bytes of the steps.
    bytes: usize,
    pub(super) way: Way,
    /// Something has been done that is not recorded.
    partial: bool,
    /// It has locks that its client has asked for, and counts on until the end.
    pub(super) keeps_locks: bool,
    /// How many values the steps have taken of sequences.
    pub(super) drawn: usize,
}

enum Step {
    Statement(Ran),
    /// A savepoint, which may be gone.
    Savepoint,
}

/// A statement whose results the client has.
struct Ran {
    compiled: Held,
    values: Range<usize>,
    /// The rows that it has read or written.
    count: u64,
    /// Of the rows that it has returned.
    digest: u64,
    /// The number of rows behind which the client has wanted no more.
    enough: Option<u64>,
    /// `statement_timestamp()`.
    time: i64,
    /// The settings that it was run with.
    settings: u64,
}

impl Record {
    /// That of a transaction that is being run again by another record.
    pub(super) fn of_another_run() -> Self {
        Self { way: Way::Settled, partial: true, ..Self::default() }
    }

    /// What the block reads stays what it is.
    pub(super) fn settle(&mut self) {
        match self.way {
            Way::Open => {
                self.forget_contention();
                self.way = Way::Settled;
            }
            Way::Snapshot => {
                self.forget_contention();
                self.way = Way::Pinned;
            }
            Way::Settled | Way::Pinned | Way::Lost => {}
        }
        self.trim();
    }

    /// The block does something that cannot be done again.
    #[inline]
    pub(super) fn end_whole(&mut self) {
        if !self.partial {
            self.partial = true;
            self.trim();
        }
    }

    /// A statement has run that is not recorded, and that the block's results depend on.
    fn give_up(&mut self) {
        self.settle();
        self.end_whole();
    }

    /// The block has ended.
    #[inline]
    pub(super) fn end(&mut self) {
        self.way = Way::Open;
        self.partial = false;
        self.keeps_locks = false;
        if !self.steps.is_empty() {
            self.clear();
        }
    }

    /// Whether it has no steps.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether all that the block has done is recorded, in the present.
    pub(super) fn is_whole(&self) -> bool {
        !self.partial && matches!(self.way, Way::Open | Way::Settled)
    }

    pub(super) fn is_in_snapshot(&self) -> bool {
        matches!(self.way, Way::Snapshot | Way::Pinned)
    }

    /// Whether the transaction of the engine is one that the block's statements are part of.
    ///
    /// # Errors
    /// 40001.
    #[inline]
    pub(super) fn check_kept(&self) -> Result<()> {
        if self.way == Way::Lost { Err(crate::error::ended_by_conflict()) } else { Ok(()) }
    }

    /// Whether anything needs what is recorded.
    fn is_of_use(&self) -> bool {
        match self.way {
            Way::Open | Way::Snapshot => true,
            Way::Settled => !self.partial,
            Way::Pinned | Way::Lost => false,
        }
    }

    fn trim(&mut self) {
        if !self.is_of_use() && !self.steps.is_empty() {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.steps.clear();
        self.steps.shrink_to(KEPT);
        self.values.clear();
        self.values.shrink_to(KEPT);
        self.bytes = 0;
        self.drawn = 0;
    }

    /// Blocks that run these queries try them in the present the next time.
    pub(super) fn forget_contention(&self) {
        for step in &self.steps {
            if let Step::Statement(ran) = step
                && let Action::Plan(plan) = &ran.compiled.action
                && plan.contended.load(Ordering::Relaxed)
            {
                plan.contended.store(false, Ordering::Relaxed); // a hint, as the load
            }
        }
    }

    /// Records a savepoint: its number among the steps.
    pub(super) fn add_savepoint(&mut self) -> usize {
        let number = self.steps.len();
        if self.bytes > MOST {
            self.give_up();
        }
        if self.is_of_use() {
            self.bytes += size_of::<Step>();
            self.steps.push(Step::Savepoint);
        }
        number
    }
}

/// Whether the results of a plan follow from itself and from what the session is, unless a function that it calls looks
/// at the catalog: `SELECT 1`, `SELECT nextval('s')`.
/// Another run would not be right for what it does besides, and what it has returned stays right.
fn reads_nothing(plan: &Plan) -> bool {
    let reads = !plan.tables.is_empty() || !plan.relations.is_empty() || plan.whole_catalog;
    !reads && !plan.writes && !plan.calls && plan.locks.is_none()
}

/// Whether a plan does nothing, and its rows follow from itself: `SELECT 1`.
pub(super) fn is_constant(plan: &Plan) -> bool {
    plan.steady && reads_nothing(plan)
}

/// Whether a statement without a plan changes nothing but the session, which keeps it when the block is run again, or
/// runs plans that are recorded themselves.
pub(super) fn keeps_whole(utility: &Utility) -> bool {
    matches!(
        utility,
        Utility::Begin { .. }
            | Utility::Commit { .. }
            | Utility::Rollback { .. }
            | Utility::SetTransaction(_)
            | Utility::Savepoint(_)
            | Utility::ReleaseSavepoint(_)
            | Utility::Set { .. }
            | Utility::Reset(_)
            | Utility::Show(_)
            | Utility::BecomeRole { .. }
            | Utility::Prepare { .. }
            | Utility::Execute { .. }
            | Utility::Deallocate(_)
            | Utility::Declare { .. }
            | Utility::Fetch { .. }
            | Utility::Close(_)
            | Utility::Lock { .. }
            | Utility::Listen(_)
            | Utility::Unlisten(_)
            | Utility::Notify { .. }
    )
}

/// Whether an error says something of the run, and not of the rows: conflicts, resources, cancels, files, defects.
fn is_of_the_run(error: &SqlError) -> bool {
    ["40", "53", "57", "58", "XX"].iter().any(|class| error.code().as_str().starts_with(class))
}

impl<E: Engine> Session<E> {
    /// Whether the digest of the rows of a block's statement is to be made.
    #[inline]
    pub(super) fn wants_digest(&self, plan: &Plan, effort: &Effort) -> bool {
        !effort.alone && !plan.output.is_empty() && self.transaction.record.is_of_use()
    }

    /// Takes note of a statement of a block that has ended, and of the rows that it has read or written; `told` if its
    /// client has more of it than these.
    pub(super) fn record(
        &mut self,
        (compiled, plan): (&Held, &Plan),
        params: &[Value],
        effort: &Effort,
        (result, told): (&Result<u64>, bool),
    ) {
        let (acted, looked) = (self.state.acted.take(), self.state.looked.take());
        let record = &mut self.transaction.record;
        if !record.is_of_use() {
            return;
        }
        // an error tells of rows, too, and a block may go on behind it
        let Ok(count) = *result else { return record.give_up() };
        let is_free = reads_nothing(plan) && !looked;
        // of the rows that it writes no client knows whether they are locked
        if is_free || plan.locks.is_some() || plan.calls {
            record.keeps_locks |= self.state.owner.borrow().count() > 0;
        }
        if is_free {
            return;
        }
        if acted || told || plan.current_of.is_some() {
            record.end_whole();
        }
        let digest = match &effort.digest {
            Some(digest) => digest.finish().map(|sum| (sum, digest.enough)),
            None if plan.output.is_empty() => Some((0, None)),
            None => None,
        };
        let text = compiled.text.len().saturating_sub(SHORT);
        let bytes = size_of::<Ran>() + size_of::<Step>() + text + params.iter().map(weight).sum::<usize>();
        let Some((digest, enough)) = digest.filter(|_| record.bytes + bytes <= MOST) else {
            return record.give_up();
        };
        if !record.is_of_use() {
            return;
        }
        let first = record.values.len();
        record.values.extend_from_slice(params);
        record.bytes += bytes;
        record.drawn = self.state.drawn.borrow().len();
        record.steps.push(Step::Statement(Ran {
            compiled: compiled.clone(),
            values: first..record.values.len(),
            count,
            digest,
            enough,
            time: self.env.statement_time,
            settings: self.state.settings.borrow().generation,
        }));
    }

    /// What the steps have taken of sequences is what their last run has.
    pub(super) fn note_drawn(&mut self) {
        self.transaction.record.drawn = self.state.drawn.borrow().len();
    }

    /// Whether all steps were run with the settings of now.
    pub(super) fn has_settings_of(&self, record: &Record) -> bool {
        let now = self.state.settings.borrow().generation;
        record.steps.iter().all(|step| match step {
            Step::Statement(ran) => ran.settings == now,
            Step::Savepoint => true,
        })
    }

    /// Runs the steps of a block again in a transaction of the engine that has done nothing, or not begun. False: one
    /// has other results than the client has.
    ///
    /// # Errors
    /// 40001, 57014 and others: it could not be run to its end. The block cannot go on.
    pub(super) fn run_again(
        &mut self,
        record: &Record,
        deadline: Option<Instant>,
        reserves: bool,
    ) -> Result<bool> {
        let (time, said) = (self.env.statement_time, self.state.said());
        let taken_last = self.state.taken_last();
        self.state.acted.set(false);
        self.state.drawn.borrow_mut().repeat(0);
        let mut result = Ok(true);
        for (number, step) in record.steps.iter().enumerate() {
            result = match step {
                Step::Statement(ran) => {
                    self.env.statement_time = ran.time;
                    self.run_step(ran, &record.values[ran.values.clone()], deadline, reserves)
                }
                Step::Savepoint => self.renew_savepoint(number).map(|()| true),
            };
            // the run that the client knows of has neither told anybody anything nor done what is not undone
            let silent = !self.state.acted.take() && !self.state.has_said(said);
            result = result.map(|same| same && silent);
            self.state.unsay(said);
            if !matches!(result, Ok(true)) {
                break;
            }
        }
        self.state.settle(said);
        self.env.statement_time = time;
        let complete = matches!(result, Ok(true));
        if !complete {
            // the client knows of later values than those that the first steps have taken again
            self.state.take_back_to(taken_last);
        }
        self.state.drawn.borrow_mut().end_repeat(complete);
        result
    }

    fn run_step(
        &mut self,
        ran: &Ran,
        params: &[Value],
        deadline: Option<Instant>,
        reserves: bool,
    ) -> Result<bool> {
        let mut context = self.context();
        context.deadline = deadline;
        context.check_cancel()?;
        let mut digest = Digest::new(&self.blocks.key, ran.enough, u64::MAX);
        let locked = self.state.owner.borrow().count() > 0;
        let mut effort = Effort::new(false, !self.transaction.has_begun(), locked, deadline);
        effort.reserves = reserves;
        effort.is_step = true;
        let taken = self.state.drawn.borrow().taken();
        let ended = loop {
            self.state.drawn.borrow_mut().repeat(taken);
            let mut target = Target::Rows(&mut digest);
            match self.attempt_with(&ran.compiled, params, &mut effort, &mut target) {
                Ok(count) => break Ok(count),
                Err(error) => {
                    if let Err(error) = self.try_again(error, &mut effort, &mut target) {
                        break Err(error);
                    }
                }
            }
        };
        if effort.repeats {
            self.state.end_repeated();
        }
        match ended {
            // its names might be those of other tables now, and its values no labels any more
            Ok(_) if self.means_something_else(ran) => Ok(false),
            Ok(count) => {
                let returns = matches!(&ran.compiled.action, Action::Plan(plan) if !plan.output.is_empty());
                Ok(count == ran.count && (!returns || digest.finish() == Some(ran.digest)))
            }
            Err(error) if is_of_the_run(&error) => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Whether a statement may mean something else by now than when it was compiled.
    fn means_something_else(&self, ran: &Ran) -> bool {
        // a name of something, or a value of a type that somebody has made: a label, say
        let follows = |ty: &Type| is_named(*ty) || ty.oid() >= FIRST_OID;
        ran.compiled.version != self.state.catalog.version
            && (ran.settings != self.state.settings.borrow().generation
                || ran.compiled.params.iter().any(follows))
    }

    /// A savepoint is a point of the transaction of the engine that runs now.
    fn renew_savepoint(&mut self, number: usize) -> Result<()> {
        if !self.transaction.savepoints.iter().any(|mark| mark.step == number) {
            return Ok(());
        }
        self.begin_to_read()?;
        let Some(worker) = self.worker.as_mut() else { return Err(SqlError::internal("no worker")) };
        let engine = worker.savepoint().map_err(crate::error::plain)?;
        let deferred = self.transaction.deferred.len();
        for mark in self.transaction.savepoints.iter_mut().filter(|mark| mark.step == number) {
            mark.engine = Some(engine);
            mark.deferred = deferred;
        }
        Ok(())
    }
}

impl Compiled {
    /// Whether a block that runs it can be run again.
    #[inline]
    pub(super) fn keeps_whole(&self) -> bool {
        match &self.action {
            Action::Plan(_) | Action::Empty => true,
            Action::Utility(utility) => keeps_whole(utility),
            Action::Ddl(_) | Action::Truncate(_) | Action::Call(_) => false,
        }
    }
}
