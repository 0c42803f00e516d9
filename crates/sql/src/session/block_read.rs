//! Blocks that read much: they read a snapshot of the present until they write.
//!
//! What a block has read in the present is compared at the end of each query, for its client sees the rows before the
//! commit. A query of a large table beside writers would always fail so, though most blocks that read much write
//! nothing: many clients begin one for each statement. Such a query is run again in a snapshot, in which the block
//! goes on; nothing that it reads there is validated. It leaves the snapshot when it does anything else than to
//! query: then its queries are run again in the present, and have to yield what they have yielded before.
//!
//! ```text
//!                        conflict, or rows have to be sent             anything but a query
//!   in the present, ────────────────────────────────► in a snapshot, ──────────────────────────► in the present,
//!   all queries are known     which the queries                         where the queries yield     which the commit
//!                             before yield again                        the same again              validates
//! ```
//!
//! In both directions the invariant is that all that the client has seen is of the transaction of the engine that runs:
//! `digest(rows(query, state of the transaction)) = digest(rows that the client has)` for each query of the block. So
//! the place of that transaction in the serial order is right for the block, and lies behind its begin.
//!
//! A block is run again as a whole by its client when that fails, with 40001. The digests of small queries are not made
//! in the first place: a session makes them for its next blocks when one of its blocks has failed for the lack of them.

use super::Session;
use super::digest::Digest;
use super::long_read::{Reading, only_reads};
use super::run::Target;
use super::waiting::Effort;
use crate::compiled::{Action, Held};
use scaledb_engine::{Engine, Worker};
use scaledb_planner::plan::Plan;
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, SqlState, Value, weight};
use std::time::Instant;

/// Bytes that the queries of a block may take. One with more of them cannot leave its snapshot.
const MOST: usize = 256 << 10;

/// The queries that a block has run.
#[derive(Default)]
pub(super) struct Queries {
    list: Vec<Query>,
    /// Bytes of the list.
    bytes: usize,
    way: Way,
}

/// What a block reads, and whether that may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    /// The present. All of its statements are in the list.
    #[default]
    Open,
    /// What its transaction has begun with, to its end.
    Settled,
    /// A snapshot. All of its statements are in the list.
    Snapshot,
    /// A snapshot, to its end.
    Pinned,
    /// Nothing any more: its queries have not had the same rows again, or could not be run again.
    Lost,
}

/// A query whose rows the client has seen.
struct Query {
    compiled: Held,
    params: Vec<Value>,
    digest: u64,
    /// The number of rows behind which the client has wanted no more.
    enough: Option<u64>,
    /// `statement_timestamp()`.
    time: i64,
    /// The settings that it was run with.
    settings: u64,
}

impl Queries {
    /// What the block reads stays what it is.
    pub(super) fn settle(&mut self) {
        self.forget_contention();
        self.way = match self.way {
            Way::Open | Way::Settled => Way::Settled,
            Way::Snapshot | Way::Pinned => Way::Pinned,
            Way::Lost => Way::Lost,
        };
        self.clear_list();
    }

    /// Whether the transaction of the engine is one that the block's queries are part of.
    ///
    /// # Errors
    /// 40001.
    pub(super) fn check_kept(&self) -> Result<()> {
        if self.way == Way::Lost { Err(conflict()) } else { Ok(()) }
    }

    /// The block has ended.
    pub(super) fn end(&mut self) {
        self.way = Way::Open;
        self.clear_list();
    }

    /// Blocks that run these queries try them in the present the next time.
    fn forget_contention(&self) {
        for query in &self.list {
            if let Action::Plan(plan) = &query.compiled.action {
                plan.contended.store(false, Ordering::Relaxed); // a hint
            }
        }
    }

    fn clear_list(&mut self) {
        if !self.list.is_empty() {
            self.list = Vec::new();
            self.bytes = 0;
        }
    }

    pub(super) fn is_in_snapshot(&self) -> bool {
        matches!(self.way, Way::Snapshot | Way::Pinned)
    }
}

fn conflict() -> SqlError {
    SqlError::new(
        SqlState::SERIALIZATION_FAILURE,
        "could not serialize access due to concurrent update of rows that it has read",
    )
    .detail("The transaction has read a snapshot until now.")
    .hint("The transaction might succeed if retried.")
}

/// Whether an error says something of the run, and not of the rows: conflicts, resources, cancels, files, defects.
fn is_of_the_run(error: &SqlError) -> bool {
    ["40", "53", "57", "58", "XX"].iter().any(|class| error.code().as_str().starts_with(class))
}

/// Whether a plan does nothing, and its rows follow from itself: `SELECT 1`.
fn is_constant(plan: &Plan) -> bool {
    let reads = !plan.tables.is_empty() || !plan.relations.is_empty() || plan.whole_catalog;
    plan.steady && !reads && !plan.writes && !plan.calls && plan.locks.is_none()
}

impl<E: Engine> Session<E> {
    /// How a plan reads that is run in a block.
    pub(super) fn reading_in_block(&self, plan: &Plan, target: &Target<'_>) -> Reading {
        let transaction = &self.transaction;
        if is_constant(plan) && self.running_block.is_none() {
            return Reading::Nothing;
        }
        // in a cluster every transaction reads the present
        let may = only_reads(plan)
            && plan.steady
            && !self.state.shared.is_shared
            && !transaction.is_read_only()
            && self.running_block.is_none()
            && self.on_commit.is_empty()
            && !matches!(target, Target::Explain(_));
        // a hint
        let expects = || plan.contended.load(Ordering::Relaxed) || self.blocks.conflicts;
        match transaction.queries.way {
            Way::Snapshot | Way::Pinned if may => Reading::Snapshot,
            Way::Open if may && expects() => Reading::Snapshot,
            Way::Open if may => Reading::Watched,
            _ => Reading::AsBegun,
        }
    }

