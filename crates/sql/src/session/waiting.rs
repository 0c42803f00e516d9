//! Waiting for locks, and running a statement again behind the wait.
//!
//! A statement that meets a locked row is given up, waits here without the engine's transaction if that has just begun
//! (so that waiters hold no worker and keep no memory from being reclaimed), and is run anew with the lock in its
//! hands: it then reads what is there now. See `docs/internals/locks.md`.

use super::Session;
use super::block_repeat::Repeats;
use super::digest::Digest;
use super::long_read::{PATIENCE, Reading};
use super::run::Target;
use crate::api::Tag as Done;
use crate::exec::lock::GivenUp;
use crate::exec::long_read::MUCH;
use crate::patience::{
    ADVISORY_WAITS, DEADLOCK_ATTEMPTS, PRESENT_ATTEMPTS, STATEMENT_ATTEMPTS, STATEMENT_PATIENCE, sleep_before,
};
use scaledb_catalog::Relation;
use scaledb_engine::{Engine, ReadMark, Worker};
use scaledb_locks::{Mode, NotTaken, Tag};
use scaledb_planner::bind::names::find_relation;
use scaledb_planner::plan::{Modify, Node, Plan};
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, SqlState};
use std::time::{Duration, Instant};

/// What was done so far to get a statement through.
pub(super) struct Effort {
    /// The statement is committed by itself.
    pub(super) alone: bool,
    /// Nothing was done before it in its transaction, which can be begun anew.
    pub(super) whole: bool,
    /// The transaction had locks before it.
    locked: bool,
    /// It locks what it writes, because it has met a conflict: others then wait for it.
    pub(super) reserves: bool,
    /// When `statement_timeout` is over.
    pub(super) deadline: Option<Instant>,
    /// What the transaction had read before the run.
    pub(super) mark: Option<ReadMark>,
    pub(super) given_up: Option<GivenUp>,
    /// Whether the statement was run again.
    pub(super) repeats: bool,
    pub(super) reading: Reading,
    /// The tables that others must not write to while it runs.
    pub(super) bars: Option<Vec<u32>>,
    /// The table that it locks before it begins, instead of its rows: it writes many.
    pub(super) table: Option<u32>,
    /// Whether the target holds rows back.
    pub(super) held: bool,
    /// Rows that the last run has touched.
    pub(super) touched: u64,
    /// Whether a run was given up because it has read much.
    pub(super) reads_much: bool,
    /// It is a step of a block that is run again.
    pub(super) is_step: bool,
    /// Runs of the block that it is part of, up to it.
    repeats_of_block: Repeats,
    /// The digest of the rows of the last run, if it was made.
    pub(super) digest: Option<Digest>,
    /// When the first run had failed.
    since: Option<Instant>,
    attempts: u32,
    waits: u32,
    deadlocks: u32,
}

impl Effort {
    pub(super) fn new(alone: bool, whole: bool, locked: bool, deadline: Option<Instant>) -> Self {
        Self {
            alone,
            whole,
            locked,
            reserves: false,
            deadline,
            mark: None,
            given_up: None,
            repeats: false,
            reading: Reading::AsBegun,
            bars: None,
            table: None,
            held: false,
            touched: 0,
            reads_much: false,
            is_step: false,
            repeats_of_block: Repeats::until(deadline),
            digest: None,
            since: None,
            attempts: 0,
            waits: 0,
            deadlocks: 0,
        }
    }

    /// How long the next run may wait for a snapshot, if it is to read one. From one conflict to the next it has the
    /// more to gain: other transactions may have lost their core.
    pub(super) fn wants_snapshot(&self) -> Option<Duration> {
        let patience = PATIENCE * (1 << self.attempts.min(12));
        (self.reading == Reading::Snapshot).then_some(patience)
    }

    /// Whether the next run may be given up for an advisory lock.
    pub(super) fn gives_up(&self) -> bool {
        self.whole && self.waits < ADVISORY_WAITS
    }
}

impl<E: Engine> Session<E> {
    /// Prepares the next run of a statement that has failed: waits for what it needs.
    ///
    /// # Errors
    /// What the client hears: there is no next run.
    #[cold]
    pub(super) fn try_again(
        &mut self,
        error: SqlError,
        effort: &mut Effort,
        target: &mut Target<'_>,
    ) -> Result<()> {
        let result = self.prepare_again(error, effort, target);
        match result {
            Err(error) if effort.alone => {
                self.rollback();
                Err(error)
            }
            Err(error) if !effort.is_step && !effort.whole && self.may_repeat(&error) && target.rewind() => {
                self.repeat_block(error, &mut effort.repeats_of_block, false)?;
                effort.repeats = true;
                self.state.owner.borrow_mut().repeat();
                Ok(())
            }
            result => result,
        }
    }

