//! What a session learns of its transaction blocks: a block that has failed with a conflict is one that the client runs
//! again, and the next ones are run so that they get through.
//!
//! ```text
//!   a query could not be shown ─────► digests of queries are made: the block may move to a snapshot (`block_read`)
//!   a block of queries failed ──────► and begins with one
//! ```

use super::Session;
use super::long_read::{Reading, only_reads};
use super::record::Way;
use super::waiting::Effort;
use crate::exec::long_read::MUCH;
use scaledb_engine::{Engine, SerializationPoint};
use scaledb_planner::plan::Plan;
use scaledb_sync::atomic::Ordering;
use scaledb_types::{SqlError, SqlState};
use std::hash::RandomState;

/// Blocks for whose queries digests are made, behind one that has failed for the lack of them.
const DIGESTED: u32 = 256;

/// Rows of a query of which a digest is made in any case: those of most queries in blocks that write.
const FEW: u64 = 256;

/// What a session has learned of its blocks.
#[derive(Default)]
pub(super) struct Blocks {
    /// For so many the digests of all queries are made, however many rows these return.
    pub(super) digests: u32,
    /// One that has only queried could not commit: the next ones begin with a snapshot.
    pub(super) conflicts: bool,
    /// The key of the digests.
    pub(super) key: RandomState,
}

fn is_conflict(error: &SqlError) -> bool {
    error.code() == SqlState::SERIALIZATION_FAILURE
}

impl<E: Engine> Session<E> {
    /// Blocks read snapshots from here on, as if one that has only queried could not commit: for tests of that.
    #[doc(hidden)]
    pub fn expect_conflicts(&mut self) {
        self.blocks.conflicts = true;
        self.blocks.digests = DIGESTED;
    }

    /// The most rows of which a digest is made.
    pub(super) fn most_digested(&self, effort: &Effort) -> u64 {
        let all = self.blocks.digests > 0
            || effort.reading == Reading::Snapshot
            || self.transaction.record.way == Way::Snapshot;
        if all { u64::MAX } else { FEW }
    }

    /// A statement of a block has ended with an error.
    #[cold]
    pub(super) fn note_failed_in_block(&mut self, plan: &Plan, effort: &Effort, error: &SqlError) {
        // a snapshot waits for open transactions in an engine that orders these by their begins
        let point = self.state.shared.engine.serialization_point();
        let pays = effort.touched >= MUCH || point == SerializationPoint::Commit;
        if is_conflict(error) && only_reads(plan) && plan.steady && pays {
            plan.contended.store(true, Ordering::Relaxed); // a hint
            self.blocks.digests = DIGESTED;
        }
    }

    /// A transaction could not commit. `wrote`: it has done something else than to query.
    #[cold]
    pub(super) fn note_failed_commit(&mut self, error: &SqlError, wrote: bool) {
        if self.transaction.in_block() && !wrote && is_conflict(error) {
            self.expect_conflicts();
        }
    }

    /// The end of a transaction.
    pub(super) fn end_record(&mut self) {
        if self.transaction.in_block() {
            let blocks = &mut self.blocks;
            blocks.digests = blocks.digests.saturating_sub(1);
            blocks.conflicts &= blocks.digests > 0;
        }
        self.transaction.record.end();
        self.state.drawn.borrow_mut().end();
    }
}