    /// Whether the digest of a query's rows is to be made.
    pub(super) fn wants_digest(&self, effort: &Effort) -> bool {
        !effort.alone
            && effort.reading.may_change()
            && match self.transaction.queries.way {
                Way::Open => self.blocks.digests > 0,
                Way::Snapshot => true,
                Way::Settled | Way::Pinned | Way::Lost => false,
            }
    }

    /// A statement of a block has ended.
    pub(super) fn note_query(&mut self, compiled: &Held, params: &[Value], effort: &Effort, ended: bool) {
        let queries = &mut self.transaction.queries;
        if ended && !effort.reading.may_change() {
            return;
        }
        let bytes = size_of::<Query>() + params.iter().map(weight).sum::<usize>();
        match &effort.digest {
            Some(digest) if ended && queries.bytes + bytes <= MOST => {
                queries.bytes += bytes;
                queries.list.push(Query {
                    compiled: compiled.clone(),
                    params: params.to_vec(),
                    digest: digest.finish(),
                    enough: digest.enough,
                    time: self.env.statement_time,
                    settings: self.state.settings.borrow().generation,
                });
            }
            // an error tells of rows, too, and a block may go on behind it
            _ => queries.settle(),
        }
    }

    /// The block goes on in a snapshot, before a query.
    ///
    /// # Errors
    /// 40001: its queries have had other rows. 57014 and others, as of these. The block cannot go on.
    pub(super) fn move_to_snapshot(&mut self, effort: &mut Effort) -> Result<()> {
        if self.transaction.queries.is_in_snapshot() {
            return Ok(());
        }
        let mut queries = std::mem::take(&mut self.transaction.queries);
        self.take_queries_over(&queries, effort)?;
        if self.transaction.snapshot {
            queries.way = Way::Snapshot;
        } else {
            // there is none to be had
            effort.reading = Reading::AsBegun;
        }
        self.transaction.queries = queries;
        Ok(())
    }

    /// The block goes on in the present, before it does anything else than to query.
    ///
    /// # Errors
    /// 40001: what it has read has changed. 57014 and others, as of its queries. The block cannot go on.
    pub(super) fn leave_snapshot(&mut self) -> Result<()> {
        if !self.transaction.queries.is_in_snapshot() {
            self.transaction.queries.settle();
            return Ok(());
        }
        // one that writes is no reason to begin the next one with a snapshot
        self.blocks.conflicts = false;
        let queries = std::mem::take(&mut self.transaction.queries);
        queries.forget_contention();
        if queries.way == Way::Pinned {
            self.transaction.queries.way = Way::Lost;
            return Err(conflict());
        }
        let present = Effort::new(false, false, false, self.deadline());
        self.take_queries_over(&queries, &present)?;
        self.transaction.queries.way = Way::Settled;
        Ok(())
    }

    /// Begins another transaction of the engine, as the effort wants it, and runs the block's queries again in it.
    ///
    /// # Errors
    /// The block cannot go on: 40001, one has other rows than before; 57014 and others.
    fn take_queries_over(&mut self, queries: &Queries, effort: &Effort) -> Result<()> {
        // until all have had the same rows, what the client has seen is part of no transaction
        self.transaction.queries.way = Way::Settled;
        self.begin_again(false);
        self.transaction.wants_snapshot = effort.wants_snapshot();
        let begun = self.begin_to_read();
        let taken = begun
            .and_then(|()| self.renew_savepoints())
            .and_then(|()| self.run_again(queries, effort.deadline));
        if taken.is_err() {
            self.transaction.queries.way = Way::Lost;
        }
        taken
    }

    /// Runs the queries of the block again.
    ///
    /// # Errors
    /// 40001: one has other rows than before. 57014 and others.
    fn run_again(&mut self, queries: &Queries, deadline: Option<Instant>) -> Result<()> {
        let (time, said) = (self.env.statement_time, self.state.said());
        for query in &queries.list {
            let mut context = self.context();
            context.deadline = deadline;
            context.check_cancel()?;
            let is_old = query.compiled.version != self.state.catalog.version;
            if is_old && query.settings != self.state.settings.borrow().generation {
                // its names might be those of other tables now
                return Err(crate::error::changed_definition());
            }
            self.env.statement_time = query.time;
            let mut digest = Digest::new(&self.blocks.key, query.enough);
            let mut effort = Effort::new(false, false, false, deadline);
            let mut target = Target::Rows(&mut digest);
            let ran = self.attempt_with(&query.compiled, &query.params, &mut effort, &mut target);
            self.env.statement_time = time;
            self.state.unsay(said);
            match ran {
                Ok(_) if digest.finish() == query.digest => {}
                Err(error) if is_of_the_run(&error) => return Err(error),
                Ok(_) | Err(_) => return Err(conflict()),
            }
        }
        Ok(())
    }

    /// Savepoints are points of the transaction of the engine that runs: it has written nothing yet.
    fn renew_savepoints(&mut self) -> Result<()> {
        let Some(worker) = self.worker.as_mut() else { return Ok(()) };
        for mark in &mut self.transaction.savepoints {
            mark.engine = Some(worker.savepoint().map_err(crate::error::plain)?);
        }
        Ok(())
    }
}
