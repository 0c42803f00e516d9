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
//! A block is run again as a whole by its client when that fails, with 40001. The digests of queries that return many
//! rows are not made in the first place: a session makes them for its next blocks when one of its blocks has failed for
//! the lack of them.

use super::Session;
use super::long_read::{Reading, only_reads};
use super::record::{Record, Way, is_constant};
use super::run::Target;
use super::waiting::Effort;
use scaledb_engine::Engine;
use scaledb_planner::plan::Plan;
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, SqlState};

fn conflict() -> SqlError {
    SqlError::new(
        SqlState::SERIALIZATION_FAILURE,
        "could not serialize access due to concurrent update of rows that it has read",
    )
    .detail("The transaction has read a snapshot until now.")
    .hint("The transaction might succeed if retried.")
}

impl<E: Engine> Session<E> {
    /// How a plan reads that is run in a block.
    pub(super) fn reading_in_block(&self, plan: &Plan, target: &Target<'_>) -> Reading {
        let transaction = &self.transaction;
        if is_constant(plan) && self.running_block.is_none() {
            return Reading::Nothing;
        }
        let may = only_reads(plan)
            && plan.steady
            && (!transaction.is_read_only() || self.state.shared.is_shared)
            && self.running_block.is_none()
            && self.on_commit.is_empty()
            && !matches!(target, Target::Explain(_));
        // a hint
        let expects = || plan.contended.load(Ordering::Relaxed) || self.blocks.conflicts;
        match transaction.record.way {
            Way::Snapshot | Way::Pinned if may => Reading::Snapshot,
            Way::Open if may && expects() => Reading::Snapshot,
            Way::Open if may => Reading::Watched,
            _ => Reading::AsBegun,
        }
    }

    /// The block goes on in a snapshot, before a query.
    ///
    /// # Errors
    /// 40001: its queries have had other rows. 57014 and others, as of these. The block cannot go on.
    pub(super) fn move_to_snapshot(&mut self, effort: &mut Effort) -> Result<()> {
        if self.transaction.record.is_in_snapshot() {
            return Ok(());
        }
        let mut record = std::mem::take(&mut self.transaction.record);
        self.take_queries_over(&record, effort)?;
        if self.transaction.snapshot {
            record.way = Way::Snapshot;
        } else {
            // there is none to be had
            effort.reading = Reading::AsBegun;
        }
        self.transaction.record = record;
        Ok(())
    }

    /// The block goes on in the present, before it does anything else than to query.
    ///
    /// # Errors
    /// 40001: what it has read has changed. 57014 and others, as of its queries. The block cannot go on.
    pub(super) fn leave_snapshot(&mut self) -> Result<()> {
        if !self.transaction.record.is_in_snapshot() {
            self.transaction.record.settle();
            return Ok(());
        }
        // one that writes is no reason to begin the next one with a snapshot
        self.blocks.conflicts = false;
        let mut record = std::mem::take(&mut self.transaction.record);
        record.forget_contention();
        if record.way == Way::Pinned {
            self.transaction.record.way = Way::Lost;
            return Err(conflict());
        }
        let present = Effort::new(false, false, false, self.deadline());
        self.take_queries_over(&record, &present)?;
        record.way = Way::Settled;
        self.transaction.record = record;
        Ok(())
    }

    /// Begins another transaction of the engine, as the effort wants it, and runs the block's queries again in it.
    ///
    /// # Errors
    /// The block cannot go on: 40001, one has other rows than before; 57014 and others.
    fn take_queries_over(&mut self, record: &Record, effort: &Effort) -> Result<()> {
        // until all have had the same rows, what the client has seen is part of no transaction
        self.transaction.record = Record::of_another_run();
        self.begin_again(false);
        self.transaction.wants_snapshot = effort.wants_snapshot();
        let begun = self.begin_to_read();
        let taken = match begun.and_then(|()| self.run_again(record, effort.deadline, false)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(conflict()),
            Err(error) => Err(error),
        };
        if taken.is_err() {
            self.transaction.record.way = Way::Lost;
        }
        taken
    }
}