    fn prepare_again(&mut self, error: SqlError, effort: &mut Effort, target: &mut Target<'_>) -> Result<()> {
        let given_up = effort.given_up.take();
        let conflict = effort.whole && error.code() == SqlState::SERIALIZATION_FAILURE;
        // one that reads few rows gets through in the present, where no snapshot has to be waited for
        let few =
            effort.touched < MUCH && effort.attempts + effort.repeats_of_block.attempts < PRESENT_ATTEMPTS;
        let moves = !effort.alone
            && effort.reading == Reading::Watched
            && error.code() == SqlState::SERIALIZATION_FAILURE
            && !(few && (effort.whole || self.may_repeat(&error)));
        if given_up == Some(GivenUp::ReadsMuch) || moves {
            return self.go_on_in_snapshot(error, effort, target);
        }
        let waits = matches!(given_up, Some(GivenUp::Waits(..) | GivenUp::Keeps(..)));
        effort.attempts += u32::from(!waits);
        effort.waits += u32::from(waits);
        let since = *effort.since.get_or_insert_with(Instant::now);
        let enough = effort.attempts >= STATEMENT_ATTEMPTS && since.elapsed() >= STATEMENT_PATIENCE;
        if given_up.is_none() && !conflict || enough {
            return Err(error);
        }
        // in the middle of a transaction too: what the run has handed out comes again
        if !target.rewind() {
            return Err(error);
        }
        if effort.whole {
            self.begin_again(effort.alone);
            self.let_go_of_lost(effort)?;
        }
        match given_up {
            Some(GivenUp::Waits(tag, mode)) => self.wait_between(tag, mode, false, effort)?,
            Some(GivenUp::Keeps(tag, mode)) => self.wait_between(tag, mode, true, effort)?,
            Some(GivenUp::Changed | GivenUp::ReadsMuch) => {}
            None => {
                // who leaves a transaction open is not to keep others waiting
                effort.reserves |= effort.alone;
                if effort.alone && effort.reading == Reading::Watched {
                    effort.reading = Reading::Snapshot;
                }
                self.state.shared.retries.fetch_add(1, Ordering::Relaxed); // a statistic
                self.reruns += 1;
                // the first time, the queue for the row is enough to keep others out of the way
                if effort.attempts > 1 || self.state.owner.borrow().count() == 0 {
                    self.back_off(effort.attempts);
                }
                sleep_before(effort.attempts);
                let mut context = self.context();
                context.deadline = effort.deadline;
                context.check_cancel()?;
            }
        }
        effort.repeats = true;
        // where it fails instead, the session keeps what the run has taken
        self.state.owner.borrow_mut().repeat();
        Ok(())
    }

    /// Prepares the next run of a statement that has read much, or of a block's query beside writers: it reads a
    /// snapshot.
    fn go_on_in_snapshot(
        &mut self,
        error: SqlError,
        effort: &mut Effort,
        target: &mut Target<'_>,
    ) -> Result<()> {
        effort.reads_much = true;
        effort.reading = Reading::Snapshot;
        if !target.rewind() {
            return Err(error);
        }
        if let Target::Explain(explaining) = target {
            explaining.change_way();
        }
        if effort.alone {
            self.begin_again(true);
        }
        effort.repeats = true;
        self.state.owner.borrow_mut().repeat();
        Ok(())
    }

    /// Waits for the lock that a run has lacked.
    fn wait_between(&mut self, tag: Tag, mode: Mode, keeps: bool, effort: &mut Effort) -> Result<()> {
        if let Err(error) = self.wait_for(tag, mode, keeps, effort.deadline) {
            // the members of the cluster have changed: it begins anew
            if effort.whole && error.code() == SqlState::SERIALIZATION_FAILURE {
                self.let_go_of_lost(effort)?;
                self.back_off(1);
                return Ok(());
            }
            effort.deadlocks += 1;
            let gives_way = effort.alone
                && !keeps
                && error.code() == SqlState::DEADLOCK_DETECTED
                && effort.deadlocks < DEADLOCK_ATTEMPTS;
            if !gives_way {
                return Err(error);
            }
            // the others go on with what it had
            self.state.release_locks();
            self.back_off(effort.deadlocks);
            return Ok(());
        }
        if effort.whole {
            // it begins behind the wait
            self.state.waited.set(false);
            return Ok(());
        }
        self.go_on_in_present(effort.mark)
    }

    /// Lets go of locks that a change of the cluster's members has taken away, so that the statement takes them anew.
    ///
    /// # Errors
    /// 40001: earlier statements of the transaction have had some.
    fn let_go_of_lost(&self, effort: &Effort) -> Result<()> {
        if !self.state.owner.borrow().is_lost() {
            return Ok(());
        }
        if effort.locked {
            return Err(crate::error::lock_not_taken(NotTaken::Lost));
        }
        self.state.release_locks();
        Ok(())
    }

