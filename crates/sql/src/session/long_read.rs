//! Statements that read much, each a transaction of its own: they read a snapshot of the present. Those of blocks:
//! [`block_read`](super::block_read).
//!
//! What a transaction reads in the present is validated at its commit, and it fails if others have changed some of it.
//! A statement that reads a large table beside writers would always fail so, and one whose first rows are on their way
//! to the client cannot be run again. A snapshot of the present (`TxnKind::Present`) has all that was committed before
//! it, is as good in the serial order, and conflicts with nobody. But its begin waits for the commits in flight, and
//! writers keep the former rows while there are snapshots: too much for the many statements that read some rows.
//!
//! ```text
//!   run in the present, watched: the client gets nothing yet
//!        ├── ends ──────────────────────────────► commit, which validates
//!        ├── has touched `MUCH` rows ──┐
//!        ├── the sink is full ─────────┼────────► run again in a snapshot
//!        └── conflict ─────────────────┘
//! ```
//!
//! A plan remembers that it has read much, and begins with a snapshot the next time. If there is no snapshot to be had
//! in time (Cicada waits for all transactions that are open), the statement runs in the present, to its end.
//!
//! What a statement writes has its place behind all that it has read, so that an INSERT of what a query reads cannot
//! read a snapshot. After a conflict it puts bars before the tables that it copies from, as changes of tables do:
//! others commit no writes to them before it has ended. UPDATE, DELETE and MERGE of many rows lock their table instead.

use super::Session;
use super::run::Target;
use super::waiting::Effort;
use crate::exec::long_read::MUCH;
use scaledb_engine::Engine;
use scaledb_planner::plan::{Kind, Modify, Node, Plan};
use scaledb_sync::atomic::Ordering;
use std::time::Duration;

/// How long the begin of a statement that reads much may wait for a snapshot, until there was a conflict. It takes some
/// 50 us, unless others have lost their cores within a commit (ACC), or leave transactions open (Cicada, which gives up
/// by itself if they have been so for long).
pub(super) const PATIENCE: Duration = Duration::from_millis(200);

/// A plan that touches no more rows than this reads much no longer.
const LITTLE: u64 = MUCH / 16;

/// How a statement reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As the transaction does that it is part of; or what it reads may be changed by what it does.
    AsBegun,
    /// In the present, until it has read much.
    Watched,
    /// In a snapshot of the present, or in the present if there is none to be had.
    Snapshot,
    /// Nothing: what it returns follows from itself.
    Nothing,
}

impl Reading {
    /// Whether the statement may read a snapshot.
    pub(super) fn may_change(self) -> bool {
        matches!(self, Self::Watched | Self::Snapshot)
    }
}

/// Whether a plan does nothing but read tables.
pub(super) fn only_reads(plan: &Plan) -> bool {
    plan.kind == Kind::Select
        && !plan.writes
        && !plan.calls
        && !plan.lasting
        && plan.locks.is_none()
        && !plan.tables.is_empty()
}

/// The table of an UPDATE, DELETE or MERGE. A lock of the table keeps those from it that have written nothing to it
/// yet, and costs less than one for each row that others keep changing.
fn changed_by(plan: &Plan) -> Option<u32> {
    let Node::ModifyTable(modify) = &plan.root else { return None };
    match &**modify {
        Modify::Update(update) => Some(update.table.desc.oid),
        Modify::Delete(delete) => Some(delete.table.desc.oid),
        Modify::Merge(merge) => Some(merge.table.desc.oid),
        Modify::Insert(_) => None,
    }
}

/// The tables that an INSERT copies rows from. None if it may wait for the lock of a row, whose owner may wait for the
/// bars.
fn copied_from(plan: &Plan) -> Option<Vec<u32>> {
    let Node::ModifyTable(modify) = &plan.root else { return None };
    let Modify::Insert(insert) = &**modify else { return None };
    let waits = insert.conflict.is_some() || insert.triggers.is_some() || insert.instead;
    if waits || plan.calls || plan.parts || plan.locks.is_some() {
        return None;
    }
    let others = plan.tables.iter().map(|(table, _)| *table).filter(|table| *table != insert.table.desc.oid);
    Some(others.collect()).filter(|others: &Vec<u32>| !others.is_empty())
}

impl<E: Engine> Session<E> {
    /// Behind a conflict of a statement that reads or writes many rows: whether it is to keep others from its tables.
    pub(super) fn consider_tables(&self, plan: &Plan, effort: &mut Effort) {
        let many = effort.alone && effort.touched >= MUCH;
        if many && effort.bars.is_none() && effort.table.is_none() {
            effort.table = changed_by(plan);
            effort.bars = copied_from(plan);
            if effort.table.is_some() {
                // no owner of a lock waits for a table
                self.state.release_locks();
            }
        }
        if effort.bars.is_some() || effort.table.is_some() {
            effort.reserves = false;
        }
    }

    /// How a plan reads whose transaction is committed behind it.
    pub(super) fn reading_alone(&self, plan: &Plan) -> Reading {
        // at a commit temporary tables may be emptied
        if !only_reads(plan) || !self.on_commit.is_empty() {
            return Reading::AsBegun;
        }
        // a hint
        if plan.reads_much.load(Ordering::Relaxed) { Reading::Snapshot } else { Reading::Watched }
    }

    /// A plan has run that may read a snapshot, to its end or not: remembers whether it has read much.
    pub(super) fn note_reading(plan: &Plan, effort: &Effort, ended: bool) {
        let known = plan.reads_much.load(Ordering::Relaxed); // a hint, as the store
        let much =
            effort.reads_much || effort.touched >= MUCH || known && (effort.touched > LITTLE || !ended);
        if much != known {
            plan.reads_much.store(much, Ordering::Relaxed);
        }
    }
}

impl Target<'_> {
    /// Keeps rows that come from those who are not to see them yet, or lets them go. False: it cannot.
    pub(super) fn hold(&mut self, on: bool) -> bool {
        match self {
            Self::Sink(sink) => sink.hold(on),
            Self::Rows(rows) => rows.keeps(),
            Self::Keep(_) | Self::Explain(_) => true,
        }
    }
}