    pub(super) fn back_off(&mut self, attempt: u32) {
        let shared = self.state.shared.clone();
        if let Ok(mut worker) = shared.workers.take(&self.place, &shared.engine) {
            worker.back_off(attempt);
            shared.workers.give(&self.place, worker);
        }
    }

    fn wait_for(&mut self, tag: Tag, mode: Mode, keeps: bool, deadline: Option<Instant>) -> Result<()> {
        if let Some(worker) = self.worker.as_mut() {
            worker.yield_priority();
        }
        let mut context = self.context();
        context.deadline = deadline;
        context.wait_for_lock(tag, mode, keeps)
    }

    /// What the transaction reads from here on is of the present; what it has read since the mark is forgotten.
    ///
    /// # Errors
    /// 40001: what it has read before has changed.
    pub(super) fn go_on_in_present(&mut self, mark: Option<ReadMark>) -> Result<()> {
        self.state.waited.set(false);
        let Some(worker) = self.worker.as_mut() else { return Ok(()) };
        let mark = mark.unwrap_or_else(|| worker.read_mark());
        worker.forget_reads(mark);
        match worker.refresh(mark) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.state.explain(error, |table| self.transaction.statement_on(table))),
        }
    }

    /// Whether the transaction has locked rows, and others may have read them since at a later place in the order.
    #[inline]
    pub(super) fn is_overtaken(&self) -> bool {
        self.state.shared.commits.is_some() && self.state.owner.borrow().count() > 0
    }

    /// Locks the tables of a statement in the mode that statements of its kind have: another session has locked tables.
    ///
    /// # Errors
    /// 40P01, 55P03, 57014.
    #[cold]
    pub(super) fn use_tables(&mut self, plan: &Plan, deadline: Option<Instant>) -> Result<()> {
        let mut written = Vec::new();
        written_by(&plan.root, &mut written);
        for &(table, _) in &plan.tables {
            let mode = match plan.locks {
                _ if written.contains(&table) => Mode::RowExclusive,
                Some(_) => Mode::RowShare,
                None => Mode::AccessShare,
            };
            self.lock_table(table, mode, deadline)?;
        }
        Ok(())
    }

    pub(super) fn lock_table(&mut self, table: u32, mode: Mode, deadline: Option<Instant>) -> Result<()> {
        use crate::exec::context::Host;
        let tag = Tag::Table(table);
        if self.state.take_lock(tag, mode)? { Ok(()) } else { self.wait_for(tag, mode, false, deadline) }
    }

    /// LOCK TABLE.
    ///
    /// # Errors
    /// 25P01, 25006, 42P01, 42809; as [`Session::use_tables`].
    pub(super) fn lock_tables(
        &mut self,
        tables: &[(Option<String>, String)],
        mode: Mode,
        nowait: bool,
    ) -> Result<Done> {
        use crate::exec::context::Host;
        self.need_block("LOCK TABLE")?;
        self.leave_snapshot()?;
        self.transaction.record.keeps_locks = true;
        if mode > Mode::RowExclusive && self.transaction.is_read_only() {
            let what = "cannot execute LOCK TABLE in a read-only transaction";
            return Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, what));
        }
        let deadline = self.deadline();
        for (schema, name) in tables {
            let catalog = &self.state.catalog;
            let found = find_relation(catalog, &self.state.path, schema.as_deref(), name);
            let table = match found {
                Some(Relation::Table(table)) if !table.is_materialized() => {
                    self.state.check_may_lock(table.oid, mode)?;
                    table.oid
                }
                Some(other) => {
                    let what = format!("cannot lock relation \"{name}\"");
                    let detail = format!("This operation is not supported for {}s.", other.kind());
                    return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what).detail(detail));
                }
                None => {
                    let what = format!("relation \"{name}\" does not exist");
                    return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
                }
            };
            // at a node of a cluster: a change of its definition is a conflict then, as behind a SELECT
            if self.state.shared.is_shared {
                self.state.used.note(table);
            }
            if !nowait {
                self.lock_table(table, mode, deadline)?;
            } else if !self.state.take_lock(Tag::Table(table), mode)? {
                let what = format!("could not obtain lock on relation \"{name}\"");
                return Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, what));
            }
        }
        Ok(Done::plain("LOCK TABLE"))
    }
}

/// The tables that a plan writes.
fn written_by(node: &Node, out: &mut Vec<u32>) {
    match node {
        Node::ModifyTable(modify) => out.push(match &**modify {
            Modify::Insert(insert) => insert.table.desc.oid,
            Modify::Update(update) => update.table.desc.oid,
            Modify::Delete(delete) => delete.table.desc.oid,
            Modify::Merge(merge) => merge.table.desc.oid,
        }),
        Node::With { ctes, input } => {
            ctes.iter().for_each(|cte| written_by(&cte.node, out));
            written_by(input, out);
        }
        Node::Project { input, .. } => written_by(input, out),
        _ => {}
    }
}
